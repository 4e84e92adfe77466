// Follows shell syntax with what is known of its variables: which commands run, with which words and in which
// environment. expand.cpp makes words, builtins.cpp follows what changes variables, conditions.cpp decides tests whose
// words are known.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/sources/shell.h"
#include "src/sources/shell/state.h"
#include "src/sources/shell/syntax.h"
#include "src/sources/text_lines.h"

namespace preflight::sources {

class ShellParser;

std::optional<std::string> quoted_for_shell(std::string_view text);

enum class Status { kTrue, kFalse, kUnknown };

// What ends the line alone that it stands in, at the top of a text, and not the shell.

bool is_special_builtin(std::string_view name);  // as POSIX has it

// How much is followed in one text, all that it calls included. One of these for a text and the shells it starts.
struct ShellBudget {
  std::size_t steps = 1'500'000;  // characters of words, variables copied, commands run
  int depth = 0;
  std::size_t open_words = 0;           // of the texts that run around this one: eval, trap, files
  std::optional<TextLines> lines = {};  // of the pasted text, once a place of it is told
};

class ShellEvaluator {
 public:
  ShellEvaluator(const ShellText& script, std::string_view pasted, const ShellStart& start, ShellBudget& budget);

  // All of the text. Errors: those of the parser, and a text that needs more steps than are taken.
  Result<bool> run();
  // Words as a variable's value.
  ShellText expand_text(const Parts& parts);
  std::vector<ShellNote> take_notes() { return std::move(notes_); }
  [[nodiscard]] const ShellState& state() const { return state_; }
  ShellState& state() { return state_; }

 private:
  struct FileText {
    std::string file;
    TextLines lines;
  };
  struct Text {  // the text that a node's places are indices of
    const ShellText* script;
    const std::vector<HereDocument>* here_documents;
    std::string file = {};  // that it stands in; empty: in none
    bool inner = false;     // a part or a product of what runs: it stands where that does
    // Of a whole file that is another than the pasted one.
    std::shared_ptr<const FileText> whole = {};
  };
  class WordMaker;
  class Parameter;
  class Braces;

  // Keeps apart what is taken while it lives; `passes_on`: what is made around it depends on that, too.
  class Taking {
   public:
    Taking(ShellEvaluator& shell, bool passes_on)
        : shell_(shell), passes_on_(passes_on), outer_(std::exchange(shell.taken_, {})) {}
    ~Taking() {
      if (passes_on_) add_defaults(outer_, shell_.taken_);
      shell_.taken_ = std::move(outer_);
    }
    Taking(const Taking&) = delete;
    Taking& operator=(const Taking&) = delete;

   private:
    ShellEvaluator& shell_;
    bool passes_on_;
    TakenDefaults outer_;
  };

  // While it lives, variables of a test's word that nothing sets are empty.
  class NothingSet {
   public:
    NothingSet(ShellEvaluator& shell, const Word* word);
    ~NothingSet();
    NothingSet(const NothingSet&) = delete;
    NothingSet& operator=(const NothingSet&) = delete;

   private:
    ShellEvaluator& shell_;
    std::vector<std::string> names_ = {};
  };

  bool spend(std::size_t steps);
  [[nodiscard]] std::size_t outer(std::size_t at) const;
  [[nodiscard]] std::size_t line_of(std::size_t offset) const;
  void note(std::string rule, std::string message, std::size_t at);
  void too_much();

  // What commands read, line by line.
  struct Input {
    ShellText text;
    std::size_t at = 0;
  };
  // What commands print, where somebody takes it.
  struct Printed {
    ShellText text = {};
    bool known = true;
    int undecided = 0;  // branches that were open when it began
  };
  struct Loop {
    int undecided = 0;     // as above
    bool unclear = false;  // it may be left where nobody knows whether it is
  };

