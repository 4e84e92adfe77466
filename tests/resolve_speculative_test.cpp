// Speculative decoding, family by family. Expected results are those of the real releases.
#include <gtest/gtest.h>

#include "src/resolve/speculative/speculative.h"
#include "src/resolve/speculative/speculative_detail.h"
#include "tests/support/midway.h"
#include "tests/support/release_ranges.h"

namespace preflight::resolve {
namespace {

using testing::Midway;

constexpr Release kOld = v0_5(13, 1);
constexpr Release kNew = v0_5(23);

// A launch of EAGLE on a Llama that the given release is about to resolve.
Midway eagle(Release release) {
  Midway m(release);
  m.architecture("LlamaForCausalLM").set(Field::attention_backend, "triton").set(Field::page_size, 1);
  m.set(Field::speculative_algorithm, "EAGLE");
  return m;
}

Midway drafting(Release release, const char* algorithm, const char* draft_config) {
  Midway m = eagle(release);
  m.set(Field::speculative_algorithm, algorithm).set(Field::speculative_draft_model_path, "draft");
  m.model("draft", draft_config);
  return m;
}

constexpr const char* kPlainDraft = R"({"model_type": "llama", "architectures": ["LlamaForCausalLMEagle"],
  "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1})";
constexpr const char* kGemmaDraft = R"({"model_type": "llama", "architectures": ["Gemma4AssistantForCausalLM"],
  "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1})";

TEST(Speculative, NamesAreTakenInAnyCaseAndUnknownOnesRefused) {
  const struct {
    Release release;
    const char* name;
    const char* result;
  } kRows[] = {
      {kNew, "eagle", "ok"},
      {kNew, "nextn", "ok"},
      {kNew, "None", "ok"},  // a member of the enumeration: no family, no refusal
      {kNew, "turbo", "ValueError in from_string"},
      {kOld, "DSPARK", "ValueError in from_string"},  // not there yet
      {kOld, "UNO", "ValueError in from_string"},
      {kNew, "uno", "ValueError in _handle_uno"},  // CUDA only
  };
  for (const auto& row : kRows) {
    Midway m = eagle(row.release);
    EXPECT_EQ(m.set(Field::speculative_algorithm, row.name).run(handle_speculative_decoding), row.result) << row.name;
  }
}

TEST(Speculative, WithoutAnAlgorithmOnlyTheDraftsMoeRunnerIsFilled) {
  Midway old(kOld);
  EXPECT_EQ(old.run(handle_speculative_decoding), "ok");
  EXPECT_EQ(old.chain(), "handle_speculative_decoding {\"speculative_moe_runner_backend\":\"auto\"}\n");
  Midway now(kNew);
  EXPECT_EQ(now.run(handle_speculative_decoding), "ok");
  EXPECT_EQ(now.chain(),
            "_speculative_moe_runner_default {\"speculative_moe_runner_backend\":\"auto\"}\n"
            "handle_speculative_decoding {\"speculative_algorithm\":null}\n");
}

TEST(Speculative, ADraftRunnerThatNeedsTheTargetsWeightsIsReplaced) {
  const struct {
    const char* target;
    const char* draft;
  } kRows[] = {{"flashinfer_megamoe", "flashinfer_trtllm"}, {"lora_triton", "auto"}, {"triton", "triton"}};
  for (const auto& row : kRows) {
    Midway m(kNew);
    m.set(Field::moe_runner_backend, row.target).run(handle_speculative_decoding);
    EXPECT_EQ(m[Field::speculative_moe_runner_backend], Value(row.draft));
  }
}

TEST(Speculative, TheShapeOfTheDraftFollowsTheArchitecture) {
  const struct {
    const char* architecture;
    const char* algorithm;
    int steps, topk, tokens;
  } kRows[] = {
      {"LlamaForCausalLM", "EAGLE", 5, 4, 8},
      {"LlamaForCausalLM", "STANDALONE", 3, 1, 4},  // a plain draft model gets a chain everywhere
      {"Grok1ForCausalLM", "EAGLE", 5, 4, 8},
      {"Qwen3ForCausalLM", "EAGLE3", 3, 1, 4},
  };
  for (const auto& row : kRows) {
    for (const Release release : {kOld, kNew}) {
      Midway m = eagle(release);
      m.architecture(row.architecture).set(Field::speculative_algorithm, row.algorithm);
      EXPECT_EQ(m.run(handle_speculative_decoding), "ok") << row.architecture;
      EXPECT_EQ(m[Field::speculative_num_steps], Value(row.steps)) << row.architecture;
      EXPECT_EQ(m[Field::speculative_eagle_topk], Value(row.topk)) << row.architecture;
      EXPECT_EQ(m[Field::speculative_num_draft_tokens], Value(row.tokens)) << row.architecture;
      EXPECT_EQ(m[Field::max_running_requests], Value(48));
    }
  }
}

TEST(Speculative, HalfAShapeEndsInTheExceptionThatPythonRaises) {
  const struct {
    Value steps, topk, tokens;
    const char* result;
  } kRows[] = {
      {Value(), 4, Value(), "AssertionError in _handle_eagle_family"},  // branches without steps
      {Value(), Value(), 8, "AssertionError in _handle_eagle_family"},
      {3, Value(), 8, "TypeError in _handle_eagle_family"},  // None > 1
      {3, 1, Value(), "ok"},
  };
  for (const auto& row : kRows) {
    Midway m = eagle(kNew);
    m.set(Field::speculative_num_steps, row.steps).set(Field::speculative_eagle_topk, row.topk);
    m.set(Field::speculative_num_draft_tokens, row.tokens);
    EXPECT_EQ(m.run(handle_speculative_decoding), row.result);
  }
}

TEST(Speculative, AChainVerifiesOneTokenMoreThanItHasSteps) {
  Midway m = eagle(kNew);
  m.set(Field::speculative_num_steps, 3).set(Field::speculative_eagle_topk, 1);
  m.set(Field::speculative_num_draft_tokens, 64);
  EXPECT_EQ(m.run(handle_speculative_decoding), "ok");
  EXPECT_EQ(m[Field::speculative_num_draft_tokens], Value(4));
  EXPECT_EQ(m.warnings(), "_handle_eagle_family _handle_eagle_family");
}

TEST(Speculative, ATreeNeedsPagesOfOneOrABackendThatCanBranch) {
  const struct {
    const char* backend;
    int page_size;
    const char* result;
  } kRows[] = {
      {"triton", 64, "ok"},
      {"intel_xpu", 1, "ok"},
      {"intel_xpu", 64, "ValueError in _handle_eagle_family"},
  };
  for (const auto& row : kRows) {
    Midway m = eagle(kNew);
    m.set(Field::attention_backend, row.backend).set(Field::page_size, row.page_size);
    EXPECT_EQ(m.run(handle_speculative_decoding), row.result) << row.backend << row.page_size;
  }
}

TEST(Speculative, ModelsWithDraftLayersDraftWithThemselves) {
  Midway own = eagle(kNew);
  own.architecture("DeepseekV3ForCausalLM").run(handle_speculative_decoding);
  EXPECT_EQ(own[Field::speculative_draft_model_path], Value("target"));
  Midway given = drafting(kNew, "EAGLE", kPlainDraft);
  given.architecture("DeepseekV3ForCausalLM").run(handle_speculative_decoding);
  EXPECT_EQ(given[Field::speculative_draft_model_path], Value("draft"));
  EXPECT_EQ(given.warnings(), "_handle_eagle_family _handle_eagle_family");  // requests capped; path not needed
  Midway later(kOld);
  later.architecture("HYV4ForCausalLM").set(Field::attention_backend, "triton").set(Field::page_size, 1);
  later.set(Field::speculative_algorithm, "EAGLE").run(handle_speculative_decoding);
  EXPECT_TRUE(later[Field::speculative_draft_model_path].is_none());
}

TEST(Speculative, AGemma4AssistantTurnsEagleIntoFrozenKvMtp) {
  for (const Release release : {kOld, kNew}) {
    Midway m = drafting(release, "NEXTN", kGemmaDraft);
    EXPECT_EQ(m.run(handle_speculative_decoding), "ok");
    EXPECT_EQ(m[Field::speculative_algorithm], Value("FROZEN_KV_MTP"));
    EXPECT_EQ(m[Field::speculative_draft_model_revision], Value("main"));
    EXPECT_EQ(drafting(release, "EAGLE3", kGemmaDraft).run(handle_speculative_decoding),
              "ValueError in _resolve_speculative_algorithm_alias");
  }
}

TEST(Speculative, MixedChunksStayWithEagleInLaterReleasesOnly) {
  const struct {
    Release release;
    const char* algorithm;
    bool stays;
  } kRows[] = {{kOld, "EAGLE", false}, {kNew, "EAGLE", true}, {kNew, "EAGLE3", true}, {kNew, "STANDALONE", false}};
  for (const auto& row : kRows) {
    Midway m = eagle(row.release);
    m.set(Field::speculative_algorithm, row.algorithm).set(Field::enable_mixed_chunk, true);
    EXPECT_EQ(m.run(handle_speculative_decoding), "ok");
    EXPECT_EQ(m[Field::enable_mixed_chunk], Value(row.stays)) << row.algorithm;
  }
}

TEST(Speculative, OldReleasesAnnounceTheSchedule) {
  Midway overlap = eagle(kOld);
  overlap.run(handle_speculative_decoding);
  EXPECT_EQ(overlap.warnings(), "_handle_eagle_family _handle_eagle_family");
  EXPECT_EQ(overlap[Field::disable_overlap_schedule], Value(false));
  Midway v1 = eagle(kOld);
  v1.env("SGLANG_ENABLE_SPEC_V2", "0").run(handle_speculative_decoding);
  EXPECT_EQ(v1[Field::disable_overlap_schedule], Value(true));
}

TEST(Speculative, RejectionSamplingAsksForAChainAndUntouchedThresholds) {
  const struct {
    const char* algorithm;
    int topk;
    double threshold;
    const char* result;
  } kRows[] = {
      {"EAGLE", 1, 1.0, "ok"},
      {"EAGLE3", 1, 1.0, "ok"},
      {"STANDALONE", 1, 1.0, "NotImplementedError in _handle_eagle_family"},
      {"EAGLE", 2, 1.0, "ValueError in _handle_eagle_family"},
      {"EAGLE", 1, 0.5, "ValueError in _handle_eagle_family"},
  };
  for (const auto& row : kRows) {
    Midway m = eagle(kNew);
    m.set(Field::speculative_use_rejection_sampling, true).set(Field::speculative_algorithm, row.algorithm);
    m.set(Field::speculative_num_steps, 3).set(Field::speculative_eagle_topk, row.topk);
    m.set(Field::speculative_num_draft_tokens, 4).set(Field::speculative_accept_threshold_acc, row.threshold);
    EXPECT_EQ(m.run(handle_speculative_decoding), row.result) << row.algorithm;
  }
}

TEST(Speculative, WindowsAndSinksAreCheckedForEveryAlgorithm) {
  const struct {
    Value window, sink;
    const char* result;
  } kRows[] = {
      {0, Value(), "ValueError in handle_speculative_decoding"},
      {16, Value(), "ok"},
      {Value(), 4, "ValueError in handle_speculative_decoding"},
      {16, -1, "ValueError in handle_speculative_decoding"},
      {16, 4, "ok"},
  };
  for (const auto& row : kRows) {
    Midway m(kNew);
    m.set(Field::speculative_draft_window_size, row.window).set(Field::speculative_draft_sink_size, row.sink);
    EXPECT_EQ(m.run(handle_speculative_decoding), row.result);
  }
}

TEST(Speculative, BlockVerificationNeedsCuda) {
  Midway m = eagle(kNew);
  m.set(Field::speculative_use_block_verification, true);
  EXPECT_EQ(m.run(handle_speculative_decoding), "ValueError in handle_speculative_decoding");
}

TEST(Speculative, EnvironmentVariablesAreCheckedBeforeTheFamily) {
  Midway mode = eagle(kNew);
  EXPECT_EQ(mode.env("SGLANG_RAGGED_VERIFY_MODE", "dense").run(handle_speculative_decoding),
            "ValueError in read_ragged_verify_mode");
  Midway coordination(kNew);
  coordination.env("SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION", "1");
  EXPECT_EQ(coordination.run(handle_speculative_decoding), "ValueError in handle_speculative_decoding");
}

TEST(Ngram, RunsOnXpuInLaterReleasesOnly) {
  Midway old(kOld);
  EXPECT_EQ(old.set(Field::speculative_algorithm, "NGRAM").run(handle_speculative_decoding),
            "ValueError in _handle_ngram");
  Midway now(kNew);
  now.set(Field::speculative_algorithm, "NGRAM").set(Field::page_size, 1).set(Field::attention_backend, "intel_xpu");
  EXPECT_EQ(now.run(handle_speculative_decoding), "ok");
  EXPECT_EQ(now[Field::speculative_eagle_topk], Value(10));
  EXPECT_EQ(now[Field::speculative_num_draft_tokens], Value(12));
  EXPECT_EQ(now[Field::speculative_num_steps], Value(1));
  EXPECT_EQ(now.warnings(), "_handle_ngram _handle_ngram _handle_ngram");
}

TEST(Ngram, OddSizesEndWherePythonEndsThem) {
  const struct {
    int breadth;
    Value budget;
    Value tokens;
    int page_size;
    const char* result;
  } kRows[] = {
      {0, Value(), Value(), 1, "ZeroDivisionError in _handle_ngram"},
      {2, Value(), Value(), 64, "ValueError in _handle_ngram"},  // a tree over pages
      {1, Value(), Value(), 64, "ok"},
      {1, 0, Value(), 64, "ValueError in _handle_ngram"},  // an external corpus without budget
      {1, 4, 4, 64, "ValueError in _handle_ngram"},        // with more budget than drafts
      {1, 3, 4, 64, "ok"},
  };
  for (const auto& row : kRows) {
    Midway m(kNew);
    m.set(Field::speculative_algorithm, "NGRAM").set(Field::speculative_ngram_max_bfs_breadth, row.breadth);
    m.set(Field::speculative_num_draft_tokens, row.tokens).set(Field::page_size, row.page_size);
    m.set(Field::attention_backend, "intel_xpu");
    if (!row.budget.is_none()) {
      m.set(Field::speculative_ngram_external_corpus_path, "corpus");
      m.set(Field::speculative_ngram_external_sam_budget, row.budget);
    }
    EXPECT_EQ(m.run(handle_speculative_decoding), row.result) << row.breadth;
  }
}

TEST(Ngram, StepsRoundDownAsPythonDoes) {
  Midway m(kNew);
  m.set(Field::speculative_algorithm, "NGRAM").set(Field::speculative_num_draft_tokens, -2);
  m.set(Field::page_size, 1).run(handle_speculative_decoding);
  EXPECT_EQ(m[Field::speculative_num_steps], Value(-1));
}

TEST(Adaptive, TurnsItselfOffWhereItCannotWork) {
  Midway m = eagle(kNew);
  m.set(Field::speculative_algorithm, "STANDALONE").set(Field::speculative_adaptive, true);
  EXPECT_EQ(m.run(handle_speculative_decoding), "ok");
  EXPECT_EQ(m[Field::speculative_adaptive], Value(false));
  EXPECT_EQ(m.warnings(), "_maybe_disable_adaptive _handle_eagle_family");
}

TEST(Adaptive, ChoosesTheMiddleCandidate) {
  for (const int patch : {14, 19, 20, 23}) {  // the middle of 0, 1, 3, 7; since 0.5.20 of 0, 1, 3, 5, 7
    Midway m = eagle(preflight::testing::newest_of(patch));
    EXPECT_EQ(m.set(Field::speculative_adaptive, true).run(handle_speculative_decoding), "ok");
    EXPECT_EQ(m[Field::speculative_adaptive], Value(true)) << patch;
    EXPECT_EQ(m[Field::speculative_eagle_topk], Value(1)) << patch;
    EXPECT_EQ(m[Field::speculative_num_steps], Value(3)) << patch;
    EXPECT_EQ(m[Field::speculative_num_draft_tokens], Value(4)) << patch;
  }
}

TEST(Adaptive, TheWidestDraftCountsForBuffers) {
  Midway m = eagle(kNew);
  m.set(Field::speculative_num_draft_tokens, 4);
  const Step widest = [](Resolution& r) {
    r.set_silently(Field::max_running_requests, max_speculative_num_draft_tokens(r));
  };
  EXPECT_EQ(m.run(widest), "ok");
  EXPECT_EQ(m[Field::max_running_requests], Value(4));
  EXPECT_EQ(m.set(Field::speculative_adaptive, true).run(widest), "ok");
  EXPECT_EQ(m[Field::max_running_requests], Value(8));  // seven steps, and the token they follow
  EXPECT_EQ(m.set(Field::speculative_num_draft_tokens, 9).run(widest),
            "ValueError in max_speculative_num_draft_tokens");
}

TEST(Adaptive, DraftsBeyondTheWidestAreRefusedSince0519) {
  for (const int patch : {18, 19}) {
    Midway m = eagle(preflight::testing::newest_of(patch));
    m.set(Field::speculative_adaptive, true).set(Field::speculative_num_draft_tokens, 9);
    EXPECT_EQ(m.run([](Resolution& r) { max_speculative_num_draft_tokens(r); }),
              patch == 18 ? "ok" : "ValueError in max_speculative_num_draft_tokens");
  }
}

TEST(Adaptive, OldReleasesCheckTheStepsAfterTheFamily) {
  const struct {
    int steps;
    const char* result;
  } kRows[] = {{3, "ok"}, {5, "ValueError in validate_adaptive_initial_steps"}};
  for (const auto& row : kRows) {
    Midway m = eagle(kOld);
    m.set(Field::speculative_adaptive, true).set(Field::speculative_num_steps, row.steps);
    m.set(Field::speculative_eagle_topk, 1).set(Field::speculative_num_draft_tokens, row.steps + 1);
    EXPECT_EQ(m.run(handle_speculative_decoding), row.result);
  }
}

TEST(Adaptive, ReadsItsFileStrictly) {
  const struct {
    const char* text;
    const char* result;
  } kRows[] = {
      {R"({"1": {"candidate_steps": [2, 4]}, "note": 1})", "ok"},
      {R"({"1": {"candidate_steps": []}})", "ValueError in _load_adaptive_config"},
      {R"({"1": {"candidate_steps": [1.5]}})", "ValueError in _load_adaptive_config"},
      {R"({"1": 4})", "AttributeError in _load_adaptive_config"},
      {R"([1])", "AttributeError in _load_adaptive_config"},
      {R"({"a": {}})", "ValueError in _load_adaptive_config"},
      {R"({bad)", "JSONDecodeError in _load_adaptive_config"},
      {nullptr, "FileNotFoundError in _load_adaptive_config"},
  };
  for (const auto& row : kRows) {
    Midway m = eagle(kNew);
    m.set(Field::speculative_adaptive, true).set(Field::speculative_adaptive_config, "steps.json");
    if (row.text != nullptr) m.file("steps.json", row.text);
    EXPECT_EQ(m.run(handle_speculative_decoding), row.result);
  }
}

constexpr const char* kDflashDraft = R"({"model_type": "qwen3", "architectures": ["DFlashDraftModel"],
  "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 5, "block_size": 10,
  "dflash_config": {"mask_token_id": 3, "target_layer_ids": [1, 8]}})";

