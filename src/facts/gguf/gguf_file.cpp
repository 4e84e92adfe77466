// Form: ggml's gguf.md, versions 2 and 3, little endian. Faults as numpy's views and Python's struct give them.
// Tested by tests/facts_gguf_test.cpp.
#include "src/facts/gguf/gguf_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "src/base/file_state.h"
#include "src/base/files_read.h"
#include "src/base/limits.h"
#include "src/base/read_text.h"
#include "src/base/remembered.h"
#include "src/python/text.h"

namespace preflight::facts {
namespace {

enum Type : std::uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kText, kArray, kU64, kI64, kF64 };
constexpr std::array<std::size_t, 13> kWidths = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// How many bytes a block of so many numbers takes, as gguf/constants.py has it (GGML_QUANT_SIZES).
struct TensorType {
  std::uint32_t number;
  std::string_view name;
  std::uint64_t block;
  std::uint64_t bytes;
};
constexpr std::array kTensorTypes = std::to_array<TensorType>(
    {{0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},
     {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},      {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 40},
     {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
     {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
     {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},
     {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
     {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},
     {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},
     {40, "NVFP4", 64, 36},    {41, "Q1_0", 128, 18}});

// SGLang multiplies with these as they are (UNQUANTIZED_TYPES).
bool is_plain(std::string_view type) { return type == "F32" || type == "F16" || type == "BF16"; }

constexpr std::uint64_t kEndless = std::numeric_limits<std::uint64_t>::max();
std::uint64_t times(std::uint64_t a, std::uint64_t b) { return a != 0 && b > kEndless / a ? kEndless : a * b; }
std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return b > kEndless - a ? kEndless : a + b; }

// Arrays longer than this are of the vocabulary: nothing in a configuration comes from their entries.
constexpr std::uint64_t kLongestKept = 4096;

class Reader {
 public:
  Reader(const std::string& path, GgufReaders readers)
      : in_(path, std::ios::binary), both_(readers == GgufReaders::kBoth) {
    std::error_code ignored;
    size_ = std::filesystem::file_size(path, ignored);
  }

  GgufFile read() {
    if (!in_) fail("PermissionError", "the file cannot be read");
    if (size_ == 0) fail("ValueError", "the file is empty");
    std::array<char, 4> magic{};
    in_.read(magic.data(), 4);
    at_ = 4;
    if (std::string_view(magic.data(), 4) != "GGUF") fail("ValueError", "the file does not begin with GGUF");
    if (both_ && size_ < 24) end_of_file(8);
    const auto version = number<std::uint32_t>();
    if (version != 2 && version != 3) fail("ValueError", fmt::format("GGUF version {} is not known", version));
    const auto tensors = number<std::uint64_t>();
    const auto entries = number<std::uint64_t>();
    for (std::uint64_t i = 0; i < entries; ++i) entry();
    if (both_ && !keys_.contains("general.architecture")) {
      fail("ValueError", "the file names no general.architecture");
    }
    for (std::uint64_t i = 0; i < tensors; ++i) tensor();
    if (tensors > 0) look_for_data();
    std::ranges::sort(file_.tensors);
    file_.metadata = Value::dict(std::move(metadata_));
    return std::move(file_);
  }

  std::string repeated;  // a key that the file has twice: only the package minds

 private:
  [[noreturn]] void fail(std::string_view exception, std::string message) const {
    throw GgufFault{std::string(exception), std::move(message)};
  }
  // `width` bytes were wanted for a number. numpy cannot view an odd rest as such numbers, and finds none in no rest.
  [[noreturn]] void end_of_file(std::size_t width) const {
    const bool odd = at_ < size_ && (size_ - at_) % width != 0;
    fail(both_ ? "error" : odd ? "ValueError" : "IndexError", "the file ends within its header");
  }

  template <typename T>
  T number() {
    T value{};
    if (size_ - at_ < sizeof(T)) end_of_file(sizeof(T));
    in_.read(reinterpret_cast<char*>(&value), sizeof(T));  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
    at_ += sizeof(T);
    return value;
  }

  // A vocabulary is hundreds of thousands of short texts: what is near lies in the buffer already, which a seek drops.
  void skip(std::uint64_t bytes) {
    constexpr std::uint64_t kNear = 4096;
    const std::uint64_t step = std::min(bytes, size_ - at_);
    at_ += step;
    if (step <= kNear)
      in_.ignore(static_cast<std::streamsize>(step));
    else
      in_.seekg(static_cast<std::streamoff>(at_));
  }

  std::string text() {
    const auto length = number<std::uint64_t>();
    std::string out(std::min(length, size_ - at_), '\0');
    in_.read(out.data(), static_cast<std::streamsize>(out.size()));
    at_ += out.size();
    if (both_) require_text(out);
    return out;
  }

  // A UnicodeDecodeError, which transformers turns into this.
  void require_text(const std::string& text) const {
    if (!python::is_valid_utf8(text)) fail("OSError", "the header holds a text that is not UTF-8");
  }

  Value scalar(std::uint32_t type) {
    switch (type) {
      case kU8:
        return std::int64_t{number<std::uint8_t>()};
      case kI8:
        return std::int64_t{number<std::int8_t>()};
      case kU16:
        return std::int64_t{number<std::uint16_t>()};
      case kI16:
        return std::int64_t{number<std::int16_t>()};
      case kU32:
        return std::int64_t{number<std::uint32_t>()};
      case kI32:
        return std::int64_t{number<std::int32_t>()};
      case kF32:
        return double{number<float>()};
      case kBool:
        return number<std::uint8_t>() != 0;
      case kU64:
        return Value::integer(std::to_string(number<std::uint64_t>()));
      case kI64:
        return number<std::int64_t>();
      case kF64:
        return number<double>();
      default:
        fail("ValueError", fmt::format("a value has the type {}, which is not known", type));
    }
  }

  void entry() {
    std::string key = text();
    const bool fresh = keys_.insert(key).second;
    if (!fresh && repeated.empty()) {
      repeated = key;
      if (!both_) fail("KeyError", "the key " + key + " stands there twice");
    }
    if (keys_.size() > limits::kGgufKeys) fail(limits::kOurs, "the header has more keys than any model");
    const auto type = number<std::uint32_t>();
    if (type == kArray) {
      array(key);
    } else {
      Value value = type == kText ? Value(text()) : scalar(type);
      if (value.is_string()) require_text(value.as_string());
      put(key, std::move(value));
    }
    require_text(key);  // which the package reads behind its value
  }

  void array(const std::string& key) {
    const auto type = number<std::uint32_t>();
    const auto count = number<std::uint64_t>();
    if (type == kText) {
      for (std::uint64_t i = 0; i < count; ++i) skip(number<std::uint64_t>());
      file_.texts[key] = count;
      return;
    }
    if (type >= kWidths.size() || kWidths[type] == 0) {
      fail("ValueError", fmt::format("an array has the type {}, which is not known", type));
    }
    const std::size_t width = kWidths[type];
    if (count > (size_ - at_) / width) end_of_file(width);
    Value::List items;
    if (count > kLongestKept) {
      skip(count * width);
    } else {
      for (std::uint64_t i = 0; i < count; ++i) items.push_back(scalar(type));
    }
    put(key, Value::list(std::move(items)));
  }

  // The last value of a key that stands there twice counts, in the place of the first.
  void put(const std::string& key, Value value) {
    const auto [known, fresh] = places_.emplace(key, metadata_.size());
    if (fresh)
      metadata_.emplace_back(key, std::move(value));
    else
      metadata_[known->second].second = std::move(value);
  }

  void tensor() {
    file_.tensors.push_back(text());
    require_text(file_.tensors.back());
    const auto dimensions = number<std::uint32_t>();
    if (dimensions > (size_ - at_) / 8) end_of_file(8);
    std::uint64_t elements = 1;
    for (std::uint32_t i = 0; i < dimensions; ++i) elements = times(elements, number<std::uint64_t>());
    const auto type = number<std::uint32_t>();
    const auto offset = number<std::uint64_t>();
    const auto known = std::ranges::find(kTensorTypes, type, &TensorType::number);
    if (known == kTensorTypes.end()) {
      if (file_.damage.empty())
        file_.damage = fmt::format("{} has the type {}, which is not known", file_.tensors.back(), type);
      return;
    }
    if (!is_plain(known->name)) file_.quantised.emplace(known->name);
    data_bytes_ = std::max(data_bytes_, plus(offset, times(elements / known->block, known->bytes)));
  }

  // The tensors' data follows the header, from the next multiple of the file's alignment on.
  void look_for_data() {
    const auto place = places_.find("general.alignment");
    std::uint64_t alignment = 32;
    if (place != places_.end()) {
      const Value& given = metadata_[place->second].second;
      const std::int64_t wanted = given.is_int() ? given.as_int() : 0;
      if (wanted <= 0 || (wanted & (wanted - 1)) != 0) {
        file_.damage = "its alignment is no power of two";
        return;
      }
      alignment = static_cast<std::uint64_t>(wanted);
    }
    const std::uint64_t whole = plus((at_ + alignment - 1) / alignment * alignment, data_bytes_);
    if (whole == kEndless) {
      file_.damage = "it tells of tensors larger than any file";
    } else if (whole > size_) {
      file_.damage = fmt::format("it is cut short: {} of {} bytes", size_, whole);
    }
  }

  std::ifstream in_;
  bool both_;
  std::uint64_t size_ = 0;
  std::uint64_t at_ = 0;
  std::uint64_t data_bytes_ = 0;
  Value::Dict metadata_;
  std::unordered_map<std::string, std::size_t> places_;  // in metadata_
  std::unordered_set<std::string> keys_;                 // those of texts, too
  GgufFile file_;
};

}  // namespace

std::string without_end_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

bool is_gguf_file(const std::string& given) {
  const std::string path = without_end_slashes(given);
  std::error_code ignored;
  if (path.empty() || !std::filesystem::is_regular_file(path, ignored)) return false;
  if (std::filesystem::path(path).extension() == ".gguf") return true;
  if (would_wait(path)) return false;
  std::array<char, 4> head{};
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), head.size());
  return in && std::string_view(head.data(), head.size()) == "GGUF";
}

namespace {

// Faults do not name the file.
ReadGguf parsed_gguf(const std::string& path, GgufReaders readers) {
  remember_read(path);
  try {
    Reader reader(path, readers);
    GgufFile file = reader.read();
    file.repeated = std::move(reader.repeated);
    return std::make_shared<const GgufFile>(std::move(file));
  } catch (GgufFault& fault) {
    return tl::make_unexpected(std::move(fault));
  }
}

ReadGguf kept_gguf(const std::string& path, GgufReaders readers) {
  static std::mutex guard;
  static NewestRemembered<std::pair<FileState, GgufReaders>, ReadGguf> known(limits::kGgufHeaders);
  const auto state = settled_state(path);
  if (!state) return parsed_gguf(path, readers);
  const std::lock_guard lock(guard);
  return known.of({*state, readers}, [&] { return parsed_gguf(path, readers); });
}

}  // namespace

ReadGguf read_gguf(const std::string& path, GgufReaders readers) {
  ReadGguf read = kept_gguf(path, readers);
  if (!read) read.error().message = path + ": " + read.error().message;
  return read;
}

}  // namespace preflight::facts
