// Behaviour: PyYAML 6.0, constructor.py (SafeConstructor). Containers fill up after they exist, breadth first, so
// that the first fault in that order is the one raised.
#include "src/python/yaml_objects.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "preflight/value.h"
#include "src/python/json_text.h"
#include "src/python/text.h"
#include "src/python/yaml_scalars.h"
#include "src/base/limits.h"

namespace preflight::python {
namespace {

bool is_container(const YamlObject& o) { return o.kind >= YamlObject::kList; }

// Equal keys have equal texts: 1, 1.0 and True are one key in Python.
std::string key_identity(const YamlObject& o) {
  switch (o.kind) {
    case YamlObject::kNone:
      return "none";
    case YamlObject::kBool:
      return o.boolean ? "n1" : "n0";
    case YamlObject::kInt:
      return "n" + o.text;
    case YamlObject::kFloat: {
      const std::string repr = python_float_repr(o.number);
      return "n" + (repr.ends_with(".0") ? repr.substr(0, repr.size() - 2) : repr);
    }
    case YamlObject::kBytes:
      return "b" + o.text;
    case YamlObject::kDate:
      return o.repr;
    default:
      return "s" + o.text;
  }
}

void append_text_repr(std::string& out, std::string_view s) {
  const char quote = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  out += quote;
  for (std::size_t i = 0; i < s.size();) {
    const auto [code, length] = character_at(s, i);
    if (code == static_cast<char32_t>(quote) || code == U'\\') {
      out += '\\';
      out += s[i];
    } else if (code == U'\n' || code == U'\r' || code == U'\t') {
      out += code == U'\n' ? "\\n" : code == U'\r' ? "\\r" : "\\t";
    } else if (code < 0x20 || (code >= 0x7F && code <= 0xA0) || code == 0xAD) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(code));
    } else if ((is_space(code) && code > 0x20) || code == 0xFEFF) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(code));
    } else {
      out += s.substr(i, length);
    }
    i += length;
  }
  out += quote;
}

void append_bytes_repr(std::string& out, std::string_view s) {
  const char quote = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  out += 'b';
  out += quote;
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (u < 0x20 || u >= 0x7F) {
      out += fmt::format("\\x{:02x}", u);
    } else {
      out += c;
    }
  }
  out += quote;
}

// repr() and json.dumps() of containers; `open_` holds those being written, which may contain themselves.
class Printer {
 public:
  std::string out;

  void repr(const YamlObject& o) {
    if (out.size() > limits::kConfigBytes) throw YamlFault{std::string(limits::kOurs), "the value is too long", o.mark};
    if (!is_container(o)) return scalar(o);
    const char first = o.kind == YamlObject::kList ? '[' : o.kind == YamlObject::kTuple ? '(' : '{';
    const char last = o.kind == YamlObject::kList ? ']' : o.kind == YamlObject::kTuple ? ')' : '}';
    if (is_open(o)) {
      out += first;
      out += "...";
      out += last;
      return;
    }
    if (o.kind == YamlObject::kSet && o.pairs.empty()) {
      out += "set()";
      return;
    }
    open_.push_back(&o);
    out += first;
    bool more = false;
    const auto comma = [&] {
      if (more) out += ", ";
      more = true;
    };
    for (const auto* item : o.items) {
      comma();
      repr(*item);
    }
    for (const auto& [key, value] : o.pairs) {
      comma();
      repr(*key);
      if (o.kind == YamlObject::kSet) continue;
      out += ": ";
      repr(*value);
    }
    out += last;
    open_.pop_back();
  }

