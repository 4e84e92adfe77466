// `launches PATH…` and `check PATH…`: every launch of many files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

const std::string kServe = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B ";

TEST(Launches, AreShownAsTheyWereUnderstood) {
  const TemporaryDirectory dir;
  const std::string path =
      dir.file("a.sh", "export SGLANG_A=1\nif x; then TP=2; fi\n" + kServe + "--tp $TP --api-key s3cr3t\n");
  const ToolRun run = run_tool({"launches", path, "--format", "json"});
  EXPECT_EQ(run.status, 0) << run.err;
  const Json all = Json::parse(run.out);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["source"]["file"], path);
  EXPECT_EQ(all[0]["source"]["line"], 3);
  EXPECT_EQ(all[0]["env"]["SGLANG_A"], "1");
  EXPECT_EQ(all[0]["argv"][3], "?");
  EXPECT_THAT(run.out, Not(HasSubstr("s3cr3t")));
  ASSERT_EQ(all[0]["unknown"].size(), 1U);
  EXPECT_EQ(all[0]["unknown"][0]["where"], "2:1");
  EXPECT_THAT(all[0]["unknown"][0]["what"].get<std::string>(), HasSubstr("TP depends on a branch at line 2"));
  const Json given = Json::parse(run_tool({"launches", path, "--format", "json", "--set", "TP=2"}).out);
  EXPECT_EQ(given[0]["argv"][3], "2");
  EXPECT_TRUE(given[0]["unknown"].empty());
  EXPECT_THAT(run_tool({"launches", path}).out, HasSubstr("not known: 2:1: TP depends on a branch"));
}

// A launch that is named and not looked at is missed by nobody.
TEST(Launches, TellWhatAFileNamesBesideThem) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("a.sh", "f() { " + kServe + "--api-key s3cr3t; }\n" + kServe + "\n");
  const Json all = Json::parse(run_tool({"launches", path, "--format", "json"}).out);
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0]["notes"].size(), 1U);
  EXPECT_EQ(all[0]["notes"][0]["rule"], "SH004");
  EXPECT_EQ(all[0]["notes"][0]["where"], "1:17");
  const ToolRun text = run_tool({"launches", path});
  EXPECT_THAT(text.out, HasSubstr("SH004: 1:17: a launch is named here and not looked at"));
  EXPECT_THAT(text.out, Not(HasSubstr("s3cr3t")));
  // An option behind a lost backslash is quoted in the note.
  const std::string cut = dir.file("b.sh", kServe + "\\ \n  --api-key s3cr3t\n");
  EXPECT_THAT(run_tool({"launches", cut}).out, Not(HasSubstr("s3cr3t")));
}

// What a script runs in another folder is taken from beside the script, and that is told.
TEST(Launches, OfAScriptThatIsRunFromAnotherFolder) {
  const TemporaryDirectory dir;
  dir.file("deploy/run.sh", ". ./env.sh\n" + kServe + "--tp $TP\n");
  dir.file("deploy/env.sh", "TP=4\n");
  dir.file("env.sh", "TP=8\n");
  std::filesystem::permissions(dir.path() + "/deploy/run.sh", std::filesystem::perms::owner_all);
  const auto read = [&](const std::string& text) {
    return Json::parse(run_tool({"launches", dir.file("a.sh", text), "--format", "json"}).out);
  };
  for (const char* text :
       {"cd deploy && ./run.sh", "bash -c 'cd deploy; ./run.sh'", "(cd deploy && bash run.sh)",
        "pushd deploy; ./run.sh; popd", "cd \"$(dirname \"$0\")\"; bash -c 'cd deploy; bash run.sh'"}) {
    const Json all = read(text);
    ASSERT_EQ(all.size(), 1U) << text << all.dump();
    EXPECT_EQ(all[0]["argv"][3], "4") << text;
    EXPECT_TRUE(all[0]["unknown"].empty()) << text;
    EXPECT_EQ(all[0]["defaults"][0]["name"], "$PWD") << text;
  }
  for (const char* text : {"deploy/run.sh", "bash deploy/run.sh", "bash -c ./deploy/run.sh"})
    EXPECT_EQ(read(text)[0]["argv"][3], "8") << text;
  for (const char* text : {"cd $X; ./run.sh", "cd none; ./run.sh", "cd /; ./run.sh"})
    EXPECT_THAT(run_tool({"launches", dir.file("a.sh", text)}).out + run_tool({"launches", dir.file("a.sh", text)}).err,
                HasSubstr("./run.sh is run here, and not read"))
        << text;
}

// A program that a script runs is told once, as that starts it; one of two of its name, not at all.
TEST(Launches, OfAProgramThatAScriptRuns) {
  const TemporaryDirectory dir;
  const std::string program =
      "import argparse, sglang as sgl\np = argparse.ArgumentParser(); p.add_argument('--tp', type=int, default=1)\n"
      "sgl.Engine(model_path='m', tp_size=p.parse_args().tp)\n";
  dir.file("s/serve.py", program);
  dir.file("s/run.sh", "python3 serve.py --tp 4\n");
  const auto read = [&](const std::string& folder, const std::string& path) {
    return run_command_line("cd " + dir.path() + folder + " && xpu-preflight launches --format json " + path);
  };
  const Json all = Json::parse(read("", "s").out);
  ASSERT_EQ(all.size(), 1U) << all.dump();
  EXPECT_EQ(all[0]["argv"], Json::parse(R"(["--model-path", "m", "--tp-size", "4"])"));
  EXPECT_EQ(all[0]["source"]["file"], "s/run.sh");
  EXPECT_EQ(all[0]["defaults"][0]["name"], "$PWD");
  dir.file("s/as_root.sh", "export SGLANG_X=1\nsudo python3 serve.py --tp 4\n");
  EXPECT_THAT(read("/s", "as_root.sh").out, HasSubstr("sudo hands SGLANG_X over only where its policy says so"));
  dir.file("serve.py", program);
  const std::string both = dir.file("s/both.sh", "python3 serve.py --tp 4\n" + kServe + "\n");
  EXPECT_THAT(
      read("", "s/both.sh").out,
      HasSubstr("serve.py is run here and not followed (another file of this name lies in the working directory"));
  EXPECT_EQ(Json::parse(read("/s", "both.sh").out).size(), 2U);
}

// What a program reads from files is known where they lie beside it, and it wrote none of them.
TEST(Launches, OfAProgramThatReadsItsSettingsFromFiles) {
  const TemporaryDirectory dir;
  dir.file("c.json", R"({"model": "m", "tp": 2})");
  dir.file("c.yaml", "server: {model: m, tp: 2, nested: &a [1, *a]}\n");
  dir.file("c.toml", "[server]\nmodel = 'm'\ntp = 2\n");
  const auto told = [&](const std::string& text) {
    const std::string path = dir.file("serve.py", "import json, os, subprocess, yaml, sglang as sgl\n" + text);
    const Json all = Json::parse(run_tool({"launches", path, "--format", "json"}).out);
    if (!all.is_array() || all.empty()) return "none: " + all.dump();
    return all[0]["unknown"].empty() ? all[0]["argv"].dump() + all[0]["defaults"].dump() : std::string("unknown");
  };
  const std::string engine = "sgl.Engine(model_path=c['model'], tp_size=c['tp'])\n";
  const std::string known = R"(["--model-path","m","--tp-size","2"])";
  for (const std::string load :
       {"c = json.load(open('c.json'))\n", "c = json.loads(open('c.json').read())\n",
        "with open('./c.json') as f: c = json.load(f)\n", "c = yaml.safe_load(open('c.yaml'))['server']\n",
        "if os.path.exists('c.json'): c = json.load(open('c.json'))\n"}) {
    EXPECT_THAT(told(load + engine), StartsWith(known)) << load;
    EXPECT_THAT(told(load + engine), HasSubstr("$PWD")) << load;
  }
  for (const std::string load :
       {"import pathlib\nc = json.loads((pathlib.Path(__file__).parent / 'c.json').read_text())\n",
        "c = yaml.full_load(open(os.path.join(os.path.dirname(__file__), 'c.yaml')))['server']\n"}) {
    EXPECT_THAT(told(load + engine), StartsWith(known)) << load;
    EXPECT_THAT(told(load + engine), Not(HasSubstr("$PWD"))) << load;
  }
  const std::string load = "c = json.load(open('c.json'))\n";
  for (const std::string before : {"os.chdir('x')\n", "open('c.json', 'w').write('{}')\n",
                                   "subprocess.run(['cp', 'a', 'c.json'])\n", "os.system('cp a c.json')\n",
                                   "import shutil; shutil.copy('a', './c.json')\n", "open(os.environ['X'], 'a')\n"}) {
    EXPECT_EQ(told(before + load + engine), "unknown") << before;
  }
  EXPECT_EQ(told("c = json.load(open('none.json'))\n" + engine), "unknown");
  EXPECT_EQ(told("c = json.load(open('/c.json'))\n" + engine), "unknown");
  dir.file("c.json", "{");
  EXPECT_EQ(told(load + engine), "unknown");
}

// A script that runs another one: followed, told with its reason, or named where it is not here.
TEST(Launches, OfAScriptThatAnotherOneRuns) {
  const TemporaryDirectory dir;
  dir.file("start.sh", kServe + "--port $1 --tp ${TP:-1}\n");
  const std::string caller = dir.file("a.sh", "TP=4 bash \"$(dirname \"$0\")/start.sh\" 31000\n");
  const Json all = Json::parse(run_tool({"launches", caller, "--format", "json"}).out);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["argv"][3], "31000");
  EXPECT_EQ(all[0]["argv"][5], "4");
  EXPECT_TRUE(all[0]["unknown"].empty());
  const std::string writes = dir.file("b.sh", "sed -i s/a/b/ start.sh\nbash ./start.sh 1\n" + kServe + "\n");
  EXPECT_THAT(run_tool({"launches", writes}).out,
              HasSubstr("start.sh is run here and not followed (this script may write it before)"));
  for (const std::string start : {"bash /n/service.sh 1", "/n/service.sh 1", "sudo bash /n/service.sh 1"}) {
    const ToolRun away = run_tool({"launches", dir.file("c.sh", "# sglang\n" + start + "\n")});
    EXPECT_EQ(away.status, 2) << start;
    EXPECT_THAT(away.err, HasSubstr("/n/service.sh is run here, and not read")) << start;
  }
}

// A script that others of the folder run is told as they run it, and by itself where it is named; those others need not
// name SGLang themselves.
TEST(Launches, OfAScriptThatOthersOfAFolderRunAreToldOnce) {
  const TemporaryDirectory dir;
  const std::string start = dir.file("start.sh", "set -e\n" + kServe + "--port ${PORT:-1} \"$@\"\n");
  dir.file("gate.sh", "PORT=2 bash \"$(dirname \"$0\")/start.sh\" --tp 2\n");
  dir.file("lib.sh", "serve() {\n  eval \"" + kServe + "--tp $1\"\n}\n");
  dir.file("run.sh", "source ./lib.sh\nserve 4\n");
  dir.file("outer.sh", "# as ever\n./gate.sh\n");
  const auto told = [](const std::vector<std::string>& paths) {
    std::vector<std::string> words = {"launches", "--format", "json"};
    words.insert(words.end(), paths.begin(), paths.end());
    std::string out;
    for (const Json& launch : Json::parse(run_tool(words).out)) {
      const Json& there = launch["stands_in"];
      out += fmt::format("{}:{} {} {};", std::filesystem::path(launch["source"]["file"]).filename().string(),
                         launch["source"]["line"].dump(),
                         there.is_null() ? "-" : there["file"].get<std::string>() + ":" + there["line"].dump(),
                         launch["argv"].back().get<std::string>());
    }
    return out;
  };
  EXPECT_EQ(told({dir.path()}), "outer.sh:2 start.sh:2 2;run.sh:1 lib.sh:2 4;");
  EXPECT_EQ(told({start, dir.path()}), "start.sh:2 - ?;outer.sh:2 start.sh:2 2;run.sh:1 lib.sh:2 4;");
  const ToolRun check = run_tool({"check", "--no-kernel", dir.path()});
  EXPECT_THAT(check.out, HasSubstr("outer.sh:2, in start.sh:2: clean"));
  EXPECT_THAT(check.out, HasSubstr("2 launches checked, 0 of them failed, 0 with something unknown, 0 not readable"));
  dir.file("lib.sh", "serve() {\n  " + kServe + "--tp $1\n}\nother() {\n  " + kServe + "--tp 8\n}\n");
  EXPECT_THAT(run_tool({"check", "--no-kernel", dir.path()}).out,
              HasSubstr("lib.sh: skipped: 5:13: a launch is named here, and nothing runs it"));
}

