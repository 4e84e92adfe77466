// Tested by tests/python_resolver_test.cpp with a stand-in interpreter.
#include "src/resolve/peer/python_resolver.h"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "src/base/child_process.h"
#include "src/base/counted.h"
#include "src/base/embedded.h"
#include "src/resolve/core/parsed_launch.h"
#include "src/resolve/core/refusal_sites.h"
#include "src/resolve/core/resolution.h"

namespace preflight::resolve {
namespace {

std::string_view script() {
  for (const auto& file : embedded::python_resolver()) {
    if (file.name == "ask_sglang.py") return file.text;
  }
  return {};
}

constexpr std::string_view kOtherUsage = "other";  // what the parser refuses in words of its own

// Runs `interpreter -c SCRIPT` with `input` on its standard input: the line it answers, or why there is none.
Result<std::string> run_script(const std::string& interpreter, const std::string& input, int timeout_seconds) {
  auto child = ChildProcess::start(interpreter, {"-c", std::string(script())}, input);
  if (!child) return failure("cannot run this interpreter", interpreter);
  std::string line;
  const auto next = child->next_line(line, std::chrono::seconds(timeout_seconds));
  if (next == ChildProcess::Next::kTimeout) {
    return failure(fmt::format("SGLang did not answer within {}", counted(timeout_seconds, "second")), interpreter);
  }
  const int status = child->finish();
  if (next == ChildProcess::Next::kLine) return line;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return failure("cannot run this interpreter", interpreter);
  const std::string& log = child->log();
  const std::string last = log.empty() ? log : fmt::format(" ({})", log.substr(log.rfind('\n') + 1));
  return failure(fmt::format("the interpreter gave no answer: {}{}", describe_end(status), last), interpreter);
}

Result<Value> read_answer(const std::string& interpreter, std::string_view line) {
  auto value = Value::parse_json(line);
  if (!value || !value->is_dict()) return failure("SGLang's answer could not be read", interpreter);
  if (const Value* error = value->find("error"); error != nullptr && error->is_string()) {
    return failure(error->as_string(), interpreter);
  }
  return value;
}

Value request(const std::vector<std::string>& argv, const DeviceFacts& device, const Environment& env) {
  Value::List words;
  for (const auto& a : argv) words.emplace_back(a);
  Value::Dict variables;
  for (const auto& [name, value] : env) variables.emplace_back(name, value);
  return Value::dict({{"argv", Value::list(std::move(words))},
                      {"env", Value::dict(std::move(variables))},
                      {"device", Value::dict({{"memory_mib", device.memory_mib},
                                              {"count", device.count},
                                              {"name", device.name},
                                              {"has_fp64", device.has_fp64}})}});
}

std::string text_of(const Value& answer, std::string_view key) {
  const Value* v = answer.find(key);
  return v != nullptr && v->is_string() ? v->as_string() : std::string();
}

Stage stage_of(const std::string& word) {
  if (word == "parse") return Stage::kParse;
  return word == "resolve" ? Stage::kResolve : Stage::kCheck;
}

// A name that came from outside, kept as long as the names in our own steps: they are few.
std::string_view kept(const std::string& step) {
  static std::set<std::string> steps;
  static std::mutex guard;
  const std::lock_guard lock(guard);
  return *steps.insert(step).first;
}

class Reader {
 public:
  Reader(const Value& answer, PythonAnswer& out) : answer_(answer), out_(out) {}

  void read() {
    Launch& launch = out_.launch;
    const std::string word = text_of(answer_, "outcome");
    launch.stage = stage_of(text_of(answer_, "stage"));
    read_log();
    if (word != "ok") launch.resolved = {};  // a refusal tells no values
    if (word == "usage") {
      launch.outcome = Outcome::kUsage;
      const std::string kind = text_of(answer_, "kind");
      launch.usage = UsageError{kind.empty() ? std::string(kOtherUsage) : kind,
                                text_of(answer_, "flag"),
                                text_of(answer_, "message"),
                                {},
                                {}};
    } else if (word == "error") {
      Refusal r{text_of(answer_, "exception"), text_of(answer_, "function"), text_of(answer_, "message")};
      r.rule = id_of(rule_of_refusal(r.exception, r.function, r.message));
      refuse_launch(launch, std::move(r));
    } else {
      launch.stage = Stage::kCheck;
      if (const Value* resolved = answer_.find("resolved"); resolved != nullptr && resolved->is_dict()) {
        for (const auto& [name, value] : resolved->as_dict()) set(name, value);
      }
      if (const Value* defaults = answer_.find("defaults"); defaults != nullptr && defaults->is_dict()) {
        for (const auto& [name, value] : defaults->as_dict()) {
          if (const auto field = find_field(name)) out_.defaults.emplace_back(*field, value);
        }
      }
      read_writes();
      read_trace();
    }
  }

