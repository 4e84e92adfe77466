// Tested by tests/check_cli_test.cpp.
#include "src/report/json_dump.h"
#include "src/report/report_json.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "src/report/facts_text.h"
#include "src/report/finding_json.h"
#include "src/rules/certainty.h"
#include "src/report/fixes_text.h"
#include "src/base/shell_words.h"
#include "src/report/launches_report.h"
#include "src/rules/change_reasons.h"
#include "src/report/peer_text.h"
#include "src/report/report_text.h"

namespace preflight::report {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Value& v) {
  if (v.is_none()) return nullptr;
  if (v.is_bool()) return v.as_bool();
  if (v.is_long_int()) return v.repr();  // this library's numbers end at 64 bits
  if (v.is_int()) return v.as_int();
  if (v.is_float()) {
    const double d = v.as_number();
    return d == d && d < 1e308 && d > -1e308 ? Json(d) : Json(v.repr());
  }
  if (v.is_string()) return v.as_string();
  if (v.is_list()) {
    Json out = Json::array();
    for (const auto& i : v.as_list()) out.push_back(json_of(i));
    return out;
  }
  Json out = Json::object();
  for (const auto& [k, i] : v.as_dict()) out[k] = json_of(i);
  return out;
}

std::string_view outcome_word(const Launch& launch) {
  if (launch.outcome == Outcome::kUsage) return "usage";
  return launch.accepted() ? "ok" : "error";
}

// Every field that was given or changed: value, where it came from, and each change in order.
Json resolved_json(const Launch& launch) {
  Json out = Json::object();
  if (launch.resolved.empty()) return out;
  const LaunchView view(launch);
  for (const Field f : fields_of(launch.release())) {
    const bool given = launch.args.last_given(f) != nullptr;
    if (!given && launch[f].identical(launch.args[f])) continue;
    Json chain = Json::array();
    const Value* before = &launch.args[f];
    for (const auto& change : launch.chain) {
      for (const auto& [field, value] : change.fields) {
        if (field != f) continue;
        chain.push_back({{"step", change.step}, {"value", json_of(value)}});
        const std::string_view reason = rules::reason_of(change.step, {view, f, *before, value});
        if (!reason.empty() && !value.identical(*before)) chain.back()["reason"] = reason;
        before = &value;
      }
    }
    out[std::string(field_name(f))] = {{"value", json_of(launch[f])},
                                       {"initial", json_of(launch.args[f])},
                                       {"given", given},
                                       {"changes", std::move(chain)}};
  }
  return out;
}

Json plan_json(const Plan& plan) {
  const PlanSizes& s = plan.sizes;
  Json kernels = Json::array();
  for (const auto& k : plan.kernels) {
    Json lines = Json::array();
    for (const auto& c : k.cases) lines.push_back(print_case(c));
    kernels.push_back({{"kernel", k.kernel}, {"why", k.why}, {"cases", std::move(lines)}});
  }
  Json skipped = Json::array();
  for (const auto& skip : plan.skipped) skipped.push_back({{"kernel", skip.kernel}, {"reason", skip.reason}});
  return {{"prefill_backend", plan.prefill_backend},
          {"decode_backend", plan.decode_backend},
          {"sizes",
           {{"attention_tp", s.attention_tp},
            {"num_q_heads", s.num_q_heads},
            {"num_kv_heads", s.num_kv_heads},
            {"page_size", s.page_size},
            {"max_seqlen_tokens", s.max_seqlen},
            {"page_table_columns", s.page_table_columns},
            {"padded_columns", s.padded_columns},
            {"requests", s.batch},
            {"workspace_bytes", s.workspace_bytes ? Json(*s.workspace_bytes) : Json(nullptr)},
            {"kv_splits", s.kv_splits ? Json(*s.kv_splits) : Json(nullptr)},
            {"kv_bytes_per_token_and_layer", s.kv_bytes_per_token}}},
          {"kernels", std::move(kernels)},
          {"skipped", std::move(skipped)}};
}

Json error_json(const DeviceError& error) {
  return {{"kind", name_of(error.kind)}, {"message", error.message}, {"log", error.log}};
}

