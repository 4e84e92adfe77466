// Blocks of fp32 sums (ocl_kernels/decode_blocks.clh), the form of a GPU without a matrix engine, on whatever device
// there is: the kernels that such a GPU builds, against the references and tolerances of every other form.
#include "src/kernels/blocks.h"

#include "tests/kernels/device.h"

#include <gmock/gmock.h>

#include <array>
#include <string>

#include "preflight/kernel.h"

namespace preflight {
namespace {

using ::testing::HasSubstr;

struct Group {
  const char* name;
  const char* lines;
};

class Blocks : public ::testing::TestWithParam<Group> {};

TEST_P(Blocks, AgreeWithTheReference) {
  PREFLIGHT_NEEDS_DEVICE();
  const auto cases = parse_cases(GetParam().lines, GetParam().name);
  ASSERT_TRUE(cases.has_value()) << cases.error().text();
  DeviceInfo gpu;
  gpu.local_memory_bytes = 65536;
  gpu.max_work_group_size = 1024;
  for (const KernelCase& c : *cases) {
    EXPECT_THAT(find_kernel(c.kernel)->build_options(c, gpu), HasSubstr("-DBLOCKS=1"));
  }
  const KernelReport report = run_cases(*cases, {}, {.as_gpu = true});
  ASSERT_FALSE(report.error.has_value()) << report.error->message;
  for (const CaseReport& c : report.cases) {
    EXPECT_EQ(name_of(c.verdict.word), "pass") << c.case_line << "\n  " << c.verdict.reason;
  }
}

// Lines of one group share programs where they can: compiling one takes seconds.
constexpr std::array kGroups = {
    Group{
        "LatentSixteenRows",
        "mla_decode --dtype fp32 --heads 16 --page {16|32|64|128} --inputs {peaked|drift} --cache-seqlens 320,257,1,0\n"
        "mla_decode --dtype fp32 --heads 16 --page 64 --kv-splits {2|5} --inputs {flat|mid} --cache-seqlens "
        "320,65,130\n"
        "mla_decode --dtype fp32 --heads {128|100} --kv-splits {1|3} --cache-seqlens 130,64"},
    Group{"LatentOneRow",
          "mla_decode --dtype fp32 --heads 1 --page 16 --inputs {drift|peaked} --kv-splits {1|2} --cache-seqlens "
          "65,33,0"},
    Group{"SmallLatentHalfPrecision",
          "mla_decode --dtype fp16 --heads 20 --latent 256 --rope 32 --page 16 --inputs {drift|peaked} --cache-seqlens "
          "65,33"},
    Group{"FourRows",
          "paged_decode --dtype fp32 --heads 32 --kv-heads 8 --page {1|16|64|128} --kv-splits {1|3} --cache-seqlens "
          "1,64,320,257\n"
          "paged_decode --dtype fp32 --heads 16 --kv-heads 4 --window {0|31|63} {|--softcap 3} --sinks --kv-splits "
          "{1|2} --cache-seqlens 0,65,200"},
    Group{"OneRow",
          "paged_decode --dtype fp32 --heads 3 --kv-heads 3 --page 1 --sinks --inputs {drift|flat} --cache-seqlens "
          "1,65,130"},
    Group{
        "TwentyRowsUnequalDims",
        "paged_decode --dtype fp32 --heads 20 --kv-heads 1 --head-dim 96 --v-head-dim 80 --sinks --inputs {drift|mid} "
        "--cache-seqlens 1,65,130"},
    Group{"BrainFloat", "paged_decode --heads 6 --kv-heads 2 --window 31 --softcap 3 --sinks --cache-seqlens 0,65,200"},
    Group{
        "EightBits",
        "paged_decode --heads 8 --kv-heads 2 --kv-dtype {fp8_e4m3|fp8_e5m2} --k-scale 0.75 --v-scale 0.35 --kv-splits "
        "{1|2} --cache-seqlens 65,130"},
    Group{"WideHeads",
          "paged_decode --dtype fp32 --heads 8 --kv-heads 2 --head-dim 576 --inputs drift --cache-seqlens 65,130\n"
          "paged_decode --dtype fp32 --heads 12 --kv-heads 1 --head-dim 1024 --page 16 --cache-seqlens 33,20"},
    Group{"Local",
          "local_decode --dtype fp32 --heads 4 --kv-heads 2 --head-dim 32 --page 16 --chunk 32 --kv-splits 2 "
          "--cache-seqlens 33,20,0,64"}};
INSTANTIATE_TEST_SUITE_P(Kernels, Blocks, ::testing::ValuesIn(kGroups),
                         [](const auto& row) { return std::string(row.param.name); });

// What the judge catches in the other forms it catches here.
struct Planted {
  int defect;
  const char* line;
};
class BlocksDefects : public ::testing::TestWithParam<Planted> {};

TEST_P(BlocksDefects, AreCaught) {
  PREFLIGHT_NEEDS_DEVICE();
  const Planted& planted = GetParam();
  const auto report = run_case(planted.line, {}, {.as_gpu = true, .defect = planted.defect});
  ASSERT_TRUE(report.has_value()) << report.error().text();
  EXPECT_EQ(name_of(report->worst()), "fail");
}

constexpr const char* kLatent =
    "mla_decode --dtype fp32 --heads 9 --latent 64 --rope 64 --page 16 --inputs drift --cache-seqlens 70,33";
constexpr const char* kPaged =
    "paged_decode --dtype fp32 --heads 6 --kv-heads 2 --head-dim 64 --page 16 --cache-seqlens 70,33";
constexpr const char* kFlat = "paged_decode --heads 8 --kv-heads 2 --inputs flat --cache-seqlens 2049,129";
constexpr const char* kScaled =
    "paged_decode --heads 8 --kv-heads 2 --kv-dtype fp8_e4m3 --k-scale 0.75 --v-scale 0.35 --cache-seqlens 65,130";
INSTANTIATE_TEST_SUITE_P(Kernels, BlocksDefects,
                         ::testing::Values(Planted{70, kLatent}, Planted{150, kLatent}, Planted{160, kLatent},
                                           Planted{220, kLatent}, Planted{40, kPaged}, Planted{180, kPaged},
                                           Planted{190, kFlat}, Planted{200, kFlat}, Planted{380, kScaled},
                                           Planted{381, kScaled}),
                         [](const auto& row) { return "Defect" + std::to_string(row.param.defect); });

constexpr std::int64_t kKib = 1024;

DeviceInfo gpu_with(std::int64_t local_bytes, std::int64_t items) {
  DeviceInfo gpu;
  gpu.local_memory_bytes = local_bytes;
  gpu.max_work_group_size = items;
  return gpu;
}

TEST(BlocksChoice, FollowsRowsDimsAndTheDevice) {
  const tiles::Product grouped{.rows = 4, .key_dim = 128, .value_dim = 128};
  const tiles::Product latent{.rows = 128, .key_dim = 576, .value_dim = 512, .shared_rows = true};
  EXPECT_EQ(blocks::choose(grouped, gpu_with(48 * kKib, 1024)).build_options(),
            "-DBLOCKS=1 -DROWS=4 -DTOKEN_TILE=32 -DPARTS=8 -DVALUE_ROWS=4 -DLOCAL_QUERIES=1");
  EXPECT_EQ(blocks::choose(latent, gpu_with(48 * kKib, 1024)).build_options(),
            "-DBLOCKS=1 -DROWS=16 -DTOKEN_TILE=16 -DPARTS=8 -DVALUE_ROWS=8 -DLOCAL_QUERIES=0");
  EXPECT_EQ(blocks::choose(latent, gpu_with(48 * kKib, 1024)).lanes(), 256);
  // Less memory, fewer tokens; fewer items to a group, fewer parts and tokens.
  EXPECT_EQ(blocks::choose(latent, gpu_with(32 * kKib, 1024)).tokens, 8);
  EXPECT_EQ(blocks::choose(grouped, gpu_with(48 * kKib, 64)).lanes(), 64);
  // Never more than there is, and something even for a device that has next to nothing.
  const tiles::Product narrow{.rows = 16, .key_dim = 64, .value_dim = 64};  // which registers would hold
  for (const tiles::Product& product : {latent, narrow}) {
    EXPECT_LE(blocks::choose(product, gpu_with(48 * kKib, 16)).lanes(), 16);
  }
  EXPECT_EQ(blocks::choose(latent, gpu_with(kKib, 1024)).rows, 1);
}

// By the declarations of block_memory_t: keys, queries, weights, parts, scores, two floats a row, the slots of two
// tiles.
TEST(BlocksChoice, QueriesLieInLocalMemoryAsLongAsItHoldsThemToTheByte) {
  const tiles::Product grouped{.rows = 4, .key_dim = 128, .value_dim = 128};
  constexpr std::int64_t kBytes =
      16 * 32 * 32 + 16 * 4 * 32 + 4 * (4 * 32 + 8 * (4 * 32 + 4) + 4 * (32 + 4) + 4 + 4) + 2 * 8 * 32;
  constexpr const char* kShape = "-DBLOCKS=1 -DROWS=4 -DTOKEN_TILE=32 -DPARTS=8 -DVALUE_ROWS=4 -DLOCAL_QUERIES=";
  EXPECT_EQ(blocks::choose(grouped, gpu_with(kBytes, 1024)).build_options(), std::string(kShape) + "1");
  EXPECT_EQ(blocks::choose(grouped, gpu_with(kBytes - 1, 1024)).build_options(), std::string(kShape) + "0");
  constexpr std::int64_t kQueries = 16 * 4 * 32;
  EXPECT_EQ(blocks::choose(grouped, gpu_with(kBytes - kQueries, 1024)).tokens, 32);
  EXPECT_EQ(blocks::choose(grouped, gpu_with(kBytes - kQueries - 1, 1024)).tokens, 16);
}

}  // namespace
}  // namespace preflight
