// Tested by tests/conceal_test.cpp.
#include "src/intake/conceal.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cctype>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "preflight/fields.h"
#include "src/args/argument_groups.h"
#include "src/args/config_file.h"
#include "src/args/vllm_options.h"
#include "src/base/ascii_case.h"
#include "src/base/limits.h"
#include "src/base/remembered.h"
#include "src/fields/field_table.h"
#include "src/intake/open_text.h"
#include "src/intake/secret_text.h"
#include "src/sources/assigned_values.h"

namespace preflight::commands {
namespace {

// Shorter ones are hidden where they stand, but not looked for in prose: they would be found in any word.
constexpr std::size_t kShortest = 4;
constexpr std::size_t kLongNumber = 8;  // shorter ones are what other options are given, too

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// No word of a language holds it by chance: it is looked for inside of words, too, as in run-$TOKEN1.
bool is_unlike_words(std::string_view secret) {
  constexpr std::size_t kTelling = 8;
  return secret.size() >= kTelling && std::ranges::any_of(secret, is_digit) && std::ranges::any_of(secret, is_letter);
}

unsigned char byte_of(char c) { return static_cast<unsigned char>(c); }

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Whether a part of a sentence is one of the words that sentences about launches are made of, outside of what they
// quote: a name, a text in quotes, ${…}, a value behind =.
bool is_of_sentence(std::string_view sentence, const TextPart& part) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"Ansible",   "Argo",       "Azure",   "CircleCI", "GitHub",     "GitLab",    "Kubernetes", "Nomad",
       "Tekton",    "compose",    "docker",  "editor",   "supervisor", "systemd",   "task",       "tmuxinator",
       "arguments", "assignment", "behind",  "branch",   "calls",      "changes",   "cluster",    "command",
       "computed",  "container",  "default", "depends",  "different",  "every",     "file",       "fills",
       "filled",    "followed",   "found",   "front",    "function",   "give",      "given",      "hands",
       "here",      "holds",      "known",   "launch",   "line",       "loop",      "matrix",     "message",
       "module",    "name",       "named",   "names",    "nothing",    "number",    "option",     "order",
       "others",    "over",       "place",   "policy",   "prints",     "process",   "program",    "read",
       "release",   "replicas",   "runs",    "script",   "secret",     "server",    "service",    "shell",
       "started",   "starts",     "stands",  "step",     "succeeds",   "takes",     "text",       "that",
       "turn",      "understood", "unless",  "value",    "variable",   "variables", "what",       "where",
       "which",     "whoever",    "with",    "words",    "workflow",   "written"});
  if (std::ranges::find(kWords, sentence.substr(part.begin, part.size)) == kWords.end()) return false;
  const auto at = [&](std::size_t i) { return i < sentence.size() ? sentence[i] : '\0'; };
  const char before = part.begin == 0 ? ' ' : sentence[part.begin - 1];
  const char after = at(part.begin + part.size);
  constexpr std::string_view kBehind = " ;,:)";
  if ((before != ' ' && before != '(') || (after != '\0' && kBehind.find(after) == std::string_view::npos))
    return false;
  const std::string_view front = sentence.substr(0, part.begin);
  const bool quoted = std::ranges::count(front, '"') % 2 != 0 || std::ranges::count(front, '\'') % 2 != 0 ||
                      std::ranges::count(front, '`') % 2 != 0;
  const auto substituted = front.rfind("$(");
  if (substituted != std::string_view::npos && front.find(')', substituted) == std::string_view::npos) return false;
  const auto opened = front.find_last_of("{[");
  return !quoted && (opened == std::string_view::npos || front.find_first_of("}]", opened) != std::string_view::npos);
}

class Secrets {
 public:
  void add(std::string_view secret) {
    longest_ = std::max(longest_, secret.size());
    const bool number = secret.size() < kLongNumber && std::ranges::all_of(secret, is_digit);
    if (secret.size() < kShortest || number || secret == kHidden) return;
    if (is_unlike_words(secret)) inside_.set(byte_of(secret[0]));
    auto& same = by_start_[std::string(secret.substr(0, kShortest))];
    if (std::ranges::find(same, secret) != same.end()) return;
    same.emplace_back(secret);
    std::ranges::sort(same, std::ranges::greater{}, &std::string::size);  // the longest hides the others in it
  }
  // Of an option and what runs into it, from `from` on: there the secret is the end of a word.
  void add_joined(std::string_view word, std::size_t from) {
    add(word.substr(from));
    joined_.emplace_back(word, from);
  }
  [[nodiscard]] std::size_t longest() const { return std::max(longest_, of_texts().longest_); }

