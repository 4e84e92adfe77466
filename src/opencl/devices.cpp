// Lists devices and picks one by index or name. Tested by tests/kernels/runner_test.cpp and tests/check_cli_test.cpp.
#include "src/opencl/devices.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/opencl/vendors.h"

namespace preflight {
namespace opencl {
namespace {

template <typename Handle, typename Query>
std::string text_info(Query query, Handle handle, cl_uint what) {
  std::size_t size = 0;
  if (query(handle, what, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::string text(size, '\0');
  if (query(handle, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

template <typename T>
T number_info(cl_device_id device, cl_device_info what) {
  T value{};
  check(api().GetDeviceInfo(device, what, sizeof value, &value, nullptr), "reading a device property");
  return value;
}

// What no extension tells, noted among them. NVIDIA's compute capability: "sm_90". Sub-groups of the smallest size that
// Intel's driver lets a kernel ask for: "sub_group_16".
std::string noted_abilities(cl_device_id device, std::string_view extensions) {
  constexpr cl_device_info kComputeCapabilityMajor = 0x4000;  // …_NV
  constexpr cl_device_info kComputeCapabilityMinor = 0x4001;
  constexpr cl_device_info kSubGroupSizes = 0x4108;  // CL_DEVICE_SUB_GROUP_SIZES_INTEL
  if (extensions.find("cl_nv_device_attribute_query") != std::string_view::npos) {
    return fmt::format(" sm_{}{}", number_info<cl_uint>(device, kComputeCapabilityMajor),
                       number_info<cl_uint>(device, kComputeCapabilityMinor));
  }
  if (extensions.find("cl_intel_required_subgroup_size") == std::string_view::npos) return {};
  std::array<std::size_t, 8> sizes{};
  if (api().GetDeviceInfo(device, kSubGroupSizes, sizeof sizes, sizes.data(), nullptr) != CL_SUCCESS) return {};
  std::size_t smallest = 0;
  for (const std::size_t size : sizes) smallest = smallest == 0 || (size != 0 && size < smallest) ? size : smallest;
  return smallest == 0 ? std::string() : fmt::format(" sub_group_{}", smallest);
}

DeviceInfo describe(cl_platform_id platform, cl_device_id device) {
  DeviceInfo info;
  info.platform = text_info(api().GetPlatformInfo, platform, CL_PLATFORM_NAME);
  info.name = text_info(api().GetDeviceInfo, device, CL_DEVICE_NAME);
  info.driver = text_info(api().GetDeviceInfo, device, CL_DRIVER_VERSION);
  info.version = text_info(api().GetDeviceInfo, device, CL_DEVICE_VERSION);
  info.extensions = text_info(api().GetDeviceInfo, device, CL_DEVICE_EXTENSIONS);
  const auto type = number_info<cl_device_type>(device, CL_DEVICE_TYPE);
  info.is_gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
  info.is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0 && !info.is_gpu;  // a simulator says both
  info.compute_units = number_info<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS);
  info.global_memory_bytes = static_cast<std::int64_t>(number_info<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE));
  info.max_allocation_bytes = static_cast<std::int64_t>(number_info<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  info.local_memory_bytes = static_cast<std::int64_t>(number_info<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE));
  info.max_work_group_size = static_cast<std::int64_t>(number_info<std::size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  info.extensions += noted_abilities(device, info.extensions);
  return info;
}

std::string listing(const std::vector<FoundDevice>& devices) {
  std::string text;
  for (const FoundDevice& device : devices) {
    text += fmt::format("{}{} = {} ({})", text.empty() ? "" : "; ", device.info.index, device.info.name,
                        device.info.platform);
  }
  return text;
}

// An Intel GPU is what the tool is about; then any GPU; then whatever comes first.
int preference(const DeviceInfo& info) {
  if (!info.is_gpu) return 0;
  return ascii_lower(info.name + info.platform).find("intel") == std::string::npos ? 1 : 2;
}

}  // namespace

std::vector<FoundDevice> find_devices() {
  cl_uint count = 0;
  // A loader without drivers reports an error of its own instead of zero platforms.
  if (api().GetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) count = 0;
  std::vector<cl_platform_id> platforms(count);
  if (count > 0) check(api().GetPlatformIDs(count, platforms.data(), nullptr), "listing platforms");
  std::vector<FoundDevice> devices;
  for (cl_platform_id platform : platforms) {
    cl_uint device_count = 0;
    if (api().GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &device_count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(device_count);
    check(api().GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, device_count, ids.data(), nullptr), "listing devices");
    for (cl_device_id id : ids) {
      devices.push_back({platform, id, describe(platform, id)});
      devices.back().info.index = static_cast<int>(devices.size()) - 1;
    }
  }
  if (devices.empty()) {
    fail(DeviceErrorKind::kNoPlatform,
         "the OpenCL loader finds no device; install a driver (intel-opencl-icd, or pocl-opencl-icd for the CPU) and "
         "check that this user may open /dev/dri/renderD*" +
             drivers_that_do_not_load());
  }
  return devices;
}

FoundDevice choose_device(const DeviceChoice& choice) {
  const std::vector<FoundDevice> devices = find_devices();
  if (choice.text.empty()) {
    return *std::ranges::max_element(devices, {}, [](const FoundDevice& d) { return preference(d.info); });
  }
  const char* end = choice.text.data() + choice.text.size();
  std::size_t index = 0;
  if (const auto [stop, status] = std::from_chars(choice.text.data(), end, index);
      status == std::errc{} && stop == end) {
    if (index < devices.size()) return devices[index];
    fail(DeviceErrorKind::kUnknownDevice,
         fmt::format("there is no OpenCL device {}; devices are {}", choice.text, listing(devices)));
  }
  std::vector<FoundDevice> matches;
  for (const FoundDevice& device : devices) {
    if (ascii_lower(device.info.name + " " + device.info.platform).find(ascii_lower(choice.text)) !=
        std::string::npos) {
      matches.push_back(device);
    }
  }
  if (matches.size() == 1) return matches.front();
  fail(DeviceErrorKind::kUnknownDevice,
       fmt::format("'{}' names {} OpenCL devices; devices are {}{}", choice.text, matches.empty() ? "no" : "several",
                   listing(devices), matches.empty() ? drivers_that_do_not_load() : ""));
}

}  // namespace opencl

tl::expected<std::vector<DeviceInfo>, DeviceError> list_devices() {
  try {
    std::vector<DeviceInfo> infos;
    for (const opencl::FoundDevice& device : opencl::find_devices()) infos.push_back(device.info);
    return infos;
  } catch (const opencl::Failure& failure) {
    return tl::make_unexpected(failure.error());
  }
}

std::string_view name_of(DeviceErrorKind kind) {
  switch (kind) {
    case DeviceErrorKind::kNoLoader:
      return "no-loader";
    case DeviceErrorKind::kNoPlatform:
      return "no-device";
    case DeviceErrorKind::kUnknownDevice:
      return "unknown-device";
    case DeviceErrorKind::kOutOfMemory:
      return "out-of-memory";
    case DeviceErrorKind::kBuildFailure:
      return "build-failure";
    case DeviceErrorKind::kDeviceLost:
      return "device-lost";
    case DeviceErrorKind::kCrashed:
      return "crashed";
    case DeviceErrorKind::kKilled:
      return "killed";
    case DeviceErrorKind::kTimedOut:
      return "timed-out";
    case DeviceErrorKind::kInternal:
      break;
  }
  return "internal";
}

}  // namespace preflight
