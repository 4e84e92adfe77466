#include "src/sources/readers/make_values.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/glob_files.h"
#include "src/base/limits.h"
#include "src/base/number_text.h"
#include "src/sources/file_steps.h"

namespace preflight::sources {
namespace {

constexpr std::string_view kBlank = " \t\n";

using Words = std::vector<std::string>;

ShellText plain(std::string text, std::size_t at) {
  ShellText out;
  out.origin.assign(text.size(), at);
  out.text = std::move(text);
  return out;
}

ShellText hole_of(const ShellText& text) {
  return unknown_text(text.unknowns.front().message, text.unknowns.front().offset);
}

ShellText too_long(std::size_t at) { return unknown_text("a value of make is longer than is followed", at); }

std::string joined(const Words& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlank) + 1 - from);
}

std::string with_all_replaced(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(text) + std::string(to);
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with(from)) {
      out += to;
      i += from.size();
    } else {
      out += text[i++];
    }
    if (out.size() > limits::kMakeValueBytes) return out;  // function() tells it
  }
  return out;
}

// One value in the place of each word. Words multiply what they are replaced by: the first that make a text longer than
// is followed are enough, function() tells it.
template <typename Change>
std::string changed_words(std::string_view text, const Change& change) {
  Words out;
  std::size_t size = 0;
  for (std::string& word : make_words(text)) {
    out.push_back(change(std::move(word)));
    size += out.back().size() + 1;
    if (size > 2 * limits::kMakeValueBytes) break;
  }
  return joined(out);
}

std::string pattern_replaced(std::string_view pattern, std::string_view replacement, std::string_view text) {
  return changed_words(text, [&](std::string word) {
    std::string stem;
    if (!fits_pattern(pattern, word, &stem)) return word;
    const auto percent = replacement.find('%');
    const bool takes_stem = percent != std::string_view::npos && pattern.find('%') != std::string_view::npos;
    return takes_stem ? fmt::format("{}{}{}", replacement.substr(0, percent), stem, replacement.substr(percent + 1))
                      : std::string(replacement);
  });
}

template <typename Change>
std::string each_word(std::string_view text, const Change& change) {
  return changed_words(text, [&](const std::string& word) { return std::string(change(std::string_view(word))); });
}

std::string filtered(std::string_view patterns, std::string_view text, bool fitting) {
  Words out = make_words(text);
  const Words wanted = make_words(patterns);
  std::erase_if(out, [&](const std::string& word) {
    return std::ranges::any_of(wanted, [&](const std::string& p) { return fits_pattern(p, word); }) != fitting;
  });
  return joined(out);
}

std::optional<long> number(std::string_view text) { return number_in<long>(trimmed(text)); }

std::string directory_of(std::string_view word) {
  const auto slash = word.rfind('/');
  return slash == std::string_view::npos ? "./" : std::string(word.substr(0, slash + 1));
}

std::string file_of(std::string_view word) { return std::string(word.substr(word.rfind('/') + 1)); }

std::size_t suffix_at(std::string_view word) {
  const auto dot = word.rfind('.');
  const auto slash = word.rfind('/');
  return dot == std::string_view::npos || (slash != std::string_view::npos && slash > dot) ? word.size() : dot;
}

using Texts = std::span<const std::string>;

// nullopt: make refuses these words.
std::optional<std::string> words_from_to(Texts a, std::size_t list, std::optional<long> from, std::optional<long> to) {
  if (!from || !to || *from < 1) return std::nullopt;
  const Words words = make_words(a[list]);
  Words out;
  for (long i = *from; i <= *to && i <= static_cast<long>(words.size()); ++i)
    out.push_back(words[static_cast<std::size_t>(i - 1)]);
  return joined(out);
}

std::string sorted_words(std::string_view text) {
  const Words words = make_words(text);
  const std::set<std::string> once(words.begin(), words.end());
  return joined({once.begin(), once.end()});
}

