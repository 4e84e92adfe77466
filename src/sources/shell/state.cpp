// Tested by tests/shell_test.cpp.
#include "src/sources/shell/state.h"

#include <algorithm>

namespace preflight::sources {

bool operator==(const ShellValue& a, const ShellValue& b) {
  return a.is_array == b.is_array && same_text(a.text, b.text) &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && same_text(x.second, y.second); });
}

const ShellValue* ShellState::find(const std::string& name) const {
  const auto it = variables.find(name);
  return it == variables.end() ? nullptr : it->second.value.get();
}

void ShellState::set(const std::string& name, ShellValue value) {
  variables[name].value = std::make_shared<const ShellValue>(std::move(value));
}

ShellState joined(const ShellState& a, const ShellState& b,
                  const std::function<std::string(const std::string&)>& message, std::size_t offset) {
  if (a.ended) return b;
  if (b.ended) return a;
  ShellState out = a;
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
    if (!same) unlike(name);
    it->second.exported = it->second.exported || other.exported;
  }
  for (const auto& [name, mine] : a.variables) {
    if (mine.value && !b.variables.contains(name)) unlike(name);
  }
  const bool same_arguments =
      a.arguments_known == b.arguments_known &&
      std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(), same_text);
  if (!same_arguments) {
    out.arguments.clear();
    out.arguments_known = false;
  }
  for (const auto& [name, body] : b.functions) {
    const auto it = out.functions.find(name);
    if (it != out.functions.end() && it->second != body) it->second = nullptr;  // which of the two is not known
    if (it == out.functions.end()) out.functions.emplace(name, nullptr);
  }
  std::erase_if(out.files, [&](const auto& file) {
    const auto it = b.files.find(file.first);
    return it == b.files.end() || !same_text(it->second, file.second);
  });
  if (!out.others) out.others = b.others;
  out.exports_all = a.exports_all || b.exports_all;
  return out;
}

}  // namespace preflight::sources
