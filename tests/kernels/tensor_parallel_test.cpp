// Sharding of decode attention and of linear layers: what a rank holds, and that the ranks' outputs together are the
// whole batch's.
#include "src/kernels/tensor_parallel.h"

#include <algorithm>

#include "preflight/kernel.h"
#include "preflight/reference.h"
#include "tests/kernels/device.h"

namespace preflight {
namespace {

SampleBatch batch_of(std::string_view line) {
  const auto kernel_case = parse_case(line);
  EXPECT_TRUE(kernel_case.has_value()) << line;
  return *find_kernel(kernel_case->kernel)->sample(*kernel_case);
}

// The reference's values of this name in the tensor's type; where they are equal to the tensor's, so are the bits.
Tensor rounded(const Tensor& like, const std::vector<Expected>& expected) {
  Tensor tensor = like;
  const auto found = std::ranges::find(expected, like.name, &Expected::name);
  EXPECT_NE(found, expected.end()) << like.name;
  EXPECT_EQ(static_cast<std::int64_t>(found->values.size()), tensor.count()) << like.name;
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, found->values[static_cast<std::size_t>(i)]);
  return tensor;
}

TEST(TensorParallel, HeadsThatDoNotDivideAreRefused) {
  EXPECT_EQ(tensor_parallel::why_not(*parse_case("mla_decode --heads 16 --tp 3")),
            "16 query heads do not divide over 3 ranks");
  EXPECT_EQ(tensor_parallel::why_not(*parse_case("paged_decode --heads 24 --kv-heads 6 --tp 4")),
            "6 KV heads neither divide over 4 ranks nor repeat on them");
  EXPECT_EQ(tensor_parallel::why_not(*parse_case("paged_decode --heads 24 --kv-heads 6 --tp 12")), "");
  EXPECT_EQ(tensor_parallel::why_not(*parse_case("gated_delta_step --heads 16 --v-heads 32 --tp 3 --query-lens 1")),
            "16 key heads do not divide over 3 ranks");
  EXPECT_EQ(tensor_parallel::why_not(*parse_case("gated_delta_step --heads 16 --v-heads 24 --tp 16 --query-lens 1")),
            "24 value heads do not divide over 16 ranks");
  EXPECT_EQ(tensor_parallel::why_not(*parse_case("gated_delta_chunk --heads 16 --tp 16 --query-lens 1")), "");
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

TEST(TensorParallel, AValueHeadTakesItsGatesAndItsStateAlong) {
  const SampleBatch whole = batch_of("gated_delta_step --heads 4 --v-heads 8 --head-dim 8 --tp 2 --query-lens 3,1");
  const SampleBatch part = tensor_parallel::shard(whole, 1);
  EXPECT_EQ(part.kernel_case.num_q_heads, 2);
  EXPECT_EQ(part.kernel_case.num_v_heads, 4);
  EXPECT_EQ(part.input("k").get(0), whole.input("k").get(std::int64_t{2 * 8}));
  EXPECT_EQ(part.input("v").get(0), whole.input("v").get(std::int64_t{4 * 8}));
  EXPECT_EQ(part.input("a").get(4), whole.input("a").get(8 + 4));  // of the second token
  EXPECT_EQ(part.input("a_log").get(0), whole.input("a_log").get(4));
  const std::int64_t head = 8 * 8;
  EXPECT_EQ(part.input("state").get(2 * 4 * head), whole.input("state").get((2 * 8 + 4) * head));
  EXPECT_EQ(part.input("state_indices").bytes, whole.input("state_indices").bytes);
  EXPECT_EQ(part.in_place, whole.in_place);
}

// Of the planted mistake, too, query and key heads stay where they belong.
TEST(TensorParallel, OnlyValueHeadsAreDealtOutInTurn) {
  const SampleBatch whole = batch_of("gated_delta_step --heads 4 --v-heads 8 --head-dim 8 --tp 2 --query-lens 3,1");
  const SampleBatch part = tensor_parallel::shard(whole, 1, 401);
  EXPECT_EQ(part.input("k").bytes, tensor_parallel::shard(whole, 1).input("k").bytes);
  for (std::int64_t h = 0; h < 4; ++h) {
    EXPECT_EQ(part.input("v").get(h * 8), whole.input("v").get((1 + 2 * h) * 8));
    EXPECT_EQ(part.input("a_log").get(h), whole.input("a_log").get(1 + 2 * h));
  }
}

// What the ranks' references give, put together; `defect` is planted into the dealing out and the gathering.
std::vector<Tensor> gathered_references(const SampleBatch& whole, int defect) {
  const Kernel& kernel = *find_kernel(whole.kernel_case.kernel);
  std::vector<Tensor> gathered;
  for (std::int64_t rank = 0; rank < whole.kernel_case.tp; ++rank) {
    const SampleBatch part = tensor_parallel::shard(whole, rank, defect);
    std::vector<Tensor> outputs;
    for (const OutputSpec& spec : part.outputs) outputs.emplace_back(spec.name, spec.dtype, spec.shape);
    for (const std::string& name : part.in_place) outputs.push_back(part.input(name));
    const auto expected = kernel.reference(part);
    for (Tensor& output : outputs) output = rounded(output, expected);
    tensor_parallel::gather(whole, rank, outputs, gathered, defect);
  }
  return gathered;
}

// The references' outputs of the shards, gathered, are the reference of the whole: no device is needed to know.
TEST(TensorParallel, GatheredReferencesOfTheRanksAreTheWholesReference) {
  for (const char* line :
       {"mla_decode --heads 6 --latent 32 --rope 16 --tp 3 --cache-seqlens 5,70",
        "paged_decode --heads 8 --kv-heads 2 --head-dim 16 --sinks --tp 4 --cache-seqlens 5,70",
        "local_decode --heads 8 --kv-heads 4 --head-dim 16 --chunk 64 --tp 2 --cache-seqlens 5,70",
        "gated_delta_step --heads 4 --v-heads 12 --head-dim 16 --l2norm --tp 2 --query-lens 5,1,2 --padded 1",
        "gated_delta_step --heads 3 --head-dim 16 --tp 3 --query-lens 5",
        "gated_delta_chunk --heads 4 --v-heads 8 --head-dim 16 --l2norm --tp 4 --query-lens 65,3"}) {
    SCOPED_TRACE(line);
    const SampleBatch whole = batch_of(line);
    const std::vector<Tensor> gathered = gathered_references(whole, 0);
    const auto want = find_kernel(whole.kernel_case.kernel)->reference(whole);
    ASSERT_EQ(gathered.size(), whole.outputs.size() + whole.in_place.size());
    for (const Tensor& output : gathered) EXPECT_EQ(rounded(output, want).bytes, output.bytes) << output.name;
  }
}

// Value heads dealt out in turn find other key heads on their ranks than they belong to.
TEST(TensorParallel, HeadsDealtOutWronglyDoNotGatherToTheWhole) {
  for (const char* line : {"gated_delta_step --heads 4 --v-heads 8 --head-dim 16 --tp 2 --query-lens 5,1",
                           "gated_delta_chunk --heads 4 --v-heads 8 --head-dim 16 --tp 2 --query-lens 65,1"}) {
    const SampleBatch whole = batch_of(line);
    const auto want = find_kernel(whole.kernel_case.kernel)->reference(whole);
    for (const Tensor& output : gathered_references(whole, 401)) {
      // What a gate sums up has no key in it.
      const bool differs = rounded(output, want).bytes != output.bytes;
      EXPECT_EQ(differs, output.name != "gate_sums") << line << " " << output.name;
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
