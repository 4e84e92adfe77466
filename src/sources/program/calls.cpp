// Calls of functions and classes of the program, and of what nothing is known of. Tested by tests/traps_test.cpp.
#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/program/attributes.h"
#include "src/sources/program/follower.h"
#include "src/sources/readers/variable_file.h"

namespace preflight::sources::program {
namespace {

// A command without a word for the server: whoever takes it has the others.
bool is_beginning(const Val& command) {
  const auto& words = command.object->now.items;
  if (words.empty() || !words.back().known_text()) return false;
  const std::string& last = words.back().text->text;
  return last == "serve" || last == "sglang.launch_server";
}

using Kind = Val::Kind;

// Last names of calls that only tell of what they are given.
constexpr std::array<std::string_view, 16> kSpeaking = {
    "print", "info",   "debug",  "warning",   "log",  "error", "critical",        "write",
    "echo",  "pprint", "rprint", "exception", "dump", "warn",  "print_highlight", "sleep"};

// Last names of calls that start what they are given, whosever they are: a session of nox, a context of invoke, a
// client of ssh.
constexpr std::array<std::string_view, 13> kStarting = {"run",        "run_always",   "run_install",  "sudo",  "Task",
                                                        "local",      "exec",         "exec_command", "spawn", "system",
                                                        "check_call", "check_output", "Popen"};

// Whether a function of Python's own modules only makes something of what it is given.
bool only_makes(std::string_view name) {
  constexpr auto kModules = std::to_array<std::string_view>(
      {"functools.", "itertools.", "operator.", "collections.", "copy.", "typing.", "list.", "dict.", "str.", "json."});
  return std::ranges::any_of(kModules, [&](std::string_view module) { return name.starts_with(module); });
}

constexpr std::size_t kFileSteps = 200;  // to look for a file

// One more while it lives.
class Counted {
 public:
  explicit Counted(int& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  int& count_;
};

}  // namespace

// A command of click itself; one of typer's stays the function that it is.
static bool is_of_click(const Object& function) {
  return function.altered.starts_with("click.command") || function.altered.starts_with("command");
}

// A command of click that is called: with the words of this program, unless it is handed others. It ends the program.
Val Follower::call_command(const Val& callee, bool plain, Arguments& a) {
  const Val* stands_alone = a.key("standalone_mode");
  Val out;
  if (plain) {
    out = run_as_command(callee, a);
  } else {
    Arguments others;
    others.at = a.at;
    others.end = a.end;
    others.call = a.call;
    others.more = {unknown("the words that it is handed are not followed", a.at, true)};
    out = call_function(callee.object, others);
  }
  if (stands_alone == nullptr || truth(*stands_alone) == std::optional(true)) refuse("SystemExit", a.at);
  return out;
}

Val Follower::call(const Val& callee, Arguments& a) {
  spend(2);
  switch (callee.kind) {
    case Kind::kFunction: {
      const bool plain = a.values.empty() && a.more.empty() &&
                         std::ranges::all_of(a.keys, [](const auto& key) { return key.first == "standalone_mode"; });
      const bool command = is_command(*callee.object) && callee.object->bound.empty();
      if (command && is_of_click(*callee.object)) return call_command(callee, plain, a);
      if (command && plain) return run_as_command(callee, a);
      a.values.insert(a.values.begin(), callee.object->bound.begin(), callee.object->bound.end());
      for (const auto& [name, v] : callee.object->keys) {
        if (!name.starts_with('=') && a.key(name) == nullptr) a.keys.emplace_back(name, v);
      }
      return call_function(callee.object, a);
    }
    case Kind::kClass:
      return instantiate(callee.object, a);
    case Kind::kNative:
      return call_native(callee.object->name, *callee.object, a);
    case Kind::kInstance:
      if (callee.object->name == kShCommand) return *start_sh(kShCommand, *callee.object, a);
      if (callee.object->of != nullptr) {
        bool open = false;
        const Val* own = class_member(callee.object->of, "__call__", open);
        if (own != nullptr && own->is(Kind::kFunction)) {
          a.values.insert(a.values.begin(), callee);
          return call(*own, a);
        }
      }
      return call_unknown(callee, a);
    case Kind::kUnknown:
    case Kind::kGone:
      return call_unknown(callee, a);
    default:  // a number, a text, a list
      refuse("TypeError", a.at);
  }
}

// --- functions ---

void Follower::bind_parameters(const std::vector<Parameter>& parameters, Arguments& a, Object* function,
                               Object* locals) {
  std::size_t next = 0;
  std::set<std::string> named;
  const auto lost = std::find_if(a.values.begin(), a.values.end(), is_many);
  const auto known = static_cast<std::size_t>(lost - a.values.begin());
  const auto given = [&](const Parameter& one) {
    Val out = unknown(fmt::format("{} is given by whoever calls {}", one.name, function->name), a.at);
    auto mystery = std::make_shared<Mystery>(*out.mystery);
    mystery->name = one.name;
    out.mystery = mystery;
    return given_or(out, one.name);
  };
  const bool any_open = lost != a.values.end() || !a.more.empty();  // which argument each is, is not known
  for (const Parameter& one : parameters) {
    spend(a.keys.size() / 8 + 1);  // among which it is sought
    Val& into = locals->now.names[one.name];
    if (one.stars == 1) {
      std::vector<Val> rest;
      for (; next < a.values.size(); ++next) rest.push_back(a.values[next]);
      if (a.call == nullptr && !a.more.empty())
        rest.push_back(unknown(one.name + " is given by whoever calls " + function->name, a.at, true));
      into = list_of(std::move(rest), Kind::kTuple);
    } else if (one.stars == 2) {
      into.kind = Kind::kDict;
      into.object = make();
      for (const auto& [name, v] : a.keys) {
        if (!named.contains(name)) set_entry(into.object, text(name, a.at), v, a.at);
      }
      if (!a.more.empty()) into.object->now.open = "arguments that are not known here are handed over";
    } else if (const Val* key = one.positional_only ? nullptr : a.key(one.name)) {
      into = *key;
      named.insert(one.name);
    } else if (!one.keyword_only && next < known) {
      into = a.values[next++];
    } else if (const auto fallback = function->keys.find("=" + one.name);
               !any_open && fallback != function->keys.end()) {
      into = fallback->second;
    } else if (any_open || !function->altered.empty()) {  // or given by what its decorator made of it
      into = given(one);
    } else {
      refuse("TypeError", a.at);
    }
  }
  const bool rest = std::any_of(parameters.begin(), parameters.end(), [](const Parameter& p) { return p.stars == 1; });
  if (!rest && next < known) refuse("TypeError", a.at);
  const bool any = std::any_of(parameters.begin(), parameters.end(), [](const Parameter& p) { return p.stars == 2; });
  const bool unexpected = std::ranges::any_of(a.keys, [&](const auto& key) { return !named.contains(key.first); });
  if (!any && unexpected && function->altered.empty()) refuse("TypeError", a.at);
}

Follower::Frame Follower::turn_to_frame(Frame frame) {
  Frame out{locals_, function_, std::move(global_names_), yield_to_};
  locals_ = frame.locals;
  function_ = frame.function;
  global_names_ = std::move(frame.global_names);
  yield_to_ = frame.yield_to;
  return out;
}

// What its body returns; what it yields on the way goes to `yield_to`.
Val Follower::body_value(Object* function, Object* locals, const YieldTo* yield_to) {
  Val out;
  Flow flow;
  {
    Frame frame{locals, function, {}, yield_to};
    const InFrame inside(*this, frame);
    const Counted depth(calls_);
    if (function->lambda != nullptr)
      out = value(*function->lambda->kids[0]);
    else
      flow = run(function->statement->body);
  }
  bool first = !flow.on;
  for (const Left& left : flow.left) {
    if (left.way != Way::kReturn) continue;
    const std::string why = fmt::format("depends on what line {} returns", line(left.at));
    if (!flow.on) {
      turn_to(left.state);
      drop(left.state);
      flow.on = true;
    } else {
      merge(left.state, why, left.at);
    }
    out = first ? left.value : merged_here(out, left.value, why, left.at);
    first = false;
  }
  std::vector<Left> raised;
  for (Left& left : flow.left) {
    if (left.way == Way::kRaise) raised.push_back(std::move(left));
  }
  if (!flow.on) {
    if (raised.empty()) refuse("SystemExit", ended_at_);
    turn_to(raised.back().state);
    drop(raised.back().state);
    const Thrown last{raised.back().value, raised.back().at};
    raised.pop_back();
    std::move(raised.begin(), raised.end(), std::back_inserter(pending_));
    throw last;
  }
  std::move(raised.begin(), raised.end(), std::back_inserter(pending_));
  return out;
}

// What a call of a function that yields gives; its body runs when it is asked for something.
Val Follower::generator(Object* function, Object* locals) {
  const bool enters = function->altered.starts_with("contextlib") || function->altered.starts_with("contextmanager") ||
                      function->altered.starts_with("asynccontextmanager");
  Val out = enters ? instance(std::string(kContext)) : iterator_of([this, function, locals](Object* self) {
    run_ahead(function, locals, self);
    return false;
  });
  out.object->frame = function->statement;
  out.object->bases = {function};
  out.object->scope = locals;
  return out;
}

void Follower::see(const Val& v, Seen& out, int depth) const {
  constexpr std::size_t kMost = 200;
  const bool holds = v.sequence() || v.is(Kind::kDict) || v.is(Kind::kInstance);
  if (!holds || v.object == nullptr || depth > 3 || out.objects.size() > kMost) return;
  const bool known = std::ranges::any_of(out.objects, [&](const auto& one) { return one.first == v.object; });
  if (known) return;
  out.objects.emplace_back(v.object, v.object->changed);
  spend(v.object->now.items.size() + v.object->now.pairs.size() + v.object->now.names.size() + 1);
  for (const Val& item : v.object->now.items) see(item, out, depth + 1);
  for (const auto& [key, item] : v.object->now.pairs) see(item, out, depth + 1);
  for (const auto& [name, item] : v.object->now.names) see(item, out, depth + 1);
}

// The names in a function's text that are others', and what they stand for.
void Follower::see_names(const Object& function, const Object* scope, Seen& out, int depth) const {
  const Stmt& own = *function.statement;
  const std::string_view text = source_.text.substr(own.begin, own.end - own.begin);
  spend_bytes(4 * text.size());
  if (text.find("environ") != text.npos || text.find("getenv") != text.npos)
    out.objects.emplace_back(environ_, environ_->changed);
  const auto in_name = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::set<std::string> told;
  for (std::size_t from = 0; from < text.size();) {
    std::size_t end = from;
    while (end < text.size() && in_name(text[end])) ++end;
    const std::string name(text.substr(from, end - from));
    from = end == from ? end + 1 : end;
    if (name.empty() || !told.insert(name).second) continue;
    for (const Object* around = scope; around != nullptr; around = around->scope) {
      const auto found = around->now.names.find(name);
      if (found == around->now.names.end()) continue;
      const Val& v = found->second;
      const bool plain = v.is(Kind::kFunction) || v.is(Kind::kClass) || v.is(Kind::kNative);
      if (around != scope && !plain) out.names.emplace_back(around, std::pair(name, v));
      if (v.is(Kind::kFunction) && v.object->statement != nullptr && v.object != &function && depth < 2)
        see_names(*v.object, v.object->scope, out, depth + 1);
      see(v, out);
      break;
    }
  }
}

bool Follower::is_as_seen(const Seen& seen) const {
  spend(seen.objects.size() + seen.names.size() + 1);
  const auto unchanged = [](const auto& one) { return one.first->changed == one.second; };
  const auto bound = [&](const auto& one) {
    const auto found = one.first->now.names.find(one.second.first);
    return found != one.first->now.names.end() && same(found->second, one.second.second);
  };
  return std::ranges::all_of(seen.objects, unchanged) && std::ranges::all_of(seen.names, bound);
}

// What a generator gives behind its first item holds as long as what it reads stays what it was when it ran.
void Follower::wait_for_others(Object* function, Object* locals, Object* iterator) {
  auto& items = iterator->now.items;
  if (items.size() < 2) return;
  auto seen = std::make_shared<Seen>();
  see_names(*function, locals, *seen);
  const std::vector<Val> rest(items.begin() + 1, items.end());
  const auto behind = iterator->now.next;
  spend_bytes(rest.size() * sizeof(Val));
  touch(iterator);
  items.resize(1);
  iterator->now.names["."] = whole(0);
  iterator->now.next = std::make_shared<const NextItems>([this, seen, rest, behind, function](Object* self) {
    const Val turn = self->now.names["."];
    const bool lost = !turn.whole() || !is_as_seen(*seen);
    if (lost) {
      const std::string why = fmt::format("what {} gives behind its first item is not followed", function->name);
      give(self, unknown(why, function->statement->begin, true));
      return false;
    }
    const auto i = static_cast<std::size_t>(turn.integer);
    if (i < rest.size()) give(self, rest[i]);
    touch(self);
    self->now.names["."] = whole(turn.integer + 1);
    if (i + 1 < rest.size()) return true;
    self->now.next = behind;
    return false;
  });
}

// A generator is followed to its end when it is first asked: what it does behind its first item is told with that
// condition, and what it leaves different at one of its items is not known from here on.
void Follower::run_ahead(Object* function, Object* locals, Object* iterator) {
  constexpr std::size_t kMostStops = 8;
  const bool alone = std::exchange(to_the_end_, false);
  iterator->called = true;
  std::vector<StatePtr> stops;
  const std::size_t outer = ahead_.size();
  const YieldTo to = [&](const Val& v) {
    give(iterator, v);
    if (alone) return;
    if (stops.size() < kMostStops) stops.push_back(take());
    if (ahead_.size() == outer) ahead_.push_back(unless({named(function->name), {" is asked for no more"}}));
  };
  try {
    (void)body_value(function, locals, &to);
  } catch (const Thrown& thrown) {
    ahead_.resize(outer);
    for (const StatePtr& stop : stops) drop(stop);
    if (iterator->now.items.empty()) throw;
    touch(iterator);
    iterator->now.next = std::make_shared<const NextItems>([thrown](Object*) -> bool { throw thrown; });
    if (!alone) wait_for_others(function, locals, iterator);
    return;
  }
  ahead_.resize(outer);
  for (const StatePtr& stop : stops) {
    stop->other.erase(iterator);
    merge(stop, fmt::format("depends on how far {} has run", function->name), function->statement->begin);
  }
  if (!alone) wait_for_others(function, locals, iterator);
}

// A function that workers of Ray run, or a class whose instances are there.
static bool is_of_ray(const Object& type) {
  return type.altered.starts_with("ray.remote") || type.altered.starts_with("serve.deployment");
}

// Nothing among them that is not known, of which two need not be the same.
static bool is_all_known(const std::vector<Val>& values) {
  return std::ranges::none_of(values, [](const Val& v) {
    return v.is(Kind::kUnknown) || (v.is(Kind::kText) && !v.known_text()) || v.is(Kind::kTuple);
  });
}

Val Follower::call_function(Object* function, Arguments& a) {
  Object* original = function->bases.empty() ? function : function->bases[0];
  const bool waits = original->statement != nullptr && original->statement->waits && !original->statement->generates;
  if (reached_ != nullptr && !original->called) reached_->push_back(original);
  if (!waits || !original->altered.empty()) original->called = true;
  const auto remembers = original->keys.find(kRemembers);
  if (remembers == original->keys.end() || !a.more.empty()) return follow_function(function, original, a);
  return remembered(function, original, remembers->second, a);
}

// Of what functools.lru_cache remembers: the call that was asked for last stands at the end, and where there are more
// than `most`, the first is forgotten.
Val Follower::remembered(Object* function, Object* original, const Val& most, Arguments& a) {
  std::vector<Val> words = a.values;
  for (const auto& [key, v] : a.keys) {
    words.push_back(text(key + "=", a.at));
    words.push_back(v);
  }
  if (!is_all_known(words)) return follow_function(function, original, a);
  const Val asked = list_aside(std::move(words), Kind::kTuple);
  auto& known = original->now.pairs;
  spend(known.size() + 1);
  for (auto it = known.begin(); it != known.end(); ++it) {
    if (!same(it->first, asked)) continue;
    touch(original);
    std::rotate(it, it + 1, known.end());
    return known.back().second;
  }
  Val out = follow_function(function, original, a);
  touch(original);
  known.emplace_back(asked, out);
  const bool counts = !most.is(Kind::kNone);
  if (counts && !most.whole()) return unclear(a.at, a.end);
  if (counts && std::ssize(known) > std::max<std::int64_t>(most.integer, 0)) known.erase(known.begin());
  return out;
}

Val Follower::follow_function(Object* function, Object* original, Arguments& a) {
  if (calls_ >= limits::kProgramCalls) {
    ++doubts_;
    for (const Val& v : a.values) handed_over(v, function->name, a.at);
    const Condition why = unless({named(original->name), {" calls itself without an end"}});
    if (std::ranges::find(endings_, why) == endings_.end()) endings_.push_back(why);
    return unknown(fmt::format("{} calls itself deeper than is followed", function->name), a.at);
  }
  Object* locals = make();
  locals->scope = seen_from_inside(original->scope);
  const auto& parameters = function->lambda != nullptr ? function->lambda->parameters : function->statement->parameters;
  bind_parameters(parameters, a, original, locals);
  locals->frame = original->statement;
  const bool unclear = !original->altered.empty() && !original->altered.starts_with("context") &&
                       !original->altered.starts_with("asynccontext");
  if (unclear)
    conditions_.push_back(called_by(original->altered.substr(0, original->altered.find('(')), original->name));
  const std::size_t depth = conditions_.size();
  const bool rays = is_of_ray(*original);
  const bool of_actor = !a.values.empty() && a.values[0].is(Kind::kInstance) && a.values[0].object->of != nullptr &&
                        is_of_ray(*a.values[0].object->of);
  const bool generates = original->statement != nullptr && original->statement->generates;
  const bool waits = original->statement != nullptr && original->statement->waits && original->altered.empty();
  const auto follow = [&] {
    if (!generates && waits && !of_actor) return coroutine(original, locals);
    if (!generates) return body_value(original, locals);
    Val out = generator(original, locals);
    if (is_iterator(out) && (unclear || rays || of_actor)) bring_all(out.object);
    return out;
  };
  try {
    Val out = of_actor ? in_worker(a.values[0].object, follow, a.at)
              : rays   ? in_worker(ray_variables_.contains(function) ? function : original, follow, a.at)
                       : follow();
    conditions_.resize(depth - (unclear ? 1 : 0));
    return unclear && !rays ? left_by_decorator(*original, std::move(out), a.at) : out;
  } catch (const Thrown&) {
    conditions_.resize(depth - (unclear ? 1 : 0));
    if (rays || of_actor) return unknown("what a worker of Ray gives is not known here", a.at);  // it ends alone
    throw;
  }
}

// What a decorator that is not followed leaves of what its function gives: it is told, with all that stands behind it.
Val Follower::left_by_decorator(const Object& function, Val gave, std::size_t at) {
  constexpr auto kLeaves = std::to_array<std::string_view>(
      {"retry", "tenacity.", "backoff.", "torch.", "override", "typing", "app.", "pytest.", "beartype"});
  const std::string decorator = function.altered.substr(0, function.altered.find('('));
  const auto begins = [&](std::string_view one) { return decorator.starts_with(one); };
  if (gave.is(Kind::kNone) || gave.is(Kind::kUnknown) || std::ranges::any_of(kLeaves, begins)) return gave;
  const Condition what = left_by(decorator, function.name);
  if (decorator.find("dispatch") != std::string::npos)  // another function may be called in its place
    return unknown(fmt::format("what @{} calls for {} is not followed", decorator, function.name), at);
  may_have_ended(what);
  return gave;
}

// --- classes ---

void Follower::dataclass_fields(Object* type, std::vector<std::pair<std::string, Val>>& out, int depth) {
  if (depth > 10) return;
  spend(1);
  for (Object* base : type->bases) dataclass_fields(base, out, depth + 1);
  for (const Val& field : type->now.items) {
    if (!field.known_text()) continue;
    const std::string& name = field.text->text;
    const auto fallback = type->now.names.find(name);
    Val v = {.kind = Kind::kGone};
    if (fallback != type->now.names.end()) v = fallback->second;
    spend(out.size() / 8 + 1);
    const auto it = std::find_if(out.begin(), out.end(), [&](const auto& one) { return one.first == name; });
    if (it != out.end())
      it->second = v;
    else
      out.emplace_back(name, v);
  }
}

// Whether a model of pydantic leaves what a field is given as it is: a value of the type that is written there.
bool Follower::is_as_given(const Object* type, const std::string& field, const Val& v, int depth) {
  constexpr int kDeep = 10;
  const auto is_model = [](const Object* one) {
    return std::ranges::any_of(one->bases, [](const Object* base) { return base->name.ends_with("BaseModel"); });
  };
  const auto written = type->keys.find(kFieldType + (" " + field));
  if (written == type->keys.end() || depth > kDeep) {
    return std::ranges::all_of(type->bases, [&](const Object* base) { return is_as_given(base, field, v, depth + 1); });
  }
  if (type->way == "dataclass" || (!is_model(type) && type->bases.empty())) return true;
  const bool validates = std::ranges::any_of(type->now.names, [](const auto& one) {
    return one.second.is(Kind::kFunction) && one.second.object->altered.find("validator") != std::string::npos;
  });
  std::string_view name = written->second.text->text;
  name.remove_prefix(std::min(name.find_first_not_of(": "), name.size()));
  name = name.substr(0, name.find_first_of(" ="));
  const std::string_view own = v.is(Kind::kBool)    ? "bool"
                               : v.is(Kind::kInt)   ? "int"
                               : v.is(Kind::kFloat) ? "float"
                               : v.is(Kind::kText)  ? "str"
                                                    : "";
  return !validates && !own.empty() && (name == own || name == fmt::format("Optional[{}]", own));
}

// Of a class with a __new__ of its own: which object that gives, and what of the class it changes, is not followed.
Val Follower::made_by_itself(const Val& self, const Val& maker, Arguments& a) {
  Object* type = self.object->of;
  bool open = false;
  const Val* init = class_member(type, "__init__", open);
  may_be_called(maker, type->name, a.at);
  if (init != nullptr && init->is(Kind::kFunction)) {
    Arguments inner = a;
    inner.values.insert(inner.values.begin(), self);
    (void)call(*init, inner);
  }
  const std::string why = fmt::format("__new__ of {} is not followed", type->name);
  lose(type, why, a.at);
  lose(self.object, why, a.at);
  return self;
}

Val Follower::instantiate(Object* type, Arguments& a) {
  Val self = {.kind = Kind::kInstance, .object = make()};
  self.object->of = type;
  self.object->name = type->name;
  if (const auto own = ray_variables_.find(type); own != ray_variables_.end())
    ray_variables_[self.object] = own->second;
  bool open = false;
  if (is_enum(type) && a.values.size() == 1) {
    for (const auto& [name, member] : type->now.names) {
      if (equal(member, a.values[0]) != std::optional(true)) continue;
      return member_of(type, member, name, a.at);
    }
    const auto differs = [&](const auto& member) { return equal(member.second, a.values[0]) == std::optional(false); };
    const bool all = type->statement != nullptr && type->now.open.empty() && !type->now.names.contains("_missing_") &&
                     std::ranges::all_of(type->now.names, differs);
    if (all) refuse("ValueError", a.at);
    return unknown("a value of this Enum is not known here", a.at);
  }
  if (is_abstract(type)) refuse("TypeError", a.at);
  const Val* maker = class_member(type, "__new__", open);
  if (maker != nullptr && maker->is(Kind::kFunction)) return made_by_itself(self, *maker, a);
  const Val* init = class_member(type, "__init__", open);
  const bool fields =
      type->way == "dataclass" || std::any_of(type->bases.begin(), type->bases.end(), [](const Object* b) {
        return b->name.ends_with("BaseModel") || b->name.ends_with("NamedTuple") || b->way == "dataclass";
      });
  if (init != nullptr && init->is(Kind::kFunction)) {
    Arguments inner = a;
    inner.values.insert(inner.values.begin(), self);
    (void)call(*init, inner);
    const std::string& why = type->now.open;
    if (!why.empty() || open)  // another may stand in front of it
      lose(self.object, why.empty() ? fmt::format("what {} is made of may set it", type->name) : why, a.at);
    return self;
  }
  const bool other_init = init == nullptr && open && type->way != "dataclass";
  if (other_init) {
    const std::string why = fmt::format("what {} is made of may set it", type->name);
    self.object->now.open = type->now.open.empty() ? why : type->now.open;
  }
  if (!fields) {
    const bool given = !a.values.empty() || !a.keys.empty();
    if (given && is_closed(type) && class_member(type, "__new__", open) == nullptr && init == nullptr)
      refuse("TypeError", a.at);
    for (const Val& v : a.values) handed_over(v, type->name, a.at);
    for (const auto& [key, v] : a.keys) handed_over(v, type->name, a.at);
    return self;
  }
  std::vector<std::pair<std::string, Val>> all;
  dataclass_fields(type, all);
  std::size_t next = 0;
  for (auto& [name, fallback] : all) {
    Val v = fallback;
    bool given = true;  // field(init=False) is not
    if (v.is(Kind::kInstance) && v.object->name == "dataclasses.field") {
      const auto init_key = v.object->keys.find("init");
      given = init_key == v.object->keys.end() || truth(init_key->second) != std::optional(false);
      const auto plain = v.object->keys.find("default");
      const auto factory = v.object->keys.find("default_factory");
      Arguments nothing;
      nothing.at = a.at;
      v = plain != v.object->keys.end()     ? plain->second
          : factory != v.object->keys.end() ? call(factory->second, nothing)
                                            : Val{.kind = Kind::kGone};
    }
    if (!given && v.is(Kind::kGone)) continue;
    if (!given && a.key(name) != nullptr && is_closed(type)) refuse("TypeError", a.at);
    if (!given)
      ;
    else if (const Val* key = a.key(name))
      v = *key;
    else if (next < a.values.size() && !is_many(a.values[next]) && !is_keyword_only(type, name))
      v = a.values[next++];
    else if (!a.more.empty() || (next < a.values.size() && is_many(a.values[next])))
      v = unknown(name + " is given where the program runs", a.at);
    if (v.is(Kind::kGone)) refuse("TypeError", a.at);
    if (a.key(name) != nullptr && !is_as_given(type, name, v))
      v = unknown(fmt::format("what {} makes of {} is not followed", type->name, name), a.at);
    self.object->now.names[name] = v;
  }
  const auto is_field = [&](const auto& key) {
    return std::ranges::find(all, key.first, &Keywords::value_type::first) != all.end();
  };
  const bool more = next < a.values.size() || !std::ranges::all_of(a.keys, is_field);
  if (more && type->way == "dataclass" && is_closed(type) && std::ranges::none_of(a.values, is_many))
    refuse("TypeError", a.at);
  if (const Val* after = class_member(type, "__post_init__", open); after != nullptr && after->is(Kind::kFunction)) {
    Arguments inner;
    inner.at = a.at;
    inner.values = {self};
    const std::string why = fmt::format("what InitVar hands on in {} is not followed", type->name);
    const bool hands_on =
        std::ranges::any_of(behind(type), [](const Object* base) { return base->keys.contains(kHandsOn); });
    if (hands_on || type->keys.contains(kHandsOn)) inner.more.push_back(unknown(why, a.at, true));
    (void)call(*after, inner);
    if (!inner.more.empty()) lose(self.object, why, a.at);
  }
  return self;
}

// --- what is not known ---

// Whether a text of which not all is known may be `name`.
static bool may_be(const ShellText& pattern, const std::string& name) {
  const auto first = pattern.text.find(kHole);
  if (first == std::string::npos) return pattern.text == name;
  const std::string_view front = std::string_view(pattern.text).substr(0, first);
  const std::string_view back = std::string_view(pattern.text).substr(pattern.text.rfind(kHole) + 1);
  return name.size() >= front.size() + back.size() && name.starts_with(front) && name.ends_with(back);
}

// What an object holds may be anything from here on; with a `key`, what stands under that. Functions and classes stay
// what they are.
void Follower::lose(Object* object, const std::string& why, std::size_t at, const ShellText* key) {
  const auto lost = [&](const std::string& name, Val& v) {
    const bool stays = v.is(Kind::kFunction) || v.is(Kind::kClass) || v.is(Kind::kNative);
    const bool pythons = name.starts_with("__") || name.starts_with('.');
    if (stays || pythons || (key != nullptr && !may_be(*key, name))) return;
    v = unknown(why, at);
    v.mystery = std::make_shared<const Mystery>(Mystery{why, at, name});
  };
  const bool shows = object->of != nullptr && object->of->shown_by == object;
  for (Object* one : {object, shows ? object->of : object->shown_by}) {
    if (one == nullptr) continue;
    touch(one);
    spend(one->now.names.size() + one->now.pairs.size());
    for (auto& [name, v] : one->now.names) lost(name, v);
    for (auto& [name, v] : one->now.pairs) lost(name.known_text() ? name.text->text : std::string(), v);
    if (one->now.open.empty() || one->now.open == kNoOrder) one->now.open = why;
  }
}

void Follower::set_name(Object* owner, const std::string& name, Val v) {
  touch(owner);
  if (owner->shown_by != nullptr) {
    touch(owner->shown_by);
    const Val key = text(name, 0);
    if (Val* found = entry(owner->shown_by, key))
      *found = v;
    else
      owner->shown_by->now.pairs.emplace_back(key, v);
  }
  owner->now.names[name] = std::move(v);
}

// vars(owner): what is written there is an attribute of it.
Val Follower::names_of(const Val& owner) {
  Object* object = owner.object;
  if (object->shown_by == nullptr) {
    object->shown_by = make();
    object->shown_by->of = object;
  }
  Object* shown = object->shown_by;
  touch(shown);
  spend(2 * object->now.pairs.size());
  shown->now = {.open = object->now.open};
  for (const auto& [key, v] : object->now.pairs) {  // options, in their order
    const auto it = key.known_text() ? object->now.names.find(key.text->text) : object->now.names.end();
    shown->now.pairs.emplace_back(key, it == object->now.names.end() ? v : it->second);
  }
  spend(object->now.names.size());
  for (const auto& [name, v] : object->now.names) {
    const Val key = text(name, 0);
    if (name.starts_with('.') || v.is(Kind::kGone) || entry(shown, key) != nullptr) continue;
    shown->now.pairs.emplace_back(key, v);
  }
  const bool ordered = object->now.pairs.size() == shown->now.pairs.size() || shown->now.pairs.size() < 2;
  if (!ordered && shown->now.open.empty()) shown->now.open = kNoOrder;
  return {.kind = Kind::kDict, .object = shown};
}

// What nothing is known of may change what it is given, and what that holds.
// Who has the function may call it, any number of times: what it changes is not known from here on.
void Follower::may_be_called(const Val& function, const std::string& to, std::size_t at) {
  const Stmt* own = function.object->statement;
  const bool runs = own == nullptr ? function.object->lambda != nullptr : !own->generates;
  if (!runs || function.object->handing) return;
  function.object->handing = true;
  std::vector<Object*> reached;  // this way alone: they are followed at the end, as if nothing called them
  const auto outer = std::exchange(reached_, &reached);
  const std::string why = fmt::format("depends on whether {} at line {} calls {}", to, line(at), function.object->name);
  const auto endings = endings_;
  ++quiet_;
  ++tries_;
  for (int i = 0; i < limits::kProgramRounds; ++i) {
    const StatePtr before = take();
    Arguments a;
    a.at = a.end = at;
    a.more = {unknown("what it is called with is not known here", at)};
    try {
      (void)awaited(call(function, a), at);
    } catch (const Thrown&) {  // which whoever calls it may catch
    }
    if (!merge(before, why, at)) break;
  }
  --tries_;
  --quiet_;
  endings_ = endings;
  reached_ = outer;
  for (Object* one : reached) one->called = false;
  function.object->handing = false;
}

void Follower::handed_over(const Val& v, const std::string& to, std::size_t at, int depth) {
  const bool changes = v.sequence() || v.is(Kind::kDict) || v.is(Kind::kInstance) || v.is(Kind::kClass);
  if (v.is(Kind::kFunction)) {
    (v.object->bases.empty() ? v.object : v.object->bases[0])->handed = true;
    return may_be_called(v, to, at);
  }
  if (v.object == nullptr || depth > 4 || v.object == environ_ || !changes) return;
  if (is_coroutine(v)) {  // who is handed one awaits it
    (void)awaited(v, at);
    return;
  }
  hand_args(v);
  if (is_context(v)) return enter_elsewhere(v, to, at);
  if (is_iterator(v) && v.object->now.next != nullptr) {  // which may go through it
    conditions_.push_back(where({{"what "}, named(to), {" is handed to calls it"}}));
    bring_all(v.object);
    conditions_.pop_back();
  }
  const std::string_view what = v.sequence() ? "a list" : v.is(Kind::kDict) ? "a dictionary" : "an object";
  const std::string why = fmt::format("{} is handed to {} at line {}, which may change it", what, to, line(at));
  const Content held = v.object->now;
  spend(held.items.size() + 2 * held.pairs.size() + 2 * held.names.size() + 1);
  for (const Val& item : held.items) handed_over(item, to, at, depth + 1);
  for (const auto& [key, item] : held.pairs) handed_over(item, to, at, depth + 1);
  if (v.is(Kind::kInstance)) {
    for (const auto& [name, item] : held.names) handed_over(item, to, at, depth + 1);
  }
  if (v.is(Kind::kTuple)) return;
  if (v.is(Kind::kInstance) && v.object->name == "argparse.ArgumentParser" && to.find("add_") != std::string::npos) {
    touch(v.object);
    v.object->now.open = why;  // what adds options leaves the others
    return;
  }
  if (!v.sequence()) return lose(v.object, why, at);
  if (!held.items.empty() && is_many(held.items.back())) return;
  touch(v.object);
  v.object->now.items.push_back(unknown(why, at, true));
}

// A command that is handed over with other words, or without any of its own: what is made of them all is not known.
Val Follower::with_others(const Val& command, const Arguments& a, const std::string& to) {
  const auto adds = [&](const Val& v) {
    return v.object != command.object && (v.is(Kind::kList) || v.is(Kind::kTuple) || v.is(Kind::kText) || is_many(v));
  };
  const Val* args = a.key("args");
  const bool alone = std::ranges::none_of(a.values, adds) && (args == nullptr || !adds(*args));
  if (alone && !(command.sequence() && is_beginning(command))) return command;
  std::vector<Val> words = command.object->now.items;
  words.push_back(unknown(fmt::format("{} at line {} may add words to it", to, line(a.at)), a.at, true));
  return list_aside(std::move(words), command.kind);
}

// V1Container(image=…, command=[…], args=[…]): the words of a container.
bool Follower::started_in_container(Arguments& a, const std::string& to) {
  const Val* command = a.key("command");
  const Val* args = a.key("args");
  const Val* image = a.key("image");
  const bool lists = command != nullptr && command->is(Kind::kList) && (args == nullptr || args->is(Kind::kList));
  if (!lists || image == nullptr) return false;
  std::vector<Val> words = command->object->now.items;
  if (args != nullptr) words.insert(words.end(), args->object->now.items.begin(), args->object->now.items.end());
  const Val all = list_aside(std::move(words));
  if (!names_server(all)) return false;
  for (const Val* one : {command, args}) {
    if (one != nullptr) used_.insert(one->object);
  }
  Arguments inner = a;
  inner.keys.clear();
  if (const Val* env = a.key("env"); env != nullptr && !env->is(Kind::kNone)) inner.keys.emplace_back("env", *env);
  image_ = image->known_text() ? image->text->text : std::string();
  conditions_.push_back(where({named(to), {" starts it"}}));
  start_words(all, inner);
  conditions_.pop_back();
  image_.clear();
  return true;
}

Val Follower::call_unknown(const Val& callee, Arguments& a) {
  std::string name = callee.object != nullptr ? callee.object->name : std::string();
  if (a.call != nullptr) name = shown(a.call->kids[0]->begin, a.call->kids[0]->end);
  const std::string_view last = last_name(name);
  const bool speaks = std::find(kSpeaking.begin(), kSpeaking.end(), last) != kSpeaking.end();
  Val out = a.call != nullptr ? unclear(*a.call) : unknown(fmt::format("what {} gives is not known here", name), a.at);
  if (speaks) return out;
  ++doubts_;
  if (!leaves_servers(callee.object != nullptr && !callee.object->name.empty() ? callee.object->name : name)) ++stops_;
  for (const Val& v : a.values) note_written(v);
  const bool starts = runs_a_text(name) || std::find(kStarting.begin(), kStarting.end(), last) != kStarting.end();
  if (starts && start_unknown(name, a)) return out;
  const bool runs = last == "run_in_executor" && a.values.size() > 1 && a.values[1].is(Kind::kFunction);
  if (runs) {  // (executor, function, *arguments)
    Arguments inner = a;
    inner.values.erase(inner.values.begin(), inner.values.begin() + 2);
    (void)call(a.values[1], inner);
    return out;
  }
  if (last == "create_task" && !a.values.empty() && is_coroutine(a.values[0])) {
    schedule(a.values[0]);
    return a.values[0];
  }
  if (last == "run_forever" || last == "run_until_complete") run_tasks();
  if (last == "popen_launch_server" && callee.is(Kind::kUnknown)) tell_other_server(name + " is not followed", a);
  if (callee.is(Kind::kUnknown) && callee.object != nullptr)  // a method that nothing is known of
    handed_over({.kind = Kind::kInstance, .object = callee.object}, name, a.at);
  const bool reads = callee.is(Kind::kNative) && callee.object->name.starts_with("sglang.");
  const bool makes = callee.is(Kind::kNative) && only_makes(callee.object->name);
  const auto each = [&](const Val& v) {
    if (reads && made_args(v) != nullptr) return;  // SGLang's own functions leave them
    if (makes || !names_server(v)) return handed_over(v, name, a.at);
    Arguments words = a;
    words.values = {with_others(v, a, name)};
    words.keys.clear();
    if (const Val* env = a.key("env")) words.keys.emplace_back("env", *env);
    used_.insert(v.object);
    conditions_.push_back(where({named(name), {" starts it"}}));
    start_words(words.values[0], words);
    conditions_.pop_back();
    if (!starts) handed_over(v, name, a.at);  // or changes it
  };
  if (started_in_container(a, name)) return out;
  for (const Val& v : a.values) each(v);
  for (const auto& [key, v] : a.keys) each(v);
  const bool reads_file = name.ends_with("load_dotenv") || name.ends_with(".read_env");
  if (reads_file && quiet_ == 0 && !take_dotenv(a)) {
    touch(environ_);
    environ_->now.open =
        fmt::format("what {}() at line {} puts into the environment is not known here", last, line(a.at));
  }
  return out;
}

// load_dotenv() looks beside the program first. What the environment has wins, but for override=True. False: what it
// sets is not known.
bool Follower::take_dotenv(const Arguments& a) {
  bool overrides = false;
  for (const auto& [key, v] : a.keys) {
    if (key != "override" || !v.is(Kind::kBool)) return false;
    overrides = truth(v) == true;
  }
  spend(kFileSteps);
  const auto file = a.values.empty() && a.more.empty() ? file_beside(source_.name, ".env") : std::nullopt;
  if (!file || file->find('$') != std::string::npos) return false;
  for (const auto& [name, value] : variables_of(*file, {}, a.at, Dotenv::kPython)) {
    const auto has = [&, &name = name](const auto& all) { return all != nullptr && all->contains(name); };
    const bool set = std::ranges::any_of(environ_->now.pairs, [&, &name = name](const auto& pair) {
      return pair.first.known_text() && pair.first.text->text == name;
    });
    if (!overrides && (set || has(&source_.given) || has(source_.environment))) continue;
    set_entry(environ_, text(name, a.at), text(value), a.at);
  }
  return true;
}

// The items of what can be gone through; none where they are not known. What has none ends the program.
std::optional<std::vector<Val>> Follower::items_of(const Val& v, std::size_t at) {
  if (has_no_items(v)) refuse("TypeError", at);
  if (const auto own = own_iterator(v, at))
    return own->sequence() || own->is(Kind::kDict) ? items_of(*own, at) : std::nullopt;
  if (v.sequence()) {
    refresh(v);
    if (is_iterator(v)) bring_all(v.object);
    if (names_server(v)) used_.insert(v.object);
    if (is_iterator(v)) {
      touch(v.object);
      return std::exchange(v.object->now.items, {});
    }
    const auto& items = v.object->now.items;
    spend(items.size() + 1);
    if (v.is(Kind::kSet) && items.size() > 1) return std::nullopt;  // in an order that is not known
    return items;
  }
  if (v.is(Kind::kDict)) {
    if (!v.object->now.open.empty() || v.object->now.inherits) return std::nullopt;
    spend(v.object->now.pairs.size() + 1);
    std::vector<Val> out;
    for (const auto& [key, entry] : v.object->now.pairs) {
      if (entry.is(Kind::kUnknown) && entry.mystery->what.ends_with("…")) return std::nullopt;
      if (!entry.is(Kind::kGone)) out.push_back(key);
    }
    return out;
  }
  if (v.known_text()) {
    const bool plain = std::all_of(v.text->text.begin(), v.text->text.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    if (!plain || v.text->text.size() > 2'000) return std::nullopt;
    std::vector<Val> out;
    for (std::size_t i = 0; i < v.text->text.size(); ++i) out.push_back(text(sources::slice(*v.text, i, i + 1)));
    return out;
  }
  if (is_named_tuple(v)) {
    std::vector<std::pair<std::string, Val>> fields;
    dataclass_fields(v.object->of, fields);
    std::vector<Val> out;
    for (const auto& [name, fallback] : fields) out.push_back(v.object->now.names[name]);
    return out;
  }
  return v.is(Kind::kClass) ? members_of(v.object, at) : std::nullopt;
}

// The members of an Enum, in the order in which they are written.
std::optional<std::vector<Val>> Follower::members_of(Object* type, std::size_t at) {
  if (type->statement == nullptr || !type->now.open.empty() || !is_enum(type)) return std::nullopt;
  std::vector<Val> out;
  for (const Stmt* one : type->statement->body) {
    if (one->kind != Stmt::Kind::kAssign) continue;
    const auto member = one->targets[0]->kind == Expr::Kind::kName ? type->now.names.find(one->targets[0]->name)
                                                                   : type->now.names.end();
    if (member == type->now.names.end() || one->targets.size() != 1 || member->first.starts_with('_'))
      return std::nullopt;
    const auto same_value = [&](const Val& v) { return equal(v.object->now.names["value"], member->second); };
    for (const Val& other : out) {
      if (same_value(other) != std::optional(false)) return std::nullopt;  // another name of that one
    }
    Val v = instance(type->name);
    v.object->of = type;
    v.object->now.names = {{"value", member->second}, {"name", text(member->first, at)}};
    out.push_back(std::move(v));
  }
  return out;
}

}  // namespace preflight::sources::program
