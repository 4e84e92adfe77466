// Files beside config.json that decide what a launch is, by release: recorded with the real releases, whose model
// folders here hold more than the config.json of the recorded launches.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "src/facts/model_files.h"
#include "tests/support/example_launch.h"
#include "tests/support/release_ranges.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

std::string known_config(const std::string& model) {
  std::ifstream file(models_root() + "/" + model + "/config.json");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Launch launch_from(Release release, const std::string& folder, std::vector<std::string> words) {
  facts::ModelFiles models(facts::KnownModels::kNo);
  words.insert(words.begin(), {"--model-path", folder});
  const ParseOutcome parsed = args::parse(release, words);
  return resolve::resolve({std::get<ServerArgs>(parsed), models, device_of("b60"), {}});
}

// The releases that read the folder NAME with FILES beside its config.json in Mistral's own format.
std::string read_as_mistral(const std::string& name, const std::vector<std::string>& files) {
  const TemporaryDirectory root;
  root.file(name + "/config.json", known_config("qwen3-8b"));
  for (const std::string& file : files) root.file(name + "/" + file, file == "params.json" ? "{}" : "");
  return release_ranges([&](Release release) -> long {
    return launch_from(release, root.path() + "/" + name, {}).resolved[Field::load_format] == Value("mistral") ? 1 : 0;
  });
}

TEST(ModelFolder, IsMistralsByItsNameAndFilesAsEachReleaseLooksAtThem) {
  EXPECT_EQ(read_as_mistral("plain", {}), "none");
  EXPECT_EQ(read_as_mistral("plain", {"params.json"}), "none");
  EXPECT_EQ(read_as_mistral("mistral-large-3-x", {"params.json"}), "11-");
  EXPECT_EQ(read_as_mistral("plain", {"consolidated.safetensors"}), "12-");
  EXPECT_EQ(read_as_mistral("plain", {"consolidated.safetensors", "model-00001-of-00001.safetensors"}), "none");
  EXPECT_EQ(read_as_mistral("plain", {"consolidated.safetensors", "model.safetensors"}), "12-17");
}

// The hub lists what the snapshot in the cache holds; where it must not be asked, the snapshot itself is looked at.
std::string of_the_hub_read_as_mistral(const std::string& name, const std::vector<std::string>& files,
                                       const Environment& variables) {
  const TemporaryDirectory root;
  const std::string model = "hub/models--acme--" + name;
  root.file(model + "/refs/main", "c0ffee");
  root.file(model + "/snapshots/c0ffee/config.json", known_config("qwen3-8b"));
  for (const std::string& file : files) root.file(model + "/snapshots/c0ffee/" + file, "");
  return release_ranges([&](Release release) -> long {
    facts::ModelFiles models(facts::KnownModels::kYes);
    models.look_in({.env = {{"HF_HUB_CACHE", root.path() + "/hub"}}});
    const ParseOutcome parsed = args::parse(release, {"--model-path", "acme/" + name});
    const Launch launch = resolve::resolve({std::get<ServerArgs>(parsed), models, device_of("b60"), variables});
    return launch.resolved[Field::load_format] == Value("mistral") ? 1 : 0;
  });
}

TEST(ModelFolder, OfTheHubIsMistralsByTheFilesOfItsSnapshot) {
  EXPECT_EQ(of_the_hub_read_as_mistral("plain", {"consolidated.safetensors"}, {}), "12-");
  EXPECT_EQ(of_the_hub_read_as_mistral("plain", {"consolidated.safetensors"}, {{"HF_HUB_OFFLINE", "1"}}), "22-");
  EXPECT_EQ(of_the_hub_read_as_mistral("plain", {"consolidated.safetensors", "model.safetensors"}, {}), "12-17");
  EXPECT_EQ(of_the_hub_read_as_mistral("plain", {"params.json"}, {}), "none");
  EXPECT_EQ(of_the_hub_read_as_mistral("plain", {}, {}), "none");
}

TEST(ModelFolder, WithAJointHeadIsAnEmbeddingModelOfOneCard) {
  const TemporaryDirectory root;
  root.file("joint/config.json", known_config("qwen3.5-9b"));
  root.file("joint/joint_head_config.json", "{}");
  const std::string folder = root.path() + "/joint";
  EXPECT_EQ(release_ranges([&](Release release) -> long {
              const Launch launch = launch_from(release, folder, {});
              return launch.accepted() && launch.resolved[Field::is_embedding] == Value(true) ? 1 : 0;
            }),
            "22-");
  EXPECT_EQ(release_ranges([&](Release release) -> long {
              const Launch launch = launch_from(release, folder, {"--tp-size", "2"});
              return launch.refusal && launch.refusal->function == "handle_model_capability_adjustments" ? 1 : 0;
            }),
            "22-");
}

// What became of generation_config.json: "" for nothing, "warning", or the exception that ends the launch.
// transformers, asked in 0.5.14 and 0.5.23: OSError over a text that is no JSON, TypeError over JSON that is no object.
std::string told_of_generation(Release release, const std::string& content) {
  const TemporaryDirectory root;
  root.file("m/config.json", known_config("qwen3-8b"));
  if (content != "none") root.file("m/generation_config.json", content);
  const Launch launch = launch_from(release, root.path() + "/m", {});
  if (launch.refusal) return launch.refusal->exception + " " + launch.refusal->function;
  const auto line = std::ranges::find(launch.log, "get_generation_config", &LogLine::function);
  return line == launch.log.end() ? "" : line->message.substr(line->message.find("/m") + 2);
}

TEST(ModelFolder, MayHoldABrokenGenerationConfig) {
  const std::string broken = "/generation_config.json is no JSON; SGLang goes on without it";
  for (const char* text : {"{\"a\": ", "", "\xff\xfe{"}) {
    EXPECT_EQ(told_of_generation(v0_5(13, 1), text), broken);
    EXPECT_EQ(told_of_generation(v0_5(16), text), broken);
    EXPECT_EQ(told_of_generation(v0_5(17), text), "") << "logged at DEBUG";
  }
  EXPECT_EQ(told_of_generation(v0_5(13, 1), "none"), " has no generation_config.json; SGLang goes on without it");
  EXPECT_EQ(told_of_generation(v0_5(13, 1), "{}"), "");
  for (const char* text : {"[1]", "5", "null", "\"x\""}) {
    EXPECT_EQ(told_of_generation(v0_5(13, 1), text), "TypeError get_generation_config");
    EXPECT_EQ(told_of_generation(v0_5(23), text), "TypeError get_generation_config");
  }
}

}  // namespace
}  // namespace preflight::testing
