// Where a model id is found on a machine: caches as huggingface_hub and ModelScope lay them out, whole and damaged.
#include "src/facts/model_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_tool.h"

namespace preflight::facts {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryDirectory;
namespace fs = std::filesystem;

constexpr const char* kId = "acme/tiny-1.5B";
constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";

// As huggingface_hub writes it: the file in blobs, a link to it in the snapshot.
std::string hub_cache(const TemporaryDirectory& dir, const std::string& ref = "main") {
  const std::string model = "hub/models--acme--tiny-1.5B/";
  dir.file(model + "refs/" + ref, kCommit);
  dir.file(model + "blobs/b1", R"({"model_type": "qwen3"})");
  const fs::path snapshot = fs::path(dir.path()) / model / "snapshots" / kCommit;
  fs::create_directories(snapshot);
  fs::create_symlink("../../blobs/b1", snapshot / "config.json");
  return snapshot.string();
}

std::string found(const ModelPlaces& places, const std::string& id = kId) {
  const auto place = find_cached_model(id, places);
  if (!place) return "error: " + place.error().text();
  return *place ? (*place)->directory : "nowhere";
}

TEST(ModelCache, EveryVariableThatMovesItIsFollowed) {
  const TemporaryDirectory dir;
  const std::string snapshot = hub_cache(dir);
  const std::string top = dir.path();
  EXPECT_EQ(found({.env = {{"HF_HUB_CACHE", top + "/hub"}}}), snapshot);
  EXPECT_EQ(found({.env = {{"HUGGINGFACE_HUB_CACHE", top + "/hub"}}}), snapshot);
  EXPECT_EQ(found({.env = {{"HF_HOME", top}}}), snapshot);
  EXPECT_EQ(found({.env = {{"HF_HOME", "~"}, {"HOME", top}}}), snapshot);
  EXPECT_EQ(found({.env = {{"HF_HUB_CACHE", "/nonexistent"}, {"HF_HOME", top}}}), "nowhere");
  EXPECT_EQ(found({.env = {}, .download_dir = top + "/hub"}), snapshot);
  EXPECT_EQ(found({.env = {}}), "nowhere");
  fs::create_directories(top + "/x/huggingface");
  fs::rename(top + "/hub", top + "/x/huggingface/hub");
  EXPECT_THAT(found({.env = {{"XDG_CACHE_HOME", top + "/x"}}}), HasSubstr("/x/huggingface/hub/models--acme"));
}

TEST(ModelCache, ARevisionIsARefOrACommit) {
  const TemporaryDirectory dir;
  const std::string snapshot = hub_cache(dir, "v2");
  const Environment env = {{"HF_HUB_CACHE", dir.path() + "/hub"}};
  EXPECT_EQ(found({.env = env, .revision = "v2"}), snapshot);
  EXPECT_EQ(found({.env = env, .revision = kCommit}), snapshot);
  EXPECT_EQ(found({.env = env}), "nowhere");  // main was never fetched
  EXPECT_EQ(found({.env = env, .revision = "../../x"}), "nowhere");
}

TEST(ModelCache, DamageIsToldFromAbsence) {
  const TemporaryDirectory dir;
  const std::string snapshot = hub_cache(dir);
  const std::string model = dir.path() + "/hub/models--acme--tiny-1.5B";
  const ModelPlaces places{.env = {{"HF_HUB_CACHE", dir.path() + "/hub"}}};
  fs::remove(model + "/blobs/b1");
  EXPECT_THAT(found(places), HasSubstr("a link to a file that is not there"));
  dir.file("hub/models--acme--tiny-1.5B/blobs/b1.incomplete", "{");
  EXPECT_THAT(found(places), HasSubstr(".incomplete"));
  fs::remove_all(model + "/snapshots");
  EXPECT_THAT(found(places), HasSubstr("no file of it is in place yet"));
  fs::remove(model + "/blobs/b1.incomplete");
  EXPECT_EQ(found(places), "nowhere");
  dir.file("hub/models--acme--tiny-1.5B/refs/main", "not a commit");
  EXPECT_THAT(found(places), HasSubstr("names no commit"));
}

TEST(ModelCache, WeightsAloneAreNoConfiguration) {
  const TemporaryDirectory dir;
  const std::string snapshot = hub_cache(dir);
  fs::remove(snapshot + "/config.json");
  EXPECT_EQ(found({.env = {{"HF_HUB_CACHE", dir.path() + "/hub"}}}), "nowhere");
}

TEST(ModelCache, AFolderThatMayNotBeReadIsAnError) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TemporaryDirectory dir;
  hub_cache(dir);
  const std::string model = dir.path() + "/hub/models--acme--tiny-1.5B";
  chmod(model.c_str(), 0);
  EXPECT_THAT(found({.env = {{"HF_HUB_CACHE", dir.path() + "/hub"}}}), HasSubstr("cannot be read"));
  chmod(model.c_str(), 0755);
}

TEST(ModelCache, ModelScopeCountsWhereSGLangUsesIt) {
  const TemporaryDirectory dir;
  dir.file("ms/models/acme/tiny-1___5B/config.json", "{}");
  const Environment env = {{"MODELSCOPE_CACHE", dir.path() + "/ms"}};
  EXPECT_EQ(found({.env = env}), "nowhere");
  Environment used = env;
  used["SGLANG_USE_MODELSCOPE"] = "true";
  EXPECT_EQ(found({.env = used}), dir.path() + "/ms/models/acme/tiny-1___5B");
}

TEST(ModelCache, ModelsDirKnowsTheUsualFolderNames) {
  for (const char* folder : {"acme/tiny-1.5B", "tiny-1.5B", "acme--tiny-1.5B", "acme__tiny-1.5B"}) {
    const TemporaryDirectory dir;
    dir.file(std::string(folder) + "/config.json", "{}");
    EXPECT_EQ(found({.env = {}, .models_dir = dir.path()}), dir.path() + "/" + folder);
  }
}

TEST(ModelCache, WhatIsNoIdIsNotLookedFor) {
  const TemporaryDirectory dir;
  dir.file("etc/config.json", "{}");
  for (const char* id : {"", "/etc", "../etc", "a/b/c", "~/etc", "./etc", "a b", "etc/"}) {
    EXPECT_EQ(found({.env = {}, .models_dir = dir.path()}, id), "nowhere") << id;
  }
}

}  // namespace
}  // namespace preflight::facts
