// VA: values that SGLang's parser and resolution take and nothing behind them can work with.
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/facts/fp4_experts.h"
#include "src/facts/has_class.h"
#include "src/facts/kinds.h"
#include "src/python/network_address.h"
#include "src/rules/families.h"
#include "src/rules/foreign_features.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();
constexpr double kHighestPort = 65535;

bool splits_keys(const LaunchFacts& f) { return f.any_phase_on("triton"); }

// What a server can start with: least <= value <= most.
struct Limits {
  Field field;
  double least;
  double most;
  bool (*read)(const LaunchFacts&) = always;  // the number is used
};
bool prefills_apart(const LaunchFacts& f) { return f.only_prefills(); }
constexpr std::array kLimits = {Limits{Field::tp_size, 1, kAny},
                                Limits{Field::pp_size, 1, kAny},
                                Limits{Field::dp_size, 1, kAny},
                                Limits{Field::ep_size, 1, kAny},
                                Limits{Field::nnodes, 1, kAny},
                                Limits{Field::node_rank, 0, kAny},
                                Limits{Field::port, 0, kHighestPort},
                                Limits{Field::nccl_port, 0, kHighestPort},
                                Limits{Field::disaggregation_bootstrap_port, 0, kHighestPort, prefills_apart},
                                Limits{Field::page_size, 1, kAny},
                                Limits{Field::context_length, 1, kAny},
                                Limits{Field::max_running_requests, 1, kAny},
                                Limits{Field::max_total_tokens, 1, kAny},
                                Limits{Field::max_prefill_tokens, 1, kAny},
                                Limits{Field::stream_interval, 1, kAny},
                                Limits{Field::attn_cp_size, 1, kAny},
                                Limits{Field::dist_timeout, 1, kAny},
                                Limits{Field::random_seed, 0, 4294967295},
                                Limits{Field::max_queued_requests, 1, kAny},
                                Limits{Field::prefill_max_requests, 1, kAny},
                                Limits{Field::triton_attention_split_tile_size, 1, kAny, splits_keys},
                                Limits{Field::triton_attention_num_kv_splits, 1, kAny, splits_keys}};

bool decodes_apart(const LaunchFacts& f) { return f.only_decodes(); }

// Divisors that may be below 0.
struct Divisor {
  Field field;
  std::string_view usual;
  bool (*read)(const LaunchFacts&) = always;
};
constexpr std::array kDivisors = {Divisor{Field::decode_log_interval, "40"},
                                  Divisor{Field::disaggregation_decode_polling_interval, "1", decodes_apart}};

// Nobody reaches a server on port 0, the least that a socket takes: its own first request ends it.
Remedy brought_in_range(const Limits& row, double number) {
  if (row.most == kHighestPort) return to_drop(option_of(row.field));
  return to_give(option_of(row.field), {fmt::format("{}", number < row.least ? row.least : row.most)});
}

std::optional<Finding> out_of_range(const LaunchFacts& f) {
  for (const Limits& row : kLimits) {
    const GivenOption* given = f.launch().args.last_given(row.field);
    const Value& value = f.launch().args[row.field];
    if (given == nullptr || !value.is_number()) continue;
    const double number = value.as_number();
    if ((number >= row.least && number <= row.most) || !row.read(f)) continue;
    const std::string range =
        row.most == kAny ? fmt::format("{} or more", row.least) : fmt::format("{} to {}", row.least, row.most);
    return Finding{.message = fmt::format("{} {} is out of range: {}", option_of(row.field), value.repr(), range),
                   .field = row.field,
                   .remedies = {brought_in_range(row, number)}};
  }
  for (const Divisor& row : kDivisors) {
    if (f.launch().args.last_given(row.field) == nullptr || f[row.field] != Value(0) || !row.read(f)) continue;
    return Finding{.message = fmt::format("{} 0 is divided by", option_of(row.field)),
                   .field = row.field,
                   .remedies = {to_give(option_of(row.field), {std::string(row.usual)})}};
  }
  return std::nullopt;
}

