// VI: attention inside vision towers.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/facts/has_class.h"
#include "src/facts/kinds.h"
#include "src/python/integer.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"
#include "src/rules/serving_class.h"

namespace preflight::rules {
namespace {

// Whether a class leaves its tower out. Most build it with --language-only, too, and skip its weights alone.
bool tower_left_out(const LaunchFacts& f) {
  if (f.on(Field::language_model_only)) return true;
  return f.on(Field::language_only) &&
         has_class(f.model(), {"DotsVLMForCausalLM", "KimiK3ForConditionalGeneration",
                               "Glm5NextForConditionalGeneration", "MuseSparkForConditionalGeneration"});
}

// Gemma 3 and Llama 4 need --enable-multimodal, and SGLang's is_multimodal says so already. Towers of transformers'
// classes keep transformers' attention: SGLang takes over that of the text alone.
bool tower_is_built(const LaunchFacts& f) {
  return f.model().is_multimodal && !tower_left_out(f) && !transformers_serves(f);
}
bool tower_runs(const LaunchFacts& f) { return tower_is_built(f) && !f.on(Field::language_only); }

std::optional<Finding> device_without_varlen(const LaunchFacts& f) {
  if (!tower_runs(f) || f.vision_backend() != "xpu_attn" || f.is_battlemage_or_later()) return std::nullopt;
  const std::string_view chosen = f.given(Field::mm_attention_backend) ? ""
                                  : f.since(19)                        ? " (the default)"
                                                                       : " (the default beside SGLANG_USE_SGL_XPU)";
  return Finding{.message = fmt::format("vision attention xpu_attn{} is built for Battlemage and later, not for {}",
                                        chosen, f.device().name)};
}

std::optional<Finding> foreign_vision_backend(const LaunchFacts& f) {
  constexpr std::array<std::string_view, 6> kForeign = {"fa3",        "fa4",         "flashinfer_cudnn",
                                                        "aiter_attn", "ascend_attn", "amx_attn"};
  const std::string_view backend = f.text(Field::mm_attention_backend);
  if (!tower_is_built(f) || std::find(kForeign.begin(), kForeign.end(), backend) == kForeign.end()) return std::nullopt;
  return Finding{.message = fmt::format("vision attention {} does not exist on an Intel GPU", backend)};
}

std::optional<Finding> vision_head_size(const LaunchFacts& f) {
  constexpr std::array<std::int64_t, 8> kSizes = {64, 72, 80, 96, 128, 192, 256, 512};
  if (!tower_runs(f) || f.vision_backend() != "xpu_attn") return std::nullopt;
  const std::int64_t size = vision_head_dim(f.model());
  if (size <= 0 || std::find(kSizes.begin(), kSizes.end(), size) != kSizes.end()) return std::nullopt;
  return Finding{
      .message = fmt::format("the vision tower's head size {} is none of 64, 72, 80, 96, 128, 192, 256, 512", size)};
}

// How a class cuts its tower, as built with the classes of 0.5.23. Some fill up the heads; those have no row, or none
// for heads.
enum class Cut { kNot, kOverAttention, kOverAll };

struct Tower {
  std::string_view architecture;  // how its name begins
  Cut heads;
  Cut width;
  bool whole_by_option;   // --mm-enable-dp-encoder leaves it whole on every rank
  bool sums_over_all;     // and not over the ranks of a group, where attention has groups
  std::int64_t unit = 1;  // that the width is filled up to
};

constexpr Tower kTowers[] = {{"Gemma3ForConditional", Cut::kOverAttention, Cut::kOverAll, false, true},
                             {"Gemma4ForConditional", Cut::kOverAll, Cut::kOverAll, false, false},
                             {"InternVLChat", Cut::kNot, Cut::kOverAll, true, true},
                             {"Lfm2Vl", Cut::kOverAttention, Cut::kOverAll, false, true},
                             {"Mistral3For", Cut::kOverAttention, Cut::kOverAll, false, true},
                             {"MllamaFor", Cut::kNot, Cut::kNot, false, true},
                             {"Qwen2VL", Cut::kOverAttention, Cut::kOverAll, false, true},
                             {"Qwen2_5_VL", Cut::kOverAttention, Cut::kOverAll, true, true, 8},
                             {"Qwen3VL", Cut::kOverAttention, Cut::kOverAttention, true, false},
                             {"Qwen3_5", Cut::kOverAttention, Cut::kOverAttention, true, false}};

std::int64_t first_size(const Value& vision, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const Value* v = vision.find(key); v != nullptr && v->is_int()) return v->as_int();
  }
  return 0;
}

