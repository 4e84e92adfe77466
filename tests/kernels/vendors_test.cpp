// A driver that is installed but does not load is named with the dynamic loader's own words.
#include <gmock/gmock.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "src/opencl/vendors.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Vendors, ThatDoNotLoadAreNamedWithTheLoadersWords) {
  const testing::TemporaryDirectory folder;
  (void)folder.file("sound.icd", "libc.so.6\n");
  const std::string broken = folder.file("broken.icd", "libno-such-driver.so.1\n");
  (void)folder.file("readme.txt", "libneither.so\n");
  const char* given = std::getenv("OCL_ICD_VENDORS");  // the tests behind this one have their driver by it
  const std::optional<std::string> before = given == nullptr ? std::nullopt : std::optional<std::string>(given);
  setenv("OCL_ICD_VENDORS", folder.path().c_str(), 1);
  const std::string text = opencl::drivers_that_do_not_load();
  setenv("OCL_ICD_VENDORS", broken.c_str(), 1);
  const std::string of_file = opencl::drivers_that_do_not_load();
  before ? setenv("OCL_ICD_VENDORS", before->c_str(), 1) : unsetenv("OCL_ICD_VENDORS");
  EXPECT_THAT(text, HasSubstr("; broken.icd names libno-such-driver.so.1, which does not load: "));
  EXPECT_THAT(text, HasSubstr("cannot open shared object file"));
  EXPECT_THAT(text, Not(HasSubstr("sound")));
  EXPECT_THAT(text, Not(HasSubstr("neither")));
  EXPECT_EQ(text, of_file);
}

TEST(Vendors, AreToldWhereThereIsNoDevice) {
  const testing::TemporaryDirectory folder;
  (void)folder.file("broken.icd", "libno-such-driver.so.1\n");
  const auto listed = testing::run_tool({"check", "--list-devices"}, {}, {"OCL_ICD_VENDORS=" + folder.path()});
  EXPECT_THAT(listed.out + listed.err, HasSubstr("libno-such-driver.so.1"));
}

}  // namespace
}  // namespace preflight
