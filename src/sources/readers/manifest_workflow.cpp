// Steps that a workflow runs. Tested by tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/base/limits.h"
#include "src/sources/file_steps.h"
#include "src/sources/container_command.h"
#include "src/sources/programs.h"
#include "src/sources/readers/manifest_reader.h"
#include "src/sources/shell/bash_only.h"
#include "src/sources/readers/workflow_condition.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

constexpr std::string_view kNameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

std::string left_open(const std::string& name, std::string_view file) {
  return fmt::format("{} may be written to {} by a step above; give it with {}", name, file, how_to_set(name));
}

// What stands behind `export NAME=` where bash takes it as it is, without quotes around it.
std::optional<ShellText> plain_value(ShellText value) {
  constexpr std::string_view kSpecial = " \t\\\"'$`*?[]{}()<>|&;#~!";
  const std::string& text = value.text;
  const bool quoted = text.size() > 1 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  if (quoted) value = slice(value, 1, text.size() - 1);
  return value.text.find_first_of(kSpecial) == std::string::npos ? std::optional(std::move(value)) : std::nullopt;
}

// The program of `shell: bash -e {0}`.
std::string_view first_word(std::string_view shell) { return shell.substr(0, shell.find(' ')); }

// Options of the shell that runs a step where `shell` names it: GitHub's own where it is a name alone.
std::vector<std::string> options_of_step(const std::string& shell) {
  if (shell == "bash") return {"-eo", "pipefail"};
  if (shell == "sh") return {"-e"};
  const std::vector<ShellWord> words = plain_words(ShellText{shell});
  return words.empty() ? std::vector<std::string>{} : options_of_shell(words, 0, words.size());
}

}  // namespace

// A step of a workflow: its lines are one script. ${{ … }} is filled in where it runs.
void ManifestReader::step(const YamlNode& value, const Around& around) {
  ShellText script;
  for (const ShellWord& line : words_of(value)) {
    append(script, line);
    append(script, {"\n", {line.end}, {}});
  }
  if (azure_) script = with_macros(script, around.macros);
  if (!speaks(script)) return tell_scripts(script, around);
  if (around.never) return finder_.account(script);
  if (takes_bash_env(around)) {
    Around set = around;
    for (auto& [name, written] : set.bash_env) set.env.insert_or_assign(name, std::move(written));
    set.bash_env.clear();
    return step(value, set);
  }
  if (!around.shell.empty() && !is_shell(first_word(around.shell))) return step_elsewhere(script, around);
  RunContext context = context_of(around);
  if (tekton_ && !script.text.starts_with("#!")) context.options = {"-e"};  // which Tekton puts in front
  const std::string shell(base_name(first_word(around.shell)));
  if (shell == "sh" || shell == "dash") ask_of_sh(without_expressions(script, around.env), context.unknown);
  turns(script, around, around.env, context);
}

// A step that names no launch may run scripts, which nobody reads here. One that no shell reads runs none.
void ManifestReader::tell_scripts(const ShellText& script, const Around& around) {
  const bool other_shell = !around.shell.empty() && !is_shell(first_word(around.shell));
  if (around.never || other_shell || script.text.find(".sh") == std::string::npos) return;
  LaunchFinder inner(source_.text, given_);
  if (!finder_.descend(inner, source_.text.size())) return;
  const auto done = inner.script(without_expressions(script, around.env), context_of(around));
  if (!done || inner.error()) return;
  finder_.adopt(
      inner, [](std::size_t at) { return at; }, [](std::size_t) { return std::string(); });
}

// Keys of cloud-init that one script is made of.
constexpr std::array<const char*, 3> kCloudKeys = {"bootcmd", "write_files", "runcmd"};

bool ManifestReader::is_cloud_config(const YamlNode& node, const Around& around) const {
  return around.dialect == Dialect::kPiece && source_.text.starts_with("#cloud-config") &&
         std::any_of(kCloudKeys.begin(), kCloudKeys.end(),
                     [&](const char* key) { return is_list(value_of(node, key)); });
}

