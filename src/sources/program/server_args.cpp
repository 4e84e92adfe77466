// SGLang's own calls: Engine(…), ServerArgs as they are made, changed, copied and handed to a server, and the helpers
// of its tests. Tested by tests/sources_test.cpp.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/sources/program/follower.h"

namespace preflight::sources::program {
namespace {

using Kind = Val::Kind;

constexpr const char* kServerArgs = "sglang.ServerArgs";
constexpr const char* kServersOptions = "what SGLang's own options are given is not known here";

// Fields that no release reads while it resolves the others: set at any time, they are as if they were given.
constexpr std::array<std::string_view, 7> kReadAtStart = {
    "host", "log_level", "log_level_http", "log_requests", "dist_init_addr", "nccl_port", "enable_metrics"};

bool is_server_args(const Val& v) { return v.is(Kind::kInstance) && v.object->name == kServerArgs; }
bool is_off(const Val& v) { return v.is(Kind::kNone) || (v.is(Kind::kBool) && v.integer == 0); }

}  // namespace

// --- options ---

// NAME=VALUE as --name VALUE.
void Follower::option(const std::string& name, const Val& v, std::size_t at, std::vector<ShellWord>& words,
                      RunContext& context) {
  if (is_off(v)) return;
  std::string flag = "--" + name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  const std::size_t size = flag.size();
  spend_text(size);
  // One of **kwargs stands nowhere in the call.
  const std::size_t end = at + (source_.text.substr(at).starts_with(name) ? name.size() : 0);
  words.push_back({{std::move(flag), std::vector<std::size_t>(size, at), {}}, at, end});
  if (v.is(Kind::kBool)) return;
  if (v.is(Kind::kList) || v.is(Kind::kTuple)) {
    for (const Val& item : v.object->now.items) add_word(item, words, context, false);
    return;
  }
  if (v.is(Kind::kDict)) {
    ShellText json;
    const bool known = json_text(v, JsonStyle{}, json, at, 0);
    words.push_back(word(known ? json : hole(unclear(v.begin, v.end), at), v, at));
    return;
  }
  add_word(v, words, context, false);
}

// Where NAME of a keyword stands: in front of its value.
std::size_t Follower::keyword_place(const std::string& name, const Val& v, std::size_t call) const {
  if (v.begin <= call) return call;
  const auto place = source_.text.substr(call, v.begin - call).rfind(name);
  const bool stands = place != std::string_view::npos && place > 0;
  spend_bytes(v.begin - call - (stands ? place : 0));
  return stands ? call + place : call;
}

void Follower::engine(Arguments& a) {
  if (quiet_ == 0) keyword_arguments(a, context(a));
}

void Follower::keyword_arguments(const Arguments& a, RunContext where) {
  where.name = "Engine";
  if (a.keys.empty()) where.at = a.at;
  std::vector<ShellWord> words;
  for (const auto& [name, v] : a.keys) option(name, v, keyword_place(name, v, a.at), words, where);
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

// --- ServerArgs ---

// What was given stands in `pairs`, what was set behind that in `names`.
Val Follower::server_args(const Arguments& a) {
  Val out = instance(kServerArgs);
  for (const auto& [name, v] : a.keys) out.object->now.pairs.emplace_back(text(name, a.at), v);
  Arguments call = a;
  call.keys.clear();
  made_.push_back({out.object, std::move(call), quiet_ > 0 ? std::nullopt : std::optional(context(call))});
  return out;
}

// ServerArgs of a list of words. Those that nobody knows are a launch where they are handed to a server: a program may
// hand its own arguments on to something else.
Val Follower::prepared(const Val& words, const Arguments& a) {
  Val out = server_args({.at = a.at, .end = a.end, .call = a.call});
  const bool known = words.sequence() && !(words.object->now.items.size() == 1 && is_many(words.object->now.items[0]));
  if (!known) made_.back().where.reset();
  out.object->keys[kServersWords] = words.sequence() ? list_aside(words.object->now.items, words.kind) : words;
  return out;
}

// from_cli_args(options): the words that a parser read, and the attributes that were set behind it.
Val Follower::prepared_of_options(const Val& options, const Arguments& a) {
  const bool read = options.is(Kind::kInstance) && options.object->keys.contains(kServersWords);
  if (!read) return prepared(unclear(options.begin, options.end), a);
  Val out = prepared(options.object->keys.at(kServersWords), a);
  const Content& now = options.object->now;
  for (const auto& [name, v] : now.names) {
    const auto own = std::ranges::find_if(
        now.pairs, [&, &key = name](const auto& one) { return one.first.known_text() && one.first.text->text == key; });
    if (own == now.pairs.end()) out.object->now.pairs.emplace_back(text(name, a.at), v);
  }
  if (now.open != kServersOptions) out.object->now.open = now.open;
  return out;
}

// What was given to ServerArgs(…), of fields that SGLang leaves as they are. Who asks for one makes something else of
// it.
std::optional<Val> Follower::field_of_server_args(const Val& v, std::string_view name) {
  constexpr auto kLeft = std::to_array<std::string_view>({"model_path", "tp_size", "pp_size", "port", "host"});
  MadeArgs* made = made_args(v);
  if (made == nullptr) return std::nullopt;
  made->asked = true;
  if (std::ranges::find(kLeft, name) == kLeft.end() || !v.object->now.open.empty()) return std::nullopt;
  for (const auto& [key, given] : v.object->now.pairs) {
    if (key.known_text() && key.text->text == name) return given;
  }
  return std::nullopt;
}

// Engine(**dataclasses.asdict(ARGS)), **vars(ARGS): these ServerArgs themselves.
const Val* Follower::spread_server_args(const Arguments& a) {
  if (a.more.size() != 1 || !a.values.empty() || !a.keys.empty() || a.call == nullptr) return nullptr;
  const Expr& spread = *a.call->arguments.back().value;
  const bool call = spread.kind == Expr::Kind::kCall && spread.arguments.size() == 1 &&
                    spread.arguments[0].value->kind == Expr::Kind::kName;
  const std::string made = call ? shown(spread.kids[0]->begin, spread.kids[0]->end) : std::string();
  if (last_name(made) != "asdict" && made != "vars") return nullptr;
  for (const Object* scope = locals_; scope != nullptr; scope = scope->scope) {
    const auto found = scope->now.names.find(spread.arguments[0].value->name);
    if (found != scope->now.names.end()) return made_args(found->second) == nullptr ? nullptr : &found->second;
  }
  return nullptr;
}

Follower::MadeArgs* Follower::made_args(const Val& v) {
  spend(made_.size() / 8 + 1);
  const auto it = std::ranges::find_if(made_, [&](const MadeArgs& one) { return one.object == v.object; });
  return is_server_args(v) && it != made_.end() ? &*it : nullptr;
}

// Another with the same arguments, but for `changes`: copy.deepcopy, dataclasses.replace.
std::optional<Val> Follower::copied_args(const Val& v, const Arguments& changes) {
  const MadeArgs* before = made_args(v);
  if (before == nullptr) return std::nullopt;
  Val out = instance(kServerArgs);
  MadeArgs copy = *before;
  copy.object = out.object;
  copy.handed.reset();
  copy.where.reset();  // a launch where it is handed to a server
  out.object->keys = v.object->keys;
  spend(2 * (v.object->now.pairs.size() + v.object->now.names.size()));
  out.object->now = v.object->now;
  for (const auto& [name, value] : changes.keys) out.object->now.names[name] = value;
  if (!changes.more.empty())
    out.object->now.open =
        fmt::format("{} hands over arguments that are not known here", shown(changes.at, changes.end));
  made_.push_back(std::move(copy));
  return out;
}

std::optional<Val> Follower::server_args_call(const std::string& name, const Object& callee, Arguments& a) {
  const bool copies = name == "copy.copy" || name == "copy.deepcopy" || name == "dataclasses.replace" ||
                      name == "msgspec.structs.replace";
  if (copies && a.values.size() == 1) return copied_args(a.values[0], a);
  if (callee.bound.empty() || name != "sglang.ServerArgs.override") return std::nullopt;
  for (const auto& [key, v] : a.keys) set_name(callee.bound[0].object, key, v);
  return none();
}

// What is set behind ServerArgs(…).
void Follower::tell_late(const std::string& name, const Val& v, const Arguments& a, RunContext& where) const {
  const bool at_start = std::ranges::find(kReadAtStart, name) != kReadAtStart.end();
  if (at_start || v.is(Kind::kUnknown)) return;
  const std::size_t at = std::max(v.begin, a.at);
  where.unknown.push_back(
      {fmt::format("{} is set at line {}, behind ServerArgs(…): SGLang up to 0.5.18 has resolved the "
                   "other arguments by then; give it to ServerArgs",
                   name, line(at)),
       at,
       {}});
}

// A launch of these arguments, as `content` has them.
void Follower::start_made(const MadeArgs& made, const Content& content, RunContext where) {
  Arguments a = made.call;
  for (const auto& [key, v] : content.pairs) a.keys.emplace_back(key.text->text, v);
  for (const auto& [name, v] : content.names) {
    if (name.starts_with('_')) continue;
    const Val now = v.is(Kind::kGone) ? none() : v;
    const auto given = std::ranges::find(a.keys, name, [](const auto& one) { return one.first; });
    if (given != a.keys.end() && same(given->second, now)) continue;
    if (given != a.keys.end())
      given->second = now;
    else
      a.keys.emplace_back(name, now);
    tell_late(name, now, a, where);
  }
  if (!content.open.empty()) where.unknown.push_back({content.open, a.at, {}});
  const auto words = made.object->keys.find(kServersWords);
  if (words == made.object->keys.end()) return keyword_arguments(a, std::move(where));
  start_arguments(words->second, a, std::move(where));
}

// What is handed to a server.
void Follower::start_prepared(Arguments& a) {
  const Val* given = a.argument(0, "server_args");
  if (quiet_ > 0 || given == nullptr) return;
  if (MadeArgs* made = made_args(*given)) {
    made->started = true;
    started_at_.insert(made->call.at);
    MadeArgs here = *made;
    if (!here.where && here.object->keys.contains(kServersWords)) here.call.at = a.at;  // its words stand nowhere
    return start_made(here, here.object->now, context(a));
  }
  const bool other = std::ranges::any_of(made_, [](const MadeArgs& one) { return one.where && !one.started; });
  if (other) return;  // one of them
  Val unread = given->is(Kind::kUnknown) ? *given : unclear(given->begin, given->end);
  start_arguments(unread, a, context(a));
}

// It may be changed from here on; where nothing else starts it, this is what starts it.
void Follower::hand_args(const Val& v) {
  MadeArgs* made = made_args(v);
  if (made != nullptr && !made->handed) made->handed = v.object->now;
}

// ServerArgs that nothing which is followed starts.
void Follower::left_server_args() {
  for (const MadeArgs& made : made_) {
    if (!made.where || made.started || started_at_.contains(made.call.at)) continue;
    RunContext where = *made.where;
    if (made.asked && !made.handed)
      where.when.add(sources::where({{"something starts a server with these ServerArgs"}}));
    start_made(made, made.handed ? *made.handed : made.object->now, std::move(where));
  }
}

// Words, and what was set behind them.
void Follower::start_arguments(const Val& all, const Arguments& a, RunContext where) {
  where.at = a.at;
  std::vector<ShellWord> words;
  if (all.sequence()) {
    for (const Val& item : all.object->now.items) add_word(item, words, where, true);
  } else {
    words.push_back(word(hole(all, a.at), all, a.at));
    words.back().several = true;
  }
  for (const auto& [name, v] : a.keys) {
    if (is_off(v))
      where.unknown.push_back(
          {fmt::format("{} is set to {} behind the words that were read", name, repr(v).value_or("")), v.begin, {}});
    option(name, v, keyword_place(name, v, a.at), words, where);
  }
  for (ShellWord& one : words) {  // sys.argv stands nowhere
    for (Unknown& unknown : one.unknowns) unknown.offset = unknown.offset == 0 ? a.at : unknown.offset;
  }
  finder_.arguments(words, where);
}

// --- calls ---

std::optional<Val> Follower::start_server(const std::string& name, Arguments& a) {
  const std::string_view last = last_name(name);
  if (!is_sglangs(name)) {
    if (last == "popen_launch_server") tell_other_server(imported_from(name, last), a);
    return std::nullopt;
  }
  const bool runtime = last == "Runtime" && name.starts_with("sglang.");
  if (runtime) std::erase_if(a.keys, [](const auto& key) { return key.first == "launch_timeout"; });
  if (last == "ServerArgs") {
    ++doubts_;
    const bool empty = a.keys.empty() && a.more.empty() && a.values.empty();
    return empty ? instance(kServerArgs) : server_args(a);
  }
  if (last == "Engine" || runtime) {
    const Val* spread = spread_server_args(a);
    const bool made_elsewhere = a.key("server_args") != nullptr || spread != nullptr;
    if (spread != nullptr) {
      Arguments alone = a;
      alone.more.clear();
      alone.values = {*spread};
      start_prepared(alone);
    } else if (made_elsewhere) {
      start_prepared(a);
    }
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
  if (last == "from_cli_args" && a.values.size() == 1) return prepared_of_options(a.values[0], a);
  if (last == "add_cli_args" && !a.values.empty() && a.values[0].is(Kind::kInstance)) {
    Object* parser = a.values[0].object;
    parser->keys[kServersWords] = none();  // its options are SGLang's, and those that are added to them
    touch(parser);
    if (parser->now.open.empty()) parser->now.open = kServersOptions;
    return none();
  }
  if ((last == "launch_server" || last == "run_server") && name.starts_with("sglang.")) {
    start_prepared(a);
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace preflight::sources::program
