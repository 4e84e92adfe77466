// The block size in a DFLASH or DSPARK draft's configuration, and whether SGLang accepts that configuration at all.
// Upstream parses every member and any fault rejects the whole; only the block size matters to resolution, so each
// member is read for its validity. Tested by tests/resolve_speculative_test.cpp.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <string>

#include "src/base/ascii_case.h"
#include "src/base/number_text.h"
#include "src/resolve/core/queries.h"
#include "src/resolve/speculative/speculative_detail.h"

namespace preflight::resolve::speculative {
namespace {

using Integer = std::optional<std::int64_t>;

const Value* find(const Value& config, std::string_view key) { return config.find(key); }

Value member(const Value& config, std::string_view key) {
  const Value* value = find(config, key);
  return value == nullptr ? Value() : *value;
}

Value text_config(const Value& config) {
  const Value text = member(config, "text_config");
  return text.is_dict() ? text : config;
}

// Python's int(text): surrounding space, a sign, digits with single underscores.
Integer integer_from(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  std::string digits;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    if (text.front() == '-') digits = "-";
    text.remove_prefix(1);
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool inner = i > 0 && i + 1 < text.size() && text[i - 1] != '_';
    if (text[i] == '_' && inner) continue;
    digits += text[i];
  }
  return number_in<std::int64_t>(digits);
}

// Python's int(x) for a JSON value.
Integer integer_from(const Value& value) {
  if (value.is_int() || value.is_bool()) return value.as_int();
  if (value.is_string()) return integer_from(std::string_view(value.as_string()));
  constexpr double kLimit = 9.2e18;
  if (value.is_float() && std::abs(value.as_number()) < kLimit) return static_cast<std::int64_t>(value.as_number());
  return std::nullopt;
}

// Reads members and remembers whether any was refused.
class Reader {
 public:
  explicit Reader(const Value& config) : config_(config), nested_(member(config, "dflash_config")) {}

  [[nodiscard]] bool valid() const { return valid_; }
  void check(bool condition) { valid_ = valid_ && condition; }

  // A member of dflash_config, and where it has no such key, of the configuration itself.
  [[nodiscard]] Value nested(std::string_view key) const { return member(nested_, key); }
  [[nodiscard]] Value nested_or_top(std::string_view key) const {
    return find(nested_, key) != nullptr ? nested(key) : member(config_, key);
  }

  Integer integer(const Value& value, std::int64_t least = std::numeric_limits<std::int64_t>::min()) {
    if (value.is_none()) return std::nullopt;
    const Integer parsed = integer_from(value);
    check(parsed.has_value() && *parsed >= least);
    return parsed;
  }
  // A member of dflash_config that is 0 when absent, and must not be null.
  std::int64_t count(std::string_view key) {
    if (find(nested_, key) == nullptr) return 0;
    const Integer parsed = integer(nested(key), 0);
    return parsed.value_or(0);
  }

