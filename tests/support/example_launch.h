// A launch from words: parsed and resolved as the tool does, with models from tests/data/models.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "preflight/launch.h"
#include "preflight/rule.h"
#include "src/args/parse.h"
#include "src/facts/device_profiles.h"
#include "src/facts/model_files.h"
#include "src/resolve/core/pipeline.h"
#include "tests/support/paths.h"

namespace preflight::testing {

inline std::string models_root() { return testing::source_directory() + "/tests/data/models"; }

// "a 'b c' d" -> a, b c, d
inline std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool open = false;
  for (const char c : text) {
    if (c == '\'') {
      quoted = !quoted;
      open = true;
    } else if (c == ' ' && !quoted) {
      if (open) words.push_back(std::exchange(word, {}));
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (open) words.push_back(word);
  return words;
}

inline DeviceFacts device_of(std::string_view profile) {
  // "b60x4": four of them
  const auto times = profile.rfind('x');
  const bool counted = times != std::string_view::npos && times > 2 &&
                       profile.find_first_not_of("0123456789", times + 1) == std::string_view::npos;
  DeviceFacts device = facts::find_device_profile(counted ? profile.substr(0, times) : profile).value();
  if (counted) device.count = std::stoi(std::string(profile.substr(times + 1)));
  return device;
}

inline Launch launch_of(Release release, std::string_view model, const std::vector<std::string>& words,
                        const DeviceFacts& device, const Environment& env = {}) {
  static facts::ModelFiles models;
  std::vector<std::string> argv = {"--model-path", models_root() + "/" + std::string(model)};
  for (std::string word : words) {
    if (const auto at = word.find("{models}"); at != std::string::npos) word.replace(at, 8, models_root());
    argv.push_back(std::move(word));
  }
  ParseOutcome parsed = args::parse(release, argv);
  if (auto* given = std::get_if<ServerArgs>(&parsed)) return resolve::resolve({std::move(*given), models, device, env});
  Launch launch;
  launch.args.release = release;
  launch.stage = Stage::kParse;
  launch.device = device;
  if (auto* usage = std::get_if<UsageError>(&parsed)) {
    launch.outcome = Outcome::kUsage;
    launch.usage = std::move(*usage);
  } else {
    launch.outcome = Outcome::kRefused;
    launch.refusal = std::get<ParseRefusal>(std::move(parsed)).refusal;
  }
  return launch;
}

inline Launch launch_of(Release release, const RuleExample& example) {
  Environment env;
  for (const std::string& entry : split_words(example.env)) {
    const auto at = entry.find('=');
    env[entry.substr(0, at)] = at == std::string::npos ? "" : entry.substr(at + 1);
  }
  return launch_of(release, example.model, split_words(example.args), device_of(example.device), env);
}

// "RF002 ValueError in f: message", for failure messages of tests.
inline std::string outcome_text(const Launch& launch) {
  if (launch.accepted()) return "accepted";
  if (launch.usage) return "usage: " + launch.usage->message;
  return launch.refusal->exception + " in " + launch.refusal->function + ": " + launch.refusal->message;
}

}  // namespace preflight::testing
