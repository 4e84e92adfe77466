// What can go wrong with an OpenCL device, through the program itself: each fault has a name and an exit status, and
// none is a pass. The faults come from a driver that fails on demand (tests/fake_opencl); no device is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "preflight/kernel_run.h"
#include "src/kernels/wire.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

const Words kLaunch = {"--", "--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "intel_xpu", "--page-size",
                       "64"};
constexpr const char* kCase = "paged_decode --heads 8 --kv-heads 2 --cache-seqlens 65";

Words check_with(Words options) {
  options.insert(options.begin(), "check");
  options.insert(options.end(), kLaunch.begin(), kLaunch.end());
  return options;
}

Words driver_with(const std::string& fault) {
  return {"LD_LIBRARY_PATH=" + fake_opencl_directory(), "FAKE_OPENCL=" + fault};
}

ToolRun check_under(const std::string& fault, const Words& options) {
  return run_tool(check_with(options), {}, driver_with(fault));
}

// The kind of the report's first device error, of the device as a whole or of a case.
std::string error_kind(const json& report) {
  const json& kernel = report["kernel"];
  if (kernel.contains("error")) return kernel["error"]["kind"];
  for (const json& c : kernel.value("cases", json::array())) {
    if (c.contains("error")) return c["error"]["kind"];
  }
  return "none";
}

struct Fault {
  std::string name;     // of tests/fake_opencl
  std::string kind;     // error kind in the report, and its verdict's word
  std::string verdict;  // of the kernel
  int status;           // exit status when a device was asked for
};

void PrintTo(const Fault& fault, std::ostream* os) { *os << fault.name; }

class DeviceFault : public ::testing::TestWithParam<Fault> {
 protected:
  // What hangs at its end has to come there first, on a busy machine too.
  static std::string timeout() {
    return GetParam().name == "hang-in-close" ? "8" : GetParam().name.starts_with("hang") ? "1" : "60";
  }
};

TEST_P(DeviceFault, HasItsOwnVerdictAndStatusAndIsNeverAPass) {
  const ToolRun run =
      check_under(GetParam().name, {"--format", "json", "--opencl-device", "Fake", "--kernel-timeout", timeout()});
  EXPECT_EQ(run.status, GetParam().status) << run.out << run.err;
  const json report = json::parse(run.out);
  EXPECT_EQ(report["exit_status"], run.status);
  EXPECT_EQ(error_kind(report), GetParam().kind) << report["kernel"].dump(2);
  EXPECT_EQ(report["kernel"]["verdict"], GetParam().verdict) << report["kernel"].dump(2);
  // Where cases were judged before the driver failed, what they got wrong weighs more.
  EXPECT_EQ(report["verdict"], GetParam().status == 4 ? "kernel-failed" : GetParam().kind);
  for (const json& c : report["kernel"].value("cases", json::array())) EXPECT_NE(c["verdict"], "pass") << c;
}

TEST_P(DeviceFault, IsNamedWhereTheKernelsReportBeginsAndWhereTheWholeEnds) {
  const ToolRun run = check_under(GetParam().name, {"--opencl-device", "Fake", "--kernel-timeout", timeout()});
  EXPECT_EQ(run.status, GetParam().status) << run.out << run.err;
  const bool wrong = GetParam().status == 4;
  EXPECT_THAT(run.out, HasSubstr("\nKernel: " + (wrong ? "wrong" : GetParam().kind) + "\n"));
  EXPECT_THAT(run.out, HasSubstr("\n" + (wrong ? "kernel-failed" : GetParam().kind) + ": 0 errors"));
}

TEST_P(DeviceFault, EndsABatchAndOneCaseInTheSameWay) {
  const std::string line = R"({"id": 1, "args": ["--model-path", "Qwen/Qwen3-0.6B", "--page-size", "64"]})";
  const ToolRun batch =
      run_tool({"check", "--kernel", "--opencl-device", "Fake", "--kernel-timeout", timeout(), "--batch", "-"}, line,
               driver_with(GetParam().name));
  EXPECT_EQ(batch.status, GetParam().status) << batch.out << batch.err;
  EXPECT_EQ(json::parse(batch.out)["verdict"], GetParam().status == 4 ? "kernel-failed" : GetParam().kind);
  const ToolRun one =
      run_tool({"check", "--kernel-timeout", timeout(), "--case", kCase}, {}, driver_with(GetParam().name));
  EXPECT_EQ(one.status, GetParam().status) << one.out << one.err;
}

