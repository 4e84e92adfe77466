// `check PATH…` and `launches PATH…`: every launch of many files. Tested by tests/launches_test.cpp.
#include <algorithm>
#include <iostream>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/commands/commands.h"
#include "src/commands/nodes/nodes.h"
#include "src/commands/paths/paths.h"
#include "src/report/complaint.h"
#include "src/report/json_dump.h"
#include "src/report/launches_report.h"
#include "src/report/report_json.h"
#include "src/report/report_text.h"
#include "src/report/style.h"

namespace preflight::commands {
namespace {

using Json = nlohmann::ordered_json;

struct Counts {
  int checked = 0;
  int failed = 0;
  int unknown = 0;  // something in them is not known
  int unread = 0;   // the command is understood, its model or options cannot be read
  int skipped = 0;  // files without a launch that is understood
};

// Launches of one group: they meet at one address.
struct Member {
  Node node;
  PreparedLaunch launch;
};

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

  int run(const std::vector<ReadFile>& files) {
    for (const ReadFile& file : files) {
      if (file.launches.empty()) skip(file);
      for (std::size_t i = 0; i < file.launches.size(); ++i) one(file, i);
    }
    together();
    summary(files.size());
    return worst_;
  }

 private:
  [[nodiscard]] bool json() const { return command_.output.format == Format::kJson; }

  void skip(const ReadFile& file) {
    if (!file.named && file.why_none.starts_with(sources::kNoLaunch)) return;
    ++counts_.skipped;
    if (json())
      skipped_.push_back({{"file", file.name}, {"why", file.why_none}});
    else
      std::cout << style_.bold(file.name) << ": skipped: " << file.why_none << '\n';
    if (file.named) worst_ = heavier(worst_, kFindings);
  }

  void one(const ReadFile& file, std::size_t index) {
    const sources::LaunchCommand& launch = file.launches[index];
    LaunchInput input = command_.input;
    if (const auto release = parse_release(launch.release); !release_given_ && release && is_supported(*release)) {
      input.release = *release;
    }
    const ReadLaunch read = shown_launch(launch, file.name, input.release);
    if (!launch.unknown.empty()) {
      ++counts_.unknown;
      worst_ = heavier(worst_, kFindings);
      if (json())
        launches_.push_back({{"launch", report::read_launch_json(read)}, {"status", "unknown"}});
      else
        tell_unknown(read);
      return;
    }
    input.command = file.text;
    input.command_name = file.name;
    input.command_is_file = file.name != "standard input";
    input.which_launch = index;
    auto prepared = prepare_launch(input);
    if (!prepared) {
      ++counts_.unread;
      worst_ = heavier(worst_, kFindings);
      if (json())
        launches_.push_back(
            {{"launch", report::read_launch_json(read)}, {"status", "unread"}, {"why", prepared.error().text()}});
      else
        std::cout << head(read) << ": not checked: " << prepared.error().text() << '\n';
      return;
    }
    ++counts_.checked;
    const std::string place = meeting_place(prepared->launch);
    if (!place.empty())
      groups_[place].push_back({{.name = head(read), .command = {}, .variables = {}, .env = {}}, *prepared});
    CheckCommand command = command_;
    command.input = input;
    const Report report = make_report(std::move(*prepared), command);
    const Exit status = exit_status(report, command);
    if (status != kOk) ++counts_.failed;
    worst_ = heavier(worst_, status);
    if (json()) {
      launches_.push_back({{"launch", report::read_launch_json(read)},
                           {"status", report.verdict_word()},
                           {"report", Json::parse(report::report_json(report, status), nullptr, false)}});
      return;
    }
    std::cout << style_.bold(head(read)) << ": "
              << (status == kOk ? style_.green(std::string(report.verdict_word()))
                                : style_.red(std::string(report.verdict_word())))
              << fmt::format(" (SGLang {})\n", input.release.text());
    const report::TextOptions text{command_.output.colour, command_.output.width, false};
    for (const Diagnostic& d : report.findings) {
      if (d.severity >= Severity::kWarning) std::cout << report::finding_text(d, report.source, text) << '\n';
    }
  }

  static std::string head(const ReadLaunch& read) {
    return fmt::format("{}:{}{}{}", read.file, read.line, read.name.empty() ? "" : " " + read.name,
                       read.when.empty() ? "" : ", " + read.when);
  }

