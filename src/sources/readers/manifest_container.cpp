// What a container is started with. Tested by tests/manifest_test.cpp and tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/container_host.h"
#include "src/sources/container_command.h"
#include "src/sources/image_tag.h"
#include "src/sources/mentions.h"
#include "src/sources/programs.h"
#include "src/sources/readers/compose_words.h"
#include "src/sources/readers/manifest_reader.h"
#include "src/sources/readers/variable_file.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

const Values kNoValues;

// Kinds whose containers get no variables but those of their fields and of services.
bool is_plain_object(std::string_view kind) {
  constexpr std::array<std::string_view, 9> kKinds = {"Pod",       "Deployment", "StatefulSet",
                                                      "DaemonSet", "ReplicaSet", "ReplicationController",
                                                      "Job",       "CronJob",    "LeaderWorkerSet"};
  return std::ranges::find(kKinds, kind) != kKinds.end();
}

// Variables that the cluster sets: of services, of an indexed job, of a group.
bool is_of_cluster(std::string_view name) {
  return name.find("_SERVICE_") != std::string_view::npos || name.ends_with("_PORT") ||
         name.find("_PORT_") != std::string_view::npos || name.starts_with("LWS_") || name == "JOB_COMPLETION_INDEX";
}

// A word that holds one of these is a text for a shell, and a value that does may be one.
constexpr std::string_view kBlanks = " \t\n;";
constexpr std::string_view kLines = "\n;";

// What a shell, and SGLang, can see as a variable: an envFrom may hold files, too.
bool is_variable_name(std::string_view name) {
  const auto fits = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 && std::ranges::all_of(name, fits);
}

// ${NAME} in a word, an image or a value that no shell reads: what fills it in before `kubectl`, as envsubst does, is
// not known here. Of a variable of the container itself it is handed over as it stands.
void ask_for_names(ShellText& word, const Values& env, const Variables& given, std::string_view of_scripts) {
  if (word.text.find_first_of(of_scripts) != std::string::npos) return;
  word =
      filled_expressions(word, "${", "}", [&](const std::string& written, std::size_t at) -> std::optional<ShellText> {
        const std::string name = written.substr(2, written.size() - 3);
        if (!is_variable_name(name) || env.contains(name)) return std::nullopt;
        if (const auto set = given.find(name); set != given.end())
          return ShellText{set->second, std::vector<std::size_t>(set->second.size(), at), {}};
        return unknown_text(fmt::format("Kubernetes leaves {} as it stands, and what fills it in before is not known; "
                                        "give it with {}",
                                        written, how_to_set(name)),
                            at);
      });
}

}  // namespace

RunContext ManifestReader::context_of(const Around& around, const std::string& name) {
  RunContext out{.env = around.env,
                 .name = around.name.empty() ? name : around.name,
                 .image = around.image,
                 .when = around.when,
                 .unknown = around.unknown,
                 .defaults = around.defaults,
                 .options = around.options,
                 .elsewhere = around.dialect == Dialect::kKubernetes || around.dialect == Dialect::kCompose};
  if (around.added) out.unknown.push_back(*around.added);
  out.others = around.others;
  return out;
}

// The release stands in the tag: what of it nobody knows is told.
void ManifestReader::set_image(const std::string& written, const ShellText& filled, Around& around) {
  around.image = filled.unknowns.empty() ? filled.text : written;
  around.unknown.clear();
  around.defaults = filled.defaults;
  if (!release_of_image(filled.text).empty()) return;
  for (const Unknown& unknown : filled.unknowns) around.unknown.push_back({unknown.message, unknown.offset, {}});
}

namespace {

// CircleCI's `docker: [{image: …}, …]` of a job: its steps run in the first.
const YamlNode* first_of_docker(const YamlNode& node, bool workflow) {
  const YamlNode* list = workflow ? value_of(node, "docker") : nullptr;
  const bool any = is_list(list) && !list->items.empty() && is_map(list->items.front());
  return any ? list->items.front() : nullptr;
}

}  // namespace

// The image that commands below run in: of a container, or of a SkyPilot task (`image_id: docker:IMAGE`).
void ManifestReader::take_image(const YamlNode& node, Around& around) {
  const YamlNode* image = part_of(node, "image");
  const YamlNode* resources = value_of(node, "resources");
  const YamlNode* task = is_map(resources) ? value_of(*resources, "image_id") : nullptr;
  constexpr std::string_view kDocker = "docker:";
  if (image == nullptr && is_scalar(task) && task->text.starts_with(kDocker)) {
    const ShellWord word = tree_.word(*task);
    const ShellWord name{tail(word, kDocker.size()), word.begin, word.end};
    return set_image(name.text, name, around);
  }
  if (const YamlNode* first = image == nullptr ? first_of_docker(node, around.dialect == Dialect::kWorkflow) : nullptr;
      first != nullptr) {
    image = value_of(*first, "image");
    if (const YamlNode* env = value_of(*first, "environment")) environment(*env, around, around.env);
  }
  if (is_map(image) && chart_values_) return image_in_parts(*image, around);
  if (!is_scalar(image)) return;
  const ShellWord word = tree_.word(*image);
  if (around.dialect == Dialect::kWorkflow)
    return set_image(image->text, without_expressions(word, around.env), around);
  if (around.dialect == Dialect::kKubernetes) {
    ShellText filled = word;
    ask_for_names(filled, kNoValues, given_, kBlanks);
    return set_image(image->text, filled, around);
  }
  const auto filled = interpolate(word, Interpolation::kCompose, source_.text, given_, {});
  set_image(image->text, filled ? static_cast<const ShellText&>(*filled) : word, around);
}

