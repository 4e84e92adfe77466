// What statements bind: names, attributes, items, functions, classes and modules. Tested by tests/traps_test.cpp, with
// Python as the judge.
#include "src/sources/program/follower.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/sources/program/attributes.h"

namespace preflight::sources::program {
namespace {

// Decorators of classes that leave their attributes what they are.
bool only_wraps(std::string_view decorator) {
  constexpr std::array<std::string_view, 12> kThose = {"ray.",      "serve.",      "app.",     "stub.",
                                                       "modal.",    "bentoml.",    "unittest", "pytest",
                                                       "functools", "total_order", "attr",     "define"};
  return std::ranges::any_of(kThose, [&](std::string_view one) { return decorator.starts_with(one); });
}

}  // namespace

void Follower::assign(const Stmt& one) {
  if (one.value == nullptr) {  // NAME: TYPE
    const std::size_t type = one.targets[0]->end;
    if (one.targets[0]->kind == Expr::Kind::kName) add_field(one, source_.text.substr(type, one.end - type));
    return;
  }
  const Val v = value(*one.value);
  for (const Expr* target : one.targets) bind(*target, v);
  if (!one.annotated || one.targets[0]->kind != Expr::Kind::kName) return;
  const std::size_t type = one.targets[0]->end;  // NAME: ClassVar[…] is no field of a dataclass
  add_field(one, source_.text.substr(type, one.value->begin - type));
}

// NAME: TYPE in a class, which a dataclass makes a field of.
void Follower::add_field(const Stmt& one, std::string_view type) {
  if (type.find("ClassVar") != std::string_view::npos) return;
  const std::string& name = one.targets[0]->name;
  if (type.find("KW_ONLY") != std::string_view::npos) {  // no field: what stands behind it is asked for by its name
    locals_->keys[kBehindKeywordOnly] = boolean(true);
    return;
  }
  if (type.find("InitVar") != std::string_view::npos) locals_->keys[kHandsOn] = boolean(true);
  if (locals_->keys.contains(kBehindKeywordOnly)) locals_->keys[kKeywordOnly + (" " + name)] = boolean(true);
  locals_->keys[kFieldType + (" " + name)] = text(std::string(type), one.begin);
  touch(locals_);
  locals_->now.items.push_back(text(name, one.begin));
}

void Follower::bind(const Expr& target, Val v) {
  if (target.kind == Expr::Kind::kTuple || target.kind == Expr::Kind::kList) return bind_each(target, v);
  if (target.kind == Expr::Kind::kSubscript) return bind_item(target, std::move(v));
  if (target.kind == Expr::Kind::kAttribute)
    return bind_attribute(value(*target.kids[0]), target.name, std::move(v), target.begin);
  if (target.kind != Expr::Kind::kName) return;
  if (v.is(Val::Kind::kUnknown) && v.mystery->name.empty() && !v.mystery->many) {
    auto mystery = std::make_shared<Mystery>(*v.mystery);
    mystery->name = target.name;
    v.mystery = mystery;
  }
  Object* scope = scope_to_bind(target.name);
  touch(scope);
  scope->now.names[target.name] = std::move(v);
}

// Where an assignment to a name puts it.
Object* Follower::scope_to_bind(const std::string& name) const {
  if (!global_names_.contains(name)) return locals_;
  for (Object* around = locals_->scope; around != nullptr; around = around->scope) {
    if (around->now.names.contains(name)) return around;
  }
  return globals_;
}

namespace {

void add_names(const Expr* target, std::set<std::string>& out) {
  if (target == nullptr) return;
  if (target->kind == Expr::Kind::kName) out.insert(target->name);
  const bool several =
      target->kind == Expr::Kind::kTuple || target->kind == Expr::Kind::kList || target->kind == Expr::Kind::kStar;
  if (!several) return;
  for (const Expr* kid : target->kids) add_names(kid, out);
}

// The names that a block assigns to, and those that it declares to be others'.
void add_names(const Block& block, std::set<std::string>& out, std::set<std::string>& others) {
  for (const Stmt* one : block) {
    if (one->kind == Stmt::Kind::kGlobal || one->kind == Stmt::Kind::kNonlocal)
      others.insert(one->names.begin(), one->names.end());
    const bool defines = one->kind == Stmt::Kind::kFunction || one->kind == Stmt::Kind::kClass;
    if (defines) out.insert(one->name);
    if (defines) continue;
    const bool deletes = one->kind == Stmt::Kind::kDelete;
    for (const Expr* target : one->targets) {
      if (!deletes || target->kind == Expr::Kind::kName) add_names(target, out);
    }
    const bool imports = one->kind == Stmt::Kind::kImport || one->kind == Stmt::Kind::kImportFrom;
    for (std::size_t i = 0; imports && i + 1 < one->names.size(); i += 2)
      out.insert(one->names[i + 1].empty() ? one->names[i].substr(0, one->names[i].find('.')) : one->names[i + 1]);
    for (const Block* inner : {&one->body, &one->other, &one->last}) add_names(*inner, out, others);
    for (const Handler& handler : one->handlers) {
      if (!handler.name.empty()) out.insert(handler.name);
      add_names(handler.body, out, others);
    }
  }
}

}  // namespace

// The names that are a function's own, wherever in it they are assigned to.
const std::set<std::string>& Follower::local_names(const Stmt& function) {
  const auto known = local_names_.find(&function);
  if (known != local_names_.end()) return known->second;
  spend_bytes(function.end - function.begin);
  std::set<std::string> out;
  std::set<std::string> others;
  add_names(function.body, out, others);
  for (const Parameter& one : function.parameters) out.insert(one.name);
  for (const std::string& name : others) out.erase(name);
  return local_names_[&function] = std::move(out);
}

// A name that is a function's own and that it has not assigned to yet is none of what stands around it.
void Follower::refuse_unbound(const Object* scope, const Expr& name) {
  if (scope->frame == nullptr || !scope->now.open.empty() || source_.given.contains(name.name)) return;
  if (local_names(*scope->frame).contains(name.name)) refuse("UnboundLocalError", name.begin);
}

void Follower::bind_each(const Expr& target, const Val& v) {
  auto items = items_of(v, target.begin);
  const auto star = std::find_if(target.kids.begin(), target.kids.end(),
                                 [](const Expr* kid) { return kid->kind == Expr::Kind::kStar; });
  const bool fits = items && (star == target.kids.end() ? items->size() == target.kids.size()
                                                        : items->size() + 1 >= target.kids.size());
  const bool known = items && std::ranges::none_of(*items, is_many);
  if (!fits && known) refuse("ValueError", target.begin);
  const auto own = [](const Val& one) { return is_many(one) && one.mystery->what == kOwnArguments; };
  const bool takes_any = star != target.kids.end() && items && items->size() >= target.kids.size();
  if (items && !takes_any && std::ranges::any_of(*items, own)) may_raise("ValueError", target.begin);
  if (!fits) {
    ++doubts_;
    for (const Expr* kid : target.kids) {
      const Expr& one = kid->kind == Expr::Kind::kStar ? *kid->kids[0] : *kid;
      bind(one, unclear(one));
    }
    return;
  }
  const auto before = static_cast<std::size_t>(star - target.kids.begin());
  const std::size_t extra = star == target.kids.end() ? 0 : items->size() + 1 - target.kids.size();
  for (std::size_t i = 0, k = 0; i < target.kids.size(); ++i) {
    if (i != before || star == target.kids.end()) {
      bind(*target.kids[i], (*items)[k++]);
      continue;
    }
    const auto from = items->begin() + static_cast<std::ptrdiff_t>(k);
    bind(*target.kids[i]->kids[0], list_of({from, from + static_cast<std::ptrdiff_t>(extra)}));
    k += extra;
  }
}

void Follower::bind_attribute(const Val& base, const std::string& name, Val v, std::size_t at) {
  bool open = false;
  const bool own = base.is(Val::Kind::kInstance) && base.object->of != nullptr &&
                   class_member(base.object->of, "__setattr__", open) != nullptr;
  if (is_plain(base)) refuse("AttributeError", at);
  const Val* member = own || !base.is(Val::Kind::kInstance) || base.object->of == nullptr
                          ? nullptr
                          : class_member(base.object->of, name, open);
  if (const auto* setter = member == nullptr || member->object == nullptr ? nullptr : property_setter(*member)) {
    Arguments a;
    a.at = a.end = at;
    a.values = {base, std::move(v)};
    (void)call(*setter, a);
    return;
  }
  if (const char* refused = own ? nullptr : refused_attribute(base, name)) refuse(refused, at);
  if (own) {
    if (own_method(base, "__setattr__", {text(name, at), v}, at)) return;
    v = unknown(fmt::format("__setattr__ of {} is not followed", base.object->of->name), at);
  }
  if (base.is(Val::Kind::kInstance) || base.is(Val::Kind::kClass) || base.is(Val::Kind::kFunction)) {
    set_name(base.object, name, std::move(v));
  } else if (base.is(Val::Kind::kNative)) {
    const bool pythons = base.object->name == "sys" || base.object->name == "os";
    if (!pythons) handed_over(v, base.object->name, at);  // whose functions may change it
    touch(globals_);                                      // a library's own name: sys.argv
    globals_->now.names["." + base.object->name + "." + name] = std::move(v);
  }
}

void Follower::bind_item(const Expr& target, Val v) {
  const Val base = value(*target.kids[0]);
  const bool sliced = target.kids[1]->kind == Expr::Kind::kSlice;
  if (base.is(Val::Kind::kDict)) {
    const Val key = value(*target.kids[1]);
    const bool no_text = base.object == environ_ && is_plain(v) && !v.is(Val::Kind::kText);
    if (no_text) refuse("TypeError", target.begin);
    return set_entry(base.object, key, std::move(v), target.begin);
  }
  if (!sliced && base.is(Val::Kind::kInstance) &&
      own_method(base, "__setitem__", {value(*target.kids[1]), v}, target.begin))
    return;
  if (base.is(Val::Kind::kTuple) || base.is(Val::Kind::kText) || base.is(Val::Kind::kNone) || base.whole())
    refuse("TypeError", target.begin);
  if (!base.is(Val::Kind::kList)) return;
  touch(base.object);
  auto& items = base.object->now.items;
  spend_items(items);
  const Val index = sliced ? Val{} : value(*target.kids[1]);
  const bool many = std::any_of(items.begin(), items.end(),
                                [](const Val& one) { return one.is(Val::Kind::kUnknown) && one.mystery->many; });
  const auto size = static_cast<std::int64_t>(items.size());
  const std::int64_t i = index.integer < 0 ? index.integer + size : index.integer;
  if (!sliced && index.whole() && !many && (i < 0 || i >= size)) refuse("IndexError", target.begin);
  if (sliced && !many && bind_slice(items, *target.kids[1], v)) return;
  if (sliced || !index.whole() || many) {
    items = {unknown(fmt::format("what a list holds from line {} on is not followed", line(target.begin)), target.begin,
                     true)};
    return;
  }
  v.begin = v.begin == v.end ? target.begin : v.begin;
  items[static_cast<std::size_t>(i)] = std::move(v);
}

// LIST[FROM:TO], without a step: from and behind its last; none where the bounds are not known.
std::optional<std::pair<std::size_t, std::size_t>> Follower::slice_bounds(const Expr& slice, std::size_t size) {
  if (slice.kids[2] != nullptr) return std::nullopt;
  const auto most = static_cast<std::int64_t>(size);
  std::array<std::int64_t, 2> bounds = {0, most};
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const Val v = slice.kids[i] == nullptr ? Val{} : value(*slice.kids[i]);
    if (v.is(Val::Kind::kNone)) continue;
    if (!v.whole()) return std::nullopt;
    bounds[i] = std::clamp(v.integer < 0 ? v.integer + most : v.integer, std::int64_t{0}, most);
  }
  const auto from = static_cast<std::size_t>(bounds[0]);
  return std::pair(from, std::max(from, static_cast<std::size_t>(bounds[1])));
}