std::int64_t width_of(const Value& vision, const Tower& tower) {
  const std::int64_t given = first_size(vision, {"intermediate_size"});
  // Qwen2-VL tells it as a multiple of the tower's own; Qwen2.5-VL fills it up.
  if (given <= 0) return integer::bounded_times(first_size(vision, {"embed_dim"}), first_size(vision, {"mlp_ratio"}));
  return tower.unit == 1 ? given : integer::bounded_times((given - 1) / tower.unit + 1, tower.unit);
}

// Gemma 3 builds it where images are switched off, too.
const Tower* cut_tower(const LaunchFacts& f) {
  const bool gemma = architecture_starts_with(f.model(), {"Gemma3For"}) && !transformers_serves(f);
  if (!gemma && !tower_is_built(f)) return nullptr;
  const auto* tower = std::ranges::find_if(
      kTowers, [&](const Tower& t) { return architecture_starts_with(f.model(), {t.architecture}); });
  const bool whole = tower == std::end(kTowers) || (tower->whole_by_option && f.on(Field::mm_enable_dp_encoder));
  return whole ? nullptr : tower;
}

std::optional<Finding> tower_uneven(const LaunchFacts& f) {
  const Value vision = f.model().root("vision_config");
  const Tower* tower = cut_tower(f);
  if (tower == nullptr || !vision.is_dict()) return std::nullopt;
  const auto uneven = [&](const char* what, std::int64_t size, Cut cut) {
    const std::int64_t ranks = cut == Cut::kOverAll ? f.tp() : f.attention_tp();
    if (cut == Cut::kNot || size <= 0 || size % ranks == 0) return std::string();
    return fmt::format("the vision tower's {} of {} does not divide by {} ranks", what, size, ranks);
  };
  std::string message =
      uneven("number of heads", first_size(vision, {"num_heads", "num_attention_heads"}), tower->heads);
  if (message.empty()) message = uneven("width", width_of(vision, *tower), tower->width);
  if (message.empty()) return std::nullopt;
  Finding finding{.message = std::move(message)};
  if (tower->whole_by_option) finding.remedies.push_back(to_give("--mm-enable-dp-encoder"));
  finding.remedies.push_back({.steps = {{StepKind::kLower, "--tp-size"}}});
  return finding;
}

std::optional<Finding> tower_over_groups(const LaunchFacts& f) {
  const Tower* tower = cut_tower(f);
  const bool runs = tower != nullptr && !f.on(Field::language_only) && !f.only_decodes();
  if (!runs || !tower->sums_over_all) return std::nullopt;
  const std::int64_t ranks = f.attention_tp();
  if (f.attention_dp() <= 1 || ranks <= 1 || ranks >= f.tp()) return std::nullopt;
  Finding finding{.message = fmt::format("the vision tower is cut over the {} ranks of an attention group and summed "
                                         "over all {}",
                                         ranks, f.tp())};
  if (tower->whole_by_option) finding.remedies.push_back(to_give("--mm-enable-dp-encoder"));
  finding.remedies.push_back(to_give("--attn-dp-size", {std::to_string(f.tp())}));
  finding.remedies.push_back(to_drop("--attn-dp-size"));
  return finding;
}

