// Draft classes that take over the target's embedding table and output head with a call of torch.cuda.synchronize(),
// whatever the device: set_embed_and_head and set_embed in srt/models, inherited ones too. Releases before 0.5.15 draft
// on no Intel GPU and are not told apart. Tested by tests/model_methods_test.cpp.
#pragma once

#include <string_view>

#include "preflight/release.h"

namespace preflight::facts {

enum class Taken { kHead, kTable };  // set_embed_and_head; set_embed, of EAGLE3

// The first release in which the class does so no more: v0_5(0) where it never does, kNoEnd where no release is rid
// of it.
Release calls_cuda_until(std::string_view architecture, Taken taken);

}  // namespace preflight::facts
