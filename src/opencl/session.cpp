// Session: context, in-order queue, memory, programs. A program that does not build carries its log.
#include <cstring>

#include <fmt/format.h>

#include "src/opencl/devices.h"
#include "src/opencl/program_cache.h"

namespace preflight::opencl {
namespace {

constexpr cl_int kNvidiaFault = -9999;  // NVIDIA's own code for an illegal access

// A queue error after a launch means that the kernel took the device down, whatever name the driver gives it. Before
// the first, "out of resources" is memory that is handed out when it is first touched.
void check_queue(cl_int status, bool launched, std::string_view doing) {
  if (status == kNvidiaFault || (launched && status == CL_OUT_OF_RESOURCES)) {
    fail(DeviceErrorKind::kDeviceLost,
         fmt::format("OpenCL error {} while {}: the kernel crashed the device", status, doing));
  }
  check(status, doing);
}

std::string build_log(cl_program program, cl_device_id device) {
  std::size_t size = 0;
  if (api().GetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::string log(size, '\0');
  api().GetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  while (!log.empty() && log.back() == '\0') log.pop_back();
  return log;
}

}  // namespace

struct Session::State {
  FoundDevice device;
  std::shared_ptr<_cl_context> context;
  std::shared_ptr<_cl_command_queue> queue;
  std::map<std::string, std::shared_ptr<_cl_program>> programs;
  std::map<std::string, KernelObject> kernels;
  ProgramCache cache;
  bool launched = false;  // some kernel was put into the queue
};

namespace {

std::shared_ptr<_cl_program> owned(cl_program program) {
  return {program, [](cl_program p) { api().ReleaseProgram(p); }};
}

std::shared_ptr<_cl_program> program_from_source(const Session::State& state, const std::string& source,
                                                 const std::string& options, std::string_view name) {
  const char* text = source.c_str();
  const std::size_t length = source.size();
  cl_int status = CL_SUCCESS;
  cl_program created = api().CreateProgramWithSource(state.context.get(), 1, &text, &length, &status);
  check(status, "creating a program");
  std::shared_ptr<_cl_program> program = owned(created);
  status = api().BuildProgram(created, 1, &state.device.id, options.c_str(), nullptr, nullptr);
  if (status != CL_SUCCESS) {
    fail(DeviceErrorKind::kBuildFailure,
         fmt::format("{} does not build on {} (options: {})", name, state.device.info.name, options),
         build_log(created, state.device.id));
  }
  return program;
}

// None where the cache has none, or one that the driver does not take.
std::shared_ptr<_cl_program> program_from_cache(const Session::State& state, const std::string& key) {
  const std::optional<std::string> binary = state.cache.find(key);
  if (!binary) return nullptr;
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary->data());
  const std::size_t length = binary->size();
  cl_int loaded = CL_SUCCESS;
  cl_int status = CL_SUCCESS;
  cl_program created =
      api().CreateProgramWithBinary(state.context.get(), 1, &state.device.id, &length, &bytes, &loaded, &status);
  if (status != CL_SUCCESS) return nullptr;
  std::shared_ptr<_cl_program> program = owned(created);
  if (loaded != CL_SUCCESS) return nullptr;
  if (api().BuildProgram(created, 1, &state.device.id, "", nullptr, nullptr) != CL_SUCCESS) return nullptr;
  return program;
}

void keep(const Session::State& state, cl_program program, const std::string& key) {
  if (!state.cache.is_on()) return;
  std::size_t size = 0;
  if (api().GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) != CL_SUCCESS) return;
  std::string binary(size, '\0');
  char* bytes = binary.data();
  if (api().GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, nullptr) != CL_SUCCESS) return;
  state.cache.store(key, binary);
}

}  // namespace

void KernelObject::set(std::size_t size, const void* value) {
  check(api().SetKernelArg(kernel_.get(), next_, size, value), fmt::format("setting argument {} of {}", next_, name_));
  ++next_;
}

Session::Session(const DeviceChoice& choice) : state_(std::make_unique<State>()) {
  state_->device = choose_device(choice);
  // A simulator's programs depend on its own settings, too.
  if (!is_simulator()) state_->cache = ProgramCache::of_user();
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(state_->device.platform), 0};
  cl_int status = CL_SUCCESS;
  cl_context context = api().CreateContext(properties, 1, &state_->device.id, nullptr, nullptr, &status);
  check(status, fmt::format("opening {}", state_->device.info.name));
  state_->context = {context, [](cl_context c) { api().ReleaseContext(c); }};
  cl_command_queue queue = api().CreateCommandQueue(context, state_->device.id, 0, &status);
  check(status, "creating a queue");
  state_->queue = {queue, [](cl_command_queue q) { api().ReleaseCommandQueue(q); }};
}

Session::~Session() = default;

const DeviceInfo& Session::info() const { return state_->device.info; }

Buffer Session::allocate(std::int64_t bytes) {
  const DeviceInfo& device = info();
  if (bytes > device.max_allocation_bytes) {
    fail(DeviceErrorKind::kOutOfMemory, fmt::format("a buffer of {} bytes is needed, {} allows {} in one allocation",
                                                    bytes, device.name, device.max_allocation_bytes));
  }
  cl_int status = CL_SUCCESS;
  cl_mem memory =
      api().CreateBuffer(state_->context.get(), CL_MEM_READ_WRITE, static_cast<std::size_t>(bytes), nullptr, &status);
  check(status, fmt::format("allocating {} bytes", bytes));
  return {{memory, [](cl_mem m) { api().ReleaseMemObject(m); }}, bytes};
}

