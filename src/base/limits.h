// The most that this program takes on, in one place. Inputs come from strangers: whatever stands in them, no file under
// a megabyte may cost more than a second or 200 MB. Each limit is far beyond any real launch or model, and whoever
// meets one is told which. Tested by tests/limits_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace preflight::limits {

// Stands for an exception's name where a limit of ours ended the reading of a launch: SGLang may well take it, so that
// this is told as ours and never as a refusal of SGLang's.
inline constexpr std::string_view kOurs = "a limit of xpu-preflight";

// Any text that is read as a whole: longer than any configuration; a device file never ends.
inline constexpr std::size_t kTextBytes = std::size_t{64} << 20U;

// A file of the system's own, of which the list of connections is the longest; and a line of a batch.
inline constexpr std::size_t kSystemBytes = std::size_t{16} << 20U;
inline constexpr std::size_t kLineBytes = std::size_t{16} << 20U;

// Layers of a model: lists and weights are counted layer by layer, many times over.
inline constexpr std::int64_t kLayers = 1'024;
// Names of classes, entries of a list by layer, and settings that a model's configuration may have: each is looked up
// again and again.
inline constexpr std::size_t kArchitectures = 64;
inline constexpr std::size_t kModelItems = 65'536;
inline constexpr std::size_t kModelSettings = 32'768;
// Other numbers of a model: heads, experts, widths, and what is counted in tokens. Counts of bytes are products of
// them.
inline constexpr std::int64_t kHeads = std::int64_t{1} << 16U;
inline constexpr std::int64_t kExperts = std::int64_t{1} << 16U;
inline constexpr std::int64_t kModelWidth = std::int64_t{1} << 24U;
inline constexpr std::int64_t kModelTokens = std::int64_t{1} << 30U;
// Bytes of a part of a launch: no machine has more, and a sum of a few of them is still a number.
inline constexpr std::int64_t kLaunchBytes = std::int64_t{1} << 60U;
// Items of a list, and bytes of a text, that a rule of a configuration class or a step of resolution may make.
inline constexpr std::int64_t kListItems = std::int64_t{1} << 20U;
// Items for which Python finds no memory on any machine: 8 TiB of pointers.
inline constexpr std::int64_t kPythonItems = std::int64_t{1} << 40U;
// Stages of a pipeline: weights are counted stage by stage.
inline constexpr std::int64_t kPipelineStages = 16'384;

// What a --config file comes to as words, and one of its values: aliases multiply.
inline constexpr std::size_t kConfigBytes = std::size_t{4} << 20U;

inline constexpr std::size_t kConfigWords = 20'000;

// What a container, an image or a line of a batch sets: each variable is seen by all behind it. And their text, which
// grows where one repeats another.
inline constexpr std::size_t kVariables = 512;
inline constexpr std::size_t kVariableBytes = std::size_t{1} << 20U;

// Nodes of a file of options (a list that is longer has more words than any launch has), documents of a YAML file, and
// pairs that its merges come to.
inline constexpr std::size_t kYamlNodes = 50'000;
inline constexpr std::size_t kYamlDocuments = 1'000;
inline constexpr std::size_t kYamlPairs = 100'000;

// Kernel cases of one file, as text: braces multiply them.
inline constexpr std::size_t kCaseBytes = std::size_t{16} << 20U;

// The search for fixes: argument lists longer than that are not searched, and the lists that it keeps in mind may hold
// so many bytes in all.
inline constexpr std::size_t kFixWords = 1'000;
// Launches that one run resolves to find fixes and to try remedies, whatever number of launches its files hold. All
// lines of a batch together have more, each as many as a run of its own; so many take one to three seconds. Equal lines
// are tried once: so many different ones are kept in mind.
inline constexpr std::size_t kTries = 5'000;
inline constexpr std::size_t kBatchTries = 20'000;
inline constexpr std::size_t kBatchAnswers = 256;
inline constexpr std::size_t kFixBytes = std::size_t{32} << 20U;

}  // namespace preflight::limits
