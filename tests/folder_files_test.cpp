// What SGLang reads of a model's folder beside the weights that are counted.
#include "src/commands/folder_files.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_tool.h"

namespace preflight::commands {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_tool;
using testing::TemporaryDirectory;

constexpr const char* kConfig =
    R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 4})";

// What is said of a folder with these files beside its config.json.
std::string check(const std::vector<std::pair<std::string, std::string>>& files,
                  const std::vector<std::string>& more = {}) {
  const TemporaryDirectory dir;
  dir.file("config.json", kConfig);
  for (const auto& [name, text] : files) dir.file(name, text);
  std::vector<std::string> words = {"check", "--no-kernel", "--no-fixes", "--", "--model-path", dir.path()};
  words.insert(words.end(), more.begin(), more.end());
  return run_tool(words).out;
}

const std::string kNoWeights = std::string("\2\0\0\0\0\0\0\0{}", 10);  // a whole safetensors file

TEST(FolderFiles, ADamagedTokenizerEndsTheServer) {
  const std::string good = R"({"a": 1})";
  struct Row {
    const char* name;
    std::string text;
    const char* said;
  };
  const std::vector<Row> rows = {
      {"tokenizer_config.json", R"({"a":)", "tokenizer_config.json is no JSON, or cut short"},
      {"tokenizer.json", R"({"a":)", "tokenizer.json is no JSON, or cut short"},
      {"tokenizer.json", "", "tokenizer.json is empty"},
      {"tokenizer.json", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
       "tokenizer.json is a Git LFS pointer, not the file"},
      {"tokenizer.json", R"({"a": ")" + std::string(2 << 20, 'x'), "tokenizer.json is cut short: no } ends it"},
  };
  for (const auto& [name, text, said] : rows) {
    EXPECT_THAT(check({{name, text}}), HasSubstr(said)) << name;
    EXPECT_THAT(check({{name, text}}), HasSubstr("error[MD009]")) << name;
    EXPECT_THAT(check({{name, text}}, {"--skip-tokenizer-init"}), Not(HasSubstr("MD009"))) << name;
    EXPECT_THAT(check({{name, text}}, {"--tokenizer-path", "Qwen/Qwen3-8B"}), Not(HasSubstr("MD009"))) << name;
    EXPECT_THAT(check({{name, text}, {"tekken.json", "{}"}}), Not(HasSubstr("MD009"))) << name;
  }
  EXPECT_THAT(check({{"tokenizer_config.json", good}, {"tokenizer.json", good}}), Not(HasSubstr("MD009")));
  const std::string tall = R"({"a": ")" + std::string(2 << 20, 'x') + "\"}\n";
  EXPECT_THAT(check({{"tokenizer.json", tall}}), Not(HasSubstr("MD009")));
}

// SGLang goes by the class, and that of Qwen3-Embedding is Qwen3's own.
TEST(FolderFiles, ACheckpointThatMakesEmbeddingsIsNotServedAsAnother) {
  const auto modules = [](const std::string& last) {
    return fmt::format(R"([{{"idx": 0, "type": "sentence_transformers.models.Transformer"}}, {{"idx": 1, {}}}])", last);
  };
  const std::string pooled = modules(R"("type": "sentence_transformers.models.Pooling")");
  EXPECT_THAT(check({{"modules.json", pooled}}), HasSubstr("warning[MD011]"));
  EXPECT_THAT(check({{"modules.json", pooled}}, {"--is-embedding"}), Not(HasSubstr("MD011")));
  const std::vector<std::string> others = {modules(R"("type": "sentence_transformers.models.Normalize")"),
                                           modules(R"("type": 1)"),
                                           modules(R"("path": "1_Pooling")"),
                                           R"({"type": "sentence_transformers.models.Pooling"})",
                                           "[1]",
                                           "["};
  for (const std::string& other : others)
    EXPECT_THAT(check({{"modules.json", other}}), Not(HasSubstr("MD011"))) << other;
  EXPECT_THAT(
      check({{"config.json", R"({"architectures": ["BertModel"], "model_type": "bert"})"}, {"modules.json", pooled}}),
      Not(HasSubstr("MD011")))
      << "that class makes them by itself";
  const auto known = run_tool({"check", "--no-kernel", "--device-profile", "b60", "--device-count", "1", "--",
                               "--model-path", "Qwen/Qwen3-Embedding-0.6B"});
  EXPECT_THAT(known.out, HasSubstr("fix: --is-embedding\n"));
  const auto suggested = run_tool({"suggest", "Qwen/Qwen3-Embedding-0.6B", "--device-profile", "b60", "--count", "1"});
  EXPECT_THAT(suggested.out, HasSubstr("--model-path Qwen/Qwen3-Embedding-0.6B --is-embedding "));
}

