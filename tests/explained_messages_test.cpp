// Messages of tests/data/messages.txt, as releases, Python, torch and drivers print them, lead to the rules that stand
// beside them; and every message that the program knows by heart is met by one of them.
#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "src/rules/late_messages.h"
#include "src/rules/messages.h"
#include "tests/support/paths.h"

namespace preflight::rules {
namespace {

// A line of the file. What it names of exception and place is needed: without it the message leads elsewhere.
struct Printed {
  std::string rules;      // likeliest first; "-": none
  std::string function;   // that is told
  std::string exception;  // "": none is named
  std::string place;      // FILE:FUNCTION of the traceback's last line; "": no traceback
  std::string words;
};

std::vector<Printed> printed() {
  std::ifstream file(testing::source_directory() + "/tests/data/messages.txt");
  std::vector<Printed> all;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::vector<std::string> cells(1);
    for (const char c : line) {
      if (c == '|' && cells.size() < 5) {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    for (std::string& cell : cells) {
      cell.erase(0, cell.find_first_not_of(' '));
      cell.erase(cell.find_last_not_of(' ') + 1);
    }
    cells.resize(5);
    all.push_back({cells[0], cells[1], cells[2], cells[3], cells[4]});
  }
  return all;
}

std::string text_of(const Printed& p) {
  std::string text;
  if (!p.place.empty()) {
    const auto colon = p.place.find(':');
    text = fmt::format("Traceback (most recent call last):\n  File \"/x/{}\", line 7, in {}\n    f()\n",
                       p.place.substr(0, colon), p.place.substr(colon + 1));
  }
  if (p.exception.empty()) return text + p.words;
  return text + p.exception + (p.words.empty() ? "" : ": " + p.words);
}

std::string rules_told(const std::vector<MessagePlace>& places) {
  if (places.empty() || places.front().rule == nullptr) return "-";
  std::string told(places.front().rule->id);
  for (const Rule* other : places.front().others) told.append(" ").append(other->id);
  return told;
}

std::string told(const Printed& p) {
  const auto places = places_of(read_message(text_of(p)));
  if (places.empty()) return "nothing";
  return rules_told(places) + " | " + std::string(places.front().function);
}

TEST(PrintedMessages, LeadToTheirRules) {
  ASSERT_FALSE(printed().empty());
  for (const Printed& p : printed()) EXPECT_EQ(told(p), p.rules + " | " + p.function) << text_of(p);
}

TEST(PrintedMessages, OfAnotherExceptionOrPlaceLeadElsewhere) {
  for (const Printed& p : printed()) {
    Printed other = p;
    other.exception = "RecursionError";
    EXPECT_TRUE(p.exception.empty() || told(other) != told(p)) << text_of(other);
    other = p;
    other.place = "elsewhere.py:somewhere";
    EXPECT_TRUE(p.place.empty() || told(other) != told(p)) << text_of(other);
  }
}

TEST(PrintedMessages, OfAnotherAssertionLeadNowhere) {
  const auto places = [](const char* file, const char* function, const char* words) {
    return places_of(read_message(
        fmt::format("  File \"/x/sglang/srt/{}\", line 7, in {}\n    f()\nAssertionError: {}", file, function, words)));
  };
  EXPECT_TRUE(places("models/roberta.py", "forward", "is only used for rerank").empty());
  EXPECT_FALSE(places("models/roberta.py", "forward", "").empty());
  EXPECT_TRUE(places("layers/attention/deepseek_v4_backend.py", "apply_cp_reindex", "7 is not divisible by 2").empty());
  EXPECT_FALSE(places("distributed/utils.py", "ensure_divisibility", "7 is not divisible by 2").empty());
}

// The words of a rule's message stand in longer ones of other places, too: those are another assertion's.
TEST(PrintedMessages, ThatSayMoreThanTheWordsOfARuleLeadElsewhere) {
  const auto rule = [](const char* text) { return rules_told(places_of(read_message(text))); };
  EXPECT_EQ(rule("AssertionError: 20 is not divisible by 8"), "PL003 PL004 PL009 VI005");
  EXPECT_EQ(rule("[2026-11-27 TP0] AssertionError: 20 is not divisible by 8\nKilled"), "PL003 PL004 PL009 VI005");
  EXPECT_EQ(rule("AssertionError: 20 is not\ndivisible by 8"), "PL003 PL004 PL009 VI005");
  EXPECT_EQ(rule("20 is not divisible by 8"), "PL003 PL004 PL009 VI005");
  EXPECT_EQ(rule("AssertionError: apply_cp_reindex: global token count 7 is not divisible by cp_size=2"), "-");
  EXPECT_EQ(rule("apply_cp_reindex: global token count 7 is not divisible by 2"), "-");
  EXPECT_EQ(rule("AssertionError: 7 is not divisible by cp_size 2"), "-");
  EXPECT_EQ(rule("RuntimeError: Paged experts: requires the triton or Marlin MoE runner, the layer's method uses x"),
            "-");
  EXPECT_EQ(rule("AssertionError: Hidden size mismatch"), "MO011");
  EXPECT_EQ(rule("AssertionError: Hidden size mismatch\n[rank0] shutting down"), "MO011");
  EXPECT_EQ(rule("AssertionError: Hidden size mismatch w1"), "-");
  EXPECT_EQ(rule("AssertionError: Hidden size mismatch between a, w1 and w2"), "-");
}

// Whatever a configuration raises while it is read is a refusal of arguments, which `check` names with its cause.
TEST(PrintedMessages, OfAConfigurationThatIsReadLeadToItsReader) {
  const auto told_of = [](const char* file, const char* function, const char* last) {
    const auto places =
        places_of(read_message(fmt::format("  File \"/x/sglang/srt/{}\", line 7, in {}\n    f()\n  File "
                                           "\"/x/site-packages/transformers/a.py\", line 8, in "
                                           "g\n    h()\n{}",
                                           file, function, last)));
    return places.empty() ? std::string("nothing") : rules_told(places) + " " + std::string(places.front().function);
  };
  EXPECT_EQ(
      told_of("utils/hf_transformers/config.py", "get_config",
              "KeyError: \"Missing required keys in `rope_parameters` for 'rope_type'='llama3': {'rope_theta'}\""),
      "- get_config");
  EXPECT_EQ(told_of("utils/hf_transformers_utils.py", "get_config",
                    "huggingface_hub.errors.StrictDataclassClassValidationError: Class validation error for validator "
                    "'validate_layer_type':"),
            "- get_config");
  EXPECT_EQ(told_of("configs/model_config.py", "from_server_args", "BufferError: of its own kind"),
            "- from_server_args");
  EXPECT_EQ(told_of("arg_groups/pipeline.py", "run_resolution_pipeline", "BufferError: of its own kind"),
            "- run_resolution_pipeline");
  EXPECT_EQ(told_of("models/llama.py", "forward", "BufferError: of its own kind"), "nothing");
}

using Row = std::tuple<std::string_view, std::string_view, std::string_view, std::string>;

TEST(PrintedMessages, MeetEveryLateMessageThatIsKnown) {
  std::set<Row> met;
  for (const Printed& p : printed()) {
    const auto places = places_of(read_message(text_of(p)));
    if (places.empty()) continue;
    met.emplace(places.front().marker, places.front().kind, places.front().function, rules_told(places));
  }
  for (const LateMessage& row : late_messages()) {
    EXPECT_TRUE(met.contains(Row(row.words, row.kind, row.function, row.rules)))
        << row.words << " of " << row.kind << " in " << row.function << row.file << " is printed by none";
  }
}

}  // namespace
}  // namespace preflight::rules
