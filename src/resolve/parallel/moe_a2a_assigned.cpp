// All-to-all backends of expert parallelism, in releases that assign (up to 0.5.18). Upstream:
// ServerArgs._handle_a2a_moe. Tested by tests/resolve_parallel_test.cpp.
#include "src/resolve/parallel/moe.h"

#include <fmt/format.h>

#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {
namespace {

constexpr const char* kStep = "_handle_a2a_moe";

void span_tp(Resolution& r) {
  r.set(kStep, Field::ep_size, r[Field::tp_size]);
  r.warn(kStep, "this all-to-all backend sets --ep-size to --tp-size");
}

void choose_backend(Resolution& r) {
  if (r.on(Field::enable_deepep_waterfill) && !r.is(Field::moe_a2a_backend, "deepep")) {
    r.warn(kStep, "--enable-deepep-waterfill needs deepep: --moe-a2a-backend becomes deepep");
    r.set(kStep, Field::moe_a2a_backend, "deepep");
  }
  if (r.since(v0_5(12)) && r.env_bool("SGLANG_OPT_USE_DEEPGEMM_MEGA_MOE", false) &&
      !r.is(Field::moe_a2a_backend, "megamoe")) {
    r.set(kStep, Field::moe_a2a_backend, "megamoe");
  }
}

void use_deepep(Resolution& r) {
  if (r.is(Field::deepep_mode, "normal")) {
    r.warn(kStep, "--deepep-mode normal turns the graphs off");
    if (r.since(v0_5(14))) {
      turn_graph_off(r, kStep, kDecode);
      turn_graph_off(r, kStep, kPrefill);
    } else {
      r.set(kStep, Field::disable_cuda_graph, true);
    }
  }
  span_tp(r);
  if (!r.on(Field::enable_deepep_waterfill)) return;
  if (r.on(Field::disable_shared_experts_fusion)) {
    r.warn(kStep, "--enable-deepep-waterfill fuses shared experts: --disable-shared-experts-fusion is dropped");
    r.set(kStep, Field::disable_shared_experts_fusion, false);
  }
  r.set(kStep, Field::enforce_shared_experts_fusion, true);
}

void use_ascend(Resolution& r) {
  span_tp(r);
  check_ascend_fuse_mode(r);
}

void use_flashinfer(Resolution& r) {
  const bool groups = r.on(Field::enable_dp_attention) && r[Field::dp_size] == r[Field::tp_size];
  r.require(RF::kOther, groups || r.before(v0_5(13)), kStep,
            "--moe-a2a-backend flashinfer needs --enable-dp-attention and --dp-size equal to --tp-size");
  span_tp(r);
  r.set(kStep, Field::disable_shared_experts_fusion, true);
  r.warn(kStep, "FlashInfer's all-to-all keeps shared experts apart: --disable-shared-experts-fusion is set");
  if (!r.is(Field::deepep_mode, "auto")) r.warn(kStep, "--deepep-mode has no effect on FlashInfer's all-to-all");
  if (r.env_text("SGLANG_MOE_NVFP4_DISPATCH") == nullptr) {
    r.env()["SGLANG_MOE_NVFP4_DISPATCH"] = "True";
    r.warn(kStep, "SGLANG_MOE_NVFP4_DISPATCH is turned on");
  }
  const bool cutedsl = r.since(v0_5(13));
  const bool runs = r.is(Field::moe_runner_backend, "flashinfer_cutlass") ||
                    (cutedsl && r.is(Field::moe_runner_backend, "flashinfer_cutedsl"));
  r.require(RF::kOther, runs, kStep,
            fmt::format("--moe-a2a-backend flashinfer needs --moe-runner-backend flashinfer_cutlass{}",
                        cutedsl ? " or flashinfer_cutedsl" : ""));
}

void use_mori(Resolution& r) {
  r.set(kStep, Field::ep_size, r[Field::tp_size]);
  if (r.is(Field::deepep_mode, "auto")) {
    r.set(kStep, Field::deepep_mode, "normal");
    r.warn(kStep, "MORI dispatches in --deepep-mode normal");
  }
  r.warn(kStep, "this all-to-all backend sets --ep-size to --tp-size");
  const std::int64_t chunk = r.integer(Field::chunked_prefill_size);
  if (chunk > 0 && !r.is(Field::disaggregation_mode, "decode")) {
    r.require(RF::kOther, chunk <= r.env_int("SGLANG_MORI_NUM_MAX_DISPATCH_TOKENS_PER_RANK", 4096), kStep,
              "a prefill chunk is above SGLANG_MORI_NUM_MAX_DISPATCH_TOKENS_PER_RANK");
  }
}

}  // namespace

void assign_a2a_moe(Resolution& r) {
  choose_backend(r);
  const std::string backend = r.text(Field::moe_a2a_backend);
  if (backend == "megamoe") {
    r.set(kStep, Field::ep_size, r[Field::tp_size]);
    r.env().try_emplace("SGLANG_OPT_FIX_MEGA_MOE_MEMORY", "True");
  }
  if (backend == "deepep") use_deepep(r);
  if (backend == "mooncake" || backend == "nixl") span_tp(r);
  if (backend == "ascend_fuseep") use_ascend(r);
  if (backend == "flashinfer") use_flashinfer(r);
  if (backend == "mori") use_mori(r);
}

}  // namespace preflight::resolve
