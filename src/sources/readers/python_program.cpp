// Tested by tests/sources_test.cpp.
#include "src/sources/readers/python_program.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "src/sources/container_command.h"
#include "src/sources/shell/parser.h"

namespace preflight::sources {
namespace {

using Kind = PythonToken::Kind;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr std::size_t kMostWords = 10'000;
constexpr int kDeepest = 6;
constexpr std::size_t kMostSettings = 1'000;  // of os.environ

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Functions that hand their first argument to a shell; the second list does so with shell=True.
constexpr std::array<std::string_view, 7> kShellCalls = {"os.system",
                                                         "os.popen",
                                                         "launch_server_cmd",
                                                         "execute_shell_command",
                                                         "getoutput",
                                                         "subprocess.getoutput",
                                                         "asyncio.create_subprocess_shell"};
constexpr std::array<std::string_view, 5> kProcessCalls = {"subprocess.run", "subprocess.Popen", "subprocess.call",
                                                           "subprocess.check_call", "subprocess.check_output"};
// Functions that take the words of a program one by one, and how many of their arguments stand before them.
struct WordsCall {
  std::string_view name;
  std::size_t before;
};
constexpr std::array<WordsCall, 4> kWordsCalls = {
    {{"asyncio.create_subprocess_exec", 0}, {"os.execl", 1}, {"os.execlp", 1}, {"os.spawnlp", 2}}};
// Last names of calls that make another list of one.
constexpr std::array<std::string_view, 10> kCopyingCalls = {"list", "tuple",     "copy", "deepcopy", "sorted",
                                                            "iter", "enumerate", "zip",  "map",      "filter"};
// Last names of calls that only tell of a list, and of calls that run it.
constexpr std::array<std::string_view, 14> kSpeakingCalls = {"print",   "len",          "str",  "repr",   "info",
                                                             "debug",   "warning",      "log",  "format", "join",
                                                             "pformat", "list2cmdline", "echo", "write"};
constexpr std::array<std::string_view, 11> kRunningCalls = {
    "run",    "Popen",  "call",    "check_call", "check_output",     "execv",
    "execvp", "execve", "execvpe", "spawn",      "launch_server_cmd"};
// Modules whose functions are known here, by whatever name a program calls them.
constexpr std::array<std::string_view, 6> kFollowedModules = {"os", "subprocess", "asyncio", "shlex", "copy", "json"};
constexpr std::array<std::string_view, 7> kBindsBefore = {"global", "nonlocal", "import", "def", "class", "del", "as"};
constexpr std::array<std::string_view, 8> kBranches = {"if", "elif", "else", "for", "while", "except", "case", "match"};

}  // namespace

PythonProgram::PythonProgram(const SourceText& source, LaunchFinder& finder, std::string doubt)
    : source_(source), doubt_(std::move(doubt)), finder_(finder), tokens_(python_tokens(source.text)) {
  std::vector<std::size_t> open;
  close_of_.assign(tokens_.size(), kNone);
  std::size_t line = 0;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const bool closes = is_sign(i, ")") || is_sign(i, "]") || is_sign(i, "}");
    if (closes && !open.empty()) {
      close_of_[open.back()] = i;
      open.pop_back();
    }
    open_of_.push_back(open.empty() ? kNone : open.back());
    if (is_sign(i, "(") || is_sign(i, "[") || is_sign(i, "{")) open.push_back(i);
    if (open.empty() && is_sign(i, ";")) tokens_[i].kind = Kind::kLine;
    if (tokens_[i].kind == Kind::kLine) {
      if (i > line) add_line({line, i});
      line = i + 1;
    }
  }
  bind();
}

// A statement; what stands behind the colon of `if x: a` is one of its own, a step deeper.
void PythonProgram::add_line(Span line) {
  constexpr std::array<std::string_view, 12> kHeads = {"if",  "elif",   "else",    "for", "while", "with",
                                                       "try", "except", "finally", "def", "class", "async"};
  std::size_t colon = line.end;
  int lambdas = 0;
  for (std::size_t i = line.begin; i < line.end && is_one_of(text_of(line.begin), kHeads); ++i) {
    if (open_of_[i] != kNone) continue;
    lambdas += text_of(i) == "lambda" ? 1 : 0;
    if (!is_sign(i, ":") || lambdas-- > 0) continue;
    colon = i;
    break;
  }
  if (colon + 1 >= line.end) return lines_.push_back(line);
  lines_.push_back({line.begin, colon + 1});
  for (std::size_t i = colon + 1; i < line.end; ++i) ++tokens_[i].indent;
  lines_.push_back({colon + 1, line.end});
}

std::string_view PythonProgram::text_of(std::size_t token) const {
  return source_.text.substr(tokens_[token].begin, tokens_[token].end - tokens_[token].begin);
}

bool PythonProgram::is_sign(std::size_t token, std::string_view sign) const {
  return token < tokens_.size() && tokens_[token].kind == Kind::kSign && text_of(token) == sign;
}

bool PythonProgram::spend(std::size_t steps) const {
  steps_ = steps < steps_ ? steps_ - steps : 0;
  return steps_ > 0;
}

PythonProgram::Span PythonProgram::chain_at(std::size_t token) const {
  Span out{token, token};
  if (token >= tokens_.size() || tokens_[token].kind != Kind::kName) return out;
  out.end = token + 1;
  while (is_sign(out.end, ".") && out.end + 1 < tokens_.size() && tokens_[out.end + 1].kind == Kind::kName)
    out.end += 2;
  return out;
}

std::string PythonProgram::name_of(Span chain) const {
  std::string out;
  for (std::size_t i = chain.begin; i < chain.end; ++i) out += text_of(i);
  return out;
}

// --- what names stand for ---

void PythonProgram::bind() {
  for (const Span& line : lines_) bind_line(line);
}

// Every name that a span's tokens bind to something that is not followed.
void PythonProgram::bind_each(Span tokens) {
  for (std::size_t i = tokens.begin; i < tokens.end; ++i) {
    if (tokens_[i].kind != Kind::kName || (i > tokens.begin && is_sign(i - 1, "."))) continue;
    bindings_[name_of(chain_at(i))].count += 2;
  }
}

void PythonProgram::bind_targets(Span line, std::size_t equals) {
  const Span chain = chain_at(line.begin);
  const bool plain = chain.end == equals || is_sign(chain.end, ":");
  const bool again = std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(equals) + 1,
                                 tokens_.begin() + static_cast<std::ptrdiff_t>(line.end), [&](const PythonToken& t) {
                                   return source_.text.substr(t.begin, t.end - t.begin) == "=" &&
                                          open_of_[static_cast<std::size_t>(&t - tokens_.data())] == kNone;
                                 });
  const bool item = is_sign(chain.end, "[") && close_of_[chain.end] + 1 == equals;  // a change, which others see
  if (item && !again) return;
  if (!plain || again) return bind_each({line.begin, equals});
  Binding& binding = bindings_[name_of(chain)];
  ++binding.count;
  binding.value = {equals + 1, line.end};
  binding.at = line.begin;
}

