#include "src/rules/disaggregation.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/facts/kinds.h"
#include "src/launch/ranks.h"
#include "src/python/environment.h"
#include "src/rules/remedy_words.h"
#include "src/rules/sheet_of.h"

namespace preflight::rules {
namespace {

// Where the option is not given, once the pool is there (kv_cache_builder.py, resolve_decode_retraction_backup).
bool backs_up_in_host_pool(const LaunchFacts& f) {
  if (f.is(Field::disaggregation_decode_retraction_backup, "host_pool")) return true;
  const bool preempts = f.on(Field::enable_priority_scheduling) && !f.on(Field::disable_priority_preemption);
  return f[Field::disaggregation_decode_retraction_backup].is_none() && !f.model().is_mla() && !is_hybrid(f.model()) &&
         f.dcp() == 1 && !preempts && !f.on(Field::disaggregation_decode_enable_radix_cache) &&
         !f.on(Field::disaggregation_decode_enable_offload_kvcache) && !f.on(Field::enable_unified_memory);
}

// One rank's pool of whole pages in host memory. Pools of windows and states, and latents that ranks share, are sized
// in other ways.
struct HostPool {
  double bytes = 0;
  double of_device = 0;  // bytes of the pool that it backs
};

std::optional<HostPool> host_pool(const LaunchFacts& f) {
  if (f.model().is_mla() && f.tp() > 1) return std::nullopt;
  const auto sheet = sheet_of(f);
  if (!sheet || !sheet->fits() || sheet->window_tokens > 0 || sheet->state_gib > 0) return std::nullopt;
  const auto each = static_cast<double>(sheet->cost.bytes_per_token);
  const auto page = static_cast<double>(f.page_size());
  const auto device = static_cast<double>(sheet->tokens);
  const double size = f.number(Field::hicache_size, 0);
  const double tokens = std::floor(size > 0 ? size * 1e9 / each : device * f.number(Field::hicache_ratio, 0));
  return HostPool{(std::floor(tokens / page) + 1) * page * each, device * each};
}

}  // namespace

std::optional<Finding> transfer_backend(const LaunchFacts& f) {
  if (!f.is_disaggregated() || f.one_of(Field::disaggregation_transfer_backend, {"nixl", "ascend", "mori"}))
    return std::nullopt;
  return Finding{.message = fmt::format("disaggregation over {}: on XPU nixl is the tested transfer backend",
                                        f.text(Field::disaggregation_transfer_backend))};
}

std::optional<Finding> transfer_of_others(const LaunchFacts& f) {
  if (!f.is_disaggregated() || !f.one_of(Field::disaggregation_transfer_backend, {"ascend", "mori"}))
    return std::nullopt;
  const bool ascend = f.is(Field::disaggregation_transfer_backend, "ascend");
  return Finding{.message = fmt::format("--disaggregation-transfer-backend {} needs the package {}",
                                        f.text(Field::disaggregation_transfer_backend),
                                        ascend ? "memfabric_hybrid, which is Huawei's" : "mori, which is AMD's")};
}

// A prefix that the cache holds is sent before the rest is computed; with overlap the transfer waits for an event.
std::optional<Finding> early_transfer(const LaunchFacts& f) {
  if (!f.only_prefills() || f.on(Field::disable_overlap_schedule) || !f.radix_cache()) {
    return std::nullopt;
  }
  const Environment& env = f.launch().env;
  if (!python::environment_bool(env, "SGLANG_DISAGG_PREFILL_EARLY_SEND_CACHED_PREFIX", true)) return std::nullopt;
  if (f.before(23) && f.env_on("SGLANG_DISAGG_STAGING_BUFFER")) return std::nullopt;  // not sent early in every release
  return Finding{.message = "the first request with a cached prefix ends this prefill server"};
}

std::optional<Finding> decode_host_pool(const LaunchFacts& f) {
  if (!f.only_decodes() || f.on(Field::enable_hierarchical_cache)) return std::nullopt;
  if (!backs_up_in_host_pool(f)) return std::nullopt;
  return Finding{.message = fmt::format("this decode server keeps retracted requests in a host pool, which is "
                                        "registered through CUDA in {}",
                                        f.release().text())};
}

// Before 0.5.20 launches of DeepSeek's sparse attention end while the pool is built (QN010).
std::optional<Finding> copies_retracted(const LaunchFacts& f) {
  if (!f.only_decodes()) return std::nullopt;
  const bool sparse = f.since(20) && is_deepseek_sparse(f.model(), f.release());
  if (!f.before(13) && !sparse) return std::nullopt;
  if (f.one_of(Field::disaggregation_decode_retraction_backup, {"host_pool", "none"})) return std::nullopt;
  Finding finding{.message = "the first request that is taken back for want of cache ends this decode server",
                  .field = Field::disaggregation_mode};
  if (f.since(21)) finding.remedies = {to_give("--disaggregation-decode-retraction-backup", {"none"})};
  finding.remedies.push_back(in_words("so few requests at once that none is taken back"));
  return finding;
}

std::optional<Finding> mooncake_indices(const LaunchFacts& f) {
  const bool sends = f.only_prefills() && f.is(Field::disaggregation_transfer_backend, "mooncake") &&
                     !f.env_on("SGLANG_DISAGGREGATION_ALL_CP_RANKS_TRANSFER");
  if (!sends) return std::nullopt;
  return Finding{
      .message = fmt::format("the first transfer over mooncake ends this prefill server in {}", f.release().text())};
}

std::optional<Finding> host_pool_beyond_the_host(const LaunchFacts& f) {
  constexpr double kLeftFree = 10 * 1024.0 * 1024 * 1024;  // HICACHE_HOST_MEMORY_RESERVE_BYTES
  const auto host = f.device().host_memory_mib.value_or(0);
  if (host <= 0 || !f.on(Field::enable_hierarchical_cache) || is_hybrid(f.model())) return std::nullopt;
  const auto pool = host_pool(f);
  const auto all = static_cast<double>(host) * 1024 * 1024;
  const auto ranks = static_cast<double>(node_ranks(f).count());
  const facts::MemoryLimit* limit = f.memory_limit();
  const double room = (limit != nullptr ? all : all - kLeftFree) / ranks;
  if (!pool || pool->bytes <= room) return std::nullopt;
  const bool by_size = f.integer(Field::hicache_size, 0) > 0;
  const Field field = by_size ? Field::hicache_size : Field::hicache_ratio;
  std::vector<Remedy> remedies;
  if (by_size && room >= 2e9) {
    remedies.push_back(to_give("--hicache-size", {fmt::format("{:.0f}", std::floor(room / 1e9) - 1)}));
  } else if (!by_size && room > 1.2 * pool->of_device) {
    remedies.push_back(
        to_give("--hicache-ratio", {fmt::format("{:.1f}", std::floor(room / pool->of_device * 10 - 1) / 10)}));
  }
  remedies.push_back(to_drop("--enable-hierarchical-cache"));
  remedies.push_back(in_words("a host with more memory"));
  const std::string whose =
      limit != nullptr ? fmt::format("the launch's {:.1f}{} ({})", all / 1e9, ranks > 1 ? " GB" : "", limit->said_by)
                       : fmt::format("a NUMA node's {:.1f}{}", all / 1e9, ranks > 1 ? " GB" : "");
  const std::string share = ranks > 1 ? fmt::format("on each of {:.0f} ranks; of {} each may have", ranks, whose)
                                      : fmt::format("of {}, and may have", whose);
  return Finding{.message = fmt::format("the host pool takes {:.1f} GB {} {:.1f}", pool->bytes / 1e9, share,
                                        std::max(room, 0.0) / 1e9),
                 .field = field,
                 .severity = by_size ? Severity::kError : Severity::kWarning,
                 .remedies = std::move(remedies)};
}

}  // namespace preflight::rules
