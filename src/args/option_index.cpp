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

constexpr std::array<std::string_view, 2> kHelpNames = {"-h", "--help"};

template <typename T>
using Words = std::pair<std::string_view, T>;

constexpr Words<ActionKind> kActions[] = {
    {"StoreAction", ActionKind::kStore},
    {"StoreTrueAction", ActionKind::kStoreTrue},
    {"BooleanOptionalAction", ActionKind::kBooleanOptional},
    {"LoRAPathAction", ActionKind::kLoraPaths},
    {"DeprecatedAction", ActionKind::kDeprecated},
    {"RetiredAction", ActionKind::kRetired},
    {"DeprecatedStoreTrueAction", ActionKind::kDeprecatedStoreTrue},
    {"DeprecatedStoreConstAction", ActionKind::kDeprecatedStoreConst},
    {"DeprecatedAliasStoreAction", ActionKind::kDeprecatedAliasStore},
};

constexpr Words<Converter> kConverters[] = {
    {"", Converter::kText},
    {"str", Converter::kText},
    {"int", Converter::kInt},
    {"float", Converter::kFloat},
    {"human_readable_int", Converter::kHumanReadableInt},
    {"loads", Converter::kJson},
    {"json_list_type", Converter::kJsonList},
    {"nullable_str", Converter::kNullableText},
    {"parse_cuda_graph_backend_arg", Converter::kCudaGraphBackend},
    {"parse_cuda_graph_config_arg", Converter::kCudaGraphConfig},
};

constexpr Words<Arity> kArities[] = {
    {"", Arity::kOne}, {"0", Arity::kNone}, {"?", Arity::kOptional}, {"*", Arity::kAny}, {"+", Arity::kSome},
};

// Up to 0.5.13 from_cli_args copies these destinations to the fields; later releases name the field as destination.
constexpr Words<std::string_view> kRenamed[] = {
    {"tensor_parallel_size", "tp_size"},       {"pipeline_parallel_size", "pp_size"},
    {"data_parallel_size", "dp_size"},         {"expert_parallel_size", "ep_size"},
    {"moe_data_parallel_size", "moe_dp_size"}, {"attention_context_parallel_size", "attn_cp_size"},
};

template <typename T, std::size_t N>
T look_up(const Words<T> (&words)[N], std::string_view word) {
  for (const auto& [name, value] : words) {
    if (name == word) return value;
  }
  assert(false && "an option table names an action, type or nargs that this parser does not know");
  return words[0].second;
}

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
  const auto equals = row.replaced_by.find('=');
  if (equals == std::string_view::npos) return true;
  return row.replaced_by.substr(equals + 1);
}

Option option_of(const FlagRow& row, Release release) {
  Option option{.row = &row, .names = row.names, .required = row.required, .field = field_of(row.dest, release)};
  option.action = look_up(kActions, row.action);
  option.converter = look_up(kConverters, row.type);
  option.arity = look_up(kArities, row.nargs);
  if (option.action == ActionKind::kDeprecatedStoreConst) {
    option.constant = stored_by_retired_switch(row);
  } else if (auto constant = Value::parse_json(row.constant)) {
    option.constant = std::move(*constant);
  }
  return option;
}

// Of a name, so that numbers are in the order of text: whether two dashes begin it, and the seven bytes behind these.
std::uint64_t first_bytes(std::string_view name) {
  constexpr std::string_view kDashes = "--";
  constexpr std::size_t kBytes = 7;
  std::uint64_t bytes = name.starts_with(kDashes) ? 0 : 1;  // any other letter comes behind a dash
  if (bytes == 0) name.remove_prefix(kDashes.size());
  for (std::size_t i = 0; i < kBytes; ++i) {
    bytes = bytes << 8U | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0U);
  }
  return bytes;
}

// A start sorts some thousand names: most are told apart by a number.
void sort_names(std::vector<OptionName>& names) {
  std::vector<std::pair<std::uint64_t, OptionName>> sorted;
  sorted.reserve(names.size());
  for (const OptionName& name : names) sorted.emplace_back(first_bytes(name.name), name);
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second.name < b.second.name;
  });
  std::ranges::transform(sorted, names.begin(), [](const auto& entry) { return entry.second; });
}

}  // namespace

OptionIndex::OptionIndex(Release release) {
  const auto rows = flag_table(release);
  options_.reserve(rows.size() + 1);
  options_.push_back({.names = kHelpNames, .action = ActionKind::kHelp, .arity = Arity::kNone});
  for (const std::uint16_t row : rows) options_.push_back(option_of(flag_row(row), release));
  for (std::size_t i = 0; i < options_.size(); ++i) {
    if (options_[i].required) required_.push_back(static_cast<std::uint16_t>(i));
    for (const auto name : options_[i].names) names_.push_back({name, static_cast<std::uint16_t>(i)});
  }
  sort_names(names_);
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
  const auto it = std::lower_bound(names_.begin(), names_.end(), name,
                                   [](const OptionName& a, std::string_view b) { return a.name < b; });
  return it != names_.end() && it->name == name ? &*it : nullptr;
}

const Option* OptionIndex::find(std::string_view name) const {
  const OptionName* found = find_name(name);
  return found == nullptr ? nullptr : &option(*found);
}

std::span<const OptionName> OptionIndex::starting_with(std::string_view prefix) const {
  const auto first = std::lower_bound(names_.begin(), names_.end(), prefix,
                                      [](const OptionName& a, std::string_view b) { return a.name < b; });
  auto last = first;
  while (last != names_.end() && last->name.starts_with(prefix)) ++last;
  return {first, last};
}

}  // namespace preflight::args
