// Tested by tests/shell_test.cpp.
#include "src/sources/shell/state.h"

#include <algorithm>

namespace preflight::sources {

bool operator==(const ShellValue& a, const ShellValue& b) {
  return a.is_array == b.is_array && a.open == b.open && same_text(a.text, b.text) &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && same_text(x.second, y.second); });
}

bool operator==(const ShellTrap& a, const ShellTrap& b) {
  return a.sure == b.sure && std::ranges::equal(a.actions, b.actions, same_text);
}

std::size_t ShellState::size() const {
  return variables.size() + exported_names.size() + functions.size() + files.size() + touched.size() + written.size() +
         shared.size() + arguments.size() + may_end.size() + on_error.actions.size() + on_exit.actions.size();
}

const ShellValue* ShellState::find(const std::string& name) const {
  const auto it = variables.find(name);
  return it == variables.end() ? nullptr : it->second.value.get();
}

void ShellState::set(const std::string& name, ShellValue value) {
  variables[name].value = std::make_shared<const ShellValue>(std::move(value));
}

ShellState ShellState::after_a_turn(ShellState turn, const std::function<std::string(const std::string&)>& message,
                                    std::size_t offset) const {
  if (turn.leaves > 0) turn.ended = false;
  turn.may_end = may_end;
  turn.last_status.reset();
  turn.last_fails.reset();
  ShellState out = turn.ended ? *this : joined(*this, turn, message, offset);
  std::erase_if(out.functions, [&](const auto& one) { return !functions.contains(one.first); });  // of the body
  out.last_status.reset();
  out.last_fails.reset();
  return out;
}

namespace {

bool known_up_to(const ShellText& text, std::size_t end) {
  return text.unknowns.empty() || text.unknowns.front().at >= end;
}

// What two ways share of a variable, from its front: the first items of a list, the first words of a text. What comes
// behind is one hole. nullopt where they share nothing.
std::optional<ShellValue> shared_front(const ShellValue& a, const ShellValue& b, const ShellText& hole) {
  if (a.is_array != b.is_array) return std::nullopt;
  ShellValue out{.is_array = a.is_array, .open = a.is_array};
  if (a.is_array) {
    const std::size_t most = std::min(a.items.size(), b.items.size());
    for (std::size_t i = 0; i < most; ++i) {
      const auto& [key, text] = a.items[i];
      if (key != b.items[i].first || !same_text(text, b.items[i].second)) break;
      out.items.emplace_back(key, text);
    }
    if (out.items.empty()) return std::nullopt;
    out.items.emplace_back(std::to_string(out.items.size()), hole);
    return out;
  }
  const std::size_t most = std::min(a.text.text.size(), b.text.text.size());
  std::size_t same = 0;
  while (same < most && a.text.text[same] == b.text.text[same]) ++same;
  const auto ends = [&](const ShellText& text) { return same == text.text.size() || text.text[same] == ' '; };
  const bool whole = ends(a.text) && ends(b.text);
  const auto blank = a.text.text.rfind(' ', same == 0 ? 0 : same - 1);
  const std::size_t end = whole ? same : blank == std::string::npos ? 0 : blank;
  if (end == 0 || a.text.text.find(' ') >= end || !known_up_to(a.text, end) || !known_up_to(b.text, end))
    return std::nullopt;
  out.text = slice(a.text, 0, end);
  if (out.text.origin.empty()) out.text.origin.assign(end, hole.unknowns.front().offset);
  append(out.text, {" ", {hole.unknowns.front().offset}, {}});
  append(out.text, hole);
  return out;
}

ShellTrap met(const ShellTrap& a, const ShellTrap& b) {
  if (a == b) return a;
  ShellTrap out{a.actions, false};
  for (const ShellText& action : b.actions) {
    const auto same = [&](const ShellText& other) { return same_text(action, other); };
    if (std::ranges::none_of(a.actions, same)) out.actions.push_back(action);
  }
  return out;
}

// What set and declare said on one way alone: what an assignment makes of such a variable is not known.
void meet_options(ShellState& out, const ShellState& a, const ShellState& b) {
  constexpr std::string_view kOneWay = "on one way alone";
  const auto differs = [&](const std::string& name) { out.variables[name].attribute = kOneWay; };
  for (const auto* one : {&a, &b}) {
    const ShellState& other = one == &a ? b : a;
    for (const auto& [name, variable] : one->variables) {
      if (variable.attribute.empty()) continue;
      const auto it = other.variables.find(name);
      if (it == other.variables.end() || it->second.attribute != variable.attribute) differs(name);
    }
    for (const std::string& name : one->exported_names) {
      if (!other.exported_names.contains(name)) out.may_be_exported.insert(name);
    }
  }
  out.may_be_exported.insert(b.may_be_exported.begin(), b.may_be_exported.end());
  std::erase_if(out.exported_names, [&](const std::string& name) { return !b.exported_names.contains(name); });
  out.exports_all = a.exports_all && b.exports_all;
  out.may_export_all = a.may_export_all || b.may_export_all || a.exports_all != b.exports_all;
  out.exits_on_error = a.exits_on_error && b.exits_on_error;
  out.may_exit_on_error = a.may_exit_on_error || b.may_exit_on_error || a.exits_on_error != b.exits_on_error;
  out.exits_on_unset = a.exits_on_unset || b.exits_on_unset;
  out.pipes_fail = a.pipes_fail && b.pipes_fail;
  out.pipes_may_fail = a.pipes_may_fail || b.pipes_may_fail || a.pipes_fail != b.pipes_fail;
  out.traces_errors = a.traces_errors || b.traces_errors;
  out.on_error = met(a.on_error, b.on_error);
  out.on_exit = met(a.on_exit, b.on_exit);
  if (a.traces_errors != b.traces_errors) out.on_error.sure = false;
}

}  // namespace

