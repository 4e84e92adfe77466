// What kind of file a text is, by its name where it has one and by what stands in it. Tested by tests/sources_test.cpp.
#include <algorithm>
#include <array>

#include "src/base/ascii_case.h"
#include "src/sources/container_command.h"
#include "src/sources/readers/config_options.h"
#include "src/sources/readers/readers.h"

namespace preflight::sources {
namespace {

// The first word of a line, after blanks and "- ".
std::string_view first_word(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t-");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_first_of(" \t:\r", begin) - begin);
}

bool has_line(std::string_view text, std::string_view start) {
  for (auto at = text.find(start); at != std::string_view::npos; at = text.find(start, at + 1)) {
    if (at == 0 || text[at - 1] == '\n') return true;
  }
  return false;
}

// A chat template given as a value: Jinja over the messages of a request, which SGLang fills in.
bool in_chat_template(std::string_view text, std::size_t at) {
  constexpr std::size_t kNear = 1024;
  const std::string_view front = text.substr(at - std::min(at, kNear), std::min(at, kNear));
  const std::string_view behind = text.substr(at, kNear);
  const auto newline = front.rfind('\n');
  const auto says = [&](std::string_view word) {
    return front.substr(newline == front.npos ? 0 : newline).find(word) != front.npos ||
           behind.substr(0, behind.find('\n')).find(word) != behind.npos;
  };
  return says("{%") && says("message");
}

// What docker and its kin are to print, `docker ps --format '{{.Names}}'`: these fill it in, and nothing before them.
bool in_output_format(std::string_view text, std::size_t at) {
  const std::string_view inside = text.substr(std::min(text.find_first_not_of(" \t-", at + 2), text.size()));
  const auto begins = [&](std::string_view word) { return inside.starts_with(word); };
  const bool of_go = begins(".") || begins("json ") || begins("range ") || begins("index ") || begins("end}") ||
                     begins("len ") || begins("if .");
  for (const std::string_view root : {".Values", ".Release", ".Chart", ".Files", ".Capabilities", "if .Values"}) {
    if (!of_go || begins(root)) return false;
  }
  constexpr std::size_t kNear = 1024;
  std::string_view line = text.substr(at - std::min(at, kNear), std::min(at, kNear));
  line.remove_prefix(line.rfind('\n') + 1);  // npos + 1 is 0
  for (const std::string_view option : {"--format", " -f", "--template", "go-template"}) {
    const auto behind = line.rfind(option);
    const std::string_view value = behind == line.npos ? std::string_view() : line.substr(behind + option.size());
    if (!value.starts_with(' ') && !value.starts_with('=')) continue;
    const bool quoted = value.size() > 1 && (value[1] == '\'' || value[1] == '"');
    const std::string_view end = quoted ? value.substr(1, 1) : std::string_view(" ");
    if (value.find(end, quoted ? 2 : 1) == value.npos) return true;
  }
  return false;
}

// "{{" of a template, not "${{" of a workflow.
bool has_template(std::string_view text) {
  for (auto at = text.find("{{"); at != std::string_view::npos; at = text.find("{{", at + 2)) {
    if ((at > 0 && text[at - 1] == '$') || in_chat_template(text, at) || in_output_format(text, at)) continue;
    return text.find("}}", at) != std::string_view::npos;
  }
  return false;
}

// Templates of Argo alone, which it fills in itself while the workflow runs: the file is a manifest as it stands.
bool is_argo_workflow(std::string_view text) {
  if (text.find("argoproj.io/") == std::string_view::npos) return false;
  for (auto at = text.find("{{"); at != std::string_view::npos; at = text.find("{{", at + 2)) {
    const auto inside = text.substr(std::min(text.find_first_not_of(" \t", at + 2), text.size()));
    const auto starts = [&](std::string_view word) { return inside.starts_with(word); };
    if (!starts("workflow.") && !starts("inputs.") && !starts("item") && !starts("steps.") && !starts("tasks.") &&
        !starts("pod.") && !starts("outputs.") && !starts("="))
      return false;
  }
  return true;
}

// What KServe and OME fill in themselves, in the words of a container: the file is a manifest as it stands.
bool is_serving_runtime(std::string_view text) {
  if (text.find("serving.kserve.io/") == std::string_view::npos && text.find("ome.io/") == std::string_view::npos)
    return false;
  for (auto at = text.find("{{"); at != std::string_view::npos; at = text.find("{{", at + 2)) {
    const auto inside = text.substr(std::min(text.find_first_not_of(" \t", at + 2), text.size()));
    const auto starts = [&](std::string_view word) { return inside.starts_with(word); };
    if (in_chat_template(text, at)) continue;
    if (!starts(".Name") && !starts(".Namespace") && !starts(".Labels") && !starts(".Annotations")) return false;
  }
  return true;
}

// What docker swarm fills in itself: the file is a manifest as it stands.
bool is_swarm_stack(std::string_view text) {
  if (!has_line(text, "services:")) return false;
  for (auto at = text.find("{{"); at != std::string_view::npos; at = text.find("{{", at + 2)) {
    const auto inside = text.substr(std::min(text.find_first_not_of(" \t", at + 2), text.size()));
    const auto starts = [&](std::string_view word) { return inside.starts_with(word); };
    if (!starts(".Task.") && !starts(".Node.") && !starts(".Service.")) return false;
  }
  return true;
}

// A script for a shell that this is none of, or for another language.
bool is_for_another(std::string_view first_line) {
  for (const std::string_view name : {"csh", "tcsh", "fish", "zsh", "pwsh", "perl", "ruby", "node", "Rscript", "nu",
                                      "xonsh", "lua", "tclsh", "deno", "php"}) {
    const auto at = first_line.find(name);
    const bool whole = at != std::string_view::npos && (first_line[at - 1] == '/' || first_line[at - 1] == ' ');
    const std::size_t behind = at + name.size();
    if (whole && (behind >= first_line.size() || first_line[behind] == ' ' || first_line[behind] == '\r')) return true;
  }
  return false;
}

// A list at the top, as Ansible's plays and tasks are and no chart's output is: what Ansible fills in stands in words.
bool is_play(std::string_view text) {
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, end - from);
    from = end + 1;
    if (line.starts_with('#') || line.starts_with("---") || line.find_first_not_of(" \t\r") == std::string_view::npos)
      continue;
    return line.starts_with("- ") && text.find("{%") == std::string_view::npos &&
           text.find("{{-") == std::string_view::npos && text.find("{{ .") == std::string_view::npos;
  }
  return false;
}

