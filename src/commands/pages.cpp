// `pages`: one launch on every page size and attention backend: what SGLang makes of it, what fails, what is
// recommended. Tested by tests/pages_test.cpp.
#include "src/intake/conceal.h"
#include "src/report/complaint.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "src/args/argument_groups.h"
#include "src/args/option_index.h"
#include "src/base/counted.h"
#include "src/commands/certainty.h"
#include "src/commands/check_options.h"
#include "src/commands/findings.h"
#include "src/commands/subcommand.h"
#include "src/commands/variation.h"
#include "src/fix/prove.h"
#include "src/report/output_file.h"
#include "src/report/pages_report.h"
#include "src/report/print.h"
#include "src/report/printable.h"
#include "src/report/report_text.h"
#include "src/rules/change_reasons.h"

namespace preflight::commands {
namespace {

struct PagesFlags {
  LaunchFlags launch;
  bool no_kernel = false;
  std::string svg;  // a file for the picture; empty = none
  std::string kernel_date;
};

using report::DrawnPages;
using report::kAsGiven;
using report::kSplit;
using Row = report::PageRow;

constexpr std::array<std::int64_t, 9> kPageSizes = {1, 2, 4, 8, 16, 32, 64, 128, 256};
constexpr std::array<std::string_view, 4> kBackends = {"intel_xpu", kSplit, "triton", "torch_native"};

constexpr std::string_view kKernelNotRun = "not run";
constexpr std::string_view kNoKernelPlanned = "none planned";

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

// The launch's words with the row's backend and page size, and in the row which options these put out.
std::vector<std::string> words_of(const PreparedLaunch& like, Row& row) {
  std::vector<Field> dropped = {Field::page_size};
  std::vector<std::string> added = {"--page-size", std::to_string(row.page)};
  if (row.backend != kAsGiven) {
    dropped.insert(dropped.end(),
                   {Field::attention_backend, Field::prefill_attention_backend, Field::decode_attention_backend});
    const bool split = row.backend == kSplit;
    added.insert(added.end(), {split ? "--decode-attention-backend" : "--attention-backend",
                               split ? std::string(kBackends.front()) : row.backend});
  }
  for (const Field field : dropped) {
    const args::Option* option = fix::option_of(like.launch.release(), field);
    if (option == nullptr || like.launch.args.last_given(field) == nullptr) continue;
    const std::string name(fix::usual_name(*option));
    if (std::ranges::find(added, name) == added.end()) row.without.push_back(name);
  }
  return with_options(like.inputs, dropped, added);
}

// The launch with these words; none where the row tells why there is none.
std::optional<PreparedLaunch> launch_with(const PreparedLaunch& like, std::vector<std::string> argv, Row& row) {
  auto resolved = resolve_words(like.inputs, argv, {}, like.inputs.env);
  if (!resolved) {
    row.refusal = resolved.error().text();
    return std::nullopt;
  }
  PreparedLaunch prepared;
  prepared.inputs = like.inputs;
  prepared.inputs.argv = std::move(argv);
  prepared.machine = like.machine;
  prepared.unknown_model = like.unknown_model;
  prepared.facts_by_option = like.facts_by_option;
  prepared.assumed_facts = like.assumed_facts;
  prepared.launch = std::move(resolved->launch);
  conceal(prepared);
  const Launch& launch = prepared.launch;
  row.accepted = launch.accepted();
  if (!row.accepted) {
    row.refusal = launch.usage ? launch.usage->message : launch.refusal ? launch.refusal->message : "refused";
    return std::nullopt;
  }
  return prepared;
}

void judge(Row& row, const PreparedLaunch& prepared, const CheckOptions& rules) {
  Coverage coverage;
  std::vector<Diagnostic> findings = findings_of(prepared, rules, coverage);
  weigh(findings, prepared);
  fix::leave_untried(findings);  // the table tries page sizes and backends, no remedies
  for (Diagnostic& d : findings) {
    if (d.severity == Severity::kError) {
      row.errors.push_back(std::move(d));
    } else if (d.severity == Severity::kWarning) {
      row.warnings.push_back(std::move(d));
    }
  }
}

Row row_of(const PreparedLaunch& like, const CheckOptions& rules, std::string_view backend, std::int64_t page,
           KernelVerdicts& kernels) {
  Row row;
  row.backend = backend;
  row.page = page;
  const auto prepared = launch_with(like, words_of(like, row), row);
  if (!prepared) return row;
  judge(row, *prepared, rules);
  const Launch& launch = prepared->launch;
  row.becomes = launch[Field::page_size].is_int() ? launch[Field::page_size].as_int() : 0;
  const Plan plan = derive_plan(launch);
  row.runs_on = plan.decode_backend;
  row.prefills_on = plan.prefill_backend;
  if (!row.kept()) {
    for (const Field field : {Field::attention_backend, Field::page_size}) {
      const std::string reasons = rules::reasons_text(rules::changes_of(LaunchView(launch), field));
      if (!reasons.empty()) row.changed += (row.changed.empty() ? "" : " ") + reasons;
    }
  }
  row.columns = plan.sizes.page_table_columns;
  row.padded = plan.sizes.padded_columns;
  kernels.judge(plan, row);
  return row;
}

bool has_split(const Launch& launch) { return launch.release() < v0_5(20) && launch.model && launch.model->is_mla(); }

// The first good row that SGLang leaves as it is, with the fewest warnings: the backends as given, then intel_xpu
// before the others (for decode alone where it may not prefill), 64 and 128 (what its kernels take) before the rest,
// the fewest warnings.
const Row* recommended(const std::vector<Row>& rows) {
  const auto rank = [](const Row& r) {
    const auto at = std::find(kBackends.begin(), kBackends.end(), r.backend) - kBackends.begin();
    const auto backend = r.backend == kAsGiven ? std::ptrdiff_t{-1} : at;
    const std::int64_t size = r.page == 64 ? 0 : r.page == 128 ? 1 : 2 + std::abs(r.page - 64);
    return std::tuple(!r.good(), !r.kept(), r.warnings.size(), backend, size);
  };
  const auto best =
      std::min_element(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return rank(a) < rank(b); });
  return best != rows.end() && best->good() ? &*best : nullptr;
}

bool names_a_phase(const Launch& launch) {
  return launch.args.last_given(Field::prefill_attention_backend) != nullptr ||
         launch.args.last_given(Field::decode_attention_backend) != nullptr;
}

// What becomes of the backends that the launch has.
std::string_view kept_backends(const Launch& launch) {
  if (names_a_phase(launch)) return "; prefill and decode keep the backends you gave them";
  return launch.args.last_given(Field::attention_backend) != nullptr ? "; attention keeps the backend you gave it"
                                                                     : "; attention stays what SGLang takes by itself";
}

std::string reason(const Row& r, const std::vector<Row>& rows, const Launch& launch) {
  const std::size_t told = r.warnings.size();
  const std::string rules =
      told == 0 ? std::string("no rule objects") : fmt::format("`check` tells {}", counted(told, "warning"));
  std::string out = r.kept() ? "SGLang leaves it as given, and " + rules : rules;
  if (r.kernel == name_of(VerdictWord::kPass)) out += "; the kernel passes";
  if (r.backend == kAsGiven) {
    out += kept_backends(launch);
  } else if (r.backend != kBackends.front()) {
    if (r.backend == kSplit) out += "; prefill stays on triton";
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

std::optional<DrawnPages> drawn(const PreparedLaunch& prepared, const CheckOptions& rules, const Row* best) {
  const auto context = [](const Launch& launch) { return launch.model ? launch.model->context_len : 0; };
  const Launch& launch = prepared.launch;
  if (launch.accepted() && launch[Field::page_size].is_int()) {
    const Plan plan = derive_plan(launch);
    const std::string backends = plan.prefill_backend == plan.decode_backend
                                     ? plan.decode_backend
                                     : fmt::format("{}, then {}", plan.prefill_backend, plan.decode_backend);
    DrawnPages out{report::example_picture(launch[Field::page_size].as_int(), context(launch)), backends, true};
    tell_of_pages(prepared, rules, out.picture);
    return out;
  }
  if (best == nullptr) return std::nullopt;
  return DrawnPages{report::example_picture(best->becomes, context(launch)), best->backends(), false};
}

// Where there is something to draw; what cannot be written ends the command, as a report does.
Exit write_picture(const std::string& file, const std::optional<DrawnPages>& drawing) {
  if (!drawing) {
    report::complain("no picture is drawn: neither this launch nor another page size or backend works");
    return kOk;
  }
  if (const std::string why = report::why_no_place(file); !why.empty()) {
    report::complain(why);
    return kBadInput;
  }
  const auto written =
      report::write_output(file, report::page_picture_svg(drawing->picture, report::title_of(*drawing)));
  if (!written) report::complain(written.error().text());
  return written ? kOk : kInternalError;
}

void add_pages_options(CLI::App& app, PagesFlags& flags) {
  add_launch_options(app, flags.launch);
  app.add_flag("--no-kernel", flags.no_kernel, "Do not run the kernel");
  app.add_option("--svg", flags.svg, "Write the picture of the page table to this file")->type_name("FILE");
  app.add_option("--kernel-date", flags.kernel_date, kKernelDate);
}

// Such as sparse attention, which a model gets where no backend is named.
bool attends_otherwise(const Launch& launch) {
  if (!launch.accepted()) return false;
  const Value& backend = launch[Field::attention_backend];
  return backend.is_string() && std::ranges::find(kBackends, std::string_view(backend.as_string())) == kBackends.end();
}

std::vector<std::string_view> backends_of(const Launch& launch) {
  std::vector<std::string_view> out(kBackends.begin(), kBackends.end());
  if (!has_split(launch)) std::erase(out, kSplit);
  if (names_a_phase(launch) || attends_otherwise(launch)) out.insert(out.begin(), kAsGiven);
  return out;
}

// A device that fails has shown nothing of any row; a wrong kernel is one row's affair while another works.
int status_of(const std::vector<Row>& rows, const Row* best, const KernelVerdicts& kernels) {
  const bool device_failed = kernels.worst() != kOk && kernels.worst() != kKernelWrong;
  if (device_failed) return kernels.worst();
  if (best != nullptr) return kOk;
  const bool kernel_decides =
      std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.accepted && r.errors.empty(); });
  return kernel_decides ? kernels.worst() : kFindings;
}

int run_pages(const PagesFlags& flags, const std::vector<std::string>& arguments) {
  const auto rules = rule_options(flags.kernel_date);
  if (!rules) return refuse(rules.error());
  if (!launch_given(flags.launch, arguments)) return refuse({kNoLaunch});
  const auto input = launch_input(flags.launch, arguments);
  if (!input) return refuse(input.error());
  const OutputOptions output = output_options(flags.launch);
  const auto prepared = prepare_launch(*input);
  if (!prepared) return refuse(prepared.error());
  KernelOptions kernel;
  kernel.run = !flags.no_kernel;
  KernelVerdicts kernels(kernel);
  std::vector<Row> rows;
  for (const std::string_view backend : backends_of(prepared->launch)) {
    for (const std::int64_t page : kPageSizes) {
      rows.push_back(row_of(*prepared, *rules, backend, page, kernels));
    }
  }
  const Row* best = recommended(rows);
  report::PagesReport report{
      .machine = prepared->machine, .rows = rows, .best = {}, .reason = {}, .drawing = drawn(*prepared, *rules, best)};
  if (best != nullptr) {
    report.best = static_cast<std::size_t>(best - rows.data());
    report.reason = reason(*best, rows, prepared->launch);
  }
  const Exit drawn_picture = flags.svg.empty() ? kOk : write_picture(flags.svg, report.drawing);
  if (drawn_picture != kOk) return drawn_picture;
  report::print(output.format == Format::kJson ? report::pages_json(report)
                                               : report::pages_text(report, text_options(output)));
  return status_of(rows, best, kernels);
}

}  // namespace

Subcommand pages_subcommand() {
  return with_flags(
      std::make_shared<PagesFlags>(),
      {.name = "pages",
       .what = "The launch on every page size and attention backend",
       .examples = {"pages -- --model-path deepseek-ai/DeepSeek-V2-Lite --trust-remote-code --page-size 64"}},
      add_pages_options, run_pages);
}

}  // namespace preflight::commands
