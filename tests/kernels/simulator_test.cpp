// Every kernel under Oclgrind, a simulator that watches each access: past the end of a buffer, two items at one address
// without a barrier between, a value nobody wrote. `./dev kernel-lint` starts this with the simulator as the only
// device and its log in OCLGRIND_LOG; elsewhere it is skipped. Every line runs as on a CPU and as on a GPU; decode also
// in the forms of matrix engines, in plain C and lane for lane.
#include "tests/kernels/device.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <vector>

#include <fmt/format.h>

#include "preflight/kernel.h"
#include "src/kernels/defects.h"
#include "tests/kernels/kernel_lines.h"
#include "tests/kernels/simulator.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

namespace fs = std::filesystem;

// What the simulator said of one case, and what became of it.
struct Watched {
  std::string said;
  CaseReport report;
};

Watched run_watched(const std::string& line, const RunOptions& options = {}) {
  Watched watched;
  watched.report = run_cases({*parse_case(line)}, {}, options).cases.at(0);
  watched.said = simulator_said();
  return watched;
}

#define PREFLIGHT_NEEDS_SIMULATOR() \
  if (simulator_log().empty()) GTEST_SKIP() << "runs under Oclgrind: ./dev kernel-lint"

// The kernels with one line of them changed.
class ChangedSources {
 public:
  ChangedSources(const std::string& file, const std::string& line, const std::string& other) {
    for (const auto& entry : fs::directory_iterator(testing::source_directory() + "/ocl_kernels")) {
      std::string text = testing::read_file(entry.path().string());
      if (entry.path().filename() == file) {
        changed_ = std::regex_search(text, std::regex(line));
        text = std::regex_replace(text, std::regex(line), other);
      }
      directory_.file(entry.path().filename().string(), text);
    }
  }
  [[nodiscard]] bool changed() const { return changed_; }
  [[nodiscard]] std::string path() const { return directory_.path(); }

 private:
  testing::TemporaryDirectory directory_;
  bool changed_ = false;
};

std::string said_of_an_overrun() {
  const ChangedSources sources("page_table.cl", "int used = columns;", "int used = columns + 1;");
  EXPECT_TRUE(sources.changed());
  return run_watched("page_table --page 16 --cache-seqlens 17,1,40", {.kernel_dir = sources.path(), .as_gpu = true})
      .said;
}

// The lines of every kernel that has some for this purpose.
std::vector<std::string> lines_for(std::string_view purpose) {
  std::vector<std::string> all;
  for (const Kernel& kernel : kernel_table()) {
    std::string lines = testing::kernel_lines(kernel.name, purpose);
    if (!lines.empty()) all.push_back(std::move(lines));
  }
  return all;
}

class Simulated : public ::testing::TestWithParam<std::string> {};

// How the kernels are built: as_gpu without an engine is blocks of sums (decode_blocks.clh).
struct Form {
  const char* name;
  RunOptions options;
};
const Form kCpu{"as on a CPU", {}};
const Form kGpu{"as on a GPU", {.as_gpu = true}};
const Form kPlainTiles{"tiles in plain C", {.as_gpu = true, .plain_tiles = true}};
const Form kSixteenLanes{"tiles of sixteen lanes", {.as_gpu = true, .emulated_lanes = 16}};
const Form kEightLanes{"tiles of eight lanes", {.as_gpu = true, .emulated_lanes = 8}};

// Silence counts only while the simulator would speak: it ends with its limit of errors, over a whole process.
void expect_silence(std::string_view lines, const std::vector<Form>& forms) {
  const auto cases = parse_cases(lines, "cases");
  ASSERT_TRUE(cases.has_value()) << cases.error().text();
  for (const KernelCase& kernel_case : *cases) {
    for (const Form& form : forms) {
      const Watched watched = run_watched(print_case(kernel_case), form.options);
      EXPECT_EQ(watched.said, "") << watched.report.case_line << ", " << form.name;
      EXPECT_EQ(name_of(watched.report.verdict.word), "pass")
          << watched.report.case_line << ", " << form.name << "\n  " << watched.report.verdict.reason;
    }
  }
  EXPECT_NE(said_of_an_overrun().find("Invalid write"), std::string::npos) << "the simulator says nothing any more";
}

TEST_P(Simulated, AccessesNothingThatIsNotItsOwn) {
  PREFLIGHT_NEEDS_SIMULATOR();
  expect_silence(GetParam(), {kCpu, kGpu});
}

INSTANTIATE_TEST_SUITE_P(Kernels, Simulated, ::testing::ValuesIn(lines_for("simulator")));

// That the simulator's memory and groups hold the form, and what ran was not another one.
void expect_tiles(std::string_view lines) {
  const auto devices = list_devices();
  const auto cases = parse_cases(lines, "cases");
  ASSERT_TRUE(devices.has_value() && cases.has_value());
  for (const char* mark : {" plain_tiles", " emulated_sub_group_16", " emulated_sub_group_8"}) {
    DeviceInfo gpu = devices->front();
    gpu.is_cpu = false;
    gpu.is_gpu = true;
    gpu.extensions += mark;
    for (const KernelCase& c : *cases) {
      EXPECT_NE(find_kernel(c.kernel)->build_options(c, gpu).find("-DTILE_BODY="), std::string::npos)
          << print_case(c) << mark;
    }
  }
}

