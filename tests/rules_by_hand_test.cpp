// Rules that no supported release reaches from the command line alone, or that need a model of a rare shape: a launch
// resolved by the nearest release, relabelled and edited by hand. Every rule is exercised here or by its own examples.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "preflight/rule.h"
#include "tests/support/example_launch.h"
#include "tests/support/release_ranges.h"

namespace preflight {
namespace {

using Edit = std::function<void(Launch&, ModelFacts&)>;

struct Row {
  const char* rule;
  int fires;   // releases 0.5.N
  int silent;  // 0: only the release that fires is asked
  const char* model;
  const char* args;
  Edit edit;
  const char* kernel = "";  // date of the kernel package
};

void set(Launch& launch, Field field, Value value) { launch.resolved.set(field, std::move(value)); }

Value full_graph() { return Value::dict({{"decode", Value::dict({{"backend", "full"}})}}); }

void nothing(Launch& /*l*/, ModelFacts& /*m*/) {}
void encoder_decoder(Launch& /*l*/, ModelFacts& m) { m.is_encoder_decoder = true; }
void eagle_tree(Launch& l, ModelFacts& /*m*/) {
  set(l, Field::speculative_algorithm, "EAGLE");
  set(l, Field::speculative_eagle_topk, 4);
  set(l, Field::page_size, 128);
}
void quantisation(ModelFacts& m, const char* method, Value::Dict config) {
  m.quantization = method;
  m.hf_quant_config = Value::dict(std::move(config));
  m.quant_config = m.hf_quant_config;
}
Edit stored(const char* method, Value::Dict config = {{"quant_method", "named"}}) {
  return [=](Launch& /*l*/, ModelFacts& m) { quantisation(m, method, config); };
}

Edit method(const char* name) {
  return [=](Launch& /*l*/, ModelFacts& m) { m.quantization = name; };
}

// Described in hf_quant_config.json alone.
Edit in_file(const char* name, Value::Dict config) {
  return [=](Launch& /*l*/, ModelFacts& m) {
    m.quantization = name;
    m.quant_config = Value::dict({{"quantization", Value::dict(config)}});
  };
}
Value::Dict layers_in(const char* algorithm) {
  return {{"quantized_layers", Value::dict({{"model.layers.0.mlp", Value::dict({{"quant_algo", algorithm}})}})}};
}

Edit auto_round(Value::Dict config, std::int64_t bits = 4) {
  config.emplace_back("bits", bits);
  return stored("auto-round", std::move(config));
}
Edit quark(const char* scheme) {
  const Value weight = Value::dict({{"dtype", "fp8_e4m3"}, {"qscheme", scheme}});
  return stored("quark", {{"global_quant_config", Value::dict({{"weight", weight}})}});
}
// Packed 4-bit weights of compressed-tensors, with these settings; `ignore` names what stays as it is.
Edit int4_groups(Value::Dict settings, const char* ignore = "lm_head") {
  for (auto& [key, value] : Value::Dict{{"num_bits", 4}, {"type", "int"}, {"symmetric", true}})
    settings.emplace_back(key, value);
  const Value group = Value::dict({{"weights", Value::dict(std::move(settings))}});
  return stored("compressed-tensors",
                {{"config_groups", Value::dict({{"group_0", group}})}, {"ignore", Value::list({ignore})}});
}

// Of compressed-tensors in FP8 with a scale a channel and a token.
Edit fp8_groups(const char* ignore = "lm_head") {
  const Value form = Value::dict({{"num_bits", 8}, {"type", "float"}});
  const Value group = Value::dict({{"weights", form}, {"input_activations", form}});
  return stored("compressed-tensors",
                {{"config_groups", Value::dict({{"group_0", group}})}, {"ignore", Value::list({ignore})}});
}

constexpr const char* kOnFlashInfer = "--device xpu --disable-radix-cache --moe-runner-backend flashinfer_cutlass";
constexpr const char* kOnDeepGemm = "--device xpu --disable-radix-cache --moe-runner-backend deep_gemm";
constexpr const char* kFp8 = "--device xpu --tp-size 4 --quantization fp8";
constexpr const char* kXpu = "--device xpu --attention-backend intel_xpu --disable-radix-cache";
constexpr const char* kOnTriton = "--device xpu --disable-radix-cache --moe-runner-backend triton";
constexpr const char* kOnBytes = "--device xpu --disable-radix-cache --load-format bitsandbytes";
constexpr const char* kOnBytesTwice = "--device xpu --disable-radix-cache --load-format bitsandbytes --tp-size 2";
constexpr const char* kForeignTower = "--device xpu --mm-attention-backend fa3";
constexpr const char* kPlain = "--device xpu --disable-radix-cache";
constexpr const char* kRecorded = "--device xpu --disable-radix-cache --expert-distribution-recorder-mode stat";

Edit by_transformers(const char* name, const char* type) {
  return [=](Launch&, ModelFacts& m) {
    m.architectures = {name}, m.model_type = type;
    m.hf_text_config = m.hf_text_config.with("model_type", Value(type));
  };
}

Edit of_text_type(const char* type) {
  return [=](Launch&, ModelFacts& m) { m.hf_text_config = m.hf_text_config.with("model_type", Value(type)); };
}

constexpr const char* kTransformers = "--device xpu --model-impl transformers";

const Row kRows[] = {
    {"MC011", 23, 0, "qwen3-0.6b", kPlain, by_transformers("AlbertForMaskedLM", "albert")},
    {"MC046", 23, 0, "qwen3-0.6b", kPlain, by_transformers("CsmForConditionalGeneration", "csm")},
    {"QN034", 21, 20, "qwen3-0.6b", kPlain,
     [](Launch&, ModelFacts& m) { m.architectures = {"DiffusionGemmaForBlockDiffusion"}, m.quantization = "fp8"; }},
    {"MC012", 23, 0, "qwen3-0.6b", kXpu, by_transformers("BertForMaskedLM", "bert")},
    {"MC040", 19, 18, "qwen3-8b", kPlain,
     [](Launch&, ModelFacts& m) {
       m.architectures = {"LongcatFlashForCausalLM"};
       m.hf_config = m.hf_config.with("rope_parameters", Value());
     }},
    {"MC043", 11, 0, "qwen3-8b", kTransformers, by_transformers("GraniteMoeHybridForCausalLM", "granitemoehybrid")},
    {"MC041", 23, 22, "qwen3-8b", kPlain,
     [](Launch&, ModelFacts& m) {
       m.architectures = {"LlavaForConditionalGeneration"};
       m.hf_config = m.hf_config.with("vision_config", Value::dict({{"model_type", "clip_vision_model"}}));
     }},
    {"BK003", 23, 0, "gemma-3-1b-it", kXpu, encoder_decoder},
    {"BK004", 13, 0, "qwen3-0.6b", kPlain, encoder_decoder},
    {"BK021", 23, 0, "qwen3-0.6b", "--device xpu --attention-backend flex_attention", encoder_decoder},
    {"BK005", 19, 20, "qwen3-0.6b", kXpu, encoder_decoder},
    {"BK006", 20, 19, "qwen3-0.6b", kXpu,
     [](Launch& l, ModelFacts& m) {
       m.is_encoder_decoder = true;
       set(l, Field::cuda_graph_config, full_graph());
     }},
    {"ML002", 20, 21, "minicpm3-4b", "--device xpu --decode-attention-backend intel_xpu", nothing},
    {"ML004", 20, 19, "deepseek-v2-lite-chat", kXpu, [](Launch&, ModelFacts& m) { m.attn_logit_softcapping = 30; }},
    {"ML005", 21, 22, "deepseek-v2-lite-chat", kXpu, nothing},
    {"PL022", 23, 0, "qwen3-8b", "--device cpu", [](Launch& l, ModelFacts&) { l.device.host_memory_mib = 1024; }},
    {"PL014", 23, 0, "qwen3-8b", "--device xpu --cpu-offload-gb 4",
     [](Launch& l, ModelFacts&) { l.device.host_memory_mib = 1024; }},
    {"SA012", 23, 20, "qwen3-8b",
     "--device xpu --enable-hierarchical-cache --hicache-size 64 --mem-fraction-static 0.85",
     [](Launch& l, ModelFacts&) { l.device.host_memory_mib = 1024; }},
    {"AT004", 23, 0, "qwen3-0.6b", kXpu, [](Launch&, ModelFacts& m) { m.has_attention_sinks = true; }},
    {"AT006", 19, 20, "qwen3-0.6b", kXpu, [](Launch&, ModelFacts& m) { m.v_head_dim = 64; }},
    {"LC001", 12, 13, "llama-4-scout-17b-16e", "--device xpu --tp-size 8", nothing},
    {"LC002", 12, 13, "llama-4-scout-17b-16e", "--device xpu --tp-size 8",
     [](Launch&, ModelFacts& m) { m.is_hybrid_swa = true; }},
    {"LC004", 20, 0, "llama-4-scout-17b-16e", "--device xpu --tp-size 8",
     [](Launch& l, ModelFacts&) { set(l, Field::page_size, 96); }},
    {"LC005", 20, 19, "gemma-3-1b-it", kXpu, eagle_tree},
    {"LC006", 20, 19, "qwen3-0.6b", kXpu,
     [](Launch& l, ModelFacts& m) {
       eagle_tree(l, m);
       m.has_attention_sinks = true;
     }},
    {"SP001", 19, 20, "qwen3-0.6b", kXpu, eagle_tree},
    {"SP003", 14, 15, "qwen3-0.6b", kPlain, eagle_tree},
    {"SP004", 15, 14, "qwen3-0.6b", kPlain, eagle_tree},
    {"SP006", 18, 19, "qwen3.5-9b", kPlain, eagle_tree},
    {"SP010", 19, 18, "qwen3.5-9b", kPlain, eagle_tree},
    {"SP010", 20, 21, "qwen3.5-9b", kPlain, eagle_tree},
    {"SP007", 15, 20, "qwen3-0.6b", kXpu,
     [](Launch& l, ModelFacts& m) {
       eagle_tree(l, m);
       set(l, Field::cuda_graph_config, full_graph());
     }},
    {"GR003", 15, 14, "qwen3-0.6b", kPlain,
     [](Launch& l, ModelFacts&) {
       set(l, Field::cuda_graph_config, full_graph());
       set(l, Field::enable_two_batch_overlap, true);
     }},
    {"GR001", 15, 14, "qwen3-30b-a3b", "--device xpu --tp-size 4",
     [](Launch& l, ModelFacts&) {
       set(l, Field::cuda_graph_config, full_graph());
       set(l, Field::moe_a2a_backend, "deepep");
     }},
    {"GR004", 14, 15, "qwen3-0.6b", "--device xpu --cuda-graph-backend-decode full", nothing},
    {"DC001", 17, 22, "qwen3-0.6b", "--device xpu --tp-size 2",
     [](Launch& l, ModelFacts&) { set(l, Field::dcp_size, 2); }},
    {"DC005", 22, 21, "qwen3-0.6b", kXpu,
     [](Launch& l, ModelFacts& m) {
       set(l, Field::dcp_size, 2);
       m.has_attention_sinks = true;
     }},
    // Weights that another instance sends are quantised by nobody since 0.5.13.
    {"QN017", 12, 13, "qwen3-8b", kPlain,
     [](Launch& l, ModelFacts& m) {
       set(l, Field::load_format, "remote_instance");
       m.quantization = "modelopt_fp8";
     }},
    {"QN020", 11, 0, "qwen3-8b", kFp8, method("mxfp8")},
    {"QN020", 11, 0, "qwen3-8b", kFp8, method("w8a8_int8")},
    {"QN020", 11, 0, "qwen3-30b-a3b", kFp8, method("quark_int4fp8_moe")},
    {"QN020", 13, 12, "qwen3-8b", kFp8, method("quark_mxfp4")},
    {"QN020", 15, 14, "qwen3-8b", kFp8, method("mxfp_w4a8")},
    {"QN020", 15, 14, "qwen3-8b", kFp8, method("auto-round-int8")},
    {"QN006", 19, 18, "qwen3-8b", kPlain,
     [](Launch&, ModelFacts& m) {
       quantisation(m, "gptq", {{"bits", 4}, {"group_size", 96}});
     }},
    {"QN006", 19, 18, "qwen3-8b", kPlain,
     [](Launch&, ModelFacts& m) {
       quantisation(m, "gptq", {{"bits", 8}, {"group_size", 128}});
     }},
    {"QN015", 19, 18, "qwen3-8b", kPlain,
     [](Launch&, ModelFacts& m) {
       quantisation(m, "awq", {{"bits", 4}, {"group_size", 16}});
     }},
    {"QN015", 11, 0, "qwen3-8b", kPlain,
     [](Launch&, ModelFacts& m) {
       quantisation(m, "awq", {{"w_bit", 8}, {"q_group_size", 128}});
     }},
    {"QN014", 11, 0, "qwen3-8b-awq", "--device xpu --tp-size 8",
     [](Launch&, ModelFacts& m) { m.hf_text_config = m.hf_text_config.with("intermediate_size", 9728); }},
    {"QN014", 21, 0, "qwen3-8b", "--device xpu --tp-size 2",
     [](Launch&, ModelFacts& m) {
       const Value weights = Value::dict({{"num_bits", 4}, {"type", "int"}, {"group_size", 128}});
       m.hf_text_config = m.hf_text_config.with("intermediate_size", 1408);
       quantisation(m, "compressed-tensors",
                    {{"config_groups", Value::dict({{"group_0", Value::dict({{"weights", weights}})}})}});
     }},
    {"QN016", 11, 0, "qwen3-8b", kPlain,
     [](Launch&, ModelFacts& m) {
       quantisation(m, "modelopt_fp4", {{"quant_algo", "NVFP4"}});
     }},
    {"QN016", 11, 0, "qwen3-8b", kPlain, in_file("modelopt_fp4", {{"quant_algo", "NVFP4"}})},
    {"QN016", 11, 0, "qwen3-8b", kPlain, in_file("modelopt_mixed", layers_in("W4A16_NVFP4"))},
    {"QN018", 11, 0, "qwen3-8b", kPlain,
     [](Launch&, ModelFacts& m) { m.unread_algorithm = "W4A8_AWQ"; }},
    {"PL010", 13, 0, "qwen3-30b-a3b", "--device xpu --tp-size 4",
     [](Launch&, ModelFacts& m) { m.hf_text_config = m.hf_text_config.with("moe_intermediate_size", 770); }},
    {"QN008", 20, 18, "qwen3-8b", kPlain,
     [](Launch&, ModelFacts& m) {
       const Value weights = Value::dict({{"num_bits", 4}, {"type", "int"}, {"symmetric", true}});
       quantisation(m, "compressed-tensors",
                    {{"config_groups", Value::dict({{"group_0", Value::dict({{"weights", weights}})}})}});
     }},
    {"QN021", 11, 0, "qwen3-8b", kPlain, auto_round({})},
    {"QN022", 11, 0, "qwen3-8b", kPlain, quark("per_tensor")},
    {"QN023", 21, 20, "qwen3-30b-a3b", kPlain, int4_groups({{"group_size", 128}})},
    {"QN031", 19, 18, "qwen3-30b-a3b", kOnDeepGemm, fp8_groups()},
    {"MO021", 19, 18, "qwen3-30b-a3b", kOnFlashInfer, method("modelopt_fp8")},
    {"QN027", 11, 0, "qwen3-8b", kPlain,
     [](Launch&, ModelFacts& m) {
       m.described_beside = DescribedBeside{"quantize_config.json", "gptq"};
     }},
    {"BK001", 23, 0, "qwen3-0.6b", "--device cpu --attention-backend intel_xpu", nothing},
    {"BK001", 11, 0, "qwen3-0.6b", "--device cpu --attention-backend triton", nothing},
    {"QN011", 14, 0, "qwen3-8b", "--device xpu --quantization petit_nvfp4", nothing},
    {"QN011", 23, 0, "qwen3-8b", "--device xpu --quantization quark", nothing},
    {"BK002", 23, 0, "llama-3.1-8b-instruct",
     "--device xpu --speculative-draft-attention-backend intel_xpu --speculative-algorithm EAGLE3 "
     "--speculative-draft-model-path {models}/llama-3.1-8b-eagle3 --dtype float16",
     [](Launch& l, ModelFacts&) { l.device = testing::device_of("max1550"); }},
    {"QN009", 21, 20, "qwen3-8b", kPlain,
     [](Launch&, ModelFacts& m) {
       quantisation(m, "fp8", {{"quant_method", "fp8"}, {"weight_block_size", Value::list({64, 64})}});
     }},
    {"HY003", 18, 20, "qwen3.5-9b", kPlain,
     [](Launch& l, ModelFacts&) {
       set(l, Field::disable_radix_cache, false);
       set(l, Field::mamba_radix_cache_strategy, "extra_buffer");
     }},
    {"HY004", 12, 13, "qwen3.5-9b", kPlain, nothing},
    {"HY005", 12, 13, "nvidia-nemotron-3-nano-30b-a3b-bf16", kPlain, nothing},
    {"VI003", 23, 12, "qwen3-vl-8b-instruct", "--device xpu",
     [](Launch&, ModelFacts& m) {
       m.hf_config = m.hf_config.with("vision_config", Value::dict({{"hidden_size", 1408}, {"num_heads", 16}}));
     }},
    {"SA003", 23, 0, "qwen3-0.6b", "--device xpu", nothing},
    {"HY015", 23, 0, "qwen3-8b", kPlain,
     [](Launch&, ModelFacts& m) {
       m.is_hybrid_swa = true;
       m.swa_layer_ids.clear();
     }},
    {"MC037", 23, 0, "qwen2.5-1.5b", kPlain,
     [](Launch&, ModelFacts& m) {
       m.architectures = {"Exaone4ForCausalLM"};
       m.hf_config = m.hf_config.with("transformers_version", "5.5.0").with("sliding_window_pattern", 4);
     }},
    {"MC036", 23, 0, "qwen2.5-1.5b", kPlain,
     [](Launch&, ModelFacts& m) {
       m.architectures = {"LlamaForClassification"};
       m.hf_config = m.hf_config.with("transformers_version", "5.5.0");
     }},
    {"MC035", 22, 0, "qwen3-0.6b", kPlain,
     [](Launch&, ModelFacts& m) {
       m.architectures = {"MiMoV2FlashForCausalLM"};
       m.hf_config = m.hf_config.with("rope_parameters", Value::dict({{"full_attention", Value::dict({})}}));
     }},
    {"MC015", 16, 15, "qwen3-8b", kPlain,
     [](Launch&, ModelFacts& m) { m.architectures = {"InklingForConditionalGeneration"}; }},
    {"SA004", 19, 20, "qwen3-0.6b", "--device xpu",
     [](Launch& l, ModelFacts&) { set(l, Field::enable_lora_overlap_loading, true); }},
    {"SA005", 22, 23, "qwen3-0.6b", "--device xpu",
     [](Launch& l, ModelFacts&) { set(l, Field::enable_hierarchical_cache, true); }},
    {"KR001", 11, 12, "deepseek-v2-lite-chat", "--device xpu --decode-attention-backend intel_xpu", nothing,
     "2026-05-04"},
    {"KR002", 12, 11, "deepseek-v2-lite-chat", "--device xpu --decode-attention-backend intel_xpu", nothing,
     "2026-05-03"},
    {"KR003", 15, 14, "qwen3-0.6b", kXpu, nothing, "2026-06-28"},
    {"KR004", 20, 19, "qwen3-0.6b", kXpu, nothing, "2026-08-21"},
    {"KR005", 16, 15, "qwen3-0.6b", "--device xpu", nothing, "2026-07-10"},
    {"KR006", 23, 22, "gemma-3-27b-it", "--device xpu --attention-backend intel_xpu --enable-multimodal --tp-size 4",
     nothing, "2026-08-21"},
    {"KR007", 17, 16, "qwen3.5-9b", kPlain, nothing, "2026-05-01"},
    {"AR001", 23, 0, "qwen3-0.6b", "--device xpu",
     [](Launch& l, ModelFacts&) {
       l.args.given.push_back({.field = Field::config, .option = "--config", .spelled = "--config=file.yaml"});
     }},
};

// What a check says of the launch.
std::vector<Diagnostic> diagnostics(const Row& row, Release release) {
  // The nearest release that takes the words: graph options and MLA prefill came after 0.5.13.
  Launch launch;
  for (const Release base : {v0_5(release.patch >= 20 ? 23 : 13), v0_5(release.patch >= 20 ? 13 : 23)}) {
    launch = testing::launch_of(base, {.model = row.model, .args = row.args});
    if (launch.accepted()) break;
  }
  EXPECT_TRUE(launch.accepted()) << row.rule << ": " << testing::outcome_text(launch);
  if (!launch.accepted() || launch.model == nullptr) return {};
  auto model = std::make_shared<ModelFacts>(*launch.model);
  row.edit(launch, *model);
  launch.model = model;
  launch.args.release = release;
  // The changes are left out: they name options of the release, which may be one without tables.
  const CheckOptions options{
      .kernel_date = parse_date(row.kernel), .environment_notes = true, .changes = false, .log_lines = false};
  return check(launch, options).diagnostics;
}

std::vector<Diagnostic> diagnostics(const Row& row, int patch) { return diagnostics(row, testing::newest_of(patch)); }

// Of every release of the number, which are to say the same: a bound one post-release off is seen.
bool fires(const Row& row, int patch) {
  std::set<bool> answers;
  for (const Release release : testing::releases_of(patch)) {
    const auto told = diagnostics(row, release);
    answers.insert(std::any_of(told.begin(), told.end(), [&](const Diagnostic& d) { return d.rule == row.rule; }));
  }
  EXPECT_EQ(answers.size(), 1U) << row.rule << " parts 0.5." << patch << " from its post-release";
  return *answers.begin();
}

bool fired_by_hand(std::string_view id) {
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const Row& row) { return id == row.rule; });
}

TEST(RulesByHand, HoldInTheirReleasesAndNotBeside) {
  for (const Row& row : kRows) {
    EXPECT_TRUE(fires(row, row.fires)) << row.rule << " is silent in 0.5." << row.fires;
    EXPECT_FALSE(row.silent > 0 && fires(row, row.silent)) << row.rule << " fires in 0.5." << row.silent;
  }
}

#define BOOTSTRAP(mode, port)                                                       \
  "--device xpu --disaggregation-transfer-backend nixl --disaggregation-mode " mode \
  " --disaggregation-bootstrap-port " port

// Either side of a bound: what a rule says where it begins, and that it says nothing beside.
struct Bound {
  const char* rule;
  int release;
  bool told;
  const char* model;
  const char* args;
  Edit edit;
  const char* kernel = "";
};

Edit field(Field f, Value value) {
  return [=](Launch& l, ModelFacts&) { set(l, f, value); };
}
Edit all(std::vector<Edit> edits) {
  return [=](Launch& l, ModelFacts& m) {
    for (const Edit& edit : edits) edit(l, m);
  };
}
Edit media(const char* way) { return field(Field::encoder_transfer_backend, way); }
Edit full_decode_graph() { return field(Field::cuda_graph_config, full_graph()); }
Edit heads(std::int64_t query, std::int64_t key) {
  return [=](Launch&, ModelFacts& m) {
    m.num_attention_heads = query;
    m.num_key_value_heads = key;
    m.hf_text_config = m.hf_text_config.with("num_attention_heads", query).with("num_key_value_heads", key);
    m.hf_config = m.hf_text_config;
  };
}
Edit head_sizes(std::int64_t key, std::int64_t value) {
  return [=](Launch&, ModelFacts& m) { m.head_dim = key, m.v_head_dim = value; };
}
Edit soft_cap(double cap) {
  return [=](Launch&, ModelFacts& m) { m.attn_logit_softcapping = cap; };
}
Edit text(const char* key, Value value) {
  return [=](Launch&, ModelFacts& m) {
    m.hf_text_config = m.hf_text_config.with(key, value);
    m.hf_config = m.hf_config.with(key, value);
  };
}
Edit variable(const char* name, const char* value) {
  return [=](Launch& l, ModelFacts&) { l.env[name] = value; };
}
Edit card(const char* name) {
  return [=](Launch& l, ModelFacts&) { l.device.name = name; };
}
Edit hybrid_cache(bool on, const char* strategy, std::int64_t page, std::int64_t chunk) {
  return all({field(Field::disable_radix_cache, !on), field(Field::mamba_radix_cache_strategy, strategy),
              field(Field::page_size, page), field(Field::chunked_prefill_size, chunk)});
}
Edit verified_by(const char* mode, const char* prefill, const char* decode) {
  return all({field(Field::speculative_algorithm, "NGRAM"), field(Field::speculative_attention_mode, mode),
              field(Field::prefill_attention_backend, prefill), field(Field::decode_attention_backend, decode)});
}
Edit tree(std::int64_t topk, std::int64_t page) {
  return all({field(Field::speculative_algorithm, "EAGLE"), field(Field::speculative_eagle_topk, topk),
              field(Field::page_size, page)});
}
Edit local_chunk(std::int64_t chunk, std::int64_t page) {
  return all({[=](Launch&, ModelFacts& m) { m.attention_chunk_size = chunk; }, field(Field::page_size, page)});
}

