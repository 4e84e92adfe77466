// What is a secret by its name, and where secrets stand inside a text, whatever it is called: addresses, headers,
// queries, JSON and "name=value". Tested by tests/conceal_test.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace preflight::commands {

inline constexpr std::string_view kHidden = "***";

// By the name of a field of SGLang's.
bool is_secret(std::string_view name);
// By a name that anybody may have chosen: of a variable, a member of a JSON object, a parameter of a query.
bool is_secret_variable(std::string_view name);
// Tokens are counted as often as they are kept secret; a flag is no secret either.
bool is_count(std::string_view name, std::string_view value);
// By that of an option that nobody knows: also when it is nearly one of those that hold secrets.
bool looks_secret(std::string_view name);
// It is that of an option without secrets, or nearly: what stands behind it may be shown. Names of a few letters are
// near to anything.
bool is_nearly_open_option(std::string_view name);

struct TextPart {
  std::size_t begin;
  std::size_t size;
};

// In their order, none over another.
std::vector<TextPart> secret_parts(std::string_view text);
// Of a value that somebody gave: a name and its secret behind a blank are a part, too, which in a sentence are words.
std::vector<TextPart> secret_parts_of_value(std::string_view value);
// *** in their places; the parts in their order, none over another.
void hide_parts(const std::vector<TextPart>& parts, std::string& text);
void hide_parts(std::string& text);
void hide_value_parts(std::string& value);

}  // namespace preflight::commands
