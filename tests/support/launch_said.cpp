#include "tests/support/launch_said.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "preflight/fields.h"
#include "preflight/plan.h"
#include "preflight/report.h"
#include "preflight/rule.h"
#include "src/args/option_index.h"
#include "src/facts/draft_model.h"
#include "src/facts/model_files.h"
#include "src/launch/workspace.h"
#include "src/plan/kept_layers.h"
#include "src/plan/memory_sheet.h"
#include "tests/support/example_launch.h"

namespace preflight::testing {

void tell_view(const LaunchView& view, Teller& teller) {
  teller.say("prefill on", view.prefill_backend());
  teller.say("decode on", view.decode_backend());
  if (!view.algorithm().empty()) {
    teller.say("draft decodes on, extends on",
               fmt::format("{}, {}", view.draft_decode_backend(), view.draft_extend_backend()));
    teller.say("verified on", view.verify_backend());
  }
  teller.say("KV cache", view.kv_dtype());
  teller.say("attention dp, tp", fmt::format("{}, {}", view.attention_dp(), view.attention_tp()));
  teller.say("replicas", view.ordinary_dp());
  teller.say("ranks of an expert", view.moe_tp());
  if (view.pp() > 1 && view.has_model()) teller.say("stages counted apart", plan::told_stages(view).size());
  teller.say("decode graph full, any graph", fmt::format("{}, {}", view.decode_graph_full(), view.any_graph()));
  if (!view.has_model()) return;
  if (view.model().is_multimodal) teller.say("vision on", view.vision_backend());
  if (const auto workspace = mla_workspace(view, 64)) teller.say("workspace of 64 requests", workspace->bytes);
}

namespace {

// A sum of texts, by which a change of one of them is seen: FNV-1a.
std::string sum_of(const std::vector<KernelCase>& cases) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const KernelCase& one : cases) {
    for (const char c : print_case(one) + "\n") sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return fmt::format("{:08x}", sum >> 32U);
}

}  // namespace

void tell_plan(const Launch& launch, Teller& teller) {
  const Plan plan = derive_plan(launch);
  for (const PlannedKernel& planned : plan.kernels) {
    const auto first = planned.cases.empty() ? "" : print_case(planned.cases.front());
    teller.say("runs " + planned.kernel,
               fmt::format("{} cases (sum {}), first: {}", planned.cases.size(), sum_of(planned.cases), first));
  }
  for (const PlanSkip& skip : plan.skipped) teller.say("leaves out " + skip.kernel, skip.reason);
  const PlanSizes& sizes = plan.sizes;
  teller.say("columns, padded, bytes of a token in a layer",
             fmt::format("{}, {}, {}", sizes.page_table_columns, sizes.padded_columns, sizes.kv_bytes_per_token));
}

void tell_sheet(const Launch& launch, Teller& teller) {
  static facts::ModelFiles models;
  plan::MemoryInputs inputs;
  if (const auto draft = facts::draft_model_of(launch, models)) inputs.draft = plan::draft_cost(launch, *draft);
  std::string why;
  const auto sheet = plan::memory_sheet(launch, inputs, why);
  teller.say_if_any("no sheet", why);
  if (!sheet) return;
  teller.say("weights", fmt::format("{:.3f} GiB", sheet->weights_gib));
  teller.say("tokens", sheet->tokens);
  teller.say("cache of a token", sheet->cost.bytes_per_token);
  teller.say("requests", fmt::format("{}, {} full", sheet->requests, sheet->full_requests));
  teller.say("share, most", fmt::format("{:.4f}, {:.4f}", sheet->fraction, sheet->most));
  teller.say_if_any("draft", sheet->draft_gib == 0.0 ? "" : fmt::format("{:.3f} GiB", sheet->draft_gib));
  teller.say_if_any("draft after the pool", sheet->draft_after_pool);
  teller.say_if_any("images", sheet->images_gib);
  teller.say_if_any("window tokens", sheet->window_tokens);
  teller.say_if_any("window too small", sheet->window_too_small);
  if (sheet->state_slots > 0) {
    teller.say("states, mamba strategy",
               fmt::format("{}, {}", sheet->state_slots, LaunchView(launch).mamba_strategy()));
  }
  teller.say_if_any("index keys of a token", sheet->cost.index_bytes_per_token);
  teller.say_if_any("draft's cache of a token", sheet->cost.draft_bytes_per_token);
}

namespace {

// A remedy names options of its release only, and gives values to those that take some.
void expect_well_formed(const Diagnostic& d, Release release) {
  const auto& options = args::OptionIndex::of(release);
  for (const Remedy& remedy : d.remedies) {
    for (const RemedyStep& step : remedy.steps) {
      if (!remedy.release.empty() || step.kind == StepKind::kSet || step.kind == StepKind::kUnset) continue;
      const args::Option* option = options.find(step.name);
      if (step.kind == StepKind::kDrop && option == nullptr) continue;  // the way out of a word that nothing takes
      ASSERT_NE(option, nullptr) << d.rule << " in " << release.text() << ": " << step.name;
      if (step.kind != StepKind::kGive) continue;
      if (option->arity == args::Arity::kNone) {
        EXPECT_TRUE(step.values.empty()) << d.rule << " in " << release.text() << ": " << d.fix;
      }
    }
  }
}

}  // namespace

Said said_of(const Launch& launch) {
  Teller teller;
  teller.say("outcome", outcome_text(launch));
  for (const Diagnostic& d : check(launch).diagnostics) {
    if (d.rule == "LG001") continue;
    expect_well_formed(d, launch.release());
    teller.say(d.rule, d.message);
    const Rule* rule = find_rule(d.rule);
    if (rule != nullptr && rule->severity != d.severity) teller.say(d.rule + " is", name_of(d.severity));
    teller.say_if_any(d.rule + (d.field ? fmt::format(" {}", field_name(*d.field)) : "") + " fix", d.fix);
    if (d.rule.starts_with("CH"))
      teller.say(fmt::format("{} {} why", d.rule, d.field ? field_name(*d.field) : ""), d.why);
  }
  if (launch.accepted()) {
    tell_view(LaunchView(launch), teller);
    if (!launch.model) return teller.take();
    tell_plan(launch, teller);
    tell_sheet(launch, teller);
  }
  return teller.take();
}

Launch launch_of_line(Release release, const std::string& line) {
  const auto split = line.find(" -- ");
  std::istringstream head(line.substr(2, split - 2));
  std::string model;
  std::string device;
  head >> model >> device;
  Environment env;
  for (std::string word; head >> word;) env[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  DeviceFacts cards = device_of(device);
  cards.host_memory_mib = 131072;  // not this machine's
  return launch_of(release, model, split_words(line.substr(split + 4)), cards, env);
}

}  // namespace preflight::testing
