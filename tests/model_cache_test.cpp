// Where a model id is found on a machine: caches as huggingface_hub and ModelScope lay them out, whole and damaged.
#include "src/facts/model_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/facts/launch_variables.h"
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

TEST(ModelCache, VariablesWithinAVariableAreFollowed) {
  const TemporaryDirectory dir;
  const std::string snapshot = hub_cache(dir);
  const std::string top = dir.path();
  const std::string name = fs::path(top).filename().string();
  const std::string above = fs::path(top).parent_path().string();
  for (const char* text : {"$TOP", "${TOP}", "$ABOVE/$NAME", "${ABOVE}/${NAME}", "~/$NAME"}) {
    const Environment env = {{"HF_HOME", text}, {"TOP", top}, {"ABOVE", above}, {"NAME", name}, {"HOME", above + "/"}};
    EXPECT_EQ(found({.env = env}), snapshot) << text;
  }
  // What is not set stays as it is written, and what is no name is none.
  for (const char* text : {"$NONE", "${TOP", "$", "$-TOP", "x$TOP", "~root/$NAME"})
    EXPECT_EQ(found({.env = {{"HF_HOME", text}, {"TOP", top}, {"NAME", name}}}), "nowhere") << text;
  fs::create_directories(top + "/$NONE");
  fs::rename(top + "/hub", top + "/$NONE/hub");
  EXPECT_THAT(found({.env = {{"HF_HOME", "$TOP/$NONE"}, {"TOP", top}}}), HasSubstr("/$NONE/hub/models--acme"));
  EXPECT_EQ(variables_named_in("$A/${B}x$c_1-$"), (std::vector<std::string>{"A", "B", "c_1"}));
}

TEST(ModelCache, AnEmptyVariableIsTheFolderOfTheServer) {
  const TemporaryDirectory dir;
  hub_cache(dir);
  const fs::path before = fs::current_path();
  fs::current_path(dir.path());
  const std::string model = "models--acme--tiny-1.5B/snapshots/" + std::string(kCommit);
  EXPECT_EQ(found({.env = {{"HF_HOME", ""}, {"XDG_CACHE_HOME", "/nonexistent"}}}), "hub/" + model);
  fs::current_path(dir.path() + "/hub");
  EXPECT_EQ(found({.env = {{"HF_HUB_CACHE", ""}, {"HF_HOME", dir.path()}}}), "./" + model);
  EXPECT_EQ(found({.env = {{"HUGGINGFACE_HUB_CACHE", ""}}}), "./" + model);
  fs::create_directories("huggingface");
  fs::create_symlink("..", "huggingface/hub");
  EXPECT_EQ(found({.env = {{"XDG_CACHE_HOME", ""}, {"HOME", "/nonexistent"}}}), "huggingface/hub/" + model);
  fs::current_path(before);
}

TEST(ModelCache, ARefWithANewlineNamesACommitWhileTheHubCanBeAsked) {
  const TemporaryDirectory dir;
  const std::string snapshot = hub_cache(dir);
  dir.file("hub/models--acme--tiny-1.5B/refs/main", std::string(kCommit) + "\n");
  Environment env = {{"HF_HUB_CACHE", dir.path() + "/hub"}};
  EXPECT_EQ(found({.env = env}), snapshot);
  env["HF_HUB_OFFLINE"] = "1";
  EXPECT_THAT(found({.env = env}), HasSubstr("holds more than a commit"));
  dir.file("hub/models--acme--tiny-1.5B/refs/main", kCommit);
  EXPECT_EQ(found({.env = env}), snapshot);
}

// huggingface_hub 1.33 follows a ref to whatever snapshot has its name.
TEST(ModelCache, ARefMayNameASnapshotOfAnyName) {
  const TemporaryDirectory dir;
  const std::string snapshot = hub_cache(dir);
  const std::string model = dir.path() + "/hub/models--acme--tiny-1.5B";
  for (const std::string name : {"0123456789ABCDEF", "mine"}) {
    fs::create_directories(model + "/snapshots/" + name);
    fs::copy_file(snapshot + "/config.json", model + "/snapshots/" + name + "/config.json");
    dir.file("hub/models--acme--tiny-1.5B/refs/main", name);
    EXPECT_EQ(found({.env = {{"HF_HUB_CACHE", dir.path() + "/hub"}, {"HF_HUB_OFFLINE", "1"}}}),
              model + "/snapshots/" + name);
  }
  for (const char* name : {"..", "mine/..", "other"}) {
    dir.file("hub/models--acme--tiny-1.5B/refs/main", name);
    EXPECT_THAT(found({.env = {{"HF_HUB_CACHE", dir.path() + "/hub"}}}), HasSubstr("names no commit")) << name;
  }
}

