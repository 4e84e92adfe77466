// Tested by tests/check_cli_test.cpp.
#include "src/intake/launch_input.h"
#include "src/base/log.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "src/args/parse.h"
#include "src/intake/serve.h"
#include "src/base/ascii_case.h"
#include "src/base/files_read.h"
#include "src/base/limits.h"
#include "src/intake/conceal.h"
#include "src/intake/open_text.h"
#include "src/intake/model_options.h"
#include "src/intake/vllm_words.h"
#include "src/facts/absurd_model.h"
#include "src/facts/hub_name.h"
#include "src/facts/gguf/gguf_file.h"
#include "src/facts/launch_variables.h"
#include "src/base/read_text.h"
#include "src/base/remembered.h"
#include "src/base/shell_words.h"
#include "src/sources/image_tag.h"
#include "src/sources/readers/readers.h"
#include "src/sources/started_command.h"
#include "src/sources/programs.h"
#include "src/resolve/core/parsed_launch.h"
#include "src/resolve/core/pipeline.h"
#include "src/resolve/peer/python_resolver.h"

namespace preflight::commands {
namespace {

ArgumentSource joined(const std::vector<std::string>& arguments) {
  ArgumentSource source;
  source.name = "command line";
  for (const auto& argument : arguments) {
    if (!source.text.empty()) source.text += ' ';
    const std::string shown = shell_word(argument);
    source.arguments.push_back({source.text.size(), shown.size()});
    source.text += shown;
  }
  return source;
}

// A finding about the input, with the words of its record.
Diagnostic note(std::string_view id, std::string message) {
  const Rule* rule = find_rule(id);
  return {.rule = std::string(id),
          .severity = rule->severity,
          .message = std::move(message),
          .why = std::string(rule->why),
          .fix = std::string(rule->fix)};
}

struct Arguments {
  std::vector<std::string> argv;
  std::vector<SourceRange> positions;
  Environment env;
  ArgumentSource source;
  std::vector<Diagnostic> notes;
  facts::ContainerView host;
  std::optional<ReadLaunch> read;
  std::string mended;
  bool from_vllm = false;
  std::optional<std::string> serve_backend;   // of `sglang serve`: "auto", "llm" or "diffusion"
  std::optional<ParseRefusal> serve_refusal;  // `sglang serve` does not understand its words
};

// The arguments that `sglang serve` hands to launch_server's parser, with the places of their words.
void read_as_serve(Release release, Arguments& out) {
  auto read = args::read_serve_words(release, out.argv);
  if (auto* refusal = std::get_if<ParseRefusal>(&read)) {
    out.serve_refusal = std::move(*refusal);
    return;
  }
  auto& request = std::get<args::ServeRequest>(read);
  std::vector<SourceRange> positions;
  std::vector<ArgumentSource::Span> spans;
  for (std::size_t i = 0; i < request.argv.size(); ++i) {
    const bool added = i + 1 < request.from.size() && request.from[i] == request.from[i + 1];
    positions.push_back(out.positions[request.from[i]]);
    spans.push_back(out.source.arguments[request.from[i]]);
    if (added) spans.back().length = 0;  // --model-path, which nobody wrote
  }
  out.argv = std::move(request.argv);
  out.positions = std::move(positions);
  out.source.arguments = std::move(spans);
  out.serve_backend = std::move(request.backend);
}

// The launch that a vLLM command comes to, with the places of the words it came from.
void read_as_vllm(const LaunchInput& input, Arguments& out) {
  TranslatedWords words = translate_vllm(input.release, out.argv);
  std::vector<SourceRange> positions;
  std::vector<ArgumentSource::Span> spans;
  for (const std::size_t from : words.from) {
    positions.push_back(out.positions[from]);
    spans.push_back(out.source.arguments[from]);
  }
  out.argv = std::move(words.argv);
  out.positions = std::move(positions);
  out.source.arguments = std::move(spans);
  out.from_vllm = true;
  out.notes.push_back(note("VL001", fmt::format("this command starts vLLM; what is checked is python -m "
                                                "sglang.launch_server {}",
                                                shell_words(out.argv))));
  for (const std::string& text : words.left_out) out.notes.push_back(note("VL002", text));
}

// The model makes `sglang serve` start its other server; what needs the hub or other packages to tell is not known.
Result<bool> is_diffusion_model(Release release, facts::ModelFiles& models, const std::string& path) {
  constexpr std::array<std::string_view, 2> kIndexes = {"model_index.json", "modular_model_index.json"};
  for (const std::string_view index : kIndexes) {
    if (index != kIndexes[0] && release < v0_5(21)) continue;
    const auto text = models.text_of(path + "/" + std::string(index));
    if (!text) continue;
    const auto value = Value::parse_json(*text);
    // That ended the launch before there were backends by name; since then it is no diffusion model.
    if (!value && release < v0_5(18)) return failure(value.error().message, path + "/" + std::string(index));
    return value && value->is_dict() && value->find("_diffusers_version") != nullptr;
  }
  // Known by their names alone; since 0.5.17 the packages of the diffusion server say which models are theirs.
  struct Name {
    std::string_view part;
    Release since;
  };
  constexpr Release kFirst = v0_5(0);
  constexpr std::array<Name, 10> kNames = {{{"hunyuan3d", kFirst},
                                            {"flux.2-dev-nvfp4", kFirst},
                                            {"comfy-org/ideogram-4", v0_5(13)},
                                            {"comfy-org--ideogram-4", v0_5(13)},
                                            {"pi05", v0_5(16)},
                                            {"pi0.5", v0_5(16)},
                                            {"fal/ideogram-v4-fast", v0_5(16)},
                                            {"fal--ideogram-v4-fast", v0_5(16)},
                                            {"fal/ideogram-v4-instant", v0_5(16)},
                                            {"fal--ideogram-v4-instant", v0_5(16)}}};
  if (release >= v0_5(17)) return false;
  const std::string lower = ascii_lower(path);
  return std::any_of(kNames.begin(), kNames.end(), [&](const Name& name) {
    return name.since <= release && lower.find(name.part) != std::string::npos;
  });
}

// Which of several launches is meant.
Result<std::size_t> chosen(const LaunchInput& input, const std::vector<sources::LaunchCommand>& all) {
  if (input.which_launch) return std::min(*input.which_launch, all.size() - 1);
  if (input.launch_choice.empty() && all.size() == 1) return std::size_t{0};
  std::string list;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string& name = all[i].name;
    if (!input.launch_choice.empty() && (input.launch_choice == name || input.launch_choice == std::to_string(i + 1))) {
      return i;
    }
    if (i < 8)
      list +=
          fmt::format("{}{}{} (line {})", i == 0 ? "" : ", ", i + 1, name.empty() ? "" : " " + name, all[i].where.line);
    if (i == 8) list += ", …";
  }
  if (!input.launch_choice.empty()) {
    return failure(fmt::format("--launch {}: there is no such launch; there are {}", input.launch_choice, list));
  }
  return failure(
      fmt::format("{} SGLang launches in this {}: {}; pick one with --launch, or check the nodes of one launch "
                  "together with `nodes`",
                  all.size(), sources::is_manifest(*input.command) ? "manifest" : "command", list));
}

// A launch with a part that is not known is judged by nobody.
Result<sources::LaunchCommand> complete(sources::LaunchCommand launch) {
  if (launch.unknown.empty()) return launch;
  const sources::LaunchUnknown& open = launch.unknown.front();
  std::string what = open.what;
  hide_literals(what);
  return failure(what, fmt::format("{}:{}", open.where.line, open.where.column));
}

Result<sources::LaunchCommand> launch_in(const LaunchInput& input) {
  if (input.found != nullptr) return complete(*input.found);
  keep_secrets_of(*input.command);
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  auto all = input.command_is_file ? sources::read_launches(*input.command, input.variables, input.command_name)
                                   : sources::read_command(*input.command, input.variables, {.folder = folder});
  keep_secrets_of({});  // what its variables were set to
  if (!all) return tl::make_unexpected(all.error());
  const auto which = chosen(input, *all);
  if (!which) return tl::make_unexpected(which.error());
  return complete(std::move((*all)[*which]));
}

// Without --device SGLang takes a GPU where there is one.
bool may_be_xpu(const LaunchInput& input, const Arguments& arguments) {
  const std::string device = path_given(input.release, arguments.argv, Field::device);
  return device.empty() || device == "xpu";
}

// Before it is resolved: --device may stand in its --config file.
Processor on_processor(const LaunchInput& input, const Arguments& arguments) {
  if (path_given(input.release, arguments.argv, Field::device) == "cpu") return Processor::kYes;
  return args::config_length(input.release, arguments.argv) > 0 ? Processor::kMaybe : Processor::kNo;
}

std::optional<Diagnostic> image_for_others(const LaunchInput& input, const std::string& image,
                                           const Arguments& arguments) {
  const std::string device = sources::other_device_of_image(image);
  if (device.empty() || !may_be_xpu(input, arguments)) return std::nullopt;
  return note("SH006", fmt::format("{}:{}: the image {} is built for {}", input.command_name, arguments.read->line,
                                   image, device));
}

std::optional<Diagnostic> container_without_cards(const LaunchInput& input, const Arguments& arguments) {
  if (!arguments.host.cards || arguments.host.cards->count > 0 || !may_be_xpu(input, arguments)) return std::nullopt;
  return note("SH005", fmt::format("{}:{}: the container is given no card: {}", input.command_name,
                                   arguments.read->line, arguments.host.cards->said_by));
}

Result<Arguments> read_arguments(const LaunchInput& input) {
  Arguments out;
  out.env = input.env;
  out.host.cards = input.cards;
  if (!input.command) {
    out.argv = input.arguments;
    out.source = joined(input.arguments);
    return out;
  }
  auto launch = launch_in(input);
  if (!launch) {
    Error error = launch.error();
    error.where = error.where.empty() ? input.command_name : input.command_name + ":" + error.where;
    return tl::make_unexpected(std::move(error));
  }
  if (const std::string why = sources::missing_module(launch->module, input.release); !why.empty())
    out.notes.push_back(note("SH008", fmt::format("{}:{}: {}", input.command_name, launch->where.line, why)));
  out.read = shown_launch(*launch, input.command_name, input.release);
  out.mended = std::move(launch->mended);
  out.argv = std::move(launch->argv);
  out.host = std::move(launch->host);
  if (!out.host.cards) out.host.cards = input.cards;
  out.positions = std::move(launch->positions);
  for (auto& [name, value] : launch->env) out.env.insert_or_assign(name, value);
  out.source.name = input.command_name;  // its text: keep_what_is_shown()
  for (const auto& word : launch->spans) out.source.arguments.push_back({word.begin, word.end - word.begin});
  for (const auto& note_in_text : launch->notes) {
    const auto at = input.command.at(note_in_text.offset);
    out.notes.push_back(note(
        note_in_text.rule, fmt::format("{}:{}:{}: {}", input.command_name, at.line, at.column, note_in_text.message)));
  }
  if (launch->vllm) read_as_vllm(input, out);
  if (launch->serve) read_as_serve(input.release, out);
  if (auto other = image_for_others(input, launch->image, out)) out.notes.push_back(std::move(*other));
  if (auto none = container_without_cards(input, out)) out.notes.push_back(std::move(*none));
  return out;
}

// What `sglang serve` does once it knows its words: a model path it must see, and the choice of a server.
Result<bool> check_serve(const LaunchInput& input, Arguments& arguments, facts::ModelFiles& models) {
  if (!arguments.serve_backend || arguments.serve_refusal) return true;
  arguments.serve_refusal = args::missing_serve_model(arguments.argv);
  if (arguments.serve_refusal) return true;
  const std::string path = args::serve_model_path(arguments.argv).value_or("");
  const auto diffusion = *arguments.serve_backend == "auto" ? is_diffusion_model(input.release, models, path)
                                                            : Result<bool>(*arguments.serve_backend == "diffusion");
  if (!diffusion) return tl::make_unexpected(diffusion.error());
  if (!*diffusion) return true;
  return failure(fmt::format("sglang serve starts its diffusion server for {}: that is another server with arguments "
                             "of its own, and it is not checked here",
                             path),
                 input.command_name);
}

// "--model-path X" or an alias is among the arguments (argparse would demand it otherwise).
bool gives_model(const std::vector<std::string>& argv) {
  for (const auto& a : argv) {
    if (a == "--config" || a.starts_with("--model-path") || a == "--model" || a.starts_with("--model=")) return true;
  }
  return false;
}

std::string path_in(const ServerArgs& args, Field field) {
  return args[field].is_string() ? args[field].as_string() : std::string();
}

// What ended at a limit of ours is not judged: SGLang may well take it.
std::optional<Error> met_our_limit(const Refusal& refusal) {
  if (refusal.exception != limits::kOurs) return std::nullopt;
  return Error{refusal.message + ": a limit of xpu-preflight; the launch is not judged"};
}

// A --config file that cannot be read, or is no YAML with options in it, is bad input as any other file would be.
std::optional<Error> unreadable_config(const ParseOutcome& parsed) {
  const auto* refused = std::get_if<ParseRefusal>(&parsed);
  if (refused == nullptr) return std::nullopt;
  const Refusal& r = refused->refusal;
  if (r.function != "_parse_yaml_config" && r.function != "_validate_yaml_file") return std::nullopt;
  return Error{r.message};
}

std::optional<Error> over_our_limit(const ParseOutcome& parsed) {
  const auto* refused = std::get_if<ParseRefusal>(&parsed);
  return refused == nullptr ? std::nullopt : met_our_limit(refused->refusal);
}

// Each launch of a run, and each try of a search, asks the same of the same configurations.
const std::optional<std::string>& absurd_in(const Value& config) {
  struct Question {
    Value config;
    bool operator==(const Question& other) const { return config.identical(other.config); }
  };
  constexpr std::size_t kKept = 8;
  thread_local NewestRemembered<Question, std::optional<std::string>> known(kKept);
  return known.of({config}, [&] { return facts::absurd_part(config); });
}

std::optional<Error> absurd_part(const Value& config, const std::string& path) {
  const auto& why = absurd_in(config);
  return why ? std::optional(Error{*why, path}) : std::nullopt;
}

// A directory that is there and holds no model, a broken config.json: bad input, not a verdict on the launch.
std::optional<Error> unusable_model(Release release, facts::ModelFiles& models, const std::string& path) {
  if (facts::is_gguf_file(path)) {
    const auto header = facts::load_config(models, {.release = release, .path = path}).result;
    const auto* config = std::get_if<Value>(&header);
    return config == nullptr ? std::nullopt : absurd_part(*config, path);  // a header SGLang refuses is a verdict
  }
  const auto config = models.config_of(path);
  if (!config) return config.error();
  const auto place = models.place_of(path);
  const std::string& directory = place && !place->directory.empty() ? place->directory : path;
  const std::string file = path == kModelByOption ? "--fact" : directory + "/config.json";
  if (*config != nullptr) {
    if (!(*config)->is_dict()) return Error{"a model configuration is a JSON object", file};
    return absurd_part(**config, file);
  }
  std::error_code ignored;
  const bool empty = std::filesystem::is_directory(models.here(path), ignored) &&
                     !models.has_file(path, "params.json") && !models.has_file(path, "*.gguf") &&
                     !models.has_file(path, "model_index.json");
  return empty ? std::optional(Error{"there is no config.json in this directory", path}) : std::nullopt;
}

// The installed SGLang's answer: replaces ours, or is compared with it.
Result<bool> resolve_python(const LaunchInput& input, const Arguments& arguments, facts::ModelFiles& models,
                            PreparedLaunch& out) {
  auto answer = resolve::ask_python(input.interpreter, input.release, arguments.argv, out.inputs.device, arguments.env,
                                    input.interpreter_seconds);
  if (!answer) {
    hide_in(answer.error().message, out.inputs);  // which may quote what it was given
    return tl::make_unexpected(std::move(answer.error()));
  }
  const auto theirs = parse_release(answer->release);
  const bool is_foreign = !input.ask_builtin && !(theirs && is_supported(*theirs));
  if (is_foreign) out.foreign_release = answer->release;
  if (answer->release != input.release.text()) {
    out.notes.push_back(note("RS002", fmt::format("the interpreter holds SGLang {}, {}", answer->release,
                                                  is_foreign ? "of which no rule is known here"
                                                             : "rules are those of " + input.release.text())));
  }
  if (!answer->unknown_fields.empty()) {
    out.notes.push_back(note("RS002", fmt::format("fields of the interpreter's SGLang that are not known here: {}",
                                                  fmt::join(answer->unknown_fields, ", "))));
  }
  if (input.ask_builtin) {
    const auto lines = resolve::differences(out.launch, answer->launch);
    for (const std::string& line : lines) {
      out.notes.push_back(note("RS001", "the two resolvers differ: " + line));
    }
    if (lines.empty()) {
      out.notes.push_back(note("RS003", "the two resolvers agree: " + resolve::agreement(out.launch)));
    }
    return true;
  }
  // Positions of arguments come from our parser where it understands them.
  answer->launch.args = std::move(out.launch.args);
  ServerArgs& args = answer->launch.args;
  if (args.raw.empty()) args.raw = answer->launch.resolved;
  if (answer->release != input.release.text() && answer->launch.accepted()) {
    // Where it does not tell what its launches start from, only what was given is known.
    for (const Field f : fields_of(args.release)) {
      if (args.last_given(f) == nullptr) args.raw.set(f, answer->launch[f]);
    }
    for (const auto& [field, value] : answer->defaults) {
      if (args.last_given(field) == nullptr) args.raw.set(field, value);
    }
  }
  out.launch = std::move(answer->launch);
  if (out.launch.accepted()) resolve::attach_model(out.launch, models);
  return true;
}

// The text of a --config file, which findings about its options point into.
void add_config_text(PreparedLaunch& out) {
  const auto& argv = out.inputs.argv;
  const auto option = std::find(argv.begin(), argv.end(), "--config");
  if (option == argv.end() || option + 1 == argv.end()) return;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(*(option + 1), ignored)) return;  // a pipe was read and is empty
  constexpr std::size_t kShown = std::size_t{64}
                                 << 10U;  // of a longer one the place is told; each launch keeps its own
  auto text = read_text(*(option + 1));
  if (text && text->size() <= kShown) out.source.files.emplace(*(option + 1), std::move(*text));
}

}  // namespace

