// Answers about a model and its weight files, which may name tens of thousands of tensors: each rule, each sheet and
// each try of a search asks for the same ones. Files that were not read from a disk, and models without a
// configuration, have no answer kept. Tested by tests/stored_weights_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "preflight/facts.h"
#include "src/base/remembered.h"
#include "src/facts/weight_files.h"

namespace preflight::plan {

// What tells one model from another: each one's configuration is a Value of its own, of which copies are changed in a
// few members alone.
struct ModelIdentity {
  explicit ModelIdentity(const ModelFacts& m)
      : config(m.hf_config),
        text_config(m.hf_text_config),
        quant_config(m.quant_config),
        quantization(m.quantization),
        dtype(m.dtype),
        numbers{m.num_hidden_layers, m.num_attention_heads, m.num_key_value_heads,   m.hidden_size,
                m.head_dim,          m.vocab_size,          m.is_draft_model ? 1 : 0},
        architectures(m.architectures) {}
  bool operator==(const ModelIdentity& other) const {
    return is_one(config, other.config) && is_one(text_config, other.text_config) &&
           quantization == other.quantization && dtype == other.dtype && numbers == other.numbers &&
           architectures == other.architectures && quant_config.identical(other.quant_config);
  }
  static bool is_one(const Value& a, const Value& b) {
    return a.is_dict() && b.is_dict() ? &a.as_dict() == &b.as_dict() : a.identical(b);
  }

  Value config;
  Value text_config;
  Value quant_config;
  std::optional<std::string> quantization;
  std::string dtype;
  std::array<std::int64_t, 7> numbers;
  std::vector<std::string> architectures;
};

template <class Rest, class Answer>
class KeptAnswers {
 public:
  // `rest`: what else the answer depends on.
  template <class Ask>
  Answer of(const ModelFacts& model, const facts::WeightFiles& files, const Rest& rest, const Ask& ask) {
    return files.id == 0 ? ask() : kept_of(model, files.id, rest, ask);
  }
  // Of the configuration alone.
  template <class Ask>
  Answer of(const ModelFacts& model, const Rest& rest, const Ask& ask) {
    return kept_of(model, 0, rest, ask);
  }

 private:
  template <class Ask>
  Answer kept_of(const ModelFacts& model, std::uint64_t files, const Rest& rest, const Ask& ask) {
    if (!model.hf_config.is_dict()) return ask();
    return known_.of({files, ModelIdentity(model), rest}, ask);
  }

  static constexpr std::size_t kMost = 128;
  struct Question {  // compared in this order: most others are of another configuration, which a glance tells
    std::uint64_t files;
    ModelIdentity model;
    Rest rest;
    bool operator==(const Question&) const = default;
  };
  NewestRemembered<Question, Answer> known_{kMost};
};

}  // namespace preflight::plan
