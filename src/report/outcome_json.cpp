// Tested by parity with recorded outcomes (tests/parity).
#include "src/report/outcome_json.h"

#include <algorithm>

#include "src/python/integer.h"
#include "src/base/replaced.h"
#include "src/report/facts_text.h"
#include "src/report/json_dump.h"

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
  Value sum = 0;
  for (const auto& i : items) sum = integer::plus(sum, i);
  return std::to_string(items.size()) + " integers " + items.front().repr() + ".." + items.back().repr() + " sum " +
         sum.repr();
}

class Writer {
 public:
  Writer(JsonText& text, const PathNames& names) : out(text), names_(names) {
    // A text with {model} in it has {models} in it too: the shorter path alone tells that there is something to name.
    for (const auto& entry : names) {
      const std::string& path = entry.first;
      const bool covered = std::any_of(names.begin(), names.end(), [&](const auto& other) {
        return !other.first.empty() && other.first.size() < path.size() && path.find(other.first) != std::string::npos;
      });
      if (!path.empty() && !covered) {
        telling_.push_back(path);
        shortest_ = std::min(shortest_, path.size());
      }
    }
  }

  // What the user, the model or the machine chose: paths in it get their names.
  void text(std::string_view s) {
    const bool named = s.size() >= shortest_ &&
                       std::any_of(telling_.begin(), telling_.end(),
                                   [&](std::string_view path) { return s.find(path) != std::string_view::npos; });
    if (named) {
      out.string(tidy(std::string(s)));
    } else {
      out.string(s);
    }
  }

  void value(const Value& v) {
    if (v.is_string()) return text(v.as_string());
    if (v.is_list()) return list(v.as_list());
    if (v.is_dict()) return dict(v.as_dict());
    if (v.is_none()) return out.raw("null");
    if (v.is_bool()) return out.raw(v.as_bool() ? "true" : "false");
    if (v.is_int() && !v.is_long_int()) return out.integer(v.as_int());
    out.raw(v.json());
  }

  void field(Field f, const Value& v) {
    out.quoted(field_name(f));
    out.raw(':');
    value(v);
  }

  void change(const Change& c) {
    out.raw('[');
    out.string(c.step);
    if (c.assigned) {
      for (const auto& [f, v] : c.fields) {
        out.raw(',');
        out.quoted(field_name(f));
        out.raw(',');
        value(v);
      }
    } else {
      out.raw(",{");
      Separator comma(out);
      for (const auto& [f, v] : c.fields) {
        if (is_volatile(f)) continue;
        comma.next();
        field(f, v);
      }
      out.raw('}');
    }
    out.raw(']');
  }

  // Commas between the items of a list or a dict.
  class Separator {
   public:
    explicit Separator(JsonText& out) : out_(out) {}
    void next() {
      if (!first_) out_.raw(',');
      first_ = false;
    }

   private:
    JsonText& out_;
    bool first_ = true;
  };

  JsonText& out;

 private:
  void list(const Value::List& items) {
    if (is_long_integer_list(items)) return text(in_short(items));
    out.raw('[');
    Separator comma(out);
    for (const auto& item : items) {
      comma.next();
      value(item);
    }
    out.raw(']');
  }

  void dict(const Value::Dict& items) {
    out.raw('{');
    Separator comma(out);
    for (const auto& [k, item] : items) {
      comma.next();
      text(k);
      out.raw(':');
      value(item);
    }
    out.raw('}');
  }

  [[nodiscard]] std::string tidy(std::string s) const {
    for (const auto& [path, name] : names_) s = path_named(std::move(s), path, name);
    return s;
  }

  const PathNames& names_;
  std::vector<std::string_view> telling_;  // the paths without which no text holds any of names_
  std::size_t shortest_ = std::string_view::npos;
};

