// Tested by tests/suggest_test.cpp.

#include <algorithm>
#include <cctype>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/base/counted.h"
#include "src/commands/check_options.h"
#include "src/commands/folder_files.h"
#include "src/commands/subcommand.h"
#include "src/commands/suggest_kernels.h"
#include "src/commands/suggest_search.h"
#include "src/facts/device_profiles.h"
#include "src/facts/known_models.h"
#include "src/intake/conceal.h"
#include "src/report/print.h"
#include "src/report/suggest_report.h"

namespace preflight::commands {
namespace {

struct SuggestFlags {
  LaunchFlags launch;
  std::string model;
  std::int64_t context = 0;      // tokens of one request; 0 = the model's own
  std::int64_t concurrency = 1;  // requests at once, each at that context
  std::string goal = "latency";  // latency, throughput, memory
  int most = 3;
  std::string kernel_date;
  CheckFlags kernels;  // --kernel: only launches whose kernels are right here
};

constexpr int kMostCards = 16;  // of one kind that a remedy counts with
constexpr std::int64_t kLeastContext = 1024;

struct Answer {
  Search search;
  std::string condition = {};  // of every remedy
  std::vector<report::WayOut> remedies = {};
  bool lacks_room = true;                     // where nothing was found: more of it may do
  std::optional<Miss> missed = {};            // the nearest of the last condition under which nothing was found
  std::size_t holding = 0;                    // launches that hold what is asked
  std::optional<JudgedLaunches> judged = {};  // --kernel; `search.found` are those kept
};

// The same question, with nothing tried yet.
Search begun_anew(Search s) {
  s.found.clear();
  s.tried.clear();
  s.in_vain.clear();
  s.attempts = 0;
  return s;
}

void count(Search& s, const Search& other) {
  s.attempts += other.attempts;
  s.tries_left = other.tries_left;
  s.cut_off = s.cut_off || other.cut_off;
}

// The same search under another condition; its plainest launch is the remedy. Replicas do not count as the least.
bool first_of(Answer& a, Search condition, const std::string& what, bool only_the_least = true) {
  Search other = begun_anew(std::move(condition));
  other.only_the_least = only_the_least;
  search(other);
  count(a.search, other);
  a.missed = other.found.empty() ? std::move(other.nearest) : std::nullopt;
  if (other.found.empty()) return false;
  const Suggestion& c = *std::ranges::min_element(
      other.found, {}, [](const Suggestion& x) { return std::tuple(x.cards, x.warnings, x.half_cache); });
  a.remedies.push_back({.what = what + a.condition, .arguments = c.arguments, .env = c.env, .tokens = c.tokens()});
  return true;
}

// The model's own limit, or what the nearest miss holds. True where a launch of it was found.
bool look_for_a_context(Answer& a, std::int64_t limit) {
  const Search& s = a.search;
  std::int64_t context = s.wish.context;
  if (limit > 0 && context > limit) {
    context = limit;
  } else if (s.nearest && s.nearest->reach > 0) {
    context = s.nearest->reach;
    if (context >= kLeastContext) context = context / kLeastContext * kLeastContext;
  }
  if (context <= 0 || context >= s.wish.context) return false;
  const auto with_context = [&] {
    Search other = s;
    other.wish.context = context;
    other.wish.context_given = true;
    other.nearest.reset();  // of another context
    return other;
  };
  const std::string what = fmt::format("a context of {} tokens", context);
  return first_of(a, with_context(), what) || first_of(a, with_context(), what, false);
}

// Words that stand in names for how weights are stored.
bool names_a_form(std::string_view rest) {
  constexpr std::array<std::string_view, 12> kForms{"fp8",  "awq",   "gptq",    "int4",   "int8",      "w4a16",
                                                    "w8a8", "mxfp4", "dynamic", "static", "pertensor", "4bit"};
  while (!rest.empty() && rest.front() == '-') {
    rest.remove_prefix(1);
    const std::string word = ascii_lower(std::string(rest.substr(0, rest.find('-'))));
    if (std::ranges::none_of(kForms, [&](std::string_view f) { return word.starts_with(f); })) return false;
    rest.remove_prefix(word.size());
  }
  return rest.empty();
}

// The same model as others published it: known ids whose name is this one's and a form.
std::vector<std::string_view> published_forms(const std::string& model) {
  const std::string_view name = std::string_view(model).substr(model.find_last_of('/') + 1);
  std::vector<std::string_view> out;
  for (const std::string_view id : facts::known_model_ids()) {
    const std::string_view other = id.substr(id.rfind('/') + 1);
    if (other.size() > name.size() && other.starts_with(name) && names_a_form(other.substr(name.size())))
      out.push_back(id);
  }
  return out;
}

void look_for_a_form(Answer& a, const std::string& model) {
  const Search& s = a.search;
  for (const std::string_view id : published_forms(model)) {
    Search other = s;
    other.base[1] = std::string(id);
    if (first_of(a, std::move(other), fmt::format("the checkpoint {}", id))) return;
  }
  auto models = s.inputs.models->with_stored_as(model, "fp8");
  if (!models) return;
  Search other = s;
  other.inputs.models = std::move(models);
  first_of(a, std::move(other), "a checkpoint of this model stored in fp8 (blocks of 128)");
}

void look_for_cards(Answer& a) {
  const Search& s = a.search;
  if (facts::is_integrated(s.inputs.device)) return;
  const bool width_given = s.given.contains(Field::tp_size) || s.given.contains(Field::pp_size);
  for (int cards = s.inputs.device.count + 1; cards <= kMostCards; ++cards) {
    Search other = s;
    other.inputs.device.count = cards;
    if (!width_given) other.more_cards_than = cards - 1;
    if (first_of(a, std::move(other), counted(cards, "such card"))) return;
  }
}

// The host's memory is an integrated GPU's already.
void look_for_host_memory(Answer& a) {
  if (facts::is_integrated(a.search.inputs.device)) return;
  Search other = begun_anew(a.search);
  const auto found = with_host_memory(other);
  count(a.search, other);
  if (!found) return;
  const auto option = std::ranges::find(found->arguments, "--cpu-offload-gb");
  if (option == found->arguments.end() || option + 1 == found->arguments.end()) return;
  a.remedies.push_back(
      {.what = fmt::format("{} GiB of each card's weights in host memory, read for every token (slow)", *(option + 1)) +
               a.condition,
       .arguments = found->arguments,
       .env = found->env,
       .tokens = found->tokens()});
}

// Nothing was counted, for what is not known of the weights: no number of cards changes that.
bool not_counted(const Search& s) { return s.uncounted && !s.counted; }

// What room would mend, where room is what is lacking; every other launch is refused on any number of cards.
void look_for_ways_out(Answer& a, std::int64_t limit, const std::string& model) {
  Search& s = a.search;
  const bool beyond = limit > 0 && s.wish.context > limit;
  a.lacks_room = s.short_of_room || s.uncounted || beyond;
  const bool shorter = a.lacks_room && look_for_a_context(a, limit);
  if (beyond && !shorter && a.missed) {  // what stands in the way of any context, before what is in that of this one
    a.missed->why += fmt::format("; and a context of {} tokens is more than the model's {}", s.wish.context, limit);
    s.nearest = std::move(a.missed);
  }
  if (beyond) {  // no other form and no card takes more
    s.wish.context = limit;
    a.condition = fmt::format(", and a context of {} tokens", limit);
    if (shorter) return;
  }
  look_for_a_form(a, model);
  if (!a.lacks_room || not_counted(s)) return;
  look_for_cards(a);
  look_for_host_memory(a);
}

// They were tried with their secrets, and are shown without.
void conceal_all(Answer& a) {
  Search& s = a.search;
  const auto hide = [&](Words& words) { words = concealed(s.inputs.release, std::move(words)); };
  for (Suggestion& c : s.found) hide(c.arguments);
  for (report::WayOut& r : a.remedies) hide(r.arguments);
  if (a.judged) {
    for (report::LeftOut& l : a.judged->left_out) hide(l.arguments);
  }
  if (!s.nearest) return;
  hide_in(s.nearest->why, s.inputs);
  hide(s.nearest->arguments);
}

// What of it is told.
report::Suggestions told(const Answer& a, int most) {
  const Search& s = a.search;
  report::Suggestions out{.context = s.wish.context,
                          .found = a.holding,
                          .remedies = a.remedies,
                          .attempts = s.attempts,
                          .lacks_room = a.lacks_room,
                          .most_cards = facts::is_integrated(s.inputs.device) ? 1 : kMostCards,
                          .uncounted = not_counted(s),
                          .cut_off = s.cut_off};
  if (s.nearest) out.nearest = {s.nearest->why, s.nearest->arguments, s.nearest->env};
  for (const Suggestion& c : s.found) {
    if (static_cast<int>(out.launches.size()) >= most) break;
    out.launches.push_back({.arguments = c.arguments,
                            .env = c.env,
                            .cards = c.cards,
                            .replicas = c.replicas,
                            .tokens = c.tokens(),
                            .requests = c.requests(),
                            .held = c.held(s.wish.context),
                            .memory = c.memory,
                            .warnings = c.warnings,
                            .gives_up = c.gives_up});
    if (a.judged) out.launches.back().kernel = a.judged->kernels[out.launches.size() - 1];
  }
  if (a.judged) out.left_out = a.judged->left_out;
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

void add_suggest_options(CLI::App& app, SuggestFlags& flags) {
  app.add_option("MODEL", flags.model, "A directory, or a Hugging Face id")->type_name("DIR")->required();
  add_output_options(app, flags.launch);
  add_release_option(app, flags.launch);
  add_target_options(app, flags.launch);
  app.add_option("--context", flags.context, "Tokens of one request (default: the model's own limit)")
      ->check(positive_whole());
  app.add_option("--concurrency", flags.concurrency, "Requests at once, each of that many tokens (default: 1)")
      ->check(positive_whole());
  app.add_option("--for", flags.goal, "latency, throughput or memory (default: latency)")
      ->check(CLI::IsMember({"latency", "throughput", "memory"}));
  app.add_option("--most", flags.most, "Suggestions to print (default: 3)")->check(positive_whole());
  app.add_option("--kernel-date", flags.kernel_date,
                 "Build date of sgl-kernel-xpu (YYYY-MM-DD), for the pairing rules");
  auto* kernel = app.add_flag("--kernel", flags.kernels.kernel,
                              "Run the kernels of each launch here, and leave out those whose kernels are wrong");
  add_device_options(app, flags.kernels);
  for (const char* name : {"--opencl-device", "--kernel-timeout"}) app.get_option(name)->needs(kernel);
}

// --kernel: what is wrong on this machine's device is not suggested.
Result<void> judge(const SuggestFlags& flags, bool shapes_known, Answer& a) {
  auto kernel = kernel_options(flags.kernels, false);
  if (!kernel) return tl::make_unexpected(kernel.error());
  if (!shapes_known) {
    kernel->run = false;
    kernel->why_not = "the model's shapes are not known";
  }
  a.judged = judge_kernels(a.search, *kernel, flags.most);
  a.search.found = a.judged->kept;
  return {};
}

// A second --model-path would be the one that counts, in every launch that is printed.
std::optional<Error> another_model(const PreparedLaunch& prepared) {
  const auto names = [](const GivenOption& given) {
    return given.field == Field::model_path && !given.from_config_file;
  };
  if (std::ranges::count_if(prepared.launch.args.given, names) < 2) return std::nullopt;
  return Error{"--model-path stands behind --, too: the model is given once, in front of it"};
}

std::optional<Error> no_model_by_that_name(const std::string& model) {
  std::error_code ignored;
  const bool has_blanks = std::ranges::any_of(model, [](unsigned char c) { return std::isspace(c) != 0; });
  if (!has_blanks || std::filesystem::exists(model, ignored)) return std::nullopt;
  return Error{fmt::format("{}: no id of a hub has blanks in it, and there is no such folder", model)};
}

Error nothing_known(const PreparedLaunch& prepared, const CheckOptions& rules) {
  std::string text = fmt::format("nothing is known about the model {}", prepared.unknown_model->path);
  Coverage coverage;
  for (const Diagnostic& d : findings_of(prepared, rules, coverage)) {
    if (d.rule == "MD001") text += ". " + d.fix;
  }
  return Error{text};
}

int run_suggest(const SuggestFlags& flags, const std::vector<std::string>& arguments) {
  const auto rules = rule_options(flags.kernel_date);
  if (!rules) return refuse(rules.error());
  if (auto none = no_model_by_that_name(flags.model)) return refuse(*none);
  Words base = {"--model-path", flags.model};
  base.insert(base.end(), arguments.begin(), arguments.end());
  auto input = launch_input(flags.launch, base);
  if (!input) return refuse(input.error());
  auto prepared = prepare_launch(*input);
  if (!prepared) return refuse(prepared.error());
  if (prepared->unknown_model) return refuse(nothing_known(*prepared, *rules));
  if (prepared->launch.usage) return refuse(Error{prepared->launch.usage->message});
  if (auto other = another_model(*prepared)) return refuse(*other);
  if (embeddings_not_asked_for(*prepared)) base.emplace_back("--is-embedding");
  const auto& model = prepared->launch.model;
  const std::int64_t limit = model ? model->context_len : 0;
  Answer answer{.search = {.wish = {.context = flags.context > 0 ? flags.context : limit,
                                    .context_given = flags.context > 0,
                                    .concurrency = flags.concurrency,
                                    .goal = flags.goal},
                           .rules = *rules,
                           .inputs = prepared->inputs,
                           .base = base}};
  Search& s = answer.search;
  search(s);
  // A model whose own code has to be allowed first is only known from there.
  if (s.wish.context == 0 && !s.found.empty()) s.wish.context = s.found.front().memory.context;
  if (s.found.empty()) look_for_ways_out(answer, limit, flags.model);
  std::ranges::stable_sort(s.found, [&](const Suggestion& a, const Suggestion& b) { return better(flags.goal, a, b); });
  answer.holding = s.found.size();
  const bool fits = answer.holding > 0;
  if (fits && flags.kernels.kernel) {
    if (auto done = judge(flags, !shapes_assumed(*prepared), answer); !done) return refuse(done.error());
  }
  conceal_all(answer);
  const OutputOptions output = output_options(flags.launch);
  const report::Suggestions answers = told(answer, flags.most);
  report::print(output.format == Format::kJson
                    ? report::suggestions_json(answers, *prepared->machine)
                    : report::suggestions_text(answers, *prepared->machine, report::Style(output.colour)));
  if (answer.judged) return answer.judged->status;
  return fits ? kOk : kFindings;
}

}  // namespace

Subcommand suggest_subcommand() {
  return with_flags(
      std::make_shared<SuggestFlags>(),
      {.name = "suggest",
       .what = "Launches of a model that work on these cards, each resolved and checked",
       .examples = {"suggest Qwen/Qwen3-8B",
                    "suggest deepseek-ai/DeepSeek-V2-Lite --device-profile b60 --count 2 --for throughput"}},
      add_suggest_options, run_suggest);
}

}  // namespace preflight::commands
