// HY: hybrids of full and linear attention: their cache, and the kernels of the linear part.
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "src/facts/kinds.h"
#include "src/plan/kept_layers.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {
namespace {

constexpr std::array<Field, 4> kLinearBackends = {Field::linear_attn_backend, Field::linear_attn_prefill_backend,
                                                  Field::linear_attn_decode_backend, Field::linear_attn_verify_backend};

std::optional<Field> linear_backend(const LaunchFacts& f, std::initializer_list<std::string_view> names) {
  for (const Field field : kLinearBackends) {
    if (f.one_of(field, names)) return field;
  }
  return std::nullopt;
}

std::optional<Finding> radix_page(const LaunchFacts& f) {
  const bool hybrid = is_hybrid(f.model()) && f.mamba_strategy() == "no_buffer";
  // Nothing decides the strategy of a model that is all Mamba, and extra buffers are refused for it.
  const bool pure = f.since(22) && is_pure_mamba(f.model());
  if ((!hybrid && !pure) || !f.radix_cache() || f.page_size() <= 1) return std::nullopt;
  return Finding{.message = fmt::format("the prefix cache of this model wants page size 1, and {} ends with {}",
                                        f.uses_xpu() ? "intel_xpu" : "the launch", f.page_size())};
}

std::optional<Finding> tree_despite_disabled(const LaunchFacts& f) {
  const bool chunked = f.integer(Field::chunked_prefill_size, 1) > 0;
  if (!is_hybrid(f.model()) || f.radix_cache() || chunked || f.page_size() <= 1) return std::nullopt;
  // With the prefix cache off, "auto" is never decided: it is no extra buffer either.
  if (f.mamba_strategy().starts_with("extra_buffer")) return std::nullopt;
  return Finding{.message = fmt::format("without chunked prefill the prefix tree is built although it is disabled, and "
                                        "it wants page size 1, not {}",
                                        f.page_size())};
}

std::optional<Finding> extra_buffer(const LaunchFacts& f) {
  if (!is_hybrid(f.model()) || !f.radix_cache() || !f.mamba_strategy().starts_with("extra_buffer")) return std::nullopt;
  return Finding{.message = fmt::format("{} chose the {} strategy for the hybrid prefix cache", f.release().text(),
                                        f.mamba_strategy())};
}

std::optional<Finding> gated_delta_too_old(const LaunchFacts& f) {
  if (!is_gdn(f.model())) return std::nullopt;
  return Finding{.message = fmt::format("{} cannot run gated-delta layers on XPU", f.release().text())};
}

std::optional<Finding> mamba_too_old(const LaunchFacts& f) {
  if (!is_mamba2(f.model())) return std::nullopt;
  return Finding{.message = fmt::format("{} cannot run Mamba layers on XPU", f.release().text())};
}

// Of hybrids that say it layer by layer.
bool begins_without_attention(const ModelFacts& m) {
  const Value types = m.text("layer_types");
  if (types.is_list() && !types.as_list().empty()) {
    const Value& first = types.as_list().front();
    return first == Value("mamba") || first == Value("conv");
  }
  const Value pattern = m.text("hybrid_override_pattern");
  return pattern.is_string() && !pattern.as_string().empty() && !pattern.as_string().starts_with('*');
}

std::optional<Finding> first_layer_on_triton(const LaunchFacts& f) {
  const RecurrentState state = recurrent_state(f.model());
  if (state != RecurrentState::kMamba2 && state != RecurrentState::kShortConvolution) return std::nullopt;
  if (!f.any_phase_on("triton") || !begins_without_attention(f.model())) return std::nullopt;
  return Finding{
      .message = fmt::format("the first layer of this model has no attention, and triton in {} reads its cache",
                             f.release().text()),
      .field = f.field_naming("triton")};
}

std::optional<Finding> kda_decode(const LaunchFacts& f) {
  if (!is_kda(f.model())) return std::nullopt;
  return Finding{.message = fmt::format("packed decode of Kimi-Linear calls CUDA in {}", f.release().text())};
}

std::optional<Finding> foreign_linear_backend(const LaunchFacts& f) {
  if (!is_gdn(f.model()) && !is_kda(f.model())) return std::nullopt;
  const auto field = linear_backend(f, {"cutedsl", "flashinfer", "flashkda", "nvidia_kda", "ptx_kda", "helion"});
  if (!field) return std::nullopt;
  return Finding{.message = fmt::format("linear attention backend {} does not exist on an Intel GPU", f.text(*field)),
                 .field = field};
}

std::optional<Finding> kda_on_xpu(const LaunchFacts& f) {
  const auto field = linear_backend(f, {"intel_xpu"});
  if (!field || !is_kda(f.model())) return std::nullopt;
  return Finding{.message = "Kimi-Linear has no intel_xpu kernels for its linear layers", .field = field};
}

std::optional<Finding> silently_triton(const LaunchFacts& f) {
  const auto field = linear_backend(f, {"intel_xpu"});
  if (!field || !f.model().has_architecture("Qwen3NextForCausalLM")) return std::nullopt;
  return Finding{.message = "Qwen3-Next runs its linear layers on triton, although intel_xpu was chosen",
                 .field = field};
}

std::optional<Finding> linear_device(const LaunchFacts& f) {
  const auto field = linear_backend(f, {"intel_xpu"});
  if (!field || !is_gdn(f.model()) || f.is_battlemage_or_later()) return std::nullopt;
  return Finding{
      .message = fmt::format("the fused linear attention kernel is built for Battlemage, not for {}", f.device().name),
      .field = field};
}

bool linear_layers_on_triton(const LaunchFacts& f) { return is_gdn(f.model()) && !linear_backend(f, {"intel_xpu"}); }

std::optional<Finding> wide_linear_heads(const LaunchFacts& f) {
  constexpr std::int64_t kWidest = 256;  // a block of the Triton kernel holds a whole key head
  const Value width = f.model().text("linear_key_head_dim");
  if (!linear_layers_on_triton(f) || !width.is_int() || width.as_int() <= kWidest) return std::nullopt;
  return Finding{.message = fmt::format("key heads of the linear layers are {} wide, the Triton kernel takes {}",
                                        width.as_int(), kWidest)};
}

std::optional<Finding> triton_package(const LaunchFacts& f) {
  if (!linear_layers_on_triton(f)) return std::nullopt;
  return Finding{.message = "the linear layers run on Triton: the triton-xpu package must be 3.7.1 or newer"};
}

// Qwen3-Next's own configuration class, and Qwen3.5's, which is made of it.
std::optional<Finding> unplaced_attention(const LaunchFacts& f) {
  const Value kind = f.model().text("model_type");
  const auto is = [&](std::string_view name) { return kind == Value(std::string(name)); };
  const bool qwen4 = is("qwen4_exp_text") && f.since(23);  // beside layer_types
  if (!is("qwen3_next") && !is("qwen3_5_text") && !is("qwen3_5_moe_text") && !qwen4) return std::nullopt;
  if (!is_gdn(f.model()) || f.model().text("full_attention_interval").is_number()) return std::nullopt;
  return Finding{.message = "the configuration has no full_attention_interval, by which SGLang places the layers"};
}

std::optional<Finding> undescribed_delta_layers(const LaunchFacts& f) {
  if (f.model().model_type != "kimi_linear" || f.model().text("linear_attn_config").is_dict()) return std::nullopt;
  return Finding{.message =
                     "the configuration has no linear_attn_config, by which SGLang sizes the states of its layers"};
}

constexpr std::string_view kLinear = "sglang/srt/layers/attention/linear";

std::optional<Finding> no_window_layers(const LaunchFacts& f) {
  if (plan::names_no_window(f)) {
    return Finding{.message = "the model's class has layers with a window, and its configuration names none"};
  }
  if (const auto stage = plan::stage_without_window(f)) {
    return Finding{.message = fmt::format("stage {} of {} gets no layer with a window, which the model's class has",
                                          *stage + 1, f.integer(Field::pp_size, 1)),
                   .field = Field::pp_size};
  }
  return std::nullopt;
}

std::optional<Finding> no_state_layers(const LaunchFacts& f) {
  if (!plan::pools_refuse_no_state(f)) return std::nullopt;
  return Finding{.message = "the model's class has layers with a recurrent state, and its configuration names none"};
}

}  // namespace

