// The closing checks of resolution: optimistic prefill, tensor dumps, JSON options.
//
// Upstream: handle_other_validations; with --skip-tokenizer-init it constructs and normalizes SamplingParams
// (sampling/sampling_params.py). Tested by tests/resolve_serving_test.cpp and parity.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/python/text.h"
#include "src/resolve/core/queries.h"
#include "src/resolve/serving/serving.h"

namespace preflight::resolve {
namespace {

constexpr auto kSource = "_handle_other_validations";

// A hierarchical cache that optimistic prefill works with. None does up to 0.5.16.
bool hicache_allows_optimistic_prefill(const Resolution& r) {
  if (r.before(v0_5(17))) return false;
  if (r.before(v0_5(21))) {
    return r.none(Field::hicache_storage_backend) && r.is(Field::hicache_write_policy, "write_back");
  }
  if (r.none(Field::hicache_storage_backend))
    return r.one_of(Field::hicache_write_policy, {"write_back", "write_through"});
  return r.is(Field::hicache_host_memory_mode, "buffer_only") && r.is(Field::hicache_write_policy, "write_through");
}

// The option was renamed from "retries" to "attempts"; 0.5.13 has the first, 0.5.23 the second.
Field optimistic_prefill(const Resolution& r) {
  return field_exists(Field::optimistic_prefill_attempts, r.release()) ? Field::optimistic_prefill_attempts
                                                                       : Field::optimistic_prefill_retries;
}

void check_optimistic_prefill(Resolution& r, std::string_view function) {
  const Field field = optimistic_prefill(r);
  const auto disable = [&](const std::string& why) {
    r.warn(function, "Optimistic prefill is off: " + why);
    r.change(kSource, field, 0);
  };
  const auto on = [&] { return !r.none(field) && r.integer(field) > 0; };
  if (on() && r.is(Field::disaggregation_mode, "prefill")) {
    if (r.integer(Field::pp_size) > 1) {
      disable("it does not work with pipeline parallelism.");
    } else if (r.on(Field::enable_hierarchical_cache) && !hicache_allows_optimistic_prefill(r)) {
      disable("it does not work with this hierarchical cache.");
    } else if (r.before(v0_5(21)) && r.on(Field::uses_mamba_radix_cache)) {
      disable("it does not work with the radix cache of mamba models.");
    }
  }
  if (r.is(Field::disaggregation_decode_allocation_policy, "prefill_complete") &&
      r.is(Field::disaggregation_mode, "prefill") && !on()) {
    r.refuse(RF::kOther, "ValueError", function,
             "--disaggregation-decode-allocation-policy prefill_complete needs optimistic prefill, which is off here.");
  }
}

// Dumping works without graphs and without a warm-up.
void disable_graphs(Resolution& r) {
  if (r.since(v0_5(14))) {
    for (const std::string_view phase : {kDecode, kPrefill}) {
      turn_graph_off(r, kSource, phase);
    }
  } else {
    r.set(kSource, Field::disable_cuda_graph, true);
  }
  r.change(kSource, Field::skip_server_warmup, true);
}

// A str that should hold JSON: the parsed value, or Python's own refusal.
Value parsed_json(Resolution& r, std::string_view function, Field field, std::string_view option) {
  auto value = Value::parse_json(r.text(field));
  if (!value) {
    r.refuse(RF::kOther, "JSONDecodeError", function, fmt::format("{} is no JSON: {}.", option, value.error().message));
  }
  r.change(kSource, field, *value);
  return *value;
}

void check_modalities(Resolution& r, std::string_view function) {
  if (!r.on(Field::limit_mm_data_per_request)) return;
  Value limits = r[Field::limit_mm_data_per_request];
  if (limits.is_string()) {
    limits = parsed_json(r, function, Field::limit_mm_data_per_request, "--limit-mm-data-per-request");
  }
  if (!limits.is_dict()) return;
  for (const auto& [modality, ignored] : limits.as_dict()) {
    if (modality == "image" || modality == "video" || modality == "audio") continue;
    r.refuse(RF::kOther, "ValueError", function,
             fmt::format("--limit-mm-data-per-request names \"{}\"; image, video and audio can be limited.", modality));
  }
}

struct SamplingParam {
  std::string_view name;
  Release since = v0_5(0);
};

constexpr SamplingParam kSamplingParams[] = {
    {"max_new_tokens"},
    {"stop"},
    {"stop_token_ids"},
    {"stop_regex"},
    {"temperature"},
    {"top_p"},
    {"top_k"},
    {"min_p"},
    {"frequency_penalty"},
    {"presence_penalty"},
    {"repetition_penalty"},
    {"min_new_tokens"},
    {"n"},
    {"beam_width", v0_5(19)},
    {"json_schema"},
    {"regex"},
    {"ebnf"},
    {"structural_tag"},
    {"ignore_eos"},
    {"skip_special_tokens"},
    {"spaces_between_special_tokens"},
    {"no_stop_trim"},
    {"stream_interval"},
    {"logit_bias"},
    {"sampling_seed"},
    {"custom_params"},
    {"stop_strs", v0_5(15)},
    {"stop_regex_strs", v0_5(15)},
    {"stop_str_max_len", v0_5(15)},
    {"stop_regex_max_len", v0_5(15)},
    {"is_normalized", v0_5(15)},
    {"ebnf_full_assistant", v0_5(20)},
};

// Constructing SamplingParams: unknown names, and the comparisons its constructor makes.
void construct_sampling_params(Resolution& r, std::string_view function, const Value& params) {
  if (!params.is_dict())
    r.refuse(RF::kOther, "TypeError", function, "--preferred-sampling-params has to be a JSON object.");
  for (const auto& entry : params.as_dict()) {
    const std::string& name = entry.first;
    const bool known = std::ranges::any_of(
        kSamplingParams, [&](const SamplingParam& param) { return param.name == name && r.since(param.since); });
    if (!known) {
      r.refuse(RF::kOther, "TypeError", function,
               fmt::format("--preferred-sampling-params has no parameter \"{}\".", name));
    }
  }
  const auto refuse = [&](std::string_view exception, std::string_view frame, std::string_view name) {
    r.refuse(RF::kOther, std::string(exception), std::string(frame),
             fmt::format("\"{}\" in --preferred-sampling-params has a value of the wrong kind.", name));
  };
  const std::string_view constructor = r.since(v0_5(15)) ? "__post_init__" : "__init__";
  const Value* ids = params.find("stop_token_ids");
  if (ids != nullptr && ids->truthy()) {
    constexpr auto kComprehension = "<setcomp>";  // where Python 3.11 converts each id
    if (ids->is_number()) refuse("TypeError", constructor, "stop_token_ids");
    Value::List each = ids->is_list() ? ids->as_list() : Value::List{};
    if (ids->is_string()) {
      for (const char c : ids->as_string()) each.emplace_back(std::string(1, c));
    } else if (ids->is_dict()) {
      for (const auto& [key, unused] : ids->as_dict()) each.emplace_back(key);
    }
    for (const Value& id : each) {
      if (id.is_list() || id.is_dict()) refuse("TypeError", kComprehension, "stop_token_ids");
      if (id.is_string() && !python::to_int(id.as_string())) refuse("ValueError", kComprehension, "stop_token_ids");
    }
  }
  const Value* temperature = params.find("temperature");
  if (temperature != nullptr && !temperature->is_none() && !temperature->is_number()) {
    refuse("TypeError", constructor, "temperature");
  }
}

// normalize(None): what cannot work without a tokenizer.
void normalize_sampling_params(Resolution& r, const Value& params) {
  const auto count = [&](std::string_view name) -> std::int64_t {
    const Value* value = params.find(name);
    if (value == nullptr || value->is_none()) return 0;
    if (value->is_list()) return static_cast<std::int64_t>(value->as_list().size());
    if (value->is_string()) return 1;
    r.refuse(RF::kOther, "TypeError", "normalize",
             fmt::format("\"{}\" has to be a string or a list of strings.", name));
  };
  constexpr std::int64_t kMaxStops = 32;
  constexpr std::size_t kMaxRegexBytes = 256;
  const std::int64_t stops = count("stop");
  if (stops > kMaxStops) r.refuse(RF::kOther, "ValueError", "normalize", "At most 32 stop strings are allowed.");
  const std::int64_t regexes = count("stop_regex");
  if (regexes > kMaxStops) r.refuse(RF::kOther, "ValueError", "normalize", "At most 32 stop patterns are allowed.");
  if (const Value* regex = params.find("stop_regex"); regexes > 0) {
    const Value::List patterns = regex->is_list() ? regex->as_list() : Value::List{*regex};
    for (const Value& pattern : patterns) {
      if (pattern.is_string() && pattern.as_string().size() > kMaxRegexBytes) {
        r.refuse(RF::kOther, "ValueError", "normalize", "A stop pattern has at most 256 bytes.");
      }
    }
  }
  const Value* fewest = params.find("min_new_tokens");
  if (fewest != nullptr && fewest->is_number() && fewest->as_number() <= 0) fewest = nullptr;
  if (stops > 0 || regexes > 0 || (fewest != nullptr && fewest->is_number())) {
    r.refuse(RF::kOther, "ValueError", "raise_if_tokenizer_required",
             "--preferred-sampling-params asks for stop strings or min_new_tokens, which need the tokenizer that "
             "--skip-tokenizer-init leaves out.");
  }
  if (fewest != nullptr && !fewest->is_none()) {
    r.refuse(RF::kOther, "TypeError", "raise_if_tokenizer_required", "\"min_new_tokens\" has to be a number.");
  }
}

void check_sampling_params(Resolution& r, std::string_view function) {
  if (!r.on(Field::preferred_sampling_params)) return;
  Value params = r[Field::preferred_sampling_params];
  if (params.is_string()) {
    params = parsed_json(r, function, Field::preferred_sampling_params, "--preferred-sampling-params");
  }
  if (r.before(v0_5(14))) return;  // known for 0.5.13: parsed, not looked at
  const bool container = params.is_dict() || params.is_list() || params.is_string();
  const bool looked_into = r.since(v0_5(22)) || r.on(Field::skip_tokenizer_init);
  if (!container && looked_into)
    r.refuse(RF::kOther, "TypeError", function, "--preferred-sampling-params has to be a JSON object.");
  const auto is_watermark = [](const Value& v) { return is_text(v, "watermark"); };
  const bool watermark =
      params.find("watermark") != nullptr ||
      (params.is_list() && std::any_of(params.as_list().begin(), params.as_list().end(), is_watermark)) ||
      (params.is_string() && params.as_string().find("watermark") != std::string::npos);
  if (watermark && r.since(v0_5(22))) {
    r.refuse(RF::kOther, "ValueError", function,
             "A watermark cannot be a preferred sampling parameter; requests ask for it.");
  }
  if (!r.on(Field::skip_tokenizer_init)) return;
  construct_sampling_params(r, function, params);
  normalize_sampling_params(r, params);
}

void check_chat_template_kwargs(Resolution& r, std::string_view function) {
  const Value& given = r[Field::default_chat_template_kwargs];
  if (given.is_none() || given.is_dict()) return;
  r.refuse(RF::kOther, "ValueError", function, "--default-chat-template-kwargs has to be a JSON object.");
}

}  // namespace

// 0.5.16 and 0.5.17 ask at the start; later releases among the other validations.
void validate_chat_template_kwargs(Resolution& r) { check_chat_template_kwargs(r, "__post_init__"); }

void handle_other_validations(Resolution& r) {
  const std::string_view function = kSource;
  check_chat_template_kwargs(r, function);
  check_optimistic_prefill(r, function);
  if (!r.none(Field::debug_tensor_dump_output_folder)) {
    r.warn(function, "--debug-tensor-dump-output-folder turns graphs and the warm-up off.");
    disable_graphs(r);
  }
  if (!r.none(Field::msprobe_dump_config)) {
    r.warn(function, "--msprobe-dump-config turns graphs and the warm-up off.");
    disable_graphs(r);
  }
  check_modalities(r, function);
  check_sampling_params(r, function);
}

}  // namespace preflight::resolve