class SimulatedTiles : public ::testing::TestWithParam<std::string> {};

TEST_P(SimulatedTiles, AccessNothingThatIsNotTheirOwn) {
  PREFLIGHT_NEEDS_SIMULATOR();
  expect_tiles(GetParam());
  expect_silence(GetParam(), {kPlainTiles, kSixteenLanes, kEightLanes});
}

INSTANTIATE_TEST_SUITE_P(Kernels, SimulatedTiles, ::testing::ValuesIn(lines_for("simulator tiles")));

// Of values nobody wrote. The watcher crashes or sees ghosts where vectors are halved, in private arrays and in large
// tables: without paged attention and mrope, whose memory starts as NaN everywhere else. What one kernel writes for the
// next it takes for unwritten: without splits, offsets and chunks, which begin as NaN, too.
class Initialised : public ::testing::TestWithParam<const char*> {};

TEST_P(Initialised, ReadsOnlyWhatWasWritten) {
  PREFLIGHT_NEEDS_SIMULATOR();
  if (std::getenv("OCLGRIND_UNINITIALIZED") == nullptr) GTEST_SKIP() << "OCLGRIND_UNINITIALIZED is not set";
  expect_silence(GetParam(), {kCpu, kGpu});
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, Initialised,
    ::testing::Values(
        "merge_state --dtype {bf16|fp16|fp32} --tokens 5 --heads 3 --head-dim 72",
        "gated_delta_step --heads 2 --v-heads 4 --head-dim 20 --v-head-dim 24 --l2norm --query-lens 3,1 --padded 1",
        "mla_decode --heads 3 --latent 32 --rope 16 --page 16 --cache-seqlens 17,0,50",
        "page_table --page 16 --cache-seqlens 17,1,40"));

class InitialisedTiles : public ::testing::TestWithParam<const char*> {};

TEST_P(InitialisedTiles, ReadOnlyWhatWasWritten) {
  PREFLIGHT_NEEDS_SIMULATOR();
  if (std::getenv("OCLGRIND_UNINITIALIZED") == nullptr) GTEST_SKIP() << "OCLGRIND_UNINITIALIZED is not set";
  expect_tiles(GetParam());
  expect_silence(GetParam(), {kPlainTiles, kSixteenLanes, kEightLanes});
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, InitialisedTiles,
    ::testing::Values("mla_decode --heads 3 --latent 32 --rope 16 --page 16 --cache-seqlens 17,0,50",
                      "paged_decode --heads 6 --kv-heads 2 --head-dim 32 --page 16 --sinks "
                      "--cache-seqlens 17,0,40"));

// Where two work-groups of a planted mistake race for an address, whether it is caught may depend on which is last.
class SimulatedDefect : public ::testing::TestWithParam<defects::Defect> {};

// As wide as an instruction that takes a microsecond allows; lengths, splits and heads, of which a race is made, stay.
KernelCase narrowed(KernelCase c) {
  const auto at_most = [](std::int64_t& number, std::int64_t most) { number = std::min(number, most); };
  at_most(c.kv_lora_rank, 32);
  at_most(c.qk_rope_head_dim, 16);
  at_most(c.num_q_heads, 8);
  if (c.kernel != "mrope") at_most(c.head_dim, c.kernel.starts_with("gated_delta") ? 32 : 16);
  for (std::int64_t& seqlen : c.cache_seqlens) at_most(seqlen, 511);
  if (c.kernel == "gated_delta_chunk") {
    c.delta_chunk = 8;
    for (std::int64_t& tokens : c.query_lens) at_most(tokens, 9);
  }
  return c;
}

TEST_P(SimulatedDefect, HasNoOutcomeThatDependsOnWhichGroupIsLast) {
  PREFLIGHT_NEEDS_SIMULATOR();
  constexpr int kWrongEitherWay = 230;  // statistics upon outputs: defects.cpp says why it is
  if (GetParam().id == kWrongEitherWay) GTEST_SKIP() << "its race is the mistake";
  const Watched watched =
      run_watched(print_case(narrowed(*parse_case(GetParam().case_line))), {.defect = GetParam().id});
  EXPECT_EQ(name_of(watched.report.verdict.word), "fail") << watched.report.case_line;
  EXPECT_EQ(watched.said.find("data race"), std::string::npos) << watched.report.case_line << watched.said;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, SimulatedDefect, ::testing::ValuesIn(defects::defect_table()), [](const auto& row) {
  const std::string_view line = row.param.case_line;
  return fmt::format("D{}_{}", row.param.id, line.substr(0, line.find(' ')));
});

// Without these the silence above would say nothing.
TEST(Simulator, ReportsAnAccessPastTheEndOfABuffer) {
  PREFLIGHT_NEEDS_SIMULATOR();
  EXPECT_NE(said_of_an_overrun().find("Invalid write"), std::string::npos);
}

