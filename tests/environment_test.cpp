// Environment variables as SGLang's two readers take them.
#include <gtest/gtest.h>

#include "src/python/environment.h"

namespace preflight::python {
namespace {

TEST(EnvironmentVariables, AreTrueByTheWordsOfTheirOwnReader) {
  struct Row {
    std::string text;
    bool declared;       // a variable of sglang.srt.environ whose default is false
    bool declared_true;  // one whose default is true
    bool one_or_true;    // a variable of get_bool_env_var
  };
  const Row rows[] = {
      {"1", true, true, true},    {"true", true, true, true},     {"TRUE", true, true, true},
      {"yes", true, true, false}, {"Y", true, true, false},       {"on", false, true, false},
      {"0", false, false, false}, {"False", false, false, false}, {"no", false, false, false},
      {"n", false, false, false}, {"", false, true, false},       {" 1", false, true, false},
      {"2", false, true, false},
  };
  for (const Row& row : rows) {
    const Environment env = {{"SGLANG_ENABLE_PP_SPEC", row.text},
                             {"SGLANG_ENABLE_SPEC_V2", row.text},
                             {"SGLANG_IS_IN_CI", row.text},
                             {"SGLANG_USE_SGL_XPU", row.text},
                             {"MORI_ENABLE_SDMA", row.text}};
    EXPECT_EQ(environment_bool(env, "SGLANG_ENABLE_PP_SPEC", false), row.declared) << row.text;
    EXPECT_EQ(environment_bool(env, "SGLANG_ENABLE_SPEC_V2", true), row.declared_true) << row.text;
    EXPECT_EQ(environment_bool(env, "SGLANG_IS_IN_CI"), row.declared) << row.text;
    for (const char* name : {"SGLANG_USE_SGL_XPU", "MORI_ENABLE_SDMA"}) {
      EXPECT_EQ(environment_bool(env, name), row.one_or_true) << name << '=' << row.text;
    }
  }
}

TEST(EnvironmentVariables, ThatAreUnsetHaveTheirDefault) {
  EXPECT_TRUE(environment_bool({}, "SGLANG_ENABLE_SPEC_V2", true));
  EXPECT_FALSE(environment_bool({}, "SGLANG_USE_SGL_XPU"));
  EXPECT_EQ(environment_int({}, "SGLANG_GRPC_WORKER_THREADS", 4), 4);
  EXPECT_EQ(environment_text({}, "HOME"), nullptr);
}

TEST(EnvironmentVariables, AreIntegersAsPythonReadsThem) {
  const auto read = [](const char* text) { return environment_int({{"N", text}}, "N", 4); };
  EXPECT_EQ(read(" 1_6 "), 16);
  EXPECT_EQ(read("\xd9\xa3"), 3);  // an Arabic digit
  EXPECT_EQ(read("0x10"), 4);
  EXPECT_EQ(read("1.0"), 4);
  EXPECT_EQ(read(""), 4);
}

}  // namespace
}  // namespace preflight::python