std::span<const Rule> hybrid_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "HY001",
       .refs = {"MB-7"},
       .field = Field::page_size,
       .summary = "a hybrid's prefix cache with pages above 1",
       .why = "The page size is set to 1 for the prefix cache first and to 128 for intel_xpu afterwards; the scheduler "
              "then asserts page size 1 while it starts.",
       .remedies = {give("--disable-radix-cache"), give("--attention-backend", "triton")},
       .source =
           "sglang/srt/mem_cache/mamba_radix_cache.py; since 0.5.19 sglang/srt/mem_cache/unified_cache/components",
       .device = "xpu",
       .check = radix_page,
       .fires_on = {{{.model = "qwen3-next-80b-a3b",
                      .args = "--device xpu --attention-backend intel_xpu --tp-size 8",
                      .until = v0_5(14)},
                     {.model = "qwen3-next-80b-a3b",
                      .args = "--device xpu --attention-backend intel_xpu --tp-size 8",
                      .since = v0_5(20)}}},
       .quiet_on = {{{.model = "qwen3.5-9b",
                      .args = "--device xpu --attention-backend intel_xpu --page-size 128 --disable-radix-cache"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu"}}}},
      {.id = "HY002",
       .refs = {"MB-7b"},
       .certainty = Certainty::kLikely,
       .field = Field::chunked_prefill_size,
       .summary = "a hybrid without chunked prefill, with pages above 1",
       .why = "Up to 0.5.21 a disabled prefix cache is replaced by a plain one only when prefill is chunked; otherwise "
              "the tree is built and asserts page size 1.",
       .remedies = {drop("--chunked-prefill-size"), in_release("0.5.22")},
       .source = "sglang/srt/mem_cache/registry.py",
       .until = v0_5(22),
       .check = tree_despite_disabled,
       .fires_on = {{{.model = "qwen3.5-9b",
                      .args = "--device xpu --attention-backend intel_xpu --disable-radix-cache "
                              "--chunked-prefill-size -1"}}},
       .quiet_on = {{{.model = "qwen3.5-9b",
                      .args = "--device xpu --attention-backend intel_xpu --disable-radix-cache"}}}},
      {.id = "HY003",
       .refs = {"MB-23"},
       .severity = Severity::kWarning,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::mamba_radix_cache_strategy,
       .summary = "a hybrid's prefix cache with the extra buffer on XPU",
       .why = "Only 0.5.18 and 0.5.19 allow it on XPU; the releases around them exclude the platform, and SGLang's own "
              "XPU runs switch the prefix cache off.",
       .remedies = {give("--disable-radix-cache")},
       .source = "sglang/srt/arg_groups/overrides.py",
       .device = "xpu",
       .since = v0_5(18),
       .until = v0_5(20),
       .check = extra_buffer},
      {.id = "HY004",
       .refs = {"MB-20"},
       .summary = "Qwen3-Next or Qwen3.5 on an Intel GPU before 0.5.13",
       .why = "The gated norm asks torch.cuda for a device property at the first forward pass.",
       .remedies = {in_release("0.5.13")},
       .source = "sglang/srt/layers/attention/fla/layernorm_gated.py",
       .device = "xpu",
       .until = v0_5(13),
       .check = gated_delta_too_old},
      {.id = "HY005",
       .refs = {"MB-21"},
       .summary = "Nemotron-H, Falcon-H1 or Granite hybrids on an Intel GPU before 0.5.13",
       .why = "NameError for the convolution at the first forward pass.",
       .remedies = {in_release("0.5.13")},
       .source = "sglang/srt/layers/attention/mamba/mamba.py",
       .device = "xpu",
       .until = v0_5(13),
       .check = mamba_too_old},
      {.id = "HY006",
       .refs = {"MB-22"},
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .summary = "Kimi-Linear decode on an Intel GPU before 0.5.19",
       .why = "The packed decode path of its linear layers makes a CUDA-only call.",
       .remedies = {in_release("0.5.19")},
       .source = "sglang/srt/layers/attention/linear/kda_backend.py",
       .device = "xpu",
       .since = v0_5(13),
       .until = v0_5(19),
       .check = kda_decode,
       .fires_on = {{{.model = "kimi-linear-48b-a3b-instruct",
                      .args = "--device xpu --tp-size 8 --disable-radix-cache"}}},
       .quiet_on = {{{.model = "qwen3.5-9b", .args = "--device xpu --disable-radix-cache"}}}},
      {.id = "HY007",
       .refs = {"LA-5"},
       .field = Field::linear_attn_backend,
       .summary = "a linear attention backend made for another vendor's GPUs",
       .why = "ValueError while the backend is built.",
       .remedies = {give("--linear-attn-backend", "triton")},
       .source = kLinear,
       .device = "xpu",
       .check = foreign_linear_backend,
       .fires_on = {{{.model = "qwen3.5-9b",
                      .args = "--device xpu --disable-radix-cache --linear-attn-backend flashinfer"},
                     {.model = "kimi-linear-48b-a3b-instruct",
                      .args = "--device xpu --tp-size 8 --trust-remote-code --disable-radix-cache "
                              "--linear-attn-decode-backend cutedsl"}}},
       .quiet_on = {{{.model = "qwen3.5-9b",
                      .args = "--device xpu --disable-radix-cache --linear-attn-backend triton"}}}},
      {.id = "HY008",
       .refs = {"LA-6"},
       .field = Field::linear_attn_backend,
       .summary = "Kimi-Linear with linear attention on intel_xpu",
       .why = "ValueError while the backend is built: the kernels serve the gated delta rule only.",
       .remedies = {give("--linear-attn-backend", "triton")},
       .source = kLinear,
       .device = "xpu",
       .since = v0_5(19),
       .check = kda_on_xpu,
       .fires_on = {{{.model = "kimi-linear-48b-a3b-instruct",
                      .args = "--device xpu --disable-radix-cache --linear-attn-backend intel_xpu --tp-size 8"}}},
       .quiet_on = {{{.model = "qwen3.5-9b",
                      .args = "--device xpu --disable-radix-cache --linear-attn-backend intel_xpu"}}}},
      {.id = "HY009",
       .refs = {"LA-4"},
       .severity = Severity::kWarning,
       .field = Field::linear_attn_backend,
       .summary = "Qwen3-Next with linear attention on intel_xpu runs triton",
       .why = "Only the fused path of Qwen3.5 calls the kernel; there is no message.",
       .remedies = {words("nothing to gain from the option")},
       .source = "sglang/srt/hardware_backend/xpu/attention/xpu_gdn_backend.py, sglang/srt/models/qwen3_next.py",
       .device = "xpu",
       .since = v0_5(19),
       .check = silently_triton,
       .fires_on = {{{.model = "qwen3-next-80b-a3b",
                      .args = "--device xpu --disable-radix-cache --linear-attn-backend intel_xpu --tp-size 8"}}},
       .quiet_on = {{{.model = "qwen3.5-9b",
                      .args = "--device xpu --disable-radix-cache --linear-attn-backend intel_xpu"}}}},
      {.id = "HY010",
       .refs = {"LA-7"},
       .certainty = Certainty::kLikely,
       .field = Field::linear_attn_backend,
       .summary = "the fused linear attention kernel on a device it is not built for",
       .why = "The kernel refuses the device at the first forward pass.",
       .remedies = {give("--linear-attn-backend", "triton"), remedy::on_another_card()},
       .source = "sgl-kernel-xpu gdn_attention",
       .device = "xpu",
       .since = v0_5(19),
       .check = linear_device,
       .fires_on = {{{.model = "qwen3.5-9b",
                      .args = "--device xpu --disable-radix-cache --linear-attn-backend intel_xpu",
                      .device = "max1550"}}},
       .quiet_on = {{{.model = "qwen3.5-9b",
                      .args = "--device xpu --disable-radix-cache --linear-attn-backend intel_xpu"}}}},
      {.id = "HY011",
       .refs = {},
       .field = Field::linear_attn_backend,
       .summary = "linear attention with key heads wider than a block of the Triton kernel",
       .why =
           "The chunk kernel for XPU keeps a key head in one block and asserts that it is no wider than 256; the first "
           "prefill ends there.",
       .remedies = {words("no linear attention backend of an Intel GPU takes such heads")},
       .source = "sglang/srt/hardware_backend/xpu/kernels/fla/chunk_delta_h.py",
       .device = "xpu",
       .since = v0_5(13),
       .check = wide_linear_heads,
       .fires_on = {{{.model = "qwen3-next-80b-a3b",
                      .args = "--device xpu --disable-radix-cache --tp-size 8 --json-model-override-args "
                              "'{\"linear_key_head_dim\":512}'"}}},
       .quiet_on = {{{.model = "qwen3-next-80b-a3b", .args = "--device xpu --disable-radix-cache --tp-size 8"}}}},
      {.id = "HY012",
       .refs = {},
       .severity = Severity::kInfo,
       .certainty = Certainty::kLikely,
       .field = Field::linear_attn_backend,
       .summary = "linear attention on Triton wants a recent triton-xpu",
       .why = "Builds before 3.7.1 miscompile or reject the gated delta rule's kernels on Battlemage; SGLang's "
              "installation for "
              "XPU names the version, and an environment made for other models may hold an older one.",
       .fix =
           "pip show triton-xpu tells; install 3.7.1 or newer, the version that SGLang's XPU installation page names",
       .source = "sgl-project/sglang#21668, intel/intel-xpu-backend-for-triton#6910",
       .device = "xpu",
       .since = v0_5(13),
       .check = triton_package,
       .fires_on = {{{.model = "qwen3.5-9b", .args = "--device xpu --disable-radix-cache"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "HY013",
       .refs = {"sglang#32227"},
       .field = Field::attention_backend,
       .summary = "a hybrid that begins without attention, on triton before 0.5.18",
       .why = "The backend learns the width of values from the cache of layer 0, which Mamba and convolution layers do "
              "not have: a ValueError while the backend is made. SGLang refuses --attention-backend triton for some of "
              "these models, and comes to triton by itself all the same.",
       .remedies = {give("--attention-backend", "intel_xpu"), in_release("0.5.18")},
       .source = "sglang/srt/layers/attention/triton_backend.py: get_value_buffer(0)",
       .device = "xpu",
       .until = v0_5(18),
       .check = first_layer_on_triton,
       .fires_on = {{{.model = "lfm2-1.2b", .args = "--device xpu --disable-radix-cache"},
                     {.model = "nvidia-nemotron-3-nano-30b-a3b-bf16",
                      .args = "--device xpu --tp-size 4 --disable-radix-cache",
                      .since = v0_5(13)}}},
       .quiet_on = {{{.model = "lfm2-1.2b", .args = "--device xpu --disable-radix-cache --attention-backend intel_xpu"},
                     {.model = "qwen3.5-9b", .args = "--device xpu --disable-radix-cache"}}}},
      {.id = "HY014",
       .field = Field::model_path,
       .summary = "Qwen3-Next, Qwen3.5 or Qwen4 without full_attention_interval",
       .why = "AttributeError while the model is built (TypeError for a null): SGLang reads that key, of Qwen4 beside "
              "layer_types from 0.5.23 on. A checkpoint that transformers saved again has layer_types in its place.",
       .remedies = {words(
           "full_attention_interval in the text part of config.json, as the model has it that it was made "
           "of (4 for Qwen3-Next and Qwen3.5)")},
       .source = "sglang/srt/configs/qwen3_next.py: layers_block_type; srt/models/qwen3_5.py",
       .check = unplaced_attention,
       .fires_on = {{{.model = "qwen3-next-80b-a3b",
                      .args = "--device xpu --disable-radix-cache --tp-size 8 --json-model-override-args "
                              "'{\"full_attention_interval\":null}'",
                      .since = v0_5(13)}}},
       .quiet_on = {{{.model = "qwen3-next-80b-a3b",
                      .args = "--device xpu --disable-radix-cache --tp-size 8",
                      .since = v0_5(13)}}}},
      {.id = "HY017",
       .field = Field::model_path,
       .summary = "Kimi-Linear without linear_attn_config",
       .why =
           "TypeError in mamba2_cache_params while the pools are sized: SGLang's configuration class looks into that "
           "key alone. A checkpoint that transformers saved again has layer_types and linear_num_heads in its place.",
       .remedies = {words("linear_attn_config in config.json, as the model has it that it was made of")},
       .source = "sglang/srt/configs/kimi_linear.py",
       .check = undescribed_delta_layers,
       .fires_on = {{{.model = "kimi-linear-48b-a3b-instruct",
                      .args = "--device xpu --tp-size 8 --disable-radix-cache --json-model-override-args "
                              "'{\"linear_attn_config\":null}'"}}},
       .quiet_on = {{{.model = "kimi-linear-48b-a3b-instruct",
                      .args = "--device xpu --tp-size 8 --disable-radix-cache"},
                     {.model = "qwen3-8b", .args = "--device xpu"}}}},
      {.id = "HY015",
       .field = Field::model_path,
       .summary = "a class of layers with and without a window, and a configuration or a pipeline stage that has none "
                  "with one",
       .why =
           "AssertionError while the cache is built: each rank shares it out between two pools, and one of them would "
           "have no layer.",
       .remedies = {give("--disable-hybrid-swa-memory")},
       .source = "sglang/srt/model_executor/pool_configurator.py",
       .check = no_window_layers,
       .fires_on = {{{.model = "gpt-oss-20b",
                      .args =
                          "--device xpu --tp-size 2 --pp-size 2 --json-model-override-args '{\"num_hidden_layers\":2}'",
                      .since = v0_5(21)}}},
       .quiet_on = {{{.model = "gpt-oss-20b", .args = "--device xpu --tp-size 2", .since = v0_5(20)},
                     {.model = "qwen3-8b", .args = "--device xpu"}}}},
      {.id = "HY016",
       .field = Field::model_path,
       .summary = "a class of layers with a recurrent state, and a configuration that names none",
       .why =
           "AssertionError while the pools are sized, of LFM2 and Zaya AttributeError: the states get a share of the "
           "memory, whose number follows from the bytes of one, and there are none.",
       .remedies = {words("a configuration that says which layers keep a state, as the model has it")},
       .source = "sglang/srt/model_executor/model_runner_kv_cache_mixin.py: handle_max_mamba_cache; since 0.5.16 "
                 "sglang/srt/mem_cache/kv_cache_configurator.py: _handle_max_mamba_cache",
       .check = no_state_layers,
       .fires_on = {{{.model = "qwen3-next-80b-a3b",
                      .args = "--device xpu --disable-radix-cache --tp-size 8 --json-model-override-args "
                              "'{\"full_attention_interval\":1}'",
                      .since = v0_5(13)},
                     {.model = "lfm2-1.2b",
                      .args = "--device xpu --disable-radix-cache --max-mamba-cache-size 8 --json-model-override-args "
                              "'{\"num_hidden_layers\":1,\"layer_types\":[\"full_attention\"]}'"}}},
       .quiet_on = {{{.model = "qwen3-next-80b-a3b",
                      .args = "--device xpu --disable-radix-cache --tp-size 8 --max-mamba-cache-size 8 "
                              "--json-model-override-args '{\"full_attention_interval\":1}'",
                      .since = v0_5(13)},
                     {.model = "lfm2-1.2b", .args = "--device xpu --disable-radix-cache"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