TEST(Dflash, TakesItsBlockFromTheDraftsConfiguration) {
  for (const Release release : {kOld, kNew}) {
    Midway m = drafting(release, "DFLASH", kDflashDraft);
    EXPECT_EQ(m.run(handle_speculative_decoding), "ok");
    EXPECT_EQ(m[Field::speculative_num_draft_tokens], Value(10));
    EXPECT_EQ(m[Field::speculative_num_steps], Value(1));
    EXPECT_EQ(m[Field::disable_overlap_schedule], Value(release == kOld));
  }
}

TEST(Dflash, AConfigurationThatSglangRefusesCostsTwoWarnings) {
  Midway m = drafting(kNew, "DFLASH", R"({"model_type": "qwen3", "architectures": ["DFlashDraftModel"],
    "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 5, "block_size": 0})");
  EXPECT_EQ(m.run(handle_speculative_decoding), "ok");
  EXPECT_EQ(m[Field::speculative_num_draft_tokens], Value(16));
  EXPECT_EQ(m.warnings(), "_handle_dflash _handle_dflash _handle_dflash");
}

TEST(Dflash, ArgumentsAboutTheBlockMustAgree) {
  const struct {
    Value block, tokens, window;
    const char* result;
  } kRows[] = {
      {8, Value(), Value(), "ok"},
      {8, 8, 8, "ok"},
      {8, 16, Value(), "ValueError in _handle_dflash"},
      {0, Value(), Value(), "ValueError in _handle_dflash"},
      {Value(), 16, 8, "ValueError in _handle_dflash"},  // a window smaller than the block
  };
  for (const auto& row : kRows) {
    Midway m = drafting(kNew, "DFLASH", kDflashDraft);
    m.set(Field::speculative_dflash_block_size, row.block).set(Field::speculative_num_draft_tokens, row.tokens);
    m.set(Field::speculative_draft_window_size, row.window);
    EXPECT_EQ(m.run(handle_speculative_decoding), row.result);
  }
}

