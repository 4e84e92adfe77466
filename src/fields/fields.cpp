// Lookups over the generated field tables: names, defaults per release, supported releases.
// Tested by tests/args_parse_test.cpp.
#include "preflight/fields.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "src/fields/field_table.h"

namespace preflight {
namespace {

// The defaults of one release, one slot per field; parsed from the table once, at first use.
struct Defaults {
  Release release;
  std::vector<Value> values;
  std::vector<bool> exists;
  std::vector<Field> fields;  // those that exist

  explicit Defaults(const resolve::ReleaseTable& table)
      : release(table.release), values(kFieldCount), exists(kFieldCount, false) {
    for (const std::uint16_t row : table.defaults) {
      const auto& [field, json] = resolve::default_rows()[row];
      const auto f = static_cast<std::size_t>(field);
      exists[f] = true;
      if (json == "null") continue;
      auto parsed = Value::parse_json(json);
      assert(parsed && "the table holds valid JSON");
      values[f] = std::move(*parsed);
    }
    for (std::size_t f = 0; f < kFieldCount; ++f) {
      if (exists[f]) fields.push_back(static_cast<Field>(f));
    }
  }
};

const resolve::ReleaseTable& table_of(Release release) {
  for (const auto& table : resolve::release_tables()) {
    if (table.release == release) return table;
  }
  assert(false && "caller checks is_supported()");
  return resolve::release_tables().back();
}

const Defaults& defaults_of(Release release) {
  // Asked for every field of a launch, one launch after the other of the same release.
  thread_local const Defaults* last = nullptr;
  if (last != nullptr && last->release == release) return *last;
  static std::map<Release, Defaults> all;
  static std::mutex guard;
  const std::lock_guard lock(guard);
  last = &all.try_emplace(release, table_of(release)).first->second;
  return *last;
}

}  // namespace

std::string_view field_name(Field field) { return resolve::field_names()[static_cast<std::size_t>(field)]; }

std::optional<Field> find_field(std::string_view name) {
  const auto names = resolve::field_names();  // sorted by the generator
  const TableText* it = std::lower_bound(names.begin(), names.end(), name);
  if (it == names.end() || *it != name) return std::nullopt;
  return static_cast<Field>(it - names.begin());
}

bool field_exists(Field field, Release release) { return defaults_of(release).exists[static_cast<std::size_t>(field)]; }

const Value& field_default(Field field, Release release) {
  return defaults_of(release).values[static_cast<std::size_t>(field)];
}

std::span<const Field> fields_of(Release release) { return defaults_of(release).fields; }

std::span<const Value> field_defaults(Release release) { return defaults_of(release).values; }

std::span<const std::uint16_t> args::flag_table(Release release) { return table_of(release).flags; }

std::span<const args::OptionName> args::option_names(Release release) { return table_of(release).names; }

std::string Release::text() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch) +
         (post == 0 ? "" : ".post" + std::to_string(post));
}

std::optional<Release> parse_release(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  Release release;
  constexpr std::string_view kBefore[] = {"", ".", ".", ".post"};
  int* parts[] = {&release.major, &release.minor, &release.patch, &release.post};
  for (int i = 0; i < 4; ++i) {
    if (i == 3 && text.empty()) break;
    if (!text.starts_with(kBefore[i])) return std::nullopt;
    text.remove_prefix(kBefore[i].size());
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *parts[i]);
    if (error != std::errc{} || *parts[i] < (i == 3 ? 1 : 0)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  if (!text.empty()) return std::nullopt;
  return release;
}

std::span<const Release> supported_releases() {
  static const std::vector<Release> releases = [] {
    std::vector<Release> all;
    for (const auto& table : resolve::release_tables()) all.push_back(table.release);
    return all;
  }();
  return releases;
}

bool is_supported(Release release) {
  const auto all = supported_releases();
  return std::find(all.begin(), all.end(), release) != all.end();
}

}  // namespace preflight