// What cloud-init does to a machine, as one script: bootcmd, then files are written, then runcmd.
void ManifestReader::cloud_config(const YamlNode& node, const Around& around) {
  ShellText script;
  for (const char* key : kCloudKeys) {
    const YamlNode* list = value_of(node, key);
    if (!is_list(list)) continue;
    const bool files = std::string_view(key) == "write_files";
    if (!files) cloud_commands(*list, script);
    for (const YamlNode* item : list->items) {
      if (files && is_map(item)) append(script, cloud_file(*item));
    }
  }
  if (speaks(script)) run_script(script, context_of(around, "runcmd"));
}

// A file of write_files as the here-document that writes it; nothing where its text is not written plainly.
ShellText ManifestReader::cloud_file(const YamlNode& file) const {
  const YamlNode* content = value_of(file, "content");
  const YamlNode* path = value_of(file, "path");
  const std::string encoding = text_of(file, "encoding");
  if (!is_scalar(content) || !is_scalar(path) || !(encoding.empty() || encoding == "text/plain")) return {};
  const ShellWord text = tree_.word(*content);
  ShellText out;
  const auto sign = [&](std::string_view written, std::size_t at) {
    append(out, {std::string(written), std::vector<std::size_t>(written.size(), at), {}});
  };
  sign(text_of(file, "append") == "true" ? "cat >> " : "cat > ", text.begin);
  append_quoted(out, tree_.word(*path));
  sign("<<'END_OF_THE_FILE'\n", text.begin);
  append(out, text);
  sign(text.text.ends_with('\n') ? "END_OF_THE_FILE\n" : "\nEND_OF_THE_FILE\n", std::max(text.end, text.begin + 1) - 1);
  return out;
}

// runcmd and bootcmd: a list among the items is a command of which every word is quoted.
void ManifestReader::cloud_commands(const YamlNode& list, ShellText& script) {
  for (const YamlNode* item : list.items) {
    if (!is_list(item)) {
      if (is_scalar(item)) append(script, tree_.word(*item));
    } else {
      for (const ShellWord& word : words_of(*item)) append_quoted(script, word);
    }
    append(script, {"\n", {script.origin.empty() ? 0 : script.origin.back()}, {}});
  }
}

// A word in single quotes and a space behind it; a quote in it stands between two of them.
void ManifestReader::append_quoted(ShellText& script, const ShellWord& word) {
  append(script, {"'", {word.begin}, {}});
  std::size_t from = 0;
  for (auto quote = word.text.find('\''); quote != std::string::npos; quote = word.text.find('\'', from)) {
    append(script, slice(word, from, quote));
    for (const char sign : std::string_view("'\\''")) append(script, {std::string(1, sign), {word.begin}, {}});
    from = quote + 1;
  }
  append(script, tail(word, from));
  append(script, {"'", {std::max(word.end, word.begin + 1) - 1}, {}});  // the word ends where it does in the file
  append(script, {" ", {word.end}, {}});
}

// A step that no shell of ours runs: Python, or a shell of Windows.
void ManifestReader::step_elsewhere(const ShellText& script, const Around& around) {
  const ShellText filled = without_expressions(script, around.env);
  const bool python = first_word(around.shell).starts_with("python");
  if (python && (filled.unknowns.empty() || !around.matrix.empty())) {  // as if it were handed to python
    ShellText handed;
    const auto sign = [&](std::string_view text, std::size_t at) {
      append(handed, {std::string(text), std::vector<std::size_t>(text.size(), at), {}});
    };
    sign("python - <<'END_OF_THE_STEP'\n", script.origin.front());
    append(handed, script);
    sign("\nEND_OF_THE_STEP\n", script.origin.back());
    return turns(handed, around, around.env, context_of(around));
  }
  finder_.note({"SH004",
                python ? fmt::format("a program of Python names a launch and is not known as it stands: {}",
                                     filled.unknowns.front().message)
                       : fmt::format("{} runs a text that names a launch: that shell is not read here",
                                     first_word(around.shell)),
                script.origin.front()});
}

