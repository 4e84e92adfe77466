// Chunked prefill size, graph batch sizes and the static memory fraction from the device's memory.
//
// Source: arg_groups/memory_hook.py (0.5.20 and later); memory_by_flags.cpp has the older form. Floating-point
// expressions keep upstream's order of operations, so that results are equal to the last bit.
// Tested by tests/resolve_memory_test.cpp.
#include "src/resolve/cache/memory.h"

#include <algorithm>

#include "src/base/ascii_case.h"
#include "src/python/integer.h"
#include "src/resolve/graphs/graph_sizes.h"
#include "src/resolve/cache/memory_detail.h"
#include "src/resolve/core/operators.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve {
namespace memory {

Capacity capacity_of(const Resolution& r, const Value& memory_mib) {
  if (memory_mib.is_none()) return {4096, 160};
  const std::int64_t mib = memory_mib.as_int();
  const bool wide = r.integer(Field::tp_size) >= 4;
  if (mib < 20 * kGiB) return {2048, 8};
  if (mib < 35 * kGiB) {
    return r.since(v0_5(20)) ? Capacity{4096, wide ? 160 : 48} : Capacity{2048, wide ? 80 : 24};
  }
  if (mib < 60 * kGiB) return {4096, wide ? 160 : 32};
  if (mib < 160 * kGiB) return {8192, wide ? 512 : 256};
  return {16384, 512};
}

bool is_llama_2(const Resolution& r) {
  return ascii_lower(r.text(Field::model_path)).find("llama-2") != std::string::npos;
}

// Images need memory that the fraction does not count; a larger vision tower needs more of it.
double reduced_for_vision(Resolution& r, double fraction) {
  const Value vision = r.model().root("vision_config");
  if (vision.is_none()) return fraction;
  const bool has_attributes = !r.model().has_vision_config_dict;
  const auto setting = [&](std::string_view key, double fallback) {
    const Value* v = has_attributes ? vision.find(key) : nullptr;
    return v == nullptr ? fallback : operators::number(r, "adjust_mem_fraction_for_vlm", *v);
  };
  const double layers = setting("num_hidden_layers", 24);
  const double hidden = setting("hidden_size", 1024);
  const double complexity = layers * (hidden * hidden) / (24.0 * 1024 * 1024);  // of ViT-L/14
  const double adjustment = std::max(0.8, std::min(1.05, 1.0 - 0.1 * (complexity - 1.0)));
  return fraction * (0.95 * adjustment);
}

double activation_tokens(const Resolution& r) {
  const double chunk = r.number(Field::chunked_prefill_size);
  return std::max(chunk > 0 ? chunk : r.number(Field::max_prefill_tokens), 2048.0);
}

double fraction_left(Resolution& r, double reserved_mib, const Value& memory_mib, double unknown) {
  if (memory_mib.is_none()) return unknown;
  const double mib = memory_mib.as_number();
  if (mib == 0) r.refuse(RF::kOther, "ZeroDivisionError", kSource, "the device is said to have no memory");
  return operators::round_to((mib - reserved_mib) / mib, 3);
}

}  // namespace memory

