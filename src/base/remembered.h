// Answers to questions that are asked again and again, as by each row of a table or each try of a search. Tested by
// tests/remembered_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

#include "src/base/limits.h"

namespace preflight {

// Of questions that are texts: all forgotten when they are too many.
template <class Answer>
class Remembered {
 public:
  template <class Ask>
  const Answer& of(const std::string& question, const Ask& ask) {
    if (const auto found = known_.find(question); found != known_.end()) return found->second;
    if (known_.size() >= limits::kRemembered) known_.clear();
    return known_.emplace(question, ask()).first->second;
  }

 private:
  std::unordered_map<std::string, Answer> known_;
};

// Of questions that can only be compared with ==: the newest few.
template <class Question, class Answer>
class NewestRemembered {
 public:
  explicit NewestRemembered(std::size_t most) : most_(most) {}
  // The answer is good until the next question.
  template <class Ask>
  const Answer& of(Question question, const Ask& ask) {
    const auto found = std::ranges::find(known_, question, &Known::first);
    if (found != known_.end()) return found->second;
    Answer answer = ask();  // which may ask for others
    if (known_.size() >= most_) known_.pop_back();
    return known_.emplace_front(std::move(question), std::move(answer)).second;
  }

 private:
  using Known = std::pair<Question, Answer>;
  std::size_t most_;
  std::deque<Known> known_;  // the newest in front
};

}  // namespace preflight
