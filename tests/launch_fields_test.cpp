#include "preflight/launch_fields.h"

#include <utility>

#include <gtest/gtest.h>

namespace preflight {
namespace {

LaunchFields some() {
  LaunchFields fields(v0_5(23));
  fields.set(Field::tp_size, 4);
  fields.set(Field::page_size, 128);
  return fields;
}

TEST(LaunchFields, AreTheDefaultsOfTheReleaseUntilSet) {
  EXPECT_TRUE(LaunchFields().empty());
  for (const Release release : {v0_5(13), v0_5(23)}) {
    const LaunchFields fields(release);
    EXPECT_FALSE(fields.empty());
    for (const Field f : fields_of(release)) EXPECT_TRUE(fields[f].identical(field_default(f, release)));
    fields.for_each_set([](Field f, const Value&) { ADD_FAILURE() << field_name(f); });
  }
}

TEST(LaunchFields, EveryFieldCanBeSetAndSetAgain) {
  LaunchFields fields(v0_5(23));
  for (std::size_t i = kFieldCount; i-- > 0;) fields.set(static_cast<Field>(i), static_cast<std::int64_t>(i));
  fields.set(Field::tp_size, "again");
  std::size_t next = 0;
  fields.for_each_set([&](Field f, const Value& value) {
    EXPECT_EQ(static_cast<std::size_t>(f), next);  // the enum's order, whatever the order of setting
    EXPECT_TRUE(value.identical(f == Field::tp_size ? Value("again") : Value(static_cast<std::int64_t>(next))));
    ++next;
  });
  EXPECT_EQ(next, kFieldCount);
}

// Names are looked for by halves, and a field's number is its name's place.
TEST(LaunchFields, EveryFieldIsFoundByItsName) {
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const auto field = static_cast<Field>(i);
    EXPECT_EQ(find_field(field_name(field)), field) << field_name(field);
  }
  EXPECT_EQ(find_field("tp_sizes"), std::nullopt);
}

TEST(LaunchFields, ReferencesToOtherFieldsStayGood) {
  LaunchFields fields = some();
  const Value& pages = fields[Field::page_size];
  const Value& untouched = fields[Field::dp_size];
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const auto f = static_cast<Field>(i);
    if (f != Field::page_size && f != Field::dp_size) fields.set(f, "other");
  }
  EXPECT_EQ(pages, Value(128));
  EXPECT_EQ(untouched, field_default(Field::dp_size, v0_5(23)));
}

TEST(LaunchFields, CopiesAreTheirOwn) {
  const LaunchFields before = some();
  LaunchFields after = before;
  after.set(Field::tp_size, 8);
  after.set(Field::pp_size, 2);
  EXPECT_EQ(before[Field::tp_size], Value(4));
  EXPECT_EQ(before[Field::pp_size], field_default(Field::pp_size, v0_5(23)));
  EXPECT_EQ(after[Field::tp_size], Value(8));
  EXPECT_EQ(after[Field::page_size], Value(128));

  LaunchFields moved = std::move(after);
  EXPECT_EQ(moved[Field::pp_size], Value(2));
  moved = before;
  EXPECT_EQ(moved[Field::tp_size], Value(4));
  moved = {};
  EXPECT_TRUE(moved.empty());
}

}  // namespace
}  // namespace preflight
