#include "src/plan/plain_modules.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/base/remembered.h"
#include "src/facts/described_form.h"

namespace preflight::plan {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kWordLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

// "\d", "\w", or the letter behind the backslash; "" for what stands for no letters.
std::string escaped(char c) {
  if (c == 'd') return std::string(kDigits);
  if (c == 'w') return std::string(kWordLetters);
  const bool is_sign = kWordLetters.find(c) == std::string_view::npos;
  return is_sign ? std::string(1, c) : std::string();
}

// Behind the opening bracket, up to and with the closing one.
bool read_class(std::string_view& rest, std::string& letters, bool& but) {
  but = rest.starts_with('^');
  if (but) rest.remove_prefix(1);
  for (bool first = true; !rest.empty() && (first || rest.front() != ']'); first = false) {
    if (rest.front() == '\\') {
      if (rest.size() < 2) return false;
      const std::string more = escaped(rest[1]);
      if (more.empty()) return false;
      letters += more;
      rest.remove_prefix(2);
    } else if (rest.size() > 2 && rest[1] == '-' && rest[2] != ']') {
      for (int c = static_cast<unsigned char>(rest[0]); c <= static_cast<unsigned char>(rest[2]); ++c)
        letters += static_cast<char>(c);
      rest.remove_prefix(3);
    } else {
      letters += rest.front();
      rest.remove_prefix(1);
    }
  }
  if (rest.empty()) return false;
  rest.remove_prefix(1);
  return true;
}

// Alternatives, "a|b", that no bracket holds together.
std::vector<std::string_view> parted(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '\\') {
      ++i;
    } else if (i == text.size() || (text[i] == '|' && depth == 0)) {
      out.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    } else if (text[i] == '(' || text[i] == ')') {
      depth += text[i] == '(' ? 1 : -1;
    }
  }
  return out;
}

}  // namespace

NamePattern::NamePattern(std::string_view pattern) {
  understood_ = pattern.size() <= limits::kNamePattern;
  for (const std::string_view alternative : parted(pattern)) understood_ = understood_ && read(alternative);
}

bool NamePattern::read(std::string_view rest) {
  std::vector<Way> ways(1);
  if (rest.starts_with('^')) rest.remove_prefix(1);
  while (!rest.empty()) {
    if (rest == "$") {
      for (Way& way : ways) way.to_the_end = true;
      break;
    }
    if (rest.front() == '(') {
      if (!read_alternatives(rest, ways)) return false;
      continue;
    }
    Item item;
    if (!read_item(rest, item)) return false;
    for (Way& way : ways) way.items.push_back(item);
  }
  ways_.insert(ways_.end(), std::make_move_iterator(ways.begin()), std::make_move_iterator(ways.end()));
  return ways_.size() <= limits::kNamePattern;
}

// One level of them, none repeated: each way so far goes on with each.
bool NamePattern::read_alternatives(std::string_view& rest, std::vector<Way>& ways) {
  const std::size_t end = rest.find(')');
  if (end == std::string_view::npos ||
      (end + 1 < rest.size() && kWordLetters.find(rest[end + 1]) == std::string_view::npos &&
       std::string_view("*+?{").find(rest[end + 1]) != std::string_view::npos))
    return false;
  std::string_view inside = rest.substr(1, end - 1);
  if (inside.starts_with("?:")) inside.remove_prefix(2);
  if (inside.find_first_of("(?$^\\") != std::string_view::npos) return false;
  std::vector<Way> more;
  for (std::string_view alternative : parted(inside)) {
    std::vector<Item> items;
    while (!alternative.empty()) {
      if (!read_item(alternative, items.emplace_back())) return false;
    }
    for (Way way : ways) {
      way.items.insert(way.items.end(), items.begin(), items.end());
      more.push_back(std::move(way));
    }
  }
  if (more.size() > limits::kNamePattern) return false;
  ways = std::move(more);
  rest.remove_prefix(end + 1);
  return true;
}

bool NamePattern::read_item(std::string_view& rest, Item& item) {
  const char c = rest.front();
  rest.remove_prefix(1);
  if (c == '.') {
    item.but = true;  // any letter but none
  } else if (c == '[') {
    if (!read_class(rest, item.letters, item.but)) return false;
  } else if (c == '\\') {
    if (rest.empty()) return false;
    item.letters = escaped(rest.front());
    if (item.letters.empty()) return false;
    rest.remove_prefix(1);
  } else if (std::string_view("*+?{}()^$|").find(c) != std::string_view::npos) {
    return false;
  } else {
    item.letters = c;
  }
  if (rest.empty() || std::string_view("*+?{").find(rest.front()) == std::string_view::npos) return true;
  if (rest.front() == '{') return false;
  item.optional = rest.front() != '+';
  item.repeated = rest.front() != '?';
  rest.remove_prefix(1);
  if (rest.starts_with('?')) rest.remove_prefix(1);  // as few as will do: the same names match
  return true;
}

