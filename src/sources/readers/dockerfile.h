// What a Dockerfile installs while it is built. Tested by tests/launches_test.cpp.
#pragma once

#include <string>

#include "src/sources/readers/readers.h"

namespace preflight::sources {

// The texts of its RUNs, with the values of ARG and ENV in the words that name SGLang. Empty: it is not understood.
std::string installs_of(const SourceText& dockerfile);

}  // namespace preflight::sources
