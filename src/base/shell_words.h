// An argument as a shell needs it, so that what is printed can be pasted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "preflight/facts.h"

namespace preflight {

std::string single_quoted(std::string_view text);
std::string shell_word(std::string_view argument);
std::string shell_words(const std::vector<std::string>& arguments);  // joined by blanks
// "NAME=VALUE python -m sglang.launch_server …"
std::string launch_command(const std::vector<std::string>& arguments, const Environment& env);

}  // namespace preflight
