// Tested by tests/launch_command_test.cpp.
#include "src/sources/container_command.h"

#include <algorithm>
#include <array>

namespace preflight::sources {
namespace {

// Options of `docker run` and of its kin that take no value; all others take one.
bool is_switch(std::string_view option, bool apptainer) {
  constexpr std::array<std::string_view, 32> kSwitches = {"--detach",
                                                          "--interactive",
                                                          "--tty",
                                                          "--rm",
                                                          "--privileged",
                                                          "--init",
                                                          "--publish-all",
                                                          "--read-only",
                                                          "--no-healthcheck",
                                                          "--sig-proxy",
                                                          "--quiet",
                                                          "--replace",
                                                          "--env-host",
                                                          "--rmi",
                                                          "--no-hosts",
                                                          "--oom-kill-disable",
                                                          "--nv",
                                                          "--rocm",
                                                          "--writable",
                                                          "--fakeroot",
                                                          "--cleanenv",
                                                          "--contain",
                                                          "--containall",
                                                          "--no-home",
                                                          "--writable-tmpfs",
                                                          "--disable-content-trust",
                                                          "--service-ports",  // of compose
                                                          "--no-deps",
                                                          "--no-TTY",
                                                          "--use-aliases",
                                                          "--build",
                                                          "--remove-orphans"};
  if (std::find(kSwitches.begin(), kSwitches.end(), option) != kSwitches.end()) return true;
  return apptainer && (option == "--compat" || option == "--no-eval" || option == "--no-init");
}

// Index behind the option at `i` and its value.
std::size_t behind_option(const std::vector<ShellWord>& words, std::size_t i, bool apptainer) {
  const std::string& w = words[i].text;
  if (w.starts_with("--")) return i + (is_switch(w, apptainer) || w.find('=') != std::string::npos ? 1 : 2);
  const std::size_t taking = w.find_first_not_of(apptainer ? "ecCuwf" : "ditPqT", 1);
  return i + (taking + 1 == w.size() ? 2 : 1);  // a value may be glued to its letter
}

// -i, -it, --interactive
bool hands_input_on(std::string_view option) {
  if (option.starts_with("--")) return option == "--interactive" || option == "--interactive=true";
  const std::size_t other = option.find_first_not_of("ditPqT", 1);
  return option.substr(0, other).find('i') != std::string_view::npos;
}

}  // namespace

void assign(const ShellText& word, Values& values) {
  const auto equals = word.text.find('=');
  if (equals != std::string::npos) values.insert_or_assign(word.text.substr(0, equals), tail(word, equals + 1));
}

std::string_view base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_shell(std::string_view word) {
  const std::string_view name = base_name(word);
  return name == "bash" || name == "sh" || name == "dash" || name == "zsh" || name == "ash";
}

bool is_container_tool(std::string_view word) {
  const std::string_view name = base_name(word);
  return name == "docker" || name == "podman" || name == "nerdctl" || name == "apptainer" || name == "singularity" ||
         name == "docker-compose" || name == "podman-compose";
}

namespace {

// `docker volume create`, `docker buildx imagetools create`
bool makes_no_container(std::string_view of) {
  constexpr std::array<std::string_view, 10> kOthers = {"buildx",   "builder", "config", "context", "image",
                                                        "manifest", "network", "plugin", "secret",  "volume"};
  return std::ranges::find(kOthers, of) != kOthers.end();
}

}  // namespace

std::optional<ContainerRun> container_run(const std::vector<ShellWord>& words, std::size_t tool) {
  const std::string_view name = base_name(words[tool].text);
  const bool apptainer = name == "apptainer" || name == "singularity";
  ContainerRun run;
  run.inherits = apptainer;
  std::size_t i = tool + 1;
  run.of_compose = name.ends_with("-compose");
  for (; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    run.of_compose = run.of_compose || w == "compose";
    if (w == "run" || w == "create" || w == "exec" || w == "shell") break;
    if (i == tool + 1 && makes_no_container(w)) return std::nullopt;
    if (w == "ps" || w == "logs" || w == "stop" || w == "rm" || w == "pull" || w == "build" || w == "images")
      return std::nullopt;
  }
  if (i >= words.size()) return std::nullopt;
  run.own_entrypoint = words[i].text != "exec" && !apptainer;
  run.reads_input = apptainer || run.of_compose;
  const auto open = [&](std::size_t at) {  // $OPTIONS that nobody knows, and more options behind it
    if (run.entrypoint || words[at].unknowns.empty() || at + 1 >= words.size()) return false;
    const std::string& next = words[at + 1].text;
    const bool hole = words[at].text.size() == 1 && words[at].text[0] == kHole;
    const bool image = next.find('/') != std::string::npos && next.find(':') != std::string::npos && next[0] != '/';
    return next.starts_with('-') || (hole && image);
  };
  for (++i; i < words.size() && (words[i].text.starts_with('-') || open(i));) {
    const std::string& w = words[i].text;
    if (!w.starts_with('-')) {
      run.open.push_back(words[i++].unknowns.front());
      continue;
    }
    run.reads_input = run.reads_input || hands_input_on(w);
    constexpr std::string_view kGlued = "--entrypoint=";
    if (w == "--") {
      ++i;
      break;
    }
    if (w.starts_with(kGlued)) {
      run.entrypoint = ShellWord{tail(words[i], kGlued.size()), words[i].begin, words[i].end};
    } else if (w == "--entrypoint" && i + 1 < words.size()) {
      run.entrypoint = words[i + 1];
    }
    if (w == "--name" && i + 1 < words.size()) run.name = words[i + 1].text;
    if (w.starts_with("--name=")) run.name = w.substr(7);
    i = behind_option(words, i, apptainer);
  }
  if (i >= words.size()) return std::nullopt;
  run.image = i;
  run.command = i + 1;
  return run;
}

bool runs_detached(const std::vector<ShellWord>& words, std::size_t tool) {
  const auto run = container_run(words, tool);
  for (std::size_t i = tool; run && run->own_entrypoint && i < run->image; ++i) {
    const std::string& w = words[i].text;
    const bool letters = w.size() > 1 && w[0] == '-' && w.find_first_not_of("ditqP", 1) == std::string::npos;
    if ((letters && w.find('d') != std::string::npos) || w == "--detach" || w == "--detach=true") return true;
  }
  return false;
}

bool network_of_host(const std::vector<ShellWord>& words, std::size_t tool, std::size_t image) {
  for (std::size_t i = tool; i < image && i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w == "--network=host" || w == "--net=host") return true;
    if ((w == "--network" || w == "--net") && i + 1 < image && words[i + 1].text == "host") return true;
  }
  return false;
}

