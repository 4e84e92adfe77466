// Values of a Python program that is followed: what is known of them, and what is not, with its reason.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/sources/program/syntax.h"
#include "src/sources/shell.h"

namespace preflight::sources::program {

struct Object;

// Why a dictionary of attributes is not gone through; each of its entries is known.
inline constexpr std::string_view kNoOrder = "the order of attributes is not known here";

// What is not known, and why.
struct Mystery {
  std::string what = {};
  std::size_t at = 0;
  std::string name = {};    // with which it can be given
  bool many = false;        // in a list: any number of items
  bool maybe_none = false;  // of the environment, asked for without a default
};

struct Val {
  enum class Kind : std::uint8_t {
    kNone,
    kBool,
    kInt,
    kFloat,
    kText,  // its holes are not known
    kList,
    kTuple,
    kSet,
    kDict,
    kFunction,
    kClass,
    kInstance,  // of a class of the program, or of a library: by the object's name
    kNative,    // a name of a library: os, os.path.join; a method of a value
    kUnknown,
    kGone,  // an entry that was taken out: of os.environ
  };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;
  double number = 0;
  Object* object = nullptr;
  std::shared_ptr<const ShellText> text = {};
  std::shared_ptr<const Mystery> mystery = {};
  std::size_t begin = 0;  // the expression that it was written as
  std::size_t end = 0;

  [[nodiscard]] bool is(Kind k) const { return kind == k; }
  [[nodiscard]] bool known_text() const { return kind == Kind::kText && text->unknowns.empty(); }
  [[nodiscard]] bool whole() const { return kind == Kind::kInt || kind == Kind::kBool; }
  [[nodiscard]] bool sequence() const { return kind == Kind::kList || kind == Kind::kTuple || kind == Kind::kSet; }
};

// Puts what comes next into an iterator; false where nothing comes behind that.
using NextItems = std::function<bool(Object*)>;

// What a program changes of an object.
struct Content {
  std::vector<Val> items = {};
  std::vector<std::pair<Val, Val>> pairs = {};
  std::map<std::string, Val> names = {};
  bool inherits = false;                       // a dictionary that has the variables of the environment, too
  std::string open = {};                       // why it may have entries that are not known; "": it has none
  std::shared_ptr<const NextItems> next = {};  // of an iterator: what it takes to have more than `items`
};

struct Object {
  Content now = {};
  std::string name = {};
  const Stmt* statement = nullptr;  // of a function or class
  const Expr* lambda = nullptr;
  Object* scope = nullptr;               // of names around a function; of a scope, the one around it
  Object* of = nullptr;                  // class of an instance, owner of a method, or whose names a dictionary shows
  const Stmt* frame = nullptr;           // the function whose names it holds while that runs
  Object* shown_by = nullptr;            // the dictionary that shows its names: vars(), globals()
  std::vector<Object*> bases = {};       // of a class
  std::vector<Val> bound = {};           // self of a method; what functools.partial was given
  std::map<std::string, Val> keys = {};  // keywords of functools.partial
  std::string altered = {};              // the decorator that may make something else of it; why a name may be another
  std::string imported_as = {};          // what the program calls it: NAME, NAME.PART
  std::string way = {};                  // property, staticmethod, classmethod, dataclass, unclear
  std::size_t changed = 0;               // when it was last, as the follower counts
  bool called = false;
  bool handed = false;   // to something that is not known, which may call it
  bool handing = false;  // at this moment
};

// **x or *x that is not known: any number of values.
inline bool is_many(const Val& v) { return v.is(Val::Kind::kUnknown) && v.mystery->many; }
// What iter(), map(), zip(), a generator and their kin give: a list of what is still to come, gone through once. What
// an item takes happens when it is asked for.
inline constexpr std::string_view kIterator = "an iterator";
inline bool is_iterator(const Val& v) { return v.is(Val::Kind::kList) && v.object->name == kIterator; }
// What keys(), values() and items() of a dictionary give, which is bound to it: what that has when it is looked at.
inline constexpr std::string_view kView = "a view of a dictionary";
inline bool is_view(const Val& v) { return v.is(Val::Kind::kList) && v.object->name == kView; }
// What a function of contextlib.contextmanager gives, before `with` enters it.
inline constexpr std::string_view kContext = "a context of the program";
inline bool is_context(const Val& v) { return v.is(Val::Kind::kInstance) && v.object->name == kContext; }
// What a call of an `async def` gives: its body runs when something awaits it.
inline constexpr std::string_view kCoroutine = "a coroutine of the program";
inline bool is_coroutine(const Val& v) { return v.is(Val::Kind::kInstance) && v.object->name == kCoroutine; }
// A class whose members are what its body assigns.
inline bool is_enum(const Object* type, int depth = 0) {
  constexpr int kDeep = 10;
  return std::ranges::any_of(type->bases, [&](const Object* base) {
    if (base->statement == nullptr) return std::string_view(base->name).ends_with("Enum");
    return depth < kDeep && is_enum(base, depth + 1);
  });
}
// A member of one: there is one alone of each value.
inline bool is_member(const Val& v) {
  return v.is(Val::Kind::kInstance) && v.object->of != nullptr && is_enum(v.object->of) &&
         v.object->now.names.contains("value") && v.object->now.names.contains("name");
}
// What is of a plain type of Python's own.
inline bool is_plain(const Val& v) {
  using Kind = Val::Kind;
  return v.is(Kind::kNone) || v.whole() || v.is(Kind::kFloat) || v.is(Kind::kText) || v.sequence() || v.is(Kind::kDict);
}
// What Python goes through in no way: numbers, None, a function that no decorator made something else of.
inline bool has_no_items(const Val& v) {
  const bool plain_function = v.is(Val::Kind::kFunction) && v.object->altered.empty();
  return v.whole() || v.is(Val::Kind::kFloat) || v.is(Val::Kind::kNone) || plain_function;
}
// What range() gives: a list that is not written as one.
inline constexpr std::string_view kRange = "a range";
// Of letters of one byte alone.
inline bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}
// Of a dotted name.
inline std::string_view last_name(std::string_view name) { return name.substr(name.rfind('.') + 1); }

Val none();
Val boolean(bool b);
Val whole(std::int64_t i);
Val real(double d);
Val unknown(std::string what, std::size_t at, bool many = false);

struct Arguments {
  std::vector<Val> values = {};
  std::vector<std::pair<std::string, Val>> keys = {};
  std::vector<Val> more = {};  // **x that is not known
  std::size_t at = 0;
  std::size_t end = 0;
  const Expr* call = nullptr;

  [[nodiscard]] const Val* key(std::string_view name) const;
  // By its name, or by its place.
  [[nodiscard]] const Val* argument(std::size_t at, std::string_view name) const;
};

}  // namespace preflight::sources::program
