// RFC 4122 version 5, by libuuid. Tested by tests/resolve_validation_test.cpp.
#include "src/resolve/serving/uuid5.h"

#include <uuid/uuid.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace preflight::resolve {

std::string url_uuid5_hex(std::string_view name) {
  uuid_t id;
  uuid_generate_sha1(id, *uuid_get_template("url"), name.data(), name.size());
  return fmt::format("{:02x}", fmt::join(id, ""));
}

}  // namespace preflight::resolve