// import NAME as OTHER, from MODULE import NAME as OTHER.
void PythonProgram::import_line(Span line) {
  const bool from = text_of(line.begin) == "from";
  if (!from && text_of(line.begin) != "import") return;
  std::string module;
  std::size_t i = line.begin + 1;
  if (from) {
    module = name_of(chain_at(i)) + ".";
    i = chain_at(i).end + 1;
  }
  while (i < line.end && spend(1)) {
    const Span name = chain_at(i);
    if (name.end == name.begin || name.end > line.end) {
      ++i;
      continue;
    }
    const bool renamed = name.end + 1 < line.end && text_of(name.end) == "as";
    const std::string own = renamed ? std::string(text_of(name.end + 1)) : name_of(name);
    const std::string whole = module + name_of(name);
    const std::string_view root = std::string_view(whole).substr(0, whole.find('.'));
    if ((renamed || from) && is_one_of(root, kFollowedModules)) imported_.insert_or_assign(own, whole);
    i = name.end + (renamed ? 2 : 0) + 1;
  }
}

// A name by which a module has it.
std::string PythonProgram::module_name(const std::string& name) const {
  const auto dot = std::min(name.find('.'), name.size());
  const auto it = imported_.find(name.substr(0, dot));
  return it == imported_.end() ? name : it->second + name.substr(dot);
}

void PythonProgram::bind_line(Span line) {
  const std::string_view first = text_of(line.begin);
  import_line(line);
  for (std::size_t i = line.begin; i < line.end; ++i) {
    const bool name = tokens_[i].kind == Kind::kName;
    if (name && i + 1 < line.end && is_one_of(text_of(i), kBindsBefore)) {
      bind_each({i + 1, first == "import" || first == "from" || first == "global" ? line.end : i + 2});
    }
    if (name && text_of(i) == "for") {
      std::size_t to = i + 1;
      while (to < line.end && text_of(to) != "in") ++to;
      bind_each({i + 1, to});
    }
    const bool parameters = is_sign(i, "(") && i >= 2 && text_of(i - 2) == "def";
    if (parameters && close_of_[i] != kNone) bind_each({i + 1, close_of_[i]});
    if (is_sign(i, ":=")) bind_each({i - 1, i});
    if (name && text_of(i) == "lambda") {
      std::size_t to = i + 1;
      while (to < line.end && !is_sign(to, ":")) ++to;
      bind_each({i + 1, to});
    }
  }
  for (std::size_t i = line.begin; i < line.end; ++i) {
    if (open_of_[i] != kNone || tokens_[i].kind != Kind::kSign) continue;
    if (text_of(i) == "=") {
      bind_targets(line, i);
      break;
    }
  }
  const Span chain = chain_at(line.begin);
  if (chain.end < line.end && is_augmented(chain.end)) grows_.insert(name_of(chain));
  environment_line(line);
}

// += and its kin.
bool PythonProgram::is_augmented(std::size_t token) const {
  if (token >= tokens_.size() || tokens_[token].kind != Kind::kSign) return false;
  const std::string_view sign = text_of(token);
  return sign.size() > 1 && sign.back() == '=' &&
         std::string_view("+-*/%@&|^<>").find(sign.front()) != std::string_view::npos && sign != "<=" && sign != ">=";
}

void PythonProgram::set_environment(std::size_t at, std::string name, std::optional<ShellText> value) {
  if (const std::string branch = branch_at(at); !branch.empty() && !name.empty()) {
    value =
        unknown_text(fmt::format("{} is set {}; give it with {}", name, branch, how_to_set(name)), tokens_[at].begin);
  }
  if (settings_.size() >= kMostSettings)
    error_ = Error{"this sets more variables than are followed; give its launch as a command"};
  else
    settings_.push_back({tokens_[at].begin, std::move(name), std::move(value)});
}

// os.environ.update({NAME: value, …}), with keywords, or with what is not known.
void PythonProgram::environment_update(std::size_t open, std::size_t at) {
  const auto unclear = [&](Span item) {
    set_environment(
        at, {},
        unknown_text(fmt::format("os.environ.update: which variables {} sets is not known here", shown(item)),
                     tokens_[item.begin].begin));
  };
  for (const Span& item : items(open)) {
    if (is_sign(item.begin + 1, "=")) {
      set_environment(at, std::string(text_of(item.begin)), word({item.begin + 2, item.end}));
      continue;
    }
    const bool dictionary = is_sign(item.begin, "{") && close_of_[item.begin] == item.end - 1;
    if (!dictionary) unclear(item);
    for (const Span& pair : dictionary ? items(item.begin) : std::vector<Span>{}) {
      std::size_t colon = pair.begin;
      while (colon < pair.end && !(is_sign(colon, ":") && open_of_[colon] == item.begin)) ++colon;
      const auto key = literal({pair.begin, colon}, 0);
      if (key && key->unknowns.empty() && colon + 1 < pair.end) {
        set_environment(at, key->text, word({colon + 1, pair.end}));
      } else {
        unclear(pair);
      }
    }
  }
}

// os.environ["NAME"] = value and its kin: setdefault, update, pop, del.
void PythonProgram::environment_line(Span line) {
  const bool deletes = text_of(line.begin) == "del";
  const Span chain = chain_at(line.begin + (deletes ? 1 : 0));
  const std::string callee = name_of(chain);
  if (callee.find("environ") == std::string::npos) return;
  const std::size_t bracket = chain.end;
  if (callee == "os.environ.update" && is_sign(bracket, "(")) return environment_update(bracket, line.begin);
  if ((deletes && callee == "os.environ" && is_sign(bracket, "[")) || callee == "os.environ.pop") {
    if (close_of_[bracket] == kNone || items(bracket).empty()) return;
    if (const auto key = literal(items(bracket).front(), 0); key && key->unknowns.empty())
      set_environment(line.begin, key->text, std::nullopt);
    return;
  }
  Span name;
  Span value;
  if (callee == "os.environ" && is_sign(chain.end, "[") && close_of_[chain.end] != kNone) {
    name = {chain.end + 1, close_of_[chain.end]};
    if (!is_sign(name.end + 1, "=")) return;
    value = {name.end + 2, line.end};
  } else if (callee == "os.environ.setdefault" && is_sign(chain.end, "(")) {
    const auto both = items(chain.end);
    if (both.size() != 2) return;
    name = both[0];
    value = both[1];
  } else {
    return;
  }
  const auto key = literal(name, 0);
  if (!key || !key->unknowns.empty()) return;
  set_environment(line.begin, key->text, word(value));
}

const PythonProgram::Binding* PythonProgram::binding(const std::string& name) const {
  const auto it = bindings_.find(name);
  return it == bindings_.end() || it->second.count != 1 ? nullptr : &it->second;
}

// --- values ---

// What commas part between brackets.
std::vector<PythonProgram::Span> PythonProgram::items(std::size_t open) const {
  std::vector<Span> out;
  const std::size_t close = close_of_[open];
  if (close == kNone || !spend(close - open)) return out;
  std::size_t from = open + 1;
  for (std::size_t i = open + 1; i <= close; ++i) {
    if (i < close && (open_of_[i] != open || !is_sign(i, ","))) continue;
    if (i > from) out.push_back({from, i});
    from = i + 1;
  }
  return out;
}

