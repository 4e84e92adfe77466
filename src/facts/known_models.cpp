#include "src/facts/known_models.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "preflight/value.h"
#include "src/base/ascii_case.h"
#include "src/base/edit_distance.h"
#include "src/base/embedded.h"
#include "src/base/remembered.h"

namespace preflight::facts {
namespace {

// The ids of a record stand in its first line, so that a look-up parses one record only.
std::string_view ids_line(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.substr(std::min(line.find('['), line.size()));
}

std::string_view name_of(std::string_view id) { return id.substr(id.rfind('/') + 1); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_mark(char c) { return c == '-' || c == '_' || c == '.'; }

// Generation and size are told by numbers alone: Qwen3-4B is no slip for Qwen3-8B.
std::string digits_of(std::string_view name) {
  std::string out;
  std::ranges::copy_if(name, std::back_inserter(out), is_digit);
  return out;
}

// qwen3-8b as a family of sizes: its name without marks, "qwen3#b", and its first size, 8.
struct Sized {
  std::string family;
  double size = 0;  // 0 = the name tells none
};

Sized sized(std::string_view name) {
  Sized out;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && (is_digit(name[end]) || (end > i && name[end] == '.'))) ++end;
    const bool size = end > i && end < name.size() && (name[end] == 'b' || name[end] == 'm') &&
                      (end + 1 == name.size() || is_mark(name[end + 1]));
    if (size && out.size == 0) {
      double n = 0;
      std::from_chars(name.data() + i, name.data() + end, n);
      out.size = name[end] == 'm' ? n / 1000 : n;
    }
    if (size) {
      out.family += '#';
    } else if (end > i) {
      out.family += name.substr(i, end - i);
    } else if (!is_mark(name[end])) {
      out.family += name[end++];
    } else {
      ++end;
    }
    i = end;
  }
  return out;
}

std::vector<std::string> best(std::vector<std::pair<double, std::string_view>> found, std::size_t most) {
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < found.size() && i < most; ++i) out.emplace_back(found[i].second);
  return out;
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

namespace {

std::vector<std::string_view> read_model_ids() {
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

}  // namespace

std::vector<std::string_view> known_model_ids() {
  static const std::vector<std::string_view> ids = read_model_ids();
  return ids;
}

namespace {

std::vector<std::string> nearest_to(std::string_view id, std::size_t most) {
  const std::string wanted = ascii_lower(std::string(id));
  const std::string_view name = name_of(wanted);
  if (name.size() < 3) return {};
  const std::string numbers = digits_of(name);
  std::vector<std::pair<double, std::string_view>> found;
  std::size_t least = std::max<std::size_t>(name.size() / 8, 1);
  for (const std::string_view known : known_model_ids()) {
    const std::string other = ascii_lower(std::string(known));
    if (digits_of(name_of(other)) != numbers) continue;
    // A publisher's name is easily left out, and names carry suffixes: the last part alone is measured.
    const std::size_t away = edit_distance(name, name_of(other), least);
    if (away > least) continue;
    // The same name needs no company but that of other publishers, and none where the publisher is right too.
    if (away == 0) least = 0;
    found.emplace_back(other == wanted ? -1 : static_cast<double>(away), known);
  }
  std::erase_if(found, [&](const auto& one) { return one.first > static_cast<double>(least); });
  const bool exact = std::ranges::any_of(found, [](const auto& one) { return one.first < 0; });
  return best(std::move(found), exact ? 1 : most);
}

std::vector<std::string> sizes_of(std::string_view id, std::size_t most) {
  const std::string wanted = ascii_lower(std::string(id));
  const Sized mine = sized(wanted);
  if (mine.size <= 0 || wanted.find('/') == std::string::npos) return {};
  std::vector<std::pair<double, std::string_view>> found;
  for (const std::string_view known : known_model_ids()) {
    const Sized other = sized(ascii_lower(std::string(known)));
    if (other.size <= 0 || other.family != mine.family) continue;
    found.emplace_back(std::abs(std::log(other.size / mine.size)), known);
  }
  return best(std::move(found), most);
}

}  // namespace

// Each launch of a run asks for its model, which is mostly the same.
std::vector<std::string> nearest_models(std::string_view id, std::size_t most) {
  thread_local Remembered<std::vector<std::string>> known;
  return known.of(fmt::format("{} {}", most, id), [&] { return nearest_to(id, most); });
}

std::vector<std::string> other_sizes(std::string_view id, std::size_t most) {
  thread_local Remembered<std::vector<std::string>> known;
  return known.of(fmt::format("{} {}", most, id), [&] { return sizes_of(id, most); });
}

}  // namespace preflight::facts
