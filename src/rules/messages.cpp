#include "src/rules/messages.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <iterator>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "src/base/ascii_case.h"
#include "preflight/refusal_rule.h"
#include "src/base/embedded.h"
#include "src/resolve/core/refusal_sites.h"
#include "src/rules/late_messages.h"

namespace preflight::rules {
namespace {

// Places that no SGLang file words, and the rules that explain places. "" matches anything. No rule: its refusal's
// words tell it.
struct Known {
  std::string_view marker;
  std::string_view kind;
  std::string_view function;
  std::string_view rule;
};

constexpr Known kForeign[] = {
    {"transformers does not recognize", "ValueError", "parse"},
    {"unrecognized model in", "ValueError", "parse"},
    {"compiled with cuda enabled", "AssertionError", "_lazy_init"},
    {"nonetype object is not subscriptable", "TypeError", "__init__"},
    {"instances of nonetype and int", "TypeError", "_handle_eagle_family"},
    {"modulo by zero", "ZeroDivisionError", "check_server_args"},
    {"division by zero", "ZeroDivisionError", ""},
    {"while parsing a", "ParserError", "_parse_yaml_config"},
    {"mapping values are not allowed", "ScannerError", "_parse_yaml_config"},
    {"expecting property name", "JSONDecodeError", ""},
    {"expecting value line", "JSONDecodeError", ""},
    {"extra data line", "JSONDecodeError", ""},
    {"unsupported config option", "ValueError", "_convert_config_to_args"},
    {"mamba module not available", "ValueError", "handle_mamba_backend"},
    {"unknown model config parser", "ValueError", "get_model_config_parser"},
    {"module logging has no attribute", "AttributeError", "prepare_server_args"},
    {"repo id must be", "", "", "RF018"},
    {"repo id must use", "", "", "RF018"},
    {"invalid connector type", "ValueError", "create_remote_connector"},
    {"implementation is not compatible with sglang", "ValueError", "resolve_transformers_arch", "MC001"},
    {"cannot find model module", "ValueError", "resolve_transformers_arch", "MC001"},
    {"pipeline parallel is not compatible with this model", "AssertionError", "", "MC002"},
    {"ppmissinglayer object has no attribute", "AttributeError", "", "MC003"},
};

struct ParserWords {
  std::string_view marker;
  std::string_view rule;
};

constexpr ParserWords kParsers[] = {
    {"unrecognized arguments", "US001"},
    {"ambiguous option", "US002"},
    {"invalid choice", "US003"},
    {"expected one argument", "US004"},
    {"expected at least one argument", "US004"},
    {"arguments are required", "US004"},
    {"invalid int value", "US004"},
    {"invalid float value", "US004"},
    {"ignored explicit argument", "US004"},
};

// Rules of places that are no refusals of arguments, which refusal_sites.h knows.
constexpr Known kRules[] = {
    {"", "warning", "intel_xpu_page_constraint", "CH001"},
    {"", "warning", "handle_xpu_backends", "CH001"},
    {"", "warning", "attention_backend_platform_fallbacks", "CH001"},
    {"fallback to triton", "warning", "handle_attention_backend_compatibility", "CH001"},
    {"fallback to torch_native", "warning", "handle_attention_backend_compatibility", "CH001"},
};

std::string_view bare(std::string_view function) {
  while (function.starts_with('_')) function.remove_prefix(1);
  return function;
}

// What every exception of that kind says: a place is told by it where the traceback names its function.
constexpr std::string_view kPythonsOwn = "has no attribute";

bool is_word_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string words_of(std::string_view text) {
  std::string out = " ";
  for (const char c : text) {
    if (is_word_letter(c)) {
      out += ascii_lower(c);
    } else if (out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.back() != ' ') out += ' ';
  return out;
}

bool holds(const std::string& words, std::string_view marker) {
  for (auto at = words.find(marker); at != std::string::npos; at = words.find(marker, at + 1)) {
    if (words[at - 1] == ' ' && words[at + marker.size()] == ' ') return true;
  }
  return false;
}

std::string_view next_part(std::string_view& line, char separator) {
  const std::string_view part = line.substr(0, line.find(separator));
  line.remove_prefix(std::min(part.size() + 1, line.size()));
  return part;
}

int number(std::string_view text) {
  int n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

const std::vector<MessagePlace>& table() {
  static const std::vector<MessagePlace> all = [] {
    std::vector<MessagePlace> out;
    std::string_view text = embedded::messages().front().text;
    while (!text.empty()) {
      std::string_view line = next_part(text, '\n');
      if (line.empty() || line.starts_with('#')) continue;
      MessagePlace place;
      place.marker = next_part(line, '|');
      place.kind = next_part(line, '|');
      place.function = next_part(line, '|');
      place.file = next_part(line, '|');
      place.first = number(next_part(line, '-'));
      if (const std::string_view last = next_part(line, '|'); !last.empty()) place.last = number(last);
      place.beside = line;
      out.push_back(place);
    }
    return out;
  }();
  return all;
}

// Which rows of the table have their marker in these words. Rows are found by the first word of it, so that a long log
// is gone through once.
std::vector<bool> rows_in(std::string_view words) {
  static const auto by_first_word = [] {
    std::unordered_map<std::string_view, std::vector<std::size_t>> out;
    for (std::size_t i = 0; i < table().size(); ++i) {
      const std::string_view marker = table()[i].marker;
      out[marker.substr(0, marker.find(' '))].push_back(i);
    }
    return out;
  }();
  std::vector<bool> held(table().size());
  for (std::size_t at = 1; at < words.size(); at = words.find(' ', at) + 1) {  // a space stands before and behind each
    const auto rows = by_first_word.find(words.substr(at, words.find(' ', at) - at));
    if (rows == by_first_word.end()) continue;
    for (const std::size_t row : rows->second) {
      const std::string_view marker = table()[row].marker;
      if (words.substr(at).starts_with(marker) && words[at + marker.size()] == ' ') held[row] = true;
    }
  }
  return held;
}

// Whether a marker has a word that few others have: "use no_buffer" tells more than "not supported for".
bool is_telling(std::string_view marker) {
  constexpr int kFew = 10;
  static const auto counts = [] {
    std::unordered_map<std::string_view, int> out;
    for (const MessagePlace& row : table()) {
      for (std::string_view rest = row.marker; !rest.empty();) ++out[next_part(rest, ' ')];
    }
    return out;
  }();
  while (!marker.empty()) {
    const auto count = counts.find(next_part(marker, ' '));
    if (count == counts.end() || count->second <= kFew) return true;
  }
  return false;
}

// "pkg.module.SomeError: text", "SomeError" alone, or the same behind a log's prefix.
std::string exception_in(std::string_view line) {
  std::string found;
  for (std::size_t at = 0; at < line.size();) {
    if (!is_word_letter(line[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && is_word_letter(line[end])) ++end;
    const std::string_view word = line.substr(at, end - at);
    const bool upper = std::isupper(static_cast<unsigned char>(word.front())) != 0;
    const bool named = word.ends_with("Error") || word.ends_with("Exception") || word == "OfflineModeIsEnabled";
    if (upper && named && (end == line.size() || line[end] == ':')) {
      found = word;
      break;
    }
    at = end;
  }
  return found;
}

// `File "…/x.py", line 7, in name`
std::string function_in(std::string_view line) {
  const auto in = line.rfind(", in ");
  if (line.find("File \"") == std::string_view::npos || in == std::string_view::npos) return {};
  std::string_view name = line.substr(in + 5);
  std::size_t end = 0;
  while (end < name.size() && (is_word_letter(name[end]) || name[end] == '<' || name[end] == '>')) ++end;
  return std::string(name.substr(0, end));
}

std::string file_in(std::string_view line) {
  const auto start = line.find("File \"") + 6;
  std::string path(line.substr(start, line.find('"', start) - start));
  std::ranges::replace(path, '\\', '/');
  return path;
}

// Whether a frame's path ends in the file, whose folders may be named as far as they tell.
bool is_file(std::string_view path, std::string_view file) {
  if (!path.ends_with(file)) return false;
  return path.size() == file.size() || path[path.size() - file.size() - 1] == '/';
}

bool is_sglangs(std::string_view path) { return path.find("sglang/srt/") != std::string_view::npos; }

// A file of another package, or of Python itself.
bool is_another_packages(std::string_view path) {
  const bool installed =
      path.find("-packages/") != std::string_view::npos || path.find("/lib/python") != std::string_view::npos;
  return installed && path.find("/sglang/") == std::string_view::npos;
}

// Functions that four files of a release or more define: their name alone tells no place. Another function may have
// moved to a file that the table does not know.
constexpr std::string_view kUsualNames[] = {"init__",
                                            "forward",
                                            "post_init__",
                                            "call__",
                                            "structure_info",
                                            "forward_decode",
                                            "forward_extend",
                                            "init_forward_metadata",
                                            "init_forward_metadata_out_graph",
                                            "getattr__",
                                            "setattr__",
                                            "release",
                                            "from_dict",
                                            "initialize",
                                            "init_new",
                                            "get_device",
                                            "lookup",
                                            "load_model",
                                            "set_device",
                                            "init",
                                            "configure",
                                            "get_config"};

bool names(const PastedMessage& message, std::string_view function) {
  return std::ranges::any_of(message.functions, [&](const std::string& f) { return bare(f) == bare(function); });
}

// Whether a frame is this place. Of a usual name, another file of SGLang is another place; of any, another package's.
bool is_frame(const PastedMessage& m, std::size_t frame, const MessagePlace& place) {
  const std::string_view name = bare(place.function);
  if (bare(m.functions[frame]) != name) return false;
  if (!place.file.empty() && is_another_packages(m.files[frame])) return false;
  const bool is_usual = std::ranges::find(kUsualNames, name) != std::end(kUsualNames);
  return !is_usual || place.file.empty() || is_file(m.files[frame], place.file) || !is_sglangs(m.files[frame]);
}

// Without its function: the words that others say as well beside words of its own, those of a healthy server's log
// beside its exception, Python's own never.
bool tells_alone(const PastedMessage& m, const MessagePlace& row) {
  if (row.marker == kPythonsOwn) return false;
  if (row.beside == "raised") return !m.exception.empty();
  return row.beside.empty() || (row.beside != "named" && holds(m.words, row.beside));
}

// A traceback that names files of SGLang says where it was: a place in another file, and no frame of it, did not say
// it.
bool is_elsewhere(const PastedMessage& m, const MessagePlace& place) {
  if (place.file.empty() || std::ranges::none_of(m.files, is_sglangs)) return false;
  return std::ranges::none_of(m.files, [&](const std::string& file) { return is_file(file, place.file); });
}

bool stands_in_traceback(const PastedMessage& m, const MessagePlace& place) {
  for (std::size_t i = 0; i < m.functions.size(); ++i) {
    if (is_frame(m, i, place)) return true;
  }
  return false;
}

bool fits(const Known& row, const PastedMessage& m, std::string_view kind, std::string_view function) {
  return (row.kind.empty() || row.kind == kind) && (row.function.empty() || row.function == bare(function)) &&
         (row.marker.empty() || holds(m.words, row.marker));
}

// Refusals of arguments are told apart by the words that the steps' own refusals stand for.
const Rule* rule_of(const PastedMessage& m, std::string_view kind, std::string_view function) {
  const RF refusal = resolve::rule_of_refusal(m.exception.empty() ? kind : m.exception, function, m.said);
  if (refusal != RF::kOther) return find_rule(id_of(refusal));
  for (const Known& row : kRules) {
    if (fits(row, m, kind, function)) return find_rule(row.rule);
  }
  return nullptr;
}

// A place of a traceback that a terminal cut behind its file or its line.
bool is_cut_place(std::string_view line) {
  const auto file = line.find("File \"");
  if (file == std::string_view::npos) return false;
  const auto in = line.rfind(", in");
  return in == std::string_view::npos || line.find_first_not_of(' ', in + 4) == std::string_view::npos;
}

// Longer than a path (PATH_MAX) and what stands around it: no place.
constexpr std::size_t kLongestPlace = 8192;

// Lines that a terminal wrapped inside what belongs together: behind a hyphen, or within a traceback's place.
std::string rejoined(std::string_view text) {
  std::string out;
  std::size_t begin = 0;  // of the line before
  while (!text.empty()) {
    const std::string_view line = next_part(text, '\n');
    const std::string_view before = std::string_view(out).substr(begin);
    if (before.ends_with("-\n") && before.size() > 2 && is_word_letter(before[before.size() - 3])) {
      out.pop_back();
    } else if (!before.empty() && before.size() <= kLongestPlace && is_cut_place(before.substr(0, before.size() - 1))) {
      out.pop_back();
      if (!out.ends_with('/')) out += ' ';
    } else {
      begin = out.size();
    }
    out += line;
    out += '\n';
  }
  return out;
}

// Spaces and line ends as one space each, as a terminal may have wrapped the words.
std::string on_one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!space) out += c;
    if (space && !out.empty() && out.back() != ' ') out += ' ';
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

// argparse's frame around what a type says: "argument --name/-n: …".
bool is_argument_frame(std::string_view line) {
  const auto at = line.find("argument -");
  if (at == std::string_view::npos) return false;
  const auto end = line.find_first_of(" :", at + 9);
  return end != std::string_view::npos && line[end] == ':';
}

bool stands_in(const PastedMessage& m, std::string_view function, std::string_view file) {
  for (std::size_t i = 0; i < m.functions.size(); ++i) {
    if ((function.empty() || bare(m.functions[i]) == bare(function)) && (file.empty() || is_file(m.files[i], file)))
      return true;
  }
  return function.empty() && file.empty();
}

using Places = std::vector<MessagePlace>;

// Whether the words are all that is said, but for a number before and behind them: the same few stand in longer
// messages of other places. Log lines may follow, and a terminal may have wrapped the words.
bool says_only(const PastedMessage& m, std::string_view marker) {
  const auto only = [&](std::string_view said) {
    const std::string words = words_of(said);
    const auto at = words.find(marker);
    if (at == std::string::npos) return false;
    const auto is_number = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == ' '; };
    return std::all_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at), is_number) &&
           std::all_of(words.begin() + static_cast<std::ptrdiff_t>(at + marker.size()), words.end(), is_number);
  };
  return only(m.said_line) || only(m.said);
}

bool takes(const PastedMessage& m, std::string_view kind) {
  return m.exception.empty() || kind.empty() || kind == m.exception;
}

// The parser itself: whoever reads its complaint need not look further.
Places parsers_places(const PastedMessage& m) {
  Places out;
  if (!m.exception.empty()) return out;
  for (const ParserWords& row : kParsers) {
    if (holds(m.words, row.marker)) out.push_back({.marker = row.marker, .rule = find_rule(row.rule)});
  }
  // Types of their own complain in their own words; the parser's frame around these is one.
  if (out.empty() && m.is_parsers) out.push_back({.marker = "argument", .rule = find_rule("US004")});
  return out;
}

Places late_places(const PastedMessage& m) {
  for (const LateMessage& row : late_messages()) {
    if (!takes(m, row.kind) || !stands_in(m, row.function, row.file)) continue;
    if (!row.words.empty() && !holds(m.words, row.words)) continue;
    if ((row.bare && !m.said.empty()) || (row.alone && !m.functions.empty())) continue;
    if (row.whole && !says_only(m, row.words)) continue;
    if (row.words.empty() && !row.kind.empty() && m.exception.empty()) continue;  // a traceback without its end
    MessagePlace place{.marker = row.words, .kind = row.kind, .function = row.function};
    for (std::string_view rest = row.rules; !rest.empty();) {
      const std::string_view id = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(id.size() + 1, rest.size()));
      const Rule* rule = find_rule(id);
      if (place.rule == nullptr)
        place.rule = rule;
      else if (rule != nullptr)
        place.others.push_back(rule);
    }
    return {place};
  }
  return {};
}

Places foreign_places(const PastedMessage& m) {
  Places out;
  for (const Known& row : kForeign) {
    if (!takes(m, row.kind) || !holds(m.words, row.marker)) continue;
    // Python's own words: the function of the traceback is the better witness.
    const std::string_view function = m.functions.empty() ? row.function : std::string_view(m.functions.back());
    MessagePlace place{.marker = row.marker, .kind = row.kind, .function = row.function};
    place.rule = row.rule.empty() ? rule_of(m, row.kind, function) : find_rule(row.rule);
    out.push_back(place);
  }
  return out;
}

// An assertion without words: the function alone tells.
Places places_of_function(const PastedMessage& m) {
  Places out;
  for (const MessagePlace& row : table()) {
    if (m.functions.empty() || !is_frame(m, m.functions.size() - 1, row)) continue;
    MessagePlace place = row;
    place.marker = {};
    if (!m.exception.empty()) place.kind = {};
    out.push_back(place);
  }
  return out;
}

// Options that a line names, each once: no message names more than a few, and a page about more is read by nobody.
constexpr std::size_t kMostOptions = 64;

void add_option(std::string option, std::vector<std::string>& options) {
  const bool is_new = std::ranges::find(options, option) == options.end();
  if (is_new && option.size() > 3 && options.size() < kMostOptions) options.push_back(std::move(option));
}

void add_options(std::string_view line, std::vector<std::string>& options) {
  for (auto at = line.find("--"); at != std::string_view::npos && options.size() < kMostOptions;
       at = line.find("--", at + 2)) {
    std::size_t end = at + 2;
    while (end < line.size() && (is_word_letter(line[end]) || line[end] == '-')) ++end;
    std::string option(line.substr(at, end - at));
    while (option.ends_with('-')) option.pop_back();
    add_option(std::move(option), options);
  }
  // As libraries below SGLang name them: trust_remote_code=True.
  for (auto at = line.find('='); at != std::string_view::npos; at = line.find('=', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_word_letter(line[begin - 1])) --begin;
    std::string name(line.substr(begin, at - begin));
    if (name.find('_') == std::string::npos) continue;
    std::ranges::replace(name, '_', '-');
    add_option("--" + name, options);
  }
}

}  // namespace

