// See element_sizes.h.
#include "src/plan/element_sizes.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "src/base/ascii_case.h"
#include "src/facts/described_form.h"
#include "src/plan/numbers.h"
#include "src/plan/plain_modules.h"

namespace preflight::plan {
namespace {

// A nibble an element, and a scale of one byte for every group: NVFP4 has groups of 16, the MX forms of 32.
double nibbles(std::int64_t group) { return 0.5 + 1.0 / static_cast<double>(std::max<std::int64_t>(1, group)); }
constexpr std::int64_t kNvfp4Group = 16;
constexpr std::int64_t kMxGroup = 32;

std::string word(const Value& config, std::string_view key) {
  const Value* v = config.find(key);
  return v != nullptr && v->is_string() ? v->as_string() : std::string();
}

// Which of a layer's parts a name is about.
enum class Part { kAttention, kDense, kExperts, kOther };
Part part_named(std::string_view name) {
  if (name.find("experts") != std::string_view::npos && name.find("shared") == std::string_view::npos)
    return Part::kExperts;
  if (name.find("attn") != std::string_view::npos) return Part::kAttention;
  return name.find("mlp") != std::string_view::npos || name.find("_proj") != std::string_view::npos ? Part::kDense
                                                                                                    : Part::kOther;
}

// The first group that names the part, else the first that names none: targets are modules, patterns or a class.
const Value& group_of(const Value& groups, Part part) {
  const Value* of_any = nullptr;
  for (const auto& [name, group] : groups.as_dict()) {
    const Value* targets = group.is_dict() ? group.find("targets") : nullptr;
    if (targets == nullptr || !targets->is_list()) continue;
    for (const Value& target : targets->as_list()) {
      if (!target.is_string()) continue;
      const Part named = part_named(target.as_string());
      if (named == part) return group;
      if (named == Part::kOther && of_any == nullptr) of_any = &group;
    }
  }
  return of_any != nullptr ? *of_any : groups.as_dict().front().second;
}

// Symmetric weights have no zero points.
double compressed(const Value& group) {
  const Value* weights = group.is_dict() ? group.find("weights") : nullptr;
  const std::int64_t bits = weights != nullptr && weights->is_dict() ? first_int(*weights, {"num_bits"}, 8) : 8;
  if (bits >= 8) return 1.0;
  if (word(*weights, "type") == "float") return nibbles(first_int(*weights, {"group_size"}, kNvfp4Group));
  const Value* symmetric = weights->find("symmetric");
  return packed(bits, first_int(*weights, {"group_size"}), symmetric == nullptr || !symmetric->truthy());
}

bool is_on(const Value& config, std::string_view key) {
  const Value* v = config.find(key);
  return v != nullptr && v->truthy();
}

// compressed_tensors_wNa16_moe.py, compressed_tensors_w8a8_fp8_moe.py: experts of 4 bits have the order of their inputs
// twice in 32 bits, ordered or not; those of 8 bits by channel a scale of 32 bits for each output.
void set_expert_tables(ElementSizes& s, const Value& groups) {
  const Value* weights = groups.as_dict().front().second.find("weights");
  if (weights == nullptr || !weights->is_dict()) return;
  if (first_int(*weights, {"num_bits"}, 8) == 4 && word(*weights, "type") == "int") s.for_inner = s.for_outer = 2 * 4.0;
  if (first_int(*weights, {"num_bits"}, 8) != 8 || word(*weights, "strategy") != "channel") return;
  s.for_inner = 2 * 4.0;  // gate and up
  s.for_outer = 4.0;
}

// False: there are no groups, and no layer is of any.
bool set_compressed_sizes(ElementSizes& s, const Value& config) {
  const Value* groups = config.find("config_groups");
  if (groups == nullptr || !groups->is_dict() || groups->as_dict().empty()) return false;
  s.linear = compressed(group_of(*groups, Part::kDense));
  s.experts = compressed(group_of(*groups, Part::kExperts));
  s.attention = compressed(group_of(*groups, Part::kAttention));
  set_expert_tables(s, *groups);
  s.exact = groups->as_dict().size() == 1;
  return true;
}

// Quark writes the type of its weights out; those of 4 bits have a scale of one byte for a group.
double of_quark(const Value& config) {
  const Value* all = config.find("global_quant_config");
  const Value* weight = all == nullptr ? nullptr : all->find("weight");
  const Value* type = weight == nullptr ? nullptr : weight->find("dtype");
  if (type == nullptr || !type->is_string() || !type->as_string().ends_with('4')) return 1.0;
  return nibbles(first_int(*weight, {"group_size"}, kMxGroup));
}

// By the algorithm's name (modelopt_quant.py).
double of_modelopt(const Value& config) {
  const std::string algorithm = ascii_upper(word(config, "quant_algo"));
  if (algorithm.find("FP4") != std::string::npos) return nibbles(first_int(config, {"group_size"}, kNvfp4Group));
  return algorithm == "MXFP8" ? 1.0 + 1.0 / static_cast<double>(kMxGroup) : 1.0;
}

// Parts may be left unquantised by name, or packed in another way; how much that is, is not computed.
bool treats_parts_apart(const Value& config) {
  if (is_on(config, "dynamic")) return true;
  return std::ranges::any_of(kLeftPlain, [&](const char* key) {
    const Value* list = config.find(key);
    return list != nullptr && list->is_list() && list->as_list().size() > 1;
  });
}

// One byte an element, and a scale of 32 bits for a block of them.
void set_byte_sizes(ElementSizes& s, const ModelFacts& m) {
  const Value* block = m.hf_quant_config.find("weight_block_size");
  s.linear = s.experts = block != nullptr && block->is_list() ? 1.0 + 4.0 / (128.0 * 128.0) : 1.0;
  // DeepSeek-V4 stores its experts in 4 bits, with a scale of one byte for 32.
  if (m.text("expert_dtype") == Value("fp4")) s.experts = nibbles(kMxGroup);
}

// Algorithms by module: the first of each part stands for all of it.
void set_mixed_sizes(ElementSizes& s, const Value& config) {
  const Value* modules = config.find("quantized_layers");
  if (modules == nullptr || !modules->is_dict()) return;
  double of_parts[3] = {0, 0, 0};
  for (const auto& [name, algorithm] : modules->as_dict()) {
    if (!algorithm.is_dict()) continue;
    const Part part = part_named(name);
    if (name == "lm_head") s.head = of_modelopt(algorithm);
    if (part == Part::kOther) continue;
    double& known = of_parts[static_cast<std::size_t>(part)];
    if (known == 0) known = of_modelopt(algorithm);
  }
  const auto take = [&](Part part, double& size) {
    if (of_parts[static_cast<std::size_t>(part)] > 0) size = of_parts[static_cast<std::size_t>(part)];
  };
  take(Part::kDense, s.linear);
  take(Part::kExperts, s.experts);
  s.attention = s.plain;  // what is not named is not quantised
  take(Part::kAttention, s.attention);
}

// ModelOpt's methods, and what packs weights in its NVFP4. They touch the head as well, unless it is left out.
void set_modelopt_sizes(ElementSizes& s, const ModelFacts& m, const Value& config) {
  const std::string& q = *m.quantization;
  s.exact = (q == "modelopt_fp4" || q == "modelopt_fp8") && !m.quant_config.is_none();
  if (m.quant_config.is_none() || word(config, "quant_method") == "fp8" || q == "minimax_m3_nvfp4") {
    // Experts are made while they load, and nothing else is; or they are stored so beside what is in FP8.
    s.exact = false;
    if (!m.quant_config.is_none()) s.linear = 1.0;
    s.experts = nibbles(kNvfp4Group);
  } else if (q == "modelopt_mixed") {
    set_mixed_sizes(s, config);
  } else {
    s.linear = of_modelopt(config);
    if (q != "petit_nvfp4") s.experts = s.linear;  // its method knows no experts
    const bool plain_head = q == "petit_nvfp4" || plain_modules_of(m)->leaves_plain("lm_head");
    if (!plain_head) s.head = s.linear;
  }
}

}  // namespace

ElementSizes element_sizes(const ModelFacts& m) {
  ElementSizes s;
  s.plain = plain_bytes(m);
  s.linear = s.experts = s.head = s.plain;
  if (!m.quantization || m.quantization->empty()) return s;
  const std::string& q = *m.quantization;
  const Value& config = described_form(m);
  const auto starts = [&](std::string_view p) { return q.starts_with(p); };
  if (starts("modelopt") || q.find("nvfp4") != std::string::npos) {
    set_modelopt_sizes(s, m, config);
  } else if (starts("bitsandbytes")) {
    s.linear = s.experts = is_on(config, "load_in_8bit") ? 1.0 : 0.5 + 1.0 / 64;
    s.exact = false;
  } else if (starts("quark") && !m.quant_config.is_none()) {
    s.linear = s.experts = of_quark(config);
    s.exact = false;
  } else if (starts("w4afp8")) {
    s.linear = 1.0 + 4.0 / (128.0 * 128.0);
    s.experts = 0.5 + 4.0 / 128;
    s.exact = false;
  } else if (starts("fp8") || starts("w8a8") || starts("blockwise_int8")) {
    set_byte_sizes(s, m);
  } else if (starts("awq") || starts("gptq") || starts("auto-round") || starts("moe_wna16")) {
    s.linear = s.experts = packed(first_int(config, {"bits", "w_bit", "wbits"}, 4),
                                  first_int(config, {"group_size", "q_group_size"}, 128));
    if (starts("gptq") && is_on(config, "lm_head")) s.head = s.linear;
  } else if (starts("mxfp4")) {
    s.experts = nibbles(kMxGroup);  // the rest stays as it is
    s.expert_block = kMxGroup;
  } else if (q == "mxfp8") {
    s.linear = s.experts = 1.0 + 1.0 / static_cast<double>(kMxGroup);
    s.exact = false;
  } else if (starts("compressed-tensors")) {
    if (!set_compressed_sizes(s, config)) return s;
  } else {
    s.linear = s.experts = 1.0;
    s.exact = false;
  }
  s.exact = s.exact && !treats_parts_apart(config);
  return s;
}

double packed(std::int64_t bits, std::int64_t group, bool zeros) {
  const double g = group > 0 ? static_cast<double>(group) : 1e9;
  return static_cast<double>(bits) / 8 + 2.0 / g + (zeros ? static_cast<double>(bits) / 8 / g : 0.0);
}

}  // namespace preflight::plan
