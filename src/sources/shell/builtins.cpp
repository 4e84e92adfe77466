// Commands of the shell itself, which change what it knows. Tested by tests/shell_test.cpp.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/assigned_values.h"
#include "src/sources/container_command.h"
#include "src/sources/mention_trail.h"
#include "src/sources/programs.h"
#include "src/sources/shell/evaluator.h"
#include "src/sources/shell/parser.h"
#include "src/sources/shell/printed.h"

namespace preflight::sources {
namespace {

// Scripts that set up a compiler, a package manager or a login, and none of the variables a launch is written with.
bool sets_up_tools(std::string_view path) {
  constexpr std::array<std::string_view, 15> kNames = {
      "setvars.sh", "oneapi-vars.sh", "env.sh.oneapi", "activate",      "conda.sh",
      "mamba.sh",   "bashrc",         ".bashrc",       ".bash_profile", ".profile",
      "modules.sh", "bash.bashrc",    "micromamba.sh", "nvm.sh",        "lmod.sh"};
  // Names that people give to files of their own, too.
  if (base_name(path) == "vars.sh") return path.ends_with("/env/vars.sh") || path.find("oneapi") != std::string::npos;
  return std::find(kNames.begin(), kNames.end(), base_name(path)) != kNames.end() || path == "/etc/profile" ||
         path.ends_with("/init/bash") || path.ends_with(".cargo/env") || path.ends_with("hpcx-init.sh") ||
         (path.find("/Ascend/") != std::string_view::npos && path.ends_with("set_env.sh"));
}

bool names_tools(std::string_view text) {
  constexpr std::array<std::string_view, 8> kHooks = {"conda", "mamba",    "ssh-agent", "modulecmd",
                                                      "pyenv", "starship", "dircolors", "brew shellenv"};
  return std::any_of(kHooks.begin(), kHooks.end(),
                     [&](std::string_view h) { return text.find(h) != std::string::npos; });
}

// Whether a whole command of the text is not known: eval "A=1; $(cat FILE)".
bool has_unknown_command(const ShellText& text) {
  constexpr std::string_view kEnds = ";\n&|()";
  return std::ranges::any_of(text.unknowns, [&](const Unknown& one) {
    const auto before = text.text.find_last_not_of(" \t", one.at == 0 ? std::string::npos : one.at - 1);
    const auto behind = text.text.find_first_not_of(" \t", one.at + 1);
    const bool begins = one.at == 0 || before == std::string::npos || kEnds.find(text.text[before]) != kEnds.npos;
    const bool ends = behind == std::string::npos || kEnds.find(text.text[behind]) != kEnds.npos;
    return begins && ends && !names_tools(one.message);
  });
}

bool is_name(std::string_view text) {
  return !text.empty() && shell_name_start(text[0]) && std::all_of(text.begin(), text.end(), shell_name_char);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string_view::npos &&
         (text.size() == 1 || text[0] != '0');
}

}  // namespace

bool ShellEvaluator::has_plain_values(const std::string& name) const {
  const auto it = state_.variables.find(name);
  return it == state_.variables.end() || it->second.attribute.empty() || it->second.attribute == "-A";
}

// What an assignment makes of a value under declare -i, -l and -u.
ShellValue ShellEvaluator::as_declared(const std::string& name, ShellValue value) {
  const std::string attribute = state_.variables[name].attribute;
  Unknown why;
  why.message = fmt::format("{} was declared {}, and what an assignment makes of that is not followed; give it with {}",
                            name, attribute, how_to_set(name));
  const std::size_t at = text_.script->origin.empty() ? 0 : text_.script->origin.front();
  if (!value.is_array && attribute == "-i") {
    if (!value.text.unknowns.empty()) return {.text = unknown_text(value.text.unknowns.front().message, at)};
    const bool plain = value.text.text.find_first_of("$`\\\"'") == std::string::npos;
    if (const auto number = plain ? computed(value.text, why) : std::nullopt) {
      ShellText text{std::to_string(*number)};
      text.defaults = taken_;
      add_defaults(text.defaults, value.text.defaults);
      return {.text = std::move(text)};
    }
  }
  if (!value.is_array && (attribute == "-l" || attribute == "-u")) {
    for (char& c : value.text.text) {
      if (attribute == "-l" && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      if (attribute == "-u" && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    return value;
  }
  return {.text = unknown_text(why.message, at)};
}

// The variable that a reference (declare -n) stands for; the name itself where it is none, or not known.
std::string ShellEvaluator::referred_by(const std::string& name) const {
  constexpr int kMostReferences = 8;
  std::string at = name;
  for (int i = 0; i < kMostReferences; ++i) {
    const auto it = state_.variables.find(at);
    const bool refers = it != state_.variables.end() && it->second.attribute == "-n" && it->second.value &&
                        it->second.value->text.unknowns.empty() && is_name(it->second.value->text.text);
    if (!refers) return at;
    at = it->second.value->text.text;
  }
  return name;
}

void ShellEvaluator::set_unknown(const std::string& written, const std::string& why, std::size_t at) {
  const std::string name = referred_by(written);
  for (std::set<std::string>* names : written_) names->insert(name);
  state_.set(name, {.text = unknown_text(why, at)});
}

// One item of a list: numbered ones stand in their order, and none twice.
void ShellEvaluator::put_item(ShellValue& list, std::string key, ShellText text) {
  auto& items = list.items;
  const auto numbered = [](const std::string& k) { return k.find_first_not_of("0123456789") == std::string::npos; };
  const auto before = [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  };
  if (!numbered(key) && text.unknowns.empty()) AssignedValues::note(key, text.text);
  const bool last = items.empty() || (numbered(key) && numbered(items.back().first) && before(items.back().first, key));
  if (!last) spend(items.size() / 8 + 1);
  const auto same =
      last ? items.end() : std::ranges::find_if(items, [&](const auto& item) { return item.first == key; });
  if (same != items.end()) {
    same->second = std::move(text);
    return;
  }
  const auto behind = last || !numbered(key)
                          ? items.end()
                          : std::ranges::find_if(items, [&](const auto& item) { return before(key, item.first); });
  items.emplace(behind, std::move(key), std::move(text));
}

// NAME[subscript]=text, or += it.
void ShellEvaluator::set_item(const std::string& name, const std::string& subscript, ShellText text, bool appends,
                              std::size_t at) {
  const ShellValue* old = state_.find(name);
  ShellValue list{.is_array = true};
  const bool open = old != nullptr && (old->is_array ? old->open : !old->text.unknowns.empty());
  const std::string key = open ? std::string() : subscript_of(name, subscript);
  if (key.empty() || key == "@" || key == "*" || (appends && !has_plain_values(name)))
    return set_unknown(name, fmt::format("what {}[{}] sets is not followed", name, subscript), at);
  if (old != nullptr && old->is_array) list.items = old->items;
  if (old != nullptr && !old->is_array) list.items.emplace_back("0", old->text);
  if (const auto item = appends ? scalar(name, key) : std::nullopt) {
    ShellText whole = *item;
    if (whole.origin.empty()) whole.origin.resize(whole.text.size(), at);
    append(whole, text);
    text = std::move(whole);
  }
  put_item(list, key, std::move(text));
  remember(name, std::move(list), false, nullptr);
}

void ShellEvaluator::remember(const std::string& name, ShellValue value, bool exports, ShellCommand* command) {
  for (std::set<std::string>* names : written_) names->insert(name);
  spend(value.text.text.size() / 16 + 1);
  if (start_.trail != nullptr) {
    start_.trail->assigned(name, value.text);
    for (const auto& [key, item] : value.items) start_.trail->assigned(name, item);
  }
  if (const std::string referred = referred_by(name); referred != name)
    return remember(referred, std::move(value), exports, command);
  if (state_.variables[name].attribute == "-n") taint("a reference (declare -n) sets", 0);
  if (const ShellValue* list = state_.find(name); list != nullptr && list->is_array && !value.is_array) {
    spend(list->items.size());  // which are copied
    if (list->open) {
      value = {.text = unknown_text(fmt::format("what of {} an assignment leaves is not followed", name), 0)};
    } else {
      ShellText first = std::move(value.text);
      value = *list;
      put_item(value, "0", std::move(first));
    }
  }
  if (!has_plain_values(name)) value = as_declared(name, std::move(value));
  ShellVariable& variable = state_.variables[name];
  variable.value = std::make_shared<const ShellValue>(std::move(value));
  variable.exported = variable.exported || exports || state_.exports_all || state_.exported_names.contains(name);
  if (!variable.exported && (state_.may_export_all || state_.may_be_exported.contains(name))) {
    variable.exported = true;
    variable.value = std::make_shared<const ShellValue>(ShellValue{
        .text = unknown_text(fmt::format("whether programs get {} depends on a branch or a loop above", name), 0)});
  }
  if (variable.exported && command != nullptr && !variable.value->is_array) {
    command->exports.emplace_back(name, variable.value->text);
  }
}

// The items of NAME=(…) behind those that are there; false where one's subscript is not known.
bool ShellEvaluator::add_items(ShellValue& list, const Assignment& a) {
  const auto declared = state_.variables.find(a.name);
  const bool keyed = declared != state_.variables.end() && declared->second.attribute == "-A";
  std::size_t next = 0;
  if (!list.items.empty()) next = static_cast<std::size_t>(std::atoll(list.items.back().first.c_str())) + 1;
  for (const Word& item : a.items) {
    run_substitutions(item.parts);
    const std::string_view written = written_word(item);
    const bool subscripted = written.starts_with('[') && written.find("]=") != std::string_view::npos;
    if (!subscripted && keyed) return false;
    if (!subscripted) {
      for (ShellWord& field : expand(item, true)) {
        list.open = list.open || (!field.unknowns.empty() && may_be_several(item));
        put_item(list, std::to_string(next++), std::move(field));
      }
      continue;
    }
    const ShellWord field = expand_single(item, keyed ? std::string::npos : item.begin + written.find("]=") + 2);
    const auto close = field.text.find("]=");
    std::string key = close == std::string::npos ? std::string() : field.text.substr(1, close - 1);
    if (!keyed && !is_number(key)) key = subscript_of(a.name, key);
    if (key.empty() || key.find(kHole) != std::string::npos || key == "@" || key == "*") return false;
    next = static_cast<std::size_t>(std::atoll(key.c_str())) + 1;
    put_item(list, std::move(key), tail(field, close + 2));
  }
  return true;
}

// M=org/$M: what is assigned is made of the value before.
bool ShellEvaluator::goes_on_from(const Assignment& a) const {
  const std::string_view text = written_word(a.whole);
  for (const std::string& sign : {"$" + a.name, "${" + a.name, "${#" + a.name}) {
    for (auto at = text.find(sign); at != std::string_view::npos; at = text.find(sign, at + 1)) {
      const std::size_t behind = at + sign.size();
      if (behind >= text.size() || !shell_name_char(text[behind])) return true;
    }
  }
  return false;
}

void ShellEvaluator::assign(const Assignment& written, bool exports, ShellCommand* command, const ShellWord* expanded) {
  Assignment a = written;
  a.name = referred_by(written.name);
  if (const auto it = state_.variables.find(a.name); it != state_.variables.end() && it->second.attribute == "readonly")
    state_.may_end.emplace(unless_ended("the script ends", line_of(outer(a.whole.begin))), 0);
  const ShellValue* old = state_.find(a.name);
  if (old != nullptr && (a.is_array ? a.appends : !a.subscript.empty())) spend(old->items.size());  // which are copied
  ShellValue value;
  if (a.is_array) {
    value.is_array = true;
    if (a.appends && old != nullptr) {
      value.items = old->items;
      value.open = old->open;
      if (!old->is_array) value.items.emplace_back("0", old->text);
      if (!old->is_array && !old->text.unknowns.empty()) value.open = true;  // it may have been a list
    }
    if (!add_items(value, a)) {
      return set_unknown(
          a.name, fmt::format("what a list sets of {} is not followed; give it with {}", a.name, how_to_set(a.name)),
          outer(a.whole.begin));
    }
    spend(value.items.size());
    return remember(a.name, std::move(value), exports, command);
  }
  ShellWord word = expanded != nullptr ? *expanded : expand_single(a.whole, a.value_at);
  if (start_.given.contains(a.name) && a.subscript.empty() && goes_on_from(a)) state_.counted.insert(a.name);
  const auto equals = word.text.find('=');
  ShellText text = equals == std::string::npos ? ShellText{} : tail(word, equals + 1);
  if (command != nullptr && command->words.empty()) command->assignments.push_back(std::move(word));
  if (!a.subscript.empty()) return set_item(a.name, a.subscript, std::move(text), a.appends, outer(a.whole.begin));
  if (a.appends && old != nullptr) {
    value.text = old->text;
    const std::string& attribute = state_.variables[a.name].attribute;
    const bool adds = attribute == "-i";
    const bool changes_case = attribute == "-l" || attribute == "-u";
    if (adds) append(text, {")", {outer(a.whole.begin)}, {}});
    if (adds) append(value.text, {"+(", {outer(a.whole.begin), outer(a.whole.begin)}, {}});
    if (old->is_array || (!adds && !has_plain_values(a.name) && !changes_case))
      return set_unknown(a.name, fmt::format("what {}+= sets is not followed", a.name), outer(a.whole.begin));
    if (value.text.text.size() + text.text.size() > 128 * 1024) {
      text = unknown_text("a value of more than 128 KiB is not followed", outer(a.whole.begin));
      value.text = {};
    }
    if (value.text.origin.empty()) value.text.origin.resize(value.text.text.size());
  }
  append(value.text, text);
  remember(a.name, std::move(value), exports, command);
}

// What export, declare, local, readonly and typeset were asked for.
struct ShellEvaluator::Declaring {
  bool exports;
  bool withdraws = false;  // export -n, declare +x
  bool local;
  bool stays;
  bool lists = false;  // -a, -A
  std::string attribute = {};

  explicit Declaring(const std::string& name, bool in_function)
      : exports(name == "export"),
        local(in_function && name != "export" && name != "readonly"),
        stays(name == "readonly") {}
  void take(const std::string& option, bool of_export) {
    exports = exports || option.find('x') != std::string::npos;
    withdraws = withdraws || (of_export && option.find('n') != std::string::npos);
    local = local && option.find('g') == std::string::npos;
    if (of_export) return;
    for (const char letter : option) {
      if (std::string_view("ilunA").find(letter) != std::string_view::npos) attribute = std::string("-") + letter;
      stays = stays || letter == 'r';
      lists = lists || letter == 'a' || letter == 'A';
    }
  }
};

// The attribute that a name has from now on: some are in force as it is assigned, readonly is behind that.
void ShellEvaluator::mark_declared(const Declaring& how, const std::string& name, bool before) {
  if (before && !how.attribute.empty()) state_.variables[name].attribute = how.attribute;
  if (!before && how.stays && how.attribute != "-A" && how.attribute != "-n")
    state_.variables[name].attribute = "readonly";
}

// A name that is local from here on is another variable, which inherits that programs get it.
void ShellEvaluator::make_local(const std::string& name, bool keeps_value) {
  if (std::ranges::any_of(locals_.back(), [&](const auto& one) { return one.first == name; })) return;
  const auto it = state_.variables.find(name);
  locals_.back().emplace_back(name, it == state_.variables.end() ? std::nullopt : std::optional(it->second));
  if (it == state_.variables.end()) return;
  it->second.attribute.clear();
  if (keeps_value || !it->second.value) return;
  it->second.value = nullptr;
  if (for_sh_)
    it->second.value = std::make_shared<const ShellValue>(ShellValue{
        .text = unknown_text(fmt::format("whether local keeps the value of {} is another thing in each sh", name), 0)});
}

// declare NAME=VALUE
void ShellEvaluator::declare_value(const Declaring& how, const Assignment& assignment, const ShellWord& word,
                                   ShellCommand& command) {
  if (how.local) make_local(assignment.name, assignment.is_array || assignment.appends);
  if (how.attribute == "-n" && !assignment.is_array) return refer(assignment.name, word);
  mark_declared(how, assignment.name, true);
  const std::string_view value = std::string_view(word.text).substr(word.text.find('=') + 1);
  const bool lists = how.lists && !assignment.is_array && (!word.unknowns.empty() || value.starts_with('('));
  if (lists) {  // whose text is read once more, as a list
    set_unknown(assignment.name,
                fmt::format("what a list sets of {} is not followed; give it with {}", assignment.name,
                            how_to_set(assignment.name)),
                word.begin);
    return;
  }
  const ShellWord expanded = word;
  assign(assignment, how.exports && !how.withdraws, &command, assignment.is_array ? nullptr : &expanded);
  mark_declared(how, assignment.name, false);
  if (how.withdraws) state_.variables[assignment.name].exported = false;
}

// declare NAME
void ShellEvaluator::declare_name(const Declaring& how, const std::string& name, ShellCommand& command) {
  if (how.local) make_local(name, false);
  if (how.local) state_.variables[name];  // no other one of that name is meant
  mark_declared(how, name, true);
  mark_declared(how, name, false);
  if (how.withdraws) {
    state_.exported_names.erase(name);
    if (const auto it = state_.variables.find(name); it != state_.variables.end()) it->second.exported = false;
    return;
  }
  if (!how.exports) return;
  ShellVariable& variable = state_.variables[name];
  variable.exported = true;
  if (variable.value && !variable.value->is_array) command.exports.emplace_back(name, variable.value->text);
  if (variable.value) return;
  if (const auto set = start_.given.find(name); set != start_.given.end())  // of the environment this starts with
    return remember(name, {.text = {set->second}}, true, &command);
  state_.variables.erase(name);
  state_.exported_names.insert(name);
}

// export, declare, local, readonly, typeset. All words are expanded before any is assigned.
void ShellEvaluator::declare(ShellCommand& command, const Node& node, const std::vector<std::size_t>& from) {
  const std::string name = command.words.front().text;
  Declaring how(name, !locals_.empty());
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const std::string w = command.words[i].text;
    const bool written = from[i] < node.declared.size();
    const bool assigns = written && !node.declared[from[i]].name.empty();
    if (w.starts_with('-') && written && !assigns) {
      if (!w.starts_with("--")) how.take(w, name == "export");
    } else if (w.starts_with('+')) {
      how.withdraws = how.withdraws || w.find('x') != std::string::npos;
    } else if (assigns) {
      declare_value(how, node.declared[from[i]], command.words[i], command);
    } else if (const auto equals = w.find('='); equals != std::string::npos && is_name(w.substr(0, equals))) {
      if (how.local) make_local(w.substr(0, equals), false);  // `export $PAIR`
      remember(w.substr(0, equals), {.text = tail(command.words[i], equals + 1)}, how.exports, &command);
    } else if (is_name(w)) {
      declare_name(how, w, command);
    } else if (!command.words[i].unknowns.empty()) {
      taint(fmt::format("{} sets a variable whose name is not known,", name), command.words[i].begin);
      note("SH002", fmt::format("{} sets variables whose names are not known here", name), command.words[i].begin);
    }
  }
}

// declare -n NAME=OTHER, and the turns of a loop whose variable is a reference
void ShellEvaluator::refer(const std::string& name, const ShellWord& word) {
  ShellText to = tail(word, word.text.find('=') + 1);
  if (to.unknowns.empty() && (!is_name(to.text) || referred_by(to.text) == name || to.text == name))
    to = unknown_text(fmt::format("what {} refers to is not followed; give it with {}", name, how_to_set(name)),
                      word.begin);
  for (std::set<std::string>* names : written_) names->insert(name);
  state_.variables[name] = {.value = std::make_shared<const ShellValue>(ShellValue{.text = std::move(to)}),
                            .exported = false,
                            .attribute = "-n"};
}

void ShellEvaluator::set_options(const std::vector<ShellWord>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w == "--" || w == "-" || (w[0] != '-' && w[0] != '+')) {
      for (std::set<std::string>* names : written_) names->insert("@");
      state_.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + (w == "--" || w == "-" ? 1 : 0),
                              words.end());
      state_.arguments_known = true;
      state_.arguments_of_start = state_.arguments_lost = false;
      const std::size_t first = i + (w == "--" || w == "-" ? 1 : 0);
      state_.sure_arguments =
          sure_words_ == std::string::npos ? sure_words_ : sure_words_ - std::min(sure_words_, first - 1);
      return;
    }
    const bool option = w.find('o') != std::string::npos && i + 1 < words.size();
    if (w.find('e') != std::string::npos || (option && words[i + 1].text == "errexit")) {
      state_.exits_on_error = w[0] == '-';
      state_.may_exit_on_error = false;
    }
    const std::string_view named = option ? std::string_view(words[i + 1].text) : std::string_view();
    if (w[0] == '-' && (w.find('n') != std::string::npos || named == "noexec")) return run_nothing(words[0].begin);
    posix_ = posix_ || named == "posix";
    if (w.find('u') != std::string::npos || (option && words[i + 1].text == "nounset"))
      state_.exits_on_unset = w[0] == '-';
    const bool files = w.find('f') != std::string::npos || (option && words[i + 1].text == "noglob");
    if (files && state_.patterns) state_.patterns->stays = w[0] == '-';
    if (w.find('a') != std::string::npos || (option && words[i + 1].text == "allexport")) {
      state_.exports_all = w[0] == '-';
      state_.may_export_all = false;
    }
    if (w.find('E') != std::string::npos || (option && words[i + 1].text == "errtrace"))
      state_.traces_errors = w[0] == '-';
    const bool keeps = w.find('C') != std::string::npos || (option && words[i + 1].text == "noclobber");
    state_.keeps_files = state_.keeps_files || keeps;
    if (option && words[i + 1].text == "pipefail") {
      state_.pipes_fail = w[0] == '-';
      state_.pipes_may_fail = false;
    }
    if (option) ++i;
  }
}