PastedMessage read_message(std::string_view pasted) {
  PastedMessage out;
  const std::string whole = rejoined(pasted);
  std::string_view text = whole;
  out.words = words_of(text);
  std::string_view said = text;  // behind the last exception's name, as far as its line goes
  std::string_view behind;       // and the lines after it
  while (!text.empty()) {
    const std::string_view line = next_part(text, '\n');
    if (auto function = function_in(line); !function.empty()) {
      out.functions.push_back(std::move(function));
      out.files.emplace_back(file_in(line));
    }
    if (auto exception = exception_in(line); !exception.empty()) {
      const auto end = line.find(exception) + exception.size();
      said = line.substr(line[std::min(end, line.size() - 1)] == ':' ? end + 1 : end);
      behind = text;
      out.said_line = said;
      out.exception = std::move(exception);
    }
    out.is_parsers = out.is_parsers || is_argument_frame(line);
    add_options(line, out.options);
  }
  out.said = on_one_line(std::string(said).append("\n").append(behind));
  return out;
}

// What reads a model's configuration, by transformers' class of it, and what resolves arguments: whatever raises in
// there, `check` refuses the launch for the same.
Places places_of_resolving(const PastedMessage& m) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kReaders = {{
      {"get_config", "hf_transformers/config.py"},
      {"get_config", "hf_transformers_utils.py"},
      {"from_server_args", "configs/model_config.py"},
      {"run_resolution_pipeline", ""},
      {"prepare_server_args", ""},
      {"check_server_args", ""},
  }};
  for (const auto& [function, file] : kReaders) {
    if (!m.exception.empty() && stands_in(m, function, file)) return {{.function = function}};
  }
  return {};
}

