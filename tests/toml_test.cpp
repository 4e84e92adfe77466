// TOML as tomllib reads it: what it makes of a text, and what it refuses.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "src/python/toml.h"

namespace preflight::python {
namespace {

TEST(Toml, IsReadAsTomllibReadsIt) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "{}"},
      {"a = 1\n# c\nb = 'x' # d", R"({"a":1,"b":"x"})"},
      {"a.b.c = 1\na.b.d = 2\n\"q.r\".s = true", R"({"a":{"b":{"c":1,"d":2}},"q.r":{"s":true}})"},
      {"[s]\nx = 1_000\n[s.t]\ny = [1, 2,\n 3,]\n[u]", R"({"s":{"x":1000,"t":{"y":[1,2,3]}},"u":{}})"},
      {"[s.t]\nx=1\n[s]\ny=2", R"({"s":{"t":{"x":1},"y":2}})"},
      {"[[l]]\na=1\n[[l]]\n[l.m]\nb=2", R"({"l":[{"a":1},{"m":{"b":2}}]})"},
      {"p = {x = 1, y.z = 'a', w = {}}", R"({"p":{"x":1,"y":{"z":"a"},"w":{}}})"},
      {"a = 0x1F\nb = 0o17\nc = 0b101\nd = -5\ne = +0", R"({"a":31,"b":15,"c":5,"d":-5,"e":0})"},
      {"a = 0.5\nb = 1e3\nc = -2.5E-1\nd = 1_0.0_1", R"({"a":0.5,"b":1000.0,"c":-0.25,"d":10.01})"},
      {R"(a = "x\n\u00e9\\\"")", "{\"a\":\"x\\n\\u00e9\\\\\\\"\"}"},
      {"a = '''\nx\\n\ny'''", R"({"a":"x\\n\ny"})"},
      {"a = \"\"\"a \\\n   b\"\"\"", R"({"a":"a b"})"},
      {"a = \"\"\"\"x\"\"\"\"\"", R"({"a":"\"x\"\""})"},
      {"a = 1\r\nb = 2\r\n", R"({"a":1,"b":2})"},
      {"[x]\ny.z = 1\ny.w = 2\n[x.v]", R"({"x":{"y":{"z":1,"w":2},"v":{}}})"},
  };
  for (const auto& [text, json] : rows) {
    const auto read = toml_loads(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(*read, *Value::parse_json(json)) << text << "\n" << read->json();
  }
}

TEST(Toml, RefusesWhatTomllibRefuses) {
  for (const char* text : {"a",
                           "a =",
                           "a = 1 b = 2",
                           "a = 1\na = 2",
                           "[a]\n[a]",
                           "a = 1\n[a]",
                           "a = 1\na.b = 2",
                           "a = [1\n2]",
                           "a = {x = 1,}",
                           "a = {\nx = 1}",
                           "a = {}\n[a.b]",
                           "a = []\n[[a]]",
                           "[[a]]\n[a]",
                           "[a]\n[[a]]",
                           "a.b = 1\n[a]",
                           "[x]\ny.z = 1\n[x.y]",
                           "[x.y]\n[x]\ny.z = 1",
                           "a = 01",
                           "a = 1__0",
                           "a = _1",
                           "a = 1_",
                           "a = 0x",
                           "a = 0xG",
                           "a = .5",
                           "a = 5.",
                           "a = 1e",
                           "a = -0x1",
                           "a = \"x",
                           "a = \"x\ny\"",
                           "a = '\\",
                           "a = \"\\q\"",
                           "a = \"\\u12\"",
                           "a = \"\\ud800\"",
                           "a = 'x\x01'",
                           "# \x01",
                           "[a",
                           "[]",
                           "[a]]",
                           "[[a]",
                           "a = True",
                           "= 1",
                           "a b = 1",
                           "a = \"\"\"x",
                           "a = \xff",
                           "a\n= 1"}) {
    EXPECT_FALSE(toml_loads(text)) << text;
  }
}

// tomllib reads them; no value here holds one, and TOML has no other None.
TEST(Toml, ADateIsNone) {
  for (const char* date : {"1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "1979-05-27 07:32:00"}) {
    const auto read = toml_loads(std::string("a = [1, ") + date + "]\nb = " + date + "\nc = 2");
    ASSERT_TRUE(read) << date;
    EXPECT_EQ(*read, *Value::parse_json(R"({"a":[1,null],"b":null,"c":2})")) << date;
  }
  for (const char* text : {"a = 1979-13-27", "a = 25:00:00", "a = 1979-05-27T"}) EXPECT_FALSE(toml_loads(text)) << text;
}

TEST(Toml, IsNoDeeperThanIsFollowed) {
  EXPECT_TRUE(toml_loads("a = " + std::string(50, '[') + std::string(50, ']')));
  EXPECT_FALSE(toml_loads("a = " + std::string(5'000, '[')));
  EXPECT_FALSE(toml_loads("a" + std::string(3'000, '.')));
}

}  // namespace
}  // namespace preflight::python
