// What is known of Python's library: paths, JSON, shlex, workers. Tested by tests/traps_test.cpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "preflight/value.h"
#include "src/base/limits.h"
#include "src/python/json_text.h"
#include "src/sources/program/exact.h"
#include "src/sources/program/follower.h"

namespace preflight::sources::program {
namespace {

using Kind = Val::Kind;

// Calls that change nothing that a launch depends on, by the beginning of their names.
constexpr std::array<std::string_view, 27> kHarmless = {
    "time.",      "logging.",  "signal.",     "os.makedirs", "os.mkdir",      "os.chdir",         "os.kill",
    "os.setsid",  "warnings.", "atexit.",     "traceback.",  "json.dump",     "shutil.rm",        "sys.stdout",
    "sys.stderr", "gc.",       "random.seed", "os.umask",    "os.wait",       "os.setpgrp",       "faulthandler.",
    "sys.path",   "typing.",   "os.remove",   "os.unlink",   "asyncio.sleep", "torch.manual_seed"};

constexpr std::size_t kPathSteps = 50;            // to ask the system for a part of one
constexpr const char* kOwnProcess = "a process";  // of a worker or a pool: what it runs, runs in one

// Whether a path was made of where the program stands.
bool is_own(const Val& v) { return v.text->defaults != nullptr && v.text->defaults->contains("__file__"); }

// A path from the root without "." and ".."; `real`: links followed. "" where that is not known.
std::string normal_path(const std::string& path, bool real) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::string out = (real ? fs::weakly_canonical(path, error) : fs::path(path)).lexically_normal().string();
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return error || out.starts_with("//") ? std::string() : out;
}

}  // namespace

// A text that is made of `before` alone.
Val Follower::in_place_of(const Val& before, const std::string& made, std::size_t at) {
  spend_text(made.size());
  ShellText out{made, std::vector<std::size_t>(made.size(), at), {}};
  out.defaults = before.text->defaults;
  return text(std::move(out));
}

std::optional<Val> Follower::library_constant(const std::string& name) {
  if (name == "os.environ") return Val{.kind = Kind::kDict, .object = environ_};
  if (name == "sys.executable") return text("python3", 0);
  if (name == "sys.platform") return text("linux", 0);
  if (name == "os.name") return text("posix", 0);
  if (name == "os.sep" || name == "os.path.sep") return text("/", 0);
  if (name == "os.linesep") return text("\n", 0);
  if (name == "os.pathsep") return text(":", 0);
  if (name == "typing.TYPE_CHECKING") return boolean(false);
  if (name == "sys.argv") {
    Val& own = globals_->now.names[".sys.argv"];
    if (own.is(Kind::kNone)) own = list_of(started_with());
    return own;
  }
  return std::nullopt;
}

// --- paths ---

// As pathlib keeps it: without empty parts and ".", but for two slashes in front.
Val Follower::path_of(ShellText t) {
  const std::size_t slashes = std::min(t.text.find_first_not_of('/'), t.text.size());
  ShellText kept = sources::slice(t, 0, slashes == 2 ? 2 : std::min<std::size_t>(slashes, 1));
  kept.defaults = t.defaults;
  for (std::size_t from = slashes; from < t.text.size();) {
    const std::size_t end = std::min(t.text.find('/', from), t.text.size());
    if (const std::string part = t.text.substr(from, end - from); !part.empty() && part != ".") {
      if (!kept.text.empty() && !kept.text.ends_with('/'))
        append(kept, ShellText{"/", {t.origin.empty() ? 0 : t.origin[from]}, {}});
      append(kept, sources::slice(t, from, end));
    }
    from = end + 1;
  }
  if (kept.text.empty()) append(kept, ShellText{".", {0}, {}});
  Val out = instance("pathlib.Path");
  out.object->bound = {text(std::move(kept))};
  return out;
}

std::optional<Val> Follower::paths(const std::string& name, Arguments& a) {
  const auto plain = [&](const Val& v) { return str(v, a.at); };
  if (name == "os.path.join") {
    ShellText out;
    for (const Val& one : a.values) {
      const Val part = plain(one);
      if (!part.is(Kind::kText)) return unclear(a.at, a.end);
      const ShellText& t = *part.text;
      if (!t.text.empty() && t.text[0] == kHole && !out.text.empty()) return unclear(a.at, a.end);
      if (t.text.starts_with('/') || out.text.empty()) {
        spend_text(t.text.size());
        out = t;
        continue;
      }
      if (!out.text.ends_with('/')) add(out, ShellText{"/", {a.at}, {}});
      add(out, t);
    }
    return text(std::move(out));
  }
  if (a.values.size() != 1) return std::nullopt;
  const Val v = plain(a.values[0]);
  if (!v.known_text()) return std::nullopt;
  const std::string& s = v.text->text;
  spend_text(s.size());
  const auto slash = s.rfind('/');
  if (name == "os.path.basename")
    return text(sources::slice(*v.text, slash == std::string::npos ? 0 : slash + 1, s.size()));
  if (name == "os.path.dirname") {
    if (slash == std::string::npos) return text("", a.at);
    const auto last = s.find_last_not_of('/', slash);  // none: there are slashes alone
    return text(sources::slice(*v.text, 0, last == std::string::npos ? slash + 1 : last + 1));
  }
  if (name == "os.path.expanduser" && !s.starts_with('~')) return v;
  if (name == "os.path.expandvars" && s.find('$') == std::string::npos) return v;
  const bool real = name == "os.path.realpath";
  if (s.starts_with('/') && (name == "os.path.abspath" || name == "os.path.normpath" || (real && is_own(v)))) {
    spend(kPathSteps * (1 + static_cast<std::size_t>(std::count(s.begin(), s.end(), '/'))));
    const std::string whole = normal_path(s, real);
    return whole.empty() ? std::nullopt : std::optional(in_place_of(v, whole, a.at));
  }
  if (name == "os.path.splitext") {
    const std::string last = s.substr(slash == std::string::npos ? 0 : slash + 1);
    const auto dot = last.rfind('.');
    const bool has = dot != std::string::npos && last.find_first_not_of('.') < dot;
    const std::size_t cut = has ? s.size() - last.size() + dot : s.size();
    return list_of({text(sources::slice(*v.text, 0, cut)), text(sources::slice(*v.text, cut, s.size()))}, Kind::kTuple);
  }
  if (name == "os.path.isabs") return boolean(s.starts_with('/'));
  return std::nullopt;
}

// PATH.relative_to(OTHER): what stands behind it; of another folder it raises.
std::optional<Val> Follower::relative_path(const Val& path, const Arguments& a) {
  const Val other = a.values[0].is(Kind::kText) ? path_of(*a.values[0].text) : a.values[0];
  const ShellText* from = path_text(other);
  if (from == nullptr || !from->unknowns.empty() || is_own(path) || is_own(*other.object->bound.data()))
    return std::nullopt;
  const std::string& s = path.text->text;
  const std::string front = from->text == "." || from->text == "/" ? (from->text == "/" ? "/" : "") : from->text + "/";
  if (s == from->text) return path_of(ShellText{".", {a.at}, {}});
  if (!s.starts_with(front) || (front.empty() && s.starts_with('/'))) refuse("ValueError", a.at);
  return path_of(sources::slice(*path.text, front.size(), s.size()));
}

