// The rule table: every rule is complete, fires and is silent on its own examples in every supported release of its
// range, and the committed page is what the table prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "preflight/rule.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"
#include "tests/support/example_launch.h"
#include "tests/support/paths.h"

namespace preflight {
namespace {

using testing::launch_of;
using testing::outcome_text;

const Diagnostic* finding_of(const CheckResult& result, std::string_view rule) {
  const auto it = std::find_if(result.diagnostics.begin(), result.diagnostics.end(),
                               [&](const Diagnostic& d) { return d.rule == rule; });
  return it == result.diagnostics.end() ? nullptr : &*it;
}

TEST(RuleTable, IdsAreUniqueAndWellFormed) {
  const std::regex form("[A-Z]{2}[0-9]{3}");
  std::set<std::string_view> seen;
  for (const Rule& r : all_rules()) {
    EXPECT_TRUE(std::regex_match(std::string(r.id), form)) << r.id;
    EXPECT_TRUE(seen.insert(r.id).second) << r.id << " is used twice";
  }
}

TEST(RuleTable, EveryRuleSaysWhatWhyAndWhereItWasRead) {
  for (const Rule& r : all_rules()) {
    EXPECT_FALSE(r.summary.empty()) << r.id;
    EXPECT_FALSE(r.why.empty()) << r.id;
    EXPECT_FALSE(r.source.empty()) << r.id;
    EXPECT_FALSE(r.summary.ends_with('.')) << r.id << ": a summary is no sentence";
    EXPECT_LT(r.since, r.until) << r.id;
    // RF001 repeats whatever SGLang says: the way out is in its message.
    EXPECT_TRUE(r.severity != Severity::kError || r.id == "RF001" || !rules::fix_of(r).empty()) << r.id;
  }
}

TEST(RuleTable, RulesAreFoundByIdAndByReference) {
  EXPECT_EQ(find_rule("PG002")->id, "PG002");
  EXPECT_EQ(find_rule("K-6")->id, "PG002");
  EXPECT_EQ(find_rule("DET-2")->id, "BK001");  // of some of its findings
  EXPECT_EQ(find_rule("K-999"), nullptr);
  EXPECT_EQ(find_rule(""), nullptr);
}

// Every shape that a fact can take, with the name under which --fact gives it.
struct OtherFact {
  std::string_view name;
  std::function<void(ModelFacts&)> set;
};

std::vector<OtherFact> other_facts() {
  std::vector<OtherFact> out;
  for (const int n : {1, 2, 3, 8, 16, 48, 128}) {
    out.push_back({"num_q_heads", [n](ModelFacts& m) { m.num_attention_heads = n; }});
    out.push_back({"num_kv_heads", [n](ModelFacts& m) { m.num_key_value_heads = n; }});
  }
  for (const int n : {48, 64, 80, 128, 256, 512, 576}) {
    out.push_back({"head_dim", [n](ModelFacts& m) { m.head_dim = m.v_head_dim = n; }});
    out.push_back({"kv_lora_rank", [n](ModelFacts& m) { m.kv_lora_rank = n; }});
  }
  for (const char* dtype : {"bfloat16", "float16", "float32"}) {
    out.push_back({"dtype", [dtype](ModelFacts& m) { m.dtype = dtype; }});
  }
  for (const int tokens : {1024, 1 << 20}) {
    out.push_back({"context_length", [tokens](ModelFacts& m) { m.context_len = tokens; }});
  }
  return out;
}

// A rule that answers otherwise for another value of a fact is decided by it, and has to say so: a launch described by
// --fact lacks some of them.
TEST(RuleTable, RulesNameTheFactsThatDecideThem) {
  const auto facts = other_facts();
  for (const Rule& r : all_rules()) {
    if (r.check == nullptr || r.need != RuleNeed::kModel || r.id.starts_with("RF")) continue;
    std::set<std::string_view> decide;
    for (const auto* examples : {&r.fires_on, &r.quiet_on}) {
      for (const RuleExample& e : *examples) {
        if (e.model.empty()) continue;
        for (const Release release : supported_releases()) {
          if (!r.holds_in(release) || release < e.since || release >= e.until) continue;
          Launch launch = launch_of(release, e);
          if (!launch.accepted() || launch.model == nullptr) continue;
          const auto said = [&] {
            const auto finding = r.check(rules::LaunchFacts(launch));
            return finding ? finding->message + "\n" + finding->fix : std::string("nothing");
          };
          const std::string before = said();
          const auto model = launch.model;
          // Attention's own shapes: those of MLA are not given by the facts of ordinary attention.
          for (const OtherFact& fact : facts) {
            const bool of_mla = fact.name == "kv_lora_rank";
            const bool ordinary = fact.name == "num_kv_heads" || fact.name == "head_dim";
            if ((of_mla && !model->is_mla()) || (ordinary && model->is_mla())) continue;
            auto other = std::make_shared<ModelFacts>(*model);
            fact.set(*other);
            launch.model = other;
            if (said() != before) decide.insert(fact.name);
          }
          break;  // one release an example
        }
      }
    }
    for (const std::string_view fact : decide) {
      EXPECT_NE(std::ranges::find(r.decided_by, fact), r.decided_by.end()) << r.id << " is decided by " << fact;
    }
  }
}

TEST(RuleTable, EveryRuleFiresOnItsOwnExamples) {
  for (const Rule& r : all_rules()) {
    for (const RuleExample& e : r.fires_on) {
      if (e.model.empty()) continue;
      for (const Release release : supported_releases()) {
        if (!r.holds_in(release) || release < e.since || release >= e.until) continue;
        const Launch launch = launch_of(release, e);
        const CheckResult result = check(launch);
        for (const Diagnostic& d : result.diagnostics) {
          for (const std::string& ref : d.refs) EXPECT_NE(find_rule(ref), nullptr) << ref << " of " << d.rule;
        }
        EXPECT_NE(finding_of(result, r.id), nullptr) << r.id << " is silent in " << release.text() << " on " << e.model
                                                     << " " << e.args << "\n  launch: " << outcome_text(launch);
      }
    }
  }
}

TEST(RuleTable, EveryRuleIsSilentOnItsOwnCounterexamples) {
  for (const Rule& r : all_rules()) {
    for (const RuleExample& e : r.quiet_on) {
      if (e.model.empty()) continue;
      for (const Release release : supported_releases()) {
        if (release < e.since || release >= e.until) continue;
        const CheckResult result = check(launch_of(release, e));
        const Diagnostic* d = finding_of(result, r.id);
        EXPECT_EQ(d, nullptr) << r.id << " fires in " << release.text() << " on " << e.model << " " << e.args << ": "
                              << d->message;
      }
    }
  }
}

TEST(RuleTable, RulesAreSilentOutsideTheirReleases) {
  for (const Rule& r : all_rules()) {
    for (const RuleExample& e : r.fires_on) {
      if (e.model.empty()) continue;
      for (const Release release : supported_releases()) {
        if (r.holds_in(release)) continue;
        EXPECT_EQ(finding_of(check(launch_of(release, e)), r.id), nullptr) << r.id << " in " << release.text();
      }
    }
  }
}

// The releases that a text names, as "SGLang 0.5.20".
std::vector<Release> releases_named(const std::string& text) {
  std::vector<Release> named;
  static const std::regex kName(R"(SGLang (0\.5\.\d+(?:\.post\d+)?))");
  for (std::sregex_iterator at(text.begin(), text.end(), kName), end; at != end; ++at) {
    if (const auto release = parse_release(at->str(1))) named.push_back(*release);
  }
  return named;
}

// The release that a finding names does without it; the next one on the way back has it still, or another error.
TEST(RuleTable, ReleasesThatFindingsNameAreTheNearest) {
  const auto releases = supported_releases();
  for (const Rule& r : all_rules()) {
    for (const RuleExample& e : r.fires_on) {
      const auto told_in = std::find_if(releases.rbegin(), releases.rend(), [&](const Release& release) {
        return r.holds_in(release) && release >= e.since && release < e.until;
      });
      if (e.model.empty() || told_in == releases.rend()) continue;
      const CheckResult told = check(launch_of(*told_in, e));
      const Diagnostic* d = finding_of(told, r.id);
      if (d == nullptr) continue;
      for (const Release& named : releases_named(d->fix)) {
        EXPECT_EQ(finding_of(check(launch_of(named, e)), r.id), nullptr) << r.id << " fires in " << named.text();
        const auto at = std::find(releases.begin(), releases.end(), named);
        ASSERT_NE(at, releases.end()) << r.id << " names " << named.text();
        const CheckResult nearer = check(launch_of(named > *told_in ? *(at - 1) : *(at + 1), e));
        const bool has_error = std::any_of(nearer.diagnostics.begin(), nearer.diagnostics.end(),
                                           [](const Diagnostic& o) { return o.severity == Severity::kError; });
        EXPECT_TRUE(has_error || finding_of(nearer, r.id) != nullptr) << r.id << " names " << named.text();
      }
    }
  }
}

TEST(RuleTable, ThePageOfRulesIsUpToDate) {
  const std::string path = testing::source_directory() + "/docs/rules.md";
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << render_rules_markdown();
  }
  std::ifstream in(path, std::ios::binary);
  const std::string committed(std::istreambuf_iterator<char>(in), {});
  EXPECT_TRUE(committed == render_rules_markdown()) << "docs/rules.md differs; UPDATE_GOLDEN=1 writes it anew";
}

TEST(Check, PointsAtTheArgumentThatWasGiven) {
  const Launch launch = launch_of(supported_releases().back(),
                                  {.model = "llama-3.1-8b-instruct", .args = "--device xpu --attention-backend fa3"});
  const CheckResult result = check(launch);
  const Diagnostic* d = finding_of(result, "BK001");
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->field, Field::attention_backend);
  EXPECT_EQ(d->where.argv_index, 4);
  EXPECT_EQ(d->refs, std::vector<std::string>{"BK-1"});
}

