// Tested by tests/pages_test.cpp.
#include "src/intake/conceal.h"
#include "src/report/json_dump.h"
#include "src/report/complaint.h"
#include "src/commands/pages.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/args/option_index.h"
#include "src/commands/findings.h"
#include "src/commands/variation.h"
#include "src/report/display_width.h"
#include "src/report/page_picture.h"
#include "src/report/finding_json.h"
#include "src/report/printable.h"
#include "src/report/report_json.h"
#include "src/report/report_text.h"
#include "src/report/style.h"

namespace preflight::commands {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::int64_t, 9> kPageSizes = {1, 2, 4, 8, 16, 32, 64, 128, 256};
constexpr std::array<std::string_view, 3> kBackends = {"intel_xpu", "triton", "torch_native"};

// The launch's own --prefill-attention-backend and --decode-attention-backend, which other rows leave out.
constexpr std::string_view kAsGiven = "as given";

constexpr std::string_view kKernelNotRun = "not run";
constexpr std::string_view kNoKernelPlanned = "none planned";

struct Row {
  std::string backend;
  std::int64_t page = 0;
  bool accepted = false;
  std::string refusal;       // when it is not
  std::int64_t becomes = 0;  // page size after resolution
  std::string runs_on;       // decode backend after resolution
  std::string prefills_on;   // prefill backend after resolution
  std::vector<Diagnostic> errors;
  std::int64_t warnings = 0;
  std::int64_t columns = 0;
  std::int64_t padded = 0;
  std::string kernel = {};   // its verdict, or why it was not run
  bool kernel_sound = true;  // nothing was wrong as far as it ran

  [[nodiscard]] bool good() const { return accepted && errors.empty() && kernel_sound; }
  [[nodiscard]] bool kept() const {
    return becomes == page && (backend == kAsGiven || (runs_on == backend && prefills_on == backend));
  }
  [[nodiscard]] std::string backends() const {
    return prefills_on == runs_on ? runs_on : fmt::format("{}+{}", prefills_on, runs_on);
  }
};

// The kernel for each resolved page size and backend once: several rows end in the same place.
class KernelVerdicts {
 public:
  explicit KernelVerdicts(const KernelOptions& options) : options_(options) {}

  // Fills the row's kernel columns.
  void judge(const Plan& plan, Row& row) {
    if (!options_.run || absent_) {
      row.kernel = kKernelNotRun;
      return;
    }
    const std::string key = fmt::format("{} {}", row.backends(), row.becomes);
    const auto [it, fresh] = known_.try_emplace(key);
    if (fresh) it->second = run(plan);
    row.kernel = it->second.word;
    row.kernel_sound = it->second.status == kOk || it->second.status == kMistrusted;
    if (!row.kernel_sound) worst_ = heavier(worst_, it->second.status);
  }
  // What the kernels or their device did wrong; kOk where nothing.
  [[nodiscard]] Exit worst() const { return worst_; }

 private:
  struct Judged {
    std::string word;
    Exit status = kOk;
  };

  Judged run(const Plan& plan) {
    if (plan.all_cases().empty()) return {std::string(kNoKernelPlanned)};
    Report report;
    keep_kernel(
        run_plan_apart(plan, DeviceChoice{options_.device.value_or("")}, RunOptions{}, options_.limits, RunObserver{}),
        report);
    absent_ = report.absence.has_value();
    if (absent_) return {std::string(kKernelNotRun)};
    const DeviceError* fault = report.device_fault();
    return {std::string(fault == nullptr ? name_of(report.kernel->worst()) : name_of(fault->kind)), exit_of(report)};
  }

