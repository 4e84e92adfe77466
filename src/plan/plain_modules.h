// Which modules a quantised checkpoint leaves as they are, by the names in its configuration.
//
// Sources: srt/layers/quantization/utils.py (is_layer_skipped, get_dynamic_override), awq/awq.py
// (is_layer_skipped_awq), compressed_tensors/utils.py (should_ignore_layer), 0.5.23. Patterns are Python's; those that
// hold more than letters, classes, repetitions and alternatives are not read. Tested by tests/plain_modules_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "preflight/facts.h"

namespace preflight::plan {

// Keys under which modules are named that stay as they are.
inline constexpr std::array kLeftPlain = {"modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules"};

// A pattern as Python's re.match takes it, in time that grows with its length and the text's alone.
class NamePattern {
 public:
  explicit NamePattern(std::string_view pattern);
  [[nodiscard]] bool understood() const { return understood_; }
  [[nodiscard]] bool matches(std::string_view name) const;
  [[nodiscard]] std::size_t size() const;  // letters of all its alternatives

 private:
  struct Item {
    std::string letters;  // that may stand here, or may not
    bool but = false;
    bool optional = false;
    bool repeated = false;
  };
  struct Way {
    std::vector<Item> items;
    bool to_the_end = false;
  };
  bool read(std::string_view pattern);
  static bool read_item(std::string_view& rest, Item& item);
  static bool read_alternatives(std::string_view& rest, std::vector<Way>& ways);
  static bool matches(const Way& way, std::string_view name);

  std::vector<Way> ways_;
  bool understood_ = false;
};

// Of one layer, the parts that stay plain.
struct PlainParts {
  bool queries = false;  // queries, keys and values
  bool output = false;
  bool gate_and_up = false;
  bool down = false;
  bool state = false;  // of linear attention
  bool shared = false;
  bool experts = false;
  [[nodiscard]] bool any() const { return queries || output || gate_and_up || down || state || shared || experts; }
};

class PlainModules {
 public:
  explicit PlainModules(const ModelFacts& model);
  // Some are named, and each name is understood.
  [[nodiscard]] bool any() const {
    return understood_ && (!names_.empty() || !patterns_.empty() || !beginnings_.empty());
  }
  [[nodiscard]] bool understood() const { return understood_; }
  [[nodiscard]] PlainParts in_layer(std::int64_t layer) const;
  [[nodiscard]] bool leaves_plain(const std::string& module) const { return !understood_ || leaves(module, module); }
  // What "dynamic" of a GPTQ checkpoint says of one module of SGLang's; null: nothing, or it is not understood.
  [[nodiscard]] const Value* own_settings(const std::string& module) const;
  [[nodiscard]] bool has_own_settings() const { return understood_ && !own_.empty(); }

 private:
  enum class Match { kPart, kPath, kEnding };  // anywhere in a name, along its dots, its last parts

  void read(const ModelFacts& model);
  void add(std::string_view name);
  // `fused`: one module of SGLang's; `part`: one of the checkpoint's that it is made of.
  [[nodiscard]] bool leaves(const std::string& fused, const std::string& part) const;
  [[nodiscard]] bool names(const std::string& module) const;
  [[nodiscard]] PlainParts parts_of(std::int64_t layer) const;

  // ModelOpt's names may hold stars, and fit a module or one part of its name.
  [[nodiscard]] bool fits_a_part(const NamePattern& pattern, const std::string& module) const;
  [[nodiscard]] bool begins_so(const std::string& module) const;

  Match match_ = Match::kPart;
  bool stars_ = false;
  std::string_view layers_ = "model.layers";
  std::unordered_set<std::string> names_;
  std::vector<NamePattern> patterns_;
  std::vector<std::string> beginnings_;             // of ModelOpt's names with one star, at their end: most are so
  std::vector<std::pair<NamePattern, Value>> own_;  // of modules that are quantised in another way
  bool understood_ = true;
  mutable std::vector<std::optional<PlainParts>> parts_;  // of the layers that were asked for
};

// Each sheet and each try of a search asks for those of the same model, whose list may have a name for every module.
// They keep what they answered, and are of one thread.
std::shared_ptr<const PlainModules> plain_modules_of(const ModelFacts& model);

}  // namespace preflight::plan
