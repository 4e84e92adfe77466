// Tested by tests/doctor_test.cpp.
#include "src/commands/doctor.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/commands/findings.h"
#include "src/commands/options.h"
#include "src/commands/subcommand.h"
#include "src/facts/cards.h"
#include "src/facts/host.h"
#include "src/facts/launch_variables.h"
#include "src/facts/oneapi_runtime.h"
#include "src/facts/packages.h"
#include "src/intake/launch_input.h"
#include "src/launch/ranks.h"
#include "src/plan/memory_sheet.h"
#include "src/python/environment.h"
#include "src/report/doctor_report.h"
#include "src/report/print.h"
#include "src/rules/from_record.h"

namespace preflight::commands {
namespace {

using report::Examined;
using Finding = Examined::Finding;

Examined fine(std::string_view rule, std::string seen) { return {rule, Finding::kOk, std::move(seen)}; }
Examined wrong(std::string_view rule, std::string fault) { return {rule, Finding::kFault, std::move(fault)}; }
Examined not_checked(std::string_view rule, std::string why) { return {rule, Finding::kUnknown, std::move(why)}; }

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr std::uint64_t kLeastSharedMemory = std::uint64_t{1} << 30;
constexpr std::uint64_t kOpenFiles = 65535;  // what SGLang raises its limit to

std::int64_t integer(const Launch& launch, Field field, std::int64_t fallback) {
  if (launch.args.raw.empty()) return fallback;  // refused by the parser, or no launch at all
  const Value& value = launch.resolved.empty() ? launch.args[field] : launch[field];
  return value.is_int() && !value.is_long_int() ? value.as_int() : fallback;
}

// The device that a launch names or takes by itself, where it is not an Intel GPU; "" otherwise.
std::string other_device(const Launch& launch) {
  if (launch.args.raw.empty()) return "";
  const Value& given = launch.args[Field::device];
  const Value& device = launch.resolved.empty() || given.is_string() ? given : launch[Field::device];
  return device.is_string() && device.as_string() != "xpu" ? device.as_string() : "";
}

std::int64_t ranks_of(const Launch& launch) { return told_ranks(launch).of_replica(); }

// The devices that the launch's ranks take, in their order, as far as there are so many.
std::vector<std::size_t> devices_of_ranks(const Launch& launch, std::size_t devices) {
  const auto gpus = told_ranks(launch).gpus(static_cast<std::int64_t>(devices));
  return {gpus.begin(), gpus.end()};
}

bool of_facts_file(const LaunchInput& input) { return !input.machine.given.facts_file.empty(); }

// What decides which cards the launch sees: its own variables, then this process's for cards of this machine.
Environment card_variables(const LaunchInput& input, const PreparedLaunch* prepared) {
  Environment out = prepared != nullptr ? prepared->launch.env : input.env;
  if (!of_facts_file(input)) out.insert(input.machine.variables.begin(), input.machine.variables.end());
  return out;
}

// More ranks than cards, as `check` says it; "" where they suffice.
std::string too_few_cards(const PreparedLaunch* prepared) {
  if (prepared == nullptr || !prepared->launch.accepted()) return "";
  Coverage coverage;
  const auto findings = findings_of(*prepared, {}, coverage);
  const auto found = std::ranges::find(findings, "PL001", &Diagnostic::rule);
  return found == findings.end() ? "" : found->message;
}

Examined cards(const facts::Machine& machine, const Environment& variables, const PreparedLaunch* prepared) {
  const auto visible = facts::visible_devices(machine, variables);
  const std::string other = prepared == nullptr ? "" : other_device(prepared->launch);
  if (!other.empty()) return fine("HO001", fmt::format("the launch runs on {} and needs no Intel GPU", other));
  if (machine.cards.empty()) return wrong("HO001", "there is no Intel GPU in /sys/class/drm");
  if (visible.devices.empty()) return wrong("HO001", "no card is left that a launch could use");
  const std::string usable = fmt::format("{} usable", visible.devices.size());
  const std::string lacking = too_few_cards(prepared);
  return lacking.empty() ? fine("HO001", usable) : wrong("HO001", usable + ": " + lacking);
}

Examined permission(const facts::Machine& machine, const std::string& other, const std::string& elsewhere) {
  if (!other.empty()) return fine("HO002", fmt::format("the launch runs on {} and opens no render node", other));
  std::string closed;
  std::size_t open = 0;
  bool untold = false;
  for (const facts::Card& card : machine.cards) {
    if (card.render_node.empty()) continue;
    untold = untold || !card.may_open;
    if (card.may_open.value_or(false)) ++open;
    if (!card.may_open.value_or(true)) closed += (closed.empty() ? "" : ", ") + card.render_node;
  }
  if (!closed.empty()) return wrong("HO002", "this user may not open " + closed);
  if (untold) return not_checked("HO002", "whether this user may open /dev/dri is not known" + elsewhere);
  if (open == 0) return not_checked("HO002", "there is no render node to open");
  return fine("HO002", fmt::format("{} may be opened", open));
}

Examined shared_memory(const facts::HostState& host, const Launch& launch, const std::string& elsewhere) {
  if (!host.shared_memory_bytes) return not_checked("HO003", "the size of /dev/shm is not known" + elsewhere);
  const std::string size = fmt::format("{:.2f} GiB", static_cast<double>(*host.shared_memory_bytes) / kGib);
  const std::int64_t ranks = ranks_of(launch);
  if (*host.shared_memory_bytes >= kLeastSharedMemory || ranks < 2) return fine("HO003", size);
  return wrong("HO003", fmt::format("/dev/shm has {}, and {} ranks share it", size, ranks));
}

Examined open_files(const facts::HostState& host, const std::string& elsewhere) {
  if (!host.most_open_files) return not_checked("HO004", "how many files may be open is not known" + elsewhere);
  const std::string most = *host.most_open_files == UINT64_MAX ? "no limit" : std::to_string(*host.most_open_files);
  if (*host.most_open_files >= kOpenFiles) return fine("HO004", most);
  return wrong("HO004", fmt::format("at most {} files may be open; SGLang wants {}", most, kOpenFiles));
}

Examined port(const facts::HostState& host, std::int64_t number, const std::string& elsewhere) {
  if (number < 1 || number > 65535) return not_checked("HO005", fmt::format("{} is no port", number));
  if (!host.port_taken)
    return not_checked("HO005", fmt::format("whether port {} is free is not known{}", number, elsewhere));
  if (*host.port_taken) return wrong("HO005", fmt::format("something listens on port {} already", number));
  return fine("HO005", fmt::format("port {} is free", number));
}

// A model's folder may hold its configuration alone: weights are files of these kinds, or the path itself.
bool holds_weights(facts::ModelFiles& models, const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(models.here(path), ignored)) return true;
  constexpr std::array<const char*, 4> kKinds = {"*.safetensors", "*.bin", "*.gguf", "*.pt"};
  return std::ranges::any_of(kKinds, [&](const char* kind) { return models.has_file(path, kind); });
}

// The whole checkpoint, where none of its files is here.
Examined disk(const facts::HostState& host, const PreparedLaunch& prepared, const std::string& elsewhere) {
  const auto& model = prepared.launch.model;
  if (!model && prepared.launch.outcome == Outcome::kRefused)
    return not_checked("HO006", "the launch is refused before its model is looked at");
  if (!model) return not_checked("HO006", "nothing is known about the model, its size neither");
  const auto place = prepared.inputs.models->place_of(model->path);
  const bool here = place && !place->directory.empty();
  if (here && holds_weights(*prepared.inputs.models, model->path)) return fine("HO006", "no download is needed");
  if (here && place->kind == "directory") return not_checked("HO006", "there are no weights in " + place->directory);
  const auto weights = plan::estimate_weights(*model);
  if (!place || !weights) return not_checked("HO006", "the size of the download is not known");
  if (!host.free_disk_bytes) return not_checked("HO006", "the room on the disk is not known" + elsewhere);
  const double need = static_cast<double>(weights->total_bytes) / kGib;
  const double room = static_cast<double>(*host.free_disk_bytes) / kGib;
  std::string both = fmt::format("about {:.1f} GiB to download, {:.1f} GiB free at {}", need, room, host.disk);
  return need < room ? fine("HO006", std::move(both)) : wrong("HO006", std::move(both));
}

// Of the process that would start the launch; the launch's own word counts first.
std::string library_path(const PreparedLaunch* prepared, bool here) {
  constexpr const char* kName = "LD_LIBRARY_PATH";
  if (prepared != nullptr) {
    const auto it = prepared->inputs.env.find(kName);
    if (it != prepared->inputs.env.end()) return it->second;
  }
  const char* value = here ? std::getenv(kName) : nullptr;
  return value == nullptr ? std::string() : value;
}

// oneAPI's runtime before torch's own, of another release.
Examined runtime(const std::string& path, const std::string& sysroot, const std::vector<InstalledPackage>& packages) {
  const auto found = facts::oneapi_runtimes(path, sysroot);
  if (found.empty()) return fine("HO020", "LD_LIBRARY_PATH holds no SYCL runtime");
  const facts::OneApiRuntime& first = found.front();
  const InstalledPackage* own = facts::package_named(packages, "intel-sycl-rt");
  if (own == nullptr) return not_checked("HO020", "no intel-sycl-rt is installed beside " + first.directory);
  if (first.release.empty()) return not_checked("HO020", "of which release " + first.directory + " is, is not known");
  if (first.release == facts::oneapi_release(own->version))
    return fine("HO020", first.directory + " is of torch's release");
  return wrong("HO020", fmt::format("LD_LIBRARY_PATH names {} of oneAPI {}, and torch's own runtime is {}",
                                    first.directory, first.release, own->version));
}

// "0 (62.5 GiB), 1 (62.5 GiB)".
std::string nodes_text(const std::map<std::int64_t, std::optional<std::uint64_t>>& nodes) {
  std::string out;
  for (const auto& [node, memory] : nodes) {
    out += fmt::format("{}{}", out.empty() ? "" : ", ", node);
    if (memory) out += fmt::format(" ({:.1f} GiB)", static_cast<double>(*memory) / kGib);
  }
  return out;
}

// --numa-node, which SGLang hands to numactl; without it what a rank has when it is bound.
std::optional<Examined> numa(const facts::HostState& host, const Launch& launch, const std::string& elsewhere) {
  if (launch.args.raw.empty()) return std::nullopt;
  const Value& given = launch.args[Field::numa_node];
  const std::string nodes = nodes_text(host.numa_nodes);
  if (!given.is_list() || given.as_list().empty())
    return host.numa_nodes.size() < 2 ? std::nullopt : std::optional(fine("HO021", "nodes " + nodes));
  if (host.numa_nodes.empty()) return not_checked("HO021", "which NUMA nodes there are is not known" + elsewhere);
  for (const Value& node : given.as_list()) {
    if (!node.is_int()) continue;
    const auto known = host.numa_nodes.find(node.as_int());
    if (known == host.numa_nodes.end())
      return wrong("HO021", fmt::format("--numa-node names node {}; this host has {}", node.as_int(), nodes));
    if (known->second == std::uint64_t{0})
      return wrong("HO021", fmt::format("--numa-node names node {}, which has no memory", node.as_int()));
  }
  if (!host.has_numactl) return not_checked("HO021", "whether numactl is installed is not known" + elsewhere);
  if (!*host.has_numactl) return wrong("HO021", "--numa-node needs numactl, which is not installed");
  return fine("HO021", "nodes " + nodes);
}

// Ranks that --numa-node binds to another node than their card's.
std::optional<Examined> near_cards(const facts::VisibleDevices& visible, const Launch& launch) {
  if (launch.args.raw.empty()) return std::nullopt;
  const Value& given = launch.args[Field::numa_node];
  if (!given.is_list()) return std::nullopt;
  const auto known = std::min(visible.numa_nodes.size(), given.as_list().size());
  std::string far;
  bool told = false;
  for (const std::size_t gpu : devices_of_ranks(launch, known)) {
    const Value& node = given.as_list()[gpu];
    const int own = visible.numa_nodes[gpu];
    if (own < 0 || !node.is_int()) continue;
    told = true;
    if (node.as_int() == own) continue;
    far += fmt::format("{}GPU {} is on node {}, its rank on node {}", far.empty() ? "" : "; ", gpu, own, node.as_int());
  }
  if (!told) return not_checked("HO022", "the kernel tells no NUMA node of these cards");
  return far.empty() ? fine("HO022", "each rank is bound to its card's node") : wrong("HO022", far);
}

// With tensor parallelism each rank compares its free memory with the least of all and ends where that is below 0.9 of
// it.
std::optional<Examined> balanced_cards(const facts::VisibleDevices& visible, const Launch& launch) {
  if (!launch.accepted() || !other_device(launch).empty()) return std::nullopt;
  const NodeRanks ranks = told_ranks(launch);
  if (!python::environment_bool(launch.env, "SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK", true) || ranks.tp < 2 ||
      ranks.nodes > 1)
    return std::nullopt;
  const std::vector<std::size_t> own = devices_of_ranks(launch, visible.devices.size());
  if (own.empty() || static_cast<std::int64_t>(own.size()) < ranks.of_replica()) return std::nullopt;  // PL001
  const DeviceFacts* least = nullptr;
  const DeviceFacts* most = nullptr;
  for (const std::size_t gpu : own) {
    const DeviceFacts& device = visible.devices[gpu];
    if (device.memory_mib <= 0) return std::nullopt;
    if (least == nullptr || device.memory_mib < least->memory_mib) least = &device;
    if (most == nullptr || device.memory_mib > most->memory_mib) most = &device;
  }
  constexpr double kLeastShare = 0.9;
  const auto gib = [](const DeviceFacts& device) { return static_cast<double>(device.memory_mib) / 1024; };
  if (gib(*least) >= kLeastShare * gib(*most))
    return fine("HO025", "the ranks' cards have as much memory as each other");
  return wrong("HO025", fmt::format("--tp-size {} over cards of {:.1f} GiB ({}) and {:.1f} GiB ({})", ranks.tp,
                                    gib(*least), least->name, gib(*most), most->name));
}

// oneCCL's ranks duplicate each other's file descriptors, which is a right to trace.
std::optional<Examined> tracing(const facts::HostState& host, const Launch& launch, const std::string& elsewhere) {
  if (ranks_of(launch) < 2 || !other_device(launch).empty()) return std::nullopt;
  if (!host.ptrace_scope && !elsewhere.empty())
    return not_checked("HO023", "whether processes may trace each other is not known" + elsewhere);
  constexpr std::uint64_t kTraceAll = std::uint64_t{1} << 19;  // CAP_SYS_PTRACE
  const int scope = host.ptrace_scope.value_or(0);
  const bool allowed = scope < 2 || (scope == 2 && (host.capabilities.value_or(0) & kTraceAll) != 0);
  if (allowed) return fine("HO023", fmt::format("kernel.yama.ptrace_scope {}", scope));
  return wrong("HO023",
               fmt::format("kernel.yama.ptrace_scope is {}, and {} ranks exchange handles", scope, ranks_of(launch)));
}

// UCX, through which NIXL moves caches, leaves RDMA out where little memory may be locked.
std::optional<Examined> locked_memory(const facts::HostState& host, const Launch& launch) {
  constexpr std::uint64_t kLeastLocked = std::uint64_t{512} << 20;
  constexpr std::uint64_t kLocksAll = std::uint64_t{1} << 14;  // CAP_IPC_LOCK
  const auto asks = [&](Field field, std::string_view word) {
    if (launch.args.raw.empty()) return false;
    const Value& value = launch.args[field];
    return value.is_string() && value.as_string() == word;
  };
  const bool parted = asks(Field::disaggregation_mode, "prefill") || asks(Field::disaggregation_mode, "decode");
  if (!parted || !asks(Field::disaggregation_transfer_backend, "nixl") || !host.has_rdma) return std::nullopt;
  if (!host.locked_memory_bytes) return not_checked("HO024", "how much memory may be locked is not known");
  const std::uint64_t limit = *host.locked_memory_bytes;
  if (limit == UINT64_MAX) return fine("HO024", "no limit");
  const std::string size = fmt::format("{:.1f} MiB", static_cast<double>(limit) / (1 << 20));
  if (limit >= kLeastLocked) return fine("HO024", size);
  if ((host.capabilities.value_or(0) & kLocksAll) != 0)
    return not_checked("HO024",
                       size + " may be locked, and CAP_IPC_LOCK allows more: whether UCX counts that is not known");
  return wrong("HO024", fmt::format("{} may be locked; UCX wants {} MiB", size, kLeastLocked >> 20));
}

std::string download_place(const LaunchInput& input, const Launch& launch) {
  const Value given = launch.args.raw.empty() ? Value() : launch.args[Field::download_dir];
  if (given.is_string() && !given.as_string().empty()) return given.as_string();
  Environment env = launch.env;
  env.insert(input.place_variables.begin(), input.place_variables.end());
  const std::string cache =
      facts::asks_modelscope(env) ? facts::modelscope_cache(env, ".cache/modelscope") : facts::hub_cache(env);
  std::error_code ignored;
  return cache.empty() ? cache : std::filesystem::absolute(cache, ignored).string();
}

std::vector<Examined> examine(const LaunchInput& input, const PreparedLaunch* prepared, const std::string& sysroot) {
  static const Launch nothing;
  const Launch& launch = prepared != nullptr ? prepared->launch : nothing;
  const std::int64_t number = prepared != nullptr ? integer(launch, Field::port, 30000) : 30000;
  const facts::HostState host =
      facts::read_host(number, prepared != nullptr ? download_place(input, launch) : "", sysroot);
  // Options may have named the card; what is in this machine is asked all the same.
  const bool known = !input.machine.cards.cards.empty() && !of_facts_file(input);
  const facts::Machine machine = known ? input.machine.cards : facts::read_cards(sysroot);
  const Environment variables = card_variables(input, prepared);
  const std::string elsewhere = sysroot == "/" ? "" : fmt::format(": {} does not hold it", sysroot);
  std::vector<Examined> out = {cards(machine, variables, prepared),
                               permission(machine, other_device(launch), elsewhere), open_files(host, elsewhere),
                               port(host, number, elsewhere)};
  if (prepared != nullptr) {
    out.push_back(shared_memory(host, launch, elsewhere));
    out.push_back(disk(host, *prepared, elsewhere));
    const auto visible = facts::visible_devices(machine, variables);
    for (auto& one : {numa(host, launch, elsewhere), near_cards(visible, launch), tracing(host, launch, elsewhere),
                      locked_memory(host, launch), balanced_cards(visible, launch)}) {
      if (one) out.push_back(*one);
    }
  }
  const bool own = prepared != nullptr && prepared->machine.has_value();  // of the interpreter that the launch names
  const auto& packages = own ? prepared->machine->packages : input.machine.facts.packages;
  for (std::string& fault : facts::package_faults(packages)) out.push_back(wrong("HO007", std::move(fault)));
  // A container has libraries of its own.
  const bool contained = prepared != nullptr && prepared->read && !prepared->read->image.empty();
  if (!contained) out.push_back(runtime(library_path(prepared, sysroot == "/"), sysroot, packages));
  std::sort(out.begin(), out.end(), [](const Examined& a, const Examined& b) { return a.rule < b.rule; });
  return out;
}

}  // namespace

