// xpu-preflight: options to stages to exit status. Everything else is in the library.

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
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
#include "src/args/closest_options.h"
#include "src/args/option_index.h"
#include "src/report/complaint.h"
#include "src/report/folding.h"
#include "src/report/output_gate.h"
#include "src/report/report_json.h"
#include "src/base/log.h"
#include "src/commands/commands.h"
#include "src/commands/doctor.h"
#include "src/commands/exec.h"
#include "src/commands/facts.h"
#include "src/commands/kernel_programs.h"
#include "src/commands/launch_commands.h"
#include "src/commands/suggest.h"
#include "src/commands/options.h"
#include "src/commands/program_words.h"
#include "src/intake/conceal.h"
#include "src/intake/open_text.h"

namespace preflight::commands {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  xpu-preflight check -- --model-path Qwen/Qwen3-8B --attention-backend intel_xpu --page-size 32\n"
    "  xpu-preflight check deploy/ scripts/serve.sh\n"
    "  xpu-preflight exec -- python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2";

struct Subcommand {
  const char* name;
  const char* what;
  std::function<void(CLI::App&)> add_options;
  std::function<int(std::vector<std::string> launch)> run;
  report::Behind behind = report::Behind::kLaunch;
};

// What the options of the one command that runs are read into.
struct Flags {
  CheckFlags check;
  LaunchFlags resolve;
  bool resolve_all = false;
  std::vector<std::string> diff;
  MemoryFlags memory;
  PagesFlags pages;
  UpgradeFlags upgrade;
  NodesFlags nodes;
  ExecFlags exec;
  LaunchFlags facts;
  SuggestFlags suggest;
  LaunchFlags launches;
  std::vector<std::string> paths;
  LaunchFlags rules;
  LaunchFlags explain;
  std::string subject;
  KernelOptions defects;
  bool measure = false;
  std::string programs;
  std::string kernel_cases;
  CheckFlags kernels;
  bool conformance = false;
  std::string shell;
  int verbose = 0;
};

report::ProgramWords every_word();

std::vector<Subcommand> subcommands(Flags& f) {
  using Words = std::vector<std::string>;
  return {
      {"check", "Check a launch and run its decode kernel on a sample batch",
       [&f](CLI::App& app) {
         add_launch_options(app, f.check.launch);
         add_batch_options(app, f.check.launch);
         add_check_options(app, f.check);
       },
       [&f](Words launch) { return run_check(f.check, std::move(launch)); }},
      {"exec", "Check a command that starts SGLang, then become it: same process, signals and exit status",
       [&f](CLI::App& app) { add_exec_options(app, f.exec); },
       [&f](const Words& words) { return run_exec(f.exec, words); }, report::Behind::kCommand},
      {"resolve", "Print the resolved configuration and what changed each value",
       [&f](CLI::App& app) {
         add_launch_options(app, f.resolve);
         add_batch_options(app, f.resolve);
         app.add_flag("--all", f.resolve_all, "Every field, not only what was given or changed");
         app.add_option("--diff", f.diff, "A B: two launches (files, commands or arguments) side by side")->expected(2);
       },
       [&f](Words launch) {
         return f.diff.empty() ? run_resolve(f.resolve, std::move(launch), f.resolve_all)
                               : run_diff(f.resolve, f.diff, launch);
       }},
      {"memory", "What one GPU holds, and which --mem-fraction-static works",
       [&f](CLI::App& app) { add_memory_options(app, f.memory); },
       [&f](Words launch) { return run_memory(f.memory, std::move(launch)); }},
      {"pages", "The launch on every page size and attention backend",
       [&f](CLI::App& app) { add_pages_options(app, f.pages); },
       [&f](Words launch) { return run_pages(f.pages, std::move(launch)); }},
      {"upgrade", "What the same launch does otherwise in another release",
       [&f](CLI::App& app) { add_upgrade_options(app, f.upgrade); },
       [&f](Words launch) { return run_upgrade(f.upgrade, std::move(launch)); }},
      {"launches", "List the launches in files, and what of them is not known",
       [&f](CLI::App& app) {
         app.add_option("PATH", f.paths, "Files, directories or patterns; - is standard input")
             ->type_name("FILE")
             ->required();
         add_output_options(app, f.launches);
         app.add_option("--launch", f.launches.launch, "One of them: its number from 1, or its name");
         app.add_option("--set", f.launches.variables, "NAME=VALUE of a variable in the files")
             ->allow_extra_args(false);
       },
       [&f](const Words&) { return run_launches(f.launches, f.paths); }, report::Behind::kNothing},
      {"nodes", "Check the commands of one launch over several machines together",
       [&f](CLI::App& app) { add_nodes_options(app, f.nodes); }, [&f](const Words&) { return run_nodes(f.nodes); },
       report::Behind::kNothing},
      {"facts", "What a launch is judged against here: release, cards, host, packages, and where each is known from",
       [&f](CLI::App& app) { add_launch_options(app, f.facts); },
       [&f](Words launch) { return run_facts(f.facts, std::move(launch)); }},
      {"suggest", "Launches of a model that work on these cards, each resolved and checked",
       [&f](CLI::App& app) { add_suggest_options(app, f.suggest); },
       [&f](Words launch) { return run_suggest(f.suggest, std::move(launch)); }},
      {"doctor", "Is this host fit for the launch? Cards, permissions, limits, port, disk, packages",
       [&f](CLI::App& app) { add_launch_options(app, f.facts); },
       [&f](Words launch) { return run_doctor(f.facts, std::move(launch)); }},
      {"releases", "List the supported SGLang releases, one a line", [](CLI::App&) {},
       [](const Words&) { return releases(); }, report::Behind::kNothing},
      {"rules", "List the rules", [&f](CLI::App& app) { add_output_options(app, f.rules); },
       [&f](const Words&) { return with_output(f.rules, [](const OutputOptions& o) { return list_rules(o); }); },
       report::Behind::kNothing},
      {"explain", "Explain a rule, a field or an option; behind -- in one launch",
       [&f](CLI::App& app) {
         app.add_option("WHAT", f.subject,
                        "A rule (PG003, K-6), a field (page_size), an option (--page-size), or a message that SGLang "
                        "printed, in "
                        "quotes (- reads it from standard input)")
             ->required();
         add_launch_options(app, f.explain);
         app.remove_option(app.get_option("--format"));
         app.add_option("--format", f.explain.format, "text, the only one here")->check(CLI::IsMember({"text"}));
       },
       [&f](Words launch) { return run_explain(f.explain, f.subject, std::move(launch)); }},
      {"defects", "List the defects that --inject can plant",
       [&f](CLI::App& app) {
         auto* measure =
             app.add_flag("--measure", f.measure, "Plant each under every input regime: a table, which takes a minute");
         app.add_option("--opencl-device", f.defects.device, "OpenCL device: index, or part of its name")
             ->needs(measure);
       },
       [&f](const Words&) { return list_defects(f.defects, f.measure); }, report::Behind::kNothing},
      {"kernels", "List the kernels; judge others' by our cases; write the programs that Intel GPUs build",
       [&f](CLI::App& app) {
         auto* programs = app.add_option("--programs", f.programs, "Write sources and build options to this directory")
                              ->type_name("DIR");
         app.add_option("--cases", f.kernel_cases,
                        "Of the case lines in this file (- is standard input), not of the built-in ones")
             ->type_name("FILE");
         auto* conformance = app.add_flag("--conformance", f.conformance,
                                          "Run the case lines and judge them: a JSON object a line, the sum last")
                                 ->excludes(programs);
         add_kernel_options(app, f.kernels);
         for (const char* name : {"--opencl-device", "--kernel-timeout", "--kernel-from"}) {
           app.get_option(name)->needs(conformance);
         }
         add_large_cases_option(app, f.kernels, "--conformance");
       },
       [&f](const Words&) {
         return f.conformance ? run_conformance(f.kernels, f.kernel_cases) : list_kernels(f.programs, f.kernel_cases);
       },
       report::Behind::kNothing},
      {"completions", "Write the completions of a shell, SGLang's options behind -- among them",
       [&f](CLI::App& app) {
         app.add_option("SHELL", f.shell, "bash, zsh or fish")
             ->required()
             ->check(CLI::IsMember({"bash", "zsh", "fish"}));
       },
       [&f](const Words&) { return print_completions(f.shell, every_word()); }, report::Behind::kNothing},
      {"manual", "Write the manual page, as man reads it", [](CLI::App&) {},
       [](const Words&) { return print_manual(every_word()); }, report::Behind::kNothing},
  };
}

// No value of ours may be empty: "$RELEASE" of a variable that is not set would silently mean the default.
void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_items_expected_max() > 0; })) {
    option->check([](const std::string& value) { return value.empty() ? "the value is empty" : std::string(); });
  }
}

