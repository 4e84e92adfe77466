// From a resolved launch to kernel cases and sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "preflight/kernel.h"
#include "preflight/kernel_run.h"
#include "preflight/plan.h"
#include "src/plan/planners.h"
#include "tests/kernels/device.h"

namespace preflight {
namespace {

Launch launch_of(ModelFacts model, std::initializer_list<std::pair<Field, Value>> fields) {
  Launch launch;
  launch.args.release = supported_releases().back();
  launch.resolved = LaunchFields(launch.release());
  launch.resolved.set(Field::attention_backend, "intel_xpu");
  launch.resolved.set(Field::page_size, 64);
  for (const auto& [field, value] : fields) launch.resolved.set(field, value);
  launch.model = std::make_shared<const ModelFacts>(std::move(model));
  return launch;
}

ModelFacts deepseek() {
  ModelFacts model;
  model.attention_arch = AttentionArch::kMla;
  model.num_attention_heads = 128;
  model.num_key_value_heads = 128;
  model.head_dim = 192;
  model.kv_lora_rank = 512;
  model.qk_nope_head_dim = 128;
  model.qk_rope_head_dim = 64;
  model.scaling = 0.1352337788608801;
  model.context_len = 163840;
  model.dtype = "bfloat16";
  return model;
}

ModelFacts qwen() {
  ModelFacts model;
  model.num_attention_heads = 28;
  model.num_key_value_heads = 4;
  model.head_dim = 128;
  model.v_head_dim = 128;
  model.context_len = 32768;
  model.dtype = "bfloat16";
  return model;
}

std::vector<std::string> kernels_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlannedKernel& kernel : plan.kernels) names.push_back(kernel.kernel);
  return names;
}

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;

TEST(Plan, LatentAttentionRunsUnsplitWithTheModelsScaleAndHeadsPerRank) {
  const Plan plan = derive_plan(launch_of(deepseek(), {{Field::tp_size, 8}, {Field::max_running_requests, 8}}));
  ASSERT_EQ(kernels_of(plan), (Names{"mla_decode", "mla_decode", "merge_state", "page_table"}));
  EXPECT_EQ(print_case(plan.kernels[1].cases.front()),
            "mla_decode --heads 128 --scale 0.1352337788608801 --tp 8 --cache-seqlens 1,65");
  const KernelCase& c = plan.kernels[0].cases.front();
  EXPECT_THAT(plan.kernels[0].why, HasSubstr("latent attention of rank 512: 16 heads per rank, attention TP 8"));
  EXPECT_EQ(c.num_q_heads, 16);
  EXPECT_EQ(c.kv_splits, 1);
  EXPECT_EQ(c.page_size, 64);
  EXPECT_EQ(c.softmax_scale, 0.1352337788608801);
  EXPECT_EQ(plan.kernels[2].cases.front().head_dim, 128);  // the width of values where the model names none
  EXPECT_EQ(c.cache_seqlens, (std::vector<std::int64_t>{1, 63, 64, 65, 161}));
  EXPECT_EQ(plan.sizes.attention_tp, 8);
  EXPECT_EQ(plan.sizes.num_q_heads, 16);
  EXPECT_EQ(plan.sizes.num_kv_heads, 1);
  EXPECT_EQ(plan.sizes.page_table_columns, 2560);
  EXPECT_EQ(plan.sizes.padded_columns, 2560);
  EXPECT_FALSE(plan.sizes.workspace_bytes.has_value());  // nothing is known of this release's
  EXPECT_EQ(plan.sizes.kv_bytes_per_token, 1152);
}

TEST(Plan, SGLangsOwnKernelsGetNoRequestWithoutTokensAndZerosInEmptySides) {
  Plan plan;
  plan.decode_backend = "triton";
  for (const std::string_view line :
       {"paged_decode --window 9 --cache-seqlens 1,0,4", "mla_decode --cache-seqlens 0",
        "local_decode --chunk 64 --cache-seqlens 0,65", "merge_state --tokens 9", "kv_indices --cache-seqlens 0,3"}) {
    plan.kernels.push_back({"", "", {*parse_case(line)}});
  }
  std::vector<std::string> lines;
  for (const KernelCase& c : plan.served_cases()) lines.push_back(print_case(c));
  EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr("--cache-seqlens 1,1,4"), HasSubstr("--window 8")),
                                 HasSubstr("--cache-seqlens 1"), HasSubstr("--cache-seqlens 1,65"),
                                 HasSubstr("--empty-zeros"), HasSubstr("--cache-seqlens 0,3")));
}

// Triton's buffer of a window counts the current token; none is not fewer than none.
TEST(Plan, OnlyTritonsOwnKernelsGetAWindowOneTokenShorter) {
  const auto served = [](const char* backend, std::int64_t window) {
    Plan plan;
    plan.decode_backend = backend;
    KernelCase c{.kernel = "paged_decode"};
    c.window = window;
    plan.kernels.push_back({"", "", {c}});
    return plan.served_cases().front().window;
  };
  for (const std::int64_t window : {-1, 0, 1, 9}) {
    EXPECT_EQ(served("triton", window), window > 0 ? window - 1 : window);
    EXPECT_EQ(served("intel_xpu", window), window);
  }
}

