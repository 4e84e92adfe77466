// Remedies: the sentence made from one, what a release's parser takes of it, and what it changes in a launch.
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "preflight/rule.h"
#include "src/args/option_index.h"
#include "src/fix/edits.h"
#include "src/fix/prove.h"
#include "src/rules/remedy_words.h"
#include "tests/support/example_launch.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

using rules::to_drop;
using rules::to_give;
using rules::together;
using rules::words_of;
using testing::run_tool;
using testing::source_directory;
using testing::TemporaryDirectory;

TEST(RemedyWords, EveryKindOfStepHasItsWords) {
  EXPECT_EQ(words_of(to_give("--page-size", {"64"})), "--page-size 64");
  EXPECT_EQ(words_of(to_give("--page-size", {"16", "32", "64"})), "--page-size 16, 32 or 64");
  EXPECT_EQ(words_of(to_give("--disable-radix-cache")), "--disable-radix-cache");
  EXPECT_EQ(words_of(to_drop("--quantization")), "drop --quantization");
  EXPECT_EQ(words_of(together({to_give("--tp-size", {"2"}), to_drop("--ep-size")})), "--tp-size 2 without --ep-size");
  EXPECT_EQ(words_of(Remedy{.steps = {{StepKind::kLower, "--tp-size"}}}), "a smaller --tp-size");
  EXPECT_EQ(words_of(Remedy{.steps = {{StepKind::kRaise, "--tp-size"}}}), "a larger --tp-size");
  EXPECT_EQ(words_of(Remedy{.steps = {{StepKind::kSet, "CCL_ALLREDUCE", {"ring"}}}, .words = "(slower)"}),
            "CCL_ALLREDUCE=ring in the environment (slower)");
  EXPECT_EQ(words_of(Remedy{.steps = {{StepKind::kUnset, "SGLANG_X"}}}), "unset SGLANG_X");
  EXPECT_EQ(words_of(Remedy{.steps = {{StepKind::kGive, "--attention-backend", {"intel_xpu"}}}, .release = "0.5.20"}),
            "--attention-backend intel_xpu with SGLang 0.5.20");
  EXPECT_EQ(words_of(Remedy{.stored_as = "fp8"}), "an FP8 checkpoint of the model");
  EXPECT_EQ(words_of(Remedy{.device = "b60x4"}), "4 other cards (--device-profile b60 --device-count 4)");
  EXPECT_EQ(words_of(Remedy{.device = "max1100"}), "another card (--device-profile max1100)");
  EXPECT_EQ(words_of(together({to_give("--tp-size", {"4"}), rules::with_cards(4)})),
            "--tp-size 4 with 4 such cards (--device-count 4)");
  EXPECT_EQ(words_of(std::vector<Remedy>{to_give("--page-size", {"1"}), Remedy{.release = "0.5.13"}}),
            "--page-size 1, or SGLang 0.5.13");
  const Remedy one{.steps = {{StepKind::kGive, "--page-size", {"1"}}}, .words = "(which brings SP004)"};
  const Remedy other{.steps = {{StepKind::kDrop, "--speculative-adaptive"}}, .words = "(which brings SP004)"};
  EXPECT_EQ(words_of(std::vector{one}), "--page-size 1 (which brings SP004)");
  EXPECT_EQ(words_of(std::vector{one, other}), "--page-size 1, or drop --speculative-adaptive (each brings SP004)");
}

// A typing error in a record would be a remedy that nobody can carry out.
TEST(RemedyRecords, NameOptionsAndValuesThatAReleaseOfTheRuleTakes) {
  for (const Rule& rule : all_rules()) {
    for (const Remedy& remedy : rules::remedies_of(rule)) {
      EXPECT_TRUE(remedy.release.empty() || parse_release(remedy.release)) << rule.id;
      for (const RemedyStep& step : remedy.steps) {
        if (step.kind == StepKind::kSet || step.kind == StepKind::kUnset) continue;
        bool known = false;
        for (const Release r : supported_releases()) {
          if (!rule.holds_in(r) && remedy.release.empty()) continue;
          Diagnostic d{.remedies = {Remedy{.steps = {step}}}};
          rules::say_remedies(d, r);
          known = known || (!d.remedies.empty() && d.remedies[0].steps[0].values == step.values);
        }
        EXPECT_TRUE(known) << rule.id << ": " << step.name;
      }
    }
    EXPECT_TRUE(rule.fix.empty() || rule.remedies.size() == 0) << rule.id << " says its way out twice";
  }
}

TEST(RemedyRecords, WhatAReleaseLacksIsLeftOut) {
  Diagnostic d{
      .remedies = {to_give("--no-such-option", {"1"}), to_give("--attention-backend", {"no_such_backend", "triton"})}};
  rules::say_remedies(d, v0_5(23));
  EXPECT_EQ(d.fix, "--attention-backend triton");
}

// The words after each candidate of the remedy, joined.
std::vector<std::string> lists_after(const Remedy& remedy, const std::vector<std::string>& words,
                                     Environment env = {}) {
  const Release release = v0_5(23);
  const auto groups = fix::group_arguments(release, words, std::vector<SourceRange>(words.size()));
  const Launch launch;
  const Diagnostic error;
  const std::vector<Diagnostic> errors;
  std::vector<std::string> lists;
  for (const fix::Candidate& c : fix::candidates_of(remedy, {release, groups, env, launch, error, errors})) {
    fix::Arranged now{groups, env, {}};
    if (!fix::apply(c, release, now)) continue;
    std::string text = now.stored_as;
    for (const auto& [name, value] : now.env) text += name + "=" + value + " ";
    for (const std::string& w : fix::words_of(now.groups)) text += (text.empty() || text.back() == ' ' ? "" : " ") + w;
    lists.push_back(text);
  }
  return lists;
}

using Lists = std::vector<std::string>;

// A switch takes no value; another option is no advice without one, whoever made the list of what fits.
TEST(RemedyRecords, OptionsAreNotNamedWithoutTheValueTheyTake) {
  const std::vector<Remedy> whole = {to_give("--disable-radix-cache"), to_drop("--attention-backend"),
                                     Remedy{.steps = {{StepKind::kLower, "--tp-size"}}}};
  for (const Release r : supported_releases()) {
    Diagnostic d{.remedies = whole};
    for (const char* option : {"--tp-size", "--quantization", "--speculative-draft-model-path"}) {
      d.remedies.push_back(to_give(option));
      d.remedies.push_back(together({to_give("--disable-radix-cache"), to_give(option)}));
    }
    rules::say_remedies(d, r);
    EXPECT_EQ(d.remedies, whole) << r.text();
    Diagnostic none{.fix = "in words", .remedies = {to_give("--tp-size")}};
    rules::say_remedies(none, r);
    EXPECT_EQ(none.fix, "in words");
  }
}

TEST(RemedySteps, ChangeTheLaunch) {
  EXPECT_EQ(lists_after(to_give("--page-size", {"64", "128"}), {"--page-size", "32"}),
            (Lists{"--page-size 64", "--page-size 128"}));
  EXPECT_EQ(lists_after(to_give("--page-size", {"64"}), {"--tp", "2"}), (Lists{"--tp 2 --page-size 64"}));
  EXPECT_EQ(lists_after(to_drop("--tp-size"), {"--tp", "2", "--dtype", "auto", "--tp=4"}), (Lists{"--dtype auto"}));
  EXPECT_EQ(lists_after(to_drop("--tp-size"), {"--dtype", "auto"}), Lists{});
  EXPECT_EQ(
      lists_after(together({to_drop("--tp-size"), to_give("--page-size", {"64"})}), {"--tp", "2", "--dtype", "auto"}),
      (Lists{"--dtype auto --page-size 64"}));
  EXPECT_EQ(lists_after(Remedy{.steps = {{StepKind::kLower, "--tp-size"}}}, {"--tp-size", "8"}),
            (Lists{"--tp-size 4", "--tp-size 2", "--tp-size 1"}));
  EXPECT_EQ(lists_after(Remedy{.steps = {{StepKind::kUnset, "A"}}}, {"--dtype", "auto"}, {{"A", "1"}}),
            (Lists{"--dtype auto"}));
  EXPECT_EQ(lists_after(Remedy{.steps = {{StepKind::kSet, "A", {"2"}}}}, {"--dtype", "auto"}),
            (Lists{"A=2 --dtype auto"}));
  EXPECT_EQ(lists_after(Remedy{.stored_as = "fp8"}, {"--dtype", "auto"}), (Lists{"fp8 --dtype auto"}));
}