// What every command's parser has: its options, and those that all have.
void add_all_options(const Subcommand& command, CLI::App& app, int& verbose) {
  command.add_options(app);
  app.add_flag("-v,--verbose", verbose, "Say what is read and taken for granted; -vv: how long stages take");
  refuse_empty_values(app);
}

// For completions and the manual: the parsers of all commands.
report::ProgramWords every_word() {
  Flags flags;
  std::vector<report::CommandWords> commands;
  for (const Subcommand& command : subcommands(flags)) {
    CLI::App app{command.what, command.name};
    add_all_options(command, app, flags.verbose);
    commands.push_back(command_words(app, command.behind));
  }
  return program_words(std::move(commands));
}

bool is_of_sglang(const std::string& option) {
  const auto releases = supported_releases();
  return std::ranges::any_of(releases, [&](Release release) {
    const args::OptionIndex& index = args::OptionIndex::of(release);
    return index.find(option) != nullptr || !index.starting_with(option).empty();
  });
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
  for (const report::CommandWords& command : every_word().commands) {
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

// Whether the words ask for JSON on standard output: then an error is told there, too.
bool wants_json(int argc, char** argv) {
  const std::vector<std::string_view> words(argv, argv + argc);
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    if (words[i] == "--format=json" || words[i] == "--output=json") return true;
    const bool next = i + 1 < words.size() && words[i + 1] == "json";
    if (next && (words[i] == "--format" || words[i] == "--output")) return true;
  }
  return false;
}

int run(int argc, char** argv) {
  if (argc == 2 && argv[1] == kKernelProcess) serve_kernel_process();
  // Launch arguments stand after the first `--`; they are SGLang's language, not CLI11's.
  std::vector<std::string> own;
  std::vector<std::string> launch;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--") {
      launch.assign(argv + i + 1, argv + argc);
      break;
    }
    own.emplace_back(argv[i]);
  }
  const std::vector<std::string> typed = own;
  report::complain_without({argv + 1, argv + argc});

  CLI::App app{"Says what SGLang will do with its launch arguments on an Intel GPU, before the launch."};
  app.name("xpu-preflight");
  app.set_version_flag("--version", std::string("xpu-preflight ") + PREFLIGHT_VERSION);
  app.footer(kExamples);
  app.require_subcommand(1);

  Flags flags;
  const std::vector<Subcommand> table = subcommands(flags);
  const Subcommand* asked = nullptr;
  CLI::App* asked_app = nullptr;
  for (const Subcommand& s : table) {
    CLI::App* sub = app.add_subcommand(s.name, s.what);
    if (own.empty() || own.front() != s.name) continue;
    // Only this one gets its options: making all of them would cost as much as resolving a launch.
    add_all_options(s, *sub, flags.verbose);
    asked = &s;
    asked_app = sub;
  }
  if (asked == nullptr && !own.empty() && !own.front().starts_with('-')) {
    return refuse({no_such_command(own.front(), table)});
  }
  const std::string_view name = asked == nullptr ? "" : asked->name;
  // `explain --page-size`: SGLang's option, not one of ours.
  const auto is_sglangs = [&](const std::string& word) {
    const std::string option = word.substr(0, word.find('='));
    return word.starts_with("--") && asked_app->get_option_no_throw(option) == nullptr &&
           (&word == &own[1] || is_of_sglang(option));
  };
  if (name == "explain") {
    if (const auto at = std::find_if(own.begin(), own.end(), is_sglangs); at != own.end()) at->erase(0, 2);
  }
  // The two launches of `resolve --diff A B` may begin with dashes of their own.
  if (const auto at = std::find(own.begin(), own.end(), "--diff"); name == "resolve" && own.end() - at > 2) {
    flags.diff.assign(at + 1, at + 3);
    own.erase(at, at + 3);
  }
  try {
    std::vector<std::string> reversed(own.rbegin(), own.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return print_help(app, e);
    return refuse({usage_error(e, app, asked_app, typed)});
  }
  if (flags.verbose > 0) log::set_detail(flags.verbose == 1 ? log::Detail::kFiles : log::Detail::kTimes, std::cerr);
  if (launch.size() > limits::kListWords) return refuse({"more than 10,000 words behind --"});
  // Behind `exec --` stands a whole command, whose other programs have options of their own.
  if (std::string why = name == "exec" ? "" : own_option_behind(*asked_app, name, table, launch); !why.empty()) {
    return refuse({std::move(why)});
  }
  if (asked->behind == report::Behind::kNothing && !launch.empty()) {
    return refuse({fmt::format("{} takes nothing behind --", name)});
  }
  // `check` folds its text itself: its other formats are for programs.
  const OutputOptions output = output_options(LaunchFlags{});
  constexpr std::array<std::string_view, 5> kNotFolded = {"check", "exec", "completions", "manual", "kernels"};
  const bool is_text = std::ranges::find(kNotFolded, name) == kNotFolded.end() && !wants_json(argc, argv) &&
                       std::ranges::find(own, "--batch") == own.end();
  std::optional<report::FoldedStream> folded;
  if (output.folded && is_text) folded.emplace(std::cout, output.width);
  return asked->run(std::move(launch));
}

// A report that nobody can read is no success: a full disk, a closed pipe.
int written(int status) {
  if (std::cout.flush()) return status;
  report::complain("cannot write to standard output");
  return kInternalError;
}

}  // namespace
}  // namespace preflight::commands

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a failed write, which is told
  const preflight::report::OutputGate out(std::cout);
  const preflight::report::OutputGate err(std::cerr, preflight::report::OutputGate::Returns::kPass);
  try {
    using preflight::commands::Exit;
    using preflight::commands::exit_number;
    const int status = exit_number(static_cast<Exit>(preflight::commands::run(argc, argv)));
    if (status == preflight::commands::kBadInput && !out.used() && preflight::commands::wants_json(argc, argv)) {
      std::cout << preflight::report::error_report(preflight::report::last_complaint(), status);
    }
    return preflight::commands::written(status);
  } catch (const std::bad_alloc&) {
    std::cerr << "xpu-preflight: out of memory\n";
  } catch (const std::exception& e) {
    preflight::report::complain(std::string("internal error: ") + e.what());
  }
  return preflight::commands::kInternalError;
}