bool ShellState::is_like(const ShellState& other) const {
  const auto same = [](const auto& a, const auto& b) {
    const bool value =
        a.second.value == b.second.value || (a.second.value && b.second.value && *a.second.value == *b.second.value);
    return a.first == b.first && value && a.second.exported == b.second.exported;
  };
  return std::ranges::equal(variables, other.variables, same) && may_end == other.may_end &&
         on_error == other.on_error && on_exit == other.on_exit &&
         std::ranges::equal(arguments, other.arguments, same_text) && arguments_known == other.arguments_known;
}

ShellState joined(const ShellState& a, const ShellState& b,
                  const std::function<std::string(const std::string&)>& message, std::size_t offset) {
  if (a.ended || b.ended) {
    ShellState out = a.ended ? b : a;
    add_defaults(out.defaults, a.ended ? a.defaults : b.defaults);
    const ShellState& other = a.ended ? a : b;
    if (!other.end.empty() && !out.ended) out.may_end.emplace(other.end, other.end_depth);
    out.on_exit = met(a.on_exit, b.on_exit);
    return out;
  }
  ShellState out = a;
  out.may_end.insert(b.may_end.begin(), b.may_end.end());
  add_defaults(out.defaults, b.defaults);
  out.sure_arguments = std::min(a.sure_arguments, b.sure_arguments);
  const auto unlike = [&](const std::string& name) { out.set(name, {.text = unknown_text(message(name), offset)}); };
  for (const auto& [name, other] : b.variables) {
    const auto it = out.variables.find(name);
    if (it == out.variables.end()) {
      if (other.value) {
        unlike(name);
        out.variables[name].exported = other.exported;
      }
      continue;
    }
    const auto& mine = it->second.value;
    const bool same = mine == other.value || (mine && other.value && *mine == *other.value);
    if (same && mine && it->second.exported != other.exported) {
      unlike(name);  // whether programs get it is not known
    } else if (!same) {
      auto front =
          mine && other.value ? shared_front(*mine, *other.value, unknown_text(message(name), offset)) : std::nullopt;
      if (front)
        out.set(name, std::move(*front));
      else
        unlike(name);
    }
    it->second.exported = it->second.exported || other.exported;
  }
  for (const auto& [name, mine] : a.variables) {
    if (b.variables.contains(name)) continue;
    if (mine.value)
      unlike(name);
    else if (mine.attribute.empty())
      out.variables.erase(name);  // unset on one way alone
  }
  const bool same_arguments =
      a.arguments_known == b.arguments_known &&
      std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(), same_text);
  if (!same_arguments) {
    out.arguments.clear();
    out.arguments_known = false;
  }
  out.arguments_lost = !same_arguments || a.arguments_lost || b.arguments_lost;
  out.arguments_of_start = same_arguments && a.arguments_of_start && b.arguments_of_start;
  out.asked_for_arguments = a.asked_for_arguments || b.asked_for_arguments;
  for (const auto& [name, body] : b.functions) {
    const auto it = out.functions.find(name);
    if (it != out.functions.end() && it->second != body) it->second = nullptr;  // which of the two is not known
    if (it != out.functions.end()) continue;
    out.functions.emplace(name, body);
    out.unsure_functions.insert(name);
  }
  for (const auto& [name, body] : a.functions) {
    if (!b.functions.contains(name)) out.unsure_functions.insert(name);
  }
  out.unsure_functions.insert(b.unsure_functions.begin(), b.unsure_functions.end());
  meet_options(out, a, b);
  std::erase_if(out.files, [&](const auto& file) {
    const auto it = b.files.find(file.first);
    return it == b.files.end() || !same_text(it->second, file.second);
  });
  out.counted.insert(b.counted.begin(), b.counted.end());
  out.touched.insert(b.touched.begin(), b.touched.end());
  out.written.insert(b.written.begin(), b.written.end());
  out.shared.insert(b.shared.begin(), b.shared.end());
  out.keeps_files = a.keeps_files || b.keeps_files;
  if (!out.others) out.others = b.others;
  out.moved = a.moved || b.moved;
  const bool same_folder = a.folder && b.folder && same_text(*a.folder, *b.folder);
  if (!same_folder) out.folder.reset();
  if (a.pushed.size() != b.pushed.size() || !same_folder) out.pushed.clear();
  if (a.patterns != b.patterns) out.patterns.reset();
  if (a.last_status != b.last_status) out.last_status.reset();
  if (a.last_fails != b.last_fails) out.last_fails.reset();
  if (a.fails != b.fails) out.fails.reset();
  return out;
}

}  // namespace preflight::sources
