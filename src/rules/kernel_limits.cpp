// AT: preconditions of the ordinary (not MLA) attention kernel behind intel_xpu, and of what turns its heads. SGLang
// checks none of them.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "preflight/sizing.h"
#include "src/facts/kinds.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

std::optional<Finding> head_size(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!f.ordinary_attention_on_xpu()) return std::nullopt;
  for (const std::int64_t size : {m.head_dim, m.swa_head_dim}) {
    if (size > 0 && !sizing::fa_decode_head_dim_supported(size)) {
      return Finding{.message = fmt::format("head size {} is none of 64, 96, 128, 192, 256, 512", size),
                     .field = f.field_naming("intel_xpu")};
    }
  }
  return std::nullopt;
}

std::optional<Finding> group_size(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!f.ordinary_attention_on_xpu() || total_kv_heads(m) <= 0) return std::nullopt;
  const std::int64_t atp = f.attention_tp();
  const std::int64_t q = m.num_attention_heads / atp;
  const std::int64_t kv = m.num_kv_heads_per_rank(atp);
  const std::int64_t group = (q / kv) * std::max<std::int64_t>(1, f.dcp());
  if (group <= 16) return std::nullopt;
  return Finding{.message = fmt::format("{} query heads share one key/value head on each rank; the kernel takes up to "
                                        "16",
                                        group)};
}

std::optional<Finding> element_types(const LaunchFacts& f) {
  if (!f.ordinary_attention_on_xpu()) return std::nullopt;
  const std::string dtype = f.model_dtype();
  if (dtype == "float32") {
    return Finding{.message = "intel_xpu attention computes in float16 and bfloat16, and the model runs in float32",
                   .field = Field::dtype,
                   .remedies = {to_give("--dtype", {"bfloat16"}), to_give("--attention-backend", {"triton"})}};
  }
  if (f.kv_is_fp8()) {
    return Finding{
        .message = fmt::format("a KV cache in {} needs scales that SGLang does not pass to the kernel", f.kv_dtype())};
  }
  if (f.kv_dtype() == "bfloat16" && dtype == "float16") {
    return Finding{.message = "the KV cache is bfloat16 and the model float16; the kernel wants one type"};
  }
  return std::nullopt;
}

std::optional<Finding> attention_sinks(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!f.ordinary_attention_on_xpu() || !m.has_attention_sinks || m.head_dim == 64) return std::nullopt;
  return Finding{.message = fmt::format("attention sinks work with head size 64 only; the model has {}", m.head_dim),
                 .field = f.field_naming("intel_xpu")};
}

std::optional<Finding> soft_cap(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!f.ordinary_attention_on_xpu() || m.attn_logit_softcapping <= 0.0) return std::nullopt;
  return Finding{.message = fmt::format("the model caps attention logits at {}, and the kernel ignores the cap",
                                        m.attn_logit_softcapping),
                 .field = f.field_naming("intel_xpu")};
}

std::optional<Finding> value_head_size(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!f.ordinary_attention_on_xpu() || m.head_dim <= 0 || m.v_head_dim <= 0 || m.v_head_dim == m.head_dim) {
    return std::nullopt;
  }
  return Finding{.message = fmt::format("values have {} elements a head and keys {}; intel_xpu reads both with {}",
                                        m.v_head_dim, m.head_dim, m.head_dim),
                 .field = f.field_naming("intel_xpu")};
}

// Gemma 3 asks what class attends for it, and two backends have a class of their own.
constexpr std::string_view kCausal = "image tokens of Gemma 3 get causal instead of bidirectional attention";

bool sees_images(const ModelFacts& m) {
  return m.has_architecture("Gemma3ForConditionalGeneration") && m.is_multimodal;
}

std::optional<Finding> image_tokens(const LaunchFacts& f) {
  if (!sees_images(f.model()) || f.prefill_backend() != f.decode_backend()) return std::nullopt;
  if (f.prefill_on("triton") || (f.prefill_on_xpu() && f.since(23))) return std::nullopt;
  return Finding{.message = fmt::format("{} on {}", kCausal, f.prefill_backend()), .field = f.prefill_field()};
}

