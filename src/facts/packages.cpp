#include "src/facts/packages.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "preflight/value.h"
#include "src/base/ascii_case.h"
#include "src/base/read_text.h"
#include "src/python/text.h"

namespace preflight::facts {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 15> kWanted = {"sglang",
                                                      "sgl-kernel",
                                                      "sglang-kernel",
                                                      "sgl-kernel-xpu",
                                                      "sglang-kernel-xpu",
                                                      "torch",
                                                      "torchvision",
                                                      "triton",
                                                      "triton-xpu",
                                                      "transformers",
                                                      "pytorch-triton-xpu",
                                                      "intel-sycl-rt",
                                                      "intel-cmplr-lib-rt",
                                                      "oneccl",
                                                      "compressed-tensors"};

bool is_wanted(std::string_view name) { return std::ranges::find(kWanted, name) != kWanted.end(); }

// PEP 503: case and runs of -_. do not count.
std::string normal_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool mark = c == '-' || c == '_' || c == '.';
    if (mark && !out.empty() && out.back() == '-') continue;
    out += mark ? '-' : ascii_lower(c);
  }
  return out;
}

bool is_editable(const fs::path& dist_info) {
  const fs::path file = dist_info / "direct_url.json";
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  const auto text = read_text(file.string());
  const auto value = text ? Value::parse_json(*text) : Result<Value>(failure("", ""));
  if (!value || !value->is_dict()) return false;
  const Value* info = value->find("dir_info");
  const Value* editable = info != nullptr && info->is_dict() ? info->find("editable") : nullptr;
  return editable != nullptr && editable->is_bool() && editable->as_bool();
}

// FOLDER/python3.11/NAME; the newest where there are several.
fs::path newest_in(const fs::path& folder, std::string_view name) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const fs::path packages = it->path() / name;
    if (it->path().filename().string().starts_with("python3") && fs::is_directory(packages, ignored))
      found.push_back(packages);
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.parent_path().filename().string();
    const std::string y = b.parent_path().filename().string();
    return std::pair(x.size(), x) < std::pair(y.size(), y);
  });
  return found.empty() ? fs::path() : found.back();
}

// The value of a key of pyvenv.cfg, "" where there is none.
std::string setting_of(const fs::path& prefix, std::string_view key) {
  std::istringstream lines(system_text(prefix / "pyvenv.cfg"));
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    if (equals == std::string::npos || python::strip(std::string_view(line).substr(0, equals)) != key) continue;
    return std::string(python::strip(std::string_view(line).substr(equals + 1)));
  }
  return {};
}

// "python3.11" of the interpreter that an environment was made for; "" where it does not say.
std::string interpreter_of(const fs::path& prefix) {
  for (const char* key : {"version", "version_info"}) {  // venv's; virtualenv's and uv's
    const std::string version = setting_of(prefix, key);
    const auto minor = version.find('.');
    if (minor != std::string::npos) return "python" + version.substr(0, version.find('.', minor + 1));
  }
  return {};
}

// FOLDER/python3.11/NAME of the environment's own interpreter, else of the newest.
fs::path packages_in(const fs::path& folder, std::string_view name, const std::string& interpreter) {
  std::error_code error;
  const fs::path own = folder / interpreter / name;
  return !interpreter.empty() && fs::is_directory(own, error) ? own : newest_in(folder, name);
}

// Where the interpreters of an environment look, in their order: its own packages (Fedora's compiled ones in lib64;
// Debian's interpreter has dist-packages), then those of the interpreter that it was made of, where it takes them.
std::vector<fs::path> package_folders(const fs::path& prefix, bool base = false) {
  std::vector<fs::path> folders;
  const auto add = [&](fs::path folder) {
    if (!folder.empty()) folders.push_back(std::move(folder));
  };
  const std::string interpreter = interpreter_of(prefix);
  add(packages_in(prefix / "lib", "site-packages", interpreter));
  add(packages_in(prefix / "lib64", "site-packages", interpreter));
  add(newest_in(prefix / "local/lib", "dist-packages"));
  add(newest_in(prefix / "lib", "dist-packages"));
  if (base || ascii_lower(setting_of(prefix, "include-system-site-packages")) != "true") return folders;
  const std::string home = setting_of(prefix, "home");  // of the interpreter, .../bin
  if (home.empty()) return folders;
  for (fs::path& folder : package_folders(fs::path(home).parent_path(), true)) folders.push_back(std::move(folder));
  return folders;
}

// A link to the base interpreter is not followed: the folder it stands in decides.
std::vector<fs::path> package_folders_for(const fs::path& python) {
  std::error_code error;
  if (fs::is_directory(python, error)) {
    if (python.filename() == "site-packages" || python.filename() == "dist-packages") return {python};
    return package_folders(python);
  }
  const fs::path bin = fs::absolute(python, error).parent_path();
  return bin.empty() ? std::vector<fs::path>{} : package_folders(bin.parent_path());
}

