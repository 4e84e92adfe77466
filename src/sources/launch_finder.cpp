// Tested by tests/launch_command_test.cpp and tests/sources_test.cpp.
#include "src/sources/launch_finder.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "src/base/characters.h"
#include "src/base/limits.h"
#include "src/facts/launch_variables.h"
#include "src/sources/assigned_values.h"
#include "src/sources/container_command.h"
#include "src/sources/container_host.h"
#include "src/sources/file_steps.h"
#include "src/sources/gnu_parallel.h"
#include "src/sources/image_tag.h"
#include "src/sources/mentions.h"
#include "src/sources/placeholders.h"
#include "src/sources/programs.h"
#include "src/sources/readers/readers.h"
#include "src/sources/readers/started_program.h"
#include "src/sources/readers/variable_file.h"
#include "src/sources/slurm_job.h"
#include "src/sources/shell/bash_only.h"
#include "src/sources/shell/script_word.h"
#include "src/sources/unread_starts.h"
#include "src/sources/xargs.h"

namespace preflight::sources {
namespace {

// {{ name }} of a template that was not rendered, "" where there is none. No JSON text has two braces in a row.
std::string template_in(const std::string& text) {
  const auto open = text.find("{{");
  if (open == std::string::npos) return {};
  const auto close = text.find("}}", open);
  return close == std::string::npos ? "{{ … }}" : text.substr(open, close + 2 - open);
}

// $1, $2, … of a script: the words from here on.
void start_with(const std::vector<ShellWord>& words, std::size_t first, RunContext& context) {
  first = std::min(first, words.size());
  const auto begin = words.begin() + static_cast<std::ptrdiff_t>(first);
  context.arguments.assign(begin, words.end());
  context.arguments_known = true;
  const auto open = std::find_if(begin, words.end(), [](const ShellWord& word) { return word.several; });
  context.sure_arguments = open == words.end() ? std::string::npos : static_cast<std::size_t>(open - begin);
}

// Where $1, $2, … of a script begin that a shell reads from its input: `bash -s -- ARGUMENT…`.
std::size_t input_arguments(const std::vector<ShellWord>& words, std::size_t shell) {
  std::size_t i = shell + 1;
  for (; i < words.size() && words[i].text.starts_with('-'); ++i) {
    if (words[i].text == "--" || words[i].text == "-") {
      ++i;
      break;
    }
    if (words[i].text.ends_with('o')) ++i;  // -o pipefail
  }
  return i;
}

// What prints its options or its version starts nothing.
bool only_asks(const std::vector<ShellWord>& words, std::size_t first) {
  return std::any_of(words.begin() + static_cast<std::ptrdiff_t>(first), words.end(), [](const ShellWord& word) {
    return word.text == "--help" || word.text == "-h" || word.text == "--version";
  });
}

// An interpreter of Python without a file, -m or -c: its program comes from its input. Where its arguments begin.
std::optional<std::size_t> reads_program(const std::vector<ShellWord>& words, std::size_t at) {
  if (!base_name(words[at].text).starts_with("python")) return std::nullopt;
  const std::size_t next = behind_python_options(words, at);
  if (next >= words.size()) return only_asks(words, at) ? std::nullopt : std::optional(next);
  return words[next].text == "-" ? std::optional(next + 1) : std::nullopt;
}

// kubectl and docker compose, told to read their objects from their input.
bool reads_manifest(const std::vector<ShellWord>& words, std::size_t at) {
  const std::string_view name = base_name(words[at].text);
  const bool kubectl = name == "kubectl" || name == "oc" || name == "k3s" || name == "microk8s" || name == "minikube";
  bool verb = name == "docker-compose" || name == "podman-compose";
  const bool plays = name == "podman" && words.back().text == "-" &&
                     std::any_of(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(),
                                 [](const ShellWord& w) { return w.text == "play"; });
  if (plays) return true;
  bool from_input = false;
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    verb = verb || (kubectl ? w == "apply" || w == "create" || w == "replace"
                            : is_container_tool(words[at].text) && (w == "compose" || w == "stack"));
    const bool names_file = w == "-f" || w == "--filename" || w == "--file" || w == "-c" || w == "--compose-file";
    from_input = from_input || (names_file && i + 1 < words.size() && words[i + 1].text == "-") || w == "-f-" ||
                 w == "--filename=-" || w == "--file=-";
  }
  return verb && from_input;
}

// Index of the program in the words of `python -c TEXT`, where it has to do with SGLang.
std::optional<std::size_t> program_among(const std::vector<ShellWord>& words, std::size_t at) {
  if (!base_name(words[at].text).starts_with("python")) return std::nullopt;
  const std::size_t i = behind_python_options(words, at);
  if (i + 1 >= words.size() || !words[i].text.starts_with('-') || words[i].text.back() != 'c') return std::nullopt;
  return words[i + 1].text.find("sglang") == std::string::npos ? std::nullopt : std::optional(i + 1);
}

// A script of a shell that was given functions.
ShellText behind_functions(const std::vector<ShellText>& functions, const ShellText& script) {
  ShellText out;
  for (const ShellText& function : functions) {
    append(out, function);
    append(out, {"\n", {function.origin.empty() ? 0 : function.origin.back()}, {}});
  }
  ShellText placed = script;
  for (std::size_t i = 0; script.origin.empty() && i < script.text.size(); ++i) placed.origin.push_back(i);
  append(out, placed);
  return out;
}

// A benchmark of a server that runs elsewhere.
bool only_connects(const std::vector<ShellWord>& words, const ServerWords& server) {
  if (server.own == nullptr || server.own->connecting.empty()) return false;
  const std::string_view option = server.own->connecting;
  return std::any_of(
      words.begin() + static_cast<std::ptrdiff_t>(server.first), words.end(),
      [&](const ShellWord& word) { return word.text == option || word.text.starts_with(std::string(option) + "="); });
}

// `sglang.launch_server --model-path …`, without what runs a module.
bool is_module_name(const ShellWord& program) {
  return program.unknowns.empty() && (program.text == "sglang.launch_server" || program.text == "sglang.srt.server" ||
                                      program.text.starts_with("sglang.bench_"));
}

// Programs that take a script from their input.
bool reads_script(std::string_view program) {
  const std::string_view name = base_name(program);
  return name == "ssh" || name == "sbatch" || name == "at" || name == "batch";
}

// The image of `srun --container-image=IMAGE` and `kubectl run --image IMAGE`.
std::optional<std::string> image_option(const std::vector<ShellWord>& words, std::size_t i) {
  const ShellWord& word = words[i];
  for (const std::string option : {"--container-image", "--image"}) {
    const bool apart = word.text == option && i + 1 < words.size();
    if (apart && words[i + 1].unknowns.empty()) return words[i + 1].text;
    if (word.text.starts_with(option + "=") && word.unknowns.empty()) return word.text.substr(option.size() + 1);
  }
  return std::nullopt;
}

// The programs of one job, each behind the launcher: `mpirun -np 1 A : -np 1 B`, `srun -n1 A : -n1 B`.
std::vector<std::vector<ShellWord>> programs_of_one_job(const std::vector<ShellWord>& words, std::size_t at) {
  const std::string_view name = base_name(words[at].text);
  std::vector<std::vector<ShellWord>> out;
  if (name != "srun" && name != "mpirun" && name != "mpiexec" && name != "mpiexec.hydra" && name != "orterun")
    return out;
  const auto colon = [](const ShellWord& word) { return word.text == ":" && word.unknowns.empty(); };
  auto from = words.begin() + static_cast<std::ptrdiff_t>(at) + 1;
  if (std::none_of(from, words.end(), colon)) return out;
  for (;;) {
    const auto to = std::find_if(from, words.end(), colon);
    out.emplace_back(1, words[at]).insert(out.back().end(), from, to);
    if (to == words.end()) return out;
    from = to + 1;
  }
}

// --entrypoint PROGRAM, or podman's list of words.
std::vector<ShellWord> words_of_entrypoint(const ShellWord& entrypoint) {
  auto words = entrypoint.text.starts_with('[') && entrypoint.unknowns.empty()
                   ? json_words(entrypoint.text, 0, entrypoint.text.size())
                   : std::nullopt;
  if (!words || words->empty()) return {entrypoint};
  for (ShellWord& word : *words) {
    word.origin.assign(word.text.size(), entrypoint.begin);
    word.begin = entrypoint.begin;
    word.end = entrypoint.end;
  }
  return *words;
}

// Launches of a program run where the command does that hands it to Python.
void place_in(std::vector<LaunchCommand>& found, std::size_t from, const RunContext& context) {
  for (std::size_t i = from; i < found.size(); ++i) {
    LaunchCommand& launch = found[i];
    launch.elsewhere = launch.elsewhere || context.elsewhere;
    launch.on_host = launch.on_host && !context.elsewhere && context.image.empty();
    launch.sure = launch.sure && (context.when.empty() || context.sure);
    launch.when.put_in_front(context.when);
    if (!launch.image.empty() || context.image.empty()) continue;
    launch.image = context.image;
    launch.release = release_of_image(context.image);
    launch.host = context.host;
  }
}

}  // namespace

