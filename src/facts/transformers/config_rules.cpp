// The rule language.
// Values: ["s", name] attribute of the object, ["l", name] local, ["k"] keyword arguments, ["'", text],
// ["c", constant], ["list", …], ["dict", key, value, …], ["merge", dict, …], arithmetic and comparison by
// their sign, ["and"|"or"|"not", …], ["if", condition, value, value], ["[]", value, index], ["slice", …],
// ["for", …] list, ["call", name, …] built-in, ["m", name, value, …] method, ["new", class, arguments],
// ["own", function, arguments].
// Rules: ["=", attribute, value], ["$", local, value], ["?", condition, rules, rules],
// ["each", names, list, rules], ["item", container, key, value], ["super"|"superinit", arguments],
// ["backbone", arguments], ["raise", exception], ["return", value].
// Tested by tests/facts_model_test.cpp.
#include "src/facts/transformers/config_rules.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/facts/transformers/model_builder.h"
#include "src/facts/transformers/rule_expressions.h"
#include "src/facts/transformers/rule_methods.h"
#include "src/facts/transformers/rule_values.h"

namespace preflight::facts {

using rules::bind;
using rules::drop;
using rules::is_form;
using rules::iterated;
using rules::op_of;
using rules::position_in;
using rules::put;
using rules::python_str;
using rules::store;
using rules::text_of;
using rules::to_arguments;
using rules::value_of;

namespace {

thread_local std::vector<LogLine>* warnings = nullptr;

void note_class_warning(std::string_view function) {
  note_warning(function, "the configuration class warns of the values");
}

}  // namespace

void note_warning(std::string_view function, std::string message) {
  if (warnings != nullptr) warnings->push_back({"WARNING", std::string(function), std::move(message)});
}

WarningSink::WarningSink(std::vector<LogLine>& log) : before_(warnings) { warnings = &log; }
WarningSink::~WarningSink() { warnings = before_; }

void rule_error(std::string exception, std::string_view frame, std::string message) {
  raise(RF::kOther, std::move(exception), frame, std::move(message));
}

bool attribute_truthy(const Attribute& attribute) {
  const auto* value = std::get_if<Value>(&attribute);
  return value == nullptr || value->truthy();
}

Value attribute_value(const Attribute& attribute) {
  const auto* value = std::get_if<Value>(&attribute);
  return value != nullptr ? *value : std::get<HfConfigPtr>(attribute)->to_value();
}

Attribute call_own(RuleFrame& f, std::string_view key, const Arguments& given) {
  const Value* function = f.tables.function(key);
  if (function == nullptr) return Value();
  RuleFrame inner{f.tables, f.owner, f.self, {}, {}, f.function, false, false, Value()};
  // SGLang's own methods stand in a traceback under their names; transformers' do not.
  const auto point = key.rfind('.');
  const ConfigClass* definer = point == key.npos ? nullptr : f.tables.find(key.substr(0, point));
  if ((definer != nullptr && definer->own) || function->find("own") != nullptr) inner.function = key.substr(point + 1);
  if (const Value* parameters = function->find("parameters")) {
    for (const auto& p : parameters->as_list()) put(inner.locals, p.as_list()[0].as_string(), p.as_list()[1]);
  }
  for (const auto& [name, value] : given) put(inner.locals, name, value);
  if (const Value* rules = function->find("rules")) run_rules(inner, *rules);
  return inner.result;
}

namespace {

void set_item(RuleFrame& f, const Value::List& p) {
  const Attribute value = evaluate(f, p[3]);
  if (op_of(p[1]) == "k") return put(f.kwargs, text_of(f, p[2]), value);
  const Value container = value_of(f, p[1]);
  const Value key = value_of(f, p[2]);
  if (container.is_list() && key.is_number()) {
    Value::List list = container.as_list();
    list[position_in(f, list, key)] = attribute_value(value);
    store(f, p[1], Value::list(std::move(list)));
  } else if (container.is_dict()) {
    store(f, p[1], container.with(python_str(key), attribute_value(value)));
  } else {
    rule_error("TypeError", f.function, "it takes no items");
  }
}

void delete_item(RuleFrame& f, const Value::List& p) {
  if (is_form(p[1], "[]") && is_form(p[1].as_list()[1], "k")) drop(f.kwargs, text_of(f, p[1].as_list()[2]));
}

void set_attribute(RuleFrame& f, const Value::List& p) {
  const Attribute object = evaluate(f, p[1]);
  const std::string name = text_of(f, p[2]);
  const auto* config = std::get_if<HfConfigPtr>(&object);
  if (config == nullptr) return;
  const Attribute value = evaluate(f, p[3]);
  std::visit([&](const auto& v) { (*config)->set(name, v); }, value);
}

void for_each(RuleFrame& f, const Value::List& p) {
  for (const auto& item : iterated(f, value_of(f, p[2]))) {
    bind(f, p[1], item);
    run_rules(f, p[3]);
    f.skipped = false;
    if (f.returned) return;
  }
}

void replace_kwargs(RuleFrame& f, const Value::List& p) {
  const Value dict = value_of(f, p[1]);
  f.kwargs.clear();
  for (const auto& [k, v] : dict.as_dict()) f.kwargs.emplace_back(k, v);
}

// What the next class does: "super" its derivations, "superinit" its constructor, "superrope" its rotary embedding.
void next_class(RuleFrame& f, const Value::List& p) {
  const std::string_view op = p[0].as_string();
  const ConfigClass* base = f.owner == nullptr ? nullptr : f.owner->base;
  if (op == "superinit" && base == nullptr) return;
  Arguments arguments = to_arguments(f, p[1]);
  if (op == "super") return run_post(base, f.self, std::move(arguments), f.function);
  if (op == "superinit") return run_init(*base, f.self, std::move(arguments), f.function);
  f.kwargs = convert_rope(base, f.self, std::move(arguments), f.function);
}

// The configuration object of a backbone that is given as a dict, by a name of timm's, or not at all.
Attribute backbone_of(RuleFrame& f, const Arguments& given, const Attribute& name, const Attribute& settings) {
  const auto made = [&](const Attribute& model_type, const Attribute& arguments) -> Attribute {
    const std::string key = python_str(attribute_value(model_type));
    const ConfigClass* found = f.tables.type(key);
    if (found == nullptr) rule_error("KeyError", f.function, fmt::format("model type {} is unknown", key));
    Value dict = attribute_value(arguments);
    return construct(*found, to_arguments(f, Value::list({"c", dict.is_none() ? Value::dict({}) : dict})), f.function);
  };
  const auto part = [&](std::string_view key) {
    const Attribute* found = rules::find(given, key);
    return found == nullptr ? Attribute(Value()) : *found;
  };
  const auto is_none = [](const Attribute& a) {
    return std::holds_alternative<Value>(a) && std::get<Value>(a).is_none();
  };
  const Attribute config = part("backbone_config");
  if (is_none(config) && !is_none(name)) {
    // A name that is a repository of the hub's is read there; timm's own names are none.
    return made(Value("timm_backbone"), attribute_value(settings).with("backbone", attribute_value(name)));
  }
  if (is_none(config) && !is_none(part("default_config_type"))) {
    return made(part("default_config_type"), part("default_config_kwargs"));
  }
  const auto* dict = std::get_if<Value>(&config);
  if (dict == nullptr || !dict->is_dict()) return config;
  const Value* model_type = dict->find("model_type");
  return made(model_type == nullptr ? Value() : *model_type, config);
}

// What transformers' consolidate_backbone_kwargs_to_config() makes of the arguments for a vision model's backbone.
void set_backbone(RuleFrame& f, const Value::List& p) {
  const Arguments given = to_arguments(f, p[1]);
  const auto taken = [&](std::string_view key, Attribute fallback) {
    if (const Attribute* found = rules::find(f.kwargs, key)) fallback = *found;
    drop(f.kwargs, key);
    return fallback;
  };
  const Attribute* by_default = rules::find(given, "default_backbone");
  const bool timm = attribute_truthy(taken("use_timm_backbone", Value(true)));
  Attribute settings = taken("backbone_kwargs", Value::dict({}));
  Attribute name = by_default == nullptr ? Attribute(Value()) : *by_default;
  const Attribute* named = rules::find(f.kwargs, "backbone");
  if (named != nullptr && !attribute_value(*named).is_none()) name = taken("backbone", Value());
  drop(f.kwargs, "use_pretrained_backbone");
  const Attribute* of_timm = rules::find(given, "timm_default_kwargs");
  const bool usual = of_timm != nullptr && attribute_truthy(*of_timm);
  if (usual && timm && !attribute_truthy(settings)) settings = *of_timm;
  set_checked(f.self, "backbone_config", backbone_of(f, given, name, settings), f.function);
}

void choose_branch(RuleFrame& f, const Value::List& p) {
  const Value& branch = attribute_truthy(evaluate(f, p[1])) ? p[2] : p[3];
  const Value* outer = std::exchange(f.asked, &p[1]);
  run_rules(f, branch);
  f.asked = outer;
}

// What a condition asks for of one kind: "s" attributes, as config.json names them, "l" locals of the rule.
void collect_names(const Value& expression, std::string_view kind, std::vector<std::string>& names) {
  if (!expression.is_list()) return;
  const Value::List& parts = expression.as_list();
  const bool names_one = parts.size() == 2 && parts[0].is_string() && parts[1].is_string();
  if (!names_one) {
    for (const Value& part : parts) collect_names(part, kind, names);
    return;
  }
  if (parts[0].as_string() != kind) return;
  std::string name = parts[1].as_string();
  while (name.starts_with('_')) name.erase(0, 1);
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

[[noreturn]] void raise(RuleFrame& f, const Value::List& p) {
  std::vector<std::string> names;
  for (const std::string_view kind : {"s", "l"}) {
    if (f.asked != nullptr && names.empty()) collect_names(*f.asked, kind, names);
  }
  const std::string what = names.empty() ? "the values" : fmt::format("{}", fmt::join(names, ", "));
  rule_error(p[1].as_string(), f.function, "the configuration class refuses " + what);
}

using Rule = void (*)(RuleFrame& f, const Value::List& p);
const std::unordered_map<std::string_view, Rule>& rule_kinds() {
  static const std::unordered_map<std::string_view, Rule> kRules{
      {"=", [](RuleFrame& f,
               const Value::List& p) { set_checked(f.self, p[1].as_string(), evaluate(f, p[2]), f.function); }},
      {"$", [](RuleFrame& f, const Value::List& p) { put(f.locals, p[1].as_string(), evaluate(f, p[2])); }},
      {"?", choose_branch},
      {"each", for_each},
      {"item", set_item},
      {"setattr", set_attribute},
      {"super", next_class},
      {"superinit", next_class},
      {"superrope", next_class},
      {"backbone", set_backbone},
      {"warn", [](RuleFrame& f, const Value::List&) { note_class_warning(f.function); }},
      {"rope", [](RuleFrame& f, const Value::List&) { standardize_rope(f.tables.release(), f.self); }},
      {"validate",
       [](RuleFrame& f, const Value::List& p) { run_validator(nullptr, f.self, p[1].as_string(), f.function); }},
      {"kwargs", replace_kwargs},
      {"raise", [](RuleFrame& f, const Value::List& p) { raise(f, p); }},
      {"return",
       [](RuleFrame& f, const Value::List& p) {
         f.result = evaluate(f, p[1]);
         f.returned = true;
       }},
      {"continue", [](RuleFrame& f, const Value::List&) { f.skipped = true; }},
      {"del", delete_item},
      {"do", [](RuleFrame& f, const Value::List& p) { evaluate(f, p[1]); }},
  };
  return kRules;
}

}  // namespace

void run_rules(RuleFrame& f, const Value& rules) {
  for (const auto& rule : rules.as_list()) {
    if (f.returned || f.skipped) return;
    const auto& p = rule.as_list();
    if (const auto kind = rule_kinds().find(p[0].as_string()); kind != rule_kinds().end()) kind->second(f, p);
  }
}

namespace {

// Properties found while one configuration is read out; they ask each other, in loops over the layers.
struct KnownProperty {
  const HfConfig* config;
  const std::string* function;
  Attribute value;
};
thread_local std::vector<KnownProperty>* known_properties = nullptr;

Attribute compute_property(const HfConfig& config, const std::string& function) {
  const ConfigClass* owner = config.config_class();
  const HfConfigPtr self = std::const_pointer_cast<HfConfig>(config.shared_from_this());
  RuleFrame frame{*owner->tables, owner, self, {}, {}, "__getattribute__", false, false, Value()};
  try {
    return attribute_value(call_own(frame, function, {}));
  } catch (const Raised&) {
    return Value();
  }
}

}  // namespace

Value from_dict(const ConfigClass& config_class, Value dict, std::string_view frame) {
  if (!config_class.from_dict.is_list()) return dict;
  RuleFrame f{*config_class.tables, &config_class, nullptr, {}, {}, frame, false, false, Value()};
  put(f.locals, config_class.from_dict.as_list()[0].as_string(), std::move(dict));
  return attribute_value(evaluate(f, config_class.from_dict.as_list()[1]));
}

Attribute property_value(const HfConfig& config, const std::string& function) {
  if (config.config_class() == nullptr || config.config_class()->tables == nullptr || function.empty()) return Value();
  if (known_properties == nullptr) return compute_property(config, function);
  for (const auto& known : *known_properties) {
    if (known.config == &config && known.function == &function) return known.value;
  }
  Attribute value = compute_property(config, function);
  known_properties->push_back({&config, &function, value});
  return value;
}

Value read_out(const HfConfig& config) {
  struct Scope {
    std::vector<KnownProperty> known;
    Scope() { known_properties = &known; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { known_properties = nullptr; }
  };
  const Scope scope;
  return config.to_value_with_properties();
}

}  // namespace preflight::facts
