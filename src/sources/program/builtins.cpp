// Python's own functions. Tested by tests/traps_test.cpp, with Python as the judge.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "src/base/characters.h"
#include "src/base/limits.h"
#include "src/python/text.h"
#include "src/sources/program/attributes.h"
#include "src/sources/program/exact.h"
#include "src/sources/program/follower.h"
#include "src/sources/program/signatures.h"

namespace preflight::sources::program {
namespace {

using Kind = Val::Kind;

constexpr std::size_t kPullSteps = 6;  // to ask an iterator for its next item

bool any_many(const std::vector<Val>& items) { return std::any_of(items.begin(), items.end(), is_many); }

}  // namespace

Val Follower::range(const Arguments& a) {
  std::array<std::int64_t, 3> n = {0, 0, 1};
  if (a.values.empty() || a.values.size() > 3) return unclear(a.at, a.end);
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (!a.values[i].whole()) return unclear(a.at, a.end);
    n[a.values.size() == 1 ? 1 : i] = a.values[i].integer;
  }
  if (n[2] == 0) refuse("ValueError", a.at);
  std::vector<Val> out;
  for (std::int64_t i = n[0]; n[2] > 0 ? i < n[1] : i > n[1]; i += n[2]) {
    if (std::ssize(out) >= limits::kRangeItems || std::abs(i) > (std::int64_t{1} << 60)) return unclear(a.at, a.end);
    out.push_back(whole(i));
    out.back().begin = a.at;
    out.back().end = a.end;
  }
  Val made = list_of(std::move(out));
  made.object->name = kRange;
  return made;
}

// int, float, bool, str, repr, list, tuple, dict, set.
std::optional<Val> Follower::conversion(const std::string& name, Arguments& a) {
  if (name == "dict") {
    Val out = {.kind = Kind::kDict, .object = make()};
    if (!a.values.empty()) update(out.object, a.values[0], a.at);
    for (const auto& [key, v] : a.keys) set_entry(out.object, text(key, a.at), v, a.at);
    for (const Val& more : a.more) update(out.object, more, a.at);
    return out;
  }
  const bool sequence = name == "list" || name == "tuple" || name == "set" || name == "frozenset";
  if (sequence) {
    const Kind kind = name == "list" ? Kind::kList : name == "tuple" ? Kind::kTuple : Kind::kSet;
    if (a.values.empty()) return list_of({}, kind);
    const auto items = items_of(a.values[0], a.at);
    if (!items) return list_of({unknown(shown(a.at, a.end) + " is computed where the program runs", a.at, true)}, kind);
    return list_of(kind == Kind::kSet ? distinct(*items) : *items, kind);
  }
  if (name != "int" && name != "float" && name != "bool" && name != "str" && name != "repr") return std::nullopt;
  if (name == "int" && (a.values.size() == 2 || a.key("base") != nullptr)) return in_base(a);
  if (a.values.size() != 1) return a.values.empty() && name == "str" ? text("", a.at) : unclear(a.at, a.end);
  const Val v = asked(a.values[0]);
  if (name == "str") return str(v, a.at);
  if (v.is(Kind::kUnknown) || (v.is(Kind::kText) && !v.known_text())) {
    ++doubts_;
    if (name != "bool") may_be_none(v, "TypeError", a.at);
    return name == "bool" || v.is(Kind::kText) ? unclear(a.at, a.end) : v;
  }
  if (name == "repr") {
    const auto written = repr(v);
    return written ? text(*written, a.at) : unclear(a.at, a.end);
  }
  if (name == "bool") {
    const auto test = truth(v);
    return test ? boolean(*test) : unclear(a.at, a.end);
  }
  if (v.whole()) return name == "int" ? whole(v.integer) : real(static_cast<double>(v.integer));
  if (v.is(Kind::kFloat)) {
    if (name == "float") return v;
    return std::abs(v.number) < 9e15 ? whole(static_cast<std::int64_t>(v.number)) : unclear(a.at, a.end);
  }
  if (v.known_text()) {
    if (name == "float") {
      const auto d = python::to_float(v.text->text);
      if (!d) refuse("ValueError", a.at);
      return real(*d);
    }
    const auto digits = python::to_integer(v.text->text);
    if (!digits) refuse("ValueError", a.at);
    const auto i = python::to_int(v.text->text);
    return i && std::to_string(*i) == *digits ? whole(*i) : unclear(a.at, a.end);
  }
  return unclear(a.at, a.end);
}

