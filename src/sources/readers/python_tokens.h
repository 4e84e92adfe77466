// The words of a Python program: names, texts, numbers and signs, without comments. Nothing is run; what a text holds
// is decoded as Python decodes it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::sources {

struct PythonToken {
  enum class Kind : std::uint8_t {
    kName,
    kNumber,
    kText,        // "…", '…', """…""", with their prefixes
    kFormatText,  // f"…"
    kSign,        // one character, or += and its kin, ==, :=, **, ->
    kLine,        // the end of a logical line: none inside brackets
  };
  Kind kind = Kind::kSign;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t indent = 0;  // blanks in front of the logical line that it stands in
};

// Ends early at what is no Python text (an open quote), and behind so many; the tokens before it stand.
std::vector<PythonToken> python_tokens(std::string_view text);

// What a text token stands for, each byte with its place. Braces of an f-string stay as they are written.
ShellText python_text(std::string_view text, const PythonToken& token);

}  // namespace preflight::sources
