// Weights of one rank from stored tensors: equal to what the shapes alone give, over every way of cutting them.
#include "src/plan/output_head.h"
#include "src/plan/stored_weights.h"
#include "src/plan/tensor_shapes.h"

#include <cstdint>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/checkpoint.h"

namespace preflight::plan {
namespace {

using facts::StoredTensor;
using facts::WeightFiles;
using testing::add;
using testing::checkpoint;
using testing::model_of;

TEST(StoredWeights, AreWhatTheShapesGive) {
  for (const char* id : {"Qwen/Qwen3-0.6B", "Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B"}) {
    const auto model = model_of(id);
    ASSERT_NE(model, nullptr) << id;
    const WeightFiles files = checkpoint(*model);
    const std::vector<WeightSplit> splits = {
        {},
        {.tp = 2, .attention_tp = 2, .moe_tp = 2},
        {.tp = 8, .attention_tp = 8, .moe_tp = 8},
        {.tp = 4, .attention_tp = 4, .moe_tp = 1, .ep = 4},
        {.tp = 1, .pp = 2},
        {.tp = 16, .attention_tp = 16, .moe_tp = 16},  // more ranks than KV heads: they are repeated
    };
    for (const WeightSplit& split : splits) {
      const auto stored = stored_weights(*model, split, files);
      const auto estimate = estimate_weights(*model, split);
      ASSERT_TRUE(stored && estimate) << id;
      EXPECT_TRUE(stored->exact) << id;
      const double off = std::abs(static_cast<double>(stored->per_rank_bytes - estimate->per_rank_bytes));
      EXPECT_LT(off, 0.004 * static_cast<double>(estimate->per_rank_bytes))
          << id << " tp " << split.tp << " pp " << split.pp;
    }
    EXPECT_EQ(stored_weights(*model, {}, files)->total_bytes, files.bytes) << id;
  }
}

// A class allocates its own parameters: of files that hold fewer, or the same under other names, nothing is counted,
// and what is stored narrower or wider takes what the class makes of it.
TEST(StoredWeights, OfAnotherModelAreNotCounted) {
  const auto model = model_of("Qwen/Qwen3-0.6B");
  const WeightFiles whole = checkpoint(*model);
  const auto are_counted = [&](const auto& change) {
    WeightFiles files = whole;
    change(files);
    EXPECT_TRUE(stored_weights(*model, {}, files).has_value());
    EXPECT_TRUE(filled_parameters(*model, files).has_value());
    return count_weights(*model, {}, &files)->from_files;
  };
  const auto without = [](std::string_view part) {
    return [part](WeightFiles& f) {
      std::erase_if(f.tensors, [&](const StoredTensor& t) { return t.name.find(part) != std::string::npos; });
    };
  };
  const auto stored_in = [](const char* type, int bytes) {
    return [=](WeightFiles& f) {
      for (StoredTensor& t : f.tensors) t.dtype = type, t.bytes = t.bytes / 2 * bytes;
    };
  };
  EXPECT_TRUE(are_counted([](const WeightFiles&) {}));
  EXPECT_TRUE(are_counted(stored_in("F32", 4)));
  EXPECT_TRUE(are_counted(stored_in("F8_E4M3", 1)));
  EXPECT_TRUE(are_counted(without("layers.3.self_attn.k_norm.")));
  EXPECT_FALSE(are_counted(without("layers.3.self_attn.k_proj.")));
  EXPECT_FALSE(are_counted(without("layers.27.")));
  EXPECT_FALSE(are_counted(without("embed_tokens")));
  EXPECT_FALSE(are_counted([](WeightFiles& f) {
    for (StoredTensor& t : f.tensors) t.name = "transformer." + t.name;
  }));
}

// A class allocates what a configuration describes, where no tensor is stored so.
TEST(StoredWeights, OfAQuantisationThatNoTensorHasAreNotCounted) {
  ModelFacts model = *model_of("Qwen/Qwen3-0.6B");
  WeightFiles files = checkpoint(model);
  EXPECT_TRUE(stored_weights(model, {}, files).has_value());
  model.quantization = "fp8";
  model.hf_quant_config = model.quant_config = Value::dict({{"quant_method", "fp8"}});
  for (const char* type : {"F32", "BF16", "F16"}) {
    for (StoredTensor& t : files.tensors) t.dtype = type;
    EXPECT_FALSE(stored_weights(model, {}, files).has_value()) << type;
  }
  files.tensors.back().dtype = "F8_E4M3";
  EXPECT_TRUE(stored_weights(model, {}, files).has_value());
  for (const char* unpacked : {"gguf", "mxfp4", "bitsandbytes"}) {  // what is kept is not what is stored
    model.quantization = unpacked;
    EXPECT_FALSE(stored_weights(model, {}, files).has_value()) << unpacked;
  }
}

// A checkpoint holds a tied matrix once; a class that builds its head all the same has it twice.
// The sums of bytes may agree: the loader asks each tensor for its shape.
TEST(StoredWeights, ATensorOfAnotherShapeIsNamed) {
  const auto model = model_of("Qwen/Qwen3-0.6B");
  const WeightFiles whole = checkpoint(*model);
  EXPECT_EQ(misshapen_tensor(*model, whole), "");
  for (const char* part : {"model.embed_tokens.weight", "self_attn.q_proj.weight", "self_attn.v_proj.weight",
                           "self_attn.o_proj.weight", "mlp.up_proj.weight", "mlp.down_proj.weight"}) {
    WeightFiles files = whole;
    const auto tensor =
        std::ranges::find_if(files.tensors, [&](const StoredTensor& t) { return t.name.ends_with(part); });
    ASSERT_NE(tensor, files.tensors.end()) << part;
    tensor->shape[0] /= 2;
    tensor->shape[1] *= 2;
    EXPECT_NE(misshapen_tensor(*model, files).find(tensor->name + " is "), std::string::npos) << part;
    EXPECT_FALSE(count_weights(*model, {}, &files)->exact) << part;
  }
}

// No loader misses a scale: the class leaves the least float in its place.
TEST(StoredWeights, AnFp8CheckpointWithoutAScaleIsTold) {
  ModelFacts model = *model_of("Qwen/Qwen3-0.6B");
  WeightFiles files = checkpoint(model);
  EXPECT_EQ(absent_scales(model, files), "");  // an unquantised one
  model.quantization = "fp8";
  EXPECT_EQ(absent_scales(model, files), "");  // made while it loads
  model.hf_quant_config = Value::parse_json(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})").value();
  EXPECT_NE(absent_scales(model, files), "");
  files.tensors.front().name += "_scale_inv";
  EXPECT_EQ(absent_scales(model, files), "");
}

// Its class allocates what the description says, whatever is stored.
TEST(StoredWeights, ADescriptionOverTensorsOfAnotherKindIsNotExact) {
  ModelFacts model = *model_of("Qwen/Qwen3-0.6B");
  WeightFiles files = checkpoint(model);
  model.quantization = "fp8";
  model.quant_config = Value::parse_json(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})").value();
  EXPECT_FALSE(stored_weights(model, {}, files)) << "all of it in 16 bits";
  for (StoredTensor& t : files.tensors) {
    if (t.name.ends_with("_proj.weight")) t.dtype = "F8_E4M3", t.bytes /= 2;
  }
  ASSERT_TRUE(stored_weights(model, {}, files));
  EXPECT_FALSE(stored_weights(model, {}, files)->exact) << "no scales";
  files.tensors.push_back({"model.layers.0.self_attn.q_proj.weight_scale_inv", "F32", {1, 1}, 4});
  EXPECT_TRUE(stored_weights(model, {}, files)->exact);
}