// int(TEXT, BASE)
std::optional<Val> Follower::in_base(const Arguments& a) {
  const Val* base = a.argument(1, "base");
  if (a.values.empty() || base == nullptr || !base->whole() || !a.values[0].known_text()) return unclear(a.at, a.end);
  bool refused = false;
  const auto out = whole_in_base(a.values[0].text->text, base->integer, refused);
  if (refused) refuse("ValueError", a.at);
  return out ? whole(*out) : unclear(a.at, a.end);
}

// abs, round, divmod, hex, oct, bin, ord, pow.
std::optional<Val> Follower::builtin_number(const std::string& name, const Arguments& a) {
  if (a.values.empty() || !a.more.empty()) return std::nullopt;
  const Val v = asked(a.values[0]);
  const bool alone = a.values.size() == 1 && a.keys.empty();
  if (name == "abs" && alone && v.whole()) return whole(std::abs(v.integer));
  if (name == "abs" && alone && v.is(Kind::kFloat)) return real(std::abs(v.number));
  if (name == "round" && v.is(Kind::kFloat) && std::abs(v.number) < 1e15) {
    const Val* places = a.argument(1, "ndigits");
    if (places == nullptr || places->is(Kind::kNone)) return whole(static_cast<std::int64_t>(std::nearbyint(v.number)));
    const auto out = places->whole() ? round_to(v.number, places->integer) : std::nullopt;
    return out ? real(*out) : unclear(a.at, a.end);
  }
  if (name == "round" && v.whole()) {
    const Val* places = a.argument(1, "ndigits");
    const bool kept = places == nullptr || places->is(Kind::kNone) || (places->whole() && places->integer >= 0);
    return kept ? whole(v.integer) : unclear(a.at, a.end);
  }
  if (name == "divmod" && a.values.size() == 2 && v.whole() && a.values[1].whole()) {
    const Val by = a.values[1];
    return list_of({whole_arithmetic("//", v.integer, by.integer, a.at, a.end),
                    whole_arithmetic("%", v.integer, by.integer, a.at, a.end)},
                   Kind::kTuple);
  }
  if (name == "pow" && a.values.size() == 2 && a.keys.empty()) return binary("**", v, a.values[1], a.at, a.end);
  if (name == "ord" && alone && v.known_text() && count_characters(v.text->text) != 1) refuse("TypeError", a.at);
  if (name == "ord" && alone && v.known_text() && v.text->text.size() == 1) {
    const auto letter = static_cast<unsigned char>(v.text->text[0]);
    return letter < 0x80 ? std::optional(whole(letter)) : std::nullopt;
  }
  if (!alone || !v.whole() || (name != "hex" && name != "oct" && name != "bin")) return std::nullopt;
  const std::string digits = name == "hex"   ? fmt::format("{:x}", v.integer)
                             : name == "oct" ? fmt::format("{:o}", v.integer)
                                             : fmt::format("{:b}", v.integer);
  const bool negative = digits.starts_with('-');
  const char letter = name == "hex" ? 'x' : name == "oct" ? 'o' : 'b';
  return text(fmt::format("{}0{}{}", negative ? "-" : "", letter, digits.substr(negative ? 1 : 0)), a.at);
}

// --- what is gone through ---

void Follower::give(Object* iterator, Val item) {
  touch(iterator);
  spend_bytes(2 * sizeof(Val));
  iterator->now.items.push_back(std::move(item));
}

// Any number of items that are not known.
void Follower::give_lost(Object* iterator, std::size_t begin, std::size_t end) {
  give(iterator, unknown(shown(begin, end) + " is computed where the program runs", begin, true));
}

// What brings an iterator nearer to its next item; while it runs there is nothing to ask.
void Follower::take_step(Object* iterator) {
  spend(kPullSteps);
  touch(iterator);
  const auto next = std::exchange(iterator->now.next, nullptr);
  const bool goes_on = (*next)(iterator);
  touch(iterator);
  if (goes_on) iterator->now.next = next;
}

