// See environment.h. Source: sglang/srt/environ.py (EnvBool, EnvInt), sglang/srt/utils/common.py (get_bool_env_var).
#include "src/python/environment.h"

#include <algorithm>
#include <array>

#include "src/base/ascii_case.h"
#include "src/python/text.h"

namespace preflight::python {
namespace {

// Read by get_bool_env_var wherever they decide something here: use_intel_xpu_backend(), MORI's setup.
constexpr std::array<std::string_view, 2> kReadAsOneOrTrue = {"MORI_ENABLE_SDMA", "SGLANG_USE_SGL_XPU"};

}  // namespace

const std::string* environment_text(const Environment& env, std::string_view name) {
  const auto it = env.find(name);
  return it == env.end() ? nullptr : &it->second;
}

bool environment_bool(const Environment& env, std::string_view name, bool fallback) {
  const std::string* text = environment_text(env, name);
  if (text == nullptr) return fallback;
  const std::string word = ascii_lower(*text);
  if (word == "true" || word == "1") return true;
  if (std::find(kReadAsOneOrTrue.begin(), kReadAsOneOrTrue.end(), name) != kReadAsOneOrTrue.end()) return false;
  if (word == "yes" || word == "y") return true;
  if (word == "false" || word == "0" || word == "no" || word == "n") return false;
  return fallback;
}

std::int64_t environment_int(const Environment& env, std::string_view name, std::int64_t fallback) {
  const std::string* text = environment_text(env, name);
  return text == nullptr ? fallback : to_int(*text).value_or(fallback);
}

}  // namespace preflight::python
