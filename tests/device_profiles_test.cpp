#include "src/facts/device_profiles.h"

#include <gtest/gtest.h>

namespace preflight::facts {
namespace {

TEST(DeviceProfiles, EveryCardHasMemoryAndAName) {
  EXPECT_GE(device_profiles().size(), 12U);
  for (const auto& p : device_profiles()) {
    EXPECT_GT(p.device.memory_mib, 4000) << p.id;
    EXPECT_FALSE(p.device.name.empty()) << p.id;
    EXPECT_FALSE(p.architecture.empty()) << p.id;
  }
}

TEST(DeviceProfiles, AreFoundByIdAndByPartOfTheName) {
  EXPECT_EQ(find_device_profile("b60")->memory_mib, 24480);
  EXPECT_EQ(find_device_profile("Max 1550")->memory_mib, 65520);
  EXPECT_FALSE(find_device_profile("a770")->has_fp64);
  EXPECT_FALSE(find_device_profile("h100"));
  EXPECT_FALSE(find_device_profile(""));
}

}  // namespace
}  // namespace preflight::facts
