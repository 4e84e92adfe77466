// What a method of quantisation comes to on XPU: by the method that does the work, whoever named it (--quantization or
// the checkpoint), the release, and the form of each part of the weights. Their records: quantization.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "src/rules/launch_facts.h"

namespace preflight::rules {

// Group sizes of the 4-bit product on XPU.
inline constexpr std::array<std::int64_t, 4> kPackedGroups = {32, 64, 128, 256};
[[nodiscard]] bool is_packed_group(std::int64_t size);

// The first of these settings that is a number.
std::optional<std::int64_t> number_in(const Value& config, std::initializer_list<std::string_view> keys);
// What is packed so: the checkpoint, or, where it does not say how it is stored, what the option takes it for.
std::string packed_as(const ModelFacts& m, std::string_view checkpoint);

// Whether experts are read as MXFP4. The configuration of DeepSeek-V4's FP8 forms says that they are not, and so may
// the launch (SGLANG_DSV4_FP4_EXPERTS).
bool has_experts_in_fp4(const LaunchFacts& f);

// An option that names a form goes with the checkpoint of that form.
Remedy other_checkpoint_without(std::string option);

// QN020, QN021, QN022, QN023, QN024, QN025, QN026, in this order.
std::optional<Finding> method_of_another_vendor(const LaunchFacts& f);
std::optional<Finding> auto_round_forms(const LaunchFacts& f);
std::optional<Finding> quark_schemes(const LaunchFacts& f);
std::optional<Finding> packed_experts(const LaunchFacts& f);
std::optional<Finding> bitsandbytes_weights(const LaunchFacts& f);
std::optional<Finding> fp4_of_no_experts(const LaunchFacts& f);
// QN031.
std::optional<Finding> experts_without_runner(const LaunchFacts& f);
// QN030.
std::optional<Finding> one_scale_a_tensor(const LaunchFacts& f);
std::optional<Finding> torchao_quantisation(const LaunchFacts& f);

}  // namespace preflight::rules
