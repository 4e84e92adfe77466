#include "src/commands/folder_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "src/base/ascii_case.h"
#include "src/base/read_text.h"
#include "src/facts/model_cache.h"
#include "src/rules/from_record.h"
#include "src/rules/remedy_words.h"

namespace preflight::commands {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVocabulary = "tokenizer.json";
constexpr std::string_view kSettings = "tokenizer_config.json";
// Longer ones are looked at where a cut shows: reading one whole takes longer than all else that is checked.
constexpr std::uintmax_t kReadWhole = std::uintmax_t{1} << 20U;

bool is_looked_at(const PreparedLaunch& prepared) {
  const Launch& launch = prepared.launch;
  return launch.accepted() && !launch.resolved.empty() && prepared.inputs.models != nullptr;
}

// "" where it is JSON as far as it was looked at; the vocabulary's reader is stricter than Python.
std::string fault_of_json(const fs::path& file, bool strict) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  if (error) return "";
  if (size == 0) return "is empty";
  std::ifstream in(file, std::ios::binary);
  if (!in) return "cannot be read";
  std::string start(std::min<std::uintmax_t>(size, 8), '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (start == "version ") return "is a Git LFS pointer, not the file";
  if (size > kReadWhole) {
    std::string end(64, '\0');
    in.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
    in.read(end.data(), static_cast<std::streamsize>(end.size()));
    const auto last = std::find_if(end.rbegin(), end.rend(), [](unsigned char c) { return std::isspace(c) == 0; });
    return last == end.rend() || *last == '}' ? "" : "is cut short: no } ends it";
  }
  const auto text = read_text(file.string());
  if (!text) return "cannot be read";
  const bool is_json = strict ? nlohmann::json::accept(*text) : Value::parse_json(*text).has_value();
  return is_json ? "" : "is no JSON, or cut short";
}

// A name by which tokenizers of any kind keep what they know; a class of the checkpoint's own is one, too.
bool is_of_a_tokenizer(const std::string& name) {
  constexpr std::array<std::string_view, 8> kParts = {"token",         "vocab", "merges", "spiece",
                                                      "sentencepiece", "spm",   "bpe",    "tekken"};
  const std::string lower = ascii_lower(name);
  if (lower == "added_tokens.json" || lower == "special_tokens_map.json") return false;
  return std::ranges::any_of(kParts, [&](std::string_view part) { return lower.find(part) != std::string::npos; });
}

bool has_tokenizer(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (is_of_a_tokenizer(it->path().filename().string())) return true;
  }
  return static_cast<bool>(error);  // what cannot be listed is not known to lack one
}

std::string damage_of_tokenizer(const fs::path& directory, const Launch& launch) {
  std::error_code ignored;
  if (fs::exists(directory / "tekken.json", ignored)) return "";  // Mistral's own reader takes that
  std::vector<std::string> faults;
  const std::string settings = fault_of_json(directory / kSettings, false);
  if (!settings.empty()) faults.push_back(fmt::format("{} {}", kSettings, settings));
  // A class of the checkpoint's own reads what it likes, a slow one the older files.
  const bool own = launch[Field::trust_remote_code].truthy() || launch[Field::tokenizer_mode] != Value("auto");
  const std::string vocabulary = own ? "" : fault_of_json(directory / kVocabulary, true);
  if (!vocabulary.empty()) faults.push_back(fmt::format("{} {}", kVocabulary, vocabulary));
  return fmt::format("{}", fmt::join(faults, "; "));
}

bool has_weights(facts::ModelFiles& files, const std::string& path) {
  return std::ranges::any_of(std::array{"*.safetensors", "*.bin", "*.pt", "*.pth", "*.gguf"},
                             [&](const char* pattern) { return files.has_file(path, pattern); });
}

// What the format's loader takes; none: it looks otherwise, or not here. *.pt is every class's last resort but that of
// a few, which then find less.
std::vector<std::string> patterns_of(std::string_view format) {
  if (format == "auto" || format == "layered" || format == "flash_rl") return {"*.safetensors", "*.bin", "*.pt"};
  if (format == "safetensors" || format == "fastsafetensors" || format == "instanttensor")
    return {"*.safetensors", "*.pt"};
  if (format == "mistral") return {"consolidated*.safetensors", "*.pt"};
  if (format == "pt") return {"*.pt"};
  if (format == "npcache") return {"*.bin", "*.pt"};
  if (format == "sharded_state") return {"model-rank-0-part-*.safetensors"};
  return {};
}