// An array in registers or in local memory ends beside another one, whose numbers need not matter by then.
TEST(Simulator, ReportsAWritePastTheEndOfAnArray) {
  PREFLIGHT_NEEDS_SIMULATOR();
  struct Mistake {
    const char* file;
    const char* line;
    const char* other;
    const char* case_line;
    RunOptions options;
  };
  for (const Mistake& mistake :
       {Mistake{"causal_conv1d.cl",
                "j \\+ 1 < BEFORE",
                "j - 1 < BEFORE",
                "causal_conv1d --heads 1 --head-dim 4 --query-lens 3",
                {}},
        Mistake{"mla_blocks.clh", "i < VALUE_STEPS \\* VALUE_ROWS", "i <= VALUE_STEPS * VALUE_ROWS",
                "mla_decode --heads 3 --latent 32 --rope 16 --page 16 --cache-seqlens 17", kGpu.options},
        Mistake{"token_slots.clh",
                "i < TOKEN_TILE",
                "i <= TOKEN_TILE",
                "mla_decode --heads 3 --latent 32 --rope 16 --page 16 --cache-seqlens 17",
                {}}}) {
    const ChangedSources sources(mistake.file, mistake.line, mistake.other);
    ASSERT_TRUE(sources.changed()) << mistake.line;
    RunOptions options = mistake.options;
    options.kernel_dir = sources.path();
    EXPECT_NE(run_watched(mistake.case_line, options).said.find("Invalid write"), std::string::npos) << mistake.other;
  }
}

// Of three barriers each by itself: no driver for CPUs runs the items of a group side by side.
TEST(Simulator, ReportsItemsThatRaceForOneAddress) {
  PREFLIGHT_NEEDS_SIMULATOR();
  constexpr std::string_view kBarrier = "barrier\\(CLK_LOCAL_MEM_FENCE\\);";
  for (const std::string& line :
       {fmt::format("{}(\\s*for \\(int d)", kBarrier), fmt::format("{}(\\s*const size_t gate)", kBarrier),
        fmt::format("{}(\\s*for \\(int i)", kBarrier)}) {
    const ChangedSources sources("gated_delta_step.cl", line, "$1");
    ASSERT_TRUE(sources.changed()) << line;
    const Watched watched = run_watched("gated_delta_step --heads 1 --head-dim 16 --query-lens 2",
                                        {.kernel_dir = sources.path(), .as_gpu = true});
    EXPECT_NE(watched.said.find("data race"), std::string::npos) << line << '\n' << watched.said;
  }
}

// The barrier behind the copies of a stage: without it the stage is read before all of it is there.
TEST(Simulator, ReportsLanesOfATileThatRace) {
  PREFLIGHT_NEEDS_SIMULATOR();
  const ChangedSources sources("decode_tiles.clh",
                               "TILE_COPY_WAIT\\(STAGES - 2\\);\\s*barrier\\(CLK_LOCAL_MEM_FENCE\\);",
                               "TILE_COPY_WAIT(STAGES - 2);");
  ASSERT_TRUE(sources.changed());
  for (const RunOptions& form : {kPlainTiles.options, kSixteenLanes.options}) {
    RunOptions options = form;
    options.kernel_dir = sources.path();
    const Watched watched = run_watched("paged_decode --heads 20 --head-dim 32 --page 16 --cache-seqlens 50", options);
    EXPECT_NE(watched.said.find("data race"), std::string::npos) << watched.said;
  }
}

TEST(InitialisedValues, AMissingOneIsReported) {
  PREFLIGHT_NEEDS_SIMULATOR();
  if (std::getenv("OCLGRIND_UNINITIALIZED") == nullptr) GTEST_SKIP() << "OCLGRIND_UNINITIALIZED is not set";
  const ChangedSources sources("gated_delta_step.cl", "rows\\[i\\] = slot[^;]*;", ";");
  ASSERT_TRUE(sources.changed());
  const Watched watched = run_watched("gated_delta_step --heads 1 --head-dim 16 --query-lens 2",
                                      {.kernel_dir = sources.path(), .as_gpu = true});
  EXPECT_NE(watched.said.find("ninitialized"), std::string::npos) << watched.said;
}

TEST(InitialisedValues, ASlotOfATileThatIsMissingIsReported) {
  PREFLIGHT_NEEDS_SIMULATOR();
  if (std::getenv("OCLGRIND_UNINITIALIZED") == nullptr) GTEST_SKIP() << "OCLGRIND_UNINITIALIZED is not set";
  const ChangedSources sources("decode_tiles.clh", "slots\\[i\\] = find_slot[^;]*;", ";");
  ASSERT_TRUE(sources.changed());
  for (const Form& form : {kPlainTiles, kSixteenLanes}) {
    RunOptions options = form.options;
    options.kernel_dir = sources.path();
    const Watched watched = run_watched("paged_decode --heads 2 --head-dim 32 --page 16 --cache-seqlens 17", options);
    EXPECT_NE(watched.said.find("ninitialized"), std::string::npos) << form.name;
  }
}

}  // namespace
}  // namespace preflight
