// A Python program, one statement after the other, then what nothing in it calls. Tested by tests/traps_test.cpp, with
// Python as the judge.
#include "src/sources/program/follower.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "src/sources/file_steps.h"
#include "src/sources/readers/variable_file.h"

namespace preflight::sources::program {
namespace {

constexpr std::size_t kStepBytesCompared = 16;  // as fast as a byte is sought

// Whether all names of a program are set where its text sets them.
bool sets_its_names(std::string_view text) {
  constexpr auto kOthers = std::to_array<std::string_view>(
      {"import *", "exec(", "globals()", "locals()", "vars()", "builtins", "__dict__", "sys.modules"});
  return std::ranges::none_of(kOthers, [&](std::string_view one) { return text.find(one) != text.npos; });
}

}  // namespace

Follower::Follower(const SourceText& source, LaunchFinder& finder, const Program& program, std::string doubt,
                   bool nothing_given, const ProgramStart* start)
    : source_(source),
      finder_(finder),
      program_(program),
      doubt_(std::move(doubt)),
      nothing_given_(nothing_given),
      start_(start) {
  globals_ = make();
  globals_->now.names["__name__"] = text("__main__", 0);
  const std::string file = source.name.ends_with(".ipynb") ? std::string() : place_of_file(source.name);
  globals_->now.names["__file__"] = file.empty() ? unknown("__file__ is where the program stands", 0) : text(file, 0);
  locals_ = globals_;
  environ_ = make();
  environ_->now.inherits = true;
  const bool is_file = source.name.ends_with(".py") || (start != nullptr && start->file.ends_with(".py"));
  whole_ = is_file && sets_its_names(source.text);
}

void Follower::spend(std::size_t steps) const {
  if (steps > steps_) throw Exhausted{};
  steps_ -= steps;
  if (!FileSteps::take(steps)) throw Exhausted{FileSteps::kNoMore};
}

void Follower::add(ShellText& to, const ShellText& more) const {
  spend_text(more.text.size());
  spend_bytes(more.unknowns.size() * sizeof(Unknown));
  append(to, more);
}

// As std::string::find, which compares the whole of `part` at each place where it may begin.
std::size_t Follower::find(const std::string& text, const std::string& part, std::size_t from) const {
  const std::size_t places = text.size() - std::min(from, text.size());
  spend_bytes(places * (part.size() / kStepBytesCompared + 1));
  return text.find(part, from);
}

Object* Follower::make() {
  spend_bytes(sizeof(Object));
  objects_.push_back(std::make_unique<Object>());
  return objects_.back().get();
}

Result<bool> Follower::run() {
  stack_ = stack_place();
  try {
    const bool ends_early = !run(program_.body).on;
    if (source_.name.ends_with(".ipynb")) run_tasks();  // the loop of a notebook goes on behind its cells
    const std::size_t end = ended_at_;
    run_at_exit();
    unfinished();
    left_server_args();
    left_lists();
    if (ends_early && !finder_.found_any() && source_.text.find("sglang", end) != std::string_view::npos)
      finder_.note({"SH004", "the program ends here, and the launch that is named behind it does not run", end});
  } catch (const Exhausted& spent) {
    return failure(spent.why);
  }
  if (error_) return tl::make_unexpected(*error_);
  return true;
}

Condition Follower::leaves(const Left& left) const {
  const std::string_view what = left.way == Way::kRaise    ? "the program ends"
                                : left.way == Way::kReturn ? "its function returns"
                                                           : "its loop is left";
  return unless_ended(what, line(left.at));
}

void Follower::may_have_ended(const Condition& what) {
  const bool told = std::find(endings_.begin(), endings_.end(), what) != endings_.end();
  if (!told && endings_.size() < kMostEndings) endings_.push_back(what);
}

Follower::Flow Follower::run(const Block& block) {
  Flow out;
  const std::size_t outer = conditions_.size();
  for (const Stmt* one : block) {
    Flow flow = run(*one);
    if (flow.on && !flow.left.empty()) conditions_.push_back(leaves(flow.left.back()));
    std::move(flow.left.begin(), flow.left.end(), std::back_inserter(out.left));
    if (flow.on) continue;
    out.on = false;
    break;
  }
  conditions_.resize(outer);
  return out;
}

Follower::Flow Follower::run(const Stmt& one) {
  const Deeper deeper(*this);
  spend(2);
  const auto outer = std::exchange(pending_, {});
  Flow out;
  try {
    out = run_one(one);
  } catch (const Thrown& thrown) {
    out = leave(Way::kRaise, thrown.value, thrown.at);
  }
  std::move(pending_.begin(), pending_.end(), std::back_inserter(out.left));
  pending_ = outer;
  return out;
}

// A program that ends behind no try needs no state; what follows is told of it.
Follower::Flow Follower::leave(Way way, Val value, std::size_t at) {
  Flow out;
  out.on = false;
  Left left{way, std::move(value), nullptr, at};
  if (way == Way::kRaise && tries_ == 0) {
    ended_at_ = at;
    may_have_ended(leaves(left));
    return out;
  }
  left.state = take();
  out.left.push_back(std::move(left));
  return out;
}

Follower::Flow Follower::run_one(const Stmt& one) {
  switch (one.kind) {
    case Stmt::Kind::kExpr:
      (void)value(*one.value);
      return {};
    case Stmt::Kind::kAssign:
      assign(one);
      return {};
    case Stmt::Kind::kGrow:
      grow(one);
      return {};
    case Stmt::Kind::kReturn:
      return leave(Way::kReturn, one.value == nullptr ? none() : value(*one.value), one.begin);
    case Stmt::Kind::kRaise:
      return leave(Way::kRaise, one.value == nullptr ? unknown("an exception", one.begin) : value(*one.value),
                   one.begin);
    case Stmt::Kind::kBreak:
      return leave(Way::kBreak, {}, one.begin);
    case Stmt::Kind::kContinue:
      return leave(Way::kContinue, {}, one.begin);
    case Stmt::Kind::kDelete:
      for (const Expr* target : one.targets) remove(*target);
      return {};
    case Stmt::Kind::kGlobal:
    case Stmt::Kind::kNonlocal:
      for (const std::string& name : one.names) global_names_.insert(name);
      return {};
    case Stmt::Kind::kImport:
      import(one);
      return {};
    case Stmt::Kind::kImportFrom:
      import_from(one);
      return {};
    case Stmt::Kind::kIf:
      return if_statement(one);
    case Stmt::Kind::kWhile:
      return while_statement(one);
    case Stmt::Kind::kFor:
      return for_statement(one);
    case Stmt::Kind::kTry:
      return try_statement(one);
    case Stmt::Kind::kWith:
      return with_statement(one);
    case Stmt::Kind::kFunction:
      define_function(one);
      return {};
    case Stmt::Kind::kClass:
      define_class(one);
      return {};
    case Stmt::Kind::kMatch:
      return match_statement(one);
    case Stmt::Kind::kAssert: {
      const auto held = truth(value(*one.value));
      if (held == std::optional(false)) return leave(Way::kRaise, instance("AssertionError"), one.begin);
      if (held) return {};
      return branch([&] { return Flow{}; }, [&] { return leave(Way::kRaise, instance("AssertionError"), one.begin); },
                    one.begin);
    }
    case Stmt::Kind::kPass:
      return {};
  }
  return {};
}

// --- what nothing here calls ---

namespace {

// The names that a text calls: what stands before a parenthesis.
std::set<std::string_view> called_in(std::string_view body) {
  const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::set<std::string_view> names;
  for (auto open = body.find('('); open != body.npos; open = body.find('(', open + 1)) {
    std::size_t begin = open;
    while (begin > 0 && in_name(body[begin - 1])) --begin;
    const bool defined = body.substr(0, begin).ends_with("def ") || body.substr(0, begin).ends_with("class ");
    if (begin < open && !defined) names.insert(body.substr(begin, open - begin));
  }
  return names;
}

bool may_start(std::string_view body) {
  constexpr std::array kSigns = {"sglang", "Engine", "ServerArgs", "launch_server", "subprocess", "Popen"};
  return std::ranges::any_of(kSigns, [&](const char* sign) { return body.find(sign) != body.npos; });
}

}  // namespace

// Those first that no other function here calls: what they call is then followed as they call it.
void Follower::unfinished() {
  endings_.clear();  // they are of the program that is run, not of one that imports it
  std::map<std::string_view, std::vector<std::string_view>> callers;
  std::set<std::string_view> starting;  // functions that may start a server, or call one that may
  std::size_t known = 0;
  const auto read = [&] {  // functions are made while others are followed
    std::vector<std::string_view> open;
    for (; known < functions_.size(); ++known) {
      const Object* function = functions_[known];
      const Stmt* statement = function->statement;
      const std::string_view body = source_.text.substr(statement->begin, statement->end - statement->begin);
      spend_bytes(body.size());
      for (const std::string_view name : called_in(body)) {
        if (name != function->name) callers[name].push_back(function->name);
        if (starting.contains(name)) open.push_back(function->name);
      }
      if (may_start(body)) open.push_back(function->name);
    }
    while (!open.empty()) {
      const std::string_view name = open.back();
      open.pop_back();
      if (!starting.insert(name).second) continue;
      if (const auto at = callers.find(name); at != callers.end())
        open.insert(open.end(), at->second.begin(), at->second.end());
    }
  };
  std::set<const Object*> followed;
  for (const bool outermost : {true, false}) {
    read();
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      Object* function = functions_[i];
      const bool called_here = callers.contains(function->name);
      const bool handed = function->called && function->handed;
      if ((function->called && !handed) || !starting.contains(function->name) || (outermost && called_here)) continue;
      if (!followed.insert(function).second) continue;
      const std::string& name = function->name;
      const Condition when = handed        ? where({{"what "}, named(name), {" is handed to calls it"}})
                             : called_here ? where({named(name), {" is called"}})
                                           : uncalled(name);
      const std::vector<Object*> testing = testing_classes(*function);
      if (testing.empty() || is_tested(*function->of)) follow_alone(function, function->of, when);
      for (Object* owner : testing) follow_alone(function, owner, when);
      read();
    }
  }
}

