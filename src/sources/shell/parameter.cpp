// $NAME and ${NAME…} in words. Tested by tests/shell_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "src/sources/shell/evaluator.h"
#include "src/sources/shell/word_maker.h"

namespace preflight::sources {
namespace {

// $1 and its kin.
bool is_argument(std::string_view name) {
  return !name.empty() && name != "0" && name.find_first_not_of("0123456789") == std::string_view::npos;
}

// Nothing, or quotes around nothing.
bool is_written_empty(const Parts& parts) {
  return std::ranges::all_of(parts,
                             [](const Part& part) { return part.kind == Part::Kind::kText && part.begin == part.end; });
}

// Whether variables that bash, or a session, sets by itself may begin so.
bool is_of_shell(std::string_view front) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"BASH",    "COLUMNS", "COMP",  "DBUS",       "DIRSTACK", "EPOCH", "EUID",    "FUNCNAME", "GROUPS",   "HIST",
       "HOME",    "HOST",    "IFS",   "LANG",       "LC_",      "LINE",  "LOGNAME", "MACHTYPE", "MAIL",     "OLDPWD",
       "OPT",     "OSTYPE",  "PATH",  "PIPESTATUS", "PPID",     "PS",    "PWD",     "RANDOM",   "READLINE", "REPLY",
       "SECONDS", "SHELL",   "SHLVL", "SRANDOM",    "SSH_",     "TERM",  "TZ",      "UID",      "USER",     "XDG_"});
  return std::ranges::any_of(kNames,
                             [&](std::string_view name) { return name.starts_with(front) || front.starts_with(name); });
}

std::size_t words_in(std::string_view text) {
  std::size_t count = 0;
  bool inside = false;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    count += !inside && !blank ? 1 : 0;
    inside = !blank;
  }
  return count;
}

}  // namespace

// One parameter and where it goes.
class ShellEvaluator::Parameter {
 public:
  Parameter(ShellEvaluator& shell, const Part& part, WordMaker& out)
      : shell_(shell),
        part_(part),
        out_(out),
        origin_(shell.outer(part.begin)),
        all_(shell.text_.script->text.substr(part.begin, part.end - part.begin)),
        name_(part.name),
        every_(part.name == "@" || part.name == "*" || part.subscript == "@" || part.subscript == "*"),
        slices_(part.op.size() > 1 && part.op[0] == ':' && std::string_view("-=?+").find(part.op[1]) > 3),
        changes_((!part.op.empty() && std::string_view("#%/,^").find(part.op[0]) != std::string_view::npos) ||
                 (part.op.size() == 2 && part.op[0] == '@')) {}

  void expand() {
    if (const auto given = shell_.start_.given.find(all_); given != shell_.start_.given.end())
      return put({given->second});
    if (every_ && (part_.op.empty() || slices_ || (changes_ && part_.prefix == '\0')) && part_.prefix != '!')
      return expand_every();
    if (part_.prefix == '!' && every_ && part_.op.empty() && !part_.subscript.empty() && !is_given()) {
      shell_.spend(how_many());
      if (const auto keys = shell_.keys_of(part_.name)) return put_all(*keys);
    }
    if (part_.prefix == '!' && (part_.op == "*" || part_.op == "@")) return expand_names();
    const bool asks = part_.op == ":-" || part_.op == "-" || part_.op == "+" || part_.op == ":+";
    if (part_.op == "?unclear" || (every_ && (!asks || part_.prefix == '!'))) return not_understood();
    if (!(every_ ? find_first() : find_one())) return;
    note_value();
    if (!value_ && !every_ && part_.prefix == '!') shell_.ends_line(origin_);
    if (value_ && part_.prefix == '!') {
      if (!value_->unknowns.empty()) return put(*value_);
      if (!may_be_named(value_->text)) return no_name(value_->text);
      name_ = value_->text;
      if (const auto bracket = name_.find('['); bracket != std::string::npos) {  // of a list that the script has
        const std::string key = name_.substr(bracket + 1, name_.size() - bracket - 2);
        const bool number = !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
        value_ = number && name_.ends_with(']') ? shell_.scalar(name_.substr(0, bracket), key) : std::nullopt;
        return value_ && part_.op.empty() ? put(*value_) : not_understood();
      }
      value_ = shell_.lookup(name_);
      if (shell_.state_.exits_on_unset && !replaces() && !is_sure(name_)) shell_.unset_now_.push_back(when_set());
    }
    const bool maybe_none = is_argument(part_.name) && !shell_.state_.arguments_known && !is_given();
    if (maybe_none && shell_.state_.exits_on_unset && !replaces() && shell_.shifting_ == 0)
      shell_.unset_now_.push_back(when_set());
    if (!value_ && !every_ && !replaces() && shell_.is_unset_here(name_)) value_ = ShellText{};
    if (part_.prefix == '#') return expand_length();
    if (part_.op.empty()) return expand_plain();
    if (slices_) return expand_slice();
    expand_operator();
  }

