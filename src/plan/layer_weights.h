// Parameters of one layer, by what cuts them.
// Tested by tests/weights_test.cpp and tests/parity/weights.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "preflight/facts.h"
#include "src/plan/numbers.h"
#include "src/plan/weights.h"

namespace preflight::plan {

struct Layer {
  double attention = 0;  // parameters that attention tensor parallelism cuts
  double output = 0;     // of these the output projection, where the rest are queries, keys and values
  double state = 0;      // what stands beside attention or in its place, and may be cut over other ranks
  double copied = 0;     // parameters every rank holds
  double plain = 0;      // those that every rank holds and that no quantiser touches
  double dense = 0;      // cut by tensor parallelism
  double down = 0;       // of these the last matrix, where the rest stand before it
  double shared = 0;     // experts that every token takes: cut by tensor parallelism, or whole
  double experts = 0;    // cut by expert and expert-tensor parallelism
};

struct Shape {
  const ModelFacts& m;
  const Value& text;
  double hidden = 0;
  std::int64_t attention_ranks = 1;
  bool exact = true;

  [[nodiscard]] double number(std::initializer_list<std::string_view> keys, std::int64_t fallback = 0) const {
    return static_cast<double>(first_int(text, keys, fallback));
  }
};

// The width of a dense layer; GPT-like classes take four times the hidden width where none is given. Qwen's first
// class counts gate and up together. 0: the configuration does not tell.
double dense_width(const Shape& s);
// Layers of their own widths each, or a width under a name that is not known: nothing to count by.
bool width_untold(const Shape& s);

// Ranks that a recurrent layer is cut over: Mamba-2's asks for attention's, Kimi's for all, whatever attention asks
// for.
std::int64_t ranks_of_state(const ModelFacts& model, const WeightSplit& split);

// Layers by what they are made of. Most of a model's are alike: each kind is counted once.
class Layers {
 public:
  Layers(const Shape& s, std::int64_t layers, const WeightSplit& split);

  const Layer& at(std::int64_t index);

 private:
  using Key = std::tuple<char, bool, bool, bool, int>;

  [[nodiscard]] int compression_of(std::int64_t index) const;

  [[nodiscard]] Layer lettered(char letter, std::int64_t index) const;
  [[nodiscard]] Layer layer_of(std::int64_t index) const;
  void add_mixing(Layer& l, std::int64_t index) const;

  const Shape& s_;
  const WeightSplit& split_;
  std::string letters_;
  std::vector<bool> linear_;
  std::vector<bool> experts_;
  bool gated_;
  double width_;
  bool compressed_;  // attention is
  std::map<Key, Layer> known_;
};

}  // namespace preflight::plan
