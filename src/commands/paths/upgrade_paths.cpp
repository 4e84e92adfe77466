// `upgrade PATH…`: what every launch of many files does otherwise in another release. Tested by
// tests/launches_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "src/commands/compare.h"
#include "src/commands/options.h"
#include "src/commands/paths/paths.h"
#include "src/report/print.h"

namespace preflight::commands {
namespace {

// The release a launch runs on now: as given, or as its image says.
Result<Release> release_now(std::optional<Release> from, const std::string& of_image) {
  if (from) return *from;
  const auto release = parse_release(of_image);
  if (release && is_supported(*release)) return *release;
  if (of_image.empty()) return failure("no image says which release it runs on now: give --from");
  return failure(fmt::format("its image has SGLang {}, which is not supported: give --from", of_image));
}

report::ComparedLaunch compared(const LaunchInput& input, const ReadLaunch& read, std::optional<Release> from,
                                Release to, const CheckOptions& rules, Tries& tries) {
  report::ComparedLaunch out{.title = title_of(read), .read = read, .before = {}, .after = {}};
  if (!read.unknown.empty()) {
    const ReadLaunch::Open& open = read.unknown.front();
    out.why = fmt::format("{}:{}: {}", open.line, open.column, open.what);
    return out;
  }
  const auto now = release_now(from, read.release);
  auto difference = now ? release_difference(input, *now, to, rules, tries)
                        : Result<report::Difference>(tl::make_unexpected(now.error()));
  if (!difference) {
    out.why = difference.error().text();
    return out;
  }
  out.before = name_beside_image(*now, read.release);
  out.after = "SGLang " + to.text();
  out.difference = std::move(*difference);
  return out;
}

bool counts(const report::ComparedLaunch& launch) { return !launch.difference || launch.difference->fails(); }

}  // namespace

int upgrade_paths(const LaunchInput& input, const std::vector<std::string>& paths, std::optional<Release> from,
                  Release to, const CheckOptions& rules, const OutputOptions& output) {
  auto files = read_files(paths, input.variables);
  if (!files) return refuse(files.error());
  if (const auto error = keep_chosen(input.launch_choice, *files)) return refuse(*error);
  report::FleetComparison fleet;
  Tries tries;
  tries.most = tries.left = tries_of(*files, 2);  // resolved in both releases
  for (const ReadFile& file : *files) {
    if (file.launches.empty() && !file.tells_nothing())
      fleet.skipped.push_back({file.name, file.why_none, file.named, file.unread(), file.passed_over});
    const TriesOfFile share(tries, file.launches.size(), 2);
    for (std::size_t i = 0; i < file.launches.size(); ++i) {
      const ReadLaunch read = shown_launch(file.launches[i], file.name, from.value_or(to));
      fleet.launches.push_back(compared(input_of(input, file, i), read, from, to, rules, tries));
    }
  }
  tell_untried(tries);
  report::print(output.format == Format::kJson ? report::fleet_json(fleet) : report::fleet_text(fleet, output.colour));
  const bool unread = std::ranges::any_of(fleet.skipped, &report::SkippedFile::counts);
  return unread || std::ranges::any_of(fleet.launches, counts) ? kFindings : kOk;
}

}  // namespace preflight::commands
