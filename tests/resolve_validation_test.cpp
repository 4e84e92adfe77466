// check_server_args and the validators behind it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "src/resolve/cache/hisparse.h"
#include "src/resolve/cache/kv_events.h"
#include "src/resolve/serving/lora.h"
#include "src/python/text.h"
#include "src/resolve/serving/serving.h"
#include "src/resolve/serving/uuid5.h"
#include "src/resolve/core/validation.h"
#include "src/resolve/serving/watermark.h"
#include "tests/support/release_ranges.h"
#include "tests/support/step_run.h"

namespace preflight::resolve::testing {
namespace {

constexpr Release kOld = v0_5(13, 1);
constexpr Release kNew = v0_5(23);

// What resolution has always set before the check.
StepRun::Fields resolved(StepRun::Fields more) {
  StepRun::Fields fields = {{Field::served_model_name, "m"},
                            {Field::chunked_prefill_size, 2048},
                            {Field::page_size, 64},
                            {Field::sampling_backend, "pytorch"}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

std::string check(Release release, const StepRun::Fields& more, ModelFacts model = dense_model()) {
  StepRun run(release, resolved(more), std::move(model));
  run.run({handle_deprecated_args, check_server_args});  // the first settles the gRPC port
  return run.refused_by();
}

TEST(CheckServerArgs, RefusesSizesThatDoNotFit) {
  constexpr auto kAssertion = "AssertionError check_server_args";
  const std::vector<std::pair<StepRun::Fields, std::string>> rows = {
      {{}, ""},
      {{{Field::nnodes, 0}}, "ZeroDivisionError check_server_args"},
      {{{Field::nnodes, 2}}, kAssertion},
      {{{Field::tp_size, 2}, {Field::nnodes, 2}}, ""},
      {{{Field::page_size, 0}}, "ZeroDivisionError check_server_args"},
      {{{Field::page_size, 96}}, kAssertion},
      {{{Field::page_size, 96}, {Field::chunked_prefill_size, -1}}, ""},
      {{{Field::page_size, 96}, {Field::disaggregation_mode, "decode"}}, ""},
      {{{Field::chunked_prefill_size, nullptr}}, "TypeError check_server_args"},  // a dummy model
      {{{Field::served_model_name, nullptr}}, "TypeError check_server_args"},
      {{{Field::served_model_name, "a:b"}}, kAssertion},
      {{{Field::served_model_name, "s3://a:b"}}, ""},
      {{{Field::moe_dense_tp_size, 2}}, kAssertion},
      {{{Field::schedule_conservativeness, -0.5}}, kAssertion},
      {{{Field::tokenizer_worker_num, 0}}, kAssertion},
      {{{Field::gc_threshold, Value::list({1, 2, 3, 4})}}, "ValueError check_server_args"},
      {{{Field::enable_pdmux, true}}, kAssertion},
      {{{Field::export_metrics_to_file, true}}, "ValueError check_server_args"},
      {{{Field::enable_quant_communications, true}}, "ValueError check_server_args"},
      {{{Field::model_impl, "mindspore"}}, kAssertion},
  };
  for (const Release release : {kOld, kNew}) {
    for (const auto& [fields, refusal] : rows) {
      SCOPED_TRACE(release.text() + (fields.empty() ? "" : " " + std::string(field_name(fields.front().first))));
      EXPECT_EQ(check(release, fields), refusal);
    }
  }
}

TEST(CheckServerArgs, DummyModelsOfOldReleasesHaveNoGrpcPort) {
  StepRun run(kOld, resolved({}));
  run.run({check_server_args});
  EXPECT_EQ(run.refused_by(), "AttributeError check_server_args");
}

TEST(CheckServerArgs, PipelineParallelismNamesAnotherFunctionInLaterReleases) {
  const StepRun::Fields overlap = {{Field::pp_size, 2}};
  EXPECT_EQ(check(kOld, overlap), "AssertionError check_server_args");
  EXPECT_EQ(check(kNew, overlap), "AssertionError check_pipeline_parallel_compat");
  const StepRun::Fields eagle = {
      {Field::pp_size, 2}, {Field::disable_overlap_schedule, true}, {Field::speculative_algorithm, "EAGLE"}};
  EXPECT_EQ(check(kNew, eagle), "AssertionError check_pipeline_parallel_compat");
  StepRun::Fields prefill = eagle;
  prefill.emplace_back(Field::disaggregation_mode, "prefill");
  EXPECT_EQ(check(kOld, prefill), "AssertionError check_server_args");
  EXPECT_EQ(check(kNew, prefill), "");
}

TEST(CheckServerArgs, WarnsOfPrioritiesWithoutScheduling) {
  StepRun run(kNew, resolved({{Field::disable_priority_preemption, true}, {Field::default_priority_value, 1}}));
  EXPECT_TRUE(run.run({check_server_args}));
  EXPECT_EQ(run.warned(), (std::vector<std::string>{"check_server_args", "check_server_args"}));
  EXPECT_EQ(check(kNew, {{Field::retraction_policy, "priority"}}), "ValueError check_server_args");
}

TEST(CheckServerArgs, TwoBatchOverlapNeedsACommunicationBackendOrAttentionDp) {
  const StepRun::Fields given = {{Field::enable_two_batch_overlap, true}};
  EXPECT_EQ(check(kOld, given), "ValueError check_server_args");
  EXPECT_EQ(check(kNew, given), "ValueError check_two_batch_overlap");
  EXPECT_EQ(check(kNew, {{Field::enable_two_batch_overlap, true}, {Field::attn_dp_size, 2}}), "");
}

TEST(Buckets, RulesAreReadAsPythonNumbers) {
  const std::vector<std::pair<std::vector<Value>, bool>> rows = {
      {{"default"}, true},
      {{"default", "1"}, false},
      {{"auto"}, false},
      {{"tse", "1", "2", "3"}, true},
      {{"tse", "1", "2", "3.0"}, false},
      {{"tse", "nan", "2", "3"}, false},
      {{"tse", " 1e3 ", "inf", "1_0"}, true},
      {{"tse", "1", "2"}, false},
      {{"custom"}, false},
      {{"custom", "1", "1.0"}, false},
      {{"custom", "0", "-0.5"}, false},
      {{"custom", "0x10"}, false},
      {{"custom", "1", "2.5"}, true},
  };
  for (const auto& [words, good] : rows) {
    const Value rule = Value::list(words);
    SCOPED_TRACE(rule.json());
    EXPECT_EQ(check(kNew, {{Field::prompt_tokens_buckets, rule}}), good ? "" : "AssertionError validate_buckets_rule");
  }
}

TEST(PythonText, IntegersAndFloatsAreReadAsPythonDoes) {
  EXPECT_EQ(python::to_int(" +1_000 "), 1000);
  EXPECT_EQ(python::to_int("-0"), 0);
  EXPECT_EQ(python::to_int("1__0"), std::nullopt);
  EXPECT_EQ(python::to_int("1.0"), std::nullopt);
  EXPECT_EQ(python::to_int(""), std::nullopt);
  EXPECT_EQ(python::to_float("1_0.5e1"), 105.0);
  EXPECT_EQ(python::to_float(".5"), 0.5);
  EXPECT_EQ(python::to_float("1."), 1.0);
  EXPECT_EQ(python::to_float("0x1"), std::nullopt);
  EXPECT_EQ(python::to_float("e5"), std::nullopt);
  EXPECT_TRUE(python::to_float("-Infinity").has_value());
}

TEST(Lora, AdapterIdsAreThoseOfEveryNode) {
  // What Python's uuid.uuid5(uuid.NAMESPACE_URL, name).hex prints.
  EXPECT_EQ(url_uuid5_hex("http://www.python.org/"), "c2a8cbf8d0f15ef49740c3faec8ab1a0");
  EXPECT_EQ(url_uuid5_hex(std::string_view("a\0/p/a", 6)), "530cf22d7e1f5c06945444b5260fa4c3");
  EXPECT_EQ(url_uuid5_hex(std::string(200, 'x')), "cd3580b9d244586a807774317319b48d");  // several blocks
}

TEST(Lora, PathsBecomeReferences) {
  StepRun run(kNew, resolved({{Field::lora_paths, Value::list({"a=/p/a", "/p/b"})}}));
  ASSERT_TRUE(run.run({check_lora_server_args}));
  EXPECT_EQ(run.warned(), (std::vector<std::string>{"check_lora_server_args"}));
  EXPECT_EQ(run[Field::enable_lora].json(), "true");
  const auto& refs = run[Field::lora_paths].as_list();
  ASSERT_EQ(refs.size(), 2U);
  EXPECT_EQ(refs[0].find("lora_name")->as_string(), "a");
  EXPECT_EQ(refs[0].find("lora_path")->as_string(), "/p/a");
  EXPECT_EQ(refs[1].find("lora_name")->as_string(), "/p/b");
}

// 0.5.11 draws the id anew in every launch, so that nothing can be said of it.
TEST(Lora, IdsAreTheSameInEveryLaunchSince0512) {
  for (const int patch : {11, 12}) {
    StepRun run(preflight::testing::newest_of(patch), resolved({{Field::lora_paths, Value::list({"a=/p/a"})}}));
    run.run({check_lora_server_args});
    const auto& refs = run[Field::lora_paths].as_list();
    ASSERT_EQ(refs.size(), 1U) << patch;
    EXPECT_EQ(refs[0].find("lora_id") != nullptr, patch == 12) << patch;
  }
}

TEST(Lora, RefusesWhatItCannotLoadOrRunBeside) {
  const Value one = Value::list({"a=/p/a"});
  constexpr auto kAssertion = "AssertionError check_lora_server_args";
  struct Row {
    Release release;
    StepRun::Fields given;
    std::string refused;
  };
  const std::vector<Row> rows = {
      {kNew, {{Field::max_loras_per_batch, 0}}, kAssertion},
      {kNew, {{Field::enable_lora, true}}, kAssertion},  // no adapter, no rank
      {kNew,
       {{Field::enable_lora, true}, {Field::max_lora_rank, 8}, {Field::lora_target_modules, Value::list({"all"})}},
       ""},
      {kNew, {{Field::lora_paths, one}, {Field::lora_target_modules, Value::list({"all", "q_proj"})}}, kAssertion},
      {kNew, {{Field::lora_paths, one}, {Field::max_loaded_loras, 1}}, kAssertion},
      {kNew, {{Field::lora_paths, one}, {Field::max_lora_chunk_size, 24}}, kAssertion},
      {kNew, {{Field::lora_paths, one}, {Field::enable_lora_overlap_loading, true}}, kAssertion},
      {kOld, {{Field::lora_paths, one}, {Field::speculative_algorithm, "EAGLE"}}, "ValueError check_lora_server_args"},
      {kNew, {{Field::lora_paths, one}, {Field::speculative_algorithm, "EAGLE"}}, ""},
      {kNew,
       {{Field::lora_paths, one}, {Field::speculative_algorithm, "STANDALONE"}},
       "ValueError check_lora_speculative_compatibility"},
      {kNew, {{Field::moe_runner_backend, "lora_triton"}}, "ValueError check_lora_moe_runner_args"},
      {kNew,
       {{Field::lora_paths, one}, {Field::lora_backend, "triton_v2"}, {Field::enable_pdmux, true}},
       "ValueError _check_v2_lora_modes"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.release.text() + " " + std::string(field_name(row.given.back().first)));
    StepRun run(row.release, resolved(row.given));
    run.run({check_lora_server_args});
    EXPECT_EQ(run.refused_by(), row.refused);
  }
}

// Only on CUDA does it get as far as combinations; what ends there ends alike, and the words tell which check it was.
TEST(Watermark, TakesTheSamplingBackendsOfTheRelease) {
  const auto told = [](const char* backend) {
    StepRun run(
        kNew, resolved({{Field::enable_watermark, true}, {Field::sampling_backend, backend}, {Field::device, "cuda"}}));
    run.run({handle_watermark_config, check_watermark_server_args});
    return run.refusal ? run.refusal->message : std::string();
  };
  for (const char* known : {"flashinfer", "pytorch", "ascend", "intel_xpu"}) {
    EXPECT_EQ(told(known).find("--sampling-backend"), std::string::npos) << told(known);
  }
  EXPECT_NE(told("mine").find("a custom --sampling-backend"), std::string::npos);
}

TEST(Watermark, AFileOfKeysIsForItsOwnerAlone) {
  const auto warnings = [](std::filesystem::perms others) {
    const auto file = std::filesystem::path(::testing::TempDir()) / "watermark.json";
    std::ofstream(file) << "{}";
    std::filesystem::permissions(file,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write | others);
    StepRun run(kNew, resolved({{Field::watermark_config, file.string()}, {Field::enable_watermark, true}}));
    run.run({handle_watermark_config});
    std::filesystem::remove(file);
    return run.launch.log.size();
  };
  EXPECT_EQ(warnings(std::filesystem::perms::none), 0);
  EXPECT_EQ(warnings(std::filesystem::perms::others_exec), 1);
  EXPECT_EQ(warnings(std::filesystem::perms::group_read), 1);
}

TEST(Watermark, ConfigurationIsCheckedThenRefusedWithoutCuda) {
  const auto refused = [](const char* config) {
    StepRun run(kNew, resolved({{Field::watermark_config, config}, {Field::enable_watermark, true}}));
    run.run({handle_watermark_config, check_watermark_server_args});
    return run.refused_by();
  };
  EXPECT_EQ(refused(R"({"key": "0xFF"})"), "ValueError check_watermark_server_args");
  EXPECT_EQ(refused(R"({"key": "xyz"})"), "WatermarkConfigError load_watermark_config");
  EXPECT_EQ(refused(R"({"colour": 1})"), "WatermarkConfigError load_watermark_config");
  EXPECT_EQ(refused(R"({"context_window": true})"), "WatermarkConfigError load_watermark_config");
  EXPECT_EQ(refused(" {"), "WatermarkConfigError load_watermark_config");
  EXPECT_EQ(refused("/nowhere"), "WatermarkConfigError _read_config_file");
  EXPECT_EQ(check(kNew, {{Field::watermark_config, "{}"}}), "ValueError check_watermark_server_args");
}

TEST(LoadPublisher, PortsHaveToBeBindableAndFree) {
  const auto refused = [](const char* endpoint, const char* events) {
    StepRun run(kNew, resolved({{Field::load_publish_endpoint, endpoint}, {Field::kv_events_config, events}}));
    run.run({check_load_publish_args});
    return run.refused_by();
  };
  constexpr auto kRefused = "ValueError check_load_publish_args";
  constexpr auto kZmq = R"({"publisher": "zmq"})";
  EXPECT_EQ(refused("auto", kZmq), "");
  EXPECT_EQ(refused(" OFF ", ""), "");
  EXPECT_EQ(refused("auto", ""), kRefused);
  EXPECT_EQ(refused("auto", "{}"), kRefused);  // publisher null
  EXPECT_EQ(refused("auto", R"({"publisher": "zmq", "hwm": 1.5})"), kRefused);
  EXPECT_EQ(refused("auto", R"({"publisher": "zmq", "hwm": "10", "extra": 1})"), "");
  EXPECT_EQ(refused("auto", R"({"publisher": "zmq", "endpoint": "tcp://host:5557"})"), kRefused);
  EXPECT_EQ(refused("auto", R"({"publisher": "zmq", "endpoint": "tcp://*:65535"})"), kRefused);
  EXPECT_EQ(refused("tcp://*:5557", kZmq), kRefused);  // the events' own port
  EXPECT_EQ(refused("tcp://[::]:6000", kZmq), "");
  EXPECT_EQ(refused("tcp://:::6000", kZmq), kRefused);
}

// What KVEventsConfig of 0.5.23, a pydantic model, takes for each of its keys.
TEST(LoadPublisher, ReadsTheEventsAsTheirModelDoes) {
  const auto taken = [](const std::string& pair) {
    const std::string events = R"({"publisher": "zmq")" + (pair.empty() ? "" : ", " + pair) + "}";
    StepRun run(kNew, resolved({{Field::load_publish_endpoint, "auto"}, {Field::kv_events_config, events}}));
    run.run({check_load_publish_args});
    return run.refused_by().empty();
  };
  for (const char* good : {R"("topic": "kv")", R"("replay_endpoint": null)", R"("replay_endpoint": "x")",
                           R"("buffer_steps": "1")", R"("max_queue_size": true)", R"("hwm": "1.0")", R"("bind": null)",
                           R"("bind": 1)", R"("format": "dynamo")", R"("format": "default")", R"("enable": 1)"}) {
    EXPECT_TRUE(taken(good)) << good;
  }
  for (const char* bad :
       {R"("topic": 1)", R"("topic": null)", R"("publisher": 1)", R"("endpoint": 5)", R"("replay_endpoint": 5)",
        R"("buffer_steps": 1.5)", R"("max_queue_size": 1.5)", R"("hwm": 1.5)", R"("hwm": "1e3")", R"("bind": 2)",
        R"("bind": "maybe")", R"("format": "x")", R"("format": null)"}) {
    EXPECT_FALSE(taken(bad)) << bad;
  }
  for (const char* word : {"0", "off", "f", "false", "n", "no", "1", "on", "t", "true", "y", "yes", "OFF"}) {
    EXPECT_TRUE(taken(std::string(R"("bind": ")") + word + '"')) << word;
  }
}

TEST(LoadPublisher, PortsFollowThoseOfTheEvents) {
  const auto fits = [](const char* endpoint, const char* events, int replicas = 1) {
    StepRun run(kNew, resolved({{Field::load_publish_endpoint, endpoint},
                                {Field::kv_events_config, events},
                                {Field::dp_size, replicas}}));
    run.run({check_load_publish_args});
    return run.refused_by().empty();
  };
  constexpr auto kZmq = R"({"publisher": "zmq"})";  // at 5557
  EXPECT_TRUE(fits("tcp://*:5558", kZmq));
  EXPECT_FALSE(fits("tcp://*:5558", kZmq, 2));
  EXPECT_TRUE(fits("tcp://*:5559", kZmq, 2));
  EXPECT_TRUE(fits("tcp://*:5556", kZmq));
  EXPECT_FALSE(fits("tcp://*:5556", kZmq, 2));
  EXPECT_TRUE(fits("tcp://*:65535", kZmq));
  EXPECT_FALSE(fits("tcp://*:65535", kZmq, 2));
  EXPECT_FALSE(fits("tcp://host:6000", kZmq));
  EXPECT_FALSE(fits("tcp://*:6000", R"({"publisher": "zmq", "endpoint": "ipc:///tmp/x"})"));
  EXPECT_FALSE(fits("tcp://*:6000", R"({"publisher": "zmq", "replay_endpoint": "tcp://*:6000"})"));
  EXPECT_TRUE(fits("tcp://*:6001", R"({"publisher": "zmq", "replay_endpoint": "tcp://*:6000"})"));
  EXPECT_TRUE(fits("auto", R"({"publisher": "zmq", "endpoint": "tcp://*:65534"})"));
  EXPECT_FALSE(fits("auto", R"({"publisher": "zmq", "endpoint": "tcp://*:65534"})", 2));
  EXPECT_FALSE(
      fits("auto", R"({"publisher": "zmq", "endpoint": "tcp://*:65534", "replay_endpoint": "tcp://*:65535"})"));
  EXPECT_TRUE(fits("auto", R"({"publisher": "zmq", "endpoint": "tcp://0.0.0.0:6000"})"));
  EXPECT_TRUE(fits("auto", R"({"publisher": "zmq", "endpoint": "tcp://[::]:6000"})"));
  EXPECT_FALSE(fits("auto", R"({"publisher": "zmq", "endpoint": "tcp://*:0"})"));
  EXPECT_FALSE(fits("auto", R"({"publisher": "zmq", "endpoint": ""})"));
}

TEST(HiSparse, NeedsATokenIndexerAndNoRadixCache) {
  ModelFacts indexed = mla_model();
  indexed.architectures = {"DeepseekV32ForCausalLM"};
  indexed.hf_config = Value::dict({{"index_topk", 2048}});
  const auto refused = [&](StepRun::Fields given) {
    given.emplace_back(Field::enable_hisparse, true);
    StepRun run(kNew, given, indexed);
    run.run({validate_hisparse});
    return run.refused_by();
  };
  EXPECT_EQ(check(kNew, {{Field::enable_hisparse, true}}), "AssertionError validate_hisparse");
  EXPECT_EQ(refused({}), "AssertionError validate_hisparse");
  EXPECT_EQ(refused({{Field::disable_radix_cache, true}}), "");
  EXPECT_EQ(refused({{Field::disable_radix_cache, true}, {Field::enable_mixed_chunk, true}}),
            "ValueError validate_hisparse_feature_combos");
  EXPECT_EQ(refused({{Field::disable_radix_cache, true}, {Field::kv_cache_dtype, "fp8_e5m2"}}),
            "ValueError validate_hisparse_kv_cache_dtype");
  EXPECT_EQ(refused({{Field::disable_radix_cache, true}, {Field::dsa_decode_backend, "fa3"}}),
            "ValueError validate_hisparse_dsa_backend");
}

TEST(Validators, AuxHiddenStatesNameTheirConventionAndTakeItBack) {
  constexpr auto kRefused = "ValueError handle_aux_hidden_state_capture";
  const auto refused = [](const StepRun::Fields& given) {
    StepRun run(kNew, given);
    run.run({handle_aux_hidden_state_capture});
    return run.refused_by();
  };
  const FieldValue on = {Field::enable_return_aux_hidden_states, true};
  EXPECT_EQ(refused({on}), kRefused);
  EXPECT_EQ(refused({on, {Field::speculative_algorithm, "eagle3"}}), "");
  EXPECT_EQ(refused({on, {Field::speculative_algorithm, "DFLASH"}}), kRefused);
  const auto layers = [](std::vector<Value> ids) {
    return FieldValue{Field::return_aux_hidden_state_layer_ids, Value::list(std::move(ids))};
  };
  EXPECT_EQ(refused({on, {Field::speculative_algorithm, "DFLASH"}, layers({1, 2})}), "");
  EXPECT_EQ(refused({on, {Field::speculative_algorithm, "DFLASH"}, layers({1, 1})}), kRefused);
  EXPECT_EQ(refused({layers({1})}), kRefused);
}

}  // namespace
}  // namespace preflight::resolve::testing
