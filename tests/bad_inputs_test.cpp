// Whatever strangers send: tests/data/bad_inputs.txt has one command line a row, with the exit status it ends in and
// words it says. Each runs in a directory of broken files (tests/data/bad_inputs_setup.sh). What holds for all of them:
// the status is a documented one, complaints are one line, nothing acts on a terminal, and no more than 200 MB is
// taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "src/facts/absurd_model.h"
#include "src/report/output_gate.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;

struct Row {
  int status;
  std::string words;
  std::string line;
};

// Lines of "STATUS | WORDS | COMMAND LINE"; # starts a remark.
std::vector<Row> rows() {
  std::vector<Row> rows;
  std::istringstream text(read_file(source_directory() + "/tests/data/bad_inputs.txt"));
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t first = line.find(" | ");
    const std::size_t second = line.find(" | ", first + 3);
    rows.push_back({std::stoi(line), line.substr(first + 3, second - first - 3), line.substr(second + 3)});
  }
  return rows;
}

// What a class divides by or sizes a layer with, in the part that has it; beside each a number that some model has.
TEST(BadInputs, NumbersThatNoModelHasAreNone) {
  struct Number {
    const char* key;
    std::vector<const char*> absurd;
    const char* known;
  };
  const std::vector<Number> numbers = {{"moe_layer_freq", {"0", "-5"}, "[0, 1, 1]"},
                                       {"decoder_sparse_step", {"0", "-5"}, "1"},
                                       {"full_attention_interval", {"0", "-5"}, "4"},
                                       {"conv_kernel", {"0", "-5"}, "4"},
                                       {"mamba_d_conv", {"0"}, "4"},
                                       {"linear_conv_kernel_dim", {"0"}, "4"},
                                       {"patch_size", {"0", "-5"}, "[2, 14, 14]"},
                                       {"spatial_merge_size", {"0"}, "2"},
                                       {"temporal_patch_size", {"0"}, "1"},
                                       {"depth", {"-5"}, "27"},
                                       {"n_layer", {"0", "-5"}, "12"},
                                       {"sliding_window", {"-5"}, "null"},
                                       {"query_pre_attn_scalar", {"0", "-5"}, "144"},
                                       {"intermediate_size", {"0", "-1"}, "[0, 11008]"},
                                       {"kv_lora_rank", {"0", "-1"}, "512"},
                                       {"v_head_dim", {"-1"}, "0"},
                                       {"qk_nope_head_dim", {"-1"}, "0"},
                                       {"num_experts", {"-1"}, "0"},
                                       {"n_routed_experts", {"-1"}, "256"},
                                       {"vocab_size", {"-1"}, "1"},
                                       {"num_experts_per_token", {"1000000000000"}, "8"},
                                       {"rope_theta", {"0", "-5"}, "1e11"}};
  const auto absurd = [](const std::string& text) { return facts::absurd_part(*Value::parse_json(text)); };
  for (const Number& n : numbers) {
    EXPECT_EQ(absurd(fmt::format(R"({{"{}": {}}})", n.key, n.known)), std::nullopt) << n.key;
    for (const char* value : n.absurd) {
      const auto why = absurd(fmt::format(R"({{"{}": {}}})", n.key, value));
      EXPECT_EQ(why.value_or("none"), fmt::format("{} is {}: no model has that", n.key, value));
    }
  }
  EXPECT_TRUE(absurd(R"({"vision_config": {"patch_size": 0}})"));
  EXPECT_TRUE(absurd(R"({"text_config": {"moe_layer_freq": 0}})"));
  EXPECT_FALSE(absurd(R"({"num_experts": 0, "num_experts_per_tok": 0})"));  // a class of both kinds, without experts
  EXPECT_FALSE(absurd(R"({"num_experts": 8, "num_experts_per_tok": 8})"));
  EXPECT_TRUE(absurd(R"({"num_experts": 8, "num_experts_per_tok": 9})"));
  EXPECT_TRUE(absurd(R"({"text_config": {"n_routed_experts": 8, "num_experts_per_tok": 0}})"));
  for (const char* factor : {"0", "-2", "0.0", "1e999"}) {
    EXPECT_TRUE(absurd(fmt::format(R"({{"rope_scaling": {{"rope_type": "linear", "factor": {}}}}})", factor)))
        << factor;
    EXPECT_TRUE(absurd(fmt::format(R"({{"rope_parameters": {{"full": {{"low_freq_factor": {}}}}}}})", factor)))
        << factor;
  }
  EXPECT_FALSE(absurd(R"({"rope_scaling": {"factor": 0.25}, "rope_parameters": {"factor": null}})"));
}

