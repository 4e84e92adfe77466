#include "src/commands/adapters.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/ascii_case.h"
#include "src/base/file_state.h"
#include "src/base/limits.h"
#include "src/plan/adapter_pool.h"
#include "src/rules/from_record.h"

namespace preflight::commands {
namespace {

constexpr std::string_view kFile = "adapter_config.json";
constexpr std::size_t kShown = 60;  // of a value that it quotes

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

// No model has so many modules, nor such long names: of other lists the beginning.
std::string listed(std::vector<std::string> names) {
  constexpr std::size_t kMostListed = 20;
  const std::size_t more = names.size() - std::min(names.size(), kMostListed);
  names.resize(names.size() - more);
  for (std::string& name : names) name = name.substr(0, kShown);
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

// What one adapter says of itself, whatever launch names it.
struct Adapter {
  std::string fault = {};                             // in every launch; "" for none
  Value rank = {};                                    // as it is written
  bool all_linear = false;                            // it changes every module
  std::optional<std::set<std::string>> modules = {};  // as SGLang fuses them; none where they are no list of names
  std::int64_t last_token = -1;                       // the highest of those that it adds
};

std::string fault_in(const Value& config, const Adapter& read) {
  for (const char* key : {"target_modules", "r", "lora_alpha", "peft_type"}) {
    if (config.find(key) == nullptr) return fmt::format("{} has no {}", kFile, key);
  }
  const Value& kind = *config.find("peft_type");
  if (!kind.is_string() || ascii_lower(kind.as_string()) != "lora") {
    return fmt::format("its peft_type is {}, and LoRA alone is served", kind.repr().substr(0, kShown));
  }
  if (read.rank == Value(0)) return "its r is 0, and lora_alpha is divided by it";
  if (const Value* dora = config.find("use_dora"); dora != nullptr && dora->truthy()) {
    return "it is a DoRA adapter, and those are refused";
  }
  if (read.all_linear) return {};
  if (!read.modules) return "its target_modules are no list of names, nor all or all-linear";
  if (read.modules->size() <= limits::kAdapterModules) return {};
  return fmt::format("it changes more than {} kinds of modules, and no model has so many", limits::kAdapterModules);
}

Adapter read_adapter(const std::string& path, facts::ModelFiles& files) {
  Adapter out;
  const auto config = files.json_file(path, std::string(kFile));
  if (!config || !config->is_dict()) return {.fault = fmt::format("{} is not readable", kFile)};
  if (const Value* rank = config->find("r"); rank != nullptr) out.rank = *rank;
  if (const Value* modules = config->find("target_modules"); modules != nullptr) {
    out.all_linear = *modules == Value("all") || *modules == Value("all-linear");
    out.modules = modules_in(*modules);
  }
  out.fault = fault_in(*config, out);
  if (out.modules && out.modules->size() > limits::kAdapterModules) out.modules.reset();
  const auto tokens = files.json_file(path, "added_tokens.json");
  if (!tokens || !tokens->is_dict()) return out;
  for (const auto& [_, id] : tokens->as_dict()) {
    if (id.is_int()) out.last_token = std::max(out.last_token, id.as_int());
  }
  return out;
}

// Each state of an adapter is read once, however many names, launches and tries ask for it. None: it is not here.
std::shared_ptr<const Adapter> adapter_at(const Value& named, facts::ModelFiles& files) {
  using State = std::pair<FileState, FileState>;
  static std::mutex guard;
  static std::map<State, std::shared_ptr<const Adapter>> kept;
  const Value* path = named.is_dict() ? named.find("lora_path") : nullptr;
  if (path == nullptr || !path->is_string() || !files.has_file(path->as_string(), std::string(kFile))) return nullptr;
  const auto place = files.place_of(path->as_string());
  const std::string folder = place && !place->directory.empty() ? place->directory : files.here(path->as_string());
  const auto state = settled_state(folder + "/" + std::string(kFile));
  const std::string tokens = folder + "/added_tokens.json";
  const auto beside = settled_state(tokens);
  std::error_code ignored;
  if (!state || (!beside && std::filesystem::exists(tokens, ignored)))
    return std::make_shared<const Adapter>(read_adapter(path->as_string(), files));
  const std::scoped_lock lock(guard);
  const State key{*state, beside.value_or(FileState{})};
  if (const auto known = kept.find(key); known != kept.end()) return known->second;
  if (kept.size() >= limits::kAdapters) kept.clear();
  return kept.emplace(key, std::make_shared<const Adapter>(read_adapter(path->as_string(), files))).first->second;
}

// The adapters of a launch that are looked at.
std::span<const Value> adapters_of(const Launch& launch) {
  const Value& paths = launch[Field::lora_paths];
  if (!paths.is_list()) return {};
  const auto& all = paths.as_list();
  return std::span(all).first(std::min(all.size(), limits::kAdapters));
}

// What the release says against this adapter in this launch, whose modules have `room`; empty: nothing.
std::string fault_of(const Adapter& adapter, const std::optional<std::set<std::string>>& room, const Launch& launch) {
  if (!adapter.fault.empty()) return adapter.fault;
  std::vector<std::string> missing;
  if (room && adapter.modules) std::ranges::set_difference(*adapter.modules, *room, std::back_inserter(missing));
  if (!missing.empty()) return fmt::format("it changes {}, which --lora-target-modules leaves out", listed(missing));
  const Value& most = launch[Field::max_lora_rank];
  if (adapter.rank.is_int() && most.is_int() && adapter.rank.as_int() > most.as_int()) {
    return fmt::format("its rank is {}, above --max-lora-rank {}: the first request that names it ends the scheduler",
                       adapter.rank.as_int(), most.as_int());
  }
  // Tokens that the base model's vocabulary does not hold.
  const bool adds = launch.model && adapter.last_token >= launch.model->vocab_size && adapter.last_token >= 0;
  return adds ? "it adds tokens to the vocabulary, and those are refused" : "";
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
bool add_adapter(const Adapter& adapter, bool modules_known, bool rank_known, plan::AdapterShape& shape) {
  if (!adapter.rank.is_int()) return false;
  if (!rank_known) shape.rank = std::max(shape.rank, adapter.rank.as_int());
  if (modules_known) return true;
  if (adapter.all_linear) return shape.all_linear = true;
  if (adapter.modules) shape.modules.insert(adapter.modules->begin(), adapter.modules->end());
  return adapter.modules.has_value();
}

// Whether the launch has adapters that this release reads.
bool serves_adapters(const Launch& launch) {
  return launch.accepted() && !launch.resolved.empty() && launch[Field::enable_lora].truthy();
}

}  // namespace

std::optional<std::int64_t> adapter_bytes(const Launch& launch, facts::ModelFiles& files) {
  if (!launch.model || !serves_adapters(launch)) return 0;
  plan::AdapterShape shape;
  const Value& most = launch[Field::max_lora_rank];
  const bool rank_known = most.is_int();
  if (rank_known) shape.rank = most.as_int();
  const bool modules_known = modules_given(launch, shape);
  if (!(rank_known && modules_known)) {
    if (adapters_left_out(launch) > 0) return std::nullopt;
    for (const Value& named : adapters_of(launch)) {
      const auto adapter = adapter_at(named, files);
      if (adapter == nullptr || !add_adapter(*adapter, modules_known, rank_known, shape)) return std::nullopt;
    }
  }
  return plan::adapter_pool_bytes(LaunchView(launch), shape);
}

std::size_t adapters_left_out(const Launch& launch) {
  if (!serves_adapters(launch) || !launch[Field::lora_paths].is_list()) return 0;
  return launch[Field::lora_paths].as_list().size() - adapters_of(launch).size();
}

std::vector<Diagnostic> adapters_that_fail(const PreparedLaunch& prepared) {
  const Launch& launch = prepared.launch;
  const Rule* rule = find_rule("MD005");
  if (!serves_adapters(launch) || prepared.inputs.models == nullptr || !rule->holds_in(launch.release())) return {};
  const auto room = modules_of_launch(launch);
  std::vector<Diagnostic> out;
  for (const Value& named : adapters_of(launch)) {
    const auto adapter = adapter_at(named, *prepared.inputs.models);
    if (adapter == nullptr) continue;
    const std::string fault = fault_of(*adapter, room, launch);
    if (fault.empty()) continue;
    out.push_back(rules::from_record(
        *rule, fmt::format("the adapter {} cannot be served: {}", named.find("lora_path")->as_string(), fault),
        Field::lora_paths, launch));
  }
  return out;
}

}  // namespace preflight::commands