TEST(Plan, KvHeadsAreCountedApartFromQueryHeads) {
  const PlanSizes sizes = derive_plan(launch_of(qwen(), {})).sizes;
  EXPECT_EQ(sizes.num_q_heads, 28);
  EXPECT_EQ(sizes.num_kv_heads, 4);
}

TEST(Plan, ABatchOfUnknownSizeIsOneRequest) {
  EXPECT_EQ(derive_plan(launch_of(qwen(), {})).sizes.batch, 1);
  EXPECT_EQ(derive_plan(launch_of(qwen(), {{Field::max_running_requests, 8}})).sizes.batch, 8);
}

// Or the mistakes that are planted into it (tests/mutants) meet nothing of what a launch runs.
TEST(Plan, EveryKernelHasCases) {
  for (const Kernel& kernel : kernel_table()) {
    const auto cases = plan::planned_cases(KernelCase{.kernel = std::string(kernel.name)});
    EXPECT_FALSE(cases.empty()) << kernel.name;
    for (const KernelCase& c : cases) EXPECT_EQ(c.kernel, kernel.name);
  }
  EXPECT_TRUE(plan::planned_cases(KernelCase{.kernel = "none"}).empty());
}

TEST(Plan, AllRanksRunASecondPageOrASecondTile) {
  for (const auto& [page, longest] : {std::pair(1, 65), {64, 65}, {128, 129}}) {
    const Plan plan = derive_plan(launch_of(qwen(), {{Field::tp_size, 4}, {Field::page_size, page}}));
    ASSERT_GT(plan.kernels.size(), 1U) << page;
    EXPECT_EQ(plan.kernels[1].cases.front().tp, 4) << page;
    EXPECT_EQ(plan.kernels[1].cases.front().cache_seqlens, (std::vector<std::int64_t>{1, longest})) << page;
  }
}

TEST(Plan, NoKernelIsPlannedWhereARankHasNoHead) {
  const Plan plan = derive_plan(launch_of(qwen(), {{Field::tp_size, 32}}));
  EXPECT_TRUE(plan.kernels.empty());
  ASSERT_EQ(plan.skipped.size(), 1U);
  EXPECT_EQ(plan.skipped[0].reason, "28 attention heads over 32 ranks leave none");
}

TEST(Plan, AnOddPageCountNeedsAPaddedTable) {
  ModelFacts model = deepseek();
  model.context_len = 129;
  const Plan plan = derive_plan(launch_of(model, {}));
  EXPECT_EQ(plan.sizes.page_table_columns, 3);
  EXPECT_EQ(plan.sizes.padded_columns, 4);
}

TEST(Plan, GroupedHeadsAreShardedAndKvHeadsReplicated) {
  const Plan plan = derive_plan(launch_of(qwen(), {{Field::tp_size, 8}}));
  ASSERT_EQ(kernels_of(plan), (Names{"paged_decode", "page_table"}));  // 28 heads over 8 ranks: no gathered run
  const KernelCase& c = plan.kernels[0].cases.front();
  EXPECT_EQ(c.kernel, "paged_decode");
  EXPECT_EQ(c.num_q_heads, 3);
  EXPECT_EQ(c.num_kv_heads, 1);
  EXPECT_THAT(plan.kernels[0].why, HasSubstr("3 query and 1 KV heads per rank, attention TP 8, page size 64"));
  EXPECT_EQ(c.window, -1);
  EXPECT_FALSE(plan.sizes.workspace_bytes.has_value());
}

// Ranks that share a context hold the same KV heads: those of so many fewer ranks.
TEST(Plan, RanksThatShareAContextHoldTheSameKvHeads) {
  for (const auto& [shared, kv_heads] : {std::pair(1, 1), {2, 2}, {4, 4}, {8, 4}}) {
    const Plan plan = derive_plan(launch_of(qwen(), {{Field::tp_size, 4}, {Field::dcp_size, shared}}));
    EXPECT_EQ(plan.kernels.at(0).cases.front().num_kv_heads, kv_heads) << shared;
    EXPECT_EQ(plan.kernels.at(0).cases.front().num_q_heads, 7) << shared;
  }
}

TEST(Plan, DataParallelAttentionKeepsHeadsTogether) {
  const Plan plan = derive_plan(launch_of(
      deepseek(),
      {{Field::tp_size, 8}, {Field::dp_size, 8}, {Field::enable_dp_attention, true}, {Field::attn_dp_size, 8}}));
  EXPECT_EQ(plan.sizes.attention_tp, 1);
  EXPECT_EQ(plan.kernels[0].cases.front().num_q_heads, 128);
}

