// Source: argparse.py of CPython 3.11 (_parse_known_args, _parse_optional, _get_values) and
// srt/arg_groups/argparse_actions.py of each release.
#include "src/args/argument_parser.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "src/args/convert.h"
#include "src/python/json_text.h"
#include "src/args/option_index.h"
#include "src/python/text.h"

namespace preflight::args {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

// A word as argparse classifies it.
struct Word {
  enum Kind : std::uint8_t { kValue, kOption, kSeparator } kind = kValue;
  const Option* option = nullptr;   // null for an option nobody knows
  std::string_view name = {};       // the full option string, as the table has it
  std::size_t explicit_at = kNone;  // where the value after "=" starts
};

class ArgumentParser {
 public:
  ArgumentParser(Release release, CommandLine line)
      : release_(release), index_(OptionIndex::of(release)), line_(std::move(line)) {
    result_.release = release;
    result_.raw = LaunchFields(release);
    seen_.resize(index_.options().size(), false);
  }

  ParseOutcome run() {
    if (!classify() || !consume() || !complete()) return std::move(*stop_);
    result_.argv = std::move(line_.words);
    return std::move(result_);
  }

 private:
  bool stop(std::string kind, std::string_view flag, std::string message, SourceRange where) {
    stop_ = UsageError{std::move(kind), std::string(flag), std::move(message), std::move(where),
                       std::move(result_.warnings)};
    return false;
  }
  bool raise(std::string exception, std::string function, std::string message, SourceRange where) {
    stop_ = ParseRefusal{
        {std::move(exception), std::move(function), std::move(message)}, std::move(where), std::move(result_.warnings)};
    return false;
  }

  [[nodiscard]] SourceRange at(std::size_t word, std::size_t count = 1) const {
    SourceRange where = line_.where[word];
    where.length = static_cast<int>(count);
    return where;
  }

  bool classify() {
    words_.resize(line_.words.size());
    result_.given.reserve(line_.words.size());
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (line_.words[i] == "--") {
        words_[i].kind = Word::kSeparator;  // whatever follows is a value
        return true;
      }
      if (!classify(i)) return false;
    }
    return true;
  }

  bool classify(std::size_t i) {
    const std::string_view text = line_.words[i];
    Word& word = words_[i];
    if (text.size() < 2 || text.front() != '-') return true;
    const auto is_option = [&](const OptionName& option, std::size_t explicit_at) {
      word = {Word::kOption, &index_.option(option), option.name, explicit_at};
      return true;
    };
    if (const OptionName* option = index_.find_name(text)) return is_option(*option, kNone);
    const auto equals = text.find('=');
    const std::string_view head = text.substr(0, equals);
    const std::size_t explicit_at = equals == kNone ? kNone : equals + 1;
    if (explicit_at != kNone) {
      if (const OptionName* option = index_.find_name(head)) return is_option(*option, explicit_at);
    }
    // Abbreviations: "--opt" splits at "=", "-opt" does not but may be a short option with its value attached.
    const bool is_long = text[1] == '-';
    const auto candidates = index_.starting_with(is_long ? head : text);
    const OptionName* attached = is_long ? nullptr : index_.find_name(text.substr(0, 2));
    if (candidates.size() + (attached != nullptr ? 1 : 0) > 1) return ambiguous(i, candidates);
    if (attached != nullptr) return is_option(*attached, 2);
    if (!candidates.empty()) return is_option(candidates.front(), is_long ? explicit_at : kNone);
    if (python::looks_like_negative_number(text) || text.find(' ') != kNone) return true;
    word.kind = Word::kOption;
    return true;
  }

  bool ambiguous(std::size_t i, std::span<const OptionName> candidates) {
    const std::string& text = line_.words[i];
    std::string list;
    constexpr std::size_t kListed = 6;
    for (const auto& name : candidates.first(std::min(candidates.size(), kListed))) {
      list += (list.empty() ? "" : ", ") + std::string(name.name);
    }
    if (candidates.size() > kListed) list += fmt::format(" and {} more", candidates.size() - kListed);
    // With a space inside, argparse's sentence no longer reads as one about an ambiguous option.
    const bool plain = !python::has_space(text);
    return stop(plain ? "ambiguous" : "other", plain ? text : "",
                fmt::format("{} is short for several options: {}", text, list), at(i));
  }

