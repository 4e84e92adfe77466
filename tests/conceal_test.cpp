// Secrets of a launch are told nowhere.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "src/intake/conceal.h"
#include "src/intake/open_text.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Conceal, KnowsSecretsByTheirNames) {
  for (const char* name : {"api_key", "--admin-api-key", "ssl_keyfile_password", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY",
                           "_OPENAI_API_KEY", "watermark_key"}) {
    EXPECT_TRUE(commands::is_secret(name)) << name;
  }
  for (const char* name :
       {"ssl_keyfile", "max_total_tokens", "tokenizer_path", "page_size", "speculative_token_map",
        "bucket_time_to_first_token", "kt_max_deferred_experts_per_token", "SGLANG_ENABLE_SPEC_V2"}) {
    EXPECT_FALSE(commands::is_secret(name)) << name;
  }
}

TEST(Conceal, KnowsSecretsByNamesThatAnybodyChose) {
  for (const char* name : {"key",
                           "auth",
                           "pass",
                           "db-pwd",
                           "private-key",
                           "credentials",
                           "cookie",
                           "bearer",
                           "API_TOKENS",
                           "accessToken",
                           "X-Amz-Signature",
                           "X-Amz-Credential",
                           "sig",
                           "AccountKey",
                           "api\\u005fkey",
                           "SLACK_WEBHOOK_URL",
                           "hf-tokn",
                           "SGLANG_TOKEN",
                           "userPassword",
                           "sk",
                           "oss_ak",
                           "hf-tok",
                           "API_KEY_2",
                           "key2",
                           "AWS_ACCESS_KEY_ID",
                           "AZURE_STORAGE_CONNECTION_STRING",
                           "connectionString",
                           "DB_CONN_STR",
                           "KUBE_CONFIG_DATA",
                           "ACCESSKEY",
                           "MASTERKEY",
                           "sshkey",
                           "OPENAIKEYS",
                           "HFKEY2",
                           "DBPASS",
                           "MYPW",
                           "ROOTPWD",
                           "GHPAT"}) {
    EXPECT_TRUE(commands::is_secret_variable(name)) << name;
  }
  for (const char* name : {"PATH",
                           "max_position_embeddings",
                           "time_to_first_token",
                           "model",
                           "keyed",
                           "author",
                           "SGLANG_PORT",
                           "tokenizer",
                           "compass",
                           "monkey",
                           "hotkey",
                           "BYPASS",
                           "SGLANG_COMPAT",
                           "$PWD",
                           "OLDPWD",
                           "pathway",
                           "keypoint",
                           "factor",
                           "architectures",
                           "task",
                           "disk",
                           "peak"}) {
    EXPECT_FALSE(commands::is_secret_variable(name)) << name;
  }
  EXPECT_TRUE(commands::is_count("SGLANG_MAX_TOTAL_TOKENS", "65536"));
  EXPECT_FALSE(commands::is_count("HF_TOKENS", "hf_a,hf_b"));
}

TEST(Conceal, KnowsOptionsThatNobodyKnowsByAnyWordOfTheirs) {
  for (const char* name : {"--api-key-file2", "--hf-token-path2", "--my-secret-of-x", "--session", "--auth-header",
                           "--wandb-api", "--wandb"}) {
    EXPECT_TRUE(commands::looks_secret(name)) << name;
  }
  for (const char* name : {"--speculative-token-mapp", "--tokenizr-path", "--page-siz", "--api-server-count"}) {
    EXPECT_FALSE(commands::looks_secret(name)) << name;
  }
}

// In a value a name and a blank are enough; in a sentence they are words.
TEST(Conceal, KnowsSecretsInsideAValue) {
  const std::vector<std::pair<std::string, std::string>> rows = {{"token S123x", "***"},
                                                                 {"a password S123x b", "a *** b"},
                                                                 {"per token 12", "per token 12"},
                                                                 {"my model", "my model"},
                                                                 {"token", "token"}};
  for (const auto& [value, shown] : rows) {
    std::string out = value;
    commands::hide_value_parts(out);
    EXPECT_EQ(out, shown);
  }
  std::string sentence = "no token S123x here";
  commands::hide_parts(sentence);
  EXPECT_EQ(sentence, "no token S123x here");
}

TEST(Conceal, KnowsSecretsInsideATextByItsForm) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"api_key=S123", "api_key=***"},
      {"Authorization: Bearer S123", "Authorization: ***"},
      {"x Bearer S123 y", "x Bearer *** y"},
      {"Basic S123==", "Basic ***"},
      {"x Bearer Bearer S123 y", "x Bearer *** *** y"},
      {"https://h/p?a=1&sig=S123&b=2", "https://h/p?a=1&sig=***&b=2"},
      {"https://h/p?X-Amz-Credential=S1/2&X-Amz-Signature=S2", "https://h/p?X-Amz-Credential=***&X-Amz-Signature=***"},
      {"https://h/#access_token=S123", "https://h/#access_token=***"},
      {"//u:S123@h", "//u:***@h"},
      {"u:S123@h:1", "u:***@h:1"},
      {"s3://key:S123@bucket/x", "s3://key:***@bucket/x"},
      {"https://S123@h/x", "https://***@h/x"},
      {R"({"a": {"tokens": ["S1", "S2"]}, "b": 1})", R"({"a": {"tokens": [***]}, "b": 1})"},
      {R"({"auth": {"x": "S1"}})", R"({"auth": {***}})"},
      {R"({"api\u005fkey": "S1"})", R"({"api\u005fkey": "***"})"},
      {R"({"x": "{\"token\": \"S123\"}"})", R"({"x": "{\"token\": \"***\"}"})"},
      {"api-key:S123", "api-key:***"},
      {"--api-key S123 --tp 2", "--api-key *** --tp 2"},
      {"--" + std::string(150, 'a') + "-api-key S123 x", "--" + std::string(150, 'a') + "-api-key *** x"},
      {"x--api-key S123 x", "x--api-key *** x"},
      {"AccountName=a;AccountKey=S123==;Suffix=b", "AccountName=a;AccountKey=***;Suffix=b"},
      {"https://hooks.slack.com/services/T/B/S123", "https://hooks.slack.com/***"},
      {"https://discord.com/api/webhooks/1/S123 x", "https://discord.com/*** x"},
      {"hf_abcdefghijklmnopqrstuvw x", "*** x"},
      {"is sk-abcdefghij0123456789", "is ***"},
      {"AKIAIOSFODNN7EXAMPLE", "***"},
      {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123 x", "*** x"},
      {"gsk_abcdefghij0123456789", "***"},
      {"without --hf_abcdefghijklmnopqrstuvw", "without --***"},
      {"HF_TOKEN = S123\nA = 2", "HF_TOKEN = ***\nA = 2"},  // make, and files of settings
      {"HF_TOKEN := S123 ", "HF_TOKEN := *** "},
      {"HF_TOKEN?=S123", "HF_TOKEN?=***"},
      {"HF_TOKEN += S123", "HF_TOKEN += ***"},
      {R"([{"name": "HF_TOKEN", "value": "S1"}])", R"([{"name": "HF_TOKEN", "value": "***"}])"},
      {"- name: HF_TOKEN\n  value: S123\n- name: A\n  value: b",
       "- name: HF_TOKEN\n  value: ***\n- name: A\n  value: b"},
      // None of them.
      {R"([{"name": "A", "value": "S1"}])", R"([{"name": "A", "value": "S1"}])"},
      {"HF_TOKEN= python serve.py", "HF_TOKEN= python serve.py"},
      {"HF_TOKEN =\nS123", "HF_TOKEN =\nS123"},
      {"HF_TOKEN = $(OTHER)", "HF_TOKEN = $(OTHER)"},
      {"token = args.other", "token = args.other"},
      {"ask-abcdefghij0123456789 hf_models", "ask-abcdefghij0123456789 hf_models"},
      {"eyJhbGciOiJIUzI1NiJ9.short", "eyJhbGciOiJIUzI1NiJ9.short"},
      {"hf_abcdefghijklmnopqrstuvw.json", "***.json"},
      {"--hf_chat_template_name npm_config_cache_min_age", "--hf_chat_template_name npm_config_cache_min_age"},
      {"lmsysorg/sglang:v0.5.20@sha256:abcd", "lmsysorg/sglang:v0.5.20@sha256:abcd"},
      {R"({"max_tokens": 4096, "use_auth": true})", R"({"max_tokens": 4096, "use_auth": true})"},
      {"http://host:30000/v1?n=1", "http://host:30000/v1?n=1"},
      {"git@github.com:a/b", "git@github.com:a/b"},
      {"--api-key\xC2\xA0S123 x", "--api-key\xC2\xA0*** x"},
      // A file and what is said of it.
      {"secrets.yaml: there is no such file", "secrets.yaml: there is no such file"},
      {"/run/secrets/token: cannot be read", "/run/secrets/token: cannot be read"},
      {"a/secrets.yaml:3:1: not valid YAML", "a/secrets.yaml:3:1: not valid YAML"},
      {"adapter=/models/lora", "adapter=/models/lora"},
      // Keys of a table and of a dictionary; an index and a list are none.
      {"M=([HF_TOKEN]=S123)", "M=([HF_TOKEN]=***)"},
      {"args['api_key'] = 'S123'", "args['api_key'] = '***'"},
      {"all[key] = named", "all[key] = named"},
      {R"(if x in ["token"]: go(x))", R"(if x in ["token"]: go(x))"},
      {R"(["token"] x = 1234)", R"(["token"] x = 1234)"},
      // Signs that are written as codes, once or again.
      {"https://h/%3Ftoken%3DS123", "https://h/%3Ftoken%3D***"},
      {"https://h/?to=x%253Fkey%253DS123%2526b", "https://h/?to=x%253Fkey%253D***%2526b"},
      {"https://h/?to=x%3Fn%3D1%26t%3D2", "https://h/?to=x%3Fn%3D1%26t%3D2"},
      {"token%3", "token%3"},
      {"100%", "100%"}};
  for (const auto& [text, shown] : rows) {
    std::string out = text;
    commands::hide_parts(out);
    EXPECT_EQ(out, shown);
  }
}