ReadLaunch shown_launch(const sources::LaunchCommand& launch, const std::string& file, Release release) {
  ReadLaunch out{.file = file,
                 .line = launch.where.line,
                 .name = launch.name,
                 .vllm = launch.vllm,
                 .argv = launch.argv,
                 .env = launch.env,
                 .image = launch.image,
                 .release = launch.release,
                 .unknown = {}};
  if (!launch.through.empty()) {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::absolute(file, error).lexically_normal().parent_path();
    const std::filesystem::path there = std::filesystem::path(launch.through.front().file).lexically_relative(folder);
    out.stands_in = error || there.empty() ? launch.through.front().file : there.string();
    out.line_there = launch.through.front().first;
  }
  for (std::string& word : out.argv) {
    for (std::size_t at = word.find(sources::kHole); at != std::string::npos && !launch.unknown.empty();
         at = word.find(sources::kHole, at)) {
      word.replace(at, 1, "?");
    }
  }
  for (const sources::LaunchUnknown& open : launch.unknown) {
    out.unknown.push_back({open.what, open.where.line, open.where.column});
  }
  for (const sources::LaunchDefault& one : launch.defaults) {
    out.defaults.push_back({one.name, one.value, one.where.line, one.where.column, one.why});
    if (one.value) std::ranges::replace(*out.defaults.back().value, sources::kHole, '?');
  }
  conceal(out, launch.when, release);
  return out;
}

