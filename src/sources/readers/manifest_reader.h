// Containers of compose files and Kubernetes objects (and of whatever else has `command` and `args`), scripts of
// ConfigMaps (manifest.cpp, manifest_container.cpp), and the scripts of workflows: GitHub, GitLab, SkyPilot
// (manifest_workflow.cpp).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/sources/readers/readers.h"
#include "src/sources/readers/workflow_condition.h"
#include "src/sources/yaml_tree.h"

namespace preflight::sources {

class ManifestReader {
 public:
  ManifestReader(const SourceText& source, YamlTree& tree, LaunchFinder& finder)
      : source_(source), given_(source.given), tree_(tree), finder_(finder) {}

  Result<bool> run();

 private:
  using YamlNode = python::YamlNode;

  enum class Dialect { kPiece, kKubernetes, kCompose, kWorkflow, kGitlab };
  using KeyOfMap = std::pair<std::string, std::string>;  // a ConfigMap by namespace and name, and a key of its data
  using Objects = std::map<std::string, std::map<std::string, Values>>;  // what they hold, by name and namespace
  // What a Pod has to mount.
  struct Volume {
    std::string host = {};                       // a folder of its host
    std::map<std::string, KeyOfMap> files = {};  // of ConfigMaps of this file, by their paths
    std::string missing = {};                    // a ConfigMap that is not in this file
  };
  using Volumes = std::map<std::string, Volume>;
  // Pods that start together: of a LeaderWorkerSet, or of a RoleBasedGroup's role that is one.
  struct Group {
    const python::YamlNode* leader;
    const python::YamlNode* worker;
    const python::YamlNode* leader_patch = nullptr;  // that is laid over the template
    const python::YamlNode* worker_patch = nullptr;
    int size = 1;
    bool of_pattern = false;  // leaderWorkerPattern, whose controller has its own names for what it sets
  };
  // What a container finds in its file system of these.
  struct Mounted {
    bool any = false;                                         // it says what it mounts
    std::vector<std::pair<std::string, KeyOfMap>> ours = {};  // files among these that name a launch, by their names
    std::map<std::string, KeyOfMap> files = {};
    std::map<std::string, std::string> missing = {};  // ConfigMaps by the folders, or files, that they stand in
  };
  inline static const std::string kHostName = "HOSTNAME";
  struct Around {
    Dialect dialect = Dialect::kPiece;
    std::string name;
    Values env;
    std::string space = {};  // of an object: its namespace
    std::string image = {};
    std::shared_ptr<const Volumes> volumes = {};  // of a Pod, by their names
    std::vector<LaunchUnknown> unknown = {};      // that the image's release needs
    TakenDefaults defaults = {};                  // that the image has
    std::string shell = {};                       // of a workflow's steps
    std::vector<std::string> options = {};        // of that shell
    std::vector<WorkflowRow> matrix = {};         // rows of a workflow's job: plain values alone
    Conditions when = {};                         // what a step or a job asks for before it runs
    std::optional<LaunchUnknown> added = {};      // words that nobody wrote here
    bool never = false;                           // that holds in no row of the matrix
    Values fields = {};                           // of a Pod: what fieldRef finds, by its path
    Values task = {};                             // what {{.NAME}} of a Taskfile stands for
    Values macros = {};                           // of Azure: what $(NAME) stands for, by names in small letters
    std::optional<ShellText> others = {};         // what may set any variable that is not among `env`
    Values bash_env = {};                         // of CircleCI: what steps above wrote into the file of $BASH_ENV
  };

  // The command of a container as it is put together.
  struct ContainerWords {
    Mounted mounted;
    std::vector<ShellWord> all = {};
    std::optional<ShellWord> text = {};  // for a shell, in place of words
    bool list = false;                   // a key holds words
    bool ours = false;                   // it may start a server
    std::vector<ShellNote> said = {};    // where it does
    std::vector<KeyOfMap> named = {};    // scripts that a text for a shell names
  };

