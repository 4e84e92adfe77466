// The program as a user meets it: exit statuses, one-line errors, formats. No OpenCL device is needed here.
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/kernels/device.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

// A launch that is fine, without the kernel.
const Words kGood = {"check",     "--no-kernel", "--", "--model-path", "Qwen/Qwen3-0.6B", "--attention-backend",
                     "intel_xpu", "--page-size", "64"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Nothing is planted into a launch that SGLang refuses, and no defect has the number 0.
TEST(CheckCommand, PlantsNothingIntoARefusedLaunch) {
  const auto run = run_tool({"check", "--sglang-version", "0.5.13", "--inject", "all", "--", "--model-path",
                             "openai/gpt-oss-20b", "--device", "xpu"});
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.out.find("no defect was planted: SGLang refuses this launch"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("defect 0"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("caught by the cases"), std::string::npos) << run.out;
}

TEST(CheckCommand, AFixOfALaunchWithAnUnknownDraftIsNotSaidToBeCheckedWhole) {
  const ToolRun run = run_tool({"check",
                                "--no-kernel",
                                "--sglang-version",
                                "0.5.19",
                                "--",
                                "--model-path",
                                "Qwen/Qwen3-14B",
                                "--tp",
                                "4",
                                "--attention-backend",
                                "intel_xpu",
                                "--speculative-algorithm",
                                "EAGLE",
                                "--speculative-draft-model-path",
                                "nobody/knows",
                                "--speculative-num-steps",
                                "3",
                                "--speculative-eagle-topk",
                                "4",
                                "--speculative-num-draft-tokens",
                                "16"});
  EXPECT_THAT(run.out, HasSubstr("no errors up to the unknown model"));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("resolved and checked again")));
}

TEST(CheckCommand, ALaunchThatIsRefusedBeforeItsUnknownModelIsMendedUpToThat) {
  const Words refused = {"--model-path",      "/models/nobody-knows",
                         "--load-format",     "layered_fp8",
                         "--page-size",       "64",
                         "--grammar-backend", "xx"};
  const ToolRun run =
      run_tool(with({"check", "--no-kernel", "--format", "json", "--sglang-version", "0.5.23", "--"}, refused));
  EXPECT_EQ(run.status, 1);
  const auto report = nlohmann::json::parse(run.out);
  ASSERT_FALSE(report["fixes"].empty()) << run.out;
  EXPECT_EQ(report["fixes"][0]["arguments"].size(), refused.size());
  EXPECT_EQ(run.out.find("which brings MD001"), std::string::npos) << run.out;
  const ToolRun text = run_tool(with({"check", "--no-kernel", "--sglang-version", "0.5.23", "--"}, refused));
  EXPECT_NE(text.out.find("no errors up to the unknown model"), std::string::npos) << text.out;
}

TEST(CheckCommand, ACleanLaunchEndsWithZeroAndSaysThatTheKernelDidNotRun) {
  const ToolRun run = run_tool(kGood);
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("clean:"));
  EXPECT_THAT(run.out, HasSubstr("not run: --no-kernel was given"));
  EXPECT_THAT(run.out, Not(HasSubstr("pass:")));
}

TEST(CheckCommand, FindingsEndWithOne) {
  const ToolRun run = run_tool(with({"check", "--no-kernel", "--"}, {"--model-path", "Qwen/Qwen3-8B", "--tp", "3"}));
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("TP-1"));
}

