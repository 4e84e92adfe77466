// Containers of compose files and Kubernetes objects (and of whatever else has `command` and `args`), scripts of
// ConfigMaps, and the scripts of workflows (GitHub, GitLab, SkyPilot). Tested by tests/manifest_test.cpp and
// tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "src/sources/container_command.h"
#include "src/sources/programs.h"
#include "src/sources/readers/readers.h"
#include "src/sources/yaml_tree.h"

namespace preflight::sources {
namespace {

using python::YamlNode;

constexpr int kDeepest = 64;
constexpr int kMostNodes = 100'000;  // aliases can make a small file endless
constexpr std::size_t kMostWords = 20'000;
constexpr int kMostTurns = 256;  // of steps over a matrix

bool speaks(const ShellWord& word) {
  return word.text.find("sglang") != std::string::npos || word.text.find("launch_server") != std::string::npos ||
         word.text.find("vllm serve") != std::string::npos;
}

// NAME of ${{ env.NAME }}, matrix.NAME of ${{ matrix.NAME }}; "" of any other expression.
std::string variable_of(std::string_view expression) {
  std::string inside(expression.substr(3, expression.size() - 5));
  std::erase(inside, ' ');
  if (inside.find_first_of("|&()[]'") != std::string::npos) return {};
  if (inside.starts_with("env.")) return inside.substr(4);
  return inside.starts_with("matrix.") ? inside : std::string();
}

bool names_expression(std::string_view text, std::string_view name) {
  for (auto at = text.find("${{"); at != std::string_view::npos; at = text.find("${{", at + 3)) {
    const auto end = text.find("}}", at);
    if (end != std::string_view::npos && variable_of(text.substr(at, end + 2 - at)) == name) return true;
  }
  return false;
}

class ManifestReader {
 public:
  ManifestReader(const SourceText& source, YamlTree& tree, LaunchFinder& finder)
      : source_(source), tree_(tree), finder_(finder) {}

  Result<bool> run() {
    for (const YamlNode* root : tree_.documents()) {
      tree_.enter(*root);
      collect(*root, 0);
    }
    for (const YamlNode* root : tree_.documents()) {
      tree_.enter(*root);
      document(*root);
      if (error_) return tl::make_unexpected(*error_);
    }
    for (const auto& [key, script] : scripts_) {
      if (used_.contains(key) || !speaks({script, 0, 0})) continue;
      run_script(script, {.name = key});
    }
    if (error_) return tl::make_unexpected(*error_);
    return true;
  }

 private:
  enum class Dialect { kPiece, kKubernetes, kCompose, kWorkflow };
  struct Around {
    Dialect dialect = Dialect::kPiece;
    std::string name;
    Values env;
    std::string image = {};
    std::map<std::string, std::vector<ShellWord>> matrix = {};  // of a workflow's job: plain lists alone
  };

  // Scripts and variables that ConfigMaps hold.
  void collect(const YamlNode& node, int depth) {
    if (depth > 4 || node.kind != YamlNode::kMapping) return;
    if (const YamlNode* items = value_of(node, "items"); is_list(items)) {
      for (const YamlNode* item : items->items) collect(*item, depth + 1);
    }
    if (text_of(node, "kind") != "ConfigMap") return;
    const YamlNode* meta = value_of(node, "metadata");
    const std::string name = is_map(meta) ? text_of(*meta, "name") : std::string();
    const YamlNode* data = value_of(node, "data");
    if (!is_map(data)) return;
    for (const auto& [key, value] : data->pairs) {
      if (!is_scalar(key) || !is_scalar(value)) continue;
      maps_[name].insert_or_assign(key->text, tree_.word(*value));
      if (value->text.find('\n') != std::string::npos) scripts_.insert_or_assign(key->text, tree_.word(*value));
    }
  }

  void document(const YamlNode& root) {
    Around around;
    services_ = is_map(&root) ? value_of(root, "services") : nullptr;
    if (is_map(services_)) {
      around.dialect = Dialect::kCompose;
      return walk(*services_, around, 1, "services");
    }
    if (is_map(&root) && value_of(root, "apiVersion") != nullptr)
      around.dialect = Dialect::kKubernetes;
    else if (is_map(&root) && value_of(root, "jobs") != nullptr)
      around.dialect = Dialect::kWorkflow;
    walk(root, around, 0, "");
  }