  void json(const YamlObject& o) {
    if (out.size() > limits::kConfigBytes) throw YamlFault{std::string(limits::kOurs), "the value is too long", o.mark};
    switch (o.kind) {
      case YamlObject::kNone:
        out += "null";
        return;
      case YamlObject::kBool:
        out += o.boolean ? "true" : "false";
        return;
      case YamlObject::kInt:
        out += o.text;
        return;
      case YamlObject::kFloat:
        out += json_dumps(o.number);
        return;
      case YamlObject::kText:
        out += json_dumps(o.text);
        return;
      case YamlObject::kList:
      case YamlObject::kTuple:
      case YamlObject::kDict:
        break;
      default:
        throw YamlFault{"TypeError", "a value that JSON cannot hold", o.mark};
    }
    if (is_open(o)) throw YamlFault{"ValueError", "a value that contains itself", o.mark};
    open_.push_back(&o);
    bool more = false;
    out += o.kind == YamlObject::kDict ? '{' : '[';
    for (const auto* item : o.items) {
      if (more) out += ", ";
      more = true;
      json(*item);
    }
    for (const auto& [key, value] : o.pairs) {
      if (more) out += ", ";
      more = true;
      json_key(*key);
      out += ": ";
      json(*value);
    }
    out += o.kind == YamlObject::kDict ? '}' : ']';
    open_.pop_back();
  }

 private:
  [[nodiscard]] bool is_open(const YamlObject& o) const {
    return std::find(open_.begin(), open_.end(), &o) != open_.end();
  }

  void json_key(const YamlObject& key) {
    if (key.kind == YamlObject::kBytes || key.kind == YamlObject::kDate) {
      throw YamlFault{"TypeError", "a key that JSON cannot hold", key.mark};
    }
    if (key.kind == YamlObject::kText) return json(key);
    out += '"';
    json(key);
    out += '"';
  }

  void scalar(const YamlObject& o) {
    switch (o.kind) {
      case YamlObject::kNone:
        out += "None";
        break;
      case YamlObject::kBool:
        out += o.boolean ? "True" : "False";
        break;
      case YamlObject::kInt:
        out += o.text;
        break;
      case YamlObject::kFloat:
        out += python_float_repr(o.number);
        break;
      case YamlObject::kBytes:
        append_bytes_repr(out, o.text);
        break;
      case YamlObject::kDate:
        out += o.repr;
        break;
      default:
        append_text_repr(out, o.text);
    }
  }

  std::vector<const YamlObject*> open_;
};

[[noreturn]] void fail(std::string message, YamlMark mark) {
  throw YamlFault{"ConstructorError", std::move(message), mark};
}

}  // namespace

class YamlBuilder {
 public:
  explicit YamlBuilder(YamlObjects& objects) : objects_(objects) {}

  const YamlObject* build(YamlNode& root) {
    const YamlObject* result = object(root);
    for (std::size_t i = 0; i < waiting_.size(); ++i) {  // grows while it runs
      const auto [node, container] = waiting_[i];
      fill(*node, *container);
    }
    return result;
  }

 private:
  YamlObject* add(YamlObject::Kind kind, YamlMark mark) {
    objects_.objects_.push_back({.kind = kind, .mark = mark});
    return &objects_.objects_.back();
  }

  YamlObject* object(YamlNode& node) {
    if (const auto known = known_.find(&node); known != known_.end()) return known->second;
    YamlObject* out = add(YamlObject::kNone, node.mark);
    if (const auto kind = container_kind(node.tag)) {
      out->kind = *kind;
      waiting_.emplace_back(&node, out);
    } else {
      scalar(node, *out);
    }
    known_.emplace(&node, out);
    return out;
  }

  static std::optional<YamlObject::Kind> container_kind(std::string_view tag) {
    if (tag == "seq" || tag == "omap" || tag == "pairs") return YamlObject::kList;
    if (tag == "map") return YamlObject::kDict;
    if (tag == "set") return YamlObject::kSet;
    return std::nullopt;
  }

  static void scalar(const YamlNode& node, YamlObject& out) {
    const YamlNode* source = &node;
    // A mapping with an "=" key counts as that key's value where a scalar is wanted.
    for (int depth = 0; source->kind == YamlNode::kMapping && depth < 500; ++depth) {
      const auto value = std::find_if(source->pairs.begin(), source->pairs.end(),
                                      [](const auto& pair) { return pair.first->tag == "value"; });
      if (value == source->pairs.end()) break;
      source = value->second;
    }
    const bool constructible = source->kind == YamlNode::kScalar;
    bool known = true;
    try {
      YamlObject probe;
      known =
          construct_scalar(node.tag, constructible ? std::string_view(source->text) : "0", constructible ? out : probe);
    } catch (YamlFault& fault) {
      fault.mark = node.mark;
      if (constructible) throw;
    }
    if (!known) fail("an unknown tag " + node.tag, node.mark);
    if (!constructible) fail("a list or mapping where its tag wants a scalar", node.mark);
  }

