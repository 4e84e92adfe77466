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

// a: anything; e: what can be gone through; f: a number or a text; h: what can be hashed; i: an integer; l: what has a
// length; n: a number; o: an integer or None; p: a path; r: what can be gone through backwards; s: a text or None;
// t: a text; u: a text or a tuple; x: an iterator.
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

}  // namespace preflight::sources::program
