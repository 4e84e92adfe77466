// Tested by tests/sources_test.cpp.
#include "src/sources/mention_trail.h"

#include <array>

#include "src/sources/assigned_values.h"
#include "src/sources/mentions.h"

namespace preflight::sources {
namespace {

constexpr std::array<std::string_view, 2> kMarks = {"sglang", "Engine("};  // each server's name holds one

// The places that the marks in a text came from.
std::set<std::size_t> marks_of(const ShellText& text) {
  std::set<std::size_t> out;
  for (const std::string_view mark : kMarks) {
    for (auto at = text.text.find(mark); at != std::string::npos; at = text.text.find(mark, at + 1))
      out.insert(text.origin.empty() ? at : text.origin[at]);
  }
  return out;
}

bool is_argument(const std::string& name) {
  return name == "@" || name == "*" || name.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

void MentionTrail::assigned(const std::string& name, const ShellText& value) {
  assigned_[name].merge(marks_of(value));
  if (value.unknowns.empty()) AssignedValues::note(name, value.text);
}

void MentionTrail::inserted(const std::string& name, std::size_t place, const ShellText& value) {
  auto marks = marks_of(value);
  if (marks.empty() && (value.unknowns.empty() || !assigned_.contains(name))) return;
  Carried& carried = (is_argument(name) ? arguments_ : variables_)[place];
  carried.from.merge(marks);
  if (!value.unknowns.empty()) carried.names.insert(name);
}

void MentionTrail::told(const ShellText& text) {
  told_.merge(marks_of(text));
  // A value that begins with a hole still came from a place.
  for (const Unknown& unknown : text.unknowns) {
    if (unknown.at < text.origin.size()) told_.insert(text.origin[unknown.at]);
  }
}
void MentionTrail::spoken(const ShellText& text) { spoken_.merge(marks_of(text)); }
void MentionTrail::written(const ShellText& text) { written_.merge(marks_of(text)); }

MentionTrail::Places MentionTrail::closure(const Places& roots, bool arguments_alone) const {
  Places seen = roots;
  Places passed = roots;  // not counting what a variable was written as
  std::vector<std::size_t> open(roots.begin(), roots.end());
  const auto add = [&](const Places& places) {
    for (const std::size_t one : places) {
      if (seen.insert(one).second) open.push_back(one);
    }
  };
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (const auto it = arguments_.find(at); it != arguments_.end()) {
      passed.insert(it->second.from.begin(), it->second.from.end());
      add(it->second.from);
    }
    const auto it = variables_.find(at);
    if (it == variables_.end()) continue;
    add(it->second.from);
    for (const std::string& name : it->second.names) {
      if (const auto values = assigned_.find(name); values != assigned_.end()) add(values->second);
    }
  }
  return arguments_alone ? passed : seen;
}

bool MentionTrail::may_name_server(const ShellText& text) const {
  Places roots;
  for (const Unknown& unknown : text.unknowns) {
    if (unknown.at < text.origin.size()) roots.insert(text.origin[unknown.at]);
  }
  return closure(roots, false).size() > roots.size();
}

std::vector<std::size_t> MentionTrail::left(std::string_view text) const {
  const Places told = closure(told_, false);
  const Places spoken = closure(spoken_, true);
  const Places written = closure(written_, false);
  std::vector<std::size_t> out;
  for (const NamedServer& one : servers_named_in(text)) {
    const bool passing = (one.in_passing || spoken.contains(one.at)) && !written.contains(one.at);
    if (!passing && !told.contains(one.at)) out.push_back(one.at);
  }
  return out;
}

}  // namespace preflight::sources
