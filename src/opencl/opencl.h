// The OpenCL room: devices, memory, programs and an in-order queue, behind a header without OpenCL types.
//
// Everything here throws Failure; run_cases() turns it into a DeviceError or a verdict. Destructors never throw. Any
// OpenCL 1.2 device is enough: no extension is needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "preflight/kernel_run.h"

// The handle types of the OpenCL headers.
struct _cl_mem;
struct _cl_kernel;

namespace preflight::opencl {

class Failure : public std::exception {
 public:
  explicit Failure(DeviceError error) : error_(std::move(error)) {}
  [[nodiscard]] const char* what() const noexcept override { return error_.message.c_str(); }
  [[nodiscard]] const DeviceError& error() const { return error_; }

 private:
  DeviceError error_;
};

// Device memory. A view shares its parent's memory and keeps it alive.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<_cl_mem> memory, std::int64_t size) : memory_(std::move(memory)), bytes_(size) {}
  [[nodiscard]] _cl_mem* get() const { return memory_.get(); }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<_cl_mem> memory_;
  std::int64_t bytes_ = 0;
};

// An argument that is local memory of so many bytes, for each work-group its own.
struct LocalMemory {
  std::int64_t bytes = 0;
};

// A kernel and its next free argument: arguments are given in the order of the kernel's signature.
class KernelObject {
 public:
  KernelObject() = default;
  KernelObject(std::shared_ptr<_cl_kernel> kernel, std::string name, std::int64_t max_group, std::int64_t local_bytes)
      : kernel_(std::move(kernel)), name_(std::move(name)), max_group_(max_group), local_bytes_(local_bytes) {}

  template <typename... Args>
  KernelObject& args(const Args&... values) {
    next_ = 0;
    (arg(values), ...);
    return *this;
  }
  [[nodiscard]] _cl_kernel* get() const { return kernel_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::int64_t max_group() const { return max_group_; }      // largest work-group of this kernel
  [[nodiscard]] std::int64_t local_bytes() const { return local_bytes_; }  // that a work-group takes

 private:
  void arg(const Buffer& buffer) {
    _cl_mem* memory = buffer.get();
    set(sizeof(void*), static_cast<const void*>(&memory));  // a kernel takes the handle itself
  }
  void arg(const LocalMemory& memory) { set(static_cast<std::size_t>(memory.bytes), nullptr); }
  template <typename T>
  requires std::is_arithmetic_v<T>
  void arg(const T& value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "OpenCL scalars: int, uint, long, ulong, float");
    set(sizeof value, &value);
  }
  void set(std::size_t size, const void* value);

  std::shared_ptr<_cl_kernel> kernel_;
  std::string name_;
  std::int64_t max_group_ = 1;
  std::int64_t local_bytes_ = 0;
  unsigned next_ = 0;
};

using Grid = std::array<std::int64_t, 3>;

// One device with its context and queue. Programs are built once per source and options.
class Session {
 public:
  explicit Session(const DeviceChoice& choice);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const DeviceInfo& info() const;
  // Oclgrind, which interprets kernels and watches what they access.
  [[nodiscard]] bool is_simulator() const { return info().platform == "Oclgrind"; }
  Buffer allocate(std::int64_t bytes);
  // Part of a buffer; offset must be a multiple of kViewAlignment.
  static constexpr std::int64_t kViewAlignment = 4096;
  Buffer view(const Buffer& whole, std::int64_t offset, std::int64_t bytes);
  void write(const Buffer& to, std::span<const std::byte> data, std::int64_t offset = 0);
  void fill(const Buffer& buffer, std::byte value, std::int64_t offset = 0);  // from there to its end
  void read(const Buffer& from, std::span<std::byte> data, std::int64_t offset = 0);
  // Whether these bytes lie there: without a copy where the device's memory is the host's.
  [[nodiscard]] bool holds(const Buffer& buffer, std::span<const std::byte> data, std::int64_t offset = 0);

  KernelObject kernel(const std::string& source, const std::string& options, const std::string& name);
  // `items` = work-items per dimension, a multiple of `group`. Checked here, before the enqueue.
  void run(const KernelObject& kernel, Grid items, Grid group);
  void finish();

  struct State;  // of session.cpp

 private:
  std::unique_ptr<State> state_;
};

}  // namespace preflight::opencl
