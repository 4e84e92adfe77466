// Case lines: text to KernelCase and back, by the table of case_options.cpp. Tested by tests/sample_test.cpp.
#include <algorithm>
#include <array>
#include <limits>
#include <variant>

#include <fmt/format.h>

#include "preflight/kernel_case.h"
#include "preflight/sizing.h"
#include "src/base/limits.h"
#include "src/base/number_text.h"
#include "src/sample/case_options.h"

namespace preflight {
namespace {

template <typename T>
struct Word {
  std::string_view text;
  T value;
};

constexpr std::array kTypes{Word<DType>{"bf16", DType::kBf16},        Word<DType>{"fp16", DType::kF16},
                            Word<DType>{"fp32", DType::kF32},         Word<DType>{"fp8_e4m3", DType::kFp8E4M3},
                            Word<DType>{"fp8_e5m2", DType::kFp8E5M2}, Word<DType>{"int32", DType::kI32},
                            Word<DType>{"int64", DType::kI64}};
constexpr std::array kPageOrders{Word<PageOrder>{"sequential", PageOrder::kSequential},
                                 Word<PageOrder>{"shuffled", PageOrder::kShuffled},
                                 Word<PageOrder>{"shared", PageOrder::kShared}};
constexpr std::array kInputs{Word<Inputs>{"mid", Inputs::kMid},   Word<Inputs>{"peaked", Inputs::kPeaked},
                             Word<Inputs>{"flat", Inputs::kFlat}, Word<Inputs>{"drift", Inputs::kDrift},
                             Word<Inputs>{"last", Inputs::kLast}, Word<Inputs>{"page", Inputs::kPage},
                             Word<Inputs>{"edge", Inputs::kEdge}};
constexpr std::array kGranularities{Word<Granularity>{"token", Granularity::kToken},
                                    Word<Granularity>{"page", Granularity::kPage}};

constexpr const auto& words_of(DType) { return kTypes; }
constexpr const auto& words_of(PageOrder) { return kPageOrders; }
constexpr const auto& words_of(Inputs) { return kInputs; }
constexpr const auto& words_of(Granularity) { return kGranularities; }

// How many requests one item of a list of lengths may stand for; print_integers() takes several items for more.
constexpr std::int64_t kMostRequests = 65536;

bool fits(std::int64_t value, std::int64_t least, std::int64_t most) { return value >= least && value <= most; }

// "1,63,64" and "4096x8": a length, or a length and how many requests have it.
std::optional<std::vector<std::int64_t>> integers(std::string_view text, std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> values;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    const std::size_t cross = std::min(item.find('x'), item.size());
    const auto value = number_in<std::int64_t>(item.substr(0, cross));
    const auto times =
        cross == item.size() ? std::optional<std::int64_t>{1} : number_in<std::int64_t>(item.substr(cross + 1));
    if (!value || !fits(*value, least, most) || !times || *times < 1 || *times > kMostRequests) return std::nullopt;
    if (values.size() + static_cast<std::size_t>(*times) > limits::kCaseRequests) return std::nullopt;
    values.insert(values.end(), static_cast<std::size_t>(*times), *value);
    if (comma == text.size()) return values;
    text.remove_prefix(comma + 1);
  }
}

std::string print_integers(const std::vector<std::int64_t>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size();) {
    const std::size_t most = std::min(values.size(), i + static_cast<std::size_t>(kMostRequests));
    std::size_t end = i;
    while (end < most && values[end] == values[i]) ++end;
    const bool compact = end - i >= 3;
    fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : ",", values[i]);
    if (compact) fmt::format_to(std::back_inserter(text), "x{}", end - i);
    i = compact ? end : i + 1;
  }
  return text;
}

template <typename T>
std::optional<T> find_word(std::string_view text) {
  for (const auto& word : words_of(T{})) {
    if (word.text == text) return word.value;
  }
  return std::nullopt;
}

template <typename T>
std::string_view word_for(T value) {
  for (const auto& word : words_of(T{})) {
    if (word.value == value) return word.text;
  }
  return "?";
}

// What a value of this option looks like, or nullopt when `text` was stored.
struct Store {
  KernelCase& target;
  std::string_view text;
  std::int64_t least;
  std::int64_t most;

