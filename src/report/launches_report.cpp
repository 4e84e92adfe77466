// Tested by tests/launches_test.cpp.
#include "src/report/launches_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/base/shell_words.h"
#include "src/report/json_dump.h"
#include "src/report/printable.h"

namespace preflight::report {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

Json read_launch_json(const ReadLaunch& launch, std::span<const ReadNote> notes) {
  Json out = read_launch_json(launch);
  out["notes"] = Json::array();
  for (const ReadNote& note : notes) {
    out["notes"].push_back({{"rule", note.rule},
                            {"what", note.open.what},
                            {"where", fmt::format("{}:{}", note.open.line, note.open.column)}});
  }
  return out;
}

static std::string_view why_text(TakenWhy why) {
  if (why == TakenWhy::kPlace) return "where this file stands";
  if (why == TakenWhy::kMadeUp) return "made up where this runs";
  return why == TakenWhy::kMissing ? "no such file" : "not set";
}

Json read_launch_json(const ReadLaunch& launch) {
  Json env = Json::object();
  for (const auto& [name, value] : launch.env) env[name] = value;
  Json unknown = Json::array();
  for (const ReadLaunch::Open& open : launch.unknown) {
    unknown.push_back({{"what", open.what}, {"where", fmt::format("{}:{}", open.line, open.column)}});
  }
  Json defaults = Json::array();
  for (const ReadLaunch::Default& one : launch.defaults) {
    defaults.push_back({{"name", one.name},
                        {"value", one.value ? Json(*one.value) : Json(nullptr)},
                        {"where", fmt::format("{}:{}", one.line, one.column)},
                        {"why", why_text(one.why)}});
  }
  return {{"source", {{"file", launch.file}, {"line", launch.line}}},
          {"stands_in",
           launch.stands_in.empty() ? Json(nullptr) : Json({{"file", launch.stands_in}, {"line", launch.line_there}})},
          {"name", or_null(launch.name)},
          {"when", or_null(launch.when)},
          {"program", launch.vllm ? "vllm" : "sglang"},
          {"argv", launch.argv},
          {"env", std::move(env)},
          {"image", or_null(launch.image)},
          {"release", or_null(launch.release)},
          {"unknown", std::move(unknown)},
          {"defaults", std::move(defaults)}};
}

std::string defaults_text(const ReadLaunch& launch) {
  std::string out;
  for (const auto& [why, head] : {std::pair(TakenWhy::kNotSet, "not set, default taken: "),
                                  std::pair(TakenWhy::kPlace, "where this file stands, taken: "),
                                  std::pair(TakenWhy::kMissing, "no such file, left out: "),
                                  std::pair(TakenWhy::kMadeUp, "made up where this runs, taken: ")}) {
    std::string part;
    for (const ReadLaunch::Default& one : launch.defaults) {
      if (one.why != why) continue;
      const std::string value = one.value ? "=" + printable(shell_word(*one.value)) : " none";
      part += fmt::format("{}{}{} ({}:{})", part.empty() ? head : ", ", printable(one.name),
                          why == TakenWhy::kMissing ? "" : value, one.line, one.column);
    }
    if (!part.empty()) out += (out.empty() ? "" : "; ") + part;
  }
  return out;
}

std::string read_launch_text(const ReadLaunch& launch, std::span<const ReadNote> notes) {
  std::string out = fmt::format("{}:{}", printable(launch.file), launch.line);
  if (!launch.stands_in.empty()) out += fmt::format(", in {}:{}", printable(launch.stands_in), launch.line_there);
  if (!launch.name.empty()) out += fmt::format(" ({})", printable(launch.name));
  if (!launch.when.empty()) out += fmt::format(", {}", printable(launch.when));
  out += fmt::format("\n  {}{}\n", launch.vllm ? "vLLM: " : "", printable(shell_words(launch.argv)));
  for (const auto& [name, value] : launch.env)
    out += fmt::format("  {}={}\n", printable(name), printable(shell_word(value)));
  if (!launch.image.empty()) {
    out += fmt::format("  image {}{}\n", printable(launch.image),
                       launch.release.empty() ? "" : ", SGLang " + printable(launch.release));
  } else if (!launch.release.empty()) {
    out += fmt::format("  SGLang {}\n", printable(launch.release));
  }
  for (const ReadLaunch::Open& open : launch.unknown) {
    out += fmt::format("  not known: {}:{}: {}\n", open.line, open.column, printable(open.what));
  }
  if (!launch.defaults.empty()) out += "  " + defaults_text(launch) + "\n";
  for (const ReadNote& note : notes) {
    out += fmt::format("  {}: {}:{}: {}\n", note.rule, note.open.line, note.open.column, printable(note.open.what));
  }
  return out;
}

std::string launches_json(std::span<const ToldLaunch> launches) {
  Json all = Json::array();
  for (const ToldLaunch& told : launches) all.push_back(read_launch_json(told.launch, told.notes));
  return json_dump(all) + "\n";
}

}  // namespace preflight::report
