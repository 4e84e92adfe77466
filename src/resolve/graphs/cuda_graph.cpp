// Decode and prefill graph configuration.
//
// Sources: arg_groups/cuda_graph_hook.py and model_executor/cuda_graph_config.py,
// ServerArgs._handle_piecewise_cuda_graph up to 0.5.13. On XPU prefill graphs are off unless asked for, and an explicit
// choice skips the automatic rules; so those rules (disable_*_cudagraph_if_incompatible) act only behind
// apply_prefill_cp_cuda_graph_default. Tested by tests/resolve_memory_test.cpp.
#include "src/resolve/graphs/cuda_graph.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "src/python/integer.h"
#include "src/resolve/graphs/graph_sizes.h"
#include "src/resolve/core/operators.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve {
namespace {

// A fresh PhaseConfig of the release, in the order of its fields.
Value default_phase(Release release, std::string_view backend) {
  Value::Dict phase = {{"backend", backend}, {"max_bs", {}}, {"bs", {}}, {"tc_compiler", "eager"}};
  if (release >= v0_5(21)) phase.emplace_back("max_context_size", Value());
  if (release >= v0_5(15)) phase.emplace_back("full_prefill_max_req", Value());
  if (release >= v0_5(17)) phase.emplace_back("full_prefill_prefix_chunk_tokens", Value());
  if (release >= v0_5(21)) phase.emplace_back("max_seq_len", Value());
  return Value::dict(std::move(phase));
}

// Every launch starts from the one of its release: made once, as a batch would make it again and again.
const Value& default_config(Release release) {
  static const std::vector<std::pair<Release, Value>> kConfigs = [] {
    std::vector<std::pair<Release, Value>> configs;
    for (const Release first : supported_releases()) {
      const std::string_view prefill = first < v0_5(22) ? "tc_piecewise" : "disabled";
      configs.emplace_back(first, Value::dict({{std::string(kDecode), default_phase(first, "full")},
                                               {std::string(kPrefill), default_phase(first, prefill)}}));
    }
    return configs;
  }();
  return std::find_if(kConfigs.rbegin(), kConfigs.rend(), [&](const auto& c) { return release >= c.first; })->second;
}

class GraphConfig {
 public:
  explicit GraphConfig(Resolution& r) : r_(r), config_(default_config(r.release())) {}

  // Later calls win; each marks the setting as chosen by the user.
  void set(std::string_view phase, std::string_view key, Value value) {
    Value settings = config_.find(phase)->with(key, std::move(value));
    config_ = std::move(config_).with(phase, std::move(settings));
    lock_graph_setting(r_, phase, key);
  }
  void set_if_given(std::string_view phase, std::string_view key, Field field) {
    if (!r_.none(field)) set(phase, key, r_[field]);
  }
  [[nodiscard]] const Value& value() const { return config_; }

