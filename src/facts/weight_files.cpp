#include "src/facts/weight_files.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "src/base/files_read.h"
#include "src/base/read_text.h"

namespace preflight::facts {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit
constexpr std::size_t kMostFaults = 8;
constexpr int kMostShards = 10'000;  // that a name can ask for; real checkpoints have hundreds

// One line each; those past the limit are counted alone.
class Faults {
 public:
  void add(std::string line) {
    if (lines_.size() < kMostFaults) {
      lines_.push_back(std::move(line));
    } else {
      ++more_;
    }
  }
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  std::vector<std::string> take() {
    if (more_ > 0) lines_.push_back(fmt::format("and {} more", more_));
    return std::move(lines_);
  }

 private:
  std::vector<std::string> lines_;
  std::size_t more_ = 0;
};

// Experts of a layer are alike, and thousands: those that differ in their number alone are one tensor of all their
// bytes, since whoever counts asks each the same questions.
class Tensors {
 public:
  // A name that several files hold is one parameter, which the last of them fills.
  Tensors(std::vector<StoredTensor>& all, bool may_repeat) : all_(all), may_repeat_(may_repeat) {}

  void add(StoredTensor tensor) {
    if (may_repeat_ && !names_.insert(tensor.name).second) return;
    const std::string alike = expert_of_its_kind(tensor);
    const auto [known, first] = alike.empty() ? std::pair{places_.end(), true} : places_.emplace(alike, all_.size());
    if (first) {
      all_.push_back(std::move(tensor));
    } else {
      all_[known->second].bytes += tensor.bytes;
    }
  }

 private:
  // Name, type and shape without the expert's number; "" for what is no expert's.
  static std::string expert_of_its_kind(const StoredTensor& tensor) {
    constexpr std::string_view kExperts = ".experts.";
    const auto at = tensor.name.find(kExperts);
    if (at == std::string::npos) return "";
    const auto number = at + kExperts.size();
    const auto end = tensor.name.find_first_not_of("0123456789", number);
    if (end == std::string::npos || end == number) return "";
    return fmt::format("{}{} {} {}", std::string_view(tensor.name).substr(0, number),
                       std::string_view(tensor.name).substr(end), tensor.dtype, fmt::join(tensor.shape, ","));
  }

  std::vector<StoredTensor>& all_;
  bool may_repeat_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, std::size_t> places_;
};

// Names of an index that no shard holds. The loader takes what the shards hold, and does not ask.
class Unstored {
 public:
  void add(const std::string& shard, const std::vector<std::string>& promised, const std::vector<StoredTensor>& held) {
    std::unordered_set<std::string_view> names;
    for (const StoredTensor& tensor : held) {
      if (!promised.empty()) names.insert(tensor.name);
      held_.insert(std::hash<std::string_view>()(tensor.name));
    }
    for (const std::string& name : promised) {
      if (!names.contains(name)) elsewhere_.emplace_back(name, shard);
    }
  }

  // "" where each of them is in a shard, be it another one.
  std::string text() {
    std::erase_if(elsewhere_,
                  [&](const auto& one) { return held_.contains(std::hash<std::string_view>()(one.first)); });
    if (elsewhere_.empty()) return "";
    const auto& [name, shard] = elsewhere_.front();
    const std::string first = fmt::format("{}, which it puts into {}", name, shard);
    return elsewhere_.size() == 1 ? first : fmt::format("{}, and {} more", first, elsewhere_.size() - 1);
  }

