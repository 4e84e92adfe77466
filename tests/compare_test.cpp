// One launch in two releases, and two launches in one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;

TEST(Upgrade, TellsWhatALaterReleaseDoesOtherwise) {
  // 0.5.20 reserves more memory: a bf16 9B model no longer fits the default share of 24 GB.
  const ToolRun worse =
      run_tool({"upgrade", "--from", "0.5.13", "--to", "0.5.23", "--format", "json", "--device-profile", "b60", "--",
                "--model-path", "google/gemma-2-9b-it", "--device", "xpu"});
  EXPECT_EQ(worse.status, 1) << worse.out << worse.err;
  const auto json = nlohmann::json::parse(worse.out);
  EXPECT_EQ(json["outcome"]["after"], "accepted");
  EXPECT_TRUE(json["fields"].contains("mem_fraction_static"));
  EXPECT_TRUE(json["worse"].get<bool>());
  EXPECT_THAT(json["findings_new"].dump(), HasSubstr("PL002"));

  const ToolRun back = run_tool({"upgrade", "--from", "0.5.23", "--to", "0.5.13", "--", "--model-path",
                                 "Qwen/Qwen3-0.6B", "--sampling-backend", "intel_xpu"});
  EXPECT_EQ(back.status, 1) << back.out << back.err;
  EXPECT_THAT(back.out, HasSubstr("refused by the argument parser"));
}

// A text with a launch in it, and every launch of a folder, are compared as the same arguments are.
TEST(Upgrade, OfACommandAndOfAFolderIsThatOfItsArguments) {
  const TemporaryDirectory dir;
  const std::string launch = "python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --device xpu";
  const std::vector<std::string> releases = {"upgrade",          "--from", "0.5.13",   "--to", "0.5.21",
                                             "--device-profile", "b60",    "--format", "json"};
  const auto told = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = releases;
    all.insert(all.end(), words.begin(), words.end());
    return nlohmann::json::parse(run_tool(all).out);
  };
  const auto plain = told({"--", "--model-path", "Qwen/Qwen3-0.6B", "--device", "xpu"});
  EXPECT_FALSE(plain["fields"].empty());
  EXPECT_EQ(told({"--command", launch}), plain);
  EXPECT_EQ(told({"--command", "docker run lmsysorg/sglang:v0.5.19-xpu " + launch})["fields"], plain["fields"]);
  dir.file("a.sh", launch + "\n");
  const auto fleet = told({dir.path()});
  ASSERT_EQ(fleet["launches"].size(), 1U);
  for (const char* part : {"before", "after", "outcome", "fields", "defaults", "findings_new", "worse"})
    EXPECT_EQ(fleet["launches"][0][part], plain[part]) << part;
}

// A fleet on one page: each from the release of its image, and those of which the same is said together.
// --from wins over the image's tag, and says so where they differ.
TEST(Upgrade, ReleaseThatIsNotTheImagesIsTold) {
  const TemporaryDirectory dir;
  const std::string file =
      dir.file("a.sh",
               "docker run lmsysorg/sglang:v0.5.19-xpu python -m sglang.launch_server --model-path "
               "Qwen/Qwen3-8B --device xpu\n");
  const auto from = [&](const char* release) {
    return run_tool({"upgrade", "--from", release, "--to", "0.5.23", file}).out;
  };
  EXPECT_THAT(from("0.5.14"), HasSubstr("SGLang 0.5.14 (--from; its image has 0.5.19) → SGLang 0.5.23"));
  EXPECT_THAT(from("0.5.19"), HasSubstr("SGLang 0.5.19 → SGLang 0.5.23"));
  const ToolRun pasted = run_tool({"upgrade", "--from", "0.5.14", "--to", "0.5.23", "--command-file", file});
  EXPECT_THAT(pasted.out, HasSubstr("SGLang 0.5.14 (--from; its image has 0.5.19)"));
}