// Whether an iterator has an item in front; what it takes to have one happens now.
bool Follower::bring(Object* iterator) {
  const Deeper deeper(*this);
  while (iterator->now.items.empty() && iterator->now.next != nullptr) take_step(iterator);
  return !iterator->now.items.empty();
}

void Follower::bring_all(Object* iterator) {
  const Deeper deeper(*this);
  const bool outer = std::exchange(to_the_end_, iterator->frame != nullptr);
  while (iterator->now.next != nullptr && iterator->now.items.size() <= limits::kProgramTurns) take_step(iterator);
  if (iterator->now.next != nullptr) {  // it may have no end
    touch(iterator);
    iterator->now.next = nullptr;
    give(iterator, unknown("how many items there are is not followed", 0, true));
  }
  to_the_end_ = outer;
}

// Its next item; none at its end. Any number of items stay where they are.
std::optional<Val> Follower::pull(Object* iterator) {
  if (!bring(iterator)) return std::nullopt;
  Val out = iterator->now.items.front();
  if (is_many(out)) return out;
  touch(iterator);
  iterator->now.items.erase(iterator->now.items.begin());
  return out;
}

// A view shows what its dictionary has by now.
void Follower::refresh(const Val& view) {
  if (!is_view(view)) return;
  const Val dict = view.object->bound[0];
  const std::string& what = view.object->way;
  const auto keys = items_of(dict, view.begin);
  std::vector<Val> out;
  if (!keys) {
    out = {unknown("what a dictionary has here is not known", view.begin, true)};
  } else if (what == "keys") {
    out = *keys;
  } else {
    for (const auto& [key, v] : dict.object->now.pairs) {
      if (v.is(Kind::kGone)) continue;
      out.push_back(what == "values" ? v : list_of({key, v}, Kind::kTuple));
    }
  }
  touch(view.object);
  view.object->now.items = std::move(out);
}

// One after the other of what is known: taking the first of many out of a list moves all others.
NextItems Follower::each_of(std::vector<Val> items) {
  const auto all = std::make_shared<const std::vector<Val>>(std::move(items));
  return [this, all](Object* self) {
    const Val turn = self->now.names["."];
    const auto i = static_cast<std::size_t>(turn.integer);
    if (turn.is(Kind::kUnknown)) give(self, unknown("what is left to go through is not known", turn.begin, true));
    if (turn.is(Kind::kUnknown) || i >= all->size()) return false;
    give(self, (*all)[i]);
    self->now.names["."] = whole(turn.integer + 1);
    return !is_many((*all)[i]);
  };
}

// iter(v). A list is gone through as it is by then.
Val Follower::iterator_over(const Val& v, std::size_t at) {
  if (is_iterator(v)) return v;
  if (const auto own = own_iterator(v, at)) return iterator_over(*own, at);
  if (v.is(Kind::kList) && !is_view(v)) {
    if (names_server(v)) used_.insert(v.object);
    return iterator_of([this, v](Object* self) {
      Val& turn = self->now.names["."];
      const auto& items = v.object->now.items;
      const auto i = static_cast<std::size_t>(turn.integer);
      if (!turn.is(Kind::kUnknown) && i >= items.size()) return false;
      const bool lost = turn.is(Kind::kUnknown) || is_many(items[i]);
      turn = turn.is(Kind::kUnknown) ? turn : whole(turn.integer + 1);
      give(self, lost ? unknown("what is left to go through is not known", v.begin, true) : Val(items[i]));
      return !lost;
    });
  }
  if (v.is(Kind::kDict) || is_view(v)) {
    return iterator_of([this, v, at](Object* self) {
      if (const auto items = items_of(v, at))
        self->now.next = std::make_shared<const NextItems>(each_of(*items));
      else
        give_lost(self, v.begin < v.end ? v.begin : at, v.end);
      return false;
    });
  }
  const auto items = items_of(v, at);
  if (items) {
    spend_bytes(items->size() * sizeof(Val));
    return iterator_of(each_of(*items));
  }
  Val lost = v.is(Kind::kUnknown) ? v : unclear(v.begin < v.end ? v.begin : at, std::max(v.end, at));
  auto mystery = std::make_shared<Mystery>(*lost.mystery);
  mystery->many = true;
  lost.mystery = mystery;
  return iterator_of(std::vector<Val>{lost});
}

