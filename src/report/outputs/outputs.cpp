// Tested by tests/output_agreement.py.
#include "src/report/outputs/outputs.h"

#include <fmt/format.h>

#include "src/base/counted.h"
#include "src/report/folding.h"
#include "src/report/report_json.h"

namespace preflight::report {

std::string run_summary(const CheckRun& run) {
  const RunCounts n = counts_of(run);
  std::string out = fmt::format("{} checked, {} failed", counted(n.checked, "launch"), n.failed);
  if (n.failed_groups > 0) out += fmt::format(", {} failed together", counted(n.failed_groups, "group"));
  if (n.refused > 0) out += fmt::format(", {} that SGLang refuses", n.refused);
  if (n.doubtful > 0) out += fmt::format(", {} doubtful", n.doubtful);
  if (n.incomplete > 0) out += fmt::format(", {} incomplete", n.incomplete);
  const std::size_t unchecked = n.unknown + n.unread;
  if (unchecked > 0) out += fmt::format(", {} not checked", unchecked);
  if (run.several) out += "; " + counted(run.files, "file");
  if (n.unread_files > 0) out += fmt::format(", {} not readable", n.unread_files);
  if (n.skipped_files > 0) out += fmt::format(", {} skipped", n.skipped_files);
  if (run.ignored() > 0) out += "; " + counted(run.ignored(), "finding") + " ignored";
  return out;
}

std::string output_text(const CheckRun& run, OutputFormat format, const TextOptions& options) {
  const bool one = !run.several && run.launches.size() == 1 && run.launches.front().report;
  switch (format) {
    case OutputFormat::kText: {
      const std::string text = one ? launch_text(run, options) : run_text(run, options);
      return options.folded ? folded(text, options.width) : text;
    }
    case OutputFormat::kJson:
      return one ? report_json(*run.launches.front().report, run.exit_status, &run) : run_json(run);
    case OutputFormat::kSarif:
      return sarif_text(run);
    case OutputFormat::kJunit:
      return junit_text(run);
    case OutputFormat::kGithub:
      return github_text(run);
    case OutputFormat::kGitlab:
      return gitlab_text(run);
    case OutputFormat::kMarkdown:
      return markdown_report(run);
    case OutputFormat::kHtml:
      return html_report(run);
  }
  return {};
}

}  // namespace preflight::report
