#include "src/facts/weight_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "preflight/value.h"
#include "src/base/read_text.h"

namespace preflight::facts {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit
constexpr std::size_t kMostFaults = 8;

// The header is JSON of one shape, and a checkpoint may have a million tensors: read in one pass, without a tree.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, WeightFiles& out) : text_(text), out_(out) {}

  // False where it is anything else than a header. `end` becomes where the data of the last tensor ends.
  bool read(std::uint64_t& end) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string name;
      if (!string(name) || !take(':')) return false;
      if (name == "__metadata__" ? !skip_flat_object() : !tensor(std::move(name), end)) return false;
    } while (take(','));
    return take('}');
  }

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
      if (!number(n) || out.size() > 16) return false;
      out.push_back(n);
    } while (take(','));
    return take(']');
  }
  bool skip_flat_object() {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string ignored;
      if (!string(ignored) || !take(':') || !string(ignored)) return false;
    } while (take(','));
    return take('}');
  }
  bool tensor(std::string name, std::uint64_t& end) {
    StoredTensor t{.name = std::move(name), .dtype = {}, .shape = {}, .bytes = 0};
    std::vector<std::uint64_t> offsets;
    if (!take('{')) return false;
    do {
      std::string key;
      if (!string(key) || !take(':')) return false;
      if (key == "dtype") {
        if (!string(t.dtype)) return false;
      } else if (key == "shape") {
        std::vector<std::uint64_t> shape;
        if (!numbers(shape)) return false;
        for (const std::uint64_t n : shape)
          t.shape.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(n, INT64_MAX)));
      } else if (key == "data_offsets") {
        if (!numbers(offsets) || offsets.size() != 2 || offsets[0] > offsets[1]) return false;
      } else {
        return false;
      }
    } while (take(','));
    if (!take('}') || offsets.size() != 2 || offsets[1] > INT64_MAX) return false;
    t.bytes = static_cast<std::int64_t>(offsets[1] - offsets[0]);
    end = std::max(end, offsets[1]);
    out_.bytes += t.bytes;
    out_.tensors.push_back(std::move(t));
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  WeightFiles& out_;
};

std::string fault_of(const fs::path& file, WeightFiles& out) {
  std::error_code error;
  const auto status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) {
    return fs::is_symlink(file, error) ? "is a link to a file that is not there" : "is missing";
  }
  if (status.type() != fs::file_type::regular) return "is no regular file";
  const std::uint64_t size = fs::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  if (error || !in) return "cannot be read";
  std::array<unsigned char, 8> raw{};
  if (size < raw.size() || !in.read(reinterpret_cast<char*>(raw.data()), raw.size())) {
    return fmt::format("is cut short: {} bytes", size);
  }
  std::uint64_t length = 0;
  for (std::size_t i = raw.size(); i-- > 0;) length = length << 8U | raw[i];
  constexpr std::string_view kPointer = "version ";  // a Git LFS pointer: the text begins so
  if (std::equal(raw.begin(), raw.end(), kPointer.begin())) return "is a Git LFS pointer, not the file";
  if (length > kLongestHeader) return "is no safetensors file (its header would be longer than the format allows)";
  if (length > size - raw.size()) {
    return fmt::format("is cut short: its header alone has {} bytes, the file {}", length, size);
  }
  std::string header(length, '\0');
  if (!in.read(header.data(), static_cast<std::streamsize>(length))) return "cannot be read";
  std::uint64_t end = 0;
  if (!HeaderReader(header, out).read(end)) return "is no safetensors file (its header cannot be understood)";
  const std::uint64_t whole = raw.size() + length + end;
  if (whole > size) return fmt::format("is cut short: {} of {} bytes", size, whole);
  return "";
}

// The shards that the index names. False: there is no index.
bool shards_of_index(const fs::path& directory, std::set<std::string>& shards, WeightFiles& out) {
  const fs::path index = directory / "model.safetensors.index.json";
  std::error_code error;
  if (!fs::is_regular_file(index, error)) return false;
  const auto text = read_text(index.string());
  const auto value = text ? Value::parse_json(*text) : Result<Value>(tl::make_unexpected(text.error()));
  const Value* map = value && value->is_dict() ? value->find("weight_map") : nullptr;
  if (map == nullptr || !map->is_dict()) {
    out.faults.push_back(index.filename().string() + " cannot be understood");
    return true;
  }
  for (const auto& [tensor, shard] : map->as_dict()) {
    // A shard lies beside its index; anything else is not followed.
    if (shard.is_string() && shard.as_string().find('/') == std::string::npos) shards.insert(shard.as_string());
  }
  return true;
}

}  // namespace

std::optional<WeightFiles> read_weight_files(const std::string& directory) {
  WeightFiles out;
  std::set<std::string> shards;
  const bool indexed = shards_of_index(directory, shards, out);
  if (!indexed) {
    std::error_code error;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (name.ends_with(".safetensors") && !name.starts_with("consolidated")) shards.insert(name);
    }
    if (shards.empty()) return std::nullopt;
  }
  // An index alone, fetched for its sizes, is no damaged checkpoint.
  const bool none = indexed && !shards.empty() && std::none_of(shards.begin(), shards.end(), [&](const std::string& s) {
                      std::error_code error;
                      return fs::symlink_status(fs::path(directory) / s, error).type() != fs::file_type::not_found;
                    });
  if (none) return std::nullopt;
  std::size_t faults = 0;
  for (const std::string& shard : shards) {
    std::string fault = fault_of(fs::path(directory) / shard, out);
    ++out.files;
    if (fault.empty()) continue;
    if (++faults <= kMostFaults) out.faults.push_back(shard + " " + fault);
  }
  if (faults > kMostFaults) out.faults.push_back(fmt::format("and {} more", faults - kMostFaults));
  return out;
}

}  // namespace preflight::facts
