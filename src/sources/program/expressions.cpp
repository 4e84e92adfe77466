// Expressions of a Python program. Tested by tests/traps_test.cpp, with Python as the judge.
#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include <fmt/format.h>

#include "src/python/text.h"
#include "src/sources/assigned_values.h"
#include "src/sources/program/attributes.h"
#include "src/sources/program/follower.h"

namespace preflight::sources::program {
namespace {

constexpr std::array<std::string_view, 72> kBuiltins = {"abs",
                                                        "oct",
                                                        "all",
                                                        "any",
                                                        "bool",
                                                        "bytes",
                                                        "callable",
                                                        "chr",
                                                        "classmethod",
                                                        "dict",
                                                        "dir",
                                                        "enumerate",
                                                        "eval",
                                                        "exec",
                                                        "exit",
                                                        "filter",
                                                        "float",
                                                        "format",
                                                        "frozenset",
                                                        "getattr",
                                                        "globals",
                                                        "hasattr",
                                                        "hash",
                                                        "id",
                                                        "input",
                                                        "int",
                                                        "isinstance",
                                                        "issubclass",
                                                        "iter",
                                                        "len",
                                                        "list",
                                                        "locals",
                                                        "map",
                                                        "max",
                                                        "min",
                                                        "next",
                                                        "object",
                                                        "open",
                                                        "ord",
                                                        "pow",
                                                        "print",
                                                        "property",
                                                        "quit",
                                                        "range",
                                                        "repr",
                                                        "reversed",
                                                        "round",
                                                        "set",
                                                        "setattr",
                                                        "slice",
                                                        "sorted",
                                                        "staticmethod",
                                                        "str",
                                                        "sum",
                                                        "super",
                                                        "tuple",
                                                        "type",
                                                        "vars",
                                                        "zip",
                                                        "__import__",
                                                        "BaseException",
                                                        "Exception",
                                                        "SystemExit",
                                                        "KeyboardInterrupt",
                                                        "GeneratorExit",
                                                        "StopIteration",
                                                        "StopAsyncIteration",
                                                        "NotImplemented",
                                                        "bin",
                                                        "hex",
                                                        "divmod",
                                                        "ascii"};

constexpr const char* kComprehension = "comprehension";  // the way of its scope

bool is_builtin(std::string_view name) {
  return std::find(kBuiltins.begin(), kBuiltins.end(), name) != kBuiltins.end() || name.ends_with("Error") ||
         name.ends_with("Warning");
}

}  // namespace

Val none() { return {}; }
Val boolean(bool b) { return {.kind = Val::Kind::kBool, .integer = b ? 1 : 0}; }
Val whole(std::int64_t i) { return {.kind = Val::Kind::kInt, .integer = i}; }
Val real(double d) { return {.kind = Val::Kind::kFloat, .number = d}; }
Val unknown(std::string what, std::size_t at, bool many) {
  Val out;
  out.kind = Val::Kind::kUnknown;
  out.mystery = std::make_shared<Mystery>(Mystery{std::move(what), at, {}, many});
  return out;
}

const Val* Arguments::key(std::string_view name) const {
  for (const auto& [key, value] : keys) {
    if (key == name) return &value;
  }
  return nullptr;
}

const Val* Arguments::argument(std::size_t place, std::string_view name) const {
  if (const Val* out = key(name)) return out;
  return place < values.size() ? &values[place] : nullptr;
}

// An expression as it is written, for a message.
std::string Follower::shown(std::size_t begin, std::size_t end) const {
  constexpr std::size_t kMost = 60;
  std::string out;
  for (const char c : source_.text.substr(begin, std::min(end - begin, kMost + 1)))
    if (c != '\n' && c != '\r' && (c != ' ' || (!out.empty() && out.back() != ' '))) out += c;
  if (out.size() > kMost) out = out.substr(0, kMost) + "…";
  return out;
}

Val Follower::unclear(std::size_t begin, std::size_t end) const {
  return unknown(fmt::format("{} is computed where the program runs", shown(begin, end)), begin);
}
Val Follower::unclear(const Expr& e) const { return unclear(e.begin, e.end); }

namespace {

bool is_literal(const Expr& e) {
  return e.kind == Expr::Kind::kText && e.parts.size() == 1 && e.parts[0].field == nullptr;
}

// What the value of an expression is called where it is read: a name, an attribute, a key, what a function is asked
// for, else the function. What stands in for a value is called as it is.
std::string called(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kName:
      return e.name == "key" ? std::string() : e.name;  // as loops over dictionaries call their names
    case Expr::Kind::kAttribute:
      return e.name;
    case Expr::Kind::kSubscript:
      return is_literal(*e.kids[1]) ? e.kids[1]->parts[0].text.text : called(*e.kids[0]);
    case Expr::Kind::kCall: {
      const Expr* first = e.arguments.empty() ? nullptr : e.arguments.front().value;
      const bool asks = first != nullptr && is_literal(*first);
      return asks ? first->parts[0].text.text : called(*e.kids[0]);
    }
    case Expr::Kind::kBoolean:
      return called(*e.kids[0]);
    case Expr::Kind::kChoice:
      return called(*e.kids[1]);
    default:
      return {};
  }
}

}  // namespace

Val Follower::value(const Expr& e) {
  const Deeper deeper(*this);
  spend(1);
  Val out = value_of(e);
  out.begin = e.begin;
  out.end = e.end;
  const bool literal = is_literal(e);
  if (!literal && out.known_text()) AssignedValues::note(called(e), out.text->text);
  if (literal && !out.text->origin.empty()) {  // without its quotes, so that an edit keeps them
    out.begin = out.text->origin.front();
    out.end = out.text->origin.back() + 1;
  }
  return out;
}