TEST(CheckCommand, WhatSglangsParserRefusesIsAFindingWithACaret) {
  const ToolRun run = run_tool({"check", "--", "--model-path", "m", "--page-sise", "64"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("^^^"));
  EXPECT_THAT(run.out, HasSubstr("--page-size"));
}

TEST(CheckCommand, AnAddressAsAModelIsRefusedWithoutNetworkAndNeverIncomplete) {
  for (const char* model : {"https://huggingface.co/Qwen/Qwen3-8B", "HF://Qwen/Qwen3-8B", "Qwen/Qwen3-8B@main",
                            "hf.co/Qwen/Qwen3-8B", "Qwen/Qwen3-8B/"}) {
    const ToolRun run = run_tool({"check", "--no-kernel", "--", "--model-path", model});
    EXPECT_EQ(run.status, 1) << model;
    EXPECT_THAT(run.out, HasSubstr("RF018")) << model;
    EXPECT_THAT(run.out, HasSubstr("--model-path Qwen/Qwen3-8B\n")) << model;
    EXPECT_THAT(run.out, Not(HasSubstr("incomplete"))) << model;
    const ToolRun draft = run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-8B",
                                    "--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", model});
    EXPECT_EQ(draft.status, 1) << model;
    EXPECT_THAT(draft.out, HasSubstr("RF018")) << model;
  }
  // A directory by its whole path may be there on the machine that serves.
  EXPECT_THAT(run_tool({"check", "--no-kernel", "--", "--model-path", "/mnt/models/x"}).out, HasSubstr("incomplete"));
}

// 147 tokens of cache serve nobody, and neither do 20,000 whoever asked for 40,960.
TEST(CheckCommand, ALaunchWithoutRoomForARequestIsNotCalledClean) {
  const ToolRun defaults = run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-8B"});
  EXPECT_THAT(defaults.out, HasSubstr("\ndoubtful: 0 errors"));
  EXPECT_THAT(
      defaults.out,
      HasSubstr("147 tokens fit, not one request of 4096 (weights estimated from the model's shapes, the card's "
                "memory is assumed)"));
  const std::vector<std::string> roomy = {"check",         "--no-kernel",           "--",  "--model-path",
                                          "Qwen/Qwen3-8B", "--mem-fraction-static", "0.75"};
  EXPECT_THAT(run_tool(roomy).out, HasSubstr("\nclean: "));
  std::vector<std::string> long_ones = roomy;
  long_ones.insert(long_ones.end(), {"--context-length", "40960"});
  EXPECT_THAT(run_tool(long_ones).out, HasSubstr("tokens fit, not one request of 40960"));
}

