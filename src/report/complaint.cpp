#include "src/report/complaint.h"

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "src/intake/open_text.h"
#include "src/intake/secret_text.h"
#include "src/report/printable.h"

namespace preflight::report {

namespace {

std::string& last() {
  static std::string text;
  return text;
}

std::vector<std::string>& typed_words() {
  static std::vector<std::string> words;
  return words;
}

}  // namespace

void complain_without(std::vector<std::string> typed) { typed_words() = std::move(typed); }

void complain(std::string_view why) {
  std::string shown(why);
  commands::hide_typed(shown, typed_words());
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
