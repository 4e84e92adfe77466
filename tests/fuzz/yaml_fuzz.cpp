// The YAML reader on any bytes, as one document and as a stream; both read the first document alike.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "src/python/yaml_objects.h"
#include "src/python/yaml_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace python = preflight::python;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto stream = python::read_yaml(bytes);
  try {
    const python::YamlDocument document(python::yaml_text(bytes));
    // What is one valid document is a stream of at most one.
    if (!stream || stream->documents().size() > 1) std::abort();
    const python::YamlObjects objects(document);
    if (objects.root() != nullptr) static_cast<void>(python::yaml_str(*objects.root()));
  } catch (const python::YamlFault&) {  // NOLINT(bugprone-empty-catch): the outcome of most inputs
  }
  return 0;
}