TEST(Dflash, DraftsWithABackendItKnows) {
  const struct {
    Value given, target;
    const char* result;
  } kRows[] = {
      {Value(), "intel_xpu", "intel_xpu"},
      {Value(), "torch_native", "triton"},  // with a warning
      {"fa3", "triton", "fa3"},
      {"trtllm_mha", "triton", "triton"},  // full attention layers
      {Value(), Value(), "triton"},
  };
  for (const auto& row : kRows) {
    Midway m = drafting(kNew, "DFLASH", kDflashDraft);
    m.set(Field::speculative_draft_attention_backend, row.given).set(Field::attention_backend, row.target);
    EXPECT_EQ(m.run(handle_speculative_decoding), "ok");
    EXPECT_EQ(m[Field::speculative_draft_attention_backend], Value(row.result));
  }
}

// 0.5.16 to 0.5.19 keep it from XPU; before, nobody asked for the device.
TEST(Dflash, IsOpenToXpuByRelease) {
  for (const int patch : {13, 15, 16, 19, 20, 23}) {
    Midway m = drafting(preflight::testing::newest_of(patch), "DFLASH", kDflashDraft);
    const bool refused = patch >= 16 && patch < 20;
    EXPECT_EQ(m.run(handle_speculative_decoding), refused ? "ValueError in _handle_dflash" : "ok") << patch;
  }
}

