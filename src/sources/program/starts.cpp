// Where a Python program starts something: its words or text go to the finder of launches, with the environment and
// what they depend on. Tested by tests/sources_test.cpp and tests/traps_test.cpp.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/sources/container_command.h"
#include "src/sources/placeholders.h"
#include "src/sources/program/follower.h"
#include "src/sources/shell/bash_only.h"

namespace preflight::sources::program {
namespace {

using Kind = Val::Kind;

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

constexpr std::size_t kStartSteps = 200;  // to look at what is started, and to keep it

constexpr std::array<std::string_view, 5> kProcesses = {"subprocess.run", "subprocess.Popen", "subprocess.call",
                                                        "subprocess.check_call", "subprocess.check_output"};
constexpr std::array<std::string_view, 5> kShells = {"os.system", "os.popen", "subprocess.getoutput",
                                                     "subprocess.getstatusoutput", "asyncio.create_subprocess_shell"};

}  // namespace

// A name that is imported from SGLang, or from nowhere; its diffusion servers have options of their own.
bool Follower::is_sglangs(std::string_view name) {
  const bool diffusion = name.starts_with("sglang.multimodal_gen.");
  return name.find('.') == std::string_view::npos || (name.starts_with("sglang.") && !diffusion);
}

// SGLang's helpers that run the command they are given, wherever they were imported from.
bool Follower::runs_a_text(std::string_view name) {
  const std::string_view last = last_name(name);
  return last == "launch_server_cmd" || last == "execute_shell_command";
}

bool Follower::names_server(const Val& v, int depth) const {
  if (depth > 1) return false;
  if (v.is(Kind::kText)) {
    const std::string& s = v.text->text;
    spend_bytes(4 * s.size());  // gone through three times, letter by letter
    return s == "sglang.launch_server" || s.find("sglang.launch_server ") != std::string::npos ||
           s.find("sglang serve ") != std::string::npos;
  }
  if (!v.is(Kind::kList) && !v.is(Kind::kTuple)) return false;
  const auto& items = v.object->now.items;
  spend_items(items);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is(Kind::kText)) continue;
    const std::string& s = items[i].text->text;
    if (names_server(items[i], depth + 1)) return true;
    const bool serve =
        s == "serve" && i > 0 && items[i - 1].is(Kind::kText) && base_name(items[i - 1].text->text) == "sglang";
    if (serve) return true;
  }
  return false;
}

// --- words ---

ShellWord Follower::word(const ShellText& t, const Val& v, std::size_t at) const {
  ShellWord out;
  static_cast<ShellText&>(out) = t;
  out.begin = v.begin < v.end ? v.begin : out.origin.empty() ? at : out.origin.front();
  out.end = v.begin < v.end ? v.end : out.origin.empty() ? at : std::max(out.begin, out.origin.back() + 1);
  return out;
}

// A member of an Enum of texts is the text that it stands for.
std::optional<Val> Follower::text_of_member(const Val& v) {
  if (!v.is(Kind::kInstance) || v.object->of == nullptr) return std::nullopt;
  const auto is_text = [](const Object* base) { return base->name == "str" || base->name.ends_with("StrEnum"); };
  if (!is_member(v) || std::ranges::none_of(v.object->of->bases, is_text)) return std::nullopt;
  const auto held = v.object->now.names.find("value");
  if (!held->second.is(Kind::kText)) return std::nullopt;
  Val out = held->second;
  out.begin = v.begin;
  out.end = v.end;
  return out;
}