  // Where they stand as whole words, those that are unlike words also inside of one, and where those of the run's texts
  // do. One look-up a word, and one for each byte that such a secret begins with, however many there are.
  [[nodiscard]] std::vector<TextPart> found_in(std::string_view text) const {
    std::vector<TextPart> found = found_joined(text);
    if (by_start_.empty() && of_texts().by_start_.empty()) return found;
    for (std::size_t at = 0; at + kShortest <= text.size(); ++at) {
      const bool inside = at > 0 && is_word(text[at - 1]);
      if (inside && !inside_[byte_of(text[at])] && !of_texts().inside_[byte_of(text[at])]) continue;
      const std::size_t size = std::max(size_at(text, at, inside), of_texts().size_at(text, at, inside));
      if (size == 0) continue;
      found.push_back({at, size});
      at += size - 1;
    }
    if (!joined_.empty()) found = apart(std::move(found));
    return found;
  }

  // Of all texts that this run read: a variable that a script does not export is none of its launch's, and its value
  // may stand in their words.
  static Secrets& of_texts() {
    thread_local Secrets all;
    return all;
  }

  // A sentence of ours: a word of it that is a secret, too, tells of none where it stands as ours.
  void hide_in_sentence(std::string& text) const {
    std::vector<TextPart> found = found_in(text);
    std::erase_if(found, [&](const TextPart& part) { return is_of_sentence(text, part); });
    hide(found, text, false);
  }
  // `keep_columns`: what stands behind a secret stays in its place.
  void hide_in(std::string& text, bool keep_columns = false) const { hide(found_in(text), text, keep_columns); }

 private:
  [[nodiscard]] std::vector<TextPart> found_joined(std::string_view text) const {
    std::vector<TextPart> found;
    for (const auto& [word, from] : joined_) {
      for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size()))
        found.push_back({at + from, word.size() - from});
    }
    return found;
  }
  // By their place, without those that begin in another.
  static std::vector<TextPart> apart(std::vector<TextPart> parts) {
    std::ranges::stable_sort(parts, {}, &TextPart::begin);
    std::vector<TextPart> out;
    for (const TextPart& part : parts) {
      const bool free = out.empty() || part.begin >= out.back().begin + out.back().size;
      if (free) out.push_back(part);
    }
    return out;
  }
  static void hide(const std::vector<TextPart>& found, std::string& text, bool keep_columns) {
    if (found.empty()) return;
    std::string shown;
    std::size_t at = 0;
    for (const TextPart& part : found) {
      shown.append(text, at, part.begin - at).append(kHidden);
      if (keep_columns && part.size > kHidden.size()) shown.append(part.size - kHidden.size(), ' ');
      at = part.begin + part.size;
    }
    text = shown.append(text, at);
  }
  // Of the longest one that stands there, behind a letter where it is `inside` of a word; 0: none does.
  [[nodiscard]] std::size_t size_at(std::string_view text, std::size_t at, bool inside) const {
    if (by_start_.empty()) return 0;
    const auto same = by_start_.find(std::string(text.substr(at, kShortest)));
    if (same == by_start_.end()) return 0;
    for (const std::string& secret : same->second) {
      const std::size_t end = at + secret.size();
      if (!text.substr(at).starts_with(secret)) continue;
      const bool word = !inside && (end >= text.size() || !is_word(text[end]));
      if (word || is_unlike_words(secret)) return secret.size();
    }
    return 0;
  }

  std::size_t longest_ = 0;
  std::unordered_map<std::string, std::vector<std::string>> by_start_;
  std::vector<std::pair<std::string, std::size_t>> joined_;
  std::bitset<256> inside_;  // bytes that those begin with which are unlike words
};

// A word of the arguments that is a secret, or holds one from `from` on ("--api-key=…").
struct SecretWord {
  std::size_t index;
  std::size_t from;
  std::size_t size = std::string::npos;  // npos: to its end
  std::string inside = {};               // the secret, where it is a part of the word that no name announces
  bool joined = false;                   // the word is an option and what runs into it
};

