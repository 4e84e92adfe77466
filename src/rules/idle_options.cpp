#include "src/rules/idle_options.h"

#include <algorithm>
#include <array>

#include "src/args/option_index.h"
#include "src/facts/kinds.h"

namespace preflight::rules {
namespace {

bool has_no_experts(const LaunchFacts& f) { return f.has_model() && !has_experts(f.model()); }
bool has_no_state(const LaunchFacts& f) { return f.has_model() && !is_hybrid(f.model()) && !is_pure_mamba(f.model()); }
bool sees_nothing(const LaunchFacts& f) { return f.has_model() && !f.model().is_multimodal; }
bool is_on_xpu(const LaunchFacts& f) { return f.is(Field::device, "xpu"); }

// By the beginning of their names.
struct Idle {
  std::string_view begin;
  bool (*is_so)(const LaunchFacts&);
};
constexpr std::array kIdle = {Idle{"--moe-", has_no_experts},
                              Idle{"--ep-", has_no_experts},
                              Idle{"--expert-parallel-size", has_no_experts},
                              Idle{"--enable-eplb", has_no_experts},
                              Idle{"--eplb-", has_no_experts},
                              Idle{"--enable-w4a4-mxfp4-megamoe", has_no_experts},
                              Idle{"--deepep-", has_no_experts},
                              Idle{"--mamba-", has_no_state},
                              Idle{"--max-mamba-cache-size", has_no_state},
                              Idle{"--linear-attn-", has_no_state},
                              Idle{"--mm-", sees_nothing},
                              Idle{"--flashinfer-", is_on_xpu}};

bool is_given(const LaunchFacts& f, std::string_view option) {
  const args::Option* known = args::OptionIndex::of(f.release()).find(option);
  return known != nullptr && known->row != nullptr && f.given(known->field);
}

}  // namespace

bool is_idle(const LaunchFacts& f, std::string_view option) {
  return std::ranges::any_of(kIdle, [&](const Idle& row) { return option.starts_with(row.begin) && row.is_so(f); });
}

void leave_out_idle(const LaunchFacts& f, Diagnostic& d) {
  std::erase_if(d.remedies, [&](const Remedy& remedy) {
    return std::ranges::any_of(remedy.steps, [&](const RemedyStep& step) {
      return step.kind == StepKind::kGive && !is_given(f, step.name) && is_idle(f, step.name);
    });
  });
}

}  // namespace preflight::rules