INSTANTIATE_TEST_SUITE_P(
    OfADriver, DeviceFault,
    ::testing::Values(
        // No device.
        Fault{"no-platform", "no-device", "skipped", 5}, Fault{"no-device", "no-device", "skipped", 5},
        // A device that says no.
        Fault{"busy-device", "device-lost", "error", 6}, Fault{"small-memory", "out-of-memory", "error", 6},
        Fault{"out-of-memory", "out-of-memory", "error", 6}, Fault{"late-out-of-memory", "out-of-memory", "error", 6},
        Fault{"build-failure", "build-failure", "error", 6}, Fault{"launch-failure", "device-lost", "error", 6},
        Fault{"device-lost", "device-lost", "error", 6}, Fault{"dead-queue", "device-lost", "error", 6},
        Fault{"odd-error", "internal", "error", 6},
        // A driver that takes its process along, at any point.
        Fault{"abort-in-open", "crashed", "error", 6}, Fault{"abort-in-build", "crashed", "error", 6},
        Fault{"abort-in-launch", "crashed", "error", 6}, Fault{"exit-in-build", "crashed", "error", 6},
        Fault{"abort-in-close", "crashed", "error", 4}, Fault{"killed-in-finish", "killed", "error", 6},
        // One that never answers.
        Fault{"hang-in-open", "timed-out", "error", 6}, Fault{"hang-in-build", "timed-out", "error", 6},
        Fault{"hang-in-finish", "timed-out", "error", 6}, Fault{"hang-in-close", "timed-out", "error", 4},
        // One that returns what it did not compute.
        Fault{"wrong-results", "none", "fail", 4}, Fault{"idle-kernels", "none", "fail", 4},
        Fault{"stray-writes", "none", "fail", 4}),
    [](const ::testing::TestParamInfo<Fault>& row) {
      std::string name = row.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(DeviceFaults, TheKernelProcessHasNoPrivilegesAndABoundOfMemory) {
  const ToolRun run =
      run_tool({"check", "--opencl-device", "Fake", "--case", kCase}, {}, driver_with("say-privileges-in-launch"));
  EXPECT_EQ(run.status, 6) << run.err;
  const std::string said = run.out + run.err;
  EXPECT_THAT(said, HasSubstr("NoNewPrivs: 1"));
  EXPECT_THAT(said, HasSubstr("CapPrm: 0000000000000000"));
  EXPECT_THAT(said, HasSubstr("CapEff: 0000000000000000"));
#ifndef PREFLIGHT_SANITIZED
  EXPECT_THAT(said, HasSubstr("data limited"));
#endif
}

// All cores for as long as an answer may take and a quarter more, once more for each answer; see ProcessorTime.
TEST(DeviceFaults, TheProcessorTimeOfTheKernelProcessFollowsFromItsTimeout) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  for (const unsigned seconds : {8U, 80U}) {
    const ToolRun run =
        run_tool({"check", "--opencl-device", "Fake", "--kernel-timeout", std::to_string(seconds), "--case", kCase}, {},
                 driver_with("say-privileges-in-launch"));
    const std::string said = run.out + run.err;
    const auto at = said.find("processor time ");
    ASSERT_NE(at, std::string::npos) << said;
    long soft = 0;
    long hard = 0;
    ASSERT_EQ(std::sscanf(said.c_str() + at, "processor time %ld of %ld s", &soft, &hard), 2) << said;
    const long each = 10L * seconds / 8 * cores;
    EXPECT_GE(soft, each);
    EXPECT_LE(soft, each + 5);
    EXPECT_GT(hard, soft);
    EXPECT_LE(hard, 3 * (each + 2));
  }
}

// What the shell leaves it stays, and what it leaves of a hard limit is told before the system kills.
TEST(DeviceFaults, AKernelProcessThatSpinsEndsAtItsProcessorTime) {
  for (const char* limit : {"ulimit -S -t 1", "ulimit -t 3"}) {
    const ToolRun run = run_command_line(fmt::format(
        "{}; export LD_LIBRARY_PATH={} FAKE_OPENCL=spin-in-finish; xpu-preflight check --opencl-device Fake "
        "--case '{}'",
        limit, fake_opencl_directory(), kCase));
    EXPECT_EQ(run.status, 6) << run.out << run.err;
    EXPECT_THAT(run.out + run.err, HasSubstr("used up its processor time while running paged_decode")) << limit;
    EXPECT_THAT(run.out + run.err, HasSubstr("--kernel-timeout SECONDS gives it longer"));
  }
}

// Nobody watches it here: the limit that it sets itself is the only one.
TEST(DeviceFaults, AKernelProcessThatNobodyWatchesEndsToo) {
  const std::string request = wire::print({.cases = {kCase}, .device = {"Fake"}, .seconds = 0.01});
  const TemporaryDirectory dir;
  const ToolRun run = run_command_line(
      fmt::format("export LD_LIBRARY_PATH={} FAKE_OPENCL=spin-in-finish; exec timeout 120 xpu-preflight {} <{} 3>{}",
                  fake_opencl_directory(), kKernelProcess, dir.file("request", request), dir.file("answers", "")));
  EXPECT_EQ(run.status, 128 + SIGXCPU) << run.err;
  EXPECT_THAT(read_file(dir.path() + "/answers"), HasSubstr("Fake device"));
}

TEST(DeviceFaults, NoLoaderIsSaidWithTheWayOut) {
  const TemporaryDirectory dir;
  dir.file("libOpenCL.so.1", "not a library");
  dir.file("libOpenCL.so", "not a library");
  const Words env = {"LD_LIBRARY_PATH=" + dir.path()};
  const ToolRun asked = run_tool(check_with({"--opencl-device", "0", "--format", "json"}), {}, env);
  EXPECT_EQ(asked.status, 5) << asked.out << asked.err;
  EXPECT_EQ(error_kind(json::parse(asked.out)), "no-loader");
  EXPECT_EQ(json::parse(asked.out)["verdict"], "no-loader");
  EXPECT_EQ(run_tool({"check", "--case", kCase}, {}, env).status, 5);
  EXPECT_EQ(run_tool({"check", "--list-devices"}, {}, env).status, 5);
  const ToolRun not_asked = run_tool(check_with({}), {}, env);
  EXPECT_EQ(not_asked.status, 0);
  EXPECT_THAT(not_asked.out, HasSubstr("not run (no-loader): no OpenCL loader"));
  EXPECT_THAT(not_asked.out, HasSubstr("ocl-icd-libopencl1"));
  EXPECT_THAT(not_asked.out, Not(HasSubstr("pass")));
}

TEST(DeviceFaults, ALoaderWithoutDriversIsNoDevice) {
  if (void* loader = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL); loader == nullptr) {
    GTEST_SKIP() << "no OpenCL loader on this machine";
  }
  const TemporaryDirectory empty;
  const Words env = {"OCL_ICD_VENDORS=" + empty.path(), "OPENCL_VENDOR_PATH=" + empty.path()};
  const ToolRun run = run_tool({"check", "--list-devices"}, {}, env);
  EXPECT_EQ(run.status, 5) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("finds no device"));
}

