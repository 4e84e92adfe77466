// Tested by tests/manifest_test.cpp and tests/launch_command_test.cpp.
#include "src/sources/manifest.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "src/sources/manifest_words.h"

namespace preflight::sources {
namespace {

constexpr int kDeepest = 64;
constexpr int kMostNodes = 200'000;  // aliases can make a small file endless

// The first word of a line, after blanks and "- ".
std::string_view first_word(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t-");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_first_of(" \t:\r", begin) - begin);
}

enum class Kind { kNone, kDockerfile, kYaml };

Kind kind_of(std::string_view text) {
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, end - from);
    from = end + 1;
    const std::string_view word = first_word(line);
    if (word == "CMD" || word == "ENTRYPOINT") return Kind::kDockerfile;
    const bool key = word == "command" || word == "args" || word == "entrypoint";
    if (key && line.find(':') == static_cast<std::size_t>(word.data() + word.size() - line.data())) return Kind::kYaml;
  }
  return Kind::kNone;
}

// --- YAML ---

class ManifestReader {
 public:
  ManifestReader(std::string_view text, const Variables& given) : text_(text), given_(given) {}

  void walk(const YAML::Node& node, int depth) {
    if (depth > kDeepest || ++seen_ > kMostNodes || error_) return;
    if (node.IsSequence()) {
      for (const auto& item : node) walk(item, depth + 1);
    } else if (node.IsMap()) {
      for (const char* key : {"command", "args", "entrypoint"}) {
        if (node[key] && !node[key].IsMap()) {
          container(node);
          return;
        }
      }
      for (const auto& pair : node) walk(pair.second, depth + 1);
    }
  }

  Result<std::vector<ContainerCommand>> result() && {
    if (error_) return tl::make_unexpected(std::move(*error_));
    return std::move(commands_);
  }

 private:
  // Whether a part of the command speaks of SGLang; other containers are none of our business.
  [[nodiscard]] bool speaks_of_sglang(const YAML::Node& node) const {
    for (const char* key : {"entrypoint", "command", "args"}) {
      if (!node[key]) continue;
      for (const ShellWord& word : words_of(node[key], text_, 0)) {
        if (word.text.find("sglang") != std::string::npos) return true;
      }
    }
    return false;
  }

  void container(const YAML::Node& node) {
    if (!speaks_of_sglang(node)) return;
    // Kubernetes has command and args, compose has entrypoint and command; a lone command may be either's.
    const bool compose = !node["args"] && (node["entrypoint"] || node["environment"] || node["env_file"] ||
                                           node["ports"] || node["devices"] || node["command"].IsScalar());
    ContainerCommand out;
    for (const char* key : {"env", "environment"}) {
      if (node[key]) environment(node[key], out.env);
    }
    for (const char* key : {"entrypoint", "command", "args"}) {
      if (!node[key]) continue;
      for (ShellWord& word : words_of(node[key], text_, 0)) {
        const bool doubled = word.text.find("$$") != std::string::npos && word.text.find("$$(") == std::string::npos;
        const auto kind = compose || doubled ? Interpolation::kCompose : Interpolation::kKubernetes;
        auto done = interpolate(word, kind, text_, given_, out.env);
        if (!done) {
          error_ = done.error();
          return;
        }
        if (node[key].IsScalar()) {
          out.script = std::move(*done);  // compose splits it into words
        } else {
          out.words.push_back(std::move(*done));
        }
      }
    }
    if (!out.words.empty()) out.script.reset();
    commands_.push_back(std::move(out));
  }

  // NAME: VALUE, "- NAME=VALUE", or "- name: NAME, value: VALUE".
  void environment(const YAML::Node& node, Values& env) {
    const auto set = [&](const std::string& name, const YAML::Node& value) {
      if (value.IsScalar()) env.insert_or_assign(name, words_of(value, text_, 0).front());
    };
    if (node.IsMap()) {
      for (const auto& pair : node) {
        if (pair.first.IsScalar()) set(pair.first.Scalar(), pair.second);
      }
      return;
    }
    for (const auto& item : node) {
      if (item.IsScalar()) {
        const ShellWord word = words_of(item, text_, 0).front();
        const auto equals = word.text.find('=');
        if (equals != std::string::npos) env.insert_or_assign(word.text.substr(0, equals), tail(word, equals + 1));
      } else if (item.IsMap() && item["name"] && item["name"].IsScalar() && item["value"]) {
        set(item["name"].Scalar(), item["value"]);
      }
    }
  }

  std::string_view text_;
  const Variables& given_;
  int seen_ = 0;
  std::vector<ContainerCommand> commands_;
  std::optional<Error> error_;
};