TEST(Dflash, DoesNotDividePrefillAttention) {
  for (const int patch : {15, 20, 22, 23}) {
    Midway m = drafting(preflight::testing::newest_of(patch), "DFLASH", kDflashDraft);
    m.set(patch < 22 ? Field::enable_dp_attention : Field::attn_dp_size, patch < 22 ? Value(true) : Value(2));
    EXPECT_EQ(m.run(handle_speculative_decoding), "ValueError in _handle_dflash") << patch;
  }
}

TEST(Dflash, NeedsADraftModel) {
  Midway m = eagle(kNew);
  EXPECT_EQ(m.set(Field::speculative_algorithm, "DFLASH").run(handle_speculative_decoding),
            "ValueError in _handle_dflash");
}

constexpr const char* kDsparkDraft = R"({"model_type": "qwen3", "architectures": ["Qwen3DSparkModel"],
  "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 5, "block_size": 7, "markov_rank": 256,
  "markov_head_type": "vanilla", "mask_token_id": 5})";

TEST(Dspark, VerifiesOneTokenMoreThanItsBlock) {
  const struct {
    Value block, tokens;
    const char* result;
    int verified;
  } kRows[] = {
      {Value(), Value(), "ok", 8},
      {3, Value(), "ok", 4},
      {Value(), 8, "ok", 8},
      {Value(), 6, "ValueError in _handle_dspark", 6},
      {-1, Value(), "ValueError in _handle_dspark", 0},
  };
  for (const auto& row : kRows) {
    Midway m = drafting(kNew, "DSPARK", kDsparkDraft);
    m.set(Field::speculative_dspark_block_size, row.block).set(Field::speculative_num_draft_tokens, row.tokens);
    const std::string result = m.run(handle_speculative_decoding);
    EXPECT_EQ(result, row.result);
    if (result == "ok") {
      EXPECT_EQ(m[Field::speculative_num_draft_tokens], Value(row.verified));
    }
  }
}

