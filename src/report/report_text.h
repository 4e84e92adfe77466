// A report for people: findings with a caret, the values that matter with their chains, the plan, the kernel's verdict.
#pragma once

#include <string>

#include "preflight/report.h"
#include "src/report/style.h"

namespace preflight::report {

// Of a defect that no kernel of the launch can have.
inline constexpr std::string_view kNotPlanted = "not planted";

struct TextOptions {
  bool colour = false;
  int width = 100;       // columns for wrapping and for the excerpt under a finding
  bool details = false;  // info findings, reasons of values and every kernel case
  bool quiet = false;    // findings alone
  bool folded = false;   // no line is longer than `width`, if its words are not
};

std::string report_text(const Report& report, const TextOptions& options);

// What speaks against the launch, and the last line: warnings and worse, the fixes, what the kernel did wrong.
std::string findings_text(const Report& report, const TextOptions& options);

// The same without the last line where nothing speaks against it.
std::string quiet_text(const Report& report, const TextOptions& options);

// The kernel's part alone.
std::string kernel_text(const Report& report, const TextOptions& options);

// "64 (given) → 1 (handle_mamba_radix_cache) → 128 (_intel_xpu_page_constraint)"
std::string chain_text(const Launch& launch, Field field, bool whole = false);
// Why the steps of that chain set what they set; empty where nothing changed or a step's reason is not known.
std::string chain_reasons(const Launch& launch, Field field);
// One finding with its excerpt.
std::string finding_text(const Diagnostic& finding, const ArgumentSource& source, const TextOptions& options);

// What is loaded beside the weights before the pool is sized, as " (draft model 0.42, adapters 1.20)"; "" where nothing
// is.
std::string loaded_parts(const MemorySummary& m);

}  // namespace preflight::report
