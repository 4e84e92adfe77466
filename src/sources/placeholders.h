// Words that stand for a value: <model> and YOUR_MODEL of a page, *** of a log or a settings page that hides it.
#pragma once

#include <string>
#include <string_view>

namespace preflight::sources {

// Why the value of `word` (VALUE, or --option=VALUE) is not known; "" where it is one. `before` is the word in front.
std::string why_placeholder(std::string_view word, std::string_view before = {});

}  // namespace preflight::sources