TEST(Launches, WhatCannotBeReadIsSaid) {
  const TemporaryDirectory dir;
  EXPECT_EQ(run_tool({"launches", dir.path() + "/none"}).status, 2);
  const ToolRun run = run_tool({"launches", dir.file("t.yaml", "apiVersion: v1\nkind: Pod\nname: {{ .x }}\n")});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("template"));
  const ToolRun json = run_tool({"launches", "--format", "json", dir.path() + "/t.yaml"});
  EXPECT_EQ(json.status, 2);
  EXPECT_THAT(Json::parse(json.out, nullptr, false).value("/error/message"_json_pointer, ""), HasSubstr("template"));
}

// Hidden folders hold launches too; those of tools do not.
TEST(Launches, OfHiddenFoldersAreReadToo) {
  const TemporaryDirectory dir;
  for (const char* folder : {".devcontainer", ".git", ".mycache", "node_modules"})
    std::filesystem::create_directories(dir.path() + "/" + folder);
  for (const char* file : {".devcontainer/a.sh", ".git/b.sh", ".mycache/c.sh", "node_modules/d.sh"})
    dir.file(file, kServe + "\n");
  const Json all = Json::parse(run_tool({"launches", dir.path(), "--format", "json"}).out);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["source"]["file"], dir.path() + "/.devcontainer/a.sh");
}

// A drop-in changes the unit beside it: what systemd starts is told where the command stands.
TEST(Launches, OfAUnitAreReadWithItsDropIns) {
  const TemporaryDirectory dir;
  std::filesystem::create_directories(dir.path() + "/sgl.service.d");
  dir.file("sgl.service", "[Service]\nEnvironment=TP=4 DP=2\nExecStart=" + kServe + "--tp ${TP} --dp ${DP}\n");
  dir.file("sgl.service.d/10.conf", "[Service]\nEnvironment=TP=8\n");
  dir.file("sgl.service.d/20.conf", "[Service]\nEnvironment=TP=1\n");
  const auto argv = [&](const std::string& path) {
    std::string out;
    for (const Json& launch : Json::parse(run_tool({"launches", path, "--format", "json"}).out)) {
      EXPECT_EQ(launch["unknown"].size(), 0U) << launch.dump();
      for (const Json& word : launch["argv"]) out += word.get<std::string>() + " ";
      out += fmt::format("@{};", launch["source"]["file"].get<std::string>().substr(dir.path().size()));
    }
    return out;
  };
  EXPECT_THAT(argv(dir.path()), HasSubstr("--tp 1 --dp 2 @/sgl.service;"));
  EXPECT_EQ(argv(dir.path() + "/sgl.service"), argv(dir.path()));
  dir.file("sgl.service.d/30.conf", "[Service]\nExecStart=\nExecStart=" + kServe + "--pp ${DP}\n");
  EXPECT_THAT(argv(dir.path()), HasSubstr("--pp 2 @/sgl.service.d/30.conf;"));
  EXPECT_THAT(argv(dir.path()), Not(HasSubstr("--tp 1")));
}

// Drop-ins of all services, of a template, of the beginnings of a name and of the name itself: by their own names, and
// of two with one name that of the nearest.
TEST(Launches, OfAUnitAreReadWithTheDropInsOfItsKin) {
  const TemporaryDirectory dir;
  const auto argv = [&](const std::string& unit) {
    std::string out;
    const Json all = Json::parse(run_tool({"launches", dir.path() + "/" + unit, "--format", "json"}).out);
    for (const Json& word : all.at(0).at("argv")) out += word.get<std::string>() + " ";
    return out.substr(out.find("--tp"));
  };
  const auto drop_in = [&](const std::string& folder, const std::string& file, const std::string& value) {
    std::filesystem::create_directories(dir.path() + "/" + folder);
    dir.file(folder + "/" + file, "[Service]\nEnvironment=" + value + "\n");
  };
  const std::string unit =
      "[Service]\nEnvironment=TP=1 DP=1 PP=1\nExecStart=" + kServe + "--tp $TP --dp $DP --pp $PP\n";
  for (const char* name : {"sgl-fast-x.service", "sgl@a.service", "sgl@.service", "sglx.service"}) dir.file(name, unit);
  drop_in("service.d", "10.conf", "DP=2");
  drop_in("sgl-.service.d", "20.conf", "TP=2");
  drop_in("sgl-fast-.service.d", "20.conf", "TP=4");
  drop_in("sgl@.service.d", "05.conf", "DP=4 PP=4");
  EXPECT_EQ(argv("sgl-fast-x.service"), "--tp 4 --dp 2 --pp 1 ");
  EXPECT_EQ(argv("sgl@a.service"), "--tp 1 --dp 2 --pp 4 ");
  EXPECT_EQ(argv("sgl@.service"), "--tp 1 --dp 2 --pp 4 ");
  EXPECT_EQ(argv("sglx.service"), "--tp 1 --dp 2 --pp 1 ");
  drop_in("sgl-fast-x.service.d", "20.conf", "TP=8");
  EXPECT_EQ(argv("sgl-fast-x.service"), "--tp 8 --dp 2 --pp 1 ");
}

// An entry point that a Dockerfile copies from beside it is followed with CMD and ENV; one that a RUN writes to is not.
TEST(Launches, OfAnImageAreReadWithTheScriptThatItCopies) {
  const TemporaryDirectory dir;
  dir.file("start.sh", "#!/bin/sh\nexec python -m sglang.launch_server --model-path m --tp $TP \"$@\"\n");
  const auto read = [&](const std::string& lines) {
    const std::string path = dir.file("Dockerfile", "FROM lmsysorg/sglang:v0.5.16-xpu\nENV TP=2\n" + lines);
    return run_tool({"launches", path});
  };
  const std::string kCommand = "CMD [\"--port\", \"1\"]\n";
  for (const char* lines : {"COPY start.sh /start.sh\nRUN chmod +x /start.sh\nENTRYPOINT [\"/start.sh\"]\n",
                            "RUN echo > /start.sh\nCOPY start.sh /start.sh\nENTRYPOINT [\"/start.sh\"]\n",
                            "COPY --chmod=755 . /app/\nWORKDIR /app\nENTRYPOINT [\"./start.sh\"]\n",
                            "COPY start.sh /usr/local/bin/\nENTRYPOINT [\"bash\", \"/usr/local/bin/start.sh\"]\n"}) {
    EXPECT_THAT(read(lines + kCommand).out, HasSubstr("--model-path m --tp 2 --port 1\n")) << lines;
  }
  for (const char* lines : {"COPY start.sh /\nRUN sed -i s/2/4/ /start.sh\nENTRYPOINT [\"/start.sh\"]\n",
                            "COPY start.sh /\nCOPY --from=other /start.sh /start.sh\nENTRYPOINT [\"/start.sh\"]\n"}) {
    EXPECT_THAT(read(lines + kCommand).out, Not(HasSubstr("--tp 2"))) << lines;
  }
  std::filesystem::create_directories(dir.path() + "/.git");
  std::filesystem::create_directories(dir.path() +
                                      "/docker");  // docker build -f docker/Dockerfile . takes the other one
  dir.file("docker/start.sh", "#!/bin/sh\nexec python -m sglang.launch_server --model-path m --tp 4\n");
  const std::string inner = dir.file("docker/Dockerfile", "FROM x\nCOPY start.sh /\nENTRYPOINT [\"/start.sh\"]\n");
  EXPECT_THAT(run_tool({"launches", inner}).out, Not(HasSubstr("--tp")));
}

// What .dockerignore leaves out is in no image; a script that an image runs is told with the image alone.
TEST(Launches, OfAnImageHaveNoScriptThatDockerignoreLeavesOut) {
  const TemporaryDirectory dir;
  dir.file("start.sh", "#!/bin/sh\nexec " + kServe + "\"$@\"\n");
  dir.file("Dockerfile",
           "FROM lmsysorg/sglang:v0.5.16-xpu\nCOPY . /app\nENTRYPOINT [\"/app/start.sh\", \"--tp\", \"2\"]\n");
  const auto read = [&](const std::string& ignore) {
    dir.file(".dockerignore", ignore);
    const ToolRun run = run_tool({"launches", dir.path()});
    return run.out + run.err;
  };
  EXPECT_THAT(read("# *.sh\ndocs\n"),
              AllOf(HasSubstr("Dockerfile:2, in start.sh:2"), HasSubstr("--tp 2"), Not(HasSubstr("not known"))));
  EXPECT_THAT(read("*.sh\n!start.sh\n"), HasSubstr("--tp 2\n"));
  for (const char* ignore : {"*.sh\n", "**/start.*\n", "*\n!docs\n", "\n/start.sh\n"})
    EXPECT_THAT(read(ignore), HasSubstr("start.sh is left out of the image by .dockerignore:")) << ignore;
  dir.file("Dockerfile.dockerignore", "docs\n");
  EXPECT_THAT(read("*.sh\n"), HasSubstr("--tp 2\n"));
}

