// The runner: device choice, failures that carry their reason, guard bands, reproducibility.
#include "tests/kernels/device.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "preflight/kernel.h"
#include "src/kernels/kernel_run.h"
#include "src/kernels/program.h"
#include "src/opencl/opencl.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

constexpr std::string_view kSmallCase = "mla_decode --heads 1 --cache-seqlens 65,129";

// The source of a kernel that takes the launcher's arguments and does only this.
std::string mla_decode_that(const std::string& statement) {
  return "kernel void mla_decode(global ushort* a, global ushort* b, global ushort* c, global int* d, global int* e, "
         "global ushort* out, global float* lse, global float* h, int i, int j, int k, float l) { " +
         statement + " }\n";
}

TEST(Devices, AreChosenByIndexOrPartOfTheName) {
  PREFLIGHT_NEEDS_DEVICE();
  const auto devices = list_devices();
  ASSERT_FALSE(devices->empty());
  EXPECT_EQ(opencl::Session({"0"}).info().name, devices->front().name);
  EXPECT_EQ(opencl::Session({devices->front().name}).info().index, 0);
  for (const char* unknown : {"99", "no such device"}) {
    const auto report = run_case(kSmallCase, {unknown}, {});
    ASSERT_TRUE(report->error.has_value());
    EXPECT_EQ(report->error->kind, DeviceErrorKind::kUnknownDevice);
    EXPECT_NE(report->error->message.find(devices->front().name), std::string::npos);  // says what there is
    EXPECT_EQ(report->worst(), VerdictWord::kSkipped);                                 // not run is not passed
  }
}

TEST(Runner, ACaseThatDoesNotParseIsAnErrorNotAVerdict) {
  const auto report = run_case("mla_decode --haeds 3", {}, {});
  ASSERT_FALSE(report.has_value());
  EXPECT_NE(report.error().message.find("--haeds"), std::string::npos);
}

TEST(Runner, ACaseTheKernelCannotRunIsSkippedWithTheReason) {
  PREFLIGHT_NEEDS_DEVICE();
  const auto report = run_case("paged_decode --heads 6 --kv-heads 4 --cache-seqlens 5", {}, {});
  EXPECT_EQ(report->worst(), VerdictWord::kSkipped);
  EXPECT_EQ(report->cases.front().verdict.reason, "6 query heads are no multiple of 4 KV heads");
}

TEST(Runner, EveryOutputIsJudgedByTheLimitOfItsName) {
  PREFLIGHT_NEEDS_DEVICE();
  for (const char* line : {"paged_decode --heads 2 --head-dim 16 --cache-seqlens 5",
                           "gated_delta_chunk --heads 1 --head-dim 16 --query-lens 5",
                           "causal_conv1d --heads 1 --head-dim 16 --query-lens 5"}) {
    const auto report = run_case(line, {}, {});
    const CaseReport& done = report->cases.front();
    ASSERT_GE(done.verdict.outputs.size(), 2U) << done.verdict.reason;
    for (const OutputVerdict& output : done.verdict.outputs) {
      const Tolerance limit = find_kernel(done.kernel_case.kernel)->tolerance(done.kernel_case, output.name);
      EXPECT_EQ(output.limit.abs, limit.abs) << line << ' ' << output.name;
      EXPECT_EQ(output.limit.rel, limit.rel) << line << ' ' << output.name;
      EXPECT_EQ(output.limit.rel_rms, limit.rel_rms) << line << ' ' << output.name;
    }
  }
}

TEST(Runner, AKernelThatDoesNotBuildReportsTheCompilersLog) {
  PREFLIGHT_NEEDS_DEVICE();
  const testing::TemporaryDirectory folder;
  folder.file("mla_decode.cl", "kernel void mla_decode() { undeclared_name; }\n");
  const auto report = run_case(kSmallCase, {}, {.kernel_dir = folder.path()});
  EXPECT_EQ(report->worst(), VerdictWord::kError);
  EXPECT_NE(report->cases.front().verdict.reason.find("undeclared_name"), std::string::npos);
  const auto missing = run_case(kSmallCase, {}, {.kernel_dir = folder.path() + "/none"});
  EXPECT_EQ(missing->worst(), VerdictWord::kError);
}

