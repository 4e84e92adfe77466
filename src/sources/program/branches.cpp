// Branches, loops and match. Tested by tests/traps_test.cpp, with Python as the judge.
#include "src/sources/program/follower.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/limits.h"

namespace preflight::sources::program {

Follower::Flow Follower::branch(const Step& yes, const Step& no, std::size_t at) {
  const StatePtr other = take();
  const auto endings = endings_;
  conditions_.push_back(in_branch(line(at)));
  Flow first = yes();
  turn_to(other);
  auto ended = std::exchange(endings_, endings);
  Flow second = no();
  conditions_.pop_back();
  for (Condition& one : ended) {
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
  const std::string_view asked = source_.text.substr(one.value->begin, one.value->end - one.value->begin);
  const bool guard = locals_ == globals_ && asked.find("__main__") != std::string_view::npos;
  if (guard && test == std::optional(true) && !as_imported_ && quiet_ == 0) as_imported_ = take();
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
  const Condition what = unless({{fmt::format("the loop at line {} runs, which has no end", line(loop.begin))}});
  if (tries_ > apart_) {
    if (endings_.size() < kMostEndings) endings_.push_back(what);
    return true;
  }
  const bool hides_more = source_.text.find("sglang", std::min(loop.end, source_.text.size())) != std::string::npos;
  if (quiet_ == 0 && locals_ == globals_ && hides_more)
    finder_.note({"SH004", fmt::format("what stands behind this does not run: {}", what.ending()), loop.begin});
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
    std::vector<Left> broken;
    const auto take_turn = [&] {
      const InFrame frame(*this, own);
      if (!is_many(v)) bind(*one.targets[0], v);
      const Flow flow = is_many(v) ? unknown_loop(one, [&] { bind_unclear(*one.targets[0]); }) : run(one.body);
      return turn(flow, out, broken);
    };
    if (take_turn()) return;
    if (out.left.empty() || out.left.back().way != Way::kRaise) refuse("SystemExit", ended_at_);
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
  Val all = value(*one.value);
  if (auto own = own_iterator(all, one.value->begin)) all = *std::move(own);
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
  conditions_.push_back(in_loop(line(one.begin)));
  (void)round(out);
  conditions_.pop_back();
  return out;
}

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

}  // namespace preflight::sources::program
