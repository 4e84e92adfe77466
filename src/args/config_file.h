// The --config file: SGLang turns it into command-line words and puts them before the others.
#pragma once

#include <optional>

#include "src/args/argument_parser.h"

namespace preflight::args {

// Replaces "--config PATH" in `line` by the file's options, which come first. Returns what SGLang raises instead,
// with the lines logged before it.
std::optional<ParseRefusal> merge_config_file(Release release, CommandLine& line);

}  // namespace preflight::args