std::string paired(std::string_view first, std::string_view second) {
  Words out = make_words(first);
  const Words more = make_words(second);
  out.resize(std::max(out.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) out[i] += more[i];
  return joined(out);
}

// Functions of their arguments' texts alone.
struct TextFunction {
  std::string_view name;
  std::size_t arguments;
  std::optional<std::string> (*value)(Texts);
};

using Value = std::optional<std::string>;

constexpr auto kTextFunctions = std::to_array<TextFunction>({
    {"subst", 3, [](Texts a) -> Value { return with_all_replaced(a[2], a[0], a[1]); }},
    {"patsubst", 3, [](Texts a) -> Value { return pattern_replaced(trimmed(a[0]), trimmed(a[1]), a[2]); }},
    {"strip", 1, [](Texts a) -> Value { return joined(make_words(a[0])); }},
    {"findstring", 2, [](Texts a) -> Value { return a[1].find(a[0]) == std::string::npos ? "" : a[0]; }},
    {"filter", 2, [](Texts a) -> Value { return filtered(a[0], a[1], true); }},
    {"filter-out", 2, [](Texts a) -> Value { return filtered(a[0], a[1], false); }},
    {"sort", 1, [](Texts a) -> Value { return sorted_words(a[0]); }},
    {"word", 2, [](Texts a) { return words_from_to(a, 1, number(a[0]), number(a[0])); }},
    {"wordlist", 3, [](Texts a) { return words_from_to(a, 2, number(a[0]), number(a[1])); }},
    {"words", 1, [](Texts a) -> Value { return fmt::format("{}", make_words(a[0]).size()); }},
    {"firstword", 1, [](Texts a) { return words_from_to(a, 0, 1, 1); }},
    {"lastword", 1, [](Texts a) -> Value { return make_words(a[0]).empty() ? "" : make_words(a[0]).back(); }},
    {"dir", 1, [](Texts a) -> Value { return each_word(a[0], directory_of); }},
    {"notdir", 1, [](Texts a) -> Value { return each_word(a[0], file_of); }},
    {"suffix", 1,
     [](Texts a) -> Value {
       return joined(
           make_words(each_word(a[0], [](std::string_view w) { return std::string(w.substr(suffix_at(w))); })));
     }},
    {"basename", 1,
     [](Texts a) -> Value {
       return each_word(a[0], [](std::string_view w) { return std::string(w.substr(0, suffix_at(w))); });
     }},
    {"addsuffix", 2,
     [](Texts a) -> Value { return each_word(a[1], [&](std::string_view w) { return std::string(w) + a[0]; }); }},
    {"addprefix", 2,
     [](Texts a) -> Value { return each_word(a[1], [&](std::string_view w) { return a[0] + std::string(w); }); }},
    {"join", 2, [](Texts a) -> Value { return paired(a[0], a[1]); }},
});

struct LazyFunction {
  std::string_view name;
  std::size_t arguments;
};

constexpr std::size_t kAny = 1000;

// Of those that look at the world outside (shell, file, …) some see what lies beside the Makefile.
constexpr auto kLazyFunctions = std::to_array<LazyFunction>(
    {{"if", 3},     {"or", kAny},   {"and", kAny}, {"foreach", 3}, {"call", kAny},  {"value", 1},    {"eval", 1},
     {"info", 1},   {"warning", 1}, {"error", 1},  {"shell", 1},   {"wildcard", 1}, {"realpath", 1}, {"abspath", 1},
     {"origin", 1}, {"flavor", 1},  {"file", 2},   {"guile", 1},   {"let", 3},      {"intcmp", 5}});

// At commas outside parentheses; the last one takes what is left.
std::vector<ShellText> arguments_of(const ShellText& inside, std::size_t from, std::size_t most) {
  std::vector<ShellText> out;
  int open = 0;
  std::size_t begin = from;
  for (std::size_t i = from; i < inside.text.size(); ++i) {
    const char c = inside.text[i];
    if (c == '(' || c == '{') ++open;
    if (c == ')' || c == '}') --open;
    if (c != ',' || open != 0 || out.size() + 1 >= most) continue;
    out.push_back(slice(inside, begin, i));
    begin = i + 1;
  }
  out.push_back(slice(inside, begin, inside.text.size()));
  return out;
}

ShellText without_blanks(const ShellText& text) {
  const auto from = text.text.find_first_not_of(kBlank);
  if (from == std::string::npos) return {};
  return slice(text, from, text.text.find_last_not_of(kBlank) + 1);
}

// Names that mean something without being set, and those that mean nothing then.
std::optional<std::string> built_in(const std::string& name) {
  if (name == "MAKE") return "make";
  if (name == "RM") return "rm -f";
  if (name.find_first_not_of("0123456789") == std::string::npos) return "";  // outside $(call)
  return std::nullopt;
}

// Variables that make itself sets: what it was started with, and the programs of its own rules.
bool is_of_make(std::string_view name) {
  constexpr auto kNames = std::to_array<std::string_view>({"MAKECMDGOALS",
                                                           "MAKEFLAGS",
                                                           "MFLAGS",
                                                           "MAKEFILES",
                                                           "MAKELEVEL",
                                                           "MAKEOVERRIDES",
                                                           "MAKE_VERSION",
                                                           "MAKE_HOST",
                                                           "MAKE_COMMAND",
                                                           "MAKE_TERMOUT",
                                                           "MAKE_TERMERR",
                                                           "MAKEFILE_LIST",
                                                           "CURDIR",
                                                           "GNUMAKEFLAGS",
                                                           "SUFFIXES",
                                                           ".DEFAULT_GOAL",
                                                           ".VARIABLES",
                                                           ".FEATURES",
                                                           ".INCLUDE_DIRS",
                                                           ".LIBPATTERNS",
                                                           ".SHELLSTATUS",
                                                           "AR",
                                                           "AS",
                                                           "CC",
                                                           "CO",
                                                           "CPP",
                                                           "CXX",
                                                           "CTANGLE",
                                                           "CWEAVE",
                                                           "F77",
                                                           "FC",
                                                           "GET",
                                                           "LD",
                                                           "LEX",
                                                           "LINT",
                                                           "M2C",
                                                           "MAKEINFO",
                                                           "OBJC",
                                                           "PC",
                                                           "TANGLE",
                                                           "TEX",
                                                           "TEXI2DVI",
                                                           "WEAVE",
                                                           "YACC",
                                                           "ARFLAGS"});
  return std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace

std::vector<std::string> make_words(std::string_view text) {
  Words out;
  for (std::size_t at = text.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    out.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlank, end);
  }
  return out;
}

bool fits_pattern(std::string_view pattern, std::string_view word, std::string* stem) {
  const auto percent = pattern.find('%');
  if (percent == std::string_view::npos) return pattern == word;
  const std::string_view before = pattern.substr(0, percent);
  const std::string_view behind = pattern.substr(percent + 1);
  if (word.size() < before.size() + behind.size() || !word.starts_with(before) || !word.ends_with(behind)) return false;
  if (stem != nullptr) *stem = word.substr(percent, word.size() - before.size() - behind.size());
  return true;
}

std::size_t reference_end(std::string_view text, std::size_t open) {
  const char opens = text[open];
  const char closes = opens == '(' ? ')' : '}';
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == opens) ++depth;
    if (text[i] == closes && --depth == 0) return i;
  }
  return text.size();
}