TEST(CheckCommand, OurOwnOptionsBehindTheDashesAreSentBack) {
  const ToolRun run =
      run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-0.6B", "--sglang-version", "0.5.13"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("--sglang-version is an option of xpu-preflight and belongs before --"));
  // One of another command, too, which the command at hand does not have.
  const ToolRun other =
      run_tool({"upgrade", "--from", "0.5.13", "--", "--model-path", "Qwen/Qwen3-0.6B", "--sglang-version", "0.5.13"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("--sglang-version is an option of xpu-preflight check, not of upgrade"));
  // An option that some SGLang release takes, too, is SGLang's.
  EXPECT_NE(run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-0.6B", "--device", "xpu"}).status, 2);
}

TEST(CheckCommand, AWholeCommandMayStandBehindTheDashes) {
  const ToolRun bare = run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-0.6B", "--tp", "3"});
  for (const Words& launcher : {Words{"python", "-m", "sglang.launch_server"}, Words{"sglang", "serve"},
                                Words{"/opt/bin/python3", "-m", "sglang.launch_server"}}) {
    Words words = with({"check", "--no-kernel", "--"}, launcher);
    words = with(words, {"--model-path", "Qwen/Qwen3-0.6B", "--tp", "3"});
    const ToolRun run = run_tool(words);
    EXPECT_EQ(run.status, bare.status) << run.err;
    EXPECT_THAT(run.out, HasSubstr("TP-1")) << launcher.back();
  }
  for (const Words& vllm :
       {Words{"vllm", "serve", "Qwen/Qwen3-0.6B"},
        Words{"python", "-m", "vllm.entrypoints.openai.api_server", "--model", "Qwen/Qwen3-0.6B"}}) {
    const ToolRun run = run_tool(with({"check", "--no-kernel", "--"}, vllm));
    EXPECT_THAT(run.out, AllOf(HasSubstr("VL001"), HasSubstr("Qwen/Qwen3-0.6B"), Not(HasSubstr("US00"))));
  }
}

TEST(CheckCommand, FailOnDecidesWhichFindingsFail) {
  const Words launch = {"--", "--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "intel_xpu", "--page-size",
                        "32"};
  EXPECT_EQ(run_tool(with({"check", "--no-kernel"}, launch)).status, 0);
  EXPECT_EQ(run_tool(with({"check", "--no-kernel", "--fail-on", "change"}, launch)).status, 1);
  EXPECT_EQ(run_tool({"check", "--fail-on", "never", "--", "--nonsense"}).status, 0);
}

TEST(CheckCommand, AnAbsentOpenclDeviceThatWasAskedForEndsWithFive) {
  const ToolRun run = run_tool({"check", "--opencl-device", "no such device", "--", "--model-path", "Qwen/Qwen3-0.6B"});
  EXPECT_EQ(run.status, 5) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("not run"));
}

// A report that never arrived is no success: what the program found is lost.
TEST(CheckCommand, AReportThatCannotBeWrittenEndsWithThree) {
  const ToolRun run = run_command_line("xpu-preflight check --no-kernel -- --model-path Qwen/Qwen3-0.6B >/dev/full");
  EXPECT_EQ(run.status, 3) << run.err;
  EXPECT_THAT(run.err, HasSubstr("cannot write to standard output"));
}

// The driver behind LD_LIBRARY_PATH computes nonsense; more of its kind are in tests/kernels/device_fault_test.cpp.
TEST(CheckCommand, AKernelThatIsWrongEndsWithFour) {
  const ToolRun run = run_tool(
      {"check", "--", "--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "intel_xpu", "--page-size", "64"}, {},
      {"LD_LIBRARY_PATH=" + fake_opencl_directory()});
  EXPECT_EQ(run.status, 4) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("kernel-failed"));
}

// Bad input: one clear line that names the place, exit 2, nothing on standard output.
struct BadInput {
  Words arguments;
  std::string expected;
};

TEST(CheckCommand, BadInputIsOneLineAndStatusTwo) {
  const TemporaryDirectory dir;
  dir.file("broken/config.json", "{\"architectures\": [\n  oops");
  dir.file("empty/config.json", "");
  dir.file("list.json", "[1, 2]");
  dir.file("list/config.json", "[1, 2]");
  dir.file("absurd/config.json", R"({"architectures": ["LlamaForCausalLM"], "num_attention_heads": -32})");
  dir.file("folder/config.json/x", "");
  dir.file("other/readme.txt", "");
  dir.file("open.yaml", "tp-size: [1\nport: 2\n");
  dir.file("control.yaml", std::string("tp-size: 1\nport: \0\n", 19));
  const std::string nul("python -m sglang.launch_server --model \0x", 41);
  dir.file("nul.txt", nul);
  const std::vector<BadInput> rows = {
      {{}, "subcommand"},
      {{"chekc"}, "chekc"},
      {{"check"}, "no launch to check"},
      {{"check", "--sglang-version", "0.4.1", "--", "--model-path", "m"}, "0.5.23"},
      {{"check", "--sglang-version", "latest", "--", "--model-path", "m"}, "latest"},
      {{"check", "--model-config", "/no/such/file", "--", "--model-path", "m"}, "/no/such/file"},
      {{"check", "--model-config", dir.path(), "--", "--model-path", "m"}, dir.path()},
      {{"check", "--model-config", dir.path() + "/list.json", "--", "--model-path", "m"}, "list.json"},
      {{"check", "--", "--model-path", dir.path() + "/broken"}, "broken/config.json"},
      {{"check", "--", "--model-path", dir.path() + "/empty"}, "empty/config.json"},
      {{"check", "--", "--model-path", dir.path() + "/list"}, "list/config.json"},
      {{"check", "--", "--model-path", dir.path() + "/absurd"}, "num_attention_heads is -32"},
      {{"check", "--", "--model-path", dir.path() + "/folder"}, "not a regular file"},
      {{"check", "--", "--model-path", dir.path() + "/other"}, "no config.json"},
      {{"check", "--", "--config", dir.path() + "/open.yaml"}, "open.yaml:2:"},
      {{"check", "--", "--config", dir.path() + "/control.yaml"}, "control.yaml:2:7"},
      {{"check", "--", "--config", dir.path() + "/none.yaml"}, "none.yaml"},
      {{"check", "--command-file", "/dev/zero"}, "no regular file"},
      {{"check", "--no-kernel", "--opencl-device", "0", "--", "--model-path", "m"}, "excludes --no-kernel"},
      {{"check", "--no-kernel", "--require-kernel", "--", "--model-path", "m"}, "excludes --no-kernel"},
      {{"check", "--device-count", "0", "--", "--model-path", "m"}, "--device-count 0"},
      {{"check", "--fact", "dtype=int8", "--", "--page-size", "64"}, "dtype=int8"},
      {{"check", "--mla", "--", "--model-path", "Qwen/Qwen3-0.6B"}, "Qwen/Qwen3-0.6B is known"},
      {{"check", "--models", "/no/such/folder", "--batch", "-"}, "/no/such/folder"},
      {{"check", "--fact", "num_q_heads=-3", "--", "--page-size", "64"}, "num_q_heads=-3"},
      {{"check", "--fact", "num_q_heads=99999999999999999999", "--", "--page-size", "64"}, "num_q_heads"},
      {{"check", "--fact", "heads=3", "--", "--page-size", "64"}, "num_q_heads"},
      {{"check", "--mla", "--no-mla", "--", "--page-size", "64"}, "--no-mla"},
      {{"check", "--device-memory", "24XB", "--", "--model-path", "m"}, "24XB"},
      {{"check", "--device-memory", "24", "--", "--model-path", "m"}, "did you mean 24GiB?"},
      {{"check", "--device-profile", "h100", "--", "--model-path", "m"}, "b60"},
      {{"check", "--kernel-timeout", "0", "--", "--model-path", "m"}, "--kernel-timeout 0"},
      {{"check", "--seed", "x", "--", "--model-path", "m"}, "--seed x"},
      {{"check", "--case", "no_such_kernel --heads 1"}, "no_such_kernel"},
      {{"check", "--command", "python -m sglang.launch_server --model $M"}, "--set M=VALUE"},
      {{"check", "--command", "ls -l"}, "no SGLang launch"},
      {{"check", "--command", "x", "--", "--model-path", "m"}, "--command"},
      {{"check", "--command-file", dir.path() + "/nul.txt"}, "NUL byte"},
      {{"check", "--batch", "/no/such/file"}, "/no/such/file"},
      {{"check", "--kernel-date", "yesterday", "--", "--model-path", "m"}, "yesterday"},
      {{"explain", "ZZ999"}, "ZZ999"},
  };
  for (const auto& row : rows) {
    const ToolRun run = run_tool(row.arguments);
    std::string shown;
    for (const auto& a : row.arguments) shown += a + " ";
    EXPECT_EQ(run.status, 2) << shown << run.out << run.err;
    EXPECT_THAT(run.err, HasSubstr(row.expected)) << shown;
    EXPECT_EQ(run.out, "") << shown;
    EXPECT_THAT(run.err, Not(HasSubstr("internal error"))) << shown;
  }
}

TEST(CheckCommand, ALineOfTenMegabytesIsReadInReasonableTimeAndRefused) {
  const std::string big = "python -m sglang.launch_server --model-path m " + std::string(10'000'000, 'x');
  const ToolRun run = run_tool({"check", "--no-kernel", "--command-file", "-"}, big);
  EXPECT_EQ(run.status, 2) << run.err.substr(0, 300);
  EXPECT_LT(run.out.size() + run.err.size(), 20000U);
}

TEST(CheckCommand, AnUnknownModelIsAFindingThatSaysHowToSupplyFacts) {
  const ToolRun run =
      run_tool({"check", "--", "--model-path", "nobody/knows-this", "--attention-backend", "intel_xpu"});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("MD001"));
  EXPECT_THAT(run.out, HasSubstr("--model-config"));
  EXPECT_THAT(run.out, HasSubstr("incomplete:"));
}