// A word without dashes that says that the next one is a secret: an option without its own, a member of YAML, a header.
bool announces(std::string_view word) {
  if (word.ends_with(':')) word.remove_suffix(1);
  return !word.starts_with('-') && (is_secret(word) || ascii_lower(word) == "bearer");
}

// What a value may be for all that is known of its option.
enum class Shows { kAll, kWords, kOpenValues, kCounts };

Shows shown_behind(Release release, const fix::Group& g, bool whole) {
  constexpr std::size_t kFewLetters = 5;  // dashes included: near to anything
  if (!g.is_option()) return Shows::kWords;
  if (g.option != nullptr && g.option->row == nullptr) return Shows::kAll;
  if (g.option != nullptr && g.option->arity == args::Arity::kNone) return Shows::kCounts;
  if (whole) return Shows::kAll;
  if (g.option != nullptr) return g.name.size() <= kFewLetters ? Shows::kOpenValues : Shows::kWords;
  // Tables ask for the same options in each of their rows.
  thread_local Remembered<bool> meant;
  const bool is_meant = meant.of(fmt::format("{} {}", release.text(), g.name), [&] {
    return fix::names_here(release, g.name) || args::find_vllm_option(g.name) != nullptr ||
           is_nearly_open_option(g.name);
  });
  return is_meant ? Shows::kAll : Shows::kOpenValues;
}

bool is_shown(Shows shows, const std::string& value) {
  switch (shows) {
    case Shows::kAll:
      return true;
    case Shows::kWords:
      return is_open_word(value) || value.starts_with('{') || value.starts_with('[');
    case Shows::kOpenValues:
      return is_open_value(value);
    case Shows::kCounts:
      return is_count("tokens", value);
  }
  return false;
}

// Of a group whose option holds no secret that is known: the value that nobody knows to be open, else secrets by their
// form.
void add_closed(Shows shows, const std::string& word, std::size_t index, std::size_t from,
                std::vector<SecretWord>& out) {
  if (from < word.size() && !is_shown(shows, word.substr(from))) return out.push_back({index, from});
  for (const auto& [begin, size] : secret_parts_of_value(word))
    out.push_back({index, begin, size, word.substr(begin, size)});
}

struct SecretWords {
  std::vector<SecretWord> found;
  bool waits = false;  // the last option holds a secret and got no value: what begins with a dash may be it
};

// Where the value begins of an option that runs into it, "--api-keySECRET"; npos in a name that is only nearly one, as
// --api-keys, or that goes on, as --api-key-file.
std::size_t run_together(const fix::Group& g) {
  constexpr std::size_t kShortestValue = 4;  // fewer letters are a slip
  if (!g.is_option() || g.option != nullptr) return std::string::npos;
  static const std::vector<std::string> kOptions = [] {
    std::vector<std::string> options;
    for (const std::string_view field : resolve::field_names()) {
      if (!is_secret(field)) continue;
      std::string& option = options.emplace_back("--" + std::string(field));
      std::ranges::replace(option, '_', '-');
    }
    return options;
  }();
  std::size_t from = 0;
  for (const std::string& option : kOptions) {
    std::string start = g.name.substr(0, option.size());
    std::ranges::replace(start, '_', '-');
    if (start == option) from = std::max(from, option.size());
  }
  const bool goes_on = from < g.name.size() && (g.name[from] == '-' || g.name[from] == '_');
  return from == 0 || goes_on || g.name.size() < from + kShortestValue ? std::string::npos : from;
}

// What stands behind a word without dashes that says so, or behind one whose dash a document made of two: the parser
// takes that for a word, and its user for an option.
void add_announced(const std::vector<std::string>& words, std::vector<SecretWord>& out) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i + 1 < words.size() && !words[i + 1].starts_with('-') && announces(words[i])) out.push_back({i + 1, 0});
    if (!words[i].starts_with("\xE2\x80") && !words[i].starts_with("\xE2\x88\x92")) continue;
    if (!looks_secret(words[i])) continue;
    const auto equals = words[i].find('=');
    if (equals != std::string::npos) out.push_back({i, equals + 1});
    for (std::size_t next = i + 1; next < words.size() && !words[next].starts_with('-'); ++next)
      out.push_back({next, 0});
  }
}

