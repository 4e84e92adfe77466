// xpu-preflight: options to stages to exit status. Everything else is in the library.
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "preflight/result.h"
#include "src/commands/commands.h"

namespace {

using namespace preflight;

Result<Release> release_option(const std::string& text) {
  if (text.empty()) return supported_releases().back();
  const auto release = parse_release(text);
  if (release && is_supported(*release)) return *release;
  std::string list;
  for (const Release r : supported_releases()) list += (list.empty() ? "" : ", ") + r.text();
  return failure(fmt::format("SGLang {} is not supported; supported are {}", text, list));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Says what SGLang will do with its launch arguments on an Intel GPU, before the launch."};
  app.require_subcommand(1);
  std::string version;
  commands::ResolveBatchOptions batch;

  CLI::App* releases = app.add_subcommand("releases", "List the supported SGLang releases");
  CLI::App* resolve = app.add_subcommand("resolve", "Print the resolved configuration");
  resolve->add_option("--sglang-version", version, "SGLang release (default: the newest supported)");
  resolve->add_option("--models", batch.models, "Directory of model directories, for {model} in cases");
  resolve->add_option("--batch", batch.cases, "Cases as JSON lines; one outcome a line is printed")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? commands::kOk : commands::kBadInput;
  }
  if (*releases) {
    for (const Release r : supported_releases()) std::cout << r.text() << '\n';
    return commands::kOk;
  }
  const auto release = release_option(version);
  if (!release) {
    std::cerr << "xpu-preflight: " << release.error().text() << '\n';
    return commands::kBadInput;
  }
  batch.release = *release;
  return commands::resolve_batch(batch);
}
