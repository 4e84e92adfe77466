// No kernel depends on the order in which work-groups run: the same case twice gives the same bits.
#include <sstream>
#include <string>
#include <vector>

#include "preflight/kernel.h"
#include "src/kernels/kernel_run.h"
#include "tests/kernels/device.h"
#include "tests/kernels/kernel_lines.h"

namespace preflight {
namespace {

void expect_the_same_bits(opencl::Session& session, const std::string& line, const RunOptions& options) {
  SCOPED_TRACE(line);
  const auto kernel_case = parse_case(line);
  ASSERT_TRUE(kernel_case.has_value());
  const Kernel& kernel = *find_kernel(kernel_case->kernel);
  const auto batch = kernel.sample(*kernel_case);
  std::vector<Tensor> first;
  for (int i = 0; i < 3; ++i) {
    KernelRun run(session, kernel, *batch, options);
    kernel.launch(run, *batch);
    run.finish();
    const std::vector<Tensor> outputs = run.outputs();
    if (i == 0) first = outputs;
    for (std::size_t o = 0; o < outputs.size(); ++o) EXPECT_EQ(outputs[o].bytes, first[o].bytes) << outputs[o].name;
  }
}

TEST(Repeat, GivesTheSameBitsForEveryKernel) {
  PREFLIGHT_NEEDS_DEVICE();
  opencl::Session session({});
  for (const Kernel& kernel : kernel_table()) {
    std::istringstream lines(testing::kernel_lines(kernel.name, "repeat"));
    for (std::string line; std::getline(lines, line);) expect_the_same_bits(session, line, {});
  }
}

// As a GPU builds them: many items to a group, which agree through local memory; several sub-groups on the dims of one
// row, several groups on one request.
struct GpuForm {
  const char* name;
  const char* marked;  // by this build option
  const char* type;    // that takes it
  RunOptions options;
};

class RepeatAsAGpu : public ::testing::TestWithParam<GpuForm> {};

TEST_P(RepeatAsAGpu, GivesTheSameBitsForDecode) {
  PREFLIGHT_NEEDS_DEVICE();
  opencl::Session session({});
  const GpuForm& form = GetParam();
  for (const char* rest :
       {"mla_decode --heads 20 --latent 128 --rope 64 --page 16 --kv-splits 4 --cache-seqlens 320,257,1",
        "paged_decode --heads 16 --kv-heads 4 --head-dim 64 --kv-splits 4 --sinks --cache-seqlens 1,64,320,257",
        "local_decode --heads 8 --kv-heads 2 --head-dim 64 --chunk 128 --cache-seqlens 129,200"}) {
    const std::string line = std::string(rest) + " --dtype " + form.type;
    const auto kernel_case = parse_case(line);
    ASSERT_TRUE(kernel_case.has_value()) << line;
    const Kernel& kernel = *find_kernel(kernel_case->kernel);
    const auto batch = kernel.sample(*kernel_case);
    const KernelRun run(session, kernel, *batch, form.options);
    const std::string options = kernel.build_options(*kernel_case, run.device());
    ASSERT_NE(options.find(form.marked), std::string::npos) << line << ": " << options;
    expect_the_same_bits(session, line, form.options);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, RepeatAsAGpu,
    ::testing::Values(GpuForm{"Blocks", "-DBLOCKS=1", "fp32", {.as_gpu = true}},
                      GpuForm{"PlainTiles", "-DTILE_BODY=1", "bf16", {.as_gpu = true, .plain_tiles = true}},
                      GpuForm{"SixteenLanes", "-DTILE_LANES=16", "bf16", {.as_gpu = true, .emulated_lanes = 16}},
                      GpuForm{"EightLanes", "-DTILE_LANES=8", "bf16", {.as_gpu = true, .emulated_lanes = 8}}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace preflight
