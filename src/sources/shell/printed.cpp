// Tested by tests/shell_test.cpp.
#include "src/sources/shell/printed.h"
#include "src/base/limits.h"
#include "src/base/number_text.h"
#include "src/sources/shell/calculators.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

namespace preflight::sources {
namespace {

std::optional<std::int64_t> number(const std::string& text) {
  const auto value = number_in<std::int64_t>(text);
  return value && (*value > 1'000'000'000 || *value < -1'000'000'000) ? std::nullopt : value;
}

std::string without_slashes(std::string text) {
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

std::optional<std::string> of_basename(const std::vector<std::string>& words) {
  if (words.size() < 2 || words.size() > 3 || words[1].empty() || words[1].starts_with('-')) return std::nullopt;
  const std::string path = without_slashes(words[1]);
  std::string out = path == "/" ? path : path.substr(path.rfind('/') + 1);
  if (words.size() == 3 && out != words[2] && out.ends_with(words[2])) out.resize(out.size() - words[2].size());
  return out;
}

std::optional<std::string> of_dirname(const std::vector<std::string>& words) {
  if (words.size() != 2 || words[1].empty() || words[1].starts_with('-')) return std::nullopt;
  const std::string path = without_slashes(words[1]);
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return without_slashes(path.substr(0, slash == 0 ? 1 : slash));
}

std::optional<std::string> of_seq(const std::vector<std::string>& words) {
  std::vector<std::int64_t> numbers;
  std::string between = "\n";
  bool padded = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-w" || words[i] == "--equal-width") {
      padded = true;
      continue;
    }
    if (words[i].starts_with("-s") && (words[i].size() > 2 || i + 1 < words.size())) {
      between = words[i].size() > 2 ? words[i].substr(2) : words[i + 1];
      if (between.find('\\') != std::string::npos) return std::nullopt;
      i += words[i].size() > 2 ? 0 : 1;
      continue;
    }
    const auto value = number(words[i]);
    if (!value || (words[i].size() > 1 && words[i][0] == '0')) return std::nullopt;
    numbers.push_back(*value);
  }
  if (numbers.empty() || numbers.size() > 3) return std::nullopt;
  const std::int64_t first = numbers.size() == 1 ? 1 : numbers.front();
  const std::int64_t step = numbers.size() == 3 ? numbers[1] : 1;
  const std::int64_t last = numbers.back();
  if (step == 0 || (last - first) / step >= limits::kPrintedNumbers) return std::nullopt;
  const std::size_t width = padded ? std::max(std::to_string(first).size(), std::to_string(last).size()) : 0;
  std::string out;
  for (std::int64_t n = first; step > 0 ? n <= last : n >= last; n += step)
    out += fmt::format("{}{:0{}}", out.empty() ? "" : between, n, width);
  return out;
}

std::optional<std::string> of_expr(const std::vector<std::string>& words) {
  if (words.size() != 4) return std::nullopt;
  const auto a = number(words[1]);
  const auto b = number(words[3]);
  const std::string& op = words[2];
  if (!a || !b || ((op == "/" || op == "%") && *b == 0)) return std::nullopt;
  if (op == "+") return std::to_string(*a + *b);
  if (op == "-") return std::to_string(*a - *b);
  if (op == "*") return std::to_string(*a * *b);
  if (op == "/") return std::to_string(*a / *b);
  if (op == "%") return std::to_string(*a % *b);
  return std::nullopt;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    out.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

// -dX -fN, glued or apart; one field alone.
// Whether cut prints the n-th field of 2, 1,3, 2-4, 2- or -3; none where the list is none of these.
std::optional<bool> cut_takes(std::string_view list, std::int64_t n) {
  constexpr auto kLast = std::optional<std::int64_t>(std::numeric_limits<std::int64_t>::max());
  bool takes = false;
  while (!list.empty()) {
    const auto comma = list.find(',');
    const std::string one(list.substr(0, comma));
    const auto dash = one.find('-');
    const auto from = dash == 0 ? std::optional<std::int64_t>(1) : number(one.substr(0, dash));
    const bool open = dash != std::string::npos && dash + 1 == one.size();
    const auto to = dash == std::string::npos ? from : open ? kLast : number(one.substr(dash + 1));
    if (one == "-" || !from || !to || *from < 1 || *to < *from) return std::nullopt;
    takes = takes || (*from <= n && n <= *to);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return takes;
}

std::string cut_from(std::string_view line, const std::string& delimiter, const std::string& list) {
  std::string out;
  bool any = false;
  for (std::int64_t n = 1; n <= limits::kPrintedNumbers; ++n) {
    const auto end = line.find(delimiter);
    if (cut_takes(list, n).value_or(false)) {
      out += (any ? delimiter : std::string()) + std::string(line.substr(0, end));
      any = true;
    }
    if (end == std::string_view::npos) return out;
    line.remove_prefix(end + 1);
  }
  return {};
}

std::optional<std::string> of_cut(const std::vector<std::string>& words, std::string_view input) {
  std::string delimiter;
  std::string field;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i];
    if (w.size() < 2 || w[0] != '-' || (w[1] != 'd' && w[1] != 'f')) return std::nullopt;
    if (w.size() == 2 && i + 1 >= words.size()) return std::nullopt;
    (w[1] == 'd' ? delimiter : field) = w.size() > 2 ? w.substr(2) : words[i + 1];
    if (w.size() == 2) ++i;
  }
  if (delimiter.size() != 1 || field.empty() || !cut_takes(field, 1)) return std::nullopt;
  std::string out;
  for (const std::string_view line : lines_of(input)) {
    const std::string taken = line.find(delimiter) == std::string_view::npos ? std::string(line)  // printed whole
                                                                             : cut_from(line, delimiter, field);
    if (taken.empty()) return std::nullopt;  // too few fields: not what was meant
    out += taken + "\n";
  }
  return out;
}

// The characters that a set of tr stands for, in their order; none for signs that are not followed.
std::optional<std::string> tr_set(std::string_view written) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kClasses = {
      {{"[:upper:]", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
       {"[:lower:]", "abcdefghijklmnopqrstuvwxyz"},
       {"[:digit:]", "0123456789"},
       {"[:space:]", "\t\n\v\f\r "}}};
  std::string out;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto* const type = std::find_if(kClasses.begin(), kClasses.end(),
                                          [&](const auto& one) { return written.substr(i).starts_with(one.first); });
    if (type != kClasses.end()) {
      out += type->second;
      i += type->first.size() - 1;
    } else if (written[i] == '\\') {
      const char next = ++i < written.size() ? written[i] : '\0';
      if (next != 'n' && next != 't' && next != '\\') return std::nullopt;
      out += next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
    } else if (i + 2 < written.size() && written[i + 1] == '-') {
      if (written[i] > written[i + 2] || written[i + 2] == '\\') return std::nullopt;
      for (char c = written[i]; c < written[i + 2]; ++c) out += c;
      out += written[i + 2];
      i += 2;
    } else if (written[i] == '[' && i + 1 < written.size()) {
      return std::nullopt;
    } else {
      out += written[i];
    }
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

// Characters for others, or taken away.
std::optional<std::string> of_tr(const std::vector<std::string>& words, std::string_view input) {
  const bool deletes = words.size() == 3 && words[1] == "-d";
  if (words.size() != 3 || (words[1].starts_with('-') && words[1].size() > 1 && !deletes)) return std::nullopt;
  const auto from = tr_set(words[deletes ? 2 : 1]);
  const auto to = deletes ? std::optional<std::string>(std::string()) : tr_set(words[2]);
  if (!from || !to) return std::nullopt;
  std::string out;
  for (const char c : input) {
    const auto which = from->rfind(c);
    if (which == std::string::npos)
      out += c;
    else if (!deletes)
      out += (*to)[std::min(which, to->size() - 1)];
  }
  return out;
}

// The first or the last lines: -n N, -N, -nN
std::optional<std::string> of_ends(const std::vector<std::string>& words, std::string_view input) {
  std::string count = words.size() == 1 ? "10" : "";
  if (words.size() == 3 && words[1] == "-n") count = words[2];
  if (words.size() == 2 && words[1].starts_with("-n")) count = words[1].substr(2);
  if (words.size() == 2 && words[1].starts_with('-') && !words[1].starts_with("-n")) count = words[1].substr(1);
  const auto most = number(count);
  if (!most || *most < 0) return std::nullopt;
  std::string out;
  const auto lines = lines_of(input);
  const auto all = static_cast<std::int64_t>(lines.size());
  const std::int64_t from = words.front() == "tail" ? std::max<std::int64_t>(0, all - *most) : 0;
  const std::int64_t to = std::min(all, from + *most);
  for (std::int64_t i = from; i < to; ++i) out += std::string(lines[static_cast<std::size_t>(i)]) + "\n";
  return out;
}

// One field of a line, as awk splits it: by blanks, or by a text.
std::string awk_field(std::string_view line, std::string_view separator, std::int64_t which) {
  std::vector<std::string_view> fields;
  constexpr std::string_view kBlanks = " \t";
  const bool blanks = separator == " ";
  std::size_t at = blanks ? line.find_first_not_of(kBlanks) : 0;
  while (at < line.size() || (at == line.size() && !blanks && !line.empty())) {
    const std::size_t end = std::min(blanks ? line.find_first_of(kBlanks, at) : line.find(separator, at), line.size());
    fields.push_back(line.substr(at, end - at));
    if (end == line.size()) break;
    at = blanks ? line.find_first_not_of(kBlanks, end) : end + separator.size();
  }
  if (which == 0) return std::string(line);
  const std::int64_t index = which < 0 ? static_cast<std::int64_t>(fields.size()) : which;
  const bool there = index >= 1 && index <= static_cast<std::int64_t>(fields.size());
  return there ? std::string(fields[static_cast<std::size_t>(index) - 1]) : which < 0 ? std::string(line) : "";
}

// Lines that match, or with -v those that do not; none where a word of it is not followed, or no line is left.
// Its lines, or none of them.
std::optional<std::string> grep_lines(const std::vector<std::string>& words, std::string_view input) {
  constexpr std::size_t kLongestPattern = 64;
  std::string pattern;
  bool inverts = false;
  int flags = REG_NOSUB;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool option = words[i].size() > 1 && words[i][0] == '-' && pattern.empty();
    if (!option && !pattern.empty()) return std::nullopt;
    if (!option) pattern = words[i];
    for (std::size_t k = 1; option && k < words[i].size(); ++k) {
      const char letter = words[i][k];
      if (letter != 'v' && letter != 'E' && letter != 'i' && letter != 'e') return std::nullopt;
      inverts = inverts || letter == 'v';
      if (letter == 'E') flags |= REG_EXTENDED;
      if (letter == 'i') flags |= REG_ICASE;
    }
  }
  regex_t compiled;
  const bool small = !pattern.empty() && pattern.size() <= kLongestPattern && pattern.find('{') == std::string::npos &&
                     pattern.find(")*") == std::string::npos && pattern.find(")+") == std::string::npos;
  if (!small || input.size() > limits::kPrintBytes || regcomp(&compiled, pattern.c_str(), flags) != 0)
    return std::nullopt;
  std::string out;
  for (const std::string_view line : lines_of(input)) {
    const bool matches = regexec(&compiled, std::string(line).c_str(), 0, nullptr, 0) == 0;
    if (matches != inverts) out += std::string(line) + "\n";
  }
  regfree(&compiled);
  return out;
}

std::optional<std::string> of_grep(const std::vector<std::string>& words, std::string_view input) {
  auto out = grep_lines(words, input);
  return out && out->empty() ? std::nullopt : out;
}

// '{print $N}' and '{print $NF}', behind -F, NR==N and /PATTERN/.
std::optional<std::string> of_awk(const std::vector<std::string>& words, std::string_view input) {
  std::string separator = " ";
  std::size_t program = 1;
  if (words.size() > 2 && words[1].starts_with("-F")) {
    separator = words[1].size() > 2 ? words[1].substr(2) : words[2];
    const bool sign = separator.size() > 1 && separator.find_first_of("\\.[]()*+?{}|^$") != std::string::npos;
    if (separator.empty() || separator == "\\" || separator == " " || separator == "t" || sign) return std::nullopt;
    program = words[1].size() > 2 ? 2 : 3;
  }
  if (program + 1 != words.size()) return std::nullopt;
  std::string text;
  for (const char c : words[program]) text += c == ' ' || c == '\t' ? "" : std::string(1, c);
  std::int64_t only = 0;
  if (text.starts_with("NR==")) {
    const auto brace = std::min(text.find('{'), text.size());
    only = number(text.substr(4, brace - 4)).value_or(-1);
    text.erase(0, brace);
    if (only < 1) return std::nullopt;
  }
  std::string pattern;
  if (text.starts_with('/')) {
    const auto end = words[program].find('/', words[program].find('/') + 1);
    const auto begin = words[program].find('/') + 1;
    if (end == std::string::npos || words[program].find('/', end + 1) != std::string::npos) return std::nullopt;
    pattern = words[program].substr(begin, end - begin);
    text.erase(0, std::min(text.find('{'), text.size()));
  }
  if (!text.starts_with("{print$") || !text.ends_with('}')) return std::nullopt;
  const std::string field = text.substr(7, text.size() - 8);
  const auto which = field == "NF" ? std::optional<std::int64_t>(-1) : number(field);
  if (!which || (*which < 0 && field != "NF")) return std::nullopt;
  std::string out;
  std::int64_t line_number = 0;
  std::string lines(input);
  if (!pattern.empty()) {
    const auto matching = of_grep({"grep", "-E", pattern}, input);
    if (!matching) return std::nullopt;
    lines = *matching;
  }
  for (const std::string_view line : lines_of(lines)) {
    if (++line_number == only || only == 0) out += awk_field(line, separator, *which) + "\n";
  }
  return out;
}

// s/EXPRESSION/TEXT/ and s/…/…/g of sed, where nothing in them is a sign of sed's own.
struct Substitution {
  std::string expression;
  std::string text;  // \1: what the first group matched
  bool all = false;
  bool prints = false;
};
std::optional<Substitution> sed_substitution(const std::string& command) {
  if (command.size() < 4 || command[0] != 's' || std::string_view("/#,@:|").find(command[1]) == std::string_view::npos)
    return std::nullopt;
  const char between = command[1];
  Substitution out;
  std::array<std::string*, 2> parts = {&out.expression, &out.text};
  std::size_t i = 2;
  for (std::string* part : parts) {
    for (; i < command.size() && command[i] != between; ++i) {
      if (command[i] == '&' && part == &out.text) return std::nullopt;
      if (command[i] == '\\') {
        const char next = ++i < command.size() ? command[i] : '\0';
        const bool sign = std::string_view(".*[]^$/#,@:()").find(next) != std::string_view::npos && next != '\0';
        const bool group = part == &out.text && next >= '1' && next <= '9';
        if (!group && (!sign || (part == &out.text && next != between))) return std::nullopt;
        if (next != between) *part += '\\';
      }
      *part += command[i];
    }
    if (i++ >= command.size()) return std::nullopt;
  }
  for (; i < command.size(); ++i) {
    if (command[i] != 'g' && command[i] != 'p') return std::nullopt;
    (command[i] == 'g' ? out.all : out.prints) = true;
  }
  return out;
}

// A group with a sign of repetition behind it may take very long.
bool repeats_no_group(const std::string& expression) {
  for (auto at = expression.find(')'); at != std::string::npos; at = expression.find(')', at + 1)) {
    if (std::string_view("*+?\\").find(expression.substr(at + 1, 1)) != std::string_view::npos &&
        at + 1 < expression.size())
      return false;
  }
  return true;
}

std::string with_groups(const std::string& text, const std::string& line, const std::array<regmatch_t, 10>& found) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const regmatch_t& group = found[static_cast<std::size_t>(text[++i] - '0')];
    if (group.rm_so >= 0)
      out += line.substr(static_cast<std::size_t>(group.rm_so), static_cast<std::size_t>(group.rm_eo - group.rm_so));
  }
  return out;
}

