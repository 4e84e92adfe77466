// Reading a file as a whole, for the places where the user names one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <istream>
#include <string>

#include "preflight/result.h"

namespace preflight {

// Standard input and process substitution, `<(command)`, by their names. Other pipes and devices are not read: nobody
// may ever write to a pipe that has a name, and a device never ends.
bool is_opened_for_us(const std::string& path);
// A named pipe, open for reading, that somebody writes to; -1 where nobody does within a moment.
int open_pipe(const std::string& path);

// What looks like a file may still wait for whoever writes it, as /proc/kmsg does. Ask before one is opened that a user
// named, or that lies where users put files.
bool would_wait(const std::string& path);

// Of the system's own small files, or of a tree that stands in for them: "" for a pipe, a device or what is not there,
// and no more than anything there ever holds.
std::string system_text(const std::filesystem::path& path);

Result<std::string> read_whole(std::istream& in, const std::string& name);
// "-" is standard input when `allow_stdin`. Errors name the path and say what it is instead of a readable file.
Result<std::string> read_text(const std::string& path, bool allow_stdin = false);

}  // namespace preflight
