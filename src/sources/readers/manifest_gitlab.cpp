// Jobs of a GitLab pipeline: what they inherit from `default`, from the top of the file and from the jobs they extend.
// Tested by tests/sources_test.cpp.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/readers/manifest_reader.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

constexpr std::array<std::string_view, 12> kNoJobs = {"default",  "variables", "stages", "include",
                                                      "workflow", "image",     "spec",   "services",
                                                      "cache",    "types",     "pages",  "before_script"};

bool is_script(const YamlNode* node) { return is_scalar(node) || is_list(node); }

}  // namespace

// Jobs are the maps at the top that have a script; nothing else has maps with scripts there.
bool ManifestReader::is_gitlab(const YamlNode& root) {
  if (!is_map(&root) || value_of(root, "jobs") != nullptr || value_of(root, "steps") != nullptr) return false;
  return std::any_of(root.pairs.begin(), root.pairs.end(), [](const auto& pair) {
    return is_map(pair.second) && is_script(value_of(*pair.second, "script"));
  });
}

void ManifestReader::gitlab_pipeline(const YamlNode& root, Around around) {
  pipeline_ = &root;
  tops_.clear();
  name_all(root);
  around.added = circle_among(root, "GitLab");
  if (!around.added) around.added = refused_by_gitlab(root);
  cut_ = cut_ || around.added.has_value();
  for (const auto& [name, value] : pairs_of(root)) {
    if (is_map(value)) note_templates(*value, 0);
  }
  for (const auto& [name, value] : pairs_of(root)) {
    const bool job = is_scalar(name) && is_map(value) &&
                     (name->text == "pages" || std::find(kNoJobs.begin(), kNoJobs.end(), name->text) == kNoJobs.end());
    if (!job || (name->text.starts_with('.') && templates_.contains(value))) continue;
    if (stopped()) return;
    gitlab_job(*value, around);
  }
}

// What is nested deeper, or is looked at more often, than is followed: jobs would be made of less than they are.
bool ManifestReader::beyond(const YamlNode& node, int depth) {
  if (depth <= limits::kManifestDepth && ++seen_ <= limits::kManifestNodes) return false;
  if (!cut_)
    finder_.note(
        {"SH004",
         "jobs here are made of one another deeper, or oftener, than is followed: give the launch as a command",
         tree_.offset(node)});
  cut_ = true;
  return true;
}

// Hidden jobs that others are made of do not run themselves.
void ManifestReader::note_templates(const YamlNode& node, int depth) {
  if (beyond(node, depth)) return;
  for (const YamlNode* base : extended_jobs(node, false)) templates_.insert(base);
  for (const auto& [key, value] : node.pairs) {
    if (is_scalar(key) && key->text == "<<") {
      templates_.insert(value);
      templates_.insert(value->items.begin(), value->items.end());
    }
    for (const YamlNode* item : value->items) {
      if (item->tag != "!reference" || item->items.empty()) continue;
      if (const YamlNode* base = named(item->items.front()->text)) templates_.insert(base);
    }
    if (is_map(value)) note_templates(*value, depth + 1);
  }
}

// The jobs that a job extends: a later one counts more.
std::vector<const YamlNode*> ManifestReader::extended_jobs(const YamlNode& job, bool tells) {
  std::vector<const YamlNode*> out;
  const YamlNode* extends = key_of_job(job, "extends");
  if (extends == nullptr) return out;
  for (const ShellWord& word : tree_.words(*extends)) {
    if (const YamlNode* base = named(word.text); is_map(base)) {
      out.push_back(base);
    } else if (tells && told_.insert(word.begin).second) {
      finder_.note({"SH002", fmt::format("{}, which this job extends, is not in this file", word.text), word.begin});
    }
  }
  return out;
}

// A key of a job or of what it extends.
const YamlNode* ManifestReader::job_part(const YamlNode& job, std::string_view key, int depth) {
  if (const YamlNode* own = value_of(job, key)) return own;
  if (beyond(job, depth)) return nullptr;
  const auto bases = extended_jobs(job);
  for (auto base = bases.rbegin(); base != bases.rend(); ++base) {
    if (const YamlNode* part = job_part(**base, key, depth + 1)) return part;
  }
  return nullptr;
}