  void walk(const YamlNode& node, Around around, int depth, const std::string& key) {
    if (depth > kDeepest || ++seen_ > kMostNodes || error_) return;
    if (node.kind == YamlNode::kSequence) {
      if (list_that_starts(node, around, key)) return;
      for (const YamlNode* item : node.items) walk(*item, around, depth + 1, key);
      return;
    }
    if (node.kind != YamlNode::kMapping) return;
    if (key == "data" && around.dialect == Dialect::kKubernetes) return;  // of a ConfigMap
    numbers_of_group(node, around);
    if (around.dialect == Dialect::kWorkflow) matrix_of(node, around);
    if (const YamlNode* image = part_of(node, "image"); is_scalar(image)) around.image = image->text;
    if (const YamlNode* meta = value_of(node, "metadata"); is_map(meta) && !text_of(*meta, "name").empty()) {
      around.name = text_of(*meta, "name");
    }
    const std::string own = text_of(node, "name");
    if (!own.empty())
      around.name = around.name.empty() || around.dialect == Dialect::kWorkflow ? own : around.name + "/" + own;
    if (around.dialect == Dialect::kCompose && !key.empty() && key != "services") around.name = key;
    if (text_of(node, "module") == "sglang.launch_server") return debugged(node, around);
    if (around.dialect == Dialect::kKubernetes && is_scalar(value_of(node, "source"))) return argo_script(node, around);
    for (const std::string_view part : {"command", "args", "entrypoint"}) {
      if (part == "entrypoint" && around.dialect == Dialect::kKubernetes) continue;  // of an Argo workflow: a template
      const YamlNode* value = part_of(node, std::string(part).c_str());
      if (value == nullptr || value->kind == YamlNode::kMapping) continue;
      return container(node, around);
    }
    for (const char* part : {"env", "environment", "envs", "variables"}) {
      if (const YamlNode* value = value_of(node, part)) environment(*value, around, around.env);
    }
    for (const auto& [name, value] : node.pairs) {
      const std::string own_key = is_scalar(name) ? name->text : "";
      if (own_key == "env" || own_key == "environment") continue;
      const bool lines =
          is_scalar(value) || (is_list(value) && !value->items.empty() && is_scalar(value->items.front()));
      if (lines && is_step(own_key, around))
        step(*value, around);
      else if (is_scalar(value))
        text_that_starts(*value, around, own_key);
      else
        walk(*value, around, depth + 1, own_key);
    }
  }

  // Keys whose text, or whose list of lines, a shell runs.
  static bool is_step(std::string_view key, const Around& around) {
    constexpr std::array<std::string_view, 9> kKeys = {
        "run", "script", "shell", "ansible.builtin.shell", "cmd", "setup", "before_script", "commands", "cmds"};
    if (around.dialect == Dialect::kKubernetes && (key == "commands" || key == "cmd")) return false;
    return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
  }

  static std::string named(const Around& around, const std::string& key) {
    return around.name.empty() ? key : around.name;
  }

  // A text under any other key, where it is a launch as it stands: "server_cmd: python -m sglang.launch_server …".
  void text_that_starts(const YamlNode& value, const Around& around, const std::string& key) {
    if (value.text.find("sglang") == std::string::npos || around.dialect == Dialect::kKubernetes) return;
    const ShellWord text = tree_.word(value);
    if (!begins_with_server(plain_words(slice(text, 0, std::min<std::size_t>(text.text.size(), 512))))) return;
    run_script(without_expressions(text, around.env),
               {.env = around.env, .name = named(around, key), .image = around.image});
  }

  // A list of words under any key, where they are a launch as they stand.
  bool list_that_starts(const YamlNode& node, const Around& around, const std::string& key) {
    if (node.items.size() < 2 || node.items.size() > kMostWords || !is_scalar(node.items.front())) return false;
    if (!std::all_of(node.items.begin(), node.items.end(), [](const YamlNode* item) { return is_scalar(item); }))
      return false;
    const auto words = tree_.words(node);
    if (!begins_with_server(words)) return false;
    finder_.words(words, {.env = around.env, .name = named(around, key), .image = around.image});
    return true;
  }