TEST(DeviceFaults, AnUnknownDeviceNamesTheKnownOnes) {
  const ToolRun run = check_under("", {"--opencl-device", "no such device", "--format", "json"});
  EXPECT_EQ(run.status, 5) << run.out << run.err;
  EXPECT_EQ(error_kind(json::parse(run.out)), "unknown-device");
  EXPECT_EQ(json::parse(run.out)["verdict"], "unknown-device");
  EXPECT_THAT(run.out, HasSubstr("Fake device"));
}

TEST(DeviceFaults, AFailedBuildShowsTheCompilersLogOnceForEachKernel) {
  const ToolRun run = check_under("build-failure", {});
  const std::string log = "this compiler refuses everything";
  EXPECT_EQ(run.status, 6);
  std::size_t shown = 0;
  for (auto at = run.out.find(log); at != std::string::npos; at = run.out.find(log, at + 1)) ++shown;
  EXPECT_EQ(shown, 2U) << run.out;  // the launch runs paged_decode on seven cases and page_table on one
}

TEST(DeviceFaults, ACrashShowsTheDriversLastWordsAndTheCaseItHappenedIn) {
  const ToolRun run = check_under("abort-in-launch", {});
  EXPECT_EQ(run.status, 6);
  EXPECT_THAT(run.out, HasSubstr("fake driver: assertion failed"));
  EXPECT_THAT(run.out, HasSubstr("signal 6"));
  EXPECT_THAT(run.out, HasSubstr("0 of 8 cases pass, 7 not run"));
  EXPECT_THAT(run.err, Not(HasSubstr("assertion")));
}