std::optional<Finding> image_tokens_of_two_backends(const LaunchFacts& f) {
  if (!sees_images(f.model()) || f.prefill_backend() == f.decode_backend()) return std::nullopt;
  std::vector<Remedy> parts{to_give("--attention-backend", {"triton"})};
  if (f.given(Field::prefill_attention_backend)) parts.push_back(to_drop("--prefill-attention-backend"));
  if (f.given(Field::decode_attention_backend)) parts.push_back(to_drop("--decode-attention-backend"));
  Remedy one_backend = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) one_backend = together({one_backend, parts[i]});
  return Finding{.message = fmt::format("{} where prompts and decoding have backends of their own, {} and {}", kCausal,
                                        f.prefill_backend(), f.decode_backend()),
                 .field = f.prefill_field(),
                 .remedies = {std::move(one_backend)}};
}

constexpr std::string_view kKernel = "sgl-kernel-xpu src/sycl/flash_attention.cpp";
// Classes that turn whole heads by the plain rotary embedding, whatever else their configuration says of it.
constexpr std::array<std::string_view, 16> kTurnWholeHeads = {
    "LlamaForCausalLM",  "MistralForCausalLM", "Qwen2ForCausalLM",      "Qwen3ForCausalLM",
    "ExaoneForCausalLM", "Exaone4ForCausalLM", "GraniteForCausalLM",    "InternLM2ForCausalLM",
    "OlmoForCausalLM",   "Olmo2ForCausalLM",   "Starcoder2ForCausalLM", "OrionForCausalLM",
    "XverseForCausalLM", "ArceeForCausalLM",   "GemmaForCausalLM",      "ApertusForCausalLM"};

// Of the scaled kinds those that keep the plain embedding's forward pass; one part of a head alone is another kernel.
bool turns_whole_heads(const ModelFacts& m) {
  const auto is_plain = [](const Value& rope) {
    constexpr std::array<std::string_view, 5> kKinds = {"default", "linear", "dynamic", "yarn", "llama3"};
    if (!rope.is_dict()) return true;
    const Value* part = rope.find("partial_rotary_factor");
    if (part != nullptr && !part->is_none()) return false;
    for (const char* key : {"rope_type", "type"}) {
      const Value* kind = rope.find(key);
      if (kind != nullptr && kind->is_string()) return std::ranges::find(kKinds, kind->as_string()) != kKinds.end();
    }
    return true;
  };
  return m.text("partial_rotary_factor").is_none() && is_plain(m.text("rope_parameters")) &&
         is_plain(m.text("rope_scaling"));
}

// Classes that turn a part of each head, unless their configuration says 1. 0.5.23 does so in torch where the fused
// kernel has no such heads.
std::optional<Finding> rotary_part(const LaunchFacts& f) {
  constexpr std::array<std::string_view, 3> kClasses = {"PhiForCausalLM", "StableLmForCausalLM",
                                                        "PersimmonForCausalLM"};
  constexpr std::array<std::int64_t, 3> kFused = {128, 256, 512};
  const ModelFacts& m = f.model();
  if (f.since(23) || std::ranges::find(kClasses, m.architectures.front()) == kClasses.end()) return std::nullopt;
  const Value part = m.text("partial_rotary_factor");
  if (part == Value(1) || part == Value(1.0)) return std::nullopt;
  if (m.head_dim <= 0 || std::ranges::find(kFused, m.head_dim) != kFused.end()) return std::nullopt;
  return Finding{
      .message = fmt::format("the rotary kernel turns whole heads, and this class a part of its {} wide", m.head_dim),
      .remedies = {with_release("0.5.23")}};
}