// A name of a list of variables is looked at as far as names go; one that goes on may end as that of a secret.
TEST(Conceal, TheEndOfALongNameIsNotGuessed) {
  const auto shown = [](std::size_t letters, const std::string& end) {
    std::string text = fmt::format(R"({{"name": "{}{}", "value": "S123"}})", std::string(letters, 'x'), end);
    commands::hide_parts(text);
    return text.find("S123") != std::string::npos;
  };
  EXPECT_TRUE(shown(100, ""));
  EXPECT_FALSE(shown(100, "_TOKEN"));
  EXPECT_FALSE(shown(246, "_TOKEN"));
  EXPECT_FALSE(shown(1000, "_TOKEN"));
  EXPECT_TRUE(shown(252, ""));
  std::string last = R"({"name": ")" + std::string(300, 'x') + R"("})";
  const std::string as_it_was = last;
  commands::hide_parts(last);
  EXPECT_EQ(last, as_it_was);
}

// Every way a secret may come in, through every command that shows a launch.
TEST(Conceal, NoReportHoldsASecret) {
  const TemporaryDirectory dir;
  const std::string yaml = dir.file("o.yaml", "{api-key: topsecret, page-size: 32}\n");
  const std::string model = "--model-path Qwen/Qwen3-0.6B --attention-backend intel_xpu ";
  const std::string python = "python -m sglang.launch_server " + model;
  const std::vector<std::vector<std::string>> rows = {
      {"check", "--no-kernel", "--command", python + "--api-key topsecret --page-size 32 --tp 3"},
      {"check", "--no-kernel", "--command", python + "--api-key=topsecret --page-size 32 --tp 3"},
      {"check", "--no-kernel", "--command", python + "--admin-api-k topsecret --tp 3"},
      {"check", "--no-kernel", "--command", python + "--apikey topsecret"},
      {"check", "--no-kernel", "--command", "HF_TOKEN=topsecret " + python + "--tp 3"},
      {"check", "--no-kernel", "--set", "KEY=topsecret", "--command", python + "--api-key $KEY --tp 3"},
      {"check", "--no-kernel", "--command", python + "--config " + yaml},
      {"check", "--no-kernel", "--command", "vllm serve Qwen/Qwen3-0.6B --api-key topsecret -tp 3"},
      {"resolve", "--command", python + "--api-key topsecret"},
      {"explain", "api_key", "--command", python + "--api-key topsecret"},
      {"upgrade", "--from", "0.5.13", "--to", "0.5.23", "--command", python + "--api-key topsecret"},
  };
  for (const auto& row : rows) {
    for (const char* format : {"text", "json"}) {
      if (row[0] == "explain" && std::string(format) == "json") continue;
      std::vector<std::string> words = row;
      words.insert(words.begin() + 1, {"--format", format});
      if (row[0] == "explain") words.erase(words.begin() + 1, words.begin() + 3);
      const ToolRun run = run_tool(words);
      EXPECT_NE(run.status, 3) << row.back();
      EXPECT_THAT(run.out + run.err, Not(HasSubstr("topsecret"))) << row.back() << " as " << format;
    }
  }
}

