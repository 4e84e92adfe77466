// Tests whose words are all known are decided; any other leaves both branches open. Tested by tests/shell_test.cpp.
#include <fnmatch.h>

#include <algorithm>
#include <charconv>

#include "src/sources/shell/evaluator.h"

namespace preflight::sources {
namespace {

Status status_of(bool holds) { return holds ? Status::kTrue : Status::kFalse; }

std::optional<long> number(const std::string& text) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status compared(const std::string& a, const std::string& op, const std::string& b, bool patterns) {
  if (op == "=" || op == "==" || op == "!=") {
    const bool pattern = patterns && b.find_first_of("*?[\\") != std::string::npos;
    if (pattern && b.size() > 256) return Status::kUnknown;
    const bool same = pattern ? fnmatch(b.c_str(), a.c_str(), 0) == 0 : a == b;
    return status_of(same == (op != "!="));
  }
  const auto x = number(a);
  const auto y = number(b);
  if (!x || !y) return Status::kUnknown;
  if (op == "-eq") return status_of(*x == *y);
  if (op == "-ne") return status_of(*x != *y);
  if (op == "-lt") return status_of(*x < *y);
  if (op == "-le") return status_of(*x <= *y);
  if (op == "-gt") return status_of(*x > *y);
  if (op == "-ge") return status_of(*x >= *y);
  return Status::kUnknown;
}

Status decided(const std::vector<ShellWord>& words, std::size_t from, bool patterns) {
  const std::size_t count = words.size() - from;
  for (std::size_t i = from; i < words.size(); ++i) {
    if (!words[i].unknowns.empty()) return Status::kUnknown;
  }
  if (count == 0) return Status::kFalse;
  const std::string& first = words[from].text;
  if (first == "!" && count > 1) {
    const Status inner = decided(words, from + 1, patterns);
    if (inner == Status::kUnknown) return inner;
    return inner == Status::kTrue ? Status::kFalse : Status::kTrue;
  }
  if (count == 1) return status_of(!first.empty());
  if (count == 2 && first == "-z") return status_of(words[from + 1].text.empty());
  if (count == 2 && first == "-n") return status_of(!words[from + 1].text.empty());
  if (count == 3) return compared(first, words[from + 1].text, words[from + 2].text, patterns);
  return Status::kUnknown;
}

}  // namespace

Status ShellEvaluator::test(const std::vector<ShellWord>& words) { return decided(words, 0, false); }

Status ShellEvaluator::test_command(const Node& node) {
  std::vector<ShellWord> words;
  for (const Word& word : node.words) words.push_back(expand_single(word));
  const Status status = decided(words, 0, true);
  return any_case_ && words.size() > 1 ? Status::kUnknown : status;  // shopt -s nocasematch
}

}  // namespace preflight::sources
