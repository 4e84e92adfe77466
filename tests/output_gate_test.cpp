// What passes the program's one gate, and what is written as its number.
#include "src/report/output_gate.h"

#include "src/report/style.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using report::gated;
using report::OutputGate;

TEST(OutputGate, WritesWhatActsOnTheTextAroundItAsItsNumber) {
  struct Row {
    std::string text;
    std::string shown;
  };
  const std::vector<Row> rows = {
      {"plain\n\ttext ~", "plain\n\ttext ~"},
      {"größer 模型 🙂", "größer 模型 🙂"},
      {"a\rb", "a\\u000db"},                                                            // back to the begin of the line
      {std::string("a\0b", 3), "a\\u0000b"},                                            //
      {"\x7f", "\\u007f"},                                                              // DEL
      {"\xc2\x80|\xc2\x9b|\xc2\x9f|\xc2\xa0", "\\u0080|\\u009b|\\u009f|\xc2\xa0"},      // C1 and the first behind it
      {"\xe2\x80\xae", "\\u202e"},                                                      // right to left
      {"\xe2\x80\xa7|\xe2\x80\xa8|\xe2\x80\xaf", "\xe2\x80\xa7|\\u2028|\xe2\x80\xaf"},  // around the separators
      {"\xe2\x81\xa0|\xe2\x81\xaf|\xe2\x81\xb0", "\\u2060|\\u206f|\xe2\x81\xb0"},       // isolates
      {"\xef\xbb\xbf", "\\ufeff"},                                                      // byte order mark
      {"\xef\xbf\xbd|\xef\xbf\xbe|\xef\xbf\xbf", "\xef\xbf\xbd|\\ufffe|\\uffff"},       // no characters, in no plane
      {"\xef\xb7\x8f|\xef\xb7\x90|\xef\xb7\xaf|\xef\xb7\xb0|\xf0\x9f\xbf\xbe",
       "\xef\xb7\x8f|\\ufdd0|\\ufdef|\xef\xb7\xb0|\\ud83f\\udffe"},
      {"\xf3\xa0\x81\x81", "\\udb40\\udc41"},                                                         // a tag
      {"\xff|\xc3|\xe2\x82", "\\xff|\\xc3|\\xe2\\x82"},                                               // no UTF-8
      {"\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80", "\\xc0\\xaf|\\xed\\xa0\\x80|\\xf4\\x90\\x80\\x80"},  // nor these
      {"\033[2J\033]0;title\a", "\\u001b[2J\\u001b]0;title\\u0007"},
      {"\033[1;31;1;31;1m", "\\u001b[1;31;1;31;1m"},  // longer than any of ours
  };
  for (const Row& row : rows) EXPECT_EQ(gated(row.text), row.shown) << row.shown;
}

// Text is looked at several bytes at once.
TEST(OutputGate, SeesAByteThatActsInEachPlaceOfALine) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    for (std::size_t at = 0; at < 20; ++at) {
      const std::string before(at, at % 2 == 0 ? '~' : ' ');
      const std::string after(19 - at, '\n');
      EXPECT_EQ(gated(before + one + after), before + gated(one) + after) << byte << " at " << at;
    }
  }
}

// Once the program colours, its own codes pass, and no other.
TEST(OutputGate, ColoursPassWhereTheyAreTheProgramsOwn) {
  const report::Style style(true);
  const std::string own = style.bold("a") + style.red("b") + style.green("c") + style.yellow("d") + style.cyan("e") +
                          style.dim("f") + "\033";
  EXPECT_EQ(gated(own), own.substr(0, own.size() - 1) + "\\u001b");
  EXPECT_EQ(gated("\033[31m|\033[K|\033[8m|\033[1"), "\\u001b[31m|\\u001b[K|\\u001b[8m|\\u001b[1");
}

TEST(OutputGate, IsTheSameWhereverAWriteIsCut) {
  const std::string text = "a\033[1mß\xe2\x80\xae\xff\033[0m \xf0\x9f\x99\x82 end\xe2\x82";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    std::ostringstream out;
    {
      const OutputGate gate(out);
      out << text.substr(0, cut);
      for (const char c : text.substr(cut)) out.put(c);
    }
    EXPECT_EQ(out.str(), gated(text)) << "cut at " << cut;
  }
}

TEST(OutputGate, CarriageReturnsPassWhereTheProgressLineIsWritten) {
  std::ostringstream out;
  {
    const OutputGate gate(out, OutputGate::Returns::kPass);
    out << "\r\033[Kkernel cases";
  }
  EXPECT_EQ(out.str(), "\r\033[Kkernel cases");
}

// Every command, with names that would act on a terminal or start a line that a CI system reads as its own.
TEST(OutputGate, NothingAUserNamedActsOnATerminal) {
  const std::string hostile = "x\n::error::\x1b[2J\xc2\x9b\xe2\x80\xaey\xff";
  const std::vector<std::vector<std::string>> rows = {
      {"check", "--no-kernel", "--", "--model-path", hostile},
      {"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-8B", "--served-model-name", hostile, "--tp", "3"},
      {"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-8B", "--" + hostile},
      {"check", "--no-kernel", "--command-file", "/" + hostile},
      {"check", hostile},
      {hostile},
      {"resolve", "--all", "--", "--model-path", "Qwen/Qwen3-8B", "--served-model-name", hostile},
      {"resolve", "--", "--model-path", "Qwen/Qwen3-8B", "--attention-backend", hostile},
      {"memory", "--", "--model-path", "Qwen/Qwen3-8B", "--served-model-name", hostile},
      {"memory", "--", "--model-path", hostile},
      {"pages", "--no-kernel", "--", "--model-path", hostile},
      {"upgrade", "--from", "0.5.13", "--", "--model-path", "Qwen/Qwen3-8B", "--served-model-name", hostile},
      {"explain", hostile},
      {"explain", "page_size", "--", "--model-path", "Qwen/Qwen3-8B", "--page-size", hostile},
      {"nodes", "/" + hostile},
  };
  for (const auto& row : rows) {
    for (const char* format : {"text", "json"}) {
      std::vector<std::string> words = row;
      if (words[0] != hostile && words[0] != "explain") words.insert(words.begin() + 1, {"--format", format});
      const ToolRun run = run_tool(words);
      EXPECT_NE(run.status, 3) << words[0];
      for (const std::string& text : {run.out, run.err}) {
        EXPECT_EQ(text, gated(text)) << words[0];
        EXPECT_EQ(("\n" + text).find("\n::error::"), std::string::npos) << words[0] << ": " << text;
      }
    }
  }
}

