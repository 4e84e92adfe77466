// Keyword arguments of Python's own functions: one that nothing here reads may change what the call gives, which is
// then not known. Tested by tests/traps_test.cpp, with Python as the judge.
#include <algorithm>
#include <array>

#include "src/base/listed.h"
#include "src/sources/program/follower.h"

namespace preflight::sources::program {
namespace {

struct ReadKeywords {
  std::string_view call;
  std::string_view keywords;
};
constexpr auto kRead = std::to_array<ReadKeywords>({{"enumerate", "start"},
                                                    {"int", "base"},
                                                    {"zip", "strict"},
                                                    {"sorted", "key reverse"},
                                                    {"min", "key default"},
                                                    {"max", "key default"},
                                                    {"sum", "start"},
                                                    {"list.sort", "key reverse"},
                                                    {"str.split", "sep maxsplit"},
                                                    {"str.rsplit", "sep maxsplit"},
                                                    {"dict.get", "default"},
                                                    {"dict.pop", "default"},
                                                    {"dict.setdefault", "default"},
                                                    {"os.getenv", "default"},
                                                    {"os.path.realpath", "strict"},
                                                    {"pathlib.Path.resolve", "strict"}});
// Calls of which none is read.
constexpr auto kReadNone = std::to_array<std::string_view>({"float",
                                                            "bool",
                                                            "str",
                                                            "repr",
                                                            "list",
                                                            "tuple",
                                                            "set",
                                                            "frozenset",
                                                            "range",
                                                            "len",
                                                            "map",
                                                            "filter",
                                                            "reversed",
                                                            "any",
                                                            "all",
                                                            "next",
                                                            "iter",
                                                            "abs",
                                                            "round",
                                                            "chr",
                                                            "format",
                                                            "getattr",
                                                            "itertools.chain",
                                                            "itertools.chain.from_iterable",
                                                            "copy.copy",
                                                            "copy.deepcopy",
                                                            "dataclasses.asdict",
                                                            "shlex.quote",
                                                            "shlex.join",
                                                            "pipes.quote",
                                                            "textwrap.dedent"});
constexpr auto kReadNoneOf = std::to_array<std::string_view>({"str.", "list.", "set.", "os.path.", "pathlib.Path."});
// Those of them that give a list.
constexpr auto kLists = std::to_array<std::string_view>(
    {"enumerate", "zip", "sorted", "list", "range", "map", "filter", "reversed", "str.split", "iter", "str.rsplit",
     "str.splitlines", "itertools.chain", "itertools.chain.from_iterable"});

bool holds(const auto& list, std::string_view name) { return std::ranges::find(list, name) != list.end(); }

bool reads_all(const std::string& name, const Arguments& a) {
  if (a.keys.empty() && a.more.empty()) return true;
  if (name.starts_with("str.format")) return true;
  const auto* const read = std::ranges::find(kRead, name, &ReadKeywords::call);
  if (read != kRead.end())
    return a.more.empty() &&
           std::ranges::all_of(a.keys, [&](const auto& key) { return is_among(read->keywords, key.first); });
  return !holds(kReadNone, name) &&
         std::ranges::none_of(kReadNoneOf, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

// What a call gives of which not all keywords are read here; none: they are.
std::optional<Val> Follower::with_keywords_unread(const std::string& name, const Arguments& a) {
  if (reads_all(name, a)) return std::nullopt;
  ++doubts_;
  for (const Val& v : a.values) handed_over(v, name, a.at);
  for (const auto& [key, v] : a.keys) handed_over(v, name, a.at);
  if (!holds(kLists, name)) return unclear(a.at, a.end);
  return list_of({unknown(shown(a.at, a.end) + " is computed where the program runs", a.at, true)});
}

namespace {

// shlex.split(text, comments, posix), step by step as Python's shlex reads; none where it raises.
class ShellSplitter {
 public:
  ShellSplitter(const ShellText& text, bool comments, bool posix) : text_(text), comments_(comments), posix_(posix) {}
  std::optional<std::vector<ShellWord>> run() {
    for (at_ = 0; at_ < text_.text.size(); ++at_) step(text_.text[at_]);
    if (state_ != ' ' && state_ != 'a') return std::nullopt;  // within quotes, or behind a backslash
    close();
    return std::move(out_);
  }

 private:
  static bool quote(char c) { return c == '\'' || c == '"'; }
  void step(char c) {
    if (quote(state_)) return in_quotes(c);
    if (state_ == '\\') return escaped(c);
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') return close();
    if (comments_ && c == '#') {
      at_ = std::min(text_.text.find('\n', at_), text_.text.size());
      if (posix_) close();
    } else if (posix_ && c == '\\') {
      behind_ = 'a';
      state_ = c;
    } else if (quote(c) && (posix_ || state_ == ' ')) {
      if (!posix_) put(at_);
      state_ = c;
    } else {
      put(at_);
      state_ = 'a';
    }
  }
  void in_quotes(char c) {
    open();
    if (c == state_) {
      if (!posix_) put(at_);
      state_ = 'a';
      if (!posix_) close();
    } else if (posix_ && c == '\\' && state_ == '"') {
      behind_ = state_;
      state_ = c;
    } else {
      put(at_);
    }
  }
  void escaped(char c) {
    if (quote(behind_) && c != '\\' && c != behind_) put(at_ - 1);
    put(at_);
    state_ = behind_;
  }
  void open() {
    if (!open_) now_.begin = place(at_);
    open_ = true;
    now_.end = place(at_) + 1;
  }
  void put(std::size_t i) {
    open();
    append(now_, slice(text_, i, i + 1));
  }
  void close() {
    if (open_) out_.push_back(std::exchange(now_, {}));
    open_ = false;
    state_ = ' ';
  }
  [[nodiscard]] std::size_t place(std::size_t i) const { return text_.origin.empty() ? i : text_.origin[i]; }

  const ShellText& text_;
  bool comments_;
  bool posix_;
  std::size_t at_ = 0;
  char state_ = ' ';   // between words, in one ('a'), within a quote, behind a backslash
  char behind_ = 'a';  // the state that a backslash stands in
  bool open_ = false;
  ShellWord now_;
  std::vector<ShellWord> out_;
};

}  // namespace

Val Follower::split_as_shell(const Arguments& a) {
  const Val* all = a.argument(0, "s");
  if (all == nullptr || !all->is(Val::Kind::kText) || a.values.size() > 3)
    return list_of({unknown(shown(a.at, a.end) + " is computed where the program runs", a.at, true)});
  const Val* comments = a.argument(1, "comments");
  const Val* posix = a.argument(2, "posix");
  const auto with_comments = comments == nullptr ? std::optional(false) : truth(*comments);
  const auto as_posix = posix == nullptr ? std::optional(true) : truth(*posix);
  if (!a.more.empty() || !with_comments || !as_posix)
    return list_of({unknown(shown(a.at, a.end) + " is computed where the program runs", a.at, true)});
  spend_text(all->text->text.size());
  const auto words = ShellSplitter(*all->text, *with_comments, *as_posix).run();
  if (!words) refuse("ValueError", a.at);
  std::vector<Val> out;
  for (const ShellWord& word : *words) {
    Val v = text(static_cast<const ShellText&>(word));
    v.begin = word.begin;
    v.end = word.end;
    out.push_back(std::move(v));
  }
  return list_of(std::move(out));
}

}  // namespace preflight::sources::program
