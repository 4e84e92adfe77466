// docs/rules.md: the rule table as a page. tests/rules_test.cpp compares the committed page with this.
#include <string>

#include <fmt/format.h>

#include "preflight/rule.h"
#include "src/rules/certainty.h"
#include "src/rules/remedy_words.h"

namespace preflight {
namespace {

std::string_view severity_word(Severity s) {
  switch (s) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kChange:
      return "change";
    case Severity::kInfo:
      break;
  }
  return "note";
}

std::string_view family_title(std::string_view id) {
  struct Title {
    std::string_view family;
    std::string_view title;
  };
  static constexpr Title kTitles[] = {
      {"VA", "Values out of range"},
      {"PL", "Devices, memory, tensor parallelism"},
      {"BK", "Attention backends"},
      {"PG", "Page sizes"},
      {"ML", "Multi-head latent attention on intel_xpu"},
      {"AT", "Preconditions of the attention kernel"},
      {"LC", "Local and sliding-window attention"},
      {"SP", "Speculative decoding"},
      {"GR", "Graphs and torch.compile"},
      {"DC", "Decode context parallelism, collectives"},
      {"QN", "Quantised checkpoints"},
      {"MO", "Mixture of experts"},
      {"HY", "Hybrid linear attention"},
      {"VI", "Vision"},
      {"SA", "Sampling, adapters, caches, disaggregation"},
      {"KR", "Kernel package against SGLang release"},
      {"AR", "How arguments are written"},
      {"RF", "Refusals of SGLang"},
      {"US", "Refusals of the argument parser"},
      {"CH", "Changed values"},
      {"LG", "SGLang's own warnings"},
      {"MD", "The model's facts"},
      {"SH", "Pasted commands"},
      {"VL", "Commands of vLLM"},
      {"RS", "An installed SGLang as the resolver"},
      {"ND", "Several nodes"},
      {"HO", "The host"},
  };
  for (const Title& t : kTitles) {
    if (id.starts_with(t.family)) return t.title;
  }
  return id;
}

std::string range(const Rule& r) {
  const auto supported = supported_releases();
  const bool from_start = r.since <= supported.front();
  const bool open = r.until > supported.back();
  if (r.until <= supported.front() || r.since > supported.back()) return "no supported release";
  if (from_start && open) return "all releases";
  if (open) return fmt::format("since {}", r.since.text());
  if (from_start) return fmt::format("before {}", r.until.text());
  return fmt::format("since {}, before {}", r.since.text(), r.until.text());
}

void append_example(std::string& out, std::string_view word, const RuleExample& e) {
  if (e.model.empty()) return;
  out += fmt::format("* {}: `--model-path {} {}`", word, e.model, e.args);
  if (e.device != "b60") out += fmt::format(" on {}", e.device);
  out += '\n';
}

}  // namespace

std::string render_rules_markdown() {
  std::string out =
      "# Rules\n\n"
      "Generated from the rule table; do not edit. Each entry says when a launch of SGLang on an Intel GPU fails, "
      "runs\n"
      "wrongly, or runs otherwise than asked. The number after the family letters is never used twice.\n";
  std::string_view family;
  for (const Rule& r : all_rules()) {
    if (const std::string_view title = family_title(r.id); title != family) {
      family = title;
      out += fmt::format("\n## {}\n", family);
    }
    out += fmt::format("\n### {} {}\n\n", r.id, r.summary);
    out += fmt::format("{}, {}; {}.", severity_word(r.severity), rules::certainty_of(r.id), range(r));
    std::string refs;
    for (const auto ref : r.refs) {
      if (!ref.empty()) refs += fmt::format("{}{}", refs.empty() ? "" : ", ", ref);
    }
    if (!refs.empty()) out += fmt::format(" Reference: {}.", refs);
    out += fmt::format("\n\n{}\n\n", r.why);
    if (const std::string fix = rules::fix_of(r); !fix.empty()) out += fmt::format("* Fix: {}\n", fix);
    out += fmt::format("* Source: {}\n", r.source);
    for (const auto& e : r.fires_on) append_example(out, "Reported for", e);
    for (const auto& e : r.quiet_on) append_example(out, "Silent for", e);
  }
  return out;
}

}  // namespace preflight
