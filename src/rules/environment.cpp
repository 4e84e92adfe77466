// EN: environment variables named SGLANG_… that the release does not read, or whose value it does not take. What a name
// means there is decided in environment_names.cpp, from the releases' own files; values in environment_values.cpp.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/facts/launch_variables.h"
#include "src/rules/environment_names.h"
#include "src/rules/environment_values.h"
#include "src/rules/families.h"
#include "src/rules/idle_options.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

std::optional<Finding> unknown_name(const LaunchFacts& f) {
  constexpr std::size_t kTold = 32;  // a list that a script made may have thousands, and each is sought among hundreds
  std::vector<std::string> parts;
  Remedy all;  // one name left over is the finding still
  std::size_t untold = 0;
  for (const auto& [name, value] : f.launch().env) {
    if (!facts::is_sglang_name(name) || environment_name(f.release(), name).state != NameState::kUnknown) continue;
    all.steps.push_back({StepKind::kUnset, name});
    if (parts.size() == kTold) {
      ++untold;
      continue;
    }
    const std::string near = closest_environment_name(f.release(), name);
    parts.push_back(near.empty() ? name : fmt::format("{} (did you mean {}?)", name, near));
    if (!near.empty()) all.steps.push_back({StepKind::kSet, near, {value}});
  }
  if (parts.empty()) return std::nullopt;
  const std::string more = untold == 0 ? "" : fmt::format(" and {} more", untold);
  return Finding{.message = fmt::format("no SGLang release reads {}{}", fmt::join(parts, ", "), more),
                 .remedies = {std::move(all)}};
}

std::string old_name_told(const std::string& name, const EnvironmentName& known) {
  const std::string instead = known.instead.empty() ? "" : fmt::format("; instead: {}", known.instead);
  switch (known.state) {
    case NameState::kLater:
      return fmt::format("{} comes with SGLang {}", name, known.since.text());
    case NameState::kGone:
      return fmt::format("{} is gone since SGLang {}{}", name, known.since.text(), instead);
    default:
      return fmt::format("{} is old since SGLang {}{}", name, known.since.text(), instead);
  }
}

std::optional<Finding> name_of_another_release(const LaunchFacts& f) {
  std::vector<std::string> parts;
  std::vector<std::string> instead;
  bool ignored = false;
  Remedy all;
  for (const auto& [name, value] : f.launch().env) {
    if (!facts::is_sglang_name(name)) continue;
    EnvironmentName known = environment_name(f.release(), name);
    if (known.state == NameState::kRead || known.state == NameState::kUnknown) continue;
    if (is_idle(f, known.instead)) known.instead = {};
    // The value of an old variable with a new name is passed on.
    ignored = ignored || known.state != NameState::kWarned || !known.instead.starts_with("SGLANG_");
    parts.push_back(old_name_told(name, known));
    all.steps.push_back({StepKind::kUnset, name});
    if (!known.instead.empty()) instead.emplace_back(known.instead);
  }
  if (parts.empty()) return std::nullopt;
  std::vector<Remedy> remedies = {std::move(all)};
  if (!instead.empty()) remedies.push_back(in_words(fmt::format("{} in its place", fmt::join(instead, " and "))));
  return Finding{.message = fmt::format("{}", fmt::join(parts, "; ")),
                 .severity = ignored ? Severity::kWarning : Severity::kInfo,
                 .remedies = std::move(remedies)};
}

std::optional<Finding> platform_of_a_plugin(const LaunchFacts& f) {
  const auto chosen = f.launch().env.find("SGLANG_PLATFORM");
  if (chosen == f.launch().env.end() || chosen->second.empty()) return std::nullopt;
  return Finding{.message = fmt::format("SGLANG_PLATFORM={} names a plugin, and SGLang brings none", chosen->second)};
}

// What the prefill side asks of a launch that stages its transfers, beside a model without MLA.
std::string staging_refused(const LaunchFacts& f) {
  if (f.model().is_mla()) return "an MLA model has no use for it";
  if (f.before(17) || !f.only_prefills()) return "";
  const std::int64_t given = f.integer(Field::chunked_prefill_size, 0);
  const std::int64_t chunk = given == 0 ? 8192 : given;
  if (chunk <= 0 || chunk % f.page_size() != 0) {
    return fmt::format("--chunked-prefill-size {} is no positive multiple of the page size, {}", given, f.page_size());
  }
  const bool staged = f.since(18) && f.is(Field::disaggregation_transfer_backend, "mooncake");
  return f.pp() > 1 && !staged ? fmt::format("--pp-size {} is not staged", f.pp()) : "";
}

std::optional<Finding> staging_buffer(const LaunchFacts& f) {
  constexpr const char* kName = "SGLANG_DISAGG_STAGING_BUFFER";
  if (!f.env_on(kName) || !f.is_disaggregated()) return std::nullopt;
  std::string why = staging_refused(f);
  std::optional<Severity> severity;
  if (why.empty() && f.is(Field::device, "xpu") && f.before(23) &&
      f.is(Field::disaggregation_transfer_backend, "mooncake")) {
    why = fmt::format("its buffer is CUDA's in {}", f.release().text());
    severity = Severity::kWarning;  // SGLang's own XPU test of it does not say since which release it passes
  }
  if (why.empty()) return std::nullopt;
  return Finding{
      .message = fmt::format("{} ends the {} server: {}", kName, f.only_prefills() ? "prefill" : "decode", why),
      .severity = severity};
}

}  // namespace