  // Objects and what stands in them.
  void collect(const YamlNode& node, int depth);
  void document(const YamlNode& root);
  void account_for_prose(const YamlNode& node, int depth, bool prose);
  void walk(const YamlNode& node, Around around, int depth, const std::string& key);
  [[nodiscard]] const YamlNode* part_of_item(std::string_view expression) const;
  static bool runs_by_tag_alone(const YamlNode& node);
  bool walk_loop(const YamlNode& node, const Around& around, int depth, const std::string& key);
  void walk_map(const YamlNode& node, Around around, int depth, const std::string& key);
  void walk_inside(const YamlNode& node, const Around& around, int depth, std::string_view key, const std::string& own);
  [[nodiscard]] Around inside_of(const Around& around, std::string_view key, const std::string& own) const;
  void find_open_names(const YamlNode& node, int depth);
  [[nodiscard]] std::optional<ShellText> of_play(const std::string& expression, std::size_t offset,
                                                 int depth = 0) const;
  [[nodiscard]] std::optional<ShellText> of_others(const ShellText& written, const std::string& expression,
                                                   std::size_t offset, int depth) const;
  [[nodiscard]] ShellText given_or_unknown(const std::string& expression, std::size_t offset,
                                           std::string_view where) const;
  [[nodiscard]] ShellWord without_templates(const ShellWord& word) const;
  void parameters_of_circle(const YamlNode& root);
  static void shell_of_circle(const YamlNode& node, Around& around);
  static bool takes_bash_env(const Around& around);
  void run_of_circle(const YamlNode& node, Around around);
  [[nodiscard]] ShellWord without_parameters_of_circle(const ShellWord& word) const;
  static bool is_lifecycle(std::string_view key);
  void written_file(const YamlNode& node, const YamlNode& content, const Around& around);
  static bool is_step(std::string_view key, const Around& around);
  void text_that_starts(const YamlNode& value, const Around& around, const std::string& key);
  bool list_that_starts(const YamlNode& node, const Around& around, const std::string& key);
  [[nodiscard]] bool is_cloud_config(const YamlNode& node, const Around& around) const;
  void cloud_config(const YamlNode& node, const Around& around);
  ShellText cloud_file(const YamlNode& file) const;
  void cloud_commands(const YamlNode& list, ShellText& script);
  static void append_quoted(ShellText& script, const ShellWord& word);
  void debugged(const YamlNode& node, const Around& around);
  void argo_script(const YamlNode& node, const Around& around);

  // Files of other tools.
  void tool_settings(const YamlNode& root, const Around& around);
  [[nodiscard]] ShellWord without_editor_names(const ShellWord& word) const;
  bool started_by_pm2(const YamlNode& node, const Around& around);
  void set_by_runner(const YamlNode& root, Around& around) const;
  bool tmuxinator(const YamlNode& node, const Around& around);
  void tmuxinator_pane(const YamlNode& lines, const ShellText& before, const Around& around);
  bool tmux_session(const YamlNode& node, const Around& around);
  void typed_lines(const YamlNode* lines, ShellText& script);
  Around head_of_cluster(const YamlNode& root, const char* cluster, const Around& around);
  void ray_job(const YamlNode& root, const Around& around);
  void ray_service(const YamlNode& root, const Around& around);
  void ray_applications(const YamlNode& root);
  void ray_engine(const YamlNode& config, const Values& env);
  void runtime_variables(const YamlNode& node, Values& env);
  bool python_literal(const YamlNode& value, ShellText& out, const std::string& front, int depth);
  bool started_by_editor(const YamlNode& node, const Around& around);
  void run_script(const ShellText& text, const RunContext& context);

  // Models that KServe serves by a runtime of the same file.
  void find_runtimes(const YamlNode& root);
  bool served(const YamlNode& root);
  void fill_names(ShellWord& word) const;
  void find_kustomization();

  // Parameters of Argo and Tekton, containers that were inspected.
  void fill_parameters(const YamlNode& root);
  [[nodiscard]] static ShellText text_at(const YamlNode& value, std::size_t offset);
  [[nodiscard]] std::optional<ShellText> of_tekton(const YamlNode& spec, const std::string& expression,
                                                   std::size_t offset) const;
  [[nodiscard]] std::optional<ShellText> of_argo(const YamlNode& spec, std::size_t at, const std::string& expression,
                                                 std::size_t offset, int depth) const;
  bool inspected(const YamlNode& node, const Around& around);

