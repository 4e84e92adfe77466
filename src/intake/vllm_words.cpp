// Tested by tests/vllm_words_test.cpp.
#include "src/intake/vllm_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/args/option_index.h"
#include "src/base/shell_words.h"
#include "src/args/vllm_options.h"

namespace preflight::commands {
namespace {

// An option and the words behind it; a name alone for `--a=b`, whose value is split off.
struct Given {
  std::string name;  // dashes as SGLang writes them: vLLM takes --max_model_len, too
  std::vector<std::string> values;
  std::size_t at = 0;  // of the name among the words
  std::string typed;   // all of it
};

bool is_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0;
}

std::string plain_name(std::string name) {
  if (name.starts_with("--")) std::replace(name.begin() + 2, name.end(), '_', '-');
  return name;
}

// "32k" is 32000 to vLLM, "32K" 32768.
std::optional<std::string> whole_number(std::string_view text) {
  constexpr std::string_view kUnits = "kKmMgG";
  constexpr std::array<std::int64_t, 6> kSizes = {1000,       std::int64_t{1} << 10, 1000000, std::int64_t{1} << 20,
                                                  1000000000, std::int64_t{1} << 30};
  std::int64_t unit = 1;
  if (!text.empty()) {
    if (const auto at = kUnits.find(text.back()); at != kUnits.npos) {
      unit = kSizes[at];
      text.remove_suffix(1);
    }
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number <= 0) return std::nullopt;
  return std::to_string(number * unit);
}

class Translator {
 public:
  Translator(Release release, const std::vector<std::string>& words) : index_(args::OptionIndex::of(release)) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!is_option(words[i])) {
        if (given_.empty() || is_switch(given_.back()) || !room(given_.back())) {
          given_.push_back({"", {words[i]}, i, words[i]});
        } else {
          given_.back().values.push_back(words[i]);
          given_.back().typed += " " + shell_word(words[i]);
        }
        continue;
      }
      const auto equals = words[i].find('=');
      Given g{plain_name(words[i].substr(0, equals)), {}, i, shell_word(words[i])};
      if (equals != std::string::npos) g.values.push_back(words[i].substr(equals + 1));
      given_.push_back(std::move(g));
    }
  }

  TranslatedWords run() {
    for (const Given& g : given_) translate(g);
    return std::move(out_);
  }

 private:
  // Words behind an option are its values as long as it may take more; most of vLLM's options take one.
  [[nodiscard]] static bool room(const Given& g) {
    return g.values.empty() || g.name == "--lora-modules" || g.name == "--served-model-name";
  }

  [[nodiscard]] bool is_switch(const Given& g) const {
    if (g.name.empty()) return true;
    if (g.name.starts_with("--no-") || g.name.starts_with("--enable-") || g.name.starts_with("--disable-")) return true;
    if (g.name == "--enforce-eager" || g.name == "--async-scheduling") return true;
    const args::Option* o = index_.find(g.name);
    return o != nullptr && o->arity == args::Arity::kNone;
  }

  void put(const Given& g, std::string_view name, const std::vector<std::string>& values) {
    out_.argv.emplace_back(name);
    out_.argv.insert(out_.argv.end(), values.begin(), values.end());
    out_.from.resize(out_.argv.size(), g.at);
  }

  void leave_out(const Given& g, std::string_view why) {
    constexpr std::string_view kAdvice = "drop it: ";
    if (why.starts_with(kAdvice)) why.remove_prefix(kAdvice.size());
    out_.left_out.push_back(fmt::format("{} is left out: {}", g.typed, why));
  }

  [[nodiscard]] std::string value_of(std::string_view a, std::string_view b) const {
    for (const Given& g : given_) {
      if ((g.name == a || g.name == b) && !g.values.empty()) return g.values.front();
    }
    return "1";
  }

  // Options whose value, too, is another; true when the option is dealt with.
  bool special(const Given& g) {
    const std::string value = g.values.empty() ? std::string() : g.values.front();
    if (g.name.empty() && std::exchange(has_model_, true)) {
      leave_out(g, "it belongs to no option");
    } else if (g.name.empty()) {
      put(g, "--model-path", {value});
    } else if (g.name == "--max-model-len") {
      const auto number = whole_number(value);
      number ? put(g, "--context-length", {*number}) : leave_out(g, "SGLang takes the model's own length by default");
    } else if (g.name == "--enable-expert-parallel") {
      put(g, "--ep-size", {value_of("--tensor-parallel-size", "-tp")});
    } else if (g.name == "--no-enable-chunked-prefill") {
      put(g, "--chunked-prefill-size", {"-1"});
    } else if (g.name == "--kv-cache-dtype" && value == "fp8") {
      put(g, "--kv-cache-dtype", {"fp8_e4m3"});
    } else if (g.name == "--runner" || g.name == "--task") {
      const bool embeds = value == "pooling" || value == "embed" || value == "embedding";
      embeds ? put(g, "--is-embedding", {}) : leave_out(g, "SGLang takes the kind of model from its configuration");
    } else if (g.name == "--speculative-config" || g.name == "--compilation-config" ||
               g.name == "--kv-transfer-config") {
      const auto* row = args::find_vllm_option(g.name);
      leave_out(g, fmt::format("its JSON is not translated; see {}{}{}", row->sglang, row->note.empty() ? "" : " ",
                               row->note));
    } else {
      return false;
    }
    return true;
  }

  void translate(const Given& g) {
    if (special(g)) return;
    if (const auto* row = args::find_vllm_option(g.name)) {
      if (row->sglang.empty()) return leave_out(g, row->note);
      return put(g, row->sglang, g.values);
    }
    const args::Option* same = index_.find(g.name);
    if (same == nullptr || same->row == nullptr) return leave_out(g, "SGLang has no option of that name");
    if (same->row->has_choices && !g.values.empty()) {
      const auto& choices = same->row->choices;
      if (!choices.holds(g.values.front())) {
        return leave_out(g, "SGLang knows the option and not this value");
      }
    }
    put(g, g.name, g.values);
  }

  const args::OptionIndex& index_;
  std::vector<Given> given_;
  bool has_model_ = false;  // as a word without an option
  TranslatedWords out_;
};

}  // namespace

TranslatedWords translate_vllm(Release release, const std::vector<std::string>& words) {
  return Translator(release, words).run();
}

}  // namespace preflight::commands