void append_changes(Writer& w, const Launch& launch, bool assigned, std::string_view key) {
  const auto listed = [&](const Change& c) {
    return c.assigned == assigned && !(assigned && is_volatile(c.fields.front().first));
  };
  if (std::none_of(launch.chain.begin(), launch.chain.end(), listed)) return;
  w.out.raw(',');
  w.out.string(key);
  w.out.raw(":[");
  Writer::Separator comma(w.out);
  for (const auto& c : launch.chain) {
    if (!listed(c)) continue;
    comma.next();
    w.change(c);
  }
  w.out.raw(']');
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

void append_end(Writer& w, const Launch& launch) {
  if (launch.outcome == Outcome::kUsage) {
    w.out.raw(R"(,"outcome":"usage","stage":"parse","kind":)");
    w.out.string(launch.usage->kind);
    w.out.raw(",\"flag\":");
    w.text(launch.usage->flag);
    w.out.raw(",\"message\":");
    w.text(launch.usage->message);
  } else if (launch.outcome == Outcome::kRefused) {
    w.out.raw(R"(,"outcome":"error","stage":)");
    w.out.string(stage_name(launch.stage));
    w.out.raw(",\"exception\":");
    w.out.string(launch.refusal->exception);
    w.out.raw(",\"function\":");
    w.out.string(launch.refusal->function);
    w.out.raw(",\"message\":");
    w.text(launch.refusal->message);
  } else {
    w.out.raw(R"(,"outcome":"ok")");
  }
}

void append_warnings(Writer& w, const Launch& launch) {
  w.out.raw(",\"warnings\":[");
  Writer::Separator comma(w.out);
  for (const auto& line : launch.log) {
    comma.next();
    w.out.raw('[');
    w.out.string(line.level);
    w.out.raw(',');
    w.out.string(line.function);
    w.out.raw(',');
    w.text(line.message);
    w.out.raw(']');
  }
  w.out.raw(']');
}

void append_resolved(Writer& w, const Launch& launch) {
  w.out.raw(",\"resolved\":{");
  Writer::Separator comma(w.out);
  const auto defaults = field_defaults(launch.release());
  launch.resolved.for_each_set([&](Field f, const Value& value) {
    if (is_volatile(f) || !field_exists(f, launch.release())) return;
    if (value.identical(defaults[static_cast<std::size_t>(f)]) && f != Field::model_path) return;
    comma.next();
    w.field(f, value);
  });
  w.out.raw('}');
}

void append_remarks(Writer& w, const OutcomeRemarks& remarks) {
  if (!remarks.unknown_model.empty()) {
    w.out.raw(",\"unknown_model\":");
    w.text(remarks.unknown_model);
  }
  if (!remarks.notes.empty()) {
    w.out.raw(",\"notes\":[");
    Writer::Separator comma(w.out);
    for (const std::string& note : remarks.notes) {
      comma.next();
      w.text(note);
    }
    w.out.raw(']');
  }
  if (!remarks.machine) return;
  w.out.raw(",\"facts\":");
  w.out.raw(json_dump(facts_json(*remarks.machine), -1));
}

void append_outcome(JsonText& out, const Launch& launch, const Value& id, const PathNames& names,
                    const OutcomeRemarks& remarks) {
  Writer w(out, names);
  w.out.raw("{\"id\":");
  if (id.is_int()) {
    w.out.integer(id.as_int());
  } else {
    w.out.string(id.as_string());
  }
  append_end(w, launch);
  append_warnings(w, launch);
  if (launch.accepted()) {
    append_resolved(w, launch);
    append_changes(w, launch, true, "writes");
    append_changes(w, launch, false, "trace");
  }
  if (!launch.unmodelled.empty()) {
    w.out.raw(",\"unmodelled\":[");
    Writer::Separator comma(w.out);
    for (const Field f : launch.unmodelled) {
      comma.next();
      w.out.quoted(field_name(f));
    }
    w.out.raw(']');
  }
  append_remarks(w, remarks);
  w.out.raw('}');
}

}  // namespace

std::string outcome_json(const Launch& launch, const Value& id, const PathNames& names, const OutcomeRemarks& remarks) {
  JsonText out(std::size_t{8} << 10);
  append_outcome(out, launch, id, names, remarks);
  return std::move(out).take();
}

std::string outcome_line(const Launch& launch, const Value& id, const OutcomeRemarks& remarks) {
  return outcome_json(launch, id, {}, remarks) + "\n";
}

void append_outcome_line(JsonText& out, const Launch& launch, const Value& id, const PathNames& names,
                         const OutcomeRemarks& remarks) {
  append_outcome(out, launch, id, names, remarks);
  out.raw('\n');
}

}  // namespace preflight::report
