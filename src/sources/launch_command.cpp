// Tested by tests/launch_command_test.cpp.
#include "src/sources/launch_command.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/sources/manifest.h"

namespace preflight::sources {
namespace {

std::string_view base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_python(std::string_view word) {
  std::string_view name = base_name(word);
  if (!name.starts_with("python")) return false;
  name.remove_prefix(6);
  return name.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_shell(std::string_view word) {
  const std::string_view name = base_name(word);
  return name == "bash" || name == "sh" || name == "dash" || name == "zsh" || name == "ash";
}

// Wrappers that hand environment variables to the launch with -e NAME=VALUE or --env NAME=VALUE.
bool is_container_tool(std::string_view word) {
  const std::string_view name = base_name(word);
  return name == "docker" || name == "podman" || name == "nerdctl" || name == "apptainer" || name == "singularity";
}

// Index of the first argument after `python … -m sglang.launch_server`, looking from a python word on.
std::optional<std::size_t> after_module(const std::vector<ShellWord>& words, std::size_t python) {
  for (std::size_t i = python + 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w == "-m" || w == "-Im" || w == "-um") {
      return i + 1 < words.size() && words[i + 1].text == "sglang.launch_server" ? std::optional(i + 2) : std::nullopt;
    }
    if (w == "-X" || w == "-W") {
      ++i;
    } else if (!w.starts_with('-')) {
      return base_name(w) == "launch_server.py" ? std::optional(i + 1) : std::nullopt;
    }
  }
  return std::nullopt;
}

class Finder {
 public:
  Finder(std::string_view text, Variables variables) : text_(text), variables_(std::move(variables)) {}

  Result<LaunchCommand> run() {
    if (auto done = is_manifest(text_) ? manifest() : script(text_, {}, {}, 0); !done) {
      return tl::make_unexpected(done.error());
    }
    if (found_.empty()) {
      return failure(
          "no SGLang launch in this command: expected `python -m sglang.launch_server …` or `sglang serve …`");
    }
    if (found_.size() > 1) {
      return failure(fmt::format("{} SGLang launches in this {}; give one{}", found_.size(),
                                 is_manifest(text_) ? "manifest" : "command",
                                 is_manifest(text_) ? ", or check them together with `nodes`" : ""));
    }
    found_.front().notes = std::move(notes_);
    return std::move(found_.front());
  }

 private:
  // The containers of a manifest; their environment is the launch's, and fills in variables of the command.
  Result<bool> manifest() {
    auto commands = manifest_commands(std::string(text_));
    if (!commands) return tl::make_unexpected(commands.error());
    const Variables given = variables_;
    for (const ManifestCommand& command : *commands) {
      variables_ = given;
      Environment env;
      for (const auto& [name, value] : command.env) {
        env[name] = value;
        variables_.try_emplace(name, value);
      }
      if (auto done = script(command.text, command.origin, env, 0); !done) {
        const LineColumn at = line_column(text_, command.origin.front());
        return failure(done.error().message, fmt::format("{}:{}", at.line, at.column));
      }
    }
    variables_ = given;
    return true;
  }

  Result<bool> script(std::string_view text, const std::vector<std::size_t>& origin, Environment env, int depth) {
    if (depth > 8) return failure("shells are nested too deep in this command");
    auto parsed = parse_shell(text, variables_, origin);
    if (!parsed) return tl::make_unexpected(parsed.error());
    for (auto& note : parsed->notes) notes_.push_back(std::move(note));
    for (const auto& [name, value] : parsed->variables) env[name] = value;
    for (const auto& command : parsed->commands) {
      if (auto done = simple(command, env, depth); !done) return done;
    }
    return true;
  }

  Result<bool> simple(const ShellCommand& command, Environment env, int depth) {
    const auto assign = [&](std::string_view word) {
      if (const auto equals = word.find('='); equals != std::string_view::npos) {
        env[std::string(word.substr(0, equals))] = word.substr(equals + 1);
      }
    };
    for (const auto& a : command.assignments) assign(a.text);
    const auto& words = command.words;
    if (words.empty() || words[0].text == "echo" || words[0].text == "printf") return true;
    bool container = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& w = words[i].text;
      if (is_container_tool(w)) container = true;
      if (container && (w == "-e" || w == "--env") && i + 1 < words.size()) {
        assign(words[i + 1].text);
      } else if (container && w.starts_with("--env=")) {
        assign(std::string_view(w).substr(6));
      } else if (base_name(words[0].text) == "env" && w.find('=') != std::string::npos && !w.starts_with('-')) {
        assign(w);
      }
      if (is_shell(w)) {
        if (const auto inner = shell_argument(words, i)) {
          return script(words[*inner].text, words[*inner].origin, env, depth + 1);
        }
      } else if (is_python(w)) {
        if (const auto first = after_module(words, i)) {
          take(words, *first, "python -m sglang.launch_server", env);
          return true;
        }
      } else if (base_name(w) == "sglang" && i + 1 < words.size() && words[i + 1].text == "serve") {
        take(words, i + 2, "sglang serve", env);
        return true;
      }
    }
    return true;
  }

  // Index of TEXT in `bash [-options] -c TEXT`.
  static std::optional<std::size_t> shell_argument(const std::vector<ShellWord>& words, std::size_t shell) {
    for (std::size_t i = shell + 1; i < words.size() && words[i].text.starts_with('-'); ++i) {
      const std::string& w = words[i].text;
      if (!w.starts_with("--") && w.back() == 'c') {
        return i + 1 < words.size() ? std::optional(i + 1) : std::nullopt;
      }
    }
    return std::nullopt;
  }

  void take(const std::vector<ShellWord>& words, std::size_t first, std::string launcher, const Environment& env) {
    LaunchCommand launch;
    launch.launcher = std::move(launcher);
    launch.env = env;
    LineColumn where_now;
    std::size_t at = 0;
    for (std::size_t i = first; i < words.size(); ++i) {
      SourceRange where;
      where.argv_index = static_cast<int>(launch.argv.size());
      // Words come in order, so the line count goes on from the word before.
      for (; at < words[i].begin && at < text_.size(); ++at) {
        where_now.column = text_[at] == '\n' ? 1 : where_now.column + 1;
        where_now.line += text_[at] == '\n' ? 1 : 0;
      }
      where.line = where_now.line;
      where.column = where_now.column;
      launch.positions.push_back(where);
      launch.spans.push_back({words[i].begin, words[i].end});
      launch.argv.push_back(words[i].text);
    }
    found_.push_back(std::move(launch));
  }

  std::string_view text_;
  Variables variables_;
  std::vector<LaunchCommand> found_;
  std::vector<ShellNote> notes_;
};

}  // namespace

Result<LaunchCommand> find_launch(std::string_view text, const Variables& variables) {
  return Finder(text, variables).run();
}

}  // namespace preflight::sources