  const KernelOptions& options_;
  std::map<std::string, Judged> known_;
  Exit worst_ = kOk;
  bool absent_ = false;
};

Row row_of(const LaunchInputs& inputs, const CheckOptions& rules, std::string_view backend, std::int64_t page,
           KernelVerdicts& kernels) {
  Row row;
  row.backend = backend;
  row.page = page;
  std::vector<Field> dropped = {Field::page_size};
  std::vector<std::string> added = {"--page-size", std::to_string(page)};
  if (backend != kAsGiven) {
    dropped.insert(dropped.end(),
                   {Field::attention_backend, Field::prefill_attention_backend, Field::decode_attention_backend});
    added.insert(added.end(), {"--attention-backend", row.backend});
  }
  const auto argv = with_options(inputs, dropped, added);
  auto resolved = resolve_words(inputs, argv, {}, inputs.env);
  if (!resolved) {
    row.refusal = resolved.error().text();
    return row;
  }
  PreparedLaunch prepared;
  prepared.inputs = inputs;
  prepared.inputs.argv = argv;
  prepared.launch = std::move(resolved->launch);
  conceal(prepared);
  const Launch& launch = prepared.launch;
  row.accepted = launch.accepted();
  if (!row.accepted) {
    row.refusal = launch.usage ? launch.usage->message : launch.refusal ? launch.refusal->message : "refused";
    return row;
  }
  Coverage coverage;
  for (Diagnostic& d : findings_of(prepared, rules, coverage)) {
    if (d.severity == Severity::kWarning) ++row.warnings;
    if (d.severity == Severity::kError) row.errors.push_back(std::move(d));
  }
  row.becomes = launch[Field::page_size].is_int() ? launch[Field::page_size].as_int() : 0;
  const Plan plan = derive_plan(launch);
  row.runs_on = plan.decode_backend;
  row.prefills_on = plan.prefill_backend;
  row.columns = plan.sizes.page_table_columns;
  row.padded = plan.sizes.padded_columns;
  kernels.judge(plan, row);
  return row;
}

// The first good row that SGLang leaves as it is: the backends as given, then intel_xpu before the others, 64 and 128
// (what its kernels take) before the rest, the fewest warnings.
const Row* recommended(const std::vector<Row>& rows) {
  const auto rank = [](const Row& r) {
    const auto at = std::find(kBackends.begin(), kBackends.end(), r.backend) - kBackends.begin();
    const auto backend = r.backend == kAsGiven ? std::ptrdiff_t{-1} : at;
    const std::int64_t size = r.page == 64 ? 0 : r.page == 128 ? 1 : 2 + std::abs(r.page - 64);
    return std::tuple(!r.good(), !r.kept(), backend, r.warnings, size);
  };
  const auto best =
      std::min_element(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return rank(a) < rank(b); });
  return best != rows.end() && best->good() ? &*best : nullptr;
}

std::string reason(const Row& r, const std::vector<Row>& rows) {
  std::string out = r.kept() ? "SGLang leaves it as given, and no rule objects" : "no rule objects";
  if (r.kernel == name_of(VerdictWord::kPass)) out += "; the kernel passes";
  if (r.backend == kAsGiven) {
    out += "; prefill and decode keep the backends you gave them";
  } else if (r.backend != kBackends.front()) {
    const auto first =
        std::find_if(rows.begin(), rows.end(), [](const Row& x) { return x.backend == kBackends.front(); });
    if (first != rows.end() && !first->errors.empty()) {
      out += fmt::format("; {} fails: {}", kBackends.front(), first->errors.front().rule);
    } else if (first != rows.end() && !first->accepted) {
      out += fmt::format("; {} is refused", kBackends.front());
    }
  } else if (r.page == 64) {
    out += "; smaller pages waste less of the last one than 128 does";
  }
  return out;
}

std::string verdict_text(const Row& r) {
  if (!r.accepted) return "refused";
  if (!r.good()) return "fails";
  return r.kept() ? "ok" : "changed";
}

// Behind the row where it fits, else below it, in whole words.
void print_why(const std::string& why, std::size_t column, const OutputOptions& output) {
  const auto width = static_cast<std::size_t>(std::max(output.width, 60));
  if (column + report::display_width(why) <= width) {
    std::cout << why << '\n';
    return;
  }
  constexpr std::size_t kIndent = 6;
  std::size_t used = width;
  std::istringstream words(why);
  for (std::string word; words >> word;) {
    const std::size_t columns = report::display_width(word);
    if (used + 1 + columns > width) {
      std::cout << '\n' << std::string(kIndent, ' ') << word;
      used = kIndent + columns;
    } else {
      std::cout << ' ' << word;
      used += 1 + columns;
    }
  }
  std::cout << '\n';
}