// set -n: from here on a script is read, and nothing of it runs, no trap either.
void ShellEvaluator::run_nothing(std::size_t at) {
  state_.end = unless_ended("nothing runs behind set -n", line_of(at));
  state_.end_depth = 0;
  state_.ended = state_.replaced = true;
  state_.fails = false;
}

// Those of the shell itself, as `set` and `shopt` take them.
void ShellEvaluator::take_options(const std::vector<std::string>& options) {
  std::vector<ShellWord> words = {{{"set"}, 0, 0}};
  for (std::size_t i = 0; i < options.size(); ++i) {
    const bool of_shopt = options[i].find('O') != std::string::npos && i + 1 < options.size();
    if (of_shopt)
      set_shell_options({{{"shopt"}, 0, 0}, {{options[i][0] == '-' ? "-s" : "-u"}, 0, 0}, {{options[i + 1]}, 0, 0}});
    else
      words.push_back({{options[i]}, 0, 0});
    i += of_shopt ? 1 : 0;
  }
  set_options(words);
}

void ShellEvaluator::unset(const std::vector<ShellWord>& words) {
  bool functions = true;
  bool variables = true;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (!words[i].unknowns.empty()) {
      taint("unset removes", words[i].begin);
    } else if (w == "-f" || w == "-v") {
      functions = w == "-f";
      variables = w == "-v";
    } else if (const auto bracket = w.find('['); bracket != std::string::npos) {
      unset_item(words[i], bracket);
    } else {
      for (std::set<std::string>* names : written_) names->insert(w);
      if (variables && is_name(w)) unset_variable(w, words[i].begin);
      if (functions) state_.functions.erase(w);
    }
  }
}