std::string PythonProgram::shown(Span value) const {
  if (value.begin >= value.end) return {};
  std::string out(
      source_.text.substr(tokens_[value.begin].begin, tokens_[value.end - 1].end - tokens_[value.begin].begin));
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out.size() > 60 ? out.substr(0, 57) + "…" : out;
}

ShellText PythonProgram::filled_in(const ShellText& format, const FieldText& text_of_field) {
  ShellText out;
  for (std::size_t i = 0; i < format.text.size(); ++i) {
    const char c = format.text[i];
    const bool doubled = (c == '{' || c == '}') && i + 1 < format.text.size() && format.text[i + 1] == c;
    if (doubled || c != '{') {
      append(out, slice(format, i, i + 1));
      if (doubled) ++i;
      continue;
    }
    const std::size_t close = std::min(format.text.find('}', i), format.text.size());
    const auto value = text_of_field(format.text.substr(i + 1, close - i - 1), format.origin[i]);
    if (!value) return out;
    append(out, *value);
    i = close;
  }
  return out;
}

// f"…": names in braces as they stand, anything else in braces is not known.
ShellText PythonProgram::formatted(std::size_t token, int depth) const {
  const ShellText raw = python_text(source_.text, tokens_[token]);
  if (!spend(raw.text.size())) return {};
  return filled_in(raw, [&](const std::string& name, std::size_t origin) {
    const auto given = source_.given.find(name);
    const Binding* bound = binding(name);
    std::optional<ShellText> value;
    if (given != source_.given.end()) value = ShellText{given->second};
    if (!value && bound != nullptr && depth < kDeepest) value = grown(name, *bound, token, depth + 1);
    if (!value)
      value = unknown_text(
          fmt::format("{} is computed where the program runs; give it with {}", name, how_to_set(name)), origin);
    value->origin.assign(value->text.size(), origin);
    return spend(value->text.size() + 1) ? value : std::nullopt;
  });
}

// A name's text where token `use` stands: what it was assigned, and what lines between add with +=.
std::optional<ShellText> PythonProgram::grown(const std::string& name, const Binding& bound, std::size_t use,
                                              int depth) const {
  auto out = literal(bound.value, depth);
  if (!out || !grows_.contains(name) || !spend(lines_.size())) return out;
  for (const Span& line : lines_) {
    const Span chain = chain_at(line.begin);
    const bool change = line.begin > bound.at && chain.end < line.end && is_augmented(chain.end) &&
                        name_of(chain) == name && (line.begin < use || turns_together(use, line.begin));
    if (!change) continue;
    const bool straight =
        is_sign(chain.end, "+=") && line.begin < use && tokens_[line.begin].indent == tokens_[bound.at].indent;
    auto more = straight ? literal({chain.end + 1, line.end}, depth) : std::nullopt;
    if (!more) {
      more = unknown_text(fmt::format("what {} gets at line {} is not followed; give it with {}", name,
                                      finder_.place(tokens_[line.begin].begin).line, how_to_set(name)),
                          tokens_[line.begin].begin);
    }
    append(*out, *more);
  }
  return out;
}

// Whether a loop runs token `use` again behind the line that begins with token `later`.
bool PythonProgram::turns_together(std::size_t use, std::size_t later) const {
  if (!spend(lines_.size() + 1)) return true;
  std::size_t least = kNone;  // indentation of the lines between them
  for (const Span& line : lines_) {
    if (line.begin > use && line.begin <= later) least = std::min(least, tokens_[line.begin].indent);
  }
  std::size_t indent = tokens_[use].indent;
  for (auto line = lines_.rbegin(); line != lines_.rend(); ++line) {
    const std::size_t own = tokens_[line->begin].indent;
    if (line->begin > use || own >= indent) continue;
    indent = own;
    const std::string_view word = text_of(line->begin);
    if ((word == "for" || word == "while") && least > own) return true;
  }
  return false;
}

// A name, or str(…) of one or of a number.
std::optional<ShellText> PythonProgram::name_value(Span value, int depth) const {
  Span chain = chain_at(value.begin);
  chain.end = std::min(chain.end, value.end);  // NAME of NAME.format(…)
  const std::string name = name_of(chain);
  const auto at = tokens_[value.begin].begin;
  const auto placed_text = [&](ShellText text) {
    text.origin.assign(text.text.size(), at);
    return text;
  };
  if (chain.end == value.end) {
    if (const auto given = source_.given.find(name); given != source_.given.end()) return placed_text({given->second});
    if (name == "sys.executable") return placed_text({"python"});
    const Binding* bound = binding(name);
    if (bound == nullptr || depth >= kDeepest) return std::nullopt;
    const auto out = grown(name, *bound, value.begin, depth + 1);
    if (out) finder_.account(*out);  // told where the name stands
    return out ? std::optional(placed_text(*out)) : std::nullopt;
  }
  if (!is_sign(chain.end, "(") || close_of_[chain.end] != value.end - 1) return std::nullopt;
  const bool converts = name == "str" || name == "int" || name == "float" || name == "Path" || name == "os.fspath";
  if (converts) return literal({chain.end + 1, value.end - 1}, depth + 1);
  if (module_name(name) == "json.dumps") return json_text(chain.end);
  if (name == "os.path.join") return joined_path(chain.end, depth);
  const bool variable = name == "os.environ.get" || name == "os.getenv" || name == "environ.get" || name == "getenv";
  return variable ? variable_value(chain.end, depth) : std::nullopt;
}

// os.environ.get(NAME, DEFAULT): what the program set itself, or else the default, as of ${NAME:-DEFAULT} in a shell.
std::optional<ShellText> PythonProgram::variable_value(std::size_t open, int depth) const {
  const auto both = items(open);
  const auto name = both.empty() ? std::nullopt : literal(both.front(), depth + 1);
  if (!name || !name->unknowns.empty()) return std::nullopt;
  const auto at = tokens_[both.front().begin].begin;
  if (const auto given = source_.given.find(name->text); given != source_.given.end())
    return ShellText{given->second, std::vector<std::size_t>(given->second.size(), at), {}};
  const bool set =
      std::any_of(settings_.begin(), settings_.end(), [&](const Setting& s) { return s.name == name->text; });
  if (!set && source_.environment != nullptr) {
    if (const auto own = source_.environment->find(name->text); own != source_.environment->end()) return own->second;
  }
  if (!set && both.size() == 2) {
    if (auto value = literal(both[1], depth + 1)) return value;
  }
  return unknown_text(
      fmt::format("{} is a variable of where the program runs; give it with {}", name->text, how_to_set(name->text)),
      at);
}

