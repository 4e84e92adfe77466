// Plans what hybrid and multimodal models run beside attention: the gated delta rule of linear layers, token by token
// in decode and in chunks in prefill, and the rotary embedding with a position per axis.
#include <algorithm>

#include <fmt/format.h>

#include "src/plan/memory_sheet.h"
#include "src/plan/planners.h"

namespace preflight::plan {
namespace {

std::int64_t integer(const ModelFacts& model, std::string_view key) {
  const Value value = model.text(key);
  return value.is_int() ? value.as_int() : 0;
}

// rope_parameters or rope_scaling, whichever the configuration has.
Value rope_of(const ModelFacts& model) {
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (Value value = model.text(key); value.is_dict()) return value;
  }
  return {};
}

double rotary_share(const ModelFacts& model, const Value& rope) {
  const Value* own = rope.find("partial_rotary_factor");
  const Value share = own != nullptr ? *own : model.text("partial_rotary_factor");
  return share.is_number() ? share.as_number() : 1.0;
}

// Every rank's share of one batch, whose gathered outputs and states are judged together. One request: heads are what
// is dealt out, and the states of all of them are large.
void add_all_ranks(KernelCase c, std::int64_t key_heads, std::int64_t value_heads, std::int64_t ranks, Plan& plan) {
  if (ranks == 1 || key_heads % ranks != 0 || value_heads % ranks != 0) return;
  c.tp = ranks;
  c.num_q_heads = key_heads;
  c.num_v_heads = value_heads;
  c.query_lens = {5};
  plan.kernels.push_back({c.kernel, fmt::format("linear layers, all {} ranks of attention TP, gathered", ranks), {c}});
}

// What runs before the delta rule in every linear layer.
void plan_convolution(const KernelCase& delta, std::int64_t taps, bool decodes, const std::string& heads, Plan& plan) {
  KernelCase c{.kernel = "causal_conv1d"};
  c.dtype = delta.dtype;
  c.num_q_heads = delta.num_q_heads;
  c.num_v_heads = delta.num_v_heads;
  c.head_dim = delta.head_dim;
  c.v_head_dim = delta.v_head_dim;
  c.window = taps - 1;
  std::vector<KernelCase> cases = planned_cases(c);
  if (!decodes) cases.erase(cases.begin());
  plan.kernels.push_back({"causal_conv1d", fmt::format("{}: a convolution over {} tokens", heads, taps), cases});
}

}  // namespace

void plan_gated_delta(const PlanContext& context, Plan& plan) {
  const ModelFacts& model = context.model;
  const std::int64_t value_heads = integer(model, "linear_num_value_heads");
  if (value_heads == 0) {
    const auto cost = cache_cost(context.view.launch());
    if (cost && cost->state_layers > 0) {
      plan.skipped.push_back(
          {"linear layers", "their state is not the gated delta rule's, the only one with a kernel here"});
    }
    return;
  }
  const DecodeShape& shape = context.shape;
  KernelCase c{.kernel = "gated_delta_step"};
  c.dtype = shape.dtype;
  c.num_q_heads = heads_per_rank(integer(model, "linear_num_key_heads"), shape.attention_tp);
  c.num_v_heads = heads_per_rank(value_heads, shape.attention_tp);
  c.head_dim = integer(model, "linear_key_head_dim");
  c.v_head_dim = integer(model, "linear_value_head_dim");
  if (c.v_head_dim == c.head_dim) c.v_head_dim = 0;
  c.l2norm = true;
  const std::string heads = fmt::format("linear layers of {} key and {} value heads per rank, attention TP {}",
                                        c.num_q_heads, c.num_v_heads, shape.attention_tp);
  const std::int64_t key_heads = integer(model, "linear_num_key_heads");
  constexpr std::int64_t kUsualTaps = 4;
  const std::int64_t own_taps = integer(model, "linear_conv_kernel_dim");
  const std::int64_t taps = own_taps > 0 ? own_taps : kUsualTaps;
  if (taps > 1) plan_convolution(c, taps, model.is_generation, heads, plan);
  if (model.is_generation) {
    plan.kernels.push_back({"gated_delta_step", heads, planned_cases(c)});
    add_all_ranks(c, key_heads, value_heads, shape.attention_tp, plan);
  } else {
    plan.skipped.push_back({"gated_delta_step", std::string(kNoDecodeStep)});
  }
  c.kernel = "gated_delta_chunk";
  plan.kernels.push_back(
      {"gated_delta_chunk", fmt::format("{}: prefill in chunks of {}", heads, c.delta_chunk), planned_cases(c)});
  add_all_ranks(c, key_heads, value_heads, shape.attention_tp, plan);
}

void plan_mrope(const PlanContext& context, Plan& plan) {
  const ModelFacts& model = context.model;
  const Value rope = rope_of(model);
  const Value* sections = rope.is_dict() ? rope.find("mrope_section") : nullptr;
  if (sections == nullptr || !sections->is_list() || sections->as_list().size() != 3) return;
  const DecodeShape& shape = context.shape;
  KernelCase c{.kernel = "mrope"};
  c.dtype = shape.dtype;
  c.num_q_heads = shape.num_q_heads;
  c.num_kv_heads = shape.num_kv_heads;
  c.head_dim = model.head_dim;
  c.rotary_dim = static_cast<std::int64_t>(static_cast<double>(model.head_dim) * rotary_share(model, rope));
  std::int64_t pairs = 0;
  for (const Value& section : sections->as_list()) {
    c.sections.push_back(section.is_int() ? section.as_int() : 0);
    pairs += c.sections.back();
  }
  if (2 * pairs != c.rotary_dim) {
    plan.skipped.push_back({"mrope", fmt::format("sections of {} pairs for {} rotary dims", pairs, c.rotary_dim)});
    return;
  }
  if (c.rotary_dim == c.head_dim) c.rotary_dim = 0;
  const Value* interleaved = rope.find("mrope_interleaved");
  c.interleaved = interleaved != nullptr && interleaved->truthy();
  // The text model of these is GLM-4's, whose pairs are neighbours (sglang/srt/models/glm4.py); all others turn halves.
  c.adjacent_pairs = model.has_architecture("Glm4vForConditionalGeneration") ||
                     model.has_architecture("GlmOcrForConditionalGeneration");
  plan.kernels.push_back({"mrope",
                          fmt::format("positions on three axes, sections {}{}", fmt::join(c.sections, ", "),
                                      c.interleaved ? " in turn" : ""),
                          planned_cases(c)});
}

}  // namespace preflight::plan
