// Tested by tests/conceal_test.cpp.
#include "src/intake/conceal.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "src/base/ascii_case.h"
#include "src/args/argument_groups.h"

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

// A word of the arguments that is a secret, or ends with one from `from` on ("--api-key=…").
struct SecretWord {
  std::size_t index;
  std::size_t from;
};

// Words behind an option that the release does not have count as its values: a misspelt --api-key has a secret, too.
std::vector<SecretWord> secret_words(Release release, const std::vector<std::string>& words) {
  std::vector<SecretWord> out;
  std::size_t index = 0;
  for (const fix::Group& g : fix::group_arguments(release, words, std::vector<SourceRange>(words.size()))) {
    const bool known = g.option != nullptr && g.option->row != nullptr;
    const bool secret = g.is_option() && is_secret(known ? field_name(g.option->field) : std::string_view(g.name));
    for (std::size_t i = 0; i < g.words.size(); ++i, ++index) {
      if (!secret) continue;
      const auto equals = g.words[i].find('=');
      if (i > 0) out.push_back({index, 0});
      if (i == 0 && equals != std::string::npos) out.push_back({index, equals + 1});
    }
  }
  return out;
}

void hide_words(Release release, std::vector<std::string>& words) {
  for (const SecretWord& s : secret_words(release, words)) words[s.index].replace(s.from, std::string::npos, kHidden);
}

void hide_variables(Environment& env) {
  for (auto& [name, value] : env) {
    if (is_secret(name) && !value.empty()) value = kHidden;
  }
}

// The pasted text with *** in place of its secrets; the places of the arguments move along.
void hide_in_source(const std::vector<SecretWord>& words, const Secrets& secrets, ArgumentSource& source) {
  std::vector<ArgumentSource::Span> cuts;
  for (const SecretWord& s : words) {
    if (s.index >= source.arguments.size()) continue;
    ArgumentSource::Span cut = source.arguments[s.index];
    if (s.from > 0) {
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

}  // namespace

bool is_secret(std::string_view name) {
  std::string plain;
  for (const char c : name) plain += c == '-' ? '_' : ascii_lower(c);
  plain.erase(0, std::min(plain.find_first_not_of('_'), plain.size()));
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
  Secrets secrets;
  for (const SecretWord& s : words) secrets.add(std::string_view(argv[s.index]).substr(s.from));
  for (const auto& [name, value] : prepared.inputs.env) {
    if (is_secret(name)) secrets.add(value);
  }
  const auto keep = [&](Field field, const Value& value) {  // true: it is a secret
    if (!is_secret(field_name(field)) || !value.is_string() || value.as_string().empty()) return false;
    secrets.add(value.as_string());
    return true;
  };
  for (LaunchFields* fields : {&launch.args.raw, &launch.resolved}) {
    const LaunchFields before = *fields;
    before.for_each_set([&](Field f, const Value& value) {
      if (keep(f, value)) fields->set(f, kHidden);
    });
  }
  for (Change& change : launch.chain) {
    for (auto& [field, value] : change.fields) {
      if (keep(field, value)) value = kHidden;
    }
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
}

void conceal(ReadLaunch& launch, Release release) {
  hide_words(release, launch.argv);
  hide_variables(launch.env);
}

void conceal(FixSearch& search, Release release) {
  for (CheckedFix& fix : search.fixes) {
    hide_words(release, fix.arguments);
    hide_variables(fix.env);
    for (ArgumentChange& change : fix.changes) {
      hide_words(release, change.before);
      hide_words(release, change.after);
    }
  }
}

}  // namespace preflight::commands
