// Follows a Python program without running it. Every value is known, or is not with a reason; a branch whose test is
// not known is followed both ways and what they leave different is not known from there on. What a program may end
// or skip is told with each launch behind it.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/limits.h"
#include "src/base/stack_room.h"
#include "src/sources/launch_finder.h"
#include "src/sources/program/value.h"
#include "src/sources/readers/readers.h"
#include "src/sources/readers/started_program.h"

namespace preflight {
class Value;
namespace python {
struct YamlObject;
}
}  // namespace preflight

namespace preflight::sources::program {

class Follower {
 public:
  // `doubt`: why none of its launches is sure; "" where they are.
  // `nothing_given`: a test of a variable that nothing sets finds none.
  // `start`: what is known of how it is started; null: nothing.
  Follower(const SourceText& source, LaunchFinder& finder, const Program& program, std::string doubt = {},
           bool nothing_given = true, const ProgramStart* start = nullptr);
  Result<bool> run();
  void spend_at_most(std::size_t steps) { steps_ = std::min(steps_, steps); }
  // A variable whose default is an empty text is asked for: a program that ends without it is started with it.
  void ask_for_empty() { asks_for_empty_ = true; }

 private:
  // --- states (states.cpp) ---
  // Another state of the program: what differs in it from the one that is followed now.
  struct State {
    std::map<Object*, std::shared_ptr<Content>> other = {};  // states may share what they hold
    std::size_t born = 0;                                    // when it was taken, as changes are counted
  };
  using StatePtr = std::shared_ptr<State>;
  StatePtr take();
  void drop(const StatePtr& state);
  void renew(const StatePtr& state);
  void touch(Object* object);
  void turn_to(const StatePtr& state);
  bool merge(const StatePtr& state, const std::string& why, std::size_t at);
  Content merged(const Content& a, const Content& b, const std::string& why, std::size_t at, bool& changed);
  Val merged(const Val& a, const Val& b, const std::string& name, const std::string& why, std::size_t at);
  // Of a value without a name.
  Val merged_here(const Val& a, const Val& b, const std::string& why, std::size_t at);
  std::vector<Val> merged_items(const std::vector<Val>& a, const std::vector<Val>& b, const std::string& why,
                                std::size_t at);
  bool same(const Val& a, const Val& b, int depth = 0) const;
  std::optional<Val> callable_of(const Val& a, const Val& b, const std::string& name, const std::string& why);

  // --- statements (follower.cpp, branches.cpp, exceptions.cpp, names.cpp) ---
  enum class Way { kReturn, kRaise, kBreak, kContinue };
  struct Left {
    Way way = Way::kReturn;
    Val value = {};
    StatePtr state = {};
    std::size_t at = 0;
  };
  struct Flow {
    bool on = true;
    std::vector<Left> left = {};
  };
  struct Thrown {
    Val value;
    std::size_t at;
  };
  struct Exhausted {
    const char* why = "this program needs more steps than are followed; give its launch as a command";
  };
  using Step = std::function<Flow()>;

