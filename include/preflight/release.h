// An SGLang release, and the list of those this build knows (one folder each under configs/sglang).
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace preflight {

struct Release {
  int major = 0;
  int minor = 0;
  int patch = 0;
  int post = 0;  // 0.5.12.post1 lies between 0.5.12 and 0.5.13

  friend constexpr auto operator<=>(const Release&, const Release&) = default;
  [[nodiscard]] std::string text() const;  // "0.5.23", "0.5.12.post1"
};

constexpr Release v0_5(int patch, int post = 0) { return Release{0, 5, patch, post}; }

// Ranges are from `since` to before `until` everywhere; this is the `until` of one that has not ended.
inline constexpr Release kNoEnd = v0_5(9999);

// "0.5.23", "v0.5.23" or "0.5.12.post1"; nothing else.
std::optional<Release> parse_release(std::string_view text);
// Ascending; the last is the default.
std::span<const Release> supported_releases();
bool is_supported(Release release);

}  // namespace preflight
