// What serves an architecture in a release, and what the rules make of it.
#include <gtest/gtest.h>

#include "src/facts/model_classes.h"

namespace preflight::facts {
namespace {

TEST(ModelClasses, AreThoseOfTheReleasesRegistry) {
  struct Row {
    std::string_view architecture;
    Release release;
    ModelClass served_by;
  };
  const Row rows[] = {
      {"LlamaForCausalLM", v0_5(11), ModelClass::kStages},
      {"LlamaForCausalLM", v0_5(23), ModelClass::kStages},
      {"Gemma2ForCausalLM", v0_5(23), ModelClass::kWhole},
      {"FalconForCausalLM", v0_5(23), ModelClass::kRefused},
      {"NoSuchForCausalLM", v0_5(23), ModelClass::kNone},
      {"", v0_5(23), ModelClass::kNone},
      // The ends of the table, and what would stand beyond them.
      {"ASTForAudioClassification", v0_5(23), ModelClass::kTransformers},
      {"xLSTMPreTrainedModel", v0_5(23), ModelClass::kRefused},
      {"A", v0_5(23), ModelClass::kNone},
      {"zzz", v0_5(23), ModelClass::kNone},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(model_class(row.architecture, row.release), row.served_by) << row.architecture << row.release.text();
  }
}

// A name that begins another's is not taken for it, and one that is a part of the table's own words is none.
TEST(ModelClasses, AreFoundByTheWholeName) {
  EXPECT_EQ(model_class("Llama", v0_5(23)), ModelClass::kNone);
  EXPECT_EQ(model_class("value", v0_5(23)), ModelClass::kNone);
  EXPECT_EQ(model_class("LlamaForCausalLM\", \"value\": \"whole", v0_5(23)), ModelClass::kNone);
}

TEST(ModelClasses, ArriveWithTheReleaseThatBringsThem) {
  EXPECT_EQ(model_class("Qwen4ExpForConditionalGeneration", v0_5(11)), ModelClass::kNone);
  const auto first = first_release_after(v0_5(11), "Qwen4ExpForConditionalGeneration", is_own);
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, v0_5(20));
  EXPECT_EQ(model_class("Qwen4ExpForConditionalGeneration", v0_5(20)), ModelClass::kWhole);
  EXPECT_EQ(model_class("Qwen4ExpForConditionalGeneration", v0_5(21)), ModelClass::kStages);
  EXPECT_FALSE(first_release_after(v0_5(23), "Qwen4ExpForConditionalGeneration", is_own));
  EXPECT_FALSE(first_release_after(v0_5(11), "NoSuchForCausalLM", is_own));
}

}  // namespace
}  // namespace preflight::facts