TEST(StoredWeights, AHeadThatTheFilesDoNotHoldIsCounted) {
  ModelFacts model = *model_of("Qwen/Qwen3-30B-A3B");
  model.hf_config = model.hf_config.with("tie_word_embeddings", true);
  const WeightFiles files = checkpoint(model);
  for (const WeightSplit& split :
       {WeightSplit{}, WeightSplit{.tp = 4, .attention_tp = 4, .moe_tp = 4}, WeightSplit{.pp = 2}}) {
    const auto stored = stored_weights(model, split, files);
    const auto estimate = estimate_weights(model, split);
    ASSERT_TRUE(stored && estimate);
    const auto table = static_cast<double>(model.vocab_size * model.hidden_size * 2 / split.tp);
    EXPECT_NEAR(static_cast<double>(stored->per_rank_bytes), static_cast<double>(estimate->per_rank_bytes), table / 10)
        << "tp " << split.tp << " pp " << split.pp;
  }
}

// Names as real checkpoints write them (Qwen3, Phi-3, DeepSeek-V3, Qwen3-Next, Mixtral, Qwen2-MoE), and by what a rank
// of four holds less.
TEST(StoredWeights, EachTensorIsCutAsItsLayerIs) {
  struct Row {
    const char* name;
    int ranks;  // that share it; 1: each holds it whole
  };
  const Row rows[] = {{"self_attn.q_proj.weight", 4},
                      {"self_attn.qkv_proj.weight", 4},
                      {"self_attn.q_b_proj.weight", 4},
                      {"self_attn.kv_b_proj.weight", 4},
                      {"self_attn.k_proj.weight", 4},
                      {"self_attn.v_proj.weight", 4},
                      {"self_attn.o_proj.weight", 4},
                      {"linear_attn.in_proj_qkvz.weight", 4},
                      {"linear_attn.in_proj_ba.weight", 4},
                      {"linear_attn.in_proj_qkv.weight", 4},
                      {"linear_attn.conv1d.weight", 4},
                      {"linear_attn.out_proj.weight", 4},
                      {"mlp.gate_proj.weight", 4},
                      {"mlp.up_proj.weight", 4},
                      {"mlp.gate_up_proj.weight", 4},
                      {"mlp.down_proj.weight", 4},
                      {"mlp.shared_expert_gate_up.weight", 4},
                      {"self_attn.o_proj.bias", 1},
                      {"mlp.down_proj.bias", 1},
                      {"input_layernorm.weight", 1},
                      {"mlp.gate.weight", 1},
                      {"block_sparse_moe.gate.weight", 1},
                      {"mlp.shared_expert_gate.weight", 1},
                      {"self_attn.kv_a_proj_with_mqa.weight", 1},
                      {"self_attn.q_a_proj.weight", 1},
                      {"self_attn.indexer.wk.weight", 1}};
  const auto model = model_of("Qwen/Qwen3-8B");
  for (const Row& row : rows) {
    WeightFiles files;
    add(files, std::string("model.layers.0.") + row.name, {4096, 64});
    const auto held = stored_weights(*model, {.tp = 4, .attention_tp = 4}, files);
    ASSERT_TRUE(held);
    EXPECT_TRUE(held->exact) << row.name << " is known";
    EXPECT_EQ(held->per_rank_bytes, files.bytes / row.ranks) << row.name;
  }
}

