#include "src/rules/quantization_methods.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "src/facts/fp4_experts.h"
#include "src/facts/kinds.h"
#include "src/python/environment.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

// Which weights a method meets: the checkpoint says how they are stored, or it says nothing.
enum class Weights { kAny, kStored, kPlain };

struct ForeignMethod {
  std::string_view name;
  Release since;
  std::string_view ends;
  bool of_experts = false;  // other layers go on
  Weights weights = Weights::kAny;
};
constexpr std::array kForeign{
    ForeignMethod{"qoq", v0_5(11), "NameError at the first product: QServe's are imported on NVIDIA GPUs only"},
    ForeignMethod{"mxfp8", v0_5(11), "RuntimeError at the first linear layer: no MXFP8 product for this device"},
    ForeignMethod{"mxfp_w4a8", v0_5(15), "NotImplementedError while the model is built: for Ascend NPUs only"},
    ForeignMethod{"quark_int4fp8_moe", v0_5(11), "NotImplementedError while the model is built: for AMD GPUs only",
                  true},
    ForeignMethod{"quark_mxfp4", v0_5(13), "NameError: the functions of AITER that quantise and multiply are AMD's"},
    ForeignMethod{"w8a8_int8", v0_5(11),
                  "NameError at the first product: int8_scaled_mm is imported on NVIDIA GPUs only"},
    ForeignMethod{"auto-round-int8", v0_5(15),
                  "ImportError of auto_round or, where that is installed, with NameError at the first product: "
                  "int8_scaled_mm is imported on NVIDIA GPUs only"},
    ForeignMethod{"w4afp8", v0_5(11),
                  "NameError at the first product of experts: cutlass_w4a8_moe_mm is imported on NVIDIA GPUs only",
                  true, Weights::kStored},
    ForeignMethod{"w4afp8", v0_5(11),
                  "answers at random: the weights are cast to FP8, and no file holds the scales of its blocks", false,
                  Weights::kPlain},
    ForeignMethod{"petit_nvfp4", v0_5(11), "ValueError while the model is loaded: Petit's kernels are for AMD GPUs",
                  false, Weights::kStored},
    ForeignMethod{"mxfp4", v0_5(20),
                  "AssertionError in the first linear layer: only on AMD GPUs does SGLang quantise to MXFP4 itself",
                  false, Weights::kPlain},
    ForeignMethod{"modelopt_fp4", v0_5(18),
                  "ValueError while the model is built: NVFP4 experts are for NVIDIA GPUs only", true,
                  Weights::kPlain}};

bool meets(const ForeignMethod& row, const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (row.name != *m.quantization || f.release() < row.since) return false;
  if (row.weights != Weights::kAny && (row.weights == Weights::kPlain) != m.quant_config.is_none()) return false;
  return !row.of_experts || has_experts(m);
}

// A setting that is a text, under the first of these names that the configuration has.
std::string text_in(const Value& config, std::initializer_list<std::string_view> keys, std::string_view otherwise) {
  for (const std::string_view key : keys) {
    if (const Value* v = config.find(key); v != nullptr && v->is_string()) return v->as_string();
  }
  return std::string(otherwise);
}

// Bits that the configuration has for all layers or for some of them; 16 and more: not quantised.
std::vector<std::int64_t> bits_of_parts(const Value& config, std::string_view parts) {
  std::vector<std::int64_t> bits = {number_in(config, {"bits"}).value_or(4)};
  const Value* named = config.find(parts);
  if (named == nullptr || !named->is_dict()) return bits;
  for (const auto& [name, part] : named->as_dict()) {
    if (part.is_dict()) bits.push_back(number_in(part, {"bits"}).value_or(bits.front()));
  }
  return bits;
}

std::vector<Remedy> other_checkpoints() { return {{.stored_as = "fp8"}, {.stored_as = "unquantized"}}; }

