// Each reader below goes through the text once, so that a megabyte of it is read in no time.
// Tested by tests/conceal_test.cpp.
#include "src/intake/secret_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <utility>

#include "preflight/fields.h"
#include "src/base/ascii_case.h"
#include "src/base/edit_distance.h"
#include "src/base/remembered.h"
#include "src/fields/field_table.h"

namespace preflight::commands {
namespace {

using Parts = std::vector<TextPart>;

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_quote(char c) { return c == '"' || c == '\''; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_space(char c) { return is_blank(c) || c == '\n' || c == '\r'; }
bool is_in_name(char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '\\'; }

constexpr std::size_t kLongestName = 128;  // of which the end says what it is

// One spelling of a name: api_key for --api-key, API_KEY, apiKey and api\u005fkey.
std::string plain_name(std::string_view name) {
  if (name.size() > kLongestName) name.remove_prefix(name.size() - kLongestName);
  std::string plain;
  for (std::size_t i = 0; i < name.size(); ++i) {
    char c = name[i];
    unsigned code = 0;
    if (c == '\\' && i + 5 < name.size() && name[i + 1] == 'u' &&
        std::from_chars(name.data() + i + 2, name.data() + i + 6, code, 16).ec == std::errc() && code < 0x80) {
      c = static_cast<char>(code);
      i += 5;
    }
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !plain.empty() && i > 0 && ((name[i - 1] >= 'a' && name[i - 1] <= 'z') || is_digit(name[i - 1]))) {
      plain += '_';
    }
    plain += c == '-' || c == '.' ? '_' : ascii_lower(c);
  }
  plain.erase(0, std::min(plain.find_first_not_of('_'), plain.size()));
  return plain;
}

// Without its number: a second key is one as well.
std::string_view unnumbered(std::string_view plain) {
  const auto last = plain.find_last_not_of("0123456789_");
  return last == plain.npos ? plain : plain.substr(0, last + 1);
}

// As the last part of a name, or all of it.
bool ends_in(std::string_view plain, std::string_view part) {
  return plain == part ||
         (plain.size() > part.size() && plain.ends_with(part) && plain[plain.size() - part.size() - 1] == '_');
}

// A token of text, counted or timed.
bool is_of_text(std::string_view plain) {
  constexpr std::array<std::string_view, 6> kEndings = {"first_token", "per_token",  "max_token",
                                                        "max_tokens",  "num_tokens", "total_tokens"};
  return std::ranges::any_of(kEndings, [&](std::string_view e) { return plain.ends_with(e); });
}

bool is_secret_plain(std::string_view plain) {
  constexpr std::array<std::string_view, 8> kEndings = {"api_key", "apikey",     "password",      "passwd",
                                                        "_token",  "access_key", "watermark_key", "watermark_key_b"};
  if (is_of_text(plain)) return false;
  return plain == "token" || plain.find("secret") != std::string::npos ||
         std::ranges::any_of(kEndings, [&](std::string_view e) { return plain.ends_with(e); });
}

// MASTERKEY, DBPASS, GHPAT: written together, and no word of its own that ends so.
bool ends_in_joined(std::string_view plain) {
  const auto before = std::find_if_not(plain.rbegin(), plain.rend(), is_alnum);  // "$PWD" is no word that ends in PWD
  const std::string_view last = plain.substr(static_cast<std::size_t>(plain.rend() - before));
  constexpr std::array<std::string_view, 6> kEndings = {"key", "keys", "pass", "pw", "pwd", "pat"};
  constexpr std::array<std::string_view, 15> kWords = {"oldpwd", "monkey",  "turkey", "donkey",  "hockey",
                                                       "jockey", "whiskey", "hotkey", "mickey",  "compass",
                                                       "bypass", "compat",  "expat",  "hotkeys", "monkeys"};
  return std::ranges::find(kWords, last) == kWords.end() &&
         std::ranges::any_of(kEndings, [&](std::string_view e) { return last.size() > e.size() && last.ends_with(e); });
}

bool is_secret_by_anybody(std::string_view plain) {
  constexpr std::array<std::string_view, 27> kEndings = {
      "ak",          "sk",  // as object stores call access and secret key
      "key",         "keys",     "auth", "authorization", "pass",   "pwd",       "passphrase",   "pat",    "credential",
      "cookie",      "cookies",  "dsn",  "sas",           "bearer", "signature", "sig",          "tokens", "passwords",
      "credentials", "passcode", "jwt",  "tok",           "cred",   "creds",     "access_key_id"};
  constexpr std::array<std::string_view, 4> kJoined = {"connection_string", "connectionstring", "conn_str",
                                                       "config_data"};
  constexpr std::array<std::string_view, 5> kNear = {"token", "password", "passwd", "secret", "credential"};
  plain = unnumbered(plain);
  if (is_of_text(plain)) return false;
  if (is_secret_plain(plain) || plain.find("webhook") != std::string::npos || plain.ends_with("token") ||
      std::ranges::any_of(kJoined, [&](std::string_view e) { return plain.ends_with(e); }) ||
      std::ranges::any_of(kEndings, [&](std::string_view e) { return ends_in(plain, e); })) {
    return true;
  }
  if (ends_in_joined(plain)) return true;
  const std::string_view last = plain.substr(plain.rfind('_') + 1);
  return last.size() > 3 &&
         std::ranges::any_of(kNear, [&](std::string_view near) { return edit_distance(last, near, 1) <= 1; });
}

// A name of our own, or nearly, that holds none: --speculative-token-mapp is no token.
bool is_near_a_field(std::string_view plain) {
  constexpr std::size_t kSlips = 2;
  return std::ranges::any_of(resolve::field_names(), [&](std::string_view field) {
    return !is_secret_plain(field) && (field.starts_with(plain) || edit_distance(plain, field, kSlips) <= kSlips);
  });
}

// Tables ask for the same options in each of their rows.
bool is_nearly_open(std::string_view plain) {
  thread_local Remembered<bool> known;
  return known.of(std::string(plain), [&] { return is_near_a_field(plain); });
}

// A word that means a secret, anywhere in the name of an option that nobody knows: --api-key-file2.
bool has_secret_word(std::string_view plain) {
  constexpr std::array<std::string_view, 18> kWords = {
      "token", "tok",  "key",        "apikey",      "secret",     "secrets", "password", "passwd", "pass",
      "pwd",   "auth", "credential", "credentials", "passphrase", "cookie",  "bearer",   "jwt",    "session"};
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t end = std::min(plain.find('_', at), plain.size());
    if (std::ranges::find(kWords, unnumbered(plain.substr(at, end - at))) != kWords.end()) return true;
    at = end + 1;
  }
  return false;
}

// "user:secret@host", and "//secret@host" where nobody is named; a digest of an image is no host.
void add_before_hosts(std::string_view text, Parts& parts) {
  const auto ends_word = [](char c) { return is_space(c) || is_quote(c) || c == '/' || c == '<' || c == '>'; };
  std::size_t begin = 0;
  for (std::size_t end = 0; end <= text.size(); ++end) {
    if (end < text.size() && !ends_word(text[end])) continue;
    const std::string_view word = text.substr(begin, end - begin);
    const std::size_t host = word.rfind('@');
    if (host != word.npos && host > 0 && !word.substr(host).starts_with("@sha256:")) {
      const std::size_t colon = word.substr(0, host).find(':');
      const bool of_url = begin >= 2 && text.substr(begin - 2, 2) == "//";
      if (colon != word.npos && colon + 1 < host) parts.push_back({begin + colon + 1, host - colon - 1});
      if (colon == word.npos && of_url) parts.push_back({begin, host});
    }
    begin = end + 1;
  }
}

// What stands behind a name and its sign, up to where the value ends.
TextPart value_at(std::string_view text, std::size_t at, char sign, bool certain, bool spaced) {
  const std::size_t from = at;
  while (at < text.size() && is_space(text[at])) ++at;
  std::size_t slashes = 0;
  while (at + slashes < text.size() && text[at + slashes] == '\\') ++slashes;
  if (at + slashes < text.size() && is_quote(text[at + slashes])) {
    const char quote = text[at + slashes];
    const std::size_t begin = at + slashes + 1;
    std::size_t before = 0;
    for (std::size_t end = begin; end < text.size(); ++end) {
      if (text[end] == quote && before <= slashes) return {begin, end - before - begin};
      before = text[end] == '\\' ? before + 1 : 0;
    }
    return {begin, text.size() - begin};
  }
  if (at < text.size() && (text[at] == '[' || text[at] == '{')) {  // everything in it
    std::size_t depth = 0;
    for (std::size_t end = at; end < text.size(); ++end) {
      depth += text[end] == '[' || text[end] == '{' ? 1 : 0;
      if ((text[end] == ']' || text[end] == '}') && --depth == 0) return {at + 1, end - at - 1};
    }
    return {at + 1, text.size() - at - 1};
  }
  // Of make and of files of settings, `NAME = value`, where all of the line is one word: what stands behind a blank is
  // another word to a shell.
  if (sign == '=' && at != from && spaced && text.substr(from, at - from).find('\n') == text.npos) {
    const std::string_view word = text.substr(at, text.find_first_of(" \t\r\n", at) - at);
    const std::size_t behind = text.find_first_not_of(" \t", at + word.size());
    const bool alone = behind == text.npos || text[behind] == '\n' || text[behind] == '\r';
    return {at, alone && word.find_first_of("$\"'()") == word.npos ? word.size() : 0};
  }
  // Without quotes: of a query or a setting, or of a header, which has a blank behind its colon unless its name leaves
  // no doubt.
  if (sign == ':' && at == from && !certain) return {at, 0};
  if (sign == '=' && at != from) return {from, 0};
  const std::string_view ends = sign == '=' ? "&#; \t\r\n\"'" : ",}\r\n\"'";
  return {at, std::min(text.find_first_of(ends, at), text.size()) - at};
}

// "/run/secrets/token: cannot be read", "secrets.yaml:3:1": a file, and what is said of it.
bool is_file(std::string_view text, std::size_t begin, std::string_view name) {
  constexpr std::array<std::string_view, 16> kEndings = {".yaml", ".yml", ".json",  ".jsonl", ".sh",   ".py",
                                                         ".md",   ".txt", ".toml",  ".env",   ".conf", ".service",
                                                         ".log",  ".tf",  ".ipynb", ".gguf"};
  return (begin > 0 && text[begin - 1] == '/') ||
         std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

// Of the advice that says how to give a value: NAME=VALUE.
constexpr std::string_view kPlaceholder = "VALUE";

// A name of the environment, as make and files of settings set it: in a program, what stands behind another name is one
// of its own.
bool is_of_environment(std::string_view name) {
  return std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
}

// Of a list of variables, {"name": "HF_TOKEN", "value": "…"}: whose value comes next.
class NamedValue {
 public:
  // Whether what stands behind this key and its sign is the value of a secret.
  bool is_secret_behind(std::string_view key, std::string_view text, std::size_t at, char sign) {
    const std::string plain = plain_name(key);
    if (plain == "name") {
      // Of a text that is all names none is followed to its end: one that goes on may end as that of a secret.
      const std::size_t seen = std::min(at + 2 * kLongestName, text.size());
      const TextPart name = value_at(text.substr(0, seen), at, sign, false, is_of_environment(key));
      const bool goes_on = name.begin + name.size == seen && seen < text.size();
      secret_ = goes_on || is_secret_variable(text.substr(name.begin, name.size));
    }
    return plain == "value" && std::exchange(secret_, false);
  }

 private:
  bool secret_ = false;
};

// `[NAME]=value` of a table of bash's, `["name"] = value` of a program's; an index that is no text is no name.
bool ends_key(std::string_view text, std::size_t at, std::string_view name) {
  return text[at] == ']' && !name.empty() && (is_quote(text[at - 1]) || is_of_environment(name));
}

// `name=value`, `NAME = value`, `name: value` and `"name": "value"`, escaped as often as it may be.
void add_named(std::string_view text, Parts& parts) {
  std::size_t begin = 0;
  std::size_t size = 0;  // of the last name
  bool open = false;     // the name still grows
  bool is_key = false;   // it stood in brackets: behind a colon is the body of `if x in ["name"]:`
  NamedValue named;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool of_make = (c == ':' || c == '?' || c == '+') && text.substr(at + 1, 1) == "=";  // NAME := value
    if (!of_make && (c == '=' || c == ':')) {
      std::string_view name = text.substr(begin, size);
      while (name.ends_with('\\')) name.remove_suffix(1);
      const bool is_name = !name.empty() && !(c == ':' && (is_key || is_file(text, begin, name)));
      if (is_name && (named.is_secret_behind(name, text, at + 1, c) || is_secret_variable(name))) {
        TextPart value = value_at(text, at + 1, c, is_secret(name), is_of_environment(name));
        if (is_key && !is_quote(text[value.begin - 1]))  // the table's own bracket
          value.size = std::min(text.substr(value.begin, value.size).find(')'), value.size);
        const std::string_view given = text.substr(value.begin, value.size);
        if (value.size > 0 && given != kPlaceholder && !is_count(name, given)) {
          parts.push_back(value);
          at = value.begin + value.size - 1;
        }
      }
      size = 0;
      open = false;
    } else if (is_in_name(c)) {
      if (!open) {
        begin = at;
        size = 0;
        is_key = false;
      }
      open = true;
      ++size;
    } else if (is_quote(c) || is_blank(c) || of_make || ends_key(text, at, text.substr(begin, size))) {
      is_key = is_key || c == ']';
      open = false;
    } else {
      size = 0;
      open = false;
    }
  }
}

// Of SGLang, or one that nobody knows: --api-keyy.
bool is_secret_option(std::string_view name) {
  const std::string plain = plain_name(name);
  return find_field(plain) ? is_secret_plain(plain) : looks_secret(name);
}

// A blank, or the one that documents keep words together by.
std::size_t blanks_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kNoBreak = "\xC2\xA0";
  const std::size_t begin = at;
  while (at < text.size() && (is_blank(text[at]) || text.substr(at).starts_with(kNoBreak)))
    at += is_blank(text[at]) ? 1 : kNoBreak.size();
  return at - begin;
}

