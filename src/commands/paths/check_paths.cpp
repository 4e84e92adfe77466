// `check PATH…` and `launches PATH…`: every launch of many files. Tested by tests/launches_test.cpp.
#include <algorithm>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/commands/check_outputs.h"
#include "src/commands/commands.h"
#include "src/commands/nodes/server_pairs.h"
#include "src/commands/options.h"
#include "src/commands/subcommand.h"
#include "src/commands/paths/paths.h"
#include "src/commands/policy/finding_filter.h"
#include "src/intake/secret_text.h"
#include "src/report/complaint.h"
#include "src/report/launches_report.h"
#include "src/report/print.h"
#include "src/report/repeated_reasons.h"

namespace preflight::commands {
namespace {

// Launches of one group: they meet at one address.
struct Member {
  Node node;
  PreparedLaunch launch;
};

// The same in two lists, as what compares them takes them.
struct Members {
  std::vector<Node> nodes = {};
  std::vector<PreparedLaunch> launches = {};

  void add(Node&& node, PreparedLaunch&& launch) {
    nodes.push_back(std::move(node));
    launches.push_back(std::move(launch));
  }
};

Members taken_apart(std::vector<Member>& members) {
  Members out;
  for (Member& member : members) out.add(std::move(member.node), std::move(member.launch));
  return out;
}

std::string meeting_place(const Launch& launch) {
  if (launch.args.raw.empty()) return {};
  const Value& nodes = launch.args[Field::nnodes];
  if (!nodes.is_int() || nodes.as_int() < 2) return {};
  const Value& address = launch.args[Field::dist_init_addr];
  return fmt::format("{} nodes at {}", nodes.as_int(), address.is_string() ? address.as_string() : "no address");
}

class PathCheck {
 public:
  PathCheck(const CheckCommand& command, bool release_given) : command_(command), release_given_(release_given) {}

  Exit run(const std::vector<ReadFile>& files, const std::vector<std::string>& paths) {
    run_.several = true;
    run_.files = static_cast<std::size_t>(
        std::ranges::count_if(files, [](const ReadFile& file) { return !file.tells_nothing(); }));
    command_.tries->most = command_.tries->left = tries_of(files);
    for (const ReadFile& file : files) {
      if (file.launches.empty()) skip(file);
      all_of(file);
    }
    together();
    if (run_.launches.empty()) nothing_found(paths);
    tell_untried(*command_.tries);
    run_.exit_status = exit_number(worst_);
    keep_ignores(command_, run_);
    return write_outputs(run_, command_, worst_);
  }

 private:
  void all_of(const ReadFile& file) {
    const TriesOfFile share(*command_.tries, file.launches.size());
    for (std::size_t i = 0; i < file.launches.size(); ++i) one(file, i);
  }

  void skip(const ReadFile& file) {
    if (file.tells_nothing()) return;
    run_.skipped.push_back({file.name, file.why_none, file.named, file.unread(), file.passed_over});
    if (run_.skipped.back().counts()) worst_ = heavier(worst_, kFindings);
  }

  // A gate over a folder that holds none, a mount that failed perhaps, must not pass for what it requires.
  void nothing_found(const std::vector<std::string>& paths) {
    if (command_.required.empty() && !command_.kernel.required) return;
    worst_ = heavier(worst_, kFindings);
    run_.groups.push_back({.what = fmt::format("{}", fmt::join(paths, ", ")),
                           .launches = {},
                           .findings = {no_launch(paths)},
                           .ignored = {}});
  }

  void not_checked(ReadLaunch read, bool is_file, std::string why) {
    worst_ = heavier(worst_, kFindings);
    hide_parts(why);
    report::CheckedLaunch out{.title = title_of(read), .file = is_file ? read.file : "", .line = read.line};
    out.read = std::move(read);
    out.why = std::move(why);
    out.exit_status = exit_number(kFindings);
    run_.launches.push_back(std::move(out));
  }

