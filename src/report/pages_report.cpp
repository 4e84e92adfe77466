// Tested by tests/pages_test.cpp.
#include "src/report/pages_report.h"

#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "src/report/display_width.h"
#include "src/report/facts_text.h"
#include "src/report/finding_json.h"
#include "src/report/json_dump.h"
#include "src/report/printable.h"
#include "src/report/report_json.h"

namespace preflight::report {
namespace {

using Json = nlohmann::ordered_json;

std::string verdict_text(const PageRow& r) {
  if (!r.accepted) return "refused";
  if (!r.good()) return "fails";
  return !r.kept() ? "changed" : r.warnings.empty() ? "ok" : "warned";
}

std::string painted_verdict(const PageRow& r, const Style& style) {
  const std::string verdict = fmt::format("{:<8}", verdict_text(r));
  if (!r.good()) return style.red(verdict);
  return !r.warnings.empty() ? style.yellow(verdict) : r.kept() ? style.green(verdict) : style.cyan(verdict);
}

// Behind the row where it fits, else below it, in whole words.
std::string why_text(const std::string& why, std::size_t column, int reader_width) {
  const auto width = static_cast<std::size_t>(std::max(reader_width, 60));
  if (column + display_width(why) <= width) return why + "\n";
  constexpr std::size_t kIndent = 6;
  std::string out;
  std::size_t used = width;
  std::istringstream words(why);
  for (std::string word; words >> word;) {
    const std::size_t columns = display_width(word);
    const bool next_line = used + 1 + columns > width;
    out += next_line ? "\n" + std::string(kIndent, ' ') + word : " " + word;
    used = next_line ? kIndent + columns : used + 1 + columns;
  }
  return out + "\n";
}

std::string advice(const PageRow& r) {
  const std::string backend = r.backend == kAsGiven ? ""
                              : r.backend == kSplit ? "--decode-attention-backend intel_xpu "
                                                    : fmt::format("--attention-backend {} ", r.backend);
  return fmt::format("{}--page-size {}{}{}", backend, r.page, r.without.empty() ? "" : ", without ",
                     fmt::join(r.without, " and "));
}

Json picture_json(const DrawnPages& d) {
  const PagePicture& p = d.picture;
  Json out = {{"of", d.is_launch ? "launch" : "recommended"},
              {"backends", d.backends},
              {"page_size", p.page_size},
              {"tokens", p.tokens},
              {"page_table", p.table},
              {"pool_pages", p.pool_pages},
              {"token", {{"index", p.token}, {"column", p.column()}, {"page", p.page()}, {"slot", p.slot()}}}};
  out["remarks"] = p.remarks;
  out["faults"] = p.faults;
  // Where a backend reads that takes the slot for a page number.
  out["mistaken_page"] = p.page_size == 1 ? Json(nullptr) : Json(p.slot());
  return out;
}

std::string runs_as(const PageRow& r) { return r.accepted ? fmt::format("{} {}", r.backends(), r.becomes) : "-"; }

std::string row_text(const PageRow& r, bool is_best, std::size_t wide, const Style& style) {
  std::string columns = r.accepted ? std::to_string(r.columns) : "-";
  if (r.padded != r.columns) columns += "*";
  return fmt::format("{}{:<12}{:>5}  {} {:<{}}{:>8}  {:<13}", is_best ? ">" : " ", r.backend, r.page,
                     painted_verdict(r, style), runs_as(r), wide, columns, r.accepted ? r.kernel : "-");
}

std::string why_of(const PageRow& r) {
  std::string why = r.refusal.empty() ? r.changed : r.refusal;
  std::string_view between = why.empty() ? "" : r.refusal.empty() ? " " : "; ";
  for (const std::vector<Diagnostic>* list : {&r.errors, &r.warnings}) {
    for (const Diagnostic& d : *list) {
      why += fmt::format("{}{} {}", between, d.rule, d.message);
      between = "; ";
    }
  }
  return why;
}

std::string table_text(const PagesReport& report, const TextOptions& options, const Style& style) {
  std::size_t wide = 16;
  for (const PageRow& r : report.rows) {
    if (r.accepted) wide = std::max(wide, runs_as(r).size() + 1);
  }
  std::string out = style.bold(fmt::format("{:<13}{:>5}  {:<8} {:<{}}{:>8}  {:<13}{}\n", "backend", "page", "verdict",
                                           "runs as", wide, "columns", "kernel", "why"));
  std::string above;
  std::map<std::string, std::string> told;  // why, once: the row that tells it
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const PageRow& r = report.rows[i];
    const std::string why = why_of(r);
    const auto [first, fresh] = told.try_emplace(why, fmt::format("as {} {}", r.backend, r.page));
    out += row_text(r, report.best == i, wide, style);
    const bool again = !fresh && !why.empty();
    out += why_text(!again ? printable(why) : why == above ? "as above" : first->second, 52 + wide, options.width);
    above = why;
  }
  if (std::ranges::any_of(report.rows, [](const PageRow& r) { return r.padded != r.columns; })) {
    out += "* the MLA kernel wants a wider table than SGLang builds\n";
  }
  return out + "\n";
}

}  // namespace

std::string title_of(const DrawnPages& d) {
  return fmt::format("Page table of one request of {}: {} on pages of {}",
                     d.is_launch ? "this launch" : "the recommended launch", d.backends, d.picture.page_size);
}

std::string pages_text(const PagesReport& report, const TextOptions& options) {
  const Style style(options.colour);
  std::string out = facts_head(report.machine, style) + table_text(report, options, style);
  if (!report.best) {
    out += style.red("none of these works") + ": see `check` for the launch as it is\n\n";
  } else {
    out += fmt::format("{} {}: {}\n\n", style.bold("recommended:"), advice(report.rows[*report.best]),
                       printable(report.reason));
  }
  if (!report.drawing) return out;
  return out + style.bold(title_of(*report.drawing)) + "\n" + page_picture_text(report.drawing->picture, style);
}

std::string pages_json(const PagesReport& report) {
  Json list = Json::array();
  for (const PageRow& r : report.rows) {
    list.push_back({{"backend", r.backend},
                    {"page_size", r.page},
                    {"verdict", verdict_text(r)},
                    {"refusal", r.refusal},
                    {"resolved_page_size", r.becomes},
                    {"resolved_backend", r.runs_on},
                    {"resolved_prefill_backend", r.prefills_on},
                    {"errors", findings_json(r.errors)},
                    {"warnings", findings_json(r.warnings)},
                    {"page_table_columns", r.columns},
                    {"padded_columns", r.padded},
                    {"kernel", r.kernel}});
  }
  Json out = {{"format_version", kJsonFormatVersion}, {"facts", facts_json(report.machine)}, {"rows", std::move(list)}};
  out["recommended"] = nullptr;
  if (report.best) {
    const PageRow& best = report.rows[*report.best];
    out["recommended"] = {
        {"backend", best.backend}, {"page_size", best.page}, {"without", best.without}, {"reason", report.reason}};
  }
  out["picture"] = report.drawing ? picture_json(*report.drawing) : Json(nullptr);
  return json_dump(out) + "\n";
}

}  // namespace preflight::report