// Words behind an option that the release does not have count as its values: a misspelt --api-key has a secret, too.
SecretWords look_for_secrets(Release release, const std::vector<std::string>& words) {
  SecretWords looked;
  std::vector<SecretWord>& out = looked.found;
  add_announced(words, out);
  std::size_t index = 0;
  bool& waits = looked.waits;
  for (const fix::Group& g : fix::group_arguments(release, words, std::vector<SourceRange>(words.size()))) {
    const bool known = g.option != nullptr && g.option->row != nullptr;
    // A name that argparse completes is one that somebody chose: --token is no --tokenizer-path to its user.
    const bool whole = known && g.option->names.holds(g.name);
    const bool secret =
        g.is_option() && ((known && is_secret(field_name(g.option->field))) || (!whole && looks_secret(g.name)));
    const Shows shows = shown_behind(release, g, whole);
    const bool awaited = waits && g.is_option() && g.option == nullptr;
    waits = secret && g.words.size() == 1 && g.words[0].find('=') == std::string::npos;
    for (std::size_t i = 0; i < g.words.size(); ++i, ++index) {
      if (awaited && i == 0) {
        out.push_back({index, 0});
        continue;
      }
      if (const std::size_t from = i == 0 ? run_together(g) : std::string::npos; from != std::string::npos) {
        out.push_back({.index = index, .from = from, .joined = true});
        continue;
      }
      const auto equals = g.words[i].find('=');
      const bool alone = i == 0 && g.is_option() && equals == std::string::npos;
      if (!secret || alone) {  // an option by itself; a blank that is none is part of it
        const std::size_t value = i > 0 || !g.is_option() ? 0 : equals + 1;
        add_closed(alone ? Shows::kAll : shows, g.words[i], index, alone ? 0 : value, out);
        continue;
      }
      const std::size_t from = i > 0 ? 0 : equals + 1;
      const bool hides = whole || !is_count(g.name, std::string_view(g.words[i]).substr(from));
      if (hides) out.push_back({index, from});
    }
  }
  return looked;
}

// An option with its values, by itself.
bool holds_none(Release release, std::span<const std::string> words) {
  thread_local Remembered<bool> clean;
  constexpr std::size_t kMostBytes = 256;
  const auto look = [&] {
    const SecretWords looked = look_for_secrets(release, {words.begin(), words.end()});
    return looked.found.empty() && !looked.waits;
  };
  thread_local std::string question;  // keeps its memory
  question = release.text();
  for (const std::string& word : words) question.append(1, '\0').append(word);
  return question.size() <= kMostBytes ? clean.of(question, look) : look();
}

// Tables give the same options in each of their rows: where no option with its values holds a secret, none stands in
// all of them. Behind `--` no word is an option.
std::vector<SecretWord> secret_words(Release release, const std::vector<std::string>& words) {
  bool none = std::ranges::find(words, "--") == words.end();
  for (std::size_t from = 0; none && from < words.size();) {
    std::size_t end = from + 1;
    while (end < words.size() && !words[end].starts_with('-')) ++end;
    none = holds_none(release, std::span(words).subspan(from, end - from));
    from = end;
  }
  return none ? std::vector<SecretWord>() : look_for_secrets(release, words).found;
}

// Numbers of tokens are told.
bool hides_whole(std::string_view name, std::string_view value) {
  return is_secret_variable(name) && !value.empty() && !is_count(name, value);
}

Secrets secrets_of(Release release, const std::vector<std::string>& argv, const Environment& env) {
  Secrets out;
  for (const SecretWord& s : secret_words(release, argv)) {
    if (s.joined)
      out.add_joined(argv[s.index], s.from);
    else
      out.add(std::string_view(argv[s.index]).substr(s.from, s.size));
  }
  for (const auto& [name, value] : env) {
    if (hides_whole(name, value)) out.add(value);
    for (const auto& [from, size] : secret_parts_of_value(value)) out.add(std::string_view(value).substr(from, size));
  }
  return out;
}

void hide_words(Release release, std::vector<std::string>& words) {
  const std::vector<SecretWord> secret = secret_words(release, words);
  for (auto s = secret.rbegin(); s != secret.rend(); ++s) words[s->index].replace(s->from, s->size, kHidden);
}

void hide_variables(Environment& env) {
  for (auto& [name, value] : env) {
    if (hides_whole(name, value)) {
      value = kHidden;
    } else {
      hide_value_parts(value);
    }
  }
}

