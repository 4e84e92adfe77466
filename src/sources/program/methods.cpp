// Methods of texts, lists, dictionaries and sets. Tested by tests/traps_test.cpp, with Python as the judge.
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "src/base/characters.h"
#include "src/sources/program/follower.h"

namespace preflight::sources::program {
namespace {

using Kind = Val::Kind;
constexpr std::string_view kBlanks = " \t\n\r\v\f";

// Whether a text holds what Python takes for a blank, or for the end of a line, beside those: a no-break space.
bool has_other_blanks(std::string_view text) {
  constexpr auto kOthers = std::to_array<std::string_view>(
      {"\x1c", "\x1d", "\x1e", "\x1f", "\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80", "\xe2\x81\x9f", "\xe3\x80\x80"});
  if (std::ranges::any_of(kOthers, [&](std::string_view one) { return text.find(one) != text.npos; })) return true;
  constexpr std::string_view kOfPunctuation = "\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\xa8\xa9\xaf";
  constexpr std::string_view kPunctuation = "\xe2\x80";
  for (auto at = text.find(kPunctuation); at != text.npos; at = text.find(kPunctuation, at + 1)) {
    if (at + 2 < text.size() && kOfPunctuation.find(text[at + 2]) != text.npos) return true;
  }
  return false;
}

// Whether lines of a text end with more than a line feed, or one behind a carriage return.
bool has_other_ends(std::string_view text) {
  const auto alone = [&](std::size_t at) { return at + 1 == text.size() || text[at + 1] != '\n'; };
  for (auto at = text.find('\r'); at != text.npos; at = text.find('\r', at + 1)) {
    if (alone(at)) return true;
  }
  return text.find_first_of("\v\f") != text.npos || has_other_blanks(text);
}

}  // namespace

// --- texts ---

Val Follower::joined(const Val& self, Arguments& a) {
  if (a.values.size() != 1) return unclear(a.at, a.end);
  const auto items = items_of(a.values[0], a.at);
  if (!items) return unclear(a.at, a.end);
  ShellText out;
  for (std::size_t i = 0; i < items->size(); ++i) {
    if (i > 0) add(out, *self.text);
    const Val item = asked((*items)[i]);
    if (!item.is(Kind::kText) && !item.is(Kind::kUnknown)) refuse("TypeError", a.at);
    add(out, item.is(Kind::kText) ? *item.text : hole(item, a.at));
  }
  return text(std::move(out));
}

// split, rsplit, splitlines, partition, rpartition.
std::optional<Val> Follower::text_pieces(const std::string& name, const Val& self, Arguments& a) {
  const ShellText& t = *self.text;
  const std::string& s = t.text;
  const auto piece = [&](std::size_t from, std::size_t to) {
    Val out = text(sources::slice(t, from, to));
    if (from < to && to <= t.origin.size()) {
      out.begin = t.origin[from];
      out.end = std::max(out.begin, t.origin[to - 1] + 1);
    }
    return out;
  };
  std::vector<Val> out;
  spend(s.size() + 1);
  if (name == "partition" || name == "rpartition") {
    if (a.values.size() != 1 || !a.values[0].known_text() || !self.known_text()) return unclear(a.at, a.end);
    const std::string& sign = a.values[0].text->text;
    if (sign.empty()) return unclear(a.at, a.end);
    const auto at = find(s, sign) == std::string::npos ? std::string::npos
                    : name == "partition"              ? s.find(sign)
                                                       : s.rfind(sign);
    if (at == std::string::npos)
      out = name == "partition" ? std::vector<Val>{self, text("", a.at), text("", a.at)}
                                : std::vector<Val>{text("", a.at), text("", a.at), self};
    else
      out = {piece(0, at), piece(at, at + sign.size()), piece(at + sign.size(), s.size())};
    return list_of(std::move(out), Kind::kTuple);
  }
  if (name == "splitlines") {
    if (!a.values.empty() || !a.keys.empty() || has_other_ends(s)) return unclear(a.at, a.end);
    for (std::size_t from = 0; from < s.size();) {
      const auto end = std::min(s.find('\n', from), s.size());
      out.push_back(piece(from, end > from && s[end - 1] == '\r' ? end - 1 : end));
      from = end + 1;
    }
    return list_of(std::move(out));
  }
  if (name != "split" && name != "rsplit") return std::nullopt;
  const Val* sign = a.argument(0, "sep");
  const Val* most = a.argument(1, "maxsplit");
  if (most != nullptr && !most->whole()) return unclear(a.at, a.end);
  const std::int64_t limit = most == nullptr || most->integer < 0 ? 1'000'000 : most->integer;
  if (sign == nullptr || sign->is(Kind::kNone)) {
    if ((name == "rsplit" && most != nullptr) || has_other_blanks(s)) return unclear(a.at, a.end);
    for (auto from = s.find_first_not_of(kBlanks); from != std::string::npos;) {
      auto end = std::min(s.find_first_of(kBlanks, from), s.size());
      if (std::ssize(out) == limit) end = s.find_last_not_of(kBlanks) + 1;
      out.push_back(piece(from, end));
      from = s.find_first_not_of(kBlanks, end);
    }
    return list_of(std::move(out));
  }
  if (sign->known_text() && sign->text->text.empty()) refuse("ValueError", a.at);
  if (!sign->known_text() || !self.known_text()) return unclear(a.at, a.end);
  const std::string& between = sign->text->text;
  std::vector<std::size_t> cuts;
  (void)find(s, between);  // as dear as all of them
  for (auto at = s.find(between); at != std::string::npos; at = s.find(between, at + between.size()))
    cuts.push_back(at);
  if (std::ssize(cuts) > limit) {
    if (name == "split")
      cuts.resize(static_cast<std::size_t>(limit));
    else
      cuts.erase(cuts.begin(), cuts.end() - static_cast<std::ptrdiff_t>(limit));
  }
  std::size_t from = 0;
  for (const std::size_t cut : cuts) {
    out.push_back(piece(from, cut));
    from = cut + between.size();
  }
  out.push_back(piece(from, s.size()));
  return list_of(std::move(out));
}

// zfill, ljust, rjust, center: to a width, with a sign.
Val Follower::padded(const std::string& name, const std::string& s, const Arguments& a) {
  constexpr std::int64_t kWidest = 1'000;
  const Val* sign = a.argument(1, "fillchar");
  const bool plain = std::ranges::all_of(s, [](unsigned char c) { return c < 0x80; });
  const bool known = !a.values.empty() && a.values[0].whole() && a.values[0].integer <= kWidest && plain;
  if (!known || (sign != nullptr && !sign->known_text())) return unclear(a.at, a.end);
  if (sign != nullptr && sign->text->text.size() != 1) {
    const bool one = count_characters(sign->text->text) == 1;
    one ? void() : refuse("TypeError", a.at);
    return unclear(a.at, a.end);
  }
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(a.values[0].integer, 0));
  const std::size_t more = width - std::min(width, s.size());
  const char with = sign != nullptr ? sign->text->text[0] : name == "zfill" ? '0' : ' ';
  const bool is_signed = name == "zfill" && !s.empty() && (s[0] == '-' || s[0] == '+');
  if (is_signed) return text(s[0] + std::string(more, with) + s.substr(1), a.at);
  const std::size_t before = name == "ljust" ? 0 : name == "center" ? more / 2 + (more & width & 1) : more;
  return text(std::string(before, with) + s + std::string(more - before, with), a.at);
}

