// What the shells and programs that this thread follows give what has a name, however it comes there: `set -- TEXT;
// KEY=$1`, `token = "a" + "b"`. Who shows their launches hides what is a secret by its name. Tested by
// tests/conceal_test.cpp.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace preflight::sources {

class AssignedValues {
 public:
  static void note(const std::string& name, std::string_view value) {
    constexpr std::size_t kShortest = 8;  // shorter ones are words of other texts, too
    constexpr std::size_t kLongest = 4096;
    constexpr std::size_t kMostBytes = std::size_t{4} << 20U;
    constexpr std::size_t kCost = 128;  // that one takes beside its text
    Noted& all = noted();
    if (name.empty() || value.size() < kShortest || value.size() > kLongest || all.bytes > kMostBytes) return;
    if (all.values[name].emplace(value).second) all.bytes += name.size() + value.size() + kCost;
  }
  static std::map<std::string, std::set<std::string>> take() { return std::exchange(noted(), {}).values; }

 private:
  struct Noted {
    std::map<std::string, std::set<std::string>> values;
    std::size_t bytes = 0;
  };
  static Noted& noted() {
    thread_local Noted values;
    return values;
  }
};

}  // namespace preflight::sources
