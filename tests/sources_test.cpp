// Launches as operators keep them: tests/data/sources/*.txt holds one case behind another, each with its file's name,
// the kind of place it was seen at, its text and what must be read from it.
#include <algorithm>
#include <ctime>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "src/sources/launch_command.h"
#include "src/sources/yaml_tree.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::sources {
namespace {

struct Case {
  std::string head;  // the line as it stands
  std::string name;
  std::string file;
  std::string text;
  std::string expects;
};

// UPDATE_GOLDEN=1 writes down what is read now.
bool updates() { return std::getenv("UPDATE_GOLDEN") != nullptr; }

std::string stripped(std::string text) {
  const auto from = text.find_first_not_of(" \n");
  if (from == std::string::npos) return {};
  return text.substr(from, text.find_last_not_of(" \n") + 1 - from);
}

std::vector<Case> cases_of(const std::string& kind) {
  std::ifstream in(testing::source_directory() + "/tests/data/sources/" + kind + ".txt");
  std::stringstream all;
  all << in.rdbuf();
  std::vector<Case> out;
  std::string text = "\n" + all.str();
  for (auto at = text.find("\n=== "); at != std::string::npos;) {
    const auto next = text.find("\n=== ", at + 1);
    const std::string one = text.substr(at + 5, next == std::string::npos ? next : next - at - 5);
    const auto line = one.find('\n');
    const std::string head = one.substr(0, line);
    const auto first = head.find('|');
    const auto second = head.find('|', first + 1);
    const std::string rest = one.substr(line + 1);
    constexpr std::string_view kExpects = "--- expects\n";
    const auto behind = rest.find(kExpects);
    const bool has = behind != std::string::npos;
    EXPECT_TRUE(has || updates()) << head;
    out.push_back({head, stripped(head.substr(0, first)), stripped(head.substr(first + 1, second - first - 1)),
                   rest.substr(0, behind), has ? stripped(rest.substr(behind + kExpects.size())) : std::string()});
    at = next;
  }
  return out;
}

// One line for each thing that was understood.
std::string shown(const Result<std::vector<LaunchCommand>>& read) {
  if (!read) return "none: " + read.error().text();
  std::string out;
  for (const LaunchCommand& launch : *read) {
    out += fmt::format("launch {}{}{}\n", launch.where.line, launch.serve ? " serve" : "", launch.vllm ? " vllm" : "");
    for (std::string word : launch.argv) {
      std::replace(word.begin(), word.end(), kHole, '?');
      std::replace(word.begin(), word.end(), '\n', '~');
      out += "  [" + word + "]\n";
    }
    for (const auto& [name, value] : launch.env) out += fmt::format("  env {}={}\n", name, value);
    if (!launch.name.empty()) out += "  name " + launch.name + "\n";
    if (!launch.when.empty()) out += "  when " + launch.when.text() + "\n";
    if (!launch.image.empty()) out += "  image " + launch.image + "\n";
    if (!launch.release.empty()) out += "  release " + launch.release + "\n";
    for (const LaunchUnknown& unknown : launch.unknown) {
      out += fmt::format("  unknown {}:{} {}\n", unknown.where.line, unknown.where.column, unknown.what);
    }
    for (const LaunchDefault& one : launch.defaults) {
      out += fmt::format("  default {}:{} {}{}\n", one.where.line, one.where.column, one.name,
                         one.value ? "=" + *one.value : " none");
    }
    for (const ShellNote& note : launch.notes) out += fmt::format("  note {}\n", note.rule);
  }
  return stripped(out);
}

TEST(Sources, AreReadAsTheyWouldRun) {
  int count = 0;
  for (const char* name : {"shell", "containers", "others"}) {
    const std::string kind = name;
    const auto cases = cases_of(kind);
    if (updates()) {
      std::ofstream out(testing::source_directory() + "/tests/data/sources/" + kind + ".txt");
      for (const Case& one : cases) {
        out << "=== " << one.head << "\n"
            << one.text << (one.text.ends_with('\n') ? "" : "\n") << "--- expects\n"
            << shown(read_launches(one.text, {}, one.file)) << "\n";
      }
      continue;
    }
    for (const Case& one : cases) {
      EXPECT_EQ(shown(read_launches(one.text, {}, one.file)), one.expects) << kind << ": " << one.name;
      ++count;
    }
  }
  if (!updates()) {
    EXPECT_GE(count, 120);
  }
}

// Whether a script comes to a launch decides what is taken of what it is started with: a place that is not there is
// asked for where the script would end for it. What else is named like the server is none.
TEST(Sources, ANameLikeTheServersIsNoLaunch) {
  const testing::TemporaryDirectory dir;
  const std::string file = dir.path() + "/sglang/run.sh";
  for (const char* first : {"conda activate sglang", "python -c 'import sglang'", "docker rm -f sglang", "true",
                            "mkdir -p ~/sglang/logs", "source ~/sglang/bin/activate", "docker pull lmsysorg/sglang"}) {
    const std::string text = fmt::format(
        "{}\nD=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\nR=$(dirname \"$D\")\n"
        "if [ ! -f \"$D/models\" ]; then exit 1; fi\npython -m sglang.launch_server --model-path m\n",
        first);
    EXPECT_THAT(shown(read_launches(text, {}, file)),
                ::testing::AllOf(::testing::StartsWith("launch 5"),
                                 ::testing::HasSubstr("when unless the script ends at line 4")))
        << first;
  }
  // What may start a server is one: nothing was given to the script that comes to it.
  for (const char* last : {"docker run lmsysorg/sglang:latest --model-path m $A",
                           "ssh h \"python -m sglang.launch_server --model-path m $A\"",
                           "bash <<END\npython -m sglang.launch_server --model-path m $A\nEND"}) {
    const std::string text = fmt::format("A=; if [ -n \"$1\" ]; then A=--trust-remote-code; fi\n{}\n", last);
    EXPECT_THAT(shown(read_launches(text, {}, file)),
                ::testing::AllOf(::testing::StartsWith("launch"), ::testing::Not(::testing::HasSubstr("depends on"))))
        << last;
  }
}

// Every place that is told lies in the text.
TEST(Sources, PlacesLieInTheText) {
  for (const char* kind : {"shell", "containers", "others"}) {
    for (const Case& one : cases_of(kind)) {
      const auto read = read_launches(one.text, {}, one.file);
      if (!read) continue;
      for (const LaunchCommand& launch : *read) {
        ASSERT_EQ(launch.argv.size(), launch.spans.size()) << one.name;
        ASSERT_EQ(launch.argv.size(), launch.positions.size()) << one.name;
        for (const WordSpan& span : launch.spans) {
          EXPECT_LE(span.begin, span.end) << one.name;
          EXPECT_LE(span.end, one.text.size()) << one.name;
        }
      }
    }
  }
}

// Python has the whole path of the program that it is started with in __file__.
TEST(Sources, AProgramKnowsWhereItStands) {
  const testing::TemporaryDirectory dir;
  const std::string program =
      "import os, subprocess\nfrom pathlib import Path\nHERE = Path(__file__).resolve().parent\n"
      "TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), '..'))\n"
      "subprocess.run(['python', '-m', 'sglang.launch_server', '--model-path', str(HERE / 'm'), '--config',\n"
      "                f'{HERE.parents[0]}/c', '--chat-template', os.path.join(TOP, 't')])\n";
  const std::string path = dir.file("tools/run.py", program);
  const auto read = read_launches(program, {}, path);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 1U);
  const std::string& top = dir.path();
  EXPECT_EQ(read->front().argv, (std::vector<std::string>{"--model-path", top + "/tools/m", "--config", top + "/c",
                                                          "--chat-template", top + "/t"}));
  ASSERT_EQ(read->front().defaults.size(), 1U);
  EXPECT_EQ(read->front().defaults[0].why, TakenWhy::kPlace);
  EXPECT_EQ(read->front().defaults[0].where.line, 3);
  EXPECT_FALSE(read_launches(program, {}, "run.py")->front().unknown.empty());
}