// Bailing's older classes take the tower that their vision configuration names.
bool bailing_with_tower_of_qwen3(const ModelFacts& model) {
  if (!has_class(model, {"BailingMMNativeForConditionalGeneration", "BailingMM2NativeForConditionalGeneration"})) {
    return false;
  }
  const Value vision = model.root("vision_config");
  const Value* names = vision.find("architectures");
  const bool named = names != nullptr && names->is_list() && !names->as_list().empty();
  const Value* name = named ? &names->as_list().front() : vision.find("model_type");
  if (name == nullptr || !name->is_string()) return false;
  const std::string& tower = name->as_string();
  return tower == "Qwen3MoeVisionTransformer" || tower == "Qwen3_VisionTransformer" || tower == "qwen3_vl_moe";
}

// Qwen3-VL's tower and its heirs ask for no platform; other towers look for CUDA first.
bool has_tower_of_qwen3(const ModelFacts& model) {
  return bailing_with_tower_of_qwen3(model) ||
         has_class(model, {"Qwen3VLForConditionalGeneration", "Qwen3VLMoeForConditionalGeneration",
                           "Qwen3OmniMoeForConditionalGeneration", "Qwen3_5ForConditionalGeneration",
                           "Qwen3_5MoeForConditionalGeneration", "Qwen4ExpForConditionalGeneration",
                           "InternS1ProForConditionalGeneration", "InternS2PreviewForConditionalGeneration",
                           "InternS2MobiusForConditionalGeneration", "Cosmos3ForConditionalGeneration",
                           "BailingMoeV3VLForConditionalGeneration"});
}

std::optional<Finding> graph_of_tower(const LaunchFacts& f) {
  if (!tower_runs(f) || !f.env_on("SGLANG_VIT_ENABLE_CUDA_GRAPH")) return std::nullopt;
  if (!has_tower_of_qwen3(f.model())) return std::nullopt;
  return Finding{.message = "SGLANG_VIT_ENABLE_CUDA_GRAPH is set, and this model's vision tower makes a CUDA graph"};
}

constexpr std::string_view kVision = "sglang/srt/layers/attention/vision.py";

}  // namespace