 private:
  using Texts = std::vector<ShellText>;

  void put(const ShellText& value) { shell_.insert(value, part_, out_); }
  void put_all(const Texts& values) {
    shell_.insert_all(values, part_, part_.name == "@" || part_.subscript == "@", out_);
  }
  void unknown(std::string message) {
    out_.open();
    out_.put_unknown({0, std::move(message), origin_});
  }
  void not_understood() {
    unknown(fmt::format("{} is not understood; give its value with {}", all_, how_to_set(all_)));
  }
  // Whether ${!NAME} takes what NAME holds for a name: of a variable, an item, an argument.
  [[nodiscard]] static bool may_be_named(std::string_view name) {
    const std::string_view plain = name.substr(0, name.find('['));
    const bool number = !plain.empty() && std::ranges::all_of(plain, [](char c) { return c >= '0' && c <= '9'; });
    const bool sign = name.size() == 1 && std::string_view("@*#?-$!").find(name[0]) != std::string_view::npos;
    const bool word = !plain.empty() && shell_name_start(plain.front()) && std::ranges::all_of(plain, shell_name_char);
    return number || sign || word;
  }
  void no_name(const std::string& name) {
    shell_.ends_line(origin_);
    unknown(fmt::format("{} holds {}, which is no name of a variable", part_.name, name.empty() ? "nothing" : name));
  }
  // Whether what ${!NAME} names is known to be set.
  [[nodiscard]] bool is_sure(std::string_view name) const {
    const bool number = std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
    return value_ && (!number || value_->unknowns.empty());
  }
  void not_set() {
    if (set_where_it_runs(name_) && !is_touched()) return unknown(not_set_here(name_));
    if (shell_.state_.exits_on_unset) shell_.unset_now_.push_back(when_set());
    out_.open();
    Unknown why{0, why_not_set(), origin_};
    why.variable = name_;
    why.nothing_sets = !is_touched() && part_.op.empty() && part_.prefix != '#' && shell_name_start(name_.front());
    out_.put_unknown(why);
  }
  [[nodiscard]] Condition when_set() const { return unless_unset(name_, shell_.line_of(shell_.outer(part_.begin))); }
  [[nodiscard]] std::string why_not_set() const {
    return fmt::format("the variable {} is not set; give it with {}", name_, how_to_set(name_));
  }
  // ${NAME:-…} and its kin: what is not set is theirs to say.
  [[nodiscard]] bool replaces() const {
    const std::size_t at = part_.op.starts_with(':') ? 1 : 0;
    return part_.op.size() > at && std::string_view("-=?+").find(part_.op[at]) != std::string_view::npos;
  }
  [[nodiscard]] bool is_given() const { return shell_.is_given(part_.name); }
  // That this text sets or unsets it.
  [[nodiscard]] bool is_touched() const { return shell_.state_.variables.contains(name_); }
  [[nodiscard]] const ShellValue* array() const {
    return part_.subscript.empty() ? nullptr : shell_.state_.find(part_.name);
  }

