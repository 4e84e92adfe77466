// Tested by tests/pages_test.cpp.
#include "src/report/page_picture.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/base/counted.h"

namespace preflight::report {
namespace {

constexpr std::array<const char*, 4> kColours = {"#4C78A8", "#B8730A", "#59A14F", "#B07AA1"};

const char* colour_of(std::size_t column) { return kColours[column % kColours.size()]; }

std::int64_t last_token(const PagePicture& p, std::size_t column) {
  return std::min((static_cast<std::int64_t>(column) + 1) * p.page_size, p.tokens) - 1;
}

std::string range(const PagePicture& p, std::size_t column) {
  const std::int64_t first = static_cast<std::int64_t>(column) * p.page_size;
  const std::int64_t last = last_token(p, column);
  return first == last ? fmt::format("{}", first) : fmt::format("{}–{}", first, last);
}

std::string conversion(const PagePicture& p) {
  return fmt::format("token {}: page_table[{} / {}] = page_table[{}] = {}; slot = {} × {} + {} = {}", p.token, p.token,
                     p.page_size, p.column(), p.page(), p.page(), p.page_size, p.token % p.page_size, p.slot());
}

// The commonest defect of a backend that reads such a table; of pages of one token it cannot be made.
std::string mistake(const PagePicture& p) {
  if (p.page_size == 1) return "with pages of one token, page numbers and token slots are the same";
  return fmt::format(
      "a backend that took slot {} for a page number would read slots {} to {}: another request's or none", p.slot(),
      p.slot() * p.page_size, p.slot() * p.page_size + p.page_size - 1);
}

// Lines of at most `columns` bytes, broken at spaces.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  while (text.size() > columns) {
    std::size_t at = text.rfind(' ', columns);
    if (at == std::string_view::npos || at == 0) at = columns;
    lines.emplace_back(text.substr(0, at));
    text.remove_prefix(std::min(text.size(), at + 1));
  }
  lines.emplace_back(text);
  return lines;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

class Svg {
 public:
  void box(double x, double y, double w, double h, std::string_view fill, std::string_view stroke = "#333333") {
    body_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\" fill=\"{}\" "
        "stroke=\"{}\"/>\n",
        x, y, w, h, fill, stroke);
  }
  void text(double x, double y, std::string_view words, std::string_view anchor = "middle", int size = 13,
            std::string_view fill = "#222222") {
    body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\" fill=\"{}\">{}</text>\n",
                         x, y, anchor, size, fill, escaped(words));
  }
  void arrow(double x1, double y1, double x2, double y2, std::string_view colour, bool dashed) {
    const double middle = (y1 + y2) / 2;
    body_ += fmt::format(
        "<path d=\"M{:.1f} {:.1f} C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" stroke=\"{}\" "
        "stroke-width=\"1.8\"{} marker-end=\"url(#{})\"/>\n",
        x1, y1, x1, middle, x2, middle, x2, y2, colour, dashed ? " stroke-dasharray=\"6 4\"" : "",
        dashed ? "supposed" : "right");
  }
  [[nodiscard]] std::string finish(double width, double height) const {
    constexpr const char* kMarker =
        "<marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
        "orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"{}\"/></marker>";
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
        "height=\"{:.0f}\" font-family=\"sans-serif\">\n<defs>{}{}</defs>\n<rect width=\"100%\" "
        "height=\"100%\" fill=\"#FFFFFF\"/>\n{}</svg>\n",
        width, height, width, height, fmt::format(fmt::runtime(kMarker), "right", "#555555"),
        fmt::format(fmt::runtime(kMarker), "supposed", "#999999"), body_);
  }

 private:
  std::string body_;
};

}  // namespace

PagePicture example_picture(std::int64_t page_size, std::int64_t most_tokens) {
  PagePicture p;
  p.page_size = std::max<std::int64_t>(1, page_size);
  p.tokens = 2 * p.page_size + std::max<std::int64_t>(1, p.page_size / 2);
  if (most_tokens > 0) p.tokens = std::min(p.tokens, most_tokens);
  p.table = {5, 2, 6};
  p.table.resize(static_cast<std::size_t>((p.tokens + p.page_size - 1) / p.page_size));
  p.pool_pages = 8;
  p.token = std::min(p.page_size + p.page_size / 4, p.tokens - 1);
  return p;
}

std::string page_picture_text(const PagePicture& p, const Style& style) {
  constexpr std::size_t kCell = 13;
  const auto cell = [&](const std::string& s, std::size_t columns) {
    // An en dash is three bytes and one column.
    const std::size_t shown = s.find("–") == std::string::npos ? s.size() : s.size() - 2;
    const std::size_t room = columns > shown ? columns - shown : 0;
    return std::string(room / 2, ' ') + s + std::string(room - room / 2, ' ');
  };
  std::string tokens = "  tokens      │";
  std::string table = "  page table  │";
  for (std::size_t c = 0; c < p.table.size(); ++c) {
    tokens += cell(range(p, c), kCell) + "│";
    table += cell(std::to_string(p.table[c]), kCell) + "│";
  }
  std::string pool = "  pool        │";
  std::string owner = "               ";
  for (std::int64_t page = 0; page < p.pool_pages; ++page) {
    const auto at = std::find(p.table.begin(), p.table.end(), page);
    const bool own = at != p.table.end();
    const std::string name = cell(std::to_string(page), 4);
    pool += (own ? style.green(name) : style.dim(name)) + "│";
    owner += own ? cell("[" + std::to_string(at - p.table.begin()) + "]", 5) : std::string(5, ' ');
  }
  while (!owner.empty() && owner.back() == ' ') owner.pop_back();
  std::string out = tokens + "\n" + table + "\n" + pool + "\n" + owner + "\n  " + conversion(p) + "\n";
  out += fmt::format("  {}\n", p.page_size > 1 ? style.dim(mistake(p)) : mistake(p));
  for (const std::string& remark : p.remarks) out += fmt::format("  {}\n", remark);
  for (const std::string& fault : p.faults) out += fmt::format("  {}{}\n", style.red("wrong: "), fault);
  return out;
}