void Follower::add_word(const Val& value, std::vector<ShellWord>& out, RunContext& context, bool texts_alone) {
  spend_bytes(sizeof(ShellWord));
  const Val v = value.is(Kind::kNative) ? str(value, value.begin) : text_of_member(value).value_or(value);
  const std::size_t at = v.begin;
  const bool path = v.is(Kind::kInstance) && v.object->name == "pathlib.Path";
  const std::string before = out.empty() ? std::string() : out.back().text;
  if (v.is(Kind::kUnknown)) {
    out.push_back(word(hole(v, at), v, at));
  } else if (const std::string why = v.known_text() ? why_placeholder(v.text->text, before) : std::string();
             !why.empty()) {
    out.push_back(word(unknown_text(why, at), v, at));
  } else if (v.is(Kind::kText) || path || !texts_alone) {
    out.push_back(word(text_or_hole(v, at), v, at));
  } else {
    const std::string what = v.begin < v.end ? shown(v.begin, v.end) : repr(v).value_or("a word");
    const bool other = v.is(Kind::kInstance) && (v.object->of == nullptr || !is_closed(v.object->of));
    if (!other)
      context.unknown.push_back({fmt::format("{} is no text, and Python refuses to start that", what), at, {}});
    out.push_back(word(other ? hole(v, at) : text_or_hole(v, at), v, at));
  }
}

void Follower::environment(const Val& dict, RunContext& context, bool own) {
  if (own && !dict.object->now.inherits) context.env.clear();
  if (own && dict.object->now.inherits) {
    context.env.clear();
    if (source_.environment != nullptr) context.env = *source_.environment;
  }
  for (const auto& [key, v] : dict.object->now.pairs) {
    spend(4);
    if (!key.known_text()) continue;
    if (v.is(Kind::kGone))
      context.env.erase(key.text->text);
    else
      context.env.insert_or_assign(key.text->text, text_or_hole(v, v.begin));
    if (is_plain(v) && !v.is(Kind::kText))
      context.unknown.push_back({fmt::format("{} is no text but {}, and Python refuses to start that", key.text->text,
                                             repr(v).value_or("another value")),
                                 v.begin,
                                 {}});
  }
  if (!dict.object->now.open.empty())
    context.unknown.push_back(
        {dict.object->now.open, dict.object->now.pairs.empty() ? 0 : dict.object->now.pairs[0].first.begin, {}});
}

RunContext Follower::context(Arguments& a) {
  spend(kStartSteps);
  RunContext out;
  if (!doubt_.empty()) out.unknown.push_back({doubt_, a.at, {}});
  out.defaults = defaults_;
  out.image = image_;
  out.elsewhere = !image_.empty();
  if (source_.environment != nullptr) out.env = *source_.environment;
  environment({.kind = Kind::kDict, .object = environ_}, out, false);
  std::vector<Condition> when;
  for (const auto* list : {&conditions_, &endings_, &ahead_}) {
    for (const Condition& one : *list) {
      spend(when.size() / 4 + 1);
      if (std::find(when.begin(), when.end(), one) == when.end()) when.push_back(one);
    }
  }
  constexpr std::size_t kMost = 3;
  if (when.size() > kMost) when.erase(when.begin(), when.end() - kMost);
  out.when.all = std::move(when);
  const Val* env = a.key("env");
  if (env == nullptr || env->is(Kind::kNone)) return out;
  if (env->is(Kind::kDict)) {
    environment(*env, out, true);
  } else {
    out.unknown.push_back(
        {fmt::format("env={} hands over variables that are not known here", shown(env->begin, env->end)),
         env->begin,
         {}});
  }
  return out;
}

// --- processes ---

void Follower::start_words(const Val& all, Arguments& a, std::size_t drop) {
  if (is_iterator(all)) bring_all(all.object);
  if (all.object != nullptr) used_.insert(all.object);
  if (quiet_ > 0) return;
  RunContext where = context(a);
  std::vector<ShellWord> words;
  const auto items = all.sequence() ? std::optional(all.object->now.items) : std::nullopt;
  if (!items) return;
  for (std::size_t i = drop; i < items->size(); ++i) add_word((*items)[i], words, where, true);
  spend(words.size());
  if (forever_ > 0) {
    std::string key = std::to_string(a.at);
    for (const ShellWord& one : words) {
      spend_bytes(one.text.size());
      key += '\0' + one.text;
    }
    if (!once_.insert(key).second) return;
  }
  finder_.words(words, where);
}

