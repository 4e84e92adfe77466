// What `memory` prints: the sheet as text and as JSON.
#include "src/report/memory_report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/base/counted.h"
#include "src/launch/launch_view.h"
#include "src/report/facts_text.h"
#include "src/report/finding_json.h"
#include "src/report/json_dump.h"
#include "src/report/printable.h"
#include "src/report/report_json.h"

namespace preflight::report {
namespace {

using plan::MemorySheet;
using Json = nlohmann::ordered_json;

std::string thousands(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string thousands_of(std::int64_t n, std::string_view word) { return thousands(n) + " " + plural(n, word); }

std::string line(std::string_view label, double gib, std::string_view note) {
  return fmt::format("  {:<22}{:>8.2f} GiB  {}\n", label, gib, printable(note));
}

// How far the figure can be trusted.
std::string_view weights_source(const MemorySheet& s) {
  if (s.weights_from_files) return s.weights_exact ? "exact, from the files" : "from the files, parts estimated";
  return s.weights_approximated ? "estimated, parts approximated" : "estimated from shapes";
}

// What the weights are stored in, and where the figure comes from.
std::string weights_label(const MemorySheet& s, const LaunchView& view) {
  if (s.weights_given) return "given";
  const ModelFacts& m = view.model();
  const std::string dtype = view.model_dtype();
  std::string label = dtype;
  if (m.quantization && m.quant_config.is_none()) {
    label = fmt::format("{} by --quantization, from {}", *m.quantization, dtype);
  } else if (m.quantization) {
    label = fmt::format("{}, the rest {}", *m.quantization, dtype);
  }
  return fmt::format("{} ({})", weights_source(s), label);
}

std::string interval_text(const MemorySheet& s) {
  if (!s.any_fraction()) {
    return fmt::format("  none: {:.2f} GiB have to be loaded and {:.2f} GiB are free\n", s.loaded_gib(), s.free_gib);
  }
  std::string out = fmt::format("  above {:.4f}: what is loaded, over the free memory; SGLang advises {:.3f} or more\n",
                                s.least, plan::advised_fraction(s.least));
  if (s.most > 0.0 && s.most > s.least) {
    out += fmt::format("  up to {:.4g}: SGLang's own choice, which leaves its reserve for activations and graphs\n",
                       s.most);
    if (s.fraction > s.most) {
      out += fmt::format(
          "  {:.4g} leaves {:.1f} GiB where SGLang would leave {:.1f}: long prompts may run out of memory\n",
          s.fraction, s.free_gib * (1 - s.fraction), s.free_gib * (1 - s.most));
    }
  } else if (s.most > 0.0) {
    out += fmt::format(
        "  SGLang's own choice {:.4g} lies below: a larger fraction takes from its reserve for activations\n", s.most);
  }
  return out;
}

std::string cache_text(const MemorySheet& s) {
  const auto& c = s.cost;
  std::string out =
      fmt::format("  {}: {} bytes a token in {}", c.kind, thousands(c.bytes_per_token), counted(c.layers, "layer"));
  if (c.window_layers > 0) {
    out += fmt::format(", {} in {} with a window (pool of {:.2g} of the tokens)", thousands(c.window_bytes_per_token),
                       counted(c.window_layers, "layer"), c.window_share);
  }
  if (c.draft_bytes_per_token > 0)
    out += fmt::format(" ({} of them for the draft)", thousands(c.draft_bytes_per_token));
  if (c.state_bytes > 0) {
    out +=
        fmt::format(", {} bytes of state a request in {}", thousands(c.state_bytes), counted(c.state_layers, "layer"));
  }
  out += "\n";
  if (s.window_too_small)
    out += "  the window's pool admits no request: raise --swa-full-tokens-ratio, or the budget\n";
  return out;
}

Json sheet_json(const MemorySheet& s) {
  return {{"device_gib", s.device_gib},
          {"free_gib", s.free_gib},
          {"weights_gib", s.weights_gib},
          {"weights_exact", s.weights_exact},
          {"weights_from_files", s.weights_from_files},
          {"weights_approximated", s.weights_approximated},
          {"draft_gib", s.draft_gib},
          {"draft_cache_gib", s.draft_cache_gib},
          {"offloaded_gib", s.offloaded_gib},
          {"adapters_gib", s.adapters_known ? Json(s.adapters_gib) : Json(nullptr)},
          {"images_gib", s.images_gib},
          {"mem_fraction_static", s.fraction},
          {"least_fraction", s.least},
          {"advised_least_fraction", plan::advised_fraction(s.least)},
          {"sglang_default_fraction", s.most},
          {"workspace_gib", s.workspace_gib},
          {"workspace_requests", s.workspace_requests},
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
          {"requests_at_once", s.at_once},
          {"requests_at_full_context", s.full_requests},
          {"fits", s.fits()}};
}

Json rows_json(const std::vector<MemoryRow>& rows) {
  Json out = Json::object();
  for (const MemoryRow& r : rows) out[r.name] = sheet_json(r.sheet);
  return out;
}

// What is taken before the KV cache.
std::string loaded_text(const MemorySheet& s, const Launch& launch) {
  std::string out = line(
      "device", s.device_gib,
      s.free_is_given ? fmt::format("{:.2f} GiB free before loading", s.free_gib) : "taken as free before loading");
  out += line("weights", s.weights_gib, weights_label(s, LaunchView(launch)));
  if (s.draft_gib > 0.0)
    out += line("draft model", s.draft_gib, s.draft_after_pool ? "loaded after the KV cache, outside the budget" : "");
  if (s.offloaded_gib > 0.0) out += line("in host memory", -s.offloaded_gib, "--cpu-offload-gb");
  if (s.adapters_gib > 0.0)
    out += line("adapters", s.adapters_gib,
                fmt::format("{} slots, made before the KV cache", launch[Field::max_loras_per_batch].repr()));
  if (!s.adapters_known)
    out +=
        "  adapters: their buffers are not counted: how large they are is not known; they leave less for the cache\n";
  if (s.images_gib > 0.0) out += line("image cache", s.images_gib, "allocated after the KV cache");
  out += line("static budget", s.free_gib * s.fraction, fmt::format("--mem-fraction-static {:.4g}", s.fraction));
  if (s.state_gib > 0.0) out += line("recurrent states", s.state_gib, counted(s.state_slots, "slot"));
  return out;
}

// The KV cache, what comes beside it, and the requests that it holds.
std::string pools_text(const MemorySheet& s, const Style& style) {
  std::string out =
      s.fits() && s.cost.keeps_no_keys()
          ? line("left free", s.cache_gib,
                 fmt::format("no layer keeps keys and values; {} are served at once", thousands_of(s.tokens, "token")))
          : line(s.cache_gib < 0 ? "missing" : "KV cache", std::abs(s.cache_gib),
                 s.fits() ? thousands_of(s.tokens, "token") : "no token fits");
  constexpr double kSeen = 0.005;  // less is printed as nothing
  if (s.fits() && s.draft_cache_gib >= kSeen) {
    out += line("draft's KV cache", s.draft_cache_gib,
                fmt::format("made after the KV cache, outside the budget, which leaves {:.2f} GiB",
                            s.free_gib * (1 - s.fraction)));
  }
  if (s.fits() && s.workspace_gib >= kSeen) {
    out += line("attention workspace", s.workspace_gib,
                fmt::format("grows to this at {}, outside the budget", thousands_of(s.workspace_requests, "request")));
  }
  out += cache_text(s);
  if (s.fits()) {
    out += fmt::format("  requests: {} at once at most, {} of {} each\n", thousands(s.at_once),
                       thousands(s.full_requests), thousands_of(s.context, "token"));
    if (s.full_requests == 0) {
      out += fmt::format("  {} --context-length {} is the longest that a single request can reach\n",
                         style.yellow("short:"), s.tokens);
    }
  }
  return out;
}

// A change counts where the rules have nothing against the launch then: a fraction alone mends no other error.
std::string changes_text(const std::vector<MemoryRow>& changes, bool has_errors) {
  if (changes.empty()) {
    return fmt::format("  no single change of --mem-fraction-static, --chunked-prefill-size or --tp-size{}\n",
                       has_errors ? " that mends what else fails, too" : "");
  }
  std::string out;
  for (const MemoryRow& r : changes) {
    out += fmt::format("  {:<32} {}", r.name, thousands_of(r.sheet.tokens, "token"));
    if (r.sheet.fraction > r.sheet.most && r.sheet.most > 0.0)
      out += fmt::format(", {:.1f} GiB left for activations", r.sheet.free_gib * (1 - r.sheet.fraction));
    out += "\n";
  }
  return out;
}

std::string devices_text(const std::vector<MemoryRow>& devices) {
  std::string out;
  for (const MemoryRow& r : devices) {
    out += fmt::format("  {:<8} {:>6.1f} GiB  fraction {:<7} least {:<6} {}\n", r.name, r.sheet.device_gib,
                       r.sheet.fraction > 0 ? fmt::format("{:.4g}", r.sheet.fraction) : std::string("none"),
                       r.sheet.least < 1.0 ? fmt::format("{:.3f}", r.sheet.least) : std::string("none"),
                       r.sheet.fits() ? thousands_of(r.sheet.tokens, "token") : std::string("does not fit"));
  }
  return out;
}

}  // namespace

std::string memory_text(const MemoryReport& report, const Launch& launch, const Style& style) {
  const MemorySheet& s = report.sheet;
  std::string out = facts_head(report.machine, style);
  for (const Diagnostic& d : report.errors) {
    const bool of_share = d.field == Field::mem_fraction_static;  // another share, and so other memory, mends it
    out += style.red(of_share ? "fails: " : "fails whatever the memory: ") +
           fmt::format("{} {}; check tells more\n", d.rule, printable(d.message));
  }
  out += style.bold(
      fmt::format("Memory of one GPU ({}, SGLang {})\n", printable(launch.device.name), launch.release().text()));
  out += loaded_text(s, launch) + pools_text(s, style);
  out += style.bold("--mem-fraction-static") + "\n" + interval_text(s);
  if (!s.fits()) out += style.bold("What would fit") + "\n" + changes_text(report.changes, !report.errors.empty());
  out += style.bold("On other cards") + style.dim(" (same arguments)") + "\n" + devices_text(report.devices);
  return out;
}

std::string no_memory_json(const std::string& why, const std::optional<MachineFacts>& machine) {
  const Json out = {
      {"format_version", kJsonFormatVersion}, {"facts", facts_json(machine)}, {"sheet", nullptr}, {"why", why}};
  return json_dump(out) + "\n";
}

std::string memory_json(const MemoryReport& report) {
  Json out = {{"format_version", kJsonFormatVersion}, {"facts", facts_json(report.machine)}};
  out.update(sheet_json(report.sheet));
  out["other_errors"] = findings_json(report.errors);
  out["changes_that_fit"] = rows_json(report.changes);
  out["devices"] = rows_json(report.devices);
  return json_dump(out) + "\n";
}

}  // namespace preflight::report