// Rows in which a condition does not hold are left out; true where it holds in all others.
bool ManifestReader::decided_by_matrix(const std::string& condition, Around& around) {
  if (around.matrix.empty() || condition.find("matrix.") == std::string::npos) return false;
  bool all = true;
  std::erase_if(around.matrix, [&](const auto& row) {
    const std::optional<bool> holds = holds_in_row(condition, row);
    all = all && holds.has_value();
    return holds == false;
  });
  around.never = around.matrix.empty();
  return all;
}

// `if` of a job or of a step, `when` of a task. What always holds is no condition.
void ManifestReader::asked(const YamlNode& node, std::string_view key, Around& around) {
  const YamlNode* value = value_of(node, key);
  if (value == nullptr) return;
  std::string text = is_scalar(value) ? value->text : "a list of conditions";
  if (text.starts_with("${{") && text.ends_with("}}")) text = text.substr(3, text.size() - 5);
  text = text.substr(std::min(text.find_first_not_of(" \n"), text.size()));
  text.erase(text.find_last_not_of(" \n") + 1);
  constexpr auto kAlways = std::to_array<std::string_view>(
      {"", "true", "always()", "success()", "!cancelled()", "succeeded()", "succeededOrFailed()"});
  if (std::ranges::find(kAlways, text) != kAlways.end()) return;
  if (key == "if" && decided_by_matrix(text, around)) return;
  constexpr std::size_t kMostShown = 80;
  if (text.size() > kMostShown) text = text.substr(0, kMostShown) + "…";
  std::replace(text.begin(), text.end(), '\n', ' ');
  around.when.add(where({written(text), {" holds"}}));
}

// What a job, or the file, says of its steps: the shell and the container that they run in.
void ManifestReader::job_settings(const YamlNode& node, Around& around) {
  const YamlNode* machine = value_of(node, "runs-on");
  if (machine != nullptr) {
    if (around.shell.empty()) around.options = {"-e"};
    const auto labels = tree_.words(*machine);
    const bool windows =
        std::any_of(labels.begin(), labels.end(), [](const ShellWord& one) { return one.text.starts_with("windows"); });
    if (windows && around.shell.empty()) around.shell = "pwsh";
  }
  const YamlNode* defaults = value_of(node, "defaults");
  const YamlNode* run = is_map(defaults) ? value_of(*defaults, "run") : nullptr;
  const std::string before = around.shell;
  if (is_map(run) && !text_of(*run, "shell").empty()) around.shell = text_of(*run, "shell");
  if (is_scalar(value_of(node, "run")) && !text_of(node, "shell").empty()) around.shell = text_of(node, "shell");
  if (around.shell != before) around.options = options_of_step(around.shell);
  const YamlNode* container = value_of(node, "container");
  if (machine == nullptr || container == nullptr) return;
  if (is_map(container)) {
    take_image(*container, around);
    Values inside;  // the job's own variables win
    if (const YamlNode* env = value_of(*container, "env")) environment(*env, around, inside);
    around.env.insert(inside.begin(), inside.end());
  } else if (is_scalar(container)) {
    const ShellWord image = tree_.word(*container);
    set_image(image.text, without_expressions(image, around.env), around);
  }
}