// Every place in the pattern that the letters so far can have led to, all at once.
bool NamePattern::matches(const Way& way, std::string_view name) {
  const std::size_t size = way.items.size();
  std::vector<bool> at(size + 1, false);
  const auto enter = [&](std::vector<bool>& places) {
    for (std::size_t i = 0; i < size; ++i) {
      if (places[i] && way.items[i].optional) places[i + 1] = true;
    }
  };
  at[0] = true;
  enter(at);
  for (const char c : name) {
    if (at[size] && !way.to_the_end) return true;
    std::vector<bool> next(size + 1, false);
    for (std::size_t i = 0; i < size; ++i) {
      const Item& item = way.items[i];
      if (!at[i] || (item.letters.find(c) != std::string::npos) == item.but) continue;
      next[i + 1] = true;
      if (item.repeated) next[i] = true;
    }
    enter(next);
    at = std::move(next);
  }
  return at[size];
}

bool NamePattern::matches(std::string_view name) const {
  return std::ranges::any_of(ways_, [&](const Way& way) { return matches(way, name); });
}

std::size_t NamePattern::size() const {
  std::size_t out = 0;
  for (const Way& way : ways_) out += way.items.size();
  return out;
}

// Beside towers checkpoints and classes name the layers in several ways, and a class may translate one to another: as
// the names themselves have it.
static std::string_view layers_beside_towers(const Value& form) {
  constexpr std::array<std::string_view, 3> kPaths = {"model.language_model.layers", "language_model.model.layers",
                                                      "language_model.layers"};
  for (const char* key : kLeftPlain) {
    const Value* list = form.find(key);
    if (list == nullptr || !list->is_list()) continue;
    for (const Value& name : list->as_list()) {
      if (!name.is_string()) continue;
      for (const std::string_view path : kPaths) {
        if (name.as_string().find(path) != std::string::npos) return path;
      }
    }
  }
  return "model.layers";
}

std::shared_ptr<const PlainModules> plain_modules_of(const ModelFacts& model) {
  struct Question {
    std::optional<std::string> method;
    std::int64_t layers;
    bool has_towers;
    Value form;
    Value config;
    bool operator==(const Question& other) const {
      return method == other.method && layers == other.layers && has_towers == other.has_towers &&
             form.identical(other.form) && config.identical(other.config);
    }
  };
  constexpr std::size_t kKept = 4;
  thread_local NewestRemembered<Question, std::shared_ptr<const PlainModules>> known(kKept);
  return known.of(
      {model.quantization, model.num_hidden_layers, model.is_multimodal, described_form(model), model.hf_quant_config},
      [&] { return std::make_shared<const PlainModules>(model); });
}

PlainModules::PlainModules(const ModelFacts& model) {
  if (!model.quantization || !described_form(model).is_dict()) return;
  read(model);
  if (model.is_multimodal) layers_ = layers_beside_towers(described_form(model));
  std::size_t letters = 0;
  for (const NamePattern& pattern : patterns_) {
    understood_ = understood_ && pattern.understood();
    letters += pattern.size();
  }
  for (const auto& [pattern, settings] : own_) {
    understood_ = understood_ && pattern.understood();
    letters += pattern.size();
  }
  constexpr std::size_t kPartsOfALayer = 8;
  constexpr std::size_t kNameLetters = 50;
  const auto layers = static_cast<std::size_t>(std::max<std::int64_t>(model.num_hidden_layers, 0));
  if (letters * kPartsOfALayer * kNameLetters > limits::kPlainSteps / std::max<std::size_t>(layers, 1))
    understood_ = false;
  if (beginnings_.size() * kPartsOfALayer * 8 > limits::kPlainSteps / std::max<std::size_t>(layers, 1))
    understood_ = false;
  if (match_ == Match::kPart && names_.size() > limits::kPartNames) understood_ = false;
  if (any()) parts_.resize(layers);
}

void PlainModules::read(const ModelFacts& model) {
  const std::string& method = *model.quantization;
  const bool compressed = method.starts_with("compressed-tensors");
  match_ = method.starts_with("awq") ? Match::kPart : compressed ? Match::kEnding : Match::kPath;
  stars_ = method.starts_with("modelopt") || method.find("nvfp4") != std::string::npos;
  for (const char* key : kLeftPlain) {
    const Value* list = described_form(model).find(key);
    if (list == nullptr || !list->is_list()) continue;
    for (const Value& name : list->as_list()) {
      if (name.is_string()) add(name.as_string());
    }
  }
  const Value* dynamic = model.hf_quant_config.find("dynamic");
  if (!method.starts_with("gptq") || dynamic == nullptr || !dynamic->is_dict()) return;
  for (const auto& [pattern, value] : dynamic->as_dict()) {
    const std::string_view name = pattern;
    if (name.starts_with("-:")) {
      patterns_.emplace_back(name.substr(2));
    } else if (value.is_dict()) {
      own_.emplace_back(NamePattern(name.starts_with("+:") ? name.substr(2) : name), value);
    }
  }
}