  void fill(YamlNode& node, YamlObject& out) {
    if (node.tag == "omap" || node.tag == "pairs") return fill_pairs(node, out);
    if (out.kind == YamlObject::kList) {
      if (node.kind != YamlNode::kSequence) fail("not a list", node.mark);
      for (auto* item : node.items) out.items.push_back(object(*item));
      return;
    }
    if (node.kind != YamlNode::kMapping) fail("not a mapping", node.mark);
    flatten(node);
    std::unordered_map<std::string, std::size_t> index;
    for (const auto& [key_node, value_node] : node.pairs) {
      YamlObject* key = object(*key_node);
      if (is_container(*key)) fail("a list or mapping as key", key_node->mark);
      YamlObject* value = object(*value_node);
      const auto [found, fresh] = index.emplace(key_identity(*key), out.pairs.size());
      if (fresh) {
        out.pairs.emplace_back(key, value);
      } else {
        out.pairs[found->second].second = value;  // Python keeps the first key and the last value
      }
    }
  }

  void fill_pairs(YamlNode& node, YamlObject& out) {
    if (node.kind != YamlNode::kSequence) fail("not a list", node.mark);
    for (const auto* item : node.items) {
      if (item->kind != YamlNode::kMapping || item->pairs.size() != 1) fail("not a list of single pairs", item->mark);
      YamlObject* tuple = add(YamlObject::kTuple, item->mark);
      tuple->items = {object(*item->pairs.front().first), object(*item->pairs.front().second)};
      out.items.push_back(tuple);
    }
  }

  // What merges come to, all together: a short file can name one long mapping as often as it likes.
  void count(std::size_t pairs, YamlMark mark) {
    merged_ += pairs;
    if (merged_ > limits::kYamlPairs) throw YamlFault{std::string(limits::kOurs), "merged without end", mark};
  }

  // Replaces "<<" keys by the pairs they refer to, which come first, so that the mapping's own pairs win.
  void flatten(YamlNode& node) {
    using Pairs = std::vector<std::pair<YamlNode*, YamlNode*>>;
    Pairs merged;
    for (std::size_t i = 0; i < node.pairs.size();) {
      auto [key, value] = node.pairs[i];
      if (key->tag == "value") key->tag = "str";
      if (key->tag != "merge") {
        ++i;
        continue;
      }
      node.pairs.erase(node.pairs.begin() + static_cast<std::ptrdiff_t>(i));
      if (value->kind == YamlNode::kMapping) {
        flatten(*value);
        count(value->pairs.size(), node.mark);
        merged.insert(merged.end(), value->pairs.begin(), value->pairs.end());
      } else if (value->kind == YamlNode::kSequence) {
        std::vector<Pairs> parts;
        for (auto* part : value->items) {
          if (part->kind != YamlNode::kMapping) fail("only mappings can be merged", part->mark);
          flatten(*part);
          count(part->pairs.size(), node.mark);
          parts.push_back(part->pairs);
        }
        for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
          merged.insert(merged.end(), part->begin(), part->end());
        }
      } else {
        fail("only mappings can be merged", value->mark);
      }
    }
    node.pairs.insert(node.pairs.begin(), merged.begin(), merged.end());
  }

  YamlObjects& objects_;
  std::size_t merged_ = 0;
  std::unordered_map<const YamlNode*, YamlObject*> known_;
  std::vector<std::pair<YamlNode*, YamlObject*>> waiting_;
};

YamlObjects::YamlObjects(const YamlDocument& document) {
  if (document.root() != nullptr) root_ = YamlBuilder(*this).build(*document.root());
}

std::string yaml_str(const YamlObject& object) {
  if (object.kind == YamlObject::kText || object.kind == YamlObject::kDate) return object.text;
  Printer printer;
  printer.repr(object);
  return std::move(printer.out);
}

std::string yaml_json_dumps(const YamlObject& object) {
  Printer printer;
  printer.json(object);
  return std::move(printer.out);
}

}  // namespace preflight::python
