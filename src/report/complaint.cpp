#include "src/report/complaint.h"

#include <iostream>
#include <string>

#include "src/report/printable.h"

namespace preflight::report {

namespace {

std::string& last() {
  static std::string text;
  return text;
}

}  // namespace

void complain(std::string_view why) {
  last() = why;
  std::cerr << "xpu-preflight: " << printable(why) << '\n';
}

std::string_view last_complaint() { return last(); }

}  // namespace preflight::report
