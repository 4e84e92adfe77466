// Candidates against the parser's complaints: the option that was meant, a value it takes, or without it.
#include <algorithm>
#include <set>

#include "src/args/closest_options.h"
#include "src/fix/edits.h"
#include "src/args/vllm_options.h"

namespace preflight::fix {
namespace {

using args::Arity;
using args::Option;
using args::OptionIndex;

constexpr double kRenamed = 0.5;
constexpr double kOtherValue = 0.8;
constexpr double kDropped = 1.0;
constexpr double kStep = 0.03;
constexpr int kUnknownAtOnce = 8;
constexpr std::string_view kDpAttention = "--enable-dp-attention";

// The group that holds word `index` of the list.
std::optional<std::size_t> group_at(const Situation& s, int index) {
  if (index < 0) return std::nullopt;
  std::size_t first = 0;
  for (std::size_t i = 0; i < s.groups.size(); ++i) {
    first += s.groups[i].words.size();
    if (static_cast<std::size_t>(index) < first) return i;
  }
  return std::nullopt;
}

// What an unknown option is called here: vLLM's spelling, a successor named in another release's table, near names.
std::vector<std::string> names_for(const Situation& s, const std::string& typed) {
  std::vector<std::string> names;
  const OptionIndex& index = OptionIndex::of(s.release);
  const auto add = [&](std::string_view name) {
    if (index.find(name) != nullptr && std::find(names.begin(), names.end(), name) == names.end()) {
      names.emplace_back(name);
    }
  };
  if (const auto* v = args::find_vllm_option(typed); v != nullptr && !v->sglang.empty()) add(v->sglang);
  if (const auto here = names_here(s.release, typed)) {
    for (const std::string_view name : *here) add(name);
    return names;  // no slip of the pen: what is spelt like it is another option
  }
  for (const std::string& name : args::closest_options(s.release, typed)) add(name);
  return names;
}

Candidate dropped(std::size_t group, double cost) { return {{{.kind = Edit::Kind::kDrop, .group = group}}, cost}; }

// The group under another option: its values stay as far as that option takes them, and what it means there, too.
Candidate renamed(const Situation& s, std::size_t group, const std::string& name, double cost) {
  const Group& g = s.groups[group];
  Edit e{.group = group, .name = name, .values = g.values()};
  const Option* o = OptionIndex::of(s.release).find(name);
  if (o != nullptr && o->arity == Arity::kNone) e.values.clear();
  if (o != nullptr && o->arity == Arity::kOne && e.values.size() > 1) e.values.resize(1);
  if (!g.is_option()) e.values.clear();
  Candidate c{{e}, cost};
  const auto is_on = [&](const Group& other) { return other.name == kDpAttention; };
  c.is_advised = g.name == kAttentionGroups;  // both belong together
  if (c.is_advised && std::ranges::none_of(s.groups, is_on)) c.edits.push_back({.name = std::string(kDpAttention)});
  return c;
}

class UsageCandidates {
 public:
  explicit UsageCandidates(const Situation& s) : s_(s), usage_(*s.launch.usage) {}

  std::vector<Candidate> make() {
    const auto at = group_at(s_, usage_.where.argv_index);
    if (usage_.kind == "unrecognized") {
      // The first of many: names close to each cost a look at every option, and no search cures more than a few.
      int left = kUnknownAtOnce;
      for (std::size_t i = 0; i < s_.groups.size() && left > 0; ++i) {
        const Group& g = s_.groups[i];
        if (g.option != nullptr) continue;
        unknown(i, at == i ? 0.0 : 0.1);
        --left;
      }
      if (at && s_.groups[*at].option != nullptr) surplus(*at);
    } else if (usage_.kind == "ambiguous" && at) {
      ambiguous(*at);
    } else if (usage_.kind == "required") {
      required();
    } else if (at) {
      value(*at);
    }
    int words = kUnknownAtOnce;  // of no option: as few as are looked at above
    for (std::size_t i = 0; i < s_.groups.size(); ++i) {
      const Option* o = s_.groups[i].option;
      if (o == nullptr ? words-- > 0 : !is_protected(*o, s_.error)) out_.push_back(dropped(i, kDropped + 1.0));
    }
    return std::move(out_);
  }

 private:
  void unknown(std::size_t i, double extra) {
    const Group& g = s_.groups[i];
    double cost = kRenamed + extra;
    for (const std::string& name : names_for(s_, g.is_option() ? g.name : g.words.front())) {
      out_.push_back(renamed(s_, i, name, cost));
      cost += kStep;
    }
    if (g.name != kAttentionGroups) out_.push_back(dropped(i, kDropped + extra));  // which turns DP attention off
  }

  // More words than the option takes, such as a value behind a switch.
  void surplus(std::size_t i) {
    const Group& g = s_.groups[i];
    if (g.words.size() > 1) out_.push_back({{{.group = i, .values = {g.words[1]}}}, kOtherValue});
    out_.push_back(dropped(i, kDropped));
  }

  // What the word names is most likely meant: --pp the size (--tp and --dp are sizes, too), --context the length; then
  // the shortest, which others refine.
  void ambiguous(std::size_t i) {
    const std::string& typed = s_.groups[i].name;
    std::vector<std::string> names;
    for (const auto& name : OptionIndex::of(s_.release).starting_with(typed)) names.emplace_back(name.name);
    const auto distance = [&](const std::string& name) {
      const bool plain = name == typed + "-size" || name == typed + "-length";
      return std::pair(!plain, name.size());
    };
    std::ranges::stable_sort(names, {}, distance);
    double cost = kRenamed;
    for (const std::string& name : names) {
      out_.push_back(renamed(s_, i, name, cost));
      cost += kStep;
    }
    out_.push_back(dropped(i, kDropped));
  }

  // An option that must be given: a word that nobody takes may be its value.
  void required() {
    for (std::size_t i = 0; i < s_.groups.size(); ++i) {
      const Group& g = s_.groups[i];
      if (g.is_option() && g.option != nullptr) continue;
      if (!g.is_option()) {
        Edit add{.name = usage_.flag, .values = {g.words.front()}};
        out_.push_back({{{.kind = Edit::Kind::kDrop, .group = i}, add}, kRenamed});
      } else {
        for (const std::string& name : names_for(s_, g.name)) out_.push_back(renamed(s_, i, name, kRenamed));
      }
    }
  }

  void value(std::size_t i) {
    const Group& g = s_.groups[i];
    if (g.option == nullptr) return;
    const auto values = g.values();
    double cost = kOtherValue;
    std::size_t listed = 0;
    if (g.option->arity == Arity::kNone) {  // "--switch=1"
      out_.push_back({{{.group = i, .values = {}}}, kRenamed});
      if (g.words.front().size() > g.name.size()) {
        Edit plain{.name = g.name};
        out_.push_back({{{.kind = Edit::Kind::kDrop, .group = i}, plain}, kRenamed});
      }
    }
    for (std::string& v : other_values(s_, *g.option, values.empty() ? std::string() : values.front())) {
      out_.push_back({{{.group = i, .values = {std::move(v)}}}, cost});
      cost += kStep;
      if (++listed == 12) break;
    }
    out_.push_back(dropped(i, kDropped));
  }

  const Situation& s_;
  const UsageError& usage_;
  std::vector<Candidate> out_;
};

}  // namespace

std::vector<Candidate> usage_candidates(const Situation& s) {
  return s.launch.usage ? UsageCandidates(s).make() : std::vector<Candidate>{};
}

}  // namespace preflight::fix