 private:
  const Value& config_;
  Value nested_;
  bool valid_ = true;
};

bool all_integers(const Value& list) {
  return list.is_list() && !list.as_list().empty() &&
         std::all_of(list.as_list().begin(), list.as_list().end(),
                     [](const Value& v) { return integer_from(v).has_value(); });
}

void check_mask(Reader& in, bool top_level_counts) {
  Value token = top_level_counts ? in.nested_or_top("mask_token") : in.nested("mask_token");
  in.check(token.is_none() || (token.is_string() && !token.as_string().empty()));
  const Value id = top_level_counts ? in.nested_or_top("mask_token_id") : in.nested("mask_token_id");
  in.check(id.is_none() || (id.is_int() && id.as_int() >= 0));
}

bool as_float(const Value& value, double& out) {
  if (value.is_number()) {
    out = value.as_number();
    return true;
  }
  if (!value.is_string()) return false;
  const auto number = number_in<double>(value.as_string());
  out = number.value_or(out);
  return number.has_value();
}

void check_convolution_and_selector(Reader& in, const Value& nested) {
  const auto both_or_neither = [](std::int64_t a, std::int64_t b) { return (a != 0) == (b != 0); };
  in.check(both_or_neither(in.count("conv_kernel_size"), in.count("conv_group_size")));
  in.check(both_or_neither(in.count("selector_rank"), in.count("selector_top_k")));
  double multiplier = 1.0;
  if (const Value* given = find(nested, "output_multiplier")) in.check(as_float(*given, multiplier));
  in.check(!(multiplier <= 0));
  double softcap = 0.0;
  if (in.nested("final_logit_softcapping").truthy()) in.check(as_float(in.nested("final_logit_softcapping"), softcap));
}

void check_attention_members(Reader& in, const Value& nested) {
  const Value* sink = find(nested, "attention_sink_bias");
  in.check(sink == nullptr || sink->is_bool());
  const Value scale = in.nested("attention_value_scale");
  in.check(scale.is_none() || scale.is_int() || scale.is_float());
}

void check_domino(Reader& in, const Value& config, const Integer& block_size) {
  if (!is_text(in.nested_or_top("projector_type"), "domino")) return;
  const Integer prefix = in.integer(in.nested_or_top("pure_draft_prefix_len"), 0);
  const Integer hidden = in.integer(in.nested_or_top("gru_hidden_dim"), 1);
  const Integer nested_dim = in.integer(in.nested("emb_dim"), 1);
  const Integer top_dim = in.integer(member(config, "emb_dim"), 1);
  in.check(!nested_dim || !top_dim || *nested_dim == *top_dim);
  in.check(in.nested_or_top("shift_label").is_bool());
  in.check(prefix == 1 && hidden.has_value() && (nested_dim || top_dim));
  in.check(!block_size || *block_size > 1);
}

// M3.1 checkpoints state their draft under other names; upstream rewrites them first.
Value with_minimax_names(const Value& config, Reader& in) {
  Value text = text_config(config);
  for (const auto& [key, value] : config.as_dict()) {
    if (key.starts_with("dspark_")) text = std::move(text).with(key, value);
  }
  const Value draft = member(text, "dspark_config");
  const Value* dense = find(draft, "use_dense_ffn");
  in.check((dense != nullptr ? *dense : member(text, "dspark_use_dense_ffn")).truthy());
  const Value nested = member(text, "dflash_config");
  const Integer depth = integer_from(member(nested, "num_target_layers"));
  const Integer layers = integer_from(member(nested, "num_hidden_layers"));
  const Value* width = find(draft, "ffn_hidden_size");
  in.check(depth && layers && integer_from(width != nullptr ? *width : member(text, "dspark_ffn_hidden_size")));
  for (const std::string_view key : {"dspark_block_size", "dspark_markov_rank", "dspark_noise_token_id"}) {
    in.check(integer_from(member(text, key)).has_value());
  }
  const Value ids = member(nested, "target_layer_ids");
  in.check(all_integers(ids));
  if (!in.valid()) return text;
  std::vector<std::int64_t> seen;
  for (const Value& id : ids.as_list()) seen.push_back(*integer_from(id));
  std::sort(seen.begin(), seen.end());
  in.check(std::adjacent_find(seen.begin(), seen.end()) == seen.end() && seen.front() >= 0 && seen.back() < *depth);
  const Value* head = find(text, "dspark_markov_head_type");
  text = std::move(text).with("markov_head_type", head != nullptr ? *head : Value("vanilla"));
  const Value block = *integer_from(member(text, "dspark_block_size"));
  const Value mask = *integer_from(member(text, "dspark_noise_token_id"));
  text = std::move(text).with("num_hidden_layers", *layers).with("block_size", block).with("mask_token_id", mask);
  return text.with("dspark_target_layer_ids", ids)
      .with("dflash_config", nested.with("block_size", block).with("mask_token_id", mask));
}

// The Markov head that corrects a DSPARK block.
void check_markov(Reader& in, const Value& config, const Value& nested, bool prefixed) {
  const auto lookup = [&](std::string_view prefixed_key, std::string_view key) {
    const Value first = member(config, prefixed_key);
    if (!first.is_none()) return first;
    if (const Value* value = find(nested, key)) return *value;
    const Value text = text_config(config);
    return find(text, key) != nullptr ? member(text, key) : member(config, key);
  };
  const Integer rank = in.integer(lookup("dspark_markov_rank", "markov_rank"), 0);
  const Value head = lookup("dspark_markov_head_type", "markov_head_type");
  in.check(rank.value_or(0) <= 0 || !head.is_none() || prefixed);
  if (!head.is_none()) {
    const std::string name = ascii_lower(head.is_string() ? head.as_string() : head.repr());
    in.check(name == "vanilla" || name == "gated" || name == "rnn");
  }
  in.integer(lookup("dspark_noise_token_id", "mask_token_id"), 0);
}

}  // namespace

BlockDraft parse_dflash_draft(const Resolution& r, const Value& config) {
  Reader in(config);
  in.integer(member(text_config(config), "num_hidden_layers"), 1);
  in.integer(in.nested_or_top("num_target_layers"), 1);
  const Integer block_size = in.integer(in.nested_or_top("block_size"), 1);
  if (r.since(v0_5(19))) check_convolution_and_selector(in, member(config, "dflash_config"));
  const Value layers = in.nested_or_top("target_layer_ids");
  in.check(layers.is_none() || all_integers(layers));
  check_mask(in, r.since(v0_5(18)));
  if (r.since(v0_5(20))) {
    check_attention_members(in, member(config, "dflash_config"));
    check_domino(in, config, block_size);
  }
  return in.valid() ? BlockDraft{true, block_size} : BlockDraft{};
}

BlockDraft parse_dspark_draft(const Resolution& r, const Value& given) {
  Reader in(given);
  const bool minimax = r.since(v0_5(23)) && member(given, "architectures") == Value::list({"DSparkMiniMaxDraftModel"});
  const Value config = minimax ? with_minimax_names(given, in) : given;
  const BlockDraft base = parse_dflash_draft(r, config);
  in.check(base.valid);
  Value nested = Value::dict({});
  for (const std::string_view key : {"dflash_config", "dspark_config"}) {
    if (key == "dflash_config" && r.before(v0_5(23))) continue;
    const Value part = member(config, key);
    if (!part.is_dict()) continue;
    for (const auto& [name, value] : part.as_dict()) nested = std::move(nested).with(name, value);
  }
  const Value block = member(config, "dspark_block_size");
  const Value layers = member(config, "dspark_target_layer_ids");
  const bool prefixed = !block.is_none() || !layers.is_none() || !member(config, "dspark_markov_rank").is_none() ||
                        !member(config, "dspark_noise_token_id").is_none();
  check_markov(in, config, nested, prefixed);
  in.check(layers.is_none() || all_integers(layers));
  const Integer size = block.is_none() ? base.block_size : in.integer(block);
  return in.valid() ? BlockDraft{true, size} : BlockDraft{};
}

}  // namespace preflight::resolve::speculative