TEST(Upgrade, OfAFolderStandsOnOnePage) {
  const TemporaryDirectory dir;
  const std::string launch = "python -m sglang.launch_server --device xpu --model-path ";
  dir.file("a.yaml", "services:\n  a: {image: 'lmsysorg/sglang:v0.5.13-xpu', command: " + launch +
                         "Qwen/Qwen3-0.6B}\n  b: {image: 'lmsysorg/sglang:v0.5.13-xpu', command: " + launch +
                         "Qwen/Qwen3-0.6B}\n  c: {image: 'lmsysorg/sglang:v0.5.23-xpu', command: " + launch +
                         "Qwen/Qwen3-0.6B}\n  d: {image: 'lmsysorg/sglang:v0.5.13-xpu', command: " + launch +
                         "google/gemma-2-9b-it}\n");
  const std::vector<std::string> words = {"upgrade", "--to", "0.5.23", "--device-profile", "b60", dir.path()};
  const std::string model = "  Qwen/Qwen3-0.6B (built-in table)\n";
  const ToolRun run = run_tool(words);
  EXPECT_EQ(run.status, 1) << run.out << run.err;  // d no longer fits
  EXPECT_THAT(run.out, HasSubstr("a.yaml:2 a\n" + model + dir.path() + "/a.yaml:3 b\n" + model +
                                 "  SGLang 0.5.13 → SGLang 0.5.23: different"));
  EXPECT_THAT(run.out, HasSubstr("a.yaml:4 c\n" + model + "  SGLang 0.5.23 → SGLang 0.5.23: the same in both"));
  EXPECT_THAT(run.out, HasSubstr("PL002"));
  EXPECT_THAT(run.out, HasSubstr("(of what these launches leave alone)"));
  EXPECT_THAT(run.out, HasSubstr("4 launches: 1 worse off, 0 still fail, 2 different, 1 the same, 0 not compared"));
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return run_tool(all);
  };
  EXPECT_EQ(with({"--launch", "c"}).status, 0);
  EXPECT_THAT(with({"--launch", "2"}).out, HasSubstr("1 launch: 0 worse off, 0 still fail, 1 different"));
  EXPECT_EQ(with({"--launch", "5"}).status, 2);
  // What is the same in all of them stands there once.
  std::filesystem::remove(dir.path() + "/a.yaml");
  dir.file("a.sh", launch + "Qwen/Qwen3-0.6B\n" + launch + "Qwen/Qwen3-8B --tp 2\n");
  const std::string same = with({"--from", "0.5.13"}).out;
  const auto at = same.find("sampling_backend");
  EXPECT_LT(same.find("(the same in all of them)"), at);
  EXPECT_EQ(same.find("sampling_backend", at + 1), std::string::npos) << same;
  // What is not known of one is said, and counts.
  dir.file("b.sh", launch + "$M\n" + launch + "m\n");
  const ToolRun open = with({"--launch", "3"});
  EXPECT_EQ(open.status, 1);
  EXPECT_THAT(open.out, HasSubstr("not compared: 1:58: the variable M is not set"));
  EXPECT_THAT(with({"--launch", "4"}).out, HasSubstr("no image says which release it runs on now: give --from"));
  EXPECT_EQ(run_tool({"upgrade", "--", "--model-path", "m"}).status, 2);
}

TEST(Upgrade, FromAReleaseThatRefusesTellsWhatStandsInTheWayAfterwards) {
  // 0.5.13 refuses intel_xpu for the prefill of MLA; 0.5.23 takes it, and the weights do not fit one card.
  const ToolRun run = run_tool({"upgrade", "--from", "0.5.13", "--to", "0.5.23", "--format", "json", "--device-profile",
                                "b60", "--", "--model-path", "deepseek-ai/DeepSeek-V2-Lite-Chat", "--device", "xpu",
                                "--attention-backend", "intel_xpu"});
  EXPECT_EQ(run.status, 1) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_THAT(json["findings_new"].dump(), HasSubstr("PL002"));
  EXPECT_TRUE(json["still_fails"].get<bool>());
  EXPECT_FALSE(json["worse"].get<bool>());
  // The same refusal in both releases is nothing new.
  const ToolRun same =
      run_tool({"upgrade", "--from", "0.5.13", "--to", "0.5.14", "--format", "json", "--", "--model-path",
                "deepseek-ai/DeepSeek-V2-Lite-Chat", "--device", "xpu", "--attention-backend", "intel_xpu"});
  EXPECT_EQ(nlohmann::json::parse(same.out)["findings_new"].size(), 0U) << same.out;
}