// Texts made of one that is known whole.
std::optional<Val> Follower::text_changed(const std::string& name, const Val& self, Arguments& a) {
  const ShellText& t = *self.text;
  const std::string& s = t.text;
  const auto arg = [&](std::size_t i) {
    return i < a.values.size() && a.values[i].known_text() ? &a.values[i].text->text : nullptr;
  };
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    if (!a.values.empty() && arg(0) == nullptr && !a.values[0].is(Kind::kNone)) return unclear(a.at, a.end);
    const std::string signs = arg(0) != nullptr ? *arg(0) : std::string(kBlanks);
    const bool bytes = arg(0) != nullptr ? is_ascii(signs) : !has_other_blanks(s);  // of which each is a letter
    if (!bytes) return unclear(a.at, a.end);
    if (!self.known_text() && (s.front() == kHole || s.back() == kHole)) return unclear(a.at, a.end);
    std::size_t from = name == "rstrip" ? 0 : s.find_first_not_of(signs);
    const std::size_t last = s.find_last_not_of(signs);
    if (from == std::string::npos || last == std::string::npos) return text("", a.at);
    const std::size_t to = name == "lstrip" ? s.size() : last + 1;
    from = std::min(from, to);
    return text(sources::slice(t, from, to));
  }
  if (name == "removeprefix" || name == "removesuffix") {
    if (arg(0) == nullptr || !self.known_text()) return unclear(a.at, a.end);
    if (name == "removeprefix" && s.starts_with(*arg(0))) return text(sources::slice(t, arg(0)->size(), s.size()));
    if (name == "removesuffix" && s.ends_with(*arg(0))) return text(sources::slice(t, 0, s.size() - arg(0)->size()));
    return self;
  }
  if (!self.known_text()) return std::nullopt;
  const bool plain = std::all_of(s.begin(), s.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (name == "lower" || name == "upper" || name == "casefold" || name == "capitalize" || name == "title") {
    if (!plain) return unclear(a.at, a.end);
    ShellText out = t;
    bool first = true;
    for (char& c : out.text) {
      const bool up = name == "upper" || ((name == "capitalize" || name == "title") && first);
      const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
      c = static_cast<char>(up ? std::toupper(static_cast<unsigned char>(c))
                               : std::tolower(static_cast<unsigned char>(c)));
      first = name == "title" ? !letter : false;
    }
    return text(std::move(out));
  }
  if (name == "replace") {
    if (a.values.size() != 2 || arg(0) == nullptr || arg(0)->empty()) return unclear(a.at, a.end);
    ShellText out;
    std::size_t from = 0;
    (void)find(s, *arg(0));  // as dear as all of them
    for (auto at = s.find(*arg(0)); at != std::string::npos; at = s.find(*arg(0), from)) {
      add(out, sources::slice(t, from, at));
      add(out, text_or_hole(a.values[1], a.at));
      from = at + arg(0)->size();
    }
    add(out, sources::slice(t, from, s.size()));
    return text(std::move(out));
  }
  if (name == "zfill" || name == "ljust" || name == "rjust" || name == "center") return padded(name, s, a);
  if (name == "encode" || name == "decode" || name == "expandtabs" || name == "swapcase") return unclear(a.at, a.end);
  return std::nullopt;
}

