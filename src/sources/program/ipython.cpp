// What IPython adds to Python: lines for a shell, and magics, as a notebook's cells and the scripts that are made of
// them call it. IPython fills {EXPRESSION} and $NAME in, and leaves a line as it stands where it cannot. Tested by
// tests/sources_test.cpp; 38 notebooks were compared with what IPython 9 runs.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "src/sources/program/follower.h"

namespace preflight::sources::program {
namespace {

using Kind = Val::Kind;

constexpr std::size_t kFieldSteps = 50;  // to read an expression, and to keep it

bool name_sign(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

bool plain_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::all_of(text.begin(), text.end(), [](char c) { return name_sign(c) && c != '.'; });
}

ShellText trimmed(const ShellText& text) {
  const auto from = text.text.find_first_not_of(" \t\n");
  if (from == std::string::npos) return {};
  return sources::slice(text, from, text.text.find_last_not_of(" \t\n") + 1);
}

bool runs_scripts(std::string_view magic, std::string_view line) {
  return magic == "bash" || magic == "sh" || (magic == "script" && line.find("sh") != std::string_view::npos);
}

}  // namespace

// $NAME in a literal; $$NAME is $NAME, and between single quotes it stands for itself.
void Follower::dollar_fields(const ShellText& literal, std::vector<LinePart>& out) {
  ShellText before;
  std::size_t from = 0;
  const std::string& s = literal.text;
  std::size_t counted = 0;
  auto quotes = std::count(s.begin(), s.end(), '\'');  // from `counted` on
  for (auto at = s.find('$'); at != std::string::npos; at = s.find('$', at + 1)) {
    std::size_t end = at + 1;
    const bool doubled = end < s.size() && s[end] == '$';
    if (doubled) ++end;
    const std::size_t name = end;
    while (end < s.size() && name_sign(s[end])) ++end;
    for (; counted < end; ++counted) quotes -= s[counted] == '\'' ? 1 : 0;
    const bool quoted = quotes % 2 != 0;
    if (end == name || quoted) continue;
    append(before, sources::slice(literal, from, at));
    if (doubled)
      append(before, sources::slice(literal, at + 1, end));
    else
      out.push_back({std::exchange(before, {}), LineField{sources::slice(literal, name, end)}});
    from = end;
    at = end - 1;
  }
  append(before, sources::slice(literal, from, s.size()));
  out.push_back({std::move(before)});
}

// The field between the braces at `open` and `close`; none where string.Formatter refuses it. What stands behind ':'
// belongs to the expression.
std::optional<Follower::LineField> Follower::line_field(const ShellText& line, std::size_t open, std::size_t close) {
  const std::string& s = line.text;
  std::size_t stop = open + 1;
  for (bool bracket = false; stop < close && (bracket || (s[stop] != ':' && s[stop] != '!')); ++stop) {
    if (s[stop] == '{') return std::nullopt;
    if (s[stop] == '[') bracket = true;
    if (s[stop] == ']') bracket = false;
  }
  LineField field{sources::slice(line, open + 1, stop), '\0', true};
  if (stop < close && s[stop] == '!') {
    if (stop + 1 >= close || (stop + 2 < close && s[stop + 2] != ':')) return std::nullopt;
    field.conversion = s[stop + 1];
    stop += 2;
  }
  if (stop + 1 < close) append(field.expression, sources::slice(line, stop, close));
  return field;
}

// As string.Formatter takes a line apart; none where it refuses to.
std::optional<std::vector<Follower::LinePart>> Follower::line_parts(const ShellText& line) {
  std::vector<LinePart> out;
  ShellText literal;
  const std::string& s = line.text;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const bool brace = s[i] == '{' || s[i] == '}';
    const bool doubled = brace && i + 1 < s.size() && s[i + 1] == s[i];
    if (!brace || doubled) {
      const std::size_t end = doubled ? i + 1 : std::min(s.find_first_of("{}", i), s.size());
      append(literal, sources::slice(line, i, end));
      i = doubled ? i + 1 : end - 1;
      continue;
    }
    if (s[i] == '}') return std::nullopt;
    std::size_t close = i + 1;
    for (int open = 1; close < s.size(); ++close) {
      if (s[close] == '{') ++open;
      if (s[close] == '}' && --open == 0) break;
    }
    auto field = close < s.size() ? line_field(line, i, close) : std::nullopt;
    if (!field) return std::nullopt;
    dollar_fields(std::exchange(literal, {}), out);
    out.back().field = std::move(field);
    i = close;
  }
  dollar_fields(literal, out);
  return out;
}

std::optional<Val> Follower::bound(const std::string& name) const {
  for (const Object* scope = locals_; scope != nullptr; scope = scope->scope) {
    const auto it = scope->now.names.find(name);
    if (it != scope->now.names.end() && !it->second.is(Kind::kGone)) return it->second;
  }
  return std::nullopt;
}