  Flow run(const Block& block);
  Flow run(const Stmt& one);
  Flow run_one(const Stmt& one);
  Flow leave(Way way, Val value, std::size_t at);
  Flow branch(const Step& yes, const Step& no, std::size_t at);
  [[nodiscard]] Condition leaves(const Left& left) const;
  void may_have_ended(const Condition& what);
  void assign(const Stmt& one);
  void add_field(const Stmt& one, std::string_view type);
  void grow(const Stmt& one);
  void bind(const Expr& target, Val value);
  void bind_each(const Expr& target, const Val& value);
  std::optional<std::pair<std::size_t, std::size_t>> slice_bounds(const Expr& slice, std::size_t size);
  bool bind_slice(std::vector<Val>& items, const Expr& slice, const Val& v);
  void bind_item(const Expr& target, Val value);
  void bind_attribute(const Val& base, const std::string& name, Val value, std::size_t at);
  void remove(const Expr& target);
  void remove_item(const Expr& target);
  void remove_attribute(const Val& base, const std::string& name, std::size_t at);
  Flow if_statement(const Stmt& one);
  Flow while_statement(const Stmt& one);
  bool goes_on_behind(const Stmt& loop);
  Flow for_statement(const Stmt& one);
  Flow unknown_loop(const Stmt& one, const std::function<void()>& begin);
  bool turn(const Flow& body, Flow& out, std::vector<Left>& broken);
  void settle(std::vector<Left>& left, Way way, Flow& out, const std::string& why, std::size_t at);
  Flow try_statement(const Stmt& one);
  void catch_left(const Stmt& one, std::vector<Left> raised, std::vector<StatePtr>& ends, Flow& out, bool sure);
  void may_be_missing(const Val& args, std::size_t at);
  void may_raise(const char* what, std::size_t at);
  void may_be_unbound(const Expr& name);
  [[noreturn]] void refuse(const char* what, std::size_t at);
  void meet_missing(std::size_t from, const std::function<bool(const Val&)>& is_met);
  void catch_unsure(const Stmt& one, std::vector<StatePtr>& ends, Flow& out);
  Flow handle(const Handler& handler, const Val& exception);
  int catches(const Handler& handler, const Val& exception);  // 1, 0, or -1: not known
  int is_exception(const Val& exception, const Val& type) const;
  Flow with_statement(const Stmt& one);
  Flow with_managers(const Stmt& one, std::size_t from = 0);
  Flow within_context(const Val& context, const Stmt& one, std::size_t from);
  Flow within_object(const Val& manager, const Stmt& one, std::size_t from);
  Flow within_suppress(const Val& manager, const Stmt& one, std::size_t from);
  void call_exit(const Val& exit, const Val& manager, const Stmt& one, Flow& flow);
  Flow inside(const Val& entered, const Stmt& one, std::size_t from);
  void enter_elsewhere(const Val& context, const std::string& to, std::size_t at);
  Flow for_each_yield(const Stmt& one, const Val& generator);
  bool runs_between(const Stmt& loop, const Val& all) const;
  void bind_unclear(const Expr& target);
  Object* scope_to_bind(const std::string& name) const;
  void end_or_raise(Left left, Flow& out);
  Flow match_statement(const Stmt& one);
  Flow match_cases(const Stmt& one, const Val& value, std::size_t from);
  int matches(const Expr& pattern, const Val& value);
  int matches_items(const Expr& pattern, const Val& value);
  int matches_entries(const Expr& pattern, const Val& value);
  int matches_type(const Expr& pattern, const Val& value);
  bool next_item(const Val& all, std::size_t turn, const std::vector<Val>& items, Val& item);
  Val made_by(const Stmt& one, Val::Kind kind);
  void bind_decorated(const Stmt& one, const Val& made);
  void define_function(const Stmt& one);
  void define_class(const Stmt& one);
  void tell_bases(const Stmt& one, const Val& made);
  Val decorated(const Stmt& one, Val value);
  const std::set<std::string>& local_names(const Stmt& function);
  void refuse_unbound(const Object* scope, const Expr& name);
  void import(const Stmt& one);
  void import_from(const Stmt& one);
  Val imported(const std::string& name, std::size_t at);
  void unfinished();
  [[nodiscard]] bool is_tested(const Object& type) const;
  [[nodiscard]] std::vector<Object*> testing_classes(const Object& function) const;
  void follow_alone(Object* function, Object* owner, const Condition& when);
  Val made_alone(Object* owner);

  // --- expressions (expressions.cpp) ---
  Val value(const Expr& e);
  Val value_of(const Expr& e);
  Val name_value(const Expr& e);
  Val yielded(const Expr& e);
  Val given_or(Val found, const std::string& name);
  Val asked(const Val& v);
  [[nodiscard]] static std::string imported_from(std::string_view name, std::string_view as);
  Val number(const Expr& e) const;
  Val text_value(const Expr& e);
  void add_parts(const std::vector<TextPart>& parts, ShellText& out, std::size_t at);
  Val display(const Expr& e);
  void add_item(const Expr& e, std::vector<Val>& out);
  Val dictionary(const Expr& e);
  Val attribute(const Val& base, const std::string& name, const Expr& e);
  Val member_of(Object* type, const Val& held, const std::string& name, std::size_t at);
  std::optional<Val> handed_to_ray(const Val& base, std::string_view name);
  Val instance_attribute(const Val& base, const std::string& name, const Expr& e);
  Val lost_attribute(const std::string& why, const std::string& name, const Expr& e);
  [[nodiscard]] bool is_closed(const Object* type) const;
  [[nodiscard]] static bool is_plain_base(const Object* type);
  [[nodiscard]] std::vector<Object*> behind(const Object* type, int depth = 0) const;
  Object* above(Object* type, const Val& self);
  const Val* class_member(const Object* type, const std::string& name, bool& unclear, int depth = 0) const;
  Val bound_member(const Val& member, const Val& self, Object* type, const Expr& e);
  Val subscript(const Expr& e);
  void refuse_index(const Val& base, const Val& index, std::size_t at);
  Val item_at(const Val& base, const Val& index, const Expr& e);
  Val slice(const Val& base, const Expr& e);
  Val dict_item(const Val& base, const Val& key, std::size_t at);
  // Nothing sets it: its default stands in.
  const Val& take_default(const std::string& name, const Val& value, std::size_t at);
  bool is_unset(const Val& v);
  void take_no_arguments(const Val& counted, std::size_t at);
  void may_be_none(const Val& v, const char* raises, std::size_t at);
  bool take_dotenv(const Arguments& a);
  Val environment_variable(const Val& dict, const std::string& name, const Val* fallback, std::size_t at);
  Val call(const Expr& e);
  Arguments arguments_of(const Expr& e);
  Val choice(const Expr& e);
  Val either(const std::function<Val()>& a, const std::function<Val()>& b, std::size_t at);
  Val boolean_value(const Expr& e, std::size_t from);
  Val comprehension(const Expr& e);
  void clause(const Expr& e, std::size_t from, Object* out, const Val* first = nullptr);
  static Object* seen_from_inside(Object* scope);
  bool clause_item(const Expr& e, std::size_t from, const Val& item, Object* out);
  void lose_clause(const Expr& e, std::size_t from);
  Val generator_expression(const Expr& e, Object* scope);
  Val lambda(const Expr& e);
  Val unclear(const Expr& e) const;
  Val unclear(std::size_t begin, std::size_t end) const;
  [[nodiscard]] std::string shown(std::size_t begin, std::size_t end) const;