  // Steps of workflows.
  void step(const YamlNode& value, const Around& around);
  void tell_scripts(const ShellText& script, const Around& around);
  void in_powershell(const YamlNode& value, const Around& around, const std::string& key);
  void job_settings(const YamlNode& node, Around& around);
  static void asked(const YamlNode& node, std::string_view key, Around& around);
  static bool decided_by_matrix(const std::string& condition, Around& around);
  void step_elsewhere(const ShellText& script, const Around& around);
  bool step_in_image(const YamlNode& node, const Around& around);
  void steps(const YamlNode& list, Around around, int depth);
  void written_variables(const YamlNode& step, Around& around);
  bool is_written(const ShellCommand& command, bool conditional, Values& env) const;
  [[nodiscard]] std::string_view variables_file() const;
  void turns(const ShellText& script, const Around& around, const Values& env, const RunContext& context);
  void matrix_of(const YamlNode& node, Around& around);
  [[nodiscard]] WorkflowValue workflow_scalar(const YamlNode& node) const;
  [[nodiscard]] WorkflowValue input_value(const YamlNode& input, const YamlNode& value) const;
  [[nodiscard]] std::optional<WorkflowRow> matrix_row(const YamlNode& node) const;
  [[nodiscard]] std::optional<WorkflowRow> matrix_item(const std::string& name, const YamlNode& item) const;
  [[nodiscard]] ShellText without_expressions(const ShellText& text, const Values& env,
                                              const WorkflowRow* row = nullptr) const;
  void find_inputs(const YamlNode& root);
  [[nodiscard]] WorkflowOperand of_workflow(const std::string& path, const Values& env, const WorkflowRow* row,
                                            std::size_t offset) const;
  void numbers_of_group(const YamlNode& node, Around& around);

  // What is refused for its shape.
  static std::string refusal_by(bool compose, std::string_view what);  // of docker compose, else of Kubernetes
  void ask_for_shape(const YamlNode& node, const Around& around, RunContext& context);
  [[nodiscard]] std::optional<LaunchUnknown> refused_by_github(const YamlNode& root) const;
  [[nodiscard]] std::optional<LaunchUnknown> refused_by_gitlab(const YamlNode& root) const;
  [[nodiscard]] const YamlNode* mapping_among(const YamlNode& lines, int depth) const;

  // Pods that start together.
  [[nodiscard]] std::optional<Group> group_of(const YamlNode& node) const;
  [[nodiscard]] std::optional<Group> group_of_pattern(const YamlNode& pattern) const;
  [[nodiscard]] const YamlNode* role_template(const YamlNode& reference) const;
  void fields_of_pod(const python::YamlNode& node, Around& around) const;
  void nodes_of_dynamo(const YamlNode& node, Around& around) const;
  bool walk_numbered(const YamlNode& node, const Around& around, int depth);
  bool walk_indexed(const YamlNode& job, const Around& around, int depth);
  static void count_replicas(const YamlNode& node, Around& around);
  void walk_group(const Group& group, const YamlNode& node, const Around& around, int depth);
  void lay_over(const YamlNode& pod, const YamlNode* patch);
  bool walk_referred(const YamlNode& reference, const YamlNode& role, const Around& around, int depth);

  // Tasks of a Taskfile.
  static bool is_taskfile(const YamlNode& root);
  void taskfile(const YamlNode& root, Around around);
  void task_variables(const YamlNode& node, Around& around);
  static void task_conditions(const YamlNode& node, Around& around);
  ShellText with_task_variables(const ShellText& text, const Around& around);
  void add_task_variables(const YamlNode& node, const Around& scope, Around& around);
  void one_task(const YamlNode& task, Around own, int depth);
  void called_task(const YamlNode& call, const Around& around, int depth);
  void task_loop(const YamlNode& list, const YamlNode& node, const Around& around, int depth);
  void task_commands(const YamlNode& node, const Around& around, int depth);
  void task_command(const YamlNode& node, const Around& around, int depth);

