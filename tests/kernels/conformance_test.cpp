// The parameter rows of published kernel tests (configs/cases/conformance). All of them take minutes to hours on a CPU:
// here a few small ones of every file run; with PREFLIGHT_CONFORMANCE set (./dev conformance) all do, in blocks that
// gtest deals out to its shards.
#include "tests/kernels/device.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "preflight/kernel.h"
#include "tests/support/paths.h"

namespace preflight {
namespace {

constexpr std::size_t kBlocks = 32;

struct Block {
  std::string file;
  std::size_t index = 0;
};

void PrintTo(const Block& block, std::ostream* os) { *os << block.file << ' ' << block.index; }

bool all_are_asked_for() { return std::getenv("PREFLIGHT_CONFORMANCE") != nullptr; }

std::filesystem::path folder() {
  const std::filesystem::path own = "configs/cases/conformance";
  const std::filesystem::path source = std::filesystem::path(testing::source_directory()) / own;
  return std::filesystem::exists(source) ? source : own;
}

std::vector<Block> blocks() {
  std::vector<Block> blocks;
  for (const char* file :
       {"gated_delta_chunk", "gated_delta_step", "merge_state", "mla_decode", "mrope", "paged_decode"}) {
    for (std::size_t i = 0; i < (all_are_asked_for() ? kBlocks : 1); ++i) blocks.push_back({file, i});
  }
  return blocks;
}

std::string text_of(const std::string& file) {
  std::ifstream in(folder() / (file + ".txt"));
  return {std::istreambuf_iterator<char>(in), {}};
}

// Every kBlocks-th row from the block's own on; or a few of the rows that a CPU does at once.
std::vector<KernelCase> chosen(const std::vector<KernelCase>& rows, const Block& block) {
  constexpr double kSmallWork = 1e7;
  constexpr std::size_t kFew = 6;
  std::vector<KernelCase> cases;
  if (all_are_asked_for()) {
    for (std::size_t i = block.index; i < rows.size(); i += kBlocks) cases.push_back(rows[i]);
    return cases;
  }
  for (const KernelCase& row : rows) {
    const Work work = find_kernel(row.kernel)->work(row);
    if (work.flops + work.bytes < kSmallWork) cases.push_back(row);
  }
  std::vector<KernelCase> few;
  for (std::size_t i = 0; i < kFew && i < cases.size(); ++i) few.push_back(cases[i * cases.size() / kFew]);
  return cases.size() <= kFew ? cases : few;
}

class Conformance : public ::testing::TestWithParam<Block> {};

TEST_P(Conformance, RowsOfPublishedTestsPass) {
  PREFLIGHT_NEEDS_DEVICE();
  const auto rows = parse_cases(text_of(GetParam().file), GetParam().file);
  ASSERT_TRUE(rows.has_value()) << rows.error().text();
  const auto cases = chosen(*rows, GetParam());
  const KernelReport report = run_cases(cases, {}, {.large_cases = true});
  ASSERT_FALSE(report.error.has_value()) << report.error->message;
  int passed = 0;
  for (const CaseReport& c : report.cases) {
    EXPECT_EQ(name_of(c.verdict.word), "pass") << c.case_line << "\n  " << c.verdict.reason;
    passed += c.verdict.word == VerdictWord::kPass ? 1 : 0;
  }
  RecordProperty("passed", passed);
  if (all_are_asked_for()) std::cout << GetParam().file << ' ' << passed << " of " << cases.size() << " pass\n";
}

INSTANTIATE_TEST_SUITE_P(Rows, Conformance, ::testing::ValuesIn(blocks()),
                         [](const auto& row) { return row.param.file + "_" + std::to_string(row.param.index); });

TEST(ConformanceFiles, HoldAsManyDistinctCasesAsTheySay) {
  for (const Block& block : blocks()) {
    if (block.index != 0) continue;
    SCOPED_TRACE(block.file);
    const std::string text = text_of(block.file);
    const auto rows = parse_cases(text, block.file);
    ASSERT_TRUE(rows.has_value()) << rows.error().text();
    std::smatch said;
    ASSERT_TRUE(std::regex_search(text, said, std::regex("([0-9]+) cases\\.")));
    EXPECT_EQ(std::to_string(rows->size()), said[1].str());
    std::vector<std::string> lines;
    for (const KernelCase& row : *rows) {
      lines.push_back(print_case(row));
      const auto again = parse_case(lines.back());
      ASSERT_TRUE(again.has_value()) << lines.back();
      EXPECT_EQ(*again, row) << lines.back();
      EXPECT_EQ(why_too_large(row, true), "") << lines.back();
    }
    std::ranges::sort(lines);
    EXPECT_EQ(std::ranges::adjacent_find(lines), lines.end());
  }
}

}  // namespace
}  // namespace preflight