Edit packed_weights(std::int64_t bits) {
  return [=](Launch&, ModelFacts& m) {
    const Value weights = Value::dict({{"num_bits", bits}, {"type", "int"}, {"symmetric", true}, {"group_size", 128}});
    quantisation(m, "compressed-tensors",
                 {{"config_groups", Value::dict({{"group_0", Value::dict({{"weights", weights}})}})}});
  };
}
Value part_of(const char* key, std::int64_t value) { return Value::dict({{".*", Value::dict({{key, value}})}}); }
Edit gptq_with(const char* layers, const Value& part) {
  return stored(
      "gptq", {{"bits", 4}, {"group_size", 128}, {"dynamic", Value::dict({{layers, part.as_dict().front().second}})}});
}
Edit gptq_in_order_of_activation() {
  return [](Launch&, ModelFacts& m) {
    quantisation(m, "gptq", {{"bits", 4}, {"group_size", 128}, {"desc_act", true}});
  };
}
Edit fp8_blocks(std::int64_t rows, std::int64_t columns) {
  return [=](Launch&, ModelFacts& m) {
    quantisation(m, "fp8", {{"quant_method", "fp8"}, {"weight_block_size", Value::list({rows, columns})}});
  };
}
Edit voxtral(const char* key, std::int64_t heads) {
  return [=](Launch&, ModelFacts& m) {
    m.architectures = {"VoxtralForConditionalGeneration"};
    m.hf_config = m.hf_config.with("audio_config", Value::dict({{key, heads}}));
  };
}

void with_model_package(Launch& l, ModelFacts&) { l.env["SGLANG_EXTERNAL_MODEL_PACKAGE"] = "mine"; }
Edit head_dim(std::int64_t width) {
  return [=](Launch&, ModelFacts& m) { m.head_dim = width; };
}
Edit of_class(const char* name) {
  return [=](Launch&, ModelFacts& m) { m.architectures = {name}; };
}
Edit with_window_layers(std::vector<std::int64_t> layers) {
  return [=](Launch&, ModelFacts& m) {
    m.is_hybrid_swa = true;
    m.swa_layer_ids = layers;
  };
}
// A configuration that was saved by transformers, or a few keys written down, with what its class asks for or not.
Edit asked(const char* name, Value::Dict keys, const char* saved_by = "5.5.0") {
  return [=](Launch&, ModelFacts& m) {
    m.architectures = {name};
    if (*saved_by != 0) m.hf_config = m.hf_config.with("transformers_version", saved_by);
    for (const auto& [key, value] : keys) m.hf_config = m.hf_config.with(key, value);
  };
}
// A class whose configuration fills in nothing.
Edit only_saying(const char* name, Value::Dict keys) {
  return [=](Launch&, ModelFacts& m) {
    m.architectures = {name};
    m.hf_config = m.hf_text_config = Value::dict(keys);
  };
}
Edit with_tower(const char* name) {
  return [=](Launch&, ModelFacts& m) {
    const Value tower = Value::dict({{"architectures", Value::list({name})}});
    m.hf_config = m.hf_config.with("vision_config", tower);
  };
}
Edit with_heads_of(std::int64_t width, std::int64_t heads) {
  return [=](Launch&, ModelFacts& m) {
    m.hf_config = m.hf_config.with("vision_config", Value::dict({{"hidden_size", width}, {"num_heads", heads}}));
  };
}
Edit hearing(const char* name, bool sees, bool hears) {
  return [=](Launch&, ModelFacts& m) {
    const Value part = Value::dict({{"depth", 2}});
    m.architectures = {name};
    if (sees) m.hf_config = m.hf_config.with("vision_config", part);
    if (hears) m.hf_config = m.hf_config.with("audio_config", part);
  };
}
Edit at_path(const char* path) {
  return [=](Launch&, ModelFacts& m) { m.path = path; };
}

// Heads of no usual width, with what the configuration says of how they are turned.
Edit turned(const char* part, const char* key, Value value) {
  return all({head_dim(80), text(part, Value::dict({{key, std::move(value)}}))});
}

// Prompts shared out over so many ranks, by the option of 0.5.14 on and by those before it.
Edit shared_over(std::int64_t ranks) {
  return all({field(Field::enable_prefill_cp, true), field(Field::attn_cp_size, ranks)});
}
Edit legacy_over(std::int64_t ranks) {
  return all({field(Field::enable_prefill_context_parallel, true), field(Field::attn_cp_size, ranks)});
}
Edit two_batches(std::int64_t groups, const char* name) {
  return all({of_class(name), field(Field::enable_two_batch_overlap, true), field(Field::enable_dp_attention, true),
              field(Field::dp_size, groups), field(Field::attn_dp_size, groups)});
}
Edit adapters_of(const char* backend, const char* runner, const std::vector<const char*>& modules) {
  Value::List names;
  for (const char* name : modules) names.emplace_back(name);
  return all({field(Field::enable_lora, true), field(Field::lora_backend, backend),
              field(Field::moe_runner_backend, runner), field(Field::lora_target_modules, Value::list(names))});
}
Edit stored_in(const char* backend) {
  return all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_storage_backend, backend)});
}
Edit dual_chunks_of(const char* name) {
  return [=](Launch&, ModelFacts& m) {
    m.architectures = {name};
    m.hf_config = m.hf_config.with("dual_chunk_attention_config", Value::dict({{"chunk_size", 8192}}));
  };
}

const Value kByKind = Value::dict({{"full_attention", Value::dict({{"rope_type", "default"}})},
                                   {"sliding_attention", Value::dict({{"rope_type", "default"}})}});
Edit rotary_of(const char* name, const Value& parameters) {
  return [=](Launch&, ModelFacts& m) {
    m.architectures = {name};
    m.hf_config = m.hf_config.with("rope_parameters", parameters);
  };
}

Edit awq_packed_for(const char* key, const char* backend) {
  return auto_round({{"packing_format", "auto_round:auto_awq"}, {key, backend}});
}
Edit layers_and_partition(std::int64_t layers, const char* partition) {
  return [=](Launch& l, ModelFacts& m) {
    m.num_hidden_layers = layers;
    l.env["SGLANG_PP_LAYER_PARTITION"] = partition;
  };
}

constexpr const char* kTwoRanks = "--device xpu --disable-radix-cache --tp-size 2";
constexpr const char* kTwoStages = "--device xpu --pp-size 2";
constexpr const char* kMoe = "--device xpu --tp-size 4";
constexpr const char* kB70 = "Intel(R) Arc(TM) Pro B70 Graphics";
constexpr const char* kMax1550 = "Intel(R) Data Center GPU Max 1550";

