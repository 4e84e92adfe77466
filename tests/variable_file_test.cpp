// Files of variables that compose reads beside its own file.
#include "src/sources/readers/variable_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/sources/launch_command.h"

namespace preflight::sources {
namespace {

namespace fs = std::filesystem;

class VariableFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_ / "sub");
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(VariableFiles, AreReadAsComposeDoes) {
  const auto read = variables_of(
      "# A=0\nA=1 # one\nexport B='$A # x'\nC=\"$A \\\"c\\\"\" # y\nD=${A}${Z:-z}\nE = e#e\nF=\nG=$NOWHERE\nH\nI=$K\n",
      {{"K", "k"}}, 7);
  ASSERT_EQ(read.size(), 8U);
  EXPECT_EQ(read.at("A").text, "1");
  EXPECT_EQ(read.at("B").text, "$A # x");
  EXPECT_EQ(read.at("C").text, "1 \"c\"");
  EXPECT_EQ(read.at("D").text, "1z");
  EXPECT_EQ(read.at("E").text, "e#e");
  EXPECT_EQ(read.at("F").text, "");
  EXPECT_EQ(read.at("G").unknowns.size(), 1U);
  EXPECT_EQ(read.at("I").text, "k");
  EXPECT_EQ(read.at("I").origin, std::vector<std::size_t>{7});
}

// Quotes hold line ends, and a colon parts as an equals sign does; Python's dotenv takes no colon.
TEST_F(VariableFiles, AreReadWithTheirQuotesAndEscapes) {
  const std::string text =
      "A: m\nB=\"l1\nX=l2\" # c\nC=\"a\\tb\\d\\\\e\\$A\"\nD='it\\'s a\\b'\n  # E=0\nexport\nF=\"open\nG=2\n";
  const auto read = variables_of(text, {}, 0);
  EXPECT_EQ(read.at("A").text, "m");
  EXPECT_EQ(read.at("B").text, "l1\nX=l2");
  EXPECT_EQ(read.at("C").text, "a\tb\\d\\e$A");
  EXPECT_EQ(read.at("D").text, "it's a\\b");
  EXPECT_EQ(read.at("F").text, "open\nG=2\n");
  EXPECT_EQ(read.size(), 5U);
  EXPECT_EQ(variables_of("A: m\nB=1\n", {}, 0, Dotenv::kPython).count("A"), 0U);
  EXPECT_EQ(variables_of("A: m\nB=1\n", {}, 0, Dotenv::kPython).at("B").text, "1");
}

TEST_F(VariableFiles, OfDockerAreWhatStandsThere) {
  const auto read = raw_variables_of("A=\"x $B\" # c\n  B= y \r\n#C=1\nD\n=E\nexport F=1", 7);
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read.at("A").text, "\"x $B\" # c");
  EXPECT_EQ(read.at("B").text, " y ");
  EXPECT_EQ(read.at("export F").text, "1");
  EXPECT_EQ(read.at("B").origin, (std::vector<std::size_t>{7, 7, 7}));
  write("raw.env", "MODEL='m'\n");
  const auto launched = [&](const std::string& file) {
    const auto all = read_launches("services:\n  a:\n    image: i\n    env_file: [" + file +
                                       "]\n    command: [sh, -c, 'python3 -m sglang.launch_server --model-path "
                                       "\"$$MODEL\"']\n",
                                   {}, path("compose.yaml"));
    return all ? all->front().argv.back() : all.error().text();
  };
  EXPECT_EQ(launched("{path: raw.env, format: raw}"), "'m'");
  EXPECT_EQ(launched("{path: raw.env}"), "m");
  EXPECT_EQ(launched("raw.env"), "m");
}

