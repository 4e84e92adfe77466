// The block size of a diffusion language model. Tested by tests/resolve_dllm_test.cpp.
#include "src/resolve/dllm_config.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include <yaml-cpp/yaml.h>

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
    {"DiffusionGemmaForBlockDiffusion", 256, -1, v0_5(19)},
};

const Architecture& architecture_of(Resolution& r, const ModelFacts& model) {
  if (model.architectures.empty()) {
    r.refuse(r.before(v0_5(19)) ? "TypeError" : "RuntimeError", std::string(kStep),
             "the model's config.json names no architecture");
  }
  const std::string& name = model.architectures.front();
  const auto* found = std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                                   [&](const Architecture& a) { return a.name == name && r.since(a.since); });
  if (found == std::end(kArchitectures)) {
    r.refuse("RuntimeError", std::string(kStep), name + " is not a diffusion language model that SGLang knows");
  }
  return *found;
}

void check_pairing(Resolution& r, const Architecture& arch) {
  check_algorithm(r, r.text(Field::dllm_algorithm));
  const bool gemma = arch.name == "DiffusionGemmaForBlockDiffusion";
  if (gemma != r.is(Field::dllm_algorithm, "Gemma4Renoise")) {
    r.refuse("ValueError", std::string(kStep), "Gemma4Renoise and DiffusionGemma go together, and only together");
  }
}

// Insert and delete decoding needs two more tokens, distinct and inside the vocabulary.
void check_edit_tokens(Resolution& r, const ModelFacts& model, const Architecture& arch) {
  if (!r.is(Field::dllm_algorithm, "JointThresholdInDel")) return;
  const Value remove = model.root("delete_token_id");
  const Value split = model.root("split_token_id");
  if (remove.is_none() || split.is_none()) {
    r.refuse("RuntimeError", std::string(kStep),
             "JointThresholdInDel needs delete_token_id and split_token_id in the model's config.json");
  }
  for (const Value& token : {remove, split}) {
    if (!token.is_int() || token.as_int() < 0 || token.as_int() >= model.vocab_size) {
      r.refuse("ValueError", std::string(kStep), "delete_token_id and split_token_id must be tokens of the vocabulary");
    }
  }
  if (remove == split || remove == Value(arch.mask_id) || split == Value(arch.mask_id)) {
    r.refuse("ValueError", std::string(kStep), "the mask, delete and split tokens must be three");
  }
}

// A plain YAML scalar as PyYAML resolves it, as far as a block size can use it: a number, a truth value, else text.
Value scalar(const YAML::Node& node) {
  if (node.IsNull()) return {};
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  std::int64_t integer = 0;
  if (const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
      error == std::errc{} && end == text.data() + text.size()) {
    return integer;
  }
  double real = 0;
  if (const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
      error == std::errc{} && end == text.data() + text.size() && text.find('.') != std::string::npos) {
    return real;
  }
  for (const auto& [word, truth] : {std::pair{"true", true}, {"false", false}, {"yes", true}, {"no", false}}) {
    if (text == word) return truth;
  }
  return text;
}

YAML::Node load(Resolution& r) {
  const std::string path = r.text(Field::dllm_algorithm_config);
  const auto text = r.models().text_of(path);
  if (!text) {
    r.refuse("FileNotFoundError", std::string(kStep), "--dllm-algorithm-config " + path + " cannot be read");
  }
  try {
    return YAML::Load(*text);
  } catch (const YAML::ParserException& fault) {
    // yaml-cpp does not tell PyYAML's scanner from its parser; a second value on one line is the scanner's.
    const bool scanner = fault.msg.find("illegal map value") != std::string::npos;
    r.refuse(scanner ? "ScannerError" : "ParserError", std::string(kStep), "--dllm-algorithm-config: " + fault.msg);
  }
}

bool falsy(const YAML::Node& node) {
  if (!node.IsDefined() || node.IsNull()) return true;
  if (node.IsScalar()) return !scalar(node).truthy();
  return node.size() == 0;
}

Value configured_block_size(Resolution& r, Value fallback) {
  if (r.none(Field::dllm_algorithm_config)) return fallback;
  const YAML::Node root = load(r);
  if (!root.IsMap()) {
    if (r.before(v0_5(19))) {
      r.refuse("AttributeError", std::string(kStep), "--dllm-algorithm-config must hold a mapping");
    }
    if (!falsy(root)) r.refuse("ValueError", std::string(kStep), "--dllm-algorithm-config must hold a mapping");
    return fallback;
  }
  const YAML::Node size = root["block_size"];
  if (!size.IsDefined()) return fallback;
  return size.IsScalar() || size.IsNull() ? scalar(size) : Value::list({});
}

}  // namespace

void check_algorithm(Resolution& r, std::string_view name) {
  for (const std::string_view known : {"LowConfidence", "JointThreshold", "JointThresholdInDel", "Gemma4Renoise"}) {
    if (name == known) return;
  }
  r.refuse("RuntimeError", "get_algorithm_cls", "no diffusion algorithm is called " + std::string(name));
}

Value block_size(Resolution& r) {
  const auto model = r.build_model(r.model_request());
  const Architecture& arch = architecture_of(r, *model);
  const Value canvas = model->root("canvas_length");
  const bool gemma = arch.name == "DiffusionGemmaForBlockDiffusion";
  const Value own = gemma && !canvas.is_none() ? canvas : Value(arch.block_size);
  if (r.before(v0_5(19))) return configured_block_size(r, own);
  check_pairing(r, arch);
  check_edit_tokens(r, *model, arch);
  Value size = configured_block_size(r, own);
  if (!model->root("expert_capacity").is_none() && size != model->root("block_size")) {
    r.refuse("ValueError", std::string(kStep), "block routing needs the checkpoint's own block_size");
  }
  return size;
}

}  // namespace preflight::resolve::dllm