std::optional<Val> Follower::path_method(const std::string& name, const Val& self, Arguments& a) {
  if (self.object->bound.empty()) return std::nullopt;
  const Val path = self.object->bound[0];
  const std::string& s = path.text->text;
  spend_text(s.size());
  if (name == "joinpath") {
    Arguments all = a;
    all.values.insert(all.values.begin(), path);
    const auto out = paths("os.path.join", all);
    return out && out->is(Kind::kText) ? path_of(*out->text) : unclear(a.at, a.end);
  }
  if (name == "as_posix" || name == "__str__") return path;
  if (!path.known_text()) return std::nullopt;
  const auto slash = s.rfind('/');
  const std::string last = s.substr(slash == std::string::npos ? 0 : slash + 1);
  if (name == ".name") return in_place_of(path, last, a.at);
  if (name == ".stem")
    return in_place_of(
        path, last.substr(0, last.rfind('.') == 0 || last.ends_with('.') ? std::string::npos : last.rfind('.')), a.at);
  const auto dot = last.rfind('.');
  if (name == ".suffix") {
    const bool has = dot != std::string::npos && dot > 0 && dot + 1 < last.size();
    return in_place_of(path, has ? last.substr(dot) : std::string(), a.at);
  }
  const bool renames = (name == "with_suffix" || name == "with_name" || name == "with_stem") && a.values.size() == 1 &&
                       a.values[0].known_text() && a.keys.empty();
  if (renames) {
    const std::string& given = a.values[0].text->text;
    const bool has = dot != std::string::npos && dot > 0 && dot + 1 < last.size();
    const std::string stem = has ? last.substr(0, dot) : last;
    const std::string suffix = has ? last.substr(dot) : std::string();
    const bool fits =
        !last.empty() && last != ".." && last != "." && !last.ends_with('.') && given.find('/') == std::string::npos &&
        given != "." &&
        (name == "with_suffix" ? given.empty() || (given.starts_with('.') && given.size() > 1 && !given.ends_with('.'))
                               : !given.empty());
    if (!fits) return std::nullopt;
    const std::string made = name == "with_suffix" ? stem + given : name == "with_name" ? given : given + suffix;
    return path_of(*in_place_of(path, s.substr(0, s.size() - last.size()) + made, a.at).text);
  }
  if (name == "relative_to" && a.values.size() == 1 && a.keys.empty()) return relative_path(path, a);
  if (name == ".parts") {
    std::vector<Val> parts;
    if (s.starts_with('/')) parts.push_back(text("/", a.at));
    for (std::size_t from = s.find_first_not_of('/'); from < s.size() && s != ".";) {
      const std::size_t end = std::min(s.find('/', from), s.size());
      parts.push_back(text(sources::slice(*path.text, from, end)));
      from = end + 1;
    }
    return s.starts_with("//") ? std::nullopt : std::optional(list_of(std::move(parts), Kind::kTuple));
  }
  if (name == "is_absolute" && a.values.empty()) return boolean(s.starts_with('/'));
  const std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : s.substr(0, slash);
  if (name == ".parent") return path_of(*in_place_of(path, parent, a.at).text);
  const bool whole = s.starts_with('/') && a.values.empty();
  if (whole && name == ".parents") {
    std::vector<Val> all;
    for (std::string at = s; at != "/" && all.size() < limits::kPathParents;) {
      const auto last_slash = at.rfind('/');
      at = last_slash == 0 ? "/" : at.substr(0, last_slash);
      all.push_back(path_of(*in_place_of(path, at, a.at).text));
    }
    return list_of(std::move(all));
  }
  if (whole && name == "absolute" && s.find("/.") == std::string::npos) return path_of(*path.text);
  if (whole && name == "resolve" && is_own(path)) {
    spend(kPathSteps * (1 + static_cast<std::size_t>(std::count(s.begin(), s.end(), '/'))));
    const std::string real = normal_path(s, true);
    if (!real.empty()) return path_of(*in_place_of(path, real, a.at).text);
  }
  return std::nullopt;
}

// --- JSON ---

// What stands between the brackets of a list or a dictionary.
bool Follower::json_items(const Val& v, const JsonStyle& style, ShellText& out, std::size_t at, int depth) {
  const auto put = [&](const std::string& s) { add(out, *text(s, v.begin < v.end ? v.begin : at).text); };
  const bool dict = v.is(Kind::kDict);
  std::vector<std::pair<Val, Val>> pairs = v.object->now.pairs;
  std::erase_if(pairs, [](const auto& one) { return one.second.is(Kind::kGone); });
  for (const Val& item : v.object->now.items) {
    if (is_many(item)) return false;
    if (!dict) pairs.emplace_back(Val{}, item);
  }
  const bool plain = std::ranges::all_of(pairs, [](const auto& one) { return one.first.known_text(); });
  if (dict && !plain) return false;
  if (dict && style.sorted) std::ranges::stable_sort(pairs, {}, [](const auto& one) { return one.first.text->text; });
  spend(2 * pairs.size());
  const auto line = [&](int deep) {
    if (style.indent >= 0) put("\n" + std::string(static_cast<std::size_t>(style.indent * deep), ' '));
  };
  bool first = true;
  for (const auto& [key, item] : pairs) {
    if (!first) put(style.compact || style.indent >= 0 ? "," : ", ");
    first = false;
    line(depth + 1);
    if (dict && !json_text(key, style, out, at, depth + 1)) return false;
    if (dict) put(style.compact ? ":" : ": ");
    if (item.is(Kind::kUnknown))
      append(out, hole(item, at));
    else if (!json_text(item, style, out, at, depth + 1))
      return false;
  }
  if (!first) line(depth);
  return true;
}

bool Follower::json_text(const Val& v, const JsonStyle& style, ShellText& out, std::size_t at, int depth) {
  const auto put = [&](const std::string& s) { add(out, *text(s, v.begin < v.end ? v.begin : at).text); };
  if (depth > 20) return false;
  spend(2);
  switch (v.kind) {
    case Kind::kNone:
      put("null");
      return true;
    case Kind::kBool:
      put(v.integer != 0 ? "true" : "false");
      return true;
    case Kind::kInt:
      put(*repr(v));
      return true;
    case Kind::kFloat:
      put(std::isnan(v.number) ? "NaN" : !std::isinf(v.number) ? *repr(v) : v.number < 0 ? "-Infinity" : "Infinity");
      return true;
    case Kind::kText: {
      if (!v.known_text()) return false;
      const std::string& s = v.text->text;
      spend_text(s.size());
      if (style.any_letter && std::ranges::any_of(s, [](char c) { return static_cast<unsigned char>(c) >= 0x7f; }))
        return false;
      put(python::json_dumps(Value(s)));
      return true;
    }
    case Kind::kList:
    case Kind::kTuple:
      if (is_iterator(v) || is_view(v) || v.object->name == kRange) return false;
      put("[");
      if (!json_items(v, style, out, at, depth)) return false;
      put("]");
      return true;
    case Kind::kDict:
      if (!v.object->now.open.empty() || v.object->now.inherits) return false;
      put("{");
      if (!json_items(v, style, out, at, depth)) return false;
      put("}");
      return true;
    default:
      return false;
  }
}