// What a job of CircleCI names as its `executor`: the image and the variables stand there, or in an orb.
void ManifestReader::take_executor(const YamlNode& node, Around& around) {
  if (around.dialect != Dialect::kWorkflow || around.options.empty()) return;
  const YamlNode* name = value_of(node, "executor");
  if (is_map(name)) name = value_of(*name, "name");
  if (!is_scalar(name)) return;
  const YamlNode* named = is_map(executors_) ? value_of(*executors_, name->text) : nullptr;
  if (!is_map(named)) {
    const std::string why =
        fmt::format("{} is no executor of this file: its image and what it sets are not known", name->text);
    return around.unknown.push_back({why, tree_.offset(*name), {}});
  }
  take_image(*named, around);
  if (circle_) shell_of_circle(*named, around);
  if (const YamlNode* env = value_of(*named, "environment")) environment(*env, around, around.env);
}

namespace {

// Nothing, `~` or null. Kubernetes takes it for an empty text where one belongs, and a key of it for none.
bool is_null(const YamlNode& node) { return is_scalar(&node) && node.tag == "null"; }

// What compose drops is a part of the launch: a value that its own character cuts in two, or options behind a
// redirection. Another command behind && or | is none.
bool drops_options(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at + 1);
  const bool inside_word = at > 0 && text[at - 1] > ' ' && !rest.empty() && rest[0] > ' ' && rest[0] != text[at];
  const bool redirects = text[at] == '<' || text[at] == '>';
  return (inside_word || redirects) && rest.find(" --") != std::string_view::npos;
}

}  // namespace

// As the YAML of Go reads it: of YAML 1.1's words for true and false, compose takes true and false alone for such.
bool ManifestReader::is_no_text(const YamlNode& node, bool old_words) {
  if (!is_scalar(&node)) return false;
  if (node.tag == "bool") return old_words || node.text == "true" || node.text == "false";
  const bool sexagesimal = node.text.find(':') != std::string::npos;
  return (node.tag == "int" || node.tag == "float") && !sexagesimal;
}

// A number or a truth value where only a text may stand: the object, or the file, is refused as a whole.
void ManifestReader::find_no_texts(const YamlNode& list, const Around& around, RunContext& context) {
  const bool kubernetes = around.dialect == Dialect::kKubernetes;
  if (is_scalar(&list) && plain_object_) {
    context.unknown.push_back(
        {"Kubernetes refuses this object: a text stands where it takes a list of words; write "
         "[sh, -c, TEXT]",
         tree_.offset(list),
         {}});
  }
  if (!is_list(&list) || (!kubernetes && around.dialect != Dialect::kCompose)) return;
  const auto whole = std::ranges::find_if(list.items, [](const YamlNode* one) { return !is_scalar(one); });
  if (whole != list.items.end()) {
    context.unknown.push_back({fmt::format("{} among the words of a command: {} refuses that; put quotes around a word",
                                           is_list(*whole) ? "a list stands" : "a mapping (NAME: VALUE) stands",
                                           kubernetes ? "Kubernetes" : "docker compose"),
                               tree_.offset(**whole),
                               {}});
    return;
  }
  const auto item = std::ranges::find_if(
      list.items, [&](const YamlNode* one) { return is_no_text(*one, kubernetes) || (!kubernetes && is_null(*one)); });
  if (item == list.items.end()) return;
  const std::string what = is_null(**item)
                               ? "an item without a text among the words of a command; leave it out, or write \"\""
                               : fmt::format("a word of a command is a text; write \"{}\"", (*item)->text);
  context.unknown.push_back({refusal_by(!kubernetes, what), tree_.offset(**item), {}});
}