// A pattern of the launch's own, or a class that keeps its weights in folders of their own.
bool looks_elsewhere(const Launch& launch) {
  const Value& more = launch[Field::model_loader_extra_config];
  const bool own_pattern = more.is_string() ? more != Value("{}") && more != Value("") : more.truthy();
  return own_pattern || launch.model == nullptr ||
         std::ranges::any_of(launch.model->architectures,
                             [](const std::string& name) { return name.starts_with("Cosmos"); });
}

// One of the steps that sentence-transformers runs a text through makes one vector of all tokens'.
bool pools(const Value& modules) {
  if (!modules.is_list()) return false;
  return std::ranges::any_of(modules.as_list(), [](const Value& module) {
    const Value* type = module.is_dict() ? module.find("type") : nullptr;
    return type != nullptr && type->is_string() && type->as_string().ends_with(".Pooling");
  });
}

}  // namespace

std::optional<Diagnostic> unread_tokenizer(const PreparedLaunch& prepared) {
  const Launch& launch = prepared.launch;
  if (!is_looked_at(prepared) || launch[Field::skip_tokenizer_init].truthy()) return std::nullopt;
  const Value& path = launch[Field::tokenizer_path];
  if (!path.is_string() || path.as_string().empty()) return std::nullopt;
  facts::ModelFiles& files = *prepared.inputs.models;
  const auto place = files.place_of(path.as_string());
  std::error_code ignored;
  if (!place || place->directory.empty() || !fs::is_directory(place->directory, ignored)) return std::nullopt;
  if (place->kind == facts::kHostsHubCache) return std::nullopt;
  const bool own = launch.args.last_given(Field::tokenizer_path) != nullptr;
  const Field field = own ? Field::tokenizer_path : Field::model_path;
  const Rule& rule = *find_rule("MD009");
  if (const std::string damage = damage_of_tokenizer(place->directory, launch); !damage.empty())
    return rules::from_record(rule, fmt::format("{}: {}", place->directory, damage), field, launch);
  // A folder without weights is no checkpoint yet: what is there was fetched for its sizes.
  const bool complete = own || has_weights(files, path.as_string());
  if (place->kind == facts::kHubCache || !complete || has_tokenizer(place->directory)) return std::nullopt;
  Diagnostic out = rules::from_record(rule, fmt::format("{}: there is no tokenizer in this folder", place->directory),
                                      field, launch);
  out.severity = Severity::kWarning;
  return out;
}

std::optional<Diagnostic> no_files_of_format(const PreparedLaunch& prepared) {
  const Launch& launch = prepared.launch;
  if (!is_looked_at(prepared) || looks_elsewhere(launch)) return std::nullopt;
  const Value& path = launch[Field::model_path];
  const Value& format = launch[Field::load_format];
  if (!path.is_string() || !format.is_string()) return std::nullopt;
  facts::ModelFiles& files = *prepared.inputs.models;
  const auto place = files.place_of(path.as_string());
  std::error_code ignored;
  if (!place || place->kind != "directory" || !fs::is_directory(place->directory, ignored)) return std::nullopt;
  if (!has_weights(files, path.as_string())) return std::nullopt;
  const Field field = launch.args.last_given(Field::load_format) != nullptr ? Field::load_format : Field::model_path;
  const Rule& rule = *find_rule("MD010");
  if (format == Value("gguf"))
    return rules::from_record(
        rule, fmt::format("{}: --load-format gguf wants a file, and this is a folder", place->directory), field,
        launch);
  const std::vector<std::string> patterns = patterns_of(format.as_string());
  if (patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
        return files.has_file(path.as_string(), pattern);
      }))
    return std::nullopt;
  return rules::from_record(rule,
                            fmt::format("{}: no weights for --load-format {}, which looks for {}", place->directory,
                                        format.as_string(), fmt::join(patterns, ", ")),
                            field, launch);
}

std::optional<Diagnostic> embeddings_not_asked_for(const PreparedLaunch& prepared) {
  const Launch& launch = prepared.launch;
  if (!is_looked_at(prepared) || launch.model == nullptr || !launch.model->is_generation) return std::nullopt;
  const Value& path = launch[Field::model_path];
  if (!path.is_string() || launch[Field::is_embedding].truthy()) return std::nullopt;
  const auto modules = prepared.inputs.models->json_file(path.as_string(), "modules.json");
  if (!modules || !pools(*modules)) return std::nullopt;
  const Rule& rule = *find_rule("MD011");
  return rules::from_record(
      rule,
      fmt::format("{}: by its modules.json it makes embeddings, and without --is-embedding this server generates text",
                  path.as_string()),
      Field::model_path, launch);
}

}  // namespace preflight::commands
