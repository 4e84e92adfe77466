// Text of the user's own in each format's own language. All of them take the text as printable() shows it first: one
// line without control characters, without marks of direction, without bytes that are no UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace preflight::report {

// Element content and attribute values of XML and of HTML alike: & < > " ' as references.
std::string markup_text(std::string_view text);
// Prose in Markdown that stays prose, in table cells too: every sign that Markdown or HTML could read is a reference.
std::string markdown_text(std::string_view text);
// Markdown again, shown as code.
std::string markdown_code(std::string_view text);
// GitHub's workflow commands: what follows `::`, and the values of its properties.
std::string command_data(std::string_view text);
std::string command_property(std::string_view text);
// A path as a URI reference (RFC 3986): relative ones stay relative, absolute ones become file:///….
std::string uri_of_path(std::string_view path);

}  // namespace preflight::report
