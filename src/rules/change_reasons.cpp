#include "src/rules/change_reasons.h"

#include <algorithm>
#include <array>

#include "src/base/ascii_case.h"
#include "src/resolve/core/handlers.h"

namespace preflight::rules {
namespace {

std::string_view bare(std::string_view step) {
  step = step.substr(0, step.find('.'));
  while (step.starts_with('_')) step.remove_prefix(1);
  return step;
}

// In 0.5.16 to 0.5.18 the check of the LoRA options has these two assign for it, and nothing else has.
std::string_view on_behalf_of(std::string_view step) {
  return step == "override" || step == "apply_fields" ? "check_lora_server_args" : step;
}

bool is_step(const StepNames& names, std::string_view step, Release release) {
  if (names.name == step || (!names.earlier.empty() && names.earlier == step)) return true;
  const resolve::Handler* handler = resolve::find_handler(names.name);
  return handler != nullptr && release < handler->part_until && bare(handler->part_of) == step;
}

std::string_view reason_among(std::span<const ChangeReason> rows, std::string_view step, const FieldChange& c) {
  const auto at = std::ranges::find_if(rows, [&](const ChangeReason& row) {
    return row.field == c.field && is_step(row.step, step, c.launch.release()) &&
           (row.holds == nullptr || row.holds(c));
  });
  return at == rows.end() ? std::string_view() : at->text;
}

// ---- the same meaning ----

struct Normalisation {
  const Value& given;
  const Value& ends;
  const LaunchView& launch;
};

bool is_text(const Value& v, std::string_view text) { return v.is_string() && v.as_string() == text; }

bool same_but_case(const Normalisation& n) {
  if (!n.given.is_string() || !n.ends.is_string()) return false;
  const std::string& a = n.given.as_string();
  const std::string& b = n.ends.as_string();
  return std::ranges::equal(a, b, [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

// Every setting that was given stands in what it ends with.
bool completed(const Value& given, const Value& ends) {
  if (!given.is_dict() || !ends.is_dict()) return given == ends;
  return std::ranges::all_of(given.as_dict(), [&](const auto& entry) {
    const Value* kept = ends.find(entry.first);
    return kept != nullptr && completed(entry.second, *kept);
  });
}

// The step rewrites each entry and drops none.
bool normal_form(const Normalisation& n) { return n.given.is_list() && n.ends.is_list() && n.ends.truthy(); }

struct SameMeaning {
  std::string_view why;
  Field field;  // Field::model_path where any field may be meant
  bool (*holds)(const Normalisation& n);
};

constexpr Field kAny = Field::model_path;

// What CH001 does not tell, since the launch runs as it was asked to.
constexpr std::array kSame = {
    SameMeaning{"equal values", kAny, [](const Normalisation& n) { return n.given == n.ends; }},
    SameMeaning{"names are read in any case", kAny, same_but_case},
    SameMeaning{"auto asks SGLang to choose", kAny, [](const Normalisation& n) { return is_text(n.given, "auto"); }},
    SameMeaning{"NEXTN is another name of EAGLE", Field::speculative_algorithm,
                [](const Normalisation& n) {
                  return same_but_case({Value("NEXTN"), n.given, n.launch}) && is_text(n.ends, "EAGLE");
                }},
    SameMeaning{"the first card is where a launch starts anyway", Field::device,
                [](const Normalisation& n) { return is_text(n.given, "xpu:0") && is_text(n.ends, "xpu"); }},
    SameMeaning{"unquant asks for no quantization, which is None", Field::quantization,
                [](const Normalisation& n) { return is_text(n.given, "unquant") && n.ends.is_none(); }},
    SameMeaning{"unquant asks for no quantization, which is None", Field::speculative_draft_model_quantization,
                [](const Normalisation& n) { return is_text(n.given, "unquant") && n.ends.is_none(); }},
    SameMeaning{"compressed is the old name of dsv4", kAny,
                [](const Normalisation& n) { return is_text(n.given, "compressed") && is_text(n.ends, "dsv4"); }},
    SameMeaning{
        "tokenspeed_mla is the old name of cutedsl_mla", kAny,
        [](const Normalisation& n) { return is_text(n.given, "tokenspeed_mla") && is_text(n.ends, "cutedsl_mla"); }},
    SameMeaning{"--attn-dp-size says it now", Field::enable_dp_attention,
                [](const Normalisation& n) { return n.given.truthy() && n.launch.attention_dp() > 1; }},
    SameMeaning{"an old name of the parser", Field::tool_call_parser,
                [](const Normalisation& n) {
                  return (is_text(n.given, "qwen25") && is_text(n.ends, "qwen")) ||
                         (is_text(n.given, "glm45") && is_text(n.ends, "glm"));
                }},
    SameMeaning{"--flashinfer-allreduce-fusion-backend says it now", Field::enable_flashinfer_allreduce_fusion,
                [](const Normalisation& n) {
                  return !n.ends.truthy() && n.launch.on(Field::flashinfer_allreduce_fusion_backend);
                }},
    SameMeaning{"mooncake_tcp is mooncake with MC_FORCE_TCP set", Field::disaggregation_transfer_backend,
                [](const Normalisation& n) { return is_text(n.given, "mooncake_tcp") && is_text(n.ends, "mooncake"); }},
    SameMeaning{"--moe-a2a-backend megamoe says it now", Field::moe_runner_backend,
                [](const Normalisation& n) {
                  return is_text(n.given, "megamoe") && n.launch.is(Field::moe_a2a_backend, "megamoe");
                }},
    SameMeaning{"settings not given are filled in", Field::cuda_graph_config,
                [](const Normalisation& n) { return n.given.is_dict() && completed(n.given, n.ends); }},
    SameMeaning{"names are sorted and brought to one form", Field::allowed_media_domains, normal_form},
    SameMeaning{"adapters are read into records", Field::lora_paths, normal_form},
};

}  // namespace

std::string_view reason_of(std::string_view step, const FieldChange& change) {
  const std::string_view name = on_behalf_of(bare(step));
  for (const auto rows : {attention_reasons(), cache_reasons(), model_reasons(), parallel_reasons(),
                          speculative_reasons(), serving_reasons()}) {
    if (const std::string_view text = reason_among(rows, name, change); !text.empty()) return text;
  }
  return {};
}

std::vector<ReasonedChange> changes_of(const LaunchView& launch, Field field) {
  std::vector<ReasonedChange> out;
  const Value* before = &launch.launch().args[field];
  for (const Change& change : launch.launch().chain) {
    for (const auto& [changed, value] : change.fields) {
      if (changed != field || value.identical(*before)) continue;
      out.push_back({change.step, &value, reason_of(change.step, {launch, field, *before, value})});
      before = &value;
    }
  }
  const Value& last = launch[field];
  const bool differs = !last.identical(*before) && last.repr() != before->repr();  // nan is no other value than nan
  if (!launch.launch().resolved.empty() && differs)
    out.push_back({kDerived, &last, reason_of(kDerived, {launch, field, *before, last})});
  return out;
}

std::string reasons_text(const std::vector<ReasonedChange>& changes) {
  std::string out;
  for (const ReasonedChange& change : changes) {
    if (change.reason.empty()) return {};
    if (!out.empty()) out += " Then: ";
    out += change.reason;
  }
  return out;
}

std::string_view same_meaning(const LaunchView& launch, Field field) {
  const Normalisation n{launch.launch().args[field], launch[field], launch};
  const auto at = std::ranges::find_if(
      kSame, [&](const SameMeaning& same) { return (same.field == kAny || same.field == field) && same.holds(n); });
  return at == kSame.end() ? std::string_view() : at->why;
}

}  // namespace preflight::rules
