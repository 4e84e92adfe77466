#include "src/report/kernels_text.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/report/json_dump.h"

namespace preflight::report {
namespace {

std::string_view cell(defects::Shows shows) {
  switch (shows) {
    case defects::Shows::kCaught:
      return " caught |";
    case defects::Shows::kNot:
      return " – |";
    case defects::Shows::kUnsound:
      return " ? |";
    case defects::Shows::kNotTried:
      break;
  }
  return " |";
}

}  // namespace

std::string devices_text(std::span<const DeviceInfo> devices) {
  std::string out;
  for (const DeviceInfo& d : devices) {
    out += fmt::format("{}  {} ({}, driver {}, {} compute units, {} MiB)\n", d.index, d.name, d.platform, d.driver,
                       d.compute_units, d.global_memory_bytes >> 20);
  }
  return out;
}

std::string devices_json(std::span<const DeviceInfo> devices) {
  auto rows = nlohmann::ordered_json::array();
  for (const DeviceInfo& d : devices) {
    rows.push_back({{"index", d.index},
                    {"name", d.name},
                    {"platform", d.platform},
                    {"driver", d.driver},
                    {"version", d.version},
                    {"compute_units", d.compute_units},
                    {"global_memory_bytes", d.global_memory_bytes}});
  }
  return json_dump(rows) + "\n";
}

std::string kernels_text(std::span<const KernelRow> kernels) {
  std::string out;
  for (const KernelRow& k : kernels) out += fmt::format("{:18} {:22} {} cases\n", k.name, k.source, k.cases);
  return out;
}

std::string programs_text(std::size_t programs, std::string_view directory) {
  return fmt::format("{} programs in {}/programs.tsv\n", programs, directory);
}

std::string defects_text(std::span<const int> ids) {
  std::string out;
  for (const int id : ids) out += fmt::format("{:>4}  {}\n", id, defects::describe(id));
  return out;
}

std::string measured_row(const defects::MeasuredDefect& defect) {
  std::string row = fmt::format("| {} | {} | {} |", defect.id, defect.kernel, defect.what);
  for (const defects::Shows shows : defect.regimes) row += cell(shows);
  const double most = defect.times_allowed;
  const std::string times = std::isinf(most) ? "∞" : fmt::format("{:.{}f}", most, most < 10.0 ? 1 : 0);
  return fmt::format("{}{} {} |\n", row, cell(defect.own), times);
}

std::string measured_table(std::span<const defects::MeasuredDefect> measured) {
  std::string table =
      "| defect | kernel | what is wrong | peaked | flat | mid | drift | its own | times allowed |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  for (const defects::MeasuredDefect& defect : measured) table += measured_row(defect);
  return table;
}

}  // namespace preflight::report
