// LaunchView: every question about a resolved launch that more than one room asks, answered once.
//
// SGLang spreads these answers over fields whose names moved between releases (attention data parallelism, decode
// graphs, the hybrid cache strategy); the differences are settled here, so that rules, plan, memory sheet and report
// cannot disagree. Nothing is guessed: with no model, has_model() is false and what needs one is not asked.
// Tested by tests/launch_view_test.cpp, and by the rules' own examples.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "preflight/launch.h"

namespace preflight {

class LaunchView {
 public:
  explicit LaunchView(const Launch& launch, const ModelFacts* draft = nullptr) : launch_(launch), draft_(draft) {}

  [[nodiscard]] Release release() const { return launch_.release(); }
  [[nodiscard]] bool since(int patch) const { return release() >= v0_5(patch); }
  [[nodiscard]] bool before(int patch) const { return release() < v0_5(patch); }
  [[nodiscard]] const Launch& launch() const { return launch_; }
  [[nodiscard]] const DeviceFacts& device() const { return launch_.device; }
  [[nodiscard]] bool has_model() const { return launch_.model != nullptr; }
  [[nodiscard]] const ModelFacts& model() const { return *launch_.model; }
  [[nodiscard]] const ModelFacts* draft_model() const { return draft_; }  // nullptr: none, or not known

  // Resolved fields.
  [[nodiscard]] const Value& operator[](Field f) const { return launch_[f]; }
  [[nodiscard]] bool on(Field f) const { return launch_[f].truthy(); }
  [[nodiscard]] std::int64_t integer(Field f, std::int64_t fallback) const;  // fallback: None or no integer
  [[nodiscard]] double number(Field f, double fallback) const;
  [[nodiscard]] std::string_view text(Field f) const;  // "" for None
  [[nodiscard]] bool is(Field f, std::string_view value) const { return text(f) == value; }
  [[nodiscard]] bool one_of(Field f, std::initializer_list<std::string_view> values) const;
  [[nodiscard]] bool given(Field f) const { return launch_.args.last_given(f) != nullptr; }
  [[nodiscard]] bool env_on(std::string_view name) const;

  // Prefill and decode on servers of their own: which of the two this one does.
  [[nodiscard]] bool only_prefills() const { return is(Field::disaggregation_mode, "prefill"); }
  [[nodiscard]] bool only_decodes() const { return is(Field::disaggregation_mode, "decode"); }
  [[nodiscard]] bool is_disaggregated() const { return only_prefills() || only_decodes(); }

  // Effective attention backends: the split options, else the base.
  [[nodiscard]] std::string_view base_backend() const { return text(Field::attention_backend); }
  [[nodiscard]] std::string_view prefill_backend() const;
  [[nodiscard]] std::string_view decode_backend() const;
  [[nodiscard]] bool prefill_on(std::string_view backend) const { return prefill_backend() == backend; }
  [[nodiscard]] bool decode_on(std::string_view backend) const { return decode_backend() == backend; }
  [[nodiscard]] bool any_phase_on(std::string_view backend) const { return prefill_on(backend) || decode_on(backend); }
  [[nodiscard]] bool prefill_on_xpu() const { return prefill_on("intel_xpu"); }
  [[nodiscard]] bool decode_on_xpu() const { return decode_on("intel_xpu"); }
  [[nodiscard]] bool uses_xpu() const { return prefill_on_xpu() || decode_on_xpu(); }
  [[nodiscard]] bool ordinary_attention_on_xpu() const { return uses_xpu() && !model().is_mla(); }
  // The argument a phase's backend came from.
  [[nodiscard]] Field prefill_field() const;
  [[nodiscard]] Field decode_field() const;
  [[nodiscard]] Field field_naming(std::string_view backend) const;  // of the phases that use it