  // Variables that a launcher sets from numbers of the file: LeaderWorkerSet's group size, SkyPilot's cards of a node.
  void numbers_of_group(const YamlNode& node, Around& around) {
    const auto number = [&](const std::string& name, const ShellText& text) {
      const bool plain = !text.text.empty() && text.text.find_first_not_of("0123456789") == std::string::npos;
      if (plain && !source_.given.contains(name)) around.env.insert_or_assign(name, text);
    };
    if (const YamlNode* group = value_of(node, "leaderWorkerTemplate"); is_map(group)) {
      if (const YamlNode* size = value_of(*group, "size"); is_scalar(size)) number("LWS_GROUP_SIZE", tree_.word(*size));
    }
    const YamlNode* resources = value_of(node, "resources");
    if (const YamlNode* gpu = is_map(resources) ? value_of(*resources, "gpu") : nullptr; is_scalar(gpu)) {
      const ShellWord word = tree_.word(*gpu);  // dstack: NAME:MEMORY:COUNT
      const auto colon = word.text.rfind(':');
      if (colon != std::string::npos) {
        if (value_of(node, "nodes") == nullptr) number("DSTACK_GPUS_NUM", tail(word, colon + 1));
        number("DSTACK_GPUS_PER_NODE", tail(word, colon + 1));
      }
    }
    const YamlNode* cards = is_map(resources) ? value_of(*resources, "accelerators") : nullptr;
    if (is_scalar(cards) && value_of(node, "run") != nullptr) {
      const ShellWord word = tree_.word(*cards);
      const auto colon = word.text.find(':');
      if (colon != std::string::npos) number("SKYPILOT_NUM_GPUS_PER_NODE", tail(word, colon + 1));
    }
  }

  // A debugger's entry: a module and its arguments.
  void debugged(const YamlNode& node, const Around& around) {
    RunContext context{.env = around.env, .name = around.name};
    if (const YamlNode* env = value_of(node, "env")) environment(*env, around, context.env);
    const YamlNode* args = value_of(node, "args");
    if (args == nullptr) return;
    const bool list = is_list(args);
    finder_.arguments(list ? tree_.words(*args) : plain_words(tree_.word(*args)), context);
  }

  // A script template of Argo: its source, for the shell that command names.
  void argo_script(const YamlNode& node, const Around& around) {
    const YamlNode* command = value_of(node, "command");
    const auto words = command == nullptr ? std::vector<ShellWord>{} : tree_.words(*command);
    if (words.empty() || !is_shell(words.front().text)) return;
    RunContext context{.env = around.env, .name = around.name, .image = around.image};
    environments(node, around, context.env, 0);
    run_script(tree_.word(*value_of(node, "source")), context);
  }

  // A step of a workflow: its lines are one script. ${{ … }} is filled in where it runs.
  void step(const YamlNode& value, const Around& around) {
    ShellText script;
    for (const ShellWord& line : tree_.words(value)) {
      append(script, line);
      append(script, {"\n", {line.end}, {}});
    }
    if (!speaks({script, 0, 0})) return;
    RunContext context{.env = around.env, .name = around.name, .image = around.image};
    turns(script, around, around.env, context);
  }

  // A step once for each value of the matrix's lists that it names, as the workflow runs it.
  void turns(const ShellText& script, const Around& around, const Values& env, const RunContext& context) {
    for (const auto& [name, values] : around.matrix) {
      const std::string expression = "matrix." + name;
      if (env.contains(expression) || !names_expression(script.text, expression)) continue;
      for (const ShellWord& value : values) {
        Values with = env;
        with.insert_or_assign(expression, value);
        RunContext inside = context;
        inside.when += fmt::format("{}{}={}", inside.when.empty() ? "" : ", ", expression, value.text);
        if (++turns_ > kMostTurns) return;
        turns(script, around, with, inside);
      }
      return;
    }
    run_script(without_expressions(script, env), context);
  }

