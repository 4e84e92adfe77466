// The packages of an environment, read without Python.
#include "src/facts/packages.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_tool.h"

namespace preflight::facts {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryDirectory;

std::string environment(const TemporaryDirectory& dir, const std::vector<std::string>& dist_infos) {
  const std::string site = "venv/lib/python3.11/site-packages/";
  for (const std::string& name : dist_infos) dir.file(site + name + ".dist-info/METADATA", "");
  dir.file(site + "numpy-1.26.dist-info/METADATA", "");
  std::filesystem::permissions(dir.file("venv/bin/python", ""), std::filesystem::perms::owner_all);
  return dir.path() + "/venv";
}

TEST(Packages, AreReadFromTheFoldersNames) {
  const TemporaryDirectory dir;
  const std::string venv =
      environment(dir, {"sglang-0.5.21", "torch-2.9.0+xpu", "sgl_kernel-0.11.0", "triton_xpu-3.5.0"});
  for (const std::string& named : {venv, venv + "/bin/python"}) {
    const auto packages = read_packages(named, {});
    ASSERT_TRUE(packages) << packages.error().text();
    ASSERT_NE(packages->package("sglang"), nullptr);
    EXPECT_EQ(packages->package("sglang")->version, "0.5.21");
    EXPECT_EQ(packages->package("torch")->version, "2.9.0+xpu");
    EXPECT_NE(packages->package("triton-xpu"), nullptr);
    EXPECT_EQ(packages->package("numpy"), nullptr);
    EXPECT_THAT(package_notes(*packages), IsEmpty());
  }
}

// As a shell finds what is typed.
TEST(Packages, AnInterpreterMayBeNamedAsItIsOnThePath) {
  const TemporaryDirectory dir;
  environment(dir, {"sglang-0.5.21"});
  std::filesystem::permissions(dir.path() + "/venv/bin/python", std::filesystem::perms::owner_all);
  const std::string before = std::getenv("PATH");
  setenv("PATH", (dir.path() + "/none:" + dir.path() + "/venv/bin").c_str(), 1);
  const auto packages = read_packages("python", {});
  const auto none = read_packages("python4", {});
  setenv("PATH", before.c_str(), 1);
  ASSERT_TRUE(packages) << packages.error().text();
  EXPECT_EQ(packages->package("sglang")->version, "0.5.21");
  EXPECT_FALSE(none);
}

TEST(Packages, SetuptoolsOwnRecordsCountToo) {
  const TemporaryDirectory dir;
  const std::string site = environment(dir, {}) + "/lib/python3.11/site-packages";
  const auto version_of = [&](const char* name) {
    const auto packages = read_packages(site, {});
    const InstalledPackage* found = packages->package(name);
    return found == nullptr ? "none" : found->version + (found->editable ? " (editable)" : "");
  };
  const std::string here = "venv/lib/python3.11/site-packages/";
  dir.file(here + "torch-2.9.0-py3.11.egg-info", "Version: 1\n");
  EXPECT_EQ(version_of("torch"), "2.9.0");
  dir.file(here + "triton_xpu.egg-info/PKG-INFO", "Metadata-Version: 2.1\nVersion: 3.5.0\n\nVersion: 4\n");
  EXPECT_EQ(version_of("triton-xpu"), "3.5.0");
  EXPECT_EQ(version_of("sglang"), "none");
  dir.file("src/sglang.egg-info/PKG-INFO", "Name: sglang\nVersion: 0.5.18\n");
  dir.file(here + "sglang.egg-link", dir.path() + "/src\n../");
  EXPECT_EQ(version_of("sglang"), "0.5.18 (editable)");
  dir.file("src/sgl_kernel.egg-info/PKG-INFO", "Version: 0.12.0\n");
  dir.file(here + "sgl-kernel.egg-link", dir.path() + "/src\n");
  EXPECT_EQ(version_of("sgl-kernel"), "0.12.0");
  dir.file(here + "transformers-5.8.1.dist-info", "a file is no record");
  EXPECT_EQ(version_of("transformers"), "none");
}

TEST(Packages, AreThoseOfTheInterpreterThatTheEnvironmentWasMadeFor) {
  for (const char* line : {"version = 3.11.7", "version_info = 3.11.7.final.0", "version_info=3.11"}) {
    const TemporaryDirectory dir;
    const std::string venv = environment(dir, {"sglang-0.5.20"});
    dir.file("venv/lib/python3.12/site-packages/sglang-0.5.23.dist-info/METADATA", "");
    EXPECT_EQ(read_packages(venv, {})->package("sglang")->version, "0.5.23");  // it does not say
    dir.file("venv/pyvenv.cfg", std::string("home = /usr/bin\n") + line + "\n");
    EXPECT_EQ(read_packages(venv, {})->package("sglang")->version, "0.5.20") << line;
    dir.file("venv/pyvenv.cfg", "version = 3.13.1\n");  // of none that is there
    EXPECT_EQ(read_packages(venv, {})->package("sglang")->version, "0.5.23");
  }
}

TEST(Packages, AFolderWithoutARecordIsNotAbsent) {
  const TemporaryDirectory dir;
  const std::string venv = environment(dir, {});
  EXPECT_THAT(package_notes(*read_packages(venv, {})), Contains(HasSubstr("holds no sglang")));
  dir.file("venv/lib/python3.11/site-packages/sglang/version.py", "");
  EXPECT_THAT(package_notes(*read_packages(venv, {})), Contains(HasSubstr("without a record of its version")));
  EXPECT_THAT(package_notes(*read_packages("", {{"VIRTUAL_ENV", venv}})), Contains(HasSubstr("without a record")));
}

TEST(Packages, OfTheActiveEnvironmentCountUnlessOneIsNamed) {
  const TemporaryDirectory dir;
  const std::string venv = environment(dir, {"sglang-0.5.20"});
  EXPECT_NE(read_packages("", {{"VIRTUAL_ENV", venv}})->package("sglang"), nullptr);
  EXPECT_NE(read_packages("", {{"CONDA_PREFIX", venv}})->package("sglang"), nullptr);
  EXPECT_TRUE(read_packages("", {})->site_packages.empty());
  EXPECT_TRUE(read_packages("", {{"VIRTUAL_ENV", "/nonexistent"}})->site_packages.empty());
  EXPECT_FALSE(read_packages("/nonexistent/python", {}));
  EXPECT_FALSE(read_packages(dir.path(), {}));
}

// Every image that has torch for XPU is the base of such environments.
TEST(Packages, OfTheInterpreterBelowCountWhereTheEnvironmentTakesThem) {
  const TemporaryDirectory dir;
  const std::string base = "base/lib/python3.11/site-packages/";
  dir.file(base + "torch-2.12.0+xpu.dist-info/METADATA", "");
  dir.file(base + "sglang-0.5.19.dist-info/METADATA", "");
  dir.file("base/lib/python3/dist-packages/transformers-5.8.1.dist-info/METADATA", "");
  const std::string venv = environment(dir, {"sglang-0.5.21", "sgl_kernel-0.11.0"});
  const auto taking = [&](const std::string& word) {
    dir.file("venv/pyvenv.cfg", "home = " + dir.path() + "/base/bin\ninclude-system-site-packages = " + word + "\n");
    return *read_packages(venv, {});
  };
  const Packages both = taking("True");
  EXPECT_EQ(both.package("sglang")->version, "0.5.21");
  ASSERT_NE(both.package("torch"), nullptr);
  EXPECT_EQ(both.package("torch")->version, "2.12.0+xpu");
  EXPECT_NE(both.package("transformers"), nullptr);
  EXPECT_THAT(package_notes(both), IsEmpty());
  EXPECT_THAT(package_notes(taking("false")), Contains(HasSubstr("without torch")));
}

TEST(Packages, OfDebiansAndFedorasInterpretersLieElsewhere) {
  for (const char* folder :
       {"local/lib/python3.12/dist-packages", "lib/python3/dist-packages", "lib64/python3.12/site-packages"}) {
    const TemporaryDirectory dir;
    dir.file(std::string(folder) + "/sglang-0.5.21.dist-info/METADATA", "");
    std::filesystem::permissions(dir.file("bin/python3", ""), std::filesystem::perms::owner_all);
    for (const std::string& named : {dir.path() + "/bin/python3", dir.path() + "/" + folder}) {
      const auto packages = read_packages(named, {});
      ASSERT_TRUE(packages) << folder;
      EXPECT_NE(packages->package("sglang"), nullptr) << folder;
    }
  }
}

TEST(Packages, TheKernelsOfPyPIAreForOtherCards) {
  const auto told = [](const std::vector<std::string>& names) {
    const TemporaryDirectory dir;
    return package_notes(*read_packages(environment(dir, names), {}));
  };
  EXPECT_THAT(told({"sglang-0.5.23", "torch-2.12.0+xpu", "sglang_kernel-0.4.10"}),
              Contains(AllOf(HasSubstr("sglang-kernel 0.4.10, which PyPI's sglang brings, is built for NVIDIA GPUs"),
                             HasSubstr("whatever the attention backend"))));
  EXPECT_THAT(told({"sglang-0.5.23", "torch-2.12.0+xpu", "sglang_kernel-0.4.10", "sgl_kernel-0.11.0"}), IsEmpty());
}

TEST(Packages, AVersionIsJudgedAsItsBase) {
  struct Row {
    const char* version;
    const char* release;  // "" = none that is known
    bool exact;
  };
  const Row rows[] = {{"0.5.23", "0.5.23", true},
                      {"0.5.19.post1", "0.5.19", false},
                      {"0.5.12.post1", "0.5.12.post1", true},
                      {"0.5.12.post2", "0.5.12", false},
                      {"0.5.12-post1", "0.5.12.post1", true},
                      {"v0.5.13_post.1", "0.5.13.post1", true},
                      {"0.5.15post1", "0.5.15.post1", true},
                      {"0.5.12-post2", "0.5.12", false},
                      {"0.5.13--post1", "0.5.13", false},
                      {"post1", "", false},
                      {"0.5.22.dev31+gabc", "0.5.22", false},
                      {"0.5.21rc0", "0.5.21", false},
                      {"v0.5.20", "0.5.20", true},
                      {"0.5.21+xpu", "0.5.21", false},
                      {"0.5.10", "", false},
                      {"0.6.0", "", false},
                      {"main", "", false},
                      {"", "", false}};
  for (const Row& row : rows) {
    const auto judged = release_of_version(row.version);
    EXPECT_EQ(judged ? judged->release.text() : "", row.release) << row.version;
    EXPECT_EQ(judged && judged->exact, row.exact) << row.version;
  }
}

TEST(Packages, WhatIsMissingOrOfAnotherMakerIsSaid) {
  const TemporaryDirectory without;
  EXPECT_THAT(
      package_notes(*read_packages(environment(without, {"sglang-0.5.23", "torch-2.9.0+cu128"}), {})),
      ::testing::AllOf(Contains(AllOf(HasSubstr("without sgl-kernel"), HasSubstr("whatever the attention backend"))),
                       Contains(HasSubstr("2.9.0+cu128"))));
  const TemporaryDirectory none;
  EXPECT_THAT(package_notes(*read_packages(environment(none, {}), {})), Contains(HasSubstr("holds no sglang")));
}

TEST(Packages, TwoRecordsOfOnePackageAreSaid) {
  const TemporaryDirectory dir;
  const auto packages =
      read_packages(environment(dir, {"sglang-0.5.9", "sglang-0.5.20", "torch-2.9.0+xpu", "sgl_kernel-0.11.0"}), {});
  EXPECT_EQ(packages->package("sglang")->version, "0.5.20");
  EXPECT_THAT(package_notes(*packages),
              ::testing::ElementsAre(HasSubstr("records both sglang 0.5.20 and 0.5.9; the newer is taken")));
}

// importlib.metadata finds a record by its folder and takes the version that METADATA says.
TEST(Packages, MetadataHasTheLastWordOverTheFoldersName) {
  struct Row {
    const char* metadata;
    const char* version;
    bool told;
  };
  for (const Row& row :
       {Row{"Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.19\n\n", "0.5.19", true},
        Row{"metadata-version: 2.1\nversion:0.5.19 \n", "0.5.19", true},
        Row{"Name: sglang\nVersion: 0.5.23-dev4\n", "0.5.23-dev4", false},
        Row{"Name: sglang\nVersion: 0.5.23_dev4\n", "0.5.23_dev4", false},
        Row{"Name: sglang\n\nVersion: 0.5.19\n", "0.5.23_dev4", false},
        Row{"Name: sglang\r\n\r\nVersion: 0.5.19\n", "0.5.23_dev4", false}, Row{"", "0.5.23_dev4", false}}) {
    const TemporaryDirectory dir;
    const std::string venv = environment(dir, {"torch-2.9.0+xpu", "sgl_kernel-0.11.0"});
    dir.file("venv/lib/python3.11/site-packages/sglang-0.5.23_dev4.dist-info/METADATA", row.metadata);
    const auto packages = read_packages(venv, {});
    EXPECT_EQ(packages->package("sglang")->version, row.version) << row.metadata;
    if (!row.told) {
      EXPECT_THAT(package_notes(*packages), IsEmpty()) << row.metadata;
      continue;
    }
    EXPECT_THAT(package_notes(*packages),
                ::testing::ElementsAre(HasSubstr("sglang-0.5.23_dev4.dist-info holds METADATA of 0.5.19")));
  }
}

// What runs are the files, whichever record an upgrade that was cut off left beside them.
TEST(Packages, SglangsFilesSayWhichVersionTheyAreOf) {
  const std::string here = "venv/lib/python3.11/site-packages/";
  constexpr const char* kOwn =
      "__all__ = [\n    \"__version__\",\n]\n__version__: str\n__version__ = version = '0.5.9'\n";
  const auto told = [&](const std::vector<std::string>& records, const char* own, bool editable = false) {
    const TemporaryDirectory dir;
    std::vector<std::string> all = records;
    all.insert(all.end(), {"torch-2.9.0+xpu", "sgl_kernel-0.11.0"});
    const std::string venv = environment(dir, all);
    dir.file(here + "sglang/_version.py", own);
    if (editable) dir.file(here + records[0] + ".dist-info/direct_url.json", R"({"dir_info": {"editable": true}})");
    const auto packages = read_packages(venv, {});
    std::string out = packages->package("sglang")->version;
    for (const std::string& note : package_notes(*packages)) out += "; " + note.substr(note.find(" records") + 1);
    return out;
  };
  EXPECT_EQ(told({"sglang-0.5.9"}, kOwn), "0.5.9");
  EXPECT_EQ(told({"sglang-0.5.20"}, kOwn),
            "0.5.9; records sglang 0.5.20, and sglang/_version.py there says 0.5.9: its files are taken to be 0.5.9");
  EXPECT_EQ(told({"sglang-0.5.9", "sglang-0.5.20"}, kOwn),
            "0.5.9; records sglang 0.5.20, and sglang/_version.py there says 0.5.9: its files are taken to be 0.5.9");
  EXPECT_EQ(told({"sglang-0.5.20"}, kOwn, true), "0.5.20");
  EXPECT_EQ(told({"sglang-0.5.20"}, "__version__: str\n"), "0.5.20");
}

TEST(Packages, AnEditableInstallationSaysSo) {
  const TemporaryDirectory dir;
  const std::string venv = environment(dir, {"sglang-0.5.23.dev4"});
  dir.file("venv/lib/python3.11/site-packages/sglang-0.5.23.dev4.dist-info/direct_url.json",
           R"({"dir_info": {"editable": true}, "url": "file:///src"})");
  EXPECT_TRUE(read_packages(venv, {})->package("sglang")->editable);
}

}  // namespace
}  // namespace preflight::facts