// What stands in files: a model's configuration, the names of files and of what is in them, in text of every command.
TEST(OutputGate, NothingInAFileActsOnATerminal) {
  const TemporaryDirectory dir;
  const std::string json = R"(a\n::error::\u001b[31m\u009by)";
  const std::string shape =
      R"("hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 8, "num_hidden_layers": 4,
         "vocab_size": 1000, "max_position_embeddings": 4096, "head_dim": 64, "intermediate_size": 2048)";
  const std::string unknown = dir.path() + "/unknown";
  dir.file("unknown/config.json", R"({"model_type": "qwen3", "architectures": [")" + json + R"("], )" + shape + "}");
  const std::string typed = dir.path() + "/typed";
  dir.file("typed/config.json", R"({"model_type": ")" + json + R"(", "architectures": [")" + json +
                                    R"("], "quantization_config": {"quant_method": ")" + json + R"("}, )" + shape +
                                    "}");
  const std::string python = "python -m sglang.launch_server --model-path ";
  const std::string script = dir.file("x\n::error::\033[31m.sh", python + "Qwen/Qwen3-8B --tp 3\n");
  const std::string compose =
      dir.file("compose.yaml",
               "services:\n  \"x\\n::error::\\e[31m\":\n    image: \"lmsysorg/sglang:v0.5.20-xpu\\n::error::\"\n"
               "    command: " +
                   python + unknown + "\n    environment: {\"A\\n::error::\": \"b\\n::error::\"}\n");
  std::vector<std::vector<std::string>> rows;
  for (const std::string& model : {unknown, typed}) {
    rows.push_back({"check", "--no-kernel", "--", "--model-path", model, "--tp", "3"});
    rows.push_back({"check", "--no-kernel", "--explain", "--", "--model-path", model});
    rows.push_back({"memory", "--", "--model-path", model});
    rows.push_back({"pages", "--no-kernel", "--", "--model-path", model});
    rows.push_back({"resolve", "--all", "--", "--model-path", model});
    rows.push_back({"suggest", model});
    rows.push_back({"upgrade", "--from", "0.5.13", "--", "--model-path", model});
    rows.push_back({"facts", "--", "--model-path", model});
    rows.push_back({"explain", "attention_backend", "--", "--model-path", model});
    rows.push_back({"explain", "MD001", "--", "--model-path", model});
  }
  for (const std::string& file : {script, compose, dir.path()}) {
    rows.push_back({"launches", file});
    rows.push_back({"check", "--no-kernel", file});
    for (const char* format : {"github", "gitlab", "junit", "markdown", "html", "sarif", "json"}) {
      rows.push_back({"check", "--no-kernel", "--output", format, file});
    }
  }
  rows.push_back({"nodes", script, script});
  for (const auto& row : rows) {
    const ToolRun run = run_tool(row);
    EXPECT_NE(run.status, 3) << ::testing::PrintToString(row);
    for (const std::string& text : {run.out, run.err}) {
      EXPECT_EQ(text, gated(text)) << ::testing::PrintToString(row);
      EXPECT_EQ(text.find('\033'), std::string::npos) << ::testing::PrintToString(row);
      EXPECT_EQ(("\n" + text).find("\n::error::"), std::string::npos) << ::testing::PrintToString(row) << text;
      EXPECT_EQ(text.find("\n::error::\\"), std::string::npos) << text;
    }
  }
}

// A report replaces the file of its name: what else is known by that file, or whose it is, stays.
TEST(OutputFile, LosesNothingOfTheOneItReplaces) {
  const TemporaryDirectory dir;
  const auto check = [](const std::string& file) {
    return run_tool({"check", "--no-kernel", "--output", "json=" + file, "--", "--model-path", "Qwen/Qwen3-8B"});
  };
  const std::string linked = dir.file("linked", "mine");
  const std::string other = dir.path() + "/other";
  ASSERT_EQ(link(linked.c_str(), other.c_str()), 0);
  const ToolRun refused = check(linked);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, ::testing::HasSubstr("other names (hard links)"));
  EXPECT_EQ(read_file(other), "mine");
  EXPECT_EQ(read_file(linked), "mine");
  ASSERT_EQ(unlink(other.c_str()), 0);
  EXPECT_EQ(check(linked).status, 0);
  EXPECT_THAT(read_file(linked), ::testing::HasSubstr("Qwen3-8B"));

  const std::string owned = dir.file("owned", "mine");
  if (chown(owned.c_str(), 1234, 1235) != 0) GTEST_SKIP() << "only root gives a file away";
  ASSERT_EQ(chmod(owned.c_str(), 0640), 0);
  EXPECT_EQ(check(owned).status, 0);
  struct stat status {};
  ASSERT_EQ(stat(owned.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 1234U);
  EXPECT_EQ(status.st_gid, 1235U);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
}

}  // namespace
}  // namespace preflight::testing