  // An associative array, whose order is the shell's own.
  [[nodiscard]] bool is_keyed() const {
    const auto variable = shell_.state_.variables.find(part_.name);
    return variable != shell_.state_.variables.end() && variable->second.attribute == "-A";
  }

  // How many values ${NAME[@]} or $@ goes through.
  [[nodiscard]] std::size_t how_many() const {
    if (part_.subscript.empty()) return shell_.state_.arguments.size();
    const ShellValue* value = array();
    return value == nullptr ? 0 : value->items.size();
  }

  // What stands behind the operator. In quotes a tilde is itself.
  [[nodiscard]] Parts argument() const {
    if (part_.quoted || part_.argument.empty()) return part_.argument;
    return shell_.with_homes(part_.argument, out_.assigned ? part_.argument.front().begin : std::string::npos);
  }

  // What stands in where nothing sets it: as written, where it is more than names and text.
  void stand_in(const std::string& name, char op) {
    const std::size_t from = 2 + (part_.prefix == '\0' ? 0 : 1) + part_.name.size() + part_.op.size();
    if (op == '+' || all_.size() <= from) return shell_.take_default(name, std::nullopt, origin_);
    const bool plain = std::ranges::all_of(part_.argument, [](const Part& piece) {
      return piece.kind == Part::Kind::kText || piece.kind == Part::Kind::kDecoded ||
             (piece.kind == Part::Kind::kParameter && piece.argument.empty());
    });
    const ShellText made = plain ? shell_.expand_text(argument()) : ShellText{};
    const bool known = plain && made.unknowns.empty();
    shell_.take_default(name, known ? made.text : all_.substr(from, all_.size() - from - 1), origin_);
  }

  // ${!TP_*}: the names that are set and begin so. What else the environment holds is not known, and told.
  void expand_names() {
    const ShellState& state = shell_.state_;
    if (state.others || is_of_shell(part_.name)) return not_understood();
    Texts out;
    std::string all;
    for (auto it = state.variables.lower_bound(part_.name);
         it != state.variables.end() && it->first.starts_with(part_.name); ++it) {
      if (!it->second.value) continue;
      const ShellText& text = it->second.value->text;
      if (!it->second.value->is_array && !text.unknowns.empty() && text.text.size() == 1)
        return not_understood();  // set?
      out.push_back({it->first});
      all += (all.empty() ? "" : " ") + it->first;
    }
    if (!shell_.spend(out.size() + 1)) return;
    if (!shell_.start_.is_here) shell_.take_default(all_, all, origin_);
    shell_.insert_all(out, part_, part_.op == "@", out_);
  }

  // --- several values ---

  void expand_every() {
    if (is_given()) {
      const std::string& given = shell_.start_.given.at(part_.name);
      if (part_.prefix == '#') return put({std::to_string(words_in(given))});
      Part split = part_;
      split.quoted = false;
      return shell_.insert({given}, split, out_);
    }
    if (!shell_.spend(how_many())) return;
    auto values = values_of_every();
    if (!values) return;
    for (const ShellText& one : *values) add_defaults(shell_.taken_, one.defaults);
    const auto hole = std::ranges::find_if(*values, [](const ShellText& v) { return !v.unknowns.empty(); });
    const ShellValue* list = array();
    // A variable that holds no list may hold one as soon as it is not known.
    const bool single = !part_.subscript.empty() && (list == nullptr || !list->is_array);
    const bool open = single || (list != nullptr && list->open);
    if (open && hole != values->end() && (part_.prefix == '#' || slices_)) return put(*hole);
    if (single && slices_ && !values->empty()) return not_understood();
    if (part_.prefix == '#') return put({std::to_string(values->size())});
    if (slices_ && !cut(*values)) return not_understood();
    if (changes_) {
      for (ShellText& value : *values) {
        auto other = shell_.changed(value, part_);
        if (!other) return not_understood();
        value = std::move(*other);
      }
    }
    put_all(*values);
  }

