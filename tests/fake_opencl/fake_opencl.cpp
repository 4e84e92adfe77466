// A libOpenCL.so.1 without a device behind it, for what no machine at hand does on demand: drivers that run out of
// memory, refuse to compile, lose the device, abort or hang. FAKE_OPENCL names the fault; without it
// everything succeeds and every launched kernel writes 0x3F into all the memory it was given: a driver that computes
// nonsense.
//
// The program finds it as any loader, by LD_LIBRARY_PATH. Only what src/opencl calls is here.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// The loader's handle types are opaque; these are ours.
struct _cl_platform_id {};
struct _cl_device_id {};
struct _cl_context {};
struct _cl_command_queue {};
struct _cl_program {};
struct _cl_kernel {
  std::map<cl_uint, cl_mem> buffers;
};
struct _cl_mem {
  std::shared_ptr<std::vector<char>> memory;
  std::size_t offset = 0;
  std::size_t size = 0;
  bool is_view = false;
};

namespace {

constexpr cl_int kNoPlatform = -1001;  // CL_PLATFORM_NOT_FOUND_KHR
constexpr std::string_view kBinary = "fake-binary";
constexpr std::string_view kBuildLog = "fake.cl:1:1: error: this compiler refuses everything\n";

_cl_platform_id platform;
_cl_device_id device;

bool faulty(std::string_view name) {
  const char* wanted = std::getenv("FAKE_OPENCL");
  return wanted != nullptr && name == wanted;
}

// What the process may do and take, on standard error.
void say_privileges() {
  if (std::FILE* status = std::fopen("/proc/self/status", "r")) {
    for (char line[256]; std::fgets(line, sizeof line, status) != nullptr;) {
      const std::string_view text(line);
      if (text.starts_with("CapEff") || text.starts_with("CapPrm") || text.starts_with("NoNewPrivs"))
        std::fputs(line, stderr);
    }
    std::fclose(status);
  }
  rlimit data{};
  getrlimit(RLIMIT_DATA, &data);
  std::fputs(data.rlim_cur == RLIM_INFINITY ? "data without limit\n" : "data limited\n", stderr);
  rlimit time{};
  getrlimit(RLIMIT_CPU, &time);
  std::fprintf(stderr, "processor time %lld of %lld s\n", static_cast<long long>(time.rlim_cur),
               static_cast<long long>(time.rlim_max));
}

// Dies or hangs at this point when asked to.
void misbehave(std::string_view place) {
  if (faulty(std::string("say-privileges-in-").append(place))) {
    say_privileges();
    std::abort();
  }
  if (faulty(std::string("abort-in-").append(place))) {
    std::fputs("fake driver: assertion failed\n", stderr);
    std::abort();
  }
  if (faulty(std::string("exit-in-").append(place))) std::_Exit(7);
  if (faulty(std::string("killed-in-").append(place))) kill(getpid(), SIGKILL);
  while (faulty(std::string("hang-in-").append(place))) sleep(1);
  volatile unsigned turns = 0;
  while (faulty("spin-in-finish") && place == "finish") turns = turns + 1;
}

cl_int copy_out(const void* value, std::size_t size, std::size_t room, void* out, std::size_t* needed) {
  if (needed != nullptr) *needed = size;
  if (out == nullptr) return CL_SUCCESS;
  if (room < size) return CL_INVALID_VALUE;
  std::memcpy(out, value, size);
  return CL_SUCCESS;
}

cl_int text(std::string_view value, std::size_t room, void* out, std::size_t* needed) {
  const std::string ended(value);
  return copy_out(ended.c_str(), ended.size() + 1, room, out, needed);
}

template <typename T>
cl_int number(T value, std::size_t room, void* out, std::size_t* needed) {
  return copy_out(&value, sizeof value, room, out, needed);
}

char* bytes(cl_mem memory, std::size_t offset) { return memory->memory->data() + memory->offset + offset; }

}  // namespace