// intel_xpu is deterministic since 0.5.19.
TEST(Check, NamesDeterministicBackendsThatTheReleaseHas) {
  for (const auto& [patch, fix] :
       {std::pair{18, "--attention-backend triton"}, std::pair{19, "--attention-backend triton or intel_xpu"}}) {
    const CheckResult result =
        check(launch_of(v0_5(patch), {.model = "qwen3-0.6b", .args = "--device xpu --enable-deterministic-inference"}));
    const Diagnostic* d = finding_of(result, "BK001");
    ASSERT_NE(d, nullptr) << patch;
    EXPECT_EQ(d->fix, fix) << patch;
  }
}

TEST(Check, TellsAGivenValueThatSglangChanges) {
  for (const Release release : supported_releases()) {
    const CheckResult result =
        check(launch_of(release, {.model = "llama-3.1-8b-instruct",
                                  .args = "--device xpu --attention-backend intel_xpu --page-size 32"}));
    const Diagnostic* d = finding_of(result, "CH001");
    ASSERT_NE(d, nullptr) << release.text();
    EXPECT_EQ(d->severity, Severity::kChange);
    EXPECT_EQ(d->field, Field::page_size);
    EXPECT_NE(d->message.find("32 -> 128"), std::string::npos) << d->message;
  }
}

