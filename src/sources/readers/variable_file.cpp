// Tested by tests/variable_file_test.cpp.
#include "src/sources/readers/variable_file.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/base/read_text.h"
#include "src/sources/file_steps.h"

namespace preflight::sources {
namespace {

namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(" \t\r");
  return from == std::string_view::npos ? std::string_view()
                                        : text.substr(from, text.find_last_not_of(" \t\r") + 1 - from);
}

// The escapes of a text in double quotes; what they leave has its dollars doubled where one stands for itself.
void append_escape(std::string_view text, std::size_t& i, std::string& out) {
  constexpr std::string_view kFrom = "abfnrtv\"\\";
  constexpr std::string_view kTo = "\a\b\f\n\r\t\v\"\\";
  const char next = i + 1 < text.size() ? text[i + 1] : '\0';
  const auto which = kFrom.find(next);
  if (next == '$') {
    out += "$$";
  } else if (next != '\0' && which != kFrom.npos) {
    out += kTo[which];
  } else {
    out += '\\';
    return;
  }
  ++i;
}

// What stands behind '=': 'as it is', "with escapes", or up to a comment or the end of the line. `expands`: variables
// in it are filled in. `from` is where the next one begins.
std::string value_at(std::string_view text, std::size_t& from, bool& expands) {
  from = std::min(text.find_first_not_of(" \t\r", from), text.size());
  const char quote = from < text.size() ? text[from] : '\0';
  expands = quote != '\'';
  if (quote != '"' && quote != '\'') {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, end - from);
    from = end;
    return std::string(trimmed(line.substr(0, line.find(" #"))));
  }
  std::string out;
  std::size_t i = from + 1;
  for (; i < text.size() && text[i] != quote; ++i) {
    if (text[i] != '\\') {
      out += text[i];
    } else if (quote == '"') {
      append_escape(text, i, out);
    } else {
      const bool escapes = i + 1 < text.size() && text[i + 1] == quote;
      out += text[escapes ? ++i : i];
    }
  }
  from = std::min(i + 1, text.size());
  return out;
}

// The name of a line, and where its value begins; "" for a line that sets nothing.
std::string name_at(std::string_view text, std::size_t& from, Dotenv kind) {
  const std::size_t end = std::min(text.find('\n', from), text.size());
  std::string_view line = text.substr(from, end - from);
  if (trimmed(line).starts_with('#')) line = {};
  const auto sign = line.find_first_of(kind == Dotenv::kCompose ? "=:" : "=");
  std::string_view name = trimmed(line.substr(0, sign));
  if (name.starts_with("export ")) name = trimmed(name.substr(7));
  if (sign == line.npos || name.empty()) {
    from = std::min(end + 1, text.size());
    return {};
  }
  from += sign + 1;
  return std::string(name);
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

Values variables_of(std::string_view text, const Variables& known, std::size_t offset, Dotenv kind) {
  Values out;
  for (std::size_t from = 0; from < text.size();) {
    std::string name = name_at(text, from, kind);
    if (name.empty()) continue;
    bool expands = false;
    ShellWord value;
    value.text = value_at(text, from, expands);
    value.begin = value.end = offset;
    value.origin.assign(value.text.size(), offset);
    const auto filled = expands && value.text.find('$') != std::string::npos
                            ? interpolate(value, Interpolation::kCompose, {}, known, out)
                            : Result<ShellWord>(value);
    ShellText whole = filled ? static_cast<const ShellText&>(*filled) : value;
    whole.origin.assign(whole.text.size(), offset);
    for (Unknown& unknown : whole.unknowns) unknown.offset = offset;
    out.insert_or_assign(std::move(name), std::move(whole));
    from = std::min(text.find('\n', from), text.size());
    if (from < text.size()) ++from;
  }
  return out;
}

Values raw_variables_of(std::string_view text, std::size_t offset) {
  Values out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string_view line = text.substr(from, end - from);
    from = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const auto equals = line.find('=');
    if (line.starts_with('#') || equals == line.npos || equals == 0) continue;
    const std::string_view value = line.substr(equals + 1);
    out.insert_or_assign(std::string(line.substr(0, equals)),
                         ShellText{std::string(value), std::vector<std::size_t>(value.size(), offset), {}});
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
  constexpr std::size_t kStepsToLook = 200;
  const auto file = place_beside(source, path);
  if (!file || is_long(*file) || !FileSteps::take(kStepsToLook)) return std::nullopt;
  auto text = read_text(file->string());
  // Each file of a folder may read the same one.
  if (text && !FileSteps::take(text->size() / limits::kManifestBytesOfAStep)) return std::nullopt;
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

}  // namespace preflight::sources