std::span<const Rule> vision_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "VI001",
       .refs = {"R-22"},
       .field = Field::mm_attention_backend,
       .summary = "vision attention of the XPU kernel package on a device it is not built for",
       .why = "NotImplementedError with the first image. It is the default from 0.5.19, and before where "
              "SGLANG_USE_SGL_XPU is set.",
       .remedies = {give("--mm-attention-backend", "triton_attn"), remedy::on_another_card()},
       .source = "sglang/srt/layers/attention/vision.py; sgl-kernel-xpu python/sgl_kernel/flash_attn.py",
       .device = "xpu",
       .since = v0_5(13),
       .check = device_without_varlen,
       .fires_on =
           {{{.model = "qwen3-vl-8b-instruct", .args = "--device xpu --tp-size 2", .device = "a770", .since = v0_5(19)},
             {.model = "qwen3-vl-8b-instruct",
              .args = "--device xpu --tp-size 2 --mm-attention-backend xpu_attn",
              .device = "a770"}}},
       .quiet_on = {{{.model = "qwen3-vl-8b-instruct",
                      .args = "--device xpu --tp-size 2 --mm-attention-backend triton_attn",
                      .device = "a770"},
                     {.model = "qwen3-vl-8b-instruct", .args = "--device xpu --tp-size 2"}}}},
      {.id = "VI002",
       .refs = {"MM-1"},
       .field = Field::mm_attention_backend,
       .summary = "a vision attention backend made for another vendor's hardware",
       .why = "An exception while the vision tower is built.",
       .remedies = {give("--mm-attention-backend", "xpu_attn", "triton_attn", "sdpa")},
       .source = kVision,
       .device = "xpu",
       .check = foreign_vision_backend,
       .fires_on = {{{.model = "qwen3-vl-8b-instruct", .args = "--device xpu --mm-attention-backend fa3"}}},
       .quiet_on = {{{.model = "qwen3-vl-8b-instruct", .args = "--device xpu --mm-attention-backend triton_attn"},
                     {.model = "qwen3-8b", .args = "--device xpu --mm-attention-backend fa3"}}}},
      {.id = "VI003",
       .refs = {"K-16"},
       .field = Field::mm_attention_backend,
       .summary = "a vision head size the XPU kernel is not built for",
       .why = "The kernel refuses the first image; nothing pads the heads.",
       .remedies = {give("--mm-attention-backend", "triton_attn")},
       .source = "sgl-kernel-xpu src/sycl/flash_attention.cpp",
       .device = "xpu",
       .since = v0_5(13),
       .check = vision_head_size,
       .quiet_on = {{{.model = "qwen3-vl-8b-instruct", .args = "--device xpu --mm-attention-backend xpu_attn"}}}},
      {.id = "VI004",
       .field = Field::model_path,
       .summary = "a vision tower in a CUDA graph",
       .why =
           "RuntimeError with the first image, that of the warm-up in most launches: torch for XPU has CUDAGraph as a "
           "name alone.",
       .remedies = {unset("SGLANG_VIT_ENABLE_CUDA_GRAPH")},
       .source = "sglang/srt/models: qwen3_vl.py, bailing_mm.py, bailing_mm_v3.py; "
                 "sglang/srt/multimodal/vit_cuda_graph_runner.py",
       .device = "xpu",
       .check = graph_of_tower,
       .fires_on = {{{.model = "qwen3-vl-8b-instruct",
                      .args = "--device xpu --tp-size 2",
                      .env = "SGLANG_VIT_ENABLE_CUDA_GRAPH=1"},
                     {.model = "qwen3.5-9b",
                      .args = "--device xpu --tp-size 2 --disable-radix-cache",
                      .env = "SGLANG_VIT_ENABLE_CUDA_GRAPH=1"}}},
       .quiet_on = {{{.model = "qwen3-vl-8b-instruct",
                      .args = "--device xpu --tp-size 2",
                      .env = "SGLANG_VIT_ENABLE_CUDA_GRAPH=0"},
                     {.model = "internvl2_5-2b",
                      .args = "--device xpu --trust-remote-code",
                      .env = "SGLANG_VIT_ENABLE_CUDA_GRAPH=1"}}}},
      {.id = "VI005",
       .field = Field::tp_size,
       .summary = "the vision tower does not divide by the ranks",
       .why =
           "Its heads and its MLP are cut like the language model's: AssertionError while the model is built, by text "
           "alone, too.",
       .remedies = {lower("--tp-size")},
       .source = "sglang/srt/layers/attention/vision.py, sglang/srt/models",
       .check = tower_uneven,
       .fires_on = {{{.model = "qwen3-vl-8b-instruct", .args = "--device xpu --tp-size 32", .device = "b60x32"},
                     {.model = "gemma-3-27b-it", .args = "--device xpu --tp-size 32", .device = "b60x32"}}},
       .quiet_on = {{{.model = "qwen3-vl-8b-instruct", .args = "--device xpu --tp-size 16", .device = "b60x32"},
                     {.model = "internvl2_5-2b", .args = "--device xpu --trust-remote-code --tp-size 8"}}}},
      {.id = "VI006",
       .field = Field::attn_dp_size,
       .summary = "a vision tower over attention groups that sums over all ranks",
       .why = "ValueError while the model is built, by text alone, too: the sums would mix images of other groups. One "
              "rank a group sums nothing.",
       .remedies = {drop("--attn-dp-size")},
       .source = "sglang/srt/layers/dp_attention.py: reject_attn_tp_shard_with_tp_reduce; "
                 "sglang/srt/layers/attention/vision.py; sglang/srt/models: siglip.py, siglip2.py, pixtral.py, "
                 "internvl.py, mllama.py, qwen2_vl.py, qwen2_5_vl.py",
       .since = v0_5(22),
       .check = tower_over_groups,
       .fires_on = {{{.model = "gemma-3-27b-it", .args = "--device xpu --tp-size 4 --attn-dp-size 2"},
                     {.model = "internvl2_5-2b",
                      .args = "--device xpu --trust-remote-code --tp-size 4 --attn-dp-size 2"}}},
       .quiet_on = {{{.model = "gemma-3-27b-it", .args = "--device xpu --tp-size 4 --attn-dp-size 4"},
                     {.model = "qwen3-vl-8b-instruct", .args = "--device xpu --tp-size 4 --attn-dp-size 2"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