const Bound kBounds[] = {
    {"VA001", 23, true, "qwen3-0.6b", BOOTSTRAP("prefill", "65536"), nothing},
    {"VA001", 23, false, "qwen3-0.6b", BOOTSTRAP("prefill", "65535"), nothing},
    {"VA001", 23, false, "qwen3-0.6b", BOOTSTRAP("decode", "65536"), nothing},
    {"MO010", 23, true, "gpt-oss-20b", "--device xpu", field(Field::moe_runner_backend, "intel_xpu")},
    {"QN030", 18, true, "qwen3-8b", kPlain, [](Launch&, ModelFacts& m) { m.quantization = "modelopt_fp8"; }},
    {"QN030", 19, false, "qwen3-8b", kPlain, [](Launch&, ModelFacts& m) { m.quantization = "modelopt_fp8"; }},
    // Four heads of keys and values, which eight ranks cannot share where the class repeats none.
    {"PL004", 23, true, "qwen3-30b-a3b", "--device xpu --tp-size 8", of_class("ZayaForCausalLM")},
    {"PL004", 23, true, "qwen3-30b-a3b", "--device xpu --tp-size 8", of_class("Phi3SmallForCausalLM")},
    {"PL004", 23, true, "qwen3-30b-a3b", "--device xpu --tp-size 8", of_class("NanbeigeForCausalLM")},
    {"PL004", 23, true, "qwen3-30b-a3b", "--device xpu --tp-size 8", of_class("NanbeigeForSequenceClassification")},
    {"PL004", 23, false, "qwen3-30b-a3b", "--device xpu --tp-size 2", of_class("ZayaForCausalLM")},
    {"PL004", 23, true, "qwen3-30b-a3b", "--device xpu --tp-size 8 --model-impl transformers", nothing},
    {"PL004", 23, false, "qwen3-30b-a3b", "--device xpu --tp-size 4 --model-impl transformers", nothing},
    {"PL004", 23, false, "qwen3-30b-a3b", "--device xpu --tp-size 8", nothing},
    {"MO020", 23, true, "qwen3-30b-a3b", kMoe, field(Field::ep_size, 2)},
    {"MO020", 19, true, "qwen3-30b-a3b", kMoe, field(Field::ep_size, 2)},
    {"MO020", 18, false, "qwen3-30b-a3b", kMoe, field(Field::ep_size, 2)},
    {"MO020", 18, true, "qwen3-30b-a3b", kMoe, all({field(Field::ep_size, 2), variable("SGLANG_USE_SGL_XPU", "1")})},
    {"MO020", 13, true, "qwen3-30b-a3b-fp8", kMoe,
     all({field(Field::ep_size, 2), variable("SGLANG_USE_SGL_XPU", "1")})},
    {"MO020", 12, false, "qwen3-30b-a3b-fp8", kMoe,
     all({field(Field::ep_size, 2), variable("SGLANG_USE_SGL_XPU", "1")})},
    {"MO001", 18, false, "qwen3-30b-a3b-fp8", "--device xpu --tp-size 2", nothing},
    {"MO001", 18, false, "qwen3-30b-a3b", "--device xpu --tp-size 2 --quantization fp8",
     variable("SGLANG_USE_SGL_XPU", "1")},
    {"MO002", 19, true, "qwen3-30b-a3b", kMoe, card(kMax1550)},
    {"MO002", 18, false, "qwen3-30b-a3b", kMoe, card(kMax1550)},
    {"MO002", 18, true, "qwen3-30b-a3b", kMoe, all({card(kMax1550), variable("SGLANG_USE_SGL_XPU", "1")})},
    {"MO002", 11, true, "qwen3-30b-a3b", kMoe, all({card(kMax1550), variable("SGLANG_USE_SGL_XPU", "1")})},
    {"MO003", 18, true, "gemma-4-26b-a4b-it", kMoe, nothing},
    {"MO003", 19, false, "gemma-4-26b-a4b-it", kMoe, nothing},
    {"MO003", 20, false, "gpt-oss-20b", "--device xpu --moe-runner-backend triton", nothing},
    {"MO007", 11, false, "qwen3-30b-a3b", kMoe, field(Field::moe_runner_backend, "deep_gemm")},
    {"MO007", 12, true, "qwen3-30b-a3b", kMoe, field(Field::moe_runner_backend, "deep_gemm")},
    {"MO007", 18, true, "qwen3-30b-a3b", kMoe, field(Field::moe_runner_backend, "deep_gemm")},
    {"MO007", 19, false, "qwen3-30b-a3b", kMoe, field(Field::moe_runner_backend, "deep_gemm")},
    {"QN030", 11, true, "qwen3-30b-a3b", kMoe, [](Launch&, ModelFacts& m) { m.quantization = "w8a8_fp8"; }},
    {"MO020", 23, false, "qwen3-30b-a3b", kMoe, field(Field::ep_size, 1)},
    {"MO020", 23, false, "qwen3-8b", kMoe, field(Field::ep_size, 2)},
    {"MO020", 23, false, "qwen3-30b-a3b", kMoe,
     all({field(Field::ep_size, 2), field(Field::moe_a2a_backend, "deepep")})},
    {"MO020", 23, false, "qwen3-30b-a3b", kMoe, all({field(Field::ep_size, 2), of_class("DeepseekForCausalLM")})},
    {"MO020", 23, true, "qwen3-30b-a3b-fp8", kMoe, field(Field::ep_size, 2)},
    {"MO020", 23, false, "qwen3-30b-a3b-fp8", kMoe,
     all({field(Field::ep_size, 2), field(Field::moe_runner_backend, "triton")})},
    {"MO020", 20, true, "gpt-oss-20b", kMoe,
     all({field(Field::ep_size, 2), field(Field::moe_runner_backend, "triton")})},
    {"MO020", 19, false, "gpt-oss-20b", kMoe, field(Field::ep_size, 2)},
    {"MO010", 23, true, "gpt-oss-20b", "--device xpu", field(Field::moe_runner_backend, "flashinfer_trtllm_routed")},
    {"MO010", 23, false, "gpt-oss-20b", "--device xpu", field(Field::moe_runner_backend, "auto")},
    {"MO010", 23, false, "gpt-oss-20b", "--device xpu", field(Field::moe_runner_backend, "triton")},
    {"MO010", 23, false, "qwen3-30b-a3b", "--device xpu", field(Field::moe_runner_backend, "intel_xpu")},
    {"DC007", 23, false, "qwen3-8b", kMoe, shared_over(1)},
    {"DC007", 23, true, "qwen3-8b", kMoe, shared_over(2)},
    {"DC007", 20, true, "qwen3-8b", kMoe, shared_over(2)},
    {"DC007", 19, false, "qwen3-8b", kMoe, shared_over(2)},
    {"DC007", 19, true, "qwen3-8b", kMoe, all({shared_over(2), variable("SGLANG_ENABLE_CP_V2", "1")})},
    {"DC007", 14, true, "qwen3-8b", kMoe, all({shared_over(2), variable("SGLANG_ENABLE_CP_V2", "1")})},
    {"DC007", 13, false, "qwen3-8b", kMoe, all({legacy_over(2), variable("SGLANG_ENABLE_CP_V2", "1")})},
    {"DC007", 23, false, "qwen3-8b", kMoe, field(Field::attn_cp_size, 2)},
    {"DC007", 23, false, "qwen3-8b", kMoe, all({shared_over(2), field(Field::enable_cp_tp_group_sharing, true)})},
    {"DC007", 23, true, "qwen3-8b", kMoe,
     all({shared_over(2), field(Field::enable_cp_tp_group_sharing, true),
          of_class("Glm5NextForConditionalGeneration")})},
    {"DC007", 11, true, "qwen3-30b-a3b", kMoe, legacy_over(2)},
    {"DC007", 11, false, "qwen3-30b-a3b", kMoe, legacy_over(1)},
    {"DC007", 12, false, "qwen3-0.6b", kMoe, all({legacy_over(2), of_class("DeepseekV2ForCausalLM")})},
    {"DC007", 13, true, "qwen3-0.6b", kMoe, all({legacy_over(2), of_class("DeepseekV2ForCausalLM")})},
    {"DC007", 15, true, "qwen3-0.6b", kMoe, all({legacy_over(2), of_class("DeepseekV3ForCausalLM")})},
    {"DC007", 15, false, "qwen3-0.6b", kMoe, all({shared_over(2), of_class("DeepseekV3ForCausalLM")})},
    {"DC007", 16, true, "qwen3-0.6b", kMoe, all({shared_over(2), of_class("DeepseekV3ForCausalLM")})},
    {"DC007", 16, true, "qwen3-0.6b", kMoe, all({shared_over(2), of_class("GptOssForCausalLM")})},
    {"DC007", 15, false, "qwen3-0.6b", kMoe, all({shared_over(2), of_class("GptOssForCausalLM")})},
    {"DC007", 16, true, "qwen3-0.6b", kMoe, all({shared_over(2), of_class("MiMoV2ForCausalLM")})},
    {"DC007", 16, true, "qwen3-0.6b", kMoe, all({shared_over(2), of_class("MiMoV2FlashForCausalLM")})},
    {"DC007", 16, false, "qwen3-0.6b", kMoe,
     all({shared_over(2), of_class("GptOssForCausalLM"), variable("SGLANG_ENABLE_CP_V2", "0")})},
    {"DC008", 23, true, "qwen3-0.6b", kMoe, two_batches(2, "DeepseekV3ForCausalLM")},
    {"DC008", 23, true, "qwen3-0.6b", kMoe, two_batches(2, "Qwen3MoeForCausalLM")},
    {"DC008", 23, true, "qwen3-0.6b", kMoe, two_batches(2, "MiMoV2ForCausalLM")},
    {"DC008", 23, true, "qwen3-0.6b", kMoe, two_batches(2, "MiMoV2FlashForCausalLM")},
    {"DC008", 23, true, "qwen3-0.6b", kMoe, two_batches(2, "GlmMoeDsaForCausalLM")},
    {"DC008", 23, true, "qwen3-0.6b", kMoe, two_batches(2, "KimiVLForConditionalGeneration")},
    {"DC008", 23, true, "qwen3-0.6b", kMoe, two_batches(2, "KimiK25ForConditionalGeneration")},
    {"DC008", 23, true, "qwen3-0.6b", kMoe, two_batches(2, "Glm4MoeForCausalLM")},
    {"DC008", 11, true, "qwen3-0.6b", kMoe, two_batches(2, "Glm4MoeLiteForCausalLM")},
    {"DC008", 23, true, "qwen3-0.6b", kMoe, two_batches(2, "MiniMaxM2ForCausalLM")},
    {"DC008", 11, true, "qwen3-0.6b", kMoe, two_batches(2, "Qwen2MoeForCausalLM")},
    {"DC008", 23, false, "qwen3-0.6b", kMoe, two_batches(1, "Glm4MoeForCausalLM")},
    {"DC008", 23, true, "qwen3-0.6b", kMoe, two_batches(2, "Dots3NoteForCausalLM")},
    {"DC008", 23, false, "qwen3-0.6b", kMoe, two_batches(2, "LongcatFlashForCausalLM")},
    {"DC008", 23, false, "qwen3-0.6b", kMoe, two_batches(2, "Qwen3ForCausalLM")},
    {"DC008", 23, false, "qwen3-0.6b", kMoe, two_batches(1, "Qwen3MoeForCausalLM")},
    {"WP007", 16, true, "embeddinggemma-300m", "--device xpu --is-embedding --chunked-prefill-size -1", nothing},
    {"WP007", 14, true, "embeddinggemma-300m",
     "--device xpu --is-embedding --chunked-prefill-size -1 --disable-radix-cache", nothing},
    {"WP007", 13, true, "embeddinggemma-300m",
     "--device xpu --is-embedding --chunked-prefill-size -1 --disable-radix-cache", nothing},
    {"WP008", 14, false, "gemma-3-1b-it", "--device xpu --chunked-prefill-size -1", nothing},
    {"WP008", 16, false, "gemma-3-1b-it", "--device xpu --chunked-prefill-size -1 --attention-backend intel_xpu",
     nothing},
    {"AT007", 23, false, "gemma-3-27b-it",
     "--device xpu --enable-multimodal --tp-size 4 --prefill-attention-backend triton --decode-attention-backend "
     "intel_xpu",
     nothing},
    {"PL002", 23, true, "qwen3-32b", "--device xpu --quantization fp8 --cpu-offload-gb 24", nothing},
    {"PL002", 23, false, "qwen3-32b", "--device xpu --quantization fp8 --cpu-offload-gb 40", nothing},
    {"VA012", 22, false, "qwen3-8b",
     "--device xpu --enable-hierarchical-cache --hicache-storage-backend seaweedfs --page-size 64", nothing},
    {"VA012", 23, true, "qwen3-8b",
     "--device xpu --enable-hierarchical-cache --hicache-storage-backend seaweedfs --page-size 64", nothing},
    {"VA012", 23, false, "qwen3-8b",
     R"(--device xpu --enable-hierarchical-cache --hicache-storage-backend seaweedfs --page-size 64 )"
     R"(--hicache-storage-backend-extra-config {"endpoint":"http://s3:8333"})",
     nothing},
    {"VA012", 23, false, "qwen3-8b",
     "--device xpu --enable-hierarchical-cache --hicache-storage-backend seaweedfs --page-size 64 "
     "--hicache-storage-backend-extra-config @/etc/s3.json",
     nothing},
    {"VA012", 13, true, "qwen3-8b", "--device xpu --kv-canary log", nothing},
    {"VA012", 20, true, "qwen3-8b", "--device xpu --kv-canary raise", nothing},
    {"VA012", 20, false, "qwen3-8b", "--device xpu --kv-canary none", nothing},
    {"VA012", 21, false, "qwen3-8b", "--device xpu --kv-canary raise", nothing},
    {"VA012", 21, true, "qwen3-8b", "--device xpu --kv-canary raise --cuda-graph-backend-decode full", nothing},
    {"VA012", 23, true, "deepseek-v2-lite-chat", "--device xpu --kv-canary log --tp-size 2", nothing},
    {"VA012", 21, true, "deepseek-v2-lite-chat", "--device xpu --kv-canary log --tp-size 2", nothing},
    {"VA012", 21, true, "qwen3-next-80b-a3b", "--device xpu --kv-canary log --tp-size 8 --disable-radix-cache",
     nothing},
    {"VA012", 23, false, "deepseek-v4-flash", "--device xpu --kv-canary log --tp-size 8", nothing},
    {"VA012", 13, true, "qwen3-vl-2b-thinking", "--device xpu --language-only", media("mooncake")},
    {"VA012", 12, false, "qwen3-vl-2b-thinking", "--device xpu --language-only", media("mooncake")},
    {"VA012", 23, true, "qwen3-vl-2b-thinking", "--device xpu --language-only --encoder-urls http://e:1",
     media("mooncake")},
    {"VA012", 23, false, "qwen3-vl-2b-thinking", "--device xpu --language-only --encoder-urls grpc://e:1",
     media("mooncake")},
    {"VA012", 23, false, "qwen3-vl-2b-thinking", "--device xpu --language-only --encoder-urls http://e:1",
     media("zmq_to_scheduler")},
    {"VA012", 23, false, "qwen3-vl-2b-thinking", "--device xpu", media("mooncake")},
    {"VA013", 11, true, "qwen3-8b", R"(--device xpu --model-loader-extra-config [1])", nothing},
    {"VA013", 23, true, "qwen3-8b", R"(--device xpu --model-loader-extra-config null)", nothing},
    {"VA013", 23, true, "qwen3-8b", R"(--device xpu --model-loader-extra-config {"enable_gds":true})", nothing},
    {"VA013", 23, false, "qwen3-8b", R"(--device xpu --model-loader-extra-config {"num_threads":2})", nothing},
    {"VA013", 23, false, "qwen3-8b", "--device xpu --load-format dummy --model-loader-extra-config []", nothing},
    {"VA013", 23, true, "qwen3-8b", "--device xpu --load-format dummy --model-loader-extra-config [1]", nothing},
    {"VA013", 23, false, "qwen3-8b", R"(--device xpu --load-format sharded_state --model-loader-extra-config {"a":1})",
     nothing},
    {"VA013", 23, false, "qwen3-8b", R"(--device xpu --weight-cache-mode client --model-loader-extra-config {"a":1})",
     nothing},
    {"VA014", 14, true, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"stop_strs":[]})", nothing},
    {"VA014", 15, false, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"stop_strs":[]})", nothing},
    {"VA014", 14, true, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"stop_regex_strs":1})", nothing},
    {"VA014", 15, false, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"stop_regex_strs":1})", nothing},
    {"VA014", 14, true, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"stop_str_max_len":1})", nothing},
    {"VA014", 15, false, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"stop_str_max_len":1})", nothing},
    {"VA014", 14, true, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"stop_regex_max_len":1})", nothing},
    {"VA014", 15, false, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"stop_regex_max_len":1})", nothing},
    {"VA014", 14, true, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"is_normalized":1})", nothing},
    {"VA014", 15, false, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"is_normalized":1})", nothing},
    {"VA014", 18, true, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"beam_width":2})", nothing},
    {"VA014", 19, false, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"beam_width":2})", nothing},
    {"VA014", 19, true, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"ebnf_full_assistant":true})",
     nothing},
    {"VA014", 20, false, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"ebnf_full_assistant":true})",
     nothing},
    {"VA014", 21, true, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"watermark":{}})", nothing},
    {"VA014", 22, false, "qwen3-8b", R"(--device xpu --preferred-sampling-params {"watermark":{}})", nothing},
    {"VA015", 23, true, "qwen3-8b", "--device xpu --enable-metrics --bucket-inter-token-latency 2 1", nothing},
    {"VA015", 11, false, "qwen3-8b", "--device xpu --enable-metrics --bucket-inter-token-latency 1 1 2", nothing},
    {"VA016", 11, true, "qwen3-8b", "--device xpu --log-level fatal", nothing},
    {"VA016", 23, true, "qwen3-8b", "--device xpu --log-level-http notset", nothing},
    {"VA016", 23, false, "qwen3-8b", "--device xpu --log-level-http TRACE --log-level notset", nothing},
    {"VA016", 23, false, "qwen3-8b", "--device xpu --log-level warn --grpc-mode", nothing},
    {"VA016", 23, false, "qwen3-8b", "--device xpu --log-level warn", field(Field::smg_grpc_mode, true)},
    {"VA016", 23, false, "qwen3-8b", "--device xpu --log-level warn", field(Field::enable_http2, true)},
    {"VA017", 11, true, "qwen3-8b", R"(--device xpu --kv-events-config {"publisher":"ZMQ"})", nothing},
    {"VA017", 23, false, "qwen3-8b", R"(--device xpu --kv-events-config {"publisher":"zmq"})", nothing},
    {"SA022", 16, false, "qwen3-8b", "--device xpu --enable-session-radix-cache --radix-eviction-policy priority",
     nothing},
    {"SA022", 17, true, "qwen3-8b", "--device xpu --enable-session-radix-cache", nothing},
    {"SA022", 18, true, "qwen3-8b", "--device xpu --enable-session-radix-cache", nothing},
    {"SA022", 19, false, "qwen3-8b", "--device xpu --enable-session-radix-cache", nothing},
    {"SA022", 18, false, "gpt-oss-20b", "--device xpu --enable-session-radix-cache", nothing},
    {"SA022", 17, true, "gpt-oss-20b", "--device xpu --enable-session-radix-cache --disable-radix-cache", nothing},
    {"SA022", 21, true, "qwen3-8b", "--device xpu --enable-session-radix-cache --disable-radix-cache", nothing},
    {"SA022", 22, false, "qwen3-8b", "--device xpu --enable-session-radix-cache --disable-radix-cache", nothing},
    {"SA022", 21, false, "qwen3-8b",
     "--device xpu --enable-session-radix-cache --disable-radix-cache --chunked-prefill-size -1", nothing},
    {"VA012", 18, true, "qwen3-8b", "--device xpu --tp-size 2 --enable-symm-mem", nothing},
    {"VA012", 19, false, "qwen3-8b", "--device xpu --tp-size 2 --enable-symm-mem", nothing},
    {"VA012", 18, false, "qwen3-8b", "--device xpu --enable-symm-mem", nothing},
    {"SA010", 23, true, "qwen3-8b",
     "--device xpu --enable-hierarchical-cache --hicache-storage-backend seaweedfs --page-size 64", nothing},
    {"PL008", 23, true, "qwen3-32b", "--device xpu --quantization w8a8_fp8", nothing},
    {"PL008", 23, false, "qwen3-30b-a3b", "--device xpu --quantization w8a8_fp8", nothing},
    {"PL008", 23, true, "qwen3-14b", "--device xpu --quantization fp8 --cpu-offload-gb 3", nothing},
    {"PL008", 23, false, "qwen3-14b", "--device xpu --quantization fp8 --cpu-offload-gb 4", nothing},
    {"VI004", 23, true, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), of_class("Qwen3VLMoeForConditionalGeneration")})},
    {"VI004", 23, true, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), of_class("Qwen3OmniMoeForConditionalGeneration")})},
    {"VI004", 23, true, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), of_class("Qwen3_5MoeForConditionalGeneration")})},
    {"VI004", 23, true, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), of_class("InternS1ProForConditionalGeneration")})},
    {"VI004", 23, true, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), of_class("BailingMoeV3VLForConditionalGeneration")})},
    {"VI004", 23, true, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), of_class("BailingMMNativeForConditionalGeneration"),
          with_tower("Qwen3_VisionTransformer")})},
    {"VI004", 23, true, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), of_class("BailingMM2NativeForConditionalGeneration"),
          with_tower("Qwen3_VisionTransformer")})},
    {"VI004", 23, true, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), of_class("Qwen3VLForConditionalGeneration")})},
    {"VI004", 23, true, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), of_class("Qwen3_5ForConditionalGeneration")})},
    {"VI004", 23, true, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), of_class("InternS2PreviewForConditionalGeneration")})},
    {"VI004", 23, true, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), of_class("InternS2MobiusForConditionalGeneration")})},
    {"VI004", 23, true, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), of_class("Cosmos3ForConditionalGeneration")})},
    {"VI004", 23, false, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), of_class("BailingMMNativeForConditionalGeneration"),
          with_tower("Qwen2_5_VisionTransformer")})},
    {"VI004", 23, false, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), of_class("Qwen2_5_VLForConditionalGeneration")})},
    {"VI004", 23, false, "qwen3-vl-8b-instruct", kPlain,
     all({variable("SGLANG_VIT_ENABLE_CUDA_GRAPH", "1"), field(Field::language_only, true)})},
    {"SA018", 23, true, "qwen3-30b-a3b", kMoe, adapters_of("triton_v2", "lora_triton", {"q_proj"})},
    {"SA018", 23, false, "qwen3-30b-a3b", kMoe, adapters_of("triton_v2", "triton", {"q_proj", "down_proj"})},
    {"SA018", 23, false, "qwen3-30b-a3b", kMoe, adapters_of("triton_v2", "triton", {"gate_up_proj"})},
    {"SA018", 23, true, "qwen3-30b-a3b", kMoe, adapters_of("triton_v2", "triton", {"gate_up_proj", "down_proj"})},
    {"SA018", 23, true, "qwen3-30b-a3b", kMoe, adapters_of("triton_v2", "triton", {"up_proj", "down_proj"})},
    {"SA018", 23, true, "qwen3-30b-a3b", kMoe, adapters_of("triton_v2", "triton", {"gate_proj", "down_proj"})},
    {"SA018", 23, false, "qwen3-30b-a3b", kMoe, adapters_of("triton", "triton", {"all"})},
    {"SA018", 23, false, "qwen3-0.6b", kMoe, adapters_of("triton_v2", "lora_triton", {"all"})},
    {"SA018", 23, false, "qwen3-30b-a3b", kMoe,
     all({adapters_of("triton_v2", "lora_triton", {"all"}), field(Field::enable_lora, false)})},
    {"MC002", 23, true, "gemma-2-9b-it", "--device xpu --pp-size 2", nothing},
    {"MC002", 23, false, "gemma-2-9b-it", "--device xpu --pp-size 2", field(Field::model_impl, "transformers")},
    {"MC002", 23, false, "gemma-2-9b-it", "--device xpu --pp-size 2", field(Field::model_impl, "mindspore")},
    {"MC003", 23, true, "llama-3.2-1b-instruct", "--device xpu --pp-size 2", nothing},
    {"MC003", 23, false, "llama-3.2-1b-instruct", "--device xpu --pp-size 2", field(Field::model_impl, "transformers")},
    {"AT003", 23, true, "qwen3-0.6b", kXpu,
     all({field(Field::kv_cache_dtype, "bf16"), field(Field::dtype, "float16")})},
    {"AT003", 23, false, "qwen3-0.6b", kXpu,
     all({field(Field::kv_cache_dtype, "bf16"), field(Field::dtype, "bfloat16")})},
    {"AT003", 23, false, "qwen3-0.6b", kXpu, field(Field::dtype, "float16")},
    {"MC011", 23, true, "qwen3-0.6b", kPlain, by_transformers("AlbertForMaskedLM", "albert")},
    {"MC011", 11, true, "qwen3-0.6b", kPlain, by_transformers("DistilBertForMaskedLM", "distilbert")},
    {"MC011", 23, true, "qwen3-0.6b", kPlain, by_transformers("JinaEmbeddingsV3ForMaskedLM", "jina_embeddings_v3")},
    {"MC011", 23, true, "qwen3-0.6b", kPlain, by_transformers("MobileBertForMaskedLM", "mobilebert")},
    {"MC011", 23, true, "qwen3-0.6b", kPlain, by_transformers("NomicBertForMaskedLM", "nomic_bert")},
    {"MC011", 23, false, "qwen3-0.6b", kPlain, by_transformers("BertForMaskedLM", "bert")},
    {"MC011", 23, false, "qwen3-0.6b", kPlain, by_transformers("Qwen3ForCausalLM", "albert")},
    // for want of a class of SGLang's; a part's plan is the model's
    {"MC038", 11, true, "qwen3-0.6b", kPlain, by_transformers("GlmForCausalLM", "glm")},
    {"MC038", 23, true, "qwen3-0.6b", kPlain,
     all({by_transformers("Glm46VForConditionalGeneration", "glm46v"), text("model_type", "glm4v_text")})},
    {"MC038", 23, false, "qwen3-0.6b", kPlain, by_transformers("GlmForCausalLM", "gemma")},
    {"MC038", 22, true, "minicpm3-4b", "--device xpu --model-impl transformers", nothing},
    {"MC038", 21, false, "minicpm3-4b", "--device xpu --model-impl transformers", nothing},
    // a tower of transformers' keeps transformers' attention
    {"VI003", 23, true, "qwen3-vl-8b-instruct", "--device xpu", with_heads_of(1408, 16)},
    {"VI003", 23, false, "qwen3-vl-8b-instruct", "--device xpu --model-impl transformers", with_heads_of(1408, 16)},
    {"VI003", 23, false, "qwen3-vl-8b-instruct", "--device xpu",
     all({with_heads_of(1408, 16), by_transformers("Blip2ForConditionalGeneration", "blip-2")})},
    {"VI002", 23, true, "qwen3-vl-8b-instruct", "--device xpu --mm-attention-backend fa3", nothing},
    {"VI002", 23, false, "qwen3-vl-8b-instruct", "--device xpu --mm-attention-backend fa3 --model-impl transformers",
     nothing},
    // recorded of 0.5.23: Pixtral's tower is built
    {"MC041", 23, false, "qwen3-8b", kPlain,
     asked("LlavaForConditionalGeneration", {{"vision_config", Value::dict({{"model_type", "pixtral"}})}})},
    // whose attention stops it first
    {"MC038", 23, false, "qwen3-8b", "--device xpu --model-impl transformers",
     by_transformers("Qwen3NextForCausalLM", "phi3")},
    {"MC039", 23, true, "qwen3-8b", "--device xpu --model-impl transformers",
     by_transformers("Qwen3NextForCausalLM", "qwen3_next")},
    {"MC039", 23, true, "falcon-40b", "--device xpu --model-impl transformers", nothing},
    {"MC039", 22, true, "qwen3-8b", "--device xpu --model-impl transformers",
     by_transformers("KimiLinearForCausalLM", "kimi_linear")},
    {"MC039", 21, false, "qwen3-8b", "--device xpu --model-impl transformers",
     by_transformers("KimiLinearForCausalLM", "kimi_linear")},
    {"MC008", 23, true, "qwen3-0.6b", kTwoRanks, by_transformers("RecurrentGemmaForCausalLM", "recurrent_gemma")},
    {"MC008", 23, false, "qwen3-0.6b", kTwoRanks, by_transformers("RecurrentGemmaForCausalLM", "gemma")},
    // a plan of its own, of its text, of the model that its text is named after; none of SGLang's own classes has one
    {"MC008", 23, false, "qwen3-0.6b", kTwoRanks, by_transformers("SmolLM3ForCausalLM", "smollm3")},
    {"MC008", 23, true, "qwen3-0.6b", kTwoRanks, by_transformers("ModernBertModel", "modernbert")},
    {"MC008", 23, true, "qwen3-0.6b", kTwoRanks, all({by_transformers("GotOcr2Model", "blip-2"), of_text_type("opt")})},
    {"MC008", 23, false, "qwen3-0.6b", kTwoRanks,
     all({by_transformers("GotOcr2Model", "blip-2"), of_text_type("qwen2")})},
    {"MC008", 23, false, "qwen3-0.6b", kTwoRanks,
     all({by_transformers("Cosmos3OmniModel", "cosmos3_omni"), of_text_type("qwen3_vl_text")})},
    {"MC008", 23, true, "qwen3-0.6b", kTwoRanks, all({by_transformers("HYV4Model", "hy_v4"), of_text_type("hy_v4")})},
    {"QN034", 21, true, "qwen3-0.6b", kXpu, all({of_class("DiffusionGemmaForBlockDiffusion"), stored("fp8")})},
    {"QN034", 23, false, "qwen3-0.6b", kXpu, of_class("DiffusionGemmaForBlockDiffusion")},
    {"QN034", 23, false, "qwen3-0.6b", kXpu, stored("fp8")},
    {"MC012", 11, true, "qwen3-0.6b", kXpu, by_transformers("BertForMaskedLM", "bert")},
    {"MC012", 23, true, "qwen3-0.6b", kXpu, by_transformers("BertForMaskedLM", "bert")},
    {"MC012", 23, true, "qwen3-0.6b", "--device xpu --attention-backend torch_native",
     by_transformers("ModernBertModel", "modernbert")},
    {"MC012", 23, true, "qwen3-0.6b", "--device xpu --attention-backend flex_attention",
     by_transformers("RobertaForMaskedLM", "roberta")},
    {"MC012", 23, false, "qwen3-0.6b", "--device xpu --attention-backend triton",
     by_transformers("BertForMaskedLM", "bert")},
    {"MC012", 23, false, "qwen3-0.6b", kXpu, by_transformers("BertModel", "bert")},
    {"MC012", 23, false, "qwen3-0.6b", kXpu,
     all({by_transformers("BertForMaskedLM", "bert"),
          [](Launch&, ModelFacts& m) { m.hf_config = m.hf_config.with("is_decoder", true); }})},
    // recorded of 0.5.23: TypeError in _get_live_rope_cache_entry
    {"MC035", 23, true, "qwen3-0.6b", kPlain, rotary_of("MiMoV2FlashForCausalLM", kByKind)},
    {"MC035", 22, true, "qwen3-0.6b", kPlain, rotary_of("MiMoV2ForCausalLM", kByKind)},
    {"MC035", 23, false, "qwen3-0.6b", kPlain, rotary_of("Qwen3ForCausalLM", kByKind)},
    {"MC035", 23, false, "qwen3-0.6b", kPlain,
     rotary_of("MiMoV2FlashForCausalLM", Value::dict({{"rope_type", "default"}, {"rope_theta", 5000000.0}}))},
    {"MC035", 23, false, "qwen3-0.6b", kPlain,
     all({rotary_of("MiMoV2FlashForCausalLM", kByKind), field(Field::model_impl, "transformers")})},
    {"MC035", 23, false, "qwen3-0.6b", kPlain,
     all({rotary_of("MiMoV2FlashForCausalLM", kByKind), field(Field::trust_remote_code, true),
          [](Launch&, ModelFacts& m) {
            m.hf_config = m.hf_config.with("auto_map", Value::dict({{"AutoConfig", "configuration.Config"}}));
          }})},
    {"MC035", 23, true, "qwen3-0.6b", kPlain,
     all({rotary_of("MiMoV2FlashForCausalLM", kByKind), field(Field::trust_remote_code, true)})},
    {"MC010", 20, true, "qwen3-0.6b", kPlain, dual_chunks_of("Qwen2ForCausalLM")},
    {"MC010", 23, true, "qwen3-0.6b", kPlain, dual_chunks_of("Qwen2MoeForCausalLM")},
    {"MC010", 23, true, "qwen3-0.6b", kPlain, dual_chunks_of("Qwen3MoeForCausalLM")},
    {"MC010", 23, true, "qwen3-0.6b", kPlain, dual_chunks_of("Glm4ForCausalLM")},
    {"MC010", 23, false, "qwen3-0.6b", kPlain, dual_chunks_of("Qwen3ForCausalLM")},
    {"MC010", 23, false, "qwen3-0.6b", kPlain,
     all({dual_chunks_of("Qwen2ForCausalLM"), field(Field::model_impl, "transformers")})},
    {"KI004", 23, true, "qwen3-0.6b", kTwoRanks, nothing},
    {"KI004", 23, false, "qwen3-0.6b", "--device xpu --dp-size 2", nothing},
    {"QN021", 23, true, "qwen3-8b", kPlain, awq_packed_for("backend", "gptq")},
    {"QN021", 23, true, "qwen3-8b", kPlain, awq_packed_for("vllm_backend", "gptq")},
    {"QN021", 23, true, "qwen3-8b", kPlain, awq_packed_for("sglang_backend", "gptq")},
    {"QN021", 23, false, "qwen3-8b", kPlain, awq_packed_for("sglang_backend", "auto")},
    {"QN031", 23, true, "qwen3-30b-a3b", kPlain,
     all({fp8_groups(), field(Field::moe_runner_backend, "flashinfer_trtllm_routed")})},
    {"QN031", 23, false, "qwen3-30b-a3b", kPlain, all({fp8_groups(), field(Field::moe_runner_backend, "auto")})},
    {"PL015", 23, true, "qwen3-30b-a3b", kMoe, all({field(Field::ep_size, 2), text("num_experts", 127)})},
    {"PL015", 23, false, "qwen3-30b-a3b", kMoe, all({field(Field::ep_size, 2), text("num_experts", 126)})},
    {"PL015", 23, false, "qwen3-30b-a3b", kMoe, all({field(Field::ep_size, 1), text("num_experts", 127)})},
    {"PL016", 23, false, "qwen3-8b", kTwoStages, layers_and_partition(0, "1,1")},
    {"PL016", 23, true, "qwen3-8b", kTwoStages, layers_and_partition(1, "1,1")},
    {"PL016", 23, false, "qwen3-8b", kTwoStages, layers_and_partition(2, "1,1")},
    {"SP013", 23, false, "qwen3-0.6b", kPlain, verified_by("prefill", "triton", "torch_native")},
    {"SP013", 23, true, "qwen3-0.6b", kPlain, verified_by("decode", "triton", "torch_native")},
    {"SP013", 23, true, "qwen3-0.6b", kPlain, verified_by("prefill", "torch_native", "triton")},
    {"WP004", 23, true, "qwen3-0.6b", "--device xpu", of_class("BertModel")},
    {"WP004", 23, true, "qwen3-0.6b", "--device xpu", of_class("BertForSequenceClassification")},
    {"WP004", 23, true, "qwen3-0.6b", "--device xpu", of_class("Contriever")},
    {"WP004", 23, true, "qwen3-0.6b", "--device xpu", of_class("XLMRobertaModel")},
    {"WP004", 23, true, "qwen3-0.6b", "--device xpu", of_class("XLMRobertaForSequenceClassification")},
    {"WP002", 23, true, "qwen3-0.6b", "--device xpu --attention-backend flex_attention",
     of_class("Lfm2BidirectionalModel")},
    {"WP002", 23, true, "qwen3-0.6b", "--device xpu --attention-backend flex_attention",
     of_class("EmbeddingGemma2Model")},
    {"WP002", 23, true, "qwen3-0.6b", "--device xpu --attention-backend flex_attention", of_class("XLMRobertaModel")},
    {"WP002", 23, false, "qwen3-0.6b", "--device xpu --attention-backend flex_attention", nothing},
    {"WP001", 19, true, "embeddinggemma-300m", "--device xpu --is-embedding --attention-backend intel_xpu",
     [](Launch&, ModelFacts& m) { m.is_embedding_gemma = true; }},
    {"WP004", 23, false, "bge-reranker-v2-m3", "--device xpu", field(Field::page_size, 2)},
    {"WP005", 23, true, "bge-reranker-v2-m3", "--device xpu", field(Field::page_size, 2)},
    {"WP005", 23, false, "bge-reranker-v2-m3", "--device xpu", field(Field::page_size, 8194)},
    {"WP005", 23, true, "bge-reranker-v2-m3", "--device xpu", field(Field::page_size, 8193)},
    {"WP006", 23, false, "bge-reranker-v2-m3", "--device xpu", field(Field::chunked_prefill_size, 8194)},
    {"WP006", 23, true, "bge-reranker-v2-m3", "--device xpu", field(Field::chunked_prefill_size, 8193)},
    {"WP006", 23, true, "bge-reranker-v2-m3", "--device xpu", field(Field::chunked_prefill_size, 1)},
    {"WP006", 23, false, "bge-reranker-v2-m3", "--device xpu", field(Field::chunked_prefill_size, 0)},
    {"VI002", 23, true, "qwen3-vl-8b-instruct", kForeignTower, field(Field::language_only, true)},
    {"VI002", 23, false, "qwen3-vl-8b-instruct", kForeignTower, field(Field::language_model_only, true)},
    {"VI002", 23, false, "qwen3-vl-8b-instruct", kForeignTower,
     all({of_class("DotsVLMForCausalLM"), field(Field::language_only, true)})},
    {"VI002", 23, false, "qwen3-vl-8b-instruct", kForeignTower,
     all({of_class("KimiK3ForConditionalGeneration"), field(Field::language_only, true)})},
    {"VI002", 23, false, "qwen3-vl-8b-instruct", kForeignTower,
     all({of_class("Glm5NextForConditionalGeneration"), field(Field::language_only, true)})},
    {"VI002", 23, false, "qwen3-vl-8b-instruct", kForeignTower,
     all({of_class("MuseSparkForConditionalGeneration"), field(Field::language_only, true)})},
    {"VI002", 23, true, "qwen3-vl-8b-instruct", kForeignTower, of_class("DotsVLMForCausalLM")},
    {"GR001", 23, false, "qwen3-0.6b", "--device xpu --tp-size 2",
     all({full_decode_graph(), field(Field::attn_dp_size, 1)})},
    {"GR001", 23, true, "qwen3-0.6b", "--device xpu --tp-size 2",
     all({full_decode_graph(), field(Field::attn_dp_size, 2)})},
    {"GR001", 23, true, "qwen3-30b-a3b", "--device xpu --tp-size 2",
     all({full_decode_graph(), field(Field::moe_dense_tp_size, 1)})},
    {"GR001", 23, false, "qwen3-30b-a3b", "--device xpu --tp-size 2",
     all({full_decode_graph(), field(Field::moe_dense_tp_size, 2)})},
    {"HY001", 23, false, "qwen3.5-9b", kPlain, hybrid_cache(true, "no_buffer", 1, 4096)},
    {"HY001", 23, true, "qwen3.5-9b", kPlain, hybrid_cache(true, "no_buffer", 2, 4096)},
    {"HY002", 21, false, "qwen3.5-9b", kPlain, hybrid_cache(false, "auto", 1, 0)},
    {"HY002", 21, true, "qwen3.5-9b", kPlain, hybrid_cache(false, "auto", 2, 0)},
    {"HY002", 21, false, "qwen3.5-9b", kPlain, hybrid_cache(false, "auto", 2, 1)},
    {"HY002", 21, true, "qwen3.5-9b", kPlain, hybrid_cache(false, "auto", 2, -1)},
    {"HY007", 23, true, "qwen3.5-9b", kPlain, field(Field::linear_attn_backend, "cutedsl")},
    {"HY007", 23, true, "qwen3.5-9b", kPlain, field(Field::linear_attn_backend, "flashinfer")},
    {"HY007", 23, true, "qwen3.5-9b", kPlain, field(Field::linear_attn_backend, "flashkda")},
    {"HY007", 23, true, "qwen3.5-9b", kPlain, field(Field::linear_attn_backend, "nvidia_kda")},
    {"HY007", 23, true, "qwen3.5-9b", kPlain, field(Field::linear_attn_backend, "ptx_kda")},
    {"HY007", 23, true, "qwen3.5-9b", kPlain, field(Field::linear_attn_backend, "helion")},
    {"HY007", 23, false, "qwen3.5-9b", kPlain, field(Field::linear_attn_backend, "triton")},
    {"HY011", 23, false, "qwen3.5-9b", kPlain, text("linear_key_head_dim", 256)},
    {"HY011", 23, true, "qwen3.5-9b", kPlain, text("linear_key_head_dim", 257)},
    {"HY014", 23, false, "qwen3.5-9b", kPlain, text("full_attention_interval", 2)},
    {"HY014", 23, true, "qwen3.5-9b", kPlain, text("full_attention_interval", Value())},
    {"HY014", 11, true, "qwen3.5-9b", kPlain, text("full_attention_interval", Value())},
    {"HY014", 23, true, "qwen3.5-35b-a3b", kPlain, text("full_attention_interval", Value())},
    {"HY014", 23, false, "lfm2-1.2b", kPlain, text("full_attention_interval", Value())},
    {"HY014", 23, true, "qwen3.5-9b", kPlain,
     all({text("model_type", "qwen4_exp_text"), text("full_attention_interval", Value())})},
    {"HY014", 22, false, "qwen3.5-9b", kPlain,
     all({text("model_type", "qwen4_exp_text"), text("full_attention_interval", Value())})},
    {"AT001", 23, false, "qwen3-0.6b", kXpu, head_sizes(0, 0)},
    {"AT001", 23, true, "qwen3-0.6b", kXpu, head_sizes(1, 1)},
    {"AT001", 23, false, "qwen3-0.6b", kXpu, head_sizes(64, 64)},
    {"AT002", 23, false, "qwen3-0.6b", kXpu, heads(32, 2)},
    {"AT002", 23, true, "qwen3-0.6b", kXpu, heads(34, 2)},
    {"AT002", 23, false, "qwen3-0.6b", kXpu, heads(32, 0)},
    {"AT005", 23, false, "qwen3-0.6b", kXpu, soft_cap(0.0)},
    {"AT005", 23, true, "qwen3-0.6b", kXpu, soft_cap(0.5)},
    {"AT005", 23, true, "qwen3-0.6b", kXpu, soft_cap(1.0)},
    {"AT006", 19, false, "qwen3-0.6b", kXpu, head_sizes(128, 0)},
    {"AT006", 19, true, "qwen3-0.6b", kXpu, head_sizes(128, 1)},
    {"AT006", 19, false, "qwen3-0.6b", kXpu, head_sizes(0, 128)},
    {"AT006", 19, true, "qwen3-0.6b", kXpu, head_sizes(1, 2)},
    {"AT006", 19, false, "qwen3-0.6b", kXpu, head_sizes(128, 128)},
    {"BK007", 12, false, "deepseek-v2-lite-chat", "--device cuda --attention-backend aiter",
     field(Field::page_size, 1)},
    {"BK007", 12, true, "deepseek-v2-lite-chat", "--device cuda --attention-backend aiter", field(Field::page_size, 2)},
    {"BK020", 23, false, "qwen3-0.6b", "--device xpu --attention-backend flex_attention", soft_cap(0.0)},
    {"BK020", 23, true, "qwen3-0.6b", "--device xpu --attention-backend flex_attention", soft_cap(0.5)},
    {"BK020", 23, true, "qwen3-0.6b", "--device xpu --attention-backend flex_attention", soft_cap(1.0)},
    {"BK024", 23, false, "qwen3-0.6b", "--device xpu --attention-backend torch_native", soft_cap(0.0)},
    {"BK024", 23, true, "qwen3-0.6b", "--device xpu --attention-backend torch_native", soft_cap(0.5)},
    {"BK024", 23, true, "qwen3-0.6b", "--device xpu --attention-backend torch_native", soft_cap(1.0)},
    {"ML004", 20, false, "deepseek-v2-lite-chat", kXpu, soft_cap(0.0)},
    {"ML004", 20, true, "deepseek-v2-lite-chat", kXpu, soft_cap(0.5)},
    {"ML004", 20, true, "deepseek-v2-lite-chat", kXpu, soft_cap(1.0)},
    {"DC006", 22, false, "qwen3-0.6b", "--device xpu --attention-backend intel_xpu --tp-size 1",
     field(Field::disable_overlap_schedule, false)},
    {"DC006", 22, true, "qwen3-0.6b", "--device xpu --attention-backend intel_xpu --tp-size 2",
     field(Field::disable_overlap_schedule, false)},
    {"KI002", 21, false, "qwen3-0.6b", "--device xpu --attention-backend triton --enable-deterministic-inference",
     field(Field::chunked_prefill_size, 0)},
    {"KI002", 21, true, "qwen3-0.6b", "--device xpu --attention-backend triton --enable-deterministic-inference",
     field(Field::chunked_prefill_size, 1)},
    {"KI002", 21, true, "qwen3-0.6b", "--device xpu --attention-backend triton --enable-deterministic-inference",
     field(Field::chunked_prefill_size, 4095)},
    {"KI002", 21, false, "qwen3-0.6b", "--device xpu --attention-backend triton --enable-deterministic-inference",
     field(Field::chunked_prefill_size, 4096)},
    {"KI002", 21, true, "qwen3-0.6b", "--device xpu --attention-backend triton --enable-deterministic-inference",
     all({variable("SGLANG_TRITON_PREFILL_TRUNCATION_ALIGN_SIZE", "0"), field(Field::chunked_prefill_size, 1)})},
    {"KI002", 21, false, "qwen3-0.6b", "--device xpu --attention-backend triton --enable-deterministic-inference",
     all({variable("SGLANG_TRITON_PREFILL_TRUNCATION_ALIGN_SIZE", "1"), field(Field::chunked_prefill_size, 1)})},
    {"KI002", 21, true, "qwen3-0.6b", "--device xpu --attention-backend triton --enable-deterministic-inference",
     all({variable("SGLANG_TRITON_PREFILL_TRUNCATION_ALIGN_SIZE", "2"), field(Field::chunked_prefill_size, 1)})},
    {"KI003", 23, false, "qwen3-0.6b", "--device xpu --tp-size 1", card(kB70)},
    {"KI007", 23, false, "qwen3-0.6b", "--device xpu --tp-size 1", all({card(kB70), full_decode_graph()})},
    {"KI010", 23, false, "qwen3-0.6b", "--device xpu --tp-size 1", card(kB70)},
    {"KI011", 23, false, "qwen3-0.6b", "--device xpu --tp-size 1", card(kB70)},
    {"KI012", 23, false, "qwen3-0.6b", "--device xpu --tp-size 1", variable("CCL_ZE_IPC_EXCHANGE", "sockets")},
    {"KI013", 23, false, "qwen3-30b-a3b-fp8", "--device xpu --tp-size 1", card(kB70)},
    {"KI003", 23, true, "qwen3-0.6b", "--device xpu --tp-size 2", card(kB70)},
    {"KI007", 23, true, "qwen3-0.6b", "--device xpu --tp-size 2", all({card(kB70), full_decode_graph()})},
    {"KI010", 23, true, "qwen3-0.6b", "--device xpu --tp-size 2", card(kB70)},
    {"KI011", 23, true, "qwen3-0.6b", "--device xpu --tp-size 2", card(kB70)},
    {"KI012", 23, true, "qwen3-0.6b", "--device xpu --tp-size 2", variable("CCL_ZE_IPC_EXCHANGE", "sockets")},
    {"KI013", 23, true, "qwen3-30b-a3b-fp8", "--device xpu --tp-size 2", card(kB70)},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", head_dim(16)},
    {"AT009", 23, false, "qwen3-0.6b", "--device xpu", head_dim(32)},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", head_dim(48)},
    {"AT009", 23, false, "qwen3-0.6b", "--device xpu", head_dim(64)},
    {"AT009", 23, false, "qwen3-0.6b", "--device xpu", head_dim(96)},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", head_dim(100)},
    {"AT009", 23, false, "qwen3-0.6b", "--device xpu", head_dim(128)},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", head_dim(192)},
    {"AT009", 23, false, "qwen3-0.6b", "--device xpu", head_dim(256)},
    {"AT009", 23, false, "qwen3-0.6b", "--device xpu", head_dim(512)},
    {"AT009", 20, true, "qwen3-0.6b", "--device xpu", head_dim(80)},
    {"AT009", 19, false, "qwen3-0.6b", "--device xpu", head_dim(80)},
    {"AT009", 23, false, "qwen3-0.6b", "--device xpu", all({head_dim(80), text("partial_rotary_factor", 0.5)})},
    {"AT009", 23, false, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("PhiForCausalLM")})},
    {"AT009", 22, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("PhiForCausalLM")})},
    {"AT009", 20, true, "qwen3-0.6b", "--device xpu", all({head_dim(64), of_class("StableLmForCausalLM")})},
    {"AT009", 19, false, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("PersimmonForCausalLM")})},
    {"AT009", 20, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("PersimmonForCausalLM")})},
    {"AT009", 22, false, "qwen3-0.6b", "--device xpu", all({head_dim(128), of_class("PhiForCausalLM")})},
    {"AT009", 22, false, "qwen3-0.6b", "--device xpu", all({head_dim(256), of_class("PhiForCausalLM")})},
    {"AT009", 22, false, "qwen3-0.6b", "--device xpu",
     all({head_dim(80), of_class("PhiForCausalLM"), text("partial_rotary_factor", 1.0)})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("LlamaForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("MistralForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("Qwen2ForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("ExaoneForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("Exaone4ForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("GraniteForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("InternLM2ForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("OlmoForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("Olmo2ForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("Starcoder2ForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("OrionForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("XverseForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("ArceeForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("GemmaForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("ApertusForCausalLM")})},
    {"AT009", 23, false, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("GPTNeoXForCausalLM")})},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", turned("rope_parameters", "rope_type", "default")},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", turned("rope_parameters", "rope_type", "linear")},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", turned("rope_parameters", "rope_type", "dynamic")},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", turned("rope_parameters", "rope_type", "yarn")},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", turned("rope_parameters", "rope_type", "llama3")},
    {"AT009", 23, false, "qwen3-0.6b", "--device xpu", turned("rope_parameters", "rope_type", "longrope")},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", turned("rope_scaling", "type", "linear")},
    {"AT009", 23, false, "qwen3-0.6b", "--device xpu", turned("rope_scaling", "type", "longrope")},
    {"AT009", 23, false, "qwen3-0.6b", "--device xpu", turned("rope_parameters", "partial_rotary_factor", 0.5)},
    {"AT009", 23, false, "qwen3-0.6b", "--device xpu --rl-on-policy-target fsdp", head_dim(80)},
    {"AT009", 22, true, "qwen3-0.6b", "--device xpu", all({head_dim(80), of_class("StableLmForCausalLM")})},
    {"AT009", 22, false, "qwen3-0.6b", "--device xpu", all({head_dim(512), of_class("PhiForCausalLM")})},
    {"AT009", 22, false, "qwen3-0.6b", "--device xpu", all({head_dim(0), of_class("PhiForCausalLM")})},
    {"AT009", 22, true, "qwen3-0.6b", "--device xpu", all({head_dim(1), of_class("PhiForCausalLM")})},
    {"AT009", 23, false, "qwen3-0.6b", "--device xpu", head_dim(0)},
    {"AT009", 23, true, "qwen3-0.6b", "--device xpu", head_dim(1)},
    {"AT009", 23, false, "qwen3-0.6b", "--device cpu", head_dim(80)},
    {"KI015", 23, true, "qwen3-0.6b", "--device xpu", card(kMax1550)},
    {"KI015", 23, false, "bge-reranker-v2-m3", "--device xpu", card(kMax1550)},
    {"KI015", 23, false, "qwen3-0.6b", "--device xpu", card(kB70)},
    {"KI015", 23, false, "qwen3-0.6b", "--device xpu", card("Intel(R) Arc(TM) 140V GPU")},
    {"KI015", 23, false, "qwen3-0.6b", "--device xpu", card("a card without a profile")},
    {"KI015", 23, false, "qwen3-0.6b", "--device cpu", card(kMax1550)},
    {"KI008", 12, false, "qwen3-0.6b", kXpu, field(Field::chunked_prefill_size, 0)},
    {"KI008", 12, true, "qwen3-0.6b", kXpu, field(Field::chunked_prefill_size, 1)},
    {"LC005", 20, false, "gemma-3-1b-it", kXpu, tree(1, 2)},
    {"LC005", 20, false, "gemma-3-1b-it", kXpu, tree(2, 1)},
    {"LC005", 20, true, "gemma-3-1b-it", kXpu, tree(2, 2)},
    {"LC007", 23, false, "llama-4-scout-17b-16e", "--device xpu --tp-size 8", local_chunk(8192, 1)},
    {"LC007", 23, true, "llama-4-scout-17b-16e", "--device xpu --tp-size 8", local_chunk(8192, 2)},
    {"LC007", 23, false, "llama-4-scout-17b-16e", "--device xpu --tp-size 8", local_chunk(0, 2)},
    {"LC007", 23, false, "llama-4-scout-17b-16e", "--device xpu --tp-size 8", local_chunk(7, 2)},
    {"LC007", 23, true, "llama-4-scout-17b-16e", "--device xpu --tp-size 8", local_chunk(8, 2)},
    {"LC004", 20, false, "llama-4-scout-17b-16e", "--device xpu --tp-size 8", local_chunk(96, 32)},
    {"LC004", 20, true, "llama-4-scout-17b-16e", "--device xpu --tp-size 8", local_chunk(97, 32)},
    {"LC004", 20, true, "llama-4-scout-17b-16e", "--device xpu --tp-size 8", local_chunk(95, 32)},
    {"VA004", 23, false, "qwen3-0.6b", "--device xpu --attention-backend qsa", text("indexer_n_heads", 4)},
    {"VA004", 23, true, "deepseek-v2-lite-chat", "--device xpu --attention-backend dsa", text("index_topk", 2048)},
    {"VA012", 18, true, "qwen3-8b", kPlain, field(Field::startup_weight_load_mode, "overlap")},
    {"VA012", 23, false, "qwen3-8b", kPlain, field(Field::startup_weight_load_mode, "serial")},
    {"VA012", 17, true, "qwen3-8b", kPlain, field(Field::weight_cache_mode, "daemon")},
    {"VA012", 11, true, "qwen3-8b", kPlain, field(Field::elastic_ep_backend, "mooncake")},
    {"VA012", 11, true, "qwen3-8b", kPlain, field(Field::elastic_ep_backend, "nixl")},
    {"VA012", 11, true, "qwen3-8b", kPlain, field(Field::elastic_ep_backend, "none")},
    {"VA012", 11, true, "qwen3-8b", kPlain,
     all({field(Field::lora_backend, "ascend"), field(Field::enable_lora, true)})},
    {"VA012", 23, false, "qwen3-8b", kPlain,
     all({field(Field::lora_backend, "ascend"), field(Field::enable_lora, false)})},
    {"VA012", 23, false, "qwen3-8b", kPlain,
     all({field(Field::lora_backend, "triton"), field(Field::enable_lora, true)})},
    {"VA012", 11, true, "qwen3-8b", kPlain, field(Field::enable_layerwise_nvtx_marker, true)},
    {"VA012", 11, true, "qwen3-8b", kPlain, field(Field::enable_pdmux, true)},
    {"VA012", 11, true, "qwen3-8b", kPlain, field(Field::offload_group_size, 1)},
    {"VA012", 23, false, "qwen3-8b", kPlain, field(Field::offload_group_size, -1)},
    {"VA012", 23, false, "qwen3-8b", kPlain,
     all({field(Field::offload_group_size, 1), field(Field::cpu_offload_gb, 1)})},
    {"VA012", 20, true, "qwen3-8b", kPlain, field(Field::ple_offload_embedding, true)},
    {"VA012", 23, false, "qwen3-8b", kPlain,
     all({field(Field::ple_offload_embedding, true), of_class("Qwen4ExpForConditionalGeneration")})},
    {"VA012", 15, true, "qwen3-8b", kPlain, field(Field::enable_unified_memory, true)},
    {"VA012", 20, true, "qwen3.5-9b", kPlain, field(Field::enable_unified_memory, true)},
    {"VA012", 19, false, "qwen3.5-9b", kPlain, field(Field::enable_unified_memory, true)},
    {"VA012", 19, false, "qwen3-8b", kPlain,
     all({field(Field::enable_unified_memory, true), [](Launch&, ModelFacts& m) { m.is_hybrid_swa = true; }})},
    {"VA012", 22, true, "qwen3.5-9b", kPlain, field(Field::qsa_indexer_dtype, "bfloat16")},
    {"VA012", 23, false, "qwen3-8b", kPlain, field(Field::qsa_indexer_dtype, "bfloat16")},
    {"VA012", 22, true, "qwen3.5-9b", kPlain, field(Field::qsa_indexer_dtype, "fp8_e4m3")},
    {"VA012", 23, false, "qwen3-8b", kPlain, field(Field::qsa_indexer_dtype, "fp8_e4m3")},
    {"VA012", 23, false, "qwen3.5-9b", kPlain,
     all({field(Field::qsa_indexer_dtype, "bfloat16"), text("indexer_n_heads", 4)})},
    {"VA012", 21, true, "deepseek-v2-lite-chat", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_io_backend, "kernel_ascend")})},
    {"VA012", 20, false, "deepseek-v2-lite-chat", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_io_backend, "kernel_ascend")})},
    {"VA012", 23, true, "qwen3-8b", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_io_backend, "kernel_ascend")})},
    {"VA012", 22, false, "qwen3-8b", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_io_backend, "kernel_ascend")})},
    {"VA012", 23, false, "qwen3-8b", kPlain, field(Field::hicache_io_backend, "kernel_ascend")},
    {"VA012", 21, true, "deepseek-v2-lite-chat", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_mem_layout, "page_first_kv_split")})},
    {"VA012", 20, false, "deepseek-v2-lite-chat", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_mem_layout, "page_first_kv_split")})},
    {"VA012", 23, true, "qwen3-8b", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_mem_layout, "page_first_kv_split")})},
    {"VA012", 22, false, "qwen3-8b", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_mem_layout, "page_first_kv_split")})},
    {"VA012", 23, false, "qwen3-8b", kPlain, field(Field::hicache_mem_layout, "page_first_kv_split")},
    {"VA012", 21, true, "deepseek-v2-lite-chat", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_storage_backend, "npu_memcache")})},
    {"VA012", 20, false, "deepseek-v2-lite-chat", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_storage_backend, "npu_memcache")})},
    {"VA012", 23, true, "qwen3-8b", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_storage_backend, "npu_memcache")})},
    {"VA012", 22, false, "qwen3-8b", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_storage_backend, "npu_memcache")})},
    {"VA012", 23, false, "qwen3-8b", kPlain, field(Field::hicache_storage_backend, "npu_memcache")},
    {"VA012", 21, true, "deepseek-v2-lite-chat", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_mem_layout, "page_head")})},
    {"VA012", 20, false, "deepseek-v2-lite-chat", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_mem_layout, "page_head")})},
    {"VA012", 23, false, "qwen3-8b", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_mem_layout, "page_head")})},
    {"VA012", 23, false, "qwen3-8b", kPlain,
     all({field(Field::enable_hierarchical_cache, true), field(Field::hicache_io_backend, "direct")})},
    {"VA011", 11, true, "qwen3-8b", kPlain, field(Field::load_format, "layered")},
    {"VA011", 11, true, "qwen3-8b", kPlain, field(Field::load_format, "private")},
    {"VA011", 11, true, "qwen3-8b", kPlain, field(Field::load_format, "remote")},
    {"VA011", 11, true, "qwen3-8b", kPlain, field(Field::load_format, "gguf")},
    {"VA011", 22, true, "llama-3.1-8b-instruct", kPlain, field(Field::load_format, "flash_rl")},
    {"VA011", 21, false, "llama-3.1-8b-instruct", kPlain, field(Field::load_format, "flash_rl")},
    {"VA011", 22, false, "qwen3-8b", kPlain, field(Field::load_format, "flash_rl")},
    {"VA011", 22, false, "qwen3-8b", kPlain,
     all({field(Field::load_format, "flash_rl"), of_class("Qwen2ForCausalLM")})},
    {"VA011", 22, false, "qwen3-8b", kPlain,
     all({field(Field::load_format, "flash_rl"), of_class("Qwen2ForCausalLMEagle")})},
    {"VA011", 22, false, "qwen3-8b", kPlain,
     all({field(Field::load_format, "layered"), of_class("TorchNativeLlamaForCausalLM")})},
    {"VA011", 22, false, "qwen3-8b", kPlain,
     all({field(Field::load_format, "layered"), of_class("TorchNativePhi3ForCausalLM")})},
    {"VA011", 22, false, "qwen3-8b", kPlain, all({field(Field::load_format, "remote"), at_path("s3://bucket/model")})},
    {"VA011", 22, false, "qwen3-8b", kPlain, all({field(Field::load_format, "gguf"), at_path("/models/model.gguf")})},
    {"VA001", 23, true, "qwen3-8b", "--device xpu --attention-backend triton --random-seed -1", nothing},
    {"VA001", 23, false, "qwen3-8b", "--device xpu --attention-backend triton --random-seed 0", nothing},
    {"VA001", 23, true, "qwen3-8b", "--device xpu --attention-backend triton --random-seed 4294967296", nothing},
    {"VA001", 23, false, "qwen3-8b", "--device xpu --attention-backend triton --random-seed 4294967295", nothing},
    {"VA001", 23, true, "qwen3-8b", "--device xpu --attention-backend triton --dist-timeout 0", nothing},
    {"VA001", 23, false, "qwen3-8b", "--device xpu --attention-backend triton --dist-timeout 1", nothing},
    {"VA001", 23, true, "qwen3-8b", "--device xpu --attention-backend triton --max-queued-requests 0", nothing},
    {"VA001", 23, false, "qwen3-8b", "--device xpu --attention-backend triton --max-queued-requests 1", nothing},
    {"VA001", 23, true, "qwen3-8b", "--device xpu --attention-backend triton --prefill-max-requests 0", nothing},
    {"VA001", 23, false, "qwen3-8b", "--device xpu --attention-backend triton --prefill-max-requests 1", nothing},
    {"VA001", 23, true, "qwen3-8b", "--device xpu --attention-backend triton --attn-cp-size 0", nothing},
    {"VA001", 23, false, "qwen3-8b", "--device xpu --attention-backend triton --attn-cp-size 1", nothing},
    {"VA001", 23, true, "qwen3-8b", "--device xpu --attention-backend triton --triton-attention-split-tile-size 0",
     nothing},
    {"VA001", 23, false, "qwen3-8b", "--device xpu --attention-backend triton --triton-attention-split-tile-size 1",
     nothing},
    {"VA001", 23, true, "qwen3-8b", "--device xpu --attention-backend triton --triton-attention-num-kv-splits 0",
     nothing},
    {"VA001", 23, false, "qwen3-8b", "--device xpu --attention-backend triton --triton-attention-num-kv-splits 1",
     nothing},
    {"VA001", 23, true, "qwen3-8b", "--device xpu --attention-backend triton --decode-log-interval 0", nothing},
    {"VA001", 23, false, "qwen3-8b", "--device xpu --attention-backend triton --decode-log-interval -1", nothing},
    {"VA001", 23, false, "qwen3-8b", "--device xpu --attention-backend intel_xpu --triton-attention-split-tile-size 0",
     nothing},
    {"VA001", 23, false, "qwen3-8b", "--device xpu --attention-backend intel_xpu --triton-attention-num-kv-splits 0",
     nothing},
    {"VA001", 23, true, "qwen3-8b", "--device xpu --disaggregation-decode-polling-interval 0",
     field(Field::disaggregation_mode, "decode")},
    {"VA001", 23, false, "qwen3-8b", "--device xpu --disaggregation-decode-polling-interval 0",
     field(Field::disaggregation_mode, "prefill")},
    {"VA001", 23, false, "qwen3-8b", "--device xpu --disaggregation-decode-polling-interval -1",
     field(Field::disaggregation_mode, "decode")},
    {"MC007", 11, true, "qwen2.5-7b-instruct", kPlain, field(Field::speculative_algorithm, "DFLASH")},
    {"MC007", 11, false, "qwen3-8b", kPlain, field(Field::speculative_algorithm, "DFLASH")},
    {"MC007", 18, true, "lfm2-1.2b", kPlain, field(Field::speculative_algorithm, "DFLASH")},
    {"MC007", 19, false, "lfm2-1.2b", kPlain, field(Field::speculative_algorithm, "DFLASH")},
    {"MC007", 23, true, "kimi-linear-48b-a3b-instruct", kPlain, field(Field::speculative_algorithm, "DFLASH")},
    {"MC007", 16, true, "kimi-linear-48b-a3b-instruct", kPlain, field(Field::speculative_algorithm, "DSPARK")},
    {"MC007", 17, false, "kimi-linear-48b-a3b-instruct", kPlain, field(Field::speculative_algorithm, "DSPARK")},
    {"MC007", 23, false, "qwen3-8b", kPlain, field(Field::speculative_algorithm, "DSPARK")},
    {"MC007", 23, false, "gemma-2-9b-it", kPlain, field(Field::speculative_algorithm, "NGRAM")},
    {"MC007", 23, true, "gemma-2-9b-it", kPlain, field(Field::aux_hidden_state_capture, "eagle3")},
    {"MC007", 23, false, "qwen2.5-7b-instruct", kPlain, field(Field::aux_hidden_state_capture, "eagle3")},
    {"MC007", 23, true, "qwen2.5-7b-instruct", kPlain, field(Field::aux_hidden_state_capture, "dflash")},
    {"MC007", 11, true, "gemma-3-1b-it", kPlain, field(Field::aux_hidden_state_capture, "eagle3")},
    {"MC007", 12, false, "gemma-3-1b-it", kPlain, field(Field::aux_hidden_state_capture, "eagle3")},
    {"MC007", 23, true, "qwen3-8b", kPlain,
     all({field(Field::speculative_algorithm, "DFLASH"), field(Field::model_impl, "transformers")})},
    {"MC007", 23, false, "gemma-2-9b-it", kPlain,
     all({field(Field::speculative_algorithm, "DFLASH"), field(Field::model_impl, "mindspore")})},
    {"MC007", 23, false, "llama-3.1-8b-eagle3", kPlain, field(Field::speculative_algorithm, "DFLASH")},
    {"MC005", 21, true, "qwen3-8b", kPlain, of_class("LiLiCorrDraftModel")},
    {"MC005", 20, false, "qwen3-8b", kPlain, of_class("LiLiCorrDraftModel")},
    {"MC008", 11, true, "falcon-40b", "--device xpu --model-impl transformers", field(Field::tp_size, 2)},
    {"MC008", 23, true, "falcon-40b", "--device xpu --model-impl transformers", field(Field::pp_size, 2)},
    {"MC008", 23, false, "falcon-40b", "--device xpu --model-impl transformers", nothing},
    {"MC008", 23, true, "gpt-oss-20b", "--device xpu --model-impl transformers", field(Field::tp_size, 2)},
    {"MC008", 23, false, "gpt-oss-20b", "--device xpu --model-impl transformers", field(Field::pp_size, 2)},
    {"MC008", 23, true, "qwen3-8b", "--device xpu --model-impl transformers",
     all({field(Field::pp_size, 2), [](Launch&, ModelFacts& m) { m.model_type = "olmoe"; }})},
    {"MC008", 23, false, "qwen3-8b", "--device xpu --model-impl transformers",
     all({field(Field::tp_size, 2), [](Launch&, ModelFacts& m) { m.model_type = "olmoe"; }})},
    {"MC008", 23, true, "lfm2-1.2b", kPlain, all({field(Field::tp_size, 2), of_class("BitNetForCausalLM")})},
    {"MC008", 23, false, "lfm2-1.2b", kPlain,
     all({field(Field::tp_size, 2), of_class("BitNetForCausalLM"), field(Field::model_impl, "sglang")})},
    {"MO007", 11, true, "qwen3-30b-a3b", kMoe, field(Field::moe_runner_backend, "flashinfer_trtllm")},
    {"MO007", 11, true, "qwen3-30b-a3b", kMoe, field(Field::moe_runner_backend, "flashinfer_trtllm_routed")},
    {"MO007", 11, true, "qwen3-30b-a3b", kMoe, field(Field::moe_runner_backend, "experimental_sgl_trtllm")},
    {"MO007", 11, true, "qwen3-30b-a3b", kMoe, field(Field::moe_runner_backend, "flashinfer_cutlass")},
    {"MO007", 11, true, "qwen3-30b-a3b", kMoe, field(Field::moe_runner_backend, "triton_kernel")},
    {"MO007", 23, false, "qwen3-30b-a3b", kMoe, field(Field::moe_runner_backend, "triton")},
    {"MO007", 23, false, "qwen3-30b-a3b", kMoe,
     all({field(Field::moe_runner_backend, "triton_kernel"), method("fp8")})},
    {"MO007", 23, false, "qwen3-30b-a3b", kMoe,
     all({field(Field::moe_runner_backend, "flashinfer_cutlass"), text("hidden_act", "relu2")})},
    {"MO007", 23, true, "qwen3-30b-a3b", kMoe,
     all({field(Field::moe_runner_backend, "triton_kernel"), text("hidden_act", "relu2")})},
    {"MO005", 23, true, "qwen3-30b-a3b", kMoe, field(Field::moe_a2a_backend, "deepep")},
    {"MO005", 23, true, "qwen3-30b-a3b", kMoe, field(Field::moe_a2a_backend, "deepep_v2")},
    {"MO005", 23, true, "qwen3-30b-a3b", kMoe, field(Field::moe_a2a_backend, "mooncake")},
    {"MO005", 23, true, "qwen3-30b-a3b", kMoe, field(Field::moe_a2a_backend, "nixl")},
    {"MO005", 23, true, "qwen3-30b-a3b", kMoe, field(Field::moe_a2a_backend, "mori")},
    {"MO005", 23, true, "qwen3-30b-a3b", kMoe, field(Field::moe_a2a_backend, "pplx")},
    {"MO005", 23, true, "qwen3-30b-a3b", kMoe, field(Field::moe_a2a_backend, "flashinfer")},
    {"MO005", 23, true, "qwen3-30b-a3b", kMoe, field(Field::moe_a2a_backend, "ascend_fuseep")},
    {"MO005", 23, false, "qwen3-30b-a3b", kMoe, field(Field::moe_a2a_backend, "megamoe")},
    {"MO008", 23, true, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_eplb, true), field(Field::eplb_min_rebalancing_utilization_threshold, 0.99),
          field(Field::expert_balancedness_report_mode, "both")})},
    {"MO008", 23, false, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_eplb, true), field(Field::eplb_min_rebalancing_utilization_threshold, 1.0),
          field(Field::expert_balancedness_report_mode, "both")})},
    {"MO008", 23, false, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_eplb, true), field(Field::eplb_min_rebalancing_utilization_threshold, 0.99),
          field(Field::expert_balancedness_report_mode, "off")})},
    {"MO008", 17, true, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_eplb, true), field(Field::eplb_min_rebalancing_utilization_threshold, 0.99),
          field(Field::enable_expert_distribution_metrics, true)})},
    {"MO008", 17, false, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_eplb, true), field(Field::eplb_min_rebalancing_utilization_threshold, 0.99),
          field(Field::enable_expert_distribution_metrics, false)})},
    {"MO009", 23, false, "qwen3-8b", "--device xpu", field(Field::enable_paged_experts, true)},
    {"MO009", 23, true, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_paged_experts, true), field(Field::paged_experts_num_resident, 7),
          field(Field::tp_size, 1)})},
    {"MO009", 23, false, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_paged_experts, true), field(Field::paged_experts_num_resident, 8),
          field(Field::tp_size, 1), field(Field::moe_runner_backend, "triton")})},
    {"MO009", 23, true, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_paged_experts, true), field(Field::paged_experts_num_resident, 8),
          field(Field::tp_size, 1)})},
    {"MO009", 23, false, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_paged_experts, true), field(Field::paged_experts_num_resident, 8),
          field(Field::tp_size, 1), field(Field::device, "cuda")})},
    {"MO009", 23, true, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_paged_experts, true), field(Field::paged_experts_num_resident, 8),
          field(Field::tp_size, 1), field(Field::moe_runner_backend, "triton"),
          field(Field::cuda_graph_config, full_graph())})},
    {"MO009", 22, false, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_paged_experts, true), field(Field::paged_experts_num_resident, 7),
          field(Field::tp_size, 1)})},
    {"MO009", 23, true, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_paged_experts, true), field(Field::paged_experts_num_resident, 8),
          field(Field::tp_size, 1), field(Field::tp_size, 2)})},
    {"MO009", 23, true, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_paged_experts, true), field(Field::paged_experts_num_resident, 8),
          field(Field::tp_size, 1), field(Field::ep_size, 2)})},
    {"MO009", 23, true, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_paged_experts, true), field(Field::paged_experts_num_resident, 8),
          field(Field::tp_size, 1), field(Field::pp_size, 2)})},
    {"MO009", 23, true, "qwen3-30b-a3b", kMoe,
     all({field(Field::enable_paged_experts, true), field(Field::paged_experts_num_resident, 8),
          field(Field::tp_size, 1), field(Field::dp_size, 2)})},
    {"VA012", 15, false, "qwen3-8b", kPlain, field(Field::kv_cache_dtype, "fp4_e2m1")},
    {"VA012", 16, true, "qwen3-8b", kPlain, field(Field::kv_cache_dtype, "fp4_e2m1")},
    {"VA012", 20, true, "qwen3-8b", kPlain, field(Field::kv_cache_dtype, "fp4_e2m1")},
    {"VA012", 21, false, "qwen3-8b", kPlain, field(Field::kv_cache_dtype, "fp4_e2m1")},
    {"VA012", 15, true, "qwen3-8b", kPlain, field(Field::bf16_gemm_backend, "cutedsl")},
    {"VA012", 19, true, "qwen3-8b", kPlain, field(Field::bf16_gemm_backend, "flashinfer_pr4266")},
    {"VA012", 19, true, "qwen3-8b", kPlain, field(Field::bf16_gemm_backend, "gemv")},
    {"VA012", 23, false, "qwen3-8b", kPlain, field(Field::bf16_gemm_backend, "torch")},
    {"VA012", 23, true, "qwen3-8b", kPlain,
     all({field(Field::disaggregation_decode_enable_radix_cache, true), field(Field::disaggregation_mode, "decode"),
          [](Launch&, ModelFacts& m) { m.is_hybrid_swa_compress = true; }})},
    {"VA012", 22, false, "qwen3-8b", kPlain,
     all({field(Field::disaggregation_decode_enable_radix_cache, true), field(Field::disaggregation_mode, "decode"),
          [](Launch&, ModelFacts& m) { m.is_hybrid_swa_compress = true; }})},
    {"VA012", 23, false, "qwen3-8b", kPlain,
     all({field(Field::disaggregation_decode_enable_radix_cache, true), field(Field::disaggregation_mode, "prefill"),
          [](Launch&, ModelFacts& m) { m.is_hybrid_swa_compress = true; }})},
    {"VA012", 23, false, "qwen3-8b", kPlain,
     all({field(Field::disaggregation_decode_enable_radix_cache, true), field(Field::disaggregation_mode, "decode"),
          [](Launch&, ModelFacts& m) { m.is_hybrid_swa_compress = false; }})},
    {"QN020", 11, true, "qwen3-8b", kFp8, method("qoq")},
    {"MC006", 11, true, "qwen3-8b", kPlain, of_class("DbrxForCausalLM")},
    {"MC006", 17, true, "qwen3-8b", kPlain, of_class("KimiK3ForConditionalGeneration")},
    {"MC006", 16, false, "qwen3-8b", kPlain, of_class("KimiK3ForConditionalGeneration")},
    {"MC006", 23, true, "qwen3-8b", kPlain, of_class("MuseSparkForConditionalGeneration")},
    {"MC006", 22, false, "qwen3-8b", kPlain, of_class("MuseSparkForConditionalGeneration")},
    {"MC006", 14, true, "qwen3-8b", kPlain, of_class("MiMoV2ASRForCausalLM")},
    {"MC006", 13, false, "qwen3-8b", kPlain, of_class("MiMoV2ASRForCausalLM")},
    {"MC006", 11, true, "qwen3-8b", kPlain, hearing("MiMoV2ForCausalLM", true, true)},
    {"MC006", 23, true, "qwen3-8b", kPlain, hearing("MiMoV2FlashForCausalLM", true, true)},
    {"MC006", 23, false, "qwen3-8b", kPlain, hearing("MiMoV2ForCausalLM", true, false)},
    {"MC006", 23, false, "qwen3-8b", kPlain, hearing("MiMoV2ForCausalLM", false, true)},
    {"MC006", 11, true, "qwen3-8b", kPlain, of_class("Grok1ForCausalLM")},
    {"MC006", 18, true, "qwen3-8b", kPlain, of_class("Grok1ForCausalLM")},
    {"MC006", 19, false, "qwen3-8b", kPlain, of_class("Grok1ForCausalLM")},
    {"MC006", 11, true, "qwen3-8b", kPlain, of_class("Grok1ModelForCausalLM")},
    {"MC006", 18, true, "qwen3-8b", kPlain, of_class("Grok1ModelForCausalLM")},
    {"MC006", 19, false, "qwen3-8b", kPlain, of_class("Grok1ModelForCausalLM")},
    {"MC006", 11, true, "qwen3-8b", kPlain, of_class("KimiLinearForCausalLM")},
    {"MC006", 18, true, "qwen3-8b", kPlain, of_class("KimiLinearForCausalLM")},
    {"MC006", 19, false, "qwen3-8b", kPlain, of_class("KimiLinearForCausalLM")},
    {"MC006", 11, true, "qwen3-8b", kPlain, of_class("LongcatFlashForCausalLM")},
    {"MC006", 18, true, "qwen3-8b", kPlain, of_class("LongcatFlashForCausalLM")},
    {"MC006", 19, false, "qwen3-8b", kPlain, of_class("LongcatFlashForCausalLM")},
    {"MC006", 11, true, "qwen3-8b", kPlain, of_class("LlavaLlamaForCausalLM")},
    {"MC006", 19, true, "qwen3-8b", kPlain, of_class("LlavaLlamaForCausalLM")},
    {"MC006", 20, false, "qwen3-8b", kPlain, of_class("LlavaLlamaForCausalLM")},
    {"MC006", 11, true, "qwen3-8b", kPlain, of_class("LlavaQwenForCausalLM")},
    {"MC006", 19, true, "qwen3-8b", kPlain, of_class("LlavaQwenForCausalLM")},
    {"MC006", 20, false, "qwen3-8b", kPlain, of_class("LlavaQwenForCausalLM")},
    {"MC006", 11, true, "qwen3-8b", kPlain, of_class("LlavaMistralForCausalLM")},
    {"MC006", 19, true, "qwen3-8b", kPlain, of_class("LlavaMistralForCausalLM")},
    {"MC006", 20, false, "qwen3-8b", kPlain, of_class("LlavaMistralForCausalLM")},
    {"MC006", 11, true, "qwen3-8b", kPlain, of_class("LlavaVidForCausalLM")},
    {"MC006", 19, true, "qwen3-8b", kPlain, of_class("LlavaVidForCausalLM")},
    {"MC006", 20, false, "qwen3-8b", kPlain, of_class("LlavaVidForCausalLM")},
    {"MC006", 11, true, "qwen3-8b", kPlain, of_class("MiniCPMV")},
    {"MC006", 12, true, "qwen3-8b", kPlain, of_class("MiniCPMV")},
    {"MC006", 13, false, "qwen3-8b", kPlain, of_class("MiniCPMV")},
    {"MC006", 11, true, "qwen3-8b", kPlain, of_class("MiniCPMO")},
    {"MC006", 12, true, "qwen3-8b", kPlain, of_class("MiniCPMO")},
    {"MC006", 13, false, "qwen3-8b", kPlain, of_class("MiniCPMO")},
    {"MC006", 23, false, "qwen3-8b", kPlain,
     all({of_class("DbrxForCausalLM"), field(Field::model_impl, "transformers")})},
    {"MC005", 23, true, "qwen3-8b", kPlain, of_class("DFlashDraftModel")},
    {"MC005", 23, true, "qwen3-8b", kPlain, of_class("DSparkDraftModel")},
    {"MC005", 23, true, "qwen3-8b", kPlain, of_class("Qwen3DSparkModel")},
    {"MC005", 23, true, "qwen3-8b", kPlain, of_class("LingDSparkModel")},
    {"MC005", 23, true, "qwen3-8b", kPlain, of_class("DSparkMiniMaxDraftModel")},
    {"MC005", 23, true, "qwen3-8b", kPlain, of_class("DFlashLagunaForCausalLM")},
    {"MC005", 23, true, "qwen3-8b", kPlain, of_class("MuseGlimmerAssistantModel")},
    {"MC005", 23, true, "qwen3-8b", kPlain, of_class("DFlash2DraftModel")},
    {"MC005", 23, true, "qwen3-8b", kPlain, of_class("DFlash2BeamDraftModel")},
    {"MC005", 23, true, "qwen3-8b", kPlain, of_class("MiniMaxDFlash2DraftModel")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8",
     field(Field::dsa_prefill_backend, "flashmla_sparse")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_prefill_backend, "flashmla_kv")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8",
     field(Field::dsa_prefill_backend, "flashmla_auto")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8",
     field(Field::dsa_prefill_backend, "flashmla_sparse_q8")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8",
     field(Field::dsa_prefill_backend, "flashinfer_sparse_mla")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_prefill_backend, "tilelang")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_prefill_backend, "trtllm")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_prefill_backend, "aiter")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8",
     field(Field::dsa_prefill_backend, "triton_sparse_mla")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8",
     field(Field::dsa_decode_backend, "flashmla_sparse")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_decode_backend, "flashmla_kv")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_decode_backend, "flashmla_auto")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8",
     field(Field::dsa_decode_backend, "flashmla_sparse_q8")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8",
     field(Field::dsa_decode_backend, "flashinfer_sparse_mla")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_decode_backend, "tilelang")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_decode_backend, "trtllm")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_decode_backend, "aiter")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_topk_backend, "flashinfer")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8",
     field(Field::dsa_paged_mqa_logits_backend, "aiter")},
    {"BK025", 23, true, "deepseek-v3.2", "--device xpu --tp-size 8",
     field(Field::dsa_paged_mqa_logits_backend, "cutedsl")},
    {"BK025", 23, false, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_prefill_backend, "fa3")},
    {"BK025", 23, false, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_prefill_backend, "triton")},
    {"BK025", 23, false, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_decode_backend, "fa3")},
    {"BK025", 23, false, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_topk_backend, "torch")},
    {"BK025", 23, false, "deepseek-v3.2", "--device xpu --tp-size 8",
     field(Field::dsa_paged_mqa_logits_backend, "deepgemm")},
    {"BK025", 20, true, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_prefill_backend, "tilelang")},
    {"BK025", 19, false, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::dsa_prefill_backend, "tilelang")},
    {"BK025", 23, false, "deepseek-v3.2", "--device xpu --tp-size 8",
     all({field(Field::dsa_prefill_backend, "tilelang"), field(Field::attention_backend, "triton")})},
    {"SA009", 23, false, "qwen3-8b", "--device xpu --tp-size 4",
     all({field(Field::enable_lora, true), field(Field::enable_dp_attention, true), field(Field::attn_dp_size, 1),
          field(Field::tp_size, 4), field(Field::attn_cp_size, 1), field(Field::lora_backend, "csgmv")})},
    {"SA009", 23, true, "qwen3-8b", "--device xpu --tp-size 4",
     all({field(Field::enable_lora, true), field(Field::enable_dp_attention, true), field(Field::attn_dp_size, 2),
          field(Field::tp_size, 4), field(Field::attn_cp_size, 1), field(Field::lora_backend, "triton")})},
    {"SA009", 23, false, "qwen3-8b", "--device xpu --tp-size 4",
     all({field(Field::enable_lora, true), field(Field::enable_dp_attention, true), field(Field::attn_dp_size, 4),
          field(Field::tp_size, 4), field(Field::attn_cp_size, 1), field(Field::lora_backend, "triton")})},
    {"SA009", 23, true, "qwen3-8b", "--device xpu --tp-size 4",
     all({field(Field::enable_lora, true), field(Field::enable_dp_attention, true), field(Field::attn_dp_size, 2),
          field(Field::tp_size, 4), field(Field::attn_cp_size, 2), field(Field::lora_backend, "triton")})},
    {"SA009", 23, true, "qwen3-8b", "--device xpu --tp-size 4",
     all({field(Field::enable_lora, true), field(Field::enable_dp_attention, true), field(Field::attn_dp_size, 4),
          field(Field::tp_size, 4), field(Field::attn_cp_size, 1), field(Field::lora_backend, "triton_v2")})},
    {"SA009", 21, true, "qwen3-8b", "--device xpu --tp-size 4",
     all({field(Field::enable_lora, true), field(Field::enable_dp_attention, true), field(Field::dp_size, 4),
          field(Field::tp_size, 4), field(Field::attn_cp_size, 1), field(Field::lora_backend, "triton"),
          field(Field::enable_lora_overlap_loading, true)})},
    {"SA009", 21, false, "qwen3-8b", "--device xpu --tp-size 4",
     all({field(Field::enable_lora, true), field(Field::enable_dp_attention, true), field(Field::dp_size, 4),
          field(Field::tp_size, 4), field(Field::attn_cp_size, 1), field(Field::lora_backend, "triton"),
          field(Field::enable_lora_overlap_loading, false)})},
    {"SA009", 20, false, "qwen3-8b", "--device xpu --tp-size 4",
     all({field(Field::enable_lora, true), field(Field::enable_dp_attention, true), field(Field::dp_size, 4),
          field(Field::tp_size, 4), field(Field::attn_cp_size, 1), field(Field::lora_backend, "triton"),
          field(Field::enable_lora_overlap_loading, true)})},
    {"SA009", 21, true, "qwen3-8b", "--device xpu --tp-size 4",
     all({field(Field::enable_lora, true), field(Field::enable_dp_attention, true), field(Field::dp_size, 4),
          field(Field::tp_size, 4), field(Field::attn_cp_size, 1), field(Field::lora_backend, "csgmv")})},
    {"SA009", 20, false, "qwen3-8b", "--device xpu --tp-size 4",
     all({field(Field::enable_lora, true), field(Field::enable_dp_attention, true), field(Field::dp_size, 4),
          field(Field::tp_size, 4), field(Field::attn_cp_size, 1), field(Field::lora_backend, "csgmv")})},
    {"SA010", 23, true, "qwen3-8b", kPlain,
     all({field(Field::enable_flexkv, true), field(Field::disable_radix_cache, false)})},
    {"SA010", 23, false, "qwen3-8b", kPlain,
     all({field(Field::enable_flexkv, true), field(Field::disable_radix_cache, true)})},
    {"SA010", 23, false, "qwen3-8b", kPlain, field(Field::tokenizer_backend, "huggingface")},
    {"SA010", 23, true, "qwen3-8b", kPlain, field(Field::enable_ssl_refresh, true)},
    {"SA010", 23, false, "qwen3-8b", kPlain,
     all({field(Field::enable_ssl_refresh, true), field(Field::device, "cuda")})},
    {"SA003", 15, true, "qwen3-8b", kPlain, field(Field::grammar_backend, "xgrammar")},
    {"SA003", 15, false, "qwen3-8b", kPlain, field(Field::grammar_backend, "none")},
    {"SA003", 16, true, "qwen3-8b", kPlain, field(Field::grammar_backend, "none")},
    {"MC015", 15, false, "qwen3-8b", kPlain, of_class("InklingForConditionalGeneration")},
    {"MC016", 22, true, "qwen3-8b", kRecorded, of_class("NemotronHForCausalLM")},
    {"MC016", 23, false, "qwen3-8b", kRecorded, of_class("NemotronHForCausalLM")},
    {"MC016", 12, true, "qwen3-8b", kRecorded, of_class("Step3p5ForCausalLM")},
    {"MC016", 13, false, "qwen3-8b", kRecorded, of_class("Step3p5ForCausalLM")},
    {"MC016", 11, false, "qwen3-8b", kRecorded, of_class("GptOssForCausalLM")},
    {"MC016", 22, true, "nvidia-nemotron-3-nano-30b-a3b-bf16", kRecorded, nothing},  // with classes of its own beside
    {"MC016", 23, false, "qwen3-8b", kRecorded, with_model_package},
    {"MC016", 11, true, "qwen3-8b", kRecorded, of_class("MixtralForCausalLM")},
    {"MC016", 23, false, "qwen3-8b", kRecorded, of_class("NoSuchClass")},
    {"MC016", 23, false, "qwen3-8b", kRecorded, field(Field::model_impl, "transformers")},
    {"MC016", 23, false, "qwen3-8b", kRecorded, field(Field::encoder_only, true)},
    {"MC016", 17, true, "qwen3-8b", "--device xpu --enable-expert-distribution-metrics", nothing},
    {"MC016", 18, true, "qwen3-8b", "--device xpu --expert-balancedness-report-mode server_log", nothing},
    {"MC015", 11, true, "qwen3-8b", kPlain, of_class("MiniMaxM2ForCausalLM")},
    {"MC015", 18, true, "qwen3-8b", kPlain, of_class("MiniMaxM2ForCausalLM")},
    {"MC015", 19, false, "qwen3-8b", kPlain, of_class("MiniMaxM2ForCausalLM")},
    {"MC015", 16, true, "qwen3-8b", kPlain, of_class("MiniMaxM3SparseForCausalLM")},
    {"MC015", 18, true, "qwen3-8b", kPlain, of_class("MiniMaxM3SparseForConditionalGeneration")},
    {"MC015", 19, false, "qwen3-8b", kPlain, of_class("MiniMaxM3SparseForConditionalGeneration")},
    {"SA010", 15, true, "qwen3-8b", kPlain, variable("SGLANG_ENABLE_REQUEST_DECOMPRESSION", "1")},
    {"SA010", 14, false, "qwen3-8b", kPlain, variable("SGLANG_ENABLE_REQUEST_DECOMPRESSION", "1")},
    {"SA010", 15, false, "qwen3-8b", kPlain, variable("SGLANG_ENABLE_REQUEST_DECOMPRESSION", "0")},
    {"SA010", 23, false, "qwen3-8b", "--device cpu", variable("SGLANG_ENABLE_REQUEST_DECOMPRESSION", "1")},
    {"SA023", 12, true, "deepseek-v2-lite-chat", kPlain, field(Field::disaggregation_mode, "decode")},
    {"SA023", 13, false, "deepseek-v2-lite-chat", kPlain, field(Field::disaggregation_mode, "decode")},
    {"SA023", 20, true, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::disaggregation_mode, "decode")},
    {"SA023", 19, false, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::disaggregation_mode, "decode")},
    {"SA023", 23, false, "deepseek-v3.2", "--device xpu --tp-size 8", field(Field::disaggregation_mode, "prefill")},
    {"SA023", 23, false, "deepseek-v3.2", "--device xpu --tp-size 8",
     all({field(Field::disaggregation_mode, "decode"),
          field(Field::disaggregation_decode_retraction_backup, "host_pool")})},
    {"MO020", 23, false, "qwen3-30b-a3b", kPlain, all({field(Field::ep_size, 4), field(Field::dwdp_size, 4)})},
    {"MO020", 23, true, "qwen3-30b-a3b", kPlain, all({field(Field::ep_size, 4), field(Field::dwdp_size, 1)})},
    {"MO012", 17, true, "qwen3-30b-a3b", kPlain, field(Field::dwdp_size, 2)},
    {"MO012", 23, false, "qwen3-30b-a3b", kPlain, field(Field::dwdp_size, 1)},
    {"MO009", 23, true, "qwen3-30b-a3b", "--device xpu --enable-paged-experts --paged-experts-num-resident 8",
     field(Field::enable_eplb, true)},
    {"MO009", 23, true, "qwen3-30b-a3b", "--device xpu --enable-paged-experts --paged-experts-num-resident 8",
     field(Field::speculative_algorithm, "NGRAM")},
    {"MO009", 23, true, "qwen3-30b-a3b", "--device xpu --enable-paged-experts --paged-experts-num-resident 8",
     field(Field::enable_fused_moe_sum_all_reduce, true)},
    {"MO009", 23, true, "qwen3-30b-a3b", "--device xpu --enable-paged-experts --paged-experts-num-resident 8",
     field(Field::load_format, "dummy")},
    {"MO009", 23, false, "qwen3-30b-a3b",
     "--device xpu --enable-paged-experts --paged-experts-num-resident 8 --moe-runner-backend triton",
     field(Field::load_format, "safetensors")},
    {"QN010", 12, true, "deepseek-v3.2", "--device xpu --tp-size 8 --attention-backend triton", nothing},
    {"QN010", 19, true, "deepseek-v3.2", "--device xpu --tp-size 8 --attention-backend triton", nothing},
    {"QN010", 19, false, "deepseek-v3.2", "--device xpu --tp-size 8 --attention-backend triton --page-size 64",
     nothing},
    {"BK027", 19, true, "deepseek-v3.2", "--device xpu --tp-size 8", nothing},
    {"BK027", 12, true, "deepseek-v3.2", "--device xpu --tp-size 8", nothing},
    {"BK027", 20, false, "deepseek-v3.2", "--device xpu --tp-size 8", nothing},
    {"BK027", 19, true, "deepseek-v3.2",
     "--device xpu --tp-size 8 --attention-backend dsa --decode-attention-backend triton", nothing},
    {"BK027", 19, true, "deepseek-v3.2",
     "--device xpu --tp-size 8 --attention-backend dsa --prefill-attention-backend triton", nothing},
    {"BK027", 19, false, "deepseek-v3.2", "--device xpu --tp-size 8 --decode-attention-backend triton", nothing},
    {"BK028", 16, false, "deepseek-v3.2", "--device xpu --tp-size 8 --attention-backend triton", nothing},
    {"BK028", 17, true, "deepseek-v3.2", "--device xpu --tp-size 8", nothing},
    {"BK028", 18, false, "deepseek-v3.2", "--device xpu --tp-size 8 --attention-backend triton", nothing},
    {"BK026", 12, true, "deepseek-v3.2", "--device xpu --tp-size 8 --attention-backend triton", nothing},
    {"BK026", 23, true, "deepseek-v3.2",
     "--device xpu --tp-size 8 --attention-backend dsa --decode-attention-backend triton", nothing},
    {"BK026", 23, false, "deepseek-v3.2",
     "--device xpu --tp-size 8 --attention-backend dsa --prefill-attention-backend triton", nothing},
    {"HY015", 11, true, "qwen3-8b", kPlain, with_window_layers({})},
    {"HY015", 23, false, "qwen3-8b", kPlain, with_window_layers({0})},
    // a stage of the 36 layers, which before 0.5.21 counts the next one's first layer for its own
    {"HY015", 23, true, "qwen3-8b", "--device xpu --pp-size 2", with_window_layers({0, 17})},
    {"HY015", 23, false, "qwen3-8b", "--device xpu --pp-size 2", with_window_layers({0, 18})},
    {"HY015", 21, true, "qwen3-8b", "--device xpu --pp-size 2", with_window_layers({18, 19})},
    {"HY015", 20, false, "qwen3-8b", "--device xpu --pp-size 2", with_window_layers({18, 19})},
    {"HY015", 23, false, "qwen3-8b", kPlain,
     all({with_window_layers({}),
          [](Launch&, ModelFacts& m) { m.hf_config = m.hf_config.with("compress_ratios", Value::list({4})); }})},
    {"MC036", 13, true, "qwen2.5-1.5b", kPlain, asked("Cohere2VisionForConditionalGeneration", {})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain,
     all({asked("Cohere2VisionForConditionalGeneration", {}), text("num_experts", 8)})},
    // layers without experts: the model has 28
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain,
     all({asked("Cohere2VisionForConditionalGeneration", {}), text("first_k_dense_replace", 28)})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain,
     all({asked("Cohere2VisionForConditionalGeneration", {}), text("first_k_dense_replace", 27)})},
    {"MC036", 11, true, "qwen2.5-1.5b", kPlain, asked("DeepseekV2ForCausalLM", {{"n_routed_experts", 8}})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("DeepseekV3ForCausalLM", {{"n_routed_experts", 8}})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("DeepseekV32ForCausalLM", {{"n_routed_experts", 8}})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("GlmMoeDsaForCausalLM", {{"n_routed_experts", 8}})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain, asked("DeepseekV3ForCausalLM", {})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain,
     asked("DeepseekV3ForCausalLM", {{"n_routed_experts", 8}, {"moe_layer_freq", 1}})},
    // as transformers' classes write them
    {"MC036", 21, true, "qwen2.5-1.5b", kPlain,
     all({asked("DiffusionGemmaForBlockDiffusion", {}), text("num_experts", Value())})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain,
     all({asked("DiffusionGemmaForBlockDiffusion", {}), text("num_experts", 128)})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain,
     asked("MiniMaxM3SparseForConditionalGeneration", {{"vision_config", Value::dict({{"patch_size", 14}})}})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain,
     asked("MiniMaxM3SparseForConditionalGeneration",
           {{"vision_config",
             Value::dict({{"img_token_compression_config", Value::dict({{"temporal_patch_size", 2}})}})}})},
    {"MC040", 23, true, "qwen3-8b", kPlain, asked("LongcatFlashForCausalLM", {{"rope_parameters", Value()}})},
    {"MC040", 23, false, "qwen3-8b", kPlain,
     asked("LongcatFlashForCausalLM", {{"rope_parameters", Value::dict({{"rope_type", "default"}})}})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("Glm4MoeLiteForCausalLM", {})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("ExaoneMoeForCausalLM", {})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("HYV3ForCausalLM", {})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("MiniMaxM2ForCausalLM", {})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain, asked("MiniMaxM2ForCausalLM", {{"scoring_func", "sigmoid"}})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain,
     asked("Qwen2VLForConditionalGeneration", {{"vision_config", Value::dict({{"depth", 32}})}})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain,
     asked("Ernie4_5_VLMoeForConditionalGeneration", {{"vision_config", Value::dict({{"depth", 32}})}})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain,
     asked("Qwen2VLForConditionalGeneration", {{"vision_config", Value::dict({{"in_chans", 3}})}})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain, asked("Qwen2VLForConditionalGeneration", {})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain,
     all({asked("Qwen2VLForConditionalGeneration", {{"vision_config", Value::dict({{"depth", 32}})}}),
          [](Launch&, ModelFacts& m) { m.is_language_model_only = true; }})},
    {"MC036", 11, true, "qwen2.5-1.5b", kPlain, asked("Gemma4ForConditionalGeneration", {{"vision_config", Value()}})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain,
     asked("Gemma4ForConditionalGeneration", {{"vision_config", Value::dict({{"patch_size", 16}})}})},
    {"MC037", 11, true, "qwen2.5-1.5b", kPlain, asked("Exaone4ForCausalLM", {{"sliding_window_pattern", 4}})},
    {"MC037", 23, false, "qwen2.5-1.5b", kPlain, asked("Exaone4ForCausalLM", {{"sliding_window_pattern", 0}})},
    {"MC037", 23, false, "qwen2.5-1.5b", kPlain, asked("Exaone4ForCausalLM", {{"sliding_window_pattern", "LLLG"}})},
    {"MC037", 23, false, "qwen2.5-1.5b", kPlain, asked("Exaone4ForCausalLM", {{"sliding_window_pattern", 4}}, "")},
    {"MC037", 23, false, "qwen2.5-1.5b", kPlain, asked("Qwen2ForCausalLM", {{"sliding_window_pattern", 4}})},
    {"MC036", 11, true, "qwen2.5-1.5b", kPlain, asked("BertModel", {})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("BertForSequenceClassification", {})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("XLMRobertaModel", {})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("XLMRobertaForSequenceClassification", {})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("Contriever", {})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("LlamaForClassification", {})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain, asked("LlamaForClassification", {{"classification_out_size", 4}})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain, asked("BertModel", {{"position_embedding_type", "absolute"}})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("BertModel", {{"position_embedding_type", "relative_key"}})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("BertModel", {{"position_embedding_type", "relative_key"}}, "")},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain, asked("Qwen2ForCausalLM", {})},
    {"MC036", 11, true, "qwen2.5-1.5b", kPlain, only_saying("ExaoneForCausalLM", {{"transformers_version", "4.41.0"}})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, only_saying("ExaoneForCausalLM", {{"auto_map", Value::dict({})}})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain, only_saying("ExaoneForCausalLM", {{"hidden_size", 4096}})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain,
     only_saying("ExaoneForCausalLM", {{"auto_map", Value::dict({})}, {"pad_token_id", Value()}})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain,
     only_saying("Step3VLForConditionalGeneration", {{"auto_map", Value::dict({})}})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain,
     only_saying("Step3VLForConditionalGeneration", {{"auto_map", Value::dict({})}, {"pad_token_id", 1}})},
    {"MC036", 23, true, "qwen2.5-1.5b", kPlain, asked("Gemma2ForCausalLM", {})},
    {"MC036", 11, true, "qwen2.5-1.5b", kPlain, asked("Gemma2ForSequenceClassification", {})},
    {"MC036", 23, false, "qwen2.5-1.5b", kPlain, asked("Gemma2ForCausalLM", {{"hidden_act", "gelu_pytorch_tanh"}})},
    {"MC036", 23, false, "bge-reranker-v2-m3", kPlain, asked("XLMRobertaForSequenceClassification", {}, "")},
    {"MC015", 16, true, "qwen3-8b", kPlain, of_class("InklingForConditionalGeneration")},
    {"MC015", 23, true, "qwen3-8b", kPlain, of_class("InklingForConditionalGenerationMTP")},
    {"MC015", 23, false, "qwen3-8b", kPlain,
     all({of_class("InklingForConditionalGeneration"), field(Field::model_impl, "transformers")})},
    {"SA010", 23, true, "qwen3-8b", kPlain, field(Field::tokenizer_backend, "fastokens")},
    {"SA011", 13, true, "qwen3-8b", kPlain, field(Field::radix_cache_backend, "mine")},
    {"SA011", 12, false, "qwen3-8b", kPlain, field(Field::radix_cache_backend, "mine")},
    {"SA010", 23, true, "qwen3-8b", kPlain, stored_in("mooncake")},
    {"SA010", 23, true, "qwen3-8b", kPlain, stored_in("nixl")},
    {"SA010", 23, true, "qwen3-8b", kPlain, stored_in("hf3fs")},
    {"SA010", 23, false, "qwen3-8b", kPlain,
     all({stored_in("hf3fs"), field(Field::hicache_storage_backend_extra_config, "{}")})},
    {"SA010", 23, true, "qwen3-8b", kPlain, stored_in("aibrix")},
    {"SA010", 23, true, "qwen3-8b", kPlain, stored_in("eic")},
    {"SA010", 23, true, "qwen3-8b", kPlain, stored_in("simm")},
    {"SA010", 23, true, "qwen3-8b", kPlain, stored_in("mori")},
    {"SA010", 23, true, "qwen3-8b", kPlain, stored_in("tensorcast")},
    {"SA010", 23, false, "qwen3-8b", kPlain, stored_in("file")},
    {"SA010", 22, false, "qwen3-8b", kPlain, stored_in("mooncake")},
    {"SA010", 23, false, "qwen3-8b", kPlain, field(Field::hicache_storage_backend, "mooncake")},
    {"SA010", 23, true, "qwen3-8b", kPlain, field(Field::use_ray, true)},
    {"SA010", 23, true, "qwen3-8b", kPlain, field(Field::enable_trace, true)},
    {"SA010", 23, true, "qwen3-30b-a3b", kPlain, field(Field::kt_weight_path, "/weights")},
    {"SA010", 23, false, "qwen3-8b", kPlain, field(Field::kt_weight_path, "/weights")},
    {"VA012", 23, true, "gemma-2-9b-it", "--device xpu --kv-cache-dtype fp8_e4m3",
     field(Field::quantization_param_path, "/scales.json")},
    {"VA012", 23, false, "gemma-2-9b-it", "--device xpu", field(Field::quantization_param_path, "/scales.json")},
    {"VA012", 23, false, "qwen3-8b", "--device xpu --kv-cache-dtype fp8_e4m3",
     field(Field::quantization_param_path, "/scales.json")},
    {"VA012", 23, false, "gemma-2-9b-it", "--device xpu --kv-cache-dtype fp8_e4m3",
     all({of_class("MiMoV2FlashForCausalLM"), field(Field::quantization_param_path, "/scales.json")})},
    {"VA012", 20, true, "qwen3-30b-a3b", "--device xpu", field(Field::enable_return_routed_experts, true)},
    {"VA012", 19, false, "qwen3-30b-a3b", "--device xpu", field(Field::enable_return_routed_experts, true)},
    {"VA012", 21, false, "qwen3-30b-a3b", "--device xpu", field(Field::enable_return_routed_experts, true)},
    {"VA012", 21, true, "qwen3-8b", "--device xpu --disaggregation-mode prefill",
     field(Field::disaggregation_enable_kv_checksum, true)},
    {"VA012", 21, true, "qwen3-8b", "--device xpu --disaggregation-mode decode",
     field(Field::disaggregation_enable_kv_checksum, true)},
    {"VA012", 23, false, "qwen3-8b", "--device xpu", field(Field::disaggregation_enable_kv_checksum, true)},
    {"SA013", 23, false, "qwen3-8b", "--device xpu --disaggregation-mode prefill --disable-overlap-schedule", nothing},
    {"SA013", 23, false, "qwen3-8b", "--device xpu --disaggregation-mode prefill --disable-radix-cache", nothing},
    {"SA013", 22, false, "qwen3-8b", "--device xpu --disaggregation-mode prefill",
     variable("SGLANG_DISAGG_STAGING_BUFFER", "1")},
    {"SA013", 23, true, "qwen3-8b", "--device xpu --disaggregation-mode prefill",
     variable("SGLANG_DISAGG_STAGING_BUFFER", "1")},
    {"SA016", 18, false, "qwen3-8b", "--device xpu --disaggregation-mode decode",
     field(Field::disaggregation_decode_enable_radix_cache, true)},
    {"SA016", 18, false, "qwen3-8b", "--device xpu --disaggregation-mode decode",
     field(Field::enable_priority_scheduling, true)},
    {"SA016", 20, true, "qwen3-8b", "--device xpu --disaggregation-mode decode",
     all({field(Field::enable_priority_scheduling, true), field(Field::disable_priority_preemption, true)})},
    {"SA016", 20, false, "qwen3-8b", "--device xpu --disaggregation-mode prefill", nothing},
    {"SA014", 22, false, "qwen3-8b", "--device xpu --disaggregation-mode prefill", nothing},
    {"SA014", 23, false, "qwen3-8b", "--device xpu --disaggregation-mode prefill",
     variable("SGLANG_DISAGGREGATION_ALL_CP_RANKS_TRANSFER", "1")},
    {"EN003", 23, false, "qwen3-8b", kPlain, variable("SGLANG_PLATFORM", "")},
    {"EN005", 23, true, "qwen3-8b", "--device xpu --disaggregation-mode prefill --disaggregation-transfer-backend nixl",
     variable("SGLANG_DISAGGREGATION_NIXL_BACKEND_PARAMS", "1")},
    {"EN005", 23, true, "qwen3-8b", "--device xpu --disaggregation-mode decode --disaggregation-transfer-backend nixl",
     variable("SGLANG_DISAGGREGATION_NIXL_BACKEND_PARAMS", "1")},
    {"EN005", 23, false, "qwen3-8b", "--device xpu --disaggregation-transfer-backend nixl",
     variable("SGLANG_DISAGGREGATION_NIXL_BACKEND_PARAMS", "1")},
    {"EN006", 16, false, "qwen3-8b",
     "--device xpu --disaggregation-mode prefill --disaggregation-transfer-backend nixl --chunked-prefill-size -1",
     variable("SGLANG_DISAGG_STAGING_BUFFER", "1")},
    {"EN006", 17, true, "qwen3-8b", "--device xpu --disaggregation-mode prefill --chunked-prefill-size -1",
     variable("SGLANG_DISAGG_STAGING_BUFFER", "1")},
    {"EN006", 22, true, "qwen3-8b", "--device xpu --disaggregation-mode decode",
     variable("SGLANG_DISAGG_STAGING_BUFFER", "1")},
    {"EN006", 23, false, "qwen3-8b", "--device xpu --disaggregation-mode decode --chunked-prefill-size -1",
     variable("SGLANG_DISAGG_STAGING_BUFFER", "1")},
    {"EN006", 23, false, "qwen3-8b", "--device xpu --disaggregation-mode prefill --chunked-prefill-size -1",
     variable("SGLANG_DISAGG_STAGING_BUFFER", "0")},
    {"EN006", 17, true, "qwen3-8b", "--device xpu --disaggregation-mode prefill --pp-size 2",
     variable("SGLANG_DISAGG_STAGING_BUFFER", "1")},
    {"EN006", 23, false, "qwen3-8b", "--device xpu --disaggregation-mode prefill --pp-size 2",
     variable("SGLANG_DISAGG_STAGING_BUFFER", "1")},
    {"MO004", 23, false, "qwen3-30b-a3b", "--device xpu ",
     all({text("num_experts", 256), text("num_experts_per_tok", 8)})},
    {"MO004", 23, true, "qwen3-30b-a3b", "--device xpu ",
     all({text("num_experts", 257), text("num_experts_per_tok", 8)})},
    {"MO004", 23, true, "qwen3-30b-a3b", "--device xpu ",
     all({text("num_experts", 256), text("num_experts_per_tok", 9)})},
    {"SP002", 23, false, "deepseek-v2-lite-chat", "--device xpu --decode-attention-backend intel_xpu", tree(1, 1)},
    {"SP002", 23, true, "deepseek-v2-lite-chat", "--device xpu --decode-attention-backend intel_xpu", tree(2, 1)},
    {"KR003", 15, true, "qwen3-0.6b", kXpu, nothing, "2026-06-28"},
    {"KR003", 15, false, "qwen3-0.6b", kXpu, nothing, "2026-06-29"},
    {"KR004", 20, true, "qwen3-0.6b", kXpu, nothing, "2026-08-21"},
    {"KR004", 20, false, "qwen3-0.6b", kXpu, nothing, "2026-08-22"},
    {"KR005", 16, false, "qwen3-0.6b", "--device xpu", nothing, "2026-07-11"},
    {"KR005", 17, true, "qwen3-0.6b", "--device xpu", nothing, "2026-07-10"},
    {"KR005", 17, false, "qwen3-0.6b", "--device xpu", nothing, "2026-07-11"},
    {"KR005", 18, true, "qwen3-0.6b", "--device xpu", nothing, "2026-07-24"},
    {"KR005", 18, false, "qwen3-0.6b", "--device xpu", nothing, "2026-07-25"},
    {"KR005", 20, true, "qwen3-0.6b", "--device xpu", nothing, "2026-07-24"},
    {"KR005", 20, false, "qwen3-0.6b", "--device xpu", nothing, "2026-07-25"},
    {"KR005", 21, true, "qwen3-0.6b", "--device xpu", nothing, "2026-08-21"},
    {"KR005", 21, false, "qwen3-0.6b", "--device xpu", nothing, "2026-08-22"},
    {"KR007", 17, true, "qwen3.5-9b", kPlain, nothing, "2026-07-19"},
    {"KR007", 17, false, "qwen3.5-9b", kPlain, nothing, "2026-07-20"},
    {"KR007", 18, false, "qwen3.5-9b", kPlain, nothing, "2026-07-20"},
    {"KR007", 19, true, "qwen3.5-9b", kPlain, nothing, "2026-07-21"},
    {"KR007", 19, false, "qwen3.5-9b", kPlain, nothing, "2026-07-22"},
    {"KR007", 19, true, "lfm2-1.2b", kPlain, nothing, "2026-07-21"},
    {"KR007", 19, false, "qwen3-0.6b", kPlain, nothing, "2026-07-21"},
    {"KI013", 23, false, "qwen3-0.6b", "--device xpu --tp-size 2",
     all({card(kB70), [](Launch&, ModelFacts& m) { m.quantization = "fp8"; }})},
    {"KI013", 23, false, "qwen3-30b-a3b-fp8", "--device xpu --tp-size 2", all({card(kB70), text("num_experts", 0)})},
    {"LC004", 20, false, "llama-4-scout-17b-16e", "--device xpu --tp-size 8", local_chunk(97, 0)},
    {"QN006", 19, false, "qwen3-8b", "--device xpu --disable-radix-cache --tp-size 1", gptq_in_order_of_activation()},
    {"QN006", 19, true, "qwen3-8b", "--device xpu --disable-radix-cache --tp-size 2", gptq_in_order_of_activation()},
    {"QN020", 23, false, "qwen3-8b", kFp8, method("quark_int4fp8_moe")},
    {"QN020", 23, false, "qwen3-8b", kFp8, method("fp8")},
    {"QN020", 23, true, "qwen3-8b", kPlain, stored("mxfp8")},
    {"QN020", 11, true, "qwen3-8b", kPlain, stored("w8a8_int8")},
    {"QN020", 23, true, "qwen3-30b-a3b", kPlain, stored("w4afp8")},
    {"QN020", 23, false, "qwen3-8b", kPlain, stored("w4afp8")},
    {"QN020", 11, true, "qwen3-8b", kFp8, method("w4afp8")},
    {"QN020", 20, true, "qwen3-8b", kFp8, method("mxfp4")},
    {"QN020", 19, false, "qwen3-8b", kFp8, method("mxfp4")},
    {"QN020", 20, false, "qwen3-8b", kFp8, stored("mxfp4")},
    {"QN020", 18, true, "qwen3-30b-a3b", kFp8, method("modelopt_fp4")},
    {"QN020", 17, false, "qwen3-30b-a3b", kFp8, method("modelopt_fp4")},
    {"QN020", 18, false, "qwen3-30b-a3b", kFp8, stored("modelopt_fp4")},
    {"QN020", 18, false, "qwen3-8b", kFp8, method("modelopt_fp4")},
    {"QN025", 18, true, "qwen3-8b", kFp8, method("modelopt_fp4")},
    {"QN025", 17, false, "qwen3-8b", kFp8, method("modelopt_fp4")},
    {"QN025", 18, false, "qwen3-30b-a3b", kFp8, method("modelopt_fp4")},
    {"QN025", 18, false, "qwen3-8b", kFp8, stored("modelopt_fp4")},
    {"QN017", 17, true, "qwen3-8b", kFp8, method("modelopt_fp4")},
    {"QN017", 18, false, "qwen3-8b", kFp8, method("modelopt_fp4")},
    {"QN017", 18, true, "qwen3-8b", kFp8, all({method("modelopt_fp4"), field(Field::modelopt_export_path, "out")})},
    // AutoRound: what is packed as GPTQ's, by its packing or its backend, in whole or in part; what as AWQ's.
    {"QN021", 11, true, "qwen3-8b", kPlain, auto_round({})},
    {"QN021", 23, true, "qwen3-8b", kPlain, auto_round({{"packing_format", "auto_round:auto_gptq"}})},
    {"QN021", 23, true, "qwen3-8b", kPlain,
     auto_round({{"packing_format", "auto_round:auto_awq"}, {"backend", "gptq"}})},
    {"QN021", 23, true, "qwen3-8b", kPlain, auto_round({{"packing_format", "auto_round:fp8"}})},
    {"QN021", 23, false, "qwen3-8b", kPlain, auto_round({{"packing_format", "auto_round:auto_awq"}})},
    {"QN021", 23, true, "qwen3-8b", kPlain, auto_round({{"packing_format", "auto_round:auto_awq"}}, 8)},
    {"QN021", 23, true, "qwen3-8b", kPlain, auto_round({{"packing_format", "auto_round:auto_awq"}}, 2)},
    {"QN021", 23, true, "qwen3-8b", kPlain,
     auto_round({{"packing_format", "auto_round:auto_awq"}, {"extra_config", part_of("bits", 8)}})},
    {"QN021", 23, false, "qwen3-8b", kPlain,
     auto_round({{"packing_format", "auto_round:auto_awq"}, {"extra_config", part_of("bits", 16)}})},
    {"QN021", 11, true, "qwen3-30b-a3b", kPlain, auto_round({{"packing_format", "auto_round:auto_awq"}})},
    {"QN022", 11, true, "qwen3-8b", kPlain, quark("per_tensor")},
    {"QN022", 23, true, "qwen3-30b-a3b", kPlain, quark("per_group")},
    {"QN022", 20, true, "qwen3-8b", kPlain, quark("per_block")},
    {"QN022", 21, false, "qwen3-8b", kPlain, quark("per_block")},
    {"MO022", 18, false, "qwen3-30b-a3b", kPlain, text("num_experts", 60)},
    {"MO022", 19, true, "qwen3-30b-a3b", kPlain, text("num_experts", 60)},
    {"MO022", 23, false, "qwen3-30b-a3b", kOnTriton, text("num_experts", 60)},
    {"MO022", 23, false, "qwen3-30b-a3b", kMoe, field(Field::ep_size, 4)},
    {"MO022", 23, true, "qwen3-30b-a3b", kMoe, all({field(Field::ep_size, 4), text("num_experts", 16)})},
    {"MO022", 23, true, "qwen3-30b-a3b", kMoe,
     all({field(Field::ep_size, 4), field(Field::ep_num_redundant_experts, 4)})},
    {"MO022", 23, false, "qwen3-30b-a3b-fp8", kMoe, text("num_experts", 60)},
    {"MO022", 23, false, "qwen3-8b", "--device xpu --dtype float16", nothing},
    {"MO021", 23, true, "qwen3-30b-a3b", kOnFlashInfer, method("modelopt_fp8")},
    {"MO021", 23, false, "qwen3-8b", kOnFlashInfer, method("modelopt_fp8")},
    {"MO021", 23, false, "qwen3-30b-a3b", kOnFlashInfer, fp8_groups()},
    {"MO021", 23, false, "qwen3-30b-a3b", kOnTriton, method("modelopt_fp8")},
    {"MO021", 22, true, "qwen3-30b-a3b", kPlain,
     all({method("modelopt_fp8"), field(Field::moe_runner_backend, "flashinfer_trtllm")})},
    {"MO021", 23, false, "qwen3-30b-a3b", kPlain,
     all({method("modelopt_fp8"), field(Field::moe_runner_backend, "flashinfer_trtllm")})},
    {"QN031", 23, true, "qwen3-30b-a3b", kOnDeepGemm, fp8_groups()},
    {"QN031", 23, false, "qwen3-8b", kOnDeepGemm, fp8_groups()},
    {"QN031", 23, false, "qwen3-30b-a3b", kPlain, fp8_groups()},
    {"QN031", 23, false, "qwen3-30b-a3b", kOnTriton, fp8_groups()},
    {"QN031", 23, false, "qwen3-30b-a3b", kOnDeepGemm, fp8_groups("re:.*mlp.experts.*")},
    {"QN031", 23, false, "qwen3-30b-a3b", kOnDeepGemm, int4_groups({{"group_size", 128}})},
    {"QN020", 11, true, "qwen3-8b", kPlain, stored("petit_nvfp4")},
    {"QN020", 11, false, "qwen3-8b", kPlain, method("petit_nvfp4")},
    {"QN023", 21, true, "qwen3-30b-a3b", kPlain, int4_groups({{"group_size", 128}})},
    {"QN023", 20, false, "qwen3-30b-a3b", kPlain, int4_groups({{"group_size", 128}})},
    {"QN023", 21, false, "qwen3-8b", kPlain, int4_groups({{"group_size", 128}})},
    {"QN023", 21, false, "qwen3-30b-a3b", kOnTriton, int4_groups({{"group_size", 128}})},
    {"QN023", 21, false, "qwen3-30b-a3b", kOnTriton, int4_groups({{"group_size", 32}})},
    {"QN023", 21, true, "qwen3-30b-a3b", kOnTriton, int4_groups({{"group_size", 64}})},
    {"QN023", 21, true, "qwen3-30b-a3b", kOnTriton, int4_groups({{"group_size", 128}, {"actorder", "static"}})},
    {"QN023", 21, false, "qwen3-30b-a3b", kPlain, int4_groups({{"group_size", 128}}, "re:.*mlp.experts.*")},
    {"QN023", 21, true, "qwen3-30b-a3b", kPlain, int4_groups({{"group_size", 128}}, "re:.*shared_experts.*")},
    {"QN008", 21, false, "qwen3-8b", kPlain, int4_groups({{"group_size", 256}})},
    {"QN008", 21, false, "qwen3-8b", kPlain, int4_groups({{"group_size", 32}})},
    {"QN008", 21, true, "qwen3-8b", kPlain, int4_groups({{"group_size", 16}})},
    {"QN008", 21, true, "qwen3-8b", kPlain, int4_groups({{"group_size", Value()}, {"strategy", "channel"}})},
    {"QN008", 21, true, "qwen3-8b", kPlain, int4_groups({{"group_size", 128}, {"actorder", "group"}})},
    {"QN008", 21, false, "qwen3-8b", kPlain, int4_groups({{"group_size", 128}, {"actorder", "weight"}})},
    {"QN024", 23, true, "qwen3-8b", kPlain, stored("bitsandbytes", {{"load_in_4bit", true}})},
    {"QN024", 11, true, "qwen3-8b", kPlain, stored("bitsandbytes", {{"load_in_8bit", true}})},
    {"QN024", 23, true, "qwen3-8b", kOnBytes, stored("bitsandbytes", {{"load_in_4bit", true}})},
    {"QN024", 23, false, "qwen3-8b", kOnBytes, stored("bitsandbytes", {{"load_in_8bit", true}})},
    {"QN024", 23, true, "qwen3-8b", kOnBytesTwice, stored("bitsandbytes", {{"load_in_8bit", true}})},
    {"QN024", 23, true, "qwen3-8b", kOnBytes, nothing},
    {"QN024", 23, false, "qwen3-8b", kPlain, nothing},
    {"QN026", 17, true, "qwen3-8b", kPlain, field(Field::torchao_config, "int4wo-128")},
    {"QN026", 18, false, "qwen3-8b", kPlain, field(Field::torchao_config, "int4wo-128")},
    {"QN006", 19, true, "qwen3-30b-a3b", kPlain, stored("moe_wna16", {{"quant_method", "gptq"}, {"bits", 4}})},
    {"QN006", 18, false, "qwen3-30b-a3b", kPlain, stored("moe_wna16", {{"quant_method", "gptq"}, {"bits", 4}})},
    {"QN006", 19, true, "qwen3-8b", kPlain, gptq_with("+:.*down_proj.*", part_of("bits", 8))},
    {"QN006", 19, true, "qwen3-8b", kPlain, gptq_with(".*down_proj.*", part_of("group_size", 16))},
    {"QN006", 19, false, "qwen3-8b", kPlain, gptq_with("-:.*down_proj.*", part_of("bits", 8))},
    {"QN006", 19, false, "qwen3-8b", kPlain, gptq_with("+:.*down_proj.*", part_of("bits", 4))},
    {"QN020", 16, true, "qwen3-8b", kFp8, all({method("mxfp8"), variable("SGLANG_FORCE_MXFP8_BLOCK_CONVERT", "1")})},
    {"QN020", 17, false, "qwen3-8b", kFp8, all({method("mxfp8"), variable("SGLANG_FORCE_MXFP8_BLOCK_CONVERT", "1")})},
    {"QN020", 17, true, "qwen3-8b", kFp8, all({method("mxfp8"), variable("SGLANG_FORCE_MXFP8_BLOCK_CONVERT", "0")})},
    {"QN020", 17, true, "qwen3-8b", kFp8,
     all({method("w8a8_int8"), variable("SGLANG_FORCE_MXFP8_BLOCK_CONVERT", "1")})},
    {"QN008", 21, true, "qwen3-8b", kPlain, packed_weights(3)},
    {"QN008", 21, false, "qwen3-8b", kPlain, packed_weights(4)},
    {"QN008", 21, true, "qwen3-8b", kPlain, packed_weights(5)},
    {"QN009", 21, false, "qwen3-8b", kPlain, fp8_blocks(1, 128)},
    {"QN009", 21, true, "qwen3-8b", kPlain, fp8_blocks(2, 128)},
    {"QN009", 21, true, "qwen3-8b", kPlain, fp8_blocks(127, 128)},
    {"QN009", 21, false, "qwen3-8b", kPlain, fp8_blocks(128, 128)},
    {"QN009", 21, true, "qwen3-8b", kPlain, fp8_blocks(129, 128)},
    {"QN009", 21, true, "qwen3-8b", kPlain, fp8_blocks(128, 127)},
    {"QN009", 21, true, "qwen3-8b", kPlain, fp8_blocks(128, 129)},
    {"PL003", 23, true, "qwen3-0.6b", "--device xpu --tp-size 8", voxtral("encoder_attention_heads", 20)},
    {"PL003", 23, false, "qwen3-0.6b", "--device xpu --tp-size 8", voxtral("encoder_attention_heads", 16)},
    {"PL003", 23, true, "qwen3-0.6b", "--device xpu --tp-size 8", voxtral("encoder_attention_heads", 17)},
    {"PL003", 23, true, "qwen3-0.6b", "--device xpu --tp-size 8", voxtral("encoder_attention_heads", 15)},
    {"PL003", 23, true, "qwen3-0.6b", "--device xpu --tp-size 8", voxtral("num_attention_heads", 20)},
    {"PL003", 23, false, "qwen3-0.6b", "--device xpu --tp-size 8", voxtral("num_attention_heads", 16)},
    {"PL003", 23, true, "qwen3-0.6b", "--device xpu --tp-size 8", voxtral("num_attention_heads", 17)},
    {"PL003", 23, true, "qwen3-0.6b", "--device xpu --tp-size 8", voxtral("num_attention_heads", 15)},
};