// In their order, those that overlap as one.
void join(std::vector<ArgumentSource::Span>& cuts) {
  std::ranges::sort(cuts, {}, &ArgumentSource::Span::begin);
  std::vector<ArgumentSource::Span> out;
  for (const ArgumentSource::Span& cut : cuts) {
    if (out.empty() || cut.begin >= out.back().begin + out.back().length) {
      out.push_back(cut);
    } else {
      out.back().length = std::max(out.back().length, cut.begin + cut.length - out.back().begin);
    }
  }
  cuts = std::move(out);
}

// Of the arguments in the pasted text, in their order.
std::vector<TextPart> places_of(const ArgumentSource& source) {
  std::vector<TextPart> out;
  for (const ArgumentSource::Span& span : source.arguments) {
    if (span.begin <= source.text.size()) out.push_back({span.begin, span.length});
  }
  std::ranges::sort(out, {}, &TextPart::begin);
  return out;
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
  for (const auto& [begin, size] : secrets.found_in(source.text)) cuts.push_back({begin, size});
  for (const auto& [begin, size] : secret_parts(source.text)) cuts.push_back({begin, size});
  for (const auto& [begin, size] : closed_literals_around(source.text, places_of(source)))
    cuts.push_back({begin, size});
  join(cuts);
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {  // from the end, so that places in front stay right
    const std::size_t begin = cut->begin;
    const std::size_t end = begin + cut->length;
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
    hide_value_parts(text);
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
    const bool whole = !item.is_none() && hides_whole(key, item.is_string() ? item.as_string() : item.repr());
    changed = changed || whole;
    dict.emplace_back(key, whole ? Value(std::string(kHidden)) : shown(item));
  }
  return changed ? std::optional(Value::dict(std::move(dict))) : std::nullopt;
}

}  // namespace

namespace {

// The launch itself: its fields, their chain, its words, variables and messages.
void conceal(Launch& launch, Secrets& secrets) {
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
    if (!value.is_string() || value.as_string().empty() || !is_secret(field_name(f))) return;
    secrets.add(value.as_string());
    show(kHidden);
  });
  if (secrets.longest() > 0) {
    each_value([&](Field, const Value& value, const auto& show) {
      if (auto shown = hidden_in(value, secrets)) show(std::move(*shown));
    });
  }
  for (std::string& word : launch.args.argv) secrets.hide_in(word);
  for (GivenOption& given : launch.args.given) secrets.hide_in(given.spelled);
  hide_variables(launch.env);
  if (launch.usage) {
    secrets.hide_in(launch.usage->message);
    secrets.hide_in(launch.usage->flag);
    if (launch.usage->value) secrets.hide_in(*launch.usage->value);
  }
  if (launch.refusal) secrets.hide_in(launch.refusal->message);
  for (LogLine& line : launch.log) secrets.hide_in(line.message);
}

std::vector<std::string> with_config_words(Release release, const std::vector<std::string>& argv) {
  if (std::ranges::find(argv, "--config") == argv.end()) return argv;
  args::CommandLine line{argv, std::vector<SourceRange>(argv.size()), 0};
  if (args::merge_config_file(release, line)) return argv;  // a file that cannot be read gives none
  return std::move(line.words);
}

std::size_t longest_secret_field(const Launch& launch) {
  std::size_t longest = 0;
  launch.args.raw.for_each_set([&](Field f, const Value& value) {
    if (value.is_string() && is_secret(field_name(f))) longest = std::max(longest, value.as_string().size());
  });
  return longest;
}

}  // namespace

void keep_secrets_of(std::string_view text) {
  constexpr std::size_t kLong = 8;  // shorter ones are words of other texts, too
  std::size_t most = limits::kVariables;
  const auto keep = [&](std::string_view value) {
    const bool one_word = value.find_first_of(" \t\r\n$`{") == std::string_view::npos;
    if (value.size() < kLong || !one_word || is_open_word(value) || most == 0) return;
    --most;
    Secrets::of_texts().add(value);
  };
  for (const auto& [begin, size] : secret_parts(text)) keep(text.substr(begin, size));
  for (const auto& [name, values] : sources::AssignedValues::take()) {
    for (const std::string& value : values) {
      if (hides_whole(name, value)) keep(value);
    }
  }
}