// A field that one release alone has counts where the launch sets it; options of what is off do not.
// Fields end where the earlier release refuses; what SGLang changes behind that is told by its finding.
TEST(Upgrade, FromAReleaseThatRefusesTellsTheChangesBehindIt) {
  const auto changes = [](const char* from) {
    const auto json = nlohmann::json::parse(
        run_tool({"upgrade", "--from", from, "--to", "0.5.23", "--format", "json", "--device-profile", "b60", "--",
                  "--model-path", "openai/gpt-oss-20b", "--attention-backend", "intel_xpu", "--page-size", "32"})
            .out);
    std::string told;
    for (const auto& d : json["findings_new"]) {
      if (d["severity"] == "change") told += d["message"].get<std::string>() + "; ";
    }
    return told;
  };
  EXPECT_THAT(changes("0.5.13"), HasSubstr("--page-size: 32 -> 128"));
  EXPECT_EQ(changes("0.5.21"), "");
}

TEST(Upgrade, FieldsOfOneReleaseAreTold) {
  const ToolRun run =
      run_tool({"upgrade", "--from", "0.5.21", "--to", "0.5.22", "--format", "json", "--", "--model-path",
                "Qwen/Qwen3-8B", "--device", "xpu", "--tp-size", "2", "--dp-size", "2", "--enable-dp-attention"});
  const auto fields = nlohmann::json::parse(run.out)["fields"];
  EXPECT_EQ(fields["attn_dp_size"]["before"], "no such field") << fields;
  EXPECT_EQ(fields["attn_dp_size"]["after"], "2") << fields;
  EXPECT_TRUE(fields.contains("dp_size")) << fields;

  const ToolRun far = run_tool({"upgrade", "--from", "0.5.13", "--to", "0.5.23", "--format", "json", "--",
                                "--model-path", "Qwen/Qwen3-0.6B", "--device", "xpu"});
  const auto json = nlohmann::json::parse(far.out);
  EXPECT_FALSE(json["fields"].contains("hicache_mem_layout")) << json["fields"];
  EXPECT_FALSE(json["defaults"].contains("hicache_mem_layout")) << json["defaults"];
  EXPECT_FALSE(json["defaults"].empty());
}

// Of a dictionary what differs, not its beginning twice.
TEST(Upgrade, DictionariesAreToldByKey) {
  const ToolRun run = run_tool(
      {"upgrade", "--from", "0.5.17", "--to", "0.5.21", "--", "--model-path", "Qwen/Qwen3-0.6B", "--device", "xpu"});
  EXPECT_THAT(run.out, HasSubstr("cuda_graph_config.decode.max_bs"));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("'decode': {")));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("no such key → None")));
}

TEST(Upgrade, SaysWhenNothingChanges) {
  const ToolRun same =
      run_tool({"upgrade", "--from", "0.5.23", "--to", "0.5.23", "--", "--model-path", "Qwen/Qwen3-0.6B"});
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("the same in both"));
  EXPECT_EQ(run_tool({"upgrade", "--from", "0.4.1", "--to", "0.5.23", "--", "--model-path", "m"}).status, 2);
}

TEST(ResolveDiff, ComparesTwoArgumentLists) {
  const TemporaryDirectory dir;
  const std::string file =
      dir.file("b.sh", "exec python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --tp 2\n");
  const ToolRun differ = run_tool({"resolve", "--diff", "--model-path Qwen/Qwen3-0.6B", file});
  EXPECT_EQ(differ.status, 1) << differ.out << differ.err;
  EXPECT_THAT(differ.out, HasSubstr("tp_size"));
  EXPECT_THAT(differ.out, HasSubstr("1 → 2"));
  const ToolRun same =
      run_tool({"resolve", "--diff", "--model-path Qwen/Qwen3-0.6B --tp 1", "--model-path Qwen/Qwen3-0.6B"});
  EXPECT_EQ(same.status, 0) << same.out << same.err;
}