// What lies in a folder that a script names is not what lies there on this machine.
TEST(Sources, AScriptThatGoesElsewhereIsAskedAboutItsFiles) {
  const testing::TemporaryDirectory dir;
  const std::string script =
      "cd /srv/none\n[ -f .env ] && . ./.env\npython -m sglang.launch_server --model-path m --tp ${TP:-1}\n";
  const auto read = read_launches(script, {}, dir.file("run.sh", script));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().unknown.size(), 1U);
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// Names of a Python program that stand for ever longer texts, and lists that carry each other.
std::string growing_names() {
  std::string out = "import sglang\nA0 = 'x'\n";
  for (int i = 1; i < 9; ++i) out += fmt::format("A{} = f'{}'\n", i, repeated(fmt::format("{{A{}}}", i - 1), 60));
  out += "L0 = ['python', '-m', 'sglang.launch_server', A8]\n";
  for (int i = 1; i < 9; ++i) out += fmt::format("L{} = {}\n", i, repeated(fmt::format("L{} + ", i - 1), 60) + "[A8]");
  return out;
}

// What may have been changed by something that is not followed is asked for by its name, and taken as it is given.
TEST(Sources, WhatMayHaveChangedIsAskedForByItsName) {
  const auto read_of = [](const std::string& body, const std::string& value, const Variables& given = {}) {
    const std::string program =
        "import json, subprocess, conf\ncfg = {'tp': 2}\n" + body +
        "\nsubprocess.run(['python', '-m', 'sglang.launch_server', '--model-path', 'm', '--tp', "
        "str(" +
        value + ")])\n";
    return read_launches(program, given, "run.py");
  };
  const std::pair<const char*, const char*> changed[] = {
      {"cfg.update(json.load(open('c.json')))", "cfg['tp']"},
      {"conf.fill(cfg)", "cfg['tp']"},
      {"conf.fill([cfg])", "cfg.get('tp', 1)"},
      {"conf.cfg = cfg", "cfg['tp']"},
      {"tp = 2\nfrom conf import *", "tp"},
      {"class C: tp = 2\nconf.fill(C)", "C.tp"},
      {"class C(conf.Base): tp = 2\nc = C()", "c.tp"},
  };
  for (const auto& [body, value] : changed) {
    const auto asked = read_of(body, value);
    ASSERT_TRUE(asked) << asked.error().text();
    ASSERT_EQ(asked->front().unknown.size(), 1U) << body;
    EXPECT_NE(asked->front().unknown[0].what.find("--set tp=VALUE"), std::string::npos) << body;
    const auto given = read_of(body, value, {{"tp", "8"}});
    ASSERT_TRUE(given) << given.error().text();
    EXPECT_EQ(given->front().argv.back(), "8") << body;
    EXPECT_TRUE(given->front().unknown.empty()) << body;
  }
}