std::optional<Finding> share_out_of_range(const LaunchFacts& f) {
  if (f.static_share() || !f[Field::mem_fraction_static].is_number()) return std::nullopt;
  if (!f.given(Field::mem_fraction_static)) {
    return Finding{.message =
                       fmt::format("SGLang's reserves leave a share of {:.4g} of the device's memory for weights and "
                                   "cache",
                                   f[Field::mem_fraction_static].as_number())};
  }
  return Finding{.message = fmt::format("--mem-fraction-static {} is not a share of the device's memory: more than 0, "
                                        "less than 1",
                                        f[Field::mem_fraction_static].repr())};
}

// "xpu:0" is one, too: a launch whose model is not known keeps it, where resolution would have taken the number off.
std::optional<Finding> no_such_device(const LaunchFacts& f) {
  constexpr std::array<std::string_view, 8> kKinds = {"xpu", "cuda", "cpu", "hpu", "npu", "musa", "mps", "tpu"};
  if (!f.given(Field::device)) return std::nullopt;
  const std::string_view device = f.text(Field::device);
  const std::size_t colon = device.find(':');
  const bool is_numbered = colon != std::string_view::npos && colon + 1 < device.size() &&
                           device.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  const std::string_view kind = is_numbered ? device.substr(0, colon) : device;
  if (std::ranges::find(kKinds, kind) != kKinds.end()) return std::nullopt;
  return Finding{.message = fmt::format("--device {}: torch has no such device", f.text(Field::device))};
}

// Resolution takes the word; torch for Intel GPUs has none of the other vendors' devices.
std::optional<Finding> device_of_another_vendor(const LaunchFacts& f) {
  if (!f.one_of(Field::device, {"cuda", "hpu", "npu", "musa", "mps", "tpu"})) return std::nullopt;
  return Finding{.message = fmt::format("--device {}: the cards are Intel's ({}), which torch calls xpu",
                                        f.text(Field::device), f.device().name)};
}

std::optional<Finding> streams_to_other_devices(const LaunchFacts& f) {
  if (!f.is(Field::device, "xpu")) return std::nullopt;
  if (f.is(Field::load_format, "fastsafetensors"))
    return Finding{.message = "--load-format fastsafetensors loads to CUDA devices only"};
  if (!f.is(Field::load_format, "runai_streamer")) return std::nullopt;
  if (f.given(Field::load_format))
    return Finding{.message = "--load-format runai_streamer loads to CUDA or a CPU only"};
  return Finding{.message = "weights in object storage are streamed by runai_streamer, to CUDA or a CPU only",
                 .field = Field::model_path,
                 .remedies = {in_words("a local copy of the model as --model-path")}};
}

bool loads_by_layer(const LaunchFacts& f) {
  return has_class(f.model(), {"TorchNativeLlamaForCausalLM", "TorchNativePhi3ForCausalLM"});
}
bool quantises_in_place(const LaunchFacts& f) {
  return f.before(22) || has_class(f.model(), {"Qwen2ForCausalLM", "Qwen3ForCausalLM", "Qwen2ForCausalLMEagle"});
}
bool is_address(const LaunchFacts& f) { return f.model().path.find("://") != std::string::npos; }
bool is_one_file(const LaunchFacts& f) { return f.gguf_file() != nullptr || f.model().path.ends_with(".gguf"); }
bool never(const LaunchFacts& /*f*/) { return false; }

// Formats whose loaders ask more of a model than that it is one.
struct Format {
  std::string_view name;
  std::string_view ends;
  bool (*loads)(const LaunchFacts&);
};
constexpr std::array kFormats = {
    Format{"layered", "ValueError: the model's class does not load layer by layer", loads_by_layer},
    Format{"private", "ValueError: no release has the module sglang.private", never},
    Format{"flash_rl", "ValueError: of Qwen2ForCausalLM and Qwen3ForCausalLM alone", quantises_in_place},
    Format{"remote", "ValueError: the model is no address with ://", is_address},
    Format{"gguf", "ValueError: the model is no file", is_one_file}};

std::optional<Finding> format_of_others(const LaunchFacts& f) {
  const auto row = std::ranges::find(kFormats, f.text(Field::load_format), &Format::name);
  if (row == kFormats.end() || row->loads(f)) return std::nullopt;
  return Finding{.message = fmt::format("--load-format {} ends with {}", row->name, row->ends)};
}

