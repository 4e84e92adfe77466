// Fixes written back: only the options concerned change, a backup stays, and nothing is written that reads otherwise.
#include <gmock/gmock.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <string>

#include "src/base/replaced_file.h"
#include "src/fix/write_back.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Kind = ArgumentChange::Kind;

ArgumentChange in_file(Kind kind, int line, std::vector<std::string> before, std::vector<std::string> after = {}) {
  return {kind, std::move(before), std::move(after), {.file = "c.yaml", .line = line, .column = 1}};
}

TEST(EditYaml, ChangesOneEntryAndKeepsTheRest) {
  const std::string text =
      "# launch\n"
      "model-path: m   # the model\n"
      "page-size:  32  # small\n"
      "cuda-graph-bs:\n"
      "  - 1\n"
      "  - 2\n"
      "\n"
      "# parallel\n"
      "tp-size: '8'\n";
  struct Row {
    ArgumentChange change;
    std::string expected;
  };
  const Row rows[] = {
      {in_file(Kind::kReplace, 3, {"--page-size", "32"}, {"--page-size", "128"}),
       "# launch\nmodel-path: m   # the model\npage-size:  128  # small\ncuda-graph-bs:\n  - 1\n  - 2\n\n# "
       "parallel\ntp-size: '8'\n"},
      {in_file(Kind::kDrop, 4, {"--cuda-graph-bs", "1", "2"}),
       "# launch\nmodel-path: m   # the model\npage-size:  32  # small\n\n# parallel\ntp-size: '8'\n"},
      {in_file(Kind::kReplace, 4, {"--cuda-graph-bs", "1", "2"}, {"--cuda-graph-bs", "4", "8"}),
       "# launch\nmodel-path: m   # the model\npage-size:  32  # small\ncuda-graph-bs: [4, 8]\n\n# parallel\ntp-size: "
       "'8'\n"},
      {in_file(Kind::kReplace, 9, {"--tp-size", "8"}, {"--tp-size", "4"}),
       "# launch\nmodel-path: m   # the model\npage-size:  32  # small\ncuda-graph-bs:\n  - 1\n  - 2\n\n# "
       "parallel\ntp-size: 4\n"},
      {in_file(Kind::kReplace, 3, {"--page-size", "32"}, {"--dtype", "no"}),
       "# launch\nmodel-path: m   # the model\ndtype:  'no'  # small\ncuda-graph-bs:\n  - 1\n  - 2\n\n# "
       "parallel\ntp-size: '8'\n"},
  };
  for (const Row& row : rows) {
    CheckedFix fix;
    fix.changes = {row.change};
    const auto out = fix::edit_yaml(text, "c.yaml", fix, false);
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(*out, row.expected);
  }
  CheckedFix added;
  added.changes = {{Kind::kAdd, {}, {"--disable-radix-cache"}, {}}};
  EXPECT_EQ(fix::edit_yaml("a: 1", "c.yaml", added, true).value(), "a: 1\ndisable-radix-cache: true\n");
}

TEST(EditYaml, RefusesWhatItCannotPlace) {
  CheckedFix fix;
  fix.changes = {in_file(Kind::kDrop, 1, {"--page-size", "32"})};
  EXPECT_FALSE(fix::edit_yaml("{page-size: 32}\n", "c.yaml", fix, false));
}

TEST(CheckFix, WritesACommandFileAndKeepsItsLayout) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("launch.sh",
                                    "#!/bin/sh\n"
                                    "# production\n"
                                    "exec python -m sglang.launch_server \\\n"
                                    "  --model-path Qwen/Qwen2.5-7B-Instruct \\\n"
                                    "  --tp-size \"8\" \\\n"
                                    "  --port 30000\n");
  const ToolRun run = run_tool({"check", "--no-kernel", "--fix", "--command-file", path});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("Fix written to " + path));
  EXPECT_EQ(read_file(path),
            "#!/bin/sh\n"
            "# production\n"
            "exec python -m sglang.launch_server \\\n"
            "  --model-path Qwen/Qwen2.5-7B-Instruct \\\n"
            "  --tp-size 4 \\\n"
            "  --port 30000\n");
  EXPECT_THAT(read_file(path + ".bak"), HasSubstr("--tp-size \"8\""));
  EXPECT_EQ(run_tool({"check", "--no-kernel", "--command-file", path}).status, 0);
}

TEST(CheckFix, DropsAnOptionWithItsLine) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("launch.sh",
                                    "python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B \\\n"
                                    "  --enforce-eager \\\n"
                                    "  --port 30000  # the usual one\n");
  EXPECT_EQ(run_tool({"check", "--no-kernel", "--fix", "--command-file", path}).status, 0);
  EXPECT_EQ(read_file(path),
            "python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B \\\n"
            "  --port 30000  # the usual one\n");
}