void conceal(PreparedLaunch& prepared) {
  const std::vector<std::string>& argv = prepared.inputs.argv;
  const std::vector<SecretWord> words = secret_words(prepared.inputs.release, argv);
  // What its --config file gives are words of the launch, too.
  const std::vector<std::string> all = with_config_words(prepared.inputs.release, argv);
  Secrets secrets = secrets_of(prepared.inputs.release, all, prepared.inputs.env);
  conceal(prepared.launch, secrets);
  hide_in_source(words, secrets, prepared.source);
  for (auto& [path, text] : prepared.source.files) secrets.hide_in(text, true);
  if (prepared.unknown_model) {
    for (std::string* text : {&prepared.unknown_model->path, &prepared.unknown_model->why}) {
      secrets.hide_in(*text);
      hide_parts(*text);
    }
  }
  for (Diagnostic& note : prepared.notes) {
    secrets.hide_in(note.message);
    hide_literals(note.message);
  }
  if (prepared.machine) {
    for (std::string* text : {&prepared.machine->model.value, &prepared.machine->model.place}) {
      secrets.hide_in(*text);
      hide_parts(*text);
    }
    for (std::string& line : prepared.machine->notes) secrets.hide_in(line);
  }
}

std::optional<Launch> concealed(const Launch& launch, const LaunchInputs& inputs, std::size_t shortest) {
  Secrets secrets = secrets_of(inputs.release, inputs.argv, inputs.env);
  if (std::max(secrets.longest(), longest_secret_field(launch)) < shortest) return std::nullopt;
  Launch shown = launch;
  conceal(shown, secrets);
  return shown;
}

// Its name says what a value is, or the arguments, whose secrets are hidden, show it.
static bool is_told_anyway(const ReadLaunch& launch, const std::string& name, const std::string& value) {
  const auto shows = [&](const std::string& word) { return word.find(value) != std::string::npos; };
  return says_meaning(name) || std::ranges::any_of(launch.argv, shows);
}

// What the arguments show by now, and what is open by itself.
static void hide_default(ReadLaunch::Default& one, const ReadLaunch& launch, const Secrets& secrets) {
  std::string& value = *one.value;
  if (hides_whole(one.name, value)) value = kHidden;
  secrets.hide_in(value);
  hide_value_parts(value);
  if (!is_told_anyway(launch, one.name, value)) hide_closed_words(value);
}

// `--api-key ab$SECRET`: what a shell takes for a name, or a part of its ${…}, may be the rest of a secret.
static void hide_odd_names(std::string& what) {
  std::string shown;
  for (std::size_t at = 0; at < what.size();) {
    std::size_t end = at;
    while (end < what.size() && is_word(what[end])) ++end;
    const std::string word = what.substr(at, end - at);
    shown += is_odd_name(word) && !is_open_word(word) ? std::string(kHidden) : word;
    if (end < what.size()) shown += what[end];
    at = end + 1;
  }
  what = std::move(shown);
}

// `- name: HF_TOKEN=SECRET` of a container is one name to it, and a key may stand where a name should.
static std::string shown_name(const std::string& name) {
  const auto equals = name.find('=');
  if (equals != std::string::npos && hides_whole(name.substr(0, equals), name.substr(equals + 1)))
    return fmt::format("{}={}", name.substr(0, equals), kHidden);
  std::string shown = name;
  hide_parts(shown);
  return shown;
}

static void hide_in_names(Environment& env) {
  std::vector<std::pair<std::string, std::string>> hidden;
  for (const auto& [name, value] : env) {
    if (std::string shown = shown_name(name); shown != name) hidden.emplace_back(name, std::move(shown));
  }
  for (auto& [name, shown] : hidden) {
    auto entry = env.extract(name);
    entry.key() = std::move(shown);
    env.insert(std::move(entry));
  }
}

// Of a condition, what the file calls things by, and no other word of its own that may be secret.
static std::string shown_condition(const sources::Condition& condition, const ReadLaunch& launch,
                                   const Secrets& secrets) {
  std::string out;
  std::size_t behind = 0;
  for (const auto& part : condition.written) {
    std::string text = condition.text.substr(part.begin, part.size);
    secrets.hide_in(text);
    hide_parts(text);
    const bool told = condition.kind == sources::Condition::Kind::kTurn && text.find('*') == std::string::npos &&
                      !hides_whole(condition.variable, text) && is_told_anyway(launch, condition.variable, text);
    if (!told && !(part.name && is_plain_name(text))) hide_closed_words(text);
    out += condition.text.substr(behind, part.begin - behind) + text;
    behind = part.begin + part.size;
  }
  return out + condition.text.substr(behind);
}

