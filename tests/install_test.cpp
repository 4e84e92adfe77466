// The installed tree, and what the program asks of a machine that it is copied to: how old a C library may be, which
// shared libraries there must be, and how the linker hardened it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include <fmt/format.h>

#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;
using ::testing::Not;

namespace fs = std::filesystem;

std::string readelf(const std::string& options, const std::string& file) {
  const ToolRun run = run_command_line(fmt::format("readelf -W {} '{}'", options, file));
  EXPECT_EQ(run.status, 0) << run.err;
  return run.out;
}

// Instrumented programs are linked otherwise: nobody installs them.
#ifdef PREFLIGHT_SANITIZED
constexpr bool kIsInstrumented = true;
#else
constexpr bool kIsInstrumented = false;
#endif

std::set<std::string> every_match(const std::string& text, const std::regex& pattern) {
  std::set<std::string> out;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) out.insert(at->str(1));
  return out;
}

class LinkedProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kIsInstrumented) GTEST_SKIP() << "built with sanitizers";
  }
};

TEST_F(LinkedProgram, AsksForNoSymbolOfAYoungerCLibraryThan2_28) {
  if (!fs::exists(fs::path(tool_path()).parent_path() / "glibc_stubs/libc.so")) {
    GTEST_SKIP() << "linked against this machine's own C library: packaging/older_glibc was not tried with it";
  }
  const auto versions = every_match(readelf("--dyn-syms", tool_path()), std::regex(R"(@GLIBC_2\.(\d+))"));
  ASSERT_FALSE(versions.empty());
  int newest = 0;
  for (const std::string& version : versions) newest = std::max(newest, std::stoi(version));
  EXPECT_LE(newest, 28);
}

TEST_F(LinkedProgram, NeedsNothingButTheCLibrary) {
  const std::string dynamic = readelf("-d", tool_path());
  const auto needed = every_match(dynamic, std::regex(R"(NEEDED\)\s+Shared library: \[(.*)\])"));
  EXPECT_THAT(needed, IsSubsetOf({"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2",
                                  "ld-linux-aarch64.so.1"}));
  EXPECT_TRUE(needed.contains("libc.so.6"));
  EXPECT_THAT(dynamic, Not(AnyOf(HasSubstr("RPATH"), HasSubstr("RUNPATH"))));
}

TEST_F(LinkedProgram, IsPositionIndependentWithItsTablesReadOnlyAndNoStackThatRuns) {
  EXPECT_THAT(readelf("-h", tool_path()), HasSubstr("DYN (Position-Independent Executable file)"));
  const std::string dynamic = readelf("-d", tool_path());
  EXPECT_THAT(dynamic, HasSubstr("BIND_NOW"));
  EXPECT_THAT(dynamic, ::testing::ContainsRegex("FLAGS_1.*NOW.*PIE"));
  const std::string segments = readelf("-l", tool_path());
  EXPECT_THAT(segments, HasSubstr("GNU_RELRO"));
  EXPECT_THAT(segments, ::testing::ContainsRegex("GNU_STACK +[0-9a-fx ]+ RW "));
  EXPECT_THAT(segments, Not(HasSubstr("RWE")));
}

// -fstack-protector-strong and _FORTIFY_SOURCE leave calls of the C library's that end a program.
TEST_F(LinkedProgram, WatchesItsStackAndItsBuffers) {
  const std::string symbols = readelf("--dyn-syms", tool_path());
  EXPECT_THAT(symbols, HasSubstr("__stack_chk_fail"));
  EXPECT_THAT(symbols, ::testing::ContainsRegex("__(memcpy|snprintf|vsnprintf|read|fprintf)_chk"));
}

class Installed : public LinkedProgram {
 protected:
  void SetUp() override {
    LinkedProgram::SetUp();
    if (IsSkipped()) return;
    const std::string build = fs::path(tool_path()).parent_path();
    const ToolRun run = run_command_line(fmt::format("cmake --install '{}' --prefix '{}'", build, folder_.path()));
    ASSERT_EQ(run.status, 0) << run.err;
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  // With nothing of this machine's environment.
  [[nodiscard]] ToolRun run(const std::string& words) const {
    return run_command_line(fmt::format("cd / && env -i '{}' {}", path("bin/xpu-preflight"), words));
  }

 private:
  TemporaryDirectory folder_;
};

TEST_F(Installed, ChecksALaunchFromItsPlace) {
  const ToolRun good = run("check --no-kernel -- --model-path Qwen/Qwen3-0.6B");
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("clean: 0 errors"));
  EXPECT_EQ(run("check --no-kernel -- --model-path Qwen/Qwen3-0.6B --tp 3").status, 1);
}

TEST_F(Installed, IsStripped) {
  EXPECT_THAT(readelf("-S", path("bin/xpu-preflight")), Not(HasSubstr(".symtab")));
  EXPECT_THAT(readelf("-S", path("bin/xpu-preflight")), Not(HasSubstr(".debug_info")));
}

TEST_F(Installed, BringsTheManualTheCompletionsAndTheLicences) {
  const std::vector<std::pair<std::string, std::string>> written = {
      {"share/man/man1/xpu-preflight.1", "manual"},
      {"share/bash-completion/completions/xpu-preflight", "completions bash"},
      {"share/zsh/site-functions/_xpu-preflight", "completions zsh"},
      {"share/fish/vendor_completions.d/xpu-preflight.fish", "completions fish"}};
  for (const auto& [file, words] : written) EXPECT_EQ(read_file(path(file)), run(words).out) << file;
  EXPECT_EQ(read_file(path("share/doc/xpu-preflight/LICENSE")), read_file(source_directory() + "/LICENSE"));
  const std::string others = read_file(path("share/doc/xpu-preflight/THIRD_PARTY_LICENSES"));
  for (const char* part : {"GNU MP", "utf8proc", "{fmt}", "spdlog", "JSON for Modern C++", "CLI11", "toml++"}) {
    EXPECT_THAT(others, HasSubstr(part));
  }
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path(""))) {
    if (entry.is_regular_file()) files.insert(fs::relative(entry.path(), path("")));
  }
  EXPECT_EQ(files.size(), written.size() + 3) << "what else is installed?";
}

}  // namespace
}  // namespace preflight::testing
