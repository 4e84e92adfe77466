// xpu-preflight: options to stages to exit status. Everything else is in the library.

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/base/read_text.h"
#include "src/args/closest_options.h"
#include "src/args/option_index.h"
#include "src/report/complaint.h"
#include "src/report/folding.h"
#include "src/report/output_file.h"
#include "src/report/output_gate.h"
#include "src/report/own_report.h"
#include "src/report/report_json.h"
#include "src/base/log.h"
#include "src/commands/options.h"
#include "src/commands/program_words.h"
#include "src/commands/subcommand.h"
#include "src/intake/conceal.h"
#include "src/intake/open_text.h"

namespace preflight::commands {
namespace {

// Of the whole program: its first steps.
const std::vector<std::string> kFirstSteps = {
    "check -- --model-path Qwen/Qwen3-8B --attention-backend intel_xpu --page-size 32",
    "check deploy/ scripts/serve.sh",
    "exec -- python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2",
};

std::string examples_text(const std::vector<std::string>& examples) {
  std::string out = examples.empty() ? "" : "Examples:";
  for (const std::string& line : examples) out += "\n  xpu-preflight " + line;
  return out;
}

// The option of this command that a word of no program may have meant; "" where none is near.
std::string own_option_meant(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> choices(names.begin(), names.end());
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || is_of_sglang(name)) continue;
    return std::string(args::closest_choice(name, choices));
  }
  return {};
}

// What was typed without the values of our own options, whose meaning is known. --env and --set give variables of the
// launch: what these hold may be secret.
std::vector<std::string> not_our_own(const std::vector<std::string>& typed) {
  std::map<std::string, bool> takes_value;
  for (const report::CommandWords& command : program_words().commands) {
    for (const report::OptionWords& option : command.options) {
      for (const std::string& name : option.names) takes_value[name] = option.takes != report::Takes::kNothing;
    }
  }
  std::erase_if(takes_value, [](const auto& option) { return option.first == "--env" || option.first == "--set"; });
  std::vector<std::string> others;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    const auto own = takes_value.find(typed[i].substr(0, typed[i].find('=')));
    if (own == takes_value.end()) {
      others.push_back(typed[i]);
    } else if (own->second && own->first == typed[i] && i + 1 < typed.size() && !typed[i + 1].starts_with('-')) {
      ++i;
    }
  }
  return others;
}

// CLI11's complaint in one line; words it did not expect are told in the order they were typed.
std::string usage_error(const CLI::ParseError& error, const CLI::App& app, const CLI::App* asked,
                        const std::vector<std::string>& typed) {
  std::string text = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    std::string words;
    for (const std::string& word : app.remaining(true)) words += (words.empty() ? "" : " ") + shown_word(word);
    const std::string near = asked == nullptr ? "" : own_option_meant(*asked, app.remaining(true));
    text = fmt::format("not expected here: {}; {}", words,
                       near.empty() ? "SGLang's own arguments stand behind --" : "did you mean " + near + "?");
  }
  std::ranges::replace(text, '\n', ' ');
  // SGLang's options typed here hold what they would behind --.
  hide_in(text, {.release = supported_releases().back(), .argv = not_our_own(typed)});
  return text;
}

// A command that has each of our options.
std::unordered_map<std::string, std::string_view> commands_by_option(const std::vector<Subcommand>& table) {
  std::unordered_map<std::string, std::string_view> out;
  for (const Subcommand& s : table) {
    CLI::App app;
    int verbose = 0;
    add_all_options(s, app, verbose);
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) out.try_emplace("--" + name, s.name);
    }
  }
  return out;
}

// What is wrong with the first word of a launch that is an option of ours, and of no SGLang release; "": there is none.
std::string own_option_behind(const CLI::App& app, std::string_view command, const std::vector<Subcommand>& table,
                              const std::vector<std::string>& launch) {
  std::optional<std::unordered_map<std::string, std::string_view>> others;  // made for the first word nobody knows
  for (const std::string& word : launch) {
    const std::string name = word.substr(0, word.find('='));
    if (name.size() < 3 || !name.starts_with("--") || name == "--help" || is_of_sglang(name)) continue;
    if (app.get_option_no_throw(name) != nullptr) {
      return fmt::format(
          "{} is an option of xpu-preflight and belongs before --; behind it stand SGLang's own arguments", name);
    }
    if (!others) others = commands_by_option(table);
    if (const auto other = others->find(name); other != others->end()) {
      return fmt::format("{} is an option of xpu-preflight {}, not of {}, and of no SGLang", name, other->second,
                         command);
    }
  }
  return {};
}

