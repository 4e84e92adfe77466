// Whether stored tensors have the shapes that their class allocates: its loader asserts them one by one. And whether
// those of a method are there: nothing asserts that, and a scale that no file holds stays at the least float.
//
// Sources: sglang/srt/layers/linear.py (weight_loader), vocab_parallel_embedding.py; the plain classes' own layers;
// layers/quantization/fp8.py (create_weights).
// Tested by stored_weights_test.cpp.
#pragma once

#include <string>

#include "preflight/facts.h"
#include "src/facts/weight_files.h"

namespace preflight::plan {

// The first that has another shape, and both; "" where none has, and of classes whose shapes are not known here.
std::string misshapen_tensor(const ModelFacts& model, const facts::WeightFiles& files);
// What the files of a checkpoint that calls itself FP8 lack: its scales; "" where they are there or not asked for.
std::string absent_scales(const ModelFacts& model, const facts::WeightFiles& files);

}  // namespace preflight::plan