Val Follower::value_of(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kName:
      return name_value(e);
    case Expr::Kind::kNumber:
      return number(e);
    case Expr::Kind::kText:
      return text_value(e);
    case Expr::Kind::kBytes:
      return unclear(e);
    case Expr::Kind::kConstant:
      if (e.name == "...") return unclear(e);
      return e.name == "True" ? boolean(true) : e.name == "False" ? boolean(false) : none();
    case Expr::Kind::kList:
    case Expr::Kind::kTuple:
    case Expr::Kind::kSet:
      return display(e);
    case Expr::Kind::kDict:
      return dictionary(e);
    case Expr::Kind::kAttribute: {
      const Val base = value(*e.kids[0]);
      Val out = attribute(base, e.name, e);
      if (out.is(Val::Kind::kNative) && source_.given.contains(shown(e.begin, e.end))) out = asked(out);
      return out.is(Val::Kind::kUnknown) ? given_or(std::move(out), shown(e.begin, e.end)) : out;
    }
    case Expr::Kind::kSubscript:
      return subscript(e);
    case Expr::Kind::kCall:
      return call(e);
    case Expr::Kind::kUnary:
      return unary(e.name, value(*e.kids[0]), e);
    case Expr::Kind::kBinary: {
      const Val left = value(*e.kids[0]);
      return binary(e.name, left, value(*e.kids[1]), e.begin, e.end);
    }
    case Expr::Kind::kCompare: {
      Val left = value(*e.kids[0]);
      bool known = true;
      for (std::size_t i = 0; i < e.names.size(); ++i) {
        Val right = value(*e.kids[i + 1]);
        for (const Val& side : {left, right}) {  // of a list that is only compared nothing is run
          const bool written = side.sequence() && side.begin < side.end && names_server(side);
          if (written && std::string_view("([").find(source_.text[side.begin]) != std::string_view::npos)
            used_.insert(side.object);
        }
        const auto holds = compare(e.names[i], left, right);
        if (holds == std::optional(false)) return boolean(false);
        known = known && holds;
        left = std::move(right);
      }
      return known ? boolean(true) : unclear(e);
    }
    case Expr::Kind::kBoolean:
      return boolean_value(e, 0);
    case Expr::Kind::kChoice:
      return choice(e);
    case Expr::Kind::kLambda:
      return lambda(e);
    case Expr::Kind::kComprehension:
      return comprehension(e);
    case Expr::Kind::kWalrus: {
      const Val v = value(*e.kids[1]);
      Object* inner = locals_;
      while (locals_->way == kComprehension) locals_ = locals_->scope;  // which has names of its own
      bind(*e.kids[0], v);
      locals_ = inner;
      return v;
    }
    case Expr::Kind::kAwait:
      return awaited(value(*e.kids[0]), e.begin);
    case Expr::Kind::kStar:
      return value(*e.kids[0]);
    case Expr::Kind::kYield:
      return yielded(e);
    case Expr::Kind::kSlice:
      return unclear(e);
  }
  return unclear(e);
}

// Nothing is handed in but by send().
Val Follower::yielded(const Expr& e) {
  const Val v = e.kids.empty() ? none() : value(*e.kids[0]);
  if (yield_to_ == nullptr) return none();
  if (e.name.empty()) {
    (*yield_to_)(v);
  } else {
    const Val all = iterator_over(v, e.begin);
    while (const auto item = pull(all.object)) {
      (*yield_to_)(*item);
      if (is_many(*item)) break;
    }
    if (v.is(Val::Kind::kList) && is_iterator(v) && v.object->frame != nullptr) return unclear(e);  // what it returns
  }
  return source_.text.find(".send(") == std::string_view::npos ? none() : unclear(e);
}

// What --set says of a name that is not known.
Val Follower::given_or(Val found, const std::string& name) {
  auto given = source_.given.find(name);
  if (given == source_.given.end()) given = source_.given.find(found.mystery->name);  // as it is asked for
  if (given != source_.given.end()) {
    std::int64_t i = 0;
    const std::string& s = given->second;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), i);
    if (error == std::errc{} && end == s.data() + s.size() && std::to_string(i) == s) return whole(i);
    return text(s, found.mystery->at);
  }
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return c == '.' || c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
  if (found.mystery->name.empty() && plain && !name.empty() && !found.mystery->many) {
    auto mystery = std::make_shared<Mystery>(*found.mystery);
    mystery->name = name;
    found.mystery = mystery;
  }
  return found;
}

std::string Follower::imported_from(std::string_view name, std::string_view as) {
  const std::string_view package = name.substr(0, name.rfind('.'));
  const bool own = package.find_first_not_of('.') == std::string_view::npos;
  return fmt::format("{} is imported from {}", as, own ? "its own package" : package);
}

// A name of a library, where its value is asked for.
Val Follower::asked(const Val& v) {
  const std::string name = v.is(Val::Kind::kNative) && v.object->bound.empty() ? v.object->name : std::string();
  if (name.empty()) return v;
  const std::string& altered = v.object->altered;
  if (altered.empty() && name.find('.') == std::string::npos) return v;
  const std::string& as = altered.empty() && v.object->imported_as.empty() ? name : v.object->imported_as;
  const std::string what = !altered.empty() ? altered
                           : as.find('.') != std::string::npos
                               ? fmt::format("{} is computed where the program runs", as)
                               : imported_from(name, as);
  Val out{.kind = Val::Kind::kUnknown, .mystery = std::make_shared<const Mystery>(Mystery{what, v.begin, as})};
  out = given_or(std::move(out), altered.empty() ? name : as);
  out.begin = v.begin;
  out.end = v.end;
  return out;
}

Val Follower::name_value(const Expr& e) {
  for (const Object* scope = locals_; scope != nullptr; scope = scope->scope) {
    spend(1);
    const auto it = scope->now.names.find(e.name);
    if (it == scope->now.names.end()) {
      refuse_unbound(scope, e);
      continue;
    }
    if (it->second.is(Val::Kind::kGone)) return given_or(unclear(e), e.name);
    if (e.name == "__file__" && it->second.known_text()) {
      ShellText own = *it->second.text;
      own.defaults = taken_default(e.name, own.text, e.begin, TakenWhy::kPlace);
      return text(std::move(own));
    }
    return it->second.is(Val::Kind::kUnknown) ? given_or(it->second, e.name) : it->second;
  }
  if (is_builtin(e.name)) return native(e.name);
  may_be_unbound(e);
  // Pieces of programs leave their imports out.
  if (e.name == "popen_launch_server" || e.name == "launch_server_cmd" || e.name == "execute_shell_command" ||
      e.name == "ServerArgs" || e.name == "prepare_server_args" || e.name == "os" || e.name == "subprocess" ||
      e.name == "sys" || e.name == "shlex" || e.name == "json" || e.name == "asyncio" || e.name == "get_ipython")
    return native(e.name);
  if (e.name == "sgl" || e.name == "sglang") return native("sglang");
  if (e.name == "Engine" && source_.text.find("sglang") != std::string_view::npos) return native("sglang.Engine");
  return given_or(unclear(e), e.name);
}

// A name that nothing in a whole program sets ends it with NameError.
void Follower::may_be_unbound(const Expr& name) {
  constexpr auto kOthers = std::to_array<std::string_view>({"Ellipsis",
                                                            "__build_class__",
                                                            "__builtins__",
                                                            "__class__",
                                                            "__debug__",
                                                            "__doc__",
                                                            "__loader__",
                                                            "__package__",
                                                            "__spec__",
                                                            "__cached__",
                                                            "__annotations__",
                                                            "__module__",
                                                            "__qualname__",
                                                            "aiter",
                                                            "anext",
                                                            "breakpoint",
                                                            "bytearray",
                                                            "compile",
                                                            "complex",
                                                            "copyright",
                                                            "credits",
                                                            "delattr",
                                                            "help",
                                                            "license",
                                                            "memoryview",
                                                            "oct",
                                                            "BaseExceptionGroup",
                                                            "ExceptionGroup"});
  const bool given = source_.given.contains(name.name);
  if (!whole_ || given || quiet_ > 0 || std::ranges::find(kOthers, name.name) != kOthers.end()) return;
  for (const Object* scope = locals_; scope != nullptr; scope = scope->scope) {
    if (!scope->now.open.empty()) return;
  }
  if (tries_ > 0) ++doubts_;
  may_raise("NameError", name.begin);
}

