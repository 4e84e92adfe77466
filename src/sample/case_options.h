// The options of case lines: one table for all kernels, and which kernel takes which.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "preflight/kernel_case.h"
#include "src/base/limits.h"

namespace preflight {

using CaseMember =
    std::variant<DType KernelCase::*, std::optional<DType> KernelCase::*, PageOrder KernelCase::*, Inputs KernelCase::*,
                 Granularity KernelCase::*, bool KernelCase::*, double KernelCase::*,
                 std::vector<std::int64_t> KernelCase::*, std::int64_t KernelCase::*, std::uint64_t KernelCase::*>;

struct CaseOption {
  std::string_view name;
  CaseMember member;
  std::int64_t least = 1;  // of integers
  std::int64_t most = limits::kCaseNumber;
};

// In the order they are printed.
std::span<const CaseOption> case_options();
const CaseOption* find_case_option(std::string_view name);
bool has_case_options(std::string_view kernel);
bool takes_option(std::string_view kernel, std::string_view option);

}  // namespace preflight