// next(ITERATOR), next(ITERATOR, DEFAULT)
Val Follower::next_of(Arguments& a) {
  const auto item = pull(a.values[0].object);
  if (!item && a.values.size() > 1) return a.values[1];
  if (!item) refuse("StopIteration", a.at);
  if (!is_many(*item)) return *item;
  ++doubts_;
  return unclear(a.at, a.end);
}

Val Follower::enumerated(const Arguments& a) {
  const Val* start = a.argument(1, "start");
  const Val all = iterator_over(a.values[0], a.at);
  Val out = iterator_of([this, all, begin = a.at, end = a.end](Object* self) {
    const auto item = pull(all.object);
    const Val turn = self->now.names["."];
    const bool lost = item && (is_many(*item) || !turn.whole());
    if (lost) give_lost(self, begin, end);
    if (!item || lost) return false;
    touch(self);
    self->now.names["."] = whole(turn.integer + 1);
    give(self, list_of({turn, *item}, Kind::kTuple));
    return true;
  });
  out.object->now.names["."] = start == nullptr ? whole(0) : *start;
  return out;
}

Val Follower::zipped(const Arguments& a) {
  const Val* strict = a.key("strict");
  const auto refuses = strict == nullptr ? std::optional(false) : truth(*strict);
  std::vector<Val> all;
  for (const Val& v : a.values) all.push_back(iterator_over(v, a.at));
  return iterator_of([this, all, refuses, begin = a.at, end = a.end](Object* self) {
    std::vector<Val> row;
    for (const Val& one : all) {
      const auto item = pull(one.object);
      if (!item && refuses == std::optional(false)) return false;
      const auto is_longer = [&](const Val& v) { return v.object != one.object && bring(v.object); };
      if (!item && row.empty() && std::ranges::none_of(all, is_longer)) return false;
      if (!item && refuses == std::optional(true)) refuse("ValueError", begin);
      if (!item || is_many(*item)) {
        give_lost(self, begin, end);
        return false;
      }
      row.push_back(*item);
    }
    give(self, list_of(std::move(row), Kind::kTuple));
    return true;
  });
}

Val Follower::mapped(const Arguments& a) {
  std::vector<Val> all;
  for (std::size_t i = 1; i < a.values.size(); ++i) all.push_back(iterator_over(a.values[i], a.at));
  return iterator_of([this, all, f = a.values[0], begin = a.at, end = a.end](Object* self) {
    Arguments one;
    one.at = begin;
    one.end = end;
    for (const Val& source : all) {
      const auto item = pull(source.object);
      if (!item) return false;
      if (is_many(*item)) {
        give_lost(self, begin, end);
        return false;
      }
      one.values.push_back(*item);
    }
    const Val first = one.values[0];
    Val v = call(f, one);
    v.begin = first.begin;
    v.end = first.end;
    give(self, std::move(v));
    return true;
  });
}

Val Follower::filtered(const Arguments& a) {
  const Val all = iterator_over(a.values[1], a.at);
  return iterator_of([this, all, f = a.values[0], begin = a.at, end = a.end](Object* self) {
    const auto item = pull(all.object);
    if (!item) return false;
    Arguments one;
    one.at = begin;
    one.end = end;
    one.values = {*item};
    const auto kept = is_many(*item) ? std::nullopt : truth(f.is(Kind::kNone) ? *item : call(f, one));
    if (!kept) give_lost(self, begin, end);
    if (kept == std::optional(true)) give(self, *item);
    return kept.has_value();
  });
}