TEST(Plan, TheDecodeBackendIsTheSplitFieldWhenItIsSet) {
  const Plan plan = derive_plan(launch_of(qwen(), {{Field::decode_attention_backend, "triton"}}));
  EXPECT_EQ(plan.decode_backend, "triton");
  EXPECT_EQ(plan.prefill_backend, "intel_xpu");
  EXPECT_EQ(kernels_of(plan), (Names{"paged_decode", "kv_indices"}));
  const Plan other = derive_plan(launch_of(qwen(), {{Field::decode_attention_backend, "torch_native"}}));
  EXPECT_TRUE(other.kernels.empty());
  ASSERT_EQ(other.skipped.size(), 1U);
  EXPECT_EQ(other.skipped[0].reason, "decode backend torch_native is neither intel_xpu nor triton");
}

TEST(Plan, SlidingLayersGetTheirOwnCasesWithAnInclusiveWindow) {
  ModelFacts model = qwen();
  model.is_hybrid_swa = true;
  model.sliding_window_size = 128;
  model.has_attention_sinks = true;
  model.attn_logit_softcapping = 50.0;
  model.full_layer_ids = {1};
  model.swa_layer_ids = {0};
  const Plan plan = derive_plan(launch_of(model, {}));
  ASSERT_EQ(kernels_of(plan), (Names{"paged_decode", "paged_decode", "page_table"}));
  EXPECT_EQ(plan.kernels[0].cases.front().window, -1);
  EXPECT_EQ(plan.kernels[0].cases.front().softcap, 50.0);
  const KernelCase& sliding = plan.kernels[1].cases.front();
  EXPECT_EQ(sliding.window, 127);
  EXPECT_EQ(sliding.head_dim, 128);  // as that of the other layers, where they have none of their own
  EXPECT_EQ(sliding.v_head_dim, 0);
  EXPECT_TRUE(sliding.sinks);
  EXPECT_EQ(sliding.softcap, 50.0);
  EXPECT_EQ(sliding.cache_seqlens, (std::vector<std::int64_t>{127, 128, 129, 255}));
  model.sliding_window_size = 1;
  EXPECT_EQ(derive_plan(launch_of(model, {})).kernels[1].cases.front().window, 0);  // the current token alone
}

// What reaches kernel and reference alike shows in no run: widths and heads that are not those of the other layers.
TEST(Plan, SlidingLayersHaveTheirOwnWidthsAndKvHeads) {
  ModelFacts model = qwen();
  model.is_hybrid_swa = true;
  model.sliding_window_size = 128;
  model.swa_layer_ids = {0};
  model.full_layer_ids = {1};
  model.swa_head_dim = 192;
  model.swa_v_head_dim = 96;
  model.hf_text_config = Value::dict({{"swa_num_key_value_heads", 14}});
  const Plan plan = derive_plan(launch_of(model, {{Field::tp_size, 2}}));
  ASSERT_EQ(kernels_of(plan), (Names{"paged_decode", "paged_decode", "paged_decode", "page_table"}));
  EXPECT_THAT(print_case(plan.kernels[0].cases.front()), HasSubstr("--heads 14 --kv-heads 2 --cache-seqlens"));
  const KernelCase& sliding = plan.kernels[2].cases.front();
  EXPECT_EQ(sliding.window, 127);
  EXPECT_EQ(sliding.num_kv_heads, 7);
  EXPECT_EQ(sliding.head_dim, 192);
  EXPECT_EQ(sliding.v_head_dim, 96);
  model.swa_v_head_dim = 192;
  EXPECT_EQ(derive_plan(launch_of(model, {})).kernels[1].cases.front().v_head_dim, 0);  // as wide as keys
}

TEST(Plan, ValuesNarrowerThanKeysArePlannedSo) {
  ModelFacts latent = deepseek();
  latent.v_head_dim = 64;
  const Plan merging = derive_plan(launch_of(latent, {}));
  ASSERT_EQ(kernels_of(merging), (Names{"mla_decode", "merge_state", "page_table"}));
  EXPECT_EQ(merging.kernels[1].cases.front().head_dim, 64);
  ModelFacts model = qwen();
  model.hf_text_config = Value::dict({{"linear_num_key_heads", 16},
                                      {"linear_num_value_heads", 32},
                                      {"linear_key_head_dim", 128},
                                      {"linear_value_head_dim", 64}});
  const Plan hybrid = derive_plan(launch_of(model, {}));
  for (const PlannedKernel& kernel : hybrid.kernels) {
    if (!kernel.kernel.starts_with("gated_delta") && kernel.kernel != "causal_conv1d") continue;
    EXPECT_EQ(kernel.cases.front().head_dim, 128) << kernel.kernel;
    EXPECT_EQ(kernel.cases.front().v_head_dim, 64) << kernel.kernel;
  }
}

