// A remedy's sentence, and remedies of a launch from what a rule's record says.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/remedy.h"
#include "preflight/rule.h"

namespace preflight::rules {

// Of many values that would do, this many are worth telling, the nearest first.
inline constexpr std::size_t kFewValues = 3;
// Stands for an address that only the user knows.
inline constexpr std::string_view kSomeAddress = "HOST:PORT";

std::string words_of(const Remedy& remedy);
// "another card", "4 other cards": a remedy's cards that have no name; "" where they have one, or it names none.
std::string unnamed_cards(std::string_view device);
// "--page-size 64 or 128, or SGLang 0.5.20": any of them.
std::string words_of(const std::vector<Remedy>& remedies);

// What the rule's record says, whatever the launch.
std::vector<Remedy> remedies_of(const Rule& rule);
std::string fix_of(const Rule& rule);

// Remedies with a launch's own values.
Remedy to_give(std::string option, std::vector<std::string> values = {});
Remedy to_drop(std::string option);
Remedy in_words(std::string text);
Remedy with_release(std::string release);
Remedy with_cards(std::int64_t count);  // so many such cards in all
Remedy on_another_card();
Remedy on_other_cards(std::int64_t count);
Remedy together(std::initializer_list<Remedy> parts);

// Leaves out what the release's parser does not take: options it lacks, values that are none of an option's choices,
// options without the value that they take.
// Says the rest in `fix`, where there is any.
void say_remedies(Diagnostic& d, Release release);
void say_remedies(Diagnostic& d);

}  // namespace preflight::rules