 private:
  void read_log() {
    const Value* lines = answer_.find("warnings");
    if (lines == nullptr || !lines->is_list()) return;
    for (const auto& line : lines->as_list()) {
      if (!line.is_list() || line.as_list().size() < 3) continue;
      const auto& l = line.as_list();
      if (l[0].is_string() && l[1].is_string() && l[2].is_string()) {
        out_.launch.log.push_back({l[0].as_string(), l[1].as_string(), l[2].as_string()});
      }
    }
  }

  void set(const std::string& name, const Value& value) {
    if (const auto field = find_field(name)) {
      out_.launch.resolved.set(*field, value);
    } else {
      out_.unknown_fields.push_back(name);
    }
  }

  void read_writes() {
    const Value* rows = answer_.find("writes");
    if (rows == nullptr || !rows->is_list()) return;
    for (const auto& row : rows->as_list()) {
      if (!row.is_list() || row.as_list().size() != 3) continue;
      const auto& r = row.as_list();
      const auto field = r[1].is_string() ? find_field(r[1].as_string()) : std::nullopt;
      if (field && r[0].is_string()) out_.launch.chain.push_back({kept(r[0].as_string()), {{*field, r[2]}}, true});
    }
  }

  void read_trace() {
    const Value* rows = answer_.find("trace");
    if (rows == nullptr || !rows->is_list()) return;
    for (const auto& row : rows->as_list()) {
      if (!row.is_list() || row.as_list().size() != 2 || !row.as_list()[1].is_dict()) continue;
      Change change;
      if (row.as_list()[0].is_string()) change.step = kept(row.as_list()[0].as_string());
      for (const auto& [name, value] : row.as_list()[1].as_dict()) {
        if (const auto field = find_field(name)) change.fields.push_back({*field, value});
      }
      out_.launch.chain.push_back(std::move(change));
    }
  }

  const Value& answer_;
  PythonAnswer& out_;
};

std::string which_usage(const UsageError& usage) {
  return usage.kind == kOtherUsage ? "" : fmt::format(" ({}: {})", usage.kind, usage.flag);
}

std::string outcome_text(const Launch& launch) {
  if (launch.outcome == Outcome::kUsage) return "refused by the argument parser" + which_usage(*launch.usage);
  if (launch.refusal) {
    return fmt::format("{} in {}, {}", launch.refusal->exception, launch.refusal->function,
                       launch.stage == Stage::kParse     ? "parsing"
                       : launch.stage == Stage::kResolve ? "resolving"
                                                         : "checking");
  }
  return "accepted";
}

// Not the fields that every launch draws anew.
bool is_compared(Field f, Release release) {
  return field_exists(f, release) && f != Field::random_seed && f != Field::nccl_port;
}

std::string logged(const Launch& launch) {
  std::string text;
  for (const LogLine& line : launch.log) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", line.level, line.function);
  }
  return text;
}

// The chain of changes, a line each: assignments, then declarations, since SGLang keeps these apart and nothing tells
// how they follow each other. Values drawn anew by every launch are left out.
std::vector<std::string> steps_of(const Launch& launch) {
  std::vector<std::string> steps;
  std::vector<Change> chain = launch.chain;
  std::stable_partition(chain.begin(), chain.end(), [](const Change& change) { return change.assigned; });
  for (const Change& change : chain) {
    std::string text(change.step);
    bool drawn = change.assigned;
    for (const auto& [field, value] : change.fields) {
      if (field == Field::random_seed || field == Field::nccl_port) continue;
      drawn = false;
      text += fmt::format(" {}={}", field_name(field), value.repr());
    }
    if (!drawn) steps.push_back(std::move(text));
  }
  return steps;
}

}  // namespace

