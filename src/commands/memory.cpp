// Tested by tests/memory_sheet_test.cpp.
#include "src/commands/memory.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/commands/variation.h"
#include "src/facts/device_profiles.h"
#include "src/plan/weights.h"
#include "src/report/style.h"

namespace preflight::commands {
namespace {

using plan::MemoryInputs;
using plan::MemorySheet;
using Json = nlohmann::ordered_json;

// What SGLang takes when no fraction is given: the rest of the device is its reserve for activations and graphs.
std::optional<double> default_fraction(const LaunchInputs& inputs) {
  const auto other = resolve_words(inputs, with_options(inputs, {Field::mem_fraction_static}, {}), {}, inputs.env);
  if (!other || other->launch.resolved.empty()) return std::nullopt;
  const Value& fraction = other->launch[Field::mem_fraction_static];
  return fraction.is_number() ? std::optional(fraction.as_number()) : std::nullopt;
}

// What the draft model adds; layers of the checkpoint's own (MTP) are read from the target's path as a draft.
plan::DraftCost cost_of_draft(const Launch& launch, facts::ModelFiles& models) {
  if (launch.model == nullptr || !plan::has_draft_model(launch)) return {};
  const Value& own = launch[Field::speculative_draft_model_path];
  const Value& path = own.is_string() ? own : launch[Field::model_path];
  const facts::ModelRequest request{.release = launch.release(), .path = path.as_string(), .is_draft = true};
  const auto built = facts::build_model(models, request);
  const auto* draft = std::get_if<std::shared_ptr<const ModelFacts>>(&built.result);
  return draft == nullptr ? plan::DraftCost{} : plan::draft_cost(launch, **draft);
}

struct Row {
  std::string name;
  MemorySheet sheet;
};

std::optional<MemorySheet> sheet_of(const LaunchInputs& inputs, const std::vector<std::string>& argv,
                                    MemoryInputs given, std::string& why) {
  const auto resolved = resolve_words(inputs, argv, {}, inputs.env);
  if (!resolved) return std::nullopt;
  LaunchInputs varied = inputs;
  varied.argv = argv;
  given.advised_most = default_fraction(varied);
  given.draft = cost_of_draft(resolved->launch, *inputs.models);
  return plan::memory_sheet(resolved->launch, given, why);
}

// The same arguments on every card we know.
std::vector<Row> on_other_devices(const LaunchInputs& inputs, MemoryInputs given) {
  std::vector<Row> rows;
  given.free_gib.reset();
  for (const auto& profile : facts::device_profiles()) {
    LaunchInputs there = inputs;
    there.device.name = profile.device.name;
    there.device.memory_mib = profile.device.memory_mib;
    there.device.has_fp64 = profile.device.has_fp64;
    std::string why;
    if (auto sheet = sheet_of(there, inputs.argv, given, why)) rows.push_back({profile.id, std::move(*sheet)});
  }
  return rows;
}

// Single changes after which the launch fits, when it does not.
std::vector<Row> changes_that_fit(const LaunchInputs& inputs, const Launch& launch, const MemoryInputs& given,
                                  const MemorySheet& now) {
  std::vector<Row> rows;
  const auto attempt = [&](const std::vector<Field>& dropped, const std::vector<std::string>& added,
                           const MemoryInputs& with) {
    std::string why;
    const auto sheet = sheet_of(inputs, with_options(inputs, dropped, added), with, why);
    if (!sheet || !sheet->fits()) return;
    std::string name;
    for (const auto& w : added) name += (name.empty() ? "" : " ") + w;
    rows.push_back({name, *sheet});
  };
  if (now.least < 0.9) {
    const double raised = std::min(0.95, plan::advised_fraction(now.least) + 0.05);
    attempt({Field::mem_fraction_static}, {"--mem-fraction-static", fmt::format("{:.3f}", raised)}, given);
  }
  attempt({Field::chunked_prefill_size}, {"--chunked-prefill-size", "2048"}, given);
  if (given.weights_gib) return rows;  // measured weights do not shrink with more ranks
  const std::int64_t tp = launch[Field::tp_size].is_int() ? launch[Field::tp_size].as_int() : 1;
  for (std::int64_t wider = std::max<std::int64_t>(tp, 1) * 2; wider <= launch.device.count; wider *= 2) {
    if (launch.model != nullptr && launch.model->num_attention_heads % wider != 0) continue;
    attempt({Field::tp_size}, {"--tp-size", std::to_string(wider)}, given);
  }
  return rows;
}

std::string thousands(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string line(std::string_view label, double gib, std::string_view note) {
  return fmt::format("  {:<22}{:>8.2f} GiB  {}\n", label, gib, note);
}

std::string interval_text(const MemorySheet& s) {
  if (!s.any_fraction()) {
    return fmt::format("  none: {:.2f} GiB have to be loaded and {:.2f} GiB are free\n",
                       s.weights_gib + s.draft_gib - s.offloaded_gib, s.free_gib);
  }
  std::string out = fmt::format("  above {:.4f}: what is loaded, over the free memory; SGLang advises {:.3f} or more\n",
                                s.least, plan::advised_fraction(s.least));
  if (s.most > 0.0 && s.most > s.least) {
    out += fmt::format("  up to {:.4g}: SGLang's own choice, which leaves its reserve for activations and graphs\n",
                       s.most);
  } else if (s.most > 0.0) {
    out += fmt::format(
        "  SGLang's own choice {:.4g} lies below: a larger fraction takes from its reserve for activations\n", s.most);
  }
  return out;
}

std::string cache_text(const MemorySheet& s) {
  const auto& c = s.cost;
  std::string out = fmt::format("  {}: {} bytes a token in {} layers", c.kind, thousands(c.bytes_per_token), c.layers);
  if (c.window_layers > 0) {
    out += fmt::format(", {} in {} layers with a window (pool of {:.2g} of the tokens)",
                       thousands(c.window_bytes_per_token), c.window_layers, c.window_share);
  }
  if (c.draft_bytes_per_token > 0)
    out += fmt::format(" ({} of them for the draft)", thousands(c.draft_bytes_per_token));
  if (c.state_bytes > 0) {
    out += fmt::format(", {} bytes of state a request in {} layers", thousands(c.state_bytes), c.state_layers);
  }
  return out + "\n";
}

void print_text(const MemorySheet& s, const Launch& launch, const std::vector<Row>& changes,
                const std::vector<Row>& devices, const report::Style& style) {
  std::string out =
      style.bold(fmt::format("Memory of one GPU ({}, SGLang {})\n", launch.device.name, launch.release().text()));
  out += line(
      "device", s.device_gib,
      s.free_is_given ? fmt::format("{:.2f} GiB free before loading", s.free_gib) : "taken as free before loading");
  out += line("weights", s.weights_gib,
              s.weights_given   ? "given"
              : s.weights_exact ? launch.model->dtype
                                : "estimated, parts approximated");
  if (s.draft_gib > 0.0) out += line("draft model", s.draft_gib, "");
  if (s.offloaded_gib > 0.0) out += line("in host memory", -s.offloaded_gib, "--cpu-offload-gb");
  if (s.images_gib > 0.0) out += line("image cache", s.images_gib, "allocated after the KV cache");
  out += line("static budget", s.free_gib * s.fraction, fmt::format("--mem-fraction-static {:.4g}", s.fraction));
  if (s.state_gib > 0.0) out += line("recurrent states", s.state_gib, fmt::format("{} slots", s.state_slots));
  out += line(s.cache_gib < 0 ? "missing" : "KV cache", s.cache_gib < 0 ? -s.cache_gib : s.cache_gib,
              s.fits() ? fmt::format("{} tokens", thousands(s.tokens)) : "no token fits");
  if (s.workspace_gib > 0.0) out += line("attention workspace", s.workspace_gib, "at full context, outside the budget");
  out += cache_text(s);
  if (s.fits()) {
    out += fmt::format("  requests: {} at once at most, {} of {} tokens each\n", thousands(s.requests),
                       thousands(s.full_requests), thousands(s.context));
    if (s.full_requests == 0) {
      out += fmt::format("  {} --context-length {} is the longest that a single request can reach\n",
                         style.yellow("short:"), s.tokens);
    }
  }
  out += style.bold("--mem-fraction-static") + "\n" + interval_text(s);
  if (!s.fits()) {
    out += style.bold("What would fit") + "\n";
    if (changes.empty()) out += "  no single change of --mem-fraction-static, --chunked-prefill-size or --tp-size\n";
    for (const Row& r : changes) {
      out += fmt::format("  {:<32} {} tokens\n", r.name, thousands(r.sheet.tokens));
    }
  }
  out += style.bold("On other cards") + style.dim(" (same arguments)") + "\n";
  for (const Row& r : devices) {
    out += fmt::format("  {:<8} {:>6.1f} GiB  fraction {:<6.4g} least {:<6.3f} {}\n", r.name, r.sheet.device_gib,
                       r.sheet.fraction, r.sheet.least,
                       r.sheet.fits() ? thousands(r.sheet.tokens) + " tokens" : std::string("does not fit"));
  }
  std::cout << out;
}

Json sheet_json(const MemorySheet& s) {
  return {{"device_gib", s.device_gib},
          {"free_gib", s.free_gib},
          {"weights_gib", s.weights_gib},
          {"weights_exact", s.weights_exact},
          {"draft_gib", s.draft_gib},
          {"offloaded_gib", s.offloaded_gib},
          {"images_gib", s.images_gib},
          {"mem_fraction_static", s.fraction},
          {"least_fraction", s.least},
          {"advised_least_fraction", plan::advised_fraction(s.least)},
          {"sglang_default_fraction", s.most},
          {"workspace_gib", s.workspace_gib},
          {"state_gib", s.state_gib},
          {"state_slots", s.state_slots},
          {"cache_gib", s.cache_gib},
          {"cache_kind", s.cost.kind},
          {"bytes_per_token", s.cost.bytes_per_token},
          {"window_bytes_per_token", s.cost.window_bytes_per_token},
          {"draft_bytes_per_token", s.cost.draft_bytes_per_token},
          {"state_bytes_per_request", s.cost.state_bytes},
          {"tokens", s.tokens},
          {"window_tokens", s.window_tokens},
          {"context_tokens", s.context},
          {"requests", s.requests},
          {"requests_at_full_context", s.full_requests},
          {"fits", s.fits()}};
}

Json rows_json(const std::vector<Row>& rows) {
  Json out = Json::object();
  for (const Row& r : rows) out[r.name] = sheet_json(r.sheet);
  return out;
}

}  // namespace

int memory(const MemoryCommand& command) {
  const auto prepared = prepare_launch(command.input);
  if (!prepared) {
    std::cerr << "xpu-preflight: " << prepared.error().text() << '\n';
    return kBadInput;
  }
  const Launch& launch = prepared->launch;
  const auto refuse = [&](const std::string& why) {
    std::cerr << "xpu-preflight: no memory sheet: " << why << '\n';
    return kFindings;
  };
  if (prepared->unknown_model) return refuse("nothing is known about the model " + prepared->unknown_model->path);
  if (launch.usage) return refuse(launch.usage->message);
  if (launch.refusal) return refuse("SGLang refuses the launch: " + launch.refusal->message);
  std::string why;
  const auto sheet = sheet_of(prepared->inputs, prepared->inputs.argv, command.given, why);
  if (!sheet) return refuse(why);
  std::vector<Row> changes;
  if (!sheet->fits()) changes = changes_that_fit(prepared->inputs, launch, command.given, *sheet);
  const std::vector<Row> devices = on_other_devices(prepared->inputs, command.given);
  if (command.output.format == Format::kJson) {
    Json out = sheet_json(*sheet);
    out["changes_that_fit"] = rows_json(changes);
    out["devices"] = rows_json(devices);
    std::cout << out.dump(2) << '\n';
  } else {
    print_text(*sheet, launch, changes, devices, report::Style(command.output.colour));
  }
  return sheet->fits() ? kOk : kFindings;
}

std::optional<MemorySummary> memory_summary(const PreparedLaunch& prepared) {
  // A few facts about a model are no base for counting its weights.
  if (prepared.unknown_model || prepared.facts_by_option || !prepared.launch.accepted()) return std::nullopt;
  std::string why;
  MemoryInputs given;
  given.draft = cost_of_draft(prepared.launch, *prepared.inputs.models);
  const auto s = plan::memory_sheet(prepared.launch, given, why);
  if (!s || s->fraction <= 0.0) return std::nullopt;
  return MemorySummary{.device = s->device_gib,
                       .weights = s->weights_gib + s->draft_gib - s->offloaded_gib,
                       .exact = s->weights_exact,
                       .fraction = s->fraction,
                       .least = s->least,
                       .cache = s->cache_gib + s->state_gib,
                       .tokens = s->tokens,
                       .context = s->context,
                       .requests = s->requests,
                       .full_requests = s->full_requests};
}

}  // namespace preflight::commands