// A scale of 1, one that is the other's, or a product of the two or a root, would not show which one is applied, or how
// often: of all that few of them come to, none is another by less than a twentieth. One that is a power of two would
// not show whether more than its exponent is read.
void expect_scales_apart(const KernelCase& c) {
  for (const double scale : {c.k_scale, c.v_scale}) EXPECT_NE(std::log2(scale), std::round(std::log2(scale)));
  std::set<double> products;
  for (const double k : {-2.0, -1.0, 0.0, 1.0, 2.0}) {
    for (const double v : {-2.0, -1.0, 0.0, 1.0, 2.0}) {
      if (std::fabs(k) + std::fabs(v) < 3.0) products.insert(std::pow(c.k_scale, k) * std::pow(c.v_scale, v));
    }
  }
  EXPECT_EQ(products.size(), 13U) << print_case(c);
  double before = 0.0;
  for (const double product : products) {
    EXPECT_GT(product, 1.05 * before) << print_case(c);
    before = product;
  }
}

// As ModelConfig.get_num_kv_heads counts them: the whole part, and one where there are fewer heads than ranks.
TEST(Plan, ARankHasTheWholePartOfTheKvHeads) {
  EXPECT_EQ(plan::heads_per_rank(8, 4), 2);
  EXPECT_EQ(plan::heads_per_rank(7, 4), 1);
  EXPECT_EQ(plan::heads_per_rank(3, 2), 1);
  EXPECT_EQ(plan::heads_per_rank(2, 8), 1);
}

TEST(Plan, AnFp8CacheIsPartOfTheCase) {
  for (const auto& [name, type] : {std::pair("fp8_e4m3", DType::kFp8E4M3), std::pair("fp8_e5m2", DType::kFp8E5M2)}) {
    const Plan plan = derive_plan(launch_of(qwen(), {{Field::kv_cache_dtype, name}}));
    EXPECT_EQ(plan.kernels[0].cases.front().kv_dtype, type);
    EXPECT_EQ(plan.sizes.kv_bytes_per_token, 4 * 256);
    for (const KernelCase& c : plan.kernels[0].cases) expect_scales_apart(c);
    // Of latent attention it is cast to the queries' type before the kernel.
    const Plan latent = derive_plan(launch_of(deepseek(), {{Field::kv_cache_dtype, name}}));
    for (const KernelCase& c : latent.kernels[0].cases) EXPECT_EQ(c.cache_dtype(), DType::kBf16) << print_case(c);
  }
  const Plan plain = derive_plan(launch_of(qwen(), {}));
  for (const KernelCase& c : plain.kernels[0].cases) {
    EXPECT_EQ(c.k_scale, 1.0);
    EXPECT_EQ(c.v_scale, 1.0);
  }
}

TEST(Plan, TheKindOfFp8IsThatOfTheCache) {
  const Plan five = derive_plan(launch_of(qwen(), {{Field::kv_cache_dtype, "fp8_e5m2"}}));
  ASSERT_FALSE(five.kernels.empty());
  EXPECT_EQ(five.kernels[0].cases.front().kv_dtype, DType::kFp8E5M2);
  // No kernel here reads four bits: nothing runs in their place.
  EXPECT_TRUE(derive_plan(launch_of(qwen(), {{Field::kv_cache_dtype, "fp4_e2m1"}})).kernels.empty());
}

TEST(Plan, ValuesOfAnotherWidthThanKeysArePartOfTheCase) {
  ModelFacts model = qwen();
  model.head_dim = 192;
  const Plan plan = derive_plan(launch_of(model, {}));
  ASSERT_FALSE(plan.kernels.empty());
  EXPECT_EQ(plan.kernels[0].cases.front().head_dim, 192);
  EXPECT_EQ(plan.kernels[0].cases.front().v_head_dim, 128);
}

// Kernels whose case gathers all ranks, by what they compute.
Names gathered(const Plan& plan) {
  Names out;
  for (const PlannedKernel& kernel : plan.kernels) {
    if (kernel.cases.front().tp > 1) out.push_back(kernel.kernel);
  }
  return out;
}

TEST(Plan, RanksAreGatheredWhereHeadsAreDealtOutEvenly) {
  ModelFacts model = qwen();
  model.num_attention_heads = 24;
  model.num_key_value_heads = 4;
  const auto with = [&](int kv_heads, int ranks) {
    model.num_key_value_heads = kv_heads;
    return gathered(derive_plan(launch_of(model, {{Field::tp_size, ranks}})));
  };
  EXPECT_EQ(with(4, 2), Names{"paged_decode"});    // two each
  EXPECT_EQ(with(4, 8), Names{"paged_decode"});    // one each, on two ranks
  EXPECT_EQ(with(4, 6), Names{});                  // neither
  EXPECT_EQ(with(24, 24), Names{"paged_decode"});  // one query head each
}