bool names(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// A group of compressed-tensors weights of that form, with or without quantised activations; null: there is none.
const Value* weights_of(const Value& config, std::int64_t bits, std::string_view type, bool with_inputs) {
  const Value* groups = config.find("config_groups");
  if (groups == nullptr || !groups->is_dict()) return nullptr;
  for (const auto& [name, group] : groups->as_dict()) {
    const Value* weights = group.find("weights");
    const Value* inputs = group.find("input_activations");
    if (weights == nullptr || !weights->is_dict()) continue;
    if (with_inputs != (inputs != nullptr && !inputs->is_none())) continue;
    if (number_in(*weights, {"num_bits"}) == bits && text_in(*weights, {"type"}, "") == type) return weights;
  }
  return nullptr;
}

// Routed experts that the checkpoint leaves as they are.
bool leaves_experts(const Value& config) {
  const Value* ignored = config.find("ignore");
  if (ignored == nullptr || !ignored->is_list()) return false;
  return std::ranges::any_of(ignored->as_list(), [](const Value& name) {
    return name.is_string() && names(name.as_string(), "experts") && !names(name.as_string(), "shared_expert");
  });
}

// What SGLang's Triton kernel of 4-bit experts takes.
bool triton_takes(const Value& weights) {
  const std::int64_t group = number_in(weights, {"group_size"}).value_or(0);
  const Value* symmetric = weights.find("symmetric");
  const Value* order = weights.find("actorder");
  return (group == 32 || group == 128) && text_in(weights, {"strategy"}, "group") == "group" &&
         (symmetric == nullptr || symmetric->truthy()) && (order == nullptr || !order->truthy());
}

}  // namespace

bool is_packed_group(std::int64_t size) { return std::ranges::find(kPackedGroups, size) != kPackedGroups.end(); }

std::optional<std::int64_t> number_in(const Value& config, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const Value* v = config.find(key); v != nullptr && v->is_int()) return v->as_int();
  }
  return std::nullopt;
}

std::string packed_as(const ModelFacts& m, std::string_view checkpoint) {
  return m.quant_config.is_none() ? fmt::format("--quantization {}", *m.quantization) : std::string(checkpoint);
}

bool has_experts_in_fp4(const LaunchFacts& f) {
  const bool by_default = f.model().root("expert_dtype") != Value("fp8");
  const bool v4 = python::environment_bool(f.launch().env, "SGLANG_DSV4_FP4_EXPERTS", by_default);
  return has_fp4_experts(f.model(), v4, f.release());
}

Remedy other_checkpoint_without(std::string option) {
  return together({to_drop(std::move(option)), Remedy{.stored_as = "fp8"}});
}

std::optional<Finding> method_of_another_vendor(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!m.quantization) return std::nullopt;
  const auto row = std::ranges::find_if(kForeign, [&](const ForeignMethod& r) { return meets(r, f); });
  if (row == kForeign.end()) return std::nullopt;
  // Then the weights become blocks of FP8.
  if (row->name == "mxfp8" && f.since(17) && f.env_on("SGLANG_FORCE_MXFP8_BLOCK_CONVERT")) return std::nullopt;
  const bool asked = f.given(Field::quantization);
  std::vector<Remedy> remedies;
  if (!asked) remedies = other_checkpoints();
  if (asked && !m.quant_config.is_none())
    remedies = {to_drop("--quantization"), other_checkpoint_without("--quantization")};
  return Finding{.message = fmt::format("{} ends with {}",
                                        asked ? fmt::format("--quantization {}", row->name)
                                              : fmt::format("a checkpoint stored as {}", row->name),
                                        row->ends),
                 .remedies = std::move(remedies)};
}