  // --- operators (operators.cpp) ---
  Val unary(const std::string& op, const Val& v, const Expr& e);
  Val binary(const std::string& op, const Val& a, const Val& b, std::size_t begin, std::size_t end);
  std::optional<Val> own_operator(std::string_view prefix, const std::string& op, const Val& self, const Val& other,
                                  std::size_t begin);
  Val arithmetic(const std::string& op, const Val& a, const Val& b, std::size_t begin, std::size_t end);
  Val whole_arithmetic(const std::string& op, std::int64_t a, std::int64_t b, std::size_t begin, std::size_t end);
  Val repeated(const Val& a, const Val& times, std::size_t begin, std::size_t end);
  Val percent(const ShellText& format, const Val& values, std::size_t at);
  std::optional<bool> compare(const std::string& op, const Val& a, const Val& b);
  std::optional<bool> equal(const Val& a, const Val& b, int depth = 0) const;
  std::optional<bool> less(const Val& a, const Val& b) const;
  std::optional<bool> contains(const Val& all, const Val& one);
  std::optional<Val> own_comparison(const std::string& op, const Val& a, const Val& b);
  std::optional<Val> own_iterator(const Val& self, std::size_t at);
  void may_be_called(const Val& function, const std::string& to, std::size_t at);
  std::optional<Val> own_method(const Val& self, const std::string& name, std::vector<Val> values, std::size_t at);
  void lose_object(const Val& self, const std::string& why);
  std::optional<bool> truth(const Val& v);
  Val str(const Val& v, std::size_t at);
  std::optional<std::string> repr(const Val& v, int depth = 0) const;
  void refuse_format(const Val& v, std::string_view spec, std::size_t at);
  Val formatted(const Val& v, const std::string& spec, std::size_t at);
  std::optional<Val> own_format(const Val& v, const std::string& spec, std::size_t at);
  Val text(std::string s, std::size_t at) const;
  Val text(ShellText t) const;
  ShellText text_or_hole(const Val& v, std::size_t at);
  ShellText hole(const Val& v, std::size_t at) const;

  // --- calls (calls.cpp, methods.cpp, libraries.cpp) ---
  Val call(const Val& callee, Arguments& arguments);
  Val call_function(Object* function, Arguments& arguments);
  Val follow_function(Object* function, Object* original, Arguments& a);
  Val left_by_decorator(const Object& function, Val gave, std::size_t at);
  Val remembered(Object* function, Object* original, const Val& most, Arguments& a);
  Val call_command(const Val& callee, bool plain, Arguments& arguments);
  void bind_parameters(const std::vector<Parameter>& parameters, Arguments& arguments, Object* function,
                       Object* locals);
  using YieldTo = std::function<void(Val)>;
  // Whose names are at hand, and where what it yields goes.
  struct Frame {
    Object* locals = nullptr;
    Object* function = nullptr;
    std::set<std::string> global_names = {};
    const YieldTo* yield_to = nullptr;
  };
  Frame turn_to_frame(Frame frame);
  // While it lives, `frame` is the one at hand; then it holds what became of it.
  class InFrame {
   public:
    InFrame(Follower& follower, Frame& frame)
        : follower_(follower), frame_(frame), outer_(follower.turn_to_frame(frame)) {}
    ~InFrame() { frame_ = follower_.turn_to_frame(std::move(outer_)); }
    InFrame(const InFrame&) = delete;
    InFrame& operator=(const InFrame&) = delete;

