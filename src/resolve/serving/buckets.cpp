// Upstream: validate_buckets_rule. Tested by tests/resolve_validation_test.cpp and parity.
#include "src/resolve/serving/buckets.h"

#include <set>

#include <fmt/format.h>

#include "src/python/text.h"

namespace preflight::resolve {

void validate_buckets_rule(Resolution& r, Field field, std::string_view option) {
  const Value& given = r[field];
  if (!given.truthy()) return;
  std::vector<std::string> words;
  for (const Value& word : given.as_list()) words.push_back(word.as_string());
  const auto require = [&](bool condition, std::string_view what) {
    r.require(RF::kOther, condition, "validate_buckets_rule", fmt::format("{} {}.", option, what));
  };
  const std::string& rule = words.front();
  require(rule == "tse" || rule == "default" || rule == "custom", "starts with tse, default or custom");
  if (rule == "tse") {
    require(words.size() == 4, "tse takes three numbers: middle, base and count");
    const auto middle = python::to_float(words[1]);
    const auto base = python::to_float(words[2]);
    const auto count = python::to_int(words[3]);
    require(middle && base && count, "tse takes two floats and an integer");
    require(*base > 1, "tse needs a base above 1");
    require(*count > 0, "tse needs a positive count");
    require(*middle > 0, "tse needs a positive middle");
  } else if (rule == "default") {
    require(words.size() == 1, "default takes no numbers");
  } else {
    require(words.size() >= 2, "custom takes at least one number");
    std::set<double> values;
    std::size_t not_numbers = 0;  // nan is unlike every other bucket, itself included
    bool negative = false;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto value = python::to_float(words[i]);
      require(value.has_value(), "custom takes numbers");
      if (*value != *value) {
        ++not_numbers;
      } else {
        values.insert(*value);
      }
      negative = negative || !(*value >= 0);
    }
    require(values.size() + not_numbers == words.size() - 1, "custom repeats a number");
    require(!negative, "custom takes numbers of 0 and above");
  }
}

}  // namespace preflight::resolve