// A remedy made from a fix names options as the launch does: abbreviated, or one that no release has.
TEST(RemedySteps, NameOptionsAsTheyWereTyped) {
  EXPECT_EQ(lists_after(to_give("--dp", {"1"}), {"--dp", "2", "--dtype", "auto"}), (Lists{"--dp 1 --dtype auto"}));
  EXPECT_EQ(lists_after(to_give("--dp", {"1"}), {"--dtype", "auto"}), Lists{});
  EXPECT_EQ(lists_after(together({to_give("--dtype", {"auto"}), to_drop("--d_type")}), {"--d_type", "auto"}),
            (Lists{"--dtype auto"}));
  EXPECT_EQ(lists_after(to_drop("--d_type"), {"--dtype", "auto"}), Lists{});
}

// --attention-backend speaks for the phases that no option of their own names.
TEST(RemedySteps, GiveABackendForBothPhases) {
  EXPECT_EQ(lists_after(to_give("--attention-backend", {"triton"}), {"--decode-attention-backend", "intel_xpu"}),
            (Lists{"--decode-attention-backend intel_xpu --attention-backend triton", "--attention-backend triton"}));
}

TEST(Proving, SaysOfARemedyThatItWasNotTriedWhereTheTrialsRanOut) {
  const fix::Question question{v0_5(23), {"--page-size", "32"}, std::vector<SourceRange>(2), {}};
  const Launch launch;
  int looks = 0;
  const fix::LookAt look = [&](const fix::Attempt&) -> std::optional<fix::Look> {
    ++looks;
    return fix::Look{};
  };
  const Diagnostic error{.rule = "PG001",
                         .severity = Severity::kError,
                         .remedies = {to_give("--page-size", {"64", "128"}), rules::in_words("another kernel")}};
  std::vector<Diagnostic> findings = {error};
  fix::prove_remedies(question, launch, findings, {}, look, 0);
  EXPECT_EQ(looks, 0);
  EXPECT_EQ(findings[0].fix, "--page-size 64 or 128 (not tried), or another kernel");
  EXPECT_FALSE(findings[0].remedies[0].tried) << "in data, too";
  // One value was tried and holds: of the other nothing is said.
  findings = {error};
  fix::prove_remedies(question, launch, findings, {}, look, 1);
  EXPECT_EQ(findings[0].fix, "--page-size 64, or another kernel");
  findings = {error};
  fix::prove_remedies(question, launch, findings, {}, look, 2);
  EXPECT_EQ(findings[0].fix, "--page-size 64 or 128, or another kernel");
}

// A card that no search named is no profile; what nothing is tried of says so, whatever its severity.
TEST(Proving, CardsThatNobodyLookedForAreWords) {
  for (const Severity severity : {Severity::kInfo, Severity::kChange, Severity::kWarning, Severity::kError}) {
    std::vector<Diagnostic> findings = {
        {.rule = "PG001",
         .severity = severity,
         .remedies = {rules::on_another_card(), rules::on_other_cards(4), to_give("--page-size", {"64"})}}};
    fix::leave_untried(findings);
    EXPECT_EQ(findings[0].fix, "another card (not tried), or 4 other cards (not tried), or --page-size 64 (not tried)");
    for (const Remedy& remedy : findings[0].remedies) EXPECT_EQ(remedy.device, "") << remedy.words;
  }
}

// A list that is too long to try anything of.
TEST(Proving, NothingIsTriedOfAListThatNobodyWrote) {
  std::vector<std::string> words = {"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-8B", "--device", "xpu"};
  for (int i = 0; i < 3000; ++i) words.insert(words.end(), {"--tp-size", "3"});
  const auto run = run_tool(words);
  EXPECT_THAT(run.out, ::testing::HasSubstr("error[PL003]"));
  EXPECT_THAT(run.out, ::testing::HasSubstr("(not tried)"));
}

// --page-size 64 mends the error and brings two warnings, each with an advice of its own.
TEST(Proving, TakesTheAdviceOfEveryWarningThatARemedyBrings) {
  const fix::Question question{v0_5(23), {"--page-size", "32"}, std::vector<SourceRange>(2), {}};
  const Launch launch = testing::launch_of(v0_5(23), {.model = "qwen3-8b", .args = "--device xpu --page-size 32"});
  const auto warning = [](const char* rule, const Remedy& advice) {
    return Diagnostic{.rule = rule, .severity = Severity::kWarning, .remedies = {advice}};
  };
  const fix::LookAt look = [&](const fix::Attempt& tried) -> std::optional<fix::Look> {
    const auto has = [&](const char* word) { return std::ranges::find(tried.words, word) != tried.words.end(); };
    fix::Look seen{launch, {}};
    if (!has("64")) seen.findings.push_back({.rule = "PG001", .severity = Severity::kError});
    if (has("64") && !has("--disable-radix-cache"))
      seen.findings.push_back(warning("HY001", to_give("--disable-radix-cache")));
    if (has("64") && !has("0.5")) seen.findings.push_back(warning("PL007", to_give("--mem-fraction-static", {"0.5"})));
    return seen;
  };
  std::vector<Diagnostic> findings = {
      {.rule = "PG001", .severity = Severity::kError, .remedies = {to_give("--page-size", {"64"})}}};
  fix::prove_remedies(question, launch, findings, {}, look, 100);
  EXPECT_EQ(findings[0].fix, "--page-size 64 --disable-radix-cache --mem-fraction-static 0.5");
}

// Halving it until it fits would give up more than the model asks for.
TEST(Proving, AContextThatIsTooLongBecomesTheModelsOwn) {
  const auto run = run_tool({"check", "--no-kernel", "--format", "json", "--", "--model-path", "Qwen/Qwen3-8B",
                             "--device", "xpu", "--tp", "2", "--context-length", "200000"});
  const auto finding = nlohmann::json::parse(run.out)["findings"][0];
  EXPECT_EQ(finding["rule"], "RF014");
  EXPECT_EQ(finding["remedies"][0]["steps"].dump(), R"([{"do":"give","name":"--context-length","values":["40960"]}])");
  const auto near =
      run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-0.6B", "--context-length", "50000"});
  EXPECT_THAT(near.out, ::testing::HasSubstr("fix: --context-length 40960"));
  EXPECT_THAT(near.out, ::testing::Not(::testing::HasSubstr("25000")));
}

// A guess at a value is advice only where the word that stands there is near to it.
TEST(Proving, AChoiceThatNobodyCanGuessIsDropped) {
  const auto fix = [](const std::string& value) {
    const auto run = run_tool({"check", "--no-kernel", "--format", "json", "--", "--model-path", "Qwen/Qwen3-0.6B",
                               "--kv-cache-dtype", value});
    const auto finding = nlohmann::json::parse(run.out)["findings"][0];
    EXPECT_EQ(finding["rule"], "US003");
    return finding["fix"].get<std::string>();
  };
  EXPECT_THAT(fix("qqqqqqqq"), ::testing::StartsWith("drop --kv-cache-dtype"));
  EXPECT_THAT(fix("fp8_e5m3"), ::testing::StartsWith("--kv-cache-dtype fp8_e"));
}