TEST(Check, SaysWhichRulesCouldNotBeChecked) {
  Launch launch = launch_of(supported_releases().back(), {.model = "qwen3-0.6b", .args = "--device xpu"});
  const CheckResult known = check(launch);
  launch.model = nullptr;
  const CheckResult unknown = check(launch);
  EXPECT_GT(known.coverage.applied, unknown.coverage.applied);
  EXPECT_EQ(known.coverage.applied + static_cast<int>(known.coverage.not_checked.size()),
            unknown.coverage.applied + static_cast<int>(unknown.coverage.not_checked.size()));
  for (const NotChecked& n : unknown.coverage.not_checked) EXPECT_FALSE(n.reason.empty()) << n.rule->id;
}

TEST(Check, PairsTheKernelPackageWithTheRelease) {
  const Launch launch =
      launch_of(v0_5(23), {.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu"});
  EXPECT_EQ(finding_of(check(launch), "KR004"), nullptr) << "no date, no statement";
  const CheckResult old = check(launch, {.kernel_date = parse_date("2026-08-21")});
  EXPECT_NE(finding_of(old, "KR004"), nullptr);
  EXPECT_EQ(finding_of(check(launch, {.kernel_date = parse_date("2026-10-01")}), "KR004"), nullptr);
  EXPECT_NE(finding_of(check(launch, {.kernel_date = parse_date("2026-07-01")}), "KR005"), nullptr);
}

TEST(Check, NamesWhatTheKernelPackageLacksForGatedDelta) {
  const auto lacks = [](int patch) {
    const Launch launch = launch_of(v0_5(patch), {.model = "qwen3.5-9b", .args = "--device xpu"});
    const CheckResult result = check(launch, {.kernel_date = parse_date("2026-05-01")});
    const Diagnostic* found = finding_of(result, "KR007");
    return found == nullptr ? "nothing" : found->message;
  };
  EXPECT_THAT(lacks(18), ::testing::HasSubstr("causal convolution"));
  EXPECT_THAT(lacks(19), ::testing::HasSubstr("gated-delta attention"));
}

TEST(Check, WidthsOfMlaAreNoErrorWhereLaterKernelsMayKnowThem) {
  const auto severity = [](int patch) {
    const Launch launch = launch_of(v0_5(patch), {.model = "deepseek-v2-lite-chat",
                                                  .args = "--device xpu --decode-attention-backend intel_xpu "
                                                          "--json-model-override-args '{\"kv_lora_rank\":256}'"});
    const CheckResult result = check(launch);
    const Diagnostic* found = finding_of(result, "ML001");
    EXPECT_NE(found, nullptr) << patch;
    return found == nullptr ? Severity::kInfo : found->severity;
  };
  EXPECT_EQ(severity(19), Severity::kError);
  EXPECT_EQ(severity(20), Severity::kWarning);
}

TEST(Check, DatesAreIsoDates) {
  EXPECT_TRUE(parse_date("2026-08-21"));
  for (const char* bad : {"2026-8-21", "2026-13-01", "2026-02-30", "21.08.2026", "", "2026-08-21 "}) {
    EXPECT_FALSE(parse_date(bad)) << bad;
  }
}

TEST(Check, ARefusalBecomesOneErrorThatNamesItsCause) {
  const Launch launch =
      launch_of(v0_5(13), {.model = "deepseek-v2-lite-chat", .args = "--device xpu --attention-backend intel_xpu"});
  ASSERT_EQ(launch.outcome, Outcome::kRefused) << outcome_text(launch);
  const CheckResult result = check(launch);
  const Diagnostic* d = finding_of(result, "RF002");
  ASSERT_NE(d, nullptr) << outcome_text(launch);
  EXPECT_EQ(d->severity, Severity::kError);
  EXPECT_EQ(d->refs, std::vector<std::string>{"AT-9"});
  EXPECT_EQ(d->field, Field::attention_backend);
}

TEST(Check, UsageErrorsSuggestTheOptionMeant) {
  struct Row {
    const char* args;
    const char* fix;
  };
  const Row rows[] = {
      {"--max-model-len 4096", "--context-length"},  // vLLM's name
      {"--gpu-memory-utilization 0.9", "--mem-fraction-static"},
      {"--enforce-eager", "drop it"},                        // no counterpart
      {"--atention-backend triton", "--attention-backend"},  // a slip
      {"---page-size 1", "--page-size"},                     // a slip seen in the wild
  };
  for (const Row& row : rows) {
    const CheckResult result = check(launch_of(supported_releases().back(), {.model = "qwen3-0.6b", .args = row.args}));
    ASSERT_FALSE(result.diagnostics.empty()) << row.args;
    EXPECT_EQ(result.diagnostics[0].rule, "US001") << row.args;
    EXPECT_NE(result.diagnostics[0].fix.find(row.fix), std::string::npos)
        << row.args << ": " << result.diagnostics[0].fix;
  }
}

TEST(Check, AWrongChoiceSuggestsTheOneMeant) {
  const CheckResult result =
      check(launch_of(supported_releases().back(), {.model = "qwen3-0.6b", .args = "--attention-backend torch_sdpa"}));
  ASSERT_FALSE(result.diagnostics.empty());
  EXPECT_EQ(result.diagnostics[0].rule, "US003");
  EXPECT_NE(result.diagnostics[0].fix.find("torch_native"), std::string::npos) << result.diagnostics[0].fix;
}

}  // namespace
}  // namespace preflight
