// Statements of a Python program, one after the other. Tested by tests/traps_test.cpp, with Python as the judge.
#include "src/sources/program/follower.h"
#include "src/base/limits.h"
#include "src/sources/file_steps.h"
#include "src/sources/readers/variable_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace preflight::sources::program {
namespace {

constexpr std::size_t kMostEndings = 3;
constexpr std::size_t kStepBytesCompared = 16;  // as fast as a byte is sought

// Decorators of classes that leave their attributes what they are.
bool only_wraps(std::string_view decorator) {
  constexpr std::array<std::string_view, 12> kThose = {"ray.",      "serve.",      "app.",     "stub.",
                                                       "modal.",    "bentoml.",    "unittest", "pytest",
                                                       "functools", "total_order", "attr",     "define"};
  return std::ranges::any_of(kThose, [&](std::string_view one) { return decorator.starts_with(one); });
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
    (void)run(program_.body);
    run_at_exit();
    unfinished();
    left_server_args();
    left_lists();
  } catch (const Exhausted& spent) {
    return failure(spent.why);
  }
  if (error_) return tl::make_unexpected(*error_);
  return true;
}

// --- blocks ---

std::string Follower::leaves(const Left& left) const {
  const int n = line(left.at);
  if (left.way == Way::kRaise) return fmt::format("unless the program ends at line {}", n);
  if (left.way == Way::kReturn) return fmt::format("unless its function returns at line {}", n);
  return fmt::format("unless its loop is left at line {}", n);
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
    const std::string what = leaves(left);
    const bool told = std::find(endings_.begin(), endings_.end(), what) != endings_.end();
    if (!told && endings_.size() < kMostEndings) endings_.push_back(what);
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

// --- names ---

void Follower::assign(const Stmt& one) {
  if (one.value == nullptr) {  // NAME: TYPE
    if (one.targets[0]->kind == Expr::Kind::kName) {
      touch(locals_);
      locals_->now.items.push_back(text(one.targets[0]->name, one.begin));
    }
    return;
  }
  const Val v = value(*one.value);
  for (const Expr* target : one.targets) bind(*target, v);
  if (!one.annotated || one.targets[0]->kind != Expr::Kind::kName) return;
  const std::size_t type = one.targets[0]->end;  // NAME: ClassVar[…] is no field of a dataclass
  if (source_.text.substr(type, one.value->begin - type).find("ClassVar") != std::string_view::npos) return;
  touch(locals_);
  locals_->now.items.push_back(text(one.targets[0]->name, one.begin));
}

void Follower::bind(const Expr& target, Val v) {
  if (target.kind == Expr::Kind::kTuple || target.kind == Expr::Kind::kList) return bind_each(target, v);
  if (target.kind == Expr::Kind::kSubscript) return bind_item(target, std::move(v));
  if (target.kind == Expr::Kind::kAttribute)
    return bind_attribute(value(*target.kids[0]), target.name, std::move(v), target.begin);
  if (target.kind != Expr::Kind::kName) return;
  if (v.is(Val::Kind::kUnknown) && v.mystery->name.empty() && !v.mystery->many) {
    auto mystery = std::make_shared<Mystery>(*v.mystery);
    mystery->name = target.name;
    v.mystery = mystery;
  }
  Object* scope = scope_to_bind(target.name);
  touch(scope);
  scope->now.names[target.name] = std::move(v);
}

// Where an assignment to a name puts it.
Object* Follower::scope_to_bind(const std::string& name) const {
  if (!global_names_.contains(name)) return locals_;
  for (Object* around = locals_->scope; around != nullptr; around = around->scope) {
    if (around->now.names.contains(name)) return around;
  }
  return globals_;
}

namespace {

void add_names(const Expr* target, std::set<std::string>& out) {
  if (target == nullptr) return;
  if (target->kind == Expr::Kind::kName) out.insert(target->name);
  const bool several =
      target->kind == Expr::Kind::kTuple || target->kind == Expr::Kind::kList || target->kind == Expr::Kind::kStar;
  if (!several) return;
  for (const Expr* kid : target->kids) add_names(kid, out);
}

// The names that a block assigns to, and those that it declares to be others'.
void add_names(const Block& block, std::set<std::string>& out, std::set<std::string>& others) {
  for (const Stmt* one : block) {
    if (one->kind == Stmt::Kind::kGlobal || one->kind == Stmt::Kind::kNonlocal)
      others.insert(one->names.begin(), one->names.end());
    const bool defines = one->kind == Stmt::Kind::kFunction || one->kind == Stmt::Kind::kClass;
    if (defines) out.insert(one->name);
    if (defines) continue;
    const bool deletes = one->kind == Stmt::Kind::kDelete;
    for (const Expr* target : one->targets) {
      if (!deletes || target->kind == Expr::Kind::kName) add_names(target, out);
    }
    const bool imports = one->kind == Stmt::Kind::kImport || one->kind == Stmt::Kind::kImportFrom;
    for (std::size_t i = 0; imports && i + 1 < one->names.size(); i += 2)
      out.insert(one->names[i + 1].empty() ? one->names[i].substr(0, one->names[i].find('.')) : one->names[i + 1]);
    for (const Block* inner : {&one->body, &one->other, &one->last}) add_names(*inner, out, others);
    for (const Handler& handler : one->handlers) {
      if (!handler.name.empty()) out.insert(handler.name);
      add_names(handler.body, out, others);
    }
  }
}

}  // namespace

// The names that are a function's own, wherever in it they are assigned to.
const std::set<std::string>& Follower::local_names(const Stmt& function) {
  const auto known = local_names_.find(&function);
  if (known != local_names_.end()) return known->second;
  spend_bytes(function.end - function.begin);
  std::set<std::string> out;
  std::set<std::string> others;
  add_names(function.body, out, others);
  for (const Parameter& one : function.parameters) out.insert(one.name);
  for (const std::string& name : others) out.erase(name);
  return local_names_[&function] = std::move(out);
}

// A name that is a function's own and that it has not assigned to yet is none of what stands around it.
void Follower::refuse_unbound(const Object* scope, const Expr& name) {
  if (scope->frame == nullptr || !scope->now.open.empty() || source_.given.contains(name.name)) return;
  if (local_names(*scope->frame).contains(name.name)) throw Thrown{instance("UnboundLocalError"), name.begin};
}

void Follower::bind_each(const Expr& target, const Val& v) {
  auto items = items_of(v, target.begin);
  const auto star = std::find_if(target.kids.begin(), target.kids.end(),
                                 [](const Expr* kid) { return kid->kind == Expr::Kind::kStar; });
  const bool fits = items && (star == target.kids.end() ? items->size() == target.kids.size()
                                                        : items->size() + 1 >= target.kids.size());
  if (!fits) {
    ++doubts_;
    for (const Expr* kid : target.kids) {
      const Expr& one = kid->kind == Expr::Kind::kStar ? *kid->kids[0] : *kid;
      bind(one, unclear(one));
    }
    return;
  }
  const auto before = static_cast<std::size_t>(star - target.kids.begin());
  const std::size_t extra = star == target.kids.end() ? 0 : items->size() + 1 - target.kids.size();
  for (std::size_t i = 0, k = 0; i < target.kids.size(); ++i) {
    if (i != before || star == target.kids.end()) {
      bind(*target.kids[i], (*items)[k++]);
      continue;
    }
    const auto from = items->begin() + static_cast<std::ptrdiff_t>(k);
    bind(*target.kids[i]->kids[0], list_of({from, from + static_cast<std::ptrdiff_t>(extra)}));
    k += extra;
  }
}

void Follower::bind_attribute(const Val& base, const std::string& name, Val v, std::size_t at) {
  bool open = false;
  const bool own = base.is(Val::Kind::kInstance) && base.object->of != nullptr &&
                   class_member(base.object->of, "__setattr__", open) != nullptr;
  if (own) v = unknown(fmt::format("__setattr__ of {} is not followed", base.object->of->name), at);
  if (base.is(Val::Kind::kInstance) || base.is(Val::Kind::kClass) || base.is(Val::Kind::kFunction)) {
    set_name(base.object, name, std::move(v));
  } else if (base.is(Val::Kind::kNative)) {
    const bool pythons = base.object->name == "sys" || base.object->name == "os";
    if (!pythons) handed_over(v, base.object->name, at);  // whose functions may change it
    touch(globals_);                                      // a library's own name: sys.argv
    globals_->now.names["." + base.object->name + "." + name] = std::move(v);
  }
}

void Follower::bind_item(const Expr& target, Val v) {
  const Val base = value(*target.kids[0]);
  const bool sliced = target.kids[1]->kind == Expr::Kind::kSlice;
  if (base.is(Val::Kind::kDict)) {
    const Val key = value(*target.kids[1]);
    return set_entry(base.object, key, std::move(v), target.begin);
  }
  if (!base.is(Val::Kind::kList)) return;
  touch(base.object);
  auto& items = base.object->now.items;
  spend_items(items);
  const Val index = sliced ? Val{} : value(*target.kids[1]);
  const bool many = std::any_of(items.begin(), items.end(),
                                [](const Val& one) { return one.is(Val::Kind::kUnknown) && one.mystery->many; });
  const auto size = static_cast<std::int64_t>(items.size());
  const std::int64_t i = index.integer < 0 ? index.integer + size : index.integer;
  if (sliced || !index.whole() || many || i < 0 || i >= size) {
    items = {unknown(fmt::format("what a list holds from line {} on is not followed", line(target.begin)), target.begin,
                     true)};
    return;
  }
  v.begin = v.begin == v.end ? target.begin : v.begin;
  items[static_cast<std::size_t>(i)] = std::move(v);
}

void Follower::grow(const Stmt& one) {
  const Expr& target = *one.targets[0];
  const Val old = value(target);
  const Val more = value(*one.value);
  const bool list = old.is(Val::Kind::kList) && one.name == "+";
  if (list) {
    auto items = items_of(more, one.value->begin);
    touch(old.object);
    auto& into = old.object->now.items;
    if (!items) items = {{unclear(*one.value)}};
    spend(items->size());
    if (names_server(more)) used_.insert(more.object);
    into.insert(into.end(), items->begin(), items->end());
    return;
  }
  if (old.is(Val::Kind::kDict) && one.name == "|") {
    touch(old.object);
    return update(old.object, more, one.begin);
  }
  Val out = binary(one.name, old, more, one.begin, one.end);
  bind(target, std::move(out));
}

void Follower::remove(const Expr& target) {
  if (target.kind == Expr::Kind::kTuple || target.kind == Expr::Kind::kList) {
    for (const Expr* kid : target.kids) remove(*kid);
  } else if (target.kind == Expr::Kind::kName) {
    Object* scope = scope_to_bind(target.name);
    if (!scope->now.names.contains(target.name)) refuse_unbound(scope, target);
    touch(scope);
    scope->now.names.erase(target.name);
  } else if (target.kind == Expr::Kind::kAttribute) {
    const Val base = value(*target.kids[0]);
    if (base.object == nullptr) return;
    touch(base.object);
    base.object->now.names.erase(target.name);
  } else if (target.kind == Expr::Kind::kSubscript) {
    remove_item(target);
  }
}

void Follower::remove_item(const Expr& target) {
  const Val base = value(*target.kids[0]);
  if (base.is(Val::Kind::kDict)) {
    const Val key = value(*target.kids[1]);
    if (base.object->now.inherits) return set_entry(base.object, key, {.kind = Val::Kind::kGone}, target.begin);
    touch(base.object);
    if (!key.known_text() && !key.whole()) {
      const std::string why = fmt::format("an entry is taken out at line {}", line(target.begin));
      return lose(base.object, why, target.begin, key.is(Val::Kind::kText) ? key.text.get() : nullptr);
    }
    if (base.object->of != nullptr && key.known_text())
      return set_entry(base.object, key, {.kind = Val::Kind::kGone}, target.begin);
    spend(base.object->now.pairs.size());
    std::erase_if(base.object->now.pairs, [&](const auto& one) { return same(one.first, key); });
    return;
  }
  if (!base.is(Val::Kind::kList)) return;
  touch(base.object);
  auto& items = base.object->now.items;
  spend_items(items);
  if (target.kids[1]->kind == Expr::Kind::kSlice) {
    const Val gone = slice(base, *target.kids[1]);
    const bool step = target.kids[1]->kids[2] != nullptr;
    const Expr* from = target.kids[1]->kids[0];
    const Val first = from == nullptr ? whole(0) : value(*from);
    const auto size = static_cast<std::int64_t>(items.size());
    const std::int64_t i = std::clamp(first.integer < 0 ? first.integer + size : first.integer, std::int64_t{0}, size);
    if (!step && first.whole() && gone.is(Val::Kind::kList) &&
        static_cast<std::size_t>(i) + gone.object->now.items.size() <= items.size()) {
      const auto at = items.begin() + static_cast<std::ptrdiff_t>(i);
      items.erase(at, at + static_cast<std::ptrdiff_t>(gone.object->now.items.size()));
      return;
    }
  } else if (const Val index = value(*target.kids[1]); index.whole()) {
    const auto size = static_cast<std::int64_t>(items.size());
    const std::int64_t i = index.integer < 0 ? index.integer + size : index.integer;
    const bool many = std::any_of(items.begin(), items.end(),
                                  [](const Val& one) { return one.is(Val::Kind::kUnknown) && one.mystery->many; });
    if (i >= 0 && i < size && !many) {
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
  items = {unknown(fmt::format("what a list holds from line {} on is not followed", line(target.begin)), target.begin,
                   true)};
}

// --- branches ---

Follower::Flow Follower::branch(const Step& yes, const Step& no, std::size_t at) {
  const StatePtr other = take();
  const auto endings = endings_;
  conditions_.push_back(fmt::format("in a branch at line {}", line(at)));
  Flow first = yes();
  turn_to(other);
  auto ended = std::exchange(endings_, endings);
  Flow second = no();
  conditions_.pop_back();
  for (std::string& one : ended) {
    if (std::find(endings_.begin(), endings_.end(), one) == endings_.end()) endings_.push_back(std::move(one));
  }
  Flow out;
  out.left = std::move(first.left);
  std::move(second.left.begin(), second.left.end(), std::back_inserter(out.left));
  out.on = first.on || second.on;
  if (first.on && second.on) {
    merge(other, fmt::format("depends on a branch at line {}", line(at)), at);
  } else {
    if (first.on) turn_to(other);
    drop(other);
  }
  return out;
}

Follower::Flow Follower::if_statement(const Stmt& one) {
  const auto test = truth(value(*one.value));
  if (test) return run(*test ? one.body : one.other);
  return branch([&] { return run(one.body); }, [&] { return run(one.other); }, one.begin);
}

// Takes what left in this way out of `left`, into the state that is followed.
void Follower::settle(std::vector<Left>& left, Way way, Flow& out, const std::string& why, std::size_t at) {
  std::vector<Left> rest;
  for (Left& one : left) {
    if (one.way != way) {
      rest.push_back(std::move(one));
    } else if (out.on) {
      merge(one.state, why, at);
    } else {
      turn_to(one.state);
      drop(one.state);
      out.on = true;
    }
  }
  left = std::move(rest);
}

// One turn of a loop is over: false when the loop is.
bool Follower::turn(const Flow& body, Flow& out, std::vector<Left>& broken) {
  Flow now = body;
  settle(now.left, Way::kContinue, now, "depends on a continue", 0);
  for (Left& one : now.left) (one.way == Way::kBreak ? broken : out.left).push_back(std::move(one));
  out.on = now.on;
  return now.on;
}

namespace {

// Whether a `break` in it leaves the loop around it.
bool breaks(const Block& block) {
  return std::ranges::any_of(block, [](const Stmt* one) {
    const bool loop = one->kind == Stmt::Kind::kWhile || one->kind == Stmt::Kind::kFor;
    if (one->kind == Stmt::Kind::kFunction || one->kind == Stmt::Kind::kClass) return false;
    return one->kind == Stmt::Kind::kBreak || (!loop && breaks(one->body)) || breaks(one->other) || breaks(one->last) ||
           std::ranges::any_of(one->handlers, [](const Handler& handler) { return breaks(handler.body); });
  });
}

// Whether a `return` in it leaves the function around it.
bool returns(const Block& block) {
  return std::ranges::any_of(block, [](const Stmt* one) {
    if (one->kind == Stmt::Kind::kFunction || one->kind == Stmt::Kind::kClass) return false;
    return one->kind == Stmt::Kind::kReturn || returns(one->body) || returns(one->other) || returns(one->last) ||
           std::ranges::any_of(one->handlers, [](const Handler& handler) { return returns(handler.body); });
  });
}

}  // namespace

// Whether what stands behind a loop that has no end may run: what yields or awaits gives way to others, and what fails
// in it may be met.
bool Follower::goes_on_behind(const Stmt& loop) {
  const std::string_view text = source_.text.substr(loop.begin, loop.end - std::min(loop.begin, loop.end));
  if (yield_to_ != nullptr || text.find("await") != std::string_view::npos) return true;
  const std::string what = fmt::format("the loop at line {} runs, which has no end", line(loop.begin));
  if (tries_ > apart_) {
    if (endings_.size() < kMostEndings) endings_.push_back("unless " + what);
    return true;
  }
  const bool hides_more = source_.text.find("sglang", std::min(loop.end, source_.text.size())) != std::string::npos;
  if (quiet_ == 0 && locals_ == globals_ && hides_more)
    finder_.note({"SH004", "what stands behind this does not run: " + what, loop.begin});
  return false;
}

Follower::Flow Follower::while_statement(const Stmt& one) {
  const bool endless = one.value->kind == Expr::Kind::kConstant || one.value->kind == Expr::Kind::kNumber;
  Flow out;
  std::vector<Left> broken;
  const std::size_t outer = conditions_.size();
  bool follows_else = false;
  forever_ += endless ? 1 : 0;
  for (int turns = 0; out.on; ++turns) {
    const auto test = truth(value(*one.value));
    if (test == std::optional(false)) {
      follows_else = true;
      break;
    }
    // A loop that may go on, or that does and is not left, is followed as one of which nothing is known.
    const bool unclear = !test || !broken.empty() || turns >= (endless ? 3 : limits::kProgramTurns);
    if (unclear) {
      Flow rest = unknown_loop(one, [&] { (void)value(*one.value); });
      if (endless && !breaks(one.body)) out.on = goes_on_behind(one);
      std::move(rest.left.begin(), rest.left.end(), std::back_inserter(out.left));
      break;
    }
    if (!turn(run(one.body), out, broken)) break;
    if (!broken.empty()) conditions_.push_back(leaves(broken.back()));
  }
  forever_ -= endless ? 1 : 0;
  conditions_.resize(outer);
  if (follows_else && !one.other.empty()) {
    Flow rest = run(one.other);
    out.on = rest.on;
    std::move(rest.left.begin(), rest.left.end(), std::back_inserter(out.left));
  }
  settle(broken, Way::kBreak, out, fmt::format("depends on a loop at line {}", line(one.begin)), one.begin);
  return out;
}

// The item of a loop's turn: of an iterator the first that is left, of a list that the loop changes what stands there
// by then. False behind the last.
bool Follower::next_item(const Val& all, std::size_t turn, const std::vector<Val>& items, Val& item) {
  if (is_iterator(all)) {
    const auto pulled = pull(all.object);
    if (pulled) item = *pulled;
    return pulled.has_value();
  }
  const bool lives = all.is(Val::Kind::kList) && !std::ranges::any_of(all.object->now.items, is_many);
  const std::vector<Val>& now = lives ? all.object->now.items : items;
  if (turn >= now.size()) return false;
  item = now[turn];
  return true;
}

// Whether a loop's body can be followed where a generator yields: nothing of it leaves the loop, and the generator
// would not see what it raises.
bool Follower::runs_between(const Stmt& loop, const Val& all) const {
  const bool waits = is_iterator(all) && all.object->frame != nullptr && !all.object->called;
  if (!waits || all.object->now.next == nullptr) return false;
  const Stmt& own = *all.object->frame;
  const std::string_view text = source_.text.substr(own.begin, own.end - own.begin);
  spend_bytes(2 * text.size());
  const bool meets = text.find("try:") != text.npos || text.find("with ") != text.npos;
  return all.object->now.items.empty() && !meets && !breaks(loop.body) && !returns(loop.body);
}

// for TARGET in GENERATOR: each turn runs where the generator yields.
Follower::Flow Follower::for_each_yield(const Stmt& one, const Val& all) {
  touch(all.object);
  all.object->called = true;
  all.object->now.next = nullptr;
  Flow out;
  Frame own{locals_, function_, global_names_, yield_to_};
  const YieldTo to = [&](const Val& v) {
    spend(2);
    Frame inner = turn_to_frame(own);
    Flow flow;
    std::vector<Left> broken;
    try {
      if (!is_many(v)) bind(*one.targets[0], v);
      flow = is_many(v) ? unknown_loop(one, [&] { bind_unclear(*one.targets[0]); }) : run(one.body);
    } catch (...) {
      own = turn_to_frame(std::move(inner));
      throw;
    }
    const bool goes_on = turn(flow, out, broken);
    own = turn_to_frame(std::move(inner));
    if (goes_on) return;
    if (out.left.empty() || out.left.back().way != Way::kRaise) throw Thrown{instance("SystemExit"), ended_at_};
    const Left last = out.left.back();
    out.left.pop_back();
    turn_to(last.state);
    drop(last.state);
    throw Thrown{last.value, last.at};
  };
  (void)body_value(all.object->bases[0], all.object->scope, &to);
  Flow rest = run(one.other);
  out.on = rest.on;
  std::move(rest.left.begin(), rest.left.end(), std::back_inserter(out.left));
  return out;
}

void Follower::bind_unclear(const Expr& target) {
  if (target.kind == Expr::Kind::kTuple)
    bind_each(target, unclear(target));
  else
    bind(target, unclear(target));
}

Follower::Flow Follower::for_statement(const Stmt& one) {
  const Val all = value(*one.value);
  if (runs_between(one, all)) return for_each_yield(one, all);
  // What takes of an iterator inside the loop takes of what is left.
  const auto items = is_iterator(all) ? std::optional(std::vector<Val>()) : items_of(all, one.value->begin);
  const auto unclear_target = [&] { bind_unclear(*one.targets[0]); };
  if (!items || std::ranges::any_of(*items, is_many) || items->size() > limits::kProgramTurns)
    return unknown_loop(one, unclear_target);
  Flow out;
  std::vector<Left> broken;
  const std::size_t outer = conditions_.size();
  Val item;
  for (std::size_t turned = 0; next_item(all, turned, *items, item); ++turned) {
    if (is_many(item) || (is_iterator(all) && turned >= limits::kProgramTurns)) {
      Flow rest = unknown_loop(one, unclear_target);
      std::move(rest.left.begin(), rest.left.end(), std::back_inserter(out.left));
      out.on = rest.on;
      break;
    }
    if (turned > limits::kProgramTurns) throw Exhausted{};
    bind(*one.targets[0], item);
    if (!turn(run(one.body), out, broken)) break;
    if (!broken.empty()) conditions_.push_back(leaves(broken.back()));
  }
  conditions_.resize(outer);
  if (out.on && !one.other.empty()) {
    Flow rest = run(one.other);
    out.on = rest.on;
    std::move(rest.left.begin(), rest.left.end(), std::back_inserter(out.left));
  }
  settle(broken, Way::kBreak, out, fmt::format("depends on a loop at line {}", line(one.begin)), one.begin);
  return out;
}

// Rounds until nothing changes any more, then one that counts.
Follower::Flow Follower::unknown_loop(const Stmt& one, const std::function<void()>& begin) {
  const std::string why = fmt::format("depends on a loop at line {}", line(one.begin));
  const auto round = [&](Flow& out) {
    const StatePtr before = take();
    begin();
    Flow flow = run(one.body);
    settle(flow.left, Way::kContinue, flow, why, one.begin);
    settle(flow.left, Way::kBreak, flow, why, one.begin);
    out.left = std::move(flow.left);
    if (flow.on) return merge(before, why, one.begin);
    turn_to(before);
    drop(before);
    return false;
  };
  Flow out;
  const auto endings = endings_;
  ++quiet_;
  for (int i = 0; i < limits::kProgramRounds; ++i) {
    Flow tried;
    const bool changed = round(tried);
    for (const Left& left : tried.left) {
      if (left.state) drop(left.state);
    }
    if (!changed) break;
  }
  --quiet_;
  endings_ = endings;
  conditions_.push_back(fmt::format("in a loop at line {}", line(one.begin)));
  (void)round(out);
  conditions_.pop_back();
  return out;
}

// --- exceptions ---

Follower::Flow Follower::try_statement(const Stmt& one) {
  const StatePtr before = take();
  const std::size_t doubts = doubts_;
  ++tries_;
  Flow body = run(one.body);
  --tries_;
  const bool doubtful = doubts_ > doubts && !one.handlers.empty();
  Flow out;
  std::vector<Left> raised;
  for (Left& left : body.left) (left.way == Way::kRaise ? raised : out.left).push_back(std::move(left));
  const bool sure = !body.on && raised.size() == 1 && out.left.empty();
  std::vector<StatePtr> ends;
  StatePtr after = doubtful && body.on ? take() : nullptr;
  if (body.on) {
    Flow rest = run(one.other);
    std::move(rest.left.begin(), rest.left.end(), std::back_inserter(out.left));
    if (rest.on) ends.push_back(take());
  }
  catch_left(one, std::move(raised), ends, out, sure);
  if (after) {
    turn_to(before);
    merge(after, fmt::format("depends on what fails at line {}", line(one.begin)), one.begin);
    catch_unsure(one, ends, out);
  }
  drop(before);
  out.on = !ends.empty();
  if (out.on) {
    turn_to(ends[0]);
    drop(ends[0]);
    for (std::size_t i = 1; i < ends.size(); ++i)
      merge(ends[i], fmt::format("depends on what fails at line {}", line(one.begin)), one.begin);
  }
  if (one.last.empty()) return out;
  const bool over = !out.on;
  if (over && (out.left.empty() || !out.left[0].state)) return out;
  if (over) turn_to(out.left[0].state);
  Flow last = run(one.last);
  if (over && last.on) {
    drop(out.left[0].state);
    out.left[0].state = take();
    out.on = false;
  } else {
    out.on = last.on && !over;
  }
  std::move(last.left.begin(), last.left.end(), std::back_inserter(out.left));
  return out;
}

namespace {

// What Python's own exceptions are kinds of; "": none that is known here.
std::string_view kind_of_exception(std::string_view name) {
  struct Kind {
    std::string_view name;
    std::string_view of;
  };
  constexpr auto kKinds = std::to_array<Kind>({{"ModuleNotFoundError", "ImportError"},
                                               {"FileNotFoundError", "OSError"},
                                               {"FileExistsError", "OSError"},
                                               {"PermissionError", "OSError"},
                                               {"NotADirectoryError", "OSError"},
                                               {"IsADirectoryError", "OSError"},
                                               {"ProcessLookupError", "OSError"},
                                               {"ChildProcessError", "OSError"},
                                               {"InterruptedError", "OSError"},
                                               {"BlockingIOError", "OSError"},
                                               {"TimeoutError", "OSError"},
                                               {"ConnectionError", "OSError"},
                                               {"BrokenPipeError", "ConnectionError"},
                                               {"ConnectionResetError", "ConnectionError"},
                                               {"ConnectionRefusedError", "ConnectionError"},
                                               {"ConnectionAbortedError", "ConnectionError"},
                                               {"KeyError", "LookupError"},
                                               {"IndexError", "LookupError"},
                                               {"ZeroDivisionError", "ArithmeticError"},
                                               {"OverflowError", "ArithmeticError"},
                                               {"FloatingPointError", "ArithmeticError"},
                                               {"UnboundLocalError", "NameError"},
                                               {"NotImplementedError", "RuntimeError"},
                                               {"RecursionError", "RuntimeError"},
                                               {"UnicodeError", "ValueError"},
                                               {"UnicodeDecodeError", "UnicodeError"},
                                               {"UnicodeEncodeError", "UnicodeError"},
                                               {"JSONDecodeError", "ValueError"},
                                               {"CalledProcessError", "SubprocessError"},
                                               {"TimeoutExpired", "SubprocessError"},
                                               {"IndentationError", "SyntaxError"}});
  const auto it = std::ranges::find(kKinds, name, &Kind::name);
  return it == kKinds.end() ? std::string_view() : it->of;
}

}  // namespace

int Follower::is_exception(const Val& exception, const Val& type) const {
  const Object* of = exception.object;
  const std::string raised = of == nullptr ? "" : of->of != nullptr ? of->of->name : of->name;
  const std::string wanted = type.object == nullptr ? "" : type.object->name;
  if (raised.empty() || wanted.empty()) return -1;
  std::string_view searched = last_name(wanted);
  if (searched == "IOError" || searched == "EnvironmentError") searched = "OSError";
  if (last_name(raised) == searched || wanted == "BaseException") return 1;
  const bool system = raised == "SystemExit" || raised == "KeyboardInterrupt" || raised == "GeneratorExit";
  if (wanted == "Exception") return system ? 0 : 1;
  if (system) return 0;
  const Object* own = exception.is(Val::Kind::kClass)                           ? of
                      : exception.is(Val::Kind::kInstance) && of->of != nullptr ? of->of
                                                                                : nullptr;
  if (own != nullptr) {
    for (const Object* base : own->bases) {
      if (last_name(base->name) == searched) return 1;
    }
    return -1;
  }
  for (std::string_view kind = kind_of_exception(last_name(raised)); !kind.empty(); kind = kind_of_exception(kind)) {
    if (kind == searched) return 1;
  }
  const bool is_known = !kind_of_exception(last_name(raised)).empty();
  return !is_known && (searched == "OSError" || searched == "LookupError" || searched == "ArithmeticError" ||
                       searched == "RuntimeError")
             ? -1
             : 0;
}

int Follower::catches(const Handler& handler, const Val& exception) {
  if (handler.what == nullptr) return 1;
  const Val type = value(*handler.what);
  if (!type.is(Val::Kind::kTuple)) return is_exception(exception, type);
  int out = 0;
  for (const Val& one : type.object->now.items) {
    const int fits = is_exception(exception, one);
    if (fits == 1) return 1;
    if (fits == -1) out = -1;
  }
  return out;
}

Follower::Flow Follower::handle(const Handler& handler, const Val& exception) {
  if (!handler.name.empty()) {
    touch(locals_);
    locals_->now.names[handler.name] = exception;
  }
  Flow out = run(handler.body);
  if (out.on && !handler.name.empty()) {
    touch(locals_);
    locals_->now.names.erase(handler.name);
  }
  return out;
}

void Follower::catch_left(const Stmt& one, std::vector<Left> raised, std::vector<StatePtr>& ends, Flow& out,
                          bool sure) {
  for (Left& left : raised) {
    bool caught = false;
    for (const Handler& handler : one.handlers) {
      const int fits = catches(handler, left.value);
      if (fits == 0) continue;
      turn_to(left.state);
      StatePtr again = fits == 1 ? nullptr : take();
      const bool conditional = !sure || fits == -1;
      if (conditional) conditions_.push_back(fmt::format("in a branch at line {}", line(one.begin)));
      Flow flow = handle(handler, left.value);
      if (conditional) conditions_.pop_back();
      std::move(flow.left.begin(), flow.left.end(), std::back_inserter(out.left));
      if (flow.on) ends.push_back(take());
      if (again) {
        turn_to(again);
        drop(again);
        drop(left.state);
        left.state = take();
        continue;
      }
      caught = true;
      break;
    }
    if (caught) {
      drop(left.state);
    } else if (tries_ == 0) {
      drop(left.state);
      left.state = nullptr;
      const std::string what = leaves(left);
      if (endings_.size() < kMostEndings) endings_.push_back(what);
    } else {
      out.left.push_back(std::move(left));
    }
  }
}

// Something in the body may have failed, at a place that is not known.
void Follower::catch_unsure(const Stmt& one, std::vector<StatePtr>& ends, Flow& out) {
  const StatePtr base = take();
  for (const Handler& handler : one.handlers) {
    conditions_.push_back(fmt::format("in a branch at line {}", line(one.begin)));
    Flow flow = handle(handler, unknown("what was raised is not known", one.begin));
    conditions_.pop_back();
    std::move(flow.left.begin(), flow.left.end(), std::back_inserter(out.left));
    if (flow.on) ends.push_back(take());
    turn_to(base);
    base->other.clear();
  }
  drop(base);
}

// unittest.mock.patch(…) and its kin, which put something else in the place of what is called within.
static bool is_patch(std::string_view written) {
  const std::string_view name = written.substr(0, written.find('('));
  return name == "patch" || name.starts_with("patch.") || name.find("mock.patch") != std::string_view::npos;
}

Follower::Flow Follower::with_statement(const Stmt& one) {
  for (const Expr* manager : one.values) {
    if (!is_patch(source_.text.substr(manager->begin, manager->end - manager->begin))) continue;
    conditions_.emplace_back("where what a patch puts in its place starts it");
    Flow out = with_managers(one);
    conditions_.pop_back();
    return out;
  }
  return with_managers(one);
}

// What stands behind the manager that gave `entered`: the next, or the body.
Follower::Flow Follower::inside(const Val& entered, const Stmt& one, std::size_t from) {
  if (one.targets[from] != nullptr) bind(*one.targets[from], entered);
  return with_managers(one, from + 1);
}

Follower::Flow Follower::with_managers(const Stmt& one, std::size_t from) {
  const Deeper deeper(*this);
  if (from == one.values.size()) return run(one.body);
  const Val manager = value(*one.values[from]);
  if (is_context(manager)) return within_context(manager, one, from);
  if (manager.is(Val::Kind::kInstance) && manager.object->name == "contextlib.suppress")
    return within_suppress(manager, one, from);
  if (manager.is(Val::Kind::kInstance) && manager.object->of != nullptr) return within_object(manager, one, from);
  return inside(manager, one, from);
}

// What leaves a statement by raising; behind no try it ends the program.
void Follower::end_or_raise(Left left, Flow& out) {
  if (tries_ > 0 || left.state == nullptr) {
    out.left.push_back(std::move(left));
    return;
  }
  drop(left.state);
  const std::string what = leaves(left);
  ended_at_ = left.at;
  if (endings_.size() < kMostEndings && std::ranges::find(endings_, what) == endings_.end()) endings_.push_back(what);
}

// The body runs where the function of the context yields, and what it raises is raised there.
Follower::Flow Follower::within_context(const Val& context, const Stmt& one, std::size_t from) {
  Flow out;
  std::optional<Left> leaving;
  Frame own{locals_, function_, global_names_, yield_to_};
  Object* entered = context.object;
  entered->called = true;
  const YieldTo to = [&](const Val& v) {
    if (leaving) return;
    Frame inner = turn_to_frame(own);
    Flow flow;
    try {
      flow = inside(v, one, from);
    } catch (...) {
      own = turn_to_frame(std::move(inner));
      throw;
    }
    own = turn_to_frame(std::move(inner));
    std::optional<Left> last;
    if (!flow.on && !flow.left.empty()) last = flow.left.back();
    if (last) flow.left.pop_back();
    std::move(flow.left.begin(), flow.left.end(), std::back_inserter(out.left));
    if (flow.on) return;
    if (!last || last->state == nullptr) throw Thrown{instance("SystemExit"), ended_at_};
    turn_to(last->state);
    drop(last->state);
    if (last->way == Way::kRaise) throw Thrown{last->value, last->at};
    leaving = *last;  // what stands behind the yield runs first
  };
  (void)body_value(entered->bases[0], entered->scope, &to);
  if (!leaving) return out;
  leaving->state = take();
  out.left.push_back(*leaving);
  out.on = false;
  return out;
}

// What another than `with` is handed may enter it.
void Follower::enter_elsewhere(const Val& context, const std::string& to, std::size_t at) {
  if (std::exchange(context.object->called, true)) return;
  conditions_.push_back(fmt::format("where what {} is handed to calls it", to));
  const YieldTo to_nothing = [](const Val&) {};
  const std::string why = fmt::format("a context is handed to {} at line {}, which may enter it", to, line(at));
  const StatePtr before = take();
  try {
    (void)body_value(context.object->bases[0], context.object->scope, &to_nothing);
  } catch (const Thrown&) {
  }
  merge(before, why, at);
  conditions_.pop_back();
}

// An object with __enter__ and __exit__.
Follower::Flow Follower::within_object(const Val& manager, const Stmt& one, std::size_t from) {
  bool unclear = false;
  const auto method_of = [&](const char* name) {
    const Val* found = class_member(manager.object->of, name, unclear);
    return found != nullptr && found->is(Val::Kind::kFunction) ? found : nullptr;
  };
  const Val* enter = method_of("__enter__");
  if (enter == nullptr) enter = method_of("__aenter__");
  const Val* exit = method_of("__exit__");
  if (exit == nullptr) exit = method_of("__aexit__");
  Val entered = manager;
  if (enter != nullptr) {
    Arguments a;
    a.at = one.begin;
    entered = call(bound_member(*enter, manager, manager.object->of, *one.values[from]), a);
  }
  if (exit == nullptr) return inside(entered, one, from);
  const Val leaves_by = *exit;
  ++tries_;
  Flow flow;
  try {
    flow = inside(entered, one, from);
  } catch (const Thrown& thrown) {
    flow = leave(Way::kRaise, thrown.value, thrown.at);
  }
  --tries_;
  call_exit(leaves_by, manager, one, flow);
  return flow;
}

// __exit__ is called however the body is left; what it says of what was raised decides whether that goes on.
void Follower::call_exit(const Val& exit, const Val& manager, const Stmt& one, Flow& flow) {
  const auto exited = [&](const Val& raised) {
    Arguments a;
    a.at = one.begin;
    a.values = {raised.is(Val::Kind::kNone) ? none() : unknown("what was raised", one.begin), raised, raised};
    return call(bound_member(exit, manager, manager.object->of, *one.values[0]), a);
  };
  if (flow.on) (void)exited(none());
  std::vector<Left> all = std::exchange(flow.left, {});
  const bool alone = !flow.on && all.size() == 1;
  for (Left& left : all) {
    if (!alone || left.state == nullptr) {
      if (left.way == Way::kRaise)
        end_or_raise(std::move(left), flow);
      else
        flow.left.push_back(std::move(left));
      continue;
    }
    turn_to(left.state);
    drop(left.state);
    const Val says = exited(left.way == Way::kRaise ? left.value : none());
    if (left.way == Way::kRaise && truth(says) == std::optional(true)) {
      flow.on = true;
      continue;
    }
    if (left.way == Way::kRaise && !truth(says)) ++doubts_;
    left.state = take();
    if (left.way == Way::kRaise)
      end_or_raise(std::move(left), flow);
    else
      flow.left.push_back(std::move(left));
  }
}

// contextlib.suppress(TYPE, …)
Follower::Flow Follower::within_suppress(const Val& manager, const Stmt& one, std::size_t from) {
  ++tries_;
  const StatePtr before = take();
  const std::size_t doubts = doubts_;
  Flow out;
  try {
    out = inside(none(), one, from);
  } catch (const Thrown& thrown) {
    out = leave(Way::kRaise, thrown.value, thrown.at);
  }
  --tries_;
  std::vector<Left> raised;
  std::vector<Left> others;
  for (Left& left : out.left) {
    const bool held = left.way == Way::kRaise && std::ranges::any_of(manager.object->bound, [&](const Val& type) {
                        return is_exception(left.value, type) != 0;
                      });
    (held ? raised : others).push_back(std::move(left));
  }
  settle(raised, Way::kRaise, out, fmt::format("depends on what fails at line {}", line(one.begin)), one.begin);
  out.left.clear();
  for (Left& left : others) {
    if (left.way == Way::kRaise)
      end_or_raise(std::move(left), out);
    else
      out.left.push_back(std::move(left));
  }
  if (doubts_ > doubts && out.on)
    merge(before, fmt::format("depends on what fails at line {}", line(one.begin)), one.begin);
  else
    drop(before);
  return out;
}

// --- match ---

// 1, 0, or -1 where it is not known.
int Follower::matches(const Expr& pattern, const Val& v) {
  if (pattern.kind == Expr::Kind::kName) {
    if (pattern.name != "_") bind(pattern, v);
    return 1;
  }
  if (pattern.kind == Expr::Kind::kBinary && pattern.name == "|") {
    const int left = matches(*pattern.kids[0], v);
    if (left == 1) return 1;
    const int right = matches(*pattern.kids[1], v);
    return right == 1 ? (left == -1 ? -1 : 1) : std::min(left, right);
  }
  if (pattern.kind == Expr::Kind::kList || pattern.kind == Expr::Kind::kTuple) return matches_items(pattern, v);
  if (pattern.kind == Expr::Kind::kDict) return matches_entries(pattern, v);
  if (pattern.kind == Expr::Kind::kCall) return matches_type(pattern, v);
  const bool plain = pattern.kind == Expr::Kind::kText || pattern.kind == Expr::Kind::kNumber ||
                     pattern.kind == Expr::Kind::kConstant || pattern.kind == Expr::Kind::kAttribute;
  if (!plain) return -1;
  const auto fits = equal(v, value(pattern));
  return fits ? (*fits ? 1 : 0) : -1;
}

// case [A, B, *REST]
int Follower::matches_items(const Expr& pattern, const Val& v) {
  if (v.is(Val::Kind::kUnknown) || v.is(Val::Kind::kInstance)) return -1;
  if ((!v.is(Val::Kind::kList) && !v.is(Val::Kind::kTuple)) || is_iterator(v)) return 0;
  const std::vector<Val> items = v.object->now.items;
  if (std::ranges::any_of(items, is_many)) return -1;
  const auto star = std::ranges::find(pattern.kids, Expr::Kind::kStar, &Expr::kind);
  const bool open = star != pattern.kids.end();
  if (open ? items.size() + 1 < pattern.kids.size() : items.size() != pattern.kids.size()) return 0;
  const auto before = static_cast<std::size_t>(star - pattern.kids.begin());
  int out = 1;
  for (std::size_t i = 0; i < pattern.kids.size() && out != 0; ++i) {
    const Expr& kid = *pattern.kids[i];
    const std::size_t behind = pattern.kids.size() - i;  // as many stand from here on
    if (i != before || !open) {
      const int one = matches(kid, items[i < before ? i : items.size() - behind]);
      out = one == 0 ? 0 : std::min(out, one);
      continue;
    }
    const auto from = items.begin() + static_cast<std::ptrdiff_t>(i);
    if (kid.kids[0]->name != "_")
      bind(*kid.kids[0], list_of({from, items.end() - static_cast<std::ptrdiff_t>(behind - 1)}));
  }
  return out;
}

// case {"a": A, **REST}
int Follower::matches_entries(const Expr& pattern, const Val& v) {
  if (v.is(Val::Kind::kUnknown) || v.is(Val::Kind::kInstance)) return -1;
  if (!v.is(Val::Kind::kDict)) return 0;
  if (!v.object->now.open.empty() || v.object->now.inherits) return -1;
  int out = 1;
  for (std::size_t i = 0; i + 1 < pattern.kids.size() && out != 0; i += 2) {
    if (pattern.kids[i] == nullptr) {
      bind(*pattern.kids[i + 1], unclear(*pattern.kids[i + 1]));
      continue;
    }
    const Val* found = entry(v.object, value(*pattern.kids[i]));
    if (found == nullptr || found->is(Val::Kind::kGone)) return 0;
    const Val held = *found;
    const int one = matches(*pattern.kids[i + 1], held);
    out = one == 0 ? 0 : std::min(out, one);
  }
  return out;
}

// case int(A), case str(): of Python's own types alone.
int Follower::matches_type(const Expr& pattern, const Val& v) {
  constexpr auto kTypes = std::to_array<std::string_view>({"int", "str", "float", "bool", "list", "dict", "tuple"});
  const Val type = value(*pattern.kids[0]);
  const bool own = type.is(Val::Kind::kNative) && std::ranges::find(kTypes, type.object->name) != kTypes.end();
  if (!own || pattern.arguments.size() > 1) return -1;
  Arguments a;
  a.at = pattern.begin;
  a.end = pattern.end;
  a.values = {v, type};
  const auto is = type_question("isinstance", a);
  const auto holds = is ? truth(*is) : std::nullopt;
  if (holds != std::optional(true)) return holds ? 0 : -1;
  return pattern.arguments.empty() ? 1 : matches(*pattern.arguments[0].value, v);
}

Follower::Flow Follower::match_cases(const Stmt& one, const Val& v, std::size_t from) {
  const Deeper deeper(*this);
  for (std::size_t i = from; i < one.handlers.size(); ++i) {
    const Handler& handler = one.handlers[i];
    int fits = matches(*handler.what, v);
    if (fits == 1 && !handler.name.empty()) {
      touch(locals_);
      locals_->now.names[handler.name] = v;
    }
    if (fits != 0 && handler.guard != nullptr) {
      const auto holds = truth(value(*handler.guard));
      if (holds == std::optional(false)) fits = 0;
      if (!holds) fits = -1;
    }
    if (fits == 0) continue;
    if (fits == 1) return run(handler.body);
    return branch([&] { return run(handler.body); }, [&] { return match_cases(one, v, i + 1); }, one.begin);
  }
  return {};
}

Follower::Flow Follower::match_statement(const Stmt& one) { return match_cases(one, value(*one.value), 0); }

// --- definitions ---

void Follower::define_function(const Stmt& one) {
  Val f;
  f.kind = Val::Kind::kFunction;
  f.object = make();
  f.object->name = one.name;
  f.object->statement = &one;
  f.object->scope = locals_;
  // Defaults are what they are now.
  for (const Parameter& parameter : one.parameters) {
    if (parameter.fallback == nullptr) continue;
    Val fallback = value(*parameter.fallback);
    const Expr& written = *parameter.fallback;
    const bool of_typer = written.kind == Expr::Kind::kCall && shown(written.begin, written.end).starts_with("typer.");
    if (of_typer) fallback = as_typer_reads(parameter, fallback, written.begin);
    f.object->keys["=" + parameter.name] = std::move(fallback);
  }
  if (quiet_ == 0) functions_.push_back(f.object);
  Val v = decorated(one, f);
  touch(locals_);
  locals_->now.names[one.name] = v;
}

// Decorators that leave a function what it is, or that are followed; others are told of what it starts.
Val Follower::decorated(const Stmt& one, Val v) {
  for (auto it = one.values.rbegin(); it != one.values.rend(); ++it) {
    const Val decorator = value(**it);
    const std::string name =
        decorator.is(Val::Kind::kNative) || decorator.is(Val::Kind::kInstance) ? decorator.object->name : std::string();
    if (name == "property" || name == "functools.cached_property" || name == "staticmethod" || name == "classmethod") {
      v.object->way = name == "functools.cached_property" ? "property" : name;
    } else if (name.starts_with("dataclasses.dataclass")) {
      v.object->way = "dataclass";
    } else if (name == "functools.lru_cache" || name == "functools.cache" || name == "functools.wraps" ||
               name == "contextlib.contextmanager" || name == "abc.abstractmethod" || name == "typing.overload" ||
               name == "enum.unique") {
      if (name == "contextlib.contextmanager") v.object->altered = shown((*it)->begin, (*it)->end);
    } else if (name == "atexit.register") {
      Arguments a;
      a.at = a.end = one.begin;
      a.values = {v};
      (void)at_exit(name, a);
    } else if ((name == "click.option" || name == "click.argument") && v.is(Val::Kind::kFunction)) {
      take_click_option(v.object, *decorator.object, (*it)->begin);
    } else if (decorator.is(Val::Kind::kFunction) && (v.is(Val::Kind::kFunction) || v.is(Val::Kind::kClass))) {
      Arguments a;
      a.values = {v};
      a.at = one.begin;
      v = call(decorator, a);
    } else if (v.object != nullptr) {
      const bool rays = name == "ray.remote" || name == "ray.serve.deployment";  // whatever it is imported as
      v.object->altered = rays ? (name == "ray.remote" ? name : "serve.deployment") : shown((*it)->begin, (*it)->end);
      const auto variables = rays ? ray_variables_.find(decorator.object) : ray_variables_.end();
      if (variables != ray_variables_.end()) ray_variables_[v.object] = variables->second;
      if (v.is(Val::Kind::kClass) && !only_wraps(v.object->altered))
        lose(v.object, fmt::format("@{} may change {}", v.object->altered, v.object->name), one.begin);
    }
  }
  return v;
}

void Follower::define_class(const Stmt& one) {
  Val c;
  c.kind = Val::Kind::kClass;
  c.object = make();
  c.object->name = one.name;
  c.object->statement = &one;
  c.object->scope = locals_;
  for (const Argument& base : one.arguments) {
    const Val v = value(*base.value);
    const bool plain = v.is(Val::Kind::kNative) && (v.object->name == "abc.ABCMeta" || v.object->name == "type");
    if (base.name == "metaclass" && !plain) c.object->now.open = fmt::format("a metaclass makes {}", one.name);
    if (!base.name.empty()) continue;
    Object* of = v.is(Val::Kind::kClass) || v.is(Val::Kind::kNative) ? v.object : make();
    if (v.is(Val::Kind::kUnknown)) of->name = shown(base.value->begin, base.value->end);
    c.object->bases.push_back(of);
  }
  Object* outer = std::exchange(locals_, c.object);
  const std::size_t before = functions_.size();
  (void)run(one.body);
  locals_ = outer;
  for (std::size_t i = before; i < functions_.size(); ++i) {
    if (functions_[i]->scope == c.object) functions_[i]->of = c.object;
  }
  for (auto& [name, member] : c.object->now.names) {
    if (member.is(Val::Kind::kFunction) && member.object->scope == c.object) member.object->of = c.object;
  }
  if (quiet_ == 0) classes_.push_back(c.object);
  bool open = false;
  for (const Object* base : c.object->bases) {
    const bool changes = class_member(base, "__init_subclass__", open) != nullptr || !base->now.open.empty();
    if (changes && c.object->now.open.empty())
      c.object->now.open = fmt::format("{} may change {}", base->name, one.name);
  }
  if (const std::string why = c.object->now.open; !why.empty()) lose(c.object, why, one.begin);
  const Val v = decorated(one, c);
  touch(locals_);
  locals_->now.names[one.name] = v;
}

void Follower::import(const Stmt& one) {
  for (std::size_t i = 0; i + 1 < one.names.size(); i += 2) {
    const std::string& name = one.names[i];
    const bool renamed = !one.names[i + 1].empty();
    const std::string known = renamed ? one.names[i + 1] : name.substr(0, name.find('.'));
    touch(locals_);
    Val bound = native(renamed ? name : known);
    bound.object->imported_as = known;
    locals_->now.names[known] = std::move(bound);
    ++doubts_;
  }
}

void Follower::import_from(const Stmt& one) {
  for (std::size_t i = 0; i + 1 < one.names.size(); i += 2) {
    const std::string& name = one.names[i];
    if (name == "*") {
      lose(locals_, fmt::format("{} may set it at line {}", one.name, line(one.begin)), one.begin);
      locals_->now.open.clear();
      continue;
    }
    touch(locals_);
    const std::string known = one.names[i + 1].empty() ? name : one.names[i + 1];
    Val bound = imported(one.name + "." + name, one.begin);
    if (bound.is(Val::Kind::kNative)) bound.object->imported_as = known;
    locals_->now.names[known] = std::move(bound);
    ++doubts_;
  }
}

Val Follower::imported(const std::string& name, std::size_t) {
  if (auto constant = library_constant(name)) return *constant;
  return native(name);
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
      follow_alone(function, function->of,
                   handed        ? fmt::format("where what {} is handed to calls it", name)
                   : called_here ? fmt::format("where {} is called", name)
                                 : fmt::format("in {}, which nothing here calls", name));
      read();
    }
  }
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

void Follower::follow_alone(Object* function, Object* owner, const std::string& when) {
  const bool test = owner != nullptr && (function->name.starts_with("setUp") || function->name.starts_with("test"));
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
  try {
    const Val out = is_command(*function) && owner == nullptr
                        ? run_as_command({.kind = Val::Kind::kFunction, .object = function}, a)
                        : call_function(function, a);
    const YieldTo to_nothing = [](const Val&) {};
    if (is_context(out)) (void)body_value(out.object->bases[0], out.object->scope, &to_nothing);
    if (is_iterator(out)) bring_all(out.object);
  } catch (const Thrown&) {
  }
  pending_.clear();
  conditions_.resize(outer);
  endings_.clear();
}

}  // namespace preflight::sources::program
