// The gate is only worth what it stops: every planted defect must fail on its case, and the sound kernel pass there.
#include "tests/kernels/device.h"

#include <regex>
#include <set>

#include <fmt/format.h>

#include "preflight/kernel.h"
#include "src/kernels/defects.h"
#include "src/kernels/program.h"
#include "src/kernels/tensor_parallel.h"

namespace preflight {
namespace defects {
// Without this the tests' names carry the bytes of two pointers.
static void PrintTo(const Defect& defect, std::ostream* os) { *os << defect.what; }
}  // namespace defects

namespace {

using defects::Defect;

constexpr double kMargin = 3.0;

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
  // By a hair is by luck: another compiler, another order of sums, and it passes.
  EXPECT_GE(verdict.times_allowed, kMargin) << GetParam().what << ": " << verdict.reason;
}

std::string test_name(const testing::TestParamInfo<Defect>& row) {
  const std::string_view line = row.param.case_line;
  return "D" + std::to_string(row.param.id) + "_" + std::string(line.substr(0, line.find(' ')));
}

INSTANTIATE_TEST_SUITE_P(Catalogue, PlantedDefect, testing::ValuesIn(defects::defect_table()), test_name);

// docs/defects.md has every case in flat inputs, too. There a later request has a key that is no number, which in
// latent attention leaves none in its rows: without a first one with tokens the sound kernel is mistrusted.
TEST(Defects, OfLatentAttentionHaveARequestThatTellsInFlatInputs) {
  for (const Defect& defect : defects::defect_table()) {
    const auto c = parse_case(defect.case_line);
    ASSERT_TRUE(c.has_value()) << defect.case_line;
    EXPECT_TRUE(c->kernel != "mla_decode" || c->cache_seqlens.front() > 0) << defect.case_line;
  }
}

// What the host makes and the kernel only follows; docs/defects.md says which.
bool is_of_the_host(const Defect& defect, std::string_view kernel) {
  const std::set<int> tables{10, 20, 21};
  const std::set<int> others{240, 400, 401};
  return others.contains(defect.id) || (tables.contains(defect.id) && kernel != "page_table");
}

TEST(Defects, OfWhatAKernelComputesAreMutationsOfItsBuild) {
  for (const Defect& defect : defects::defect_table()) {
    const auto kernel_case = parse_case(defect.case_line);
    ASSERT_TRUE(kernel_case.has_value()) << defect.case_line;
    const KernelCase rank = tensor_parallel::rank_case(*kernel_case);
    DeviceInfo cpu;
    cpu.is_cpu = true;
    cpu.local_memory_bytes = 65536;
    const std::string source = program_of(*find_kernel(rank.kernel), rank, cpu, {.defect = defect.id}).source;
    const std::regex planted(fmt::format(R"(PLANT\({0}\)|DEFECT [!=]= {0}\b)", defect.id));
    EXPECT_EQ(std::regex_search(source, planted), !is_of_the_host(defect, rank.kernel))
        << defect.id << " in " << rank.kernel << ": " << defect.what;
  }
}

}  // namespace
}  // namespace preflight