// What other files of a compose project say of a service: told where they are named.
TEST(Launches, OfAComposeProjectAreReadWithItsOtherFiles) {
  const TemporaryDirectory dir;
  std::filesystem::create_directories(dir.path() + "/common");
  dir.file("common/sg.env", "SGLANG_F=3\n");
  dir.file("common/base.yaml",
           "services:\n  root: {image: 'lmsysorg/sglang:v0.5.12-xpu', environment: {SGLANG_A: '1', SGLANG_B: '1'}}\n"
           "  base: {extends: root, env_file: sg.env, command: " +
               kServe + "--tp 2}\n");
  const auto shown = [&](const std::string& text) {
    const std::string path = dir.file("compose.yaml", text);
    std::string out;
    for (const Json& launch : Json::parse(run_tool({"launches", path, "--format", "json"}).out)) {
      out += fmt::format("{} {} {}", launch["name"].get<std::string>(), launch["argv"].back().get<std::string>(),
                         launch["source"]["line"].get<int>());
      for (const auto& [name, value] : launch["env"].items()) out += " " + name + "=" + value.get<std::string>();
      for (const Json& note : launch["notes"]) out += " " + note["rule"].get<std::string>();
      out += fmt::format(" {};", launch["unknown"].size());
    }
    return out;
  };
  EXPECT_EQ(shown("services:\n  s:\n    extends: {file: common/base.yaml, service: base}\n"
                  "    environment: {SGLANG_B: '2'}\n"),
            "s 2 3 SGLANG_A=1 SGLANG_B=2 SGLANG_F=3 0;");
  dir.file("own.env", "SGLANG_A=9\nSGLANG_F=9\nSGLANG_G=9\n");  // over other files, not over what a service sets
  EXPECT_EQ(shown("services:\n  s:\n    extends: {file: common/base.yaml, service: base}\n    env_file: own.env\n"),
            "s 2 3 SGLANG_A=1 SGLANG_B=1 SGLANG_F=9 SGLANG_G=9 0;");
  EXPECT_EQ(
      shown("services:\n  s:\n    extends: {file: gone.yaml, service: base}\n    command: " + kServe + "--tp 4\n"),
      "s 4 4 SH002 0;");
  EXPECT_EQ(shown("include:\n  - common/base.yaml\nservices:\n  s: {command: " + kServe + "--tp 4}\n"),
            "base 2 2 SGLANG_A=1 SGLANG_B=1 SGLANG_F=3 0;s 4 4 0;");
  EXPECT_EQ(shown("include:\n  - gone.yaml\nservices:\n  s: {command: " + kServe + "--tp 4}\n"), "s 4 4 SH002 0;");
  dir.file("common/asks.yaml", "services:\n  a:\n    command: " + kServe + "--tp ${TP} --dp ${DP}\n");
  dir.file("x.env", "TP=1\nDP=1\n");
  dir.file("y.env", "DP=7\n");
  dir.file(".env", "TP=3\n");  // the project's own come first
  EXPECT_EQ(shown("include:\n  - {path: common/asks.yaml, env_file: [x.env, y.env]}\n"), "a 7 2 0;");
  EXPECT_EQ(shown("include:\n  - {path: common/asks.yaml, env_file: x.env}\n"), "a 1 2 0;");
  dir.file("common/.env", "TP=9\nDP=9\n");  // which compose does not read beside an env_file
  EXPECT_EQ(shown("include:\n  - common/asks.yaml\n"), "a 9 2 0;");
  EXPECT_EQ(shown("include:\n  - {path: common/asks.yaml, env_file: x.env}\nservices:\n  s: {command: " + kServe +
                  "--tp 4}\n"),
            "s 4 4 SH002 0;");
  EXPECT_EQ(shown("include:\n  - {path: common/asks.yaml, env_file: gone.env}\nservices:\n  s: {command: " + kServe +
                  "--tp 4}\n"),
            "s 4 4 SH002 0;");
  dir.file("compose.yaml", "include:\n  - gone.yaml\n");
  EXPECT_THAT(run_tool({"launches", dir.path() + "/compose.yaml"}).err,
              HasSubstr("compose.yaml: 2:5: no SGLang launch in this command: gone.yaml is included and not read"));
  dir.file("compose.override.yaml", "services:\n  s: {environment: {SGLANG_C: '1'}}\n  t: {ports: ['1:1']}\n");
  EXPECT_EQ(shown("services:\n  s: {command: " + kServe + "--tp 4}\n  t: {command: " + kServe + "--tp 8}\n"),
            "s 4 2 1;t 8 3 0;");
}

// Which compose reads beside its file and the container finds where it is mounted.
TEST(Launches, AScriptThatAServiceMountsIsWhatItRuns) {
  const TemporaryDirectory dir;
  std::filesystem::create_directories(dir.path() + "/project/scripts");
  dir.file("project/start.sh", "#!/bin/bash\n" + kServe + "--tp ${TP:-2} \"$@\"\n");
  dir.file("project/scripts/serve.sh", kServe + "--dp 2\n");
  dir.file("outside.sh", kServe + "--tp 9\n");
  const std::string path = dir.file("project/compose.yaml", R"(services:
  a:
    image: lmsysorg/sglang:v0.5.16
    volumes: ["./start.sh:/start.sh:ro"]
    command: bash /start.sh --port 1
  b:
    image: lmsysorg/sglang:v0.5.16
    working_dir: /w
    volumes:
      - {type: bind, source: ./start.sh, target: /w/start.sh}
    entrypoint: ["bash", "start.sh"]
    environment: {TP: "8"}
  c:
    image: lmsysorg/sglang:v0.5.16
    volumes: ["./scripts:/opt/scripts", "../:/up"]
    command: ["/opt/scripts/serve.sh"]
  d:
    image: lmsysorg/sglang:v0.5.16
    volumes: ["../:/up"]
    command: ["/up/outside.sh"]
)");
  std::map<std::string, std::vector<std::string>> read;
  for (const Json& launch : Json::parse(run_tool({"launches", path, "--format", "json"}).out))
    read[launch["name"]] = launch["argv"].get<std::vector<std::string>>();
  using Words = std::vector<std::string>;
  EXPECT_EQ(read.size(), 3U);
  EXPECT_EQ(read["a"], (Words{"--model-path", "Qwen/Qwen3-8B", "--tp", "2", "--port", "1"}));
  EXPECT_EQ(read["b"], (Words{"--model-path", "Qwen/Qwen3-8B", "--tp", "8"}));
  EXPECT_EQ(read["c"], (Words{"--model-path", "Qwen/Qwen3-8B", "--dp", "2"}));
}

// A file that another one of the folder is read in front of is no whole launch.
TEST(Launches, OfAComposeFileThatChangesAnotherAskForTheWhole) {
  const TemporaryDirectory dir;
  const auto unknown = [&](const std::string& name, const std::string& text) {
    const std::string path = dir.file(name, text);
    const Json all = Json::parse(run_tool({"launches", path, "--format", "json"}).out);
    return all[0]["unknown"].empty() ? std::string() : all[0]["unknown"][0]["what"].get<std::string>();
  };
  const std::string more = "services:\n  s: {command: " + kServe + "--tp 4}\n";
  EXPECT_THAT(unknown("compose.override.yaml", more), HasSubstr("another file, which is not beside this one"));
  EXPECT_EQ(unknown("other.yaml", more), "");
  dir.file("compose.yaml", "services:\n  s: {image: 'lmsysorg/sglang:v0.5.16-xpu', command: " + kServe + "--tp 2}\n");
  const char* kOfBase = "this changes the service of compose.yaml beside this file: give what `docker compose config`";
  EXPECT_THAT(unknown("compose.override.yaml", more), HasSubstr(kOfBase));
  EXPECT_THAT(unknown("compose.xpu.yaml", more), HasSubstr(kOfBase));
  EXPECT_EQ(unknown("compose.whole.yaml", "services:\n  s: {image: x, command: " + kServe + "--tp 8}\n"), "");
  EXPECT_EQ(unknown("compose.else.yaml", "services:\n  t: {command: " + kServe + "--tp 8}\n"), "");
}

// The image that a service builds is read with the arguments that it is built with.
TEST(Launches, OfAServiceThatBuildsItsImageAreThoseOfTheImage) {
  const TemporaryDirectory dir;
  dir.file("Dockerfile",
           "FROM lmsysorg/sglang:v0.5.16-xpu\nARG TP=2\nENV SGLANG_A=img TP=$TP\n"
           "ENTRYPOINT [\"sglang\", \"serve\"]\nCMD [\"--model-path\", \"default\"]\n");
  dir.file("Dockerfile.shell",
           "FROM lmsysorg/sglang:v0.5.19-xpu\nARG TP=2\nENV TP=$TP\n"
           "ENTRYPOINT sglang serve --model-path m --tp $TP\nCMD [\"ignored\"]\n");
  const std::string path =
      dir.file("compose.yaml",
               "services:\n"
               "  words: {build: ., command: [--model-path, m], environment: {SGLANG_B: b}}\n"
               "  whole: {build: {context: .}}\n"
               "  own: {build: ., entrypoint: sglang serve --model-path own}\n"
               "  text: {build: {context: ., dockerfile: Dockerfile.shell, args: {TP: 8}}, command: [ignored]}\n"
               "  here: {build: {dockerfile_inline: \"FROM lmsysorg/sglang:v0.5.18-xpu\\nENTRYPOINT "
               "[\\\"sglang\\\",\\\"serve\\\"]\\n\"}, command: --model-path here}\n");
  std::string out;
  for (const Json& launch : Json::parse(run_tool({"launches", path, "--format", "json"}).out)) {
    out += fmt::format("{} {} {} {} {}\n", launch["name"].get<std::string>(), launch["argv"].dump(),
                       launch["release"].get<std::string>(), launch["env"].dump(), launch["unknown"].size());
  }
  EXPECT_EQ(out,
            "words [\"--model-path\",\"m\"] 0.5.16 {\"SGLANG_A\":\"img\",\"SGLANG_B\":\"b\",\"TP\":\"2\"} 0\n"
            "whole [\"--model-path\",\"default\"] 0.5.16 {\"SGLANG_A\":\"img\",\"TP\":\"2\"} 0\n"
            "own [\"--model-path\",\"own\"] 0.5.16 {\"SGLANG_A\":\"img\",\"TP\":\"2\"} 0\n"
            "text [\"--model-path\",\"m\",\"--tp\",\"8\"] 0.5.19 {\"TP\":\"8\"} 0\n"
            "here [\"--model-path\",\"here\"] 0.5.18 {} 0\n");
}

// A file that another one includes is told by itself where both are read.
TEST(Launches, OfAnIncludedFileAreToldOnce) {
  const TemporaryDirectory dir;
  const std::string other = dir.file("other.yaml", "services:\n  c: {command: " + kServe + "--tp 8}\n");
  const std::string both =
      dir.file("compose.yaml", "include: [other.yaml]\nservices:\n  a: {command: " + kServe + "--tp 2}\n");
  const auto count = [](const std::vector<std::string>& paths) {
    std::vector<std::string> words = {"launches", "--format", "json"};
    words.insert(words.end(), paths.begin(), paths.end());
    return Json::parse(run_tool(words).out).size();
  };
  EXPECT_EQ(count({both}), 2U);
  EXPECT_EQ(count({both, other}), 2U);
  EXPECT_EQ(count({dir.path()}), 2U);
  EXPECT_THAT(run_tool({"upgrade", "--from", "0.5.22", "--to", "0.5.23", dir.path()}).out, HasSubstr("2 launches"));
  dir.file("compose.yaml", "include: [other.yaml]\nservices: {}\n");
  EXPECT_EQ(count({both, other}), 1U);
}

// Programs that start a program of Python beside the script, and those that start it elsewhere.
TEST(Launches, AProgramBehindOthersIsFollowed) {
  const TemporaryDirectory dir;
  dir.file("serve.py", "import sys, sglang\nsglang.Engine(model_path='m', port=sys.argv[1])\n");
  std::string script;
  for (const char* front :
       {"srun -n 2 --exclusive --cpu-bind cores python", "srun --mpi=none python3", "python -u", "python -X dev",
        "python -W ignore -Xutf8", "uv run", "uv run --with x python", "poetry run python", "conda run -n x python",
        "setpriv --reuid 1 --clear-groups python", "gosu u python", "tini -s -- python", "dumb-init python",
        "sudo -E --user u python", "torchrun --nproc-per-node 2 --standalone", "accelerate launch --num_processes 2"})
    script += fmt::format("{} serve.py {}\n", front, script.size());
  const Json launches = Json::parse(run_tool({"launches", "--format", "json", dir.file("run.sh", script)}).out);
  std::size_t at = 0;
  std::size_t line = 0;
  for (const Json& launch : launches) {
    EXPECT_EQ(launch["argv"].back(), std::to_string(at)) << script;
    at = script.find('\n', at) + 1;
    const bool each = ++line > 14;
    EXPECT_EQ(launch["when"].is_null(), !each) << launch.dump();
    const std::string when = each ? launch["when"].get<std::string>() : std::string();
    EXPECT_THAT(when, HasSubstr(each ? " starts it, in each of its processes" : ""));
  }
  EXPECT_EQ(line, 16U);
  for (const std::string front : {"chroot /srv", "sudo -i", "srun -D /d", "env -C /srv sudo -D /d"}) {
    const ToolRun run = run_tool({"launches", dir.file("run.sh", front + " python serve.py\n")});
    EXPECT_THAT(run.out + run.err, HasSubstr("runs it in another folder")) << front;
  }
  const ToolRun other = run_tool({"launches", dir.file("run.sh", "env -C /srv python serve.py\n")});
  EXPECT_THAT(other.out + other.err, HasSubstr("serve.py is run here, and not read"));
}