std::optional<Finding> auto_round_forms(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!m.quantization || *m.quantization != "auto-round" || !m.hf_quant_config.is_dict()) return std::nullopt;
  const Value& config = m.hf_quant_config;
  const std::string packing = text_in(config, {"packing_format"}, "auto_round:auto_gptq");
  const std::string backend = text_in(config, {"backend", "vllm_backend", "sglang_backend"}, "auto");
  if (packing != "auto_round:auto_gptq" && packing != "auto_round:auto_awq")
    return Finding{.message = fmt::format("AutoRound's packing \"{}\" is none that SGLang reads: ValueError", packing)};
  const std::vector<std::int64_t> bits = bits_of_parts(config, "extra_config");
  if (std::ranges::all_of(bits, [](std::int64_t b) { return b >= 16; })) return std::nullopt;
  std::vector<Remedy> remedies = other_checkpoints();
  if (!has_experts(m))
    remedies.insert(remedies.begin(), in_words("an export as GPTQ (0.5.19 and later) or AWQ, in 4 bits"));
  if (names(packing, "gptq") || names(backend, "gptq")) {
    return Finding{.message = "AutoRound weights packed as GPTQ's: SGLang hands them to its GPTQ method for CUDA",
                   .remedies = std::move(remedies)};
  }
  const auto other = std::ranges::find_if(bits, [](std::int64_t b) { return b < 16 && b != 4; });
  if (other != bits.end())
    return Finding{.message = fmt::format("AutoRound weights of {} bits packed as AWQ's, which take 4", *other),
                   .remedies = std::move(remedies)};
  if (!has_experts(m)) return std::nullopt;
  return Finding{
      .message = fmt::format("AutoRound weights packed as AWQ's with {} experts, whose method asks an NVIDIA "
                             "GPU for its capability",
                             experts(m).count),
      .remedies = std::move(remedies)};
}

std::optional<Finding> quark_schemes(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!m.quantization || *m.quantization != "quark" || !m.hf_quant_config.is_dict()) return std::nullopt;
  const Value* all = m.hf_quant_config.find("global_quant_config");
  const Value* weight = all == nullptr ? nullptr : all->find("weight");
  // FP8 in blocks goes to the method of FP8 checkpoints.
  const bool blocks = weight != nullptr && text_in(*weight, {"qscheme"}, "") == "per_block";
  if (blocks && f.since(21)) return std::nullopt;
  const std::string type = weight == nullptr ? "" : text_in(*weight, {"dtype"}, "");
  return Finding{.message = fmt::format("a Quark checkpoint{}: SGLang compares the capability of an AMD or NVIDIA GPU, "
                                        "and an Intel GPU tells none",
                                        type.empty() ? "" : fmt::format(" of {} weights", type))};
}

std::optional<Finding> packed_experts(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const std::int64_t count = experts(m).count;
  if (!has_quantization(m, "compressed-tensors") || count == 0) return std::nullopt;
  const Value* weights = weights_of(m.quant_config, 4, "int", false);
  if (weights == nullptr || leaves_experts(m.quant_config)) return std::nullopt;
  const bool on_triton = f.is(Field::moe_runner_backend, "triton");
  const bool triton_runs = triton_takes(*weights);
  if (on_triton && triton_runs) return std::nullopt;
  std::vector<Remedy> remedies = other_checkpoints();
  if (triton_runs) remedies.insert(remedies.begin(), to_give("--moe-runner-backend", {"triton"}));
  return Finding{.message = fmt::format("{} experts in packed 4-bit integers: {}", count,
                                        on_triton ? "the triton runner takes symmetric groups of 32 or 128 without "
                                                    "activation order"
                                                  : "every runner but triton packs them anew for Marlin, which is "
                                                    "NVIDIA's"),
                 .field = Field::moe_runner_backend,
                 .remedies = std::move(remedies)};
}

std::optional<Finding> experts_without_runner(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!has_quantization(m, "compressed-tensors") || !has_experts(m)) return std::nullopt;
  if (f.one_of(Field::moe_runner_backend, {"", "auto", "triton"}) || leaves_experts(m.quant_config))
    return std::nullopt;
  if (weights_of(m.quant_config, 8, "float", true) == nullptr) return std::nullopt;
  return Finding{.message = fmt::format("{} experts in FP8 of compressed-tensors, for which --moe-runner-backend {} is "
                                        "no runner",
                                        experts(m).count, f.text(Field::moe_runner_backend))};
}

