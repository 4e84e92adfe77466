// Words from their pieces: values, arrays, splitting, patterns. Tested by tests/shell_test.cpp.
#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/base/number_text.h"
#include "src/sources/mention_trail.h"
#include "src/sources/shell/arithmetic.h"
#include "src/sources/shell/evaluator.h"
#include "src/sources/shell/parser.h"
#include "src/sources/shell/word_maker.h"
#include "src/sources/shell/written_number.h"

namespace preflight::sources {
namespace {

constexpr std::string_view kDefaultSeparators = " \t\n\r";  // a line end of another system, too

bool blank_or_line(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// A substitution's command that prints nothing: none at all, a comment (people put them between options so), `true` or
// `:` with plain words.
bool prints_nothing(std::string_view command) {
  const std::size_t from = command.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return true;
  command = command.substr(from, command.find_last_not_of(" \t\r\n") + 1 - from);
  if (command.find('\n') != std::string_view::npos) return false;
  if (command.front() == '#' || command == "true" || command == ":") return true;
  return command.starts_with(": ") && command.find_first_of("$`'\"\\;&|<>(){}*?[") == std::string_view::npos;
}

// `pattern` has *** where reports hide a part of `text`.
bool is_shown_as(std::string_view text, std::string_view pattern) {
  constexpr std::string_view kHidden = "***";
  std::size_t hidden = pattern.find(kHidden);
  if (hidden == pattern.npos || !text.starts_with(pattern.substr(0, hidden))) return false;
  text.remove_prefix(hidden);
  pattern.remove_prefix(hidden + kHidden.size());
  while ((hidden = pattern.find(kHidden)) != pattern.npos) {
    const std::size_t at = text.find(pattern.substr(0, hidden), 1);
    if (at == text.npos) return false;
    text.remove_prefix(at + hidden);
    pattern.remove_prefix(hidden + kHidden.size());
  }
  return text.size() > pattern.size() && text.ends_with(pattern);
}

// Arithmetic with the value of each NAME[subscript] in its place; none where one is not known, or is assigned.
std::optional<std::string> with_items(
    std::string text,
    const std::function<std::optional<ShellText>(const std::string& name, const std::string& subscript)>& item) {
  for (auto open = text.find('['); open != std::string::npos; open = text.find('[', open)) {
    std::size_t name = open;
    while (name > 0 && shell_name_char(text[name - 1])) --name;
    const auto close = text.find(']', open);
    if (name == open || close == std::string::npos) return std::nullopt;
    const auto behind = text.find_first_not_of(" \t\n", close + 1);
    const std::string_view rest = std::string_view(text).substr(std::min(behind, text.size()));
    const bool compares = rest.starts_with("==") || rest.starts_with("<=") || rest.starts_with(">=");
    const auto equals = rest.substr(0, 3).find('=');
    if ((equals != std::string_view::npos && !compares && !rest.starts_with("!=")) || rest.starts_with("++") ||
        rest.starts_with("--"))
      return std::nullopt;
    const auto value = item(text.substr(name, open - name), text.substr(open + 1, close - open - 1));
    const auto number = value && value->unknowns.empty() ? number_in<int>(value->text) : std::nullopt;
    if (!number || has_zero(value->text)) return std::nullopt;
    const std::string shown = fmt::format("({})", *number);
    text.replace(name, close + 1 - name, shown);
    open = name + shown.size();
  }
  return text;
}

}  // namespace

// --- values ---

std::optional<ShellText> ShellEvaluator::scalar(const std::string& name, const std::string& subscript) const {
  const ShellValue* value = state_.find(referred_by(name));
  if (value == nullptr) return std::nullopt;
  const std::string key = subscript.empty() ? "0" : subscript;
  const bool whole = key == "0" || key == "@" || key == "*" || !value->text.unknowns.empty();  // which may be a list
  if (!value->is_array) return whole ? std::optional(value->text) : std::nullopt;
  for (const auto& [k, item] : value->items) {
    if (value->open && !item.unknowns.empty()) return item;  // which items follow is not known
    if (k == key) return item;
  }
  return std::nullopt;
}

// The subscript that is written so: a key of an associative array, else a number; "" where it is not known.
std::string ShellEvaluator::subscript_of(const std::string& name, const std::string& written, std::string* why) {
  if (written.empty() || written == "@" || written == "*") return written;
  const auto variable = state_.variables.find(name);
  const ShellValue* value = state_.find(name);
  const bool keyed = variable != state_.variables.end() && variable->second.attribute == "-A";
  if (value != nullptr) spend(value->items.size() / 8);
  const bool numbers = value == nullptr || !value->is_array ||
                       std::all_of(value->items.begin(), value->items.end(), [](const auto& item) {
                         return item.first.find_first_not_of("0123456789") == std::string::npos;
                       });
  if (keyed || !numbers) {
    const ShellText expression{written, std::vector<std::size_t>(written.size(), 0), {}};
    ShellParser parser(expression, pasted_);
    const Parts parts = parser.quoted_text();
    if (parser.failed()) return {};
    const Text before = std::exchange(text_, Text{&expression, nullptr, text_.file, true});
    ShellText key = expand_text(parts);
    text_ = before;
    if (!key.unknowns.empty() && why != nullptr) *why = key.unknowns.front().message;
    if (!key.unknowns.empty()) return {};
    std::erase(key.text, '"');
    std::erase(key.text, '\'');
    return key.text;
  }
  Unknown reason;
  const auto number = computed({written}, reason);
  if (!number && why != nullptr && !reason.message.empty()) *why = reason.message;
  if (!number) return {};
  std::int64_t index = *number;
  if (index < 0 && value != nullptr && !value->items.empty()) {
    std::int64_t last = 0;
    for (const auto& [key, item] : value->items) last = std::max<std::int64_t>(last, std::atoll(key.c_str()));
    index += last + 1;
  }
  return index < 0 ? std::string() : std::to_string(index);
}

// The subscripts of an array whose items are numbered.
std::optional<std::vector<ShellText>> ShellEvaluator::keys_of(const std::string& array) const {
  const ShellValue* value = state_.find(array);
  const auto variable = state_.variables.find(array);
  if (value == nullptr || !value->is_array || value->open || variable->second.attribute == "-A") return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const auto& [key, item] : value->items) {
    if (key.empty() || key.size() > 9 || key.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    numbers.push_back(std::atoll(key.c_str()));
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<ShellText> out;
  for (const std::int64_t number : numbers) out.push_back(ShellText{std::to_string(number)});
  return out;
}

// --set stands for whatever a variable is set to, but for what is made of it from there on: i++, M=org/$M. Where that
// is not known, what is given is its answer again.
bool ShellEvaluator::is_given(const std::string& name) const {
  if (!start_.given.contains(name) || !state_.counted.contains(name)) return start_.given.contains(name);
  const ShellValue* made = state_.find(name);
  return made == nullptr || made->is_array || !made->text.unknowns.empty();
}

// A variable's or parameter's value; none where nothing sets it.
std::optional<ShellText> ShellEvaluator::lookup(const std::string& name) const {
  if (is_given(name)) return ShellText{start_.given.at(name)};
  if (auto value = scalar(name, "")) return value;
  if (name == "0" && start_.zero && start_.zero->unknowns.empty()) return start_.zero;
  if (auto own = own_name(name)) return own;
  if (name == "0" && start_.zero) return start_.zero;
  if (name == "PWD" && state_.folder && !state_.variables.contains(name)) return state_.folder;
  const bool at_start = start_.is_here && !state_.moved && !start_.folder.empty();
  if (name == "PWD" && at_start && !state_.variables.contains(name)) return ShellText{start_.folder};
  if (name == "?" && state_.last_status) return ShellText{*state_.last_status};
  const auto number = number_in<int>(name);
  const bool counts = (number && *number > 0) || name == "#";
  const std::size_t asked = number ? static_cast<std::size_t>(*number) : std::string::npos;
  if (counts && state_.sure_arguments < state_.arguments.size() && asked > state_.sure_arguments)
    return state_.arguments[state_.sure_arguments];  // why it is not known
  if (number && *number > 0 && state_.arguments_known) {
    const auto i = static_cast<std::size_t>(*number) - 1;
    return i < state_.arguments.size() ? std::optional(state_.arguments[i]) : std::nullopt;
  }
  if (name == "#" && state_.arguments_known) return ShellText{std::to_string(state_.arguments.size())};
  if (number || (name.size() == 1 && !shell_name_start(name[0]))) {
    ShellText out = unknown_text(
        fmt::format("${} is a value of the running shell and not known here; give it with {}", name, how_to_set(name)),
        0);
    out.unknowns.front().variable = "$" + name;
    out.unknowns.front().nothing_sets =
        number && *number > 0 && state_.arguments_of_start && !state_.arguments_lost && shifting_ == 0;
    return out;
  }
  if (state_.variables.contains(name)) return std::nullopt;  // unset here
  if (name == "IFS" && !state_.others) return ShellText{" \t\n"};
  if (state_.others)
    return unknown_text(
        fmt::format("{} {}; give it with {}", name, state_.others->unknowns[0].message, how_to_set(name)),
        state_.others->unknowns[0].offset);
  if (!set_where_it_runs(name)) return std::nullopt;
  ShellText out = unknown_text(not_set_here(name), 0);
  out.unknowns.front().variable = name;
  return out;
}

// Whether it is known that nothing sets a variable: it is empty, unless that ends the script.
bool ShellEvaluator::is_unset_here(const std::string& name) const {
  if (name.empty() || state_.exits_on_unset || !shell_name_start(name.front()) || lookup(name)) return false;
  const auto variable = state_.variables.find(name);
  const bool was_unset = variable != state_.variables.end() && variable->second.attribute.empty();
  return start_.is_here || was_unset;
}

// Whether this text makes a list of that name somewhere: nothing else does, for no environment holds lists.
bool ShellEvaluator::is_filled_here(const std::string& name) const {
  const std::string start = name + "+=(";
  for (const std::string_view script : {std::string_view(text_.script->text), pasted_}) {
    for (auto at = script.find(start); at != std::string_view::npos; at = script.find(start, at + 1)) {
      if (at == 0 || !shell_name_char(script[at - 1])) return true;
    }
  }
  return false;
}

std::optional<std::string> ShellEvaluator::separators() const {
  const ShellValue* ifs = state_.find("IFS");
  if (ifs == nullptr) return std::string(kDefaultSeparators);
  if (ifs->is_array || !ifs->text.unknowns.empty()) return std::nullopt;
  return ifs->text.text;
}

std::optional<ShellEvaluator::SliceBounds> ShellEvaluator::slice_bounds(const Part& part, std::size_t size,
                                                                        bool negative_length) {
  if (part.op.find('?') != std::string::npos || part.op.find("::") != std::string::npos) return std::nullopt;
  std::size_t colon = std::string::npos;
  int open = 0;
  for (std::size_t i = 1; i < part.op.size() && colon == std::string::npos; ++i) {
    const char c = part.op[i];
    open += c == '{' || c == '(' ? 1 : c == '}' || c == ')' ? -1 : 0;
    if (c == ':' && open == 0) colon = i;
  }
  const std::size_t at = part.end - 1 - part.op.size();
  const auto computed_between = [&](std::size_t from, std::size_t to) {
    Unknown why;
    return computed(slice_placed(at + from, at + to), why);
  };
  const auto all = static_cast<std::int64_t>(size);
  auto from = computed_between(1, std::min(colon, part.op.size()));
  auto count =
      colon == std::string::npos ? std::optional<std::int64_t>(all) : computed_between(colon + 1, part.op.size());
  if (!from || !count || (*count < 0 && !negative_length)) return std::nullopt;
  if (*from < 0) *from += all;
  if (*from < 0 || *from > all) return SliceBounds{0, 0};  // nothing
  const std::int64_t to = *count < 0 ? all + *count : std::min(all, *from + std::min(*count, all));
  if (to < *from) return std::nullopt;  // bash ends with an error
  return SliceBounds{static_cast<std::size_t>(*from), static_cast<std::size_t>(to)};
}

// Nothing sets `name`, and `value` stands in for it.
void ShellEvaluator::take_default(const std::string& name, std::optional<std::string> value, std::size_t at,
                                  TakenWhy why) {
  if (start_.is_here) return;  // known, not taken
  auto all = taken_ == nullptr ? std::map<std::string, TakenDefault>{} : *taken_;
  const auto known = all.find(name);
  const bool room = known == all.end() ? all.size() < limits::kShellDefaults : known->second.value == "";
  if (room) all.insert_or_assign(name, TakenDefault{std::move(value), at, why});
  taken_ = std::make_shared<const std::map<std::string, TakenDefault>>(std::move(all));
}

// --- inserting ---

void ShellEvaluator::insert(const ShellText& value, const Part& part, WordMaker& out) {
  const std::size_t origin = outer(part.begin);
  if (!spend(value.text.size() + 1)) return;  // hundreds of long words would still be made
  add_defaults(taken_, value.defaults);
  if (start_.trail != nullptr) start_.trail->inserted(part.name, origin, value);
  if (part.quoted || out.single) {
    out.open();
    out.put_all(value, origin);
    return;
  }
  const auto ifs = separators();
  const auto splits = [&](char c) { return ifs->find(c) != std::string::npos; };
  if (!value.text.empty() && !ifs) {
    out.put_unknown({0, "IFS was set: how this splits into words is not followed", origin});
    return;
  }
  bool ended = false;  // a field, by a blank: a sign behind it ends no other one
  for (std::size_t i = 0; i < value.text.size(); ++i) {
    const char c = value.text[i];
    const Unknown* hole = value.hole(i);
    if (hole == nullptr && splits(c)) {
      const bool blank = blank_or_line(c);
      if (!blank && !out.is_open() && !ended) out.open();  // an empty field
      ended = blank && (ended || out.is_open());
      out.end_field();
      continue;
    }
    ended = false;
    out.open();
    if (hole != nullptr) {
      out.put_unknown(*hole, origin);
    } else {
      out.put(c, origin, true);
    }
  }
}

// "$@" and "${A[@]}" give one word for each value, "$*" one for all.
void ShellEvaluator::insert_all(const std::vector<ShellText>& values, const Part& part, bool apart, WordMaker& out) {
  const bool one = (part.quoted && !apart) || out.single;
  if (one) out.open();
  const auto ifs = separators();
  const bool joins = one && !apart && values.size() > 1;
  if (joins && !ifs) return out.put_unknown({0, "IFS is not known: it stands between these words", outer(part.begin)});
  const std::string between = joins ? ifs->substr(0, 1) : " ";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && one && !between.empty()) out.put(between.front(), outer(part.begin), false);
    if (i > 0 && !one) out.end_field();
    insert(values[i], part, out);
  }
}

// As bash quotes it for another shell: ${NAME@Q}; none where that depends on the language of the machine.
std::optional<std::string> quoted_for_shell(std::string_view text) {
  constexpr std::string_view kSigns = "\t\n\r";
  const bool ansi = text.find_first_of(kSigns) != std::string_view::npos;
  std::string out;
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~';
    if (!plain && kSigns.find(c) == std::string_view::npos) return std::nullopt;
    if (ansi && (c == '\'' || c == '\\')) out += '\\';
    if (plain)
      out += !ansi && c == '\'' ? "'\\''" : std::string(1, c);
    else
      out += c == '\t' ? "\\t" : c == '\n' ? "\\n" : "\\r";
  }
  if (text == "'") return "\\'";
  return (ansi ? "$'" : "'") + out + "'";
}