// The name that `value` is made of alone: NAME, or str(NAME) and its kin; an empty span where it is more.
PythonProgram::Span PythonProgram::bare_name(Span value) const {
  const Span chain = chain_at(value.begin);
  if (chain.end == value.end) return chain;
  const std::string name = name_of(chain);
  const bool converts = (name == "str" || name == "int" || name == "float") && is_sign(chain.end, "(");
  if (converts && close_of_[chain.end] == value.end - 1) return bare_name({chain.end + 1, value.end - 1});
  return {value.begin, value.begin};
}

std::optional<ShellText> PythonProgram::literal(Span value, int depth) const {
  if (value.begin >= value.end || depth > kDeepest || !spend(value.end - value.begin)) return std::nullopt;
  const Kind kind = tokens_[value.begin].kind;
  if (kind == Kind::kText || kind == Kind::kFormatText) {
    ShellText out;
    for (std::size_t i = value.begin; i < value.end; ++i) {
      if (tokens_[i].kind == Kind::kText)
        append(out, python_text(source_.text, tokens_[i]));
      else if (tokens_[i].kind == Kind::kFormatText)
        append(out, formatted(i, depth));
      else
        return computed(value, depth);
    }
    return out;
  }
  const bool negative = is_sign(value.begin, "-");
  const std::size_t number = value.begin + (negative ? 1 : 0);
  if (number + 1 == value.end && tokens_[number].kind == Kind::kNumber) {
    std::string digits(text_of(number));
    std::erase(digits, '_');
    ShellText out{(negative ? "-" : "") + digits};
    out.origin.assign(out.text.size(), tokens_[value.begin].begin);
    return out;
  }
  if (kind == Kind::kName) {
    auto named = name_value(value, depth);
    return named || value.end < value.begin + 3 ? named : computed(value, depth);
  }
  const bool bracketed = is_sign(value.begin, "(") && close_of_[value.begin] == value.end - 1;
  return bracketed ? literal({value.begin + 1, value.end - 1}, depth + 1) : std::nullopt;
}

ShellWord PythonProgram::word(Span value) const {
  ShellWord out;
  if (value.begin >= value.end) return out;
  out.begin = tokens_[value.begin].begin;
  out.end = tokens_[value.end - 1].end;
  const bool quoted = value.begin + 1 == value.end && tokens_[value.begin].kind == Kind::kText;
  if (auto text = literal(value, 0)) {
    static_cast<ShellText&>(out) = std::move(*text);
    if (quoted && !out.origin.empty()) {  // without its quotes, so that an edit keeps them
      out.begin = out.origin.front();
      out.end = out.origin.back() + 1;
    }
    return out;
  }
  const Span bare = bare_name(value);
  const bool settable = bare.end > bare.begin;
  const std::string name = settable ? name_of(bare) : shown(value);
  static_cast<ShellText&>(out) = unknown_text(
      settable ? fmt::format("{} is computed where the program runs; give it with {}", name, how_to_set(name))
               : fmt::format("{} is computed where the program runs", name),
      out.begin);
  return out;
}

// The items of a list, or of a name that a list is assigned to; anything else is one word that is not known.
void PythonProgram::add_values(Span value, Words& out, int depth) const {
  if (value.begin >= value.end || !has_room(out)) return;
  const bool bracket = is_sign(value.begin, "[") || is_sign(value.begin, "(");
  if (bracket && close_of_[value.begin] == value.end - 1) return add_list(value.begin, out, depth + 1);
  if (const Span copied = copied_list(value); copied.end > copied.begin) return add_values(copied, out, depth + 1);
  Span chain = chain_at(value.begin);
  chain.end = std::min(chain.end, value.end);  // NAME of NAME.copy()
  if (chain.end == value.end && chain.end > chain.begin && depth < kDeepest) {
    const Binding* bound = binding(name_of(chain));
    if (bound != nullptr && is_sign(bound->value.begin, "[") && close_of_[bound->value.begin] == bound->value.end - 1) {
      add_list(bound->value.begin, out, depth + 1);
      add_changes(bound->at, name_of(chain), value.begin, out);
      return;
    }
  }
  ShellWord unknown;
  unknown.begin = tokens_[value.begin].begin;
  unknown.end = tokens_[value.end - 1].end;
  static_cast<ShellText&>(unknown) =
      unknown_text(fmt::format("{} is computed where the program runs", shown(value)), unknown.begin);
  out.words.push_back(std::move(unknown));
}

// The list that NAME.copy(), list(NAME) and NAME[:] have the items of; an empty span for anything else.
PythonProgram::Span PythonProgram::copied_list(Span value) const {
  const Span none{value.begin, value.begin};
  const Span chain = chain_at(value.begin);
  if (chain.end >= value.end) return none;
  const bool all = is_sign(chain.end, "[") && is_sign(chain.end + 1, ":") && chain.end + 3 == value.end;
  if (all) return chain;
  if (!is_sign(chain.end, "(") || close_of_[chain.end] != value.end - 1) return none;
  const std::string name = name_of(chain);
  if (name.ends_with(".copy") && chain.end + 2 == value.end && chain.end - chain.begin >= 3)
    return {chain.begin, chain.end - 2};
  const bool whole = name == "list" || name == "copy.copy" || name == "copy.deepcopy";
  const Span inner{chain.end + 1, value.end - 1};
  return whole && chain_at(inner.begin).end == inner.end ? inner : none;
}

// A list that doubles itself line by line has no end: more words than any launch has end the program's reading.
bool PythonProgram::has_room(const Words& out) const {
  if (out.words.size() >= kMostWords) steps_ = 0;
  return spend(1);
}

void PythonProgram::add_list(std::size_t open, Words& out, int depth) const {
  for (const Span& item : items(open)) {
    if (depth > kDeepest || !has_room(out)) return;
    if (is_sign(item.begin, "*"))
      add_values({item.begin + 1, item.end}, out, depth);
    else
      out.words.push_back(word(item));
  }
}

void PythonProgram::for_addends(Span value, const std::function<void(Span)>& each) const {
  std::size_t from = value.begin;
  for (std::size_t i = value.begin; i <= value.end; ++i) {
    const bool ends = i == value.end || (open_of_[i] == open_of_[value.begin] && is_sign(i, "+"));
    if (!ends) continue;
    each({from, i});
    from = i + 1;
  }
}

// What a sum of lists holds: NAME + […] + NAME.
void PythonProgram::add_sum(Span value, Words& out) const {
  for_addends(value, [&](Span part) { add_values(part, out, 0); });
}

// What the lines between `first`, which assigns a list to `name`, and token `use` make of it. Where another value takes
// its place, the number of that line's first token comes back: what stands behind it is not this list.
std::size_t PythonProgram::add_changes(std::size_t first, const std::string& name, std::size_t use, Words& out) const {
  bool same_block = true;
  if (!spend(lines_.size())) return kNone;
  for (const Span& line : lines_) {
    if (line.begin <= first) continue;
    if (line.end > use) break;  // the line of the use itself: NAME += NAME takes what it was before
    const std::size_t indent = tokens_[line.begin].indent;
    same_block = same_block && indent >= tokens_[first].indent;
    const bool conditional = !same_block || indent != tokens_[first].indent;
    const bool deletes = text_of(line.begin) == "del";
    const Span here = chain_at(line.begin + (deletes ? 1 : 0));
    const std::string target = name_of(here);
    if (target == name && is_sign(here.end, "=")) {
      if (!replaces(line, name, conditional, out)) return line.begin;
      continue;
    }
    const bool grows = target == name && (is_augmented(here.end) || is_sign(here.end, "["));
    const bool adds = target.starts_with(name + ".") && is_sign(here.end, "(");
    if (grows || adds) add_change(line, conditional, out);
  }
  return kNone;
}