std::string path_given(Release release, const std::vector<std::string>& argv, Field field) {
  const ParseOutcome parsed = args::parse(release, argv);
  const auto* args = std::get_if<ServerArgs>(&parsed);
  return args == nullptr ? std::string() : path_in(*args, field);
}

namespace {

// Numbers that are absurd by themselves, or beside those of the configuration that they stand in.
std::optional<Error> absurd_overrides(const ServerArgs& args, facts::ModelFiles* models) {
  constexpr const char* kPlace = "--json-model-override-args";
  const Value& given = args[Field::json_model_override_args];
  if (!given.is_string()) return std::nullopt;
  const auto overrides = Value::parse_json(given.as_string());
  if (!overrides || !overrides->is_dict()) return std::nullopt;
  if (auto error = absurd_part(*overrides, kPlace)) return error;
  const auto config =
      models == nullptr ? nullptr : models->config_of(path_in(args, Field::model_path)).value_or(nullptr);
  if (config == nullptr || !config->is_dict()) return std::nullopt;
  Value changed = *config;
  for (const auto& [key, value] : overrides->as_dict()) changed = std::move(changed).with(key, value);
  return absurd_part(changed, kPlace);
}

// Models whose facts nobody knows here, where that leaves a launch open; "" where there is none.
struct OpenModels {
  std::string model;
  std::string draft;
};

Result<OpenModels> open_models(const LaunchInputs& inputs, const ServerArgs& args) {
  OpenModels open;
  if (!inputs.unknown_models_stay_open) return open;
  open = {path_in(args, Field::model_path), path_in(args, Field::speculative_draft_model_path)};
  for (const std::string& path : {open.model, open.draft}) {
    if (path.empty() || !inputs.unusable_files_are_errors) continue;
    if (auto error = unusable_model(inputs.release, *inputs.models, path))
      return tl::make_unexpected(std::move(*error));
  }
  if (inputs.unusable_files_are_errors) {
    if (auto error = absurd_overrides(args, inputs.models.get())) return tl::make_unexpected(std::move(*error));
  }
  // What no hub and no other machine can hold is refused wherever it is launched: that is known.
  const auto settled = [&](const std::string& path) {
    return model_is_known(*inputs.models, path) || !facts::may_exist_elsewhere(inputs.release, path);
  };
  if (open.model == "none" || open.model == "dummy" || settled(open.model)) open.model.clear();
  if (open.draft.empty() || settled(open.draft)) open.draft.clear();
  return open;
}

void leave_open(UnknownModel model, ResolvedWords& out) {
  out.unknown_model = std::move(model);
  out.launch.outcome = Outcome::kAccepted;
  out.launch.refusal.reset();
}

// A refusal caused by our not knowing a model says nothing about SGLang's: the launch is open from there on.
void leave_open(OpenModels open, ResolvedWords& out) {
  if (out.launch.outcome != Outcome::kRefused) return;
  if (!open.model.empty() && out.launch.refused_by_model) out.unknown_model = {.path = std::move(open.model)};
  const bool not_found = out.launch.refusal && out.launch.refusal->exception == "OSError";
  if (!open.draft.empty() && !out.launch.refused_by_model && not_found) {
    out.unknown_model = {.path = std::move(open.draft), .is_draft = true};
  }
  if (out.unknown_model) leave_open(std::move(*out.unknown_model), out);
}

}  // namespace