// The keywords of json.dumps; none where one is not followed.
std::optional<Follower::JsonStyle> Follower::json_style(const Arguments& a) {
  JsonStyle out;
  for (const auto& [key, v] : a.keys) {
    const auto test = truth(v);
    if (key == "separators" && !v.is(Kind::kNone)) {
      const auto items = items_of(v, a.at);
      const bool two = items && items->size() == 2 && (*items)[0].known_text() && (*items)[1].known_text();
      const std::string both = two ? (*items)[0].text->text + (*items)[1].text->text : std::string();
      out.compact = both == ",:";
      if (!out.compact && both != ", : ") return std::nullopt;
    } else if (key == "indent" && (v.is(Kind::kNone) || (v.is(Kind::kInt) && v.integer >= 0 && v.integer <= 16))) {
      out.indent = v.is(Kind::kNone) ? -1 : v.integer;
    } else if (key == "sort_keys" && test) {
      out.sorted = *test;
    } else if (key == "ensure_ascii" && test) {
      out.any_letter = !*test;
    } else if (key != "default" && key != "separators") {  // which is asked about what is no JSON alone
      return std::nullopt;
    }
  }
  const Val* separators = a.key("separators");
  if (out.indent >= 0 && separators != nullptr && !separators->is(Kind::kNone)) return std::nullopt;
  return out;
}

std::optional<Val> Follower::json(const std::string& name, Arguments& a) {
  if (name != "json.dumps" || a.values.size() != 1) return std::nullopt;
  const auto style = a.more.empty() ? json_style(a) : std::nullopt;
  ShellText out;
  if (!style || !json_text(a.values[0], *style, out, a.at, 0)) return unclear(a.at, a.end);
  return text(std::move(out));
}

// re.sub(PATTERN, TEXT, TEXT) of a pattern that is followed.
std::optional<Val> Follower::regular(const std::string& name, Arguments& a) {
  if (name != "re.sub" || a.values.size() != 3 || !a.keys.empty() || !a.more.empty()) return std::nullopt;
  const bool known = std::ranges::all_of(a.values, [](const Val& v) { return v.known_text(); });
  if (!known) return std::nullopt;
  const std::string& from = a.values[2].text->text;
  spend_text(from.size() * (a.values[1].text->text.size() + 1));
  const auto out = substituted(a.values[0].text->text, a.values[1].text->text, from);
  return out ? std::optional(in_place_of(a.values[2], *out, a.at)) : std::nullopt;
}

// --- iteration ---

// What each part gives, one after the other.
Val Follower::chained(const Val& parts, std::size_t at) {
  const Val all = iterator_over(parts, at);
  return iterator_of([this, all, at](Object* self) {
    Val part = self->now.names["."];
    if (part.is(Kind::kNone)) {
      const auto following = pull(all.object);
      if (!following) return false;
      touch(self);
      part = self->now.names["."] = iterator_over(*following, at);
    }
    const auto item =
        part.is(Kind::kList) ? pull(part.object) : unknown("what is left to go through is not known", at, true);
    touch(self);
    if (item) give(self, *item);
    if (!item) self->now.names["."] = none();
    return !item || !is_many(*item);
  });
}

std::optional<Val> Follower::iteration(const std::string& name, Arguments& a) {
  const auto many = [&] {
    return list_of({unknown(shown(a.at, a.end) + " is computed where the program runs", a.at, true)});
  };
  if (name == "itertools.chain" || name == "itertools.chain.from_iterable") {
    if (name.ends_with("from_iterable")) return a.values.empty() ? many() : chained(a.values[0], a.at);
    return chained(list_aside(a.values), a.at);
  }
  if (name == "itertools.product" && a.keys.empty()) {
    std::vector<std::vector<Val>> rows = {{}};
    for (const Val& one : a.values) {
      const auto items = items_of(one, a.at);
      if (!items || std::any_of(items->begin(), items->end(), is_many)) return many();
      std::vector<std::vector<Val>> next;
      for (const auto& row : rows) {
        for (const Val& item : *items) {
          spend_bytes((2 * row.size() + 1) * sizeof(Val) + sizeof(row));
          next.push_back(row);
          next.back().push_back(item);
        }
      }
      rows = std::move(next);
    }
    std::vector<Val> out;
    for (auto& row : rows) out.push_back(list_of(std::move(row), Kind::kTuple));
    return iterator_of(std::move(out));
  }
  return std::nullopt;
}

// --- threads, processes, pools ---

// What args= and kwargs= hand on.
Arguments Follower::arguments_in(const Val* args, const Val* keys, const Arguments& a) {
  Arguments out;
  out.at = a.at;
  out.end = a.end;
  out.call = a.call;
  const Val lost = unknown("what the worker is given is not known here", a.at, true);
  if (args != nullptr && !args->is(Kind::kNone)) out.values = items_of(*args, a.at).value_or(std::vector<Val>{lost});
  if (keys == nullptr || keys->is(Kind::kNone)) return out;
  const bool known = keys->is(Kind::kDict) && keys->object->now.open.empty();
  if (!known) out.more.push_back(lost);
  if (!keys->is(Kind::kDict)) return out;
  for (const auto& [key, v] : keys->object->now.pairs) {
    if (key.known_text()) out.keys.emplace_back(key.text->text, v);
  }
  return out;
}

// Thread(group, target, name, args, kwargs), as Process; Timer(interval, function, args, kwargs).
Val Follower::worker(const std::string& name, const Arguments& a) {
  Val out = instance("worker");
  if (name.ends_with(".Process")) out.object->way = kOwnProcess;
  const bool timer = name == "threading.Timer";
  const auto take = [&](std::size_t place, std::string_view key, const char* as) {
    if (const Val* v = a.argument(place, key)) out.object->keys[as] = *v;
  };
  take(1, timer ? "function" : "target", "target");
  take(timer ? 2 : 3, "args", "args");
  take(timer ? 3 : 4, "kwargs", "kwargs");
  return out;
}

void Follower::run_worker(const Object& worker, const Arguments& a) {
  const auto given = [&](const char* name) {
    const auto it = worker.keys.find(name);
    return it == worker.keys.end() ? nullptr : &it->second;
  };
  const Val* target = given("target");
  if (target == nullptr) return;
  Arguments inner = arguments_in(given("args"), given("kwargs"), a);
  if (worker.way == kOwnProcess) copy_arguments(inner);
  (void)in_process(worker.way == kOwnProcess, [&] {
    run_apart(*target, inner);
    return none();
  });
}

// What another process is handed, it has copies of.
void Follower::copy_arguments(Arguments& a) {
  std::map<const Object*, Object*> made;
  const auto copied_value = [&](Val& v) {
    const bool holds = v.sequence() || v.is(Kind::kDict);
    if (!holds) return;
    auto copy = deep_copy(v, made);
    if (copy) v = std::move(*copy);
  };
  for (Val& v : a.values) copied_value(v);
  for (auto& [key, v] : a.keys) copied_value(v);
}

// multiprocessing.set_start_method("spawn"), get_context("spawn").
void Follower::take_start_method(const Arguments& a) {
  const Val* method = a.argument(0, "method");
  if (method != nullptr && method->known_text()) spawns_ = spawns_ || method->text->text != "fork";
}

// A copy of what `run` gives, made before `put_back` brings back the state that it changed; what it raises goes on.
Val Follower::copy_of_what(const std::function<Val()>& run, const std::function<void()>& put_back) {
  Val out;
  try {
    out = run();
  } catch (const Thrown&) {
    put_back();
    throw;
  }
  std::map<const Object*, Object*> made;
  auto copy = deep_copy(out, made);
  put_back();
  return copy ? *copy : unclear(out.begin, std::max(out.begin, out.end));
}