Json case_json(const CaseReport& c, bool theirs) {
  Json outputs = Json::array();
  for (const auto& o : c.verdict.outputs) {
    outputs.push_back({{"name", o.name},
                       {"verdict", name_of(o.word)},
                       {"rel_rms", o.rel_rms},
                       {"cosine", o.cosine},
                       {"max_abs", o.max_abs}});
  }
  Json out = {{"case", c.case_line},
              {"verdict", name_of(c.verdict.word)},
              {"reason", c.verdict.reason},
              {"outputs", std::move(outputs)}};
  if (c.fault) out["error"] = error_json(*c.fault);
  if (theirs) {
    out["function"] = c.function;
    out["imported"] = c.imported;
    out["notes"] = c.notes;
  }
  return out;
}

Json cases_json(const KernelReport& k) {
  Json cases = Json::array();
  for (const auto& c : k.cases) cases.push_back(case_json(c, k.peer.has_value()));
  return cases;
}

Json skips_json(const KernelReport& k) {
  Json skipped = Json::array();
  for (const auto& skip : k.skipped) skipped.push_back({{"kernel", skip.kernel}, {"reason", skip.reason}});
  return skipped;
}

Json whose_json(const KernelPeer& peer) {
  Json versions = Json::object();
  for (const auto& [name, version] : peer.versions) versions[name] = version;
  return {{"from", peer.from},
          {"interpreter", peer.interpreter},
          {"device", {{"kind", peer.device}, {"name", peer.device_name}, {"interpreted", peer.interpreted}}},
          {"versions", std::move(versions)}};
}

Json device_json(const DeviceInfo& device) {
  Json out = {
      {"name", device.name}, {"platform", device.platform}, {"driver", device.driver}, {"version", device.version}};
  if (const std::string engine = matrix_engine(device); !engine.empty()) out["matrix_engine"] = engine;
  return out;
}

// Kernels that are not ours.
Json peer_json(const Report& report) {
  if (!report.peer) return {{"verdict", "skipped"}, {"reason", report.peer_not_run}};
  const KernelReport& k = *report.peer;
  Json out = {{"verdict", name_of(k.worst())}, {"reason", k.peer_gone}};
  if (k.peer) {
    out.update(whose_json(*k.peer));
    out["shows"] = scope_of(report);
  }
  out["cases"] = cases_json(k);
  out["skipped"] = skips_json(k);
  return out;
}

Json kernel_json(const Report& report) {
  if (!report.kernel) {
    Json out = {{"verdict", "skipped"}, {"reason", report.kernel_not_run}};
    if (report.absence) out["error"] = error_json(*report.absence);
    return out;
  }
  const KernelReport& k = *report.kernel;
  Json out = {{"verdict", name_of(k.worst())}};
  if (k.device) out["device"] = device_json(*k.device);
  if (k.error) out["error"] = error_json(*k.error);
  out["cases"] = cases_json(k);
  out["skipped"] = skips_json(k);
  return out;
}

std::string_view change_word(ArgumentChange::Kind kind) {
  switch (kind) {
    case ArgumentChange::Kind::kReplace:
      return "replace";
    case ArgumentChange::Kind::kDrop:
      return "drop";
    case ArgumentChange::Kind::kAdd:
      return "add";
    case ArgumentChange::Kind::kUnset:
      return "unset";
    case ArgumentChange::Kind::kAssign:
      return "set";
  }
  return "";
}

// Variables that the fix sets.
Json variables_set(const CheckedFix& fix) {
  Json out = Json::object();
  for (const ArgumentChange& c : fix.changes) {
    if (c.kind != ArgumentChange::Kind::kAssign) continue;
    const std::string& text = c.after.front();
    const std::size_t is = text.find('=');
    out[text.substr(0, is)] = text.substr(is + 1);
  }
  return out;
}

Json fixes_json(const FixSearch& search) {
  Json out = Json::array();
  for (const CheckedFix& fix : search.fixes) {
    Json changes = Json::array();
    for (const ArgumentChange& c : fix.changes) {
      Json change = {{"kind", change_word(c.kind)}, {"before", c.before}, {"after", c.after}};
      if (!c.where.file.empty()) change["where"] = {{"file", c.where.file}, {"line", c.where.line}};
      changes.push_back(std::move(change));
    }
    out.push_back({{"changes", std::move(changes)},
                   {"diff", diff_lines(fix)},
                   {"arguments", fix.arguments},
                   {"command", launch_command(fix.arguments, fix.env)}});
    if (Json set = variables_set(fix); !set.empty()) out.back()["env"] = std::move(set);
    if (!fix.stored_as.empty()) out.back()["stored_as"] = fix.stored_as;
    if (!fix.leaves.empty()) out.back()["leaves"] = fix.leaves;
    if (!fix.stays.empty()) out.back()["stays"] = fix.stays;
  }
  return out;
}

