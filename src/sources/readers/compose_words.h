// The words that docker compose makes of a `command` or an `entrypoint` that is one text, and the texts that it makes
// of values that are none.
#pragma once

#include <optional>
#include <string>
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

// The first `${…` of a text that compose does not take for a variable, for which it refuses the file; empty: none.
// Behind the name it takes `:-`, `-`, `:+`, `+`, `:?` and `?`, and none of the shell's other operators.
std::string_view refused_variable(std::string_view text);

// What compose's YAML (yaml.v3) takes for a number or a truth value, printed as Go prints it: "010" -> "8", "0x10" ->
// "16", "1_000" -> "1000", "0.90" -> "0.9", "True" -> "true"; nullopt: a text.
std::optional<std::string> go_scalar(std::string_view plain);

// Whether the scalar that begins there has neither quotes nor a tag or an anchor of its own, nor is a block.
bool is_plain_scalar(std::string_view text, std::size_t begin);

}  // namespace preflight::sources