// …or of `default`, or of the top of the file, unless the job says that it inherits nothing.
const YamlNode* ManifestReader::inherited_part(const YamlNode& job, std::string_view key) {
  if (const YamlNode* part = job_part(job, key, 0)) return part;
  const YamlNode* inherit = job_part(job, "inherit", 0);
  if (is_map(inherit) && text_of(*inherit, "default") == "false") return nullptr;
  const YamlNode* defaults = of_pipeline("default");
  const YamlNode* part = is_map(defaults) ? value_of(*defaults, key) : nullptr;
  return part != nullptr ? part : of_pipeline(key);
}

// Each job asks for keys at the top, of which there are as many as jobs.
const YamlNode* ManifestReader::of_pipeline(std::string_view key) {
  if (tops_.empty()) {
    for (const auto* pairs : {&pipeline_->pairs, &pipeline_->merged}) {
      for (const auto& [name, value] : *pairs) {
        if (is_scalar(name)) tops_.emplace(name->text, value);
      }
    }
  }
  const auto found = tops_.find(key);
  return found == tops_.end() ? nullptr : found->second;
}

const YamlNode* ManifestReader::key_of_job(const YamlNode& job, std::string_view key) {
  return &job == pipeline_ ? of_pipeline(key) : value_of(job, key);
}

// Variables as they are written: the job's own win over those of what it extends.
void ManifestReader::job_variables(const YamlNode& job, Values& written, int depth) {
  if (beyond(job, depth)) return;
  for (const YamlNode* base : extended_jobs(job)) job_variables(*base, written, depth + 1);
  const YamlNode* own = key_of_job(job, "variables");
  if (!is_map(own)) return;
  for (const auto& [name, value] : pairs_of(*own)) {
    const YamlNode* described = is_map(value) ? value_of(*value, "value") : nullptr;
    if (is_scalar(name) && (is_scalar(value) || is_scalar(described)))
      written.insert_or_assign(name->text, tree_.word(is_scalar(value) ? *value : *described));
    else if (is_scalar(name))
      set_unknown(name->text, "whoever runs the pipeline", *name, written);
  }
}

// What the rules that start a job, or a pipeline, set: of one rule alone that is what it runs with.
void ManifestReader::rule_variables(const YamlNode* rules, std::string_view whose, Values& written) const {
  if (!is_list(rules)) return;
  std::vector<const YamlNode*> starting;
  for (const YamlNode* rule : rules->items) {
    if (is_map(rule) && text_of(*rule, "when") == "never") continue;
    starting.push_back(rule);
  }
  for (const YamlNode* rule : starting) {
    const YamlNode* variables = is_map(rule) ? value_of(*rule, "variables") : nullptr;
    if (!is_map(variables)) continue;
    for (const auto& [name, value] : pairs_of(*variables)) {
      if (!is_scalar(name)) continue;
      if (starting.size() == 1 && is_scalar(value))
        written.insert_or_assign(name->text, tree_.word(*value));
      else
        set_unknown(name->text, fmt::format("the rules of its {}", whose), *name, written);
    }
  }
}

// $$ is a dollar that names nothing, however often a value is filled in. No value holds kDollar itself.
static constexpr char kDollar = '\x02';

static void keep_dollars(Values& env) {
  for (auto& [name, value] : env) {
    for (auto at = value.text.find("$$"); at != std::string::npos; at = value.text.find("$$", at + 1)) {
      ShellText out = slice(value, 0, at);
      append(out, {std::string(1, kDollar), {value.origin.empty() ? 0 : value.origin[at]}, {}});
      append(out, tail(value, at + 2));
      value = std::move(out);
    }
  }
}

// Values of variables name other variables: they are filled in once all are known.
void ManifestReader::fill_in(const Values& written, Values& env) const {
  env = written;
  keep_dollars(env);
  fill_in_names(env);
  for (auto& [name, value] : env) std::ranges::replace(value.text, kDollar, '$');
}