// A marker in every place that may hold a secret: options by their names, nearly by them, addresses, members of JSON
// texts, variables, through every command that shows a launch.
TEST(Conceal, NoSecretLeavesTheProgramWhereverItStands) {
  const std::vector<std::vector<std::string>> commands = {{"check", "--no-kernel"},
                                                          {"resolve"},
                                                          {"memory"},
                                                          {"pages", "--no-kernel"},
                                                          {"upgrade", "--from", "0.5.13"},
                                                          {"suggest", "Qwen/Qwen3-0.6B"},
                                                          {"facts"}};
  const std::vector<std::vector<std::string>> arguments = {
      {"--api-key", "topsecret"},
      {"--api-keey", "topsecret"},
      {"--hf-tok", "topsecret"},
      {"--api-key-file2", "topsecret"},
      {"--api-keytopsecret"},
      {"--admin_api_keytopsecret", "--nope"},
      {"--api-key", "-topsecret"},
      {"--api-key", "--topsecret"},
      {"api_key", "topsecret"},
      {"--served-model-name", "token topsecret"},
      {"--tp=Authorization: Bearer topsecret"},
      {"--attention-backend={'password': 'topsecret'}"},
      {"--otlp-traces-endpoint", "https://h/%3Ftoken%3Dtopsecret"},
      {"--adminapikey=topsecret"},
      {"--otlp-traces-endpoint", "http://user:topsecret@host:1"},
      {"--model-path", "s3://key:topsecret@bucket/x"},
      {"--model-path", "https://topsecret@hub/x?token=topsecret"},
      {"--json-model-override-args", R"({"token":"topsecret"})"},
      {"--model-loader-extra-config", R"({"a": {"auth_token": "topsecret"}})"},
      {"--token", "topsecret"},
      {"--token=topsecret=x"},
      {"--token=topsecret"},
      {"--wandb-api", "topsecret"},
      {"api_key:", "topsecret"},
      {"Bearer", "topsecret"},
      {"--api-key\xC2\xA0topsecret"},
      {"--api-key=topsecret", "--api-key", "another1"},
      {"--jwt", "topsecret"},
      {"\xe2\x80\x94"
       "api-key",
       "topsecret"},
      {"--config", "redis://:topsecret@h:6379/0"},
      {"--model-path", "https://x.blob.core.windows.net/a?sv=1&sig=topsecret"},
      {"--served-model-name", "--api-key topsecret"},
      {"--served-model-name", "api-key:topsecret"},
      {"--key", "topsecret"},
      {"--auth=topsecret"},
      {"--pass", "topsecret"},
      {"--db-pwd", "topsecret"},
      {"--private-key", "topsecret"},
      {"--credentials", "topsecret"},
      {"--cookie", "topsecret"},
      {"--bearer", "topsecret"},
      {"--hf-tokn", "topsecret"},
      {"--served-model-name", "api_key=topsecret"},
      {"--served-model-name", "Authorization: Bearer topsecret"},
      {"--served-model-name", "Basic topsecret"},
      {"--otlp-traces-endpoint", "https://h/x?a=1&X-Amz-Signature=topsecret#access_token=topsecret"},
      {"--otlp-traces-endpoint", "//u:topsecret@h"},
      {"--dist-init-addr", "u:topsecret@h:1"},
      {"--json-model-override-args", R"({"a": {"tokens": ["x", "topsecret"]}, "b": "{\"apiKey\": \"topsecret\"}"})"},
      {"--json-model-override-args", R"({"api\u005fkey": "topsecret"})"},
      {"--model-loader-extra-config", R"({"accesskey":"topsecret"})"},
      {"--served-model-name", "AccountName=a;AccountKey=topsecret;x"},
      {"--otlp-traces-endpoint", "https://hooks.slack.com/services/T/B/topsecret"},
      {"--hicache-storage-backend", "file", "--hicache-storage-backend-extra-config", R"({"password":"topsecret"})"},
      {"-k", "topsecret"},
      {"-k=topsecret"},
      {"--hf", "topsecret"},
      {"--hf=topsecret"},
      {"--chat-temp", "Atopsecret9"},
      {"--enable-metrics=topsecret"},
      {"--made-up", "8192", "topsecret"},
      {"--api-key", "my", "topsecret"},
      {"Atopsecret9"},
  };
  const std::vector<std::string> variables = {"HF_TOKEN=topsecret",
                                              "WANDB_KEY=topsecret",
                                              "ACCESSKEY=topsecret",
                                              "DBPASS=topsecret",
                                              "HF_AUTH=topsecret",
                                              "AWS_SECRET_ACCESS_KEY=topsecret",
                                              "https_proxy=http://me:topsecret@proxy:1",
                                              "SGLANG_URL=redis://:topsecret@host",
                                              "SGLANG_TOKEN=topsecret",
                                              "API_TOKENS=a,topsecret",
                                              "MY_HEADER=Authorization: Bearer topsecret",
                                              "ALERTS=https://discord.com/api/webhooks/1/topsecret",
                                              "HF_TOKEN topsecret"};
  const auto expect_hidden = [](const std::vector<std::string>& words) {
    const ToolRun run = run_tool(words);
    EXPECT_NE(run.status, 3);
    EXPECT_THAT(run.out + run.err, Not(HasSubstr("topsecret"))) << ::testing::PrintToString(words);
  };
  for (const auto& command : commands) {
    for (const char* format : {"text", "json"}) {
      std::vector<std::string> start = command;
      start.insert(start.end(), {"--format", format});
      std::vector<std::string> launch = {"--", "--model-path", "Qwen/Qwen3-8B", "--tp", "3"};
      if (command[0] == "suggest") launch = {"--"};
      for (const auto& given : arguments) {
        std::vector<std::string> words = start;
        words.insert(words.end(), launch.begin(), launch.end());
        words.insert(words.end(), given.begin(), given.end());
        expect_hidden(words);
      }
      for (const std::string& variable : variables) {
        std::vector<std::string> words = start;
        words.insert(words.end(), {"--env", variable});
        words.insert(words.end(), launch.begin(), launch.end());
        expect_hidden(words);
      }
    }
  }
}

// What stands around a launch in its file is shown with it: other commands, and what they are given.
TEST(Conceal, NoLineOfAFileShowsASecret) {
  const TemporaryDirectory dir;
  const std::string serve = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 3";
  const std::vector<std::string> scripts = {"ssh user:topsecret@host \"" + serve + "\"",
                                            "HF_TOKEN=topsecret login && " + serve,
                                            "login --token=topsecret || " + serve,
                                            "test \"$(HF_TOKEN=topsecret x)\" && " + serve,
                                            "curl -H 'Authorization: Bearer topsecret' x && " + serve,
                                            serve + " --api-key $'topsecret\\n'",
                                            "bash -c \"HF_TOKEN=topsecret " + serve + "\"",
                                            "docker run -e HF_TOKEN=topsecret x " + serve};
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    const std::string file = dir.file(fmt::format("{}.sh", i), scripts[i] + "\n");
    for (const char* format : {"text", "json", "sarif", "junit", "github", "gitlab", "markdown", "html"}) {
      const ToolRun run = run_tool({"check", "--no-kernel", "--output", format, file});
      EXPECT_EQ(run.status, 1) << scripts[i] << run.err;
      EXPECT_THAT(run.out + run.err, Not(HasSubstr("topsecret"))) << scripts[i] << " as " << format;
    }
  }
}

// What a script does not export is no variable of its launch, whose words may hold its value all the same.
TEST(Conceal, NoVariableThatAScriptKeepsIsShown) {
  const TemporaryDirectory dir;
  const std::string serve = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 3";
  const std::string secret = "Zq7xTopSecret93";
  const std::vector<std::string> scripts = {
      "HF_TOKEN=" + secret + "\n" + serve + " --served-model-name $HF_TOKEN",
      "HF_TOKEN=" + secret + "\n" + serve + " --download-dir /x/$HF_TOKEN",
      "HF_TOKEN=" + secret + "\nX=$HF_TOKEN\n" + serve + " --served-model-name $X",
      "HF_TOKEN=" + secret + "\nNAME=$HF_TOKEN " + serve,
      "readonly HF_TOKEN='" + secret + "'\nexport NAME=$HF_TOKEN\n" + serve};
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    const std::string file = dir.file(fmt::format("{}.sh", i), scripts[i] + "\n");
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"check", "--no-kernel", "--output", "json", file},
                                               {"check", "--no-kernel", "--command-file", file},
                                               {"launches", file},
                                               {"resolve", "--all", "--command-file", file}}) {
      const ToolRun run = run_tool(command);
      EXPECT_LT(run.status, 2) << scripts[i] << run.err;
      EXPECT_THAT(run.out + run.err, Not(HasSubstr(secret))) << scripts[i] << " by " << command[0];
    }
  }
  // A word that means no secret is one of the launch.
  const std::string open = dir.file("open.sh", "KEY=deepseek\n" + serve + " --served-model-name deepseek\n");
  EXPECT_THAT(run_tool({"launches", open}).out, HasSubstr("--served-model-name deepseek"));
}

// Nobody knows what these are, in any shape that a secret may have: what is not known to be open is not shown.
class UnknownMeaning : public ::testing::TestWithParam<const char*> {};

