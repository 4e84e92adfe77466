// YAML streams as trees with places.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/python/yaml_reader.h"

namespace preflight::python {
namespace {

using ::testing::HasSubstr;

TEST(YamlReader, GivesEveryDocumentOfAStreamWithItsPlaces) {
  const auto stream = read_yaml("kind: Pod\nspec:\n  args: [a, 'b']\n---\n- x\n...\n---\n");
  ASSERT_TRUE(stream);
  ASSERT_EQ(stream->documents().size(), 3U);
  const YamlNode* spec = find_member(*stream->documents()[0], "spec");
  ASSERT_NE(spec, nullptr);
  const YamlNode* args = find_member(*spec, "args");
  ASSERT_NE(args, nullptr);
  ASSERT_EQ(args->items.size(), 2U);
  EXPECT_EQ(args->items[1]->text, "b");
  EXPECT_EQ(line_of(*args->items[1]), 3);
  EXPECT_EQ(args->items[1]->mark.column, 12);
  EXPECT_EQ(stream->documents()[1]->kind, YamlNode::kSequence);
  EXPECT_EQ(line_of(*stream->documents()[1]->items[0]), 5);
  EXPECT_EQ(stream->documents()[2]->text, "");
}

TEST(YamlReader, AnchorsBelongToTheirDocument) {
  const auto stream = read_yaml("a: &x 1\nb: *x\n---\nc: 2\n");
  ASSERT_TRUE(stream);
  EXPECT_EQ(find_member(*stream->documents()[0], "b")->text, "1");
  EXPECT_FALSE(read_yaml("a: &x 1\n---\nb: *x\n"));
}

TEST(YamlReader, TheLastOfTwoEqualKeysCounts) {
  const auto stream = read_yaml("a: 1\na: 2\n");
  ASSERT_TRUE(stream);
  EXPECT_EQ(find_member(*stream->documents()[0], "a")->text, "2");
  EXPECT_EQ(find_member(*stream->documents()[0], "b"), nullptr);
}

TEST(YamlReader, AFaultTellsItsLine) {
  const auto stream = read_yaml("a: 1\n---\nb: [1, 2\n");
  ASSERT_FALSE(stream);
  EXPECT_THAT(stream.error().message, HasSubstr("line 4"));
  EXPECT_TRUE(read_yaml("")->documents().empty());
}

}  // namespace
}  // namespace preflight::python
