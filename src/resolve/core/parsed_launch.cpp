#include "src/resolve/core/parsed_launch.h"

#include <cassert>
#include <utility>

namespace preflight::resolve {

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
  launch.outcome = Outcome::kRefused;
  launch.log = std::move(refused->warnings);
  launch.refusal = std::move(refused->refusal);
  return launch;
}

}  // namespace preflight::resolve
