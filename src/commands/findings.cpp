// Tested by tests/check_cli_test.cpp.
#include "src/commands/findings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/base/limits.h"
#include "src/base/shell_words.h"
#include "src/commands/adapters.h"
#include "src/commands/folder_files.h"
#include "src/facts/container_view.h"
#include "src/facts/draft_model.h"
#include "src/facts/gguf/gguf_tensors.h"
#include "src/facts/launch_variables.h"
#include "src/facts/model_cache.h"
#include "src/facts/model_classes.h"
#include "src/facts/model_weights.h"
#include "src/facts/remote_code.h"
#include "src/facts/known_models.h"
#include "src/plan/stored_weights.h"
#include "src/plan/tensor_shapes.h"
#include "src/rules/beside.h"
#include "src/rules/from_record.h"
#include "src/rules/remedy_words.h"

namespace preflight::commands {
namespace {

// Whether the rule was decided by a value that stands in for a fact nobody gave.
bool undecided(const Rule& rule, const PreparedLaunch& prepared) {
  if (!prepared.facts_by_option) return false;
  if (rule.need == RuleNeed::kWholeModel) return true;
  return std::ranges::any_of(prepared.assumed_facts, [&](const AssumedFact& assumed) {
    return std::ranges::find(rule.decided_by, assumed.name) != rule.decided_by.end();
  });
}

// Rules that ran on stand-in values have decided nothing.
void count_undecided(const PreparedLaunch& prepared, Coverage& coverage) {
  if (!prepared.facts_by_option) return;
  for (const Rule& rule : all_rules()) {
    if (rule.check == nullptr || !rule.holds_in(prepared.launch.release()) || !undecided(rule, prepared)) continue;
    --coverage.applied;
    coverage.not_checked.push_back({&rule, "a fact about the model that it needs is not given"});
  }
}

// Adapters behind the first ones of a list that no launch has.
void count_left_out(const PreparedLaunch& prepared, Coverage& coverage) {
  const std::size_t left_out = adapters_left_out(prepared.launch);
  if (left_out == 0) return;
  coverage.not_checked.insert(coverage.not_checked.begin(),
                              {find_rule("MD005"), fmt::format("of {} adapters the first {} are looked at",
                                                               left_out + limits::kAdapters, limits::kAdapters)});
}

// A hub's id: ORG/NAME of letters, digits and -._, where no part begins with a dot.
bool is_hub_id(std::string_view path) {
  const auto slash = path.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == path.size()) return false;
  if (path.front() == '.' || path[slash + 1] == '.') return false;
  return std::count(path.begin(), path.end(), '/') == 1 && std::all_of(path.begin(), path.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
         });
}

// A revision that was given is another snapshot of the cache.
std::string revision_words(const Launch& launch, bool draft) {
  const Field field = draft ? Field::speculative_draft_model_revision : Field::revision;
  if (launch.args.raw.empty() || !field_exists(field, launch.release())) return "";
  const Value& given = launch.args[field];
  return given.is_string() && !given.as_string().empty() ? " --revision " + shell_words({given.as_string()}) : "";
}

// What may have been meant, else one small file that settles it: the caches are looked into, so that the launch itself
// stays as it is.
std::string how_to_know(const std::string& path, const Launch& launch, bool draft) {
  const auto nearest = facts::nearest_models(path);
  const auto sizes = facts::other_sizes(path);
  std::string out;
  if (!nearest.empty()) {
    out = fmt::format("Did you mean {}? ", fmt::join(nearest, " or "));
  } else if (!sizes.empty()) {
    out = fmt::format("Known in other sizes: {}. ", fmt::join(sizes, ", "));
  }
  if (!is_hub_id(path)) return out;
  return out +
         fmt::format("{}`hf download {} config.json{}` fetches {} configuration alone, and the next check finds it. ",
                     nearest.empty() ? "" : "If not, ", path, revision_words(launch, draft),
                     draft ? "the draft's" : "its");
}

