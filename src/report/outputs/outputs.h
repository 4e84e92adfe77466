// The formats that other programs and people read a check in: each a function from the run to the whole text.
//
// Text and JSON of one launch are in report_text.h and report_json.h; those of many files are here.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "src/report/check_run.h"
#include "src/report/report_text.h"

namespace preflight::report {

enum class OutputFormat : std::uint8_t { kText, kJson, kSarif, kJunit, kGithub, kGitlab, kMarkdown, kHtml };

struct OutputFormatName {
  OutputFormat format;
  std::string_view name;
  std::string_view what;
};
inline constexpr std::array kOutputFormats{
    OutputFormatName{OutputFormat::kText, "text", "for people"},
    OutputFormatName{OutputFormat::kJson, "json", "everything, docs/report.schema.json"},
    OutputFormatName{OutputFormat::kSarif, "sarif", "SARIF 2.1.0"},
    OutputFormatName{OutputFormat::kJunit, "junit", "JUnit's XML"},
    OutputFormatName{OutputFormat::kGithub, "github", "GitHub's workflow annotations"},
    OutputFormatName{OutputFormat::kGitlab, "gitlab", "GitLab's code quality report"},
    OutputFormatName{OutputFormat::kMarkdown, "markdown", "a job summary"},
    OutputFormatName{OutputFormat::kHtml, "html", "one self-contained page"}};

std::string output_text(const CheckRun& run, OutputFormat format, const TextOptions& options);

std::string launch_text(const CheckRun& run, const TextOptions& options);
std::string run_text(const CheckRun& run, const TextOptions& options);
std::string run_json(const CheckRun& run);
std::string sarif_text(const CheckRun& run);
std::string junit_text(const CheckRun& run);
std::string github_text(const CheckRun& run);
std::string gitlab_text(const CheckRun& run);
std::string markdown_report(const CheckRun& run);
std::string html_report(const CheckRun& run);

// "checked 3 launches in 2 files: 1 failed, …": the last line of many formats.
std::string run_summary(const CheckRun& run);

}  // namespace preflight::report