Val Follower::number(const Expr& e) const {
  std::string digits = e.name;
  std::erase(digits, '_');
  const bool hex = digits.size() > 2 && digits[0] == '0' && std::isalpha(static_cast<unsigned char>(digits[1])) != 0;
  std::int64_t i = 0;
  const char second = hex ? static_cast<char>(std::tolower(static_cast<unsigned char>(digits[1]))) : '\0';
  const int base = second == 'x' ? 16 : second == 'o' ? 8 : second == 'b' ? 2 : 10;
  const char* from = digits.data() + (base == 10 ? 0 : 2);
  const char* to = digits.data() + digits.size();
  if (const auto [end, error] = std::from_chars(from, to, i, base); error == std::errc{} && end == to) return whole(i);
  if (const auto d = base == 10 ? python::to_float(digits) : std::nullopt) {
    if (digits.find_first_of(".eE") != std::string::npos) return real(*d);
  }
  return unclear(e);
}

// --- texts ---

Val Follower::text(std::string s, std::size_t at) const {
  ShellText out;
  out.origin.assign(s.size(), at);
  out.text = std::move(s);
  return text(std::move(out));
}
Val Follower::text(ShellText t) const {
  spend_bytes(sizeof(ShellText) + kTextBytes * t.text.size() + t.unknowns.size() * sizeof(Unknown));
  Val out;
  out.kind = Val::Kind::kText;
  out.text = std::make_shared<const ShellText>(std::move(t));
  return out;
}

void Follower::add_parts(const std::vector<TextPart>& parts, ShellText& out, std::size_t at) {
  for (const TextPart& part : parts) {
    add(out, part.text);
    if (part.field == nullptr) continue;
    Val v = value(*part.field);
    const std::size_t place = part.field->begin;
    if (part.conversion == 'r' || part.conversion == 'a') {
      const auto written = repr(v);
      v = written ? text(*written, place) : unclear(*part.field);
    } else if (part.conversion == 's') {
      v = str(v, place);
    }
    ShellText format;
    add_parts(part.format, format, at);
    const auto own = part.conversion == '\0' && format.text.empty() ? own_format(v, {}, place) : std::nullopt;
    if (own)
      v = *own;
    else if (!format.text.empty() && !v.is(Val::Kind::kUnknown))
      v = format.unknowns.empty() ? formatted(v, format.text, place) : unclear(*part.field);
    add(out, text_or_hole(v, place));
  }
}

Val Follower::text_value(const Expr& e) {
  ShellText out;
  add_parts(e.parts, out, e.begin);
  return text(std::move(out));
}

// --- displays ---

void Follower::add_item(const Expr& e, std::vector<Val>& out) {
  if (e.kind != Expr::Kind::kStar) {
    out.push_back(value(e));
    return;
  }
  const Val all = value(*e.kids[0]);
  if (names_server(all)) used_.insert(all.object);
  if (auto items = items_of(all, e.begin)) {
    spend(items->size());
    out.insert(out.end(), items->begin(), items->end());
  } else {
    Val many = unclear(*e.kids[0]);
    auto mystery = std::make_shared<Mystery>(*many.mystery);
    mystery->many = true;
    many.mystery = mystery;
    many.begin = e.begin;
    many.end = e.end;
    out.push_back(many);
  }
}

Val Follower::display(const Expr& e) {
  std::vector<Val> items;
  for (const Expr* kid : e.kids) add_item(*kid, items);
  const auto kind = e.kind == Expr::Kind::kList    ? Val::Kind::kList
                    : e.kind == Expr::Kind::kTuple ? Val::Kind::kTuple
                                                   : Val::Kind::kSet;
  if (kind == Val::Kind::kSet) items = distinct(std::move(items));
  return list_of(std::move(items), kind);
}

// Whole numbers and texts, of which there may be many, are known by what they are; others are compared with each.
std::vector<Val> Follower::distinct(std::vector<Val> items) {
  for (const Val& item : items) {
    if (item.is(Val::Kind::kList) || item.is(Val::Kind::kDict)) refuse("TypeError", item.begin);
  }
  std::vector<Val> out;
  std::vector<Val> others;
  std::set<std::int64_t> numbers;
  std::set<std::string> texts;
  for (Val& item : items) {
    const bool plain = item.whole() || item.known_text();
    const std::vector<Val>& among = plain ? others : out;
    spend(among.size() + 1);
    const auto equals = [&](const Val& v) { return equal(v, item) == std::optional(true); };
    if (std::any_of(among.begin(), among.end(), equals)) continue;
    const auto may_equal = [&](const Val& v) { return v.is(Val::Kind::kInstance) && !equal(v, item); };
    if (item.is(Val::Kind::kInstance) && std::ranges::any_of(among, may_equal)) {
      out.push_back(unknown("what a set holds is not known here", item.begin, true));
      continue;
    }
    if (item.whole() && !numbers.insert(item.integer).second) continue;
    if (item.known_text() && !texts.insert(item.text->text).second) continue;
    if (!plain) others.push_back(item);
    out.push_back(std::move(item));
  }
  return out;
}

Val Follower::list_of(std::vector<Val> items, Val::Kind kind) {
  spend_bytes(items.capacity() * sizeof(Val));
  Val out;
  out.kind = kind;
  out.object = make();
  out.object->now.items = std::move(items);
  if (quiet_ == 0 && names_server(out)) named_lists_.emplace_back(out.object, conditions_.size());
  return out;
}

Val Follower::iterator_of(std::vector<Val> items) {
  Val out = list_of(std::move(items));
  out.object->name = kIterator;
  return out;
}

Val Follower::iterator_of(NextItems next) {
  Val out = iterator_of(std::vector<Val>());
  out.object->now.next = std::make_shared<const NextItems>(std::move(next));
  return out;
}

Val Follower::dictionary(const Expr& e) {
  Val out;
  out.kind = Val::Kind::kDict;
  out.object = make();
  for (std::size_t i = 0; i + 1 < e.kids.size(); i += 2) {
    if (e.kids[i] == nullptr) {
      update(out.object, value(*e.kids[i + 1]), e.kids[i + 1]->begin);
      continue;
    }
    const Val key = value(*e.kids[i]);
    set_entry(out.object, key, value(*e.kids[i + 1]), e.kids[i]->begin);
  }
  return out;
}

// --- attributes ---

Val Follower::native(const std::string& name) {
  Val out;
  out.kind = Val::Kind::kNative;
  out.object = make();
  out.object->name = name;
  return out;
}

Val Follower::method(const std::string& name, const Val& self) {
  Val out = native(name);
  out.object->bound = {self};
  return out;
}

Val Follower::instance(const std::string& name) {
  Val out = native(name);
  out.kind = Val::Kind::kInstance;
  return out;
}

