// Findings about the input, before any rule of SGLang's: each is told where it holds and not beside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/checkpoint.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;

std::set<std::string> rules_in(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {"check", "--no-kernel", "--no-fixes", "--format", "json"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const ToolRun run = run_tool(all);
  std::set<std::string> ids;
  const auto report = nlohmann::json::parse(run.out, nullptr, false);
  EXPECT_TRUE(report.is_object()) << run.err;
  if (!report.is_object()) return ids;
  for (const auto& finding : report["findings"]) ids.insert(finding["rule"].get<std::string>());
  return ids;
}

TEST(InputNotes, AreToldWhereTheyHoldAndNotBeside) {
  const std::string command = "python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B";
  struct Row {
    const char* rule;
    std::vector<std::string> told;
    std::vector<std::string> silent;
  };
  const Row rows[] = {
      {"MD001", {"--", "--model-path", "nobody/knows"}, {"--", "--model-path", "Qwen/Qwen3-0.6B"}},
      {"MD002",
       {"--mla", "--fact", "num_q_heads=16", "--", "--model-path", "nobody/knows"},
       {"--", "--model-path", "Qwen/Qwen3-0.6B"}},
      {"SH001", {"--command", command + " \\ \n --tp 2"}, {"--command", command + " \\\n --tp 2"}},
      {"SH004", {"--command", "pm2 start '" + command + "'\n" + command}, {"--command", command}},
      {"SH003", {"--command", command + " \\\n # why\n --tp 2"}, {"--command", command + " \\\n --tp 2 # why"}},
      {"SH002",
       {"--command", "docker run --env-file e.env img " + command},
       {"--command", "docker run -e A=b img " + command}},
  };
  for (const Row& row : rows) {
    EXPECT_TRUE(rules_in(row.told).contains(row.rule)) << row.rule;
    EXPECT_FALSE(rules_in(row.silent).contains(row.rule)) << row.rule;
  }
}

// The interpreter is a script that answers for SGLang: of this release or another, with our page size or another.
TEST(InputNotes, TellWhereTheInstalledReleaseDiffers) {
  const TemporaryDirectory dir;
  const auto interpreter = [&](const std::string& name, const std::string& release, int page_size) {
    const std::string path = dir.file(
        name, "#!/bin/sh\ncat > /dev/null\necho '{\"release\": \"" + release +
                  "\", \"outcome\": \"ok\", \"resolved\": {\"page_size\": " + std::to_string(page_size) + "}}' >&3\n");
    chmod(path.c_str(), 0700);
    return path;
  };
  const auto told = [&](const std::string& resolver) {
    return rules_in({"--sglang-version", "0.5.23", "--resolver", resolver, "--", "--model-path", "Qwen/Qwen3-0.6B",
                     "--attention-backend", "intel_xpu"});
  };
  EXPECT_TRUE(told("both:" + interpreter("a", "0.5.23", 16)).contains("RS001"));
  EXPECT_FALSE(told("builtin").contains("RS001"));
  EXPECT_TRUE(told("both:" + interpreter("b", "0.5.22", 128)).contains("RS002"));
  EXPECT_FALSE(told("both:" + interpreter("c", "0.5.23", 128)).contains("RS002"));
}

TEST(InputNotes, TheReleaseIsThatOfTheInterpreterThatIsAsked) {
  const TemporaryDirectory dir;
  dir.file("lib/python3.11/site-packages/sglang-0.5.19.dist-info/METADATA", "Name: sglang\nVersion: 0.5.19\n");
  const std::string path = dir.file("bin/python",
                                    "#!/bin/sh\ncat > /dev/null\necho '{\"release\": \"0.5.19\", \"outcome\": \"ok\", "
                                    "\"resolved\": {\"page_size\": 128}}' >&3\n");
  chmod(path.c_str(), 0700);
  for (const std::string resolver : {"both:", "python:"}) {
    const ToolRun run =
        run_tool({"check", "--no-kernel", "--resolver", resolver + path, "--", "--model-path", "Qwen/Qwen3-0.6B"});
    EXPECT_THAT(run.out, ::testing::StartsWith("SGLang 0.5.19 (package)")) << run.err;
    EXPECT_THAT(run.out, ::testing::Not(HasSubstr("RS002")));
  }
}

TEST(InputNotes, SayThatBothResolversAgree) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("same", R"(#!/bin/sh
cat > /dev/null
echo '{"release": "0.5.23", "outcome": "usage", "stage": "parse", "message": "argument --page-size: invalid"}' >&3
)");
  chmod(path.c_str(), 0700);
  for (const char* format : {"text", "json"}) {
    const ToolRun run = run_tool({"resolve", "--sglang-version", "0.5.23", "--resolver", "both:" + path, "--format",
                                  format, "--", "--model-path", "Qwen/Qwen3-0.6B", "--page-size", "many"});
    EXPECT_THAT(run.out, HasSubstr("the two resolvers agree: both refuse the launch in the argument parser")) << format;
    EXPECT_THAT(run.out, HasSubstr("RS003"));
  }
}

