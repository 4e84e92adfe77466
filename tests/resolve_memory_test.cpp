// Memory settings, graph sizes and configuration, KV and hierarchical caches. The expected values were read from the
// releases themselves.
#include <gtest/gtest.h>

#include <limits>

#include "src/resolve/graphs/cuda_graph.h"
#include "src/resolve/graphs/graph_sizes.h"
#include "src/resolve/cache/hicache.h"
#include "src/resolve/cache/kv_cache.h"
#include "src/resolve/cache/memory.h"
#include "src/resolve/core/platform.h"
#include "src/resolve/core/operators.h"
#include "src/resolve/core/queries.h"
#include "tests/support/step_run.h"

namespace preflight::resolve {
namespace {

using testing::dense_model;
using testing::mla_model;
using testing::StepRun;
using Fields = StepRun::Fields;

constexpr Release k13 = v0_5(13, 1);
constexpr Release k23 = v0_5(23);

Value json(std::string_view text) { return *Value::parse_json(text); }

// What precedes the memory settings and decides about graphs.
bool run_to_memory_settings(StepRun& run) {
  if (run.launch.release() < v0_5(14)) {
    return run.run({handle_xpu_backends, handle_piecewise_cuda_graph, handle_gpu_memory_settings});
  }
  return run.run({handle_cuda_graph_config, handle_xpu_backends, handle_gpu_memory_settings});
}

TEST(PythonNumbers, RoundingTakesTheExactBinaryValue) {
  EXPECT_EQ(operators::round_to(0.8125, 3), 0.812);  // a tie goes to even
  EXPECT_EQ(operators::round_to(0.8135, 3), 0.814);  // the double lies above the tie
  EXPECT_EQ(operators::round_to(2.675, 2), 2.67);    // and here below it
  EXPECT_EQ(operators::round_to(-0.0005, 3), -0.001);
}

TEST(MemorySettings, DefaultsFollowTheDeviceMemoryAndTheTensorParallelSize) {
  struct Row {
    Release release;
    std::int64_t mib, tp, chunk, max_bs;
    double fraction;
  };
  const Row rows[] = {
      {k13, 12216, 1, 2048, 8, 0.695},   // 512 + 3072 + 16 + 128 reserved
      {k13, 24480, 1, 2048, 24, 0.846},  //
      {k13, 24480, 4, 2048, 80, 0.826},  //
      {k13, 49080, 1, 4096, 32, 0.86},
      {k23, 24480, 1, 4096, 48, 0.639},  // 512 + 6144 + 128 + 2048, no decode graph
      {k23, 24480, 4, 4096, 160, 0.624},
      {k23, 65520, 1, 8192, 256, 0.771},  // 512 + 12288 + 128, then XPU's 2048
      {k23, 196608, 8, 16384, 512, 0.857},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.release.text() + " with " + std::to_string(row.mib) + " MiB, tp " + std::to_string(row.tp));
    StepRun run(row.release, {{Field::tp_size, row.tp}});
    run.launch.device.memory_mib = row.mib;
    ASSERT_TRUE(run_to_memory_settings(run));
    EXPECT_EQ(run[Field::chunked_prefill_size], Value(row.chunk));
    const Value max_bs = row.release < v0_5(14) ? run[Field::cuda_graph_max_bs]
                                                : *run[Field::cuda_graph_config].find(kDecode)->find("max_bs");
    EXPECT_EQ(max_bs, Value(row.max_bs));
    EXPECT_EQ(run[Field::mem_fraction_static], Value(row.fraction));
  }
}

TEST(MemorySettings, AVisionTowerLowersTheFraction) {
  ModelFacts model = dense_model();
  model.is_multimodal = true;
  model.hf_config = json(R"({"vision_config": {"num_hidden_layers": 27, "hidden_size": 1152}})");
  StepRun run(k23, {}, model);
  ASSERT_TRUE(run_to_memory_settings(run));
  const double complexity = 27.0 * 1152 * 1152 / (24.0 * 1024 * 1024);
  EXPECT_EQ(run[Field::mem_fraction_static], Value(0.639 * (0.95 * (1.0 - 0.1 * (complexity - 1.0)))));

  StepRun text_only(k23, {{Field::language_only, true}}, model);
  ASSERT_TRUE(run_to_memory_settings(text_only));
  EXPECT_EQ(text_only[Field::mem_fraction_static], Value(0.639));
}

TEST(MemorySettings, AnUnknownDeviceGetsTheFallbacks) {
  for (const auto& [release, fraction] : {std::pair{k13, 0.88}, std::pair{k23, 0.95}}) {
    StepRun run(release, {{Field::device, "cuda"}});
    ASSERT_TRUE(run_to_memory_settings(run));
    EXPECT_EQ(run[Field::mem_fraction_static], Value(fraction));
    EXPECT_EQ(run[Field::chunked_prefill_size], Value(4096));
  }
}

TEST(MemorySettings, ADeviceWithoutMemoryIsADivisionByZero) {
  for (const auto& [release, refused] : {std::pair{k13, "ZeroDivisionError _handle_gpu_memory_settings"},
                                         std::pair{k23, "ZeroDivisionError handle_gpu_memory_settings"}}) {
    StepRun run(release, {});
    run.launch.device.memory_mib = 0;
    EXPECT_FALSE(run_to_memory_settings(run));
    EXPECT_EQ(run.refused_by(), refused);
  }
}

TEST(GraphSizes, AlwaysContainTheLargest) {
  StepRun run(k23, {});
  Resolution r(run.launch, run.models);
  EXPECT_EQ(decode_graph_sizes(r, 21).json(), "[1,2,4,8,12,16,21]");
  EXPECT_EQ(decode_graph_sizes(r, 0).json(), "[0]");
  EXPECT_EQ(decode_graph_sizes(r, 600).as_list().back(), Value(600));
  EXPECT_EQ(prefill_graph_sizes(r, 13).json(), "[4,8,12]");
  EXPECT_EQ(prefill_graph_sizes(r, -1).json(), "[]");
  EXPECT_EQ(prefill_graph_sizes(r, 4096).as_list().size(), 50U);
}

TEST(GraphSizes, BeyondEveryMemoryAreRefused) {
  StepRun run(k23, {});
  Resolution r(run.launch, run.models);
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(prefill_graph_sizes(r, kLeast).json(), "[]");
  try {
    prefill_graph_sizes(r, kMost);
    ADD_FAILURE() << "accepted";
  } catch (const RefusedByStep& refused) {
    EXPECT_EQ(refused.refusal.exception, "MemoryError");
    EXPECT_EQ(refused.refusal.function, "generate_prefill_cuda_graph_batch_sizes");
  }
}

TEST(GraphConfig, JsonWinsOverOptionsAndOptionsOverSwitches) {
  struct Row {
    Fields given;
    std::string_view phase, key;
    Value expected;
  };
  const Row rows[] = {
      {{}, kDecode, "backend", "full"},
      {{}, kPrefill, "backend", "disabled"},
      {{{Field::disable_cuda_graph, true}}, kDecode, "backend", "disabled"},
      {{{Field::disable_cuda_graph, true}, {Field::cuda_graph_backend_decode, "full"}}, kDecode, "backend", "full"},
      {{{Field::cuda_graph_max_bs_decode, 8}, {Field::cuda_graph_config, json(R"({"decode": {"max_bs": 9}})")}},
       kDecode,
       "max_bs",
       9},
      {{{Field::cuda_graph_bs_prefill, json("[64]")}}, kPrefill, "bs", json("[64]")},
  };
  for (const Row& row : rows) {
    StepRun run(k23, row.given);
    ASSERT_TRUE(run.run({handle_cuda_graph_config}));
    EXPECT_EQ(*run[Field::cuda_graph_config].find(row.phase)->find(row.key), row.expected) << row.key;
  }
}

TEST(GraphConfig, XpuKeepsADecodeGraphOnlyWhenAskedForFull) {
  const auto backend = [](const Fields& given) {
    StepRun run(k23, given);
    EXPECT_TRUE(run.run({handle_cuda_graph_config, handle_xpu_backends}));
    return run[Field::cuda_graph_config].find(kDecode)->find("backend")->as_string();
  };
  EXPECT_EQ(backend({}), "disabled");
  EXPECT_EQ(backend({{Field::cuda_graph_backend_decode, "full"}}), "full");
  EXPECT_EQ(backend({{Field::cuda_graph_backend_decode, "breakable"}}), "disabled");
}

TEST(GraphConfig, WrongJsonEndsWhereItIsFirstUsed) {
  struct Row {
    const char* config;
    const char* refused_by;
  };
  const Row rows[] = {
      {R"({"decode": {"backend": "foo"}})", "ValueError validate_cuda_graph_config"},
      {R"({"decode": {"max_bs": "8"}})", "TypeError generate_decode_cuda_graph_batch_sizes"},
      {R"({"decode": {"max_bs": 3.5}})", "TypeError generate_decode_cuda_graph_batch_sizes"},
      {R"({"decode": {"bs": []}})", "ValueError handle_gpu_memory_settings"},
      {R"({"decode": {"bs": 5}})", "TypeError handle_gpu_memory_settings"},
      {R"({"decode": {"backend": "full", "bs": "12"}})", "TypeError reserve_for_graph_mb"},
      {R"({"prefill": {"backend": "breakable", "bs": 5}})", "TypeError reserve_for_graph_mb"},
      {R"({"prefill": {"max_bs": "x"}})", "TypeError generate_prefill_cuda_graph_batch_sizes"},
      {R"({"decode": {"max_bs": true}})", ""},
      {R"({"decode": {"bs": [[1], [2]]}})", ""},  // lists compare; without a graph nothing computes with them
  };
  for (const Row& row : rows) {
    StepRun run(k23, {{Field::cuda_graph_config, json(row.config)}});
    run_to_memory_settings(run);
    EXPECT_EQ(run.refused_by(), row.refused_by) << row.config;
  }
}

TEST(GraphConfig, MaxContextIsRoundedToPagesWithinTheModelsContext) {
  const auto finalize = [](Value size) {
    StepRun run(k23, {{Field::cuda_graph_prefill_max_context, std::move(size)}, {Field::page_size, 64}});
    const bool accepted = run.run({handle_cuda_graph_config, finalize_cuda_graph_prefill_max_context});
    return accepted ? run[Field::cuda_graph_config].find(kPrefill)->find("max_context_size")->repr() : run.refused_by();
  };
  EXPECT_EQ(finalize(100), "128");
  EXPECT_EQ(finalize(8192), "8192");
  EXPECT_EQ(finalize(8193), "ValueError _resolve_max_context_size");
  EXPECT_EQ(finalize(0), "ValueError _resolve_max_context_size");
}

TEST(Offload, TheEmbeddingTableDoesNotGoWithLayerOffload) {
  StepRun both(k23, {{Field::ple_offload_embedding, true}, {Field::cpu_offload_gb, 1}});
  both.run({handle_offload_compatibility});
  EXPECT_EQ(both.refused_by(), "ValueError handle_offload_compatibility");
  StepRun unset(k23, {{Field::ple_offload_backend, "file"}});  // not said, so a model may still want it
  EXPECT_TRUE(unset.run({handle_offload_compatibility}));
  StepRun off(k23, {{Field::ple_offload_backend, "file"}, {Field::ple_offload_embedding, false}});
  EXPECT_FALSE(off.run({handle_offload_compatibility}));
}

TEST(Hicache, LayoutAndIoAreMadeToFit) {
  struct Row {
    Release release;
    const char *layout, *io;
    Value storage;
    const char *new_layout, *new_io;
  };
  const Row rows[] = {
      {k23, "page_first_direct", "kernel", {}, "page_first_direct", "direct"},
      {k23, "page_first", "direct", {}, "page_first_direct", "direct"},
      {k23, "layer_first", "kernel", "mooncake", "page_first", "kernel"},
      {k23, "layer_first", "direct", "npu_memcache", "page_first_direct", "direct"},
      {k23, "layer_first", "kernel", "file", "layer_first", "kernel"},
      {k13, "layer_first", "direct", "mooncake", "page_first_direct", "direct"},
  };
  for (const Row& row : rows) {
    StepRun run(row.release, {{Field::enable_hierarchical_cache, true},
                              {Field::hicache_ratio, 2.0},
                              {Field::hicache_mem_layout, row.layout},
                              {Field::hicache_io_backend, row.io},
                              {Field::hicache_storage_backend, row.storage}});
    ASSERT_TRUE(run.run({handle_hicache}));
    EXPECT_EQ(run[Field::hicache_mem_layout], Value(row.new_layout)) << row.layout << ' ' << row.io;
    EXPECT_EQ(run[Field::hicache_io_backend], Value(row.new_io)) << row.layout << ' ' << row.io;
  }
}

TEST(Hicache, Release13MovesAnExplicitFa3DecodeToDirectIo) {
  StepRun run(k13, {{Field::enable_hierarchical_cache, true}, {Field::decode_attention_backend, "fa3"}});
  ASSERT_TRUE(run.run({handle_hicache}));
  EXPECT_EQ(run[Field::hicache_io_backend], Value("direct"));
  StepRun inherited(k13, {{Field::enable_hierarchical_cache, true}, {Field::attention_backend, "fa3"}});
  ASSERT_TRUE(inherited.run({handle_hicache}));
  EXPECT_EQ(inherited[Field::decode_attention_backend], Value("triton"));
}

TEST(KvCache, DtypesOfNvidiaGpusAreRefused) {
  struct Row {
    Release release;
    Value dtype;
    Step step;
    const char* refused_by;
  };
  const Row rows[] = {
      {k13, "fp4_e2m1", handle_kv4_compatibility, "RuntimeError _handle_kv4_compatibility"},
      {k23, "fp4_mx_block16", handle_kv4_compatibility, "RuntimeError handle_kv4_compatibility"},
      {k23, "mxfp8", handle_mxfp8_kv_cache_compatibility, "ValueError handle_mxfp8_kv_cache_compatibility"},
      {k23, "fp8_e4m3", handle_mxfp8_kv_cache_compatibility, ""},
      {k23, "nvfp4", handle_nvfp4_prefill_kv_dequant_dtype, ""},  // selects backends that are refused next
  };
  for (const Row& row : rows) {
    StepRun run(row.release, {{Field::kv_cache_dtype, row.dtype}});
    run.run({row.step});
    EXPECT_EQ(run.refused_by(), row.refused_by) << row.dtype.repr();
  }
}

TEST(KvCache, TheEffectiveSwaRatioIsChecked) {
  const auto refused = [](Release release, Value ratio) {
    StepRun run(release, {{Field::swa_full_tokens_ratio, std::move(ratio)}});
    return !run.run({handle_cache_compatibility});
  };
  EXPECT_FALSE(refused(k23, {}));  // unset means 0.8
  EXPECT_FALSE(refused(k13, 1.0));
  EXPECT_TRUE(refused(k23, 1.1));
  EXPECT_TRUE(refused(k13, 0.0));
}

TEST(KvCache, ShardingRoundsTheChunkAndPaysForIt) {
  StepRun run(k23,
              {{Field::enable_kv_cache_sharding, true},
               {Field::disaggregation_mode, "prefill"},
               {Field::attention_backend, "fa3"},
               {Field::tp_size, 2},
               {Field::page_size, 64},
               {Field::chunked_prefill_size, 5000}},
              mla_model());
  ASSERT_TRUE(run_to_memory_settings(run));
  const double before = run[Field::mem_fraction_static].as_number();
  ASSERT_TRUE(run.run({handle_kv_cache_sharding}));
  EXPECT_EQ(run[Field::chunked_prefill_size], Value(5056));
  EXPECT_EQ(run[Field::mem_fraction_static], Value(before - 1.5 * 56 / 24480));
}

TEST(KvCache, TheUnifiedPoolEditsTheLastGraphDeclarationInPlace) {
  StepRun run(k23, {{Field::enable_unified_memory, true},
                    {Field::attention_backend, "triton"},
                    {Field::cuda_graph_backend_prefill, "full"}});
  ASSERT_TRUE(run.run({handle_cuda_graph_config, handle_unified_memory_pool}));
  EXPECT_EQ(*run[Field::cuda_graph_config].find(kPrefill)->find("backend"), Value("disabled"));
  ASSERT_EQ(run.launch.chain.size(), 1U);
  EXPECT_EQ(run.launch.chain[0].fields[0].second, run[Field::cuda_graph_config]);
}

}  // namespace
}  // namespace preflight::resolve