Diagnostic unknown_model(const UnknownModel& model, const Launch& launch) {
  const auto& [path, draft, absurd] = model;
  const Rule* rule = find_rule("MD001");
  const Field field = draft ? Field::speculative_draft_model_path : Field::model_path;
  const GivenOption* given = launch.args.last_given(field);
  if (!absurd.empty()) {
    return {.rule = std::string(rule->id),
            .severity = rule->severity,
            .field = field,
            .message = absurd,
            .why = "Nothing about this launch can be judged by it.",
            .fix = "Give numbers as the model's authors published them, and as this launch can have them.",
            .where = given != nullptr ? given->where : SourceRange{}};
  }
  return {.rule = std::string(rule->id),
          .severity = rule->severity,
          .field = field,
          .message = fmt::format("nothing is known about the {} {}", draft ? "draft model" : "model", path),
          .why = draft ? "It is neither a directory with a config.json nor an id this build knows. SGLang reads its "
                         "configuration in the middle of the resolution: what comes behind that is not checked."
                       : std::string(rule->why),
          .fix = how_to_know(path, launch, draft) +
                 (draft ? "Give --draft-model-config FILE with its config.json." : std::string(rule->fix)),
          .where = given != nullptr ? given->where : SourceRange{}};
}

Diagnostic assumed_facts(const std::vector<AssumedFact>& assumed) {
  const Rule* rule = find_rule("MD002");
  std::string list;
  for (const AssumedFact& fact : assumed) {
    list += fmt::format("{}{} ({} stands in)", list.empty() ? "" : ", ", fact.name, fact.stand_in);
  }
  return {.rule = std::string(rule->id),
          .severity = rule->severity,
          .message = "these facts about the model were not given: " + list,
          .why = std::string(rule->why),
          .fix = fmt::format("Add --fact {}=VALUE, or give --model-config FILE.", assumed.front().name)};
}

// Remote code is a fact that is not known: the launch goes on with what config.json says.
// Other formats read other files, or none.
bool reads_safetensors(const Value& load_format) {
  constexpr std::array<std::string_view, 10> kFormats = {
      "auto",     "safetensors",  "fastsafetensors", "instanttensor", "layered",
      "flash_rl", "bitsandbytes", "sharded_state",   "presharded",    "runai_streamer"};
  return load_format.is_string() && std::ranges::find(kFormats, load_format.as_string()) != kFormats.end();
}

Diagnostic damage(const std::string& message, Field field, const Launch& launch) {
  return rules::from_record(*find_rule("MD004"), message, field, launch);
}

// The hub's downloader completes a snapshot before it is loaded, unless its variables forbid it to ask.
bool is_completed_first(const facts::ModelPlace& place, const facts::WeightFiles& files, const Launch& launch) {
  return files.only_absent && place.kind == facts::kHubCache && !facts::asks_no_hub(launch.env);
}

Diagnostic to_be_downloaded(const std::string& message, Field field, const Launch& launch) {
  Diagnostic out = damage(message + ": SGLang downloads it before it loads", field, launch);
  out.severity = Severity::kInfo;
  return out;
}

// An index that was fetched for its sizes is no damaged checkpoint: nobody may mean to start the server here.
std::optional<Diagnostic> files_elsewhere(const std::string& directory, Field field, const Launch& launch) {
  const std::size_t named = facts::files_named_by_index(directory);
  if (named == 0) return std::nullopt;
  const std::string absent = named == 1
                                 ? "the weight file that its index names is not there"
                                 : fmt::format("none of the {} weight files that its index names are there", named);
  return rules::from_record(*find_rule("MD007"), fmt::format("{}: {}", directory, absent), field, launch);
}

// Whether the class wants what the index names is not known: it may be left over.
Diagnostic not_in_files(const std::string& directory, const std::string& unstored, Field field, const Launch& launch) {
  Diagnostic out =
      rules::from_record(*find_rule("MD006"),
                         fmt::format("{}: no file holds what the index names: {}", directory, unstored), field, launch);
  out.severity = Severity::kWarning;
  return out;
}

// Whatever the class, no parameter of it is filled.
Diagnostic hold_nothing(std::string_view files, Field field, const Launch& launch) {
  return rules::from_record(*find_rule("MD006"), fmt::format("{}: no tensor is stored here", files), field, launch);
}