  // None where the word is made already.
  std::optional<Texts> values_of_every() {
    ShellState& state = shell_.state_;
    if (part_.subscript.empty()) {
      if (state.arguments_known) return state.arguments;
      state.asked_for_arguments = true;
      unknown(fmt::format("\"${}\" is what this is started with, and not known here; give it with {}", part_.name,
                          how_to_set(part_.name)));
      return std::nullopt;
    }
    if (const ShellValue* value = array(); value != nullptr && value->is_array) {
      if (is_keyed() && value->items.size() > 1 && part_.prefix != '#') {
        unknown(
            fmt::format("in which order {} gives its values is not followed; give it with {}", all_, how_to_set(all_)));
        return std::nullopt;
      }
      Texts out;
      for (const auto& [key, item] : value->items) out.push_back(item);
      return out;
    } else if (value != nullptr) {
      if (part_.prefix != '#' || value->text.unknowns.empty()) return Texts{value->text};
      put(value->text);
      return std::nullopt;
    }
    if (const auto other = shell_.lookup(part_.name)) return Texts{*other};
    if (part_.prefix == '#' && shell_.state_.exits_on_unset) shell_.unset_now_.push_back(when_set());
    if (shell_.is_unset_here(part_.name) || is_touched()) return Texts{};
    if (!shell_.is_filled_here(part_.name)) {
      not_set();
      return std::nullopt;
    }
    shell_.take_default(part_.name, std::nullopt, origin_);
    return Texts{};
  }

  // ${A[@]:1:2}; false where what it leaves is not known.
  bool cut(Texts& values) {
    const bool positional = part_.subscript.empty();
    const ShellValue* array = this->array();
    const bool gaps = array != nullptr && array->is_array && !array->items.empty() &&
                      array->items.back().first != std::to_string(array->items.size() - 1);
    if (positional) values.insert(values.begin(), unknown_text("the name of this script", origin_));
    const auto bounds = is_keyed() || gaps ? std::nullopt : shell_.slice_bounds(part_, values.size(), false);
    if (!bounds || (positional && bounds->from == 0 && bounds->to > 0)) return false;
    values = {values.begin() + static_cast<std::ptrdiff_t>(bounds->from),
              values.begin() + static_cast<std::ptrdiff_t>(bounds->to)};
    return true;
  }

  // --- one value; false where the word is made already ---

  // ${A[@]+"${A[@]}"}: set or not is all that counts.
  bool find_first() {
    const ShellState& state = shell_.state_;
    const ShellValue* array = state.find(part_.name);
    if (array != nullptr && !array->is_array) value_ = array->text;
    if (array != nullptr && array->is_array && !array->items.empty()) value_ = array->items.front().second;
    if (!part_.subscript.empty() && array == nullptr) value_ = shell_.lookup(part_.name);
    if (part_.subscript.empty() && !state.arguments_known) stand_in("$" + part_.name, part_.op.back());
    if (part_.subscript.empty() && !state.arguments.empty()) value_ = state.arguments.front();
    return true;
  }

