// Serving front end: what each option is turned into, and what is refused, in both releases.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

#include "src/resolve/models/model_path.h"
#include "src/resolve/parallel/pd_disaggregation.h"
#include "src/resolve/serving/serving.h"
#include "src/resolve/core/validation.h"
#include "tests/support/step_run.h"
#include "tests/support/paths.h"
#include "tests/support/release_ranges.h"

namespace preflight::resolve::testing {
namespace {

constexpr Release kOld = v0_5(13, 1);
constexpr Release kNew = v0_5(23);

struct StepCase {
  Release release;
  Step step;
  StepRun::Fields given;
  std::string refused;  // "" = goes on
  StepRun::Fields after = {};
  std::vector<std::string> warned = {};
  Environment env = {};
};

void expect_all(const std::vector<StepCase>& cases) {
  for (const StepCase& c : cases) {
    SCOPED_TRACE(c.release.text() + (c.given.empty() ? ""
                                                     : " " + std::string(field_name(c.given.front().first)) + "=" +
                                                           c.given.front().second.json()));
    StepRun run(c.release, c.given);
    run.launch.env = c.env;
    run.run({c.step});
    EXPECT_EQ(run.refused_by(), c.refused);
    EXPECT_EQ(run.warned(), c.warned);
    for (const auto& [field, value] : c.after) EXPECT_EQ(run[field].json(), value.json()) << field_name(field);
  }
}

TEST(Serving, HiddenStatesModeAndSwitchImplyEachOther) {
  expect_all({
      {kNew, handle_return_hidden_states_mode, {}, "", {{Field::return_hidden_states_mode, nullptr}}},
      {kNew,
       handle_return_hidden_states_mode,
       {{Field::enable_return_hidden_states, true}},
       "",
       {{Field::return_hidden_states_mode, "full"}}},
      {kNew,
       handle_return_hidden_states_mode,
       {{Field::return_hidden_states_mode, "last"}},
       "",
       {{Field::enable_return_hidden_states, true}}},
  });
}

TEST(Serving, MediaDomainsTakeTheirNormalForm) {
  const auto domains = [](std::vector<Value> names) { return Value::list(std::move(names)); };
  const auto given = [&](Value name) -> StepRun::Fields { return {{Field::allowed_media_domains, domains({name})}}; };
  constexpr auto kRefused = "ValueError _normalize_media_domain";
  expect_all({
      {kNew, handle_media_url_security, {}, "", {{Field::allowed_media_domains, domains({})}}},
      // Sorted, without repetitions, lower case, without the root's dot.
      {kNew,
       handle_media_url_security,
       {{Field::allowed_media_domains, domains({"b.example", " A.Example. ", "a.example"})}},
       "",
       {{Field::allowed_media_domains, domains({"a.example", "b.example"})}}},
      // Python prints embedded IPv4 in hexadecimal and shortens runs of two groups and more.
      {kNew,
       handle_media_url_security,
       given("[::FFFF:1.2.3.4]"),
       "",
       {{Field::allowed_media_domains, domains({"::ffff:102:304"})}}},
      {kNew,
       handle_media_url_security,
       given("1:0:0:2:0:0:0:3"),
       "",
       {{Field::allowed_media_domains, domains({"1:0:0:2::3"})}}},
      {kNew, handle_media_url_security, given("::"), "", {{Field::allowed_media_domains, domains({"::"})}}},
      {kNew, handle_media_url_security, given("https://a.example"), kRefused},
      {kNew, handle_media_url_security, given("a.example:80"), kRefused},
      {kNew, handle_media_url_security, given("a..example"), kRefused},
      {kNew, handle_media_url_security, given(" . "), kRefused},
      {kNew,
       handle_media_url_security,
       {{Field::media_url_max_file_size_mb, -1}},
       "ValueError configure_media_url_security"},
  });
}

TEST(Serving, TlsNeedsBothFilesAndTheyExist) {
  const Value present = preflight::testing::tool_path();  // any file that exists
  constexpr auto kOldName = "ValueError _handle_ssl_validation";
  constexpr auto kNewName = "ValueError handle_ssl_validation";
  expect_all({
      {kOld, handle_ssl_validation, {}, ""},
      {kOld, handle_ssl_validation, {{Field::ssl_keyfile, present}}, kOldName},
      {kNew, handle_ssl_validation, {{Field::ssl_certfile, present}}, kNewName},
      {kNew, handle_ssl_validation, {{Field::ssl_ca_certs, present}}, kNewName},
      {kNew, handle_ssl_validation, {{Field::ssl_keyfile_password, "x"}}, kNewName},
      {kNew, handle_ssl_validation, {{Field::ssl_keyfile, present}, {Field::ssl_certfile, present}}, ""},
      {kNew, handle_ssl_validation, {{Field::ssl_keyfile, "/nowhere"}, {Field::ssl_certfile, present}}, kNewName},
      {kNew, handle_ssl_validation, {{Field::enable_ssl_refresh, true}}, kNewName},
      {kNew, handle_ssl_validation, {{Field::enable_http_worker_reuseport, true}}, kNewName},
      {kNew,
       handle_ssl_validation,
       {{Field::enable_http_worker_reuseport, true}, {Field::tokenizer_worker_num, 2}},
       ""},
      {kOld, handle_ssl_validation, {{Field::enable_http2, true}}, kOldName},  // granian is missing
  });
}

TEST(Serving, OldNamesBecomeTheirReplacements) {
  expect_all({
      {kOld,
       handle_deprecated_args,
       {{Field::tool_call_parser, "qwen25"}},
       "",
       {{Field::tool_call_parser, "qwen"}},
       {"_handle_deprecated_args"}},
      {kOld,
       handle_deprecated_args,
       {{Field::attention_backend, "compressed"}, {Field::prefill_attention_backend, "compressed"}},
       "",
       {{Field::attention_backend, "dsv4"}, {Field::prefill_attention_backend, "dsv4"}},
       {"_handle_deprecated_args", "_handle_deprecated_args"}},
      {kNew,
       handle_deprecated_args,
       {{Field::prefill_attention_backend, "tokenspeed_mla"}},
       "",
       {{Field::prefill_attention_backend, "trtllm_mla"}, {Field::kv_cache_dtype, "auto"}},  // decode-only kernel
       {"handle_deprecated_args"}},
      {kNew,
       handle_deprecated_args,
       {{Field::attention_backend, "tokenspeed_mla"}},
       "",
       {{Field::attention_backend, "cutedsl_mla"}, {Field::kv_cache_dtype, "fp8_e4m3"}},
       {"handle_deprecated_args", "handle_deprecated_args"}},
      {kNew,
       handle_deprecated_args,
       {{Field::disable_fast_image_processor, true}, {Field::image_processor_backend, "torchvision"}},
       "ValueError handle_deprecated_args"},
  });
}

TEST(Serving, GrpcPortFollowsOptionsAndVariable) {
  constexpr auto kRefused = "ValueError handle_deprecated_args";
  expect_all({
      // 0.5.13 adds 10000 to --port even when gRPC is off.
      {kOld, handle_deprecated_args, {{Field::port, 55536}}, "ValueError _handle_deprecated_args"},
      {kOld, handle_deprecated_args, {{Field::port, 55536}}, "", {}, {}, {{"SGLANG_GRPC_PORT", "1"}}},
      {kNew, handle_deprecated_args, {{Field::port, 55536}}, "", {{Field::grpc_port, nullptr}}},
      {kNew, handle_deprecated_args, {}, "", {{Field::grpc_port, 5}}, {}, {{"SGLANG_GRPC_PORT", " 5 "}}},
      {kNew, handle_deprecated_args, {}, "", {{Field::grpc_port, nullptr}}, {}, {{"SGLANG_GRPC_PORT", "five"}}},
      {kNew,
       handle_deprecated_args,
       {{Field::grpc_mode, true}},
       "",
       {{Field::smg_grpc_mode, true}, {Field::grpc_port, 40000}},
       {"handle_deprecated_args"}},
      {kNew, handle_deprecated_args, {{Field::grpc_port, 70000}}, kRefused},
      {kNew, handle_deprecated_args, {{Field::grpc_port, 1}, {Field::api_key, "k"}}, kRefused},
      {kNew, handle_deprecated_args, {{Field::sidecar, "x"}}, kRefused},
      {kNew, handle_deprecated_args, {{Field::sidecar_args, Value::list({"a"})}}, kRefused},
      {kNew, handle_deprecated_args, {{Field::sidecar, "x"}, {Field::grpc_port, 1}}, ""},
      {kNew, handle_deprecated_args, {{Field::grpc_response_timeout_secs, 0}}, kRefused},
  });
}

TEST(Serving, DraftQuantizationFollowsTheTargets) {
  constexpr Field kDraft = Field::speculative_draft_model_quantization;
  expect_all({
      {kOld, handle_missing_default_values, {{Field::quantization, "fp8"}}, "", {{kDraft, "fp8"}}},
      {kOld, handle_missing_default_values, {{kDraft, "unquant"}}, "", {{kDraft, nullptr}}},
      {kNew,
       handle_missing_default_values,
       {{Field::quantization, "unquant"}},
       "",
       {{Field::quantization, nullptr},
        {kDraft, nullptr},
        {Field::_speculative_draft_quantization_explicitly_set, false}}},
  });
}

TEST(Serving, DeviceLosesItsIndexAndIsFoundWhenNotGiven) {
  expect_all({{kNew, handle_missing_default_values, {{Field::device, "xpu:3"}}, "", {{Field::device, "xpu"}}},
              {kOld, handle_missing_default_values, {{Field::device, nullptr}}, "", {{Field::device, "xpu"}}}});
  for (const auto& [release, refused] :
       {std::pair{kOld, "RuntimeError get_device"}, {kNew, "AttributeError handle_missing_default_values"}}) {
    StepRun none(release, {{Field::device, nullptr}});
    none.launch.device.count = 0;
    none.run({handle_missing_default_values});
    EXPECT_EQ(none.refused_by(), refused);
  }
}

TEST(Serving, SkippingTheTokenizerResetsItsWorkers) {
  expect_all({
      {kOld,
       handle_tokenizer_batching,
       {{Field::skip_tokenizer_init, true}, {Field::tokenizer_worker_num, 4}},
       "",
       {{Field::tokenizer_worker_num, 1}},
       {"_handle_tokenizer_batching"}},
      {kNew,  // they still serve HTTP
       handle_tokenizer_batching,
       {{Field::skip_tokenizer_init, true}, {Field::tokenizer_worker_num, 4}},
       "",
       {{Field::tokenizer_worker_num, 4}}},
      {kNew,
       handle_tokenizer_batching,
       {{Field::enable_tokenizer_batch_encode, true}, {Field::enable_dynamic_batch_tokenizer, true}},
       "ValueError handle_tokenizer_batching"},
  });
}

TEST(Serving, CudaFeatureTransportIsRefusedUnlessItIsIdle) {
  constexpr auto kFunction = "handle_multimodal_feature_transport";
  const std::string refused = std::string("ValueError ") + kFunction;
  expect_all({
      {kNew, handle_environment_variables, {}, "", {{Field::mm_feature_transport, "cpu"}}},
      {kNew, handle_environment_variables, {{Field::mm_feature_transport, "cuda_vmm"}}, refused},
      {kNew,
       handle_environment_variables,
       {{Field::mm_feature_transport, "cuda_ipc"}, {Field::encoder_only, true}},
       "",
       {{Field::mm_feature_transport, "cpu"}},
       {kFunction}},
      {kNew, handle_environment_variables, {}, refused, {}, {kFunction}, {{"SGLANG_USE_CUDA_IPC_TRANSPORT", "1"}}},
      {kNew,
       handle_environment_variables,
       {{Field::mm_feature_transport, "cpu"}},
       "",
       {},
       {kFunction},
       {{"SGLANG_USE_CUDA_IPC_TRANSPORT", "yes"}}},
  });
}

// Whether the model takes images is asked since 0.5.18, which reads its configuration; an encoder alone does not ask.
TEST(Serving, TheFeatureTransportReadsTheModelSince0518) {
  for (const int patch : {17, 18}) {
    for (const bool encoder_only : {false, true}) {
      StepRun run(preflight::testing::newest_of(patch), {{Field::encoder_only, encoder_only}});
      run.launch.model = nullptr;  // and NoModels has none
      EXPECT_EQ(run.run({handle_environment_variables}), patch == 17 || encoder_only) << patch << encoder_only;
    }
  }
}

TEST(Serving, CrashDumpFolderIsJudgedWithoutMakingIt) {
  const std::string file = preflight::testing::tool_path();
  expect_all({
      {kNew, handle_crash_dump_env, {{Field::crash_dump_folder, file}}, "", {}, {"handle_crash_dump_env"}},
      {kNew, handle_crash_dump_env, {{Field::crash_dump_folder, "/tmp/%p"}}, "", {}, {"handle_crash_dump_env"}},
      {kOld, handle_crash_dump_env, {{Field::crash_dump_folder, file}}, "NotADirectoryError _handle_crash_dump_env"},
      {kOld, handle_crash_dump_env, {{Field::crash_dump_folder, "/tmp"}}, ""},
  });
}

TEST(Serving, CrashDumpsSetWhatCudaReadsAndKeepWhatIsSet) {
  StepRun run(kNew, {{Field::crash_dump_folder, "/dumps"}});
  run.launch.env = {{"CUDA_COREDUMP_SHOW_PROGRESS", "0"}};
  run.run({handle_crash_dump_env});
  const Environment expected = {
      {"CUDA_COREDUMP_FILE", "/dumps/%h/core.cuda.%t.%p"},
      {"CUDA_COREDUMP_GENERATION_FLAGS",
       "skip_nonrelocated_elf_images,skip_global_memory,skip_shared_memory,skip_local_memory,skip_constbank_memory"},
      {"CUDA_COREDUMP_PIPE", "/tmp/corepipe.cuda.%h.%p"},
      {"CUDA_COREDUMP_SHOW_PROGRESS", "0"},
      {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"},
      {"CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "1"}};
  EXPECT_EQ(run.launch.env, expected);
  StepRun bare(kNew, {{Field::crash_dump_folder, "/dumps"}});
  bare.run({handle_crash_dump_env});
  EXPECT_EQ(bare.launch.env["CUDA_COREDUMP_SHOW_PROGRESS"], "1");
}

// The folder holds one a host, by the name that the host gives itself.
TEST(Serving, ACrashDumpFolderNeedsAFolderNamedLikeTheHost) {
  std::array<char, 256> host{};
  ASSERT_EQ(gethostname(host.data(), host.size() - 1), 0);
  const auto folder = std::filesystem::path(::testing::TempDir()) / "crash-dumps";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / host.data()) << "a file in the folder's place";
  expect_all({{kOld,
               handle_crash_dump_env,
               {{Field::crash_dump_folder, folder.string()}},
               "FileExistsError _handle_crash_dump_env"}});
}

// The bounds and the missing package end in one exception; the words tell which it was.
TEST(Serving, BoundsOfHttp2AreToldBeforeTheMissingPackage) {
  struct Row {
    Field field;
    std::int64_t value;
    const char* told;
  };
  constexpr Row kRows[] = {
      {Field::http2_max_concurrent_streams, 0, "1…4294967295"},
      {Field::http2_max_concurrent_streams, 1, "granian"},
      {Field::http2_max_concurrent_streams, 4294967295, "granian"},
      {Field::http2_max_concurrent_streams, 4294967296, "1…4294967295"},
      {Field::http2_initial_connection_window_size, 1023, "1024…2147483647"},
      {Field::http2_initial_connection_window_size, 1024, "granian"},
      {Field::http2_initial_connection_window_size, 2147483647, "granian"},
      {Field::http2_initial_connection_window_size, 2147483648, "1024…2147483647"},
  };
  for (const Row& row : kRows) {
    StepRun run(kNew, {{Field::enable_http2, true}, {row.field, row.value}});
    run.run({handle_ssl_validation});
    ASSERT_TRUE(run.refusal.has_value()) << field_name(row.field) << row.value;
    EXPECT_NE(run.refusal->message.find(row.told), std::string::npos) << run.refusal->message;
  }
}

TEST(Serving, ClosingChecksReadJsonOptions) {
  constexpr auto kRefused = "ValueError handle_other_validations";
  const auto object = [](const char* json) { return *Value::parse_json(json); };
  const auto sampling = [&](const char* json) -> StepRun::Fields {
    return {{Field::preferred_sampling_params, object(json)}, {Field::skip_tokenizer_init, true}};
  };
  expect_all({
      {kNew, handle_other_validations, {{Field::limit_mm_data_per_request, object(R"({"image": 1})")}}, ""},
      {kNew, handle_other_validations, {{Field::limit_mm_data_per_request, object(R"({"text": 1})")}}, kRefused},
      {kNew,
       handle_other_validations,
       {{Field::limit_mm_data_per_request, "no json"}},
       "JSONDecodeError handle_other_validations"},
      {kNew, handle_other_validations, {{Field::preferred_sampling_params, object(R"({"watermark": 1})")}}, kRefused},
      {kOld, handle_other_validations, {{Field::preferred_sampling_params, object(R"({"watermark": 1})")}}, ""},
      {kNew, handle_other_validations, sampling(R"({"temperature": 0.5})"), ""},
      {kNew, handle_other_validations, sampling(R"({"heat": 0.5})"), "TypeError handle_other_validations"},
      {kNew, handle_other_validations, sampling(R"({"temperature": "hot"})"), "TypeError __post_init__"},
      {kNew, handle_other_validations, sampling(R"({"stop": "x"})"), "ValueError raise_if_tokenizer_required"},
      {kNew, handle_other_validations, sampling(R"({"stop": []})"), ""},
      {kNew, handle_other_validations, sampling(R"({"min_new_tokens": 1})"), "ValueError raise_if_tokenizer_required"},
      {kOld,
       handle_other_validations,
       {{Field::debug_tensor_dump_output_folder, "/tmp/x"}},
       "",
       {{Field::disable_cuda_graph, true}, {Field::skip_server_warmup, true}},
       {"_handle_other_validations"}},
  });
}

TEST(Serving, DeclarationsAreRecordedEvenWhenNothingChanges) {
  StepRun run(kNew, {{Field::tokenizer_path, "/t"}, {Field::served_model_name, "m"}, {Field::random_seed, 7}});
  ASSERT_TRUE(run.run({handle_missing_default_values}));
  std::vector<std::string> fields;
  for (const Change& change : run.launch.chain) {
    EXPECT_EQ(change.step, "_handle_missing_default_values");
    for (const auto& [field, value] : change.fields) fields.emplace_back(field_name(field));
  }
  EXPECT_EQ(fields,
            (std::vector<std::string>{"device", "mm_process_config", "_speculative_draft_quantization_explicitly_set",
                                      "speculative_draft_model_quantization"}));
}

}  // namespace
}  // namespace preflight::resolve::testing