// An option and its value inside a longer text: "--api-key SECRET".
void add_options(std::string_view text, Parts& parts) {
  std::size_t end = 0;
  for (std::size_t first = text.find("--"); first != text.npos; first = text.find("--", end)) {
    for (end = first + 2; end < text.size() && is_in_name(text[end]);) ++end;
    const std::size_t begin = end + blanks_at(text, end);
    if (begin == end || begin == text.size() || text[begin] == '-') continue;
    // A name may hold what others begin with. Those that are longer than what is looked at of a name are all alike.
    std::size_t at = first;
    while (at < end && !is_secret_option(text.substr(at + 2, end - at - 2)))
      at = text.find("--", std::max(at + 1, end - std::min(end, kLongestName + 2)));
    if (at < end) parts.push_back({begin, std::min(text.find_first_of(" \t\r\n\"'", begin), text.size()) - begin});
  }
}

// Where a word stands by itself; npos where it does not.
std::size_t find_word(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_in_name(text[at - 1])) && (end == text.size() || !is_in_name(text[end]))) return at;
  }
  return text.npos;
}

// Behind what a command's -p is a password: sshpass, and the log-in to a registry; npos where it is none.
std::size_t log_in(std::string_view command) {
  constexpr std::array<std::string_view, 9> kPrograms = {"docker", "podman", "nerdctl", "buildah", "skopeo",
                                                         "helm",   "oras",   "crane",   "az"};
  if (const auto at = find_word(command, "sshpass"); at != command.npos) return at;
  const auto at = find_word(command, "login");
  const auto names = [&](std::string_view program) {
    return find_word(command.substr(0, at), program) != command.npos;
  };
  return at != command.npos && std::ranges::any_of(kPrograms, names) ? at : command.npos;
}

