#include "src/report/complaint.h"

#include <iostream>
#include <string>

#include "src/intake/secret_text.h"
#include "src/report/printable.h"

namespace preflight::report {

namespace {

std::string& last() {
  static std::string text;
  return text;
}

}  // namespace

void complain(std::string_view why) {
  std::string shown(why);
  commands::hide_parts(shown);  // names of files and addresses are the user's own
  last() = shown;
  std::cerr << "xpu-preflight: " << printable(shown) << '\n';
}

void complain(std::string_view why, std::string_view log) {
  complain(why);
  if (!log.empty()) std::cerr << log << '\n';
}

std::string_view last_complaint() { return last(); }

}  // namespace preflight::report
