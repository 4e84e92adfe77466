#include "src/commands/adapters.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/ascii_case.h"
#include "src/plan/adapter_pool.h"
#include "src/rules/from_record.h"

namespace preflight::commands {
namespace {

constexpr std::string_view kFile = "adapter_config.json";

// The weights that a module of the checkpoint is part of here.
std::string normal_module(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kFused = {
      {{"q_proj", "qkv_proj"},
       {"k_proj", "qkv_proj"},
       {"v_proj", "qkv_proj"},
       {"gate_proj", "gate_up_proj"},
       {"up_proj", "gate_up_proj"},
       {"vocab_emb", "embed_tokens"},
       {"embeddings", "embed_tokens"},
       {"word_embeddings", "embed_tokens"},
       {"output", "lm_head"},
       {"unembed_tokens", "lm_head"},
       {"q_a_proj", "fused_qkv_a_proj_with_mqa"},
       {"kv_a_proj_with_mqa", "fused_qkv_a_proj_with_mqa"},
       {"wq_b", "indexer.wq_b"},
       {"wk", "indexer.wk"},
       {"weights_proj", "indexer.weights_proj"}}};
  const std::string_view base = name.substr(name.rfind('.') + 1);
  const auto it = std::ranges::find(kFused, base, &std::pair<std::string_view, std::string_view>::first);
  return std::string(it == kFused.end() ? base : it->second);
}

// nullopt: another kind of value than a list of names.
std::optional<std::set<std::string>> modules_in(const Value& list) {
  if (!list.is_list()) return std::nullopt;
  std::set<std::string> out;
  for (const Value& name : list.as_list()) {
    if (!name.is_string()) return std::nullopt;
    out.insert(normal_module(name.as_string()));
  }
  return out;
}

// Of --lora-target-modules; nullopt: the adapters decide, or every module is taken.
std::optional<std::set<std::string>> modules_of_launch(const Launch& launch) {
  auto out = modules_in(launch[Field::lora_target_modules]);
  return out && !out->contains("all") ? out : std::nullopt;
}

std::string fault_of_modules(const Value& adapters, const Launch& launch) {
  const bool every = adapters == Value("all") || adapters == Value("all-linear");
  if (every) return {};
  const auto own = modules_in(adapters);
  if (!own) return "its target_modules are no list of names, nor all or all-linear";
  const auto room = modules_of_launch(launch);
  if (!room) return {};
  std::vector<std::string> missing;
  std::ranges::set_difference(*own, *room, std::back_inserter(missing));
  if (missing.empty()) return {};
  return fmt::format("it changes {}, which --lora-target-modules leaves out", fmt::join(missing, ", "));
}

// Tokens that the base model's vocabulary does not hold.
bool adds_tokens(const Value& tokens, const Launch& launch) {
  if (!tokens.is_dict() || !launch.model) return false;
  return std::ranges::any_of(tokens.as_dict(), [&](const auto& token) {
    return token.second.is_int() && token.second.as_int() >= launch.model->vocab_size;
  });
}

// What the release says against this adapter; empty: nothing.
std::string fault_of(const Value& config, const Launch& launch) {
  for (const char* key : {"target_modules", "r", "lora_alpha", "peft_type"}) {
    if (config.find(key) == nullptr) return fmt::format("{} has no {}", kFile, key);
  }
  const Value& kind = *config.find("peft_type");
  if (!kind.is_string() || ascii_lower(kind.as_string()) != "lora") {
    return fmt::format("its peft_type is {}, and LoRA alone is served", kind.repr());
  }
  if (*config.find("r") == Value(0)) return "its r is 0, and lora_alpha is divided by it";
  if (const Value* dora = config.find("use_dora"); dora != nullptr && dora->truthy()) {
    return "it is a DoRA adapter, and those are refused";
  }
  if (auto fault = fault_of_modules(*config.find("target_modules"), launch); !fault.empty()) return fault;
  const Value& rank = *config.find("r");
  const Value& most = launch[Field::max_lora_rank];
  if (rank.is_int() && most.is_int() && rank.as_int() > most.as_int()) {
    return fmt::format("its rank is {}, above --max-lora-rank {}: the first request that names it ends the scheduler",
                       rank.as_int(), most.as_int());
  }
  return {};
}

// The modules that --lora-target-modules names; false where it names none, and the adapters decide.
bool modules_given(const Launch& launch, plan::AdapterShape& shape) {
  const Value& given = launch[Field::lora_target_modules];
  const auto names = modules_in(given);
  if (!names || names->empty()) return false;
  shape.all = names->contains("all");
  if (!shape.all) shape.modules = *names;
  return true;
}

// What one adapter adds; false where it does not tell.
bool add_adapter(const Value& config, bool modules_known, bool rank_known, plan::AdapterShape& shape) {
  const Value* rank = config.find("r");
  const Value* modules = config.find("target_modules");
  if (rank == nullptr || !rank->is_int() || modules == nullptr) return false;
  if (!rank_known) shape.rank = std::max(shape.rank, rank->as_int());
  if (modules_known) return true;
  if (modules->is_string()) return shape.all_linear = *modules == Value("all") || *modules == Value("all-linear");
  const auto names = modules_in(*modules);
  if (names) shape.modules.insert(names->begin(), names->end());
  return names.has_value();
}

}  // namespace

std::optional<std::int64_t> adapter_bytes(const Launch& launch, facts::ModelFiles& files) {
  if (!launch.accepted() || launch.resolved.empty() || !launch.model) return 0;
  if (!launch[Field::enable_lora].truthy()) return 0;
  plan::AdapterShape shape;
  const Value& most = launch[Field::max_lora_rank];
  const bool rank_known = most.is_int();
  if (rank_known) shape.rank = most.as_int();
  const bool modules_known = modules_given(launch, shape);
  const Value& paths = launch[Field::lora_paths];
  for (const Value& adapter : paths.is_list() && !(rank_known && modules_known) ? paths.as_list() : Value::List{}) {
    const Value* path = adapter.is_dict() ? adapter.find("lora_path") : nullptr;
    if (path == nullptr || !path->is_string() || !files.has_file(path->as_string(), std::string(kFile)))
      return std::nullopt;
    const auto config = files.json_file(path->as_string(), std::string(kFile));
    if (!config || !config->is_dict() || !add_adapter(*config, modules_known, rank_known, shape)) return std::nullopt;
  }
  return plan::adapter_pool_bytes(LaunchView(launch), shape);
}

std::vector<Diagnostic> adapters_that_fail(const PreparedLaunch& prepared) {
  const Launch& launch = prepared.launch;
  const Rule* rule = find_rule("MD005");
  if (!launch.accepted() || launch.resolved.empty() || prepared.inputs.models == nullptr) return {};
  if (!rule->holds_in(launch.release()) || !launch[Field::enable_lora].truthy()) return {};
  const Value& paths = launch[Field::lora_paths];
  std::vector<Diagnostic> out;
  facts::ModelFiles& files = *prepared.inputs.models;
  for (const Value& adapter : paths.is_list() ? paths.as_list() : Value::List{}) {
    const Value* path = adapter.is_dict() ? adapter.find("lora_path") : nullptr;
    if (path == nullptr || !path->is_string() || !files.has_file(path->as_string(), std::string(kFile))) continue;
    const auto config = files.json_file(path->as_string(), std::string(kFile));
    std::string fault =
        config && config->is_dict() ? fault_of(*config, launch) : fmt::format("{} is not readable", kFile);
    const auto tokens = files.json_file(path->as_string(), "added_tokens.json");
    if (fault.empty() && tokens && adds_tokens(*tokens, launch))
      fault = "it adds tokens to the vocabulary, and those are refused";
    if (fault.empty()) continue;
    out.push_back(rules::from_record(*rule,
                                     fmt::format("the adapter {} cannot be served: {}", path->as_string(), fault),
                                     Field::lora_paths, launch));
  }
  return out;
}

}  // namespace preflight::commands
