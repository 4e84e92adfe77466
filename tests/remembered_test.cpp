#include "src/base/remembered.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/plan/kept_answers.h"

namespace preflight {
namespace {

TEST(Remembered, TheNewestFewAreAskedOnce) {
  NewestRemembered<int, std::string> known(2);
  std::vector<int> asked;
  const auto answer = [&](int question) {
    return known.of(question, [&] {
      asked.push_back(question);
      return std::to_string(question);
    });
  };
  EXPECT_EQ(answer(1), "1");
  EXPECT_EQ(answer(2), "2");
  EXPECT_EQ(answer(1), "1");  // known: two are kept
  EXPECT_EQ(asked, (std::vector{1, 2}));
  EXPECT_EQ(answer(3), "3");  // in the place of 1, the oldest
  EXPECT_EQ(answer(2), "2");
  EXPECT_EQ(answer(1), "1");
  EXPECT_EQ(asked, (std::vector{1, 2, 3, 1}));
}

TEST(Remembered, AnAnswerMayAskForAnother) {
  NewestRemembered<int, int> known(1);
  EXPECT_EQ(known.of(2, [&] { return known.of(1, [] { return 10; }) + 1; }), 11);
  EXPECT_EQ(known.of(2, [] { return 0; }), 11);
}

TEST(Remembered, ModelsThatDifferInOneConfigurationAreTwo) {
  ModelFacts model;
  model.hf_config = *Value::parse_json(R"({"hidden_size": 8})");
  model.hf_text_config = model.hf_config;
  const auto differs = [&](auto change) {
    ModelFacts other = model;
    change(other);
    return !(plan::ModelIdentity(model) == plan::ModelIdentity(other));
  };
  EXPECT_FALSE(differs([](ModelFacts&) {}));
  // Written alike, but read twice: no memory is worth comparing what may be large.
  EXPECT_TRUE(differs([](ModelFacts& m) { m.hf_config = *Value::parse_json(R"({"hidden_size": 8})"); }));
  EXPECT_TRUE(differs([](ModelFacts& m) { m.hf_text_config = *Value::parse_json(R"({"hidden_size": 16})"); }));
  EXPECT_TRUE(differs([](ModelFacts& m) { m.hf_text_config = Value(); }));
  EXPECT_TRUE(differs([](ModelFacts& m) { m.quantization = "fp8"; }));
  EXPECT_TRUE(differs([](ModelFacts& m) { m.dtype = "float16"; }));
  EXPECT_TRUE(differs([](ModelFacts& m) { m.num_hidden_layers = 3; }));
  EXPECT_TRUE(differs([](ModelFacts& m) { m.is_draft_model = true; }));
}

}  // namespace
}  // namespace preflight
