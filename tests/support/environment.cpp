// What a developer's shell exports is no part of a test: width, colours, models, selected cards and SGLang's own
// variables are gone before the first one runs. A test that wants one sets it.
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace preflight {
namespace {

bool says_something_to_the_program(std::string_view name) {
  for (const std::string_view prefix :
       {"SGLANG_", "SGL_", "HF_", "HUGGINGFACE_", "MODELSCOPE_", "TRANSFORMERS_", "ONEAPI_", "ZE_", "SYCL_", "CCL_"}) {
    if (name.starts_with(prefix)) return true;
  }
  for (const std::string_view one : {"COLUMNS", "NO_COLOR", "TERM", "VIRTUAL_ENV", "CONDA_PREFIX", "XDG_CACHE_HOME"}) {
    if (name == one) return true;
  }
  return false;
}

class PlainEnvironment : public ::testing::Environment {
 public:
  void SetUp() override {
    std::vector<std::string> names;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
      if (says_something_to_the_program(name)) names.emplace_back(name);
    }
    for (const std::string& name : names) ::unsetenv(name.c_str());
  }
};

[[maybe_unused]] const auto* const kPlain = ::testing::AddGlobalTestEnvironment(new PlainEnvironment);

}  // namespace
}  // namespace preflight
