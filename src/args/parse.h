// Parsing launch arguments as one release's argparse does, including the --config YAML merge before it.
//
// Usable alone: needs a release's option table (flag_table.h) and Value, nothing of resolution.
#pragma once

#include <string>
#include <vector>

#include "preflight/server_args.h"
#include "src/args/config_file.h"

namespace preflight::args {

// `argv`: as after `python -m sglang.launch_server`. Reads the file of --config unless its text is at hand, nothing
// else. `positions`, when not empty, holds one SourceRange per argv entry (where it stood in a pasted command or file).
ParseOutcome parse(Release release, const std::vector<std::string>& argv,
                   const std::vector<SourceRange>& positions = {}, const ConfigText* config = nullptr);

}  // namespace preflight::args
