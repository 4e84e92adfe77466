// The tile products of Intel's matrix engine, lane for lane on a device that has none: the kernels are those that an
// Intel GPU builds, its sub-groups of 16 (pvc) or 8 (dg2) and their built-in functions are emulated. Intel's driver for
// CPUs has the sub-groups, and only the products are emulated there (`./dev second-driver`). `./dev kernel-lint`
// compiles the same code with the real ones.
#include "tests/kernels/device.h"

#include <gmock/gmock.h>

#include <array>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "preflight/kernel.h"
#include "src/kernels/kernel_run.h"
#include "src/kernels/program.h"
#include "src/kernels/tiles.h"

namespace preflight {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Lines of one group share programs where they can: compiling one takes seconds.
struct Group {
  const char* name;
  const char* lines;
};

class IntelTiles : public ::testing::TestWithParam<std::tuple<Group, int>> {};

TEST_P(IntelTiles, AgreeWithTheReference) {
  PREFLIGHT_NEEDS_DEVICE();
  const auto& [group, lanes] = GetParam();
  const auto cases = parse_cases(group.lines, group.name);
  ASSERT_TRUE(cases.has_value()) << cases.error().text();
  // The judged program is that of the engine.
  DeviceInfo gpu;
  gpu.local_memory_bytes = 65536;
  gpu.max_work_group_size = 1024;
  gpu.extensions = fmt::format(" {}{}", tiles::kEmulatedSubGroup, lanes);
  for (const KernelCase& c : *cases) {
    EXPECT_THAT(find_kernel(c.kernel)->build_options(c, gpu), HasSubstr(fmt::format("-DTILE_LANES={} ", lanes)));
  }
  const KernelReport report = run_cases(*cases, {}, {.as_gpu = true, .emulated_lanes = lanes});
  ASSERT_FALSE(report.error.has_value()) << report.error->message;
  for (const CaseReport& c : report.cases) {
    EXPECT_EQ(name_of(c.verdict.word), "pass") << c.case_line << "\n  " << c.verdict.reason;
  }
}

// Values in blocks of four tiles, of two (head dim 32) and one by one (80), dims of one sub-group and of several.
constexpr std::array kGroups = {
    Group{"Latent16Heads",
          "mla_decode --heads 16 --page {16|32|64|128} --inputs {peaked|drift} --cache-seqlens 320,257,1,0\n"
          "mla_decode --heads 16 --page 64 --kv-splits {2|5} --inputs {flat|mid} --cache-seqlens 320,65,130"},
    Group{"Latent128Heads", "mla_decode --heads {128|100} --kv-splits {1|3} --cache-seqlens 130,64"},
    Group{"SmallLatentHalfPrecision",
          "mla_decode --dtype fp16 --heads 20 --latent 256 --rope 32 --page 16 --inputs {drift|peaked} --cache-seqlens "
          "65,33"},
    Group{"Grouped",
          "paged_decode --heads 32 --kv-heads 8 --page {1|16|64|128} --kv-splits {1|3} --cache-seqlens 1,64,320,257\n"
          "paged_decode --heads 16 --kv-heads 4 --window {0|31|63} {|--softcap 3} --sinks --kv-splits {1|2} "
          "--cache-seqlens 0,65,200\n"
          "paged_decode --heads 3 --kv-heads 3 --inputs {drift|flat} --cache-seqlens 1,17,16"},
    Group{"UnequalDimsHalfPrecision",
          "paged_decode --dtype fp16 --heads 20 --kv-heads 1 --head-dim 96 --v-head-dim 80 --page 1 --sinks --inputs "
          "{drift|mid} --cache-seqlens 1,65,130"},
    Group{"WideHeads", "paged_decode --heads 8 --kv-heads 2 --head-dim 256 --inputs drift --cache-seqlens 65,130"},
    Group{"Local",
          "local_decode --heads 4 --kv-heads 2 --head-dim 32 --page 16 --chunk 32 --kv-splits 2 --cache-seqlens "
          "33,20,0,64"}};
INSTANTIATE_TEST_SUITE_P(Kernels, IntelTiles,
                         ::testing::Combine(::testing::ValuesIn(kGroups), ::testing::Values(16, 8)),
                         [](const auto& row) {
                           return std::get<0>(row.param).name + std::to_string(std::get<1>(row.param));
                         });

// What the judge catches in the other forms it catches here.
struct Planted {
  int defect;
  int lanes;
  const char* line;
};
class IntelTilesDefects : public ::testing::TestWithParam<Planted> {};

TEST_P(IntelTilesDefects, AreCaught) {
  PREFLIGHT_NEEDS_DEVICE();
  const Planted& planted = GetParam();
  const RunOptions options{.as_gpu = true, .emulated_lanes = planted.lanes, .defect = planted.defect};
  const auto report = run_case(planted.line, {}, options);
  ASSERT_TRUE(report.has_value()) << report.error().text();
  EXPECT_EQ(name_of(report->worst()), "fail");
}

constexpr const char* kSmallLatent = "mla_decode --heads 9 --latent 64 --rope 64 --page 16 --cache-seqlens 70,33";
constexpr const char* kSmallPaged = "paged_decode --heads 6 --kv-heads 2 --head-dim 64 --page 16 --cache-seqlens 70,33";
INSTANTIATE_TEST_SUITE_P(Kernels, IntelTilesDefects,
                         ::testing::Values(Planted{30, 8, kSmallLatent}, Planted{150, 16, kSmallLatent},
                                           Planted{151, 8, kSmallLatent}, Planted{160, 16, kSmallLatent},
                                           Planted{220, 8, kSmallLatent}, Planted{40, 16, kSmallPaged},
                                           Planted{140, 8, kSmallPaged}, Planted{180, 16, kSmallPaged},
                                           Planted{170, 8, kSmallPaged}),
                         [](const auto& row) { return "Defect" + std::to_string(row.param.defect); });

TEST(IntelTilesChoice, SubGroupsAreTheDriversOwnWhereItHasThem) {
  PREFLIGHT_NEEDS_DEVICE();
  const KernelCase one = *parse_case(kSmallPaged);
  const Kernel& kernel = *find_kernel(one.kernel);
  opencl::Session session({});
  const KernelRun run(session, kernel, *kernel.sample(one), {.as_gpu = true, .emulated_lanes = 16});
  const bool own = session.info().extensions.find("cl_intel_subgroup_local_block_io") != std::string::npos;
  EXPECT_THAT(kernel.build_options(one, run.device()),
              HasSubstr(own ? "-DTILE_EMULATED=2 -DSUB_GROUP=16" : "-DTILE_EMULATED=1"));
  DeviceInfo with_sub_groups = run.device();
  with_sub_groups.extensions = fmt::format("{}8", tiles::kEmulatedProducts);
  EXPECT_THAT(kernel.build_options(one, with_sub_groups), HasSubstr("-DTILE_LANES=8 -DTILE_EMULATED=2 -DSUB_GROUP=8"));
}

TEST(IntelTilesChoice, AGpuWithTheEngineTakesItAndOneWithoutBlocks) {
  const KernelCase half = *parse_case("paged_decode --heads 8 --kv-heads 2 --cache-seqlens 65");
  const KernelCase full = *parse_case("paged_decode --dtype fp32 --heads 8 --kv-heads 2 --cache-seqlens 65");
  const KernelCase small = *parse_case("paged_decode --heads 8 --kv-heads 2 --kv-dtype fp8_e4m3 --cache-seqlens 65");
  const Kernel& kernel = *find_kernel(half.kernel);
  for (const OfflineDevice& device : offline_devices()) {
    const bool present = device.info.extensions.find("matrix_multiply_accumulate") != std::string::npos;
    const std::string options = program_of(kernel, half, device.info, {}).options;
    const std::string body = fmt::format(
        "-DTILE_BODY=3 -DROW_GROUPS=1 -DDIM_GROUPS=1 -DSTAGES=2 -DTILE_LANES={0} "
        "-cl-intel-256-GRF-per-thread -DSUB_GROUP={0}",
        device.name == "dg2" ? 8 : 16);
    EXPECT_THAT(options, present ? ::testing::Matcher<std::string>(HasSubstr(body)) : HasSubstr("-DBLOCKS=1 "));
    EXPECT_THAT(options, Not(HasSubstr("EMULATED")));
    EXPECT_THAT(program_of(kernel, full, device.info, {}).options, HasSubstr("-DBLOCKS=1 "));
    EXPECT_THAT(program_of(kernel, small, device.info, {}).options, HasSubstr("-DBLOCKS=1 "));
    EXPECT_EQ(matrix_engine(device.info),
              present ? fmt::format("Intel DPAS, sub-groups of {}", device.name == "dg2" ? 8 : 16) : "");
    DeviceInfo other = device.info;
    other.platform = "rusticl";  // another driver has neither the functions nor the sub-groups
    EXPECT_EQ(tiles::engine_of(other).kind, tiles::TileEngine::kNone);
    other = device.info;
    other.extensions += "2";  // sub-groups of 162 or 82
    EXPECT_EQ(tiles::engine_of(other).kind, tiles::TileEngine::kNone);
    EXPECT_EQ(tiles::engine_of(tiles::without_engine(device.info)).kind, tiles::TileEngine::kNone);
    EXPECT_EQ(tiles::intel_sub_group(tiles::without_engine(device.info)), 0);
  }
  DeviceInfo nvidia;
  nvidia.extensions = "cl_nv_device_attribute_query sm_90";
  EXPECT_EQ(tiles::engine_of(nvidia).kind, tiles::TileEngine::kNvidia);
  EXPECT_EQ(matrix_engine(nvidia), "NVIDIA mma.sync");
  EXPECT_EQ(tiles::without_engine(nvidia).extensions, "cl_nv_device_attribute_query");
  nvidia.extensions += " cl_khr_fp64";
  EXPECT_EQ(tiles::without_engine(nvidia).extensions, "cl_nv_device_attribute_query cl_khr_fp64");
  nvidia.extensions = "cl_nv_device_attribute_query sm_75";
  EXPECT_EQ(tiles::engine_of(nvidia).kind, tiles::TileEngine::kNone);
}

// A sub-group has whole tiles of keys and of values, or the form is not taken.
TEST(IntelTilesChoice, DimsAreSharedOutWhereKeysAndValuesDivide) {
  for (const auto& [dims, wanted] : {std::pair("--head-dim 288 --v-head-dim 256", "-DDIM_GROUPS=2 "),
                                     std::pair("--head-dim 288 --v-head-dim 272", "-DBLOCKS=1 "),
                                     std::pair("--head-dim 272 --v-head-dim 256", "-DBLOCKS=1 ")}) {
    const auto c = parse_case(fmt::format("paged_decode --heads 8 --kv-heads 2 {} --cache-seqlens 65", dims));
    ASSERT_TRUE(c.has_value()) << c.error().text();
    EXPECT_THAT(program_of(*find_kernel(c->kernel), *c, offline_devices().front().info, {}).options, HasSubstr(wanted))
        << dims;
  }
}

}  // namespace
}  // namespace preflight
