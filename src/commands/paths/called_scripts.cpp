// Tested by tests/launches_test.cpp.
#include "src/commands/paths/called_scripts.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "src/sources/mentions.h"
#include "src/sources/text_lines.h"

namespace preflight::commands {
namespace {

namespace fs = std::filesystem;

std::string whole_path(const std::string& name) {
  std::error_code error;
  return fs::absolute(name, error).lexically_normal().string();
}

// Launches that stand in another file than the one that leads to them, by each file on the way.
class LaunchesElsewhere {
 public:
  explicit LaunchesElsewhere(const std::vector<ReadFile>& files) {
    for (const ReadFile& file : files) {
      for (const sources::LaunchCommand& launch : file.launches) {
        for (std::size_t i = 0; i < launch.through.size(); ++i)
          leading_[launch.through[i].file].push_back({&file, launch.through, i, true});
      }
    }
  }

  // Whether another file leads to this launch of `file`, which is `own`, and the same way on from there.
  [[nodiscard]] bool lead_to(const sources::LaunchCommand& launch, const ReadFile& file, const std::string& own) const {
    const auto same = [](const sources::FileLines& a, const sources::FileLines& b) {
      return a.file == b.file && a.first == b.first;
    };
    return any_at(file, own, launch.where.line, [&](const One& one) {
      return one.is_told && one.at == launch.through.size() &&
             std::equal(launch.through.begin(), launch.through.end(), one.through.begin(), same);
    });
  }

  // Whether another file leads to what stands in this line of `file`, which is `own`.
  [[nodiscard]] bool lead_to_line(int line, const ReadFile& file, const std::string& own) const {
    return any_at(file, own, line, [](const One&) { return true; });
  }

  [[nodiscard]] bool lead_into(const std::string& own) const { return leading_.contains(own); }

  // A launch that is left out tells of no other.
  void leave_out(const sources::LaunchCommand& launch, const ReadFile& file) {
    const auto is_it = [&](const One& one) {
      return one.file == &file && one.through.size() == launch.through.size() &&
             std::ranges::equal(one.through, launch.through, {}, &place_key, &place_key);
    };
    for (const sources::FileLines& there : launch.through) {
      for (One& one : leading_[there.file]) one.is_told = one.is_told && !is_it(one);
    }
  }

 private:
  struct One {
    const ReadFile* file;
    std::vector<sources::FileLines> through;
    std::size_t at;
    bool is_told;
  };

  static std::pair<std::string_view, int> place_key(const sources::FileLines& lines) {
    return {lines.file, lines.first};
  }

  [[nodiscard]] bool any_at(const ReadFile& file, const std::string& own, int line, const auto& fits) const {
    const auto ones = leading_.find(own);
    return ones != leading_.end() && std::ranges::any_of(ones->second, [&](const One& one) {
             const sources::FileLines& there = one.through[one.at];
             return one.file != &file && there.first <= line && line <= there.last && fits(one);
           });
  }

  std::map<std::string, std::vector<One>> leading_;
};

// A file without launches names servers: what of it no other file runs is told, at the first of these.
void tell_what_nobody_runs(ReadFile& file, const std::string& own, const LaunchesElsewhere& elsewhere) {
  bool all_run = true;
  bool any_runs = false;
  for (const sources::NamedServer& one : sources::servers_named_in(*file.text)) {
    const sources::LineColumn at = file.text.at(one.at);
    const bool runs = elsewhere.lead_to_line(at.line, file, own);
    any_runs = any_runs || runs;
    if (runs || one.in_passing || !all_run) continue;
    all_run = false;
    file.why_none.replace(0, file.why_none.find(": "), fmt::format("{}:{}", at.line, at.column));
  }
  if (any_runs && all_run) file.none = sources::NoLaunch::kUnrelated;
}

}  // namespace

void leave_out_called(std::vector<ReadFile>& files) {
  LaunchesElsewhere elsewhere(files);
  for (ReadFile& file : files) {
    if (file.named) continue;
    const std::string own = whole_path(file.name);
    std::vector<sources::LaunchCommand> kept;
    for (sources::LaunchCommand& launch : file.launches) {
      if (elsewhere.lead_to(launch, file, own))
        elsewhere.leave_out(launch, file);
      else
        kept.push_back(std::move(launch));
    }
    if (kept.empty() && !file.launches.empty()) file.none = sources::NoLaunch::kUnrelated;
    if (file.launches.empty() && file.none == sources::NoLaunch::kNamed && elsewhere.lead_into(own))
      tell_what_nobody_runs(file, own, elsewhere);
    file.launches = std::move(kept);
  }
}

std::set<std::string> scripts_named_in(std::string_view text) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  };
  std::set<std::string> out;
  for (const std::string_view end : {".sh", ".py"}) {
    for (auto at = text.find(end); at != text.npos; at = text.find(end, at + 1)) {
      const std::size_t behind = at + end.size();
      std::size_t from = at;
      while (from > 0 && in_name(text[from - 1])) --from;
      if (from < at && (behind == text.size() || !in_name(text[behind]))) out.emplace(text.substr(from, behind - from));
    }
  }
  return out;
}

}  // namespace preflight::commands
