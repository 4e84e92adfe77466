// What the shells that this thread follows give their variables, however it comes there: `set -- TEXT; KEY=$1`. Who
// shows their launches hides what is a secret by its name. Tested by tests/conceal_test.cpp.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/limits.h"

namespace preflight::sources {

class AssignedValues {
 public:
  static void note(const std::string& name, std::string_view value) {
    constexpr std::size_t kShortest = 8;  // shorter ones are words of other texts, too
    constexpr std::size_t kLongest = 4096;
    if (value.size() < kShortest || value.size() > kLongest || all().size() >= limits::kVariables) return;
    all()[name].emplace(value);
  }
  static std::map<std::string, std::set<std::string>> take() { return std::exchange(all(), {}); }

 private:
  static std::map<std::string, std::set<std::string>>& all() {
    thread_local std::map<std::string, std::set<std::string>> values;
    return values;
  }
};

}  // namespace preflight::sources