TEST_P(UnknownMeaning, IsNotShown) {
  const TemporaryDirectory dir;
  const std::string serve = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 3";
  const std::string python = "import sglang\nllm = sglang.Engine(model_path=\"Qwen/Qwen3-8B\", tp_size=3, ";
  const std::vector<std::vector<std::string>> ways = {{"check", "--no-kernel", "--output", "text"},
                                                      {"check", "--no-kernel", "--output", "json"},
                                                      {"check", "--no-kernel", "--output", "html"},
                                                      {"check", "--no-kernel", "--output", "sarif"},
                                                      {"check", "--no-kernel", "--output", "junit"},
                                                      {"check", "--no-kernel", "--output", "gitlab"},
                                                      {"check", "--no-kernel", "--output", "github"},
                                                      {"check", "--no-kernel", "--output", "markdown"},
                                                      {"launches", "--format", "text"},
                                                      {"launches", "--format", "json"},
                                                      {"upgrade", "--from", "0.5.13"},
                                                      {"upgrade", "--from", "0.5.13", "--format", "json"},
                                                      {"nodes", "--format", "text", "--command-file"},
                                                      {"nodes", "--format", "json", "--command-file"},
                                                      {"resolve", "--format", "json", "--command-file"}};
  const std::string secret = GetParam();
  const std::vector<std::pair<const char*, std::string>> files = {
      {"k.sh", serve + " -k " + secret},
      {"hf.sh", serve + " --hf " + secret},
      {"flag.sh", serve + " --enable-metrics=" + secret},
      {"cat.sh", serve + " --port $(cat " + secret + ")"},
      {"ticks.sh", serve + " --port `cat " + secret + "`"},
      {"quoted.sh", serve + " --port \"$(pass show '" + secret + "')\""},
      {"dot.sh", ". ./env.sh " + secret + "; " + serve + " --port $PORT"},
      {"test.sh", "[ \"$KX\" = " + secret + " ] && " + serve},
      {"or.sh", serve + " || notify " + secret},
      {"case.sh", "case $KX in\n " + secret + ") " + serve + ";;\nesac"},
      {"loop.sh", "for k in " + secret + "; do " + serve + " --served-model-name a; done"},
      {"call.py", python + "api_key=get(\"" + secret + "\"))"},
      {"port.py", python + "port=get(\"" + secret + "\"))"}};
  for (const auto& [name, text] : files) {
    const std::string file = dir.file(name, text + "\n");
    for (std::vector<std::string> words : ways) {
      words.push_back(file);
      const ToolRun run = run_tool(words);
      EXPECT_NE(run.status, 3);
      EXPECT_THAT(run.out + run.err, Not(HasSubstr(secret))) << text << ::testing::PrintToString(words);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, UnknownMeaning,
                         ::testing::Values("topsecret", "Zq7marker9X", "XMARKERX", "p9f8e7d6c5b4", "hunter",
                                           "correcthorse", "Battery", "staple/x7y9zz"));

// A plain word in lower case is a password as often as any other.
TEST(Conceal, NoPlainWordOfUnknownMeaningIsShown) {
  const std::vector<std::vector<std::string>> commands = {
      {"check", "--no-kernel"}, {"resolve"}, {"memory"}, {"pages", "--no-kernel"}, {"upgrade", "--from", "0.5.13"}};
  const std::vector<std::vector<std::string>> arguments = {{"correcthorse"},
                                                           {"-k", "correcthorse"},
                                                           {"--made-up", "correcthorse"},
                                                           {"--made-up=correcthorse"},
                                                           {"--made-up", "8192", "correcthorse"},
                                                           {"--made-up", "correct/horse"},
                                                           {"--chat-temp", "correcthorse"},
                                                           {"--enable-metrics=correcthorse"},
                                                           {"--enable-metrics", "correcthorse"}};
  for (const auto& command : commands) {
    for (const char* format : {"text", "json"}) {
      for (const auto& given : arguments) {
        std::vector<std::string> words = command;
        words.insert(words.end(), {"--format", format, "--", "--model-path", "Qwen/Qwen3-8B", "--tp", "3"});
        words.insert(words.end(), given.begin(), given.end());
        const ToolRun run = run_tool(words);
        EXPECT_NE(run.status, 3);
        EXPECT_THAT(run.out + run.err, Not(HasSubstr("horse"))) << ::testing::PrintToString(words);
      }
    }
  }
}

TEST(Conceal, WordsNumbersAndPathsOfUnknownMeaningAreShown) {
  const TemporaryDirectory dir;
  const std::string serve = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 3 ";
  for (const std::string shown :
       {"--made-up 8192", "--made-up /data/run7a/x", "--made-up Qwen/Qwen3-8B", "--made-up auto", "--page-siz 64k",
        "--made-up triton", "--port $(cat /run/port)", "--port $(cat config.yaml)", "--port $(hostname -i)",
        "--port $(get_port eth0 | head -n 1)"}) {
    const ToolRun run = run_tool({"launches", dir.file("a.sh", serve + shown + "\n")});
    const std::size_t value = shown.find(' ') + 1;
    EXPECT_THAT(run.out, HasSubstr(shown.substr(value))) << run.err;
  }
  const std::string braces = dir.file("a.sh", serve + "--chat-template {chat,tool_use}.jinja\n");
  EXPECT_THAT(run_tool({"launches", braces}).out, HasSubstr("--chat-template chat.jinja tool_use.jinja\n"));
}

// What a name counts is a number, and a short one is what other options are given, too.
TEST(Conceal, NumbersBehindANameThatCountsAreShown) {
  const TemporaryDirectory dir;
  const auto shown = [&](const std::string& words) {
    return run_tool({"launches", dir.file("a.sh", "python -m sglang.launch_server --model-path m " + words + "\n")})
        .out;
  };
  const std::string paddings = "--chunked-prefill-size 2048 --precompile-token-paddings 2048";
  EXPECT_THAT(shown(paddings), HasSubstr(paddings));
  EXPECT_THAT(shown("--chunked-prefill-size 4096 --made-up-key 4096"),
              HasSubstr("--chunked-prefill-size 4096 --made-up-key '***'"));
  EXPECT_THAT(shown("--token-size 12345678"), Not(HasSubstr("12345678")));
  EXPECT_THAT(shown("--model-im transformers"), HasSubstr("--model-im transformers"));  // which takes any word
  EXPECT_THAT(shown("--model-im transf0rmers"), Not(HasSubstr("transf0rmers")));
  const std::string guard = dir.file("b.sh", ": ${DISAGG_STORE_ID:?}\npython -m sglang.launch_server --model-path m\n");
  EXPECT_THAT(run_tool({"launches", guard}).out, HasSubstr("unless DISAGG_STORE_ID is not set at line 1"));
  EXPECT_THAT(shown("--served-model-name 123456789 --api-key 123456789"), Not(HasSubstr("123456789")));
  EXPECT_THAT(shown("--backend-url http://localhost:30000"), HasSubstr("http://localhost:30000"));
  EXPECT_THAT(shown("--backend-url http://localhost:30000/Zq7marker9X"), Not(HasSubstr("Zq7marker9X")));
}

TEST(Conceal, TheAdviceToGiveAValueIsShown) {
  const TemporaryDirectory dir;
  const std::string serve = "python -m sglang.launch_server --model-path m --max-total-tokens ";
  EXPECT_THAT(run_tool({"launches", dir.file("a.sh", serve + "$INPUT_TOKEN\n")}).out,
              HasSubstr("give it with --set INPUT_TOKEN=VALUE\n"));
  const std::string nodes = "$(lscpu | grep \"NUMA node0 CPU(s):\" | awk -F: '{print $2}')";
  EXPECT_THAT(run_tool({"launches", dir.file("b.sh", serve + nodes + "\n")}).out,
              HasSubstr("what " + nodes + " prints"));
}

// What vLLM serves stands in front of its options.
TEST(Conceal, TheModelOfVllmIsShown) {
  const TemporaryDirectory dir;
  const std::string out =
      run_tool({"launches", dir.file("a.sh", "vllm serve reducto/RolmOCR --port 3 --api-key Zq7marker9X\n")}).out;
  EXPECT_THAT(out, HasSubstr("reducto/RolmOCR --port 3 --api-key '***'"));
  EXPECT_THAT(run_tool({"launches", dir.file("b.sh", "vllm serve https://u:topsecret@h/x\n")}).out,
              Not(HasSubstr("topsecret")));
}

// A default has the name of its variable, which may say what it is.
TEST(Conceal, ADefaultIsShownWhereItsNameSaysWhatItIs) {
  const TemporaryDirectory dir;
  const auto shown = [&](const std::string& name) {
    const std::string program = "import os, sglang\nif os.environ.get('" + name +
                                "', 'correcthorse') != 'off':\n  sglang.Engine(model_path='m')\n";
    return run_tool({"launches", "--format", "json", dir.file("a.py", program)}).out;
  };
  EXPECT_THAT(shown("VERL_LOGGING_LEVEL"), HasSubstr("correcthorse"));
  EXPECT_THAT(shown("MODEL"), HasSubstr("correcthorse"));
  for (const char* name : {"KX", "MODEL_KEY", "HF_TOKEN", "DEVICES_AUTH"})
    EXPECT_THAT(shown(name), Not(HasSubstr("correcthorse"))) << name;
}

// Our own words about when a launch runs hide nothing of themselves.
TEST(Conceal, WhenALaunchRunsIsShown) {
  const TemporaryDirectory dir;
  const std::string serve = "python -m sglang.launch_server --model-path m; ";
  const std::string program = dir.file("a.py",
                                       "from boxes import Lm\nclass Own(Lm):\n  def begin_it(self):\n    "
                                       "self.box.local('sglang serve --model-path m')\n");
  EXPECT_THAT(run_tool({"launches", program}).out,
              HasSubstr(", in begin_it, which nothing here calls; where self.box.local starts it\n"));
  const std::string list = dir.file("b.py", "cmd = ['python', '-m', 'sglang.launch_server', '--model-path', 'm']\n");
  EXPECT_THAT(run_tool({"launches", list}).out, HasSubstr(", where what is made of this list is run\n"));
  const std::string service = "services: {a: {deploy: {replicas: 0}, profiles: [x], image: i, command: " + serve + "}}";
  EXPECT_THAT(run_tool({"launches", dir.file("compose.yaml", service)}).out,
              HasSubstr("where replicas is not 0; where one of its profiles is asked for\n"));
  EXPECT_THAT(run_tool({"launches", dir.file("failglob.sh", "shopt -s failglob; a *.x; " + serve)}).out,
              HasSubstr(", unless the pattern is of no file at line 1\n"));
  for (const std::string& loop : {"turn 1 of a loop|N=1; while [ $N -lt 2 ]; do " + serve + "N=2; done",
                                  "in a loop at line 1|while sleep 1; do " + serve + "done",
                                  "in a branch at line 1|if [ $# = 1 ]; then " + serve + "fi",
                                  "where what stands in front of it at line 1 fails|x || { " + serve + "}",
                                  "unless the script ends at line 1|[ -d /x ] && exit; " + serve}) {
    const auto bar = loop.find('|');
    EXPECT_THAT(run_tool({"launches", dir.file("a.sh", loop.substr(bar + 1) + "\n")}).out,
                HasSubstr(", " + loop.substr(0, bar) + "\n"));
  }
}

TEST(Conceal, OurOwnWordsAreShown) {
  const TemporaryDirectory dir;
  const auto said = [&](const char* name, const std::string& text) {
    const ToolRun run = run_tool({"launches", dir.file(name, text + "\n")});
    return run.out + run.err;
  };
  const std::string serve = "python -m sglang.launch_server --model-path m";
  EXPECT_THAT(said("a.sh", "python -m sglang_router.launch_server --model-path m --dp-size 4"),
              HasSubstr(", behind a router, once for each --dp-size\n"));
  EXPECT_THAT(said("b.sh", "python -m dynamo.sglang --model-path m"), HasSubstr(", as a worker of Dynamo\n"));
  EXPECT_THAT(said("main.tf", serve), HasSubstr("`terraform console` or `terraform plan`"));
  EXPECT_THAT(said("justfile", "set shell := [\"nu\", \"-c\"]\ns:\n  " + serve), HasSubstr("`just --dry-run RECIPE`"));
  EXPECT_THAT(said("Taskfile.yml", "version: '3'\ntasks:\n  s:\n    preconditions: [x]\n    cmds: [" + serve + "]"),
              HasSubstr(", where what the task asks for is there\n"));
  EXPECT_THAT(said(".gitlab-ci.yml",
                   "j:\n  rules: [{if: $X}]\n  script: [" + serve + "]\nk:\n  when: manual\n  script: [" + serve + "]"),
              AllOf(HasSubstr("where `rules` of its job"), HasSubstr("where its job is started: when: manual")));
}

// A word of ours that is a secret, too, is hidden where it is the user's alone.
TEST(Conceal, OurOwnWordsAreShownBesideASecretThatIsOneOfThem) {
  const TemporaryDirectory dir;
  const std::string serve = "python -m sglang.launch_server --model-path m --api-key ";
  const auto said = [&](const std::string& text) { return run_tool({"launches", dir.file("a.sh", text + "\n")}).out; };
  EXPECT_THAT(said("export PASSWORD=variable\n" + serve + "x --tp $TP"),
              AllOf(HasSubstr("the variable TP is not set"), Not(HasSubstr("PASSWORD=variable"))));
  EXPECT_THAT(said("if [ -e /x ]; then " + serve + "line; fi"), HasSubstr("in a branch at line 1\n"));
  EXPECT_THAT(said(serve + "program --tp $(cat program)"),
              AllOf(HasSubstr("what $(cat ***) prints"), Not(HasSubstr("program"))));
  EXPECT_THAT(said("for line in variable; do " + serve + "variable; done"), Not(HasSubstr("line=variable")));
}

// By whatever way it came to a variable whose name says that it is one.
TEST(Conceal, ASecretIsHiddenWhereverItsVariableGotIt) {
  const TemporaryDirectory dir;
  const std::string serve = "python -m sglang.launch_server --model-path m --served-model-name ";
  for (const std::string& text :
       {"set -- Zq7marker9X; API_KEY=$1; " + serve + "$API_KEY", "API_KEY=${X:-Zq7marker9X}; " + serve + "$API_KEY",
        "API_KEY=a${X:-Zq7marker9X}b; " + serve + "$API_KEY",
        "f() { local token=$1; " + serve + "$token; }; f Zq7marker9X",
        "A=(Zq7marker9X); HF_TOKEN=${A[0]}; " + serve + "$HF_TOKEN", "B=Zq7marker9X; PASSWORD=$B; " + serve + "$B",
        "A=1; " + serve + "$(Zq7marker9X)", "KEY=Zq7marker9X; " + serve + "run_$KEY",
        "KEY=Zq7marker9X; " + serve + "${KEY}x", "declare -A M=([KEY]=Zq7marker9X); " + serve + "${M[KEY]}"}) {
    for (const std::string format : {"text", "json"}) {
      const std::string out = run_tool({"launches", "--format", format, dir.file("a.sh", text + "\n")}).out;
      EXPECT_THAT(out, AllOf(HasSubstr("***"), Not(HasSubstr("Zq7marker9X")))) << text;
    }
  }
  EXPECT_THAT(run_tool({"launches", dir.file("b.sh", "B=Zq7marker9X; " + serve + "$B\n")}).out,
              HasSubstr("Zq7marker9X"));
  // A word of a language stands inside of others by chance.
  EXPECT_THAT(run_tool({"launches", dir.file("c.sh", "KEY=deepseek-r; " + serve + "deepseek-r1\n")}).out,
              HasSubstr("deepseek-r1"));
}

// `--env =$TOKEN`, `--env $TOKEN`: what is no NAME=VALUE may be the value.
TEST(Conceal, WhatIsNoVariableIsNotToldBack) {
  for (const std::string given : {"=Zq7marker9X", "Zq7marker9X"}) {
    const ToolRun run = run_tool({"check", "--no-kernel", "--env", given, "--", "--model-path", "m"});
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.err, AllOf(HasSubstr("expected NAME=VALUE"), Not(HasSubstr("Zq7marker9X"))));
  }
  EXPECT_THAT(run_tool({"check", "--no-kernel", "--env", "HF_TOKEN", "--", "--model-path", "m"}).err,
              HasSubstr("--env HF_TOKEN…: expected NAME=VALUE"));
  const TemporaryDirectory dir;
  const std::string file = dir.file("a.sh", "python -m sglang.launch_server --model-path $M\n");
  EXPECT_THAT(run_tool({"check", "--no-kernel", "--set", "=Zq7marker9X", file}).err,
              AllOf(HasSubstr("--set =…: expected NAME=VALUE"), Not(HasSubstr("Zq7marker9X"))));
}

// What an interpreter says where it fails may quote the launch that it was given.
TEST(Conceal, WhatAnInterpreterComplainsOfShowsNoSecret) {
  const TemporaryDirectory dir;
  const std::string python =
      dir.file("python", "#!/bin/sh\ncat > /dev/null\necho error: Zq7marker9X at 1 >&2\nexit 1\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  for (const std::string kind : {"python:", "both:"}) {
    const ToolRun run = run_tool(
        {"check", "--no-kernel", "--resolver", kind + python, "--", "--model-path", "m", "--api-key", "Zq7marker9X"});
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.err, HasSubstr("gave no answer: exit status 1 (error: *** at 1)"));
  }
}

