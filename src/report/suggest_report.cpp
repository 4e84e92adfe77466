// Tested by tests/suggest_test.cpp.
#include "src/report/suggest_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/base/counted.h"
#include "src/base/limits.h"
#include "src/base/shell_words.h"
#include "src/report/facts_text.h"
#include "src/report/json_dump.h"
#include "src/report/printable.h"

namespace preflight::report {
namespace {

using Json = nlohmann::ordered_json;

// "NAME=VALUE --option value", as it is typed around the server's name.
std::string words_text(const std::vector<std::string>& words, const Environment& env) {
  std::string out;
  for (const auto& [name, value] : env) out += name + "=" + shell_word(value) + " ";
  return printable(out + shell_words(words));
}

const char* holding(std::size_t launches) { return launches == 1 ? "holds" : "hold"; }

std::string cut_off_text() {
  return fmt::format(
      "Not all ways to share these cards were tried: one run tries {} launches. A width that is given (-- --tp-size N) "
      "or fewer cards leave fewer.\n",
      limits::kSuggestTries);
}

std::string nothing_text(const Suggestions& s) {
  std::string out = fmt::format("No launch was found in {} that were tried.\n", s.attempts);
  if (s.nearest) {
    out += fmt::format("Nearest: {}\n         {}\n", words_text(s.nearest->arguments, s.nearest->env),
                       printable(s.nearest->why));
  }
  for (const WayOut& r : s.remedies) {
    out += fmt::format("With {}: {} ({} tokens)\n", r.what, words_text(r.arguments, r.env), r.tokens);
  }
  if (s.cut_off) return out + cut_off_text();
  if (!s.remedies.empty()) return out;
  if (s.uncounted) {
    return out +
           "Whether any launch holds it is not known: `memory` counts with what --weights-gib says, once a server's "
           "log has told it.\n";
  }
  if (!s.lacks_room)
    return out +
           "More such cards, host memory or a shorter context would not mend it, and no other form of it that is known "
           "was found to do.\n";
  if (s.most_cards <= 1) return out + "No shorter context and no other form of it that is known was found to do.\n";
  return out + fmt::format(
                   "No shorter context, no other form of it that is known, no count of up to {} such cards and no "
                   "host memory beside them was found to do.\n",
                   s.most_cards);
}

std::string kernel_text(const SuggestedKernel& k) {
  if (k.passed == 0) return fmt::format("   kernel: not run: {}\n", printable(k.not_run));
  std::string out = fmt::format("   kernel: {} of {} cases pass on {} (our OpenCL kernels, not SGLang's)\n", k.passed,
                                k.cases, printable(k.device));
  if (!k.not_run.empty()) out += fmt::format("   kernel: not run: {}\n", printable(k.not_run));
  return out;
}

std::string left_out_text(const LeftOut& l) {
  return fmt::format("Left out, its kernels did not pass here: {}\n   {}\n", words_text(l.arguments, l.env),
                     printable(l.why));
}

std::string launch_text(const SuggestedLaunch& c, std::int64_t context) {
  std::string out = fmt::format("   {}; weights {:.2f} of {:.2f} GiB{}; fraction {:.3f}; {}, {} at once, {} of {}\n",
                                counted(c.cards, "card"), c.memory.weights, c.memory.device,
                                c.memory.exact ? "" : " (about)", c.memory.fraction, counted(c.tokens, "token"),
                                counted(c.requests, "request"), c.held, counted(context, "token"));
  if (c.replicas > 1)
    out += fmt::format("   {} data-parallel ranks with {} each\n", c.replicas, counted(c.memory.tokens, "token"));
  if (c.warnings > 0) out += fmt::format("   {}: `check` tells\n", counted(c.warnings, "warning"));
  if (c.kernel) out += kernel_text(*c.kernel);
  for (const std::string& cost : c.gives_up) out += fmt::format("   gives up: {}\n", printable(cost));
  return out;
}

// "skipped": not run, which is no pass; "partial": what ran passes, and some did not run.
Json kernel_json(const SuggestedKernel& k) {
  const char* whole = k.not_run.empty() ? "pass" : "partial";
  Json out = {{"verdict", k.passed == 0 ? "skipped" : whole}, {"passed", k.passed}, {"cases", k.cases}};
  if (!k.device.empty()) out["device"] = k.device;
  if (!k.not_run.empty()) out["not_run"] = k.not_run;
  return out;
}

// Variables are told where there are any.
Json with_env(Json out, const Environment& env) {
  if (!env.empty()) out["env"] = env;
  return out;
}

// Keys that `memory` has, too, are of one replica, as there; what all hold stands together.
Json launch_json(const SuggestedLaunch& c) {
  Json out = {{"arguments", c.arguments},
              {"cards", c.cards},
              {"replicas", c.replicas},
              {"tokens", c.memory.tokens},
              {"requests_at_once", c.memory.requests},
              {"requests_at_context", c.held / std::max<std::int64_t>(c.replicas, 1)},
              {"together", {{"tokens", c.tokens}, {"requests_at_once", c.requests}, {"requests_at_context", c.held}}},
              {"loaded_gib", c.memory.weights},
              {"loaded_exact", c.memory.exact},
              {"mem_fraction_static", c.memory.fraction},
              {"warnings", c.warnings},
              {"gives_up", c.gives_up}};
  if (c.kernel) out["kernel"] = kernel_json(*c.kernel);
  return with_env(std::move(out), c.env);
}

}  // namespace

std::string suggestions_text(const Suggestions& s, const MachineFacts& facts, const Style& style) {
  std::string out = facts_head(facts, style);
  for (const LeftOut& l : s.left_out) out += left_out_text(l);
  if (s.launches.empty() && !s.left_out.empty())
    return out + fmt::format("{} {} what is asked, and the kernels of none that was run passed here.\n",
                             counted(s.found, "launch"), holding(s.found));
  if (s.found == 0) return out + nothing_text(s);
  int number = 0;
  for (const SuggestedLaunch& c : s.launches) {
    out += fmt::format("{}. {}\n", ++number, printable(launch_command(c.arguments, c.env)));
    out += launch_text(c, s.context);
  }
  out += fmt::format("\n{} {} resolved and checked, {} {} what is asked.\n", counted(s.attempts, "launch"),
                     s.attempts == 1 ? "was" : "were", s.found, holding(s.found));
  return s.cut_off ? out + cut_off_text() : out;
}

std::string suggestions_json(const Suggestions& s, const MachineFacts& facts) {
  Json list = Json::array();
  for (const SuggestedLaunch& c : s.launches) list.push_back(launch_json(c));
  Json out = {
      {"facts", facts_json(facts)}, {"context", s.context}, {"attempts", s.attempts}, {"suggestions", std::move(list)}};
  if (s.cut_off) out["cut_off"] = true;
  if (s.found == 0 && s.nearest)
    out["nearest"] = with_env({{"arguments", s.nearest->arguments}, {"why", s.nearest->why}}, s.nearest->env);
  if (!s.left_out.empty()) {
    Json& list_of = out["left_out"] = Json::array();
    for (const LeftOut& l : s.left_out)
      list_of.push_back(with_env({{"arguments", l.arguments}, {"why", l.why}}, l.env));
  }
  Json remedies = Json::array();
  for (const WayOut& r : s.remedies) {
    remedies.push_back(with_env({{"with", r.what}, {"arguments", r.arguments}, {"tokens", r.tokens}}, r.env));
  }
  out["remedies"] = std::move(remedies);
  return json_dump(out) + "\n";
}

}  // namespace preflight::report