// What both have is neither gone nor new, be it that one takes it for worse.
TEST(Upgrade, TellsAFindingOfAnotherSeverity) {
  const auto between = [](const char* from, const char* to, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"upgrade", "--from",         from, "--to", to, "--device-profile",
                                      "b60",     "--device-count", "2"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "--model-path", "Qwen/Qwen3-30B-A3B-FP8", "--tp", "2"});
    return run_tool(words);
  };
  const ToolRun milder = between("0.5.21", "0.5.23");
  EXPECT_EQ(milder.status, 0) << milder.out;
  EXPECT_THAT(milder.out, HasSubstr("Findings of another severity\n  error → warning[MO001] "));
  EXPECT_THAT(milder.out, HasSubstr("0 findings gone, 0 new, 1 of another severity\n"));
  const ToolRun worse = between("0.5.23", "0.5.21", {"--format", "json"});
  EXPECT_EQ(worse.status, 1) << worse.out;
  const auto json = nlohmann::json::parse(worse.out);
  EXPECT_TRUE(json["worse"].get<bool>());
  EXPECT_TRUE(json["findings_new"].empty()) << json["findings_new"];
  ASSERT_EQ(json["findings_reweighed"].size(), 1U);
  EXPECT_EQ(json["findings_reweighed"][0]["before"], "warning");
  EXPECT_EQ(json["findings_reweighed"][0]["now"]["severity"], "error");
}

// A launch that is refused never comes to the later steps: what they set in the other one is no difference.
TEST(ResolveDiff, ComparesWhatBothReachedWhenASideIsRefused) {
  const std::string plain = "--model-path Qwen/Qwen3-0.6B --device xpu";
  const std::string refused = plain + " --tp 4 --dcp-size 2 --attention-backend triton";
  const ToolRun text = run_tool({"resolve", "--diff", plain, refused});
  EXPECT_EQ(text.status, 1) << text.err;
  EXPECT_THAT(text.out, HasSubstr("refused while resolving, in "));
  EXPECT_THAT(text.out, HasSubstr("_check_xpu_dcp"));
  EXPECT_THAT(text.out, HasSubstr("Fields (before "));
  const auto json = nlohmann::json::parse(run_tool({"resolve", "--format", "json", "--diff", plain, refused}).out);
  EXPECT_FALSE(json["compared_until"].get<std::string>().empty());
  EXPECT_EQ(json["fields"]["tp_size"]["after"], "4");
  EXPECT_EQ(json["fields"]["attention_backend"]["after"], "triton");
  for (const char* later : {"custom_weight_loader", "grammar_backend", "page_size", "enable_tf32_matmul"}) {
    EXPECT_FALSE(json["fields"].contains(later)) << later << json["fields"];
  }
  EXPECT_TRUE(json["findings_gone"].empty()) << json["findings_gone"];
  // the same step ends the comparison when both are refused, and the earlier one of two
  const auto both = nlohmann::json::parse(run_tool({"resolve", "--format", "json", "--diff", refused, refused}).out);
  EXPECT_EQ(both["compared_until"], json["compared_until"]);
  EXPECT_TRUE(both["fields"].empty()) << both["fields"];
  const auto accepted = nlohmann::json::parse(run_tool({"resolve", "--format", "json", "--diff", plain, plain}).out);
  EXPECT_TRUE(accepted["compared_until"].is_null());
  // the argument parser leaves nothing to compare
  const auto usage = nlohmann::json::parse(
      run_tool({"resolve", "--format", "json", "--diff", plain, plain + " --page-size many"}).out);
  EXPECT_TRUE(usage["fields"].is_null() && usage["compared_until"].is_null()) << usage;
  const ToolRun said = run_tool({"resolve", "--diff", plain, plain + " --page-size many"});
  EXPECT_THAT(said.out, HasSubstr("fields not compared"));
}

