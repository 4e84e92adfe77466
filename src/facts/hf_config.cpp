// Attribute access on configuration objects. Tested by tests/facts_model_test.cpp.
#include "src/facts/hf_config.h"

#include <algorithm>

#include "src/facts/transformers/config_classes.h"

namespace preflight::facts {

std::string_view HfConfig::resolve(std::string_view name) const {
  // Every PretrainedConfig offers its rope_parameters under the older name too.
  if (name == "rope_scaling") name = "rope_parameters";
  if (name == "torch_dtype") return "dtype";
  if (class_ == nullptr) return name;
  const auto it = std::find_if(class_->aliases.begin(), class_->aliases.end(),
                               [&](const auto& alias) { return alias.first == name; });
  return it == class_->aliases.end() ? name : std::string_view(it->second);
}

const HfConfig::Attribute* HfConfig::find(std::string_view name) const {
  name = resolve(name);
  if (const std::size_t at = place_of(name); at < attributes_.size()) return &attributes_[at].second;
  if (class_ == nullptr) return nullptr;
  for (const auto& [key, attribute] : class_->constants) {
    if (key == name) return &attribute;
  }
  return nullptr;
}

bool HfConfig::is_instance(std::string_view class_name) const {
  if (class_ == nullptr) return false;
  return class_->name == class_name ||
         std::find(class_->bases.begin(), class_->bases.end(), class_name) != class_->bases.end();
}

const std::string* HfConfig::property(std::string_view name) const {
  if (class_ == nullptr) return nullptr;
  for (const auto& [key, function] : class_->properties) {
    if (key == name) return &function;
  }
  return nullptr;
}

bool HfConfig::has(std::string_view name) const { return find(name) != nullptr || property(name) != nullptr; }

Value HfConfig::get(std::string_view name) const {
  // A property hides an attribute of its name.
  if (const std::string* function = property(resolve(name)); function != nullptr && !function->empty()) {
    return std::get<Value>(property_value(*this, *function));
  }
  const Attribute* attribute = find(name);
  if (attribute == nullptr) return Value();
  if (const auto* config = std::get_if<HfConfigPtr>(attribute)) return (*config)->to_value();
  return std::get<Value>(*attribute);
}

HfConfigPtr HfConfig::sub(std::string_view name) const {
  const Attribute* attribute = find(name);
  const auto* config = attribute == nullptr ? nullptr : std::get_if<HfConfigPtr>(attribute);
  return config == nullptr ? nullptr : *config;
}

bool HfConfig::is_none(std::string_view name) const {
  if (property(resolve(name)) != nullptr) return get(name).is_none();
  const Attribute* attribute = find(name);
  if (attribute == nullptr) return true;
  const auto* value = std::get_if<Value>(attribute);
  return value != nullptr && value->is_none();
}

void HfConfig::assign(std::string_view name, Attribute attribute) {
  name = resolve(name);
  if (const std::size_t at = place_of(name); at < attributes_.size()) {
    attributes_[at].second = std::move(attribute);
  } else {
    append(std::string(name), std::move(attribute));
  }
}

namespace {

constexpr std::size_t kFew = 128;  // real configurations have fewer attributes

}  // namespace

std::size_t HfConfig::place_of(std::string_view name) const {
  const std::size_t few = std::min(attributes_.size(), kFew);
  for (std::size_t at = 0; at < few; ++at) {
    if (attributes_[at].first == name) return at;
  }
  if (places_.empty()) return attributes_.size();
  const auto found = places_.find(std::string(name));
  return found == places_.end() ? attributes_.size() : found->second;
}

void HfConfig::append(std::string name, Attribute attribute) {
  if (attributes_.size() >= kFew) places_.emplace(name, attributes_.size());
  attributes_.emplace_back(std::move(name), std::move(attribute));
}

HfConfigPtr HfConfig::deep_copy() const {
  auto copy = std::make_shared<HfConfig>(class_);
  copy->attributes_.reserve(attributes_.size() + 8);
  for (const auto& [key, attribute] : attributes_) {
    const auto* config = std::get_if<HfConfigPtr>(&attribute);
    copy->append(key, config == nullptr ? attribute : Attribute((*config)->deep_copy()));
  }
  return copy;
}

Value HfConfig::to_value() const {
  Value::Dict dict;
  dict.reserve(attributes_.size());
  for (const auto& [key, attribute] : attributes_) {
    const auto* config = std::get_if<HfConfigPtr>(&attribute);
    dict.emplace_back(key, config == nullptr ? std::get<Value>(attribute) : (*config)->to_value());
  }
  return Value::dict(std::move(dict));
}

Value HfConfig::to_value_with_properties() const {
  Value::Dict dict;
  dict.reserve(attributes_.size() + 4);
  for (const auto& [key, attribute] : attributes_) {
    const auto* config = std::get_if<HfConfigPtr>(&attribute);
    if (property(key) != nullptr) continue;
    dict.emplace_back(key, config == nullptr ? std::get<Value>(attribute) : (*config)->to_value_with_properties());
  }
  if (class_ != nullptr) {
    // Its class names the type of a part that its file does not describe.
    const bool typed = std::ranges::any_of(attributes_, [](const auto& entry) { return entry.first == "model_type"; });
    if (!typed && !class_->model_type.empty()) dict.emplace_back("model_type", class_->model_type);
    for (const auto& [key, function] : class_->properties) {
      if (!function.empty()) dict.emplace_back(key, get(key));
    }
  }
  return Value::dict(std::move(dict));
}

}  // namespace preflight::facts
