// Fuzzes what a project says of findings: the policy, comments in files, a baseline, and the pattern of a path. The
// first line is taken for a pattern, all of it for each of the others.
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/commands/policy/baseline.h"
#include "src/commands/policy/finding_filter.h"
#include "src/commands/policy/inline_ignores.h"
#include "src/commands/policy/policy.h"
#include "src/report/folding.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace preflight;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const auto policy = commands::read_policy(text, "p.yaml");
  if (!policy && policy.error().text().empty()) __builtin_trap();
  const auto baseline = commands::Baseline::parse(text, "b.json");
  if (baseline && !commands::Baseline::parse(baseline->text(), "b.json")) __builtin_trap();
  for (const commands::InlineIgnore& ignore : commands::inline_ignores(text)) {
    if (commands::first_line_of_comments(text, ignore.line) > ignore.line) __builtin_trap();
  }
  commands::matches_pattern(text, text.substr(0, line));
  report::folded(text, 60);
  return 0;
}