TEST(RulesByHand, BeginAtTheirBounds) {
  for (const Bound& b : kBounds) {
    EXPECT_EQ(fires({b.rule, b.release, 0, b.model, b.args, b.edit, b.kernel}, b.release), b.told)
        << b.rule << " in line " << &b - kBounds;
  }
}

// The release that a finding names does without it, and no nearer one does that has no other error.
TEST(RulesByHand, NameTheNearestReleaseThatIsSilent) {
  for (const Bound& b : kBounds) {
    if (!b.told) continue;
    const Row row{b.rule, b.release, 0, b.model, b.args, b.edit, b.kernel};
    const auto told = diagnostics(row, testing::newest_of(b.release));
    const auto at = std::ranges::find(told, b.rule, &Diagnostic::rule);
    if (at == told.end()) continue;
    const auto has_error = [&](int patch) {
      return std::ranges::any_of(diagnostics(row, patch),
                                 [](const Diagnostic& d) { return d.severity == Severity::kError; });
    };
    constexpr std::string_view kNamed = "SGLang 0.5.";
    for (auto start = at->fix.find(kNamed); start != std::string::npos; start = at->fix.find(kNamed, start + 1)) {
      const int named = std::stoi(at->fix.substr(start + kNamed.size()));
      const int nearer = named > b.release ? named - 1 : named + 1;
      EXPECT_FALSE(fires(row, named)) << b.rule << " in line " << &b - kBounds << ": " << at->fix;
      EXPECT_TRUE(fires(row, nearer) || has_error(nearer)) << b.rule << " in line " << &b - kBounds << ": " << at->fix;
    }
  }
}