const MakeVariable* MakeValues::find(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->find(name); found != scope->end()) return &found->second;
  }
  return nullptr;
}

std::vector<std::string> MakeValues::names() const {
  std::set<std::string> all;
  for (const MakeScope& scope : scopes_) {
    for (const auto& [name, variable] : scope) all.insert(name);
  }
  return {all.begin(), all.end()};
}

void MakeValues::set_text(const std::string& name, const ShellText& value) {
  scopes_.back().insert_or_assign(name, MakeVariable{value, true});
}

void MakeValues::command(const std::string& name, const ShellText& value) {
  scopes_.front().insert_or_assign(name, MakeVariable{value, true, true});
}

void MakeValues::set(const std::string& name, std::string_view how, const ShellText& value, std::size_t at,
                     bool overrides) {
  const MakeVariable* const before = find(name);
  if (before != nullptr && before->overrides && !overrides) return;  // an assignment without `override` says nothing
  MakeVariable after{value, false, overrides};
  if (how == "?=") {
    if (before != nullptr) return;
    after.stands_in = value;
    if (set_where_it_runs(name)) after = {unknown_text(not_set_here(name), at), true, overrides};
    if (!unread_.empty()) after = {unread(name, at), true, overrides};
  } else if (how == "!=") {
    after = {unknown_text(fmt::format("{} holds what a command prints; give it with {}", name, how_to_set(name)), at),
             true, overrides};
  } else if (how == "+=" && before == nullptr && !unread_.empty()) {
    after = {unread(name, at), true, overrides};
  } else if (how == "+=" && before != nullptr) {
    const ShellText more = before->simple ? expand(value) : value;  // an $(eval) inside it may move what it stands in
    if (const auto own = scopes_.back().find(name); own != scopes_.back().end()) {
      after = std::move(own->second);  // in its place: thousands of lines may add to one variable
    } else {
      const MakeVariable* const outer = find(name);
      after = outer != nullptr ? *outer : MakeVariable{};
    }
    after.overrides = overrides;
    append(after.text, plain(" ", at));
    append(after.text, more);
    if (after.text.text.size() > limits::kMakeValueBytes) after = {too_long(at), true, overrides};
  } else if (how.find(':') != std::string_view::npos) {
    after = {expand(value), true, overrides};
    if (!FileSteps::take_bytes(after.text.text.size())) after.text = too_long(at);
  }
  scopes_.back().insert_or_assign(name, std::move(after));
}

