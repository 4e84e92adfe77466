// Tested by the tests of what tells such findings: adapters, doctor, nodes, certainty.
#include "src/rules/from_record.h"

#include <utility>

#include "src/rules/remedy_words.h"

namespace preflight::rules {

Diagnostic from_record(const Rule& rule, std::string message, std::optional<Field> field) {
  return {.rule = std::string(rule.id),
          .severity = rule.severity,
          .field = field,
          .message = std::move(message),
          .why = std::string(rule.why),
          .fix = std::string(rule.fix),
          .source = std::string(rule.source)};
}

Diagnostic from_record(const Rule& rule, std::string message, Field field, const Launch& launch,
                       std::vector<Remedy> remedies) {
  Diagnostic d = from_record(rule, std::move(message), field);
  d.remedies = remedies.empty() ? remedies_of(rule) : std::move(remedies);
  say_remedies(d, launch.release());
  if (const GivenOption* given = launch.args.last_given(field)) d.where = given->where;
  return d;
}

}  // namespace preflight::rules
