// Tested by tests/conceal_test.cpp.
#include "src/intake/conceal.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <optional>
#include <utility>

#include "src/base/ascii_case.h"
#include "src/args/argument_groups.h"
#include "src/base/edit_distance.h"

namespace preflight::commands {
namespace {

constexpr std::string_view kHidden = "***";
// Shorter ones are hidden where they stand, but not looked for in prose: they would be found in any word.
constexpr std::size_t kShortest = 4;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The first whole occurrence of `secret` from `at` on.
std::size_t find_whole(std::string_view text, std::string_view secret, std::size_t at) {
  for (at = text.find(secret, at); at != text.npos; at = text.find(secret, at + 1)) {
    const std::size_t end = at + secret.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return at;
  }
  return at;
}

class Secrets {
 public:
  void add(std::string_view secret) {
    if (!secret.empty() && secret != kHidden) all_.emplace_back(secret);
  }
  [[nodiscard]] const std::vector<std::string>& all() const { return all_; }

  // `keep_columns`: what stands behind a secret stays in its place.
  void hide_in(std::string& text, bool keep_columns = false) const {
    for (const std::string& secret : all_) {
      if (secret.size() < kShortest) continue;
      std::string shown(kHidden);
      if (keep_columns) shown.resize(secret.size(), ' ');
      for (auto at = find_whole(text, secret, 0); at != text.npos; at = find_whole(text, secret, at + shown.size())) {
        text.replace(at, secret.size(), shown);
      }
    }
  }

