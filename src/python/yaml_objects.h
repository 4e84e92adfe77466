// YamlObjects: the Python objects that yaml.safe_load makes of a file, with what SGLang does to them next: str(),
// repr() and json.dumps().
//
// They are not Values: YAML also gives dates, bytes, sets, dictionaries with any hashable key, and containers that
// contain themselves. Tested by tests/args_config_test.cpp.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/python/yaml_document.h"

namespace preflight::python {

struct YamlObject {
  enum Kind : std::uint8_t { kNone, kBool, kInt, kFloat, kText, kBytes, kDate, kList, kTuple, kDict, kSet };
  Kind kind = kNone;
  bool boolean = false;
  double number = 0.0;
  std::string text = {};  // text; an int's digits; str() of a date; the bytes
  std::string repr = {};  // of a date
  std::vector<YamlObject*> items = {};
  std::vector<std::pair<YamlObject*, YamlObject*>> pairs = {};
  YamlMark mark = {};
};

class YamlObjects {
 public:
  // Throws YamlFault.
  explicit YamlObjects(const YamlDocument& document);

  // nullptr for a file without content.
  [[nodiscard]] const YamlObject* root() const { return root_; }

 private:
  friend class YamlBuilder;
  std::deque<YamlObject> objects_;
  const YamlObject* root_ = nullptr;
};

// Throw YamlFault where Python raises (json.dumps of a date, a text beyond memory).
std::string yaml_str(const YamlObject& object);
std::string yaml_json_dumps(const YamlObject& object);

}  // namespace preflight::python