// A name that is local in a function around the one that runs: bash shows what it had outside of that.
void ShellEvaluator::unset_variable(const std::string& name, std::size_t at) {
  const auto is_it = [&](const SavedVariable& one) { return one.first == name; };
  const bool own = locals_.empty() || std::ranges::any_of(locals_.back(), is_it);
  bool of_caller = false;
  for (auto names = locals_.begin(); !own && names + 1 != locals_.end(); ++names) {
    for (SavedVariable& one : *names) {
      if (!is_it(one)) continue;
      of_caller = true;
      // Whether this comes back as that function returns is not followed, either.
      one.second = ShellVariable{.value = std::make_shared<const ShellValue>(
                                     ShellValue{.text = unknown_text(depends(name, "unset in a function", at), at)})};
    }
  }
  if (of_caller) return set_unknown(name, depends(name, "unset in a function", at), at);
  state_.variables[name] = {};
  state_.exported_names.erase(name);
}

// unset 'NAME[subscript]'
void ShellEvaluator::unset_item(const ShellWord& word, std::size_t bracket) {
  const std::string array = word.text.substr(0, bracket);
  const ShellValue* old = state_.find(array);
  const std::string key = word.text.back() == ']'
                              ? subscript_of(array, word.text.substr(bracket + 1, word.text.size() - bracket - 2))
                              : std::string();
  if (old == nullptr || !old->is_array || old->open || key.empty() || key == "@" || key == "*") {
    return set_unknown(
        array, fmt::format("what unset leaves of {} is not followed; give it with {}", array, how_to_set(array)),
        word.begin);
  }
  spend(old->items.size());
  ShellValue value = *old;
  std::erase_if(value.items, [&](const auto& item) { return item.first == key; });
  remember(array, std::move(value), false, nullptr);
}