// reversed(v): from what is its last item now.
Val Follower::backwards(const Val& v, std::size_t at) {
  if (!v.is(Kind::kList) || is_view(v) || std::ranges::any_of(v.object->now.items, is_many)) {
    const auto items = items_of(v, at);
    if (!items || any_many(*items)) return iterator_over(unclear(v.begin < v.end ? v.begin : at, v.end), at);
    return iterator_over(list_aside({items->rbegin(), items->rend()}, Kind::kTuple), at);
  }
  if (names_server(v)) used_.insert(v.object);
  Val out = iterator_of([this, v, stamp = v.object->changed](Object* self) {
    const Val turn = self->now.names["."];
    const auto& items = v.object->now.items;
    const bool lost = !turn.whole() || (v.object->changed != stamp && std::ranges::any_of(items, is_many));
    if (lost) give(self, unknown("what is left to go through is not known", v.begin, true));
    if (lost || turn.integer < 0 || turn.integer >= std::ssize(items)) return false;
    touch(self);
    self->now.names["."] = whole(turn.integer - 1);
    give(self, items[static_cast<std::size_t>(turn.integer)]);
    return true;
  });
  out.object->now.names["."] = whole(std::ssize(v.object->now.items) - 1);
  return out;
}

// any(v), all(v): up to the first that decides it.
Val Follower::any_or_all(bool any, const Arguments& a) {
  const Val all = iterator_over(a.values[0], a.at);
  bool known = true;
  while (const auto item = pull(all.object)) {
    spend(1);
    if (is_many(*item)) return unclear(a.at, a.end);
    const auto test = truth(*item);
    if (test == std::optional(any)) return boolean(any);
    known = known && test;
  }
  return known ? boolean(!any) : unclear(a.at, a.end);
}

// len, enumerate, zip, map, filter, sorted, reversed, min, max, sum, any, all, next, iter.
std::optional<Val> Follower::builtin_of_items(const std::string& name, Arguments& a) {
  static const std::set<std::string, std::less<>> kNames = {"len",    "enumerate", "zip",  "map", "filter",
                                                            "sorted", "reversed",  "min",  "max", "sum",
                                                            "any",    "all",       "next", "iter"};
  if (!kNames.contains(name)) return std::nullopt;
  const std::size_t first = name == "map" || name == "filter" ? 1 : 0;
  if (a.values.size() <= first) return unclear(a.at, a.end);
  if (name == "next" && is_iterator(a.values[0])) return next_of(a);
  if (name == "iter" && a.values.size() > 1) return unclear(a.at, a.end);  // calls, until one gives that
  if (name == "iter") return iterator_over(a.values[0], a.at);
  if (name == "enumerate") return enumerated(a);
  if (name == "zip") return zipped(a);
  if (name == "map") return mapped(a);
  if (name == "filter" && a.values.size() == 2) return filtered(a);
  if (name == "reversed") return backwards(a.values[0], a.at);
  if (name == "any" || name == "all") return any_or_all(name == "any", a);
  const bool several = (name == "min" || name == "max") && a.values.size() > 1;
  if (name == "len") {
    if (auto own = own_method(a.values[0], "__len__", {}, a.at)) return own;
    take_no_arguments(a.values[0], a.at);
  }
  if (name == "len" && a.values[0].known_text()) {
    spend_bytes(a.values[0].text->text.size());
    return whole(count_characters(a.values[0].text->text));
  }
  if (name == "len" && is_iterator(a.values[0])) refuse("TypeError", a.at);
  const bool set_size = name == "len" && a.values[0].is(Kind::kSet);
  auto items = several || set_size ? std::optional(set_size ? a.values[0].object->now.items : a.values)
                                   : items_of(a.values[first], a.at);
  if (!items && a.values[first].is(Kind::kSet) && name != "next")
    items = a.values[first].object->now.items;  // in any order
  const auto many = [&] {
    return list_of({unknown(shown(a.at, a.end) + " is computed where the program runs", a.at, true)});
  };
  if (!items || any_many(*items)) {
    if (name == "next") ++doubts_;
    return name == "sorted" ? many() : unclear(a.at, a.end);
  }
  std::vector<Val> out;
  if (name == "len") return whole(std::ssize(*items));
  if (name == "next" || name == "filter") return unclear(a.at, a.end);
  if (name == "sum") {
    Val total = a.argument(1, "start") != nullptr ? *a.argument(1, "start") : whole(0);
    for (const Val& item : *items) total = binary("+", total, item, a.at, a.end);
    return total;
  }
  // sorted, min, max.
  std::vector<std::pair<Val, Val>> keyed;
  for (const Val& item : *items) {
    const Val* key = a.key("key");
    Val k = item;
    if (key != nullptr && !key->is(Kind::kNone)) {
      Arguments one;
      one.at = a.at;
      one.values = {item};
      k = call(*key, one);
    }
    keyed.emplace_back(std::move(k), item);
  }
  for (std::size_t i = 0; i + 1 < keyed.size(); ++i) {
    (void)compare("<", keyed[i].first, keyed[i + 1].first);  // which ends the program where they have no order
    if (!less(keyed[i].first, keyed[i + 1].first)) return name == "sorted" ? many() : unclear(a.at, a.end);
  }
  if (keyed.empty()) {
    if (name == "sorted") return list_of({});
    if (a.key("default") == nullptr && a.more.empty()) refuse("ValueError", a.at);
    return a.key("default") != nullptr ? *a.key("default") : unclear(a.at, a.end);
  }
  spend(keyed.size() * 8);
  const Val* reverse = a.key("reverse");
  const auto backwards = reverse == nullptr ? std::optional(false) : truth(*reverse);
  if (!backwards) return many();
  const bool down = *backwards;
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& x, const auto& y) {
    return (down ? less(y.first, x.first) : less(x.first, y.first)).value_or(false);
  });
  if (name == "min") return keyed.front().second;
  if (name == "max") {
    auto best = keyed.begin();
    for (auto it = keyed.begin(); it != keyed.end(); ++it) {
      if (less(best->first, it->first).value_or(false)) best = it;
    }
    return best->second;
  }
  for (auto& [key, item] : keyed) out.push_back(std::move(item));
  return list_of(std::move(out));
}