void MakeValues::doubt(const std::string& why) {
  constexpr std::size_t kStepsOfAVariable = 8;
  if (!FileSteps::take(kStepsOfAVariable * scopes_.front().size())) return;
  unread_ = why;
  for (auto& [name, variable] : scopes_.front()) {
    const std::size_t at = variable.text.origin.empty() ? 0 : variable.text.origin.front();
    variable = {unread(name, at), true, false};
  }
}

ShellText MakeValues::unread(const std::string& name, std::size_t at) const {
  return unknown_text(fmt::format("{}: {}; give it with {}", name, unread_, how_to_set(name)), at);
}

ShellText MakeValues::expand(const ShellText& text) {
  TakenDefaults outer = std::exchange(taken_, text.defaults);
  ShellText out = expanded(text);
  add_defaults(out.defaults, taken_);
  add_defaults(outer, taken_);
  taken_ = std::move(outer);
  return out;
}

ShellText MakeValues::expand_asked(const ShellText& text) {
  const bool outer = std::exchange(asks_, true);
  ShellText out = expand(text);
  asks_ = outer;
  return out;
}

ShellText MakeValues::expanded(const ShellText& text) {
  if (text.text.find('$') == std::string::npos) return text;
  if (text.text.size() > limits::kMakeValueBytes) return too_long(text.origin.front());
  ShellText out;
  for (std::size_t i = 0; i < text.text.size();) {
    const std::size_t dollar = std::min(text.text.find('$', i), text.text.size());
    append(out, slice(text, i, dollar));
    if (dollar >= text.text.size()) break;
    const std::size_t at = text.origin[dollar];
    if (out.text.size() > limits::kMakeValueBytes) return too_long(at);
    const char next = dollar + 1 < text.text.size() ? text.text[dollar + 1] : '$';
    if (next == '$') {
      append(out, slice(text, dollar, dollar + 1));
      i = dollar + 2;
      continue;
    }
    const bool bracketed = next == '(' || next == '{';
    const std::size_t end = bracketed ? reference_end(text.text, dollar + 1) : dollar + 2;
    if (bracketed && end >= text.text.size())
      append(out, unknown_text("a reference that nothing closes, at which make ends,", at));
    else
      append(out, reference(slice(text, bracketed ? dollar + 2 : dollar + 1, end), at));
    i = bracketed ? std::min(end + 1, text.text.size()) : end;
  }
  return out;
}

ShellText MakeValues::value(const std::string& name, std::size_t at) {
  const MakeVariable* const found = find(name);
  if (const auto given = given_.find(name); given != given_.end() && (found == nullptr || !found->overrides))
    return plain(given->second, at);
  if (found == nullptr) {
    if (const auto known = built_in(name)) return plain(*known, at);
    if (auto own = own_place(name, at)) return *own;
    const bool automatic = name.find_first_of("@%<?^+|*") != std::string::npos;
    if (!unread_.empty() && !automatic) return unread(name, at);
    if (asks_ && is_shell_name(name) && is_unset(name)) {
      take(name, std::nullopt, at);
      return {};
    }
    return unknown_text(fmt::format("$({}) of make is not known; give it with {}", name, how_to_set(name)), at);
  }
  const MakeVariable variable = *found;  // an $(eval) inside it may move what it stands in
  const TakenDefaults outer = std::exchange(taken_, {});
  ShellText out = variable.simple ? variable.text : expand(variable.text);
  if (const auto& value = variable.stands_in)
    take(name, value->text == variable.text.text ? out : expand(*value), value->origin.empty() ? at : value->origin[0]);
  add_defaults(out.defaults, taken_);
  taken_ = outer;
  add_defaults(taken_, out.defaults);
  out.origin.assign(out.text.size(), at);
  return out;
}