// A text of compose as its words; `said`: what a reader of it would take otherwise.
std::vector<ShellWord> ManifestReader::words_of_text(const ShellWord& text, std::vector<ShellNote>& said,
                                                     RunContext& context) const {
  ComposeWords read = compose_words(text);
  const auto place = [&](std::size_t i) { return text.origin.empty() ? i : text.origin[i]; };
  if (!read.refused.empty()) {
    context.unknown.push_back(
        {fmt::format("docker compose refuses this file: {} in this text", read.refused), place(read.refused_at), {}});
    return plain_words(text);
  }
  if (!read.stray_breaks.empty()) {
    said.push_back({"SH001",
                    "docker compose continues no line: a backslash takes the blank or the line break behind it into a "
                    "word; leave the backslashes out",
                    place(read.stray_breaks.front())});
  }
  if (read.dropped && drops_options(text.text, *read.dropped)) {
    said.push_back({"SH003",
                    fmt::format("docker compose runs no shell and reads no farther than {}: the options behind it are "
                                "no part of the launch; put quotes around it",
                                text.text[*read.dropped]),
                    place(*read.dropped)});
  }
  return std::move(read.words);
}

// A comment of its own line in a folded text (`>`): the shell gets one line, and the comment takes the options of the
// lines behind it.
void ManifestReader::tell_joined_comment(const ShellText& text, std::vector<ShellNote>& said) const {
  const auto starts_line = [&](std::size_t offset) {
    while (offset > 0 && (source_.text[offset - 1] == ' ' || source_.text[offset - 1] == '\t')) --offset;
    return offset > 0 && source_.text[offset - 1] == '\n';
  };
  if (text.origin.empty() || !speaks(text)) return;
  for (auto at = text.text.find(" #"); at != std::string::npos; at = text.text.find(" #", at + 1)) {
    if (!starts_line(text.origin[at + 1])) continue;
    const std::size_t end = std::min(text.text.find('\n', at), text.text.size());
    for (std::size_t i = at + 2; i + 1 < end; ++i) {
      if (text.text[i] != ' ' || text.text[i + 1] != '-' || !starts_line(text.origin[i + 1])) continue;
      said.push_back(
          {"SH003",
           fmt::format("`>` makes one line of these, and the comment goes on to its end: {} is no part of the "
                       "launch; write `|` with a backslash at the end of each line, or put the comment above",
                       text.text.substr(i + 1, std::min(text.text.find(' ', i + 1), end) - i - 1)),
           text.origin[at + 1]});
      return;
    }
    at = end - 1;
  }
}

// {registry, repository, tag} of a chart's values.
void ManifestReader::image_in_parts(const YamlNode& image, Around& around) {
  std::string name = text_of(image, "repository");
  if (const std::string registry = text_of(image, "registry"); !registry.empty()) name.insert(0, registry + "/");
  if (const std::string tag = text_of(image, "tag"); !tag.empty()) name += ":" + tag;
  set_image(name, ShellText{name}, around);
}

// What Kubernetes refuses, and objects that another tool makes of what stands here.
void ManifestReader::ask_for_object(const YamlNode& node, const Around& around, RunContext& context) const {
  const auto ask = [&](std::string what, const YamlNode& at) {
    context.unknown.push_back({std::move(what), tree_.offset(at), {}});
  };
  if (no_text_ != nullptr) {
    ask(fmt::format("Kubernetes refuses this object: the value of a variable is a text; write \"{}\"", no_text_->text),
        *no_text_);
  }
  if (around.dialect == Dialect::kKubernetes && kustomized_)
    ask("the kustomization.yaml beside this file changes what it names: give what `kustomize build` prints", node);
  if (chart_values_) ask("a chart decides what becomes of these values: give what `helm template` prints", node);
}

// A lone command may be Kubernetes' or compose's: what stands beside it tells.
bool ManifestReader::is_of_compose(const YamlNode& node, const Around& around) {
  if (around.dialect != Dialect::kPiece) return around.dialect == Dialect::kCompose;
  const YamlNode* variables = value_of(node, "environment");
  const bool task = is_list(variables) && !variables->items.empty() && is_map(variables->items.front());  // of ECS
  if (task || value_of(node, "args") != nullptr) return false;
  return part_of(node, "entrypoint") != nullptr || variables != nullptr || value_of(node, "env_file") != nullptr ||
         value_of(node, "ports") != nullptr || value_of(node, "devices") != nullptr ||
         is_scalar(value_of(node, "command"));
}

// Where a container runs: its image, its variables, its host, and what is asked for.
RunContext ManifestReader::place_of(const YamlNode& node, const Around& around,
                                    const std::optional<ImageStart>& built) {
  RunContext context = context_of(around);
  const YamlNode* image = part_of(node, "image");
  const bool of_job = around.dialect == Dialect::kWorkflow && value_of(node, "command") != nullptr;  // CircleCI's `run`
  if (!is_scalar(image) && !(chart_values_ && is_map(image)) && !of_job) {
    // of what stands around it
    context.image.clear();
    context.unknown.clear();
    if (around.added) context.unknown.push_back(*around.added);
    context.defaults.reset();
  } else if (tasks_) {
    context.env.clear();
  }
  plain_object_ = around.dialect == Dialect::kKubernetes && is_plain_object(kind_);
  no_text_ = nullptr;
  others_.reset();
  other_variables(node, around, context);
  environments(node, around, context.env, 0);
  if (others_) context.others = others_;
  ask_for_object(node, around, context);
  ask_for_shape(node, around, context);
  for (const auto& [name, value] : model_env_) context.env.insert_or_assign(name, value);
  if (around.dialect == Dialect::kCompose) ask_for_whole(node, around, context);
  if (built) {
    context.image = built->base;
    context.unknown.insert(context.unknown.end(), built->unknown.begin(), built->unknown.end());
    for (const auto& [name, value] : built->env) context.env.emplace(name, value);
  }
  context.host = host_of(node, around, is_of_compose(node, around));
  if (around.dialect == Dialect::kCompose && shares_network(node)) {
    if (together_ == 0) together_ = next_together();
    context.together = together_;
  }
  if (has_too_many_mounts(context.host)) finder_.note({"SH002", too_many_mounts(), tree_.offset(node)});
  if (around.dialect == Dialect::kKubernetes || around.dialect == Dialect::kCompose) keep_own_files(context.host);
  return context;
}

