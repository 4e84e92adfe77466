// What a model's abilities change, after the backends are chosen (0.5.16 and later). Upstream:
// arg_groups/model_hook.py, handle_model_capability_adjustments; the embedding contract in
// configs/embedding_model_spec.py. Tested by tests/resolve_model_test.cpp.
#include <algorithm>

#include "src/resolve/attention/deepseek_v4.h"
#include "src/resolve/models/model_adjustments.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {
namespace {

constexpr const char* kSource = "_handle_model_capability_adjustments";  // its name in the chain

// HRM-Text attends to its prompt in both directions, which only triton does; nothing of it may be reused or split.
void adjust_hrm_text(Resolution& r, const ModelFacts& model) {
  if (model.model_type != "hrm_text" && !model.has_architecture("HrmTextForCausalLM")) return;
  if (has_attribute(model, "prefix_lm") && !model.root("prefix_lm").truthy()) return;
  if (!r.none(Field::attention_backend) && !r.is(Field::attention_backend, "triton")) {
    r.warn("_hrm_text_attention_force", "HRM-Text attends in both directions, which only triton does");
  }
  r.declare("_hrm_text_attention_force", {{Field::attention_backend, "triton"}});
  r.declare(kSource, {{Field::chunked_prefill_size, -1}});
  r.declare(kSource, {{Field::disable_radix_cache, true}});
  r.declare(kSource, {{Field::disable_cuda_graph, true}});
  turn_graph_off(r, kSource, kDecode);
  turn_graph_off(r, kSource, kPrefill);
  r.warn("handle_model_capability_adjustments",
         "HRM-Text runs on triton, without prefill chunks, radix cache and graphs");
}

// What SGLang knows of an embedding architecture.
struct EmbeddingContract {
  bool embeds_always = false;      // no --is-embedding needed
  bool whole_prompt_only = false;  // neither radix cache nor prefill chunks
};

EmbeddingContract embedding_contract(const ModelFacts& model, Release release) {
  const auto any_of = [&](std::initializer_list<std::string_view> names) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view n) { return model.has_architecture(n); });
  };
  if ((release >= v0_5(22) && any_of({"EmbeddingGemma2Model"})) || model.is_embedding_gemma) return {true, true};
  if (any_of({"BertForSequenceClassification", "LlamaForSequenceClassification",
              "LlamaForSequenceClassificationWithNormal_Weights", "Qwen2ForSequenceClassification",
              "Qwen3ForSequenceClassification", "XLMRobertaForSequenceClassification"})) {
    return {};
  }
  return {any_of({"BertModel", "CLIPModel", "Contriever", "LlamaEmbeddingModel", "MistralModel", "XLMRobertaModel"}),
          false};
}

void adjust_embedding(Resolution& r, const ModelFacts& model) {
  if (r.before(v0_5(17))) return;
  const EmbeddingContract contract = embedding_contract(model, r.release());
  if (contract.embeds_always && !r.on(Field::is_embedding)) r.declare(kSource, {{Field::is_embedding, true}});
  if (contract.whole_prompt_only && r.since(v0_5(22))) {
    r.declare(kSource, {{Field::disable_radix_cache, true}});
    r.declare(kSource, {{Field::chunked_prefill_size, -1}});
  }
  if (!model.is_embedding_gemma || model.has_architecture("EmbeddingGemma2Model")) return;
  r.declare(kSource, {{Field::is_embedding, true}});
  r.declare(kSource, {{Field::disable_radix_cache, true}});
  r.declare(kSource, {{Field::chunked_prefill_size, -1}});
  r.declare(kSource, {{Field::enable_tokenizer_batch_encode, true}});
  turn_graph_off(r, kSource, kDecode);
  turn_graph_off(r, kSource, kPrefill);
}

// A checkpoint with a joint schema head answers from one complete prefill.
void adjust_joint_head(Resolution& r, const ModelFacts& model) {
  const bool qwen = model.architectures == std::vector<std::string>{"Qwen3_5ForConditionalGeneration"};
  if (r.before(v0_5(22)) || !qwen || !r.models().has_file(r.text(Field::model_path), "joint_head_config.json")) return;
  if (r[Field::tp_size] != Value(1) || r[Field::pp_size] != Value(1)) {
    r.refuse(RF::kOther, "ValueError", "handle_model_capability_adjustments",
             "a checkpoint with a joint schema head runs with --tp-size 1 and --pp-size 1 only");
  }
  r.declare(kSource, {{Field::is_embedding, true}});
  r.declare(kSource, {{Field::disable_radix_cache, true}});
  r.declare(kSource, {{Field::chunked_prefill_size, -1}});
  turn_graph_off(r, kSource, kDecode);
  turn_graph_off(r, kSource, kPrefill);
}

}  // namespace

void handle_model_capability_adjustments(Resolution& r) {
  if (model_is_remote_instance(r)) return;
  const ModelFacts& model = r.model();
  adjust_hrm_text(r, model);
  adjust_embedding(r, model);
  adjust_joint_head(r, model);
  if (model.is_multimodal && !model.is_multimodal_chunked_prefill_supported) {
    r.declare(kSource, {{Field::chunked_prefill_size, -1}});
  }
  if (r.before(v0_5(23))) return;
  if (model.model_type == "deepseek_v41") {
    validate_deepseek_v41_encoder_replay_budget(r);
  } else if (r.on(Field::enable_encoder_swa_bounded_replay)) {
    r.refuse(RF::kOther, "ValueError", "handle_model_capability_adjustments",
             "--enable-encoder-swa-bounded-replay is for DeepSeek V4.1 only");
  }
}

}  // namespace preflight::resolve
