#include "src/kernels/inject.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/kernels/defects.h"
#include "src/kernels/tensor_parallel.h"

namespace preflight {

std::string_view name_of(InjectionOutcome outcome) {
  switch (outcome) {
    case InjectionOutcome::kCaught:
      return "caught";
    case InjectionOutcome::kMissed:
      return "missed";
    case InjectionOutcome::kNotRun:
      break;
  }
  return "not run";
}

namespace defects {
namespace {

using Needs = bool (*)(const KernelCase&);

bool has_pages(const KernelCase& c) { return c.page_size > 1; }
bool merges(const KernelCase& c) {
  return c.kernel == "merge_state";
}  // whose two sides are partial results as they come
bool has_splits(const KernelCase& c) { return merges(c) || c.kv_splits > 1; }
bool has_rows_to_swap(const KernelCase& c) {
  return (merges(c) ? c.tokens : c.num_requests()) > 1 && c.num_q_heads > 1;
}
// On one rank: a rank with one KV head cannot take another.
bool has_groups(const KernelCase& c) {
  const KernelCase rank = tensor_parallel::rank_case(c);
  if (c.kernel.starts_with("gated_delta")) return rank.num_q_heads > 1 && rank.value_heads() > rank.num_q_heads;
  return rank.num_kv_heads > 1 && rank.num_q_heads > rank.num_kv_heads;
}
// More than offsets wrap at; of one request, since requests may share theirs.
bool has_many_rows(const KernelCase& c) { return c.max_seqlen() > 64; }
bool has_full_chunk(const KernelCase& c) {
  return std::ranges::any_of(c.cache_seqlens, [&](std::int64_t n) { return n > 0 && n % c.chunk == 0; });
}
bool has_cut_first_chunk(const KernelCase& c) { return c.max_seqlen() < c.chunk && c.max_seqlen() % c.page_size != 0; }
// Window of one token: its order and its motion cannot be wrong.
bool has_wide_window(const KernelCase& c) { return c.window < 0 || c.window > 1; }
bool has_new_requests(const KernelCase& c) { return c.zero_state; }
bool has_sections_in_a_row(const KernelCase& c) { return c.sections.size() > 1 && !c.interleaved; }
bool has_window(const KernelCase& c) { return c.window > 0; }
bool has_sinks(const KernelCase& c) { return c.sinks; }
bool has_split_sinks(const KernelCase& c) { return c.sinks && c.kv_splits > 1; }
bool has_cap(const KernelCase& c) { return c.softcap > 0.0; }
bool has_key_scale(const KernelCase& c) { return c.k_scale != 1.0; }
bool has_value_scale(const KernelCase& c) { return c.v_scale != 1.0; }
bool is_uncapped(const KernelCase& c) { return c.softcap == 0.0; }  // exp of a usual cap does not overflow
// Ranks that share a KV head; of one head all have the same, however it is dealt out.
bool has_replicas(const KernelCase& c) { return c.num_kv_heads > 1 && c.tp > c.num_kv_heads; }
// Dealt in turn or in blocks is the same when every rank has one.
bool has_value_heads_to_deal(const KernelCase& c) { return c.tp > 1 && c.value_heads() > c.tp; }
// A sink alone makes a sum.
bool has_empty_sum(const KernelCase& c) {
  return !c.sinks && std::ranges::find(c.cache_seqlens, 0) != c.cache_seqlens.end();
}

// What must be there for the mistake to make a difference; a defect without a row needs nothing but its kernel.
struct Scope {
  int first;
  int last;
  Needs needs;
  std::string_view lacks;
};
constexpr std::array kScopes{
    Scope{10, 50, has_pages, "pages of one token have no partly filled one"},
    Scope{70, 70, has_pages, "pages of one token have no partly filled one"},
    Scope{80, 120, has_splits, "the cache is not split"},
    Scope{130, 130, has_rows_to_swap, "there is one request or one head"},
    Scope{170, 170, has_rows_to_swap, "there is one request or one head"},
    Scope{180, 180, has_groups, "each query head has its KV head, or all have one"},
    Scope{230, 240, has_splits, "the cache is not split"},
    Scope{250, 250, has_many_rows, "no request has more than 64 tokens"},
    Scope{310, 310, has_cut_first_chunk, "a request fills its first chunk, or the longest is whole pages"},
    Scope{311, 311, has_full_chunk, "no request ends with its chunk"},
    Scope{320, 320, has_pages, "a page is one token"},
    Scope{330, 330, has_pages, "a page is one token"},
    Scope{210, 210, is_uncapped, "the soft cap keeps scores from overflowing"},
    Scope{270, 270, has_empty_sum, "no request is empty"},
    Scope{280, 281, has_window, "there is no window"},
    Scope{290, 290, has_sinks, "there are no sinks"},
    Scope{291, 291, has_split_sinks, "there are no sinks over several splits"},
    Scope{300, 301, has_cap, "there is no soft cap"},
    Scope{372, 372, has_sections_in_a_row, "the axes take turns, or there is one"},
    Scope{380, 380, has_key_scale, "the key scale is 1"},
    Scope{381, 381, has_value_scale, "the value scale is 1"},
    Scope{391, 392, has_wide_window, "the window is one token"},
    Scope{393, 393, has_new_requests, "every request has a prefix"},
    Scope{400, 400, has_replicas, "no KV head is one of several that are held by more than one rank"},
    Scope{401, 401, has_value_heads_to_deal, "there is one rank, or each has one value head"},
};

std::string_view kernel_of(const Defect& defect) { return defect.case_line.substr(0, defect.case_line.find(' ')); }

const Defect* find(int id, std::string_view kernel) {
  const auto rows = defect_table();
  const auto row = std::ranges::find_if(
      rows, [&](const Defect& d) { return d.id == id && (kernel.empty() || kernel_of(d) == kernel); });
  return row == rows.end() ? nullptr : &*row;
}

// The launch's cases are of other kernels.
std::string belongs_elsewhere(int id) {
  std::vector<std::string_view> owners;
  for (const Defect& defect : defect_table()) {
    if (defect.id == id && std::ranges::find(owners, kernel_of(defect)) == owners.end())
      owners.push_back(kernel_of(defect));
  }
  return fmt::format("it is a mistake of {}, which this launch does not run", fmt::join(owners, ", "));
}

// A wrong kernel may also take the device down; that it does not build, or finds no memory, shows nothing.
bool shows_a_defect(const CaseReport& report) {
  if (report.verdict.word == VerdictWord::kFail) return true;
  if (report.verdict.word != VerdictWord::kError || !report.fault) return false;
  const DeviceErrorKind kind = report.fault->kind;
  return kind == DeviceErrorKind::kDeviceLost || kind == DeviceErrorKind::kCrashed ||
         kind == DeviceErrorKind::kTimedOut;
}

}  // namespace

std::string why_not(int id, const KernelCase& kernel_case) {
  if (find(id, kernel_case.kernel) == nullptr) {
    return fmt::format("{} is not where this mistake is made", kernel_case.kernel);
  }
  for (const Scope& scope : kScopes) {
    if (scope.first <= id && id <= scope.last && !scope.needs(kernel_case)) return std::string(scope.lacks);
  }
  return {};
}

std::vector<int> all_ids() {
  std::vector<int> ids;
  for (const Defect& defect : defect_table()) {
    if (std::ranges::find(ids, defect.id) == ids.end()) ids.push_back(defect.id);
  }
  return ids;
}

std::vector<int> ids_for(const std::vector<KernelCase>& cases) {
  std::vector<int> ids = all_ids();
  std::erase_if(ids, [&](int id) {
    return std::ranges::none_of(cases, [&](const KernelCase& c) { return why_not(id, c).empty(); });
  });
  return ids;
}

std::string describe(int id) {
  const Defect* defect = find(id, {});
  return defect == nullptr ? std::string() : std::string(defect->what);
}

Injection inject(int id, const std::vector<KernelCase>& cases, const DeviceChoice& device,
                 const ProcessLimits& limits) {
  Injection injection{.defect = id, .what = describe(id)};
  std::vector<KernelCase> concerned;
  for (const KernelCase& c : cases) {
    const std::string reason = why_not(id, c);
    if (reason.empty()) {
      concerned.push_back(c);
    } else if (injection.reason.empty() || find(id, c.kernel) != nullptr) {
      injection.reason = reason;
    }
  }
  injection.cases = concerned.size();
  if (concerned.empty()) {
    const bool belongs = std::ranges::any_of(cases, [&](const KernelCase& c) { return find(id, c.kernel) != nullptr; });
    if (!belongs && !cases.empty()) injection.reason = belongs_elsewhere(id);
    return injection;
  }
  injection.what = find(id, concerned.front().kernel)->what;  // kernels share a number where the mistake is alike
  const RunOptions options{.defect = id, .stop_at_failure = true};
  const KernelReport report = run_cases_apart(concerned, device, options, limits);
  injection.outcome = InjectionOutcome::kMissed;
  injection.reason = "every case passed";
  for (const CaseReport& c : report.cases) {
    if (shows_a_defect(c)) {
      injection.outcome = InjectionOutcome::kCaught;
      injection.case_line = c.case_line;
      injection.reason = c.verdict.reason;
      return injection;
    }
    if (c.verdict.word != VerdictWord::kPass && injection.outcome == InjectionOutcome::kMissed) {
      injection.outcome = InjectionOutcome::kNotRun;
      injection.case_line = c.case_line;
      injection.reason = c.verdict.reason;
    }
  }
  return injection;
}

namespace {

constexpr std::array kRegimes{Inputs::kPeaked, Inputs::kFlat, Inputs::kMid, Inputs::kDrift};

// The defect's own case, and the same under each regime; kernels that only move data have none: their cases print the
// same whatever the inputs.
std::vector<KernelCase> cases_to_measure(const KernelCase& own) {
  std::vector<KernelCase> cases{own};
  for (const Inputs inputs : kRegimes) {
    KernelCase c = own;
    c.inputs = inputs;
    cases.push_back(std::move(c));
  }
  if (print_case(cases[1]) == print_case(cases[2])) cases.resize(1);
  return cases;
}

// Neither that the kernel is right nor that it is not: a slow device takes as long as one that hangs.
bool says_nothing(const CaseReport& report) {
  const bool timed_out = report.fault && report.fault->kind == DeviceErrorKind::kTimedOut;
  const bool answered = report.verdict.word != VerdictWord::kSkipped && report.verdict.word != VerdictWord::kError;
  return timed_out || (!answered && !shows_a_defect(report));
}

DeviceError why_nothing(const CaseReport& silent, const KernelReport& report) {
  const DeviceError unknown{DeviceErrorKind::kInternal, silent.case_line + ": " + silent.verdict.reason};
  return silent.fault.value_or(report.error.value_or(unknown));
}

// Each case with the defect. One in which the process ended leaves those behind it without an answer: they run apart.
// What says nothing is an error: no row tells of it.
tl::expected<std::vector<CaseReport>, DeviceError> run_planted(const std::vector<KernelCase>& cases,
                                                               const DeviceChoice& device, const RunOptions& options,
                                                               const ProcessLimits& limits) {
  std::vector<CaseReport> out;
  while (out.size() < cases.size()) {
    const std::vector<KernelCase> rest(cases.begin() + static_cast<std::ptrdiff_t>(out.size()), cases.end());
    const KernelReport report = run_cases_apart(rest, device, options, limits);
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const CaseReport& c = report.cases[i];
      if (c.verdict.word == VerdictWord::kSkipped && i > 0 && report.cases[i - 1].fault) break;
      if (says_nothing(c)) return tl::make_unexpected(why_nothing(c, report));
      out.push_back(c);
    }
  }
  return out;
}

tl::expected<MeasuredDefect, DeviceError> measure(const Defect& defect, const DeviceChoice& device,
                                                  const ProcessLimits& limits) {
  const auto own = parse_case(defect.case_line);
  if (!own) return tl::make_unexpected(DeviceError{DeviceErrorKind::kInternal, own.error().text()});
  const std::vector<KernelCase> cases = cases_to_measure(*own);
  const KernelReport sound = run_cases_apart(cases, device, {}, limits);
  if (sound.error) return tl::make_unexpected(*sound.error);
  if (const auto silent = std::ranges::find_if(sound.cases, says_nothing); silent != sound.cases.end())
    return tl::make_unexpected(why_nothing(*silent, sound));
  auto planted = run_planted(cases, device, {.defect = defect.id}, limits);
  if (!planted) return tl::make_unexpected(planted.error());
  const auto shown = [&](std::size_t i) {
    if (sound.cases[i].verdict.word != VerdictWord::kPass) return Shows::kUnsound;
    return shows_a_defect((*planted)[i]) ? Shows::kCaught : Shows::kNot;
  };
  MeasuredDefect out{.id = defect.id, .kernel = kernel_of(defect), .what = defect.what};
  const bool has_regimes = cases.size() > 1;
  for (std::size_t i = 0; has_regimes && i < kRegimes.size(); ++i) out.regimes[i] = shown(i + 1);
  const bool repeats = has_regimes && std::ranges::find(kRegimes, own->inputs) != kRegimes.end();
  if (!repeats) out.own = shown(0);
  for (const CaseReport& c : *planted) {
    const double times = c.fault ? std::numeric_limits<double>::infinity() : c.verdict.times_allowed;
    if (shows_a_defect(c)) out.times_allowed = std::max(out.times_allowed, times);
  }
  return out;
}

}  // namespace

tl::expected<std::vector<MeasuredDefect>, DeviceError> measure_all(
    const DeviceChoice& device, const ProcessLimits& limits,
    const std::function<void(const MeasuredDefect&)>& progress) {
  std::vector<MeasuredDefect> all;
  for (const Defect& defect : defect_table()) {
    auto measured = measure(defect, device, limits);
    if (!measured) return tl::make_unexpected(measured.error());
    progress(*measured);
    all.push_back(*measured);
  }
  return all;
}

}  // namespace defects
}  // namespace preflight