TEST(CheckCommand, FactsByOptionStandInForAModel) {
  const ToolRun run =
      run_tool({"check", "--no-kernel", "--mla", "--fact", "num_q_heads=16", "--fact", "kv_lora_rank=512", "--fact",
                "num_layers=27", "--fact", "context_length=163840", "--fact", "dtype=bfloat16", "--",
                "--decode-attention-backend", "intel_xpu", "--page-size", "64"});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("K-6"));
  EXPECT_THAT(run.out, Not(HasSubstr("MD002")));
}

// Some of these do not divide 4096, which a stand-in for the model's width once had to.
TEST(CheckCommand, CountsOfOneAreToldInTheSingular) {
  const auto pages = run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-0.6B", "--context-length", "1",
                               "--max-total-tokens", "1"});
  EXPECT_THAT(pages.out, HasSubstr("page table   1 column of 1 token for 1 token\n"));
  EXPECT_THAT(pages.out, HasSubstr("KV cache     0.00 GiB, 1 token: "));
  const auto heads = run_tool({"check", "--no-kernel", "--no-mla", "--fact", "num_q_heads=1", "--fact",
                               "num_kv_heads=1", "--fact", "head_dim=128", "--", "--model-path", "x", "--tp", "2"});
  EXPECT_THAT(heads.out, HasSubstr("1 attention head does not divide by --tp-size 2"));
  const auto suggested = run_tool({"suggest", "--device-profile", "b580", "--device-count", "1", "Qwen/Qwen3-4B"});
  EXPECT_THAT(suggested.out, HasSubstr("launches were resolved and checked, 1 holds what is asked."));
}

