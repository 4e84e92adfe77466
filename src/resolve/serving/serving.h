// Serving front end: hidden states, media URLs, TLS, tokenizer and environment defaults, load balancing, grammar.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void handle_return_hidden_states_mode(Resolution& r);
void handle_media_url_security(Resolution& r);
void handle_watermark_config(Resolution& r);
void handle_multimodal(Resolution& r);
void handle_ssl_validation(Resolution& r);
void handle_asr_validation(Resolution& r);
void handle_deprecated_args(Resolution& r);
void handle_prefill_delayer_env_compat(Resolution& r);
void handle_quantization_unquant(Resolution& r);
void handle_missing_default_values(Resolution& r);
void handle_grammar_backend(Resolution& r);
void handle_load_balance_method(Resolution& r);
void handle_tokenizer_batching(Resolution& r);
void handle_environment_variables(Resolution& r);
void handle_crash_dump_env(Resolution& r);
void handle_debug_utils(Resolution& r);
void handle_other_validations(Resolution& r);
void validate_chat_template_kwargs(Resolution& r);

}  // namespace preflight::resolve