// Any variable may have another value from here on.
void ShellEvaluator::taint(const std::string& what, std::size_t at) {
  const std::string why = fmt::format("may be set by what {} at line {}", what, line_of(at));
  spend(state_.variables.size() * 4);
  for (auto& [name, variable] : state_.variables) {
    for (std::set<std::string>* names : written_) names->insert(name);
    variable.value = std::make_shared<const ShellValue>(
        ShellValue{.text = unknown_text(fmt::format("{} {}; give it with {}", name, why, how_to_set(name)), at)});
  }
  state_.others = unknown_text(why, at);
  state_.moved = true;
  state_.folder.reset();
}

// What ends dash, whatever stands behind it: `. FILE || true` of a file that is not there.
void ShellEvaluator::end_of_sh(std::size_t at) {
  if (for_sh_) state_.may_end.emplace(unless_ended("the script ends", line_of(at)), 0);
}

// What fails in one of these ends a shell as POSIX has it, and bash goes on.
bool is_special_builtin(std::string_view name) {
  constexpr auto kThose =
      std::to_array<std::string_view>({":", ".", "break", "continue", "eval", "exec", "exit", "export", "readonly",
                                       "return", "set", "shift", "times", "trap", "unset"});
  return std::ranges::find(kThose, name) != kThose.end();
}

