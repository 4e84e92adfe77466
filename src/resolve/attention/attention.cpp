// Sampling and attention backends, and the page size they force.
//
// Sources: arg_groups/attention_hook.py and the attention passes of arg_groups/overrides.py (0.5.20 and later),
// ServerArgs._handle_attention_backend_compatibility before. What NVIDIA, AMD or CPU hardware alone decides is left
// out; what merely refuses those backends here is not. Tested by tests/resolve_attention_test.cpp.
#include "src/resolve/attention/attention.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/resolve/attention/attention_checks.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve {
namespace {

constexpr std::string_view kSource = "_handle_attention_backend_compatibility";

bool attention_is(const Resolution& r, std::string_view name) { return r.is(Field::attention_backend, name); }

bool page_is_one_of(const Resolution& r, std::initializer_list<std::int64_t> sizes) {
  const Value& page = r[Field::page_size];
  return std::any_of(sizes.begin(), sizes.end(), [&](std::int64_t s) { return page == Value(s); });
}

// FlashInfer is not installed beside an Intel GPU, so only Whisper, which insists on it, differs from triton.
std::string default_backend(Resolution& r) {
  return r.model().has_architecture("WhisperForConditionalGeneration") ? "flashinfer" : "triton";
}

void fill_attention_backend(Resolution& r) {
  constexpr std::string_view kStep = "_attention_backend_default";
  r.model();
  const Value prefill = r[Field::prefill_attention_backend];
  if (!prefill.is_none() && prefill == r[Field::decode_attention_backend]) {
    r.change(kStep, Field::attention_backend, prefill);
  } else if (r.none(Field::attention_backend)) {
    r.change(kStep, Field::attention_backend, default_backend(r));
  }
}

// torch_native and flex_attention run without graphs.
void disable_graphs_for_torch_backends(Resolution& r) {
  const bool flex = attention_is(r, "flex_attention");
  if (!flex && !attention_is(r, "torch_native")) return;
  const std::string_view function = "_handle_attention_backend_compatibility";
  r.warn(function, fmt::format("graphs are turned off, since {} cannot be captured", r.text(Field::attention_backend)));
  if (r.since(v0_5(14))) {
    turn_graph_off(r, kSource, kDecode);
    turn_graph_off(r, kSource, kPrefill);
  } else {
    r.set(kSource, Field::disable_cuda_graph, true);
  }
  if (flex) {
    r.require(RF::kOther, r.none(Field::speculative_algorithm), function,
              "flex_attention cannot run speculative decoding");
  }
}

void disable_radix_cache_for_whisper(Resolution& r) {
  const ModelFacts& model = r.model();
  if (model.is_encoder_decoder && !r.on(Field::disable_radix_cache) &&
      model.has_architecture("WhisperForConditionalGeneration")) {
    r.change(kSource, Field::disable_radix_cache, true);
  }
}

void replace_fa3_with_fp8_e5m2(Resolution& r) {
  if (!attention_is(r, "fa3") || !r.is(Field::kv_cache_dtype, "fp8_e5m2")) return;
  constexpr std::string_view kStep = "_attention_backend_fa3_fp8_fallback";
  r.warn(kStep, "fa3 reads fp8_e4m3 only, so attention runs on triton");
  r.change(kStep, Field::attention_backend, "triton");
}

void shrink_memory_for_aiter(Resolution& r) {
  if (!attention_is(r, "aiter") || r.model().context_len <= 8192) return;
  if (r.since(v0_5(19)) && !r.raw(Field::mem_fraction_static).is_none() &&
      r.env_bool("SGLANG_AITER_HONOR_EXPLICIT_MEM_FRACTION", false)) {
    r.warn("handle_attention_backend_compatibility",
           "the given memory fraction is kept, although aiter reserves 15 % more for contexts beyond 8192 tokens");
    return;
  }
  r.change(kSource, Field::mem_fraction_static, r.number(Field::mem_fraction_static) * 0.85);
}

void fall_back_where_the_device_lacks_units(Resolution& r) {
  constexpr std::string_view kStep = "_attention_backend_platform_fallbacks";
  if (attention_is(r, "intel_amx") && r.is(Field::device, "cpu")) {
    r.warn(kStep, "attention runs on torch_native: a processor without AMX is assumed, with AMX intel_amx stays");
    r.change(kStep, Field::attention_backend, "torch_native");
  } else if (attention_is(r, "intel_xpu") && r.is(Field::device, "xpu") && !r.device().has_fp64) {
    r.warn(kStep, "this GPU has no XMX that intel_xpu could use, so attention runs on triton");
    r.change(kStep, Field::attention_backend, "triton");
  }
}

void constrain_intel_xpu_pages(Resolution& r) {
  const AttentionBackends backends = attention_backends(r);
  const bool takes_mla_prefill = r.since(v0_5(20));
  const bool mla = r.before(v0_5(15)) || backends.uses("intel_xpu") ? use_mla(r) : false;
  if (!takes_mla_prefill && mla && is_text(backends.prefill, "intel_xpu")) {
    r.refuse(RF::kMlaPrefill, "ValueError", "_handle_attention_backend_compatibility",
             "intel_xpu runs MLA models for decode only: set --decode-attention-backend intel_xpu, prefill on triton");
  }
  const bool applies = takes_mla_prefill ? backends.uses("intel_xpu") : is_text(backends.decode, "intel_xpu");
  if (!applies || page_is_one_of(r, {64, 128}) || (mla && page_is_one_of(r, {16, 32}))) return;
  constexpr std::string_view kStep = "_intel_xpu_page_constraint";
  const std::string before =
      r.none(Field::page_size) ? std::string() : fmt::format(" instead of {}", r[Field::page_size].repr());
  r.warn(kStep, fmt::format("intel_xpu takes pages of {} tokens; the page size becomes 128{}",
                            mla ? "16, 32, 64 or 128" : "64 or 128", before));
  r.change(kStep, Field::page_size, 128);
}

// Models with dual chunk attention need their own backend (up to 0.5.19).
void require_dual_chunk_backend(Resolution& r) {
  if (r.since(v0_5(20))) return;
  const bool dual = attention_is(r, "dual_chunk_flash_attn");
  if (!r.model().root("dual_chunk_attention_config").is_none() && !dual) {
    r.refuse(
        RF::kOther, "ValueError", "_attention_backend_dual_chunk",
        "the model uses dual chunk attention, which needs --attention-backend dual_chunk_flash_attn",
        {{.steps = {{StepKind::kGive, "--json-model-override-args", {R"({"dual_chunk_attention_config": null})"}}}}});
  }
  if (!dual) return;
  r.warn("_handle_attention_backend_compatibility",
         "dual_chunk_flash_attn runs without mixed chunks and without the radix cache");
  r.change(kSource, Field::enable_mixed_chunk, false);
  r.change(kSource, Field::disable_radix_cache, true);
}

}  // namespace