TEST(InputNotes, StandInWhatResolvePrints) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("old", R"(#!/bin/sh
cat > /dev/null
echo '{"release": "0.5.11", "outcome": "ok", "resolved": {"model_path": "Qwen/Qwen3-0.6B", "of_the_future": 1}}' >&3
)");
  chmod(path.c_str(), 0700);
  const auto shown = [&](const std::string& resolver, const std::string& format) {
    return run_tool({"resolve", "--resolver", resolver + ":" + path, "--format", format, "--", "--model-path",
                     "Qwen/Qwen3-0.6B"})
        .out;
  };
  EXPECT_THAT(shown("both", "text"), HasSubstr("note[RS001]: the two resolvers differ: "));
  EXPECT_THAT(shown("both", "json"), HasSubstr("\"notes\":[\"RS002: "));
  const std::string theirs = shown("python", "text");
  EXPECT_THAT(theirs, HasSubstr("the interpreter holds SGLang 0.5.11"));
  EXPECT_THAT(theirs, HasSubstr("of_the_future"));
  // What that release starts from is not known, so nothing is called a change.
  EXPECT_THAT(theirs, Not(HasSubstr("→")));
}

TEST(InputNotes, AShardThatIsCutShortIsAnErrorAndDummyWeightsAreNone) {
  const TemporaryDirectory dir;
  dir.file("m/config.json",
           R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "num_attention_heads": 8,
               "num_key_value_heads": 4, "head_dim": 64, "hidden_size": 512, "num_hidden_layers": 4,
               "intermediate_size": 1024, "vocab_size": 1000, "max_position_embeddings": 4096})");
  const std::string path = dir.path() + "/m";
  EXPECT_FALSE(rules_in({"--", "--model-path", path, "--attention-backend", "triton"}).contains("MD004"));
  dir.file("m/model.safetensors", "cut");
  EXPECT_TRUE(rules_in({"--", "--model-path", path, "--attention-backend", "triton"}).contains("MD004"));
  EXPECT_FALSE(rules_in({"--", "--model-path", path, "--attention-backend", "triton", "--load-format", "dummy"})
                   .contains("MD004"));
}

// Its chain is shown from what it says that launches start from, and no rule of ours is taken for one of its own.
TEST(InputNotes, OfAReleaseThatNobodyKnowsNoRuleIsApplied) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("new", R"(#!/bin/sh
cat > /dev/null
echo '{"release": "0.9.99", "outcome": "ok", "resolved": {"model_path": "Qwen/Qwen3-0.6B", "page_size": 32}, "defaults": {"page_size": 16}, "writes": [["_handle_page_size", "page_size", 32]]}' >&3
)");
  chmod(path.c_str(), 0700);
  const auto run = run_tool({"check", "--no-kernel", "--resolver", "python:" + path, "--", "--model-path",
                             "Qwen/Qwen3-0.6B", "--attention-backend", "intel_xpu"});
  EXPECT_THAT(run.out, HasSubstr("0 rules applied"));
  EXPECT_THAT(run.out, HasSubstr("nothing is known about SGLang 0.9.99"));
  EXPECT_THAT(run.out, HasSubstr("16 (default) → 32 (_handle_page_size)"));
  EXPECT_EQ(run_tool({"check", "--no-kernel", "--resolver-timeout", "0", "--", "--model-path", "m"}).status, 2);
}

// Whole files that lack a tensor of the class.
TEST(InputNotes, FilesThatDoNotFillTheModelAreAnError) {
  const TemporaryDirectory dir;
  dir.file("m/config.json",
           R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "num_attention_heads": 8,
               "num_key_value_heads": 4, "head_dim": 64, "hidden_size": 512, "num_hidden_layers": 4,
               "intermediate_size": 1024, "vocab_size": 1000, "max_position_embeddings": 4096})");
  const std::string path = dir.path() + "/m";
  const std::vector<std::string> launch = {"--", "--model-path", path, "--attention-backend", "triton"};
  WeightFiles files = checkpoint(*model_of(path));
  dir.file("m/model.safetensors", safetensors_of(files));
  EXPECT_FALSE(rules_in(launch).contains("MD006"));
  std::erase_if(files.tensors,
                [](const StoredTensor& t) { return t.name.find("layers.3.mlp.up_") != std::string::npos; });
  dir.file("m/model.safetensors", safetensors_of(files));
  EXPECT_TRUE(rules_in(launch).contains("MD006"));
  EXPECT_FALSE(rules_in({"--", "--model-path", path, "--attention-backend", "triton", "--load-format", "dummy"})
                   .contains("MD006"));
  const auto sheet = nlohmann::json::parse(run_tool({"memory", "--format", "json", "--", "--model-path", path}).out);
  EXPECT_EQ(sheet["weights_from_files"], false);
}

}  // namespace
}  // namespace preflight::testing
