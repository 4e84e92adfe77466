// Tested by tests/manifest_test.cpp.
#include "src/sources/manifest.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

namespace preflight::sources {
namespace {

bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Shell text under construction.
class Line {
 public:
  // One scalar of the manifest as shell text, as it stands.
  void script(const YAML::Node& node, const std::string& text) {
    separate(node);
    place(node.Scalar(), node, text);
  }

  // One item of a list: a word of its own, quoted unless it holds a variable for the orchestrator to fill in.
  void word(const YAML::Node& node, const std::string& text) {
    separate(node);
    Line inner;
    inner.place(node.Scalar(), node, text);
    std::string& s = inner.out_.text;
    const std::size_t first = inner.out_.origin.empty() ? offset_of(node) : inner.out_.origin.front();
    const bool expands = s.find('$') != std::string::npos && s.find_first_of(" \n'\"\\") == std::string::npos;
    if (expands) {
      for (auto at = s.find("$("); at != std::string::npos; at = s.find("$(", at + 2)) {  // Kubernetes' spelling
        const auto end = s.find(')', at);
        if (end == std::string::npos) break;
        s[at + 1] = '{';
        s[end] = '}';
      }
      append(s, inner.out_.origin);
      return;
    }
    put('\'', first);
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (s[i] == '\'') {  // 'it'\''s'
        for (const char c : {'\'', '\\', '\'', '\''}) put(c, inner.out_.origin[i]);
      } else {
        put(s[i], inner.out_.origin[i]);
      }
    }
    put('\'', inner.out_.origin.empty() ? first : inner.out_.origin.back());
  }

  [[nodiscard]] ManifestCommand take() { return std::move(out_); }
  [[nodiscard]] const std::string& text() const { return out_.text; }

 private:
  static std::size_t offset_of(const YAML::Node& node) {
    return static_cast<std::size_t>(std::max(node.Mark().pos, 0));
  }
  void put(char c, std::size_t at) {
    out_.text += c;
    out_.origin.push_back(at);
  }
  void append(const std::string& s, const std::vector<std::size_t>& origin) {
    out_.text += s;
    out_.origin.insert(out_.origin.end(), origin.begin(), origin.end());
  }
  void separate(const YAML::Node& node) {
    if (!out_.text.empty()) put(' ', offset_of(node));
  }

  // The scalar's characters, each with its place: folded and indented lines lose blanks, so the manifest is walked
  // beside the content, and whatever the content lacks is passed over.
  void place(const std::string& content, const YAML::Node& node, const std::string& text) {
    std::size_t at = std::min(offset_of(node), text.size());
    // The indicator of a block ("|", ">-") ends with its line; quotes open with one character.
    if (at < text.size() && (text[at] == '|' || text[at] == '>'))
      at = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (at < text.size() && (text[at] == '\'' || text[at] == '"')) ++at;
    for (const char c : content) {
      std::size_t found = at;
      while (found < text.size() && text[found] != c && !(blank(c) && blank(text[found])) && blank(text[found]))
        ++found;
      // An escape of a quoted scalar: the character stands for itself where the walk is.
      const bool same = found < text.size() && (text[found] == c || (blank(c) && blank(text[found])));
      put(c, std::min(same ? found : at, text.empty() ? 0 : text.size() - 1));
      at = same ? found + 1 : at + 1;
    }
  }

  ManifestCommand out_;
};

Variables variables_of(const YAML::Node& env) {
  Variables out;
  if (env && env.IsMap()) {  // compose: NAME: value
    for (const auto& entry : env) {
      if (entry.second.IsScalar()) out[entry.first.as<std::string>()] = entry.second.as<std::string>();
    }
  } else if (env && env.IsSequence()) {
    for (const auto& entry : env) {
      if (entry.IsMap() && entry["name"] && entry["value"] && entry["value"].IsScalar()) {  // Kubernetes
        out[entry["name"].as<std::string>()] = entry["value"].as<std::string>();
      } else if (entry.IsScalar()) {  // compose: NAME=value
        const auto text = entry.as<std::string>();
        const auto equals = text.find('=');
        if (equals != std::string::npos) out[text.substr(0, equals)] = text.substr(equals + 1);
      }
    }
  }
  return out;
}

class Walk {
 public:
  explicit Walk(const std::string& text) : text_(text) {}

  void into(const YAML::Node& node) {
    if (node.IsSequence()) {
      for (const auto& item : node) into(item);
    } else if (node.IsMap()) {
      command_of(node);
      for (const auto& entry : node) into(entry.second);
    }
  }

  std::vector<ManifestCommand> found;

 private:
  void command_of(const YAML::Node& container) {
    Line line;
    for (const char* key : {"entrypoint", "command", "args"}) {
      const YAML::Node part = container[key];
      if (!part) continue;
      if (part.IsScalar()) {
        line.script(part, text_);
      } else if (part.IsSequence()) {
        for (const auto& item : part) {
          if (item.IsScalar()) line.word(item, text_);
        }
      }
    }
    if (line.text().find("sglang") == std::string::npos) return;
    ManifestCommand command = line.take();
    for (const char* key : {"env", "environment"}) {
      const YAML::Node part = container[key];
      if (part) command.env.merge(variables_of(part));
    }
    found.push_back(std::move(command));
  }

  const std::string& text_;
};

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

Result<std::vector<ManifestCommand>> manifest_commands(const std::string& text) {
  try {
    Walk walk(text);
    for (const auto& document : YAML::LoadAll(text)) walk.into(document);
    return std::move(walk.found);
  } catch (const YAML::Exception& e) {
    return failure(fmt::format("this manifest cannot be read: {}", e.msg),
                   e.mark.is_null() ? std::string() : fmt::format("{}:{}", e.mark.line + 1, e.mark.column + 1));
  }
}

}  // namespace preflight::sources