std::string no_such_command(const std::string& word, const std::vector<Subcommand>& table) {
  std::vector<std::string_view> names;
  for (const Subcommand& s : table) names.emplace_back(s.name);
  const std::string_view near = args::closest_choice(word, names);
  return fmt::format("no command {}; {}the commands are {}", word,
                     near.empty() ? "" : fmt::format("did you mean {}? ", near), fmt::join(names, ", "));
}

// --help and --version, in the width of the terminal.
int print_help(const CLI::App& app, const CLI::ParseError& asked) {
  constexpr std::size_t kSecondColumn = 30;
  std::ostringstream text;
  if (app.exit(asked, text, std::cerr) != 0) return kBadInput;
  std::cout << report::folded_table(text.str(), output_options(LaunchFlags{}).width, kSecondColumn);
  return kOk;
}

// Where the words ask for JSON: then an error is told there, too.
struct JsonAsked {
  bool on_output = false;
  std::string file = {};  // the first that --output json=FILE names
};

JsonAsked json_asked(int argc, char** argv) {
  constexpr std::string_view kFile = "json=";
  const std::vector<std::string_view> words(argv, argv + argc);
  JsonAsked asked;
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    for (const std::string_view option : {"--format", "--output"}) {
      if (!words[i].starts_with(option)) continue;
      std::string_view value = words[i].substr(option.size());
      if (value.empty() && i + 1 < words.size())
        value = words[i + 1];
      else if (value.starts_with('='))
        value.remove_prefix(1);
      else  // --formatted: another option
        continue;
      if (value == "json" || value == "json=-") asked.on_output = true;
      if (value.starts_with(kFile) && value != "json=-" && asked.file.empty()) asked.file = value.substr(kFile.size());
    }
  }
  return asked;
}

// Where nothing could be judged, the report of an earlier run would be taken for this one's. Of bad options it is not
// known what else is read: any other file stays as it is.
void write_error(const std::string& file, std::string_view report) {
  if (file.empty() || !report::why_no_place(file).empty()) return;
  std::error_code hidden;  // in a folder that is closed to us
  if (std::filesystem::exists(std::filesystem::symlink_status(file, hidden))) {
    const auto text = read_text(file);
    if (!text || !report::is_own_report(*text)) return;
  }
  static_cast<void>(report::write_output(file, report));  // why there is none was said
}

struct Words {
  std::vector<std::string> own;
  std::vector<std::string> launch;
};

// Launch arguments stand after the first `--`; they are SGLang's language, not CLI11's.
Words words_of(int argc, char** argv) {
  char** const end = argv + argc;
  char** const dashes = std::find(argv + 1, end, std::string_view("--"));
  return {{argv + 1, dashes}, {dashes == end ? end : dashes + 1, end}};
}

// "" where the words behind -- are the command's.
std::string why_not_behind(const Subcommand& asked, const CLI::App& app, const std::vector<Subcommand>& table,
                           const std::vector<std::string>& launch) {
  if (launch.size() > limits::kListWords) return "more than 10,000 words behind --";
  // Behind `exec --` stands a whole command, whose other programs have options of their own.
  if (asked.behind == report::Behind::kCommand) return {};
  if (std::string why = own_option_behind(app, asked.name, table, launch); !why.empty()) return why;
  const bool takes_none = asked.behind == report::Behind::kNothing && !launch.empty();
  return takes_none ? fmt::format("{} takes nothing behind --", asked.name) : std::string();
}