std::vector<Diagnostic> host_findings(const LaunchInput& input, const PreparedLaunch& prepared, Coverage& coverage) {
  const std::string& sysroot = input.machine.given.sysroot;
  std::vector<Diagnostic> out;
  for (Examined& one : examine(input, &prepared, sysroot.empty() ? "/" : sysroot)) {
    const Rule* rule = find_rule(one.rule);
    if (one.finding == Finding::kUnknown) coverage.not_checked.push_back({rule, one.message});
    if (one.finding != Finding::kFault) continue;
    // More ranks than cards are told as PL001 already.
    if (one.rule == "HO001" && !too_few_cards(&prepared).empty()) continue;
    out.push_back(rules::from_record(*rule, std::move(one.message)));
  }
  return out;
}

std::vector<Diagnostic> told_of_machine(const LaunchInput& input, const PreparedLaunch& prepared) {
  std::vector<Diagnostic> out;
  if (!prepared.machine || !other_device(prepared.launch).empty()) return out;
  std::vector<Examined> examined;
  // A container has users and packages of its own.
  const bool contained = prepared.read && !prepared.read->image.empty();
  std::error_code ignored;  // a tree of sysfs alone has no nodes to open
  const bool nodes = std::filesystem::is_directory(input.machine.given.sysroot + "/dev/dri", ignored);
  if (nodes && prepared.machine->device_origin == Origin::kSystem && !contained)
    examined.push_back(permission(input.machine.cards, "", ""));
  for (std::string& fault : facts::package_faults(prepared.machine->packages))
    examined.push_back(wrong("HO007", std::move(fault)));
  for (Examined& one : examined) {
    if (one.finding != Finding::kFault) continue;
    out.push_back(rules::from_record(*find_rule(one.rule), std::move(one.message)));
    out.back().severity = Severity::kWarning;
  }
  const bool listed = of_facts_file(input) && prepared.machine->device_origin == Origin::kFile;
  if (prepared.machine->device_origin != Origin::kSystem && !listed) return out;
  // The launch is judged for these cards anyway.
  const auto visible = facts::visible_devices(input.machine.cards, card_variables(input, &prepared));
  if (auto cards = balanced_cards(visible, prepared.launch); cards && cards->finding == Finding::kFault)
    out.push_back(rules::from_record(*find_rule(cards->rule), std::move(cards->message)));
  return out;
}

