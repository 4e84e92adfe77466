// What a launch of the search is made of: how the cards are shared, attention, the cache's width, the room for it and
// the batch, as options. Tested by tests/suggest_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/commands/suggest_search.h"

namespace preflight::commands {

inline constexpr std::string_view kChunk = "--chunked-prefill-size";
inline constexpr std::string_view kShare = "--mem-fraction-static";

struct Part {
  Words words;  // options and their values in turn; a switch has the value ""
  std::string gives_up = {};
};

// How the cards are shared: tensor parallel, pipeline stages, replicas, and attention's own replicas among the ranks of
// tensor parallelism.
struct Split {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t dp = 1;
  std::int64_t attention_dp = 1;
};

struct Choice {
  const Part& attention;
  const Part& cache;
  const Part& room;
  const Part& batch;
};

// What stands before anything is added.
void look_at_base(Search& s);

bool is_given(const Search& s, Field field);

// The option of a part is left away where the user gave it.
void add(const Search& s, Suggestion& c, const Part& part);

std::span<const Part> attentions();
// What the search gives of it: nothing where the model decides.
std::span<const Part> attentions_of(const Search& s);

// More room for the cache, the cheapest first; `chunk`: what the launch takes by itself.
std::vector<Part> more_room(const Search& s, std::int64_t chunk);

const std::array<Part, 2>& caches();

// Where a launch takes fewer at once than it has tokens for.
std::array<Part, 3> batches(const Search& s, const Split& split);

void add_context(const Search& s, Suggestion& c);  // where the user asks for one
Suggestion made_of(const Search& s, const Split& split, const Choice& choice);

}  // namespace preflight::commands
