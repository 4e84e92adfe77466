// The cards of a machine: trees of sysfs files as the drivers lay them out, and the variables that leave cards out.
#include "src/facts/cards.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_tool.h"

namespace preflight::facts {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::TemporaryDirectory;

struct Tree {
  TemporaryDirectory dir;
  int cards = 0;
  void add(const std::string& id, const std::string& driver, const std::string& address = "") {
    const std::string card = "sys/class/drm/card" + std::to_string(cards);
    const std::string node = "renderD" + std::to_string(128 + cards);
    dir.file(card + "/device/vendor", "0x8086\n");
    dir.file(card + "/device/device", "0x" + id + "\n");
    dir.file(card + "/device/uevent",
             (driver.empty() ? "" : "DRIVER=" + driver + "\n") +
                 "PCI_SLOT_NAME=" + (address.empty() ? "0000:0" + std::to_string(cards) + ":00.0" : address) + "\n");
    dir.file(card + "/device/drm/" + node + "/dev", "226:128\n");
    dir.file("dev/dri/" + node, "");
    ++cards;
  }
  void also(const std::string& file, const std::string& text) const { dir.file("sys/class/drm/" + file, text); }
  [[nodiscard]] Machine read() const { return read_cards(dir.path()); }
};

TEST(Cards, AreKnownByTheirPciIdWhicheverDriverHoldsThem) {
  struct Row {
    const char* id;
    const char* driver;
    const char* name;
    std::int64_t memory_mib;
    std::size_t devices;
  };
  const Row rows[] = {{"e211", "xe", "Intel(R) Arc(TM) Pro B60 Graphics", 24480, 1},
                      {"e223", "xe", "Intel(R) Arc(TM) Pro B70 Graphics", 32656, 1},
                      {"e20b", "xe", "Intel(R) Arc(TM) B580 Graphics", 12216, 1},
                      {"56a0", "i915", "Intel(R) Arc(TM) A770 Graphics", 16225, 1},
                      {"56c0", "i915", "Intel(R) Data Center GPU Flex 170", 14248, 1},
                      {"56c1", "i915", "Intel(R) Data Center GPU Flex 140", 0, 1},  // nobody told torch's figure here
                      {"7d55", "i915", "Intel(R) Arc(TM) Graphics (Meteor Lake)", 0, 1},
                      {"b080", "xe", "Intel(R) Arc(TM) B390 GPU", 0, 1},
                      {"0bda", "i915", "Intel(R) Data Center GPU Max 1100", 49080, 1},
                      {"0bd5", "i915", "Intel(R) Data Center GPU Max 1550", 65520, 2}};  // a device per tile
  for (const Row& row : rows) {
    Tree tree;
    tree.add(row.id, row.driver);
    const Machine machine = tree.read();
    ASSERT_EQ(machine.cards.size(), 1U) << row.id;
    EXPECT_EQ(machine.cards[0].name, row.name);
    EXPECT_EQ(machine.cards[0].driver, row.driver);
    EXPECT_EQ(machine.cards[0].render_node, "renderD128");
    const auto visible = visible_devices(machine, {});
    ASSERT_EQ(visible.devices.size(), row.devices) << row.id;
    EXPECT_EQ(visible.devices[0].memory_mib, row.memory_mib) << row.id;
  }
}

TEST(Cards, WhoseNodeIsNotHereDoNotCount) {
  Tree tree;
  tree.add("e211", "xe");
  tree.add("e211", "xe");
  ASSERT_EQ(visible_devices(tree.read(), {}).devices.size(), 2U);
  std::filesystem::remove(tree.dir.path() + "/dev/dri/renderD129");  // a container that was given one of two
  EXPECT_EQ(visible_devices(tree.read(), {}).devices.size(), 1U);
  EXPECT_THAT(tree.read().notes, Contains(HasSubstr("/dev/dri/renderD129")));
  std::filesystem::remove_all(tree.dir.path() + "/sys/class/drm/card0/device/drm");  // a card without any
  EXPECT_TRUE(visible_devices(tree.read(), {}).devices.empty());
}

TEST(Cards, TheDriversFigureCountsWhereItIsLess) {
  Tree tree;
  tree.add("56a0", "i915");  // sold with 8 and with 16 GiB
  tree.also("card0/lmem_total_bytes", "8589934592\n");
  EXPECT_EQ(visible_devices(tree.read(), {}).devices.at(0).memory_mib, 8192);
  tree.also("card0/lmem_total_bytes", "17179869184\n");
  EXPECT_EQ(visible_devices(tree.read(), {}).devices.at(0).memory_mib, 16225);
  EXPECT_EQ(visible_devices(tree.read(), {}).sold_smaller, nullptr);
}

// The kernel's own i915 does not tell, and the id stands for both.
TEST(Cards, MemoryThatNeitherTheIdNorTheDriverTellsIsAssumedAndSaid) {
  Tree tree;
  tree.add("56a0", "i915");
  ASSERT_NE(visible_devices(tree.read(), {}).sold_smaller, nullptr);
  const auto facts = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"facts", "--sysroot", tree.dir.path()};
    words.insert(words.end(), more.begin(), more.end());
    return testing::run_tool(words).out;
  };
  const auto device = nlohmann::json::parse(facts({"--format", "json"}))["device"];
  EXPECT_EQ(device["memory_origin"], "assumed");
  EXPECT_EQ(device["origin"], "system");
  EXPECT_THAT(facts({}), HasSubstr("is sold with 8096 MiB, too"));
  EXPECT_THAT(facts({"--device-memory", "16225MiB"}), ::testing::Not(HasSubstr("is sold with")));
  tree.add("56a1", "i915");  // one alone
  EXPECT_EQ(visible_devices(tree.read(), {{"ZE_AFFINITY_MASK", "1"}}).sold_smaller, nullptr);
}