LaunchFinder::LaunchFinder(std::string_view text, const Variables& given) : text_(text), given_(given), cut_off_(text) {
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') line_starts_.push_back(i + 1);
  }
}

LineColumn LaunchFinder::place(std::size_t offset) const {
  const auto line = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset) - line_starts_.begin();
  return {static_cast<int>(line), static_cast<int>(offset - line_starts_[static_cast<std::size_t>(line - 1)]) + 1};
}

std::vector<LaunchCommand> LaunchFinder::take() {
  if (!found_.empty()) {
    auto& notes = found_.back().notes;
    notes.insert(notes.end(), notes_.begin(), notes_.end());
  }
  if (!found_.empty()) found_.front().mended = cut_off_.mended();
  return std::move(found_);
}

bool LaunchFinder::descend(LaunchFinder& inner, std::size_t bytes) {
  if (bytes > bytes_inside_ || depth_ >= limits::kTextDepth) return false;
  bytes_inside_ -= bytes;
  inner.bytes_inside_ = bytes_inside_;
  inner.depth_ = depth_ + 1;
  return true;
}

void LaunchFinder::under(const Conditions& when, std::size_t from) {
  if (when.empty()) return;
  for (std::size_t i = from; i < found_.size(); ++i) {
    found_[i].sure = false;
    found_[i].when.put_in_front(when);
  }
}

void LaunchFinder::tell(const ShellNote& note, std::size_t from, std::size_t to, std::string_view name) {
  const auto key = [](LineColumn at) { return std::pair(at.line, at.column); };
  const auto begin = key(place(from));
  const auto end = key(place(to));
  bool any = false;
  for (LaunchCommand& launch : found_) {
    const auto at = key(launch.where);
    if (!launch.file.empty() || at < begin || at >= end) continue;
    launch.notes.push_back(note);
    any = true;
  }
  if (any || name.empty()) return;
  for (LaunchCommand& launch : found_) {  // started there by words or a script that stand elsewhere
    if (launch.name == name) launch.notes.push_back(note);
  }
}

void LaunchFinder::stands_through(const std::string& file) {
  for (LaunchCommand& launch : found_) launch.through.push_back({file, launch.where.line, launch.where.line});
}

void LaunchFinder::stands_in(const std::string& file, std::size_t from) {
  for (std::size_t i = from; i < found_.size(); ++i) {
    if (found_[i].file.empty()) found_[i].file = file;
  }
}

void LaunchFinder::runs_in(const RunContext& place, std::size_t from) {
  for (std::size_t i = from; i < found_.size(); ++i) {
    LaunchCommand& launch = found_[i];
    if (launch.name.empty()) launch.name = place.name;
    launch.image = place.image;
    launch.release = release_of_image(place.image);
    launch.host = place.host;
    launch.elsewhere = launch.elsewhere || place.elsewhere || !place.image.empty();
    for (const LaunchUnknown& unknown : place.unknown) add_unknown(unknown.what, unknown.offset, launch);
  }
  under(place.when, from);
}

void LaunchFinder::adopt(LaunchFinder& inner, const std::function<std::size_t(std::size_t)>& place_of,
                         const std::function<std::string(std::size_t)>& name_of) {
  const auto offset_of = [&](LineColumn at) {
    return inner.line_starts_[static_cast<std::size_t>(at.line) - 1] + static_cast<std::size_t>(at.column) - 1;
  };
  bytes_inside_ = std::min(bytes_inside_, inner.bytes_inside_);
  if (inner.error_ && !error_) error_ = inner.error_;
  if (inner.unknown_program_ && !unknown_program_) {
    unknown_program_ = inner.unknown_program_;
    unknown_program_->offset = place_of(unknown_program_->offset);
  }
  if (inner.unread_program_ && !unread_program_) {
    unread_program_ = inner.unread_program_;
    unread_program_->offset = place_of(unread_program_->offset);
  }
  for (ShellNote& note : inner.notes_) notes_.push_back({note.rule, note.message, place_of(note.offset)});
  inner.notes_.clear();
  for (const ShellNote& note : inner.unread_starts_) {
    ShellWord here;
    here.begin = place_of(note.offset);
    starts_unread(here, note.message);
  }
  for (const auto& [from, to] : inner.accounted_) accounted_[place_of(from)] = place_of(to - 1) + 1;
  for (LaunchCommand& launch : inner.take()) {
    if (found_.size() >= limits::kLaunches && !error_)
      error_ = Error{"more than 1,000 launches: give them in several files"};
    const std::size_t first = offset_of(launch.where);
    if (launch.name.empty()) launch.name = name_of(first);
    launch.where = place(place_of(first));
    for (std::size_t i = 0; i < launch.spans.size(); ++i) {
      WordSpan& span = launch.spans[i];
      const bool empty = span.end <= span.begin;
      span.begin = place_of(span.begin);
      span.end = empty ? span.begin : std::max(span.begin, place_of(span.end - 1) + 1);
      const LineColumn at = place(span.begin);
      launch.positions[i].line = at.line;
      launch.positions[i].column = at.column;
    }
    for (LaunchUnknown& unknown : launch.unknown) {
      unknown.offset = place_of(unknown.offset);
      unknown.where = place(unknown.offset);
    }
    for (LaunchDefault& one : launch.defaults) {
      one.offset = place_of(one.offset);
      one.where = place(one.offset);
    }
    for (ShellNote& note : launch.notes) note.offset = place_of(note.offset);
    launch.mended.clear();  // of that text alone
    found_.push_back(std::move(launch));
  }
}

void LaunchFinder::account(const ShellText& text) {
  constexpr std::string_view kName = "sglang";
  constexpr std::size_t kNear = 64;
  const auto& origin = text.origin;
  for (auto at = text.text.find(kName); at != std::string::npos; at = text.text.find(kName, at + 1)) {
    const std::size_t from = origin.empty() ? at : origin[at];
    std::size_t to = from + 1;
    if (!origin.empty() && origin[at + 1] == from) {  // a text that is told at its beginning: a format of Python
      std::size_t first = at;
      while (first > 0 && origin[first - 1] == from) --first;
      to = from + 2 * (at - first) + kNear;
    }
    std::size_t& end = accounted_[from];
    end = std::max(end, to);
  }
}

bool LaunchFinder::accounts_for(std::size_t offset) const {
  auto it = accounted_.upper_bound(offset);
  return it != accounted_.begin() && (--it)->second > offset;
}

