// Tested by tests/serve_command_test.cpp.
#include "src/intake/serve.h"

#include <algorithm>

#include <fmt/format.h>

namespace preflight::args {
namespace {

constexpr Release kPositionalModel = v0_5(16);  // a first word that is no option is the model
constexpr Release kBackendRegistry = v0_5(18);  // backends by name, which other packages can add to

bool asks_for_help(const std::vector<std::string>& argv) {
  return std::any_of(argv.begin(), argv.end(), [](const std::string& a) { return a == "-h" || a == "--help"; });
}

ParseRefusal refuse(std::string exception, std::string function, std::string message) {
  return {{std::move(exception), std::move(function), std::move(message)}};
}

}  // namespace

std::variant<ServeRequest, ParseRefusal> read_serve_words(Release release, const std::vector<std::string>& words) {
  constexpr std::string_view kOption = "--model-type";
  constexpr const char* kReader = "_extract_model_type_override";
  const bool registry = release >= kBackendRegistry;
  const char* const exception = registry ? "ValueError" : "Exception";
  if (!registry && asks_for_help(words)) {
    ServeRequest as_it_is{words, {}, "auto"};
    for (std::size_t i = 0; i < words.size(); ++i) as_it_is.from.push_back(i);
    return as_it_is;
  }
  ServeRequest out;
  out.backend = "auto";
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& w = words[i];
    if (w == kOption) {
      if (i + 1 >= words.size()) return refuse(exception, kReader, "--model-type of sglang serve lacks its value");
      out.backend = words[++i];
    } else if (w.starts_with("--model-type=")) {
      out.backend = w.substr(kOption.size() + 1);
    } else {
      out.argv.push_back(w);
      out.from.push_back(i);
    }
  }
  const bool known = out.backend == "auto" || out.backend == "llm" || out.backend == "diffusion";
  if (!known && (!registry || out.backend.empty())) {
    return refuse(exception, kReader,
                  fmt::format("--model-type {} of sglang serve is not auto, llm or diffusion",
                              out.backend.empty() ? "''" : out.backend));
  }
  if (release >= kPositionalModel && !out.argv.empty() && !out.argv.front().starts_with('-')) {
    out.argv.insert(out.argv.begin(), "--model-path");
    out.from.insert(out.from.begin(), out.from.front());
  }
  if (!known) {
    return refuse("ValueError", "get",
                  fmt::format("--model-type {} of sglang serve is neither auto, llm nor diffusion; only an extension "
                              "installed beside SGLang can add others",
                              out.backend));
  }
  return out;
}

std::optional<std::string> serve_model_path(const std::vector<std::string>& argv) {
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (argv[i] == "--model-path" || argv[i] == "--model") {
      if (i + 1 < argv.size()) return argv[i + 1];
    } else if (argv[i].starts_with("--model-path=") || argv[i].starts_with("--model=")) {
      return argv[i].substr(argv[i].find('=') + 1);
    }
  }
  return std::nullopt;
}

std::optional<ParseRefusal> missing_serve_model(const std::vector<std::string>& argv) {
  if (serve_model_path(argv) || asks_for_help(argv)) return std::nullopt;
  const bool in_file = std::any_of(argv.begin(), argv.end(),
                                   [](const std::string& a) { return a == "--config" || a.starts_with("--config="); });
  return refuse("Exception", "get_model_path",
                in_file ? "sglang serve looks for --model-path in its own words, before it reads the --config file: "
                          "give it on the command line, or start python -m sglang.launch_server"
                        : "sglang serve has no --model-path among its words");
}

}  // namespace preflight::args
