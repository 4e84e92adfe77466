// ND007: a prefill and a decode server that cannot hand a cache over. Tested by tests/launches_test.cpp.
#include <fmt/format.h>

#include "src/commands/nodes/nodes.h"
#include "src/launch/launch_view.h"
#include "src/rules/from_record.h"

namespace preflight::commands {
namespace {

// Values that both servers compare at run time (srt/disaggregation/common/conn.py), and the protocol they speak.
constexpr Field kShared[] = {Field::page_size, Field::kv_cache_dtype, Field::disaggregation_transfer_backend};

std::string text_of(const Value& value) { return value.is_string() ? value.as_string() : value.repr(); }

// Equal, or stored alike: "auto" comes to the checkpoint's own type, and pages of a host pool are not the device's.
bool may_fit(Field field, const Launch& prefill, const Launch& decode) {
  if (text_of(prefill[field]) == text_of(decode[field])) return true;
  if (field == Field::kv_cache_dtype) {
    const bool known = prefill.model != nullptr && decode.model != nullptr;
    return known && LaunchView(prefill).kv_dtype() == LaunchView(decode).kv_dtype();
  }
  const bool host_pool =
      field_exists(Field::enable_hisparse, decode.release()) && decode[Field::enable_hisparse].truthy();
  return field == Field::page_size && host_pool;
}

}  // namespace

std::string disaggregation_mode(const Launch& launch) {
  if (!launch.accepted()) return {};
  const LaunchView view(launch);
  return view.only_prefills() ? "prefill" : view.only_decodes() ? "decode" : "";
}

std::vector<Diagnostic> pair_findings(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches) {
  const Rule* rule = find_rule("ND007");
  std::vector<Diagnostic> out;
  for (std::size_t p = 0; p < launches.size(); ++p) {
    if (disaggregation_mode(launches[p].launch) != "prefill") continue;
    for (std::size_t d = 0; d < launches.size(); ++d) {
      if (disaggregation_mode(launches[d].launch) != "decode") continue;
      const Launch& prefill = launches[p].launch;
      const Launch& decode = launches[d].launch;
      for (const Field field : kShared) {
        if (may_fit(field, prefill, decode)) continue;
        out.push_back(
            rules::from_record(*rule,
                               fmt::format("{} differs: {} on {}; {} on {}", field_name(field), text_of(prefill[field]),
                                           nodes[p].name, text_of(decode[field]), nodes[d].name),
                               field));
      }
    }
  }
  return out;
}

}  // namespace preflight::commands
