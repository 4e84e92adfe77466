// Hierarchical cache: the host pool's size, and the layout that I/O and storage backends can work with.
//
// Sources: arg_groups/hicache_hook.py (0.5.20 and later), ServerArgs._handle_hicache and _resolve_* before.
// Tested by tests/resolve_memory_test.cpp.
#include "src/resolve/cache/hicache.h"

#include <fmt/format.h>

#include "src/resolve/core/queries.h"

namespace preflight::resolve {
namespace {

void resolve_layout_io(Resolution& r) {
  const std::string_view function = "_resolve_layout_io_compatibility";
  const std::string_view source = "_resolve_layout_io_compatibility";
  if (r.is(Field::hicache_mem_layout, "page_first_direct") && r.is(Field::hicache_io_backend, "kernel")) {
    r.change(source, Field::hicache_io_backend, "direct");
    r.warn(function, "the page_first_direct layout needs direct I/O, which replaces kernel I/O");
  }
  if (r.is(Field::hicache_mem_layout, "page_first") && r.is(Field::hicache_io_backend, "direct")) {
    r.change(source, Field::hicache_mem_layout, "page_first_direct");
    r.warn(function, "direct I/O needs the page_first_direct layout, which replaces page_first");
  }
}

void resolve_storage_layout(Resolution& r) {
  const bool modern = r.since(v0_5(20));
  if (r.since(v0_5(23)) && r.is(Field::hicache_storage_backend, "mooncake") && r.integer(Field::dcp_size) > 1) return;
  const bool stores_pages = r.is(Field::hicache_storage_backend, "mooncake") ||
                            (modern && r.is(Field::hicache_storage_backend, "npu_memcache"));
  if (!stores_pages || !r.is(Field::hicache_mem_layout, "layer_first")) return;
  const Value layout = r.is(Field::hicache_io_backend, "direct")   ? Value("page_first_direct")
                       : r.is(Field::hicache_io_backend, "kernel") ? Value("page_first")
                                                                   : r[Field::hicache_mem_layout];
  r.change("_resolve_storage_layout_compatibility", Field::hicache_mem_layout, layout);
  r.warn("_resolve_storage_layout_compatibility",
         fmt::format("this storage backend stores whole pages; the layout becomes {}", layout.as_string()));
}

// Up to 0.5.18: fa3 cannot decode from kernel I/O. True when the I/O backend changed.
bool resolve_io_for_fa3_decode(Resolution& r) {
  const std::string_view function = "_resolve_io_decode_attention_compatibility";
  if (!r.is(Field::hicache_io_backend, "kernel")) return false;
  if (!is_text(attention_backends(r).decode, "fa3")) return false;
  if (r.none(Field::decode_attention_backend)) {
    use_mla(r);
    r.set(function, Field::decode_attention_backend, "triton");  // flashinfer is not installed
    return false;
  }
  r.set(function, Field::hicache_io_backend, "direct");
  r.warn(function, "fa3 cannot decode from kernel I/O; direct I/O replaces it");
  return true;
}

void validate_host_memory_mode(Resolution& r) {
  const std::string function = "validate_hicache_host_memory_mode";
  // Upstream's check that the host pool has a size never fires: handle_hicache_ratio_default gave it a ratio.
  if (r.is(Field::hicache_host_memory_mode, "cache")) return;
  if (r.none(Field::hicache_storage_backend)) {
    r.refuse(RF::kOther, "ValueError", function,
             "--hicache-host-memory-mode buffer_only keeps nothing on the host: give --hicache-storage-backend");
  }
  if (r.is(Field::hicache_write_policy, "write_back") && r.before(v0_5(22))) {
    r.refuse(RF::kOther, "ValueError", function, "--hicache-host-memory-mode buffer_only does not write back");
  }
  if (r.is(Field::hicache_write_policy, "write_back")) {
    r.declare("_validate_hicache_host_memory_mode", {{Field::hicache_write_policy, "write_through"}});
  }
  if (r.is(Field::disaggregation_mode, "decode")) {
    r.refuse(RF::kOther, "ValueError", function,
             "--hicache-host-memory-mode buffer_only does not run on a PD decode server");
  }
}

void resolve_unified_memory_io(Resolution& r) {
  if (r.before(v0_5(23)) || !r.on(Field::enable_unified_memory) ||
      !r.is(Field::hicache_mem_layout, "page_first_direct")) {
    return;
  }
  r.declare("_resolve_unified_memory_layout_io",
            {{Field::hicache_mem_layout, "page_first"}, {Field::hicache_io_backend, "kernel"}});
  r.warn("resolve_unified_memory_layout_io",
         "direct I/O cannot copy the unified pool's rows; the page_first layout with kernel I/O replaces it");
}

void check_decode_context_parallelism(Resolution& r) {
  if (r.integer(Field::dcp_size) <= 1 || !r.on(Field::enable_hierarchical_cache)) return;
  const auto check = [&](bool holds, std::string_view message) {
    if (!holds) r.refuse(RF::kOther, "NotImplementedError", "resolve_hicache_dcp_compatibility", std::string(message));
  };
  const bool any_storage = r.before(v0_5(23));
  check(
      r.none(Field::hicache_storage_backend) || (!any_storage && !r.is(Field::hicache_host_memory_mode, "buffer_only")),
      any_storage ? "--dcp-size above 1 excludes --hicache-storage-backend"
                  : "hierarchical storage with --dcp-size above 1 cannot run --hicache-host-memory-mode buffer_only");
  check(r.none(Field::speculative_algorithm) || r.is(Field::speculative_algorithm, "DSPARK"),
        "the hierarchical cache with --dcp-size above 1 supports no speculative decoding but DSPARK");
  check(!r.on(Field::enable_lmcache), "--enable-lmcache does not support --dcp-size above 1");
  check(!r.on(Field::enable_hisparse), "--enable-hisparse does not support --dcp-size above 1");
  check(use_mla(r), "the hierarchical cache with --dcp-size above 1 supports MLA models only");
}

// UnifiedCacheLinkerConfig.from_dict
void validate_linker_config(Resolution& r, const Value& config) {
  const auto check = [&](bool holds, std::string_view message) {
    if (!holds) {
      r.refuse(RF::kOther, "ValueError", "from_dict", "--unified-cache-external-linker-config " + std::string(message));
    }
  };
  check(config.is_dict(), "must be a JSON object");
  for (const auto& [key, value] : config.as_dict()) {
    check(key == "linker" || key == "linker_module_path" || key == "linker_extra_config", "has an unknown entry");
  }
  for (const std::string_view key : {"linker", "linker_module_path"}) {
    const Value* entry = config.find(key);
    check(entry != nullptr && entry->is_string() &&
              entry->as_string().find_first_not_of(" \t\n\r\v\f") != std::string::npos,
          "needs linker and linker_module_path");
  }
  const Value* extra = config.find("linker_extra_config");
  check(extra == nullptr || extra->is_dict(), "takes a JSON object as linker_extra_config");
}

// True when the external linker replaces the hierarchical cache, so that nothing else applies.
bool external_linker_takes_over(Resolution& r) {
  const std::string function = "handle_hicache";
  const auto check = [&](bool holds, std::string_view message) {
    if (!holds) r.refuse(RF::kOther, "ValueError", function, std::string(message));
  };
  const bool linked = r.on(Field::enable_unified_cache_external_linker);
  const Value config = r[Field::unified_cache_external_linker_config];
  check(config.is_none() || config.is_dict(), "--unified-cache-external-linker-config must be a JSON object");
  if (r.is(Field::unified_cache_external_linker_backend, "dynamic") && (linked || !config.is_none())) {
    validate_linker_config(r, config);
  }
  check(!r.on(Field::enable_linker_mla_dedup) ||
            (linked && r.is(Field::unified_cache_external_linker_backend, "mooncake")),
        "--enable-linker-mla-dedup needs the mooncake linker");
  if (!linked) return false;
  check(r.before(v0_5(23)) || (!r.on(Field::disable_radix_cache) && r.none(Field::radix_cache_backend)),
        "--enable-unified-cache-external-linker needs the built-in radix cache");
  check(!r.on(Field::enable_hierarchical_cache),
        "--enable-unified-cache-external-linker and --enable-hierarchical-cache exclude each other");
  check(r.none(Field::hicache_storage_backend),
        "--enable-unified-cache-external-linker does not use --hicache-storage-backend");
  return true;
}

void handle_hicache_by_flags(Resolution& r) {
  if (!r.on(Field::enable_hierarchical_cache) && !r.on(Field::disaggregation_decode_enable_offload_kvcache)) return;
  resolve_layout_io(r);
  resolve_storage_layout(r);
  if (r.before(v0_5(14)) && resolve_io_for_fa3_decode(r)) resolve_layout_io(r);
}

}  // namespace

void handle_hicache_ratio_default(Resolution& r) {
  const Value fraction = r[Field::hicache_host_memory_fraction];
  if (!fraction.is_none() && !(fraction.as_number() > 0 && fraction.as_number() <= 1)) {
    r.refuse(RF::kOther, "ValueError", "handle_hicache_ratio_default",
             "--hicache-host-memory-fraction must be above 0 and at most 1");
  }
  std::vector<FieldValue> fields;
  if (r.none(Field::hicache_ratio) && !r.is(Field::disaggregation_mode, "decode")) {
    fields.emplace_back(Field::hicache_ratio, r.is(Field::hicache_host_memory_mode, "buffer_only") ? 1.2 : 2.0);
  }
  // A size given by hand turns sizing by the host's memory off.
  const bool sized = !r.none(Field::hicache_ratio) || r.integer(Field::hicache_size) > 0;
  if (sized && field_exists(Field::hicache_host_memory_fraction, r.release())) {
    fields.emplace_back(Field::hicache_host_memory_fraction, Value());
  }
  if (!fields.empty()) r.declare("_handle_hicache_ratio_default", std::move(fields));
}

void handle_hicache(Resolution& r) {
  if (r.before(v0_5(15))) {
    handle_hicache_by_flags(r);
    return;
  }
  if (external_linker_takes_over(r)) return;
  const Value backup = r[Field::disaggregation_decode_retraction_backup];
  const bool backs_up_decode = r.since(v0_5(18)) && r.is(Field::disaggregation_mode, "decode") &&
                               (backup.is_none() || is_text(backup, "host_pool"));
  if (!r.on(Field::enable_hierarchical_cache) && !r.on(Field::disaggregation_decode_enable_offload_kvcache) &&
      !backs_up_decode) {
    return;
  }
  if (r.since(v0_5(19))) validate_host_memory_mode(r);
  const Value threshold = r[Field::disaggregation_decode_host_receive_threshold];
  const bool receives_on_host =
      !threshold.is_none() && (r.since(v0_5(22)) ? threshold.as_number() < 1 : threshold.as_number() > 0);
  if (receives_on_host) r.declare("handle_hicache", {{Field::hicache_mem_layout, "layer_first"}});
  resolve_layout_io(r);
  resolve_storage_layout(r);
  resolve_unified_memory_io(r);
  if (receives_on_host && !r.is(Field::hicache_mem_layout, "layer_first")) {
    r.refuse(RF::kOther, "ValueError", "handle_hicache",
             "the storage layout cannot share the decode host pool, which is layer_first");
  }
  check_decode_context_parallelism(r);
}

}  // namespace preflight::resolve