  // evaluator.cpp
  Status run_node(const Node& node);
  static bool counts_as_failure(const Node& node);
  void meet_failure(const Node& node, Status status);
  void note_status(const Node& node, Status status);
  Status run_kind(const Node& node);
  Status run_children(const Node& node);  // of a list
  void count_stop(std::string_view program, ShellCommand& command);
  Status run_list(const Node& node);
  void heed_end_in_loop(const ShellState& turn);
  [[nodiscard]] bool does_nothing(const Node& node) const;
  Status run_if(const Node& node);
  Status run_while(const Node& node);
  Status run_for(const Node& node);
  Status run_case(const Node& node);
  Status run_unknown_case(const Node& node);
  Status meets(const CaseArm& arm, const ShellWord& subject);
  std::optional<std::vector<const CaseArm*>> arms_taken(const Node& node, const ShellWord& subject);
  void leave_out(const Node& branch);
  void decide_by_taken();
  bool take_no_arguments(std::size_t at);
  bool asks_for_nothing(const Word& word);
  bool asks_for_nothing(const std::string& name, const Part& asked);
  [[nodiscard]] bool asks_for_arguments(std::string_view name) const;
  [[nodiscard]] bool is_test_word(const Node& node, std::size_t i) const;
  std::vector<ShellWord> nothing_in(const Word& word);
  [[nodiscard]] std::string_view written_word(const Word& word) const;
  Status run_simple(const Node& node);
  Status run_assignments(const Node& node, ShellCommand& command);
  Status run_function(const NodePtr& body, const std::vector<ShellWord>& words, std::size_t sure, bool arguments_known);
  Status meet_returns(Status status, std::size_t at);
  Status run_pipeline(const Node& node);
  bool follow_while(const Node& node);
  [[nodiscard]] bool has_no_end(const Node& node) const;
  void stay(const Said& what);
  void tell_what_is_not_reached(const Node& node);
  bool calls_itself_for_ever(const NodePtr& body, std::string_view name);
  struct Followed {
    bool clear = true;            // it is known which turns are taken
    std::size_t turns = 0;        // that were looked at: fewer than there are where that takes too many steps
    Status left = Status::kTrue;  // of the last one
  };
  Followed follow_for(const Node& node, const std::vector<ShellWord>& words, bool dry);
  void run_unknown_for(const Node& node);
  [[nodiscard]] std::string_view loop_text(const Node& node) const;
  bool ends_loop();
  void leave_loops(const std::vector<ShellWord>& words, bool goes_on);
  enum class Waits { kNo, kYes, kInPipe };  // whether the shell goes on when it has ended
  // What something depends on, and in which turns of loops that are followed it runs.
  struct When {
    Conditions depends = {};  // none: it runs
    Conditions turns = {};
    [[nodiscard]] Conditions all() const;
    [[nodiscard]] When inside(Condition turn) const;  // the turns of the loops around it
  };
  static When only(Condition one) { return {.depends = {{std::move(one)}}}; }
  Status run_apart(const Node& node, When when, Waits waits = Waits::kNo);
  void back_from_apart(const ShellState& before);
  Status run_math(const ShellText& expression, std::size_t at);
  struct MathLoop {
    const Node& node;
    std::size_t first;  // where the semicolons stand in its name
    std::size_t second;
    std::size_t open;  // where (( stands in the script
  };
  std::optional<std::int64_t> part_of_loop(const MathLoop& loop, std::size_t from, std::size_t to);
  std::optional<std::size_t> turns_of(const MathLoop& loop);
  Status run_math_loop(const Node& node);
  void forget_math(std::string_view expression, std::size_t at, const Unknown& why);
  Status run_words(ShellCommand& command, const Node& node, const std::vector<std::size_t>& from);
  Status run_unsure_function(const NodePtr& body, const Node& node, const ShellCommand& command);
  Status run_own_function(const NodePtr& body, const Node& node, const ShellCommand& command);
  std::optional<Status> run_builtin(ShellCommand& command, const Node& node, const std::vector<std::size_t>& from);
  void run_unknown_loop(const Node& node, std::string_view what, const std::function<void()>& body);
  void run_text(const ShellText& text);
  void run_whole(const ShellText& text, const std::string& file, const std::string& stands_in);
  void run_parsed(const ShellText& text, Text around);
  std::vector<NodePtr> next_line(ShellParser& parser);
  void meet_fault(const ShellParser& parser);
  void note_place(const Node& node);
  bool may_launch(const std::string& text);
  void forget_status();
  void run_substitutions(const Parts& parts);
  void forget(const std::set<std::string>& names, std::string_view what, std::size_t at);
  Status emit(ShellCommand& command);
  [[nodiscard]] bool is_test(const Node& node) const;
  [[nodiscard]] bool asks(const Node& node, std::string_view text, int depth) const;
  Conditions when_now(ShellCommand& command) const;
  using SavedVariable = std::pair<std::string, std::optional<ShellVariable>>;
  ShellWord appended_word(const Assignment& a);
  void expand_prefixes(const Node& node, ShellCommand& command);
  void set_for_now(const Assignment& a, const ShellWord& word, bool exports, std::vector<SavedVariable>& before);
  void put_back(std::vector<SavedVariable>& before);
  [[nodiscard]] bool hands_arguments_on(const std::vector<Word>& words, std::size_t from) const;
  Status call_function(const NodePtr& body, const Node& node, const ShellCommand& command);
  std::vector<SavedVariable> set_prefixes(const Node& node, const ShellCommand& command);
  void keep_prefixes(const Node& node, const std::string& builtin, std::size_t at);
  void here_document(const Redirection& r, ShellCommand& command);
  void read_argument_file(ShellCommand& command);
  void read_redirected(const Node& node, ShellCommand& command);
  void forget_written_options(ShellCommand& command) const;
  Status run_followed(ShellCommand& command, const Node& node, const std::vector<std::size_t>& from);
  void follow_files(ShellCommand& command, const Node& node);
  bool write_printed(ShellCommand& command, const Node& node, const std::string& program);
  void heed_unset();
  void open_descriptor(const Redirection& r);
  void end_of_sh(std::size_t at);
  bool may_not_open(const Node& node);
  void heed_redirections(const Node& node, const ShellCommand& command);
  void heed_own_end(const Node& node, const ShellCommand& command);
  void heed_bad_words(const std::vector<ShellWord>& words);
  [[nodiscard]] bool changes_nothing(const ShellText& action) const;
  void trap_each_command(const ShellText& action, std::string_view signal, std::size_t at);
  [[nodiscard]] bool ends_in_failure(const Condition& what) const;
  void begin_subshell();
  void run_exit_trap();
  void run_error_traps(Status status, std::size_t at);
  bool copy_file(const ShellCommand& command, std::size_t first);
  void run_file(ShellCommand& command, std::size_t first);
  void use_file(ShellCommand& command, std::size_t program);
  void keep_written(const ShellWord& file, const ShellText& text);
  void forget_written(const ShellText& text);
  void forget_named(const std::string& path);
  void tell_written();
  [[nodiscard]] ShellText slice_placed(std::size_t from, std::size_t to) const;  // of this text, with places
  [[nodiscard]] Values environment() const;
  [[nodiscard]] std::shared_ptr<const ShellValue> value_outside(const std::string& name) const;
  [[nodiscard]] std::string depends(const std::string& name, std::string_view what, std::size_t at) const;

