// What is compiled: for which device with which options, and what every kernel source keeps to. ./dev kernel-lint
// compiles the same programs for Intel GPUs.
#include "src/kernels/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include <fmt/format.h>

#include "preflight/kernel_run.h"
#include "src/kernels/defects.h"
#include "src/kernels/sources.h"
#include "src/plan/planners.h"
#include "src/sample/case_options.h"
#include "tests/kernels/kernel_lines.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kCase = "paged_decode --heads 8 --kv-heads 2 --cache-seqlens 65";

std::string without_comments(const std::string& source) {
  return std::regex_replace(source, std::regex("//[^\n]*"), "");
}

TEST(KernelSource, UsesNoAtomicsWhoseOrderWouldShowInTheResult) {
  for (const Kernel& kernel : kernel_table()) {
    const std::string source = without_comments(kernel_source(kernel.source, ""));
    EXPECT_FALSE(std::regex_search(source, std::regex("\\b(atomic|atom)(ic)?_"))) << kernel.source;
    EXPECT_FALSE(std::regex_search(source, std::regex("\\batomic"))) << kernel.source;
  }
}

// On a CPU the compiler takes longer than all cases together.
TEST(Program, IsOneForAllCasesOfAShapeOnACpuWhateverItsCores) {
  for (const char* kernel : {"mla_decode", "paged_decode", "local_decode"}) {
    const auto shapes = parse_cases(testing::kernel_lines(kernel, "gate"), "gate");
    ASSERT_TRUE(shapes.has_value()) << shapes.error().text();
    for (const KernelCase& shape : *shapes) {
      std::set<std::string> options;
      for (const std::int64_t cores : {1, 2, 64}) {
        DeviceInfo cpu;
        cpu.is_cpu = true;
        cpu.compute_units = cores;
        cpu.local_memory_bytes = 512 * 1024;
        for (const KernelCase& c : plan::planned_cases(shape)) {
          options.insert(program_of(*find_kernel(kernel), c, cpu, {}).options);
        }
      }
      EXPECT_EQ(options.size(), 1U) << print_case(shape);
    }
  }
}

// The larger its tiles, the less often a CPU reads the cache.
TEST(Program, ACpuTakesAllHeadsThatItsMemoryHolds) {
  DeviceInfo cpu;
  cpu.is_cpu = true;
  cpu.local_memory_bytes = 512 * 1024;
  for (const auto& [line, tiles] :
       {std::pair("paged_decode --heads 32 --kv-heads 8", "-DKV_TILE=8 -DGROUP_TILE=4 -DHEAD_BLOCK=4 "),
        {"paged_decode --heads 12 --kv-heads 4 --head-dim 64", "-DKV_TILE=4 -DGROUP_TILE=4 -DHEAD_BLOCK=4 "},
        {"mla_decode --heads 16", "-DHEAD_TILE=16 "},
        {"mla_decode --heads 6", "-DHEAD_TILE=8 "}}) {
    const KernelCase c = *parse_case(std::string(line) + " --cache-seqlens 65");
    EXPECT_THAT(program_of(*find_kernel(c.kernel), c, cpu, {}).options, HasSubstr(tiles)) << line;
  }
}

// An optimiser takes longer than the sample of any kernel; what is timed is worth it, and a GPU's driver knows best.
TEST(Program, AnOptimiserRunsOnACpuOnlyForWhatIsTimed) {
  for (const std::string_view name : kernel_names()) {
    const KernelCase kernel_case = built_in_cases(name)->front();
    const auto disables = [&](bool is_cpu, int repeat) {
      DeviceInfo device;
      device.is_cpu = is_cpu;
      device.local_memory_bytes = 512 * 1024;
      device.max_work_group_size = 1024;
      const Program program = program_of(*find_kernel(name), kernel_case, device, {.repeat = repeat});
      return program.options.find("-cl-opt-disable") != std::string::npos;
    };
    EXPECT_TRUE(disables(true, 0)) << name;
    EXPECT_FALSE(disables(true, 1)) << name;
    EXPECT_FALSE(disables(false, 0)) << name;
  }
}