// What is handed over with no word for the server but its name gets them where nothing here looks.
TEST(Launches, ACommandWithoutWordsIsABeginning) {
  const TemporaryDirectory dir;
  const auto unknown = [&](const std::string& words) {
    const std::string program = "from box import start\nstart(" + words + ")\n";
    const Json launches = Json::parse(run_tool({"launches", "--format", "json", dir.file("a.py", program)}).out);
    return launches.size() == 1 ? launches[0]["unknown"].dump() : launches.dump();
  };
  EXPECT_THAT(unknown("['sglang', 'serve']"), HasSubstr("start at line 2 may add words to it"));
  EXPECT_THAT(unknown("['python', '-m', 'sglang.launch_server']"), HasSubstr("start at line 2 may add words to it"));
  EXPECT_EQ(unknown("['sglang', 'serve', '--model-path', 'm']"), "[]");
}

// A script that runs itself with other words is followed once more, and its launches stand in this file.
TEST(CheckPaths, AScriptMayRunItself) {
  const TemporaryDirectory dir;
  const std::string script = dir.file("run.sh",
                                      "#!/bin/bash\nif [ \"$1\" = child ]; then\n"
                                      "  python -m sglang.launch_server --model-path m --tp 2\n  exit\nfi\n"
                                      "\"$0\" child\n");
  const Json launches = Json::parse(run_tool({"launches", "--format", "json", script}).out);
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(launches[0]["argv"].dump(), R"(["--model-path","m","--tp","2"])");
  EXPECT_TRUE(launches[0]["notes"].empty()) << launches.dump();
  const std::string endless = dir.file("again.sh",
                                       "python -m sglang.launch_server --model-path \"${1:-m}\"\n"
                                       "bash \"$0\" again\n");
  const ToolRun run = run_tool({"launches", endless});
  EXPECT_THAT(run.out + run.err, HasSubstr("more scripts run each other than are followed"));
}

// A module that the release has not is no benchmark: that is said, with the one it has.
TEST(CheckPaths, AModuleThatTheReleaseLacksStartsNothing) {
  const TemporaryDirectory dir;
  const std::string old = dir.file("old.sh", "python3 -m sglang.bench_one_batch --model-path Qwen/Qwen3-8B --tp 2\n");
  const auto check = [&](const std::string& path, const std::string& release) {
    return run_tool({"check", "--no-kernel", "--sglang-version", release, path});
  };
  EXPECT_EQ(check(old, "0.5.21").status, 1);
  EXPECT_THAT(check(old, "0.5.21").out, HasSubstr("error[SH008]"));
  EXPECT_THAT(check(old, "0.5.21").out, HasSubstr("SGLang 0.5.21 has no module sglang.bench_one_batch"));
  EXPECT_THAT(check(old, "0.5.21").out, HasSubstr("run sglang.benchmark.one_batch"));
  EXPECT_EQ(check(old, "0.5.20").status, 0);
  for (const std::string module : {"bench_mine", "benchmark.mine"}) {
    const std::string none =
        dir.file("none.sh", "python3 -m sglang." + module + " --model-path Qwen/Qwen3-8B --tp 2\n");
    EXPECT_EQ(check(none, "0.5.23").status, 1);
    EXPECT_THAT(check(none, "0.5.23").out, HasSubstr("SGLang 0.5.23 has no module sglang." + module));
  }
  const std::string fresh =
      dir.file("new.sh", "python3 -m sglang.benchmark.one_batch --model-path Qwen/Qwen3-8B --tp 2\n");
  EXPECT_EQ(check(fresh, "0.5.15").status, 0);
  EXPECT_THAT(check(fresh, "0.5.14").out, HasSubstr("run sglang.bench_one_batch"));
  const std::string none = dir.file("none.sh", "python3 -m sglang.bench_two_batches --model-path Qwen/Qwen3-8B\n");
  EXPECT_THAT(check(none, "0.5.23").out, HasSubstr("no release of SGLang known here has this module"));
  const std::string client = dir.file("client.sh", "python3 -m sglang.bench_serving --model Qwen/Qwen3-8B\n");
  EXPECT_THAT(check(client, "0.5.23").out, HasSubstr("0 launches checked"));
  struct Module {
    const char* name;
    const char* has;
    const char* lacks;
    const char* other;
  };
  for (const Module& row :
       {Module{"bench_offline_throughput", "0.5.20", "0.5.21", "run sglang.benchmark.offline_throughput"},
        Module{"benchmark.offline_throughput", "0.5.15", "0.5.14", "run sglang.bench_offline_throughput"},
        Module{"benchmark.one_batch_server", "0.5.14", "0.5.13.post1", "run sglang.bench_one_batch_server"}}) {
    const std::string file =
        dir.file("module.sh", fmt::format("python3 -m sglang.{} --model-path Qwen/Qwen3-8B --tp 2\n", row.name));
    EXPECT_THAT(check(file, row.has).out, Not(HasSubstr("has no module"))) << row.name;
    EXPECT_THAT(check(file, row.lacks).out, HasSubstr(row.other)) << row.name;
  }
}

// A value that a file fixes itself is not the user's to set: that is said, as a misspelt name is.
TEST(Launches, SayWhatASettingDoesNotChange) {
  const TemporaryDirectory dir;
  const std::string program =
      dir.file("a.py", "import sglang as sgl\nTP = 4\nsgl.Engine(model_path='m', tp_size=TP)\n");
  const std::string script = dir.file("a.sh", "TP=4\n" + kServe + "--tp $TP $1\n");
  const auto told = [](std::vector<std::string> words, const std::string& setting) {
    words.insert(words.end(), {"--set", setting});
    return run_tool(words).err;
  };
  EXPECT_THAT(told({"launches", program}, "TP=2"),
              HasSubstr("--set TP: changes nothing: what was read sets it itself"));
  EXPECT_THAT(told({"launches", script}, "@=x"), HasSubstr("--set @: changes nothing"));
  EXPECT_THAT(told({"launches", script}, "TQ=2"), HasSubstr("--set TQ: nothing that was read names it"));
  EXPECT_EQ(told({"launches", script}, "TP=2"), "");
  EXPECT_EQ(told({"launches", script}, "1=x"), "");
  EXPECT_EQ(told({"launches", program, script}, "TP=2"), "");
  EXPECT_THAT(told({"check", "--no-kernel", "--command", "TP=4 " + kServe + "--tp 2"}, "TP=2"),
              HasSubstr("--set TP: changes nothing"));
}

// A default is told with what it stands in for, and no secret with it.
TEST(Launches, TellWhichDefaultsWereTaken) {
  const TemporaryDirectory dir;
  const std::string path =
      dir.file("a.sh",
               "python -m sglang.launch_server --model-path ${1:-Qwen/Qwen3-8B} --tp ${TP:-\"$N\"} \\\n"
               "  --api-key ${KEY:-Zq7marker9X} ${DEBUG:+--log-level debug} ${PAGE:-}\n");
  const ToolRun run = run_tool({"launches", path, "--set", "N=2"});
  EXPECT_THAT(run.out, HasSubstr("not set, default taken: $1=Qwen/Qwen3-8B (1:45), TP=2 (1:70), KEY='***' (2:13), "
                                 "DEBUG none (2:33), PAGE='' (2:61)\n"));
  EXPECT_THAT(run_tool({"check", "--no-kernel", path, "--set", "N=2"}).out,
              HasSubstr("\n  not set, default taken: $1="));
  const Json told = Json::parse(run_tool({"launches", path, "--format", "json", "--set", "N=2"}).out)[0]["defaults"];
  EXPECT_EQ(told[1], Json({{"name", "TP"}, {"value", "2"}, {"where", "1:70"}, {"why", "not set"}}));
  EXPECT_TRUE(told[3]["value"].is_null());
  EXPECT_THAT(run_tool({"launches", path, "--set", "N=2", "--set", "TP=4"}).out, Not(HasSubstr("TP=2")));
}

// How a script is started is not known, where it stands is: its folder is taken, and so is what lies there, and told.
TEST(Launches, TellsWhatIsTakenOfWhereAScriptStands) {
  const TemporaryDirectory dir;
  dir.file("env.sh", "MODEL=org/m\n");
  const std::string path = dir.file("run.sh",
                                    "D=$(dirname \"$0\")\n"
                                    "[ -f \"$D/env.sh\" ] && . \"$D/env.sh\"\n"
                                    "[ -f .env ] && . .env\n"
                                    "python -m sglang.launch_server --model-path $MODEL --config \"$D/c.yaml\"\n");
  const ToolRun run = run_tool({"launches", path});
  EXPECT_THAT(run.out, HasSubstr("\n  --model-path org/m --config " + dir.path() + "/c.yaml\n"));
  EXPECT_THAT(run.out, HasSubstr(fmt::format("\n  where this file stands, taken: $0={0}/run.sh (1:14), $PWD={0} (3:6); "
                                             "no such file, left out: {0}/.env (3:6)\n",
                                             dir.path())));
  const Json told = Json::parse(run_tool({"launches", path, "--format", "json"}).out)[0]["defaults"];
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(told[0]["why"], "where this file stands");
  dir.file(".env", "MODEL=org/other\n");
  EXPECT_THAT(run_tool({"launches", path}).out, HasSubstr("--model-path org/other"));
  // What is pasted stands nowhere.
  EXPECT_THAT(run_tool({"launches", "-"}, "python -m sglang.launch_server --model-path \"$(dirname $0)/m\"\n").out,
              HasSubstr("--model-path '?/m'"));
}

// Each with its own words and variables.
TEST(Launches, OfOneJobAreSeveral) {
  const TemporaryDirectory dir;
  const auto shown = [&](const std::string& text) {
    const std::string path = dir.file("a.sh", text);
    const Json all = Json::parse(run_tool({"launches", path, "--format", "json"}).out);
    std::string out;
    for (const Json& launch : all) {
      out += launch["argv"].back().get<std::string>();
      for (const auto& [name, value] : launch["env"].items()) out += " " + name + "=" + value.get<std::string>();
      out += launch["notes"].empty() && launch["unknown"].empty() ? ";" : "!";
    }
    return out;
  };
  EXPECT_EQ(shown("mpirun -host a,b -np 1 " + kServe + "--node-rank 0 : -np 1 -x SGLANG_A=1 " + kServe + "--tp 3\n"),
            "0;3 SGLANG_A=1;");
  EXPECT_EQ(shown("srun -n1 " + kServe + "--tp 1 : -n1 " + kServe + "--tp 2 : -n1 " + kServe + "--tp 3\n"), "1;2;3;");
  EXPECT_EQ(shown("nice " + kServe + "--tp 1 : x\n"), "x;");  // which knows no such sign
}

TEST(Launches, NameTheProgramWhoseWordsTheyHave) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("a.sh", "vllm serve Qwen/Qwen3-8B\n" + kServe + "\n");
  const Json all = Json::parse(run_tool({"launches", path, "--format", "json"}).out);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["program"], "vllm");
  EXPECT_EQ(all[1]["program"], "sglang");
  EXPECT_THAT(run_tool({"launches", path}).out, HasSubstr("vLLM: Qwen/Qwen3-8B"));
}