// "docker login -p SECRET", -p=SECRET and -pSECRET.
void add_logins(std::string_view text, Parts& parts) {
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find_first_of(";|&\n", begin), text.size());
    while (end < text.size() && end > begin && text[end - 1] == '\\')
      end = std::min(text.find('\n', end + 1), text.size());
    const std::size_t from = log_in(text.substr(begin, end - begin));
    const std::size_t option = from == text.npos ? from : text.substr(0, end).find(" -p", begin + from);
    if (option < end) {
      std::size_t value = option + 3;
      if (value < text.size() && text[value] == '=') ++value;
      value += blanks_at(text, value);
      const bool quoted = value < text.size() && is_quote(text[value]);
      const std::string ends = quoted ? std::string(1, text[value]) : " \t\r\n;|&\"'";
      if (quoted) ++value;
      const std::size_t stop = std::min(text.find_first_of(ends, value), text.size());
      if (stop > value) parts.push_back({value, stop - value});
    }
    begin = end + 1;
  }
}

bool is_of_key(char c) { return is_alnum(c) || c == '_' || c == '-'; }

// Also behind the dashes of an option.
bool begins_a_word(std::string_view text, std::size_t at) {
  while (at > 0 && text[at - 1] == '-') --at;
  return at == 0 || !is_of_key(text[at - 1]);
}

