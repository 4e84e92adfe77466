// Which collective joins the layers' boundaries, for the target model and its draft (0.5.21 and later). Upstream:
// arg_groups/boundary_reduction.py. Tested by tests/resolve_parallel_test.cpp.
#include <algorithm>
#include <cctype>

#include "src/base/ascii_case.h"
#include "src/resolve/models/model_queries.h"
#include "src/resolve/parallel/parallel.h"

namespace preflight::resolve {
namespace {

Value member(const Value& config, std::string_view key) {
  const Value* v = config.find(key);
  return v == nullptr ? Value() : *v;
}

bool names_any(const Value& architectures, std::initializer_list<std::string_view> names) {
  return architectures.is_list() &&
         std::any_of(architectures.as_list().begin(), architectures.as_list().end(),
                     [&](const Value& a) { return a.is_string() && contains(names, a.as_string()); });
}

// Configuration classes that answer for themselves: their language model sits in the part that thinks. That part may
// carry the same model type, and is of another class.
bool thinks(const Value& config) {
  const Value type = member(config, "model_type");
  const bool asked = is_text(type, "qwen2_5_omni") || is_text(type, "qwen3_omni_moe") || is_text(type, "qwen3_asr");
  return asked && !member(config, "thinker_config").is_none();
}

// The nested language model: transformers' own search first, then the names of older wrappers.
Value language_part(Resolution& r, const Value& config) {
  if (thinks(config)) return member(config, "thinker_config");
  Value found;
  for (const char* key : {"text_encoder", "decoder", "generator", "text_config"}) {
    const Value part = member(config, key);
    if (part.is_none()) continue;
    if (!found.is_none()) {
      r.refuse(RF::kOther, "ValueError", "model_boundary_reduction",
               "the configuration nests more than one language model");
    }
    found = part;
  }
  for (const char* key : {"llm_config", "language_config"}) {
    if (found.is_none()) found = member(config, key);
  }
  return found;
}

const char* model_boundary_reduction(Resolution& r, const Value& config) {
  const Value architectures = member(config, "architectures");
  if (names_any(architectures, {"BailingMoELinearForCausalLM", "BailingMoeV2_5ForCausalLM", "LongcatFlashForCausalLM",
                                "LongcatFlashForCausalLMNextN", "Step3VLForConditionalGeneration"})) {
    return "rsv";
  }
  if (names_any(architectures, {"Qwen3ForCausalLM", "Qwen3ForSequenceClassification", "Qwen3Model",
                                "Qwen3ForRewardModel", "MossVLForCausalLM", "MossVLForConditionalGeneration"})) {
    return "ar";
  }
  if (r.since(v0_5(22)) && names_any(architectures, {"KimiK3ForConditionalGeneration", "KimiK3LinearForCausalLM",
                                                     "Qwen4ExpForConditionalGeneration", "Qwen4ExpForCausalLMMTP"})) {
    return "ar";
  }
  const Value model_type = member(config, "model_type");
  if (is_text(model_type, "minicpmv")) {
    const Value version = member(config, "version");
    if ((version.is_string() ? version.as_string() : version.repr()) == "4.5") return "ar";
  }
  if (is_text(model_type, "qwen3") || is_text(model_type, "qwen3_vl_text")) return "ar";
  const Value nested = language_part(r, config);
  return nested.is_dict() ? model_boundary_reduction(r, nested) : "rs+rsv";
}

const char* draft_boundary_reduction(Resolution& r) {
  facts::ConfigRequest request;
  request.path = r.text(Field::speculative_draft_model_path);
  request.trust_remote_code = r.on(Field::trust_remote_code);
  request.configuration_file = r.text(Field::decrypted_draft_config_file);
  const auto overrides = Value::parse_json(r.text(Field::json_model_override_args));
  if (overrides) request.override_args = *overrides;
  auto outcome = r.load_config(std::move(request));
  if (auto* refused = std::get_if<Refusal>(&outcome)) {
    if (refused->function.empty()) refused->function = "resolve_boundary_reduction";
    throw RefusedByStep{std::move(*refused)};
  }
  return model_boundary_reduction(r, std::get<Value>(outcome));
}

}  // namespace

void resolve_boundary_reduction(Resolution& r) {
  Value target = r[Field::boundary_reduction];
  Value draft = target;
  if (r.is(Field::boundary_reduction, "auto")) {
    const std::string path = ascii_upper(r.text(Field::model_path));
    const bool dummy = path == "NONE" || path == "DUMMY";
    target = dummy ? "rs+rsv" : model_boundary_reduction(r, r.model().hf_config);
    draft = target;
    if (!dummy && !r.none(Field::speculative_algorithm) && !r.none(Field::speculative_draft_model_path) &&
        r[Field::speculative_draft_model_path] != r[Field::model_path]) {
      draft = draft_boundary_reduction(r);
    }
  }
  r.declare("resolve_boundary_reduction",
            {{Field::boundary_reduction, target}, {Field::speculative_boundary_reduction, draft}});
}

}  // namespace preflight::resolve