  // Jobs of GitLab.
  static bool is_gitlab(const YamlNode& root);
  void gitlab_pipeline(const YamlNode& root, Around around);
  bool beyond(const YamlNode& node, int depth);
  void note_templates(const YamlNode& node, int depth);
  std::vector<const YamlNode*> extended_jobs(const YamlNode& job, bool tells = true);
  const YamlNode* job_part(const YamlNode& job, std::string_view key, int depth);
  const YamlNode* inherited_part(const YamlNode& job, std::string_view key);
  void job_variables(const YamlNode& job, Values& written, int depth);
  void rule_variables(const YamlNode* rules, std::string_view whose, Values& written) const;
  void fill_in(const Values& written, Values& env) const;
  void fill_in_names(Values& env) const;
  void matrix_variables(const YamlNode& job, Values& env);
  void script_lines(const YamlNode& node, ShellText& out, int depth);
  std::vector<Values> gitlab_matrix(const YamlNode& job);
  void gitlab_service(const YamlNode& service, Around around);
  void gitlab_job(const YamlNode& job, const Around& around);
  void gitlab_job(const YamlNode& job, Around around, const Values& row);

  // Containers and their variables.
  static RunContext context_of(const Around& around, const std::string& name = {});
  void take_image(const YamlNode& node, Around& around);
  void take_executor(const YamlNode& node, Around& around);
  void tell_joined_comment(const ShellText& text, std::vector<ShellNote>& said) const;
  static void image_in_parts(const YamlNode& image, Around& around);
  static void set_image(const std::string& written, const ShellText& filled, Around& around);
  void container(const YamlNode& node, const Around& around);
  void take_volumes(const YamlNode& node, Around& around) const;
  void take_files(const YamlNode& map, const std::string& space, Volume& volume) const;
  [[nodiscard]] static const std::pair<const std::string, Values>* object_named(const Objects& all,
                                                                                const std::string& name,
                                                                                const std::string& space);
  [[nodiscard]] Mounted mounted_in(const YamlNode& node, const Around& around);
  void bind_scripts(const YamlNode& node, const std::vector<facts::Mount>& mounts, Mounted& mounted);
  bool bind_script(const std::string& path, const facts::Mount& mount, std::size_t at, Mounted& mounted);
  std::string folder_of_words(const YamlNode& node);
  [[nodiscard]] const std::pair<const KeyOfMap, ShellText>* script_of(const ShellWord& word, const Mounted& mounted,
                                                                      const YamlNode& node);
  static bool named_scripts(const ShellText& text, const Mounted& mounted, std::vector<KeyOfMap>& out);
  std::shared_ptr<const std::map<std::string, ShellText>> files_of(const Mounted& mounted);
  bool is_of_compose(const YamlNode& node, const Around& around);
  RunContext place_of(const YamlNode& node, const Around& around, const std::optional<ImageStart>& built);
  static void refuse_variable(const ShellWord& word, RunContext& context);
  bool take_words(const YamlNode& node, const YamlNode& value, const Around& around, RunContext& context,
                  ContainerWords& words);
  bool put_together(const YamlNode& node, const Around& around, const std::optional<ImageStart>& built,
                    RunContext& context, ContainerWords& words);
  bool taken_by_image(const YamlNode& node, const std::vector<ShellWord>& words);
  void run_container(const YamlNode& node, const std::vector<ShellWord>& all, bool by_image, const Mounted& mounted,
                     RunContext& context);
  void tell_missing(const std::vector<ShellWord>& words, const Mounted& mounted, const Around& around);
  void run_mounted(const std::pair<const KeyOfMap, ShellText>& script, const RunContext& context);
  std::vector<facts::Mount> pod_mounts(const YamlNode& container, const Volumes& volumes);
  std::optional<facts::MemoryLimit> memory_of_service(const YamlNode& node);
  bool shares_network(const YamlNode& node);
  facts::ContainerView host_of(const YamlNode& node, const Around& around, bool compose);
  void each_text(const YamlNode* list, const std::function<void(const ShellText&)>& take);
  std::optional<facts::Mount> compose_mount(const YamlNode& item);
  void name_all(const YamlNode& map);
  [[nodiscard]] const YamlNode* named(const std::string& name) const;
  const YamlNode* of_pipeline(std::string_view key);
  const YamlNode* key_of_job(const YamlNode& job, std::string_view key);  // or of the pipeline
  const YamlNode* extended(const YamlNode& node);
  const YamlNode* in_other_file(const YamlNode& node, const YamlNode& extends);
  std::optional<LaunchUnknown> circle_among(const YamlNode& parts, std::string_view refuses);
  std::vector<const YamlNode*> bases_of(const YamlNode& node);
  static std::string key_of(const YamlNode& parts, const YamlNode& part);
  void included(const YamlNode& root);
  void include(const YamlNode& item);
  bool variables_of_include(const YamlNode& files, const std::string& included, Variables& given);
  void overridden();
  void find_base();
  void ask_for_whole(const YamlNode& node, const Around& around, RunContext& context);
  [[nodiscard]] std::string beside(const YamlNode& node, const std::string& path) const;
  const YamlNode* part_of(const YamlNode& node, std::string_view key);
  void variable_files(const YamlNode& node, Values& env, int depth);
  void environments(const YamlNode& node, const Around& around, Values& env, int depth);
  std::optional<ImageStart> start_of_build(const YamlNode& node);
  void built_image(const YamlNode& node);
  void read_dotenv();
  void variable_file(const YamlNode& item, Values& env);
  void other_variables(const YamlNode& node, const Around& around, RunContext& context);
  [[nodiscard]] bool stays(const std::string& name, const Values& env) const;
  [[nodiscard]] Values named_in(const ShellText& text, const Values& env) const;
  bool too_many(const Values& env);
  std::vector<ShellWord> words_of(const YamlNode& list);
  [[nodiscard]] static bool is_no_text(const YamlNode& node, bool old_words);
  void find_no_texts(const YamlNode& list, const Around& around, RunContext& context);
  void ask_for_object(const YamlNode& node, const Around& around, RunContext& context) const;
  void run_words(const std::vector<ShellWord>& words, const RunContext& context);
  std::vector<ShellWord> words_of_text(const ShellWord& text, std::vector<ShellNote>& said, RunContext& context) const;
  void environment(const YamlNode& node, const Around& around, Values& env, std::string_view key = {});
  [[nodiscard]] ShellWord printed_by_go(const YamlNode& value) const;
  void value_from(const YamlNode& from, const std::string& name, const YamlNode& at, const Around& around, Values& env);
  void set_unknown(const std::string& name, std::string_view where, const YamlNode& at, Values& env) const;
  static bool is_azure(const YamlNode& root);
  void parameters_of_azure(const YamlNode& root);
  void variables_of_azure(const YamlNode& node, Around& around);
  void matrix_of_azure(const YamlNode& node, Around& around) const;
  [[nodiscard]] ShellText with_macros(const ShellText& text, const Values& macros) const;
  void configs_of_compose(const YamlNode& root);
  Mounted configs_in(const YamlNode& node);