// hf_chat_template_name, npm_config_cache_min_age: somebody's words, none of which is as long as what is drawn by
// chance.
bool is_made_of_words(std::string_view name) {
  constexpr std::size_t kLongestWord = 15;
  std::size_t run = 0;
  for (const char c : name) {
    run = is_alnum(c) ? run + 1 : 0;
    if (run > kLongestWord) return false;
  }
  return true;
}

// Keys that whoever gives them out marks by how they begin.
constexpr std::size_t kShortestMarked = 20;

void add_marked(std::string_view text, Parts& parts) {
  struct Mark {
    std::string_view start;
    std::size_t shortest;
    bool has_points = false;
  };
  constexpr std::array<Mark, 18> kMarks = {{{"hf_", kShortestMarked},
                                            {"eyJ", 30, true},  // a web token: {" of a JSON object in base64
                                            {"ghu_", kShortestMarked},
                                            {"ghr_", kShortestMarked},
                                            {"gsk_", kShortestMarked},
                                            {"npm_", kShortestMarked},
                                            {"ASIA", kShortestMarked},
                                            {"sk-", kShortestMarked},
                                            {"ghp_", kShortestMarked},
                                            {"gho_", kShortestMarked},
                                            {"ghs_", kShortestMarked},
                                            {"github_pat_", kShortestMarked},
                                            {"glpat-", kShortestMarked},
                                            {"xoxb-", kShortestMarked},
                                            {"xoxp-", kShortestMarked},
                                            {"nvapi-", kShortestMarked},
                                            {"AKIA", kShortestMarked},
                                            {"AIza", 30}}};
  for (const Mark& mark : kMarks) {
    std::size_t end = 0;
    for (std::size_t at = text.find(mark.start); at != text.npos; at = text.find(mark.start, end)) {
      end = at + 1;
      if (!begins_a_word(text, at)) continue;
      while (end < text.size() && (is_of_key(text[end]) || (mark.has_points && text[end] == '.'))) ++end;
      const bool name = mark.start.ends_with('_') && is_made_of_words(text.substr(at, end - at));
      if (end - at >= mark.shortest && !name) parts.push_back({at, end - at});
    }
  }
}