void ManifestReader::refuse_variable(const ShellWord& word, RunContext& context) {
  const std::string_view refused = refused_variable(word.text);
  if (refused.empty()) return;
  const auto at = static_cast<std::size_t>(refused.data() - word.text.data());
  context.unknown.push_back(
      {fmt::format("docker compose refuses this file: {} is no variable that it knows (a $ of its own is $$)", refused),
       word.origin.empty() ? word.begin : word.origin[at],
       {}});
}

// The words of one key of a container, or its text; false where the file ends being read.
bool ManifestReader::take_words(const YamlNode& node, const YamlNode& value, const Around& around, RunContext& context,
                                ContainerWords& words) {
  const bool kubernetes = around.dialect == Dialect::kKubernetes;
  const bool compose = is_of_compose(node, around);
  find_no_texts(value, around, context);
  for (const ShellWord& word : words_of(value)) {
    const auto* script = words.all.size() < 4 ? script_of(word, words.mounted, node) : nullptr;
    const bool names_script = named_scripts(word, words.mounted, words.named);
    words.ours = words.ours || speaks(word) || names_script || (script != nullptr && speaks(script->second));
    const bool doubled = word.text.find("$$") != std::string::npos && word.text.find("$$(") == std::string::npos;
    const bool by_compose = compose || (doubled && !kubernetes);
    if (compose) refuse_variable(word, context);
    auto done = interpolate(word, by_compose ? Interpolation::kCompose : Interpolation::kKubernetes, source_.text,
                            given_, by_compose ? kNoValues : named_in(word, context.env));
    if (!done) {
      error_ = done.error();
      return false;
    }
    fill_names(*done);
    if (kubernetes) ask_for_names(*done, context.env, given_, kBlanks);
    tell_joined_comment(*done, words.said);
    if (!is_scalar(&value)) {
      words.list = true;
      words.all.push_back(std::move(*done));
    } else if (compose) {
      for (ShellWord& one : words_of_text(*done, words.said, context)) words.all.push_back(std::move(one));
    } else {
      words.text = std::move(*done);
    }
    if (words.all.size() > limits::kManifestWords) {
      error_ = Error{"a command with more words than are followed"};
      return false;
    }
  }
  return true;
}

// Kubernetes has command and args, compose has entrypoint and command, and an image has both.
bool ManifestReader::put_together(const YamlNode& node, const Around& around, const std::optional<ImageStart>& built,
                                  RunContext& context, ContainerWords& words) {
  const bool of_image = built && part_of(node, "entrypoint") == nullptr;
  if (of_image) words.all = built->entrypoint;
  for (const char* key : {"entrypoint", "entryPoint", "command", "args"}) {
    const YamlNode* value = part_of(node, key);
    const bool none = around.dialect == Dialect::kKubernetes && std::string_view(key) == "entrypoint";
    if (value == nullptr || none || value->tag == "!reset" || is_null(*value)) continue;
    if (!take_words(node, *value, around, context, words)) return false;
  }
  if (words.list || words.all.empty()) words.all.insert(words.all.end(), model_args_.begin(), model_args_.end());
  if (of_image && part_of(node, "command") == nullptr)
    words.all.insert(words.all.end(), built->command.begin(), built->command.end());
  if (of_image && !built->takes_words) words.all = built->entrypoint;
  words.ours = words.ours || (built && std::ranges::any_of(words.all, [](const ShellWord& w) { return speaks(w); }));
  return true;
}

// Words without a program, for a server that the image starts; a `script` beside them takes them itself.
bool ManifestReader::taken_by_image(const YamlNode& node, const std::vector<ShellWord>& words) {
  if (words.empty() || !words.front().text.starts_with("--")) return false;
  const YamlNode* image = part_of(node, "image");
  if (image == nullptr && is_scalar(value_of(node, "script"))) return false;
  return may_be_for_server(words, 0, image == nullptr ? std::string_view() : image->text);
}

