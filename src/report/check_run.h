// What `check` found, of one launch or of every launch in many files, as data that each output format is written from.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/report.h"
#include "src/report/facts_text.h"

namespace preflight::report {

struct CheckedLaunch {
  std::string title = {};  // "deploy/a.yaml:7 decode", "command line"
  std::string file = {};   // "" where it stands in none
  int line = 0;            // of its first word
  std::shared_ptr<const std::vector<int>> wide_lines =
      {};                               // of the file: with other characters than ASCII, where columns are not bytes
  std::optional<ReadLaunch> read = {};  // of a launch in a file
  std::optional<Report> report = {};    // none: it was not checked
  std::string why = {};                 // it was not; "" where read->unknown tells
  int exit_status = 0;
};

// Nodes of one launch, looked at together; without launches it is about the paths themselves.
struct CheckedGroup {
  std::string what;
  std::vector<std::string> launches;  // their titles
  std::vector<Diagnostic> findings;
  std::vector<Ignored> ignored;
};

struct SkippedFile {
  std::string file;
  std::string why;
  bool named = false;        // by the user
  bool unread = false;       // what it holds nobody knows
  bool passed_over = false;  // no file of this folder: a pipe, a link to nothing or elsewhere

  [[nodiscard]] bool counts() const { return named || unread; }
  [[nodiscard]] std::string_view word() const { return unread ? "not readable" : "skipped"; }
};

// About what was to be ignored: an entry that is stale, has expired, or cannot be read.
struct IgnoreNote {
  std::string place;  // file:line
  std::string text;
};

struct CheckRun {
  bool several = false;   // files were looked at, not one launch
  std::size_t files = 0;  // of those
  std::vector<CheckedLaunch> launches = {};
  std::vector<CheckedGroup> groups = {};
  std::vector<SkippedFile> skipped = {};
  std::vector<IgnoreNote> ignore_notes = {};
  std::string policy_file = {};  // that was read; "" for none
  int exit_status = 0;

  [[nodiscard]] std::size_t ignored() const;  // findings, of all launches and groups
};

// A launch that the item is about, too.
struct ItemPlace {
  std::string file;
  int line = 0;
  std::string launch;
};

// One thing to tell, with its place: a finding, a launch that was not checked, a kernel that was wrong.
struct Item {
  std::string rule;  // "not-checked", "kernel" and "skipped-file" are no rules
  Severity severity = Severity::kError;
  std::string message;
  std::string certainty = {};  // "likely"; "" where it is certain, or the message says what it rests on
  std::string why = {};
  std::string fix = {};
  std::string source = {};
  std::string launch = {};  // its title
  std::string file = {};    // "" for none
  int line = 0;             // from 1; 0 for none
  int column = 0;
  std::vector<ItemPlace> related = {};  // of a finding about several launches: the others
  const Ignored* ignored = nullptr;
  bool failing = false;          // the run fails for it
  std::string fingerprint = {};  // the same as long as the finding stays where it is; no two items of a run share one
};

// What became of the launches.
struct RunCounts {
  std::size_t checked = 0;
  std::size_t failed = 0;      // of these
  std::size_t refused = 0;     // of these, by SGLang
  std::size_t doubtful = 0;    // of these
  std::size_t incomplete = 0;  // of these
  std::size_t unknown = 0;     // not checked: something in them is not known
  std::size_t unread = 0;      // not checked: the command is understood, its model or options cannot be read
  std::size_t unread_files = 0;
  std::size_t skipped_files = 0;  // read, and without a launch
  std::size_t failed_groups = 0;  // launches that do not fit together
};
RunCounts counts_of(const CheckRun& run);
bool something_unknown(const CheckedLaunch& launch);

// The message with how sure it is, where that is not certain.
std::string told(const Item& item);
std::string told(const Diagnostic& finding);

// What the launches that were checked are judged against.
SharedFacts shared_facts(const CheckRun& run);
// "; " and what of it is this launch's own, "" where nothing is.
std::string own_words(const SharedFacts& shared, const Report& report);

// In the order of the launches; what was ignored behind what was found.
std::vector<Item> items_of(const CheckRun& run);
// Those of one launch alone, and those that no launch alone is answerable for.
std::vector<Item> items_of(const CheckedLaunch& launch);
std::vector<Item> items_beside_launches(const CheckRun& run);

// The names that are no rules, with what they mean.
inline constexpr std::string_view kNotChecked = "not-checked";
inline constexpr std::string_view kUnnamed = "sglang";
inline constexpr std::string_view kKernelItem = "kernel";
inline constexpr std::string_view kSkippedFile = "skipped-file";
// Verdicts whose finding is ignored: they stay what they are, and have to be told.
inline constexpr std::string_view kRefused = "refused";
inline constexpr std::string_view kDoubtful = "doubtful";
inline constexpr std::string_view kIncomplete = "incomplete";
// Neither a finding nor a kernel: only there to name such a verdict.
bool is_verdict(const Item& item);
std::string_view summary_of(std::string_view rule_or_kind);

// "1 error, 2 warnings, 0 changes, 3 notes, 1 ignored": of one launch that was checked.
std::string counts_of_findings(const Report& report);
// The same behind its verdict, and in front of what makes it doubtful.
std::string counts_text(const Report& report);
// Nothing wrong was found, and nothing is left open.
bool is_good(const Report& report);
// "kernel: pass, 4 cases", "kernel: not run: --no-kernel was given".
std::string kernel_words(const Report& report);
// Worth a line of its own where room is dear: not a mere note, not ignored.
bool is_worth_telling(const Item& item);

}  // namespace preflight::report