TEST(StoredWeights, DenseLayersOfAModelWithExpertsMayBeHeldWhole) {
  const auto held = [](const char* id, const char* name) {
    WeightFiles files;
    add(files, std::string("model.layers.0.") + name, {4096, 64});
    const WeightSplit split{.tp = 4, .attention_tp = 4, .whole_dense = true};
    return files.bytes / stored_weights(*model_of(id), split, files)->per_rank_bytes;
  };
  EXPECT_EQ(held("Qwen/Qwen3-30B-A3B", "mlp.gate_proj.weight"), 1);
  EXPECT_EQ(held("Qwen/Qwen3-30B-A3B", "mlp.down_proj.weight"), 1);
  EXPECT_EQ(held("Qwen/Qwen3-30B-A3B", "mlp.shared_experts.down_proj.weight"), 4);
  EXPECT_EQ(held("Qwen/Qwen3-8B", "mlp.gate_proj.weight"), 4);
}

TEST(StoredWeights, ATowerIsNoLayerOfTheModel) {
  const auto model = model_of("Qwen/Qwen3-8B");
  for (const char* name : {"visual.blocks.layers.99.x.weight", "model.vision_tower.encoder.layers.99.x.weight",
                           "vision_model.encoder.layers.99.x.weight", "multi_modal_projector.linear_1.weight"}) {
    WeightFiles files;
    add(files, name, {4096, 64});
    const auto held = stored_weights(*model, {.tp = 4, .attention_tp = 4}, files);
    EXPECT_EQ(held->per_rank_bytes, files.bytes / 4) << name;
    EXPECT_FALSE(held->exact) << name;
  }
}