  template <typename T>
  [[nodiscard]] bool put(T KernelCase::*member, const std::optional<T>& value) const {
    if (value) target.*member = *value;
    return value.has_value();
  }
  bool operator()(DType KernelCase::*m) const { return put(m, find_word<DType>(text)); }
  bool operator()(std::optional<DType> KernelCase::*m) const {
    target.*m = find_word<DType>(text);
    return (target.*m).has_value();
  }
  bool operator()(PageOrder KernelCase::*m) const { return put(m, find_word<PageOrder>(text)); }
  bool operator()(Inputs KernelCase::*m) const { return put(m, find_word<Inputs>(text)); }
  bool operator()(Granularity KernelCase::*m) const { return put(m, find_word<Granularity>(text)); }
  bool operator()(bool KernelCase::*m) const {
    target.*m = true;
    return true;
  }
  bool operator()(double KernelCase::*m) const {
    const auto value = number_in<double>(text);
    return value && *value > 0.0 && *value <= std::numeric_limits<float>::max() && put(m, value);
  }
  bool operator()(std::vector<std::int64_t> KernelCase::*m) const { return put(m, integers(text, least, most)); }
  bool operator()(std::int64_t KernelCase::*m) const {
    const auto value = number_in<std::int64_t>(text);
    return value && fits(*value, least, most) && put(m, value);
  }
  bool operator()(std::uint64_t KernelCase::*m) const { return put(m, number_in<std::uint64_t>(text)); }
};

struct Print {
  const KernelCase& source;

  std::string operator()(DType KernelCase::*m) const { return std::string(word_for(source.*m)); }
  std::string operator()(std::optional<DType> KernelCase::*m) const {
    return std::string(word_for((source.*m).value_or(source.dtype)));
  }
  std::string operator()(PageOrder KernelCase::*m) const { return std::string(word_for(source.*m)); }
  std::string operator()(Inputs KernelCase::*m) const { return std::string(word_for(source.*m)); }
  std::string operator()(Granularity KernelCase::*m) const { return std::string(word_for(source.*m)); }
  std::string operator()(bool KernelCase::*) const { return {}; }
  std::string operator()(std::vector<std::int64_t> KernelCase::*m) const { return print_integers(source.*m); }
  template <typename T>
  std::string operator()(T KernelCase::*m) const {
    return fmt::format("{}", source.*m);
  }
};

std::vector<std::string_view> split_words(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlank = " \t\r\n";
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlank, end);
  }
  return words;
}

}  // namespace

std::string_view name_of(DType type) { return word_for(type); }
std::optional<DType> parse_dtype(std::string_view name) { return find_word<DType>(name); }

std::int64_t KernelCase::max_seqlen() const { return cache_seqlens.empty() ? 0 : std::ranges::max(cache_seqlens); }

std::int64_t KernelCase::columns() const {
  if (table_columns > 0) return table_columns;
  return std::max<std::int64_t>(1, sizing::page_table_columns(max_seqlen(), page_size));
}

Result<KernelCase> parse_case(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line);
  if (words.empty()) return failure("an empty case line; it starts with a kernel name");
  KernelCase kernel_case;
  kernel_case.kernel = words.front();
  if (!has_case_options(kernel_case.kernel)) return failure(fmt::format("no kernel is called '{}'", words.front()));
  std::vector<std::string_view> seen;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = std::min(words[i].find('='), words[i].size());
    const std::string_view name = words[i].substr(0, equals);
    const CaseOption* option = find_case_option(name);
    if (option == nullptr) return failure(fmt::format("no case option is called '{}'", name));
    if (!takes_option(kernel_case.kernel, name)) {
      return failure(fmt::format("{} has no option {}", kernel_case.kernel, name));
    }
    if (std::ranges::find(seen, name) != seen.end()) return failure(fmt::format("{} is given twice", name));
    seen.push_back(name);
    const bool is_flag = std::holds_alternative<bool KernelCase::*>(option->member);
    std::string_view value;
    if (equals < words[i].size()) {
      if (is_flag) return failure(fmt::format("{} takes no value", name));
      value = words[i].substr(equals + 1);
    } else if (!is_flag) {
      if (++i == words.size()) return failure(fmt::format("{} needs a value", name));
      value = words[i];
    }
    if (!std::visit(Store{kernel_case, value, option->least, option->most}, option->member)) {
      return failure(fmt::format("'{}' is no value of {}", value, name));
    }
  }
  if (kernel_case.kv_splits == 0) {  // what flash_mla_decode would choose
    if (kernel_case.kernel != "mla_decode") return failure("'0' is no value of --kv-splits");
    kernel_case.kv_splits =
        sizing::mla_auto_splits(kernel_case.num_requests(), kernel_case.num_q_heads,
                                kernel_case.columns() * kernel_case.page_size, kernel_case.page_size);
  }
  return kernel_case;
}

std::string print_case(const KernelCase& kernel_case) {
  static const KernelCase kDefaults;
  std::string text = kernel_case.kernel;
  for (const CaseOption& option : case_options()) {
    const bool is_default = std::visit([&](auto m) { return kernel_case.*m == kDefaults.*m; }, option.member);
    if (is_default || !takes_option(kernel_case.kernel, option.name)) continue;
    const std::string value = std::visit(Print{kernel_case}, option.member);
    text += fmt::format(" {}{}{}", option.name, value.empty() ? "" : " ", value);
  }
  return text;
}

}  // namespace preflight