// What a field comes to; none where it is no expression, and IPython leaves the line as it is.
std::optional<ShellText> Follower::field_text(const LineField& field, bool& unset) {
  const std::string& written = field.expression.text;
  const std::size_t inside = field.expression.origin.empty() ? 1 : field.expression.origin.front();
  const std::size_t at = std::max<std::size_t>(inside, 1) - 1;  // of the brace or the dollar
  const std::string shown_field = field.braces ? "{" + written + "}" : "$" + written;
  const auto open = [&] {
    unset = unset || field.braces;
    return unknown_text(fmt::format("what IPython puts in place of {} is not known here", shown_field), at);
  };
  const auto found = plain_name(written) ? bound(written) : std::nullopt;
  if (plain_name(written) && !found) {
    if (!field.braces) return std::nullopt;
    return open();
  }
  Val v;
  if (found) {
    v = *found;
  } else {
    spend(kFieldSteps);
    fields_.push_back(parse_program("(" + written + ")\n"));
    Program& program = fields_.back();
    const bool one = program.fault == std::string_view::npos && program.body.size() == 1 &&
                     program.body.front()->kind == Stmt::Kind::kExpr;
    if (!one) return std::nullopt;
    for (Expr& e : program.expressions) e.begin = e.end = at;
    v = value(*program.body.front()->value);
  }
  if (field.conversion == 'r') {
    const auto written_out = repr(v);
    if (!written_out) return open();
    v = text(*written_out, at);
  }
  if (v.is(Kind::kUnknown)) return open();
  ShellText out = text_or_hole(v, at);
  out.origin.assign(out.text.size(), at);
  return out;
}

ShellText Follower::filled_line(const ShellText& line) {
  spend_text(line.text.size());
  if (!line.unknowns.empty()) return line;
  const auto parts = line_parts(line);
  if (!parts) return line;
  ShellText out;
  bool unset = false;
  bool stays = false;
  for (const LinePart& part : *parts) {
    add(out, part.text);
    if (!part.field) continue;
    const auto filled = field_text(*part.field, unset);
    stays = stays || !filled;
    add(out, filled ? *filled
                    : ShellText{"$" + part.field->expression.text,
                                std::vector<std::size_t>(part.field->expression.text.size() + 1,
                                                         part.field->expression.origin.front() - 1),
                                {}});
  }
  return stays && !unset ? line : out;
}

// %env NAME=VALUE, or NAME VALUE.
void Follower::line_magic(const std::string& magic, const ShellText& line, std::size_t at) {
  if (magic != "env" && magic != "set_env") return;
  const ShellText setting = trimmed(filled_line(line));
  auto split = setting.text.find('=');
  if (split == std::string::npos) split = setting.text.find(' ');
  if (split == std::string::npos) return;
  set_entry(environ_, text(trimmed(sources::slice(setting, 0, split))), text(trimmed(tail(setting, split + 1))), at);
}

void Follower::cell_magic(const std::string& magic, const ShellText& line, const Val& cell, Arguments& a) {
  if (runs_scripts(magic, line.text)) {
    const auto words = line.text.find("-s ");  // what the script gets as its arguments
    if (words == std::string::npos || !cell.is(Kind::kText)) return start_shell(cell, a);
    ShellText script{"set -- ", std::vector<std::size_t>(7, a.at), {}};
    append(script, tail(line, words + 3));
    append(script, {"\n", {a.at}, {}});
    append(script, *cell.text);
    return start_shell(text(std::move(script)), a);
  }
  constexpr std::string_view kShown = " html markdown latex javascript js svg writefile file ";
  const bool shows = kShown.find(" " + magic + " ") != std::string_view::npos;
  if (cell.is(Kind::kText) && shows) finder_.account(*cell.text);
  if (shows || quiet_ > 0 || !cell.is(Kind::kText) || cell.text->text.find("sglang") == std::string::npos) return;
  finder_.account(*cell.text);
  finder_.note({"SH004", fmt::format("%%{} names a launch, and what it does is not followed", magic), a.at});
}

std::optional<Val> Follower::ipython(const std::string& name, Arguments& a) {
  if (name == "get_ipython" || name == "IPython.get_ipython") return instance("ipython");
  if (!name.starts_with("ipython.")) return std::nullopt;
  const std::string what = name.substr(8);
  const auto line_of = [&](std::size_t i) {
    return i < a.values.size() && a.values[i].is(Kind::kText) ? *a.values[i].text : ShellText{};
  };
  const bool shell = what == "system" || what == "system_raw" || what == "system_piped" || what == "getoutput";
  if (shell && !a.values.empty() && a.values[0].is(Kind::kText)) {
    start_shell(text(filled_line(*a.values[0].text)), a);
  } else if (what == "cell" && !a.values.empty() && quiet_ == 0) {  // ours: one that is not understood
    const Condition why = unless({{fmt::format("cell {}, which is not understood as Python, ends the notebook",
                                               str(a.values[0], a.at).text->text)}});
    if (std::ranges::find(endings_, why) == endings_.end()) endings_.push_back(why);
  } else if (what == "run_line_magic" && a.values.size() >= 2) {
    line_magic(line_of(0).text, line_of(1), a.at);
  } else if (what == "run_cell_magic" && a.values.size() >= 3) {
    cell_magic(line_of(0).text, filled_line(line_of(1)), a.values[2], a);
  }
  return unclear(a.at, a.end);
}

}  // namespace preflight::sources::program