// `uses: docker://IMAGE`: a container of its own, with an entrypoint and arguments that are split as words.
bool ManifestReader::step_in_image(const YamlNode& node, const Around& around) {
  constexpr std::string_view kDocker = "docker://";
  const YamlNode* with = value_of(node, "with");
  const std::string image = text_of(node, "uses");
  if (!image.starts_with(kDocker) || !is_map(with)) return false;
  std::vector<ShellWord> words;
  for (const char* key : {"entrypoint", "args"}) {
    const YamlNode* value = value_of(*with, key);
    if (!is_scalar(value)) continue;
    const ShellWord text = tree_.word(*value);
    const ShellWord filled{without_expressions(text, around.env), text.begin, text.end};
    for (ShellWord& word : plain_words(filled)) words.push_back(std::move(word));
  }
  RunContext context = context_of(around);
  if (const YamlNode* env = value_of(node, "env")) environment(*env, around, context.env);
  context.image = image.substr(kDocker.size());
  context.elsewhere = true;
  if (std::ranges::none_of(words, [](const ShellWord& word) { return speaks(word); })) return false;
  if (around.never)
    for (const ShellWord& word : words) finder_.account(word);
  else
    finder_.words(words, context);
  return true;
}

// Steps one after another: what one writes to $GITHUB_ENV, those behind it see.
void ManifestReader::steps(const YamlNode& list, Around around, int depth) {
  for (const YamlNode* item : list.items) {
    std::size_t seen = 1;  // by each step: it has variables of its own, and those around it
    for (const auto& [name, value] : around.env) seen += 1 + value.text.size() / limits::kStepBytes;
    if (!spend(seen)) return;
    walk(*item, around, depth + 1, "steps");
    if (is_map(item)) written_variables(*item, around);
  }
}

// The variable that names the file whose variables later steps find set.
std::string_view ManifestReader::variables_file() const { return circle_ ? "BASH_ENV" : "GITHUB_ENV"; }

// NAME=VALUE lines that `echo` writes to $GITHUB_ENV, `export NAME=VALUE` to CircleCI's $BASH_ENV; false where it is
// not plain what this command writes there.
bool ManifestReader::is_written(const ShellCommand& command, bool conditional, Values& env) const {
  if (command.words.size() < 2 || command.words[0].text != "echo") return false;
  std::string_view behind = source_.text.substr(std::min(command.end, source_.text.size()));
  behind = behind.substr(0, behind.find('\n'));
  const auto skip = [&](std::string_view characters) {
    behind.remove_prefix(std::min(behind.find_first_not_of(characters), behind.size()));
  };
  skip(" \t\"'");
  constexpr std::string_view kTee = "| tee -a";
  if (behind.starts_with(kTee))
    behind.remove_prefix(kTee.size());
  else if (!behind.starts_with(">"))
    return false;
  skip(" \t\"'>${");
  if (!behind.starts_with(variables_file())) return false;
  ShellText line;
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    if (i > 1) append(line, {" ", {command.words[i].begin}, {}});
    append(line, command.words[i]);
  }
  constexpr std::string_view kExport = "export ";
  if (circle_ && !line.text.starts_with(kExport)) return false;
  if (circle_) line = tail(line, kExport.size());
  const auto equals = line.text.find('=');
  if (equals == std::string::npos || equals != line.text.find_first_not_of(kNameCharacters) ||
      line.text.find('\n') != std::string::npos)
    return false;
  const std::string name = line.text.substr(0, equals);
  ShellText value = tail(line, equals + 1);
  const auto plain = circle_ ? plain_value(value) : std::optional(value);
  if (!plain) return false;
  value = conditional ? unknown_text(left_open(name, variables_file()), command.begin) : *plain;
  env.insert_or_assign(name, value);
  return true;
}