Buffer Session::view(const Buffer& whole, std::int64_t offset, std::int64_t bytes) {
  const cl_buffer_region region{static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes)};
  cl_int status = CL_SUCCESS;
  cl_mem memory = api().CreateSubBuffer(whole.get(), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
  check(status, "making a view of a buffer");
  return {{memory, [parent = whole](cl_mem m) { api().ReleaseMemObject(m); }}, bytes};
}

void Session::write(const Buffer& to, std::span<const std::byte> data, std::int64_t offset) {
  if (data.empty()) return;
  check_queue(api().EnqueueWriteBuffer(state_->queue.get(), to.get(), CL_TRUE, static_cast<std::size_t>(offset),
                                       data.size(), data.data(), 0, nullptr, nullptr),
              state_->launched, "copying to the device");
}

void Session::fill(const Buffer& buffer, std::byte value, std::int64_t offset) {
  if (buffer.bytes() == offset) return;
  check_queue(api().EnqueueFillBuffer(state_->queue.get(), buffer.get(), &value, 1, static_cast<std::size_t>(offset),
                                      static_cast<std::size_t>(buffer.bytes() - offset), 0, nullptr, nullptr),
              state_->launched, "filling a buffer");
}

void Session::read(const Buffer& from, std::span<std::byte> data, std::int64_t offset) {
  if (data.empty()) return;
  check_queue(api().EnqueueReadBuffer(state_->queue.get(), from.get(), CL_TRUE, static_cast<std::size_t>(offset),
                                      data.size(), data.data(), 0, nullptr, nullptr),
              state_->launched, "copying from the device");
}

bool Session::holds(const Buffer& buffer, std::span<const std::byte> data, std::int64_t offset) {
  if (data.empty()) return true;
  constexpr std::string_view kDoing = "looking at the device's memory";
  cl_int status = CL_SUCCESS;
  void* const mapped =
      api().EnqueueMapBuffer(state_->queue.get(), buffer.get(), CL_TRUE, CL_MAP_READ, static_cast<std::size_t>(offset),
                             data.size(), 0, nullptr, nullptr, &status);
  check_queue(status, state_->launched, kDoing);
  const bool same = std::memcmp(mapped, data.data(), data.size()) == 0;
  check_queue(api().EnqueueUnmapMemObject(state_->queue.get(), buffer.get(), mapped, 0, nullptr, nullptr),
              state_->launched, kDoing);
  return same;
}

KernelObject Session::kernel(const std::string& source, const std::string& options, const std::string& name) {
  const std::string program_key = options + '\n' + source;
  const std::string kernel_key = name + '\n' + program_key;
  if (const auto known = state_->kernels.find(kernel_key); known != state_->kernels.end()) return known->second;
  std::shared_ptr<_cl_program>& program = state_->programs[program_key];
  if (program == nullptr) {
    const std::string cache_key = ProgramCache::key(info(), options, source);
    program = program_from_cache(*state_, cache_key);
    if (program == nullptr) {
      program = program_from_source(*state_, source, options, name);
      keep(*state_, program.get(), cache_key);
    }
  }
  cl_int status = CL_SUCCESS;
  cl_kernel handle = api().CreateKernel(program.get(), name.c_str(), &status);
  check(status, fmt::format("creating kernel {}", name));
  std::shared_ptr<_cl_kernel> owned{handle, [](cl_kernel k) { api().ReleaseKernel(k); }};
  std::size_t max_group = 1;
  check(api().GetKernelWorkGroupInfo(handle, state_->device.id, CL_KERNEL_WORK_GROUP_SIZE, sizeof max_group, &max_group,
                                     nullptr),
        fmt::format("reading the work-group limit of {}", name));
  cl_ulong local_bytes = 0;
  check(api().GetKernelWorkGroupInfo(handle, state_->device.id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local_bytes,
                                     &local_bytes, nullptr),
        fmt::format("reading the local memory of {}", name));
  const KernelObject object{owned, name, static_cast<std::int64_t>(max_group), static_cast<std::int64_t>(local_bytes)};
  return state_->kernels.emplace(kernel_key, object).first->second;
}

void Session::run(const KernelObject& kernel, Grid items, Grid group) {
  std::array<std::size_t, 3> global{};
  std::array<std::size_t, 3> local{};
  for (std::size_t i = 0; i < 3; ++i) {
    if (items[i] <= 0 || group[i] <= 0 || items[i] % group[i] != 0) {
      fail(DeviceErrorKind::kInternal,
           fmt::format("{}: {} work-items in dimension {} are not groups of {}", kernel.name(), items[i], i, group[i]));
    }
    global[i] = static_cast<std::size_t>(items[i]);
    local[i] = static_cast<std::size_t>(group[i]);
  }
  const std::int64_t size = group[0] * group[1] * group[2];
  if (size > kernel.max_group()) {
    fail(DeviceErrorKind::kInternal,
         fmt::format("{} needs work-groups of {}, {} allows {}", kernel.name(), size, info().name, kernel.max_group()));
  }
  state_->launched = true;
  check_queue(api().EnqueueNDRangeKernel(state_->queue.get(), kernel.get(), 3, nullptr, global.data(), local.data(), 0,
                                         nullptr, nullptr),
              state_->launched, fmt::format("launching {}", kernel.name()));
}

void Session::finish() { check_queue(api().Finish(state_->queue.get()), state_->launched, "waiting for the device"); }

}  // namespace preflight::opencl
