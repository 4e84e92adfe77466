// JSON written as text: what comes out reads back as what went in.
#include "src/report/json_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace preflight::report {
namespace {

// The byte at every place of a text of every length around a word of eight: one of them decides about escapes.
TEST(JsonText, EveryByteAtEveryPlaceIsEscapedWhenItMustBe) {
  for (int byte = 0; byte < 256; ++byte) {
    const bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
    for (std::size_t length = 1; length <= 18; ++length) {
      for (std::size_t place = 0; place < length; ++place) {
        std::string text(length, 'a');
        text[place] = static_cast<char>(byte);
        EXPECT_EQ(is_plain_json(text), plain) << "byte " << byte << " at " << place << " of " << length;
      }
    }
  }
  EXPECT_TRUE(is_plain_json(""));
}

TEST(JsonText, StringsReadBackAsTheyWere) {
  const std::string_view rows[] = {"",
                                   "plain",
                                   "a \"quoted\" word",
                                   "back\\slash",
                                   "line\nbreak\tand tab",
                                   "Größe €",
                                   "the control \x01 in the middle of more than eight bytes"};
  for (const std::string_view row : rows) {
    JsonText out(1);
    out.string(row);
    const auto value = Value::parse_json(std::move(out).take());
    ASSERT_TRUE(value) << row;
    EXPECT_EQ(value->as_string(), row);
  }
}

TEST(JsonText, TextBeyondWhatWasExpectedIsKept) {
  JsonText out(4);
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    out.raw("[");
    out.integer(std::numeric_limits<std::int64_t>::min() + i);
    out.raw("]");
    expected += "[" + std::to_string(std::numeric_limits<std::int64_t>::min() + i) + "]";
  }
  EXPECT_EQ(std::move(out).take(), expected);
}

}  // namespace
}  // namespace preflight::report