// A process that imports the program anew: what its main part changed is not there, but for the environment and copies
// of what it is handed. Twice turned to, the state is the one that it was.
Val Follower::in_spawned(const std::function<Val()>& run) {
  const Content variables = environ_->now;
  const auto turn = [&] { turn_to(as_imported_); };
  turn();
  touch(environ_);
  environ_->now = variables;
  return copy_of_what(run, turn);
}

// Runs what another process runs, where `own`: what it changes is that one's alone, and what it gives is a copy.
Val Follower::in_process(bool own, const std::function<Val()>& run) {
  if (!own) return run();
  if (spawns_ && as_imported_) return in_spawned(run);
  const StatePtr before = take();
  return copy_of_what(run, [&] {
    turn_to(before);
    drop(before);
  });
}

// In a thread: what fails in it, or has no end, holds up that thread alone.
void Follower::run_apart(const Val& function, Arguments& a) {
  const auto endings = endings_;
  ++apart_;
  ++tries_;
  try {
    (void)call(function, a);
  } catch (const Thrown&) {
  }
  --tries_;
  --apart_;
  endings_ = endings;
}

std::optional<Val> Follower::pool_call(const std::string& name, const Object& pool, Arguments& a) {
  const bool own = pool.way == kOwnProcess;
  const bool applies = name == "pool.apply" || name == "pool.apply_async";
  if ((name == "pool.submit" || applies) && !a.values.empty()) {
    Arguments inner = a;
    inner.values.erase(inner.values.begin());
    if (applies) inner = arguments_in(a.argument(1, "args"), a.argument(2, "kwds"), a);
    (void)in_process(own, [&] {
      run_apart(a.values[0], inner);
      return none();
    });
    return instance("future");
  }
  constexpr auto kMaps = std::to_array<std::string_view>(
      {"pool.map", "pool.imap", "pool.imap_unordered", "pool.map_async", "pool.starmap", "pool.starmap_async"});
  if (std::ranges::find(kMaps, name) != kMaps.end() && a.values.size() >= 2) {
    auto out = map_of_pool(name.find("starmap") != std::string::npos, own, a);
    return out && name.ends_with("_async") ? instance("future") : std::move(out);
  }
  const bool hands_on = std::ranges::any_of(a.values, [](const Val& v) { return v.is(Kind::kFunction); });
  const bool of_pool = name.starts_with("pool.") || name.starts_with("future.");
  return of_pool && !hands_on ? std::optional(unclear(a.at, a.end)) : std::nullopt;
}

// map(FUNCTION, ITEMS, …) of an executor, which takes one of each; that of a pool has a number behind its only ones.
std::optional<Val> Follower::map_of_pool(bool spreads, bool own, Arguments& a) {
  std::vector<std::vector<Val>> rows;
  for (std::size_t i = 1; i < a.values.size(); ++i) {
    if (i > 1 && (a.values[i].is(Kind::kInt) || a.values[i].is(Kind::kNone))) continue;  // chunksize
    const auto items = items_of(a.values[i], a.at);
    if (!items || std::ranges::any_of(*items, is_many)) return std::nullopt;
    if (i == 1) rows.resize(items->size());
    rows.resize(std::min(rows.size(), items->size()));
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k].push_back((*items)[k]);
  }
  std::vector<Val> out;
  for (std::vector<Val>& row : rows) {
    Arguments inner;
    inner.at = a.at;
    inner.end = a.end;
    inner.values = spreads ? items_of(row[0], a.at).value_or(row) : std::move(row);
    out.push_back(in_process(own, [&] { return call(a.values[0], inner); }));
  }
  return list_of(std::move(out));
}

std::optional<Val> Follower::workers(const std::string& name, const Object& callee, Arguments& a) {
  if (callee.bound.empty()) {
    const bool one = name == "threading.Thread" || name == "threading.Timer" || name.ends_with(".Process");
    if (one) return worker(name, a);
    if (name.ends_with("ThreadPoolExecutor") || name.ends_with("ProcessPoolExecutor") || name.ends_with("Pool")) {
      Val pool = instance("pool");
      const bool threads = name.find("Thread") != std::string::npos || name.find(".dummy.") != std::string::npos;
      if (!threads) pool.object->way = kOwnProcess;
      return pool;
    }
    if (last_name(name) == "set_start_method") {
      take_start_method(a);
      return none();
    }
    if (name.ends_with("get_context")) {
      take_start_method(a);
      return native("multiprocessing");
    }
    return std::nullopt;
  }
  if (name == "worker.start" || name == "worker.run") {
    run_worker(*callee.bound[0].object, a);
    return none();
  }
  if (name == "worker.join" || name == "worker.is_alive" || name == "worker.daemon") return unclear(a.at, a.end);
  return pool_call(name, *callee.bound[0].object, a);
}

// --- dataclasses ---

// dataclasses.replace(object, …)
Val Follower::replaced(const Val& object, Arguments& a) {
  Object* type = object.object->of;
  std::vector<std::pair<std::string, Val>> fields;
  dataclass_fields(type, fields);
  Arguments all = a;
  all.values.clear();
  for (const auto& [name, fallback] : fields) {
    const auto it = object.object->now.names.find(name);
    if (a.key(name) == nullptr && it != object.object->now.names.end()) all.keys.emplace_back(name, it->second);
  }
  if (!object.object->now.open.empty()) return unclear(a.at, a.end);
  return instantiate(type, all);
}

// InitVar: no field, but an argument of __post_init__.
bool Follower::is_handed_on(const Object* type, const std::string& field) const {
  const auto says = [&](const Object* one) {
    const auto written = one->keys.find(kFieldType + (" " + field));
    return written != one->keys.end() && written->second.text->text.find("InitVar") != std::string::npos;
  };
  return says(type) || std::ranges::any_of(behind(type), says);
}

// dataclasses.fields(object): of each its name.
Val Follower::fields_of(const Val& object, std::size_t at) {
  std::vector<std::pair<std::string, Val>> fields;
  dataclass_fields(object.object->of, fields);
  std::vector<Val> out;
  for (const auto& [name, fallback] : fields) {
    if (is_handed_on(object.object->of, name)) continue;
    Val one = instance("types.SimpleNamespace");
    one.object->now.names["name"] = text(name, at);
    one.object->now.open = "what a field is but its name is not followed";
    out.push_back(std::move(one));
  }
  return list_of(std::move(out), Kind::kTuple);
}

// --- shlex ---

// As shlex.quote writes it.
Val Follower::quoted_for_shell(const Val& v, std::size_t at) {
  const std::string& s = v.text->text;
  spend_text(s.size());
  const bool safe = !s.empty() && std::all_of(s.begin(), s.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("@%+=:,./-_").find(c) != std::string_view::npos;
  });
  if (safe) return v;
  std::string out = "'";
  for (const char c : s) out += c == '\'' ? std::string("'\"'\"'") : std::string(1, c);
  return text(out + "'", at);
}