// "token SECRET", with its name, so that the secret is looked for behind that name only.
void add_phrases(std::string_view text, Parts& parts) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_in_name(text[end])) ++end;
    const std::string_view name = text.substr(at, end - at);
    if (!name.empty() && is_secret(name)) {
      const std::size_t value = std::min(text.find_first_not_of(" \t", end), text.size());
      const std::size_t behind = std::min(text.find_first_of(" \t\r\n", value), text.size());
      if (value > end && behind > value && !is_count(name, text.substr(value, behind - value)))
        parts.push_back({at, behind - at});
    }
    at = std::max(end, at + 1);
  }
}

// What a header carries behind the name of its scheme.
void add_schemes(std::string_view text, Parts& parts) {
  const std::string lower = ascii_lower(text);
  for (const std::string_view scheme : {"bearer", "basic"}) {
    std::size_t end = 0;
    for (std::size_t at = lower.find(scheme); at != lower.npos; at = lower.find(scheme, at + 1)) {
      std::size_t begin = at + scheme.size();
      if ((at > 0 && is_alnum(lower[at - 1])) || begin == lower.size()) continue;
      if (lower.substr(begin, 3) == "%20") {
        begin += 3;
      } else if (is_blank(lower[begin]) || lower[begin] == '+') {
        while (begin < lower.size() && (is_blank(lower[begin]) || lower[begin] == '+')) ++begin;
      } else {
        continue;
      }
      // "Bearer Bearer SECRET" names it twice; where one value ends is where those within it do.
      if (begin >= end) end = std::min(lower.find_first_of(" \t\r\n\"'\\,;&", begin), lower.size());
      if (end > begin) parts.push_back({begin, end - begin});
    }
  }
}