TEST(Cards, AnIdNobodyKnowsIsSaidAndItsMemoryIsTheDrivers) {
  Tree tree;
  tree.add("abcd", "xe");
  ASSERT_EQ(visible_devices(tree.read(), {}).devices.size(), 1U);  // torch finds it, too
  EXPECT_EQ(visible_devices(tree.read(), {}).devices[0].memory_mib, 0);
  EXPECT_THAT(visible_devices(tree.read(), {}).devices[0].name, HasSubstr("0xabcd"));
  tree.also("card0/device/tile0/physical_vram_size_bytes", "25769803776\n");
  const auto visible = visible_devices(tree.read(), {});
  ASSERT_EQ(visible.devices.size(), 1U);
  EXPECT_EQ(visible.devices[0].memory_mib, 24576);
  EXPECT_THAT(visible.devices[0].name, HasSubstr("0xabcd"));
}

TEST(Cards, OfOthersAndWithoutAComputeDriverDoNotCount) {
  Tree tree;
  tree.add("e211", "vfio-pci");
  tree.add("e211", "");
  tree.add("e211", "xe");
  tree.also("card3/device/vendor", "0x1002\n");
  tree.also("card3/device/device", "0x744c\n");
  tree.also("card4/device/vendor", "");
  tree.also("card0-DP-1/device/vendor", "0x8086\n");
  const Machine machine = tree.read();
  EXPECT_EQ(machine.cards.size(), 3U);
  EXPECT_EQ(visible_devices(machine, {}).devices.size(), 1U);
  EXPECT_THAT(machine.notes, Contains(HasSubstr("vfio-pci")));
  EXPECT_THAT(machine.notes, Contains(HasSubstr("no driver")));
}

