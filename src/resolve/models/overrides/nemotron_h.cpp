// Nemotron-H: quantization from the checkpoint, the MoE runner, experts that move.
#include <set>

#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {
namespace {

constexpr const char* kProvider = "_nemotron_h_overrides";

void refuse_expert_remap(Resolution& r, const ModelFacts& model) {
  constexpr const char* kFunction = "_validate_expert_remap";
  if (r.is(Field::moe_runner_backend, "flashinfer_trtllm")) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "the flashinfer_trtllm MoE runner does not move the experts of Nemotron-H");
  }
  if (r.on(Field::enable_eplb) && r.is(Field::moe_runner_backend, "flashinfer_cutedsl") &&
      r.is(Field::moe_a2a_backend, "none")) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "flashinfer_cutedsl does not move expert scales without --moe-a2a-backend");
  }
  if (model.architectures.front() != "NemotronHPuzzleForCausalLM") return;
  const Value blocks = model.root("block_configs");
  if (blocks.is_none()) r.refuse(RF::kOther, "AttributeError", kFunction, "the configuration has no block_configs");
  std::set<std::string> counts;
  if (blocks.is_list()) {
    for (const Value& block : blocks.as_list()) {
      const Value* type = block.find("block_type");
      if (type == nullptr) r.refuse(RF::kOther, "KeyError", kFunction, "an entry of block_configs has no block_type");
      if (!is_text(*type, "moe")) continue;
      const Value* count = block.find("n_routed_experts");
      if (count == nullptr)
        r.refuse(RF::kOther, "KeyError", kFunction, "an MoE entry of block_configs has no n_routed_experts");
      counts.insert(count->repr());
    }
  }
  if (counts.size() > 1) {
    r.refuse(RF::kOther, "ValueError", kFunction, "moving experts needs the same number of experts in every MoE layer");
  }
}

bool has_w4a16_experts(Resolution& r, const ModelFacts& model) {
  const Value config = model.root("quantization_config");
  if (config.is_none()) r.refuse(RF::kOther, "AttributeError", kProvider, "the checkpoint has no quantization_config");
  const Value* layers = config.find("quantized_layers");
  if (layers == nullptr || !layers->is_dict()) return false;
  for (const auto& [name, info] : layers->as_dict()) {
    const Value* algo = info.find("quant_algo");
    if (algo != nullptr && is_text(*algo, "W4A16_NVFP4") && name.find(".experts.") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

Value nemotron_modelopt_quantization(Resolution& r, const ModelFacts& model, std::string_view function) {
  const bool omni = model.architectures.front() == "NemotronH_Omni_Reasoning_V3";
  const Value& config = omni ? model.hf_text_config : model.hf_config;
  const Value* activation = config.find("mlp_hidden_act");
  if (activation == nullptr) {
    r.refuse(RF::kOther, "AttributeError", std::string(function), "the configuration has no mlp_hidden_act");
  }
  r.require(RF::kOther, is_text(*activation, "relu2"), function, "a quantized Nemotron-H needs mlp_hidden_act relu2");
  if (model.quantization != "modelopt") return *model.quantization;
  const Value quantization = model.root("quantization_config");
  const Value* algo = quantization.find("quant_algo");
  if (algo == nullptr) {
    r.refuse(RF::kOther, quantization.is_none() ? "AttributeError" : "KeyError", std::string(function),
             "the checkpoint's quantization_config has no quant_algo");
  }
  if (is_text(*algo, "MIXED_PRECISION")) return "modelopt_mixed";
  return is_text(*algo, "NVFP4") ? "modelopt_fp4" : "modelopt_fp8";
}

bool is_modelopt(const ModelFacts& model) {
  return model.quantization &&
         contains({"modelopt", "modelopt_fp8", "modelopt_fp4", "modelopt_mixed"}, *model.quantization);
}

Overrides nemotron_h_overrides(Resolution& r, const ModelFacts& model) {
  Overrides overrides;
  Value quantization = r[Field::quantization];
  if (is_modelopt(model)) {
    quantization = nemotron_modelopt_quantization(r, model, kProvider);
    overrides.set(Field::quantization, quantization);
  }
  const bool moves_experts = r.on(Field::enable_eplb) || r.integer(Field::ep_num_redundant_experts) > 0 ||
                             !r.is(Field::init_expert_location, "trivial");
  if (moves_experts && r.since(v0_5(23))) refuse_expert_remap(r, model);

  const bool runner_open = r.is(Field::moe_runner_backend, "auto");
  if (is_modelopt(model) && is_text(quantization, "modelopt_mixed") && r.since(v0_5(18)) &&
      has_w4a16_experts(r, model)) {
    if (!r.is(Field::moe_a2a_backend, "none")) {
      r.refuse(RF::kOther, "ValueError", kProvider, "W4A16_NVFP4 experts need --moe-a2a-backend none");
    }
    if (!r.one_of(Field::moe_runner_backend, {"auto", "marlin"})) {
      r.refuse(RF::kOther, "ValueError", kProvider, "W4A16_NVFP4 experts need --moe-runner-backend marlin");
    }
    if (runner_open) overrides.set(Field::moe_runner_backend, "marlin");
  } else if ((is_modelopt(model) || !model.quantization) && runner_open) {
    overrides.set(Field::moe_runner_backend, "flashinfer_cutlass");
  }
  return overrides;
}

}  // namespace preflight::resolve
