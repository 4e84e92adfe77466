// What is the same in two launches, and in two remedies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/fix.h"
#include "preflight/launch.h"

namespace preflight::fix {

bool is_refusal(const Diagnostic& d);
// What --require misses no change of the launch mends.
bool is_of_sglang(const Diagnostic& d);
// The same fault, whatever its numbers.
bool is_in(const Diagnostic& d, const std::vector<Diagnostic>& list);
// It, as it stands there; null where it is gone.
const Diagnostic* left_of(const Diagnostic& d, const std::vector<Diagnostic>& list);
// The same fault, told more severely or further past its limit than before.
bool is_worse(const Diagnostic& now, const std::vector<Diagnostic>& before);
// Values that follow from the others in small steps; a remedy may move them, and says so.
bool may_move(Field f);
// What a launch resolves to otherwise, as a remark "(--mem-fraction-static is then 0.841, not 0.838)"; "" where nothing
// does. nullopt: it is another launch. `as_typed`: a field that stays what was typed, whatever another makes of it.
std::optional<std::string> remark_on_values(const Launch& now, const Launch& then, std::optional<Field> as_typed = {});
// Whether two lists of arguments make one launch, however it was asked for.
bool resolve_alike(const Launch& a, const Launch& b);
// Remedies that differ in one value are one remedy with several.
void add(const Remedy& remedy, std::vector<Remedy>& list);
// A checked fix as a remedy; nullopt where steps cannot say it: options with several values, stray words.
std::optional<Remedy> remedy_of(const CheckedFix& fix);

}  // namespace preflight::fix
