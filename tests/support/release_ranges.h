// Releases as the tables of tests/data write them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/release.h"

namespace preflight::testing {

// The ends of a range. A release stands with its post-release: a range that begins there says so ("12.post1"), and so
// does one that ends before it ("12.0"). So a condition that moves by one release is another range, be it a
// post-release.
std::string range_begin(Release first);
std::string range_end(Release last);

// The supported releases in which something is there, "12-14,16-", with how often where it is more than once:
// "14,15-19x2"; "none" where there is none. What is there in the newest one has no end, so that the next one moves only
// lines that it changes.
std::string release_ranges(const std::function<long(Release)>& how_often);

// Whether ranges as release_ranges() writes them, none of them with a count, hold a release.
bool holds_in(std::string_view ranges, Release release);

// The releases that a test goes through: all, or those of the ranges in PREFLIGHT_ONLY_RELEASES, which tests/mutation
// sets where the others cannot differ.
const std::vector<Release>& releases_looked_at();

// Lines "RANGES | WHAT" as they read of those releases alone.
std::vector<std::string> of_those_looked_at(const std::vector<std::string>& lines);

// Names and their ranges, as the lines "NAME RANGES" of a table of tests/data.
using NamedRanges = std::map<std::string, std::string>;

// What stands in tests/data/FILE. A name of `now` that does not is a failure, and is added under UPDATE_GOLDEN, which
// changes no other; a file that the variable `write_to` names gets all of `now`.
NamedRanges written_ranges(const std::string& file, const NamedRanges& now, const char* write_to);

// The releases of a number, its post-release last: a row that holds in 0.5.12 holds in 0.5.12.post1.
std::vector<Release> releases_of(int patch);
inline Release newest_of(int patch) { return releases_of(patch).back(); }

}  // namespace preflight::testing