// A class of which nothing here is known, and that sets nothing of its own.
bool Follower::is_plain_base(const Object* type) {
  static const std::set<std::string, std::less<>> kPlain = {"object",
                                                            "abc.ABC",
                                                            "typing.NamedTuple",
                                                            "Exception",
                                                            "typing.Protocol",
                                                            "enum.IntEnum",
                                                            "enum.Enum",
                                                            "enum.StrEnum",
                                                            "pydantic.BaseModel",
                                                            "threading.Thread",
                                                            "typing.Generic",
                                                            "unittest.TestCase",
                                                            "typing.TypedDict",
                                                            "multiprocessing.Process"};
  return type->statement == nullptr && (kPlain.contains(type->name) || type->name.ends_with("Error"));
}

// class NAME(threading.Thread): its start() runs its run().
static bool is_worker(const Object* type) {
  return std::ranges::any_of(type->bases, [](const Object* base) {
    return base->name == "threading.Thread" || base->name == "multiprocessing.Process" ||
           base->name == "multiprocessing.context.Process";
  });
}

// start() of an object of such a class: of a process it runs apart.
Val Follower::started_by(const Val& run, const Object& type) {
  const auto is_process = [](const Object* base) { return base->name.ends_with("Process"); };
  if (std::ranges::none_of(type.bases, is_process)) return run;
  Arguments a;
  a.keys = {{"target", run}};
  return method("worker.start", worker("multiprocessing.Process", a));
}

// A class of which all is known: what it has not is not there.
bool Follower::is_closed(const Object* type) const {
  return type->statement != nullptr && type->altered.empty() && type->now.open.empty() &&
         std::ranges::all_of(type->bases, [&](const Object* base) {
           return base->statement == nullptr ? base->name == "object" : is_closed(base);
         });
}

// The first of `lines` that begins with a class which stands in no other line behind its first; null: there is none.
static Object* next_in_line(const std::vector<std::vector<Object*>>& lines) {
  const auto waits = [&](const Object* type) {
    return std::ranges::any_of(lines, [&](const std::vector<Object*>& line) {
      return !line.empty() && std::find(line.begin() + 1, line.end(), type) != line.end();
    });
  };
  for (const std::vector<Object*>& line : lines) {
    if (!line.empty() && !waits(line.front())) return line.front();
  }
  return nullptr;
}

// The classes among which Python seeks what an object of this one has not in itself, in its order. Where Python makes
// no such class, its bases one after the other.
std::vector<Object*> Follower::behind(const Object* type, int depth) const {
  constexpr int kDeep = 20;
  spend(1);
  if (depth > kDeep || type->keys.contains(kInLine)) return type->bases;
  std::vector<std::vector<Object*>> lines;
  for (Object* base : type->bases) {
    lines.push_back(behind(base, depth + 1));
    lines.back().insert(lines.back().begin(), base);
  }
  lines.push_back(type->bases);
  std::vector<Object*> out;
  while (std::ranges::any_of(lines, [](const auto& line) { return !line.empty(); })) {
    Object* next = next_in_line(lines);
    if (next == nullptr) next = std::ranges::find_if(lines, [](const auto& line) { return !line.empty(); })->front();
    spend(lines.size());
    out.push_back(next);
    for (std::vector<Object*>& line : lines) std::erase(line, next);
  }
  return out;
}

// nullptr where no class that is known has it; `unclear` where one that is not may.
const Val* Follower::class_member(const Object* type, const std::string& name, bool& unclear, int depth) const {
  constexpr int kDeep = 20;
  if (depth > kDeep) return nullptr;
  spend(1);
  const auto own_of = [&](const Object* one) -> const Val* {
    const auto it = one->now.names.find(name);
    if (it != one->now.names.end()) return &it->second;
    if (!one->now.open.empty() || (one != type && one->statement == nullptr && !is_plain_base(one))) unclear = true;
    return nullptr;
  };
  if (const Val* found = own_of(type)) return found;
  if (type->bases.size() > 1) {
    for (const Object* one : behind(type)) {
      if (const Val* found = own_of(one)) return found;
    }
    return nullptr;
  }
  if (type->bases.empty()) return nullptr;
  const Object* base = type->bases.front();
  if (base->statement != nullptr) return class_member(base, name, unclear, depth + 1);
  if (!is_plain_base(base)) unclear = true;
  return nullptr;
}

// Where super() seeks: behind the class of the function at hand, in the line of what the function is called for.
Object* Follower::above(Object* type, const Val& self) {
  const Object* of = self.is(Val::Kind::kClass)      ? self.object
                     : self.is(Val::Kind::kInstance) ? self.object->of
                                                     : nullptr;
  std::vector<Object*> rest = behind(of == nullptr ? type : of);
  if (of != nullptr && of != type) {
    const auto own = std::ranges::find(rest, type);
    rest.erase(rest.begin(), own == rest.end() ? own : own + 1);
  }
  if (rest.empty()) return type->bases.front();
  if (std::ranges::equal(behind(rest.front()), std::span(rest).subspan(1))) return rest.front();
  Object* out = make();
  out->name = type->name;
  out->statement = type->statement;
  out->bases = rest;
  out->keys[kInLine] = boolean(true);
  return out;
}

Val Follower::bound_member(const Val& member, const Val& self, Object* type, const Expr& e) {
  bool open = false;
  const bool describes = member.is(Val::Kind::kInstance) && member.object->of != nullptr &&
                         class_member(member.object->of, "__get__", open) != nullptr;
  if (describes) return unclear(e);
  if (!member.is(Val::Kind::kFunction)) return member;
  if (member.object->way == "staticmethod") return member;
  Val out = member;
  out.object = make();
  *out.object = *member.object;
  out.object->bases = {member.object};  // the function itself
  Val first = self;
  if (member.object->way == "classmethod") {
    first = Val{};
    first.kind = Val::Kind::kClass;
    first.object = type;
  }
  out.object->bound.insert(out.object->bound.begin(), first);
  if (member.object->way != "property") return out;
  Arguments a;
  a.at = e.begin;
  a.end = e.end;
  return call(out, a);
}

