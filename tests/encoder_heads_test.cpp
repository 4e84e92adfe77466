// An encoder beside the language model has heads of its own to be cut.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string check(const char* tp, const char* release, const char* model = "mistralai/Voxtral-Mini-3B-2507",
                  const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"check", "--no-kernel", "--sglang-version", release, "--device-count",
                                    "8",     "--",          "--model-path",     model,   "--tp-size",
                                    tp};
  words.insert(words.end(), more.begin(), more.end());
  return run_tool(words).out;
}

// 20 heads in the encoder, 32 in the language model. Recorded of 0.5.23: tp 4 is built, tp 8 is AssertionError.
TEST(EncoderHeads, OfVoxtralDivideByTheRanks) {
  for (const char* release : {"0.5.11", "0.5.22", "0.5.23"}) {
    EXPECT_THAT(check("8", release), HasSubstr("error[PL003]: 20 heads of the audio encoder do not divide by"));
    EXPECT_THAT(check("4", release), Not(HasSubstr("PL003")));
  }
}

// 20 heads in the encoder of Qwen3-Omni, 14 in that of the smaller Qwen3-ASR, cut over attention's ranks. Recorded of
// 0.5.23: Qwen3-ASR over 4 is AssertionError.
TEST(EncoderHeads, OfAThinkerDivideByAttentionsRanks) {
  constexpr const char* kOmni = "Qwen/Qwen3-Omni-30B-A3B-Instruct";
  for (const char* release : {"0.5.11", "0.5.21"}) {
    EXPECT_THAT(check("8", release, kOmni), HasSubstr("error[PL003]: 20 heads of the audio encoder do not divide by"));
    EXPECT_THAT(check("4", release, kOmni), Not(HasSubstr("PL003")));
    EXPECT_THAT(check("8", release, kOmni, {"--dp-size", "2", "--enable-dp-attention"}), Not(HasSubstr("PL003")));
  }
  const TemporaryDirectory dir;
  const std::string file = dir.file("asr/config.json", R"({"architectures": ["Qwen3ASRForConditionalGeneration"],
      "model_type": "qwen3_asr", "thinker_config": {"model_type": "qwen3_asr_thinker",
      "audio_config": {"model_type": "qwen3_asr_audio_encoder", "encoder_attention_heads": 14, "d_model": 896},
      "text_config": {"model_type": "qwen3", "num_attention_heads": 16, "num_key_value_heads": 8}}})");
  const std::string asr = file.substr(0, file.rfind('/'));
  EXPECT_THAT(check("4", "0.5.23", asr.c_str()),
              HasSubstr("error[PL003]: 14 heads of the audio encoder do not divide by"));
  EXPECT_THAT(check("2", "0.5.23", asr.c_str()), Not(HasSubstr("PL003")));
}

}  // namespace
}  // namespace preflight::testing