// The numbers of a version, in order: enough to tell which of two records is the newer.
std::vector<int> numbers_of(std::string_view version) {
  std::vector<int> out;
  const char* at = version.data();
  for (const char* end = at + version.size(); at != end;) {
    int n = 0;
    const auto [next, error] = std::from_chars(at, end, n);
    if (error == std::errc{} && *at != '-') out.push_back(n);
    at = next == at ? at + 1 : next;
  }
  return out;
}

// An upgrade that was cut off leaves the old record beside the new one.
void tell_of_doubles(const Packages& packages, std::vector<std::string>& notes) {
  for (std::size_t i = 1; i < packages.found.size(); ++i) {
    const InstalledPackage& newer = packages.found[i - 1];
    const InstalledPackage& older = packages.found[i];
    if (newer.name != older.name) continue;
    notes.push_back(fmt::format("{} records both {} {} and {}; the newer is taken", packages.site_packages, newer.name,
                                newer.version, older.version));
  }
}

// The text that a module assigns to __version__; "" where there is none.
std::string assigned_version(const fs::path& module) {
  std::istringstream lines(system_text(module));
  for (std::string line; std::getline(lines, line);) {
    const auto open = line.starts_with("__version__") ? line.find_first_of("'\"") : std::string::npos;
    const auto close = open == std::string::npos ? open : line.find(line[open], open + 1);
    if (close != std::string::npos) return line.substr(open + 1, close - open - 1);
  }
  return {};
}

// The records of PyPI bear plain versions; torch itself says what it was built for ("2.13.0+cu130").
std::string own_version_of_torch(const fs::path& site, const std::string& recorded) {
  if (recorded.find('+') != std::string::npos) return recorded;
  const std::string own = assigned_version(site / "torch/version.py");
  return own.starts_with(recorded + "+") ? own : recorded;
}

// "Version: 0.5.19" of a wheel's METADATA and of setuptools' PKG-INFO: a mail's head, whose keys have no case.
std::string version_within(const fs::path& pkg_info) {
  std::istringstream lines(system_text(pkg_info));
  for (std::string line; std::getline(lines, line) && !python::strip(line).empty();) {
    constexpr std::string_view kKey = "version:";
    if (ascii_lower(line.substr(0, kKey.size())) == kKey)
      return std::string(python::strip(std::string_view(line).substr(kKey.size())));
  }
  return {};
}

// What a record's own name says: NAME-VERSION, and of setuptools NAME-VERSION-py3.11 or NAME. A name holds no dash:
// they are escaped as underscores.
InstalledPackage named_by(std::string_view stem) {
  const auto dash = stem.find('-');
  if (dash == std::string_view::npos) return {normal_name(stem), "", false};
  return {normal_name(stem.substr(0, dash)), std::string(stem.substr(dash + 1)), false};
}

// Of a wheel's record Python reads the version in METADATA, not in the folder's name, where a dash is an underscore.
void take_from_metadata(const fs::path& dist_info, InstalledPackage& package, std::vector<std::string>& notes) {
  const std::string told = version_within(dist_info / "METADATA");
  if (told.empty()) return;
  std::string escaped = told;
  std::ranges::replace(escaped, '-', '_');
  if (escaped != package.version && told != package.version) {
    notes.push_back(fmt::format("{} holds METADATA of {}, which Python takes", dist_info.string(), told));
  }
  package.version = told;
}

// An installation's record: a wheel's, one that setuptools installed, or its link to a checkout.
std::optional<InstalledPackage> recorded_by(const fs::path& entry, std::vector<std::string>& notes) {
  const std::string kind = entry.extension().string();
  const std::string stem = entry.stem().string();
  std::error_code error;
  if (kind == ".dist-info") {
    if (stem.find('-') == std::string::npos || !fs::is_directory(entry, error)) return std::nullopt;
    InstalledPackage out = named_by(stem);
    if (!is_wanted(out.name)) return std::nullopt;
    take_from_metadata(entry, out, notes);
    out.editable = out.name == "sglang" && is_editable(entry);
    return out;
  }
  if (kind == ".egg-info") {
    InstalledPackage out = named_by(stem);
    out.version = out.version.substr(0, out.version.find("-py"));
    if (out.version.empty()) out.version = version_within(fs::is_directory(entry, error) ? entry / "PKG-INFO" : entry);
    return out;
  }
  if (kind != ".egg-link") return std::nullopt;
  InstalledPackage out{normal_name(stem), "", normal_name(stem) == "sglang"};
  const std::string text = system_text(entry);
  std::string folder = out.name;
  std::ranges::replace(folder, '-', '_');
  out.version = version_within(fs::path(text.substr(0, text.find('\n'))) / (folder + ".egg-info") / "PKG-INFO");
  return out;
}

