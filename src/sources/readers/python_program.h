// Launches that a Python program starts: lists of words that name the server, texts for a shell, keyword arguments of
// sglang.Engine(…) and ServerArgs(…), and SGLang's own helpers of tests and notebooks. Values are literals and names
// that one literal is assigned to; what is computed is told as unknown.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/sources/launch_finder.h"
#include "src/sources/readers/python_tokens.h"
#include "src/sources/readers/readers.h"

namespace preflight::sources {

class PythonProgram {
 public:
  // `doubt`: why none of its launches is sure; "" where they are.
  PythonProgram(const SourceText& source, LaunchFinder& finder, std::string doubt = {});

  Result<bool> run();
  // A notebook's line for a shell, and its %env: NAME=VALUE; their places are indices of the text.
  Result<bool> system(std::size_t at, std::size_t indent, const ShellText& command);
  void set_variable(std::size_t at, const ShellText& setting);
  // The keyword arguments behind the parenthesis that is token `open`, as options of a server.
  void keywords(std::size_t open, RunContext context);
  [[nodiscard]] const std::vector<PythonToken>& tokens() const { return tokens_; }
  [[nodiscard]] std::string_view text_of(std::size_t token) const;

 private:
  struct Span {  // tokens from `begin` to `end`
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  struct Binding {
    int count = 0;
    Span value = {};
    std::size_t at = 0;
  };
  struct Words {
    std::vector<ShellWord> words = {};
    std::vector<LaunchUnknown> unknown = {};
  };

  void add_line(Span line);
  // What names stand for.
  void bind();
  void bind_line(Span line);
  void import_line(Span line);
  [[nodiscard]] std::string module_name(const std::string& name) const;
  void bind_targets(Span line, std::size_t equals);
  void bind_each(Span tokens);
  void environment_line(Span line);
  void environment_update(std::size_t open, std::size_t at);
  void set_environment(std::size_t at, std::string name, std::optional<ShellText> value);
  [[nodiscard]] bool is_augmented(std::size_t token) const;
  [[nodiscard]] Span chain_at(std::size_t token) const;  // a.b.c
  [[nodiscard]] std::string name_of(Span chain) const;
  [[nodiscard]] const Binding* binding(const std::string& name) const;

  // Values.
  [[nodiscard]] std::vector<Span> items(std::size_t open) const;
  [[nodiscard]] std::optional<ShellText> literal(Span value, int depth) const;
  [[nodiscard]] std::optional<ShellText> grown(const std::string& name, const Binding& bound, std::size_t use,
                                               int depth) const;
  [[nodiscard]] bool turns_together(std::size_t use, std::size_t later) const;
  [[nodiscard]] std::optional<ShellText> json_text(std::size_t open) const;
  [[nodiscard]] bool add_json(Span value, bool compact, ShellText& out, int depth) const;
  [[nodiscard]] std::optional<ShellText> joined_path(std::size_t open, int depth) const;
  [[nodiscard]] Span copied_list(Span value) const;
  [[nodiscard]] std::optional<ShellText> name_value(Span value, int depth) const;
  [[nodiscard]] std::optional<ShellText> variable_value(std::size_t open, int depth) const;
  [[nodiscard]] Span bare_name(Span value) const;
  // A format with its fields filled in: of a field's name and where it stands, its text; none ends the work.
  using FieldText = std::function<std::optional<ShellText>(const std::string& name, std::size_t origin)>;
  [[nodiscard]] static ShellText filled_in(const ShellText& format, const FieldText& text_of_field);
  [[nodiscard]] ShellText formatted(std::size_t token, int depth) const;
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  [[nodiscard]] ShellText text_or_unknown(Span value, int depth) const;
  [[nodiscard]] std::size_t last_sign(Span value, std::string_view sign) const;
  [[nodiscard]] std::optional<ShellText> computed(Span value, int depth) const;
  [[nodiscard]] ShellText filled_in(const ShellText& format, Span values, int depth) const;
  [[nodiscard]] ShellText formatted_by_call(const ShellText& format, std::size_t open, int depth) const;
  [[nodiscard]] std::optional<ShellText> joined(const ShellText& between, std::size_t open) const;
  [[nodiscard]] ShellWord word(Span value) const;
  [[nodiscard]] std::string shown(Span value) const;
  void add_list(std::size_t open, Words& out, int depth) const;
  [[nodiscard]] bool has_room(const Words& out) const;
  void add_values(Span value, Words& out, int depth) const;
  void add_sum(Span value, Words& out) const;
  std::size_t add_changes(std::size_t first, const std::string& name, std::size_t use, Words& out) const;
  [[nodiscard]] bool replaces(Span line, const std::string& name, bool conditional, Words& out) const;
  void for_addends(Span value, const std::function<void(Span)>& each) const;
  void add_change(Span change, bool conditional, Words& out) const;
  [[nodiscard]] std::optional<Span> keyword(std::size_t open, std::string_view name) const;