namespace {

constexpr double kLeft = 130;
constexpr double kWidth = 900;
constexpr double kRow = 38;
constexpr double kTokensY = 80;
constexpr double kTableY = 160;
constexpr double kPoolY = 280;

double column_width(const PagePicture& p) { return 520 / static_cast<double>(p.table.size()); }

double page_width(const PagePicture& p) { return 640 / static_cast<double>(p.pool_pages); }

void draw_pool(Svg& svg, const PagePicture& p) {
  const double width = page_width(p);
  for (std::int64_t page = 0; page < p.pool_pages; ++page) {
    const auto at = std::find(p.table.begin(), p.table.end(), page);
    const double x = kLeft + static_cast<double>(page) * width;
    const bool own = at != p.table.end();
    svg.box(x, kPoolY, width - 4, kRow, own ? colour_of(static_cast<std::size_t>(at - p.table.begin())) : "#EEEEEE");
    svg.text(x + width / 2 - 2, kPoolY + 24, fmt::format("page {}", page), "middle", 12, own ? "#FFFFFF" : "#777777");
  }
}

// The tokens of each column, its entry, and the page that it names.
void draw_columns(Svg& svg, const PagePicture& p) {
  const double column = column_width(p);
  for (std::size_t c = 0; c < p.table.size(); ++c) {
    const double x = kLeft + static_cast<double>(c) * column;
    // The last page is full only as far as the request goes.
    const auto filled = static_cast<double>(last_token(p, c) + 1 - static_cast<std::int64_t>(c) * p.page_size);
    const double share = filled / static_cast<double>(p.page_size);
    svg.box(x, kTokensY, (column - 4) * share, kRow, colour_of(c));
    svg.text(x + (column - 4) * share / 2, kTokensY + 24, range(p, c), "middle", 13, "#FFFFFF");
    svg.box(x, kTableY, column - 4, kRow, "#FFFFFF", colour_of(c));
    svg.text(x + column / 2 - 2, kTableY + 24, fmt::format("[{}] → {}", c, p.table[c]));
    svg.arrow(x + (column - 4) * share / 2, kTokensY + kRow, x + column / 2 - 2, kTableY - 2, "#555555", false);
    const double target = kLeft + (static_cast<double>(p.table[c]) + 0.5) * page_width(p) - 2;
    svg.arrow(x + column / 2 - 2, kTableY + kRow, target, kPoolY - 2, "#555555", false);
  }
}

// The token whose slot is worked out below, and the page that its position would be taken for.
void draw_token(Svg& svg, const PagePicture& p) {
  const double column = column_width(p);
  const auto within = static_cast<double>(p.token % p.page_size) + 0.5;
  const double mark =
      kLeft + static_cast<double>(p.column()) * column + (column - 4) * within / static_cast<double>(p.page_size);
  svg.box(mark - 1.5, kTokensY - 5, 3, kRow + 10, "#222222", "#222222");
  svg.text(mark, kTokensY - 9, fmt::format("token {}", p.token), "middle", 12);
  svg.text(20, kPoolY + 80, conversion(p), "start", 13);
  if (p.page_size <= 1) return;
  const double beyond = kLeft + static_cast<double>(p.pool_pages) * page_width(p) + 20;
  svg.box(beyond, kPoolY, 90, kRow, "#F7F7F7", "#999999");
  svg.text(beyond + 45, kPoolY + 24, fmt::format("page {}", p.slot()), "middle", 12, "#777777");
  const double from = kLeft + (static_cast<double>(p.column()) + 0.5) * column;
  svg.arrow(from + 14, kTableY + kRow, beyond + 45, kPoolY - 2, "#999999", true);
}

}  // namespace

std::string page_picture_svg(const PagePicture& p, const std::string& title) {
  Svg svg;
  svg.text(20, 32, title, "start", 17);
  svg.text(20, 54, fmt::format("{}, pages of {}", counted(p.tokens, "token"), p.page_size), "start", 13, "#555555");
  svg.text(20, kTokensY + 24, "tokens", "start");
  svg.text(20, kTableY + 24, "page table", "start");
  svg.text(20, kPoolY + 24, "KV pool", "start");
  draw_pool(svg, p);
  draw_columns(svg, p);
  draw_token(svg, p);
  constexpr std::size_t kColumns = 120;
  double y = kPoolY + 80;
  const auto say = [&](const std::string& words, std::string_view colour) {
    for (const std::string& part : wrapped(words, kColumns)) svg.text(20, y += 24, part, "start", 13, colour);
  };
  say(mistake(p), "#555555");
  for (const std::string& remark : p.remarks) say(remark, "#222222");
  for (const std::string& fault : p.faults) say("wrong: " + fault, "#C62828");
  return svg.finish(kWidth, y + 26);
}

}  // namespace preflight::report
