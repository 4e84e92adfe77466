// On GMP, where 64 bits do not hold the result.
#include "src/python/integer.h"

#include <string>

#include <gmpxx.h>

namespace preflight::integer {
namespace {

mpz_class number_of(const Value& v) { return v.is_long_int() ? mpz_class(v.repr()) : mpz_class(v.as_int()); }
Value value_of(const mpz_class& n) { return Value::integer(n.get_str()); }

bool is_short(const Value& a, const Value& b) { return !a.is_long_int() && !b.is_long_int(); }

// The smallest number divided by -1 does not fit.
bool divides_short(const Value& a, const Value& b) { return is_short(a, b) && b.as_int() != -1; }

}  // namespace

Value plus(const Value& a, const Value& b) {
  std::int64_t sum = 0;
  if (is_short(a, b) && !__builtin_add_overflow(a.as_int(), b.as_int(), &sum)) return sum;
  return value_of(number_of(a) + number_of(b));
}

Value times(const Value& a, const Value& b) {
  std::int64_t product = 0;
  if (is_short(a, b) && !__builtin_mul_overflow(a.as_int(), b.as_int(), &product)) return product;
  return value_of(number_of(a) * number_of(b));
}

bool less(const Value& a, const Value& b) {
  return is_short(a, b) ? a.as_int() < b.as_int() : number_of(a) < number_of(b);
}

Value floor_div(const Value& a, const Value& b) {
  if (divides_short(a, b)) return floor_div(a.as_int(), b.as_int());
  mpz_class quotient;
  mpz_fdiv_q(quotient.get_mpz_t(), number_of(a).get_mpz_t(), number_of(b).get_mpz_t());
  return value_of(quotient);
}

Value modulo(const Value& a, const Value& b) {
  if (divides_short(a, b)) return modulo(a.as_int(), b.as_int());
  mpz_class rest;
  mpz_fdiv_r(rest.get_mpz_t(), number_of(a).get_mpz_t(), number_of(b).get_mpz_t());
  return value_of(rest);
}

}  // namespace preflight::integer