  // strategy.matrix of a job, where it is lists of plain values and nothing else.
  void matrix_of(const YamlNode& node, Around& around) {
    const YamlNode* strategy = value_of(node, "strategy");
    const YamlNode* matrix = is_map(strategy) ? value_of(*strategy, "matrix") : nullptr;
    if (!is_map(matrix) || value_of(*matrix, "include") != nullptr || value_of(*matrix, "exclude") != nullptr) return;
    for (const auto& [name, value] : matrix->pairs) {
      if (!is_scalar(name) || !is_list(value)) continue;
      const bool plain = std::all_of(value->items.begin(), value->items.end(), [](const YamlNode* item) {
        return is_scalar(item) && item->text.find("${{") == std::string::npos;
      });
      if (plain) around.matrix[name->text] = tree_.words(*value);
    }
  }

  // ${{ env.NAME }} is what the workflow sets above; other expressions are filled in where it runs.
  [[nodiscard]] ShellText without_expressions(const ShellText& text, const Values& env) const {
    ShellText out;
    std::size_t from = 0;
    for (auto at = text.text.find("${{"); at != std::string::npos; at = text.text.find("${{", from)) {
      const auto end = text.text.find("}}", at);
      if (end == std::string::npos) break;
      append(out, slice(text, from, at));
      const std::string expression = text.text.substr(at, end + 2 - at);
      const auto given = source_.given.find(expression);
      const std::size_t offset = text.origin.empty() ? at : text.origin[at];
      const auto known = env.find(variable_of(expression));
      if (given != source_.given.end()) {
        append(out, {given->second, std::vector<std::size_t>(given->second.size(), offset), {}});
      } else if (known != env.end()) {
        ShellText value = known->second;
        value.origin.assign(value.text.size(), offset);
        append(out, value);
      } else {
        append(out, unknown_text(fmt::format("{} is filled in where the workflow runs; give it with {}", expression,
                                             how_to_set(expression)),
                                 offset));
      }
      from = end + 2;
    }
    append(out, slice(text, from, text.text.size()));
    return out;
  }

  void container(const YamlNode& node, const Around& around) {
    std::vector<ShellWord> all;
    bool ours = false;
    bool scalar = false;
    bool list = false;
    const bool kubernetes = around.dialect == Dialect::kKubernetes;
    // Kubernetes has command and args, compose has entrypoint and command; a lone command may be either's.
    const YamlNode* entrypoint = part_of(node, "entrypoint");
    const bool has_args = value_of(node, "args") != nullptr;
    bool compose = around.dialect == Dialect::kCompose;
    if (around.dialect == Dialect::kPiece) {
      compose = !has_args && (entrypoint != nullptr || value_of(node, "environment") != nullptr ||
                              value_of(node, "env_file") != nullptr || value_of(node, "ports") != nullptr ||
                              value_of(node, "devices") != nullptr || is_scalar(value_of(node, "command")));
    }
    RunContext context{.env = around.env, .name = around.name, .image = text_of(node, "image")};
    if (const YamlNode* image = part_of(node, "image"); compose && is_scalar(image)) {
      const auto filled = interpolate(tree_.word(*image), Interpolation::kCompose, source_.text, source_.given, {});
      if (filled && filled->unknowns.empty()) context.image = filled->text;
    }
    environments(node, around, context.env, 0);
    other_variables(node, context);
    for (const char* key : {"entrypoint", "command", "args"}) {
      const YamlNode* value = part_of(node, key);
      if (value == nullptr || (kubernetes && std::string_view(key) == "entrypoint")) continue;
      for (const ShellWord& word : tree_.words(*value)) {
        ours = ours || speaks(word);
        const std::string name(base_name(word.text));
        if (const auto it = scripts_.find(name); it != scripts_.end() && all.size() < 4)
          ours = ours || speaks({it->second, 0, 0});
        const bool doubled = word.text.find("$$") != std::string::npos && word.text.find("$$(") == std::string::npos;
        const bool by_compose = compose || (doubled && !kubernetes);
        auto done = interpolate(word, by_compose ? Interpolation::kCompose : Interpolation::kKubernetes, source_.text,
                                source_.given, by_compose ? Values{} : context.env);
        if (!done) {
          error_ = done.error();
          return;
        }
        if (!is_scalar(value)) {
          list = true;
          all.push_back(std::move(*done));
        } else if (compose) {
          for (ShellWord& one : plain_words(*done)) all.push_back(std::move(one));
        } else {
          scalar = true;
          script_ = std::move(*done);
        }
        if (all.size() > kMostWords) {
          error_ = Error{"a command with more words than are followed"};
          return;
        }
      }
    }
    const bool by_image =
        all.size() > 0 && all.front().text.starts_with("--") &&
        std::any_of(all.begin(), all.end(), [](const ShellWord& w) { return w.text.starts_with("--model"); });
    if (!ours && !by_image) return;
    if (scalar && !list) return run_script(script_, context);
    if (by_image) {
      context.unknown.push_back(
          {"the image's own entry point takes these words, and nobody knows here what it is", all.front().begin, {}});
      return finder_.arguments(all, context);
    }
    // A script that a ConfigMap of this file holds.
    for (std::size_t i = 0; i < all.size() && i < 4; ++i) {
      const auto it = scripts_.find(std::string(base_name(all[i].text)));
      if (it == scripts_.end() || all[i].text.starts_with('-')) continue;
      used_.insert(it->first);
      context.arguments.assign(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end());
      context.arguments_known = true;
      return run_script(it->second, context);
    }
    finder_.words(all, context);
  }