namespace {

using memory::Capacity;
using memory::kGiB;
using memory::kSource;

constexpr std::string_view kSettings = "_handle_gpu_memory_settings";

// Symmetric memory is refused on XPU since 0.5.20; before, only its pool size is noted.
void preallocate_symmetric_memory(Resolution& r) {
  if (!r.on(Field::enable_symm_mem) || r.env_text("SGLANG_SYMM_MEM_PREALLOC_GB_SIZE") != nullptr) return;
  r.env()["SGLANG_SYMM_MEM_PREALLOC_GB_SIZE"] = "4";
  r.warn(kSettings, "symmetric memory preallocates 4 GB unless SGLANG_SYMM_MEM_PREALLOC_GB_SIZE says else");
}

// Working copy of one phase; declared together once every default is in.
struct GraphPhase {
  Value settings;
  [[nodiscard]] Value get(std::string_view key) const {
    const Value* v = settings.find(key);
    return v == nullptr ? Value() : *v;
  }
  void set(std::string_view key, Value value) { settings = std::move(settings).with(key, std::move(value)); }
};

void default_decode_graph(Resolution& r, GraphPhase& decode, const Capacity& capacity, const Value& memory_mib) {
  const std::string_view function = kSettings;
  const Value& running = r[Field::max_running_requests];
  if (decode.get("max_bs").is_none()) {
    decode.set("max_bs", capacity.graph_max_bs);
    if (r.since(v0_5(22)) && !running.is_none() && capacity.graph_max_bs > running.as_int())
      decode.set("max_bs", running);
  }
  // The Qwen3-VL rule of 0.5.23 acts on Hopper only, but it compares first.
  if (!memory_mib.is_none() && !running.is_none() && running.as_int() <= 512) {
    operators::less(r, "expand_multimodal_decode_graph_to_running_limit", decode.get("max_bs"), running);
  }
  if (!r.is(Field::device, "cpu")) {
    if (decode.get("bs").is_none()) {
      decode.set("bs", decode_graph_sizes(r, decode.get("max_bs")));
    } else {
      decode.set("max_bs", operators::max_of(r, function, decode.get("bs")));
    }
    return;
  }
  if (!decode.get("bs").is_none()) {
    r.declare(kSource, {{Field::torch_compile_max_bs, operators::max_of(r, function, decode.get("bs"))}});
  } else {
    const Value& most = r[Field::torch_compile_max_bs];
    r.declare(kSource, {{Field::torch_compile_max_bs, most.truthy() ? most : decode.get("max_bs")}});
    decode.set("bs", cpu_graph_sizes(r));
  }
  r.require(RF::kOther, operators::number(r, function, r[Field::torch_compile_max_bs]) > 0, function,
            "graph batch sizes must be positive");
  decode.set("max_bs", r[Field::torch_compile_max_bs]);
}

void default_prefill_graph(Resolution& r, GraphPhase& prefill) {
  if (prefill.get("max_bs").is_none()) {
    Value most = r[Field::chunked_prefill_size];
    const auto at_most = [&](const Value& limit) {
      if (integer::less(limit, most)) most = limit;
    };
    if (use_mla(r) && r.before(v0_5(23))) most = 2048;
    if (use_mla(r) && r.since(v0_5(23))) at_most(8192);
    // Pipeline parallelism captures small buckets only, unless sizes were given.
    if (r.integer(Field::pp_size) > 1 && is_text(prefill.get("backend"), "breakable") &&
        !graph_locked(r, kPrefill, "bs")) {
      at_most(8192);
    }
    if (!r.none(Field::max_total_tokens)) at_most(r[Field::max_total_tokens]);
    if (memory::is_llama_2(r)) at_most(4096);
    prefill.set("max_bs", most);
  }
  if (r.before(v0_5(17)) && !r.none(Field::context_length)) {
    const Value most = prefill.get("max_bs");
    if (operators::less(r, kSettings, r[Field::context_length], most)) {
      prefill.set("max_bs", r[Field::context_length]);
    }
  }
  if (prefill.get("bs").is_none()) prefill.set("bs", prefill_graph_sizes(r, prefill.get("max_bs")));
}

double reserved_mib_for_graphs(Resolution& r) {
  const std::string_view function = "reserve_for_graph_mb";
  const bool by_role = r.since(v0_5(15));  // before, every server keeps room for both
  const bool decodes = !by_role || !r.is(Field::disaggregation_mode, "prefill");
  double reserved = 0.0;
  const Value& max_bs = graph_setting(r, kDecode, "max_bs");
  if (decodes && !(by_role && graph_backend_is(r, kDecode, "disabled")))
    reserved += operators::number(r, function, max_bs) * 2;
  if (attn_dp_enabled(r) && decodes) {
    const double bs = operators::number(r, function, max_bs);
    const double groups = r.number(Field::attn_dp_size);
    reserved += bs * groups * 3;
    if (bs > 300) reserved += bs * groups * 1.5;
  }
  if (!(by_role && r.is(Field::disaggregation_mode, "decode")) && !graph_backend_is(r, kPrefill, "disabled")) {
    reserved += use_mla(r) ? 1.5 * 1024
                           : static_cast<double>(operators::length(r, function, graph_setting(r, kPrefill, "bs"))) * 8;
    if (by_role && graph_backend_is(r, kPrefill, "breakable") && r.is(Field::moe_a2a_backend, "deepep"))
      reserved += 1024;
  }
  return reserved;
}

double activation_tokens_by_role(Resolution& r) {
  if (r.before(v0_5(15)) || !r.is(Field::disaggregation_mode, "decode")) {
    return memory::activation_tokens(r);
  }
  const auto first_truthy = [](const Value& a, const Value& b) { return a.truthy() ? a : b.truthy() ? b : Value(1); };
  const std::string_view function = kSettings;
  const double running =
      operators::number(r, function, first_truthy(r[Field::max_running_requests], graph_setting(r, kDecode, "max_bs")));
  const double drafts = first_truthy(r[Field::speculative_num_draft_tokens], Value(1)).as_number();
  return std::max(running * drafts, 2048.0);
}

double reserved_mib(Resolution& r, const Value& memory_mib) {
  double reserved = 512 + activation_tokens_by_role(r) * 1.5;
  reserved += r.number(Field::tp_size) * r.number(Field::pp_size) / 8 * 1024;
  reserved += reserved_mib_for_graphs(r);
  if (!memory_mib.is_none() && memory_mib.as_int() > 60 * kGiB) reserved = std::max(reserved, 10.0 * 1024);
  if (r.since(v0_5(15)) && !r.is(Field::disaggregation_mode, "prefill") && !graph_backend_is(r, kDecode, "disabled") &&
      r.is(Field::moe_a2a_backend, "deepep")) {
    reserved += 2 * 1024;  // all-to-all buffers captured in the decode graph
  }
  // XPU: oneDNN's scratch for matmuls whose length is not a round number
  return r.since(v0_5(20)) ? reserved + 2 * 1024 : reserved;
}

void default_memory_fraction(Resolution& r, const Value& memory_mib) {
  if (!r.none(Field::mem_fraction_static)) return;
  const bool runs_vision = r.model().is_multimodal && !r.on(Field::language_only) &&
                           !r.on(Field::language_model_only) &&
                           (r.before(v0_5(17)) || !r.is(Field::disaggregation_mode, "decode"));
  // Sizing the cache after graph capture is for CUDA only, so the reserve always counts here.
  double fraction = memory::fraction_left(r, reserved_mib(r, memory_mib), memory_mib, r.since(v0_5(20)) ? 0.95 : 0.88);
  if (r.before(v0_5(20))) {
    r.declare(kSource, {{Field::mem_fraction_static, fraction}});
    if (runs_vision && !r.model().root("vision_config").is_none()) {
      r.declare("adjust_mem_fraction_for_vlm", {{Field::mem_fraction_static, memory::reduced_for_vision(r, fraction)}});
    }
    return;
  }
  if (runs_vision) fraction = memory::reduced_for_vision(r, fraction);
  r.declare(kSource, {{Field::mem_fraction_static, fraction}});
}

void settings_by_graph_config(Resolution& r, const Value& memory_mib) {
  const Capacity capacity = memory::capacity_of(r, memory_mib);
  if (r.none(Field::chunked_prefill_size)) {
    r.declare(kSource, {{Field::chunked_prefill_size, capacity.chunked_prefill_size}});
  }
  const Value& config = r[Field::cuda_graph_config];
  GraphPhase decode{*config.find(kDecode)};
  GraphPhase prefill{*config.find(kPrefill)};
  default_decode_graph(r, decode, capacity, memory_mib);
  default_prefill_graph(r, prefill);
  const Value filled =
      Value::dict({{std::string(kDecode), decode.settings}, {std::string(kPrefill), prefill.settings}});
  if (filled != r[Field::cuda_graph_config]) r.declare(kSource, {{Field::cuda_graph_config, filled}});
  default_memory_fraction(r, memory_mib);
}

}  // namespace