Result<PythonAnswer> ask_python(const std::string& interpreter, Release known, const std::vector<std::string>& argv,
                                const DeviceFacts& device, const Environment& env, int timeout_seconds) {
  const auto text = run_script(interpreter, request(argv, device, env).json(), timeout_seconds);
  if (!text) return tl::make_unexpected(text.error());
  const auto answer = read_answer(interpreter, *text);
  if (!answer) return tl::make_unexpected(answer.error());
  const std::string outcome = text_of(*answer, "outcome");
  if (outcome != "ok" && outcome != "usage" && outcome != "error")
    return failure("SGLang's answer could not be read", interpreter);
  PythonAnswer out;
  out.release = text_of(*answer, "release");
  out.launch.args.release = known;
  out.launch.device = device;
  out.launch.env = env;
  out.launch.resolved = LaunchFields(known);
  out.launch.args.raw = out.launch.resolved;
  Reader(*answer, out).read();
  return out;
}

Result<std::string> python_release(const std::string& interpreter) {
  const auto text = run_script(interpreter, R"({"release_only": true})", 60);
  if (!text) return tl::make_unexpected(text.error());
  const auto answer = read_answer(interpreter, *text);
  if (!answer) return tl::make_unexpected(answer.error());
  return text_of(*answer, "release");
}

void attach_model(Launch& launch, facts::ModelSource& models) {
  const std::size_t lines = launch.log.size();
  try {
    Resolution(launch, models).model();
  } catch (const RefusedByStep&) {
    launch.model.reset();
    launch.refused_by_model = false;
  }
  launch.log.resize(lines);  // the interpreter's own log already has these
}

std::vector<std::string> differences(const Launch& ours, const Launch& theirs) {
  std::vector<std::string> out;
  const auto is_vague = [](const Launch& launch) { return launch.usage && launch.usage->kind == kOtherUsage; };
  const bool tells_less = is_vague(ours) || is_vague(theirs);  // a sentence that is no usual one of a parser
  if (ours.outcome != theirs.outcome || (!tells_less && outcome_text(ours) != outcome_text(theirs))) {
    out.push_back(fmt::format("outcome: builtin {}, python {}", outcome_text(ours), outcome_text(theirs)));
    return out;
  }
  if (logged(ours) != logged(theirs)) {
    out.push_back(fmt::format("warnings: builtin [{}], python [{}]", logged(ours), logged(theirs)));
  }
  if (!ours.accepted()) return out;
  for (const Field f : fields_of(ours.release())) {
    if (!is_compared(f, ours.release())) continue;
    if (ours[f] != theirs[f]) {
      out.push_back(fmt::format("{}: builtin {}, python {}", field_name(f), ours[f].repr(), theirs[f].repr()));
    }
  }
  const auto our_steps = steps_of(ours);
  const auto their_steps = steps_of(theirs);
  const auto [a, b] = std::ranges::mismatch(our_steps, their_steps);
  if (a != our_steps.end() || b != their_steps.end()) {
    const auto text = [](auto at, const auto& all) { return at == all.end() ? std::string("nothing") : *at; };
    out.push_back(fmt::format("chain, step {}: builtin {}, python {}", a - our_steps.begin() + 1, text(a, our_steps),
                              text(b, their_steps)));
  }
  return out;
}

std::string agreement(const Launch& launch) {
  if (launch.outcome == Outcome::kUsage)
    return "both refuse the launch in the argument parser" + which_usage(*launch.usage);
  const std::string warnings = counted(launch.log.size(), "warning");
  if (!launch.accepted()) return fmt::format("both refuse it, {}, after {}", outcome_text(launch), warnings);
  std::size_t fields = 0;
  for (std::size_t i = 0; i < kFieldCount; ++i) fields += is_compared(static_cast<Field>(i), launch.release()) ? 1 : 0;
  return fmt::format("both accept it; {}, {} and {} are the same", counted(fields, "field"), warnings,
                     counted(steps_of(launch).size(), "change"));
}

}  // namespace preflight::resolve
