// Makefiles: each goal's recipe with make's variables filled in, each line a shell of its own (all of them one under
// .ONESHELL), in the environment that make exports. Tested by tests/sources_test.cpp and, with make as the judge, by
// tests/traps_test.cpp.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/glob_files.h"
#include "src/base/limits.h"
#include "src/sources/readers/make_values.h"
#include "src/sources/readers/readers.h"
#include "src/sources/readers/variable_file.h"
#include "src/sources/shell/bash_only.h"
#include "src/sources/shell/failure.h"

namespace preflight::sources {
namespace {

namespace fs = std::filesystem;

enum class Met { kNo, kYes, kUnknown };

struct Branch {
  Met now;
  Met before;  // an earlier branch
  std::size_t at;
  std::string why = {};  // it is not known
};

struct RecipeLine {
  ShellText text;
  bool conditional = false;
  std::size_t at = 0;
};

struct Rule {
  std::vector<std::string> targets;
  std::string target_pattern;  // of a static pattern rule
  std::vector<std::string> prerequisites;
  std::size_t newer = 0;  // so many of them are looked at for their age; behind "|" they only come first
  std::vector<RecipeLine> recipe;
  std::size_t at = 0;
  bool twice = false;  // "::"
  bool adds = false;   // "::", or in a branch that nobody knows: beside other recipes of the target
  bool conditional = false;
};

// NAME = VALUE, with its modifiers.
struct Assignment {
  ShellText name;
  std::string how;
  ShellText value;
  bool exported = false;
  bool overrides = false;
  bool is_private = false;
};

// What a make is started with by another one.
struct Handed {
  Values environment = {};  // which `?=` leaves, and `=` does not
  Values commanded = {};    // behind its name: only `override` sets them otherwise
};

struct TargetVariable {
  std::string target;
  Assignment assignment;
  bool conditional = false;
};

ShellText without_outer_blanks(const ShellText& text) {
  const auto from = text.text.find_first_not_of(" \t");
  if (from == std::string::npos) return {};
  return slice(text, from, text.text.find_last_not_of(" \t") + 1);
}

ShellText without_leading_blanks(const ShellText& text) {
  const auto from = text.text.find_first_not_of(" \t");
  return from == std::string::npos ? ShellText{} : tail(text, from);
}

std::size_t place_of(const ShellText& text) { return text.origin.empty() ? 0 : text.origin.front(); }

// What stands outside of $(…): the first index from `from` at which `wanted` says yes; the size when none does.
template <typename Wanted>
std::size_t find_outside(std::string_view text, std::size_t from, const Wanted& wanted) {
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '$' && i + 1 < text.size()) {
      i = text[i + 1] == '(' || text[i + 1] == '{' ? reference_end(text, i + 1) : i + 1;
    } else if (wanted(i)) {
      return i;
    }
  }
  return text.size();
}

// Without the comment, with a blank for a backslash at the end of a line and what stands around it.
ShellText directive(const ShellText& line) {
  ShellText out;
  std::size_t from = 0;
  const std::string& text = line.text;
  const std::size_t end =
      find_outside(text, 0, [&](std::size_t i) { return text[i] == '#' && (i == 0 || text[i - 1] != '\\'); });
  while (from < end) {
    const std::size_t broken = std::min(text.find("\\\n", from), end);
    std::size_t until = broken;
    if (broken < end) {
      while (until > from && (text[until - 1] == ' ' || text[until - 1] == '\t')) --until;
    }
    for (std::size_t at = from; at < until;) {
      const std::size_t found = std::string_view(text).substr(at, until - at).find("\\#");
      const std::size_t escaped = found == std::string_view::npos ? until : at + found;
      append(out, slice(line, at, escaped));
      at = escaped + 1;  // the backslash goes
    }
    if (broken >= end) break;
    append(out, {" ", {line.origin[broken]}, {}});
    from = std::min(text.find_first_not_of(" \t", broken + 2), end);
  }
  return out;
}

// The operator that stands at `i`: "=", ":=", "::=", ":::=", "?=", "+=", "!="; empty when none does.
std::string operator_at(std::string_view text, std::size_t i) {
  for (const std::string_view op : {":::=", "::=", ":=", "?=", "+=", "!=", "="}) {
    if (text.substr(i).starts_with(op)) return std::string(op);
  }
  return {};
}

bool takes_word(ShellText& text, std::string_view word) {
  if (!text.text.starts_with(word)) return false;
  if (text.text.size() > word.size() && text.text[word.size()] != ' ' && text.text[word.size()] != '\t') return false;
  text = without_leading_blanks(tail(text, std::min(word.size(), text.text.size())));
  return true;
}

// Takes one modifier; false when none stands there, or a variable of that name.
bool takes_modifier(ShellText& text, Assignment& found) {
  struct Modifier {
    std::string_view word;
    bool Assignment::*flag;
  };
  constexpr auto kModifiers = std::to_array<Modifier>(
      {{"export", &Assignment::exported}, {"override", &Assignment::overrides}, {"private", &Assignment::is_private}});
  for (const Modifier& modifier : kModifiers) {
    ShellText rest = text;
    if (!takes_word(rest, modifier.word)) continue;
    if (rest.text.empty() || !operator_at(rest.text, 0).empty()) return false;
    found.*modifier.flag = true;
    text = std::move(rest);
    return true;
  }
  return false;
}

std::optional<Assignment> assignment_of(ShellText text) {
  constexpr int kModifiers = 3;  // each of them once
  Assignment out;
  for (int i = 0; i < kModifiers && takes_modifier(text, out);) ++i;
  const std::string& line = text.text;
  const std::size_t end = find_outside(line, 0, [&](std::size_t i) {
    return line[i] == ' ' || line[i] == '\t' || line[i] == ':' || !operator_at(line, i).empty();
  });
  const std::size_t at = std::min(line.find_first_not_of(" \t", end), line.size());
  out.how = operator_at(line, at);
  if (out.how.empty() || end == 0) return std::nullopt;
  out.name = slice(text, 0, end);
  out.value = without_leading_blanks(tail(text, at + out.how.size()));
  return out;
}

// As GNU make reads lines that Windows wrote.
ShellText without_carriage_returns(const ShellText& text) {
  ShellText out;
  std::size_t from = 0;
  for (auto at = text.text.find("\r\n"); at != std::string::npos; at = text.text.find("\r\n", from)) {
    append(out, slice(text, from, at));
    from = at + 1;
  }
  append(out, tail(text, from));
  return out;
}

