// What `explain` says: of a rule, a field, a word of the kernels, a message, and of each in one launch.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "preflight/launch.h"
#include "preflight/rule.h"
#include "src/args/vllm_options.h"
#include "src/report/report_text.h"
#include "src/rules/messages.h"

namespace preflight::report {

std::string rule_page(const Rule& rule, const TextOptions& options);
// The option's names and values are those of `release`.
std::string field_page(Field field, Release release, const TextOptions& options);
std::string term_page(std::string_view term, std::string_view note, const TextOptions& options);
// What the option of vLLM is called in SGLang, or why it is nothing there.
std::string vllm_page(const args::VllmOption& option);

// A message, and where it can have come from: best first, never empty.
struct ExplainedMessage {
  rules::PastedMessage message;
  std::vector<rules::MessagePlace> places;
  std::vector<std::pair<std::string, std::string_view>> options;  // that it names, each with what it does

  // The rule of the likeliest places that have one.
  [[nodiscard]] const Rule* rule() const;
};
std::string message_page(const ExplainedMessage& explained, const TextOptions& options);

// The field's value at every step of this launch, and `findings` about it. `open`: why the steps end before SGLang's
// do.
std::string chain_page(const Launch& launch, Field field, const std::vector<Diagnostic>& findings,
                       const std::string& open, const TextOptions& options);
// What the rule finds in a launch; where it finds nothing, `silent` says why.
std::string rule_in_launch(const std::vector<Diagnostic>& findings, std::string_view silent,
                           const TextOptions& options);

}  // namespace preflight::report