std::vector<Result<ResolvedWords>> resolve_words(std::span<const LaunchWords> launches) {
  std::vector<Result<ResolvedWords>> out;
  out.reserve(launches.size());
  struct Waiting {
    std::size_t launch;
    OpenModels open;
  };
  std::vector<Waiting> waiting;
  std::vector<resolve::Unresolved> parsed_launches;
  waiting.reserve(launches.size());
  parsed_launches.reserve(launches.size());
  for (const LaunchWords& words : launches) {
    const LaunchInputs& inputs = words.inputs;
    ParseOutcome parsed = args::parse(inputs.release, words.argv, words.positions, words.config);
    out.emplace_back();
    if (auto* args = std::get_if<ServerArgs>(&parsed)) {
      auto open = open_models(inputs, *args);
      if (!open) {
        out.back() = tl::make_unexpected(std::move(open.error()));
        continue;
      }
      waiting.push_back({out.size() - 1, std::move(*open)});
      parsed_launches.push_back({std::move(*args), *inputs.models, inputs.device, words.env});
    } else if (const auto limit = over_our_limit(parsed)) {
      out.back() = tl::make_unexpected(*limit);
    } else if (const auto error = unreadable_config(parsed); error && inputs.unusable_files_are_errors) {
      out.back() = tl::make_unexpected(*error);
    } else {
      out.back()->launch = resolve::refused_by_parser(inputs.release, std::move(parsed));
    }
  }
  auto resolved = resolve::resolve_abreast(std::move(parsed_launches));
  for (std::size_t i = 0; i < resolved.size(); ++i) {
    ResolvedWords& words = *out[waiting[i].launch];
    words.launch = std::move(resolved[i]);
    const auto limit = words.launch.refusal ? met_our_limit(*words.launch.refusal) : std::nullopt;
    if (limit && launches[waiting[i].launch].inputs.unusable_files_are_errors) {
      out[waiting[i].launch] = tl::make_unexpected(*limit);
    } else if (limit) {
      leave_open(UnknownModel{path_in(words.launch.args, Field::model_path), false, limit->message}, words);
    } else {
      leave_open(std::move(waiting[i].open), words);
    }
  }
  return out;
}