TEST(Dspark, FindsADraftInTheTargetsFolder) {
  Midway m = eagle(kNew);
  m.set(Field::speculative_algorithm, "DSPARK").model("target/dspark", kDsparkDraft);
  EXPECT_EQ(m.run(handle_speculative_decoding), "ok");
  EXPECT_EQ(m[Field::speculative_draft_model_path], Value("target/dspark"));
  Midway without = eagle(kNew);
  EXPECT_EQ(without.set(Field::speculative_algorithm, "DSPARK").run(handle_speculative_decoding),
            "ValueError in _handle_dspark");
}

TEST(Dspark, AMarkovHeadOfAnUnknownKindFallsBackToTheDefaultBlock) {
  Midway m = drafting(kNew, "DSPARK", R"({"model_type": "qwen3", "hidden_size": 64, "num_attention_heads": 4,
    "num_hidden_layers": 5, "block_size": 3, "markov_rank": 8, "markov_head_type": "odd"})");
  EXPECT_EQ(m.run(handle_speculative_decoding), "ok");
  EXPECT_EQ(m[Field::speculative_num_draft_tokens], Value(8));
  EXPECT_EQ(m.warnings(), "_handle_dspark _handle_dspark _handle_dspark");
}

TEST(Dspark, OptionsForOtherVerifyModesAreNotedAsIdle) {
  Midway m = drafting(kNew, "DSPARK", kDsparkDraft);
  m.set(Field::speculative_dspark_align_verify_tokens_to_graph_tier, true);
  m.set(Field::speculative_dspark_sps_table_path, "table").env("SGLANG_RAGGED_VERIFY_MODE", "cap-accept");
  m.run(handle_speculative_decoding);
  EXPECT_EQ(m.warnings(), "_handle_dspark _handle_dspark");  // requests capped; tiers need compact
}