 private:
  Resolution& r_;
  Value config_;
};

// Precedence, lowest first: defaults, the global off switch, the phase's off switch, the phase's options, the JSON.
void parse_cuda_graph_config(Resolution& r) {
  GraphConfig config(r);
  const bool all_off = r.on(Field::disable_cuda_graph);
  if (all_off || r.on(Field::disable_decode_cuda_graph)) config.set(kDecode, "backend", "disabled");
  if (all_off || r.on(Field::disable_prefill_cuda_graph)) config.set(kPrefill, "backend", "disabled");
  config.set_if_given(kDecode, "backend", Field::cuda_graph_backend_decode);
  config.set_if_given(kPrefill, "backend", Field::cuda_graph_backend_prefill);
  config.set_if_given(kDecode, "max_bs", Field::cuda_graph_max_bs_decode);
  config.set_if_given(kPrefill, "max_bs", Field::cuda_graph_max_bs_prefill);
  config.set_if_given(kPrefill, "max_seq_len", Field::cuda_graph_max_seq_len_prefill);
  config.set_if_given(kDecode, "bs", Field::cuda_graph_bs_decode);
  config.set_if_given(kPrefill, "bs", Field::cuda_graph_bs_prefill);
  config.set_if_given(kDecode, "tc_compiler", Field::cuda_graph_tc_compiler);
  config.set_if_given(kPrefill, "tc_compiler", Field::cuda_graph_tc_compiler);
  config.set_if_given(kPrefill, "max_context_size", Field::cuda_graph_prefill_max_context);
  if (const Value given = r[Field::cuda_graph_config]; given.is_dict()) {
    for (const auto& [phase, settings] : given.as_dict()) {
      if (!settings.is_dict()) continue;
      for (const auto& [key, value] : settings.as_dict()) config.set(phase, key, value);
    }
  }
  r.declare("_parse_cuda_graph_config", {{Field::cuda_graph_config, config.value()}});
}

// Up to 0.5.21 piecewise prefill graphs are the default that XPU, as no CUDA hardware, does without. The first of
// upstream's conditions asks the model.
void disable_piecewise_by_default(Resolution& r) {
  if (r.since(v0_5(22)) || graph_locked(r, kPrefill, "backend")) return;
  r.model();
  turn_graph_off(r, "_disable_tc_piecewise_cudagraph_if_incompatible", kPrefill);
}

// DeepEP's all-to-all wants prefill buckets divisible by 8.
void apply_deepep_adjustments(Resolution& r) {
  if (!r.is(Field::moe_a2a_backend, "deepep") || !graph_backend_is(r, kPrefill, "breakable")) return;
  Value sizes = graph_setting(r, kPrefill, "bs");
  if (sizes.is_none()) {
    const Value& most = graph_setting(r, kPrefill, "max_bs");
    sizes = prefill_graph_sizes(r, most.truthy() ? most : Value(2048));
  }
  if (sizes.is_number()) operators::type_error(r, "apply_deepep_adjustments", "the prefill sizes are not a list");
  const std::string_view function = "<setcomp>";  // where Python rounds them
  if (!sizes.is_list()) operators::type_error(r, function, "the prefill sizes are not integers");
  std::vector<std::int64_t> sorted;
  std::set<std::int64_t> aligned;
  for (const Value& size : sizes.as_list()) {
    sorted.push_back(operators::index(r, function, size));
    aligned.insert(operators::floor_div(r, function, integer::bounded_plus(sorted.back(), 7), 8) * 8);
  }
  std::sort(sorted.begin(), sorted.end());
  if (std::equal(sorted.begin(), sorted.end(), aligned.begin(), aligned.end())) return;
  r.declare("_apply_deepep_adjustments",
            {{Field::cuda_graph_config, graph_with(r, kPrefill,
                                                   {{"bs", Value::list(Value::List(aligned.begin(), aligned.end()))},
                                                    {"max_bs", *aligned.rbegin()}})}});
}

// A prefill server captures no decode graphs and the other way round, unless they were asked for.
void apply_disaggregation_roles(Resolution& r) {
  const std::string_view source = "_apply_cuda_graph_disaggregation_roles";
  if (r.is(Field::disaggregation_mode, "prefill")) {
    if (!graph_locked(r, kDecode, "backend")) turn_graph_off(r, source, kDecode);
  } else if (r.is(Field::disaggregation_mode, "decode")) {
    if (!graph_locked(r, kPrefill, "backend")) turn_graph_off(r, source, kPrefill);
  }
}

void validate_cuda_graph_config(Resolution& r) {
  const char* function = "validate_cuda_graph_config";
  for (const std::string_view phase : {kDecode, kPrefill}) {
    const Value& backend = graph_setting(r, phase, "backend");
    if (is_text(backend, "full") && r.before(v0_5(15)) && phase == kPrefill) {
      r.refuse(RF::kOther, "ValueError", function,
               "--cuda-graph-config: prefill graphs are breakable, tc_piecewise or disabled, not full");
    }
    if (is_text(backend, "full") || is_text(backend, "breakable") || is_text(backend, "disabled")) continue;
    if (r.before(v0_5(22)) && is_text(backend, "tc_piecewise")) continue;
    r.refuse(RF::kOther, "ValueError", function,
             fmt::format("--cuda-graph-config: {} is no graph backend for {}; full, breakable and disabled are",
                         backend.repr(), phase));
  }
}

// supports_prefill_cp_bcg. Its other combination needs trtllm_mha for prefill, which XPU refuses.
bool prefill_cp_supports_breakable(Resolution& r) {
  return r.on(Field::enable_prefill_cp) && r.integer(Field::pp_size) == 1 &&
         r.integer(Field::attn_cp_size) == r.integer(Field::tp_size) && r.is(Field::cp_strategy, "interleave") &&
         is_text(attention_backends(r).prefill, "dsa") && r.integer(Field::dp_size) == 1 &&
         r.integer(Field::ep_size) == 1 && r.integer(Field::attn_cp_size) > 1 &&
         r.model().has_architecture("Glm5NextForConditionalGeneration");
}

// The rules of disable_breakable_cudagraph_if_incompatible that a launch with supported prefill CP can meet.
void disable_breakable_if_incompatible(Resolution& r) {
  const bool known_a2a = r.one_of(Field::moe_a2a_backend, {"none", "deepep", "flashinfer"});
  const char* reason = r.on(Field::enable_two_batch_overlap) ? "two-batch overlap"
                       : !known_a2a                          ? "this all-to-all backend"
                                                             : nullptr;
  if (reason == nullptr) return;
  r.warn("disable_breakable_cudagraph_if_incompatible",
         fmt::format("breakable prefill graphs do not work with {}; prefill graphs are turned off", reason));
  turn_graph_off(r, "_disable_breakable_cudagraph_if_incompatible", kPrefill);
}

}  // namespace

