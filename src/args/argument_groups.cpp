#include "src/args/argument_groups.h"

#include <algorithm>

#include "src/python/text.h"

namespace preflight::fix {
namespace {

using args::Arity;
using args::Option;
using args::OptionIndex;

// Exact, or the one option that the word begins.
const Option* meant(const OptionIndex& index, std::string_view name) {
  if (const Option* exact = index.find(name)) return exact;
  if (!name.starts_with("--")) return nullptr;
  const auto candidates = index.starting_with(name);
  return candidates.size() == 1 ? &index.option(candidates.front()) : nullptr;
}

// A word with a blank in it is none to argparse, unless that stands in the value of an option that it has.
bool looks_like_option(const OptionIndex& index, const std::string& word) {
  if (word.size() < 2 || word.front() != '-' || word == "--" || python::looks_like_negative_number(word)) return false;
  if (word.find(' ') == std::string::npos) return true;
  const auto equals = word.find('=');
  return equals != std::string::npos && meant(index, std::string_view(word).substr(0, equals)) != nullptr;
}

std::size_t most_values(const Option* option) {
  if (option == nullptr) return static_cast<std::size_t>(-1);
  if (option->arity == Arity::kNone) return 0;
  if (option->arity == Arity::kOne || option->arity == Arity::kOptional) return 1;
  return static_cast<std::size_t>(-1);
}

}  // namespace

std::vector<std::string> Group::values() const {
  if (words.empty()) return {};
  if (const auto equals = words.front().find('='); is_option() && equals == name.size()) {
    return {words.front().substr(equals + 1)};
  }
  return {words.begin() + (is_option() ? 1 : 0), words.end()};
}

std::vector<Group> group_arguments(Release release, const std::vector<std::string>& words,
                                   const std::vector<SourceRange>& where) {
  const OptionIndex& index = OptionIndex::of(release);
  std::vector<Group> groups;
  std::size_t i = 0;
  while (i < words.size()) {
    Group g;
    g.origin = static_cast<int>(groups.size());
    if (i < where.size()) g.where = where[i];
    g.words = {words[i]};
    if (looks_like_option(index, words[i])) {
      const auto equals = words[i].find('=');
      g.name = words[i].substr(0, equals);
      g.option = meant(index, g.name);
      ++i;
      const std::size_t most = equals == std::string::npos ? most_values(g.option) : 0;
      while (i < words.size() && g.words.size() - 1 < most && words[i] != "--" && !looks_like_option(index, words[i])) {
        g.words.push_back(words[i++]);
      }
    } else {
      ++i;
    }
    g.where.length = static_cast<int>(g.words.size());
    groups.push_back(std::move(g));
  }
  return groups;
}

std::vector<std::string> words_of(const std::vector<Group>& groups) {
  std::vector<std::string> words;
  for (const Group& g : groups) words.insert(words.end(), g.words.begin(), g.words.end());
  return words;
}

std::vector<std::string> with_values(const Group& group, const std::string& name,
                                     const std::vector<std::string>& values) {
  const bool joined = group.is_option() && group.words.front().size() > group.name.size();  // --option=value
  if (joined && values.size() == 1) return {name + "=" + values.front()};
  std::vector<std::string> words = {name};
  words.insert(words.end(), values.begin(), values.end());
  return words;
}

const Option* option_of(Release release, Field field) {
  const Option* found = nullptr;
  for (const Option& o : OptionIndex::of(release).options()) {
    if (o.row == nullptr || o.field != field || o.action == args::ActionKind::kHelp) continue;
    const bool stores = o.action == args::ActionKind::kStore || o.action == args::ActionKind::kStoreTrue ||
                        o.action == args::ActionKind::kBooleanOptional || o.action == args::ActionKind::kLoraPaths;
    if (stores) return &o;
    if (found == nullptr) found = &o;
  }
  return found;
}

std::string_view usual_name(const Option& option) {
  const auto it = std::find_if(option.names.begin(), option.names.end(),
                               [](std::string_view n) { return n.starts_with("--") && !n.starts_with("--no-"); });
  return it == option.names.end() ? option.names.front() : *it;
}

std::optional<std::vector<std::string_view>> names_here(Release release, std::string_view typed) {
  std::vector<std::string_view> names;
  const args::OptionIndex& index = args::OptionIndex::of(release);
  const auto add = [&](std::string_view name) {
    if (index.find(name) != nullptr && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  bool known = false;
  for (const Release r : supported_releases()) {
    const Option* option = args::OptionIndex::of(r).find(typed);
    if (option == nullptr || option->row == nullptr) continue;
    known = true;
    add(option->row->replaced_by);
    if (const Option* same = option_of(release, option->field)) add(usual_name(*same));
  }
  if (!known) return std::nullopt;
  if (typed == kAttentionGroups) add("--dp-size");  // beside --enable-dp-attention, which then counts them
  for (const Release r : supported_releases()) {    // and the other way: what it takes the place of
    for (const Option& before : args::OptionIndex::of(r).options()) {
      if (before.row != nullptr && before.row->replaced_by == typed) add(usual_name(before));
    }
  }
  return names;
}

}  // namespace preflight::fix
