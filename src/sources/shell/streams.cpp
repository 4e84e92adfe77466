// What commands print and read, where it is known: $(…), <(…), pipes, here-documents, read and mapfile. Tested by
// tests/shell_test.cpp and tests/traps_test.cpp.
#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/base/number_text.h"
#include "src/sources/container_command.h"
#include "src/sources/shell/evaluator.h"
#include "src/sources/shell/parser.h"
#include "src/sources/shell/printed.h"

namespace preflight::sources {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// Whether an option of one letter among `letters` is given: -f, -xf, +f.
bool has_option(const std::vector<ShellWord>& words, std::string_view letters) {
  return std::any_of(words.begin() + 1, words.end(), [&](const ShellWord& word) {
    const bool option = word.text.starts_with('-') || word.text.starts_with('+');
    return option && !word.text.starts_with("--") && word.text.find_first_of(letters, 1) != std::string::npos;
  });
}

// Commands that print nothing of what they are given. Some print what is set where they are handed no name.
bool prints_nothing(const std::vector<ShellWord>& words) {
  const std::string_view name = words.front().text;
  const bool has_name = std::any_of(words.begin() + 1, words.end(), [](const ShellWord& word) {
    return !word.text.starts_with('-') && !word.text.starts_with('+');
  });
  if (is_one_of(name, {"shift", "unset", "sleep", "wait"})) return true;
  if (is_one_of(name, {"mkdir", "touch", "rm"}))
    return !has_option(words, "v") &&
           std::ranges::none_of(words, [](const ShellWord& w) { return w.text == "--verbose"; });
  if (is_one_of(name, {"declare", "typeset", "local"})) return has_name && !has_option(words, "pfF");
  if (is_one_of(name, {"export", "readonly"})) return has_name && !has_option(words, "p");
  if (name == "cd") return words.back().text != "-";
  if (name == "kill") return !has_option(words, "lL");
  if (name == "set") return words.size() > 1 && (words.size() > 2 || !is_one_of(words[1].text, {"-o", "+o"}));
  if (name == "shopt") return has_name && has_option(words, "suq") && !has_option(words, "p");
  return name == "umask" && has_name && !has_option(words, "Sp");
}

// Programs whose last word may be the file that they read.
bool reads_files(std::string_view program) {
  constexpr std::array<std::string_view, 10> kNames = {"cat", "grep", "sed",  "awk",  "cut",
                                                       "jq",  "bc",   "head", "tail", "wc"};
  return std::ranges::find(kNames, program) != kNames.end();
}

ShellText without_last_lines(ShellText text) {
  while (!text.text.empty() && text.text.back() == '\n') text = slice(text, 0, text.text.size() - 1);
  return text;
}

bool is_separator(const std::string& ifs, char c) { return ifs.find(c) != std::string::npos; }
bool is_blank_separator(const std::string& ifs, char c) {
  return (c == ' ' || c == '\t' || c == '\n' || c == '\r') && is_separator(ifs, c);
}

// Fields of a line as `read` takes them.
class Fields {
 public:
  Fields(const ShellText& line, std::string ifs) : line_(line), ifs_(std::move(ifs)) { skip_blanks(); }

  [[nodiscard]] bool done() const { return at_ >= line_.text.size(); }
  ShellText next() {
    const std::size_t from = at_;
    while (!done() && !is_separator(ifs_, line_.text[at_])) ++at_;
    ShellText field = slice(line_, from, at_);
    skip_blanks();
    if (!done() && is_separator(ifs_, line_.text[at_])) {
      ++at_;
      skip_blanks();
    }
    return field;
  }
  // What the last name gets: all that is left, but for blanks and one delimiter behind a last field.
  ShellText rest() {
    std::size_t end = line_.text.size();
    while (end > at_ && is_blank_separator(ifs_, line_.text[end - 1])) --end;
    const std::size_t from = at_;
    ShellText field = next();
    return done() ? field : slice(line_, from, end);
  }

 private:
  void skip_blanks() {
    while (!done() && is_blank_separator(ifs_, line_.text[at_])) ++at_;
  }
  const ShellText& line_;
  std::string ifs_;
  std::size_t at_ = 0;
};

}  // namespace

// --- printing ---

