// Commands in YAML manifests: services of a compose file, containers of Kubernetes objects, wherever they stand.
//
// Each becomes a line of shell text whose characters know where they stand in the manifest, so that findings point into
// the file and a fix can be written back to it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/result.h"
#include "src/sources/shell.h"

namespace preflight::sources {

struct ManifestCommand {
  std::string text;                 // shell text
  std::vector<std::size_t> origin;  // per character: its offset in the manifest
  Variables env;                    // of the container or service
};

// True when `text` is written as a manifest rather than as a script.
bool is_manifest(std::string_view text);

// Every command that speaks of SGLang, in order. Errors: YAML that cannot be read.
Result<std::vector<ManifestCommand>> manifest_commands(const std::string& text);

}  // namespace preflight::sources