class Makefile {
 public:
  // `asks`: what nothing sets is asked for, where a condition compares it with a text.
  Makefile(const SourceText& source, LaunchFinder& finder, bool asks)
      : asks_(asks),
        source_(source),
        finder_(finder),
        folder_(fs::path(place_of_file(source.name)).parent_path().string()),
        values_(source.text, source.given, place_of_file(source.name), [this](const ShellText& text) { read(text); }) {}

  Result<bool> run() {
    read(without_carriage_returns(piece(source_.text, 0, source_.text.size())));
    if (!conditions_.empty() && conditions_.back().at < source_.text.size())
      stop("a condition begins here, and no endif ends it", conditions_.back().at);
    if (define_) stop("a define begins here, and no endef ends it", place_of(define_->name));
    if (error_) return tl::make_unexpected(*error_);
    index();
    for (const auto& [target, stem] : goals()) {
      asked_ = target;
      if (auto ran = goal(target, stem, 0); !ran) return ran;
      if (error_) return tl::make_unexpected(*error_);
    }
    return true;
  }

 private:
  // ---- the lines of the file

  void read(const ShellText& text) {
    for (std::size_t from = 0; from < text.text.size() && !error_;) {
      const std::size_t end = line_end(text.text, from);
      const ShellText line = slice(text, from, end);
      from = end + 1;
      if (define_) {
        defined_line(line);
      } else if (!line.text.empty() && line.text.front() == prefix_ && current_ != kNone) {
        if (active()) rules_[current_].recipe.push_back({recipe_line(line), conditional(), place_of(line)});
      } else if (line.text.empty() || line.text.front() != prefix_ || !is_special_) {
        directive_line(without_leading_blanks(directive(line)));
      }
    }
  }

  // Without what begins a line of a recipe, where it goes on behind a backslash, too.
  ShellText recipe_line(const ShellText& line) const {
    ShellText out;
    std::size_t from = 1;
    for (auto broken = line.text.find("\\\n"); broken != std::string::npos;
         broken = line.text.find("\\\n", broken + 2)) {
      if (broken + 2 >= line.text.size() || line.text[broken + 2] != prefix_) continue;
      append(out, slice(line, from, broken + 2));
      from = broken + 3;
    }
    append(out, tail(line, std::min(from, line.text.size())));
    return out;
  }

  // Make reads the whole file before it runs any of it, and ends here.
  void stop(std::string_view why, std::size_t at) {
    if (error_) return;
    const LineColumn place = finder_.place(at);
    error_ = Error{std::string(why), fmt::format("{}:{}", place.line, place.column)};
  }

  // Behind the newline that ends it, one behind a backslash not counted.
  static std::size_t line_end(std::string_view text, std::size_t from) {
    for (std::size_t end = text.find('\n', from); end != text.npos; end = text.find('\n', end + 1)) {
      std::size_t backslashes = 0;
      while (end > from + backslashes && text[end - 1 - backslashes] == '\\') ++backslashes;
      if (backslashes % 2 == 0) return end;
    }
    return text.size();
  }

  // True of an assignment with nothing in front of its sign.
  bool names_nothing(const ShellText& line) {
    const bool nothing = !conditional() && !line.text.empty() && !operator_at(line.text, 0).empty();
    if (nothing) stop("a variable without a name", place_of(line));
    return nothing;
  }

  void directive_line(const ShellText& line) {
    if (line.text.find_first_not_of(" \t") == std::string::npos) return;
    ShellText rest = line;
    if (condition(rest)) return;
    if (!active()) return;
    if (takes_word(rest, "define")) return begin_define(rest);
    if (names_nothing(line)) return;
    if (const auto found = assignment_of(line)) {
      current_ = kNone;
      return assign(*found, place_of(line));
    }
    if (takes_word(rest, "override") && takes_word(rest, "define")) return begin_define(rest);
    if (export_line(line)) return;
    if (takes_word(rest, "undefine")) return values_.erase(values_.expand(without_outer_blanks(rest)).text);
    const bool optional = takes_word(rest, "-include") || takes_word(rest, "sinclude");
    if (optional || takes_word(rest, "include")) return include(without_outer_blanks(rest), optional);
    rule(line);
  }

  // Makefiles that lie beside this one are read where they are included; one that is not there says nothing.
  void include(const ShellText& written, bool optional) {
    const auto doubt = [&] { values_.doubt(fmt::format("{} may set it otherwise", written.text)); };
    const ShellText names = values_.expand(written);
    if (!names.unknowns.empty() || folder_.empty() || conditional()) return doubt();
    add_defaults(decided_, names.defaults);
    const std::size_t at = place_of(written);
    for (const std::string& name : make_words(names.text)) {
      const bool plain = name.front() != '/' && name.find_first_of("*?[~") == name.npos;
      const std::string path = (fs::path(folder_) / name).lexically_normal().string();
      const auto text = plain && ++included_ <= limits::kComposeFiles ? file_beside(source_.name, name) : std::nullopt;
      std::error_code error;
      const bool absent = plain && !fs::exists(path, error) && !error;
      const bool missing = absent && optional;
      // Where no rule makes it, and no folder of make's own holds one.
      if (absent && !optional) ends_ = {{ends_at(at)}};
      if (!text && !missing) return doubt();
      if (missing) add_defaults(decided_, taken_default(path, std::nullopt, at, TakenWhy::kMissing));
      if (text) values_.reads_too(name);
      if (text) read(without_carriage_returns({*text, std::vector<std::size_t>(text->size(), at), {}}));
    }
  }

  bool active() const {
    return std::ranges::all_of(conditions_, [](const Branch& c) { return c.now != Met::kNo; });
  }
  bool conditional() const {
    return std::ranges::any_of(conditions_, [](const Branch& c) { return c.now == Met::kUnknown; });
  }

