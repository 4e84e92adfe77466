// Compiled programs are kept between runs, and nothing that is wrong with what is kept reaches a kernel.
#include "src/opencl/program_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

namespace fs = std::filesystem;
using opencl::ProgramCache;

std::vector<fs::path> files_in(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) files.push_back(entry.path());
  return files;
}

TEST(ProgramCache, GivesBackWhatWasStoredUnderTheWholeKey) {
  const TemporaryDirectory directory;
  const ProgramCache cache(fs::path(directory.path()) / "made" / "on demand");
  const std::string binary("\0\n1 2\xff", 6);
  EXPECT_EQ(cache.find("key"), std::nullopt);
  cache.store("key", binary);
  EXPECT_EQ(cache.find("key"), binary);
  EXPECT_EQ(cache.find("ke"), std::nullopt);
  EXPECT_EQ(cache.find("key "), std::nullopt);
  cache.store("key", "newer");
  EXPECT_EQ(cache.find("key"), "newer");
}

TEST(ProgramCache, EveryPartOfTheKeyCounts) {
  DeviceInfo device;
  const std::string key = ProgramCache::key(device, "-DA", "source");
  EXPECT_NE(key, ProgramCache::key(device, "-DB", "source"));
  EXPECT_NE(key, ProgramCache::key(device, "-DA", "other"));
  for (std::string DeviceInfo::*part :
       {&DeviceInfo::platform, &DeviceInfo::version, &DeviceInfo::name, &DeviceInfo::driver, &DeviceInfo::extensions}) {
    DeviceInfo changed;
    changed.*part = "changed";
    EXPECT_NE(key, ProgramCache::key(changed, "-DA", "source"));
  }
}

TEST(ProgramCache, ADamagedFileIsNoProgram) {
  const TemporaryDirectory directory;
  const ProgramCache cache(directory.path());
  cache.store("the key", "the binary");
  const std::string path = files_in(directory.path()).at(0);
  const std::string sound = read_file(path);
  for (std::size_t i = 0; i < sound.size(); ++i) {
    std::string damaged = sound;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write_file(path, damaged);
    EXPECT_EQ(cache.find("the key"), std::nullopt) << "byte " << i;
    write_file(path, sound.substr(0, i));
    EXPECT_EQ(cache.find("the key"), std::nullopt) << "cut at " << i;
  }
  write_file(path, sound);
  EXPECT_EQ(cache.find("the key"), "the binary");
}

TEST(ProgramCache, ForgetsTheOldest) {
  const TemporaryDirectory directory;
  const ProgramCache cache(directory.path());
  cache.store("first", "1");
  fs::last_write_time(files_in(directory.path()).at(0), fs::file_time_type::clock::now() - std::chrono::hours(1));
  for (std::size_t i = 0; i < ProgramCache::kMostFiles; ++i) cache.store(std::to_string(i), "2");
  EXPECT_EQ(cache.find("first"), std::nullopt);
  EXPECT_EQ(cache.find(std::to_string(ProgramCache::kMostFiles - 1)), "2");
  EXPECT_LE(files_in(directory.path()).size(), ProgramCache::kMostFiles);
}

// A folder that was there is its owner's: no file of others is removed, whatever it is called, and no mode changes.
TEST(ProgramCache, TouchesNothingButItsOwnFiles) {
  const TemporaryDirectory directory;
  fs::permissions(directory.path(), static_cast<fs::perms>(0755));
  const std::vector<std::string> foreign = {"notes.txt", "0123456789abcdef.clbin", "0123456789abcdef", "x.bin"};
  for (const std::string& name : foreign) {
    directory.file(name, "somebody's");
    fs::last_write_time(fs::path(directory.path()) / name, fs::file_time_type::clock::now() - std::chrono::hours(9));
  }
  const ProgramCache cache(directory.path());
  for (std::size_t i = 0; i < ProgramCache::kMostFiles + 9; ++i) cache.store(std::to_string(i), "1");
  for (const std::string& name : foreign) EXPECT_EQ(read_file(directory.path() + "/" + name), "somebody's") << name;
  EXPECT_EQ(fs::status(directory.path()).permissions(), static_cast<fs::perms>(0755));
  const fs::path made = fs::path(directory.path()) / "made";
  ProgramCache(made).store("key", "1");
  EXPECT_EQ(fs::status(made).permissions(), fs::perms::owner_all);
}