  [[nodiscard]] LaunchInput input_for(const ReadFile& file, std::size_t index) const {
    LaunchInput input = input_of(command_.input, file, index);
    const auto release = parse_release(file.launches[index].release);
    if (!release_given_ && release && is_supported(*release)) input.release = *release;
    return input;
  }

  void one(const ReadFile& file, std::size_t index) {
    CheckCommand command = command_;
    command.input = input_for(file, index);
    const LaunchInput& input = command.input;
    ReadLaunch read = shown_launch(file.launches[index], file.name, input.release);
    if (!read.unknown.empty()) return not_checked(std::move(read), input.command_is_file, "");
    auto prepared = prepare_launch(input);
    if (!prepared) return not_checked(std::move(read), input.command_is_file, prepared.error().text());
    const std::string place = meeting_place(prepared->launch);
    const Node node{.name = title_of(read),
                    .command = {},
                    .variables = {},
                    .env = {},
                    .cards = file.launches[index].host.cards,
                    .file = file.name};
    if (!place.empty()) groups_[place].push_back({node, *prepared});
    if (const std::size_t number = file.launches[index].together; number != 0)
      beside_[number].push_back({node, *prepared});
    if (!disaggregation_mode(prepared->launch).empty()) {
      halves_.add(Node(node), PreparedLaunch(*prepared));
      halves_.nodes.back().file = read.file;
    }
    Report report = make_report(std::move(*prepared), command);
    report.read = std::move(read);
    const Exit status = exit_status(report, command);
    worst_ = heavier(worst_, status);
    run_.launches.push_back(checked_launch(std::move(report), input, status));
    run_.launches.back().title = title_of(*run_.launches.back().read);
  }

  // Nodes of one launch, and prefill and decode servers of one model, are also looked at together.
  void together() {
    for (auto& [place, members] : groups_) look_at_nodes(place, members);
    for (const ServerPair& pair : server_pairs(halves_.nodes, halves_.launches)) {
      Members members;
      for (const std::size_t i : pair.members) members.add(Node(halves_.nodes[i]), PreparedLaunch(halves_.launches[i]));
      look_at_group(pair.what, members, pair_findings);
    }
    for (auto& [number, members] : beside_) {
      if (members.size() > 1) look_at_servers(taken_apart(members));
    }
  }

  // Two servers of one host are no group of their own where nothing is wrong between them.
  void look_at_servers(const Members& members) {
    if (!beside_findings(members.nodes, members.launches).empty())
      look_at_group("servers started together in " + members.nodes.front().file, members, beside_findings);
  }

  // Launches of one address that are not of one launch are told by their models.
  void look_at_nodes(const std::string& place, std::vector<Member>& members) {
    Members all = taken_apart(members);
    const auto groups = node_groups(all.nodes, all.launches);
    for (const std::vector<std::size_t>& group : groups) {
      Members part;
      for (const std::size_t i : group) part.add(std::move(all.nodes[i]), std::move(all.launches[i]));
      const Value& model = part.launches.front().launch.args[Field::model_path];
      const bool several = groups.size() > 1 && model.is_string();
      look_at_group(several ? fmt::format("{}, {}", place, model.as_string()) : place, part, node_findings);
    }
  }

  void look_at_group(const std::string& place, const Members& members, const auto& findings_of) {
    report::CheckedGroup group{.what = place, .launches = {}, .findings = {}, .ignored = {}};
    for (const Node& node : members.nodes) group.launches.push_back(node.name);
    group.findings = findings_of(members.nodes, members.launches);
    if (command_.filter) group.ignored = command_.filter->apply(group.findings, {.launch = place});
    for (const Diagnostic& d : group.findings) {
      if (d.severity == Severity::kError) worst_ = heavier(worst_, kFindings);
    }
    run_.groups.push_back(std::move(group));
  }