 private:
  std::vector<std::string> all_;
};

// What hides inside a text, whatever it is called: the part of a URL before its host (s3://key:secret@bucket),
// parameters of its query, and members of a JSON object, by their names.
using Part = std::pair<std::size_t, std::size_t>;  // begin, size

void add_url_parts(std::string_view text, std::vector<Part>& parts) {
  constexpr std::string_view kAuthority = "://";
  for (std::size_t at = text.find(kAuthority); at != text.npos; at = text.find(kAuthority, at + 1)) {
    const std::size_t begin = at + kAuthority.size();
    const std::size_t end = std::min(text.find_first_of("/?# \t\n\"'", begin), text.size());
    const std::size_t host = text.substr(0, end).rfind('@');
    if (host == text.npos || host < begin) continue;
    const std::size_t colon = text.substr(0, host).find(':', begin);
    const std::size_t from = colon == text.npos ? begin : colon + 1;
    if (from < host) parts.emplace_back(from, host - from);
  }
}

// `name=value` behind ? or &, and `"name": "value"`.
void add_named_parts(std::string_view text, std::vector<Part>& parts) {
  for (std::size_t at = text.find_first_of("?&"); at != text.npos; at = text.find_first_of("?&", at + 1)) {
    const std::size_t equals = text.find_first_of("=&# ", at + 1);
    if (equals == text.npos || text[equals] != '=' || !is_secret(text.substr(at + 1, equals - at - 1))) continue;
    const std::size_t end = std::min(text.find_first_of("&# \"'", equals + 1), text.size());
    if (end > equals + 1) parts.emplace_back(equals + 1, end - equals - 1);
  }
  for (std::size_t colon = text.find(':'); colon != text.npos; colon = text.find(':', colon + 1)) {
    const auto quote = [&](std::size_t at) { return at < text.size() && (text[at] == '"' || text[at] == '\''); };
    const std::size_t close = text.substr(0, colon).find_last_not_of(" \t\n");
    const std::size_t value = text.find_first_not_of(" \t\n", colon + 1);
    if (close == text.npos || value == text.npos || close == 0 || !quote(close) || !quote(value)) continue;
    const std::size_t open = text.rfind(text[close], close - 1);
    if (open == text.npos || !is_secret_variable(text.substr(open + 1, close - open - 1))) continue;
    std::size_t end = value + 1;
    while (end < text.size() && text[end] != text[value]) end += text[end] == '\\' ? 2 : 1;
    end = std::min(end, text.size());
    if (end > value + 1) parts.emplace_back(value + 1, end - value - 1);
  }
}

std::vector<Part> secret_parts(std::string_view text) {
  std::vector<Part> parts;
  if (text.find("://") != text.npos) add_url_parts(text, parts);
  if (text.find_first_of("?{") != text.npos) add_named_parts(text, parts);
  std::ranges::sort(parts);
  const auto overlaps = [](const Part& a, const Part& b) { return b.first < a.first + a.second; };
  parts.erase(std::unique(parts.begin(), parts.end(), overlaps), parts.end());
  return parts;
}

void hide_parts(std::string& text) {
  const std::vector<Part> parts = secret_parts(text);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) text.replace(part->first, part->second, kHidden);
}

// A word of the arguments that is a secret, or holds one from `from` on ("--api-key=…").
struct SecretWord {
  std::size_t index;
  std::size_t from;
  std::size_t size = std::string::npos;  // npos: to its end
  std::string inside = {};               // the secret, where it is a part of the word that no name announces
};

// Words behind an option that the release does not have count as its values: a misspelt --api-key has a secret, too.
std::vector<SecretWord> secret_words(Release release, const std::vector<std::string>& words) {
  std::vector<SecretWord> out;
  std::size_t index = 0;
  for (const fix::Group& g : fix::group_arguments(release, words, std::vector<SourceRange>(words.size()))) {
    const bool known = g.option != nullptr && g.option->row != nullptr;
    const bool secret = g.is_option() && (known ? is_secret(field_name(g.option->field)) : looks_secret(g.name));
    for (std::size_t i = 0; i < g.words.size(); ++i, ++index) {
      if (!secret) {
        for (const auto& [from, size] : secret_parts(g.words[i]))
          out.push_back({index, from, size, g.words[i].substr(from, size)});
        continue;
      }
      const auto equals = g.words[i].find('=');
      if (i > 0) out.push_back({index, 0});
      if (i == 0 && equals != std::string::npos) out.push_back({index, equals + 1});
    }
  }
  return out;
}

Secrets secrets_of(Release release, const std::vector<std::string>& argv, const Environment& env) {
  Secrets out;
  for (const SecretWord& s : secret_words(release, argv)) {
    out.add(std::string_view(argv[s.index]).substr(s.from, s.size));
  }
  for (const auto& [name, value] : env) {
    if (is_secret_variable(name)) out.add(value);
    for (const auto& [from, size] : secret_parts(value)) out.add(std::string_view(value).substr(from, size));
  }
  return out;
}

void hide_words(Release release, std::vector<std::string>& words) {
  const std::vector<SecretWord> secret = secret_words(release, words);
  for (auto s = secret.rbegin(); s != secret.rend(); ++s) words[s->index].replace(s->from, s->size, kHidden);
}

void hide_variables(Environment& env) {
  for (auto& [name, value] : env) {
    if (is_secret_variable(name) && !value.empty()) {
      value = kHidden;
    } else {
      hide_parts(value);
    }
  }
}

// The pasted text with *** in place of its secrets; the places of the arguments move along.
void hide_in_source(const std::vector<SecretWord>& words, const Secrets& secrets, ArgumentSource& source) {
  std::vector<ArgumentSource::Span> cuts;
  for (const SecretWord& s : words) {
    if (s.index >= source.arguments.size()) continue;
    ArgumentSource::Span cut = source.arguments[s.index];
    if (!s.inside.empty()) {
      const std::size_t at = source.text.find(s.inside, cut.begin);
      if (at >= cut.begin + cut.length) continue;
      cut = {at, s.size};
    } else if (s.from > 0) {
      const auto equals = source.text.find('=', cut.begin);
      if (equals >= cut.begin + cut.length) continue;
      cut = {equals + 1, cut.begin + cut.length - equals - 1};
    }
    if (cut.length > 0) cuts.push_back(cut);
  }
  for (const std::string& secret : secrets.all()) {
    if (secret.size() < kShortest) continue;
    for (auto at = find_whole(source.text, secret, 0); at != std::string::npos;
         at = find_whole(source.text, secret, at + secret.size())) {
      cuts.push_back({at, secret.size()});
    }
  }
  std::sort(cuts.begin(), cuts.end(),
            [](const auto& a, const auto& b) { return a.begin != b.begin ? a.begin < b.begin : a.length > b.length; });
  std::size_t floor = source.text.size();
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {  // from the end, so that places in front stay right
    const std::size_t begin = cut->begin;
    const std::size_t end = std::min(begin + cut->length, floor);
    if (begin >= end) continue;
    floor = begin;
    source.text.replace(begin, end - begin, kHidden);
    const std::ptrdiff_t grown = static_cast<std::ptrdiff_t>(kHidden.size()) - static_cast<std::ptrdiff_t>(end - begin);
    for (auto& span : source.arguments) {
      const auto moved = [&](std::size_t at) {
        return at >= end ? static_cast<std::size_t>(static_cast<std::ptrdiff_t>(at) + grown) : at;
      };
      const std::size_t to = moved(span.begin + span.length);
      span.begin = moved(span.begin);
      span.length = to > span.begin ? to - span.begin : 0;
    }
  }
}

// `value` with *** for the secrets in its texts; none where it holds none.
std::optional<Value> hidden_in(const Value& value, const Secrets& secrets) {
  if (value.is_string()) {
    std::string text = value.as_string();
    secrets.hide_in(text);
    hide_parts(text);
    return text == value.as_string() ? std::nullopt : std::optional<Value>(Value(text));
  }
  bool changed = false;
  const auto shown = [&](const Value& part) {
    auto hidden = hidden_in(part, secrets);
    changed = changed || hidden.has_value();
    return hidden ? *hidden : part;
  };
  if (value.is_list()) {
    Value::List list;
    for (const Value& item : value.as_list()) list.push_back(shown(item));
    return changed ? std::optional(Value::list(std::move(list))) : std::nullopt;
  }
  if (!value.is_dict()) return std::nullopt;
  Value::Dict dict;
  for (const auto& [key, item] : value.as_dict()) {
    const bool whole = item.is_string() && is_secret_variable(key);
    changed = changed || whole;
    dict.emplace_back(key, whole ? Value(std::string(kHidden)) : shown(item));
  }
  return changed ? std::optional(Value::dict(std::move(dict))) : std::nullopt;
}

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) plain += c == '-' ? '_' : ascii_lower(c);
  plain.erase(0, std::min(plain.find_first_not_of('_'), plain.size()));
  return plain;
}

}  // namespace