TEST(Plan, LinearLayersAreGatheredWhereKeysAndValuesAreDealtOutEvenly) {
  ModelFacts model = qwen();
  model.num_attention_heads = 32;
  model.head_dim = 128;
  const auto with = [&](int keys, int values) {
    model.hf_text_config = Value::dict({{"linear_num_key_heads", keys},
                                        {"linear_num_value_heads", values},
                                        {"linear_key_head_dim", 128},
                                        {"linear_value_head_dim", 128}});
    Names out = gathered(derive_plan(launch_of(model, {{Field::tp_size, 4}})));
    std::erase(out, "paged_decode");
    return out;
  };
  EXPECT_EQ(with(16, 32), (Names{"gated_delta_step", "gated_delta_chunk"}));
  EXPECT_EQ(with(6, 12), Names{});
  EXPECT_EQ(with(6, 36), Names{});
}

TEST(Plan, AHybridRunsTheDeltaRuleTheRotationAndPagedAttention) {
  ModelFacts model = qwen();
  model.num_attention_heads = 16;
  model.head_dim = 256;
  model.v_head_dim = 256;
  model.hf_text_config = Value::dict({{"linear_num_key_heads", 16},
                                      {"linear_num_value_heads", 32},
                                      {"linear_key_head_dim", 128},
                                      {"linear_value_head_dim", 128},
                                      {"rope_parameters", Value::dict({{"mrope_section", Value::list({11, 11, 10})},
                                                                       {"mrope_interleaved", true},
                                                                       {"partial_rotary_factor", 0.25}})}});
  const Plan plan = derive_plan(launch_of(model, {{Field::tp_size, 4}}));
  ASSERT_EQ(kernels_of(plan),
            (Names{"paged_decode", "paged_decode", "causal_conv1d", "gated_delta_step", "gated_delta_step",
                   "gated_delta_chunk", "gated_delta_chunk", "mrope", "page_table"}));
  EXPECT_EQ(print_case(plan.kernels[1].cases.front()),
            "paged_decode --kv-heads 4 --head-dim 256 --tp 4 --cache-seqlens 1,65");
  EXPECT_EQ(print_case(plan.kernels[2].cases[0]),
            "causal_conv1d --heads 4 --v-heads 8 --query-lens 1x10 --padded 1 --window 3");
  EXPECT_EQ(print_case(plan.kernels[2].cases[1]),
            "causal_conv1d --heads 4 --v-heads 8 --query-lens 2,1,5,5,1,3,0,0 --window 3 --zero-state");
  EXPECT_EQ(print_case(plan.kernels[2].cases[2]),
            "causal_conv1d --heads 4 --v-heads 8 --query-lens 1,9 --window 3 --zero-state --inputs peaked --seed 2");
  EXPECT_EQ(print_case(plan.kernels[3].cases.front()),
            "gated_delta_step --heads 4 --v-heads 8 --query-lens 1x9 --l2norm");
  EXPECT_EQ(print_case(plan.kernels[4].cases.front()), "gated_delta_step --v-heads 32 --tp 4 --query-lens 5 --l2norm");
  EXPECT_EQ(print_case(plan.kernels[6].cases.front()), "gated_delta_chunk --v-heads 32 --tp 4 --query-lens 5 --l2norm");
  EXPECT_EQ(print_case(plan.kernels[7].cases.front()),
            "mrope --tokens 17 --heads 4 --head-dim 256 --rotary 64 --sections 11,11,10 --interleaved");
}

TEST(Plan, AStateIsGatheredWhereThereAreRanksAndAConvolutionRunsWhereItHasTaps) {
  ModelFacts model = qwen();
  model.num_attention_heads = 32;
  const auto kernels = [&](int ranks, int taps) {
    model.hf_text_config = Value::dict({{"linear_num_key_heads", 16},
                                        {"linear_num_value_heads", 32},
                                        {"linear_key_head_dim", 128},
                                        {"linear_value_head_dim", 128},
                                        {"linear_conv_kernel_dim", taps}});
    Names names = kernels_of(derive_plan(launch_of(model, {{Field::tp_size, ranks}})));
    std::erase_if(names, [](const std::string& n) { return n == "paged_decode" || n == "page_table"; });
    return names;
  };
  EXPECT_EQ(kernels(1, 4), (Names{"causal_conv1d", "gated_delta_step", "gated_delta_chunk"}));
  EXPECT_EQ(kernels(2, 2),
            (Names{"causal_conv1d", "gated_delta_step", "gated_delta_step", "gated_delta_chunk", "gated_delta_chunk"}));
  EXPECT_EQ(kernels(1, 1), (Names{"gated_delta_step", "gated_delta_chunk"}));
}

TEST(Plan, TypesGoByTheirNames) {
  for (const auto& [name, type] :
       {std::pair{"bfloat16", DType::kBf16}, std::pair{"bf16", DType::kBf16}, std::pair{"float16", DType::kF16},
        std::pair{"half", DType::kF16}, std::pair{"float32", DType::kF32}, std::pair{"float", DType::kF32}}) {
    const Plan plan = derive_plan(launch_of(qwen(), {{Field::dtype, name}}));
    ASSERT_FALSE(plan.kernels.empty()) << name;
    EXPECT_EQ(plan.kernels.front().cases.front().dtype, type) << name;
  }
}