bool has_recipe(std::string_view text) {
  for (auto at = text.find("\n\t"); at != std::string_view::npos; at = text.find("\n\t", at + 1)) {
    const auto line = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    const std::size_t from = line == std::string_view::npos ? 0 : line + 1;
    const std::string_view head = text.substr(from, at - from);
    const auto colon = head.find(':');
    if (!head.empty() && head[0] != '\t' && head[0] != ' ' && head[0] != '#' && colon != std::string_view::npos &&
        head.find_first_of("\"'${}()`|&;") == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// JSON's {"…, a comment of an editor's file allowed in front; not a shell's { …; }.
bool begins_an_object(std::string_view text) {
  for (std::size_t i = text.find_first_not_of(" \t\r\n", 1); i < text.size();
       i = text.find_first_not_of(" \t\r\n", i)) {
    if (!text.substr(i).starts_with("//")) return text[i] == '"';
    i = std::min(text.find('\n', i), text.size());
  }
  return false;
}

FileKind of_lines(std::string_view text) {
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, end - from);
    from = end + 1;
    const std::string_view word = first_word(line);
    if (word == "CMD" || word == "ENTRYPOINT") return FileKind::kDockerfile;
    const bool key = word == "command" || word == "args" || word == "entrypoint";
    if (key && line.find(':') == static_cast<std::size_t>(word.data() + word.size() - line.data()))
      return FileKind::kManifest;
  }
  return FileKind::kShell;
}

}  // namespace

// What is not read, by its name.
static bool is_of_another_language(std::string_view name) {
  constexpr auto kEnds = std::to_array<std::string_view>(
      {".fish",    ".ps1",       ".psm1",   ".bat",   ".cmd", ".toml", ".tf",    ".tfvars", ".xml",    ".lua",
       ".js",      ".mjs",       ".ts",     ".jsx",   ".tsx", ".rs",   ".go",    ".csh",    ".tcsh",   ".zsh",
       ".nix",     ".html",      ".groovy", ".rb",    ".pl",  ".php",  ".java",  ".kt",     ".cs",     ".swift",
       ".jsonnet", ".libsonnet", ".cue",    ".plist", ".nu",  ".bzl",  ".dhall", ".star",   ".crontab"});
  constexpr auto kNames = std::to_array<std::string_view>(
      {"tox.ini", "setup.cfg", "Rakefile", "Vagrantfile", "Tiltfile", "crontab", "BUILD.bazel"});
  const bool ended = std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); });
  return ended || name.starts_with("Jenkinsfile") || std::ranges::find(kNames, name) != kNames.end();
}

bool is_of_supervisor(std::string_view text) {
  const bool program =
      has_line(text, "[program:") || has_line(text, "[fcgi-program:") || has_line(text, "[eventlistener:");
  const bool parts = has_line(text, "[supervisord]") && has_line(text, "[include]");
  return (program && ascii_lower(text).find("command") != std::string::npos) || parts;
}

bool is_manifest(std::string_view text) {
  const bool objects = has_line(text, "apiVersion:") && has_line(text, "kind:");
  const bool workflow = has_line(text, "jobs:") && text.find("runs-on:") != std::string_view::npos;
  const bool task = has_line(text, "resources:") && has_line(text, "run:");
  return has_line(text, "services:") || objects || workflow || task;
}