// By whatever name, attribute, key or call a program reads it.
TEST(Conceal, ASecretOfAProgramIsHiddenHoweverItIsMade) {
  const TemporaryDirectory dir;
  const std::string start =
      "\nimport os\nos.system('python -m sglang.launch_server --model-path m --served-model-name ' + ";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"token = 'Zq7' + 'marker9X'", "token"},
      {"token: str = 'Zq7marker9X'", "token"},
      {"token, other = 'Zq7marker9X', 1", "token"},
      {"import os\nk = os.getenv('X', 'Zq7marker9X')\napi_key = k", "api_key"},
      {"class C:\n  password = 'Zq7marker9X'", "C.password"},
      {"class C:\n  password = 'Zq7marker9X'", "getattr(C, 'password')"},
      {"d = {'a': {'secrets': ['Zq7marker9X']}}", "d['a']['secrets'][0]"},
      {"d = {'a': ['token', 'Zq7marker9X']}\nd = {d['a'][0]: d['a'][1]}", "d.get('token')"},
      {"def get_token():\n  return ''.join(['Zq7marker', '9X'])", "get_token()"},
      {"def f(token):\n  return 'a' + token", "f('Zq7marker9X')"},
      {"import argparse\np = argparse.ArgumentParser()\np.add_argument('--api-key', default='Zq7marker9X')",
       "p.parse_args([]).api_key"},
      {"token = None", "(token or 'Zq7marker9X')"},
      {"token = None", "(token if token else 'Zq7marker9X')"},
      {"token = b'Zq7marker9X'", "token.decode()"}};
  for (const auto& [front, read] : rows) {
    const std::string file = dir.file("a.py", front + start + read + ")\n");
    const std::string out = run_tool({"launches", file}).out;
    EXPECT_THAT(out, AllOf(HasSubstr("--served-model-name"), Not(HasSubstr("Zq7marker9X")))) << front << read;
  }
  // What a loop over a dictionary calls its names is none, and what has another name is shown.
  for (const std::string front : {"for key in ['Zq7marker9X']: pass\nname = key", "name = 'Zq7' + 'marker9X'"}) {
    const std::string file = dir.file("b.py", front + start + "name)\n");
    EXPECT_THAT(run_tool({"launches", file}).out, HasSubstr("--served-model-name Zq7marker9X")) << front;
  }
}