std::optional<Val> Follower::shell_words(const std::string& name, Arguments& a) {
  if (name == "shlex.split") return split_as_shell(a);
  const bool one = a.values.size() == 1;
  if ((name == "shlex.quote" || name == "pipes.quote") && one && a.values[0].known_text())
    return quoted_for_shell(a.values[0], a.at);
  if (!one || (name != "shlex.join" && name != "subprocess.list2cmdline")) return std::nullopt;
  const auto items = items_of(a.values[0], a.at);
  const auto no_text = [](const Val& v) { return is_plain(v) && !v.is(Kind::kText); };
  if (items && name == "shlex.join" && std::ranges::any_of(*items, no_text)) refuse("TypeError", a.at);
  if (!items || name != "shlex.join") return unclear(a.at, a.end);
  ShellText out;
  for (const Val& item : *items) {
    if (!out.text.empty()) add(out, *text(" ", a.at).text);
    add(out, item.known_text() ? *quoted_for_shell(item, a.at).text : hole(item, a.at));
  }
  return text(std::move(out));
}

// --- copies ---

// Lists and dictionaries down to their texts and numbers; none where an object of another kind is in them.
std::optional<Val> Follower::deep_copy(const Val& v, std::map<const Object*, Object*>& made, int depth) {
  constexpr int kDeep = 20;
  const Deeper deeper(*this);
  if (v.object == nullptr || v.is(Kind::kUnknown)) return v;
  if ((!v.sequence() && !v.is(Kind::kDict)) || v.object == environ_ || is_iterator(v) || depth > kDeep)
    return std::nullopt;
  Val out = v;
  if (const auto known = made.find(v.object); known != made.end()) {  // one of which there are several names
    out.object = known->second;
    return out;
  }
  out.object = make();
  made[v.object] = out.object;
  spend_bytes(sizeof(Val) * (v.object->now.items.size() + 2 * v.object->now.pairs.size()));
  const Content held = v.object->now;
  out.object->now = held;
  out.object->name = v.object->name;
  out.object->bound = v.object->bound;
  for (Val& item : out.object->now.items) {
    auto one = deep_copy(item, made, depth + 1);
    if (!one) return std::nullopt;
    item = std::move(*one);
  }
  for (auto& [key, item] : out.object->now.pairs) {
    auto one = deep_copy(item, made, depth + 1);
    if (!one) return std::nullopt;
    item = std::move(*one);
  }
  return out;
}

std::optional<Val> Follower::copied(const std::string& name, Arguments& a) {
  if ((name != "copy.copy" && name != "copy.deepcopy") || a.values.size() != 1) return std::nullopt;
  Val out = a.values[0];
  if (out.object == nullptr) return out;
  if (out.object == environ_ || is_iterator(out)) return unclear(a.at, a.end);
  if (out.sequence() && names_server(out)) used_.insert(out.object);
  if (name == "copy.deepcopy") {
    std::map<const Object*, Object*> made;
    auto copy = deep_copy(out, made);
    if (!copy) return unclear(a.at, a.end);
    if (quiet_ == 0 && names_server(*copy)) named_lists_.emplace_back(copy->object, conditions_.size());
    return copy;
  }
  if (out.sequence()) return list_of(out.object->now.items, out.kind);
  if (!out.is(Kind::kDict)) return unclear(a.at, a.end);
  Object* made = make();
  spend_bytes(2 * sizeof(Val) * out.object->now.pairs.size());
  made->now = out.object->now;
  out.object = made;
  return out;
}

// A function of which more is given: functools.partial, options() of Ray.
Val Follower::given_more(const Val& function) {
  Val out = function;
  Object* made = make();
  *made = *out.object;
  made->bases = {out.object->bases.empty() ? out.object : out.object->bases[0]};
  out.object = made;
  return out;
}

std::optional<Val> Follower::partial(const std::string& name, Arguments& a) {
  if (name != "functools.partial" || a.values.empty() || !a.values[0].is(Kind::kFunction)) return std::nullopt;
  Val out = given_more(a.values[0]);
  out.object->bound.insert(out.object->bound.end(), a.values.begin() + 1, a.values.end());
  for (const auto& [key, v] : a.keys) out.object->keys[key] = v;
  return out;
}

// --- asyncio ---

Val Follower::coroutine(Object* function, Object* locals) {
  Val out = instance(std::string(kCoroutine));
  out.object->bases = {function};
  out.object->scope = locals;
  out.object->now.names["."] = boolean(true);  // it waits
  return out;
}

// What awaiting a value gives: the body of a coroutine runs, once.
Val Follower::awaited(const Val& v, std::size_t at) {
  const bool many = v.is(Kind::kList) && v.object->name == "asyncio.gather";
  if (!is_coroutine(v)) run_tasks();
  if (many) {
    std::vector<Val> out;
    for (const Val& one : v.object->now.items) out.push_back(is_coroutine(one) ? awaited(one, at) : one);
    return list_of(std::move(out));
  }
  if (!is_coroutine(v)) return v;
  Object* self = v.object;
  if (const auto gave = self->now.names.find("gave"); gave != self->now.names.end()) return gave->second;
  const Val waits = self->now.names["."];
  ++doubts_;
  if (waits.is(Kind::kUnknown)) return unclear(at, at);
  touch(self);
  self->now.names["."] = unknown("it runs by now", at);
  self->bases[0]->called = true;
  Val out = body_value(self->bases[0], self->scope);
  touch(self);
  self->now.names["gave"] = out;
  return out;
}

// asyncio.create_task(COROUTINE): it begins when the program waits for the next time.
void Follower::schedule(const Val& v) {
  if (!is_coroutine(v)) return;
  Val tasks = globals_->now.names[".tasks"];
  touch(globals_);
  if (!tasks.is(Kind::kList)) globals_->now.names[".tasks"] = tasks = list_aside({});
  touch(tasks.object);
  tasks.object->now.items.push_back(v);
}

void Follower::run_tasks() {
  const auto known = globals_->now.names.find(".tasks");
  if (known == globals_->now.names.end() || !known->second.is(Kind::kList)) return;
  Object* tasks = known->second.object;
  if (tasks->now.items.empty()) return;
  touch(tasks);
  for (const Val& one : std::exchange(tasks->now.items, {})) {
    if (!is_coroutine(one)) continue;
    ++tries_;  // what fails in it is raised where it is awaited
    try {
      (void)awaited(one, one.begin);
    } catch (const Thrown&) {
      ++doubts_;
    }
    --tries_;
  }
}

// asyncio.gather(…): a task of each.
Val Follower::gathered(const Arguments& a) {
  for (const Val& one : a.values) schedule(one);
  Val out = list_aside(a.values);
  out.object->name = "asyncio.gather";
  return out;
}

std::optional<Val> Follower::asynchronous(const std::string& name, Arguments& a) {
  constexpr auto kFirst = std::to_array<std::string_view>({"asyncio.wait_for", "asyncio.shield"});
  const bool task = name == "asyncio.create_task" || name == "asyncio.ensure_future";
  if (std::ranges::find(kFirst, name) != kFirst.end()) return a.values.empty() ? none() : a.values.front();
  if (task && !a.values.empty()) {
    schedule(a.values.front());
    return a.values.front();
  }
  if (name == "asyncio.run" && !a.values.empty()) {
    Val out = awaited(a.values.front(), a.at);
    set_name(globals_, ".tasks", none());  // what has not begun by then is cancelled
    return out;
  }
  if (name == "typing.cast") return a.values.empty() ? none() : a.values.back();
  if (name == "asyncio.gather") return gathered(a);
  if (name != "asyncio.to_thread" || a.values.empty()) return std::nullopt;
  Arguments inner = a;
  inner.values.erase(inner.values.begin());
  return call(a.values[0], inner);
}