namespace {

int run_doctor(const LaunchFlags& flags, const std::vector<std::string>& arguments) {
  const bool launched = launch_given(flags, arguments);
  if (const auto name = option_of_a_model(flags); !launched && !name.empty()) return refuse(idle_without_launch(name));
  auto input = launch_input(flags, arguments);
  if (!input) return refuse(input.error());
  std::optional<PreparedLaunch> prepared;
  if (launched) {
    auto made = prepare_launch(*input);
    if (!made) return refuse(made.error());
    prepared = std::move(*made);
  }
  const auto examined = examine(*input, prepared ? &*prepared : nullptr, flags.sysroot.empty() ? "/" : flags.sysroot);
  const OutputOptions output = output_options(flags);
  const MachineFacts facts = prepared ? *prepared->machine : machine_for(input->machine, input->env);
  report::print(output.format == Format::kJson ? report::doctor_json(examined, facts)
                                               : report::doctor_text(examined, facts, report::Style(output.colour)));
  const bool fails = std::ranges::any_of(examined, [](const Examined& e) {
    return e.finding == Finding::kFault && find_rule(e.rule)->severity == Severity::kError;
  });
  return fails ? kFindings : kOk;
}

}  // namespace

Subcommand doctor_subcommand() {
  return with_flags(std::make_shared<LaunchFlags>(),
                    {.name = "doctor",
                     .what = "Is this host fit for the launch? Cards, permissions, limits, port, disk, packages",
                     .examples = {"doctor -- --model-path Qwen/Qwen3-8B --tp-size 2"}},
                    add_launch_options, run_doctor);
}

}  // namespace preflight::commands
