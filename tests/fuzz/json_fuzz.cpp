// Any bytes as JSON: read or refused, never a crash; what was read is written as JSON that reads again.
#include <cstdint>
#include <cstdlib>

#include "preflight/value.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = preflight::Value::parse_json({reinterpret_cast<const char*>(data), size});
  if (value && !preflight::Value::parse_json(value->json())) std::abort();
  return 0;
}