// A draft of the target's own kind: one step is the least, and what it says of its target has to be so.
TEST(IQuest, ItsDraftTakesAtLeastOneStep) {
  constexpr const char* kDraft = R"({"model_type": "iquest_q1_mtp", "architectures": ["IQuestQ1ForCausalLMMTP"],
    "hidden_size": 64, "vocab_size": 128, "num_hidden_layers": 1, "num_target_layers": 4, "num_draft_slots": 3})";
  const struct {
    Value steps;
    const char* result;
  } kRows[] = {{0, "ValueError in _handle_iquest_q1_mtp_draft"}, {1, "ok"}, {Value(), "ok"}};
  for (const auto& row : kRows) {
    Midway m = drafting(kNew, "EAGLE", kDraft);
    ModelFacts target;
    target.architectures = {"IQuestQ1ForCausalLM"};
    target.hf_config = Value::dict({{"hidden_size", 64}, {"vocab_size", 128}, {"num_hidden_layers", 4}});
    m.facts(std::move(target)).set(Field::speculative_num_steps, row.steps);
    EXPECT_EQ(m.run([](Resolution& r) { speculative::fit_iquest_q1_draft(r, "IQuestQ1ForCausalLM"); }), row.result);
  }
}

TEST(Uno, OnACudaNameItGetsAsFarAsItsAttentionBackend) {
  const struct {
    Value topk, steps, tokens;
    const char* result;
  } kRows[] = {
      {Value(), Value(), Value(), "ValueError in _handle_uno"},  // no width
      {0, Value(), 4, "ValueError in _handle_uno"},
      {2, Value(), 4, "ValueError in _handle_uno"},  // a tree without steps
      {2, 3, 4, "ok"},
      {2, 3, 9, "ValueError in _handle_uno"},  // more nodes than the parent list holds
      {1, 3, 4, "ok"},
  };
  for (const auto& row : kRows) {
    Midway m(kNew);
    m.set(Field::device, "cuda").set(Field::speculative_algorithm, "UNO").set(Field::uno_lora_path, "adapter");
    m.set(Field::speculative_eagle_topk, row.topk).set(Field::speculative_num_steps, row.steps);
    m.set(Field::speculative_num_draft_tokens, row.tokens).set(Field::attention_backend, "fa3");
    EXPECT_EQ(m.run(handle_speculative_decoding), row.result);
  }
}

}  // namespace
}  // namespace preflight::resolve
