#include "src/launch/workspace.h"

#include <limits>

#include "preflight/sizing.h"

namespace preflight {
namespace {

bool takes_workspace(const LaunchView& view) {
  return view.since(12) && view.before(20) && view.model().is_mla() && view.decode_on_xpu() &&
         view.base_backend() != "dsa";
}

}  // namespace

std::optional<Workspace> mla_workspace(const LaunchView& view, std::int64_t requests) {
  if (!takes_workspace(view) || !sizing::mla_page_size_supported(view.page_size())) return std::nullopt;
  // The backend divides by the whole tensor parallelism, also under attention data parallelism.
  const std::int64_t heads = view.model().num_attention_heads / view.tp();
  const std::int64_t context = view.model().context_len;
  const auto asked = sizing::mla_workspace(context, requests, heads, view.page_size());
  if (heads < 1 || !asked) return std::nullopt;
  Workspace workspace{.requests = requests,
                      .bytes = asked->total_bytes,
                      .kv_splits = asked->splits,
                      .size_overflows = asked->overflows_int32,
                      .asked = requests};
  if (!asked->overflows_int32) return workspace;
  // A size that wraps is negative or small, and leaves the buffer as large as smaller batches made it.
  workspace.requests = std::numeric_limits<std::int32_t>::max() / (asked->total_bytes / requests);
  while (workspace.requests > 1) {
    const auto largest = sizing::mla_workspace(context, workspace.requests, heads, view.page_size());
    workspace.bytes = largest->total_bytes;
    workspace.kv_splits = largest->splits;
    if (!largest->overflows_int32) break;
    --workspace.requests;
  }
  return workspace;
}

}  // namespace preflight
