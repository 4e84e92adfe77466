// Python's values: JSON in and out, repr, truth and equality.
#include "preflight/value.h"
#include "src/base/ascii_case.h"
#include "src/python/integer.h"
#include "src/base/replaced.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace preflight {
namespace {

// One row a document that Python's json.loads takes: the text, and its repr.
TEST(Value, JsonReadsAsPythonReadsIt) {
  constexpr std::pair<const char*, const char*> kRows[] = {
      {"null", "None"},
      {" true ", "True"},
      {"0", "0"},
      {"-0", "0"},
      {"-12", "-12"},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808", "9223372036854775808"},
      {"-100000000000000000000", "-100000000000000000000"},
      {"1.0", "1.0"},
      {"1e3", "1000.0"},
      {"1E-7", "1e-07"},
      {"-2.5e+2", "-250.0"},
      {"1e400", "inf"},
      {"-1e400", "-inf"},
      {"1e-400", "0.0"},
      {"NaN", "nan"},
      {"[Infinity, -Infinity]", "[inf, -inf]"},
      {"[]", "[]"},
      {"{ }", "{}"},
      {"[1,[2,{\"a\":[]}]]", "[1, [2, {'a': []}]]"},
      {"{\"b\": 1, \"a\": 2, \"b\": 3}", "{'b': 3, 'a': 2}"},  // the last one counts, at the first one's place
      {R"("plain")", "'plain'"},
      {R"("\"\\\/\b\f\n\r\t")", "'\"\\\\/\b\f\\n\\r\\t'"},
      {R"("\u0041\u00fc\u20ac\ud83d\ude00")", "'Aü€😀'"},
      {"\"Aü€😀\"", "'Aü€😀'"},
      {R"("NaN Infinity")", "'NaN Infinity'"},
      {"\n{\"a\"\t:\r1}\n", "{'a': 1}"},
  };
  for (const auto& [text, repr] : kRows) {
    const auto value = Value::parse_json(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(value->repr(), repr) << text;
  }
}

TEST(Value, WhatIsNoJsonIsRefused) {
  const std::string deep(600, '[');
  const std::string_view rows[] = {"",
                                   " ",
                                   "nul",
                                   "tru",
                                   "True",
                                   "01",
                                   "1.",
                                   ".5",
                                   "+1",
                                   "-",
                                   "1e",
                                   "0x10",
                                   "[1,]",
                                   "[1 2]",
                                   "[",
                                   "]",
                                   "{",
                                   "{\"a\"}",
                                   "{\"a\":}",
                                   "{\"a\":1,}",
                                   "{a: 1}",
                                   "{'a':1}",
                                   "\"",
                                   "\"a",
                                   "\"\\x\"",
                                   "\"\\u12\"",
                                   "\"\\u12g4\"",
                                   "\"\\\"",
                                   "\"\n\"",
                                   "1 2",
                                   "nan",
                                   "-inf",
                                   "\"\xff\"",
                                   "\"\xc0\xaf\"",
                                   "\"\xed\xa0\x80\"",
                                   "\xef\xbb\xbf{}",
                                   deep};
  for (const auto text : rows) EXPECT_FALSE(Value::parse_json(text)) << text;
  EXPECT_FALSE(Value::parse_json(std::string_view("null\0", 5)));
  EXPECT_FALSE(Value::parse_json(std::string_view("\"\\\0\"", 4)));
}

// Python's json.loads takes half of a surrogate pair; what we then write is still UTF-8.
TEST(Value, HalfASurrogatePairIsText) {
  for (const auto* text : {"\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\""}) {
    const auto value = Value::parse_json(text);
    ASSERT_TRUE(value) << text;
    EXPECT_TRUE(Value::parse_json(value->json())) << text;
  }
}

TEST(Value, AFaultInJsonIsPlaced) {
  EXPECT_NE(Value::parse_json("{\n  \"a\": 1,\n  \"b\" 2}").error().text().find("line 3, column 7"), std::string::npos)
      << Value::parse_json("{\n  \"a\": 1,\n  \"b\" 2}").error().text();
}

TEST(Value, JsonComesBackAsItWas) {
  const std::string text = R"({"a":[1,2.5,true,null,"ü \" \\ \n"],"b":{}})";
  const auto value = Value::parse_json(text);
  ASSERT_TRUE(value);
  EXPECT_TRUE(Value::parse_json(value->json())->identical(*value));
  EXPECT_EQ(Value(std::numeric_limits<double>::quiet_NaN()).json(), "\"nan\"");
  EXPECT_TRUE(Value::parse_json(Value("\xff").json())) << "bytes that are no UTF-8 are replaced";
}

