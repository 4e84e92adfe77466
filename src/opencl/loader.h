// The functions of libOpenCL, found at run time. Only files of this folder include this header.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <string_view>

#include "src/opencl/opencl.h"

namespace preflight::opencl {

// The functions used, without their "cl" prefix.
// clang-format off
#define PREFLIGHT_OPENCL_FUNCTIONS(X) \
  X(GetPlatformIDs) \
  X(GetPlatformInfo) \
  X(GetDeviceIDs) \
  X(GetDeviceInfo) \
  X(CreateContext) \
  X(ReleaseContext) \
  X(CreateCommandQueue) \
  X(ReleaseCommandQueue) \
  X(CreateBuffer) \
  X(CreateSubBuffer) \
  X(ReleaseMemObject) \
  X(EnqueueWriteBuffer) \
  X(EnqueueReadBuffer) \
  X(EnqueueFillBuffer) \
  X(EnqueueMapBuffer) \
  X(EnqueueUnmapMemObject) \
  X(CreateProgramWithSource) \
  X(CreateProgramWithBinary) \
  X(BuildProgram) \
  X(GetProgramBuildInfo) \
  X(GetProgramInfo) \
  X(ReleaseProgram) \
  X(CreateKernel) \
  X(ReleaseKernel) \
  X(SetKernelArg) \
  X(GetKernelWorkGroupInfo) \
  X(EnqueueNDRangeKernel) \
  X(Finish)
// clang-format on

struct Api {
#define PREFLIGHT_DECLARE(name) decltype(&cl##name) name = nullptr;
  PREFLIGHT_OPENCL_FUNCTIONS(PREFLIGHT_DECLARE)
#undef PREFLIGHT_DECLARE
};

// Opened at the first call; throws kNoLoader when there is no library.
const Api& api();

[[noreturn]] void fail(DeviceErrorKind kind, std::string message, std::string log = {});
// Throws when status is an error; `doing` completes "OpenCL failed while …".
void check(cl_int status, std::string_view doing);

}  // namespace preflight::opencl