void ManifestReader::container(const YamlNode& node, const Around& around) {
  if (started_by_editor(node, around)) return;
  const auto built = around.dialect == Dialect::kCompose ? start_of_build(node) : std::nullopt;
  RunContext context = place_of(node, around, built);
  ContainerWords words{.mounted = mounted_in(node, around)};
  if (is_of_compose(node, around)) bind_scripts(node, context.host.mounts, words.mounted);
  if (!put_together(node, around, built, context, words)) return;
  const bool by_image = taken_by_image(node, words.all);
  if (!words.ours && !by_image) {
    tell_missing(words.all, words.mounted, around);
    return built_image(node);
  }
  for (ShellNote& note : words.said) finder_.note(std::move(note));
  context.files = files_of(words.mounted);
  const std::size_t launches = finder_.found_so_far();
  if (words.text && !words.list)
    run_script(*words.text, context);
  else
    run_container(node, words.all, by_image, words.mounted, context);
  if (finder_.found_so_far() == launches) return;
  for (const KeyOfMap& key : words.named) finder_.account(scripts_.at(key));
  used_.insert(words.named.begin(), words.named.end());
}

// What the words of a container start.
void ManifestReader::run_container(const YamlNode& node, const std::vector<ShellWord>& all, bool by_image,
                                   const Mounted& mounted, RunContext& context) {
  if (by_image) {
    const bool part = plain_object_ && part_of(node, "image") == nullptr;
    context.unknown.push_back({part ? "neither an image nor a command stands here, as in a patch: give what `kustomize "
                                      "build` prints"
                                    : "the image's own entry point takes these words, and nobody knows here what it is",
                               all.front().begin,
                               {}});
    return finder_.arguments(all, context);
  }
  // A script that a ConfigMap of this file holds.
  for (std::size_t i = 0; i < all.size() && i < 4; ++i) {
    const auto* script = script_of(all[i], mounted, node);
    if (script == nullptr) continue;
    context.arguments.assign(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end());
    context.arguments_known = true;
    return run_mounted(*script, context);
  }
  run_words(all, context);
}

namespace {

// Why a list of words that names a server starts none.
std::string why_nothing_starts(const std::vector<ShellWord>& words) {
  const auto has_blank = [](const ShellWord& word) { return word.text.find_first_of(" \n\t") != std::string::npos; };
  const std::string first = words.front().text;
  const auto text = is_shell(first) ? shell_script(words, 0) : std::nullopt;
  if (text && *text + 1 < words.size() && !has_blank(words[*text])) {
    return fmt::format("{} -c runs the word behind it alone, {}: join it and those behind it into one text",
                       base_name(first), words[*text].text);
  }
  if (has_blank(words.front()))
    return fmt::format("\"{}\" is one word, and no program has that name: no shell splits it", first);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].text == "-m" && has_blank(words[i + 1]))
      return fmt::format("\"{}\" is one word, and no module has that name: no shell splits it", words[i + 1].text);
  }
  return "these words name a launch, and nothing that is followed runs it";
}

}  // namespace

// Words that name a server and start none are told.
void ManifestReader::run_words(const std::vector<ShellWord>& words, const RunContext& context) {
  const std::size_t launches = finder_.found_so_far();
  const std::size_t notes = finder_.notes().size();
  finder_.words(words, context);
  if (finder_.found_so_far() != launches || finder_.notes().size() != notes) return;
  if (std::ranges::any_of(words, [](const ShellWord& word) { return !word.unknowns.empty(); })) return;
  std::string all;
  for (const ShellWord& word : words) all += (all.empty() ? "" : " ") + word.text;
  if (names_server(all)) finder_.note({"SH004", why_nothing_starts(words), words.front().begin});
}

namespace {

std::string dockerfile_of(const YamlNode& build) {
  const std::string folder = is_map(&build) ? text_of(build, "context") : build.text;
  const std::string file = is_map(&build) ? text_of(build, "dockerfile") : std::string();
  return (folder.empty() ? "." : folder) + "/" + (file.empty() ? "Dockerfile" : file);
}

}  // namespace

// The image that is built for a service from the Dockerfile beside this file, with the arguments that are given here.
std::optional<ImageStart> ManifestReader::start_of_build(const YamlNode& node) {
  const YamlNode* build = part_of(node, "build");
  if (build == nullptr) return std::nullopt;
  const YamlNode* own = is_map(build) ? value_of(*build, "dockerfile_inline") : nullptr;
  const std::optional<std::string> text =
      is_scalar(own) ? std::optional(own->text) : file_beside(source_.name, dockerfile_of(*build));
  if (!text || !speaks({*text})) return std::nullopt;
  if (is_scalar(own)) finder_.account(tree_.word(*own));
  Variables given = source_.given;
  Values args;
  if (const YamlNode* list = is_map(build) ? value_of(*build, "args") : nullptr; list != nullptr)
    environment(*list, {.dialect = Dialect::kCompose, .name = {}, .env = {}}, args);
  for (const auto& [name, value] : args) {
    if (!value.unknowns.empty()) return std::nullopt;
    given.insert_or_assign(name, value.text);
  }
  return image_start({*text, given, {}}, tree_.offset(*build),
                     is_map(build) ? text_of(*build, "target") : std::string());
}