// NAME = NAME + […] and NAME = […, *NAME]; false where the line assigns something else.
bool PythonProgram::replaces(Span line, const std::string& name, bool conditional, Words& out) const {
  const Span value{line.begin + (chain_at(line.begin).end - line.begin) + 1, line.end};
  bool own = false;
  for (std::size_t i = value.begin; i < value.end && !own; ++i) {
    own = tokens_[i].kind == Kind::kName && !(i > 0 && is_sign(i - 1, ".")) && name_of(chain_at(i)) == name;
  }
  if (!own && !conditional) return false;
  const Words before = std::exchange(out, Words{});
  out.unknown = before.unknown;
  const auto add_own_or = [&](Span part) {
    const Span bare = is_sign(part.begin, "*") ? Span{part.begin + 1, part.end} : part;
    const bool is_own = chain_at(bare.begin).end == bare.end && name_of(chain_at(bare.begin)) == name;
    if (is_own) {
      out.words.insert(out.words.end(), before.words.begin(), before.words.end());
      return true;
    }
    return false;
  };
  bool followed = own && !conditional;
  const bool display = is_sign(value.begin, "[") && close_of_[value.begin] == value.end - 1;
  if (followed && display) {
    for (const Span& item : items(value.begin)) {
      if (add_own_or(item)) continue;
      if (is_sign(item.begin, "*")) {
        add_values({item.begin + 1, item.end}, out, 0);
      } else {
        out.words.push_back(word(item));
      }
    }
  } else if (followed) {
    bool found = false;
    for_addends(value, [&](Span part) {
      if (add_own_or(part)) {
        found = true;
      } else {
        add_values(part, out, 0);
      }
    });
    followed = found;
  }
  if (!followed) {
    out.words = before.words;
    out.unknown.push_back(
        {fmt::format("what {} is from line {} on is not followed", name, finder_.place(tokens_[line.begin].begin).line),
         tokens_[line.begin].begin,
         {}});
  }
  return true;
}

// One line that changes a list: += […], .append(…), .extend(…).
void PythonProgram::add_change(Span line, bool conditional, Words& out) const {
  const Span chain = chain_at(line.begin);
  const std::string name = name_of(chain);
  const std::size_t at = tokens_[line.begin].begin;
  const bool whole = close_of_[chain.end] == line.end - 1;
  if (conditional) {
    out.unknown.push_back({fmt::format("{} gets more words under a condition at line {}",
                                       shown({chain.begin, chain.end}), finder_.place(at).line),
                           at,
                           {}});
  } else if (is_sign(chain.end, "+=")) {
    add_values({chain.end + 1, line.end}, out, 0);
  } else if (name.ends_with(".append") && whole) {
    out.words.push_back(word({chain.end + 1, line.end - 1}));
  } else if (name.ends_with(".extend") && whole) {
    add_values({chain.end + 1, line.end - 1}, out, 0);
  } else {
    out.unknown.push_back({fmt::format("{} changes the list in a way that is not followed", shown(line)), at, {}});
  }
}

std::optional<PythonProgram::Span> PythonProgram::keyword(std::size_t open, std::string_view name) const {
  for (const Span& item : items(open)) {
    if (text_of(item.begin) == name && is_sign(item.begin + 1, "=")) return Span{item.begin + 2, item.end};
  }
  return std::nullopt;
}

// --- launches ---

// The branch or loop that a token's line stands in, "" where it always runs.
std::string PythonProgram::branch_at(std::size_t token) const {
  return branch_of(tokens_[token].begin, tokens_[token].indent);
}

std::string PythonProgram::branch_of(std::size_t offset, std::size_t indent) const {
  spend(indent > 0 ? lines_.size() : 1);
  for (auto line = lines_.rbegin(); line != lines_.rend() && indent > 0; ++line) {
    if (tokens_[line->begin].begin >= offset || tokens_[line->begin].indent >= indent) continue;
    indent = tokens_[line->begin].indent;
    const std::string_view word = text_of(line->begin);
    if (word == "def" || word == "class" || word == "async") return {};
    const bool main = word == "if" && line->begin + 1 < line->end && text_of(line->begin + 1) == "__name__";
    if (!main && is_one_of(word, kBranches)) {
      const bool loop = word == "for" || word == "while";
      return fmt::format("in a {} at line {}", loop ? "loop" : "branch",
                         finder_.place(tokens_[line->begin].begin).line);
    }
  }
  return {};
}

void PythonProgram::apply(const Setting& setting, RunContext& context) {
  if (!setting.value) {
    context.env.erase(setting.name);
  } else if (setting.name.empty()) {
    context.unknown.push_back({setting.value->unknowns.front().message, setting.value->unknowns.front().offset, {}});
  } else {
    context.env.insert_or_assign(setting.name, *setting.value);
  }
}

RunContext PythonProgram::context_at(std::size_t token) const {
  RunContext context;
  if (!doubt_.empty()) context.unknown.push_back({doubt_, tokens_[token].begin, {}});
  if (source_.environment != nullptr) context.env = *source_.environment;
  context.when = branch_at(token);
  for (const Setting& setting : settings_) {
    if (setting.at < tokens_[token].begin) apply(setting, context);
  }
  return context;
}

// The expression that a token is a part of: up to the comma, bracket, = or line end on either side.
PythonProgram::Span PythonProgram::expression_at(std::size_t token) const {
  Span out{token, token + 1};
  const auto ends = [&](std::size_t i) {
    return tokens_[i].kind == Kind::kLine || is_sign(i, ";") ||
           (open_of_[i] == open_of_[token] && (is_sign(i, ",") || is_sign(i, "=")));
  };
  while (out.begin > 0 && out.begin - 1 != open_of_[token] && !ends(out.begin - 1) && spend(1)) --out.begin;
  const std::size_t close = open_of_[token] == kNone ? kNone : close_of_[open_of_[token]];
  while (out.end < tokens_.size() && out.end != close && !ends(out.end) && spend(1)) ++out.end;
  return out;
}

// The name of what is called at a parenthesis, "" where nothing is.
std::string PythonProgram::callee_of(std::size_t open) const {
  std::size_t first = open;
  while (first > 0 && (tokens_[first - 1].kind == Kind::kName || is_sign(first - 1, ".")) &&
         tokens_[first - 1].end == tokens_[first].begin)
    --first;
  while (first < open && is_sign(first, ".")) ++first;
  return first == open ? std::string() : module_name(name_of(chain_at(first)));
}

