// What SGLang prints leads back to the place that says it. The messages here are pieces, as SGLang's sentences are not
// kept; whole recorded ones are compared by tests/parity/messages.py where recordings are at hand.
#include "src/rules/messages.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_tool.h"

namespace preflight::rules {
namespace {

TEST(PastedMessage, TellsExceptionFunctionsAndOptionsOfATraceback) {
  const PastedMessage m = read_message(
      "Traceback (most recent call last):\n"
      "  File \"/x/sglang/srt/server_args.py\", line 7, in prepare_server_args\n"
      "    f()\n"
      "  File \"/x/sglang/srt/arg_groups/mamba_hook.py\", line 9, in validate_mamba_no_buffer\n"
      "    assert --page-size\n"
      "huggingface_hub.errors.HFValidationError: use --page-size 1, or --disable-radix-cache.\n");
  EXPECT_EQ(m.exception, "HFValidationError");
  ASSERT_EQ(m.functions.size(), 2U);
  EXPECT_EQ(m.functions.back(), "validate_mamba_no_buffer");
  EXPECT_EQ(m.options, (std::vector<std::string>{"--page-size", "--disable-radix-cache"}));
  EXPECT_EQ(read_message("ValueError: pass the argument `trust_remote_code=True` to allow it (a=b, --a_b=c)").options,
            (std::vector<std::string>{"--a_b", "--trust-remote-code", "--a-b"}));
}

TEST(PastedMessage, LeadsToItsPlaceAndRule) {
  struct Case {
    const char* text;
    const char* function;
    const char* rule;
  };
  for (const Case& c : {
           Case{"  File \"a/sglang/srt/arg_groups/speculative_hook.py\", line 3, in "
                "_handle_eagle_family\nAssertionError",
                "_handle_eagle_family", "RF005"},
           Case{"TypeError: '>' not supported between instances of 'NoneType' and 'int'", "_handle_eagle_family",
                "RF005"},
           Case{"ValueError: Unknown quantization method: mxfp4. Must be one of ['fp8', 'awq'].",
                "_verify_quantization", "RF019"},
           Case{"ValueError: Invalid connector type: hf://x", "create_remote_connector", "RF018"},
           Case{"launch_server.py: error: unrecognized arguments: --page-sise 3", "", "US001"},
           Case{"error: argument --page-size: invalid int value: 'x'", "", "US004"},
           Case{"launch_server.py: error: argument --context-length: Invalid integer value: '2K'.", "", "US004"},
           Case{"intel_xpu only supports page_sizes of", "_intel_xpu_page_constraint", "CH001"},
           Case{"The current platform does not support Intel XMX, will fallback to triton backend.",
                "_attention_backend_platform_fallbacks", "CH001"},
       }) {
    const auto places = places_of(read_message(c.text));
    ASSERT_FALSE(places.empty()) << c.text;
    EXPECT_EQ(places.front().function, c.function) << c.text;
    ASSERT_NE(places.front().rule, nullptr) << c.text;
    EXPECT_EQ(places.front().rule->id, c.rule) << c.text;
  }
}

std::string named(std::string_view text) {
  const auto places = places_of(read_message(text));
  if (places.empty()) return "nothing";
  return std::string(places.front().rule == nullptr ? "no rule" : places.front().rule->id);
}

std::string frames(std::initializer_list<std::pair<const char*, const char*>> stack, std::string_view last) {
  std::string out = "Traceback (most recent call last):\n";
  for (const auto& [file, function] : stack) {
    out += fmt::format("  File \"/x/{}\", line 7, in {}\n    f()\n", file, function);
  }
  return out + std::string(last);
}

// What fails after the arguments are resolved, as it stands in a log of an Intel GPU.
TEST(PastedMessage, OfALateFailureLeadsToItsRule) {
  const std::pair<std::string, const char*> rows[] = {
      {"RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "PL002"},
      {"ValueError: Loaded weights leave no GPU memory for the KV cache under x", "PL002"},
      {"torch.OutOfMemoryError: XPU out of memory. Tried to allocate 2.00 GiB", "PL007"},
      {frames({{"sglang/srt/model_loader/loader.py", "load_model"}}, "torch.OutOfMemoryError: XPU out of memory."),
       "PL002"},
      {"AssertionError: 20 is not divisible by 8", "PL003"},
      {"RuntimeError: Number of heads in key and value must divide the number of heads in \nquery, got x", "AT010"},
      {"AssertionError: tp_size must be less than or equal to group_norm_size that can use local rms norm", "PL018"},
      {"RuntimeError: Number of heads in key/value must divide number of heads in query", "AT010"},
      {"ValueError: Expect number of query heads to be a multiple of kv heads for GQA but got Hq=16 and Hkv=3.",
       "AT010"},
      {"ValueError: The input size is not aligned with the quantized weight shape. x", "QN014"},
      {"ValueError: AWQ on XPU requires group_size in (32, 64), got 16", "QN015"},
      {"ValueError: Current platform does not support NVFP4 quantization with the x", "QN016"},
      {"RuntimeError: The non-Marlin GPTQ CUDA kernel has been removed. Use quantization='gptq_marlin'", "QN021"},
      {frames({{"sglang/srt/layers/quantization/moe_wna16.py", "__init__"}}, "TypeError: unsupported operand"),
       "QN021"},
      {frames({{"sglang/srt/layers/quantization/quark/quark.py", "_check_scheme_supported"}}, "TypeError: x"), "QN022"},
      {frames({{"sglang/srt/layers/quantization/quark/quark.py", "from_config"}}, "TypeError: x"), "nothing"},
      {"ValueError: The Triton WNA16 MoE backend only supports symmetric INT4 group quantization", "QN023"},
      {"ValueError: Prequant BitsAndBytes models with TP is not supported. Please try with PP.", "QN024"},
      {"AttributeError: 'Parameter' object has no attribute 'bnb_quant_state'", "QN024"},
      {"ImportError: cannot import name 'int8_weight_only' from 'torchao.quantization' (/x/__init__.py)", "QN026"},
      {"NameError: name 'get_cutlass_w4a8_moe_mm_data' is not defined", "QN020"},
      {"AttributeError: '_OpNamespace' 'sgl_kernel' object has no attribute 'gelu_quick'", "HO007"},
      {"AttributeError: 'Foo' object has no attribute 'bar'", "nothing"},
      {"RuntimeError: Found no NVIDIA driver on your system. Please check", "VA007"},
      {"AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'", "VA007"},
      {"AssertionError: Runai Model Streamer only supports CUDA and CPU, got xpu", "VA008"},
      {"ModuleNotFoundError: No module named 'modelopt'", "QN017"},
      {frames({{"sglang/srt/layers/linear.py", "__init__"}, {"sglang/srt/distributed/utils.py", "ensure_divisibility"}},
              "AssertionError: 20 is not divisible by 8"),
       "PL003"},
      {frames({{"sglang/srt/layers/attention/xpu_backend.py", "__init__"}}, "AssertionError"), "PL006"},
      {"ValueError: Weight output_partition_size = 96 is not divisible by weight quantization block_n = 128.", "QN002"},
      {"ValueError: For quantized MoE models, please make sure (moe_intermediate_size=768 / x", "QN001"},
      {"AssertionError: FlashAttention v3 Backend requires SM>=80 and SM<=90.", "BK001"},
      {"AssertionError: Only encoder size 1 is supported", "BK005"},
      {frames({{"sglang/srt/layers/attention/xpu_backend.py", "forward_decode"},
               {"sgl_kernel/attention.py", "flash_mla_decode"}},
              "AssertionError"),
       "PG002"},
      {frames({{"sglang/srt/layers/attention/xpu_backend.py", "forward_decode"}}, "AssertionError\n"), "PG002"},
      {"RuntimeError: Unsupported page size for decode attention: 32", "PG001"},
      {"RuntimeError: mha_fwd only supports Half and BFloat16", "AT003"},
      {"RuntimeError: query and key must have the same dtype", "AT003"},
      {"RuntimeError: fp8 KV cache requires k_descale and v_descale", "AT003"},
      {"RuntimeError: Unsupported q_group_size: 32", "AT002"},
      {"RuntimeError: Unsupported head size for paged decode attention: 80", "AT001"},
      {"NotImplementedError: x is only supported on BMG and later", "BK002"},
      {"ImportError: cannot import name 'store_cache_xpu' from 'sgl_kernel' (/x/sgl_kernel/__init__.py)", "KR005"},
      {"ImportError: cannot import name 'flash_mla_decode_get_workspace_size' from 'sgl_kernel'", "KR004"},
      {"TypeError: f() got an unexpected keyword argument 'out'", "KR003"},
      {"TypeError: f() got an unexpected keyword argument 'bidirectional_block_ids'", "KR006"},
      {"ValueError: Model architectures ['FooForCausalLM'] are not supported for now.", "MC001"},
      {"RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)", "KI003"},
      {"OSError: [Errno 98] Address already in use", "HO005"},
      {"[Errno 98] error while attempting to bind on address: address already in use", "HO005"},
      {"ValueError: EAGLE is not supported in decode attention backend intel_xpu", "SP001"},
      {"AssertionError: Cascade attention is not supported with MLA", "SP002"},
      {"NameError: name 'sgl_build_tree_kernel_efficient' is not defined", "SP003"},
      {"TypeError: f() got an unexpected keyword argument 'intermediate_conv_window'", "SP006"},
      {"AssertionError: XPUGraphRunner does not support MLP sync yet.", "GR001"},
      {"AssertionError: XPUGraphRunner does not support Torch Memory Saver yet.", "GR002"},
      {"RuntimeError: x currently only supported on the AMD HIP platform or CUDA platform", "DC001"},
      {"AssertionError: current MoE does not support use_fp8_w8a8", "MO001"},
      {"ValueError: torch.float32 is not supported for quantization method fp8.", "QN004"},
      {"NameError: name 'gptq_shuffle' is not defined", "QN005"},
      {"AssertionError: Page size must be 1 for MambaRadixCache v1, got 128", "HY001"},
      {"AssertionError: MambaComponent requires page_size=1 when x", "HY001"},
      {"NameError: name 'causal_conv1d_fn' is not defined", "HY005"},
      {"NameError: name 'torch_npu' is not defined", "SA002"},
      {"ModuleNotFoundError: No module named 'xgrammar'", "SA003"},
      {frames({{"sglang/srt/mem_cache/memory_pool_host.py", "__init__"}, {"torch/cuda/__init__.py", "_lazy_init"}},
              "AssertionError: Torch not compiled with CUDA enabled"),
       "SA005"},
  };
  for (const auto& [text, rule] : rows) EXPECT_EQ(named(text), rule) << text;
}

TEST(PastedMessage, OfAFunctionWithSeveralRefusalsLeadsToItsOwnRule) {
  const std::pair<const char*, const char*> rows[] = {
      {"ValueError: TRTLLM MLA backend is only supported on Blackwell GPUs (SM100/SM12x). Please use a", "no rule"},
      {"ValueError: CuteDSL MLA backend is only supported on Blackwell GPUs (SM100). Please use a", "no rule"},
      {"ValueError: --swa-full-tokens-ratio should be in range (0, 1.0].", "no rule"},
      {"ValueError: --radix-eviction-policy tlru needs 'threshold' greater than 'next_prompt_estimate'", "no rule"},
      {"ValueError: The argument disaggregation-decode-enable-offload-kvcache is only supported for decode", "no rule"},
      {"ValueError: speculative_eagle_topk > 1 with page_size > 1 is unstable", "RF004"},
      {"ValueError: Unsupported config option 'disable_cuda_graph' with action 'DeprecatedStoreTrueAction'", "no rule"},
      {"ValueError: DFLASH speculative decoding requires setting --speculative-draft-model-path.", "no rule"},
      {"ValueError: --dcp-replicate-q-proj requires --dcp-size > 1.", "no rule"},
      {"ValueError: --mamba-radix-cache-strategy extra_buffer needs mamba state, got LlamaForCausalLM.", "no rule"},
      {"AssertionError: tp_size must be divisible by number of nodes", "RF008"},
      {"launch_server.py: error: ambiguous option: --enable- could match --enable-multimodal, --enable-lora", "US002"},
      {"error: argument --cuda-graph-config: --cuda-graph-config must be JSON: Expecting value: line 1", "US004"},
  };
  for (const auto& [text, rule] : rows) EXPECT_EQ(named(text), rule) << text;
}

// A few usual words stand in messages of the whole server, not of those alone that the table knows: without a traceback
// they name no place, and beside another function they name another.
TEST(PastedMessage, OfUsualWordsNamesAPlaceBesideItsFunctionAlone) {
  const auto place = [](const std::string& text) {
    const auto places = places_of(read_message(text));
    return places.empty() ? std::string("nothing") : std::string(places.front().function);
  };
  const auto in = [](const char* file, const char* function, const char* said) {
    return fmt::format("  File \"/x/sglang/srt/{}\", line 7, in {}\n    f()\n{}", file, function, said);
  };
  const char* divided = "ValueError: num_attention_heads must be divisible by num_key_value_heads";
  EXPECT_EQ(place(divided), "nothing");
  EXPECT_EQ(place(in("configs/beam.py", "_validate_beam_config", divided)), "nothing");
  EXPECT_EQ(place(in("arg_groups/cp_tp_group_sharing_hook.py", "resolve_cp_tp_group_sharing", divided)),
            "resolve_cp_tp_group_sharing");
  EXPECT_EQ(place("ValueError: media URL domain is not allowed. Allowed domains: x"), "nothing");
  EXPECT_EQ(place("ValueError: --cuda-graph-config[decode].backend='x' not allowed; allowed: ('full',)"),
            "validate_cuda_graph_config");
  EXPECT_EQ(place("AssertionError: tp_size must be divisible by moe_dp_size"), "handle_context_parallelism");
  EXPECT_EQ(place("AssertionError: attn_cp_size (3) must be divisible by moe_dp_size (2)"), "nothing");
  EXPECT_EQ(place("AssertionError: truncation_align_size is not supported for dllm prefill"), "nothing");
  EXPECT_EQ(place("ValueError: W4AFP8 group_size must be a positive integer, got 0."), "nothing");
  EXPECT_EQ(place("ValueError: The direct external linker does not support this model's draft KV."), "nothing");
}

// A terminal wraps behind hyphens and within the places of a traceback.
TEST(PastedMessage, IsReadAsATerminalWrapsIt) {
  const PastedMessage m = read_message(
      "Traceback (most recent call last):\n"
      "  File \"/x/sglang/srt/arg_groups/\n"
      "mamba_hook.py\", line 9, in\n"
      "validate_mamba_extra_buffer\n"
      "    check()\n"
      "ValueError: enable-\n"
      "hierarchical-cache does not go with it\n");
  EXPECT_EQ(m.functions, std::vector<std::string>{"validate_mamba_extra_buffer"});
  EXPECT_EQ(m.files, std::vector<std::string>{"/x/sglang/srt/arg_groups/mamba_hook.py"});
  EXPECT_EQ(m.exception, "ValueError");
  EXPECT_EQ(m.said, "enable-hierarchical-cache does not go with it");
}

// The file of a traceback's place is its witness, too: functions of the same name stand in many.
TEST(PastedMessage, IsOfTheFileThatItsTracebackNames) {
  const auto at = [](const char* file, const char* function, const char* said) {
    return places_of(read_message(
        fmt::format("Traceback (most recent call last):\n  File \"/opt/venv/lib/python3.11/site-packages/sglang/{}\", "
                    "line 300, in {}\n    f()\n{}\n",
                    file, function, said)));
  };
  EXPECT_TRUE(at("srt/models/none_of_the_table.py", "forward", "ValueError: what nobody knows").empty());
  EXPECT_TRUE(at("srt/lora/none_of_the_table.py", "__init__", "KeyError: 'r'").empty());
  const auto known = at("srt/arg_groups/speculative_hook.py", "_handle_eagle_family", "AssertionError");
  ASSERT_FALSE(known.empty());
  for (const MessagePlace& place : known) EXPECT_EQ(place.file, "srt/arg_groups/speculative_hook.py");
  // Common words of a place elsewhere, and a function of the name in another file.
  for (const auto& [file, function, said] :
       {std::tuple("srt/layers/moe/moe_runner/triton_utils/fused_moe.py", "_fused_moe_kernel_sequence",
                   "AssertionError: gemm1_alpha is not supported for gelu"),
        std::tuple("srt/models/minicpmv_vit.py", "forward",
                   "ValueError: All target_sizes must be divisible by 2, got 3"),
        std::tuple("srt/mem_cache/kv_cache_dtype.py", "configure_kv_cache_dtype",
                   "ValueError: --kv-cache-dtype=fp4_mx_block16 requires torch.float4_e2m1fn_x2 support")}) {
    for (const MessagePlace& place : at(file, function, said))
      EXPECT_TRUE(place.file.empty() || place.file == file) << said;
  }
}

// Many files define these: one that a file of the table calls in another file is none of that file's own.
TEST(PastedMessage, OfAUsualNameIsOfTheFrameThatHasTheFile) {
  for (const auto& [file, function] :
       {std::pair("srt/layers/attention/xpu_backend.py", "__init__"),
        std::pair("srt/kernel_plugins/amd/binding.py", "forward"),
        std::pair("srt/server_args.py", "__post_init__"),
        std::pair("srt/kernel_plugins/nvidia/binding.py", "__call__"),
        std::pair("srt/parser/response_template.py", "structure_info"),
        std::pair("srt/layers/attention/xpu_backend.py", "forward_decode"),
        std::pair("srt/layers/attention/xpu_backend.py", "forward_extend"),
        std::pair("srt/layers/attention/xpu_backend.py", "init_forward_metadata"),
        std::pair("srt/layers/attention/xpu_backend.py", "init_forward_metadata_out_graph"),
        std::pair("srt/platforms/__init__.py", "__getattr__"),
        std::pair("srt/server_args.py", "__setattr__"),
        std::pair("srt/lora/lora_registry.py", "release"),
        std::pair("srt/model_executor/cuda_graph_config.py", "from_dict"),
        std::pair("srt/model_executor/model_runner.py", "initialize"),
        std::pair("srt/server_args.py", "init_new"),
        std::pair("srt/platforms/mps.py", "get_device"),
        std::pair("srt/lora/lora_registry.py", "_lookup"),
        std::pair("srt/model_executor/model_runner.py", "load_model"),
        std::pair("srt/platforms/mps.py", "set_device"),
        std::pair("srt/elastic_ep/elastic_ep.py", "init"),
        std::pair("srt/mem_cache/kv_cache_configurator.py", "configure"),
        std::pair("srt/utils/hf_transformers/config.py", "get_config")}) {
    const std::string path = fmt::format("sglang/{}", file);
    const std::string own =
        frames({{"sglang/srt/a.py", "caller"}, {path.c_str(), function}}, "ValueError: what nobody knows");
    const std::string other =
        frames({{path.c_str(), "caller"}, {"sglang/srt/a.py", function}}, "ValueError: what nobody knows");
    EXPECT_FALSE(places_of(read_message(own)).empty()) << function;
    EXPECT_TRUE(places_of(read_message(other)).empty()) << function;
  }
}

// A function of another package has its own errors, whatever its name.
TEST(PastedMessage, OfAnotherPackageIsNoPlaceOfSglang) {
  const char* said = "AttributeError: 'NoneType' object has no attribute 'shape'";
  for (const char* path :
       {"/opt/venv/lib/python3.12/site-packages/transformers/models/llama/modeling_llama.py",
        "/usr/lib/python3/dist-packages/transformers/models/llama/modeling_llama.py", "/usr/lib/python3.12/enum.py"}) {
    EXPECT_EQ(named(fmt::format("  File \"{}\", line 7, in __init__\n    f()\n{}", path, said)), "nothing") << path;
  }
  const std::string file = "/opt/venv/lib/python3.12/site-packages/sglang/srt/layers/attention/xpu_backend.py";
  EXPECT_EQ(named(fmt::format("  File \"{}\", line 7, in __init__\n    f()\n{}", file, said)), "no rule");
  EXPECT_EQ(named("  File \"/opt/venv/lib/python3.12/site-packages/foo/x.py\", line 7, in divide\nAssertionError"),
            "nothing");
}

// What a healthy server logs is no refusal that happens to share its words.
TEST(PastedMessage, OfAHealthyServersLogLeadsToNoRefusal) {
  for (const char* said :
       {"Using default MoE kernel config. Config file not found at /x/E=128,N=768.json",
        "Using FP8 KV cache but no scaling factors provided. Defaulting to 1.0",
        "Use trtllm_mla as the default prefill and decode attention backend for Kimi-K3",
        "Allocating 4.00 GB host memory for DSA indexer (layout=layer_first).", "Failed to create NIXL backend: x"}) {
    EXPECT_EQ(named(fmt::format("[2026-11-28 10:00:00 TP0] {}", said)), "nothing") << said;
  }
  EXPECT_EQ(named("ValueError: Config file not found: serve.yaml"), "no rule");
}

// The rows of a line that holds several: first the one with a word that few others have, be it shorter.
TEST(PastedMessage, OfTwoPlacesIsFirstOfTheOneWithAWordOfItsOwn) {
  // "ep" stands in ten markers, "speculative_num_draft_tokens" in eleven.
  const auto places = places_of(read_message("speculative_num_draft_tokens is not what ep size must be"));
  ASSERT_GE(places.size(), 2U);
  EXPECT_EQ(places[0].marker, "ep size must");
  const auto longer = std::ranges::find(places, "speculative_num_draft_tokens is not", &MessagePlace::marker);
  EXPECT_NE(longer, places.end());
}

TEST(PastedMessage, OfAnotherExceptionIsNotTaken) {
  for (const auto& place : places_of(read_message("KeyError: intel_xpu only supports page_sizes of"))) {
    EXPECT_NE(place.function, "_intel_xpu_page_constraint");
  }
  EXPECT_TRUE(places_of(read_message("the weather is fine today")).empty());
}

// A check resolves; what the scheduler says minutes later it cannot name.
TEST(ExplainCommand, PromisesACheckOfWhatACheckSees) {
  const auto page = [](const char* said) { return testing::run_tool({"explain", said}).out; };
  EXPECT_THAT(page("ValueError: adapter x already exists loaded"),
              ::testing::Not(::testing::HasSubstr("names the cause")));
}

TEST(ExplainCommand, TakesAPastedMessage) {
  using testing::run_tool;
  const auto run = run_tool({"explain", "ValueError: Invalid connector type: https://huggingface.co/Qwen/Qwen3-8B"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("RF018"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("create_remote_connector"), std::string::npos) << run.out;
  // Two releases' places say the same: the one that was named comes first.
  const std::string said = "Set num_nextn_predict_layers to 0 for Step3p5ForCausalLM";
  const auto first_place = [](const std::string& page) { return page.substr(0, page.find("or by")); };
  for (const char* release : {"0.5.11", "0.5.14"}) {
    const auto old = run_tool({"explain", "--sglang-version", release, said});
    EXPECT_NE(first_place(old.out).find("_handle_model_specific_adjustments"), std::string::npos) << old.out;
  }
  for (const char* release : {"0.5.15", "0.5.23"}) {
    const auto now = run_tool({"explain", "--sglang-version", release, said});
    EXPECT_NE(first_place(now.out).find("_step3p_overrides"), std::string::npos) << now.out;
  }
  const auto nothing = run_tool({"explain", "the weather is fine today"});
  EXPECT_EQ(nothing.status, 2);
}

}  // namespace
}  // namespace preflight::rules
