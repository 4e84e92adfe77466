// Python's own functions. Tested by tests/traps_test.cpp, with Python as the judge.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/python/text.h"
#include "src/sources/program/follower.h"

namespace preflight::sources::program {
namespace {

using Kind = Val::Kind;

bool any_many(const std::vector<Val>& items) { return std::any_of(items.begin(), items.end(), is_many); }

}  // namespace

Val Follower::range(const Arguments& a) {
  std::array<std::int64_t, 3> n = {0, 0, 1};
  if (a.values.empty() || a.values.size() > 3) return unclear(a.at, a.end);
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (!a.values[i].whole()) return unclear(a.at, a.end);
    n[a.values.size() == 1 ? 1 : i] = a.values[i].integer;
  }
  if (n[2] == 0) throw Thrown{instance("ValueError"), a.at};
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
  if (a.values.size() != 1) return a.values.empty() && name == "str" ? text("", a.at) : unclear(a.at, a.end);
  const Val v = asked(a.values[0]);
  if (name == "str") return str(v, a.at);
  if (v.is(Kind::kUnknown) || (v.is(Kind::kText) && !v.known_text())) {
    ++doubts_;
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
      if (!d) throw Thrown{instance("ValueError"), a.at};
      return real(*d);
    }
    const auto digits = python::to_integer(v.text->text);
    if (!digits) throw Thrown{instance("ValueError"), a.at};
    const auto i = python::to_int(v.text->text);
    return i && std::to_string(*i) == *digits ? whole(*i) : unclear(a.at, a.end);
  }
  if (v.is(Kind::kNone)) throw Thrown{instance("TypeError"), a.at};
  return unclear(a.at, a.end);
}

// len, enumerate, zip, map, filter, sorted, reversed, min, max, sum, any, all, next, iter.
// next(ITERATOR), next(ITERATOR, DEFAULT)
Val Follower::next_of(Arguments& a) {
  Object* all = a.values[0].object;
  if (all->now.items.empty()) {
    if (a.values.size() > 1) return a.values[1];
    throw Thrown{instance("StopIteration"), a.at};
  }
  if (is_many(all->now.items.front())) {
    ++doubts_;
    return unclear(a.at, a.end);
  }
  touch(all);
  const Val out = all->now.items.front();
  all->now.items.erase(all->now.items.begin());
  return out;
}

