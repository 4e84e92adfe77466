// Answers about a model and its weight files, which may name tens of thousands of tensors: each rule, each sheet and
// each try of a search asks for the same ones. Files that were not read from a disk, and models without a
// configuration, have no answer kept. Tested by tests/stored_weights_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "preflight/facts.h"
#include "src/facts/weight_files.h"

namespace preflight::plan {

// What tells one model from another: each one's configuration is a Value of its own, of which copies are changed in a
// few members alone.
struct ModelIdentity {
  explicit ModelIdentity(const ModelFacts& m)
      : config(m.hf_config),
        quant_config(m.quant_config),
        quantization(m.quantization),
        dtype(m.dtype),
        numbers{m.num_hidden_layers, m.num_attention_heads, m.num_key_value_heads,   m.hidden_size,
                m.head_dim,          m.vocab_size,          m.is_draft_model ? 1 : 0},
        architectures(m.architectures) {}
  [[nodiscard]] bool is(const ModelIdentity& other) const {
    return config.is_dict() && &config.as_dict() == &other.config.as_dict() && quantization == other.quantization &&
           dtype == other.dtype && numbers == other.numbers && architectures == other.architectures &&
           quant_config.identical(other.quant_config);
  }

  Value config;
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
    const ModelIdentity identity(model);
    const auto known = std::ranges::find_if(
        kept_, [&](const Kept& one) { return one.files == files && one.rest == rest && one.model.is(identity); });
    if (known != kept_.end()) return known->answer;
    Answer answer = ask();
    if (kept_.size() >= kMost) kept_.pop_back();
    kept_.push_front({files, rest, identity, answer});
    return answer;
  }

  static constexpr std::size_t kMost = 128;
  struct Kept {
    std::uint64_t files;
    Rest rest;
    ModelIdentity model;
    Answer answer;
  };
  std::deque<Kept> kept_;
};

}  // namespace preflight::plan