// SGLang says itself which version its files are of: what was copied over, or left by an upgrade that was cut off,
// bears another record. A checkout's files lie elsewhere.
void take_own_version_of_sglang(const fs::path& site, std::vector<InstalledPackage>& found,
                                std::vector<std::string>& notes) {
  const auto is_sglang = [](const InstalledPackage& p) { return p.name == "sglang" && !p.editable; };
  const auto first = std::ranges::find_if(found, is_sglang);
  const std::string own = first == found.end() ? "" : assigned_version(site / "sglang/_version.py");
  if (own.empty()) return;
  const auto differs = [&](const InstalledPackage& p) { return is_sglang(p) && p.version != own; };
  const auto other = std::ranges::find_if(found, differs);
  if (other == found.end()) return;
  notes.push_back(
      fmt::format("{} records sglang {}, and sglang/_version.py there says {}: its files are taken to be {}",
                  site.string(), other->version, own, own));
  const bool recorded = std::ranges::any_of(found, [&](const auto& p) { return is_sglang(p) && p.version == own; });
  if (!recorded) other->version = own;
  std::erase_if(found, differs);
}

void add_packages(const fs::path& site, std::vector<InstalledPackage>& found, std::vector<std::string>& notes) {
  std::error_code error;
  for (fs::directory_iterator it(site, error), end; !error && it != end; it.increment(error)) {
    auto package = recorded_by(it->path(), notes);
    if (!package || !is_wanted(package->name)) continue;
    if (package->name == "torch") package->version = own_version_of_torch(site, package->version);
    found.push_back(std::move(*package));
  }
  std::ranges::sort(notes);  // folders are listed in no order
  take_own_version_of_sglang(site, found, notes);
}

// Of a package in several folders the first one's is imported.
Packages read(const std::vector<fs::path>& folders, std::string named_by) {
  Packages out{.site_packages = folders.front().string(), .named_by = std::move(named_by), .found = {}, .notes = {}};
  for (const fs::path& folder : folders) {
    std::vector<InstalledPackage> more;
    add_packages(folder, more, out.notes);
    std::erase_if(more, [&](const InstalledPackage& p) { return out.package(p.name) != nullptr; });
    std::ranges::move(more, std::back_inserter(out.found));
  }
  std::sort(out.found.begin(), out.found.end(), [](const InstalledPackage& a, const InstalledPackage& b) {
    if (a.name != b.name) return a.name < b.name;
    return std::pair(numbers_of(a.version), a.version) > std::pair(numbers_of(b.version), b.version);
  });
  return out;
}

}  // namespace

// By its mode: one of an image may lie where nothing is run. Whoever names another file does not mean what lies beside
// it.
static bool is_marked_as_program(const fs::path& file) {
  constexpr fs::perms kRuns = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  return fs::is_regular_file(status) && (status.permissions() & kRuns) != fs::perms::none;
}

// By its name, or by that of what it links to. Beside another program, such as /bin/sh, lie packages that it does not
// import.
static bool is_called_python(const fs::path& file) {
  std::error_code error;
  const std::string names = file.filename().string() + ' ' + fs::canonical(file, error).filename().string();
  return names.find("python") != std::string::npos || names.find("pypy") != std::string::npos;
}

const InstalledPackage* package_named(const std::vector<InstalledPackage>& found, std::string_view name) {
  const auto it = std::ranges::find(found, name, &InstalledPackage::name);
  return it == found.end() ? nullptr : &*it;
}

const InstalledPackage* Packages::package(std::string_view name) const { return package_named(found, name); }

Result<Packages> read_packages(const std::string& python, const Environment& env) {
  if (!python.empty()) {
    std::error_code error;
    const bool is_name = python.find('/') == std::string::npos && !fs::exists(python, error);
    const std::string place = is_name ? program_on_path(python) : python;
    if (!fs::exists(place, error)) return failure("--python: no such interpreter or environment", python);
    if (!fs::is_directory(place, error) && !is_marked_as_program(place)) return failure("--python: no program", python);
    const std::vector<fs::path> folders = package_folders_for(place);
    if (folders.empty()) return failure("--python: no lib/python3*/site-packages or dist-packages beside it", python);
    if (!fs::is_directory(place, error) && !is_called_python(place))
      return failure("--python: no interpreter of Python by its name", python);
    return read(folders, "--python");
  }
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const auto it = env.find(name);
    if (it == env.end() || it->second.empty()) continue;
    if (const auto folders = package_folders(it->second); !folders.empty()) return read(folders, name);
  }
  return Packages{};
}

