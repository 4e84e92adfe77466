// What the writers of completion scripts share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/report/program_words.h"

namespace preflight::report {

// The words with blanks between them.
std::string joined(const std::vector<std::string>& words, std::string_view between = " ");
// Every name of every option.
std::vector<std::string> all_names(const std::vector<OptionWords>& options);
// The first sentence without its full stop: there is one line.
std::string short_form(const std::string& what);

}  // namespace preflight::report