// What stands in for a variable that is not set is as secret as what it would be set to.
TEST(Conceal, TheDefaultOfASecretIsHiddenWhereItIsTaken) {
  const TemporaryDirectory dir;
  const std::string serve = "python -m sglang.launch_server --model-path m --served-model-name ";
  const std::string python =
      dir.file("a.py", "import os\nk = os.getenv('TOKEN') or 'Zq7marker9X'\nos.system(f'" + serve + "{k}')\n");
  const std::string nomad = dir.file(
      "a.nomad",
      "variable \"hf_token\" {\n  default = \"Zq7marker9X\"\n}\njob \"a\" {\n  group \"a\" {\n    task \"a\" {\n"
      "      driver = \"docker\"\n      config {\n        image = \"lmsysorg/sglang\"\n        command = \"python\"\n"
      "        args = [\"-m\", \"sglang.launch_server\", \"--model-path\", \"m\", \"--served-model-name\",\n"
      "          \"${var.hf_token}\"]\n      }\n    }\n  }\n}\n");
  for (const std::string& file : {python, nomad}) {
    EXPECT_THAT(run_tool({"launches", file}).out,
                AllOf(HasSubstr("--served-model-name '***'"), Not(HasSubstr("Zq7marker9X"))));
    EXPECT_THAT(run_tool({"check", "--no-kernel", file}).out, Not(HasSubstr("Zq7marker9X")));
  }
}

// Words that commands are asked with; what they are given may be a secret.
TEST(Conceal, WordsOfUsualCommandsAreShown) {
  const TemporaryDirectory dir;
  const std::string serve = "python -m sglang.launch_server --model-path m --port ";
  for (const std::string command :
       {"$(ip route get 1.1.1.1 | awk '{print $7; exit}')",
        "$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n1)",
        "$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | head -1)",
        "$(ip -4 addr show eth0 | grep -oP '(?<=inet\\s)\\d+(\\.\\d+){3}')", "$(hostname -I | tr -d '[:space:]')",
        "$(date +%Y-%m-%d)", "$(getent hosts \"$(hostname)\" | awk '{ print $1 }')"})
    EXPECT_THAT(run_tool({"launches", dir.file("a.sh", serve + command + "\n")}).out, HasSubstr("what " + command));
}