// What is read from there runs as this user's code.
TEST(ProgramCache, TakesNothingThatOthersMayWrite) {
  const TemporaryDirectory directory;
  const ProgramCache cache(directory.path());
  cache.store("key", "binary");
  const fs::path file = files_in(directory.path()).at(0);
  const fs::perms own = fs::status(file).permissions();
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(file, others, fs::perm_options::add);
    EXPECT_EQ(cache.find("key"), std::nullopt);
    fs::permissions(file, own);
    EXPECT_EQ(cache.find("key"), "binary");
    fs::permissions(directory.path(), others, fs::perm_options::add);
    EXPECT_EQ(cache.find("key"), std::nullopt);
    cache.store("another", "binary");
    EXPECT_EQ(files_in(directory.path()).size(), 1U);
    fs::permissions(directory.path(), fs::perms::owner_all);
    EXPECT_EQ(cache.find("key"), "binary");
  }
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  constexpr uid_t kNobody = 65534;
  for (const fs::path& given : {file, fs::path(directory.path())}) {
    ASSERT_EQ(chown(given.c_str(), kNobody, kNobody), 0);
    EXPECT_EQ(cache.find("key"), std::nullopt) << given;
    ASSERT_EQ(chown(given.c_str(), 0, 0), 0);
    EXPECT_EQ(cache.find("key"), "binary");
  }
}

TEST(ProgramCache, WithoutADirectoryNothingIsKept) {
  const ProgramCache off("");
  off.store("key", "binary");
  EXPECT_FALSE(off.is_on());
  EXPECT_EQ(off.find("key"), std::nullopt);
  const ProgramCache unwritable("/proc/nowhere");
  unwritable.store("key", "binary");
  EXPECT_EQ(unwritable.find("key"), std::nullopt);
}

const std::vector<std::string> kCheck = {"check", "--format", "json", "--case",
                                         "paged_decode --heads 8 --kv-heads 2 --cache-seqlens 65"};

constexpr std::size_t kPrograms = 2;  // the kernel's, and the one that spoils local memory before it

std::string verdict_of(const ToolRun& run) {
  return nlohmann::json::parse(run.out)["kernel"]["cases"].at(0).value("verdict", "none");
}

TEST(ProgramCache, ASecondRunJudgesTheKeptProgramAndADamagedOneIsBuiltAgain) {
  const TemporaryDirectory directory;
  const std::vector<std::string> env = {"XPU_PREFLIGHT_CACHE_DIR=" + directory.path()};
  const ToolRun first = run_tool(kCheck, {}, env);
  if (nlohmann::json::parse(first.out)["kernel"].contains("error")) GTEST_SKIP() << "no OpenCL device";
  EXPECT_EQ(verdict_of(first), "pass") << first.out;
  const auto files = files_in(directory.path());
  ASSERT_EQ(files.size(), kPrograms);
  for (const fs::path& file : files) {
    const auto written = fs::last_write_time(file);
    EXPECT_EQ(verdict_of(run_tool(kCheck, {}, env)), "pass");
    EXPECT_EQ(fs::last_write_time(file), written) << "built again";
    const std::string sound = read_file(file);
    write_file(file, sound.substr(0, sound.size() / 2));
    EXPECT_EQ(verdict_of(run_tool(kCheck, {}, env)), "pass");
    EXPECT_EQ(read_file(file).size(), sound.size()) << "not built again";
  }
}

// What the driver that computes nonsense says of a case: it ran. A driver that could not build would say so.
TEST(ProgramCache, ABinaryThatTheDriverRefusesIsBuiltFromSource) {
  const TemporaryDirectory directory;
  const auto run = [&](const std::string& fault) {
    return verdict_of(run_tool(kCheck, {},
                               {"XPU_PREFLIGHT_CACHE_DIR=" + directory.path(),
                                "LD_LIBRARY_PATH=" + fake_opencl_directory(), "FAKE_OPENCL=" + fault}));
  };
  EXPECT_EQ(run(""), "fail");
  ASSERT_EQ(files_in(directory.path()).size(), kPrograms);
  EXPECT_EQ(run("refused-binary"), "fail");
  EXPECT_EQ(run("build-failure"), "error");
}

}  // namespace
}  // namespace preflight::testing