// What a step writes to $GITHUB_ENV, or to CircleCI's $BASH_ENV: known where plain `echo` does it, else a name whose
// value nobody knows here.
void ManifestReader::written_variables(const YamlNode& step, Around& around) {
  const YamlNode* run = value_of(step, "run");
  const YamlNode& own_part = is_map(run) ? *run : step;  // of CircleCI
  if (is_map(run)) run = value_of(*run, "command");
  if (!is_scalar(run)) return;
  const std::string_view file = variables_file();
  const ShellWord text = tree_.word(*run);
  if (text.text.find(file) == std::string::npos && text.text.find("${{") == std::string::npos) return;
  Values env = around.env;
  if (const YamlNode* own = value_of(own_part, circle_ ? "environment" : "env")) environment(*own, around, env);
  const ShellText script = without_expressions(text, env);
  std::size_t open = 0;
  for (auto at = script.text.find(file); at != std::string::npos; at = script.text.find(file, at + 1)) ++open;
  constexpr std::size_t kCopies = 5;  // of all variables, while a shell is followed beside the one of the step itself
  if (open == 0 || !spend(kCopies * env.size())) return;
  Values written;
  ShellStart start{.given = given_, .environment = env};
  start.on_command = [&](const ShellCommand& command, const Values&, const Conditions& when) {
    const bool may_not = !when.empty() || value_of(own_part, circle_ ? "when" : "if") != nullptr;
    if (is_written(command, may_not, written) && open > 0) --open;
  };
  start.wants_environment = [](const ShellCommand&) { return false; };
  if (!follow_shell(script, source_.text, start)) open = 1;
  bool any = false;
  for (auto at = script.text.find('='); open > 0 && at != std::string::npos; at = script.text.find('=', at + 1)) {
    const auto before = at == 0 ? std::string::npos : script.text.find_last_not_of(kNameCharacters, at - 1);
    const std::size_t from = before == std::string::npos ? 0 : before + 1;
    const std::string name = script.text.substr(from, at - from);
    if (name.empty()) continue;
    any = true;
    written.try_emplace(name, unknown_text(left_open(name, file), script.origin.empty() ? 0 : script.origin[from]));
  }
  if (open > 0)
    around.others = unknown_text(fmt::format("may be written to {} by a step above", file), tree_.offset(*run));
  if (open > 0 && !any)
    finder_.note({"SH002", fmt::format("what this step writes to {} is not known", file), tree_.offset(*run)});
  for (auto& [name, value] : written) {
    if (const auto given = given_.find(name); given != given_.end() && !value.unknowns.empty())
      value = {given->second, std::vector<std::size_t>(given->second.size(), value.unknowns.front().offset), {}};
    bytes_ += weight(value);  // one that holds itself twice, again and again
    if (bytes_ > limits::kVariableBytes)
      value = unknown_text(fmt::format("{} is longer than is followed; give it with {}", name, how_to_set(name)),
                           tree_.offset(*run));
    (circle_ ? around.bash_env : around.env).insert_or_assign(name, std::move(value));
  }
}

// A step once for each row of the matrix, as far as it names its columns.
void ManifestReader::turns(const ShellText& script, const Around& around, const Values& env,
                           const RunContext& context) {
  if (around.matrix.empty()) return run_script(without_expressions(script, env), context);
  std::set<std::string> named = columns_named_in(script.text);
  for (const auto& [name, written] : by_matrix_) {
    if (env.contains(name)) named.merge(columns_named_in(written.text));
  }
  std::set<Conditions> seen;
  for (const WorkflowRow& row : around.matrix) {
    Values with = env;
    RunContext inside = context;
    for (const auto& [name, value] : row) {
      if (!spend(1 + script.text.size() / limits::kStepBytes)) return;
      if (named.contains(name)) inside.when.add(with_value("matrix." + name, value.text.text));
    }
    for (const auto& [name, written] : by_matrix_) {
      if (!env.contains(name)) continue;
      const ShellText filled = without_expressions(written, with, &row);
      with.insert_or_assign(name, filled);
      inside.env.insert_or_assign(name, filled);
    }
    if (!seen.insert(inside.when).second) continue;
    if (++turns_ <= limits::kMatrixTurns) {
      run_script(without_expressions(script, with, &row), inside);
    } else if (speaks(script) && told_.insert(script.origin.front()).second) {
      finder_.note({"SH004",
                    fmt::format("the matrices of this file come to more than {} launches: those behind them are not "
                                "looked at",
                                limits::kMatrixTurns),
                    script.origin.front()});
    }
  }
}