// Backends that exist for one family of models.
struct FamilyBackend {
  std::string_view name;
  std::string_view family;
  bool (*serves)(const LaunchFacts&);
};
bool is_sparse(const LaunchFacts& f) { return is_deepseek_sparse(f.model(), f.release()); }
bool has_indexer(const LaunchFacts& f) { return has_qwen_indexer(f.model()); }
bool is_v4(const LaunchFacts& f) { return is_deepseek_v4(f.model(), f.release()); }
constexpr std::array kFamilyBackends = {
    FamilyBackend{"dsa", "models with DeepSeek sparse attention", is_sparse},
    FamilyBackend{"nsa", "models with DeepSeek sparse attention", is_sparse},
    FamilyBackend{"qsa", "Qwen models with sparse attention (indexer_n_heads)", has_indexer},
    FamilyBackend{"dsv4", "DeepSeek-V4", is_v4}, FamilyBackend{"compressed", "DeepSeek-V4", is_v4}};

std::optional<Finding> backend_of_another_model(const LaunchFacts& f) {
  for (const FamilyBackend& row : kFamilyBackends) {
    if (!f.any_phase_on(row.name) || row.serves(f)) continue;
    const Field field = f.field_naming(row.name);
    const Value& typed = f.launch().args[field];
    const bool is_old_name = typed.is_string() && !typed.as_string().empty() && typed.as_string() != row.name;
    const std::string name = is_old_name ? fmt::format("{} ({})", typed.as_string(), row.name) : std::string(row.name);
    return Finding{.message = fmt::format("attention backend {} serves {} only", name, row.family), .field = field};
  }
  return std::nullopt;
}

std::optional<Finding> unknown_draft_backend(const LaunchFacts& f) {
  if (f.algorithm().empty() || f.algorithm() == "NGRAM" || !f.given(Field::speculative_draft_attention_backend) ||
      f[Field::speculative_draft_attention_backend].is_none() ||
      f.one_of(Field::speculative_draft_attention_backend,
               {"triton",     "intel_xpu",  "torch_native", "flashinfer",         "fa3",         "fa4",    "flashmla",
                "trtllm_mha", "trtllm_mla", "cutedsl_mla",  "tokenspeed_mla",     "aiter",       "ascend", "intel_amx",
                "dsa",        "nsa",        "dsv4",         "hybrid_linear_attn", "cutlass_mla", "qsa"})) {
    return std::nullopt;
  }
  return Finding{.message = fmt::format("SGLang has no attention backend {} for draft models",
                                        f.text(Field::speculative_draft_attention_backend))};
}

std::optional<Finding> experts_wider_than_ranks(const LaunchFacts& f) {
  if (f.ep() * f.moe_dp() <= f.tp()) return std::nullopt;
  return Finding{.message = fmt::format("expert parallelism {} needs as many tensor-parallel ranks: there are {}",
                                        f.ep() * f.moe_dp(), f.tp()),
                 .remedies = {to_give("--ep-size", {std::to_string(f.tp())}),
                              to_give("--tp-size", {std::to_string(f.ep() * f.moe_dp())})}};
}

// Where the ranks of one machine meet is chosen for them, unless an address is given.
std::optional<Finding> address_unread(const LaunchFacts& f) {
  const std::string_view address = f.text(Field::dist_init_addr);
  if (address.empty() || address == kSomeAddress || python::network_address(address)) return std::nullopt;
  return Finding{.message = fmt::format("--dist-init-addr {} is no HOST:PORT", address)};
}

// Texts that resolution hands on as they are, and each worker parses.
std::optional<Finding> json_unread(const LaunchFacts& f) {
  for (const Field field : {Field::model_loader_extra_config, Field::kv_events_config}) {
    const Value& text = f.launch().args[field];
    if (f.launch().args.last_given(field) == nullptr || !text.is_string() || text.as_string().empty()) continue;
    if (Value::parse_json(text.as_string())) continue;
    return Finding{.message = fmt::format("{} {} is no JSON", option_of(field), text.repr()),
                   .field = field,
                   .remedies = {to_drop(option_of(field))}};
  }
  return std::nullopt;
}

// A text of JSON, parsed; what a step of resolution parsed already, as it is.
std::optional<Value> json_of(const Value& value) {
  if (!value.is_string()) return value;
  const Result<Value> parsed = Value::parse_json(value.as_string());
  return parsed ? std::optional<Value>(*parsed) : std::nullopt;
}

template <typename Takes>
std::string keys_not_taken(const Value& settings, Takes takes) {
  std::string out;
  for (const auto& [key, value] : settings.as_dict()) {
    if (!takes(key)) out += (out.empty() ? "" : ", ") + key;
  }
  return out;
}

