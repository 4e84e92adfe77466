// What is said after the arguments are resolved, by SGLang's worker, the kernel package, torch or the driver: the rules
// of late failures by the words, exceptions and functions of their messages.
//
// Words are a few that stand in the message, in lower case and without punctuation, and never a sentence. Where one
// message can have several causes the rules stand in the order in which a launch on an Intel GPU meets them.
// Tested by tests/messages_test.cpp.
#pragma once

#include <span>
#include <string_view>

namespace preflight::rules {

struct LateMessage {
  std::string_view words;     // "": the place alone tells
  std::string_view kind;      // the exception; "": any
  std::string_view function;  // of a frame of the traceback; "": any
  std::string_view file;      // of the same frame, with the folders that tell; "": any
  std::string_view rules;     // their ids with blanks between, likeliest first
  bool bare = false;          // the exception has no words of its own
  bool alone = false;         // beside a traceback its function tells
  bool whole = false;         // nothing else is said, numbers around the words apart
};

std::span<const LateMessage> late_messages();

}  // namespace preflight::rules