void container_environment(const std::vector<ShellWord>& words, std::size_t tool, std::size_t program,
                           const Values& host, const Variables& given, Values& inside) {
  const auto hand_over = [&](const ShellText& word) {
    if (word.text.find('=') != std::string::npos) return assign(word, inside);
    if (const auto it = host.find(word.text); it != host.end()) {
      inside.insert_or_assign(word.text, it->second);  // -e NAME: the value it has here
    } else if (const auto set = given.find(word.text); set != given.end()) {
      inside.insert_or_assign(word.text, ShellText{set->second});
    }
  };
  const std::string_view name = base_name(words[tool].text);
  const bool apptainer = name == "apptainer" || name == "singularity";  // whose -e cleans
  const auto hand_list_over = [&](const ShellText& list) {              // A=1,B=2
    if (!apptainer || std::ranges::count(list.text, '=') < 2) return hand_over(list);
    for (std::size_t from = 0; from <= list.text.size();) {
      const std::size_t end = std::min(list.text.find(',', from), list.text.size());
      hand_over(slice(list, from, end));
      from = end + 1;
    }
  };
  for (std::size_t i = tool; i < program && i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (((w == "-e" && !apptainer) || w == "--env") && i + 1 < words.size()) {
      hand_list_over(words[++i]);
    } else if (w.starts_with("--env=")) {
      hand_list_over(tail(words[i], 6));
    } else if (w.starts_with("-e") && !apptainer && w.find('=') != std::string::npos) {
      hand_over(tail(words[i], 2));
    }
  }
}

