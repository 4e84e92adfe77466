// Variables whose text is one of a few words: what becomes of another word, which the release replaces or ends with.
// Read in the releases' code, since sglang.srt.environ calls them all text. Tested by
// tests/environment_values_test.cpp.
#pragma once

#include <string>

#include "preflight/release.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {

// There is an engine: variables that only its parts read are read.
inline bool serves_text(const LaunchFacts& f) { return !f.on(Field::encoder_only); }

// What the release does with a word that it does not know; "" where it knows the word or asks for none.
std::string word_not_taken(Release release, const std::string& name, const std::string& value);
// The same where the server ends with it in such a launch.
std::string word_ends_the_server(const LaunchFacts& f, const std::string& name, const std::string& value);
// The release's own spelling of what was meant; "" where that cannot be told.
std::string word_meant(Release release, const std::string& name, const std::string& value);

}  // namespace preflight::rules