TEST(CheckCommand, AnyNumberOfHeadsCanBeGivenAsAFact) {
  for (const char* heads : {"1", "3", "28", "40", "96"}) {
    for (const char* kind : {"--mla", "--no-mla"}) {
      const ToolRun run = run_tool({"check", "--no-kernel", kind, "--fact", std::string("num_q_heads=") + heads, "--",
                                    "--attention-backend", "triton"});
      EXPECT_EQ(run.status, 0) << heads << kind << run.out << run.err;
    }
  }
}

TEST(CheckCommand, NoPlanIsMadeOfShapesThatNobodyGave) {
  const ToolRun run = run_tool({"check", "--no-mla", "--", "--attention-backend", "intel_xpu"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("the model's shapes are not known"));
  EXPECT_THAT(run.out, HasSubstr("num_q_heads (128 stands in)"));
  EXPECT_THAT(run.out, Not(HasSubstr("128 query heads")));
}

TEST(CheckCommand, AFactChangesTheModelThatIsKnown) {
  const ToolRun run = run_tool({"check", "--no-kernel", "--fact", "context_length=8192", "--", "--model-path",
                                "deepseek-ai/DeepSeek-V2-Lite-Chat", "--trust-remote-code"});
  EXPECT_THAT(run.out, HasSubstr("for 8192 tokens"));
  EXPECT_THAT(run.out, HasSubstr("1152 bytes a token and layer"));
}

TEST(CheckCommand, AnUnknownDraftModelLeavesTheLaunchOpen) {
  const Words launch = {"--",
                        "--model-path",
                        "meta-llama/Llama-3.1-8B-Instruct",
                        "--attention-backend",
                        "triton",
                        "--speculative-algorithm",
                        "EAGLE3",
                        "--speculative-draft-model-path",
                        "nobody/knows-this",
                        "--speculative-num-steps",
                        "3",
                        "--speculative-eagle-topk",
                        "1",
                        "--speculative-num-draft-tokens",
                        "4"};
  const ToolRun run = run_tool(with({"check", "--no-kernel"}, launch));
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("the draft model nobody/knows-this"));
  EXPECT_THAT(run.out, HasSubstr("--draft-model-config"));
  EXPECT_THAT(run.out, HasSubstr("not run: nothing is known about the draft model\n"));
  const TemporaryDirectory dir;
  dir.file("draft.json",
           R"({"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "num_attention_heads": 32,
               "num_key_value_heads": 8, "hidden_size": 4096, "num_hidden_layers": 1, "vocab_size": 128256,
               "max_position_embeddings": 2048, "torch_dtype": "bfloat16"})");
  const ToolRun supplied =
      run_tool(with({"check", "--no-kernel", "--draft-model-config", dir.path() + "/draft.json"}, launch));
  EXPECT_THAT(supplied.out, Not(HasSubstr("MD001"))) << supplied.err;
}

