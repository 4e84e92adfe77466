// A shell's integer arithmetic: what stands in $((…)), ((…)) and for ((…;…;…)). Numbers have 64 bits and wrap, as in
// bash; its operators, with their precedence and short circuits, are all here but subscripts of arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace preflight::sources {

// The shell's variables as arithmetic sees them.
struct ArithmeticNames {
  // nullopt: the value is not known here, or is no number. An unset variable counts as 0 only where that is known.
  std::function<std::optional<std::int64_t>(const std::string& name)> value;
  std::function<void(const std::string& name, std::int64_t value)> assign;
};

// What `text`, its parameters expanded, comes to. nullopt where an operand is not known, and where bash ends with an
// error (a division by 0, a syntax error); assignments on the way there have then been made.
std::optional<std::int64_t> arithmetic(std::string_view text, const ArithmeticNames& names);

// Whether it reads as an expression, whatever its names hold.
bool is_arithmetic(std::string_view text);

// A constant as bash writes it: decimal, 0x…, 0… (octal), BASE#…; nullopt where `text` is none.
std::optional<std::int64_t> arithmetic_constant(std::string_view text);

}  // namespace preflight::sources
