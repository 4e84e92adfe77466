// Tested by tests/doctor_test.cpp.
#include "src/commands/doctor.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/facts/cards.h"
#include "src/facts/host.h"
#include "src/intake/launch_input.h"
#include "src/plan/memory_sheet.h"
#include "src/report/facts_text.h"
#include "src/report/json_dump.h"
#include "src/report/printable.h"

namespace preflight::commands {
namespace {

using Json = nlohmann::ordered_json;

// One thing that was looked at. `fault` empty: it is as it should be.
struct Examined {
  std::string_view rule;
  std::string fault;
  std::string seen;
};

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr std::uint64_t kLeastSharedMemory = std::uint64_t{1} << 30;
constexpr std::uint64_t kOpenFiles = 65535;  // what SGLang raises its limit to

std::int64_t integer(const Launch& launch, Field field, std::int64_t fallback) {
  if (launch.args.raw.empty()) return fallback;  // refused by the parser, or no launch at all
  const Value& value = launch.resolved.empty() ? launch.args[field] : launch[field];
  return value.is_int() && !value.is_long_int() ? value.as_int() : fallback;
}

Examined cards(const LaunchInput& input) {
  const auto visible = facts::visible_devices(input.machine.cards, input.machine.variables);
  if (input.machine.cards.cards.empty()) return {"HO001", "there is no Intel GPU in /sys/class/drm", ""};
  if (visible.devices.empty()) return {"HO001", "no card is left that a launch could use", ""};
  return {"HO001", "", fmt::format("{} usable", visible.devices.size())};
}

Examined permission(const LaunchInput& input) {
  std::string closed;
  std::size_t open = 0;
  for (const facts::Card& card : input.machine.cards.cards) {
    if (card.render_node.empty()) continue;
    if (card.may_open) {
      ++open;
    } else {
      closed += (closed.empty() ? "" : ", ") + card.render_node;
    }
  }
  if (!closed.empty()) return {"HO002", "this user may not open " + closed, ""};
  return {"HO002", "", open == 0 ? "no render node to open" : fmt::format("{} may be opened", open)};
}

Examined shared_memory(const facts::HostState& host, const Launch& launch) {
  if (!host.shared_memory_bytes) return {"HO003", "", "not known"};
  const std::string size = fmt::format("{:.2f} GiB", static_cast<double>(*host.shared_memory_bytes) / kGib);
  const std::int64_t ranks = integer(launch, Field::tp_size, 1) * integer(launch, Field::pp_size, 1);
  if (*host.shared_memory_bytes >= kLeastSharedMemory || ranks < 2) return {"HO003", "", size};
  return {"HO003", fmt::format("/dev/shm has {}, and {} ranks share it", size, ranks), ""};
}

Examined open_files(const facts::HostState& host) {
  const std::string most = host.most_open_files == UINT64_MAX ? "no limit" : std::to_string(host.most_open_files);
  if (host.most_open_files >= kOpenFiles) return {"HO004", "", most};
  return {"HO004", fmt::format("at most {} files may be open; SGLang wants {}", most, kOpenFiles), ""};
}

Examined port(const facts::HostState& host, std::int64_t number) {
  if (!host.port_taken) return {"HO005", "", "not known"};
  if (*host.port_taken) return {"HO005", fmt::format("something listens on port {} already", number), ""};
  return {"HO005", "", fmt::format("port {} is free", number)};
}

// The whole checkpoint, where none of its files is here.
Examined disk(const facts::HostState& host, const PreparedLaunch& prepared) {
  const auto& model = prepared.launch.model;
  const auto place = model ? prepared.inputs.models->place_of(model->path) : Result<facts::ModelPlace>();
  if (!model || !place || !place->directory.empty())
    return {"HO006", "", "no download is needed, or its size is not known"};
  const auto weights = plan::estimate_weights(*model);
  if (!weights || !host.free_disk_bytes) return {"HO006", "", "the size of the download is not known"};
  const double need = static_cast<double>(weights->total_bytes) / kGib;
  const double room = static_cast<double>(*host.free_disk_bytes) / kGib;
  const std::string both = fmt::format("about {:.1f} GiB to download, {:.1f} GiB free at {}", need, room, host.disk);
  return need < room ? Examined{"HO006", "", both} : Examined{"HO006", both, ""};
}

std::string download_place(const LaunchInput& input, const Launch& launch) {
  const Value given = launch.args.raw.empty() ? Value() : launch.args[Field::download_dir];
  if (given.is_string() && !given.as_string().empty()) return given.as_string();
  const auto variable = [&](std::string_view name) {
    const auto it = input.place_variables.find(name);
    return it == input.place_variables.end() ? std::string() : it->second;
  };
  if (const std::string cache = variable("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const std::string home = variable("HF_HOME"); !home.empty()) return home;
  return variable("HOME");
}

std::vector<Examined> examine(const LaunchInput& input, const PreparedLaunch* prepared, const std::string& sysroot) {
  static const Launch nothing;
  const Launch& launch = prepared != nullptr ? prepared->launch : nothing;
  const std::int64_t number = prepared != nullptr ? integer(launch, Field::port, 30000) : 30000;
  const facts::HostState host =
      facts::read_host(number, prepared != nullptr ? download_place(input, launch) : "", sysroot);
  std::vector<Examined> out = {cards(input), permission(input), open_files(host), port(host, number)};
  if (prepared != nullptr) {
    out.push_back(shared_memory(host, launch));
    out.push_back(disk(host, *prepared));
  }
  for (const std::string& note : input.machine.facts.notes) {
    if (note.find("sglang is installed") != std::string::npos || note.find("torch ") == 0)
      out.push_back({"HO007", note, ""});
  }
  std::sort(out.begin(), out.end(), [](const Examined& a, const Examined& b) { return a.rule < b.rule; });
  return out;
}

}  // namespace

int run_doctor(const LaunchFlags& flags, std::vector<std::string> arguments) {
  const bool launched = !arguments.empty() || !flags.command.empty() || !flags.command_file.empty();
  auto input = launch_input(flags, std::move(arguments));
  if (!input) return refuse(input.error());
  std::optional<PreparedLaunch> prepared;
  if (launched) {
    auto made = prepare_launch(*input);
    if (!made) return refuse(made.error());
    prepared = std::move(*made);
  }
  const auto examined = examine(*input, prepared ? &*prepared : nullptr, flags.sysroot.empty() ? "/" : flags.sysroot);
  const OutputOptions output = output_options(flags);
  const report::Style style(output.colour);
  Json list = Json::array();
  std::string text;
  Severity worst = Severity::kInfo;
  for (const Examined& e : examined) {
    const Rule* rule = find_rule(e.rule);
    const bool wrong = !e.fault.empty();
    if (wrong) worst = std::max(worst, rule->severity);
    list.push_back({{"rule", e.rule},
                    {"what", rule->summary},
                    {"severity", wrong ? Json(name_of(rule->severity)) : Json(nullptr)},
                    {"message", wrong ? e.fault : e.seen},
                    {"fix", wrong ? Json(rule->fix) : Json(nullptr)}});
    const std::string word = wrong ? std::string(name_of(rule->severity)) : "ok";
    text += fmt::format("{}[{}]: {}\n", wrong ? style.severity(rule->severity, word) : style.green(word), e.rule,
                        report::printable(wrong ? e.fault : e.seen));
    if (wrong)
      text += fmt::format("    {} {}\n    {} {}\n", style.bold("why:"), rule->why, style.bold("fix:"), rule->fix);
  }
  if (output.format == Format::kJson) {
    const MachineFacts facts = prepared ? *prepared->machine : machine_for(input->machine, input->env);
    std::cout << report::json_dump(Json{{"facts", report::facts_json(facts)}, {"examined", std::move(list)}}) << '\n';
  } else {
    std::cout << text;
  }
  return worst == Severity::kError ? kFindings : kOk;
}

}  // namespace preflight::commands