std::optional<Finding> rotary_width(const LaunchFacts& f) {
  constexpr std::array<std::int64_t, 6> kWidths = {32, 64, 96, 128, 256, 512};
  const ModelFacts& m = f.model();
  if (f.is(Field::model_impl, "transformers") || !f.text(Field::rl_on_policy_target).empty()) return std::nullopt;
  if (m.architectures.empty()) return std::nullopt;
  if (auto part = rotary_part(f)) return part;
  if (!turns_whole_heads(m) || m.head_dim <= 0) return std::nullopt;
  if (std::ranges::find(kTurnWholeHeads, m.architectures.front()) == kTurnWholeHeads.end()) return std::nullopt;
  if (std::ranges::find(kWidths, m.head_dim) != kWidths.end()) return std::nullopt;
  return Finding{.message =
                     fmt::format("the rotary kernel takes heads of 32, 64, 96, 128, 256 and 512, and the model's "
                                 "are {} wide",
                                 m.head_dim)};
}

constexpr std::string_view kBackend = "sglang/srt/layers/attention/xpu_backend.py";

}  // namespace

std::span<const Rule> kernel_limit_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "AT001",
       .refs = {"K-10"},
       .field = Field::attention_backend,
       .summary = "a head size the attention kernel of intel_xpu is not built for",
       .why = "The kernel refuses the first prefill. Nothing pads the heads.",
       .remedies = {give("--attention-backend", "triton")},
       .source = kKernel,
       .device = "xpu",
       .decided_by = {"head_dim"},
       .check = head_size,
       .fires_on = {{{.model = "phi-2-like", .args = "--device xpu --attention-backend intel_xpu"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu"},
                     {.model = "phi-2-like", .args = "--device xpu --attention-backend triton"}}}},
      {.id = "AT002",
       .refs = {"K-11"},
       .field = Field::tp_size,
       .summary = "too many query heads share one key/value head",
       .why = "The kernel refuses the group size at the first prefill or decode.",
       .remedies = {give("--attention-backend", "triton"), raise("--tp-size")},
       .source = kKernel,
       .decided_by = {"num_q_heads", "num_kv_heads"},
       .check = group_size,
       .fires_on = {{{.model = "multi-query-like", .args = "--device xpu --attention-backend intel_xpu"}}},
       .quiet_on = {{{.model = "multi-query-like", .args = "--device xpu --attention-backend intel_xpu --tp-size 2"},
                     {.model = "qwen3-30b-a3b", .args = "--device xpu --attention-backend intel_xpu --tp-size 4"}}}},
      {.id = "AT003",
       .refs = {"K-12"},
       .field = Field::kv_cache_dtype,
       .summary = "element types the attention kernel of intel_xpu does not take",
       .why = "The kernel refuses the first prefill or decode.",
       .remedies = {give("--kv-cache-dtype", "auto"), give("--attention-backend", "triton")},
       .source = kKernel,
       .device = "xpu",
       .decided_by = {"dtype"},
       .check = element_types,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu --dtype float32"},
                     {.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --attention-backend intel_xpu --kv-cache-dtype fp8_e5m2"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu --dtype float16"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --attention-backend triton --dtype float32"}}}},
      {.id = "AT004",
       .refs = {"K-13"},
       .field = Field::attention_backend,
       .summary = "attention sinks with a head size other than 64 on intel_xpu",
       .why = "The kernel refuses the first prefill.",
       .remedies = {give("--attention-backend", "triton")},
       .source = kKernel,
       .device = "xpu",
       .decided_by = {"head_dim"},
       .check = attention_sinks,
       .quiet_on = {{{.model = "gpt-oss-20b",
                      .args = "--device xpu --attention-backend intel_xpu --tp-size 4",
                      .since = v0_5(20)}}}},
      {.id = "AT005",
       .refs = {"K-18"},
       .field = Field::attention_backend,
       .summary = "intel_xpu ignores the model's logit soft cap",
       .why = "The value reaches the kernel, which stores it and never applies it: silently wrong output.",
       .remedies = {give("--attention-backend", "triton")},
       .source = kKernel,
       .device = "xpu",
       .check = soft_cap,
       .fires_on = {{{.model = "gemma-2-9b-it", .args = "--device xpu --attention-backend intel_xpu"}}},
       .quiet_on = {{{.model = "gemma-2-9b-it", .args = "--device xpu --attention-backend triton"},
                     {.model = "gemma-3-1b-it", .args = "--device xpu --attention-backend intel_xpu"}}}},
      {.id = "AT006",
       .refs = {"R-15"},
       .field = Field::attention_backend,
       .summary = "keys and values of different size on intel_xpu before 0.5.20",
       .why = "The value cache is viewed with the key's head size: a shape error, or wrong data.",
       .remedies = {give("--attention-backend", "triton"), in_release("0.5.20")},
       .source = kBackend,
       .device = "xpu",
       .until = v0_5(20),
       .decided_by = {"head_dim"},
       .check = value_head_size},
      {.id = "AT007",
       .refs = {"R-24"},
       .severity = Severity::kWarning,
       .field = Field::attention_backend,
       .summary = "Gemma 3 sees images through a causal mask",
       .why = "Answers about images degrade without a message. The model makes its mask for triton, from 0.5.23 for "
              "intel_xpu.",
       .remedies = {give("--attention-backend", "triton")},
       .source = "sglang/srt/models/gemma3_mm.py",
       .device = "xpu",
       .check = image_tokens,
       .fires_on = {{{.model = "gemma-3-27b-it",
                      .args = "--device xpu --attention-backend intel_xpu --enable-multimodal --tp-size 4",
                      .until = v0_5(23)},
                     {.model = "gemma-3-27b-it",
                      .args = "--device xpu --attention-backend torch_native --enable-multimodal --tp-size 4"}}},
       .quiet_on = {{{.model = "gemma-3-27b-it",
                      .args = "--device xpu --attention-backend triton --enable-multimodal --tp-size 4"},
                     {.model = "gemma-3-27b-it",
                      .args = "--device xpu --attention-backend intel_xpu --enable-multimodal --tp-size 4",
                      .since = v0_5(23)}}}},
      {.id = "AT008",
       .severity = Severity::kWarning,
       .field = Field::attention_backend,
       .summary = "Gemma 3 sees images through a causal mask, for its phases have backends of their own",
       .why = "Answers about images degrade without a message. The model asks what class attends, and what joins two "
              "backends is neither of those that it makes a mask for.",
       .remedies = {give("--attention-backend", "triton")},
       .source = "sglang/srt/models/gemma3_mm.py, sglang/srt/layers/attention/hybrid_attn_backend.py",
       .device = "xpu",
       .check = image_tokens_of_two_backends,
       .fires_on = {{{.model = "gemma-3-27b-it",
                      .args = "--device xpu --prefill-attention-backend triton --decode-attention-backend intel_xpu "
                              "--enable-multimodal --tp-size 4"}}},
       .quiet_on = {{{.model = "gemma-3-27b-it",
                      .args = "--device xpu --attention-backend triton --enable-multimodal --tp-size 4"},
                     {.model = "gemma-3-27b-it",
                      .args = "--device xpu --prefill-attention-backend triton --decode-attention-backend intel_xpu "
                              "--tp-size 4"}}}},
      {.id = "AT009",
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .field = Field::model_path,
       .summary = "a head size the rotary kernel of the kernel package is not built for",
       .why = "RuntimeError at the first forward pass, whatever the attention backend: since 0.5.20 heads are handed "
              "to the form of the kernel that turns whole ones of some widths alone, by its source of August 2026.",
       .remedies = {in_release("0.5.19"), words("a kernel package that knows the width")},
       .source = "sglang/srt/layers/rotary_embedding/base.py: forward_xpu; sgl-kernel-xpu src/sycl/Rope.cpp",
       .device = "xpu",
       .since = v0_5(20),
       .doubtful = true,
       .decided_by = {"head_dim"},
       .check = rotary_width,
       .fires_on = {{{.model = "phi-2-like", .args = "--device xpu"},
                     {.model = "phi-2-like", .args = "--device xpu --attention-backend torch_native"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"},
                     {.model = "phi-2-like", .args = "--device xpu --model-impl transformers"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
