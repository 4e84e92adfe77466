// try, raise and with. Tested by tests/traps_test.cpp, with Python as the judge.
#include "src/sources/program/follower.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/sources/container_command.h"

namespace preflight::sources::program {

Follower::Flow Follower::try_statement(const Stmt& one) {
  const StatePtr before = take();
  const std::size_t doubts = doubts_;
  const std::size_t missing = missing_.size();
  ++tries_;
  Flow body = run(one.body);
  --tries_;
  meet_missing(missing, [&](const Val& exception) {
    return std::ranges::any_of(one.handlers, [&](const Handler& h) { return catches(h, exception) != 0; });
  });
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
                                               {"FrozenInstanceError", "AttributeError"},
                                               {"URLError", "OSError"},
                                               {"HTTPError", "URLError"},
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
      if (conditional) conditions_.push_back(in_branch(line(one.begin)));
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
      const Condition what = leaves(left);
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
    conditions_.push_back(in_branch(line(one.begin)));
    Flow flow = handle(handler, unknown("what was raised is not known", one.begin));
    conditions_.pop_back();
    std::move(flow.left.begin(), flow.left.end(), std::back_inserter(out.left));
    if (flow.on) ends.push_back(take());
    turn_to(base);
    renew(base);
  }
  drop(base);
}

// Programs that stand wherever Python does, on Debian and in images of it.
bool Follower::is_everywhere(std::string_view program) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"[",         "awk",     "base64",   "basename", "bash",    "cat",   "chgrp",  "chmod",   "chown",  "cmp",
       "cp",        "cut",     "dash",     "date",     "dd",      "df",    "diff",   "dirname", "du",     "echo",
       "egrep",     "env",     "expr",     "false",    "fgrep",   "find",  "flock",  "getent",  "grep",   "gunzip",
       "gzip",      "head",    "hostname", "id",       "ldd",     "ln",    "ls",     "lscpu",   "md5sum", "mkdir",
       "mktemp",    "mount",   "mv",       "nice",     "nohup",   "nproc", "paste",  "perl",    "pip",    "pip3",
       "printf",    "pwd",     "readlink", "realpath", "rm",      "rmdir", "sed",    "seq",     "setsid", "sh",
       "sha256sum", "shuf",    "sleep",    "sort",     "split",   "stat",  "stdbuf", "sync",    "tac",    "tail",
       "tar",       "taskset", "tee",      "test",     "timeout", "touch", "tr",     "true",    "tty",    "uname",
       "uniq",      "wc",      "which",    "whoami",   "xargs",   "yes"});
  const bool of_system =
      program.find('/') == program.npos || program.starts_with("/bin/") || program.starts_with("/usr/bin/");
  const std::string_view name = base_name(program);
  return name.starts_with("python") || (of_system && std::ranges::find(kNames, name) != kNames.end());
}

// A program that is not there raises FileNotFoundError, which check=False does not keep from ending this one.
void Follower::may_be_missing(const Val& args, std::size_t at) {
  const bool words = args.is(Val::Kind::kList) || args.is(Val::Kind::kTuple);
  if (quiet_ > 0 || apart_ > 0 || names_server(args) || (words && args.object->now.items.empty())) return;
  const Val& program = words ? args.object->now.items.front() : args;
  if (!program.known_text() || is_everywhere(program.text->text)) return;
  const std::string& name = program.text->text;
  spend_bytes(source_.text.size());
  for (const char quote : {'"', '\''}) {
    if (source_.text.find(fmt::format("which({0}{1}{0}", quote, name)) != std::string_view::npos) return;
  }
  may_raise("FileNotFoundError", at);
}

// What ends the program, or goes to a try around it, where something is not there.
void Follower::may_raise(const char* what, std::size_t at) {
  if (quiet_ > 0 || apart_ > 0) return;
  missing_.push_back({what, at});
  if (tries_ == 0) meet_missing(missing_.size() - 1, [](const Val&) { return false; });
}

void Follower::refuse(const char* what, std::size_t at) { throw Thrown{instance(what), at}; }