bool looks_secret(std::string_view name) {
  const std::string plain = plain_name(name.substr(0, name.find('=')));
  return is_secret(plain) || std::ranges::any_of(std::array<std::string_view, 4>{"api_key", "admin_api_key",
                                                                                 "ssl_keyfile_password", "password"},
                                                 [&](std::string_view near) {
                                                   constexpr std::size_t kSlips = 2;
                                                   return edit_distance(plain, near, kSlips) <= kSlips;
                                                 });
}

bool is_secret_variable(std::string_view name) {
  const std::string plain = plain_name(name);
  constexpr std::array<std::string_view, 12> kEndings = {"key",         "auth",       "authorization", "pass",
                                                         "pwd",         "passphrase", "pat",           "credential",
                                                         "credentials", "cookie",     "dsn",           "bearer"};
  return is_secret(name) || std::ranges::any_of(kEndings, [&](std::string_view e) {
           return plain == e ||
                  (plain.size() > e.size() && plain.ends_with(e) && plain[plain.size() - e.size() - 1] == '_');
         });
}

bool is_secret(std::string_view name) {
  const std::string plain = plain_name(name);
  constexpr std::array<std::string_view, 8> kEndings = {"api_key", "apikey",     "password",      "passwd",
                                                        "_token",  "access_key", "watermark_key", "watermark_key_b"};
  // A token of text, counted or timed.
  if (plain.ends_with("first_token") || plain.ends_with("per_token")) return false;
  return plain == "token" || plain.find("secret") != std::string::npos ||
         std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view e) { return plain.ends_with(e); });
}

