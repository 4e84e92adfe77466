// Tested by tests/pages_test.cpp.
#include "src/commands/pages.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/args/option_index.h"
#include "src/commands/findings.h"
#include "src/commands/variation.h"
#include "src/report/page_picture.h"
#include "src/report/printable.h"
#include "src/report/style.h"

namespace preflight::commands {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::int64_t, 9> kPageSizes = {1, 2, 4, 8, 16, 32, 64, 128, 256};
constexpr std::array<std::string_view, 3> kBackends = {"intel_xpu", "triton", "torch_native"};

constexpr std::string_view kNotRun = "not run";
constexpr std::string_view kNonePlanned = "none planned";

struct Row {
  std::string backend;
  std::int64_t page = 0;
  bool accepted = false;
  std::string refusal;       // when it is not
  std::int64_t becomes = 0;  // page size after resolution
  std::string runs_on;       // decode backend after resolution
  std::vector<Diagnostic> errors;
  std::int64_t warnings = 0;
  std::int64_t columns = 0;
  std::int64_t padded = 0;
  std::string kernel = {};   // its verdict, or why it was not run
  bool kernel_sound = true;  // nothing was wrong as far as it ran

  [[nodiscard]] bool good() const { return accepted && errors.empty() && kernel_sound; }
  [[nodiscard]] bool kept() const { return becomes == page && runs_on == backend; }
};

// The kernel for each resolved page size and backend once: several rows end in the same place.
class KernelVerdicts {
 public:
  explicit KernelVerdicts(const KernelOptions& options) : options_(options) {}

  // Fills the row's kernel columns.
  void judge(const Plan& plan, Row& row) {
    if (!options_.run || absent_) {
      row.kernel = kNotRun;
      return;
    }
    const std::string key = fmt::format("{} {}", row.runs_on, row.becomes);
    const auto [it, fresh] = known_.try_emplace(key);
    if (fresh) it->second = run(plan);
    row.kernel = it->second;
    row.kernel_sound = it->second != name_of(VerdictWord::kFail) && it->second != name_of(VerdictWord::kError);
  }

 private:
  std::string run(const Plan& plan) {
    if (plan.all_cases().empty()) return std::string(kNonePlanned);
    const KernelReport report =
        run_plan_apart(plan, DeviceChoice{options_.device.value_or("")}, RunOptions{}, options_.limits, RunObserver{});
    if (report.error) {
      absent_ = is_absence(report.error->kind);
      return std::string(absent_ ? kNotRun : name_of(VerdictWord::kError));
    }
    return std::string(name_of(report.worst()));
  }