bool is_thread_setting(std::string_view key) { return key == "enable_multithread_load" || key == "num_threads"; }

// Weights of the cache's daemon come by another loader, and so do the formats that are not named here.
std::optional<Finding> loader_setting_unknown(const LaunchFacts& f) {
  const bool takes_none = f.one_of(Field::load_format, {"dummy", "gguf"});
  const bool takes_threads = f.one_of(Field::load_format, {"auto", "safetensors", "pt", "npcache", "mistral"});
  const bool cached = f.on(Field::weight_cache_mode) && !f.is(Field::weight_cache_mode, "off");
  const std::optional<Value> settings = json_of(f[Field::model_loader_extra_config]);
  if (!settings || cached || !(takes_none || takes_threads)) return std::nullopt;
  const std::string loader = fmt::format("the loader of --load-format {}", f.text(Field::load_format));
  if (!settings->is_dict()) {
    if (takes_none && !settings->truthy()) return std::nullopt;
    return Finding{.message = fmt::format("--model-loader-extra-config {} is no JSON object", settings->repr())};
  }
  const std::string keys =
      keys_not_taken(*settings, [&](std::string_view key) { return takes_threads && is_thread_setting(key); });
  if (keys.empty()) return std::nullopt;
  return Finding{.message = fmt::format("{} does not take {}", loader, keys)};
}

// What a request may say of its sampling, by the first release that takes it.
struct SamplingName {
  std::string_view name;
  Release since = v0_5(11);
};
constexpr std::array kSamplingNames = {SamplingName{"max_new_tokens"},
                                       SamplingName{"stop"},
                                       SamplingName{"stop_token_ids"},
                                       SamplingName{"stop_regex"},
                                       SamplingName{"temperature"},
                                       SamplingName{"top_p"},
                                       SamplingName{"top_k"},
                                       SamplingName{"min_p"},
                                       SamplingName{"frequency_penalty"},
                                       SamplingName{"presence_penalty"},
                                       SamplingName{"repetition_penalty"},
                                       SamplingName{"min_new_tokens"},
                                       SamplingName{"n"},
                                       SamplingName{"json_schema"},
                                       SamplingName{"regex"},
                                       SamplingName{"ebnf"},
                                       SamplingName{"structural_tag"},
                                       SamplingName{"ignore_eos"},
                                       SamplingName{"skip_special_tokens"},
                                       SamplingName{"spaces_between_special_tokens"},
                                       SamplingName{"no_stop_trim"},
                                       SamplingName{"custom_params"},
                                       SamplingName{"stream_interval"},
                                       SamplingName{"logit_bias"},
                                       SamplingName{"sampling_seed"},
                                       SamplingName{"stop_strs", v0_5(15)},
                                       SamplingName{"stop_regex_strs", v0_5(15)},
                                       SamplingName{"stop_str_max_len", v0_5(15)},
                                       SamplingName{"stop_regex_max_len", v0_5(15)},
                                       SamplingName{"is_normalized", v0_5(15)},
                                       SamplingName{"beam_width", v0_5(19)},
                                       SamplingName{"ebnf_full_assistant", v0_5(20)},
                                       SamplingName{"watermark", v0_5(22)}};

// Without a tokenizer, resolution itself makes parameters of them.
std::optional<Finding> sampling_name_unknown(const LaunchFacts& f) {
  if (!f.on(Field::preferred_sampling_params) || f.on(Field::skip_tokenizer_init)) return std::nullopt;
  const std::optional<Value> named = json_of(f[Field::preferred_sampling_params]);
  if (!named || !named->truthy()) return std::nullopt;
  if (!named->is_dict()) {
    return Finding{.message = fmt::format("--preferred-sampling-params {} is no JSON object", named->repr())};
  }
  const std::string names = keys_not_taken(*named, [&](std::string_view key) {
    const auto row = std::ranges::find(kSamplingNames, key, &SamplingName::name);
    return row != kSamplingNames.end() && f.release() >= row->since;
  });
  if (names.empty()) return std::nullopt;
  return Finding{.message =
                     fmt::format("--preferred-sampling-params: no request takes {} in {}", names, f.release().text())};
}