// A driver that may choose the work-group breaks whatever counts on LANES items.
TEST(KernelSource, NamesTheWorkGroupOfEveryKernel) {
  const std::regex definition("(?:^|\n)\\s*(?:__)?kernel\\b([^{;]*?)\\bvoid\\s+(\\w+)\\s*\\(");
  std::set<std::string> found;
  for (const Kernel& kernel : kernel_table()) {
    const std::string source = without_comments(kernel_source(kernel.source, ""));
    for (std::sregex_iterator at(source.begin(), source.end(), definition), end; at != end; ++at) {
      EXPECT_THAT((*at)[1].str(), HasSubstr("WORK_GROUP(")) << (*at)[2];
      found.insert((*at)[2].str());
    }
  }
  EXPECT_TRUE(found.contains("paged_decode"));
  EXPECT_TRUE(found.contains("paged_decode_merge"));
  EXPECT_TRUE(found.contains("delta_output"));
  EXPECT_GE(found.size(), 16U);
}

// What the table of kernels cannot ask for by itself: the lines of other files that CONTRIBUTING.md counts. Without its
// defects a kernel is judged by a gate that nobody saw fail.
TEST(KernelLines, EveryKernelHasThoseOfOtherFiles) {
  const auto is_of = [](std::string_view line, std::string_view kernel) {
    return line.starts_with(kernel) && line.substr(kernel.size()).starts_with(' ');
  };
  for (const Kernel& kernel : kernel_table()) {
    EXPECT_TRUE(has_case_options(kernel.name)) << kernel.name << " has no row in src/sample/case_options.cpp";
    EXPECT_TRUE(std::ranges::any_of(defects::defect_table(),
                                    [&](const defects::Defect& d) { return is_of(d.case_line, kernel.name); }))
        << kernel.name << " has no planted defect in src/kernels/defects.cpp";
    for (const char* purpose : {"intel", "gate", "simulator", "bytes", "products", "numbers", "repeat"}) {
      const auto cases = parse_cases(testing::kernel_lines(kernel.name, purpose), purpose);
      ASSERT_TRUE(cases) << cases.error().text();
      EXPECT_FALSE(cases->empty()) << fmt::format("tests/kernels/lines/{}.txt has no line for {}", kernel.name,
                                                  purpose);
      for (const KernelCase& c : *cases) EXPECT_EQ(c.kernel, kernel.name) << purpose;
    }
  }
}

TEST(Program, AnIntelGpuRunsTheNarrowestSubGroupWithTheLargeRegisterFile) {
  const KernelCase kernel_case = *parse_case(kCase);
  const Kernel& kernel = *find_kernel(kernel_case.kernel);
  std::vector<std::string> names;
  for (const OfflineDevice& device : offline_devices()) {
    names.emplace_back(device.name);
    const Program program = program_of(kernel, kernel_case, device.info, {});
    EXPECT_THAT(program.options, HasSubstr("-cl-intel-256-GRF-per-thread"));
    EXPECT_THAT(program.options, HasSubstr(device.name == "dg2" ? "-DSUB_GROUP=8" : "-DSUB_GROUP=16"));
    EXPECT_THAT(program.options, Not(HasSubstr("LANES=1 ")));
  }
  EXPECT_THAT(names, ::testing::ElementsAre("pvc", "dg2", "pvc", "dg2"));
  DeviceInfo other = offline_devices()[0].info;
  other.platform = "rusticl";  // the same GPU under another driver
  EXPECT_THAT(program_of(kernel, kernel_case, other, {}).options, Not(HasSubstr("intel")));
  EXPECT_THAT(program_of(kernel, kernel_case, other, {}).options, Not(HasSubstr("SUB_GROUP")));
}

TEST(Program, ADefectIsPartOfTheOptions) {
  const KernelCase kernel_case = *parse_case(kCase);
  const Kernel& kernel = *find_kernel(kernel_case.kernel);
  const DeviceInfo device = offline_devices()[0].info;
  EXPECT_THAT(program_of(kernel, kernel_case, device, {.defect = 180}).options, HasSubstr("-DDEFECT=180"));
  EXPECT_THAT(program_of(kernel, kernel_case, device, {}).options, Not(HasSubstr("DEFECT")));
}