  // expand.cpp
  [[nodiscard]] static bool may_be_several(const Word& word);
  std::vector<ShellWord> expand_words(const std::vector<Word>& words);
  std::vector<ShellWord> expand(const Word& word, bool is_item = false);  // of a list
  // Without splitting: an assignment, whose value begins at `value_at`, a case's subject.
  ShellWord expand_single(const Word& word, std::size_t value_at = std::string::npos);
  Parts with_homes(const Parts& parts, std::size_t value_at = std::string::npos);  // tildes.cpp
  std::optional<Part> home_of(std::size_t begin, std::size_t end);
  void expand_part(const Part& part, WordMaker& out);
  void expand_parameter(const Part& part, WordMaker& out);  // parameter.cpp
  void take_default(const std::string& name, std::optional<std::string> value, std::size_t at,
                    TakenWhy why = TakenWhy::kNotSet);
  Variables::const_iterator given_for(const std::string& substitution);
  void expand_arithmetic(const Part& part, WordMaker& out);
  std::optional<std::vector<ShellText>> keys_of(const std::string& array) const;
  // `why` gets the reason where an operand has one.
  [[nodiscard]] bool is_unset_here(const std::string& name) const;
  std::string subscript_of(const std::string& name, const std::string& written, std::string* why = nullptr);
  std::vector<std::string> files_in(const std::string& folder, const std::string& pattern);
  std::optional<std::vector<ShellWord>> files_matching(const ShellWord& word, const std::string& pattern);
  // What `expression` comes to; where it is not known, `why` gets what an operand asks for, when one does.
  std::optional<std::int64_t> computed(const ShellText& expression, Unknown& why);
  void ends_line(std::size_t at);
  void insert(const ShellText& value, const Part& part, WordMaker& out);
  void insert_all(const std::vector<ShellText>& values, const Part& part, bool apart, WordMaker& out);
  [[nodiscard]] bool is_filled_here(const std::string& name) const;
  [[nodiscard]] std::optional<std::string> separators() const;  // IFS; none where it is not known
  [[nodiscard]] std::optional<ShellText> lookup(const std::string& name) const;
  [[nodiscard]] bool is_given(const std::string& name) const;
  [[nodiscard]] std::optional<ShellText> scalar(const std::string& name, const std::string& subscript) const;
  std::optional<ShellText> changed(const ShellText& value, const Part& part);
  std::optional<ShellText> trimmed(const ShellText& value, const Part& part);
  static std::optional<ShellText> transformed(const ShellText& value, char how);
  // From where and how many, of the values or signs `${NAME:2:3}` is asked of; none where that is not known.
  struct SliceBounds {
    std::size_t from;
    std::size_t to;
  };
  std::optional<SliceBounds> slice_bounds(const Part& part, std::size_t size, bool negative_length);
  std::optional<ShellText> replaced(const ShellText& value, const Part& part);
  std::optional<ShellText> replaced_by_pattern(const ShellText& value, const std::string& pattern,
                                               const std::string& text, std::string_view op);