static bool is_of_test(const Object& function) {
  return function.name.starts_with("setUp") || function.name.starts_with("test");
}

// Classes of tests that have a function of another by being made of it, and run it as theirs.
std::vector<Object*> Follower::testing_classes(const Object& function) const {
  std::vector<Object*> out;
  if (function.of == nullptr || !is_of_test(function)) return out;
  for (Object* type : classes_) {
    bool unclear = false;
    const Val* member = type == function.of ? nullptr : class_member(type, function.name, unclear);
    const bool own =
        member != nullptr && member->is(Val::Kind::kFunction) && member->object->statement == function.statement;
    if (own) out.push_back(type);
  }
  return out;
}

// Whether tests of a class are run as its own: a plain one that others are made of only lends them its functions.
bool Follower::is_tested(const Object& type) const {
  return type.name.starts_with("Test") ||
         std::ranges::any_of(behind(&type), [](const Object* base) { return base->statement == nullptr; });
}

// An object of a class that nothing here makes.
Val Follower::made_alone(Object* owner) {
  Val self;
  self.kind = Val::Kind::kInstance;
  self.object = make();
  self.object->of = owner;
  bool unclear = false;
  const Val* init = class_member(owner, "__init__", unclear);
  if (init == nullptr || !init->is(Val::Kind::kFunction) || init->object->statement == nullptr) {
    for (const Val& field : owner->now.items) {
      if (field.known_text() && !owner->now.names.contains(field.text->text))
        self.object->now.names[field.text->text] =
            unknown(field.text->text + " is given where the program runs", field.text->origin.front());
    }
    return self;
  }
  ++quiet_;
  Arguments a;
  a.at = init->object->statement->begin;
  a.call = nullptr;
  a.values = {self};
  a.more = {unknown("", a.at)};
  try {
    (void)call_function(init->object, a);
  } catch (const Thrown&) {
  }
  --quiet_;
  return self;
}