// Of the histograms' borders, these three are handed on as they are given.
std::optional<Finding> borders_not_ascending(const LaunchFacts& f) {
  if (!f.on(Field::enable_metrics)) return std::nullopt;
  for (const Field field :
       {Field::bucket_time_to_first_token, Field::bucket_inter_token_latency, Field::bucket_e2e_request_latency}) {
    const Value& borders = f[field];
    if (!borders.is_list()) continue;
    const auto after = [](const Value& a, const Value& b) {
      return a.is_number() && b.is_number() && a.as_number() < b.as_number();
    };
    if (std::ranges::is_sorted(borders.as_list(), after)) continue;
    return Finding{.message = fmt::format("{} {}: the numbers do not ascend", option_of(field), borders.repr()),
                   .field = field,
                   .remedies = {to_drop(option_of(field))}};
  }
  return std::nullopt;
}

// With gRPC or HTTP/2 another server listens.
bool is_served_by_uvicorn(const LaunchFacts& f) {
  return !f.on(Field::grpc_mode) && !f.on(Field::smg_grpc_mode) && !f.on(Field::enable_http2);
}

// The socket gets a port that is free; the warm-up asks the one of the arguments.
std::optional<Finding> port_that_no_warm_up_reaches(const LaunchFacts& f) {
  if (f[Field::port] != Value(0) || f.on(Field::skip_server_warmup) || f[Field::node_rank] != Value(0))
    return std::nullopt;
  if (!is_served_by_uvicorn(f)) return std::nullopt;
  if (f.is(Field::ep_join_mode, "scale")) return std::nullopt;  // which the first server warms up
  return Finding{.message =
                     "--port 0 serves on a port of the system's choice, and the server's own warm-up asks port 0"};
}

// uvicorn's names; logging has others besides.
std::optional<Finding> level_unknown_to_uvicorn(const LaunchFacts& f) {
  constexpr std::array<std::string_view, 6> kLevels = {"critical", "error", "warning", "info", "debug", "trace"};
  if (!is_served_by_uvicorn(f)) return std::nullopt;
  const Field field = f.on(Field::log_level_http) ? Field::log_level_http : Field::log_level;
  const std::string level = ascii_lower(f.text(field));
  if (level.empty() || std::ranges::find(kLevels, level) != kLevels.end()) return std::nullopt;
  return Finding{.message = fmt::format("{} {}: uvicorn has no such level", option_of(field), f.text(field)),
                 .field = field,
                 .remedies = {to_give(option_of(field), {"warning", "info", "error"})}};
}

std::optional<Finding> publisher_unknown(const LaunchFacts& f) {
  const std::optional<Value> config = json_of(f[Field::kv_events_config]);
  const Value* name = config ? config->find("publisher") : nullptr;
  if (name == nullptr || !name->is_string() || name->as_string() == "zmq" || name->as_string() == "null") {
    return std::nullopt;
  }
  return Finding{.message = fmt::format("--kv-events-config: no publisher of cache events is called {}", name->repr())};
}

}  // namespace