std::vector<MessagePlace> places_of(const PastedMessage& m) {
  if (Places parsers = parsers_places(m); !parsers.empty()) return parsers;
  Places found = foreign_places(m);
  const std::vector<bool> held = rows_in(m.words);
  for (std::size_t i = 0; i < held.size(); ++i) {
    const MessagePlace& row = table()[i];
    if (!held[i] || !(tells_alone(m, row) || names(m, row.function))) continue;
    if (takes(m, row.kind)) found.push_back(row);
  }
  const auto in_traceback = [&](const MessagePlace& p) { return stands_in_traceback(m, p); };
  if (std::ranges::none_of(found, in_traceback)) std::ranges::move(places_of_function(m), std::back_inserter(found));
  std::erase_if(found, [&](const MessagePlace& p) { return is_elsewhere(m, p); });
  const auto contradicted = [&](const MessagePlace& p) { return names(m, p.function) && !in_traceback(p); };
  if (std::ranges::any_of(found, in_traceback)) {
    std::erase_if(found, [&](const MessagePlace& p) { return !in_traceback(p); });
  } else {
    std::erase_if(found, contradicted);
  }
  std::ranges::stable_sort(found, [&](const MessagePlace& a, const MessagePlace& b) {
    return std::tuple(is_telling(a.marker), a.marker.size(), a.last) >
           std::tuple(is_telling(b.marker), b.marker.size(), b.last);
  });
  Places out = late_places(m);
  for (MessagePlace& place : found) {
    const bool again = std::ranges::any_of(
        out, [&](const auto& p) { return bare(p.function) == bare(place.function) && p.file == place.file; });
    if (again) continue;
    if (place.rule == nullptr) place.rule = rule_of(m, place.kind, place.function);
    out.push_back(place);
  }
  return out.empty() ? places_of_resolving(m) : out;
}

}  // namespace preflight::rules