std::optional<Val> Follower::text_asked(const std::string& name, const Val& self, Arguments& a) {
  const std::string& s = self.text->text;
  if (name == "startswith" || name == "endswith") {
    if (a.values.size() != 1) return unclear(a.at, a.end);
    std::vector<Val> all = {a.values[0]};
    if (a.values[0].is(Kind::kTuple)) all = a.values[0].object->now.items;
    for (const Val& one : all) {
      spend_bytes(one.is(Kind::kText) ? one.text->text.size() : 0);
      if (!one.known_text()) return unclear(a.at, a.end);
      const std::string& part = one.text->text;
      const bool front = name == "startswith";
      const std::size_t hole_at = s.find(kHole);
      const bool reaches =
          !self.known_text() && (front ? hole_at < part.size() : s.size() - s.rfind(kHole) <= part.size());
      if (reaches) return unclear(a.at, a.end);
      if (front ? s.starts_with(part) : s.ends_with(part)) return boolean(true);
    }
    return boolean(false);
  }
  if (!self.known_text()) return std::nullopt;
  if (name == "find" || name == "rfind" || name == "index" || name == "count") {
    if (a.values.size() != 1 || !a.values[0].known_text()) return unclear(a.at, a.end);
    const std::string& part = a.values[0].text->text;
    (void)find(s, part);  // as dear as all of them
    if (name != "count" && !is_ascii(s)) return unclear(a.at, a.end);
    if (name == "count") {
      if (part.empty()) return unclear(a.at, a.end);
      std::int64_t n = 0;
      for (auto at = s.find(part); at != std::string::npos; at = s.find(part, at + part.size())) ++n;
      return whole(n);
    }
    const auto at = name == "rfind" ? s.rfind(part) : s.find(part);
    if (at == std::string::npos && name == "index") refuse("ValueError", a.at);
    return whole(at == std::string::npos ? -1 : static_cast<std::int64_t>(at));
  }
  const auto every = [&](auto fits) {
    return boolean(!s.empty() &&
                   std::all_of(s.begin(), s.end(), [&](char c) { return fits(static_cast<unsigned char>(c)); }));
  };
  const bool plain = std::all_of(s.begin(), s.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!plain) return std::nullopt;
  if (name == "isdigit" || name == "isnumeric" || name == "isdecimal")
    return every([](int c) { return std::isdigit(c) != 0; });
  if (name == "isalpha") return every([](int c) { return std::isalpha(c) != 0; });
  if (name == "isalnum") return every([](int c) { return std::isalnum(c) != 0; });
  if (name == "isspace") return every([](int c) { return std::isspace(c) != 0; });
  return std::nullopt;
}

