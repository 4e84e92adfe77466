// School arithmetic in base 10^9, least significant first: these numbers are rare and have some dozen digits.
#include "src/integer.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

namespace preflight::integer {
namespace {

constexpr std::uint64_t kBase = 1'000'000'000;
using Limbs = std::vector<std::uint64_t>;  // each below kBase, the last one not 0; empty is 0

struct Number {
  bool negative = false;
  Limbs limbs = {};
};

void trim(Limbs& limbs) {
  while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
}

Number number_of(const Value& v) {
  const std::string text = v.is_long_int() ? v.repr() : std::to_string(v.as_int());
  Number n{.negative = text.front() == '-'};
  const std::size_t first = n.negative ? 1 : 0;
  for (std::size_t end = text.size(); end > first;) {
    const std::size_t from = std::max(first, end - std::min<std::size_t>(end, 9));
    std::uint64_t limb = 0;
    std::from_chars(text.data() + from, text.data() + end, limb);
    n.limbs.push_back(limb);
    end = from;
  }
  trim(n.limbs);
  return n;
}

Value value_of(const Number& n) {
  std::string text = n.negative ? "-" : "";
  for (auto limb = n.limbs.rbegin(); limb != n.limbs.rend(); ++limb) {
    const std::string digits = std::to_string(*limb);
    if (limb != n.limbs.rbegin()) text.append(9 - digits.size(), '0');
    text += digits;
  }
  return Value::integer(text);
}

bool less(const Limbs& a, const Limbs& b) {
  if (a.size() != b.size()) return a.size() < b.size();
  return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}

Limbs sum(const Limbs& a, const Limbs& b) {
  Limbs out;
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()) || carry > 0; ++i) {
    carry += (i < a.size() ? a[i] : 0) + (i < b.size() ? b[i] : 0);
    out.push_back(carry % kBase);
    carry /= kBase;
  }
  return out;
}

// a - b, where a is not less.
Limbs difference(Limbs a, const Limbs& b) {
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::uint64_t taken = (i < b.size() ? b[i] : 0) + borrow;
    borrow = a[i] < taken ? 1 : 0;
    a[i] = a[i] + borrow * kBase - taken;
  }
  trim(a);
  return a;
}

Limbs product(const Limbs& a, const Limbs& b) {
  Limbs out(a.size() + b.size(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      carry += out[i + j] + a[i] * b[j];
      out[i + j] = carry % kBase;
      carry /= kBase;
    }
    out[i + b.size()] += carry;
  }
  trim(out);
  return out;
}

// Quotient and remainder. Each digit of the quotient is searched for: thirty products of one limb.
std::pair<Limbs, Limbs> division(const Limbs& a, const Limbs& b) {
  Limbs quotient(a.size(), 0);
  Limbs rest;
  for (std::size_t i = a.size(); i-- > 0;) {
    rest.insert(rest.begin(), a[i]);
    trim(rest);
    std::uint64_t fits = 0;
    for (std::uint64_t bit = std::uint64_t{1} << 29U; bit > 0; bit >>= 1U) {
      if (fits + bit < kBase && !less(rest, product(b, {fits + bit}))) fits += bit;
    }
    if (fits > 0) rest = difference(rest, product(b, {fits}));
    quotient[i] = fits;
  }
  trim(quotient);
  return {quotient, rest};
}

Number plus(const Number& a, const Number& b) {
  if (a.negative == b.negative) return {a.negative, sum(a.limbs, b.limbs)};
  if (less(a.limbs, b.limbs)) return {b.negative, difference(b.limbs, a.limbs)};
  return {a.negative, difference(a.limbs, b.limbs)};
}

Number negated(Number n) {
  n.negative = !n.negative;
  return n;
}

// Rounded down: the remainder has the divisor's sign.
std::pair<Number, Number> floor_division(const Value& a, const Value& b) {
  const Number x = number_of(a);
  const Number y = number_of(b);
  auto [quotient, rest] = division(x.limbs, y.limbs);
  const bool negative = x.negative != y.negative;
  if (negative && !rest.empty()) {
    quotient = sum(quotient, {1});
    rest = difference(y.limbs, rest);
  }
  return {{negative, std::move(quotient)}, {y.negative, std::move(rest)}};
}

}  // namespace

Value plus(const Value& a, const Value& b) {
  std::int64_t result = 0;
  if (!a.is_long_int() && !b.is_long_int() && !__builtin_add_overflow(a.as_int(), b.as_int(), &result)) return result;
  return value_of(plus(number_of(a), number_of(b)));
}

Value times(const Value& a, const Value& b) {
  std::int64_t result = 0;
  if (!a.is_long_int() && !b.is_long_int() && !__builtin_mul_overflow(a.as_int(), b.as_int(), &result)) return result;
  const Number x = number_of(a);
  const Number y = number_of(b);
  return value_of({x.negative != y.negative, product(x.limbs, y.limbs)});
}

bool less(const Value& a, const Value& b) {
  if (!a.is_long_int() && !b.is_long_int()) return a.as_int() < b.as_int();
  const Number difference_of_both = plus(number_of(a), negated(number_of(b)));
  return difference_of_both.negative && !difference_of_both.limbs.empty();
}

Value floor_div(const Value& a, const Value& b) {
  if (a.is_long_int() || b.is_long_int() || b.as_int() == -1) return value_of(floor_division(a, b).first);
  const std::int64_t x = a.as_int();
  const std::int64_t y = b.as_int();
  return x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0);
}

Value modulo(const Value& a, const Value& b) {
  if (a.is_long_int() || b.is_long_int() || b.as_int() == -1) return value_of(floor_division(a, b).second);
  const std::int64_t rest = a.as_int() % b.as_int();
  return rest != 0 && (rest < 0) != (b.as_int() < 0) ? rest + b.as_int() : rest;
}

}  // namespace preflight::integer
