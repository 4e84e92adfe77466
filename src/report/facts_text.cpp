// Tested by tests/facts_command_test.cpp.
#include "src/report/facts_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "src/report/json_dump.h"
#include "src/report/printable.h"

namespace preflight::report {
namespace {

using Json = nlohmann::ordered_json;

std::string gib(std::int64_t mib) { return fmt::format("{:.1f} GiB", static_cast<double>(mib) / 1024.0); }

// "Intel(R) Arc(TM) Pro B60 Graphics" as people say it.
std::string short_name(std::string name) {
  for (const std::string_view mark : {"(R)", "(TM)", " Graphics"}) {
    for (std::size_t at = 0; (at = name.find(mark)) != std::string::npos;) name.erase(at, mark.size());
  }
  return name;
}

// What weakens a device's line: a part that was assumed, or where all of it is from.
std::string device_origin(const MachineFacts& f) {
  if (f.device_origin == f.count_origin && f.device_origin == f.memory_origin) {
    return std::string(name_of(f.device_origin));
  }
  return fmt::format("card {}, memory {}, number {}", name_of(f.device_origin), name_of(f.memory_origin),
                     name_of(f.count_origin));
}

std::string origin_text(const SourcedText& fact) {
  const std::string origin(name_of(fact.origin));
  return fact.place.empty() ? origin : fmt::format("{}: {}", origin, printable(fact.place));
}

// Release, model and cards, each with where it is known from.
std::vector<std::string> parts_of(const MachineFacts& f) {
  std::vector<std::string> out;
  if (!f.release.value.empty())
    out.push_back(fmt::format("SGLang {} ({})", f.release.value, name_of(f.release.origin)));
  if (!f.model.value.empty()) out.push_back(fmt::format("{} ({})", f.model.value, f.model.place));
  if (f.on_processor) {
    out.push_back(f.host_memory_mib ? fmt::format("a processor without AMX (assumed), host memory {} ({})",
                                                  gib(*f.host_memory_mib), name_of(f.host_origin))
                                    : "a processor without AMX (assumed), host memory not known");
    return out;
  }
  out.push_back(fmt::format("{} x {} with {} ({})", f.device.count, short_name(f.device.name), gib(f.device.memory_mib),
                            device_origin(f)));
  return out;
}

bool is_in(const std::vector<std::string>& list, const std::string& one) {
  return std::ranges::find(list, one) != list.end();
}

std::vector<std::string> in_both(std::vector<std::string> these, const std::vector<std::string>& those) {
  std::erase_if(these, [&](const std::string& one) { return !is_in(those, one); });
  return these;
}

std::vector<std::string> without(std::vector<std::string> these, const std::vector<std::string>& those) {
  std::erase_if(these, [&](const std::string& one) { return is_in(those, one); });
  return these;
}

std::vector<std::string> lines_of(const std::vector<std::string>& parts, const std::vector<std::string>& notes) {
  std::vector<std::string> out;
  if (!parts.empty()) out.push_back(fmt::format("{}", fmt::join(parts, ", ")));
  out.insert(out.end(), notes.begin(), notes.end());
  return out;
}

Json json_of(const SourcedText& fact) {
  return {{"value", fact.value.empty() ? Json(nullptr) : Json(fact.value)},
          {"origin", fact.value.empty() ? Json(nullptr) : Json(name_of(fact.origin))},
          {"place", fact.place.empty() ? Json(nullptr) : Json(fact.place)}};
}

}  // namespace

SharedFacts::SharedFacts(const std::vector<const MachineFacts*>& launches) {
  bool first = true;
  for (const MachineFacts* facts : launches) {
    if (first) {
      parts_ = parts_of(*facts);
      notes_ = facts->notes;
    } else {
      parts_ = in_both(parts_, parts_of(*facts));
      notes_ = in_both(notes_, facts->notes);
    }
    first = false;
  }
}

std::vector<std::string> SharedFacts::head() const { return lines_of(parts_, notes_); }

std::vector<std::string> SharedFacts::own(const MachineFacts& launch) const {
  return lines_of(without(parts_of(launch), parts_), without(launch.notes, notes_));
}

std::string one_line(const std::vector<std::string>& lines) { return fmt::format("{}", fmt::join(lines, "; ")); }

std::string head_text(const std::vector<std::string>& lines, const Style& style) {
  std::string out;
  for (const std::string& line : lines) out += style.dim((out.empty() ? "" : "  ") + printable(line)) + "\n";
  return out.empty() ? out : out + "\n";
}

std::string own_text(const SharedFacts& shared, const std::optional<MachineFacts>& launch, const Style& style) {
  std::string out;
  if (!launch) return out;
  for (const std::string& line : shared.own(*launch)) out += "  " + style.dim(printable(line)) + "\n";
  return out;
}

std::string facts_head(const std::optional<MachineFacts>& facts, const Style& style) {
  return facts ? head_text(SharedFacts({&*facts}).head(), style) : "";
}

std::string facts_text(const MachineFacts& f, const Style& style) {
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value, const std::string& origin) {
    out += fmt::format("{:<10}  {}  {}\n", name, value, style.dim("(" + origin + ")"));
  };
  line("release", "SGLang " + f.release.value, origin_text(f.release));
  if (!f.model.value.empty()) line("model", printable(f.model.value), origin_text(f.model));
  line("card", printable(short_name(f.device.name)), std::string(name_of(f.device_origin)));
  line("memory", fmt::format("{} MiB each ({})", f.device.memory_mib, gib(f.device.memory_mib)),
       std::string(name_of(f.memory_origin)));
  line("cards", std::to_string(f.device.count), std::string(name_of(f.count_origin)));
  if (f.host_memory_mib) {
    line("host", fmt::format("{} MiB ({})", *f.host_memory_mib, gib(*f.host_memory_mib)),
         std::string(name_of(f.host_origin)));
  } else {
    out += "host        not known\n";
  }
  if (f.environment.value.empty()) {
    line("packages", "not looked at",
         f.environment.place.empty() ? "no environment is active; --python EXE names one"
                                     : "of " + printable(f.environment.place));
  } else {
    line("packages", printable(f.environment.value), printable(f.environment.place));
    for (const InstalledPackage& p : f.packages) {
      out += fmt::format("            {} {}{}\n", printable(p.name), printable(p.version),
                         p.editable ? " (editable)" : "");
    }
  }
  for (const std::string& note : f.notes) out += fmt::format("note        {}\n", printable(note));
  return out;
}