// Turns of a loop are told apart by what they give, where that is open.
TEST(Conceal, TurnsOfALoopAreToldByWhatTheArgumentsShow) {
  const TemporaryDirectory dir;
  const auto shown = [&](const std::string& loop) {
    return run_tool({"launches", dir.file("a.sh", loop + "; done\n")}).out;
  };
  const std::string serve = "python -m sglang.launch_server --model-path m ";
  EXPECT_THAT(shown("for arm in kbig8192; do " + serve + "--served-model-name $arm"), HasSubstr(", arm=kbig8192\n"));
  EXPECT_THAT(shown("for node in slurmd-0; do ssh $node " + serve), HasSubstr(", node=slurmd-0\n"));
  EXPECT_THAT(shown("for arm in kbig8192; do " + serve + "--api-key $arm"), Not(HasSubstr("kbig8192")));
  EXPECT_THAT(shown("for node_key in kbig8192; do ssh $node_key " + serve), Not(HasSubstr("kbig8192")));
}

// What is hidden can still be given, by the text that the message shows.
TEST(Conceal, AHiddenSubstitutionIsSetAsItIsShown) {
  const TemporaryDirectory dir;
  const std::string serve = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --port ";
  const std::string one = dir.file("one.sh", serve + "$(cat Zq7marker9X)\n");
  EXPECT_THAT(run_tool({"launches", one}).out, HasSubstr("--set '$(cat ***)=VALUE'"));
  for (const char* set : {"$(cat ***)=30001", "$(cat Zq7marker9X)=30001"}) {
    const ToolRun run = run_tool({"launches", "--set", set, one});
    EXPECT_THAT(run.out, HasSubstr("--port 30001")) << run.err;
    EXPECT_THAT(run.out, Not(HasSubstr("not known"))) << run.err;
  }
  // It stands for one of them: which one the other is, nobody said.
  const std::string two = dir.file("two.sh", serve + "$(cat Zq7marker9X) --nccl-port $(cat Zq8marker9X)\n");
  EXPECT_THAT(run_tool({"launches", "--set", "$(cat ***)=30001", two}).out, HasSubstr("not known"));
}

// SGLang's options typed where ours stand.
TEST(Conceal, NoComplaintHoldsASecret) {
  const std::vector<std::vector<std::string>> rows = {{"check", "--wandb-api=topsecret"},
                                                      {"check", "--api-key", "topsecret"},
                                                      {"explain", "--api-key", "topsecret"},
                                                      {"explain", "--hf-tok", "topsecret"},
                                                      {"completions", "--token", "topsecret"}};
  for (const auto& words : rows) {
    const ToolRun run = run_tool(words);
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.out + run.err, Not(HasSubstr("topsecret"))) << ::testing::PrintToString(words);
  }
}

// A batch tells launches by the thousand, and hides what each of them holds.
// A command in the place of a path, an option that is misspelt: what stands behind it is as secret as behind --.
TEST(Conceal, NoComplaintShowsWhatAMisspeltOptionHolds) {
  const std::string command = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --api-keyy m4rker";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"check", command},
                                             {"upgrade", "--from", "0.5.22", command},
                                             {"suggest", command},
                                             {"exec", "--command", command},
                                             {"check", "--command-file", "--api-keyy m4rker"}}) {
    const ToolRun run = run_tool(words);
    EXPECT_THAT(run.out + run.err, HasSubstr("--api-keyy ***")) << words.front() << run.out << run.err;
    EXPECT_THAT(run.out + run.err, Not(HasSubstr("m4rker"))) << words.front();
  }
}

TEST(Conceal, ThePasswordOfALogInIsHidden) {
  for (const auto& [text, shown] : std::vector<std::pair<std::string, std::string>>{
           {"docker login -u me -p m4rker reg.io && x -p 1", "docker login -u me -p *** reg.io && x -p 1"},
           {"podman login -p'm4|rker' reg", "podman login -p'***' reg"},
           {"helm registry login -p=m4rker", "helm registry login -p=***"},
           {"docker login \\\n  -p m4rker reg", "docker login \\\n  -p *** reg"},
           {"sshpass -p m4rker ssh -p 22 host", "sshpass -p *** ssh -p 22 host"},
           {"docker run -p 30000:30000 img /x/login", "docker run -p 30000:30000 img /x/login"},
           {"mkdir -p login", "mkdir -p login"}}) {
    std::string hidden = text;
    commands::hide_parts(hidden);
    EXPECT_EQ(hidden, shown);
  }
  const ToolRun run = run_tool({"exec", "--command", "docker login -p m4rker"});
  EXPECT_THAT(run.err, HasSubstr("docker login -p ***"));
  EXPECT_THAT(run.out + run.err, Not(HasSubstr("m4rker")));
}

TEST(Conceal, NoLineOfABatchHoldsASecret) {
  const std::string lines =
      R"({"id":"a","args":["--model-path","Qwen/Qwen3-0.6B","--api-key","topsecret","--served-model-name","topsecret"]}
{"id":"b","args":["--model-path","Qwen/Qwen3-0.6B","--api-keey","topsecret"]}
{"id":"c","args":["--model-path","Qwen/Qwen3-0.6B","--otlp-traces-endpoint","http://u:topsecret@h:1"]}
{"id":"d","args":["--model-path","https://h/x?token=topsecret"]}
{"id":"e","args":["--model-path","Qwen/Qwen3-0.6B","--tp","3","--served-model-name","topsecret"],"env":{"HF_TOKEN":"topsecret"}}
{"id":"token=topsecret","args":["--config","{config}"],"config":"model-path: Qwen/Qwen3-0.6B\napi-key: topsecret\n"}
)";
  for (const char* command : {"check", "resolve"}) {
    const ToolRun run = run_tool({command, "--batch", "-"}, lines);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 6);
    EXPECT_THAT(run.out + run.err, Not(HasSubstr("topsecret"))) << command;
    EXPECT_THAT(run.out, HasSubstr("***")) << command;
  }
}

// Whole command lines where another word is expected: quotes were meant for --command, or an option has no such place.
TEST(Conceal, NoCommandLineThatIsToldBackShowsASecret) {
  const TemporaryDirectory dir;
  const std::string secret = "Zq9TopSecret77x";
  for (const std::string& front :
       {"hf auth login " + secret, "curl -u user:" + secret + " h", "mysql -p" + secret,
        "SSHPASS=" + secret + " sshpass x", "vault login " + secret, "docker login --password-stdin <<< " + secret}) {
    const std::string command = front + " && python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --tp 3";
    std::vector<std::vector<std::string>> runs = {{"check", command},
                                                  {"launches", command},
                                                  {"upgrade", command},
                                                  {"suggest", command},
                                                  {command},
                                                  {"explain", command},
                                                  {"check", "--command-file", command},
                                                  {"check", "--policy", command},
                                                  {"check", "--sglang-version=" + command, "--", "--tp", "2"},
                                                  {"check", "--format", "json", "--device-profile", command}};
    for (const char* name : {"exec", "defects", "kernels", "manual", "releases", "rules"})
      runs.push_back({name, "--command", command});
    for (const std::vector<std::string>& words : runs) {
      const ToolRun run = run_tool(words);
      EXPECT_THAT(run.out + run.err, Not(HasSubstr(secret))) << words[0] << " " << front;
    }
  }
  EXPECT_THAT(run_tool({"check", "my serve.sh"}).err, HasSubstr("my serve.sh: there is no such file"));
}