// Nothing sets `name`, and `value` stands in for it, or nothing does.
void MakeValues::take(const std::string& name, const std::optional<ShellText>& value, std::size_t at) {
  add_defaults(taken_, taken_default(name, value ? std::optional(value->text) : std::nullopt, at));
}

bool MakeValues::is_unset(const std::string& name) const {
  return find(name) == nullptr && !given_.contains(name) && !built_in(name) && !is_of_make(name) &&
         !set_where_it_runs(name) && unread_.empty();
}

std::optional<std::string> MakeValues::unset_name(const ShellText& text) const {
  const bool reference = text.text.size() > 3 && (text.text.starts_with("$(") || text.text.starts_with("${"));
  if (!reference) return std::nullopt;
  std::string name = text.text.substr(2, text.text.size() - 3);
  const bool plain = name.find_first_of("$:=(){} \t,") == std::string::npos;
  return plain && is_unset(name) ? std::optional(std::move(name)) : std::nullopt;
}

ShellText MakeValues::reference(const ShellText& inside, std::size_t at) {
  if (const auto given = given_.find(inside.text); given != given_.end() && find(inside.text) == nullptr)
    return plain(given->second, at);
  if (nested_ >= limits::kMakeDepth || ++steps_ > limits::kMakeSteps)
    return unknown_text(fmt::format("$({}) of make is nested more than is followed", inside.text.substr(0, 40)), at);
  ++nested_;
  ShellText out;
  const std::size_t blank = inside.text.find_first_of(" \t");
  const std::size_t behind = blank == std::string::npos ? blank : inside.text.find_first_not_of(" \t", blank);
  const std::string word = inside.text.substr(0, blank);
  const auto named = [&](const auto& f) { return f.name == word; };
  if (blank != std::string::npos &&
      (std::ranges::any_of(kTextFunctions, named) || std::ranges::any_of(kLazyFunctions, named))) {
    out = function(word, inside, std::min(behind, inside.text.size()), at);
  } else {
    const ShellText name = expand(inside);
    out = !name.unknowns.empty() ? hole_of(name) : replaced(name, at);
  }
  --nested_;
  steps_ += out.text.size() / 256;
  return out;
}

// NAME, or NAME:FROM=TO.
ShellText MakeValues::replaced(const ShellText& inside, std::size_t at) {
  const std::string& text = inside.text;
  const auto colon = text.find(':');
  const auto equals = colon == std::string::npos ? colon : text.find('=', colon);
  if (equals == std::string::npos) return value(text, at);
  ShellText before = value(text.substr(0, colon), at);
  if (!before.unknowns.empty()) return hole_of(before);
  std::string from = text.substr(colon + 1, equals - colon - 1);
  std::string to = text.substr(equals + 1);
  if (from.find('%') == std::string::npos) {
    from.insert(0, "%");
    to.insert(0, "%");
  }
  return plain(pattern_replaced(from, to, before.text), at);
}

ShellText MakeValues::function(std::string_view name, const ShellText& inside, std::size_t from, std::size_t at) {
  if (const auto* const lazily = std::ranges::find(kLazyFunctions, name, &LazyFunction::name);
      lazily != kLazyFunctions.end())
    return lazy(name, arguments_of(inside, from, lazily->arguments), inside, at);
  const auto& known = *std::ranges::find(kTextFunctions, name, &TextFunction::name);
  Words texts;
  for (const ShellText& argument : arguments_of(inside, from, known.arguments)) {
    const ShellText expanded = expand(argument);
    if (!expanded.unknowns.empty()) return hole_of(expanded);
    texts.push_back(expanded.text);
  }
  std::optional<std::string> value;
  if (texts.size() == known.arguments) value = known.value(texts);
  if (!value) return unknown_text(fmt::format("make refuses $({})", inside.text), at);
  if (value->size() > limits::kMakeValueBytes) return too_long(at);
  return plain(*value, at);
}