extern "C" {

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id* out, cl_uint* count) {
  misbehave("open");
  if (faulty("no-platform")) return kNoPlatform;
  if (count != nullptr) *count = 1;
  if (out != nullptr && room > 0) *out = &platform;
  return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id, cl_platform_info, size_t room, void* out, size_t* needed) {
  return text("Fake platform", room, out, needed);
}

cl_int clGetDeviceIDs(cl_platform_id, cl_device_type, cl_uint room, cl_device_id* out, cl_uint* count) {
  if (faulty("no-device")) return CL_DEVICE_NOT_FOUND;
  if (count != nullptr) *count = 1;
  if (out != nullptr && room > 0) *out = &device;
  return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id, cl_device_info what, size_t room, void* out, size_t* needed) {
  constexpr cl_ulong kGigabyte = 1UL << 30;
  switch (what) {
    case CL_DEVICE_TYPE:
      return number<cl_device_type>(CL_DEVICE_TYPE_GPU, room, out, needed);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      return number<cl_uint>(4, room, out, needed);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
      return number<cl_ulong>(kGigabyte, room, out, needed);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
      return number<cl_ulong>(faulty("small-memory") ? 1024 : kGigabyte, room, out, needed);
    case CL_DEVICE_LOCAL_MEM_SIZE:
      return number<cl_ulong>(65536, room, out, needed);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      return number<size_t>(256, room, out, needed);
    default:
      return text("Fake device", room, out, needed);
  }
}

cl_context clCreateContext(const cl_context_properties*, cl_uint, const cl_device_id*,
                           void(CL_CALLBACK*)(const char*, const void*, size_t, void*), void*, cl_int* status) {
  *status = faulty("busy-device") ? CL_DEVICE_NOT_AVAILABLE : CL_SUCCESS;
  return new _cl_context;
}
cl_int clReleaseContext(cl_context context) {
  delete context;
  return CL_SUCCESS;
}

cl_command_queue clCreateCommandQueue(cl_context, cl_device_id, cl_command_queue_properties, cl_int* status) {
  *status = CL_SUCCESS;
  return new _cl_command_queue;
}
cl_int clReleaseCommandQueue(cl_command_queue queue) {
  misbehave("close");
  delete queue;
  return CL_SUCCESS;
}

cl_mem clCreateBuffer(cl_context, cl_mem_flags, size_t size, void*, cl_int* status) {
  *status = faulty("out-of-memory") ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_SUCCESS;
  if (*status != CL_SUCCESS) return nullptr;
  return new _cl_mem{std::make_shared<std::vector<char>>(size), 0, size, false};
}

cl_mem clCreateSubBuffer(cl_mem whole, cl_mem_flags, cl_buffer_create_type, const void* region, cl_int* status) {
  cl_buffer_region part;
  std::memcpy(&part, region, sizeof part);
  *status = CL_SUCCESS;
  return new _cl_mem{whole->memory, part.origin, part.size, true};
}

cl_int clReleaseMemObject(cl_mem memory) {
  delete memory;
  return CL_SUCCESS;
}

cl_int clEnqueueWriteBuffer(cl_command_queue, cl_mem memory, cl_bool, size_t offset, size_t size, const void* data,
                            cl_uint, const cl_event*, cl_event*) {
  if (faulty("late-out-of-memory")) return CL_OUT_OF_RESOURCES;
  std::memcpy(bytes(memory, offset), data, size);
  return CL_SUCCESS;
}

cl_int clEnqueueReadBuffer(cl_command_queue, cl_mem memory, cl_bool, size_t offset, size_t size, void* data, cl_uint,
                           const cl_event*, cl_event*) {
  std::memcpy(data, bytes(memory, offset), size);
  return CL_SUCCESS;
}

void* clEnqueueMapBuffer(cl_command_queue, cl_mem memory, cl_bool, cl_map_flags, size_t offset, size_t, cl_uint,
                         const cl_event*, cl_event*, cl_int* status) {
  *status = CL_SUCCESS;
  return bytes(memory, offset);
}
cl_int clEnqueueUnmapMemObject(cl_command_queue, cl_mem, void*, cl_uint, const cl_event*, cl_event*) {
  return CL_SUCCESS;
}