 private:
  std::unordered_set<std::size_t> held_;
  std::vector<std::pair<std::string, std::string>> elsewhere_;
};

// `promised`: names that the index puts here.
std::string fault_of(const fs::path& file, const std::vector<std::string>& promised, WeightFiles& out, Tensors& tensors,
                     Unstored& unstored) {
  std::error_code error;
  const auto status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) {
    return fs::is_symlink(file, error) ? "is a link to a file that is not there" : "is missing";
  }
  if (status.type() != fs::file_type::regular) return "is no regular file";
  const std::uint64_t size = fs::file_size(file, error);
  remember_read(file);
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
  auto read = read_safetensors_header(header);
  if (!read) return std::move(read.error());
  unstored.add(file.filename().string(), promised, read->tensors);
  for (StoredTensor& tensor : read->tensors) {
    out.bytes += tensor.bytes;
    tensors.add(std::move(tensor));
  }
  const std::uint64_t whole = raw.size() + length + read->data_bytes;
  if (whole > size) return fmt::format("is cut short: {} of {} bytes", size, whole);
  if (whole < size) return fmt::format("is damaged: it has {} bytes, its header tells of {}", size, whole);
  return "";
}

constexpr std::string_view kIndex = "model.safetensors.index.json";

// Each with the tensors that an index puts there.
using Shards = std::map<std::string, std::vector<std::string>>;

// A shard lies beside its index or in a folder below; a name that leads elsewhere is not followed.
bool leads_outside(const fs::path& name) {
  return name.empty() || name.is_absolute() || std::ranges::find(name, fs::path("..")) != name.end();
}

// The index has an entry for every tensor, of which a checkpoint may have a million: read as it comes, without a tree.
class IndexReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  IndexReader(Shards& shards, Faults& faults) : shards_(shards), faults_(faults) {}

  [[nodiscard]] bool found() const { return found_; }

  bool null() override { return no_text(); }
  bool boolean(bool /*v*/) override { return no_text(); }
  bool number_integer(number_integer_t /*v*/) override { return no_text(); }
  bool number_unsigned(number_unsigned_t /*v*/) override { return no_text(); }
  bool number_float(number_float_t /*v*/, const string_t& /*s*/) override { return no_text(); }
  bool binary(binary_t& /*v*/) override { return false; }
  bool string(string_t& shard) override {
    if (!of_map()) return no_text();
    if (leads_outside(shard)) {
      faults_.add(fmt::format("{} puts {} into a file outside of the folder: {}", kIndex, key_, shard));
    } else {
      shards_[shard].push_back(key_);
    }
    return true;
  }
  bool key(string_t& name) override {
    key_ = name;
    if (depth_ == 1) in_map_ = name == "weight_map";
    return true;
  }
  bool start_object(std::size_t /*n*/) override {
    if (depth_ == 1 && in_map_) {
      found_ = true;
    } else {
      no_text();
    }
    return depth_++ < kMostNesting;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*n*/) override {
    if (depth_ == 0) return false;
    no_text();
    return depth_++ < kMostNesting;
  }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*e*/) override {
    return false;
  }

 private:
  [[nodiscard]] bool of_map() const { return in_map_ && depth_ == 2; }
  bool no_text() {
    if (of_map()) faults_.add(fmt::format("{} names no file for {}", kIndex, key_));
    if (in_map_ && depth_ == 1) found_ = false;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  static constexpr int kMostNesting = 100;
  Shards& shards_;
  Faults& faults_;
  std::string key_;
  int depth_ = 0;
  bool in_map_ = false;  // behind the key weight_map of the outermost object
  bool found_ = false;   // and it is an object
};

// The shards that the index names. False: there is no index.
bool shards_of_index(const fs::path& directory, Shards& shards, Faults& faults) {
  const fs::path index = directory / kIndex;
  std::error_code error;
  if (!fs::is_regular_file(index, error)) return false;
  remember_read(index);
  std::ifstream in(index, std::ios::binary);
  IndexReader reader(shards, faults);
  const bool read = in && !would_wait(index) && nlohmann::json::sax_parse(in, &reader);
  if (!read || !reader.found()) faults.add(fmt::format("{} cannot be understood", kIndex));
  return true;
}

// What the loader takes without an index: every *.safetensors that no dot hides.
Shards shards_in(const fs::path& directory) {
  Shards out;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.ends_with(".safetensors") && !name.starts_with("consolidated") && !name.starts_with('.')) out[name];
  }
  return out;
}