   private:
    Follower& follower_;
    Frame& frame_;
    Frame outer_;
  };
  Val body_value(Object* function, Object* locals, const YieldTo* yield_to = nullptr);
  Val generator(Object* function, Object* locals);
  void run_ahead(Object* function, Object* locals, Object* iterator);
  // What a generator reads beside its own names, as it was when it ran.
  struct Seen {
    std::vector<std::pair<const Object*, std::size_t>> objects = {};
    std::vector<std::pair<const Object*, std::pair<std::string, Val>>> names = {};
  };
  void see(const Val& v, Seen& out, int depth = 0) const;
  void see_names(const Object& function, const Object* scope, Seen& out, int depth = 0) const;
  [[nodiscard]] bool is_as_seen(const Seen& seen) const;
  void wait_for_others(Object* function, Object* locals, Object* iterator);
  Val instantiate(Object* type, Arguments& arguments);
  Val made_by_itself(const Val& self, const Val& maker, Arguments& a);
  static bool is_as_given(const Object* type, const std::string& field, const Val& v, int depth = 0);
  void dataclass_fields(Object* type, std::vector<std::pair<std::string, Val>>& out, int depth = 0);
  Val with_others(const Val& command, const Arguments& a, const std::string& to);
  bool started_in_container(Arguments& a, const std::string& to);
  Val call_unknown(const Val& callee, Arguments& arguments);
  void handed_over(const Val& v, const std::string& to, std::size_t at, int depth = 0);
  void lose(Object* object, const std::string& why, std::size_t at, const ShellText* key = nullptr);
  Val names_of(const Val& owner);
  void set_name(Object* owner, const std::string& name, Val value);
  std::optional<std::vector<Val>> items_of(const Val& v, std::size_t at);  // none: not known
  Val list_of(std::vector<Val> items, Val::Kind kind = Val::Kind::kList);
  Val iterator_of(std::vector<Val> items);
  Val iterator_of(NextItems next);
  NextItems each_of(std::vector<Val> items);
  Val iterator_over(const Val& v, std::size_t at);
  void give(Object* iterator, Val item);
  void give_lost(Object* iterator, std::size_t begin, std::size_t end);
  void take_step(Object* iterator);
  bool bring(Object* iterator);
  void bring_all(Object* iterator);
  std::optional<Val> pull(Object* iterator);
  void refresh(const Val& view);
  Val enumerated(const Arguments& a);
  Val zipped(const Arguments& a);
  Val mapped(const Arguments& a);
  Val filtered(const Arguments& a);
  Val backwards(const Val& v, std::size_t at);
  Val any_or_all(bool any, const Arguments& a);
  Val chained(const Val& parts, std::size_t at);
  std::optional<std::vector<Val>> members_of(Object* type, std::size_t at);
  Val next_of(Arguments& a);
  std::vector<Val> distinct(std::vector<Val> items);  // as a set has them
  Val native(const std::string& name);
  Val method(const std::string& name, const Val& self);
  Val instance(const std::string& name);
  Object* make();