std::string advice(const Row& r) {
  return r.backend == kAsGiven ? fmt::format("--page-size {}", r.page)
                               : fmt::format("--attention-backend {} --page-size {}", r.backend, r.page);
}

// The request of the picture, and whose it is.
struct Drawn {
  report::PagePicture picture;
  std::string backends;
  bool is_launch = false;  // else the recommended launch: this one does not run
};

// What this launch does to its page size, and what goes wrong with it there.
void tell_of_pages(const PreparedLaunch& prepared, const CheckOptions& rules, report::PagePicture& picture) {
  const Launch& launch = prepared.launch;
  if (!launch[Field::page_size].identical(launch.args[Field::page_size])) {
    picture.remarks.push_back("page size: " + report::printable(report::chain_text(launch, Field::page_size)));
  }
  Coverage coverage;
  for (const Diagnostic& d : findings_of(prepared, rules, coverage)) {
    if (d.field != Field::page_size || d.severity < Severity::kWarning) continue;
    picture.faults.push_back(report::printable(fmt::format("{}: {}", d.rule, d.message)));
  }
}

std::optional<Drawn> drawn(const PreparedLaunch& prepared, const CheckOptions& rules, const Row* best) {
  const auto context = [](const Launch& launch) { return launch.model ? launch.model->context_len : 0; };
  const Launch& launch = prepared.launch;
  if (launch.accepted() && launch[Field::page_size].is_int()) {
    const Plan plan = derive_plan(launch);
    const std::string backends = plan.prefill_backend == plan.decode_backend
                                     ? plan.decode_backend
                                     : fmt::format("{}, then {}", plan.prefill_backend, plan.decode_backend);
    Drawn out{report::example_picture(launch[Field::page_size].as_int(), context(launch)), backends, true};
    tell_of_pages(prepared, rules, out.picture);
    return out;
  }
  if (best == nullptr) return std::nullopt;
  return Drawn{report::example_picture(best->becomes, context(launch)), best->backends(), false};
}

std::string title_of(const Drawn& d) {
  return fmt::format("Page table of one request of {}: {} on pages of {}",
                     d.is_launch ? "this launch" : "the recommended launch", d.backends, d.picture.page_size);
}

Json picture_json(const Drawn& d) {
  const report::PagePicture& p = d.picture;
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

void print_text(const std::vector<Row>& rows, const Row* best, const std::optional<Drawn>& drawing,
                const OutputOptions& output) {
  const report::Style style(output.colour);
  std::size_t wide = 16;
  for (const Row& r : rows) {
    if (r.accepted) wide = std::max(wide, fmt::format("{} {}", r.backends(), r.becomes).size() + 1);
  }
  std::cout << style.bold(fmt::format("{:<13}{:>5}  {:<8} {:<{}}{:>8}  {:<13}{}\n", "backend", "page", "verdict",
                                      "runs as", wide, "columns", "kernel", "why"));
  std::string above;
  for (const Row& r : rows) {
    const std::string runs = r.accepted ? fmt::format("{} {}", r.backends(), r.becomes) : "-";
    std::string columns = r.accepted ? std::to_string(r.columns) : "-";
    if (r.padded != r.columns) columns += "*";
    std::string why = r.refusal;  // told once where neighbours share it
    for (const Diagnostic& d : r.errors) why += fmt::format("{}{} {}", why.empty() ? "" : "; ", d.rule, d.message);
    const std::string verdict = fmt::format("{:<8}", verdict_text(r));
    std::cout << fmt::format("{}{:<12}{:>5}  {} {:<{}}{:>8}  {:<13}", &r == best ? ">" : " ", r.backend, r.page,
                             r.good() ? (r.kept() ? style.green(verdict) : style.cyan(verdict)) : style.red(verdict),
                             runs, wide, columns, r.accepted ? r.kernel : "-");
    print_why(why == above && !why.empty() ? "as above" : report::printable(why), 52 + wide, output);
    above = std::move(why);
  }
  if (std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.padded != r.columns; })) {
    std::cout << "* the MLA kernel wants a wider table than SGLang builds\n";
  }
  std::cout << '\n';
  if (best == nullptr) {
    std::cout << style.red("none of these works") << ": see `check` for the launch as it is\n\n";
  } else {
    std::cout << fmt::format("{} {}: {}\n\n", style.bold("recommended:"), advice(*best), reason(*best, rows));
  }
  if (!drawing) return;
  std::cout << style.bold(title_of(*drawing)) << '\n' << report::page_picture_text(drawing->picture, style);
}

