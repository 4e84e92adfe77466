// HfConfig: one transformers configuration object: named attributes, some of them configuration objects themselves.
//
// SGLang asks such objects with getattr and hasattr, sets attributes on them while it derives a model's facts, and
// shares one object under two names (config.text_config and the text configuration). The class behind it (ConfigClass)
// gives the defaults, the aliases and the base classes; it is null for a plain PretrainedConfig.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "preflight/value.h"

namespace preflight::facts {

struct ConfigClass;
class HfConfig;
using HfConfigPtr = std::shared_ptr<HfConfig>;

class HfConfig : public std::enable_shared_from_this<HfConfig> {
 public:
  using Attribute = std::variant<Value, HfConfigPtr>;
  explicit HfConfig(const ConfigClass* config_class = nullptr) : class_(config_class) {}

  [[nodiscard]] const ConfigClass* config_class() const { return class_; }
  // isinstance(config, NAME): the class itself or a base of it.
  [[nodiscard]] bool is_instance(std::string_view class_name) const;

  // The name behind an alias.
  [[nodiscard]] std::string_view resolve(std::string_view name) const;
  // hasattr; true for None too.
  [[nodiscard]] bool has(std::string_view name) const;
  // getattr(config, name, None) as a plain value; a configuration object becomes its dict.
  [[nodiscard]] Value get(std::string_view name) const;
  // The attribute when it is a configuration object, else null.
  [[nodiscard]] HfConfigPtr sub(std::string_view name) const;
  [[nodiscard]] bool is_none(std::string_view name) const;  // getattr(config, name, None) is None

  void set(std::string_view name, Value value) { assign(name, Attribute(std::move(value))); }
  void set(std::string_view name, HfConfigPtr config) { assign(name, Attribute(std::move(config))); }

  // Attributes of the object itself, in order (not those of the class).
  [[nodiscard]] const std::vector<std::pair<std::string, Attribute>>& attributes() const { return attributes_; }
  [[nodiscard]] HfConfigPtr deep_copy() const;
  [[nodiscard]] Value to_value() const;
  // With what its properties compute, as getattr would see it.
  [[nodiscard]] Value to_value_with_properties() const;

 private:
  [[nodiscard]] const Attribute* find(std::string_view name) const;
  [[nodiscard]] const std::string* property(std::string_view name) const;
  void assign(std::string_view name, Attribute attribute);
  // Where the attribute stands, or attributes_.size(). Few are looked through; many have an index.
  [[nodiscard]] std::size_t place_of(std::string_view name) const;
  void append(std::string name, Attribute attribute);

  const ConfigClass* class_;
  std::vector<std::pair<std::string, Attribute>> attributes_;
  std::unordered_map<std::string, std::size_t> places_ = {};  // of those behind the first kFew
};

}  // namespace preflight::facts
