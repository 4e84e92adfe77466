// The head of every report, and `facts`: what a launch is judged against, and where each fact came from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "preflight/machine_facts.h"
#include "src/facts/cards.h"
#include "src/report/style.h"

namespace preflight::report {

// What launches of one report are judged against: what they share stands in its head, the rest with each of them. The
// first line is the facts, in plain text; each other is a note.
class SharedFacts {
 public:
  explicit SharedFacts(const std::vector<const MachineFacts*>& launches);
  [[nodiscard]] std::vector<std::string> head() const;
  [[nodiscard]] std::vector<std::string> own(const MachineFacts& launch) const;  // empty: the head has said it all

 private:
  std::vector<std::string> parts_;
  std::vector<std::string> notes_;
};

// The same in one line, "" for none.
std::string one_line(const std::vector<std::string>& lines);
// Lines in front of a text, dimmed and with an empty line behind them; "" where there are none.
std::string head_text(const std::vector<std::string>& lines, const Style& style);
// What is the launch's own, beside what all share, indented below its name.
std::string own_text(const SharedFacts& shared, const std::optional<MachineFacts>& launch, const Style& style);
// The head of a report on one launch; "" where no machine was looked at.
std::string facts_head(const std::optional<MachineFacts>& facts, const Style& style);
// Everything, one fact a line.
std::string facts_text(const MachineFacts& facts, const Style& style);
// {"release": {"value", "origin", "place"}, "model": …, "device": {…}, "host": …, "packages": […], "notes": […]}
nlohmann::ordered_json facts_json(const MachineFacts& facts);
nlohmann::ordered_json facts_json(const std::optional<MachineFacts>& facts);  // null where no machine was looked at
// The same as a document of its own, with the cards that the launch's variables choose among; `cards` null: not those
// of a machine, or some are left out already.
std::string facts_document(const MachineFacts& facts, const facts::Machine* cards);

}  // namespace preflight::report
