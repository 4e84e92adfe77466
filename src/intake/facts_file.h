// --facts FILE: the text of `facts --format json`, or a report in JSON that holds it, read back.
//
// People write and change such files by hand: a key, a type or an origin that is none is refused by its name, never
// passed over. Tested by facts_command_test.cpp.
#pragma once

#include <string>

#include "preflight/machine_facts.h"
#include "preflight/result.h"
#include "src/facts/cards.h"

namespace preflight::commands {

struct FactsOfFile {
  MachineFacts facts;
  facts::Machine cards;        // that make up what it says of the device; none where it says something else
  bool count_settled = false;  // --device-count said there how many there are, whatever variables would leave
};

// What the file leaves out stays unknown. What was assumed there is assumed here; the rest is from this file.
// `device_place` is the file where it says anything of a card.
Result<FactsOfFile> read_facts(const std::string& file);

}  // namespace preflight::commands
