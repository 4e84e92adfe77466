// The block size of a diffusion language model. Tested by tests/resolve_dllm_test.cpp.
#include "src/resolve/serving/dllm_config.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "src/python/yaml_objects.h"

namespace preflight::resolve::dllm {
namespace {

constexpr std::string_view kStep = "from_server_args";

struct Architecture {
  std::string_view name;
  int block_size;
  int mask_id;
  Release since = v0_5(0);
};

constexpr Architecture kArchitectures[] = {
    {"LLaDA2MoeModelLM", 32, 156895},
    {"SDARForCausalLM", 4, 151669},
    {"SDARMoeForCausalLM", 4, 151669},
    {"DiffusionGemmaForBlockDiffusion", 256, -1, v0_5(21)},
};

const Architecture& architecture_of(Resolution& r, const ModelFacts& model) {
  if (model.architectures.empty()) {
    r.refuse(RF::kOther, r.before(v0_5(21)) ? "TypeError" : "RuntimeError", std::string(kStep),
             "the model's config.json names no architecture");
  }
  const std::string& name = model.architectures.front();
  const auto* found = std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                                   [&](const Architecture& a) { return a.name == name && r.since(a.since); });
  if (found == std::end(kArchitectures)) {
    r.refuse(RF::kOther, "RuntimeError", std::string(kStep),
             name + " is not a diffusion language model that SGLang knows");
  }
  return *found;
}

void check_pairing(Resolution& r, const Architecture& arch) {
  check_algorithm(r, r.text(Field::dllm_algorithm));
  const bool gemma = arch.name == "DiffusionGemmaForBlockDiffusion";
  if (gemma != r.is(Field::dllm_algorithm, "Gemma4Renoise")) {
    r.refuse(RF::kOther, "ValueError", std::string(kStep),
             "Gemma4Renoise and DiffusionGemma go together, and only together");
  }
}

// Insert and delete decoding needs two more tokens, distinct and inside the vocabulary.
void check_edit_tokens(Resolution& r, const ModelFacts& model, const Architecture& arch) {
  if (!r.is(Field::dllm_algorithm, "JointThresholdInDel")) return;
  const Value remove = model.root("delete_token_id");
  const Value split = model.root("split_token_id");
  if (remove.is_none() || split.is_none()) {
    r.refuse(RF::kOther, "RuntimeError", std::string(kStep),
             "JointThresholdInDel needs delete_token_id and split_token_id in the model's config.json");
  }
  for (const Value& token : {remove, split}) {
    if (!token.is_int() || token.as_int() < 0 || token.as_int() >= model.vocab_size) {
      r.refuse(RF::kOther, "ValueError", std::string(kStep),
               "delete_token_id and split_token_id must be tokens of the vocabulary");
    }
  }
  if (remove == split || remove == Value(arch.mask_id) || split == Value(arch.mask_id)) {
    r.refuse(RF::kOther, "ValueError", std::string(kStep), "the mask, delete and split tokens must be three");
  }
}

// What safe_load made of a scalar: a block size is used as a number only, so text stays text.
Value plain_value(const python::YamlObject& object) {
  using Kind = python::YamlObject::Kind;
  switch (object.kind) {
    case Kind::kNone:
      return {};
    case Kind::kBool:
      return object.boolean;
    case Kind::kFloat:
      return object.number;
    case Kind::kInt: {
      std::int64_t value = 0;
      const char* end = object.text.data() + object.text.size();
      return std::from_chars(object.text.data(), end, value).ec == std::errc{} ? Value(value) : Value(object.text);
    }
    default:
      return object.text;
  }
}

bool truthy(const python::YamlObject& object) {
  using Kind = python::YamlObject::Kind;
  switch (object.kind) {
    case Kind::kList:
    case Kind::kTuple:
      return !object.items.empty();
    case Kind::kSet:
      return !object.items.empty() || !object.pairs.empty();
    case Kind::kDict:
      return !object.pairs.empty();
    case Kind::kDate:
      return true;
    default:
      return plain_value(object).truthy();
  }
}

Value block_size_in(Resolution& r, const python::YamlObject* root, Value fallback) {
  if (root == nullptr || root->kind != python::YamlObject::kDict) {
    if (r.before(v0_5(21))) {
      r.refuse(RF::kOther, "AttributeError", std::string(kStep), "--dllm-algorithm-config must hold a mapping");
    }
    if (root != nullptr && truthy(*root)) {
      r.refuse(RF::kOther, "ValueError", std::string(kStep), "--dllm-algorithm-config must hold a mapping");
    }
    return fallback;
  }
  for (const auto& [key, value] : root->pairs) {
    if (key->kind == python::YamlObject::kText && key->text == "block_size") return plain_value(*value);
  }
  return fallback;
}

Value configured_block_size(Resolution& r, Value fallback) {
  if (r.none(Field::dllm_algorithm_config)) return fallback;
  const std::string path = r.text(Field::dllm_algorithm_config);
  const auto text = r.models().text_of(path);
  if (!text) {
    const bool directory = !path.empty() && r.models().has_file(path, ".");
    r.refuse(RF::kOther, directory ? "IsADirectoryError" : "FileNotFoundError", std::string(kStep),
             "--dllm-algorithm-config " + path + " cannot be read");
  }
  try {
    const python::YamlObjects objects{python::YamlDocument(python::yaml_text(*text))};
    return block_size_in(r, objects.root(), std::move(fallback));
  } catch (const python::YamlFault& fault) {
    r.refuse(RF::kOther, fault.exception, std::string(kStep), "--dllm-algorithm-config: " + fault.message);
  }
}

}  // namespace

void check_algorithm(Resolution& r, std::string_view name) {
  for (const std::string_view known : {"LowConfidence", "JointThreshold", "JointThresholdInDel", "Gemma4Renoise"}) {
    if (name == known) return;
  }
  r.refuse(RF::kOther, "RuntimeError", "get_algorithm_cls", "no diffusion algorithm is called " + std::string(name));
}

Value block_size(Resolution& r) {
  const auto model = r.build_model(r.model_request());
  const Architecture& arch = architecture_of(r, *model);
  const Value canvas = model->root("canvas_length");
  const bool gemma = arch.name == "DiffusionGemmaForBlockDiffusion";
  const Value own = gemma && !canvas.is_none() ? canvas : Value(arch.block_size);
  if (r.before(v0_5(21))) return configured_block_size(r, own);
  check_pairing(r, arch);
  check_edit_tokens(r, *model, arch);
  Value size = configured_block_size(r, own);
  if (!model->root("expert_capacity").is_none() && size != model->root("block_size")) {
    r.refuse(RF::kOther, "ValueError", std::string(kStep), "block routing needs the checkpoint's own block_size");
  }
  return size;
}

}  // namespace preflight::resolve::dllm