std::optional<std::string> of_sed(const std::vector<std::string>& words, std::string_view input);

// sed -e … -e …: each goes on with what the one before left.
std::optional<std::string> of_several_sed(const std::vector<std::string>& words, std::string_view input) {
  std::vector<std::string> flags = {words.front()};
  std::vector<std::string> commands;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-e" && i + 1 < words.size())
      commands.push_back(words[++i]);
    else if (words[i] == "-E" || words[i] == "-r")
      flags.push_back(words[i]);
    else
      return std::nullopt;
  }
  std::optional<std::string> out(input);
  for (const std::string& command : commands) {
    std::vector<std::string> one = flags;
    one.push_back(command);
    out = out ? of_sed(one, *out) : std::nullopt;
  }
  return out;
}

std::optional<std::string> of_sed(const std::vector<std::string>& words, std::string_view input) {
  if (std::ranges::count(words, "-e") > 1) return of_several_sed(words, input);
  std::string command;
  int flags = 0;
  bool quiet = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-E" || words[i] == "-r" || words[i] == "-nE" || words[i] == "-nr" || words[i] == "-n") {
      if (words[i] != "-n") flags = REG_EXTENDED;
      quiet = quiet || words[i][1] == 'n';
    } else if (words[i] != "-e") {
      if (words[i].starts_with('-') || !command.empty()) return std::nullopt;
      command = words[i];
    }
  }
  const auto wanted = sed_substitution(command);
  const bool small = wanted && wanted->expression.size() <= 64 && wanted->prints == quiet &&
                     wanted->expression.find('{') == std::string::npos && repeats_no_group(wanted->expression);
  regex_t compiled;
  if (!small || input.size() > 4096 || regcomp(&compiled, wanted->expression.c_str(), flags) != 0) return std::nullopt;
  std::string out;
  bool known = true;
  for (const std::string_view one : lines_of(input)) {
    const std::string line(one);
    std::size_t from = 0;
    std::string made;
    bool any = false;
    std::array<regmatch_t, 10> found{};
    while (known && from < line.size() &&
           regexec(&compiled, line.c_str() + from, found.size(), found.data(), from == 0 ? 0 : REG_NOTBOL) == 0) {
      any = true;
      known = found[0].rm_eo > found[0].rm_so;  // what is empty is not followed
      made += line.substr(from, static_cast<std::size_t>(found[0].rm_so));
      made += with_groups(wanted->text, line.substr(from), found);
      from += static_cast<std::size_t>(found[0].rm_eo);
      if (!wanted->all) break;
    }
    if (any || !quiet) out += made + line.substr(from) + "\n";
  }
  regfree(&compiled);
  return known ? std::optional(out) : std::nullopt;
}

