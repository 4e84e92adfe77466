// Whether stored tensors have the shapes that their class allocates: its loader asserts them one by one.
//
// Sources: sglang/srt/layers/linear.py (weight_loader), vocab_parallel_embedding.py; the plain classes' own layers.
// Tested by stored_weights_test.cpp.
#pragma once

#include <string>

#include "preflight/facts.h"
#include "src/facts/weight_files.h"

namespace preflight::plan {

// The first that has another shape, and both; "" where none has, and of classes whose shapes are not known here.
std::string misshapen_tensor(const ModelFacts& model, const facts::WeightFiles& files);

}  // namespace preflight::plan