// A side that is refused later than the other came past what refuses that; of the rest nobody knows.
TEST(ResolveDiff, ARefusalThatTheOtherSideCamePastIsGone) {
  const std::string plain = "--model-path Qwen/Qwen3-0.6B --device xpu";
  const std::string parser = plain + " --page-size many";
  const std::string later = plain + " --tp 4 --dcp-size 2 --attention-backend triton";
  const auto compared = [](const std::string& a, const std::string& b) {
    return nlohmann::json::parse(run_tool({"resolve", "--format", "json", "--diff", a, b}).out);
  };
  const auto on = compared(parser, later);
  ASSERT_EQ(on["findings_gone"].size(), 1U) << on["findings_gone"];
  EXPECT_EQ(on["findings_gone"][0]["rule"], "US004");
  EXPECT_EQ(on["findings_gone_known"], false);
  EXPECT_FALSE(on["findings_new"].empty());
  const auto back = compared(later, parser);
  EXPECT_TRUE(back["findings_gone"].empty()) << back["findings_gone"];
  EXPECT_EQ(back["findings_gone_known"], false);
  EXPECT_THAT(run_tool({"resolve", "--diff", later, parser}).out,
              HasSubstr("which findings are gone is not known, 1 new"));
  EXPECT_EQ(compared(later, later)["findings_gone_known"], true);
  EXPECT_EQ(compared(later, plain)["findings_gone_known"], true);
}

TEST(ResolveDiff, TellsRefusedArgumentsApart) {
  const std::string plain = "--model-path Qwen/Qwen3-0.6B --device xpu";
  const auto json = nlohmann::json::parse(
      run_tool({"resolve", "--format", "json", "--diff", plain + " --page-size many", plain + " --tp-size two"}).out);
  EXPECT_EQ(json["outcome"]["differs"], true);
  EXPECT_THAT(json["outcome"]["before"].get<std::string>(), HasSubstr("many"));
  EXPECT_THAT(json["outcome"]["after"].get<std::string>(), HasSubstr("two"));
}

TEST(ResolveDiff, SaysWhatAnUnknownModelLeavesOpen) {
  const auto json = nlohmann::json::parse(
      run_tool({"resolve", "--format", "json", "--diff", "--model-path nobody/knows", "--model-path Qwen/Qwen3-0.6B"})
          .out);
  EXPECT_THAT(json["outcome"]["before"].get<std::string>(), HasSubstr("incomplete: nothing is known"));
  EXPECT_EQ(json["outcome"]["after"], "accepted");
  EXPECT_EQ(json["compared_until"], "resolution");
  EXPECT_TRUE(json["fields"].contains("model_path"));
  for (const char* resolved : {"attention_backend", "grammar_backend", "device", "load_balance_method"}) {
    EXPECT_FALSE(json["fields"].contains(resolved)) << resolved << json["fields"];
  }
}

