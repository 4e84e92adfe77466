// Tested by tests/suggest_test.cpp.
#include "src/commands/suggest.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/commands/findings.h"
#include "src/commands/memory.h"
#include "src/intake/conceal.h"
#include "src/report/facts_text.h"
#include "src/report/json_dump.h"
#include "src/report/printable.h"
#include "src/base/shell_words.h"

namespace preflight::commands {
namespace {

using Words = std::vector<std::string>;
using Json = nlohmann::ordered_json;

// One launch that was resolved and checked.
struct Candidate {
  Words arguments;
  std::int64_t cards = 1;
  bool intel_kernels = false;  // attention runs on intel_xpu
  bool half_cache = false;     // keys and values in fp8
  MemorySummary memory;
  int warnings = 0;
  std::vector<std::string> gives_up;

  [[nodiscard]] std::int64_t held(std::int64_t context) const { return context > 0 ? memory.tokens / context : 0; }
};

// Why a launch was not taken; the nearest miss is told when nothing fits: what holds more, then what is cut finer.
struct Miss {
  std::string why;
  std::int64_t tokens = -1;
  Words arguments;
  std::int64_t cards = 0;
};

// What would do where nothing fits: more cards, or the checkpoint in another form.
struct Remedy {
  std::string what;
  Words arguments;
  std::int64_t tokens = 0;
};

struct Search {
  const SuggestFlags& flags;
  const CheckOptions& rules;
  LaunchInputs inputs;
  Words base;  // the model, and what the user fixed
  std::int64_t context = 0;
  std::vector<Candidate> found = {};
  std::optional<Miss> nearest = {};
  std::vector<Remedy> remedies = {};
  std::set<Words> tried = {};
  int attempts = 0;
};

void note_miss(Search& s, Miss miss) {
  const auto rank = [](const Miss& m) { return std::pair(m.tokens, m.cards); };
  if (!s.nearest || rank(miss) > rank(*s.nearest)) s.nearest = std::move(miss);
}

// Resolves and checks exactly these words; a launch with an error, or without the room asked for, is no candidate.
void attempt(Search& s, Candidate candidate) {
  if (!s.tried.insert(candidate.arguments).second) return;
  ++s.attempts;
  auto resolved = resolve_words(s.inputs, candidate.arguments, {}, s.inputs.env);
  if (!resolved)
    return note_miss(s, {.why = resolved.error().text(), .arguments = candidate.arguments, .cards = candidate.cards});
  PreparedLaunch prepared;
  prepared.inputs = s.inputs;
  prepared.inputs.argv = candidate.arguments;
  prepared.launch = std::move(resolved->launch);
  prepared.unknown_model = std::move(resolved->unknown_model);
  if (prepared.unknown_model || !prepared.launch.accepted()) {
    const auto& refusal = prepared.launch.refusal;
    return note_miss(s, {.why = refusal ? refusal->message : "SGLang does not accept it",
                         .arguments = candidate.arguments,
                         .cards = candidate.cards});
  }
  const auto ranks = [&](Field f) { return prepared.launch[f].is_int() ? prepared.launch[f].as_int() : 1; };
  candidate.cards = ranks(Field::tp_size) * ranks(Field::pp_size);
  const auto memory = memory_summary(prepared);
  if (!memory)
    return note_miss(
        s, {.why = "its memory cannot be counted", .arguments = candidate.arguments, .cards = candidate.cards});
  Coverage coverage;
  for (const Diagnostic& d : findings_of(prepared, s.rules, coverage)) {
    if (d.severity == Severity::kError) {
      return note_miss(s, {.why = d.message, .tokens = 0, .arguments = candidate.arguments, .cards = candidate.cards});
    }
    if (d.severity == Severity::kWarning) ++candidate.warnings;
  }
  candidate.memory = *memory;
  const std::int64_t wanted = s.context * s.flags.concurrency;
  if (memory->tokens < wanted || memory->requests < s.flags.concurrency) {
    return note_miss(s, {.why = fmt::format("it holds {} tokens for {} requests; {} of {} tokens are asked for",
                                            memory->tokens, memory->requests, s.flags.concurrency, s.context),
                         .tokens = memory->tokens,
                         .arguments = candidate.arguments,
                         .cards = candidate.cards});
  }
  s.found.push_back(std::move(candidate));
}

struct Cache {
  Words words;
  const char* gives_up;
};

// What the search may change: cards, attention, the cache's width, the share of memory.
void search(Search& s) {
  const std::int64_t cards = std::max(1, s.inputs.device.count);
  const bool fixed_tp = std::any_of(s.base.begin(), s.base.end(), [](const std::string& w) {
    return w == "--tp" || w.starts_with("--tp-size") || w.starts_with("--tp=") || w.starts_with("--tensor-parallel");
  });
  std::vector<std::int64_t> widths;
  for (std::int64_t tp = 1; tp <= cards; ++tp) {
    if (fixed_tp && tp > 1) break;
    widths.push_back(tp);
  }
  const std::array<Words, 3> attention = {Words{"--attention-backend", "intel_xpu", "--page-size", "128"},
                                          Words{"--attention-backend", "intel_xpu", "--page-size", "64"},
                                          Words{"--attention-backend", "triton"}};
  const std::array<Words, 3> shares = {Words{}, Words{"--mem-fraction-static", "0.85"},
                                       Words{"--mem-fraction-static", "0.9"}};
  const std::array<Cache, 2> caches = {
      Cache{{}, ""}, Cache{{"--kv-cache-dtype", "fp8_e5m2"}, "keys and values in fp8: half the memory, less precise"}};
  for (const std::int64_t tp : widths) {
    const std::size_t before = s.found.size();
    for (const Cache& cache : caches) {
      for (const Words& share : shares) {
        for (std::size_t a = 0; a < attention.size(); ++a) {
          Candidate c{.arguments = s.base, .cards = tp, .intel_kernels = a < 2, .half_cache = !cache.words.empty()};
          const auto add = [&](const Words& words) {
            c.arguments.insert(c.arguments.end(), words.begin(), words.end());
          };
          if (tp > 1) add({"--tp-size", std::to_string(tp)});
          add(attention[a]);
          add(cache.words);
          add(share);
          if (s.flags.context > 0) add({"--context-length", std::to_string(s.flags.context)});
          if (!share.empty()) c.gives_up.push_back("a larger share of the card for the cache: less for activations");
          if (cache.gives_up[0] != '\0') c.gives_up.emplace_back(cache.gives_up);
          attempt(s, std::move(c));
        }
        // A wider share or a narrower cache is only looked for where the plain launch does not hold what is asked.
        if (s.found.size() > before) break;
      }
      if (s.found.size() > before) break;
    }
  }
}

// The same search with more cards, and with the checkpoint in blocks of fp8: the first of each that holds what is
// asked.
void look_for_remedies(Search& s, const std::string& model) {
  const auto first_of = [&](LaunchInputs inputs, std::string what) {
    Search other{.flags = s.flags, .rules = s.rules, .inputs = std::move(inputs), .base = s.base, .context = s.context};
    search(other);
    if (other.found.empty()) return false;
    const Candidate& c =
        *std::min_element(other.found.begin(), other.found.end(), [](const Candidate& a, const Candidate& b) {
          return std::tuple(a.cards, a.warnings, a.half_cache) < std::tuple(b.cards, b.warnings, b.half_cache);
        });
    s.remedies.push_back({std::move(what), c.arguments, c.memory.tokens});
    s.attempts += other.attempts;
    return true;
  };
  LaunchInputs stored = s.inputs;
  if (auto models = s.inputs.models->with_stored_as(model, "fp8")) {
    stored.models = std::move(models);
    first_of(std::move(stored), "a checkpoint of this model stored in fp8 (blocks of 128)");
  }
  for (const int cards : {2, 4, 8, 16}) {
    if (cards <= s.inputs.device.count) continue;
    LaunchInputs more = s.inputs;
    more.device.count = cards;
    if (first_of(std::move(more), fmt::format("{} such cards", cards))) break;
  }
}

// Best first. Latency: more cards share the work; throughput: requests that fit; memory: the fewest cards.
bool better(const std::string& goal, const Candidate& a, const Candidate& b) {
  const auto plain = [](const Candidate& c) { return std::tuple(c.warnings, c.half_cache, !c.intel_kernels); };
  if (goal == "memory")
    return std::tuple(a.cards, plain(a), -a.memory.tokens) < std::tuple(b.cards, plain(b), -b.memory.tokens);
  if (goal == "throughput")
    return std::tuple(plain(a), -a.memory.tokens, a.cards) < std::tuple(plain(b), -b.memory.tokens, b.cards);
  return std::tuple(plain(a), -a.cards, -a.memory.tokens) < std::tuple(plain(b), -b.cards, -b.memory.tokens);
}

// They were tried with their secrets, and are shown without.
void conceal_all(Search& s) {
  const auto hide = [&](Words& words) { words = concealed(s.inputs.release, std::move(words)); };
  for (Candidate& c : s.found) hide(c.arguments);
  for (Remedy& r : s.remedies) hide(r.arguments);
  if (!s.nearest) return;
  hide_in(s.nearest->why, s.inputs);
  hide(s.nearest->arguments);
}

std::string text_of(const Search& s, const MachineFacts& facts, const report::Style& style) {
  std::string out = report::facts_head(facts, style);
  if (s.found.empty()) {
    out += fmt::format("No launch was found in {} that were tried.\n", s.attempts);
    if (s.nearest) {
      out += fmt::format("Nearest: {}\n         {}\n", report::printable(shell_words(s.nearest->arguments)),
                         report::printable(s.nearest->why));
    }
    for (const Remedy& r : s.remedies) {
      out += fmt::format("With {}: {} ({} tokens)\n", r.what, report::printable(shell_words(r.arguments)), r.tokens);
    }
    return out;
  }
  int number = 0;
  for (const Candidate& c : s.found) {
    if (++number > s.flags.most) break;
    out += fmt::format("{}. python -m sglang.launch_server {}\n", number, report::printable(shell_words(c.arguments)));
    out += fmt::format(
        "   {} card{}; weights {:.2f} of {:.2f} GiB{}; {} tokens, {} requests at once, {} of {} tokens\n", c.cards,
        c.cards == 1 ? "" : "s", c.memory.weights, c.memory.device, c.memory.exact ? "" : " (about)", c.memory.tokens,
        c.memory.requests, std::min(c.held(s.context), c.memory.requests), s.context);
    if (c.warnings > 0) out += fmt::format("   {} warning{}: `check` tells\n", c.warnings, c.warnings == 1 ? "" : "s");
    for (const std::string& cost : c.gives_up) out += fmt::format("   gives up: {}\n", cost);
  }
  return out +
         fmt::format("\n{} launches were resolved and checked, {} hold what is asked.\n", s.attempts, s.found.size());
}

Json json_of(const Search& s, const MachineFacts& facts) {
  Json list = Json::array();
  for (const Candidate& c : s.found) {
    if (static_cast<int>(list.size()) >= s.flags.most) break;
    list.push_back({{"arguments", c.arguments},
                    {"cards", c.cards},
                    {"tokens", c.memory.tokens},
                    {"requests", c.memory.requests},
                    {"requests_at_context", std::min(c.held(s.context), c.memory.requests)},
                    {"weights_gib", c.memory.weights},
                    {"weights_exact", c.memory.exact},
                    {"mem_fraction_static", c.memory.fraction},
                    {"warnings", c.warnings},
                    {"gives_up", c.gives_up}});
  }
  Json out = {{"facts", report::facts_json(facts)},
              {"context", s.context},
              {"attempts", s.attempts},
              {"suggestions", std::move(list)}};
  if (s.found.empty() && s.nearest) out["nearest"] = {{"arguments", s.nearest->arguments}, {"why", s.nearest->why}};
  Json remedies = Json::array();
  for (const Remedy& r : s.remedies)
    remedies.push_back({{"with", r.what}, {"arguments", r.arguments}, {"tokens", r.tokens}});
  out["remedies"] = std::move(remedies);
  return out;
}

// CLI11's own tells the largest double for a limit.
CLI::Validator positive_whole() {
  return CLI::Validator(
      [](std::string& text) {
        std::int64_t number = 0;
        const bool holds = CLI::detail::lexical_cast(text, number) && number > 0;
        return holds ? std::string() : "expected a whole number above 0, not " + text;
      },
      "POSITIVE");
}

}  // namespace

void add_suggest_options(CLI::App& app, SuggestFlags& flags) {
  app.add_option("MODEL", flags.model, "A directory, or a Hugging Face id")->type_name("DIR")->required();
  add_launch_options(app, flags.launch);
  app.add_option("--context", flags.context, "Tokens of one request (default: the model's own limit)")
      ->check(positive_whole());
  app.add_option("--concurrency", flags.concurrency, "Requests at once, each of that many tokens (default: 1)")
      ->check(positive_whole());
  app.add_option("--for", flags.goal, "latency, throughput or memory (default: latency)")
      ->check(CLI::IsMember({"latency", "throughput", "memory"}));
  app.add_option("--most", flags.most, "Suggestions to print (default: 3)")->check(positive_whole());
  app.add_option("--kernel-date", flags.kernel_date,
                 "Build date of sgl-kernel-xpu (YYYY-MM-DD), for the pairing rules");
}

int run_suggest(const SuggestFlags& flags, std::vector<std::string> arguments) {
  const auto rules = rule_options(flags.kernel_date);
  if (!rules) return refuse(rules.error());
  Words base = {"--model-path", flags.model};
  base.insert(base.end(), arguments.begin(), arguments.end());
  auto input = launch_input(flags.launch, base);
  if (!input) return refuse(input.error());
  auto prepared = prepare_launch(*input);
  if (!prepared) return refuse(prepared.error());
  if (prepared->unknown_model) {
    std::string text = fmt::format("nothing is known about the model {}", flags.model);
    Coverage coverage;
    for (const Diagnostic& d : findings_of(*prepared, *rules, coverage)) {
      if (d.rule == "MD001") text += ". " + d.fix;
    }
    return refuse(Error{text});
  }
  Search s{.flags = flags, .rules = *rules, .inputs = prepared->inputs, .base = base};
  const auto& model = prepared->launch.model;
  s.context = flags.context > 0 ? flags.context : model ? model->context_len : 0;
  search(s);
  if (s.found.empty()) look_for_remedies(s, flags.model);
  std::stable_sort(s.found.begin(), s.found.end(),
                   [&](const Candidate& a, const Candidate& b) { return better(flags.goal, a, b); });
  conceal_all(s);
  const OutputOptions output = output_options(flags.launch);
  if (output.format == Format::kJson) {
    std::cout << report::json_dump(json_of(s, *prepared->machine)) << '\n';
  } else {
    std::cout << text_of(s, *prepared->machine, report::Style(output.colour));
  }
  return s.found.empty() ? kFindings : kOk;
}

}  // namespace preflight::commands