// "…{}…{name}…{a.b:>4}".format(…).
static bool is_place(std::string_view text) {
  return !text.empty() && text.size() < 4 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Stands for the number of the next field `{}` where fields say their own, which do not go together.
constexpr std::size_t kByNumber = std::string::npos;

// What a replacement field stands for: `0`, `name`, `cfg.tp`, `args[0]`, `d[key]`; none where it is not known.
std::optional<Val> Follower::field_value(std::string_view field, std::size_t& next, Arguments& a) {
  const std::size_t front = std::min(field.find_first_of(".["), field.size());
  const std::string name(field.substr(0, front));
  const bool number = is_place(name) || name.empty();
  const Val* v = number ? nullptr : a.key(name);
  const bool mixes = number && next != 0 && (name.empty() == (next == kByNumber));
  if (mixes) refuse("ValueError", a.at);
  if (number && !name.empty()) next = kByNumber;
  const std::size_t place = number ? (name.empty() ? next++ : std::stoul(name)) : a.values.size();
  if (place < a.values.size()) v = &a.values[place];
  if (v == nullptr && a.more.empty()) refuse(number ? "IndexError" : "KeyError", a.at);
  if (v == nullptr || is_many(*v)) return std::nullopt;
  Val out = *v;
  Expr here{};
  here.begin = a.at;
  here.end = a.end;
  for (field.remove_prefix(front); !field.empty();) {
    const bool item = field.front() == '[';
    const std::size_t end = item ? field.find(']') : std::min(field.find_first_of(".[", 1), field.size());
    if (end == std::string_view::npos || end < 2) return std::nullopt;
    const std::string key(field.substr(1, end - 1));
    out = !item           ? attribute(out, key, here)
          : is_place(key) ? item_at(out, whole(static_cast<std::int64_t>(std::stoul(key))), here)
                          : item_at(out, text(key, a.at), here);
    field.remove_prefix(item ? end + 1 : end);
    if (!field.empty() && field.front() != '.' && field.front() != '[') return std::nullopt;
  }
  return out;
}

// One replacement field, between its braces: what it stands for, `!r`, and how it is written.
std::optional<ShellText> Follower::format_field(const std::string& field, std::size_t& next, Arguments& a) {
  const std::size_t behind = field.find(']') == std::string::npos ? 0 : field.rfind(']');
  const std::size_t colon = std::min(field.find(':', behind), field.size());
  std::string spec = colon == field.size() ? std::string() : field.substr(colon + 1);
  const std::size_t sign = std::min(field.find('!', behind), colon);
  const std::string_view conversion = std::string_view(field).substr(sign, colon - sign);
  const bool plain = conversion.empty() || conversion == "!s" || conversion == "!r" || conversion == "!a";
  if (!plain) refuse("ValueError", a.at);
  auto v = field_value(std::string_view(field).substr(0, sign), next, a);
  if (v && spec.find('{') != std::string::npos) {  // fields of its own, which count on
    const auto inner = format_fields(ShellText{spec}, next, a, false);
    v = inner && inner->unknowns.empty() ? v : std::nullopt;
    if (v) spec = inner->text;
  }
  if (!v) return std::nullopt;
  if (conversion == "!r" || conversion == "!a") {
    const auto written = repr(*v);
    const bool known = written && std::ranges::all_of(*written, [](unsigned char c) { return c < 0x80; });
    if (!known && !v->is(Kind::kUnknown)) return std::nullopt;
    if (known) v = text(*written, a.at);
    if (!known) v = unclear(a.at, a.end);
  } else if (!conversion.empty()) {
    v = str(*v, a.at);
  }
  if (!spec.empty() && !v->is(Kind::kUnknown)) v = formatted(*v, spec, a.at);
  return text_or_hole(*v, a.at);
}

// The brace that closes the one at `open`; one more pair may stand between them.
static std::size_t closing_brace(const std::string& s, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < s.size(); ++i) {
    depth += s[i] == '{' ? 1 : s[i] == '}' ? -1 : 0;
    if (depth == 0) return i;
  }
  return std::string::npos;
}