// ${NAME@U} and its kin: of escapes and prompts only what holds none.
std::optional<ShellText> ShellEvaluator::transformed(const ShellText& value, char how) {
  const std::string& text = value.text;
  const bool ascii = std::ranges::all_of(text, [](unsigned char c) { return c < 0x80; });
  ShellText out = value;
  switch (how) {
    case 'Q':
      if (auto quoted = quoted_for_shell(text)) return ShellText{std::move(*quoted)};
      return std::nullopt;
    case 'E':
      return text.find('\\') == std::string::npos ? std::optional(std::move(out)) : std::nullopt;
    case 'P':
      return text.find_first_of("\\$`!") == std::string::npos ? std::optional(std::move(out)) : std::nullopt;
    case 'U':
    case 'u':
    case 'L':
      if (!ascii) return std::nullopt;
      for (char& c : out.text) {
        c = static_cast<char>(how == 'L' ? std::tolower(static_cast<unsigned char>(c))
                                         : std::toupper(static_cast<unsigned char>(c)));
        if (how == 'u') break;
      }
      return out;
    default:
      return std::nullopt;
  }
}

// ${NAME##pattern}, ${NAME/pattern/text}, ${NAME,,} and their kin; none where that is not followed.
std::optional<ShellText> ShellEvaluator::changed(const ShellText& value, const Part& part) {
  if (auto own = part_of_own_name(value, part)) return own;
  if (!value.unknowns.empty()) return value;  // why it is not known is the answer
  if (value.text.size() > limits::kMatchedBytes) return std::nullopt;
  if (part.op[0] == '/') return replaced(value, part);
  if (part.op[0] == '@') return transformed(value, part.op[1]);
  if (part.op[0] != ',' && part.op[0] != '^') return trimmed(value, part);
  if (!part.argument.empty()) return std::nullopt;
  ShellText out = value;
  for (char& c : out.text) {
    if (part.op[0] == ',' && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (part.op[0] == '^' && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (part.op.size() == 1) break;
  }
  return out;
}

// By a pattern that is plain text, and no sign in its place that later shells read as the match.
std::optional<ShellText> ShellEvaluator::replaced(const ShellText& value, const Part& part) {
  const ShellText pattern = expand_text(with_homes(part.argument));
  const auto written = pattern_of(part.argument, false);
  const ShellText text = expand_text(with_homes(part.replacement));
  // An unquoted sign of a pattern stands without a backslash in `written`.
  bool signs = !written || pattern.text.find('\\') != std::string::npos;
  for (std::size_t i = 0; !signs && i < written->size(); ++i) {
    if ((*written)[i] == '\\')
      ++i;
    else
      signs =
          std::string_view("*?[").find((*written)[i]) != std::string_view::npos || (choices_ && (*written)[i] == '(');
  }
  const bool known = written && text.unknowns.empty() && text.text.find_first_of("&\\") == std::string::npos;
  if (signs && known) return replaced_by_pattern(value, *written, text.text, part.op);
  const bool plain = known && !signs && pattern.unknowns.empty() && pattern.text.size() <= 64;
  if (!plain || !spend(value.text.size())) return std::nullopt;
  const std::string& v = value.text;
  const std::size_t n = pattern.text.size();
  ShellText out;
  if (part.op == "/#" || part.op == "/%") {
    const bool front = part.op == "/#";
    if (!(front ? v.starts_with(pattern.text) : v.ends_with(pattern.text))) return value;
    if (front) append(out, text);
    append(out, front ? slice(value, n, v.size()) : slice(value, 0, v.size() - n));
    if (!front) append(out, text);
    return ShellText{out.text, {}, {}};
  }
  if (n == 0) return value;
  std::string made;
  std::size_t from = 0;
  for (auto at = v.find(pattern.text); at != std::string::npos; at = v.find(pattern.text, from)) {
    made += v.substr(from, at - from) + text.text;
    from = at + n;
    if (part.op == "/" || made.size() > limits::kMatchedBytes) break;
  }
  return ShellText{made + v.substr(from), {}, {}};
}

// ${NAME//[^a-z]/text}: the longest match at each place, from the front.
std::optional<ShellText> ShellEvaluator::replaced_by_pattern(const ShellText& value, const std::string& pattern,
                                                             const std::string& text, std::string_view op) {
  const std::string& v = value.text;
  const bool follows = (op == "/" || op == "//") && v.size() <= limits::kReplacedBytes && !any_case_;
  if (!follows || !spend(v.size() * v.size() / 4 + 1)) return std::nullopt;
  std::string made;
  bool any = false;
  for (std::size_t i = 0; i < v.size();) {
    std::size_t length = any && op == "/" ? 0 : v.size() - i;
    for (; length > 0; --length) {
      const Status here = matches(v.substr(i, length), pattern, choices_);
      if (here == Status::kUnknown) return std::nullopt;
      if (here == Status::kTrue) break;
    }
    made += length > 0 ? text : v.substr(i, 1);
    any = any || length > 0;
    i += std::max<std::size_t>(length, 1);
  }
  return ShellText{made, {}, {}};
}

std::optional<ShellText> ShellEvaluator::trimmed(const ShellText& value, const Part& part) {
  const auto pattern = pattern_of(part.argument, false);
  if (!pattern || pattern->size() > 128) return std::nullopt;
  const bool front = part.op[0] == '#';
  const bool longest = part.op.size() == 2;
  const std::size_t n = value.text.size();
  spend(n * 8);
  for (std::size_t i = 0; i <= n; ++i) {
    const std::size_t length = longest ? n - i : i;
    const std::string piece = front ? value.text.substr(0, length) : value.text.substr(n - length);
    const Status here = matches(piece, *pattern, choices_);
    if (here == Status::kUnknown) return std::nullopt;
    if (here == Status::kFalse) continue;
    return front ? slice(value, length, n) : slice(value, 0, n - length);
  }
  return value;
}

void ShellEvaluator::expand_part(const Part& part, WordMaker& out) {
  switch (part.kind) {
    case Part::Kind::kText:
      if (part.quoted) out.open();
      if (!spend(part.end - part.begin + 1)) return;
      for (std::size_t i = part.begin; i < part.end; ++i) {
        out.open();
        if (const Unknown* hole = text_.script->hole(i)) {
          out.put_unknown(*hole, hole->offset);
        } else {
          out.put(text_.script->text[i], outer(i), !part.quoted);
        }
      }
      return;
    case Part::Kind::kDecoded:
      out.open();
      out.put_all({part.name}, outer(part.begin));
      if (start_.trail != nullptr && part.end > part.begin)
        start_.trail->inserted({}, outer(part.begin), slice_placed(part.begin, part.end));
      return;
    case Part::Kind::kUnclear:
      out.open();
      out.put_unknown({0, part.name, outer(part.begin)});
      // <(echo …) prints for a program, not for people.
      if (start_.trail != nullptr && part.end > part.begin && text_.script->text[part.begin] == '<')
        start_.trail->written(slice_placed(part.begin, part.end));
      return;
    case Part::Kind::kParameter:
      return expand_parameter(part, out);
    case Part::Kind::kArithmetic:
    case Part::Kind::kSubstitution:
      break;
  }
  if (part.kind == Part::Kind::kArithmetic) return expand_arithmetic(part, out);
  const std::string_view inside = std::string_view(part.name).substr(2, part.name.size() - 3);
  auto given = given_for(part.name);
  if (given == start_.given.end()) given = start_.given.find(std::string(inside));  // $(NAME) of Kubernetes
  if (given != start_.given.end()) return insert({given->second}, part, out);
  if (prints_nothing(inside)) return;
  if (const auto text = captured_substitution(part)) return insert(*text, part, out);
  out.open();
  out.put_unknown({0,
                   fmt::format("command substitution: what {} prints cannot be known without running it; give it "
                               "with {}",
                               part.name, how_to_set(part.name)),
                   outer(part.begin)});
}

// By its text, or as reports show it, which may mean one substitution only.
Variables::const_iterator ShellEvaluator::given_for(const std::string& substitution) {
  const auto exact = start_.given.find(substitution);
  if (exact != start_.given.end()) return exact;
  return std::ranges::find_if(start_.given, [&](const auto& one) {
    return is_shown_as(substitution, one.first) &&
           shown_as_.emplace(one.first, substitution).first->second == substitution;
  });
}

void ShellEvaluator::expand_arithmetic(const Part& part, WordMaker& out) {
  if (const auto given = start_.given.find(part.name); given != start_.given.end())
    return insert({given->second}, part, out);
  Unknown why;
  if (const auto value = computed(slice_placed(part.begin + 3, part.end - 2), why))
    return insert({std::to_string(*value)}, part, out);
  forget_math(std::string_view(part.name).substr(3, part.name.size() - 5), outer(part.begin), why);
  out.open();
  std::string& said = why.message;
  if (said.empty()) end_of_sh(outer(part.begin));  // as 1/0 and 08 do
  if (said.empty()) ends_line(outer(part.begin));
  if (said.empty())
    said = fmt::format("arithmetic: what {} comes to is not known; give it with {}", part.name, how_to_set(part.name));
  out.put_unknown({0, std::move(said), outer(part.begin)});
}

// What bash cannot expand: the rest of the line does not run, nor that of what it is part of.
void ShellEvaluator::ends_line(std::size_t at) { state_.may_end.emplace(unless_no_value(line_of(at)), 0); }

std::optional<std::int64_t> ShellEvaluator::computed(const ShellText& written, Unknown& why) {
  if (!spend(written.text.size() + 1)) return std::nullopt;
  ShellText expression = written;
  if (expression.origin.empty()) expression.origin.assign(expression.text.size(), 0);
  const std::size_t at = expression.origin.empty() ? 0 : expression.origin.front();
  ShellParser parser(expression, pasted_);
  const Parts parts = parser.quoted_text();
  if (parser.failed()) return std::nullopt;
  const Text before = std::exchange(text_, Text{&expression, nullptr, text_.file, true});
  const ShellText text = expand_text(parts);
  text_ = before;
  if (!text.unknowns.empty()) {
    why = text.unknowns.front();
    return std::nullopt;
  }
  constexpr int kMostNamesInNames = 20;
  int inside = 0;
  ArithmeticNames names;
  names = {.value = [&](const std::string& name) -> std::optional<std::int64_t> {
             const auto value = lookup(name);
             if (!value) {
               if (state_.exits_on_unset && !is_given(name)) unset_now_.push_back(unless_unset(name, line_of(at)));
               if (state_.variables.contains(name) || is_unset_here(name)) return 0;
               why.message = fmt::format("the variable {} is not set; give it with {}", name, how_to_set(name));
               why.variable = name;
               return std::nullopt;
             }
             add_defaults(taken_, value->defaults);
             if (!value->unknowns.empty()) why = value->unknowns.front();
             if (!value->unknowns.empty() || value->text.size() > 64) return std::nullopt;
             if (value->text.empty()) return 0;
             if (const auto number = arithmetic_constant(value->text)) return number;
             const bool reads = is_arithmetic(value->text);
             if (!reads && state_.exits_on_unset) ends_line(at);  // by a name in it
             if (!reads || inside >= kMostNamesInNames || !spend(value->text.size())) return std::nullopt;
             ++inside;  // b=a+1: the value is an expression of its own
             const auto number = arithmetic(value->text, names);
             --inside;
             return number;
           },
           .assign =
               [&](const std::string& name, std::int64_t value) {
                 if (start_.given.contains(name)) state_.counted.insert(name);
                 remember(name, {.text = {std::to_string(value)}}, false, nullptr);
               }};
  const auto plain = with_items(text.text, [&](const std::string& name, const std::string& subscript) {
    auto value = scalar(name, subscript_of(name, subscript));
    if (value) add_defaults(taken_, value->defaults);
    return value;
  });
  return plain ? arithmetic(*plain, names) : std::nullopt;
}

// --- words ---

// Where the value begins in a word that reads as an assignment, in which bash fills in a home directory; none
// elsewhere.
static std::size_t value_in(const Parts& parts, std::string_view script) {
  constexpr std::size_t kNone = std::string_view::npos;
  if (parts.empty() || parts[0].kind != Part::Kind::kText || parts[0].quoted) return kNone;
  const std::string_view text = script.substr(parts[0].begin, parts[0].end - parts[0].begin);
  const auto equals = text.find('=');
  if (equals == 0 || equals == kNone || !shell_name_start(text[0])) return kNone;
  const bool name = std::ranges::all_of(text.substr(0, equals), shell_name_char);
  return name ? parts[0].begin + equals + 1 : kNone;
}

std::vector<ShellWord> ShellEvaluator::expand(const Word& word, bool is_item) {
  const bool has_brace = std::any_of(word.parts.begin(), word.parts.end(), [&](const Part& p) {
    return p.kind == Part::Kind::kText && !p.quoted &&
           std::string_view(text_.script->text).substr(p.begin, p.end - p.begin).find('{') != std::string_view::npos;
  });
  std::vector<ShellWord> out;
  const Taking taking(*this, true);
  for (const Parts& parts : has_brace ? braces(word.parts) : std::vector<Parts>{word.parts}) {
    WordMaker maker(outer(word.begin), word.end > word.begin ? outer(word.end - 1) + 1 : outer(word.begin));
    const std::size_t value_at = has_brace || is_item ? std::string::npos : value_in(parts, text_.script->text);
    for (const Part& part : with_homes(parts, value_at)) expand_part(part, maker);
    maker.end_field();
    for (std::size_t i = 0; i < maker.fields.size(); ++i) {
      const auto pattern = maker.patterns.find(i);
      auto files =
          pattern == maker.patterns.end() ? std::nullopt : files_matching(pattern->second.word, pattern->second.text);
      const bool may_fail = !files && pattern != maker.patterns.end() && (!state_.patterns || state_.patterns->fails);
      if (may_fail) state_.may_end.emplace(unless_no_file(line_of(outer(word.begin))), 0);
      if (!files) files.emplace().push_back(std::move(maker.fields[i]));
      for (ShellWord& file : *files) out.push_back(std::move(file));
    }
  }
  for (ShellWord& field : out) field.defaults = taken_;
  return out;
}

// Whether what is not known of it may be no word at all, or more than one.
bool ShellEvaluator::may_be_several(const Word& word) {
  return std::any_of(word.parts.begin(), word.parts.end(), [](const Part& part) {
    return (!part.quoted && part.kind != Part::Kind::kText && part.kind != Part::Kind::kDecoded) || part.name == "@" ||
           part.subscript == "@";
  });
}

std::vector<ShellWord> ShellEvaluator::expand_words(const std::vector<Word>& words) {
  std::vector<ShellWord> out;
  for (const Word& word : words) {
    for (ShellWord& field : expand(word)) out.push_back(std::move(field));
  }
  return out;
}

ShellWord ShellEvaluator::expand_single(const Word& word, std::size_t value_at) {
  WordMaker maker(outer(word.begin), word.end > word.begin ? outer(word.end - 1) + 1 : outer(word.begin));
  maker.single = true;
  maker.assigned = value_at != std::string::npos;
  const Taking taking(*this, true);
  for (const Part& part : with_homes(word.parts, value_at)) expand_part(part, maker);
  maker.open();
  maker.end_field();
  maker.fields.front().defaults = taken_;
  return std::move(maker.fields.front());
}

ShellText ShellEvaluator::expand_text(const Parts& parts) {
  WordMaker maker(0, 0);
  maker.single = true;
  const Taking taking(*this, true);
  for (const Part& part : parts) expand_part(part, maker);
  maker.open();
  maker.end_field();
  maker.fields.front().defaults = taken_;
  return std::move(maker.fields.front());
}

}  // namespace preflight::sources
