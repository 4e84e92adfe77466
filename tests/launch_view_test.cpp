// What the view of a launch answers, and that every room's answer is the view's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "preflight/fields.h"
#include "preflight/plan.h"
#include "preflight/rule.h"
#include "src/launch/launch_view.h"
#include "src/launch/ranks.h"
#include "src/launch/workspace.h"
#include "src/plan/compressed_pools.h"
#include "src/plan/decode_shape.h"
#include "src/plan/memory_sheet.h"
#include "tests/support/example_launch.h"
#include "tests/support/paths.h"
#include "tests/support/release_ranges.h"

namespace preflight {
namespace {

using ::testing::IsEmpty;
using testing::launch_of;
using testing::split_words;

Launch accepted(Release release, std::string_view model, std::string_view args, const Environment& env = {}) {
  Launch launch = launch_of(release, model, split_words(args), testing::device_of("b60"), env);
  EXPECT_TRUE(launch.accepted()) << (launch.refusal ? launch.refusal->message : "");
  return launch;
}

// The model of a launch with another quantization, which no directory of the tests holds.
Launch stored_as(Launch launch, std::string method, std::string_view config) {
  ModelFacts facts = *launch.model;
  facts.quantization = std::move(method);
  facts.quant_config = Value::parse_json(config).value();
  launch.model = std::make_shared<const ModelFacts>(std::move(facts));
  return launch;
}

TEST(LaunchView, ReadsABooleanOfTheEnvironmentAsTheReleaseDoes) {
  struct Row {
    const char* name;
    const char* text;
    int patch;
    bool want;
  };
  const Row rows[] = {
      {"SGLANG_USE_SGL_XPU", "1", 16, true},
      {"SGLANG_USE_SGL_XPU", "True", 16, true},
      {"SGLANG_USE_SGL_XPU", "on", 16, false},   // true for neither reader
      {"SGLANG_USE_SGL_XPU", "yes", 16, false},  // the older reader
      {"SGLANG_USE_SGL_XPU", "1", 18, true},
      {"SGLANG_USE_SGL_XPU", "1", 19, false},  // nobody reads it any more
      {"SGLANG_SHARED_EXPERT_TP1", "yes", 16, true},
      {"SGLANG_SHARED_EXPERT_TP1", "on", 16, false},
      {"SGLANG_SHARED_EXPERT_TP1", "1", 12, true},
      {"SGLANG_SHARED_EXPERT_TP1", "1", 11, false},  // not there yet
  };
  for (const Row& row : rows) {
    Launch launch;
    launch.args.release = testing::newest_of(row.patch);
    launch.env[row.name] = row.text;
    EXPECT_EQ(LaunchView(launch).env_on(row.name), row.want) << row.name << '=' << row.text << " in 0.5." << row.patch;
  }
}

TEST(LaunchView, TheCacheHasTheTypeThatTheCheckpointDeclaresToTheRelease) {
  constexpr const char* kScheme = R"({"quant_algo":"FP8","kv_cache_scheme":{"num_bits":8,"type":"float"}})";
  constexpr const char* kOfFour = R"({"quant_algo":"FP8","kv_cache_scheme":{"num_bits":4,"type":"float"}})";
  constexpr const char* kFlat = R"({"quant_algo":"FP8","kv_cache_quant_algo":"fp8"})";
  constexpr const char* kNested = R"({"quant_algo":"FP8","quantization":{"kv_cache_quant_algo":"FP8"}})";
  constexpr const char* kText = R"({"quant_algo":"NVFP4","kv_cache_scheme":"float8"})";
  constexpr const char* kStatic = R"({"kv_cache_scheme":{"num_bits":8,"type":"float","strategy":"tensor"}})";
  constexpr const char* kDynamic =
      R"({"kv_cache_scheme":{"num_bits":8,"type":"float","strategy":"tensor","dynamic":true}})";
  constexpr const char* kOfChannels = R"({"kv_cache_scheme":{"num_bits":8,"type":"float","strategy":"channel"}})";
  struct Row {
    const char* method;
    const char* config;
    int patch;
    bool fp8;
  };
  const Row rows[] = {
      {"modelopt_fp8", kScheme, 11, true},
      {"modelopt_fp8", kScheme, 23, true},
      {"modelopt", kScheme, 23, true},
      {"modelopt_fp8", kOfFour, 23, false},
      {"modelopt_fp8", kFlat, 14, false},  // a name instead of a scheme counts since 0.5.15
      {"modelopt_fp8", kFlat, 15, true},
      {"modelopt_fp4", kFlat, 14, false},
      {"modelopt_fp4", kFlat, 15, true},
      {"modelopt_mixed", kFlat, 15, true},
      {"modelopt_fp8", kNested, 11, true},  // hf_quant_config.json
      {"modelopt_fp4", kText, 11, true},
      {"modelopt_fp8", kText, 11, false},
      {"fp8", kFlat, 17, false},
      {"fp8", kFlat, 18, true},
      {"fp8", kScheme, 23, false},
      {"mxfp8", kFlat, 18, true},
      {"compressed-tensors", kStatic, 18, false},
      {"compressed-tensors", kStatic, 19, true},
      {"compressed-tensors", kDynamic, 19, false},
      {"compressed-tensors", kOfChannels, 19, false},
      {"petit_nvfp4", kNested, 23, true},
      {"awq", kScheme, 23, false},
  };
  for (const Row& row : rows) {
    const Launch launch =
        stored_as(accepted(testing::newest_of(row.patch), "qwen3-8b", "--device xpu"), row.method, row.config);
    EXPECT_EQ(LaunchView(launch).kv_dtype(), row.fp8 ? "fp8_e4m3" : "bfloat16")
        << row.method << ' ' << row.config << " in 0.5." << row.patch;
  }
  const Launch asked =
      stored_as(accepted(v0_5(23), "qwen3-8b", "--device xpu --kv-cache-dtype bf16"), "modelopt_fp8", kScheme);
  EXPECT_EQ(LaunchView(asked).kv_dtype(), "bfloat16");
}

// The model is asked for its quantisation object, and some classes keep none.
TEST(LaunchView, AClassThatKeepsNoSchemeHasACacheOfTheModelsType) {
  constexpr const char* kScheme = R"({"quant_algo":"FP8","kv_cache_scheme":{"num_bits":8,"type":"float"}})";
  const Launch launch = stored_as(accepted(v0_5(23), "qwen3-8b", "--device xpu"), "modelopt_fp8", kScheme);
  const auto cache_of = [&](const char* architecture) {
    Launch other = launch;
    ModelFacts facts = *launch.model;
    facts.architectures = {architecture};
    other.model = std::make_shared<const ModelFacts>(std::move(facts));
    return LaunchView(other).kv_dtype();
  };
  for (const char* keeps : {"LlamaForCausalLM", "Qwen3VLForConditionalGeneration", "Gemma3ForConditionalGeneration"})
    EXPECT_EQ(cache_of(keeps), "fp8_e4m3") << keeps;
  for (const char* keeps_none : {"Qwen2_5_VLForConditionalGeneration", "DeciLMForCausalLM", "Phi4MMForCausalLM",
                                 "NemotronH_Nano_VL_V2", "YiVLForCausalLM", "CLIPModel"})
    EXPECT_EQ(cache_of(keeps_none), "bfloat16") << keeps_none;
}

// The class that stands for all of transformers' keeps it, whatever SGLang's own class of that name does.
TEST(LaunchView, TheClassOfTransformersKeepsTheScheme) {
  constexpr const char* kScheme = R"({"quant_algo":"FP8","kv_cache_scheme":{"num_bits":8,"type":"float"}})";
  const std::pair<const char*, const char*> rows[] = {{"transformers", "fp8_e4m3"}, {"sglang", "bfloat16"}};
  for (const auto& [impl, cache] : rows) {
    const std::string words = std::string("--device xpu --model-impl ") + impl;
    Launch launch = stored_as(accepted(v0_5(23), "qwen3-8b", words), "modelopt_fp8", kScheme);
    ModelFacts facts = *launch.model;
    facts.architectures = {"Starcoder2ForCausalLM"};
    launch.model = std::make_shared<const ModelFacts>(std::move(facts));
    EXPECT_EQ(LaunchView(launch).kv_dtype(), cache) << impl;
  }
}

// gpt-oss names no type, which means float16 to SGLang, and a step of resolution then says bfloat16.
TEST(LaunchView, TheWorkerComputesInTheTypeThatResolutionSays) {
  Launch launch =
      accepted(v0_5(23), "gpt-oss-20b", "--attention-backend intel_xpu --kv-cache-dtype bf16 --page-size 128");
  ModelFacts facts = *launch.model;
  facts.dtype = "float16";
  launch.model = std::make_shared<const ModelFacts>(std::move(facts));
  EXPECT_EQ(LaunchView(launch).model_dtype(), "bfloat16");
  for (const Diagnostic& d : check(launch).diagnostics) EXPECT_NE(d.rule, "AT003") << d.message;
  const Launch half =
      accepted(v0_5(23), "qwen3-0.6b", "--dtype half --kv-cache-dtype bf16 --attention-backend intel_xpu");
  EXPECT_EQ(LaunchView(half).model_dtype(), "float16");
  EXPECT_EQ(LaunchView(half).kv_dtype(), "bfloat16");
}

TEST(LaunchView, OnlyMlaDecodeOnIntelXpuOfSomeReleasesTakesAWorkspace) {
  struct Row {
    int patch;
    const char* args;
    bool takes;
  };
  const Row rows[] = {
      {11, "--device xpu --decode-attention-backend intel_xpu", false},  // the form that answers 0
      {12, "--device xpu --decode-attention-backend intel_xpu", true},
      {19, "--device xpu --decode-attention-backend intel_xpu", true},
      {20, "--device xpu --decode-attention-backend intel_xpu", false},
      {23, "--device xpu --decode-attention-backend intel_xpu", false},
      {13, "--device xpu --attention-backend triton", false},
  };
  for (const Row& row : rows) {
    const Launch launch = accepted(testing::newest_of(row.patch), "deepseek-v2-lite-chat", row.args);
    EXPECT_EQ(mla_workspace(LaunchView(launch), 8).has_value(), row.takes) << row.patch << ' ' << row.args;
    EXPECT_EQ(derive_plan(launch).sizes.workspace_bytes.has_value(), row.takes) << row.patch << ' ' << row.args;
  }
  const Launch plain = accepted(v0_5(13), "qwen3-8b", "--device xpu --decode-attention-backend intel_xpu");
  EXPECT_FALSE(mla_workspace(LaunchView(plain), 8).has_value());
}

TEST(LaunchView, AWorkspaceIsOfAllRequestsAndStopsGrowingWhereItsSizeOverflows) {
  const Launch launch =
      accepted(v0_5(13), "deepseek-v2-lite-chat", "--device xpu --decode-attention-backend intel_xpu");
  const LaunchView view(launch);
  // 16 heads, 128 splits: 1,032 bytes each for a request.
  EXPECT_EQ(mla_workspace(view, 1)->bytes, 16 * 128 * 1032);
  EXPECT_EQ(mla_workspace(view, 256)->bytes, 256 * 16 * 128 * 1032);
  EXPECT_FALSE(mla_workspace(view, 1016)->size_overflows);
  const auto beyond = mla_workspace(view, 1017);
  EXPECT_TRUE(beyond->size_overflows);
  EXPECT_EQ(beyond->asked, 1017);
  EXPECT_EQ(beyond->requests, 1016);
  EXPECT_EQ(beyond->bytes, 1016LL * 16 * 128 * 1032);
}

TEST(LaunchView, APlanShowsTheSplitsOfAWorkspaceBesideItsPages) {
  const Launch launch =
      accepted(v0_5(13), "deepseek-v2-lite-chat", "--device xpu --decode-attention-backend intel_xpu");
  const PlanSizes sizes = derive_plan(launch).sizes;
  EXPECT_EQ(sizes.page_size, LaunchView(launch).page_size());
  EXPECT_EQ(sizes.kv_splits, mla_workspace(LaunchView(launch), sizes.batch)->kv_splits);
}

// Every launch that a rule's example makes, in every release: plan and sheet say what the view says.
TEST(LaunchView, PlanAndSheetOfEveryExampleSayWhatTheViewSays) {
  int seen = 0;
  for (const Release release : supported_releases()) {
    for (const Rule& rule : all_rules()) {
      for (const auto* examples : {&rule.fires_on, &rule.quiet_on}) {
        for (const RuleExample& example : *examples) {
          if (example.model.empty() || !rule.holds_in(release) || release < example.since || release >= example.until) {
            continue;
          }
          const Launch launch = launch_of(release, example);
          if (!launch.accepted() || launch.model == nullptr || launch.model->is_mla()) continue;
          const LaunchView view(launch);
          const Plan plan = derive_plan(launch);
          if (plan.sizes.page_size == 0) continue;
          ++seen;
          const auto where = std::string(rule.id) + " in " + release.text();
          EXPECT_EQ(plan.decode_backend, view.decode_backend()) << where;
          EXPECT_EQ(plan.prefill_backend, view.prefill_backend()) << where;
          EXPECT_EQ(plan.sizes.attention_tp, view.attention_tp()) << where;
          const ModelFacts& m = view.model();
          const std::int64_t width = m.head_dim + (m.v_head_dim > 0 ? m.v_head_dim : m.head_dim);
          const std::int64_t element = view.kv_is_fp8() ? 1 : view.kv_dtype() == "float32" ? 4 : 2;
          EXPECT_EQ(plan.sizes.kv_bytes_per_token, plan.sizes.num_kv_heads * width * element) << where;
          if (plan::is_compressed(m)) continue;  // what a token takes differs by layer
          if (const auto cost = plan::cache_cost(launch); cost && cost->window_layers == 0) {
            EXPECT_EQ(cost->bytes_per_token, plan.sizes.kv_bytes_per_token * cost->layers) << where;
          }
        }
      }
    }
  }
  EXPECT_GT(seen, 1000);
}

// engine.py and data_parallel_controller.py: base + replica * tp * pp * step + stage * width + rank * step.
TEST(NodeRanks, StandWhereTheEngineStartsThem) {
  const auto of = [](std::string_view args, Release release = v0_5(23)) {
    return node_ranks(LaunchView(accepted(release, "qwen3-0.6b", args)));
  };
  struct Row {
    std::string_view args;
    std::int64_t count, of_replica, highest;
    std::vector<std::int64_t> gpus;
  };
  for (const Row& row : {
           Row{"", 1, 1, 0, {0}},
           Row{"--base-gpu-id 3", 1, 1, 3, {3}},
           Row{"--tp 4 --gpu-id-step 2", 4, 4, 6, {0, 2, 4, 6}},
           Row{"--pp-size 2 --gpu-id-step 2", 2, 2, 1, {0, 1}},
           Row{"--tp 2 --pp-size 2 --gpu-id-step 2", 4, 4, 4, {0, 2, 2, 4}},
           Row{"--tp 2 --dp-size 2 --gpu-id-step 2", 4, 2, 6, {0, 2}},
           Row{"--tp 2 --nnodes 2 --dist-init-addr a:1", 1, 1, 0, {0}},
           Row{"--tp 2 --pp-size 2 --nnodes 2 --dist-init-addr a:1", 2, 2, 1, {0, 1}},
           Row{"--tp 4 --pp-size 2 --nnodes 4 --dist-init-addr a:1", 2, 2, 1, {0, 1}},
       }) {
    const NodeRanks ranks = of(row.args);
    EXPECT_EQ(ranks.count(), row.count) << row.args;
    EXPECT_EQ(ranks.of_replica(), row.of_replica) << row.args;
    EXPECT_EQ(ranks.highest_gpu(), row.highest) << row.args;
    EXPECT_EQ(ranks.gpus(8), row.gpus) << row.args;
  }
  EXPECT_EQ(of("--tp 4 --gpu-id-step 2").gpus(5), (std::vector<std::int64_t>{0, 2, 4}));
  // Groups of attention stand on the same ranks.
  EXPECT_EQ(of("--tp 4 --dp-size 2 --enable-dp-attention", v0_5(21)).count(), 4);
  EXPECT_EQ(of("--tp 4 --attn-dp-size 2", v0_5(22)).count(), 4);
}

// A launch that is refused stands where its options say; one that the parser refuses, nowhere but on one device.
TEST(NodeRanks, OfARefusedLaunchAreThoseOfItsOptions) {
  Launch launch =
      accepted(v0_5(23), "qwen3-0.6b", "--tp 4 --pp-size 2 --nnodes 2 --dist-init-addr a:1 --base-gpu-id 3");
  const auto of = [&] {
    const NodeRanks r = told_ranks(launch);
    return std::vector<std::int64_t>{r.tp, r.pp, r.nodes, r.base, r.step};
  };
  const std::vector<std::int64_t> resolved = of();
  EXPECT_EQ(resolved, (std::vector<std::int64_t>{4, 2, 2, 3, 1}));
  launch.resolved = {};
  EXPECT_EQ(of(), resolved);
  launch.args.raw = {};
  EXPECT_EQ(of(), (std::vector<std::int64_t>{1, 1, 1, 0, 1}));
}

// The fields behind these answers are read in src/launch, and by resolution, which makes them. A rule may still name
// one as the argument it points at, or ask whether it was given.
TEST(LaunchView, NoOtherRoomReadsTheFieldsBehindItsAnswers) {
  const std::regex read(
      R"((\[|integer\(|number\(|text\(|one_of\(|on\(|size\(|width\(|launch, )Field::(prefill_attention_backend|decode_attention_backend)"
      R"(|attn_dp_size|enable_dp_attention|attn_cp_size|dcp_size|kv_cache_dtype|mamba_radix_cache_strategy)"
      R"(|mamba_scheduler_strategy|moe_dp_size|ep_size|dp_size|base_gpu_id|gpu_id_step|disaggregation_mode)\b|\bis\(Field::disaggregation_mode\b)");
  std::vector<std::string> readers;
  for (const char* room : {"rules", "plan", "fix", "commands", "report", "kernels", "sample"}) {
    const std::filesystem::path folder = std::filesystem::path(testing::source_directory()) / "src" / room;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      std::ifstream file(entry.path());
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      if (std::regex_search(text, read)) readers.push_back(entry.path().filename().string());
    }
  }
  EXPECT_THAT(readers, IsEmpty());
}

}  // namespace
}  // namespace preflight
