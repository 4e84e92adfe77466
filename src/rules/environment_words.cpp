#include "src/rules/environment_words.h"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/ascii_case.h"
#include "src/python/json_text.h"
#include "src/python/text.h"

namespace preflight::rules {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::string_view kFloats[] = {"float32", "bfloat16", "float16"};
constexpr std::string_view kBudgets[] = {"legacy", "compact"};
constexpr std::string_view kSearches[] = {"instant", "fast", "auto", "deep-lite", "deep", "deep-reasoning"};
constexpr std::string_view kHugePages[] = {"2MB", "1GB"};
constexpr std::string_view kPools[] = {"NVLINK", "BAREX", "INTRA_NODE_NVLINK", "true"};
constexpr std::string_view kFilters[] = {"NEAREST", "BOX", "BILINEAR", "HAMMING", "BICUBIC", "LANCZOS"};
constexpr std::string_view kTreeCores[] = {"python", "rust"};
constexpr std::string_view kRoleModes[] = {"off", "record", "enforce"};
constexpr std::string_view kTransports[] = {"http", "grpc"};
constexpr std::string_view kMethods[] = {"match-expected", "multinomial"};
constexpr std::string_view kTokenModes[] = {"fixed", "real-draft-token"};
// KernelBackend; each release begins with those of the one before.
constexpr std::string_view kKernels[] = {"torch",    "torch_compile", "triton",   "jit",   "aot",
                                         "cute_dsl", "flashinfer",    "deepgemm", "aiter", "torch_npu",
                                         "flydsl",   "KDA",           "helion",   "cake",  "plugin"};
constexpr Words kKernels18 = Words(kKernels).first(10);
constexpr Words kKernels19 = Words(kKernels).first(11);
constexpr Words kKernels20 = Words(kKernels).first(12);

enum class Case { kExact, kAny };  // kAny: blanks at the ends do not count either

// The first layer of a decoder is such an operation; of encoders not every class has one.
bool generates(const LaunchFacts& f) { return serves_text(f) && f.has_model() && f.model().is_generation; }
bool asks_an_encoder(const LaunchFacts& f) { return f.on(Field::language_only); }
bool simulates(const LaunchFacts& f) {
  const auto length = f.launch().env.find("SGLANG_SIMULATE_ACC_LEN");
  if (length == f.launch().env.end() || !f.eagle_family()) return false;
  return python::to_float(length->second).value_or(-1.0) > 0.0;
}
bool transfers_by_nixl(const LaunchFacts& f) {
  return f.is_disaggregated() && f.is(Field::disaggregation_transfer_backend, "nixl");
}

struct WordReader {
  std::string_view name;
  Words words;
  std::string_view then;                       // where it goes on: what is done instead
  bool (*ends)(const LaunchFacts&) = nullptr;  // launches whose server ends with another word, at `then`
  Release since = v0_5(11);                    // until the next row of the name
  Case how = Case::kExact;
};
constexpr WordReader kWordReaders[] = {
    {"SGLANG_MAMBA_CONV_DTYPE", kFloats, "bfloat16 is taken"},
    {"SGLANG_MAMBA_SSM_DTYPE", kFloats, "the model's own type is taken, float32 where it names none"},
    {"SGLANG_MOONCAKE_CUSTOM_MEM_POOL", kPools, "no pool of that kind is made"},
    {"SGLANG_RESIZE_RESAMPLE", kFilters, "the default filter is taken"},
    {"SGLANG_HUGEPAGE_SIZE", kHugePages, "pages of the usual size are taken", nullptr, v0_5(13), Case::kAny},
    {"SGLANG_EXA_SEARCH_TYPE", kSearches, "auto is taken", nullptr, v0_5(15)},
    {"SGLANG_PREFILL_TILE_BUDGET_MODE", kBudgets, "compact is taken", nullptr, v0_5(18), Case::kAny},
    {"SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND", kTreeCores, "ValueError unless an installed plugin registers it",
     nullptr, v0_5(19)},
    {"SGLANG_ROLE_NAMESPACES", kRoleModes, "runtime_context.py", always, v0_5(17), Case::kAny},
    {"SGLANG_ENCODER_MM_RECEIVER_MODE", kTransports, "disaggregation/encode_receiver.py", asks_an_encoder, v0_5(11)},
    {"SGLANG_ENCODER_MM_RECEIVER_MODE", kTransports, "disaggregation/encoder/receiver.py", asks_an_encoder, v0_5(19)},
    {"SGLANG_SIMULATE_ACC_METHOD", kMethods, "speculative/spec_utils.py", simulates},
    {"SGLANG_SIMULATE_ACC_TOKEN_MODE", kTokenModes, "speculative/eagle_utils.py", simulates, v0_5(15)},
    {"SGLANG_FORCE_FUSED_OP_BACKEND", kKernels18, "kernels/fused_op.py", generates, v0_5(18)},
    {"SGLANG_FORCE_FUSED_OP_BACKEND", kKernels19, "kernels/fused_op.py", generates, v0_5(19)},
    {"SGLANG_FORCE_FUSED_OP_BACKEND", kKernels20, "kernels/fused_op.py", generates, v0_5(20)},
    {"SGLANG_FORCE_FUSED_OP_BACKEND", kKernels, "kernels/fused_op.py", generates, v0_5(23)},
};

const WordReader* reader_of(Release release, const std::string& name) {
  const WordReader* newest = nullptr;
  for (const WordReader& reader : kWordReaders) {
    if (reader.name == name && reader.since <= release) newest = &reader;
  }
  return newest;
}

bool knows(const WordReader& reader, const std::string& value) {
  if (reader.words.data() == kPools && ascii_lower(value) == "true") return true;
  const std::string word = reader.how == Case::kAny ? ascii_lower(python::strip(value)) : value;
  return std::ranges::any_of(reader.words, [&](std::string_view known) {
    return reader.how == Case::kAny ? ascii_lower(known) == word : known == word;
  });
}

std::string none_of(const WordReader& reader) { return fmt::format("is none of {}", fmt::join(reader.words, ", ")); }

// What a NIXL agent's parameters are to be.
bool object_of_texts(const std::string& value) {
  const auto read = python::json_loads(value);
  if (!read || !read->is_dict()) return false;
  return std::ranges::all_of(read->as_dict(), [](const auto& member) { return member.second.is_string(); });
}

}  // namespace