// Another version may have another header, and a GPU's forms call functions that are not declared.
TEST(Program, OnlyForCpusOfPocl31AreBuiltinsDeclaredByHand) {
  const KernelCase kernel_case = *parse_case(kCase);
  DeviceInfo pocl;
  pocl.platform = "Portable Computing Language";
  pocl.driver = "3.1+debian";
  pocl.is_cpu = true;
  const auto declares = [&](const DeviceInfo& device) {
    const bool own = program_of(*find_kernel(kernel_case.kernel), kernel_case, device, {})
                         .options.ends_with(" -D_OPENCL_H_ -DBUILTINS");
    EXPECT_EQ(leftovers_program(device).options,
              std::string("-cl-std=CL1.2") + (device.is_cpu ? " -cl-opt-disable" : "") + (own ? " -D_OPENCL_H_" : ""));
    return own;
  };
  EXPECT_TRUE(declares(pocl));
  EXPECT_THAT(program_of(*find_kernel(kernel_case.kernel), kernel_case, pocl,
                         {.kernel_dir = testing::source_directory() + "/ocl_kernels"})
                  .options,
              Not(HasSubstr("BUILTINS")));
  for (const char* driver : {"3.0", "4.0", "5.0"}) {
    DeviceInfo other = pocl;
    other.driver = driver;
    EXPECT_FALSE(declares(other)) << driver;
  }
  DeviceInfo gpu = pocl;
  gpu.is_cpu = false;
  EXPECT_FALSE(declares(gpu));
  DeviceInfo intel = pocl;
  intel.platform = "Intel(R) OpenCL";
  EXPECT_FALSE(declares(intel));
}

TEST(KernelsCommand, WritesWhatIntelGpusBuild) {
  using testing::run_tool;
  const testing::TemporaryDirectory directory;
  const std::string cases = directory.file("cases", "page_table --cache-seqlens 65\nmrope --tokens 4 --heads 8\n");
  const std::string out = directory.path() + "/programs";
  const auto written = run_tool({"kernels", "--programs", out, "--cases", cases});
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_EQ(written.out, "4 programs in " + out + "/programs.tsv\n");
  const std::string list = testing::read_file(out + "/programs.tsv");
  EXPECT_THAT(list, HasSubstr("pvc\tpage_table\t-w -cl-std=CL1.2"));
  EXPECT_THAT(list, HasSubstr("dg2\tmrope\t"));
  EXPECT_THAT(list, HasSubstr("\tpage_table --cache-seqlens 65\n"));
  EXPECT_THAT(testing::read_file(out + "/mrope.cl"), HasSubstr("kernel WORK_GROUP(LANES) void mrope("));
  EXPECT_THAT(run_tool({"kernels"}).out, HasSubstr("paged_decode.cl"));
  EXPECT_EQ(run_tool({"kernels", "--cases", "/no/such/file"}).status, 2);
  EXPECT_EQ(run_tool({"kernels", "--programs", "/proc/none", "--cases", cases}).status, 2);
}

TEST(KernelsCommand, WritesOverItsOwnFilesAlone) {
  using testing::run_tool;
  const testing::TemporaryDirectory directory;
  const std::string cases = directory.file("cases", "mrope --tokens 4 --heads 8\n");
  const auto write = [&](const std::string& folder) {
    return run_tool({"kernels", "--programs", directory.path() + "/" + folder, "--cases", cases});
  };
  const std::string mine = directory.file("mine/mrope.cl", "mine");
  EXPECT_EQ(write("mine").status, 2);
  EXPECT_THAT(write("mine").err, HasSubstr("mine/mrope.cl: this file is not of an earlier --programs"));
  EXPECT_EQ(testing::read_file(mine), "mine");
  const std::string list = directory.file("list/programs.tsv", "mine\tall of it\n");
  EXPECT_EQ(write("list").status, 2);
  EXPECT_EQ(testing::read_file(list), "mine\tall of it\n");

  ASSERT_EQ(write("ours").status, 0);
  const std::string ours = directory.path() + "/ours/mrope.cl";
  const std::string text = testing::read_file(ours);
  directory.file("ours/mrope.cl", "of an earlier release");
  EXPECT_EQ(write("ours").status, 0);
  EXPECT_EQ(testing::read_file(ours), text);
  std::filesystem::remove(ours);
  std::filesystem::create_symlink(mine, ours);
  EXPECT_EQ(write("ours").status, 2);
  EXPECT_EQ(testing::read_file(mine), "mine");
}

}  // namespace
}  // namespace preflight
