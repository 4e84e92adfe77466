#include "src/report/print.h"

#include <iostream>

namespace preflight::report {

void print(std::string_view text) { std::cout.write(text.data(), static_cast<std::streamsize>(text.size())); }

void print_error(std::string_view text) { std::cerr.write(text.data(), static_cast<std::streamsize>(text.size())); }

void flush_all() {
  std::cout.flush();
  std::cerr.flush();
}

void ProgressLine::say(std::string_view what) const {
  if (shown_) std::cerr << "\r\033[K" << what << std::flush;
}

ProgressLine::~ProgressLine() {
  if (shown_) std::cerr << "\r\033[K" << std::flush;
}

}  // namespace preflight::report