TEST(Launches, AreOfTheReleaseThatTheirFileInstalls) {
  const TemporaryDirectory dir;
  const auto release = [&](const char* name, const std::string& text) {
    return Json::parse(run_tool({"launches", dir.file(name, text), "--format", "json"}).out).at(0)["release"];
  };
  const std::string pin = "pip install sglang==0.5.16\n";
  const std::string serve = R"(CMD ["python3", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-8B"])";
  EXPECT_EQ(release("a.sh", pin + kServe), "0.5.16");
  EXPECT_EQ(release("Dockerfile", "FROM intel/base:1\nRUN " + pin + serve), "0.5.16");
  // Another image, or another machine, has its own.
  EXPECT_EQ(release("b.sh", pin + "docker run lmsysorg/sglang:v0.5.19-xpu " + kServe), "0.5.19");
  EXPECT_EQ(release("c.sh", pin + "docker run own/image:1 " + kServe), nullptr);
  EXPECT_EQ(release("d.sh", pin + "ssh host " + kServe), nullptr);
  for (const char* file : {"a.sh", "Dockerfile"}) {
    const std::string path = dir.path() + "/" + file;
    for (const std::vector<std::string>& words : {std::vector<std::string>{path}, {"--command-file", path}}) {
      std::vector<std::string> all = {"check", "--no-kernel"};
      all.insert(all.end(), words.begin(), words.end());
      EXPECT_THAT(run_tool(all).out, HasSubstr("SGLang 0.5.16 (command)")) << file;
    }
  }
}

// The value is the one that the RUN sees; who builds it may give another.
TEST(Launches, AreOfTheReleaseThatAnArgumentOfTheImageNames) {
  const TemporaryDirectory dir;
  const auto release = [&](const std::string& text, const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {"launches", dir.file("Dockerfile", text), "--format", "json"};
    words.insert(words.end(), options.begin(), options.end());
    const Json all = Json::parse(run_tool(words).out, nullptr, false);
    return all.is_array() && all.size() == 1 ? all[0]["release"] : Json("not one launch");
  };
  const std::string run = "RUN pip install --upgrade \\\n  \"sglang[all]==${SG}\" torch\n";
  const std::string serve = R"(CMD ["python3", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-8B"])";
  const std::string from = "FROM intel/base:1\n";
  EXPECT_EQ(release(from + "ARG SG=0.5.19\n" + run + serve), "0.5.19");
  EXPECT_EQ(release(from + "ENV SG=0.5.18\nRUN pip install sglang==$SG\n" + serve), "0.5.18");
  EXPECT_EQ(release(from + "ARG SG=0.5.19\n" + run + serve, {"--set", "SG=0.5.20"}), "0.5.20");
  EXPECT_EQ(release("ARG SG=0.5.17\n" + from + "ARG SG\n" + run + serve), "0.5.17");
  // Behind FROM an argument that stands in front of it is not seen; without a value nothing is known.
  EXPECT_EQ(release("ARG SG=0.5.17\n" + from + run + serve), nullptr);
  EXPECT_EQ(release(from + "ARG SG\n" + run + serve), nullptr);
  EXPECT_EQ(release(from + "ARG SG=0.5.19\n" + run + "ARG SG=0.5.20\n" + run + serve), nullptr);
  const std::string other = "RUN pip install \"other==${SG}\" sglang-router==0.5.12\n";
  EXPECT_EQ(release(from + "ARG SG=0.5.19\n" + other + serve), nullptr);
}

// What prints its options starts nothing.
TEST(Launches, OfHelpAreNone) {
  const TemporaryDirectory dir;
  const std::string help = "python3 -m sglang.launch_server --help\nsglang serve -h\n";
  const Json all = Json::parse(run_tool({"launches", dir.file("a.sh", help + kServe), "--format", "json"}).out);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0]["notes"].empty());
  dir.file("b/b.sh", help);
  EXPECT_EQ(run_tool({"check", "--no-kernel", dir.path() + "/b"}).status, 0);
}

TEST(Launches, AreReadAsWhatRunsTheFileReadsIt) {
  const TemporaryDirectory dir;
  const auto argv = [&](const char* name, const std::string& text) {
    const Json all = Json::parse(run_tool({"launches", dir.file(name, text), "--format", "json"}).out, nullptr, false);
    return all.is_array() && all.size() == 1 ? all[0]["argv"].dump() : "";
  };
  const std::string model = R"(["--model-path","Qwen/Qwen3-8B")";
  // GNU make takes the carriage returns of Windows for nothing.
  EXPECT_EQ(argv("Makefile", "serve:\r\n\t" + kServe + "\\\r\n\t  --tp 2\r\n"), model + R"(,"--tp","2"])");
  // The first line says which language it is, not the name.
  EXPECT_EQ(argv("k.sh",
                 "#!/usr/bin/env python3\nimport subprocess\nsubprocess.run(['python3', '-m', "
                 "'sglang.launch_server', '--model-path', 'Qwen/Qwen3-8B'])\n"),
            model + "]");
  // A caret ends no line of a shell.
  EXPECT_EQ(argv("i.md", "```cmd\n" + kServe + "^\n  --tp 2\n```\n"), "");
  EXPECT_EQ(argv("j.md", "```cmd\n" + kServe + "\n```\n"), model + "]");
  const std::string pod = "kubectl run x --image lmsysorg/sglang:v0.5.19-xpu -- " + kServe + "\n";
  EXPECT_EQ(Json::parse(run_tool({"launches", dir.file("d.sh", pod), "--format", "json"}).out).at(0)["release"],
            "0.5.19");
}

// A library of functions is as long as a script may be; what is not followed is told with its name and why.
TEST(Launches, SayWhyAFileThatIsSourcedIsNotFollowed) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("run.sh", "TP=2\n. ./lib.sh\n" + kServe + "--tp $TP\n");
  const auto note = [&](const std::string& library) {
    dir.file("lib.sh", library);
    const Json all = Json::parse(run_tool({"launches", path, "--format", "json"}).out);
    return all.at(0)["argv"][3].get<std::string>() +
           (all[0]["notes"].empty() ? "" : " " + all[0]["notes"][0]["what"].get<std::string>());
  };
  const std::string comment = "# " + std::string(997, 'x') + "\n";
  std::string library = "f() { echo; }\n";
  for (int i = 0; i < 500; ++i) library += comment;
  EXPECT_EQ(note(library), "2");
  EXPECT_EQ(note(library + "TP=4\n"), "4");
  for (int i = 0; i < 30; ++i) library += comment;
  EXPECT_THAT(note(library), AllOf(HasSubstr("? " + dir.path() + "/lib.sh is sourced"), HasSubstr("(it is longer")));
  EXPECT_THAT(note("if\n"), HasSubstr("lib.sh is sourced and not followed (what begins here is not closed"));
  EXPECT_THAT(note("TP=4\r\n"), HasSubstr("CR LF"));
  EXPECT_THAT(note(std::string("a\0b\n", 4)), HasSubstr("it is no text"));
}

// A decode server takes the cache of the prefill server as it lies there.
TEST(CheckPaths, APrefillAndADecodeServerAreLookedAtTogether) {
  const TemporaryDirectory dir;
  const std::string common = kServe + "--device cpu --disaggregation-transfer-backend nixl --disaggregation-mode ";
  const auto together = [&](const std::string& prefill, const std::string& decode) {
    const std::string path =
        dir.file("pd.sh", common + "prefill " + prefill + "\n" + common + "decode " + decode + "\n");
    const Json report = Json::parse(run_tool({"check", path, "--no-kernel", "--format", "json"}).out);
    std::string rules;
    for (const Json& group : report["together"]) {
      for (const Json& finding : group["findings"])
        rules += finding["rule"].get<std::string>() + " " + finding["field"].get<std::string>() + " ";
    }
    return std::to_string(report["together"].size()) + " " + rules;
  };
  EXPECT_EQ(together("--page-size 64", "--page-size 64"), "1 ");
  EXPECT_EQ(together("--page-size 64", "--page-size 32"), "1 ND007 page_size ");
  EXPECT_EQ(together("", "--kv-cache-dtype bfloat16"), "1 ");
  EXPECT_EQ(together("", "--model-path Qwen/Qwen3-0.6B"), "0 ");
}

// What a Taskfile reads from files gives way to its own variables, and to those of a task.
TEST(Launches, OfATaskfileSeeItsFilesOfVariables) {
  const TemporaryDirectory dir;
  dir.file("all.env", "TP=4\nDP=4\nPORT=4\nHOST=h\n");
  dir.file("own.env", "DP=5\nPORT=5\n");
  const std::string path =
      dir.file("Taskfile.yml",
               "version: '3'\nenv: {TP: 2}\ndotenv: [all.env, none.env]\ntasks:\n  serve:\n    env: {DP: 3}\n"
               "    dotenv: [own.env]\n    cmds:\n      - " +
                   kServe + "--tp $TP --dp $DP --port $PORT --host $HOST\n");
  const Json all = Json::parse(run_tool({"launches", path, "--format", "json"}).out);
  ASSERT_EQ(all.size(), 1U) << all.dump();
  EXPECT_EQ(all[0]["argv"].dump(),
            R"(["--model-path","Qwen/Qwen3-8B","--tp","2","--dp","3","--port","5","--host","h"])");
  EXPECT_TRUE(all[0]["unknown"].empty());
}