namespace {

// Names of `set -o` in dash.
bool is_option_of_sh(std::string_view name) {
  constexpr auto kThose = std::to_array<std::string_view>(
      {"errexit", "noglob", "ignoreeof", "interactive", "monitor", "noexec", "stdin", "xtrace", "verbose", "vi",
       "emacs", "noclobber", "allexport", "notify", "nounset", "nolog", "debug", "pipefail", "privileged"});
  return std::ranges::find(kThose, name) != kThose.end();
}

}  // namespace

// `: < FILE` and `exec 3< FILE` of a file that may not be there, `: > FILE` of one that may not be written.
void ShellEvaluator::heed_redirections(const Node& node, const ShellCommand& command) {
  if (!for_sh_ || node.words.empty() || !is_special_builtin(written_word(node.words.front()))) return;
  if (!may_not_open(node)) return;
  if (printing_ != nullptr) printing_->known = false;
  end_of_sh(command.begin);
}

// Whether a file that it reads or writes may not be there, or not to be written: the command fails then, and does not
// run.
bool ShellEvaluator::may_not_open(const Node& node) {
  return std::ranges::any_of(node.redirections, [&](const Redirection& r) {
    if (r.here_document >= 0 || !r.names_file || written_word(r.target).starts_with("/dev/")) return false;
    return r.op.front() == '>' || file_test('e', expand_single(r.target)) != Status::kTrue;
  });
}

// `kill $$`: a signal to this shell, or to all programs of its group, may end it.
void ShellEvaluator::heed_own_end(const Node& node, const ShellCommand& command) {
  bool asks = false;  // kill -0
  bool own = false;
  for (const Word& word : node.words) {
    const std::string_view w = written_word(word);
    asks = asks || w == "-0";
    own = own || w == "0" || w.ends_with("$$") || w.ends_with("$$\"") || w.ends_with("$BASHPID");
  }
  if (own && !asks) state_.may_end.emplace(unless_ended("the script ends", line_of(command.begin)), 0);
}

// `export 1x`, `unset 1x`, `set -o NO_OPTION`
void ShellEvaluator::heed_bad_words(const std::vector<ShellWord>& words) {
  const bool sets = words.front().text == "set";
  for (std::size_t i = 1; for_sh_ && i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (sets && (word == "--" || word == "-")) return;
    const bool options = sets && i > 1 && (words[i - 1].text == "-o" || words[i - 1].text == "+o");
    const bool names = !sets && !word.starts_with('-') && words[i].unknowns.empty();
    if ((options && words[i].unknowns.empty() && !is_option_of_sh(word)) ||
        (names && !is_name(word.substr(0, word.find('=')))))
      end_of_sh(words.front().begin);
  }
}

