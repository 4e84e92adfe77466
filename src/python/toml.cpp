// Tested by tests/toml_test.cpp.
#include "src/python/toml.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#define TOML_EXCEPTIONS 0
#define TOML_MAX_NESTED_VALUES 60
#include <toml++/toml.h>

namespace preflight::python {
namespace {

std::optional<Value> value_of(const toml::node& node);

// The library holds keys sorted, Python's dictionary as they stand in the text.
std::optional<Value> dict_of(const toml::table& table) {
  std::vector<std::pair<const toml::key*, const toml::node*>> entries;
  for (const auto& [key, node] : table) entries.emplace_back(&key, &node);
  std::ranges::sort(entries, {}, [](const auto& entry) {
    const toml::source_position& at = entry.first->source().begin;
    return std::pair(at.line, at.column);
  });
  Value::Dict out;
  for (const auto& [key, node] : entries) {
    auto value = value_of(*node);
    if (!value) return std::nullopt;
    out.emplace_back(std::string(key->str()), std::move(*value));
  }
  return Value::dict(std::move(out));
}

std::optional<Value> list_of(const toml::array& array) {
  Value::List out;
  for (const toml::node& node : array) {
    auto value = value_of(node);
    if (!value) return std::nullopt;
    out.push_back(std::move(*value));
  }
  return Value::list(std::move(out));
}

std::optional<Value> value_of(const toml::node& node) {
  if (const auto* table = node.as_table()) return dict_of(*table);
  if (const auto* array = node.as_array()) return list_of(*array);
  if (const auto* text = node.as_string()) return Value(text->get());
  if (const auto* number = node.as_integer()) return Value(number->get());
  if (const auto* number = node.as_floating_point()) return Value(number->get());
  if (const auto* truth = node.as_boolean()) return Value(truth->get());
  if (node.is_date() || node.is_time() || node.is_date_time()) return Value();
  return std::nullopt;
}

}  // namespace

std::optional<Value> toml_loads(std::string_view text) {
  // The library skips a byte order mark, at which tomllib raises.
  if (text.starts_with("\xEF\xBB\xBF")) return std::nullopt;
  const toml::parse_result read = toml::parse(text);
  return read ? dict_of(read.table()) : std::nullopt;
}

}  // namespace preflight::python