  const SourceText& source_;
  const YamlNode* all_tasks_ = nullptr;             // of a Taskfile
  std::shared_ptr<const Around> of_taskfile_ = {};  // its variables
  Variables given_;                                 // those of compose's .env among them
  YamlTree& tree_;
  LaunchFinder& finder_;
  int seen_ = 0;
  bool cut_ = false;       // told that a pipeline is followed in part
  std::size_t bytes_ = 0;  // of the values of all environments
  int turns_ = 0;
  Objects maps_;                           // ConfigMaps
  Objects secrets_;                        // the names in Secrets that are written as plain text
  bool kustomized_ = false;                // a kustomization beside this file changes its objects
  std::map<KeyOfMap, ShellText> texts_;    // all that ConfigMaps hold
  std::map<KeyOfMap, ShellText> scripts_;  // their scripts
  std::set<KeyOfMap> speaking_;            // those that name a launch
  std::size_t mounted_files_ = 0;          // of all containers
  std::size_t bytes_of_files_ = 0;         // of ConfigMaps that were handed to containers
  std::set<KeyOfMap> used_;
  struct Runtime {
    const YamlNode* root;
    bool used;
  };
  std::map<std::string, Runtime> runtimes_;           // of KServe, by name
  std::string model_;                                 // that is served by the runtime at hand
  std::vector<ShellWord> model_args_;                 // its arguments, behind those of the runtime
  Values model_env_;                                  // its variables, over those of the runtime
  bool pm2_ = false;                                  // entries of its `apps`
  bool editor_ = false;                               // tasks or debugger's entries of an editor
  bool tekton_ = false;                               // an object of it
  bool azure_ = false;                                // a pipeline of Azure
  bool circle_ = false;                               // a pipeline of CircleCI
  bool chart_values_ = false;                         // what a chart makes of them stands in its templates
  std::string kind_ = {};                             // of the object at hand
  bool plain_object_ = false;                         // of Kubernetes itself: nobody adds variables to its containers
  const YamlNode* no_text_ = nullptr;                 // a variable of the container at hand, whose value is no text
  std::optional<ShellText> others_ = {};              // what may set any variable of the container at hand
  bool open_variables_ = false;                       // an envFrom of the container at hand is not known
  std::vector<const YamlNode*> scopes_ = {};          // `vars` of Ansible around what is at hand
  std::set<std::string> open_names_ = {};             // that something else in the file sets
  bool tasks_ = false;                                // of Ansible: what is around a container is set on its host
  std::map<std::string, WorkflowValue> inputs_ = {};  // of a workflow: defaults of what its caller may give
  Values parameters_ = {};                            // of a pipeline, by default
  std::vector<const YamlNode*> items_ = {};           // of Ansible's loops around what is at hand
  bool called_only_ = false;                    // a workflow that runs by hand or by another one alone: inputs are set
  std::map<std::string, ShellWord> by_matrix_;  // variables of a workflow as written, where the matrix fills them in
  std::size_t together_ = 0;                    // services that share the network of the host
  const YamlNode* services_ = nullptr;          // of a compose file
  const YamlNode* executors_ = nullptr;         // of a pipeline of CircleCI
  const YamlNode* pipeline_ = nullptr;          // of GitLab
  std::map<std::string, const YamlNode*, std::less<>> tops_ = {};  // its keys
  std::map<std::string, const YamlNode*> named_;  // its services, or the pipeline's jobs: each may extend others
  std::set<const YamlNode*> templates_;           // its jobs that others are made of
  struct OtherFile {                              // of compose, whose services those of this file extend
    std::string path = {};
    std::size_t at = 0;                   // where its nodes stand in this file
    std::unique_ptr<YamlTree> tree = {};  // none: it cannot be read
    std::map<std::string, const YamlNode*> services = {};
  };
  const OtherFile& other_file(const std::string& path, std::size_t at);
  std::map<std::string, OtherFile> other_files_;                // by their paths
  std::map<const YamlNode*, const OtherFile*> from_elsewhere_;  // their services
  const YamlNode* role_templates_ = nullptr;                    // of the RoleBasedGroup that is walked
  std::map<const YamlNode*, const YamlNode*> patches_;          // of containers, while their Pod is walked
  std::map<const YamlNode*, const YamlNode*> beneath_;          // the container that a patch is laid over
  std::set<std::string> overridden_;                            // services that compose.override.yaml changes
  std::string base_ = {};                                       // the compose.yaml beside this file
  std::set<std::string> base_services_ = {};                    // and its services
  std::set<std::size_t> told_;
  std::vector<const YamlNode*> chain_ =
      {};  // of the service that was asked last: what it extends, as far as was looked
  mutable std::optional<Error> error_;
  [[nodiscard]] bool stopped() const { return error_ || finder_.error(); }
  // Of those that the file has (FileSteps); false, and an error, where they are spent.
  bool spend(std::size_t steps) const;  // NOLINT(modernize-use-nodiscard): the error is kept
};

// Whether a text may start a server.
inline bool speaks(const ShellText& text) {
  return text.text.find("sglang") != std::string::npos || text.text.find("launch_server") != std::string::npos ||
         text.text.find("vllm serve") != std::string::npos;
}

}  // namespace preflight::sources