TEST(StoredWeights, AreTrustedForClassesOfWhichEveryTensorIsKnown) {
  WeightFiles files;
  add(files, "model.norm.weight", {4096});
  auto model = std::make_shared<ModelFacts>(*model_of("Qwen/Qwen3-8B"));
  for (const char* name : {"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM",
                           "Qwen2MoeForCausalLM", "Qwen3MoeForCausalLM", "MixtralForCausalLM", "Gemma2ForCausalLM",
                           "Gemma3ForCausalLM", "Olmo2ForCausalLM", "GraniteForCausalLM", "Phi3ForCausalLM"}) {
    model->architectures = {name};
    EXPECT_TRUE(stored_weights(*model, {}, files)->exact) << name;
  }
  model->architectures = {"DeepseekV3ForCausalLM"};
  EXPECT_FALSE(stored_weights(*model, {}, files)->exact);
}

TEST(StoredWeights, ATensorNobodyKnowsIsCountedWholeAndSaid) {
  const auto model = model_of("Qwen/Qwen3-0.6B");
  WeightFiles files = checkpoint(*model);
  const auto before = stored_weights(*model, {.tp = 4, .attention_tp = 4}, files);
  add(files, "model.layers.0.something_new", {1000, 1000});
  const auto after = stored_weights(*model, {.tp = 4, .attention_tp = 4}, files);
  EXPECT_TRUE(before->exact);
  EXPECT_FALSE(after->exact);
  EXPECT_EQ(after->per_rank_bytes - before->per_rank_bytes, 2'000'000);
}

TEST(StoredWeights, FloatingWeightsTakeTheLaunchsTypeAndPredictionLayersAreTheDrafts) {
  const auto model = model_of("Qwen/Qwen3-0.6B");
  WeightFiles files = checkpoint(*model);
  const auto plain = stored_weights(*model, {}, files);
  for (StoredTensor& t : files.tensors) {
    t.dtype = "F32";
    t.bytes *= 2;
  }
  add(files, "model.layers.28.mlp.gate_proj.weight", {1024, 1024});
  add(files, "mtp.fc.weight", {1024, 1024});
  EXPECT_EQ(stored_weights(*model, {}, files)->per_rank_bytes, plain->per_rank_bytes);
}

TEST(StoredWeights, WhatChangesWhileItLoadsIsNotCountedFromFiles) {
  auto model = std::make_shared<ModelFacts>(*model_of("Qwen/Qwen3-0.6B"));
  WeightFiles files = checkpoint(*model);
  model->quantization = "fp8";
  EXPECT_FALSE(stored_weights(*model, {}, files));
  model->quantization.reset();
  files.faults.emplace_back("x is missing");
  EXPECT_FALSE(stored_weights(*model, {}, files));
}

// Of files that were read, each answer is asked once; what it depends on makes another one.
TEST(StoredWeights, AreCountedOnceForAModelItsFilesAndASplit) {
  const auto model = model_of("Qwen/Qwen3-0.6B");
  WeightFiles files = checkpoint(*model);
  const auto bytes = [&](const ModelFacts& m, const WeightSplit& split) {
    return count_weights(m, split, &files)->per_rank_bytes;
  };
  files.id = 1'000'001;
  const std::int64_t whole = bytes(*model, {});
  EXPECT_GT(whole, bytes(*model, {.tp = 2, .attention_tp = 2}));
  const std::optional<FilledParameters> filled = filled_parameters(*model, files);
  ASSERT_TRUE(filled);
  add(files, "model.layers.0.mlp.down_proj.weight", {1024, 1024});
  EXPECT_EQ(bytes(*model, {}), whole);
  EXPECT_EQ(filled_parameters(*model, files)->stored, filled->stored);
  ModelFacts other = *model;
  other.dtype = "float32";
  EXPECT_GT(bytes(other, {}), whole);
  EXPECT_GT(bytes(*model_of("Qwen/Qwen3-0.6B"), {}), whole);  // another reading of it
  files.id = 1'000'002;
  EXPECT_GT(bytes(*model, {}), whole);
  files.id = 0;
  EXPECT_GT(bytes(*model, {}), whole);
}

}  // namespace
}  // namespace preflight::plan