// A service whose image is built here from a Dockerfile that names a launch: its command is for that image.
void ManifestReader::built_image(const YamlNode& node) {
  const YamlNode* build = part_of(node, "build");
  if (build == nullptr || services_ == nullptr) return;
  const std::string file = dockerfile_of(*build);
  const auto text = file_beside(source_.name, file);
  if (!text || !speaks({*text})) return;
  finder_.note({"SH004",
                fmt::format("this service runs an image of {}, and what stands here is not put together with it: give "
                            "the launch as a command",
                            file),
                tree_.offset(*build)});
}

// Looked up again and again: what a service extends may extend another one, and so on.
void ManifestReader::name_all(const YamlNode& map) {
  named_.clear();
  chain_.clear();
  for (const auto& [name, value] : pairs_of(map)) {
    if (is_scalar(name)) named_.emplace(name->text, value);
  }
}

const YamlNode* ManifestReader::named(const std::string& name) const {
  const auto found = named_.find(name);
  return found == named_.end() ? nullptr : found->second;
}

// A key of a service, or of what it extends.
const YamlNode* ManifestReader::part_of(const YamlNode& node, std::string_view key) {
  // Several keys are looked up of a service, one after another; a patch comes and goes.
  if (services_ == nullptr || chain_.empty() || chain_.front() != &node) chain_ = {&node};
  for (std::size_t depth = 0;; ++depth) {
    if (depth == chain_.size()) chain_.push_back(extended(*chain_.back()));
    if (chain_[depth] == nullptr) return nullptr;
    if (depth == limits::kManifestDepth) break;
    if (const YamlNode* value = value_of(*chain_[depth], key)) return value;
  }
  // Once for all services: of one such chain nearly every one is as far from its end.
  if (told_.insert(tree_.offset(*services_)).second) {
    finder_.note({"SH004",
                  "services extend one another in a longer chain than is followed: give the launch of such a service "
                  "as a command",
                  tree_.offset(node)});
  }
  return nullptr;
}

// Files of variables, those of what a service extends first.
void ManifestReader::variable_files(const YamlNode& node, Values& env, int depth) {
  const YamlNode* files = value_of(node, "env_file");
  const bool replaces = files != nullptr && (files->tag == "!reset" || files->tag == "!override");
  if (const YamlNode* base = extended(node); base != nullptr && !replaces && depth < limits::kManifestDepth)
    variable_files(*base, env, depth + 1);
  if (files == nullptr) return;
  if (!is_list(files)) variable_file(*files, env);
  for (const YamlNode* item : files->items) variable_file(*item, env);
}

// What a service extends sets its variables first; all of them stand over those of files.
void ManifestReader::environments(const YamlNode& node, const Around& around, Values& env, int depth) {
  if (depth == 0) variable_files(node, env, 0);
  const YamlNode* own = value_of(node, "environment");
  const bool replaces = own != nullptr && (own->tag == "!reset" || own->tag == "!override");
  if (const YamlNode* base = extended(node); base != nullptr && !replaces && depth < limits::kManifestDepth)
    environments(*base, around, env, depth + 1);
  for (const char* key : {"env", "environment"}) {
    if (const YamlNode* value = value_of(node, key)) environment(*value, around, env);
  }
}

// Variables that compose fills in: of the environment it runs in, and of `.env`.
void ManifestReader::read_dotenv() {
  const auto text = file_beside(source_.name, ".env");
  if (const std::string why = unread_beside(source_.name, ".env"); !text && !why.empty())
    finder_.note({"SH002", why + ": what it sets is not known", tree_.offset(*services_)});
  if (!text) return;
  for (const auto& [name, value] : variables_of(*text, source_.given, 0)) {
    if (value.unknowns.empty()) given_.try_emplace(name, value.text);
  }
}

// A file of env_file: its path, or a map with it. A later file wins, and `environment` over all of them.
void ManifestReader::variable_file(const YamlNode& item, Values& env) {
  const YamlNode* path = is_map(&item) ? value_of(item, "path") : &item;
  if (!is_scalar(path)) return;
  const ShellWord word = tree_.word(*path);
  const auto filled = interpolate(word, Interpolation::kCompose, source_.text, given_, {});
  const auto text =
      filled && filled->unknowns.empty() ? file_beside(source_.name, beside(item, filled->text)) : std::nullopt;
  if (!text) {
    others_ = unknown_text(fmt::format("may be set by {}, which is not read", word.text), word.begin);
    if (told_.insert(word.begin).second)
      finder_.note({"SH002", fmt::format("env_file {} is not read: what it sets is not known", word.text), word.begin});
    return;
  }
  const bool raw = is_map(&item) && text_of(item, "format") == "raw";
  for (auto& [name, value] : raw ? raw_variables_of(*text, word.begin) : variables_of(*text, given_, word.begin))
    env.insert_or_assign(name, value);
}