TEST(CheckFix, WritesTheConfigFileOfTheLaunch) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("launch.yaml",
                                    "# seven billion\n"
                                    "model-path: Qwen/Qwen2.5-7B-Instruct\n"
                                    "tp-size: 8  # all cards\n"
                                    "port: 30000\n");
  const ToolRun run = run_tool({"check", "--no-kernel", "--fix", "--", "--config", path});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_EQ(read_file(path),
            "# seven billion\n"
            "model-path: Qwen/Qwen2.5-7B-Instruct\n"
            "tp-size: 4  # all cards\n"
            "port: 30000\n");
  EXPECT_THAT(read_file(path + ".bak"), HasSubstr("tp-size: 8  # all cards"));
}

// ["--tp", "3"], of JSON and of YAML: an item stays one, with its quotes and commas.
TEST(CheckFix, WritesIntoListsInBrackets) {
  const TemporaryDirectory dir;
  const std::string start = "python3, -m, sglang.launch_server, --model-path, Qwen/Qwen2.5-7B-Instruct, --page-size, ";
  const std::string path = dir.file("user-data.yaml", "#cloud-config\nruncmd:\n  - [" + start + "64, --tp, \"3\"]\n");
  ToolRun run = run_tool({"check", "--no-kernel", "--fix", "--command-file", path});
  EXPECT_THAT(run.out, HasSubstr("Fix written to " + path)) << run.out;
  EXPECT_EQ(read_file(path), "#cloud-config\nruncmd:\n  - [" + start + "64, --tp, \"2\"]\n");
  EXPECT_EQ(run_tool({"check", "--no-kernel", "--command-file", path}).status, 0) << read_file(path);
  const std::string image = dir.file("Dockerfile",
                                     "FROM lmsysorg/sglang:v0.5.20\nCMD [\"python3\", \"-m\", "
                                     "\"sglang.launch_server\", \"--model-path\", \"Qwen/Qwen2.5-7B-Instruct\", "
                                     "\"--enforce-eager\", \"--tp\", \"3\"]\n");
  run = run_tool({"check", "--no-kernel", "--fix", "--command-file", image});
  EXPECT_THAT(run.out, HasSubstr("Fix written to " + image)) << run.out;
  EXPECT_THAT(read_file(image), HasSubstr("\"Qwen/Qwen2.5-7B-Instruct\", \"--tp\", \""));
}

