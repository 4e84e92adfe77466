#include "src/facts/hub_name.h"

#include <gtest/gtest.h>

namespace preflight::facts {
namespace {

TEST(HubName, IsAnOwnerAndANameInTheLettersThatTheHubTakes) {
  for (const char* name : {"Qwen3-8B", "Qwen/Qwen3-8B", "a/b.c_d-e", "_/_"}) EXPECT_TRUE(is_hub_name(name)) << name;
  for (const char* name :
       {"", "Qwen/", "/Qwen", "Qwen/Qwen3-8B/", "hf.co/Qwen/Qwen3-8B", "Qwen/Qwen3-8B@main", "Qwen/Qwen3 8B",
        "Qwen--x/y", "a/b..c", "a/b.git", "a/-b", "a/b-", "a/.b", "a\\b", "a/b\n"}) {
    EXPECT_FALSE(is_hub_name(name)) << name;
  }
  EXPECT_TRUE(is_hub_name("Qwen/" + std::string(96, 'a')));
  EXPECT_FALSE(is_hub_name("Qwen/" + std::string(97, 'a')));
}

TEST(ConnectorType, IsWhatStandsBeforeTheLastColonAndTwoSlashesOfTheFirstLine) {
  EXPECT_EQ(connector_type("https://x"), "https");
  EXPECT_EQ(connector_type("redis://x://y"), "redis://x");
  EXPECT_EQ(connector_type("://x"), "");
  EXPECT_EQ(connector_type("x\nredis://y"), "");
  EXPECT_EQ(connector_type("Qwen/Qwen3-8B"), "");
}

TEST(APlaceElsewhere, IsAHubNameADirectoryByItsWholePathOrAnAzureAddress) {
  constexpr Release kNewest = v0_5(23);
  for (const char* path : {"Qwen/Qwen3-8B", "/models/x/y", "./x", "../x", "https://a.blob.core.windows.net/c/m",
                           "owner/repo:Q4_K_M", "a/b/c.gguf"}) {
    EXPECT_TRUE(may_exist_elsewhere(kNewest, path)) << path;
  }
  for (const char* path : {"https://huggingface.co/Qwen/Qwen3-8B", "hf://Qwen/Qwen3-8B", "redis://h/x", "s3://b/m",
                           "instance://h", "hf.co/Qwen/Qwen3-8B", "~/models/x", "x:y", "a/b:"}) {
    EXPECT_FALSE(may_exist_elsewhere(kNewest, path)) << path;
  }
}

TEST(APlaceElsewhere, HoldsGgufReferencesSince0_5_18AndAzureAddressesSince0_5_12) {
  EXPECT_FALSE(may_exist_elsewhere(v0_5(17), "owner/repo:Q4_K_M"));
  EXPECT_TRUE(may_exist_elsewhere(v0_5(18), "owner/repo:Q4_K_M"));
  EXPECT_FALSE(may_exist_elsewhere(v0_5(11), "https://a.blob.core.windows.net/c/m"));
  EXPECT_TRUE(may_exist_elsewhere(v0_5(12), "https://a.blob.core.windows.net/c/m"));
}

TEST(AnAddress, HoldsTheIdOfTheHub) {
  for (const char* path : {"https://huggingface.co/Qwen/Qwen3-8B", "HTTPS://HF.CO/Qwen/Qwen3-8B/tree/main",
                           "hf://Qwen/Qwen3-8B", "hf.co/Qwen/Qwen3-8B", "Qwen/Qwen3-8B/", " Qwen/Qwen3-8B",
                           "Qwen/Qwen3-8B@main", "https://huggingface.co/Qwen/Qwen3-8B.git",
                           "https://modelscope.cn/models/Qwen/Qwen3-8B", "Qwen/Qwen3-8B?x=1"}) {
    EXPECT_EQ(hub_name_within(path), "Qwen/Qwen3-8B") << path;
  }
  for (const char* path : {"ftp://a.b/c", "https://huggingface.co/", "redis://x", "redis://h/x",
                           "file:///opt/models/qwen3-8b", "instance://a/b", "Qwen/Qwen3 8B", "~/models", ""}) {
    EXPECT_EQ(hub_name_within(path), "") << path;
  }
}

TEST(AFileAddress, HoldsTheFolder) {
  EXPECT_EQ(directory_within("file:///opt/models/qwen3-8b"), "/opt/models/qwen3-8b");
  EXPECT_EQ(directory_within("FILE://localhost/opt/m"), "/opt/m");
  for (const char* path : {"file://server/m", "/opt/m", "Qwen/Qwen3-8B", "redis://h/x"}) {
    EXPECT_EQ(directory_within(path), "") << path;
  }
}

}  // namespace
}  // namespace preflight::facts
