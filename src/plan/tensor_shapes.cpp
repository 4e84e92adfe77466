#include "src/facts/has_class.h"
#include "src/plan/tensor_shapes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace preflight::plan {
namespace {

using Shape = std::vector<std::int64_t>;

// Dense classes of one attention and one MLP in every layer, by these names.
bool is_plain(const ModelFacts& model) {
  return has_class(model, {"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"});
}

std::vector<std::pair<std::string_view, Shape>> shapes_of(const ModelFacts& model) {
  const std::int64_t queries = model.num_attention_heads * model.head_dim;
  const std::int64_t keys = model.num_key_value_heads * model.head_dim;
  const std::int64_t width = model.hidden_size;
  std::vector<std::pair<std::string_view, Shape>> out = {{"model.embed_tokens.weight", {model.vocab_size, width}},
                                                         {".self_attn.q_proj.weight", {queries, width}},
                                                         {".self_attn.k_proj.weight", {keys, width}},
                                                         {".self_attn.v_proj.weight", {keys, width}},
                                                         {".self_attn.o_proj.weight", {width, queries}}};
  if (const Value inner = model.text("intermediate_size"); inner.is_int()) {
    out.push_back({".mlp.gate_proj.weight", {inner.as_int(), width}});
    out.push_back({".mlp.up_proj.weight", {inner.as_int(), width}});
    out.push_back({".mlp.down_proj.weight", {width, inner.as_int()}});
  }
  return out;
}

}  // namespace

std::string misshapen_tensor(const ModelFacts& model, const facts::WeightFiles& files) {
  if (!is_plain(model) || model.quantization || !model.quant_config.is_none()) return "";
  if (model.hidden_size <= 0 || model.head_dim <= 0 || model.vocab_size <= 0) return "";
  const auto shapes = shapes_of(model);
  for (const facts::StoredTensor& tensor : files.tensors) {
    const auto of_class = std::ranges::find_if(shapes, [&](const auto& one) {
      return one.first.starts_with('.') ? tensor.name.starts_with("model.layers.") && tensor.name.ends_with(one.first)
                                        : tensor.name == one.first;
    });
    if (of_class == shapes.end() || tensor.shape == of_class->second) continue;
    return fmt::format("{} is {}, and {} allocates {}", tensor.name, fmt::join(tensor.shape, " x "),
                       model.architectures.front(), fmt::join(of_class->second, " x "));
  }
  return "";
}

std::string absent_scales(const ModelFacts& model, const facts::WeightFiles& files) {
  const Value* method = model.hf_quant_config.is_dict() ? model.hf_quant_config.find("quant_method") : nullptr;
  const bool stored_fp8 = method != nullptr && method->is_string() && method->as_string() == "fp8";
  if (!stored_fp8 || model.quantization != "fp8" || files.tensors.empty()) return "";
  const bool any = std::ranges::any_of(
      files.tensors, [](const facts::StoredTensor& t) { return t.name.find("scale") != std::string::npos; });
  return any ? ""
             : fmt::format("the configuration says fp8, and none of the {} tensors is a scale", files.tensors.size());
}

}  // namespace preflight::plan