  bool find_one() {
    if (part_.subscript.empty() || is_given()) {
      value_ = shell_.lookup(part_.name);
      return true;
    }
    std::string why;
    const std::string key = shell_.subscript_of(part_.name, part_.subscript, &why);
    const ShellValue* array = this->array();
    if (key.empty() && (array != nullptr || !is_touched())) {
      if (shell_.state_.exits_on_error) shell_.ends_line(origin_);  // bash has no item of that name
      if (array != nullptr && !array->is_array && !array->text.unknowns.empty())
        put(array->text);
      else if (!why.empty())
        unknown(why);
      else
        unknown(fmt::format("{0}[{1}] is not known; give it with {2}", part_.name, part_.subscript,
                            how_to_set(fmt::format("${{{}[{}]}}", part_.name, part_.subscript))));
      return false;
    }
    shell_.spend(how_many() / 8);
    value_ = shell_.scalar(part_.name, key);
    if (!value_ && array == nullptr) value_ = shell_.lookup(part_.name);  // a file that is sourced may set the list
    if (value_ && array == nullptr && value_->unknowns.empty() && key != "0") value_.reset();
    if (key == "0" && part_.name == "BASH_SOURCE") value_ = shell_.own_name(part_.name);
    return true;
  }

  void note_value() {
    const bool of_file = value_ && !value_->unknowns.empty() && value_->unknowns.front().place == Unknown::Place::kFile;
    if (of_file && shell_.own_name(part_.name))
      shell_.take_default("$0", shell_.start_.own_file, origin_, TakenWhy::kPlace);
    const bool takes = !part_.op.empty() && (part_.op.back() == '-' || part_.op.back() == '+');
    if (!shell_.state_.arguments_known && !takes && (is_argument(part_.name) || part_.name == "#"))
      shell_.state_.asked_for_arguments = true;
    if (value_) add_defaults(shell_.taken_, value_->defaults);
  }

  void expand_length() {
    if (!value_) return not_set();
    put(value_->unknowns.empty() ? ShellText{std::to_string(value_->text.size())} : *value_);
  }

  void expand_plain() {
    const ShellState& state = shell_.state_;
    const bool past_the_last = !value_ && is_argument(part_.name) && state.arguments_known && !state.arguments_of_start;
    if (past_the_last && !state.exits_on_unset) return put({});
    value_ ? put(*value_) : not_set();
  }

  void expand_slice() {
    if (!value_) return not_set();
    if (!value_->unknowns.empty()) return put(*value_);
    const auto bounds = shell_.slice_bounds(part_, value_->text.size(), true);
    bounds ? put(slice(*value_, bounds->from, bounds->to)) : not_understood();
  }

  // --- ${NAME:-…} and its kin ---

  void expand_operator() {
    const bool colon = part_.op[0] == ':';
    const char op = colon ? part_.op[1] : part_.op[0];
    if (!take_stand_in(op, colon)) return;
    const bool has = value_ && !(colon && value_->text.empty());
    switch (op) {
      case '?':
        if (has) return put(*value_);
        shell_.state_.may_end.emplace(when_set(), 0);
        return not_set();
      case '-':
      case '=':
        return has ? put(*value_) : put_argument(op);
      case '+':
        if (!has) return;
        if (value_->unknowns.size() == 1 && value_->text.size() == 1) return put(*value_);  // set?
        return put_argument(op);
      default:
        return expand_change();
    }
  }

  // X=$TP, and then ${X:-2}: what nothing sets is nothing here, too.
  void take_carried(char op) {
    const bool carried = value_ && value_->text.size() == 1 && value_->unknowns.size() == 1 && is_touched();
    const std::string unset = carried ? value_->unknowns.front().unset() : std::string();
    const bool given = shell_.is_given(unset) || (unset.starts_with('$') && shell_.is_given(unset.substr(1)));
    if (unset.empty() || given || every_ || shell_.state_.exits_on_unset || shell_.start_.asked.contains(unset)) return;
    stand_in(unset, op);
    value_.reset();
  }

