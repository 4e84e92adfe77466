// What may be shown of text whose meaning nobody knows: values of options that no release has, literals of scripts and
// programs. Where a name does not say whether a text is secret, only what is known to be open is shown.
// Tested by tests/conceal_test.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/intake/secret_text.h"

namespace preflight::commands {

// A number, a flag, a choice of some option, a path or a model.
bool is_open_value(std::string_view value);
// Also words of which it is known what they are: what options, their choices, models and programs are called by, names
// of files and of options, and what is too short to be kept secret. Any other word may be a password, however plain it
// is.
bool is_open_word(std::string_view word);
// No command, function or variable is called so: "xK7pQ2mZ".
bool is_odd_name(std::string_view name);

// Code that a sentence quotes, "$(cat NAME)" or get("NAME"): its literals become *** unless they are open.
void hide_literals(std::string& sentence);
// All words of a value, "k=VALUE" or an expression of a workflow.
void hide_closed_words(std::string& value);
// Functions, variables and programs are called so.
bool is_plain_name(std::string_view text);
// The last word of a name says what its value is: "LOG_LEVEL", "model".
bool says_meaning(std::string_view name);

// A word that somebody typed, as it is told back: with blanks in it, it may be a whole command line.
std::string shown_word(std::string word);
// `sentence` with words of `typed` shown so, as far as it has them.
void hide_typed(std::string& sentence, const std::vector<std::string>& typed);

// In the lines of a script around a launch's arguments: literals in quotes and substitutions, and all words of the
// commands in front of it and behind it. `arguments` are in their order.
std::vector<TextPart> closed_literals_around(std::string_view text, const std::vector<TextPart>& arguments);

}  // namespace preflight::commands
