// Launches that name a device which is not there.
#include <gtest/gtest.h>

#include "src/resolve/core/other_devices.h"
#include "tests/support/midway.h"

namespace preflight::resolve {
namespace {

using testing::Midway;

TEST(OtherDevices, EndWhereTheirToolsAreMissing) {
  const struct {
    const char* device;
    Step step;
    const char* result;
  } kRows[] = {
      {"mps:0", validate_mps_runtime, "RuntimeError in validate_mps_runtime"},
      {"xpu", validate_mps_runtime, "ok"},
      {"npu", handle_npu_backends, "ImportError in get_npu_memory_capacity"},
      {"xpu", handle_npu_backends, "ok"},
      {"hpu", require_device_tools, "RuntimeError in get_hpu_memory_capacity"},
      {"musa", require_device_tools, "ValueError in get_mtgpu_memory_capacity"},
      {"xpu", require_device_tools, "ok"},
      {"cuda", require_device_tools, "ok"},
  };
  for (const auto& row : kRows) {
    Midway m(v0_5(23));
    EXPECT_EQ(m.set(Field::device, row.device).run(row.step), row.result) << row.device;
  }
}

TEST(OtherDevices, AppleDevicesLoseOverlapScheduling) {
  Midway m(v0_5(13));
  m.set(Field::device, "mps").run(handle_mps_backends);
  EXPECT_EQ(m.chain(), "_handle_mps_backends {\"disable_overlap_schedule\":true}\n");
}

}  // namespace
}  // namespace preflight::resolve
