// A picture of one request's page table: its tokens, the pages that hold them, how a token's slot is found, and where a
// backend reads that takes token slots for page numbers. For the terminal, and as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/report/style.h"

namespace preflight::report {

struct PagePicture {
  std::int64_t page_size = 1;
  std::int64_t tokens = 0;           // of the request
  std::vector<std::int64_t> table;   // its pages in order
  std::int64_t pool_pages = 0;       // drawn of the pool
  std::int64_t token = 0;            // the one whose slot is worked out
  std::vector<std::string> remarks;  // about this launch's pages: what they were changed from
  std::vector<std::string> faults;   // what goes wrong with them in this launch

  [[nodiscard]] std::int64_t column() const { return token / page_size; }
  [[nodiscard]] std::int64_t page() const { return table[static_cast<std::size_t>(column())]; }
  [[nodiscard]] std::int64_t slot() const { return page() * page_size + token % page_size; }
};

// A request of two and a half pages, but no longer than `most_tokens` (0: no limit), on pages out of order, as a pool
// in use hands them out.
PagePicture example_picture(std::int64_t page_size, std::int64_t most_tokens = 0);

std::string page_picture_text(const PagePicture& picture, const Style& style);
std::string page_picture_svg(const PagePicture& picture, const std::string& title);

}  // namespace preflight::report
