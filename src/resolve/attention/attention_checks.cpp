// Sources: _mla_backend_page_constraints, _mla_kv_cache_dtype_checks, _cutedsl_prefill_backend_fill in
// arg_groups/overrides.py and _check_xpu_dcp in arg_groups/attention_hook.py; before 0.5.19 the same checks stood in
// ServerArgs._handle_attention_backend_compatibility, one backend after the other.
// Tested by tests/resolve_attention_test.cpp.
#include "src/resolve/attention/attention_checks.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/facts/kinds.h"
#include "src/resolve/models/model_questions.h"
#include "src/resolve/core/operators.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve {
namespace {

constexpr std::string_view kHandler = "_handle_attention_backend_compatibility";
// Largest query group that the intel_xpu decode kernel is built for.
constexpr std::int64_t kXpuDecodeMaxQueryGroup = 16;

enum class Phases { kDecode, kAny };  // "any" also counts --prefill-attention-backend

bool names(const Resolution& r, std::string_view backend, Phases phases) {
  return r.is(Field::attention_backend, backend) || r.is(Field::decode_attention_backend, backend) ||
         (phases == Phases::kAny && r.is(Field::prefill_attention_backend, backend));
}

bool contains(std::initializer_list<std::int64_t> sizes, const Value& page) {
  return std::any_of(sizes.begin(), sizes.end(), [&](std::int64_t s) { return page == Value(s); });
}

std::string page_warning(std::string_view backend, const Value& page, std::int64_t size) {
  if (page.is_none()) return fmt::format("{} has page sizes of its own; the page size becomes {}", backend, size);
  return fmt::format("{} cannot run pages of {} {}; the page size becomes {}", backend, page.repr(),
                     page == Value(1) ? "token" : "tokens", size);
}

// ---- up to 0.5.18: one handler, refusing and changing pages backend by backend ----

[[noreturn]] void refuse_backend(Resolution& r, std::string_view function, std::string_view backend) {
  r.refuse(RF::kOther, "ValueError", std::string(function),
           fmt::format("{} runs on NVIDIA GPUs only; use intel_xpu or triton", backend));
}

void constrain_in_one_handler(Resolution& r) {
  const auto force = [&](std::string_view backend, std::int64_t size) {
    if (!names(r, backend, Phases::kDecode)) return;
    r.warn(kHandler, page_warning(backend, r[Field::page_size], size));
    r.set(kHandler, Field::page_size, size);
  };
  force("flashmla", 64);
  force("cutlass_mla", 128);
  for (const std::string_view backend : {"trtllm_mla", "tokenspeed_mla"}) {
    if (names(r, backend, Phases::kDecode)) refuse_backend(r, kHandler, backend);
  }
  if (names(r, "cutedsl_mla", Phases::kAny)) {
    r.require(RF::kOther, !r.is(Field::prefill_attention_backend, "cutedsl_mla"), kHandler,
              "cutedsl_mla has no prefill");
    refuse_backend(r, kHandler, "cutedsl_mla");
  }
  if (!names(r, "trtllm_mha", Phases::kAny)) return;
  // Every phase that would run it is refused; named for both while each phase has its own, it only sets the page.
  const auto phase = [&](Field f) { return r.none(f) ? r[Field::attention_backend] : r[f]; };
  if (is_text(phase(Field::prefill_attention_backend), "trtllm_mha") ||
      is_text(phase(Field::decode_attention_backend), "trtllm_mha")) {
    refuse_backend(r, kHandler, "trtllm_mha");
  }
  if (!contains({16, 32, 64}, r[Field::page_size])) {
    r.warn(kHandler, page_warning("trtllm_mha", r[Field::page_size], 64));
    r.set(kHandler, Field::page_size, 64);
  }
}

// ---- since 0.5.15: pages first, then refusals ----

void mla_backend_page_constraints(Resolution& r) {
  const std::string_view step = "_mla_backend_page_constraints";
  Value page = r[Field::page_size];
  const auto force = [&](std::string_view backend, std::initializer_list<std::int64_t> sizes) {
    if (contains(sizes, page)) return;
    r.warn(step, page_warning(backend, page, 64));
    page = 64;
  };
  if (names(r, "flashmla", Phases::kDecode)) force("flashmla", {});  // warns even at 64
  if (r.before(v0_5(20)) && names(r, "cutlass_mla", Phases::kDecode)) {
    r.warn(step, page_warning("cutlass_mla", page, 128));
    page = 128;
  }
  if (names(r, "trtllm_mla", Phases::kDecode)) force("trtllm_mla", {32, 64});
  if (names(r, "tokenspeed_mla", Phases::kDecode)) force("tokenspeed_mla", {32, 64});
  if (names(r, "cutedsl_mla", Phases::kAny)) force("cutedsl_mla", {32, 64});
  const bool draft = r.since(v0_5(17)) && r.is(Field::speculative_draft_attention_backend, "trtllm_mha");
  if (names(r, "trtllm_mha", Phases::kAny) || draft) {
    if (r.since(v0_5(17))) {
      force("trtllm_mha", {16, 32, 64, 128});
    } else {
      force("trtllm_mha", {16, 32, 64});
    }
  }
  if (names(r, "hpc_ops", Phases::kAny)) force("hpc_ops", {64});
  if (page != r[Field::page_size]) r.declare(step, {{Field::page_size, page}});
}

void constrain_in_passes(Resolution& r) {
  mla_backend_page_constraints(r);
  for (const std::string_view backend :
       {"trtllm_mla", "tokenspeed_mla"}) {  // the second is another's name since 0.5.23
    if (names(r, backend, Phases::kDecode)) refuse_backend(r, "_mla_kv_cache_dtype_checks", backend);
  }
  if (names(r, "cutedsl_mla", Phases::kAny)) {
    const std::string_view function = "_cutedsl_prefill_backend_fill";
    r.require(RF::kOther, !r.is(Field::prefill_attention_backend, "cutedsl_mla"), function,
              "cutedsl_mla has no prefill");
    refuse_backend(r, function, "cutedsl_mla");
  }
  if (attention_backends(r).uses("trtllm_mha")) {
    refuse_backend(r, "_handle_attention_backend_compatibility", "trtllm_mha");
  }
}

// Every rank of a group must hold the same KV heads, or the cache would be wrong without a word.
void check_dcp_heads(Resolution& r, const ModelFacts& model, std::int64_t tp, std::int64_t dcp) {
  const std::string_view function = "_check_xpu_dcp";
  const auto kv_heads = [&](std::int64_t width, std::int64_t groups) {
    const std::int64_t shards = operators::floor_div(r, "get_num_kv_heads", width, groups);
    return std::max<std::int64_t>(1, operators::floor_div(r, "get_num_kv_heads", total_kv_heads(model), shards));
  };
  const std::string arch = model.architectures.empty() ? std::string() : model.architectures.front();
  const bool shards_by_group = arch == "Qwen3_5ForConditionalGeneration" ||
                               arch == "Qwen3_5MoeForConditionalGeneration" || arch == "Qwen3_5ForCausalLM" ||
                               arch == "Qwen3_5MoeForCausalLM";
  if (!shards_by_group && kv_heads(tp, dcp) != kv_heads(tp, 1)) {
    r.refuse(
        RF::kContextParallelDecode, "ValueError", std::string(function),
        fmt::format("with --dcp-size {} and --tp-size {} the ranks of a group would hold different KV heads; use a "
                    "smaller --dcp-size",
                    dcp, tp));
  }
  const std::int64_t replicas = r.on(Field::enable_dp_attention) ? r.integer(Field::dp_size) : 1;
  const std::int64_t attention_tp = operators::floor_div(r, function, operators::floor_div(r, function, tp, replicas),
                                                         r.integer(Field::attn_cp_size));
  const std::int64_t q_heads =
      std::max<std::int64_t>(1, operators::floor_div(r, function, max_attention_heads(model), attention_tp));
  const std::int64_t group = q_heads * dcp / kv_heads(attention_tp, dcp);
  if (group > kXpuDecodeMaxQueryGroup) {
    r.refuse(RF::kContextParallelDecode, "ValueError", std::string(function),
             fmt::format("--dcp-size {} gives query groups of {}, the intel_xpu decode kernel takes {}; use a smaller "
                         "--dcp-size or a larger --tp-size",
                         dcp, group, kXpuDecodeMaxQueryGroup));
  }
}

}  // namespace

