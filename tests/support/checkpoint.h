// Checkpoints as transformers writes them, whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "src/facts/model_files.h"
#include "src/facts/model_source.h"
#include "src/facts/weight_files.h"
#include "src/plan/output_head.h"

namespace preflight::testing {

using facts::StoredTensor;
using facts::WeightFiles;

inline std::shared_ptr<const ModelFacts> model_of(const std::string& id_or_path) {
  facts::ModelFiles files(facts::KnownModels::kYes);
  facts::ModelRequest request;
  request.release = v0_5(23);
  request.path = id_or_path;
  auto built = facts::build_model(files, request);
  return std::get<std::shared_ptr<const ModelFacts>>(built.result);
}

inline void add(WeightFiles& files, std::string name, std::vector<std::int64_t> shape) {
  StoredTensor t{.name = std::move(name), .dtype = "BF16", .shape = std::move(shape), .bytes = 2};
  for (const std::int64_t n : t.shape) t.bytes *= n;
  files.bytes += t.bytes;
  files.tensors.push_back(std::move(t));
}

// A checkpoint as transformers writes it for Qwen3 and Qwen3-MoE.
inline WeightFiles checkpoint(const ModelFacts& m) {
  WeightFiles files;
  const std::int64_t h = m.hidden_size;
  // transformers has two names for it, by release.
  const Value count = m.text("num_experts").is_int() ? m.text("num_experts") : m.text("num_local_experts");
  const std::int64_t experts = count.is_int() ? count.as_int() : 0;
  const std::int64_t inner = m.text(experts > 0 ? "moe_intermediate_size" : "intermediate_size").as_int();
  add(files, "model.embed_tokens.weight", {m.vocab_size, h});
  if (!plan::is_tied(m)) add(files, "lm_head.weight", {m.vocab_size, h});
  add(files, "model.norm.weight", {h});
  for (std::int64_t i = 0; i < m.num_hidden_layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    for (const char* name : {"input_layernorm.weight", "post_attention_layernorm.weight"})
      add(files, layer + name, {h});
    for (const char* name : {"q_norm.weight", "k_norm.weight"}) add(files, layer + "self_attn." + name, {m.head_dim});
    add(files, layer + "self_attn.q_proj.weight", {m.num_attention_heads * m.head_dim, h});
    add(files, layer + "self_attn.k_proj.weight", {m.num_key_value_heads * m.head_dim, h});
    add(files, layer + "self_attn.v_proj.weight", {m.num_key_value_heads * m.head_dim, h});
    add(files, layer + "self_attn.o_proj.weight", {h, m.num_attention_heads * m.head_dim});
    if (experts > 0) add(files, layer + "mlp.gate.weight", {experts, h});
    for (std::int64_t e = 0; e < std::max<std::int64_t>(experts, 1); ++e) {
      const std::string mlp = layer + (experts > 0 ? "mlp.experts." + std::to_string(e) + "." : "mlp.");
      add(files, mlp + "gate_proj.weight", {inner, h});
      add(files, mlp + "up_proj.weight", {inner, h});
      add(files, mlp + "down_proj.weight", {h, inner});
    }
  }
  return files;
}

// As one file of the safetensors format, all zeros.
inline std::string safetensors_of(const WeightFiles& files) {
  nlohmann::json header;
  std::int64_t end = 0;
  for (const StoredTensor& t : files.tensors) {
    header[t.name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {end, end + t.bytes}}};
    end += t.bytes;
  }
  const std::string text = header.dump();
  std::string out;
  for (int byte = 0; byte < 8; ++byte) out += static_cast<char>(text.size() >> (8 * byte) & 0xFF);
  return out + text + std::string(static_cast<std::size_t>(end), '\0');
}

}  // namespace preflight::testing
