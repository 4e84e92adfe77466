#include "src/facts/device_profiles.h"

#include <algorithm>

#include <gmock/gmock.h>
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

// What several cards are called is none of them: the first of a list would be a guess.
TEST(DeviceProfiles, AreNotGuessed) {
  for (const char* one : {"B60", "pro b60", "Arc Pro B60", "Intel(R) Arc(TM) Pro B60 Graphics", "b60 graphics"}) {
    ASSERT_TRUE(find_device_profile(one)) << one;
    EXPECT_EQ(find_device_profile(one)->name, "Intel(R) Arc(TM) Pro B60 Graphics") << one;
  }
  for (const char* none : {"0", "1.5", "60", "580", "b6", "b60gr", "ro b60", "b60 arc", "-1", "nan"}) {
    EXPECT_TRUE(profiles_meant(none).empty()) << none;
    EXPECT_THAT(why_no_profile(none), ::testing::StartsWith("not known; known are a380, a580, ")) << none;
  }
  EXPECT_FALSE(find_device_profile("arc"));
  EXPECT_FALSE(find_device_profile("Max"));
  EXPECT_EQ(why_no_profile("Arc Pro"), "several cards are called so: give one of b50, b60, b65, b70");
}

TEST(DeviceProfiles, AreFoundByIdAndByPartOfTheName) {
  EXPECT_EQ(find_device_profile("b60")->memory_mib, 24480);
  EXPECT_EQ(find_device_profile("Max 1550")->memory_mib, 65520);
  EXPECT_FALSE(find_device_profile("a770")->has_fp64);
  EXPECT_FALSE(find_device_profile("h100"));
  EXPECT_FALSE(find_device_profile(""));
}

TEST(OtherCards, StandInPlaceOfThoseThereAre) {
  DeviceFacts now = *find_device_profile("b60");
  now.count = 2;
  now.host_memory_mib = 65536;
  const auto larger = cards_in_place_of(now, "max1100");
  EXPECT_EQ(larger->memory_mib, 49080);
  EXPECT_EQ(larger->count, 2);
  EXPECT_EQ(larger->host_memory_mib, 65536);
  EXPECT_EQ(cards_in_place_of(now, "x4")->count, 4);
  EXPECT_EQ(cards_in_place_of(now, "x4")->name, now.name);
  const auto both = cards_in_place_of(now, "max1550x16");
  EXPECT_EQ(both->count, 16);
  EXPECT_EQ(both->memory_mib, 65520);
  EXPECT_EQ(cards_in_place_of(now, "140v")->count, 1);
  for (const char* none : {"", "x", "x0", "h100", "h100x4", "b60x", "140vx2"}) {
    EXPECT_FALSE(cards_in_place_of(now, none)) << none;
  }
}

// --no-fp64 is said of a card that has it: it is said of the next one, too.
TEST(OtherCards, LackWhatWasSaidToBeLacking) {
  DeviceFacts now = *find_device_profile("b60");
  now.has_fp64 = false;
  EXPECT_FALSE(cards_in_place_of(now, "b70")->has_fp64);
  EXPECT_TRUE(cards_in_place_of(*find_device_profile("a770"), "b70")->has_fp64);
}

TEST(OtherCards, AreTheNearestFirst) {
  const auto names = other_cards(*find_device_profile("b60"));
  EXPECT_EQ(names.front(), "b65");
  EXPECT_EQ(names.size() + 1,
            static_cast<std::size_t>(std::ranges::count(device_profiles(), false, &DeviceProfile::integrated)));
  const auto of_b70 = other_cards(*find_device_profile("b70"));
  EXPECT_EQ(of_b70.front(), "max1100");  // B65 is the same chip with the same memory
  EXPECT_EQ(std::ranges::count(of_b70, "b65"), 0);
  EXPECT_EQ(largest_card(), "max1550");
}

}  // namespace
}  // namespace preflight::facts