void PlainModules::add(std::string_view name) {
  if (match_ == Match::kEnding && name.starts_with("re:")) {
    patterns_.emplace_back(name.substr(3));
    return;
  }
  if (stars_ && name.size() > 1 && name.find('*') == name.size() - 1) {
    beginnings_.emplace_back(name.substr(0, name.size() - 1));
    return;
  }
  if (stars_ && name.find('*') != std::string_view::npos) {
    std::string pattern;
    for (const char c : name) pattern += c == '.' ? "\\." : c == '*' ? ".*" : std::string(1, c);
    patterns_.emplace_back(pattern + "$");
    return;
  }
  while (match_ == Match::kPath && name.ends_with('.')) name.remove_suffix(1);
  if (!name.empty()) names_.emplace(name);
}

bool PlainModules::names(const std::string& module) const {
  if (match_ == Match::kPart)
    return std::ranges::any_of(names_, [&](const std::string& name) { return module.find(name) != std::string::npos; });
  // Whole parts between dots: any run of them, or the last ones.
  for (std::size_t begin = 0;; ++begin) {
    if (names_.contains(module.substr(begin))) return true;
    for (std::size_t end = module.find('.', begin); match_ == Match::kPath && end != std::string::npos;
         end = module.find('.', end + 1)) {
      if (names_.contains(module.substr(begin, end - begin))) return true;
    }
    begin = module.find('.', begin);
    if (begin == std::string::npos) return false;
  }
}

bool PlainModules::leaves(const std::string& fused, const std::string& part) const {
  // AWQ and GPTQ ask by the name of the fused module, the others by what it is made of.
  const std::string& asked = match_ == Match::kPart ? fused : part;
  const auto matches = [&](const NamePattern& p) {
    if (stars_) return fits_a_part(p, fused);
    return p.matches(match_ == Match::kEnding ? part : fused);
  };
  return names(asked) || begins_so(fused) || std::ranges::any_of(patterns_, matches);
}

bool PlainModules::begins_so(const std::string& module) const {
  return std::ranges::any_of(beginnings_, [&](const std::string& beginning) {
    if (module.starts_with(beginning)) return true;
    for (std::size_t dot = module.find('.'); dot != std::string::npos; dot = module.find('.', dot + 1)) {
      const std::string_view rest = std::string_view(module).substr(dot + 1);
      // One part of the name, which has no dot.
      if (beginning.find('.') == std::string::npos && rest.starts_with(beginning)) return true;
    }
    return false;
  });
}

bool PlainModules::fits_a_part(const NamePattern& pattern, const std::string& module) const {
  if (pattern.matches(module)) return true;
  for (std::size_t begin = 0; begin < module.size();) {
    const std::size_t end = std::min(module.find('.', begin), module.size());
    if (pattern.matches(std::string_view(module).substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

const Value* PlainModules::own_settings(const std::string& module) const {
  if (!understood_) return nullptr;
  const auto it = std::ranges::find_if(own_, [&](const auto& own) { return own.first.matches(module); });
  return it == own_.end() ? nullptr : &it->second;
}

PlainParts PlainModules::in_layer(std::int64_t layer) const {
  const auto i = static_cast<std::size_t>(layer);
  if (i >= parts_.size()) return parts_of(layer);
  if (!parts_[i]) parts_[i] = parts_of(layer);
  return *parts_[i];
}

PlainParts PlainModules::parts_of(std::int64_t layer) const {
  const std::string path = fmt::format("{}.{}.", layers_, layer);
  const auto plain = [&](const char* fused, const char* part) { return leaves(path + fused, path + part); };
  return {.queries = plain("self_attn.qkv_proj", "self_attn.q_proj"),
          .output = plain("self_attn.o_proj", "self_attn.o_proj"),
          .gate_and_up = plain("mlp.gate_up_proj", "mlp.gate_proj"),
          .down = plain("mlp.down_proj", "mlp.down_proj"),
          .state = plain("linear_attn.in_proj_qkvz", "linear_attn.in_proj_qkv"),
          .shared = plain("mlp.shared_experts.gate_up_proj", "mlp.shared_experts.gate_proj") ||
                    plain("mlp.shared_expert.gate_up_proj", "mlp.shared_expert.gate_proj"),
          .experts = plain("mlp.experts", "mlp.experts")};
}

}  // namespace preflight::plan