  // braces.cpp
  std::vector<Parts> braces(const Parts& parts);

  // builtin_table.cpp
  struct Called {
    ShellCommand& command;
    const Node& node;
    const std::vector<std::size_t>& from;
  };
  std::optional<Status> builtin(const Called& called);
  std::optional<Status> call_true(const Called& called);
  std::optional<Status> call_false(const Called& called);
  Status failed_test(std::string why, std::size_t at);
  std::optional<Status> call_test(const Called& called);
  std::optional<Status> call_declare(const Called& called);
  std::optional<Status> call_unset(const Called& called);
  std::optional<Status> call_set(const Called& called);
  std::optional<Status> call_shift(const Called& called);
  std::optional<Status> call_leave(const Called& called);
  std::optional<Status> call_break(const Called& called);
  std::optional<Status> call_folder(const Called& called);
  std::optional<Status> call_source(const Called& called);
  std::optional<Status> call_eval(const Called& called);
  std::optional<Status> call_read(const Called& called);
  std::optional<Status> call_getopts(const Called& called);
  std::optional<Status> call_shopt(const Called& called);
  std::optional<Status> call_alias(const Called& called);
  std::optional<Status> call_trap(const Called& called);
  std::optional<Status> call_printf(const Called& called);
  std::optional<Status> call_let(const Called& called);
  std::optional<Status> call_kill(const Called& called);

  // builtins.cpp
  // `expanded`: NAME=VALUE where it was expanded before.
  void assign(const Assignment& assignment, bool exports, ShellCommand* command, const ShellWord* expanded = nullptr);
  [[nodiscard]] bool goes_on_from(const Assignment& a) const;
  void remember(const std::string& name, ShellValue value, bool exports, ShellCommand* command);
  void put_item(ShellValue& list, std::string key, ShellText text);
  void set_item(const std::string& name, const std::string& subscript, ShellText text, bool appends, std::size_t at);
  bool add_items(ShellValue& list, const Assignment& a);
  [[nodiscard]] bool has_plain_values(const std::string& name) const;
  ShellValue as_declared(const std::string& name, ShellValue value);
  [[nodiscard]] std::string referred_by(const std::string& name) const;
  void refer(const std::string& name, const ShellWord& word);
  void set_unknown(const std::string& name, const std::string& why, std::size_t at);
  struct Declaring;
  void mark_declared(const Declaring& how, const std::string& name, bool before);
  void make_local(const std::string& name, bool keeps_value);
  void declare_value(const Declaring& how, const Assignment& assignment, const ShellWord& word, ShellCommand& command);
  void declare_name(const Declaring& how, const std::string& name, ShellCommand& command);
  void declare(ShellCommand& command, const Node& node, const std::vector<std::size_t>& from);
  void unset(const std::vector<ShellWord>& words);
  void unset_variable(const std::string& name, std::size_t at);
  void run_nothing(std::size_t at);
  void set_options(const std::vector<ShellWord>& words);
  void take_options(const std::vector<std::string>& options);
  Status source(const std::vector<ShellWord>& words);
  Status source_missing(const std::vector<ShellWord>& words);
  std::optional<ShellText> sourced_stream(const ShellCommand& command, const Node& node);
  void run_sourced(const ShellText& text, const std::string& path, std::size_t at);
  static std::string fault_of(const ShellText& text, std::string_view pasted);
  std::optional<ShellText> sourced_text(const std::vector<ShellWord>& words, std::string& path, std::string& why);
  bool evaluates_itself(const ShellText& text, std::size_t at);
  void evaluate(const std::vector<ShellWord>& words);
  void set_shell_options(const std::vector<ShellWord>& words);
  Status shift(const std::vector<ShellWord>& words);
  Status get_options(const std::vector<ShellWord>& words);
  std::optional<Status> next_option(const std::vector<ShellWord>& words, const std::vector<ShellText>& arguments);
  Status run_let(const std::vector<ShellWord>& words, const Node& node, const std::vector<std::size_t>& from);
  void read_names(const std::vector<ShellWord>& words, std::string_view letters_with_values);
  bool set_trap(const std::vector<ShellWord>& words);
  Status print_into(const std::vector<ShellWord>& words);
  void export_functions(const std::vector<ShellWord>& words);
  void taint(const std::string& what, std::size_t at);
  void unset_item(const ShellWord& word, std::size_t bracket);