TEST(Value, EqualityIsPythonsAndIdentityIsOurs) {
  EXPECT_EQ(Value(1), Value(1.0));
  EXPECT_EQ(Value(1), Value(true));
  EXPECT_NE(Value(), Value(false));
  EXPECT_NE(Value("1"), Value(1));
  EXPECT_FALSE(Value(1).identical(Value(1.0)));
  EXPECT_FALSE(Value(1).identical(Value(true)));
  EXPECT_EQ(Value::dict({{"a", 1}, {"b", 2}}), Value::dict({{"b", 2}, {"a", 1}}));
  EXPECT_NE(Value::list({1, 2}), Value::list({2, 1}));
  EXPECT_FALSE(Value::list({1}).identical(Value::list({1.0})));
}

TEST(Value, AnIntBeyond64BitsKeepsItsDigitsAndItsPlaceInTheOrder) {
  using Limits = std::numeric_limits<std::int64_t>;
  const Value big = Value::integer("99999999999999999999");
  EXPECT_TRUE(big.is_int() && big.is_long_int() && big.truthy());
  EXPECT_EQ(big.repr(), "99999999999999999999");
  EXPECT_EQ(big.json(), "99999999999999999999");
  EXPECT_EQ(big.as_int(), Limits::max());
  EXPECT_EQ(big.as_number(), 1e20);
  EXPECT_EQ(Value::integer("-0099999999999999999999").as_int(), Limits::min());
  EXPECT_EQ(big, Value::integer("099999999999999999999"));
  EXPECT_NE(big, Value::integer("99999999999999999998"));
  EXPECT_NE(big, Value(Limits::max()));
  EXPECT_TRUE(big.identical(Value::integer("99999999999999999999")));
  EXPECT_FALSE(big.identical(Value::integer("99999999999999999998")));
  EXPECT_EQ(Value::list({big}).repr(), "[99999999999999999999]");
  EXPECT_FALSE(Value::integer("-9223372036854775808").is_long_int());
  EXPECT_EQ(Value::integer("-0"), Value(0));
}