int run(int argc, char** argv) {
  if (argc == 2 && argv[1] == kKernelProcess) serve_kernel_process();
  auto [own, launch] = words_of(argc, argv);
  const std::vector<std::string> typed = own;
  report::complain_without({argv + 1, argv + argc});

  CLI::App app{"Says what SGLang will do with its launch arguments on an Intel GPU, before the launch."};
  app.name("xpu-preflight");
  app.set_version_flag("--version", std::string("xpu-preflight ") + PREFLIGHT_VERSION);
  app.require_subcommand(1);

  int verbose = 0;
  const std::vector<Subcommand> table = subcommands();
  const Subcommand* asked = nullptr;
  CLI::App* asked_app = nullptr;
  const std::string first = own.empty() ? "" : own.front();
  const bool names_one = std::ranges::any_of(table, [&](const Subcommand& s) { return s.name == first; });
  for (const Subcommand& s : table) {
    // Making all of them, with their options, would cost more than resolving a launch.
    if (names_one && first != s.name) continue;
    CLI::App* sub = app.add_subcommand(s.name, s.what);
    if (!names_one) continue;
    add_all_options(s, *sub, verbose);
    const std::string closing = sub->get_footer();
    sub->footer(examples_text(s.examples) + (closing.empty() ? "" : "\n\n" + closing));
    asked = &s;
    asked_app = sub;
  }
  app.footer(examples_text(kFirstSteps));  // only now: a command begins with that of the whole program
  if (asked == nullptr && !own.empty() && !own.front().starts_with('-')) {
    return refuse({no_such_command(own.front(), table)});
  }
  if (asked != nullptr && asked->take_words) asked->take_words(*asked_app, own);
  try {
    std::vector<std::string> reversed(own.rbegin(), own.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return print_help(app, e);
    return refuse({usage_error(e, app, asked_app, typed)});
  }
  if (verbose > 0) log::set_detail(verbose == 1 ? log::Detail::kFiles : log::Detail::kTimes, std::cerr);
  if (std::string why = why_not_behind(*asked, *asked_app, table, launch); !why.empty())
    return refuse({std::move(why)});
  const OutputOptions output = output_options(LaunchFlags{});
  const bool is_text =
      asked->folds && !json_asked(argc, argv).on_output && std::ranges::find(own, "--batch") == own.end();
  std::optional<report::FoldedStream> folded;
  if (output.folded && is_text) folded.emplace(std::cout, output.width);
  return asked->run(launch);
}

// What lives as long as the program needs no end of its own: to give tables back one by one takes as long as to read a
// model's configuration. What asked for the end of a program by at_quick_exit is called; the sanitizers look for leaks
// there.
void leave([[maybe_unused]] int status) {
#ifndef PREFLIGHT_SANITIZED
  std::cerr.flush();
  std::quick_exit(status);
#endif
}

// A report that nobody can read is no success: a full disk, a closed pipe.
int written(int status) {
  if (std::cout.flush()) return status;
  report::complain("cannot write to standard output");
  return kInternalError;
}

}  // namespace
}  // namespace preflight::commands

namespace {

// Before the first constructor asks for memory: where there is next to none, malloc and a full stack end a program by a
// signal, which says nothing.
[[gnu::constructor(101)]] void refuse_too_little() {
  constexpr std::size_t kLeastMemory = std::size_t{7} << 20U;
  constexpr rlim_t kLeastStack = rlim_t{448} << 10U;
  const auto end = [](std::string_view why) {
    if (write(STDERR_FILENO, why.data(), why.size()) < 0) _exit(preflight::commands::kInternalError);
    _exit(preflight::commands::kInternalError);
  };
  void* const probe = mmap(nullptr, kLeastMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) end("xpu-preflight: out of memory\n");  // NOLINT(performance-no-int-to-ptr)
  munmap(probe, kLeastMemory);
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < kLeastStack)
    end("xpu-preflight: the stack may not grow beyond 448 KiB here, which is too little; `ulimit -s 8192` is usual\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a failed write, which is told
  const preflight::report::OutputGate out(std::cout);
  const preflight::report::OutputGate err(std::cerr, preflight::report::OutputGate::Returns::kPass);
  try {
    using preflight::commands::Exit;
    using preflight::commands::exit_number;
    const int status = exit_number(static_cast<Exit>(preflight::commands::run(argc, argv)));
    if (status == preflight::commands::kBadInput) {
      const std::string report = preflight::report::error_report(preflight::report::last_complaint(), status);
      const auto asked = preflight::commands::json_asked(argc, argv);
      if (!out.used() && asked.on_output) std::cout << report;
      preflight::commands::write_error(asked.file, report);
    }
    const int said = preflight::commands::written(status);
    preflight::commands::leave(said);
    return said;
  } catch (const std::bad_alloc&) {
    std::cerr << "xpu-preflight: out of memory\n";
  } catch (const std::exception& e) {
    preflight::report::complain(std::string("internal error: ") + e.what());
  }
  return preflight::commands::kInternalError;
}
