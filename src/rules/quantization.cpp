// QN: quantised checkpoints on Intel GPUs.
#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/counted.h"
#include "src/facts/described_form.h"
#include "src/facts/gguf/gguf_file.h"
#include "src/facts/has_class.h"
#include "src/facts/kinds.h"
#include "src/launch/serving_class.h"
#include "src/launch/shared_experts.h"
#include "src/plan/plain_modules.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/quantization_methods.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

// Smaller widths over which `blocks` FP8 blocks divide, the nearest first.
std::vector<std::string> fitting_tp(const LaunchFacts& f, std::int64_t blocks) {
  std::vector<std::string> list;
  for (std::int64_t tp = std::min(f.tp() - 1, std::max<std::int64_t>(1, blocks)); tp >= 1 && list.size() < kFewValues;
       --tp) {
    if (blocks % tp == 0) list.push_back(std::to_string(tp));
  }
  return list;
}

std::optional<Finding> expert_block(const LaunchFacts& f) {
  const auto block = fp8_block(f.model());
  const Experts e = experts(f.model());
  if (!block || e.count == 0 || e.intermediate_size <= 0) return std::nullopt;
  // A first check is left out then, and FP8's own of the experts finds the same later; it sees none in FP4.
  if (f.env_on("SGLANG_SHARED_EXPERT_TP1") && has_experts_in_fp4(f)) return std::nullopt;
  const std::int64_t ranks = f.moe_tp();
  if (e.intermediate_size % ranks == 0 && (e.intermediate_size / ranks) % block->first == 0) return std::nullopt;
  // An expert that is no whole number of blocks fits no split, not even one on a single rank.
  std::vector<Remedy> remedies = {{.stored_as = "unquantized"}};
  if (e.intermediate_size % block->first == 0) {
    const std::int64_t blocks = e.intermediate_size / block->first;
    remedies = {to_give("--ep-size", {std::to_string(f.tp())}), to_give("--tp-size", fitting_tp(f, blocks))};
  }
  return Finding{.message = fmt::format("an expert of width {} over {} ranks leaves {}, no multiple of the FP8 block "
                                        "of {}",
                                        e.intermediate_size, ranks, e.intermediate_size / ranks, block->first),
                 .remedies = std::move(remedies)};
}

// One dense layer as the block check sees it.
struct CutLayer {
  std::string_view layer;
  std::int64_t size;
  std::int64_t ranks;
  std::int64_t block;
  bool merged = false;  // several matrices in one: each is whole blocks on a single rank, too
};

bool leaves_shared_experts(const ModelFacts& m) {
  const auto plain = plan::plain_modules_of(m);
  const auto left = [&](std::string_view name) {
    return plain->leaves_plain(fmt::format("model.layers.{}.mlp.{}.gate_up_proj", m.num_hidden_layers - 1, name));
  };
  return left("shared_experts") || left("shared_expert");
}

std::vector<CutLayer> shared_expert_cuts(const LaunchFacts& f, std::pair<std::int64_t, std::int64_t> blocks) {
  const ModelFacts& m = f.model();
  const bool fused = f.on(Field::enforce_shared_experts_fusion);
  if (!has_experts(m) || fused || leaves_shared_experts(m)) return {};
  const std::int64_t width = shared_experts_width(m);
  const std::int64_t ranks = shared_expert_ranks(f);
  return {{"gate and up projection of the shared experts", width, ranks, blocks.first, true},
          {"down projection of the shared experts", width, ranks, blocks.second}};
}

std::vector<CutLayer> dense_cuts(const LaunchFacts& f, std::pair<std::int64_t, std::int64_t> blocks) {
  const ModelFacts& m = f.model();
  const auto [block_n, block_k] = blocks;
  const std::int64_t atp = f.attention_tp();
  std::vector<CutLayer> cuts = {{"gate and up projection", f.shared_dense_width(), f.tp(), block_n, true},
                                {"down projection", f.shared_dense_width(), f.tp(), block_k}};
  if (m.is_mla()) {
    const std::int64_t key = m.qk_nope_head_dim + m.qk_rope_head_dim;
    cuts.push_back({"query projection", m.num_attention_heads * key, atp, block_n});
    cuts.push_back(
        {"expansion of the latent", m.num_attention_heads * (m.qk_nope_head_dim + m.v_head_dim), atp, block_n});
    // MiMo-V2's attention leaves the check of its fused projections out.
  } else if (!has_class(m, {"MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM"})) {
    const std::int64_t kv = m.num_kv_heads_per_rank(atp) * atp;
    cuts.push_back({"query projection", m.num_attention_heads * m.head_dim, atp, block_n, true});
    cuts.push_back({"key projection", kv * m.head_dim, atp, block_n, true});
  }
  cuts.push_back({"output projection", m.num_attention_heads * m.v_head_dim, atp, block_k});
  return cuts;
}

std::vector<CutLayer> cut_layers(const LaunchFacts& f, std::pair<std::int64_t, std::int64_t> blocks) {
  std::vector<CutLayer> cuts;
  if (!is_hybrid(f.model())) cuts = dense_cuts(f, blocks);
  std::ranges::copy(shared_expert_cuts(f, blocks), std::back_inserter(cuts));
  return cuts;
}

std::optional<Finding> dense_block(const LaunchFacts& f) {
  const auto block = fp8_block(f.model());
  if (!block || !is_fp8_checkpoint(f.model())) return std::nullopt;
  for (const CutLayer& c : cut_layers(f, *block)) {
    if (c.size <= 0 || (c.ranks == 1 && !c.merged)) continue;
    if (c.size % c.ranks == 0 && (c.size / c.ranks) % c.block == 0) continue;
    Finding finding{.message =
                        fmt::format("the {} of {} elements over {} leaves {}, no multiple of the FP8 block of {}",
                                    c.layer, c.size, counted(c.ranks, "rank"), c.size / c.ranks, c.block)};
    // What is no whole number of blocks fits no split.
    if (c.size % c.block != 0) finding.remedies = {{.stored_as = "unquantized"}};
    // Upstream's tests serve DeepSeek-V2-Lite-Chat-FP8 on one card: a checkpoint with experts may hold the few dense
    // layers otherwise than its configuration says.
    if (c.ranks == 1 && has_experts(f.model())) finding.severity = Severity::kWarning;
    return finding;
  }
  return std::nullopt;
}

