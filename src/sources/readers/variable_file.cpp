// Tested by tests/variable_file_test.cpp.
#include "src/sources/readers/variable_file.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/base/read_text.h"

namespace preflight::sources {
namespace {

namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(" \t\r");
  return from == std::string_view::npos ? std::string_view()
                                        : text.substr(from, text.find_last_not_of(" \t\r") + 1 - from);
}

// What stands behind '=': 'as it is', "with escapes", or up to a comment. `expands`: variables in it are filled in.
std::string plain_value(std::string_view value, bool& expands) {
  const char quote = value.empty() ? '\0' : value.front();
  expands = quote != '\'';
  std::string out;
  if (quote != '"' && quote != '\'') {
    const auto comment = value.find(" #");
    return std::string(trimmed(value.substr(0, comment)));
  }
  for (std::size_t i = 1; i < value.size() && value[i] != quote; ++i) {
    if (quote == '"' && value[i] == '\\' && i + 1 < value.size()) {
      ++i;
      out += value[i] == 'n' ? '\n' : value[i];
    } else {
      out += value[i];
    }
  }
  return out;
}

// Where a file stands that is one.
std::optional<fs::path> place_beside(std::string_view source, std::string_view path) {
  if (source.empty() || path.empty() || path.find('\0') != std::string_view::npos) return std::nullopt;
  fs::path file = fs::path(source).parent_path() / fs::path(path);
  std::error_code error;
  return fs::is_regular_file(file, error) ? std::optional(std::move(file)) : std::nullopt;
}

bool is_long(const fs::path& file) {
  std::error_code error;
  return fs::file_size(file, error) > limits::kVariableFileBytes || error;
}

}  // namespace

Values variables_of(std::string_view text, const Variables& known, std::size_t offset) {
  Values out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string_view line = trimmed(text.substr(from, end - from));
    from = end + 1;
    if (line.starts_with("export ")) line = trimmed(line.substr(7));
    const auto equals = line.find('=');
    if (line.empty() || line.front() == '#' || equals == std::string_view::npos) continue;
    bool expands = false;
    ShellWord value;
    value.text = plain_value(trimmed(line.substr(equals + 1)), expands);
    value.begin = value.end = offset;
    value.origin.assign(value.text.size(), offset);
    const auto filled = expands && value.text.find('$') != std::string::npos
                            ? interpolate(value, Interpolation::kCompose, {}, known, out)
                            : Result<ShellWord>(value);
    ShellText whole = filled ? static_cast<const ShellText&>(*filled) : value;
    whole.origin.assign(whole.text.size(), offset);
    for (Unknown& unknown : whole.unknowns) unknown.offset = offset;
    out.insert_or_assign(std::string(trimmed(line.substr(0, equals))), std::move(whole));
  }
  return out;
}

std::string place_of_file(std::string_view source) {
  std::error_code error;
  const fs::path place = source.find('\0') == source.npos ? fs::absolute(source, error) : fs::path();
  return !source.empty() && !error && fs::is_regular_file(place, error) ? place.lexically_normal().string()
                                                                        : std::string();
}

std::string unread_beside(std::string_view source, std::string_view path, std::string_view name) {
  const auto file = place_beside(source, path);
  if (!file) return {};
  if (is_long(*file))
    return fmt::format("{} is longer than is followed ({} KiB)", name.empty() ? path : name,
                       limits::kVariableFileBytes / 1024);
  const auto text = read_text(file->string());
  return text ? std::string() : text.error().text();
}

std::optional<std::string> file_beside(std::string_view source, std::string_view path) {
  const auto file = place_beside(source, path);
  if (!file || is_long(*file)) return std::nullopt;
  auto text = read_text(file->string());
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

}  // namespace preflight::sources