// What a try, or what stands for one, leaves of those within it.
void Follower::meet_missing(std::size_t from, const std::function<bool(const Val&)>& is_met) {
  if (missing_.size() <= from) return;
  std::vector<MayRaise> left(missing_.begin() + static_cast<std::ptrdiff_t>(from), missing_.end());
  missing_.resize(from);
  std::erase_if(left, [&](const MayRaise& one) { return is_met(instance(one.what)); });
  missing_.resize(from);  // what is asked of a handler may be missing itself, where something was raised
  missing_.insert(missing_.end(), left.begin(), left.end());
  for (std::size_t i = from; i < missing_.size() && tries_ == 0; ++i) {
    may_have_ended(unless_ended("the program ends", line(missing_[i].at)));
  }
  if (tries_ == 0) missing_.resize(std::min(from, missing_.size()));
}

// unittest.mock.patch(…) and its kin, which put something else in the place of what is called within.
static bool is_patch(std::string_view written) {
  const std::string_view name = written.substr(0, written.find('('));
  return name == "patch" || name.starts_with("patch.") || name.find("mock.patch") != std::string_view::npos;
}

Follower::Flow Follower::with_statement(const Stmt& one) {
  for (const Expr* manager : one.values) {
    if (!is_patch(source_.text.substr(manager->begin, manager->end - manager->begin))) continue;
    conditions_.push_back(where({{"what a patch puts in its place starts it"}}));
    Flow out = with_managers(one);
    conditions_.pop_back();
    return out;
  }
  Flow out = with_managers(one);
  if (one.waits) run_tasks();  // those of a group are waited for
  return out;
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
  // Of with (A, B): the parser makes a tuple.
  if (is_plain(manager) && !manager.sequence()) refuse("TypeError", one.values[from]->begin);
  if (is_context(manager)) return within_context(manager, one, from);
  if (manager.is(Val::Kind::kInstance) && manager.object->name == "contextlib.suppress")
    return within_suppress(manager, one, from);
  if (manager.is(Val::Kind::kInstance) && manager.object->name == "subprocess.process") {
    Flow out = inside(manager, one, from);
    ++stops_;  // it is waited for
    return out;
  }
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
  ended_at_ = left.at;
  may_have_ended(leaves(left));
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
    const auto run_body = [&] {
      const InFrame frame(*this, own);
      return inside(v, one, from);
    };
    Flow flow = run_body();
    std::optional<Left> last;
    if (!flow.on && !flow.left.empty()) last = flow.left.back();
    if (last) flow.left.pop_back();
    std::move(flow.left.begin(), flow.left.end(), std::back_inserter(out.left));
    if (flow.on) return;
    if (!last || last->state == nullptr) refuse("SystemExit", ended_at_);
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
  conditions_.push_back(where({{"what "}, named(to), {" is handed to calls it"}}));
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
    entered = awaited(call(bound_member(*enter, manager, manager.object->of, *one.values[from]), a), one.begin);
  }
  if (exit == nullptr) return inside(entered, one, from);
  const Val leaves_by = *exit;
  const std::size_t missing = missing_.size();
  ++tries_;
  Flow flow;
  try {
    flow = inside(entered, one, from);
  } catch (const Thrown& thrown) {
    flow = leave(Way::kRaise, thrown.value, thrown.at);
  }
  --tries_;
  meet_missing(missing, [](const Val&) { return false; });
  call_exit(leaves_by, manager, one, flow);
  return flow;
}

// __exit__ is called however the body is left; what it says of what was raised decides whether that goes on.
void Follower::call_exit(const Val& exit, const Val& manager, const Stmt& one, Flow& flow) {
  const auto exited = [&](const Val& raised) {
    Arguments a;
    a.at = one.begin;
    a.values = {raised.is(Val::Kind::kNone) ? none() : unknown("what was raised", one.begin), raised, raised};
    return awaited(call(bound_member(exit, manager, manager.object->of, *one.values[0]), a), one.begin);
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
  const std::size_t missing = missing_.size();
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
  meet_missing(missing, [&](const Val& exception) {
    return std::ranges::any_of(manager.object->bound, [&](const Val& type) { return is_exception(exception, type); });
  });
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

}  // namespace preflight::sources::program
