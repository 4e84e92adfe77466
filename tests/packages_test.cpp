// The packages of an environment, read without Python.
#include "src/facts/packages.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_tool.h"

namespace preflight::facts {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryDirectory;

std::string environment(const TemporaryDirectory& dir, const std::vector<std::string>& dist_infos) {
  const std::string site = "venv/lib/python3.11/site-packages/";
  for (const std::string& name : dist_infos) dir.file(site + name + ".dist-info/METADATA", "");
  dir.file(site + "numpy-1.26.dist-info/METADATA", "");
  dir.file("venv/bin/python", "");
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
  EXPECT_THAT(package_notes(*read_packages(environment(without, {"sglang-0.5.23", "torch-2.9.0+cu128"}), {})),
              ::testing::AllOf(Contains(HasSubstr("without sgl-kernel")), Contains(HasSubstr("2.9.0+cu128"))));
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

TEST(Packages, AnEditableInstallationSaysSo) {
  const TemporaryDirectory dir;
  const std::string venv = environment(dir, {"sglang-0.5.23.dev4"});
  dir.file("venv/lib/python3.11/site-packages/sglang-0.5.23.dev4.dist-info/direct_url.json",
           R"({"dir_info": {"editable": true}, "url": "file:///src"})");
  EXPECT_TRUE(read_packages(venv, {})->package("sglang")->editable);
}

}  // namespace
}  // namespace preflight::facts