// --- Ray ---

// Variables that what is started with these keywords finds: runtime_env={"env_vars": …}; of a deployment among its
// ray_actor_options. None where they say nothing of that.
std::optional<Val> Follower::ray_variables(const std::vector<std::pair<std::string, Val>>& keys, std::size_t at) {
  const Val* given = nullptr;
  for (const auto& [key, v] : keys) {
    if (key == "runtime_env") given = &v;
    if (key != "ray_actor_options") continue;
    if (!v.is(Kind::kDict)) return unknown("ray_actor_options= may set variables that are not known here", at);
    given = entry(v.object, text("runtime_env", at));
  }
  if (given == nullptr || given->is(Kind::kNone)) return std::nullopt;
  const Val lost = unknown("runtime_env= may set variables that are not known here", at);
  if (given->is(Kind::kInstance) && last_name(given->object->name) == "RuntimeEnv") {
    const auto it = given->object->keys.find("env_vars");
    return it == given->object->keys.end() ? std::nullopt : std::optional(it->second);
  }
  if (!given->is(Kind::kDict)) return lost;
  const Val* variables = entry(given->object, text("env_vars", at));
  if (variables != nullptr) return *variables;
  return given->object->now.open.empty() ? std::nullopt : std::optional(lost);
}

void Follower::give_ray_variables(const Object* to, const std::vector<std::pair<std::string, Val>>& keys,
                                  std::size_t at) {
  if (auto variables = ray_variables(keys, at)) ray_variables_[to].push_back(std::move(*variables));
}

// f.options(…): the same function or class, with what these say.
Val Follower::ray_options(const Val& of, const Arguments& a) {
  const auto variables = ray_variables(a.keys, a.at);
  if (!variables || (!of.is(Kind::kFunction) && !of.is(Kind::kClass))) return of;
  Val out = of;
  if (of.is(Kind::kFunction)) {
    out = given_more(of);
  } else {
    out.object = make();
    *out.object = *of.object;
  }
  if (const auto own = ray_variables_.find(of.object); own != ray_variables_.end())
    ray_variables_[out.object] = own->second;
  ray_variables_[out.object].push_back(*variables);
  return out;
}

// What runs in a worker of Ray finds these variables: of the job, and its own.
Val Follower::in_worker(const Object* of, const std::function<Val()>& run, std::size_t at) {
  const auto own = ray_variables_.find(of);
  std::vector<Val> all = of_ray_job_;
  if (own != ray_variables_.end()) all.insert(all.end(), own->second.begin(), own->second.end());
  if (all.empty()) return run();
  spend(2 * environ_->now.pairs.size());
  touch(environ_);
  const Content before = environ_->now;
  const auto put_back = [&] {
    touch(environ_);
    environ_->now = before;
  };
  for (const Val& one : all) {
    if (one.is(Kind::kDict))
      update(environ_, one, at);
    else
      environ_->now.open = one.is(Kind::kUnknown) ? one.mystery->what : "env_vars= is no dictionary that is known here";
  }
  Val out;
  try {
    out = run();
  } catch (const Thrown&) {
    put_back();
    throw;
  }
  put_back();
  return out;
}

std::optional<Val> Follower::ray(const std::string& name, const Object& callee, Arguments& a) {
  if (name == "ray.init") {
    if (auto variables = ray_variables(a.keys, a.at)) of_ray_job_ = {std::move(*variables)};
    return unclear(a.at, a.end);
  }
  if (last_name(name) == "RuntimeEnv" && name.starts_with("ray.")) {
    Val out = instance(name);
    for (const auto& [key, v] : a.keys) out.object->keys[key] = v;
    return out;
  }
  if (name != "ray.remote" && name != "ray.serve.deployment") return std::nullopt;
  if (a.values.empty()) {  // with options: what it is called with is wrapped
    Val out = native(name);
    give_ray_variables(out.object, a.keys, a.at);
    return out;
  }
  if (a.values.size() != 1 || (!a.values[0].is(Kind::kClass) && !a.values[0].is(Kind::kFunction))) return std::nullopt;
  a.values[0].object->altered = name == "ray.remote" ? name : "serve.deployment";
  if (const auto own = ray_variables_.find(&callee); own != ray_variables_.end())
    ray_variables_[a.values[0].object] = own->second;
  return a.values[0];
}

// --- dataclasses and collections ---

std::optional<Val> Follower::dataclass_call(const std::string& name, Arguments& a) {
  if (name == "dataclasses.field") {
    Val out = instance(name);
    for (const auto& [key, v] : a.keys) out.object->keys[key] = v;
    return out;
  }
  if (name == "dataclasses.dataclass" && a.values.empty() && a.key("init") == nullptr && a.more.empty()) {
    Val out = native(name);
    for (const auto& [key, v] : a.keys) out.object->keys[key] = v;
    return out;
  }
  const bool own = !a.values.empty() && a.values[0].is(Kind::kInstance) && a.values[0].object->of != nullptr;
  if (name == "dataclasses.replace" && own && a.values.size() == 1) return replaced(a.values[0], a);
  if (name == "dataclasses.fields" && own) return fields_of(a.values[0], a.at);
  if (name == "dataclasses.asdict" && a.values.size() == 1 && made_args(a.values[0]) != nullptr) {
    (void)field_of_server_args(a.values[0], {});
    return unclear(a.at, a.end);
  }
  if (name != "dataclasses.asdict" || !own || a.values.size() != 1) return std::nullopt;
  return as_dictionary(a.values[0], a.at);
}

// dataclasses.asdict(object): what its fields hold is copied, and objects of dataclasses among that are dictionaries,
// too.
Val Follower::as_dictionary(const Val& object, std::size_t at, int depth) {
  Val out = {.kind = Kind::kDict, .object = make()};
  std::vector<std::pair<std::string, Val>> fields;
  dataclass_fields(object.object->of, fields);
  for (const auto& [field, fallback] : fields) {
    const auto it = object.object->now.names.find(field);
    if (it == object.object->now.names.end() || is_handed_on(object.object->of, field)) continue;
    set_entry(out.object, text(field, at), field_of_dictionary(it->second, at, depth), at);
  }
  return out;
}

Val Follower::field_of_dictionary(const Val& v, std::size_t at, int depth) {
  constexpr int kDeep = 20;
  const bool holds = v.sequence() || v.is(Kind::kDict);
  const bool record = v.is(Kind::kInstance) && v.object->of != nullptr && v.object->of->way == "dataclass";
  if (!holds && !record) return v;
  if (depth > kDeep || is_iterator(v) || is_view(v) || v.object == environ_) return unclear(at, at);
  if (record) return as_dictionary(v, at, depth + 1);
  Val copy = v;
  copy.object = make();
  copy.object->name = v.object->name;
  spend_bytes(sizeof(Val) * (v.object->now.items.size() + 2 * v.object->now.pairs.size()));
  const Content held = v.object->now;
  copy.object->now.open = held.open;
  copy.object->now.inherits = held.inherits;
  for (const Val& item : held.items) copy.object->now.items.push_back(field_of_dictionary(item, at, depth + 1));
  for (const auto& [key, item] : held.pairs)
    copy.object->now.pairs.emplace_back(key, field_of_dictionary(item, at, depth + 1));
  return copy;
}