  Val call_native(const std::string& name, const Object& callee, Arguments& a);
  std::optional<Val> builtin(const std::string& name, Arguments& a);
  std::optional<Val> builtin_of_items(const std::string& name, Arguments& a);
  std::optional<Val> conversion(const std::string& name, Arguments& a);
  std::optional<Val> type_question(const std::string& name, Arguments& a);
  std::optional<Val> with_keywords_unread(const std::string& name, const Arguments& a);
  Val split_as_shell(const Arguments& a);
  Val range(const Arguments& a);
  std::optional<Val> method_of_type(const std::string& name, Arguments& a);
  Val text_method(const std::string& name, const Val& self, Arguments& a);
  std::optional<Val> text_pieces(const std::string& name, const Val& self, Arguments& a);
  std::optional<Val> text_changed(const std::string& name, const Val& self, Arguments& a);
  Val padded(const std::string& name, const std::string& s, const Arguments& a);
  std::optional<Val> text_asked(const std::string& name, const Val& self, Arguments& a);
  Val joined(const Val& self, Arguments& a);
  Val format_call(const ShellText& format, Arguments& a);
  std::optional<ShellText> format_fields(const ShellText& format, std::size_t& next, Arguments& a, bool nests);
  std::optional<ShellText> format_field(const std::string& field, std::size_t& next, Arguments& a);
  std::optional<Val> field_value(std::string_view field, std::size_t& next, Arguments& a);
  Val list_method(const std::string& name, const Val& self, Arguments& a);
  Val place_or_count(bool place, const Val& self, const Arguments& a);
  Val iterator_method(const std::string& name, const Val& self, Arguments& a);
  Val dict_method(const std::string& name, const Val& self, Arguments& a);
  Val set_method(const std::string& name, const Val& self, Arguments& a);
  void update(Object* dict, const Val& more, std::size_t at);
  void environment_over(Object* dict, const Val& environment, std::size_t at);
  void set_entry(Object* dict, const Val& key, Val value, std::size_t at);
  Val* entry(Object* dict, const Val& key);
  [[nodiscard]] bool is_key(const Val& own, const Val& key) const;
  std::optional<Val> library(const std::string& name, const Object& callee, Arguments& a);
  std::optional<Val> library_constant(const std::string& name);
  std::optional<Val> paths(const std::string& name, Arguments& a);
  Val path_of(ShellText text);
  Val in_place_of(const Val& before, const std::string& made, std::size_t at);
  std::optional<Val> relative_path(const Val& path, const Arguments& a);
  std::optional<Val> path_method(const std::string& name, const Val& self, Arguments& a);
  std::optional<Val> json(const std::string& name, Arguments& a);
  struct JsonStyle {
    bool compact = false;
    bool sorted = false;
    bool any_letter = false;   // ensure_ascii=False
    std::int64_t indent = -1;  // none
  };
  std::optional<JsonStyle> json_style(const Arguments& a);
  bool json_text(const Val& v, const JsonStyle& style, ShellText& out, std::size_t at, int depth);
  bool json_items(const Val& v, const JsonStyle& style, ShellText& out, std::size_t at, int depth);
  std::optional<Val> regular(const std::string& name, Arguments& a);
  std::optional<Val> iteration(const std::string& name, Arguments& a);
  Val quoted_for_shell(const Val& v, std::size_t at);
  std::optional<Val> shell_words(const std::string& name, Arguments& a);
  std::optional<Val> copied(const std::string& name, Arguments& a);
  std::optional<Val> deep_copy(const Val& v, std::map<const Object*, Object*>& made, int depth = 0);
  std::optional<Val> template_call(const std::string& name, const Object& callee, Arguments& a);
  std::optional<Val> rounded(const std::string& name, const Arguments& a);
  std::optional<Val> builtin_number(const std::string& name, const Arguments& a);
  std::optional<Val> in_base(const Arguments& a);
  Val named_tuple(const Arguments& a);
  static bool is_named_tuple(const Val& v);
  std::optional<Val> named_tuple_method(const std::string& name, const Object& callee, Arguments& a);
  std::optional<Val> signals(const std::string& name, Arguments& a);
  std::optional<Val> at_exit(const std::string& name, Arguments& a);
  void run_at_exit();
  void bring_parents(Object* parser, const Val& parents, const Arguments& a);
  Val given_more(const Val& function);
  std::optional<Val> partial(const std::string& name, Arguments& a);
  std::optional<Val> asynchronous(const std::string& name, Arguments& a);
  Val coroutine(Object* function, Object* locals);
  Val awaited(const Val& v, std::size_t at);
  Val gathered(const Arguments& a);
  void schedule(const Val& v);
  void run_tasks();
  std::optional<Val> dataclass_call(const std::string& name, Arguments& a);
  Val as_dictionary(const Val& object, std::size_t at, int depth = 0);
  [[nodiscard]] bool is_handed_on(const Object* type, const std::string& field) const;
  Val field_of_dictionary(const Val& v, std::size_t at, int depth);
  std::optional<Val> container_call(const std::string& name, Arguments& a);
  std::optional<Val> dedented(const std::string& name, Arguments& a);
  std::optional<Val> path_call(const std::string& name, Arguments& a);
  std::optional<Val> environment_call(const std::string& name, Arguments& a);
  using Keywords = std::vector<std::pair<std::string, Val>>;
  std::optional<Val> ray_variables(const Keywords& keys, std::size_t at);
  void give_ray_variables(const Object* to, const Keywords& keys, std::size_t at);
  Val ray_options(const Val& of, const Arguments& a);
  Val in_worker(const Object* of, const std::function<Val()>& run, std::size_t at);
  std::optional<Val> ray(const std::string& name, const Object& callee, Arguments& a);
  std::optional<Val> workers(const std::string& name, const Object& callee, Arguments& a);
  Val worker(const std::string& name, const Arguments& a);
  Val started_by(const Val& run, const Object& type);
  void run_worker(const Object& worker, const Arguments& a);
  void run_apart(const Val& function, Arguments& a);
  [[nodiscard]] Arguments arguments_in(const Val* args, const Val* keys, const Arguments& a);
  Val replaced(const Val& object, Arguments& a);
  Val fields_of(const Val& object, std::size_t at);
  Val run_as_command(const Val& function, const Arguments& a, bool of_typer = false);
  Val as_typer_reads(const Parameter& one, const Val& given, std::size_t at);
  std::optional<Val> map_of_pool(bool spreads, bool own, Arguments& a);
  std::optional<Val> pool_call(const std::string& name, const Object& pool, Arguments& a);
  Val in_process(bool own, const std::function<Val()>& run);
  Val copy_of_what(const std::function<Val()>& run, const std::function<void()>& put_back);
  Val in_spawned(const std::function<Val()>& run);
  void take_start_method(const Arguments& a);
  void copy_arguments(Arguments& a);