// One row a sum or product as Python has it.
TEST(Integer, ArithmeticHasNoLimit) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const Value big = Value::integer("1000000000000000000000000000000");
  const std::pair<Value, const char*> rows[] = {
      {integer::plus(kMax, 1), "9223372036854775808"},
      {integer::plus(Value::integer("9223372036854775808"), -1), "9223372036854775807"},
      {integer::plus(big, Value::integer("-1000000000000000000000000000001")), "-1"},
      {integer::plus(big, 1), "1000000000000000000000000000001"},
      {integer::times(kMax, kMax), "85070591730234615847396907784232501249"},
      {integer::times(big, 0), "0"},
      {integer::times(kMax, -2), "-18446744073709551614"},
      {integer::floor_div(big, 7), "142857142857142857142857142857"},
      {integer::modulo(big, 7), "1"},
      {integer::floor_div(big, -7), "-142857142857142857142857142858"},
      {integer::modulo(big, -7), "-6"},
      {integer::floor_div(Value(std::numeric_limits<std::int64_t>::min()), Value(-1)), "9223372036854775808"},
      {integer::floor_div(-7, 2), "-4"},
      {integer::modulo(-7, 2), "1"},
      {integer::floor_div(7, big), "0"},
      {integer::modulo(-7, big), "999999999999999999999999999993"},
      {integer::floor_div(Value::integer("123456789012345678901234567890"), Value::integer("987654321098765432109")),
       "124999998"},
  };
  for (const auto& [value, expected] : rows) EXPECT_EQ(value.repr(), expected);
  EXPECT_TRUE(integer::less(big, integer::plus(big, 1)));
  EXPECT_FALSE(integer::less(big, big));
  EXPECT_TRUE(integer::less(integer::times(big, -2), integer::times(big, -1)));
  EXPECT_TRUE(integer::less(kMax, big));
  EXPECT_EQ(integer::bounded_whole(1e300), kMax);
  EXPECT_EQ(integer::bounded_whole(-std::numeric_limits<double>::infinity()), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(integer::bounded_whole(std::numeric_limits<double>::quiet_NaN()), 0);
  EXPECT_EQ(integer::bounded_whole(-2.9), -2);
  EXPECT_EQ(integer::bounded_plus(kMax, 1), kMax);
  EXPECT_EQ(integer::bounded_times(kMax, -2), std::numeric_limits<std::int64_t>::min());
}

TEST(Value, ADictWithAKeySetIsAnotherDict) {
  const Value before = Value::dict({{"a", 1}, {"b", 2}});
  EXPECT_EQ(before.with("a", 3).repr(), "{'a': 3, 'b': 2}");
  EXPECT_EQ(before.with("c", 3).repr(), "{'a': 1, 'b': 2, 'c': 3}");
  EXPECT_EQ(Value().with("a", 1).repr(), "{'a': 1}");
  EXPECT_EQ(before.repr(), "{'a': 1, 'b': 2}");
}

TEST(Value, MovedIntoWithChangesADictOnlyWhereNobodyElseHoldsIt) {
  Value alone = Value::dict({{"a", 1}});
  const Value::Dict* place = &alone.as_dict();
  alone = std::move(alone).with("a", 2).with("b", 3);
  EXPECT_EQ(&alone.as_dict(), place);
  EXPECT_EQ(alone.repr(), "{'a': 2, 'b': 3}");

  const Value other = alone;
  alone = std::move(alone).with("a", 4);
  EXPECT_EQ(other.repr(), "{'a': 2, 'b': 3}");
  EXPECT_EQ(alone.repr(), "{'a': 4, 'b': 3}");
}

TEST(AsciiCase, TouchesAsciiLettersAlone) {
  EXPECT_EQ(ascii_lower(std::string_view("Qwen3-\xC3\x84[@`{Z")), "qwen3-\xC3\x84[@`{z");
  EXPECT_EQ(ascii_upper(std::string_view("none_\xC3\xA4[@`{z")), "NONE_\xC3\xA4[@`{Z");
}

TEST(Replaced, GoesOnBehindWhatItPutThere) {
  EXPECT_EQ(replaced("/m/x and /m/y", "/m", "/m/m"), "/m/m/x and /m/m/y");
  EXPECT_EQ(replaced("aaa", "aa", "b"), "ba");
  EXPECT_EQ(replaced("same", "", "x"), "same");
  EXPECT_EQ(replaced("same", "z", "x"), "same");
  EXPECT_EQ(path_named("/m/x-awq and s:/m/x", "/m/x", "{model}"), "{model}-awq and s:{model}");
  EXPECT_EQ(path_named("models/x, models, modelslim, my-models, a/models", "models", "{models}"),
            "{models}/x, models, modelslim, my-models, a/models");
  EXPECT_EQ(path_named("models", "models", "{models}"), "{models}");
  EXPECT_EQ(path_named("same", "", "x"), "same");
}

}  // namespace
}  // namespace preflight
