#include "src/plan/decode_shape.h"

#include <algorithm>

#include <fmt/format.h>

namespace preflight::plan {
namespace {

// The field as an integer, or `fallback` when it is None or this release lacks it.
std::int64_t integer(const Launch& launch, Field field, std::int64_t fallback) {
  const Value& value = launch[field];
  return value.is_int() ? value.as_int() : fallback;
}

std::string text(const Launch& launch, Field field) {
  const Value& value = launch[field];
  return value.is_string() ? value.as_string() : std::string{};
}

std::string backend(const Launch& launch, Field split) {
  const std::string own = text(launch, split);
  return own.empty() ? text(launch, Field::attention_backend) : own;
}

std::optional<DType> torch_dtype(const std::string& name) {
  if (name == "bfloat16" || name == "bf16") return DType::kBf16;
  if (name == "float16" || name == "half") return DType::kF16;
  if (name == "float32" || name == "float") return DType::kF32;
  if (name == "fp8_e4m3") return DType::kFp8E4M3;
  if (name == "fp8_e5m2") return DType::kFp8E5M2;
  return std::nullopt;
}

std::int64_t attention_dp(const Launch& launch) {
  // Resolution fills it in from 0.5.14 on, whether or not the release has an option for it.
  if (launch[Field::attn_dp_size].is_int()) return integer(launch, Field::attn_dp_size, 1);
  return launch[Field::enable_dp_attention].truthy() ? integer(launch, Field::dp_size, 1) : 1;
}

}  // namespace

std::int64_t heads_per_rank(std::int64_t total, std::int64_t ranks) { return std::max<std::int64_t>(1, total / ranks); }

DecodeShape read_shape(const Launch& launch) {
  DecodeShape shape;
  if (!launch.accepted()) {
    shape.why_unknown = "the launch is refused";
    return shape;
  }
  if (launch.model == nullptr) {
    shape.why_unknown = "the model's config.json is not known";
    return shape;
  }
  const ModelFacts& model = *launch.model;
  shape.decode_backend = backend(launch, Field::decode_attention_backend);
  shape.prefill_backend = backend(launch, Field::prefill_attention_backend);
  const std::int64_t tp = integer(launch, Field::tp_size, 1);
  const std::int64_t dp = std::max<std::int64_t>(1, attention_dp(launch));
  const std::int64_t cp = std::max<std::int64_t>(1, integer(launch, Field::attn_cp_size, 1));
  const std::int64_t dcp = std::max<std::int64_t>(1, integer(launch, Field::dcp_size, 1));
  shape.attention_tp = std::max<std::int64_t>(1, tp / dp / cp);
  shape.num_q_heads = model.num_attention_heads / shape.attention_tp;
  shape.num_kv_heads = heads_per_rank(model.num_key_value_heads, std::max<std::int64_t>(1, shape.attention_tp / dcp));
  shape.page_size = std::max<std::int64_t>(1, integer(launch, Field::page_size, 1));
  shape.batch = std::max<std::int64_t>(1, integer(launch, Field::max_running_requests, 1));
  if (shape.num_q_heads < 1) {
    shape.why_unknown =
        fmt::format("{} attention heads over {} ranks leave none", model.num_attention_heads, shape.attention_tp);
    return shape;
  }
  const auto dtype = torch_dtype(model.dtype);
  if (!dtype) {
    shape.why_unknown = fmt::format("model type {} has no kernel", model.dtype);
    return shape;
  }
  shape.dtype = *dtype;
  const std::string kv = text(launch, Field::kv_cache_dtype);
  const auto kv_dtype = kv.empty() || kv == "auto" ? dtype : torch_dtype(kv);
  if (!kv_dtype) {
    shape.why_unknown = fmt::format("KV cache type {} has no kernel", kv);
    return shape;
  }
  shape.kv_dtype = *kv_dtype;
  return shape;
}

}  // namespace preflight::plan
