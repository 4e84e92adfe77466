// Stage 7: the verdict: kernel against reference, in five words.
//
//   pass        every output within its derived tolerance, same NaN/Inf pattern, canaries and inputs intact
//   fail        not so; `reason` says which output, where, and by how much
//   mistrusted  equal, but the data could not tell (nothing but zeros, or every row the same)
//   skipped     not run, with the reason       error  could not be run, with the reason
// Not run is never pass. Tolerances and their derivation: src/verdict/tolerance.cpp. Tested by tests/verdict_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/batch.h"

namespace preflight {

struct Expected;  // preflight/reference.h

enum class VerdictWord : std::uint8_t { kPass, kMistrusted, kSkipped, kFail, kError };  // ascending severity
std::string_view name_of(VerdictWord word);

// Limits of one output. A metric whose limit is 0 must be exact; negative = not judged.
struct Tolerance {
  double rel_rms = -1.0;  // RMS(got - want) / RMS(want), over the whole output and over every row
  double cosine = -1.0;   // 1 - cos(got, want)
  double abs = -1.0;      // an element passes when |got-want| <= abs or <= rel*|want|
  double rel = -1.0;
  double bias =
      -1.0;  // how far all values are too large or too small together: sum of sign(want) (got - want) / sum |want|
};

// Output tolerance of a kernel whose result is one weighted mean, rounded once to `out`: from the output type's epsilon
// and the fp32 error of scores as large as `score_bound`.
Tolerance attention_tolerance(DType out, double score_bound);
// Log-sum-exp: FlashMLA's rule, abs 1e-6 or rel 8.01/65536, widened by fp32 error when scores are large.
Tolerance lse_tolerance(double score_bound);
Tolerance exact_tolerance();
// Output or state of the gated delta rule after `steps` tokens; intermediates of its chunked form, which are of size 1.
Tolerance delta_tolerance(DType out, std::int64_t steps);
Tolerance delta_part_tolerance(std::int64_t steps);

struct OutputVerdict {
  std::string name;
  VerdictWord word = VerdictWord::kPass;
  std::string reason;    // empty when passed
  double rel_rms = 0.0;  // the worst row's
  double cosine = 0.0;
  double max_abs = 0.0;
  double bias = 0.0;
  std::int64_t worst = -1;  // flat index of the largest difference
  // The largest of what is judged, in times of its limit; infinite where nothing is allowed, or a number is none.
  double times_allowed = 0.0;
  Tolerance limit;
};

struct Verdict {
  VerdictWord word = VerdictWord::kError;
  std::string reason;  // empty for pass
  std::vector<OutputVerdict> outputs;
  double times_allowed = 0.0;  // the outputs' largest; infinite where a guard band was hit
};

// All outputs, as the device wrote them, the guard bands and the inputs; `broken_canaries` names the buffers written
// out of bounds, `changed_inputs` the inputs that are not what was given. Rows are an output's last dimension.
Verdict judge(const std::vector<Tensor>& got, const std::vector<Expected>& want, const std::vector<Tolerance>& limits,
              const std::vector<std::string>& broken_canaries, const std::vector<std::string>& changed_inputs = {});

// Of a case that is a mistake by design (--must-fail): refused is pass, and anything else is fail.
Verdict refused_by_design(const Verdict& verdict);

}  // namespace preflight
