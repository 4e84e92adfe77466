// Lookups on ModelFacts.
#include <algorithm>

#include "preflight/facts.h"

namespace preflight {

Value ModelFacts::root(std::string_view key) const {
  const Value* v = hf_config.find(key);
  return v == nullptr ? Value() : *v;
}

Value ModelFacts::text(std::string_view key) const {
  const Value* v = hf_text_config.find(key);
  return v == nullptr ? Value() : *v;
}

bool ModelFacts::has_architecture(std::string_view name) const {
  return std::find(architectures.begin(), architectures.end(), name) != architectures.end();
}

std::int64_t ModelFacts::num_kv_heads_per_rank(std::int64_t tp) const {
  return std::max<std::int64_t>(1, num_key_value_heads / tp);
}

}  // namespace preflight