TEST(RemedySteps, WhatOnlyTheUserCanDoIsNotTried) {
  EXPECT_EQ(lists_after(rules::in_words("a newer kernel package"), {"--dtype", "auto"}), Lists{});
  EXPECT_EQ(lists_after(Remedy{.release = "0.5.20"}, {"--dtype", "auto"}), Lists{});
  EXPECT_EQ(lists_after(to_give("--speculative-draft-model-path"), {"--dtype", "auto"}), Lists{});
}

// The fix of a rule's finding, as `check` tells it; "none" without the finding.
std::string fix_told(const std::string& rule, std::vector<std::string> options,
                     const std::vector<std::string>& launch) {
  std::vector<std::string> words = {"check", "--no-kernel", "--format", "json"};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), launch.begin(), launch.end());
  const auto report = nlohmann::json::parse(run_tool(words).out);
  for (const auto& finding : report["findings"]) {
    if (finding["rule"] == rule) return finding["fix"];
  }
  return "none";
}

// A rule without a remedy of its own: the options around the refusal have one.
TEST(RemediesNearby, AreFoundForARefusal) {
  EXPECT_EQ(fix_told("RF001", {}, {"--model-path", "Qwen/Qwen3-0.6B", "--load-format", "instanttensor"}),
            "drop --load-format");
  EXPECT_EQ(fix_told("RF001", {}, {"--model-path", "Qwen/Qwen3-0.6B", "--decrypted-config-file", "x"}),
            "drop --decrypted-config-file");
}

// No change mends all that is wrong; the finding's own is told all the same.
TEST(RemediesNearby, AreFoundWhereNothingMendsTheLaunch) {
  const std::vector<std::string> launch = {"--model-path", "Qwen/Qwen3.5-9B", "--gpu-id-step", "0"};
  EXPECT_EQ(fix_told("RF001", {"--sglang-version", "0.5.11"}, launch), "--gpu-id-step 1 with SGLang 0.5.13");
}

TEST(RemediesNearby, AllowTheModelsOwnCode) {
  const TemporaryDirectory dir;
  dir.file("config.json",
           R"({"model_type": "of_its_own", "architectures": ["X"], "auto_map": {"AutoConfig": "configuration_x.C"}})");
  EXPECT_EQ(fix_told("RF001", {}, {"--model-path", dir.path()}),
            "--trust-remote-code (only the first step: RF001 is next)");
  // Without the option SGLang asks for it again: dropping it is no step.
  EXPECT_EQ(fix_told("RF001", {}, {"--model-path", dir.path(), "--trust-remote-code"}),
            "configuration_x.py beside config.json");
}

// What no option mends says what does: the record's words about the model stay.
TEST(RemediesTold, AskForAnotherModelWhereNothingElseHelps) {
  const TemporaryDirectory dir;
  dir.file("config.json", R"({"model_type": "albert", "architectures": ["AlbertForMaskedLM"], "hidden_size": 768,
    "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30000,
    "embedding_size": 128, "max_position_embeddings": 512, "torch_dtype": "float32"})");
  EXPECT_EQ(fix_told("MC011", {}, {"--model-path", dir.path()}),
            "a model that SGLang has a class for: bge, e5 and the like");
}

// Advice that was tried and does not hold gives way to the record's words, and what is no advice was not tried.
TEST(RemediesTold, AskForAnotherModelWhereTheReleaseDoesNotHelp) {
  const auto config = [](const char* rest) {
    return fmt::format(R"({{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 12288,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128000,
      "max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "torch_dtype": "bfloat16", {}}})",
                       rest);
  };
  const TemporaryDirectory dir;
  // 0.5.19 has the class, and builds it on CUDA devices alone.
  dir.file("config.json", config(R"("architectures": ["KimiK3ForConditionalGeneration"], "num_hidden_layers": 2)"));
  EXPECT_EQ(fix_told("MC001", {"--sglang-version", "0.5.16"}, {"--model-path", dir.path()}),
            "another model, or a release that has a class for this one");
  dir.file("config.json", config(R"("architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2,
    "rope_scaling": {"rope_type": "llama3", "original_max_position_embeddings": 2048})"));
  EXPECT_EQ(fix_told("RF001", {"--sglang-version", "0.5.23"}, {"--model-path", dir.path()}),
            "the model's files as their authors publish them, where they were changed");
  // Nothing mends the launch, whose class is for CUDA; its own advice needs the advice of what that brings.
  dir.file("config.json", config(R"("architectures": ["DbrxForCausalLM"], "num_hidden_layers": 60)"));
  EXPECT_EQ(fix_told("VA002", {"--sglang-version", "0.5.23", "--device-profile", "b60", "--device-count", "8"},
                     {"--model-path", dir.path(), "--mem-fraction-static", "1.5"}),
            "--mem-fraction-static 0.8 --tp-size 2");
}

// Without its backend the option beside it is refused, and no rule advises on that: it goes, too.
TEST(RemediesTold, GoOnPastARefusalThatAdvisesNothing) {
  const TemporaryDirectory dir;
  dir.file("config.json", R"({"model_type": "kimi_linear", "architectures": ["KimiK3ForConditionalGeneration"],
    "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 2, "num_attention_heads": 32,
    "num_key_value_heads": 32, "head_dim": 72, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "v_head_dim": 128, "vocab_size": 163840, "num_experts": 256, "num_experts_per_token": 8, "num_shared_experts": 1,
    "moe_intermediate_size": 1024, "first_k_dense_replace": 1, "model_max_length": 4096, "rms_norm_eps": 1e-5,
    "torch_dtype": "bfloat16", "linear_attn_config": {"full_attn_layers": [1, 2], "kda_layers": [], "head_dim": 128,
    "num_heads": 32, "short_conv_kernel_size": 4}})");
  EXPECT_EQ(fix_told("MO005", {"--sglang-version", "0.5.23", "--device-profile", "b60", "--device-count", "8"},
                     {"--model-path", dir.path(), "--device", "xpu", "--moe-a2a-backend", "deepep",
                      "--shared-experts-tp-size", "1"}),
            "drop --moe-a2a-backend and --shared-experts-tp-size");
}

TEST(RemediesNearby, NameTheBackendThatAModelNeeds) {
  const TemporaryDirectory dir;
  dir.file("config.json", R"({"architectures": ["Exaone4ForCausalLM"], "model_type": "exaone4",
    "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 8,
    "intermediate_size": 2048, "vocab_size": 32000, "max_position_embeddings": 8192, "sliding_window": 4096,
    "sliding_window_pattern": "LLLG", "rms_norm_eps": 1e-6,
    "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"], "torch_dtype": "bfloat16"})");
  EXPECT_EQ(fix_told("RF001", {"--sglang-version", "0.5.21"}, {"--model-path", dir.path()}),
            "--attention-backend triton");
}

// A share of the memory that follows from the ranks need not be given.
// A width at which an expert divides leaves each rank more of weights that do not fit as it is.
TEST(RemediesTold, MakeNoOtherFindingWorse) {
  const auto run =
      run_tool({"check", "--no-kernel", "--device-profile", "b580", "--device-count", "8", "--", "--model-path",
                "Qwen/Qwen3-30B-A3B-FP8", "--tp-size", "8", "--mem-fraction-static", "0.3"});
  EXPECT_THAT(run.out, ::testing::HasSubstr("[PL002]"));
  EXPECT_THAT(run.out, ::testing::ContainsRegex("QN001(.|\n)*fix: --ep-size"));
  EXPECT_THAT(run.out, ::testing::Not(::testing::HasSubstr("--tp-size 4, 2"))) << run.out;
}

// What acts on experts is no way out of anything for a model without them.
TEST(RemediesTold, NameNoOptionThatDoesNothingForTheModel) {
  const auto told = [](const char* model) {
    return run_tool({"check", "--no-kernel", "--env", "SGLANG_USE_SGL_XPU=1", "--", "--model-path", model}).out;
  };
  EXPECT_THAT(told("Qwen/Qwen3-30B-A3B"), ::testing::HasSubstr("--moe-runner-backend"));
  const std::string dense = told("Qwen/Qwen3-0.6B");
  EXPECT_THAT(dense, ::testing::HasSubstr("SGLANG_USE_SGL_XPU is gone since SGLang 0.5.19"));
  EXPECT_THAT(dense, ::testing::Not(::testing::HasSubstr("--moe-")));
}