TEST(Plan, EveryKernelOfALaunchTakesItsType) {
  ModelFacts hybrid = qwen();
  hybrid.num_attention_heads = 16;
  hybrid.hf_text_config = Value::dict({{"linear_num_key_heads", 16},
                                       {"linear_num_value_heads", 32},
                                       {"linear_key_head_dim", 128},
                                       {"linear_value_head_dim", 128},
                                       {"rope_scaling", Value::dict({{"mrope_section", Value::list({24, 20, 20})}})}});
  ModelFacts local = qwen();
  local.is_local_attention_model = true;
  std::set<std::string> seen;
  for (const ModelFacts& model : {hybrid, local, deepseek()}) {
    for (const auto& kernel : derive_plan(launch_of(model, {{Field::dtype, "float16"}})).kernels) {
      if (kernel.kernel == "page_table") continue;
      seen.insert(kernel.kernel);
      for (const KernelCase& c : kernel.cases) EXPECT_EQ(c.dtype, DType::kF16) << print_case(c);
    }
  }
  EXPECT_EQ(seen.size(), 8U);
}

TEST(Plan, LayersWithAStateThatNoKernelComputesAreNamed) {
  ModelFacts model = qwen();
  model.num_hidden_layers = 4;
  model.hf_text_config = Value::dict({{"layers_block_type", Value::list({"mamba", "attention", "mamba", "attention"})},
                                      {"mamba_n_heads", 8},
                                      {"mamba_d_head", 64}});
  EXPECT_TRUE(derive_plan(launch_of(model, {})).skipped.empty());  // SGLang knows no hybrid by the names of its layers
  model.hf_config =
      Value::dict({{"model_type", "granitemoehybrid"}, {"layer_types", Value::list({"mamba", "attention"})}});
  const Plan plan = derive_plan(launch_of(model, {}));
  ASSERT_EQ(plan.skipped.size(), 1U);
  EXPECT_EQ(plan.skipped[0].kernel, "linear layers");
}

TEST(Plan, StepsWithSeveralQueriesARequestAreNamed) {
  const auto skipped = [](std::initializer_list<std::pair<Field, Value>> fields) {
    return derive_plan(launch_of(qwen(), fields)).skipped;
  };
  EXPECT_TRUE(skipped({}).empty());
  const auto eagle =
      skipped({{Field::speculative_algorithm, "EAGLE3"}, {Field::speculative_num_draft_tokens, std::int64_t{4}}});
  ASSERT_EQ(eagle.size(), 1U);
  EXPECT_EQ(eagle[0].kernel, "speculative verification");
  EXPECT_TRUE(eagle[0].reason.starts_with("EAGLE3 lets the model check 4 drafted tokens")) << eagle[0].reason;
  EXPECT_TRUE(eagle[0].reason.ends_with("the draft model's own attention did not run either")) << eagle[0].reason;
  const auto ngram = skipped({{Field::speculative_algorithm, "NGRAM"}});
  ASSERT_EQ(ngram.size(), 1U);
  EXPECT_TRUE(ngram[0].reason.ends_with("the step with one query")) << ngram[0].reason;
  const auto diffusion = skipped({{Field::dllm_algorithm, "LowConfidence"}});
  ASSERT_EQ(diffusion.size(), 1U);
  EXPECT_EQ(diffusion[0].kernel, "diffusion decoding");
}

TEST(Plan, ALatentModelWithoutAScaleOfItsOwnHasThatOfItsHeads) {
  ModelFacts model = deepseek();
  model.scaling = 0.0;
  model.qk_nope_head_dim = 64;
  model.qk_rope_head_dim = 36;
  EXPECT_DOUBLE_EQ(derive_plan(launch_of(model, {})).kernels.front().cases.front().softmax_scale, 0.1);
}

