// Words that stand for others: <model>, {model} and YOUR_MODEL of a page and its "...", *** of a log or a settings page
// that hides it.
#pragma once

#include <string>
#include <string_view>

namespace preflight::sources {

// Why the value of `word` (VALUE, or --option=VALUE) is not known; "" where it is one. `before` is the word in front.
std::string why_placeholder(std::string_view word, std::string_view before = {});

}  // namespace preflight::sources
