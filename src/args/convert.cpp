// Source: srt/utils/common.py (human_readable_int, json_list_type, nullable_str) and
// srt/model_executor/cuda_graph_config.py (parse_cuda_graph_*_arg) of each release.
#include "src/args/convert.h"

#include <algorithm>
#include <array>
#include <optional>

#include "src/python/json_text.h"
#include "src/python/text.h"
#include "src/python/integer.h"

namespace preflight::args {
namespace {

using Converted = tl::expected<Value, ConvertFault>;

tl::unexpected<ConvertFault> fault(std::string reason, std::string exception = {}, std::string function = {}) {
  return tl::make_unexpected(ConvertFault{std::move(reason), std::move(exception), std::move(function)});
}

struct Suffix {
  std::string_view text;
  int power_of_ten;      // decimal suffixes
  int power_of_two = 0;  // binary suffixes
};

constexpr Suffix kSuffixes[] = {{"Ki", 0, 10}, {"Mi", 0, 20}, {"Gi", 0, 30}, {"Ti", 0, 40},
                                {"k", 3},      {"M", 6},      {"G", 9},      {"T", 12}};

// digits[.digits] in ASCII, or nullopt when the text is no such number.
struct Decimal {
  std::string whole;
  std::string fraction;
  bool has_point = false;
};

std::optional<Decimal> decimal(std::string_view s) {
  Decimal d;
  for (std::size_t i = 0; i < s.size();) {
    const auto [code, length] = python::character_at(s, i);
    i += length;
    if (code == '.' && !d.has_point) {
      d.has_point = true;
      continue;
    }
    const int digit = python::decimal_value(code);
    if (digit < 0) return std::nullopt;
    (d.has_point ? d.fraction : d.whole) += static_cast<char>('0' + digit);
  }
  if (d.whole.empty() || (d.has_point && d.fraction.empty())) return std::nullopt;
  return d;
}

// int(Decimal(number) * 10**power): the product is rounded to 28 significant digits, half to even, then cut.
Value times_power_of_ten(const Decimal& d, int power) {
  constexpr std::size_t kPrecision = 28;
  std::string digits = d.whole + d.fraction;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  auto exponent = power - static_cast<std::int64_t>(d.fraction.size());
  if (digits.size() > kPrecision) {
    const std::string_view rest = std::string_view(digits).substr(kPrecision);
    const bool above_half = rest.front() > '5' || (rest.front() == '5' && rest.find_first_not_of('0', 1) != rest.npos);
    const bool tie = rest.front() == '5' && !above_half;
    const bool up = above_half || (tie && (digits[kPrecision - 1] - '0') % 2 == 1);
    exponent += static_cast<std::int64_t>(rest.size());
    digits.resize(kPrecision);
    std::size_t at = kPrecision;
    while (up && at > 0 && digits[at - 1] == '9') digits[--at] = '0';
    if (up && at > 0) ++digits[at - 1];
    if (up && at == 0) digits.insert(0, 1, '1');
  }
  if (exponent < 0) {
    digits.resize(digits.size() - std::min(digits.size(), static_cast<std::size_t>(-exponent)));
  } else {
    digits.append(static_cast<std::size_t>(exponent), '0');
  }
  return Value::integer(digits);
}

Converted human_readable_int(std::string_view text) {
  const std::string_view s = python::strip(text);
  for (const auto& suffix : kSuffixes) {
    if (!s.ends_with(suffix.text)) continue;
    const auto number = decimal(s.substr(0, s.size() - suffix.text.size()));
    if (!number) break;
    if (suffix.power_of_two == 0) return times_power_of_ten(*number, suffix.power_of_ten);
    if (number->has_point) return fault("is a number with decimals, which binary suffixes such as Ki do not take");
    return Value(integer::times(Value::integer(number->whole), std::int64_t{1} << suffix.power_of_two));
  }
  if (const auto v = python::to_integer(s)) return Value::integer(*v);
  return fault("is not an integer; suffixes are k, M, G, T (decimal) and Ki, Mi, Gi, Ti (binary)");
}

Converted json(std::string_view text) {
  auto value = python::json_loads(text);
  if (value) return std::move(*value);
  if (value.error().kind == python::JsonFault::kTooDeep)
    return fault("is JSON nested too deeply", "RecursionError", "prepare_server_args");
  return fault("is not valid JSON at character " + std::to_string(value.error().offset + 1));
}

Converted json_list(std::string_view text) {
  auto value = python::json_loads(text, python::JsonReader::kOrjson);
  if (value) return std::move(*value);
  return fault("is not valid JSON at character " + std::to_string(value.error().offset + 1));
}

// The settings that each phase of --cuda-graph-config takes.
struct GraphSetting {
  std::string_view name;
  bool decodes;  // both phases have it, or the prefill alone
  Release since = v0_5(0);
  Release until = kNoEnd;
};

constexpr GraphSetting kGraphSettings[] = {
    {"backend", true},
    {"max_bs", true},
    {"bs", true},
    {"tc_compiler", true, v0_5(0), v0_5(22)},
    {"full_prefill_max_req", false, v0_5(15)},
    {"full_prefill_prefix_chunk_tokens", false, v0_5(17)},
    {"max_context_size", false, v0_5(21)},
    {"max_seq_len", false, v0_5(21)},
};

bool has_graph_setting(std::string_view phase, std::string_view name, Release release) {
  return std::ranges::any_of(kGraphSettings, [&](const GraphSetting& s) {
    return s.name == name && (s.decodes || phase == "prefill") && release >= s.since && release < s.until;
  });
}

Converted cuda_graph_backend(std::string_view text) {
  if (text == "tc_piecewise") return fault("is no backend any more; choose breakable, full or disabled");
  return Value(text);
}

Converted cuda_graph_config(std::string_view text, Release release) {
  auto parsed = json(text);
  if (!parsed) return parsed;
  if (!parsed->is_dict()) return fault("is not a JSON object");
  for (const auto& [phase, settings] : parsed->as_dict()) {
    if (phase != "prefill" && phase != "decode")
      return fault("names " + phase + ", which is no phase: phases are decode and prefill");
    if (!settings.is_dict()) return fault("has settings of " + phase + " that are no JSON object");
    const Value* backend = settings.find("backend");
    if (release >= v0_5(22) && backend != nullptr && backend->is_string()) {
      if (const auto checked = cuda_graph_backend(backend->as_string()); !checked) {
        return fault("names " + backend->as_string() + " for " + phase + ", which " + checked.error().reason);
      }
    }
    for (const auto& [key, value] : settings.as_dict()) {
      if (!has_graph_setting(phase, key, release))
        return fault("has a setting of " + phase + " that this release does not know: " + key);
    }
  }
  return parsed;
}

}  // namespace

Converted convert(Converter converter, std::string_view text, Release release) {
  switch (converter) {
    case Converter::kText:
      return Value(text);
    case Converter::kInt:
      if (const auto v = python::to_integer(text)) return Value::integer(*v);
      return fault("is not an integer");
    case Converter::kFloat:
      if (const auto v = python::to_float(text)) return Value(*v);
      return fault("is not a number");
    case Converter::kHumanReadableInt:
      return human_readable_int(text);
    case Converter::kJson:
      return json(text);
    case Converter::kJsonList:
      return json_list(text);
    case Converter::kNullableText:
      return text.empty() || text == "None" ? Value() : Value(text);
    case Converter::kCudaGraphBackend:
      return cuda_graph_backend(text);
    case Converter::kCudaGraphConfig:
      return cuda_graph_config(text, release);
  }
  return fault("is of an unknown type");
}

}  // namespace preflight::args
