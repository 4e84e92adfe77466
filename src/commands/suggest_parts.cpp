#include "src/commands/suggest_parts.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "src/args/argument_groups.h"
#include "src/args/option_index.h"

namespace preflight::commands {
namespace {

// Fields that the user's own words give.
std::set<Field> fields_given(const Search& s) {
  std::set<Field> out;
  const std::vector<SourceRange> nowhere(s.base.size());
  for (const fix::Group& group : fix::group_arguments(s.inputs.release, s.base, nowhere)) {
    if (group.option != nullptr && group.option->row != nullptr) out.insert(group.option->field);
  }
  return out;
}

// Whether the launch attends with none of the kernels that the search names.
bool attends_by_itself(const Launch& launch) {
  const Value& backend = launch[Field::attention_backend];
  return launch.accepted() && backend.is_string() &&
         std::ranges::none_of(attentions(), [&](const Part& part) { return part.words[1] == backend.as_string(); });
}

// A backend of the model's own may be set whatever is given (DeepSeek-V4), or where none is (sparse attention).
Attention attention_of(const Search& s, const Launch& with_a_name) {
  if (attends_by_itself(with_a_name)) return Attention::kOwn;
  const auto plain = resolve_words(s.inputs, s.base, {}, s.inputs.env);
  return plain && attends_by_itself(plain->launch) ? Attention::kOwnFirst : Attention::kNamed;
}

std::set<Field> fields_changed(const Launch& launch) {
  std::set<Field> out;
  for (const Change& change : launch.chain) {
    for (const FieldValue& one : change.fields) out.insert(one.first);
  }
  return out;
}

}  // namespace

void look_at_base(Search& s) {
  s.attention = Attention::kNamed;
  s.given = fields_given(s);
  Suggestion c{.arguments = s.base, .memory = {}};
  add(s, c, attentions().back());
  const auto resolved = resolve_words(s.inputs, c.arguments, {}, s.inputs.env);
  s.changed_anyway = s.given;
  if (!resolved || resolved->unknown_model) return;
  if (resolved->launch.accepted()) s.changed_anyway = fields_changed(resolved->launch);
  s.attention = attention_of(s, resolved->launch);
  const Value& width = resolved->launch[Field::tp_size];
  if (is_given(s, Field::tp_size) && width.is_int()) s.given_tp = std::max<std::int64_t>(1, width.as_int());
}

bool is_given(const Search& s, Field field) { return s.given.contains(field); }

namespace {

// What the user gave stays: a second copy would overrule it. A backend of either phase decides all of the attention.
bool is_left_away(const Search& s, const std::string& option) {
  const args::Option* row = args::OptionIndex::of(s.inputs.release).find(option);
  if (row == nullptr || row->row == nullptr) return false;
  if (row->field == Field::attention_backend &&
      (is_given(s, Field::prefill_attention_backend) || is_given(s, Field::decode_attention_backend))) {
    return true;
  }
  return is_given(s, row->field);
}

}  // namespace

// The first option of a part is what it is about; the others go with it.
void add(const Search& s, Suggestion& c, const Part& part) {
  if (part.words.empty() || is_left_away(s, part.words.front())) return;
  for (std::size_t i = 0; i + 1 < part.words.size(); i += 2) {
    if (is_left_away(s, part.words[i])) continue;
    c.arguments.push_back(part.words[i]);
    if (!part.words[i + 1].empty()) c.arguments.push_back(part.words[i + 1]);
  }
  if (!part.gives_up.empty()) c.gives_up.push_back(part.gives_up);
}

namespace {

Suggestion split_of(const Search& s, const Split& split) {
  Suggestion c{.arguments = s.base, .cards = split.tp * split.pp * split.dp, .memory = {}};
  const auto give = [&](const char* option, std::int64_t n) {
    if (n > 1) add(s, c, {{option, std::to_string(n)}});
  };
  give("--tp-size", split.tp);
  give("--pp-size", split.pp);
  give("--dp-size", split.dp);
  if (split.attention_dp > 1) {
    // A size of its own from 0.5.22; before, the number of replicas.
    const char* size = s.inputs.release >= v0_5(22) ? "--attn-dp-size" : "--dp-size";
    add(s, c, {{"--enable-dp-attention", "", size, std::to_string(split.attention_dp)}});
  }
  return c;
}

}  // namespace

std::span<const Part> attentions() {
  static const std::array<Part, 3> parts = {Part{{"--attention-backend", "intel_xpu", "--page-size", "128"}},
                                            Part{{"--attention-backend", "intel_xpu", "--page-size", "64"}},
                                            Part{{"--attention-backend", "triton"}}};
  return parts;
}

std::span<const Part> attentions_of(const Search& s) {
  static const std::array<Part, 1> own = {Part{}};
  static const std::array<Part, 1> plain = {
      Part{{"--attention-backend", "torch_native"}, "attention in PyTorch, one request after the other: slow"}};
  static const std::array<Part, 4> own_first = {Part{}, attentions()[0], attentions()[1], attentions()[2]};
  if (s.attention == Attention::kOwnFirst) return own_first;
  if (s.attention == Attention::kNamed) return attentions();
  return s.attention == Attention::kOwn ? own : plain;
}

// More room for the cache, the cheapest first. SGLang keeps back what a chunk of a prompt takes: with smaller chunks
// its own share grows. Beyond that share the activations lose, and the smallest chunk needs the least of them.
std::vector<Part> more_room(const Search& s, std::int64_t chunk) {
  std::vector<Part> out;
  if (is_given(s, Field::chunked_prefill_size)) chunk = 0;
  constexpr std::array<std::int64_t, 2> kChunks = {4096, 2048};  // SGLang keeps no less back for smaller ones
  for (const std::int64_t size : kChunks) {
    if (chunk <= size) continue;
    out.push_back({{std::string(kChunk), std::to_string(size)},
                   fmt::format("prompts are computed in chunks of {} tokens, not {}: less memory, and more steps for "
                               "long ones",
                               size, chunk)});
  }
  for (const char* share : {"0.85", "0.9"}) {
    Part part{{std::string(kShare), share}, "a larger share of the card for the cache: less for activations"};
    if (chunk > kChunks.back()) {
      part.words.insert(part.words.end(), {std::string(kChunk), std::to_string(kChunks.back())});
      part.gives_up += fmt::format(", so that chunks of a prompt are {} tokens, not {}", kChunks.back(), chunk);
    }
    out.push_back(std::move(part));
  }
  return out;
}

const std::array<Part, 2>& caches() {
  static const std::array<Part, 2> parts = {
      Part{}, Part{{"--kv-cache-dtype", "fp8_e5m2"}, "keys and values in fp8: half the memory, less precise"}};
  return parts;
}

// Where a launch takes fewer at once than it has tokens for: recurrent states are made for a part of the requests, and
// without a prefix cache none is kept for what it holds.
std::array<Part, 3> batches(const Search& s, const Split& split) {
  // Of the replicas of DP attention each takes its whole part.
  const std::int64_t replicas = split.dp * split.attention_dp;
  const std::int64_t of_rank = (s.wish.concurrency + replicas - 1) / replicas;
  const std::int64_t each = of_rank * split.attention_dp;
  Part bounded{{"--max-running-requests", std::to_string(each)}};
  if (split.attention_dp > 1)
    bounded.gives_up = fmt::format("no more than {} requests at once: less is kept for what the ranks exchange", each);
  // It is kept by the largest graph, which 0.5.22 bounds by the requests.
  if (split.attention_dp > 1 && s.inputs.release < v0_5(22)) {
    const char* later = "--cuda-graph-max-bs-decode";
    const bool renamed = args::OptionIndex::of(s.inputs.release).find(later) != nullptr;
    bounded.words.insert(bounded.words.end(), {renamed ? later : "--cuda-graph-max-bs", std::to_string(of_rank)});
  }
  Part uncached = bounded;
  uncached.words.insert(uncached.words.end(), {"--disable-radix-cache", ""});
  uncached.gives_up = "--disable-radix-cache: what requests have in common is computed for each of them";
  return {Part{}, std::move(bounded), std::move(uncached)};
}

void add_context(const Search& s, Suggestion& c) {
  if (s.wish.context_given) add(s, c, {{"--context-length", std::to_string(s.wish.context)}});
}

Suggestion made_of(const Search& s, const Split& split, const Choice& choice) {
  Suggestion c = split_of(s, split);
  c.half_cache = &choice.cache != &caches().front();
  for (const Part* part : {&choice.attention, &choice.cache, &choice.room, &choice.batch}) add(s, c, *part);
  add_context(s, c);
  return c;
}

}  // namespace preflight::commands
