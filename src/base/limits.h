// The most that this program takes on, in one place. Inputs come from strangers: whatever stands in them, no file under
// a megabyte may cost more than a second or 200 MB. Each limit is far beyond any real launch or model, and whoever
// meets one is told which. Tested by tests/limits_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace preflight::limits {

// Any text that is read as a whole: longer than any configuration; a device file never ends.
inline constexpr std::size_t kTextBytes = std::size_t{64} << 20U;

// Layers of a model: lists and weights are counted layer by layer.
inline constexpr std::int64_t kLayers = 16'384;
// Items of a list, and bytes of a text, that a rule of a configuration class or a step of resolution may make.
inline constexpr std::int64_t kListItems = std::int64_t{1} << 20U;
// Stages of a pipeline: weights are counted stage by stage.
inline constexpr std::int64_t kPipelineStages = 16'384;

// What a --config file comes to as words, and one of its values: aliases multiply.
inline constexpr std::size_t kConfigBytes = std::size_t{4} << 20U;

// Kernel cases of one file, as text: braces multiply them.
inline constexpr std::size_t kCaseBytes = std::size_t{16} << 20U;

// The search for fixes: argument lists longer than that are not searched, and the lists that it keeps in mind may hold
// so many bytes in all.
inline constexpr std::size_t kFixWords = 1'000;
inline constexpr std::size_t kFixBytes = std::size_t{32} << 20U;

}  // namespace preflight::limits