void conceal(PreparedLaunch& prepared) {
  const std::vector<std::string>& argv = prepared.inputs.argv;
  const std::vector<SecretWord> words = secret_words(prepared.inputs.release, argv);
  Launch& launch = prepared.launch;
  Secrets secrets = secrets_of(prepared.inputs.release, argv, prepared.inputs.env);
  // Whole fields first: what they hold is looked for in all others.
  const auto each_value =
      [&](const std::function<void(Field, const Value&, const std::function<void(Value)>&)>& visit) {
        for (LaunchFields* fields : {&launch.args.raw, &launch.resolved}) {
          const LaunchFields before = *fields;
          before.for_each_set([&](Field f, const Value& value) {
            visit(f, value, [&](Value shown) { fields->set(f, std::move(shown)); });
          });
        }
        for (Change& change : launch.chain) {
          for (FieldValue& pair : change.fields) {
            visit(pair.first, Value(pair.second), [&](Value shown) { pair.second = std::move(shown); });
          }
        }
      };
  each_value([&](Field f, const Value& value, const auto& show) {
    if (!is_secret(field_name(f)) || !value.is_string() || value.as_string().empty()) return;
    secrets.add(value.as_string());
    show(kHidden);
  });
  if (!secrets.all().empty()) {
    each_value([&](Field, const Value& value, const auto& show) {
      if (auto shown = hidden_in(value, secrets)) show(std::move(*shown));
    });
  }
  hide_in_source(words, secrets, prepared.source);
  for (auto& [path, text] : prepared.source.files) secrets.hide_in(text, true);
  for (std::string& word : launch.args.argv) secrets.hide_in(word);
  hide_variables(launch.env);
  if (launch.usage) {
    secrets.hide_in(launch.usage->message);
    secrets.hide_in(launch.usage->flag);
  }
  if (launch.refusal) secrets.hide_in(launch.refusal->message);
  for (LogLine& line : launch.log) secrets.hide_in(line.message);
  for (Diagnostic& note : prepared.notes) secrets.hide_in(note.message);
  if (prepared.machine) {
    for (std::string* text : {&prepared.machine->model.value, &prepared.machine->model.place}) {
      secrets.hide_in(*text);
      hide_parts(*text);
    }
    for (std::string& line : prepared.machine->notes) secrets.hide_in(line);
  }
}

void conceal(ReadLaunch& launch, Release release) {
  // A secret that stands once more behind an option that is none is one there, too.
  const Secrets secrets = secrets_of(release, launch.argv, launch.env);
  hide_words(release, launch.argv);
  hide_variables(launch.env);
  for (std::string& word : launch.argv) secrets.hide_in(word);
  for (auto& [name, value] : launch.env) secrets.hide_in(value);
}

void conceal(FixSearch& search, Release release) {
  for (CheckedFix& fix : search.fixes) {
    const Secrets secrets = secrets_of(release, fix.arguments, fix.env);
    hide_words(release, fix.arguments);
    hide_variables(fix.env);
    for (std::string& word : fix.arguments) secrets.hide_in(word);
    for (auto& [name, value] : fix.env) secrets.hide_in(value);
    for (ArgumentChange& change : fix.changes) {
      for (std::vector<std::string>* words : {&change.before, &change.after}) {
        hide_words(release, *words);
        for (std::string& word : *words) secrets.hide_in(word);
      }
    }
  }
}

}  // namespace preflight::commands
