#include "src/facts/known_models.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "preflight/value.h"
#include "src/base/ascii_case.h"
#include "src/base/embedded.h"

namespace preflight::facts {
namespace {

// The ids of a record stand in its first line, so that a look-up parses one record only.
std::string_view ids_line(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.substr(std::min(line.find('['), line.size()));
}

std::string_view name_of(std::string_view id) { return id.substr(id.rfind('/') + 1); }

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t kept = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({kept, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// A publisher's name is easily left out, and names carry suffixes: the last part alone is measured.
std::size_t distance(const std::string& wanted, const std::string& known) {
  if (wanted == known) return 0;
  return 1 + edits(name_of(wanted), name_of(known));
}

}  // namespace

std::shared_ptr<const Value> known_model(std::string_view id) {
  if (id.empty() || id.find('"') != std::string_view::npos) return nullptr;
  const std::string quoted = '"' + std::string(id) + '"';
  for (const auto& file : embedded::models()) {
    if (ids_line(file.text).find(quoted) == std::string_view::npos) continue;
    auto record = Value::parse_json(file.text);
    const bool usable = record && record->is_dict() && record->find("config") != nullptr;
    return usable ? std::make_shared<const Value>(std::move(*record)) : nullptr;
  }
  return nullptr;
}

std::vector<std::string_view> known_model_ids() {
  std::vector<std::string_view> out;
  for (const auto& file : embedded::models()) {
    const std::string_view line = ids_line(file.text);
    // ["A/B", "C/D"], — what stands between quotes.
    for (std::size_t at = 0; (at = line.find('"', at)) != std::string_view::npos;) {
      const std::size_t end = line.find('"', at + 1);
      if (end == std::string_view::npos) break;
      out.push_back(line.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  return out;
}

std::vector<std::string> nearest_models(std::string_view id, std::size_t most) {
  const std::string wanted = ascii_lower(std::string(id));
  const std::size_t name_length = name_of(wanted).size();
  if (name_length < 3) return {};
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const std::string_view known : known_model_ids()) {
    const std::size_t away = distance(wanted, ascii_lower(std::string(known)));
    // A fifth of the name and the publisher: further away is another model.
    if (away <= 1 + std::max<std::size_t>(name_length / 5, 1)) found.emplace_back(away, known);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < found.size() && i < most; ++i) {
    // An exact match in other letters needs no company.
    if (i > 0 && found.front().first == 0) break;
    out.emplace_back(found[i].second);
  }
  return out;
}

}  // namespace preflight::facts
