// Questions that steps of several families ask about the launch so far. All read the fields as they stand now; those
// taking a mutable Resolution may build the model, exactly where upstream's helper of the same meaning does.
// Tested by tests/resolve_attention_test.cpp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

// attention_backends_of: the split options fall back to --attention-backend. None or a str each.
struct AttentionBackends {
  Value prefill;
  Value decode;
  [[nodiscard]] bool uses(std::string_view name) const;  // either phase
};
AttentionBackends attention_backends(const Resolution& r);
bool is_attention_backend_not_set(const Resolution& r);
bool is_text(const Value& v, std::string_view text);

// hf_config.architectures[0]; IndexError in `function` when there is none.
const std::string& first_architecture(Resolution& r, std::string_view function);

// use_mla_backend(): the target model's attention is MLA.
bool use_mla(Resolution& r);

// attn_dp_enabled_of: attention data parallelism is on (enable_dp_attention before 0.5.22).
bool attn_dp_enabled(const Resolution& r);

// parse_connector_type(model_path) == "instance": the weights come from another server.
bool model_is_remote_instance(const Resolution& r);

// resolution_result: the value in force, a field's declared fallback where it is None.
Value effective_value(const Resolution& r, Field field);

// get_device_memory_capacity: MiB of one device, None where SGLang does not know it.
Value device_memory_mib(const Resolution& r);

// max_prefill_buffer_tokens: the largest prefill the scheduler may form.
std::int64_t max_prefill_buffer_tokens(const Resolution& r);

// mamba_extra_buffer_of: the mamba radix cache needs its extra buffer. Asked since 0.5.14.
bool mamba_extra_buffer(const Resolution& r);

// cuda_graph_config (0.5.19 and later): a dict of two phases, each a dict of settings.
inline constexpr std::string_view kDecode = "decode";
inline constexpr std::string_view kPrefill = "prefill";
const Value& graph_setting(const Resolution& r, std::string_view phase, std::string_view key);
bool graph_backend_is(const Resolution& r, std::string_view phase, std::string_view backend);
// with_phase: the current configuration with settings of one phase replaced.
Value graph_with(const Resolution& r, std::string_view phase,
                 std::initializer_list<std::pair<std::string_view, Value>> settings);
// Declares that the phase captures no graphs.
void turn_graph_off(Resolution& r, std::string_view source, std::string_view phase);
// True when the command line decided this setting (_cuda_graph_config_locked).
bool graph_locked(const Resolution& r, std::string_view phase, std::string_view key);
void lock_graph_setting(Resolution& r, std::string_view phase, std::string_view key);

}  // namespace preflight::resolve