ShellText MakeValues::for_each(const std::vector<ShellText>& arguments, std::size_t at) {
  const ShellText name = expand(arguments[0]);
  const ShellText list = expand(arguments[1]);
  if (!name.unknowns.empty()) return hole_of(name);
  if (!list.unknowns.empty()) return hole_of(list);
  ShellText out;
  enter();
  for (const std::string& word : make_words(list.text)) {
    set_text(std::string(trimmed(name.text)), plain(word, at));
    if (!out.text.empty()) append(out, plain(" ", at));
    append(out, expand(arguments[2]));
    if (out.text.size() <= limits::kMakeValueBytes) continue;
    out = too_long(at);
    break;
  }
  leave();
  return out;
}

ShellText MakeValues::call(const std::vector<ShellText>& arguments, std::size_t at) {
  const ShellText name = expand(arguments.front());
  if (!name.unknowns.empty()) return hole_of(name);
  const std::string called(trimmed(name.text));
  const MakeVariable* const found = find(called);
  if (found == nullptr) return value(called, at);
  const ShellText body = found->text;
  if (found->simple) return value(called, at);
  MakeScope scope;
  for (std::size_t i = 1; i < arguments.size(); ++i) scope[fmt::format("{}", i)] = {expand(arguments[i]), true};
  for (std::size_t i = arguments.size(); i < 10; ++i) scope[fmt::format("{}", i)] = {{}, true};
  scope["0"] = {plain(called, at), true};
  scopes_.push_back(std::move(scope));
  ShellText out = expand(body);
  leave();
  out.origin.assign(out.text.size(), at);
  return out;
}

// What a choice asks of. A variable that is set nowhere is empty there, as in the shell's ${NAME:-…}.
ShellText MakeValues::condition(const ShellText& argument) { return expand_asked(without_blanks(argument)); }

void MakeValues::take_missing(const std::string& path, std::size_t at) {
  add_defaults(taken_, taken_default(path, std::nullopt, at, TakenWhy::kMissing));
}

// What make is taken to be started beside the Makefile for, which is told by this name.
ShellText MakeValues::placed(const std::string& name, const std::string& text, std::size_t at) {
  ShellText out = plain(text, at);
  add_defaults(taken_, taken_default(name, folder_, at, TakenWhy::kPlace));
  return out;
}

// Names of where make runs and of what it reads.
std::optional<ShellText> MakeValues::own_place(const std::string& name, std::size_t at) {
  if (folder_.empty()) return std::nullopt;
  if (name == "CURDIR") return placed(name, folder_, at);
  if (name == "PWD") return placed("$PWD", folder_, at);
  if (name == "MAKEFILE_LIST" && unread_.empty()) return plain(" " + makefiles_, at);
  return std::nullopt;
}

// $(abspath PATH…), $(realpath PATH…): the latter of files that lie beside the Makefile.
std::optional<ShellText> MakeValues::whole_paths(const ShellText& words, bool real, std::size_t at) {
  if (folder_.empty() || !words.unknowns.empty()) return std::nullopt;
  namespace fs = std::filesystem;
  Words out;
  bool beside = false;
  for (const std::string& word : make_words(words.text)) {
    std::string path = (fs::path(folder_) / word).lexically_normal().string();
    if (path.size() > 1 && path.back() == '/') path.pop_back();
    beside = beside || word.front() != '/';
    std::error_code error;
    if (real && path != folder_ && !path.starts_with(folder_ + "/")) return std::nullopt;
    out.push_back(real ? fs::canonical(path, error).string() : path);
    if (error) return std::nullopt;
  }
  return beside ? placed("CURDIR", joined(out), at) : plain(joined(out), at);
}