// sgl-project/sglang#25556: one key in a page's worth is covered, in tiles of max(128, page) tokens taken for pages;
// and the buffer that graphs capture holds as many tokens as it has blocks.
TEST(Runner, WhatAiterDidWithPagesIsToldByWhatItBreaks) {
  PREFLIGHT_NEEDS_DEVICE();
  struct Row {
    const char* line;
    const char* reason;
  };
  constexpr const char* kOverrun = "wrote outside the buffer of kv_indices";
  for (const Row& row :
       {Row{"--page 64 --index-block 64 --cache-seqlens 300", "tiles[0,2,1] is 5, expected 300: off by 295"},
        Row{"--page 256 --index-block 256 --cache-seqlens 300", "tiles[0,2,1] is -1, expected 300: off by 301"},
        Row{"--page 64 --index-block 1 --cache-seqlens 300", ""},
        Row{"--max-batch 3 --context 4096 --sizing page --cache-seqlens 100,60,32", ""},
        Row{"--max-batch 3 --context 4096 --sizing page --cache-seqlens 100,60,33", kOverrun},
        Row{"--max-batch 3 --context 4096 --sizing token --cache-seqlens 100,60,33", ""}}) {
    const auto report = run_case(std::string("kv_indices ") + row.line, {}, {});
    ASSERT_TRUE(report.has_value()) << report.error().text();
    EXPECT_EQ(report->cases.front().verdict.reason, row.reason) << row.line;
    EXPECT_EQ(report->worst(), *row.reason == '\0' ? VerdictWord::kPass : VerdictWord::kFail) << row.line;
  }
}

// SGLang with preserve_attn_chunk_size=False: a chunk that is cut to whole pages of the longest sequence begins
// elsewhere for that one.
TEST(Runner, AChunkCutToTheLongestSequenceIsToldByWhatIsSeen) {
  PREFLIGHT_NEEDS_DEVICE();
  for (const auto& [line, reason] : {std::pair("--chunk 8192 --cache-seqlens 129,330 --shrink-chunk",
                                               "local_seqlens[1] is 10, expected 330: off by 320"),
                                     {"--chunk 128 --cache-seqlens 129,330 --shrink-chunk", ""},
                                     {"--chunk 8192 --cache-seqlens 129,330", ""}}) {
    const auto report = run_case(std::string("local_decode --heads 4 --kv-heads 2 --head-dim 16 ") + line, {}, {});
    ASSERT_TRUE(report.has_value()) << report.error().text();
    const auto& outputs = report->cases.front().verdict.outputs;
    const auto seen = std::ranges::find(outputs, "local_seqlens", &OutputVerdict::name);
    ASSERT_NE(seen, outputs.end());
    EXPECT_EQ(seen->reason, reason) << line;
  }
}

// A launcher that counts too little is refused by the first device that has less.
TEST(Runner, PlainFormsFitTheLocalMemoryThatTheirTilesWereChosenFor) {
  PREFLIGHT_NEEDS_DEVICE();
  opencl::Session session({});
  for (const char* line :
       {"mla_decode --heads 16 --latent 128 --rope 32 --cache-seqlens 65",
        "mla_decode --heads 16 --latent 64 --rope 64 --cache-seqlens 65",
        "paged_decode --heads 32 --kv-heads 4 --head-dim 128 --v-head-dim 64 --cache-seqlens 65x9",
        "paged_decode --heads 32 --kv-heads 4 --head-dim 64 --v-head-dim 256 --cache-seqlens 65x9"}) {
    const auto c = parse_case(line);
    ASSERT_TRUE(c.has_value()) << c.error().text();
    for (const std::int64_t kib : {16, 20, 24, 32, 48}) {
      DeviceInfo device = session.info();
      device.is_cpu = true;
      device.compute_units = 1;
      device.local_memory_bytes = kib * 1024;
      const Program program = program_of(*find_kernel(c->kernel), *c, device, {});
      const std::int64_t taken = session.kernel(program.source, program.options, c->kernel).local_bytes();
      EXPECT_GT(taken, kib * 1024 / 4) << line << ' ' << kib;
      EXPECT_LE(taken, kib * 1024) << line << ' ' << kib << ' ' << program.options;
    }
  }
}

