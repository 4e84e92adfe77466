// Each reader goes through the text once. Tested by tests/conceal_test.cpp.
#include "src/intake/open_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_set>

#include "src/args/option_index.h"
#include "src/base/ascii_case.h"
#include "src/facts/device_profiles.h"
#include "src/facts/known_models.h"
#include "src/fields/field_table.h"

namespace preflight::commands {
namespace {

using Words = std::unordered_set<std::string>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_in_part(char c) { return is_digit(c) || is_letter(c); }

template <typename See>
void each_part(std::string_view text, const See& see) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_in_part(text[end])) ++end;
    if (end > at) see(text.substr(at, end - at));
    at = end + 1;
  }
}

Words all_choices() {
  Words out;
  for (const Release release : supported_releases()) {
    for (const args::Option& option : args::OptionIndex::of(release).options()) {
      if (option.row == nullptr) continue;
      for (const std::string_view choice : option.row->choices) out.insert(ascii_lower(choice));
    }
  }
  for (const facts::DeviceProfile& profile : facts::device_profiles()) out.insert(profile.id);
  return out;
}

bool is_choice(std::string_view value) {
  static const Words kChoices = all_choices();
  return kChoices.contains(ascii_lower(value));
}

// What scripts, images and workflows are written in: programs' own words, which nobody takes for a password.
constexpr auto kUsual = std::to_array<std::string_view>(
    {"tcsh", "zsh", "fish", "sglang", "launch", "server", "serve", "start", "python", "python3", "bash", "docker",
     "podman", "compose", "kubectl", "apply", "run", "exec", "image", "latest", "install", "source", "bin", "opt",
     "setvars", "intel", "oneapi", "srun", "mpirun", "numactl", "conda", "host", "hostname", "home", "file", "name",
     "count", "url", "none", "null", "true", "false", "auto", "cat", "echo", "printf", "test", "refs", "heads", "main",
     "master", "tags", "push", "pull", "request", "branch", "release", "schedule", "manual", "always", "success",
     "failure", "cancelled", "ubuntu", "linux", "x86", "version", "workspace", "scripts", "data", "models", "logs",
     "default", "localhost", "login", "workflow", "dispatch", "event", "system", "production", "staging", "develop",
     // of the sentences that ask for what another tool makes
     "kustomize", "helm", "build", "buildx", "bake", "config", "console", "plan", "recipe", "step",
     // of what asks for an address, the nodes of a job, the memory of a card
     "ip", "route", "get", "addr", "address", "show", "link", "inet", "inet6", "dev", "via", "src", "scope", "global",
     "getent", "hosts", "hostnames", "nodelist", "job", "csv", "noheader", "nounits", "query", "format", "total",
     "free", "used", "import", "sys", "json", "pod", "pods", "jsonpath", "items", "status", "podip", "namespace",
     // of what cuts and counts text
     "space", "alnum", "alpha", "digit", "upper", "lower", "sort", "uniq", "begin", "end", "exit", "length", "split",
     "substr", "rev", "parse", "short", "whoami", "date",
     // of what counts the parts of a machine
     "grep", "awk", "print", "node", "nodes", "numa", "cpu", "cpus", "gpu", "gpus", "core", "cores", "socket",
     "devices", "lscpu", "nproc", "transformers", "mindspore", "sed", "head", "tail", "level", "warn", "warning",
     "info", "debug", "error",
     // of what names paths, and asks whether something is there
     "make", "dirname", "basename", "readlink", "realpath", "uname", "seq", "curl", "venv", "os", "path", "nvidia",
     "smi", "rocm", "xpu", "variables", "reason", "eq", "ne", "succeeded"});

// Words that options, their choices and known models are called by.
bool is_of_names(std::string_view part) {
  static const Words kNames = [] {
    Words out;
    const auto add = [&](std::string_view text) {
      each_part(text, [&](std::string_view word) { out.insert(ascii_lower(word)); });
    };
    for (const std::string_view name : resolve::field_names()) add(name);
    for (const std::string& choice : all_choices()) add(choice);
    for (const std::string_view id : facts::known_model_ids()) add(id);
    for (const std::string_view word : kUsual) out.insert(std::string(word));
    return out;
  }();
  return kNames.contains(ascii_lower(part));
}