namespace {

// `source DIR/bin/activate` puts DIR/bin in front of the PATH.
std::string activated_by(const ShellCommand& c) {
  const bool source = c.words.size() >= 2 && (c.words[0].text == "source" || c.words[0].text == ".");
  if (!source || !c.words[1].unknowns.empty()) return {};
  const std::string& file = c.words[1].text;
  constexpr std::string_view kScript = "/bin/activate";
  return file.ends_with(kScript) ? file.substr(0, file.rfind('/')) : std::string();
}

// Programs that run their words in a Python environment of their own choice: not the active one, nor that of the PATH.
bool chooses_environment(std::string_view name) {
  constexpr std::array<std::string_view, 11> kNames = {"conda", "mamba", "micromamba", "poetry", "pipenv", "uv",
                                                       "uvx",   "pixi",  "rye",        "hatch",  "pdm"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// What the caller's shell set up is not there.
void leave(const std::vector<ShellWord>& words, std::size_t at, RunContext& context) {
  if (!starts_afresh(words, at)) return;
  context.env.clear();
  context.activated.clear();
  context.others.reset();
  context.folder.clear();
  context.is_here = false;
  context.elsewhere = context.elsewhere || leaves_machine(words[at].text);
  context.shares_network = context.shares_network && !leaves_machine(words[at].text);
  if (leaves_machine(words[at].text)) context.host = {};
}

}  // namespace

// The file of a script that another one runs; "" of other texts that a shell is handed.
static std::string called_file(const std::optional<ShellText>& zero) {
  const bool file = zero && zero->unknowns.size() == 1 && zero->unknowns.front().place == Unknown::Place::kFile;
  return file ? zero->unknowns.front().path : std::string();
}

// What a shell that reads a script has at its start.
ShellStart LaunchFinder::start_of(const ShellText& text, const RunContext& context, const std::string& called,
                                  int depth) {
  ShellStart start{.given = given_,
                   .environment = context.env,
                   .arguments = context.arguments,
                   .arguments_known = context.arguments_known,
                   .sure_arguments = context.sure_arguments};
  start.zero = context.zero;
  start.input = context.input;
  start.options = context.options;
  if (depth == 0 && context.options.empty()) start.options_by_name = options_of_first_line(text.text);
  start.files = context.files;
  start.others = context.others;
  start.trail = &trail_;
  if (context.functions.empty()) start.stands_in = called.empty() ? context.stands_in : called;
  start.own_file = called.empty() && depth == 0 ? place_of_file(context.file) : called;
  const bool in_place = !context.elsewhere && context.image.empty();
  start.folder = in_place ? context.folder : std::string();
  start.is_here = in_place && context.is_here;
  if (in_place && (!context.file.empty() || !start.folder.empty() || start.is_here))
    start.file_beside = [source = context.file.empty() ? context.folder + "/"
                                                       : context.file](const std::string& path) -> Result<std::string> {
      auto found = file_beside(source, path);
      if (!found) return failure(unread_beside(source, path, "it"));
      return std::move(*found);
    };
  start.wants_environment = [](const ShellCommand& c) { return c.words.size() > 1 || c.file; };
  return start;
}

Result<bool> LaunchFinder::script(const ShellText& text, const RunContext& context, int depth) {
  if (depth == 0) account(text);
  if (depth > limits::kShellsInShells) return failure("shells are nested too deep in this command");
  if (error_) return tl::make_unexpected(*error_);
  // Many containers may run one text, each for itself.
  if (!FileSteps::take(text.text.size() / limits::kScriptBytesOfAStep)) return failure(FileSteps::kNoMore);
  Script script{
      .context = context, .called = called_file(context.zero), .activated = context.activated, .depth = depth};
  ShellStart start = start_of(text, context, script.called, depth);
  const std::size_t first = found_.size();
  start.on_command = [&](const ShellCommand& c, const Values& environment, const Conditions& when) {
    if (!error_) command_of(script, c, environment, when);
  };
  start.on_fault = [&](const std::string& why, std::size_t offset) {
    if (found_.size() == first) return false;
    notes_.push_back({"SH004", fmt::format("the shell ends here, and nothing behind it runs: {}", why), offset});
    return true;
  };
  auto notes = follow_shell(context.functions.empty() ? text : behind_functions(context.functions, text), text_, start);
  if (!notes) return tl::make_unexpected(notes.error());
  for (ShellNote& one : *notes) take_note(std::move(one), first);
  last_.reset();
  if (error_) return tl::make_unexpected(*error_);
  return true;
}

// Where a command of a script runs: what the script has by then, what it exports to it and what its words assign.
RunContext LaunchFinder::place_of_command(const Script& script, const ShellCommand& c, const Values& environment,
                                          const Conditions& when) {
  RunContext inside = script.context;
  inside.activated = script.activated;
  inside.env = environment;
  inside.input.reset();
  inside.options.clear();
  if (!script.called.empty()) inside.zero.reset();  // of this file alone
  inside.stands_in.clear();
  inside.folder = c.folder;
  add_defaults(inside.defaults, c.defaults);
  for (const ShellText& function : c.functions) {
    const std::size_t cost = limits::kHandedCost * (function.text.size() + 1);
    if (cost > bytes_inside_) {
      error_ = Error{"this script hands over more functions than are followed; paste the launch command alone"};
      return inside;
    }
    bytes_inside_ -= cost;
    inside.functions.push_back(function);
  }
  inside.sure = c.sure && (script.context.when.empty() || script.context.sure);
  inside.when.add(when);
  for (const ShellWord& a : c.assignments) assign(a, inside.env);
  return inside;
}

std::size_t next_together() {
  thread_local std::size_t last = 0;
  return ++last;
}

// Servers that a script starts in the background, and what it starts behind them, run together.
void LaunchFinder::start_together(Script& script, const ShellCommand& c, LaunchCommand& launch) {
  if (!launch.on_host || !launch.sure || c.stands_in) return;
  const auto known = script.together.find(c.stops);
  const bool beside = c.beside || launch.detached;
  if (known == script.together.end() && !beside) return;  // the script waits for it, and none ran before
  launch.together = known != script.together.end() ? known->second : next_together();
  script.together.emplace(c.stops, launch.together);
}

void LaunchFinder::runs_beside(std::size_t from, std::size_t number) {
  if (number == 0 || found_.size() != from + 1) return;
  LaunchCommand& launch = found_.back();
  if (launch.on_host && launch.sure && launch.together == 0) launch.together = number;
}

void LaunchFinder::command_of(Script& script, const ShellCommand& c, const Values& environment,
                              const Conditions& when) {
  if (is_cut_off(c) || c.words.empty()) return;
  hear(c);
  const std::size_t before = found_.size();
  if (const std::string bin = activated_by(c); !bin.empty() && when.empty()) script.activated = bin;
  RunContext inside = place_of_command(script, c, environment, when);
  if (error_) return;
  if (!read_file(c, inside, script.depth)) {
    command(c.words, 0, std::move(inside), c.input, script.depth);
    if (found_.size() == before + 1) start_together(script, c, found_.back());
  }
  for (std::size_t i = before; c.stands_in && i < found_.size(); ++i) found_[i].through.push_back(*c.stands_in);
  last_ = found_.size() == before ? std::nullopt : std::optional(LastLaunch{c.begin, c.end});
}

// What was said of a script stands at the launch of it that it stands in, else at the next one, else at the last.
void LaunchFinder::take_note(ShellNote note, std::size_t first) {
  if (first >= found_.size()) return notes_.push_back(std::move(note));
  const auto key = [](LineColumn at) { return std::pair(at.line, at.column); };
  const LineColumn at = place(note.offset);
  const auto begin = found_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto inside = std::find_if(begin, found_.end(), [&](const LaunchCommand& launch) {
    const int last_line = launch.positions.empty() ? launch.where.line : launch.positions.back().line;
    return launch.where.line <= at.line && at.line <= last_line;
  });
  const auto behind =
      std::find_if(begin, found_.end(), [&](const LaunchCommand& launch) { return key(launch.where) >= key(at); });
  const auto launch = inside != found_.end() ? inside : behind != found_.end() ? behind : std::prev(found_.end());
  launch->notes.push_back(std::move(note));
}

// What the programs in front of a file leave it of where they run: `sudo`, `env A=1`.
void LaunchFinder::behind_wrappers(const ShellCommand& c, RunContext& context) {
  leave(c.words, 0, context);
  for (std::size_t at = 0; at < c.file_word && runs_its_words(c.words[at].text);) {
    const std::size_t next = program_between(c.words, at, c.file_word).value_or(c.file_word);
    environment_words(c.words, at, next, context);
    at = next;
  }
}

// The shell that may be dash.
static bool is_plain_sh(std::string_view program) {
  const std::string_view name = base_name(program);
  return name == "sh" || name == "dash" || name == "ash";
}

// Index of the shell that runs words[file], a script; none where it is run by its name.
static std::optional<std::size_t> shell_of_script(const std::vector<ShellWord>& words, std::size_t file) {
  for (std::size_t i = file; i-- > 0;) {
    if (words[i].unknowns.empty() && is_shell(words[i].text)) return i;
  }
  return std::nullopt;
}

static ShellText lines_of(std::string_view text, const std::vector<std::size_t>& starts, const FileLines& lines) {
  const auto offset = [&](int line) {
    return line >= 1 && static_cast<std::size_t>(line) <= starts.size() ? starts[static_cast<std::size_t>(line) - 1]
                                                                        : text.size();
  };
  ShellText out;
  for (std::size_t i = offset(lines.first); i < offset(lines.last + 1); ++i) {
    out.text += text[i];
    out.origin.push_back(i);
  }
  return out;
}

// A script that a command runs: one that this script wrote, or another file.
void LaunchFinder::run_script(const ShellCommand& c, RunContext inside, int depth) {
  const std::size_t before = found_.size();
  const std::string file = called_file(c.words[c.file_word]);
  const std::string here = place_of_file(inside.file);
  if (!file.empty()) {
    // Each is followed by itself: files that run each other may multiply.
    constexpr std::size_t kCalled = std::size_t{256} << 10U;
    const std::size_t cost = kCalled + limits::kHandedCost * c.file->text.size();
    const bool again = depth > 0 && (c.stands_in ? c.stands_in->file : here) == file;  // itself, for the second time
    if (again || depth + 1 >= limits::kShellsInShells || cost > bytes_inside_)
      return note(
          {"SH004", "more scripts run each other than are followed: what this one starts is not known", c.begin});
    bytes_inside_ -= cost;
    inside.zero = c.words[c.file_word];
  }
  behind_wrappers(c, inside);
  if (base_name(c.words.front().text) == "sbatch") take_job_options(c.words, 0, c.file_word, inside.host, c.file->text);
  const auto shell = shell_of_script(c.words, c.file_word);
  inside.options = shell ? options_of_shell(c.words, *shell, c.file_word) : options_of_first_line(c.file->text);
  if (shell ? is_plain_sh(c.words[*shell].text) : begins_for_sh(c.file->text)) ask_of_sh(*c.file, inside.unknown);
  start_with(c.words, c.file_word + 1, inside);
  scripts_from_input({*c.file}, inside, depth);
  if (called_file(inside.zero) != here) return;
  for (std::size_t i = before; i < found_.size(); ++i) {  // this file again: its launches stand here
    for (const FileLines& lines : found_[i].through) trail_.told(lines_of(text_, line_starts_, lines));
  }
}

// What a command does with a text that this script wrote into a file.
bool LaunchFinder::read_file(const ShellCommand& c, const RunContext& context, int depth) {
  if (!c.file) return false;
  const std::size_t before = found_.size();
  switch (c.file_use) {
    case ShellCommand::FileUse::kScript:
      run_script(c, context, depth);
      return true;
    case ShellCommand::FileUse::kProgram: {
      RunContext inside = context;
      behind_wrappers(c, inside);
      run_program(*c.file, c.words, c.file_word, c.file_word + 1, inside);
      return true;
    }
    case ShellCommand::FileUse::kObjects:
      read_from_input(c.words.front(), {*c.file}, FileKind::kManifest);
      under(context.when, before);
      return true;
    case ShellCommand::FileUse::kUnit: {
      const bool by_its_name = c.words.size() == 1;  // nothing here starts it
      const FileKind kind = by_its_name ? kind_of(c.file->text, c.words.front().text) : FileKind::kUnit;
      read_from_input(c.words.front(), {*c.file}, kind);
      under(context.when, before);
      return true;
    }
  }
  return false;
}

void LaunchFinder::scripts_from_input(const std::vector<ShellText>& input, const RunContext& context, int depth) {
  for (const ShellText& text : input) {
    auto done = script(text, context, depth + 1);
    if (!done && !error_) error_ = done.error();
  }
}

void LaunchFinder::words(const std::vector<ShellWord>& words, const RunContext& context) {
  for (const ShellWord& word : words) account(word);
  command(words, 0, context, {}, 0);
}

void LaunchFinder::arguments(const std::vector<ShellWord>& words, const RunContext& context) {
  take_server(words, 0, 0, context);
}

// The server that words[at…] start, or ask: false where they name none.
bool LaunchFinder::starts_server(const std::vector<ShellWord>& words, std::size_t at, bool of_image,
                                 const RunContext& context) {
  auto server = server_at(words, at);
  if (!server && of_image) server = server_of_entry_point(words, at);
  if (!server) return false;
  if (only_asks(words, server->first) || only_connects(words, *server)) {
    for (const ShellWord& one : words) trail_.told(one);
    return true;
  }
  std::string unclear;
  if (server->own != nullptr) {
    std::vector<ShellWord> all(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(server->first));
    for (ShellWord& one : without_own_options(words, server->first, *server->own, unclear))
      all.push_back(std::move(one));
    take_server(all, at, server->first, context);
  } else {
    take_server(words, at, server->first, context);
  }
  LaunchCommand& launch = found_.back();
  if (!unclear.empty()) add_unknown(unclear, words[at].begin, launch);
  launch.sure = launch.sure && (server->own == nullptr || server->own->when.empty());
  if (server->own != nullptr && !server->own->when.empty())
    launch.when.add({.kind = Condition::Kind::kPart, .text = std::string(server->own->when)});
  if (const bool is_open =
          !words[at].unknowns.empty() && server->first > at && !base_name(words[at].text).starts_with("python");
      is_open) {
    const std::string name = words[at].unknowns.front().unset();
    launch.when.add(name.empty() ? where({{"the program in front of its module is Python"}})
                                 : where({named(name), {" is set to a Python"}}));
    launch.sure = false;
  }
  launch.module = server->module;
  launch.serve = server->serve;
  launch.vllm = server->vllm;
  if (!server->aside.empty()) add_unknown(std::string(server->aside), words[at].begin, launch);
  return true;
}

// A program whose name is not known may be a launch.
void LaunchFinder::may_be_a_launch(const ShellWord& program) {
  if (program.unknowns.empty()) return;
  if (!unknown_program_) unknown_program_ = program.unknowns.front();
  const auto is_told = [&](const ShellWord& one) { return one.begin == program.begin && same_text(one, program); };
  if (!trail_.may_name_server(program) || unclear_programs_.size() >= limits::kLaunches) return;
  if (std::ranges::any_of(unclear_programs_, is_told)) return;
  unclear_programs_.push_back(program);
  trail_.told(program);
}

// A program that starts what stands in one of its words, in its input or in a container: false where words[at] is none.
bool LaunchFinder::looks_inside(const std::vector<ShellWord>& words, std::size_t at, RunContext& context,
                                const std::vector<ShellText>& input, int depth) {
  const ShellWord& word = words[at];
  panes_.move(words, at);
  if (is_shell(word.text)) {
    shell(words, at, context, input, depth);
  } else if (reads_manifest(words, at)) {
    read_from_input(word, input, FileKind::kManifest);
  } else if (const auto program = program_among(words, at)) {
    run_program(words[*program], words, at, *program + 1, context);
  } else if (const auto behind = reads_program(words, at)) {
    for (const ShellText& text : input) run_program(text, words, at, *behind, context);
  } else if (is_container_tool(word.text)) {
    container(words, at, std::move(context), input, depth);
  } else if (const auto commands = commands_of_tmux(words, at); !commands.empty()) {
    for (const std::vector<ShellWord>& one : commands) command(one, 0, context, input, depth + 1);
  } else if (const auto typed = typed_text(words, at)) {
    type(*typed, context, depth);
  } else if (auto text = text_for_a_shell(words, at)) {
    leave(words, at, context);
    if (base_name(word.text) == "sbatch") take_job_options(words, at, words.size(), context.host);
    context.functions.clear();  // another shell than bash
    if (input.size() == 1) context.input = input.front();
    scripts_from_input({*text}, context, depth);
  } else if (const auto each = commands_of_xargs(words, at, input)) {
    for (const std::vector<ShellWord>& one : *each) command(one, 0, context, {}, depth + 1);
  } else if (const auto jobs = texts_of_parallel(words, at, input)) {
    scripts_from_input(*jobs, context, depth);
  } else if (reads_script(word.text)) {
    leave(words, at, context);
    const bool job = base_name(word.text) == "sbatch";
    if (job)
      take_job_options(words, at, words.size(), context.host,
                       input.size() == 1 ? std::string_view(input.front().text) : std::string_view());
    scripts_from_input(input, context, depth);
  } else if (const auto programs = programs_of_one_job(words, at); !programs.empty()) {
    for (const std::vector<ShellWord>& one : programs) command(one, 0, context, input, depth + 1);
  } else {
    return false;
  }
  return true;
}

// Into a shell that runs already. What was typed before is followed again, for what it leaves that shell.
void LaunchFinder::type(const TypedText& typed, RunContext context, int depth) {
  Panes::Pane& pane = panes_.type(typed);
  const std::size_t before = found_.size();
  const std::size_t said = notes_.size();
  context.functions.clear();
  if (pane.why) {
    context.others = unknown_text(pane.why->message, pane.why->offset);
    note({"SH002", "variables of this shell " + pane.why->message, pane.why->offset});
  }
  scripts_from_input({pane.text}, context, depth);
  const std::size_t known = std::min(pane.launches, found_.size() - before);
  const auto first = found_.begin() + static_cast<std::ptrdiff_t>(before);
  found_.erase(first, first + static_cast<std::ptrdiff_t>(known));
  pane.launches += found_.size() - before;
  const auto is_said = [&](const ShellNote& note) {
    const auto old = notes_.begin() + static_cast<std::ptrdiff_t>(std::min(said, notes_.size()));
    return std::any_of(notes_.begin(), old, [&](const ShellNote& one) {
      return one.offset == note.offset && one.rule == note.rule && one.message == note.message;
    });
  };
  const auto fresh = notes_.begin() + static_cast<std::ptrdiff_t>(std::min(said, notes_.size()));
  notes_.erase(std::remove_if(fresh, notes_.end(), is_said), notes_.end());
}

// A program nobody knows, in front of a launch.
void LaunchFinder::behind_unknown(const std::vector<ShellWord>& words, std::size_t at, std::size_t behind,
                                  const RunContext& context, const std::vector<ShellText>& input, int depth) {
  const ShellWord& word = words[at];
  const std::size_t before = found_.size();
  command(words, behind, context, input, depth + 1);
  const std::string why = word.unknowns.empty()
                              ? fmt::format(
                                    "{} is a program that is not known here: whether it starts the words behind "
                                    "it as they stand is not known",
                                    word.text)
                              : word.unknowns.front().message;
  for (std::size_t i = before; i < found_.size(); ++i) add_unknown(why, word.begin, found_[i]);
}

// A script that is named with its folder, which may be all that is not known of it: `${SRC}run.sh`. One without is
// looked for among the programs.
static bool is_script_by_path(std::string_view word) {
  constexpr auto kEndings = std::to_array<std::string_view>({".sh", ".bash", ".py"});
  return word.find_first_of(std::string("/") + kHole) != std::string_view::npos &&
         std::ranges::any_of(kEndings, [&](std::string_view ending) { return word.ends_with(ending); });
}

// What words[from…] start.
void LaunchFinder::command(const std::vector<ShellWord>& words, std::size_t from, RunContext context,
                           const std::vector<ShellText>& input, int depth) {
  const auto refuse = [&](const char* why) {
    if (!error_) error_ = Error{why};
  };
  if (depth > limits::kShellsInShells) return refuse("shells are nested too deep in this command");
  const bool in_image = context.elsewhere || !context.image.empty();
  for (std::size_t at = from, wrappers = 0; at < words.size(); ++wrappers) {
    if (wrappers > limits::kWrappers)  // each looks through the words behind it
      return refuse("more programs start one another in this command than are followed");
    const ShellWord& word = words[at];
    if (starts_server(words, at, in_image && at == from, context)) return;
    if (is_module_name(word)) {
      for (const ShellWord& one : words) trail_.told(one);
      return note({"SH004",
                   fmt::format("{0} is the name of a module, and no command: python3 -m {0} starts it", word.text),
                   word.begin});
    }
    may_be_a_launch(word);
    if (is_script_by_path(word.text) && !is_shell(word.text)) runs_unread(word);
    if (std::string what = starts_from_files(words, at); !what.empty() && !reads_manifest(words, at))
      starts_unread(word, std::move(what));
    if (looks_inside(words, at, context, input, depth)) return;
    const auto behind = program_behind(words, at);
    if (!behind) {
      if (runs_its_words(word.text)) {
        unknown_behind(words, at);
        unread_behind(words, at);
      }
      if (!only_speaks(word.text)) unread_programs(words, at);
      return handed_over(words, at, input);
    }
    if (!runs_its_words(word.text)) {
      if (!only_speaks(word.text)) behind_unknown(words, at, *behind, context, input, depth);
      return;
    }
    const std::size_t next = program_between(words, at, *behind).value_or(*behind);
    environment_words(words, at, next, context);
    at = next;
  }
}

static std::string unread_script(const ShellWord& file) {
  std::string name = file.text;
  std::ranges::replace(name, kHole, '?');
  return fmt::format("{} is run here, and not read: what it starts is not known; give that file", name);
}

// Something that this starts and that is not read: told beside what is found.
void LaunchFinder::starts_unread(const ShellWord& word, std::string what) {
  const auto is_told = [&](const ShellNote& one) { return one.message == what; };
  if (unread_starts_.size() >= limits::kLaunches || std::ranges::any_of(unread_starts_, is_told)) return;
  unread_starts_.push_back({"SH009", std::move(what), word.begin});
}

void LaunchFinder::tell_unread_starts() {
  std::set<int> told;  // lines where something is said already
  const auto take = [&](const ShellNote& note) {
    if (note.rule == "SH004") told.insert(place(note.offset).line);
  };
  std::ranges::for_each(notes_, take);
  for (const LaunchCommand& launch : found_) std::ranges::for_each(launch.notes, take);
  for (ShellNote& one : std::exchange(unread_starts_, {})) {
    if (!told.contains(place(one.offset).line)) take_note(std::move(one), 0);
  }
}

// A script that is not here, or not followed: told where nothing else is found.
void LaunchFinder::runs_unread(const ShellWord& file) {
  starts_unread(file, unread_script(file));
  if (unknown_program_ || base_name(file.text) == file.text) return;
  unknown_program_ = Unknown{0, unread_script(file), file.begin};
}

// A program in Python that is not here, or not followed: told where no launch is found. `python serve.py`,
// `torchrun serve.py`, ./serve.py
void LaunchFinder::unread_programs(const std::vector<ShellWord>& words, std::size_t from) {
  bool runs_next = false;
  for (std::size_t i = from; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    const bool file = w.ends_with(".py") && w != ".py" && w.find('=') == std::string::npos;  // KEY=FILE is told of it
    const bool by_name = i == from && w.find('/') != std::string::npos;
    if (file && (runs_next || by_name)) {
      starts_unread(words[i], unread_script(words[i]));
      if (!unread_program_) unread_program_ = Unknown{0, unread_script(words[i]), words[i].begin};
    }
    const std::string_view name = base_name(w);
    runs_next = (runs_next && !file) || name.starts_with("python") || name == "torchrun" || name == "accelerate";
  }
}

// `exec "${CMD[@]}"`, where nobody knows what the list holds.
void LaunchFinder::unknown_behind(const std::vector<ShellWord>& words, std::size_t at) {
  std::size_t i = at + 1;
  while (i < words.size() && words[i].text.starts_with('-')) ++i;
  if (i < words.size() && !words[i].unknowns.empty() && words[i].text[0] == kHole && !unknown_program_)
    unknown_program_ = words[i].unknowns.front();
}

// `sudo systemctl start UNIT`, `nohup bash FILE`
void LaunchFinder::unread_behind(const std::vector<ShellWord>& words, std::size_t at) {
  if (const auto file = script_word(words); file && *file > at)
    starts_unread(words[*file], unread_script(words[*file]));
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    if (std::string what = starts_from_files(words, i); !what.empty()) return starts_unread(words[i], std::move(what));
  }
}

// A program nobody knows gets a text that names a launch.
void LaunchFinder::handed_over(const std::vector<ShellWord>& words, std::size_t at,
                               const std::vector<ShellText>& input) {
  const auto program = std::find_if(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end(),
                                    [](const ShellWord& word) { return !word.text.starts_with('-'); });
  const bool for_another = runs_its_words(words[at].text) && program != words.end();  // sudo tee FILE
  if (only_speaks(words[at].text) || (for_another && only_speaks(program->text))) return;
  if (base_name(words[at].text) == "xpu-preflight") {  // it says itself what it finds
    for (const ShellWord& word : words) trail_.told(word);
    return;
  }
  std::optional<std::size_t> first;
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    if (!names_server(words[i].text)) continue;
    if (!first) first = words[i].begin;
    trail_.told(words[i]);
  }
  for (const ShellText& text : input) {
    if (!names_server(text.text)) continue;
    if (!first) first = words[at].begin;
    trail_.told(text);
  }
  if (!first) return;
  const std::string name = words[at].unknowns.empty() ? words[at].text : std::string("a program");
  notes_.push_back({"SH004",
                    fmt::format("{} is handed a text that names a launch: whether and how it runs it is not known, and "
                                "that launch is not looked at",
                                name),
                    *first});
}

