// `sglang serve`: what it does with its words before launch_server's parser, per release, and through the tool.
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/intake/serve.h"
#include "tests/support/release_ranges.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

struct Row {
  int patch;
  Words words;
  Words argv;           // what launch_server's parser gets, when nothing is refused
  std::string refusal;  // exception and function
};

// As sglang/cli/serve.py and cli/utils.py of these releases do it.
const Row kRows[] = {
    {23, {"Qwen/Qwen3-8B", "--tp", "2"}, {"--model-path", "Qwen/Qwen3-8B", "--tp", "2"}, ""},
    {20, {"Qwen/Qwen3-8B"}, {"--model-path", "Qwen/Qwen3-8B"}, ""},
    {13, {"Qwen/Qwen3-8B", "--tp", "2"}, {}, "Exception get_model_path"},
    {15, {"m"}, {}, "Exception get_model_path"},
    {16, {"m"}, {"--model-path", "m"}, ""},  // the model without an option came before the backends by name
    {16, {"m", "--model-type", "gguf"}, {}, "Exception _extract_model_type_override"},
    {17, {"m", "--model-type", "gguf"}, {}, "Exception _extract_model_type_override"},
    {17, {"--model", "m", "--model-type"}, {}, "Exception _extract_model_type_override"},
    {17, {"--model-type", "gguf", "-h"}, {"--model-type", "gguf", "-h"}, ""},
    {18, {"m", "--model-type", "gguf"}, {}, "ValueError get"},
    {18, {"--model", "m", "--model-type"}, {}, "ValueError _extract_model_type_override"},
    {18, {"--model-type", "gguf", "-h"}, {}, "ValueError get"},
    {13, {"x", "--model-path", "m"}, {"x", "--model-path", "m"}, ""},  // argparse refuses x later
    {23, {"--model-type", "llm", "m"}, {"--model-path", "m"}, ""},
    {23, {"--tp", "2", "m"}, {}, "Exception get_model_path"},  // only the very first word
    {13, {"--model-path", "m", "--model-type=auto"}, {"--model-path", "m"}, ""},
    {13, {"--model-type", "gguf", "--model", "m"}, {}, "Exception _extract_model_type_override"},
    {23, {"--model-type", "gguf", "--model", "m"}, {}, "ValueError get"},
    {13, {"--model", "m", "--model-type"}, {}, "Exception _extract_model_type_override"},
    {23, {"--model", "m", "--model-type"}, {}, "ValueError _extract_model_type_override"},
    {23, {"--model", "m", "--model-type="}, {}, "ValueError _extract_model_type_override"},
    {13, {"--config", "c.yaml"}, {}, "Exception get_model_path"},
    {23, {"--config", "c.yaml"}, {}, "Exception get_model_path"},
    {23, {"c", "--config", "c.yaml"}, {"--model-path", "c", "--config", "c.yaml"}, ""},
    {23, {"--model-pa", "m"}, {}, "Exception get_model_path"},  // no abbreviations here
    {23, {"--model=m"}, {"--model=m"}, ""},
    {23, {"--model-path"}, {}, "Exception get_model_path"},
    {23, {"--help"}, {"--help"}, ""},
    {13, {"--model-type", "gguf", "-h"}, {"--model-type", "gguf", "-h"}, ""},
};

TEST(Serve, ReadsItsWordsAsEachReleaseDoes) {
  for (const Row& row : kRows) {
    const std::string shown = std::to_string(row.patch) + ": " + ::testing::PrintToString(row.words);
    auto read = args::read_serve_words(newest_of(row.patch), row.words);
    auto* request = std::get_if<args::ServeRequest>(&read);
    std::optional<ParseRefusal> refusal;
    if (request == nullptr) {
      refusal = std::get<ParseRefusal>(read);
    } else {
      ASSERT_EQ(request->argv.size(), request->from.size()) << shown;
      refusal = args::missing_serve_model(request->argv);
    }
    EXPECT_EQ(refusal ? refusal->refusal.exception + " " + refusal->refusal.function : "", row.refusal) << shown;
    if (!refusal) {
      EXPECT_EQ(request->argv, row.argv) << shown;
    }
  }
}

ToolRun check(const std::string& release, const Words& words) {
  Words all = {"check", "--no-kernel", "--no-fixes", "--format", "json", "--sglang-version", release};
  all.insert(all.end(), words.begin(), words.end());
  return run_tool(all);
}