std::optional<std::string> of_wc(const std::vector<std::string>& words, std::string_view input) {
  if (words.size() != 2 || (words[1] != "-l" && words[1] != "-w")) return std::nullopt;
  std::size_t count = 0;
  bool inside = false;
  for (const char c : input) {
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (words[1] == "-l") count += c == '\n' ? 1 : 0;
    if (words[1] == "-w") count += !blank && !inside ? 1 : 0;
    inside = !blank;
  }
  return std::to_string(count) + "\n";
}

// xargs without a command: its words on one line. None where quotes are among them.
std::optional<std::string> of_xargs(const std::vector<std::string>& words, std::string_view input) {
  const bool echoes = words.size() == 1 || (words.size() == 2 && words[1] == "echo");
  if (!echoes || input.find_first_of("'\"\\") != std::string_view::npos) return std::nullopt;
  std::string out;
  for (std::size_t at = input.find_first_not_of(" \t\n"); at != std::string_view::npos;) {
    const std::size_t end = std::min(input.find_first_of(" \t\n", at), input.size());
    out += (out.empty() ? "" : " ") + std::string(input.substr(at, end - at));
    at = input.find_first_not_of(" \t\n", end);
  }
  return out + "\n";
}

// What one directive of printf makes of a word: %02d, %.2f, %-8s. Text that is no number is an error there.
std::optional<std::string> converted(const std::string& directive, const std::string& word) {
  const char kind = directive.back();
  const auto point = directive.find('.');
  const std::string width = directive.substr(1, std::min(point, directive.size() - 1) - 1);
  const std::string precision =
      point == std::string::npos ? "" : directive.substr(point + 1, directive.size() - point - 2);
  if (width.size() > 4 || precision.size() > 2 || word.find('\0') != std::string::npos) return std::nullopt;
  if (word.size() > 1 && word[0] == '0' && word[1] != '.') return std::nullopt;  // octal, hexadecimal
  std::array<char, 2048> out{};
  int length = -1;
  const std::string front = directive.substr(0, directive.size() - 1);
  if (kind == 's' && word.size() < 1024)
    length = std::snprintf(out.data(), out.size(), directive.c_str(), word.c_str());
  if (kind == 'd' || kind == 'i') {
    const auto value = word.empty() ? std::optional<std::int64_t>(0) : number(word);
    if (value) length = std::snprintf(out.data(), out.size(), (front + "lld").c_str(), static_cast<long long>(*value));
  }
  const bool decimal = word.size() < 32 && word.find_first_not_of("0123456789.") == std::string::npos &&
                       std::count(word.begin(), word.end(), '.') <= 1 && word != ".";
  if (kind == 'f' && decimal)
    length = std::snprintf(out.data(), out.size(), (front + "Lf").c_str(), std::strtold(word.c_str(), nullptr));
  if (length < 0 || length >= static_cast<int>(out.size())) return std::nullopt;
  return std::string(out.data(), static_cast<std::size_t>(length));
}

