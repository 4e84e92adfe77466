// Every kernel under Oclgrind, a simulator that watches each access: past the end of a buffer, two items at one address
// without a barrier between, a value nobody wrote. `./dev kernel-lint` starts this with the simulator as the only
// device and its log in OCLGRIND_LOG; elsewhere it is skipped. Every line runs as on a CPU and as on a GPU; decode also
// in the forms of matrix engines, in plain C and lane for lane.
#include "tests/kernels/device.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <vector>

#include "preflight/kernel.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

namespace fs = std::filesystem;

std::string log_path() {
  const char* path = std::getenv("OCLGRIND_LOG");
  const auto devices = list_devices();
  const bool simulated = devices && !devices->empty() && devices->front().platform == "Oclgrind";
  return path != nullptr && simulated ? path : "";
}

// What the simulator said of one case, and what became of it.
struct Watched {
  std::string said;
  CaseReport report;
};

Watched run_watched(const std::string& line, const RunOptions& options = {}) {
  Watched watched;
  watched.report = run_cases({*parse_case(line)}, {}, options).cases.at(0);
  std::ifstream log(log_path());  // begun anew by every context
  watched.said.assign(std::istreambuf_iterator<char>(log), {});
  return watched;
}

#define PREFLIGHT_NEEDS_SIMULATOR() \
  if (log_path().empty()) GTEST_SKIP() << "runs under Oclgrind: ./dev kernel-lint"

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

class Simulated : public ::testing::TestWithParam<const char*> {};

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
void expect_silence(const char* lines, const std::vector<Form>& forms) {
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

// Small shapes: an instruction costs a microsecond. Partly filled tiles, pages and splits, empty requests.
INSTANTIATE_TEST_SUITE_P(
    Kernels, Simulated,
    ::testing::Values(
        "mla_decode --heads {3|5} --latent 32 --rope 16 --page 16 --kv-splits {1|3} --cache-seqlens 17,0,50\n"
        "mla_decode --dtype {fp16|fp32} --heads 2 --latent 32 --rope 16 --page 16 --cache-seqlens 33,1\n"
        "mla_decode --dtype fp32 --heads 9 --latent 256 --rope 32 --page 16 --cache-seqlens 17",
        "paged_decode --heads {6|14} --kv-heads 2 --head-dim 32 --page 16 --kv-splits {1|3} --cache-seqlens 17,0,70\n"
        "paged_decode --heads 2 --kv-heads 2 --head-dim 48 --v-head-dim 32 --page 1 --window 9 --sinks "
        "--cache-seqlens 17,5\n"
        "paged_decode --heads 4 --kv-heads 1 --head-dim 32 --page 16 --softcap 2 --kv-dtype {fp8_e4m3|fp8_e5m2} "
        "--k-scale 0.5 --cache-seqlens 33,1\n"
        "paged_decode --dtype {fp16|fp32} --heads 2 --head-dim 32 --page 16 --cache-seqlens 33,1",
        "local_decode --heads 4 --kv-heads 2 --head-dim 32 --page 16 --chunk 32 --kv-splits 2 "
        "--cache-seqlens 33,20,0,64",
        "merge_state --dtype {bf16|fp16|fp32} --tokens 5 --heads 3 --head-dim 72",
        "gated_delta_step --heads 2 --v-heads 4 --head-dim 20 --v-head-dim 24 --l2norm --query-lens 3,1 --padded 1",
        "causal_conv1d --heads 2 --v-heads 4 --head-dim 20 --v-head-dim 24 --zero-state --query-lens 5,2,1 --padded 1",
        "gated_delta_chunk --heads 1 --v-heads 2 --head-dim 20 --v-head-dim 24 --chunk-size {8|64} --l2norm "
        "--query-lens 17,1",
        "mrope --tokens 5 --heads 3 --kv-heads 1 --head-dim 48 --rotary 32 --sections 6,5,5 {|--interleaved}",
        "page_table --page 16 --cache-seqlens 17,1,40", "kv_indices --page 16 --cache-seqlens 17,1,0,40"));

// That the simulator's memory and groups hold the form, and what ran was not another one.
void expect_tiles(const char* lines) {
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

class SimulatedTiles : public ::testing::TestWithParam<const char*> {};

TEST_P(SimulatedTiles, AccessNothingThatIsNotTheirOwn) {
  PREFLIGHT_NEEDS_SIMULATOR();
  expect_tiles(GetParam());
  expect_silence(GetParam(), {kPlainTiles, kSixteenLanes, kEightLanes});
}

// Dims of one sub-group and of several, rows of one and of several, partly filled tiles, splits without tokens.
INSTANTIATE_TEST_SUITE_P(
    Kernels, SimulatedTiles,
    ::testing::Values(
        "mla_decode --heads 3 --latent 32 --rope 16 --page 16 --kv-splits {1|3} --cache-seqlens 17,0,50\n"
        "mla_decode --dtype fp16 --heads 20 --latent 64 --rope 64 --page 16 --cache-seqlens 33,1",
        "paged_decode --heads 6 --kv-heads 2 --head-dim 32 --page 16 --kv-splits {1|3} --cache-seqlens 17,0,40\n"
        "paged_decode --heads 2 --kv-heads 2 --head-dim 48 --v-head-dim 32 --page 1 --window 9 --sinks "
        "--cache-seqlens 17,5\n"
        "paged_decode --dtype fp16 --heads 20 --head-dim 16 --page 16 --softcap 2 --cache-seqlens 33,1",
        "local_decode --heads 4 --kv-heads 2 --head-dim 32 --page 16 --chunk 32 --kv-splits 2 "
        "--cache-seqlens 33,20,0,64"));

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

// Without these the silence above would say nothing.
TEST(Simulator, ReportsAnAccessPastTheEndOfABuffer) {
  PREFLIGHT_NEEDS_SIMULATOR();
  EXPECT_NE(said_of_an_overrun().find("Invalid write"), std::string::npos);
}

TEST(Simulator, ReportsItemsThatRaceForOneAddress) {
  PREFLIGHT_NEEDS_SIMULATOR();
  const ChangedSources sources("gated_delta_step.cl", "barrier\\(CLK_LOCAL_MEM_FENCE\\);", "");
  ASSERT_TRUE(sources.changed());
  const Watched watched = run_watched("gated_delta_step --heads 1 --head-dim 16 --query-lens 2",
                                      {.kernel_dir = sources.path(), .as_gpu = true});
  EXPECT_NE(watched.said.find("data race"), std::string::npos) << watched.said;
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
