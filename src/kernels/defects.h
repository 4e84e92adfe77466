// Planted defects: the mistakes that decode attention has been seen to make, each with a case that must catch it.
//
// A defect of what a kernel computes lives in the kernel (PLANT in ocl_kernels, compiled in with -DDEFECT=id). One of
// what the host hands over lives where the host makes it, for no kernel could make it: a page table of attention that
// holds token slots (spoil() changes what the device gets, never what the reference sees), a workspace sized for other
// splits, heads dealt out to the wrong ranks (tensor_parallel.cpp). tests/kernels/defects_test.cpp runs every row and
// demands a fail where the sound kernel passes.
#pragma once

#include <span>
#include <string_view>

#include "preflight/batch.h"

namespace preflight::defects {

struct Defect {
  int id;                      // ten times its number in the catalogue, plus the variant
  std::string_view what;       // as a clause
  std::string_view case_line;  // a case that tells it from the sound kernel
};

std::span<const Defect> defect_table();

// The batch the device gets under this defect: a changed page table, say. Unchanged for defects that live in the
// kernel.
SampleBatch spoil(SampleBatch batch, int id);
// The case by which the workspace is sized under this defect.
KernelCase workspace_case(KernelCase kernel_case, int id);

}  // namespace preflight::defects