// create_subprocess_exec("python", "-m", …) and its kin.
bool PythonProgram::words_call(std::size_t open) {
  if (!is_sign(open, "(")) return false;
  const std::string callee = callee_of(open);
  for (const WordsCall& one : kWordsCalls) {
    if (callee != one.name) continue;
    Words all;
    std::size_t n = 0;
    for (const Span& item : items(open)) {
      if (n++ < one.before || is_sign(item.begin + 1, "=")) continue;
      if (is_sign(item.begin, "*"))
        add_values({item.begin + 1, item.end}, all, 0);
      else
        all.words.push_back(word(item));
    }
    run_list(all, open, open);
    return true;
  }
  return false;
}

// A list of words, wherever its name carries it: as it stands, in a sum or inside another list.
void PythonProgram::list(std::size_t open, int depth) {
  if (words_call(open)) return;
  const Span whole = expression_at(open);
  Words all;
  add_sum(whole, all);
  std::size_t first = whole.begin;
  while (first > 0 && tokens_[first - 1].kind != Kind::kLine) --first;
  const Span chain = chain_at(first);
  const bool named =
      open_of_[open] == kNone && chain.end > chain.begin && chain.end + 1 == whole.begin && is_sign(chain.end, "=");
  if (!named) return run_list(all, whole.begin, open_of_[open]);
  follow_list(first, name_of(chain), all, {close_of_[open], depth});
}

// The calls that a named list is handed to. A call that runs programs goes before any other; a function that got the
// list before may have changed it.
void PythonProgram::follow_list(std::size_t first, const std::string& name, const Words& assigned, ListPlace place) {
  const std::size_t at = chain_at(first).end + 1;
  std::vector<std::size_t> runs;
  std::vector<std::size_t> others;
  std::vector<LaunchUnknown> unclear;
  std::size_t end = tokens_.size();
  Words whole = assigned;
  if (const std::size_t taken = add_changes(first, name, end, whole); taken != kNone) end = taken;
  bool carried = false;
  for (std::size_t i = place.close == kNone ? end : place.close + 1; i < end; ++i) {
    if (!spend(1)) return;
    Span use = chain_at(i);
    if (name_of(use) == name + ".copy") use.end -= 2;
    if (use.end == i || (i > 0 && is_sign(i - 1, ".")) || name_of(use) != name) continue;
    const Span around = expression_at(i);
    const bool call = open_of_[i] != kNone && open_of_[i] > 0 && is_sign(open_of_[i], "(");
    const bool alone = around.begin == i && around.end == use.end;
    const bool inside = open_of_[i] != kNone && is_sign(open_of_[i], "[") && i > 0 && is_sign(i - 1, "*");
    const bool handed = call && i > 0 && is_sign(i - 1, "*");
    const bool summed = is_sign(use.end, "+") || (i > 0 && is_sign(i - 1, "+"));
    const std::string whole_callee = call ? callee_of(open_of_[i]) : std::string();
    const std::string_view callee = std::string_view(whole_callee).substr(whole_callee.rfind('.') + 1);
    if (call && is_one_of(callee, kSpeakingCalls)) continue;
    const bool copying = call && is_one_of(callee, kCopyingCalls);
    const Span outer = copying ? expression_at(open_of_[i] - 1) : around;
    const Span copied = copied_list(outer);
    const bool copies = copied.begin <= i && copied.end > i;
    if (copies && place.depth < kDeepest && !assigns_to(i, name)) {
      list(outer.begin, place.depth + 1);
      carried = true;
    } else if (handed) {
      carried = words_call(open_of_[i]) || carried;
    } else if (copying) {
      unclear.push_back({fmt::format("what {} makes of the list is not followed", shown(expression_at(open_of_[i]))),
                         tokens_[i].begin,
                         {}});
    } else if (alone && call) {
      (is_one_of(callee, kRunningCalls) ? runs : others).push_back(i);
    } else if (call && is_sign(use.end, "[") && text_of(use.end + 1) == "0" && callee.starts_with("exec")) {
      continue;  // the program, which is the first word, too
    } else if (call && is_sign(use.end, "[") && is_one_of(callee, kRunningCalls)) {
      unclear.push_back(
          {fmt::format("{} is a part of the list that is not followed", shown(around)), tokens_[i].begin, {}});
    } else if (returned_and_changed(i)) {
      unclear.push_back({fmt::format("{} is returned at line {}, and changed behind that", name,
                                     finder_.place(tokens_[i].begin).line),
                         tokens_[i].begin,
                         {}});
    } else if (aliased(i, use, around)) {
      unclear.push_back({fmt::format("{} has another name from line {} on, which changes it", name,
                                     finder_.place(tokens_[i].begin).line),
                         tokens_[i].begin,
                         {}});
    } else if ((inside || summed) && !assigns_to(i, name) && place.depth < kDeepest) {
      list(inside ? open_of_[i] : i, place.depth + 1);
      carried = true;
    }
  }
  const auto run_at = [&](std::size_t use) {
    Words words = assigned;
    add_changes(first, name, use, words);
    if (turned_and_changed(name, use)) {
      words.unknown.push_back(
          {fmt::format("{} is changed in a loop, behind where it is used", name), tokens_[use].begin, {}});
    }
    words.unknown.insert(words.unknown.end(), unclear.begin(), unclear.end());
    for (const std::size_t other : others) {
      if (other >= use) continue;
      words.unknown.push_back({fmt::format("{} is handed to {} at line {}, which may change it", name,
                                           text_of(open_of_[other] - 1), finder_.place(tokens_[other].begin).line),
                               tokens_[other].begin,
                               {}});
    }
    run_list(words, at, open_of_[use]);
  };
  std::size_t before = kNone;
  for (const std::size_t use : runs) {
    const bool other_variables = std::ranges::any_of(settings_, [&](const Setting& setting) {
      return before != kNone && setting.at > tokens_[before].begin && setting.at < tokens_[use].begin;
    });
    if (before != kNone && !other_variables && !changes_between(name, before, use)) continue;  // the same again
    run_at(use);
    before = use;
  }
  if (!runs.empty()) return;
  if (!others.empty()) return run_at(others.front());
  if (carried) return;
  whole.unknown.insert(whole.unknown.end(), unclear.begin(), unclear.end());
  run_list(whole, at, kNone);
}

// Whether token `i` stands on a line that assigns to `name`.
bool PythonProgram::assigns_to(std::size_t i, const std::string& name) const {
  while (i > 0 && tokens_[i - 1].kind != Kind::kLine) --i;
  const Span chain = chain_at(i);
  return name_of(chain) == name && is_sign(chain.end, "=");
}

// Whether token `i` is what a function returns, and NAME = function(…) is changed after that.
bool PythonProgram::returned_and_changed(std::size_t i) const {
  if (i == 0 || text_of(i - 1) != "return") return false;
  std::string function;
  std::size_t indent = tokens_[i - 1].indent;
  for (auto line = lines_.rbegin(); line != lines_.rend() && indent > 0 && function.empty(); ++line) {
    if (line->begin >= i || tokens_[line->begin].indent >= indent) continue;
    indent = tokens_[line->begin].indent;
    const std::size_t def = line->begin + (text_of(line->begin) == "async" ? 1 : 0);
    if (text_of(def) == "def") function = text_of(def + 1);
  }
  spend(lines_.size());
  return !function.empty() && std::ranges::any_of(lines_, [&](const Span& line) {
    const Span target = chain_at(line.begin);
    if (!is_sign(target.end, "=")) return false;
    const Span value = chain_at(target.end + 1);
    return value.end > value.begin && text_of(value.end - 1) == function && is_sign(value.end, "(") &&
           changes_between(name_of(target), line.end, tokens_.size());
  });
}