Val Follower::instance_attribute(const Val& base, const std::string& name, const Expr& e) {
  Object* object = base.object;
  bool asked = false;
  if (object->of != nullptr && class_member(object->of, "__getattribute__", asked) != nullptr)
    return lost_attribute(fmt::format("__getattribute__ of {} is not followed", object->of->name), name, e);
  const auto it = object->now.names.find(name);
  if (it != object->now.names.end() && object->name == "argparse.Namespace") {
    const bool is_option = std::ranges::any_of(object->now.pairs, [&](const auto& pair) {
      return pair.first.known_text() && pair.first.text->text == name && same(pair.second, it->second);
    });
    if (is_option && object->way.empty() && !source_.given.contains(name))
      return take_default(name, it->second, e.begin);
  }
  if (it != object->now.names.end()) return it->second.is(Val::Kind::kGone) ? unclear(e) : it->second;
  if (name == "__dict__") return names_of(base);
  if (object->of == nullptr) {
    const bool named = object->name == "argparse.Namespace" || object->name == "types.SimpleNamespace";
    if (named && !object->now.open.empty()) return lost_attribute(object->now.open, name, e);
    const bool others = object->keys.contains(kServersWords) || source_.given.contains(name);
    if (named && !others && !name.starts_with('_')) refuse("AttributeError", e.begin);
    if (auto given = field_of_server_args(base, name)) return *given;
    if (object->name == "pathlib.Path") {
      Arguments none_given;
      none_given.at = e.begin;
      if (auto out = path_method("." + name, base, none_given)) return *out;
    }
    return method(object->name + "." + name, base);
  }
  if (name == "__class__") return {.kind = Val::Kind::kClass, .object = object->of};
  bool open = false;
  if (const Val* member = class_member(object->of, name, open)) {
    const bool field = member->is(Val::Kind::kInstance) && member->object->name == "dataclasses.field";
    const bool set = field && (member->object->keys.contains("default") || object->of->way != "dataclass");
    if (field && !set && object->now.open.empty() && !open) refuse("AttributeError", e.begin);
    const bool may_differ = !member->is(Val::Kind::kFunction) && (open || !object->now.open.empty());
    const bool above = object->name == "super" && !object->bound.empty();  // of the object that asks
    const Val& self = above ? object->bound[0] : base;
    // super() asks with the method's first argument, which need be no object of the class.
    if (self.object == nullptr) return lost_attribute(fmt::format("what {} is asked of is not known", name), name, e);
    const bool once = member->is(Val::Kind::kFunction) && member->object->keys.contains(kAskedOnce) && !above;
    Val out;
    if (!may_differ) out = bound_member(*member, self, self.is(Val::Kind::kClass) ? self.object : self.object->of, e);
    if (once && !may_differ) set_name(object, name, out);
    if (!may_differ) return out;
    const std::string why = fmt::format("{} may be set by what is not known here", name);
    return lost_attribute(object->now.open.empty() ? why : object->now.open, name, e);
  }
  if (!name.starts_with("__") && object->name != "super") {
    if (auto made = own_method(base, "__getattr__", {text(name, e.begin)}, e.begin)) return *made;
  }
  if ((name == "_replace" || name == "_asdict") && is_named_tuple(base)) return method("namedtuple." + name, base);
  if (name == "start" && is_worker(object->of)) {
    if (const Val* run = class_member(object->of, "run", open))
      return started_by(bound_member(*run, base, object->of, e), *object->of);
  }
  ++doubts_;
  Val out = unclear(e);
  const bool plain = object->name == "super"
                         ? is_plain_base(object->of) || (object->of->keys.contains(kInLine) && !open)
                         : !open && object->of->statement != nullptr;
  const bool whole = plain && object->name != "super" && object->of->bases.empty() && object->of->altered.empty() &&
                     object->now.open.empty() && object->of->now.open.empty();
  const auto has = [&](const char* own) { return class_member(object->of, own, open) != nullptr; };
  if (whole && !name.starts_with("__") && !has("__getattr__") && !has("__getattribute__"))
    may_raise("AttributeError", e.begin);
  const bool asks = name.starts_with("assert") || name == "skipTest" || name == "fail" || name == "subTest";
  if (!plain && !asks)
    out.object = object->name == "super" && !object->bound.empty() ? object->bound[0].object : object;
  return out;
}

Val Follower::lost_attribute(const std::string& why, const std::string& name, const Expr& e) {
  ++doubts_;
  Val out = unknown(why, e.begin);
  out.mystery = std::make_shared<const Mystery>(Mystery{why, e.begin, name});
  return given_or(std::move(out), name);
}

// Actors and deployments: f.remote(…) and D.bind(…) are calls that Ray's workers make, and options(…) gives the same
// function or class; so it is with an actor's methods.
std::optional<Val> Follower::handed_to_ray(const Val& base, std::string_view name) {
  const auto is_rays = [](const Object* object) {
    return object != nullptr &&
           (object->altered.starts_with("ray.remote") || object->altered.starts_with("serve.deployment"));
  };
  if (!is_rays(base.object) && !(base.is(Val::Kind::kFunction) && is_rays(base.object->of))) return std::nullopt;
  if (name == "remote" || name == "bind") return base;
  return name == "options" ? std::optional(method("ray.options", base)) : std::nullopt;
}

// A member of an Enum: its name is the first that the class gives its value.
Val Follower::member_of(Object* type, const Val& held, const std::string& name, std::size_t at) {
  Val out = {.kind = Val::Kind::kInstance, .object = make()};
  out.object->of = type;
  out.object->now.names = {{"value", held}, {"name", text(name, at)}};
  if (type->statement == nullptr) return out;
  for (const Stmt* one : type->statement->body) {
    const bool plain = one->kind == Stmt::Kind::kAssign && one->targets[0]->kind == Expr::Kind::kName;
    const auto other = plain ? type->now.names.find(one->targets[0]->name) : type->now.names.end();
    if (other == type->now.names.end()) continue;
    if (other->first == name) break;
    const auto same_value = equal(other->second, held);
    if (same_value == std::optional(false)) continue;
    out.object->now.names["name"] = same_value ? text(other->first, at) : unclear(at, at);
    break;
  }
  return out;
}

Val Follower::attribute(const Val& base, const std::string& name, const Expr& e) {
  if (lacks_attribute(base, name)) refuse("AttributeError", e.begin);
  switch (base.kind) {
    case Val::Kind::kInstance:
      return instance_attribute(base, name, e);
    case Val::Kind::kClass: {
      if (name == "__name__") return text(base.object->name, e.begin);
      bool open = false;
      const Val* member = class_member(base.object, name, open);
      if (auto rays = member == nullptr ? handed_to_ray(base, name) : std::nullopt) return *rays;
      const bool closed =
          is_closed(base.object) || (!open && !name.starts_with('_') && members_of(base.object, e.begin));
      const bool by_name =
          e.kids.size() == 1 && e.kids[0]->kind == Expr::Kind::kName && e.kids[0]->name == base.object->name;
      if (member == nullptr && closed && by_name && !name.starts_with("__") && name != "mro")
        refuse("AttributeError", e.begin);
      if (member == nullptr) return name == "__dict__" ? names_of(base) : unclear(e);
      if (open && !member->is(Val::Kind::kFunction))
        return lost_attribute(fmt::format("{} may be set by what is not known here", name), name, e);
      if (is_enum(base.object) && !member->is(Val::Kind::kFunction))
        return member_of(base.object, *member, name, e.begin);
      if (member->is(Val::Kind::kFunction) && member->object->way == "classmethod")
        return bound_member(*member, base, base.object, e);
      return *member;
    }
    case Val::Kind::kNative: {
      if (!base.object->bound.empty()) return unclear(e);
      const std::string full = base.object->name + "." + name;
      const auto changed = globals_->now.names.find("." + full);
      if (changed != globals_->now.names.end()) return changed->second;
      Val out = imported(full, e.begin);
      const std::string& as = base.object->imported_as;
      if (out.is(Val::Kind::kNative) && !as.empty()) out.object->imported_as = as + "." + name;
      return out;
    }
    case Val::Kind::kText:
      return method("str." + name, base);
    case Val::Kind::kList:
    case Val::Kind::kTuple: {
      const auto it = base.object->now.names.find(name);  // of a named tuple
      if (it != base.object->now.names.end()) return it->second;
      return method("list." + name, base);
    }
    case Val::Kind::kDict:
      return method("dict." + name, base);
    case Val::Kind::kSet:
      return method("set." + name, base);
    case Val::Kind::kFunction: {
      const auto it = base.object->now.names.find(name);
      if (it != base.object->now.names.end()) return it->second;
      if (name == "__name__") return text(base.object->name, e.begin);
      if (auto rays = handed_to_ray(base, name)) return *rays;
      return method("function." + name, base);
    }
    case Val::Kind::kNone:
      if (!name.starts_with("__")) refuse("AttributeError", e.begin);
      return unclear(e);
    default:
      ++doubts_;
      if (!name.starts_with("__")) may_be_none(base, "AttributeError", e.begin);
      return unclear(e);
  }
}

