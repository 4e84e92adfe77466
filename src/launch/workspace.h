// The workspace of MLA decode on intel_xpu: which launches take one, and how large it grows.
//
// XPUAttentionBackend asks the kernel package for a size before each batch and keeps the largest buffer, outside
// --mem-fraction-static. 0.5.11 asks the form that always answers 0; 0.5.12 to 0.5.19 ask for an automatic split count
// and then decode with one split, so the buffer is never used. From 0.5.20 on they ask a function of a package newer
// than any read here: nothing is said about its size. Tested by tests/launch_view_test.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "src/launch/launch_view.h"

namespace preflight {

struct Workspace {
  std::int64_t requests = 1;    // the batch that makes it this large
  std::int64_t bytes = 0;       // on one rank
  std::int64_t kv_splits = 1;   // that the size assumes
  bool size_overflows = false;  // `asked` requests need more bytes than the kernel's 32-bit size can say
  std::int64_t asked = 1;       // requests asked about; more than `requests` only when the size overflows
};

// nullopt: the launch takes none, or its size is not known. The model must be known.
std::optional<Workspace> mla_workspace(const LaunchView& view, std::int64_t requests);

}  // namespace preflight