// What is printed for people runs nothing; what is printed into a file may.
void LaunchFinder::hear(const ShellCommand& c) {
  if (!only_prints(c.words.front().text) || c.output == "|") return;
  const auto is_kept = [](std::string_view file) {
    return !file.empty() && file[0] != '-' && !file.starts_with("/dev/") && file.find("log") == std::string_view::npos;
  };
  const bool tee = base_name(c.words.front().text) == "tee";
  const bool kept = is_kept(c.output) || (tee && std::any_of(c.words.begin() + 1, c.words.end(),
                                                             [&](const ShellWord& w) { return is_kept(w.text); }));
  const auto one = [&](const ShellText& text) { kept ? trail_.written(text) : trail_.spoken(text); };
  for (const ShellWord& word : c.words) one(word);
  for (const ShellText& text : c.input) one(text);
}

void LaunchFinder::tell_what_is_left() {
  for (const ShellWord& word : unclear_programs_) {
    notes_.push_back({"SH004",
                      fmt::format("a launch may start here, and is not looked at: {}", word.unknowns.front().message),
                      word.begin});
  }
  int line = 0;
  for (const std::size_t at : trail_.left(text_)) {
    if (place(at).line == std::exchange(line, place(at).line)) continue;
    notes_.push_back(
        {"SH004",
         "a launch is named here and not looked at: nothing that is followed runs it (a function that "
         "nobody calls, a branch that is not taken, what stands behind an exit or a loop without an end, a "
         "text for another program)",
         at});
  }
}