std::optional<Val> Follower::builtin_of_items(const std::string& name, Arguments& a) {
  static const std::set<std::string, std::less<>> kNames = {"len",    "enumerate", "zip",  "map", "filter",
                                                            "sorted", "reversed",  "min",  "max", "sum",
                                                            "any",    "all",       "next", "iter"};
  if (!kNames.contains(name)) return std::nullopt;
  const std::size_t first = name == "map" || name == "filter" ? 1 : 0;
  if (a.values.size() <= first) return unclear(a.at, a.end);
  if (name == "next" && is_iterator(a.values[0])) return next_of(a);
  if (name == "iter" && is_iterator(a.values[0])) return a.values[0];
  if (name == "iter" && a.values.size() > 1) return unclear(a.at, a.end);  // calls, until one gives that
  const bool several = (name == "min" || name == "max") && a.values.size() > 1;
  if (name == "len" && a.values[0].known_text()) {
    spend_bytes(a.values[0].text->text.size());
    std::int64_t n = 0;
    for (const char c : a.values[0].text->text) n += (static_cast<unsigned char>(c) & 0xC0U) != 0x80 ? 1 : 0;
    return whole(n);
  }
  const bool set_size = name == "len" && a.values[0].is(Kind::kSet);
  auto items = several || set_size ? std::optional(set_size ? a.values[0].object->now.items : a.values)
                                   : items_of(a.values[first], a.at);
  if (!items && a.values[first].is(Kind::kSet) && name != "next" && name != "enumerate" && name != "zip" &&
      name != "map" && name != "filter" && name != "iter")
    items = a.values[first].object->now.items;  // in any order
  const auto many = [&] {
    return list_of({unknown(shown(a.at, a.end) + " is computed where the program runs", a.at, true)});
  };
  const bool makes_list = name == "enumerate" || name == "zip" || name == "map" || name == "filter" ||
                          name == "sorted" || name == "reversed" || name == "iter";
  if (!items || any_many(*items)) {
    if (name == "next") ++doubts_;
    return makes_list ? many() : unclear(a.at, a.end);
  }
  std::vector<Val> out;
  if (name == "len") return whole(std::ssize(*items));
  if (name == "iter") return iterator_of(*items);
  if (name == "next") return unclear(a.at, a.end);
  if (name == "enumerate") {
    const Val* start = a.argument(1, "start");
    if (start != nullptr && !start->whole()) return many();
    std::int64_t i = start != nullptr ? start->integer : 0;
    for (const Val& item : *items) out.push_back(list_of({whole(i++), item}, Kind::kTuple));
    return iterator_of(std::move(out));
  }
  if (name == "zip") {
    std::vector<std::vector<Val>> all;
    std::size_t least = items->size();
    for (std::size_t i = 0; i < a.values.size(); ++i) {
      const auto twice = [&](const Val& v) { return is_iterator(v) && v.object == a.values[i].object; };
      if (std::any_of(a.values.begin(), a.values.begin() + static_cast<std::ptrdiff_t>(i), twice)) return many();
      const auto one = i == 0 ? items : items_of(a.values[i], a.at);
      if (!one || any_many(*one)) return many();
      all.push_back(*one);
      least = std::min(least, one->size());
    }
    const Val* strict = a.key("strict");
    const bool may_raise = strict != nullptr && truth(*strict) != std::optional(false);
    if (may_raise && std::ranges::any_of(all, [&](const auto& column) { return column.size() != least; }))
      return many();
    for (std::size_t i = 0; i < least; ++i) {
      std::vector<Val> row;
      for (const auto& column : all) row.push_back(column[i]);
      out.push_back(list_of(std::move(row), Kind::kTuple));
    }
    return iterator_of(std::move(out));
  }
  if (name == "map" || name == "filter") {
    if (name == "map" && a.values.size() > 2) return many();
    for (const Val& item : *items) {
      Arguments one;
      one.at = a.at;
      one.end = a.end;
      one.values = {item};
      const bool keeps = name == "filter" && a.values[0].is(Kind::kNone);
      Val v = keeps ? item : call(a.values[0], one);
      v.begin = item.begin;
      v.end = item.end;
      if (name == "map") {
        out.push_back(std::move(v));
        continue;
      }
      const auto kept = truth(v);
      if (!kept) return many();
      if (*kept) out.push_back(item);
    }
    return iterator_of(std::move(out));
  }
  if (name == "reversed") return iterator_of({items->rbegin(), items->rend()});
  if (name == "any" || name == "all") {
    bool known = true;
    for (const Val& item : *items) {
      const auto test = truth(item);
      if (test == std::optional(name == "any")) return boolean(name == "any");
      known = known && test;
    }
    return known ? boolean(name == "all") : unclear(a.at, a.end);
  }
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
    if (!less(keyed[i].first, keyed[i + 1].first)) return name == "sorted" ? many() : unclear(a.at, a.end);
  }
  if (keyed.empty()) {
    if (name == "sorted") return list_of({});
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
    const std::string own = v.is(Kind::kBool)    ? "bool"
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
        if (own || member != nullptr) return boolean(true);
        const bool closed = !open && (v.object->of != nullptr || is_namespace(*v.object)) && v.object->now.open.empty();
        return closed ? boolean(false) : unclear(a.at, a.end);
      }
      if (own) return it->second;
      if (member != nullptr && a.call != nullptr) return bound_member(*member, v, v.object->of, *a.call);
      const bool closed = !open && v.object->now.open.empty() && (v.object->of != nullptr || is_namespace(*v.object));
      if (closed && a.values.size() > 2) return a.values[2];
    }
    if (v.is(Kind::kNative) && name == "getattr" && a.call != nullptr) return attribute(v, attribute_name, *a.call);
    ++doubts_;
    return unclear(a.at, a.end);
  }
  return std::nullopt;
}

std::optional<Val> Follower::builtin(const std::string& name, Arguments& a) {
  if (name == "print" || name == "id" || name == "hash" || name == "dir") return none();
  if (name == "exit" || name == "quit") throw Thrown{instance("SystemExit"), a.at};
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
  if (name == "vars" && a.values.size() == 1 && (a.values[0].is(Kind::kInstance) || a.values[0].is(Kind::kClass)))
    return names_of(a.values[0]);
  const bool outside = locals_ == globals_ && (name == "locals" || name == "vars");
  if (a.values.empty() && (name == "globals" || outside))
    return names_of({.kind = Kind::kInstance, .object = globals_});
  if (name == "abs" && a.values.size() == 1 && a.values[0].whole()) return whole(std::abs(a.values[0].integer));
  if (name == "round" && a.values.size() == 1 && a.values[0].is(Kind::kFloat) && std::abs(a.values[0].number) < 1e15)
    return whole(static_cast<std::int64_t>(std::nearbyint(a.values[0].number)));
  if (name == "format" && a.values.size() == 2 && a.values[1].known_text())
    return formatted(a.values[0], a.values[1].text->text, a.at);
  if (name == "chr" && a.values.size() == 1 && a.values[0].whole() && a.values[0].integer > 0 &&
      a.values[0].integer < 128)
    return text(std::string(1, static_cast<char>(a.values[0].integer)), a.at);
  if (name == "input") return unknown("what input() reads is not known here", a.at);
  if (name == "open") return file_call(name, a);
  if (name.ends_with("Error") || name.ends_with("Exception") || name == "SystemExit" || name == "KeyboardInterrupt")
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

Val Follower::call_native(const std::string& name, const Object& callee, Arguments& a) {
  const auto unclear = [&] {
    Val unclear_callee;
    unclear_callee.kind = Kind::kNative;
    unclear_callee.object = make();
    unclear_callee.object->name = name;
    return call_unknown(unclear_callee, a);
  };
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
    if (auto out = workers(name, callee, a)) return *out;
    return unclear();
  }
  if (name.starts_with("str.") && !a.values.empty() && a.values[0].is(Kind::kText)) {  // str.lower(x)
    const Val self = a.values[0];
    a.values.erase(a.values.begin());
    return text_method(name.substr(4), self, a);
  }
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