TEST(Conceal, NoCommentBehindALaunchShowsASecret) {
  const TemporaryDirectory dir;
  const std::string launch =
      "python -m sglang.launch_server --model-path Qwen/Qwen3-0.6B --page-size 32 "
      "--attention-backend intel_xpu --tp 3";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a.sh", launch + " # token Zq9TopSecret77x\n"},
      {"b.sh", launch + " \\\n  --port 1  # Zq9TopSecret77x is the key\n"},
      {"a.yaml",
       "services:\n  a:\n    image: x\n    command: [bash, -c, \"" + launch + " # token Zq9TopSecret77x\"]\n"},
      {"a.py", "import os\nos.system('" + launch + " # token Zq9TopSecret77x')\n"}};
  for (const auto& [name, text] : rows) {
    const ToolRun run = run_tool({"check", "--no-kernel", dir.file(name, text)});
    EXPECT_THAT(run.out, HasSubstr("--tp 3")) << name;
    EXPECT_THAT(run.out + run.err, Not(HasSubstr("Zq9"))) << name;
  }
}

TEST(Conceal, NoShortLineShowsASecret) {
  for (const auto& [option, value] : {std::pair("--model-loader-extra-config", "{'token': 'Zq9TopSecret77x'}"),
                                      {"--nccl-init-addr", "token Zq9TopSecret77x"}}) {
    for (const char* command : {"memory", "pages", "check", "resolve"}) {
      const ToolRun run = run_tool({command, "--", "--model-path", "Qwen/Qwen3-0.6B", option, value});
      EXPECT_THAT(run.out + run.err, Not(HasSubstr("Zq9"))) << command << " " << option;
    }
  }
}

// A key that slipped to where a name stands is one there, too.
TEST(Conceal, AKeyInPlaceOfANameIsHidden) {
  const std::string key = "hf_abcdefghijklmnopqrstuvw";
  const std::string serve = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 3";
  const TemporaryDirectory dir;
  const std::vector<std::string> files = {
      dir.file("a.sh", key + "=1 " + serve + "\n"), dir.file("b.sh", serve + " --" + key + " 1\n"),
      dir.file("c.yaml", "services:\n  a:\n    environment: {" + key + ": 1}\n    command: " + serve + "\n")};
  for (const std::string& file : files) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"launches"}, {"check", "--no-kernel"}, {"upgrade", "--from", "0.5.13"}}) {
      for (const std::string format : {"text", "json"}) {
        std::vector<std::string> words = command;
        words.insert(words.end(), {"--format", format, file});
        const ToolRun run = run_tool(words);
        EXPECT_THAT(run.out + run.err, Not(HasSubstr(key))) << command[0] << " " << file;
      }
    }
  }
}

TEST(Conceal, NoFileThatIsLeftOutShowsASecret) {
  const TemporaryDirectory dir;
  for (const char* front : {"", "hf auth login Zq9TopSecret77x && "}) {
    const std::string file =
        dir.file("pod.yaml", fmt::format("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  containers:\n"
                                         "  - name: a\n    image: x\n    command: [\"{}python -m sglang.launch_server "
                                         "--model-path Qwen/Qwen3-0.6B --api-key Zq9TopSecret77x\"]\n",
                                         front));
    for (const char* command : {"check", "launches", "upgrade"}) {
      const ToolRun run = run_tool({command, file});
      EXPECT_THAT(run.out + run.err, HasSubstr("is one word")) << command;
      EXPECT_THAT(run.out + run.err, Not(HasSubstr("Zq9"))) << command;
    }
  }
}

// The caret stays under what it means, behind a secret of another length.
// A misspelt option's number of tokens is no secret, and its secret is one.
TEST(Conceal, ANumberOfTokensIsToldHoweverItsOptionIsSpelt) {
  const auto said = [](const char* option, const char* value) {
    return testing::run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-8B", option, value}).out;
  };
  EXPECT_THAT(said("--max_prefill_tokens", "8192"),
              ::testing::HasSubstr("| --model-path Qwen/Qwen3-8B --max_prefill_tokens 8192"));
  EXPECT_THAT(said("--max-prefil-token", "abcd8192"), ::testing::Not(::testing::HasSubstr("abcd8192")));
  EXPECT_THAT(said("--api-key", "123"), ::testing::Not(::testing::HasSubstr(" 123")));
}

TEST(Conceal, ExcerptsKeepTheirCarets) {
  const ToolRun run = run_tool({"check", "--no-kernel", "--", "--model-path", "Qwen/Qwen3-0.6B", "--api-key",
                                "a-very-long-secret", "--attention-backend", "intel_xpu", "--page-size", "32"});
  const auto at = run.out.find("--api-key ***");
  ASSERT_NE(at, std::string::npos) << run.out;
  const std::string line = run.out.substr(run.out.rfind('\n', at) + 1);
  const std::string carets = line.substr(line.find('\n') + 1);
  EXPECT_EQ(carets.find('^'), line.find("--page-size")) << run.out;
}

// A name that is hidden cannot be unset by its reader.
TEST(Conceal, AFixNamesTheVariableThatIsNotToBeSet) {
  const std::string variable = "SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION";
  const ToolRun run =
      run_tool({"check", "--no-kernel", "--env", variable + "=1", "--", "--model-path", "Qwen/Qwen3-8B"});
  EXPECT_THAT(run.out, HasSubstr("without " + variable));
  EXPECT_THAT(run.out, HasSubstr("- environment " + variable));
  EXPECT_THAT(run.out, Not(HasSubstr("***")));
}

// --fix writes what was there, not what was shown.
TEST(Conceal, AFixKeepsTheSecretInItsFile) {
  const TemporaryDirectory dir;
  const std::string file = dir.file(
      "run.sh", "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --device xpu --api-key topsecret --tp 3\n");
  const ToolRun run = run_tool({"check", "--no-kernel", "--fix", "--command-file", file});
  EXPECT_THAT(run.out, HasSubstr("Fix written"));
  EXPECT_THAT(run.out, Not(HasSubstr("topsecret")));
  EXPECT_THAT(read_file(file), HasSubstr("--api-key topsecret"));
}

// What is told to be given is told by the name that takes it, unless that holds a text which is hidden in front of it.
TEST(Conceal, ANameThatIsShownIsToldAsItIsGiven) {
  std::string shown = "{{ opts.page }} is filled in where this runs; give it with --set '{{ opts.page }}=VALUE'";
  const std::string before = shown;
  commands::hide_literals(shown);
  EXPECT_EQ(shown, before);
  std::string hidden = "$(pass hunter22x) is not known; give it with --set '$(pass hunter22x)=VALUE'";
  commands::hide_literals(hidden);
  EXPECT_THAT(hidden, Not(HasSubstr("hunter22x")));
  std::string quoted = "get(\"hunter22x\") is not known; give it with --set 'get(\"hunter22x\")=VALUE'";
  commands::hide_literals(quoted);
  EXPECT_THAT(quoted, Not(HasSubstr("hunter22x")));
}

// Backquotes of our own sentences, read from the sources that make them.
TEST(Conceal, WhatOurOwnSentencesQuoteIsShown) {
  std::size_t quoted = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(source_directory() + "/src/sources")) {
    if (file.path().extension() != ".cpp") continue;
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) {
      if (line.substr(std::min(line.find_first_not_of(' '), line.size())).starts_with("//")) continue;
      for (auto at = line.find('`'); at != std::string::npos; at = line.find('`', at + 1)) {
        const auto end = line.find('`', at + 1);
        if (end == std::string::npos) break;
        const std::string own = line.substr(at, end + 1 - at);
        at = end;
        if (own.find_first_of("{\"\\'") != std::string::npos) continue;  // with a part of the file's, or no sentence
        std::string shown = "give what " + own + " prints";
        commands::hide_literals(shown);
        EXPECT_THAT(shown, Not(HasSubstr("***"))) << file.path() << ": " << own;
        ++quoted;
      }
    }
  }
  EXPECT_GT(quoted, 20U);
}

}  // namespace
}  // namespace preflight::testing
