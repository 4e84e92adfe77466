// Every case line of every kernel, on whatever OpenCL device there is.
#include "tests/kernels/device.h"
#include "tests/kernels/far_pages.h"
#include "tests/kernels/kernel_lines.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "preflight/kernel.h"
#include "preflight/reference.h"
#include "src/plan/planners.h"

namespace preflight {
namespace {

class KernelCases : public ::testing::TestWithParam<std::string_view> {};

TEST_P(KernelCases, AllPassOnThisDevice) {
  PREFLIGHT_NEEDS_DEVICE();
  const auto cases = built_in_cases(GetParam());
  ASSERT_TRUE(cases.has_value()) << cases.error().text();
  // Timed, because what is not timed is compiled without the optimiser on a CPU: both must be right.
  const KernelReport report = run_cases(*cases, {}, {.repeat = 1});
  ASSERT_FALSE(report.error.has_value()) << report.error->message;
  for (const CaseReport& c : report.cases) {
    EXPECT_EQ(name_of(c.verdict.word), "pass") << c.case_line << "\n  " << c.verdict.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelCases, ::testing::ValuesIn(kernel_names()),
                         [](const auto& row) { return std::string(row.param); });

// A CPU would never take the paths of a GPU: tile products where numbers have 16 bits, else many items to a group.
TEST(DecodeKernels, PassWithWorkGroupsChosenAsForAGpu) {
  PREFLIGHT_NEEDS_DEVICE();
  for (const char* line :
       {"mla_decode --kv-splits 4 --cache-seqlens 320,257,1", "mla_decode --heads 3 --cache-seqlens 0,65,129",
        "mla_decode --heads 70 --inputs drift --cache-seqlens 130",
        "mla_decode --dtype fp16 --heads 20 --latent 256 --rope 32 --page 16 --inputs drift --cache-seqlens 65,33",
        "mla_decode --dtype fp32 --heads 9 --kv-splits 2 --inputs drift --cache-seqlens 300,65",
        "paged_decode --heads 32 --kv-heads 8 --kv-splits 3 --cache-seqlens 1,64,320,257",
        "paged_decode --heads 6 --kv-heads 2 --window 31 --softcap 3 --sinks --cache-seqlens 0,65,200",
        // One token beside a sink: nothing averages out what the product's 16 bits round away.
        "paged_decode --heads 16 --kv-heads 4 --head-dim 64 --scale 0.0883883461 --sinks --cache-seqlens 1",
        "paged_decode --heads 40 --kv-heads 1 --head-dim 96 --v-head-dim 64 --page 1 --kv-splits 2 --cache-seqlens "
        "37,64",
        "paged_decode --heads 8 --kv-heads 2 --kv-dtype fp8_e4m3 --k-scale 0.75 --v-scale 0.35 --cache-seqlens 65,130",
        "paged_decode --heads 8 --kv-heads 1 --head-dim 512 --dtype fp16 --inputs drift --cache-seqlens 65,130",
        // Of so many rows some cancel, and weights of 16 bits are off by what they add up.
        "paged_decode --heads 1 --kv-heads 1 --head-dim 16 --page 1 --cache-seqlens 2x40000,1x26000"}) {
    for (const bool tiles : {false, true}) {
      const auto report = run_case(line, {}, {.as_gpu = true, .plain_tiles = tiles});
      ASSERT_TRUE(report.has_value()) << report.error().text();
      EXPECT_EQ(name_of(report->worst()), "pass")
          << line << (tiles ? " (tiles)" : "") << "\n  " << report->cases.front().verdict.reason;
    }
  }
}

// What `check` runs of small launches, with many items to a work-group: on a CPU there is one, which waits for nobody.
class KernelCasesAsOnAGpu : public ::testing::TestWithParam<std::string_view> {};

TEST_P(KernelCasesAsOnAGpu, PlannedCasesPass) {
  PREFLIGHT_NEEDS_DEVICE();
  const auto shapes = parse_cases(testing::kernel_lines(GetParam(), "gate"), "gate");
  ASSERT_TRUE(shapes.has_value()) << shapes.error().text();
  std::vector<KernelCase> cases;
  for (const KernelCase& shape : *shapes) {
    const auto some = plan::planned_cases(shape);
    cases.insert(cases.end(), some.begin(), some.end());
  }
  ASSERT_FALSE(cases.empty());
  for (const CaseReport& c : run_cases(cases, {}, {.as_gpu = true}).cases) {
    EXPECT_EQ(name_of(c.verdict.word), "pass") << c.case_line << "\n  " << c.verdict.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelCasesAsOnAGpu, ::testing::ValuesIn(kernel_names()),
                         [](const auto& row) { return std::string(row.param); });

TEST(DecodeKernels, FindRowsBehindTheEndOf32Bits) {
  PREFLIGHT_NEEDS_DEVICE();
  const std::vector<KernelCase> cases = far_pages();
  if (cases.empty()) GTEST_SKIP() << "the device gives no buffer of 2 GiB";
  for (const KernelCase& c : cases) {
    const std::string line = print_case(c);
    for (const RunOptions& form : {RunOptions{.large_cases = true}, RunOptions{.as_gpu = true, .large_cases = true},
                                   RunOptions{.as_gpu = true, .plain_tiles = true, .large_cases = true},
                                   RunOptions{.as_gpu = true, .emulated_lanes = 16, .large_cases = true}}) {
      const auto report = run_case(line, {}, form);
      ASSERT_TRUE(report.has_value()) << report.error().text();
      EXPECT_EQ(name_of(report->worst()), "pass")
          << line << ' ' << form.as_gpu << form.plain_tiles << form.emulated_lanes << "\n  "
          << report->cases.front().verdict.reason;
    }
  }
}

TEST(KernelTable, RowsAreCompleteAndFoundByName) {
  for (const Kernel& kernel : kernel_table()) {
    SCOPED_TRACE(kernel.name);
    EXPECT_EQ(find_kernel(kernel.name), &kernel);
    EXPECT_NE(kernel.why_not, nullptr);
    EXPECT_NE(kernel.sample, nullptr);
    ASSERT_NE(kernel.sample_size, nullptr);
    EXPECT_NE(kernel.build_options, nullptr);
    EXPECT_NE(kernel.launch, nullptr);
    EXPECT_NE(kernel.reference, nullptr);
    EXPECT_NE(kernel.tolerance, nullptr);
    EXPECT_NE(kernel.work, nullptr);
    const auto cases = built_in_cases(kernel.name);
    ASSERT_TRUE(cases.has_value()) << cases.error().text();
    EXPECT_GT(cases->size(), 3U);
    for (const KernelCase& c : *cases) EXPECT_EQ(why_too_large(c, false), "") << print_case(c);
  }
  EXPECT_EQ(find_kernel("none"), nullptr);
  EXPECT_FALSE(built_in_cases("none").has_value());
}

TEST(KernelTable, LatentAttentionTakes128Heads) {
  const Kernel& kernel = *find_kernel("mla_decode");
  EXPECT_EQ(kernel.why_not(*parse_case("mla_decode --heads 128")), "");
  EXPECT_EQ(kernel.why_not(*parse_case("mla_decode --heads 129")), "129 heads, at most 128 are supported");
}

// Of 16,645 indices 261 fit, and 16,384 are what a guard band holds.
TEST(KernelTable, ABufferIsOverrunByNoMoreThanItsGuardBandHolds) {
  const Kernel& kernel = *find_kernel("kv_indices");
  EXPECT_EQ(kernel.why_not(*parse_case("kv_indices --page 64 --sizing page --cache-seqlens 16645")), "");
  EXPECT_EQ(kernel.why_not(*parse_case("kv_indices --page 64 --sizing page --cache-seqlens 16646")),
            "the buffer would be overrun by 65540 bytes, its guard band holds 65536");
}

// A bound that is too small fails sound kernels one day, one that is too large lets wrong ones pass.
TEST(KernelTable, AMergeIsAllowedWhatItsLargestSumExplains) {
  for (const char* inputs : {"mid", "peaked"}) {
    const auto c = parse_case(std::string("merge_state --tokens 200 --heads 16 --head-dim 8 --inputs ") + inputs);
    const auto batch = find_kernel("merge_state")->sample(*c);
    double largest = 0.0;
    for (const char* side : {"s_a", "s_b"}) {
      for (const double s : batch->input(side).to_doubles()) {
        if (std::isfinite(s)) largest = std::max(largest, std::fabs(s));
      }
    }
    const double allowed = find_kernel("merge_state")->tolerance(*c, "lse").abs;
    EXPECT_GE(allowed, lse_tolerance(largest).abs) << inputs;
    EXPECT_LE(allowed, lse_tolerance(1.5 * largest).abs) << inputs;
  }
}

// Kernels' scores are as large as the log-sum-exps that they leave where one token outweighs the others, or all are far
// below zero.
TEST(KernelTable, AScoreIsAllowedWhatItsSizeExplains) {
  for (const char* line :
       {"mla_decode --heads 4", "paged_decode --heads 8 --kv-heads 2",
        "paged_decode --heads 4 --head-dim 64 --scale 0.5", "local_decode --heads 4 --head-dim 64"}) {
    for (const char* inputs : {"peaked", "drift"}) {
      const auto c = parse_case(fmt::format("{} --cache-seqlens 300,129 --inputs {}", line, inputs));
      ASSERT_TRUE(c.has_value()) << c.error().text();
      const Kernel& kernel = *find_kernel(c->kernel);
      const auto expected = kernel.reference(*kernel.sample(*c));
      const auto lse = std::ranges::find(expected, "lse", &Expected::name);
      ASSERT_NE(lse, expected.end());
      double largest = 0.0;
      for (const double sum : lse->values) largest = std::max(largest, std::fabs(sum));
      EXPECT_GE(kernel.tolerance(*c, "lse").abs, lse_tolerance(largest).abs) << print_case(*c);
      EXPECT_LE(kernel.tolerance(*c, "lse").abs, lse_tolerance(2.5 * largest).abs) << print_case(*c);
    }
  }
}

// What an output may be off by is its launcher's word, and no run shows that it is too much: little more than the
// rounding of what is rounded once, what FlashMLA allows of a sum that stays in fp32, nothing of what is copied.
void expect_limit_of(const KernelCase& c, std::string_view name, DType type) {
  SCOPED_TRACE(fmt::format("{} of {} in {}", name, c.kernel, name_of(type)));
  constexpr double kOfSmallNumbers = 2e-5;  // fp32 errors of scores and steps in the regime "mid"
  const Tolerance limit = find_kernel(c.kernel)->tolerance(c, name);
  const bool is_copied = type == DType::kI32 || type == DType::kI64 || (c.kernel == "causal_conv1d" && name == "state");
  const bool is_part = c.kernel == "gated_delta_chunk" && name != "o" && name != "state";
  if (is_copied) {
    EXPECT_EQ(limit.abs, 0.0);
    EXPECT_EQ(limit.rel, 0.0);
  } else if (name == "lse" || is_part) {
    EXPECT_LE(limit.abs, kOfSmallNumbers);
    EXPECT_LE(limit.rel, is_part ? kOfSmallNumbers : lse_tolerance(0.0).rel);
  } else {
    const Tolerance rounded = attention_tolerance(type, 0.0);
    EXPECT_GE(limit.rel_rms, rounded.rel_rms);
    EXPECT_LE(limit.rel_rms, rounded.rel_rms + kOfSmallNumbers);
    EXPECT_EQ(limit.cosine, rounded.cosine);
    EXPECT_LE(limit.bias, rounded.bias + kOfSmallNumbers);
    EXPECT_EQ(limit.bias < 0.0, rounded.bias < 0.0);
    const bool is_few_products = c.kernel == "causal_conv1d" || c.kernel == "mrope";
    EXPECT_EQ(limit.abs >= 0.0, is_few_products) << "values are judged one by one where each is exact by itself";
    EXPECT_LE(limit.abs, kOfSmallNumbers);
    EXPECT_LE(limit.rel, 1.1 * rounded.rel_rms);
  }
}

TEST(KernelTable, AnOutputIsAllowedWhatItsTypeRounds) {
  for (const Kernel& kernel : kernel_table()) {
    for (const DType type : {DType::kBf16, DType::kF16, DType::kF32}) {
      KernelCase c{.kernel = std::string(kernel.name)};
      c.dtype = type;
      c.cache_seqlens = {9};
      c.query_lens = {3};
      const auto batch = kernel.sample(c);
      ASSERT_TRUE(batch.has_value()) << batch.error().text();
      for (const OutputSpec& output : batch->outputs) expect_limit_of(c, output.name, output.dtype);
      for (const std::string& pool : batch->in_place) expect_limit_of(c, pool, batch->input(pool).dtype);
    }
  }
}

// What a timed run is said to have read: each row of the cache that is seen once, queries and outputs.
TEST(KernelTable, BytesAreThoseOfTheRowsThatAreSeen) {
  struct Row {
    const char* line;
    double bytes;
  };
  for (const Row& row :
       {Row{"paged_decode --heads 4 --kv-heads 2 --head-dim 64 --cache-seqlens 10,1", 11 * 512 + 2 * 1024},
        Row{"paged_decode --heads 4 --kv-heads 2 --head-dim 64 --v-head-dim 32 --cache-seqlens 10", 10 * 384 + 768},
        Row{"paged_decode --heads 4 --kv-heads 2 --head-dim 64 --window 3 --cache-seqlens 10", 4 * 512 + 1024},
        Row{"paged_decode --heads 4 --kv-heads 2 --head-dim 64 --kv-dtype fp8_e4m3 --cache-seqlens 10",
            10 * 256 + 1024},
        Row{"mla_decode --heads 4 --latent 64 --rope 16 --cache-seqlens 10,1", 11 * 160 + 2 * 4 * 144 * 2}}) {
    const auto c = parse_case(row.line);
    ASSERT_TRUE(c.has_value()) << c.error().text();
    EXPECT_EQ(find_kernel(c->kernel)->work(*c).bytes, row.bytes) << row.line;
  }
}

// Errors of the state add up over the tokens that it remembers: all new ones, and no more than twice its keys.
TEST(KernelTable, AStateIsAllowedWhatItRemembers) {
  for (const char* kernel : {"gated_delta_step", "gated_delta_chunk"}) {
    const auto allowed = [&](const char* lengths) {
      const auto c = parse_case(fmt::format("{} --dtype fp32 --head-dim 64 --query-lens {}", kernel, lengths));
      return find_kernel(kernel)->tolerance(*c, "state").rel_rms;
    };
    EXPECT_EQ(allowed("1"), delta_tolerance(DType::kF32, 1).rel_rms) << kernel;
    EXPECT_EQ(allowed("3,50"), delta_tolerance(DType::kF32, 50).rel_rms) << kernel;
    EXPECT_EQ(allowed("3000"), delta_tolerance(DType::kF32, 128).rel_rms) << kernel;
  }
}

// Those of every kernel that stand in tests/kernels/lines for the purpose.
std::vector<KernelCase> cases_for(const std::string& purpose) {
  std::vector<KernelCase> cases;
  for (const Kernel& kernel : kernel_table()) {
    const auto some = parse_cases(testing::kernel_lines(kernel.name, purpose), purpose);
    EXPECT_TRUE(some.has_value()) << some.error().text();
    if (some) cases.insert(cases.end(), some->begin(), some->end());
  }
  EXPECT_FALSE(cases.empty()) << purpose;
  return cases;
}

// What is counted before a sample is made is what its tensors then have, but for what does not grow with the case.
TEST(KernelTable, ASampleIsAsLargeAsWasCounted) {
  for (const KernelCase& c : cases_for("bytes")) {
    const auto batch = find_kernel(c.kernel)->sample(c);
    ASSERT_TRUE(batch.has_value()) << batch.error().text();
    double made = 0.0;
    for (const Tensor& input : batch->inputs) made += static_cast<double>(input.bytes.size());
    for (const OutputSpec& output : batch->outputs) {
      double count = 1.0;
      for (const std::int64_t n : output.shape) count *= static_cast<double>(n);
      made += count * static_cast<double>(size_of(output.dtype));
    }
    const double counted = find_kernel(c.kernel)->sample_size(c).bytes;
    EXPECT_GT(counted, 0.9 * made) << print_case(c);
    EXPECT_LT(counted, 1.1 * made) << print_case(c);
  }
}

// And what the reference keeps and multiplies is what it has then, and what the kernel's own count of operations says.
TEST(KernelTable, AReferenceIsAsLargeAsWasCounted) {
  for (const KernelCase& c : cases_for("products")) {
    const Kernel& kernel = *find_kernel(c.kernel);
    const auto batch = kernel.sample(c);
    ASSERT_TRUE(batch.has_value()) << batch.error().text();
    const SampleSize counted = kernel.sample_size(c);
    double kept = 0.0;
    for (const Expected& expected : kernel.reference(*batch)) kept += static_cast<double>(expected.values.size());
    EXPECT_GT(counted.kept, 0.9 * kept) << print_case(c);
    EXPECT_LT(counted.kept, 2.1 * kept) << print_case(c);
    const double multiplied = kernel.work(c).flops / 2.0;
    EXPECT_GE(counted.products, 0.6 * multiplied) << print_case(c);
    EXPECT_LE(counted.products, 3.0 * multiplied) << print_case(c);
  }
}

// What is made and judged one by one takes its time: the sample's numbers that are no poison, and the reference's. Some
// count up to four times, for what they take.
TEST(KernelTable, ASampleHasAsManyNumbersAsWereCounted) {
  for (const KernelCase& c : cases_for("numbers")) {
    const Kernel& kernel = *find_kernel(c.kernel);
    const auto batch = kernel.sample(c);
    ASSERT_TRUE(batch.has_value()) << batch.error().text();
    double numbers = 0.0;
    for (const Tensor& input : batch->inputs) {
      const auto values = input.to_doubles();
      numbers += static_cast<double>(std::ranges::count_if(values, [](double value) { return !std::isnan(value); }));
    }
    for (const Expected& expected : kernel.reference(*batch)) numbers += static_cast<double>(expected.values.size());
    const double counted = kernel.sample_size(c).numbers;
    EXPECT_GT(counted, 0.9 * numbers) << print_case(c);
    EXPECT_LT(counted, 4.0 * numbers) << print_case(c);
  }
}

// Each grows by another number: by tokens, by what one token costs, by pages, columns, splits, ranks and states.
TEST(KernelTable, CasesBeyondTheLimitAreNotMade) {
  struct Row {
    const char* line;
    const char* what;
    bool large = false;  // runs where large ones are asked for
  };
  for (const Row& row : {
           Row{"mla_decode --cache-seqlens 1x60000", "MiB of memory"},
           Row{"mla_decode --heads 128 --cache-seqlens 20000", "billion steps", true},
           Row{"mla_decode --heads 128 --kv-splits 2000 --cache-seqlens 64", "MiB of memory", true},
           Row{"mla_decode --first-page 65536 --cache-seqlens 64", "MiB of memory", true},
           Row{"mla_decode --first-page 2147483648 --page 2147483648 --cache-seqlens 64", "MiB of memory"},
           Row{"paged_decode --cache-seqlens 1x60000", "MiB of memory"},
           Row{"paged_decode --heads 8 --kv-heads 8 --cache-seqlens 70000", "MiB of memory", true},
           Row{"paged_decode --page 1000000 --cache-seqlens 1", "MiB of memory", true},
           Row{"paged_decode --table-columns 2147483648 --cache-seqlens 1", "MiB of memory"},
           Row{"paged_decode --heads 8 --kv-heads 8 --kv-splits 2000 --cache-seqlens 500x20", "billion steps", true},
           Row{"paged_decode --heads 65536 --head-dim 16 --tp 65536 --cache-seqlens 1", "billion steps"},
           Row{"local_decode --cache-seqlens 9000x3000", "MiB of memory"},
           Row{"kv_indices --cache-seqlens 100000x3000", "MiB of memory"},
           Row{"kv_indices --cache-seqlens 9 --max-batch 2147483648 --context 2147483648", "MiB of memory"},
           Row{"page_table --cache-seqlens 1000000,1x60000", "MiB of memory"},
           Row{"page_table --page 1 --cache-seqlens 3000x9000", "MiB of memory", true},
           Row{"merge_state --tokens 65536 --heads 32 --head-dim 64", "MiB of memory", true},
           Row{"merge_state --tokens 2147483648", "MiB of memory"},
           Row{"mrope --tokens 2147483648 --head-dim 2147483648", "MiB of memory"},
           Row{"mrope --tokens 100 --heads 4 --head-dim 4096", "MiB of memory", true},
           Row{"gated_delta_step --heads 16 --v-heads 32 --query-lens 3000", "billion steps", true},
           Row{"gated_delta_chunk --query-lens 1000000", "MiB of memory"},
           Row{"causal_conv1d --query-lens 5 --window 2147483648", "MiB of memory"},
       }) {
    const auto kernel_case = parse_case(row.line);
    ASSERT_TRUE(kernel_case.has_value()) << kernel_case.error().text();
    EXPECT_THAT(why_too_large(*kernel_case, false), ::testing::HasSubstr(row.what)) << row.line;
    EXPECT_EQ(why_too_large(*kernel_case, true).empty(), row.large) << row.line;
  }
}

// What a launch of the model with the largest cases plans: it has to run as it stands.
TEST(KernelTable, WhatLaunchesPlanIsWithinTheLimit) {
  for (const char* line :
       {"local_decode --heads 40 --kv-heads 8 --page 128 --cache-seqlens 1,127,128,129,321,8192,8193,8321",
        "paged_decode --heads 32 --kv-heads 16 --head-dim 256 --page 1 --kv-splits 4 --cache-seqlens "
        "1023,1024,1025,1026 --window 1023",
        "gated_delta_chunk --v-heads 64 --query-lens 65,5 --l2norm",
        "mla_decode --heads 128 --page 128 --kv-splits 3 --cache-seqlens 1,0,385,1151"}) {
    const auto kernel_case = parse_case(line);
    ASSERT_TRUE(kernel_case.has_value()) << kernel_case.error().text();
    EXPECT_EQ(why_too_large(*kernel_case, false), "") << line;
  }
}

}  // namespace
}  // namespace preflight