TEST(CheckFix, SaysWhyNothingIsWritten) {
  const TemporaryDirectory dir;
  const std::string text = "python -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --tp-size 8\n";
  const std::string path = dir.file("launch.sh", text);
  const ToolRun run =
      run_command_line("(ulimit -f 0; xpu-preflight check --no-kernel --fix --command-file " + path + ") | cat");
  EXPECT_THAT(run.out, HasSubstr("Fix not written: " + path + ": the new text cannot be written: File too large"));
  EXPECT_EQ(read_file(path), text);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(CheckFix, LeavesTypedArgumentsToTheUser) {
  const ToolRun run =
      run_tool({"check", "--no-kernel", "--fix", "--", "--model-path", "Qwen/Qwen2.5-7B-Instruct", "--tp", "8"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("not written"));
  EXPECT_THAT(run.out, HasSubstr("python -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --tp 4"));
}

TEST(CheckFix, SendsToTheScriptThatAnImageCopies) {
  const TemporaryDirectory dir;
  dir.file("start.sh",
           "#!/bin/bash\nexec python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --device xpu --tp 3 "
           "--page-size 7\n");
  const std::string image =
      dir.file("Dockerfile", "FROM lmsysorg/sglang:v0.5.20-xpu\nCOPY start.sh /start.sh\nENTRYPOINT [\"/start.sh\"]\n");
  const ToolRun run = run_tool({"check", "--no-kernel", "--command-file", image, "--fix"});
  EXPECT_THAT(run.out, HasSubstr("Fix not written: line 2 only names where these arguments are written, in another "
                                 "file or in a variable: change them there"))
      << run.err;
}

TEST(CheckFix, RefusesAWordThatAVariableGave) {
  const TemporaryDirectory dir;
  const std::string text = "TP=8\npython -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct $ARGS\n";
  const std::string path = dir.file("launch.sh", text);
  const ToolRun run =
      run_tool({"check", "--no-kernel", "--fix", "--set", "ARGS=--tp-size 8 --port 1", "--command-file", path});
  EXPECT_EQ(run.status, 1) << run.out;
  EXPECT_EQ(read_file(path), text);
}

// What a file has beside its text is its owner's, too.
TEST(CheckFix, KeepsTheExtendedAttributesOfWhatItReplaces) {
  const TemporaryDirectory dir;
  const std::string launch = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 3\n";
  const std::string script = dir.file("a.sh", launch);
  const std::string report = dir.file("report.json", "{}");
  constexpr const char* kName = "user.origin";
  for (const std::string& file : {script, report}) {
    if (setxattr(file.c_str(), kName, "mine", 4, 0) != 0) GTEST_SKIP() << "this file system keeps none";
  }
  const auto kept = [&](const std::string& file) {
    std::string value(8, '\0');
    const ssize_t size = getxattr(file.c_str(), kName, value.data(), value.size());
    return value.substr(0, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  };
  run_tool({"check", "--no-kernel", "--output", "json=" + report, script});
  EXPECT_GT(read_file(report).size(), 2U);
  EXPECT_EQ(kept(report), "mine");
  run_tool({"check", "--no-kernel", "--fix", "--command-file", script});
  EXPECT_NE(read_file(script), launch);
  EXPECT_EQ(kept(script), "mine");
  EXPECT_EQ(read_file(script + ".bak"), launch);
  EXPECT_EQ(kept(script + ".bak"), "mine");
}

std::size_t files_in(const std::string& folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Somebody edits the file while a fix for what stood there is looked for.
TEST(ReplaceFile, LeavesAFileAloneThatWasChanged) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("a.sh", "old and more");
  const auto replaced = fix::replace_file(path, "old", "new");
  ASSERT_FALSE(replaced);
  EXPECT_THAT(replaced.error().message, HasSubstr("it was changed while the fix was made, and nothing is written"));
  EXPECT_EQ(read_file(path), "old and more");
  EXPECT_EQ(files_in(dir.path()), 1U);
  EXPECT_TRUE(fix::replace_file(path, "old and more", "new"));
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(files_in(dir.path()), 2U);
}

// The backup is the file that stood there, so that what an editor still writes to it is in it.
TEST(ReplaceFile, KeepsTheOldFileItselfAsBackup) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("a.sh", "old");
  const std::string other = dir.file("b.sh", "other");
  const long able = syscall(SYS_renameat2, AT_FDCWD, path.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
  if (able != 0) GTEST_SKIP() << "two files cannot change places here";
  EXPECT_EQ(read_file(path), "other");
  const int editor = open(path.c_str(), O_WRONLY | O_APPEND);
  for (const std::string backup : {".bak", ".bak2"}) {
    const std::string before = read_file(path);
    const auto replaced = fix::replace_file(path, before, before + "!");
    ASSERT_TRUE(replaced);
    EXPECT_EQ(*replaced, path + backup);
  }
  EXPECT_EQ(write(editor, " more", 5), 5);
  close(editor);
  EXPECT_EQ(read_file(path), "other!!");
  EXPECT_EQ(read_file(path + ".bak"), "other more");
  EXPECT_EQ(read_file(path + ".bak2"), "other!");
  EXPECT_TRUE(fix::undo_replacing(path, path + ".bak2"));
  EXPECT_EQ(read_file(path), "other!");
  EXPECT_FALSE(fix::undo_replacing(path, path + ".bak2"));
}

TEST(ReplaceFile, IsNotInterrupted) {
  static int came = 0;
  struct sigaction counts {};
  struct sigaction before {};
  counts.sa_handler = [](int) { ++came; };
  sigaction(SIGTERM, &counts, &before);
  {
    const SignalsWait waits;
    raise(SIGTERM);
    EXPECT_EQ(came, 0);
  }
  EXPECT_EQ(came, 1);
  sigaction(SIGTERM, &before, nullptr);
}

// A fix of two files is written to both or to neither.
TEST(CheckFix, WritesTwoFilesOrNone) {
  const TemporaryDirectory dir;
  const std::string config = dir.file("c.yaml", "model-path: Qwen/Qwen2.5-7B-Instruct\ntp-size: 8\n");
  const std::string command =
      dir.file("a.sh", "python -m sglang.launch_server --config " + config + " --attention-backend flashinfer\n");
  std::filesystem::create_hard_link(command, dir.path() + "/same.sh");  // which nothing takes the place of
  const ToolRun none = run_tool({"check", "--no-kernel", "--fix", "--command-file", command});
  EXPECT_THAT(none.out, HasSubstr("it has other names (hard links)"));
  EXPECT_THAT(read_file(config), HasSubstr("tp-size: 8"));
  EXPECT_EQ(files_in(dir.path()), 3U);
  std::filesystem::remove(dir.path() + "/same.sh");
  run_tool({"check", "--no-kernel", "--fix", "--command-file", command});
  EXPECT_THAT(read_file(config), HasSubstr("tp-size: 4"));
  EXPECT_THAT(read_file(command), Not(HasSubstr("flashinfer")));
}

}  // namespace
}  // namespace preflight::testing