// A file beside the script that is not there, where the script goes on without it: it is told.
Status ShellEvaluator::source_missing(const std::vector<ShellWord>& words) {
  if (!may_be_missing_ || words.size() != 2) return Status::kUnknown;
  const Status status = file_test('e', words[1]);
  return status == Status::kFalse ? status : Status::kUnknown;
}

// `path` is the file that the text is of; "" of another text.
void ShellEvaluator::run_sourced(const ShellText& text, const std::string& path, std::size_t at) {
  returns_.emplace_back();
  path.empty() ? run_text(text) : run_whole(text, path, path);
  meet_returns(Status::kUnknown, at);
}

// What keeps a text from being followed as a script; "" where nothing does.
std::string ShellEvaluator::fault_of(const ShellText& text, std::string_view pasted) {
  ShellParser parser(text, pasted);
  parser.all();
  return parser.failed() ? parser.error().message : std::string();
}

// What `source <(…)` and `source /dev/stdin` read, where it is known.
std::optional<ShellText> ShellEvaluator::sourced_stream(const ShellCommand& command, const Node& node) {
  constexpr std::array<std::string_view, 3> kInput = {"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"};
  if (command.words.size() != 2 || node.words.size() != 2) return std::nullopt;
  std::optional<ShellText> out = captured_process(node.words[1]);
  if (std::ranges::find(kInput, command.words[1].text) != kInput.end()) {
    if (command.input.size() == 1) out = command.input.front();
    if (command.input.empty() && !command.reads_elsewhere) out = rest_of_input();
  }
  const bool nothing_known = out && !out->text.empty() && out->text.size() == out->unknowns.size();
  return out && !nothing_known && fault_of(*out, pasted_).empty() ? out : std::nullopt;
}

Status ShellEvaluator::source(const std::vector<ShellWord>& words) {
  if (words.size() < 2 || sets_up_tools(words[1].text)) return Status::kUnknown;
  if (source_missing(words) == Status::kFalse) {
    end_of_sh(words[0].begin);
    return Status::kFalse;
  }
  std::string path;
  std::string why;
  if (const auto text = sourced_text(words, path, why)) {
    run_sourced(*text, path, words[0].begin);
    return Status::kUnknown;
  }
  end_of_sh(words[0].begin);  // where it is not there
  const std::string name = !path.empty() ? path : words[1].unknowns.empty() ? words[1].text : std::string("a file");
  note("SH002",
       why.empty() ? fmt::format("{} is sourced and not read: what it sets is not known", name)
                   : fmt::format("{} is sourced and not followed ({}): what it sets is not known", name, why),
       words[0].begin);
  taint(fmt::format("{} sources from {}", words[0].text == "." ? "the dot" : "source", name), words[0].begin);
  return Status::kUnknown;
}

// Of a file that this text wrote, or that stands where the shell was started and is a script; all that is told of the
// latter is told where it is sourced.
std::optional<ShellText> ShellEvaluator::sourced_text(const std::vector<ShellWord>& words, std::string& path,
                                                      std::string& why) {
  std::string name = words[1].text;
  if (for_sh_ && name.find('/') == std::string::npos && words[1].unknowns.empty()) {
    why = "sh looks for a name without a folder in PATH alone";
    return std::nullopt;
  }
  while (name.starts_with("./")) name.erase(0, 2);
  if (const auto file = state_.files.find(name); file != state_.files.end()) return file->second;
  if (words.size() != 2) return std::nullopt;
  auto out = text_beside(words[1], words[0].begin, path, why);
  if (!out) return std::nullopt;
  why = fault_of(*out, pasted_);
  return why.empty() ? out : std::nullopt;
}

// eval "$(cat $0)": the text that runs, which comes to this again and again until the shell ends.
bool ShellEvaluator::evaluates_itself(const ShellText& text, std::size_t at) {
  const auto body = [](std::string_view all) { return all.substr(0, all.find_last_not_of('\n') + 1); };
  if (text_.script == nullptr || body(text.text) != body(text_.script->text)) return false;
  note("SH004", "eval runs this script again, and so without end: nothing behind this runs", at);
  if (printing_ != nullptr) printing_->known = false;
  state_.end = unless_ended("the script ends", line_of(at));
  state_.end_depth = 0;
  state_.ended = true;
  state_.fails = true;
  return true;
}

void ShellEvaluator::evaluate(const std::vector<ShellWord>& words) {
  ShellText text;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (i > 1) append(text, {" ", {words[i].begin}, {}});
    append(text, words[i]);
  }
  if (evaluates_itself(text, words[0].begin)) return;
  const bool nothing_known = text.text.size() == text.unknowns.size() && !text.text.empty();
  if (nothing_known || (!text.unknowns.empty() && !fault_of(text, pasted_).empty())) {
    if (names_tools(text.unknowns.front().message)) return;
    taint("eval runs", words[0].begin);
    ShellCommand unknown;
    unknown.words.assign(words.begin() + 1, words.end());
    unknown.begin = words[0].begin;
    unknown.end = words.back().end;
    emit(unknown);  // whoever looks for a launch hears that it may be this
    return;
  }
  const bool open = has_unknown_command(text);
  if (open) taint("eval runs", words[0].begin);
  run_text(text);
  if (open) taint("eval runs", words[0].begin);
}

// read, mapfile, getopts: the names behind the options.
void ShellEvaluator::read_names(const std::vector<ShellWord>& words, std::string_view letters_with_values) {
  const auto why = [&](const std::string& name) {
    return fmt::format("{} is read where this runs, at line {}; give it with {}", name, line_of(words[0].begin),
                       how_to_set(name));
  };
  bool any = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w.size() > 1 && w[0] == '-') {
      if (letters_with_values.find(w.back()) != std::string_view::npos) ++i;
      continue;
    }
    if (const std::string read = w.substr(0, w.find('[')); is_name(read)) {
      set_unknown(read, why(read), words[0].begin);
      any = true;
    }
  }
  if (!any) {
    for (const char* name : {"REPLY", "MAPFILE"}) set_unknown(name, why(name), words[0].begin);
  }
}