// A text with its replacement fields filled in; none where one is not known. `nests`: they may hold fields of their
// own.
std::optional<ShellText> Follower::format_fields(const ShellText& format, std::size_t& next, Arguments& a, bool nests) {
  ShellText out;
  const std::string& s = format.text;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const bool twice = i + 1 < s.size() && s[i + 1] == s[i];
    if ((s[i] == '{' || s[i] == '}') && twice) {
      add(out, sources::slice(format, i, i + 1));
      ++i;
      continue;
    }
    if (s[i] == '}') refuse("ValueError", a.at);
    if (s[i] != '{') {
      const std::size_t sign = std::min(s.find_first_of("{}", i + 1), s.size());
      add(out, sources::slice(format, i, sign));
      i = sign - 1;
      continue;
    }
    spend(a.keys.size() / 8 + 1);  // among which it is sought
    const auto close = closing_brace(s, i);
    if (close == std::string::npos) refuse("ValueError", a.at);
    const std::string inner = s.substr(i + 1, close - i - 1);
    if (!nests && inner.find('{') != std::string::npos) return std::nullopt;
    const auto field = format_field(inner, next, a);
    if (!field) return std::nullopt;
    add(out, *field);
    i = close;
  }
  return out;
}

Val Follower::format_call(const ShellText& format, Arguments& a) {
  std::size_t next = 0;
  auto out = format_fields(format, next, a, true);
  return out ? text(std::move(*out)) : unclear(a.at, a.end);
}

// Whether a text without a sign is one behind this, too: where nothing is sought, something stands even there.
static bool stays_empty(std::string_view name, const Arguments& a) {
  constexpr auto kThose =
      std::to_array<std::string_view>({"strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "casefold",
                                       "swapcase", "removeprefix", "removesuffix", "expandtabs"});
  if (name == "replace") return a.values.size() == 2 && a.values[0].known_text() && !a.values[0].text->text.empty();
  return std::ranges::find(kThose, name) != kThose.end();
}

Val Follower::text_method(const std::string& name, const Val& self, Arguments& a) {
  if (name == "join") return joined(self, a);
  if (name == "format") return format_call(*self.text, a);
  if (name == "format_map" && a.values.size() == 1 && a.values[0].is(Kind::kDict)) {
    Arguments named;
    named.at = a.at;
    named.end = a.end;
    for (const auto& [key, v] : a.values[0].object->now.pairs) {
      if (key.known_text()) named.keys.emplace_back(key.text->text, v);
    }
    return format_call(*self.text, named);
  }
  if (self.text->text.empty()) {
    constexpr auto kPieces =
        std::to_array<std::string_view>({"split", "splitlines", "startswith", "endswith", "partition", "rpartition"});
    const bool asks = std::ranges::find(kPieces, name) != kPieces.end() || name.starts_with("is");
    if (!asks) return stays_empty(name, a) ? self : unclear(a.at, a.end);
  }
  spend_bytes(self.text->text.size());
  if (auto out = text_pieces(name, self, a)) return *out;
  if (auto out = text_changed(name, self, a)) return *out;
  if (auto out = text_asked(name, self, a)) return *out;
  ++doubts_;
  return unclear(a.at, a.end);
}

// --- lists ---