TEST(CheckCommand, ALaunchIsJudgedWithItsCheckpointStoredOtherwise) {
  const Words launch = {"--", "--model-path", testing::source_directory() + "/tests/data/models/deepseek-r1-awq"};
  EXPECT_THAT(run_tool(with({"check", "--no-kernel"}, launch)).out, HasSubstr("QN003"));
  for (const char* form : {"fp8", "unquantized"}) {
    const ToolRun run = run_tool(with({"check", "--no-kernel", "--no-fixes", "--stored-as", form}, launch));
    EXPECT_THAT(run.out, Not(HasSubstr("QN003"))) << form << run.err;
    EXPECT_THAT(run.out, HasSubstr("PL002")) << "the weights count as stored so";
  }
  const ToolRun unknown = run_tool({"check", "--stored-as", "fp8", "--", "--model-path", "nobody/knows-this"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--stored-as"));
}

TEST(CheckCommand, ADeviceThatWasAskedForIsLookedForEvenWithoutACase) {
  const ToolRun run = run_tool({"check", "--opencl-device", "no such device", "--", "--model-path", "no/such-model"});
  EXPECT_EQ(run.status, 5) << run.out << run.err;
}

TEST(CheckCommand, ABatchFailsWhenAskedTo) {
  const std::string cases = R"({"id": "a", "args": ["--model-path", "Qwen/Qwen3-0.6B", "--tp-size", "7"]})"
                            "\n"
                            R"({"id": "b", "args": ["--model-path", "nobody/knows-this"]})";
  EXPECT_EQ(run_tool({"check", "--batch", "-"}, cases).status, 0);
  const ToolRun run = run_tool({"check", "--fail-on", "error", "--batch", "-"}, cases);
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\"incomplete\""));
  EXPECT_EQ(run_tool({"check", "--kernel", "--opencl-device", "no such device", "--batch", "-"}, cases).status, 5);
}

std::string batch_of(int lines, bool alike) {
  std::string out;
  for (int i = 0; i < lines; ++i) {
    out += nlohmann::json{{"args",
                           {"--model-path", "Qwen/Qwen3-8B", "--tp", "3", "--page-size", "7", "--served-model-name",
                            "m" + std::to_string(alike ? 0 : i)}}}
               .dump() +
           "\n";
  }
  return out;
}