  void run_script(const ShellText& text, const RunContext& context) {
    auto done = finder_.script(text, context);
    if (!done && !error_) error_ = done.error();
  }

  // The service of this file that a compose service extends; nullptr where there is none.
  const YamlNode* extended(const YamlNode& node) {
    const YamlNode* extends = services_ == nullptr ? nullptr : value_of(node, "extends");
    if (extends == nullptr) return nullptr;
    if (is_map(extends) && value_of(*extends, "file") != nullptr) {
      const std::size_t at = tree_.offset(*extends);
      if (told_.insert(at).second) {
        finder_.note(
            {"SH002", fmt::format("{}, which this service extends, is not read", text_of(*extends, "file")), at});
      }
      return nullptr;
    }
    const YamlNode* base = value_of(*services_, is_map(extends) ? text_of(*extends, "service") : extends->text);
    return is_map(base) ? base : nullptr;
  }

  // A key of a service, or of what it extends.
  const YamlNode* part_of(const YamlNode& node, std::string_view key) {
    const YamlNode* at = &node;
    for (int depth = 0; at != nullptr && depth < kDeepest; ++depth) {
      if (const YamlNode* value = value_of(*at, key)) return value;
      at = extended(*at);
    }
    return nullptr;
  }

  // What a service extends sets its variables first.
  void environments(const YamlNode& node, const Around& around, Values& env, int depth) {
    if (const YamlNode* base = extended(node); base != nullptr && depth < kDeepest)
      environments(*base, around, env, depth + 1);
    for (const char* key : {"env", "environment"}) {
      if (const YamlNode* value = value_of(node, key)) environment(*value, around, env);
    }
  }

  // envFrom and env_file: variables by the file.
  void other_variables(const YamlNode& node, RunContext& context) {
    if (const YamlNode* value = part_of(node, "env_file")) {
      for (const ShellWord& word : tree_.words(*value)) {
        finder_.note(
            {"SH002", fmt::format("env_file {} is not read: what it sets is not known", word.text), word.begin});
      }
    }
    const YamlNode* from = value_of(node, "envFrom");
    if (!is_list(from)) return;
    for (const YamlNode* item : from->items) {
      const YamlNode* map = value_of(*item, "configMapRef");
      const YamlNode* ref = map != nullptr ? map : value_of(*item, "secretRef");
      if (ref == nullptr) continue;
      const std::string name = text_of(*ref, "name");
      const auto known = maps_.find(name);
      if (map != nullptr && known != maps_.end()) {
        const std::string prefix = text_of(*item, "prefix");
        for (const auto& [key, value] : known->second) context.env.try_emplace(prefix + key, value);
      } else {
        finder_.note(
            {"SH002", fmt::format("envFrom {} is not read: what it sets is not known", name), tree_.offset(*item)});
      }
    }
  }

