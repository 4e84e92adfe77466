// What Python refuses by what a class, a parser or a call says of itself, and calls that fail where a file, a folder or
// a server is not as they want it. Tested by tests/traps_test.cpp, with Python as the judge.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "src/base/listed.h"
#include "src/sources/program/follower.h"

namespace preflight::sources::program {
namespace {

using Kind = Val::Kind;

bool is_true(const std::map<std::string, Val>& keys, const std::string& name) {
  const auto it = keys.find(name);
  return it != keys.end() && it->second.is(Kind::kBool) && it->second.integer != 0;
}

bool is_field_of(const Object* type, const std::string& name) {
  return std::ranges::any_of(type->now.items,
                             [&](const Val& field) { return field.known_text() && field.text->text == name; });
}

// dataclasses.field(…): its option, where it is one of those that are known.
const Val* field_option(const Val& field, const char* name) {
  if (!field.is(Kind::kInstance) || field.object->name != "dataclasses.field") return nullptr;
  const auto it = field.object->keys.find(name);
  return it == field.object->keys.end() ? nullptr : &it->second;
}

}  // namespace

// --- classes ---

// @dataclass(frozen=True, …) of a class.
void Follower::take_dataclass_options(Object* type, const Object& decorator, std::size_t at) {
  constexpr auto kOptions = std::to_array<std::pair<const char*, const char*>>(
      {{"frozen", kFrozen}, {"slots", kSlots}, {"kw_only", kKeywordOnly}});
  for (const auto& [option, key] : kOptions) {
    if (is_true(decorator.keys, option)) type->keys[key] = boolean(true);
  }
  refuse_fields(type, at);
}

// A list that all objects of a class would share as the default of a field; a field without a default behind one that
// has some.
void Follower::refuse_fields(Object* type, std::size_t at) {
  bool defaults = false;
  for (const Val& field : type->now.items) {
    const auto fallback = field.known_text() ? type->now.names.find(field.text->text) : type->now.names.end();
    const bool none_there = fallback == type->now.names.end();
    const Val v = none_there ? Val{.kind = Kind::kGone} : fallback->second;
    if (v.is(Kind::kList) || v.is(Kind::kDict) || v.is(Kind::kSet)) refuse("ValueError", at);
    const bool is_field = v.is(Kind::kInstance) && v.object->name == "dataclasses.field";
    const bool aside = is_field && (field_option(v, "init") != nullptr || field_option(v, "kw_only") != nullptr);
    if (aside || (field.known_text() && is_keyword_only(type, field.text->text))) continue;
    const bool has = is_field ? field_option(v, "default") != nullptr || field_option(v, "default_factory") != nullptr
                              : !v.is(Kind::kGone);
    if (!has && defaults && field.known_text()) refuse("TypeError", at);
    defaults = defaults || has;
  }
}

// Whether a field of a dataclass is asked for by its name alone.
bool Follower::is_keyword_only(const Object* type, const std::string& field, int depth) {
  constexpr int kMost = 10;
  if (depth > kMost) return false;
  const auto it = type->now.names.find(field);
  const bool record =
      it != type->now.names.end() && it->second.is(Kind::kInstance) && it->second.object->name == "dataclasses.field";
  if (record && it->second.object->keys.contains("kw_only")) return true;
  const auto is_own = [&](const Val& one) { return one.known_text() && one.text->text == field; };
  if (std::ranges::any_of(type->now.items, is_own))
    return type->keys.contains(kKeywordOnly) || type->keys.contains(kKeywordOnly + (" " + field));
  return std::ranges::any_of(type->bases, [&](const Object* base) { return is_keyword_only(base, field, depth + 1); });
}

// @NAME.setter of a property: that property, with the function that sets it; none of another decorator.
std::optional<Val> Follower::with_setter(const Expr& decorator, const Val& function) {
  if (decorator.kind != Expr::Kind::kAttribute || (decorator.name != "setter" && decorator.name != "deleter"))
    return std::nullopt;
  const Val property = value(*decorator.kids[0]);
  if (!property.is(Kind::kFunction) || property.object->way != "property") return std::nullopt;
  Val out = property;
  out.object = make();
  *out.object = *property.object;
  out.object->keys[decorator.name == "setter" ? kSetter : kMaySet] = function;
  return out;
}

const Val* Follower::property_setter(const Val& member) {
  if (!member.is(Kind::kFunction) || member.object->way != "property") return nullptr;
  const auto it = member.object->keys.find(kSetter);
  return it == member.object->keys.end() || !it->second.is(Kind::kFunction) ? nullptr : &it->second;
}

// Of a class that is made of a frozen one, the fields of that are.
bool Follower::is_frozen(const Object* type, const std::string& name, int depth) {
  constexpr int kMost = 10;
  if (depth > kMost) return false;
  if (type->keys.contains(kFrozen)) return depth == 0 || is_field_of(type, name);
  return std::ranges::any_of(type->bases, [&](const Object* base) { return is_frozen(base, name, depth + 1); });
}

// The attributes that objects of a class may have, where it and all that it is made of say so; none: any.
std::optional<std::set<std::string>> Follower::slots_of(const Object* type, int depth) const {
  constexpr int kMost = 10;
  if (depth > kMost || !is_closed(type)) return std::nullopt;
  std::set<std::string> out;
  const auto written = type->now.names.find("__slots__");
  const bool listed = written != type->now.names.end() && written->second.sequence();
  if (!listed && !type->keys.contains(kSlots)) return std::nullopt;
  for (const Val& one : listed ? written->second.object->now.items : type->now.items) {
    if (!one.known_text() || one.text->text == "__dict__") return std::nullopt;
    out.insert(one.text->text);
  }
  for (const Object* base : type->bases) {
    if (base->statement == nullptr) continue;
    const auto more = slots_of(base, depth + 1);
    if (!more) return std::nullopt;
    out.insert(more->begin(), more->end());
  }
  return out;
}

// What is raised where an attribute is set or taken out; null: nothing, or it is not known.
const char* Follower::refused_attribute(const Val& base, const std::string& name) const {
  if (base.is(Kind::kClass) && is_enum(base.object)) {
    const auto member = base.object->now.names.find(name);
    const bool has = member != base.object->now.names.end() && !member->second.is(Kind::kFunction);
    return has && !name.starts_with('_') ? "AttributeError" : nullptr;
  }
  const Object* type = base.is(Kind::kInstance) ? base.object->of : nullptr;
  if (type == nullptr || type->statement == nullptr) {
    const bool tuple = base.is(Kind::kInstance) && is_named_tuple(base);
    return tuple ? "AttributeError" : nullptr;
  }
  if (is_named_tuple(base)) return "AttributeError";
  if (is_frozen(type, name)) return "dataclasses.FrozenInstanceError";
  bool open = false;
  const Val* member = class_member(type, name, open);
  const bool property = member != nullptr && member->is(Kind::kFunction) && member->object->way == "property";
  if (property && !open) return member->object->keys.contains(kMaySet) ? nullptr : "AttributeError";
  const auto slots = slots_of(type);
  return slots && !slots->contains(name) ? "AttributeError" : nullptr;
}

namespace {

bool may_be_abstract(const Object* type, const char* mark, int depth = 0) {
  constexpr int kMost = 10;
  if (depth > kMost) return false;
  return type->name == "abc.ABC" || type->keys.contains(mark) ||
         std::ranges::any_of(type->bases, [&](const Object* base) { return may_be_abstract(base, mark, depth + 1); });
}

void add_abstract(const Object* type, const char* mark, std::set<std::string>& out, int depth = 0) {
  constexpr int kMost = 10;
  if (depth > kMost) return;
  for (const auto& [name, member] : type->now.names) {
    if (member.is(Kind::kFunction) && member.object->keys.contains(mark)) out.insert(name);
  }
  for (const Object* base : type->bases) add_abstract(base, mark, out, depth + 1);
}

}  // namespace

// Whether a class has a method that none of it makes: there are no objects of it.
bool Follower::is_abstract(const Object* type) const {
  if (type->statement == nullptr || !may_be_abstract(type, kAbstract)) return false;
  std::set<std::string> names;
  add_abstract(type, kAbstract, names);
  spend(names.size() + 1);
  return std::ranges::any_of(names, [&](const std::string& name) {
    bool open = false;
    const Val* member = class_member(type, name, open);
    return !open && member != nullptr && member->is(Kind::kFunction) && member->object->keys.contains(kAbstract);
  });
}

// --- calls ---

namespace {

// Calls that raise where what they are given is not there, or is already.
struct Failing {
  std::string_view name;
  const char* raises;
  std::string_view unless = {};  // a keyword that keeps them from it
};
constexpr auto kFailing = std::to_array<Failing>({
    {"os.chdir", "FileNotFoundError"},
    {"os.kill", "ProcessLookupError"},
    {"os.listdir", "FileNotFoundError"},
    {"os.makedirs", "FileExistsError", "exist_ok"},
    {"os.mkdir", "FileExistsError"},
    {"os.remove", "FileNotFoundError"},
    {"os.rename", "FileNotFoundError"},
    {"os.replace", "FileNotFoundError"},
    {"os.rmdir", "FileNotFoundError"},
    {"os.scandir", "FileNotFoundError"},
    {"os.stat", "FileNotFoundError"},
    {"os.symlink", "FileExistsError"},
    {"os.unlink", "FileNotFoundError"},
    {"pathlib.Path.iterdir", "FileNotFoundError"},
    {"pathlib.Path.mkdir", "FileExistsError", "exist_ok"},
    {"pathlib.Path.rename", "FileNotFoundError"},
    {"pathlib.Path.rmdir", "FileNotFoundError"},
    {"pathlib.Path.stat", "FileNotFoundError"},
    {"pathlib.Path.symlink_to", "FileExistsError"},
    {"pathlib.Path.unlink", "FileNotFoundError", "missing_ok"},
    {"shutil.copy", "FileNotFoundError"},
    {"shutil.copy2", "FileNotFoundError"},
    {"shutil.copyfile", "FileNotFoundError"},
    {"shutil.copytree", "FileNotFoundError"},
    {"shutil.move", "FileNotFoundError"},
    {"shutil.rmtree", "FileNotFoundError", "ignore_errors"},
    {"socket.create_connection", "ConnectionRefusedError"},
    {"urllib.request.urlopen", "urllib.error.URLError"},
});

}  // namespace

// What a call asks of the machine may not be so. A program that looks first is taken to look at that.
void Follower::may_fail(const std::string& name, const Object& callee, const Arguments& a) {
  const auto* const one = std::ranges::find(kFailing, name, &Failing::name);
  if (one == kFailing.end() || quiet_ > 0) return;
  const Val* kept = one->unless.empty() ? nullptr : a.key(one->unless);
  if (kept != nullptr && truth(*kept) != std::optional(false)) return;
  const Val* first = !callee.bound.empty() ? callee.bound.data() : a.values.empty() ? nullptr : a.values.data();
  const ShellText* path = first == nullptr ? nullptr : path_text(*first);
  const bool own = path != nullptr && path->defaults != nullptr && path->defaults->contains("__file__");
  const bool there = path != nullptr && (path->text == "/" || path->text == "." || path->text == "/tmp");
  const bool stays = name == "os.chdir" || name == "os.listdir";  // asks for no more than that it is there
  if (stays && (own || there || path == nullptr)) return;
  constexpr auto kLooks = std::to_array<std::string_view>({"exists", "isfile", "is_file", "isdir", "is_dir", "islink"});
  spend_bytes(kLooks.size() * source_.text.size());
  const bool looks = std::ranges::any_of(
      kLooks, [&](std::string_view word) { return source_.text.find(word) != std::string_view::npos; });
  if (!looks) may_raise(one->raises, a.at);
}

namespace {

// Calls and all that they take by its name, in any release of Python.
constexpr std::string_view kOfPopen =
    "args bufsize executable stdin stdout stderr preexec_fn close_fds shell cwd env universal_newlines startupinfo "
    "creationflags restore_signals start_new_session pass_fds user group extra_groups encoding errors text umask "
    "pipesize process_group";
struct Takes {
  std::string_view name;
  std::string_view keywords;
  bool popens = false;  // and what Popen takes
};
constexpr auto kTakes = std::to_array<Takes>({
    {"multiprocessing.Process", "group target name args kwargs daemon"},
    {"subprocess.Popen", "", true},
    {"subprocess.call", "timeout", true},
    {"subprocess.check_call", "timeout", true},
    {"subprocess.check_output", "timeout input", true},
    {"subprocess.run", "input capture_output timeout check", true},
    {"threading.Thread", "group target name args kwargs daemon context"},
});

}  // namespace

// A keyword that a call has not, or not beside the others.
void Follower::refuse_keywords(const std::string& name, const Arguments& a) {
  const auto* const known = std::ranges::find(kTakes, name, &Takes::name);
  if (known == kTakes.end()) return;
  for (const auto& [key, v] : a.keys) {
    if (!is_among(known->keywords, key) && !(known->popens && is_among(kOfPopen, key))) refuse("TypeError", a.at);
  }
  const auto is_set = [&](std::string_view key) { return a.key(key) != nullptr && !a.key(key)->is(Kind::kNone); };
  const Val* captures = a.key("capture_output");
  const bool twice =
      captures != nullptr && truth(*captures) == std::optional(true) && (is_set("stdout") || is_set("stderr"));
  if (twice || (name == "subprocess.check_output" && is_set("stdout"))) refuse("ValueError", a.at);
}

// --- parsers ---

namespace {

// What add_argument takes for an action of argparse; "": anything that options take.
std::string_view keywords_of_action(std::string_view action) {
  if (action == "store_true" || action == "store_false") return "action dest default required help";
  if (action == "count") return "action dest default required help";
  if (action == "store_const" || action == "append_const") return "action dest const default required help metavar";
  if (action == "help") return "action dest default help";
  if (action == "version") return "action version dest default help";
  return "action nargs const default type choices required help metavar dest";
}

}  // namespace

// parser.add_argument(…) that argparse refuses.
void Follower::refuse_option(const Object& parser, const Arguments& a, bool positional) {
  constexpr std::string_view kActions =
      "store store_const store_true store_false append append_const count help version extend";
  if (!a.more.empty() || std::ranges::any_of(a.values, is_many)) return;
  if (a.values.empty() && a.key("dest") == nullptr) refuse("TypeError", a.at);
  const Val* action = a.key("action");
  if (action != nullptr && action->known_text() && !is_among(kActions, action->text->text)) refuse("ValueError", a.at);
  const Val* type = a.key("type");
  if (type != nullptr && is_plain(*type) && !type->is(Kind::kNone)) refuse("ValueError", a.at);
  const bool known_action = action == nullptr || action->known_text();
  const std::string_view takes =
      known_action ? keywords_of_action(action == nullptr ? "store" : std::string_view(action->text->text)) : "";
  for (const auto& [key, v] : a.keys) {
    if (known_action && !is_among(takes, key)) refuse("TypeError", a.at);
    if (positional && key == "required") refuse("TypeError", a.at);
    if (positional && key == "dest") refuse("ValueError", a.at);
  }
  if (positional || parser.keys.contains(kNoConflicts)) return;
  for (const Val& flag : a.values) {
    const std::string& name = flag.text->text;
    if ((name == "-h" || name == "--help") && !parser.keys.contains(kNoHelp)) refuse("argparse.ArgumentError", a.at);
    const auto other = parser.keys.find(name);
    const bool there = other != parser.keys.end() && other->second.object != nullptr;
    const auto is_now = [&](const auto& pair) {
      return pair.first.known_text() && pair.first.text->text == other->second.object->name;
    };
    spend(parser.now.pairs.size() / 8 + 1);
    if (there && parser.now.open.empty() && std::ranges::any_of(parser.now.pairs, is_now))
      refuse("argparse.ArgumentError", a.at);
  }
}

// What a parser asks for and is not given. `sure`: it is given nothing; else nothing is known of what it is given.
void Follower::may_lack_options(const Object& parser, bool sure, std::size_t at) {
  const auto is_missing = [&](const Object* record) {
    return record != nullptr && is_true(record->keys, "required") && (sure || !source_.given.contains(record->name));
  };
  const auto is_needed = [&](const Val& positional) {
    const auto count = positional.object->keys.find("nargs");
    const bool optional = count != positional.object->keys.end() && !count->second.is(Kind::kNone) &&
                          (!count->second.known_text() || count->second.text->text == "*" ||
                           count->second.text->text == "?" || count->second.text->text == "...");
    return !optional && (sure || !source_.given.contains(positional.object->name));
  };
  bool lacks = parser.keys.contains(kNeedsOne) || std::ranges::any_of(parser.bound, is_needed);
  for (const auto& [flag, record] : parser.keys) lacks = lacks || (flag.starts_with('-') && is_missing(record.object));
  if (lacks && sure) refuse("SystemExit", at);
  if (lacks) may_raise("SystemExit", at);
}

}  // namespace preflight::sources::program
