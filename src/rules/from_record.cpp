// Tested by the tests of what tells such findings: adapters, doctor, nodes, certainty.
#include "src/rules/from_record.h"

#include <utility>

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

Diagnostic from_record(const Rule& rule, std::string message, Field field, const Launch& launch) {
  Diagnostic d = from_record(rule, std::move(message), field);
  if (const GivenOption* given = launch.args.last_given(field)) d.where = given->where;
  return d;
}

}  // namespace preflight::rules
