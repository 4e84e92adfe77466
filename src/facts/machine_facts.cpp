#include "preflight/machine_facts.h"

#include <string_view>

namespace preflight {

std::string_view name_of(Origin origin) {
  switch (origin) {
    case Origin::kAssumed:
      return "assumed";
    case Origin::kGiven:
      return "given";
    case Origin::kCommand:
      return "command";
    case Origin::kImage:
      return "image";
    case Origin::kFile:
      return "file";
    case Origin::kCache:
      return "cache";
    case Origin::kPackage:
      return "package";
    case Origin::kSystem:
      return "system";
  }
  return "assumed";
}

}  // namespace preflight