void Follower::start_shell(const Val& v, Arguments& a) {
  if (quiet_ > 0) return;
  if (!v.is(Kind::kText)) return;
  spend_bytes(v.text->text.size());
  if (v.text->text.find("sglang") == std::string::npos && v.known_text()) return;
  RunContext where = context(a);
  if (forever_ > 0 && !once_.insert(std::to_string(a.at) + v.text->text).second) return;
  spend(v.text->text.size() + 1);
  ask_of_sh(*v.text, where.unknown);
  auto done = finder_.script(*v.text, where);
  if (!done && !error_) error_ = done.error();
}

// What sglang.test.doc_patch adds for pages that run many servers on one machine.
void Follower::add_page_words(std::size_t at, std::vector<ShellWord>& words, RunContext& where) {
  constexpr auto kMore = std::to_array<const char*>(
      {"--max-running-requests", "128", "--max-total-tokens", "20480", "--disable-cuda-graph"});
  for (const char* word : kMore) add_word(text(word, at), words, where, false);
  const char* differs =
      "launch_server_cmd of sglang.test.doc_patch adds --cuda-graph-max-bs-decode 4 since 0.5.15, "
      "--cuda-graph-max-bs 4 before";
  add_word(unknown(differs, at, true), words, where, false);
}

// SGLang's own helpers take a text apart at its blanks, quotes or not; NAME=VALUE in front is a variable.
void Follower::start_split(const std::string& name, const Val& v, Arguments& a) {
  if (quiet_ > 0 || !v.is(Kind::kText)) return;
  const ShellText& all = *v.text;
  spend_bytes(all.text.size());
  if (all.text.find("sglang") == std::string::npos && v.known_text()) return;
  if (forever_ > 0 && !once_.insert(std::to_string(a.at) + all.text).second) return;
  RunContext where = context(a);
  std::vector<ShellWord> words;
  constexpr std::string_view kBlanks = " \t\r\n\f\v\\";  // a backslash is none of a word, either
  for (std::size_t from = all.text.find_first_not_of(kBlanks); from < all.text.size();) {
    const std::size_t end = std::min(all.text.find_first_of(kBlanks, from), all.text.size());
    ShellText part = sources::slice(all, from, end);
    from = all.text.find_first_not_of(kBlanks, end);
    const auto equals = part.text.find('=');
    const std::string key = part.text.substr(0, equals);
    const bool names =
        !key.empty() && std::ranges::all_of(key, [](unsigned char c) { return c == '_' || std::isalnum(c) != 0; });
    if (words.empty() && equals != std::string::npos && names && key.find_first_not_of('_') != std::string::npos) {
      where.env.insert_or_assign(key, sources::tail(part, equals + 1));
      continue;
    }
    ShellWord one{part, part.origin.empty() ? a.at : part.origin.front(),
                  part.origin.empty() ? a.at : part.origin.back() + 1};
    one.several = !one.unknowns.empty();
    words.push_back(std::move(one));
  }
  if (const Val* port = a.key("port"); port != nullptr && !port->is(Kind::kNone)) {
    add_word(text("--port", a.at), words, where, false);
    add_word(*port, words, where, false);
  }
  if (name == "sglang.test.doc_patch.launch_server_cmd") add_page_words(a.at, words, where);
  if (!words.empty()) finder_.words(words, where);
}

// A word or a value of a variable that Python refuses to hand on.
static bool is_no_text(const Val& v) { return is_plain(v) && !v.is(Kind::kText); }