  // True when the line is one of ifeq, ifneq, ifdef, ifndef, else and endif.
  bool condition(ShellText line) {
    const std::size_t at = place_of(line);
    if (takes_word(line, "endif")) {
      if (conditions_.empty()) stop("an endif that ends no condition", at);
      if (!conditions_.empty()) conditions_.pop_back();
      return true;
    }
    if (takes_word(line, "else")) {
      if (conditions_.empty()) stop("an else of no condition", at);
      if (conditions_.empty()) return true;
      Branch last = conditions_.back();
      conditions_.pop_back();
      if (last.now != Met::kNo && last.before != Met::kYes) last.before = last.now;
      const bool decided = last.before == Met::kYes;
      std::optional<Met> now = decided ? Met::kNo : met(line);
      if (!now) now = Met::kYes;
      if (*now == Met::kYes && last.before == Met::kUnknown) now = Met::kUnknown;
      conditions_.push_back({*now, last.before, at, std::move(why_open_)});
      return true;
    }
    const bool asked = active();
    for (const std::string_view word : {"ifeq", "ifneq", "ifdef", "ifndef"}) {
      ShellText rest = line;
      if (!takes_word(rest, word) && !line.text.starts_with(std::string(word) + "(")) continue;
      if (conditions_.size() >= limits::kMakeConditions) {
        error_ = Error{"conditions are nested deeper in this Makefile than is followed"};
        return true;
      }
      const Met now = asked ? met(line).value_or(Met::kUnknown) : Met::kNo;
      conditions_.push_back({now, Met::kNo, at, std::move(why_open_)});
      return true;
    }
    return false;
  }

  // nullopt: the line is no condition.
  std::optional<Met> met(ShellText line) {
    const bool equal = takes_word(line, "ifeq") || (line.text.starts_with("ifeq(") && cut(line, 4));
    if (equal || takes_word(line, "ifneq") || (line.text.starts_with("ifneq(") && cut(line, 5)))
      return same(line, equal);
    const bool defined = takes_word(line, "ifdef");
    if (!defined && !takes_word(line, "ifndef")) return std::nullopt;
    const ShellText name = values_.expand(without_outer_blanks(line));
    if (!name.unknowns.empty()) return Met::kUnknown;
    if (values_.is_given(name.text)) return defined ? Met::kYes : Met::kNo;
    if (values_.is_unset(name.text)) {
      decide(name.text, place_of(line));
      return defined ? Met::kNo : Met::kYes;
    }
    const MakeVariable* const found = values_.find(name.text);
    if (found == nullptr || (found->simple && !found->text.unknowns.empty())) return Met::kUnknown;
    return found->text.text.empty() != defined ? Met::kYes : Met::kNo;
  }

  static bool cut(ShellText& line, std::size_t bytes) {
    line = tail(line, bytes);
    return true;
  }

  // What follows depends on nothing setting this name.
  void decide(const std::string& name, std::size_t at) {
    add_defaults(decided_, taken_default(name, std::nullopt, at));
  }

  Met no_condition(const ShellText& line) {
    stop("a condition of make compares two texts: (A,B) or \"A\" \"B\"", place_of(line));
    return Met::kUnknown;
  }

  // (A,B), "A" "B" or 'A' 'B'.
  Met same(const ShellText& line, bool equal) {
    const std::string& text = line.text;
    ShellText first;
    ShellText second;
    if (text.starts_with("(")) {
      const std::size_t end = reference_end(text, 0);
      int open = 0;
      std::size_t comma = 1;
      for (; comma < end && (text[comma] != ',' || open != 0); ++comma) {
        if (text[comma] == '(' || text[comma] == '{') ++open;
        if (text[comma] == ')' || text[comma] == '}') --open;
      }
      if (comma >= end || end >= text.size()) return no_condition(line);
      first = slice(line, 1, comma);
      second = without_leading_blanks(slice(line, comma + 1, end));
      while (!first.text.empty() && first.text.back() == ' ') first = slice(first, 0, first.text.size() - 1);
    } else {
      const auto begin = text.find_first_not_of(" \t");
      if (begin == text.npos || (text[begin] != '"' && text[begin] != '\'')) return no_condition(line);
      const auto end = text.find(text[begin], begin + 1);
      const auto next = end == text.npos ? end : text.find_first_of("\"'", end + 1);
      const auto last = next == text.npos ? next : text.find(text[next], next + 1);
      if (last == text.npos) return no_condition(line);
      first = slice(line, begin + 1, end);
      second = slice(line, next + 1, last);
    }
    for (ShellText* side : {&first, &second}) {
      *side = asks_ ? values_.expand(*side) : values_.expand_asked(*side);
      if (!side->unknowns.empty()) why_open_ = side->unknowns.front().message;
    }
    if (!first.unknowns.empty() || !second.unknowns.empty()) return Met::kUnknown;
    add_defaults(decided_, first.defaults);
    add_defaults(decided_, second.defaults);
    return (first.text == second.text) == equal ? Met::kYes : Met::kNo;
  }

  void begin_define(const ShellText& rest) {
    Assignment found;
    const std::size_t end = rest.text.find_first_of(" \t");
    const std::size_t op = rest.text.find_first_not_of(" \t", std::min(end, rest.text.size()));
    found.name = slice(rest, 0, std::min(end, rest.text.size()));
    found.how = op == std::string::npos ? "=" : operator_at(rest.text, op);
    if (found.how.empty()) found.how = "=";
    define_ = std::move(found);
    defines_ = 1;
    current_ = kNone;
  }

  void defined_line(const ShellText& line) {
    ShellText word = without_leading_blanks(line);
    if (takes_word(word, "endef") && --defines_ == 0) {
      const Assignment found = *std::exchange(define_, std::nullopt);
      return assign(found, place_of(line));
    }
    word = without_leading_blanks(line);
    if (takes_word(word, "define")) ++defines_;
    if (!define_->value.text.empty()) append(define_->value, {"\n", {place_of(line)}, {}});
    append(define_->value, line);
  }

  void assign(const Assignment& found, std::size_t at) {
    const ShellText name = values_.expand(found.name);
    if (!name.unknowns.empty()) return values_.doubt("a variable whose name is not known may be this one");
    if (name.text.empty() && !conditional()) return stop("a variable without a name", at);
    if (found.exported) exported_.insert(name.text);
    if (name.text == ".RECIPEPREFIX") {
      const ShellText prefix = values_.expand(found.value);
      prefix_ = prefix.text.empty() ? '\t' : prefix.text.front();
      return;
    }
    if (found.is_private) {  // no recipe sees it
      return values_.set_text(name.text, unknown_text(fmt::format("{} is private to the Makefile; give it with {}",
                                                                  name.text, how_to_set(name.text)),
                                                      at));
    }
    if (!conditional()) return values_.set(name.text, found.how, found.value, at, found.overrides);
    if (found.how == "?=" && values_.find(name.text) != nullptr) return;
    values_.set_text(name.text, unknown_text(depends(name.text), at));
  }

