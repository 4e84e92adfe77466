// What `nodes` found: each node of one launch by itself, and all of them together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "preflight/report.h"
#include "src/report/report_text.h"

namespace preflight::report {

struct NodeReport {
  std::string name;
  bool accepted = false;
  std::optional<std::int64_t> rank;  // none: its arguments were not read
  std::vector<Diagnostic> findings;
  ArgumentSource source;
  std::optional<MachineFacts> machine = {};
};

struct NodesReport {
  std::vector<NodeReport> nodes;
  std::vector<Diagnostic> together;
  bool any_together = false;  // else each is a server of its own
  std::size_t groups = 1;     // launches over several nodes
  std::string release;

  [[nodiscard]] bool good() const;  // no error anywhere
};

std::string nodes_text(const NodesReport& report, const TextOptions& options);
std::string nodes_json(const NodesReport& report);

}  // namespace preflight::report