std::span<const Rule> environment_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "EN001",
       .severity = Severity::kWarning,
       .summary = "an environment variable that no SGLang release reads",
       .why = "SGLang looks up the names it knows and never complains of others: a misspelt one has no effect.",
       .fix = "the name as SGLang spells it",
       .source = "every mention of SGLANG_… in the releases' Python files",
       .need = RuleNeed::kNothing,
       .check = unknown_name,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu", .env = "SGLANG_LOG_CG=1"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu", .env = "SGLANG_LOG_GC=1"}}}},
      {.id = "EN002",
       .severity = Severity::kWarning,
       .summary = "an environment variable of another SGLang release",
       .why = "This release does not read it, or only warns of its old name.",
       .fix = "what took its place, or drop it",
       .source = "sglang/srt/environ.py, and every mention of SGLANG_… in the releases' Python files",
       .need = RuleNeed::kNothing,
       .check = name_of_another_release,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu", .env = "SGLANG_USE_SGL_XPU=1", .since = v0_5(19)},
                     {.model = "qwen3-0.6b",
                      .args = "--device xpu",
                      .env = "SGLANG_XPU_LN_MOD_NUM_WARPS=4",
                      .until = v0_5(23)}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu", .env = "SGLANG_USE_SGL_XPU=1", .until = v0_5(19)},
                     {.model = "qwen3-0.6b",
                      .args = "--device xpu",
                      .env = "SGLANG_XPU_LN_MOD_NUM_WARPS=4",
                      .since = v0_5(23)}}}},
      {.id = "EN003",
       .severity = Severity::kWarning,
       .summary = "a platform that a plugin must bring",
       .why =
           "RuntimeError as soon as the platform is asked for, unless an installed plugin has that name: the variable "
           "chooses among plugins, and SGLang's own devices are none of them.",
       .remedies = {unset("SGLANG_PLATFORM")},
       .source = "sglang/srt/platforms/__init__.py",
       .need = RuleNeed::kNothing,
       .doubtful = true,
       .check = platform_of_a_plugin,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu", .env = "SGLANG_PLATFORM=xpu"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"},
                     {.model = "qwen3-0.6b", .args = "--device xpu", .env = "SGLANG_PLATFORM="}}}},
      {.id = "EN004",
       .severity = Severity::kWarning,
       .summary = "an environment variable with a value that SGLang does not take",
       .why = "A value that is no boolean, no number or none of a variable's words is replaced by the default, with a "
              "warning in the log at most; some variables know 1 and true alone.",
       .fix = "a value of its kind",
       .source =
           "sglang/srt/environ.py (EnvBool, EnvInt, EnvFloat), utils/common.py (get_bool_env_var, get_int_env_var)",
       .need = RuleNeed::kNothing,
       .check = value_not_taken,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu", .env = "SGLANG_LOG_GC=on"},
                     {.model = "qwen3-0.6b", .args = "--device xpu", .env = "SGLANG_INIT_NEW_TOKEN_RATIO=70%"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu", .env = "SGLANG_LOG_GC=Yes"},
                     {.model = "qwen3-0.6b", .args = "--device xpu", .env = "SGLANG_LOG_GC="}}}},
      {.id = "EN005",
       .summary = "an environment variable whose value ends the server",
       .why = "Its text raises ValueError where it is read: while the server's modules are loaded, while its parts are "
              "built, or in the first forward pass.",
       .fix = "a number, or one of the variable's words",
       .source = "sglang/srt/environ.py, entrypoints/http_server.py, managers/detokenizer_manager.py, "
                 "managers/schedule_policy.py, managers/scheduler.py, batch_overlap/operations.py, runtime_context.py, "
                 "utils/scheduler_status_logger.py, disaggregation/nixl/conn.py, sglang/kernels/fused_op.py",
       .need = RuleNeed::kNothing,
       .check = value_ends_the_server,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu", .env = "SGLANG_HEALTH_CHECK_TIMEOUT=20s"},
                     {.model = "qwen3-0.6b", .args = "--device xpu", .env = "SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION="}}},
       .quiet_on =
           {{{.model = "qwen3-0.6b", .args = "--device xpu", .env = "SGLANG_HEALTH_CHECK_TIMEOUT=60"},
             {.model = "qwen3-0.6b", .args = "--device xpu --grpc-mode", .env = "SGLANG_HEALTH_CHECK_TIMEOUT=20s"}}}},
      {.id = "EN006",
       .summary = "staged transfers of a launch that SGLang does not stage",
       .why =
           "RuntimeError while the scheduler of a prefill or decode server is built. Before 0.5.23 the buffer itself "
           "calls torch.cuda.set_device, which a torch without CUDA does not have.",
       .remedies = {unset("SGLANG_DISAGG_STAGING_BUFFER")},
       .source = "sglang/srt/disaggregation/prefill.py: PrefillBootstrapQueue, decode.py: DecodePreallocQueue, "
                 "common/staging_buffer.py",
       .doubtful = true,
       .check = staging_buffer,
       .fires_on = {{{.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --disaggregation-mode decode",
                      .env = "SGLANG_DISAGG_STAGING_BUFFER=1"},
                     {.model = "qwen3-8b",
                      .args = "--device xpu --disaggregation-mode prefill --disaggregation-transfer-backend nixl "
                              "--chunked-prefill-size -1",
                      .env = "SGLANG_DISAGG_STAGING_BUFFER=1",
                      .since = v0_5(17)}}},
       .quiet_on =
           {{{.model = "qwen3-8b",
              .args = "--device xpu --disaggregation-mode prefill",
              .env = "SGLANG_DISAGG_STAGING_BUFFER=1",
              .since = v0_5(23)},
             {.model = "deepseek-v2-lite-chat", .args = "--device xpu", .env = "SGLANG_DISAGG_STAGING_BUFFER=1"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