Result<std::vector<ContainerCommand>> read_yaml(std::string_view text, const Variables& given) {
  ManifestReader reader(text, given);
  try {
    for (const auto& document : YAML::LoadAll(std::string(text))) reader.walk(document, 0);
  } catch (const YAML::Exception& e) {
    if (!is_manifest(text)) return std::vector<ContainerCommand>{};  // a script that holds such a line
    return failure(fmt::format("this manifest cannot be read: {}", e.msg),
                   e.mark.is_null() ? std::string() : fmt::format("{}:{}", e.mark.line + 1, e.mark.column + 1));
  }
  return std::move(reader).result();
}

// --- Dockerfile ---

// Text from `from` to `to` of the pasted text.
ShellText piece(std::string_view text, std::size_t from, std::size_t to) {
  ShellText out;
  out.text = text.substr(from, to - from);
  for (std::size_t i = from; i < to; ++i) out.origin.push_back(i);
  return out;
}

// The end of an instruction that begins at `from`: a line's end without a backslash; comment lines belong to it.
std::size_t instruction_end(std::string_view text, std::size_t from) {
  for (;;) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    if (end == text.size()) return end;
    std::string_view line = text.substr(from, end - from);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t')) line.remove_suffix(1);
    if (line.empty() || line.back() != '\\') return end;
    from = end + 1;
  }
}

struct Image {
  std::optional<ShellText> entrypoint;
  std::optional<ShellText> command;
  Values env;
  Values arguments;  // ARG, known while building only
};

Result<bool> set_variables(Image& image, std::string_view name, const ShellText& rest, std::string_view text,
                           const Variables& given) {
  Values known = image.arguments;
  for (const auto& [key, value] : image.env) known.insert_or_assign(key, value);
  auto parsed = parse_shell(rest, text, given, known);
  if (!parsed) return tl::make_unexpected(parsed.error());
  Values& target = name == "ENV" ? image.env : image.arguments;
  for (const ShellCommand& command : parsed->commands) {
    for (const ShellWord& word : command.assignments) {
      const auto equals = word.text.find('=');
      target.insert_or_assign(word.text.substr(0, equals), tail(word, equals + 1));
    }
    if (name == "ENV" && command.assignments.empty() && command.words.size() == 2) {  // ENV NAME VALUE
      target.insert_or_assign(command.words[0].text, command.words[1]);
    }
  }
  return true;
}

// The exec form's words; nullopt for the shell form.
std::optional<std::vector<ShellWord>> exec_form(const ShellText& rest, std::string_view text) {
  if (!rest.text.starts_with('[')) return std::nullopt;
  std::string list = rest.text;  // a backslash that continues the line is no part of the list
  for (std::size_t i = 0; i + 1 < list.size(); ++i) {
    if (list[i] == '\\' && (list[i + 1] == '\n' || list[i + 1] == '\r')) list[i] = ' ';
  }
  try {
    return words_of(YAML::Load(list), text, rest.origin.front());
  } catch (const YAML::Exception&) {
    return std::nullopt;
  }
}

Result<std::vector<ContainerCommand>> read_dockerfile(std::string_view text, const Variables& given) {
  Image image;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = instruction_end(text, from);
    const std::string_view word = first_word(text.substr(from, end - from));
    const auto behind = word.empty() ? end : static_cast<std::size_t>(word.data() + word.size() - text.data());
    const std::size_t rest_from = std::min(text.find_first_not_of(" \t", behind), end);
    const ShellText rest = piece(text, rest_from, end);
    from = end + 1;
    if (word == "FROM") {
      image = {};
    } else if (word == "ENTRYPOINT") {
      image.entrypoint = rest;
    } else if (word == "CMD") {
      image.command = rest;
    } else if (word == "ENV" || word == "ARG") {
      if (auto done = set_variables(image, word, rest, text, given); !done) return tl::make_unexpected(done.error());
    }
  }
  ContainerCommand out;
  out.env = image.env;
  for (const auto& part : {image.entrypoint, image.command}) {
    if (!part || part->text.empty()) continue;
    if (auto words = exec_form(*part, text)) {
      out.words.insert(out.words.end(), words->begin(), words->end());
    } else if (out.words.empty()) {
      out.script = *part;
      break;  // a shell is the entry point: nothing is handed to it
    }
  }
  return std::vector{std::move(out)};
}

}  // namespace

bool is_manifest(std::string_view text) {
  const auto line_starts_with = [&](std::string_view key) {
    for (auto at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
      if (at == 0 || text[at - 1] == '\n') return true;
    }
    return false;
  };
  return line_starts_with("services:") || (line_starts_with("apiVersion:") && line_starts_with("kind:"));
}

Result<std::vector<ContainerCommand>> read_manifest(std::string_view text, const Variables& given) {
  if (text.find('\0') != std::string_view::npos) return std::vector<ContainerCommand>{};  // refused as shell text
  switch (is_manifest(text) ? Kind::kYaml : kind_of(text)) {
    case Kind::kYaml:
      return read_yaml(text, given);
    case Kind::kDockerfile:
      return read_dockerfile(text, given);
    case Kind::kNone:
      break;
  }
  return std::vector<ContainerCommand>{};
}

}  // namespace preflight::sources