  // With how to give what the condition asks for, where that is one thing.
  std::string depends(const std::string& name) const {
    const auto open = std::ranges::find_if(conditions_, [](const Branch& c) { return !c.why.empty(); });
    if (open == conditions_.end())
      return fmt::format("{} depends on a condition of the Makefile; give it with {}", name, how_to_set(name));
    return fmt::format("{} depends on the condition at line {}: {}", name, finder_.place(open->at).line, open->why);
  }

  bool export_line(ShellText line) {
    const bool hides = takes_word(line, "unexport");
    if (!hides && !takes_word(line, "export")) return false;
    const ShellText written = values_.expand(line);
    if (!written.unknowns.empty() && !hides) may_export_ = line.origin.empty() ? 0 : line.origin.front();
    const std::vector<std::string> names = make_words(written.text);
    if (names.empty()) exports_all_ = !hides;
    for (const std::string& name : names) {
      if (name.find(kHole) != std::string::npos) continue;
      if (hides) {
        exported_.erase(name);
        hidden_.insert(name);
      } else {
        exported_.insert(name);
        hidden_.erase(name);
      }
    }
    return true;
  }

  // ---- rules

  void take_prerequisites(std::string wanted, std::size_t at, Rule& made) {
    if (const auto second = wanted.find(':'); second != std::string::npos) {
      const auto pattern = make_words(wanted.substr(0, second));
      const bool is_one = pattern.size() == 1 && pattern.front().find('%') != std::string::npos;
      if (!is_one && !conditional()) stop("between two colons stands one pattern with a %", at);
      if (is_one) made.target_pattern = pattern.front();
      wanted = wanted.substr(second + 1);
    }
    const std::string before = wanted.substr(0, wanted.find('|'));
    made.newer = make_words(before).size();
    std::ranges::replace(wanted, '|', ' ');
    made.prerequisites = make_words(wanted);
  }

  // A line that is nothing but what it expands to.
  void expanded_line(const ShellText& line) {
    const std::string& text = line.text;
    const ShellText made = values_.expand(line);  // nothing of $(eval …) and $(info …); a rule in a variable
    const bool says = made.unknowns.empty() && made.text.find_first_not_of(" \t\n") != std::string::npos &&
                      made.text.find_first_of(":=") == std::string::npos;
    const auto is_text = [&](std::size_t i) { return text[i] != ' ' && text[i] != '\t'; };
    const bool written = says || find_outside(text, 0, is_text) < text.size();
    if (written && !conditional() && !is_directive(line))
      stop("this is no rule, no variable and no condition; lines of a recipe begin with a tab", place_of(line));
  }

  void rule(const ShellText& line) {
    const std::string& text = line.text;
    const std::size_t colon = find_outside(text, 0, [&](std::size_t i) { return text[i] == ':'; });
    current_ = kNone;
    is_special_ = false;
    if (colon >= text.size()) return expanded_line(line);
    const bool twice = text.substr(colon).starts_with("::");
    ShellText rest = without_leading_blanks(tail(line, colon + (twice ? 2 : 1)));
    const ShellText targets = values_.expand(slice(line, 0, colon));
    // A name that nobody knows: its recipe is read, $@ in it is not known.
    std::vector<std::string> names =
        targets.unknowns.empty() ? make_words(targets.text) : std::vector<std::string>{text.substr(0, colon)};
    if (names_nothing(rest)) return;
    if (const auto found = assignment_of(rest)) {
      for (const std::string& name : names) target_variables_.push_back({name, *found, conditional()});
      return;
    }
    if (special(names)) {
      is_special_ = true;
      return;
    }
    Rule made{.targets = std::move(names),
              .at = place_of(line),
              .twice = twice,
              .adds = twice || conditional(),
              .conditional = conditional()};
    const std::size_t semicolon = find_outside(rest.text, 0, [&](std::size_t i) { return rest.text[i] == ';'; });
    if (semicolon < rest.text.size()) made.recipe.push_back({tail(rest, semicolon + 1), conditional(), place_of(line)});
    take_prerequisites(values_.expand(slice(rest, 0, semicolon)).text, place_of(line), made);
    if (made.targets == std::vector<std::string>{".PHONY"})
      phony_.insert(made.prerequisites.begin(), made.prerequisites.end());
    current_ = rules_.size();
    rules_.push_back(std::move(made));
  }

  // One that is not followed.
  static bool is_directive(ShellText line) {
    return takes_word(line, "vpath") || takes_word(line, "load") || takes_word(line, "-load");
  }

  bool special(const std::vector<std::string>& names) {
    if (names == std::vector<std::string>{".ONESHELL"}) return one_shell_ = true;
    if (names == std::vector<std::string>{".POSIX"}) return posix_ = true;
    if (std::ranges::find(names, ".IGNORE") != names.end()) ignores_ = true;
    return names == std::vector<std::string>{".EXPORT_ALL_VARIABLES"} && (exports_all_ = true);
  }

  void index() {
    for (const Rule& rule : rules_) {
      bool pattern = false;
      for (const std::string& target : rule.targets) {
        if (target.find('%') == std::string::npos)
          by_target_[target].push_back(&rule);
        else
          pattern = true;
      }
      if (pattern) patterns_.push_back(&rule);
      for (const std::string& name : rule.prerequisites) by_prerequisite_[name].push_back(&rule);
    }
  }

  // Every name that has a recipe, in the order of the file, with what % stands for.
  std::vector<std::pair<std::string, std::string>> goals() {
    std::vector<std::pair<std::string, std::string>> out;
    std::set<std::string> seen;
    const auto add = [&](const std::string& name, const std::string& stem) {
      if (seen.insert(name).second) out.emplace_back(name, stem);
    };
    for (const Rule& rule : rules_) {
      if (rule.recipe.empty()) continue;
      for (const std::string& target : rule.targets) {
        std::string stem;
        if (rule.target_pattern.empty()) {
          for (const auto& [name, stands_for] : names_of(target)) add(name, stands_for);
        } else if (fits_pattern(rule.target_pattern, target, &stem)) {
          add(target, stem);
        }
      }
    }
    return out;
  }

