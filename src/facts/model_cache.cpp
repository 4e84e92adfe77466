#include "src/facts/model_cache.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/base/read_text.h"
#include "src/facts/launch_variables.h"

namespace preflight::facts {
namespace {

namespace fs = std::filesystem;
using Found = Result<std::optional<CachedModel>>;

// ORG/NAME or NAME, as the hub allows them: what could climb out of a folder is no id.
bool is_model_id(std::string_view id) {
  if (id.empty() || id.size() > 200 || id.front() == '/' || id.front() == '.' || id.front() == '~') return false;
  if (std::count(id.begin(), id.end(), '/') > 1 || id.back() == '/') return false;
  if (id.find("..") != std::string_view::npos) return false;
  return std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '/';
  });
}

std::string replaced_all(std::string_view text, std::string_view what, std::string_view with) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with(what)) {
      out += with;
      at += what.size();
    } else {
      out += text[at++];
    }
  }
  return out;
}

fs::path expanded(const ModelPlaces& places, const std::string& text) {
  return fs::path(with_variables(places.env, with_home(places.env, text)));
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found && !error;
}

// A folder that is there and may not be entered is an error: "not there" would be a guess.
std::optional<Error> closed(const fs::path& directory) {
  std::error_code error;
  const fs::directory_iterator open(directory, error);
  if (!error || error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) {
    return std::nullopt;
  }
  return Error{"a model's folder that cannot be read: " + error.message(), directory.string()};
}

bool holds_half_a_download(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".incomplete") return true;
  }
  return false;
}

// The folder has to hold a configuration that can be opened; `blobs` is where a cache keeps what its links point to.
Found usable(const fs::path& directory, std::string kind, const fs::path& blobs) {
  if (auto error = closed(directory)) return tl::make_unexpected(std::move(*error));
  const fs::path config = directory / "config.json";
  std::error_code error;
  if (is_there(config) && !fs::exists(config, error)) {
    if (error && error != std::errc::no_such_file_or_directory) {
      return failure("config.json cannot be reached: " + error.message(), config.string());
    }
    const bool half = !blobs.empty() && holds_half_a_download(blobs);
    return failure(half ? "a link to a file whose download was not finished (.incomplete): download it again"
                        : "a link to a file that is not there: the cache is damaged, download the model again",
                   config.string());
  }
  return std::optional(CachedModel{directory.string(), std::move(kind)});
}

// The hub names a commit by 64 such digits at most; the library takes any name that a snapshot has.
bool names_snapshot(const fs::path& model, const std::string& name) {
  if (name.empty() || name.size() > 64) return false;
  if (name.find_first_not_of("0123456789abcdef") == std::string::npos) return true;
  std::error_code ignored;
  return name.find('/') == std::string::npos && name.front() != '.' &&
         fs::is_directory(model / "snapshots" / name, ignored);
}

// The first line of refs/REVISION names a commit; a commit is its own name. A newline behind it, as an editor leaves
// one, is mended by the hub's answer, and read with the name where nobody may ask the hub.
Result<std::string> commit_of(const fs::path& model, const ModelPlaces& places) {
  const std::string revision = places.revision.empty() ? "main" : places.revision;
  const fs::path ref = model / "refs" / revision;
  std::error_code error;
  if (!fs::is_regular_file(ref, error)) return revision;
  auto text = read_text(ref.string());
  if (!text) return tl::make_unexpected(text.error());
  std::string commit = text->substr(0, text->find_first_of(" \r\n"));
  if (!names_snapshot(model, commit))
    return failure("names no commit: the cache is damaged, download the model again", ref.string());
  if (commit.size() < text->size() && asks_no_hub(places.env)) {
    return failure("holds more than a commit, and without the hub no snapshot has that name: download the model again",
                   ref.string());
  }
  return commit;
}

Found in_hub_cache(const std::string& id, const ModelPlaces& places, const fs::path& cache, const std::string& kind) {
  if (cache.empty()) return std::optional<CachedModel>();
  if (auto error = closed(cache)) return tl::make_unexpected(std::move(*error));
  const fs::path model = cache / ("models--" + replaced_all(id, "/", "--"));
  std::error_code ignored;
  if (!fs::is_directory(model, ignored)) return std::optional<CachedModel>();
  if (auto error = closed(model)) return tl::make_unexpected(std::move(*error));
  const std::string revision = places.revision.empty() ? "main" : places.revision;
  if (revision.find("..") != std::string::npos || revision.front() == '/') return std::optional<CachedModel>();
  const auto commit = commit_of(model, places);
  if (!commit) return tl::make_unexpected(commit.error());
  const fs::path snapshot = model / "snapshots" / *commit;
  if (fs::is_directory(snapshot, ignored)) {
    // Weights alone, or another file alone, was downloaded: the configuration is not here, and that is no damage.
    if (!is_there(snapshot / "config.json") && !is_there(snapshot / "params.json")) return std::optional<CachedModel>();
    return usable(snapshot, kind, model / "blobs");
  }
  if (holds_half_a_download(model / "blobs")) {
    return failure("a download that was not finished (.incomplete), and no file of it is in place yet", model.string());
  }
  return std::optional<CachedModel>();
}