static bool is_namespace(const Object& object) {
  return object.name == "argparse.Namespace" || object.name == "types.SimpleNamespace";
}

// isinstance, hasattr, getattr, callable, type.
std::optional<Val> Follower::type_question(const std::string& name, Arguments& a) {
  if (name == "isinstance" && a.values.size() == 2) {
    const Val& v = a.values[0];
    if (v.is(Kind::kUnknown)) return unclear(a.at, a.end);
    const bool other = is_iterator(v) || is_view(v) || (v.is(Kind::kList) && v.object->name == kRange);
    const std::string own = other                ? ""
                            : v.is(Kind::kBool)  ? "bool"
                            : v.is(Kind::kInt)   ? "int"
                            : v.is(Kind::kFloat) ? "float"
                            : v.is(Kind::kText)  ? "str"
                            : v.is(Kind::kList)  ? "list"
                            : v.is(Kind::kTuple) ? "tuple"
                            : v.is(Kind::kDict)  ? "dict"
                            : v.is(Kind::kSet)   ? "set"
                            : v.is(Kind::kNone)  ? "NoneType"
                                                 : "";
    std::vector<Val> types = {a.values[1]};
    if (a.values[1].is(Kind::kTuple)) types = a.values[1].object->now.items;
    bool clear = !own.empty();
    for (const Val& type : types) {
      if (type.is(Kind::kClass) && v.object != nullptr && v.object->of == type.object) return boolean(true);
      if (!type.is(Kind::kNative)) {
        clear = clear && type.is(Kind::kClass);
        continue;
      }
      if (type.object->name == own || (own == "bool" && type.object->name == "int")) return boolean(true);
    }
    return clear ? boolean(false) : unclear(a.at, a.end);
  }
  if ((name == "getattr" || name == "hasattr") && a.values.size() >= 2 && a.values[1].known_text()) {
    const Val& v = a.values[0];
    const std::string& attribute_name = a.values[1].text->text;
    const bool fields = v.is(Kind::kInstance) || v.is(Kind::kClass);
    if (fields) {
      const auto it = v.object->now.names.find(attribute_name);
      bool open = false;
      const Val* member = v.object->of == nullptr ? nullptr : class_member(v.object->of, attribute_name, open);
      const bool own = it != v.object->now.names.end() && !it->second.is(Kind::kGone);
      if (name == "hasattr") {
        const bool lost =
            own && it->second.is(Kind::kUnknown) && (is_namespace(*v.object) || !v.object->now.open.empty());
        if (lost && member == nullptr) return unclear(a.at, a.end);
        if (own || member != nullptr) return boolean(true);
        const bool closed = !open && (v.object->of != nullptr || is_namespace(*v.object)) && v.object->now.open.empty();
        return closed ? boolean(false) : unclear(a.at, a.end);
      }
      if (own) return it->second;
      if (member != nullptr && a.call != nullptr) return bound_member(*member, v, v.object->of, *a.call);
      const bool closed = !open && v.object->now.open.empty() && (v.object->of != nullptr || is_namespace(*v.object));
      if (closed && a.values.size() > 2) return a.values[2];
    }
    const bool lacks = lacks_attribute(v, attribute_name);
    if (lacks && name == "hasattr") return boolean(false);
    if (lacks && a.values.size() > 2) return a.values[2];
    if (lacks) refuse("AttributeError", a.at);
    if (v.is(Kind::kNative) && name == "getattr" && a.call != nullptr) return attribute(v, attribute_name, *a.call);
    ++doubts_;
    return unclear(a.at, a.end);
  }
  return std::nullopt;
}