  // A target by itself; of a pattern, the names in the file that it makes, and itself when there are none.
  std::vector<std::pair<std::string, std::string>> names_of(const std::string& pattern) {
    std::vector<std::pair<std::string, std::string>> out;
    if (pattern.find('%') == std::string::npos) return {{pattern, ""}};
    const auto see = [&](const auto& names) {
      for (const auto& [name, rules] : names) {
        std::string stem;
        if (!followed(1)) return;
        if (fits_pattern(pattern, name, &stem) && !has_recipe(name)) out.emplace_back(name, stem);
      }
    };
    see(by_prerequisite_);
    see(by_target_);
    if (out.empty()) out.emplace_back(pattern, "");
    return out;
  }

  bool has_recipe(const std::string& name) const {
    const auto found = by_target_.find(name);
    return found != by_target_.end() &&
           std::ranges::any_of(found->second, [](const Rule* r) { return !r->recipe.empty(); });
  }

  // Goals that lead to this one.
  std::set<std::string> ancestors(const std::string& target) {
    std::set<std::string> out;
    std::vector<std::string> open = {target};
    while (!open.empty() && !target_variables_.empty()) {
      const std::string name = open.back();
      open.pop_back();
      const auto found = by_prerequisite_.find(name);
      if (found == by_prerequisite_.end()) continue;
      for (const Rule* const rule : found->second) {
        if (!followed(rule->targets.size())) return out;
        for (const std::string& parent : rule->targets) {
          if (!parent.starts_with('.') && parent != target && out.insert(parent).second) open.push_back(parent);
        }
      }
    }
    return out;
  }

  // False when there is more to do than a Makefile that people write asks for; the run ends with an error then.
  bool followed(std::size_t steps) { return (work_ += steps) <= limits::kMakeWork; }

  // ---- recipes

  Result<bool> goal(const std::string& target, const std::string& stem, int depth) {
    const std::vector<const Rule*> with_recipe = recipes_of(target);
    const std::size_t before = values_.depth();
    values_.enter();
    const std::set<std::string> exports = set_variables(target);
    const Conditions outer = ends_;
    bool up_to_date = false;
    ends_.add(where_out_of_date(target, with_recipe, up_to_date));
    ends_.add(where_found(target, stem));
    Result<bool> done = true;
    for (const Rule* const rule : with_recipe) {
      if (up_to_date) break;
      set_automatic(*rule, target, stem);
      if (done) done = recipe(*rule, exports, depth);
    }
    ends_ = outer;
    while (values_.depth() > before) values_.leave();
    if (done && work_ > limits::kMakeWork)
      return failure("the Makefile has more rules and variables than are followed");
    return done;
  }

  [[nodiscard]] bool lies_here(const std::string& name) const {
    std::error_code error;
    return !folder_.empty() && fs::exists(fs::path(folder_) / name, error);
  }

  // Whether make makes it whenever it is asked for: it is no file, or none that lies here.
  [[nodiscard]] bool is_always_made(const std::string& name) const {
    return phony_.contains(name) || (by_target_.contains(name) && !lies_here(name));
  }

  // A goal that lies beside the Makefile is made again only for what is newer: when that is, where times decide it.
  Condition where_out_of_date(const std::string& target, const std::vector<const Rule*>& rules, bool& up_to_date) {
    if (phony_.contains(target) || !is_plain(target) || !lies_here(target)) return {};
    std::vector<const Rule*> asking = rules;
    if (const auto own = by_target_.find(target); own != by_target_.end())
      asking.insert(asking.end(), own->second.begin(), own->second.end());
    bool asks = false;
    for (const Rule* const rule : asking) {
      if (!followed(rule->prerequisites.size())) return {};
      const auto end = rule->prerequisites.begin() + static_cast<std::ptrdiff_t>(rule->newer);
      if (rule->twice && rule->newer == 0) return {};
      if (std::any_of(rule->prerequisites.begin(), end, [&](const auto& one) { return is_always_made(one); }))
        return {};
      asks = asks || rule->newer > 0;
    }
    up_to_date = !asks && std::ranges::none_of(phony_, [](const std::string& one) { return !is_plain(one); });
    return unless({{fmt::format("the goal of line {} is up to date", line_of(*asking.front()))}});
  }

  // A name that stands for itself alone.
  static bool is_plain(const std::string& name) {
    return !name.empty() && name.find_first_of("%*?[~$") == std::string::npos && name.find(kHole) == std::string::npos;
  }

  [[nodiscard]] int line_of(const Rule& rule) const { return finder_.place(rule.at).line; }

  // make refuses a goal where it finds no way to what that asks for first.
  Condition where_found(const std::string& target, const std::string& stem) {
    const Rule* const asking = asks_in_vain(target, stem, 0);
    if (asking == nullptr) return {};
    return where({{fmt::format("make finds what line {} asks for", line_of(*asking))}});
  }

  // The rule that asks for what no rule makes and what does not lie here; none where all is found.
  const Rule* asks_in_vain(const std::string& target, const std::string& stem, int depth) {
    const auto [known, first] = in_vain_.try_emplace(target, nullptr);
    const auto own = by_target_.find(target);
    if (!first || own == by_target_.end() || depth > limits::kMakeCalls) return known->second;
    for (const Rule* const rule : own->second) {
      if (!followed(rule->prerequisites.size())) return nullptr;
      for (const std::string& name : wanted_by(*rule, stem)) {
        const Rule* const below = nothing_makes(name) ? rule : asks_in_vain(name, "", depth + 1);
        if (below != nullptr) return in_vain_[target] = below;
      }
    }
    return nullptr;
  }

  // make's own rules make a file of one that has its name and an ending.
  bool nothing_makes(const std::string& name) {
    const bool elsewhere = source_.text.find("vpath") != std::string::npos || values_.find("VPATH") != nullptr;
    if (!is_plain(name) || elsewhere || phony_.contains(name) || by_target_.contains(name) || lies_here(name))
      return false;
    if (by_target_.contains(".DEFAULT") || !followed(patterns_.size())) return false;
    for (const Rule* const rule : patterns_) {
      if (std::ranges::any_of(rule->targets, [&](const std::string& t) { return fits_pattern(t, name); })) return false;
    }
    if (folder_.empty()) return true;
    std::size_t left = limits::kGlobEntries;
    return glob_files((fs::path(folder_) / name).replace_extension().string() + ".*", left).empty();
  }

  static std::vector<std::string> wanted_by(const Rule& rule, const std::string& stem) {
    std::vector<std::string> out = rule.prerequisites;
    for (std::string& name : out) {
      if (const auto percent = name.find('%'); percent != std::string::npos && !stem.empty())
        name.replace(percent, 1, stem);
    }
    return out;
  }