// The least local memory with which a tile form is chosen is what its program then takes, or little more.
TEST(Runner, TileFormsFitTheLeastLocalMemoryThatTheyAreChosenWith) {
  PREFLIGHT_NEEDS_DEVICE();
  opencl::Session session({});
  for (const char* line : {"mla_decode --heads 16 --latent 64 --rope 32 --cache-seqlens 65",
                           "paged_decode --heads 8 --kv-heads 2 --head-dim 64 --v-head-dim 32 --cache-seqlens 65"}) {
    const auto c = parse_case(line);
    ASSERT_TRUE(c.has_value()) << c.error().text();
    DeviceInfo device = session.info();
    device.is_cpu = false;
    device.is_gpu = true;
    device.extensions += " plain_tiles";
    const auto program = [&](std::int64_t bytes) {
      device.local_memory_bytes = bytes;
      return program_of(*find_kernel(c->kernel), *c, device, {});
    };
    std::int64_t too_little = 0;
    std::int64_t least = std::int64_t{1} << 20;
    while (least - too_little > 1) {
      const std::int64_t middle = (too_little + least) / 2;
      const bool is_tile = program(middle).options.find("-DTILE_BODY=") != std::string::npos;
      (is_tile ? least : too_little) = middle;
    }
    const Program chosen = program(least);
    const std::int64_t taken =
        session.kernel(chosen.source, chosen.options + " -cl-opt-disable", c->kernel).local_bytes();
    EXPECT_LE(taken, least) << line;
    EXPECT_GT(taken, least * 9 / 10) << line;
  }
}

// Words that no sum and no maximum passes over: NaN in fp32 and bf16, and nearly the largest number of both.
bool is_leftover(std::uint32_t word, std::size_t i) { return word == (i % 2 == 0 ? 0xFFFFFFFFU : 0x7F007F00U); }

TEST(Leftovers, FillAllOfTheMemoryTheyAreGiven) {
  PREFLIGHT_NEEDS_DEVICE();
  opencl::Session session({});
  const Program program = leftovers_program(session.info());
  const std::string shown =
      program.source +
      "\nkernel __attribute__((reqd_work_group_size(1, 1, 1))) void show(local uint* memory, int "
      "words, global uint* to) {\n  for (int i = 0; i <= words; ++i) memory[i] = 0;\n"
      "  leave_no_zeros(memory, words);\n  for (int i = 0; i <= words; ++i) to[i] = memory[i];\n}\n";
  constexpr std::int32_t kWords = 301;
  opencl::KernelObject show = session.kernel(shown, program.options, "show");
  const opencl::Buffer to = session.allocate(4 * (kWords + 1));
  show.args(opencl::LocalMemory{4 * (kWords + 1)}, kWords, to);
  session.run(show, {1, 1, 1}, {1, 1, 1});
  session.finish();
  std::vector<std::uint32_t> words(kWords + 1);
  session.read(to, std::as_writable_bytes(std::span(words)), 0);
  for (std::size_t i = 0; i < kWords; ++i) EXPECT_TRUE(is_leftover(words[i], i)) << i << ": " << words[i];
  EXPECT_EQ(words[kWords], 0U) << "behind what was asked for";
}