// What the command prints, as text of a shell of its own; none where it is not known.
std::optional<ShellText> ShellEvaluator::captured(const std::function<void()>& run) {
  caught_fails_.reset();
  const bool heeded = std::exchange(assigns_, false) && conditions_ == 0 && state_.exits_on_error;
  if (print_depth_ >= limits::kPrintDepth || error_ || !spend(20 + state_.size())) {
    state_.files.clear();  // nobody knows which of them it writes
    return std::nullopt;
  }
  Printed printed{.text = {}, .known = true, .undecided = undecided_};
  Printed* const outer_printing = std::exchange(printing_, &printed);
  auto outer_loops = std::exchange(loops_, {});
  auto outer_written = std::exchange(written_, {});
  const auto outer_piped = piped_;
  const auto outer_input = input_;
  auto outer_unset = std::exchange(unset_now_, {});
  const ShellState before = state_;
  ++muted_;
  ++print_depth_;
  if (!for_sh_ && !hands_errexit_on_) state_.exits_on_error = false;  // which $(…) does not inherit
  const Taking taking(*this, true);
  begin_subshell();
  run();
  std::vector<Condition> may_have_ended = std::move(unset_now_);
  for (const auto& [what, depth] : state_.may_end) {
    if (!before.may_end.contains(what)) may_have_ended.push_back(what);
  }
  const bool whole = may_have_ended.empty();
  const bool ends = state_.ended && state_.end_depth == 0 && state_.leaves == 0;
  const std::optional<bool> fails = !whole ? std::nullopt : ends ? state_.fails : state_.last_fails;
  // Where that ends the shell around it, too, what is printed is whole; else it goes on with what there was until then.
  const bool all_fail =
      std::ranges::all_of(may_have_ended, [&](const Condition& what) { return ends_in_failure(what); });
  if (!whole && !(heeded && all_fail)) printed.known = false;
  unset_now_.clear();
  run_exit_trap();
  --print_depth_;
  --muted_;
  add_defaults(taken_, state_.defaults);  // what is printed depends on them
  back_from_apart(before);
  const bool eaten = input_.has_value() != outer_input.has_value() || (input_ && input_->at != outer_input->at);
  if (!eaten) input_ = outer_input;
  if (eaten) input_.reset();  // the shell around it reads on behind that, which is not followed
  piped_ = outer_piped;
  unset_now_ = std::move(outer_unset);
  written_ = std::move(outer_written);
  loops_ = std::move(outer_loops);
  printing_ = outer_printing;
  caught_fails_ = undecided_ == printed.undecided && !error_ ? fails : std::nullopt;
  caught_ends_ = std::move(may_have_ended);
  if (error_ && budget_.steps > 0) {  // what it says of this text is not what is asked
    error_.reset();
    return std::nullopt;
  }
  if (!printed.known || error_) return std::nullopt;
  add_defaults(printed.text.defaults, taken_);
  return printed.text;
}

std::optional<ShellText> ShellEvaluator::captured_text(const ShellText& inside) {
  ShellParser parser(inside, pasted_);
  const bool too_much = print_depth_ >= limits::kPrintDepth || !spend(inside.text.size() + 1);
  if (!too_much) parser.all();
  if (!too_much && !parser.failed()) return captured([&] { run_text(inside); });
  state_.files.clear();
  return std::nullopt;
}

// `…`: a backslash before $, ` and another one goes away, before all else it stays.
static ShellText without_backslashes(const ShellText& inside) {
  ShellText out;
  std::size_t from = 0;
  for (std::size_t i = 0; i + 1 < inside.text.size(); ++i) {
    if (inside.text[i] != '\\') continue;
    if (std::string_view("$`\\").find(inside.text[i + 1]) != std::string_view::npos) {
      append(out, slice(inside, from, i));
      from = i + 1;
    }
    ++i;
  }
  append(out, tail(inside, from));
  return out;
}