TEST(DeviceFaults, TheDeviceListEndsInTheSameWay) {
  const auto status = [](const std::string& fault) {
    return run_tool({"check", "--list-devices", "--kernel-timeout", "1"}, {}, driver_with(fault)).status;
  };
  EXPECT_EQ(status(""), 0);
  EXPECT_EQ(status("no-platform"), 5);
  EXPECT_EQ(status("abort-in-open"), 6);
  EXPECT_EQ(status("hang-in-open"), 6);
}

// A device that fails says nothing of a defect: no row of the table is made of that.
TEST(DeviceFaults, NoDefectIsMeasuredByADeviceThatFails) {
  for (const char* fault : {"out-of-memory", "build-failure", "abort-in-launch"}) {
    const ToolRun run = run_tool({"defects", "--measure", "--opencl-device", "Fake"}, {}, driver_with(fault));
    EXPECT_EQ(run.status, 6) << fault;
    EXPECT_EQ(run.out, "") << fault;
    EXPECT_THAT(run.err, Not(HasSubstr("| 10 |"))) << fault;
  }
}

// A gate wants a kernel that ran: what kept it from running is then a failure of its own kind.
TEST(DeviceFaults, AKernelThatDidNotRunFailsWhereItIsRequired) {
  const auto check = [](const Words& options, const std::string& fault) {
    return run_tool(check_with(options), {}, driver_with(fault));
  };
  EXPECT_EQ(check({}, "no-platform").status, 0);
  const ToolRun required = check({"--require-kernel", "--format", "json"}, "no-platform");
  EXPECT_EQ(required.status, 5) << required.out;
  EXPECT_EQ(json::parse(required.out)["verdict"], "no-device");
  EXPECT_EQ(check({"--require-kernel"}, "out-of-memory").status, 6);
  EXPECT_EQ(check({"--require-kernel", "--no-kernel"}, "").status, 2);
  const std::string line = R"({"id": 1, "args": ["--model-path", "Qwen/Qwen3-0.6B", "--page-size", "64"]})";
  EXPECT_EQ(run_tool({"check", "--require-kernel", "--batch", "-"}, line, driver_with("no-platform")).status, 5);
  EXPECT_EQ(run_tool({"check", "--kernel", "--batch", "-"}, line, driver_with("no-platform")).status, 0);
}

TEST(DeviceFaults, AKernelProcessThatCannotBeStartedIsAnError) {
  const auto kernel_case = parse_case(kCase);
  const KernelReport report = run_cases_apart({*kernel_case}, {}, {}, {.program = "/no/such/program"});
  ASSERT_TRUE(report.error.has_value());
  EXPECT_THAT(report.error->message, HasSubstr("/no/such/program"));
  EXPECT_EQ(report.worst(), VerdictWord::kError);
}

TEST(DeviceFaults, AProgramThatAnswersNonsenseIsAnError) {
  const TemporaryDirectory dir;
  const std::string program = dir.file("nonsense", "#!/bin/sh\necho 'all cases pass' >&3\n");
  ASSERT_EQ(std::system(("chmod +x " + program).c_str()), 0);
  const KernelReport report = run_cases_apart({*parse_case(kCase)}, {}, {}, {.program = program});
  ASSERT_TRUE(report.error.has_value());
  EXPECT_THAT(report.error->message, HasSubstr("unreadable answer"));
}

}  // namespace
}  // namespace preflight::testing