// How many leftovers a kernel finds in an array that it never wrote. A driver's thread that got no group of the kernel
// before has none, so it is asked more than once.
TEST(Leftovers, AreInTheLocalMemoryOfEveryKernel) {
  PREFLIGHT_NEEDS_DEVICE();
  opencl::Session session({});
  if (!session.info().is_cpu || session.is_simulator()) GTEST_SKIP() << "elsewhere nothing says who had it before";
  const testing::TemporaryDirectory folder;
  folder.file("mla_decode.cl",
              mla_decode_that("volatile local uint left[4096]; int found = 0; for (int n = 0; n < 4096; "
                              "++n) found += left[n] == 0xFFFFFFFFu || left[n] == 0x7F007F00u; "
                              "lse[get_group_id(2)] = found;"));
  const auto c = parse_case(kSmallCase);
  const Kernel& kernel = *find_kernel(c->kernel);
  const auto batch = kernel.sample(*c);
  double most = 0.0;
  for (int i = 0; i < 50 && most < 4096.0; ++i) {
    KernelRun run(session, kernel, *batch, {.kernel_dir = folder.path()});
    kernel.launch(run, *batch);
    run.finish();
    for (const Tensor& output : run.outputs()) {
      if (output.name == "lse") most = std::max({most, output.get(0), output.get(1)});
    }
  }
  EXPECT_EQ(most, 4096.0);
}

TEST(Runner, AWriteOutsideTheBufferBreaksTheCanary) {
  PREFLIGHT_NEEDS_DEVICE();
  const auto report =
      run_case("mla_decode --heads 1 --latent 256 --rope 32 --kv-splits 4 --cache-seqlens 257", {}, {.defect = 240});
  EXPECT_EQ(report->worst(), VerdictWord::kFail);
  EXPECT_EQ(report->cases.front().verdict.reason, "wrote outside the buffer of workspace");
}

TEST(Runner, AnOutputLeftUnwrittenFails) {
  PREFLIGHT_NEEDS_DEVICE();
  const testing::TemporaryDirectory folder;
  folder.file("mla_decode.cl", mla_decode_that(""));
  const auto report = run_case(kSmallCase, {}, {.kernel_dir = folder.path()});
  EXPECT_EQ(report->worst(), VerdictWord::kFail) << report->cases.front().verdict.reason;
}

TEST(Runner, AWriteBehindABufferBreaksItsCanaryAsOneInFrontDoes) {
  PREFLIGHT_NEEDS_DEVICE();
  for (const auto& [statement, reason] : {std::pair("out[-1] = 0;", "wrote outside the buffer of out"),
                                          {"out[2 * 512] = 0;", "wrote outside the buffer of out"},
                                          {"lse[-1] = 0.0f;", "wrote outside the buffer of lse"},
                                          {"lse[2] = 0.0f;", "wrote outside the buffer of lse"},
                                          {"lse[30000] = 0.0f;", "wrote outside the buffer of lse"},
                                          {"lse[-16000] = 0.0f;", "wrote outside the buffer of lse"}}) {
    const testing::TemporaryDirectory folder;
    folder.file("mla_decode.cl", mla_decode_that(statement));
    const auto report = run_case(kSmallCase, {}, {.kernel_dir = folder.path()});
    EXPECT_EQ(report->cases.front().verdict.reason, reason) << statement;
  }
}

// A launch reads its queries, its cache and its table again: in the next layer, and in the next step.
TEST(Runner, AnInputThatIsWrittenToFails) {
  PREFLIGHT_NEEDS_DEVICE();
  for (const auto& [statement, reason] :
       {std::pair("d[0] = 7;", "wrote to page_table, which it is given to read"),
        {"e[1] = 7;", "wrote to cache_seqlens, which it is given to read"},
        {"b[63] = 7;", "wrote to q_rope, which it is given to read"},
        {"c[0] = 7;", "wrote to kv_cache, which it is given to read"},
        {"c[8 * 64 * 576 - 1] = 7;", "wrote to kv_cache, which it is given to read"},
        {"a[0] = 7; e[0] = 7;", "wrote to q_nope, cache_seqlens, which it is given to read"},
        {"c[8 * 64 * 576] = 7;", "wrote outside the buffer of kv_cache"}}) {
    const testing::TemporaryDirectory folder;
    folder.file("mla_decode.cl", mla_decode_that(statement));
    const auto report = run_case(kSmallCase, {}, {.kernel_dir = folder.path()});
    EXPECT_EQ(report->cases.front().verdict.reason, reason) << statement;
  }
}

