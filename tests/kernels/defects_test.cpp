// The gate is only worth what it stops: every planted defect must fail on its case, and the sound kernel pass there.
#include "tests/kernels/device.h"

#include "src/kernels/defects.h"

namespace preflight {
namespace defects {
// Without this the tests' names carry the bytes of two pointers.
static void PrintTo(const Defect& defect, std::ostream* os) { *os << defect.what; }
}  // namespace defects

namespace {

using defects::Defect;

class PlantedDefect : public testing::TestWithParam<Defect> {};

TEST_P(PlantedDefect, FailsWhereTheSoundKernelPasses) {
  PREFLIGHT_NEEDS_DEVICE();
  const auto sound = run_case(GetParam().case_line, {}, {});
  ASSERT_TRUE(sound.has_value()) << sound.error().text();
  EXPECT_EQ(name_of(sound->worst()), "pass") << sound->cases.front().verdict.reason;

  const auto planted = run_case(GetParam().case_line, {}, {.defect = GetParam().id});
  ASSERT_TRUE(planted.has_value());
  const Verdict& verdict = planted->cases.front().verdict;
  EXPECT_EQ(name_of(verdict.word), "fail") << GetParam().what << " is not detected by " << GetParam().case_line << "\n"
                                           << verdict.reason;
}

std::string test_name(const testing::TestParamInfo<Defect>& row) {
  const std::string_view line = row.param.case_line;
  return "D" + std::to_string(row.param.id) + "_" + std::string(line.substr(0, line.find(' ')));
}

INSTANTIATE_TEST_SUITE_P(Catalogue, PlantedDefect, testing::ValuesIn(defects::defect_table()), test_name);

}  // namespace
}  // namespace preflight