  bool consume() {
    std::size_t i = 0;
    while (i < words_.size()) {
      if (words_[i].kind != Word::kOption || words_[i].option == nullptr) {
        extras_.push_back(i++);
      } else if (!take_option(i)) {
        return false;
      }
    }
    return true;
  }

  // One option with its values; `i` moves past them.
  bool take_option(std::size_t& i) {
    const std::size_t start = i++;
    const Option* option = words_[start].option;
    std::string_view name = words_[start].name;
    if (words_[start].explicit_at != kNone) {
      std::string_view value = std::string_view(line_.words[start]).substr(words_[start].explicit_at);
      if (option->arity != Arity::kNone) return take_explicit(*option, name, start, value);
      // "-hx" stands for "-h -x"; a long option without values refuses one.
      while (name[1] != '-' && !value.empty()) {
        const std::size_t length = python::character_at(value, 0).length;
        const Option* next = index_.find("-" + std::string(value.substr(0, length)));
        if (next == nullptr) break;
        option = next;
        name = next->names.front();
        value.remove_prefix(length);
        if (value.empty()) return act(*option, name, start, {}, 1);
      }
      return stop("value", option->names.front(),
                  fmt::format("{} takes no value, but \"{}\" gives it one", name, line_.words[start]), at(start));
    }
    std::size_t end = i;
    const std::size_t most = option->arity == Arity::kNone                                       ? 0
                             : option->arity == Arity::kOne || option->arity == Arity::kOptional ? 1
                                                                                                 : words_.size();
    while (end < words_.size() && end - i < most && words_[end].kind == Word::kValue) ++end;
    if (end == i && (option->arity == Arity::kOne || option->arity == Arity::kSome)) {
      return stop("expected", option->names.front(),
                  fmt::format("{} needs {}", name, option->arity == Arity::kOne ? "a value" : "at least one value"),
                  at(start));
    }
    given_.clear();
    for (std::size_t k = i; k < end; ++k) given_.push_back({line_.words[k], k});
    const std::size_t count = end - start;
    i = end;
    return act(*option, name, start, given_, count);
  }

  bool take_explicit(const Option& option, std::string_view name, std::size_t start, std::string_view value) {
    given_.clear();
    if (value != "--") given_.push_back({value, start});  // argparse drops a "--" among the values, here too
    return act(option, name, start, given_, 1);
  }

  struct Given {
    std::string_view text;
    std::size_t word;
  };

  bool act(const Option& option, std::string_view name, std::size_t start, std::span<const Given> given,
           std::size_t count) {
    seen_[static_cast<std::size_t>(&option - index_.options().data())] = true;
    Value value;
    if (option.action != ActionKind::kHelp && option.arity != Arity::kNone && !values_of(option, given, value)) {
      return false;
    }
    result_.given.push_back({option.field, name, line_.words[start], at(start, count), start < line_.from_config});
    switch (option.action) {
      case ActionKind::kHelp:
        return stop("other", "", fmt::format("{} prints the options and starts nothing", name), at(start));
      case ActionKind::kStore:
        return store(option, std::move(value));
      case ActionKind::kStoreTrue:
        return store(option, option.constant);
      case ActionKind::kBooleanOptional:
        return store(option, !name.starts_with("--no-"));
      case ActionKind::kLoraPaths:
        return lora_paths(option, value, start);
      case ActionKind::kDeprecated:
        deprecated(option, name);
        return true;
      case ActionKind::kRetired:
        return stop("other", "", fmt::format("{} is no option of this release any more; drop it", name), at(start));
      case ActionKind::kDeprecatedStoreTrue:
        deprecated(option, name);
        return store(option, true);
      case ActionKind::kDeprecatedStoreConst:
        deprecated(option, name);
        return store(option, option.constant);
      case ActionKind::kDeprecatedAliasStore:
        deprecated(option, name);
        return store(option, std::move(value));
    }
    return true;
  }

  bool store(const Option& option, Value value) {
    result_.raw.set(option.field, std::move(value));
    return true;
  }

  void deprecated(const Option& option, std::string_view name) {
    const std::string_view instead = option.row->replaced_by;
    result_.warnings.push_back({"WARNING", "print_deprecated_warning",
                                instead.empty() ? fmt::format("{} is deprecated", name)
                                                : fmt::format("{} is deprecated; use {}", name, instead)});
  }