// Two servers that one script starts at once want ports and cards of their own.
TEST(CheckPaths, ServersThatRunTogetherShareNoPortAndNoCard) {
  const TemporaryDirectory dir;
  const auto rules_of = [&](const std::string& name, const std::string& text) {
    const ToolRun run = run_tool({"check", dir.file(name, text), "--no-kernel", "--no-fixes", "--format", "json"});
    const Json report = Json::parse(run.out, nullptr, false);
    std::string out;
    if (!report.is_object() || !report.contains("together")) return run.out + run.err;
    for (const Json& group : report["together"]) {
      for (const Json& finding : group["findings"]) out += finding["rule"].get<std::string>() + " ";
    }
    return out;
  };
  const std::string one = "ZE_AFFINITY_MASK=0 " + kServe + "--port 30000 ";
  const std::string same_port = "ZE_AFFINITY_MASK=1 " + kServe + "--port 30000 ";
  const std::string other = "ZE_AFFINITY_MASK=1 " + kServe + "--port 30001 ";
  const std::string same_card = "ZE_AFFINITY_MASK=0 " + kServe + "--port 30001 ";
  const std::string two = "ZE_AFFINITY_MASK=0,1 " + kServe;
  const std::string nothing;
  const std::string container = "docker run --device /dev/dri ";
  const std::string image = "lmsysorg/sglang:v0.5.23-xpu " + kServe + "\n";
  const std::pair<std::string, std::string> rows[] = {
      {one + "&\n" + same_port + "&\nwait\n", "ND008 "},
      {one + "&\n" + same_port + "\n", "ND008 "},
      {one + "&\n" + other + "&\nwait\n", nothing},
      {one + "&\n" + same_card + "&\nwait\n", "ND009 "},
      {one + "&\n" + one + "&\n", "ND008 ND009 "},
      {one + "&\nPID=$!\necho up; sleep 60\nuntil curl -s localhost:30000/health; do sleep 1; done\n" + same_port +
           "&\n",
       "ND008 "},
      {"nohup env ZE_AFFINITY_MASK=0 " + kServe + "> a.log 2>&1 &\n" + same_port + "| tee b.log &\n", "ND008 "},
      {"for i in 0 1; do ZE_AFFINITY_MASK=$i " + kServe + "& done\nwait\n", "ND008 "},
      {"for i in 0 1; do ZE_AFFINITY_MASK=$i " + kServe + "--port $((30000 + i)) & done\nwait\n", nothing},
      {one + "--host 10.0.0.1 &\n" + same_port + "--host 10.0.0.2 &\n", nothing},
      {one + "--host 10.0.0.1 &\n" + same_port + "--host 0.0.0.0 &\n", "ND008 "},
      {one + "--mem-fraction-static 0.5 &\n" + same_card + "--mem-fraction-static 0.5 &\n", nothing},
      {one + "--mem-fraction-static 0.5 &\n" + same_card + "--mem-fraction-static 0.51 &\n", "ND009 "},
      {two + "&\n" + two + "--port 30001 --base-gpu-id 1 &\n", nothing},
      {two + "--tp 2 &\n" + two + "--port 30001 --base-gpu-id 1 &\n", "ND009 "},
      // One ends before the other begins, or nobody knows.
      {one + "\n" + same_port + "\n", nothing},
      {one + "&\nkill $!\n" + same_port + "&\n", nothing},
      {one + "&\nwait\n" + same_port + "&\n", nothing},
      {one + "&\n./stop.sh\n" + same_port + "&\n", nothing},
      {one + "&\n[ -n \"$TWO\" ] && " + same_port + "&\n", nothing},
      {one + "&\nssh other '" + same_port + "' &\n", nothing},
      {"(" + one + "; " + same_port + ") &\n", nothing},
      {"f() { " + one + "& }\nf\nf\n", "ND008 ND009 "},
      // Containers in the network of the machine.
      {container + "-d --network host " + image, nothing},
      {container + "-d --network host " + image + container + "-d --net=host " + image, "ND008 ND009 "},
      {"sudo " + container + "-itd --network host " + image + "sudo " + container + "--net=host " + image,
       "ND008 ND009 "},
      {container + "-d " + image + container + "-d " + image, nothing},
      {container + "--network host " + image + container + "--network host " + image, nothing},
      {one + "&\nssh h '" + container + "-d --network host " + image + "'\n", nothing},
  };
  for (const auto& [text, told] : rows) EXPECT_EQ(rules_of("a.sh", text), told) << text;
  const auto run = run_tool({"check", dir.file("c.sh", one + "&\n" + same_card + "&\n"), "--no-kernel", "--no-fixes"});
  EXPECT_THAT(run.out, HasSubstr(" both run on GPU 0 of those that ZE_AFFINITY_MASK=0 leaves and take "));
  const auto services = [](const std::string& more) {
    std::string out = "services:\n";
    for (const char* name : {"a", "b"}) {
      out += "  " + std::string(name) + ":\n    image: lmsysorg/sglang:v0.5.23-xpu\n    command: " + kServe + "\n" +
             "    devices: [/dev/dri]\n" + more;
    }
    return out;
  };
  EXPECT_EQ(rules_of("compose.yaml", services("    network_mode: host\n")), "ND008 ND009 ");
  for (const char* other_way :
       {"", "    network_mode: bridge\n", "    network_mode: host\n    profiles: [x]\n",
        "    network_mode: host\n    deploy: {replicas: 0}\n", "    network_mode: host\n    scale: 0\n"})
    EXPECT_EQ(rules_of("compose.yaml", services(other_way)), nothing) << other_way;
  // Cards that are given by their nodes.
  const auto cards = [](const std::string& first, const std::string& second) {
    std::string out = "services:\n";
    for (const auto& [name, nodes] : {std::pair("a", first), std::pair("b", second)})
      out +=
          fmt::format("  {}:\n    image: i\n    network_mode: host\n    devices: [{}]\n    command: {} --port 3000{}\n",
                      name, nodes, kServe, name[0] - 'a');
    return out;
  };
  EXPECT_EQ(rules_of("compose.yaml", cards("/dev/dri/renderD128", "/dev/dri/renderD129")), nothing);
  EXPECT_EQ(rules_of("compose.yaml", cards("/dev/dri/renderD128", "/dev/dri/renderD128")), "ND009 ");
  EXPECT_EQ(rules_of("compose.yaml", cards("/dev/dri/renderD129, /dev/dri/renderD128", "/dev/dri/renderD128")),
            "ND009 ");
  EXPECT_EQ(rules_of("compose.yaml", cards("/dev/dri", "/dev/dri/renderD128")), nothing);
  // A function that is called twice, and its servers by their ports.
  const auto twice =
      run_tool({"check", dir.file("d.sh", "f() { " + kServe + "--port $1 & }\nf 1\nf 2\n"), "--no-kernel"});
  EXPECT_THAT(twice.out, HasSubstr("d.sh:1 with port 1 and with port 2: both run on GPU 0"));
}

// What a program of Python starts and does not wait for runs beside what it starts behind that.
TEST(CheckPaths, ServersThatAProgramStartsShareNoPortAndNoCard) {
  const TemporaryDirectory dir;
  const auto rules_of = [&](const std::string& text) {
    const ToolRun run = run_tool({"check", dir.file("a.py", "import subprocess, os, time, requests\n" + text),
                                  "--no-kernel", "--no-fixes", "--format", "json"});
    const Json report = Json::parse(run.out, nullptr, false);
    std::string out;
    if (!report.is_object() || !report.contains("together")) return run.out + run.err;
    for (const Json& group : report["together"]) {
      for (const Json& finding : group["findings"]) out += finding["rule"].get<std::string>() + " ";
    }
    return out;
  };
  const auto serve = [](const std::string& call, int port) {
    return fmt::format(
        "{}(['python', '-m', 'sglang.launch_server', '--model-path', 'Qwen/Qwen3-8B', '--port', '{}'])\n", call, port);
  };
  const std::string popen = "p = subprocess.Popen";
  const std::string run = "subprocess.run";
  const std::pair<std::string, std::string> rows[] = {
      {serve(popen, 1) + serve(popen, 2), "ND009 "},
      {serve(popen, 1) + serve(popen, 1), "ND008 ND009 "},
      {serve(popen, 1) + serve(run, 1), "ND008 ND009 "},
      {serve(popen, 1) + "time.sleep(60)\nrequests.get('http://localhost:1/health')\n" + serve(popen, 2), "ND009 "},
      {"for port in (1, 2):\n  " + serve(popen, 3), "ND008 ND009 "},
      {serve(run, 1) + serve(run, 1), ""},
      {serve(popen, 1) + "p.wait()\n" + serve(popen, 1), ""},
      {serve(popen, 1) + "os.killpg(p.pid, 9)\n" + serve(popen, 1), ""},
      {serve(popen, 1) + "stop(p)\n" + serve(popen, 1), ""},
      {serve(popen, 1) + "subprocess.run(['pkill', 'python'])\n" + serve(popen, 1), ""},
      {"for port in (1, 2):\n  with " +
           serve("subprocess.Popen", 3).substr(0, serve("subprocess.Popen", 3).size() - 1) +
           " as p:\n    time.sleep(1)\n",
       ""},
      {serve(popen, 1) + "if os.environ['TWO']:\n  " + serve(popen, 1), ""},
  };
  for (const auto& [text, told] : rows) EXPECT_EQ(rules_of(text), told) << text;
}

// A job of Slurm has the cards and the memory that it asks for.
TEST(CheckPaths, AJobOfSlurmHasWhatItAsksFor) {
  const TemporaryDirectory dir;
  const auto said = [&](const std::string& name, const std::string& text) {
    return run_tool({"check", dir.file(name, text), "--no-kernel", "--no-fixes"}).out;
  };
  const std::string four = kServe + "--tp 4\n";
  const auto cards = [](const std::string& count) { return HasSubstr("the launch may use " + count + " ("); };
  const std::string job = "#!/bin/bash\n#SBATCH -N 1 --mem=48G  # all\n#SBATCH --gres=gpu:b60:2,nvme:1\n";
  EXPECT_THAT(said("a.sbatch", job + four), AllOf(cards("2 cards"), HasSubstr("may use 48.0 GiB"), HasSubstr("PL001")));
  EXPECT_THAT(said("b.sbatch", job + "srun --gres=gpu:1 --mem 1024 " + four),
              AllOf(cards("1 card"), HasSubstr("may use 1.0 GiB")));
  EXPECT_THAT(said("c.sh", "sbatch -N1 -G 3 --wrap='" + four + "'"), cards("3 cards"));
  EXPECT_THAT(said("d.sh", "sbatch --gpus-per-node=1 <<'X'\n#!/bin/bash\n#SBATCH --mem=2G\n" + four + "X\n"),
              AllOf(cards("1 card"), HasSubstr("may use 2.0 GiB")));
  // Behind a command it is a comment; a whole node has all of its cards; cards of all nodes are shared out otherwise.
  for (const std::string& text :
       {"#!/bin/bash\ntrue\n#SBATCH --gres=gpu:2\n" + four, "#!/bin/bash\n#SBATCH --gres=gpu:2 --exclusive\n" + four,
        "#!/bin/bash\n#SBATCH -G 2\n" + four, job + "ssh other '" + four + "'",
        "sbatch --gres=gpu:2 <<'X'\n#!/bin/bash\n#SBATCH --exclusive\n" + four + "X\n"})
    EXPECT_THAT(said("e.sh", text), ::testing::Not(HasSubstr("may use"))) << text;
}

// The two may stand in two files of a folder; of more nobody knows which belong together.
TEST(CheckPaths, APrefillAndADecodeServerOfTwoFilesAreLookedAtTogether) {
  const TemporaryDirectory dir;
  const std::string common = kServe + "--device cpu --disaggregation-transfer-backend nixl --disaggregation-mode ";
  const auto groups = [&] {
    return Json::parse(run_tool({"check", dir.path(), "--no-kernel", "--format", "json"}).out)["together"];
  };
  dir.file("prefill.sh", common + "prefill --page-size 64\n");
  EXPECT_EQ(groups().size(), 0U);
  dir.file("decode.sh", common + "decode --page-size 32\n");
  ASSERT_EQ(groups().size(), 1U);
  EXPECT_EQ(groups()[0]["findings"][0]["rule"], "ND007");
  dir.file("decode2.sh", common + "decode --page-size 64\n");
  EXPECT_EQ(groups().size(), 0U);
}

TEST(Launches, OfAFolderWithoutAnySaySo) {
  const TemporaryDirectory dir;
  dir.file("a.sh", "echo\n");
  const ToolRun run = run_tool({"launches", dir.path()});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("no launch was found in " + dir.path()));
}

TEST(CheckPaths, EveryLaunchOfADirectoryIsLookedAtByItself) {
  const TemporaryDirectory dir;
  dir.file("good.sh", kServe + "--tp 2\n");
  dir.file("sub/bad.sh", kServe + "--tp 3\n");
  dir.file("open.sh", kServe + "--tp $N\n");
  dir.file("none.sh", "echo hello\n");
  dir.file("two.yaml",
           "services:\n  a: {image: 'lmsysorg/sglang:v0.5.12', command: sglang serve --model-path Qwen/Qwen3-8B}\n"
           "  b: {command: sglang serve --model-path Qwen/Qwen3-0.6B}\n");
  const ToolRun run = run_tool({"check", dir.path()});
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_THAT(run.out, HasSubstr("4 launches checked, 1 of them failed, 1 with something unknown"));
  EXPECT_THAT(run.out, HasSubstr("the variable N is not set"));
  EXPECT_THAT(run.out, HasSubstr("PL003"));
  EXPECT_THAT(run.out, HasSubstr("(SGLang 0.5.12)"));
  const Json all = Json::parse(run_tool({"check", dir.path(), "--format", "json"}).out);
  EXPECT_EQ(all["summary"]["checked"], 4);
  EXPECT_EQ(all["summary"]["unknown"], 1);
  EXPECT_EQ(all["launches"].size(), 5U);
  const ToolRun set = run_tool({"check", dir.path() + "/open.sh", "--set", "N=2"});
  EXPECT_EQ(set.status, 0) << set.out << set.err;
}