namespace {

using Row = WorkflowRow;

bool agrees(const Row& row, const Row& other, const std::set<std::string>& names) {
  return std::all_of(other.begin(), other.end(), [&](const auto& entry) {
    const auto it = row.find(entry.first);
    return !names.contains(entry.first) || (it != row.end() && it->second.text.text == entry.second.text.text);
  });
}

constexpr std::size_t kEntrySteps = 40;  // of a row: each has a word of its own

// An entry of `include` goes to each row of the lists whose values it leaves as they are; to none: a row of its own.
void include_row(const Row& entry, const std::set<std::string>& names, std::size_t of_lists, std::vector<Row>& rows) {
  bool fits = false;
  for (std::size_t i = 0; i < of_lists; ++i) {
    if (!agrees(rows[i], entry, names)) continue;
    if (!FileSteps::take(kEntrySteps * entry.size())) return;
    fits = true;
    for (const auto& [name, value] : entry) rows[i].insert_or_assign(name, value);
  }
  if (!fits) rows.push_back(entry);
}

}  // namespace

// A plain value of YAML, of its kind.
WorkflowValue ManifestReader::workflow_scalar(const YamlNode& node) const {
  using Kind = WorkflowValue::Kind;
  WorkflowValue out = workflow_text(tree_.word(node));
  const bool flag = node.tag == "bool" && (ascii_lower(node.text) == "true" || ascii_lower(node.text) == "false");
  if (node.tag == "null") return {};
  if (flag) return {Kind::kFlag, {ascii_lower(node.text), out.text.origin}};
  if (node.tag == "int" || node.tag == "float") out.kind = Kind::kNumber;
  return out;
}

// The plain values of a mapping, as one row; none where it has others.
std::optional<WorkflowRow> ManifestReader::matrix_row(const YamlNode& node) const {
  Row out;
  if (!is_map(&node)) return std::nullopt;
  for (const auto& [name, value] : node.pairs) {
    if (!is_scalar(name) || !is_scalar(value) || value->text.find("${{") != std::string::npos) return std::nullopt;
    out.insert_or_assign(name->text, workflow_scalar(*value));
  }
  return out;
}

// An item of a list of the matrix: a plain value, or a mapping of such, whose parts are NAME.PART.
std::optional<WorkflowRow> ManifestReader::matrix_item(const std::string& name, const YamlNode& item) const {
  if (is_scalar(&item) && item.text.find("${{") == std::string::npos) return Row{{name, workflow_scalar(item)}};
  const auto parts = is_map(&item) ? matrix_row(item) : std::nullopt;
  if (!parts) return std::nullopt;
  Row out;
  for (const auto& [part, value] : *parts) out.insert_or_assign(name + "." + part, value);
  return out;
}