// Groups go over the ranks; a single one is copied to each, unless a method of quantisation is there to cut it.
TEST(RulesByHand, GroupsOfAMixerGoOverTheRanks) {
  struct Mixer {
    int groups;
    const char* method;  // "" = none
    int ranks;
    bool told;
  };
  for (const Mixer& mixer :
       {Mixer{8, "", 8, false}, Mixer{8, "", 16, true}, Mixer{1, "", 2, false}, Mixer{1, "fp8", 2, true},
        Mixer{1, "fp8", 1, false}, Mixer{2, "fp8", 2, false}, Mixer{2, "fp8", 4, true}}) {
    const Edit edit = [&](Launch& l, ModelFacts& m) {
      for (const char* key : {"n_groups", "mamba_n_groups"}) text(key, mixer.groups)(l, m);
      if (mixer.method[0] != '\0') m.quantization = mixer.method;
      set(l, Field::tp_size, mixer.ranks);
    };
    const Row row{"PL018", 23, 0, "nvidia-nemotron-3-nano-30b-a3b-bf16", "--device xpu --disable-radix-cache", edit};
    EXPECT_EQ(fires(row, 23), mixer.told) << mixer.groups << ' ' << mixer.method << ' ' << mixer.ranks;
  }
}

// Bailing's linear attention has groups of its own; a model without such layers has none.
TEST(RulesByHand, GroupsOfLinearAttentionGoOverTheRanks) {
  struct Mixer {
    int every;
    int groups;
    int ranks;
    bool told;
  };
  for (const Mixer& mixer :
       {Mixer{5, 4, 4, false}, Mixer{5, 4, 8, true}, Mixer{5, 6, 4, true}, Mixer{1, 4, 8, false}}) {
    const Edit edit = [&](Launch& l, ModelFacts& m) {
      m.architectures = {"BailingMoeV2_5ForCausalLM"};
      text("layer_group_size", mixer.every)(l, m);
      text("group_norm_size", mixer.groups)(l, m);
      set(l, Field::tp_size, mixer.ranks);
    };
    EXPECT_EQ(fires({"PL018", 23, 0, "qwen3-8b", "--device xpu", edit}, 23), mixer.told) << mixer.groups;
  }
}