void print_json(const std::vector<Row>& rows, const Row* best, const std::optional<Drawn>& drawing) {
  Json list = Json::array();
  for (const Row& r : rows) {
    list.push_back({{"backend", r.backend},
                    {"page_size", r.page},
                    {"verdict", verdict_text(r)},
                    {"refusal", r.refusal},
                    {"resolved_page_size", r.becomes},
                    {"resolved_backend", r.runs_on},
                    {"resolved_prefill_backend", r.prefills_on},
                    {"errors", report::findings_json(r.errors)},
                    {"page_table_columns", r.columns},
                    {"padded_columns", r.padded},
                    {"kernel", r.kernel}});
  }
  Json out = {{"format_version", report::kJsonFormatVersion}, {"rows", std::move(list)}};
  out["recommended"] =
      best == nullptr ? Json(nullptr)
                      : Json{{"backend", best->backend}, {"page_size", best->page}, {"reason", reason(*best, rows)}};
  out["picture"] = drawing ? picture_json(*drawing) : Json(nullptr);
  std::cout << report::json_dump(out) << '\n';
}

}  // namespace

int pages(const PagesCommand& command) {
  const auto prepared = prepare_launch(command.input);
  if (!prepared) {
    report::complain(prepared.error().text());
    return kBadInput;
  }
  KernelVerdicts kernels(command.kernel);
  std::vector<Row> rows;
  std::vector<std::string_view> backends(kBackends.begin(), kBackends.end());
  const ServerArgs& given = prepared->launch.args;
  if (given.last_given(Field::prefill_attention_backend) != nullptr ||
      given.last_given(Field::decode_attention_backend) != nullptr) {
    backends.insert(backends.begin(), kAsGiven);
  }
  for (const std::string_view backend : backends) {
    for (const std::int64_t page : kPageSizes) {
      rows.push_back(row_of(prepared->inputs, command.rules, backend, page, kernels));
    }
  }
  const Row* best = recommended(rows);
  const std::optional<Drawn> drawing = drawn(*prepared, command.rules, best);
  if (!command.svg.empty() && !drawing) {
    report::complain("no picture is drawn: neither this launch nor another page size or backend works");
  } else if (!command.svg.empty()) {
    std::ofstream file(command.svg, std::ios::binary);
    file << report::page_picture_svg(drawing->picture, title_of(*drawing));
    file.close();
    if (!file) {
      report::complain(fmt::format("{}: the picture cannot be written", command.svg));
      return kBadInput;
    }
  }
  if (command.output.format == Format::kJson) {
    print_json(rows, best, drawing);
  } else {
    print_text(rows, best, drawing, command.output);
  }
  // A device that fails has shown nothing of any row; a wrong kernel is one row's affair while another works.
  const bool device_failed = kernels.worst() != kOk && kernels.worst() != kKernelWrong;
  if (device_failed) return kernels.worst();
  if (best != nullptr) return kOk;
  const bool kernel_decides =
      std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.accepted && r.errors.empty(); });
  return kernel_decides ? kernels.worst() : kFindings;
}

}  // namespace preflight::commands
