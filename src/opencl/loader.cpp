// Opens libOpenCL and names its errors. The library is not linked, so that machines without it can use the rest.
#include "src/opencl/loader.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>

#include <fmt/format.h>

namespace preflight::opencl {
namespace {

Api open_library() {
  // PoCL would compile each kernel a second time for the grid of its first launch, and leave that out of the binary
  // that program_cache.h keeps. Our groups have one size, so that there is nothing to gain from it.
  setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", /*overwrite=*/0);
  void* library = nullptr;
  for (const char* file : {"libOpenCL.so.1", "libOpenCL.so"}) {
    library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    fail(DeviceErrorKind::kNoLoader,
         "no OpenCL loader (libOpenCL.so.1) on this machine; install ocl-icd-libopencl1 and a driver such as "
         "intel-opencl-icd, or pocl-opencl-icd for the CPU");
  }
  Api found;
#define PREFLIGHT_FIND(name)                                                       \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, "cl" #name)); \
  if (found.name == nullptr) fail(DeviceErrorKind::kNoLoader, "the OpenCL loader lacks cl" #name " (OpenCL 1.2)");
  PREFLIGHT_OPENCL_FUNCTIONS(PREFLIGHT_FIND)
#undef PREFLIGHT_FIND
  return found;
}

struct ErrorName {
  cl_int code;
  std::string_view name;
  DeviceErrorKind kind;
};

// The codes a user can meet; the rest are our bugs and are shown as numbers.
constexpr std::array kErrorNames{
    ErrorName{CL_DEVICE_NOT_AVAILABLE, "device not available", DeviceErrorKind::kDeviceLost},
    ErrorName{CL_MEM_OBJECT_ALLOCATION_FAILURE, "memory allocation failed", DeviceErrorKind::kOutOfMemory},
    ErrorName{CL_OUT_OF_RESOURCES, "out of resources", DeviceErrorKind::kOutOfMemory},
    ErrorName{CL_OUT_OF_HOST_MEMORY, "out of host memory", DeviceErrorKind::kOutOfMemory},
    ErrorName{CL_INVALID_BUFFER_SIZE, "buffer larger than the device allows", DeviceErrorKind::kOutOfMemory},
    ErrorName{CL_BUILD_PROGRAM_FAILURE, "program does not build", DeviceErrorKind::kBuildFailure},
    ErrorName{CL_INVALID_COMMAND_QUEUE, "the queue is dead", DeviceErrorKind::kDeviceLost},
    ErrorName{CL_INVALID_CONTEXT, "the context is dead", DeviceErrorKind::kDeviceLost},
};

}  // namespace

const Api& api() {
  static const Api kLoaded = open_library();
  return kLoaded;
}

void fail(DeviceErrorKind kind, std::string message, std::string log) {
  throw Failure(DeviceError{kind, std::move(message), std::move(log)});
}

void check(cl_int status, std::string_view doing) {
  if (status == CL_SUCCESS) return;
  for (const ErrorName& error : kErrorNames) {
    if (error.code == status) fail(error.kind, fmt::format("OpenCL: {} while {}", error.name, doing));
  }
  fail(DeviceErrorKind::kInternal, fmt::format("OpenCL error {} while {}", status, doing));
}

}  // namespace preflight::opencl
