// ServerArgs lookups.
#include "preflight/server_args.h"

namespace preflight {

const GivenOption* ServerArgs::last_given(Field f) const {
  for (auto it = given.rbegin(); it != given.rend(); ++it) {
    if (it->field == f) return &*it;
  }
  return nullptr;
}

}  // namespace preflight
