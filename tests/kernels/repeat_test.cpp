// No kernel depends on the order in which work-groups run: the same case twice gives the same bits.
#include "preflight/kernel.h"
#include "src/kernels/kernel_run.h"
#include "tests/kernels/device.h"

namespace preflight {
namespace {

TEST(Repeat, GivesTheSameBitsForEveryKernel) {
  PREFLIGHT_NEEDS_DEVICE();
  opencl::Session session({});
  for (const char* line :
       {"mla_decode --kv-splits 4 --cache-seqlens 320,257,1",
        "paged_decode --heads 32 --kv-heads 8 --kv-splits 4 --cache-seqlens 1,64,320,257",
        "local_decode --heads 8 --kv-heads 2 --chunk 128 --cache-seqlens 129,200", "merge_state --tokens 64 --heads 16",
        "gated_delta_step --heads 4 --v-heads 8 --l2norm --query-lens 9,1",
        "gated_delta_chunk --heads 2 --v-heads 4 --head-dim 64 --l2norm --query-lens 130,1",
        "mrope --tokens 65 --heads 16 --kv-heads 4 --head-dim 256 --rotary 64 --sections 11,11,10",
        "page_table --cache-seqlens 130,200,65", "kv_indices --cache-seqlens 130,200,65"}) {
    SCOPED_TRACE(line);
    const auto kernel_case = parse_case(line);
    ASSERT_TRUE(kernel_case.has_value());
    const Kernel& kernel = *find_kernel(kernel_case->kernel);
    const auto batch = kernel.sample(*kernel_case);
    std::vector<Tensor> first;
    for (int i = 0; i < 2; ++i) {
      KernelRun run(session, kernel, *batch, {});
      kernel.launch(run, *batch);
      run.finish();
      const std::vector<Tensor> outputs = run.outputs();
      if (i == 0) first = outputs;
      for (std::size_t o = 0; o < outputs.size(); ++o) EXPECT_EQ(outputs[o].bytes, first[o].bytes) << outputs[o].name;
    }
  }
}

}  // namespace
}  // namespace preflight