std::optional<Diagnostic> incomplete_gguf(const facts::GgufFile& file, Field field, const Launch& launch) {
  if (file.tensors.empty()) return hold_nothing(launch[field].as_string(), field, launch);
  const facts::LackingTensors lacking = facts::lacking_tensors(file);
  if (lacking.names.empty()) return std::nullopt;
  const std::string named = lacking.names.size() == 1 ? lacking.names.front() : lacking.names.front() + " and others";
  return rules::from_record(*find_rule("MD006"),
                            fmt::format("{}: {} of the {} tensors of its class are not in it: {}",
                                        launch[field].as_string(), lacking.names.size(), lacking.of, named),
                            field, launch);
}

// Packed weights, where a file beside config.json describes them and nobody names their method, are no fault of theirs.
Diagnostic do_not_fit(std::string message, Field field, const Launch& launch) {
  std::vector<Remedy> remedies;
  const bool is_of_model = field == Field::model_path && launch.args.last_given(Field::quantization) == nullptr;
  if (is_of_model && launch.model->described_beside)
    remedies = {rules::to_give("--quantization", {launch.model->described_beside->method})};
  return rules::from_record(*find_rule("MD006"), std::move(message), field, launch, std::move(remedies));
}

// What the model's own files lack. A model of the built-in table has none here.
std::optional<Diagnostic> damaged_weights(const PreparedLaunch& prepared, Field field) {
  const Launch& launch = prepared.launch;
  if (prepared.inputs.models == nullptr || !launch.accepted() || launch.resolved.empty()) return std::nullopt;
  const auto gguf = facts::gguf_of(launch, field, *prepared.inputs.models);
  if (!gguf) return damage(gguf.error().message, field, launch);
  if (*gguf != nullptr) return incomplete_gguf(**gguf, field, launch);
  const Value& path = launch[field];
  if (!path.is_string() || path.as_string().empty() || !reads_safetensors(launch[Field::load_format]))
    return std::nullopt;
  const auto place = prepared.inputs.models->place_of(path.as_string());
  if (!place || place->directory.empty() || place->kind == facts::kHostsHubCache) return std::nullopt;
  const auto files = prepared.inputs.models->weights_in(place->directory);
  if (!files) return files_elsewhere(place->directory, field, launch);
  if (!files->faults.empty()) {
    const std::string what = fmt::format("{}: {}", place->directory, fmt::join(files->faults, "; "));
    return is_completed_first(*place, *files, launch) ? to_be_downloaded(what, field, launch)
                                                      : damage(what, field, launch);
  }
  if (files->tensors.empty()) return hold_nothing(place->directory, field, launch);
  const bool counts = field == Field::model_path && launch.model != nullptr;
  std::string other = counts ? plan::misshapen_tensor(*launch.model, *files) : "";
  if (counts && other.empty()) other = plan::absent_scales(*launch.model, *files);
  if (!other.empty()) return do_not_fit(fmt::format("{}: {}", place->directory, other), field, launch);
  const auto filled = counts ? plan::filled_parameters(*launch.model, *files) : std::nullopt;
  if (!filled && !files->unstored.empty()) return not_in_files(place->directory, files->unstored, field, launch);
  if (!filled || !filled->falls_short()) return std::nullopt;
  constexpr double kMib = 1024.0 * 1024;
  return do_not_fit(
      fmt::format("{}: of {:.1f} MiB that {} allocates, the files hold {:.1f}: tensors are missing, smaller or named "
                  "otherwise",
                  place->directory, static_cast<double>(filled->allocated) / kMib, launch.model->architectures.front(),
                  static_cast<double>(filled->stored) / kMib),
      field, launch);
}

// Rules are those of a release; of one that nobody here knows none is.
CheckResult nothing_checked(const std::string& release) {
  CheckResult out;
  for (const Rule& rule : all_rules()) {
    if (rule.check != nullptr)
      out.coverage.not_checked.push_back({&rule, fmt::format("nothing is known about SGLang {}", release)});
  }
  return out;
}

// By its form: any other text may be an id of the hub or a template's name.
bool is_local_path(std::string_view text) {
  return text.starts_with('/') || text.starts_with("./") || text.starts_with("../");
}

