// The --config file: SGLang turns it into command-line words and puts them before the others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/args/argument_parser.h"

namespace preflight::args {

// A --config file whose text is at hand: the file of that name is not looked at.
struct ConfigText {
  std::string path;
  std::string text;
};

// Replaces "--config PATH" in `line` by the file's options, which come first. Returns what SGLang raises instead,
// with the lines logged before it.
std::optional<ParseRefusal> merge_config_file(Release release, CommandLine& line, const ConfigText* at_hand = nullptr);

// What the --config file of these arguments comes to, in words; a long one counts as several. 0: they name none that
// can be read.
std::size_t config_length(Release release, const std::vector<std::string>& words);

}  // namespace preflight::args
