// What `pages` found: the launch on every page size and attention backend, and a picture of its page table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/machine_facts.h"
#include "src/report/page_picture.h"
#include "src/report/report_text.h"

namespace preflight::report {

// The launch's own --prefill-attention-backend and --decode-attention-backend, which other rows leave out.
inline constexpr std::string_view kAsGiven = "as given";
// Prefill on triton, decode on intel_xpu: what releases before 0.5.20 allow of intel_xpu for MLA models.
inline constexpr std::string_view kSplit = "split";

// One page size on one attention backend.
struct PageRow {
  std::string backend;
  std::int64_t page = 0;
  std::vector<std::string> without = {};  // options of the launch that the row leaves out
  bool accepted = false;
  std::string refusal;       // when it is not
  std::int64_t becomes = 0;  // page size after resolution
  std::string runs_on;       // decode backend after resolution
  std::string prefills_on;   // prefill backend after resolution
  std::string changed = {};  // SGLang's reasons, where backend or page are not those of the row
  std::vector<Diagnostic> errors;
  std::vector<Diagnostic> warnings = {};
  std::int64_t columns = 0;
  std::int64_t padded = 0;
  std::string kernel = {};   // its verdict, or why it was not run
  bool kernel_sound = true;  // nothing was wrong as far as it ran

  [[nodiscard]] bool good() const { return accepted && errors.empty() && kernel_sound; }
  [[nodiscard]] bool kept() const {
    return becomes == page &&
           (backend == kAsGiven || backend == kSplit || (runs_on == backend && prefills_on == backend));
  }
  [[nodiscard]] std::string backends() const { return prefills_on == runs_on ? runs_on : prefills_on + "+" + runs_on; }
};

// The request of the picture, and whose it is.
struct DrawnPages {
  PagePicture picture;
  std::string backends;
  bool is_launch = false;  // else the recommended launch: this one does not run
};

struct PagesReport {
  std::optional<MachineFacts> machine = {};
  std::vector<PageRow> rows;
  std::optional<std::size_t> best;  // of the rows; none where none works
  std::string reason;               // why it is the best
  std::optional<DrawnPages> drawing;
};

std::string pages_text(const PagesReport& report, const TextOptions& options);
std::string pages_json(const PagesReport& report);
std::string title_of(const DrawnPages& drawing);

}  // namespace preflight::report
