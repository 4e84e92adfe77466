// Launch commands as operators paste them, and what must be refused by name.
#include "src/sources/launch_command.h"

#include <gtest/gtest.h>

namespace preflight::sources {
namespace {

struct Row {
  const char* text;
  std::vector<std::string> argv;
  Environment env;
};

const Row kAccepted[] = {
    {"python -m sglang.launch_server --model-path m", {"--model-path", "m"}, {}},
    {"python3 -I -m sglang.launch_server --tp 2", {"--tp", "2"}, {}},
    {"/opt/venv/bin/python3.11 -u -m sglang.launch_server --tp=2", {"--tp=2"}, {}},
    {"sglang serve --model m --port 1", {"--model", "m", "--port", "1"}, {}},
    // environment assignments, exec, env
    {"ZE_AFFINITY_MASK=0 SGLANG_X=1 exec python -m sglang.launch_server --a b",
     {"--a", "b"},
     {{"ZE_AFFINITY_MASK", "0"}, {"SGLANG_X", "1"}}},
    {"env A=b nohup python -m sglang.launch_server x > log 2>&1 &", {"x"}, {{"A", "b"}}},
    // backslash continuations, quotes, comments
    {"python -m sglang.launch_server \\\n  --model-path 'a b' \\\n  --x \"{\\\"k\\\": 1}\" # why\n",
     {"--model-path", "a b", "--x", "{\"k\": 1}"},
     {}},
    // variables the script itself sets, defaults, and quoting of expansions
    {"MODEL=/m/q; python -m sglang.launch_server --model-path $MODEL --tp ${TP:-4}",
     {"--model-path", "/m/q", "--tp", "4"},
     {}},
    {"SGLANG_A=1; export SGLANG_A SGLANG_B=2; SGLANG_C=3; SGLANG_A=4; sglang serve x",
     {"x"},
     {{"SGLANG_A", "4"}, {"SGLANG_B", "2"}}},
    // what a text gets that is handed to a shell
    {"bash -c 'sglang serve --tp $0 --x $1' 4 y", {"--tp", "4", "--x", "y"}, {}},
    {"sh -c 'sglang serve --x $0'", {"--x", "sh"}, {}},
    // a list of variables; apptainer alone splits it, and only where it is one
    {"apptainer run --env A=1,B=2 --env=C=3 x.sif sglang serve x", {"x"}, {{"A", "1"}, {"B", "2"}, {"C", "3"}}},
    {"apptainer run --env A=1,2 x.sif sglang serve x", {"x"}, {{"A", "1,2"}}},
    {"docker run --env A=1,B=2 i:1 sglang serve x", {"x"}, {{"A", "1,B=2"}}},
    {"export A='x y'\npython -m sglang.launch_server \"$A\" $A", {"x y", "x", "y"}, {{"A", "x y"}}},
    // docker with a shell inside; variables inside single quotes belong to the inner shell
    {"docker run --rm -e SGLANG_Y=2 --device /dev/dri -v /a:/b img:1 bash -c \"source /opt/setvars.sh; exec python -m "
     "sglang.launch_server --tp 2\"",
     {"--tp", "2"},
     {{"SGLANG_Y", "2"}}},
    {"docker run img bash -lc 'P=64; python -m sglang.launch_server --page-size $P'", {"--page-size", "64"}, {}},
    // a variable set outside the inner shell reaches it as the real ones do
    {"docker run -e MODEL=/m img bash -c 'python -m sglang.launch_server --model $MODEL'",
     {"--model", "/m"},
     {{"MODEL", "/m"}}},
    {"docker run --env MODEL=/m --env=TP=2 img bash -c 'sglang serve --model $MODEL --tp $TP'",
     {"--model", "/m", "--tp", "2"},
     {{"MODEL", "/m"}, {"TP", "2"}}},
    {"export MODEL=/m; docker run -e MODEL img bash -c 'sglang serve --model $MODEL'",
     {"--model", "/m"},
     {{"MODEL", "/m"}}},
    {"MODEL=/m bash -c 'sglang serve --model $MODEL'", {"--model", "/m"}, {{"MODEL", "/m"}}},
    {"export MODEL=/m; bash -c 'sglang serve --model $MODEL'", {"--model", "/m"}, {{"MODEL", "/m"}}},
    {"env MODEL=/m bash -c 'sglang serve --model $MODEL'", {"--model", "/m"}, {{"MODEL", "/m"}}},
    // a shell with options before its text, and as an entry point
    {"bash -euo pipefail -c \"sglang serve --tp 2\"", {"--tp", "2"}, {}},
    {"bash -c -e 'sglang serve --tp 2'", {"--tp", "2"}, {}},
    {"docker run -it --rm -v /a:/b --entrypoint bash img -c \"sglang serve --tp 2\"", {"--tp", "2"}, {}},
    {"docker run --entrypoint=python3 --gpus all img -m sglang.launch_server --tp 2", {"--tp", "2"}, {}},
    // what cannot be known matters only where the launch needs it
    {"source $(conda info --base)/etc/profile.d/conda.sh && sglang serve --tp 2", {"--tp", "2"}, {}},
    {"docker run -v $HOME/.cache:/root/.cache -e HF_TOKEN=<secret> img sglang serve --tp 2", {"--tp", "2"}, {}},
    {"export HF_TOKEN=`cat token`; N=$((1 + 1)); sglang serve --tp 2", {"--tp", "2"}, {}},
    {"$(which python3) -m sglang.launch_server --tp 2", {"--tp", "2"}, {}},
    {"cat > f <<EOF\nit's\nEOF\nsglang serve --tp 2", {"--tp", "2"}, {}},
    {"start() {\n sglang serve --tp ${TP:-${TP_DEFAULT:-2}}\n}\nstart", {"--tp", "2"}, {}},
    // Dockerfiles
    {"CMD [\"python3\",\"-m\",\"sglang.launch_server\",\"--tp\",\"2\"]", {"--tp", "2"}, {}},
    {"FROM a\nENV SGLANG_X=1 TP=2\nRUN pip install 'x'\nENTRYPOINT [\"sglang\", \\\n  \"serve\"]\nCMD [\"--tp\", "
     "\"$TP\"]\n",
     {"--tp", "$TP"},
     {{"SGLANG_X", "1"}, {"TP", "2"}}},
    {"FROM a\nENV TP 2\nCMD exec sglang serve \\\n  --tp $TP\n", {"--tp", "2"}, {{"TP", "2"}}},
    // compose services and Kubernetes containers, as pieces and whole
    {"command: [\"bash\",\"-c\",\"sglang serve --tp 2\"]", {"--tp", "2"}, {}},
    {"        command: [\"python3\", \"-m\", \"sglang.launch_server\"]\n        args: [\"--tp\", \"$(TP)\"]\n        "
     "env:\n"
     "        - name: TP\n          value: \"2\"\n",
     {"--tp", "2"},
     {{"TP", "2"}}},
    {"services:\n  llm:\n    image: i\n    environment:\n      SGLANG_X: 1\n    command: >\n      sglang serve\n      "
     "--model-path ${MODEL:-m}\n",
     {"--model-path", "m"},
     {{"SGLANG_X", "1"}}},
    {"spec:\n  containers:\n  - name: a\n    command:\n    - bash\n    - -c\n    - |\n      set -e\n      exec sglang "
     "serve \\\n"
     "        --tp 2\n",
     {"--tp", "2"},
     {}},
    {"docker run --ipc=host img python3 -m sglang.launch_server --host 0.0.0.0", {"--host", "0.0.0.0"}, {}},
    {"numactl -N 0 python -m sglang.launch_server --x", {"--x"}, {}},
    {"cd /work && source a.sh && python -m sglang.launch_server --x", {"--x"}, {}},
    {"srun -N 1 --gres=gpu:1 python3 -u -X dev -m sglang.launch_server --x", {"--x"}, {}},
    {"mpirun -np 2 -x SGLANG_A=1 -genv SGLANG_B 2 python -um sglang.launch_server --x",
     {"--x"},
     {{"SGLANG_A", "1"}, {"SGLANG_B", "2"}}},
    {"conda run -n sglang --no-capture-output python -m sglang.launch_server --x", {"--x"}, {}},
    {"timeout -k 5 60 taskset -c 0-3 sudo -E env A=1 sglang serve --x", {"--x"}, {{"A", "1"}}},
    {"torchrun --nproc_per_node 1 -m sglang.launch_server --x", {"--x"}, {}},
    {"uv run --with sglang python -m sglang.launch_server --x", {"--x"}, {}},
    {"uv run -m sglang.launch_server --x", {"--x"}, {}},
    {"export B=2; ssh -p 22 me@host \"cd /x && A=1 python -m sglang.launch_server --x\"", {"--x"}, {{"A", "1"}}},
    {"ssh host <<'E'\nT=2\nsglang serve --tp $T\nE\n", {"--tp", "2"}, {}},
    {"tmux new-session -d -s llm 'sglang serve --x'", {"--x"}, {}},
    {"tmux send-keys -t llm 'sglang serve --x' C-m", {"--x"}, {}},
    {"screen -dmS llm bash -c 'sglang serve --x'", {"--x"}, {}},
    {"docker exec -it -e SGLANG_A=1 box bash -c 'sglang serve --x'", {"--x"}, {{"SGLANG_A", "1"}}},
    {"su - me -c 'sglang serve --x'", {"--x"}, {}},
    {"run() { echo \"+ $*\"; \"$@\"; }\nrun sglang serve --tp 2", {"--tp", "2"}, {}},
    {"CMD='sglang serve'\nCMD+=' --tp 2'\neval \"$CMD\"", {"--tp", "2"}, {}},
    {"if ! command -v python; then exit 1; fi\nARGS=(--tp 2)\nexec sglang serve \"${ARGS[@]}\"", {"--tp", "2"}, {}},
    {"pid=$(nohup sglang serve --tp 2 > log & echo $!)", {"--tp", "2"}, {}},
};

TEST(LaunchCommand, ReadsWhatOperatorsPaste) {
  for (const Row& row : kAccepted) {
    const auto launch = find_launch(row.text, {});
    ASSERT_TRUE(launch) << row.text << ": " << launch.error().text();
    EXPECT_EQ(launch->argv, row.argv) << row.text;
    EXPECT_EQ(launch->env, row.env) << row.text;
    EXPECT_EQ(launch->argv.size(), launch->positions.size());
  }
}

TEST(LaunchCommand, RefusesByNameWhatItCannotKnow) {
  const std::pair<const char*, const char*> rows[] = {
      {"python -m sglang.launch_server --model $MODEL", "MODEL is not set"},
      {"python -m sglang.launch_server --model $(cat f)", "1:40: command substitution: what $(cat f) prints"},
      {"python -m sglang.launch_server --model $(cat f)", "--set '$(cat f)=VALUE'"},
      {"python -m sglang.launch_server --model `cat f`", "--set '$(cat f)=VALUE'"},
      {"SGLANG_X=$(nproc) sglang serve --tp 2", "1:10: command substitution"},
      {"M=$(cat f); sglang serve --model $M", "1:3: command substitution"},
      {"sglang serve --model ${M##*/}", "--set '${M##*/}=VALUE'"},
      {"$SERVER --tp 2", "SERVER is not set"},
      {"bash -c 'python -m sglang.launch_server --model a --tp $TP'", "1:56: the variable TP"},
      {"bash -c \"x;\n bash -c 'sglang serve --tp \\$TP'\"", "2:30: the variable TP"},
      {"bash -c 'sglang serve --tp \"2'", "1:28: a double quote"},
      // a container does not see the variables of the host
      {"MODEL=/m docker run img bash -c 'sglang serve --model $MODEL'", "MODEL is not set"},
      {"MODEL=/m; bash -c 'sglang serve --model $MODEL'", "MODEL is not set"},
      {"CMD [\"bash\", \"-c\", \"sglang serve --tp $TP\"]", "1:39: the variable TP"},
      {"command: [\"sglang\", \"serve\",\n \"--tp\", \"$(TP)\"]", "2:11: the variable TP"},
      {"python -m sglang.launch_server --model 'a", "single quote"},
      {"python -m vllm.entrypoints.api_server", "no SGLang launch"},
      // a program that is not here
      {"srun -n 1 python -u serve.py", "1:21: no SGLang launch in this command: serve.py is run here, and not read"},
      {"docker run img python serve.py", "1:23: no SGLang launch in this command: serve.py is run here, and not read"},
      {"torchrun --nproc-per-node 2 serve.py", "serve.py is run here, and not read"},
      {"./serve.py", "./serve.py is run here, and not read"},
      {"cat serve.py", "expected `python -m"},
      {"shopt -s extglob; case v1 in v+([0-9])) sglang serve a;; esac",
       "1:30: bash takes this pattern for a syntax error"},
      {"", "no SGLang launch"},
      {"sglang serve a; sglang serve b", "2 SGLang launches"},
      {"python -m sglang.launch_server $1", "$1"},
      {"python -m sglang.launch_server --x \"$@\"", "--set '@=VALUE'"},
      {"TP=2\nif x; then TP=4; fi\nsglang serve --tp $TP",
       "2:1: TP depends on a branch at line 2; give it with --set TP"},
      {"ssh host sglang serve --x \\$TP", "the variable TP"},
      {"./wrap.sh sglang serve --x", "./wrap.sh is a program that is not known here"},
      {"cat f | xargs sglang serve --x", "xargs adds arguments"},
      {"cat f | xargs -I{} sglang serve --x {}", "xargs puts what it reads in the place of {}: it is not known here"},
      {"echo $M | xargs -I@ sglang serve --x @", "xargs puts what it reads in the place of @: the variable M"},
      {"echo a | xargs -p sglang serve --x", "xargs adds arguments"},
      {"sglang serve --x '<org>/m'", "<org> is a placeholder"},
      {"sglang serve '--x=http://<host>:80'", "<host> is a placeholder"},
      {"sglang serve --x YOUR_MODEL", "YOUR_MODEL is a placeholder"},
      {"sglang serve --x=a/your-model", "your-model is a placeholder"},
      {"sglang serve --x '***'", "*** stands for what somebody hid"},
      {"SGLANG_X='<value>' sglang serve --x 1", "<value> is a placeholder"},
      {"export SGLANG_A=1; sudo sglang serve --x", "sudo hands SGLANG_A over only where"},
      {"docker run lmsysorg/sglang --model-path m", "the image's own entry point"},
      {"python -m dynamo.sglang --model-path m --of-tomorrow 3", "--of-tomorrow is no option of SGLang"},
      {"echo sglang serve --x", "it is named only in"},
      {"pkill -f 'python -m sglang.launch_server'; pgrep -f sglang.launch_server", "it is named only in"},
      {"python -m sglang.launch_server --model-path <org/model> --tp 2", "<org/model> is a placeholder"},
      {"sglang serve --x <your model path> --y 1", "<your model path> is a placeholder"},
      {"sglang serve --x {trained/model}", "{trained/model} is a placeholder"},
      {"sglang serve --x=a/{name}", "{name} is a placeholder"},
      {"sglang serve --model m ...", "... stands for arguments that are left out"},
      {"sglang serve … --tp 2", "… stands for arguments that are left out"},
  };
  for (const auto& [text, expected] : rows) {
    const auto launch = find_launch(text, {});
    ASSERT_FALSE(launch) << text;
    EXPECT_NE(launch.error().text().find(expected), std::string::npos) << launch.error().text();
  }
}

// What looks like one and is a value, or decides nothing.
TEST(LaunchCommand, TakesForAPlaceholderOnlyWhatIsOne) {
  for (const char* word : {"--api-key '***'",
                           "--api-key='<key>'",
                           "--served-model-name your-model",
                           "'a<b>c'",
                           "'**'",
                           "'<|im_end|>'",
                           "'</s>'",
                           "'<>'",
                           "'{\"a\": \"<think>\"}'",
                           "your_",
                           "yours-model",
                           "--chat-template '<s>'",
                           "'a/*b'",
                           "'1 <x> 2'",
                           "'{}'",
                           "'{\"a\": 1}'",
                           "'{a,b}'",
                           "'a{b}'",
                           "'{1..2}'",
                           "'{a..c}'",
                           "'${a}'",
                           "....",
                           "<in 2> err",
                           "<in -x> err",
                           "<in x>err"}) {
    const auto launch = find_launch(std::string("sglang serve --model m --x ") + word, {});
    EXPECT_TRUE(launch && launch->unknown.empty()) << word << (launch ? "" : launch.error().text());
  }
}

// Another server's words, which the caller has to translate.
TEST(LaunchCommand, KnowsACommandOfVllm) {
  for (const char* text : {"vllm serve m -tp 2", "exec python3 -m vllm.entrypoints.openai.api_server m -tp 2"}) {
    const auto launch = find_launch(text, {});
    ASSERT_TRUE(launch) << launch.error().text();
    EXPECT_TRUE(launch->vllm);
    EXPECT_FALSE(launch->serve);
    EXPECT_EQ(launch->argv, (std::vector<std::string>{"m", "-tp", "2"}));
  }
  EXPECT_FALSE(find_launch("sglang serve --model m", {})->vllm);
}

TEST(LaunchCommand, SeveralAreTakenTogetherOnRequest) {
  const auto all = find_launches("sglang serve a\npython -m sglang.launch_server --tp 2", {});
  ASSERT_TRUE(all) << all.error().text();
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[1].argv, (std::vector<std::string>{"--tp", "2"}));
}

TEST(LaunchCommand, TakesVariablesFromTheCaller) {
  const auto launch = find_launch("docker run i sh -c \"python -m sglang.launch_server --model \\$M\"", {{"M", "/m"}});
  ASSERT_TRUE(launch) << launch.error().text();
  EXPECT_EQ(launch->argv, (std::vector<std::string>{"--model", "/m"}));
  // What arithmetic makes of it counts from there on.
  const auto counted = find_launches("sglang serve --port 3000$((i++)) --x $i; sglang serve --x ${i:-7}", {{"i", "1"}});
  ASSERT_TRUE(counted) << counted.error().text();
  EXPECT_EQ((*counted)[0].argv, (std::vector<std::string>{"--port", "30001", "--x", "2"}));
  EXPECT_EQ((*counted)[1].argv, (std::vector<std::string>{"--x", "2"}));
  // So does what an assignment makes of it, and not one that leaves it out.
  for (const auto& [text, model] : {std::pair("M=org/$M; sglang serve $M", "org/x"),
                                    {"M=org/m; sglang serve $M", "x"},
                                    {"M=${M:-y}; sglang serve $M", "x"},
                                    {"M=a$MM; sglang serve $M", "x"},
                                    {"export M=org/${M%y}; sglang serve $M", "org/x"}}) {
    const auto made = find_launch(text, {{"M", "x"}});
    ASSERT_TRUE(made) << text << made.error().text();
    EXPECT_EQ(made->argv.front(), model) << text;
  }
}

TEST(LaunchCommand, TakesWhatASubstitutionPrintsFromTheCaller) {
  const auto launch = find_launch("bash -c 'sglang serve --tp $(nproc) --x `nproc` --y \"${M##*/}\"'",
                                  {{"$(nproc)", "8"}, {"${M##*/}", "m"}});
  ASSERT_TRUE(launch) << launch.error().text();
  EXPECT_EQ(launch->argv, (std::vector<std::string>{"--tp", "8", "--x", "8", "--y", "m"}));
}

TEST(LaunchCommand, NotesAnEnvironmentFileThatNobodyReads) {
  const auto launch = find_launch("docker run --env-file e.env img sglang serve --tp 2", {});
  ASSERT_TRUE(launch) << launch.error().text();
  ASSERT_EQ(launch->notes.size(), 1U);
  EXPECT_EQ(launch->notes[0].rule, "SH002");
}

TEST(LaunchCommand, PositionsOfManifestsPointIntoTheOriginalText) {
  struct Place {
    const char* text;
    int line;
    int column;
  };
  const Place rows[] = {
      {"CMD [\"sglang\", \\\n \"serve\", \"--tp\", \"2\"]", 2, 12},
      {"a:\n  command: [bash, -c, \"sglang serve --tp 2\"]", 2, 37},
      {"a:\n  args: |\n    sglang serve \\\n      --tp 2\n", 4, 7},
      {"a:\n  command: >-\n    sglang serve\n    --tp 2\n", 4, 5},
      {"a:\n  command: [bash, -c, \"a \\\"b\\\"\\n sglang serve --tp 2\"]", 2, 47},
  };
  for (const Place& row : rows) {
    const auto launch = find_launch(row.text, {});
    ASSERT_TRUE(launch) << row.text << ": " << launch.error().text();
    ASSERT_EQ(launch->argv.size(), 2U) << row.text;
    EXPECT_EQ(launch->positions[0].line, row.line) << row.text;
    EXPECT_EQ(launch->positions[0].column, row.column) << row.text;
  }
}

TEST(LaunchCommand, PositionsPointIntoTheOriginalText) {
  const std::string text = "docker run i bash -c \"x;\n python -m sglang.launch_server \\\n  --page-size 3\"";
  const auto launch = find_launch(text, {});
  ASSERT_TRUE(launch) << launch.error().text();
  ASSERT_EQ(launch->argv.size(), 2U);
  EXPECT_EQ(launch->positions[0].line, 3);
  EXPECT_EQ(launch->positions[0].column, 3);
}

TEST(LaunchCommand, NotesABackslashThatDoesNotContinueItsLine) {
  const auto launch = find_launch("python -m sglang.launch_server --x \\ # comment\n --y", {});
  ASSERT_TRUE(launch);
  ASSERT_EQ(launch->notes.size(), 2U);
  EXPECT_EQ(launch->notes[0].rule, "SH003");
  EXPECT_EQ(launch->notes[1].rule, "SH001");
}

// What a comment, a blank or a forgotten backslash cuts off is told, and can be put back with its comments.
TEST(LaunchCommand, PutsBackOptionsThatWereCutOff) {
  const std::tuple<const char*, std::vector<std::string>, const char*> rows[] = {
      {"# a\npython -m sglang.launch_server --x \\\n  # why\n  --y 1 \\\n  --z\n",
       {"--x"},
       "# a\n# why\npython -m sglang.launch_server --x \\\n  --y 1 \\\n  --z\n"},
      {"sglang serve --x \\ # why\n  --y 1\n", {"--x", " #", "why"}, "# why\nsglang serve --x \\\n  --y 1\n"},
      {"sglang serve --x \\  # why\n  --y 1\n", {"--x", " "}, "# why\nsglang serve --x \\\n  --y 1\n"},
      {"sglang serve --x \\ \n  --y 1\n", {"--x", " "}, "sglang serve --x \\\n  --y 1\n"},
      {"sglang serve --x\n  --y 1\n", {"--x"}, "sglang serve --x \\\n  --y 1\n"},
      {"sglang serve --x \\\n  # --a \\\n  # --b \\\n  --y 1 \\\n  # --c\n  --z",
       {"--x"},
       "# --a\n# --b\n# --c\nsglang serve --x \\\n  --y 1 \\\n  --z"},
      {"nohup \\\n  sglang serve --x \\\n  # why\n  --y", {"--x"}, "# why\nnohup \\\n  sglang serve --x \\\n  --y"},
  };
  for (const auto& [text, argv, mended] : rows) {
    const auto launch = find_launch(text, {});
    ASSERT_TRUE(launch) << text;
    EXPECT_EQ(launch->argv, argv) << text;
    EXPECT_EQ(launch->mended, mended) << text;
    ASSERT_FALSE(launch->notes.empty());
    EXPECT_EQ(launch->notes[0].rule, "SH003");
    const auto again = find_launch(launch->mended, {});
    ASSERT_TRUE(again) << launch->mended;
    EXPECT_TRUE(again->mended.empty() && again->notes.empty()) << launch->mended;
  }
  EXPECT_TRUE(find_launch("sglang serve --x  # why\necho --y", {})->mended.empty());
}

TEST(LaunchCommand, ASubstitutionThatPrintsNothingIsNothing) {
  for (const char* nothing : {"`# a comment, (one) more` ", "$(: comment)", "$(true)", "$()", "` `", "`:`"}) {
    const auto launch = find_launch(
        std::string("sglang serve --model-path m ") + nothing + " \\\n --page-size 64 " + nothing + "\n", {});
    ASSERT_TRUE(launch) << nothing << launch.error().text();
    EXPECT_EQ(launch->argv, (std::vector<std::string>{"--model-path", "m", "--page-size", "64"})) << nothing;
  }
  for (const char* unknown : {"$(nproc)", "`# one\nnproc`", "$(: $(nproc); nproc)"}) {
    EXPECT_FALSE(find_launch(std::string("sglang serve --tp ") + unknown, {})) << unknown;
  }
}

}  // namespace
}  // namespace preflight::sources
