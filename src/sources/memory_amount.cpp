#include "src/sources/memory_amount.h"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/ascii_case.h"
#include "src/base/number_text.h"

namespace preflight::sources {
namespace {

struct Amount {
  double number = 0;
  std::string_view unit;  // what stands behind it
};

// Digits with at most one point. What begins with anything else is none: a sign is no limit either.
std::optional<Amount> amount_in(std::string_view text) {
  const auto end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = number_in<double>(text.substr(0, end));
  return number ? std::optional(Amount{*number, text.substr(end)}) : std::nullopt;
}

std::optional<std::uint64_t> whole(double bytes) {
  constexpr double kMost = 1e18;
  return bytes >= 1 && bytes <= kMost ? std::optional(static_cast<std::uint64_t>(bytes)) : std::nullopt;
}

std::optional<double> power_of(double base, std::string_view letters, char unit) {
  const auto which = letters.find(unit);
  return which == std::string_view::npos ? std::nullopt : std::optional(std::pow(base, static_cast<double>(which + 1)));
}

}  // namespace

// Every unit counts in 1024: g, gb and GiB are the same.
std::optional<std::uint64_t> bytes_of_docker(std::string_view text) {
  auto amount = amount_in(text);
  if (!amount) return std::nullopt;
  if (amount->unit.starts_with(' ')) amount->unit.remove_prefix(1);
  const std::string unit = ascii_lower(amount->unit);
  if (unit.empty() || unit == "b") return whole(amount->number);
  const auto scale = power_of(1024, "kmgtp", unit.front());
  const std::string_view rest = std::string_view(unit).substr(1);
  if (!scale || (!rest.empty() && rest != "b" && rest != "ib")) return std::nullopt;
  return whole(amount->number * *scale);
}

// Ki counts in 1024, k and M in 1000, m in thousandths; e3 is an exponent, and E alone a unit.
std::optional<std::uint64_t> bytes_of_kubernetes(std::string_view text) {
  const auto amount = amount_in(text);
  if (!amount) return std::nullopt;
  const std::string_view unit = amount->unit;
  if (unit.empty()) return whole(amount->number);
  if (unit == "m") return whole(std::ceil(amount->number / 1000));
  if (unit.size() == 2 && unit[1] == 'i') {
    const auto scale = power_of(1024, "KMGTPE", unit[0]);
    return scale ? whole(amount->number * *scale) : std::nullopt;
  }
  if (unit.size() == 1) {
    const auto scale = power_of(1000, "kMGTPE", unit[0]);
    return scale ? whole(amount->number * *scale) : std::nullopt;
  }
  const bool raised = unit[0] == 'e' || unit[0] == 'E';
  const auto exponent = number_in<int>(unit.substr(unit[1] == '+' ? 2 : 1));
  if (!raised || !exponent || std::abs(*exponent) > 18) return std::nullopt;
  return whole(amount->number * std::pow(10, *exponent));
}

// 64G, 64000 (MiB): whole numbers alone, and 0 for all of a node's.
std::optional<std::uint64_t> bytes_of_slurm(std::string_view text) {
  constexpr double kMost = 1U << 30U;
  const auto amount = amount_in(text);
  if (!amount || amount->number > kMost || text.find('.') != std::string_view::npos) return std::nullopt;
  std::string unit = ascii_lower(amount->unit);
  if (unit.ends_with('b')) unit.pop_back();
  if (unit.size() > 1) return std::nullopt;
  const auto scale = power_of(1024, "kmgt", unit.empty() ? 'm' : unit.front());
  return scale ? whole(amount->number * *scale) : std::nullopt;
}

}  // namespace preflight::sources
