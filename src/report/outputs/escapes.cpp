// Tested by tests/output_consumers.py.
#include "src/report/outputs/escapes.h"

#include <cctype>

#include <fmt/format.h>

#include "src/report/output_gate.h"
#include "src/report/printable.h"

namespace preflight::report {
namespace {

std::string one_line(std::string_view text) { return printable(gated(text)); }

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) > 0x7F;
}

}  // namespace

std::string markup_text(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string markdown_text(std::string_view text) {
  constexpr std::string_view kHarmless = " .,/%-=;()+?'\"";
  const std::string line = one_line(text);
  std::string out;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    const bool link = line.compare(at, 4, "www.") == 0;  // GitHub makes a link of what begins so
    if (!link && (is_plain(c) || kHarmless.find(c) != std::string_view::npos)) {
      out += c;
    } else {
      out += fmt::format("&#{};", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string markdown_code(std::string_view text) { return "<code>" + markdown_text(text) + "</code>"; }

std::string command_data(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
    if (c == '%')
      out += "%25";
    else
      out += c;
  }
  return out;
}

std::string command_property(std::string_view text) {
  std::string out;
  for (const char c : command_data(text)) {
    if (c == ':')
      out += "%3A";
    else if (c == ',')
      out += "%2C";
    else
      out += c;
  }
  return out;
}

std::string uri_of_path(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  std::string out = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool unreserved = (static_cast<unsigned char>(c) < 0x80 && is_plain(c)) ||
                            std::string_view("-._~/").find(c) != std::string_view::npos;
    out += unreserved ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace preflight::report