void ManifestReader::fill_in_names(Values& env) const {
  constexpr std::size_t kNamesOfAStep = 8;  // that are looked for in a value
  if (env.size() > limits::kGitlabVariables) {
    for (auto& [name, value] : env) {
      if (value.text.find('$') != std::string::npos)
        value = unknown_text(
            fmt::format("{} is one of too many variables to follow; give it with {}", name, how_to_set(name)),
            value.origin.empty() ? 0 : value.origin.front());
    }
    return;
  }
  for (int turn = 0; turn < limits::kVariableDepth; ++turn) {
    bool changed = false;
    Values others = env;
    for (auto& [name, value] : env) {
      if (value.text.find('$') == std::string::npos || value.text.size() > limits::kManifestWords) continue;
      if (!spend(env.size() / kNamesOfAStep + value.text.size() + 1)) return;
      auto own = others.extract(name);
      const ShellWord word{value, value.origin.empty() ? 0 : value.origin.front(), 0};
      const auto filled = interpolate(word, Interpolation::kCompose, source_.text, given_, others);
      own.mapped() = filled ? static_cast<const ShellText&>(*filled) : value;
      others.insert(std::move(own));
      if (!filled || filled->text == value.text) continue;
      value = *filled;
      changed = true;
    }
    if (!changed) return;
  }
}

// parallel: matrix: a job for each of its values.
void ManifestReader::matrix_variables(const YamlNode& job, Values& env) {
  const YamlNode* parallel = job_part(job, "parallel", 0);
  const YamlNode* matrix = is_map(parallel) ? value_of(*parallel, "matrix") : nullptr;
  if (!is_list(matrix)) return;
  for (const YamlNode* item : matrix->items) {
    for (const auto& [name, value] : pairs_of(*item)) {
      if (is_scalar(name)) set_unknown(name->text, "parallel: matrix", *name, env);
    }
  }
}

// Its rows: of each entry the lists of values crossed. None where a value is no plain one, or one is given for all.
std::vector<Values> ManifestReader::gitlab_matrix(const YamlNode& job) {
  const YamlNode* parallel = job_part(job, "parallel", 0);
  const YamlNode* matrix = is_map(parallel) ? value_of(*parallel, "matrix") : nullptr;
  std::vector<Values> out;
  if (!is_list(matrix)) return out;
  for (const YamlNode* item : matrix->items) {
    std::vector<Values> rows(1);
    for (const auto& [name, value] : pairs_of(*item)) {
      std::vector<const YamlNode*> values(value->items.begin(), value->items.end());
      if (!is_list(value)) values = {value};
      if (!is_scalar(name) || !std::ranges::all_of(values, [](const YamlNode* one) { return is_scalar(one); }) ||
          given_.contains(name->text))
        return {};
      std::vector<Values> next;
      for (const Values& row : rows) {
        for (const YamlNode* one : values) {
          if (next.size() >= limits::kMatrixTurns || !spend(row.size() + 1)) return {};
          next.push_back(row);
          next.back().insert_or_assign(name->text, tree_.word(*one));
        }
      }
      rows = std::move(next);
    }
    if (out.size() + rows.size() > limits::kMatrixTurns) return {};
    out.insert(out.end(), rows.begin(), rows.end());
  }
  return out;
}

void ManifestReader::gitlab_job(const YamlNode& job, const Around& around) {
  const std::vector<Values> rows = gitlab_matrix(job);
  for (const Values& row : rows) gitlab_job(job, around, row);
  if (rows.empty()) gitlab_job(job, around, {});
}

// Lines of a script: lists in lists, and what `!reference [JOB, KEY]` names.
void ManifestReader::script_lines(const YamlNode& node, ShellText& out, int depth) {
  if (beyond(node, depth)) return;
  if (is_scalar(&node)) {
    const ShellWord line = tree_.word(node);
    append(out, line);
    append(out, {"\n", {line.end}, {}});
  }
  if (node.tag != "!reference") {
    for (const YamlNode* item : node.items) script_lines(*item, out, depth + 1);
    return;
  }
  const YamlNode* at = pipeline_;
  for (const YamlNode* key : node.items) at = at != nullptr && is_scalar(key) ? key_of_job(*at, key->text) : nullptr;
  if (at != nullptr) return script_lines(*at, out, depth + 1);
  const std::size_t offset = tree_.offset(node);
  if (told_.insert(offset).second)
    finder_.note({"SH002", "what this !reference names is not in this file: what it does is not known", offset});
}