// Each rank has its own part in host memory, and no more than its weights.
TEST(RulesByHand, WeightsInHostMemoryAreThoseOfAllRanksHere) {
  struct Host {
    const char* args;
    std::optional<std::int64_t> mib;
    bool told;
  };
  const Host rows[] = {{"--device xpu --cpu-offload-gb 4", 4095, true},
                       {"--device xpu --cpu-offload-gb 4", 4096, false},
                       {"--device xpu --quantization fp8 --cpu-offload-gb 12", 12287, true},
                       {"--device xpu --quantization fp8 --cpu-offload-gb 12", 12288, false},
                       {"--device xpu --cpu-offload-gb 4", std::nullopt, false},
                       {"--device xpu --cpu-offload-gb 0", 1, false},
                       {"--device cpu --cpu-offload-gb 4", 1, false},
                       {"--device xpu --tp-size 2 --cpu-offload-gb 4", 8191, true},
                       {"--device xpu --tp-size 2 --cpu-offload-gb 4", 8192, false},
                       {"--device xpu --dp-size 2 --cpu-offload-gb 4", 8191, true},
                       {"--device xpu --pp-size 2 --cpu-offload-gb 4", 8191, true},
                       // Qwen3-8B has 15.3 GiB.
                       {"--device xpu --cpu-offload-gb 64", 16 * 1024, false},
                       {"--device xpu --cpu-offload-gb 64", 15 * 1024, true}};
  for (const Host& row : rows) {
    const Edit edit = [&](Launch& l, ModelFacts&) { l.device.host_memory_mib = row.mib; };
    EXPECT_EQ(fires({"PL014", 23, 0, "qwen3-8b", row.args, edit}, 23), row.told)
        << row.args << ' ' << row.mib.value_or(0);
  }
}

