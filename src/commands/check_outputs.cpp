// Tested by tests/output_gate_test.cpp.
#include "src/commands/check_outputs.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "src/args/closest_options.h"
#include "src/commands/policy/finding_filter.h"
#include "src/report/complaint.h"
#include "src/report/output_file.h"
#include "src/report/print.h"

namespace preflight::commands {
namespace {

Result<report::OutputFormat> format_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& known : report::kOutputFormats) {
    if (known.name == name) return known.format;
    names.push_back(known.name);
  }
  const std::string_view near = args::closest_choice(name, names);
  return failure(fmt::format(
      "--output {}: no such format; {}", name,
      near.empty() ? fmt::format("known are {}", fmt::join(names, ", ")) : fmt::format("did you mean {}?", near)));
}

// One file has many names.
std::string place_of(const std::string& file) {
  std::error_code error;
  const auto place = std::filesystem::weakly_canonical(std::filesystem::absolute(file, error), error);
  return file == "-" || error ? file : place.string();
}

}  // namespace

Result<std::vector<OutputRequest>> read_outputs(const std::vector<std::string>& words, const OutputOptions& output,
                                                const std::string& baseline) {
  std::vector<OutputRequest> out;
  std::set<std::string> places;
  if (!baseline.empty()) places.insert(place_of(baseline));
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    const auto format = format_named(std::string_view(word).substr(0, equals));
    if (!format) return tl::make_unexpected(format.error());
    OutputRequest request{*format, equals == std::string::npos ? "-" : word.substr(equals + 1)};
    if (request.file.empty()) return failure(fmt::format("--output {}: name a file behind =, or leave it away", word));
    if (!places.insert(place_of(request.file)).second) {
      return failure(request.file == "-"
                         ? "--output: two reports for standard output; give one of them a file, as in sarif=FILE"
                         : fmt::format("--output: two reports for {}", request.file));
    }
    out.push_back(std::move(request));
  }
  if (out.empty()) {
    out.push_back({output.format == Format::kJson ? report::OutputFormat::kJson : report::OutputFormat::kText, "-"});
  }
  return out;
}

Exit write_outputs(const report::CheckRun& run, const CheckCommand& command, Exit status) {
  for (const OutputRequest& request : command.outputs) {
    const std::string why = request.file == "-" ? std::string() : report::why_no_place(request.file);
    if (why.empty()) continue;
    report::complain("--output: " + why);
    return kBadInput;
  }
  const auto options = [&](bool terminal) {
    report::TextOptions text = text_options(command.output);
    if (!terminal) text.colour = text.folded = false;
    return text;
  };
  if (command.filter && !command.baseline_to_write.empty()) {
    const auto written = report::write_output(command.baseline_to_write, command.filter->new_baseline());
    if (!written) {
      report::complain(written.error().text());
      return kInternalError;
    }
  }
  for (const OutputRequest& request : command.outputs) {
    if (request.file == "-") continue;
    const auto written = report::write_output(request.file, report::output_text(run, request.format, options(false)));
    if (written) continue;
    report::complain(written.error().text());
    status = kInternalError;
  }
  for (const OutputRequest& request : command.outputs) {
    if (request.file == "-") report::print(report::output_text(run, request.format, options(true)));
  }
  return status;
}

}  // namespace preflight::commands
