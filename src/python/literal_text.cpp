// Tested by tests/resolve_validation_test.cpp.
#include "src/python/literal_text.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "src/base/ascii_case.h"

namespace preflight::resolve {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Drops the underscores Python allows between two digits; nothing when one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) return std::nullopt;
  }
  return out;
}

}  // namespace

std::string_view python_strip(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f'); };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> python_int(std::string_view text) {
  const auto plain = without_underscores(python_strip(text));
  if (!plain) return std::nullopt;
  std::string_view digits = *plain;
  const bool negative = !digits.empty() && digits.front() == '-';
  if (negative || (!digits.empty() && digits.front() == '+')) digits.remove_prefix(1);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{}) value = std::numeric_limits<std::int64_t>::max();
  return negative ? -value : value;
}

std::optional<double> python_float(std::string_view text) {
  const auto plain = without_underscores(python_strip(text));
  if (!plain || plain->empty()) return std::nullopt;
  std::string_view body = *plain;
  if (body.front() == '+' || body.front() == '-') body.remove_prefix(1);
  const std::string word = ascii_lower(body);
  const bool named = word == "nan" || word == "inf" || word == "infinity";
  const bool numeric = !body.empty() && std::all_of(body.begin(), body.end(), [](char c) {
    return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
  });
  if (!named && !numeric) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(plain->c_str(), &end);
  if (end != plain->c_str() + plain->size()) return std::nullopt;
  return value;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

}  // namespace preflight::resolve