nlohmann::ordered_json facts_json(const MachineFacts& f) {
  Json packages = Json::array();
  for (const InstalledPackage& p : f.packages) {
    packages.push_back({{"name", p.name}, {"version", p.version}, {"editable", p.editable}});
  }
  Json out = {{"release", json_of(f.release)},
              {"model", f.model.value.empty() ? Json(nullptr) : json_of(f.model)},
              {"device",
               {{"name", f.device.name},
                {"count", f.device.count},
                {"memory_mib", f.device.memory_mib},
                {"has_fp64", f.device.has_fp64},
                {"origin", name_of(f.device_origin)},
                {"memory_origin", name_of(f.memory_origin)},
                {"count_origin", name_of(f.count_origin)}}},
              {"host",
               {{"memory_mib", f.host_memory_mib ? Json(*f.host_memory_mib) : Json(nullptr)},
                {"origin", f.host_memory_mib ? Json(name_of(f.host_origin)) : Json(nullptr)}}},
              {"packages", std::move(packages)},
              {"environment", json_of(f.environment)},
              {"notes", f.notes}};
  return out;
}

nlohmann::ordered_json facts_json(const std::optional<MachineFacts>& facts) {
  return facts ? facts_json(*facts) : Json(nullptr);
}

namespace {

Json json_of(const facts::Card& card) {
  const auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
  return {{"node", text(card.node)},
          {"address", text(card.address)},
          {"pci_id", fmt::format("0x{:04x}", card.pci_id)},
          {"driver", text(card.driver)},
          {"render_node", text(card.render_node)},
          {"tiles", card.tiles},
          {"tile_memory_mib", card.driver_mib ? Json(*card.driver_mib) : Json(nullptr)},
          {"integrated", card.integrated},
          {"numa_node", card.numa_node < 0 ? Json(nullptr) : Json(card.numa_node)}};
}

}  // namespace

std::string facts_document(const MachineFacts& f, const facts::Machine* cards) {
  Json out = facts_json(f);
  if (cards != nullptr) {
    Json list = Json::array();
    for (const facts::Card& card : cards->cards) list.push_back(json_of(card));
    out["cards"] = std::move(list);
  }
  return json_dump(out) + "\n";
}

}  // namespace preflight::report
