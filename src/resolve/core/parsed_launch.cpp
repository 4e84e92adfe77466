#include "src/resolve/core/parsed_launch.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "src/args/option_index.h"

namespace preflight::resolve {
namespace {

std::vector<Field> options_named(std::string_view message, Release release) {
  const args::OptionIndex& index = args::OptionIndex::of(release);
  std::vector<Field> fields;
  for (auto at = message.find("--"); at != std::string_view::npos; at = message.find("--", at + 2)) {
    const auto end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-", at);
    const args::Option* option = index.find(message.substr(at, end == std::string_view::npos ? end : end - at));
    const bool names_one = option != nullptr && option->row != nullptr;
    if (names_one && std::ranges::find(fields, option->field) == fields.end()) fields.push_back(option->field);
  }
  return fields;
}

}  // namespace

void refuse_launch(Launch& launch, Refusal refusal) {
  launch.outcome = Outcome::kRefused;
  refusal.names = options_named(refusal.message, launch.release());
  launch.refusal = std::move(refusal);
}

Launch refused_by_parser(Release release, ParseOutcome parsed) {
  Launch launch;
  launch.args.release = release;
  launch.stage = Stage::kParse;
  if (auto* usage = std::get_if<UsageError>(&parsed)) {
    launch.outcome = Outcome::kUsage;
    launch.log = std::move(usage->warnings);
    launch.usage = std::move(*usage);
    return launch;
  }
  auto* refused = std::get_if<ParseRefusal>(&parsed);
  assert(refused != nullptr && "the caller resolves ServerArgs");
  launch.log = std::move(refused->warnings);
  refuse_launch(launch, std::move(refused->refusal));
  return launch;
}

}  // namespace preflight::resolve
