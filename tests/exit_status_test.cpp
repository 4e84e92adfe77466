// The exit statuses: one table, which the documents and the help repeat, and their order in a batch.
#include "src/commands/exit_status.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::commands {
namespace {

using ::testing::HasSubstr;

TEST(ExitStatus, EveryDeviceFaultHasAWordOfItsOwn) {
  std::set<std::string_view> used;
  for (int i = 0; i <= static_cast<int>(DeviceErrorKind::kInternal); ++i) {
    const auto kind = static_cast<DeviceErrorKind>(i);
    const Exit status = exit_of(kind);
    const auto row = std::ranges::find(exit_meanings(), status, &ExitMeaning::status);
    ASSERT_NE(row, exit_meanings().end());
    EXPECT_EQ(row->verdict, name_of(kind));
    EXPECT_TRUE(used.insert(row->verdict).second) << row->verdict;
    EXPECT_TRUE(row->number == 5 || row->number == 6) << row->verdict;
  }
}

TEST(ExitStatus, AbsentDevicesAreFiveAndFailingOnesSix) {
  for (const Exit absent : {kUnknownDevice, kNoLoader, kNoDevice}) EXPECT_EQ(exit_number(absent), 5);
  for (const Exit failed : {kOutOfMemory, kBuildFailure, kDeviceLost, kCrashed, kKilled, kTimedOut, kDeviceInternal}) {
    EXPECT_EQ(exit_number(failed), 6);
  }
  for (const Exit wrong : {kKernelWrong, kMistrusted, kGateFailed}) EXPECT_EQ(exit_number(wrong), 4);
  EXPECT_EQ(exit_number(kNotRun), 1);
  EXPECT_EQ(exit_number(kOk), 0);
  EXPECT_EQ(exit_number(kBadInput), 2);
  EXPECT_EQ(exit_number(kInternalError), 3);
}

TEST(ExitStatus, TheTableGoesByNumber) {
  EXPECT_TRUE(std::ranges::is_sorted(exit_meanings(), {}, &ExitMeaning::number));
}

TEST(ExitStatus, TheDocumentsAndTheHelpOfCheckHaveTheTablesRows) {
  for (const char* file : {"/README.md", "/docs/outcomes.md"}) {
    std::string text = testing::read_file(testing::source_directory() + file);
    std::erase(text, '`');
    for (const ExitMeaning& row : exit_meanings()) {
      const std::string verdict = row.verdict.empty() ? " " : fmt::format(" {} ", row.verdict);
      EXPECT_THAT(text, HasSubstr(fmt::format("\n| {} |{}| {} |\n", row.number, verdict, row.meaning))) << file;
    }
    EXPECT_EQ(text.find("\n| 7 |"), std::string::npos) << file << " has more rows";
  }
  EXPECT_THAT(testing::run_tool({"check", "--help"}).out, HasSubstr(exit_help()));
  EXPECT_THAT(testing::run_tool({"--help"}).out, ::testing::Not(HasSubstr("Exit status")));
  EXPECT_THAT(testing::run_tool({"resolve", "--help"}).out, ::testing::Not(HasSubstr("Exit status")));
}

TEST(ExitStatus, ABatchEndsWithItsHeaviestLine) {
  // Lightest first, as docs/outcomes.md has it; 2 and 3 end a batch at once.
  const std::vector<Exit> order = {kOk,         kFindings,    kNotRun,       kNoDevice,       kNoLoader, kUnknownDevice,
                                   kMistrusted, kOutOfMemory, kBuildFailure, kDeviceInternal, kKilled,   kTimedOut,
                                   kCrashed,    kDeviceLost,  kGateFailed,   kKernelWrong};
  EXPECT_EQ(order.size() + 2, exit_meanings().size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i; j < order.size(); ++j) {
      EXPECT_EQ(heavier(order[i], order[j]), order[j]);
      EXPECT_EQ(heavier(order[j], order[i]), order[j]);
    }
  }
}

Report report_of(const std::vector<VerdictWord>& cases) {
  Report report;
  report.kernel.emplace();
  for (const VerdictWord word : cases) report.kernel->cases.push_back({.verdict = {word, {}, {}}});
  return report;
}