namespace {

// What puts variables into the environment of what it starts that stand in a file or a vault; "" where nothing does.
std::string variables_from(const std::vector<ShellWord>& words, std::size_t at, std::size_t program) {
  constexpr auto kThose =
      std::to_array<std::string_view>({"chamber", "direnv", "doppler", "dotenv", "infisical", "op"});
  const std::string_view name = base_name(words[at].text);
  if (std::ranges::find(kThose, name) != kThose.end()) return std::string(name);
  for (std::size_t i = at + 1; name == "uv" && i < program; ++i) {
    if (words[i].text.starts_with("--env-file")) return "--env-file of uv";
  }
  return {};
}

}  // namespace

// What a program that runs its words does to the environment.
void LaunchFinder::environment_words(const std::vector<ShellWord>& words, std::size_t at, std::size_t program,
                                     RunContext& context) {
  const std::string_view name = base_name(words[at].text);
  if (name == "xargs") {
    context.unknown.push_back({"xargs adds arguments that are not known here", words[at].begin, {}});
    return;
  }
  bool keeps = name != "sudo" && name != "doas";
  Values added;
  const Values host = context.env;
  leave(words, at, context);
  context.elsewhere = context.elsewhere || chooses_environment(name) || name == "chroot";
  if (const std::string from = variables_from(words, at, program); !from.empty()) {
    note({"SH002", fmt::format("what {} puts into the environment is not read", from), words[at].begin});
    context.others = unknown_text(fmt::format("may be set by {}, which is not read", from), words[at].begin);
  }
  if (name == "srun" || name == "salloc") take_job_options(words, at, program, context.host);
  if (name == "torchrun" || name == "accelerate") context.sure = false;
  if (name == "torchrun" || name == "accelerate")
    context.when.add(as({{fmt::format("{} starts it, in each of its processes", name)}}));
  for (std::size_t i = at + 1; i < program; ++i) {
    const std::string& w = words[i].text;
    if (name == "sudo" && (w == "-E" || w.starts_with("--preserve-env"))) keeps = true;
    if (name == "env" && w.starts_with('-') && !added.empty()) {
      context.unknown.push_back(
          {fmt::format("env takes {} behind a variable for the program to start", w), words[i].begin, {}});
    }
    if (name == "env" && (w == "-i" || w == "-" || w == "--ignore-environment")) context.env.clear();
    if (name == "env" && w.starts_with("--unset=")) context.env.erase(w.substr(8));
    if (name == "env" && w.starts_with("-u") && w.size() > 2) context.env.erase(w.substr(2));
    if (name == "env" && (w == "-u" || w == "--unset") && i + 1 < program) {
      context.env.erase(words[++i].text);
      continue;
    }
    if (const auto image = image_option(words, i)) context.image = *image;
    if (const std::size_t used = own_variables(words, i, at, program, host, added); used > 0) {
      i += used - 1;
      continue;
    }
    const bool pairs = w == "-genv" || w == "-env";
    const bool joined = pairs && i + 1 < program && words[i + 1].text.find('=') != std::string::npos;
    const bool of_mpi = w == "-x" && name.starts_with("mpi") && i + 1 < program;
    if (joined || of_mpi) {
      assign(words[++i], added);
    } else if (pairs && i + 2 < program) {
      added.insert_or_assign(words[i + 1].text, words[i + 2]);
      i += 2;
    } else if ((name == "env" || name == "sudo" || name == "doas") && !w.starts_with('-')) {
      assign(words[i], added);
    } else if (w.starts_with("--setenv=")) {
      assign(tail(words[i], 9), added);
    }
  }
  if (!keeps) {
    for (const auto& [variable, value] : context.env) {
      if (!facts::judges_by(variable)) continue;
      context.unknown.push_back(
          {fmt::format("{} hands {} over only where its policy says so", name, variable), words[at].begin, {}});
    }
    context.env.clear();
    context.is_here = false;
  }
  for (auto& [variable, value] : added) context.env.insert_or_assign(variable, std::move(value));
}