// LIST[FROM:TO] = …: false where that is not known.
bool Follower::bind_slice(std::vector<Val>& items, const Expr& slice, const Val& v) {
  const auto bounds = slice_bounds(slice, items.size());
  const auto more = bounds ? items_of(v, slice.begin) : std::nullopt;
  if (!more) return false;
  if (names_server(v)) used_.insert(v.object);
  spend(more->size());
  const auto place = [&](std::size_t i) { return items.begin() + static_cast<std::ptrdiff_t>(i); };
  items.erase(place(bounds->first), place(bounds->second));
  items.insert(place(bounds->first), more->begin(), more->end());
  return true;
}

void Follower::grow(const Stmt& one) {
  const Expr& target = *one.targets[0];
  const Val old = value(target);
  const Val more = value(*one.value);
  const bool list = old.is(Val::Kind::kList) && one.name == "+";
  if (list) {
    auto items = items_of(more, one.value->begin);
    touch(old.object);
    auto& into = old.object->now.items;
    if (!items)
      items = {{unknown(fmt::format("{} is computed where the program runs", shown(one.value->begin, one.value->end)),
                        one.value->begin, true)}};
    spend(items->size());
    if (names_server(more)) used_.insert(more.object);
    into.insert(into.end(), items->begin(), items->end());
    return;
  }
  if (old.is(Val::Kind::kDict) && one.name == "|") {
    touch(old.object);
    return update(old.object, more, one.begin);
  }
  auto own = own_operator("i", one.name, old, more, one.begin);
  Val out = own ? *std::move(own) : binary(one.name, old, more, one.begin, one.end);
  bind(target, std::move(out));
}

