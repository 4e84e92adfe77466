// An argument list as options with their values, so that one of them can be replaced, dropped or added while every
// other word stays as it was typed. Reads lists that the parser refuses, too. Tested by tests/fix_search_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/release.h"
#include "src/args/option_index.h"

namespace preflight::fix {

struct Group {
  std::vector<std::string> words;        // as typed: the option and its values, or one word nobody takes
  const args::Option* option = nullptr;  // null: not an option of this release
  std::string name;                      // the option as typed, without "=value"; "" for a stray word
  int origin = -1;                       // which group of the given list it was; -1 = added
  SourceRange where = {};                // of the first word

  [[nodiscard]] bool is_option() const { return !name.empty(); }
  [[nodiscard]] std::vector<std::string> values() const;
};

// `where` holds one place per word.
std::vector<Group> group_arguments(Release release, const std::vector<std::string>& words,
                                   const std::vector<SourceRange>& where);
std::vector<std::string> words_of(const std::vector<Group>& groups);

// The group's words under `name` with other values, in the form it was typed (`--a=1` stays one word).
std::vector<std::string> with_values(const Group& group, const std::string& name,
                                     const std::vector<std::string>& values);

// The option of a field by its usual name; null when the release has none that stores there.
const args::Option* option_of(Release release, Field field);
// The long spelling, else the first.
std::string_view usual_name(const args::Option& option);

// Counts the groups of DP attention since 0.5.22; before, --dp-size does, beside --enable-dp-attention.
inline constexpr std::string_view kAttentionGroups = "--attn-dp-size";

// What this release calls an option of another release: its successor or what it took the place of, and the option of
// the same field. Nothing where it has none of these; nullopt: no release has such an option.
std::optional<std::vector<std::string_view>> names_here(Release release, std::string_view typed);

}  // namespace preflight::fix