// before_script and script run in one shell, after_script in another one.
void ManifestReader::gitlab_job(const YamlNode& job, Around around, const Values& row) {
  constexpr std::size_t kCopies = 5;
  Values written;
  job_variables(*pipeline_, written, 0);
  if (!spend(kCopies * written.size())) return;
  if (const YamlNode* workflow = of_pipeline("workflow"); is_map(workflow))
    rule_variables(value_of(*workflow, "rules"), "pipeline", written);
  job_variables(job, written, 0);
  rule_variables(job_part(job, "rules", 0), "job", written);
  for (const auto& [name, value] : row) written.insert_or_assign(name, value);
  fill_in(written, around.env);
  set_by_runner(job, around);
  if (row.empty()) matrix_variables(job, around.env);
  const YamlNode* image = inherited_part(job, "image");
  if (is_map(image)) image = value_of(*image, "name");
  if (is_scalar(image)) {
    const ShellWord word = tree_.word(*image);
    const auto filled = interpolate(word, Interpolation::kCompose, source_.text, given_, around.env);
    set_image(word.text, filled ? static_cast<const ShellText&>(*filled) : word, around);
  }
  const YamlNode* when = job_part(job, "when", 0);
  if (is_scalar(when) && when->text != "on_success" && when->text != "always")
    around.when = {{where({{"its job is started: when: "}, sources::written(when->text)})}};
  for (const std::string_view key : {"rules", "only", "except"}) {
    if (job_part(job, key, 0) == nullptr || !around.when.empty()) continue;
    around.when = {{where({{fmt::format("`{}` of its job let it", key)}})}};
  }
  around.options = {"-eo", "pipefail"};  // which its runner sets
  for (const auto& [name, value] : row) around.when.add(with_value(name, value.text));
  const auto run = [&](std::initializer_list<std::string_view> keys) {
    ShellText script;
    for (const std::string_view key : keys) {
      const YamlNode* part = key == "script" ? job_part(job, key, 0) : inherited_part(job, key);
      if (part != nullptr) script_lines(*part, script, 0);
    }
    if (speaks(script)) run_script(script, context_of(around));
  };
  run({"before_script", "script"});
  run({"after_script"});
  if (const YamlNode* services = value_of(job, "services"); is_list(services)) {
    for (const YamlNode* one : services->items) gitlab_service(*one, around);
  }
}

// {name: IMAGE, entrypoint: […], command: […]}, which sees the variables of its job.
void ManifestReader::gitlab_service(const YamlNode& service, Around around) {
  if (!is_map(&service)) return;
  around.options.clear();
  around.name = text_of(service, "alias");
  around.image.clear();
  if (const YamlNode* image = value_of(service, "name"); is_scalar(image)) {
    const ShellWord word = tree_.word(*image);
    const auto filled = interpolate(word, Interpolation::kCompose, source_.text, given_, around.env);
    set_image(word.text, filled ? static_cast<const ShellText&>(*filled) : word, around);
  }
  if (const YamlNode* own = value_of(service, "variables"); is_map(own)) environment(*own, around, around.env);
  std::vector<ShellWord> words;
  for (const char* key : {"entrypoint", "command"}) {
    const YamlNode* part = value_of(service, key);
    if (!is_list(part)) continue;
    for (ShellWord& word : words_of(*part)) words.push_back(std::move(word));
  }
  if (!std::ranges::any_of(words, [](const ShellWord& word) { return speaks(word); })) return;
  RunContext context = context_of(around);
  context.elsewhere = true;
  for (const ShellWord& word : words) {
    if (word.text.find('$') == std::string::npos) continue;
    context.unknown.push_back(
        {fmt::format("what GitLab makes of the $ in {} of a service is not known", word.text), word.begin, {}});
    break;
  }
  finder_.words(words, context);
}

}  // namespace preflight::sources