// Whether OTHER = NAME gives the list a name that is used to change it.
bool PythonProgram::aliased(std::size_t i, Span use, Span around) const {
  std::size_t first = i;
  while (first > 0 && tokens_[first - 1].kind != Kind::kLine) --first;
  const Span chain = chain_at(first);
  const bool alias = around.begin == i && around.end == use.end && is_sign(chain.end, "=") && chain.end + 1 == i;
  return alias && changes_between(name_of(chain), i, tokens_.size());
}

// Whether a loop around token `use` changes the list behind it.
bool PythonProgram::turned_and_changed(const std::string& name, std::size_t use) const {
  if (!spend(lines_.size() + 1)) return true;
  return std::ranges::any_of(lines_, [&](const Span& line) {
    return line.begin > use && changes(line, name) && turns_together(use, line.begin);
  });
}

bool PythonProgram::changes_between(const std::string& name, std::size_t from, std::size_t to) const {
  spend(lines_.size());
  return std::ranges::any_of(
      lines_, [&](const Span& line) { return line.begin >= from && line.begin < to && changes(line, name); });
}

// Whether a line makes something else of what a name stands for.
bool PythonProgram::changes(Span line, const std::string& name) const {
  const Span here = chain_at(line.begin + (text_of(line.begin) == "del" ? 1 : 0));
  const std::string target = name_of(here);
  return (target == name && (is_augmented(here.end) || is_sign(here.end, "[") || is_sign(here.end, "="))) ||
         (target.starts_with(name + ".") && is_sign(here.end, "("));
}

void PythonProgram::run_list(const Words& all, std::size_t at, std::size_t call) {
  RunContext context = context_at(call == kNone ? at : call);
  context.unknown.insert(context.unknown.end(), all.unknown.begin(), all.unknown.end());
  if (call != kNone && is_sign(call, "(")) environment_of(call, context);
  finder_.words(all.words, context);
}

void PythonProgram::shell_call(std::size_t open, Span value) {
  const auto text = literal(value, 0);
  if (!text || text->text.find("sglang") == std::string::npos) return;
  RunContext context = context_at(open);
  environment_of(open, context);
  auto done = finder_.script(*text, context);
  if (!done && !error_) error_ = done.error();
}

// TEXT.split(): quotes stay.
static std::vector<ShellWord> words_at_blanks(const ShellText& text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<ShellWord> out;
  for (auto from = text.text.find_first_not_of(kBlanks); from != std::string::npos;) {
    const std::size_t to = std::min(text.text.find_first_of(kBlanks, from), text.text.size());
    const auto place = [&](std::size_t i) { return text.origin.empty() ? i : text.origin[i]; };
    out.push_back({slice(text, from, to), place(from), place(to - 1) + 1});
    from = text.text.find_first_not_of(kBlanks, to);
  }
  return out;
}

// subprocess.run(shlex.split(TEXT)) and TEXT.split(): words that no shell reads.
bool PythonProgram::split_call(std::size_t call, Span value) {
  const Span chain = chain_at(value.begin);
  const std::string name = name_of(chain);
  std::optional<ShellText> text;
  if (name == "shlex.split" && is_sign(chain.end, "(") && close_of_[chain.end] == value.end - 1)
    text = literal({chain.end + 1, value.end - 1}, 0);
  else if (value.end > value.begin + 4 && text_of(value.end - 3) == "split" && is_sign(value.end - 4, ".") &&
           is_sign(value.end - 2, "("))
    text = literal({value.begin, value.end - 4}, 0);
  if (!text || text->text.find("sglang") == std::string::npos) return false;
  RunContext context = context_at(call);
  environment_of(call, context);
  finder_.words(name == "shlex.split" ? plain_words(*text) : words_at_blanks(*text), context);
  return true;
}

// prepare_server_args([…]): the words of a command line, which a program that hands on its own has none of.
void PythonProgram::prepared_args(std::size_t open) {
  const auto all = items(open);
  if (all.empty()) return;
  const Span chain = chain_at(all.front().begin);
  const Binding* bound = chain.end == all.front().end ? binding(name_of(chain)) : nullptr;
  if (!is_sign(all.front().begin, "[") && (bound == nullptr || !is_sign(bound->value.begin, "["))) return;
  Words words;
  add_values(all.front(), words, 0);
  RunContext context = context_at(open);
  for (LaunchUnknown& unknown : words.unknown) context.unknown.push_back(std::move(unknown));
  finder_.arguments(words.words, context);
}

// popen_launch_server(model, url, …, other_args=[…]) of SGLang's tests.
void PythonProgram::test_server(std::size_t open) {
  const auto all = items(open);
  if (all.empty()) return;
  RunContext context = context_at(open);
  Words words;
  const std::size_t at = tokens_[open].begin;
  words.words.push_back({{"--model-path", std::vector<std::size_t>(12, at), {}}, at, at});
  const auto model = keyword(open, "model");
  words.words.push_back(word(model ? *model : all.front()));
  if (const auto device = keyword(open, "device"); device && literal(*device, 0).value_or(ShellText{}).text != "auto") {
    words.words.push_back({{"--device", std::vector<std::size_t>(8, at), {}}, at, at});
    words.words.push_back(word(*device));
  }
  if (const auto others = keyword(open, "other_args")) add_values(*others, words, 0);
  environment_of(open, context);
  context.unknown = std::move(words.unknown);
  finder_.arguments(words.words, context);
}

// NAME=VALUE as --name VALUE.
void PythonProgram::keyword_word(Span item, std::vector<ShellWord>& words, RunContext& context) const {
  const std::size_t at = tokens_[item.begin].begin;
  if (is_sign(item.begin, "**") && dictionary_words({item.begin + 1, item.end}, words, context)) return;
  if (tokens_[item.begin].kind != Kind::kName || !is_sign(item.begin + 1, "=")) {
    context.unknown.push_back({fmt::format("{} hands over arguments that are not known here", shown(item)), at, {}});
    return;
  }
  option_word(text_of(item.begin), item.begin, {item.begin + 2, item.end}, words);
}

void PythonProgram::option_word(std::string_view name, std::size_t token, Span value,
                                std::vector<ShellWord>& words) const {
  const std::size_t at = tokens_[token].begin;
  const std::string_view plain = value.end == value.begin + 1 ? text_of(value.begin) : std::string_view();
  if (plain == "False" || plain == "None") return;
  std::string option = "--" + std::string(name);
  std::replace(option.begin(), option.end(), '_', '-');
  const std::size_t length = option.size();
  words.push_back({{std::move(option), std::vector<std::size_t>(length, at), {}}, at, tokens_[token].end});
  if (plain == "True") return;
  if (!is_sign(value.begin, "[")) {
    words.push_back(word(value));
    return;
  }
  Words list;
  add_values(value, list, 0);
  words.insert(words.end(), list.words.begin(), list.words.end());
}