Result<ResolvedWords> resolve_words(const LaunchInputs& inputs, const std::vector<std::string>& argv,
                                    const std::vector<SourceRange>& positions, const Environment& env) {
  const LaunchWords words{inputs, argv, positions, env};
  return std::move(resolve_words(std::span(&words, 1)).front());
}

std::optional<UnknownModel> absurd_model(const LaunchInputs& inputs, const Launch& launch) {
  if (!launch.accepted() || launch.args.raw.empty()) return std::nullopt;
  for (const Field field : {Field::model_path, Field::speculative_draft_model_path}) {
    const std::string path = path_in(launch.args, field);
    if (path.empty() || inputs.models == nullptr) continue;
    if (auto error = unusable_model(inputs.release, *inputs.models, path))
      return UnknownModel{path, field != Field::model_path, error->text()};
  }
  if (auto error = absurd_overrides(launch.args, inputs.models.get()))
    return UnknownModel{path_in(launch.args, Field::model_path), false, error->text()};
  return std::nullopt;
}

bool model_is_known(facts::ModelFiles& models, const std::string& path) {
  const auto config = models.config_of(path);
  if (!config || *config != nullptr) return true;  // an unreadable config.json is known to be broken
  return facts::is_gguf_file(path);
}

bool runs_on_processor(const Launch& launch) {
  if (launch.args.raw.empty()) return false;  // refused by the parser: no value was read
  return (launch.resolved.empty() ? launch.args[Field::device] : launch[Field::device]) == Value("cpu");
}