std::vector<ShellNote> unread_files(const std::vector<ShellWord>& words, std::size_t program) {
  std::vector<ShellNote> out;
  for (std::size_t i = 0; i < program && i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w != "--env-file" && !w.starts_with("--env-file=")) continue;
    std::string file = w != "--env-file" ? w.substr(11) : i + 1 < words.size() ? words[i + 1].text : std::string();
    std::ranges::replace(file, kHole, '?');
    out.push_back({"SH002", "--env-file " + file + " is not read: what it sets is not known", words[i].begin});
  }
  return out;
}

bool may_be_for_server(const std::vector<ShellWord>& words, std::size_t first, std::string_view image) {
  constexpr std::string_view kOpen = "${\x1a";  // a variable, a template, a hole
  const bool may_be = image.empty() || image.find("sglang") != std::string_view::npos ||
                      image.find_first_of(kOpen) != std::string_view::npos;
  const std::string_view option = may_be ? "--model" : "--model-path";
  return std::any_of(words.begin() + static_cast<std::ptrdiff_t>(std::min(first, words.size())), words.end(),
                     [&](const ShellWord& word) { return word.text.starts_with(option); });
}

std::optional<std::size_t> shell_script(const std::vector<ShellWord>& words, std::size_t shell) {
  bool commands = false;
  for (std::size_t i = shell + 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    const bool option = w.size() > 1 && (w[0] == '-' || w[0] == '+');
    if (!option) return commands ? std::optional(i) : std::nullopt;
    if (w == "--") return commands && i + 1 < words.size() ? std::optional(i + 1) : std::nullopt;
    if (w.starts_with("--")) {
      if (w == "--rcfile" || w == "--init-file") ++i;
      continue;
    }
    commands = commands || (w[0] == '-' && w.find('c') != std::string::npos);
    i += static_cast<std::size_t>(std::count_if(w.begin() + 1, w.end(), [](char c) { return c == 'o' || c == 'O'; }));
  }
  return std::nullopt;
}

std::vector<std::string> options_of_shell(const std::vector<ShellWord>& words, std::size_t shell, std::size_t script) {
  std::vector<std::string> out;
  for (std::size_t i = shell + 1; i < std::min(script, words.size()); ++i) {
    const std::string& w = words[i].text;
    if (!words[i].unknowns.empty() || w.size() < 2 || (w[0] != '-' && w[0] != '+') || w.starts_with("--")) continue;
    out.push_back(w);
    const bool named = w.find_first_of("oO", 1) != std::string::npos;
    if (named && i + 1 < script) out.push_back(words[++i].text);
  }
  return out;
}

std::vector<std::string> options_of_first_line(std::string_view script) {
  if (!script.starts_with("#!")) return {};
  std::vector<ShellWord> words;
  std::string_view left = script.substr(2, script.find('\n') - 2);
  while (true) {
    left.remove_prefix(std::min(left.find_first_not_of(" \t\r"), left.size()));
    if (left.empty()) break;
    const std::string_view word = left.substr(0, left.find_first_of(" \t\r"));
    words.push_back({{std::string(word)}, 0, 0});
    left.remove_prefix(word.size());
  }
  std::size_t shell = 0;
  if (!words.empty() && base_name(words[0].text) == "env")
    while (shell < words.size() && !is_shell(words[shell].text)) ++shell;
  if (shell >= words.size() || !is_shell(words[shell].text)) return {};
  return options_of_shell(words, shell, words.size());
}

}  // namespace preflight::sources