TEST_F(VariableFiles, OnlyWhatIsNamedIsOpened) {
  write("a.env", "A=1\n");
  write("long.env", std::string(600'000, 'x'));
  EXPECT_EQ(file_beside(path("compose.yaml"), "a.env"), "A=1\n");
  EXPECT_EQ(file_beside(path("sub/compose.yaml"), "../a.env"), "A=1\n");
  EXPECT_EQ(file_beside("", "a.env"), std::nullopt);
  EXPECT_EQ(file_beside(path("compose.yaml"), "b.env"), std::nullopt);
  EXPECT_EQ(file_beside(path("compose.yaml"), "long.env"), std::nullopt);
  EXPECT_EQ(file_beside(path("compose.yaml"), "sub"), std::nullopt);
  EXPECT_EQ(file_beside(path("compose.yaml"), "/dev/zero"), std::nullopt);
}

constexpr const char* kCompose = R"(services:
  llm:
    image: lmsysorg/sglang:${TAG}
    env_file: [sg.env, {path: "${MORE:-more}.env", required: false}, none.env]
    environment: {SGLANG_B: "3"}
    command: ["sh", "-c", "python3 -m sglang.launch_server --model-path $$MODEL --tp ${TP:-4}"]
)";

TEST_F(VariableFiles, OfAComposeFileAreKnown) {
  write(".env", "TP=8\nTAG=v0.5.18-xpu\n");
  write("sg.env", "MODEL=m\nSGLANG_A=1\nSGLANG_B=2\n");
  write("more.env", "SGLANG_A=2\n");
  const auto read = read_launches(kCompose, {}, path("compose.yaml"));
  ASSERT_TRUE(read) << read.error().text();
  const LaunchCommand& launch = read->front();
  EXPECT_EQ(launch.argv, (std::vector<std::string>{"--model-path", "m", "--tp", "8"}));
  EXPECT_EQ(launch.release, "0.5.18");
  EXPECT_TRUE(launch.unknown.empty());
  EXPECT_EQ(launch.env.at("SGLANG_A"), "2");
  EXPECT_EQ(launch.env.at("SGLANG_B"), "3");
  ASSERT_EQ(launch.notes.size(), 1U);
  EXPECT_EQ(launch.notes[0].message, "env_file none.env is not read: what it sets is not known");
}

TEST_F(VariableFiles, GiveWayToWhatIsGiven) {
  write(".env", "TP=8\nTAG=v0.5.18-xpu\n");
  const auto read = read_launches(kCompose, {{"TP", "2"}, {"MODEL", "n"}}, path("compose.yaml"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->front().argv, (std::vector<std::string>{"--model-path", "n", "--tp", "2"}));
  EXPECT_EQ(read->front().notes.size(), 3U);
}

TEST_F(VariableFiles, ADockerfileThatAServiceBuildsIsRead) {
  write("Dockerfile", "FROM lmsysorg/sglang:v0.5.21-xpu\nENTRYPOINT [\"python3\", \"-m\", \"sglang.launch_server\"]\n");
  const auto compose = [](const std::string& build) {
    return "services:\n  a:\n    build: " + build + "\n    command: [\"--tp\", \"4\"]\n";
  };
  const auto read = read_launches(compose("."), {}, path("compose.yaml"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->front().release, "0.5.21");
  const auto stage = read_launches(compose("{context: ., target: other}"), {}, path("compose.yaml"));
  ASSERT_FALSE(stage);
  EXPECT_NE(stage.error().text().find("this service runs an image of ./Dockerfile"), std::string::npos);
  const auto alone = read_launches(compose("."), {}, {});
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().text().find("Dockerfile"), std::string::npos);
}

TEST_F(VariableFiles, OfAQuadletAreRead) {
  write("s.env", "SGLANG_A=1\nSGLANG_B='1'\n");  // podman takes the quotes, too
  const std::string quadlet =
      "[Container]\nImage=i\nExec=python -m sglang.launch_server --model-path m\nEnvironmentFile=s.env\n";
  const auto read = read_launches(quadlet, {}, path("s.container"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->front().env.at("SGLANG_A"), "1");
  EXPECT_EQ(read->front().env.at("SGLANG_B"), "'1'");
  EXPECT_TRUE(read->front().unknown.empty());
}

TEST_F(VariableFiles, OfAQuadletGiveWayToItsOwnVariables) {
  write("s.env", "SGLANG_A=1\nSGLANG_B=1\n");
  const std::string quadlet =
      "[Container]\nImage=i\nEnvironment=SGLANG_A=2\nExec=python -m sglang.launch_server --model-path "
      "m\nEnvironmentFile=s.env\n[Install]\nWantedBy=default.target\n";
  const auto read = read_launches(quadlet, {}, path("s.container"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->front().env.at("SGLANG_A"), "2");
  EXPECT_EQ(read->front().env.at("SGLANG_B"), "1");
  EXPECT_TRUE(read->front().unknown.empty());
}

// load_dotenv() finds the file beside the program, and the environment wins unless it is told otherwise.
TEST_F(VariableFiles, OfAProgramAreReadBesideIt) {
  write(".env", "MODEL=m\nexport TP='2'\n# a comment\nSGLANG_A=1\n");
  const auto program = [](const std::string& call) {
    return "import os, subprocess\nfrom dotenv import load_dotenv\nos.environ['TP'] = '8'\n" + call +
           "\nsubprocess.run(['python', '-m', 'sglang.launch_server', '--model-path', os.environ['MODEL'], '--tp', "
           "os.getenv('TP', '1')])\n";
  };
  const auto read = read_launches(program("load_dotenv()"), {}, path("run.py"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->front().argv, (std::vector<std::string>{"--model-path", "m", "--tp", "8"}));
  EXPECT_EQ(read->front().env.at("SGLANG_A"), "1");
  EXPECT_TRUE(read->front().unknown.empty());
  const auto over = read_launches(program("load_dotenv(override=True)"), {}, path("run.py"));
  ASSERT_TRUE(over) << over.error().text();
  EXPECT_EQ(over->front().argv.back(), "2");
  const auto given = read_launches(program("load_dotenv()"), {{"MODEL", "n"}}, path("run.py"));
  ASSERT_TRUE(given) << given.error().text();
  EXPECT_EQ(given->front().argv[1], "n");
  for (const char* call : {"load_dotenv('other.env')", "load_dotenv(PATH)", "load_dotenv(verbose=True)",
                           "environ.Env().read_env('.env')"}) {
    const auto open = read_launches(program(call), {}, path("run.py"));
    EXPECT_TRUE(open && !open->front().unknown.empty()) << call;
  }
  write(".env", "MODEL=$HOME/m\n");  // what stands for it is python-dotenv's own
  const auto filled = read_launches(program("load_dotenv()"), {}, path("run.py"));
  EXPECT_TRUE(filled && !filled->front().unknown.empty());
}

// A file that make includes may set what the Makefile sets or asks for only where nothing else does.
TEST_F(VariableFiles, ThatMakeIncludesMaySetWhatNothingElseDoes) {
  const std::string makefile =
      "-include .env\nMODEL ?= m\nDP = 1\nifndef TP\nTP = 2\nendif\nPORT += 1\nserve:\n\tpython -m "
      "sglang.launch_server "
      "--model-path $(MODEL) --tp $(TP) --dp $(DP) --port $(PORT) --page-size $(or $(PAGE),64)\n";
  const auto read = read_launches(makefile, {}, path("Makefile"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->front().unknown.size(), 4U);
  EXPECT_TRUE(read->front().defaults.empty());
  const Variables all = {{"MODEL", "n"}, {"TP", "8"}, {"PORT", "30000"}, {"PAGE", "32"}};
  const auto given = read_launches(makefile, all, path("Makefile"));
  ASSERT_TRUE(given) << given.error().text();
  EXPECT_EQ(given->front().argv, (std::vector<std::string>{"--model-path", "n", "--tp", "8", "--dp", "1", "--port",
                                                           "30000", "--page-size", "32"}));
  EXPECT_TRUE(given->front().unknown.empty());
}

// What lies beside a Makefile is what its conditions ask for and what it includes.
TEST_F(VariableFiles, BesideAMakefileAreReadWhereItAsksForThem) {
  const std::string makefile =
      "ifneq (,$(wildcard .env))\ninclude .env\nexport\nendif\n-include more.mk\nMODEL ?= m\nTP ?= 2\nFILES := "
      "$(wildcard *.jinja)\nserve:\n\tpython -m sglang.launch_server --model-path $(MODEL) --tp $(TP) --chat-template "
      "$(FILES)\n";
  write("Makefile", makefile);
  write("b.jinja", "");
  const auto without = read_launches(makefile, {}, path("Makefile"));
  ASSERT_TRUE(without) << without.error().text();
  EXPECT_TRUE(without->front().unknown.empty());
  EXPECT_EQ(without->front().argv,
            (std::vector<std::string>{"--model-path", "m", "--tp", "2", "--chat-template", "b.jinja"}));
  const auto missing = [](const LaunchDefault& one) { return one.why == TakenWhy::kMissing; };
  EXPECT_EQ(std::ranges::count_if(without->front().defaults, missing), 2);
  write(".env", "MODEL=n\nSGLANG_X=1\n");
  write("more.mk", "TP := 4\n");
  const auto with = read_launches(makefile, {}, path("Makefile"));
  ASSERT_TRUE(with) << with.error().text();
  EXPECT_EQ(with->front().argv,
            (std::vector<std::string>{"--model-path", "n", "--tp", "4", "--chat-template", "b.jinja"}));
  EXPECT_EQ(with->front().env.at("SGLANG_X"), "1");
  EXPECT_TRUE(with->front().unknown.empty());
}

// Without a file that it includes make ends, unless that is made or lies where make looks besides.
TEST_F(VariableFiles, ThatMakeCannotDoWithoutMayEndIt) {
  const std::string rule = "serve:\n\tpython -m sglang.launch_server --model-path m\n";
  write("Makefile", rule);
  const auto when = [&](const std::string& include) {
    const auto read = read_launches(include + rule, {}, path("Makefile"));
    return read ? read->front().when.text() : read.error().text();
  };
  EXPECT_EQ(when("include more.mk\n"), "unless make ends at line 1");
  EXPECT_EQ(when("-include more.mk\n"), "");
  write("more.mk", "TP := 4\n");
  EXPECT_EQ(when("include more.mk\n"), "");
}

// Where a condition cannot be decided, what it asks for is asked for; a goal for which nothing else is set, too.
TEST_F(VariableFiles, ConditionsOfMakeAskForWhatTheyTest) {
  const auto read = read_launches(
      "ifeq ($(shell hostname),a)\nX = --tp 2\nendif\nrun:\n\tpython -m sglang.launch_server --model-path m $(X)\n", {},
      "Makefile");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_THAT(read->front().unknown.front().what, ::testing::HasSubstr("--set 'shell hostname=VALUE'"));
  const auto asked = read_launches(
      "ifeq ($(MODE),prefill)\nrun:\n\tpython -m sglang.launch_server --model-path m --tp 2\nendif\n", {}, "Makefile");
  ASSERT_TRUE(asked) << asked.error().text();
  EXPECT_EQ(asked->front().when.text(), "in a branch at line 3");
}

// A carriage return in a file of a script would end up in each of its values.
TEST_F(VariableFiles, OfWindowsAreNotReadByAScript) {
  write("a.env", "TP=4\r\n");
  write("args.txt", "--tp 4\r\n");
  for (const std::string start :
       {". ./a.env; set -- --tp $TP", "set -- $(cat args.txt)", "read -r TP < args.txt; set -- $TP"}) {
    const auto read =
        read_launches(start + "\npython -m sglang.launch_server --model-path m \"$@\"\n", {}, path("run.sh"));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_FALSE(read->front().unknown.empty()) << start;
  }
}

// What a script sources stands where it is started: read where it lies beside it, and asked for elsewhere.
TEST_F(VariableFiles, OfAScriptAreReadWhereItIsStarted) {
  write("a.env", "[ -n \"$TP\" ] && return\nTP=4\nARGS=(--page-size 64)\n");
  write("open.env", "TP='4\n");
  const std::string serve = "\npython -m sglang.launch_server --model-path m --tp $TP \"${ARGS[@]}\"\n";
  const auto unknown = [&](const std::string& start, const std::string& name) {
    const auto read = read_launches("ARGS=()\n" + start + serve, {{"UNUSED", ""}}, name);
    return read && read->size() == 1 ? read->front().unknown.size() : 99;
  };
  const std::string script = path("run.sh");
  const auto read = read_launches("TP=\n. ./a.env" + serve, {}, script);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->front().argv, (std::vector<std::string>{"--model-path", "m", "--tp", "4", "--page-size", "64"}));
  EXPECT_TRUE(read->front().notes.empty());
  EXPECT_EQ(unknown("TP=\nset -a; source a.env; set +a", script), 0U);
  EXPECT_EQ(unknown("bash -c 'TP=; . ./a.env; echo $TP'; TP=2", script), 0U);
  EXPECT_GT(unknown(". ./a.env", ""), 0U);               // what is pasted stands nowhere
  EXPECT_GT(unknown("cd /srv; . ./a.env", script), 0U);  // from elsewhere
  EXPECT_GT(unknown(". " + path("a.env"), script), 0U);  // of the machine it runs on
  EXPECT_GT(unknown(". ./gone.env", script), 0U);
  EXPECT_GT(unknown(". ./open.env", script), 0U);  // no script
  const auto there = read_launches("ssh h '. ./a.env;" + serve + "'", {}, script);
  ASSERT_TRUE(there) << there.error().text();
  EXPECT_FALSE(there->front().unknown.empty());
}

TEST_F(VariableFiles, AKustomizationThatChangesAFileIsTold) {
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    image: i\n"
      "    command: [python3, -m, sglang.launch_server, --model-path, m]\n";
  const auto unknown = [&](const std::string& kustomization) {
    write("kustomization.yaml", kustomization);
    const auto read = read_launches(pod, {}, path("pod.yaml"));
    return read ? read->front().unknown.size() : 99;
  };
  EXPECT_EQ(unknown("resources: [pod.yaml]\nnamespace: x\n"), 0U);
  EXPECT_EQ(unknown("resources: [other.yaml]\npatches: [{path: p.yaml}]\n"), 0U);
  EXPECT_EQ(unknown("resources: [pod.yaml]\npatches: [{path: p.yaml}]\n"), 1U);
  EXPECT_EQ(unknown("resources: [./pod.yaml]\nimages: [{name: i, newTag: v}]\n"), 1U);
}

TEST_F(VariableFiles, OfATextThatIsNoFileAreNotLookedFor) {
  const auto read = read_launches(kCompose, {}, {});
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->front().argv.back(), "4");
  EXPECT_EQ(read->front().notes.size(), 3U);
  EXPECT_EQ(read->front().unknown.size(), 2U);
}

// What is quoted from a unit stands as it was written.
TEST_F(VariableFiles, OfAUnitAreNamedAsTheyAreWritten) {
  const auto read = read_launches(
      "[Container]\nImage=i\nExec=python -m sglang.launch_server --model-path m\nEnvironmentFile=%h/s.env\n", {},
      path("s.container"));
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->front().notes.size(), 1U);
  EXPECT_EQ(read->front().notes[0].message, "EnvironmentFile %h/s.env is not read: what it sets is not known");
}

// podman-systemd.unit(5): PodmanArgs= stands at the end of the options of `podman run`.
TEST_F(VariableFiles, OfAQuadletAreWhatItsPodmanArgsSay) {
  const auto read = read_launches(
      "[Container]\nImage=i\nEnvironment=SGLANG_A=1\nExec=-c \"exec python -m sglang.launch_server --tp 2\"\n"
      "PodmanArgs=--env ZE_AFFINITY_MASK=1 -e SGLANG_A=2\nPodmanArgs=--entrypoint=bash\nEnvironmentHost=true\n",
      {}, path("s.container"));
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().argv, (std::vector<std::string>{"--tp", "2"}));
  EXPECT_EQ(read->front().env.at("ZE_AFFINITY_MASK"), "1");
  EXPECT_EQ(read->front().env.at("SGLANG_A"), "2");
  ASSERT_EQ(read->front().notes.size(), 1U);
  EXPECT_EQ(read->front().notes[0].message, "EnvironmentHost hands over the host's variables, which are not known");
}

}  // namespace
}  // namespace preflight::sources