  // The last one of a target counts, if none adds; a pattern's where it has none of its own.
  std::vector<const Rule*> recipes_of(const std::string& target) {
    std::vector<const Rule*> out;
    const auto take = [&](const Rule* rule) {
      if (rule->recipe.empty()) return;
      if (!rule->adds) std::erase_if(out, [](const Rule* r) { return !r->adds; });
      out.push_back(rule);
    };
    if (const auto own = by_target_.find(target); own != by_target_.end()) std::ranges::for_each(own->second, take);
    if (!out.empty() || phony_.contains(target)) return out;  // make looks for no pattern then
    for (const Rule* const rule : patterns_) {
      if (!followed(rule->targets.size())) break;
      if (std::ranges::any_of(rule->targets, [&](const std::string& t) { return fits_pattern(t, target); })) {
        take(rule);
        if (!out.empty()) break;  // make takes the first that fits
      }
    }
    return out;
  }

  // The target's own variables and those of the goals that lead to it; the names that are exported for it.
  std::set<std::string> set_variables(const std::string& target) {
    std::set<std::string> exports;
    const std::set<std::string> parents = ancestors(target);
    const auto is_set = [&](const std::string& name) { return handed_.commanded.contains(name); };
    (void)followed(target_variables_.size());
    for (const TargetVariable& variable : target_variables_) {
      const std::string name = values_.expand(variable.assignment.name).text;
      const bool inherited = !variable.assignment.is_private && parents.contains(variable.target);
      if (inherited && !is_set(name)) {
        values_.set_text(name, unknown_text(fmt::format("{} is another one when the goal is {}; give it with {}", name,
                                                        variable.target, how_to_set(name)),
                                            place_of(variable.assignment.name)));
      }
    }
    for (const TargetVariable& variable : target_variables_) {
      if (!fits_pattern(variable.target, target)) continue;
      const Assignment& found = variable.assignment;
      const std::string name = values_.expand(found.name).text;
      if (found.exported) exports.insert(name);
      if (is_set(name) && !found.overrides) continue;
      if (variable.conditional)
        values_.set_text(name, unknown_text(depends(name), place_of(found.name)));
      else
        values_.set(name, found.how, found.value, place_of(found.name), found.overrides);
    }
    return exports;
  }

  void set_automatic(const Rule& rule, const std::string& target, const std::string& stem) {
    std::vector<std::string> wanted;
    std::vector<std::string> first;  // of those that only come first
    const auto take = [&](const Rule& one) {
      const std::vector<std::string> all = wanted_by(one, stem);
      const auto end = all.begin() + static_cast<std::ptrdiff_t>(one.newer);
      wanted.insert(wanted.end(), all.begin(), end);
      first.insert(first.end(), end, all.end());
    };
    take(rule);
    if (const auto others = by_target_.find(target); others != by_target_.end()) {
      for (const Rule* const other : others->second) {
        if (other != &rule && other->recipe.empty()) take(*other);
      }
    }
    std::vector<std::string> once;
    std::set<std::string> seen;
    for (const std::string& name : wanted) {
      if (seen.insert(name).second) once.push_back(name);
    }
    const auto set = [&](const std::string& name, const std::string& value) {
      values_.set_text(name, {value, std::vector<std::size_t>(value.size(), 0), {}});
      const auto slash = value.rfind('/');
      const std::string directory = slash == std::string::npos ? "." : value.substr(0, slash);
      const std::string file = value.substr(slash + 1);
      values_.set_text(name + "D", {directory, std::vector<std::size_t>(directory.size(), 0), {}});
      values_.set_text(name + "F", {file, std::vector<std::size_t>(file.size(), 0), {}});
    };
    if (target.find_first_of("%$") != std::string::npos) return;  // a goal that nobody names: $@ and $* are asked for
    set("@", target);
    set("*", stem);
    set("<", wanted.empty() ? "" : wanted.front());
    set("^", fmt::format("{}", fmt::join(once, " ")));
    set("+", fmt::format("{}", fmt::join(wanted, " ")));
    set("|", fmt::format("{}", fmt::join(first, " ")));
  }

  Values environment(const std::set<std::string>& more) {
    std::set<std::string> names = exported_;
    names.insert(more.begin(), more.end());
    if (exports_all_ && followed(values_.names().size())) {
      for (const std::string& name : values_.names()) {
        if (!hidden_.contains(name)) names.insert(name);
      }
    }
    Values out;
    constexpr std::size_t kCopies = 5;  // for a recipe, its shells and their commands
    if (!followed(kCopies * names.size())) return out;
    for (const std::string& name : names) {
      if (is_shell_name(name) && values_.find(name) != nullptr) out[name] = values_.value(name, 0);
    }
    if (may_export_) add_what_may_be_exported(out);
    return out;
  }

  // `export $(shell …)`: any of the variables may be among those that it names.
  void add_what_may_be_exported(Values& out) {
    const std::vector<std::string> names = values_.names();
    if (!followed(names.size())) return;
    for (const std::string& name : names) {
      if (!is_shell_name(name) || hidden_.contains(name) || out.contains(name)) continue;
      const bool given = source_.given.contains(name);
      out[name] = given ? values_.value(name, 0)
                        : unknown_text(fmt::format("{} may be among the names that line {} exports, which are not "
                                                   "known; give it with {}",
                                                   name, finder_.place(*may_export_).line, how_to_set(name)),
                                       *may_export_);
    }
  }

  // Whether a line of a recipe succeeds, where it is written as a guard; none where that is not known.
  std::optional<bool> outcome(const ShellText& written, const RunContext& context) {
    const auto from = written.text.find_first_not_of("\t @+");
    if (from == std::string::npos || written.text[from] == '-' || ignores_) return true;
    const ShellText line = without_prefix(written);
    constexpr auto kSigns = std::to_array<std::string_view>({"false", "exit ", "test ", "[ "});
    const bool may =
        std::ranges::any_of(kSigns, [&](std::string_view s) { return line.text.find(s) != std::string::npos; });
    if (!may || !followed(line.text.size())) return true;
    if (!line.unknowns.empty()) return std::nullopt;
    ShellStart start{
        .given = source_.given, .environment = context.env, .arguments_known = true, .nothing_given = false};
    start.zero = context.zero;
    RunContext inside = context;
    take_shell_flags(inside);
    start.options = inside.options;
    const auto out = outcome_of(line, start);
    const bool heeds = values_.find("MAKEFLAGS") == nullptr;  // -i, -k
    return heeds || out == std::optional(true) ? out : std::nullopt;
  }