// Of $(…) and `…`.
std::optional<ShellText> ShellEvaluator::captured_substitution(const Part& part) {
  const std::size_t skipped = text_.script->text[part.begin] == '`' ? 1 : 2;
  if (part.end < part.begin + skipped + 1) return std::nullopt;
  ShellText inside = slice_placed(part.begin + skipped, part.end - 1);
  const bool backquotes = skipped == 1 && inside.text.find('\\') != std::string::npos;
  if (backquotes && part.quoted && inside.text.find("\\\"") != std::string::npos) {
    state_.files.clear();
    return std::nullopt;
  }
  if (backquotes) inside = without_backslashes(inside);
  const auto first = inside.text.find_first_not_of(" \t\n");
  const bool reads = first != std::string::npos && inside.text[first] == '<' && inside.text.find("<<") != first;
  auto text = reads ? read_by_substitution(inside) : captured_text(inside);
  if (!text || text->text.find('\0') != std::string::npos) return std::nullopt;
  return without_last_lines(std::move(*text));
}

// $(<FILE)
std::optional<ShellText> ShellEvaluator::read_by_substitution(const ShellText& inside) {
  ShellParser parser(inside, pasted_);
  const NodePtr all = parser.all();
  if (parser.failed() || !all) return std::nullopt;
  const Node* node = all.get();
  while (node->kind == Node::Kind::kList && node->children.size() == 1) node = node->children.front().get();
  const bool alone = node->kind == Node::Kind::kSimple && node->words.empty() && node->assignments.empty() &&
                     node->redirections.size() == 1;
  if (!alone) return std::nullopt;
  const Text before = std::exchange(text_, Text{&inside, &parser.here_documents(), text_.file, true});
  bool given = false;
  auto text = redirected_input(node->redirections, given);
  text_ = before;
  return text;
}

// <(…) as the target of a redirection.
std::optional<ShellText> ShellEvaluator::captured_process(const Word& word) {
  if (word.parts.size() != 1 || word.parts[0].kind != Part::Kind::kUnclear) return std::nullopt;
  const Part& part = word.parts[0];
  const std::string& script = text_.script->text;
  if (part.end < part.begin + 3 || script.compare(part.begin, 2, "<(") != 0) return std::nullopt;
  return captured_text(slice_placed(part.begin + 2, part.end - 1));
}

// A command whose prints are followed.
// Whether a grep over known lines finds one; of any other program nobody knows whether it succeeds.
Status ShellEvaluator::finds(const ShellCommand& command) {
  if (command.words.empty() || command.words.front().text != "grep" || command.input.size() != 1 ||
      !command.input.front().unknowns.empty())
    return Status::kUnknown;
  std::vector<std::string> words;
  for (const ShellWord& word : command.words) {
    if (!word.unknowns.empty()) return Status::kUnknown;
    words.push_back(word.text);
  }
  const auto found = grep_finds(words, command.input.front().text);
  return !found ? Status::kUnknown : *found ? Status::kTrue : Status::kFalse;
}

Status ShellEvaluator::print(const ShellCommand& command) {
  if (command.words.empty() || prints_nothing(command.words)) return Status::kUnknown;
  const std::string& program = command.words.front().text;
  const Status found = finds(command);
  if (found == Status::kFalse) return found;  // and prints nothing
  if (command.prints_elsewhere) return program == "echo" || program == "printf" ? Status::kTrue : found;
  const auto is_quiet = [](const ShellWord& word) { return is_quiet_option(word.text); };
  if (program == "grep" && std::ranges::any_of(command.words, is_quiet)) return found;
  const auto text = printed_of(command);
  if (!text || undecided_ > printing_->undecided ||
      printing_->text.text.size() + text->text.size() > limits::kPrintBytes || !spend(text->text.size() + 1)) {
    printing_->known = false;
    return Status::kUnknown;
  }
  append(printing_->text, *text);
  return Status::kTrue;
}

