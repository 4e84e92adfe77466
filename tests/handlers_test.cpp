// What a release calls upstream's functions, and which of them assign.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "src/resolve/core/handlers.h"
#include "tests/support/paths.h"

namespace preflight::resolve {
namespace {

TEST(Handlers, AreCalledAsTheReleaseCallsThem) {
  struct Row {
    std::string_view written;
    std::string_view in_11;
    std::string_view in_12;
    std::string_view in_18;
    std::string_view in_19;
  };
  const Row rows[] = {
      {"handle_elastic_ep", "_handle_elastic_ep", "_handle_elastic_ep", "_handle_elastic_ep", "handle_elastic_ep"},
      {"_handle_elastic_ep", "_handle_elastic_ep", "_handle_elastic_ep", "_handle_elastic_ep", "handle_elastic_ep"},
      // Always a function of its own, with its underscore.
      {"_handle_eagle_family", "_handle_speculative_decoding", "_handle_speculative_decoding", "_handle_eagle_family",
       "_handle_eagle_family"},
      // Functions before the others were.
      {"handle_speculative_decoding", "_handle_speculative_decoding", "_handle_speculative_decoding",
       "handle_speculative_decoding", "handle_speculative_decoding"},
      {"apply_nemotron_h_defaults", "_handle_model_specific_adjustments", "apply_nemotron_h_defaults",
       "apply_nemotron_h_defaults", "apply_nemotron_h_defaults"},
      {"validate_hisparse", "check_server_args", "validate_hisparse", "validate_hisparse", "validate_hisparse"},
      // No record: as written.
      {"_dcp_comm_backend_default", "_dcp_comm_backend_default", "_dcp_comm_backend_default",
       "_dcp_comm_backend_default", "_dcp_comm_backend_default"},
      {"check_server_args", "check_server_args", "check_server_args", "check_server_args", "check_server_args"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(traceback_name(v0_5(11), row.written), row.in_11) << row.written;
    EXPECT_EQ(traceback_name(v0_5(12, 1), row.written), row.in_12) << row.written;
    EXPECT_EQ(traceback_name(v0_5(18), row.written), row.in_18) << row.written;
    EXPECT_EQ(traceback_name(v0_5(19), row.written), row.in_19) << row.written;
  }
  EXPECT_EQ(traceback_name(v0_5(13), "_handle_ngram"), "_handle_ngram");
}

// Passes that came out of a handler, functions that had another name: both sides of the release that parts them.
TEST(Handlers, AreCalledAsBeforeTheyWereFunctionsOfTheirOwn) {
  struct Row {
    std::string_view written;
    int patch;
    std::string_view before;
    std::string_view since;
  };
  constexpr std::string_view kAttention = "_handle_attention_backend_compatibility";
  const Row rows[] = {
      {"_attention_backend_default", 15, kAttention, "_attention_backend_default"},
      {"_attention_backend_dual_chunk", 15, kAttention, "_attention_backend_dual_chunk"},
      {"_attention_backend_fa3_fp8_fallback", 15, kAttention, "_attention_backend_fa3_fp8_fallback"},
      {"_attention_backend_platform_fallbacks", 15, kAttention, "_attention_backend_platform_fallbacks"},
      {"_intel_xpu_page_constraint", 15, kAttention, "_intel_xpu_page_constraint"},
      {"_sampling_backend_default", 15, "_handle_sampling_backend", "_sampling_backend_default"},
      {"_page_size_default", 15, "_handle_page_size", "_page_size_default"},
      {"_gguf_quantization", 15, "_handle_load_format", "_gguf_quantization"},
      {"_cutlass_moe_env_override", 15, "_handle_moe_kernel_config", "_cutlass_moe_env_override"},
      {"_validate_dsa_tbo_index_sharing", 20, "handle_model_specific_adjustments", "_validate_dsa_tbo_index_sharing"},
      {"validate_hisparse_kv_cache_dtype", 14, "validate_hisparse", "validate_hisparse_kv_cache_dtype"},
      {"validate_hisparse_dsa_backend", 14, "validate_hisparse", "validate_hisparse_dsa_backend"},
      {"generate_decode_cuda_graph_batch_sizes", 14, "_generate_cuda_graph_batch_sizes",
       "_generate_decode_cuda_graph_batch_sizes"},
      {"generate_prefill_cuda_graph_batch_sizes", 14, "_generate_piecewise_cuda_graph_tokens",
       "_generate_prefill_cuda_graph_batch_sizes"},
      {"handle_decode_context_parallelism", 20, "handle_dcp_validation", "handle_decode_context_parallelism"},
      {"handle_custom_all_reduce_v2_multinode", 17, "_handle_environment_variables",
       "_handle_custom_all_reduce_v2_multinode"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(traceback_name(v0_5(row.patch - 1, 1), row.written), row.before) << row.written;
    EXPECT_EQ(traceback_name(v0_5(row.patch), row.written), row.since) << row.written;
  }
  // Of a method whose name changed, too.
  EXPECT_EQ(traceback_name(v0_5(18), "handle_decode_context_parallelism"), "_handle_dcp_validation");
}

TEST(Handlers, RecordTheirChangesUnderTheMethodThatHoldsThem) {
  EXPECT_EQ(source_in_release(v0_5(12, 1), "_handle_ngram"), "_handle_speculative_decoding");
  EXPECT_EQ(source_in_release(v0_5(13), "_handle_ngram"), "_handle_ngram");
  EXPECT_EQ(source_in_release(v0_5(12, 1), "_handle_elastic_ep"), "_handle_elastic_ep");
  EXPECT_EQ(source_in_release(v0_5(14), "_page_size_default"), "_handle_page_size");
  EXPECT_EQ(source_in_release(v0_5(15), "_page_size_default"), "_page_size_default");
}

// A handler without a record would declare in the releases where upstream assigns.
TEST(Handlers, OfEveryStepHaveARecord) {
  const std::regex name(R"re("(_?(handle|parse|apply|adjust|disable|resolve)_[a-z0-9_]+)(\.[a-z_]+)?")re");
  int seen = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(testing::source_directory() + "/src/resolve")) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() != ".cpp" || file == "handlers.cpp" || file == "refusal_sites.cpp") continue;
    std::ifstream stream(entry.path());
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
      const std::string written = (*at)[1];
      // Names that are no handlers: without an underscore these are functions that nothing declares under.
      if (!written.starts_with('_') && !written.starts_with("handle_") && !written.starts_with("apply_") &&
          !written.starts_with("adjust_")) {
        continue;
      }
      ++seen;
      EXPECT_NE(find_handler(written), nullptr) << file << ": " << written;
    }
  }
  EXPECT_GT(seen, 150);
}

}  // namespace
}  // namespace preflight::resolve