  // Whether a line of a recipe is known to fail, and make to heed that.
  bool line_fails(const ShellText& written, const RunContext& context) {
    return outcome(written, context) == std::optional(false);
  }

  // `test -n "$(MODEL)"`, `… || exit 1`, `$(error …)`: a line that is there to end make, and may do so.
  bool is_guard(const RecipeLine& line, const RunContext& context) {
    const std::string& text = line.text.text;
    if (text.find("$(error ") != std::string::npos || text.find("${error ") != std::string::npos) return true;
    const std::string command = without_prefix(line.text).text;
    const bool asks = command.starts_with("test ") || command.starts_with("[ ") || command.starts_with("false");
    const bool tests = asks && command.find_first_of("|;") == std::string::npos;
    const auto exit = command.find("exit ");
    const bool exits = exit != std::string::npos && exit + 5 < command.size() && command[exit + 5] >= '1' &&
                       command[exit + 5] <= '9' && command.find("sglang") == std::string::npos;
    return (tests || exits) && !outcome(values_.expand(line.text), context);
  }

  // What may end make before a recipe that asks for these goals first; empty where nothing does.
  Condition guard_of(const std::vector<std::string>& goals, int depth) {
    for (const std::string& name : goals) {
      const auto [known, first] = guards_.try_emplace(name);
      if (first) known->second = guard_in(name, depth);
      if (!known->second.empty()) return known->second;
    }
    return {};
  }

  Condition guard_in(const std::string& goal, int depth) {
    const auto own = by_target_.find(goal);
    if (own == by_target_.end() || depth > limits::kMakeCalls || !followed(1)) return {};
    for (const Rule* rule : own->second) {
      if (Condition above = guard_of(rule->prerequisites, depth + 1); !above.empty()) return above;
      for (const RecipeLine& line : rule->recipe) {
        if (is_guard(line, place_of_recipe({}))) return ends_at(line.at);
      }
    }
    return {};
  }

  Condition ends_at(std::size_t at) const {
    return unless_ended("make ends", static_cast<std::size_t>(finder_.place(at).line));
  }

  // Whether a goal, or what it asks for first, has a recipe that is known to fail: nothing that asks for it runs.
  bool goal_fails(const std::string& target, int depth) {
    if (const auto known = failing_.find(target); known != failing_.end()) return known->second;
    failing_[target] = false;
    const auto own = by_target_.find(target);
    if (own == by_target_.end() || depth > limits::kMakeCalls || !followed(1)) return false;
    const auto fails = [&](const Rule* rule) {
      if (rule->conditional) return false;
      if (std::ranges::any_of(rule->prerequisites, [&](const std::string& one) { return goal_fails(one, depth + 1); }))
        return true;
      return !one_shell_ && std::ranges::any_of(rule->recipe, [&](const RecipeLine& line) {
        return !line.conditional && line_fails(values_.expand(line.text), place_of_recipe({}));
      });
    };
    return failing_[target] = std::ranges::any_of(own->second, fails);
  }

  Result<bool> recipe(const Rule& rule, const std::set<std::string>& exports, int depth) {
    const bool waits =
        std::ranges::any_of(rule.prerequisites, [&](const std::string& one) { return goal_fails(one, 0); });
    if (waits && !rule.conditional) return true;
    const Values env = environment(exports);
    ShellText whole;
    Condition guard = guard_of(rule.prerequisites, 0);
    for (const RecipeLine& line : rule.recipe) {
      RunContext context = place_of_recipe(env);
      context.when.add(guard);
      if (guard.empty() && !one_shell_ && is_guard(line, context)) guard = ends_at(line.at);
      const bool conditional = line.conditional || rule.conditional;
      if (conditional) context.when.add(in_branch(static_cast<std::size_t>(finder_.place(line.at).line)));
      const ShellText filled = values_.expand(line.text);
      for (std::size_t from = 0; from < filled.text.size();) {
        const std::size_t end = line_end(filled.text, from);
        const ShellText written = slice(filled, from, end);
        const ShellText command = without_prefix(written);
        from = end + 1;
        if (one_shell_) {
          append(whole, command);
          append(whole, {"\n", {line.at}, {}});
        } else if (auto done = run_line(command, context, depth); !done) {
          return done;
        } else if (!conditional && line_fails(written, context)) {
          return true;
        }
      }
    }
    return one_shell_ ? run_line(whole, place_of_recipe(env), depth) : Result<bool>(true);
  }

  // Where a recipe runs: beside the Makefile, in a shell that is handed its text.
  [[nodiscard]] RunContext place_of_recipe(const Values& env) const {
    return {.env = env,
            .name = asked_,
            .when = ends_,
            .zero = ShellText{"/bin/sh"},
            .defaults = decided_,
            .file = std::string(source_.name)};
  }

  static ShellText without_prefix(const ShellText& line) {
    const auto from = line.text.find_first_not_of("\t @-+");
    return from == std::string::npos ? ShellText{} : tail(line, from);
  }

  Result<bool> run_line(const ShellText& line, const RunContext& context, int depth) {
    if (calls_make(line.text) && line.unknowns.empty() && depth < limits::kMakeCalls)
      return make_again(line, context, depth);
    const bool runs_script = line.text.find(".sh") != std::string::npos;
    const bool matters = line.text.find("sglang") != std::string::npos || runs_script || !line.unknowns.empty();
    if (!matters) return true;
    RunContext inside = context;
    if (values_.find("SHELL") == nullptr)
      ask_of_sh(line, inside.unknown);
    else
      inside.zero = values_.expand(values_.find("SHELL")->text);
    take_shell_flags(inside);
    return finder_.script(line, inside);
  }

  // make …, NAME=VALUE make …
  static bool calls_make(std::string_view line) {
    const std::size_t at = line.starts_with("make ") ? 0 : line.find(" make ");
    if (at == std::string_view::npos) return false;
    const std::vector<std::string> front = make_words(line.substr(0, at));
    return std::ranges::all_of(front, [](const std::string& word) {
      const auto equals = word.find('=');
      return equals != std::string::npos && is_shell_name(word.substr(0, equals));
    });
  }