  // NAME: VALUE, "- NAME=VALUE", or "- name: NAME, value: VALUE".
  void environment(const YamlNode& node, const Around& around, Values& env) {
    const bool compose = around.dialect == Dialect::kCompose;
    const auto set = [&](const std::string& name, ShellWord value) {
      const auto kind = compose ? Interpolation::kCompose : Interpolation::kKubernetes;
      if (around.dialect == Dialect::kWorkflow) {
        env.insert_or_assign(name, without_expressions(value, env));
        return;
      }
      auto done = interpolate(value, kind, source_.text, source_.given, compose ? Values{} : env);
      env.insert_or_assign(name, done ? static_cast<ShellText&>(*done) : value);
    };
    const auto unknown = [&](const std::string& name, std::string_view where, const YamlNode& at) {
      if (const auto given = source_.given.find(name); given != source_.given.end()) {
        env.insert_or_assign(
            name, ShellText{given->second, std::vector<std::size_t>(given->second.size(), tree_.offset(at)), {}});
      } else {
        env.insert_or_assign(
            name, unknown_text(fmt::format("{} comes from {}; give it with {}", name, where, how_to_set(name)),
                               tree_.offset(at)));
      }
    };
    if (node.kind == YamlNode::kMapping) {
      for (const auto& [name, value] : pairs_of(node)) {
        if (!is_scalar(name)) continue;
        if (is_scalar(value) && !(compose && value->tag == "null"))
          set(name->text, tree_.word(*value));
        else if (is_scalar(value))
          unknown(name->text, "the environment compose runs in", *name);
      }
      return;
    }
    for (const YamlNode* item : node.items) {
      if (item->kind == YamlNode::kScalar) {
        const ShellWord word = tree_.word(*item);
        const auto equals = word.text.find('=');
        if (equals == std::string::npos) {
          unknown(word.text, "the environment compose runs in", *item);
          continue;
        }
        set(word.text.substr(0, equals), {tail(word, equals + 1), word.begin, word.end});
      } else if (item->kind == YamlNode::kMapping && is_scalar(value_of(*item, "name"))) {
        const std::string name = text_of(*item, "name");
        if (const YamlNode* value = value_of(*item, "value"); is_scalar(value)) {
          set(name, tree_.word(*value));
        } else if (const YamlNode* from = value_of(*item, "valueFrom"); is_map(from)) {
          value_from(*from, name, *item, env, unknown);
        }
      }
    }
  }

  void value_from(const YamlNode& from, const std::string& name, const YamlNode& at, Values& env, const auto& unknown) {
    if (const YamlNode* ref = value_of(from, "configMapKeyRef"); is_map(ref)) {
      const auto known = maps_.find(text_of(*ref, "name"));
      const auto value = known == maps_.end() ? Values::const_iterator{} : known->second.find(text_of(*ref, "key"));
      if (known != maps_.end() && value != known->second.end()) {
        env.insert_or_assign(name, value->second);
        return;
      }
      return unknown(name, "a ConfigMap that is not in this file", at);
    }
    unknown(name, value_of(from, "secretKeyRef") != nullptr ? "a secret" : "the cluster", at);
  }

  const SourceText& source_;
  YamlTree& tree_;
  LaunchFinder& finder_;
  int seen_ = 0;
  int turns_ = 0;
  ShellText script_;
  std::map<std::string, Values> maps_;        // ConfigMaps by name
  std::map<std::string, ShellText> scripts_;  // their scripts by file name
  std::set<std::string> used_;
  const YamlNode* services_ = nullptr;  // of a compose file
  std::set<std::size_t> told_;
  std::optional<Error> error_;
};

}  // namespace

Result<bool> read_manifest(const SourceText& source, LaunchFinder& finder) {
  auto tree = YamlTree::read(source.text);
  if (!tree) return tl::make_unexpected(tree.error());
  return ManifestReader(source, *tree, finder).run();
}

}  // namespace preflight::sources
