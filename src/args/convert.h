// Converters: what argparse's `type=` functions make of one argument. Tested by tests/args_parse_test.cpp.
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "src/args/option_index.h"

namespace preflight::args {

struct ConvertFault {
  std::string reason;          // our own words
  std::string exception = {};  // not empty: argparse does not catch it, and the launch ends with this exception
  std::string function = {};   // the SGLang function at the top of its traceback
};

tl::expected<Value, ConvertFault> convert(Converter converter, std::string_view text, Release release);

}  // namespace preflight::args
