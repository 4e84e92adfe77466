// Every kernel under Oclgrind, a simulator that watches each access: past the end of a buffer, two items at one address
// without a barrier between, a value nobody wrote. `./dev kernel-lint` starts this with the simulator as the only
// device and its log in OCLGRIND_LOG; elsewhere it is skipped. Every line runs as on a CPU and as on a GPU.
#include "tests/kernels/device.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

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

class Simulated : public ::testing::TestWithParam<const char*> {};

void expect_silence(const char* lines) {
  const auto cases = parse_cases(lines, "cases");
  ASSERT_TRUE(cases.has_value()) << cases.error().text();
  for (const KernelCase& kernel_case : *cases) {
    for (const bool as_gpu : {false, true}) {
      const Watched watched = run_watched(print_case(kernel_case), {.as_gpu = as_gpu});
      EXPECT_EQ(watched.said, "") << watched.report.case_line << ", as on a GPU: " << as_gpu;
      EXPECT_EQ(name_of(watched.report.verdict.word), "pass")
          << watched.report.case_line << "\n  " << watched.report.verdict.reason;
    }
  }
}

TEST_P(Simulated, AccessesNothingThatIsNotItsOwn) {
  PREFLIGHT_NEEDS_SIMULATOR();
  expect_silence(GetParam());
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
        "gated_delta_chunk --heads 1 --v-heads 2 --head-dim 20 --v-head-dim 24 --chunk-size {8|64} --l2norm "
        "--query-lens 17,1",
        "mrope --tokens 5 --heads 3 --kv-heads 1 --head-dim 48 --rotary 32 --sections 6,5,5 {|--interleaved}",
        "page_table --page 16 --cache-seqlens 17,1,40", "kv_indices --page 16 --cache-seqlens 17,1,0,40"));

// Of values nobody wrote. The watcher crashes or sees ghosts where vectors are halved, in private arrays and in large
// tables: without paged attention and mrope, whose memory starts as NaN everywhere else.
class Initialised : public ::testing::TestWithParam<const char*> {};

TEST_P(Initialised, ReadsOnlyWhatWasWritten) {
  PREFLIGHT_NEEDS_SIMULATOR();
  if (std::getenv("OCLGRIND_UNINITIALIZED") == nullptr) GTEST_SKIP() << "OCLGRIND_UNINITIALIZED is not set";
  expect_silence(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, Initialised,
    ::testing::Values(
        "merge_state --dtype {bf16|fp16|fp32} --tokens 5 --heads 3 --head-dim 72",
        "gated_delta_step --heads 2 --v-heads 4 --head-dim 20 --v-head-dim 24 --l2norm --query-lens 3,1 --padded 1",
        "gated_delta_chunk --heads 1 --v-heads 2 --head-dim 20 --v-head-dim 24 --chunk-size 8 --l2norm "
        "--query-lens 17,1",
        "mla_decode --heads 3 --latent 32 --rope 16 --page 16 --kv-splits {1|3} --cache-seqlens 17,0,50",
        "page_table --page 16 --cache-seqlens 17,1,40", "kv_indices --page 16 --cache-seqlens 17,1,0,40"));

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

// Without these the silence above would say nothing.
TEST(Simulator, ReportsAnAccessPastTheEndOfABuffer) {
  PREFLIGHT_NEEDS_SIMULATOR();
  const ChangedSources sources("page_table.cl", "int used = columns;", "int used = columns + 1;");
  ASSERT_TRUE(sources.changed());
  const Watched watched =
      run_watched("page_table --page 16 --cache-seqlens 17,1,40", {.kernel_dir = sources.path(), .as_gpu = true});
  EXPECT_NE(watched.said.find("Invalid write"), std::string::npos) << watched.said;
}

TEST(Simulator, ReportsItemsThatRaceForOneAddress) {
  PREFLIGHT_NEEDS_SIMULATOR();
  const ChangedSources sources("gated_delta_step.cl", "barrier\\(CLK_LOCAL_MEM_FENCE\\);", "");
  ASSERT_TRUE(sources.changed());
  const Watched watched = run_watched("gated_delta_step --heads 1 --head-dim 16 --query-lens 2",
                                      {.kernel_dir = sources.path(), .as_gpu = true});
  EXPECT_NE(watched.said.find("data race"), std::string::npos) << watched.said;
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

}  // namespace
}  // namespace preflight
