#include "src/sources/readers/config_options.h"

#include <algorithm>
#include <array>
#include <string>

#include "preflight/release.h"
#include "src/args/option_index.h"
#include "src/args/vllm_options.h"

namespace preflight::sources {
namespace {

// Long names of SGLang's options that vLLM has, too.
bool is_shared(std::string_view name) {
  constexpr auto kShared = std::to_array<std::string_view>({"attention-backend",
                                                            "chat-template",
                                                            "config-format",
                                                            "data-parallel-size",
                                                            "download-dir",
                                                            "kv-cache-dtype",
                                                            "load-format",
                                                            "max-lora-rank",
                                                            "model-impl",
                                                            "model-loader-extra-config",
                                                            "node-rank",
                                                            "pipeline-parallel-size",
                                                            "reasoning-parser",
                                                            "served-model-name",
                                                            "skip-tokenizer-init",
                                                            "stream-interval",
                                                            "tensor-parallel-size",
                                                            "tokenizer-mode",
                                                            "tool-call-parser",
                                                            "trust-remote-code",
                                                            "api-key",
                                                            "enable-lora",
                                                            "log-level",
                                                            "disable-custom-all-reduce",
                                                            "root-path",
                                                            "kv-events-config"});
  return std::ranges::find(kShared, name) != kShared.end() || name.starts_with("ssl-");
}

// The key of a line that begins at the margin; empty where it has none.
std::string_view key_of(std::string_view line) {
  constexpr std::string_view kSigns = "abcdefghijklmnopqrstuvwxyz0123456789-_";
  const std::size_t end = std::min(line.find_first_not_of(kSigns), line.size());
  const bool key = end > 0 && line.substr(end).starts_with(':') && !line.starts_with('-');
  return key ? line.substr(0, end) : std::string_view();
}

}  // namespace

OptionsOf options_of_config(std::string_view text) {
  const args::OptionIndex& known = args::OptionIndex::of(supported_releases().back());
  std::size_t options = 0;
  std::size_t others = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view key = key_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (key.empty()) continue;
    std::string name(key);
    std::ranges::replace(name, '_', '-');
    const std::string option = "--" + name;
    const bool of_sglang = known.find(option) != nullptr;
    // One that is a word, or that everybody calls so, may be a key of anything.
    const bool telling = name.find('-') != std::string::npos && key != "model_path" && !is_shared(name);
    if (of_sglang && telling) return OptionsOf::kSglang;
    const bool of_a_server = of_sglang || args::find_vllm_option(option) != nullptr;
    ++(of_a_server ? options : others);
  }
  return options > 1 && others == 0 ? OptionsOf::kSomeServer : OptionsOf::kNobody;
}

}  // namespace preflight::sources