// What every one of them leaves.
void add_what_fixes_leave(const FixSearch& search, Json& out) {
  const std::vector<std::string> rules = left_by_all(search);
  if (!rules.empty()) out["fixes_leave"] = rules;
}

// Fixes cure the whole launch, so every error has the same ones.
Json findings_of(const Report& report) {
  Json out = Json::array();
  const bool assumed = report.machine && report.machine->memory_origin == Origin::kAssumed;
  const bool counted = report.memory && report.memory->counted();
  for (const auto& f : report.findings) {
    Json finding = finding_json(f);
    if (!assumed && f.counted.value_or(counted) && rules::counts_weights(f.rule))
      finding["certainty"] = rules::certainty_word(Certainty::kCertain);
    if (f.severity == Severity::kError && !report.fixes.fixes.empty()) {
      Json indices = Json::array();
      for (std::size_t i = 0; i < report.fixes.fixes.size(); ++i) indices.push_back(i);
      finding["fixed_by"] = std::move(indices);
    }
    out.push_back(std::move(finding));
  }
  return out;
}

Json injections_json(const Report& report) {
  Json out = Json::array();
  for (const Injection& i : report.injections) {
    out.push_back({{"defect", i.defect},
                   {"what", i.what},
                   {"outcome", report.is_unplanted(i) ? kNotPlanted : name_of(i.outcome)},
                   {"cases", i.cases},
                   {"case", i.case_line},
                   {"reason", i.reason}});
  }
  return out;
}

Json outcome_object(const Launch& launch) {
  Json out = {{"word", outcome_word(launch)}};
  if (launch.usage) {
    out["kind"] = launch.usage->kind;
    out["flag"] = launch.usage->flag;
    out["message"] = launch.usage->message;
  }
  if (launch.refusal) {
    out["exception"] = launch.refusal->exception;
    out["function"] = launch.refusal->function;
    out["message"] = launch.refusal->message;
  }
  return out;
}

// A key that `memory --format json` has, too, has the same number there.
Json memory_json(const Report& report) {
  if (!report.memory) return nullptr;
  const MemorySummary& m = *report.memory;
  return {{"device_gib", m.device},
          {"loaded_gib", m.weights},
          {"loaded_exact", m.exact},
          {"mem_fraction_static", m.fraction},
          {"least_fraction", m.least},
          {"cache_gib", m.cache},
          {"state_gib", m.states},
          {"tokens", m.tokens},
          {"context_tokens", m.context},
          {"requests_at_once", m.requests},
          {"requests_at_full_context", m.full_requests},
          {"weights_from_files", m.from_files},
          {"least_request_tokens", m.wanted}};
}

}  // namespace

Json report_object(const Report& report, int exit_status) {
  Json not_checked = Json::array();
  for (const auto& n : report.coverage.not_checked) not_checked.push_back({{"rule", n.rule->id}, {"reason", n.reason}});
  Json unmodelled = Json::array();
  for (const Field f : report.launch.unmodelled) unmodelled.push_back(field_name(f));
  Json log = Json::array();
  for (const auto& line : report.launch.log)
    log.push_back({{"level", line.level}, {"function", line.function}, {"message", line.message}});
  Json out = {{"format_version", kJsonFormatVersion},
              {"tool", {{"name", "xpu-preflight"}, {"version", PREFLIGHT_VERSION}}},
              {"sglang_version", report.launch.release().text()},
              {"facts", facts_json(report.machine)},
              {"verdict", report.verdict_word()},
              {"doubt", report.doubt()},
              {"exit_status", exit_status},
              {"launch", report.read ? read_launch_json(*report.read) : Json(nullptr)},
              {"outcome", outcome_object(report.launch)},
              {"findings", findings_of(report)},
              {"ignored", ignored_json(report.ignored)},
              {"fixes", fixes_json(report.fixes)},
              {"fix_written", report.fix_written},
              {"resolved", resolved_json(report.launch)},
              {"sglang_log", std::move(log)},
              {"unmodelled", std::move(unmodelled)},
              {"plan", report.plan ? plan_json(*report.plan) : Json(nullptr)},
              {"memory", memory_json(report)},
              {"kernel", kernel_json(report)},
              {"injections", injections_json(report)},
              {"coverage",
               {{"applied", report.coverage.applied},
                {"not_applicable", report.coverage.not_applicable},
                {"not_checked", std::move(not_checked)}}}};
  add_what_fixes_leave(report.fixes, out);
  if (report.peer_asked) out["peer_kernel"] = peer_json(report);
  return out;
}