  // --- what Python refuses (refusals.cpp) ---
  // Of `keys` of functions and classes: no argument has such a name.
  static constexpr const char* kMaySet = "= may be set";  // a property
  static constexpr const char* kSetter = "= setter";
  static constexpr const char* kAbstract = "= abstract";  // a method; a class that may have some
  static constexpr const char* kFrozen = "= frozen";      // a dataclass, and so on
  static constexpr const char* kSlots = "= slots";
  static constexpr const char* kKeywordOnly = "= kw_only";  // a class; with a name behind it, a field
  static constexpr const char* kFieldType = "= type";       // with the name of a field behind it
  static constexpr const char* kHandsOn = "= InitVar";      // __post_init__ is handed some
  static constexpr const char* kInLine = "= in line";       // its bases are all the classes among which is sought
  static constexpr const char* kBehindKeywordOnly = "= behind KW_ONLY";
  static constexpr const char* kOwnArguments = "the arguments that the program is given are not known here";
  static constexpr const char* kNoHelp = "= no help";        // of a parser
  static constexpr const char* kNoConflicts = "= resolves";  // the last of two options of a name holds
  static constexpr const char* kNeedsOne = "= needs one";    // of a group, or a subcommand
  void take_dataclass_options(Object* type, const Object& decorator, std::size_t at);
  void refuse_fields(Object* type, std::size_t at);
  [[nodiscard]] static bool is_keyword_only(const Object* type, const std::string& field, int depth = 0);
  std::optional<Val> with_setter(const Expr& decorator, const Val& function);
  [[nodiscard]] static const Val* property_setter(const Val& member);
  [[nodiscard]] static bool is_frozen(const Object* type, const std::string& name, int depth = 0);
  [[nodiscard]] std::optional<std::set<std::string>> slots_of(const Object* type, int depth = 0) const;
  [[nodiscard]] const char* refused_attribute(const Val& base, const std::string& name) const;
  [[nodiscard]] bool is_abstract(const Object* type) const;
  void refuse_keywords(const std::string& name, const Arguments& a);
  void may_fail(const std::string& name, const Object& callee, const Arguments& a);
  void refuse_option(const Object& parser, const Arguments& a, bool positional);
  void may_lack_options(const Object& parser, bool sure, std::size_t at);

  // --- command lines (options.cpp) ---
  std::optional<Val> command_line(const std::string& name, Arguments& a);
  std::optional<Val> parser_call(const std::string& name, const Object& callee, Arguments& a);
  Val option_record(const std::string& name, const Arguments& a);
  std::vector<Val> started_with();
  const Object* named_option(const Object& parser, const std::string& flag) const;
  std::optional<Val> taken_words(const Object& record, const std::vector<Val>& words, std::size_t& i, std::size_t at);
  struct WordsRead {
    const Object& parser;
    std::size_t at;              // the call
    std::size_t next = 0;        // of the words
    std::size_t positional = 0;  // so many are read
    bool behind_option = false;  // and its values
    bool alone = true;           // what the parser does not know ends the program
    std::map<std::string, Val> values = {};
  };
  Val converted(const Val& type, const Val& word, std::size_t at);
  void refuse_flag(const std::string& flag, const WordsRead& read);
  void refuse_lack(const WordsRead& read);
  bool read_joined(const Object* record, const ShellText& value, WordsRead& read);
  bool read_word(const std::vector<Val>& given, WordsRead& read);
  Val options_read(Object* parser, bool alone, Arguments& a);
  bool read_words(const std::vector<Val>& given, WordsRead& read);
  void take_values(Object& options, const std::map<std::string, Val>& values) const;
  Val subcommand(Object& all, Arguments& a);
  bool read_subcommand(const Object& all, const std::vector<Val>& given, WordsRead& read);
  Val click_default(const Object& option, const std::string& name, std::size_t at);
  Val as_click_reads(const Val& given, std::string_view type, const Val& not_known, std::size_t at);
  void set_default(Object* parser, const std::string& name, const Val& v, std::size_t at);
  void take_click_option(Object* function, const Object& option, std::size_t at);
  static bool is_command(const Object& function);
  void add_option(Object* parser, Arguments& a);
  Val parsed_options(Object* parser);
  Val servers_words(const Object* parser, const Val* given, std::size_t at);
  std::vector<Val> own_arguments(std::size_t at);
  [[nodiscard]] bool changed_arguments() const;
  Val option_default(Arguments& a, bool positional, const std::string& name);

  // --- files (files.cpp) ---
  static const ShellText* path_text(const Val& v);
  void note_written(const Val& v, int depth = 0);
  std::string place_of(const Val& v, std::size_t at);
  std::optional<std::string> file_text(const Val& v, std::size_t at);
  Val value_of_json(const Value& v, std::size_t at, std::string_view none_is = {});
  Val value_of_yaml(const python::YamlObject& v, std::size_t at, int depth);
  std::optional<Val> parsed(const std::string& text, std::string_view language, std::size_t at);
  std::optional<Val> loaded(const std::string& name, Arguments& a);
  Val opened(const Val& path, const Val* mode);
  void may_not_be_there(const Val& path, std::size_t at);
  std::optional<Val> is_there(const Val& path, std::string_view kind, std::size_t at);
  std::optional<Val> file_call(const std::string& name, Arguments& a);
  std::optional<Val> file_method(const std::string& name, const Val& self, Arguments& a);

