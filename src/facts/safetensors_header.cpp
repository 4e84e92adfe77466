#include "src/facts/safetensors_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace preflight::facts {
namespace {

constexpr int kMostNesting = 100;  // of what a header may hold beside its tensors

struct Dtype {
  std::string_view name;
  std::uint64_t bits;
};

// What the library knows and torch has a type for.
constexpr std::array<Dtype, 20> kDtypes = {
    {{"BF16", 16}, {"F16", 16}, {"F32", 32},    {"F8_E4M3", 8}, {"F8_E5M2", 8},     {"I8", 8},         {"U8", 8},
     {"I32", 32},  {"I64", 64}, {"F8_E8M0", 8}, {"F4", 4},      {"BOOL", 8},        {"I16", 16},       {"U16", 16},
     {"U32", 32},  {"U64", 64}, {"F64", 64},    {"C64", 64},    {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}}};

struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// The header is JSON of one shape, and a checkpoint may have a million tensors: read in one pass, without a tree.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  // False where it is anything else than a header.
  bool read() {
    if (!take('{')) return false;
    if (!take('}')) {
      do {
        std::string name;
        if (!string(name) || !take(':')) return false;
        if (name == "__metadata__" ? !metadata() : !tensor(std::move(name))) return false;
      } while (take(','));
      if (!take('}')) return false;
    }
    blanks();
    return at_ == text_.size();
  }

  std::vector<StoredTensor> tensors;
  std::vector<Extent> extents;  // of each tensor

 private:
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view w) {
    blanks();
    if (!text_.substr(at_).starts_with(w)) return false;
    at_ += w.size();
    return true;
  }
  // Escapes stay as they stand: no tensor's name has any.
  bool string(std::string& out) {
    if (!take('"')) return false;
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return false;
    out.assign(text_.substr(begin, at_ - begin));
    ++at_;
    return true;
  }
  bool number(std::uint64_t& out) {
    blanks();
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), out);
    if (error != std::errc{}) return false;
    at_ += static_cast<std::size_t>(end - begin);
    return true;
  }
  bool numbers(std::vector<std::uint64_t>& out) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      std::uint64_t n = 0;
      if (!number(n)) return false;
      out.push_back(n);
    } while (take(','));
    return take(']');
  }
  bool metadata() {
    if (std::exchange(metadata_seen_, true)) return false;
    if (word("null")) return true;
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string ignored;
      if (!string(ignored) || !take(':') || !string(ignored)) return false;
    } while (take(','));
    return take('}');
  }
  // What a newer writer may add to a tensor's entry: the library does not look at it.
  bool skip_value(int depth) {
    std::string ignored;
    blanks();
    if (depth > kMostNesting || at_ >= text_.size()) return false;
    if (text_[at_] == '"') return string(ignored);
    if (const char open = text_[at_]; open == '{' || open == '[') {
      const char close = open == '{' ? '}' : ']';
      ++at_;
      if (take(close)) return true;
      do {
        if (open == '{' && (!string(ignored) || !take(':'))) return false;
        if (!skip_value(depth + 1)) return false;
      } while (take(','));
      return take(close);
    }
    const std::size_t end = std::min(text_.find_first_of(",]} \n\t\r", at_), text_.size());
    return std::exchange(at_, end) != end;
  }
  bool tensor(std::string name) {
    StoredTensor t{.name = std::move(name), .dtype = {}, .shape = {}, .bytes = 0};
    std::vector<std::uint64_t> shape;
    std::vector<std::uint64_t> offsets;
    int dtypes = 0;
    int shapes = 0;
    if (!take('{')) return false;
    do {
      std::string key;
      if (!string(key) || !take(':')) return false;
      bool read = false;
      if (key == "dtype") {
        read = ++dtypes == 1 && string(t.dtype);
      } else if (key == "shape") {
        read = ++shapes == 1 && numbers(shape);
      } else if (key == "data_offsets") {
        read = offsets.empty() && numbers(offsets) && offsets.size() == 2;
      } else {
        read = skip_value(0);
      }
      if (!read) return false;
    } while (take(','));
    if (!take('}') || dtypes != 1 || shapes != 1 || offsets.size() != 2) return false;
    if (offsets[0] > offsets[1] || offsets[1] > INT64_MAX) return false;
    for (const std::uint64_t n : shape)
      t.shape.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(n, INT64_MAX)));
    t.bytes = static_cast<std::int64_t>(offsets[1] - offsets[0]);
    tensors.push_back(std::move(t));
    extents.push_back({offsets[0], offsets[1]});
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool metadata_seen_ = false;
};

// nullopt: more than a file can have, or no whole bytes.
std::optional<std::uint64_t> bytes_of(const StoredTensor& tensor, std::uint64_t bits) {
  for (const std::int64_t n : tensor.shape) {
    if (__builtin_mul_overflow(bits, static_cast<std::uint64_t>(n), &bits)) return std::nullopt;
  }
  return bits % 8 == 0 ? std::optional(bits / 8) : std::nullopt;
}

// "" = as its dtype and shape ask for.
std::string fault_of(const StoredTensor& tensor) {
  const auto known = std::ranges::find(kDtypes, tensor.dtype, &Dtype::name);
  if (known == kDtypes.end()) {
    return fmt::format("is damaged or newer than the loader: the dtype {} of {} is not known", tensor.dtype,
                       tensor.name);
  }
  const auto bytes = bytes_of(tensor, known->bits);
  if (bytes && *bytes == static_cast<std::uint64_t>(tensor.bytes)) return "";
  return fmt::format("is damaged: {} has {} bytes, its shape and {} ask for {}", tensor.name, tensor.bytes,
                     tensor.dtype, bytes ? std::to_string(*bytes) : "another number");
}

}  // namespace

tl::expected<SafetensorsHeader, std::string> read_safetensors_header(std::string_view text) {
  HeaderReader reader(text);
  if (!reader.read()) return tl::make_unexpected("is no safetensors file (its header cannot be understood)");
  const std::vector<Extent>& extents = reader.extents;
  std::vector<std::size_t> order(extents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(extents[i].begin, extents[i].end); });
  SafetensorsHeader out;
  for (const std::size_t i : order) {
    const std::string& name = reader.tensors[i].name;
    if (extents[i].begin < out.data_bytes)
      return tl::make_unexpected(fmt::format("is damaged: {} lies on the bytes of another tensor", name));
    if (extents[i].begin > out.data_bytes)
      return tl::make_unexpected(fmt::format("is damaged: no tensor has the bytes before {}", name));
    if (std::string fault = fault_of(reader.tensors[i]); !fault.empty()) return tl::make_unexpected(std::move(fault));
    out.data_bytes = extents[i].end;
  }
  out.tensors = std::move(reader.tensors);
  return out;
}

}  // namespace preflight::facts