constexpr std::string_view kSecret = "a secret";

// envFrom: variables by the file.
void ManifestReader::other_variables(const YamlNode& node, const Around& around, RunContext& context) {
  const YamlNode* from = part_of(node, "envFrom");
  open_variables_ = false;
  if (!is_list(from)) return;
  for (const YamlNode* item : from->items) {
    const YamlNode* map = value_of(*item, "configMapRef");
    const YamlNode* ref = map != nullptr ? map : value_of(*item, "secretRef");
    if (ref == nullptr) continue;
    const std::string name = text_of(*ref, "name");
    const auto* known = object_named(map != nullptr ? maps_ : secrets_, name, around.space);
    if (known != nullptr) {
      const std::string prefix = text_of(*item, "prefix");
      for (const auto& [key, value] : known->second) {
        if (!is_variable_name(prefix + key)) continue;
        if (map != nullptr)
          context.env.insert_or_assign(prefix + key, value);
        else
          set_unknown(prefix + key, kSecret, *item, context.env);
      }
    } else {
      open_variables_ = true;
      others_ = unknown_text(fmt::format("may be set by {}, which is not in this file", name), tree_.offset(*item));
      finder_.note(
          {"SH002", fmt::format("envFrom {} is not read: what it sets is not known", name), tree_.offset(*item)});
    }
  }
}

// $(NAME) of a name that the container does not have: Kubernetes leaves it as it is.
bool ManifestReader::stays(const std::string& name, const Values& env) const {
  return plain_object_ && !open_variables_ && is_variable_name(name) && !is_of_cluster(name) && !env.contains(name) &&
         !given_.contains(name);
}

// What stands for each $(NAME) of a text.
Values ManifestReader::named_in(const ShellText& text, const Values& env) const {
  Values out;
  for (auto at = text.text.find("$("); at != std::string::npos; at = text.text.find("$(", at + 2)) {
    // A longer one is no name, and many may end at the same bracket.
    const std::string start = text.text.substr(at, limits::kExpressionBytes);
    const auto close = start.find(')');
    if (close == std::string::npos) continue;
    const std::string name = start.substr(2, close - 2);
    const auto known = env.find(name);
    const bool by_container = name == kHostName && known != env.end() && known->second.defaults != nullptr &&
                              known->second.defaults->contains(name);  // which Kubernetes does not know of
    if (known != env.end() && !by_container) out.insert(*known);
    if (stays(name, env)) out.emplace(name, ShellText{start.substr(0, close + 1)});
  }
  return out;
}

// Each sees those in front of it, and may hold them twice.
bool ManifestReader::too_many(const Values& env) {
  if (env.size() <= limits::kVariables && bytes_ <= limits::kVariableBytes) return false;
  if (!error_) error_ = Error{"its variables are longer than is followed"};
  return true;
}

// Of a list whose aliases do not multiply a long text.
std::vector<ShellWord> ManifestReader::words_of(const YamlNode& list) {
  std::size_t bytes = 0;
  for (const YamlNode* item : list.items) bytes += item->text.size();
  if (bytes <= limits::kVariableBytes) {
    std::vector<ShellWord> out = tree_.words(list);
    for (std::size_t i = 0; i < out.size() && out.size() == list.items.size(); ++i) {
      if (is_null(*list.items[i])) static_cast<ShellText&>(out[i]) = {};
    }
    return out;
  }
  if (!error_) error_ = Error{"a list holds more text than is followed"};
  return {};
}

// A value of a map as compose hands it over: what its YAML takes for a number or for true is printed by Go.
ShellWord ManifestReader::printed_by_go(const YamlNode& value) const {
  ShellWord word = tree_.word(value);
  const auto printed = is_plain_scalar(source_.text, tree_.offset(value)) ? go_scalar(value.text) : std::nullopt;
  if (!printed || *printed == word.text) return word;
  return {{*printed, std::vector<std::size_t>(printed->size(), word.begin), {}}, word.begin, word.end};
}

