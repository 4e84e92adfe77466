// Linear attention (GDN, KDA): kernel backends and the ReplaySSM options.
//
// Sources: handle_linear_attn_backend in arg_groups/attention_hook.py, ServerArgs._handle_linear_attn_backend before
// 0.5.20. The remaining rules are about NVIDIA GPUs of SM100 and newer. Tested by tests/resolve_attention_test.cpp.

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/python/integer.h"
#include "src/resolve/attention/attention.h"
#include "src/resolve/models/model_questions.h"
#include "src/resolve/core/queries.h"
#include "src/resolve/speculative/speculative.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {
namespace {

constexpr std::string_view kSource = "_handle_linear_attn_backend";
constexpr std::string_view kFunction = "handle_linear_attn_backend";

[[noreturn]] void refuse(Resolution& r, std::string message) {
  r.refuse(RF::kOther, "ValueError", std::string(kFunction), std::move(message));
}

void check(Resolution& r, bool holds, std::string_view message) {
  if (!holds) refuse(r, std::string(message));
}

// FlashKDA has no decode kernel: refused when asked for, replaced by triton when only inherited.
std::string decode_backend(Resolution& r) {
  const Value given = r[Field::linear_attn_decode_backend];
  const Value decode = given.truthy() ? given : r[Field::linear_attn_backend];
  if (!is_text(decode, "flashkda")) return decode.is_string() ? decode.as_string() : std::string();
  check(r, !is_text(given, "flashkda"), "flashkda only prefills; give --linear-attn-prefill-backend flashkda instead");
  r.declare(kSource, {{Field::linear_attn_decode_backend, "triton"}});
  return "triton";
}

void check_verify_backend(Resolution& r, std::string_view decode) {
  if (!r.env_bool("SGLANG_ENABLE_PP_SPEC", false)) return;
  const Value given = r[Field::linear_attn_verify_backend];
  const bool flashinfer = given.is_none() ? decode == "flashinfer" : is_text(given, "flashinfer");
  if (!flashinfer || !uses_kda_attention(r.model())) return;
  r.declare(kSource, {{Field::linear_attn_verify_backend, "triton"}});
  r.warn(kFunction, "pipeline-parallel speculation with KDA cannot verify on flashinfer; triton does it");
}

void check_replayssm(Resolution& r, std::string_view decode) {
  if (!r.on(Field::enable_linear_replayssm)) return;
  check(r, decode == "triton" || (decode == "helion" && r.since(v0_5(18))),
        "--enable-linear-replayssm needs triton for linear-attention decode");
  check(r, !mamba_extra_buffer(r), "--enable-linear-replayssm needs --mamba-radix-cache-strategy no_buffer");
  check(r, r.is(Field::disaggregation_mode, "null"), "--enable-linear-replayssm does not run in a PD deployment");
  check(r, r.integer(Field::linear_replayssm_cache_len) >= 1, "--linear-replayssm-cache-len must be at least 1");
}

// Only DSPARK and DFLASH write the ring of a ragged verification.
void check_ragged_verify(Resolution& r) {
  if (ragged_verify_mode(r) == RaggedVerify::kStatic) return;
  const std::string algorithm = ascii_upper(r.text(Field::speculative_algorithm));
  check(r,
        (algorithm == "DSPARK" || algorithm == "DFLASH") &&
            r.one_of(Field::linear_attn_verify_backend, {"triton", "nv_cutedsl"}),
        "--enable-linear-replayssm-spec with a ragged verify mode needs DSPARK or DFLASH and triton verification");
}

void check_replayssm_spec(Resolution& r, std::string_view decode) {
  if (!r.on(Field::enable_linear_replayssm_spec)) return;
  const Value& topk = r[Field::speculative_eagle_topk];
  check(r, topk.is_none() || topk == Value(1),
        "--enable-linear-replayssm-spec needs a linear draft chain (--speculative-eagle-topk 1)");
  check(r, decode == "triton" || decode == "flashinfer",
        "--enable-linear-replayssm-spec needs triton for linear-attention decode");
  check_ragged_verify(r);
  check(r, !r.is(Field::disaggregation_mode, "prefill"),
        "--enable-linear-replayssm-spec verifies drafts, which a PD prefill server never does");
  check(r, !r.on(Field::enable_linear_replayssm),
        "--enable-linear-replayssm and --enable-linear-replayssm-spec exclude each other");
  if (r.none(Field::mamba_ssm_dtype)) {
    r.declare(kSource, {{Field::mamba_ssm_dtype, "float32"}});
  } else if (!r.is(Field::mamba_ssm_dtype, "float32")) {
    r.warn(kFunction, "--enable-linear-replayssm-spec below float32: check accuracy on long sequences");
  }
}

// 0.5.16 knows the option for gated delta nets alone.
void check_gdn_replayssm_spec(Resolution& r, std::string_view decode) {
  if (!r.on(Field::enable_gdn_replayssm_spec) || !field_exists(Field::enable_gdn_replayssm_spec, r.release())) return;
  const Value& topk = r[Field::speculative_eagle_topk];
  check(r, topk.is_none() || topk == Value(1),
        "--enable-gdn-replayssm-spec needs a linear draft chain (--speculative-eagle-topk 1)");
  check(r, decode == "triton", "--enable-gdn-replayssm-spec needs triton for linear-attention decode");
  check(r, !mamba_extra_buffer(r), "--enable-gdn-replayssm-spec needs --mamba-radix-cache-strategy no_buffer");
  check(r, r.is(Field::disaggregation_mode, "null"), "--enable-gdn-replayssm-spec does not run in a PD deployment");
  const std::int64_t ring = r.integer(Field::linear_replayssm_cache_len);
  check(r, ring >= 1, "--linear-replayssm-cache-len must be at least 1");
  check(r, !r.on(Field::enable_linear_replayssm),
        "--enable-linear-replayssm and --enable-gdn-replayssm-spec exclude each other");
  check(r, (ring & (ring - 1)) == 0, "--linear-replayssm-cache-len must be a power of two with drafts");
  if (r.none(Field::mamba_ssm_dtype)) {
    r.declare(kSource, {{Field::mamba_ssm_dtype, "float32"}});
  } else {
    check(r, r.is(Field::mamba_ssm_dtype, "float32"), "--enable-gdn-replayssm-spec needs --mamba-ssm-dtype float32");
  }
}

}  // namespace

void handle_linear_attn_backend(Resolution& r) {
  if (r.before(v0_5(15))) return;  // all of its rules were about SM100
  const std::string decode = decode_backend(r);
  check_verify_backend(r, decode);
  check_replayssm(r, decode);
  check_replayssm_spec(r, decode);
  check_gdn_replayssm_spec(r, decode);
}

void validate_gdn_replayssm_spec_ring(Resolution& r) {
  if (!r.on(Field::enable_gdn_replayssm_spec)) return;
  const Value drafted = max_speculative_num_draft_tokens(r);
  if (drafted.is_none() || r.integer(Field::linear_replayssm_cache_len) >= integer::bounded_times(drafted.as_int(), 2))
    return;
  r.refuse(RF::kOther, "ValueError", "_validate_gdn_replayssm_spec_ring",
           "--linear-replayssm-cache-len is below twice the number of draft tokens");
}

}  // namespace preflight::resolve