// Written down from the models' own code, not from ours: kernel and reference would follow a wrong one alike.
TEST(Plan, ScoresAreScaledAsTheModelsOwnCodeHasIt) {
  struct Row {
    const char* architecture;
    std::int64_t head_dim;
    std::vector<std::pair<std::string, Value>> config;
    double scale;
  };
  const std::vector<Row> rows{
      {"Qwen3ForCausalLM", 128, {}, 0.08838834764831845},
      {"Gemma2ForCausalLM", 256, {{"query_pre_attn_scalar", 256}}, 0.0625},                     // 9B
      {"Gemma2ForCausalLM", 128, {{"query_pre_attn_scalar", 144}}, 0.08333333333333333},        // 27B
      {"Gemma3ForConditionalGeneration", 128, {{"query_pre_attn_scalar", 168}}, 0.0771516749},  // 27B
      {"Gemma3nForConditionalGeneration", 256, {{"query_pre_attn_scalar", 256}}, 1.0},
      {"Gemma4ForConditionalGeneration", 256, {}, 1.0},
      {"GraniteForCausalLM", 128, {{"attention_multiplier", 0.0078125}}, 0.0078125},
      {"GraniteMoeHybridForCausalLM", 128, {{"attention_multiplier", 0.0078125}}, 0.0078125},
      {"LlamaForCausalLM", 64, {{"attention_multiplier", 0.0078125}}, 0.125},  // does not read it
  };
  for (const Row& row : rows) {
    ModelFacts model = qwen();
    model.architectures = {row.architecture};
    model.head_dim = row.head_dim;
    model.v_head_dim = row.head_dim;
    Value config = Value::dict({});
    for (const auto& [key, value] : row.config) config = config.with(key, value);
    model.hf_text_config = config;
    const KernelCase c = derive_plan(launch_of(model, {})).kernels.front().cases.front();
    const double scale = c.softmax_scale > 0.0 ? c.softmax_scale : 1.0 / std::sqrt(static_cast<double>(c.head_dim));
    EXPECT_NEAR(scale, row.scale, 1e-9) << row.architecture;
  }
}

TEST(Plan, AModelThatGeneratesNothingHasNoDecodeKernels) {
  ModelFacts model = qwen();
  model.is_generation = false;
  const Plan plan = derive_plan(launch_of(model, {}));
  EXPECT_EQ(kernels_of(plan), Names{"page_table"});  // its prefill reads one, too
  ASSERT_EQ(plan.skipped.size(), 1U);
  EXPECT_EQ(plan.skipped[0].kernel, "paged_decode");
  EXPECT_EQ(plan.skipped[0].reason, "the model generates nothing: its requests end with their prefill");
}

// Beside the sections, or in the text model's own configuration: 0.5 of 128 dims are 32 pairs, all of them 64.
TEST(Plan, TheShareOfAHeadThatTurnsStandsInEitherPlace) {
  ModelFacts model = qwen();
  model.head_dim = model.v_head_dim = 128;
  const auto rotary_dims = [&](const Value& config) {
    model.hf_text_config = config;
    const Plan plan = derive_plan(launch_of(model, {}));
    for (const PlannedKernel& kernel : plan.kernels) {
      if (kernel.kernel == "mrope") return kernel.cases.front().rotary_dim;
    }
    return std::int64_t{-1};
  };
  const Value half = Value::list({12, 10, 10});
  const Value whole = Value::list({24, 20, 20});
  EXPECT_EQ(rotary_dims(Value::dict(
                {{"rope_parameters", Value::dict({{"mrope_section", half}, {"partial_rotary_factor", 0.5}})}})),
            64);
  EXPECT_EQ(rotary_dims(Value::dict(
                {{"partial_rotary_factor", 0.5}, {"rope_parameters", Value::dict({{"mrope_section", half}})}})),
            64);
  EXPECT_EQ(rotary_dims(Value::dict({{"rope_parameters", Value::dict({{"mrope_section", whole}})}})), 0);  // the head
  EXPECT_EQ(rotary_dims(Value::dict({{"rope_parameters", Value::dict({{"mrope_section", half}})}})), -1);
}

TEST(Plan, TheTextModelOfGlm4vTurnsNeighbours) {
  ModelFacts model = qwen();
  model.hf_text_config =
      Value::dict({{"rope_parameters", Value::dict({{"mrope_section", Value::list({16, 24, 24})}})}});
  const auto rotation = [&](const char* architecture) {
    model.architectures = {architecture};
    const Plan plan = derive_plan(launch_of(model, {}));
    for (const PlannedKernel& kernel : plan.kernels) {
      if (kernel.kernel == "mrope") return kernel.cases.front().adjacent_pairs;
    }
    ADD_FAILURE() << "no rotation is planned";
    return false;
  };
  EXPECT_TRUE(rotation("Glm4vForConditionalGeneration"));
  EXPECT_TRUE(rotation("GlmOcrForConditionalGeneration"));
  EXPECT_FALSE(rotation("Qwen2_5_VLForConditionalGeneration"));
}