  // streams.cpp
  std::optional<ShellText> captured(const std::function<void()>& run);
  std::optional<ShellText> captured_text(const ShellText& inside);
  std::optional<ShellText> captured_substitution(const Part& part);
  std::optional<ShellText> read_by_substitution(const ShellText& inside);
  std::optional<ShellText> captured_process(const Word& word);
  Status print(const ShellCommand& command);
  [[nodiscard]] static Status finds(const ShellCommand& command);
  std::optional<ShellText> printed_of(const ShellCommand& command);
  static std::optional<ShellText> printed_with_holes(const std::vector<ShellWord>& words);
  std::optional<ShellText> rest_of_input();
  [[nodiscard]] bool eats_input(const ShellCommand& command) const;
  std::optional<ShellText> redirected_input(const std::vector<Redirection>& redirections, bool& given);
  Status run_redirected(const Node& node);
  static std::optional<ShellText> next_line(Input& input, const std::string& delimiter, bool& ended);
  static std::optional<ShellText> next_signs(Input& input, const std::string& delimiter, std::size_t most, bool& ended);
  std::optional<Status> read_known(const ShellCommand& command);
  std::optional<Status> read_all_lines(Input& input, const std::string& delimiter, bool chomps, std::size_t most,
                                       const std::vector<std::string>& names);

  // conditions.cpp
  class ConditionReader;
  Status test(const std::vector<ShellWord>& words);
  Status test(const std::vector<ShellWord>& words, std::size_t from, std::size_t to);
  Status unary_test(std::string_view op, const ShellText& word);
  Status item_test(const std::string& word, std::size_t bracket);
  Status test_command(const Node& node);

  // places.cpp
  [[nodiscard]] std::optional<ShellText> own_name(const std::string& name) const;
  std::optional<ShellText> part_of_own_name(const ShellText& value, const Part& part);
  static ShellText folder_of(const Unknown& file);
  static std::optional<bool> same_place(const ShellText& a, const ShellText& b);
  std::string path_named(const ShellText& word);
  [[nodiscard]] bool is_beside(const ShellText& word) const;
  [[nodiscard]] bool lies_twice(const ShellText& word) const;
  Status file_test(char letter, const ShellText& word);
  Status change_folder(const std::vector<ShellWord>& words);
  std::optional<ShellText> printed_place(const std::vector<ShellWord>& words);
  std::optional<ShellText> printed_new_name(const std::vector<ShellWord>& words);
  void place(ShellText& text) const;
  std::optional<ShellText> text_beside(const ShellWord& word, std::size_t at, std::string& path, std::string& why);
  std::optional<ShellText> text_beside(const ShellWord& word, std::size_t at, std::string& path);
  void run_beside(ShellCommand& command);
  void find_on_path(ShellCommand& command) const;
  [[nodiscard]] std::string folder_now() const;