// strategy.matrix of a job, where its lists hold plain values, or mappings of such, and nothing else.
void ManifestReader::matrix_of(const YamlNode& node, Around& around) {
  const YamlNode* strategy = value_of(node, "strategy");
  const YamlNode* matrix = is_map(strategy) ? value_of(*strategy, "matrix") : nullptr;
  if (!is_map(matrix)) return;
  std::vector<Row> rows = {{}};
  std::set<std::string> names;
  for (const auto& [name, value] : matrix->pairs) {
    if (!is_scalar(name) || name->text == "include" || name->text == "exclude") continue;
    std::vector<Row> items;
    for (std::size_t i = 0; is_list(value) && i < value->items.size(); ++i) {
      auto item = matrix_item(name->text, *value->items[i]);
      if (!item || !spend(kEntrySteps * (item->size() + 1))) return;
      items.push_back(std::move(*item));
    }
    if (!is_list(value)) return;
    std::vector<Row> next;
    for (const Row& row : rows) {
      for (const Row& item : items) {
        if (!spend(kEntrySteps * (row.size() + item.size()))) return;
        next.push_back(row);
        for (const auto& [part, of_item] : item) next.back().insert_or_assign(part, of_item);
        if (next.size() > limits::kMatrixTurns) return;
      }
    }
    names.insert(name->text);
    rows = std::move(next);
  }
  if (names.empty()) rows.clear();
  const YamlNode* exclude = value_of(*matrix, "exclude");
  const YamlNode* include = value_of(*matrix, "include");
  if ((exclude != nullptr && !is_list(exclude)) || (include != nullptr && !is_list(include))) return;
  if (exclude != nullptr) {
    for (const YamlNode* item : exclude->items) {
      const auto entry = matrix_row(*item);
      if (!entry) return;
      std::erase_if(rows, [&](const Row& row) { return agrees(row, *entry, names); });
    }
  }
  const std::size_t of_lists = rows.size();
  if (include != nullptr) {
    for (const YamlNode* item : include->items) {
      const auto entry = matrix_row(*item);
      if (!entry || rows.size() > limits::kMatrixTurns) return;
      include_row(*entry, names, of_lists, rows);
      if (!spend(1 + rows.size())) return;
    }
  }
  around.matrix = std::move(rows);
}

// ${{ … }} where its names are known: what the workflow sets above, an input by its default, a row of the matrix.
// Others are filled in where it runs.
ShellText ManifestReader::without_expressions(const ShellText& text, const Values& env, const WorkflowRow* row) const {
  return filled_expressions(
      text, "${{", "}}", [&](const std::string& expression, std::size_t offset) -> std::optional<ShellText> {
        const WorkflowNames names = [&](const std::string& path) { return of_workflow(path, env, row, offset); };
        auto value = given_.contains(expression)
                         ? std::nullopt
                         : workflow_value(std::string_view(expression).substr(3, expression.size() - 5), names, offset);
        if (!value) return given_or_unknown(expression, offset, "where the workflow runs");
        value->origin.assign(value->text.size(), offset);
        return value;
      });
}

// The inputs of workflow_dispatch, workflow_call and of an action, with their defaults. Two that differ are not known.
void ManifestReader::find_inputs(const YamlNode& root) {
  const YamlNode* events = value_of(root, "on");
  std::vector<const YamlNode*> all = {value_of(root, "inputs")};
  called_only_ = events == nullptr || (is_map(events) && !events->pairs.empty());
  if (is_map(events)) {
    for (const auto& [event, value] : events->pairs) {
      const bool calls = is_scalar(event) && (event->text == "workflow_dispatch" || event->text == "workflow_call");
      called_only_ = called_only_ && calls;
      if (calls && is_map(value)) all.push_back(value_of(*value, "inputs"));
    }
  }
  std::set<std::string> open;
  for (const YamlNode* inputs : all) {
    if (!is_map(inputs)) continue;
    for (const auto& [name, input] : inputs->pairs) {
      if (!is_scalar(name)) continue;
      const YamlNode* value = is_map(input) ? value_of(*input, "default") : nullptr;
      const auto before = inputs_.find(name->text);
      const bool differs = before != inputs_.end() && is_scalar(value) && before->second.text.text != value->text;
      if (!is_scalar(value) || value->text.find("${{") != std::string::npos || differs)
        open.insert(name->text);
      else
        inputs_.insert_or_assign(name->text, input_value(*input, *value));
    }
  }
  for (const std::string& name : open) inputs_.erase(name);
}

// Of the type that the input says; a text where it says none.
WorkflowValue ManifestReader::input_value(const YamlNode& input, const YamlNode& value) const {
  WorkflowValue out = workflow_text(tree_.word(value));
  const std::string type = text_of(input, "type");
  if (type == "boolean") out.kind = WorkflowValue::Kind::kFlag;
  if (type == "number") out.kind = WorkflowValue::Kind::kNumber;
  return out;
}

