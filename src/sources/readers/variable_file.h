// Files of variables that compose reads: `.env` beside the compose file, and those of `env_file`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/sources/shell.h"

namespace preflight::sources {

// Python's dotenv takes no `NAME: VALUE`.
enum class Dotenv : std::uint8_t { kCompose, kPython };

// NAME=VALUE lines as compose reads them: comments, quotes over several lines, `export`, variables of lines above and
// of `known`. Every value is told at `offset`; one that depends on what nobody knows is unknown.
Values variables_of(std::string_view text, const Variables& known, std::size_t offset, Dotenv kind = Dotenv::kCompose);

// NAME=VALUE lines as `docker run --env-file` and podman read them: a value is what stands there, quotes and all.
Values raw_variables_of(std::string_view text, std::size_t offset);

// The file that a file named `source` calls `path`; nullopt where nobody knows what `source` is, where there is no such
// file, and where it is none that holds variables. Nothing else is opened.
std::string place_of_file(std::string_view source);  // from the root; "" where it is no file
std::optional<std::string> file_beside(std::string_view source, std::string_view path);
// Why a file that stands there is not read, of which `name` is told; "" where it is, and where there is none.
std::string unread_beside(std::string_view source, std::string_view path, std::string_view name = {});

}  // namespace preflight::sources
