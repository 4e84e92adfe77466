// Result<T>: a value, or the one-line reason why the world did not provide it (file, JSON, device, build).
// The user's own mistakes are Diagnostics (diagnostic.h), not Errors; our bugs are asserts.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace preflight {

struct Error {
  std::string message;     // one sentence, no trailing newline
  std::string where = {};  // "file:line:column", a path, or empty

  [[nodiscard]] std::string text() const { return where.empty() ? message : where + ": " + message; }
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> failure(std::string message, std::string where = {}) {
  return tl::make_unexpected(Error{std::move(message), std::move(where)});
}

}  // namespace preflight
