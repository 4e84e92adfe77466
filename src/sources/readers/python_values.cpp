// Dictionaries of a Python program: env=… of a call, **NAME of sglang.Engine(…), json.dumps({…}). Tested by
// tests/sources_test.cpp and, against Python itself, by tests/traps_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "src/sources/readers/python_program.h"

namespace preflight::sources {
namespace {

using Kind = PythonToken::Kind;
constexpr int kDeepest = 6;

}  // namespace

// KEY: VALUE of a display whose brace is token `open`.
std::pair<PythonProgram::Span, PythonProgram::Span> PythonProgram::key_and_value(Span item, std::size_t open) const {
  std::size_t colon = item.begin;
  while (colon < item.end && !(is_sign(colon, ":") && open_of_[colon] == open)) ++colon;
  return {{item.begin, colon}, {std::min(colon + 1, item.end), item.end}};
}

// --- environments ---

void PythonProgram::unclear_variables(Span value, Variables& out) const {
  out.unknown.push_back({fmt::format("env={} hands over variables that are not known here", shown(value)),
                         tokens_[value.begin].begin,
                         {}});
}

// {…}, with **os.environ or without.
void PythonProgram::add_pairs(std::size_t open, Variables& out, int depth) const {
  for (const Span& item : items(open)) {
    if (is_sign(item.begin, "**")) {
      add_variables({item.begin + 1, item.end}, out, depth + 1);
      continue;
    }
    const auto [key_at, value_at] = key_and_value(item, open);
    const auto key = literal(key_at, 0);
    if (key && key->unknowns.empty() && value_at.begin < value_at.end) {
      out.removed.erase(key->text);
      out.own.insert_or_assign(key->text, word(value_at));
    } else {
      unclear_variables(item, out);
    }
  }
}

void PythonProgram::add_variables(Span value, Variables& out, int depth) const {
  if (value.begin >= value.end || depth > kDeepest || !spend(value.end - value.begin)) {
    out.unknown.push_back({"env= is nested deeper than is followed", 0, {}});
    return;
  }
  if (const std::size_t bar = last_sign(value, "|"); bar != kNowhere) {
    add_variables({value.begin, bar}, out, depth + 1);
    return add_variables({bar + 1, value.end}, out, depth + 1);
  }
  if (is_sign(value.begin, "{") && close_of_[value.begin] == value.end - 1) return add_pairs(value.begin, out, depth);
  const Span chain = chain_at(value.begin);
  const std::string name = module_name(name_of(chain));
  const bool called = is_sign(chain.end, "(") && close_of_[chain.end] == value.end - 1;
  const bool whole = chain.end == value.end;
  if ((whole && name == "os.environ") || (called && name == "os.environ.copy")) {
    out.inherits = true;
    out.at = value.begin;
    return;
  }
  if (called && name == "dict") {
    for (const Span& item : items(chain.end)) {
      const bool keyword = is_sign(item.begin + 1, "=") && item.begin + 2 < item.end;
      if (keyword)
        out.own.insert_or_assign(std::string(text_of(item.begin)), word({item.begin + 2, item.end}));
      else
        add_variables(is_sign(item.begin, "**") ? Span{item.begin + 1, item.end} : item, out, depth + 1);
    }
    return;
  }
  const bool copies = called && name.ends_with(".copy") && chain.end + 2 == value.end && chain.end >= chain.begin + 3;
  if (whole && chain.end > chain.begin) return add_named_variables(chain, out, depth);
  if (copies) return add_named_variables({chain.begin, chain.end - 2}, out, depth);
  unclear_variables(value, out);
}

// NAME, which a dictionary was assigned to, with what the lines up to its use make of it.
void PythonProgram::add_named_variables(Span chain, Variables& out, int depth) const {
  const std::string name = name_of(chain);
  const Binding* bound = binding(name);
  if (bound == nullptr || bound->at > chain.begin) return unclear_variables(chain, out);
  add_variables(bound->value, out, depth + 1);
  if (!spend(lines_.size() + 1)) return unclear_variables(chain, out);
  for (const Span& line : lines_) {
    const bool later = line.begin > chain.begin;
    if (line.begin <= bound->at || !changes(line, name)) continue;
    if (later && !turns_together(chain.begin, line.begin)) break;
    change_variables(line, name, !later && tokens_[line.begin].indent == tokens_[bound->at].indent, out);
  }
}

// NAME["KEY"] = VALUE, NAME.update(…), NAME.pop("KEY").
void PythonProgram::change_variables(Span line, const std::string& name, bool straight, Variables& out) const {
  const Span chain = chain_at(line.begin);
  const std::size_t open = chain.end;
  const std::string target = name_of(chain);
  const std::size_t close = open < close_of_.size() ? close_of_[open] : kNowhere;
  if (close == kNowhere || !straight) return unclear_variables(line, out);
  if (target == name && is_sign(open, "[") && is_sign(close + 1, "=")) {
    const auto key = literal({open + 1, close}, 0);
    if (!key || !key->unknowns.empty()) return unclear_variables(line, out);
    out.removed.erase(key->text);
    out.own.insert_or_assign(key->text, word({close + 2, line.end}));
  } else if (target == name + ".update" && close == line.end - 1) {
    for (const Span& item : items(open)) {
      if (is_sign(item.begin + 1, "=") && item.begin + 2 < item.end)
        out.own.insert_or_assign(std::string(text_of(item.begin)), word({item.begin + 2, item.end}));
      else
        add_variables(item, out, 1);
    }
  } else if (target == name + ".pop" && !items(open).empty()) {
    const auto key = literal(items(open).front(), 0);
    if (!key || !key->unknowns.empty()) return unclear_variables(line, out);
    out.own.erase(key->text);
    out.removed.insert(key->text);
  } else if (target.starts_with(name + ".") && (target.ends_with(".get") || target.ends_with(".items"))) {
    return;
  } else {
    unclear_variables(line, out);
  }
}

// env=… of a call, or the argument of os.execvpe and its kin that is one.
std::optional<PythonProgram::Span> PythonProgram::environment_value(std::size_t call) const {
  if (auto value = keyword(call, "env")) return value;
  const std::string callee = callee_of(call);
  const std::string_view last = std::string_view(callee).substr(callee.rfind('.') + 1);
  const std::size_t at = last == "execve" || last == "execvpe" ? 2 : last == "spawnve" || last == "spawnvpe" ? 3 : 0;
  const auto all = items(call);
  return at > 0 && all.size() > at ? std::optional(all[at]) : std::nullopt;
}

void PythonProgram::environment_of(std::size_t call, RunContext& context) const {
  const auto value = environment_value(call);
  if (!value || (value->end == value->begin + 1 && text_of(value->begin) == "None")) return;
  Variables said;
  add_variables(*value, said, 0);
  if (!said.inherits && said.unknown.empty()) context.env.clear();
  for (const Setting& setting : settings_) {  // made behind the copy
    const bool late = said.inherits && setting.at > tokens_[said.at].begin && setting.at < tokens_[call].begin;
    if (!late) continue;
    context.env = context_at(said.at).env;
    break;
  }
  for (const std::string& name : said.removed) context.env.erase(name);
  for (auto& [name, text] : said.own) context.env.insert_or_assign(name, std::move(text));
  for (LaunchUnknown& unknown : said.unknown) context.unknown.push_back(std::move(unknown));
}

// --- **NAME of sglang.Engine(…) ---

// The entries of a dictionary that one literal or dict(…) is assigned to, as options; false where it is none.
bool PythonProgram::dictionary_words(Span value, std::vector<ShellWord>& words, RunContext& context) const {
  const Span chain = chain_at(value.begin);
  const bool named = chain.end == value.end && chain.end > chain.begin;
  const Binding* bound = named ? binding(name_of(chain)) : nullptr;
  const Span made = bound != nullptr ? bound->value : value;
  const bool display = is_sign(made.begin, "{") && close_of_[made.begin] == made.end - 1;
  const bool call = name_of(chain_at(made.begin)) == "dict" && is_sign(made.begin + 1, "(") &&
                    close_of_[made.begin + 1] == made.end - 1;
  if (!display && !call) return false;
  const std::size_t open = made.begin + (call ? 1 : 0);
  for (const Span& item : items(open)) {
    const bool keyword = is_sign(item.begin + 1, "=");
    const auto [key_at, value_at] = key_and_value(item, open);
    const auto key = display ? literal(key_at, 0) : std::nullopt;
    if (call && keyword)
      option_word(text_of(item.begin), item.begin, {item.begin + 2, item.end}, words);
    else if (key && key->unknowns.empty() && value_at.begin < value_at.end)
      option_word(key->text, item.begin, value_at, words);
    else
      context.unknown.push_back(
          {fmt::format("{} hands over arguments that are not known here", shown(item)), tokens_[item.begin].begin, {}});
  }
  if (bound == nullptr) return true;
  const std::string name = name_of(chain);
  for (const Span& line : lines_) {
    if (line.begin <= bound->at || line.begin >= value.begin) continue;
    if (!changes(line, name)) continue;
    const Span target = chain_at(line.begin);
    const std::size_t close = target.end < close_of_.size() ? close_of_[target.end] : kNowhere;
    const bool straight = tokens_[line.begin].indent == tokens_[bound->at].indent;
    const bool sets = straight && close != kNowhere && is_sign(target.end, "[") && is_sign(close + 1, "=");
    const auto key = sets ? literal({target.end + 1, close}, 0) : std::nullopt;
    const bool updates = straight && name_of(target) == name + ".update" && close == line.end - 1 &&
                         items(target.end).size() == 1 && is_sign(target.end + 1, "{");
    if (updates && dictionary_words(items(target.end).front(), words, context)) continue;
    if (key && key->unknowns.empty())
      option_word(key->text, line.begin, {close + 2, line.end}, words);
    else
      context.unknown.push_back({fmt::format("what {} is from line {} on is not followed", name,
                                             finder_.place(tokens_[line.begin].begin).line),
                                 tokens_[line.begin].begin,
                                 {}});
  }
  return true;
}

// --- texts ---

// os.path.join of texts.
std::optional<ShellText> PythonProgram::joined_path(std::size_t open, int depth) const {
  ShellText out;
  for (const Span& item : items(open)) {
    const auto part = literal(item, depth + 1);
    if (!part || !part->unknowns.empty()) return std::nullopt;
    if (part->text.starts_with('/')) out = {};
    if (!out.text.empty() && out.text.back() != '/') append(out, {"/", {tokens_[item.begin].begin}, {}});
    append(out, *part);
  }
  return out;
}

// json.dumps of a display, as Python writes it.
std::optional<ShellText> PythonProgram::json_text(std::size_t open) const {
  const auto all = items(open);
  if (all.empty() || all.size() > 2) return std::nullopt;
  bool compact = false;
  if (all.size() == 2) {
    const std::string option = shown(all[1]);
    compact = option == "separators=(\",\", \":\")" || option == "separators=(\",\",\":\")" ||
              option == "separators=(',', ':')" || option == "separators=(',',':')";
    if (!compact) return std::nullopt;
  }
  ShellText out;
  if (!add_json(all.front(), compact, out, 0)) return std::nullopt;
  return out;
}

bool PythonProgram::add_json(Span value, bool compact, ShellText& out, int depth) const {
  if (value.begin >= value.end || depth > 16 || !spend(value.end - value.begin)) return false;
  const std::size_t at = tokens_[value.begin].begin;
  const auto put = [&](const std::string& text) { append(out, {text, std::vector<std::size_t>(text.size(), at), {}}); };
  const bool object = is_sign(value.begin, "{");
  if ((object || is_sign(value.begin, "[")) && close_of_[value.begin] == value.end - 1) {
    put(object ? "{" : "[");
    bool first = true;
    for (const Span& item : items(value.begin)) {
      if (!first) put(compact ? "," : ", ");
      first = false;
      const auto [key, entry] = key_and_value(item, value.begin);
      if (object && (tokens_[item.begin].kind != Kind::kText || key.end != key.begin + 1)) return false;
      if (object && !add_json(key, compact, out, depth + 1)) return false;
      if (object) put(compact ? ":" : ": ");
      if (!add_json(object ? entry : item, compact, out, depth + 1)) return false;
    }
    put(object ? "}" : "]");
    return true;
  }
  const Span chain = chain_at(value.begin);
  const std::string name = chain.end == value.end ? name_of(chain) : std::string();
  if (const Binding* bound = name.empty() ? nullptr : binding(name);
      bound != nullptr && !source_.given.contains(name) && !grows_.contains(name) && bound->at < value.begin &&
      !changes_between(name, bound->value.end, value.begin) && !turned_and_changed(name, value.begin))
    return add_json(bound->value, compact, out, depth + 1);
  const std::string_view plain = value.end == value.begin + 1 ? text_of(value.begin) : std::string_view();
  if (plain == "True" || plain == "False" || plain == "None") {
    put(plain == "True" ? "true" : plain == "False" ? "false" : "null");
    return true;
  }
  const bool number = tokens_[value.end - 1].kind == Kind::kNumber &&
                      text_of(value.end - 1).find_first_not_of("0123456789.") == std::string_view::npos;
  const auto text = literal(value, 0);
  if (!text) return false;
  if (number) {
    put(text->text);
    return text->text.find('.') == std::string::npos ||
           (text->text.back() != '.' && (text->text.back() != '0' || text->text.ends_with(".0")));
  }
  const bool simple = std::all_of(text->text.begin(), text->text.end(),
                                  [](char c) { return c == kHole || (c >= ' ' && c <= '~' && c != '"' && c != '\\'); });
  if (!simple || tokens_[value.begin].kind == Kind::kName) return false;  // a name may stand for a number
  put("\"");
  append(out, *text);
  put("\"");
  return true;
}

}  // namespace preflight::sources