std::optional<ShellText> ShellEvaluator::printed_of(const ShellCommand& command) {
  const std::string& program = command.words.front().text;
  if (!command.words.front().unknowns.empty()) return std::nullopt;
  std::optional<ShellText> input;
  if (command.input.size() == 1) input = command.input.front();
  const auto read_on = [&] {  // what the command around this one reads
    if (command.input.empty() && !command.reads_elsewhere) input = rest_of_input();
  };
  if (program == "cat" && (command.words.size() == 1 || (command.words.size() == 2 && command.words[1].text == "-"))) {
    read_on();
    return input;
  }
  if (program == "cat" && command.words.size() == 2 && command.words[1].unknowns.empty()) {
    std::string_view path = command.words[1].text;
    while (path.starts_with("./")) path.remove_prefix(2);
    const auto file = state_.files.find(std::string(path));
    if (file != state_.files.end()) return file->second;
  }
  const std::size_t place = command.words.front().begin;
  const auto placed = [&](std::string text) {
    std::vector<std::size_t> origin(text.size(), place);
    return ShellText{std::move(text), std::move(origin), {}};
  };
  auto text_of_place = printed_place(command.words);
  if (!text_of_place) text_of_place = printed_new_name(command.words);
  if (auto text = text_of_place) {
    text->origin.assign(text->text.size(), place);
    append(*text, {"\n", {place}, {}});
    return text;
  }
  if (program == "getopt" && command.words.back().text == "--") return placed(" --\n");  // no argument
  if (auto text = printed_with_holes(command.words)) return text;
  std::vector<ShellWord> all = command.words;
  if (!input && all.size() > 1 && reads_files(program)) {
    std::string path;
    if ((input = text_beside(all.back(), place, path))) all.pop_back();
    if (input && program == "cat" && all.size() == 1) return input;
  }
  std::vector<std::string> words;
  for (const ShellWord& word : all) {
    if (!word.unknowns.empty()) return std::nullopt;
    words.push_back(word.text);
  }
  if (auto text = printed_by(words)) return placed(*text + "\n");
  if (!input) read_on();
  if (input && input->unknowns.empty()) {
    if (auto text = filtered_by(words, input->text)) return placed(std::move(*text));
  }
  return std::nullopt;
}

// echo and printf, whose words may have holes.
std::optional<ShellText> ShellEvaluator::printed_with_holes(const std::vector<ShellWord>& words) {
  const std::string& program = words.front().text;
  if (program == "printf") {
    const std::size_t format = words.size() > 1 && words[1].text == "--" ? 2 : 1;
    if (words.size() <= format || !words[format].unknowns.empty()) return std::nullopt;
    return formatted(words[format].text, {words.begin() + static_cast<std::ptrdiff_t>(format) + 1, words.end()},
                     words[format].begin);
  }
  if (program != "echo") return std::nullopt;
  std::size_t first = 1;
  bool line = true;
  for (; first < words.size() && (words[first].text == "-n" || words[first].text == "-e"); ++first)
    line = line && words[first].text != "-n";
  ShellText out;
  for (std::size_t i = first; i < words.size(); ++i) {
    if (words[i].text.find('\\') != std::string::npos) return std::nullopt;  // shells differ about it
    if (i == first && words[i].text.starts_with('-') && words[i].text.size() > 1 && words[i].text[1] != '-' &&
        words[i].text.find_first_not_of("-neE") == std::string::npos)
      return std::nullopt;
    if (i > first) append(out, {" ", {words[i].begin}, {}});
    append(out, words[i]);
  }
  if (line) append(out, {"\n", {words.back().end}, {}});
  return out;
}

// --- reading ---

// What is left of what the command around this one reads.
std::optional<ShellText> ShellEvaluator::rest_of_input() {
  if (!input_) return std::nullopt;
  ShellText rest = tail(input_->text, input_->at);
  input_->at = input_->text.text.size();
  return rest;
}

// Programs that read whatever is there, also where a loop around them reads it line by line.
bool ShellEvaluator::eats_input(const ShellCommand& command) const {
  if (!input_ || !command.input.empty() || command.reads_elsewhere || command.words.empty()) return false;
  const std::string_view program = base_name(command.words.front().text);
  const auto has = [&](std::string_view text) {
    return std::ranges::any_of(command.words, [&](const ShellWord& word) { return word.text == text; });
  };
  if (is_one_of(program, {"ssh", "srun"})) return !has("-n") && !has("-f");
  if (is_one_of(program, {"docker", "podman", "kubectl"})) return has("-i") || has("-it") || has("--interactive");
  return command.words.size() == 1 && is_one_of(program, {"cat", "sort", "uniq", "wc", "head", "tail"});
}

