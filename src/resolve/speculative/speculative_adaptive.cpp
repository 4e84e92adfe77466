// Adaptive speculation: the number of draft steps follows acceptance, within candidates given per batch size.
// Tested by tests/resolve_speculative_test.cpp.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "src/resolve/core/queries.h"
#include "src/python/integer.h"
#include "src/resolve/speculative/speculative_detail.h"

namespace preflight::resolve::speculative {
namespace {

constexpr std::string_view kLoad = "_load_adaptive_config";

// Empty when adaptive speculation can run.
std::string why_not_adaptive(Resolution& r) {
  if (!r.one_of(Field::speculative_algorithm, {"EAGLE", "EAGLE3"})) return "it works with EAGLE and EAGLE3 only";
  const Value& topk = r[Field::speculative_eagle_topk];
  // Later releases choose the branch count themselves when none is given.
  const bool one_branch = topk == Value(1) || (r.since(v0_5(14)) && topk.is_none());
  if (!one_branch) return "it needs --speculative-eagle-topk 1";
  if (attn_dp_enabled(r)) return "data-parallel attention does not work with it";
  if (r.before(v0_5(12)) && !r.on(Field::disable_overlap_schedule)) return "it needs --disable-overlap-schedule";
  if (r.on(Field::enable_multi_layer_eagle)) return "multi-layer EAGLE does not work with it";
  if (r.on(Field::enable_two_batch_overlap)) return "two-batch overlap does not work with it";
  if (r.on(Field::enable_pdmux)) return "PD multiplexing does not work with it";
  return {};
}

[[noreturn]] void bad_config(Resolution& r, std::string_view exception, std::string message) {
  r.refuse(RF::kOther, exception, std::string(kLoad), "--speculative-adaptive-config: " + std::move(message));
}

// Upstream has them by batch size too; only which there are matters here.
std::vector<Value> built_in_steps(const Resolution& r) {
  if (r.before(v0_5(14))) return {1, 3, 7};
  if (r.before(v0_5(20))) return {0, 1, 3, 7};
  return {0, 1, 3, 5, 7};
}

Value configuration(Resolution& r) {
  const std::string path = r.text(Field::speculative_adaptive_config);
  const auto text = r.models().text_of(path);
  if (!text) {
    const bool directory = !path.empty() && r.models().has_file(path, ".");
    bad_config(r, directory ? "IsADirectoryError" : "FileNotFoundError", path + " cannot be read");
  }
  auto config = Value::parse_json(*text);
  if (!config) bad_config(r, "JSONDecodeError", config.error().message);
  if (!config->is_dict()) bad_config(r, "AttributeError", "the file must hold a JSON object");
  return std::move(*config);
}

bool is_batch_size(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void check_entry(Resolution& r, const std::string& key, const Value& entry) {
  if (!entry.is_dict()) bad_config(r, "AttributeError", "batch size " + key + " must be an object");
  const Value* steps = entry.find("candidate_steps");
  const std::int64_t least = r.before(v0_5(14)) ? 1 : 0;
  const auto good = [least](const Value& s) { return (s.is_int() || s.is_bool()) && s.as_int() >= least; };
  if (steps == nullptr || !steps->is_list() || steps->as_list().empty() ||
      !std::all_of(steps->as_list().begin(), steps->as_list().end(), good)) {
    bad_config(r, "ValueError", "batch size " + key + " needs a list of step counts");
  }
}

// "1" and "01" are one batch size: the later entry counts.
std::string without_leading_zeros(const std::string& digits) {
  const auto first = digits.find_first_not_of('0');
  return first == std::string::npos ? "0" : digits.substr(first);
}

}  // namespace

std::vector<Value> adaptive_candidate_steps(Resolution& r) {
  if (r.none(Field::speculative_adaptive_config)) return built_in_steps(r);
  Value entries = Value::dict({});
  const Value config = configuration(r);
  for (const auto& [key, entry] : config.as_dict()) {
    if (!is_batch_size(key)) continue;
    check_entry(r, key, entry);
    entries = std::move(entries).with(without_leading_zeros(key), entry);
  }
  if (entries.as_dict().empty()) bad_config(r, "ValueError", "no key is a batch size");
  std::vector<Value> steps;
  for (const auto& [key, entry] : entries.as_dict()) {
    for (const Value& s : entry.find("candidate_steps")->as_list()) {
      if (std::find(steps.begin(), steps.end(), s) == steps.end()) steps.push_back(s);
    }
  }
  std::sort(steps.begin(), steps.end(), [](const Value& a, const Value& b) { return a.as_int() < b.as_int(); });
  return steps;
}

namespace {

// The step counts nearest to the present one, then without what asks for them.
[[noreturn]] void refuse_steps(Resolution& r, std::string_view function, const std::vector<Value>& candidates) {
  const Value& steps = r[Field::speculative_num_steps];
  std::vector<Value> nearest = candidates;
  std::erase_if(nearest, [](const Value& s) { return s.as_int() < 1; });
  std::ranges::stable_sort(nearest, {}, [&](const Value& s) {
    return std::abs(static_cast<double>(s.as_int()) - (steps.is_int() ? static_cast<double>(steps.as_int()) : 0.0));
  });
  RemedyStep other{.kind = StepKind::kGive, .name = "--speculative-num-steps"};
  for (const Value& s : nearest) other.values.push_back(std::to_string(s.as_int()));
  constexpr std::size_t kFew = 2;
  if (other.values.size() > kFew) other.values.resize(kFew);
  std::vector<Remedy> remedies;
  if (!other.values.empty()) remedies.push_back({.steps = {std::move(other)}});
  remedies.push_back({.steps = {{StepKind::kDrop, "--speculative-adaptive"}}});
  r.refuse(RF::kOther, "ValueError", function,
           "--speculative-num-steps is not one of the adaptive configuration's steps", std::move(remedies));
}

}  // namespace

void maybe_disable_adaptive(Resolution& r) {
  constexpr std::string_view kHere = "_maybe_disable_adaptive";
  const std::string reason = why_not_adaptive(r);
  if (reason.empty()) return;
  r.warn(kHere, "adaptive speculation is off: " + reason);
  r.change(kHere, Field::speculative_adaptive, false);
}

void init_adaptive_parameters(Resolution& r) {
  constexpr std::string_view kHere = "_init_adaptive_speculative_params";
  const std::vector<Value> candidates = adaptive_candidate_steps(r);
  if (r.none(Field::speculative_eagle_topk)) r.declare(kHere, {{Field::speculative_eagle_topk, 1}});
  if (r.none(Field::speculative_num_steps)) {
    r.declare(kHere, {{Field::speculative_num_steps, candidates[candidates.size() / 2]}});
  }
  const Value& steps = r[Field::speculative_num_steps];
  if (std::find(candidates.begin(), candidates.end(), steps) == candidates.end()) {
    refuse_steps(r, kHere, candidates);
  }
  r.declare(kHere, {{Field::speculative_num_draft_tokens, integer::plus(steps, 1)}});
}

void validate_adaptive_steps(Resolution& r) {
  const std::vector<Value> candidates = adaptive_candidate_steps(r);
  if (std::find(candidates.begin(), candidates.end(), r[Field::speculative_num_steps]) != candidates.end()) return;
  refuse_steps(r, "validate_adaptive_initial_steps", candidates);
}

}  // namespace preflight::resolve::speculative