void sampling_backend_default(Resolution& r) {
  if (!r.none(Field::sampling_backend)) return;
  r.change("_sampling_backend_default", Field::sampling_backend,
           "pytorch");  // flashinfer is not installed
}

void handle_attention_backend_compatibility(Resolution& r) {
  fill_attention_backend(r);
  disable_graphs_for_torch_backends(r);
  disable_radix_cache_for_whisper(r);
  constrain_nvidia_backends(r);
  replace_fa3_with_fp8_e5m2(r);
  shrink_memory_for_aiter(r);
  fall_back_where_the_device_lacks_units(r);
  check_xpu_dcp(r);
  constrain_intel_xpu_pages(r);
  require_dual_chunk_backend(r);
}

void page_size_default(Resolution& r) {
  if (!r.none(Field::page_size)) return;
  r.change("_page_size_default", Field::page_size, 1);
}

void handle_multi_item_scoring(Resolution& r) {
  if (!r.on(Field::enable_mis)) return;
  const std::string_view source = "_handle_multi_item_scoring";
  const std::string_view function = "_handle_multi_item_scoring";
  if (r.since(v0_5(14))) {
    if (!graph_backend_is(r, kDecode, "disabled")) r.warn(function, "--enable-mis runs without graphs");
    turn_graph_off(r, source, kDecode);
    turn_graph_off(r, source, kPrefill);
  } else {
    if (!r.on(Field::disable_cuda_graph)) {
      r.warn(function, "--enable-mis runs without graphs");
      r.set(source, Field::disable_cuda_graph, true);
    }
    r.set(source, Field::disable_piecewise_cuda_graph, true);
  }
  if (!r.on(Field::disable_radix_cache)) {
    r.warn(function, "--enable-mis runs without the radix cache");
    r.change(source, Field::disable_radix_cache, true);
  }
  if (r[Field::chunked_prefill_size] != Value(-1)) {
    r.warn(function, "--enable-mis runs without chunked prefill");
    r.change(source, Field::chunked_prefill_size, -1);
  }
  const AttentionBackends backends = attention_backends(r);
  r.require(RF::kOther, is_text(backends.prefill, "flashinfer") && is_text(backends.decode, "flashinfer"), function,
            "--enable-mis needs --attention-backend flashinfer for its attention mask");
}

}  // namespace preflight::resolve
