#include "src/fix/prose.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "src/args/argument_groups.h"

namespace preflight::fix {
namespace {

using args::Arity;
using args::Option;
using args::OptionIndex;

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; }

template <typename T>
void add_once(std::vector<T>& list, T item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(std::move(item));
}

// Words of a sentence without the punctuation around them; JSON in single quotes is one word.
std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < text.size()) {
    if (const auto close = text.substr(at).starts_with("'{") ? text.find("}'", at) : std::string_view::npos;
        close != std::string_view::npos) {
      words.push_back(text.substr(at + 1, close - at));
      at = close + 2;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \n\t", at), text.size());
    std::string_view w = text.substr(at, end - at);
    while (!w.empty() && std::string_view("(\"'").find(w.front()) != std::string_view::npos) w.remove_prefix(1);
    while (!w.empty() && std::string_view(").,;:\"'").find(w.back()) != std::string_view::npos) w.remove_suffix(1);
    if (!w.empty()) words.push_back(w);
    at = end + 1;
  }
  return words;
}

bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789.") == std::string_view::npos &&
         std::isdigit(static_cast<unsigned char>(word.front())) != 0 &&
         std::isdigit(static_cast<unsigned char>(word.back())) != 0 && std::count(word.begin(), word.end(), '.') <= 1;
}

// True when `word` can be a value of this option as advice writes it.
bool is_value_of(const Option& option, std::string_view word) {
  if (option.arity == Arity::kNone || option.row == nullptr) return false;
  if (option.row->has_choices) {
    const auto& c = option.row->choices;
    return std::find(c.begin(), c.end(), word) != c.end();
  }
  if (word.starts_with('{')) return option.field == Field::json_model_override_args;
  if (option.converter == args::Converter::kText) return word == "triton" || word == "intel_xpu" || word == "none";
  return is_number(word) || word == "-1";
}

}  // namespace

std::vector<const Option*> options_in(Release release, std::string_view text) {
  const OptionIndex& index = OptionIndex::of(release);
  std::vector<const Option*> out;
  for (auto at = text.find("--"); at != std::string_view::npos; at = text.find("--", at + 2)) {
    std::size_t end = at + 2;
    while (end < text.size() && is_name(text[end])) ++end;
    if (const Option* o = index.find(text.substr(at, end - at))) add_once(out, o);
  }
  return out;
}

std::vector<const Option*> fields_in(Release release, std::string_view text) {
  std::vector<const Option*> out;
  for (std::string_view w : words_in(text)) {
    w = w.substr(0, w.find_first_of("=."));
    if (w.find('_') == std::string_view::npos) continue;
    const auto field = find_field(w);
    if (!field || !field_exists(*field, release)) continue;
    if (const Option* o = option_of(release, *field)) add_once(out, o);
  }
  return out;
}

std::vector<std::vector<OptionValue>> advice_in(Release release, std::string_view text) {
  const OptionIndex& index = OptionIndex::of(release);
  std::vector<std::vector<OptionValue>> out(1);
  const auto words = words_in(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool ends_before =
        i > 0 && (words[i - 1].data() + words[i - 1].size() < words[i].data() - 1) &&
        std::string_view(",;").find(words[i - 1].data()[words[i - 1].size()]) != std::string_view::npos;
    if ((words[i] == "or" || ends_before) && !out.back().empty()) out.emplace_back();
    const Option* option = words[i].starts_with("--") ? index.find(words[i]) : nullptr;
    if (option == nullptr) continue;
    if (option->arity == Arity::kNone) {
      out.back().emplace_back(option, "");
    } else if (i + 1 < words.size() && is_value_of(*option, words[i + 1])) {
      out.back().emplace_back(option, std::string(words[i + 1]));
    }
  }
  std::erase_if(out, [](const auto& a) { return a.empty(); });
  return out;
}

std::vector<std::string> numbers_in(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view w : words_in(text)) {
    if (is_number(w) && w.size() < 12) add_once(out, std::string(w));
  }
  return out;
}

bool has_word(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool starts = at == 0 || !is_name(text[at - 1]);
    const bool ends = at + word.size() == text.size() || !is_name(text[at + word.size()]);
    if (starts && ends) return true;
  }
  return false;
}

}  // namespace preflight::fix