  // .SHELLFLAGS = -euo pipefail -c
  void take_shell_flags(RunContext& inside) {
    const MakeVariable* const shell = values_.find("SHELL");
    const std::vector<std::string> words_of_shell =
        shell == nullptr ? std::vector<std::string>{} : make_words(values_.expand(shell->text).text);
    for (std::size_t i = 1; i < words_of_shell.size(); ++i) inside.options.push_back(words_of_shell[i]);  // bash -e
    const MakeVariable* const flags = values_.find(".SHELLFLAGS");
    if (flags == nullptr && posix_) inside.options.emplace_back("-e");
    if (flags == nullptr) return;
    const ShellText words = values_.expand(flags->text);
    for (std::string& word : make_words(words.text)) {
      if (word.starts_with('-') && word.ends_with('c')) word.pop_back();  // the text follows
      if (word.size() > 1) inside.options.push_back(std::move(word));
    }
    if (!words.unknowns.empty())
      inside.unknown.push_back({words.unknowns.front().message, words.unknowns.front().offset, {}});
  }

  // `NAME=VALUE make NAME=VALUE goal` of this file: another make, which reads it anew with other values.
  Result<bool> make_again(const ShellText& line, const RunContext& context, int depth) {
    Handed handed = handed_;
    const Values own = environment({});
    std::vector<std::string> wanted;
    bool called = false;
    const bool several = line.text.find_first_of(";&|") != std::string::npos;
    for (const auto& [name, value] : context.env) {
      if (!own.contains(name)) handed.environment[name] = value;
    }
    const std::vector<ShellWord> words = plain_words(line);
    for (const ShellWord& one : words) {
      const std::string& word = one.text;
      const auto equals = word.find('=');
      if (!called && word == "make") {
        called = true;
      } else if (names_another_file(word)) {
        const auto make = std::ranges::find(words, "make", [](const ShellWord& w) { return w.text; });
        finder_.words({make, words.end()}, context);  // which says that another file is not read
        return true;
      } else if (equals != std::string::npos && is_shell_name(word.substr(0, equals))) {
        Values& into = called ? handed.commanded : handed.environment;
        into[word.substr(0, equals)] = handed_value(one, equals + 1, several, place_of(line));
      } else if (has_recipe(word)) {
        wanted.push_back(word);
      }
    }
    const bool differs = !handed.environment.empty() || !handed.commanded.empty();
    if (!differs || wanted.empty() || !followed(source_.text.size())) return true;  // a goal as any other
    Makefile inner(source_, finder_, asks_);
    return inner.run_for(wanted, handed, *this, context.when, depth + 1);
  }

  static bool names_another_file(std::string_view word) {
    constexpr auto kOptions = std::to_array<std::string_view>({"-C", "-f", "--directory", "--file", "--makefile"});
    return std::ranges::any_of(kOptions, [&](std::string_view option) { return word.starts_with(option); });
  }

  // Of NAME=VALUE in a line of a recipe that calls make.
  static ShellText handed_value(const ShellWord& word, std::size_t from, bool several, std::size_t at) {
    const std::string value = word.text.substr(from);
    if (several || value.find_first_of("$`") != std::string::npos)
      return unknown_text(fmt::format("{} is filled in by the shell", word.text), at);
    return ShellText{value, std::vector<std::size_t>(value.size(), at), {}};
  }

  // What `outer` calls make for.
  Result<bool> run_for(const std::vector<std::string>& wanted, const Handed& handed, Makefile& outer,
                       const Conditions& when, int depth) {
    handed_ = handed;
    for (const auto& [name, value] : handed.environment) values_.set_text(name, value);
    for (const auto& [name, value] : handed.commanded) values_.command(name, value);
    for (const Values* const all : {&handed.environment, &handed.commanded}) {
      for (const auto& [name, value] : *all) exported_.insert(name);
    }
    read(without_carriage_returns(piece(source_.text, 0, source_.text.size())));
    index();
    asked_ = outer.asked_;
    work_ = outer.work_;
    if (!when.empty()) ends_ = when;
    Result<bool> done = true;
    for (const std::string& name : wanted) {
      if (done && !error_) done = goal(name, "", depth);
    }
    outer.work_ = work_;
    if (error_) return tl::make_unexpected(*error_);
    return done;
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  bool asks_;
  const SourceText& source_;
  LaunchFinder& finder_;
  std::string folder_;
  MakeValues values_;
  std::vector<Branch> conditions_;
  TakenDefaults decided_ = {};  // that conditions were decided by
  std::string why_open_ = {};   // the condition that is read now
  Conditions ends_ = {};        // what may end make before it runs anything
  std::size_t included_ = 0;
  std::optional<Error> error_;
  bool is_special_ = false;  // the lines of a recipe that follow are of .ONESHELL or its like
  std::optional<Assignment> define_;
  int defines_ = 0;
  std::vector<Rule> rules_;
  std::size_t current_ = kNone;
  std::vector<TargetVariable> target_variables_;
  std::set<std::string> exported_;
  std::optional<std::size_t> may_export_ = {};  // where names are exported that are not known
  Handed handed_;                               // of the make that calls this one
  std::set<std::string> hidden_;
  std::map<std::string, std::vector<const Rule*>> by_target_;
  std::vector<const Rule*> patterns_;
  std::set<std::string> phony_;
  std::map<std::string, std::vector<const Rule*>> by_prerequisite_;
  std::size_t work_ = 0;
  std::string asked_;  // the goal that is followed
  bool exports_all_ = false;
  bool one_shell_ = false;
  bool posix_ = false;
  bool ignores_ = false;                             // .IGNORE
  std::map<std::string, const Rule*> in_vain_ = {};  // goals, and the rule that asks for what nothing makes
  std::map<std::string, bool> failing_;              // goals, and whether they are known to fail
  std::map<std::string, Condition> guards_ = {};     // goals, and what may end make on the way to them
  char prefix_ = '\t';
};

}  // namespace

// Goals may ask for variables that nobody sets here: where nothing is started without them, they are asked for.
Result<bool> read_makefile(const SourceText& source, LaunchFinder& finder) {
  bool asks = source.text.find("ifeq") != source.text.npos || source.text.find("ifneq") != source.text.npos;
  if (asks) {
    LaunchFinder probe(source.text, source.given);
    asks = Makefile(source, probe, false).run() && !probe.found_any();
  }
  return Makefile(source, finder, asks).run();
}

}  // namespace preflight::sources
