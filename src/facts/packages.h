// The packages of a Python environment, from its records and what they say: no Python runs.
//
// Sources: PEP 376/427 (NAME-VERSION.dist-info), importlib.metadata (METADATA has the last word), PEP 610
// (direct_url.json says what is editable), PEP 405 (pyvenv.cfg). Tested by packages_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/facts.h"
#include "preflight/machine_facts.h"
#include "preflight/release.h"
#include "preflight/result.h"

namespace preflight::facts {

struct Packages {
  std::string site_packages;  // "" = no environment was named or is active
  std::string named_by;       // "--python", "VIRTUAL_ENV", "CONDA_PREFIX"
  std::vector<InstalledPackage>
      found;                       // those that a launch on Intel GPUs depends on, by name, the newest record first
  std::vector<std::string> notes;  // where a record disagrees with itself, or with the files it is of
  [[nodiscard]] const InstalledPackage* package(std::string_view name) const;
};

// `python`: an interpreter, as a file or as a name on this process's PATH, or the folder of its environment; "" for the
// active one. Errors: it was named and is none.
Result<Packages> read_packages(const std::string& python, const Environment& env);

// Those of the environment that a program on this machine belongs to: an interpreter, or a script installed beside it.
// "" as site_packages: none is found beside it, or there is no such file.
Packages packages_of_program(const std::string& file);

// The file that a program's name means with this PATH, as execvp looks for it; "" = none.
std::string program_on_path(std::string_view name, std::string_view path);
// With this process's PATH.
std::string program_on_path(std::string_view name);

// The release that a version of sglang is judged as: itself where it has tables, else 0.5.23.post1 and 0.5.23.dev4+g1
// are 0.5.23. nullopt: none that is known here.
struct JudgedAs {
  Release release;
  bool exact = true;  // false: a development or patched version of it
};
std::optional<JudgedAs> release_of_version(std::string_view version);

// The newest record of that name; null where there is none.
const InstalledPackage* package_named(const std::vector<InstalledPackage>& found, std::string_view name);

// What is missing or does not go together where sglang is among the packages; one line each.
std::vector<std::string> package_faults(const std::vector<InstalledPackage>& found);
// Those, and what is odd about the environment itself.
std::vector<std::string> package_notes(const Packages& packages);

}  // namespace preflight::facts