void LaunchFinder::shell(const std::vector<ShellWord>& words, std::size_t at, const RunContext& context,
                         const std::vector<ShellText>& input, int depth) {
  const auto inner = shell_script(words, at);
  if (!inner) {
    const bool reads_input = at + 1 >= words.size() || words[at + 1].text.starts_with('-');
    const bool typed = !context.folder.empty() && context.file.empty() && !unknown_program_;  // started here
    if (!reads_input && typed) unknown_program_ = Unknown{0, unread_script(words[at + 1]), words[at + 1].begin};
    if (!reads_input && !typed) runs_unread(words[at + 1]);
    if (const auto file = script_word(words); file && *file > at && reads_input)
      starts_unread(words[*file], unread_script(words[*file]));
    RunContext inside = context;
    start_with(words, input_arguments(words, at), inside);
    inside.options = options_of_shell(words, at, input_arguments(words, at));
    for (const ShellText& text : reads_input ? input : std::vector<ShellText>{}) {
      RunContext one = inside;
      if (is_plain_sh(words[at].text)) ask_of_sh(text, one.unknown);
      scripts_from_input({text}, one, depth);
    }
    return;
  }
  RunContext inside = context;
  if (base_name(words[at].text) != "bash") inside.functions.clear();
  start_with(words, *inner + 2, inside);
  inside.options = options_of_shell(words, at, *inner);
  inside.zero = words[*inner + 1 < words.size() ? *inner + 1 : at];
  if (is_plain_sh(words[at].text)) ask_of_sh(words[*inner], inside.unknown);
  auto done = script(words[*inner], inside, depth + 1);
  if (!done && !error_) error_ = done.error();
}

