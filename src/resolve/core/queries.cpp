// Tested by tests/resolve_attention_test.cpp.
#include "src/resolve/core/queries.h"

#include <algorithm>
#include <cmath>

#include "src/facts/host_memory.h"
#include "src/python/integer.h"

namespace preflight::resolve {
namespace {

std::string lock_name(std::string_view phase, std::string_view key) {
  return "cuda_graph_locked." + std::string(phase) + '.' + std::string(key);
}

}  // namespace

bool is_text(const Value& v, std::string_view text) { return v.is_string() && v.as_string() == text; }

bool AttentionBackends::uses(std::string_view name) const { return is_text(prefill, name) || is_text(decode, name); }

AttentionBackends attention_backends(const Resolution& r) {
  const Value& both = r[Field::attention_backend];
  const Value& prefill = r[Field::prefill_attention_backend];
  const Value& decode = r[Field::decode_attention_backend];
  return {prefill.truthy() ? prefill : both, decode.truthy() ? decode : both};
}

bool is_attention_backend_not_set(const Resolution& r) {
  return r.none(Field::attention_backend) && r.none(Field::prefill_attention_backend) &&
         r.none(Field::decode_attention_backend);
}

const std::string& first_architecture(Resolution& r, std::string_view function) {
  const auto& architectures = r.model().architectures;
  if (architectures.empty()) {
    r.refuse(RF::kOther, "IndexError", std::string(function), "the model's configuration names no architecture");
  }
  return architectures.front();
}

bool use_mla(Resolution& r) { return r.model().is_mla(); }

bool attn_dp_enabled(const Resolution& r) {
  if (r.before(v0_5(22))) return r.on(Field::enable_dp_attention);
  return r.integer(Field::attn_dp_size) > 1 || r.is(Field::ep_join_mode, "scale");
}

bool model_is_remote_instance(const Resolution& r) {
  const std::string& path = r.text(Field::model_path);
  const auto at = path.rfind("://");  // upstream's pattern is greedy
  return at != std::string::npos && path.substr(0, at) == "instance";
}

Value effective_value(const Resolution& r, Field field) {
  if (!r.none(field)) return r[field];
  switch (field) {
    case Field::swa_full_tokens_ratio:
      return 0.8;
    case Field::mamba_full_memory_ratio:
      return 0.9;
    case Field::enable_tf32_matmul:
    case Field::mm_enable_dp_encoder:
      return false;
    default:
      return {};
  }
}

Value device_memory_mib(const Resolution& r) {
  if (r.is(Field::device, "xpu")) return r.device().memory_mib;
  if (!r.is(Field::device, "cpu")) return {};
  const std::string* cores = r.env_text("SGLANG_CPU_OMP_THREADS_BIND");
  const std::int64_t host = cores != nullptr && !cores->empty() ? 0 : facts::host_memory_mib(r.device(), r.release());
  return host > 0 ? Value(host) : Value();
}

std::int64_t max_prefill_buffer_tokens(const Resolution& r) {
  const Value& size = r[Field::chunked_prefill_size];
  const std::int64_t chunked = size.is_none() ? 0 : std::max<std::int64_t>(size.as_int(), 0);
  if (!r.on(Field::enable_dynamic_chunking) || r.integer(Field::pp_size) <= 1 || chunked == 0) return chunked;
  // Pipeline parallelism with dynamic chunking probes at 1.25 chunks and may grow to max_prefill_tokens.
  const Value& most = r[Field::max_prefill_tokens];
  const auto probe = integer::bounded_whole(std::ceil(static_cast<double>(chunked) * 1.25));
  return std::max({chunked, most.is_none() ? 0 : most.as_int(), probe});
}

bool mamba_extra_buffer(const Resolution& r) {
  return !r.on(Field::disable_radix_cache) &&
         r.one_of(Field::mamba_radix_cache_strategy, {"extra_buffer", "extra_buffer_lazy"});
}

const Value& graph_setting(const Resolution& r, std::string_view phase, std::string_view key) {
  static const Value kNone;
  const Value* settings = r[Field::cuda_graph_config].find(phase);
  const Value* value = settings == nullptr ? nullptr : settings->find(key);
  return value == nullptr ? kNone : *value;
}

bool graph_backend_is(const Resolution& r, std::string_view phase, std::string_view backend) {
  return is_text(graph_setting(r, phase, "backend"), backend);
}

Value graph_with(const Resolution& r, std::string_view phase,
                 std::initializer_list<std::pair<std::string_view, Value>> settings) {
  const Value& config = r[Field::cuda_graph_config];
  const Value* current = config.find(phase);
  Value changed = current == nullptr ? Value() : *current;
  for (const auto& [key, value] : settings) changed = std::move(changed).with(key, value);
  return config.with(phase, std::move(changed));
}

void turn_graph_off(Resolution& r, std::string_view source, std::string_view phase) {
  r.declare(source, {{Field::cuda_graph_config, graph_with(r, phase, {{"backend", "disabled"}})}});
}

bool graph_locked(const Resolution& r, std::string_view phase, std::string_view key) {
  return r.attribute(lock_name(phase, key)).truthy();
}

void lock_graph_setting(Resolution& r, std::string_view phase, std::string_view key) {
  r.set_attribute(lock_name(phase, key), true);
}

}  // namespace preflight::resolve