  bool values_of(const Option& option, std::span<const Given> given, Value& value) {
    if (given.empty() && option.arity == Arity::kOptional) {
      value = option.constant;
      return true;
    }
    if (given.size() == 1 && (option.arity == Arity::kOne || option.arity == Arity::kOptional)) {
      return converted(option, given.front(), value) && is_choice(option, given.front(), value);
    }
    Value::List list(given.size());
    for (std::size_t k = 0; k < given.size(); ++k) {
      if (!converted(option, given[k], list[k])) return false;
    }
    for (std::size_t k = 0; k < given.size(); ++k) {
      if (!is_choice(option, given[k], list[k])) return false;
    }
    value = Value::list(std::move(list));
    return true;
  }

  bool converted(const Option& option, const Given& given, Value& value) {
    auto result = convert(option.converter, given.text, release_);
    if (result) {
      value = std::move(*result);
      return true;
    }
    auto& fault = result.error();
    std::string message = fmt::format("{}: \"{}\" {}", option.names.front(), given.text.substr(0, 200), fault.reason);
    if (fault.exception.empty()) return stop("value", option.names.front(), std::move(message), at(given.word));
    return raise(std::move(fault.exception), std::move(fault.function), std::move(message), at(given.word));
  }

  bool is_choice(const Option& option, const Given& given, const Value& value) {
    if (option.row == nullptr || !option.row->has_choices) return true;
    const std::string number = value.is_string() ? std::string() : value.repr();
    const std::string_view text = value.is_string() ? std::string_view(value.as_string()) : number;
    const auto choices = option.row->choices;
    if (choices.holds(text)) return true;
    std::string list;
    for (const auto choice : choices) list += (list.empty() ? "" : ", ") + std::string(choice);
    const std::string_view shown = given.text.substr(0, 200);
    stop("choice", option.names.front(),
         fmt::format("{} does not take \"{}\"; it takes {}", option.names.front(), shown, list), at(given.word));
    std::get<UsageError>(*stop_).value = shown;
    return false;
  }

  // --lora-paths PATH | NAME=PATH | JSON object. Its errors are not argparse's: they end the launch as exceptions.
  bool lora_paths(const Option& option, const Value& value, std::size_t start) {
    Value::List paths;
    for (const auto& item : value.as_list()) {
      const std::string_view text = python::strip(item.as_string());
      if (!text.starts_with('{') || !text.ends_with('}')) {
        paths.emplace_back(text);
        continue;
      }
      auto object = python::json_loads(text);
      if (!object) {
        const auto kind = object.error().kind;
        return raise(kind == python::JsonFault::kTooDeep         ? "RecursionError"
                     : kind == python::JsonFault::kTooManyDigits ? "ValueError"
                                                                 : "JSONDecodeError",
                     "__call__", fmt::format("--lora-paths: {} is not valid JSON", text.substr(0, 200)), at(start));
      }
      if (object->find("lora_path") == nullptr || object->find("lora_name") == nullptr) {
        return raise("AssertionError", "__call__",
                     fmt::format("--lora-paths: {} lacks lora_name or lora_path", text.substr(0, 200)), at(start));
      }
      paths.push_back(std::move(*object));
    }
    return store(option, Value::list(std::move(paths)));
  }

  // What argparse says once all words were read.
  bool complete() {
    std::string missing;
    for (const std::size_t k : index_.required()) {
      if (!seen_[k]) missing += (missing.empty() ? "" : ", ") + std::string(index_.options()[k].names.front());
    }
    if (!missing.empty()) {
      return stop("required", missing, fmt::format("{} is required and was not given", missing), SourceRange{});
    }
    if (extras_.empty()) return true;
    std::string words;
    for (const auto k : extras_) {
      if (k != extras_.front()) words += ' ';
      words += line_.words[k];
    }
    std::size_t run = 1;
    while (run < extras_.size() && extras_[run] == extras_.front() + run) ++run;
    return stop("unrecognized", python::strip(words), fmt::format("nothing takes these arguments: {}", words),
                at(extras_.front(), run));
  }

  Release release_;
  const OptionIndex& index_;
  CommandLine line_;
  std::vector<Word> words_;
  std::vector<Given> given_;
  std::vector<bool> seen_;           // one per option
  std::vector<std::size_t> extras_;  // words that no option took
  ServerArgs result_;
  std::optional<ParseOutcome> stop_;
};

}  // namespace

ParseOutcome parse_words(Release release, CommandLine line) { return ArgumentParser(release, std::move(line)).run(); }

}  // namespace preflight::args