std::string word_not_taken(Release release, const std::string& name, const std::string& value) {
  const WordReader* reader = reader_of(release, name);
  if (reader == nullptr || reader->ends != nullptr || knows(*reader, value)) return "";
  return fmt::format("{}: {}", none_of(*reader), reader->then);
}

std::string word_ends_the_server(const LaunchFacts& f, const std::string& name, const std::string& value) {
  if (name == "SGLANG_DISAGGREGATION_NIXL_BACKEND_PARAMS" && transfers_by_nixl(f) && !object_of_texts(value)) {
    return "is no JSON object of strings (disaggregation/nixl/conn.py)";
  }
  if (name == "SGLANG_LOG_SCHEDULER_STATUS_TARGET" && !value.empty() && serves_text(f) &&
      !f.on(Field::enable_metrics)) {
    return "needs --enable-metrics (utils/scheduler_status_logger.py)";
  }
  const WordReader* reader = reader_of(f.release(), name);
  if (reader == nullptr || reader->ends == nullptr || !reader->ends(f) || knows(*reader, value)) return "";
  return fmt::format("{} ({})", none_of(*reader), reader->then);
}

std::string word_meant(Release release, const std::string& name, const std::string& value) {
  const WordReader* reader = reader_of(release, name);
  if (reader == nullptr) return "";
  const std::string word = ascii_lower(python::strip(value));
  for (const std::string_view known : reader->words) {
    if (ascii_lower(known) == word) return std::string(known);
  }
  return "";
}

}  // namespace preflight::rules