// A link and a path that is given twice name a file that is read already; what has nothing to do with launches counts
// nowhere.
TEST(CheckPaths, EachFileCountsOnce) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("serve.sh", kServe + "--tp 2\n");
  dir.file("comment.sh", "# " + kServe + "\n");
  std::filesystem::create_symlink(path, dir.path() + "/link.sh");
  const ToolRun folder = run_tool({"check", "--no-kernel", dir.path()});
  EXPECT_THAT(folder.out, HasSubstr("\n1 file: 1 launch checked"));
  EXPECT_THAT(folder.out, HasSubstr("serve.sh:1"));
  EXPECT_THAT(run_tool({"check", "--no-kernel", path, path, dir.path() + "/./serve.sh"}).out,
              HasSubstr("\n1 file: 1 launch checked"));
}

// What an earlier run wrote into the folder holds the launches of other files.
TEST(CheckPaths, ReportsOfAnEarlierRunAreNotReadAgain) {
  const TemporaryDirectory dir;
  dir.file("serve.sh", kServe + "--tp 2\n");
  const std::string out = dir.path() + "/report.";
  run_tool({"check", "--no-kernel", dir.path(), "--output", "json=" + out + "json", "--output", "html=" + out + "html",
            "--output", "sarif=" + out + "sarif", "--output", "junit=" + out + "xml", "--output",
            "gitlab=" + out + "gl", "--output", "markdown=" + out + "md"});
  const ToolRun again = run_tool({"check", "--no-kernel", dir.path()});
  EXPECT_THAT(again.out, HasSubstr("\n1 file: 1 launch checked"));
  EXPECT_THAT(again.out, HasSubstr("0 not readable"));
}

// A folder is not said to hold no launch without a word of what in it was not looked into.
TEST(CheckPaths, WhatIsNoFileOfTheFolderIsTold) {
  const TemporaryDirectory dir;
  const TemporaryDirectory elsewhere;
  dir.file("in/serve.sh", kServe + "--tp 2\n");
  const auto link = [&](const std::string& to, const std::string& name) {
    std::filesystem::create_symlink(to, dir.path() + "/" + name);
  };
  link("in", "current");
  link("nothing", "photo.jpg");
  link("nothing", "run.sh");
  link("loop.yaml", "loop.yaml");
  link("/dev/null", "masked.service");
  link(elsewhere.path(), "other");
  ASSERT_EQ(mkfifo((dir.path() + "/pipe.sh").c_str(), 0600), 0);
  const ToolRun run = run_tool({"check", "--no-kernel", dir.path()});
  EXPECT_EQ(run.status, 0) << run.out;
  for (const char* said : {"run.sh: skipped: a link to nothing", "loop.yaml: skipped: a link to nothing",
                           "masked.service: skipped: no regular file", "pipe.sh: skipped: no regular file",
                           "other: skipped: a link to another folder", "6 files: 1 launch", "5 files skipped"})
    EXPECT_THAT(run.out, HasSubstr(said));
  EXPECT_THAT(run.out, Not(AnyOf(HasSubstr("current"), HasSubstr("photo"))));
  const Json all = Json::parse(run_tool({"check", "--no-kernel", "--format", "json", dir.path()}).out);
  EXPECT_EQ(all["skipped"][0]["read"], false);
}

// What stands in a container is not what lies under that name on this machine.
TEST(CheckPaths, TheConfigFileOfAContainerIsNotReadHere) {
  const TemporaryDirectory dir;
  const std::string config = dir.file("c.yaml", "model-path: Qwen/Qwen3-8B\ntp-size: 2\n");
  const auto run = [&](const std::string& rest) {
    const std::string path = dir.file(
        "compose.yml", fmt::format("services:\n  s:\n    image: x\n    devices: [/dev/dri]\n{}    command: python -m "
                                   "sglang.launch_server --config {}\n",
                                   rest, config));
    return run_tool({"check", "--no-kernel", path});
  };
  const ToolRun inside = run("");
  EXPECT_EQ(inside.status, 1);
  EXPECT_THAT(inside.out, HasSubstr("not checked: --config: " + config + " is a file of the container"));
  const ToolRun mounted = run(fmt::format("    volumes: ['{0}:{0}']\n", dir.path()));
  EXPECT_EQ(mounted.status, 0) << mounted.out;
}

TEST(CheckPaths, NodesOfOneLaunchAreAlsoLookedAtTogether) {
  const TemporaryDirectory dir;
  const std::string rest = "--tp 8 --nnodes 2 --dist-init-addr n0:5000 ";
  dir.file("a.sh", kServe + rest + "--node-rank 0\n");
  dir.file("b.sh", kServe + rest + "--node-rank 0\n");
  const ToolRun run = run_tool({"check", "--device-count", "4", dir.path()});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("ND002"));
  EXPECT_THAT(run.out, HasSubstr("together: 2 of 2 nodes at n0:5000"));
}

TEST(CheckPaths, OneOfSeveralIsPicked) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("c.yaml",
                                    "services:\n  small: {command: sglang serve --model-path Qwen/Qwen3-0.6B}\n"
                                    "  big: {command: sglang serve --model-path Qwen/Qwen3-8B}\n");
  const auto model = [&](const std::string& choice) {
    const ToolRun run =
        run_tool({"check", "--no-kernel", "--format", "json", "--command-file", path, "--launch", choice});
    const Json report = Json::parse(run.out, nullptr, false);
    return report.contains("launch") ? report["launch"]["argv"][1].get<std::string>() : run.err;
  };
  EXPECT_EQ(run_tool({"launches", path, "--launch", "big"}).out, path + ":3 (big)\n  --model-path Qwen/Qwen3-8B\n");
  EXPECT_THAT(run_tool({"check", "--no-kernel", path, "--launch", "2"}).out, HasSubstr("1 file: 1 launch checked"));
  EXPECT_EQ(run_tool({"check", "--no-kernel", path, "--launch", "3"}).status, 2);
  EXPECT_EQ(model("1"), "Qwen/Qwen3-0.6B");
  EXPECT_EQ(model("big"), "Qwen/Qwen3-8B");
  EXPECT_THAT(model("3"), HasSubstr("there is no such launch"));
  EXPECT_THAT(run_tool({"check", "--command-file", path}).err,
              HasSubstr("2 SGLang launches in this manifest: 1 small"));
}

// What may hold a launch and cannot be read is no file without one: a gate over its folder does not pass.
TEST(CheckPaths, WhatCannotBeReadInAFolderCounts) {
  const std::string broken = "services: [\n  a: " + kServe + "--tp 3\n";
  const std::string by_far = std::string(1'100'000, '#') + "\n" + kServe + "--tp 3\n";
  for (const auto& [name, text] : {std::pair{"compose.yaml", broken}, std::pair{"run.sh", by_far}}) {
    const TemporaryDirectory dir;
    const std::string path = dir.file(name, text);
    dir.file("good.sh", kServe + "--tp 2\n");
    const ToolRun run = run_tool({"check", "--no-kernel", dir.path()});
    EXPECT_EQ(run.status, 1) << run.out << run.err;
    EXPECT_THAT(run.out, HasSubstr(path + ": not readable: "));
    EXPECT_THAT(
        run.out,
        HasSubstr("1 launch checked, 0 of them failed, 0 with something unknown, 1 not readable; 0 files skipped"));
    EXPECT_THAT(run_tool({"check", "--no-kernel", "-q", dir.path()}).out, HasSubstr("not readable"));
    const Json all = Json::parse(run_tool({"check", "--no-kernel", dir.path(), "--format", "json"}).out);
    EXPECT_EQ(all["exit_status"], 1);
    EXPECT_EQ(all["summary"]["unread"], 1);
    EXPECT_EQ(all["summary"]["skipped_files"], 0);
    EXPECT_EQ(all["skipped"][0]["read"], false);
    const auto told = [&](const char* format) {
      const ToolRun out = run_tool({"check", "--no-kernel", "--output", format, dir.path()});
      EXPECT_EQ(out.status, 1) << format;
      return out.out;
    };
    EXPECT_THAT(told("junit"), HasSubstr("errors=\"1\""));
    EXPECT_THAT(told("github"), HasSubstr("::error file="));
    EXPECT_THAT(told("markdown"), HasSubstr("1 not readable"));
    EXPECT_THAT(told("html"), HasSubstr("something fails"));
    EXPECT_THAT(told("sarif"), HasSubstr("\"level\": \"error\""));
    EXPECT_THAT(told("gitlab"), HasSubstr(name));
    EXPECT_EQ(run_tool({"upgrade", "--from", "0.5.22", "--to", "0.5.23", dir.path()}).status, 1);
  }
}

// A text that is understood and runs no launch fails nothing.
TEST(CheckPaths, WhatIsReadAndRunsNoLaunchIsSkipped) {
  const TemporaryDirectory dir;
  dir.file("a.sh", "f() { " + kServe + "; }\n");
  const ToolRun run = run_tool({"check", "--no-kernel", dir.path()});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("a.sh: skipped: "));
  EXPECT_THAT(run.out, HasSubstr("0 not readable; 1 file skipped"));
}

TEST(CheckPaths, AFolderWithoutLaunchesMeetsNoRequirement) {
  const TemporaryDirectory dir;
  dir.file("a.sh", "echo\n");
  EXPECT_EQ(run_tool({"check", "--no-kernel", dir.path()}).status, 0);
  for (const std::vector<std::string>& gate :
       {std::vector<std::string>{"--require", "complete"}, {"--require", "release"}, {"--require-kernel"}}) {
    std::vector<std::string> words = {"check", dir.path()};
    words.insert(words.begin() + 1, gate.begin(), gate.end());
    const ToolRun run = run_tool(words);
    EXPECT_EQ(run.status, 1) << gate.back() << run.out << run.err;
    EXPECT_THAT(run.out, HasSubstr("error[RQ001]: --require: no launch was found in " + dir.path()));
    words.insert(words.end(), {"--output", "junit"});
    EXPECT_THAT(run_tool(words).out, HasSubstr("failures=\"1\""));
  }
  dir.file("b.sh", kServe);
  EXPECT_THAT(run_tool({"check", "--no-kernel", "--require", "release", dir.path()}).out,
              Not(HasSubstr("no launch was found")));
}