std::optional<Val> Follower::start_process(const std::string& name, Arguments& a) {
  const bool starts = is_one_of(name, kShells) || runs_a_text(name) || is_one_of(name, kProcesses);
  for (std::size_t i = 0; starts && i < a.values.size(); ++i) note_written(a.values[i]);
  if (is_one_of(name, kShells) || runs_a_text(name)) {
    const auto begin = [&](const Val& v) { runs_a_text(name) ? start_split(name, v, a) : start_shell(v, a); };
    if (!a.values.empty() || !a.keys.empty()) begin(a.values.empty() ? a.keys[0].second : a.values[0]);
    if (last_name(name) == "launch_server_cmd")
      return list_of({instance("subprocess.process"), unknown("the port is chosen where the program runs", a.at)},
                     Kind::kTuple);
    return unclear(a.at, a.end);
  }
  if (!is_one_of(name, kProcesses)) return std::nullopt;
  const Val* args = a.argument(0, "args");
  if (args == nullptr) return std::nullopt;
  ++doubts_;
  const Val* shell = a.key("shell");
  const auto in_shell = shell == nullptr ? std::optional(false) : truth(*shell);
  const std::size_t outer = conditions_.size();
  if (!in_shell)
    conditions_.push_back(where(
        {{"shell="}, written(shown(shell->begin, shell->end)), {args->is(Kind::kText) ? " is true" : " is false"}}));
  const bool shell_runs_it = in_shell.value_or(args->is(Kind::kText));
  const std::size_t found = finder_.found_so_far();
  start_popen(*args, shell_runs_it, a);
  tell_beside(found, name == "subprocess.Popen");
  if (const Val* input = a.key("input"); input != nullptr && !shell_runs_it) start_input(*args, *input, a);
  conditions_.resize(outer);
  const bool is_list = args->is(Kind::kList) || args->is(Kind::kTuple);
  const bool no_text = is_list && std::ranges::any_of(args->object->now.items, is_no_text);
  if (no_text && !shell_runs_it) refuse("TypeError", a.at);
  if (!shell_runs_it) may_be_missing(*args, a.at);
  return process_of(name, *args, shell_runs_it, a);
}

// Servers that the program starts and goes on beside, and what it starts behind them, run together.
void Follower::tell_beside(std::size_t found, bool goes_on) {
  const bool sure = conditions_.empty() && endings_.empty() && ahead_.empty() && quiet_ == 0 && apart_ == 0;
  const auto known = together_.find(stops_);
  if (sure && (goes_on || known != together_.end())) {
    const std::size_t number = known != together_.end() ? known->second : next_together();
    together_.emplace(stops_, number);
    finder_.runs_beside(found, number);
  }
  if (!goes_on) ++stops_;
}

// What the program started still runs behind a call of this that is not followed.
bool Follower::leaves_servers(std::string_view name) {
  constexpr auto kModules = std::to_array<std::string_view>({"requests.", "httpx.", "urllib.", "socket.", "time.",
                                                             "logging.", "signal.signal", "atexit.", "os.makedirs",
                                                             "os.path.", "json.", "random.", "pathlib."});
  constexpr auto kLast = std::to_array<std::string_view>({"poll", "wait_for_server", "is_alive"});
  return std::ranges::any_of(kModules, [&](std::string_view one) { return name.starts_with(one); }) ||
         std::ranges::find(kLast, last_name(name)) != kLast.end();
}

// Whether a command is known to succeed or to fail.
static std::optional<bool> known_to_fail(const Val& args, bool in_shell) {
  const bool words = args.is(Kind::kList) || args.is(Kind::kTuple);
  const Val* first = words ? (args.object->now.items.empty() ? nullptr : &args.object->now.items[0]) : &args;
  if (first == nullptr || !first->known_text() || (words && in_shell)) return std::nullopt;
  std::string_view text = first->text->text;
  while (text.ends_with(' ') || text.ends_with('\n')) text.remove_suffix(1);
  if (text == "true" || text == "/bin/true" || text == "/usr/bin/true" || (in_shell && text == ":")) return false;
  if (text == "false" || text == "/bin/false" || text == "/usr/bin/false") return true;
  if (!in_shell || !text.starts_with("exit ")) return std::nullopt;
  const std::string_view status = text.substr(text.find_first_not_of(' ', 5));
  if (status.empty() || status.size() > 3 || status.find_first_not_of("0123456789") != text.npos) return std::nullopt;
  return status.find_first_not_of('0') != text.npos;
}

