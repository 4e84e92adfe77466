// Edits carried out on an argument list.
#include <algorithm>

#include "src/fix/edits.h"

namespace preflight::fix {
namespace {

void replace_values(const Edit& e, const args::OptionIndex& index, Group& g) {
  const std::string name = e.name.empty() ? g.name : e.name;
  g.words = with_values(g, name, e.values);
  g.name = name;
  g.option = e.name.empty() ? g.option : index.find(name);
}

void rename(const Edit& e, const args::OptionIndex& index, Group& g) {
  g.words.front() = e.name + g.words.front().substr(std::min(g.words.front().size(), g.name.size()));
  g.name = e.name;
  g.option = index.find(g.name);
}

void add(const Edit& e, const args::OptionIndex& index, std::vector<Group>& groups) {
  Group g;
  g.name = e.name;
  g.option = index.find(e.name);
  g.words = {e.name};
  g.words.insert(g.words.end(), e.values.begin(), e.values.end());
  // In front of a "--": behind it everything is a value.
  const auto end = std::find_if(groups.begin(), groups.end(), [](const Group& x) { return x.words.front() == "--"; });
  groups.insert(end, std::move(g));
}

}  // namespace

std::string key_of(const Arranged& a) {
  std::string key;
  for (const Group& g : a.groups) {
    for (const std::string& w : g.words) key += w + '\x1f';
  }
  for (const auto& [name, value] : a.env) key += '\x1e' + name + '=' + value;
  if (!a.stored_as.empty()) key += '\x1d' + a.stored_as;
  return key;
}

bool apply(const Candidate& candidate, Release release, Arranged& a) {
  const args::OptionIndex& index = args::OptionIndex::of(release);
  const std::string before = key_of(a);
  std::vector<std::size_t> dropped;
  std::vector<const Edit*> added;  // last: they would move the groups that other edits name
  for (const Edit& e : candidate.edits) {
    switch (e.kind) {
      case Edit::Kind::kAssign:
        a.env[e.name] = e.values.front();
        break;
      case Edit::Kind::kUnset:
        a.env.erase(e.name);
        break;
      case Edit::Kind::kStore:
        a.stored_as = e.name;
        break;
      case Edit::Kind::kDrop:
        dropped.push_back(*e.group);
        break;
      case Edit::Kind::kRename:
        rename(e, index, a.groups[*e.group]);
        break;
      case Edit::Kind::kSet:
        if (e.group) {
          replace_values(e, index, a.groups[*e.group]);
        } else {
          added.push_back(&e);
        }
    }
  }
  std::sort(dropped.rbegin(), dropped.rend());
  // A remedy that drops a repeated option names each of its groups as often as the option was given.
  dropped.erase(std::unique(dropped.begin(), dropped.end()), dropped.end());
  for (const std::size_t i : dropped) a.groups.erase(a.groups.begin() + static_cast<std::ptrdiff_t>(i));
  for (const Edit* e : added) add(*e, index, a.groups);
  return key_of(a) != before;
}

std::vector<ArgumentChange> changes_to(const Arranged& now, const std::vector<Group>& given, const Environment& env) {
  using Kind = ArgumentChange::Kind;
  std::vector<ArgumentChange> changes;
  for (const Group& g : given) {
    const auto at = std::ranges::find(now.groups, g.origin, &Group::origin);
    if (at == now.groups.end()) {
      changes.push_back({.kind = Kind::kDrop, .before = g.words, .where = g.where});
    } else if (at->words != g.words) {
      changes.push_back({.kind = Kind::kReplace, .before = g.words, .after = at->words, .where = g.where});
    }
  }
  for (const Group& g : now.groups) {
    if (g.origin < 0) changes.push_back({.kind = Kind::kAdd, .after = g.words});
  }
  for (const auto& [name, value] : env) {
    if (!now.env.contains(name)) changes.push_back({.kind = Kind::kUnset, .before = {name}});
  }
  const auto assigned = [](const auto& variable) { return variable.first + "=" + variable.second; };
  for (const auto& variable : now.env) {
    const auto known = env.find(variable.first);
    if (known != env.end() && known->second == variable.second) continue;
    ArgumentChange change{.kind = Kind::kAssign, .after = {assigned(variable)}};
    if (known != env.end()) change.before = {assigned(*known)};
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace preflight::fix
