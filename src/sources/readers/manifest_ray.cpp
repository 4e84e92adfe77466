// Ray: jobs with a line for a shell, and Serve applications whose engine is SGLang's, which get its keyword arguments.
// Tested by tests/sources_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/base/limits.h"
#include "src/sources/readers/manifest_reader.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

bool names_sglang(const YamlNode* node) {
  return is_scalar(node) && ascii_lower(node->text).find("sglang") != std::string::npos;
}

bool is_name(std::string_view text) {
  constexpr std::string_view kSigns = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !text.empty() && text.find_first_of("0123456789") != 0 && text.find_first_not_of(kSigns) == text.npos;
}

void add(ShellText& to, const std::string& text, std::size_t at) {
  append(to, {text, std::vector<std::size_t>(text.size(), at), {}});
}

}  // namespace

// The container of a Ray cluster's head.
ManifestReader::Around ManifestReader::head_of_cluster(const YamlNode& root, const char* cluster,
                                                       const Around& around) {
  Around out = around;
  if (const YamlNode* name = at_path(&root, {"metadata", "name"}); is_scalar(name)) out.name = name->text;
  const YamlNode* containers = at_path(&root, {"spec", cluster, "headGroupSpec", "template", "spec", "containers"});
  if (is_list(containers) && !containers->items.empty() && is_map(containers->items.front())) {
    take_image(*containers->items.front(), out);
    environments(*containers->items.front(), out, out.env, 0);
  }
  return out;
}

// The entry point of a Ray job: a line for a shell in a container of the cluster's head.
void ManifestReader::ray_job(const YamlNode& root, const Around& around) {
  const YamlNode* spec = value_of(root, "spec");
  const YamlNode* entrypoint = is_map(spec) ? value_of(*spec, "entrypoint") : nullptr;
  if (!is_scalar(entrypoint)) return;
  const Around inside = head_of_cluster(root, "rayClusterSpec", around);
  const YamlNode* environment_text = value_of(*spec, "runtimeEnvYAML");
  const ShellWord script = tree_.word(*entrypoint);
  if (!speaks(script)) return;
  if (is_scalar(environment_text) && environment_text->text.find("env_vars") != std::string::npos) {
    finder_.note({"SH002", "runtimeEnvYAML is not read: the variables that it sets are not known",
                  tree_.offset(*environment_text)});
  }
  run_script(script, context_of(inside));
}

// Serve's own file, which a RayService holds as a text.
void ManifestReader::ray_service(const YamlNode& root, const Around& around) {
  const YamlNode* config = at_path(&root, {"spec", "serveConfigV2"});
  if (!is_scalar(config)) return;
  const Around inside = head_of_cluster(root, "rayClusterConfig", around);
  const std::size_t before = finder_.found_so_far();
  const SourceText source{source_.text, given_, {}, &inside.env};
  auto done = read_part(tree_.word(*config), FileKind::kManifest, inside.name, source, finder_);
  if (!done && !error_) error_ = done.error();
  finder_.runs_in(context_of(inside), before);
}

// Applications of Ray Serve. An engine of SGLang's is handed `engine_kwargs` as they are.
void ManifestReader::ray_applications(const YamlNode& root) {
  const YamlNode* applications = value_of(root, "applications");
  if (!is_list(applications)) return;
  for (const YamlNode* application : applications->items) {
    if (!is_map(application) || value_of(*application, "import_path") == nullptr) continue;
    Values env = source_.environment == nullptr ? Values{} : *source_.environment;
    runtime_variables(*application, env);
    const YamlNode* import = value_of(*application, "import_path");
    const YamlNode* configs = at_path(application, {"args", "llm_configs"});
    if (!is_list(configs)) {
      if (names_sglang(import))
        finder_.note({"SH004",
                      fmt::format("Ray starts the program {}, which is not read: give that file", import->text),
                      tree_.offset(*import)});
      continue;
    }
    for (const YamlNode* config : configs->items) {
      if (!is_map(config)) continue;
      const bool ours = names_sglang(import) || names_sglang(value_of(*config, "server_cls")) ||
                        names_sglang(value_of(*config, "llm_engine"));
      Values own = env;
      runtime_variables(*config, own);
      if (ours) ray_engine(*config, own);
    }
  }
}

void ManifestReader::runtime_variables(const YamlNode& node, Values& env) {
  const YamlNode* variables = at_path(&node, {"runtime_env", "env_vars"});
  if (!is_map(variables)) return;
  for (const auto& [name, value] : variables->pairs) {
    if (is_scalar(name) && is_scalar(value)) env.insert_or_assign(name->text, tree_.word(*value));
  }
}

// As the program that Serve comes to.
void ManifestReader::ray_engine(const YamlNode& config, const Values& env) {
  const YamlNode* keywords = value_of(config, "engine_kwargs");
  const std::size_t at = tree_.offset(keywords != nullptr ? *keywords : config);
  ShellText program;
  add(program, "import sglang\nsglang.Engine(", at);
  if (is_map(keywords)) {
    for (const auto& [name, value] : keywords->pairs) {
      if (!is_scalar(name) || !is_name(name->text) || !python_literal(*value, program, name->text + "=", 0)) {
        finder_.note(
            {"SH004", "engine_kwargs are not understood: a key that is no name of an argument, or no plain value", at});
        return;
      }
      add(program, ", ", tree_.offset(*value));
    }
  }
  add(program, ")\n", at);
  const SourceText source{source_.text, given_, {}, &env};
  auto done = read_part(program, FileKind::kWords, {}, source, finder_);
  if (!done && !error_) error_ = done.error();
}

// A value of YAML as Python writes it; false where it is none, or too deep.
bool ManifestReader::python_literal(const YamlNode& value, ShellText& out, const std::string& front, int depth) {
  const std::size_t at = tree_.offset(value);
  if (depth > limits::kManifestDepth || !spend(1)) return false;
  add(out, front, at);
  if (is_scalar(&value)) {
    const std::string lower = ascii_lower(value.text);
    const bool holds = lower == "true" || lower == "yes" || lower == "on";
    if (value.tag == "null") {
      add(out, "None", at);
    } else if (value.tag == "bool") {
      add(out, holds ? "True" : "False", at);
    } else if (value.tag == "int" || value.tag == "float") {
      add(out, value.text, at);
    } else {
      const ShellWord word = tree_.word(value);
      if (!word.unknowns.empty()) return false;
      add(out, "\"", at);
      for (std::size_t i = 0; i < word.text.size(); ++i) {
        const char c = word.text[i];
        if (c == '\n') {
          add(out, "\\n", at);
          continue;
        }
        if (c == '"' || c == '\\') add(out, "\\", at);
        append(out, slice(word, i, i + 1));
      }
      add(out, "\"", at);
    }
    return true;
  }
  const bool list = is_list(&value);
  add(out, list ? "[" : "{", at);
  for (const YamlNode* item : value.items) {
    if (!python_literal(*item, out, "", depth + 1)) return false;
    add(out, ", ", at);
  }
  for (const auto& [name, item] : value.pairs) {
    if (!python_literal(*name, out, "", depth + 1) || !python_literal(*item, out, ": ", depth + 1)) return false;
    add(out, ", ", at);
  }
  add(out, list ? "]" : "}", at);
  return true;
}

}  // namespace preflight::sources
