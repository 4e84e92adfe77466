// Rules of refusals: every rule is raised by a step that names it, known by upstream's words, and has its record.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "preflight/refusal_rule.h"
#include "preflight/rule.h"
#include "src/resolve/core/refusal_sites.h"
#include "src/rules/families.h"
#include "tests/support/paths.h"

namespace preflight {
namespace {

TEST(RefusalRules, AreTheRecordsOfTheRefusalFamilyOneForOne) {
  std::set<std::string_view> recorded;
  for (const Rule& rule : rules::refusal_rules()) {
    if (rule.id.starts_with("RF")) recorded.insert(rule.id);
  }
  EXPECT_EQ(recorded, (std::set<std::string_view>(kRefusalRuleIds.begin(), kRefusalRuleIds.end())));
}

// Every place that can raise, by its source text: a constant of the vocabulary that no step uses would be a rule that
// never fires.
TEST(RefusalRules, AreEachRaisedSomewhere) {
  std::string sources;
  for (const char* room : {"/src/resolve", "/src/facts"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::source_directory() + room)) {
      if (entry.path().extension() != ".cpp" || entry.path().filename() == "refusal_sites.cpp") continue;
      std::ifstream file(entry.path());
      sources.append(std::istreambuf_iterator<char>(file), {});
    }
  }
  for (const char* name :
       {"kMlaPrefill", "kDeterministicBackend", "kTreeWithPages", "kPartialTree", "kAlgorithmForOthers",
        "kChunkInPages", "kRanksOverNodes", "kPipelineSchedule", "kCacheForOthers", "kHostCacheWithoutTree",
        "kHybridCache", "kContextParallelDecode", "kLongerContext", "kQuantizationMismatch", "kUnknownArchitecture",
        "kSparseOnCudaOnly", "kNoSuchModel"}) {
    EXPECT_NE(sources.find("RF::" + std::string(name)), std::string::npos) << name;
  }
}

TEST(RefusalSites, KnowEveryRuleButTheOneForTheRest) {
  std::set<RF> known;
  for (const auto& site : resolve::refusal_sites()) known.insert(site.rule);
  EXPECT_EQ(known.size(), kRefusalRuleIds.size() - 1);
  EXPECT_FALSE(known.contains(RF::kOther));
}

TEST(RefusalSites, TellRulesOfOneFunctionApartByItsWords) {
  struct Row {
    std::string_view exception;
    std::string_view function;
    std::string_view message;
    RF rule;
  };
  const Row rows[] = {
      {"AssertionError", "check_server_args", "chunked_prefill_size must be divisible by page_size", RF::kChunkInPages},
      {"AssertionError", "check_server_args", "tp_size must be divisible by number of nodes", RF::kRanksOverNodes},
      {"AssertionError", "check_server_args", "gpu_id_step must be positive", RF::kOther},
      {"ValueError", "check_server_args", "chunked_prefill_size must be divisible by page_size", RF::kOther},
      {"AssertionError", "_handle_eagle_family", "", RF::kPartialTree},
      {"AssertionError", "_handle_eagle_family", "something else", RF::kOther},
      {"ValueError", "_handle_ngram", "speculative_eagle_topk(10) > 1 with page_size(64) > 1 is unstable",
       RF::kTreeWithPages},
      {"ValueError", "_handle_ngram", "Currently ngram speculative decoding does not support dp attention.",
       RF::kOther},
      {"AssertionError", "_validate_mamba_no_buffer", "no_buffer only supports page_size=1.", RF::kHybridCache},
      {"AssertionError", "validate_mamba_no_buffer", "no_buffer only supports page_size=1.", RF::kHybridCache},
      {"ValueError", "handle_mamba_radix_cache", "extra_buffer needs mamba state", RF::kOther},
      {"AssertionError", "_lazy_init", "Torch not compiled with CUDA enabled", RF::kSparseOnCudaOnly},
      {"ValueError", "parse", "Unrecognized model in auto.", RF::kOther},
      {"OSError", "load_pointer_head", "Repo id must use alphanumeric chars, '-', '_' or '.'.", RF::kNoSuchModel},
      {"OSError", "load_pointer_head", "We couldn't connect to the hub.", RF::kOther},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(id_of(resolve::rule_of_refusal(row.exception, row.function, row.message)), id_of(row.rule))
        << row.exception << ' ' << row.function << ": " << row.message;
  }
}

}  // namespace
}  // namespace preflight