TEST(RulesByHand, ARanksWeightsAreComparedWithTheMemoryOfItsNode) {
  struct Host {
    const char* args;
    std::int64_t mib;
    bool told;
  };
  // Qwen3-8B has 15.256 GiB, and 7.63 on each of two ranks.
  const Host rows[] = {{"--device cpu", 15621, true},
                       {"--device cpu", 15622, false},
                       {"--device cpu", 0, false},  // not known
                       {"--device cpu --tp-size 2", 7 * 1024, true},
                       {"--device cpu --tp-size 2", 8 * 1024, false},
                       {"--device xpu", 1024, false}};
  for (const Host& row : rows) {
    const Edit edit = [&](Launch& l, ModelFacts&) { l.device.host_memory_mib = row.mib; };
    EXPECT_EQ(fires({"PL022", 23, 0, "qwen3-8b", row.args, edit}, 23), row.told) << row.args << ' ' << row.mib;
  }
}

// A host's memory that the host pool of a hierarchical cache fits into, and the least it does not.
TEST(RulesByHand, AHostHoldsItsSideOfTheHierarchicalCache) {
  struct Host {
    int release;
    const char* model;
    const char* args;
    std::int64_t mib;
    bool told;
  };
  const std::string hierarchical = "--device xpu --enable-hierarchical-cache --mem-fraction-static 0.85 ";
  // 64 GB are 61,036 MiB, 10 GiB stay free.
  const Host rows[] = {{23, "qwen3-8b", "--hicache-size 64", 61030 + 10240, true},
                       {23, "qwen3-8b", "--hicache-size 64", 61100 + 10240, false},
                       {23, "qwen3-8b", "--hicache-size 64 --tp-size 2", 61100 + 10240, true},
                       {23, "qwen3-8b", "--hicache-size 64 --tp-size 2", 2 * 61100 + 10240, false},
                       {21, "minicpm3-4b", "--hicache-size 64", 60000, true},
                       {20, "minicpm3-4b", "--hicache-size 64", 60000, false},
                       {23, "qwen3-8b", "--hicache-ratio 100", 65536, true},
                       {23, "qwen3-8b", "--hicache-ratio 2", 65536, false},
                       {23, "qwen3-8b", "--hicache-ratio 100", 0, false},
                       {23, "qwen3.5-9b", "--hicache-size 64 --page-size 1", 60000, false}};
  for (const Host& row : rows) {
    const Edit edit = [&](Launch& l, ModelFacts&) { l.device.host_memory_mib = row.mib; };
    const std::string args = hierarchical + row.args;
    EXPECT_EQ(fires({"SA012", row.release, 0, row.model, args.c_str(), edit}, row.release), row.told)
        << row.args << ' ' << row.mib;
  }
}

// Words that stand in a finding only from a bound on.
struct Words {
  const char* rule;
  int release;
  const char* model;
  const char* args;
  Edit edit;
  const char* words;
  bool stand;
  const char* kernel = "";
};

Edit host_memory(std::optional<std::int64_t> mib) {
  return all(
      {card("Intel(R) Arc(TM) Pro B70 Graphics"), [=](Launch& l, ModelFacts&) { l.device.host_memory_mib = mib; }});
}
Edit unknown_variables(int count) {
  return [=](Launch& l, ModelFacts&) {
    for (int i = 0; i < count; ++i) l.env["SGLANG_NO_RELEASE_READS_THIS_" + std::to_string(i)] = "1";
  };
}

TEST(RulesByHand, SayWhatABoundAdds) {
  constexpr const char* kFlex = "--device xpu --attention-backend flex_attention";
  const Words rows[] = {
      {"BK020", 23, "gemma-3-1b-it", kFlex, soft_cap(0.0), "capped", false},
      {"BK020", 23, "gemma-3-1b-it", kFlex, soft_cap(1.0), " and logits capped at 1,", true},
      {"BK020", 23, "qwen3-0.6b", kFlex, soft_cap(1.0), "with logits capped at 1,", true},
      {"BK022", 23, "qwen3-0.6b", kFlex, field(Field::mem_fraction_static, 0.9999), "enough for", false},
      {"BK022", 23, "qwen3-0.6b", kFlex, field(Field::mem_fraction_static, 0.99), "enough for", true},
      {"KI010", 23, "qwen3-0.6b", "--device xpu --tp-size 2", host_memory({}), "which has", false},
      {"KI010", 23, "qwen3-0.6b", "--device xpu --tp-size 2", host_memory(1), "of which a NUMA node has 0 GiB", true},
      {"KI010", 23, "qwen3-0.6b", "--device xpu --tp-size 2", host_memory(1048576), "of which a NUMA node has 1024 GiB",
       true},
      {"EN001", 23, "qwen3-0.6b", "--device xpu", unknown_variables(32), " more", false},
      {"EN001", 23, "qwen3-0.6b", "--device xpu", unknown_variables(33), " and 1 more", true},
      {"EN001", 23, "qwen3-0.6b", "--device xpu", unknown_variables(34), " and 2 more", true},
      {"KR005", 17, "qwen3-0.6b", "--device xpu", nothing, "compress_norm_rope_store", true, "2026-06-01"},
      {"KR005", 18, "qwen3-0.6b", "--device xpu", nothing, "compress_norm_rope_store", false, "2026-06-01"},
      {"KR005", 20, "qwen3-0.6b", "--device xpu", nothing, "load_cache_to_device_buffer_mla", false, "2026-06-01"},
      {"KR005", 21, "qwen3-0.6b", "--device xpu", nothing, "load_cache_to_device_buffer_mla", true, "2026-06-01"},
  };
  for (const Words& row : rows) {
    const auto told = diagnostics({row.rule, row.release, 0, row.model, row.args, row.edit, row.kernel}, row.release);
    const auto at = std::ranges::find(told, row.rule, &Diagnostic::rule);
    ASSERT_NE(at, told.end()) << row.rule << " says nothing";
    EXPECT_EQ(at->message.find(row.words) != std::string::npos, row.stand) << row.words << ": " << at->message;
  }
}

// What a finding says and advises, release by release: on either side of a condition that only moves its words.
TEST(RulesByHand, SayWhatTheReleaseHas) {
  constexpr const char* kStaged = "--device xpu --disaggregation-mode prefill --pp-size 2";
  constexpr const char* kPacked = "--device xpu --disable-radix-cache --moe-runner-backend triton --tp-size 4";
  constexpr const char* kEmbeds = "--device xpu --is-embedding --chunked-prefill-size -1";
  const Edit staging = variable("SGLANG_DISAGG_STAGING_BUFFER", "1");
  const Edit adapters =
      all({field(Field::enable_lora, true), field(Field::enable_dp_attention, true), field(Field::dp_size, 2),
           field(Field::attn_dp_size, 2), field(Field::lora_backend, "triton")});
  const Edit torch_native = field(Field::attention_backend, "torch_native");
  const Edit deterministic = all({card("Intel(R) Arc(TM) Pro B60 Graphics"), field(Field::attention_backend, "fa3"),
                                  field(Field::enable_deterministic_inference, true)});
  const auto fp8_of = [](const char* name) { return [=](Launch&, ModelFacts& m) { m.quantization = name; }; };
  const Words rows[] = {
      {"MC013", 19, "deepseek-v4-flash", "--device xpu --tp-size 8", nothing, "SGLANG_OPT_USE_TILELANG_MHC_PRE", true},
      {"MC013", 19, "deepseek-v4-flash", "--device xpu --tp-size 8", nothing, "SGLANG_OPT_USE_TILELANG_MHC_POST", true},
      {"MC013", 19, "deepseek-v4-flash", "--device xpu --tp-size 8", nothing, "SGLANG_OPT_DEEPGEMM_HC_PRENORM", true},
      {"MC013", 20, "deepseek-v4-flash", "--device xpu --tp-size 8", nothing, "TILELANG", false},
      {"MC013", 20, "deepseek-v4-flash", "--device xpu --tp-size 8", nothing, "HC_PRENORM", false},
      {"BK001", 18, "qwen3-8b", "--device xpu", deterministic, "intel_xpu", false},
      {"BK001", 19, "qwen3-8b", "--device xpu", deterministic, "intel_xpu", true},
      {"EN006", 17, "qwen3-8b", kStaged, staging, "--pp-size 2 is not staged", true},
      {"EN006", 18, "qwen3-8b", kStaged, staging, "--pp-size 2 is not staged", false},
      {"DC007", 13, "qwen3-0.6b", kMoe, all({legacy_over(2), of_class("DeepseekV2ForCausalLM")}),
       "--enable-prefill-context-parallel", true},
      {"DC007", 14, "qwen3-8b", kMoe, all({shared_over(2), variable("SGLANG_ENABLE_CP_V2", "1")}),
       "--enable-prefill-cp", true},
      {"SA003", 15, "qwen3-8b", "--device xpu", nothing, "--grammar-backend none", true},
      {"SA003", 16, "qwen3-8b", "--device xpu", nothing, "--grammar-backend none", false},
      {"MC015", 17, "qwen3-8b", "--device xpu", of_class("InklingForConditionalGeneration"), "helion", true},
      {"MC015", 18, "qwen3-8b", "--device xpu", of_class("InklingForConditionalGeneration"), "nvidia-cutlass-dsl",
       true},
      {"MO011", 18, "deepseek-v4-flash", kPacked, nothing, "SGLANG_USE_SGL_XPU=1", true},
      {"MO011", 19, "deepseek-v4-flash", kPacked, nothing, "SGLANG_USE_SGL_XPU=1", false},
      {"MO011", 19, "deepseek-v4-flash", kPacked, nothing, "drop --moe-runner-backend", true},
      {"SA009", 21, "qwen3-8b", "--device xpu --tp-size 4", adapters, "--attn-dp-size", false},
      {"SA009", 22, "qwen3-8b", "--device xpu --tp-size 4", adapters, "--attn-dp-size 4", true},
      {"WP003", 16, "embeddinggemma-300m", kEmbeds, torch_native, "SGLang 0.5.17", true},
      {"WP003", 17, "embeddinggemma-300m", kEmbeds, torch_native, "SGLang 0.5.17", false},
      {"WP007", 16, "embeddinggemma-300m", kEmbeds, nothing, "SGLang 0.5.17", true},
      {"QN030", 18, "qwen3-8b", kPlain, fp8_of("modelopt_fp8"), "SGLang 0.5.19", true},
      {"PL003", 23, "qwen3-0.6b", "--device xpu --tp-size 8", voxtral("encoder_attention_heads", 20),
       "--tp-size 4 or 2", true},
      {"PL003", 23, "qwen3-0.6b", "--device xpu --tp-size 8", voxtral("encoder_attention_heads", 15), "--tp-size 1",
       true},
      {"QN030", 18, "qwen3-30b-a3b", "--device xpu --disable-radix-cache --tp-size 4", fp8_of("fp8"), "SGLang 0.5.19",
       true},
  };
  for (const Words& row : rows) {
    const auto told = diagnostics({row.rule, row.release, 0, row.model, row.args, row.edit, row.kernel}, row.release);
    const auto at = std::ranges::find(told, row.rule, &Diagnostic::rule);
    EXPECT_NE(at, told.end()) << row.rule << " says nothing in 0.5." << row.release;
    if (at == told.end()) continue;
    const std::string text = at->message + " | " + at->fix;
    EXPECT_EQ(text.find(row.words) != std::string::npos, row.stand)
        << row.rule << " in 0.5." << row.release << ": " << text;
  }
}