// The input that redirections give; `given` tells whether any does.
std::optional<ShellText> ShellEvaluator::redirected_input(const std::vector<Redirection>& redirections, bool& given) {
  std::optional<ShellText> out;
  for (const Redirection& r : redirections) {
    const bool document = r.here_document >= 0 || r.op == "<<<";
    if (!document && r.op != "<" && r.op != "<>") continue;
    given = true;
    out.reset();
    if (document) {
      ShellCommand command;
      here_document(r, command);
      if (r.here_document >= 0 && command.input.empty()) out = ShellText{};
      if (command.input.size() == 1) out = std::move(command.input.front());
    } else if (auto printed = captured_process(r.target)) {
      out = std::move(printed);
    } else if (const ShellWord file = expand_single(r.target); file.unknowns.empty()) {
      const auto known = state_.files.find(file.text.starts_with("./") ? file.text.substr(2) : file.text);
      if (known != state_.files.end()) out = known->second;
      if (file.text == "/dev/null") out = ShellText{};
      std::string path;
      if (!out) out = text_beside(file, file.begin, path);
    } else {
      std::string path;
      out = text_beside(expand_single(r.target), outer(r.target.begin), path);
    }
  }
  return out;
}

// A compound command with redirections: what it reads is read by those inside.
Status ShellEvaluator::run_redirected(const Node& node) {
  bool given = false;
  auto input = redirected_input(node.redirections, given);
  if (piped_) {
    if (!given) input = std::move(piped_);
    given = true;
    piped_.reset();
  }
  const bool moved =
      std::any_of(node.redirections.begin(), node.redirections.end(), [](const Redirection& r) { return r.of_output; });
  if (moved && printing_ != nullptr) printing_->known = false;
  if (!given) return run_kind(node);
  auto outer_input = std::exchange(input_, input ? std::optional(Input{std::move(*input), 0}) : std::nullopt);
  const Status status = run_kind(node);
  input_ = std::move(outer_input);
  return status;
}

namespace {

struct ReadOptions {
  bool followed = true;
  bool raw = false;     // -r
  bool array = false;   // -a
  bool chomps = false;  // -t of mapfile
  bool splits = true;   // not with -N
  std::string delimiter = "\n";
  std::size_t most = 0;     // -n of mapfile, -n and -N of read; 0: all
  std::size_t skipped = 0;  // -s
  std::vector<std::string> names = {};
};

ReadOptions read_options(const std::vector<ShellWord>& words, bool lines) {
  ReadOptions out;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (!words[i].unknowns.empty()) out.followed = false;
    if (w.size() < 2 || w[0] != '-') {
      out.names.push_back(w);
      continue;
    }
    for (std::size_t k = 1; k < w.size(); ++k) {
      const char letter = w[k];
      const bool plain = letter == 'r' || (letter == 's' && !lines) || letter == 'e' || (letter == 't' && lines);
      out.raw = out.raw || letter == 'r';
      out.chomps = out.chomps || letter == 't';
      if (plain) continue;
      if (letter == 'a' && !lines) {
        out.array = true;
        continue;  // the name is the next word
      }
      const bool has_value = k + 1 < w.size() || i + 1 < words.size();
      const std::string value = k + 1 < w.size() ? w.substr(k + 1) : has_value ? words[++i].text : std::string();
      const bool counts = letter == 'n' || letter == (lines ? 's' : 'N');
      const auto count = counts ? number_in<int>(value) : std::nullopt;
      if (!lines && count == std::optional<std::int64_t>(0)) out.followed = false;
      if (!lines && letter == 'N') {
        out.delimiter.clear();
        out.splits = false;
      }
      if (letter == 'd' && has_value) out.delimiter = value.substr(0, 1);
      if (count && *count >= 0) (letter == 's' ? out.skipped : out.most) = static_cast<std::size_t>(*count);
      if (letter != 'd' && (letter != 'p' || lines) && (!count || *count < 0)) out.followed = false;
      break;
    }
  }
  return out;
}

}  // namespace

// One line of what a command reads; none at the end of it. `ended`: nothing marks its end.
std::optional<ShellText> ShellEvaluator::next_line(Input& input, const std::string& delimiter, bool& ended) {
  const std::string& text = input.text.text;
  ended = true;
  if (input.at >= text.size()) return std::nullopt;
  const auto found = delimiter.empty() ? std::string::npos : text.find(delimiter, input.at);
  const std::size_t end = std::min(found, text.size());
  ShellText line = slice(input.text, input.at, end);
  if (input.text.origin.empty()) line.origin.assign(line.text.size(), input.at);
  ended = found == std::string::npos;
  input.at = ended ? end : end + 1;
  return line;
}