// Who knows the path of a webhook may write there.
void add_webhooks(std::string_view text, Parts& parts) {
  constexpr std::string_view kAuthority = "://";
  std::size_t end = 0;
  for (std::size_t at = text.find(kAuthority); at != text.npos; at = text.find(kAuthority, end)) {
    const std::size_t begin = at + kAuthority.size();
    end = std::min(text.find_first_of(" \t\r\n\"'\\", begin), text.size());
    const std::string url = ascii_lower(text.substr(begin, end - begin));
    const std::size_t path = url.find('/');
    if (path == std::string::npos || path + 1 == url.size()) continue;
    if (url.find("webhook") != std::string::npos || url.substr(0, path).find("hooks.") != std::string::npos) {
      parts.push_back({begin + path + 1, end - begin - path - 1});
    }
  }
}

// "token_paddings", "key_length": a part of the name says that it counts.
bool says_count(std::string_view plain) {
  constexpr std::array<std::string_view, 20> kCounting = {
      "padding", "paddings", "size",    "sizes", "len",   "length",   "limit",  "count", "num",      "budget",
      "batch",   "ratio",    "buckets", "rate",  "steps", "interval", "window", "port",  "capacity", "threshold"};
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t end = std::min(plain.find('_', at), plain.size());
    if (std::ranges::find(kCounting, plain.substr(at, end - at)) != kCounting.end()) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

bool is_count(std::string_view name, std::string_view value) {
  constexpr std::array<std::string_view, 5> kFlags = {"true", "false", "null", "none", "auto"};
  if (std::ranges::find(kFlags, ascii_lower(value)) != kFlags.end()) return true;
  constexpr std::size_t kMostDigits = 7;  // of a number of tokens
  const bool digits = value.size() <= kMostDigits && std::ranges::all_of(value, is_digit);
  if (digits && says_count(plain_name(name))) return true;
  const bool number = std::ranges::none_of(value, [](char c) { return std::isalpha(static_cast<unsigned char>(c)); });
  return number && (value.size() < 4 || plain_name(name).ends_with("tokens"));
}

bool is_secret(std::string_view name) { return is_secret_plain(plain_name(name)); }

// SGLang's own options are no secrets unless they are known to be: --max-total-tokens counts.
bool is_secret_variable(std::string_view name) {
  const std::string plain = plain_name(name);
  return find_field(plain) ? is_secret_plain(plain) : is_secret_by_anybody(plain);
}

bool looks_secret(std::string_view name) {
  constexpr std::size_t kSlips = 2;
  const std::string plain = plain_name(name.substr(0, name.find('=')));
  // What services call their keys where they call them anything: --wandb-api.
  const bool of_service = ends_in(plain, "api") || ends_in(plain, "wandb");
  return is_secret_by_anybody(plain) || (of_service && !is_nearly_open(plain)) ||
         (has_secret_word(plain) && !is_nearly_open(plain)) ||
         std::ranges::any_of(
             std::array<std::string_view, 4>{"api_key", "admin_api_key", "ssl_keyfile_password", "password"},
             [&](std::string_view near) { return edit_distance(plain, near, kSlips) <= kSlips; });
}

bool is_nearly_open_option(std::string_view name) {
  constexpr std::size_t kFewLetters = 3;
  const std::string plain = plain_name(name.substr(0, name.find('=')));
  return plain.size() > kFewLetters && is_nearly_open(plain);
}

namespace {

// In their order, those that overlap as one.
Parts apart(Parts parts) {
  std::ranges::sort(parts, {}, &TextPart::begin);
  Parts out;
  for (const TextPart& part : parts) {
    if (!out.empty() && part.begin < out.back().begin + out.back().size) {
      const std::size_t end = std::max(part.begin + part.size, out.back().begin + out.back().size);
      out.back().size = end - out.back().begin;
    } else {
      out.push_back(part);
    }
  }
  return out;
}

// A text with the bytes that %3D and its like stand for, and where each of its bytes stood.
struct Decoded {
  std::string text;
  std::vector<std::size_t> from;  // one more for its end
};

Decoded decoded(std::string_view text) {
  Decoded out;
  for (std::size_t at = 0; at < text.size();) {
    unsigned code = 0;
    const auto* const digits = text.data() + at + 1;
    const bool is_code = text[at] == '%' && at + 2 < text.size() && is_hex(digits[0]) && is_hex(digits[1]) &&
                         std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2;
    out.from.push_back(at);
    out.text += is_code ? static_cast<char>(code) : text[at];
    at += is_code ? 3 : 1;
  }
  out.from.push_back(text.size());
  return out;
}

// Signs without which a form is not there. All values of a launch are looked at, and most have none.
enum Sign : std::uint8_t { kAt = 1, kColon = 2, kEquals = 4, kDash = 8, kGap = 16 };

unsigned signs_of(std::string_view text) {
  constexpr std::array<std::uint8_t, 256> kSigns = [] {
    std::array<std::uint8_t, 256> signs{};
    signs['@'] = kAt;
    signs[':'] = kColon;
    signs['='] = kEquals;
    signs['-'] = kDash;
    for (const char gap : {' ', '\t', '+', '%'}) signs[static_cast<unsigned char>(gap)] = kGap;
    return signs;
  }();
  unsigned found = 0;
  for (const char c : text) found |= kSigns[static_cast<unsigned char>(c)];
  return found;
}

Parts parts_by_form(std::string_view text) {
  const unsigned signs = signs_of(text);
  Parts parts;
  if ((signs & kAt) != 0) add_before_hosts(text, parts);
  if ((signs & kColon) != 0 && text.find("://") != text.npos) add_webhooks(text, parts);
  if ((signs & (kEquals | kColon)) != 0) add_named(text, parts);
  if ((signs & kDash) != 0 && text.find("--") != text.npos) add_options(text, parts);
  if ((signs & kDash) != 0 && text.find(" -p") != text.npos) add_logins(text, parts);
  if ((signs & kGap) != 0) add_schemes(text, parts);
  if (text.size() >= kShortestMarked) add_marked(text, parts);
  return parts;
}

// Also those of a query that is itself a parameter of one, whose signs are written as %3D or %253D.
Parts parts_of_any_form(std::string_view text) {
  constexpr int kMostTimes = 3;
  Parts parts = parts_by_form(text);
  std::string_view last = text;
  Decoded outer;
  for (int times = 0; times < kMostTimes && last.find('%') != last.npos; ++times) {
    Decoded inner = decoded(last);
    if (inner.text.size() == last.size()) break;
    if (times > 0)
      std::ranges::transform(inner.from, inner.from.begin(), [&](std::size_t at) { return outer.from[at]; });
    outer = std::move(inner);
    last = outer.text;
    for (const auto& [begin, size] : parts_by_form(last))
      parts.push_back({outer.from[begin], outer.from[begin + size] - outer.from[begin]});
  }
  return parts;
}

}  // namespace

std::vector<TextPart> secret_parts(std::string_view text) { return apart(parts_of_any_form(text)); }

std::vector<TextPart> secret_parts_of_value(std::string_view value) {
  Parts parts = parts_of_any_form(value);
  if (value.find(' ') != value.npos || value.find('\t') != value.npos) add_phrases(value, parts);
  return apart(std::move(parts));
}

void hide_parts(const std::vector<TextPart>& parts, std::string& text) {
  if (parts.empty()) return;
  std::string shown;
  std::size_t at = 0;
  for (const TextPart& part : parts) {
    shown.append(text, at, part.begin - at).append(kHidden);
    at = part.begin + part.size;
  }
  text = shown.append(text, at);
}

void hide_parts(std::string& text) { hide_parts(secret_parts(text), text); }

void hide_value_parts(std::string& value) { hide_parts(secret_parts_of_value(value), value); }

}  // namespace preflight::commands
