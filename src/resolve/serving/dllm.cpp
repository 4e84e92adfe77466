// Diffusion language models. Tested by tests/resolve_dllm_test.cpp.
#include "src/resolve/serving/dllm.h"

#include <cmath>
#include <string>

#include "src/resolve/serving/dllm_config.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve {
namespace {

constexpr std::string_view kDeclared = "_handle_dllm_inference";

// Gemma4Renoise.configure_server_args.
void configure_renoising(Resolution& r) {
  static constexpr std::string_view kHere = "configure_server_args";
  const auto refuse = [&r](std::string message) {
    r.refuse(RF::kOther, "ValueError", std::string(kHere), std::move(message));
  };
  if (!r.is(Field::device, "cuda")) refuse("Gemma4Renoise needs CUDA or ROCm");
  const ModelFacts& model = r.model();
  if (r.integer(Field::pp_size) > 1) refuse("DiffusionGemma does not work with pipeline parallelism");
  if (r.integer(Field::dcp_size) > 1 || r.integer(Field::attn_cp_size) > 1) {
    refuse("DiffusionGemma does not work with context parallelism");
  }
  if (model.quantization) refuse("DiffusionGemma cannot be quantized");
  if (model.root("tie_word_embeddings").truthy() && model.root("text_config").is_none()) {
    r.refuse(RF::kOther, "AttributeError", std::string(kHere), "the model's config.json has no text_config");
  }
  const Value* tied = model.root("text_config").find("tie_word_embeddings");
  if (!model.root("tie_word_embeddings").truthy() || tied == nullptr || !tied->truthy()) {
    refuse("DiffusionGemma needs tied word embeddings");
  }
  const bool full = graph_backend_is(r, kPrefill, "full");
  if (full && !is_text(attention_backends(r).prefill, "fa4")) refuse("full prefill graphs need the fa4 backend");
  r.declare("Gemma4Renoise", {{Field::disable_radix_cache, true},
                              {Field::chunked_prefill_size, -1},
                              {Field::cuda_graph_config, full ? r[Field::cuda_graph_config]
                                                              : graph_with(r, kPrefill, {{"backend", "disabled"}})}});
}

// Gemma4Renoise is the one algorithm with attention backends of its own; the others follow the graph's needs.
void require_renoising_backend(Resolution& r) {
  constexpr std::string_view kPass = "_dllm_attention_backend";
  const auto suits = [&r](Field f) { return r.one_of(f, {"triton", "fa4"}); };
  const auto suits_or_none = [&](Field f) { return r.none(f) || suits(f); };
  if (suits(Field::attention_backend) && suits_or_none(Field::prefill_attention_backend) &&
      suits_or_none(Field::decode_attention_backend)) {
    return;
  }
  std::vector<FieldValue> changes;
  for (const Field f : {Field::attention_backend, Field::prefill_attention_backend, Field::decode_attention_backend}) {
    if (!r.is(f, "triton")) changes.emplace_back(f, "triton");
  }
  if (changes.empty()) return;
  r.warn(kPass, "Gemma4Renoise needs the triton attention backend");
  r.declare(kPass, std::move(changes));
}

void fit_attention_backend(Resolution& r) {
  const bool declares = r.since(v0_5(15));
  const std::string_view step = declares ? "_dllm_attention_backend" : kDeclared;
  if (r.since(v0_5(21))) {
    dllm::check_algorithm(r, r.text(Field::dllm_algorithm));
    if (r.is(Field::dllm_algorithm, "Gemma4Renoise")) return require_renoising_backend(r);
  }
  const bool graphs = r.since(v0_5(14)) ? !graph_backend_is(r, kDecode, "disabled") : !r.on(Field::disable_cuda_graph);
  if (!graphs || r.is(Field::attention_backend, "flashinfer")) return;
  r.warn(step, "diffusion with decode graphs takes the flashinfer attention backend");
  r.change(step, Field::attention_backend, "flashinfer");
}

void disable_overlap(Resolution& r) {
  if (r.on(Field::disable_overlap_schedule)) return;
  const std::string_view step = r.before(v0_5(15)) ? kDeclared : "_dllm_overlap_disable";
  r.warn(step, "diffusion runs without overlap scheduling");
  r.change(step, Field::disable_overlap_schedule, true);
}

// page_size % block == 0, as Python computes it for whatever the YAML file held.
bool divides(Resolution& r, const Value& block, std::string_view function) {
  if (!block.is_number()) {
    r.refuse(RF::kOther, "TypeError", std::string(function), "block_size in --dllm-algorithm-config is not a number");
  }
  if (block.as_number() == 0) {
    r.refuse(RF::kOther, "ZeroDivisionError", std::string(function), "block_size in --dllm-algorithm-config is 0");
  }
  return std::fmod(r.number(Field::page_size), block.as_number()) == 0;
}

void fit_page_size(Resolution& r) {
  const bool declares = r.since(v0_5(15));
  const std::string_view step = declares ? "_dllm_page_size" : kDeclared;
  const bool cached = !r.on(Field::disable_radix_cache);
  if (!declares && !cached) return;
  const Value block = dllm::block_size(r);
  if (cached && !divides(r, block, step)) {
    r.warn(step, "the page size becomes the diffusion block size, " + block.repr());
    return r.change(step, Field::page_size, block);
  }
  if (!declares) return;
  if (!block.is_number()) {
    r.refuse(RF::kOther, "TypeError", std::string(step), "block_size in --dllm-algorithm-config is not a number");
  }
  if (r.number(Field::page_size) > block.as_number()) {
    r.warn(step, "a page must not be larger than the diffusion block; it becomes " + block.repr());
    r.change(step, Field::page_size, block);
  }
}

void turn_off(Resolution& r, Field field, Value off, std::string_view what) {
  r.warn(kDeclared, std::string(what) + " is off: diffusion does not work with it");
  r.change(kDeclared, field, std::move(off));
}

void disable_cache_extensions(Resolution& r) {
  if (r.on(Field::disable_radix_cache)) return;
  if (r.on(Field::enable_hierarchical_cache))
    turn_off(r, Field::enable_hierarchical_cache, false, "hierarchical cache");
  if (r.on(Field::enable_lmcache)) turn_off(r, Field::enable_lmcache, false, "LMCache");
  if (r.on(Field::enable_flexkv)) turn_off(r, Field::enable_flexkv, false, "FlexKV");
}

void disable_other_features(Resolution& r) {
  // Releases before 0.5.15 ask the opposite question: they warn without pipeline parallelism and keep it with it.
  const bool pipelined = r.integer(Field::pp_size) > 1;
  if (pipelined == r.since(v0_5(15))) turn_off(r, Field::pp_size, 1, "pipeline parallelism");
  if (r.on(Field::enable_lora)) turn_off(r, Field::enable_lora, false, "LoRA");
  if (!r.is(Field::disaggregation_mode, "null")) turn_off(r, Field::disaggregation_mode, "null", "disaggregation");
  if (r.on(Field::enable_mixed_chunk)) turn_off(r, Field::enable_mixed_chunk, false, "mixed chunked prefill");
}

}  // namespace

void handle_dllm_inference(Resolution& r) {
  if (r.none(Field::dllm_algorithm)) return;
  const bool backend_first = r.since(v0_5(22)) || r.before(v0_5(15));
  if (backend_first) fit_attention_backend(r);
  if (r.since(v0_5(21))) dllm::check_algorithm(r, r.text(Field::dllm_algorithm));
  if (r.since(v0_5(21)) && r.is(Field::dllm_algorithm, "Gemma4Renoise")) configure_renoising(r);
  if (!backend_first) fit_attention_backend(r);
  disable_overlap(r);
  fit_page_size(r);
  disable_cache_extensions(r);
  disable_other_features(r);
}

}  // namespace preflight::resolve
