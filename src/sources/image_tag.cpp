#include "src/sources/image_tag.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/ascii_case.h"

namespace preflight::sources {
namespace {

bool is_image_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-' || c == '/' || c == ':' || c == '@';
}

// What may follow the three numbers (PEP 440), with or without a mark before it: v0.5.20rc1, v0.5.20-rc1, 0.5.20.dev4.
constexpr std::array<std::string_view, 5> kKinds = {"post", "rc", "dev", "a", "b"};

std::size_t behind_suffix(std::string_view tag, std::size_t at) {
  const bool mark = at < tag.size() && (tag[at] == '.' || tag[at] == '-' || tag[at] == '_');
  const std::string_view rest = tag.substr(at + (mark ? 1 : 0));
  for (const std::string_view kind : kKinds) {
    if (!rest.starts_with(kind) || (mark && kind.size() == 1)) continue;
    const std::size_t digits = rest.find_first_not_of("0123456789", kind.size());
    const std::size_t end = std::min(digits, rest.size());
    const bool word_ends = end == rest.size() || std::isalnum(static_cast<unsigned char>(rest[end])) == 0;
    if (end > kind.size() && word_ends) return at + (mark ? 1 : 0) + end;
  }
  return at;
}

// A build of some day, which is no release, whatever release it says it follows: "-dev", "-nightly"; "" for others.
std::string unreleased_in(std::string_view tag) {
  for (std::size_t from = 0; from <= tag.size();) {
    const std::size_t end = std::min(tag.find_first_of("-_.", from), tag.size());
    const std::string word = ascii_lower(std::string(tag.substr(from, end - from)));
    if (word == "dev" || word == "nightly") return "-" + word;
    from = end + 1;
  }
  return "";
}

// "v0.5.19-xpu" -> "0.5.19"; "dev-0.5.20" -> "0.5.20-dev"; "v0.5.12.post1" -> "0.5.12.post1"; "v0.5.20-rc1-xpu" ->
// "0.5.20-rc1"; "latest", "nightly-xpu-20260101" -> "".
std::string version_in(std::string_view tag) {
  for (std::size_t at = 0; at < tag.size(); ++at) {
    const bool starts = at == 0 || tag[at - 1] == 'v' || tag[at - 1] == '-' || tag[at - 1] == '_';
    if (!starts || tag[at] != '0') continue;
    std::size_t end = at;
    int dots = 0;
    while (end < tag.size() && ((tag[end] >= '0' && tag[end] <= '9') || (tag[end] == '.' && dots < 2))) {
      if (tag[end] == '.') ++dots;
      ++end;
    }
    if (dots != 2 || tag[end - 1] == '.') continue;
    const std::size_t behind = behind_suffix(tag, end);
    const std::string version(tag.substr(at, behind - at));
    return behind > end ? version : version + unreleased_in(tag);
  }
  return "";
}

struct Image {
  std::string_view repository;  // with the registry
  std::string_view tag = {};
  bool is_pinned = false;  // by a tag or a digest
};

// "reg:5000/lmsysorg/sglang:v0.5.19@sha256:…"
Image parts_of(std::string_view word) {
  const auto digest = word.find('@');
  const std::string_view named = word.substr(0, digest);
  const auto slash = named.rfind('/');
  const auto colon = named.find(':', slash == std::string_view::npos ? 0 : slash);
  Image out{.repository = named.substr(0, colon), .is_pinned = digest != std::string_view::npos};
  if (colon == std::string_view::npos) return out;
  out.tag = named.substr(colon + 1);
  out.is_pinned = true;
  return out;
}

// Images with SGLang in their names whose tags count another program's releases: lmsysorg/sglang-router, and
// nvcr.io/nvidia/ai-dynamo/sglang-runtime.
bool is_of_another_program(std::string_view repository) {
  constexpr std::array<std::string_view, 5> kOthers = {"router", "gateway", "operator", "kernel", "bench"};
  const std::string lower = ascii_lower(std::string(repository));
  const std::string_view name = std::string_view(lower).substr(lower.rfind('/') + 1);
  return name == "sglang-runtime" || lower.find("dynamo") != std::string::npos ||
         std::ranges::any_of(kOthers, [&](std::string_view other) { return name.find(other) != name.npos; });
}

// One word of the text as an image; nullopt where it is none of SGLang's.
std::optional<ImageTag> image_in(std::string_view word) {
  const Image image = parts_of(word);
  const auto slash = image.repository.rfind('/');
  const std::string_view name = image.repository.substr(slash == std::string_view::npos ? 0 : slash + 1);
  // python -m sglang.launch_server and a path are no images: without a tag or a digest nothing is said anyway.
  if (!image.is_pinned) return std::nullopt;
  const std::string lower = ascii_lower(std::string(name));
  if (lower.find("sglang") == std::string::npos || lower.find("sglang.") != std::string::npos) return std::nullopt;
  if (is_of_another_program(image.repository)) return std::nullopt;
  if (word.front() == '/' || word.front() == '.') return std::nullopt;  // of a volume, HOST:CONTAINER
  if (word.find("//") != std::string_view::npos) return std::nullopt;   // of a URL
  if (image.tag.find('/') != std::string_view::npos) return std::nullopt;
  return ImageTag{std::string(word), version_in(image.tag)};
}

}  // namespace