Json ignores_json(const CheckRun& run) {
  Json notes = Json::array();
  for (const IgnoreNote& note : run.ignore_notes) notes.push_back({{"place", note.place}, {"text", note.text}});
  return {{"policy_file", run.policy_file.empty() ? Json(nullptr) : Json(run.policy_file)},
          {"ignored", run.ignored()},
          {"notes", std::move(notes)}};
}

std::string report_json(const Report& report, int exit_status, const CheckRun* run) {
  Json out = report_object(report, exit_status);
  if (run != nullptr) out["ignores"] = ignores_json(*run);
  return json_dump(out, 2) + "\n";
}

std::string error_report(std::string_view message, int exit_status) {
  const Json out = {{"format_version", kJsonFormatVersion},
                    {"tool", {{"name", "xpu-preflight"}, {"version", PREFLIGHT_VERSION}}},
                    {"exit_status", exit_status},
                    {"error", {{"message", message}}}};
  return json_dump(out) + "\n";
}

std::string batch_line(const Report& report, const Value& id) {
  Json out = {{"id", json_of(id)}, {"verdict", report.verdict_word()}, {"outcome", outcome_word(report.launch)}};
  out["facts"] = facts_json(report.machine);
  out["findings"] = findings_of(report);
  if (!report.ignored.empty()) out["ignored"] = ignored_json(report.ignored);
  if (report.fixes.attempts > 0) {
    out["fixes"] = fixes_json(report.fixes);
    out["attempts"] = report.fixes.attempts;
    add_what_fixes_leave(report.fixes, out);
    if (report.fixes.fixes.empty()) {
      out["no_fix"] = report.fixes.none_because;
      out["remaining"] = findings_json(report.fixes.remaining);
    }
  } else if (!report.fixes.none_because.empty()) {
    out["no_fix"] = report.fixes.none_because;
  }
  if (report.kernel) {
    out["kernel"] = name_of(report.kernel->worst());
  } else if (report.absence || report.kernel_required) {
    out["kernel"] = name_of(VerdictWord::kSkipped);
    out["kernel_not_run"] = report.absence ? report.absence->message : report.kernel_not_run;
  }
  if (report.peer_asked) {
    out["peer_kernel"] = name_of(report.peer ? report.peer->worst() : VerdictWord::kSkipped);
    if (!report.peer) out["peer_kernel_not_run"] = report.peer_not_run;
    if (report.peer && !report.peer->peer_gone.empty()) out["peer_kernel_not_run"] = report.peer->peer_gone;
  }
  if (const DeviceError* fault = report.device_fault()) out["kernel_error"] = error_json(*fault);
  return json_dump(out, -1) + "\n";
}

std::string conformance_line(const CaseReport& c, std::string_view from) {
  Json line = {{"from", from}};
  line.update(case_json(c, from != "opencl"));
  return json_dump(line, -1) + "\n";
}

std::string conformance_end(const KernelReport& k, std::string_view from) {
  Json line = {{"from", from}, {"verdict", name_of(k.worst())}, {"cases", k.cases.size()}};
  for (const auto word :
       {VerdictWord::kPass, VerdictWord::kFail, VerdictWord::kMistrusted, VerdictWord::kSkipped, VerdictWord::kError}) {
    line[name_of(word)] = std::ranges::count_if(k.cases, [&](const CaseReport& c) { return c.verdict.word == word; });
  }
  if (k.peer) line.update(whose_json(*k.peer));
  if (k.device) line["device"] = device_json(*k.device);
  if (k.error) line["error"] = error_json(*k.error);
  if (!k.peer_gone.empty()) line["reason"] = k.peer_gone;
  return json_dump(line, -1) + "\n";
}

}  // namespace preflight::report