  const KernelOptions& options_;
  std::map<std::string, std::string> known_;
  bool absent_ = false;
};

Row row_of(const LaunchInputs& inputs, const CheckOptions& rules, std::string_view backend, std::int64_t page,
           KernelVerdicts& kernels) {
  Row row;
  row.backend = backend;
  row.page = page;
  const auto argv = with_options(
      inputs,
      {Field::page_size, Field::attention_backend, Field::prefill_attention_backend, Field::decode_attention_backend},
      {"--attention-backend", row.backend, "--page-size", std::to_string(page)});
  auto resolved = resolve_words(inputs, argv, {}, inputs.env);
  if (!resolved) {
    row.refusal = resolved.error().text();
    return row;
  }
  PreparedLaunch prepared;
  prepared.launch = std::move(resolved->launch);
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
  row.columns = plan.sizes.page_table_columns;
  row.padded = plan.sizes.padded_columns;
  kernels.judge(plan, row);
  return row;
}

// The first good row that SGLang leaves as it is: intel_xpu before the others, 64 and 128 (what its kernels take)
// before the rest, the fewest warnings.
const Row* recommended(const std::vector<Row>& rows) {
  const auto rank = [](const Row& r) {
    const auto backend = std::find(kBackends.begin(), kBackends.end(), r.backend) - kBackends.begin();
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
  if (r.backend != kBackends.front()) {
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

void print_text(const std::vector<Row>& rows, const Row* best, const report::PagePicture& picture,
                const report::Style& style) {
  std::cout << style.bold(fmt::format("{:<13}{:>5}  {:<8} {:<16}{:>8}  {:<13}{}\n", "backend", "page", "verdict",
                                      "runs as", "columns", "kernel", "why"));
  for (const Row& r : rows) {
    const std::string runs = r.accepted ? fmt::format("{} {}", r.runs_on, r.becomes) : "-";
    std::string columns = r.accepted ? std::to_string(r.columns) : "-";
    if (r.padded != r.columns) columns += "*";
    std::string why = r.refusal;
    for (const Diagnostic& d : r.errors) why += fmt::format("{}{} {}", why.empty() ? "" : "; ", d.rule, d.message);
    constexpr std::size_t kLongest = 90;
    if (why.size() > kLongest) why = why.substr(0, kLongest - 1) + "…";
    const std::string verdict = fmt::format("{:<8}", verdict_text(r));
    std::cout << fmt::format("{}{:<12}{:>5}  {} {:<16}{:>8}  {:<13}{}\n", &r == best ? ">" : " ", r.backend, r.page,
                             r.good() ? (r.kept() ? style.green(verdict) : style.cyan(verdict)) : style.red(verdict),
                             runs, columns, r.accepted ? r.kernel : "-", report::printable(why));
  }
  if (std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.padded != r.columns; })) {
    std::cout << "* the MLA kernel wants a wider table than SGLang builds\n";
  }
  std::cout << '\n';
  if (best == nullptr) {
    std::cout << style.red("none of these works") << ": see `check` for the launch as it is\n\n";
  } else {
    std::cout << fmt::format("{} --attention-backend {} --page-size {}: {}\n\n", style.bold("recommended:"),
                             best->backend, best->page, reason(*best, rows));
  }
  std::cout << style.bold(fmt::format("A request on pages of {}\n", picture.page_size))
            << report::page_picture_text(picture, style);
}

void print_json(const std::vector<Row>& rows, const Row* best) {
  Json list = Json::array();
  for (const Row& r : rows) {
    Json errors = Json::array();
    for (const Diagnostic& d : r.errors) errors.push_back({{"rule", d.rule}, {"refs", d.refs}, {"message", d.message}});
    list.push_back({{"backend", r.backend},
                    {"page_size", r.page},
                    {"verdict", verdict_text(r)},
                    {"refusal", r.refusal},
                    {"resolved_page_size", r.becomes},
                    {"resolved_backend", r.runs_on},
                    {"errors", std::move(errors)},
                    {"page_table_columns", r.columns},
                    {"padded_columns", r.padded},
                    {"kernel", r.kernel}});
  }
  Json out = {{"rows", std::move(list)}};
  out["recommended"] =
      best == nullptr ? Json(nullptr)
                      : Json{{"backend", best->backend}, {"page_size", best->page}, {"reason", reason(*best, rows)}};
  std::cout << out.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace

int pages(const PagesCommand& command) {
  const auto prepared = prepare_launch(command.input);
  if (!prepared) {
    std::cerr << "xpu-preflight: " << prepared.error().text() << '\n';
    return kBadInput;
  }
  KernelVerdicts kernels(command.kernel);
  std::vector<Row> rows;
  for (const std::string_view backend : kBackends) {
    for (const std::int64_t page : kPageSizes) {
      rows.push_back(row_of(prepared->inputs, command.rules, backend, page, kernels));
    }
  }
  const Row* best = recommended(rows);
  const report::PagePicture picture = report::example_picture(best == nullptr ? 64 : best->becomes);
  if (!command.svg.empty()) {
    std::ofstream file(command.svg, std::ios::binary);
    file << report::page_picture_svg(picture,
                                     fmt::format("Page table of one request, {} on pages of {}",
                                                 best == nullptr ? "any backend" : best->runs_on, picture.page_size));
    file.close();
    if (!file) {
      std::cerr << fmt::format("xpu-preflight: {}: the picture cannot be written\n", command.svg);
      return kBadInput;
    }
  }
  if (command.output.format == Format::kJson) {
    print_json(rows, best);
  } else {
    print_text(rows, best, picture, report::Style(command.output.colour));
  }
  return best == nullptr ? kFindings : kOk;
}

}  // namespace preflight::commands