std::optional<ImageTag> sglang_image(std::string_view text) {
  std::optional<ImageTag> found;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_image_character(text[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && is_image_character(text[at])) ++at;
    std::string_view word = text.substr(begin, at - begin);
    while (!word.empty() && (word.back() == ':' || word.back() == '.')) word.remove_suffix(1);
    if (word.empty()) continue;
    auto image = image_in(word);
    if (!image) continue;
    if (found && found->version != image->version) return std::nullopt;
    found = std::move(image);
  }
  return found;
}

namespace {

// The version behind `sglang==` or `sglang[all]==` that begins at `at`; "" where none is named exactly.
std::string exact_version(std::string_view text, std::size_t at) {
  std::string_view rest = text.substr(at + std::string_view("sglang").size());
  if (rest.starts_with('[')) {  // no farther than the names of extras go
    const auto end = rest.find_first_of("][\n=", 1);
    if (end == rest.npos || rest[end] != ']') return "";
    rest.remove_prefix(end + 1);
  }
  if (!rest.starts_with("==")) return "";
  rest.remove_prefix(2);
  const std::size_t end = std::min(rest.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz."), rest.size());
  return version_in(rest.substr(0, end));
}

// Where the next line begins, those counted in that a backslash goes on with.
std::size_t behind_command(std::string_view text, std::size_t from) {
  auto end = text.find('\n', from);
  while (end != text.npos && end > from && text[end - 1] == '\\') end = text.find('\n', end + 1);
  return end == text.npos ? text.size() : end + 1;
}

}  // namespace

std::string pinned_release(std::string_view text) {
  std::string found;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = behind_command(text, from);
    const std::string_view command = text.substr(from, end - from);
    from = end;
    const auto first = command.find_first_not_of(" \t\n");
    const auto installs = command.find("pip");
    if (first == command.npos || command[first] == '#' || installs == command.npos) continue;
    for (auto at = command.find("sglang", installs); at != command.npos; at = command.find("sglang", at + 1)) {
      const char before = command[at - 1];
      if (std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '-') continue;
      const std::string version = exact_version(command, at);
      if (version.empty()) continue;
      if (!found.empty() && found != version) return "";
      found = version;
    }
  }
  return found;
}

namespace {

// Upstream's own image of a release, or its latest: without a word for a device it is the one for CUDA.
bool is_plain_release(const Image& image) {
  if (image.repository != "lmsysorg/sglang" && !image.repository.ends_with("/lmsysorg/sglang")) return false;
  const std::string version = version_in(image.tag);
  return image.tag == "latest" || (!version.empty() && image.tag == "v" + version);
}

}  // namespace

std::string other_device_of_image(std::string_view image) {
  if (is_plain_release(parts_of(image))) return "CUDA";
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kMarks = {
      {{"cu", "CUDA"}, {"rocm", "ROCm"}, {"musa", "MUSA"}, {"cann", "Ascend NPUs"}, {"npu", "Ascend NPUs"}}};
  const std::string tag = ascii_lower(std::string(parts_of(image).tag));
  for (std::size_t from = 0; from <= tag.size();) {
    const std::size_t end = std::min(tag.find_first_of("-_", from), tag.size());
    const std::string_view word = std::string_view(tag).substr(from, end - from);
    from = end + 1;
    for (const auto& [mark, device] : kMarks) {
      if (!word.starts_with(mark)) continue;
      const std::string_view version = word.substr(mark.size());
      const bool number = version.find_first_not_of("0123456789.") == std::string_view::npos;
      if (number && (mark != "cu" || version.size() >= 2)) return std::string(device);
    }
  }
  return "";
}

std::string release_of_image(std::string_view image) {
  const Image parts = parts_of(image);
  const bool ours = parts.repository.find("sglang") != std::string_view::npos;
  return ours && !is_of_another_program(parts.repository) ? version_in(parts.tag) : "";
}

}  // namespace preflight::sources