// "node0"
bool is_numbered_name(std::string_view part) {
  constexpr std::size_t kFewDigits = 2;
  const std::size_t letters = part.find_last_not_of("0123456789") + 1;
  return part.size() - letters <= kFewDigits && is_of_names(part.substr(0, letters));
}

// "8192", "0.85", "10.0.0.1:5000", "16k", "64Gi".
bool is_number(std::string_view value) {
  constexpr std::size_t kUnit = 3;
  const std::size_t digits = value.find_first_not_of("0123456789.,:-+_%");
  const std::string_view unit = digits == value.npos ? std::string_view() : value.substr(digits);
  return value.find_first_of("0123456789") < digits && unit.size() <= kUnit && std::ranges::all_of(unit, is_letter);
}

bool is_flag(std::string_view value) {
  constexpr std::array<std::string_view, 8> kFlags = {"true", "false", "null", "none", "auto", "on", "off", "yes"};
  return std::ranges::find(kFlags, ascii_lower(value)) != kFlags.end();
}

bool is_path(std::string_view value) {
  constexpr std::array<std::string_view, 7> kStarts = {"/", "./", "../", "~/", "$", "?", kHidden};
  return std::ranges::any_of(kStarts, [&](std::string_view start) { return value.starts_with(start); });
}

// "http://localhost:30000", "http://10.0.0.1:8000/": of a server nearby, with nothing behind its port.
bool is_address(std::string_view value) {
  constexpr std::array<std::string_view, 5> kSchemes = {"http://", "https://", "grpc://", "tcp://", "ws://"};
  const auto scheme = std::ranges::find_if(kSchemes, [&](std::string_view start) { return value.starts_with(start); });
  if (scheme == kSchemes.end()) return false;
  value.remove_prefix(scheme->size());
  if (value.ends_with('/')) value.remove_suffix(1);
  constexpr std::string_view kHere = "localhost";
  if (value.starts_with(kHere)) value.remove_prefix(kHere.size());
  return value.empty() || (value.find_first_not_of("0123456789.:") == value.npos && is_number(value));
}

// A secret by what it says of itself, in one with other letters: "topsecret".
bool says_secret(std::string_view lower) {
  return std::ranges::any_of(std::array<std::string_view, 3>{"secret", "passw", "credential"},
                             [&](std::string_view word) { return lower.find(word) != lower.npos; });
}

// "PG003": so are our own rules called.
bool is_rule(std::string_view word) {
  constexpr std::size_t kFamily = 2;
  constexpr std::size_t kWhole = 5;
  return word.size() == kWhole && std::ranges::all_of(word.substr(0, kFamily), is_upper) &&
         std::ranges::all_of(word.substr(kFamily), is_digit);
}

// "GiB": of a size whose number stands in front by itself.
bool is_unit(std::string_view word) {
  constexpr std::array<std::string_view, 8> kUnits = {"kb", "kib", "mb", "mib", "gb", "gib", "tb", "tib"};
  return std::ranges::find(kUnits, ascii_lower(word)) != kUnits.end();
}

// Letters in one case; few of them may have a number. So are words that people write, and some passwords.
bool is_plain(std::string_view part) {
  constexpr std::size_t kLongest = 16;
  constexpr std::size_t kFewLetters = 5;
  constexpr std::size_t kFewDigits = 3;
  if (is_number(part) || is_of_names(part)) return true;
  const auto end = static_cast<std::size_t>(std::ranges::find_if_not(part, is_letter) - part.begin());
  const std::string_view letters = part.substr(0, end);
  const std::string_view digits = part.substr(end);
  if (letters.empty() || letters.size() > kLongest || !std::ranges::all_of(digits, is_digit)) return false;
  if (!digits.empty() && (letters.size() > kFewLetters || digits.size() > kFewDigits)) return false;
  const std::size_t upper = static_cast<std::size_t>(std::ranges::count_if(letters, is_upper));
  if (upper == 0 || (upper == 1 && is_upper(letters[0]))) return true;
  return upper == letters.size() && letters.size() <= kFewLetters;  // longer ones in capitals are names, or secrets
}