// What a call of subprocess gives; check=True, check_call and check_output raise where the command fails.
Val Follower::process_of(const std::string& name, const Val& args, bool in_shell, const Arguments& a) {
  const auto fails = known_to_fail(args, in_shell);
  const Val* check = a.key("check");
  const bool checks = name.starts_with("subprocess.check_") ||
                      (name == "subprocess.run" && check != nullptr && truth(*check) == std::optional(true));
  if (fails == std::optional(true) && checks) refuse("subprocess.CalledProcessError", a.at);
  if (fails && name == "subprocess.call" && !*fails) return whole(0);
  Val out = instance("subprocess.process");
  const bool one = args.known_text() ? !args.text->text.starts_with("exit ") : true;
  if (fails && one && name == "subprocess.run") out.object->now.names["returncode"] = whole(*fails ? 1 : 0);
  return out;
}

// run("bash", input=TEXT): a shell without a file reads what it runs.
void Follower::start_input(const Val& args, const Val& input, Arguments& a) {
  const bool words = args.is(Kind::kList) || args.is(Kind::kTuple);
  std::vector<Val> all = words ? args.object->now.items : std::vector<Val>{args};
  const bool options = std::ranges::all_of(all, [&](const Val& v) {
    const bool first = &v == &all.front();
    return v.known_text() && (first ? is_shell(v.text->text) : v.text->text == "-s" || v.text->text == "-e");
  });
  if (all.empty() || !options || !input.is(Kind::kText)) return;
  const bool fails = std::ranges::any_of(all, [](const Val& v) { return v.text->text == "-e"; });
  std::vector<Val> run = {all.front()};
  if (fails) run.push_back(text("-e", a.at));
  run.push_back(text("-c", a.at));
  run.push_back(input);
  start_words(list_aside(std::move(run)), a);
}

// As Popen(args, shell=…, executable=…) starts it.
void Follower::start_popen(const Val& args, bool in_shell, Arguments& a) {
  const Val* other = a.argument(2, "executable");
  const Val* program = other == nullptr || other->is(Kind::kNone) ? nullptr : other;
  if (args.sequence()) {
    if (is_iterator(args)) bring_all(args.object);
    if (names_server(args)) used_.insert(args.object);
    const std::vector<Val> words = args.object->now.items;
    if (!in_shell) return start_words(program == nullptr ? args : run_by(*program, words), a);
    if (!words.empty() && words[0].is(Kind::kText) && names_server(words[0])) {
      start_popen(words[0], true, a);  // the whole command; what stands behind it are its arguments
    } else if (names_server(args) && quiet_ == 0) {
      finder_.note(
          {"SH004", "a list with shell=True runs its first word alone: the launch here never starts", args.begin});
    }
  } else if (args.is(Kind::kText) && in_shell) {
    if (program == nullptr) return start_shell(args, a);
    start_words(list_aside({*program, text("-c", a.at), args}), a);
  } else if (names_server(args) && quiet_ == 0) {
    finder_.note(
        {"SH004", "a text without shell=True is the name of a program: the launch here never starts", args.begin});
  }
}

// A list that is no list of the program's own.
Val Follower::list_aside(std::vector<Val> items, Kind kind) {
  ++quiet_;
  Val out = list_of(std::move(items), kind);
  --quiet_;
  return out;
}

// What is executed is `program`; the first word is only what it is told its name is.
Val Follower::run_by(const Val& program, std::vector<Val> words) {
  if (words.empty() || is_many(words.front())) return list_aside(std::move(words));
  words.front() = program;
  return list_aside(std::move(words));
}

