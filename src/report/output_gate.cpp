#include "src/report/output_gate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "src/report/style.h"

namespace preflight::report {
namespace {

struct Step {
  std::size_t size = 0;  // bytes taken; 0: the text ends inside a character or sequence
  bool harmless = false;
  bool is_character = false;  // `code` is one
  std::uint32_t code = 0;
};

// The program's own sequences: its colours, where it colours, and "clear to the end of the line" of the progress line.
// Any other is somebody's text.
Step escape_sequence(std::string_view text, OutputGate::Returns returns) {
  bool may_become = false;
  const auto is = [&](std::string_view own) {
    may_become = may_become || own.starts_with(text);
    return text.starts_with(own);
  };
  if (returns == OutputGate::Returns::kPass && is("\033[K")) return {3, true};
  if (Style::in_use()) {
    for (const std::string_view code : Style::kCodes) {
      const std::string own = "\033[" + std::string(code) + "m";
      if (is(own)) return {own.size(), true};
    }
  }
  return {may_become ? 0U : 1U, false, true, 0x1B};
}

// One character of UTF-8: overlong forms, surrogates and what lies beyond Unicode are none.
Step character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (size == 0) return {1};
  std::uint32_t code = first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if (i == text.size()) return {};
    if ((byte(i) & 0xC0U) != 0x80U) return {1};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[size] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {1};
  return {size, true, true, code};
}

// Characters that do something to the text around them, or that nobody sees.
bool acts(std::uint32_t code) {
  constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 10> kRanges = {
      {{0x7F, 0x9F},          // DEL and C1
       {0xAD, 0xAD},          // soft hyphen
       {0x61C, 0x61C},        // direction
       {0x180E, 0x180E},      // no width
       {0x200B, 0x200F},      // no width, direction
       {0x2028, 0x202E},      // separators, direction
       {0x2060, 0x206F},      // no width, direction
       {0xFEFF, 0xFEFF},      // byte order mark
       {0xFFF9, 0xFFFB},      // annotations
       {0xE0000, 0xE007F}}};  // tags
  const bool is_no_character = (code & 0xFFFEU) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF);  // XML takes none
  return is_no_character ||
         std::ranges::any_of(kRanges, [&](const auto& r) { return code >= r.first && code <= r.second; });
}

Step next(std::string_view text, OutputGate::Returns returns) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first == 0x1B) return escape_sequence(text, returns);
  if (first < 0x80) {
    const bool harmless = (first >= 0x20 && first < 0x7F) || first == '\n' || first == '\t' ||
                          (first == '\r' && returns == OutputGate::Returns::kPass);
    return {1, harmless, true, first};
  }
  Step step = character(text);
  if (step.is_character) step.harmless = !acts(step.code);
  return step;
}

bool is_plain(char c) {
  const auto u = static_cast<unsigned char>(c);
  return c == '\n' || (u >= 0x20 && u < 0x7F);
}

// Eight printable ASCII bytes at once: one that is below a blank, a delete, or has its highest bit set shows in the
// highest bit of its place.
bool are_printable(const char* eight) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, eight, sizeof bytes);
  const std::uint64_t deletes = bytes ^ (kEach * 0x7F);
  const std::uint64_t shown = bytes | ((bytes - kEach * 0x20) & ~bytes) | ((deletes - kEach) & ~deletes);
  return (shown & (kEach * 0x80)) == 0;
}

// How many bytes from the front on are printable ASCII and line ends: nearly all text is, and this is quickly told.
std::size_t plain_front(std::string_view text) {
  constexpr std::size_t kAtOnce = sizeof(std::uint64_t);
  std::size_t at = 0;
  while (at < text.size()) {
    if (at + kAtOnce <= text.size() && are_printable(text.data() + at)) {
      at += kAtOnce;
    } else if (is_plain(text[at])) {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

// Writes what passes to `out`; returns how much of `text` was dealt with.
std::size_t filter(std::string_view text, bool is_end, OutputGate::Returns returns, std::string& out) {
  std::size_t at = 0;
  while (true) {
    const std::size_t plain = plain_front(text.substr(at));
    out += text.substr(at, plain);
    at += plain;
    if (at == text.size()) break;
    Step step = next(text.substr(at), returns);
    if (step.size == 0 && !is_end) break;
    step.size = std::max<std::size_t>(step.size, 1);
    if (step.harmless) {
      out += text.substr(at, step.size);
    } else if (step.is_character && step.code > 0xFFFF) {
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0 + (step.code >> 10U), 0xDC00 + (step.code & 0x3FFU));
    } else if (step.is_character) {
      out += fmt::format("\\u{:04x}", step.code);
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
    }
    at += step.size;
  }
  return at;
}

}  // namespace

std::string gated(std::string_view text) {
  std::string out;
  filter(text, true, OutputGate::Returns::kNone, out);
  return out;
}

OutputGate::OutputGate(std::ostream& stream, Returns returns)
    : stream_(stream), target_(stream.rdbuf(this)), returns_(returns) {}

OutputGate::~OutputGate() {
  pass({}, true);
  stream_.rdbuf(target_);
}

bool OutputGate::pass(std::string_view text, bool is_end) {
  used_ = used_ || !text.empty();
  const auto write = [this](std::string_view part) {
    return target_->sputn(part.data(), static_cast<std::streamsize>(part.size())) ==
           static_cast<std::streamsize>(part.size());
  };
  if (held_.empty() && plain_front(text) == text.size()) return write(text);
  held_ += text;
  std::string out;
  held_.erase(0, filter(held_, is_end, returns_, out));
  return write(out);
}

OutputGate::int_type OutputGate::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  return pass({&one, 1}, false) ? c : traits_type::eof();
}

std::streamsize OutputGate::xsputn(const char* text, std::streamsize size) {
  return pass({text, static_cast<std::size_t>(size)}, false) ? size : 0;
}

int OutputGate::sync() {
  const bool passed = pass({}, true);
  return target_->pubsync() == 0 && passed ? 0 : -1;
}

}  // namespace preflight::report