void conceal(ReadLaunch& launch, const sources::Conditions& when, Release release) {
  const bool model = launch.vllm && !launch.argv.empty() && !launch.argv[0].starts_with('-');
  std::vector<std::string> words(launch.argv.begin() + (model ? 1 : 0), launch.argv.end());
  // A secret that stands once more behind an option that is none is one there, too.
  const Secrets secrets = secrets_of(release, words, launch.env);
  hide_words(release, words);
  if (model) hide_value_parts(launch.argv[0]);
  std::ranges::move(words, launch.argv.begin() + (model ? 1 : 0));
  hide_variables(launch.env);
  hide_in_names(launch.env);
  for (std::string& word : launch.argv) secrets.hide_in(word);
  for (auto& [name, value] : launch.env) secrets.hide_in(value);
  for (std::string* text : {&launch.name, &launch.image}) secrets.hide_in(*text);
  for (std::string* text : {&launch.name, &launch.image}) hide_parts(*text);
  std::vector<std::string> conditions;
  for (const sources::Condition& one : when.all) conditions.push_back(shown_condition(one, launch, secrets));
  launch.when = sources::joined(when, conditions);
  for (ReadLaunch::Open& open : launch.unknown) {
    secrets.hide_in_sentence(open.what);
    hide_parts(open.what);
    hide_literals(open.what);
    if (open.what.starts_with("the variable ")) hide_odd_names(open.what);
  }
  for (ReadLaunch::Default& one : launch.defaults) {
    if (one.value) hide_default(one, launch, secrets);
  }
}

void hide_in(std::string& text, const LaunchInputs& inputs) {
  secrets_of(inputs.release, inputs.argv, inputs.env).hide_in(text);
  hide_parts(text);
}

void conceal(std::vector<Diagnostic>& findings, const LaunchInputs& inputs) {
  const Secrets secrets = secrets_of(inputs.release, inputs.argv, inputs.env);
  for (Diagnostic& d : findings) {
    for (std::string* text : {&d.message, &d.fix}) secrets.hide_in(*text);
    for (Remedy& remedy : d.remedies) {
      secrets.hide_in(remedy.words);
      for (RemedyStep& step : remedy.steps) {
        secrets.hide_in(step.name);
        for (std::string& value : step.values) secrets.hide_in(value);
      }
    }
  }
}

std::vector<std::string> concealed(Release release, std::vector<std::string> words) {
  const Secrets secrets = secrets_of(release, words, {});
  hide_words(release, words);
  for (std::string& word : words) secrets.hide_in(word);
  return words;
}

void conceal(FixSearch& search, const LaunchInputs& inputs) {
  const Release release = inputs.release;
  const Secrets given = secrets_of(release, inputs.argv, inputs.env);
  given.hide_in(search.none_because);
  for (Diagnostic& d : search.remaining) given.hide_in(d.message);
  for (CheckedFix& fix : search.fixes) {
    const Secrets secrets = secrets_of(release, fix.arguments, fix.env);
    const auto hide = [&](std::vector<std::string>& words) {
      for (std::string& word : words) {
        given.hide_in(word);  // what was a secret under another name still is, and whole
        secrets.hide_in(word);
      }
      hide_words(release, words);
    };
    hide(fix.arguments);
    for (auto& [name, value] : fix.env) {
      given.hide_in(value);
      secrets.hide_in(value);
    }
    hide_variables(fix.env);
    hide_in_names(fix.env);
    for (ArgumentChange& change : fix.changes) {
      if (change.kind == ArgumentChange::Kind::kUnset) {  // a variable's name is no stray word of the command line
        for (std::string& name : change.before) given.hide_in(name);
        continue;
      }
      if (change.kind == ArgumentChange::Kind::kAssign) {
        for (auto* words : {&change.before, &change.after}) {
          for (std::string& word : *words) {
            given.hide_in(word);
            secrets.hide_in(word);
          }
        }
        continue;
      }
      hide(change.before);
      hide(change.after);
    }
  }
}

}  // namespace preflight::commands