// The escapes of a format of printf; none for those that are not followed.
std::optional<std::string> escaped(std::string_view format, std::size_t& i) {
  if (format[i] != '\\') return std::string(1, format[i]);
  ++i;
  if (i >= format.size()) return std::nullopt;
  if (format[i] == 'n') return "\n";
  if (format[i] == 't') return "\t";
  if (format[i] == '\\') return "\\";
  const bool longer = i + 1 < format.size() && format[i + 1] >= '0' && format[i + 1] <= '7';
  if (format[i] == '0' && !longer) return std::string(1, '\0');
  return std::nullopt;
}

}  // namespace

namespace {

// %q of bash: each sign that a shell reads gets a backslash. None for other signs than ASCII's.
std::optional<std::string> quoted_for_shell(std::string_view word) {
  constexpr std::string_view kSigns = " !\"$&'()*,;<>?[\\]^`{|}";
  if (word.empty()) return "''";
  std::string out = word[0] == '#' || word[0] == '~' ? "\\" : "";
  for (const char c : word) {
    if (c < ' ' || c > '~') return std::nullopt;
    if (kSigns.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::optional<ShellText> formatted(std::string_view format, const std::vector<ShellWord>& words, std::size_t place) {
  ShellText out;
  const auto put = [&](const std::string& text) {
    append(out, {text, std::vector<std::size_t>(text.size(), place), {}});
  };
  std::size_t next = 0;
  do {
    const std::size_t before = next;
    for (std::size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        const auto text = escaped(format, i);
        if (!text) return std::nullopt;
        put(*text);
        continue;
      }
      const std::size_t from = i;
      i = std::min(format.find_first_not_of("-+ 0123456789.", i + 1), format.size() - 1);
      const std::string directive(format.substr(from, i + 1 - from));
      if (directive == "%%") {
        put("%");
        continue;
      }
      const bool has = next < words.size();
      if (directive == "%s") {
        if (has) append(out, words[next]);
      } else {
        const std::string word = has ? words[next].text : "";
        const bool known = !has || words[next].unknowns.empty();
        const auto text = !known              ? std::nullopt
                          : directive == "%q" ? quoted_for_shell(word)
                                              : converted(directive, word);
        if (!text) return std::nullopt;
        put(*text);
      }
      ++next;
    }
    if (next == before) break;  // nothing takes words
  } while (next < words.size());
  return out;
}

bool is_quiet_option(std::string_view word) {
  if (word.starts_with("--")) return word == "--quiet" || word == "--silent";
  return word.starts_with('-') && word.find('q') != std::string_view::npos;
}

std::optional<bool> grep_finds(const std::vector<std::string>& words, std::string_view input) {
  if (input.find('\0') != std::string_view::npos) return std::nullopt;
  std::vector<std::string> loud;
  bool options = true;
  for (std::string word : words) {
    options = options && (loud.empty() || word.starts_with('-'));
    if (options && !loud.empty()) {
      if (word == "--quiet" || word == "--silent") continue;
      if (!word.starts_with("--")) std::erase_if(word, [](char c) { return c == 'q' || c == 's'; });
      if (word == "-") continue;
    }
    loud.push_back(std::move(word));
  }
  const auto lines = grep_lines(loud, input);
  return lines ? std::optional(!lines->empty()) : std::nullopt;
}

std::optional<std::string> filtered_by(const std::vector<std::string>& words, std::string_view input) {
  const std::string& program = words.front();
  if (input.find('\0') != std::string_view::npos) return std::nullopt;
  if (program == "cut") return of_cut(words, input);
  if (program == "tr") return of_tr(words, input);
  if (program == "head" || program == "tail") return of_ends(words, input);
  if (program == "awk" || program == "gawk" || program == "mawk") return of_awk(words, input);
  if (program == "sed") return of_sed(words, input);
  if (program == "wc") return of_wc(words, input);
  if (program == "grep") return of_grep(words, input);
  if (program == "xargs") return of_xargs(words, input);
  if (program == "bc") return of_bc(words, input);
  if (program == "jq") return of_jq(words, input);
  return std::nullopt;
}

std::optional<std::string> printed_by(const std::vector<std::string>& written) {
  std::vector<std::string> words = written;
  const std::string& program = words.front();
  const bool of_path = program == "basename" || program == "dirname";
  if (of_path && words.size() > 2 && words[1] == "--") words.erase(words.begin() + 1);
  if (program == "basename") return of_basename(words);
  if (program == "dirname") return of_dirname(words);
  if (program == "seq") return of_seq(words);
  if (program == "expr") return of_expr(words);
  const auto begin = program == "awk" || program == "gawk" || program == "mawk" ? of_awk_begin(words) : std::nullopt;
  if (begin) return begin->substr(0, begin->size() - (begin->ends_with('\n') ? 1 : 0));
  return std::nullopt;
}

}  // namespace preflight::sources