// Whether a text that a program reads can be looked at for launches.
bool LaunchFinder::may_read(const ShellWord& program, const ShellText& text) {
  if (text.text.find("sglang") == std::string::npos) return false;
  trail_.told(text);
  if (text.unknowns.empty()) return true;
  notes_.push_back({"SH004",
                    fmt::format("{} reads a text that is not known as it stands, and the launches in it are not "
                                "looked at: {}",
                                base_name(program.text), text.unknowns.front().message),
                    text.unknowns.front().offset});
  return false;
}

// Objects that `kubectl apply -f -` and `docker compose -f - up` read from a text of the script.
void LaunchFinder::read_from_input(const ShellWord& program, const std::vector<ShellText>& input, FileKind kind) {
  const Values none;
  for (const ShellText& text : input) {
    if (!may_read(program, text)) continue;
    auto done = read_part(text, kind, {}, {text_, given_, {}, &none}, *this);
    if (!done && !error_) error_ = done.error();
  }
}

// A program in Python that words[at] is or runs; its own arguments are words[arguments…].
void LaunchFinder::run_program(const ShellText& text, const std::vector<ShellWord>& words, std::size_t at,
                               std::size_t arguments, const RunContext& context) {
  if (!may_read(words.front(), text)) return;
  ProgramStart start;
  start.file = called_file(words[at]);
  start.folder = context.elsewhere ? std::string() : context.folder;
  start.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(std::min(arguments, words.size())), words.end());
  const std::size_t before = found_.size();
  auto done = read_started(text, start, {text_, given_, {}, &context.env}, *this);
  if (!done && !error_) error_ = done.error();
  place_in(found_, before, context);
  for (std::size_t i = before; i < found_.size(); ++i) {
    for (const LaunchUnknown& one : context.unknown) add_unknown(one.what, one.offset, found_[i]);
    std::vector<LaunchDefault>& told = found_[i].defaults;
    for (const auto& [name, one] : context.defaults ? *context.defaults : std::map<std::string, TakenDefault>{}) {
      if (std::ranges::find(told, name, &LaunchDefault::name) == told.end())
        told.push_back({name, one.value, one.offset, place(one.offset), one.why});
    }
  }
}

// The image that a container has, or that the one named here was started with.
void LaunchFinder::take_image(const ContainerRun& run, const ShellWord& image, RunContext& context) {
  if (run.own_entrypoint) {
    const bool known = image.unknowns.empty() && why_placeholder(image.text).empty();
    context.image = known ? image.text : std::string();
    if (!image.unknowns.empty() && image.text.find("sglang") != std::string::npos)
      context.unknown.push_back({image.unknowns.front().message, image.unknowns.front().offset, {}});
    if (!run.name.empty()) containers_[run.name] = {context.image, context.env, context.host};
  } else if (run.inherits && image.unknowns.empty()) {
    constexpr std::string_view kDocker = "docker://";
    if (image.text.starts_with(kDocker)) context.image = image.text.substr(kDocker.size());
  } else if (const auto known = containers_.find(image.text); known != containers_.end() && !run.inherits) {
    context.image = known->second.image;
    context.host = known->second.host;
    for (const auto& [variable, value] : known->second.env) context.env.emplace(variable, value);
  }
}

void LaunchFinder::container(const std::vector<ShellWord>& words, std::size_t at, RunContext context,
                             const std::vector<ShellText>& read, int depth) {
  const auto run = container_run(words, at);
  if (!run) return;
  const std::vector<ShellText> input = run->reads_input ? read : std::vector<ShellText>{};
  const Values host = context.env;
  for (const Unknown& one : run->open) context.unknown.push_back({one.message, one.offset, {}});
  if (!run->inherits) context.env.clear();
  context.shares_network = !context.elsewhere && run->own_entrypoint && network_of_host(words, at, run->image);
  context.detached = runs_detached(words, at);
  context.elsewhere = true;
  context.activated.clear();
  context.files.reset();
  container_environment(words, at, run->image, host, given_, context.env);
  context.others.reset();
  for (ShellNote& one : unread_files(words, run->image)) {
    context.others = unknown_text("may be set by --env-file, which is not read", one.offset);
    notes_.push_back(std::move(one));
  }
  context.host = host_of_run(words, at, run->image, text_);
  if (has_too_many_mounts(context.host)) note({"SH002", too_many_mounts(), words[at].begin});
  // One that runs already, or a service, may have more than these words give it.
  const bool whole = run->own_entrypoint && !run->of_compose;
  if (!whole && context.host.cards && context.host.cards->count == 0) context.host.cards.reset();
  if (!run->inherits) keep_own_files(context.host);
  if (run->of_compose) {
    notes_.push_back({"SH002",
                      fmt::format("{} is a service of a compose file: what that sets for it is not known here",
                                  words[run->image].text),
                      words[run->image].begin});
  } else {
    take_image(*run, words[run->image], context);
  }
  if (run->entrypoint && !run->entrypoint->text.empty()) {  // "" takes the image's away
    std::vector<ShellWord> inside = words_of_entrypoint(*run->entrypoint);
    trail_.told(*run->entrypoint);
    inside.insert(inside.end(), words.begin() + static_cast<std::ptrdiff_t>(run->command), words.end());
    if (!is_shell(run->entrypoint->text) || inside.size() > 1 || !input.empty())
      return command(inside, 0, std::move(context), input, depth + 1);
    return;
  }
  if (run->command >= words.size()) return;
  if (words[run->command].text.starts_with("--") && run->own_entrypoint) {
    if (!may_be_for_server(words, run->command, words[run->image].text)) return;
    take_server(words, run->command, run->command, context);
    add_unknown("the image's own entry point takes these words, and nobody knows here what it is",
                words[run->image].begin, found_.back());
    return;
  }
  command(words, run->command, std::move(context), input, depth + 1);
}