// Two ranks fewer and one more, 64 at most, and the fewest groups of attention's own, in the words of the release.
TEST(RulesByHand, WidthsThatFitAreNamedFromTheNearestOn) {
  struct Widths {
    int release;
    int ranks;
    int heads;
    const char* fix;
  };
  for (const Widths& w :
       {Widths{21, 3, 32, "--tp-size 2, 1 or 4, or --dp-size 3 --enable-dp-attention"},
        Widths{22, 3, 32, "--tp-size 2, 1 or 4, or --attn-dp-size 3"},
        Widths{23, 12, 32, "--tp-size 8, 4 or 16, or --attn-dp-size 3"},
        Widths{23, 6, 20, "--tp-size 5, 4 or 10, or --attn-dp-size 3"},
        Widths{23, 2, 1, "--tp-size 1, or --attn-dp-size 2"}, Widths{23, 64, 1, "--tp-size 1, or --attn-dp-size 64"},
        Widths{23, 65, 1, "--tp-size 1"}, Widths{23, 66, 64, "--tp-size 64 or 32, or --attn-dp-size 33"},
        Widths{23, 67, 64, "--tp-size 64 or 32"}, Widths{23, 67, 65, "--tp-size 13 or 5"},
        Widths{23, 62, 64, "--tp-size 32, 16 or 64, or --attn-dp-size 31"}}) {
    const Edit edit = all({field(Field::tp_size, w.ranks), heads(w.heads, w.heads)});
    const auto told = diagnostics({"PL003", w.release, 0, "qwen3-8b", "--device xpu", edit}, w.release);
    const auto at = std::ranges::find(told, "PL003", &Diagnostic::rule);
    ASSERT_NE(at, told.end()) << w.ranks << " ranks, " << w.heads << " heads";
    EXPECT_EQ(at->fix, w.fix) << w.ranks << " ranks, " << w.heads << " heads";
  }
}

// The older names of sharing prompts out are carried over to a new one, which nobody typed.
TEST(RulesByHand, SharedPromptsAreCalledAsTheyWereTyped) {
  const auto told = [](int patch, const std::string& options) {
    const auto all = check(testing::launch_of(testing::newest_of(patch),
                                              {.model = "qwen3-30b-a3b",
                                               .args = "--device xpu --tp-size 4 --attn-cp-size 4 " + options}))
                         .diagnostics;
    const auto at = std::ranges::find(all, "DC007", &Diagnostic::rule);
    return at == all.end() ? std::string() : at->message.substr(0, at->message.find(' ')) + " | " + at->fix;
  };
  const std::string old = "--enable-prefill-context-parallel";
  const auto alone = [](const std::string& name) { return name + " | drop " + name + " and --attn-cp-size"; };
  for (const int patch : {11, 13, 14, 19}) {
    EXPECT_TRUE(told(patch, old).starts_with(alone(old))) << told(patch, old);
  }
  const std::string sparse = "--enable-dsa-prefill-context-parallel";
  EXPECT_TRUE(told(19, sparse).starts_with(alone(sparse))) << told(19, sparse);
  const std::string both = told(14, "--enable-prefill-cp --cp-strategy zigzag " + old);
  EXPECT_TRUE(both.starts_with("--enable-prefill-cp | drop --enable-prefill-cp and " + old + " and --attn-cp-size"))
      << both;
}

TEST(RulesByHand, ExpertsOfOtherRanksAreNoErrorWhereLaterKernelsMayLeaveThemOut) {
  const auto severity = [](int release) {
    const auto told = diagnostics({"MO020", release, 0, "qwen3-30b-a3b", kMoe, field(Field::ep_size, 2)}, release);
    const auto at = std::ranges::find(told, "MO020", &Diagnostic::rule);
    return at == told.end() ? Severity::kInfo : at->severity;
  };
  EXPECT_EQ(severity(19), Severity::kError);
  EXPECT_EQ(severity(20), Severity::kWarning);
}

TEST(RulesByHand, WeightsBetweenRanksAreNoErrorWhereABranchLaunchesThem) {
  const auto severity = [](int release) {
    const auto told = diagnostics({"MO012", release, 0, "qwen3-30b-a3b", kMoe, field(Field::dwdp_size, 2)}, release);
    const auto at = std::ranges::find(told, "MO012", &Diagnostic::rule);
    return at == told.end() ? Severity::kInfo : at->severity;
  };
  EXPECT_EQ(severity(21), Severity::kError);
  EXPECT_EQ(severity(22), Severity::kWarning);
}

// The first release that runs an algorithm on XPU is the way out of a refusal.
TEST(RulesByHand, RefusedAlgorithmsNameTheReleaseThatTakesThem) {
  struct Refused {
    int release;
    const char* model;
    const char* args;
    const char* first;
  };
  for (const Refused& row : {Refused{20, "qwen3-8b", "--device xpu --speculative-algorithm NGRAM", "SGLang 0.5.21"},
                             Refused{19, "llama-3.1-8b-instruct",
                                     "--device xpu --speculative-algorithm DFLASH --speculative-draft-model-path "
                                     "{models}/llama3.1-8b-instruct-dflash-ultrachat",
                                     "SGLang 0.5.20"},
                             Refused{22, "qwen3-14b",
                                     "--device xpu --speculative-algorithm DSPARK --speculative-draft-model-path "
                                     "{models}/dspark_qwen3_14b_block7",
                                     "SGLang 0.5.23"}}) {
    const auto told =
        check(testing::launch_of(testing::newest_of(row.release), {.model = row.model, .args = row.args})).diagnostics;
    const auto at = std::ranges::find(told, "RF006", &Diagnostic::rule);
    EXPECT_NE(at, told.end()) << row.args;
    if (at == told.end()) continue;
    EXPECT_NE(at->fix.find(row.first), std::string::npos) << at->fix;
  }
}

// A host that holds too little is warned of; one that nobody asked is not.
TEST(RulesByHand, AHostOfUnknownMemoryIsNotWarnedOf) {
  const auto severity = [](std::optional<std::int64_t> mib) {
    const auto told = diagnostics({"KI010", 23, 0, "qwen3-0.6b", "--device xpu --tp-size 2", host_memory(mib)}, 23);
    const auto at = std::ranges::find(told, "KI010", &Diagnostic::rule);
    return at == told.end() ? Severity::kError : at->severity;
  };
  EXPECT_EQ(severity({}), Severity::kInfo);
  EXPECT_EQ(severity(1), Severity::kWarning);
  EXPECT_EQ(severity(1048576), Severity::kInfo);
}

// What a rule says of one value it says, or leaves unsaid, of every value of that kind: the backends that 0.5.23
// registers (attention_registry.py) or drafts with (draft_utils.py), and the devices that torch knows.
struct Kind {
  const char* rule;
  bool told;
  Field field;
  const char* args;
  std::vector<const char*> values;
};

constexpr const char* kDrafts =
    "--device xpu --speculative-algorithm EAGLE --speculative-draft-model-path {models}/llama-3.1-8b-eagle "
    "--speculative-draft-attention-backend triton";

TEST(RulesByHand, HoldForEveryValueOfAKind) {
  const Kind kinds[] = {
      {"BK001",
       true,
       Field::attention_backend,
       "--device xpu",
       {"fa3", "fa4", "flashinfer", "flashmla", "trtllm_mha", "trtllm_mla", "cutlass_mla", "cutedsl_mla",
        "tokenspeed_mla", "hpc_ops", "dual_chunk_flash_attn", "aiter", "wave", "ascend", "llada2_cfg_flashinfer",
        "minicpm_flashattn", "minicpm_flashinfer", "intel_amx"}},
      {"BK001",
       false,
       Field::attention_backend,
       "--device xpu",
       {"triton", "torch_native", "flex_attention", "intel_xpu"}},
      {"VA003", false, Field::device, "--device xpu", {"xpu", "cuda", "cpu", "hpu", "npu", "musa", "mps", "tpu"}},
      {"VA003", false, Field::device, "--device xpu", {"xpu:0", "cuda:12"}},
      {"VA003", true, Field::device, "--device xpu", {"foo", "foo:0", "xpu:", "xpu:x", "xpu:0x", "xpu0", ":0"}},
      {"VA007", true, Field::device, "--device xpu", {"cuda", "hpu", "npu", "musa", "mps", "tpu"}},
      {"VA007", false, Field::device, "--device xpu", {"xpu", "cpu"}},
      {"VA004", true, Field::attention_backend, "--device xpu", {"dsa", "nsa", "qsa", "dsv4", "compressed"}},
      {"VA005",
       false,
       Field::speculative_draft_attention_backend,
       kDrafts,
       {"flashinfer", "triton",     "intel_amx",    "intel_xpu",      "aiter",       "fa3", "hybrid_linear_attn",
        "flashmla",   "trtllm_mha", "trtllm_mla",   "cutedsl_mla",    "dsa",         "nsa", "ascend",
        "fa4",        "dsv4",       "torch_native", "tokenspeed_mla", "cutlass_mla", "qsa"}},
      {"VA005", true, Field::speculative_draft_attention_backend, kDrafts, {"flex_attention", "wave"}},
  };
  for (const Kind& kind : kinds) {
    for (const char* value : kind.values) {
      const Row row = {kind.rule, 23,
                       0,         "llama-3.1-8b-instruct",
                       kind.args, [&](Launch& l, ModelFacts& /*m*/) { set(l, kind.field, value); }};
      EXPECT_EQ(fires(row, 23), kind.told) << kind.rule << " of " << value;
    }
  }
}

// By what SGLang 0.5.23 built, and refused to build, of these with --model-impl transformers.
TEST(RulesByHand, WhatModelsOfTransformersAskForIsToldOfConfigurationsWithoutIt) {
  const auto root = [](const char* key, const Value& value) -> Edit {
    return [=](Launch&, ModelFacts& m) { m.hf_config = m.hf_config.with(key, value); };
  };
  const auto both = [](const Edit& one, const Edit& other) -> Edit {
    return [=](Launch& l, ModelFacts& m) { one(l, m), other(l, m); };
  };
  const auto experts = [](const char* type, const char* count, const char* each) -> Edit {
    return [=](Launch&, ModelFacts& m) {
      m.hf_text_config = Value::dict({{"model_type", type}, {count, 8}, {each, 2}, {"intermediate_size", 64}});
    };
  };
  const auto targets = [](const char* target) -> Edit {
    return stored("compressed-tensors",
                  {{"config_groups", Value::dict({{"group_0", Value::dict({{"targets", Value::list({target})}})}})}});
  };
  const Value remote = Value::dict({{"AutoConfig", "configuration_x.XConfig"}});
  const struct {
    const char* rule;
    int release;
    bool told;
    Edit edit;
  } rows[] = {
      {"MC042", 12, true, by_transformers("KimiK2ForCausalLM", "kimi_k2")},
      {"MC042", 11, false, by_transformers("KimiK2ForCausalLM", "kimi_k2")},
      {"MC042", 23, true, by_transformers("ExaoneForCausalLM", "exaone")},
      {"MC042", 23, true, by_transformers("Qwen3OmniMoeForConditionalGeneration", "qwen3_omni_moe")},
      {"MC042", 23, false, by_transformers("DeepseekV3ForCausalLM", "deepseek_v3")},
      {"MC042", 23, false, by_transformers("Lfm2ForCausalLM", "lfm2")},  // a class by transformers' name
      {"MC042", 23, false,
       both(by_transformers("KimiK2ForCausalLM", "kimi_k2"), root("auto_map", Value::dict({{"AutoModel", "x.X"}})))},
      // read by SGLang's class whatever the checkpoint brings
      {"MC042", 23, true, both(by_transformers("ExaoneForCausalLM", "exaone"), root("auto_map", remote))},
      {"MC043", 23, true, by_transformers("Olmo3ForCausalLM", "olmo3")},
      {"MC043", 21, false, by_transformers("Olmo3ForCausalLM", "olmo3")},
      {"MC043", 23, false,
       both(by_transformers("Olmo3ForCausalLM", "olmo3"),
            root("rope_parameters", Value::dict({{"full_attention", Value::dict({})}})))},
      {"MC043", 15, true, by_transformers("Cohere2MoeForCausalLM", "cohere2_moe")},
      {"MC043", 14, false, by_transformers("Cohere2MoeForCausalLM", "cohere2_moe")},
      {"MC043", 23, true, by_transformers("Gemma3nForConditionalGeneration", "gemma3n")},
      {"MC043", 22, true, both(by_transformers("ZayaForCausalLM", "zaya"), root("layer_types", Value()))},
      {"MC043", 21, false, both(by_transformers("ZayaForCausalLM", "zaya"), root("layer_types", Value()))},
      {"MC043", 22, true, by_transformers("Qwen3ASRForConditionalGeneration", "qwen3_asr")},
      {"MC043", 21, false, by_transformers("Qwen3ASRForConditionalGeneration", "qwen3_asr")},
      {"MC043", 22, true, by_transformers("Cosmos3EdgeForConditionalGeneration", "cosmos3_edge")},
      {"MC043", 21, false, by_transformers("Cosmos3EdgeForConditionalGeneration", "cosmos3_edge")},
      {"MC038", 22, true, by_transformers("VibeVoiceForConditionalGeneration", "vibevoice")},
      {"MC038", 21, false, by_transformers("VibeVoiceForConditionalGeneration", "vibevoice")},
      {"MC043", 23, false,
       both(by_transformers("LongcatFlashForCausalLM", "longcat_flash"), root("num_layers", Value(28)))},
      {"MC044", 23, true, experts("gemma4_text", "num_experts", "top_k_experts")},
      {"MC044", 23, true, experts("unheard_of", "num_experts_of_all", "num_experts_per_tok")},
      {"MC044", 23, false, experts("ernie4_5_moe", "moe_num_experts", "moe_k")},  // asked for by other names
      {"MC044", 23, false, experts("unheard_of", "num_experts", "top_k")},
      {"MC044", 23, false,
       [](Launch&, ModelFacts& m) {
         m.hf_text_config = Value::dict({{"num_experts", 1}});
       }},
      {"MC044", 23, true,
       [](Launch&, ModelFacts& m) {
         m.hf_text_config = Value::dict({{"num_experts", 2}});
       }},
      {"MC044", 23, true,
       [](Launch&, ModelFacts& m) {
         m.hf_text_config = Value::dict({{"moe_intermediate_size", 1}});
       }},
      {"MC045", 23, true, targets("Linear")},
      {"MC045", 23, true, targets("re:.*mlp.*")},
      {"MC045", 23, false, targets("model.layers.0.mlp.up_proj")},
      {"MC045", 23, true, stored("mxfp4")},
      {"MC045", 23, false, stored("fp8")},
      {"MC042", 22, false, by_transformers("Cosmos3EdgeModel", "cosmos3_edge")},  // a class by transformers' name
      {"MC042", 21, true, by_transformers("Cosmos3EdgeModel", "cosmos3_edge")},
      {"MC042", 15, false, by_transformers("Cohere2MoeModel", "cohere2_moe")},
      {"MC046", 11, true, by_transformers("CsmForConditionalGeneration", "csm")},
      {"MC046", 23, true, by_transformers("Owlv2Model", "owlv2")},
      {"MC046", 23, false, by_transformers("MoshiForCausalLM", "moshi")},
      // what has no model to build is told once
      {"MC045", 23, false, both(by_transformers("ExaoneForCausalLM", "exaone"), stored("mxfp4"))},
      {"MC044", 23, false,
       both(by_transformers("KimiK2ForCausalLM", "kimi_k2"), experts("kimi_k2", "num_experts", "x"))},
      {"MC038", 23, false,
       both(by_transformers("ExaoneForCausalLM", "exaone"),
            [](Launch&, ModelFacts& m) { m.hf_text_config = m.hf_text_config.with("model_type", Value("phi3")); })},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(fires({row.rule, row.release, 0, "qwen3-8b", kTransformers, row.edit}, row.release), row.told)
        << row.rule << " of row " << &row - rows;
  }
}

TEST(RulesByHand, MixedLayersOfEightBitsAreNoNvfp4) {
  EXPECT_TRUE(fires({"QN016", 23, 0, "qwen3-8b", kPlain, in_file("modelopt_mixed", layers_in("NVFP4"))}, 23));
  EXPECT_FALSE(fires({"QN016", 23, 0, "qwen3-8b", kPlain, in_file("modelopt_mixed", layers_in("FP8"))}, 23));
}

// Recorded of 0.5.23: joined layers are checked on one rank, too, and dense layers are cut over all ranks under
// data-parallel attention.
TEST(RulesByHand, WidthsOfDenseLayersAreCheckedWhateverAttentionDoes) {
  const auto told = [](const char* rule, const char* model, const char* args, const Edit& edit) {
    return fires({rule, 23, 0, model, args, edit}, 23);
  };
  const auto wide = [](std::int64_t width) -> Edit {
    return [=](Launch&, ModelFacts& m) { m.hf_text_config = m.hf_text_config.with("intermediate_size", Value(width)); };
  };
  const Edit narrow_output = [](Launch&, ModelFacts& m) { m.v_head_dim = 2; };
  // the down projection, which is joined with nothing, has blocks of its own and is whole on one rank
  const Edit deep_blocks = [&](Launch& l, ModelFacts& m) {
    wide(12416)(l, m);
    quantisation(m, "fp8", {{"quant_method", "fp8"}, {"weight_block_size", Value::list({128, 256})}});
  };
  EXPECT_FALSE(told("QN002", "qwen3-8b-fp8", "--device xpu", deep_blocks));
  constexpr const char* kGroups = "--device xpu --tp-size 8 --attn-dp-size 4";
  EXPECT_TRUE(told("QN002", "qwen3-8b-fp8", "--device xpu", wide(10944)));
  EXPECT_FALSE(told("QN002", "qwen3-8b-fp8", "--device xpu", wide(10880)));
  EXPECT_FALSE(told("QN002", "qwen3-8b-fp8", "--device xpu", narrow_output));
  EXPECT_TRUE(told("QN002", "qwen3-8b-fp8", "--device xpu --tp-size 2", narrow_output));
  EXPECT_TRUE(told("QN002", "qwen3-8b-fp8", kGroups, wide(10944)));
  EXPECT_FALSE(told("QN002", "qwen3-8b-fp8", kGroups, wide(12288)));
  EXPECT_TRUE(told("PL009", "qwen3-8b", kGroups, wide(12284)));
  EXPECT_FALSE(told("PL009", "qwen3-8b", kGroups, wide(12288)));
  EXPECT_TRUE(told("QN014", "qwen3-8b-awq", kGroups, wide(11776)));
  EXPECT_FALSE(told("QN014", "qwen3-8b-awq", kGroups, wide(12288)));
  // of a checkpoint that leaves some modules plain, by their names
  const auto without = [&](const char* name) -> Edit {
    return [=](Launch& l, ModelFacts& m) {
      wide(11776)(l, m);
      quantisation(m, "awq",
                   {{"bits", 4}, {"group_size", 128}, {"modules_to_not_convert", Value::list({Value(name)})}});
    };
  };
  EXPECT_TRUE(told("QN014", "qwen3-8b-awq", kGroups, without("visual")));
  EXPECT_FALSE(told("QN014", "qwen3-8b-awq", kGroups, without("mlp")));
}

// MiMo-V2's fused projections leave the check of FP8 blocks out; its other layers do not.
TEST(RulesByHand, MiMoLeavesBlocksOfItsProjectionsUnchecked) {
  const auto told = [&](const char* name, std::int64_t keys, std::int64_t values) {
    const Edit edit = [=](Launch& /*l*/, ModelFacts& m) {
      m.architectures = {name};
      m.head_dim = keys;
      m.v_head_dim = values;
    };
    return fires({"QN002", 23, 0, "qwen3-8b-fp8", "--device xpu --tp-size 2", edit}, 23);
  };
  EXPECT_FALSE(told("Qwen3ForCausalLM", 128, 128));
  EXPECT_TRUE(told("Qwen3ForCausalLM", 80, 128));
  EXPECT_FALSE(told("MiMoV2FlashForCausalLM", 80, 128));
  EXPECT_FALSE(told("MiMoV2ForCausalLM", 80, 128));
  EXPECT_TRUE(told("MiMoV2FlashForCausalLM", 128, 76));
}

// Findings about the input, which no launch shows by itself: fired and silent in the tests named here.
const std::map<std::string_view, std::string_view> kElsewhere = {
    {"MD001", "InputNotes"},    {"MD002", "InputNotes"},   {"MD003", "InputNotes"},  {"MD004", "InputNotes"},
    {"MD006", "InputNotes"},    {"MD007", "WeightFiles"},  {"MD008", "Adapters"},    {"SH005", "ContainerHost"},
    {"SH006", "ContainerHost"}, {"SH008", "CheckPaths"},   {"MD005", "Adapters"},    {"SH001", "InputNotes"},
    {"SH002", "InputNotes"},    {"SH003", "InputNotes"},   {"SH004", "InputNotes"},  {"ND007", "CheckPaths"},
    {"RS001", "InputNotes"},    {"RS002", "InputNotes"},   {"RS003", "InputNotes"},  {"ND001", "Nodes"},
    {"ND002", "Nodes"},         {"ND003", "Nodes"},        {"ND004", "Nodes"},       {"ND005", "Nodes"},
    {"HO001", "Doctor"},        {"HO002", "Doctor"},       {"HO003", "Doctor"},      {"HO004", "Doctor"},
    {"HO005", "Doctor"},        {"HO006", "Doctor"},       {"HO007", "Doctor"},      {"HO020", "Doctor"},
    {"HO021", "Doctor"},        {"HO022", "Doctor"},       {"HO023", "Doctor"},      {"HO024", "Doctor"},
    {"HO025", "Doctor"},        {"ND006", "Nodes"},        {"MC009", "DraftMatch"},  {"VL001", "VllmWords"},
    {"VL002", "VllmWords"},     {"RQ001", "Requirements"}, {"SP009", "DraftMemory"}, {"SP011", "DraftMatch"},
    {"SP014", "DraftMatch"},    {"SP016", "DraftMatch"},   {"SP012", "DraftMatch"},  {"PL012", "Certainty"},
    {"PL020", "DraftMemory"},   {"PL021", "DraftMemory"},  {"MD009", "FolderFiles"}, {"MD010", "FolderFiles"},
    {"MD011", "FolderFiles"},   {"SH007", "Launches"},     {"SH009", "Launches"},    {"SH010", "Sources"},
    {"ND008", "CheckPaths"},    {"ND009", "CheckPaths"},
};

TEST(RulesByHand, NoRuleGoesUnexercised) {
  std::set<std::string_view> fired;
  std::set<std::string_view> silent;
  for (const Row& row : kRows) {
    fired.insert(row.rule);
    if (row.silent > 0) silent.insert(row.rule);
  }
  for (const Rule& r : all_rules()) {
    if (kElsewhere.contains(r.id)) continue;
    EXPECT_TRUE(!r.fires_on[0].model.empty() || fired.contains(r.id)) << r.id << " has no case that fires";
    EXPECT_TRUE(!r.quiet_on[0].model.empty() || silent.contains(r.id)) << r.id << " has no case that is silent";
  }
}

// An example that no supported release takes would prove nothing.
TEST(RulesByHand, ExamplesOfARuleReachASupportedRelease) {
  for (const Rule& r : all_rules()) {
    for (const RuleExample& e : r.fires_on) {
      if (e.model.empty()) continue;
      const auto releases = supported_releases();
      EXPECT_TRUE(std::any_of(releases.begin(), releases.end(),
                              [&](Release release) {
                                return (r.holds_in(release) && release >= e.since && release < e.until) ||
                                       fired_by_hand(r.id);
                              }))
          << r.id << " " << e.args;
    }
  }
}

}  // namespace
}  // namespace preflight