// send() and its kin; what is handed in is not followed.
Val Follower::iterator_method(const std::string& name, const Val& self, Arguments& a) {
  if (name == "__next__" || name == "send" || name == "__anext__") {
    Arguments one;
    one.at = a.at;
    one.end = a.end;
    one.values = {self};
    return next_of(one);
  }
  touch(self.object);
  self.object->now.next = nullptr;
  self.object->now.items.clear();
  if (name != "close") ++doubts_;
  return name == "close" ? none() : unclear(a.at, a.end);
}

// index(VALUE, FROM, TO), count(VALUE).
Val Follower::place_or_count(bool place, const Val& self, const Arguments& a) {
  const auto& items = self.object->now.items;
  const std::int64_t size = std::ssize(items);
  std::array<std::int64_t, 2> bounds = {0, size};
  for (std::size_t i = 0; i < bounds.size() && i + 1 < a.values.size(); ++i) {
    const Val& v = a.values[i + 1];
    const bool lost = !v.whole() || (v.integer < 0 && std::ranges::any_of(items, is_many));
    if (lost) return unclear(a.at, a.end);
    bounds[i] = std::clamp(v.integer < 0 ? v.integer + size : v.integer, std::int64_t{0}, size);
  }
  std::int64_t n = 0;
  for (std::int64_t i = 0; i < bounds[1]; ++i) {
    const Val& item = items[static_cast<std::size_t>(i)];
    if (is_many(item)) return unclear(a.at, a.end);
    if (i < bounds[0]) continue;
    const auto fits = a.values.empty() ? std::nullopt : equal(item, a.values[0]);
    if (!fits) return unclear(a.at, a.end);
    if (*fits && place) return whole(i);
    n += *fits ? 1 : 0;
  }
  if (place) refuse("ValueError", a.at);
  return whole(n);
}

Val Follower::list_method(const std::string& name, const Val& self, Arguments& a) {
  if (is_iterator(self)) return iterator_method(name, self, a);
  if (name == "copy") {
    if (names_server(self)) used_.insert(self.object);
    return list_of(self.object->now.items, self.kind);
  }
  if (name == "index" || name == "count") return place_or_count(name == "index", self, a);
  if (self.is(Kind::kTuple)) return unclear(a.at, a.end);
  if (self.is(Kind::kSet)) return set_method(name, self, a);
  touch(self.object);
  auto& items = self.object->now.items;
  const auto lose = [&] {
    items = {unknown(fmt::format("what a list holds from line {} on is not followed", line(a.at)), a.at, true)};
    ++doubts_;
    return unclear(a.at, a.end);
  };
  const auto size = std::ssize(items);
  if (name == "append" && a.values.size() == 1) {
    items.push_back(a.values[0]);
    spend_bytes(2 * sizeof(Val));
    return none();
  }
  if (name == "extend" && a.values.size() == 1) {
    const auto more = items_of(a.values[0], a.at);
    if (more) {
      spend_bytes(more->size() * sizeof(Val));
      items.insert(items.end(), more->begin(), more->end());
    } else {
      Val many = a.values[0].is(Kind::kUnknown) ? a.values[0] : unclear(a.at, a.end);
      auto mystery = std::make_shared<Mystery>(*many.mystery);
      mystery->many = true;
      many.mystery = mystery;
      items.push_back(many);
    }
    return none();
  }
  spend_items(items);
  if (name == "clear") {
    items.clear();
    return none();
  }
  if (name == "reverse") {
    std::reverse(items.begin(), items.end());
    return none();
  }
  const bool many = std::any_of(items.begin(), items.end(), is_many);
  if (name == "insert" && a.values.size() == 2 && a.values[0].whole()) {
    std::int64_t i = a.values[0].integer;
    const auto first = std::find_if(items.begin(), items.end(), is_many) - items.begin();
    if (many && (i < 0 || i > first)) return lose();
    i = std::clamp(i < 0 ? i + size : i, std::int64_t{0}, static_cast<std::int64_t>(size));
    items.insert(items.begin() + i, a.values[1]);
    return none();
  }
  if (name == "pop") {
    const std::int64_t asked = a.values.empty() ? -1 : a.values[0].integer;
    const std::int64_t i = asked < 0 ? asked + size : asked;
    if (many || (!a.values.empty() && !a.values[0].whole())) return lose();
    if (i < 0 || i >= size) refuse("IndexError", a.at);
    const Val out = items[static_cast<std::size_t>(i)];
    items.erase(items.begin() + i);
    return out;
  }
  if (name == "remove" && a.values.size() == 1) {
    for (auto it = items.begin(); it != items.end(); ++it) {
      const auto fits = is_many(*it) ? std::nullopt : equal(*it, a.values[0]);
      if (!fits) return lose();
      if (!*fits) continue;
      items.erase(it);
      return none();
    }
    refuse("ValueError", a.at);
  }
  if (name == "sort") {
    Arguments sorted = a;
    Val copy = list_of(items);
    sorted.values.insert(sorted.values.begin(), copy);
    const auto out = builtin_of_items("sorted", sorted);
    if (out && out->is(Kind::kList)) items = out->object->now.items;
    return none();
  }
  return lose();
}