// A megabyte of lines does not take a megabyte's worth of searches: all lines share the tries of one budget.
TEST(CheckCommand, ALongBatchTriesNoMoreThanItsBudget) {
  constexpr int kGate = 200;  // as many lines as a gate has get all their fixes
  constexpr int kMost = 20'000;
  const ToolRun run = run_tool({"check", "--no-kernel", "--fixes", "--batch", "-"}, batch_of(1'000, false));
  std::istringstream lines(run.out);
  int searched = 0;
  int attempts = 0;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto json = nlohmann::json::parse(line);
    if (json.contains("attempts")) {
      ++searched;
      attempts += json["attempts"].get<int>();
    } else {
      EXPECT_THAT(json["no_fix"].get<std::string>(), HasSubstr("not searched: "));
      EXPECT_EQ(json["verdict"], "refused");
      EXPECT_THAT(line, HasSubstr("(not tried)"));
    }
    EXPECT_TRUE(count >= kGate || !json["fixes"].empty()) << count;
  }
  EXPECT_EQ(count, 1'000);
  EXPECT_LT(searched, 1'000);
  EXPECT_LE(attempts, kMost);
  EXPECT_THAT(run.err,
              HasSubstr("this run tries 20000 launches at most, and one of 50 words or twice as many variables "
                        "counts as several"));
}

TEST(CheckCommand, EqualLinesOfABatchAreAnsweredOnceForAll) {
  const ToolRun run = run_tool({"check", "--no-kernel", "--fixes", "--batch", "-"}, batch_of(1'000, true));
  std::istringstream lines(run.out);
  std::set<std::string> answers;
  for (std::string line; std::getline(lines, line);) answers.insert(line);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_FALSE(nlohmann::json::parse(*answers.begin())["fixes"].empty());
  EXPECT_EQ(run.err, "");
}

TEST(CheckCommand, JsonHoldsVerdictFindingsChainsAndTheReasonForNotRunning) {
  const ToolRun run = run_tool({"check", "--no-kernel", "--format", "json", "--", "--model-path", "Qwen/Qwen3-0.6B",
                                "--attention-backend", "intel_xpu", "--page-size", "32"});
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["format_version"], 1);
  EXPECT_EQ(json["verdict"], "clean");
  EXPECT_EQ(json["exit_status"], run.status);
  EXPECT_EQ(json["resolved"]["page_size"]["value"], 128);
  EXPECT_EQ(json["resolved"]["page_size"]["initial"], 32);
  EXPECT_EQ(json["kernel"]["verdict"], "skipped");
  EXPECT_EQ(json["kernel"]["reason"], "--no-kernel was given");
}

// The merge of partial results runs, the attention kernel of this backend is not ours: that is no pass.
TEST(CheckCommand, ALaunchWhoseAttentionDidNotRunIsNoPass) {
  PREFLIGHT_NEEDS_DEVICE();
  const ToolRun run =
      run_tool({"check", "--format", "json", "--device-memory", "900GiB", "--", "--model-path",
                "deepseek-ai/DeepSeek-V2-Lite-Chat", "--trust-remote-code", "--attention-backend", "torch_native"});
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["kernel"]["verdict"], "pass") << run.out;
  EXPECT_EQ(json["kernel"]["skipped"][0]["kernel"], "mla_decode");
  EXPECT_EQ(json["verdict"], "clean");
}

// Drafted tokens are checked by attention with several queries a request, which is not what runs here.
TEST(CheckCommand, ALaunchThatSpeculatesIsNoPassThoughItsKernelsAre) {
  PREFLIGHT_NEEDS_DEVICE();
  const Words launch = {"--format", "json", "--no-fixes",  "--", "--model-path",        "Qwen/Qwen3-0.6B",
                        "--device", "xpu",  "--page-size", "64", "--attention-backend", "triton"};
  Words speculating = launch;
  speculating.insert(speculating.end(), {"--speculative-algorithm", "NGRAM", "--speculative-num-draft-tokens", "4",
                                         "--speculative-ngram-max-bfs-breadth", "1"});
  const auto plain = nlohmann::json::parse(run_tool(with({"check"}, launch)).out);
  EXPECT_EQ(plain["kernel"]["verdict"], "pass");
  EXPECT_EQ(plain["verdict"], "pass");
  const auto report = nlohmann::json::parse(run_tool(with({"check"}, speculating)).out);
  EXPECT_EQ(report["kernel"]["verdict"], "pass") << report["findings"];
  EXPECT_EQ(report["kernel"]["skipped"][0]["kernel"], "speculative verification");
  EXPECT_EQ(report["verdict"], "clean");
}

TEST(CheckCommand, ARequiredKernelThatDidNotRunEndsWithSixteen) {
  PREFLIGHT_NEEDS_DEVICE();
  // A part of the launch has no kernel of ours.
  const Words partly = {
      "--",          "--model-path", "deepseek-ai/DeepSeek-V2-Lite-Chat", "--trust-remote-code", "--attention-backend",
      "torch_native"};
  const ToolRun run =
      run_tool(with({"check", "--require-kernel", "--format", "json", "--device-memory", "900GiB"}, partly));
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)["verdict"], "not-run");
  EXPECT_THAT(run_tool(with({"check", "--require-kernel", "--device-memory", "900GiB"}, partly)).out,
              HasSubstr("Kernel: not all of it ran, and all is required\n"));
  // Nothing is known of the model.
  const ToolRun unknown = run_tool({"check", "--require-kernel", "--", "--model-path", "nobody/knows-this"});
  EXPECT_EQ(unknown.status, 1) << unknown.out << unknown.err;
  EXPECT_THAT(unknown.out, HasSubstr("Kernel: not run, and required"));
  // A refused launch: what was found comes first.
  EXPECT_EQ(run_tool({"check", "--require-kernel", "--", "--nonsense"}).status, 1);
  EXPECT_EQ(run_tool({"check", "--require-kernel", "--fail-on", "never", "--", "--nonsense"}).status, 1);
}

// Requests without tokens: the outputs are nothing but zeros, whatever the kernel does.
TEST(CheckCommand, ACaseThatCouldNotTellEndsWithFifteen) {
  PREFLIGHT_NEEDS_DEVICE();
  const ToolRun run =
      run_tool({"check", "--format", "json", "--case", "paged_decode --heads 2 --head-dim 64 --cache-seqlens 0,0"});
  EXPECT_EQ(run.status, 4) << run.out << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)["verdict"], "mistrusted");
}