// As the program calls it.
TEST(Sources, WhatIsImportedIsAskedForByItsName) {
  const std::pair<const char*, const char*> imports[] = {
      {"from conf import TP", "TP"},
      {"from conf import SIZE as TP", "TP"},
      {"import a.conf as c", "c.TP"},
      {"from .models import sizes", "sizes.TP"},
      {"from conf import SIZE\nclass c: TP = SIZE", "SIZE"},
      {"from conf import SIZE\nclass c: TP = SIZE", "c.TP"},
  };
  for (const auto& [import, name] : imports) {
    const std::string value = std::string(import).find("class") == std::string::npos ? name : "c.TP";
    const std::string program = fmt::format(
        "import os\n{}\nos.system('python -m sglang.launch_server --model-path m --tp ' + str({}))\n", import, value);
    const auto asked = read_launches(program, {}, "run.py");
    ASSERT_TRUE(asked) << asked.error().text();
    ASSERT_EQ(asked->front().unknown.size(), 1U) << program;
    EXPECT_NE(asked->front().unknown[0].what.find("give it with --set"), std::string::npos) << program;
    const auto given = read_launches(program, {{name, "8"}}, "run.py");
    ASSERT_TRUE(given) << given.error().text();
    EXPECT_EQ(given->front().argv.back(), "8") << program;
  }
}

// A container's words are its command and its arguments; what else an unknown call makes of a command is asked about.
TEST(Sources, ACommandHandedOverWithOtherWordsIsNotAllOfThem) {
  const std::string launch = "['python3', '-m', 'sglang.launch_server']";
  const auto container = read_launches(
      "import client\nclient.V1Container(name='s', image='lmsysorg/sglang:v0.5.19-xpu', "
      "command=" +
          launch + ", args=['--model-path', 'm', '--tp', '2'])\n",
      {}, "run.py");
  ASSERT_TRUE(container) << container.error().text();
  ASSERT_EQ(container->size(), 1U);
  EXPECT_EQ(container->front().argv, (std::vector<std::string>{"--model-path", "m", "--tp", "2"}));
  EXPECT_EQ(container->front().image, "lmsysorg/sglang:v0.5.19-xpu");
  EXPECT_TRUE(container->front().unknown.empty());
  for (const std::string& call : {"start(" + launch + ", ['--model-path', 'm'])", "start(" + launch + ", *args)"}) {
    const auto read = read_launches("import start, args\n" + call + "\n", {}, "run.py");
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_FALSE(read->front().unknown.empty()) << call;
  }
}

