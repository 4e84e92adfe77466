#include "src/rules/messages.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <tuple>

#include "src/base/ascii_case.h"
#include "src/base/embedded.h"

namespace preflight::rules {
namespace {

// Places that no SGLang file words, and the rules that explain places. "" matches anything.
struct Known {
  std::string_view marker;
  std::string_view kind;
  std::string_view function;
  std::string_view rule;
};

constexpr Known kForeign[] = {
    {"transformers does not recognize", "ValueError", "parse", "RF016"},
    {"unrecognized model in", "ValueError", "parse", ""},
    {"compiled with cuda enabled", "AssertionError", "_lazy_init", "RF017"},
    {"nonetype object is not subscriptable", "TypeError", "__init__", ""},
    {"instances of nonetype and int", "TypeError", "_handle_eagle_family", "RF005"},
    {"modulo by zero", "ZeroDivisionError", "check_server_args", ""},
    {"division by zero", "ZeroDivisionError", "", ""},
    {"while parsing a", "ParserError", "_parse_yaml_config", ""},
    {"mapping values are not allowed", "ScannerError", "_parse_yaml_config", ""},
    {"expecting property name", "JSONDecodeError", "", ""},
    {"expecting value line", "JSONDecodeError", "", ""},
    {"extra data line", "JSONDecodeError", "", ""},
    {"unsupported config option", "ValueError", "_convert_config_to_args", "AR001"},
    {"mamba module not available", "ValueError", "handle_mamba_backend", ""},
    {"unknown model config parser", "ValueError", "get_model_config_parser", ""},
    {"module logging has no attribute", "AttributeError", "prepare_server_args", ""},
    {"repo id must be", "", "", "RF018"},
    {"repo id must use", "", "", "RF018"},
    {"invalid connector type", "ValueError", "create_remote_connector", "RF018"},
    {"implementation is not compatible with sglang", "ValueError", "resolve_transformers_arch", "MC001"},
    {"cannot find model module", "ValueError", "resolve_transformers_arch", "MC001"},
    {"pipeline parallel is not compatible with this model", "AssertionError", "", "MC002"},
    {"ppmissinglayer object has no attribute", "AttributeError", "", "MC003"},
    {"unrecognized arguments", "", "", "US001"},
    {"ambiguous option", "", "", "US002"},
    {"invalid choice", "", "", "US003"},
    {"expected one argument", "", "", "US004"},
    {"expected at least one argument", "", "", "US004"},
    {"arguments are required", "", "", "US004"},
    {"invalid int value", "", "", "US004"},
    {"invalid float value", "", "", "US004"},
    {"ignored explicit argument", "", "", "US004"},
};

constexpr Known kRules[] = {
    {"mla", "ValueError", "handle_attention_backend_compatibility", "RF002"},
    {"", "ValueError", "deterministic_attention_backend", "RF003"},
    {"", "ValueError", "handle_deterministic_inference", "RF003"},
    {"speculative_eagle_topk", "ValueError", "handle_eagle_family", "RF004"},
    {"page_size", "ValueError", "handle_eagle_family", "RF004"},
    {"", "AssertionError", "handle_eagle_family", "RF005"},
    {"", "TypeError", "handle_eagle_family", "RF005"},
    {"", "ValueError", "handle_ngram", "RF006"},
    {"", "ValueError", "handle_dflash", "RF006"},
    {"", "ValueError", "handle_dspark", "RF006"},
    {"chunked_prefill_size", "AssertionError", "check_server_args", "RF007"},
    {"nnodes", "AssertionError", "check_server_args", "RF008"},
    {"pipeline parallelism", "AssertionError", "check_server_args", "RF009"},
    {"", "AssertionError", "check_pipeline_parallel_compat", "RF009"},
    {"", "", "handle_kv4_compatibility", "RF010"},
    {"", "", "handle_mxfp8_kv_cache_compatibility", "RF010"},
    {"", "ValueError", "handle_cache_compatibility", "RF011"},
    {"", "", "validate_mamba_no_buffer", "RF012"},
    {"", "", "validate_mamba_extra_buffer", "RF012"},
    {"", "", "handle_mamba_radix_cache", "RF012"},
    {"", "", "check_xpu_dcp", "RF013"},
    {"", "", "handle_decode_context_parallelism", "RF013"},
    {"", "ValueError", "derive_context_length", "RF014"},
    {"unknown quantization method", "ValueError", "verify_quantization", "RF019"},
    {"", "ValueError", "verify_quantization", "RF015"},
    {"", "ValueError", "create_remote_connector", "RF018"},
    {"", "ValueError", "resolve_transformers_arch", "MC001"},
    {"memory", "RuntimeError", "init_memory_pool", "PL002"},
    {"memory", "ValueError", "profile_max_num_token", "PL002"},
    {"mem_fraction_static", "", "", "PL002"},
    {"", "warning", "intel_xpu_page_constraint", "CH001"},
    {"", "warning", "handle_xpu_backends", "CH001"},
};

std::string_view bare(std::string_view function) {
  while (function.starts_with('_')) function.remove_prefix(1);
  return function;
}

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
      place.last = number(line);
      out.push_back(place);
    }
    return out;
  }();
  return all;
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