// NAME: VALUE, "- NAME=VALUE", or "- name: NAME, value: VALUE".
void ManifestReader::environment(const YamlNode& node, const Around& around, Values& env, std::string_view key) {
  const bool compose = around.dialect == Dialect::kCompose;
  const bool names_others = around.dialect == Dialect::kWorkflow && !azure_;  // that stand around these, none of them
  const Values outer = names_others ? env : Values();
  const auto set = [&](const std::string& name, const ShellWord& value) {
    const bool gitlab = around.dialect == Dialect::kGitlab;
    const auto kind = compose || gitlab ? Interpolation::kCompose : Interpolation::kKubernetes;
    if (around.dialect == Dialect::kWorkflow) {
      if (contexts_named_in(value.text).contains("matrix"))
        by_matrix_.insert_or_assign(name, value);
      else
        by_matrix_.erase(name);
      ShellText text = without_expressions(value, names_others ? outer : env);
      if (azure_) text = with_macros(text, around.macros);
      if (text.text.size() > value.text.size()) bytes_ += weight(text);  // one may hold another twice
      env.insert_or_assign(name, std::move(text));
      return;
    }
    const bool named = kind == Interpolation::kKubernetes;
    auto done = interpolate(value, kind, source_.text, given_,
                            compose ? kNoValues
                            : named ? named_in(value, env)
                                    : env);
    ShellText text = done
                         ? static_cast<ShellText&>(*done)
                         : unknown_text(fmt::format("{} is not followed: {}", name, done.error().message), value.begin);
    if (around.dialect == Dialect::kKubernetes) ask_for_names(text, env, given_, kLines);
    bytes_ += weight(text);
    if (key == "envs" && around.dialect == Dialect::kPiece)  // of SkyPilot: `--env` sets others
      text = standing_in(std::move(text), name, value.begin);
    env.insert_or_assign(name, std::move(text));
  };
  if (node.kind == YamlNode::kMapping) {
    for (const auto& [name, value] : pairs_of(node)) {
      if (too_many(env)) return;
      if (!is_scalar(name)) continue;
      const bool asked = is_scalar(value) && value->tag == "null" && (compose || key == "envs");
      if (asked)
        set_unknown(name->text, compose ? "the environment compose runs in" : "sky launch --env", *name, env);
      else if (is_scalar(value) && key.ends_with("Env") && value->text.find("${") != std::string::npos)
        set_unknown(name->text, "where the container starts", *name, env);
      else if (is_scalar(value))
        set(name->text, compose ? printed_by_go(*value) : tree_.word(*value));
    }
    return;
  }
  for (const YamlNode* item : node.items) {
    if (too_many(env)) return;
    if (item->kind == YamlNode::kScalar) {
      const ShellWord word = tree_.word(*item);
      const auto equals = word.text.find('=');
      if (equals == std::string::npos) {
        set_unknown(word.text, "the environment compose runs in", *item, env);
        continue;
      }
      set(word.text.substr(0, equals), {tail(word, equals + 1), word.begin, word.end});
    } else if (item->kind == YamlNode::kMapping && is_scalar(value_of(*item, "name"))) {
      const std::string name = text_of(*item, "name");
      if (const YamlNode* value = value_of(*item, "value"); is_scalar(value)) {
        const bool kubernetes = around.dialect == Dialect::kKubernetes;
        if (kubernetes && is_no_text(*value, true)) no_text_ = value;
        set(name, kubernetes && is_null(*value) ? ShellWord{{}, tree_.offset(*value), tree_.offset(*value)}
                                                : tree_.word(*value));
      } else if (value_of(*item, "valueFrom") == nullptr && around.dialect == Dialect::kKubernetes) {
        env.insert_or_assign(name, ShellText{});
      } else if (const YamlNode* from = value_of(*item, "valueFrom"); is_map(from)) {
        value_from(*from, name, *item, around, env);
      }
    }
  }
}

void ManifestReader::value_from(const YamlNode& from, const std::string& name, const YamlNode& at, const Around& around,
                                Values& env) {
  if (const YamlNode* field = value_of(from, "fieldRef"); is_map(field)) {
    std::string path = text_of(*field, "fieldPath");
    std::ranges::replace(path, '"', '\'');
    if (const auto known = around.fields.find(path); known != around.fields.end() && !given_.contains(name)) {
      env.insert_or_assign(name, known->second);
      return;
    }
  }
  if (const YamlNode* ref = value_of(from, "configMapKeyRef"); is_map(ref)) {
    const auto* known = object_named(maps_, text_of(*ref, "name"), around.space);
    if (known == nullptr) return set_unknown(name, "a ConfigMap that is not in this file", at, env);
    const auto value = known->second.find(text_of(*ref, "key"));
    if (value != known->second.end()) {
      env.insert_or_assign(name, value->second);
      return;
    }
    if (text_of(*ref, "optional") == "true" && !given_.contains(name)) return;  // and it stays as envFrom set it
    return set_unknown(name, "a ConfigMap that has no such key, without which no container starts", at, env);
  }
  const YamlNode* secret = value_of(from, "secretKeyRef");
  set_unknown(name, secret != nullptr ? kSecret : "the cluster", at, env);
}

// A variable whose value stands somewhere else.
void ManifestReader::set_unknown(const std::string& name, std::string_view where, const YamlNode& at,
                                 Values& env) const {
  const std::size_t offset = tree_.offset(at);
  if (const auto given = given_.find(name); given != given_.end()) {
    env.insert_or_assign(name, ShellText{given->second, std::vector<std::size_t>(given->second.size(), offset), {}});
  } else {
    env.insert_or_assign(
        name, unknown_text(fmt::format("{} comes from {}; give it with {}", name, where, how_to_set(name)), offset));
  }
}

}  // namespace preflight::sources