// --- subscripts ---

// What has no items of its own, and keys of another type than it takes.
void Follower::refuse_index(const Val& base, const Val& index, std::size_t at) {
  using Kind = Val::Kind;
  const bool counts = base.is(Kind::kList) || base.is(Kind::kTuple) || base.is(Kind::kText);
  const bool none_at_all = has_no_items(base) || base.is(Kind::kSet) || is_iterator(base) || is_view(base);
  const bool no_key = base.is(Kind::kDict) && (index.is(Kind::kList) || index.is(Kind::kDict));
  if (none_at_all || no_key || (counts && is_plain(index) && !index.whole())) refuse("TypeError", at);
}

Val Follower::item_at(const Val& base, const Val& index, const Expr& e) {
  refuse_index(base, index, e.begin);
  if (base.is(Val::Kind::kDict)) return dict_item(base, index, e.begin);
  if (auto own = own_method(base, "__getitem__", {index}, e.begin)) return *std::move(own);
  if (is_named_tuple(base)) {
    const auto items = items_of(base, e.begin);
    return items ? item_at(list_aside(*items, Val::Kind::kTuple), index, e) : unclear(e);
  }
  if (base.is(Val::Kind::kText)) {
    spend_bytes(base.text->text.size());
    const auto size = base.known_text() ? static_cast<std::int64_t>(base.text->text.size()) : -1;
    const std::int64_t i = index.integer < 0 ? index.integer + size : index.integer;
    const bool plain = base.known_text() && std::all_of(base.text->text.begin(), base.text->text.end(),
                                                        [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    if (!plain || !index.whole()) return unclear(e);
    if (i < 0 || i >= size) refuse("IndexError", e.begin);
    return text(sources::slice(*base.text, static_cast<std::size_t>(i), static_cast<std::size_t>(i) + 1));
  }
  if (!base.is(Val::Kind::kList) && !base.is(Val::Kind::kTuple)) {
    ++doubts_;
    return unclear(e);
  }
  const auto& items = base.object->now.items;
  spend_items(items);
  if (!index.whole()) {
    ++doubts_;
    return unclear(e);
  }
  const auto size = static_cast<std::int64_t>(items.size());
  const std::int64_t i = index.integer < 0 ? index.integer + size : index.integer;
  const bool many = std::any_of(items.begin(), items.end(), is_many);
  if (many) {
    const auto first = std::find_if(items.begin(), items.end(), is_many) - items.begin();
    const auto last = items.rend() - std::find_if(items.rbegin(), items.rend(), is_many) - 1;
    const bool fits = i >= 0 && i < size && (index.integer < 0 ? i > last : i < first);
    if (fits) return items[static_cast<std::size_t>(i)];
    const auto own = globals_->now.names.find(".sys.argv");
    if (own != globals_->now.names.end() && own->second.object == base.object) may_raise("IndexError", e.begin);
    ++doubts_;
    return unclear(e);
  }
  if (i < 0 || i >= size) refuse("IndexError", e.begin);
  return items[static_cast<std::size_t>(i)];
}

Val Follower::subscript(const Expr& e) {
  const Val base = value(*e.kids[0]);
  if (e.kids[1]->kind == Expr::Kind::kSlice) return slice(base, *e.kids[1]);
  const Val index = value(*e.kids[1]);
  const bool entry = index.whole() || index.is(Val::Kind::kText) || index.is(Val::Kind::kUnknown);
  if (base.is(Val::Kind::kNative) && base.object->bound.empty() && !entry) return base;  // list[str]
  if (base.is(Val::Kind::kClass)) {
    if (index.known_text()) {
      bool open = false;
      const Val* member = class_member(base.object, index.text->text, open);
      if (member != nullptr) return attribute(base, index.text->text, e);
      if (members_of(base.object, e.begin)) refuse("KeyError", e.begin);
    }
    return unclear(e);
  }
  return item_at(base, index, e);
}

Val Follower::slice(const Val& base, const Expr& e) {
  std::array<std::optional<std::int64_t>, 3> bounds;
  for (std::size_t i = 0; i < 3; ++i) {
    if (e.kids[i] == nullptr) continue;
    const Val v = value(*e.kids[i]);
    if (!v.whole() && !v.is(Val::Kind::kNone)) {
      if (is_plain(v) && is_plain(base) && !base.is(Val::Kind::kDict)) refuse("TypeError", e.begin);
      return unclear(e);
    }
    if (v.whole()) bounds[i] = v.integer;
  }
  const bool list = base.is(Val::Kind::kList) || base.is(Val::Kind::kTuple);
  if (has_no_items(base) || base.is(Val::Kind::kSet)) refuse("TypeError", e.begin);
  if (base.is(Val::Kind::kText)) spend_bytes(base.text->text.size());
  const bool plain = base.known_text() && std::all_of(base.text->text.begin(), base.text->text.end(),
                                                      [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!list && !plain) return unclear(e);
  const auto size = static_cast<std::int64_t>(list ? base.object->now.items.size() : base.text->text.size());
  const std::int64_t step = bounds[2].value_or(1);
  if (step == 0) refuse("ValueError", e.begin);
  const auto place = [&](std::int64_t i, std::int64_t least, std::int64_t most) {
    return std::clamp(i < 0 ? i + size : i, least, most);
  };
  const std::int64_t from =
      bounds[0] ? place(*bounds[0], step < 0 ? -1 : 0, step < 0 ? size - 1 : size) : (step < 0 ? size - 1 : 0);
  const std::int64_t to =
      bounds[1] ? place(*bounds[1], step < 0 ? -1 : 0, step < 0 ? size - 1 : size) : (step < 0 ? -1 : size);
  if (!list && step != 1) {
    ShellText out;
    for (std::int64_t i = from; step > 0 ? i < to : i > to; i += step)
      add(out, sources::slice(*base.text, static_cast<std::size_t>(i), static_cast<std::size_t>(i) + 1));
    return text(std::move(out));
  }
  if (!list) {
    if (from >= to) return text("", e.begin);
    return text(sources::slice(*base.text, static_cast<std::size_t>(from), static_cast<std::size_t>(to)));
  }
  const auto& items = base.object->now.items;
  spend_items(items);
  const auto first = static_cast<std::int64_t>(std::find_if(items.begin(), items.end(), is_many) - items.begin());
  if (first < size) {
    const bool kept =
        step == 1 && bounds[0].value_or(0) >= 0 && from <= first && (!bounds[1] || (to <= first && *bounds[1] >= 0));
    if (!kept)
      return list_of(
          {unknown(fmt::format("{} is computed where the program runs", shown(e.begin, e.end)), e.begin, true)});
  }
  std::vector<Val> out;
  for (std::int64_t i = from; step > 0 ? i < to : i > to; i += step) out.push_back(items[static_cast<std::size_t>(i)]);
  const bool named = names_server(base);
  Val result = list_of(std::move(out), base.kind);
  if (base.object->name == kRange) result.object->name = kRange;
  if (named) used_.insert(base.object);
  return result;
}

const Val& Follower::take_default(const std::string& name, const Val& value, std::size_t at) {
  if (value.is(Val::Kind::kUnknown)) return value;
  TakenDefault one{.offset = at};
  const Val told = value.is(Val::Kind::kNone) ? Val{} : str(value, at);
  if (told.known_text()) one.value = told.text->text;
  const std::map<std::string, TakenDefault> own = {{name, std::move(one)}};
  add_defaults(defaults_, std::make_shared<const std::map<std::string, TakenDefault>>(own));
  return value;
}

Val Follower::environment_variable(const Val& dict, const std::string& name, const Val* fallback, std::size_t at) {
  spend(dict.object->now.pairs.size() / 4 + 1);
  for (const auto& [key, v] : dict.object->now.pairs) {
    if (!key.known_text() || key.text->text != name) continue;
    if (!v.is(Val::Kind::kGone)) return v;
    if (fallback != nullptr) return *fallback;
    refuse("KeyError", at);
  }
  if (const auto given = source_.given.find(name); given != source_.given.end()) return text(given->second, at);
  const std::string open = dict.object->now.open == kNoOrder ? std::string() : dict.object->now.open;
  if (source_.environment != nullptr && open.empty()) {
    const auto it = source_.environment->find(name);
    if (it != source_.environment->end()) return text(it->second);
  }
  if (!open.empty()) {
    Val out = unknown(open, at);
    out.mystery = std::make_shared<const Mystery>(Mystery{open, at, name});
    return out;
  }
  const bool empty = fallback != nullptr && fallback->known_text() && fallback->text->text.empty();
  if (fallback != nullptr && !fallback->is(Val::Kind::kNone) && !(empty && asks_for_empty_))
    return take_default(name, *fallback, at);
  if (fallback == nullptr && !set_where_it_runs(name)) may_raise("KeyError", at);
  Val out = unknown(name + " is a variable of where the program runs", at);
  auto mystery = std::make_shared<Mystery>(*out.mystery);
  mystery->name = name;
  mystery->maybe_none = fallback != nullptr;
  out.mystery = mystery;
  return out;
}

// A variable that nothing sets, where a test asks for it: it is None, which is told.
bool Follower::is_unset(const Val& v) {
  if (!nothing_given_ || !v.is(Val::Kind::kUnknown) || !v.mystery->maybe_none) return false;
  if (set_where_it_runs(v.mystery->name)) return false;
  (void)take_default(v.mystery->name, none(), v.mystery->at);
  return true;
}

// A variable that nothing sets, where None ends the program.
void Follower::may_be_none(const Val& v, const char* raises, std::size_t at) {
  const bool maybe = nothing_given_ && v.is(Val::Kind::kUnknown) && v.mystery->maybe_none;
  if (maybe && !set_where_it_runs(v.mystery->name)) may_raise(raises, at);
}

Val Follower::dict_item(const Val& base, const Val& key, std::size_t at) {
  if (!key.known_text() && !key.whole() && !key.is(Val::Kind::kTuple)) {
    ++doubts_;
    return unknown("the entry that is asked for is not known here", at);
  }
  if (base.object->now.inherits && key.known_text()) return environment_variable(base, key.text->text, nullptr, at);
  if (const Val* found = entry(base.object, key)) {
    if (found->is(Val::Kind::kUnknown)) return given_or(*found, key.known_text() ? key.text->text : "");
    if (!found->is(Val::Kind::kGone)) return *found;
  }
  if (base.object->name == "defaultdict" && !base.object->bound.empty()) {
    Arguments a;
    a.at = at;
    Val made = call(base.object->bound[0], a);
    set_entry(base.object, key, made, at);
    return made;
  }
  if (base.object->now.open.empty() && base.object->bases.empty()) refuse("KeyError", at);
  ++doubts_;
  return given_or(unknown(base.object->now.open, at), key.known_text() ? key.text->text : "");
}

// --- calls ---

Arguments Follower::arguments_of(const Expr& e) {
  Arguments out;
  out.at = e.begin;
  out.end = e.end;
  out.call = &e;
  for (const Argument& one : e.arguments) {
    const Val v = value(*one.value);
    if (one.stars == 0 && one.name.empty()) {
      out.values.push_back(v);
    } else if (one.stars == 0) {
      out.keys.emplace_back(one.name, v);
    } else if (one.stars == 1) {
      if (names_server(v)) used_.insert(v.object);
      if (auto items = items_of(v, one.value->begin)) {
        out.values.insert(out.values.end(), items->begin(), items->end());
      } else {
        Val many =
            unknown(fmt::format("{} is computed where the program runs", shown(one.value->begin, one.value->end)),
                    one.value->begin, true);
        many.begin = one.value->begin;
        many.end = one.value->end;
        out.values.push_back(many);
      }
    } else if (v.is(Val::Kind::kDict) && v.object->of != nullptr &&
               made_args({.kind = Val::Kind::kInstance, .object = v.object->of}) != nullptr) {
      out.more.push_back(unclear(*one.value));  // SGLang sets the others itself
      out.more.back().begin = one.value->begin;
      out.more.back().end = one.value->end;
    } else if (v.is(Val::Kind::kDict) && v.object->now.open.empty() && !v.object->now.inherits) {
      spend(2 * v.object->now.pairs.size());
      for (const auto& [key, entry] : v.object->now.pairs) {
        if (is_plain(key) && !key.is(Val::Kind::kText)) refuse("TypeError", one.value->begin);
        if (key.known_text() && out.key(key.text->text) != nullptr) refuse("TypeError", one.value->begin);
        if (key.known_text() && !entry.is(Val::Kind::kGone)) out.keys.emplace_back(key.text->text, entry);
      }
    } else {
      out.more.push_back(v);
    }
  }
  return out;
}

Val Follower::call(const Expr& e) {
  const Val callee = value(*e.kids[0]);
  const bool super = callee.is(Val::Kind::kNative) && callee.object->name == "super" && callee.object->bound.empty();
  if (super && function_ != nullptr && function_->of != nullptr && !function_->of->bases.empty()) {
    Val out = {.kind = Val::Kind::kInstance, .object = make()};
    out.object->name = "super";
    const Stmt* statement = function_->statement;
    if (statement != nullptr && !statement->parameters.empty()) {
      const auto self = locals_->now.names.find(statement->parameters[0].name);
      if (self != locals_->now.names.end()) out.object->bound = {self->second};
    }
    out.object->of = above(function_->of, out.object->bound.empty() ? Val{} : out.object->bound[0]);
    return out;
  }
  // super().NAME(…): the base's method, of this object.
  if (e.kids[0]->kind == Expr::Kind::kAttribute && callee.is(Val::Kind::kFunction) && !callee.object->bound.empty()) {
    const Val& self = callee.object->bound[0];
    if (self.is(Val::Kind::kInstance) && self.object->name == "super" && !self.object->bound.empty()) {
      const Val own = self.object->bound[0];
      callee.object->bound[0] = own;
    }
  }
  Arguments a = arguments_of(e);
  return call(callee, a);
}

// --- choices ---

Val Follower::either(const std::function<Val()>& a, const std::function<Val()>& b, std::size_t at) {
  const StatePtr other = take();
  const auto side = [&](const std::function<Val()>& one) -> std::optional<Val> {
    const std::size_t outer = conditions_.size();
    conditions_.push_back(in_branch(line(at)));
    std::optional<Val> out;
    try {
      out = one();
    } catch (const Thrown& thrown) {
      Flow ended = leave(Way::kRaise, thrown.value, thrown.at);
      std::move(ended.left.begin(), ended.left.end(), std::back_inserter(pending_));
    }
    conditions_.resize(outer);
    return out;
  };
  std::optional<Val> first = side(a);
  turn_to(other);
  std::optional<Val> second = side(b);
  if (!first || !second) {
    if (first) turn_to(other);
    drop(other);
    if (!first && !second) refuse("SystemExit", at);
    return first ? *first : *second;
  }
  const std::string why = fmt::format("depends on a branch at line {}", line(at));
  merge(other, why, at);
  if (first->is(Val::Kind::kUnknown) && !second->is(Val::Kind::kUnknown)) std::swap(first, second);
  return merged_here(*first, *second, why, at);
}

Val Follower::choice(const Expr& e) {
  const auto test = truth(value(*e.kids[0]));
  if (test) return value(*e.kids[*test ? 1 : 2]);
  return either([&] { return value(*e.kids[1]); }, [&] { return value(*e.kids[2]); }, e.begin);
}

Val Follower::boolean_value(const Expr& e, std::size_t from) {
  const Val first = value(*e.kids[from]);
  if (from + 1 == e.kids.size()) return first;
  const auto test = truth(first);
  if (test) return *test == (e.name == "or") ? first : boolean_value(e, from + 1);
  return either([&] { return first; }, [&] { return boolean_value(e, from + 1); }, e.begin);
}

// --- functions and comprehensions ---

Val Follower::lambda(const Expr& e) {
  Val out;
  out.kind = Val::Kind::kFunction;
  out.object = make();
  out.object->name = "lambda";
  out.object->lambda = &e;
  out.object->scope = locals_;
  for (const Parameter& parameter : e.parameters) {
    if (parameter.fallback != nullptr) out.object->keys["=" + parameter.name] = value(*parameter.fallback);
  }
  return out;
}

// What stands behind this clause may have any number of items.
void Follower::lose_clause(const Expr& e, std::size_t from) {
  conditions_.push_back(in_loop(line(e.begin)));
  bind(*e.clauses[from].target, unclear(*e.clauses[from].target));
  Object* aside = make();
  clause(e, from + 1, aside);
  conditions_.pop_back();
}

// False where a test is not known.
bool Follower::clause_item(const Expr& e, std::size_t from, const Val& item, Object* out) {
  const Clause& one = e.clauses[from];
  bind(*one.target, item);
  for (const Expr* test : one.tests) {
    const auto holds = truth(value(*test));
    if (holds == std::optional(false)) return true;
    if (!holds) return false;
  }
  clause(e, from + 1, out);
  return true;
}

// `first`: what the first clause goes through, which is asked for outside.
void Follower::clause(const Expr& e, std::size_t from, Object* out, const Val* first) {
  if (from == e.clauses.size()) {
    if (e.name == "dict") {
      const Val key = value(*e.kids[0]);
      set_entry(out, key, value(*e.kids[1]), e.begin);
    } else {
      give(out, value(*e.kids[0]));
    }
    return;
  }
  const auto lose = [&] {
    touch(out);
    if (e.name == "dict")
      out->now.open = fmt::format("{} is computed where the program runs", shown(e.begin, e.end));
    else
      give_lost(out, e.begin, e.end);
  };
  const Val items = first != nullptr ? *first : value(*e.clauses[from].items);
  const Val all = iterator_over(items, e.clauses[from].items->begin);
  while (const auto item = pull(all.object)) {
    spend(1);
    if (is_many(*item)) {
      lose_clause(e, from);
      return lose();
    }
    if (!clause_item(e, from, *item, out)) lose();
  }
}

// Only what it goes through first is asked for where it is written.
Val Follower::generator_expression(const Expr& e, Object* scope) {
  const Val all = iterator_over(value(*e.clauses[0].items), e.clauses[0].items->begin);
  Object* function = function_;
  return iterator_of([this, &e, scope, all, function](Object* self) {
    const auto item = pull(all.object);
    if (!item) return false;
    Frame own{scope, function, {}, nullptr};
    const InFrame frame(*this, own);
    if (is_many(*item)) lose_clause(e, 0);
    if (is_many(*item) || !clause_item(e, 0, *item, self)) give_lost(self, e.begin, e.end);
    return !is_many(*item);
  });
}

// Names of a class are none for the functions, comprehensions and classes that stand in it.
Object* Follower::seen_from_inside(Object* scope) {
  while (scope != nullptr && scope->statement != nullptr) scope = scope->scope;
  return scope;
}

Val Follower::comprehension(const Expr& e) {
  Object* scope = make();
  scope->scope = seen_from_inside(locals_);
  scope->way = kComprehension;
  if (e.name == "generator") return generator_expression(e, scope);
  Val out;
  out.kind = e.name == "dict" ? Val::Kind::kDict : e.name == "set" ? Val::Kind::kSet : Val::Kind::kList;
  out.object = make();
  const Val first = value(*e.clauses[0].items);
  Object* outer = std::exchange(locals_, scope);
  try {
    clause(e, 0, out.object, &first);
  } catch (...) {
    locals_ = outer;
    throw;
  }
  locals_ = outer;
  if (quiet_ == 0 && names_server(out)) named_lists_.emplace_back(out.object, conditions_.size());
  return out;
}

}  // namespace preflight::sources::program
