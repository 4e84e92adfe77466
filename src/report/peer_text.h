// The section of a report about kernels that are not ours.
#pragma once

#include <string>

#include "preflight/report.h"
#include "src/report/report_text.h"
#include "src/report/style.h"

namespace preflight::report {

// "" where --kernel-from asked for none.
std::string peer_section(const Report& report, const TextOptions& options, const Style& style);
// "SGLang 0.5.23, torch 2.14.1, triton 3.8.0, python 3.11.7"
std::string versions_text(const KernelPeer& peer);
// What a pass of it shows, and what not.
std::string scope_of(const Report& report);

}  // namespace preflight::report
