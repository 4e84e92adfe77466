// One page that needs nothing beside itself: no script, no font, no picture from elsewhere, and a policy that lets a
// browser load none. Light and dark by the reader's own setting, narrow and wide.
// Tested by tests/output_agreement.py and tests/output_consumers.py.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/characters.h"
#include "src/base/counted.h"
#include "src/report/display_width.h"
#include "src/report/excerpt.h"
#include "src/report/fixes_text.h"
#include "src/report/outputs/escapes.h"
#include "src/report/outputs/ignored_text.h"
#include "src/report/outputs/outputs.h"
#include "src/report/page_picture.h"
#include "src/report/report_text.h"

namespace preflight::report {
namespace {

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>xpu-preflight</title>
<style>
:root { --text: #1b1f24; --back: #ffffff; --soft: #57606a; --line: #d0d7de; --panel: #f6f8fa; --error: #b3261e;
  --warning: #8a5a00; --change: #0b5e8a; --info: #57606a; --good: #1a6e36; --used: #3d7ab8; --cache: #55a868; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --back: #0d1117; --soft: #9da7b3; --line: #3d444d;
  --panel: #161b22; --error: #ff8a80; --warning: #e3b341; --change: #79c0ff; --info: #9da7b3; --good: #56d364;
  --used: #4d8fd1; --cache: #4fa566; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 70rem; color: var(--text); background: var(--back);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; border-top: 1px solid var(--line); padding-top: 1rem; }
h3 { font-size: 1rem; margin-bottom: .3rem; }
article { border: 1px solid var(--line); border-left-width: .4rem; border-radius: .3rem; padding: .5rem .8rem;
  margin: .6rem 0; }
article p { margin: .3rem 0; }
.error { border-left-color: var(--error); } .warning { border-left-color: var(--warning); }
.change { border-left-color: var(--change); } .info { border-left-color: var(--info); }
b.error { color: var(--error); } b.warning { color: var(--warning); } b.change { color: var(--change); }
b.info, .soft { color: var(--soft); } .good { color: var(--good); } .bad { color: var(--error); }
pre, code { font-family: ui-monospace, monospace; font-size: .87rem; }
pre { background: var(--panel); padding: .6rem; white-space: pre-wrap; }
mark { color: inherit; background: none; border-bottom: .15rem solid var(--error); font-weight: bold; }
details { margin: .6rem 0; } summary { cursor: pointer; color: var(--soft); }
dt { font-weight: bold; padding-top: .3rem; } dd { margin: 0 0 .3rem; }
@media (min-width: 50rem) { dl { display: grid; grid-template-columns: max-content 1fr; column-gap: 1.2rem; }
  dd { padding-top: .3rem; } }
.bar { display: flex; height: 1.6rem; border: 1px solid var(--line); border-radius: .3rem; overflow: hidden; }
.bar i { display: block; height: 100%; } .used { background: var(--used); } .cache { background: var(--cache); }
.key i { display: inline-block; width: .8rem; height: .8rem; margin-right: .3rem; border: 1px solid var(--line); }
.key span { margin-right: 1.2rem; white-space: nowrap; }
figure { margin: 0; background: #ffffff; border: 1px solid var(--line); border-radius: .3rem; padding: .4rem; }
figure svg { display: block; max-width: 100%; height: auto; }
</style>
</head>
<body>
)";

std::string labelled(std::string_view label, const std::string& text) {
  return text.empty() ? "" : fmt::format("<p><span class=\"soft\">{}:</span> {}</p>\n", label, markup_text(text));
}

std::size_t byte_at_column(std::string_view line, std::size_t column) {
  std::size_t at = 0;
  while (at < line.size() && display_width(line.substr(0, at)) < column) {
    do ++at;
    while (at < line.size() && character_start(line, at) != at);
  }
  return at;
}

std::string excerpt_html(const Diagnostic& finding, const ArgumentSource& source) {
  constexpr int kColumns = 110;
  const Excerpt excerpt = excerpt_of(finding.where, source, kColumns);
  std::string out;
  if (!excerpt.place.empty()) out += fmt::format("<p class=\"soft\">{}</p>\n", markup_text(excerpt.place));
  if (excerpt.line.empty()) return out;
  const std::size_t from = byte_at_column(excerpt.line, excerpt.caret_column);
  const std::size_t to = byte_at_column(excerpt.line, excerpt.caret_column + excerpt.caret_width);
  const std::string_view line = excerpt.line;
  return out + fmt::format("<pre>{}<mark>{}</mark>{}</pre>\n", markup_text(line.substr(0, from)),
                           markup_text(line.substr(from, to - from)), markup_text(line.substr(to)));
}

std::string finding_html(const Diagnostic& f, const ArgumentSource& source, const std::string& ignored) {
  const std::string_view severity = name_of(f.severity);
  return fmt::format("<article class=\"{4}{0}\"><h3><b class=\"{0}\">{0}</b> {1}: {2}</h3>\n{3}", severity,
                     markup_text(f.rule), markup_text(told(f)), excerpt_html(f, source),
                     ignored.empty() ? "" : "ignored ") +
         labelled("why", f.why) + labelled("fix", f.fix) + labelled("source", f.source) + labelled("ignored", ignored) +
         "</article>\n";
}

std::string bare_html(const Item& item) {
  return fmt::format("<article class=\"{0}\"><h3><b class=\"{0}\">{0}</b> {1}: {2}</h3>\n", name_of(item.severity),
                     markup_text(item.rule), markup_text(item.message)) +
         (item.file.empty() ? "" : labelled("at", fmt::format("{}:{}", item.file, item.line))) +
         labelled("fix", item.fix) + "</article>\n";
}

std::string fixes_html(const FixSearch& search) {
  if (search.fixes.empty()) return "";
  std::string out = fmt::format("<h3>Fix ({})</h3>\n", markup_text(how_checked(search)));
  for (const CheckedFix& fix : search.fixes) {
    out += "<pre>";
    for (const std::string& line : diff_lines(fix)) out += markup_text(line) + "\n";
    out += "</pre>\n";
    if (const std::string more = what_more_it_leaves(fix, search); !more.empty())
      out += "<p>which leaves " + markup_text(more) + "</p>\n";
  }
  return out;
}

// Every value that was given or changed, with the steps that changed it.
std::string values_html(const Launch& launch) {
  if (launch.resolved.empty()) return "";
  std::string rows;
  for (const Field f : fields_of(launch.release())) {
    if (field_name(f).starts_with('_')) continue;  // SGLang's notes to itself
    if (launch.args.last_given(f) == nullptr && launch[f].identical(launch.args[f])) continue;
    std::string value = markup_text(chain_text(launch, f, true));
    const std::string why = chain_reasons(launch, f);
    if (!why.empty()) value += fmt::format("<br><small>{}</small>", markup_text(why));
    rows += fmt::format("<dt><code>{}</code></dt><dd>{}</dd>\n", field_name(f), value);
  }
  if (rows.empty()) return "";
  const char* title = launch.accepted() ? "Values" : "Values up to the refusal";
  return fmt::format("<h3>{}</h3>\n<dl>\n{}</dl>\n", title, rows);
}

double percent(double part, double whole) { return whole <= 0.0 ? 0.0 : std::clamp(100.0 * part / whole, 0.0, 100.0); }

std::string memory_html(const MemorySummary& m) {
  const double used = percent(m.weights, m.device);
  const double cache = std::min(percent(m.cache_and_states(), m.device), 100.0 - used);
  const std::string cache_words = m.cache < 0
                                      ? fmt::format("KV cache: {:.2f} GiB are missing", -m.cache)
                                      : fmt::format("KV cache {}{:.2f} GiB, {}", m.states > 0 ? "and states " : "",
                                                    m.cache_and_states(), counted(m.tokens, "token"));
  const std::string parts = loaded_parts(m);
  const char* loaded = parts.empty() ? "weights" : "loaded";
  return fmt::format(
      "<h3>Memory of one GPU, estimated</h3>\n<div class=\"bar\" role=\"img\" aria-label=\"{7} {1:.2f} of {0:.2f} "
      "GiB{8}, {5}\"><i class=\"used\" style=\"width:{3:.2f}%\"></i><i class=\"cache\" "
      "style=\"width:{4:.2f}%\"></i></div>\n"
      "<p class=\"key\"><span><i class=\"used\"></i>{7} {2}{1:.2f} GiB{8}</span> <span><i "
      "class=\"cache\"></i>{5}</span> "
      "<span><i></i>the rest of {0:.2f} GiB; --mem-fraction-static {6:.4g}</span></p>\n",
      m.device, m.weights, m.exact ? "" : "about ", used, cache, cache_words, m.fraction, loaded, parts);
}

std::string picture_html(const Launch& launch, const Plan& plan) {
  if (!launch.accepted() || plan.sizes.page_size <= 0) return "";
  const std::int64_t context = launch.model ? launch.model->context_len : 0;
  const std::string title = fmt::format("Page table of one request of this launch: {} on pages of {}",
                                        plan.decode_backend, plan.sizes.page_size);
  const PagePicture picture = example_picture(plan.sizes.page_size, context);
  return "<h3>Page table</h3>\n<figure>" + page_picture_svg(picture, title) + "</figure>\n";
}

std::string launch_html(const CheckedLaunch& launch, const SharedFacts& shared) {
  std::string out = fmt::format("<section>\n<h2>{}</h2>\n", markup_text(launch.title));
  if (!launch.report) {
    out += "<p class=\"bad\">not checked</p>\n";
    for (const Item& item : items_of(launch)) out += bare_html(item);
    return out + "</section>\n";
  }
  const Report& report = *launch.report;
  out += fmt::format("<p class=\"{}\">{}</p>\n<p>SGLang {}; {}{}</p>\n", is_good(report) ? "good" : "bad",
                     markup_text(counts_text(report)), report.launch.release().text(),
                     markup_text(kernel_words(report)), markup_text(own_words(shared, report)));
  std::string notes;
  for (const Diagnostic& f : report.findings) {
    (f.severity == Severity::kInfo ? notes : out) += finding_html(f, report.source, "");
  }
  if (!notes.empty()) out += "<details><summary>Notes</summary>\n" + notes + "</details>\n";
  for (const Item& item : items_of(launch)) {
    if (item.rule == kKernelItem || is_verdict(item)) out += bare_html(item);
  }
  for (const Ignored& i : report.ignored) out += finding_html(i.finding, report.source, i.by + ": " + i.reason);
  out += fixes_html(report.fixes);
  if (report.memory) out += memory_html(*report.memory);
  if (report.plan) out += picture_html(report.launch, *report.plan);
  return out + values_html(report.launch) + "</section>\n";
}

}  // namespace

std::string html_report(const CheckRun& run) {
  std::string out(kHead);
  const auto any = [&](const auto& what) {
    return std::ranges::any_of(run.launches, [&](const CheckedLaunch& l) { return l.report && what(*l.report); });
  };
  const char* head = any([](const Report& r) { return !r.launch.accepted(); }) ? "a launch that SGLang refuses"
                     : run.exit_status != 0                                    ? "something fails"
                     : any([](const Report& r) { return !is_good(r); })
                         ? "nothing that fails was found, and not everything is well or known"
                         : "nothing that fails was found";
  out += fmt::format("<h1>xpu-preflight: {}</h1>\n<p>{}</p>\n", head, markup_text(run_summary(run)));
  const SharedFacts shared = shared_facts(run);
  out += labelled("judged against", one_line(shared.head()));
  for (const CheckedLaunch& launch : run.launches) out += launch_html(launch, shared);
  for (const CheckedGroup& group : run.groups) {
    out +=
        fmt::format("<section>\n<h2>{}{}</h2>\n", group.launches.empty() ? "" : "Together: ", markup_text(group.what));
    if (group.findings.empty() && group.ignored.empty()) out += "<p class=\"good\">they fit</p>\n";
    if (group.findings.empty() && !group.ignored.empty()) out += labelled("found", ignored_text(group));
    if (!group.launches.empty()) out += labelled("at", fmt::format("{}", fmt::join(group.launches, ", ")));
    for (const Diagnostic& f : group.findings) out += finding_html(f, {}, "");
    for (const Ignored& i : group.ignored) out += finding_html(i.finding, {}, i.by + ": " + i.reason);
    out += "</section>\n";
  }
  for (const SkippedFile& file : run.skipped) out += labelled(file.word(), file.file + ": " + file.why);
  for (const IgnoreNote& note : run.ignore_notes) out += labelled("ignores", note.place + ": " + note.text);
  return out + fmt::format("<p class=\"soft\">xpu-preflight {}</p>\n</body>\n</html>\n", PREFLIGHT_VERSION);
}

}  // namespace preflight::report