std::span<const Rule> value_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "VA001",
       .refs = {},
       .summary = "a number no server can start with",
       .why =
           "SGLang's parser takes any number here and its resolution does not look at it; the server ends, hangs or "
           "turns every request away where it is first used: a division, a socket, an empty group of ranks, a queue.",
       .fix = "give a value in the range",
       .source = "sglang/srt/server_args.py (no check), sglang/srt/distributed/parallel_state.py, "
                 "sglang/srt/managers/scheduler.py, sglang/srt/layers/attention/triton_backend.py",
       .need = RuleNeed::kNothing,
       .check = out_of_range,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --stream-interval 0"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --max-running-requests -3"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --port 65535 --max-running-requests 1"}}}},
      {.id = "VA002",
       .refs = {},
       .field = Field::mem_fraction_static,
       .summary = "the static memory share is no share",
       .why =
           "The KV cache is sized from it: 1 or more asks for more memory than the device has, 0 or less leaves none "
           "for the weights.",
       .remedies = {give("--mem-fraction-static", "0.8")},
       .source = "sglang/srt/model_executor/model_runner.py",
       .need = RuleNeed::kNothing,
       .check = share_out_of_range,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --mem-fraction-static 7"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --mem-fraction-static 0.85"}}}},
      {.id = "VA003",
       .refs = {},
       .field = Field::device,
       .summary = "a device that torch does not know",
       .why = "SGLang keeps the word as it is; the scheduler's process ends when torch looks for the device.",
       .remedies = {give("--device", "xpu")},
       .source = "sglang/srt/server_args.py, sglang/srt/model_executor/model_runner.py",
       .need = RuleNeed::kNothing,
       .check = no_such_device,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device foo"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "VA004",
       .refs = {},
       .field = Field::attention_backend,
       .summary = "an attention backend made for one family of models, and this model is none of them",
       .why =
           "Resolution accepts the name; the backend's constructor asks the model's configuration for what only that "
           "family has, and ends. That of qsa asks nothing: the first forward pass ends with ValueError, for no layer "
           "hands it the tokens to attend to.",
       .remedies = {give("--attention-backend", "triton", "intel_xpu")},
       .source = "sglang/srt/layers/attention/: dsa_backend.py, qwen_sparse_attn_backend.py, attention_registry.py",
       .check = backend_of_another_model,
       .fires_on = {{{.model = "deepseek-v2-lite-chat", .args = "--device xpu --attention-backend nsa"}}},
       .quiet_on = {{{.model = "deepseek-v2-lite-chat", .args = "--device xpu --attention-backend triton"}}}},
      {.id = "VA005",
       .refs = {},
       .field = Field::speculative_draft_attention_backend,
       .summary = "an attention backend for the draft model that SGLang does not have",
       .why = "The option takes any word; the draft worker looks it up in its own table of backends and raises.",
       .remedies = {give("--speculative-draft-attention-backend", "triton")},
       .source = "sglang/srt/speculative/draft_utils.py",
       .need = RuleNeed::kNothing,
       .check = unknown_draft_backend,
       .fires_on = {{{.model = "llama-3.1-8b-instruct",
                      .args =
                          "--device xpu --attention-backend triton --speculative-draft-attention-backend nonsense "
                          "--speculative-algorithm EAGLE3 --speculative-draft-model-path {models}/llama-3.1-8b-eagle3 "
                          "--speculative-num-steps 4 --speculative-eagle-topk 1 --speculative-num-draft-tokens 5 "
                          "--dtype float16"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "VA006",
       .refs = {},
       .field = Field::ep_size,
       .summary = "more expert-parallel ranks than tensor-parallel ones",
       .why = "The ranks that share one expert are tp / ep, rounded down to 0; building their groups, the worker steps "
              "through a range by 0.",
       .remedies = {lower("--ep-size")},
       .source = "sglang/srt/distributed/parallel_state.py",
       .need = RuleNeed::kNothing,
       .check = experts_wider_than_ranks,
       .fires_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --ep-size 8"}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --ep-size 4"}}}},
      {.id = "VA007",
       .refs = {},
       .field = Field::device,
       .summary = "another vendor's device on Intel cards",
       .why = "Resolution goes on with it; the scheduler's process ends where torch is told to use the device, which a "
              "torch for Intel GPUs does not have.",
       .remedies = {give("--device", "xpu")},
       .source = "sglang/srt/model_executor/model_runner.py, later sglang/srt/distributed/bootstrap.py",
       .need = RuleNeed::kNothing,
       .check = device_of_another_vendor,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device cuda"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"},
                     {.model = "qwen3-0.6b", .args = "--device cpu"}}}},
      {.id = "VA008",
       .refs = {},
       .field = Field::load_format,
       .summary = "a load format for other devices",
       .why =
           "Resolution takes the format; when the weights are to be loaded, the loader of runai_streamer asserts that "
           "the device is cuda or cpu (AssertionError), and that of fastsafetensors copies to a CUDA device (an error, "
           "or ImportError where its package is not installed).",
       .remedies = {drop("--load-format")},
       .source = "sglang/srt/model_loader/loader.py: RunaiModelStreamerLoader.load_model; "
                 "sglang/srt/model_loader/weight_utils.py: fastsafetensors_weights_iterator",
       .need = RuleNeed::kNothing,
       .of_checkpoint = true,
       .check = streams_to_other_devices,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --load-format runai_streamer"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --load-format fastsafetensors"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device cpu --load-format runai_streamer"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --load-format safetensors"}}}},
      {.id = "VA009",
       .field = Field::dist_init_addr,
       .summary = "an address of node 0 that is no HOST:PORT",
       .why =
           "Resolution takes any text; the ranks parse it where they meet, and every worker ends with ValueError: no "
           "port of 0 to 65535, no host, or an IPv6 address without brackets.",
       .fix = "--dist-init-addr HOST:PORT, or [IPV6]:PORT, the same on every node",
       .source = "sglang/srt/utils/network.py: NetworkAddress.parse",
       .need = RuleNeed::kNothing,
       .check = address_unread,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2 --nnodes 2 --dist-init-addr 10.0.0.1"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --dist-init-addr ::1:5000"}}},
       .quiet_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --tp-size 2 --nnodes 2 --dist-init-addr 10.0.0.1:5000"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2"}}}},
      {.id = "VA010",
       .field = Field::model_loader_extra_config,
       .summary = "JSON that cannot be parsed",
       .why = "Resolution takes any text; the workers parse it while they start and end there: JSONDecodeError of the "
              "loader's configuration, ValidationError of that of the cache's events.",
       .remedies = {drop("--model-loader-extra-config"), drop("--kv-events-config")},
       .source = "sglang/srt/configs/load_config.py: LoadConfig; sglang/srt/disaggregation/kv_events.py: from_cli",
       .need = RuleNeed::kNothing,
       .check = json_unread,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --model-loader-extra-config {bad"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --kv-events-config {bad"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --model-loader-extra-config {}"},
                     {.model = "qwen3-0.6b", .args = R"(--device xpu --kv-events-config {"publisher":"zmq"})"}}}},
      {.id = "VA011",
       .field = Field::load_format,
       .summary = "a load format that is for other models",
       .why = "Resolution takes the format; its loader refuses the model, before the weights are loaded.",
       .remedies = {drop("--load-format")},
       .source = "sglang/srt/model_loader/loader.py: get_model_loader, LayeredModelLoader, QuantizedRLModelLoader, "
                 "GGUFModelLoader; sglang/srt/connector/__init__.py: create_remote_connector",
       .of_checkpoint = true,
       .check = format_of_others,
       .fires_on =
           {{{.model = "qwen3-0.6b", .args = "--device xpu --load-format layered"},
             {.model = "llama-3.1-8b-instruct", .args = "--device xpu --load-format flash_rl", .since = v0_5(22)}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --load-format flash_rl"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --load-format safetensors"}}}},
      {.id = "VA012",
       .summary = "a feature whose code is another device's or another model's",
       .why = "Resolution takes the option on every device and for every model; what stands behind it asks for its own "
              "where it is first used, and ends.",
       .remedies = {words("drop the option")},
       .source = "sglang/srt: model_executor/model_runner_components (startup_weight_load.py, load_model_utils.py), "
                 "weight_cache/daemon.py, elastic_ep/elastic_ep.py, lora/backend/ascend_backend.py, "
                 "utils/nvtx_pytorch_hooks.py, multiplex/pdmux_context.py, utils/offloader.py, "
                 "layers/quantization/unquant.py, mem_cache (kv_cache_dtype.py, kv_cache_configurator.py, "
                 "kv_cache_builder.py, "
                 "pool_host)",
       .device = "xpu",
       .check = feature_of_others,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --enable-layerwise-nvtx-marker"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --weight-cache-mode daemon", .since = v0_5(17)}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --weight-cache-mode client", .since = v0_5(17)},
                     {.model = "qwen3-0.6b", .args = "--device xpu --lora-backend triton"}}}},
      {.id = "VA013",
       .field = Field::model_loader_extra_config,
       .summary = "a setting that the weight loader does not take",
       .why = "Resolution takes any JSON; the loader of the format reads it while the worker starts: ValueError for a "
              "name it does not know, AttributeError for what is no object. The usual formats take "
              "enable_multithread_load and num_threads, dummy and gguf take none.",
       .remedies = {drop("--model-loader-extra-config")},
       .source = "sglang/srt/model_loader/loader.py: DefaultModelLoader, DummyModelLoader, GGUFModelLoader",
       .need = RuleNeed::kNothing,
       .check = loader_setting_unknown,
       .fires_on = {{{.model = "qwen3-0.6b", .args = R"(--device xpu --model-loader-extra-config {"threads":8})"},
                     {.model = "qwen3-0.6b",
                      .args = R"(--device xpu --load-format dummy --model-loader-extra-config {"num_threads":8})"}}},
       .quiet_on =
           {{{.model = "qwen3-0.6b",
              .args = R"(--device xpu --model-loader-extra-config {"enable_multithread_load":true,"num_threads":8})"},
             {.model = "qwen3-0.6b", .args = "--device xpu --load-format dummy --model-loader-extra-config {}"}}}},
      {.id = "VA014",
       .field = Field::preferred_sampling_params,
       .summary = "preferred sampling parameters that no request takes",
       .why = "They are put into every request as they are: TypeError in each of them, the server's own at its start "
              "among them, after which it ends.",
       .remedies = {drop("--preferred-sampling-params")},
       .source = "sglang/srt/managers/tokenizer_manager.py; sglang/srt/sampling/sampling_params.py: SamplingParams",
       .need = RuleNeed::kNothing,
       .check = sampling_name_unknown,
       .fires_on = {{{.model = "qwen3-0.6b", .args = R"(--device xpu --preferred-sampling-params {"max_tokens":64})"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --preferred-sampling-params [1]"}}},
       .quiet_on = {{{.model = "qwen3-0.6b",
                      .args = R"(--device xpu --preferred-sampling-params {"max_new_tokens":64,"temperature":0.5})"},
                     {.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "VA015",
       .field = Field::bucket_time_to_first_token,
       .summary = "borders of a histogram that do not ascend",
       .why = "ValueError of prometheus_client while the server starts. Without --enable-metrics nobody reads them.",
       .remedies = {drop("--bucket-time-to-first-token"), drop("--bucket-inter-token-latency"),
                    drop("--bucket-e2e-request-latency")},
       .source = "sglang/srt/observability/metrics_collector.py: TokenizerMetricsCollector",
       .need = RuleNeed::kNothing,
       .check = borders_not_ascending,
       .fires_on =
           {{{.model = "qwen3-0.6b", .args = "--device xpu --enable-metrics --bucket-time-to-first-token 1 0.5"},
             {.model = "qwen3-0.6b", .args = "--device xpu --enable-metrics --bucket-e2e-request-latency 1 5 2"}}},
       .quiet_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --enable-metrics --bucket-time-to-first-token 0.5 1"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --bucket-time-to-first-token 1 0.5"}}}},
      {.id = "VA016",
       .field = Field::log_level_http,
       .summary = "a level that the HTTP server does not have",
       .why =
           "KeyError of uvicorn when the server begins to listen, after the model has loaded. Its levels are critical, "
           "error, warning, info, debug and trace; logging has more, which resolution takes, and looks at none of "
           "--log-level-http.",
       .remedies = {drop("--log-level-http"), drop("--log-level")},
       .source = "sglang/srt/entrypoints/http_server.py: uvicorn's log_level; uvicorn/config.py: LOG_LEVELS",
       .need = RuleNeed::kNothing,
       .check = level_unknown_to_uvicorn,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --log-level warn"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --log-level-http quiet"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --log-level warn --log-level-http warning"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --log-level-http info"}}}},
      {.id = "VA018",
       .field = Field::port,
       .summary = "a port that the server's own warm-up cannot reach",
       .why = "The warm-up asks the port of the arguments for two minutes, gets no answer and ends the server with all "
              "its processes, after the model has loaded.",
       .remedies = {drop("--port"), give("--skip-server-warmup")},
       .source = "sglang/srt/entrypoints/http_server.py: _execute_server_warmup",
       .need = RuleNeed::kNothing,
       .check = port_that_no_warm_up_reaches,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --port 0"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --port 0 --skip-server-warmup"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --port 1"}}}},
      {.id = "VA017",
       .field = Field::kv_events_config,
       .summary = "a publisher of cache events that SGLang does not have",
       .why = "ValueError in the scheduler when it makes the publisher: there are zmq and null.",
       .remedies = {drop("--kv-events-config")},
       .source = "sglang/srt/disaggregation/kv_events.py: EventPublisherFactory",
       .need = RuleNeed::kNothing,
       .check = publisher_unknown,
       .fires_on = {{{.model = "qwen3-0.6b", .args = R"(--device xpu --kv-events-config {"publisher":"kafka"})"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = R"(--device xpu --kv-events-config {"publisher":"null"})"},
                     {.model = "qwen3-0.6b", .args = R"(--device xpu --kv-events-config {"topic":"kv"})"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