// --- dictionaries ---

// Whether two keys are one to a dictionary: True is 1.
bool Follower::is_key(const Val& own, const Val& key) const {
  return own.whole() && key.whole() ? own.integer == key.integer : same(own, key);
}

Val* Follower::entry(Object* dict, const Val& key) {
  spend(dict->now.pairs.size() / 4 + 1);
  for (auto& [own, v] : dict->now.pairs) {
    if (is_key(own, key)) return &v;
  }
  return nullptr;
}

void Follower::set_entry(Object* dict, const Val& key, Val v, std::size_t at) {
  touch(dict);
  if (key.is(Kind::kList) || key.is(Kind::kDict)) refuse("TypeError", at);
  if (!key.known_text() && !key.whole() && !key.is(Kind::kTuple)) {
    const std::string what = fmt::format("a key at line {} is not known here", line(at));
    const bool member = key.is(Kind::kInstance);
    const bool any = key.is(Kind::kUnknown) || key.is(Kind::kText);
    if (any) lose(dict, what, at, key.is(Kind::kText) ? key.text.get() : nullptr);
    if (!member && dict->now.open.empty()) dict->now.open = what;
    if (!member) return;
  }
  if (key.known_text() && dict->of != nullptr && dict->of->shown_by == dict)
    return set_name(dict->of, key.text->text, std::move(v));
  if (v.is(Kind::kUnknown) && v.mystery->name.empty() && key.known_text() && dict->now.inherits) {
    auto mystery = std::make_shared<Mystery>(*v.mystery);
    mystery->name = key.text->text;
    v.mystery = mystery;
  }
  if (Val* found = entry(dict, key))
    *found = std::move(v);
  else {
    spend_bytes(4 * sizeof(Val));
    dict->now.pairs.emplace_back(key, std::move(v));
  }
}

void Follower::update(Object* dict, const Val& more, std::size_t at) {
  touch(dict);
  const auto lost = [&] { lose(dict, fmt::format("what is taken over at line {} is not known here", line(at)), at); };
  if (more.is(Kind::kDict)) {
    spend(2 * more.object->now.pairs.size());
    const auto pairs = more.object->now.pairs;
    const bool ordered = more.object->now.open == kNoOrder;
    if (!more.object->now.open.empty() && !ordered) lose(dict, more.object->now.open, at);
    if (more.object->now.inherits && !dict->now.inherits) environment_over(dict, more, at);
    for (const auto& [key, v] : pairs) {
      if (!v.is(Kind::kGone) || more.object->now.inherits) set_entry(dict, key, v, at);
    }
    if (more.object->now.inherits) dict->now.inherits = true;
    if (dict->now.open.empty()) dict->now.open = more.object->now.open;
    return;
  }
  if (const auto items = items_of(more, at)) {
    for (const Val& item : *items) {
      const auto pair = items_of(item, at);
      if (pair && pair->size() == 2)
        set_entry(dict, (*pair)[0], (*pair)[1], at);
      else
        lost();
    }
    return;
  }
  lost();
}

