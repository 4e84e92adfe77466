// `kernels`: the kernel table; with --programs DIR, every program that the built-in cases build on an Intel GPU, for
// compiling and reading it without one.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "src/commands/check_options.h"
#include "src/commands/kernel_conformance.h"
#include "src/commands/subcommand.h"
#include "src/kernels/program.h"
#include "src/base/read_text.h"
#include "src/report/complaint.h"
#include "src/report/kernels_text.h"
#include "src/report/output_file.h"
#include "src/report/print.h"

namespace preflight::commands {
namespace {

constexpr const char* kList = "programs.tsv";

struct Programs {
  std::map<std::string, std::string> files;  // name -> text
  std::size_t count = 0;
};

// <kernel>.cl, and a line of programs.tsv for each device and set of options: device, kernel, options, the first case
// that is run with them.
Programs programs_of(const std::vector<KernelCase>& cases) {
  Programs out;
  std::string& list = out.files[kList];
  std::set<std::string> seen;
  for (const OfflineDevice& device : offline_devices()) {
    for (const KernelCase& kernel_case : cases) {
      const Kernel* kernel = find_kernel(kernel_case.kernel);
      if (kernel == nullptr || !kernel->why_not(kernel_case).empty()) continue;
      const Program program = program_of(*kernel, kernel_case, device.info, {});
      const std::string row = fmt::format("{}\t{}\t{}", device.name, kernel->name, program.options);
      if (!seen.insert(row).second) continue;
      list += fmt::format("{}\t{}", row, print_case(kernel_case)) + '\n';
      out.files[fmt::format("{}.cl", kernel->name)] = program.source;
    }
  }
  out.count = seen.size();
  return out;
}

// An earlier run of this command made the directory's files: their list begins with a device of ours.
bool is_ours(const std::filesystem::path& directory) {
  std::ifstream list(directory / kList);
  std::string device;
  return std::getline(list, device, '\t') &&
         std::ranges::any_of(offline_devices(), [&](const OfflineDevice& one) { return one.name == device; });
}

// Somebody else's file of such a name is none to write over, and a link leads to one.
std::optional<Error> in_the_way(const std::filesystem::path& directory, const Programs& programs) {
  const bool ours = is_ours(directory);
  for (const auto& [name, text] : programs.files) {
    std::error_code ignored;
    const auto type = std::filesystem::symlink_status(directory / name, ignored).type();
    if (type == std::filesystem::file_type::not_found || type == std::filesystem::file_type::none) continue;
    if (ours && type == std::filesystem::file_type::regular) continue;
    return Error{"this file is not of an earlier --programs, and nothing is written over it", directory / name};
  }
  return std::nullopt;
}

Result<std::size_t> write_programs(const std::filesystem::path& directory, const std::vector<KernelCase>& cases) {
  std::error_code ignored;  // shows when the files are opened
  std::filesystem::create_directories(directory, ignored);
  const Programs programs = programs_of(cases);
  if (auto error = in_the_way(directory, programs)) return tl::make_unexpected(std::move(*error));
  for (const auto& [name, text] : programs.files) {
    if (auto written = report::write_output(directory / name, text); !written)
      return tl::make_unexpected(written.error());
  }
  return programs.count;
}

Result<std::vector<KernelCase>> cases_in(const std::string& path) {
  const auto text = read_text(path, true);
  if (!text) return tl::make_unexpected(text.error());
  return parse_cases(*text, path);
}

// The kernel table; or, into a directory, the programs that cases (built in, or of a file) build on Intel GPUs.
int list_kernels(const std::string& programs, const std::string& case_file) {
  const auto cases = case_file.empty() ? built_in_cases() : cases_in(case_file);
  if (!cases) {
    report::complain(cases.error().text());
    return kBadInput;
  }
  if (programs.empty()) {
    std::vector<report::KernelRow> rows;
    for (const Kernel& kernel : kernel_table()) {
      rows.push_back({kernel.name, kernel.source, std::ranges::count(*cases, kernel.name, &KernelCase::kernel)});
    }
    report::print(report::kernels_text(rows));
    return kOk;
  }
  const auto written = write_programs(programs, *cases);
  if (!written) {
    report::complain(fmt::format("--programs: {}", written.error().text()));
    return kBadInput;
  }
  report::print(report::programs_text(*written, programs));
  return kOk;
}

struct KernelsFlags {
  std::string programs;
  std::string cases;
  CheckFlags check;
  bool conformance = false;
};

void add_kernels_options(CLI::App& app, KernelsFlags& flags) {
  auto* programs = app.add_option("--programs", flags.programs, "Write sources and build options to this directory")
                       ->type_name("DIR");
  app.add_option("--cases", flags.cases,
                 "Of the case lines in this file (- is standard input), not of the built-in ones")
      ->type_name("FILE");
  auto* conformance = app.add_flag("--conformance", flags.conformance,
                                   "Run the case lines and judge them: a JSON object a line, the sum last")
                          ->excludes(programs);
  add_kernel_options(app, flags.check);
  for (const char* name : {"--opencl-device", "--kernel-timeout", "--kernel-from"}) {
    app.get_option(name)->needs(conformance);
  }
  add_large_cases_option(app, flags.check, "--conformance");
}

int run_kernels(const KernelsFlags& flags, const std::vector<std::string>&) {
  if (!flags.conformance) return list_kernels(flags.programs, flags.cases);
  const auto kernel = kernel_options(flags.check, true);
  return kernel ? judge_conformance(flags.cases, *kernel) : refuse(kernel.error());
}

}  // namespace

Subcommand kernels_subcommand() {
  return with_flags(std::make_shared<KernelsFlags>(),
                    {.name = "kernels",
                     .what = "List the kernels; judge others' by our cases; write the programs that Intel GPUs build",
                     .examples = {"kernels", "kernels --conformance --cases cases.txt"},
                     .behind = report::Behind::kNothing,
                     .folds = false},
                    add_kernels_options, run_kernels);
}

}  // namespace preflight::commands
