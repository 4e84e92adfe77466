// Tested by tests/launch_command_test.cpp.
#include "src/sources/launch_command.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "src/sources/container_command.h"
#include "src/sources/manifest.h"

namespace preflight::sources {
namespace {

constexpr std::string_view kModule = "sglang.launch_server";
constexpr std::string_view kVllmModule = "vllm.entrypoints.openai.api_server";

bool is_python(std::string_view word) {
  std::string_view name = base_name(word);
  if (!name.starts_with("python")) return false;
  name.remove_prefix(6);
  return name.find_first_not_of("0123456789.") == std::string_view::npos;
}

// Index of the first argument after `python … -m MODULE`, looking from a python word on.
std::optional<std::size_t> after_module(const std::vector<ShellWord>& words, std::size_t python,
                                        std::string_view module) {
  for (std::size_t i = python + 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w == "-m" || w == "-Im" || w == "-um") {
      return i + 1 < words.size() && words[i + 1].text == module ? std::optional(i + 2) : std::nullopt;
    }
    if (w == "-X" || w == "-W") {
      ++i;
    } else if (!w.starts_with('-')) {
      return base_name(w) == "launch_server.py" && module == kModule ? std::optional(i + 1) : std::nullopt;
    }
  }
  return std::nullopt;
}

// Variables that SGLang acts on; others may stay unknown.
bool sglang_reads(std::string_view variable) { return variable.starts_with("SGLANG_") || variable.starts_with("SGL_"); }

class Finder {
 public:
  Finder(std::string_view text, const Variables& variables) : text_(text), given_(variables) {
    line_starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') line_starts_.push_back(i + 1);
    }
  }

  Result<std::vector<LaunchCommand>> run() {
    auto manifest = read_manifest(text_, given_);
    if (!manifest) return tl::make_unexpected(manifest.error());
    if (manifest->empty() && !is_manifest(text_)) {
      if (auto done = script({std::string(text_)}, {}, 0); !done) return tl::make_unexpected(done.error());
    }
    for (const ContainerCommand& command : *manifest) {
      auto done = command.script ? script(*command.script, command.env, 0) : simple(command.words, {}, command.env, 0);
      if (!done) return tl::make_unexpected(done.error());
    }
    if (found_.empty()) {
      if (unknown_program_) return failure(unknown_program_->message, place(unknown_program_->offset));
      return failure(
          "no SGLang launch in this command: expected `python -m sglang.launch_server …` or `sglang serve …`");
    }
    if (unknown_) return failure(unknown_->message, place(unknown_->offset));
    found_.front().notes = std::move(notes_);
    return std::move(found_);
  }

 private:
  Result<bool> script(const ShellText& text, Values env, int depth) {
    if (depth > 8) return failure("shells are nested too deep in this command");
    auto parsed = parse_shell(text, text_, given_, env);
    if (!parsed) return tl::make_unexpected(parsed.error());
    for (auto& note : parsed->notes) notes_.push_back(std::move(note));
    for (auto& command : parsed->commands) {
      if (auto done = simple(command.words, command.assignments, env, depth); !done) return done;
      for (auto& [name, value] : command.exports) env.insert_or_assign(name, std::move(value));
    }
    return true;
  }

  Result<bool> simple(const std::vector<ShellWord>& words, const std::vector<ShellWord>& assignments, const Values& env,
                      int depth) {
    if (depth > 8) return failure("shells are nested too deep in this command");
    if (words.empty() || words[0].text == "echo" || words[0].text == "printf") return true;
    if (!words[0].unknowns.empty() && !unknown_program_) unknown_program_ = words[0].unknowns.front();
    bool container = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& w = words[i].text;
      if (!container && is_container_tool(w)) {
        container = true;
        if (const auto inside = behind_entrypoint(words, i)) {
          note_files(words, words.size() - inside->size());
          return simple(*inside, {}, environment_of(assignments, words, words.size() - inside->size(), env, given_),
                        depth + 1);
        }
      }
      if (w.starts_with('-')) continue;
      if (is_shell(w)) {
        if (const auto inner = shell_script(words, i)) {
          note_files(words, i);
          return script(words[*inner], environment_of(assignments, words, i, env, given_), depth + 1);
        }
      } else if (is_python(w) || !words[i].unknowns.empty()) {
        for (const std::string_view module : {kModule, kVllmModule}) {
          const auto first = after_module(words, i, module);
          if (!first) continue;
          note_files(words, i);
          take(words, i, *first, false, environment_of(assignments, words, i, env, given_));
          found_.back().vllm = module == kVllmModule;
          return true;
        }
      } else if ((base_name(w) == "sglang" || base_name(w) == "vllm") && i + 1 < words.size() &&
                 words[i + 1].text == "serve") {
        const bool vllm = base_name(w) == "vllm";
        note_files(words, i);
        take(words, i, i + 2, !vllm, environment_of(assignments, words, i, env, given_));
        found_.back().vllm = vllm;
        return true;
      }
    }
    return true;
  }

  void note_files(const std::vector<ShellWord>& words, std::size_t program) {
    for (auto& note : unread_files(words, program)) notes_.push_back(std::move(note));
  }

  void need(const ShellText& text) {
    if (!unknown_ && !text.unknowns.empty()) unknown_ = text.unknowns.front();
  }

  void take(const std::vector<ShellWord>& words, std::size_t program, std::size_t first, bool serve,
            const Values& env) {
    LaunchCommand launch;
    launch.serve = serve;
    for (std::size_t i = program + 1; i < words.size(); ++i) need(words[i]);
    for (const auto& [name, value] : env) {
      if (sglang_reads(name)) need(value);
      if (value.unknowns.empty()) launch.env.emplace(name, value.text);
    }
    for (std::size_t i = first; i < words.size(); ++i) {
      SourceRange where;
      where.argv_index = static_cast<int>(launch.argv.size());
      const LineColumn at = line_column_of(words[i].begin);
      where.line = at.line;
      where.column = at.column;
      launch.positions.push_back(where);
      launch.spans.push_back({words[i].begin, words[i].end});
      launch.argv.push_back(words[i].text);
    }
    found_.push_back(std::move(launch));
  }

  [[nodiscard]] LineColumn line_column_of(std::size_t offset) const {
    const auto line = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset) - line_starts_.begin();
    return {static_cast<int>(line), static_cast<int>(offset - line_starts_[static_cast<std::size_t>(line - 1)]) + 1};
  }
  [[nodiscard]] std::string place(std::size_t offset) const {
    const LineColumn at = line_column_of(offset);
    return fmt::format("{}:{}", at.line, at.column);
  }

  std::string_view text_;
  const Variables& given_;
  std::vector<std::size_t> line_starts_;
  std::vector<LaunchCommand> found_;
  std::vector<ShellNote> notes_;
  std::optional<Unknown> unknown_;          // in what the launch needs
  std::optional<Unknown> unknown_program_;  // in the place of a program's name
};

}  // namespace

Result<LaunchCommand> find_launch(std::string_view text, const Variables& variables) {
  auto all = find_launches(text, variables);
  if (!all) return tl::make_unexpected(all.error());
  if (all->size() > 1) {
    const char* kind = is_manifest(text) ? "manifest" : "command";
    return failure(
        fmt::format("{} SGLang launches in this {}; give one, or check them together with `nodes`", all->size(), kind));
  }
  return std::move(all->front());
}

Result<std::vector<LaunchCommand>> find_launches(std::string_view text, const Variables& variables) {
  return Finder(text, variables).run();
}

}  // namespace preflight::sources