// os.exec…, os.spawn…, asyncio.create_subprocess_exec: words one by one, or a list.
std::optional<Val> Follower::start_by_words(const std::string& name, Arguments& a) {
  struct Call {
    std::string_view name;
    std::size_t before;  // arguments in front of the words; the last of them is the program
    bool list;
    bool environment;
    bool ends;
  };
  constexpr auto kCalls = std::to_array<Call>({{"asyncio.create_subprocess_exec", 0, false, false, false},
                                               {"os.execl", 1, false, false, true},
                                               {"os.execlp", 1, false, false, true},
                                               {"os.execle", 1, false, true, true},
                                               {"os.execlpe", 1, false, true, true},
                                               {"os.execv", 1, true, false, true},
                                               {"os.execvp", 1, true, false, true},
                                               {"os.execve", 1, true, true, true},
                                               {"os.execvpe", 1, true, true, true},
                                               {"os.spawnl", 2, false, false, false},
                                               {"os.spawnlp", 2, false, false, false},
                                               {"os.spawnle", 2, false, true, false},
                                               {"os.spawnlpe", 2, false, true, false},
                                               {"os.spawnv", 2, true, false, false},
                                               {"os.spawnvp", 2, true, false, false},
                                               {"os.spawnve", 2, true, true, false},
                                               {"os.spawnvpe", 2, true, true, false},
                                               {"os.posix_spawn", 1, true, true, false},
                                               {"os.posix_spawnp", 1, true, true, false},
                                               {"pty.spawn", 0, true, false, false}});
  const auto it = std::find_if(kCalls.begin(), kCalls.end(), [&](const Call& one) { return one.name == name; });
  if (it == kCalls.end() || a.values.size() <= it->before) return std::nullopt;
  ++doubts_;
  Arguments inner = a;
  std::vector<Val> items(a.values.begin() + static_cast<std::ptrdiff_t>(it->before), a.values.end());
  if (it->environment && items.size() > 1) {
    inner.keys.emplace_back("env", items.back());
    items.pop_back();
  }
  Val words = it->list ? items.front() : list_aside(std::move(items));
  if (words.object != nullptr) used_.insert(words.object);
  if (it->before > 0 && words.sequence()) words = run_by(a.values[it->before - 1], words.object->now.items);
  start_words(words, inner);
  if (it->ends) may_go_on_behind(words, a.at);
  if (it->ends) refuse("SystemExit", a.at);
  return unclear(a.at, a.end);
}

// os.exec… of a program that may not be there raises, which a try around it may meet.
void Follower::may_go_on_behind(const Val& words, std::size_t at) {
  const bool known = words.sequence() && !words.object->now.items.empty();
  if (tries_ == 0 || !known || names_server(words)) return;
  const Val& program = words.object->now.items.front();
  if (program.known_text() && is_everywhere(program.text->text)) return;
  pending_.push_back({Way::kRaise, instance("FileNotFoundError"), take(), at});
}

