// Where a text names a launch, and which of these places only talk of one: comments, words for grep and pkill, prose.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "src/sources/readers/readers.h"

namespace preflight::sources {

// Places that name a launch and may be meant to run it, in their order.
std::vector<std::size_t> meant_mentions(std::string_view text, FileKind kind);
// Whether a launch is named anywhere.
bool mentions_launch(std::string_view text);

// A place of shell text that names a server with arguments.
struct NamedServer {
  std::size_t at = 0;
  bool in_passing = false;  // in a comment, or in what a program prints
};
std::vector<NamedServer> servers_named_in(std::string_view text);
bool names_server(std::string_view text);

}  // namespace preflight::sources