  const CheckCommand& command_;
  bool release_given_;
  Exit worst_ = kOk;
  std::map<std::string, std::vector<Member>> groups_;
  std::map<std::size_t, std::vector<Member>> beside_;  // servers that run together on one machine
  Members halves_;                                     // prefill and decode servers
  report::CheckRun run_;
};

// A note quotes options of the text.
std::string without_secrets(const std::string& message) {
  std::string out;
  bool hides = false;
  for (std::size_t from = 0; from <= message.size();) {
    const std::size_t end = std::min(message.find(' ', from), message.size());
    const std::string word = message.substr(from, end - from);
    out += (from > 0 ? " " : "") + (hides ? std::string(kHidden) : word);
    hides = word.starts_with("--") && word.find('=') == std::string::npos && looks_secret(word);
    from = end + 1;
  }
  hide_parts(out);
  return out;
}

// What was said on the way to a launch: what else the text names, and is not looked at.
std::vector<report::ReadNote> notes_of(const sources::LaunchCommand& launch, const sources::SharedText& text) {
  std::vector<report::ReadNote> out;
  for (const sources::ShellNote& note : launch.notes) {
    const sources::LineColumn at = text.at(note.offset);
    out.push_back({note.rule, {without_secrets(note.message), at.line, at.column}});
  }
  return out;
}

}  // namespace

int check_paths(const CheckCommand& command, const std::vector<std::string>& paths, bool release_given) {
  auto files = read_files(paths, command.input.variables);
  if (!files) return refuse(files.error());
  if (const auto error = keep_chosen(command.input.launch_choice, *files)) return refuse(*error);
  return PathCheck(command, release_given).run(*files, paths);
}
namespace {

// What was understood of the files.
int list_launches(const LaunchInput& input, const std::vector<std::string>& paths, const OutputOptions& output) {
  auto files = read_files(paths, input.variables);
  if (!files) return refuse(files.error());
  if (const auto error = keep_chosen(input.launch_choice, *files)) return refuse(*error);
  const bool json = output.format == Format::kJson;
  std::vector<report::ToldLaunch> all;
  bool unread = false;
  report::RepeatedReasons reasons;
  for (const ReadFile& file : *files) {
    for (const sources::LaunchCommand& launch : file.launches) {
      all.push_back({shown_launch(launch, file.name, input.release), notes_of(launch, file.text)});
      if (!json) report::print(report::read_launch_text(all.back().launch, all.back().notes));
    }
    if (!file.launches.empty() || file.tells_nothing()) continue;
    unread = true;
    if (reasons.is_named(file.why_none)) report::complain(fmt::format("{}: {}", file.name, file.why_none));
  }
  for (const std::string& line : reasons.others()) report::complain(line);
  if (all.empty() && !unread) report::complain(fmt::format("no launch was found in {}", fmt::join(paths, ", ")));
  // Where nothing could be read, JSON is the object that says so (docs/outputs.md): no list of none.
  if (json && !(unread && all.empty())) report::print(report::launches_json(all));
  return unread ? kBadInput : kOk;
}

struct LaunchesFlags {
  LaunchFlags launch;
  std::vector<std::string> paths;
};

void add_launches_options(CLI::App& app, LaunchesFlags& flags) {
  app.add_option("PATH", flags.paths, "Files, directories or patterns; - is standard input")
      ->type_name("FILE")
      ->required();
  add_output_options(app, flags.launch);
  app.add_option("--launch", flags.launch.launch, "One of them: its number from 1, or its name");
  app.add_option("--set", flags.launch.variables, "NAME=VALUE of a variable in the files")->allow_extra_args(false);
}

int run_launches(const LaunchesFlags& flags, const std::vector<std::string>&) {
  const auto input = launch_input(flags.launch, {});
  if (!input) return refuse(input.error());
  return list_launches(*input, flags.paths, output_options(flags.launch));
}

}  // namespace

Subcommand launches_subcommand() {
  return with_flags(std::make_shared<LaunchesFlags>(),
                    {.name = "launches",
                     .what = "List the launches in files, and what of them is not known",
                     .examples = {"launches deploy/ scripts/serve.sh", "launches --format json deploy/"},
                     .behind = report::Behind::kNothing},
                    add_launches_options, run_launches);
}

}  // namespace preflight::commands