void constrain_nvidia_backends(Resolution& r) {
  if (r.since(v0_5(15))) {
    constrain_in_passes(r);
  } else {
    constrain_in_one_handler(r);
  }
}

void check_xpu_dcp(Resolution& r) {
  if (r.before(v0_5(22)) || r.integer(Field::dcp_size) <= 1) return;
  const auto check = [&](bool holds, std::string_view message) {
    if (!holds) r.refuse(RF::kContextParallelDecode, "ValueError", "_check_xpu_dcp", std::string(message));
  };
  const AttentionBackends backends = attention_backends(r);
  check(is_text(backends.prefill, "intel_xpu") && is_text(backends.decode, "intel_xpu"),
        "--dcp-size above 1 needs --attention-backend intel_xpu on XPU");
  check(!use_mla(r), "--dcp-size above 1 does not support MLA models on XPU");
  const ModelFacts& model = r.model();
  check(model.v_head_dim == model.head_dim, "--dcp-size above 1 needs K and V heads of one width on XPU");
  const std::int64_t tp = r.integer(Field::tp_size);
  const std::int64_t dcp = r.integer(Field::dcp_size);
  check(tp % dcp == 0, "--dcp-size must divide --tp-size");
  check_dcp_heads(r, model, tp, dcp);
  check(r.none(Field::speculative_algorithm), "--dcp-size above 1 does not support speculative decoding on XPU");
  check(!model.attention_chunk_size.has_value(), "--dcp-size above 1 does not support chunked local attention on XPU");
  check(!model.is_encoder_decoder, "--dcp-size above 1 does not support encoder-decoder models on XPU");
}

}  // namespace preflight::resolve