  // written_files.cpp
  void may_be_written(const ShellText& file);
  void keep_file(const std::string& path, ShellText text);
  void share_file(const std::string& name);
  void share_all_files();
  void share_links(const ShellCommand& command, std::string_view program);
  void heed_trap_files(const ShellText& action);
  void heed_process(std::string_view text);
  void heed_process_behind(const Redirection& r);
  void write_redirected(const Node& node);
  void heed_named_files(const ShellCommand& command);
  void heed_names(std::string_view text, const ShellCommand& command, std::optional<std::size_t> script);
  [[nodiscard]] bool looks_beside() const;
  [[nodiscard]] bool is_touched(const std::string& path) const;
  static bool may_be(std::string_view written, std::string_view name);
  static bool may_be_file(const std::string& written, const std::string& known);

  // patterns.cpp
  std::optional<std::string> pattern_of(const Parts& parts, bool expression);
  Status matches(const std::string& text, const std::string& pattern, bool choices);
  Status matches_expression(const ShellText& text, const Word& word);

  std::string_view pasted_;
  const ShellStart& start_;
  std::map<std::string, std::string> shown_as_;  // of --set, with *** in it: the substitution that it was taken for
  ShellBudget& budget_;
  Text text_;
  ShellState state_;
  TakenDefaults taken_;                   // while what is made now is made
  std::set<std::string> new_names_ = {};  // that mktemp made up
  int shifting_ = 0;                      // loops around that go through arguments of which nothing is known
  std::optional<ShellText> piped_;        // what the command that runs next reads
  std::optional<Input> input_;            // what the command around it reads
  Printed* printing_ = nullptr;           // who takes what is printed
  int print_depth_ = 0;
  std::size_t sure_words_ = 0;        // of the command that runs next: behind them one may be several words, or none
  int undecided_ = 0;                 // branches around, of which nobody knows whether they are taken
  int conditions_ = 0;                // around, in which a failure ends nothing
  bool beside_ = false;               // what runs now does so in the background
  int apart_ = 0;                     // lists around that run in the background
  std::size_t stops_ = 0;             // commands that may have ended what runs there
  std::vector<Condition> unset_now_;  // what set -u ends this command for, which is told behind it
  std::vector<Loop> loops_;
  std::map<std::size_t, std::pair<std::string, ShellText>> kept_files_;  // that nothing here uses, by their places
  std::map<const Node*, ShellText> sources_;                             // of functions, by their bodies
  std::set<std::string> handed_functions_;                               // export -f
  std::vector<std::set<std::string>*> written_;                          // names that loops being followed assign
  std::vector<std::vector<SavedVariable>> locals_;                       // to put back when a function ends
  std::vector<std::vector<ShellState>> returns_;                         // of functions that run
  struct Call {
    const Node* body;
    int undecided;
    std::optional<ShellState> state = {};  // that it found, where it is not the first of this function
  };
  std::vector<Call> calls_;                        // of functions that run
  std::vector<std::shared_ptr<const void>> kept_;  // texts and syntax that functions still point into
  std::map<const Node*, Text> bodies_;             // where functions were defined
  std::optional<FileLines> stands_in_;             // of the command that runs, where that is another file
  std::vector<ShellNote> notes_;
  When when_;  // of what runs now
  int brace_depth_ = 0;
  // Options of `shopt` and aliases, which change what words mean.
  bool last_pipe_ = false;
  bool any_case_ = false;
  bool choices_ = false;  // extglob: @(a|b)
  bool posix_ = false;    // set -o posix, at some time
  bool expands_aliases_ = false;
  std::set<std::string> aliases_;
  bool may_end_on_error_ = false;            // the first line asks for it, of a script that is started by its name
  bool pipes_on_ = false;                    // what runs now prints for a program
  bool for_sh_ = false;                      // its first line asks for sh, which may be dash, or make hands it to sh
  bool hands_errexit_on_ = false;            // to $(…): shopt -s inherit_errexit
  std::optional<bool> caught_fails_ = {};    // what $(…) ran last; none: not known
  std::vector<Condition> caught_ends_ = {};  // what may have ended it before
  bool assigns_ = false;                     // the one substitution of NAME=$(…), whose failure is the assignment's
  bool is_moved_ = false;                    // `env -C` and its kin run what runs now elsewhere
  bool may_be_missing_ = false;              // what the command that runs now names: it is followed by `|| true`
  const Node* inverted_ = nullptr;           // what stands behind a !
  std::map<Condition, bool> end_fails_;      // what `exit` says, by what is told of it
  bool in_error_trap_ = false;               // which no failure in it runs again
  int muted_ = 0;                            // loops run once to learn what they change: nothing is told
  std::optional<Error> error_;
};

}  // namespace preflight::sources
