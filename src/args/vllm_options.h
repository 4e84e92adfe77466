// Options of vLLM that people type from habit, and what SGLang calls them.
#pragma once

#include <span>
#include <string_view>

namespace preflight::args {

struct VllmOption {
  std::string_view vllm;
  std::string_view sglang;  // empty: there is none
  std::string_view note;
};

std::span<const VllmOption> vllm_options();
const VllmOption* find_vllm_option(std::string_view name);

}  // namespace preflight::args
