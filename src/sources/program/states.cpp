// States of a program beside the one that is followed: each holds what differs from it. Tested by tests/traps_test.cpp.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/sources/program/follower.h"

namespace preflight::sources::program {
namespace {

std::size_t size_of(const Content& content) {
  return 1 + content.items.size() + 2 * content.pairs.size() + 2 * content.names.size();
}

}  // namespace

Follower::StatePtr Follower::take() {
  auto out = std::make_shared<State>();
  spend_bytes(sizeof(State) + alive_.size());
  out->born = changes_;
  alive_.push_back(out.get());
  held_.push_back(out);
  return out;
}

void Follower::drop(const StatePtr& state) {
  spend_bytes(alive_.size() * sizeof(StatePtr));
  std::erase(alive_, state.get());
  std::erase(held_, state);
}

// The state that is followed, once more: nothing differs from it.
void Follower::renew(const StatePtr& state) {
  state->other.clear();
  state->born = changes_;
  std::erase(alive_, state.get());
  alive_.push_back(state.get());
}

// To be called before an object changes. States stand in the order in which they were taken: those that were there
// when it changed last hold it as it was then, and all others hold it as it is.
void Follower::touch(Object* object) {
  const std::size_t last = std::exchange(object->changed, ++changes_);
  std::shared_ptr<Content> kept;
  for (auto state = alive_.rbegin(); state != alive_.rend() && (*state)->born >= last; ++state) {
    spend(1);
    if (!kept) {
      spend(size_of(object->now));
      kept = std::make_shared<Content>(object->now);
    }
    (*state)->other.emplace(object, kept);
  }
}

void Follower::turn_to(const StatePtr& state) {
  std::vector<Object*> changed;
  for (const auto& [object, content] : state->other) changed.push_back(object);
  for (Object* object : changed) {
    touch(object);
    std::shared_ptr<Content>& there = state->other.at(object);
    const bool shared = there.use_count() > 1;
    if (shared) spend(size_of(*there));
    Content then = shared ? *there : std::move(*there);
    there = std::make_shared<Content>(std::exchange(object->now, std::move(then)));
  }
}

bool Follower::same(const Val& a, const Val& b, int depth) const {
  if (a.kind == Val::Kind::kUnknown && b.kind == Val::Kind::kUnknown) return a.mystery->many == b.mystery->many;
  if (a.kind != b.kind || depth > 8) return false;
  if (a.object != nullptr && a.object == b.object) return true;
  switch (a.kind) {
    case Val::Kind::kBool:
    case Val::Kind::kInt:
      return a.integer == b.integer;
    case Val::Kind::kFloat:
      return a.number == b.number;
    case Val::Kind::kText:
      if (a.text == b.text) return true;
      return a.text->text == b.text->text && a.text->unknowns.size() == b.text->unknowns.size();
    case Val::Kind::kTuple:
      spend_items(a.object->now.items);
      return std::equal(a.object->now.items.begin(), a.object->now.items.end(), b.object->now.items.begin(),
                        b.object->now.items.end(), [&](const Val& x, const Val& y) { return same(x, y, depth + 1); });
    case Val::Kind::kNative:
      return a.object == b.object || (a.object->name == b.object->name && a.object->bound.empty() &&
                                      b.object->bound.empty() && a.object->altered == b.object->altered);
    case Val::Kind::kFunction:
      return a.object == b.object ||
             (a.object->statement == b.object->statement && a.object->bound.empty() && b.object->bound.empty() &&
              a.object->lambda == b.object->lambda && a.object->scope == b.object->scope);
    default:
      return a.object == b.object;
  }
}

// Of what two ways bind to a name, what a call of it calls: the same from two places of SGLang, or the only one that
// can be called. As a value it is not known.
std::optional<Val> Follower::callable_of(const Val& a, const Val& b, const std::string& name, const std::string& why) {
  const auto imported = [](const Val& v) { return v.is(Val::Kind::kNative) && v.object->bound.empty(); };
  const auto nothing = [](const Val& v) { return v.is(Val::Kind::kNone) || v.is(Val::Kind::kGone); };
  const auto last = [](const Val& v) { return std::string_view(v.object->name).substr(v.object->name.rfind('.') + 1); };
  const bool alone = (imported(a) && nothing(b)) || (imported(b) && nothing(a));
  if (!alone && (!imported(a) || !imported(b) || last(a) != last(b))) return std::nullopt;
  const Val& called = imported(a) ? a : b;
  const bool sglangs = !alone && is_sglangs(a.object->name) && is_sglangs(b.object->name);
  const bool same_name = !alone && a.object->name == b.object->name;
  if (!alone && !sglangs && !same_name && !runs_a_text(called.object->name)) return std::nullopt;
  Val out = called;
  out.object = make();
  out.object->name = called.object->name;
  out.object->imported_as = name;
  out.object->altered = why;
  return out;
}

Val Follower::merged(const Val& a, const Val& b, const std::string& name, const std::string& why, std::size_t at) {
  if (same(a, b)) return a;
  const Deeper deeper(*this);
  const std::string what = name.empty() ? why : fmt::format("{} {}", name, why);
  if (auto called = callable_of(a, b, name, what)) return *called;
  const bool lists = a.kind == b.kind && (a.is(Val::Kind::kList) || a.is(Val::Kind::kTuple));
  if (lists && a.object->bases.empty()) {
    Val out = list_of(merged_items(a.object->now.items, b.object->now.items, why, at), a.kind);
    const bool goes_on = a.object->now.next != nullptr || b.object->now.next != nullptr;
    if (goes_on) give(out.object, unknown("what is left to go through " + why, at, true));
    if (is_iterator(a) || is_iterator(b)) out.object->name = kIterator;
    out.begin = a.begin;
    out.end = a.end;
    return out;
  }
  if (a.is(Val::Kind::kDict) && b.is(Val::Kind::kDict) && a.object != environ_ && b.object != environ_) {
    bool changed = false;
    Val out = a;
    out.object = make();
    out.object->now = merged(a.object->now, b.object->now, why, at, changed);
    return out;
  }
  Val out = unknown(what, at);
  auto mystery = std::make_shared<Mystery>(*out.mystery);
  mystery->name = name;
  out.mystery = mystery;
  return out;
}

Val Follower::merged_here(const Val& a, const Val& b, const std::string& why, std::size_t at) {
  Val out = merged(a, b, "", why, at);
  if (!out.is(Val::Kind::kUnknown) || same(a, b)) return out;
  auto mystery = std::make_shared<Mystery>(*out.mystery);
  mystery->what = "a value here " + why;
  out.mystery = mystery;
  return out;
}

// What both have in front and behind stays; between them is what differs.
std::vector<Val> Follower::merged_items(const std::vector<Val>& a, const std::vector<Val>& b, const std::string& why,
                                        std::size_t at) {
  spend(a.size() + b.size());
  if (a.size() == b.size()) {
    std::vector<Val> out;
    for (std::size_t i = 0; i < a.size(); ++i) out.push_back(merged(a[i], b[i], "", "a word " + why, at));
    return out;
  }
  const std::size_t least = std::min(a.size(), b.size());
  std::size_t front = 0;
  while (front < least && same(a[front], b[front])) ++front;
  std::size_t back = 0;
  while (back < least - front && same(a[a.size() - 1 - back], b[b.size() - 1 - back])) ++back;
  const auto is_many = [](const Val& v) { return v.is(Val::Kind::kUnknown) && v.mystery->many; };
  while (front > 0 && is_many(a[front - 1])) --front;  // one is enough
  while (back > 0 && is_many(a[a.size() - back])) --back;
  std::vector<Val> out(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(front));
  out.push_back(unknown("how many words a list has here " + why, at, true));
  out.insert(out.end(), a.end() - static_cast<std::ptrdiff_t>(back), a.end());
  return out;
}

Content Follower::merged(const Content& a, const Content& b, const std::string& why, std::size_t at, bool& changed) {
  spend(size_of(a) + size_of(b));
  Content out = a;
  const auto combine = [&](Val& into, const Val& other, const std::string& name) {
    if (same(into, other)) return;
    changed = true;
    into = merged(into, other, name, why, at);
  };
  for (auto& [name, value] : out.names) {
    const auto it = b.names.find(name);
    combine(value, it == b.names.end() ? Val{.kind = Val::Kind::kGone} : it->second, name);
  }
  for (const auto& [name, value] : b.names) {
    if (out.names.contains(name)) continue;
    Val gone{.kind = Val::Kind::kGone};
    combine(gone, value, name);
    out.names.emplace(name, gone);
  }
  const bool equal_items = std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                                      [&](const Val& x, const Val& y) { return same(x, y); });
  if (!equal_items) {
    changed = true;
    out.items = merged_items(a.items, b.items, why, at);
  }
  const auto find = [&](const std::vector<std::pair<Val, Val>>& pairs, const Val& key) {
    return std::find_if(pairs.begin(), pairs.end(), [&](const auto& one) { return same(one.first, key); });
  };
  const auto name_of = [](const Val& key) { return key.known_text() ? key.text->text : std::string(); };
  if (a.pairs.size() * b.pairs.size() > 4) spend(a.pairs.size() * b.pairs.size());
  for (auto& [key, value] : out.pairs) {
    const auto it = find(b.pairs, key);
    combine(value, it == b.pairs.end() ? Val{.kind = Val::Kind::kGone} : it->second, name_of(key));
  }
  for (const auto& [key, value] : b.pairs) {
    if (find(a.pairs, key) != a.pairs.end()) continue;
    Val gone{.kind = Val::Kind::kGone};
    combine(gone, value, name_of(key));
    out.pairs.emplace_back(key, gone);
  }
  if (a.next != b.next) {
    changed = true;
    out.next = nullptr;
    out.items.push_back(unknown("what is left to go through " + why, at, true));
  }
  if (out.open.empty() != b.open.empty()) changed = true;
  if (out.open.empty()) out.open = b.open;
  return out;
}

// What this state and the one that is followed leave different is not known from here on; the state ends. Tells
// whether there was such a thing.
bool Follower::merge(const StatePtr& state, const std::string& why, std::size_t at) {
  drop(state);
  bool changed = false;
  for (auto& [object, content] : state->other) {
    touch(object);
    bool differs = false;
    Content out = merged(*content, object->now, why, at, differs);
    if (differs) object->now = std::move(out);
    changed = changed || differs;
  }
  return changed;
}

}  // namespace preflight::sources::program