  // Notes what stands in for what nothing sets; false where it is asked for instead.
  bool take_stand_in(char op, bool colon) {
    const ShellState& state = shell_.state_;
    const bool argument = is_argument(part_.name);
    const bool asks_instead = !every_ && (op == '+' || is_written_empty(part_.argument)) &&
                              shell_.start_.asked.contains((argument ? "$" : "") + name_);
    if (colon && (op == '-' || op == '=' || op == '+')) take_carried(op);
    if (state.arguments_lost && !state.arguments_known && argument && !is_given()) {
      unknown(fmt::format("what ${} is here depends on a branch or a loop; give it with {}", part_.name,
                          how_to_set(part_.name)));
      return false;
    }
    if (!state.arguments_known && (op == '-' || op == '+') && argument && !is_given()) {
      if (shell_.shifting_ > 0 || asks_instead) {
        unknown(shell_.shifting_ > 0
                    ? value_->unknowns.front().message
                    : fmt::format("${} is not given here; give it with {}", part_.name, how_to_set(part_.name)));
        return false;
      }
      stand_in("$" + part_.name, op);
      value_.reset();
    }
    const bool has = value_ && !(colon && value_->text.empty());
    if (has || (op != '-' && op != '=' && op != '+') || !part_.subscript.empty() || every_) return true;
    const bool defaults_to_nothing = value_ && value_->defaults != nullptr && value_->defaults->contains(name_);
    const bool open = !value_ && !shell_.start_.is_here && !is_touched() && shell_name_start(name_.front());
    if (open && asks_instead) {
      op == '+' ? unknown(why_not_set()) : not_set();
      return false;
    }
    if (open || (defaults_to_nothing && op != '+')) stand_in(name_, op);
    return true;
  }

  void put_argument(char op) {
    for (Part piece : argument()) {
      piece.quoted = piece.quoted || part_.quoted;
      const bool splits = piece.kind == Part::Kind::kText && !piece.quoted && !out_.single;
      if (splits)  // as the value of a parameter is
        shell_.insert(shell_.slice_placed(piece.begin, piece.end), piece, out_);
      else
        shell_.expand_part(piece, out_);
    }
    if (op != '=' || part_.argument.empty()) return;
    ShellText text = shell_.expand_text(argument());
    add_defaults(text.defaults, shell_.taken_);
    shell_.remember(part_.name, {.text = std::move(text)}, false, nullptr);
  }

  // ${NAME#…}, ${NAME/…}, ${NAME,}
  void expand_change() {
    if (!value_ && shell_.state_.exits_on_unset) shell_.unset_now_.push_back(when_set());
    if (!value_) return unknown(fmt::format("{}; or with {}", why_not_set(), how_to_set(all_)));
    if (part_.op == "@A" || part_.op == "@a") return describe();
    const auto text = shell_.changed(*value_, part_);
    text ? put(*text) : not_understood();
  }

  // ${NAME@A}, which sets it anew, and ${NAME@a}, of one that is no array and has no attribute but being exported.
  void describe() {
    const auto variable = shell_.state_.variables.find(part_.name);
    const bool known = variable != shell_.state_.variables.end() && variable->second.value &&
                       !variable->second.value->is_array && variable->second.attribute.empty() &&
                       part_.subscript.empty() && value_->unknowns.empty();
    if (!known) return not_understood();
    const bool exported = variable->second.exported;
    if (part_.op == "@a") return put({exported ? "x" : ""});
    const auto quoted = quoted_for_shell(value_->text);
    if (!quoted) return not_understood();
    put({fmt::format("{}{}={}", exported ? "declare -x " : "", part_.name, *quoted)});
  }

  ShellEvaluator& shell_;
  const Part& part_;
  WordMaker& out_;
  std::size_t origin_;
  std::string all_;   // as it is written
  std::string name_;  // of what is looked at: ${!NAME} looks at what NAME names
  bool every_;
  bool slices_;
  bool changes_;
  std::optional<ShellText> value_ = {};
};

void ShellEvaluator::expand_parameter(const Part& part, WordMaker& out) {
  const std::string referred = referred_by(part.name);
  if (referred == part.name) return Parameter(*this, part, out).expand();
  if (part.prefix == '!' && part.subscript.empty()) return insert({referred}, part, out);
  Part other = part;
  other.name = referred;
  expand_parameter(other, out);
}

}  // namespace preflight::sources