  // Launches.
  [[nodiscard]] Span expression_at(std::size_t token) const;
  struct ListPlace {
    std::size_t close = 0;  // the bracket that ends it
    int depth = 0;          // of the lists that carried it here
  };
  void list(std::size_t open, int depth);
  void follow_list(std::size_t first, const std::string& name, const Words& assigned, ListPlace place);
  [[nodiscard]] bool assigns_to(std::size_t i, const std::string& name) const;
  [[nodiscard]] bool returned_and_changed(std::size_t i) const;
  [[nodiscard]] bool aliased(std::size_t i, Span use, Span around) const;
  [[nodiscard]] bool changes_between(const std::string& name, std::size_t from, std::size_t to) const;
  [[nodiscard]] bool changes(Span line, const std::string& name) const;
  [[nodiscard]] bool turned_and_changed(const std::string& name, std::size_t use) const;
  [[nodiscard]] std::string callee_of(std::size_t open) const;
  bool words_call(std::size_t open);
  [[nodiscard]] bool behind_c(std::size_t i) const;
  void run_list(const Words& all, std::size_t at, std::size_t call);
  void call(std::size_t open);
  void shell_call(std::size_t open, Span text);
  bool split_call(std::size_t call, Span value);
  void test_server(std::size_t open);
  void prepared_args(std::size_t open);
  void keyword_word(Span item, std::vector<ShellWord>& words, RunContext& context) const;
  void option_word(std::string_view name, std::size_t token, Span value, std::vector<ShellWord>& words) const;
  [[nodiscard]] bool dictionary_words(Span value, std::vector<ShellWord>& words, RunContext& context) const;
  // What a value says of an environment that is handed over.
  struct Variables {
    bool inherits = false;
    std::size_t at = 0;  // the token where it takes os.environ as it is then
    Values own = {};
    std::set<std::string> removed = {};
    std::vector<LaunchUnknown> unknown = {};
  };
  [[nodiscard]] std::optional<Span> environment_value(std::size_t call) const;
  void add_variables(Span value, Variables& out, int depth) const;
  void add_pairs(std::size_t open, Variables& out, int depth) const;
  void add_named_variables(Span chain, Variables& out, int depth) const;
  void change_variables(Span line, const std::string& name, bool straight, Variables& out) const;
  void unclear_variables(Span value, Variables& out) const;
  [[nodiscard]] std::pair<Span, Span> key_and_value(Span item, std::size_t open) const;
  void environment_of(std::size_t call, RunContext& context) const;
  [[nodiscard]] RunContext context_at(std::size_t token) const;
  [[nodiscard]] ShellText notebook_text(const ShellText& text) const;
  [[nodiscard]] std::optional<ShellText> notebook_name(const std::string& name, std::size_t at) const;
  [[nodiscard]] std::string branch_of(std::size_t offset, std::size_t indent) const;
  [[nodiscard]] std::string branch_at(std::size_t token) const;
  bool spend(std::size_t steps) const;  // false when there are none left
  [[nodiscard]] bool is_sign(std::size_t token, std::string_view sign) const;

  const SourceText& source_;
  std::string doubt_;
  LaunchFinder& finder_;
  std::vector<PythonToken> tokens_;
  std::vector<std::size_t> open_of_;   // the bracket a token stands in; npos at the top
  std::vector<std::size_t> close_of_;  // of an opening bracket
  std::vector<Span> lines_;
  std::map<std::string, Binding> bindings_;
  std::map<std::string, std::string> imported_;  // names of modules, by what they are called here
  std::set<std::string> grows_;                  // names with += and its kin
  struct Setting {
    std::size_t at;                  // in the text
    std::string name;                // "": variables that are not known
    std::optional<ShellText> value;  // none: it is removed
  };
  static void apply(const Setting& setting, RunContext& context);
  std::vector<Setting> settings_;  // of os.environ, in their order
  std::optional<Error> error_;
  mutable std::size_t steps_ = 5'000'000;  // tokens and bytes that are still looked at
};

}  // namespace preflight::sources