  void tell_unknown(const ReadLaunch& read) {
    std::cout << style_.bold(head(read)) << ": not checked, something in it is not known\n";
    for (const ReadLaunch::Open& open : read.unknown) {
      std::cout << fmt::format("  {}:{}:{}: {}\n", read.file, open.line, open.column, open.what);
    }
  }

  // Nodes of one launch are also looked at together.
  void together() {
    const report::TextOptions text{command_.output.colour, command_.output.width, false};
    for (auto& [place, members] : groups_) {
      std::vector<Node> nodes;
      std::vector<PreparedLaunch> launches;
      for (Member& member : members) {
        nodes.push_back(std::move(member.node));
        launches.push_back(std::move(member.launch));
      }
      const auto findings = node_findings(nodes, launches);
      Json list = Json::array();
      for (const Diagnostic& d : findings) {
        if (d.severity == Severity::kError) worst_ = heavier(worst_, kFindings);
        if (json())
          list.push_back({{"rule", d.rule}, {"severity", report_name(d)}, {"message", d.message}, {"fix", d.fix}});
        else
          std::cout << report::finding_text(d, {}, text) << '\n';
      }
      Json names = Json::array();
      for (const Node& node : nodes) names.push_back(node.name);
      if (json())
        together_.push_back({{"what", place}, {"launches", std::move(names)}, {"findings", std::move(list)}});
      else
        std::cout << fmt::format("together: {} of {}: {}\n", nodes.size(), place,
                                 findings.empty() ? "they fit" : "see above");
    }
  }
  static std::string report_name(const Diagnostic& d) { return std::string(name_of(d.severity)); }

  void summary(std::size_t files) {
    if (json()) {
      const Json out = {{"format_version", report::kJsonFormatVersion},
                        {"launches", std::move(launches_)},
                        {"together", std::move(together_)},
                        {"skipped", std::move(skipped_)},
                        {"summary",
                         {{"files", files},
                          {"checked", counts_.checked},
                          {"failed", counts_.failed},
                          {"unknown", counts_.unknown},
                          {"unread", counts_.unread},
                          {"skipped_files", counts_.skipped}}},
                        {"exit_status", static_cast<int>(worst_)}};
      std::cout << report::json_dump(out) << '\n';
      return;
    }
    std::cout << fmt::format(
        "{} file{}: {} launch{} checked, {} of them failed, {} with something unknown, {} not readable; {} file{} "
        "skipped\n",
        files, files == 1 ? "" : "s", counts_.checked, counts_.checked == 1 ? "" : "es", counts_.failed,
        counts_.unknown, counts_.unread, counts_.skipped, counts_.skipped == 1 ? "" : "s");
  }

  const CheckCommand& command_;
  bool release_given_;
  report::Style style_{command_.output.colour};
  Counts counts_;
  Exit worst_ = kOk;
  std::map<std::string, std::vector<Member>> groups_;
  Json launches_ = Json::array();
  Json together_ = Json::array();
  Json skipped_ = Json::array();
};

}  // namespace

int check_paths(const CheckCommand& command, const std::vector<std::string>& paths, bool release_given) {
  const auto files = read_files(paths, command.input.variables);
  if (!files) {
    report::complain(files.error().text());
    return kBadInput;
  }
  return PathCheck(command, release_given).run(*files);
}

int list_launches(const LaunchInput& input, const std::vector<std::string>& paths, const OutputOptions& output) {
  const auto files = read_files(paths, input.variables);
  if (!files) {
    report::complain(files.error().text());
    return kBadInput;
  }
  Json all = Json::array();
  bool unread = false;
  for (const ReadFile& file : *files) {
    for (const sources::LaunchCommand& launch : file.launches) {
      const ReadLaunch read = shown_launch(launch, file.name, input.release);
      if (output.format == Format::kJson)
        all.push_back(report::read_launch_json(read));
      else
        std::cout << report::read_launch_text(read);
    }
    if (!file.launches.empty()) continue;
    if (!file.named && file.why_none.starts_with("no SGLang launch")) continue;
    unread = true;
    report::complain(fmt::format("{}: {}", file.name, file.why_none));
  }
  if (output.format == Format::kJson) std::cout << report::json_dump(all) << '\n';
  return unread ? kBadInput : kOk;
}

}  // namespace preflight::commands
