// Answers about a resolved launch; see launch_view.h.
#include "src/launch/launch_view.h"

#include <algorithm>
#include <array>

#include "src/base/ascii_case.h"
#include "src/facts/kinds.h"
#include "src/facts/device_profiles.h"
#include "src/facts/kv_cache_scheme.h"
#include "src/python/environment.h"

namespace preflight {
namespace {

// Variables that only some releases read.
struct Variable {
  std::string_view name;
  Release since = v0_5(0);
  Release until = kNoEnd;
};
constexpr std::array<Variable, 2> kVariables = {{
    {.name = "SGLANG_USE_SGL_XPU", .until = v0_5(19)},
    {.name = "SGLANG_SHARED_EXPERT_TP1", .since = v0_5(12)},
}};

}  // namespace

std::int64_t LaunchView::integer(Field f, std::int64_t fallback) const {
  const Value& v = launch_[f];
  return v.is_int() || v.is_bool() ? v.as_int() : fallback;
}

double LaunchView::number(Field f, double fallback) const {
  const Value& v = launch_[f];
  return v.is_number() ? v.as_number() : fallback;
}

std::string_view LaunchView::text(Field f) const {
  const Value& v = launch_[f];
  return v.is_string() ? std::string_view(v.as_string()) : std::string_view();
}

bool LaunchView::one_of(Field f, std::initializer_list<std::string_view> values) const {
  return std::find(values.begin(), values.end(), text(f)) != values.end();
}

bool LaunchView::env_on(std::string_view name) const {
  const auto known = std::ranges::find(kVariables, name, &Variable::name);
  if (known != kVariables.end() && (release() < known->since || release() >= known->until)) return false;
  return python::environment_bool(launch_.env, name);
}

std::string_view LaunchView::prefill_backend() const {
  const std::string_view split = text(Field::prefill_attention_backend);
  return split.empty() ? base_backend() : split;
}

std::string_view LaunchView::decode_backend() const {
  const std::string_view split = text(Field::decode_attention_backend);
  return split.empty() ? base_backend() : split;
}

Field LaunchView::prefill_field() const {
  return text(Field::prefill_attention_backend).empty() ? Field::attention_backend : Field::prefill_attention_backend;
}

Field LaunchView::decode_field() const {
  return text(Field::decode_attention_backend).empty() ? Field::attention_backend : Field::decode_attention_backend;
}

Field LaunchView::field_naming(std::string_view backend) const {
  return decode_on(backend) ? decode_field() : prefill_field();
}

std::int64_t LaunchView::attention_dp() const {
  // From 0.5.22 a size of its own; dp_size returns to 1 there. Before, a switch over dp_size.
  if (since(22)) return std::max<std::int64_t>(1, integer(Field::attn_dp_size, 1));
  return on(Field::enable_dp_attention) ? std::max<std::int64_t>(1, integer(Field::dp_size, 1)) : 1;
}

std::int64_t LaunchView::ordinary_dp() const {
  const std::int64_t dp = std::max<std::int64_t>(1, integer(Field::dp_size, 1));
  return before(22) && on(Field::enable_dp_attention) ? 1 : dp;
}

std::int64_t LaunchView::attention_tp() const {
  const std::int64_t cp = std::max<std::int64_t>(1, integer(Field::attn_cp_size, 1));
  return std::max<std::int64_t>(1, tp() / attention_dp() / cp);
}

std::optional<double> LaunchView::static_share() const {
  const double share = number(Field::mem_fraction_static, 0.0);
  return share > 0.0 && share < 1.0 ? std::optional(share) : std::nullopt;
}

std::optional<std::int64_t> LaunchView::running_requests() const {
  const std::int64_t asked = integer(Field::max_running_requests, 0);
  return asked > 0 ? std::optional(std::max<std::int64_t>(1, asked / attention_dp())) : std::nullopt;
}

std::int64_t LaunchView::moe_tp() const {
  return std::max<std::int64_t>(1, tp() / std::max<std::int64_t>(1, ep()) / std::max<std::int64_t>(1, moe_dp()));
}

bool LaunchView::exchanges_tokens() const { return !one_of(Field::moe_a2a_backend, {"", "none"}); }

std::string LaunchView::algorithm() const { return ascii_upper(text(Field::speculative_algorithm)); }

bool LaunchView::eagle_family() const {
  static constexpr std::array<std::string_view, 5> kFamily = {"EAGLE", "EAGLE3", "NEXTN", "STANDALONE",
                                                              "FROZEN_KV_MTP"};
  const std::string a = algorithm();
  return std::find(kFamily.begin(), kFamily.end(), a) != kFamily.end();
}

std::string_view LaunchView::verify_backend() const {
  return is(Field::speculative_attention_mode, "decode") ? decode_backend() : prefill_backend();
}

std::string_view LaunchView::draft_decode_backend() const {
  const std::string_view own = text(Field::speculative_draft_attention_backend);
  return own.empty() ? decode_backend() : own;
}

std::string_view LaunchView::draft_extend_backend() const {
  const std::string_view own = text(Field::speculative_draft_attention_backend);
  return own.empty() ? verify_backend() : own;
}

std::string_view LaunchView::graph_backend(std::string_view phase) const {
  const Value* p = launch_[Field::cuda_graph_config].find(phase);
  const Value* b = p == nullptr ? nullptr : p->find("backend");
  return b != nullptr && b->is_string() ? std::string_view(b->as_string()) : std::string_view();
}

bool LaunchView::decode_graph_full() const { return since(15) && graph_backend("decode") == "full"; }

bool LaunchView::any_graph() const {
  if (before(15)) return false;
  const auto enabled = [&](std::string_view phase) {
    const std::string_view b = graph_backend(phase);
    return !b.empty() && b != "disabled";
  };
  return enabled("decode") || enabled("prefill");
}

std::string_view LaunchView::mamba_strategy() const {
  return text(before(14) ? Field::mamba_scheduler_strategy : Field::mamba_radix_cache_strategy);
}

std::string LaunchView::model_dtype() const {
  const std::string_view resolved = text(Field::dtype);
  if (resolved == "half") return "float16";
  if (resolved == "float") return "float32";
  return resolved.empty() || resolved == "auto" ? model().dtype : std::string(resolved);
}

std::string LaunchView::kv_dtype() const {
  const std::string_view given_dtype = text(Field::kv_cache_dtype);
  if (given_dtype == "bf16") return "bfloat16";
  if (!given_dtype.empty() && given_dtype != "auto") return std::string(given_dtype);
  if (!has_model()) return {};
  // ModelRunner's configure_kv_cache_dtype: an FP8 scheme of the checkpoint decides under `auto`.
  const bool by_transformers = is(Field::model_impl, "transformers");
  return facts::checkpoint_wants_fp8_cache(model(), release(), by_transformers) ? "fp8_e4m3" : model_dtype();
}

std::int64_t LaunchView::shared_dense_width() const {
  const bool whole = integer(Field::moe_dense_tp_size, 0) == 1 && has_experts(model());
  return whole ? 0 : dense_width(model());
}

std::string_view LaunchView::vision_backend() const {
  const std::string_view chosen = text(Field::mm_attention_backend);
  if (!chosen.empty()) return chosen;
  if (since(19)) return "xpu_attn";
  return since(13) && env_on("SGLANG_USE_SGL_XPU") ? "xpu_attn" : "triton_attn";
}

bool LaunchView::is_battlemage_or_later() const {
  if (!device().has_fp64) return false;  // what the kernels are built for has it; they refuse a device without
  for (const auto& p : facts::device_profiles()) {
    if (p.device.name == device().name) return p.architecture == "bmg" || p.architecture == "lnl";
  }
  // Data Center GPU Max passes SGLang's fp64 probe, yet no kernel is built for it.
  return device().name.find("Data Center GPU Max") == std::string::npos;
}

}  // namespace preflight
