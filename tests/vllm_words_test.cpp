// Commands of vLLM in SGLang's words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "preflight/release.h"
#include "src/intake/vllm_words.h"
#include "src/base/shell_words.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(VllmWords, CommonOptionsAreTranslated) {
  struct Row {
    std::vector<std::string> words;
    const char* expected;
    std::size_t left_out;
  };
  const Row rows[] = {
      {{"m", "-tp", "4", "--max-model-len", "32k"}, "--model-path m --tp-size 4 --context-length 32000", 0},
      {{"--model", "m", "--tensor_parallel_size=2", "--max-model-len", "8K"},
       "--model-path m --tp-size 2 --context-length 8192",
       0},
      {{"m", "--gpu-memory-utilization", "0.9", "--enforce-eager", "--trust-remote-code", "--port", "8000"},
       "--model-path m --mem-fraction-static 0.9 --trust-remote-code --port 8000",
       1},
      {{"--enforce-eager", "m"}, "--model-path m", 1},
      {{"m", "--enable-expert-parallel", "-tp", "8"}, "--model-path m --ep-size 8 --tp-size 8", 0},
      {{"m", "--no-enable-prefix-caching", "--kv-cache-dtype", "fp8"},
       "--model-path m --disable-radix-cache --kv-cache-dtype fp8_e4m3",
       0},
      {{"m", "--block-size", "64", "--max-num-seqs", "16", "--served-model-name", "a"},
       "--model-path m --page-size 64 --max-running-requests 16 --served-model-name a",
       0},
      {{"m", "--task", "embed"}, "--model-path m --is-embedding", 0},
      {{"m", "--max-model-len", "auto", "--unheard-of", "5", "stray"}, "--model-path m", 3},
      {{"m", "--attention-backend", "FLASH_ATTN"}, "--model-path m", 1},
  };
  for (const Row& row : rows) {
    const auto out = commands::translate_vllm(supported_releases().back(), row.words);
    EXPECT_EQ(shell_words(out.argv), row.expected);
    EXPECT_EQ(out.left_out.size(), row.left_out) << row.expected;
    EXPECT_EQ(out.from.size(), out.argv.size());
    for (const std::size_t from : out.from) EXPECT_LT(from, row.words.size());
  }
}

TEST(VllmWords, APastedCommandIsCheckedAndSaidToBeTranslated) {
  for (const char* command :
       {"vllm serve Qwen/Qwen3-8B --tensor-parallel-size 3 --swap-space 4",
        "python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B -tp 3 --swap-space 4"}) {
    const ToolRun run = run_tool({"check", "--no-kernel", "--no-fixes", "--command", command});
    EXPECT_EQ(run.status, 1) << run.err;
    EXPECT_THAT(run.out, HasSubstr("warning[VL001]"));
    EXPECT_THAT(run.out, HasSubstr("--swap-space 4 is left out"));
    EXPECT_THAT(run.out, HasSubstr("PL003"));  // 32 heads over 3 ranks
    EXPECT_THAT(run.out, Not(HasSubstr("US001")));
  }
}

TEST(VllmWords, ACommandOfSglangIsNoTranslation) {
  const ToolRun run = run_tool({"check", "--no-kernel", "--no-fixes", "--command", "sglang serve Qwen/Qwen3-0.6B"});
  EXPECT_THAT(run.out, Not(HasSubstr("VL00"))) << run.err;
}

TEST(VllmWords, AVllmCommandIsNotRewritten) {
  const TemporaryDirectory dir;
  const std::string text = "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 3\n";
  const std::string file = dir.file("run.sh", text);
  const ToolRun run = run_tool({"check", "--no-kernel", "--fix", "--command-file", file});
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(read_file(file), text);
  EXPECT_THAT(run.out, HasSubstr("not rewritten"));
}

}  // namespace
}  // namespace preflight::testing
