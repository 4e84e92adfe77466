// Answers to questions that are asked again and again, as by each row of a table; forgotten when they are too many.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>

#include "src/base/limits.h"

namespace preflight {

template <class Answer>
class Remembered {
 public:
  template <class Ask>
  const Answer& of(std::string question, const Ask& ask) {
    if (const auto found = known_.find(question); found != known_.end()) return found->second;
    if (known_.size() >= limits::kRemembered) known_.clear();
    return known_.emplace(std::move(question), ask()).first->second;
  }

 private:
  std::unordered_map<std::string, Answer> known_;
};

}  // namespace preflight
