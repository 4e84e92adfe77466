// Upstream's functions by release: one record for each, with all that differs in how a release calls it.
//
// A handler is a method `_handle_x` up to 0.5.18 and a function `handle_x` since; logging and tracebacks name it so,
// while the source of what it sets stays `_handle_x`. Steps name it either way. Some were part of a larger method in
// the first releases or had another name, some never had or always keep the underscore, as the passes do that came out
// of a handler. What is in no record is called as it is written: other passes, the model overrides, functions of other
// packages.
// Tested by tests/handlers_test.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "preflight/release.h"

namespace preflight::resolve {

struct Handler {
  std::string_view name;                 // without underscore
  Release underscored_until = v0_5(19);  // tracebacks say _name up to there
  bool assigns = true;                   // up to 0.5.18 it assigns fields, where passes declare them
  std::string_view part_of = {};         // the larger method that held it, or what it was called …
  Release part_until = v0_5(0);          // … in releases before this one
};

std::span<const Handler> handlers();  // by name
// `name` with or without its underscore; nullptr for what has no record.
const Handler* find_handler(std::string_view name);

// Where a change of `source` is recorded: the larger method, in releases where it is part of one.
std::string_view source_in_release(Release release, std::string_view source);
// A handler by its underscored name, as the release calls it: for one whose changes are recorded so, too.
std::string_view called_in(Release release, std::string_view underscored);
// What logging and tracebacks call it.
std::string traceback_name(Release release, std::string_view name);

}  // namespace preflight::resolve