std::string_view name_of(FileKind kind) {
  switch (kind) {
    case FileKind::kShell:
      return "shell text";
    case FileKind::kManifest:
      return "manifest";
    case FileKind::kDockerfile:
      return "Dockerfile";
    case FileKind::kUnit:
      return "unit";
    case FileKind::kMakefile:
      return "Makefile";
    case FileKind::kMarkdown:
      return "Markdown";
    case FileKind::kWords:
      return "list of words";
    case FileKind::kLog:
      return "log";
    case FileKind::kConfig:
      return "configuration";
    case FileKind::kTemplate:
      return "template";
    case FileKind::kProcfile:
      return "Procfile";
    case FileKind::kJustfile:
      return "justfile";
    case FileKind::kNotebook:
      return "notebook";
    case FileKind::kRestructured:
      return "reStructuredText";
    case FileKind::kOther:
      return "another language";
  }
  return "";
}

FileKind kind_of(std::string_view text, std::string_view path) {
  const std::string_view name = base_name(path);
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const char begins = first == std::string_view::npos ? '\0' : text[first];
  if (text.find('\0') != std::string_view::npos) return FileKind::kWords;
  const std::string_view interpreter = text.starts_with("#!") ? text.substr(0, text.find('\n')) : std::string_view();
  const bool by_just = interpreter.ends_with("just") || interpreter.find("just ") != std::string_view::npos;
  if (by_just || name == "justfile" || name == "Justfile" || name == ".justfile" || name == "JUSTFILE" || ends(".just"))
    return FileKind::kJustfile;
  if (!interpreter.empty() && is_for_another(interpreter)) return FileKind::kOther;
  if (interpreter.find("python") != std::string_view::npos) return FileKind::kWords;  // whatever its name ends with
  if (name.starts_with("Dockerfile") || name.starts_with("Containerfile") || ends(".dockerfile") || ends(".Dockerfile"))
    return FileKind::kDockerfile;
  if (name == "Makefile" || name == "GNUmakefile" || name == "makefile" || ends(".mk")) return FileKind::kMakefile;
  if (ends(".md") || ends(".mdx") || ends(".markdown")) return FileKind::kMarkdown;
  if (name == "docker-bake.hcl") return FileKind::kOther;
  if (ends(".py") || ends(".json") || ends(".hcl") || ends(".nomad")) return FileKind::kWords;
  if (ends(".sh") || ends(".bash") || ends(".slurm") || ends(".sbatch")) return FileKind::kShell;
  if (ends(".ipynb")) return FileKind::kNotebook;
  if (ends(".rst")) return FileKind::kRestructured;
  if (name == "Procfile" || name.starts_with("Procfile.")) return FileKind::kProcfile;
  if (is_of_another_language(name)) return FileKind::kOther;
  if (is_of_supervisor(text)) return FileKind::kUnit;
  const bool unit = has_line(text, "[Service]") || has_line(text, "[Container]");
  if (unit && (has_line(text, "ExecStart=") || has_line(text, "Exec="))) return FileKind::kUnit;
  if (has_line(text, "[Kube]") && has_line(text, "Yaml=")) return FileKind::kUnit;
  if (has_line(text, "[watcher:")) return FileKind::kOther;
  if (text.starts_with("#cloud-config")) return FileKind::kManifest;
  const bool yaml = ends(".yaml") || ends(".yml");
  const bool of_task = yaml && has_line(text, "version:") && has_line(text, "tasks:");
  if (of_task && name.find("askfile") != std::string_view::npos) return FileKind::kManifest;
  if ((yaml || ends(".tpl") || ends(".j2") || is_manifest(text)) && has_template(text) && !is_argo_workflow(text) &&
      !is_serving_runtime(text) && !is_swarm_stack(text) && !is_play(text))
    return FileKind::kTemplate;
  if (is_manifest(text)) return FileKind::kManifest;
  if (!interpreter.empty()) return FileKind::kShell;
  if (text.find("server_args=ServerArgs(") != std::string_view::npos) return FileKind::kLog;
  if (begins == '{' && text.find("\"cells\"") != std::string_view::npos &&
      text.find("\"cell_type\"") != std::string_view::npos)
    return FileKind::kNotebook;
  if (begins == '{' && begins_an_object(text.substr(first)) && !has_template(text)) return FileKind::kWords;
  if (begins == '[') {
    if (json_words(text, first, text.size())) return FileKind::kWords;
  }
  if (has_line(text, "```")) return FileKind::kMarkdown;
  const bool options = has_line(text, "model-path:") || has_line(text, "model_path:") || has_line(text, "model:");
  if (options && (yaml || has_line(text, "tp-size:") || has_line(text, "tp_size:")) &&
      text.find("sglang") == std::string_view::npos && options_of_config(text) != OptionsOf::kNobody)
    return FileKind::kConfig;
  if (has_line(text, "import ") || has_line(text, "from ")) {
    if (text.find("sglang") != std::string_view::npos && text.find('(') != std::string_view::npos &&
        !has_line(text, "FROM "))
      return FileKind::kWords;
  }
  if (has_line(text, "job \"") && text.find("task \"") != std::string_view::npos) return FileKind::kWords;
  const FileKind kind = of_lines(text);
  if (kind != FileKind::kShell) return kind;
  if (yaml) return FileKind::kManifest;
  return has_recipe(text) ? FileKind::kMakefile : FileKind::kShell;
}

}  // namespace preflight::sources