// "No errors" is not "nothing is wrong": what was told before and is left is named.
TEST(RemediesTold, OfALaunchNameTheWarningsThatStay) {
  const auto run = run_tool(
      {"check", "--no-kernel", "--env", "SGLANG_LOG_CG=1", "--", "--model-path", "Qwen/Qwen3-0.6B", "--tp-size", "3"});
  EXPECT_THAT(run.out, ::testing::HasSubstr("warning[EN001]"));
  EXPECT_THAT(run.out, ::testing::HasSubstr("resolved and checked again: no errors; EN001 stays"));
}

// What the finding advises comes first, with what SGLang wants beside it: pages that the backend takes.
TEST(RemediesTold, ComeFirstWithWhatTheyBring) {
  const auto run = run_tool({"check",
                             "--no-kernel",
                             "--device-profile",
                             "b60",
                             "--device-count",
                             "8",
                             "--format",
                             "json",
                             "--sglang-version",
                             "0.5.19",
                             "--",
                             "--model-path",
                             "deepseek-ai/DeepSeek-V2-Lite-Chat",
                             "--trust-remote-code",
                             "--tp",
                             "2",
                             "--attention-backend",
                             "intel_xpu",
                             "--page-size",
                             "64"});
  const auto fixes = nlohmann::json::parse(run.out)["fixes"];
  EXPECT_THAT(fixes[0]["command"].get<std::string>(),
              ::testing::HasSubstr("--page-size 128 --decode-attention-backend intel_xpu"));
  EXPECT_THAT(fixes[1]["command"].get<std::string>(),
              ::testing::HasSubstr("--attention-backend triton --page-size 64"));
}

TEST(RemediesTold, GiveUpTheLeast) {
  const std::string fix = fix_told("PL002", {"--device-profile", "a770"}, {"--model-path", "Qwen/Qwen3-8B"});
  EXPECT_TRUE(fix.starts_with("--tp-size 2, ")) << fix;
}

// Of an option that is a part of another field the typed value stays where it was.
TEST(RemediesTold, SayWhatAPartOfAFieldEndsWith) {
  const auto run = run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-0.6B", "--device", "xpu",
                             "--cuda-graph-backend-decode", "breakable"});
  EXPECT_THAT(run.out, ::testing::HasSubstr("fix: --cuda-graph-backend-decode disabled"));
}

TEST(RemediesTold, SayWhatAChangeEndsWith) {
  EXPECT_EQ(fix_told("CH001", {},
                     {"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "intel_xpu", "--page-size", "32"}),
            "--page-size 128, or drop --page-size");
}

// What gets past a refusal to the next one is no way out, where nothing mends that.
TEST(RemediesTold, SayThatTheyAreAFirstStepOnly) {
  const TemporaryDirectory dir;
  dir.file("config.json", R"({"model_type": "llama", "architectures": ["FrobnicateForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 12288, "num_hidden_layers": 2, "num_attention_heads": 32, "num_key_value_heads": 8,
    "vocab_size": 128000, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "torch_dtype": "bfloat16"})");
  const std::vector<std::string> options = {"--sglang-version", "0.5.13", "--device-profile", "b60"};
  EXPECT_EQ(fix_told("US001", options, {"--model-path", dir.path(), "--dcp-size", "2"}),
            "drop --dcp-size (only the first step: MC001 is next)");
  EXPECT_EQ(fix_told("US001", options, {"--model-path", "openai/gpt-oss-20b", "--dcp-size", "2"}),
            "drop --dcp-size with SGLang 0.5.20");
}

// triton cuts the chunks of deterministic inference down to nothing up to 0.5.21.
TEST(RemediesTold, BringNoWarningWithoutItsOwnRemedy) {
  const std::vector<std::string> launch = {"--model-path",
                                           "Qwen/Qwen3-0.6B",
                                           "--enable-deterministic-inference",
                                           "--attention-backend",
                                           "fa3",
                                           "--chunked-prefill-size",
                                           "2048"};
  EXPECT_EQ(fix_told("BK001", {"--sglang-version", "0.5.17"}, launch),
            "--attention-backend triton --chunked-prefill-size 4096");
  EXPECT_EQ(fix_told("BK001", {"--sglang-version", "0.5.22"}, launch), "--attention-backend triton or intel_xpu");
}

// intel_xpu has no kernels for a Max 1550: a warning, where triton has none.
TEST(RemediesTold, LeaveOutWhatBringsAWarningWhereAnotherBringsNone) {
  EXPECT_EQ(fix_told("BK001", {"--device-profile", "max1550"},
                     {"--model-path", "Qwen/Qwen3-8B", "--attention-backend", "aiter"}),
            "--attention-backend triton");
}

// Without fp64 SGLang takes intel_xpu away again.
TEST(RemediesTold, NameNoBackendThatIsTakenAwayAgain) {
  const auto run = run_tool({"check", "--no-kernel", "--no-fixes", "--device-profile", "a770", "--", "--model-path",
                             "Qwen/Qwen3-8B", "--attention-backend", "fa3"});
  EXPECT_NE(run.out.find("fix: --attention-backend triton (not tried)\n"), std::string::npos) << run.out;
}

std::string text_of(std::vector<std::string> options, const std::vector<std::string>& launch) {
  std::vector<std::string> words = {"check", "--no-kernel"};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), launch.begin(), launch.end());
  return run_tool(words).out;
}

// The report's fix and the finding's agree.
TEST(RemediesTold, AreTheFixWhereNoChangeOfArgumentsIs) {
  const std::string text = text_of({"--sglang-version", "0.5.13"}, {"--model-path", "openai/gpt-oss-20b"});
  EXPECT_THAT(text, ::testing::HasSubstr("fix: SGLang 0.5.20\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("no errors; nothing else was found)\n  SGLang 0.5.20\n"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("none found")));
}

// Another release gives up less than another checkpoint, and what it brings has advice of its own.
TEST(RemediesTold, JoinAnotherReleaseWithWhatItBrings) {
  const std::vector<std::string> options = {"--sglang-version", "0.5.17", "--device-profile", "b60",
                                            "--device-count",   "8"};
  const std::string fix = "--tp-size 4 --mem-fraction-static 0.72 with SGLang 0.5.20";
  EXPECT_EQ(fix_told("RF019", options, {"--model-path", "openai/gpt-oss-120b"}), fix);
  EXPECT_THAT(text_of(options, {"--model-path", "openai/gpt-oss-120b"}),
              ::testing::HasSubstr("no errors; nothing else was found)\n  " + fix + "\n\n"));
  EXPECT_EQ(fix_told("RF019", options, {"--model-path", "openai/gpt-oss-120b", "--tp-size", "4"}),
            "--mem-fraction-static 0.72 with SGLang 0.5.20");
  EXPECT_EQ(fix_told("RF019", {"--sglang-version", "0.5.13", "--device-profile", "max1100"},
                     {"--model-path", "openai/gpt-oss-20b", "--quantization", "mxfp4"}),
            "--moe-runner-backend triton --attention-backend triton with SGLang 0.5.20");
}

// What mends a launch in its own release asks for no other one, older ones least of all.
TEST(RemediesTold, NameNoReleaseWhereTheStepsAloneMend) {
  const std::vector<std::string> vision = {
      "--model-path", "meta-llama/Llama-3.2-11B-Vision-Instruct", "--tp-size", "2", "--attention-backend", "triton"};
  const auto told = [&](const char* release) {
    return fix_told("BK004", {"--sglang-version", release, "--device-profile", "b60", "--device-count", "2"}, vision);
  };
  EXPECT_EQ(told("0.5.21"), "--attention-backend intel_xpu");
  EXPECT_EQ(told("0.5.19"), "--attention-backend intel_xpu with SGLang 0.5.20");
  const std::string models = source_directory() + "/tests/data/models/";
  EXPECT_EQ(fix_told("SP003", {"--sglang-version", "0.5.11", "--device-profile", "b60", "--device-count", "2"},
                     {"--model-path", models + "llama-3.1-8b-instruct", "--tp-size", "2", "--dtype", "float16",
                      "--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path",
                      models + "llama-3.1-8b-eagle3", "--speculative-num-steps", "3", "--speculative-eagle-topk", "4",
                      "--speculative-num-draft-tokens", "16"}),
            "drop --speculative-algorithm");
}

// A release that does not know the model, or the launch's options, has got nowhere.
TEST(RemediesTold, NameNoReleaseThatRefusesEarlier) {
  const TemporaryDirectory dir;
  dir.file("config.json", R"({"model_type": "mimo_v2_flash", "architectures": ["MiMoV2FlashForCausalLM"],
    "hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 2, "num_attention_heads": 64,
    "num_key_value_heads": 4, "head_dim": 192, "vocab_size": 152576, "max_position_embeddings": 131072,
    "layer_types": ["full_attention", "sliding_attention"], "torch_dtype": "bfloat16"})");
  const std::string told = fix_told("RF001", {"--sglang-version", "0.5.22"}, {"--model-path", dir.path()});
  EXPECT_EQ(told, "the model's files as their authors publish them, where they were changed");
}

