// The words that docker compose makes of a `command` or an `entrypoint` that is one text.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::sources {

struct ComposeWords {
  std::vector<ShellWord> words = {};
  std::string_view refused = {};               // why compose takes no file with this text; empty: it does
  std::size_t refused_at = 0;                  // index in the text
  std::optional<std::size_t> dropped = {};     // index in the text that it reads no farther than
  std::vector<std::size_t> stray_breaks = {};  // backslashes in the text that take the blank or line break behind them
};

// compose-go hands the text to mattn/go-shellwords, which is no shell: a backslash takes the character behind it, a
// line break too; what stands behind an unquoted ; & | < > is dropped.
ComposeWords compose_words(const ShellText& text);

}  // namespace preflight::sources
