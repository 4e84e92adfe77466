// Tested by parity with recorded outcomes (tests/parity).
#include "src/report/outcome_json.h"

#include <algorithm>

namespace preflight::report {
namespace {

// Chosen anew by every launch, so never part of an outcome.
bool is_volatile(Field f) { return f == Field::random_seed || f == Field::nccl_port; }

// Long integer lists (graph capture sizes) are written as length, ends and sum.
bool is_long_integer_list(const Value::List& items) {
  return items.size() > 12 &&
         std::all_of(items.begin(), items.end(), [](const Value& i) { return i.is_int() || i.is_bool(); });
}

std::string in_short(const Value::List& items) {
  std::int64_t sum = 0;
  for (const auto& i : items) sum += i.as_int();
  return std::to_string(items.size()) + " integers " + items.front().repr() + ".." + items.back().repr() + " sum " +
         std::to_string(sum);
}

class Writer {
 public:
  explicit Writer(const PathNames& names) : names_(names) {}

  void text(std::string_view s) {
    const bool named = std::any_of(names_.begin(), names_.end(), [&](const auto& name) {
      return !name.first.empty() && s.find(name.first) != std::string_view::npos;
    });
    append_json_string(out, named ? std::string_view(tidied_ = tidy(std::string(s))) : s);
  }

  void value(const Value& v) {
    if (v.is_string()) {
      text(v.as_string());
    } else if (v.is_list()) {
      list(v.as_list());
    } else if (v.is_dict()) {
      out += '{';
      bool first = true;
      for (const auto& [k, item] : v.as_dict()) {
        if (!first) out += ',';
        first = false;
        text(k);
        out += ':';
        value(item);
      }
      out += '}';
    } else {
      v.append_json(out);
    }
  }

  void change(const Change& c) {
    out += '[';
    text(c.step);
    if (c.assigned) {
      for (const auto& [f, v] : c.fields) {
        out += ',';
        text(field_name(f));
        out += ',';
        value(v);
      }
    } else {
      out += ",{";
      bool first = true;
      for (const auto& [f, v] : c.fields) {
        if (is_volatile(f)) continue;
        if (!first) out += ',';
        first = false;
        text(field_name(f));
        out += ':';
        value(v);
      }
      out += '}';
    }
    out += ']';
  }

  std::string out;

 private:
  void list(const Value::List& items) {
    if (is_long_integer_list(items)) return text(in_short(items));
    out += '[';
    bool first = true;
    for (const auto& item : items) {
      if (!first) out += ',';
      first = false;
      value(item);
    }
    out += ']';
  }

  [[nodiscard]] std::string tidy(std::string s) const {
    for (const auto& [path, name] : names_) {
      if (path.empty()) continue;
      for (auto at = s.find(path); at != std::string::npos; at = s.find(path, at + name.size())) {
        s.replace(at, path.size(), name);
      }
    }
    return s;
  }

  const PathNames& names_;
  std::string tidied_;
};

void append_changes(Writer& w, const Launch& launch, bool assigned, std::string_view key) {
  const auto listed = [&](const Change& c) {
    return c.assigned == assigned && !(assigned && is_volatile(c.fields.front().first));
  };
  if (std::none_of(launch.chain.begin(), launch.chain.end(), listed)) return;
  w.out += ",\"" + std::string(key) + "\":[";
  bool first = true;
  for (const auto& c : launch.chain) {
    if (!listed(c)) continue;
    if (!first) w.out += ',';
    first = false;
    w.change(c);
  }
  w.out += ']';
}

std::string_view stage_name(Stage stage) {
  switch (stage) {
    case Stage::kParse:
      return "parse";
    case Stage::kResolve:
      return "resolve";
    case Stage::kCheck:
      return "check";
  }
  return "";
}

}  // namespace

std::string outcome_json(const Launch& launch, const Value& id, const PathNames& names) {
  Writer w(names);
  w.out.reserve(4096);
  w.out = "{\"id\":";
  if (id.is_int()) {
    w.out += id.repr();
  } else {
    append_json_string(w.out, id.as_string());
  }
  if (launch.outcome == Outcome::kUsage) {
    w.out += R"(,"outcome":"usage","stage":"parse","kind":)";
    w.text(launch.usage->kind);
    w.out += ",\"flag\":";
    w.text(launch.usage->flag);
    w.out += ",\"message\":";
    w.text(launch.usage->message);
  } else if (launch.outcome == Outcome::kRefused) {
    w.out += R"(,"outcome":"error","stage":)";
    w.text(stage_name(launch.stage));
    w.out += ",\"exception\":";
    w.text(launch.refusal->exception);
    w.out += ",\"function\":";
    w.text(launch.refusal->function);
    w.out += ",\"message\":";
    w.text(launch.refusal->message);
  } else {
    w.out += R"(,"outcome":"ok")";
  }
  w.out += ",\"warnings\":[";
  bool first = true;
  for (const auto& line : launch.log) {
    if (!first) w.out += ',';
    first = false;
    w.out += '[';
    w.text(line.level);
    w.out += ',';
    w.text(line.function);
    w.out += ',';
    w.text(line.message);
    w.out += ']';
  }
  w.out += ']';
  if (launch.accepted()) {
    w.out += ",\"resolved\":{";
    first = true;
    for (std::size_t i = 0; i < kFieldCount; ++i) {
      const auto f = static_cast<Field>(i);
      if (is_volatile(f) || !field_exists(f, launch.release())) continue;
      const Value& v = launch.resolved[i];
      if (f != Field::model_path && v.identical(field_default(f, launch.release()))) continue;
      if (!first) w.out += ',';
      first = false;
      w.text(field_name(f));
      w.out += ':';
      w.value(v);
    }
    w.out += '}';
    append_changes(w, launch, true, "writes");
    append_changes(w, launch, false, "trace");
  }
  if (!launch.unmodelled.empty()) {
    w.out += ",\"unmodelled\":[";
    first = true;
    for (const Field f : launch.unmodelled) {
      if (!first) w.out += ',';
      first = false;
      w.text(field_name(f));
    }
    w.out += ']';
  }
  w.out += '}';
  return std::move(w.out);
}

}  // namespace preflight::report
