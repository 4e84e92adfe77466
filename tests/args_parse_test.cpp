// What Python's argparse makes of launch arguments. Expected outcomes are facts: each row was given to the real
// releases' prepare_server_args().
#include "src/args/parse.h"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "src/args/closest_options.h"
#include "src/args/option_index.h"

namespace preflight {
namespace {

using Words = std::vector<std::string>;

const Release kOld = v0_5(13, 1);
const Release kNew = v0_5(23);

ParseOutcome parse(Release release, Words words, bool with_model = true) {
  if (with_model) words.insert(words.begin(), {"--model-path", "m"});
  return args::parse(release, words);
}

struct AcceptedRow {
  const char* reason;
  Words words;
  Field field;
  std::string expected;  // JSON
};

const AcceptedRow kAccepted[] = {
    {"a unique beginning is enough", {"--page-s", "64"}, Field::page_size, "64"},
    {"an exact name wins over longer ones", {"--tp", "2"}, Field::tp_size, "2"},
    {"the last of repeated options wins", {"--page-size", "16", "--page-size=64"}, Field::page_size, "64"},
    {"int() takes spaces, signs and underscores", {"--page-size", " +1_6 "}, Field::page_size, "16"},
    {"int() has no limit", {"--port", "99_999_999_999_999_999_999"}, Field::port, "99999999999999999999"},
    {"nor have suffixes",
     {"--max-total-tokens", "9223372036854775807Ki"},
     Field::max_total_tokens,
     "9444732965739290426368"},
    {"nor has json.loads",
     {"--preferred-sampling-params", R"({"top_k": -1000000000000000000000000000000})"},
     Field::preferred_sampling_params,
     R"({"top_k":-1000000000000000000000000000000})"},
    {"int() takes any Unicode digits", {"--page-size", "٣٢"}, Field::page_size, "32"},
    {"a negative number is a value", {"--page-size", "-1"}, Field::page_size, "-1"},
    {"and so is one without whole digits", {"--mem-fraction-static", "-.5"}, Field::mem_fraction_static, "-0.5"},
    {"float() takes infinities", {"--mem-fraction-static", "1e400"}, Field::mem_fraction_static, "\"inf\""},
    {"float() takes underscores", {"--mem-fraction-static", "0.5_0"}, Field::mem_fraction_static, "0.5"},
    {"decimal suffixes take decimals", {"--context-length", "2.5k"}, Field::context_length, "2500"},
    {"28 digits count, rounded half to even",
     {"--context-length", "0.9999999999999999999999999999999k"},
     Field::context_length,
     "1000"},
    {"binary suffixes", {"--context-length", " 4Ki "}, Field::context_length, "4096"},
    {"a word with a space is a value although it starts with a dash",
     {"--served-model-name", "-a b"},
     Field::served_model_name,
     "\"-a b\""},
    {"a '--' after '=' vanishes and leaves an empty list", {"--page-size=--"}, Field::page_size, "[]"},
    {"an empty value after '='", {"--served-model-name="}, Field::served_model_name, "\"\""},
    {"an optional value left out is the constant", {"--model-checksum"}, Field::model_checksum, "\"\""},
    {"json.loads takes NaN, the last repeated key wins",
     {"--preferred-sampling-params", R"({"a": 1, "b": NaN, "a": 2})"},
     Field::preferred_sampling_params,
     R"({"a":2,"b":"nan"})"},
    {"None is nothing where SGLang says so",
     {"--quantization-param-path", "None"},
     Field::quantization_param_path,
     "null"},
    {"an empty list of adapters", {"--lora-paths"}, Field::lora_paths, "[]"},
    {"adapters as text and as JSON",
     {"--lora-paths", " a=b ", R"({"lora_name":"x","lora_path":"y"})"},
     Field::lora_paths,
     R"(["a=b",{"lora_name":"x","lora_path":"y"}])"},
    {"a switch with a counterpart", {"--no-lora-strict"}, Field::lora_strict_loading, "false"},
};

TEST(ArgsParse, AcceptsWhatArgparseAccepts) {
  for (const Release release : {kOld, kNew}) {
    for (const auto& row : kAccepted) {
      const ParseOutcome outcome = parse(release, row.words);
      const auto* args = std::get_if<ServerArgs>(&outcome);
      ASSERT_NE(args, nullptr) << release.text() << ": " << row.reason;
      EXPECT_EQ((*args)[row.field].json(), row.expected) << release.text() << ": " << row.reason;
    }
  }
}

struct RefusedRow {
  const char* reason;
  Words words;
  std::string kind;
  std::string flag;
  int argv_index;  // of the word pointed at; the model path is 0 and 1
  bool with_model = true;
};

const RefusedRow kRefused[] = {
    {"two names share the beginning", {"--mode", "x"}, "ambiguous", "--mode", 2},
    {"an ambiguous word is found before a bad value", {"--page-size", "x", "--enable"}, "ambiguous", "--enable", 4},
    {"with a space the sentence is another", {"--enable=a b"}, "other", "", 2},
    {"no integer", {"--page-size", "1.0"}, "value", "--page-size", 3},
    {"double underscore", {"--page-size", "1__0"}, "value", "--page-size", 3},
    {"named by the first spelling", {"--nccl-init-addr"}, "expected", "--dist-init-addr", 2},
    {"decimals with a binary suffix", {"--context-length", "2.5Ki"}, "value", "--context-length", 3},
    {"a switch takes no value", {"--disable-radix-cache=1"}, "value", "--disable-radix-cache", 2},
    {"not even an empty one", {"--disable-radix-cache="}, "value", "--disable-radix-cache", 2},
    {"-h with something attached", {"-hx"}, "value", "-h", 2},
    {"no such choice", {"--dtype", "int3"}, "choice", "--dtype", 3},
    {"choices are compared after conversion", {"--log-requests-level", "9"}, "choice", "--log-requests-level", 3},
    {"no value left", {"--page-size"}, "expected", "--page-size", 2},
    {"an option is no value", {"--page-size", "--tp", "2"}, "expected", "--page-size", 2},
    {"an exponent makes it look like an option",
     {"--mem-fraction-static", "-1e5"},
     "expected",
     "--mem-fraction-static",
     2},
    {"'--' is no value", {"--page-size", "--", "5"}, "expected", "--page-size", 2},
    {"refused words in their order", {"a", "--foo", "--page-size", "1", "b c"}, "unrecognized", "a --foo b c", 2},
    {"'--' stays among them", {"--", "--page-size"}, "unrecognized", "-- --page-size", 2},
    {"an empty word too", {""}, "unrecognized", "", 2},
    {"a missing option is named before refused words", {"x"}, "required", "--model-path", -1, false},
    {"help ends the launch", {"--hel"}, "other", "", 2},
    {"strict JSON for lists", {"--forward-hooks", "[NaN]"}, "value", "--forward-hooks", 3},
};

// They are searched by halves.
TEST(ArgsParse, NamesOfAReleaseAreInTheOrderOfTheirText) {
  for (const Release release : supported_releases()) {
    const auto names = args::OptionIndex::of(release).names();
    EXPECT_GT(names.size(), 300U) << release.text();
    EXPECT_TRUE(std::ranges::is_sorted(names, {}, [](const auto& name) { return std::string_view(name.name); }))
        << release.text();
  }
}

TEST(ArgsParse, RefusesWhatArgparseRefuses) {
  for (const Release release : {kOld, kNew}) {
    for (const auto& row : kRefused) {
      const ParseOutcome outcome = parse(release, row.words, row.with_model);
      const auto* usage = std::get_if<UsageError>(&outcome);
      ASSERT_NE(usage, nullptr) << release.text() << ": " << row.reason;
      EXPECT_EQ(usage->kind, row.kind) << release.text() << ": " << row.reason;
      EXPECT_EQ(usage->flag, row.flag) << release.text() << ": " << row.reason;
      EXPECT_EQ(usage->where.argv_index, row.argv_index) << release.text() << ": " << row.reason;
    }
  }
}

struct RaisedRow {
  Words words;
  std::string exception;
  std::string function;
};

const RaisedRow kRaised[] = {
    {{"--log-level", "loud"}, "AttributeError", "prepare_server_args"},
    {{"--log-level", "basic_format"}, "ValueError", "prepare_server_args"},
    {{"--lora-paths", "{bad}"}, "JSONDecodeError", "__call__"},
    {{"--lora-paths", R"({"lora_name":"a"})"}, "AssertionError", "__call__"},
    {{"--config"}, "ValueError", "_extract_config_file_path"},
    {{"--config", "a.yaml", "--config", "b.yaml"}, "ValueError", "_extract_config_file_path"},
    {{"--config", "a.json"}, "ValueError", "_validate_yaml_file"},
    {{"--config", "/nowhere/a.yaml"}, "ValueError", "_validate_yaml_file"},
};

TEST(ArgsParse, RaisesWhatSGLangRaisesWhileParsing) {
  for (const auto& row : kRaised) {
    const ParseOutcome outcome = parse(kNew, row.words);
    const auto* refused = std::get_if<ParseRefusal>(&outcome);
    ASSERT_NE(refused, nullptr) << row.words.back();
    EXPECT_EQ(refused->refusal.exception, row.exception) << row.words.back();
    EXPECT_EQ(refused->refusal.function, row.function) << row.words.back();
  }
}

TEST(ArgsParse, DeprecatedOptionsWarnAndStoreUnderTheNewName) {
  const ParseOutcome alias = parse(kOld, {"--nsa-decode-backend", "fa3", "--stream-output"});
  const auto& old = std::get<ServerArgs>(alias);
  EXPECT_EQ(old[Field::dsa_decode_backend], Value("fa3"));
  EXPECT_EQ(old[Field::incremental_streaming_output], Value(true));
  ASSERT_EQ(old.warnings.size(), 2U);
  EXPECT_EQ(old.warnings[0].function, "print_deprecated_warning");
  const ParseOutcome constant = parse(kNew, {"--monokernel-backend", "amd"});
  EXPECT_EQ(std::get<ServerArgs>(constant)[Field::enable_amd_monokernel], Value(true));
}

TEST(ArgsParse, NotesAnExplicitRadixPolicyOnlyWhenSpelledOut) {
  const auto noted = [](Words words) {
    return std::get<ServerArgs>(parse(kNew, std::move(words)))[Field::_radix_eviction_policy_explicitly_set].as_bool();
  };
  EXPECT_TRUE(noted({"--radix-eviction-policy", "lru"}));
  EXPECT_TRUE(noted({"--radix-eviction-policy=lru"}));
  EXPECT_FALSE(noted({"--radix-eviction-policy-config", "{}"}));
  EXPECT_FALSE(noted({}));
}

TEST(ArgsParse, EveryGivenOptionKnowsItsPlaceAndSpelling) {
  SourceRange pasted{.file = "launch.sh", .line = 3, .column = 14};
  const auto outcome = args::parse(kNew, {"--model", "m", "--cuda-graph-bs-dec", "1", "2"}, {{}, {}, pasted, {}, {}});
  const auto& args = std::get<ServerArgs>(outcome);
  const GivenOption* given = args.last_given(Field::cuda_graph_bs_decode);
  ASSERT_NE(given, nullptr);
  EXPECT_EQ(given->option, "--cuda-graph-bs-decode");
  EXPECT_EQ(given->spelled, "--cuda-graph-bs-dec");
  EXPECT_EQ(given->where.argv_index, 2);
  EXPECT_EQ(given->where.length, 3);
  EXPECT_EQ(given->where.line, 3);
  EXPECT_EQ(args.given.front().option, "--model");
}

TEST(ArgsParse, AbsurdInputEndsInAnOutcomeQuickly) {
  const auto start = std::chrono::steady_clock::now();
  parse(kNew, {"--json-model-override-args", std::string(2U << 20U, '{')});
  parse(kNew, {"--preferred-sampling-params", std::string(2U << 20U, '[')});
  parse(kNew, {"--page-size", std::string(2U << 20U, '9')});
  parse(kNew, {std::string(2U << 20U, '-')});
  parse(kNew, {"-" + std::string(2U << 20U, 'h')});
  parse(kNew, Words(50'000, "--disable-radix-cache"));
  parse(kNew, Words(50'000, std::string("\0x", 2)));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(ClosestOptions, FindsMistypedOptions) {
  EXPECT_EQ(args::closest_options(kNew, "--page-szie").front(), "--page-size");
  EXPECT_EQ(args::closest_options(kNew, "--page_size=64").front(), "--page-size");
  EXPECT_EQ(args::closest_options(kNew, "atention-backend").front(), "--attention-backend");
  EXPECT_TRUE(args::closest_options(kNew, "--quite-something-else").empty());
  EXPECT_TRUE(args::closest_options(kNew, std::string(1U << 20U, 'x')).empty());
}

TEST(ClosestChoice, SeesPastSpellingAndOtherNames) {
  using Choices = std::vector<std::string_view>;
  const Choices backends = {"triton", "torch_native", "flashinfer", "fa3", "intel_amx", "intel_xpu"};
  EXPECT_EQ(args::closest_choice("intelxpu", backends), "intel_xpu");
  EXPECT_EQ(args::closest_choice("intel-xpu", backends), "intel_xpu");
  EXPECT_EQ(args::closest_choice("xpu", backends), "intel_xpu");
  EXPECT_EQ(args::closest_choice("tritn", backends), "triton");
  EXPECT_EQ(args::closest_choice("intel", backends), "");  // two have it
  EXPECT_EQ(args::closest_choice("rocm", backends), "");
  EXPECT_EQ(args::closest_choice("bf16", Choices{"auto", "half", "bfloat16"}), "bfloat16");
  EXPECT_EQ(args::closest_choice("fp8", Choices{"auto", "fp8_e5m2", "fp8_e4m3"}), "fp8_e4m3");
}

}  // namespace
}  // namespace preflight