// A call of something that is not known, by a name that starts things: a command as a text, or its words one by one.
// What it hands on as `env` stands beside the variables that are there. False where it does not read as a start.
bool Follower::start_unknown(const std::string& name, Arguments& a) {
  if (const Val* run = a.key("run"); run != nullptr && last_name(name) == "Task") {  // SkyPilot
    Arguments inner = a;
    inner.values = {*run};
    std::erase_if(inner.keys, [](const auto& key) { return key.first != "envs"; });
    for (auto& key : inner.keys) key.first = "env";
    return start_unknown(name, inner);
  }
  if (a.values.empty() || a.key("environment") != nullptr || !a.more.empty()) return false;
  const bool all_texts = std::all_of(a.values.begin(), a.values.end(), [](const Val& v) { return v.is(Kind::kText); });
  if (!all_texts) return false;
  const bool one = a.values.size() == 1;
  const Val words = list_aside(a.values);
  if (!names_server(one ? a.values[0] : words)) return false;
  Arguments inner = a;
  if (const Val* env = a.key("env"); env != nullptr && env->is(Kind::kDict)) {
    Val beside = {.kind = Kind::kDict, .object = make()};
    spend(2 * environ_->now.pairs.size());
    beside.object->now = environ_->now;
    for (const auto& [key, v] : env->object->now.pairs) set_entry(beside.object, key, v, a.at);
    if (!env->object->now.open.empty()) beside.object->now.open = env->object->now.open;
    for (auto& [key, v] : inner.keys) {
      if (key == "env") v = beside;
    }
  }
  conditions_.push_back(where({named(name), {" starts it"}}));
  if (one)
    start_shell(a.values[0], inner);
  else
    start_words(words, inner);
  conditions_.pop_back();
  return true;
}

// pexpect.spawn(command, args): the words of a text without a shell.
std::optional<Val> Follower::start_pexpect(const std::string& name, Arguments& a) {
  if (name != "pexpect.spawn" && name != "pexpect.run" && name != "pexpect.popen_spawn.PopenSpawn") return std::nullopt;
  const Val* command = a.argument(0, "command");
  if (command == nullptr) return std::nullopt;
  ++doubts_;
  const Val* args = name == "pexpect.spawn" ? a.argument(1, "args") : nullptr;
  const bool words = args != nullptr && args->sequence() && !args->object->now.items.empty();
  if (words) {
    std::vector<Val> all = args->object->now.items;
    all.insert(all.begin(), *command);
    used_.insert(args->object);
    start_words(list_aside(std::move(all)), a);
  } else if (command->sequence()) {
    start_words(*command, a);
  } else if (command->is(Kind::kText)) {
    Arguments split;
    split.at = a.at;
    split.end = a.end;
    split.values = {*command};
    ++quiet_;
    const Val parts = split_as_shell(split);
    --quiet_;
    start_words(parts, a);
  }
  return instance("subprocess.process");
}

// --- the library sh ---

// sh.python("-m", …, model_path="m"): its words, then --model-path=m.
std::vector<Val> Follower::words_of_sh(const Arguments& a, std::string& changed) {
  constexpr auto kOfTheProcess = std::to_array<std::string_view>(
      {"_bg",      "_bg_exc",     "_out",     "_err",         "_fg",     "_cwd",        "_env",
       "_iter",    "_ok_code",    "_timeout", "_new_session", "_done",   "_tee",        "_tty_in",
       "_tty_out", "_return_cmd", "_async",   "_no_out",      "_no_err", "_err_to_out", "_encoding"});
  std::vector<Val> out;
  const auto add_text = [&](const Val& v) { out.push_back(is_many(v) ? v : str(v, v.begin)); };
  for (const Val& v : a.values) {
    if (v.is(Kind::kList) || v.is(Kind::kTuple))
      std::ranges::for_each(v.object->now.items, add_text);
    else if (!v.is(Kind::kNone) && !(v.is(Kind::kBool) && v.integer == 0))
      add_text(v);
  }
  for (const auto& [key, v] : a.keys) {
    if (key.starts_with('_')) {
      if (!is_one_of(key, kOfTheProcess)) changed = key + "=";
      continue;
    }
    if (v.is(Kind::kBool) && v.integer == 0) continue;
    std::string flag = (key.size() > 1 ? "--" : "-") + key;
    if (key.size() > 1) std::replace(flag.begin(), flag.end(), '_', '-');
    const bool alone = v.is(Kind::kBool);
    if (key.size() > 1 && !alone) {
      ShellText whole = *text(flag + "=", v.begin).text;
      add(whole, text_or_hole(v, v.begin));
      out.push_back(text(std::move(whole)));
      continue;
    }
    out.push_back(text(flag, v.begin));
    if (!alone) out.push_back(str(v, v.begin));
  }
  if (!a.more.empty()) changed = "**" + shown(a.more[0].begin, a.more[0].end);
  return out;
}