// The container downloads the model: what the host's cache lacks is not missing there.
TEST(FolderFiles, AHostsCacheIsNotThatOfAContainerWithoutItsMount) {
  const TemporaryDirectory dir;
  const std::string model = "models--o--cut/";
  dir.file(model + "refs/main", "abc");
  dir.file(model + "snapshots/abc/config.json", kConfig);
  dir.file(model + "snapshots/abc/tokenizer.json", R"({"a":)");
  dir.file(model + "snapshots/abc/model.safetensors", "cut");
  const auto check = [&](const std::string& mount) {
    return run_tool({"check", "--no-kernel", "--command",
                     "docker run --device /dev/dri -e HF_HUB_CACHE=" + dir.path() + mount +
                         " lmsysorg/sglang:v0.5.19-xpu python -m sglang.launch_server --model-path o/cut"})
        .out;
  };
  EXPECT_THAT(check(""), AllOf(HasSubstr("o/cut (Hugging Face cache of the host)"), Not(HasSubstr("MD00"))));
  const std::string mounted = check(" -v " + dir.path() + ":" + dir.path());
  EXPECT_THAT(mounted, AllOf(HasSubstr("error[MD004]"), HasSubstr("error[MD009]")));
}

TEST(FolderFiles, AFolderOfWeightsWithoutATokenizerIsDoubtful) {
  const std::string alone = check({{"model.safetensors", kNoWeights}, {"special_tokens_map.json", "{}"}});
  EXPECT_THAT(alone, HasSubstr("warning[MD009]"));
  EXPECT_THAT(alone, HasSubstr("there is no tokenizer in this folder"));
  EXPECT_THAT(check({}), Not(HasSubstr("MD009"))) << "a configuration fetched for its sizes";
  EXPECT_THAT(check({{"model.safetensors", kNoWeights}}, {"--skip-tokenizer-init"}), Not(HasSubstr("MD009")));
  for (const char* kept : {"vocab.txt", "tokenizer.model", "qwen.tiktoken", "sentencepiece.bpe.model", "tekken.json"})
    EXPECT_THAT(check({{"model.safetensors", kNoWeights}, {kept, "x"}}), Not(HasSubstr("MD009"))) << kept;
}

TEST(FolderFiles, AFormatThatFindsNoneOfItsFilesEndsTheWorkers) {
  struct Row {
    std::vector<std::string> there;
    const char* format;
    const char* looked_for;  // nullptr: it finds what it takes
  };
  const std::vector<Row> rows = {
      {{"model.safetensors"}, "pt", "which looks for *.pt"},
      {{"model.safetensors"}, "npcache", "which looks for *.bin, *.pt"},
      {{"model.safetensors"}, "mistral", "which looks for consolidated*.safetensors, *.pt"},
      {{"model.safetensors"}, "sharded_state", "which looks for model-rank-0-part-*.safetensors"},
      {{"model.safetensors"}, "gguf", "--load-format gguf wants a file, and this is a folder"},
      {{"pytorch_model.bin"}, "safetensors", "which looks for *.safetensors, *.pt"},
      {{"m.gguf"}, "auto", "which looks for *.safetensors, *.bin, *.pt"},
      {{}, "pt", nullptr},  // the weights are elsewhere
      {{"model.safetensors"}, "auto", nullptr},
      {{"pytorch_model.bin"}, "auto", nullptr},
      {{"m.pt"}, "safetensors", nullptr},
      {{"consolidated.safetensors"}, "mistral", nullptr},
      {{"model-rank-0-part-0.safetensors"}, "sharded_state", nullptr},
      {{"model.safetensors"}, "dummy", nullptr},
  };
  for (const auto& [there, format, looked_for] : rows) {
    std::vector<std::pair<std::string, std::string>> files = {{"tokenizer.json", "{}"}};
    for (const std::string& name : there) files.emplace_back(name, kNoWeights);
    const std::string said = check(files, {"--load-format", format});
    if (looked_for == nullptr) {
      EXPECT_THAT(said, Not(HasSubstr("MD010"))) << format;
    } else {
      EXPECT_THAT(said, AllOf(HasSubstr("error[MD010]"), HasSubstr(looked_for))) << format;
    }
  }
  EXPECT_THAT(check({{"model.safetensors", kNoWeights}},
                    {"--load-format", "sharded_state", "--model-loader-extra-config", R"({"pattern": "m*"})"}),
              Not(HasSubstr("MD010")))
      << "a pattern of its own";
}

}  // namespace
}  // namespace preflight::commands
