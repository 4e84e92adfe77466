// The --config file: what PyYAML reads, and the words that SGLang makes of it. Rows are facts from PyYAML 6.0 and the
// real releases.
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "src/args/parse.h"

namespace preflight {
namespace {

class Yaml {
 public:
  explicit Yaml(const std::string& text)
      : path_(testing::TempDir() + "args_config_" + std::to_string(getpid()) + ".yaml") {
    std::ofstream(path_, std::ios::binary) << text;
  }
  Yaml(const Yaml&) = delete;
  Yaml& operator=(const Yaml&) = delete;
  ~Yaml() { unlink(path_.c_str()); }

  [[nodiscard]] ParseOutcome parse(Release release = v0_5(23)) const {
    return args::parse(release, {"--model-path", "m", "--config", path_});
  }

 private:
  std::string path_;
};

struct ScalarRow {
  std::string yaml;
  std::string text;  // what str() makes of it
};

const ScalarRow kScalars[] = {
    {"yes", "true"},
    {"Off", "false"},
    {"y", "y"},
    {"~", "None"},
    {"", "None"},
    {"'~'", "~"},
    {"010", "8"},
    {"0o10", "0o10"},
    {"08", "08"},
    {"0x1F", "31"},
    {"0b101", "5"},
    {"1_000", "1000"},
    {"190:20:30", "685230"},
    {"1:30.5", "90.5"},
    {"1e3", "1e3"},
    {"1.5e+3", "1500.0"},
    {"5.", "5.0"},
    {".inf", "inf"},
    {"2024-01-02", "2024-01-02"},
    {"2024-1-2", "2024-1-2"},
    {"2024-01-02T03:04:05.5Z", "2024-01-02 03:04:05.500000+00:00"},
    {"!!str 5", "5"},
    {"! \"12\"", "12"},
    {"\"\\x41\\u00e9\"", "Aé"},
    {"'it''s'", "it's"},
    {"a #c", "a"},
    {"a#c", "a#c"},
    {"a\n  b", "a b"},
    {"|\n  a\n  b\n", "a\nb\n"},
    {">-\n  a\n  b\n", "a b"},
    {"99999999999999999999999", "99999999999999999999999"},
    {"{a: [1, yes], 2: x}", R"({"a": [1, true], "2": "x"})"},
};

TEST(ArgsConfig, ScalarsFollowYaml11AndPythonsStr) {
  for (const auto& row : kScalars) {
    const ParseOutcome outcome = Yaml("served-model-name: " + row.yaml).parse();
    const auto* args = std::get_if<ServerArgs>(&outcome);
    ASSERT_NE(args, nullptr) << row.yaml;
    EXPECT_EQ((*args)[Field::served_model_name], Value(row.text)) << row.yaml;
  }
}

struct FaultRow {
  std::string yaml;
  std::string exception;
  std::string function = "_parse_yaml_config";
};

const FaultRow kFaults[] = {
    {"page-size: 1\n- a", "ParserError"},
    {"page-size: [1", "ParserError"},
    {"page-size:\t64", "ScannerError"},
    {"a: b: c", "ScannerError"},
    {"page-size: \"64", "ScannerError"},
    {"page-size: @x", "ScannerError"},
    {"page-size: *x", "ComposerError"},
    {"a: &x 1\nb: &x 2", "ComposerError"},
    {"tp: 1\n---\ntp: 2", "ComposerError"},
    {"a: !foo 1", "ConstructorError"},
    {"[a]: 1", "ConstructorError"},
    {"a: <<", "ConstructorError"},
    {"a: 2024-13-01", "ValueError"},
    {"a: !!bool maybe", "KeyError"},
    {std::string("a: \x01"), "ReaderError"},
    {"a: \xff", "UnicodeDecodeError"},
    {"- a", "ValueError"},
    {"1: 2", "AttributeError", "_convert_config_to_args"},
    {"2024-01-02: 2", "TypeError", "_convert_config_to_args"},
    {"lora-strict-loading: true", "ValueError", "_convert_config_to_args"},
    {"page-size: {a: 2024-01-02}", "TypeError", "_convert_config_to_args"},
};

TEST(ArgsConfig, FaultsAreThosePythonRaises) {
  for (const auto& row : kFaults) {
    const ParseOutcome outcome = Yaml(row.yaml).parse();
    const auto* refused = std::get_if<ParseRefusal>(&outcome);
    ASSERT_NE(refused, nullptr) << row.yaml;
    EXPECT_EQ(refused->refusal.exception, row.exception) << row.yaml;
    EXPECT_EQ(refused->refusal.function, row.function) << row.yaml;
  }
}

TEST(ArgsConfig, UnreadableYamlIsLoggedBeforeItRaises) {
  const ParseOutcome syntax = Yaml("a: [").parse();
  ASSERT_EQ(std::get<ParseRefusal>(syntax).warnings.size(), 1U);
  EXPECT_EQ(std::get<ParseRefusal>(syntax).warnings[0].level, "ERROR");
  const ParseOutcome root = Yaml("- a").parse();
  EXPECT_TRUE(std::get<ParseRefusal>(root).warnings.empty());
}

TEST(ArgsConfig, TheCommandLineWinsAndSwitchesFollowTheirTruth) {
  const Yaml yaml("page-size: 16\ntp-size: 4\ndisable-radix-cache: yes\nskip-tokenizer-init: no\nlora-paths: []\n");
  const ParseOutcome outcome = yaml.parse();
  ASSERT_TRUE(std::holds_alternative<ParseRefusal>(outcome));  // LoRA paths cannot stand in a file
  const Yaml plain("page-size: 16\ntp-size: 4\ndisable-radix-cache: yes\nskip-tokenizer-init: no\n");
  const ParseOutcome accepted = plain.parse();
  const auto& args = std::get<ServerArgs>(accepted);
  EXPECT_EQ(args[Field::page_size], Value(16));
  EXPECT_EQ(args[Field::disable_radix_cache], Value(true));
  EXPECT_EQ(args[Field::skip_tokenizer_init], Value(false));
  EXPECT_TRUE(args.last_given(Field::tp_size)->from_config_file);
  EXPECT_EQ(args.last_given(Field::tp_size)->where.line, 2);
  EXPECT_FALSE(args.last_given(Field::model_path)->from_config_file);
}

// json.dumps since 0.5.14; every long spelling of a switch since 0.5.23.
TEST(ArgsConfig, TheOlderMergersKnowDestinationsOnlyAndPrintDicts) {
  const Yaml spelled("enable-hicache: true\n");
  EXPECT_EQ(std::get<ServerArgs>(spelled.parse(v0_5(23)))[Field::enable_hierarchical_cache], Value(true));
  EXPECT_TRUE(std::holds_alternative<UsageError>(spelled.parse(v0_5(22))));
  const Yaml negated("no-dllm-fdfo: true\n");  // no key that the older merger knows, so the word goes to the parser
  EXPECT_TRUE(std::holds_alternative<ParseRefusal>(negated.parse(v0_5(23))));
  EXPECT_TRUE(std::holds_alternative<UsageError>(negated.parse(v0_5(22))));
  const Yaml yaml("json-model-override-args: {a: 1}\n");
  EXPECT_EQ(std::get<ServerArgs>(yaml.parse(v0_5(13, 1)))[Field::json_model_override_args], Value("{'a': 1}"));
  EXPECT_EQ(std::get<ServerArgs>(yaml.parse(v0_5(14)))[Field::json_model_override_args], Value(R"({"a": 1})"));
}

TEST(ArgsConfig, MergeKeysAndRepeatedKeys) {
  const ParseOutcome outcome = Yaml("<<: {page-size: 1, tp-size: 8}\npage-size: 2\npage-size: 4\n").parse();
  const auto& args = std::get<ServerArgs>(outcome);
  EXPECT_EQ(args[Field::page_size], Value(4));
  EXPECT_EQ(args[Field::tp_size], Value(8));
}

TEST(ArgsConfig, FilesWithoutEndEndInAnOutcome) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'l'; ++c) {
    const char before = static_cast<char>(c - 1);
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) bomb += std::string(i > 0 ? ", *" : "*") + before;
    bomb += "]\n";
  }
  EXPECT_TRUE(std::holds_alternative<ParseRefusal>(Yaml(bomb).parse()));
  EXPECT_TRUE(std::holds_alternative<ParseRefusal>(Yaml("a: " + std::string(1U << 20U, '[')).parse()));
  EXPECT_TRUE(std::holds_alternative<UsageError>(Yaml("a: &a [*a]").parse()));
}

}  // namespace
}  // namespace preflight