// Of what somebody wrote so much as a reader looks at: a file's launches may all say it.
static std::string told_of(std::string what) {
  constexpr std::size_t kLongest = 2'000;
  if (what.size() <= kLongest) return what;
  return what.substr(0, character_start(what, kLongest)) + " … (cut)";
}

void LaunchFinder::add_unknown(std::string what, std::size_t offset, LaunchCommand& launch) const {
  what = told_of(std::move(what));
  for (const LaunchUnknown& known : launch.unknown) {
    if (known.what == what) return;
  }
  launch.unknown.push_back({std::move(what), offset, place(offset)});
}

void LaunchFinder::need(const ShellText& text, LaunchCommand& launch) const {
  for (const Unknown& unknown : text.unknowns) add_unknown(unknown.message, unknown.offset, launch);
}

void LaunchFinder::take_defaults(const std::vector<ShellWord>& words, std::size_t program, const RunContext& context,
                                 LaunchCommand& launch) const {
  TakenDefaults all = context.defaults;
  for (std::size_t i = program; i < words.size(); ++i) add_defaults(all, words[i].defaults);
  for (const auto& [name, value] : context.env) {
    if (facts::judges_by(name)) add_defaults(all, value.defaults);
  }
  if (all == nullptr) return;
  for (const auto& [name, one] : *all) {
    if (one.value) AssignedValues::note(name, *one.value);
    launch.defaults.push_back({name, one.value, one.offset, place(one.offset), one.why});
  }
  std::ranges::stable_sort(launch.defaults, {}, &LaunchDefault::offset);
}

// What is not known in the words of a launch.
void LaunchFinder::need_words(const std::vector<ShellWord>& words, std::size_t program, std::size_t first,
                              LaunchCommand& launch) const {
  for (std::size_t i = program; i < words.size(); ++i) {
    if (i > program || program == first) need(words[i], launch);
    const bool chat = i > program && words[i - 1].text == "--chat-template";  // Jinja that SGLang fills in itself
    if (chat) continue;
    if (const std::string name = template_in(words[i].text); !name.empty())
      add_unknown(fmt::format("{} is filled in before this runs: put the value in its place", name), words[i].begin,
                  launch);
    const std::string placeholder = why_placeholder(words[i].text, i > 0 ? words[i - 1].text : std::string());
    if (!placeholder.empty()) add_unknown(placeholder, words[i].begin, launch);
  }
}

// The environment of a launch, as far as it is known.
void LaunchFinder::take_variables(const Values& env, LaunchCommand& launch) {
  for (const auto& [name, value] : env) {
    if (facts::judges_by(name)) need(value, launch);
    const std::string hidden = facts::judges_by(name) ? why_placeholder(value.text) : std::string();
    if (!hidden.empty()) add_unknown(hidden, value.origin.empty() ? 0 : value.origin.front(), launch);
    if (facts::names_model_place(name) && !value.unknowns.empty()) {
      const Unknown& why = value.unknowns.front();
      note({"SH002", fmt::format("{} is not known ({}): the model is looked for without it", name, why.message),
            why.offset});
    }
    if (value.unknowns.empty()) launch.env.emplace(name, value.text);
  }
}

static std::size_t bytes_of(const std::vector<ShellWord>& words, const Values& env) {
  std::size_t bytes = 0;
  for (const ShellWord& word : words) bytes += word.text.size();
  for (const auto& [name, value] : env) bytes += limits::kVariableCost + name.size() + value.text.size();
  return bytes;
}

void LaunchFinder::take_arguments(const std::vector<ShellWord>& words, std::size_t first, LaunchCommand& launch) const {
  for (std::size_t i = first; i < words.size(); ++i) {
    SourceRange where;
    where.argv_index = static_cast<int>(launch.argv.size());
    const LineColumn at = place(words[i].begin);
    where.line = at.line;
    where.column = at.column;
    launch.positions.push_back(where);
    // The parts of a word may stand in any order: what is put into a format of Python in front of it.
    launch.spans.push_back({words[i].begin, std::max(words[i].begin, words[i].end)});
    launch.argv.push_back(words[i].text);
  }
}

// What a launch has of the place that it runs in.
static LaunchCommand launch_in(const RunContext& context, const std::vector<ShellWord>& words, std::size_t program,
                               std::size_t first) {
  LaunchCommand launch;
  launch.name = context.name;
  launch.image = context.image;
  const bool has_program = program < first && words[program].unknowns.empty() && !words[program].text.starts_with('-');
  if (has_program) launch.program = words[program].text;
  launch.elsewhere = context.elsewhere || !context.image.empty() || chooses_environment(base_name(launch.program));
  const bool by_name = !launch.program.empty() && launch.program.find('/') == std::string::npos;
  if (by_name && !context.activated.empty()) launch.program.insert(0, context.activated + "/");
  launch.release = release_of_image(context.image);
  launch.host = context.host;
  launch.when = context.when;
  launch.sure = context.when.empty() || context.sure;
  launch.on_host = !launch.elsewhere || context.shares_network;
  launch.detached = context.detached;
  launch.together = context.together;
  return launch;
}

void LaunchFinder::take_server(const std::vector<ShellWord>& words, std::size_t program, std::size_t first,
                               const RunContext& context) {
  if (found_.size() >= limits::kLaunches && !error_)
    error_ = Error{"more than 1,000 launches: give them in several files"};
  if (words.size() > limits::kListWords) {
    if (!error_) error_ = Error{"the command has more than 10,000 words"};
    found_.emplace_back();
    return;
  }
  LaunchCommand launch = launch_in(context, words, program, first);
  if (program < words.size() || context.at) launch.where = place(context.at ? *context.at : words[program].begin);
  for (std::size_t i = program; i < std::max(first, program + 1) && i < words.size(); ++i) trail_.told(words[i]);
  need_words(words, program, first, launch);
  take_variables(context.env, launch);
  // Each launch keeps what it sees, and all that looks at it goes through it.
  if (!FileSteps::take_bytes(bytes_of(words, context.env)) && !error_) error_ = Error{FileSteps::kNoMore};
  for (const LaunchUnknown& unknown : context.unknown) add_unknown(unknown.what, unknown.offset, launch);
  take_defaults(words, program, context, launch);
  take_arguments(words, first, launch);
  launch.notes = std::exchange(notes_, {});  // what was said on the way to it
  found_.push_back(std::move(launch));
}

// No program has a name that begins with a dash: such a command is what a comment, a blank behind a backslash or a
// forgotten backslash cut off from the launch in front of it.
bool LaunchFinder::is_cut_off(const ShellCommand& c) {
  if (!last_ || c.words.empty() || !c.words.front().text.starts_with('-')) return false;
  const std::size_t from = c.words.front().begin;
  if (from <= last_->end || from > text_.size()) return false;
  const std::string_view between = text_.substr(last_->end, from - last_->end);
  const bool comment = between.find('#') != std::string_view::npos;
  const int line = place(last_->end).line;
  std::string options;
  for (const ShellWord& w : c.words) options += (options.empty() ? "" : " ") + w.text;
  if (options.size() > 80) options = options.substr(0, 77) + "…";
  std::replace(options.begin(), options.end(), kHole, '?');
  found_.back().notes.push_back(
      {"SH003",
       fmt::format("the launch ends at line {}, {}: {} is no part of it, and a shell takes {} for a "
                   "command",
                   line,
                   comment ? "where a comment stands behind its backslash"
                           : "whose backslash is missing or is not its last character",
                   options, c.words.front().text),
       from});
  cut_off_.join(last_->begin, last_->end, from);
  last_->end = c.end;
  return true;
}

}  // namespace preflight::sources