// Where ModelScope's own library keeps it below a folder: as it did to 1.37, a dot of the name written as three
// underscores, else a snapshot per revision.
std::vector<fs::path> modelscope_folders(const fs::path& base, const std::string& id, const std::string& revision) {
  const auto slash = id.find('/');
  const std::string owner = slash == std::string::npos ? std::string() : id.substr(0, slash);
  const std::string name = replaced_all(std::string_view(id).substr(slash + 1), ".", "___");
  const fs::path snapshots = base / "models" / replaced_all(id, "/", "--") / "snapshots";
  std::vector<fs::path> out{base / "models" / owner / name, base / "hub/models" / owner / name, base / owner / name};
  if (!revision.empty()) {
    if (revision.find("..") == std::string::npos && revision.front() != '/') out.push_back(snapshots / revision);
  } else {
    out.push_back(snapshots / "master");
    out.push_back(snapshots / "main");
  }
  return out;
}

// SGLang looks for the id as it is written in the cache's models and in --download-dir, then ModelScope's library
// looks.
template <typename Here>
Found in_modelscope(const std::string& id, const ModelPlaces& places, Here here) {
  const std::string kind = "ModelScope cache";
  std::vector<std::pair<fs::path, std::string>> folders;
  folders.emplace_back(fs::path(modelscope_cache(places.env, ".cache/modelscope/hub")) / "models" / id, kind);
  const fs::path download_dir(places.download_dir);
  const bool is_own = !download_dir.empty();
  if (is_own) folders.emplace_back(download_dir / id, "--download-dir");
  for (fs::path& folder : modelscope_folders(
           is_own ? download_dir : fs::path(modelscope_cache(places.env, ".cache/modelscope")), id, places.revision))
    folders.emplace_back(std::move(folder), is_own ? "--download-dir" : kind);
  for (const auto& [folder, where] : folders) {
    const fs::path directory = here(folder);
    if (!directory.empty() && is_there(directory / "config.json")) return usable(directory, where, {});
  }
  return std::optional<CachedModel>();
}

// The caches that the container looks into, where they are folders of its host. Images run as root.
Found in_mounts(const std::string& id, const ModelPlaces& places) {
  ModelPlaces inside{.env = places.inside, .download_dir = places.download_dir, .revision = places.revision};
  inside.env.emplace("HOME", "/root");
  const auto here = [&](const fs::path& path) {
    return fs::path(host_path(places.mounts, path.string()).value_or(""));
  };
  if (asks_modelscope(inside.env)) return in_modelscope(id, inside, here);
  auto found = in_hub_cache(id, inside, here(hub_cache(inside.env)), kHubCache);
  if (!found || *found || places.download_dir.empty()) return found;
  return in_hub_cache(id, inside, here(expanded(inside, places.download_dir)), "--download-dir");
}

Found in_models_dir(const std::string& id, const ModelPlaces& places) {
  const fs::path top = places.models_dir;
  if (auto error = closed(top)) return tl::make_unexpected(std::move(*error));
  const std::string name = id.substr(id.rfind('/') + 1);
  for (const std::string& folder : {id, name, replaced_all(id, "/", "--"), replaced_all(id, "/", "__")}) {
    const fs::path directory = top / folder;
    if (is_there(directory / "config.json") || is_there(directory / "params.json")) {
      return usable(directory, "--models-dir", {});
    }
  }
  return in_hub_cache(id, places, top, "--models-dir");
}

}  // namespace

std::vector<std::string_view> model_place_variables() {
  return {kModelPlaceVariables.begin(), kModelPlaceVariables.end()};
}

Found find_cached_model(const std::string& id, const ModelPlaces& places) {
  if (!is_model_id(id)) return std::optional<CachedModel>();
  if (!places.models_dir.empty()) {
    if (auto found = in_models_dir(id, places); !found || *found) return found;
  }
  if (!places.mounts.empty()) {
    if (auto found = in_mounts(id, places); !found || *found) return found;
  }
  if (asks_modelscope(places.env)) return in_modelscope(id, places, [](const fs::path& path) { return path; });
  const bool contained = is_containers_own(host_path(places.mounts, "/").value_or(""));
  auto found = in_hub_cache(id, places, hub_cache(places.env), contained ? kHostsHubCache : kHubCache);
  if (!found && contained) return std::optional<CachedModel>();
  if (!found || *found) return found;
  if (places.download_dir.empty()) return std::optional<CachedModel>();
  return in_hub_cache(id, places, expanded(places, places.download_dir), "--download-dir");
}

}  // namespace preflight::facts
