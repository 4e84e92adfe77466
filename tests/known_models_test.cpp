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

TEST(KnownModels, AreMoreThanTwoHundredAndNoIdStandsTwice) {
  const auto ids = known_model_ids();
  EXPECT_GE(ids.size(), 290U);
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
  EXPECT_THAT(nearest_models("BAAI/bge-base-en-v1.5"), IsEmpty());
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
