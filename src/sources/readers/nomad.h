// Jobs of Nomad.
#pragma once

#include "src/sources/readers/readers.h"

namespace preflight::sources {

Result<bool> read_nomad(const SourceText& source, LaunchFinder& finder);

}  // namespace preflight::sources
