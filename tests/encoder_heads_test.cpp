// An encoder beside the language model has heads of its own to be cut.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string check(const char* tp, const char* release) {
  return run_tool({"check", "--no-kernel", "--sglang-version", release, "--device-count", "8", "--", "--model-path",
                   "mistralai/Voxtral-Mini-3B-2507", "--tp-size", tp})
      .out;
}

// 20 heads in the encoder, 32 in the language model. Recorded of 0.5.23: tp 4 is built, tp 8 is AssertionError.
TEST(EncoderHeads, OfVoxtralDivideByTheRanks) {
  for (const char* release : {"0.5.11", "0.5.22", "0.5.23"}) {
    EXPECT_THAT(check("8", release), HasSubstr("error[PL003]: 20 heads of the audio encoder do not divide by"));
    EXPECT_THAT(check("4", release), Not(HasSubstr("PL003")));
  }
}

}  // namespace
}  // namespace preflight::testing