TEST(RemediesTold, KeepThePrefixCacheOfAHybridWhereItCanBe) {
  const std::vector<std::string> card = {"--device-profile", "b60", "--device-count", "2"};
  const auto told = [&](const char* release, const std::vector<std::string>& more) {
    std::vector<std::string> options = card;
    options.insert(options.begin(), {"--sglang-version", release});
    std::vector<std::string> launch = {"--model-path", "Qwen/Qwen3.5-9B", "--tp-size", "2"};
    launch.insert(launch.end(), more.begin(), more.end());
    return fix_told("RF012", options, launch);
  };
  EXPECT_EQ(told("0.5.16", {}),
            "--disable-radix-cache, or --mamba-radix-cache-strategy no_buffer --disable-overlap-schedule");
  EXPECT_EQ(told("0.5.22", {"--page-size", "64"}), "--disable-radix-cache");
}

// A checkpoint of GPTQ in the order of activation runs whole on one card.
TEST(RemediesTold, KeepACheckpointThatOneCardTakes) {
  const TemporaryDirectory dir;
  dir.file("config.json", R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
    "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 40960, "rms_norm_eps": 1e-6,
    "torch_dtype": "float16", "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128,
    "desc_act": true, "sym": true}})");
  EXPECT_EQ(fix_told("QN006", {"--sglang-version", "0.5.23", "--device-profile", "b60"},
                     {"--model-path", dir.path(), "--tp-size", "2"}),
            "--tp-size 1, or an FP8 checkpoint of the model, or an unquantised checkpoint of the model");
}

// What is beside the fault is left alone, and no weight is said to be loaded where none is.
TEST(RemediesTold, DropWhatIsAtFaultAlone) {
  const std::vector<std::string> launch = {"--model-path", "Qwen/Qwen3-0.6B", "--quantization",
                                           "bitsandbytes", "--load-format",   "dummy"};
  EXPECT_EQ(fix_told("QN024", {"--sglang-version", "0.5.23"}, launch), "drop --quantization");
  EXPECT_THAT(text_of({"--sglang-version", "0.5.23"}, launch),
              ::testing::HasSubstr("AttributeError at the first product: nobody makes"));
}