std::optional<Val> Follower::container_call(const std::string& name, Arguments& a) {
  if (name == "argparse.Namespace" || name == "types.SimpleNamespace") {
    Val out = instance(name);
    if (!a.more.empty()) out.object->now.open = "attributes that are not known here are handed over";
    for (const auto& [key, v] : a.keys) out.object->now.names[key] = v;
    return out;
  }
  if (name == "collections.OrderedDict") return conversion("dict", a);
  if (name != "collections.defaultdict") return std::nullopt;
  Val out = {.kind = Kind::kDict, .object = make()};
  out.object->name = "defaultdict";
  if (!a.values.empty()) out.object->bound = {a.values[0]};
  if (a.values.size() > 1) update(out.object, a.values[1], a.at);
  for (const auto& [key, v] : a.keys) set_entry(out.object, text(key, a.at), v, a.at);
  for (const Val& more : a.more) update(out.object, more, a.at);
  return out;
}

// textwrap.dedent: where no line is indented, nothing changes; else how much depends on them all.
std::optional<Val> Follower::dedented(const std::string& name, Arguments& a) {
  if (name != "textwrap.dedent" || a.values.size() != 1 || !a.values[0].known_text()) return std::nullopt;
  const std::string& s = a.values[0].text->text;
  spend_bytes(s.size());
  std::size_t least = std::string::npos;
  for (std::size_t from = 0; from < s.size();) {
    const auto end = std::min(s.find('\n', from), s.size());
    const auto first = s.find_first_not_of(' ', from);
    if (first < end) least = std::min(least, first - from);
    if (first < end && s[first] == '\t') return unclear(a.at, a.end);
    from = end + 1;
  }
  if (least == std::string::npos || least == 0) return a.values[0];
  ShellText out;
  for (std::size_t from = 0; from < s.size();) {
    const auto end = std::min(s.find('\n', from), s.size());
    const bool blank = s.find_first_not_of(' ', from) >= end;
    if (!blank) add(out, sources::slice(*a.values[0].text, from + least, end));
    if (end < s.size()) add(out, sources::slice(*a.values[0].text, end, end + 1));
    from = end + 1;
  }
  return text(std::move(out));
}

// --- the rest ---

std::optional<Val> Follower::path_call(const std::string& name, Arguments& a) {
  if (name.starts_with("os.path.")) {
    if (auto out = paths(name, a)) return out;
    return unclear(a.at, a.end);
  }
  if (name != "pathlib.Path" && name != "pathlib.PosixPath" && name != "pathlib.PurePosixPath") return std::nullopt;
  Arguments all = a;
  const auto out = a.values.empty() ? std::nullopt : paths("os.path.join", all);
  return out && out->is(Kind::kText) ? path_of(*out->text) : unclear(a.at, a.end);
}

std::optional<Val> Follower::environment_call(const std::string& name, Arguments& a) {
  if (name == "os.getenv" && !a.values.empty() && a.values[0].known_text())
    return dict_method("get", {.kind = Kind::kDict, .object = environ_}, a);
  const bool sets = name == "os.putenv" && a.values.size() == 2;
  if (!sets && (name != "os.unsetenv" || a.values.size() != 1)) return std::nullopt;
  // Programs that are started without env= see it; os.environ does not.
  set_entry(environ_, a.values[0], unknown(name + " changes it, which os.environ does not show", a.at), a.at);
  return none();
}

// --- numbers ---

std::optional<Val> Follower::rounded(const std::string& name, const Arguments& a) {
  if (!name.starts_with("math.") || a.values.size() != 1) return std::nullopt;
  const Val v = asked(a.values[0]);
  if (!v.whole() && !v.is(Kind::kFloat)) return std::nullopt;
  const double d = v.is(Kind::kFloat) ? v.number : static_cast<double>(v.integer);
  if (!(std::abs(d) < 9e15)) return std::nullopt;
  const std::string_view what = last_name(name);
  if (what == "ceil") return whole(static_cast<std::int64_t>(std::ceil(d)));
  if (what == "floor") return whole(static_cast<std::int64_t>(std::floor(d)));
  if (what == "trunc") return whole(static_cast<std::int64_t>(d));
  if (what == "sqrt" && d < 0) refuse("ValueError", a.at);
  if (what == "sqrt" && d >= 0) return real(std::sqrt(d));
  if (what == "log2" && d > 0 && std::exp2(std::nearbyint(std::log2(d))) == d)
    return real(std::nearbyint(std::log2(d)));
  return std::nullopt;
}

// --- named tuples ---

// namedtuple(NAME, "a b" or ["a", "b"], defaults=…)
Val Follower::named_tuple(const Arguments& a) {
  std::vector<std::string> names;
  if (a.values.size() == 2 && a.values[1].known_text()) {
    std::string all = a.values[1].text->text;
    std::replace(all.begin(), all.end(), ',', ' ');
    for (std::size_t from = all.find_first_not_of(' '); from < all.size(); from = all.find_first_not_of(' ', from)) {
      const std::size_t end = std::min(all.find(' ', from), all.size());
      names.push_back(all.substr(from, end - from));
      from = end;
    }
  } else if (const auto items = a.values.size() == 2 ? items_of(a.values[1], a.at) : std::nullopt) {
    for (const Val& one : *items) names.push_back(one.known_text() ? one.text->text : std::string());
  }
  const Val* defaults = a.key("defaults");
  const auto last =
      defaults == nullptr || defaults->is(Kind::kNone) ? std::optional(std::vector<Val>()) : items_of(*defaults, a.at);
  const bool known = !names.empty() && std::ranges::find(names, "") == names.end() && last &&
                     last->size() <= names.size() && a.values[0].known_text() &&
                     a.keys.size() == (defaults == nullptr ? 0U : 1U);
  if (!known) return unclear(a.at, a.end);
  Val out = {.kind = Kind::kClass, .object = make()};
  out.object->name = a.values[0].text->text;
  out.object->bases = {native("typing.NamedTuple").object};
  for (const std::string& name : names) out.object->now.items.push_back(text(name, a.at));
  for (std::size_t i = 0; i < last->size(); ++i)
    out.object->now.names[names[names.size() - last->size() + i]] = (*last)[i];
  return out;
}

bool Follower::is_named_tuple(const Val& v) {
  return v.is(Kind::kInstance) && v.object->of != nullptr && v.object->now.open.empty() &&
         std::ranges::any_of(v.object->of->bases,
                             [](const Object* base) { return base->name.ends_with("NamedTuple"); });
}

// _replace, _asdict, _fields of one.
std::optional<Val> Follower::named_tuple_method(const std::string& name, const Object& callee, Arguments& a) {
  if (!name.starts_with("namedtuple.")) return std::nullopt;
  const Val& self = callee.bound[0];
  if (name.ends_with("_replace")) return replaced(self, a);
  std::vector<std::pair<std::string, Val>> fields;
  dataclass_fields(self.object->of, fields);
  Val out = {.kind = Kind::kDict, .object = make()};
  for (const auto& [field, fallback] : fields)
    set_entry(out.object, text(field, a.at), self.object->now.names[field], a.at);
  return out;
}

// --- signals ---

