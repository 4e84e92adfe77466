// Stand-in until the parser lands.
#include "src/args/parse.h"

namespace preflight::args {

ParseOutcome parse(Release /*release*/, const std::vector<std::string>& /*argv*/,
                   const std::vector<SourceRange>& /*positions*/) {
  return UsageError{"other", "", "the parser is not built yet", {}};
}

}  // namespace preflight::args