TEST(ModelCache, TheFirstVariableThatHoldsAnythingForbidsTheHub) {
  EXPECT_FALSE(asks_no_hub({}));
  for (const char* yes : {"1", "on", "Yes", "TRUE"}) {
    EXPECT_TRUE(asks_no_hub({{"HF_HUB_OFFLINE", yes}})) << yes;
    EXPECT_TRUE(asks_no_hub({{"HF_HUB_OFFLINE", ""}, {"TRANSFORMERS_OFFLINE", yes}})) << yes;
  }
  for (const char* no : {"0", "y", "2", ""}) EXPECT_FALSE(asks_no_hub({{"HF_HUB_OFFLINE", no}})) << no;
  EXPECT_FALSE(asks_no_hub({{"HF_HUB_OFFLINE", "0"}, {"TRANSFORMERS_OFFLINE", "1"}}));
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

// As SGLang looks, then ModelScope's library: to 1.37, and since.
TEST(ModelCache, EveryFormOfModelScopesCacheIsLookedInto) {
  for (const char* folder :
       {"models/acme.org/tiny-1.5B", "models/acme.org/tiny-1___5B", "hub/models/acme.org/tiny-1___5B",
        "acme.org/tiny-1___5B", "models/acme.org--tiny-1.5B/snapshots/master",
        "models/acme.org--tiny-1.5B/snapshots/main"}) {
    const TemporaryDirectory dir;
    dir.file(std::string("ms/") + folder + "/config.json", "{}");
    const std::string place = dir.path() + "/ms/" + folder;
    const std::string id = "acme.org/tiny-1.5B";
    const bool written_as_is = std::string_view(folder) == "models/acme.org/tiny-1.5B";
    EXPECT_EQ(found({.env = {{"SGLANG_USE_MODELSCOPE", "1"}, {"MODELSCOPE_CACHE", dir.path() + "/ms"}}}, id), place);
    EXPECT_EQ(found({.env = {{"SGLANG_USE_MODELSCOPE", "1"}}, .download_dir = dir.path() + "/ms"}, id),
              written_as_is ? "nowhere" : place);
    fs::create_directories(dir.path() + "/.cache");
    fs::rename(dir.path() + "/ms", dir.path() + "/.cache/modelscope");
    EXPECT_THAT(found({.env = {{"SGLANG_USE_MODELSCOPE", "1"}, {"HOME", dir.path()}}}, id),
                written_as_is ? "nowhere" : dir.path() + "/.cache/modelscope/" + folder);
  }
}

TEST(ModelCache, WhatModelScopeIsGivenDecidesWhereItLooks) {
  const TemporaryDirectory dir;
  const Environment used = {{"SGLANG_USE_MODELSCOPE", "yes"}, {"HOME", dir.path()}};
  const std::string plain = dir.path() + "/.cache/modelscope/hub/models/acme/tiny-1.5B";
  dir.file(".cache/modelscope/hub/models/acme/tiny-1.5B/config.json", "{}");
  dir.file("d/acme/tiny-1.5B/config.json", "{}");
  dir.file("d/models/acme--tiny-1.5B/snapshots/v2/config.json", "{}");
  dir.file("m/models/acme--tiny-1.5B/snapshots/v2/config.json", "{}");
  EXPECT_EQ(found({.env = used, .download_dir = dir.path() + "/d"}), plain);
  Environment other = used;
  other["MODELSCOPE_CACHE"] = dir.path() + "/m";
  EXPECT_EQ(found({.env = other, .download_dir = dir.path() + "/d"}), dir.path() + "/d/acme/tiny-1.5B");
  EXPECT_EQ(found({.env = other}), "nowhere");
  EXPECT_EQ(found({.env = other, .revision = "v2"}), dir.path() + "/m/models/acme--tiny-1.5B/snapshots/v2");
  EXPECT_EQ(found({.env = other, .revision = "../v2"}), "nowhere");
  other["MODELSCOPE_CACHE"] = "~/m";
  EXPECT_EQ(found({.env = other, .revision = "v2"}), dir.path() + "/m/models/acme--tiny-1.5B/snapshots/v2");
  other["SGLANG_USE_MODELSCOPE"] = "t";  // no truth value of SGLang's
  EXPECT_EQ(found({.env = other, .revision = "v2"}), "nowhere");
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
