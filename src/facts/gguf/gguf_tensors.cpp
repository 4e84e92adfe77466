// Names: ggml's gguf.md and gguf/constants.py (MODEL_TENSORS). Tested by tests/facts_gguf_test.cpp.
#include "src/facts/gguf/gguf_tensors.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/base/limits.h"

namespace preflight::facts {
namespace {

// What a layer has beside its norms, its projections of attention and its feed-forward.
struct Architecture {
  std::string_view name;
  bool has_biases = false;
  bool has_head_norms = false;
  bool has_experts = false;
  bool has_shared_expert = false;
};
constexpr std::array kArchitectures = {
    Architecture{.name = "llama"}, Architecture{.name = "qwen2", .has_biases = true},
    Architecture{.name = "qwen2moe", .has_biases = true, .has_experts = true, .has_shared_expert = true},
    Architecture{.name = "qwen3", .has_head_norms = true},
    Architecture{.name = "qwen3moe", .has_head_norms = true, .has_experts = true}};

std::vector<std::string_view> parts_of(const Architecture& a) {
  std::vector<std::string_view> out = {"attn_norm.weight", "attn_q.weight",      "attn_k.weight",
                                       "attn_v.weight",    "attn_output.weight", "ffn_norm.weight"};
  const auto add = [&](bool has, std::initializer_list<std::string_view> more) {
    if (has) out.insert(out.end(), more);
  };
  add(a.has_biases, {"attn_q.bias", "attn_k.bias", "attn_v.bias"});
  add(a.has_head_norms, {"attn_q_norm.weight", "attn_k_norm.weight"});
  add(!a.has_experts, {"ffn_gate.weight", "ffn_up.weight", "ffn_down.weight"});
  add(a.has_experts, {"ffn_gate_inp.weight", "ffn_gate_exps.weight", "ffn_up_exps.weight", "ffn_down_exps.weight"});
  add(a.has_shared_expert,
      {"ffn_gate_inp_shexp.weight", "ffn_gate_shexp.weight", "ffn_up_shexp.weight", "ffn_down_shexp.weight"});
  return out;
}

}  // namespace

LackingTensors lacking_tensors(const GgufFile& file) {
  LackingTensors out;
  const Value* name = file.metadata.find("general.architecture");
  if (name == nullptr || !name->is_string()) return out;
  const auto number = [&](std::string_view key) {
    const Value* value = file.metadata.find(fmt::format("{}.{}", name->as_string(), key));
    return value != nullptr && value->is_int() && !value->is_long_int() ? value->as_int() : std::int64_t{0};
  };
  const auto* known = std::find_if(kArchitectures.begin(), kArchitectures.end(),
                                   [&](const Architecture& a) { return a.name == name->as_string(); });
  const std::int64_t layers = number("block_count");
  if (known == kArchitectures.end() || layers < 1 || layers > limits::kLayers) return out;
  if (!known->has_experts && number("expert_count") > 0) return out;  // Mixtral's, by the name of Llama's
  const auto want = [&](std::string tensor) {
    ++out.of;
    if (!std::ranges::binary_search(file.tensors, tensor)) out.names.push_back(std::move(tensor));
  };
  want("token_embd.weight");
  want("output_norm.weight");
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    for (const std::string_view part : parts_of(*known)) want(fmt::format("blk.{}.{}", layer, part));
  }
  return out;
}

}  // namespace preflight::facts