void PythonProgram::keywords(std::size_t open, RunContext context) {
  std::vector<ShellWord> words;
  for (const Span& item : items(open)) keyword_word(item, words, context);
  finder_.arguments(words, context);
}

void PythonProgram::call(std::size_t open) {
  std::size_t first = open;
  while (first >= 2 && tokens_[first - 1].kind == Kind::kName) {
    --first;
    if (first < 2 || !is_sign(first - 1, ".")) break;
    --first;
  }
  if (first == open) return;
  const std::string name = module_name(name_of(chain_at(first)));
  if (name.ends_with(".Engine") || name == "Engine" || name == "ServerArgs" || name.ends_with(".ServerArgs")) {
    const bool sglangs = name.starts_with("sgl") || source_.text.find("sglang") != std::string_view::npos;
    if (!sglangs || (first > 0 && text_of(first - 1) == "class") || items(open).empty()) return;
    RunContext context = context_at(open);
    context.name = "Engine";
    return keywords(open, context);
  }
  if (name == "popen_launch_server") {
    if (first == 0 || text_of(first - 1) != "def") test_server(open);
    return;
  }
  if (name == "prepare_server_args" || name.ends_with(".prepare_server_args")) {
    if (first == 0 || text_of(first - 1) != "def") prepared_args(open);
    return;
  }
  const bool process = is_one_of(name, kProcessCalls);
  if (!process && !is_one_of(name, kShellCalls)) return;
  const auto all = items(open);
  if (all.empty()) return;
  const Span first_value = keyword(open, "args").value_or(all.front());
  if (!process) return shell_call(open, first_value);
  if (split_call(open, first_value)) return;
  const auto shell = keyword(open, "shell");
  if (shell && shown(*shell) == "True") shell_call(open, first_value);
}

// --- notebooks ---

// What a name of the program puts into a line for a shell; nullopt where the program has no such name.
std::optional<ShellText> PythonProgram::notebook_name(const std::string& name, std::size_t at) const {
  const auto given = source_.given.find(name);
  if (given != source_.given.end()) return ShellText{given->second};
  if (!bindings_.contains(name)) return std::nullopt;
  const Binding* bound = binding(name);
  auto value = bound != nullptr ? literal(bound->value, 1) : std::nullopt;
  if (value) return value;
  return unknown_text(fmt::format("{} is computed where the notebook runs; give it with {}", name, how_to_set(name)),
                      at);
}

// IPython fills in {name} and $name; "{{" stands for a brace.
ShellText PythonProgram::notebook_text(const ShellText& text) const {
  ShellText out;
  const std::string& all = text.text;
  for (std::size_t i = 0; i < all.size() && spend(1); ++i) {
    const bool twice = i + 1 < all.size() && all[i + 1] == all[i];
    if ((all[i] == '{' || all[i] == '}') && twice) {
      append(out, slice(text, i, i + 1));
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < all.size() && shell_name_char(all[end])) ++end;
    const std::string name = all.substr(i + 1, end - i - 1);
    const bool braces = all[i] == '{' && end < all.size() && all[end] == '}';
    std::optional<ShellText> value;
    if ((braces || (all[i] == '$' && !twice)) && !name.empty()) value = notebook_name(name, text.origin[i]);
    if (all[i] == '{' && !value) {
      const std::size_t close = std::min(all.find('}', i), all.size() - 1);
      const std::string what = all.substr(i, close + 1 - i);
      value = unknown_text(fmt::format("what IPython puts in place of {} is not known here", what), text.origin[i]);
      end = close;
    }
    if (!value) {
      append(out, slice(text, i, i + 1));
      continue;
    }
    value->origin.assign(value->text.size(), text.origin[i]);
    append(out, *value);
    i = all[i] == '{' ? end : end - 1;
  }
  return out;
}

Result<bool> PythonProgram::system(std::size_t at, std::size_t indent, const ShellText& command) {
  if (command.text.find("sglang") == std::string::npos) return true;
  if (!spend(command.text.size() + 1)) return failure("this notebook needs more steps than are followed");
  RunContext context;
  context.when = branch_of(at, indent);
  for (const Setting& setting : settings_) {
    if (setting.at < at) apply(setting, context);
  }
  return finder_.script(notebook_text(command), context);
}

void PythonProgram::set_variable(std::size_t at, const ShellText& setting) {
  const std::size_t name_end = setting.text.find_first_of(" =");
  if (name_end == std::string::npos) return;
  const std::size_t from = std::min(setting.text.find_first_not_of(" =", name_end), setting.text.size());
  if (settings_.size() >= kMostSettings) {
    error_ = Error{"this sets more variables than are followed; give its launch as a command"};
    return;
  }
  settings_.push_back({at, setting.text.substr(0, name_end), notebook_text(tail(setting, from))});
}

// ["bash", "-c", TEXT]: the text that names the server.
bool PythonProgram::behind_c(std::size_t i) const {
  if (open_of_[i] == kNone || !is_sign(open_of_[i], "[") || i < 4 || !is_sign(i - 1, ",")) return false;
  if (tokens_[i - 2].kind != Kind::kText || tokens_[i - 4].kind != Kind::kText) return false;
  const std::string option = python_text(source_.text, tokens_[i - 2]).text;
  if (option.size() < 2 || option[0] != '-' || option[1] == '-' || option.back() != 'c') return false;
  if (!is_shell(python_text(source_.text, tokens_[i - 4]).text)) return false;
  const auto text = literal(expression_at(i), 0);
  return text && text->text.find("sglang") != std::string::npos;
}

Result<bool> PythonProgram::run() {
  std::stable_sort(settings_.begin(), settings_.end(), [](const Setting& a, const Setting& b) { return a.at < b.at; });
  std::size_t listed = kNone;  // the list of the last launch
  for (std::size_t i = 0; i < tokens_.size() && !error_ && steps_ > 0; ++i) {
    if (is_sign(i, "(")) call(i);
    if (behind_c(i)) {
      listed = open_of_[i];
      list(listed, 0);
    }
    if (tokens_[i].kind != Kind::kText || open_of_[i] == kNone || open_of_[i] == listed) continue;
    const std::string text = python_text(source_.text, tokens_[i]).text;
    const bool serve = text == "serve" && i >= 2 && tokens_[i - 2].kind == Kind::kText &&
                       python_text(source_.text, tokens_[i - 2]).text == "sglang";
    if (text != "sglang.launch_server" && !serve) continue;
    const std::size_t open = open_of_[i];
    if (!is_sign(open, "[") && !is_sign(open, "(")) continue;
    listed = open;
    list(open, 0);
  }
  if (steps_ == 0) return failure("this program needs more steps than are followed; give its launch as a command");
  if (error_) return tl::make_unexpected(*error_);
  return true;
}

}  // namespace preflight::sources