Status ShellEvaluator::shift(const std::vector<ShellWord>& words) {
  for (std::set<std::string>* names : written_) names->insert("@");
  state_.arguments_of_start = false;
  spend(state_.arguments.size() / 4);
  if (words.size() > 1 && !words[1].unknowns.empty()) {  // shift $((OPTIND - 1))
    state_.arguments.clear();
    state_.arguments_known = false;
    return Status::kUnknown;
  }
  const std::size_t count =
      words.size() > 1 ? static_cast<std::size_t>(std::max(0, std::atoi(words[1].text.c_str()))) : 1;
  const bool too_many = count > state_.arguments.size();
  if (too_many && !state_.arguments_known && shifting_ == 0) {  // it may have none
    end_of_sh(words[0].begin);
    const bool given = start_.given.contains(std::to_string(count));
    if (state_.exits_on_error && conditions_ == 0 && !given && !state_.asked_for_arguments) {
      const Condition what = unless_ended("the script ends", line_of(words[0].begin));
      state_.may_end.emplace(what, 0);
      end_fails_[what] = true;
    }
  }
  if (too_many && state_.arguments_known && state_.sure_arguments == std::string::npos) {
    end_of_sh(words[0].begin);
    return Status::kFalse;
  }
  const std::size_t gone = too_many ? state_.arguments.size() : count;
  state_.arguments.erase(state_.arguments.begin(), state_.arguments.begin() + static_cast<std::ptrdiff_t>(gone));
  if (state_.sure_arguments < gone) {  // which of them are left is not known
    state_.arguments.clear();
    state_.arguments_known = false;
  }
  if (state_.sure_arguments != std::string::npos) state_.sure_arguments -= std::min(gone, state_.sure_arguments);
  return Status::kTrue;
}

// getopts OPTIONS NAME [ARGUMENT…]
Status ShellEvaluator::get_options(const std::vector<ShellWord>& words) {
  if (words.size() <= 3) take_no_arguments(words[0].begin);
  spend(state_.arguments.size());
  std::vector<ShellText> arguments = state_.arguments;
  if (words.size() > 3) arguments.assign(words.begin() + 3, words.end());
  const bool unknown = words.size() <= 3 && !state_.arguments_known;
  if (const auto found = unknown ? std::nullopt : next_option(words, arguments)) return *found;
  for (const std::string& name :
       {words.size() > 2 ? words[2].text : std::string(), std::string("OPTARG"), std::string("OPTIND")}) {
    if (!is_name(name)) continue;
    set_unknown(name,
                fmt::format("{} is what getopts finds at line {}, which is not followed; give it with {}", name,
                            line_of(words[0].begin), how_to_set(name)),
                words[0].begin);
  }
  return Status::kUnknown;
}

// The next option of those given, as bash takes it; none where it is not known.
std::optional<Status> ShellEvaluator::next_option(const std::vector<ShellWord>& words,
                                                  const std::vector<ShellText>& arguments) {
  if (words.size() < 3 || !words[1].unknowns.empty() || !is_name(words[2].text)) return std::nullopt;
  const auto index = scalar("OPTIND", "").value_or(ShellText{"1"});
  if (!index.unknowns.empty() || !is_number(index.text) || index.text == "0") return std::nullopt;
  auto at = static_cast<std::size_t>(std::atoi(index.text.c_str()));
  const auto finish = [&](const std::string& option, const std::optional<ShellText>& value, Status status) {
    remember(words[2].text, {.text = {option}}, false, nullptr);
    if (value)
      remember("OPTARG", {.text = *value}, false, nullptr);
    else
      state_.variables["OPTARG"] = {};
    remember("OPTIND", {.text = {std::to_string(at)}}, false, nullptr);
    return status;
  };
  if (state_.option_at == 0) {  // a new word
    const bool more = at <= arguments.size();
    if (more && !arguments[at - 1].unknowns.empty()) return std::nullopt;
    const std::string word = more ? arguments[at - 1].text : std::string();
    if (word == "--") ++at;
    if (word == "--" || word.size() < 2 || word[0] != '-') return finish("?", std::nullopt, Status::kFalse);
    state_.option_at = 1;
  }
  const ShellText& word = arguments[at - 1];
  const char letter = word.text[state_.option_at++];
  const bool last = state_.option_at >= word.text.size();
  const std::string& options = words[1].text;
  const bool silent = options.starts_with(':');
  const auto known = letter == ':' ? std::string::npos : options.find(letter);
  const bool takes = known != std::string::npos && known + 1 < options.size() && options[known + 1] == ':';
  if (last || takes) {
    ++at;
    if (known != std::string::npos && takes && last && at <= arguments.size()) {
      state_.option_at = 0;
      return finish({letter}, arguments[++at - 2], Status::kTrue);
    }
    const std::size_t from = std::exchange(state_.option_at, 0);
    if (known != std::string::npos && takes && !last) return finish({letter}, tail(word, from), Status::kTrue);
    if (known != std::string::npos && takes) {
      const std::optional<ShellText> value = silent ? std::optional(ShellText{{letter}}) : std::nullopt;
      return finish(silent ? ":" : "?", value, Status::kTrue);
    }
  }
  if (known != std::string::npos) return finish({letter}, std::nullopt, Status::kTrue);
  return finish("?", silent ? std::optional(ShellText{{letter}}) : std::nullopt, Status::kTrue);
}

void ShellEvaluator::set_shell_options(const std::vector<ShellWord>& words) {
  bool on = true;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w == "-s" || w == "-u") on = w == "-s";
    if (w == "lastpipe") last_pipe_ = on;
    if (w == "nocasematch") any_case_ = on;
    if (w == "nullglob" && state_.patterns) state_.patterns->vanishes = on;
    if (w == "failglob" && state_.patterns) state_.patterns->fails = on;
    if (w == "extglob") choices_ = on;
    if (w == "inherit_errexit") hands_errexit_on_ = on;
    if (w == "expand_aliases") expands_aliases_ = on;
  }
}

