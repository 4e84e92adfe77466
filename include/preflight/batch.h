// Stage 5: the sample batch: every tensor of one kernel invocation, as the bytes the device will see.
//
// Values are rounded to their storage type when they are written, so kernel and reference read the same numbers.
// Memory no request owns (unused pages, slots past a request's length, unused table entries) holds NaN or an absurd
// index: a kernel that reads it shows. This header is all that kernels and references share.
// Tested by tests/sample_test.cpp.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "preflight/dtype.h"
#include "preflight/kernel_case.h"
#include "preflight/result.h"

namespace preflight {

// What an unused page-table entry holds: a kernel that follows it leaves the pool by far.
inline constexpr std::int32_t kUnusedPage = 2147480000;

// What an output of integers holds until it is written, byte by byte and as a number: no index and no -1, which stands
// for nothing in a table. Outputs of numbers begin as NaN.
inline constexpr std::byte kUnwrittenByte{0xA5};
inline constexpr std::int32_t kUnwrittenIndex = -1515870811;

// Dense, row-major (last dimension fastest).
struct Tensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  Tensor() = default;
  // Filled with 0xFF bytes: NaN in every float type, -1 in the integers.
  Tensor(std::string tensor_name, DType type, std::vector<std::int64_t> dims)
      : name(std::move(tensor_name)), dtype(type), shape(std::move(dims)) {
    bytes.assign(static_cast<std::size_t>(count() * size_of(dtype)), std::byte{0xFF});
  }

  [[nodiscard]] std::int64_t count() const {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) n *= extent;
    return n;
  }
  [[nodiscard]] double get(std::int64_t index) const {
    switch (dtype) {
      case DType::kBf16:
        return kBf16Format.decode(load<std::uint16_t>(index));
      case DType::kF16:
        return kF16Format.decode(load<std::uint16_t>(index));
      case DType::kF32:
        return static_cast<double>(load<float>(index));
      case DType::kFp8E4M3:
        return kE4M3Format.decode(load<std::uint8_t>(index));
      case DType::kFp8E5M2:
        return kE5M2Format.decode(load<std::uint8_t>(index));
      case DType::kI32:
      case DType::kI64:
        break;
    }
    return static_cast<double>(get_int(index));
  }
  [[nodiscard]] std::int64_t get_int(std::int64_t index) const {
    return dtype == DType::kI32 ? load<std::int32_t>(index) : load<std::int64_t>(index);
  }
  // Rounds to dtype.
  void set(std::int64_t index, double value) {
    switch (dtype) {
      case DType::kBf16:
        return store(index, static_cast<std::uint16_t>(kBf16Format.encode(value)));
      case DType::kF16:
        return store(index, static_cast<std::uint16_t>(kF16Format.encode(value)));
      case DType::kF32:
        return store(index, static_cast<float>(value));
      case DType::kFp8E4M3:
        return store(index, static_cast<std::uint8_t>(kE4M3Format.encode(value)));
      case DType::kFp8E5M2:
        return store(index, static_cast<std::uint8_t>(kE5M2Format.encode(value)));
      case DType::kI32:
      case DType::kI64:
        break;
    }
    set_int(index, static_cast<std::int64_t>(value));
  }
  void set_int(std::int64_t index, std::int64_t value) {
    if (dtype == DType::kI32) return store(index, static_cast<std::int32_t>(value));
    store(index, value);
  }
  [[nodiscard]] std::vector<double> to_doubles() const {
    std::vector<double> values(static_cast<std::size_t>(count()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = get(static_cast<std::int64_t>(i));
    return values;
  }

 private:
  template <typename T>
  [[nodiscard]] T load(std::int64_t index) const {
    T value;
    std::memcpy(&value, bytes.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
    return value;
  }
  template <typename T>
  void store(std::int64_t index, T value) {
    std::memcpy(bytes.data() + static_cast<std::size_t>(index) * sizeof(T), &value, sizeof(T));
  }
};

// An output the kernel writes in full; the judge compares it with the reference's values of the same name.
struct OutputSpec {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;
};

struct SampleBatch {
  KernelCase kernel_case;
  std::vector<Tensor> inputs;
  std::vector<OutputSpec> outputs;
  std::map<std::string, std::int64_t> in_front;  // bytes of a device's buffer before the input that nobody may touch
  std::vector<std::string> in_place;  // inputs the kernel updates (state pools): read back and judged as outputs

  [[nodiscard]] const Tensor* find_input(std::string_view name) const {
    for (const Tensor& tensor : inputs) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  }
  [[nodiscard]] const Tensor& input(std::string_view name) const {
    const Tensor* tensor = find_input(name);
    assert(tensor != nullptr);
    return *tensor;
  }
};

}  // namespace preflight