TEST(Serve, RefusalsAreFindingsOfTheLaunch) {
  const ToolRun run = check("0.5.13", {"--command", "sglang serve Qwen/Qwen3-0.6B --tp 2"});
  EXPECT_EQ(run.status, 1) << run.err;
  const auto report = nlohmann::json::parse(run.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << run.out;
  ASSERT_FALSE(report["findings"].empty());
  EXPECT_THAT(report["findings"][0].dump(), HasSubstr("sglang serve has no --model-path"));
  EXPECT_EQ(check("0.5.23", {"--command", "sglang serve Qwen/Qwen3-0.6B --model-type llm --page-size 128"}).status, 0);
}

TEST(Serve, PointsAtTheWordsAsTheyWerePasted) {
  const ToolRun run =
      run_tool({"check", "--no-kernel", "--command", "sglang serve Qwen/Qwen3-0.6B --model-type llm --tp x"});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("1:52"));
}

TEST(Serve, AFixIsWrittenAroundItsOwnOptions) {
  const TemporaryDirectory dir;
  const std::string path =
      dir.file("run.sh", "sglang serve Qwen/Qwen3-0.6B --model-type llm --attention-backend fa3 --tp 2\n");
  const ToolRun run = run_tool({"check", "--no-kernel", "--fix", "--command-file", path});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_EQ(read_file(path), "sglang serve Qwen/Qwen3-0.6B --model-type llm --attention-backend triton --tp 2\n");
}

TEST(Serve, TheDiffusionServerIsSaidToBeAnother) {
  const TemporaryDirectory dir;
  dir.file("model_index.json", R"({"_diffusers_version": "0.30"})");
  const std::string path = dir.path();
  for (const char* release : {"0.5.13", "0.5.23"}) {
    for (const std::string& words :
         {std::string("--model-path ") + path, std::string("--model-type diffusion --model-path m")}) {
      const ToolRun run = check(release, {"--command", "sglang serve " + words});
      EXPECT_EQ(run.status, 2) << words;
      EXPECT_THAT(run.err, HasSubstr("diffusion server"));
    }
    EXPECT_EQ(check(release, {"--command", "sglang serve --model-type llm --model-path Qwen/Qwen3-0.6B"}).status, 0);
  }
}

// Which server `sglang serve` starts for a model directory, by release: cli/utils.py of each.
struct Directory {
  const char* name;
  const char* index;  // file in it
  const char* text;
  std::set<int> diffusion;  // releases whose diffusion server it starts
  std::set<int> refused;    // releases that end over the file
};

std::set<int> releases(int first, int last) {
  std::set<int> out;
  for (int patch = first; patch <= last; ++patch) out.insert(patch);
  return out;
}

TEST(Serve, EachReleaseKnowsDiffusionModelsItsOwnWay) {
  constexpr const char* kIndex = R"({"_diffusers_version": "0.30"})";
  const Directory rows[] = {
      {"plain", "config.json", "{}", {}, {}},
      {"indexed", "model_index.json", kIndex, releases(11, 23), {}},
      {"modular", "modular_model_index.json", kIndex, releases(21, 23), {}},
      {"broken", "model_index.json", "{", {}, releases(11, 17)},
      {"a-Hunyuan3D-2", "x", "", releases(11, 16), {}},
      {"FLUX.2-dev-NVFP4", "x", "", releases(11, 16), {}},
      {"comfy-org--Ideogram-4", "x", "", releases(13, 16), {}},
      {"comfy-org/Ideogram-4", "x", "", releases(13, 16), {}},
      {"lerobot--pi05", "x", "", releases(16, 16), {}},
      {"pi0.5-base", "x", "", releases(16, 16), {}},
      {"fal--ideogram-v4-fast", "x", "", releases(16, 16), {}},
      {"fal--ideogram-v4-instant", "x", "", releases(16, 16), {}},
      {"fal/ideogram-v4-fast", "x", "", releases(16, 16), {}},
      {"fal/ideogram-v4-instant", "x", "", releases(16, 16), {}},
      {"fal--ideogram-v4-other", "x", "", {}, {}},
  };
  const TemporaryDirectory dir;
  for (const Directory& row : rows) {
    const std::string model = dir.path() + "/" + row.name;
    std::filesystem::create_directories(model);
    dir.file(std::string(row.name) + "/" + row.index, row.text);
    for (const Release each : supported_releases()) {
      const std::string release = each.text();
      const ToolRun run =
          run_tool({"resolve", "--sglang-version", release, "--command", "sglang serve --model-path " + model});
      const bool diffusion = run.err.find("diffusion server") != std::string::npos;
      EXPECT_EQ(diffusion, row.diffusion.contains(each.patch)) << row.name << " in " << release << ": " << run.err;
      const bool refused =
          run.status == 2 && !diffusion && run.err.find(std::string("/") + row.index) != std::string::npos;
      EXPECT_EQ(refused, row.refused.contains(each.patch)) << row.name << " in " << release << ": " << run.err;
    }
  }
}

}  // namespace
}  // namespace preflight::testing