SourcedText model_fact(const Launch& launch, facts::ModelFiles& models, bool by_option) {
  SourcedText model;
  if (launch.args.raw.empty()) return model;  // refused by the parser: no value was read
  const std::string path = path_in(launch.args, Field::model_path);
  const auto place = models.place_of(path);
  if (path.empty() || !place) return model;
  model.value = path;
  std::error_code ignored;
  const bool is_file = place->kind == "directory" && std::filesystem::is_regular_file(place->directory, ignored);
  model.place = place->kind.empty() ? "not known" : is_file ? "file" : place->kind;
  if (place->kind == "directory" && place->directory != path) model.place += " " + place->directory;
  if (by_option || place->kind == "given by option") {
    model.origin = Origin::kGiven;
    model.place = "given by option";
  } else if (place->kind == "directory" || place->record != nullptr || place->kind == "--models-dir") {
    model.origin = Origin::kFile;
  } else if (!place->kind.empty()) {
    model.origin = Origin::kCache;
  }
  return model;
}

namespace {

// ~ of a mount is the home of who starts the container.
std::vector<facts::Mount> mounts_here(std::vector<facts::Mount> mounts, const Environment& variables) {
  const auto home = variables.find("HOME");
  for (facts::Mount& mount : mounts) {
    const bool of_home = mount.host == "~" || mount.host.starts_with("~/");
    if (of_home && home != variables.end()) mount.host.replace(0, 1, home->second);
  }
  return mounts;
}

// Where this launch's model ids are looked for: its own variables, then those of this process.
facts::ModelPlaces model_places(const LaunchInput& input, const Arguments& arguments) {
  facts::ModelPlaces places;
  places.models_dir = input.models_dir;
  places.env = input.place_variables;
  for (const std::string_view name : facts::model_place_variables()) {
    if (const auto it = arguments.env.find(name); it != arguments.env.end())
      places.env.insert_or_assign(it->first, it->second);
  }
  for (const auto& [_, value] : Environment(places.env)) {
    for (const std::string& name : facts::variables_named_in(value)) {
      if (const auto it = arguments.env.find(name); it != arguments.env.end()) places.env.emplace(*it);
    }
  }
  places.mounts = mounts_here(arguments.host.mounts, input.place_variables);
  if (!places.mounts.empty()) places.inside = arguments.env;  // else nobody asks for it
  // Parsing takes as long as all look-ups; few launches name either.
  const bool named = std::any_of(arguments.argv.begin(), arguments.argv.end(), [](const std::string& word) {
    return word.starts_with("--dow") || word.starts_with("--rev") || word.starts_with("--config");
  });
  if (!named) return places;
  const ParseOutcome parsed = args::parse(input.release, arguments.argv);
  if (const auto* args = std::get_if<ServerArgs>(&parsed)) {
    places.download_dir = path_in(*args, Field::download_dir);
    places.revision = path_in(*args, Field::revision);
  }
  return places;
}

// The --config file of a launch that runs in a container, where the container alone has it: one of that name on this
// machine is another file.
std::optional<Error> config_of_container(const Arguments& arguments) {
  constexpr std::string_view kOption = "--config";
  for (std::size_t i = 0; i < arguments.argv.size(); ++i) {
    const std::string& word = arguments.argv[i];
    const bool joined = word.starts_with("--config=");
    if (!joined && (word != kOption || i + 1 == arguments.argv.size())) continue;
    const std::string path = joined ? word.substr(kOption.size() + 1) : arguments.argv[i + 1];
    const std::string from_root = path.starts_with('/') ? path : "/" + path;
    const auto here = facts::host_path(arguments.host.mounts, from_root);
    if (here && facts::is_containers_own(*here))
      return Error{
          fmt::format("--config: {} is a file of the container, and what it holds is not known here: give its "
                      "options as arguments",
                      path)};
  }
  return std::nullopt;
}

// The models of a launch as its options describe them.
struct ModelsOfLaunch {
  std::shared_ptr<facts::ModelFiles> files;
  std::vector<AssumedFact> assumed = {};
};

// What decides what a launch's models are, as a key. `path` is the model's that an option describes.
std::string models_key(const LaunchInput& input, const facts::ModelPlaces& places, const std::string& path,
                       const std::string& model, const std::string& draft) {
  std::string key;
  const auto add = [&](std::string_view text) { key += fmt::format("{}:{}", text.size(), text); };
  for (const facts::Mount& mount : places.mounts) add(mount.host), add(mount.inside);
  for (const auto* variables : {&places.env, &places.inside}) {
    add(std::to_string(variables->size()));
    for (const auto& [name, value] : *variables) add(name), add(value);
  }
  for (const std::string* text : {&places.models_dir, &places.download_dir, &places.revision, &path, &model, &draft,
                                  &input.model_config, &input.draft_model_config, &input.stored_as})
    add(*text);
  add(!input.mla ? "" : *input.mla ? "mla" : "no mla");
  for (const auto& [name, value] : input.facts) add(name), add(value);
  return key;
}

// `model` and `draft` are the paths that options speak of.
Result<ModelsOfLaunch> read_models(const LaunchInput& input, const facts::ModelPlaces& places, const std::string& path,
                                   const std::string& model, const std::string& draft) {
  ModelsOfLaunch out{std::make_shared<facts::ModelFiles>(facts::KnownModels::kYes)};
  out.files->look_in(places);
  auto given = model_by_option(input, *out.files, path);
  if (!given) return tl::make_unexpected(given.error());
  out.assumed = std::move(given->assumed);
  if (given->config) out.files->stand_in(path, std::move(*given->config));
  if (given->draft_config) {
    if (draft.empty()) return failure("--draft-model-config: the launch names no draft model");
    out.files->stand_in(draft, std::move(*given->draft_config));
  }
  if (input.stored_as.empty()) return out;
  out.files = out.files->with_stored_as(model, input.stored_as);
  if (out.files == nullptr) return failure("--stored-as: nothing is known of the launch's model");
  return out;
}

// A run's launches that look in the same places, and are given the same by options, share what was read and derived: a
// thousand launches of a file cost their models once.
Result<ModelsOfLaunch> models_of(const LaunchInput& input, const Arguments& arguments, const std::string& path) {
  const facts::ModelPlaces places = model_places(input, arguments);
  const auto named = [&](const std::string& option, Field field) {
    return option.empty() ? std::string() : path_given(input.release, arguments.argv, field);
  };
  const std::string model = named(input.stored_as, Field::model_path);
  const std::string draft = named(input.draft_model_config, Field::speculative_draft_model_path);
  thread_local std::map<std::string, ModelsOfLaunch> known;
  std::string key = models_key(input, places, path, model, draft);
  if (const auto it = known.find(key); it != known.end()) return it->second;
  auto read = read_models(input, places, path, model, draft);
  if (!read) return read;
  if (known.size() >= limits::kModelSources) known.clear();
  return known.emplace(std::move(key), std::move(*read)).first->second;
}

// The launches of a run may share one file: each is parsed, searched for secrets and kept with all that it holds.
std::optional<Error> too_long_config(const LaunchInput& input, const Arguments& arguments) {
  thread_local std::size_t left = limits::kLongConfigs;
  const std::size_t length = args::config_length(input.release, arguments.argv);
  if (length <= limits::kLongConfig) return std::nullopt;
  if (length > left)
    return Error{"the --config files of these launches are longer together than is judged: check it by itself"};
  left -= length;
  return std::nullopt;
}

Result<PreparedLaunch> prepare(const LaunchInput& input) {
  auto arguments = read_arguments(input);
  if (!arguments) return tl::make_unexpected(arguments.error());
  if (const auto error = config_of_container(*arguments)) return tl::make_unexpected(*error);
  if (const auto error = too_long_config(input, *arguments)) return tl::make_unexpected(*error);

  const bool by_option = input.mla || !input.facts.empty() || !input.model_config.empty();
  const bool stands_alone = by_option && !gives_model(arguments->argv);
  if (stands_alone) {
    // The option stands in for a model; argparse still wants a path.
    arguments->argv.insert(arguments->argv.end(), {"--model-path", std::string(kModelByOption)});
    arguments->positions.resize(arguments->positions.empty() ? 0 : arguments->argv.size());
  }
  PreparedLaunch out;
  const std::string path = by_option ? path_given(input.release, arguments->argv, Field::model_path) : std::string();
  auto models = models_of(input, *arguments, path);
  if (!models) return tl::make_unexpected(models.error());
  out.machine = machine_for(input.machine, arguments->env, arguments->host.cards);
  if (arguments->host.memory)
    take_memory_limit(*arguments->host.memory, input.machine, input.release, on_processor(input, *arguments),
                      *out.machine);
  out.inputs = {
      input.release, arguments->argv, arguments->positions, arguments->env, out.machine->device, models->files, true};
  out.inputs.sharing = arguments->host.sharing;
  out.inputs.memory = arguments->host.memory;
  out.facts_by_option = input.mla.has_value() || !input.facts.empty();
  out.assumed_facts = std::move(models->assumed);
  out.read = std::move(arguments->read);
  out.mended = std::move(arguments->mended);
  out.source = std::move(arguments->source);
  out.places = out.source.arguments;
  out.from_vllm = arguments->from_vllm;
  out.notes = std::move(arguments->notes);
  if (auto done = check_serve(input, *arguments, *models->files); !done) return tl::make_unexpected(done.error());
  if (arguments->serve_refusal) {
    out.launch = resolve::refused_by_parser(input.release, std::move(*arguments->serve_refusal));
    out.refused_by_serve = true;
    return out;
  }
  auto resolved = resolve_words(out.inputs, arguments->argv, arguments->positions, arguments->env);
  if (!resolved) return tl::make_unexpected(resolved.error());
  out.launch = std::move(resolved->launch);
  out.unknown_model = std::move(resolved->unknown_model);
  if (!input.interpreter.empty()) {
    if (auto done = resolve_python(input, *arguments, *models->files, out); !done)
      return tl::make_unexpected(done.error());
  }
  add_config_text(out);
  out.machine->model = model_fact(out.launch, *out.inputs.models, out.facts_by_option);
  out.machine->on_processor = runs_on_processor(out.launch);
  return out;
}

// The program that starts a launch: a name is looked for on the PATH that it is started with, where that is known.
LaunchProgram program_of(const LaunchInput& input, const sources::LaunchCommand& launch) {
  LaunchProgram out{launch.program, launch.elsewhere};
  const auto own = launch.env.find("PATH");
  const std::string& path = own != launch.env.end() ? own->second : input.search_path;
  if (!out.file.empty() && out.file.find('/') == std::string::npos && !path.empty()) {
    if (const std::string file = facts::program_on_path(out.file, path); !file.empty()) out.file = file;
  }
  return out;
}

// A launch has the packages of its own interpreter, and one of several in a text an image of its own, which names its
// release where no option does.
LaunchInput of_its_own(const LaunchInput& input, const sources::LaunchCommand& launch) {
  LaunchInput one = input;
  one.found = &launch;
  take_program(program_of(input, launch), one.machine);
  take_image(launch.image, launch.release, launch.pinned, one.machine);
  one.release = parse_release(one.machine.facts.release.value).value_or(one.release);
  return one;
}

// What an excerpt may show of an argument: its line, and of a very long one what stands around it. No more is searched,
// since all arguments may stand in one line.
std::pair<std::size_t, std::size_t> shown_around(std::string_view text, const ArgumentSource::Span& span) {
  constexpr std::size_t kAround = 4'096;
  const std::size_t from = span.begin - std::min(span.begin, kAround);
  const std::size_t newline = text.substr(from, span.begin - from).rfind('\n');
  const std::size_t to = std::min(span.begin + span.length, text.size());
  const std::string_view after = text.substr(to, kAround);
  return {newline == text.npos ? from : from + newline + 1, to + std::min(after.find('\n'), after.size())};
}

// Of the text, only what is ever shown: a file of a thousand launches would be kept a thousand times. Places are those
// of what is left; lines and columns were counted before.
void keep_what_is_shown(std::string_view text, ArgumentSource& source) {
  std::vector<std::pair<std::size_t, std::size_t>> parts;
  for (const ArgumentSource::Span& span : source.arguments) {
    if (span.begin <= text.size()) parts.push_back(shown_around(text, span));
  }
  std::ranges::sort(parts);
  std::vector<std::pair<std::size_t, std::size_t>> apart;
  for (const auto& part : parts) {
    if (apart.empty() || part.first > apart.back().second) {
      apart.push_back(part);
    } else {
      apart.back().second = std::max(apart.back().second, part.second);
    }
  }
  std::string kept;
  std::vector<std::size_t> starts;  // of each part in what is kept
  for (const auto& [begin, end] : apart) {
    if (!starts.empty()) kept += '\n';
    starts.push_back(kept.size());
    kept.append(text, begin, end - begin);
  }
  for (ArgumentSource::Span& span : source.arguments) {
    if (span.begin > text.size()) continue;
    const auto after = std::ranges::upper_bound(apart, span.begin, {}, [](const auto& part) { return part.first; });
    const auto at = static_cast<std::size_t>(after - apart.begin()) - 1;
    span.begin = starts[at] + (span.begin - apart[at].first);
  }
  source.text = std::move(kept);
}

// Every word may name a file that the server reads: a chat template, an adapter's, a table of experts. So may what
// stands behind its first "=", and the values of variables. Files alone are kept, whatever the options mean.
void remember_what_is_named(const PreparedLaunch& prepared) {
  const auto remember = [&](const std::string& word) {
    const auto& models = prepared.inputs.models;
    remember_named(models == nullptr ? word : models->here(word));
  };
  for (const auto* words : {&prepared.inputs.argv, &prepared.launch.args.argv}) {
    for (const std::string& word : *words) {
      remember(word);
      if (const auto sign = word.find('='); sign != std::string::npos) remember(word.substr(sign + 1));
    }
  }
  for (const auto& [name, value] : prepared.inputs.env) remember(value);
}

}  // namespace

Result<PreparedLaunch> prepare_launch(const LaunchInput& input) {
  const log::Stage stage("resolution");
  auto launch = input.command ? launch_in(input) : Result<sources::LaunchCommand>();
  auto prepared = input.command && launch ? prepare(of_its_own(input, *launch)) : prepare(input);
  if (prepared) {
    remember_what_is_named(*prepared);
    const std::string given = input.command ? std::string() : std::move(prepared->source.text);
    keep_what_is_shown(input.command ? *input.command : given, prepared->source);
    conceal(*prepared);
  }
  return prepared;
}

}  // namespace preflight::commands