TEST(CheckCommand, BatchPrintsOneObjectALine) {
  const std::string cases = R"({"id": "a", "args": ["--model-path", "{model}", "--tp-size", "7"], "model": "small"})"
                            "\n"
                            R"({"id": "b", "args": ["--bogus"]})"
                            "\n";
  const TemporaryDirectory dir;
  dir.file("small/config.json",
           R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_attention_heads": 16,
               "num_key_value_heads": 8, "head_dim": 128, "hidden_size": 1024, "num_hidden_layers": 28,
               "intermediate_size": 3072, "vocab_size": 151936, "max_position_embeddings": 40960, "torch_dtype": "bfloat16"})");
  const ToolRun run = run_tool({"check", "--models", dir.path(), "--batch", "-"}, cases);
  EXPECT_EQ(run.status, 0) << run.err;
  std::istringstream lines(run.out);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const auto first = nlohmann::json::parse(line);
  EXPECT_EQ(first["id"], "a");
  EXPECT_EQ(first["outcome"], "ok");
  EXPECT_EQ(first["verdict"], "fail");
  ASSERT_TRUE(std::getline(lines, line));
  const auto second = nlohmann::json::parse(line);
  EXPECT_EQ(second["outcome"], "usage");
  EXPECT_EQ(second["verdict"], "refused");
}

TEST(CheckCommand, ColourIsOnlyForTerminals) {
  EXPECT_THAT(run_tool(kGood).out, Not(HasSubstr("\033[")));
  EXPECT_THAT(run_tool(with({"check", "--color", "always", "--no-kernel"}, {"--", "--bogus"})).out, HasSubstr("\033["));
}

TEST(CheckCommand, HostileTextInArgumentsDoesNotReachTheTerminalAsControlBytes) {
  const ToolRun run = run_tool({"check", "--", "--model-path", "m", "--\033]0;owned\007"});
  EXPECT_THAT(run.out, Not(HasSubstr("\033")));
  EXPECT_EQ(run.status, 1);
}

TEST(ReleasesCommand, ListsOneReleaseALine) {
  const ToolRun run = run_tool({"releases"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.out, HasSubstr("0.5.13\n"));
  EXPECT_THAT(run.out, HasSubstr("0.5.23\n"));
}

TEST(ResolveCommand, ShowsTheChainOfEveryChangedValue) {
  const ToolRun run = run_tool(
      {"resolve", "--", "--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "intel_xpu", "--page-size", "32"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("32 (given) → 128 (_intel_xpu_page_constraint)"));
  EXPECT_THAT(run.out, HasSubstr("WARNING: _intel_xpu_page_constraint: "));
}

TEST(ResolveCommand, ShowsLongValuesWholeWithAll) {
  const std::string end_of_the_value = "'max_seq_len': None}}";
  EXPECT_THAT(run_tool({"resolve", "--", "--model-path", "Qwen/Qwen3-0.6B"}).out, Not(HasSubstr(end_of_the_value)));
  EXPECT_THAT(run_tool({"resolve", "--all", "--", "--model-path", "Qwen/Qwen3-0.6B"}).out, HasSubstr(end_of_the_value));
}

TEST(ResolveCommand, RefusesWhatItWouldPassOver) {
  const ToolRun unset = run_tool({"resolve", "--resolver", "both:", "--", "--model-path", "Qwen/Qwen3-0.6B"});
  EXPECT_EQ(unset.status, 2);
  EXPECT_THAT(unset.err, HasSubstr("name an interpreter"));
  const ToolRun third = run_tool({"resolve", "--diff", "--model-path a", "--model-path b", "--", "--tp", "x"});
  EXPECT_EQ(third.status, 2);
  EXPECT_THAT(third.err, HasSubstr("--diff takes both launches"));
}

}  // namespace
}  // namespace preflight::testing