cl_int clEnqueueFillBuffer(cl_command_queue, cl_mem memory, const void* pattern, size_t, size_t offset, size_t size,
                           cl_uint, const cl_event*, cl_event*) {
  std::memset(bytes(memory, offset), *static_cast<const unsigned char*>(pattern), size);
  return CL_SUCCESS;
}

cl_program clCreateProgramWithSource(cl_context, cl_uint, const char**, const size_t*, cl_int* status) {
  *status = CL_SUCCESS;
  return new _cl_program;
}

// Binaries of this driver are one word. "refused-binary": as after an update that took no new version number.
cl_program clCreateProgramWithBinary(cl_context, cl_uint, const cl_device_id*, const size_t* sizes,
                                     const unsigned char** binaries, cl_int* loaded, cl_int* status) {
  const std::string_view given(reinterpret_cast<const char*>(binaries[0]), sizes[0]);
  *status = given == kBinary && !faulty("refused-binary") ? CL_SUCCESS : CL_INVALID_BINARY;
  *loaded = *status;
  return *status == CL_SUCCESS ? new _cl_program : nullptr;
}

cl_int clGetProgramInfo(cl_program, cl_program_info what, size_t, void* out, size_t*) {
  if (what == CL_PROGRAM_BINARY_SIZES) {
    const size_t size = kBinary.size();
    std::memcpy(out, &size, sizeof size);
  } else {
    char* to = nullptr;
    std::memcpy(&to, out, sizeof to);
    std::memcpy(to, kBinary.data(), kBinary.size());
  }
  return CL_SUCCESS;
}

cl_int clReleaseProgram(cl_program program) {
  delete program;
  return CL_SUCCESS;
}

cl_int clBuildProgram(cl_program, cl_uint, const cl_device_id*, const char*, void(CL_CALLBACK*)(cl_program, void*),
                      void*) {
  misbehave("build");
  return faulty("build-failure") ? CL_BUILD_PROGRAM_FAILURE : CL_SUCCESS;
}

cl_int clGetProgramBuildInfo(cl_program, cl_device_id, cl_program_build_info, size_t room, void* out, size_t* needed) {
  return text(kBuildLog, room, out, needed);
}

cl_kernel clCreateKernel(cl_program, const char*, cl_int* status) {
  *status = CL_SUCCESS;
  return new _cl_kernel;
}
cl_int clReleaseKernel(cl_kernel kernel) {
  delete kernel;
  return CL_SUCCESS;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t room, void* out,
                                size_t* needed) {
  return number<size_t>(256, room, out, needed);
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  // Handles and long scalars are told apart by position: scalars of these kernels have four bytes.
  if (size == sizeof(cl_mem)) std::memcpy(&kernel->buffers[index], value, size);
  return CL_SUCCESS;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue, cl_kernel kernel, cl_uint, const size_t*, const size_t*, const size_t*,
                              cl_uint, const cl_event*, cl_event*) {
  misbehave("launch");
  if (faulty("launch-failure")) return CL_OUT_OF_RESOURCES;
  if (faulty("odd-error")) return CL_INVALID_KERNEL_ARGS;  // our mistake, or the driver's
  if (faulty("idle-kernels")) return CL_SUCCESS;
  for (const auto& [index, memory] : kernel->buffers) {
    if (memory->size > 1) std::memset(bytes(memory, 0), 0x3F, memory->size);  // 1 stands for an empty buffer
  }
  if (faulty("stray-writes")) {
    for (const auto& [index, memory] : kernel->buffers) *(bytes(memory, 0) - 1) = 0;
  }
  return CL_SUCCESS;
}

cl_int clFinish(cl_command_queue) {
  misbehave("finish");
  return faulty("device-lost") ? CL_OUT_OF_RESOURCES : faulty("dead-queue") ? CL_INVALID_COMMAND_QUEUE : CL_SUCCESS;
}
}