// What is None in a class whose methods nothing here calls is what a class made of it in another file may set.
static void leave_open(Object* type, std::size_t at, std::vector<std::pair<Object*, std::string>>& left,
                       int depth = 0) {
  constexpr int kDeepest = 10;
  if (type == nullptr || type->statement == nullptr || depth > kDeepest) return;
  for (auto& [name, member] : type->now.names) {
    if (!member.is(Val::Kind::kNone)) continue;
    left.emplace_back(type, name);
    const std::string why = fmt::format("{} is None in {}, and a class made of that may set it", name, type->name);
    member = unknown(why, at);
    member.mystery = std::make_shared<const Mystery>(Mystery{why, at, name});
  }
  for (Object* base : type->bases) leave_open(base, at, left, depth + 1);
}

void Follower::follow_alone(Object* function, Object* owner, const Condition& when) {
  const bool test = owner != nullptr && is_of_test(*function);
  const std::size_t outer = conditions_.size();
  if (!test) conditions_.push_back(when);
  Arguments a;
  a.at = function->statement->begin;
  a.more = {unknown("", a.at)};
  if (owner != nullptr && function->way != "staticmethod") {
    Val self;
    if (function->way == "classmethod") {
      self.kind = Val::Kind::kClass;
      self.object = owner;
    } else {
      self = made_alone(owner);
    }
    a.values = {self};
  }
  std::vector<std::pair<Object*, std::string>> left_open;
  if (owner != nullptr && !owner->name.starts_with("Test")) leave_open(owner, a.at, left_open);  // pytest runs those
  try {
    const Val out = is_command(*function) && owner == nullptr
                        ? run_as_command({.kind = Val::Kind::kFunction, .object = function}, a)
                        : call_function(function, a);
    const YieldTo to_nothing = [](const Val&) {};
    if (is_context(out)) (void)body_value(out.object->bases[0], out.object->scope, &to_nothing);
    if (is_iterator(out)) bring_all(out.object);
    (void)awaited(out, a.at);
  } catch (const Thrown&) {
  }
  for (const auto& [type, name] : left_open) type->now.names[name] = none();
  pending_.clear();
  conditions_.resize(outer);
  endings_.clear();
}

}  // namespace preflight::sources::program