TEST(Sources, AnEmptyEntryPointTakesTheImagesAway) {
  const auto read = read_launches(
      "docker run --entrypoint=\"\" lmsysorg/sglang:v0.5.19-xpu bash -c 'sglang serve --model-path m --tp 2'\n", {},
      "run.sh");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->front().argv, (std::vector<std::string>{"--model-path", "m", "--tp", "2"}));
  EXPECT_TRUE(read->front().unknown.empty());
}

TEST(Sources, FilesThatAreNoneEndInOneLine) {
  std::string aliases = "services:\n  a: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i)
    aliases += fmt::format("  b{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  const std::string texts[] = {",\nservices:",
                               "services: " + std::string(5'000, '['),
                               aliases,
                               "[Service]\nExecStart=" + std::string(200'000, 'x'),
                               "A = $(A)$(A)$(A)$(A)\nrun:\n\tsglang $(A)\n",
                               std::string(300'000, '['),
                               std::string("a\0b\nc", 5),
                               "```\n" + std::string(100'000, '`'),
                               "import sglang\n" + repeated("os.system(", 90'000),
                               "import sglang\nx = " + repeated("(", 200'000),
                               "import sglang\n" + repeated("f('", 200'000),
                               growing_names(),
                               "job \"a\" {\ntask \"b\" {\ndriver\n" + repeated("args = [ {", 60'000)};
  for (const std::string& text : texts) {
    const auto read = read_launches(text, {}, "");
    EXPECT_FALSE(read) << text.substr(0, 40);
    if (!read) {
      EXPECT_EQ(read.error().text().find('\n'), std::string::npos);
    }
  }
}

TEST(Sources, FilesWithoutEndEndInOneLine) {
  std::string cells;
  std::string blocks;
  for (int i = 0; i < 20'000; ++i) {
    cells += "\"!sglang serve --x\\n\",";
    blocks += "```bash\nsglang serve --x\n```\n";
  }
  const std::string notebook = "{\"cells\":[{\"cell_type\":\"code\",\"source\":[" + cells + "\"\"]}]}";
  const auto one_line = read_launches(notebook, {}, "a.ipynb");
  ASSERT_FALSE(one_line);
  EXPECT_NE(one_line.error().text().find("on one line of its file"), std::string::npos) << one_line.error().text();
  const auto many = read_launches(blocks, {}, "a.md");
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().text().find("more than 1,000 launches"), std::string::npos) << many.error().text();
}

// Loops that change the lists they start, functions for a shell that is started over and over, lines for xargs.
TEST(Sources, ProgramsWithoutEndEndSoon) {
  std::string loops = "import subprocess\n";
  for (int i = 0; i < 3'000; ++i) {
    loops +=
        "for i in x:\n    cmd = [\"python\", \"-m\", \"sglang.launch_server\"]\n    cmd.append(\"x\")\n    "
        "subprocess.run(cmd)\n";
  }
  std::string handed;
  for (int i = 0; i < 300; ++i) handed += fmt::format("f{0}() {{ sglang serve --x; }}; export -f f{0}\n", i);
  handed += repeated("bash -c true\n", 3'000);
  const std::string lines = repeated("seq 1 200 | xargs -I{} bash -c 'seq 1 200 | xargs -I@ echo @'\n", 20);
  const std::string nested = repeated("while true; do x=1; ", 30) + repeated("done; ", 30) + "sglang serve --x";
  // Of the processor, so that what runs beside does not count.
  const auto seconds_for = [](const std::string& text, const char* name) {
    const std::clock_t from = std::clock();
    (void)read_launches(text, {}, name);
    return static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds_for(loops, "a.py"), 20);
  for (const std::string& text : {handed, lines, nested}) EXPECT_LT(seconds_for(text, "a.sh"), 20);
}

}  // namespace
}  // namespace preflight::sources