// $(wildcard PATTERN…): what lies beside the Makefile.
std::optional<ShellText> MakeValues::files(const ShellText& patterns, std::size_t at) {
  if (folder_.empty() || !patterns.unknowns.empty()) return std::nullopt;
  constexpr std::size_t kMost = 1'000;  // entries of folders
  std::size_t left = kMost;
  Words out;
  for (const std::string& pattern : make_words(patterns.text)) {
    if (pattern.front() == '/' || pattern.front() == '~') return std::nullopt;  // of the machine that runs it
    std::string whole;
    for (const char c : folder_ + "/") whole += {'\\', c};
    std::vector<std::string> found = glob_files(whole + pattern, left);
    if (left == 0) return std::nullopt;
    std::ranges::sort(found);
    std::error_code error;
    std::erase_if(found, [&](const std::string& file) { return !std::filesystem::exists(file, error); });
    for (const std::string& file : found) out.push_back(file.substr(folder_.size() + 1));
    const bool is_name = pattern.find_first_of("*?[") == pattern.npos;
    if (found.empty() && is_name) take_missing(folder_ + "/" + pattern, at);
  }
  return plain(joined(out), at);
}

// $(or …): what it comes to stands in for the names in front of it.
ShellText MakeValues::first_of(const std::vector<ShellText>& arguments) {
  std::vector<ShellText> before;
  for (const ShellText& argument : arguments) {
    const ShellText asked = without_blanks(argument);
    if (unset_name(asked)) {
      before.push_back(asked);
      continue;
    }
    ShellText value = expand(asked);
    if (!value.unknowns.empty()) return hole_of(value);
    if (value.text.empty()) continue;
    for (const ShellText& one : before) take(*unset_name(one), value, one.origin.front());
    return value;
  }
  for (const ShellText& one : before) take(*unset_name(one), std::nullopt, one.origin.front());
  return {};
}

ShellText MakeValues::choice(std::string_view name, const std::vector<ShellText>& arguments) {
  if (name == "or") return first_of(arguments);
  ShellText last;
  if (name == "if") {
    last = condition(arguments[0]);
    if (!last.unknowns.empty()) return hole_of(last);
    if (!last.text.empty()) return expand(arguments[1]);
    return arguments.size() > 2 ? expand(arguments[2]) : ShellText{};
  }
  for (const ShellText& argument : arguments) {
    last = condition(argument);
    if (!last.unknowns.empty()) return hole_of(last);
    if (last.text.empty()) return last;
  }
  return last;
}

// What a command prints, where it is known without running it: line ends inside are blanks.
std::optional<ShellText> MakeValues::printed(const ShellText& command, std::size_t at) {
  if (!command.unknowns.empty()) return std::nullopt;
  if (trimmed(command.text) == "pwd") return own_place("CURDIR", at);
  const std::string text = fmt::format("show \"$({})\"", command.text);
  const auto script = parse_shell(plain(text, at), pasted_, given_);
  const bool one = script && script->commands.size() == 1 && script->commands[0].words.size() == 2;
  if (!one || !script->commands[0].words[1].unknowns.empty()) return std::nullopt;
  std::string out = script->commands[0].words[1].text;
  std::replace(out.begin(), out.end(), '\n', ' ');
  return plain(out, at);
}

ShellText MakeValues::lazy(std::string_view name, const std::vector<ShellText>& arguments, const ShellText& inside,
                           std::size_t at) {
  if (name == "foreach" && arguments.size() == 3) return for_each(arguments, at);
  if (name == "call") return call(arguments, at);
  if (name == "info" || name == "warning") return {};
  if (name == "eval") {
    evaluate_(expand(arguments.front()));
    return {};
  }
  if (name == "value") {
    const MakeVariable* const found = find(std::string(trimmed(arguments.front().text)));
    if (found == nullptr) return value(arguments.front().text, at);
    return found->text.unknowns.empty() ? plain(found->text.text, at) : hole_of(found->text);
  }
  if ((name == "if" && arguments.size() >= 2) || name == "or" || name == "and") return choice(name, arguments);
  if (name == "wildcard") {
    if (auto text = files(expand(arguments.front()), at)) return *text;
  }
  if (name == "abspath" || name == "realpath") {
    if (auto text = whole_paths(expand(arguments.front()), name == "realpath", at)) return *text;
  }
  if (name == "shell") {
    if (auto text = printed(expand(arguments.front()), at)) return *text;
  }
  return unknown_text(fmt::format("$({}) of make is not known; give it with {}", inside.text, how_to_set(inside.text)),
                      at);
}

bool is_shell_name(std::string_view name) {
  return !name.empty() && name.find_first_of("0123456789") != 0 &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == name.npos;
}

}  // namespace preflight::sources