Packages packages_of_program(const std::string& file) {
  std::error_code error;
  const bool usable = !file.empty() && fs::exists(file, error) && !fs::is_directory(file, error);
  const auto folders = usable ? package_folders_for(file) : std::vector<fs::path>{};
  return folders.empty() ? Packages{.site_packages = {}, .named_by = file, .found = {}, .notes = {}}
                         : read(folders, file);
}

std::string program_on_path(std::string_view name, std::string_view path) {
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t end = std::min(path.find(':', from), path.size());
    const fs::path folder = end == from ? fs::path(".") : fs::path(path.substr(from, end - from));
    const fs::path file = folder / name;
    std::error_code error;
    if (access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file, error)) return file.string();
    from = end + 1;
  }
  return {};
}

std::string program_on_path(std::string_view name) {
  const char* path = std::getenv("PATH");
  return program_on_path(name, path == nullptr ? "/usr/bin:/bin" : path);
}

// PEP 440 takes other marks, or none, around "post": 0.5.13-post1, which a tag may hold, is 0.5.13.post1.
static std::string with_plain_post(std::string_view version) {
  constexpr std::string_view kPost = "post";
  const auto at = version.find(kPost);
  if (at == std::string_view::npos) return std::string(version);
  const auto is_mark = [](char c) { return c == '.' || c == '-' || c == '_'; };
  std::string_view base = version.substr(0, at);
  std::string_view number = version.substr(at + kPost.size());
  if (!base.empty() && is_mark(base.back())) base.remove_suffix(1);
  if (!number.empty() && is_mark(number.front())) number.remove_prefix(1);
  return fmt::format("{}.{}{}", base, kPost, number);
}

std::optional<JudgedAs> release_of_version(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  // The first three numbers are the base; what follows (.dev4, rc1, +local, a .postN without tables) is not.
  if (const auto exact = parse_release(with_plain_post(version)); exact && is_supported(*exact))
    return JudgedAs{*exact, true};
  std::size_t end = 0;
  int dots = 0;
  for (; end < version.size(); ++end) {
    const char c = version[end];
    if (c == '.') {
      if (++dots == 3) break;
    } else if (c < '0' || c > '9') {
      break;
    }
  }
  std::string_view base = version.substr(0, end);
  const auto release = parse_release(std::string(base));
  if (!release || !is_supported(*release)) return std::nullopt;
  return JudgedAs{*release, end == version.size()};
}

namespace {

// The part behind + names what a build is for; one from source names its commit (+git…) and may be for any.
bool is_build_for_others(std::string_view torch) {
  const auto plus = torch.find('+');
  const std::string_view local = plus == std::string_view::npos ? "" : torch.substr(plus + 1);
  return local.starts_with("cu") || local.starts_with("cpu") || local.starts_with("rocm");
}

}  // namespace

std::vector<std::string> package_faults(const std::vector<InstalledPackage>& found) {
  std::vector<std::string> faults;
  if (package_named(found, "sglang") == nullptr) return faults;
  const bool kernel = package_named(found, "sgl-kernel") != nullptr ||
                      package_named(found, "sgl-kernel-xpu") != nullptr ||
                      package_named(found, "sglang-kernel-xpu") != nullptr;
  if (const InstalledPackage* other = package_named(found, "sglang-kernel"); !kernel && other != nullptr) {
    faults.push_back(
        fmt::format("sglang-kernel {}, which PyPI's sglang brings, is built for NVIDIA GPUs: a server on an Intel "
                    "GPU imports sgl-kernel for XPU as it starts, whatever the attention backend",
                    other->version));
  } else if (!kernel) {
    faults.emplace_back(
        "sglang is installed without sgl-kernel: a server on an Intel GPU imports it as it starts, whatever the "
        "attention backend");
  }
  const InstalledPackage* torch = package_named(found, "torch");
  if (torch == nullptr) {
    faults.emplace_back("sglang is installed without torch");
  } else if (is_build_for_others(torch->version)) {
    faults.push_back(
        fmt::format("torch {} is no build for Intel GPUs (+xpu): torch.xpu finds no device", torch->version));
  }
  return faults;
}

std::vector<std::string> package_notes(const Packages& packages) {
  std::vector<std::string> notes;
  if (packages.site_packages.empty()) return notes;
  if (packages.package("sglang") == nullptr) {
    std::error_code error;
    if (fs::is_directory(fs::path(packages.site_packages) / "sglang", error)) {
      notes.push_back(fmt::format("{} holds sglang without a record of its version", packages.site_packages));
    } else if (packages.named_by == "--python") {
      notes.push_back(fmt::format("{} holds no sglang", packages.site_packages));
    }
    return notes;
  }
  notes.insert(notes.end(), packages.notes.begin(), packages.notes.end());
  tell_of_doubles(packages, notes);
  const std::vector<std::string> faults = package_faults(packages.found);
  notes.insert(notes.end(), faults.begin(), faults.end());
  return notes;
}

}  // namespace preflight::facts