std::optional<Finding> bitsandbytes_weights(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const bool loads = f.is(Field::load_format, "bitsandbytes");
  const bool stored = m.quantization == "bitsandbytes" && m.hf_quant_config.is_dict();
  if (!loads && m.quantization != "bitsandbytes") return std::nullopt;
  const auto ends = [&](std::string_view how) {
    Finding found{.message = fmt::format("{}: {}",
                                         stored ? "a checkpoint of bitsandbytes"
                                                : "bitsandbytes, which would quantise these weights while they load",
                                         how)};
    if (loads) found.field = Field::load_format;
    if (stored) found.remedies = other_checkpoints();
    if (!stored && !loads) found.remedies = {to_drop("--quantization")};
    if (stored && loads) found.remedies = {other_checkpoint_without("--load-format")};
    if (stored && f.given(Field::quantization)) {
      const Remedy unasked = other_checkpoint_without("--quantization");
      found.remedies = {loads ? together({to_drop("--load-format"), unasked}) : unasked};
    }
    return found;
  };
  const Value* eight = m.hf_quant_config.find("load_in_8bit");
  if (loads && stored && f.tp() > 1) return ends("ValueError with more than one rank");
  // How far 8 bits come with their loader nobody tried.
  if (loads && stored && eight != nullptr && eight->truthy()) return std::nullopt;
  if (loads) return ends("AssertionError in torch while the weights load: their loader moves them to a CUDA device");
  if (!stored && f.is(Field::load_format, "dummy"))
    return ends("AttributeError at the first product: nobody makes the scales of weights that are not loaded");
  return ends(stored ? "AttributeError at the first product: without --load-format bitsandbytes nobody reads the "
                       "scales, and with it the loader wants a CUDA device"
                     : "the weights do not fit the packed parameters that --quantization bitsandbytes makes");
}

std::optional<Finding> fp4_of_no_experts(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!m.quantization || *m.quantization != "modelopt_fp4" || !m.quant_config.is_none()) return std::nullopt;
  if (has_experts(m) || m.unread_algorithm) return std::nullopt;
  return Finding{.message =
                     "--quantization modelopt_fp4 quantises experts while they load, and this model has none: "
                     "its weights stay as they are"};
}

std::optional<Finding> one_scale_a_tensor(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (has_quantization(m, "w8a8_fp8")) {
    if (!has_experts(m)) return std::nullopt;
    return Finding{.message = "experts of w8a8_fp8, whose every product quantises its tokens first",
                   .remedies = {with_release("0.5.19")}};
  }
  const bool of_modelopt =
      m.quantization == "modelopt_fp8" && (!f.given(Field::quantization) || !m.quant_config.is_none());
  if (!of_modelopt && !has_quantization(m, "fp8")) return std::nullopt;
  if (of_modelopt || is_fp8_checkpoint(m)) {
    if (!of_modelopt && fp8_block(m)) return std::nullopt;
    return Finding{.message = "an FP8 checkpoint with one scale a tensor",
                   .field = Field::model_path,
                   .remedies = {with_release("0.5.19"), {.stored_as = "unquantized"}}};
  }
  if (!has_experts(m) || !m.quant_config.is_none()) return std::nullopt;
  return Finding{.message = "--quantization fp8 quantises experts while they load, with one scale each",
                 .remedies = {to_drop("--quantization"), with_release("0.5.19")}};
}

std::optional<Finding> torchao_quantisation(const LaunchFacts& f) {
  const std::string_view way = f.text(Field::torchao_config);
  if (way.empty()) return std::nullopt;
  return Finding{.message =
                     fmt::format("--torchao-config {} quantises with functions that torchao 0.17 has no more", way)};
}

}  // namespace preflight::rules
