#include "src/rules/environment_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/ascii_case.h"
#include "src/facts/launch_variables.h"
#include "src/python/text.h"
#include "src/rules/environment_names.h"
#include "src/rules/environment_words.h"

namespace preflight::rules {
namespace {

constexpr std::size_t kTold = 32;    // variables of one launch
constexpr std::size_t kShown = 40;   // characters of a value
constexpr double kExact = 1L << 53;  // beyond it a float does not name one integer

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

constexpr std::array<std::string_view, 4> kTrue = {"true", "1", "yes", "y"};
constexpr std::array<std::string_view, 4> kFalse = {"false", "0", "no", "n"};
// What people write instead.
constexpr std::array<std::string_view, 5> kMeantTrue = {"on", "t", "enable", "enabled", "ok"};
constexpr std::array<std::string_view, 6> kMeantFalse = {"off", "f", "disable", "disabled", "none", "null"};

bool is_bool(std::string_view word) { return one_of(word, kTrue) || one_of(word, kFalse); }

// What the launch meant, as the release reads it; "" where that cannot be told.
std::string meant(ValueKind kind, const std::string& value) {
  const std::string word = ascii_lower(python::strip(value));
  if (kind == ValueKind::kBool || kind == ValueKind::kOne || kind == ValueKind::kBoth) {
    if (one_of(word, kTrue) || one_of(word, kMeantTrue)) return "1";
    return one_of(word, kFalse) || one_of(word, kMeantFalse) ? "0" : "";
  }
  const auto number = python::to_float(value);
  const bool whole = number && std::abs(*number) < kExact && std::trunc(*number) == *number;
  return whole ? fmt::format("{}", static_cast<std::int64_t>(*number)) : "";
}

std::string default_of(const ValueReading& how) {
  return how.fallback.empty() ? "the default" : fmt::format("the default, {},", how.fallback);
}

std::string shown(const std::string& name, const std::string& value) {
  return fmt::format("{}={}{}", name, value.substr(0, kShown), value.size() > kShown ? "…" : "");
}

// "" where the value is one, or where it has the effect that was meant.
std::string told_of(const ValueReading& how, const std::string& value) {
  const std::string word = ascii_lower(value);
  switch (how.kind) {
    case ValueKind::kBool:
      return is_bool(word) ? "" : fmt::format("is no boolean: {} is taken", default_of(how));
    case ValueKind::kOne:
      return word == "true" || word == "1" || meant(how.kind, value) == "0" ? "" : "counts as false: 1 or true is true";
    case ValueKind::kBoth:
      if (word == "yes" || word == "y") return "counts as true in one place and as false in another";
      if (is_bool(word)) return "";
      return how.fallback == "False" ? "is no boolean: false is taken"
                                     : fmt::format("is no boolean: false or {} is taken", default_of(how));
    case ValueKind::kInt:
    case ValueKind::kNumber:
      return python::to_int(value) ? "" : fmt::format("is no integer: {} is taken", default_of(how));
    case ValueKind::kFloat:
      return python::to_float(value) ? "" : fmt::format("is no number: {} is taken", default_of(how));
    case ValueKind::kRaises:
      return python::to_int(value) || python::to_float(value) ? "" : "is no number: ValueError where it is read";
  }
  return "";
}

bool serves_http(const LaunchFacts& f) {
  return serves_text(f) && !f.on(Field::grpc_mode) && !f.on(Field::smg_grpc_mode);
}
bool without_controller(const LaunchFacts& f) { return serves_text(f) && f.dp_ranks() == 1; }

bool is_integer(const std::string& value) { return python::to_integer(value).has_value(); }
bool is_float(const std::string& value) { return python::to_float(value).has_value(); }

// Read by int() or float() in every such launch, most of them as their module is loaded.
struct BareReader {
  std::string_view name;
  std::string_view where;
  bool (*reads)(const LaunchFacts&);
  Release since = v0_5(11);
  Release until = kNoEnd;
  bool (*takes)(const std::string&) = is_integer;
};
constexpr BareReader kBareReaders[] = {
    {"SGLANG_HEALTH_CHECK_TIMEOUT", "entrypoints/http_server.py", serves_http},
    {"SGLANG_WAIT_WEIGHTS_READY_TIMEOUT", "entrypoints/http_server.py", serves_http},
    {"SGLANG_DETOKENIZER_MAX_STATES", "managers/detokenizer_manager.py", serves_text},
    {"SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION", "managers/schedule_policy.py", serves_text},
    {"SGLANG_DP_RANK", "managers/scheduler.py", without_controller},
    {"SGLANG_OPERATIONS_ENABLE_PROFILE", "batch_overlap/operations.py", serves_text, v0_5(11), v0_5(14)},
    {"SGLANG_QUEUED_TIMEOUT_MS", "environ.py", always, v0_5(11), v0_5(21), is_float},
    {"SGLANG_FORWARD_TIMEOUT_MS", "environ.py", always, v0_5(11), v0_5(21), is_float},
};

const BareReader* ending(const LaunchFacts& f, const std::string& name, const std::string& value) {
  const auto* reader = std::ranges::find(kBareReaders, name, &BareReader::name);
  if (reader == std::end(kBareReaders) || f.release() < reader->since || f.release() >= reader->until) return nullptr;
  return reader->takes(value) || !reader->reads(f) ? nullptr : reader;
}

// Each variable's own words, and what to set in its place.
struct Told {
  std::vector<std::string> parts;
  Remedy all;
  std::size_t untold = 0;

  void add(const std::string& name, const std::string& value, const std::string& instead, const std::string& words) {
    all.steps.push_back(instead.empty() ? RemedyStep{StepKind::kUnset, name}
                                        : RemedyStep{StepKind::kSet, name, {instead}});
    if (parts.size() == kTold) {
      ++untold;
    } else {
      parts.push_back(fmt::format("{} {}", shown(name, value), words));
    }
  }
  [[nodiscard]] std::optional<Finding> finding() && {
    if (parts.empty()) return std::nullopt;
    const std::string more = untold == 0 ? "" : fmt::format("; and {} more", untold);
    return Finding{.message = fmt::format("{}{}", fmt::join(parts, "; "), more), .remedies = {std::move(all)}};
  }
};

}  // namespace

std::optional<Finding> value_not_taken(const LaunchFacts& f) {
  Told told;
  for (const auto& [name, value] : f.launch().env) {
    if (value.empty() || !facts::is_sglang_name(name) || ending(f, name, value) != nullptr) continue;
    if (const auto how = value_reading(f.release(), name)) {
      const std::string words = told_of(*how, value);
      if (!words.empty()) told.add(name, value, meant(how->kind, value), words);
    } else if (const std::string words = word_not_taken(f.release(), name, value); !words.empty()) {
      told.add(name, value, word_meant(f.release(), name, value), words);
    }
  }
  return std::move(told).finding();
}

std::optional<Finding> value_ends_the_server(const LaunchFacts& f) {
  Told told;
  for (const auto& [name, value] : f.launch().env) {
    if (const BareReader* reader = ending(f, name, value)) {
      told.add(name, value, meant(ValueKind::kRaises, value),
               fmt::format("is no {} ({})", reader->takes == is_float ? "number" : "integer", reader->where));
    } else if (const std::string words = word_ends_the_server(f, name, value); !words.empty()) {
      told.add(name, value, word_meant(f.release(), name, value), words);
    }
  }
  return std::move(told).finding();
}

}  // namespace preflight::rules
