// A model's config.json through the whole program. Inputs are real configurations with values, names and branches
// changed: bytes at random would hardly ever get past the JSON reader.
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "preflight/release.h"
#include "tests/fuzz/whole_program.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using nlohmann::json;

void collect(json& node, std::vector<json*>& out) {
  out.push_back(&node);
  if (!node.is_structured()) return;
  for (json& child : node) collect(child, out);
}

json odd_value(std::mt19937& random) {
  static const std::array<json, 22> kValues = {nullptr,
                                               true,
                                               false,
                                               0,
                                               1,
                                               -1,
                                               2,
                                               128,
                                               2147483647,
                                               -2147483648LL,
                                               9223372036854775807LL,
                                               1e300,
                                               -0.5,
                                               0.0,
                                               "",
                                               "auto",
                                               "float8_e4m3fn",
                                               "16",
                                               json::array(),
                                               json::object(),
                                               json::array({0, nullptr, "x"}),
                                               json::object({{"a", 1}})};
  return kValues.at(random() % kValues.size());
}

// One change of one node.
void change(json& root, std::mt19937& random) {
  std::vector<json*> nodes;
  collect(root, nodes);
  json& node = *nodes[random() % nodes.size()];
  switch (random() % 6) {
    case 0:
      node = odd_value(random);
      return;
    case 1:
      if (node.is_number_integer())
        node = static_cast<std::int64_t>(static_cast<std::uint64_t>(node.get<std::int64_t>()) * (random() % 9)) - 1;
      return;
    case 2:
      if (node.is_object() && !node.empty())
        node.erase(std::next(node.begin(), static_cast<long>(random() % node.size())));
      return;
    case 3:
      if (node.is_array() && !node.empty()) node.push_back(node[random() % node.size()]);
      return;
    case 4:
      node = *nodes[random() % nodes.size()];
      return;  // a branch from elsewhere, itself included
    default:
      if (node.is_object() && !node.empty()) {
        const auto from = std::next(node.begin(), static_cast<long>(random() % node.size()));
        const json value = from.value();
        node[std::array<const char*, 6>{"text_config", "num_key_value_heads", "head_dim", "sliding_window",
                                        "layer_types", "quantization_config"}
                 .at(random() % 6)] = value;
      }
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  std::mt19937 random(seed);
  json root = json::parse(data, data + size, nullptr, false);
  if (root.is_discarded() || random() % 50 == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (unsigned times = 1 + random() % 4; times > 0; --times) {
    json copy = root;
    change(copy, random);
    root = std::move(copy);
  }
  const std::string text = root.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > max_size) return size;
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using preflight::fuzz::scratch_directory;
  preflight::fuzz::write_scratch("config.json", std::string(reinterpret_cast<const char*>(data), size));
  const auto releases = preflight::supported_releases();
  const std::size_t pick = size == 0 ? 0 : data[size / 2] + size;
  const std::string release = releases[pick % releases.size()].text();
  static constexpr std::array<const char*, 3> kFormats = {"json", "json", "text"};
  const std::string format = kFormats.at(pick % kFormats.size());
  preflight::fuzz::run_and_judge({"check", "--no-kernel", "--details", "--sglang-version", release, "--format", format,
                                  "--", "--model-path", scratch_directory(), "--tp", pick % 2 == 0 ? "1" : "2"});
  preflight::fuzz::run_and_judge(
      {"memory", "--sglang-version", release, "--format", format, "--", "--model-path", scratch_directory()});
  return 0;
}