bool names(const PastedMessage& message, std::string_view function) {
  return std::ranges::any_of(message.functions, [&](const std::string& f) { return bare(f) == bare(function); });
}

bool fits(const Known& row, const PastedMessage& m, std::string_view kind, std::string_view function) {
  return (row.kind.empty() || row.kind == kind) && (row.function.empty() || row.function == bare(function)) &&
         (row.marker.empty() || holds(m.words, row.marker));
}

const Rule* rule_of(const PastedMessage& m, std::string_view kind, std::string_view function) {
  for (const Known& row : kRules) {
    if (fits(row, m, kind, function)) return find_rule(row.rule);
  }
  return nullptr;
}

}  // namespace

PastedMessage read_message(std::string_view text) {
  PastedMessage out;
  out.words = words_of(text);
  while (!text.empty()) {
    const std::string_view line = next_part(text, '\n');
    if (auto function = function_in(line); !function.empty()) out.functions.push_back(std::move(function));
    if (auto exception = exception_in(line); !exception.empty()) out.exception = std::move(exception);
    out.is_parsers = out.is_parsers || line.find("argument --") != std::string_view::npos;
    for (auto at = line.find("--"); at != std::string_view::npos; at = line.find("--", at + 2)) {
      std::size_t end = at + 2;
      while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) != 0 || line[end] == '-')) ++end;
      std::string option(line.substr(at, end - at));
      while (option.ends_with('-')) option.pop_back();
      if (option.size() > 3 && std::ranges::find(out.options, option) == out.options.end()) {
        out.options.push_back(std::move(option));
      }
    }
  }
  return out;
}

std::vector<MessagePlace> places_of(const PastedMessage& m) {
  std::vector<MessagePlace> found;
  const auto takes = [&](std::string_view kind) { return m.exception.empty() || kind.empty() || kind == m.exception; };
  for (const Known& row : kForeign) {
    if (!takes(row.kind) || !holds(m.words, row.marker)) continue;
    // Python's own words: the function of the traceback is the better witness.
    const std::string_view function = m.functions.empty() ? row.function : std::string_view(m.functions.back());
    MessagePlace place{.marker = row.marker, .kind = row.kind, .function = row.function};
    place.rule = row.rule.empty() ? rule_of(m, row.kind, function) : find_rule(row.rule);
    found.push_back(place);
  }
  for (const MessagePlace& row : table()) {
    if (takes(row.kind) && holds(m.words, row.marker)) found.push_back(row);
  }
  // An assertion without words: the function alone tells.
  if (std::ranges::none_of(found, [&](const auto& p) { return names(m, p.function); })) {
    for (const MessagePlace& row : table()) {
      if (m.functions.empty() || bare(m.functions.back()) != bare(row.function)) continue;
      MessagePlace place = row;
      place.marker = {};
      if (!m.exception.empty()) place.kind = {};
      found.push_back(place);
    }
  }
  const bool by_function = std::ranges::any_of(found, [&](const auto& p) { return names(m, p.function); });
  if (by_function) std::erase_if(found, [&](const auto& p) { return !names(m, p.function); });
  std::ranges::stable_sort(found, [&](const MessagePlace& a, const MessagePlace& b) {
    return std::tuple(a.marker.size(), a.last) > std::tuple(b.marker.size(), b.last);
  });
  std::vector<MessagePlace> out;
  for (MessagePlace& place : found) {
    const bool again = std::ranges::any_of(
        out, [&](const auto& p) { return bare(p.function) == bare(place.function) && p.file == place.file; });
    if (again) continue;
    if (place.rule == nullptr) place.rule = rule_of(m, m.exception.empty() ? place.kind : m.exception, place.function);
    out.push_back(place);
  }
  // Types of their own complain in their own words; the parser's frame around these is one.
  if (out.empty() && m.is_parsers) out.push_back({.marker = "argument", .rule = find_rule("US004")});
  return out;
}

}  // namespace preflight::rules