// Of a table's numbers -1 is one.
TEST(Runner, AnIndexThatIsLeftUnwrittenIsNoNumberOfATable) {
  PREFLIGHT_NEEDS_DEVICE();
  const testing::TemporaryDirectory folder;
  folder.file("page_table.cl",
              "kernel void page_table(global const int* slots, global const long* rows, global int* table, int width, "
              "int columns, int page_size) { }\n");
  const auto report = run_case("page_table --page 16 --cache-seqlens 1,20", {}, {.kernel_dir = folder.path()});
  const std::string& reason = report->cases.front().verdict.reason;
  EXPECT_NE(reason.find(fmt::format("is {}, expected", kUnwrittenIndex)), std::string::npos) << reason;
}

TEST(Runner, WhatComesBehindACaseThatFailedIsNotRunWhereThatStops) {
  PREFLIGHT_NEEDS_DEVICE();
  const testing::TemporaryDirectory folder;
  folder.file("mla_decode.cl", mla_decode_that(""));
  const KernelCase c = *parse_case(kSmallCase);
  for (const bool stops : {false, true}) {
    const auto report = run_cases({c, c}, {}, {.kernel_dir = folder.path(), .stop_at_failure = stops});
    EXPECT_EQ(report.cases[0].verdict.word, VerdictWord::kFail);
    EXPECT_EQ(report.cases[1].verdict.word, stops ? VerdictWord::kSkipped : VerdictWord::kFail);
  }
}

// Accumulators that start as what memory holds are multiplied by 0 in the first tile: only a NaN stays.
TEST(Runner, LocalMemoryThatIsReadBeforeItIsWrittenFails) {
  PREFLIGHT_NEEDS_DEVICE();
  const testing::TemporaryDirectory folder;
  const std::filesystem::path sources = testing::source_directory() + "/ocl_kernels";
  for (const auto& file : std::filesystem::directory_iterator(sources)) {
    std::string text = testing::read_file(file.path().string());
    const std::string zeroed = "i < HEAD_TILE * LATENT; i += LANES) acc[i] = 0.0f;";
    const std::size_t at = text.find(zeroed);
    EXPECT_EQ(at != std::string::npos, file.path().filename() == "mla_decode.cl");
    if (at != std::string::npos) text.replace(at, zeroed.size(), "i < 0; i += LANES) acc[i] = 0.0f;");
    folder.file(file.path().filename().string(), text);
  }
  // A CPU's thread has local memory of its own, and which of them runs a group nobody knows: one of many runs shows it.
  constexpr int kRuns = 60;
  bool seen = false;
  for (int i = 0; i < kRuns && !seen; ++i) {
    seen = run_case(kSmallCase, {}, {.kernel_dir = folder.path()})->worst() == VerdictWord::kFail;
  }
  EXPECT_TRUE(seen);
}

TEST(Runner, TimesWhatItIsAskedTo) {
  PREFLIGHT_NEEDS_DEVICE();
  const auto report = run_case(kSmallCase, {}, {.repeat = 3});
  ASSERT_TRUE(report->cases.front().timing.has_value());
  const Timing& timing = *report->cases.front().timing;
  EXPECT_EQ(timing.repeat, 3);
  EXPECT_LE(timing.best_seconds, timing.median_seconds);
  EXPECT_EQ(timing.flops, 2.0 * (576 + 512) * (65 + 129));
}

}  // namespace
}  // namespace preflight
