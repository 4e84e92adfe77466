// Command lines of programs: argparse, click, typer. What nobody gives is taken as it is then, and told; where the
// words are known that a parser reads, so are its options. Tested by tests/traps_test.cpp and tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/sources/program/follower.h"

namespace preflight::sources::program {
namespace {

using Kind = Val::Kind;

// A parser that takes no beginning of a name for the name.
constexpr std::string_view kWholeNames = "whole";

// Under which a parser keeps its subcommands, by their names, and `dest` under "".
constexpr const char* kSubcommands = "=subcommands";

const Object* subcommands_of(const Object& parser) {
  const auto found = parser.keys.find(kSubcommands);
  return found == parser.keys.end() ? nullptr : found->second.object;
}

// Under which a parser keeps what set_defaults gave a name, and (without one) its argument_default.
std::string default_key(const std::string& name) { return "=" + name; }

// Whether an option, or a positional argument, stands in this name already: its default holds.
const Object* option_of(const Object& parser, const std::string& name) {
  for (const Val& one : parser.bound) {
    if (one.object->name == name) return one.object;
  }
  for (const auto& [flag, record] : parser.keys) {
    if (flag.starts_with('-') && record.object != nullptr && record.object->name == name) return record.object;
  }
  return nullptr;
}

}  // namespace

// --- argparse ---

// What an option is where the program is started without it.
Val Follower::option_default(Arguments& a, bool positional, const std::string& name) {
  const auto text_of = [&](std::string_view key) {
    const Val* v = a.key(key);
    return v != nullptr && v->known_text() ? v->text->text : std::string();
  };
  const std::string action = text_of("action");
  const Val* fallback = a.key("default");
  const Val* type = a.key("type");
  const Val* required = a.key("required");
  const std::string count = text_of("nargs");
  if ((positional && count != "?" && count != "*") ||
      (required != nullptr && truth(*required) != std::optional(false))) {
    Val out = unknown(name + " is given where the program is started", a.at);
    auto mystery = std::make_shared<Mystery>(*out.mystery);
    mystery->name = name;
    out.mystery = mystery;
    return given_or(out, name);
  }
  if (fallback == nullptr) {
    if (action == "store_true") return boolean(false);
    if (action == "store_false") return boolean(true);
    if (positional && count == "*") return list_of({});
    return none();
  }
  if (fallback->is(Kind::kText) && type != nullptr) {
    Arguments inner;
    inner.at = a.at;
    inner.end = a.end;
    inner.values = {*fallback};
    return call(*type, inner);
  }
  return *fallback;
}

// What is known of an option or of a positional argument, for a parser that reads words.
Val Follower::option_record(const std::string& name, const Arguments& a) {
  Val out = boolean(a.key("action") == nullptr);  // whether it takes a value
  out.object = make();
  out.object->name = name;
  for (const auto& [key, v] : a.keys) out.object->keys[key] = v;
  return out;
}

void Follower::add_option(Object* parser, Arguments& a) {
  std::string name;
  bool positional = false;
  for (const Val& v : a.values) {
    if (!v.known_text()) {
      touch(parser);
      parser->now.open = "an option is added whose name is not known here";
      return;
    }
    const std::string& s = v.text->text;
    if (!s.starts_with('-')) positional = true;
    if (name.empty() || (s.starts_with("--") && !name.starts_with("--"))) name = s;
  }
  const std::vector<Val> flags = a.values;
  refuse_option(*parser, a, positional);
  name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
  if (!positional) std::replace(name.begin(), name.end(), '-', '_');
  if (const Val* dest = a.key("dest"); dest != nullptr && dest->known_text()) name = dest->text->text;
  if (name.empty()) return;
  for (const std::string& key : {default_key(name), default_key({})}) {
    const auto of_parser = parser->keys.find(key);
    if (a.key("default") == nullptr && of_parser != parser->keys.end())
      a.keys.emplace_back("default", of_parser->second);
  }
  spend(parser->keys.size() / 8 + parser->bound.size() / 8 + 1);
  const bool first = option_of(*parser, name) == nullptr;
  const Val record = option_record(name, a);
  if (positional) parser->bound.push_back(record);
  for (const Val& flag : flags) {
    if (!positional) parser->keys[flag.text->text] = record;
  }
  if (!first) return;  // whose default holds
  const bool given = source_.given.contains(name);
  const Val v = given ? given_or(unknown(name, a.at), name) : option_default(a, positional, name);
  touch(parser);
  set_entry(parser, text(name, a.at), v, a.at);
}

// parser.set_defaults(NAME=…), of options that are there and of those that come.
void Follower::set_default(Object* parser, const std::string& name, const Val& v, std::size_t at) {
  parser->keys[default_key(name)] = v;
  const Object* option = option_of(*parser, name);
  const auto type = option == nullptr ? parser->keys.end() : option->keys.find("type");
  Arguments inner;
  inner.at = inner.end = at;
  inner.values = {v};
  const bool converts = option != nullptr && type != option->keys.end() && v.is(Kind::kText);
  set_entry(parser, text(name, at), converts ? call(type->second, inner) : v, at);
  const ShellText own{name};
  for (Object* parent : parser->bases) {
    if (entry(parent, text(name, at)) == nullptr) continue;
    const std::string why = fmt::format("an option that parsers have in common gets a default at line {}", line(at));
    lose(parent, why, at, &own);
  }
}

Val Follower::parsed_options(Object* parser) {
  Val out = instance("argparse.Namespace");
  out.object->now.open = parser->now.open;
  if (subcommands_of(*parser) != nullptr && parser->now.open.empty())
    out.object->now.open = "which subcommand is given is not known here";
  out.object->now.pairs = parser->now.pairs;
  spend(4 * parser->now.pairs.size());
  std::erase_if(out.object->now.pairs, [](const auto& one) {  // which are set where they are given alone
    return one.second.is(Kind::kNative) && one.second.object->name == "argparse.SUPPRESS";
  });
  for (const auto& [key, v] : out.object->now.pairs) {
    if (key.known_text()) out.object->now.names[key.text->text] = v;
  }
  return out;
}

// sys.argv
std::vector<Val> Follower::started_with() {
  std::vector<Val> out = {text("program", 0)};
  if (start_ == nullptr) {
    out.push_back(unknown(kOwnArguments, 0, true));
    return out;
  }
  for (const ShellWord& word : start_->arguments) {
    const bool open = word.several && !word.unknowns.empty();
    out.push_back(open ? unknown(word.unknowns.front().message, 0, true) : text(static_cast<const ShellText&>(word)));
  }
  return out;
}

// A program that counts its arguments, of which nothing is said, finds none, which is told.
void Follower::take_no_arguments(const Val& counted, std::size_t at) {
  const auto own = globals_->now.names.find(".sys.argv");
  if (!nothing_given_ || start_ != nullptr || own == globals_->now.names.end() || changed_arguments()) return;
  if (counted.object == nullptr || own->second.object != counted.object) return;
  touch(counted.object);
  counted.object->now.items.pop_back();
  (void)take_default("sys.argv[1:]", none(), at);
}

// Whether the program put others into sys.argv than it was started with.
bool Follower::changed_arguments() const {
  const auto set = globals_->now.names.find(".sys.argv");
  if (set == globals_->now.names.end()) return false;
  if (!set->second.sequence()) return true;
  const auto& items = set->second.object->now.items;
  return items.size() != 2 || !is_many(items[1]) || items[1].mystery->at != 0;
}

// sys.argv[1:]
std::vector<Val> Follower::own_arguments(std::size_t at) {
  const std::optional<Val> all = library_constant("sys.argv");
  const auto set = globals_->now.names.find(".sys.argv");
  const auto items = set != globals_->now.names.end() ? items_of(set->second, at) : items_of(*all, at);
  if (!items || items->empty()) return {unknown("what sys.argv holds is not known here", at, true)};
  return {items->begin() + (is_many(items->front()) ? 0 : 1), items->end()};
}

// ArgumentParser(parents=[…]): their options, as they are now.
void Follower::bring_parents(Object* parser, const Val& parents, const Arguments& a) {
  const auto items = items_of(parents, a.at);
  const auto is_parser = [](const Val& v) {
    return v.is(Kind::kInstance) && v.object->name == "argparse.ArgumentParser" &&
           !v.object->keys.contains(kServersWords);
  };
  if (!items || !std::ranges::all_of(*items, is_parser)) {
    parser->now.open = fmt::format("what {} brings is not followed", shown(a.at, a.end));
    return;
  }
  for (const Val& one : *items) {
    parser->bases.push_back(one.object);  // with which it has its options in common
    spend(one.object->keys.size() + 2 * one.object->now.pairs.size());
    for (const auto& [key, v] : one.object->keys) {
      if (!key.starts_with("= ")) parser->keys[key] = v;  // which is of that parser alone
    }
    parser->bound.insert(parser->bound.end(), one.object->bound.begin(), one.object->bound.end());
    for (const auto& [key, v] : one.object->now.pairs) set_entry(parser, key, v, a.at);
    if (!one.object->now.open.empty()) parser->now.open = one.object->now.open;
  }
}

// What of a parser's words is SGLang's own: all but the options that the program added.
Val Follower::servers_words(const Object* parser, const Val* given, std::size_t at) {
  const auto items = given == nullptr ? std::optional(own_arguments(at)) : items_of(*given, at);
  if (!items) return unclear(given->begin, given->end);
  std::vector<Val> words;
  bool dropping = false;
  for (const Val& item : *items) {
    const std::string word = item.known_text() ? item.text->text : std::string();
    const auto own = word.starts_with("--") ? parser->keys.find(word.substr(0, word.find('='))) : parser->keys.end();
    if (word.starts_with("--"))
      dropping = own != parser->keys.end() && own->second.integer != 0 && word.find('=') == word.npos;
    if (own == parser->keys.end() && !dropping) words.push_back(item);
  }
  return list_aside(std::move(words));
}

// What parse_args gives: of words that are known as they say, else as options are that nobody gives.
Val Follower::options_read(Object* parser, bool alone, Arguments& a) {
  const Val* given = a.argument(0, "args");
  if (const Val* into = a.argument(1, "namespace"); into != nullptr && !into->is(Kind::kNone)) {
    const Val out = unclear(a.at, a.end);  // what that holds stays, but for what the words and defaults set
    if (into->object != nullptr) lose(into->object, fmt::format("parse_args fills it at line {}", line(a.at)), a.at);
    return alone ? out : list_of({out, unknown("what the parser reads is not followed", a.at, true)}, Kind::kTuple);
  }
  const bool own = given != nullptr && !given->is(Kind::kNone);
  const bool empty = own && given->sequence() && given->object->now.items.empty();
  const bool reads = (own && !empty) || (!own && (start_ != nullptr || changed_arguments()));
  const auto items = !reads ? std::nullopt : own ? items_of(*given, a.at) : std::optional(own_arguments(a.at));
  WordsRead read{.parser = *parser, .at = a.at, .alone = alone};
  const bool values = items && read_words(*items, read);
  if (!reads && parser->now.open.empty() && !parser->keys.contains(kServersWords)) may_lack_options(*parser, own, a.at);
  if (reads) touch(parser);
  if (reads && !values) {
    for (auto& [key, v] : parser->now.pairs) v = unknown("what the parser reads is not followed", a.at);
  }
  Val out = parsed_options(parser);
  if (values) take_values(*out.object, read.values);
  if (values) out.object->now.open = parser->now.open;
  if (parser->keys.contains(kServersWords))
    out.object->keys[kServersWords] = servers_words(parser, own ? given : nullptr, a.at);
  if (alone) return out;
  Val others = list_of({});
  if (!own && !values) others = list_of({unknown(kOwnArguments, a.at, true)});
  if (own && !values && !empty) others = list_of({unknown("what the parser reads is not followed", a.at, true)});
  return list_of({out, others}, Kind::kTuple);
}

// subparsers.add_parser(NAME, aliases=[…]): a parser of its own.
Val Follower::subcommand(Object& all, Arguments& a) {
  Arguments inner = a;
  inner.values.clear();
  Val out = command_line("argparse.ArgumentParser", inner).value_or(unclear(a.at, a.end));
  std::vector<Val> names = a.values;
  const Val* aliases = a.key("aliases");
  const auto others = aliases == nullptr ? std::optional(std::vector<Val>()) : items_of(*aliases, a.at);
  if (others) names.insert(names.end(), others->begin(), others->end());
  const bool known =
      others && !names.empty() && std::ranges::all_of(names, [](const Val& v) { return v.known_text(); });
  for (const Val& one : known ? names : std::vector<Val>()) all.keys["=" + one.text->text] = out;
  if (!known) all.now.open = fmt::format("what {} brings is not followed", shown(a.at, a.end));
  return out;
}

// What stands behind the name of a subcommand is its own; false where that is not followed.
bool Follower::read_subcommand(const Object& all, const std::vector<Val>& given, WordsRead& read) {
  const Val& word = given[read.next];
  const auto found = word.known_text() ? all.keys.find("=" + word.text->text) : all.keys.end();
  const bool wrong = word.known_text() && found == all.keys.end() && all.now.open.empty();
  if (wrong) refuse("SystemExit", read.at);
  if (found == all.keys.end() || !all.now.open.empty()) return false;
  const Object& parser = *found->second.object;
  const std::vector<Val> rest(given.begin() + static_cast<std::ptrdiff_t>(read.next) + 1, given.end());
  WordsRead own{.parser = parser, .at = read.at, .alone = read.alone};
  if (!read_words(rest, own)) return false;
  for (const auto& [key, v] : parser.now.pairs) {
    if (key.known_text()) read.values[key.text->text] = v;
  }
  for (const auto& [name, v] : own.values) read.values[name] = v;
  if (const auto dest = all.keys.find(""); dest != all.keys.end()) read.values[dest->second.text->text] = word;
  read.next = given.size();
  return true;
}

std::optional<Val> Follower::parser_call(const std::string& name, const Object& callee, Arguments& a) {
  if (name == "argparse.Subparsers.add_parser" && !callee.bound.empty()) return subcommand(*callee.bound[0].object, a);
  if (callee.bound.empty() || !name.starts_with("argparse.ArgumentParser.")) return std::nullopt;
  const std::string what = name.substr(24);
  const Val& self = callee.bound[0];
  Object* parser = self.object;
  if (what == "add_argument") {
    add_option(parser, a);
    return instance("argparse.Action");
  }
  if (what == "add_argument_group" || what == "add_mutually_exclusive_group") {
    const Val* required = a.key("required");
    if (required != nullptr && truth(*required) == std::optional(true)) parser->keys[kNeedsOne] = boolean(true);
    return self;
  }
  if (what == "set_defaults") {
    for (const auto& [key, v] : a.keys) set_default(parser, key, v, a.at);
    for (const Val& more : a.more) update(parser, more, a.at);
    return none();
  }
  if (what == "parse_args" || what == "parse_known_args") return options_read(parser, what == "parse_args", a);
  if (what == "error" || what == "exit") refuse("SystemExit", a.at);
  if (what == "add_subparsers") {
    Val out = instance("argparse.Subparsers");
    const Val* dest = a.key("dest");
    if (dest != nullptr && dest->known_text()) out.object->keys[""] = *dest;
    if (const Val* own = a.key("parser_class");
        own != nullptr || subcommands_of(*parser) != nullptr || !a.more.empty()) {
      touch(parser);
      parser->now.open = fmt::format("what {} brings is not followed", shown(a.at, a.end));
    }
    const Val* required = a.key("required");
    if (required != nullptr && truth(*required) == std::optional(true)) parser->keys[kNeedsOne] = boolean(true);
    return parser->keys[kSubcommands] = out;
  }
  return unclear(a.at, a.end);
}

// --- words that a parser reads ---

namespace {

bool is_number_word(const std::string& s) {
  return s.size() > 1 && s[0] == '-' && s.back() != '.' && s.find_first_not_of("0123456789.", 1) == std::string::npos &&
         std::ranges::count(s, '.') <= 1;
}

bool is_option_word(const Val& v) {
  return v.is(Kind::kText) && v.text->text.size() > 1 && v.text->text[0] == '-' && !is_number_word(v.text->text);
}

// A word that begins with what is not known may be an option.
bool is_open_word(const Val& v) { return !v.is(Kind::kText) || (!v.text->text.empty() && v.text->text[0] == kHole); }

const Val* known_key(const Object& record, const char* key) {
  const auto it = record.keys.find(key);
  return it == record.keys.end() || it->second.is(Kind::kNone) ? nullptr : &it->second;
}

// A positional argument that may take no word.
bool may_be_absent(const Object& record) {
  const Val* count = known_key(record, "nargs");
  return count != nullptr && count->known_text() && (count->text->text == "*" || count->text->text == "?");
}

// What an option does with its value: "store" and its kin; none for actions that are not followed.
std::optional<std::string> action_of(const Object& record) {
  const Val* action = known_key(record, "action");
  if (action == nullptr) return "store";
  const bool followed = action->known_text() && (action->text->text == "store" || action->text->text == "store_true" ||
                                                 action->text->text == "store_false");
  return followed ? std::optional(action->text->text) : std::nullopt;
}

}  // namespace

// The option that a word names, whole or by its beginning; null for none, and for several.
const Object* Follower::named_option(const Object& parser, const std::string& flag) const {
  const auto exact = parser.keys.find(flag);
  if (exact != parser.keys.end()) return exact->second.object;
  if (!flag.starts_with("--") || flag.size() < 3 || parser.way == kWholeNames) return nullptr;
  const Object* out = nullptr;
  for (auto it = parser.keys.lower_bound(flag); it != parser.keys.end() && it->first.starts_with(flag); ++it) {
    if (out != nullptr && out != it->second.object) return nullptr;
    out = it->second.object;
  }
  return out;
}

// What `type` makes of a word; argparse ends the program where that raises what it looks for.
Val Follower::converted(const Val& type, const Val& word, std::size_t at) {
  Arguments inner;
  inner.at = at;
  inner.end = at;
  inner.values = {word};
  try {
    return call(type, inner);
  } catch (const Thrown& thrown) {
    constexpr auto kLookedFor = std::to_array<const char*>({"ValueError", "TypeError", "argparse.ArgumentTypeError"});
    const bool ends = std::ranges::any_of(
        kLookedFor, [&](const char* name) { return is_exception(thrown.value, instance(name)) == 1; });
    if (ends) refuse("SystemExit", at);
    throw;
  }
}

// As many words as an option takes, from words[i] on; none where that is not known.
std::optional<Val> Follower::taken_words(const Object& record, const std::vector<Val>& words, std::size_t& i,
                                         std::size_t at) {
  const Val* count = known_key(record, "nargs");
  const Val* type = known_key(record, "type");
  const Val* choices = known_key(record, "choices");
  const bool listed = count != nullptr && count->known_text() && (count->text->text == "+" || count->text->text == "*");
  const bool absent = count != nullptr && count->known_text() && count->text->text == "?";
  const bool counted = count != nullptr && count->is(Kind::kInt) && count->integer > 0 && count->integer < 100;
  if (count != nullptr && !listed && !absent && !counted) return std::nullopt;
  const std::size_t most = listed ? words.size() : counted ? static_cast<std::size_t>(count->integer) : 1;
  std::vector<Val> taken;
  for (; i < words.size() && taken.size() < most; ++i) {
    if (is_open_word(words[i])) return std::nullopt;
    if (is_option_word(words[i])) break;
    Val v = words[i];
    if (type != nullptr) v = converted(*type, v, at);
    const auto among = choices == nullptr ? std::optional(true) : contains(*choices, v);
    if (among == std::optional(false)) refuse("SystemExit", at);
    if (!among) return std::nullopt;
    taken.push_back(std::move(v));
  }
  if (taken.empty() && absent) {
    const auto fixed = record.keys.find("const");
    return fixed == record.keys.end() ? none() : fixed->second;
  }
  if (counted && taken.size() < most) refuse("SystemExit", at);
  if (taken.empty() && (!listed || count->text->text == "+")) refuse("SystemExit", at);
  return listed || counted ? list_of(std::move(taken)) : taken.front();
}

// --option=VALUE: its value, whatever it looks like.
bool Follower::read_joined(const Object* record, const ShellText& value, WordsRead& read) {
  if (record == nullptr) return read.parser.keys.contains(kServersWords);  // SGLang's own
  if (action_of(*record) != "store" || value.text.starts_with('-')) return false;
  std::size_t one = 0;
  const auto v = taken_words(*record, {text(value)}, one, read.at);
  if (v) read.values[record->name] = *v;
  return v.has_value();
}

// A word that looks like an option and names none: of help, which ends the program, or of nothing that is known.
void Follower::refuse_flag(const std::string& flag, const WordsRead& read) {
  const bool helps = !read.parser.keys.contains(kNoHelp) &&
                     (flag == "-h" || (flag.size() > 2 && std::string_view("--help").starts_with(flag)));
  std::set<const Object*> begun;  // options that the word is the beginning of
  for (auto it = read.parser.keys.lower_bound(flag); it != read.parser.keys.end() && it->first.starts_with(flag); ++it)
    begun.insert(it->second.object);
  const bool whole = flag.starts_with("--") && read.parser.way == kWholeNames;
  if (begun.size() > 1 && flag.starts_with("--") && !whole) refuse("SystemExit", read.at);  // of which is not said
  const bool beginning = !begun.empty() && !whole;
  const bool of_pair = flag.starts_with("--no-");  // argparse.BooleanOptionalAction adds it
  const bool plain = flag.starts_with("--") ? flag.size() > 2 : flag.size() == 2;
  if (helps || (read.alone && plain && !beginning && !of_pair)) refuse("SystemExit", read.at);
}

// What a parser asks for among words that are known, and does not find.
void Follower::refuse_lack(const WordsRead& read) {
  const auto counted = [](const Val& one) { return known_key(*one.object, "nargs") != nullptr; };
  const bool lacks_one = read.positional < read.parser.bound.size() && std::ranges::none_of(read.parser.bound, counted);
  if (lacks_one) refuse("SystemExit", read.at);
  spend(read.parser.keys.size());
  for (const auto& [flag, record] : read.parser.keys) {
    const Val* required = flag.starts_with('-') ? known_key(*record.object, "required") : nullptr;
    const bool needed = required != nullptr && truth(*required) == std::optional(true);
    if (needed && !read.values.contains(record.object->name)) refuse("SystemExit", read.at);
  }
}

// The next word, and those that it takes; false where that is not followed.
bool Follower::read_word(const std::vector<Val>& given, WordsRead& read) {
  if (is_open_word(given[read.next])) return false;
  const bool is_behind_option = std::exchange(read.behind_option, is_option_word(given[read.next]));
  const Object* record = nullptr;
  if (is_option_word(given[read.next])) {
    const ShellText& word = *given[read.next++].text;
    const std::size_t equals = word.text.starts_with("--") ? word.text.find('=') : std::string::npos;
    record = named_option(read.parser, word.text.substr(0, equals));
    if (equals != std::string::npos) return read_joined(record, sources::tail(word, equals + 1), read);
    if (record == nullptr && read.parser.keys.contains(kServersWords)) {  // SGLang's own, with its values
      while (read.next < given.size() && !is_option_word(given[read.next])) ++read.next;
      return true;
    }
    if (record == nullptr) refuse_flag(word.text, read);
  } else if (const Object* all = subcommands_of(read.parser);
             all != nullptr && read.positional >= read.parser.bound.size()) {
    return read_subcommand(*all, given, read);
  } else if (read.positional < read.parser.bound.size()) {
    record = read.parser.bound[read.positional++].object;
    // argparse gave it no word already, in front of the option that stands between them.
    if (read.positional > 1 && is_behind_option && may_be_absent(*record)) return false;
  } else if (read.alone && !read.parser.keys.contains(kServersWords)) {
    const auto counted = [](const Val& one) { return known_key(*one.object, "nargs") != nullptr; };
    if (std::ranges::none_of(read.parser.bound, counted)) refuse("SystemExit", read.at);
  }
  const Val* named = record == nullptr ? nullptr : known_key(*record, "action");
  const bool ends =
      named != nullptr && named->known_text() && (named->text->text == "version" || named->text->text == "help");
  if (ends) refuse("SystemExit", read.at);
  const auto action = record == nullptr ? std::nullopt : action_of(*record);
  if (!action) return false;
  const auto v = *action == "store" ? taken_words(*record, given, read.next, read.at)
                                    : std::optional(boolean(*action == "store_true"));
  if (v) read.values[record->name] = *v;
  return v.has_value();
}

// What a parser makes of words, by the names of its options; false where that is not followed.
bool Follower::read_words(const std::vector<Val>& given, WordsRead& read) {
  const Object& parser = read.parser;
  if (!parser.now.open.empty()) return false;
  spend_items(given);
  while (read.next < given.size()) {
    if (!read_word(given, read)) return false;
  }
  if (!parser.keys.contains(kServersWords)) refuse_lack(read);
  return std::all_of(parser.bound.begin() + static_cast<std::ptrdiff_t>(read.positional), parser.bound.end(),
                     [](const Val& one) { return may_be_absent(*one.object); });
}

// What a parser read stands in its options; nothing is taken for granted any longer.
void Follower::take_values(Object& options, const std::map<std::string, Val>& values) const {
  options.way = "read";
  for (auto& [key, v] : options.now.pairs) {
    const auto it = key.known_text() ? values.find(key.text->text) : values.end();
    if (it != values.end()) options.now.names[it->first] = v = it->second;
  }
  for (const auto& [name, v] : values) {  // of a subcommand
    if (options.now.names.contains(name)) continue;
    options.now.names[name] = v;
    options.now.pairs.emplace_back(text(name, v.begin), v);
  }
}

// --- click, typer, fire ---

// typer.run(function), fire.Fire(function): what it is given where nobody gives an option.
Val Follower::run_as_command(const Val& function, const Arguments& a, bool of_typer) {
  Arguments options;
  options.at = a.at;
  options.end = a.end;
  options.call = a.call;
  const Object* own = function.object->bases.empty() ? function.object : function.object->bases[0];
  if (own->statement == nullptr) return unclear(a.at, a.end);
  for (const Parameter& one : own->statement->parameters) {
    const auto fallback = own->keys.find("=" + one.name);
    if (one.stars > 0 || fallback == own->keys.end()) continue;
    const bool given = source_.given.contains(one.name);
    const Val v = given      ? given_or(unknown(one.name, a.at), one.name)
                  : of_typer ? as_typer_reads(one, fallback->second, a.at)
                             : fallback->second;
    options.keys.emplace_back(one.name, given ? v : take_default(one.name, v, a.at));
  }
  options.more = {unknown("", a.at)};
  // What a command of click is called with is not what its function is.
  return own == function.object ? call_function(function.object, options) : call(function, options);
}

namespace {

// The parameter that a click option is handed as: a name without dashes, else the first long one.
std::string click_name(const std::vector<Val>& flags, bool argument) {
  std::string out;
  for (const Val& v : flags) {
    if (!v.known_text()) return {};
    std::string flag = v.text->text.substr(0, v.text->text.find('/'));
    if (!flag.starts_with('-') && !argument) return flag;
    if (out.empty() || (flag.starts_with("--") && !out.starts_with("--"))) out = std::move(flag);
  }
  out.erase(0, std::min(out.find_first_not_of('-'), out.size()));
  for (char& c : out) c = c == '-' ? '_' : ascii_lower(c);
  return out;
}

}  // namespace

// What click hands over for an option that nobody gives.
Val Follower::click_default(const Object& option, const std::string& name, std::size_t at) {
  const auto is_true = [&](const char* key) {
    const Val* v = known_key(option, key);
    return v != nullptr && truth(*v) != std::optional(false);
  };
  Val asked_for = unknown(name + " is given where the program is started", at);
  auto mystery = std::make_shared<Mystery>(*asked_for.mystery);
  mystery->name = name;
  asked_for.mystery = mystery;
  const Val* fallback = known_key(option, "default");
  const Val* type = known_key(option, "type");
  const bool argument = option.name == "click.argument";
  if (is_true("required") || is_true("prompt") || known_key(option, "callback") != nullptr ||
      known_key(option, "cls") != nullptr || known_key(option, "flag_value") != nullptr ||
      (argument && fallback == nullptr))
    return asked_for;
  const bool flag = is_true("is_flag") || std::ranges::any_of(option.bound, [](const Val& v) {
                      return v.known_text() && v.text->text.find('/') != std::string::npos;
                    });
  if (fallback == nullptr && flag) return boolean(false);
  if (fallback == nullptr && is_true("count")) return whole(0);
  if (fallback == nullptr) return is_true("multiple") ? list_of({}, Kind::kTuple) : none();
  if (fallback->is(Kind::kFunction)) {
    Arguments nothing;
    nothing.at = nothing.end = at;
    return call(*fallback, nothing);
  }
  if (!fallback->is(Kind::kText) || type == nullptr) return *fallback;
  return as_click_reads(*fallback, shown(type->begin, type->end), asked_for, at);
}

// A default that is a text, as an option of this type reads it.
Val Follower::as_click_reads(const Val& given, std::string_view type, const Val& not_known, std::size_t at) {
  constexpr auto kTexts = std::to_array<std::string_view>({"str", "click.STRING", "click.Choice", "click.Path"});
  if (std::ranges::any_of(kTexts, [&](std::string_view one) { return type.starts_with(one); })) return given;
  if (type == "bool" || type == "click.BOOL") {
    const std::string word = given.known_text() ? ascii_lower(given.text->text) : std::string();
    constexpr auto kTrue = std::to_array<std::string_view>({"1", "true", "t", "yes", "y", "on"});
    constexpr auto kFalse = std::to_array<std::string_view>({"0", "false", "f", "no", "n", "off"});
    if (std::ranges::find(kTrue, word) != kTrue.end()) return boolean(true);
    return std::ranges::find(kFalse, word) != kFalse.end() ? boolean(false) : not_known;
  }
  const bool whole_number = type == "int" || type == "click.INT" || type.starts_with("click.IntRange");
  const bool real_number = type == "float" || type == "click.FLOAT" || type.starts_with("click.FloatRange");
  if (!whole_number && !real_number) return not_known;
  Arguments inner;
  inner.at = inner.end = at;
  inner.values = {given};
  return call(native(whole_number ? "int" : "float"), inner);
}

// What typer hands over for a default: of the type that the parameter is written with.
Val Follower::as_typer_reads(const Parameter& one, const Val& given, std::size_t at) {
  if (one.annotation == nullptr || given.is(Kind::kNone) || given.is(Kind::kUnknown)) return given;
  std::string type = shown(one.annotation->begin, one.annotation->end);
  for (const std::string_view around : {"typing.Annotated[", "Annotated[", "typing.Optional[", "Optional["}) {
    if (type.starts_with(around)) type = type.substr(around.size(), type.find_first_of(",]") - around.size());
  }
  if (const auto other = type.find(" | None"); other != std::string::npos) type.erase(other);
  Val not_known = unknown(fmt::format("what typer makes of the default of {} is not followed", one.name), at);
  if (type == "str") return given.is(Kind::kText) || given.whole() ? str(given, at) : not_known;
  if (type == "float" && given.is(Kind::kInt)) return real(static_cast<double>(given.integer));
  if (type == "int" && given.is(Kind::kFloat)) return whole(static_cast<std::int64_t>(given.number));
  if (type == "Path" || type == "pathlib.Path") return given.is(Kind::kText) ? path_of(*given.text) : given;
  return given.is(Kind::kText) ? as_click_reads(given, type, not_known, at) : given;
}

// @click.option, @click.argument: the default of the parameter that it is.
void Follower::take_click_option(Object* function, const Object& option, std::size_t at) {
  const std::string name = click_name(option.bound, option.name == "click.argument");
  if (!name.empty()) function->keys["=" + name] = click_default(option, name, at);
}

// Whether a function is one of the program's own command line: @click.command(), @app.command().
bool Follower::is_command(const Object& function) {
  const std::string_view by = std::string_view(function.altered).substr(0, function.altered.find('('));
  return by.ends_with(".command") || by == "command";
}

std::optional<Val> Follower::command_line(const std::string& name, Arguments& a) {
  const bool alone = a.values.size() == 1 && a.values[0].is(Kind::kFunction) && a.key("command") == nullptr;
  if (name == "typer.run" && alone) {
    (void)run_as_command(a.values[0], a, true);
    refuse("SystemExit", a.at);
  }
  if (name == "fire.Fire" && alone) return run_as_command(a.values[0], a);
  if (name == "typer.Option" || name == "typer.Argument") {
    const Val* fallback = a.argument(0, "default");
    if (fallback == nullptr) return std::nullopt;
    const bool required = shown(fallback->begin, fallback->end) == "...";
    return required ? unknown("it is given where the program is started", a.at) : *fallback;
  }
  if (name == "click.option" || name == "click.argument") {
    Val out = instance(name);
    out.object->bound = a.values;
    for (const auto& [key, v] : a.keys) out.object->keys[key] = v;
    return out;
  }
  if (name == "argparse.ArgumentParser") {
    Val out = instance(name);
    constexpr auto kOthers = std::to_array<std::string_view>({"prefix_chars", "fromfile_prefix_chars"});
    const bool more =
        !a.more.empty() || std::ranges::any_of(kOthers, [&](std::string_view key) { return a.key(key) != nullptr; });
    if (const Val* fallback = a.key("argument_default")) out.object->keys[default_key({})] = *fallback;
    const Val* shortened = a.key("allow_abbrev");
    if (shortened != nullptr && truth(*shortened) != std::optional(true)) out.object->way = kWholeNames;
    const Val* help = a.key("add_help");
    if (help != nullptr && truth(*help) != std::optional(true)) out.object->keys[kNoHelp] = boolean(true);
    if (a.key("conflict_handler") != nullptr) out.object->keys[kNoConflicts] = boolean(true);
    if (more) out.object->now.open = fmt::format("what {} brings is not followed", shown(a.at, a.end));
    if (const Val* parents = a.key("parents")) bring_parents(out.object, *parents, a);
    return out;
  }
  return std::nullopt;
}

}  // namespace preflight::sources::program
