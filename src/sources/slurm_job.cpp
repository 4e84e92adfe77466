#include "src/sources/slurm_job.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "src/base/limits.h"
#include "src/base/number_text.h"
#include "src/sources/memory_amount.h"

namespace preflight::sources {
namespace {

struct Job {
  std::optional<std::uint64_t> memory = {};  // bytes
  std::string memory_by = {};
  std::optional<int> cards = {};  // of a node
  std::string cards_by = {};
  std::optional<int> all_cards = {};  // of all nodes
  int nodes = 0;                      // 0: nobody said how many
  bool whole = false;                 // --exclusive: all cards of a node
};

std::optional<int> number(std::string_view text) {
  const auto out = number_in<int>(text);
  return out && *out >= 0 && *out <= static_cast<int>(limits::kCards) ? out : std::nullopt;
}

// gpu, gpu:2, gpu:b60:2: the last part where it is a number, else one.
std::optional<int> cards_of(std::string_view asked) {
  const auto last = asked.substr(asked.rfind(':') + 1);
  if (!last.empty() && last.find_first_not_of("0123456789") == std::string_view::npos) return number(last);
  return asked.find('(') == std::string_view::npos ? std::optional(1) : std::nullopt;
}

void take(std::string_view option, std::string_view value, Job& job) {
  if (option == "--mem") {
    job.memory = bytes_of_slurm(value);
    job.memory_by = option;
  } else if (option == "--gres") {
    for (std::size_t from = 0; from < value.size();) {
      const std::size_t end = std::min(value.find(',', from), value.size());
      const std::string_view one = value.substr(from, end - from);
      if (one == "gpu" || one.starts_with("gpu:")) job.cards = cards_of(one), job.cards_by = option;
      from = end + 1;
    }
  } else if (option == "--gpus-per-node") {
    job.cards = cards_of(value);
    job.cards_by = option;
  } else if (option == "--gpus" || option == "-G") {
    job.all_cards = cards_of(value);
    if (!job.cards) job.cards_by = option;
  } else if (option == "--nodes" || option == "-N") {
    job.nodes = number(value).value_or(0);
  }
}

// "--gres=gpu:2", "--gres gpu:2", "-N 1", "-N1".
void read(const std::vector<std::string_view>& words, Job& job) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view w = words[i];
    job.whole = job.whole || w.starts_with("--exclusive");
    const std::size_t equals = w.find('=');
    const bool letter = w.size() > 1 && w[0] == '-' && w[1] != '-';
    if (letter && w.size() > 2)
      take(w.substr(0, 2), w.substr(2), job);
    else if (equals != std::string_view::npos)
      take(w.substr(0, equals), w.substr(equals + 1), job);
    else if (w.starts_with('-') && i + 1 < words.size() && !words[i + 1].starts_with('-'))
      take(w, words[i + 1], job);
  }
}

void put(const Job& job, facts::ContainerView& host) {
  if (job.memory) host.memory = facts::MemoryLimit{*job.memory, job.memory_by};
  const auto cards = job.cards ? job.cards : job.nodes == 1 ? job.all_cards : std::nullopt;
  if (cards && *cards > 0 && !job.whole)
    host.cards = facts::CardLimit{.count = *cards, .nodes = {}, .said_by = job.cards_by};
}

}  // namespace

static std::vector<std::string_view> words_of_lines(std::string_view script) {
  constexpr std::string_view kMark = "#SBATCH";
  std::vector<std::string_view> words;
  for (std::size_t from = 0; from < script.size();) {
    const std::size_t end = std::min(script.find('\n', from), script.size());
    std::string_view line = script.substr(from, end - from);
    from = end + 1;
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '#') break;
    if (!line.starts_with(kMark)) continue;
    line.remove_prefix(kMark.size());
    line = line.substr(0, line.find(" #"));
    while (true) {
      line.remove_prefix(std::min(line.find_first_not_of(" \t\r\""), line.size()));
      if (line.empty()) break;
      words.push_back(line.substr(0, line.find_first_of(" \t\r\"")));
      line.remove_prefix(words.back().size());
    }
  }
  return words;
}

void take_job_lines(std::string_view script, facts::ContainerView& host) {
  Job job;
  read(words_of_lines(script), job);
  put(job, host);
}

void take_job_options(const std::vector<ShellWord>& words, std::size_t at, std::size_t to, facts::ContainerView& host,
                      std::string_view script) {
  std::vector<std::string_view> known;
  for (std::size_t i = at + 1; i < to && i < words.size(); ++i) {
    if (words[i].unknowns.empty()) known.emplace_back(words[i].text);
  }
  Job job;
  read(words_of_lines(script), job);
  read(known, job);
  put(job, host);
}

}  // namespace preflight::sources
