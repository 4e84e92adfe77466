// Tested by tests/traps_test.cpp, with Python as the judge.
#include "src/sources/program/exact.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "src/base/replaced.h"

namespace preflight::sources::program {
namespace {

using Signs = std::bitset<128>;

bool plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80 && c != '\0'; });
}

// A pattern that is one set of signs, or letters one behind the other.
class Pattern {
 public:
  explicit Pattern(std::string_view text) : text_(text) {}

  // The letters of a pattern that has no sign of its own; none where it has one.
  std::optional<std::string> letters() {
    std::string out;
    for (at_ = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\') {
        ++at_;
        if (at_ == text_.size() || std::isalnum(static_cast<unsigned char>(text_[at_])) != 0) return std::nullopt;
      } else if (std::string_view(".^$*+?{}[]|()").find(c) != std::string_view::npos) {
        return std::nullopt;
      }
      out += text_[at_];
    }
    return out.empty() ? std::nullopt : std::optional(out);
  }

  // `[…]`, `\w` and their kin, with a + behind them or without.
  std::optional<Signs> set(bool& several) {
    at_ = 0;
    auto out = text_.starts_with('[') ? bracket() : escaped();
    several = at_ + 1 == text_.size() && text_[at_] == '+';
    return several || at_ == text_.size() ? out : std::nullopt;
  }

 private:
  static Signs of(int (*kind)(int)) {
    Signs out;
    for (int c = 0; c < 128; ++c) out[static_cast<std::size_t>(c)] = kind(c) != 0;
    return out;
  }

  // What stands at a backslash, which is taken.
  std::optional<Signs> escaped() {
    if (at_ + 1 >= text_.size() || text_[at_] != '\\') return std::nullopt;
    const char c = text_[at_ + 1];
    at_ += 2;
    const bool negated = std::isupper(static_cast<unsigned char>(c)) != 0;
    Signs out;
    switch (std::tolower(static_cast<unsigned char>(c))) {
      case 'w':
        out = of([](int one) { return std::isalnum(one) != 0 || one == '_' ? 1 : 0; });
        break;
      case 'd':
        out = of([](int one) { return std::isdigit(one); });
        break;
      case 's':  // of texts Python takes four more than C does
        out = of([](int one) { return std::isspace(one) != 0 || (one >= 0x1c && one <= 0x1f) ? 1 : 0; });
        break;
      default:
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) return std::nullopt;
        out.set(static_cast<std::size_t>(c));
        return out;
    }
    return negated ? ~out : out;
  }

  std::optional<Signs> bracket() {
    const bool negated = text_.size() > 1 && text_[1] == '^';
    at_ = negated ? 2 : 1;
    Signs out;
    for (bool first = true; at_ < text_.size() && (first || text_[at_] != ']'); first = false) {
      if (text_[at_] == '\\') {
        const auto one = escaped();
        if (!one || one_of_range()) return std::nullopt;
        out |= *one;
        continue;
      }
      if (text_[at_] == '[') return std::nullopt;  // which a later Python may take otherwise
      const char from = text_[at_++];
      char to = from;
      if (one_of_range()) {
        to = text_[at_ + 1];
        if (to == '\\' || to == '[' || to < from) return std::nullopt;
        at_ += 2;
      }
      for (int c = from; c <= to; ++c) out.set(static_cast<std::size_t>(c));
    }
    if (at_ == text_.size()) return std::nullopt;
    ++at_;
    return negated ? ~out : out;
  }

  [[nodiscard]] bool one_of_range() const {
    return at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']';
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<double> round_to(double number, std::int64_t places) {
  constexpr std::int64_t kPlaces = 15;
  if (places < 0 || places > kPlaces || !(std::abs(number) < 1e15)) return std::nullopt;
  std::array<char, 64> out{};  // C's own rounding is to the even one, of the number as it is
  std::snprintf(out.data(), out.size(), "%.*f", static_cast<int>(places), number);
  return std::strtod(out.data(), nullptr);
}

std::optional<std::int64_t> whole_in_base(std::string_view text, std::int64_t base, bool& refused) {
  constexpr std::int64_t kMost = 36;
  refused = false;
  if (!plain(text) || base < 2 || base > kMost || text.find('_') != std::string_view::npos) return std::nullopt;
  const auto front = std::min(text.find_first_not_of(" \t\n"), text.size());
  text.remove_prefix(front);
  text = text.substr(0, text.find_last_not_of(" \t\n") + 1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const char letter = base == 16 ? 'x' : base == 8 ? 'o' : base == 2 ? 'b' : '\0';
  const bool named = text.size() > 2 && text[0] == '0' && letter != '\0' &&
                     std::tolower(static_cast<unsigned char>(text[1])) == letter;
  if (named) text.remove_prefix(2);
  std::int64_t out = 0;
  refused = text.empty();
  for (const char c : text) {
    const auto sign = static_cast<unsigned char>(c);
    const std::int64_t digit = std::isdigit(sign) != 0   ? c - '0'
                               : std::isalpha(sign) != 0 ? std::tolower(sign) - 'a' + 10
                                                         : kMost;
    refused = refused || digit >= base;
    if (out > (std::numeric_limits<std::int64_t>::max() - digit) / base) return std::nullopt;
    out = out * base + digit;
  }
  if (refused) return std::nullopt;
  return negative ? -out : out;
}

std::optional<std::string> substituted(std::string_view pattern, std::string_view by, std::string_view text) {
  if (!plain(pattern) || !plain(text) || by.find('\\') != std::string_view::npos) return std::nullopt;
  if (const auto letters = Pattern(pattern).letters()) return replaced(std::string(text), *letters, by);
  bool several = false;
  const auto set = Pattern(pattern).set(several);
  if (!set) return std::nullopt;
  std::string out;
  bool inside = false;
  for (const char c : text) {
    const bool meets = (*set)[static_cast<std::size_t>(c)];
    if (!meets) out += c;
    if (meets && !(several && inside)) out += by;
    inside = meets;
  }
  return out;
}

}  // namespace preflight::sources::program
