// How the shared experts of a launch stand on its ranks: an MLP of their own on Intel GPUs.
// Sources: srt/models/{deepseek_v2,qwen2_moe,glm4_moe,…}.py, where they choose a parallel group. Tested by
// tests/weights_test.cpp, tests/parity/weights and the examples of QN002.
#pragma once

#include <cstdint>

#include "src/launch/launch_view.h"

namespace preflight {

// All tensor ranks cut them, however the routed ones are laid out; 1: each rank holds them whole.
std::int64_t shared_expert_ranks(const LaunchView& view);

}  // namespace preflight
