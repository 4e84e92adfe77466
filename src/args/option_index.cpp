// Tested through tests/args_parse_test.cpp.
#include "src/args/option_index.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>
#include <mutex>
#include <utility>

namespace preflight::args {
namespace {

// Up to 0.5.13 from_cli_args copies these destinations to the fields; later releases name the field as destination.
constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
    {"tensor_parallel_size", "tp_size"},       {"pipeline_parallel_size", "pp_size"},
    {"data_parallel_size", "dp_size"},         {"expert_parallel_size", "ep_size"},
    {"moe_data_parallel_size", "moe_dp_size"}, {"attention_context_parallel_size", "attn_cp_size"},
};

Field field_of(Field dest, Release release) {
  if (field_exists(dest, release)) return dest;
  for (const auto& [from, to] : kRenamed) {
    if (from != field_name(dest)) continue;
    const auto field = find_field(to);
    if (field && field_exists(*field, release)) return *field;
  }
  return dest;
}

// The constant that a retired switch stores. The table says it by the replacement that the switch names:
// "--option=value" stores the value, a plain switch stores True.
Value stored_by_retired_switch(const FlagRow& row) {
  const std::string_view instead = row.replaced_by;
  const auto equals = instead.find('=');
  if (equals == std::string_view::npos) return true;
  return instead.substr(equals + 1);
}

Option option_of(const FlagRow& row, Release release) {
  Option option{.row = &row,
                .names = row.names,
                .action = row.action,
                .converter = row.converter,
                .arity = row.arity,
                .required = row.required,
                .field = field_of(row.dest, release)};
  if (option.action == ActionKind::kDeprecatedStoreConst) {
    option.constant = stored_by_retired_switch(row);
  } else if (row.constant != "null") {
    if (auto constant = Value::parse_json(row.constant)) option.constant = std::move(*constant);
  }
  return option;
}

}  // namespace

OptionIndex::OptionIndex(Release release) : names_(option_names(release)) {
  const auto rows = flag_table(release);
  options_.reserve(rows.size() + 1);
  options_.push_back({.names = help_names(), .action = ActionKind::kHelp, .arity = Arity::kNone});
  for (const std::uint16_t row : rows) options_.push_back(option_of(flag_row(row), release));
  for (std::size_t i = 0; i < options_.size(); ++i) {
    if (options_[i].required) required_.push_back(static_cast<std::uint16_t>(i));
  }
}

const OptionIndex& OptionIndex::of(Release release) {
  static std::array<std::once_flag, 64> once;
  static std::array<std::unique_ptr<const OptionIndex>, 64> all;
  const auto releases = supported_releases();
  const auto at = static_cast<std::size_t>(std::find(releases.begin(), releases.end(), release) - releases.begin());
  assert(at < releases.size() && "caller checks is_supported()");
  std::call_once(once[at], [&] { all[at] = std::make_unique<const OptionIndex>(release); });
  return *all[at];
}

const OptionName* OptionIndex::find_name(std::string_view name) const {
  const auto it = std::lower_bound(names_.begin(), names_.end(), name, [](const OptionName& a, std::string_view b) {
    return std::string_view(a.name) < b;
  });
  return it != names_.end() && it->name == name ? &*it : nullptr;
}

const Option* OptionIndex::find(std::string_view name) const {
  const OptionName* found = find_name(name);
  return found == nullptr ? nullptr : &option(*found);
}

std::span<const OptionName> OptionIndex::starting_with(std::string_view prefix) const {
  const auto first =
      std::lower_bound(names_.begin(), names_.end(), prefix,
                       [](const OptionName& a, std::string_view b) { return std::string_view(a.name) < b; });
  auto last = first;
  while (last != names_.end() && std::string_view(last->name).starts_with(prefix)) ++last;
  return {first, last};
}

}  // namespace preflight::args