// So many signs of it at most, up to the delimiter. `ended`: there are fewer, and nothing marks their end.
std::optional<ShellText> ShellEvaluator::next_signs(Input& input, const std::string& delimiter, std::size_t most,
                                                    bool& ended) {
  const std::string_view front = std::string_view(input.text.text).substr(std::min(input.at, input.text.text.size()));
  const std::size_t end = delimiter.empty() ? std::string_view::npos : front.find(delimiter);
  const bool plain = std::ranges::all_of(front.substr(0, most), [](unsigned char c) { return c < 0x80 && c != '\\'; });
  if (!plain) return ShellText(unknown_text("what read -n takes here is not followed", input.at));
  if (end < most || front.size() < most) return next_line(input, delimiter, ended);
  Input part{slice(input.text, 0, input.at + most), input.at};
  if (part.text.origin.empty()) part.text.origin.assign(part.text.text.size(), input.at);
  auto out = next_line(part, {}, ended);
  input.at += most;
  ended = false;
  return out;
}

// read and mapfile; none where what they read is not known.
std::optional<Status> ShellEvaluator::read_known(const ShellCommand& command) {
  const bool lines = command.words.front().text != "read";
  const ReadOptions options = read_options(command.words, lines);
  std::optional<Input> own;
  if (command.input.size() == 1) own = Input{command.input.front(), 0};
  if (!own && (command.reads_elsewhere || !input_)) return std::nullopt;
  Input& input = own ? *own : *input_;
  std::optional<std::string> ifs = options.splits ? separators() : std::string();
  for (const ShellWord& a : command.assignments) {
    if (a.text.starts_with("IFS=")) ifs = a.unknowns.empty() ? std::optional(a.text.substr(4)) : std::nullopt;
  }
  if (input.text.text.find('\0') != std::string::npos) return std::nullopt;
  if (!options.followed || !ifs || !spend(input.text.text.size() / 8 + 8)) return std::nullopt;
  if (lines) {
    bool ended = false;
    if (!input.text.unknowns.empty()) return std::nullopt;
    for (std::size_t i = 0; i < options.skipped && next_line(input, options.delimiter, ended); ++i) {
    }
    return read_all_lines(input, options.delimiter, options.chomps, options.most, options.names);
  }
  bool ended = false;
  const auto line = options.most > 0 ? next_signs(input, options.delimiter, options.most, ended)
                                     : next_line(input, options.delimiter, ended);
  const ShellText known = line.value_or(ShellText{});
  const bool escapes = !options.raw && known.text.find('\\') != std::string::npos;
  if (!known.unknowns.empty() || escapes) return std::nullopt;
  if (options.names.empty() && !options.array) {
    remember("REPLY", {.text = known}, false, nullptr);
    return ended ? Status::kFalse : Status::kTrue;
  }
  Fields fields(known, *ifs);
  if (options.array) {
    ShellValue value{.is_array = true};
    while (!fields.done()) value.items.emplace_back(std::to_string(value.items.size()), fields.next());
    if (!options.names.empty()) remember(options.names.front(), std::move(value), false, nullptr);
    return ended ? Status::kFalse : Status::kTrue;
  }
  for (const std::string& name : options.names) {
    const bool last = &name == &options.names.back();
    remember(name, {.text = last ? fields.rest() : fields.next()}, false, nullptr);
  }
  return ended ? Status::kFalse : Status::kTrue;
}

std::optional<Status> ShellEvaluator::read_all_lines(Input& input, const std::string& delimiter, bool chomps,
                                                     std::size_t most, const std::vector<std::string>& names) {
  if (!input.text.unknowns.empty() || delimiter.empty()) return std::nullopt;
  ShellValue value{.is_array = true};
  bool ended = false;
  while (most == 0 || value.items.size() < most) {
    auto line = next_line(input, delimiter, ended);
    if (!line) break;
    if (!chomps && !ended) append(*line, {delimiter, {line->origin.empty() ? 0 : line->origin.back()}, {}});
    value.items.emplace_back(std::to_string(value.items.size()), std::move(*line));
  }
  remember(names.empty() ? "MAPFILE" : names.front(), std::move(value), false, nullptr);
  return Status::kTrue;
}

}  // namespace preflight::sources