// Resolution takes a processor for one without AMX, too (intel_amx becomes torch_native).
std::optional<Finding> products_of_amx(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const bool int8 = has_quantization(m, "w8a8_int8");
  const bool fp8 = fp8_block(m) ? is_fp8_checkpoint(m) : has_quantization(m, "fp8") && f.since(21);
  if (!int8 && !fp8) return std::nullopt;
  return Finding{.message = fmt::format("{} weights on a processor need AMX, and one without it is assumed",
                                        int8 ? "INT8" : "FP8")};
}

// Gemma 4's audio tower gives a weight a loader of its own, which those of FP8 do not take.
std::optional<Finding> audio_tower_in_fp8(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const bool made = has_quantization(m, "fp8") && m.hf_quant_config.is_none();
  if (!made || transformers_serves(f) || !has_class(m, {"Gemma4ForConditionalGeneration"})) return std::nullopt;
  if (!m.root("audio_config").is_dict()) return std::nullopt;
  return Finding{.message = "--quantization fp8 takes the audio tower of Gemma 4, too"};
}

std::optional<Finding> block_diffusion_packed(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const bool packed = m.quantization && !m.quantization->empty();
  if (!packed || transformers_serves(f) || !has_class(m, {"DiffusionGemmaForBlockDiffusion"})) return std::nullopt;
  return Finding{.message =
                     fmt::format("DiffusionGemma takes no quantised weights, and these are {}", *m.quantization)};
}

std::optional<Finding> awq_experts(const LaunchFacts& f) {
  if (!has_quantization(f.model(), "awq") || !has_experts(f.model())) return std::nullopt;
  return Finding{.message = fmt::format("{} with {}", packed_as(f.model(), "an AWQ checkpoint"),
                                        counted(experts(f.model()).count, "expert"))};
}

std::optional<Finding> activation_type(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const bool awq_or_gptq = has_quantization(m, "awq") || has_quantization(m, "gptq");
  const bool two_types =
      has_quantization(m, "fp8") || has_quantization(m, "compressed-tensors") || has_quantization(m, "mxfp4");
  if (!awq_or_gptq && !two_types) return std::nullopt;
  const bool half_only = awq_or_gptq && f.before(19);
  const std::string dtype = f.model_dtype();
  if (dtype == "float16" || (dtype == "bfloat16" && !half_only)) return std::nullopt;
  return Finding{.message = fmt::format("{} takes {} activations, and the model runs in {}", *m.quantization,
                                        half_only ? "float16" : "float16 or bfloat16", dtype),
                 .remedies = half_only ? std::vector{to_give("--dtype", {"float16"}), with_release("0.5.19")}
                                       : std::vector{to_give("--dtype", {"bfloat16", "float16"})}};
}

// The methods for experts alone hand every other layer to the method that the checkpoint names.
std::optional<Finding> gptq_kernel(const LaunchFacts& f) {
  const Value* method = f.model().hf_quant_config.find("quant_method");
  const bool handed_on = has_quantization(f.model(), "moe_wna16") && method != nullptr && *method == Value("gptq");
  if (!has_quantization(f.model(), "gptq") && !handed_on) return std::nullopt;
  return Finding{.message = fmt::format("{} has no GPTQ kernel for XPU", f.release().text())};
}

// A form of GPTQ weights, of the whole checkpoint or of layers that its "dynamic" names, that the XPU kernel lacks.
std::optional<std::string> lacking_form(const Value& part) {
  if (const auto bits = number_in(part, {"bits"}); bits && *bits != 4)
    return fmt::format("GPTQ with {} bits: XPU's kernel unpacks the weights as 4-bit codes", *bits);
  if (const auto group = number_in(part, {"group_size"}); group && !is_packed_group(*group))
    return fmt::format("GPTQ group size {} is none of 32, 64, 128, 256", *group);
  return std::nullopt;
}

// "-:" before a name leaves its layers unquantised.
std::optional<std::string> lacking_form_of_layers(const Value& config) {
  const Value* dynamic = config.find("dynamic");
  if (dynamic == nullptr || !dynamic->is_dict()) return std::nullopt;
  for (const auto& [name, part] : dynamic->as_dict()) {
    if (name.starts_with("-:") || !part.is_dict()) continue;
    if (const auto lacking = lacking_form(part)) return fmt::format("layers named {}: {}", name, *lacking);
  }
  return std::nullopt;
}

std::optional<Finding> gptq_forms(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const Value& config = m.hf_quant_config;
  if (has_quantization(m, "moe_wna16")) {
    if (!config.is_dict()) return std::nullopt;  // QN011
    std::vector<Remedy> remedies = {other_checkpoint_without("--quantization")};
    if (!has_experts(m)) remedies.insert(remedies.begin(), to_drop("--quantization"));
    return Finding{.message = "--quantization moe_wna16 hands linear layers to the GPTQ method for CUDA",
                   .remedies = std::move(remedies)};
  }
  if (!has_quantization(m, "gptq")) return std::nullopt;
  if (has_experts(m)) {
    return Finding{.message = fmt::format("{} with experts", packed_as(m, "a GPTQ checkpoint"))};
  }
  if (auto lacking = lacking_form(config)) return Finding{.message = std::move(*lacking)};
  if (auto lacking = lacking_form_of_layers(config)) return Finding{.message = std::move(*lacking)};
  const Value* reordered = config.find("desc_act");
  if (reordered != nullptr && reordered->truthy() && f.tp() > 1) {
    return Finding{.message = fmt::format("GPTQ with activation order over {} GPUs", f.tp()),
                   .field = Field::tp_size,
                   .remedies = {to_give("--tp-size", {"1"}), {.stored_as = "fp8"}, {.stored_as = "unquantized"}}};
  }
  return std::nullopt;
}

// Rows of a weight that share a scale: of AWQ, GPTQ and packed compressed-tensors. 0 or less: none, or one scale a
// column.
std::int64_t scale_group(const ModelFacts& m) {
  if (has_quantization(m, "awq") || has_quantization(m, "gptq"))
    return number_in(m.hf_quant_config, {"group_size", "q_group_size"}).value_or(0);
  const Value* groups = m.hf_quant_config.find("config_groups");
  if (!has_quantization(m, "compressed-tensors") || groups == nullptr || !groups->is_dict()) return 0;
  for (const auto& [name, group] : groups->as_dict()) {
    const Value* weights = group.find("weights");
    const Value* type = weights == nullptr ? nullptr : weights->find("type");
    if (type != nullptr && *type == Value("int")) return number_in(*weights, {"group_size"}).value_or(0);
  }
  return 0;
}

