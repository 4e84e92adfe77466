// What a launch is judged against when the user does not say it: --facts FILE, this machine, or what is assumed.
//
// Order: an option; the launch's own words; --facts; the project's policy; this machine's cards and packages; the
// newest release, eight Arc Pro B60. Each value carries where it came from (machine_facts.h). Tested by
// facts_command_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preflight/machine_facts.h"
#include "preflight/result.h"
#include "src/facts/cards.h"
#include "src/facts/container_view.h"
#include "src/facts/packages.h"

namespace preflight::commands {

// What options said, before any look-up. Empty: not given.
struct GivenMachine {
  std::string release;                 // --sglang-version, as typed
  std::string usual_release;           // of the project's policy: where no image and no --facts says it
  std::string usual_release_place;     // the policy's file
  std::optional<DeviceFacts> profile;  // --device-profile
  std::optional<std::int64_t> memory_mib;
  std::optional<std::int64_t> host_memory_mib;
  std::optional<int> count;
  bool no_fp64 = false;
  std::string facts_file;  // --facts
  std::string sysroot;     // --sysroot; "" = /
  std::string python;      // --python
  std::string asked;       // the interpreter of --resolver, whose packages count where none are named and it has some
};

struct MachineLookup {
  MachineFacts facts;     // with the device before the launch's variables
  facts::Machine cards;   // of this machine, where they decide the device
  Environment variables;  // of this process: which of its cards it may use
  // What the packages were looked up by, and what was said of them: another launch's program has others.
  GivenMachine given = {};
  SourcedText release_before = {};  // of --facts
  SourcedText image = {};           // release of the image that the command names
  bool packages_given = false;      // by an option or --facts: no program of a launch changes them
  bool count_settled = false;       // of the cards, by an option where --facts was written: variables leave all of them
  std::vector<std::string> release_notes = {};
};

// The program that starts a launch, on this machine or not.
struct LaunchProgram {
  std::string file;        // as written, or found on the PATH; "" = not known
  bool elsewhere = false;  // in a container or on another machine
};

// `command`: the pasted text, which may name an image. Errors: an option or a file that is unusable.
Result<MachineLookup> look_at_machine(const GivenMachine& given, const std::string* command);

// The packages and the release that the launch's own program has, in place of the active environment's. A name without
// a path stands for the active environment.
void take_program(const LaunchProgram& program, MachineLookup& lookup);

// The image of one launch among several, and the version that it or something beside it names ("" = none): the release
// where no option names one.
// `pinned`: not the image names the release, but the file installs it.
void take_image(const std::string& image, const std::string& version, bool pinned, MachineLookup& lookup);

// The device as this launch sees it, with its variables and what its container is given.
MachineFacts machine_for(const MachineLookup& lookup, const Environment& launch,
                         const std::optional<facts::CardLimit>& given = {});

// What may hold processes of a launch with --device cpu.
enum class Processor { kNo, kYes, kMaybe };

// A launch in a container has no more host memory than that may take. What SGLang takes for a processor's memory heeds
// the limit since 0.5.23 only.
void take_memory_limit(const facts::MemoryLimit& limit, const MachineLookup& lookup, Release release,
                       Processor processor, MachineFacts& facts);

}  // namespace preflight::commands
