// The rule table: the families in the order they are reported, and look-ups.
#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <vector>

#include "preflight/rule.h"
#include "src/rules/families.h"
#include "src/rules/input_notes.h"
#include "src/rules/transformers_backend.h"

namespace preflight {
namespace {

std::vector<const Rule*> join_families() {
  using namespace rules;
  std::vector<const Rule*> all;
  for (const auto family :
       {value_rules(),       model_class_rules(),   placement_rules(),      backend_rules(),     paging_rules(),
        mla_rules(),         kernel_limit_rules(),  uneven_group_rules(),   local_rules(),       speculative_rules(),
        graph_rules(),       communication_rules(), quantization_rules(),   moe_rules(),         hybrid_rules(),
        vision_rules(),      serving_rules(),       kernel_pairing_rules(), known_issue_rules(), environment_rules(),
        argument_rules(),    refusal_rules(),       change_rules(),         input_rules(),       whole_prompt_rules(),
        deepseek_v4_rules(), stand_in_rules(),      rotary_rules()}) {
    for (const Rule& rule : family) all.push_back(&rule);
  }
  return all;
}

}  // namespace

RuleList all_rules() {
  static const std::vector<const Rule*> all = join_families();
  return RuleList(all);
}

namespace {

// References that a rule adds to some of its findings only.
struct AddedReference {
  std::string_view ref;
  std::string_view rule;
};
constexpr AddedReference kAdded[] = {{"DET-2", "BK001"}};

}  // namespace

const Rule* find_rule(std::string_view id_or_ref) {
  const RuleList rules = all_rules();
  static const auto by_id = [&] {
    std::unordered_map<std::string_view, const Rule*> found;
    for (const Rule& r : rules) found.emplace(r.id, &r);
    return found;
  }();
  if (const auto rule = by_id.find(id_or_ref); rule != by_id.end()) return rule->second;
  if (id_or_ref.empty()) return nullptr;
  for (const Rule& r : rules) {
    if (std::ranges::find(r.refs, id_or_ref) != r.refs.end()) return &r;
  }
  for (const AddedReference& added : kAdded) {
    if (added.ref == id_or_ref) return find_rule(added.rule);
  }
  return nullptr;
}

std::optional<std::chrono::year_month_day> parse_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t length) -> std::optional<unsigned> {
    unsigned n = 0;
    const char* end = text.data() + at + length;
    const auto [stop, error] = std::from_chars(text.data() + at, end, n);
    return error == std::errc() && stop == end ? std::optional(n) : std::nullopt;
  };
  const auto y = number(0, 4);
  const auto m = number(5, 2);
  const auto d = number(8, 2);
  if (!y || !m || !d) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(*y)}, std::chrono::month{*m},
                                         std::chrono::day{*d}};
  return date.ok() ? std::optional(date) : std::nullopt;
}

}  // namespace preflight
