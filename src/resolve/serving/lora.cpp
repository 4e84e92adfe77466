// Upstream: arg_groups/lora_hook.py (check_lora_server_args of server_args.py up to 0.5.18).
// Tested by tests/resolve_validation_test.cpp and parity.
#include "src/resolve/serving/lora.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "src/python/integer.h"
#include "src/resolve/models/model_queries.h"
#include "src/resolve/serving/uuid5.h"

namespace preflight::resolve {
namespace {

constexpr auto kStep = "check_lora_server_args";

bool is_lora_runner(const Value& backend) { return backend.is_string() && backend.as_string().starts_with("lora"); }

// The arguments' own check assigns up to 0.5.15, has other functions assign for it up to 0.5.18, and declares since.
void record(Resolution& r, Field field, Value value) {
  if (r.before(v0_5(16))) return r.set(kStep, field, std::move(value));
  if (r.before(v0_5(19))) return r.set(r.before(v0_5(18)) ? "override" : "_apply_fields", field, std::move(value));
  r.change(kStep, field, std::move(value));
}

// --lora-paths alone switches LoRA on.
void enable_by_paths(Resolution& r) {
  if (!r.on(Field::lora_paths)) return;
  if (r.none(Field::enable_lora)) {
    record(r, Field::enable_lora, true);
    r.warn(kStep, "--lora-paths is given, so LoRA is on.");
  } else if (!r.on(Field::enable_lora)) {
    r.warn(kStep, "LoRA is off, so --lora-paths is ignored.");
  }
}

// The modes in which the second LoRA backend (0.5.23) cannot run. ROCm is one more.
void check_v2_modes(Resolution& r, const std::string& option) {
  const std::pair<bool, std::string_view> unsupported[] = {
      {r.integer(Field::attn_dp_size) > 1, "--attn-dp-size above 1"},
      {r.on(Field::enable_pdmux), "--enable-pdmux"},
      {r.on(Field::enable_two_batch_overlap), "--enable-two-batch-overlap"},
      {r.env_bool("SGLANG_EXPERIMENTAL_LORA_OPTI", false), "SGLANG_EXPERIMENTAL_LORA_OPTI"}};
  for (const auto& [given, mode] : unsupported) {
    if (given) {
      r.refuse(RF::kOther, "ValueError", "_check_v2_lora_modes",
               fmt::format("{} does not work with {}; drop one of them.", option, mode));
    }
  }
}

void check_overlap_loading(Resolution& r) {
  if (r.none(Field::enable_lora_overlap_loading)) record(r, Field::enable_lora_overlap_loading, false);
  if (!r.on(Field::enable_lora_overlap_loading)) return;
  const Value most = integer::times(r[Field::max_loras_per_batch], 2);
  r.require(RF::kOther, !r.none(Field::max_loaded_loras) && !integer::less(most, r[Field::max_loaded_loras]), kStep,
            fmt::format("--enable-lora-overlap-loading pins adapters in host memory; give --max-loaded-loras of at "
                        "most twice --max-loras-per-batch, {}.",
                        most.repr()));
}

// Adapters act on the target model alone, and the verify step has to have one width.
void check_speculation(Resolution& r) {
  if (r.none(Field::speculative_algorithm) || r.is(Field::speculative_algorithm, "NGRAM")) return;
  const std::string algorithm = r.text(Field::speculative_algorithm);
  if (r.before(v0_5(19))) {
    r.refuse(RF::kOther, "ValueError", kStep,
             fmt::format("LoRA works with NGRAM speculation only, not with {}.", algorithm));
  }
  constexpr auto kFunction = "check_lora_speculative_compatibility";
  if (!r.one_of(Field::speculative_algorithm, {"EAGLE", "EAGLE3", "DFLASH", "DSPARK"})) {
    r.refuse(
        RF::kOther, "ValueError", kFunction,
        fmt::format("LoRA works with NGRAM, EAGLE, EAGLE3, DFLASH and DSPARK speculation, not with {}.", algorithm));
  }
  const bool trtllm = r.is(Field::moe_runner_backend, "experimental_sgl_trtllm") ||
                      r.is(Field::speculative_moe_runner_backend, "experimental_sgl_trtllm");
  const std::pair<bool, std::string_view> unsupported[] = {
      {algorithm == "DSPARK" && ragged_verify_mode(r) != RaggedVerify::kStatic,
       "SGLANG_RAGGED_VERIFY_MODE other than static"},
      {r.on(Field::speculative_adaptive), "--speculative-adaptive"},
      {trtllm, "the MoE runner experimental_sgl_trtllm"},
      {r.env_bool("SGLANG_ENABLE_OVERLAP_PLAN_STREAM", false), "SGLANG_ENABLE_OVERLAP_PLAN_STREAM"}};
  for (const auto& [given, what] : unsupported) {
    if (given) {
      r.refuse(RF::kOther, "ValueError", kFunction,
               fmt::format("LoRA with {} speculation does not work with {}; drop it.", algorithm, what));
    }
  }
}

Value lora_ref(const Resolution& r, const Value& name, const Value& path, const Value& pinned) {
  if (r.before(v0_5(12))) {  // the id is drawn anew by every launch
    return Value::dict({{"lora_name", name}, {"lora_path", path}, {"pinned", pinned}});
  }
  const auto text = [](const Value& v) { return v.is_string() ? v.as_string() : v.repr(); };
  return Value::dict({{"lora_id", url_uuid5_hex(text(name) + '\0' + text(path))},
                      {"lora_name", name},
                      {"lora_path", path},
                      {"pinned", pinned}});
}

// "name=path", "path" or {"lora_name": …, "lora_path": …, "pinned": …}.
Value parsed_path(Resolution& r, const Value& entry) {
  if (entry.is_string()) {
    const std::string& text = entry.as_string();
    const auto at = text.find('=');
    if (at == std::string::npos) return lora_ref(r, entry, entry, false);
    return lora_ref(r, text.substr(0, at), text.substr(at + 1), false);
  }
  if (!entry.is_dict()) {
    r.refuse(RF::kOther, "ValueError", kStep,
             fmt::format("--lora-paths has {}; write NAME=PATH, PATH or a JSON object.", entry.repr()));
  }
  const Value* name = entry.find("lora_name");
  const Value* path = entry.find("lora_path");
  r.require(RF::kOther, name != nullptr && path != nullptr, kStep,
            "A JSON object in --lora-paths needs the keys lora_name and lora_path.");
  const Value* pinned = entry.find("pinned");
  return lora_ref(r, *name, *path, pinned == nullptr ? Value(false) : *pinned);
}

void parse_paths(Resolution& r) {
  const Value paths = r[Field::lora_paths];
  Value::List parsed;
  if (paths.is_list()) {
    if (r.before(v0_5(16))) record(r, Field::lora_paths, Value::list({}));
    for (const Value& entry : paths.as_list()) parsed.push_back(parsed_path(r, entry));
  } else if (paths.is_dict()) {
    for (const auto& [name, path] : paths.as_dict()) parsed.push_back(lora_ref(r, name, path, false));
  } else if (!paths.is_none()) {
    r.refuse(RF::kOther, "ValueError", kStep,
             fmt::format("--lora-paths is {}; give a list of adapters.", paths.repr()));
  }
  if (paths.is_list() && r.before(v0_5(16))) {
    r.set_silently(Field::lora_paths, Value::list(std::move(parsed)));  // upstream fills the empty list in place
  } else {
    record(r, Field::lora_paths, Value::list(std::move(parsed)));
  }
}

// A Python set: without repetitions; its order is nobody's, the recorder sorts it.
void normalize_target_modules(Resolution& r) {
  if (!r.on(Field::lora_target_modules)) return;
  std::set<std::string> modules;
  for (const Value& module : r[Field::lora_target_modules].as_list()) modules.insert(module.as_string());
  const bool all = modules.contains("all");
  const std::size_t count = modules.size();
  record(r, Field::lora_target_modules, Value::list({modules.begin(), modules.end()}));
  r.require(RF::kOther, !all || count == 1, kStep, "--lora-target-modules all stands for every module; name it alone.");
}

void check_limits(Resolution& r) {
  const auto adapters = static_cast<std::int64_t>(r[Field::lora_paths].as_list().size());
  r.require(RF::kOther, adapters > 0 || (r.on(Field::max_lora_rank) && r.on(Field::lora_target_modules)), kStep,
            "LoRA is on without adapters; give --lora-paths, or --max-lora-rank and --lora-target-modules for adapters "
            "that are loaded later.");
  if (!r.none(Field::max_loaded_loras)) {
    const std::int64_t loaded = r.integer(Field::max_loaded_loras);
    r.require(RF::kOther, !integer::less(r[Field::max_loaded_loras], r[Field::max_loras_per_batch]), kStep,
              fmt::format("--max-loaded-loras is {}, below --max-loras-per-batch; raise it to {} or more.", loaded,
                          r.integer(Field::max_loras_per_batch)));
    r.require(RF::kOther, adapters <= loaded, kStep,
              fmt::format("--lora-paths names {} adapters, --max-loaded-loras allows {}.", adapters, loaded));
  }
  if (!r.none(Field::max_lora_chunk_size)) {
    const std::int64_t chunk = r.integer(Field::max_lora_chunk_size);
    r.require(RF::kOther, chunk >= 16 && chunk <= 128 && (chunk & (chunk - 1)) == 0, kStep,
              fmt::format("--max-lora-chunk-size is {}; use 16, 32, 64 or 128.", chunk));
  }
  r.require(RF::kOther,
            r.since(v0_5(12)) || !r.on(Field::lora_use_virtual_experts) || r.is(Field::lora_backend, "triton"), kStep,
            "--lora-use-virtual-experts needs --lora-backend triton.");
  const Value& drain = r[Field::lora_drain_wait_threshold];
  r.require(RF::kOther, drain.is_none() || drain.as_number() >= 0.0, kStep,
            "--lora-drain-wait-threshold must not be negative.");
}

// The LoRA MoE runner (0.5.23): what it can run beside.
void check_moe_runner(Resolution& r) {
  const auto refuse = [&](std::string message) {
    r.refuse(RF::kOther, "ValueError", "check_lora_moe_runner_args", std::move(message));
  };
  if (!r.none(Field::speculative_algorithm) && is_lora_runner(r[Field::speculative_moe_runner_backend])) {
    refuse("--speculative-moe-runner-backend names a LoRA runner, but adapters act on the target model only.");
  }
  if (!is_lora_runner(r[Field::moe_runner_backend])) return;
  const std::string runner = r.text(Field::moe_runner_backend);
  const std::string option = "--moe-runner-backend " + runner;
  if (!r.on(Field::enable_lora)) refuse(option + " serves adapters; add --enable-lora or choose another runner.");
  if (!r.is(Field::lora_backend, "triton_v2")) refuse(option + " needs --lora-backend triton_v2.");
  check_v2_modes(r, option);
  if (!r.none(Field::quantization) && !r.one_of(Field::quantization, {"fp8", "modelopt_fp4"})) {
    refuse(fmt::format("{} runs BF16, FP8 and ModelOpt NVFP4 experts, not --quantization {}.", option,
                       r.text(Field::quantization)));
  }
  if (r.is(Field::quantization, "modelopt_fp4") && runner != "lora_marlin") {
    refuse(option + " cannot run NVFP4 experts; use lora_marlin.");
  }
  if (!r.is(Field::moe_a2a_backend, "none")) {
    refuse(fmt::format("{} works without --moe-a2a-backend {}.", option, r.text(Field::moe_a2a_backend)));
  }
  if (!r.none(Field::ep_join_mode)) refuse(option + " does not work with elastic expert parallelism.");
  if (r.on(Field::enable_eplb) || !r.is(Field::init_expert_location, "trivial") ||
      r.integer(Field::ep_num_redundant_experts) > 0) {
    refuse(option + " needs experts in their trivial places: no EPLB, no redundant experts.");
  }
}

}  // namespace

void check_lora_server_args(Resolution& r) {
  r.require(RF::kOther, r.integer(Field::max_loras_per_batch) > 0, kStep, "--max-loras-per-batch has to be positive.");
  enable_by_paths(r);
  if (r.on(Field::enable_lora)) {
    if (r.is(Field::lora_backend, "triton_v2") && !is_lora_runner(r[Field::moe_runner_backend])) {
      check_v2_modes(r, "--lora-backend triton_v2");
    }
    check_overlap_loading(r);
    check_speculation(r);
    parse_paths(r);
    normalize_target_modules(r);
    check_limits(r);
  }
  if (r.since(v0_5(23))) check_moe_runner(r);  // known for 0.5.23
}

}  // namespace preflight::resolve
