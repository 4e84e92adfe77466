// Each function with a letter an argument; behind | they may be left out, and * stands for any number of the last. As
// Python 3.8 to 3.13 take them. Tested by tests/traps_test.cpp, with Python as the judge.
#include "src/sources/program/signatures.h"

#include <algorithm>
#include <array>

namespace preflight::sources::program {
namespace {

using Kind = Val::Kind;

struct Signature {
  std::string_view name;
  std::string_view takes;
};

// a: anything; c: a class, or several; e: what can be gone through; f: a number or a text; h: what can be hashed; i: an
// integer; l: what has a length; n: a number; o: an integer or None; p: a path; r: what can be gone through backwards;
// s: a text or None; t: a text; u: a text or a tuple; x: an iterator.
constexpr auto kSignatures = std::to_array<Signature>({
    {"abs", "n"},
    {"all", "e"},
    {"any", "e"},
    {"bin", "i"},
    {"bool", "|a"},
    {"chr", "i"},
    {"dict", "|e"},
    {"dict.clear", ""},
    {"dict.copy", ""},
    {"dict.get", "h|a"},
    {"dict.items", ""},
    {"dict.keys", ""},
    {"dict.pop", "h|a"},
    {"dict.popitem", ""},
    {"dict.setdefault", "h|a"},
    {"dict.update", "|e"},
    {"dict.values", ""},
    {"divmod", "nn"},
    {"enumerate", "e|i"},
    {"filter", "ae"},
    {"float", "|f"},
    {"getattr", "at|a"},
    {"hasattr", "at"},
    {"hash", "h"},
    {"hex", "i"},
    {"int", "|fi"},
    {"isinstance", "ac"},
    {"iter", "a|a"},
    {"json.loads", "t"},
    {"len", "l"},
    {"list", "|e"},
    {"list.append", "a"},
    {"list.clear", ""},
    {"list.copy", ""},
    {"list.count", "a"},
    {"list.extend", "e"},
    {"list.index", "a|ii"},
    {"list.insert", "ia"},
    {"list.pop", "|i"},
    {"list.remove", "a"},
    {"list.reverse", ""},
    {"list.sort", ""},
    {"map", "aee*"},
    {"math.ceil", "n"},
    {"math.floor", "n"},
    {"math.log2", "n"},
    {"math.sqrt", "n"},
    {"max", "a|a*"},
    {"min", "a|a*"},
    {"next", "x|a"},
    {"oct", "i"},
    {"ord", "t"},
    {"os.path.abspath", "p"},
    {"os.path.basename", "p"},
    {"os.path.dirname", "p"},
    {"os.path.expanduser", "p"},
    {"os.path.join", "pp*"},
    {"os.path.splitext", "p"},
    {"pathlib.Path", "|p*"},
    {"pow", "nn|n"},
    {"range", "i|ii"},
    {"repr", "a"},
    {"reversed", "r"},
    {"round", "n|o"},
    {"set", "|e"},
    {"set.add", "h"},
    {"set.discard", "h"},
    {"set.remove", "h"},
    {"setattr", "ata"},
    {"shlex.join", "e"},
    {"shlex.quote", "t"},
    {"sorted", "e"},
    {"str.capitalize", ""},
    {"str.center", "i|t"},
    {"str.count", "t|oo"},
    {"str.endswith", "u|oo"},
    {"str.find", "t|oo"},
    {"str.index", "t|oo"},
    {"str.isalnum", ""},
    {"str.isalpha", ""},
    {"str.isdigit", ""},
    {"str.isspace", ""},
    {"str.join", "e"},
    {"str.ljust", "i|t"},
    {"str.lower", ""},
    {"str.lstrip", "|s"},
    {"str.partition", "t"},
    {"str.removeprefix", "t"},
    {"str.removesuffix", "t"},
    {"str.replace", "tt|i"},
    {"str.rfind", "t|oo"},
    {"str.rjust", "i|t"},
    {"str.rpartition", "t"},
    {"str.rsplit", "|si"},
    {"str.rstrip", "|s"},
    {"str.split", "|si"},
    {"str.splitlines", "|a"},
    {"str.startswith", "u|oo"},
    {"str.strip", "|s"},
    {"str.title", ""},
    {"str.upper", ""},
    {"str.zfill", "i"},
    {"sum", "e|a"},
    {"time.sleep", "n"},
    {"tuple", "|e"},
    {"zip", "|e*"},
});

bool fits(char letter, const Val& v) {
  if (!is_plain(v)) return letter != 'e' || !has_no_items(v);
  const bool number = v.whole() || v.is(Kind::kFloat);
  const bool text = v.is(Kind::kText);
  switch (letter) {
    case 'c':
      return v.is(Kind::kTuple);
    case 'e':
      return !has_no_items(v);
    case 'f':
      return number || text;
    case 'h':
      return !v.is(Kind::kList) && !v.is(Kind::kDict);
    case 'i':
      return v.whole();
    case 'l':
      return !has_no_items(v) && !is_iterator(v);
    case 'n':
      return number;
    case 'o':
      return v.whole() || v.is(Kind::kNone);
    case 'p':
      return text;
    case 'r':
      return !has_no_items(v) && !v.is(Kind::kSet) && !is_iterator(v);
    case 's':
      return text || v.is(Kind::kNone);
    case 't':
      return text;
    case 'u':
      return text || v.is(Kind::kTuple);
    case 'x':
      return is_iterator(v);
    default:
      return true;
  }
}

}  // namespace

bool misfits(std::string_view name, const Arguments& a) {
  const auto* const known = std::ranges::lower_bound(kSignatures, name, {}, &Signature::name);
  if (known == kSignatures.end() || known->name != name || std::ranges::any_of(a.values, is_many)) return false;
  const std::string_view takes = known->takes;
  const std::size_t needed = std::min(takes.find('|'), takes.size());
  std::size_t place = 0;
  std::size_t given = 0;
  for (const Val& v : a.values) {
    if (place < takes.size() && takes[place] == '|') ++place;
    if (place < takes.size() && takes[place] == '*') --place;
    if (place == takes.size() || !fits(takes[place], v)) return true;
    ++place;
    ++given;
  }
  const std::size_t least = takes.ends_with('*') && needed == takes.size() ? needed - 2 : needed;
  return given < least && a.keys.empty() && a.more.empty();
}

namespace {

bool is_number(const Val& v) { return v.whole() || v.is(Kind::kFloat); }

double number_of(const Val& v) { return v.whole() ? static_cast<double>(v.integer) : v.number; }

// Behind the class of characters that begins at `at`; npos where it is not closed. A bracket that comes first is one.
std::size_t behind_class(std::string_view pattern, std::size_t at) {
  ++at;
  if (at < pattern.size() && pattern[at] == '^') ++at;
  for (bool first = true; at < pattern.size(); ++at, first = false) {
    if (pattern[at] == ']' && !first) return at + 1;
    if (pattern[at] == '\\') ++at;
  }
  return std::string_view::npos;
}

// A pattern that no flag makes good: brackets that do not close, a backslash at its end, nothing to repeat.
bool is_broken_pattern(std::string_view pattern) {
  int depth = 0;
  bool repeats_nothing = true;  // what a sign of repetition here would do
  for (std::size_t i = 0; i < pattern.size();) {
    const char c = pattern[i];
    if (c == '*' || c == '+' || c == '?') {
      if (repeats_nothing) return true;
      ++i;
      continue;
    }
    repeats_nothing = c == '(' || c == '|';
    if (c == '\\' && i + 1 == pattern.size()) return true;
    if (c == '[') {
      i = behind_class(pattern, i);
      if (i == std::string_view::npos) return true;
      continue;
    }
    if (pattern.substr(i).starts_with("(?")) {
      const std::string_view flags = pattern.substr(i + 2);
      const auto end = std::min(flags.find_first_not_of("aiLmsux-"), flags.size());
      // A comment, or a flag that lets the pattern have some: neither is followed.
      if (flags.starts_with('#') || flags.substr(0, end).find('x') != std::string_view::npos) return false;
      i += 2;
      ++depth;
      repeats_nothing = false;
      continue;
    }
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth < 0) return true;
    i += c == '\\' ? 2 : 1;
  }
  return depth != 0;
}

// Functions of re that are handed a pattern, and how many arguments they have without flags, which may let a pattern
// hold comments.
bool has_broken_pattern(std::string_view name, const Arguments& a) {
  struct Of {
    std::string_view name;
    std::size_t most;
  };
  constexpr auto kThose = std::to_array<Of>({{"re.compile", 1},
                                             {"re.findall", 2},
                                             {"re.finditer", 2},
                                             {"re.fullmatch", 2},
                                             {"re.match", 2},
                                             {"re.search", 2},
                                             {"re.split", 2},
                                             {"re.sub", 3}});
  const auto* const of = std::ranges::find(kThose, name, &Of::name);
  return of != kThose.end() && a.values.size() <= of->most && a.values[0].known_text() &&
         is_broken_pattern(a.values[0].text->text);
}

// A year, a month, a day, an hour, a minute and a second.
bool is_no_date(const Arguments& a) {
  constexpr auto kLeast = std::to_array<std::int64_t>({1, 1, 1, 0, 0, 0});
  constexpr auto kMost = std::to_array<std::int64_t>({9999, 12, 31, 23, 59, 59});
  for (std::size_t i = 0; i < std::min(a.values.size(), kLeast.size()); ++i) {
    const Val& v = a.values[i];
    if (v.whole() && (v.integer < kLeast[i] || v.integer > kMost[i])) return true;
  }
  return false;
}

}  // namespace

const char* refused_value(std::string_view name, const Arguments& a) {
  if (a.values.empty() || !a.keys.empty() || !a.more.empty() || std::ranges::any_of(a.values, is_many)) return nullptr;
  const Val& first = a.values[0];
  const bool negative = is_number(first) && number_of(first) < 0;
  if (has_broken_pattern(name, a)) return "re.error";
  if ((name == "time.sleep" || name == "math.factorial") && negative) return "ValueError";
  if ((name == "datetime.date" || name == "datetime.datetime") && is_no_date(a)) return "ValueError";
  if (name == "bytes" && a.values.size() == 1 && first.is(Kind::kText)) return "TypeError";
  if (name == "json.dumps" && first.is(Kind::kSet)) return "TypeError";
  if (name != "int" || a.values.size() != 2 || !a.values[1].whole()) return nullptr;
  const std::int64_t base = a.values[1].integer;
  return base != 0 && (base < 2 || base > 36) ? "ValueError" : nullptr;
}

}  // namespace preflight::sources::program