// Templates that SGLang knows by name, in 0.5.14 to 0.5.23: srt/parser/conversation.py, python_chat_template.py and
// code_completion_parser.py.
bool is_template_name(std::string_view text) {
  constexpr std::array<std::string_view, 32> kNames = {
      "llama-2",      "mistral",     "devstral",       "llama-4",         "phi-4-mm",      "chatml",
      "chatml-llava", "vicuna_v1.1", "llama_3_vision", "llava_llama_3",   "gemma-it",      "internlm2-chat",
      "internvl-2-5", "qwen2-vl",    "deepseek-ocr",   "unlimited-ocr",   "paddle-ocr",    "deepseek-vl2",
      "gme-qwen2-vl", "minicpmv",    "janus-pro",      "minicpmo",        "kimi-vl",       "qwen2-audio",
      "moss-vl",      "whisper",     "glm-5.3",        "points-v15-chat", "glm-5.3-flash", "deepseek_coder",
      "star_coder",   "qwen_coder"};
  return std::ranges::find(kNames, text) != kNames.end();
}

bool names_template(Field field) { return field == Field::chat_template || field == Field::completion_template; }

// Earlier releases than those that were read may know other names; none of a file's form.
bool may_be_named(std::string_view text, Release release) {
  return is_template_name(text) ||
         (release < v0_5(14) && !text.ends_with(".jinja") && !text.ends_with(".json") && !is_local_path(text));
}

// Paths that the launch names beside its model's, by option.
std::vector<std::pair<Field, std::string>> paths_beside_model(const Launch& launch) {
  std::vector<std::pair<Field, std::string>> out;
  for (const Field field : {Field::tokenizer_path, Field::chat_template, Field::completion_template}) {
    const Value& path = launch[field];
    if (launch.args.last_given(field) != nullptr && path.is_string()) out.emplace_back(field, path.as_string());
  }
  const Value& adapters = launch[Field::lora_paths];
  for (const Value& adapter : adapters.is_list() ? adapters.as_list() : Value::List{}) {
    const Value* path = adapter.is_dict() ? adapter.find("lora_path") : nullptr;
    if (path != nullptr && path->is_string()) out.emplace_back(Field::lora_paths, path->as_string());
  }
  return out;
}

// A launch whose model lies elsewhere may have all of it there.
std::vector<Diagnostic> absent_paths(const PreparedLaunch& prepared) {
  const Launch& launch = prepared.launch;
  if (!launch.accepted() || launch.resolved.empty() || prepared.inputs.models == nullptr) return {};
  if (prepared.unknown_model && is_local_path(prepared.unknown_model->path)) return {};
  // Which folder of its image a container starts in is not known.
  const bool contained = prepared.read && !prepared.read->image.empty();
  std::vector<Diagnostic> out;
  for (const auto& [field, path] : paths_beside_model(launch)) {
    const std::string here = prepared.inputs.models->here(path);
    std::error_code ignored;
    const bool is_name = names_template(field) && !is_local_path(path);
    if (is_name ? contained || may_be_named(path, launch.release()) : !is_local_path(path)) continue;
    if (facts::is_containers_own(here) || std::filesystem::exists(here, ignored)) continue;
    const std::string what = is_name ? "no template that SGLang has by name, and there is no such file here"
                                     : "there is no such file or folder here";
    out.push_back(rules::from_record(*find_rule("MD008"), fmt::format("{}: {}", path, what), field, launch));
  }
  return out;
}

}  // namespace

std::optional<Diagnostic> own_code_not_run(const PreparedLaunch& prepared) {
  const Launch& launch = prepared.launch;
  if (!launch.model || prepared.inputs.models == nullptr || !launch[Field::trust_remote_code].truthy()) return {};
  const auto config = prepared.inputs.models->config_of(launch.model->path);
  if (!config || *config == nullptr || !facts::runs_own_code(launch.release(), **config, true)) return {};
  const Rule* rule = find_rule("MD003");
  const GivenOption* given = launch.args.last_given(Field::trust_remote_code);
  const std::string file = facts::own_code_file(**config);
  return Diagnostic{
      .rule = std::string(rule->id),
      .severity = rule->severity,
      .field = Field::trust_remote_code,
      .message = fmt::format("the checkpoint's own code{} was not run: the values are those of config.json",
                             file.empty() ? "" : " (" + file + ")"),
      .why = std::string(rule->why),
      .fix = std::string(rule->fix),
      .where = given != nullptr ? given->where : SourceRange{}};
}