  // --- launches (starts.cpp) ---
  std::optional<Val> start(const std::string& name, Arguments& a);
  std::optional<Val> start_process(const std::string& name, Arguments& a);
  void start_popen(const Val& args, bool in_shell, Arguments& a);
  void may_go_on_behind(const Val& words, std::size_t at);
  [[nodiscard]] static bool is_everywhere(std::string_view program);
  Val process_of(const std::string& name, const Val& args, bool in_shell, const Arguments& a);
  void start_input(const Val& args, const Val& input, Arguments& a);
  Val list_aside(std::vector<Val> items, Val::Kind kind = Val::Kind::kList);
  Val run_by(const Val& program, std::vector<Val> words);
  std::optional<Val> start_by_words(const std::string& name, Arguments& a);
  std::optional<Val> start_pexpect(const std::string& name, Arguments& a);
  static constexpr const char* kShCommand = "sh.command";  // that the library sh made
  std::vector<Val> words_of_sh(const Arguments& a, std::string& changed);
  std::optional<Val> start_sh(const std::string& name, const Object& callee, Arguments& a);
  std::optional<Val> run_module(const std::string& name, Arguments& a);
  [[nodiscard]] static bool is_sglangs(std::string_view name);
  [[nodiscard]] static bool runs_a_text(std::string_view name);
  bool start_unknown(const std::string& name, Arguments& a);
  void tell_beside(std::size_t found, bool goes_on);
  static bool leaves_servers(std::string_view name);
  void start_shell(const Val& text, Arguments& a);
  void start_split(const std::string& name, const Val& text, Arguments& a);
  void add_page_words(std::size_t at, std::vector<ShellWord>& words, RunContext& where);
  void start_words(const Val& words, Arguments& a, std::size_t drop = 0);
  std::optional<Val> text_of_member(const Val& v);
  void add_word(const Val& v, std::vector<ShellWord>& out, RunContext& context, bool texts_alone);
  [[nodiscard]] ShellWord word(const ShellText& text, const Val& v, std::size_t at) const;
  RunContext context(Arguments& a);
  void environment(const Val& dict, RunContext& context, bool inherits_program);
  [[nodiscard]] bool names_server(const Val& v, int depth = 0) const;
  void left_lists();

  // --- SGLang's own calls (server_args.cpp) ---
  static constexpr const char* kServersWords = "the server's words";  // of ServerArgs, and of what a parser read
  struct MadeArgs {
    Object* object;
    Arguments call;                      // but for its keywords, which the object holds
    std::optional<RunContext> where;     // none: no launch by itself
    std::optional<Content> handed = {};  // as it was before something unknown got it
    bool started = false;
    bool asked = false;  // for one of its fields, or for a copy of all
  };
  std::optional<Val> start_server(const std::string& name, Arguments& a);
  void engine(Arguments& a);
  void test_server(Arguments& a);
  void tell_other_server(const std::string& what, const Arguments& a);
  void keyword_arguments(const Arguments& a, RunContext where);
  [[nodiscard]] std::size_t keyword_place(const std::string& name, const Val& v, std::size_t call) const;
  void option(const std::string& name, const Val& v, std::size_t at, std::vector<ShellWord>& words,
              RunContext& context);
  Val server_args(const Arguments& a);
  Val prepared(const Val& words, const Arguments& a);
  Val prepared_of_options(const Val& options, const Arguments& a);
  MadeArgs* made_args(const Val& v);
  std::optional<Val> field_of_server_args(const Val& v, std::string_view name);
  const Val* spread_server_args(const Arguments& a);
  std::optional<Val> copied_args(const Val& v, const Arguments& changes);
  std::optional<Val> server_args_call(const std::string& name, const Object& callee, Arguments& a);
  void tell_late(const std::string& name, const Val& v, const Arguments& a, RunContext& where) const;
  void start_made(const MadeArgs& made, const Content& content, RunContext where);
  void start_prepared(Arguments& a);
  void start_arguments(const Val& all, const Arguments& a, RunContext where);
  void hand_args(const Val& v);
  void left_server_args();

  // --- IPython (ipython.cpp) ---
  struct LineField {
    ShellText expression;
    char conversion = '\0';
    bool braces = false;  // {NAME}, not $NAME
  };
  struct LinePart {
    ShellText text;
    std::optional<LineField> field = {};  // behind it
  };
  std::optional<Val> ipython(const std::string& name, Arguments& a);
  void line_magic(const std::string& magic, const ShellText& line, std::size_t at);
  void cell_magic(const std::string& magic, const ShellText& line, const Val& cell, Arguments& a);
  ShellText filled_line(const ShellText& line);
  static std::optional<std::vector<LinePart>> line_parts(const ShellText& line);
  static std::optional<LineField> line_field(const ShellText& line, std::size_t open, std::size_t close);
  static void dollar_fields(const ShellText& literal, std::vector<LinePart>& out);
  std::optional<ShellText> field_text(const LineField& field, bool& unset);
  [[nodiscard]] std::optional<Val> bound(const std::string& name) const;