// "eth0", "n": too short to be kept secret.
bool is_short(std::string_view part) {
  constexpr std::size_t kLetters = 3;
  constexpr std::size_t kDigits = 2;
  const auto letters = static_cast<std::size_t>(std::ranges::count_if(part, is_letter));
  return is_plain(part) && letters <= kLetters && part.size() - letters <= kDigits;
}

// "publisher/model", one of whose words is a model's: what has a slash may be a secret, too.
bool is_model(std::string_view value) {
  constexpr std::size_t kLongest = 96;
  constexpr std::size_t kTelling = 3;
  const auto in_id = [](char c) { return is_in_part(c) || c == '-' || c == '_' || c == '.' || c == '/'; };
  if (value.size() > kLongest || std::ranges::count(value, '/') != 1 || value.starts_with('/') ||
      value.ends_with('/') || !std::ranges::all_of(value, in_id))
    return false;
  bool known = false;
  bool plain = true;
  each_part(value, [&](std::string_view part) {
    known = known || (part.size() >= kTelling && !is_number(part) && is_of_names(part));
    plain = plain && is_plain(part);
  });
  return known && plain;
}

// "serve.sh", "values.yaml".
bool is_file_name(std::string_view value) {
  constexpr std::array<std::string_view, 16> kEnds = {".sh",   ".py",   ".yaml", ".yml",        ".json",  ".jsonl",
                                                      ".log",  ".txt",  ".env",  ".service",    ".jinja", ".j2",
                                                      ".toml", ".gguf", ".conf", ".safetensors"};
  if (std::ranges::none_of(kEnds, [&](std::string_view end) { return value.ends_with(end); })) return false;
  bool plain = true;
  each_part(value, [&](std::string_view part) { plain = plain && is_plain(part); });
  return plain;
}

// "github.event_name", "matrix.model": what workflows call their values by.
bool is_of_context(std::string_view value) {
  constexpr std::array<std::string_view, 11> kContexts = {
      "github.", "matrix.", "inputs.", "vars.", "needs.", "runner.", "job.", "steps.", "env.", "strategy.", "item."};
  return std::ranges::any_of(kContexts, [&](std::string_view start) { return value.starts_with(start); }) &&
         std::ranges::all_of(value, [](char c) { return is_letter(c) || c == '.' || c == '_' || c == '-'; });
}

// "+%Y-%m-%d": how a date is written.
bool is_date_format(std::string_view value) {
  if (!value.starts_with("+%")) return false;
  bool plain = true;
  each_part(value, [&](std::string_view part) { plain = plain && part.size() == 1 && part.data()[-1] == '%'; });
  return plain;
}

// "--rm", "-it": the name of an option, not what it is given.
bool is_option_name(std::string_view value) {
  constexpr std::size_t kShort = 3;
  const bool is_long = value.starts_with("--");
  if (!value.starts_with('-') || (!is_long && value.size() > kShort)) return false;
  return std::ranges::all_of(value, [](char c) { return (is_letter(c) && !is_upper(c)) || c == '-'; }) ||
         (!is_long && is_letter(value[1]));
}

}  // namespace

bool is_odd_name(std::string_view name) {
  constexpr std::size_t kTelling = 8;
  const auto has = [&](int (*is)(int)) {
    return std::ranges::any_of(name, [&](unsigned char c) { return is(c) != 0; });
  };
  return name.size() >= kTelling && has(std::isupper) && has(std::islower) && has(std::isdigit);
}

bool is_open_value(std::string_view value) {
  return value.empty() || is_number(value) || is_flag(value) || is_choice(value) || is_path(value) || is_model(value) ||
         is_address(value);
}

bool is_open_word(std::string_view word) {
  constexpr int kFewShort = 2;  // more of them are a word in pieces
  if (is_open_value(word)) return true;
  if (says_secret(ascii_lower(word))) return false;
  if (is_file_name(word) || is_of_context(word) || is_option_name(word) || is_rule(word) || is_unit(word) ||
      is_date_format(word))
    return true;
  int unknown = 0;
  each_part(word, [&](std::string_view part) {
    if (!is_number(part) && !is_numbered_name(part)) unknown += is_short(part) ? 1 : kFewShort + 1;
  });
  return unknown <= kFewShort;
}