// What asks for the block of FP8 weights is silent where there is none, so that one nobody can read must not pass for
// none.
TEST(BadInputs, BlocksOfNoRowsAreNone) {
  const auto absurd = [](const std::string& block) {
    return facts::absurd_part(*Value::parse_json(R"({"quantization_config": {"weight_block_size": )" + block + "}}"))
        .has_value();
  };
  for (const char* block : {"[0, 0]", "[128, 0]", "[-128, 128]", "[128]", "[128, 128, 128]", "[]", "\"128\"", "128",
                            "[1.5, 2]", "[null, 128]", "[99999999999999999999, 128]"}) {
    EXPECT_TRUE(absurd(block)) << block;
  }
  for (const char* block : {"[128, 128]", "[1, 32]", "null"}) EXPECT_FALSE(absurd(block)) << block;
}

// A configuration, and a part of it, has names that somebody chose; what goes by modules or labels has many.
TEST(BadInputs, MoreSettingsThanAModelHasAreNone) {
  const auto object = [](int count, const std::string& rest = "") {
    std::string text = "{";
    for (int i = 0; i < count; ++i) text += fmt::format("{}\"k{}\": {}", i == 0 ? "" : ", ", i, i);
    return text + rest + "}";
  };
  const auto absurd = [](const std::string& text) { return facts::absurd_part(*Value::parse_json(text)).has_value(); };
  // GLM-5-Next's configuration class has it so; what has no latent attention divides by it.
  EXPECT_FALSE(absurd(R"({"text_config": {"head_dim": 0, "kv_lora_rank": 512}})"));
  EXPECT_TRUE(absurd(R"({"text_config": {"head_dim": 0, "kv_lora_rank": 0}})"));
  EXPECT_TRUE(absurd(R"({"text_config": {"head_dim": 0}})"));
  EXPECT_TRUE(absurd(R"({"head_dim": -1, "kv_lora_rank": 512})"));
  const auto pattern = [](std::size_t letters) {
    return fmt::format(R"({{"hybrid_override_pattern": "{}"}})", std::string(letters, 'M'));
  };
  EXPECT_FALSE(absurd(pattern(65'536)));
  EXPECT_TRUE(absurd(pattern(65'537)));
  EXPECT_FALSE(absurd(object(512)));
  EXPECT_TRUE(absurd(object(513)));
  EXPECT_FALSE(absurd(R"({"text_config": )" + object(512) + "}"));
  EXPECT_TRUE(absurd(R"({"text_config": )" + object(513) + "}"));
  EXPECT_TRUE(absurd(R"({"thinker_config": {"vision_config": )" + object(513) + "}}"));
  EXPECT_FALSE(absurd(R"({"id2label": )" + object(513) + "}"));
  EXPECT_FALSE(absurd(R"({"quantization_config": )" + object(513) + "}"));
  EXPECT_FALSE(absurd(R"({"compression_config": {"extra_config": )" + object(513) + "}}"));
  EXPECT_FALSE(absurd(R"({"task_specific": {"a_config": )" + object(513) + "}}"));
}

// A quarter of the rows each, side by side; CI runs one of them under sanitizers, ./dev nightly all.
constexpr std::size_t kQuarters = 4;

class BadInputRows : public ::testing::TestWithParam<std::size_t> {};

TEST_P(BadInputRows, EndAsDocumentedInBoundedMemoryWithOneLine) {
  const TemporaryDirectory directory;
  const std::string folder = directory.path() + "/d";
  ASSERT_EQ(run_command_line("bash tests/data/bad_inputs_setup.sh " + folder).status, 0);
  const std::vector<Row> table = rows();
  ASSERT_GE(table.size(), 400U);
#ifdef PREFLIGHT_SANITIZED
  constexpr long kMostKilobytes =
      4'000'000;  // the sanitizers' own; what the program takes is that of the release build
#else
  constexpr long kMostKilobytes = 200 * 1024;
#endif
  for (std::size_t i = GetParam(); i < table.size(); i += kQuarters) {
    const Row& row = table[i];
    // Processor seconds, far above what any row takes: an input that never ends fails here and not in the test's limit.
    const ToolRun run = run_command_line("ulimit -t 60; D=" + folder + "; exec </dev/null; " + row.line);
    EXPECT_EQ(run.status, row.status) << row.line << "\n" << run.err;
    EXPECT_THAT(run.err + run.out, HasSubstr(row.words)) << row.line;
    EXPECT_EQ((run.out + run.err).find("Zq7xTopSecret93"), std::string::npos) << row.line;  // of the folder's files
    EXPECT_EQ(report::gated(run.out), run.out) << row.line;
    EXPECT_EQ(report::gated(run.err), run.err) << row.line;
    if (run.status == 2) {
      EXPECT_THAT(run.err, ::testing::StartsWith("xpu-preflight: ")) << row.line;
      EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << row.line << "\n" << run.err;
    }
    EXPECT_LT(run.peak_kilobytes, kMostKilobytes) << row.line;
  }
}
INSTANTIATE_TEST_SUITE_P(Quarters, BadInputRows, ::testing::Range<std::size_t>(0, kQuarters));

}  // namespace
}  // namespace preflight::testing
