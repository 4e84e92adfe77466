#include "src/plan/decode_shape.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/facts/kinds.h"

namespace preflight::plan {
namespace {

std::optional<DType> torch_dtype(const std::string& name) {
  if (name == "bfloat16" || name == "bf16") return DType::kBf16;
  if (name == "float16" || name == "half") return DType::kF16;
  if (name == "float32" || name == "float") return DType::kF32;
  if (name == "fp8_e4m3") return DType::kFp8E4M3;
  if (name == "fp8_e5m2") return DType::kFp8E5M2;
  return std::nullopt;
}

void fill_types(const LaunchView& view, DecodeShape& shape) {
  const auto dtype = torch_dtype(view.model_dtype());
  const auto kv_dtype = torch_dtype(view.kv_dtype());
  if (!dtype) {
    shape.why_unknown = fmt::format("model type {} has no kernel", view.model_dtype());
    return;
  }
  shape.dtype = *dtype;
  if (!kv_dtype) {
    shape.why_unknown = fmt::format("KV cache type {} has no kernel", view.kv_dtype());
    return;
  }
  shape.kv_dtype = *kv_dtype;
}

}  // namespace

std::int64_t heads_per_rank(std::int64_t total, std::int64_t ranks) { return std::max<std::int64_t>(1, total / ranks); }

DecodeShape read_shape(const LaunchView& view) {
  DecodeShape shape;
  if (!view.launch().accepted()) {
    shape.why_unknown = "the launch is refused";
    return shape;
  }
  if (!view.has_model()) {
    shape.why_unknown = "the model's config.json is not known";
    return shape;
  }
  if (view.on(Field::encoder_only)) {
    shape.why_unknown = "--encoder-only starts a server of the model's tower, which has no cache and no decode step";
    return shape;
  }
  const ModelFacts& model = view.model();
  shape.decode_backend = view.decode_backend();
  shape.prefill_backend = view.prefill_backend();
  shape.attention_tp = view.attention_tp();
  shape.num_q_heads = model.num_attention_heads / shape.attention_tp;
  shape.num_kv_heads =
      heads_per_rank(total_kv_heads(model), std::max<std::int64_t>(1, shape.attention_tp / view.dcp()));
  shape.page_size = view.page_size();
  shape.batch = view.running_requests().value_or(1);
  if (shape.num_q_heads < 1) {
    shape.why_unknown =
        fmt::format("{} attention heads over {} ranks leave none", model.num_attention_heads, shape.attention_tp);
    return shape;
  }
  fill_types(view, shape);
  return shape;
}

}  // namespace preflight::plan