// A name of an expression: a variable, a column of the matrix, an input by its default.
WorkflowOperand ManifestReader::of_workflow(const std::string& path, const Values& env, const WorkflowRow* row,
                                            std::size_t offset) const {
  const auto behind = [&](std::string_view front) {
    const bool one = path.starts_with(front) && path.find('.', front.size()) == std::string::npos;
    return one ? path.substr(front.size()) : std::string();
  };
  if (row != nullptr && path.starts_with("matrix.")) return names_of_row(*row)(path);
  if (const auto known = env.find(behind("env.")); known != env.end()) return {workflow_text(known->second)};
  if (!behind("vars.").empty()) return {.not_given = path};
  if (const auto known = inputs_.find(behind("parameters.")); azure_ && known != inputs_.end()) {
    WorkflowValue value = known->second;
    const std::size_t at = value.text.origin.empty() ? offset : value.text.origin.front();
    value.text = standing_in(std::move(value.text), path, at);
    return {std::move(value)};
  }
  const bool as_event = path.starts_with("github.event.inputs.");
  const std::string name = behind(as_event ? "github.event.inputs." : "inputs.");
  if (name.empty()) return {};
  const auto input = inputs_.find(name);
  if (input == inputs_.end()) return {.not_given = "inputs." + name};
  if (!called_only_) return {.not_given = "inputs." + name, .otherwise = input->second.text.text};
  WorkflowValue value = input->second;
  if (as_event) value.kind = WorkflowValue::Kind::kText;
  value.text = standing_in(std::move(value.text), "inputs." + name, offset);
  return {std::move(value)};
}

// Variables that a launcher sets from numbers of the file: LeaderWorkerSet's group size, SkyPilot's cards of a node.
void ManifestReader::numbers_of_group(const YamlNode& node, Around& around) {
  const auto number = [&](const std::string& name, const ShellText& text) {
    const bool plain = !text.text.empty() && text.text.find_first_not_of("0123456789") == std::string::npos;
    if (plain && !given_.contains(name)) around.env.insert_or_assign(name, text);
  };
  for (const char* key : {"leaderWorkerTemplate", "leaderWorkerSet"}) {
    const YamlNode* size = at_path(&node, {key, "size"});
    if (is_scalar(size)) number("LWS_GROUP_SIZE", tree_.word(*size));
  }
  if (const YamlNode* size = at_path(&node, {"leaderWorkerPattern", "size"}); is_scalar(size))
    number("RBG_LWP_GROUP_SIZE", tree_.word(*size));
  const YamlNode* resources = value_of(node, "resources");
  if (const YamlNode* gpu = is_map(resources) ? value_of(*resources, "gpu") : nullptr; is_scalar(gpu)) {
    const ShellWord word = tree_.word(*gpu);  // dstack: NAME:MEMORY:COUNT
    const auto colon = word.text.rfind(':');
    if (colon != std::string::npos) {
      if (value_of(node, "nodes") == nullptr) number("DSTACK_GPUS_NUM", tail(word, colon + 1));
      number("DSTACK_GPUS_PER_NODE", tail(word, colon + 1));
    }
  }
  const YamlNode* nodes = value_of(node, "num_nodes");
  if (is_scalar(nodes) && value_of(node, "run") != nullptr) number("SKYPILOT_NUM_NODES", tree_.word(*nodes));
  const YamlNode* cards = is_map(resources) ? value_of(*resources, "accelerators") : nullptr;
  if (is_scalar(cards) && value_of(node, "run") != nullptr) {
    const ShellWord word = tree_.word(*cards);
    const auto colon = word.text.find(':');
    if (colon != std::string::npos) number("SKYPILOT_NUM_GPUS_PER_NODE", tail(word, colon + 1));
  }
}

}  // namespace preflight::sources
