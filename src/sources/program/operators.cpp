// Operators of Python, on what is known. Tested by tests/traps_test.cpp, with Python as the judge.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "preflight/value.h"
#include "src/python/integer.h"
#include "src/sources/program/follower.h"

namespace preflight::sources::program {
namespace {

using Kind = Val::Kind;

bool numeric(const Val& v) { return v.whole() || v.is(Kind::kFloat); }
double as_real(const Val& v) { return v.is(Kind::kFloat) ? v.number : static_cast<double>(v.integer); }
bool is_path(const Val& v) { return v.is(Kind::kInstance) && v.object->name == "pathlib.Path"; }

}  // namespace

// none: not known.
std::optional<bool> Follower::truth(const Val& v) {
  if (is_unset(v)) return false;
  switch (v.kind) {
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return v.integer != 0;
    case Kind::kFloat:
      return v.number != 0;
    case Kind::kText:
      if (v.text->unknowns.size() < v.text->text.size()) return true;
      return v.text->text.empty() ? std::optional(false) : std::nullopt;
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kSet: {
      if (is_iterator(v)) return true;
      refresh(v);
      const auto& items = v.object->now.items;
      if (items.empty()) return false;
      spend_items(items);
      return std::all_of(items.begin(), items.end(), is_many) ? std::nullopt : std::optional(true);
    }
    case Kind::kDict: {
      if (v.object->now.inherits) return true;
      const auto& pairs = v.object->now.pairs;
      spend(pairs.size() / 8 + 1);
      const bool some = std::any_of(pairs.begin(), pairs.end(), [](const auto& one) {
        return !one.second.is(Kind::kGone) && !one.second.is(Kind::kUnknown);
      });
      if (some) return true;
      return pairs.empty() && v.object->now.open.empty() ? std::optional(false) : std::nullopt;
    }
    case Kind::kFunction:
    case Kind::kClass:
      return true;
    case Kind::kInstance: {
      bool open = false;
      for (const char* name : {"__bool__", "__len__"}) {
        if (const auto own = own_method(v, name, {}, v.begin)) return own->whole() ? truth(*own) : std::nullopt;
      }
      if (v.object->of != nullptr) class_member(v.object->of, "__bool__", open);
      return open ? std::nullopt : std::optional(true);
    }
    case Kind::kNative:
      if (const Val named = asked(v); !named.is(Kind::kNative)) return truth(named);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<bool> Follower::equal(const Val& a, const Val& b, int depth) const {
  if (a.is(Kind::kUnknown) || b.is(Kind::kUnknown) || a.is(Kind::kGone) || b.is(Kind::kGone) || depth > 8)
    return std::nullopt;
  if (a.is(Kind::kNative) || b.is(Kind::kNative)) {
    const bool both = a.is(Kind::kNative) && b.is(Kind::kNative);
    return both && a.object->name == b.object->name ? std::optional(true) : std::nullopt;
  }
  if (numeric(a) && numeric(b)) return a.whole() && b.whole() ? a.integer == b.integer : as_real(a) == as_real(b);
  if (a.kind != b.kind) {
    const bool instance = a.is(Kind::kInstance) || b.is(Kind::kInstance);
    const bool none = a.is(Kind::kNone) || b.is(Kind::kNone);
    return instance && !none ? std::nullopt : std::optional(false);
  }
  if (a.is(Kind::kText)) {
    if (!a.known_text() || !b.known_text()) return std::nullopt;
    spend_bytes(std::min(a.text->text.size(), b.text->text.size()));
    return a.text->text == b.text->text;
  }
  if (a.is(Kind::kNone)) return true;
  if (a.is(Kind::kList) || a.is(Kind::kTuple)) {
    const auto& x = a.object->now.items;
    const auto& y = b.object->now.items;
    spend_items(x);
    spend_items(y);
    if (std::any_of(x.begin(), x.end(), is_many) || std::any_of(y.begin(), y.end(), is_many)) return std::nullopt;
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      spend(1);
      const auto one = equal(x[i], y[i], depth + 1);
      if (one != std::optional(true)) return one;
    }
    return true;
  }
  if (a.object == b.object) return true;
  const bool members = is_member(a) && is_member(b) && a.object->of == b.object->of;
  return members ? equal(a.object->now.names["value"], b.object->now.names["value"], depth + 1) : std::nullopt;
}

std::optional<bool> Follower::less(const Val& a, const Val& b) const {
  if (numeric(a) && numeric(b)) return a.whole() && b.whole() ? a.integer < b.integer : as_real(a) < as_real(b);
  if (a.known_text() && b.known_text()) return a.text->text < b.text->text;
  if ((a.is(Kind::kTuple) && b.is(Kind::kTuple)) || (a.is(Kind::kList) && b.is(Kind::kList))) {
    const auto& x = a.object->now.items;
    const auto& y = b.object->now.items;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      spend(1);
      const auto one = equal(x[i], y[i]);
      if (!one) return std::nullopt;
      if (!*one) return less(x[i], y[i]);
    }
    return x.size() < y.size();
  }
  return std::nullopt;
}

// What a class of the program makes of it: a call of its method `name`; none where it has none.
std::optional<Val> Follower::own_method(const Val& self, const std::string& name, std::vector<Val> values,
                                        std::size_t at) {
  if (!self.is(Kind::kInstance) || self.object->of == nullptr) return std::nullopt;
  bool open = false;
  const Val* own = class_member(self.object->of, name, open);
  if (own == nullptr) return std::nullopt;
  if (!own->is(Kind::kFunction)) {
    lose_object(self, fmt::format("what {} makes of it is not followed", name));
    return unclear(at, at);
  }
  Arguments a;
  a.at = a.end = at;
  a.values = std::move(values);
  a.values.insert(a.values.begin(), self);
  return call(*own, a);
}

// What a class of the program gives where it is gone through; of an object with a method __next__ an iterator that
// calls it.
std::optional<Val> Follower::own_iterator(const Val& self, std::size_t at) {
  std::optional<Val> own = own_method(self, "__iter__", {}, at);
  if (!own || !own->is(Kind::kInstance)) return own;
  const Val asked = *own;
  return iterator_of([this, asked, at](Object* iterator) {
    ++tries_;
    std::optional<Val> item;
    try {
      item = own_method(asked, "__next__", {}, at);
    } catch (const Thrown& thrown) {
      --tries_;
      if (is_exception(thrown.value, instance("StopIteration")) != 1) throw;
      return false;
    }
    --tries_;
    if (item) {
      give(iterator, *item);
      return true;
    }
    lose_object(asked, "what is gone through is not followed");
    give_lost(iterator, at, at);
    return false;
  });
}

void Follower::lose_object(const Val& self, const std::string& why) {
  touch(self.object);
  for (auto& [name, own] : self.object->now.names) own = unknown(why, self.begin);
  if (self.object->now.open.empty()) self.object->now.open = why;
}

namespace {

// What is asked of the left side of a comparison, and of the right one where that has no answer.
std::pair<std::string, std::string> comparing_methods(const std::string& op) {
  if (op == "==") return {"__eq__", "__eq__"};
  if (op == "!=") return {"__ne__", "__ne__"};
  if (op == "<") return {"__lt__", "__gt__"};
  if (op == ">") return {"__gt__", "__lt__"};
  if (op == "<=") return {"__le__", "__ge__"};
  if (op == ">=") return {"__ge__", "__le__"};
  return {};
}

}  // namespace

// What classes of the program make of a comparison; none where they do not speak of it.
std::optional<Val> Follower::own_comparison(const std::string& op, const Val& a, const Val& b) {
  if (op == "in" || op == "not in") {
    auto out = own_method(b, "__contains__", {a}, b.begin);
    if (!out || op == "in") return out;
    const auto holds = truth(*out);
    return holds ? boolean(!*holds) : unclear(b.begin, b.end);
  }
  const auto [left, right] = comparing_methods(op);
  if (left.empty()) return std::nullopt;
  if (auto out = own_method(a, left, {b}, a.begin)) return out;
  if (auto out = own_method(b, right, {a}, b.begin)) return out;
  if (op != "!=") return std::nullopt;
  const auto same = own_comparison("==", a, b);
  if (!same) return same;
  const auto holds = truth(*same);
  return holds ? boolean(!*holds) : unclear(a.begin, a.end);
}

std::optional<bool> Follower::contains(const Val& all, const Val& one) {
  if (has_no_items(all) || (all.is(Kind::kText) && is_plain(one) && !one.is(Kind::kText)))
    refuse("TypeError", one.begin);
  if (all.is(Kind::kText)) {
    if (!one.known_text()) return std::nullopt;
    if (!one.text->text.empty() && find(all.text->text, one.text->text) != std::string::npos) return true;
    return all.known_text() ? std::optional(one.text->text.empty()) : std::nullopt;
  }
  if (all.is(Kind::kDict)) {
    if (!one.known_text() && !one.whole()) return std::nullopt;
    const Val* found = entry(all.object, one);
    if (found != nullptr) {
      if (found->is(Kind::kUnknown)) return std::nullopt;
      return !found->is(Kind::kGone);
    }
    if (all.object->now.inherits) {
      const std::string name = one.known_text() ? one.text->text : "";
      if (source_.given.contains(name)) return true;
      if (!nothing_given_ || name.empty() || !all.object->now.open.empty() || set_where_it_runs(name) ||
          source_.environment != nullptr)
        return std::nullopt;
      (void)take_default(name, none(), one.begin);
      return false;
    }
    return all.object->now.open.empty() ? std::optional(false) : std::nullopt;
  }
  if (!all.sequence()) return std::nullopt;
  refresh(all);
  if (is_iterator(all)) {  // which is gone through up to it
    while (const auto item = pull(all.object)) {
      spend(1);
      const auto fits = is_many(*item) ? std::nullopt : equal(*item, one);
      if (fits == std::optional(true)) return true;
      if (fits) continue;
      touch(all.object);
      all.object->now.next = nullptr;
      all.object->now.items = {unknown("what is left to go through is not followed", one.begin, true)};
      return std::nullopt;
    }
    return false;
  }
  std::optional<bool> out = false;
  for (const Val& item : all.object->now.items) {
    spend(1);
    const auto fits = equal(item, one);
    if (fits == std::optional(true)) return true;
    if (!fits) out = std::nullopt;
  }
  return out;
}

std::optional<bool> Follower::compare(const std::string& op, const Val& first, const Val& second) {
  const Val left = asked(first);
  const Val right = asked(second);
  if (const auto own = own_comparison(op, left, right)) return truth(*own);
  const bool asks = op == "==" || op == "!=" || op == "is" || op == "is not" || op == "in" || op == "not in";
  const Val a = asks && is_unset(left) ? none() : left;
  const Val b = asks && is_unset(right) ? none() : right;
  const auto inverse = [](std::optional<bool> v) { return v ? std::optional(!*v) : v; };
  if (op == "==") return equal(a, b);
  if (op == "!=") return inverse(equal(a, b));
  const auto kind = [](const Val& v) {
    return numeric(v)           ? 1
           : v.is(Kind::kText)  ? 2
           : v.is(Kind::kNone)  ? 3
           : v.is(Kind::kList)  ? 4
           : v.is(Kind::kTuple) ? 5
                                : 0;
  };
  const bool orders = op == "<" || op == ">" || op == "<=" || op == ">=";
  if (orders && kind(a) != 0 && kind(b) != 0 && (kind(a) != kind(b) || kind(a) == 3)) refuse("TypeError", a.begin);
  if (op == "<") return less(a, b);
  if (op == ">") return less(b, a);
  if (op == "<=") return inverse(less(b, a));
  if (op == ">=") return inverse(less(a, b));
  if (op == "in") return contains(b, a);
  if (op == "not in") return inverse(contains(b, a));
  const bool is = op == "is";
  if (a.is(Kind::kUnknown) || b.is(Kind::kUnknown) || a.is(Kind::kNative) || b.is(Kind::kNative)) return std::nullopt;
  const bool single = a.is(Kind::kNone) || b.is(Kind::kNone) || a.is(Kind::kBool) || b.is(Kind::kBool);
  if (single) {
    const bool same_one = a.kind == b.kind && a.integer == b.integer;
    return is ? same_one : !same_one;
  }
  if (is_member(a) && is_member(b)) {
    const auto one = a.object->of == b.object->of ? equal(a, b) : std::optional(false);
    return one ? std::optional(*one == is) : std::nullopt;
  }
  if (a.object != nullptr && b.object != nullptr) return (a.object == b.object) == is;
  return std::nullopt;
}

Val Follower::unary(const std::string& op, const Val& v, const Expr& e) {
  if (op == "not") {
    const auto test = truth(v);
    return test ? boolean(!*test) : unclear(e);
  }
  const std::string name = op == "-" ? "__neg__" : op == "~" ? "__invert__" : "__pos__";
  if (auto own = own_method(v, name, {}, e.begin)) return *std::move(own);
  if (v.is(Kind::kFloat) && op != "~") return real(op == "-" ? -v.number : v.number);
  if (is_plain(v) && !v.whole()) refuse("TypeError", e.begin);
  if (!v.whole() || v.integer == std::numeric_limits<std::int64_t>::min()) return unclear(e);
  return whole(op == "-" ? -v.integer : op == "~" ? ~v.integer : v.integer);
}

Val Follower::whole_arithmetic(const std::string& op, std::int64_t a, std::int64_t b, std::size_t begin,
                               std::size_t end) {
  std::int64_t out = 0;
  if (op == "+" && !__builtin_add_overflow(a, b, &out)) return whole(out);
  if (op == "-" && !__builtin_sub_overflow(a, b, &out)) return whole(out);
  if (op == "*" && !__builtin_mul_overflow(a, b, &out)) return whole(out);
  if ((op == "//" || op == "%" || op == "/") && b == 0) refuse("ZeroDivisionError", begin);
  if (op == "//") return whole(integer::floor_div(a, b));
  if (op == "%") return whole(integer::modulo(a, b));
  if (op == "/") return real(static_cast<double>(a) / static_cast<double>(b));
  if (op == "|") return whole(a | b);
  if (op == "&") return whole(a & b);
  if (op == "^") return whole(a ^ b);
  if (op == ">>" && b >= 0) return whole(b > 62 ? (a < 0 ? -1 : 0) : a >> b);
  if (op == "<<" && b >= 0 && b < 62 && std::abs(a) < (std::int64_t{1} << (62 - b)))
    return whole(a * (std::int64_t{1} << b));
  if ((op == "<<" || op == ">>") && b < 0) refuse("ValueError", begin);
  if (op == "**" && a == 0 && b < 0) refuse("ZeroDivisionError", begin);
  if (op == "@") refuse("TypeError", begin);
  if (op == "**" && b >= 0 && b < 64) {
    std::int64_t power = 1;
    for (std::int64_t i = 0; i < b; ++i) {
      if (__builtin_mul_overflow(power, a, &power)) return unclear(begin, end);
    }
    return whole(power);
  }
  return unclear(begin, end);
}

Val Follower::arithmetic(const std::string& op, const Val& a, const Val& b, std::size_t begin, std::size_t end) {
  if (a.whole() && b.whole()) {
    const bool both = a.is(Kind::kBool) && b.is(Kind::kBool) && (op == "|" || op == "&" || op == "^");
    Val out = whole_arithmetic(op, a.integer, b.integer, begin, end);
    return both ? boolean(out.integer != 0) : out;
  }
  const double x = as_real(a);
  const double y = as_real(b);
  if (op == "+") return real(x + y);
  if (op == "-") return real(x - y);
  if (op == "*") return real(x * y);
  if ((op == "/" || op == "//" || op == "%") && y == 0) refuse("ZeroDivisionError", begin);
  if (op == "/") return real(x / y);
  if (op == "**" && x > 0) return real(std::pow(x, y));
  if (std::string_view("|&^<<>>@").find(op) != std::string_view::npos) refuse("TypeError", begin);
  return unclear(begin, end);
}

Val Follower::repeated(const Val& a, const Val& times, std::size_t begin, std::size_t end) {
  const std::int64_t n = std::max<std::int64_t>(times.integer, 0);
  const std::size_t size = a.is(Kind::kText) ? a.text->text.size() : a.object->now.items.size();
  if (n > 100'000 || size * static_cast<std::size_t>(n) > 200'000) return unclear(begin, end);
  spend(size * static_cast<std::size_t>(n) + 1);
  if (a.is(Kind::kText)) {
    ShellText out;
    for (std::int64_t i = 0; i < n; ++i) add(out, *a.text);
    return text(std::move(out));
  }
  std::vector<Val> out;
  for (std::int64_t i = 0; i < n; ++i) out.insert(out.end(), a.object->now.items.begin(), a.object->now.items.end());
  if (names_server(a)) used_.insert(a.object);
  return list_of(std::move(out), a.kind);
}

namespace {

// What a class may define for an operator: `__lshift__`; "" where it defines nothing.
std::string operator_name(const std::string& op) {
  constexpr auto kNames = std::to_array<std::pair<std::string_view, std::string_view>>({{"+", "add"},
                                                                                        {"-", "sub"},
                                                                                        {"*", "mul"},
                                                                                        {"/", "truediv"},
                                                                                        {"//", "floordiv"},
                                                                                        {"%", "mod"},
                                                                                        {"**", "pow"},
                                                                                        {"<<", "lshift"},
                                                                                        {">>", "rshift"},
                                                                                        {"|", "or"},
                                                                                        {"&", "and"},
                                                                                        {"^", "xor"},
                                                                                        {"@", "matmul"}});
  const auto it = std::ranges::find(kNames, std::string_view(op), [](const auto& one) { return one.first; });
  return it == kNames.end() ? std::string() : std::string(it->second);
}

}  // namespace

// What a class of the program makes of an operator: `prefix` is "" for a + b, "r" for the one on its right, "i" for +=.
std::optional<Val> Follower::own_operator(std::string_view prefix, const std::string& op, const Val& self,
                                          const Val& other, std::size_t begin) {
  const std::string name = operator_name(op);
  if (name.empty()) return std::nullopt;
  if (auto out = own_method(self, fmt::format("__{}{}__", prefix, name), {other}, begin)) return out;
  bool open = false;
  if (self.is(Kind::kInstance) && self.object->of != nullptr) class_member(self.object->of, "__init__", open);
  if (!open) return std::nullopt;
  lose_object(self, "what an operator makes of it is not followed");  // of a class that is not known
  return unclear(begin, begin);
}

Val Follower::binary(const std::string& op, const Val& left, const Val& right, std::size_t begin, std::size_t end) {
  const Val a = asked(left);
  const Val b = asked(right);
  may_be_none(a, "TypeError", begin);
  may_be_none(b, "TypeError", begin);
  if (auto own = own_operator("", op, a, b, begin)) return *own;
  if (auto own = own_operator("r", op, b, a, begin)) return *own;
  if (numeric(a) && numeric(b)) return arithmetic(op, a, b, begin, end);
  if (a.is(Kind::kText) && op == "%") return percent(*a.text, b, begin);
  if (op == "+" && (a.is(Kind::kText) || b.is(Kind::kText))) {
    if ((a.is(Kind::kText) || a.is(Kind::kUnknown)) && (b.is(Kind::kText) || b.is(Kind::kUnknown))) {
      ShellText out = text_or_hole(a, begin);
      add(out, text_or_hole(b, begin));
      return text(std::move(out));
    }
    refuse("TypeError", begin);
  }
  const bool list_a = a.is(Kind::kList) || a.is(Kind::kTuple);
  const bool list_b = b.is(Kind::kList) || b.is(Kind::kTuple);
  if (op == "+" && ((list_a && (list_b || b.is(Kind::kUnknown))) || (list_b && a.is(Kind::kUnknown)))) {
    const auto no_list = [](const Val& v) { return is_iterator(v) || is_view(v); };
    if ((list_a && list_b && a.kind != b.kind) || no_list(a) || no_list(b)) refuse("TypeError", begin);
    std::vector<Val> out;
    for (const Val* one : {&a, &b}) {
      if (one->is(Kind::kUnknown)) {
        auto mystery = std::make_shared<Mystery>(*one->mystery);
        mystery->many = true;
        mystery->name.clear();  // words are not given so
        Val many = *one;
        many.mystery = mystery;
        out.push_back(many);
        continue;
      }
      if (names_server(*one)) used_.insert(one->object);
      spend_bytes(one->object->now.items.size() * sizeof(Val));
      out.insert(out.end(), one->object->now.items.begin(), one->object->now.items.end());
    }
    return list_of(std::move(out), list_a ? a.kind : b.kind);
  }
  if (op == "*" && (list_a || a.is(Kind::kText)) && b.whole()) return repeated(a, b, begin, end);
  if (op == "*" && (list_b || b.is(Kind::kText)) && a.whole()) return repeated(b, a, begin, end);
  if (op == "/" && (is_path(a) || is_path(b))) {
    Arguments both;
    both.values = {a, b};
    both.at = begin;
    const auto is_other = [](const Val& v) { return is_plain(v) && !v.is(Kind::kText); };
    if (is_other(a) || is_other(b)) refuse("TypeError", begin);
    if (auto joined_paths = paths("os.path.join", both); joined_paths && joined_paths->is(Kind::kText))
      return path_of(*joined_paths->text);
    return unclear(begin, end);
  }
  const bool dicts = op == "|" && a.is(Kind::kDict) && b.is(Kind::kDict);
  const bool sets = std::string_view("|&-^").find(op) != std::string_view::npos && a.is(Kind::kSet) && b.is(Kind::kSet);
  if (is_plain(a) && is_plain(b) && !is_view(a) && !is_view(b) && !dicts && !sets) refuse("TypeError", begin);
  if (op == "|" && a.is(Kind::kDict) && b.is(Kind::kDict)) {
    Val out = a;
    spend(2 * a.object->now.pairs.size());
    out.object = make();
    out.object->now = a.object->now;
    update(out.object, b, begin);
    return out;
  }
  return unclear(begin, end);
}

// --- texts ---

std::optional<std::string> Follower::repr(const Val& v, int depth) const {
  if (depth > 8) return std::nullopt;
  spend(1);
  switch (v.kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return v.integer != 0 ? "True" : "False";
    case Kind::kInt:
      return std::to_string(v.integer);
    case Kind::kFloat:
      return python_float_repr(v.number);
    case Kind::kText:
      if (!v.known_text()) return std::nullopt;
      spend_text(v.text->text.size());
      return Value(v.text->text).repr();
    case Kind::kList:
    case Kind::kTuple: {
      if (is_iterator(v) || is_view(v) || v.object->name == kRange) return std::nullopt;
      std::string out;
      for (const Val& item : v.object->now.items) {
        const auto one = repr(item, depth + 1);
        if (!one || out.size() > 100'000) return std::nullopt;
        spend_bytes(one->size());
        out += (out.empty() ? "" : ", ") + *one;
      }
      if (v.is(Kind::kList)) return "[" + out + "]";
      return "(" + out + (v.object->now.items.size() == 1 ? ",)" : ")");
    }
    case Kind::kDict: {
      if (!v.object->now.open.empty() || v.object->now.inherits) return std::nullopt;
      std::string out;
      for (const auto& [key, value] : v.object->now.pairs) {
        const auto k = repr(key, depth + 1);
        const auto x = repr(value, depth + 1);
        if (!k || !x || out.size() > 100'000) return std::nullopt;
        spend_bytes(k->size() + x->size());
        out += (out.empty() ? "" : ", ") + *k + ": " + *x;
      }
      return "{" + out + "}";
    }
    default:
      return std::nullopt;
  }
}

Val Follower::str(const Val& v, std::size_t at) {
  if (v.is(Kind::kText)) return v;
  if (is_path(v)) return v.object->bound[0];
  if (v.is(Kind::kInstance) && v.object->of != nullptr) {
    bool open = false;
    if (const Val* own = class_member(v.object->of, "__str__", open); own != nullptr && own->is(Kind::kFunction)) {
      Arguments a;
      a.at = at;
      a.values = {v};
      return call(*own, a);
    }
  }
  if (const auto written = repr(v)) return text(*written, v.begin < v.end ? v.begin : at);
  if (v.is(Kind::kUnknown)) return v;
  if (const Val named = asked(v); !named.is(Kind::kNative) && v.is(Kind::kNative)) return str(named, at);
  return unclear(v.begin, std::max(v.begin, v.end));
}

ShellText Follower::hole(const Val& v, std::size_t at) const {
  if (!v.is(Kind::kUnknown)) return unknown_text("a value here is computed where the program runs", at);
  const Mystery& mystery = *v.mystery;
  const std::string how = mystery.name.empty() ? std::string() : "; give it with " + how_to_set(mystery.name);
  ShellText out = unknown_text(mystery.what + how, mystery.at);
  return out;
}

// As str() of it.
ShellText Follower::text_or_hole(const Val& v, std::size_t at) {
  const Val out = str(v, at);
  return out.is(Kind::kText) ? *out.text : hole(out, at);
}

// What __format__ of its class makes of it.
std::optional<Val> Follower::own_format(const Val& v, const std::string& spec, std::size_t at) {
  bool open = false;
  const Val* own =
      v.is(Kind::kInstance) && v.object->of != nullptr ? class_member(v.object->of, "__format__", open) : nullptr;
  if (own == nullptr) return std::nullopt;
  if (!own->is(Kind::kFunction)) return unclear(v.begin, std::max(v.begin, v.end));
  Arguments a;
  a.at = at;
  a.values = {v, text(spec, at)};
  return call(*own, a);
}

// 1,000 and 1_000.
static std::string grouped(std::string digits, char sign) {
  const std::size_t front = digits.starts_with('-') ? 1 : 0;
  for (std::size_t i = std::min(digits.find('.'), digits.size()); i > front + 3;) digits.insert(i -= 3, 1, sign);
  return digits;
}

// A letter at the end of a format that is another type's.
void Follower::refuse_format(const Val& v, std::string_view spec, std::size_t at) {
  const char letter = spec.empty() ? '\0' : spec.back();
  if (std::isalpha(static_cast<unsigned char>(letter)) == 0 && letter != '%') return;
  const std::string_view takes = v.is(Kind::kText)    ? "s"
                                 : v.is(Kind::kFloat) ? "eEfFgGn%"
                                 : v.whole()          ? "bcdeEfFgGnoxX%"
                                                      : "";
  if (takes.empty() && is_plain(v)) refuse("TypeError", at);
  if (!takes.empty() && takes.find(letter) == std::string_view::npos) refuse("ValueError", at);
}

// As format() of it: what fmt understands of the format as Python does.
Val Follower::formatted(const Val& value, const std::string& spec, std::size_t at) {
  const Val v = asked(value);
  if (v.is(Kind::kUnknown)) return v;
  if (auto own = own_format(v, spec, at)) return *own;
  refuse_format(v, spec, at);
  if ((spec == "," || spec == "_") && v.is(Kind::kInt)) return text(grouped(std::to_string(v.integer), spec[0]), at);
  const bool plain = spec.find_first_of(",_%n{}") == std::string::npos && spec.size() < 12 &&
                     spec.find_first_not_of("0123456789.<>^+- #bcdeEfFgGosxX*0=") == std::string::npos &&
                     spec.find('=') == std::string::npos;
  const auto digits = spec.find_first_of("123456789");
  const bool wide = digits != std::string::npos && spec.substr(digits).find_first_not_of("0123456789") > 3;
  // What fmt writes otherwise: 0o17, letters of which one is two columns wide, characters by their number.
  const bool differs = (v.whole() && spec.find('#') != std::string::npos && spec.ends_with('o')) ||
                       (v.whole() && spec.ends_with('c')) || (v.known_text() && !is_ascii(v.text->text));
  if (!plain || differs || (wide && spec.size() > 5)) return unclear(v.begin, std::max(v.begin, v.end));
  try {
    const std::string format = "{:" + spec + "}";
    if (v.is(Kind::kInt)) {
      const bool real_format = spec.find_first_of("eEfFgG") != std::string::npos;
      return text(real_format ? fmt::format(fmt::runtime(format), static_cast<double>(v.integer))
                              : fmt::format(fmt::runtime(format), v.integer),
                  at);
    }
    if (v.is(Kind::kFloat) && spec.find_first_of("eEfFgG") != std::string::npos)
      return text(fmt::format(fmt::runtime(format), v.number), at);
    if (v.known_text()) return text(fmt::format(fmt::runtime(format), v.text->text), at);
  } catch (const fmt::format_error&) {
    return unclear(v.begin, std::max(v.begin, v.end));
  }
  return unclear(v.begin, std::max(v.begin, v.end));
}

// "… %s %(name)s" % values.
Val Follower::percent(const ShellText& format, const Val& values, std::size_t at) {
  std::vector<Val> all = {values};
  if (values.is(Kind::kTuple)) all = values.object->now.items;
  if (std::any_of(all.begin(), all.end(), is_many)) return unclear(at, at);
  ShellText out;
  std::size_t next = 0;
  const std::string& s = format.text;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '%') {
      const std::size_t sign = std::min(s.find('%', i), s.size());
      add(out, sources::slice(format, i, sign));
      i = sign - 1;
      continue;
    }
    std::size_t end = i + 1;
    std::optional<Val> v;
    if (end < s.size() && s[end] == '(') {
      const auto close = s.find(')', end);
      if (close == std::string::npos || !values.is(Kind::kDict)) return unclear(at, at);
      v = dict_item(values, text(s.substr(end + 1, close - end - 1), at), at);
      end = close + 1;
    }
    const std::size_t spec = end;
    end = std::min(s.find_first_not_of("0123456789.-+ #", end), s.size());
    const char kind = end < s.size() ? s[end] : '\0';
    const std::string how = s.substr(spec, end - spec);
    i = end;
    if (kind == '%' && how.empty()) {
      add(out, sources::slice(format, end, end + 1));
      continue;
    }
    if (kind == '\0') refuse("ValueError", at);
    if (!v && next >= all.size()) refuse("TypeError", at);
    v = asked(v ? *v : all[next++]);
    if (std::string_view("diouxXeEfFgGcrsab*hlL").find(kind) == std::string_view::npos) refuse("ValueError", at);
    const bool number_kind = std::string_view("dieEfFgGxXo").find(kind) != std::string_view::npos;
    if (number_kind && is_plain(*v) && !numeric(*v)) refuse("TypeError", at);
    if (v->is(Kind::kFloat) && std::string_view("xXo").find(kind) != std::string_view::npos) refuse("TypeError", at);
    if (kind == 'r') {
      const auto written = repr(*v);
      add(out, written ? *text(*written, at).text : hole(*v, at));
    } else if (kind == 's' && how.empty()) {
      add(out, text_or_hole(*v, at));
    } else if (v->is(Kind::kUnknown)) {
      add(out, hole(*v, at));
    } else if (number_kind && numeric(*v)) {
      if (how.find('-') != std::string::npos) return unclear(at, at);
      const bool integral = kind == 'd' || kind == 'i';
      Val n = integral && v->is(Kind::kFloat) ? whole(static_cast<std::int64_t>(v->number)) : *v;
      if (n.is(Kind::kBool)) n.kind = Kind::kInt;
      const Val written = how.empty() && integral ? text(std::to_string(n.integer), at)
                                                  : formatted(n, how + (kind == 'i' ? 'd' : kind), at);
      add(out, text_or_hole(written, at));
    } else {
      return unclear(at, at);
    }
  }
  const bool must_be_used =
      values.is(Kind::kTuple) || values.is(Kind::kText) || values.is(Kind::kNone) || numeric(values);
  if (next < all.size() && must_be_used) refuse("TypeError", at);
  return text(std::move(out));
}

}  // namespace preflight::sources::program