// What a file starts beside its own launch and that is not read is told, each once; what starts nothing is not.
TEST(Launches, TellOfWhatIsStartedAndNotRead) {
  const TemporaryDirectory dir;
  const auto told = [&](const std::string& name, const std::string& text) {
    std::vector<std::string> out;
    const Json all = Json::parse(run_tool({"launches", dir.file(name, text), "--format", "json"}).out);
    for (const Json& launch : all) {
      for (const Json& note : launch["notes"]) {
        if (note["rule"] == "SH009")
          out.push_back(note["where"].get<std::string>() + " " + note["what"].get<std::string>());
      }
    }
    return out;
  };
  const std::string serve = kServe + std::string("\n");
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  using ::testing::StartsWith;
  for (const auto& [line, says] : std::vector<std::pair<std::string, std::string>>{
           {"bash other.sh", "1:6 other.sh is run here, and not read"},
           {"bash -x other.sh", "1:9 other.sh is run here, and not read"},
           {"./run/other.sh &", "1:1 ./run/other.sh is run here, and not read"},
           {"./run/other.py --x", "1:1 ./run/other.py is run here, and not read"},
           {"$(which x)other.sh", "1:1 ?other.sh is run here, and not read"},
           {"python serve.py --x", "1:8 serve.py is run here, and not read"},
           {"make serve", "1:1 make serve runs recipes"},
           {"make -C sub", "1:1 make -C sub runs recipes"},
           {"make -j 4 serve", "1:1 make serve runs recipes"},
           {"docker compose -f a.yml up -d", "1:1 docker compose up starts services"},
           {"docker-compose up", "1:1 docker-compose up starts services"},
           {"docker stack deploy -c a.yml s", "1:1 docker stack deploy starts services"},
           {"kubectl apply -f a.yml", "1:1 kubectl apply starts what manifests hold"},
           {"helm upgrade --install s ./chart", "1:1 helm upgrade starts what a chart holds"},
           {"sudo systemctl start sgl", "1:6 systemctl start sgl starts a unit"},
           {"systemctl enable --now sgl", "1:1 systemctl enable sgl starts a unit"}}) {
    EXPECT_THAT(told("run.sh", line + "\n" + line + "\n" + serve), ElementsAre(StartsWith(says))) << line;
  }
  for (const char* line :
       {"make", "make install", "make -j4 all", "docker compose down", "docker compose logs -f", "kubectl create ns a",
        "systemctl stop sgl", "systemctl enable sgl", "helm list", "bash -c true"})
    EXPECT_THAT(told("run.sh", std::string(line) + "\n" + serve), IsEmpty()) << line;
  EXPECT_THAT(told("Makefile", "serve:\n\t" + serve + "\t$(MAKE) -C sub\n"),
              ElementsAre(StartsWith("3:2 make -C sub runs recipes")));
  dir.file("beside.sh", "true\n");
  EXPECT_THAT(told("run.sh", "bash \"$(dirname \"$0\")/beside.sh\"\n" + serve), IsEmpty());  // it is read
  const ToolRun run =
      run_tool({"check", "--no-kernel", "--output", "json", dir.file("run.sh", "make serve\n" + serve)});
  EXPECT_THAT(run.out, HasSubstr("\"SH009\""));
}

// What a key says that nothing reads is no part of the launch; of a launch beside it nothing is said.
TEST(Launches, TellOfAMisspeltKeyBesideThem) {
  const TemporaryDirectory dir;
  const auto service = [](const std::string& name, const std::string& key) {
    return "  " + name + ":\n    " + key + ": {SGLANG_A: 1}\n    command: " + kServe + "\n";
  };
  const std::string path =
      dir.file("compose.yaml", "services:\n" + service("a", "enviroment") + service("b", "environment"));
  const Json all = Json::parse(run_tool({"launches", path, "--format", "json"}).out);
  ASSERT_EQ(all.size(), 2U);
  ASSERT_EQ(all[0]["notes"].size(), 1U);
  EXPECT_EQ(all[0]["notes"][0]["rule"], "SH007");
  EXPECT_EQ(all[0]["notes"][0]["where"], "3:5");
  EXPECT_EQ(all[0]["notes"][0]["what"], "enviroment is no key of a service; did you mean environment?");
  EXPECT_TRUE(all[1]["notes"].empty());
  const ToolRun run = run_tool({"check", "--no-kernel", path});
  EXPECT_THAT(run.out, HasSubstr("warning[SH007]"));
}

// The machine that runs the script may have it; a script that goes on without it is followed as it stands here.
TEST(Launches, AFileThatIsNotHereEndsNoScript) {
  const TemporaryDirectory dir;
  const std::string serve = "python -m sglang.launch_server --model-path m\n";
  for (const char* guard :
       {"if [ ! -f .env ]; then echo 'copy .env.example'; exit 1; fi\n", "[ -d ./.venv ] || exit 1\n",
        "if [ -s .pid ]; then :; else exit 0; fi\n", "[ -f .a ] && [ -f .b ] || exit 1\n"}) {
    EXPECT_THAT(run_tool({"launches", dir.file("a.sh", guard + serve)}).out,
                HasSubstr("a.sh:2, unless the script ends"))
        << guard;
  }
  const ToolRun on = run_tool({"launches", dir.file("b.sh", "if [ -f .env ]; then . ./.env; fi\n" + serve)});
  EXPECT_THAT(on.out, AllOf(HasSubstr("b.sh:2\n"), Not(HasSubstr("unless")))) << on.out;
}

// Bash reads a line, runs it, and ends at the first line that it cannot read; its trap on EXIT runs then.
TEST(Launches, StandInFrontOfALineThatIsNoShellText) {
  const TemporaryDirectory dir;
  const auto said = [&](const std::string& text) {
    const ToolRun run = run_tool({"launches", dir.file("a.sh", text)});
    return run.out + run.err;
  };
  EXPECT_THAT(said(kServe + "--tp 2\nif x; then\ny\nfi fi\n" + kServe + "--tp 4\n"),
              AllOf(HasSubstr("a.sh:1\n"), HasSubstr("--tp 2"), Not(HasSubstr("--tp 4")),
                    HasSubstr("4:4: the shell ends here, and nothing behind it runs: fi stands here without its"),
                    HasSubstr("5:11: a launch is named here")));
  EXPECT_THAT(said(kServe + "--tp 2\necho \"x\n"), AllOf(HasSubstr("a.sh:1\n"), HasSubstr("2:6: the shell ends here")));
  EXPECT_THAT(said(kServe + "--tp 2; fi\n"), AllOf(Not(HasSubstr("a.sh:1\n")), HasSubstr("fi stands here without")));
  EXPECT_THAT(said("fi\n" + kServe + "--tp 2\n"), AllOf(Not(HasSubstr("--tp 2")), HasSubstr("1:1: fi stands here")));
  EXPECT_THAT(said("trap '" + kServe + "--tp 8' EXIT\n" + kServe + "--tp 2\nfi\n"),
              AllOf(HasSubstr("--tp 2"), HasSubstr("a.sh:1, as the script ends"), HasSubstr("--tp 8")));
  EXPECT_THAT(said(kServe + "--tp 2\nexit\nfi\n"), AllOf(HasSubstr("--tp 2"), Not(HasSubstr("the shell ends"))));
}

// A value that a program makes may be what is asked for: what stands behind it runs where the program finds one.
TEST(Launches, BehindAValueThatAProgramMakesMayNotRun) {
  const TemporaryDirectory dir;
  const auto said = [&](const std::string& front) {
    return run_tool({"launches", dir.file("a.sh", front + " && " + kServe + "--tp 2\n")}).out;
  };
  EXPECT_THAT(said("X=$(find-card)"), HasSubstr("a.sh:1, in a branch at line 1\n"));
  EXPECT_THAT(said("Y=1 X=\"a$(find-card)\""), HasSubstr("a.sh:1, in a branch at line 1\n"));
  for (const char* known : {"X=2", "X=$(echo 4)", "X=$Y", "D=$(cd \"$(dirname \"$0\")\" && pwd)", "find-card"})
    EXPECT_THAT(said(known), HasSubstr("a.sh:1\n")) << known;
  const std::string first = "set -e\nX=$(find-card)\n" + kServe;  // that a command succeeds is taken for granted
  EXPECT_THAT(run_tool({"launches", dir.file("a.sh", first)}).out, HasSubstr("a.sh:3\n"));
}

// What a comment cuts off is put back, not deleted.
TEST(CheckPaths, AFixKeepsOptionsThatWereCutOff) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("a.sh", kServe + "\\\n  # two cards\n  --tp 2 \\\n  --page-size 64\n");
  const ToolRun plain = run_tool({"check", "--no-kernel", "--command-file", path});
  EXPECT_EQ(plain.status, 1) << plain.out << plain.err;
  EXPECT_THAT(plain.out, HasSubstr("SH003"));
  const ToolRun run = run_tool({"check", "--no-kernel", "--fix", "--command-file", path});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_EQ(read_file(path), "# two cards\n" + kServe + "\\\n  --tp 2 \\\n  --page-size 64\n");
}

// make does nothing for a goal that lies there already, and nothing at all where it finds no way to what one asks for.
TEST(Launches, AGoalOfAMakefileRunsWhereMakeComesToIt) {
  const TemporaryDirectory dir;
  const auto told = [&](const std::string& makefile) { return run_tool({"launches", dir.file("Makefile", makefile)}); };
  const std::string recipe = "\n\t" + kServe + "\n";
  const std::string in_vain = ", where make finds what line 1 asks for\n";
  const std::string in_time = ", unless the goal of line 1 is up to date\n";
  EXPECT_THAT(told("serve: missing" + recipe).out, HasSubstr(in_vain));
  EXPECT_THAT(told("serve: made" + recipe + "made: missing\n").out, HasSubstr("where make finds what line 3 asks for"));
  dir.file("missing.c", "");  // of which make's own rules make it
  EXPECT_THAT(told("serve: missing" + recipe).out, Not(HasSubstr(", where")));
  EXPECT_THAT(told("serve:" + recipe).out, Not(HasSubstr(", unless")));
  dir.file("serve", "");
  EXPECT_EQ(told("serve:" + recipe).status, 2);
  EXPECT_EQ(told("serve: | Makefile" + recipe).status, 2);
  EXPECT_THAT(told("serve: Makefile" + recipe).out, HasSubstr(in_time));
  for (const char* const always : {"serve::", ".PHONY: serve\nserve:", "FORCE:\nserve: FORCE"})
    EXPECT_THAT(told(always + recipe).out, AllOf(HasSubstr("(serve)\n"), Not(HasSubstr(", unless")))) << always;
  EXPECT_THAT(told("serve: missing.c" + recipe).out, HasSubstr(in_time));
}

TEST(Launches, AMakefileKnowsWhereItStands) {
  const TemporaryDirectory dir;
  dir.file("models.mk", "X = 1\n");
  const std::string path = dir.file("Makefile",
                                    "ROOT := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))\n"
                                    "include models.mk\n"
                                    "LAST := $(lastword $(MAKEFILE_LIST))\n"
                                    "serve:\n\t" +
                                        kServe +
                                        "--download-dir $(CURDIR)/a $(ROOT)b $(shell pwd)/c $(PWD)/d "
                                        "$(realpath models.mk) $(abspath e/../f/ /g//h/) $(LAST)\n");
  const std::string here = dir.path() + "/";
  const Json all = Json::parse(run_tool({"launches", path, "--format", "json"}).out);
  std::vector<std::string> words = all[0]["argv"];
  words.erase(words.begin(), words.begin() + 3);
  EXPECT_THAT(words, ::testing::ElementsAre(here + "a", here + "b", here + "c", here + "d", here + "models.mk",
                                            here + "f", "/g/h", "models.mk"));
  EXPECT_EQ(all[0]["unknown"], Json::array());
  EXPECT_THAT(all[0]["defaults"].dump(), AllOf(HasSubstr(R"("CURDIR")"), HasSubstr(R"("$PWD")")));
  const std::string pasted = "serve:\n\t" + kServe + "--download-dir $(CURDIR)/a $(realpath b)\n";
  const Json unknown = Json::parse(run_tool({"launches", "-", "--format", "json"}, pasted).out);
  EXPECT_EQ(unknown[0]["unknown"].size(), 2U) << unknown.dump();
}

}  // namespace
}  // namespace preflight::testing