void apply_model_prefill_cuda_graph_defaults(Resolution& r) {
  const bool remote = model_is_remote_instance(r);
  if (r.since(v0_5(16)) && r.none(Field::cuda_graph_backend_prefill) && !r.on(Field::disable_prefill_cuda_graph) &&
      !remote) {
    const std::string arch = first_architecture(r, "apply_inkling_prefill_cuda_graph_default");
    if (arch == "InklingForConditionalGeneration" || arch == "InklingForConditionalGenerationMTP") {
      r.declare("_apply_inkling_prefill_cuda_graph_default", {{Field::cuda_graph_backend_prefill, "full"}});
    }
  }
  if (r.since(v0_5(18)) && r.none(Field::cuda_graph_max_bs_prefill) && !remote) {
    const std::string arch = first_architecture(r, "apply_muse_glimmer_prefill_cuda_graph_max_bs_default");
    if (arch == "MuseGlimmerForCausalLM" || arch == "MuseGlimmerForConditionalGeneration") {
      r.declare("_apply_muse_glimmer_prefill_cuda_graph_max_bs_default", {{Field::cuda_graph_max_bs_prefill, 512}});
    }
  }
}

void handle_cuda_graph_config(Resolution& r) {
  parse_cuda_graph_config(r);
  disable_piecewise_by_default(r);
  if (r.since(v0_5(17))) apply_deepep_adjustments(r);
  if (r.since(v0_5(16))) apply_disaggregation_roles(r);
  validate_cuda_graph_config(r);
  if (graph_backend_is(r, kPrefill, "full")) {
    r.warn("handle_cuda_graph_config", "full prefill graphs are experimental; breakable ones are not");
  }
}

void handle_piecewise_cuda_graph(Resolution& r) {
  const std::string_view function = "_handle_piecewise_cuda_graph";
  if (r.on(Field::enforce_piecewise_cuda_graph)) {
    r.set(function, Field::disable_piecewise_cuda_graph, false);
    return;
  }
  // Of upstream's twenty conditions, "no CUDA hardware" always holds here; the model is asked first all the same.
  r.model();
  r.set(function, Field::disable_piecewise_cuda_graph, true);
}

void apply_prefill_cp_cuda_graph_default(Resolution& r) {
  if (!r.on(Field::enable_prefill_cp)) return;
  if (!graph_locked(r, kPrefill, "backend") && prefill_cp_supports_breakable(r)) {
    r.declare("apply_prefill_cp_cuda_graph_default",
              {{Field::cuda_graph_config, graph_with(r, kPrefill, {{"backend", "breakable"}})}});
    disable_breakable_if_incompatible(r);
    apply_disaggregation_roles(r);
    apply_deepep_adjustments(r);
  }
  if (!graph_backend_is(r, kPrefill, "breakable")) {
    r.warn("apply_prefill_cp_cuda_graph_default", "this prefill context parallelism runs without breakable graphs");
  }
}

void apply_glm5_prefill_cuda_graph_policy(Resolution& r) {
  if (!graph_backend_is(r, kPrefill, "breakable") || !r.model().has_architecture("Glm5NextForConditionalGeneration") ||
      graph_locked(r, kPrefill, "max_bs") || graph_locked(r, kPrefill, "bs")) {
    return;
  }
  const Value most = 4096;
  r.declare(
      "_apply_glm5_prefill_cuda_graph_policy",
      {{Field::cuda_graph_config, graph_with(r, kPrefill, {{"max_bs", most}, {"bs", prefill_graph_sizes(r, most)}})}});
  apply_deepep_adjustments(r);
}

void finalize_cuda_graph_prefill_max_context(Resolution& r) {
  const Value requested = graph_setting(r, kPrefill, "max_context_size");
  if (requested.is_none()) return;
  const std::string_view function = "_resolve_max_context_size";
  const Value& page = r[Field::page_size];
  r.require(RF::kOther, !page.is_none() && page.as_int() > 0, "finalize_cuda_graph_prefill_max_context",
            "the page size is not positive");
  const std::int64_t context_len = r.model().context_len;
  if (operators::number(r, function, requested) <= 0) {
    r.refuse(RF::kOther, "ValueError", std::string(function),
             "--cuda-graph-prefill-max-context must be a positive integer");
  }
  const Value aligned =
      requested.is_float()
          ? Value(static_cast<std::int64_t>(
                std::floor((requested.as_number() + page.as_number() - 1) / page.as_number()) * page.as_number()))
          : integer::times(integer::floor_div(integer::plus(requested, page.as_int() - 1), page), page);
  if (context_len > 0 && aligned.as_int() > context_len) {
    r.refuse(RF::kOther, "ValueError", std::string(function),
             fmt::format("--cuda-graph-prefill-max-context, rounded to pages, is {} tokens; the model reads {}",
                         aligned.repr(), context_len));
  }
  r.declare("_finalize_cuda_graph_prefill_max_context",
            {{Field::cuda_graph_config, graph_with(r, kPrefill, {{"max_context_size", aligned}})}});
}

}  // namespace preflight::resolve