// A class that the checkpoint alone has, in files that are not there. SGLang asks for all that auto_map names at once.
std::optional<Diagnostic> own_class_absent(const PreparedLaunch& prepared) {
  const Launch& launch = prepared.launch;
  if (!launch.model || prepared.inputs.models == nullptr) return {};
  facts::ModelSource& models = *prepared.inputs.models;
  const ModelFacts& model = *launch.model;
  const Value map = model.root("auto_map");
  const auto package = launch.env.find("SGLANG_EXTERNAL_MODEL_PACKAGE");
  const std::string impl = launch[Field::model_impl].is_string() ? launch[Field::model_impl].as_string() : "";
  if (!map.is_dict() || map.find("AutoModel") == nullptr || impl == "transformers" || impl == "mindspore") return {};
  if ((package != launch.env.end() && !package->second.empty()) || !models.has_file(model.path, ".")) return {};
  const auto elsewhere = [&](const std::string& name) {
    return facts::model_class(name, launch.release()) != facts::ModelClass::kNone;
  };
  if (model.architectures.empty() || std::ranges::any_of(model.architectures, elsewhere)) return {};
  for (const auto& [task, code] : map.as_dict()) {
    if (!code.is_string() || code.as_string().find("--") != std::string::npos) continue;
    const std::string file = code.as_string().substr(0, code.as_string().find('.')) + ".py";
    if (models.has_file(model.path, file)) continue;
    return rules::from_record(
        *find_rule("MC001"),
        fmt::format("only the checkpoint has a class for {}, and {} is not beside its config.json",
                    model.architectures.front(), file),
        Field::model_path, launch);
  }
  return {};
}

bool shapes_assumed(const PreparedLaunch& prepared) {
  return std::ranges::any_of(prepared.assumed_facts, [](const AssumedFact& fact) {
    return fact.name == "num_q_heads" || fact.name == "num_kv_heads" || fact.name == "head_dim";
  });
}

std::string left_open_by(const UnknownModel& model) {
  return fmt::format("nothing is known about the {}model {}; values that depend on it are not resolved",
                     model.is_draft ? "draft " : "", model.path);
}

std::vector<Diagnostic> findings_of(const PreparedLaunch& prepared, const CheckOptions& options, Coverage& coverage) {
  std::vector<Diagnostic> findings = prepared.notes;
  rules::Beside beside{.sharing = prepared.inputs.sharing, .memory = prepared.inputs.memory};
  if (prepared.inputs.models != nullptr) {
    beside.draft = facts::draft_model_of(prepared.launch, *prepared.inputs.models);
    beside.files = facts::weights_of(prepared.launch, *prepared.inputs.models);
    beside.gguf = facts::gguf_of(prepared.launch, Field::model_path, *prepared.inputs.models).value_or(nullptr);
  }
  CheckResult result = prepared.foreign_release.empty() ? rules::check_beside(prepared.launch, beside, options)
                                                        : nothing_checked(prepared.foreign_release);
  coverage = std::move(result.coverage);
  if (prepared.unknown_model) findings.push_back(unknown_model(*prepared.unknown_model, prepared.launch));
  if (!prepared.assumed_facts.empty()) findings.push_back(assumed_facts(prepared.assumed_facts));
  if (auto note = own_code_not_run(prepared)) findings.push_back(std::move(*note));
  if (auto absent = own_class_absent(prepared)) findings.push_back(std::move(*absent));
  for (const Field field : {Field::model_path, Field::speculative_draft_model_path}) {
    if (auto damage = damaged_weights(prepared, field)) findings.push_back(std::move(*damage));
  }
  if (auto tokenizer = unread_tokenizer(prepared)) findings.push_back(std::move(*tokenizer));
  if (auto none = no_files_of_format(prepared)) findings.push_back(std::move(*none));
  if (auto embeds = embeddings_not_asked_for(prepared)) findings.push_back(std::move(*embeds));
  for (Diagnostic& d : adapters_that_fail(prepared)) findings.push_back(std::move(d));
  for (Diagnostic& d : absent_paths(prepared)) findings.push_back(std::move(d));
  count_undecided(prepared, coverage);
  count_left_out(prepared, coverage);
  for (auto& d : result.diagnostics) {
    const Rule* rule = find_rule(d.rule);
    if (rule == nullptr || !undecided(*rule, prepared)) findings.push_back(std::move(d));
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.severity > b.severity; });
  return findings;
}

}  // namespace preflight::commands