std::optional<Val> Follower::builtin(const std::string& name, Arguments& a) {
  if (name == "print") {
    constexpr auto kThose = std::to_array<std::string_view>({"sep", "end", "file", "flush"});
    const auto is_read = [&](const auto& key) { return std::ranges::find(kThose, key.first) != kThose.end(); };
    if (!std::ranges::all_of(a.keys, is_read)) refuse("TypeError", a.at);
    return none();
  }
  if (name == "id" || name == "hash" || name == "dir") return unclear(a.at, a.end);
  if (name == "exit" || name == "quit") refuse("SystemExit", a.at);
  if (name == "range") return range(a);
  if (auto out = conversion(name, a)) return out;
  if (auto out = builtin_of_items(name, a)) return out;
  if (auto out = type_question(name, a)) return out;
  if (name == "setattr" && a.values.size() == 3 && a.values[1].known_text()) {
    bind_attribute(a.values[0], a.values[1].text->text, a.values[2], a.at);
    return none();
  }
  if (name == "setattr" && a.values.size() == 3 && (a.values[0].is(Kind::kInstance) || a.values[0].is(Kind::kClass))) {
    const ShellText* key = a.values[1].is(Kind::kText) ? a.values[1].text.get() : nullptr;
    lose(a.values[0].object, fmt::format("an attribute is set at line {} whose name is not known", line(a.at)), a.at,
         key);
    return none();
  }
  if (name == "delattr" && a.values.size() == 2 && a.values[1].known_text() && a.values[0].object != nullptr) {
    remove_attribute(a.values[0], a.values[1].text->text, a.at);
    return none();
  }
  if (name == "vars" && a.values.size() == 1 && (a.values[0].is(Kind::kInstance) || a.values[0].is(Kind::kClass)))
    return names_of(a.values[0]);
  const bool outside = locals_ == globals_ && (name == "locals" || name == "vars");
  if (a.values.empty() && (name == "globals" || outside))
    return names_of({.kind = Kind::kInstance, .object = globals_});
  if (auto out = builtin_number(name, a)) return out;
  if (name == "format" && a.values.size() == 2 && a.values[1].known_text())
    return formatted(a.values[0], a.values[1].text->text, a.at);
  constexpr std::int64_t kCharacters = 0x110000;
  const bool no_character = name == "chr" && a.values.size() == 1 && a.values[0].whole() &&
                            (a.values[0].integer < 0 || a.values[0].integer >= kCharacters);
  if (no_character) refuse("ValueError", a.at);
  if (name == "chr" && a.values.size() == 1 && a.values[0].whole() && a.values[0].integer > 0 &&
      a.values[0].integer < 128)
    return text(std::string(1, static_cast<char>(a.values[0].integer)), a.at);
  if (name == "input") return unknown("what input() reads is not known here", a.at);
  if (name == "open") return file_call(name, a);
  if (name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Exit") || name.ends_with("Iteration") ||
      name == "KeyboardInterrupt")
    return instance(name);
  if (name == "exec" || name == "eval") {
    ++doubts_;
    const std::string why = fmt::format("{}() at line {} may set it", name, line(a.at));
    for (std::size_t i = 1; i < a.values.size(); ++i) handed_over(a.values[i], name, a.at);
    if (name == "exec" && a.values.size() < 2) {
      for (Object* scope : {locals_, globals_}) {
        lose(scope, why, a.at);
        scope->now.open.clear();
      }
    }
    return unclear(a.at, a.end);
  }
  return std::nullopt;
}