// signal.signal(NUMBER, function), and what sends this program a signal: its own function runs then, or it ends.
std::optional<Val> Follower::signals(const std::string& name, Arguments& a) {
  const auto called = [&](const Val& number) {
    return number.is(Kind::kNative) ? std::string(last_name(number.object->name)) : std::string();
  };
  if (name == "signal.signal" && a.values.size() == 2) {
    const std::string which = called(a.values[0]);
    set_name(globals_, ".signal " + (which.empty() ? "any" : which), a.values[1]);
    return none();
  }
  const bool later = name == "signal.alarm" || name == "signal.setitimer";
  const bool own = name == "os.kill" && a.call != nullptr && a.values.size() == 2 &&
                   shown(a.call->arguments[0].value->begin, a.call->arguments[0].value->end) == "os.getpid()";
  if (!own && !later && name != "signal.raise_signal") return std::nullopt;
  const std::string which = later ? "SIGALRM" : called(a.values.empty() ? none() : a.values.back());
  const auto handler = globals_->now.names.find(".signal " + which);
  const bool lost = which.empty() || globals_->now.names.contains(".signal any");
  constexpr auto kLeft = std::to_array<std::string_view>({"SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH"});
  if (!lost && handler == globals_->now.names.end()) {
    if (later || std::ranges::find(kLeft, which) != kLeft.end()) return none();
    refuse("SystemExit", a.at);
  }
  const Val runs = handler == globals_->now.names.end() ? none() : handler->second;
  Arguments inner;
  inner.at = a.at;
  inner.end = a.end;
  inner.values = {unknown("the signal", a.at), none()};
  if (!lost && !later && runs.is(Kind::kFunction)) {
    (void)call(runs, inner);
    return none();
  }
  (void)either([&] { return runs.is(Kind::kFunction) ? call(runs, inner) : unclear(a.at, a.end); },
               [&] { return unclear(a.at, a.end); }, a.at);
  return none();
}

// --- at the end ---

// atexit.register(function, …)
std::optional<Val> Follower::at_exit(const std::string& name, Arguments& a) {
  if (name != "atexit.register" || a.values.empty() || quiet_ > 0) return std::nullopt;
  Arguments inner = a;
  inner.values.erase(inner.values.begin());
  at_exit_.push_back({a.values[0], std::move(inner), conditions_});
  return a.values[0];
}

// The last that was registered first. What ends the program ends none of them.
void Follower::run_at_exit() {
  endings_.clear();
  std::vector<AtExit> all = std::exchange(at_exit_, {});
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    conditions_ = one->conditions;
    run_apart(one->function, one->arguments);
  }
  conditions_.clear();
}

// --- string.Template ---

// Template(TEXT).substitute(NAME=VALUE), safe_substitute.
std::optional<Val> Follower::template_call(const std::string& name, const Object& callee, Arguments& a) {
  constexpr std::string_view kTemplate = "string.Template";
  if (name == kTemplate && a.values.size() == 1 && a.values[0].known_text()) {
    Val out = instance(name);
    out.object->bound = {a.values[0]};
    return out;
  }
  const bool safe = name == "string.Template.safe_substitute";
  if ((!safe && name != "string.Template.substitute") || callee.bound.empty()) return std::nullopt;
  Val all = {.kind = Kind::kDict, .object = make()};
  for (const Val& one : a.values) update(all.object, one, a.at);
  for (const auto& [key, v] : a.keys) set_entry(all.object, text(key, a.at), v, a.at);
  if (!a.more.empty() || !all.object->now.open.empty() || all.object->now.inherits || a.values.size() > 1)
    return unclear(a.at, a.end);
  const ShellText& from = *callee.bound[0].object->bound[0].text;
  const auto in_name = [&](std::size_t i) {
    return i < from.text.size() && (from.text[i] == '_' || std::isalnum(static_cast<unsigned char>(from.text[i])) != 0);
  };
  ShellText out;
  for (std::size_t at = 0; at < from.text.size();) {
    const std::size_t dollar = std::min(from.text.find('$', at), from.text.size());
    add(out, sources::slice(from, at, dollar));
    if (dollar == from.text.size()) break;
    const bool braces = from.text.compare(dollar, 2, "${") == 0;
    const std::size_t begin = dollar + (braces ? 2 : 1);
    std::size_t end = begin;
    while (in_name(end)) ++end;
    const bool named = end > begin && std::isdigit(static_cast<unsigned char>(from.text[begin])) == 0 &&
                       (!braces || from.text[end] == '}');
    const bool dollars = from.text.compare(dollar, 2, "$$") == 0;
    if (!named && !dollars && !safe) refuse("ValueError", a.at);
    at = named ? end + (braces ? 1 : 0) : dollar + (dollars ? 2 : 1);
    const Val* v = named ? entry(all.object, text(from.text.substr(begin, end - begin), a.at)) : nullptr;
    if (named && v == nullptr && !safe) refuse("KeyError", a.at);
    add(out, v != nullptr ? text_or_hole(*v, a.at) : sources::slice(from, dollar, dollars ? dollar + 1 : at));
  }
  return text(std::move(out));
}

std::optional<Val> Follower::library(const std::string& name, const Object& callee, Arguments& a) {
  if (name == "sys.exit" || name == "os._exit" || name == "os.abort") refuse("SystemExit", a.at);
  if (auto out = signals(name, a)) return out;
  if (auto out = rounded(name, a)) return out;
  if (name == "collections.namedtuple") return named_tuple(a);
  if (name == "functools.lru_cache" && (a.values.empty() || !a.values[0].is(Kind::kFunction))) {
    Val out = native(name);
    if (const Val* most = a.argument(0, "maxsize")) out.object->keys["maxsize"] = *most;
    return out;
  }
  if (name == "functools.wraps" && a.values.size() == 1) return native(name);  // which takes names of it alone
  if (name == "object.__setattr__" && a.values.size() == 3 && a.values[0].is(Kind::kInstance) &&
      a.values[1].known_text()) {
    set_name(a.values[0].object, a.values[1].text->text, a.values[2]);  // of a frozen dataclass, too
    return none();
  }
  if (name == "object.__setattr__" && a.values.size() == 3) return builtin("setattr", a);
  if (name == "contextlib.suppress") {
    Val out = instance(name);
    out.object->bound = a.values;
    return out;
  }
  using Known = std::optional<Val> (Follower::*)(const std::string&, Arguments&);
  constexpr auto kKnown = std::to_array<Known>(
      {&Follower::command_line, &Follower::container_call, &Follower::environment_call, &Follower::file_call,
       &Follower::path_call, &Follower::shell_words, &Follower::json, &Follower::iteration, &Follower::copied,
       &Follower::regular, &Follower::partial, &Follower::at_exit, &Follower::asynchronous, &Follower::dataclass_call,
       &Follower::dedented});
  for (const Known known : kKnown) {
    if (auto out = (this->*known)(name, a)) return out;
  }
  if (auto out = template_call(name, callee, a)) return out;
  if (auto out = workers(name, callee, a)) return out;
  if (auto out = ray(name, callee, a)) return out;
  for (const std::string_view one : kHarmless) {
    if (name.starts_with("os.kill") || name.starts_with("os.wait")) ++stops_;
    if (name.starts_with(one)) return unclear(a.at, a.end);
  }
  return std::nullopt;
}

}  // namespace preflight::sources::program