// Whether a layer's part is quantised in any layer. Of names that are not understood nothing is said.
bool is_quantised_somewhere(const ModelFacts& m, bool plan::PlainParts::*plain) {
  const auto modules = plan::plain_modules_of(m);
  if (!modules->understood()) return false;
  if (!modules->any()) return true;
  for (std::int64_t layer = 0; layer < m.num_hidden_layers; ++layer) {
    const plan::PlainParts parts = modules->in_layer(layer);
    if (!(parts.*plain)) return true;
  }
  return false;
}

// Inputs of a layer that tensor parallelism cuts are whole groups on each rank.
std::optional<Finding> cut_groups(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const std::int64_t group = scale_group(m);
  if (group <= 1) return std::nullopt;
  struct Cut {
    std::string_view layer;
    std::int64_t size;
    std::int64_t ranks;
    bool plan::PlainParts::*plain;
  };
  for (const Cut& c :
       {Cut{"down projection", f.shared_dense_width(), f.tp(), &plan::PlainParts::down},
        Cut{"output projection", m.num_attention_heads * m.v_head_dim, f.attention_tp(), &plan::PlainParts::output}}) {
    if (c.size <= 0 || c.size % c.ranks != 0 || (c.size / c.ranks) % group == 0) continue;
    if (!is_quantised_somewhere(m, c.plain)) continue;
    std::vector<std::string> fitting;
    for (std::int64_t tp = f.tp() - 1; tp >= 1 && fitting.size() < kFewValues; --tp) {
      if (c.size % tp == 0 && (c.size / tp) % group == 0) fitting.push_back(std::to_string(tp));
    }
    std::vector<Remedy> remedies = {{.stored_as = "unquantized"}};
    if (!fitting.empty()) remedies.insert(remedies.begin(), to_give("--tp-size", std::move(fitting)));
    return Finding{.message = fmt::format("the {} of {} inputs over {} ranks leaves {}, no multiple of the "
                                          "checkpoint's groups of {}",
                                          c.layer, c.size, c.ranks, c.size / c.ranks, group),
                   .remedies = std::move(remedies)};
  }
  return std::nullopt;
}

std::optional<Finding> awq_forms(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!has_quantization(m, "awq")) return std::nullopt;
  const auto bits = number_in(m.hf_quant_config, {"bits", "w_bit"});
  if (bits && *bits != 4) return Finding{.message = fmt::format("AWQ with {} bits; SGLang takes 4", *bits)};
  const auto group = number_in(m.hf_quant_config, {"group_size", "q_group_size"});
  if (f.before(19) || !group || is_packed_group(*group)) return std::nullopt;
  return Finding{.message = fmt::format("AWQ group size {} is none of 32, 64, 128, 256", *group)};
}

// Of ModelOpt's own and of its mixed checkpoints, which name the layers in 4 bits.
bool has_nvfp4(const ModelFacts& m) {
  if (!m.quant_config.is_dict()) return false;  // hf_quant_config.json says it, where config.json does not
  if (has_quantization(m, "modelopt_fp4")) return true;
  if (!has_quantization(m, "modelopt_mixed")) return false;
  const auto any_in = [&](std::string_view key, const auto& in_four_bits) {
    const Value* parts = described_form(m).find(key);
    return parts != nullptr && parts->is_dict() && std::ranges::any_of(parts->as_dict(), in_four_bits);
  };
  return any_in("config_groups",
                [](const auto& group) {
                  const Value* weights = group.second.find("weights");
                  const Value* bits = weights == nullptr ? nullptr : weights->find("num_bits");
                  return bits != nullptr && *bits == Value(4);
                }) ||
         any_in("quantized_layers", [](const auto& layer) {
           const Value* algorithm = layer.second.find("quant_algo");
           return algorithm != nullptr && algorithm->is_string() &&
                  algorithm->as_string().find("NVFP4") != std::string::npos;
         });
}

std::optional<Finding> nvfp4_weights(const LaunchFacts& f) {
  if (!has_nvfp4(f.model())) return std::nullopt;
  return Finding{.message = "NVFP4 weights: their kernels exist for NVIDIA GPUs"};
}

std::optional<Finding> compressed_tensors(const LaunchFacts& f) {
  if (!has_quantization(f.model(), "compressed-tensors") || f.model().quant_config.is_none()) return std::nullopt;
  return Finding{.message = fmt::format("{} asks torch.cuda for its capability before it reads a compressed-tensors "
                                        "checkpoint",
                                        f.release().text())};
}

// The group size of packed weights; -1: one scale a channel.
std::int64_t packed_group(const Value& weights) {
  const Value* strategy = weights.find("strategy");
  const bool channels = strategy != nullptr && *strategy == Value("channel");
  return channels ? -1 : number_in(weights, {"group_size"}).value_or(-1);
}

bool in_order_of_activation(const Value& weights) {
  const Value* order = weights.find("actorder");
  return order != nullptr && (*order == Value("group") || *order == Value(true));
}

bool runs_packed(const Value& weights) {
  return is_packed_group(packed_group(weights)) && !in_order_of_activation(weights);
}

std::string packed_form(const Value& weights) {
  if (is_packed_group(packed_group(weights))) return "in the order of activation, which XPU's product does not take";
  const std::int64_t size = packed_group(weights);
  return fmt::format("{}: XPU's product takes groups of 32, 64, 128 or 256",
                     size < 0 ? "with one scale a channel" : fmt::format("in groups of {}", size));
}

std::optional<Finding> compressed_tensors_scheme(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!has_quantization(m, "compressed-tensors")) return std::nullopt;
  const Value* groups = m.hf_quant_config.find("config_groups");
  if (groups == nullptr || !groups->is_dict()) return std::nullopt;
  const auto member = [](const Value* v, std::string_view key) { return v == nullptr ? nullptr : v->find(key); };
  for (const auto& [name, group] : groups->as_dict()) {
    const Value* weights = group.find("weights");
    const Value* inputs = group.find("input_activations");
    const Value* bits = member(weights, "num_bits");
    const Value* type = member(weights, "type");
    const Value* symmetric = member(weights, "symmetric");
    if (bits == nullptr || type == nullptr || !bits->is_int() || !type->is_string()) return std::nullopt;
    const bool weight_only = inputs == nullptr || inputs->is_none();
    const bool fp8 = bits->as_int() == 8 && type->as_string() == "float" && !weight_only;
    const bool int4 = f.since(21) && weight_only && bits->as_int() == 4 && type->as_string() == "int" &&
                      symmetric != nullptr && symmetric->truthy();
    if (int4 && !runs_packed(*weights)) {
      return Finding{.message = fmt::format("compressed-tensors with 4-bit weights {}", packed_form(*weights)),
                     .remedies = {{.stored_as = "fp8"}, in_words("symmetric 4-bit weights in such groups")}};
    }
    if (!fp8 && !int4) {
      return Finding{.message = fmt::format("compressed-tensors with {}-bit {} weights{}", bits->as_int(),
                                            type->as_string(), weight_only ? " alone" : " and quantised activations"),
                     .remedies = {{.stored_as = "fp8"},
                                  in_words(f.since(21) ? "a checkpoint in W8A8 FP8, or with symmetric 4-bit weights"
                                                       : "a checkpoint in W8A8 FP8")}};
    }
  }
  return std::nullopt;
}

