// ModelBuilder: one construction of SGLang's ModelConfig in progress; the parts of it live in one file each.
//
// The object holds what ModelConfig's attributes hold while __init__ runs: the two configuration objects, the facts
// so far and the log. A Python exception is thrown as Raised and becomes the outcome's refusal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/refusal_rule.h"
#include "preflight/facts.h"
#include "src/facts/architectures.h"
#include "src/facts/hf_config.h"
#include "src/facts/model_source.h"

namespace preflight::facts {

// A Python exception on its way out of ModelConfig.
struct Raised {
  Refusal refusal;
};
[[noreturn]] void raise(RF rule, std::string exception, std::string_view function, std::string message);

struct ModelBuilder {
  ModelSource& source;
  const ModelRequest& request;
  ModelFacts& facts;
  std::vector<LogLine>& log;
  HfConfigPtr hf;    // self.hf_config
  HfConfigPtr text;  // self.hf_text_config

  [[nodiscard]] bool since(Release first) const { return request.release >= first; }
  void warn(std::string_view function, std::string message) {
    log.push_back({"WARNING", std::string(function), std::move(message)});
  }

  // hf_config.architectures as it is now; empty for None.
  std::vector<std::string> architectures;
  void set_architectures(std::vector<std::string> names);
  [[nodiscard]] bool is_arch(std::string_view name) const;     // name in architectures
  [[nodiscard]] bool first_arch(std::string_view name) const;  // architectures[0] == name
  [[nodiscard]] bool arch_trait(ArchTrait trait) const { return any_has_trait(architectures, trait, request.release); }

  // Python's config.name: AttributeError in `function` when absent.
  static Value need(const HfConfigPtr& config, std::string_view name, std::string_view function);
  static std::int64_t need_int(const HfConfigPtr& config, std::string_view name, std::string_view function);
};

// hf_transformers: get_config and get_hf_text_config. Null when no facts are known (an id nobody can resolve).
HfConfigPtr read_hf_config(ModelBuilder& builder);
HfConfigPtr hf_text_config(const HfConfigPtr& config, std::string_view function_of_caller);

void configure_draft_model(ModelBuilder& builder);
void derive_context_length(ModelBuilder& builder);
void derive_model_shapes(ModelBuilder& builder);
void derive_hybrid_model(ModelBuilder& builder);
void verify_quantization(ModelBuilder& builder);
// Afterwards: ModelFacts::described_beside and unread_algorithm.
std::optional<DescribedBeside> unasked_description(const ModelBuilder& b);
std::optional<std::string> unread_quantization(ModelBuilder& builder);

}  // namespace preflight::facts
