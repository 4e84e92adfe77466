// What a release does with an architecture's draft and with a quantization's name: tests/data/model_releases.txt, lines
//
//   draft TARGET DRAFT FIRST-LAST          what a draft of that architecture is renamed to
//   quantization NAME FIRST-LAST           --quantization NAME is taken on XPU
//   fast NAME FIRST-LAST                   without the warning that it is not optimized
//
// no LAST: it still does. Read in srt/configs/model_config.py of every release.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "src/facts/model_source.h"
#include "tests/support/paths.h"

namespace preflight::facts {
namespace {

class OneModel : public ModelSource {
 public:
  explicit OneModel(const std::string& architecture)
      : config_(
            Value::parse_json(
                fmt::format(R"({{"model_type":"llama","architectures":["{}"],"hidden_size":64,"num_attention_heads":2,
                                   "num_hidden_layers":2,"vocab_size":99,"max_position_embeddings":64,"v_head_dim":32,
                                   "kv_lora_rank":512,"qk_nope_head_dim":32,"qk_rope_head_dim":32,"head_dim":32,
                                   "num_nextn_predict_layers":1,"compress_ratios":[0,0],"index_head_dim":32,"sliding_window":16,"sliding_window_size":16,"local_layer_ids":[0],"mtp_local_layer_ids":[],"mtp_num_hidden_layers":1,"mtp_num_experts":2,"mtp_num_experts_per_tok":1,"rope_parameters":{{"rope_type":"default","rope_theta":1e4}},"torch_dtype":"bfloat16"}})",
                            architecture))
                .value()) {}
  Result<std::shared_ptr<const Value>> config_of(const std::string& /*path*/) override {
    return std::make_shared<const Value>(config_);
  }
  bool has_file(const std::string& /*path*/, const std::string& name) override { return name == "config.json"; }

 private:
  Value config_;
};

struct Answer {
  std::string architecture;  // "" when the release refuses
  bool warns = false;
};

Answer ask(Release release, const std::string& architecture, const char* quantization, bool draft) {
  OneModel source(architecture);
  ModelRequest request;
  request.release = release;
  request.path = "/models/one";
  request.is_draft = draft;
  if (quantization != nullptr) request.quantization = quantization;
  const ModelOutcome outcome = build_model(source, request);
  Answer answer;
  for (const auto& line : outcome.log) answer.warns |= line.function == "_verify_quantization";
  if (const auto* facts = std::get_if<std::shared_ptr<const ModelFacts>>(&outcome.result)) {
    answer.architecture = (*facts)->architectures.front();
  }
  return answer;
}

bool holds(const std::string& kind, std::istringstream& words, std::string& range, Release release) {
  std::string first;
  std::string second;
  words >> first;
  if (kind == "draft") {
    words >> second >> range;
    return ask(release, first, nullptr, true).architecture == second;
  }
  words >> range;
  const Answer answer = ask(release, "LlamaForCausalLM", first.c_str(), false);
  return !answer.architecture.empty() && (kind == "quantization" || !answer.warns);
}

TEST(ModelFacts, DraftsAndQuantizationsAreThoseOfTheirReleases) {
  std::ifstream file(testing::source_directory() + "/tests/data/model_releases.txt");
  std::string line;
  int read = 0;
  while (std::getline(file, line)) {
    ++read;
    for (const Release release : supported_releases()) {
      std::istringstream words(line);
      std::string kind;
      std::string range;
      words >> kind;
      const bool held = holds(kind, words, range, release);
      const auto dash = range.find('-');
      const int last = dash + 1 == range.size() ? 9998 : std::stoi(range.substr(dash + 1));
      EXPECT_EQ(held, release.patch >= std::stoi(range) && release.patch <= last) << line << ", " << release.text();
    }
  }
  EXPECT_GT(read, 60);
}

}  // namespace
}  // namespace preflight::facts