  // --- what is known of everything ---
  [[nodiscard]] std::size_t line(std::size_t at) const {
    return static_cast<std::size_t>(source_.line != nullptr ? (*source_.line)(at) : finder_.place(at).line);
  }
  // One budget for all that a program does, makes and holds: whoever goes through something spends on it.
  void spend(std::size_t steps) const;
  void spend_bytes(std::size_t bytes) const { spend(bytes / limits::kStepBytes + 1); }
  void spend_items(const std::vector<Val>& items) const { spend_bytes(items.size() * kLookedAt); }
  void spend_text(std::size_t size) const { spend_bytes(size * kTextBytes); }
  void add(ShellText& to, const ShellText& more) const;  // what is made of texts is paid for as it grows
  std::size_t find(const std::string& text, const std::string& part, std::size_t from = 0) const;
  static constexpr std::size_t kTextBytes = 1 + sizeof(std::size_t);  // a letter and its place
  static constexpr std::size_t kLookedAt = 8;                         // an item that is only looked at
  // Stands around what may be inside of itself without end.
  class Deeper {
   public:
    explicit Deeper(const Follower& follower) : follower_(follower) {
      const bool fits = follower_.stack_ - std::min(follower_.stack_, stack_place()) < stack_room();
      if (follower_.levels_ >= limits::kProgramLevels || !fits) throw Exhausted{};
      ++follower_.levels_;
    }
    ~Deeper() { --follower_.levels_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    const Follower& follower_;
  };

  const SourceText& source_;
  LaunchFinder& finder_;
  const Program& program_;
  std::string doubt_;
  std::vector<std::unique_ptr<Object>> objects_;
  std::vector<State*> alive_;  // the oldest first
  std::vector<StatePtr> held_;
  Object* globals_ = nullptr;
  Object* locals_ = nullptr;
  Object* function_ = nullptr;
  std::set<std::string> global_names_;
  Object* environ_ = nullptr;
  std::vector<Condition> conditions_;
  static constexpr std::size_t kMostEndings = 3;  // told of a launch
  std::vector<Condition> endings_;                // what may have ended the program before
  // Variables that Ray's workers find: of the job; by functions, classes and their instances.
  std::vector<Val> of_ray_job_;
  std::map<const Object*, std::vector<Val>> ray_variables_;
  std::vector<Left> pending_;                // what calls of the statement at hand may have raised
  std::vector<Object*> functions_;           // all of them, in their order
  std::vector<Object*>* reached_ = nullptr;  // where functions go that are called for the first time
  std::vector<Object*> classes_;
  std::vector<std::pair<Object*, std::size_t>> named_lists_;  // that name a server, and where
  std::set<Object*> used_;                                    // of them
  std::vector<MadeArgs> made_;                                // in their order
  std::set<std::size_t> started_at_;                          // where those of them that a server was given were made
  std::set<std::string> once_;
  struct AtExit {
    Val function;
    Arguments arguments;
    std::vector<Condition> conditions;
  };
  std::vector<AtExit> at_exit_;  // atexit.register, in their order
  std::deque<Program> fields_;   // of lines of IPython: what is followed points into them
  const YieldTo* yield_to_ = nullptr;
  std::size_t changes_ = 0;       // of all objects, so far
  bool to_the_end_ = false;       // an iterator is gone through without anything between its items
  std::vector<Condition> ahead_;  // generators that ran further than they are asked for
  std::map<const Stmt*, std::set<std::string>> local_names_;  // of functions
  int quiet_ = 0;                                             // nothing is recorded
  int tries_ = 0;                                             // around what is followed
  int calls_ = 0;                                             // inside each other
  int forever_ = 0;                                           // loops without a test
  int apart_ = 0;                                             // threads around what is followed
  std::size_t stops_ = 0;                          // calls that may have ended, or waited for, what runs beside this
  std::map<std::size_t, std::size_t> together_{};  // numbers of launches, by the stops in front of them
  std::size_t ended_at_ = 0;
  std::string image_;       // of the container that is started
  TakenDefaults defaults_;  // so far
  bool nothing_given_;
  bool asks_for_empty_ = false;
  bool whole_ = false;  // a program as it runs: what it does not set is not set
  const ProgramStart* start_;
  std::set<std::string> written_files_;  // names of files that the program may have written
  bool moved_ = false;                   // os.chdir
  StatePtr as_imported_ = nullptr;       // as the program is where its main part begins; null: it has none
  bool spawns_ = false;                  // processes begin as the program is then, but for their environment
  std::size_t doubts_ = 0;               // what may have failed so far
  struct MayRaise {
    std::string what;  // name of the exception
    std::size_t at;
  };
  std::vector<MayRaise> missing_;  // what may be raised of what is not there, within the tries that are followed
  mutable std::size_t steps_ = limits::kProgramSteps;
  mutable int levels_ = 0;
  std::uintptr_t stack_ = stack_place();  // where it began
  std::optional<Error> error_;
};

}  // namespace preflight::sources::program