TEST(ExitStatus, OfALaunchIsThatOfItsHeaviestCase) {
  using Word = VerdictWord;
  EXPECT_EQ(exit_of(report_of({Word::kPass, Word::kPass})), kOk);
  EXPECT_EQ(report_of({Word::kPass}).verdict_word(), "pass");
  EXPECT_EQ(exit_of(report_of({Word::kPass, Word::kMistrusted})), kMistrusted);
  EXPECT_EQ(report_of({Word::kPass, Word::kMistrusted}).verdict_word(), "mistrusted");
  EXPECT_EQ(exit_of(report_of({Word::kMistrusted, Word::kFail, Word::kPass})), kKernelWrong);
  // A batch that cannot be made is no device's fault, and no pass.
  EXPECT_EQ(exit_of(report_of({Word::kPass, Word::kError})), kDeviceInternal);
  EXPECT_EQ(report_of({Word::kPass, Word::kError}).verdict_word(), "internal");
  Report lost = report_of({Word::kPass, Word::kError});
  lost.kernel->cases[1].fault = DeviceError{DeviceErrorKind::kOutOfMemory, "no memory"};
  EXPECT_EQ(exit_of(lost), kOutOfMemory);
  EXPECT_EQ(lost.verdict_word(), "out-of-memory");
  lost.kernel->cases[0].verdict.word = Word::kFail;
  EXPECT_EQ(exit_of(lost), kKernelWrong) << "a wrong result shows nowhere else";
}

// What leaves nothing to serve with is not called clean, nor a pass; the exit status says what was found in the launch.
TEST(ExitStatus, AServerWithoutRoomForARequestIsDoubtful) {
  Report report = report_of({VerdictWord::kPass});
  report.memory = MemorySummary{.tokens = 4096, .wanted = 4096};
  EXPECT_EQ(report.verdict_word(), "pass");
  EXPECT_EQ(report.doubt(), "");
  report.memory->tokens = 4095;
  EXPECT_EQ(report.verdict_word(), "doubtful");
  EXPECT_EQ(report.doubt(),
            "by the memory sheet 4095 tokens fit, not one request of 4096 (weights estimated from the model's shapes)");
  EXPECT_EQ(exit_of(report), kOk);
  report.memory->tokens = 0;
  report.memory->from_files = true;
  report.machine = MachineFacts{.memory_origin = Origin::kSystem};
  EXPECT_EQ(report.doubt(),
            "by the memory sheet nothing is left for the KV cache (weights counted from the files, the card's memory "
            "as the system tells it)");
  report.findings.push_back({.severity = Severity::kError});
  EXPECT_EQ(report.verdict_word(), "fail");
}

// A mistake of a kernel that the launch does not run is neither caught nor missed.
TEST(ExitStatus, OfADefectThatCannotBePlantedIsNoFailedGate) {
  Report report = report_of({VerdictWord::kPass});
  report.injections.push_back({.defect = 160});
  EXPECT_EQ(exit_of(report), kNotRun);
  EXPECT_EQ(report.verdict_word(), "not-run");
  report.injections[0].cases = 1;  // it can show, and was not run
  EXPECT_EQ(exit_of(report), kGateFailed);
  report.injections[0] = {.defect = 160};
  report.kernel->cases[0].verdict.word = VerdictWord::kMistrusted;
  EXPECT_EQ(exit_of(report), kGateFailed) << "the sound kernel does not pass";
}

TEST(ExitStatus, OfKernelsThatDidNotRunDependsOnWhetherTheyHadTo) {
  Report report = report_of({VerdictWord::kPass});
  report.kernel->skipped.push_back({"linear layers", "no kernel"});
  EXPECT_EQ(exit_of(report), kOk);
  EXPECT_EQ(report.verdict_word(), "clean");
  report.kernel_required = true;
  EXPECT_EQ(exit_of(report), kNotRun);
  EXPECT_EQ(report.verdict_word(), "not-run");
  Report absent;
  absent.absence = DeviceError{DeviceErrorKind::kNoLoader, "none"};
  EXPECT_EQ(exit_of(absent), kOk);
  EXPECT_EQ(absent.verdict_word(), "clean");
  absent.device_required = true;
  EXPECT_EQ(exit_of(absent), kNoLoader);
  EXPECT_EQ(absent.verdict_word(), "no-loader");
}

}  // namespace
}  // namespace preflight::commands