TEST(ResolveDiff, IsNotForABatch) {
  const ToolRun run = run_tool({"resolve", "--batch", "-", "--diff", "--model-path a", "--model-path b"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("--batch"));
}

// What was not given cannot be dropped, and what is gone needs no way out.
TEST(UpgradeCommand, TellsTheRemediesThatCheckTells) {
  using testing::run_tool;
  const auto run =
      run_tool({"upgrade", "--from", "0.5.19", "--to", "0.5.21", "--", "--model-path", "openai/gpt-oss-120b"});
  EXPECT_EQ(run.out.find("drop --quantization"), std::string::npos) << run.out;
  const auto fix_in = [](const std::string& text) {
    const auto at = text.find("fix: ");
    return at == std::string::npos ? std::string() : text.substr(at, text.find('\n', at) - at);
  };
  const auto check =
      run_tool({"check", "--no-kernel", "--sglang-version", "0.5.21", "--", "--model-path", "openai/gpt-oss-120b"});
  EXPECT_NE(fix_in(run.out), "");
  EXPECT_EQ(fix_in(run.out), fix_in(check.out)) << check.out;
  const auto old = [](const char* option) {
    return run_tool({"check", option, "--sglang-version", "0.5.17", "--device-profile", "b580", "--device-count", "1",
                     "--host-memory", "32GiB", "--", "--model-path", "openai/gpt-oss-120b"})
        .out;
  };
  EXPECT_THAT(old("--no-fixes"), HasSubstr("fix: SGLang 0.5.20 (not tried), or an unquantised checkpoint"));
  EXPECT_THAT(old("--no-kernel"), HasSubstr("with SGLang\n         0.5.20 on 7 such machines (which leaves PL002)"));
}

// A variant that the search tried is no part of this launch.
TEST(CheckCommand, SaysOfWhichLaunchItTellsWhatStays) {
  const auto run =
      testing::run_tool({"check", "--no-kernel", "--sglang-version", "0.5.17", "--device-profile", "b580",
                         "--device-count", "1", "--host-memory", "32GiB", "--", "--model-path", "openai/gpt-oss-120b"});
  EXPECT_THAT(run.out, HasSubstr("nearest is an FP8 checkpoint of the model, which leaves: PL002"));
}

// Heads that do not divide have no number on a rank.
TEST(CheckCommand, PlansNoPartsOfHeads) {
  const auto told = [](const std::string& tp) {
    return run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-8B", "--device", "xpu", "--tp", tp}).out;
  };
  EXPECT_THAT(told("2"), HasSubstr("16 query heads, 4 KV heads"));
  EXPECT_THAT(told("3"), ::testing::Not(HasSubstr("query heads, ")));
}

TEST(CheckCommand, CorrectsAMistypedBackendToTheOneThatWasMeant) {
  const auto run = testing::run_tool(
      {"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-8B", "--attention-backend", "intelxpu"});
  EXPECT_NE(run.out.find("+ --attention-backend intel_xpu\n  + --mem-fraction-static 0.71"), std::string::npos)
      << run.out;
}

TEST(CheckCommand, SaysWhichOptionLeavesNoRequest) {
  const auto run = testing::run_tool(
      {"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-0.6B", "--max-total-tokens", "2000"});
  EXPECT_NE(run.out.find("--max-total-tokens 2000 does not hold one request of 4096"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("by the memory sheet"), std::string::npos) << run.out;
}

TEST(PagesCommand, SaysWhyARowRunsOtherwise) {
  const auto run =
      testing::run_tool({"pages", "--no-kernel", "--device-profile", "a770", "--", "--model-path", "Qwen/Qwen3-0.6B"});
  const auto row = run.out.find(" intel_xpu       1  changed  triton 1");
  ASSERT_NE(row, std::string::npos) << run.out;
  const auto next = run.out.find("\n intel_xpu       2", row);
  EXPECT_GT(next - row, 80U) << run.out;
}

// Lists that begin alike are told from where they part, and only there.
TEST(Upgrade, OfLongValuesWhatDiffersIsShown) {
  const ToolRun run = run_tool({"upgrade", "--from", "0.5.18", "--to", "0.5.21", "--format", "json", "--device-profile",
                                "b60", "--", "--model-path", "Qwen/Qwen3-0.6B", "--device", "xpu", "--tp-size", "4"});
  const auto fields = nlohmann::json::parse(run.out)["fields"];
  const auto& sizes = fields["cuda_graph_config.decode.bs"];
  EXPECT_EQ(sizes["before"], "…80]");
  EXPECT_THAT(sizes["after"].get<std::string>(), ::testing::StartsWith("…80, 88, 96, 104"));
  EXPECT_THAT(sizes["after"].get<std::string>(), ::testing::EndsWith("160]"));
  for (const auto& [name, pair] : fields.items()) EXPECT_NE(pair["before"], pair["after"]) << name;
}

}  // namespace
}  // namespace preflight::testing
