// What SGLang prints leads back to the place that says it. The messages here are pieces, as SGLang's sentences are not
// kept; whole recorded ones are compared by tests/parity/messages.py where recordings are at hand.
#include "src/rules/messages.h"

#include <gtest/gtest.h>

#include "tests/support/run_tool.h"

namespace preflight::rules {
namespace {

TEST(PastedMessage, TellsExceptionFunctionsAndOptionsOfATraceback) {
  const PastedMessage m = read_message(
      "Traceback (most recent call last):\n"
      "  File \"/x/sglang/srt/server_args.py\", line 7, in prepare_server_args\n"
      "    f()\n"
      "  File \"/x/sglang/srt/arg_groups/mamba_hook.py\", line 9, in validate_mamba_no_buffer\n"
      "    assert --page-size\n"
      "huggingface_hub.errors.HFValidationError: use --page-size 1, or --disable-radix-cache.\n");
  EXPECT_EQ(m.exception, "HFValidationError");
  ASSERT_EQ(m.functions.size(), 2U);
  EXPECT_EQ(m.functions.back(), "validate_mamba_no_buffer");
  EXPECT_EQ(m.options, (std::vector<std::string>{"--page-size", "--disable-radix-cache"}));
}

TEST(PastedMessage, LeadsToItsPlaceAndRule) {
  struct Case {
    const char* text;
    const char* function;
    const char* rule;
  };
  for (const Case& c : {
           Case{"  File \"a/sglang/srt/arg_groups/speculative_hook.py\", line 3, in "
                "_handle_eagle_family\nAssertionError",
                "_handle_eagle_family", "RF005"},
           Case{"TypeError: '>' not supported between instances of 'NoneType' and 'int'", "_handle_eagle_family",
                "RF005"},
           Case{"ValueError: Unknown quantization method: mxfp4. Must be one of ['fp8', 'awq'].",
                "_verify_quantization", "RF019"},
           Case{"ValueError: Invalid connector type: hf://x", "create_remote_connector", "RF018"},
           Case{"launch_server.py: error: unrecognized arguments: --page-sise 3", "", "US001"},
           Case{"error: argument --page-size: invalid int value: 'x'", "", "US004"},
           Case{"launch_server.py: error: argument --context-length: Invalid integer value: '2K'.", "", "US004"},
           Case{"intel_xpu only supports page_sizes of", "_intel_xpu_page_constraint", "CH001"},
       }) {
    const auto places = places_of(read_message(c.text));
    ASSERT_FALSE(places.empty()) << c.text;
    EXPECT_EQ(places.front().function, c.function) << c.text;
    ASSERT_NE(places.front().rule, nullptr) << c.text;
    EXPECT_EQ(places.front().rule->id, c.rule) << c.text;
  }
}

TEST(PastedMessage, OfAnotherExceptionIsNotTaken) {
  for (const auto& place : places_of(read_message("KeyError: intel_xpu only supports page_sizes of"))) {
    EXPECT_NE(place.function, "_intel_xpu_page_constraint");
  }
  EXPECT_TRUE(places_of(read_message("the weather is fine today")).empty());
}

TEST(ExplainCommand, TakesAPastedMessage) {
  using testing::run_tool;
  const auto run = run_tool({"explain", "ValueError: Invalid connector type: https://huggingface.co/Qwen/Qwen3-8B"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("RF018"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("create_remote_connector"), std::string::npos) << run.out;
  const auto nothing = run_tool({"explain", "the weather is fine today"});
  EXPECT_EQ(nothing.status, 2);
}

}  // namespace
}  // namespace preflight::rules
