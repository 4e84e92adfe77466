// What tells one state of a file from another, for what a run keeps of it.
#include "src/base/file_state.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <ctime>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/run_tool.h"

namespace preflight {
namespace {

// Written then, as far as the file says; its owner and mode are changed now.
void set_written(const std::string& path, std::int64_t seconds) {
  const std::array<timespec, 2> times{{{.tv_sec = seconds, .tv_nsec = 0}, {.tv_sec = seconds, .tv_nsec = 0}}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
}

TEST(FileState, IsNotToldOfWhatMayBeWrittenUnseen) {
  const testing::TemporaryDirectory dir;
  const std::string path = dir.file("a", "one");
  EXPECT_FALSE(settled_state(path));  // of this moment
  set_written(path, 1'000'000'000);
  EXPECT_FALSE(settled_state(path));  // that was now, too
  testing::wait_until_settled();
  EXPECT_TRUE(settled_state(path));
  EXPECT_FALSE(settled_state(dir.path()));
  EXPECT_FALSE(settled_state(dir.path() + "/none"));
  EXPECT_FALSE(settled_state("/proc/self/status"));
}

TEST(FileState, IsTheSameUnderEveryNameAndAnotherAfterEachChange) {
  const testing::TemporaryDirectory dir;
  const std::string path = dir.file("a", "one");
  const std::string other = dir.file("b", "one");
  std::filesystem::create_hard_link(path, dir.path() + "/c");
  testing::wait_until_settled();
  const auto first = settled_state(path);
  ASSERT_TRUE(first);
  EXPECT_EQ(settled_state(dir.path() + "/c"), first);
  EXPECT_NE(settled_state(other), first);
  dir.file("a", "two");
  set_written(path, first->written / 1'000'000'000);
  testing::wait_until_settled();
  const auto second = settled_state(path);
  ASSERT_TRUE(second);
  EXPECT_NE(second, first);
}

}  // namespace
}  // namespace preflight