void handle_offload_compatibility(Resolution& r) {
  const bool offloads_table = r.on(Field::ple_offload_embedding);
  if (offloads_table && (r.integer(Field::cpu_offload_gb) > 0 || r.integer(Field::offload_group_size) > 0)) {
    r.refuse(RF::kOther, "ValueError", "handle_offload_compatibility",
             "--ple-offload-embedding cannot run with --cpu-offload-gb or --offload-group-size, which would move the "
             "table back to the device");
  }
  const Value& offload = r[Field::ple_offload_embedding];
  if (r.is(Field::ple_offload_backend, "file") && offload.is_bool() && !offload.as_bool()) {
    r.refuse(RF::kOther, "ValueError", "handle_offload_compatibility",
             "--ple-offload-backend file needs --ple-offload-embedding, whose table it stores");
  }
}

void handle_gpu_memory_settings(Resolution& r) {
  if (r.is(Field::device, "xpu") && r.device().count <= 0) {
    r.refuse(RF::kOther, "ValueError", "get_xpu_memory_capacity", "torch sees no XPU, so its memory is not known");
  }
  const Value memory_mib = device_memory_mib(r);
  if (r.before(v0_5(14))) {
    memory::settings_by_flags(r, memory_mib);
  } else {
    settings_by_graph_config(r, memory_mib);
  }
  preallocate_symmetric_memory(r);
}

}  // namespace preflight::resolve