// let takes each word as arithmetic; a sign that is a pattern elsewhere matches no file here.
Status ShellEvaluator::run_let(const std::vector<ShellWord>& words, const Node& node,
                               const std::vector<std::size_t>& from) {
  Status status = Status::kUnknown;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const Word& written = node.words[from[i]];
    const bool plain = std::all_of(written.parts.begin(), written.parts.end(),
                                   [](const Part& part) { return part.kind == Part::Kind::kText && !part.quoted; });
    status = run_math(plain ? slice_placed(written.begin, written.end) : ShellText(words[i]), outer(node.begin));
  }
  return status;
}

// printf -v NAME or NAME[subscript]
Status ShellEvaluator::print_into(const std::vector<ShellWord>& words) {
  const std::string& target = words[2].text;
  const auto bracket = target.find('[');
  const std::string name = target.substr(0, bracket);
  const std::size_t format = words.size() > 4 && words[3].text == "--" ? 4 : 3;
  std::optional<ShellText> text;
  if (words.size() > format && is_name(name) && words[2].unknowns.empty() && words[format].unknowns.empty()) {
    const auto values = words.begin() + static_cast<std::ptrdiff_t>(format) + 1;
    text = formatted(words[format].text, {values, words.end()}, words[3].begin);
  }
  if (!text) {
    set_unknown(name,
                fmt::format("{} is what printf makes at line {}; give it with {}", name, line_of(words[0].begin),
                            how_to_set(name)),
                words[0].begin);
    return Status::kUnknown;
  }
  if (bracket == std::string::npos)
    remember(name, {.text = std::move(*text)}, false, nullptr);
  else
    set_item(name, target.substr(bracket + 1, target.rfind(']') - bracket - 1), std::move(*text), false,
             words[0].begin);
  return Status::kTrue;
}

void ShellEvaluator::export_functions(const std::vector<ShellWord>& words) {
  for (std::size_t i = 2; i < words.size() && muted_ == 0; ++i) handed_functions_.insert(words[i].text);
}

// trap ACTION SIGNAL…: what runs as the script ends, and where a command fails, is followed.
bool ShellEvaluator::set_trap(const std::vector<ShellWord>& words) {
  std::size_t first = 1;
  if (first < words.size() && words[first].text == "--") ++first;
  if (words.size() < first + 1 || words[first].text.starts_with("-l") || words[first].text.starts_with("-p"))
    return false;
  const bool resets = words.size() == first + 1;  // `trap EXIT`
  const auto on = [&](std::string_view name, std::string_view other) {
    return std::any_of(words.begin() + static_cast<std::ptrdiff_t>(first) + (resets ? 0 : 1), words.end(),
                       [&](const ShellWord& w) { return w.text == name || w.text == other; });
  };
  const bool on_error = on("ERR", "SIGERR");
  const bool on_exit = on("EXIT", "0");
  ShellTrap trap;
  if (!resets && words[first].text != "-") trap.actions.emplace_back(words[first]);
  if (on_error) state_.on_error = trap;
  if (on_exit) state_.on_exit = trap;
  return on_exit || on_error;
}

// Whether a trap's action runs other programs alone: `rm -rf "$TMP"`, `echo failed`.
bool ShellEvaluator::changes_nothing(const ShellText& action) const {
  constexpr auto kChanges = std::to_array<std::string_view>(
      {".",     "cd",      "declare", "eval",   "exec",   "exit",    "export",    "getopts",  "let",
       "local", "mapfile", "popd",    "pushd",  "printf", "read",    "readarray", "readonly", "return",
       "set",   "shift",   "shopt",   "source", "trap",   "typeset", "unset"});
  ShellParser parser(action, pasted_);
  const NodePtr all = parser.all();
  const auto is_harmless = [&](const NodePtr& node) {
    if (node->kind != Node::Kind::kSimple || node->words.empty()) return false;
    const Word& program = node->words.front();
    const std::string name = action.text.substr(program.begin, program.end - program.begin);
    const bool plain = name.find_first_of("$`'\"\\*?[{~") == std::string::npos;
    return plain && std::ranges::find(kChanges, name) == kChanges.end() && !state_.functions.contains(name);
  };
  return !parser.failed() && action.unknowns.empty() && std::ranges::all_of(all->children, is_harmless);
}

// trap ACTION DEBUG: it runs in front of every command from here on, and on RETURN behind each function. What it
// plainly assigns is not known any more; one that does more may change everything, at any time.
void ShellEvaluator::trap_each_command(const ShellText& action, std::string_view signal, std::size_t at) {
  heed_trap_files(action);
  if (changes_nothing(action)) return;
  ShellParser parser(action, pasted_);
  const NodePtr all = parser.all();
  const auto is_plain = [&](const NodePtr& node) {
    if (node->kind != Node::Kind::kSimple) return false;
    if (node->words.empty()) return true;
    const Word& program = node->words.front();
    return only_prints(std::string_view(action.text).substr(program.begin, program.end - program.begin));
  };
  if (parser.failed() || !action.unknowns.empty() || !std::ranges::all_of(all->children, is_plain)) {
    taint(fmt::format("a trap on {} runs", signal), at);
    share_all_files();
    state_.may_end.emplace(unless({{fmt::format("the trap on {}", signal)}, at_line(line_of(at)), {" changes it"}}), 0);
    return;
  }
  for (const NodePtr& node : all->children) {
    for (const Assignment& one : node->words.empty() ? node->assignments : std::vector<Assignment>{}) {
      state_.variables[one.name].attribute = fmt::format("with a trap on {} that sets it", signal);
      remember(one.name, {}, false, nullptr);
    }
  }
}

}  // namespace preflight::sources