void Follower::remove(const Expr& target) {
  if (target.kind == Expr::Kind::kTuple || target.kind == Expr::Kind::kList) {
    for (const Expr* kid : target.kids) remove(*kid);
  } else if (target.kind == Expr::Kind::kName) {
    Object* scope = scope_to_bind(target.name);
    if (!scope->now.names.contains(target.name)) {
      refuse_unbound(scope, target);
      may_be_unbound(target);
    }
    touch(scope);
    scope->now.names.erase(target.name);
  } else if (target.kind == Expr::Kind::kAttribute) {
    remove_attribute(value(*target.kids[0]), target.name, target.begin);
  } else if (target.kind == Expr::Kind::kSubscript) {
    remove_item(target);
  }
}

void Follower::remove_attribute(const Val& base, const std::string& name, std::size_t at) {
  if (base.object == nullptr) return;
  if (const char* refused = refused_attribute(base, name)) refuse(refused, at);
  touch(base.object);
  base.object->now.names.erase(name);
}

void Follower::remove_item(const Expr& target) {
  const Val base = value(*target.kids[0]);
  if (base.is(Val::Kind::kInstance) && target.kids[1]->kind != Expr::Kind::kSlice) {
    (void)own_method(base, "__delitem__", {value(*target.kids[1])}, target.begin);
    return;
  }
  if (base.is(Val::Kind::kDict)) {
    const Val key = value(*target.kids[1]);
    if (base.object->now.inherits) return set_entry(base.object, key, {.kind = Val::Kind::kGone}, target.begin);
    touch(base.object);
    if (!key.known_text() && !key.whole()) {
      const std::string why = fmt::format("an entry is taken out at line {}", line(target.begin));
      return lose(base.object, why, target.begin, key.is(Val::Kind::kText) ? key.text.get() : nullptr);
    }
    if (base.object->of != nullptr && key.known_text())
      return set_entry(base.object, key, {.kind = Val::Kind::kGone}, target.begin);
    spend(base.object->now.pairs.size());
    if (base.object->now.open.empty() && entry(base.object, key) == nullptr) refuse("KeyError", target.begin);
    std::erase_if(base.object->now.pairs, [&](const auto& one) { return is_key(one.first, key); });
    return;
  }
  if (!base.is(Val::Kind::kList)) return;
  touch(base.object);
  auto& items = base.object->now.items;
  spend_items(items);
  const bool many = std::ranges::any_of(items, is_many);
  if (target.kids[1]->kind == Expr::Kind::kSlice) {
    const auto bounds = many ? std::nullopt : slice_bounds(*target.kids[1], items.size());
    if (bounds) {
      const auto at = items.begin() + static_cast<std::ptrdiff_t>(bounds->first);
      items.erase(at, at + static_cast<std::ptrdiff_t>(bounds->second - bounds->first));
      return;
    }
  } else if (const Val index = value(*target.kids[1]); index.whole()) {
    const auto size = static_cast<std::int64_t>(items.size());
    const std::int64_t i = index.integer < 0 ? index.integer + size : index.integer;
    if (!many && (i < 0 || i >= size)) refuse("IndexError", target.begin);
    if (!many) {
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
  items = {unknown(fmt::format("what a list holds from line {} on is not followed", line(target.begin)), target.begin,
                   true)};
}

// What `def` or `class` makes, of its name.
Val Follower::made_by(const Stmt& one, Val::Kind kind) {
  Val made;
  made.kind = kind;
  made.object = make();
  made.object->name = one.name;
  made.object->statement = &one;
  made.object->scope = locals_;
  return made;
}

// Its name is what the decorators leave.
void Follower::bind_decorated(const Stmt& one, const Val& made) {
  const Val v = decorated(one, made);
  touch(locals_);
  locals_->now.names[one.name] = v;
}

void Follower::define_function(const Stmt& one) {
  const Val f = made_by(one, Val::Kind::kFunction);
  // Defaults are what they are now.
  for (const Parameter& parameter : one.parameters) {
    if (parameter.fallback == nullptr) continue;
    Val fallback = value(*parameter.fallback);
    const Expr& written = *parameter.fallback;
    const bool of_typer = written.kind == Expr::Kind::kCall && shown(written.begin, written.end).starts_with("typer.");
    if (of_typer) fallback = as_typer_reads(parameter, fallback, written.begin);
    f.object->keys["=" + parameter.name] = std::move(fallback);
  }
  if (quiet_ == 0) functions_.push_back(f.object);
  bind_decorated(one, f);
}

// Decorators that leave a function what it is, or that are followed; others are told of what it starts.
Val Follower::decorated(const Stmt& one, Val v) {
  for (auto it = one.values.rbegin(); it != one.values.rend(); ++it) {
    if (auto property = with_setter(**it, v)) {
      v = *std::move(property);
      continue;
    }
    const Val decorator = value(**it);
    const std::string name =
        decorator.is(Val::Kind::kNative) || decorator.is(Val::Kind::kInstance) ? decorator.object->name : std::string();
    if (name == "property" || name == "functools.cached_property" || name == "staticmethod" || name == "classmethod") {
      v.object->way = name == "functools.cached_property" ? "property" : name;
      if (name == "functools.cached_property") v.object->keys[kMaySet] = v.object->keys[kAskedOnce] = boolean(true);
    } else if (name.starts_with("dataclasses.dataclass")) {
      v.object->way = "dataclass";
      if (v.is(Val::Kind::kClass)) take_dataclass_options(v.object, *decorator.object, one.begin);
    } else if (name == "functools.lru_cache" || name == "functools.cache" || name == "functools.wraps" ||
               name == "contextlib.contextmanager" || name == "abc.abstractmethod" || name == "typing.overload" ||
               name == "enum.unique") {
      if (name == "abc.abstractmethod") v.object->keys[kAbstract] = boolean(true);
      if (name == "functools.cache") v.object->keys[kRemembers] = none();
      if (name == "functools.lru_cache") {
        const auto most = decorator.object->keys.find("maxsize");
        v.object->keys[kRemembers] = most == decorator.object->keys.end() ? whole(kRemembered) : most->second;
      }
      if (name == "contextlib.contextmanager") v.object->altered = shown((*it)->begin, (*it)->end);
    } else if (name == "atexit.register") {
      Arguments a;
      a.at = a.end = one.begin;
      a.values = {v};
      (void)at_exit(name, a);
    } else if ((name == "click.option" || name == "click.argument") && v.is(Val::Kind::kFunction)) {
      take_click_option(v.object, *decorator.object, (*it)->begin);
    } else if ((decorator.is(Val::Kind::kFunction) || decorator.is(Val::Kind::kClass)) &&
               (v.is(Val::Kind::kFunction) || v.is(Val::Kind::kClass))) {
      Arguments a;
      a.values = {v};
      a.at = one.begin;
      v = call(decorator, a);
    } else if (v.object != nullptr) {
      const bool rays = name == "ray.remote" || name == "ray.serve.deployment";  // whatever it is imported as
      v.object->altered = rays ? (name == "ray.remote" ? name : "serve.deployment") : shown((*it)->begin, (*it)->end);
      const auto variables = rays ? ray_variables_.find(decorator.object) : ray_variables_.end();
      if (variables != ray_variables_.end()) ray_variables_[v.object] = variables->second;
      if (v.is(Val::Kind::kClass) && !only_wraps(v.object->altered))
        lose(v.object, fmt::format("@{} may change {}", v.object->altered, v.object->name), one.begin);
    }
  }
  return v;
}

void Follower::define_class(const Stmt& one) {
  const Val c = made_by(one, Val::Kind::kClass);
  for (const Argument& base : one.arguments) {
    const Val v = value(*base.value);
    const bool plain = v.is(Val::Kind::kNative) && (v.object->name == "abc.ABCMeta" || v.object->name == "type");
    if (base.name == "metaclass" && !plain) c.object->now.open = fmt::format("a metaclass makes {}", one.name);
    if (plain && v.object->name == "abc.ABCMeta") c.object->keys[kAbstract] = boolean(true);
    if (!base.name.empty()) continue;
    Object* of = v.is(Val::Kind::kClass) || v.is(Val::Kind::kNative) ? v.object : make();
    if (v.is(Val::Kind::kUnknown)) of->name = shown(base.value->begin, base.value->end);
    c.object->bases.push_back(of);
  }
  c.object->scope = seen_from_inside(locals_);
  Object* outer = std::exchange(locals_, c.object);
  const std::size_t before = functions_.size();
  (void)run(one.body);
  locals_ = outer;
  for (std::size_t i = before; i < functions_.size(); ++i) {
    if (functions_[i]->scope == c.object) functions_[i]->of = c.object;
  }
  for (auto& [name, member] : c.object->now.names) {
    if (member.is(Val::Kind::kFunction) && member.object->scope == c.object) member.object->of = c.object;
  }
  if (quiet_ == 0) classes_.push_back(c.object);
  for (const Object* base : c.object->bases) {
    if (!base->now.open.empty() && c.object->now.open.empty())
      c.object->now.open = fmt::format("{} may change {}", base->name, one.name);
  }
  if (const std::string why = c.object->now.open; !why.empty()) lose(c.object, why, one.begin);
  tell_bases(one, c);
  bind_decorated(one, c);
}

// What a class is made of is told of it: __init_subclass__.
void Follower::tell_bases(const Stmt& one, const Val& made) {
  bool open = false;
  for (const Object* base : made.object->bases) {
    const Val* told = class_member(base, "__init_subclass__", open);
    if (told == nullptr) continue;
    Arguments a;
    a.at = a.end = one.begin;
    a.values = {made};
    for (const Argument& given : one.arguments) {
      if (!given.name.empty() && given.name != "metaclass") a.keys.emplace_back(given.name, value(*given.value));
    }
    (void)call(*told, a);
    return;
  }
}

void Follower::import(const Stmt& one) {
  for (std::size_t i = 0; i + 1 < one.names.size(); i += 2) {
    const std::string& name = one.names[i];
    const bool renamed = !one.names[i + 1].empty();
    const std::string known = renamed ? one.names[i + 1] : name.substr(0, name.find('.'));
    touch(locals_);
    Val bound = native(renamed ? name : known);
    bound.object->imported_as = known;
    locals_->now.names[known] = std::move(bound);
    ++doubts_;
  }
}

void Follower::import_from(const Stmt& one) {
  for (std::size_t i = 0; i + 1 < one.names.size(); i += 2) {
    const std::string& name = one.names[i];
    if (name == "*") {
      lose(locals_, fmt::format("{} may set it at line {}", one.name, line(one.begin)), one.begin);
      locals_->now.open.clear();
      continue;
    }
    touch(locals_);
    const std::string known = one.names[i + 1].empty() ? name : one.names[i + 1];
    Val bound = imported(one.name + "." + name, one.begin);
    if (bound.is(Val::Kind::kNative)) bound.object->imported_as = known;
    locals_->now.names[known] = std::move(bound);
    ++doubts_;
  }
}

Val Follower::imported(const std::string& name, std::size_t) {
  if (auto constant = library_constant(name)) return *constant;
  return native(name);
}

}  // namespace preflight::sources::program