TEST(Plan, LocalAttentionRunsTheChunkAndRefusesTheKnownMistakes) {
  ModelFacts model = qwen();
  model.num_attention_heads = 40;
  model.num_key_value_heads = 8;
  model.is_local_attention_model = true;
  model.attention_chunk_size = 8192;
  const Plan plan = derive_plan(launch_of(model, {}));
  ASSERT_EQ(kernels_of(plan), (Names{"paged_decode", "local_decode", "local_decode", "page_table"}));
  EXPECT_EQ(plan.kernels[1].cases.front().cache_seqlens,
            (std::vector<std::int64_t>{1, 63, 64, 65, 161, 8192, 8193, 8257}));
  for (const KernelCase& c : plan.kernels[2].cases) EXPECT_TRUE(c.must_fail);
  ASSERT_EQ(plan.kernels[2].cases.size(), 2U);
  EXPECT_EQ(plan.kernels[2].cases[0].table, Granularity::kToken);
  EXPECT_FALSE(plan.kernels[2].cases[0].shrink_chunk);
  EXPECT_EQ(plan.kernels[2].cases[1].table, Granularity::kPage);
  EXPECT_TRUE(plan.kernels[2].cases[1].shrink_chunk);
  // A chunk that is full takes a second: in one piece, and in splits at its edge.
  std::vector<std::pair<Inputs, bool>> full;
  for (const PlannedKernel& kernel : plan.kernels) {
    for (const KernelCase& c : kernel.cases) {
      const bool is_full = std::ranges::any_of(c.cache_seqlens, [](std::int64_t n) { return n > 0 && n % 8192 == 0; });
      if (is_full && c.kernel == "local_decode") full.emplace_back(c.inputs, c.kv_splits > 1);
    }
  }
  EXPECT_EQ(full, (std::vector<std::pair<Inputs, bool>>{{Inputs::kMid, false}, {Inputs::kEdge, true}}));
  const Plan other = derive_plan(launch_of(model, {{Field::attention_backend, "triton"}}));
  EXPECT_EQ(other.skipped.front().kernel, "local_decode");
  model.attention_chunk_size = 512;
  for (const PlannedKernel& kernel : derive_plan(launch_of(model, {})).kernels) {
    for (const KernelCase& c : kernel.cases) EXPECT_TRUE(c.kernel != "local_decode" || c.chunk == 512);
  }
}

TEST(Plan, AiterWithPagesShowsTheBufferOverrunAndTheCutWorkPlan) {
  const Plan plan = derive_plan(launch_of(deepseek(), {{Field::attention_backend, "aiter"}}));
  ASSERT_EQ(kernels_of(plan), (Names{"merge_state", "kv_indices", "kv_indices"}));
  EXPECT_EQ(print_case(plan.kernels[2].cases.front()),
            "kv_indices --cache-seqlens 1,63,64,65,161 --sizing page --must-fail");
  EXPECT_EQ(print_case(plan.kernels[2].cases.back()),
            "kv_indices --cache-seqlens 1,63,64,65,161 --index-block 64 --must-fail");
  const Plan by_token =
      derive_plan(launch_of(deepseek(), {{Field::attention_backend, "aiter"}, {Field::page_size, 1}}));
  EXPECT_EQ(kernels_of(by_token), (Names{"merge_state", "kv_indices"}));
  // Only aiter did so, and only of latent attention.
  const Plan triton = derive_plan(launch_of(deepseek(), {{Field::attention_backend, "triton"}}));
  EXPECT_EQ(kernels_of(triton), (Names{"mla_decode", "merge_state", "kv_indices"}));
}

// A mistake that no judge can tell from the right result shows nothing, and is reported as one that was not noticed:
// however few pages a chunk has.
TEST(Plan, WhatIsToBeRefusedIsRefusedWhenItRuns) {
  PREFLIGHT_NEEDS_DEVICE();
  std::vector<Plan> plans{derive_plan(launch_of(deepseek(), {{Field::attention_backend, "aiter"}}))};
  ModelFacts local = qwen();
  local.num_attention_heads = local.num_key_value_heads = 2;
  local.is_local_attention_model = true;
  for (const std::int64_t pages : {1, 2, 3, 9}) {
    local.attention_chunk_size = pages * 64;
    plans.push_back(derive_plan(launch_of(local, {})));
  }
  for (std::size_t i = 0; i < plans.size(); ++i) {
    std::vector<KernelCase> mistakes = plans[i].all_cases();
    std::erase_if(mistakes, [](const KernelCase& c) { return !c.must_fail; });
    EXPECT_EQ(mistakes.size(), i == 1 ? 1U : 2U);  // a chunk of one page is not cut
    for (const CaseReport& report : run_cases(mistakes, {}, {}).cases) {
      EXPECT_EQ(name_of(report.verdict.word), "pass") << report.case_line << "\n  " << report.verdict.reason;
    }
  }
}

TEST(Plan, EveryPlannedCaseIsACaseLine) {
  for (const Plan& plan :
       {derive_plan(launch_of(qwen(), {{Field::page_size, 1}})), derive_plan(launch_of(deepseek(), {}))}) {
    for (const KernelCase& c : plan.all_cases()) {
      const auto again = parse_case(print_case(c));
      ASSERT_TRUE(again.has_value()) << print_case(c);
      EXPECT_EQ(*again, c);
    }
  }
}

TEST(Plan, WithoutModelOrAcceptanceThereAreOnlySkips) {
  Launch launch = launch_of(qwen(), {});
  launch.model = nullptr;
  EXPECT_EQ(derive_plan(launch).skipped.front().reason, "the model's config.json is not known");
  launch.outcome = Outcome::kRefused;
  EXPECT_EQ(derive_plan(launch).skipped.front().reason, "the launch is refused");
}

}  // namespace
}  // namespace preflight