// str.lower(x), list.append(x, y): a method by its class, which is handed the value.
std::optional<Val> Follower::method_of_type(const std::string& name, Arguments& a) {
  if (a.values.empty()) return std::nullopt;
  const Val self = a.values[0];
  const bool of_text = name.starts_with("str.") && self.is(Kind::kText);
  const bool of_list = name.starts_with("list.") && self.is(Kind::kList) && !is_iterator(self) && !is_view(self);
  const bool of_dict = name.starts_with("dict.") && self.is(Kind::kDict) && self.object != environ_;
  if (!of_text && !of_list && !of_dict) return std::nullopt;
  a.values.erase(a.values.begin());
  if (of_text) return text_method(name.substr(4), self, a);
  return of_list ? list_method(name.substr(5), self, a) : dict_method(name.substr(5), self, a);
}

// Of str.lower(x), which is handed what the method belongs to.
static bool is_type(std::string_view name) {
  return name == "str" || name == "list" || name == "dict" || name == "set";
}

Val Follower::call_native(const std::string& name, const Object& callee, Arguments& a) {
  const auto unclear = [&] {
    Val unclear_callee;
    unclear_callee.kind = Kind::kNative;
    unclear_callee.object = make();
    unclear_callee.object->name = name;
    return call_unknown(unclear_callee, a);
  };
  const bool of_type =
      callee.bound.empty() && name.find('.') != std::string::npos && is_type(name.substr(0, name.find('.')));
  if (!of_type && misfits(name, a)) refuse("TypeError", a.at);
  if (const char* refused = refused_value(name, a); refused != nullptr && callee.bound.empty()) refuse(refused, a.at);
  if (callee.bound.empty()) refuse_keywords(name, a);
  may_fail(name, callee, a);
  if (auto out = with_keywords_unread(name, a)) {
    if (!callee.bound.empty()) handed_over(callee.bound[0], name, a.at);
    return *out;
  }
  if (!callee.bound.empty()) {
    const Val& self = callee.bound[0];
    if (name.starts_with("str.") && self.is(Kind::kText)) return text_method(name.substr(4), self, a);
    if (name.starts_with("list.") && self.sequence()) return list_method(name.substr(5), self, a);
    if (name.starts_with("dict.") && self.is(Kind::kDict)) return dict_method(name.substr(5), self, a);
    if (name.starts_with("set.") && self.is(Kind::kSet)) return set_method(name.substr(4), self, a);
    if (name.starts_with("pathlib.Path.")) {
      if (auto out = path_method(name.substr(13), self, a)) return *out;
    }
    if (auto out = file_method(name, self, a)) return *out;
    if (auto out = ipython(name, a)) return *out;
    if (name == "ray.options") return ray_options(callee.bound[0], a);
    if (auto out = server_args_call(name, callee, a)) return *out;
    if (auto out = start_sh(name, callee, a)) return *out;
    if (auto out = parser_call(name, callee, a)) return *out;
    if (auto out = template_call(name, callee, a)) return *out;
    if (auto out = named_tuple_method(name, callee, a)) return *out;
    if (auto out = workers(name, callee, a)) return *out;
    return unclear();
  }
  if (auto out = method_of_type(name, a)) return *out;
  if (auto out = start(name, a)) return *out;
  if (auto out = server_args_call(name, callee, a)) return *out;
  if (auto out = start_sh(name, callee, a)) return *out;
  if (name.find('.') == std::string::npos) {
    if (auto out = builtin(name, a)) return *out;
  }
  if (auto out = library(name, callee, a)) return *out;
  return unclear();
}

}  // namespace preflight::sources::program
