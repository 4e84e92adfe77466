// Sharding of decode attention: what a rank holds, and that the ranks' outputs together are the whole batch's.
#include "src/kernels/tensor_parallel.h"

#include "preflight/kernel.h"
#include "tests/kernels/device.h"

namespace preflight {
namespace {

SampleBatch batch_of(std::string_view line) {
  const auto kernel_case = parse_case(line);
  EXPECT_TRUE(kernel_case.has_value()) << line;
  return *find_kernel(kernel_case->kernel)->sample(*kernel_case);
}

TEST(TensorParallel, HeadsThatDoNotDivideAreRefused) {
  EXPECT_EQ(tensor_parallel::why_not(*parse_case("mla_decode --heads 16 --tp 3")),
            "16 query heads do not divide over 3 ranks");
  EXPECT_EQ(tensor_parallel::why_not(*parse_case("paged_decode --heads 24 --kv-heads 6 --tp 4")),
            "6 KV heads neither divide over 4 ranks nor repeat on them");
  EXPECT_EQ(tensor_parallel::why_not(*parse_case("paged_decode --heads 24 --kv-heads 6 --tp 12")), "");
}

TEST(TensorParallel, NeighbouringRanksShareAReplicatedHead) {
  const SampleBatch whole = batch_of("paged_decode --heads 8 --kv-heads 2 --head-dim 16 --tp 4 --cache-seqlens 70");
  for (const std::int64_t rank : {0, 1, 2, 3}) {
    const SampleBatch part = tensor_parallel::shard(whole, rank);
    EXPECT_EQ(part.kernel_case.num_q_heads, 2);
    EXPECT_EQ(part.kernel_case.num_kv_heads, 1);
    EXPECT_EQ(part.input("q").get(0), whole.input("q").get(rank * 2 * 16));
    const std::int64_t row = whole.input("page_table").get_int(0) * 64;
    EXPECT_EQ(part.input("k_cache").get(row * 16), whole.input("k_cache").get((row * 2 + rank / 2) * 16));
  }
}

// The references' outputs of the shards, gathered, are the reference of the whole: no device is needed to know.
TEST(TensorParallel, GatheredReferencesOfTheRanksAreTheWholesReference) {
  for (const char* line :
       {"mla_decode --heads 6 --latent 32 --rope 16 --tp 3 --cache-seqlens 5,70",
        "paged_decode --heads 8 --kv-heads 2 --head-dim 16 --sinks --tp 4 --cache-seqlens 5,70",
        "local_decode --heads 8 --kv-heads 4 --head-dim 16 --chunk 64 --tp 2 --cache-seqlens 5,70"}) {
    SCOPED_TRACE(line);
    const SampleBatch whole = batch_of(line);
    const Kernel& kernel = *find_kernel(whole.kernel_case.kernel);
    std::vector<Tensor> gathered;
    for (std::int64_t rank = 0; rank < whole.kernel_case.tp; ++rank) {
      const SampleBatch part = tensor_parallel::shard(whole, rank);
      std::vector<Tensor> outputs;
      for (const OutputSpec& spec : part.outputs) {
        Tensor output(spec.name, spec.dtype, spec.shape);
        const auto values = kernel.reference(part)[outputs.size()].values;
        for (std::size_t i = 0; i < values.size(); ++i) output.set(static_cast<std::int64_t>(i), values[i]);
        outputs.push_back(std::move(output));
      }
      tensor_parallel::gather(whole, rank, outputs, gathered);
    }
    const auto want = kernel.reference(whole);
    ASSERT_EQ(gathered.size(), want.size());
    for (std::size_t o = 0; o < want.size(); ++o) {
      Tensor rounded(gathered[o].name, gathered[o].dtype, gathered[o].shape);
      for (std::size_t i = 0; i < want[o].values.size(); ++i) {
        rounded.set(static_cast<std::int64_t>(i), want[o].values[i]);
      }
      EXPECT_EQ(rounded.bytes, gathered[o].bytes) << want[o].name;
    }
  }
}

TEST(TensorParallel, ACaseThatDoesNotDivideIsSkippedWithTheReason) {
  PREFLIGHT_NEEDS_DEVICE();
  const auto report = run_case("paged_decode --heads 8 --kv-heads 2 --tp 3 --cache-seqlens 5", {}, {});
  EXPECT_EQ(report->worst(), VerdictWord::kSkipped);
  EXPECT_EQ(report->cases.front().verdict.reason, "8 query heads do not divide over 3 ranks");
}

}  // namespace
}  // namespace preflight