std::optional<Finding> fp8_block_shape(const LaunchFacts& f) {
  const auto block = fp8_block(f.model());
  if (!block || !is_fp8_checkpoint(f.model())) return std::nullopt;
  if (block->second == 128 && (block->first == 128 || block->first == 1)) return std::nullopt;
  return Finding{.message = fmt::format("FP8 blocks of {} by {}; the scaled product takes 128 by 128 or 1 by 128",
                                        block->first, block->second)};
}

// Methods that read how the weights are stored from the checkpoint, and the files it may stand in beside config.json;
// none: it stands there or nowhere.
struct Description {
  std::string_view method;
  std::string_view files;
};
constexpr std::array kDescriptions = {Description{"compressed-tensors", ""},
                                      Description{"quark", ""},
                                      Description{"petit_nvfp4", "hf_quant_config.json"},
                                      Description{"awq", "quant_config.json or quantize_config.json"},
                                      Description{"awq_marlin", "quantize_config.json"},
                                      Description{"gptq", "quantize_config.json"},
                                      Description{"gptq_marlin", "quantize_config.json"},
                                      Description{"moe_wna16", "quantize_config.json"},
                                      Description{"auto-round", "quantization_config.json"},
                                      Description{"modelslim", "quant_model_description.json"}};

std::optional<Finding> no_description(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!f.given(Field::quantization) || !m.quantization || !m.quant_config.is_none()) return std::nullopt;
  const auto* row = std::ranges::find(kDescriptions, std::string_view(*m.quantization), &Description::method);
  if (row == kDescriptions.end() || m.hf_quant_config.is_dict()) return std::nullopt;  // a file beside says it
  // The files are those of this machine, and the description is not among them; or there is no such file.
  const bool seen = row->files.empty() || f.weight_files() != nullptr;
  return Finding{.message = fmt::format(
                     "--quantization {} is for a checkpoint stored that way, and this one's "
                     "config.json has no quantization_config{}",
                     row->method, seen && !row->files.empty() ? fmt::format("; nor is there a {}", row->files) : ""),
                 .severity = seen ? Severity::kError : Severity::kWarning,
                 .remedies = {seen ? to_drop("--quantization")
                                   : together({to_drop("--quantization"),
                                               in_words(fmt::format("unless the checkpoint has {}", row->files))})}};
}

std::optional<Finding> description_not_asked_for(const LaunchFacts& f) {
  const std::optional<DescribedBeside>& beside = f.model().described_beside;
  if (!beside || f.given(Field::quantization)) return std::nullopt;
  return Finding{.message = fmt::format("{} describes packed weights ({}), and config.json names no quantisation",
                                        beside->file, beside->method),
                 .remedies = {to_give("--quantization", {beside->method})}};
}

std::optional<Finding> block_product_of_another_vendor(const LaunchFacts& f) {
  const std::string_view backend = f.text(Field::fp8_gemm_runner_backend);
  if (backend.empty() || backend == "auto" || backend == "triton" || !fp8_block(f.model())) return std::nullopt;
  return Finding{.message =
                     fmt::format("--fp8-gemm-backend {} multiplies blocks of FP8 on another vendor's GPUs", backend)};
}

std::optional<Finding> cuda_only_method(const LaunchFacts& f) {
  if (!has_quantization(f.model(), "humming")) return std::nullopt;
  return Finding{.message = "--quantization humming compiles its kernels for NVIDIA GPUs"};
}

bool asks_modelopt(const ModelFacts& m) {
  if (!m.quantization) return false;
  return has_quantization(m, "modelopt") || has_quantization(m, "modelopt_fp8") ||
         has_quantization(m, "modelopt_mixed");
}

std::optional<Finding> algorithm_not_read(const LaunchFacts& f) {
  const std::optional<std::string>& algorithm = f.model().unread_algorithm;
  if (!algorithm) return std::nullopt;
  const std::string name = algorithm->empty() ? "no algorithm" : *algorithm;
  if (asks_modelopt(f.model()) || has_quantization(f.model(), "modelopt_fp4")) {
    return Finding{.message = fmt::format("hf_quant_config.json names {}, which --quantization {} does not read", name,
                                          *f.model().quantization)};
  }
  if (algorithm->empty() || f.model().quantization) return std::nullopt;  // its cache alone is quantised
  return Finding{.message = fmt::format("hf_quant_config.json names {}, which SGLang {} does not read: the weights are "
                                        "taken for unquantised ones",
                                        name, f.release().text()),
                 .severity = Severity::kWarning,
                 .remedies = {{.stored_as = "unquantized"}}};
}

// From 0.5.18 on modelopt_fp4 converts experts while they load, unless a step of the library's is asked for.
bool has_library_make_fp4(const LaunchFacts& f) {
  if (!has_quantization(f.model(), "modelopt_fp4")) return false;
  return f.before(18) ||
         std::ranges::any_of(std::array{Field::modelopt_checkpoint_restore_path, Field::modelopt_checkpoint_save_path,
                                        Field::modelopt_export_path},
                             [&](Field path) { return !f.text(path).empty(); });
}

// SGLang would quantise such a checkpoint itself, with NVIDIA's library.
std::optional<Finding> modelopt_of_plain_weights(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!m.quant_config.is_none() || m.unread_algorithm) return std::nullopt;
  if (!asks_modelopt(m) && !has_library_make_fp4(f)) return std::nullopt;
  // These loaders bring the weights their own way.
  const bool elsewhere = f.is(Field::load_format, "dummy") || f.is(Field::load_format, "runai_streamer") ||
                         (f.is(Field::load_format, "remote_instance") && f.since(13));
  if (elsewhere) return std::nullopt;
  return Finding{.message = fmt::format("--quantization {} of a checkpoint that is not quantised needs NVIDIA's Model "
                                        "Optimizer",
                                        *m.quantization)};
}

