// The kernel side without a launch: devices, kernels, planted defects.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/kernel_run.h"
#include "src/kernels/inject.h"

namespace preflight::report {

std::string devices_text(std::span<const DeviceInfo> devices);
std::string devices_json(std::span<const DeviceInfo> devices);

struct KernelRow {
  std::string_view name;
  std::string_view source;
  std::ptrdiff_t cases = 0;
};
std::string kernels_text(std::span<const KernelRow> kernels);
std::string programs_text(std::size_t programs, std::string_view directory);

// Every defect that can be planted, one a line.
std::string defects_text(std::span<const int> ids);
// Those that were planted under every input regime, as a table of Markdown, and one row of it.
std::string measured_table(std::span<const defects::MeasuredDefect> measured);
std::string measured_row(const defects::MeasuredDefect& defect);

}  // namespace preflight::report