// What stands in front of the words: of a command that was made, or of sh.NAME.NAME.
static std::vector<std::string> names_of_sh(std::string_view name) {
  std::vector<std::string> out;
  for (std::size_t from = std::string_view("sh.").size(); from < name.size();) {
    const std::size_t end = std::min(name.find('.', from), name.size());
    out.emplace_back(name.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

std::optional<Val> Follower::start_sh(const std::string& name, const Object& callee, Arguments& a) {
  if (!name.starts_with("sh.")) return std::nullopt;
  const bool bakes = name.ends_with(".bake");
  const bool made = name.starts_with(kShCommand);
  std::vector<Val> words;
  if (made) words = bakes ? callee.bound[0].object->bound : callee.bound;
  std::vector<std::string> names = made || name == "sh.Command" ? std::vector<std::string>() : names_of_sh(name);
  if (bakes && !names.empty()) names.pop_back();
  for (std::string& one : names) words.push_back(text(std::move(one), a.at));
  std::string changed;
  for (Val& word : words_of_sh(a, changed)) words.push_back(std::move(word));
  if (!changed.empty()) words.push_back(unknown(changed + " may change the words", a.at, true));
  if (bakes || name == "sh.Command") {
    Val out = instance(kShCommand);
    out.object->bound = std::move(words);
    return out;
  }
  ++doubts_;
  Arguments inner = a;
  std::erase_if(inner.keys, [](const auto& key) { return key.first != "_env"; });
  for (auto& key : inner.keys) key.first = "env";
  start_words(list_aside(std::move(words)), inner);
  return instance("subprocess.process");
}

// --- programs inside this one ---

// runpy.run_module(NAME, run_name="__main__"): `python -m NAME` with the arguments of this program.
std::optional<Val> Follower::run_module(const std::string& name, Arguments& a) {
  if (name != "runpy.run_module") return std::nullopt;
  const Val* module = a.argument(0, "mod_name");
  const Val* as = a.key("run_name");
  const bool main = as != nullptr && as->known_text() && as->text->text == "__main__";
  if (module == nullptr || !module->known_text() || !main) return std::nullopt;
  std::vector<Val> words = {text("python3", a.at), text("-m", a.at), *module};
  if (const auto set = globals_->now.names.find(".sys.argv"); set != globals_->now.names.end()) {
    const auto items = items_of(set->second, a.at);  // the name of the program is its first
    if (items && !items->empty() && items->front().is(Kind::kText)) finder_.account(*items->front().text);
  }
  const auto own = own_arguments(a.at);
  words.insert(words.end(), own.begin(), own.end());
  const Val all = list_aside(std::move(words));
  Arguments nothing = a;
  nothing.keys.clear();
  start_words(all, nothing);
  return none();
}

std::optional<Val> Follower::start(const std::string& name, Arguments& a) {
  if (auto out = ipython(name, a)) return out;
  if (auto out = start_process(name, a)) return out;
  if (auto out = start_by_words(name, a)) return out;
  if (auto out = start_pexpect(name, a)) return out;
  if (auto out = run_module(name, a)) return out;
  return start_server(name, a);
}

// Lists that name a server, and that nothing which is followed starts.
void Follower::left_lists() {
  std::set<std::string> told;
  for (const auto& [object, depth] : named_lists_) {
    if (used_.contains(object)) continue;
    Val all = {.kind = Kind::kList, .object = object};
    std::string key;
    spend(object->now.items.size());
    for (const Val& item : object->now.items) key += std::to_string(item.begin) + ",";
    if (!told.insert(key).second) continue;
    Arguments a;
    conditions_ = {where({{"what is made of this list is run"}})};
    start_words(all, a);
  }
}

}  // namespace preflight::sources::program