namespace {

// Goes through code word by word. What is called and assigned has a name, which is shown: a command, a variable.
class Literals {
 public:
  explicit Literals(std::string_view text) : text_(text) {}

  // `commands`: the first word of each is shown.
  void read(std::size_t begin, std::size_t end, bool commands) {
    bool first = commands;
    for (std::size_t at = begin; at < end;) {
      const char c = text_[at];
      if (c == '$') {
        at = behind_name(at + 1, end);
        if (at < end && text_[at] == '(') first = commands;
      } else if (is_in_word(c)) {
        const std::size_t from = at;
        while (at < end && is_in_word(text_[at])) ++at;
        const bool named = at < text_.size() && text_[at] == '=';
        const std::string_view word = text_.substr(from, at - from);
        const bool shows = named || (first && !is_odd_name(word)) || is_open_word(word);
        if (!shows) parts_.push_back({from, at - from});
        first = first && named;
      } else {
        if (c == '|' || c == ';' || c == '&' || c == '(' || c == '`') first = commands;
        ++at;
      }
    }
  }

  // In quotes and substitutions only.
  void read_quoted(std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      const char c = text_[at];
      std::size_t close = at;
      if (c == '#' && (at == 0 || is_blank(text_[at - 1]))) {  // a comment: whatever its words are
        close = std::min(text_.find('\n', at), end);
        read(at + 1, close, false);
        at = close;
        continue;
      }
      if (c == '$' && at + 1 < end && text_[at + 1] == '(') {
        close = behind_brackets(at + 1, end);
      } else if (c == '"' || c == '`' || (c == '\'' && opens_text(at))) {
        // A substitution in quotes has quotes of its own.
        close = std::min(text_.find(c, at + 1), end);
        // An excerpt that is cut short in quotes has no end of them: what follows is ours.
        constexpr std::string_view kCut = "\xE2\x80\xA6 ";
        if (const auto cut = text_.find(kCut, at + 1); cut < close) close = cut;
        close = at + 1 + std::min(text_.substr(at + 1, close - at - 1).find("$("), close - at - 1);
      } else {
        continue;
      }
      read(at + 1, close, c != '"' && c != '\'');
      at = c == '$' || (close < end && text_[close] == '$') ? close - 1 : close;
    }
  }

  std::vector<TextPart> take() { return std::move(parts_); }

 private:
  static bool is_in_word(char c) {
    constexpr std::string_view kSigns = "_-./:@%+~*?";
    return is_in_part(c) || static_cast<unsigned char>(c) > 0x7F || kSigns.find(c) != kSigns.npos;
  }
  // An apostrophe is none; Python's b'…' is one.
  bool opens_text(std::size_t quote) const {
    constexpr std::array<std::string_view, 8> kPrefixes = {"b", "r", "u", "f", "rb", "br", "rf", "fr"};
    std::size_t from = quote;
    while (from > 0 && quote - from < 3 && is_in_part(text_[from - 1])) --from;
    const std::string prefix = ascii_lower(text_.substr(from, quote - from));
    return prefix.empty() || std::ranges::find(kPrefixes, prefix) != kPrefixes.end();
  }
  std::size_t behind_name(std::size_t at, std::size_t end) const {
    if (at < end && text_[at] == '{') ++at;
    while (at < end && (is_in_part(text_[at]) || text_[at] == '_')) ++at;
    return at;
  }
  std::size_t behind_brackets(std::size_t at, std::size_t end) const {
    std::size_t depth = 0;
    for (; at < end; ++at) {
      if (text_[at] == '(') ++depth;
      if (text_[at] == ')' && --depth == 0) return at + 1;
    }
    return end;
  }

  std::string_view text_;
  std::vector<TextPart> parts_;
};

// Where other commands of the line end, in front of an argument, or begin, behind one.
constexpr std::string_view kBetweenCommands = ";&|)";

}  // namespace

