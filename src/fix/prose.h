// What the sentences of a finding name: options, fields, words and numbers. Findings are written for people; the names
// in them are exact, so the search for a fix can start from them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/args/option_index.h"

namespace preflight::fix {

// Options named in `text` ("--page-size", "--speculative-*" not), in order, without repeats.
std::vector<const args::Option*> options_in(Release release, std::string_view text);
// Fields named in `text` by their own name ("page_size"), as options.
std::vector<const args::Option*> fields_in(Release release, std::string_view text);
// "--attention-backend triton, or --page-size 64": each option with the value behind it, when one of its kind is there.
// One list per alternative (separated by "or", commas, semicolons).
using OptionValue = std::pair<const args::Option*, std::string>;
std::vector<std::vector<OptionValue>> advice_in(Release release, std::string_view text);
// Whole numbers and decimals in `text`, as written.
std::vector<std::string> numbers_in(std::string_view text);
// True when `word` stands in `text` as a word of its own.
bool has_word(std::string_view text, std::string_view word);

}  // namespace preflight::fix