// What a download into a folder leaves of a file until it is whole: beside it, or where huggingface_hub keeps it.
std::vector<std::string> cut_off_in(const fs::path& directory) {
  std::vector<std::string> out;
  for (const fs::path& folder : {directory, directory / ".cache/huggingface/download"}) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      if (it->path().extension() == ".incomplete") out.push_back(it->path().filename().string());
    }
  }
  std::ranges::sort(out);
  return out;
}

// "model-00001-of-00002.safetensors" tells of another one. Without an index nothing else does, and the loader starts
// with what is there.
struct Numbered {
  std::string stem;  // with its dash
  std::size_t digits = 0;
  int number = 0;
  std::string total;
};

std::optional<Numbered> numbered(std::string_view name) {
  static const std::regex kForm(R"((.*-)([0-9]{1,5})-of-([0-9]{1,6})\.safetensors)");
  std::match_results<std::string_view::const_iterator> match;
  if (!std::regex_match(name.begin(), name.end(), match, kForm)) return std::nullopt;
  const std::string number = match.str(2);
  return Numbered{match.str(1), number.size(), std::stoi(number), match.str(3)};
}

// The shards that must be there by the names of those that are.
void add_numbered(Shards& shards) {
  if (shards.contains("model.safetensors")) return;  // whole, beside what is left of another download
  Shards expected;
  std::set<std::string> done;
  for (const auto& [name, promised] : shards) {  // sorted: the first one of a set of shards comes first
    const auto first = numbered(name);
    if (!first || !done.insert(first->stem + first->total).second) continue;
    const int total = std::stoi(first->total);
    const int begin = first->number == 0 ? 0 : 1;
    for (int n = begin; n < begin + std::min(total, kMostShards); ++n) {
      expected[fmt::format("{}{:0{}}-of-{}.safetensors", first->stem, n, first->digits, first->total)];
    }
  }
  shards.merge(expected);
}

}  // namespace

std::optional<WeightFiles> read_weight_files(const std::string& directory) {
  static std::atomic<std::uint64_t> readings{0};
  WeightFiles out;
  out.id = ++readings;
  Faults faults;
  Shards shards;
  const bool indexed = shards_of_index(directory, shards, faults);
  const Shards there = shards_in(directory);
  const auto stands = [&](const auto& shard) {
    std::error_code error;
    return fs::symlink_status(fs::path(directory) / shard.first, error).type() != fs::file_type::not_found;
  };
  // An index alone, fetched for its sizes, is no damaged checkpoint.
  if (there.empty() && faults.empty() && std::ranges::none_of(shards, stands)) {
    const std::vector<std::string> cut_off = cut_off_in(directory);
    if (cut_off.empty()) return std::nullopt;
    out.faults.push_back(fmt::format("no weights, but what is left of a download: {}", cut_off.front()));
    out.only_absent = true;
    return out;
  }
  if (!indexed) {
    shards = there;
    add_numbered(shards);
  }
  Tensors tensors(out.tensors, !indexed && shards.size() > 1);
  Unstored unstored;
  out.only_absent = faults.empty();
  for (const auto& [shard, promised] : shards) {
    std::string fault = fault_of(fs::path(directory) / shard, promised, out, tensors, unstored);
    ++out.files;
    if (fault.empty()) continue;
    std::error_code error;
    out.only_absent = out.only_absent && !fs::exists(fs::path(directory) / shard, error);
    faults.add(shard + " " + fault);
  }
  out.unstored = unstored.text();
  out.only_absent = out.only_absent && !faults.empty();
  out.faults = faults.take();
  return out;
}

std::size_t files_named_by_index(const std::string& directory) {
  Faults faults;
  Shards shards;
  shards_of_index(directory, shards, faults);
  return shards.size();
}

}  // namespace preflight::facts