// What the environment of where the program runs has wins over what `dict` had.
void Follower::environment_over(Object* dict, const Val& environment, std::size_t at) {
  spend(2 * dict->now.pairs.size());
  const auto pairs = dict->now.pairs;
  for (const auto& [key, v] : pairs) {
    if (!key.known_text() || v.is(Kind::kUnknown) || v.is(Kind::kGone)) continue;
    if (const Val* own = entry(environment.object, key); own != nullptr && own->is(Kind::kGone)) continue;
    set_entry(dict, key, environment_variable(environment, key.text->text, &v, at), at);
  }
}

Val Follower::dict_method(const std::string& name, const Val& self, Arguments& a) {
  Object* dict = self.object;
  const auto copy_of = [&] {
    Val out = {.kind = Kind::kDict, .object = make()};
    out.object->now = dict->now;
    spend_bytes(2 * sizeof(Val) * dict->now.pairs.size());
    return out;
  };
  if (name == "copy") return copy_of();
  if (name == "keys" || name == "values" || name == "items") {
    const auto keys = items_of(self, a.at);
    if (!keys) return list_of({unknown(shown(a.at, a.end) + " is computed where the program runs", a.at, true)});
    Val out = list_of({});
    out.object->name = kView;
    out.object->way = name;
    out.object->bound = {self};
    refresh(out);
    return out;
  }
  if ((name == "get" || name == "pop" || name == "setdefault") && !a.values.empty()) {
    const Val& key = a.values[0];
    const Val* other = a.argument(1, "default");
    const Val fallback = other != nullptr ? *other : none();
    if (!key.known_text() && !key.whole()) {
      ++doubts_;
      const std::string why = fmt::format("an entry is taken out at line {}", line(a.at));
      if (name == "pop") lose(dict, why, a.at, key.is(Kind::kText) ? key.text.get() : nullptr);
      return unclear(a.at, a.end);
    }
    const Val* found = entry(dict, key);
    const bool has = found != nullptr && !found->is(Kind::kGone);
    Val out = has ? *found : fallback;
    if (has && out.is(Kind::kUnknown)) out = given_or(std::move(out), key.known_text() ? key.text->text : "");
    if (!has && dict->now.inherits && key.known_text() && (found == nullptr || !found->is(Kind::kGone)))
      out = environment_variable(self, key.text->text, &fallback, a.at);
    else if (!has && !dict->now.open.empty())
      out = given_or(unknown(dict->now.open, a.at), key.known_text() ? key.text->text : "");
    if (name == "setdefault" && !has) set_entry(dict, key, out, a.at);
    if (name == "pop") {
      touch(dict);
      if (dict->now.inherits)
        set_entry(dict, key, {.kind = Kind::kGone}, a.at);
      else
        std::erase_if(dict->now.pairs, [&](const auto& one) { return is_key(one.first, key); });
      if (!has && other == nullptr && !dict->now.inherits && dict->now.open.empty()) refuse("KeyError", a.at);
    }
    return out;
  }
  if (name == "update") {
    for (const Val& v : a.values) update(dict, v, a.at);
    for (const auto& [key, v] : a.keys) set_entry(dict, text(key, a.at), v, a.at);
    for (const Val& v : a.more) update(dict, v, a.at);
    return none();
  }
  if (name == "clear" && dict->of == nullptr) {
    touch(dict);
    dict->now = {};
    return none();
  }
  ++doubts_;
  handed_over(self, name, a.at);
  return unclear(a.at, a.end);
}

Val Follower::set_method(const std::string& name, const Val& self, Arguments& a) {
  touch(self.object);
  auto& items = self.object->now.items;
  if (name == "add" && a.values.size() == 1) {
    const auto has = contains(self, a.values[0]);
    if (!has) items.push_back(unknown("what a set holds is not known here", a.at, true));
    if (has == std::optional(false)) items.push_back(a.values[0]);
    return none();
  }
  if (name == "copy") return list_of(items, Kind::kSet);
  if (name == "remove" && a.values.size() == 1 && contains(self, a.values[0]) == std::optional(false))
    refuse("KeyError", a.at);
  items.push_back(unknown("what a set holds is not known here", a.at, true));
  return unclear(a.at, a.end);
}

}  // namespace preflight::sources::program