// Each fix needs another checkpoint, and a release does not. Of the word that stands for its path nothing is known, and
// nothing is said.
TEST(RemediesTold, AreToldBesideFixesThatTakeAnotherCheckpoint) {
  const TemporaryDirectory dir;
  dir.file("config.json", R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
    "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 40960, "rms_norm_eps": 1e-6,
    "torch_dtype": "float16", "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128,
    "desc_act": false, "sym": true}})");
  const std::string text =
      text_of({"--sglang-version", "0.5.18", "--device-profile", "b60"}, {"--model-path", dir.path()});
  EXPECT_THAT(text, ::testing::HasSubstr("Fix (resolved and checked again: no errors)\n  SGLang 0.5.19\n  or\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("--model-path FP8-CHECKPOINT\n"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("MD001")));
}

// A launch that was refused had hidden that its cache holds not one request.
TEST(RemediesTold, LeadPastARefusalToALaunchThatServes) {
  const std::vector<std::string> options = {"--sglang-version", "0.5.23", "--device-profile", "b580",
                                            "--device-count",   "1"};
  const std::vector<std::string> launch = {"--model-path", "Qwen/Qwen3-8B-AWQ", "--context-length", "1000000"};
  EXPECT_EQ(fix_told("RF014", options, launch), "--context-length 4513");
  EXPECT_THAT(text_of(options, launch),
              ::testing::HasSubstr("Fix (resolved and checked again: no errors)\n  - --context-length 1000000\n"));
}

// Where every change leaves one, the finding and the fix say so, and each fix for itself.
TEST(RemediesTold, SayWhatTheyLeave) {
  const std::vector<std::string> refused = {"--model-path", "Qwen/Qwen3-0.6B",     "--speculative-algorithm",
                                            "NGRAM",        "--attention-backend", "intel_xpu"};
  EXPECT_THAT(text_of({"--sglang-version", "0.5.23"}, refused),
              ::testing::HasSubstr("  which leaves a warning: SP004\n"));
  const std::vector<std::string> small = {"--sglang-version", "0.5.12", "--device-profile", "b50",
                                          "--device-count",   "3"};
  EXPECT_EQ(fix_told("VA006", small, {"--model-path", "deepseek-ai/DeepSeek-V2-Lite-Chat", "--ep-size", "8"}),
            "--ep-size 1 --tensor-parallel-size 2 --mem-fraction-static 0.9 (which brings PL002)");
}

// However the launch spells its options, and in another release, too.
// What a refusal hid may have been there all along.
TEST(RemediesTold, NameWhatTheyBring) {
  EXPECT_EQ(fix_told("RF001", {"--sglang-version", "0.5.22"},
                     {"--model-path", "Qwen/Qwen3-0.6B", "--disaggregation-mode", "prefill", "--enable-pd-role-switch",
                      "--dp", "2"}),
            "--dp 1 (which leaves SA013), or --disaggregation-mode null");
  EXPECT_EQ(fix_told("RF016", {"--sglang-version", "0.5.19"},
                     {"--model-path", source_directory() + "/tests/data/models/minicpm3-4b", "--speculative-algorithm",
                      "NGRAM"}),
            "SGLang 0.5.22 (which leaves SP004)");
  // A stray word is no option: words alone say that it goes.
  EXPECT_THAT(fix_told("US001", {"--sglang-version", "0.5.22"},
                       {"--model-path", "Qwen/Qwen3-0.6B", "--speculative-algorithm", "NGRAM", "stray"}),
              ::testing::EndsWith(" is dropped (which leaves SP004)"));
}

TEST(RemediesTold, NameWhatOtherCardsBring) {
  EXPECT_EQ(fix_told("VA002", {"--sglang-version", "0.5.11", "--device-profile", "a750", "--device-count", "2"},
                     {"--model-path", "deepseek-ai/DeepSeek-V2-Lite-Chat", "--speculative-algorithm", "STANDALONE",
                      "--speculative-num-steps", "1", "--speculative-eagle-topk", "4", "--speculative-num-draft-tokens",
                      "6", "--attention-backend", "triton", "--speculative-attention-mode", "prefill"}),
            "another card (--device-profile max1100) (which brings PL020)");
}

// The fix of the whole launch edits one of two words for an option, which a remedy's step cannot say.
TEST(RemediesTold, AreNoFixThatMendsOneOfTwoWords) {
  EXPECT_EQ(fix_told("US004", {"--sglang-version", "0.5.22"},
                     {"--model-path", "moonshotai/Moonlight-16B-A3B-Instruct", "--rl-on-policy-target=fsdp",
                      "--enable-deterministic-inference", "--tp-size", "1.5", "--tp-size", "4"}),
            "--tp-size 1 (only the first step: BK001 is next)");
}

// What mends the launch as a whole takes away a warning, too, which its own advice does not beside those errors.
TEST(RemediesTold, MendAWarningWithTheErrorsBesideIt) {
  EXPECT_EQ(fix_told("PL002", {"--sglang-version", "0.5.19"},
                     {"--model-path", "moonshotai/Kimi-Linear-48B-A3B-Instruct", "--tp-size", "3"}),
            "--tp-size 8");
  // For the cards that hold it the experts' kernels are not built: the advice on that goes with them.
  EXPECT_THAT(fix_told("PL002", {"--sglang-version", "0.5.20", "--device-profile", "b60", "--device-count", "8"},
                       {"--model-path", "deepseek-ai/DeepSeek-V3", "--tp-size", "8"}),
              ::testing::StartsWith("--tp-size 16 --mem-fraction-static 0.70 --moe-runner-backend triton with 16 other "
                                    "cards (--device-profile max1550 --device-count 16)"));
}

// Of an option that was given twice, the last one goes: the other counts then.
TEST(RemediesTold, SayWhichOfTwoValuesStays) {
  for (const std::vector<std::string>& first : {std::vector<std::string>{"--decode-attention-backend", "intel_xpu"},
                                                {"--decode-attention-backend=intel_xpu"}}) {
    std::vector<std::string> launch = {"--model-path", "Qwen/Qwen3-0.6B", "--pp-max-micro-batch-size", "-1"};
    launch.insert(launch.end(), first.begin(), first.end());
    launch.insert(launch.end(), {"--decode-attention-backend", "flashmla", "--page-size", "128"});
    EXPECT_EQ(fix_told("RF001", {"--sglang-version", "0.5.22"}, launch),
              "--decode-attention-backend intel_xpu without --pp-max-micro-batch-size");
  }
}

// What the parser hides has remedies of its own: none of its options stands in the finding of a slip of the pen.
TEST(RemediesTold, OfASlipOfThePenMendItAlone) {
  const std::vector<std::string> card = {"--device-profile", "b60"};
  EXPECT_EQ(fix_told("US003", card, {"--model-path", "Qwen/Qwen3-32B", "--attention-backend", "xpu"}),
            "--attention-backend intel_xpu (only the first step: PL002 is next)");
  EXPECT_EQ(fix_told("US004", card, {"--model-path", "Qwen/Qwen3-32B", "--page-size", "abc"}),
            "drop --page-size (only the first step: PL002 is next)");
  EXPECT_EQ(fix_told("US003", card,
                     {"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "xpu", "--enable-two-batch-overlap"}),
            "--attention-backend intel_xpu (only the first step: RF001 is next), or --attention-backend triton (only "
            "the first step: RF001 is next)");
  const std::string out = run_tool({"check", "--no-kernel", "--device-profile", "b60", "--", "--model-path",
                                    "Qwen/Qwen3-32B", "--attention-backend", "xpu"})
                              .out;
  EXPECT_EQ(out.find("fixed by"), std::string::npos) << out;
  EXPECT_NE(out.find("+ --mem-fraction-static"), std::string::npos) << out;  // of the launch
}

// A container that is given one card of several: to give it more comes before a launch on fewer.
TEST(RemediesTold, ShowAContainerTheCardsThatItLacks) {
  const std::string out =
      run_tool({"check", "--no-kernel", "--device-profile", "b60", "--format", "json", "--command",
                "docker run --device /dev/dri/renderD128 lmsysorg/sglang:v0.5.23-xpu python -m sglang.launch_server "
                "--model-path Qwen/Qwen3-8B --tp 2"})
          .out;
  const auto report = nlohmann::json::parse(out);
  const auto& findings = report["findings"];
  const auto told = std::ranges::find_if(findings, [](const auto& f) { return f["rule"] == "PL001"; });
  ASSERT_NE(told, findings.end());
  EXPECT_EQ((*told)["fix"].get<std::string>().rfind("2 cards for the container, where the machine has them", 0), 0U)
      << (*told)["fix"];
}

// Of Gemma 3's sets of positions the one without a window is meant, as by its configuration's own rope_scaling.
TEST(RemediesTold, PutAScalingWhereGemma3ReadsIt) {
  const std::string told =
      fix_told("RO007", {"--device-profile", "b60"},
               {"--model-path", "google/gemma-3-27b-it", "--tp-size", "8", "--json-model-override-args",
                R"({"rope_scaling":{"rope_type":"linear","factor":4.0}})"});
  EXPECT_NE(told.find(R"("full_attention":{"rope_theta":1000000.0,"rope_type":"linear","factor":4.0})"), told.npos);
  EXPECT_NE(told.find(R"("sliding_attention":{"rope_type":"default","rope_theta":10000.0})"), told.npos) << told;
}

// Under its right name the option stands once more, and counts there: the wrong word is of no use.
TEST(RemediesTold, LeaveOutWhatALaterWordOverrides) {
  const std::vector<std::string> options = {"--sglang-version", "0.5.23"};
  EXPECT_EQ(fix_told("US001", options, {"--model-path", "Qwen/Qwen3-0.6B", "--page_size", "64", "--page-size", "128"}),
            "drop --page_size");
  EXPECT_EQ(fix_told("US001", options, {"--model-path", "Qwen/Qwen3-0.6B", "--page-size", "128", "--page_size", "64"}),
            "did you mean --page-size?");
}

// The word itself is asked, however the message quotes it.
TEST(RemediesTold, KnowTheWrongWordWhateverStandsInIt) {
  const auto told = [](const char* word) {
    return fix_told("US003", {"--device-profile", "b60"},
                    {"--model-path", "Qwen/Qwen3-0.6B", "--kv-cache-dtype", word});
  };
  EXPECT_EQ(told("fp8_e4m3\""), told("fp8_e4m33"));
  EXPECT_EQ(told("\"fp8_e4m3"), told("fp8_e4m33"));
  EXPECT_NE(told("fp8_e4m33").find("--kv-cache-dtype fp8_e4m3"), std::string::npos) << told("fp8_e4m33");
}

// A backend that SGLang takes away again is no advice.
TEST(RemediesTold, GiveNoValueThatSglangChanges) {
  const std::vector<std::string> a770 = {"--device-profile", "a770", "--device-count", "4"};
  for (const char* backend : {"fa3", "aiter"}) {
    const std::vector<std::string> launch = {"--model-path", "LiquidAI/LFM2-1.2B", "--attention-backend", backend};
    EXPECT_EQ(fix_told("BK001", a770, launch), "--attention-backend torch_native, or drop --attention-backend")
        << backend;
    EXPECT_THAT(text_of(a770, launch), ::testing::Not(::testing::HasSubstr("+ --attention-backend intel_xpu\n")))
        << backend;
  }
}

// aiter takes its part of the fraction, whatever it is.
TEST(RemediesTold, RaiseNoFractionThatABackendTakesBack) {
  EXPECT_EQ(fix_told("PL002", {"--sglang-version", "0.5.21", "--device-profile", "a750", "--device-count", "1"},
                     {"--model-path", "meta-llama/Llama-3.2-3B-Instruct", "--attention-backend", "aiter"}),
            "--attention-backend triton --mem-fraction-static 0.83");
}

// Where everything brings a warning, the finding's own advice that brings the fewest is what --fix writes.
TEST(RemediesTold, AreTheFixWhereEveryFixBringsAWarning) {
  const auto run = run_tool({"check", "--no-kernel", "--device-profile", "b60", "--device-count", "12", "--host-memory",
                             "30GiB", "--", "--model-path", "Qwen/Qwen3-32B", "--tp", "1"});
  EXPECT_THAT(run.out,
              ::testing::HasSubstr("Fix (resolved and checked again: no errors, but a warning: KI010)\n  - --tp 1\n"
                                   "  + --tp 4\n  + --mem-fraction-static 0.71\n"));
}

// Of contexts that are short enough, the longest.
TEST(RemediesTold, LowerANumberToTheLimitThatTheFindingTells) {
  const auto run = run_tool({"check", "--no-kernel", "--device-profile", "b60", "--device-count", "1", "--",
                             "--model-path", "Qwen/Qwen3-0.6B", "--context-length", "100000"});
  EXPECT_THAT(run.out, ::testing::HasSubstr("fix: --context-length 40960"));
}

TEST(RemediesTold, OffloadNoMoreThanTheHostHolds) {
  const auto on = [](const char* host) {
    return run_tool({"check", "--no-kernel", "--device-profile", "b60", "--device-count", "1", "--host-memory", host,
                     "--", "--model-path", "Qwen/Qwen3-32B"})
        .out;
  };
  EXPECT_THAT(on("64GiB"), ::testing::HasSubstr("--cpu-offload-gb"));
  EXPECT_THAT(on("16GiB"), ::testing::Not(::testing::HasSubstr("--cpu-offload-gb")));
}

TEST(RemediesTold, CorrectAPathThatNoModelHas) {
  for (const char* path : {"https://huggingface.co/Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B@main"}) {
    const std::string text = text_of({}, {"--model-path", path});
    EXPECT_THAT(text, ::testing::HasSubstr("fix: --model-path Qwen/Qwen3-0.6B\n"));
    EXPECT_THAT(text, ::testing::HasSubstr("launch_server --model-path Qwen/Qwen3-0.6B\n"));
  }
  EXPECT_EQ(fix_told("RF018", {}, {"--model-path", "Qwen/Qwen3-0.6B@main", "--tp", "5"}),
            "--model-path Qwen/Qwen3-0.6B --tp 4, or --model-path Qwen/Qwen3-0.6B without --tp");
}

// Attention may be shared among groups of ranks where the class knows how.
TEST(RemediesTold, ShareAttentionAmongGroups) {
  const std::vector<std::string> launch = {"--model-path", "zai-org/GLM-4.7-Flash", "--tp-size", "8"};
  EXPECT_EQ(fix_told("PL003", {"--sglang-version", "0.5.21"}, launch),
            "--tp-size 4, or --dp-size 2 --enable-dp-attention");
  EXPECT_EQ(fix_told("PL003", {"--sglang-version", "0.5.22"}, launch), "--tp-size 4, or --attn-dp-size 2");
  EXPECT_EQ(fix_told("PL003", {}, {"--model-path", "Qwen/Qwen2.5-7B-Instruct", "--tp-size", "8"}), "--tp-size 4");
}

// An MLA model's weights on the host fail before 0.5.21; a processor's own GPU has the host's memory.
TEST(RemediesTold, OffloadOnlyWhereItWorks) {
  using ::testing::HasSubstr;
  using ::testing::Not;
  const auto told = [](const char* release, const char* device, const char* model) {
    return fix_told("PL002", {"--sglang-version", release, "--device-profile", device, "--device-count", "1"},
                    {"--model-path", model});
  };
  EXPECT_THAT(told("0.5.20", "b60", "deepseek-ai/DeepSeek-V2-Lite"), Not(HasSubstr("--cpu-offload-gb")));
  EXPECT_THAT(told("0.5.21", "b60", "deepseek-ai/DeepSeek-V2-Lite"), HasSubstr("--cpu-offload-gb"));
  EXPECT_THAT(told("0.5.20", "b60", "Qwen/Qwen3-32B"), HasSubstr("--cpu-offload-gb"));
  EXPECT_THAT(told("0.5.23", "140v", "Qwen/Qwen3-14B"), Not(HasSubstr("--cpu-offload-gb")));
  EXPECT_THAT(told("0.5.23", "a770", "Qwen/Qwen3-14B"), HasSubstr("--cpu-offload-gb"));
}

// What no option mends, hardware may: more of the cards there are, or the nearest other one that is enough.
TEST(RemediesTold, NameTheHardwareThatIsEnough) {
  const auto one = [](const char* rule, const char* card, std::vector<std::string> launch) {
    return fix_told(rule, {"--device-profile", card, "--device-count", "1"}, launch);
  };
  EXPECT_TRUE(one("PL002", "b60", {"--model-path", "meta-llama/Llama-3.1-70B-Instruct"})
                  .starts_with("--tp-size 8 --mem-fraction-static 0.76 with 8 such cards (--device-count 8), or "));
  EXPECT_EQ(one("PL008", "b60", {"--model-path", "Qwen/Qwen3-14B", "--quantization", "fp8"}),
            "an FP8 checkpoint of the model, or another card (--device-profile b65)");
  EXPECT_EQ(one("PL002", "140v", {"--model-path", "Qwen/Qwen3-14B"}), "another card (--device-profile max1100)");
  const std::vector<std::string> wide = {"--model-path", "Qwen/Qwen3-8B", "--tp-size", "8"};
  EXPECT_EQ(fix_told("PL001", {"--device-count", "2"}, wide), "--tp-size 2, or 8 such cards (--device-count 8)");
  // A mask is no shortage of cards.
  EXPECT_EQ(fix_told("PL001", {"--env", "ZE_AFFINITY_MASK=0,1"}, wide),
            "a ZE_AFFINITY_MASK that names 8 cards, where the machine has them, or --tp-size 2");
}

// Without the option that needs it no card is looked for; nor where it was said that there is no fp64.
TEST(RemediesTold, NameNoHardwareWhereAnOptionIsEnough) {
  const std::vector<std::string> split = {"--model-path", "Qwen/Qwen3-0.6B", "--decode-attention-backend", "intel_xpu"};
  EXPECT_EQ(fix_told("BK002", {"--device-profile", "a770"}, split),
            "--attention-backend triton without --decode-attention-backend");
  EXPECT_EQ(fix_told("PL002", {"--device-profile", "b60", "--device-count", "1"}, {"--model-path", "Qwen/Qwen3-8B"}),
            "--mem-fraction-static 0.71, or an FP8 checkpoint of the model");
}

// Every card is tried as it is: the one told mends the launch, and no nearer one does.
TEST(RemediesTold, NameTheNearestCardThatMends) {
  const std::vector<std::string> launch = {"--model-path", "Qwen/Qwen3-14B"};
  EXPECT_NE(fix_told("PL002", {"--device-profile", "b70", "--device-count", "1"}, launch), "none");
  EXPECT_EQ(fix_told("PL002", {"--device-profile", "max1100", "--device-count", "1"}, launch), "none");
}

TEST(RemediesNearby, NameStepsOfTheAdaptiveConfiguration) {
  const std::vector<std::string> launch = {"--model-path",
                                           "meta-llama/Llama-3.1-8B-Instruct",
                                           "--tp-size",
                                           "2",
                                           "--speculative-algorithm",
                                           "EAGLE3",
                                           "--speculative-draft-model-path",
                                           "lmsys/sglang-EAGLE3-LLaMA3.1-Instruct-8B",
                                           "--speculative-num-steps",
                                           "5",
                                           "--speculative-eagle-topk",
                                           "1",
                                           "--speculative-num-draft-tokens",
                                           "6",
                                           "--speculative-adaptive"};
  EXPECT_EQ(fix_told("RF001", {"--sglang-version", "0.5.16"}, launch),
            "--speculative-num-steps 3 or 7, or drop --speculative-adaptive (each leaves SP004)");
  EXPECT_EQ(fix_told("RF001", {"--sglang-version", "0.5.23"}, launch), "none") << "five steps are among them";
}

TEST(RemediesTold, SayWhatAnObjectStoreNeeds) {
  EXPECT_EQ(fix_told("RF001", {}, {"--model-path", "s3://bucket/model"}),
            "install runai_model_streamer, or give a local directory");
}

TEST(RemediesTold, AskForNoSecondGpuOfAProcessor) {
  const std::string text = text_of({"--device-profile", "140v"}, {"--model-path", "Qwen/Qwen3-14B"});
  EXPECT_THAT(text, ::testing::HasSubstr("1 x Intel Arc 140V"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("--tp-size")));
}

// NGRAM is kept where its trees do not fit the pages: as a chain, or on single tokens where the backend has them.
TEST(RemediesTold, KeepNgramOverPages) {
  const auto told = [](std::initializer_list<const char*> more) {
    std::vector<std::string> launch = {"--model-path", "Qwen/Qwen3-0.6B", "--speculative-algorithm", "NGRAM"};
    launch.insert(launch.end(), more.begin(), more.end());
    return fix_told("RF004", {"--sglang-version", "0.5.23"}, launch);
  };
  const std::string chain = "--speculative-ngram-max-bfs-breadth 1";
  const std::string each = " (each leaves SP004)";
  EXPECT_EQ(told({"--attention-backend", "intel_xpu"}), chain + ", or --attention-backend triton" + each);
  EXPECT_EQ(told({"--attention-backend", "triton", "--page-size", "16"}), "--page-size 1, or " + chain + each);
  EXPECT_EQ(told({"--attention-backend", "intel_xpu", "--page-size", "64"}), chain + " (which leaves SP004)");
}

// An option that was given twice is dropped as one.
TEST(RemediesTold, DropARepeatedOptionOnce) {
  const TemporaryDirectory dir;
  const std::string first = dir.file("a.yaml", "[1,2");
  const std::string second = dir.file("b.yaml", "- 1\n- 2\n");
  EXPECT_EQ(fix_told("RF001", {},
                     {"--model-path", "Qwen/Qwen3-8B", "--config", first, "--config", second, "--mem-fraction-static",
                      "0.71"}),
            "drop --config");
}

// A switch that SGLang set is set: giving it chooses nothing.
TEST(RemediesTold, SendNobodyToASwitchThatIsSet) {
  const std::string said =
      run_tool({"check", "--no-kernel", "--no-fixes", "--details", "--device-profile", "b60", "--", "--model-path",
                source_directory() + "/tests/data/models/qwen3.5-9b", "--device", "xpu"})
          .out;
  const auto at = said.find("info[CH002]: --disable-overlap-schedule");
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_THAT(said.substr(said.find("fix: ", at), 40), ::testing::HasSubstr("fix: change what forces it\n"));
}

// Of a backend that nothing names, SGLang's own defaults are known to run there.
// What SGLang chose for want of a value: some steps take another one back, and EAGLE's numbers come together.
TEST(RemediesTold, SayHowAChoiceIsMadeOtherwise) {
  const auto told = [](std::vector<std::string> launch, const std::string& option) {
    std::vector<std::string> words = {"check", "--no-kernel", "--no-fixes", "--details", "--"};
    words.insert(words.end(), launch.begin(), launch.end());
    const std::string said = run_tool(words).out;
    const auto at = said.find("info[CH002]: " + option);
    if (at == std::string::npos) return std::string("none");
    const auto fix = said.find("fix: ", at);
    return said.substr(fix, said.find("\n    source", fix) - fix);
  };
  constexpr const char* kAnother =
      "fix: give the option to ask for another value; CH001 tells where SGLang takes it back";
  const std::vector<std::string> plain = {"--model-path", "Qwen/Qwen3-0.6B",     "--device",
                                          "xpu",          "--attention-backend", "intel_xpu"};
  EXPECT_EQ(told(plain, "--page-size"), kAnother);
  std::vector<std::string> drafting = plain;
  drafting.insert(drafting.end(), {"--speculative-algorithm", "EAGLE"});
  EXPECT_THAT(told(drafting, "--speculative-num-draft-tokens"),
              ::testing::AllOf(::testing::HasSubstr("--speculative-num-steps, --speculative-eagle-topk and"),
                               ::testing::HasSubstr("together")));
  EXPECT_EQ(told(drafting, "--max-running-requests"), kAnother);
}

TEST(RemediesTold, GuessNoBackend) {
  EXPECT_EQ(fix_told("RF001", {"--sglang-version", "0.5.13"},
                     {"--model-path", "nvidia/Nemotron-H-8B-Base-8K", "--attention-backend", "triton"}),
            "--attention-backend torch_native");
}

// Experts that are no whole number of blocks fit no split: another width is no way out, and an option is never named
// without the value it takes.
TEST(RemediesTold, NameNoWidthWhereNoneFits) {
  const TemporaryDirectory dir;
  dir.file("config.json", R"({"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 2048,
    "num_hidden_layers": 4, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "num_experts": 16,
    "num_experts_per_tok": 4, "moe_intermediate_size": 720, "intermediate_size": 6144, "vocab_size": 151936,
    "max_position_embeddings": 40960, "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8",
    "weight_block_size": [128, 128], "activation_scheme": "dynamic"}})");
  for (const char* ranks : {"1", "2", "4"}) {
    EXPECT_EQ(fix_told("QN001", {}, {"--model-path", dir.path(), "--device", "xpu", "--tp-size", ranks}),
              "an unquantised checkpoint of the model")
        << ranks;
  }
}

// A quantisation that SGLang makes nothing of: with ModelOpt's methods its loader refuses, else the file is passed
// over.
TEST(RemediesTold, KnowAQuantisationThatIsNotRead) {
  const TemporaryDirectory dir;
  dir.file("config.json", R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 1024,
    "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
    "intermediate_size": 3072, "vocab_size": 151936, "max_position_embeddings": 40960, "torch_dtype": "bfloat16"})");
  dir.file("hf_quant_config.json", R"({"quantization": {"quant_algo": "W4A8_AWQ"}})");
  const std::vector<std::string> plain = {"--model-path", dir.path(), "--device", "xpu"};
  EXPECT_EQ(fix_told("QN018", {}, plain), "an unquantised checkpoint of the model");
  std::vector<std::string> asked = plain;
  asked.insert(asked.end(), {"--quantization", "modelopt_fp8"});
  EXPECT_EQ(fix_told("QN017", {}, asked), "none");
  EXPECT_NE(fix_told("QN018", {}, asked), "none");
  dir.file("hf_quant_config.json", R"({"quantization": {"quant_algo": null, "kv_cache_quant_algo": "FP8"}})");
  EXPECT_EQ(fix_told("QN018", {}, plain), "none");
}

// An option with its default, and the option dropped, are one way out.
TEST(RemediesTold, GiveOrDropWhatIsItsDefault) {
  const std::vector<std::string> card = {"--device-profile", "b580", "--device-count", "1"};
  const std::vector<std::string> wide = {
      "--model-path", "Qwen/Qwen3-0.6B", "--device", "xpu", "--cuda-graph-max-bs", "64", "--tensor-parallel-size", "4"};
  EXPECT_EQ(fix_told("US002", card, wide),
            "--cuda-graph-max-bs-decode 64 without --cuda-graph-max-bs (only the first step: PL001 is next)");
  const auto fixes = [&](const char* count) {
    std::vector<std::string> words = {"check", "--no-kernel",    "--format", "json", "--device-profile",
                                      "b580",  "--device-count", count,      "--"};
    words.insert(words.end(), wide.begin(), wide.end());
    return nlohmann::json::parse(run_tool(words).out)["fixes"].size();
  };
  EXPECT_EQ(fixes("1"), 1U);
  EXPECT_EQ(fixes("2"), 2U);  // two cards have both: another width is another launch
}

}  // namespace
}  // namespace preflight
