// US: the argument parser's complaint as a finding, with the option that was probably meant.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "src/args/option_index.h"
#include "src/rules/refusals.h"
#include "src/rules/vllm_options.h"

namespace preflight::rules {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

template <typename Names>
std::string nearest(std::string_view typed, const Names& names, std::size_t limit) {
  std::string best;
  std::size_t distance = limit + 1;
  for (const auto& name : names) {
    const std::size_t d = edit_distance(typed, name);
    if (d < distance) {
      distance = d;
      best = name;
    }
  }
  return best;
}

std::string later_release_with(std::string_view option, Release release) {
  for (const Release r : supported_releases()) {
    if (r > release && args::OptionIndex::of(r).find(option) != nullptr) return r.text();
  }
  return {};
}

std::string earlier_release_with(std::string_view option, Release release) {
  std::string last;
  for (const Release r : supported_releases()) {
    if (r < release && args::OptionIndex::of(r).find(option) != nullptr) last = r.text();
  }
  return last;
}

std::string option_advice(std::string_view typed, Release release) {
  const args::OptionIndex& index = args::OptionIndex::of(release);
  if (const VllmOption* v = find_vllm_option(typed)) {
    if (v->sglang.empty()) return std::string(v->note);
    return fmt::format("that is vLLM's spelling; SGLang calls it {}{}{}", v->sglang, v->note.empty() ? "" : ": ",
                       v->note);
  }
  if (const std::string later = later_release_with(typed, release); !later.empty()) {
    return fmt::format("SGLang {} has this option", later);
  }
  std::string_view bare = typed;
  while (bare.starts_with("-")) bare.remove_prefix(1);
  std::vector<std::string> names;
  for (const auto& n : index.names()) names.emplace_back(n.name);
  const std::string word = "--" + std::string(bare);
  const std::string close = nearest(word, names, std::max<std::size_t>(1, bare.size() / 4));
  const std::string earlier = earlier_release_with(typed, release);
  if (!earlier.empty()) {
    return close.empty() ? fmt::format("the option is gone since SGLang {}", earlier)
                         : fmt::format("the option is gone since SGLang {}; did you mean {}?", earlier, close);
  }
  return close.empty() ? std::string("remove it, or look it up among the options of this release")
                       : fmt::format("did you mean {}?", close);
}

}  // namespace

Diagnostic usage_diagnostic(const UsageError& usage, Release release) {
  const bool unknown = usage.kind == "unrecognized";
  const std::string_view id = unknown                     ? "US001"
                              : usage.kind == "ambiguous" ? "US002"
                              : usage.kind == "choice"    ? "US003"
                                                          : "US004";
  const Rule* rule = find_rule(id);
  Diagnostic d;
  d.rule = id;
  d.message = usage.message.empty() ? std::string(rule->summary) : usage.message;
  d.why = rule->why;
  d.source = rule->source;
  d.where = usage.where;
  const args::OptionIndex& index = args::OptionIndex::of(release);
  const std::string flag = usage.flag.substr(0, usage.flag.find_first_of("= "));
  if (const args::Option* option = index.find(flag)) {
    if (option->row != nullptr) d.field = option->field;
  }
  d.fix = unknown ? option_advice(flag, release) : std::string(rule->fix);
  return d;
}

}  // namespace preflight::rules
