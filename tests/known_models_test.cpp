// The table of published checkpoints: that its records are whole, and what an id nobody knows is told.
#include "src/facts/known_models.h"

#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/facts/model_files.h"

namespace preflight::facts {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(KnownModels, AreThreeHundredAndNoIdStandsTwice) {
  const auto ids = known_model_ids();
  EXPECT_GE(ids.size(), 300U);
  EXPECT_EQ(std::set<std::string_view>(ids.begin(), ids.end()).size(), ids.size());
}

TEST(KnownModels, HaveAnArchitectureAndAModelType) {
  for (const std::string_view id : known_model_ids()) {
    const auto record = known_model(id);
    ASSERT_NE(record, nullptr) << id;
    const Value* config = record->find("config");
    EXPECT_NE(config->find("model_type"), nullptr) << id;
    const bool unnamed = id == "deepseek-ai/deepseek-vl2-tiny";  // its own file names none
    EXPECT_EQ(config->find("architectures") == nullptr, unnamed) << id;
  }
}

// What the tests under test/registered/xpu and test/srt/xpu and the XPU page of SGLang launch, but for checkpoints
// whose configuration no public repository holds: those stay unknown.
TEST(KnownModels, AreWhatUpstreamLaunchesOnIntelGpus) {
  for (const char* id : {"Alibaba-NLP/gte-Qwen2-1.5B-instruct",
                         "BAAI/bge-reranker-v2-m3",
                         "OpenGVLab/InternVL2_5-2B",
                         "Qwen/Qwen2.5-1.5B",
                         "Qwen/Qwen2.5-1.5B-Instruct",
                         "Qwen/Qwen2.5-7B-Instruct",
                         "Qwen/Qwen3-0.6B",
                         "Qwen/Qwen3-14B",
                         "Qwen/Qwen3-30B-A3B",
                         "Qwen/Qwen3-32B",
                         "Qwen/Qwen3-Reranker-0.6B",
                         "Qwen/Qwen3-VL-2B-Thinking",
                         "Qwen/Qwen3.5-35B-A3B",
                         "Qwen/Qwen3.5-9B",
                         "deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct",
                         "deepseek-ai/DeepSeek-OCR",
                         "gaunernst/DeepSeek-V2-Lite-Chat-FP8",
                         "google/embeddinggemma-300m",
                         "google/gemma-4-26B-A4B-it",
                         "google/gemma-4-31B-it",
                         "google/gemma-4-E2B",
                         "google/gemma-4-E4B-it",
                         "jason9693/Qwen2.5-1.5B-apeach",
                         "lmsys/sglang-EAGLE3-LLaMA3.1-Instruct-8B",
                         "meta-llama/Llama-2-7b-chat-hf",
                         "meta-llama/Llama-3.1-8B-Instruct",
                         "meta-llama/Llama-3.2-1B-Instruct",
                         "meta-llama/Llama-3.2-3B-Instruct",
                         "meta-llama/Llama-3.3-70B-Instruct",
                         "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
                         "openai/gpt-oss-20b",
                         "state-spaces/mamba-130m-hf",
                         "z-lab/LLaMA3.1-8B-Instruct-DFlash-UltraChat",
                         "zai-org/GLM-4.1V-9B-Thinking"}) {
    EXPECT_NE(known_model(id), nullptr) << id;
  }
}

TEST(KnownModels, AreFoundLetterByLetter) {
  EXPECT_NE(known_model("Qwen/Qwen3-8B"), nullptr);
  EXPECT_EQ(known_model("Qwen/Qwen3-8b"), nullptr);
  EXPECT_EQ(known_model("Qwen/Qwen3-8"), nullptr);
  EXPECT_EQ(known_model(""), nullptr);
  EXPECT_EQ(known_model("\""), nullptr);
  EXPECT_EQ(known_model("ids"), nullptr);
}

TEST(KnownModels, TheNearestIsTheOneMeant) {
  EXPECT_THAT(nearest_models("Qwen/Qwen3-8b"), ElementsAre("Qwen/Qwen3-8B"));
  EXPECT_EQ(nearest_models("qwen/qwen3-8b-fp8").at(0), "Qwen/Qwen3-8B-FP8");
  EXPECT_EQ(nearest_models("Qwen3-8B").at(0), "Qwen/Qwen3-8B");
  EXPECT_EQ(nearest_models("openai/gpt-oss20b").at(0), "openai/gpt-oss-20b");
  EXPECT_THAT(nearest_models("Qwne3-8B"), ElementsAre("Qwen/Qwen3-8B"));
  EXPECT_THAT(nearest_models("qwen3_8b"), ElementsAre("Qwen/Qwen3-8B"));
  EXPECT_THAT(nearest_models("Qwen/Qwen38B"), ElementsAre("Qwen/Qwen3-8B"));
  EXPECT_THAT(nearest_models("nvidia/Qwen3-8B-FP8"), ElementsAre("Qwen/Qwen3-8B-FP8"));
  EXPECT_THAT(nearest_models("nobody/no-such-model"), IsEmpty());
  EXPECT_THAT(nearest_models("m"), IsEmpty());
}

// One digit away is another model, and mostly one that exists.
TEST(KnownModels, AnotherNumberIsNoSlip) {
  for (const char* id : {"meta-llama/Llama-3.2-2B", "Qwen/Qwen3.6-27B-X", "deepseek-ai/DeepSeek-V9", "Qwen/Qwen3-9B",
                         "Qwen/Qwen-8B", "microsoft/phi-5", "x/phi-3", "bge-m4"}) {
    EXPECT_THAT(nearest_models(id), IsEmpty()) << id;
  }
}

// A word more is another model too, however short it is.
TEST(KnownModels, AnotherWordIsNoSlip) {
  EXPECT_THAT(nearest_models("Qwen/Qwen3-8B-Instruct"), IsEmpty());
  EXPECT_THAT(nearest_models("BAAI/bge-little-en-v1.5"), IsEmpty());
}

TEST(KnownModels, OtherSizesAreOfTheSameFamilyAndPublisher) {
  EXPECT_THAT(other_sizes("meta-llama/Llama-3.2-2B"),
              ElementsAre("meta-llama/Llama-3.2-3B", "meta-llama/Llama-3.2-1B"));
  EXPECT_THAT(other_sizes("openai/gpt-oss-21b"), ElementsAre("openai/gpt-oss-20b", "openai/gpt-oss-120b"));
  EXPECT_EQ(other_sizes("Qwen/Qwen3-9B").at(0), "Qwen/Qwen3-8B");
  EXPECT_THAT(other_sizes("nvidia/Qwen3-9B"), IsEmpty());
  EXPECT_THAT(other_sizes("Qwen/Qwen3-8"), IsEmpty());
  EXPECT_THAT(other_sizes("google/gemma-4-2b"), IsEmpty());
}

// A checkpoint whose weights are described in a file of their own is not taken for an unquantised one.
TEST(KnownModels, FilesBesideTheConfigurationTravelWithIt) {
  ModelFiles files(KnownModels::kYes);
  const std::string id = "nvidia/Llama-3.1-70B-Instruct-FP8";
  EXPECT_TRUE(files.has_file(id, "hf_quant_config.json"));
  EXPECT_TRUE(files.json_file(id, "hf_quant_config.json").has_value());
  EXPECT_FALSE(files.has_file(id, "params.json"));
  EXPECT_FALSE(files.has_file(id, "."));
  EXPECT_FALSE(files.has_file("Qwen/Qwen3-8B", "hf_quant_config.json"));
}

// auto_map says that the model brings code; the hub delivers it, a folder has to hold it.
TEST(KnownModels, CodeThatTheHubDeliversIsNotMissed) {
  ModelFiles files(KnownModels::kYes);
  ModelRequest request;
  request.release = v0_5(23);
  request.path = "openbmb/MiniCPM3-4B";
  request.trust_remote_code = true;
  EXPECT_TRUE(std::holds_alternative<std::shared_ptr<const ModelFacts>>(build_model(files, request).result));
  request.path = "internlm/internlm2-7b";
  request.trust_remote_code = false;
  EXPECT_TRUE(std::holds_alternative<Refusal>(build_model(files, request).result));
}

}  // namespace
}  // namespace preflight::facts