void hide_literals(std::string& sentence) {
  const auto hide_in = [](std::string& text) {
    Literals literals(text);
    literals.read_quoted(0, text.size());
    hide_parts(literals.take(), text);
  };
  // A name that stands in front as it is may be given as it is.
  constexpr std::string_view kAdvice = "; give it with --set '";
  constexpr std::string_view kValue = "=VALUE'";
  const auto advice = sentence.rfind(kAdvice);
  if (advice != std::string::npos && sentence.ends_with(kValue)) {
    const std::size_t from = advice + kAdvice.size();
    const std::string name = sentence.substr(from, sentence.size() - std::min(sentence.size(), from + kValue.size()));
    std::string front = sentence.substr(0, advice);
    hide_in(front);
    if (!name.empty() && front.find(name) != std::string::npos) {
      sentence.replace(0, advice, front);
      return;
    }
  }
  hide_in(sentence);
}

void hide_closed_words(std::string& value) {
  Literals literals(value);
  literals.read(0, value.size(), false);
  hide_parts(literals.take(), value);
}

bool is_plain_name(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_in_part(c) || c == '_' || c == '.' || c == '-'; });
}

bool says_meaning(std::string_view name) {
  constexpr std::size_t kShort = 4;
  std::string_view last;
  each_part(name, [&](std::string_view part) { last = part; });
  return last.size() >= kShort && is_of_names(last);
}

std::string shown_word(std::string word) {
  if (std::ranges::any_of(word, is_blank)) hide_closed_words(word);
  return word;
}

void hide_typed(std::string& sentence, const std::vector<std::string>& typed) {
  constexpr std::size_t kTelling = 24;  // so much of a word's begin is that word, which a sentence may cut off
  const auto same = [](char a, char b) { return a == b || (is_blank(a) && is_blank(b)); };
  for (const std::string& word : typed) {
    const std::size_t value = word.starts_with("--") ? word.find('=') + 1 : 0;  // none: from its begin on
    const std::string_view told = std::string_view(word).substr(value);
    if (std::ranges::none_of(told, is_blank)) continue;
    const std::string_view begin = told.substr(0, kTelling);
    for (auto at = std::search(sentence.begin(), sentence.end(), begin.begin(), begin.end(), same);
         at != sentence.end(); at = std::search(at, sentence.end(), begin.begin(), begin.end(), same)) {
      const auto end = std::mismatch(at, sentence.end(), told.begin(), told.end(), same).first;
      const std::string shown = shown_word(std::string(at, end));
      const auto from = at - sentence.begin();
      sentence.replace(at, end, shown);
      at = sentence.begin() + from + std::ssize(shown);
    }
  }
}

std::vector<TextPart> closed_literals_around(std::string_view text, const std::vector<TextPart>& arguments) {
  Literals literals(text);
  std::size_t at = 0;
  const auto gap = [&](std::size_t end, bool is_last) {
    const std::string_view between = text.substr(at, end - at);
    const std::size_t newline = std::min(between.find('\n'), between.size());
    const std::size_t last_line = between.rfind('\n') == between.npos ? 0 : between.rfind('\n') + 1;
    // Behind the arguments on their line, and in front of the next ones on theirs.
    const bool behind = at > 0 && (newline < between.size() || is_last);
    const std::size_t others =
        behind ? std::min(between.substr(0, newline).find_first_of(kBetweenCommands), newline) : 0;
    if (behind) literals.read_quoted(at, at + others);
    if (behind) literals.read(at + others, at + newline, false);
    if (behind && last_line > newline) literals.read_quoted(at + newline, at + last_line);
    const std::size_t line = behind ? std::max(newline, last_line) : last_line;
    const bool front = !is_last && (at == 0 || newline < between.size());
    const std::size_t before = front ? between.substr(line).find_last_of(kBetweenCommands) : between.npos;
    const std::size_t own = before == between.npos ? line : line + before + 1;
    literals.read(at + line, at + own, false);
    literals.read_quoted(at + own, end);
  };
  for (const TextPart& argument : arguments) {
    if (argument.begin < at) continue;
    gap(argument.begin, false);
    at = argument.begin + argument.size;
  }
  gap(text.size(), true);
  return literals.take();
}

}  // namespace preflight::commands