  // Parallel sizes; at least 1, so that rules can divide by them (SGLang itself accepts --tp-size 0).
  [[nodiscard]] std::int64_t tp() const { return size(Field::tp_size); }
  [[nodiscard]] std::int64_t pp() const { return size(Field::pp_size); }
  [[nodiscard]] std::int64_t ep() const { return size(Field::ep_size); }
  [[nodiscard]] std::int64_t moe_dp() const { return size(Field::moe_dp_size); }
  [[nodiscard]] std::int64_t dcp() const { return size(Field::dcp_size); }
  [[nodiscard]] std::int64_t attention_dp() const;  // size of DP attention, 1 = off
  [[nodiscard]] std::int64_t ordinary_dp() const;   // replicas that share nothing
  // Of either kind: with more than one there is a controller, which gives each its number.
  [[nodiscard]] std::int64_t dp_ranks() const { return ordinary_dp() * attention_dp(); }
  [[nodiscard]] std::int64_t attention_tp() const;  // ranks that share one attention layer's heads
  [[nodiscard]] std::int64_t moe_tp() const;        // ranks that share one expert
  [[nodiscard]] bool exchanges_tokens() const;      // each is sent to the ranks of its experts
  [[nodiscard]] std::int64_t page_size() const { return size(Field::page_size); }
  // --mem-fraction-static where it is a share of the device's memory, more than 0 and less than 1: VA002 is about
  // others.
  [[nodiscard]] std::optional<double> static_share() const;
  // --max-running-requests of one attention replica; nullopt: not given, the KV pool decides.
  [[nodiscard]] std::optional<std::int64_t> running_requests() const;

  // Speculative decoding.
  [[nodiscard]] std::string algorithm() const;  // upper case, "" = off
  [[nodiscard]] bool eagle_family() const;
  [[nodiscard]] std::int64_t topk() const { return integer(Field::speculative_eagle_topk, 0); }
  [[nodiscard]] std::int64_t draft_steps() const { return integer(Field::speculative_num_steps, 0); }
  [[nodiscard]] std::string_view verify_backend() const;        // target model, verification
  [[nodiscard]] std::string_view draft_decode_backend() const;  // draft model, its own steps
  [[nodiscard]] std::string_view draft_extend_backend() const;  // draft model, catching up

  // Graphs. Before 0.5.14 XPU has none; 0.5.14 resolves to `full` and runs eagerly.
  [[nodiscard]] bool decode_graph_full() const;
  [[nodiscard]] bool any_graph() const;

  // Hybrid cache strategy, "" where the release has none.
  [[nodiscard]] std::string_view mamba_strategy() const;
  [[nodiscard]] bool radix_cache() const { return !on(Field::disable_radix_cache); }

  // What the worker computes in: a step of resolution may set --dtype where the model's own says otherwise.
  [[nodiscard]] std::string model_dtype() const;  // "bfloat16", "float16", "float32"

  // Storage of the KV cache: "auto" means the model's dtype unless the checkpoint declares FP8.
  [[nodiscard]] std::string kv_dtype() const;  // "bfloat16", "float16", "float32", "fp8_e4m3", …
  [[nodiscard]] bool kv_is_fp8() const { return kv_dtype().starts_with("fp8"); }

  // Width of the MLP of dense layers, which all tensor ranks share, attention data parallelism or not; 0: there is
  // none, or --moe-dense-tp-size leaves a model's layers without experts whole on each rank.
  [[nodiscard]] std::int64_t shared_dense_width() const;

  // Vision.
  [[nodiscard]] std::string_view vision_backend() const;  // effective; "" where not determined

  // What the kernels are built for: Battlemage and later.
  [[nodiscard]] bool is_battlemage_or_later() const;

 private:
  [[nodiscard]] std::int64_t size(Field f) const {
    const std::int64_t n = integer(f, 1);
    return n < 1 ? 1 : n;
  }
  [[nodiscard]] std::string_view graph_backend(std::string_view phase) const;

  const Launch& launch_;
  const ModelFacts* draft_;
};

}  // namespace preflight
