// xpu-preflight: options to stages to exit status. Everything else is in the library.

#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "src/commands/commands.h"
#include "src/commands/launch_commands.h"
#include "src/commands/options.h"

namespace preflight::commands {
namespace {

constexpr const char* kFooter =
    "Exit status: 0 nothing at or above --fail-on, 1 findings, 2 bad usage or input, 3 internal error,\n"
    "4 the kernel was wrong or failed, 5 the OpenCL device asked for is absent.\n"
    "Example: xpu-preflight check -- --model-path Qwen/Qwen3-8B --attention-backend intel_xpu --page-size 32";

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

  CLI::App app{"Says what SGLang will do with its launch arguments on an Intel GPU, before the launch."};
  app.name("xpu-preflight");
  app.set_version_flag("--version", std::string("xpu-preflight ") + PREFLIGHT_VERSION);
  app.footer(kFooter);
  app.require_subcommand(1);

  // Only the command that is asked for gets its options: making all of them would cost as much as resolving a launch.
  const std::string_view asked = own.empty() ? std::string_view() : std::string_view(own.front());

  CheckFlags check_flags;
  CLI::App* check_app = app.add_subcommand("check", "Check a launch and run its decode kernel on a sample batch");
  if (asked == "check") {
    add_launch_options(*check_app, check_flags.launch);
    add_check_options(*check_app, check_flags);
  }

  LaunchFlags resolve_flags;
  bool all = false;
  CLI::App* resolve_app = app.add_subcommand("resolve", "Print the resolved configuration and what changed each value");
  std::vector<std::string> diff;
  if (asked == "resolve") {
    add_launch_options(*resolve_app, resolve_flags);
    resolve_app->add_flag("--all", all, "Every field, not only what was given or changed");
    resolve_app->add_option("--diff", diff, "A B: two launches (files, commands or arguments) side by side")
        ->expected(2);
  }

  MemoryFlags memory_flags;
  CLI::App* memory_app = app.add_subcommand("memory", "What one GPU holds, and which --mem-fraction-static works");
  if (asked == "memory") add_memory_options(*memory_app, memory_flags);
  UpgradeFlags upgrade_flags;
  CLI::App* upgrade_app = app.add_subcommand("upgrade", "What the same launch does otherwise in another release");
  if (asked == "upgrade") add_upgrade_options(*upgrade_app, upgrade_flags);
  PagesFlags pages_flags;
  CLI::App* pages_app = app.add_subcommand("pages", "The launch on every page size and attention backend");
  if (asked == "pages") add_pages_options(*pages_app, pages_flags);
  NodesFlags nodes_flags;
  CLI::App* nodes_app = app.add_subcommand("nodes", "Check the commands of one launch over several machines together");
  if (asked == "nodes") add_nodes_options(*nodes_app, nodes_flags);

  CLI::App* releases_app = app.add_subcommand("releases", "List the supported SGLang releases, one a line");
  LaunchFlags rules_flags;
  CLI::App* rules_app = app.add_subcommand("rules", "List the rules");
  add_output_options(*rules_app, rules_flags);
  LaunchFlags explain_flags;
  std::string subject;
  CLI::App* explain_app =
      app.add_subcommand("explain", "Explain a rule, a field or an option; behind -- in one launch");
  explain_app->add_option("WHAT", subject, "A rule (PG003, K-6), a field (page_size) or an option (--page-size)")
      ->required();
  if (asked == "explain") add_launch_options(*explain_app, explain_flags);

  KernelOptions defects_kernel;
  bool measure = false;
  CLI::App* defects_app = app.add_subcommand("defects", "List the defects that --inject can plant");
  defects_app->add_flag("--measure", measure, "Plant each under every input regime: a table, which takes a minute");
  defects_app->add_option("--opencl-device", defects_kernel.device, "OpenCL device: index, or part of its name");

  const auto subcommands = app.get_subcommands([](CLI::App*) { return true; });
  const bool named = !own.empty() && !own.front().starts_with('-');
  if (named && std::none_of(subcommands.begin(), subcommands.end(),
                            [&](const CLI::App* s) { return s->get_name() == own.front(); })) {
    std::string known;
    for (const CLI::App* s : subcommands) known += (known.empty() ? "" : ", ") + s->get_name();
    std::cerr << fmt::format("xpu-preflight: no command {}; the commands are {}\n", own.front(), known);
    return kBadInput;
  }
  // `explain --page-size`: SGLang's option, not one of ours.
  if (own.size() > 1 && own[0] == "explain" && own[1].starts_with("--") &&
      explain_app->get_option_no_throw(own[1].substr(0, own[1].find('='))) == nullptr) {
    own[1].erase(0, 2);
  }
  // The two launches of `resolve --diff A B` may begin with dashes of their own.
  if (const auto at = std::find(own.begin(), own.end(), "--diff"); own.end() - at > 2 && own.front() == "resolve") {
    diff.assign(at + 1, at + 3);
    own.erase(at, at + 3);
  }
  try {
    std::vector<std::string> reversed(own.rbegin(), own.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& e) {
    return app.exit(e, std::cout, std::cerr) == 0 ? kOk : kBadInput;
  }

  if (*releases_app) return releases();
  if (*rules_app) return with_output(rules_flags, [](const OutputOptions& o) { return list_rules(o); });
  if (*explain_app) return run_explain(explain_flags, subject, std::move(launch));
  if (*defects_app) return list_defects(defects_kernel, measure);
  if (*memory_app) return run_memory(memory_flags, std::move(launch));
  if (*upgrade_app) return run_upgrade(upgrade_flags, std::move(launch));
  if (*pages_app) return run_pages(pages_flags, std::move(launch));
  if (*nodes_app) return run_nodes(nodes_flags);
  if (*resolve_app && !diff.empty()) return run_diff(resolve_flags, diff);
  if (*resolve_app) return run_resolve(resolve_flags, std::move(launch), all);
  return run_check(check_flags, std::move(launch));
}

// A report that nobody can read is no success: a full disk, a closed pipe.
int written(int status) {
  if (std::cout.flush()) return status;
  std::cerr << "xpu-preflight: cannot write to standard output\n";
  return kInternalError;
}

}  // namespace
}  // namespace preflight::commands

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  try {
    return preflight::commands::written(preflight::commands::run(argc, argv));
  } catch (const std::bad_alloc&) {
    std::cerr << "xpu-preflight: out of memory\n";
  } catch (const std::exception& e) {
    std::cerr << "xpu-preflight: internal error: " << e.what() << '\n';
  }
  return preflight::commands::kInternalError;
}
