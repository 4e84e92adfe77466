// OptionIndex: the option table of one release, ready for look-ups; built once per release, at first use.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "preflight/fields.h"
#include "preflight/release.h"
#include "src/fields/flag_table.h"

namespace preflight::args {

struct Option {
  const FlagRow* row = nullptr;  // null: -h, --help, which argparse adds itself
  TableTexts names = {};         // the first one names the option in messages
  ActionKind action = ActionKind::kStore;
  Converter converter = Converter::kText;
  Arity arity = Arity::kOne;
  bool required = false;
  Field field{};  // the ServerArgs field behind `dest`
  Value constant = {};
};

class OptionIndex {
 public:
  static const OptionIndex& of(Release release);

  explicit OptionIndex(Release release);

  [[nodiscard]] std::span<const Option> options() const { return options_; }
  // The option with exactly this name, or nullptr.
  [[nodiscard]] const Option* find(std::string_view name) const;
  [[nodiscard]] const OptionName* find_name(std::string_view name) const;
  // All names that start with `prefix`, sorted.
  [[nodiscard]] std::span<const OptionName> starting_with(std::string_view prefix) const;
  [[nodiscard]] std::span<const OptionName> names() const { return names_; }
  [[nodiscard]] const Option& option(const OptionName& name) const { return options_[name.option]; }
  // Options that must be given, as indexes in options().
  [[nodiscard]] std::span<const std::uint16_t> required() const { return required_; }

 private:
  std::vector<Option> options_;
  std::span<const OptionName> names_;  // sorted by name
  std::vector<std::uint16_t> required_;
};

}  // namespace preflight::args