// Tiles that are devices have no tiles: the compute runtime passes such entries over.
TEST(Cards, AMaskOfTilesWithoutWholeCardsLeavesNone) {
  Tree tree;
  tree.add("0bd5", "i915");
  for (const char* hierarchy : {"FLAT", "COMBINED", ""}) {
    const auto visible =
        visible_devices(tree.read(), {{"ZE_AFFINITY_MASK", "0.0,0.1"}, {"ZE_FLAT_DEVICE_HIERARCHY", hierarchy}});
    EXPECT_TRUE(visible.devices.empty()) << hierarchy;
    EXPECT_THAT(visible.notes, Contains(HasSubstr("COMPOSITE")));
  }
}

// torch leaves a processor's own graphics out where there is a card.
TEST(Cards, IntegratedGraphicsCountOnlyAlone) {
  Tree tree;
  tree.add("64a0", "xe", "0000:00:02.0");
  EXPECT_EQ(visible_devices(tree.read(), {}).devices.size(), 1U);
  tree.add("e20b", "xe");
  const auto visible = visible_devices(tree.read(), {});
  ASSERT_EQ(visible.devices.size(), 1U);
  EXPECT_THAT(visible.devices[0].name, HasSubstr("B580"));
}

// Level Zero numbers it last, whatever its place on the bus, and torch takes it where nothing else is left.
TEST(Cards, AMaskMayLeaveIntegratedGraphicsAlone) {
  Tree tree;
  tree.add("64a0", "xe", "0000:00:02.0");
  tree.add("e20b", "xe");
  tree.add("e211", "xe");
  const std::pair<Environment, std::vector<const char*>> rows[] = {
      {{}, {"B580", "B60"}},
      {{{"ZE_AFFINITY_MASK", "0"}}, {"B580"}},
      {{{"ZE_AFFINITY_MASK", "1"}}, {"B60"}},
      {{{"ZE_AFFINITY_MASK", "2"}}, {"140V"}},
      {{{"ZE_AFFINITY_MASK", "1,2"}}, {"B60"}},
      {{{"ZE_AFFINITY_MASK", "0"}, {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"}}, {"140V"}},
      {{{"ZE_AFFINITY_MASK", "1"}, {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"}}, {"B580"}},
      {{{"ZE_AFFINITY_MASK", "1"}, {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "0"}}, {"B60"}},
      {{{"ONEAPI_DEVICE_SELECTOR", "level_zero:2"}}, {"140V"}},
      {{{"ONEAPI_DEVICE_SELECTOR", "!level_zero:0"}}, {"B60"}},
      {{{"ONEAPI_DEVICE_SELECTOR", "level_zero:*"}}, {"B580", "B60"}},
  };
  for (const auto& [env, names] : rows) {
    std::string text;
    for (const auto& [name, value] : env) text.append(name).append("=").append(value).append(" ");
    const auto visible = visible_devices(tree.read(), env);
    ASSERT_EQ(visible.devices.size(), names.size()) << text;
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_THAT(visible.devices[i].name, HasSubstr(names[i])) << text;
  }
}

TEST(Cards, VariablesLeaveSomeOut) {
  struct Row {
    Environment env;
    std::size_t devices;
    std::int64_t memory_mib;
  };
  Tree tree;
  for (int i = 0; i < 4; ++i) tree.add("0bd5", "i915");
  const Row rows[] = {
      {{}, 8, 65520},
      {{{"ZE_FLAT_DEVICE_HIERARCHY", "FLAT"}}, 8, 65520},
      {{{"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}, 4, 131040},
      {{{"ZE_AFFINITY_MASK", "0,1"}}, 2, 65520},
      {{{"ZE_AFFINITY_MASK", "0,1"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}, 2, 131040},
      {{{"ZE_AFFINITY_MASK", "1.0"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}, 1, 65520},
      {{{"ZE_AFFINITY_MASK", "7,8"}}, 1, 65520},
      {{{"ZE_AFFINITY_MASK", "default"}}, 8, 65520},
      {{{"ZE_AFFINITY_MASK", "0.0,0.1"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}, 1, 131040},
      {{{"ZE_AFFINITY_MASK", "0.1,0.1"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}, 1, 65520},
      {{{"ZE_AFFINITY_MASK", "0.0,2.1"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}, 2, 65520},
      {{{"ZE_AFFINITY_MASK", "0.1,0"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}, 1, 131040},
      {{{"ZE_AFFINITY_MASK", "0.2,3"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}, 1, 131040},  // no third tile
      {{{"ONEAPI_DEVICE_SELECTOR", "level_zero:0.1"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}, 1, 65520},
      {{{"ONEAPI_DEVICE_SELECTOR", "level_zero:*.*"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}, 8, 65520},
      {{{"ONEAPI_DEVICE_SELECTOR", "level_zero:1.*,3"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}, 3, 65520},
      {{{"ONEAPI_DEVICE_SELECTOR", "Level_Zero:GPU"}}, 8, 65520},
      {{{"ONEAPI_DEVICE_SELECTOR", "!level_zero:0,1"}}, 6, 65520},
      {{{"ONEAPI_DEVICE_SELECTOR", "level_zero:*;!level_zero:7"}}, 7, 65520},
      {{{"ONEAPI_DEVICE_SELECTOR", "!opencl:*"}}, 8, 65520},
      {{{"ONEAPI_DEVICE_SELECTOR", "level_zero:0,3"}}, 2, 65520},
      {{{"ONEAPI_DEVICE_SELECTOR", "level_zero:*"}}, 8, 65520},
      {{{"ONEAPI_DEVICE_SELECTOR", "*:gpu"}}, 8, 65520},
      {{{"ONEAPI_DEVICE_SELECTOR", "level_zero:0;level_zero:1"}}, 2, 65520},
      {{{"ONEAPI_DEVICE_SELECTOR", "level_zero:1"}, {"ZE_AFFINITY_MASK", "4,5"}}, 1, 65520},
  };
  for (const Row& row : rows) {
    const auto visible = visible_devices(tree.read(), row.env);
    std::string text;
    for (const auto& [name, value] : row.env) text.append(name).append("=").append(value).append(" ");
    ASSERT_EQ(visible.devices.size(), row.devices) << text;
    EXPECT_EQ(visible.devices[0].memory_mib, row.memory_mib) << text;
    EXPECT_TRUE(visible.notes.empty()) << text;
  }
}

TEST(Cards, AVariableThatIsNotUnderstoodIsSaidAndLeavesAll) {
  Tree tree;
  tree.add("e211", "xe");
  tree.add("e211", "xe");
  for (const Environment& env :
       {Environment{{"ZE_AFFINITY_MASK", "first"}}, Environment{{"ONEAPI_DEVICE_SELECTOR", "!level_zero:0.1"}},
        Environment{{"ONEAPI_DEVICE_SELECTOR", "gpu"}}}) {
    const auto visible = visible_devices(tree.read(), env);
    EXPECT_EQ(visible.devices.size(), 2U);
    EXPECT_EQ(visible.notes.size(), 1U);
  }
  const auto none = visible_devices(tree.read(), {{"ONEAPI_DEVICE_SELECTOR", "opencl:gpu"}});
  EXPECT_TRUE(none.devices.empty());
  EXPECT_THAT(none.notes, Contains(HasSubstr("no Level Zero GPU")));
}

TEST(Cards, OneTooManyOrTooFewOfAssumedOnesFollowsTheMask) {
  std::vector<std::string> notes;
  EXPECT_EQ(devices_left(8, {{"ZE_AFFINITY_MASK", "0,1,2"}}, notes), 3);
  EXPECT_EQ(devices_left(2, {{"ZE_AFFINITY_MASK", "0,1,2"}}, notes), 2);
  EXPECT_EQ(devices_left(8, {}, notes), std::nullopt);
  EXPECT_EQ(devices_left(4, {{"ZE_AFFINITY_MASK", "0.1,2.0,2.1"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}, notes),
            2);
  EXPECT_TRUE(notes.empty());
}

}  // namespace
}  // namespace preflight::facts
