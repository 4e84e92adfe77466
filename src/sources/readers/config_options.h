// Whose options a file of `KEY: VALUE` lines holds. Tested by tests/sources_test.cpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace preflight::sources {

// SGLang's, where a key is an option of its alone; those of some server, where others take them as well; nobody's.
enum class OptionsOf : std::uint8_t { kNobody, kSomeServer, kSglang };
OptionsOf options_of_config(std::string_view text);

}  // namespace preflight::sources
