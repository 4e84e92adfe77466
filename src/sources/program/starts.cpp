// Where a Python program starts something: its words or text go to the finder of launches, with the environment and
// what they depend on. Tested by tests/sources_test.cpp and tests/traps_test.cpp.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/sources/container_command.h"
#include "src/sources/program/follower.h"

namespace preflight::sources::program {
namespace {

using Kind = Val::Kind;

bool is_many(const Val& v) { return v.is(Kind::kUnknown) && v.mystery->many; }
std::string_view last_name(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// "<checkpoint_path>", as pages write what their reader puts in.
bool is_placeholder(std::string_view word) {
  if (word.size() < 3 || !word.starts_with('<') || !word.ends_with('>')) return false;
  const std::string_view name = word.substr(1, word.size() - 2);
  return std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == ' ';
  });
}

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

constexpr std::size_t kStartSteps = 200;  // to look at what is started, and to keep it

constexpr std::array<std::string_view, 5> kProcesses = {"subprocess.run", "subprocess.Popen", "subprocess.call",
                                                        "subprocess.check_call", "subprocess.check_output"};
constexpr std::array<std::string_view, 6> kShells = {
    "os.system",    "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "asyncio.create_subprocess_shell",
    "pexpect.spawn"};

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

void Follower::add_word(const Val& value, std::vector<ShellWord>& out, RunContext& context, bool texts_alone) {
  spend_bytes(sizeof(ShellWord));
  const Val v = value.is(Kind::kNative) ? str(value, value.begin) : value;
  const std::size_t at = v.begin;
  const bool path = v.is(Kind::kInstance) && v.object->name == "pathlib.Path";
  if (v.is(Kind::kUnknown)) {
    out.push_back(word(hole(v, at), v, at));
  } else if (v.known_text() && is_placeholder(v.text->text)) {
    out.push_back(word(unknown_text(v.text->text + " is a placeholder: put the value in its place", at), v, at));
  } else if (v.is(Kind::kText) || path || !texts_alone) {
    out.push_back(word(text_or_hole(v, at), v, at));
  } else {
    const std::string what = v.begin < v.end ? shown(v.begin, v.end) : repr(v).value_or("a word");
    context.unknown.push_back({fmt::format("{} is no text, and Python refuses to start that", what), at, {}});
    out.push_back(word(text_or_hole(v, at), v, at));
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
  std::vector<std::string> when;
  for (const auto* list : {&conditions_, &endings_}) {
    for (const std::string& one : *list) {
      spend(when.size() / 4 + 1);
      if (std::find(when.begin(), when.end(), one) == when.end()) when.push_back(one);
    }
  }
  constexpr std::size_t kMost = 3;
  if (when.size() > kMost) when.erase(when.begin(), when.end() - kMost);
  for (const std::string& one : when) out.when += (out.when.empty() ? "" : "; ") + one;
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
  const RunContext where = context(a);
  if (forever_ > 0 && !once_.insert(std::to_string(a.at) + v.text->text).second) return;
  spend(v.text->text.size() + 1);
  auto done = finder_.script(*v.text, where);
  if (!done && !error_) error_ = done.error();
}

std::optional<Val> Follower::start_process(const std::string& name, Arguments& a) {
  if (is_one_of(name, kShells) || runs_a_text(name)) {
    if (!a.values.empty() || !a.keys.empty()) start_shell(a.values.empty() ? a.keys[0].second : a.values[0], a);
    if (last_name(name) == "launch_server_cmd")
      return list_of({instance("subprocess.process"), unknown("the port is chosen where the program runs", a.at)},
                     Kind::kTuple);
    return unclear(a.at, a.end);
  }
  if (!is_one_of(name, kProcesses)) return std::nullopt;
  const Val* args = a.argument(0, "args");
  if (args == nullptr) return std::nullopt;
  const Val* shell = a.key("shell");
  const auto in_shell = shell == nullptr ? std::optional(false) : truth(*shell);
  ++doubts_;
  if (args->sequence() && in_shell == std::optional(true)) {
    if (names_server(*args)) used_.insert(args->object);
    const auto& words = args->object->now.items;
    if (!words.empty() && words[0].is(Kind::kText) && names_server(words[0])) {
      start_shell(words[0], a);  // the whole command; what stands behind it are its arguments
    } else if (names_server(*args) && quiet_ == 0) {
      finder_.note(
          {"SH004", "a list with shell=True runs its first word alone: the launch here never starts", args->begin});
    }
  } else if (args->sequence()) {
    start_words(*args, a);
  } else if (args->is(Kind::kText) && in_shell != std::optional(false)) {
    start_shell(*args, a);
  }
  return instance("subprocess.process");
}

// os.exec…, os.spawn…, asyncio.create_subprocess_exec: words one by one, or a list.
std::optional<Val> Follower::start_by_words(const std::string& name, Arguments& a) {
  struct Call {
    std::string_view name;
    std::size_t before;  // arguments in front of the words
    bool list;
    bool environment;
    bool ends;
  };
  constexpr std::array<Call, 14> kCalls = {{{"asyncio.create_subprocess_exec", 0, false, false, false},
                                            {"os.execl", 1, false, false, true},
                                            {"os.execlp", 1, false, false, true},
                                            {"os.execle", 1, false, true, true},
                                            {"os.execlpe", 1, false, true, true},
                                            {"os.execv", 1, true, false, true},
                                            {"os.execvp", 1, true, false, true},
                                            {"os.execve", 1, true, true, true},
                                            {"os.execvpe", 1, true, true, true},
                                            {"os.spawnlp", 2, false, false, false},
                                            {"os.spawnvp", 2, true, false, false},
                                            {"os.spawnvpe", 2, true, true, false},
                                            {"os.posix_spawnp", 1, true, true, false},
                                            {"pty.spawn", 0, true, false, false}}};
  const auto it = std::find_if(kCalls.begin(), kCalls.end(), [&](const Call& one) { return one.name == name; });
  if (it == kCalls.end() || a.values.size() <= it->before) return std::nullopt;
  ++doubts_;
  Arguments inner = a;
  Val words;
  if (it->list) {
    words = a.values[it->before];
    if (it->environment && a.values.size() > it->before + 1) inner.keys.emplace_back("env", a.values[it->before + 1]);
  } else {
    std::vector<Val> items(a.values.begin() + static_cast<std::ptrdiff_t>(it->before), a.values.end());
    if (it->environment && !items.empty()) {
      inner.keys.emplace_back("env", items.back());
      items.pop_back();
    }
    ++quiet_;
    words = list_of(std::move(items));
    --quiet_;
  }
  start_words(words, inner);
  if (it->ends) throw Thrown{instance("SystemExit"), a.at};
  return unclear(a.at, a.end);
}

// A call of something that is not known, by a name that starts things: a command as a text, or its words one by one.
// What it hands on as `env` stands beside the variables that are there. False where it does not read as a start.
bool Follower::start_unknown(const std::string& name, Arguments& a) {
  if (a.values.empty() || a.key("environment") != nullptr || !a.more.empty()) return false;
  const bool all_texts = std::all_of(a.values.begin(), a.values.end(), [](const Val& v) { return v.is(Kind::kText); });
  if (!all_texts) return false;
  const bool one = a.values.size() == 1;
  ++quiet_;
  const Val words = list_of(a.values);
  --quiet_;
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
  conditions_.push_back(fmt::format("where {} starts it", name));
  if (one)
    start_shell(a.values[0], inner);
  else
    start_words(words, inner);
  conditions_.pop_back();
  return true;
}

// --- SGLang's own calls ---

// NAME=VALUE as --name VALUE.
void Follower::option(const std::string& name, const Val& v, std::size_t at, std::vector<ShellWord>& words,
                      RunContext& context) {
  if (v.is(Kind::kNone) || (v.is(Kind::kBool) && v.integer == 0)) return;
  std::string flag = "--" + name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  const std::size_t size = flag.size();
  spend_text(size);
  words.push_back({{std::move(flag), std::vector<std::size_t>(size, at), {}}, at, at + name.size()});
  if (v.is(Kind::kBool)) return;
  if (v.is(Kind::kList) || v.is(Kind::kTuple)) {
    for (const Val& item : v.object->now.items) add_word(item, words, context, false);
    return;
  }
  if (v.is(Kind::kDict)) {
    ShellText json;
    const bool known = json_text(v, false, json, at, 0);
    words.push_back(word(known ? json : hole(unclear(v.begin, v.end), at), v, at));
    return;
  }
  add_word(v, words, context, false);
}

void Follower::engine(Arguments& a) {
  if (quiet_ > 0) return;
  RunContext where = context(a);
  where.name = "Engine";
  if (a.keys.empty()) where.at = a.at;
  std::vector<ShellWord> words;
  for (const auto& [name, v] : a.keys) {
    // Where the name stands: in front of its value.
    std::size_t at = a.at;
    if (v.begin > a.at) {
      const auto place = source_.text.substr(a.at, v.begin - a.at).rfind(name);
      const bool stands = place != std::string_view::npos && place > 0;
      spend_bytes(v.begin - a.at - (stands ? place : 0));
      if (stands) at = a.at + place;
    }
    option(name, v, at, words, where);
  }
  for (const Val& v : a.values)
    where.unknown.push_back(
        {fmt::format("{} hands over arguments that are not known here", shown(v.begin, v.end)), v.begin, {}});
  for (const Val& v : a.more)
    where.unknown.push_back(
        {fmt::format("**{} hands over arguments that are not known here", shown(v.begin, v.end)), v.begin, {}});
  finder_.arguments(words, where);
}

// popen_launch_server(model, url, …, other_args=[…]) of SGLang's tests.
void Follower::test_server(Arguments& a) {
  if (quiet_ > 0) return;
  RunContext where = context(a);
  std::vector<ShellWord> words;
  const auto flag = [&](const std::string& s) {
    words.push_back({{s, std::vector<std::size_t>(s.size(), a.at), {}}, a.at, a.at});
  };
  const Val* model = a.argument(0, "model");
  if (model == nullptr) return;
  flag("--model-path");
  add_word(*model, words, where, false);
  if (const Val* device = a.key("device");
      device != nullptr && !(device->known_text() && device->text->text == "auto")) {
    flag("--device");
    add_word(*device, words, where, false);
  }
  if (const Val* others = a.key("other_args"); others != nullptr && !others->is(Kind::kNone)) {
    if (others->sequence())
      for (const Val& item : others->object->now.items) add_word(item, words, where, false);
    else
      add_word(*others, words, where, false);
  }
  finder_.arguments(words, where);
}

// A helper of another program, or one that is SGLang's by its name alone.
void Follower::tell_other_server(const std::string& what, const Arguments& a) {
  const bool told = quiet_ > 0 || !once_.insert(fmt::format("{} at {}", what, a.at)).second;
  if (!told) finder_.note({"SH004", what + ": what it starts is not known here", a.at});
}

std::optional<Val> Follower::start_server(const std::string& name, Arguments& a) {
  const std::string_view last = last_name(name);
  if (!is_sglangs(name)) {
    if (last == "popen_launch_server") tell_other_server(imported_from(name, last), a);
    return std::nullopt;
  }
  const bool runtime = last == "Runtime" && name.starts_with("sglang.");
  if (runtime) std::erase_if(a.keys, [](const auto& key) { return key.first == "launch_timeout"; });
  if (last == "Engine" || last == "ServerArgs" || runtime) {
    const bool made_elsewhere =
        a.values.empty() && a.more.empty() && a.keys.size() == 1 && a.keys[0].first == "server_args";
    if (made_elsewhere) start_prepared(a);
    if (!made_elsewhere && (!a.keys.empty() || !a.more.empty() || !a.values.empty())) engine(a);
    ++doubts_;
    return instance("sglang." + std::string(last));
  }
  if (last == "popen_launch_server") {
    test_server(a);
    ++doubts_;
    return instance("subprocess.process");
  }
  if (last == "prepare_server_args" && a.values.size() == 1) return prepared(a.values[0], a);
  if (last == "from_cli_args" && a.values.size() == 1) {
    const Val& options = a.values[0];
    const bool read = options.is(Kind::kInstance) && options.object->keys.contains(kServersWords);
    return prepared(read ? options.object->keys.at(kServersWords) : unclear(options.begin, options.end), a);
  }
  if (last == "add_cli_args" && !a.values.empty() && a.values[0].is(Kind::kInstance))
    a.values[0].object->keys[kServersWords] = none();  // its options are SGLang's, and those that are added to them
  if ((last == "launch_server" || last == "run_server") && name.starts_with("sglang.")) {
    start_prepared(a);
    return std::nullopt;
  }
  return std::nullopt;
}

// ServerArgs of a list of words. Those that nobody knows are a launch where they are handed to a server: a program may
// hand its own arguments on to something else.
Val Follower::prepared(const Val& words, Arguments& a) {
  Val out = instance("sglang.ServerArgs");
  if (quiet_ > 0) return out;
  const bool known = words.sequence() && !(words.object->now.items.size() == 1 && is_many(words.object->now.items[0]));
  if (known)
    start_arguments(words, a);
  else
    out.object->keys[kServersWords] = words;
  return out;
}

void Follower::start_prepared(Arguments& a) {
  const Val* made = a.argument(0, "server_args");
  if (quiet_ > 0 || made == nullptr || !made->is(Kind::kInstance) || made->object->name != "sglang.ServerArgs") return;
  if (const auto words = made->object->keys.find(kServersWords); words != made->object->keys.end())
    start_arguments(words->second, a);
}

void Follower::start_arguments(const Val& all, Arguments& a) {
  RunContext where = context(a);
  where.at = a.at;
  std::vector<ShellWord> words;
  if (all.sequence()) {
    for (const Val& item : all.object->now.items) add_word(item, words, where, true);
  } else {
    words.push_back(word(hole(all, a.at), all, a.at));
    words.back().several = true;
  }
  for (ShellWord& one : words) {  // sys.argv stands nowhere
    for (Unknown& unknown : one.unknowns) unknown.offset = unknown.offset == 0 ? a.at : unknown.offset;
  }
  finder_.arguments(words, where);
}

// runpy.run_module(NAME, run_name="__main__"): `python -m NAME` with the arguments of this program.
std::optional<Val> Follower::run_module(const std::string& name, Arguments& a) {
  if (name != "runpy.run_module") return std::nullopt;
  const Val* module = a.argument(0, "mod_name");
  const Val* as = a.key("run_name");
  const bool main = as != nullptr && as->known_text() && as->text->text == "__main__";
  if (module == nullptr || !module->known_text() || !main) return std::nullopt;
  ++quiet_;
  std::vector<Val> words = {text("python3", a.at), text("-m", a.at), *module};
  if (const auto set = globals_->now.names.find(".sys.argv"); set != globals_->now.names.end()) {
    const auto items = items_of(set->second, a.at);  // the name of the program is its first
    if (items && !items->empty() && items->front().is(Kind::kText)) finder_.account(*items->front().text);
  }
  const auto own = own_arguments(a.at);
  words.insert(words.end(), own.begin(), own.end());
  const Val all = list_of(std::move(words));
  --quiet_;
  Arguments nothing = a;
  nothing.keys.clear();
  start_words(all, nothing);
  return none();
}

std::optional<Val> Follower::start(const std::string& name, Arguments& a) {
  if (auto out = ipython(name, a)) return out;
  if (auto out = start_process(name, a)) return out;
  if (auto out = start_by_words(name, a)) return out;
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
    conditions_ = {"where what is made of this list is run"};
    start_words(all, a);
  }
}

}  // namespace preflight::sources::program