// The index keeps its keys in pages, asked for or not.
std::optional<Finding> sparse_index_page(const LaunchFacts& f) {
  if (!is_deepseek_sparse(f.model(), f.release()) || f.page_size() == 64) return std::nullopt;
  return Finding{.message = fmt::format("the sparse attention index wants page size 64 and the launch resolves to {}",
                                        f.page_size())};
}

std::optional<Finding> gguf_weights(const LaunchFacts& f) {
  if (!has_quantization(f.model(), "gguf") && f[Field::quantization] != Value("gguf")) return std::nullopt;
  constexpr std::string_view kKernels = "their kernels exist for CUDA, MUSA and NPU";
  const facts::GgufFile* file = f.gguf_file();
  if (file == nullptr) return Finding{.message = fmt::format("GGUF weights: {}", kKernels)};
  if (file->quantised.empty()) return std::nullopt;
  return Finding{.message = fmt::format("GGUF weights stored as {}: {}", fmt::join(file->quantised, ", "), kKernels)};
}

}  // namespace

std::span<const Rule> quantization_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "QN001",
       .refs = {"Q-BLK"},
       .field = Field::tp_size,
       .summary = "experts do not divide into FP8 blocks",
       .why = "ValueError while the model is built.",
       .remedies = {lower("--tp-size"), words("--ep-size equal to it")},
       .source = "sglang/srt/model_executor/model_runner.py, sglang/srt/layers/quantization/fp8.py",
       .of_checkpoint = true,
       .check = expert_block,
       .fires_on = {{{.model = "qwen3-30b-a3b-fp8", .args = "--device xpu --tp-size 8"}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b-fp8", .args = "--device xpu --tp-size 2"},
                     {.model = "qwen3-30b-a3b-fp8", .args = "--device xpu --tp-size 8 --ep-size 8"}}}},
      {.id = "QN002",
       .refs = {"Q-BLK-D"},
       .field = Field::tp_size,
       .summary = "a dense layer does not divide into FP8 blocks",
       .why = "ValueError while the model is built, after minutes when the checkpoint is large.",
       .remedies = {lower("--tp-size")},
       .source = "sglang/srt/layers/quantization/fp8.py, sglang/srt/layers/quantization/fp8_utils.py",
       .of_checkpoint = true,
       .decided_by = {"num_q_heads", "num_kv_heads", "head_dim"},
       .check = dense_block,
       .fires_on = {{{.model = "deepseek-v3", .args = "--device xpu --tp-size 32", .device = "b60x32"},
                     {.model = "deepseek-v2-lite-chat-fp8", .args = "--device xpu"}}},
       .quiet_on = {{{.model = "qwen3-8b-fp8", .args = "--device xpu --tp-size 2"},
                     {.model = "qwen3-8b-fp8", .args = "--device xpu"}}}},
      {.id = "QN003",
       .refs = {"Q-AWQ-1"},
       .field = Field::quantization,
       .summary = "an AWQ checkpoint with experts",
       .why =
           "From 0.5.19 NotImplementedError while the model is built; before, the experts are created unquantised and "
           "loading fails.",
       .remedies = {stored_as("fp8"), stored_as("unquantized")},
       .source = "sglang/srt/layers/quantization/awq/awq.py",
       .of_checkpoint = true,
       .check = awq_experts,
       .fires_on = {{{.model = "deepseek-r1-awq", .args = "--device xpu --tp-size 8"}}},
       .quiet_on = {{{.model = "qwen3-8b-awq", .args = "--device xpu"}}}},
      {.id = "QN004",
       .refs = {"Q-DT-1"},
       .field = Field::dtype,
       .summary = "the quantisation method does not take this activation type",
       .why = "ValueError while the model is loaded.",
       .remedies = {give("--dtype", "float16", "bfloat16")},
       .source = "sglang/srt/model_loader/loader.py",
       .of_checkpoint = true,
       .decided_by = {"dtype"},
       .check = activation_type,
       .fires_on = {{{.model = "qwen3-8b-awq", .args = "--device xpu --dtype bfloat16", .until = v0_5(19)},
                     {.model = "qwen3-8b-fp8", .args = "--device xpu --dtype float32"}}},
       .quiet_on = {{{.model = "qwen3-8b-awq", .args = "--device xpu --dtype float16"},
                     {.model = "qwen3-8b-awq", .args = "--device xpu --dtype bfloat16", .since = v0_5(19)}}}},
      {.id = "QN005",
       .refs = {"Q-GPTQ-1"},
       .field = Field::quantization,
       .summary = "a GPTQ checkpoint before 0.5.19",
       .why = "The weights are prepared by a kernel that XPU does not have: an error after loading.",
       .remedies = {in_release("0.5.19"), stored_as("fp8"), stored_as("unquantized")},
       .source = "sglang/srt/layers/quantization/gptq.py",
       .device = "xpu",
       .until = v0_5(19),
       .of_checkpoint = true,
       .check = gptq_kernel,
       .fires_on = {{{.model = "qwen3-8b-gptq-int4", .args = "--device xpu"},
                     {.model = "qwen3-8b-gptq-int4", .args = "--device xpu --quantization moe_wna16"}}},
       .quiet_on = {{{.model = "qwen3-8b-awq", .args = "--device xpu"}}}},
      {.id = "QN006",
       .refs = {"Q-GPTQ-2"},
       .field = Field::quantization,
       .summary = "a form of GPTQ that XPU does not run",
       .why =
           "Experts raise NotImplementedError while the model is built. A row order that ranks share raises it once "
           "the weights are loaded, where other group sizes raise ValueError; other widths than 4 bits are unpacked as "
           "4. moe_wna16 raises RuntimeError, in 0.5.19 once the weights are loaded, later while the model is built.",
       .remedies = {stored_as("fp8"), stored_as("unquantized")},
       .source = "sglang/srt/layers/quantization/gptq/gptq.py, utils.py: override_config, moe_wna16.py; "
                 "sglang/srt/hardware_backend/xpu/quantization",
       .device = "xpu",
       .since = v0_5(19),
       .of_checkpoint = true,
       .check = gptq_forms,
       .quiet_on = {{{.model = "qwen3-8b-gptq-int4", .args = "--device xpu"}}}},
      {.id = "QN007",
       .refs = {"Q-CT-1"},
       .field = Field::quantization,
       .summary = "a compressed-tensors checkpoint before 0.5.19",
       .why = "The capability of a CUDA device is asked for while the model is built, and there is none.",
       .remedies = {in_release("0.5.19"), stored_as("fp8"), stored_as("unquantized")},
       .source = "sglang/srt/layers/quantization/compressed_tensors/compressed_tensors.py",
       .until = v0_5(19),
       .of_checkpoint = true,
       .check = compressed_tensors,
       .fires_on = {{{.model = "llama-3.1-8b-instruct-fp8-dynamic", .args = "--device xpu"}}},
       .quiet_on = {{{.model = "qwen3-8b-fp8", .args = "--device xpu"}}}},
      {.id = "QN008",
       .refs = {"Q-CT-1"},
       .field = Field::quantization,
       .summary = "a compressed-tensors scheme that XPU does not run",
       .why = "NotImplementedError while the model is built.",
       .remedies = {words("W8A8 FP8; from 0.5.21 also symmetric 4-bit weights"), stored_as("fp8")},
       .source = "sglang/srt/layers/quantization/compressed_tensors/compressed_tensors.py",
       .device = "xpu",
       .since = v0_5(19),
       .of_checkpoint = true,
       .check = compressed_tensors_scheme,
       .quiet_on = {{{.model = "llama-3.1-8b-instruct-fp8-dynamic", .args = "--device xpu"}}}},
      {.id = "QN009",
       .refs = {"Q-FP8-1"},
       .field = Field::quantization,
       .summary = "FP8 blocks of a shape the scaled product does not take",
       .why = "ValueError at the first linear layer.",
       .remedies = {stored_as("fp8"), stored_as("unquantized")},
       .source = "sglang/srt/layers/quantization/fp8_utils.py",
       .since = v0_5(21),
       .of_checkpoint = true,
       .check = fp8_block_shape,
       .quiet_on = {{{.model = "qwen3-8b-fp8", .args = "--device xpu"}}}},
      {.id = "QN010",
       .refs = {"MS-DSA"},
       .field = Field::page_size,
       .summary = "a model with sparse attention on pages of another size before 0.5.20",
       .why = "The pool of the index asserts page size 64 while it is built, whatever backend attends.",
       .remedies = {give("--page-size", "64"), in_release("0.5.20")},
       .source = "sglang/srt/mem_cache/memory_pool.py",
       .since = v0_5(12),
       .until = v0_5(20),
       .of_checkpoint = true,
       .check = sparse_index_page,
       .fires_on = {{{.model = "deepseek-v3.2", .args = "--device xpu --tp-size 8"}}},
       .quiet_on = {{{.model = "deepseek-v3", .args = "--device xpu --tp-size 8"}}}},
      {.id = "QN011",
       .severity = Severity::kWarning,
       .field = Field::quantization,
       .summary = "a quantisation method for a checkpoint that does not say it is quantised",
       .why = "Such a method converts nothing: it reads how the weights are stored. Without that, ValueError while "
              "the model is loaded, with compressed-tensors TypeError.",
       .remedies = {drop("--quantization")},
       .source = "sglang/srt/model_loader/weight_utils.py",
       .doubtful = true,
       .of_checkpoint = true,
       .check = no_description,
       .fires_on = {{{.model = "qwen3-8b", .args = "--device xpu --quantization awq"},
                     {.model = "qwen3-8b", .args = "--device xpu --quantization compressed-tensors"}}},
       .quiet_on = {{{.model = "qwen3-8b-awq", .args = "--device xpu --quantization awq"},
                     {.model = "qwen3-8b", .args = "--device xpu --quantization fp8"}}}},
      {.id = "QN012",
       .field = Field::quantization,
       .summary = "a quantisation method whose kernels are CUDA's",
       .why =
           "ImportError of humming-kernels while the model is built, or, where the package is installed, of the CUDA "
           "device that it asks for.",
       .remedies = {drop("--quantization")},
       .source = "sglang/srt/layers/quantization/humming.py",
       .device = "xpu",
       .since = v0_5(16),
       .of_checkpoint = true,
       .check = cuda_only_method,
       .fires_on = {{{.model = "qwen3-8b", .args = "--device xpu --quantization humming"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --quantization fp8"}}}},
      {.id = "QN020",
       .field = Field::quantization,
       .summary = "a quantisation method of another vendor",
       .why = "Resolution takes the method on every device; its matrix products exist for other vendors' alone.",
       .remedies = {give("--quantization", "fp8"), drop("--quantization")},
       .source = "sglang/srt/layers/quantization: fp8_utils.py, npu_mxfp4.py, quark_int4fp8_moe.py, "
                 "quark/schemes/quark_w4a4_mxfp4.py, w8a8_int8.py, w4afp8.py, mxfp4.py, modelopt_quant.py; "
                 "sglang/srt/layers/moe/cutlass_w4a8_moe.py; sglang/srt/model_loader/loader.py: IncModelLoader",
       .device = "xpu",
       .of_checkpoint = true,
       .check = method_of_another_vendor,
       .fires_on = {{{.model = "qwen3-8b", .args = "--device xpu --quantization mxfp8"},
                     {.model = "qwen3-8b", .args = "--device xpu --quantization w8a8_int8"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --quantization fp8"}}}},
      {.id = "QN021",
       .field = Field::quantization,
       .summary = "a form of AutoRound that XPU does not run",
       .why = "Packed as GPTQ's: RuntimeError (before 0.5.13 NameError) once the weights are loaded, from 0.5.20 while "
              "the model is built. Packed as AWQ's: ValueError of other bits than 4, TypeError of experts, while the "
              "model is built.",
       .remedies = {words("an export as GPTQ (0.5.19 and later) or AWQ, in 4 bits"), stored_as("fp8"),
                    stored_as("unquantized")},
       .source = "sglang/srt/layers/quantization/auto_round.py; gptq/schemes/gptq_linear.py: _init_kernel; "
                 "moe_wna16.py: MoeWNA16Config",
       .device = "xpu",
       .of_checkpoint = true,
       .check = auto_round_forms,
       .quiet_on = {{{.model = "qwen3-8b-awq", .args = "--device xpu"}}}},
      {.id = "QN022",
       .field = Field::quantization,
       .summary = "a Quark checkpoint on an Intel GPU",
       .why =
           "TypeError at the first linear layer that is quantised, while the model is built. From 0.5.21 FP8 in blocks "
           "goes another way.",
       .remedies = {stored_as("fp8"), stored_as("unquantized")},
       .source = "sglang/srt/layers/quantization/quark/quark.py: _check_scheme_supported",
       .device = "xpu",
       .of_checkpoint = true,
       .check = quark_schemes,
       .quiet_on = {{{.model = "qwen3-8b-fp8", .args = "--device xpu"}}}},
      {.id = "QN023",
       .field = Field::moe_runner_backend,
       .summary = "packed 4-bit experts of compressed-tensors on a runner that XPU lacks",
       .why = "RuntimeError once the weights are loaded: repacking for Marlin is a CUDA kernel. The triton runner is a "
              "ValueError of forms that it does not take.",
       .remedies = {give("--moe-runner-backend", "triton"), stored_as("fp8"), stored_as("unquantized")},
       .source = "sglang/srt/layers/quantization/compressed_tensors/compressed_tensors.py: get_moe_scheme; "
                 "schemes/compressed_tensors_wNa16_moe.py",
       .device = "xpu",
       .since = v0_5(21),
       .of_checkpoint = true,
       .check = packed_experts},
      {.id = "QN024",
       .field = Field::quantization,
       .summary = "bitsandbytes on an Intel GPU",
       .why = "Its loader calls torch for a CUDA device, and without --load-format bitsandbytes nothing reads what it "
              "would need. Where the package bitsandbytes is missing, ImportError comes first.",
       .remedies = {both(drop("--quantization"), drop("--load-format")), drop("--quantization"), drop("--load-format"),
                    give("--quantization", "fp8")},
       .source = "sglang/srt/model_loader/loader.py: BitsAndBytesModelLoader; "
                 "sglang/srt/layers/quantization/bitsandbytes.py",
       .device = "xpu",
       .of_checkpoint = true,
       .check = bitsandbytes_weights,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --quantization bitsandbytes"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --load-format bitsandbytes"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --quantization fp8"}}}},
      {.id = "QN025",
       .severity = Severity::kWarning,
       .field = Field::quantization,
       .summary = "modelopt_fp4 for a model without experts",
       .why = "From 0.5.18 on SGLang makes NVFP4 of experts alone; linear layers stay as they are stored.",
       .remedies = {drop("--quantization"), give("--quantization", "fp8")},
       .source = "sglang/srt/layers/quantization/nvfp4_online.py: get_quant_method",
       .device = "xpu",
       .since = v0_5(18),
       .need = RuleNeed::kWholeModel,
       .of_checkpoint = true,
       .check = fp4_of_no_experts,
       .fires_on = {{{.model = "qwen3-8b", .args = "--device xpu --quantization modelopt_fp4"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --quantization fp8"}}}},
      {.id = "QN026",
       .field = Field::torchao_config,
       .summary = "quantisation with torchao",
       .why = "ImportError once the weights are loaded: torchao 0.17, which these releases ask for, has none of the "
              "functions that SGLang imports, and an installation for Intel GPUs has no torchao.",
       .remedies = {drop("--torchao-config"), give("--quantization", "fp8")},
       .source = "sglang/srt/layers/torchao_utils.py: apply_torchao_config_to_model",
       .device = "xpu",
       .until = v0_5(18),
       .of_checkpoint = true,
       .check = torchao_quantisation,
       .fires_on = {{{.model = "qwen3-8b", .args = "--device xpu --torchao-config int8wo"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu"}}}},
      {.id = "QN027",
       .severity = Severity::kWarning,
       .field = Field::quantization,
       .summary = "packed weights whose description SGLang does not read unasked",
       .why =
           "Without --quantization the model is built unquantised, and packed weights do not fit it; with the method "
           "named the loader reads the file beside config.json.",
       .remedies = {give("--quantization", "gptq", "awq")},
       .source = "sglang/srt/model_loader/weight_utils.py: get_quant_config",
       .doubtful = true,
       .of_checkpoint = true,
       .check = description_not_asked_for,
       .quiet_on = {{{.model = "qwen3-8b-gptq-int4", .args = "--device xpu"}}}},
      {.id = "QN030",
       .field = Field::quantization,
       .summary = "FP8 with one scale a tensor or token before 0.5.19",
       .why =
           "NameError once the weights are read: sgl_per_tensor_quant_fp8, which quantises them anew, is imported on "
           "NVIDIA and MUSA GPUs alone. So is sgl_per_token_quant_fp8, which the experts of w8a8_fp8 call at their "
           "first product.",
       .remedies = {in_release("0.5.19")},
       .source = "sglang/srt/layers/quantization/fp8.py, utils.py: requantize_with_max_scale; fp8_kernel.py: "
                 "scaled_fp8_quant (0.5.11 to 0.5.18); w8a8_fp8.py: W8A8FP8MoEMethod",
       .device = "xpu",
       .until = v0_5(19),
       .check = one_scale_a_tensor,
       .fires_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --quantization fp8"},
                     {.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --quantization w8a8_fp8"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --quantization w8a8_fp8"},
                     {.model = "qwen3-30b-a3b-fp8", .args = "--device xpu --tp-size 2"}}}},
      {.id = "QN031",
       .field = Field::moe_runner_backend,
       .summary = "FP8 experts of compressed-tensors on another runner than Triton's",
       .why = "The method makes itself no other runner on an Intel GPU and asks for one at the first forward pass: "
              "AttributeError. Those of AITER and FlashInfer it does make, and their packages are not there.",
       .remedies = {give("--moe-runner-backend", "triton")},
       .source =
           "sglang/srt/layers/quantization/compressed_tensors/schemes/compressed_tensors_w8a8_fp8_moe.py (0.5.19 to "
           "0.5.23): create_moe_runner",
       .device = "xpu",
       .since = v0_5(19),
       .of_checkpoint = true,
       .check = experts_without_runner},
      {.id = "QN032",
       .severity = Severity::kWarning,
       .field = Field::model_path,
       .summary = "FP8 or INT8 weights on a processor without AMX",
       .why =
           "AssertionError once the weights are read: their products on a processor are those of AMX alone, whatever "
           "runs the attention.",
       .remedies = {drop("--quantization"), stored_as("unquantized"), words("a processor with AMX")},
       .source = "sglang/srt/layers/quantization/fp8.py, w8a8_int8.py: process_weights_after_loading",
       .device = "cpu",
       .of_checkpoint = true,
       .check = products_of_amx,
       .fires_on = {{{.model = "qwen3-8b-fp8", .args = "--device cpu"},
                     {.model = "qwen3-8b", .args = "--device cpu --quantization w8a8_int8"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device cpu"},
                     {.model = "qwen3-8b-fp8", .args = "--device xpu"}}}},
      {.id = "QN033",
       .field = Field::quantization,
       .summary = "FP8 made of a Gemma 4 that hears",
       .why =
           "AttributeError (weight_loader has no setter) while the audio tower is built: it replaces the loader of a "
           "weight, and the weights of FP8 have theirs for good.",
       .remedies = {drop("--quantization"), words("a checkpoint in FP8 that leaves the audio tower plain")},
       .source = "sglang/srt/layers/clippable_linear.py: ClippableGLUParallelLinear; sglang/srt/models: gemma4_mm.py, "
                 "gemma4_audio.py",
       .check = audio_tower_in_fp8,
       .fires_on = {{{.model = "gemma-4-e2b", .args = "--device xpu --attention-backend triton --quantization fp8"}}},
       .quiet_on = {{{.model = "gemma-4-e2b", .args = "--device xpu --attention-backend triton"},
                     {.model = "gemma-4-31b-it", .args = "--device xpu --tp-size 4 --quantization fp8"}}}},
      {.id = "QN034",
       .field = Field::quantization,
       .summary = "DiffusionGemma with quantised weights",
       .why = "NotImplementedError in the model's constructor, whatever the method is.",
       .remedies = {drop("--quantization"), stored_as("unquantized")},
       .source = "sglang/srt/models/gemma4_diffusion.py",
       .since = v0_5(21),
       .of_checkpoint = true,
       .check = block_diffusion_packed,
       .quiet_on = {{{.model = "qwen3-8b-fp8", .args = "--device xpu"}}}},
      {.id = "QN019",
       .field = Field::fp8_gemm_runner_backend,
       .summary = "a backend of block FP8 products that is another vendor's",
       .why = "RuntimeError while the layers are built: each of them but triton asks for the GPU that it is made for.",
       .remedies = {drop("--fp8-gemm-backend"), give("--fp8-gemm-backend", "triton")},
       .source = "sglang/srt/layers/quantization/fp8_utils.py: _dispatch_explicit_backend",
       .device = "xpu",
       .of_checkpoint = true,
       .check = block_product_of_another_vendor,
       .fires_on = {{{.model = "qwen3-8b-fp8", .args = "--device xpu --fp8-gemm-backend deep_gemm"},
                     {.model = "qwen3-8b-fp8", .args = "--device xpu --fp8-gemm-backend cutlass"}}},
       .quiet_on = {{{.model = "qwen3-8b-fp8", .args = "--device xpu --fp8-gemm-backend triton"},
                     {.model = "qwen3-8b", .args = "--device xpu --fp8-gemm-backend deep_gemm"}}}},
      {.id = "QN013",
       .severity = Severity::kWarning,
       .field = Field::quantization,
       .summary = "GGUF weights on an Intel GPU",
       .why =
           "NameError at the first matrix product of a quantised tensor: the functions are imported on other devices "
           "only. A file of F16 or F32 tensors alone needs none of them.",
       .remedies = {drop("--quantization"), words("a safetensors checkpoint of this model")},
       .source = "sglang/srt/layers/quantization/gguf.py",
       .device = "xpu",
       .doubtful = true,
       .of_checkpoint = true,
       .check = gguf_weights,
       .fires_on = {{{.model = "qwen3-8b", .args = "--device xpu --quantization gguf"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu"}}}},
      {.id = "QN014",
       .field = Field::tp_size,
       .summary = "a cut layer does not divide into the groups of a 4-bit checkpoint",
       .why = "Each group of inputs has one scale, and a rank holds whole groups: ValueError (compressed-tensors: "
              "AssertionError) while the model is built.",
       .remedies = {lower("--tp-size")},
       .source = "sglang/srt/layers/quantization/awq, gptq, compressed_tensors/schemes/compressed_tensors_wNa16.py: "
                 "create_weights",
       .of_checkpoint = true,
       .decided_by = {"num_q_heads", "head_dim"},
       .check = cut_groups,
       .quiet_on = {{{.model = "qwen3-8b-awq", .args = "--device xpu --tp-size 8"},
                     {.model = "qwen3-8b", .args = "--device xpu --tp-size 8"}}}},
      {.id = "QN015",
       .field = Field::quantization,
       .summary = "a form of AWQ that XPU does not run",
       .why = "ValueError: of other than 4 bits when the checkpoint's settings are read, of other group sizes (from "
              "0.5.19) after the weights are loaded.",
       .remedies = {stored_as("fp8"), stored_as("unquantized")},
       .source =
           "sglang/srt/layers/quantization/awq/awq.py, sglang/srt/hardware_backend/xpu/quantization/awq_kernels.py",
       .device = "xpu",
       .of_checkpoint = true,
       .check = awq_forms,
       .quiet_on = {{{.model = "qwen3-8b-awq", .args = "--device xpu"}}}},
      {.id = "QN016",
       .field = Field::quantization,
       .summary = "an NVFP4 checkpoint on an Intel GPU",
       .why = "Experts raise ValueError while the model is built, other layers once the weights are loaded.",
       .remedies = {stored_as("fp8"), stored_as("unquantized")},
       .source = "sglang/srt/layers/quantization/modelopt_quant.py",
       .device = "xpu",
       .of_checkpoint = true,
       .check = nvfp4_weights,
       .quiet_on = {{{.model = "qwen3-8b-fp8", .args = "--device xpu"}}}},
      {.id = "QN017",
       .field = Field::quantization,
       .summary = "ModelOpt's quantisation of a checkpoint that is not quantised",
       .why =
           "SGLang loads the whole model and then imports modelopt to quantise it: ImportError, since no installation "
           "for Intel GPUs has that library. Where it is installed, modelopt_mixed is a ValueError.",
       .remedies = {drop("--quantization"), give("--quantization", "fp8")},
       .source = "sglang/srt/model_loader/loader.py: get_model_loader, ModelOptModelLoader",
       .device = "xpu",
       .of_checkpoint = true,
       .check = modelopt_of_plain_weights,
       .fires_on = {{{.model = "qwen3-8b", .args = "--device xpu --quantization modelopt_fp8"},
                     {.model = "qwen3-8b", .args = "--device xpu --quantization modelopt_fp4", .until = v0_5(18)}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --quantization fp8"},
                     {.model = "qwen3-8b", .args = "--device xpu --load-format dummy --quantization modelopt_fp8"}}}},
      {.id = "QN018",
       .field = Field::quantization,
       .summary = "an hf_quant_config.json whose algorithm the release does not know",
       .why =
           "With ModelOpt's methods the loader reads the file: ValueError in from_config. Without them SGLang passes "
           "over it and builds an unquantised model, into which packed weights do not fit, and weights of one byte "
           "are copied without their scales.",
       .remedies = {stored_as("unquantized"), words("a checkpoint in FP8 or NVFP4")},
       .source = "sglang/srt/configs/model_config.py: _parse_modelopt_quant_config; "
                 "sglang/srt/layers/quantization/modelopt_quant.py: from_config",
       .of_checkpoint = true,
       .check = algorithm_not_read,
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --quantization modelopt_fp8"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
