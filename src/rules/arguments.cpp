// AR: how arguments were written: forms that SGLang reads otherwise than they look.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

// "--page-size=64" -> "--page-size"
std::string_view option_part(std::string_view spelled) { return spelled.substr(0, spelled.find('=')); }

std::optional<Finding> config_with_equals(const LaunchFacts& f) {
  const auto& argv = f.launch().args.argv;
  const bool merged = std::find(argv.begin(), argv.end(), "--config") != argv.end();
  for (const auto& g : f.launch().args.given) {
    if (merged || g.field != Field::config || g.spelled.find('=') == std::string::npos) continue;
    return Finding{.message = fmt::format("{} is accepted, and nothing in that file is read", g.spelled)};
  }
  return std::nullopt;
}

std::optional<Finding> abbreviated(const LaunchFacts& f) {
  for (const auto& g : f.launch().args.given) {
    const std::string_view typed = option_part(g.spelled);
    if (g.from_config_file || typed.empty() || typed == g.option || !g.option.starts_with(typed)) continue;
    return Finding{.message = fmt::format("{} is read as {}", typed, g.option),
                   .field = g.field,
                   .remedies = {in_words(fmt::format("write {}", g.option))}};
  }
  return std::nullopt;
}

std::optional<Finding> repeated(const LaunchFacts& f) {
  const auto& argv = f.launch().args.argv;
  const auto value_of = [&](const GivenOption& g) -> std::string {
    if (const auto at = g.spelled.find('='); at != std::string::npos) return g.spelled.substr(at + 1);
    const auto next = static_cast<std::size_t>(g.where.argv_index) + 1;
    return g.where.argv_index >= 0 && next < argv.size() ? argv[next] : std::string();
  };
  const auto& given = f.launch().args.given;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const GivenOption* last = f.launch().args.last_given(given[i].field);
    if (last == &given[i] || last == nullptr || given[i].from_config_file) continue;
    const std::string first = value_of(given[i]);
    const std::string final = value_of(*last);
    if (first == final || first.starts_with("--")) continue;
    return Finding{
        .message = fmt::format("{} is given twice, {} and {}: the last one counts", last->option, first, final),
        .field = last->field};
  }
  return std::nullopt;
}

}  // namespace

std::span<const Rule> argument_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "AR001",
       .refs = {"C1"},
       .severity = Severity::kWarning,
       .field = Field::config,
       .summary = "--config=FILE drops the whole file",
       .why = "SGLang looks for the word --config alone. Written with an equals sign, the option passes the parser and "
              "every setting of the file is lost, without a message.",
       .fix = "--config FILE, as two words",
       .source = "sglang/srt/server_args.py: prepare_server_args",
       .need = RuleNeed::kNothing,
       .check = config_with_equals,
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "AR002",
       .severity = Severity::kInfo,
       .summary = "an abbreviated option",
       .why = "The parser accepts any unambiguous beginning of an option. A later release that adds an option with the "
              "same beginning refuses it.",
       .fix = "write the option in full",
       .source = "Python's argparse",
       .need = RuleNeed::kNothing,
       .check = abbreviated,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --disable-radix"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --disable-radix-cache"}}}},
      {.id = "AR003",
       .severity = Severity::kInfo,
       .summary = "an option given twice with different values",
       .why = "The last one counts, without a message.",
       .fix = "give it once",
       .source = "Python's argparse",
       .need = RuleNeed::kNothing,
       .check = repeated,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --page-size 64 --page-size 128"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --device xpu"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
