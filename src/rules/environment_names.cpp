#include "src/rules/environment_names.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/edit_distance.h"
#include "src/base/embedded.h"

namespace preflight::rules {
namespace {

using Spans = std::vector<std::pair<int, int>>;  // releases 0.5.N, first to last

struct Reading {
  ValueReading how;
  Spans spans;
};

struct Row {
  Spans spans;  // of the releases that mention it
  std::vector<Reading> readings;
  int warned_since = 0;  // 0: it is read
  std::string_view instead;
};

// A name with its line of the table, which is read once somebody asks: a launch has few of the names.
struct Line {
  std::string_view name;
  std::string_view rest;
};

int number(std::string_view text) {
  int n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

std::string_view next_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

Spans spans_of(std::string_view text) {
  Spans spans;
  while (!text.empty()) {
    const std::string_view span = text.substr(0, text.find(','));
    text.remove_prefix(std::min(span.size() + 1, text.size()));
    const auto dash = span.find('-');
    const std::string_view last = span.substr(dash + 1);
    spans.emplace_back(number(span.substr(0, dash)), last.empty() ? supported_releases().back().patch : number(last));
  }
  return spans;
}

constexpr std::pair<std::string_view, ValueKind> kKinds[] = {
    {"bool", ValueKind::kBool},    {"one", ValueKind::kOne},     {"both", ValueKind::kBoth},
    {"int", ValueKind::kInt},      {"float", ValueKind::kFloat}, {"number", ValueKind::kNumber},
    {"raises", ValueKind::kRaises}};

// "bool:False@11-23"
Reading reading_of(std::string_view word) {
  const auto colon = word.find(':');
  const auto at = word.find('@');
  const auto* kind = std::ranges::find(kKinds, word.substr(0, colon), &std::pair<std::string_view, ValueKind>::first);
  return {{kind->second, word.substr(colon + 1, at - colon - 1)}, spans_of(word.substr(at + 1))};
}

Row row_of(std::string_view line) {
  Row row;
  row.spans = spans_of(next_word(line));
  while (line.starts_with('=')) row.readings.push_back(reading_of(next_word(line).substr(1)));
  if (line.starts_with('>')) {
    row.warned_since = number(next_word(line).substr(1));
    row.instead = line;
  }
  return row;
}

// By name, as the file is.
const std::vector<Line>& table() {
  static const std::vector<Line> all = [] {
    std::vector<Line> out;
    std::string_view text = embedded::environment().front().text;
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (line.empty() || line.starts_with('#')) continue;
      const std::string_view name = next_word(line);
      out.push_back({name, line});
    }
    return out;
  }();
  return all;
}

bool within(const Spans& spans, int patch) {
  return std::ranges::any_of(spans, [&](const auto& s) { return patch >= s.first && patch <= s.second; });
}

bool mentions(const Row& row, int patch) { return within(row.spans, patch); }

std::optional<Row> row_named(std::string_view name) {
  const auto at = std::ranges::lower_bound(table(), name, {}, &Line::name);
  return at == table().end() || at->name != name ? std::nullopt : std::optional(row_of(at->rest));
}

// The code adds the rest to names that end in "_".
std::optional<Row> find_row(std::string_view name) {
  if (auto row = row_named(name)) return row;
  constexpr std::size_t kShortest = std::string_view("SGLANG_X_").size();
  for (std::size_t end = name.rfind('_'); end != std::string_view::npos && end + 1 >= kShortest;
       end = name.rfind('_', end - 1)) {
    if (auto row = row_named(name.substr(0, end + 1))) return row;
  }
  return std::nullopt;
}

// What took its place without SGLang saying so, read in the releases' code.
constexpr std::pair<std::string_view, std::string_view> kInstead[] = {
    {"SGLANG_USE_SGL_XPU", "--moe-runner-backend (any but triton takes the kernel package's experts)"}};

}  // namespace

EnvironmentName environment_name(Release release, std::string_view name) {
  const std::optional<Row> row = find_row(name);
  if (!row && name.starts_with("SGL_")) {  // the old beginning is rewritten by every release
    return environment_name(release, "SGLANG_" + std::string(name.substr(4)));
  }
  if (!row) return {};
  std::string_view instead = row->instead;
  for (const auto& [old, other] : kInstead) {
    if (old == name) instead = other;
  }
  const int patch = release.patch;
  if (mentions(*row, patch)) {
    const bool warned = row->warned_since != 0 && patch >= row->warned_since;
    return {warned ? NameState::kWarned : NameState::kRead, v0_5(row->warned_since), instead};
  }
  if (patch < row->spans.front().first) return {NameState::kLater, v0_5(row->spans.front().first), instead};
  int last = 0;
  for (const auto& span : row->spans) last = span.second < patch ? span.second : last;
  return {NameState::kGone, v0_5(last + 1), instead};
}

std::optional<ValueReading> value_reading(Release release, std::string_view name) {
  const std::optional<Row> row = row_named(name);
  if (!row) {
    if (!name.starts_with("SGL_")) return std::nullopt;
    return value_reading(release, "SGLANG_" + std::string(name.substr(4)));
  }
  for (const Reading& r : row->readings) {
    if (within(r.spans, release.patch)) return r.how;
  }
  return std::nullopt;
}

std::string closest_environment_name(Release release, std::string_view name) {
  const std::size_t limit = std::max<std::size_t>(2, name.size() / 6);
  std::size_t nearest = limit + 1;
  std::string_view best;
  for (const auto& [known, rest] : table()) {
    if (known.ends_with('_')) continue;
    const std::size_t distance = edit_distance(name, known, nearest - 1);
    if (distance >= nearest || !mentions(row_of(rest), release.patch)) continue;
    nearest = distance;
    best = known;
  }
  return std::string(best);
}

}  // namespace preflight::rules
