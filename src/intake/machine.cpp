#include "src/intake/machine.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "preflight/release.h"
#include "src/base/ascii_case.h"
#include "src/base/counted.h"
#include "src/facts/cards.h"
#include "src/facts/host_memory.h"
#include "src/facts/launch_variables.h"
#include "src/intake/facts_file.h"
#include "src/sources/image_tag.h"

namespace preflight::commands {
namespace {

Environment process_variables() {
  Environment out;
  const auto take = [&](std::string_view name) {
    if (const char* value = std::getenv(std::string(name).c_str()); value != nullptr) out.emplace(name, value);
  };
  std::ranges::for_each(facts::kCardVariables, take);
  take("VIRTUAL_ENV");
  take("CONDA_PREFIX");
  return out;
}

std::string release_list() {
  std::string list;
  for (const Release r : supported_releases()) list += (list.empty() ? "" : ", ") + r.text();
  return list;
}

// The release of an installed sglang or of an image, or why it is not one that is known.
std::optional<SourcedText> judged(std::string_view version, Origin origin, const std::string& place,
                                  std::vector<std::string>& notes) {
  const auto release = facts::release_of_version(version);
  if (!release && version.empty()) {
    notes.push_back(fmt::format("{} has no version beside it: its release is not known", place));
    return std::nullopt;
  }
  if (!release) {
    notes.push_back(fmt::format("{} is SGLang {}, which is not known here (known are {} to {})", place, version,
                                supported_releases().front().text(), supported_releases().back().text()));
    return std::nullopt;
  }
  if (!release->exact)
    notes.push_back(fmt::format("{} is SGLang {}, judged as {}", place, version, release->release.text()));
  return SourcedText{release->release.text(), origin, place};
}

std::string sglang_place(const MachineFacts& facts) { return "sglang in " + facts.environment.value; }

void differs(const SourcedText& other, const SourcedText& judged, std::vector<std::string>& notes) {
  if (other.value.empty() || other.value == judged.value) return;
  notes.push_back(fmt::format("{} is SGLang {}; the launch is judged as {}", other.place, other.value, judged.value));
}

// Whoever asks an interpreter means its release; one without packages beside it, as python3 may be, names none.
Result<facts::Packages> packages_of(const GivenMachine& given, const Environment& variables) {
  if (given.python.empty() && !given.asked.empty()) {
    if (auto packages = facts::read_packages(given.asked, variables)) {
      packages->named_by = "--resolver";
      return packages;
    }
  }
  return facts::read_packages(given.python, variables);
}

std::string unnamed(const std::string& image) {
  return fmt::format("the image {} does not say which release it holds", image);
}

std::optional<SourcedText> judged_pin(const std::string& version, std::vector<std::string>& notes) {
  return judged(version, Origin::kCommand, "pip install sglang==" + version, notes);
}

// The release of the image that the command names, or that it installs.
void read_image(const std::string& command, MachineLookup& lookup) {
  const auto tag = sources::sglang_image(command);
  if (!tag) {
    const std::string pin = sources::pinned_release(command);
    if (auto release = pin.empty() ? std::nullopt : judged_pin(pin, lookup.facts.notes))
      lookup.image = std::move(*release);
    return;
  }
  if (tag->version.empty()) {
    lookup.facts.notes.push_back(unnamed(tag->image));
  } else if (auto image = judged(tag->version, Origin::kImage, tag->image, lookup.facts.notes)) {
    lookup.image = std::move(*image);
  }
}

std::optional<SourcedText> installed_release(MachineLookup& lookup) {
  const MachineFacts& facts = lookup.facts;
  const InstalledPackage* sglang = facts::package_named(facts.packages, "sglang");
  if (sglang == nullptr) return std::nullopt;
  auto installed = judged(sglang->version, Origin::kPackage, sglang_place(facts), lookup.release_notes);
  if (sglang->editable) {
    lookup.release_notes.push_back(
        fmt::format("{} is an editable installation: its code may differ from the release's", sglang_place(facts)));
  }
  return installed;
}

Result<bool> decide_release(MachineLookup& lookup) {
  const GivenMachine& given = lookup.given;
  MachineFacts& facts = lookup.facts;
  const bool image = !lookup.image.value.empty();
  const std::optional<SourcedText> installed = installed_release(lookup);
  if (!given.release.empty()) {
    const auto release = parse_release(given.release);
    if (!release || !is_supported(*release)) {
      return failure(
          fmt::format("--sglang-version {}: not a supported release; supported are {}", given.release, release_list()));
    }
    facts.release = {release->text(), Origin::kGiven, "--sglang-version"};
  } else if (image) {
    facts.release = lookup.image;
  } else if (!lookup.release_before.value.empty()) {
    facts.release = lookup.release_before;
    return true;
  } else if (!given.usual_release.empty()) {
    facts.release = {given.usual_release, Origin::kFile, given.usual_release_place};
  } else if (installed) {
    facts.release = *installed;
  } else {
    facts.release = {supported_releases().back().text(), Origin::kAssumed, ""};
  }
  if (image) differs(lookup.image, facts.release, lookup.release_notes);
  // What is installed here says nothing about a container's.
  if (installed && !image) differs(*installed, facts.release, lookup.release_notes);
  return true;
}

void take_packages(facts::Packages packages, MachineLookup& lookup) {
  lookup.release_notes = facts::package_notes(packages);
  lookup.facts.environment = {packages.site_packages, Origin::kPackage, packages.named_by};
  lookup.facts.packages = std::move(packages.found);
}

bool same(const DeviceFacts& a, const DeviceFacts& b) {
  return a.name == b.name && a.memory_mib == b.memory_mib && a.has_fp64 == b.has_fp64;
}

bool memory_known(const DeviceFacts& device) { return device.memory_mib > 0; }

// The card that counts for all, and whether all are like it. One whose memory is not known has nothing to compare.
struct CountingCard {
  DeviceFacts device;
  bool alike = true;
  bool known = true;  // the memory of every one
};

CountingCard counting_card(const std::vector<DeviceFacts>& devices) {
  const auto less = [](const DeviceFacts& a, const DeviceFacts& b) {
    return std::pair(!memory_known(a), a.memory_mib) < std::pair(!memory_known(b), b.memory_mib);
  };
  CountingCard out{.device = *std::ranges::min_element(devices, less)};
  out.alike = std::ranges::all_of(devices, [&](const DeviceFacts& d) { return same(d, out.device); });
  out.known = std::ranges::all_of(devices, memory_known);
  return out;
}

// What has to be said of these cards, once the launch's own variables are known.
void tell_of(const facts::VisibleDevices& visible, bool memory_given, std::vector<std::string>& notes) {
  notes.insert(notes.end(), visible.notes.begin(), visible.notes.end());
  if (visible.devices.empty()) return;
  const CountingCard card = counting_card(visible.devices);
  if (!card.alike) notes.push_back(fmt::format("the cards differ; the smallest, {}, counts for all", card.device.name));
  if (const auto other = std::ranges::find_if(visible.devices, facts::is_unknown_card);
      other != visible.devices.end()) {
    notes.push_back(
        fmt::format("{} is a card that nobody knows here: that it has fp64 and that kernels are built for it "
                    "is assumed; --device-profile names one like it",
                    other->name));
  }
  if (memory_given) return;
  if (const facts::DeviceProfile* profile = visible.sold_smaller) {
    notes.push_back(
        fmt::format("{} is sold with {} MiB, too, and its driver does not tell which: {} MiB is assumed; "
                    "--device-memory says otherwise",
                    profile->device.name, profile->smaller_mib, profile->device.memory_mib));
  }
  if (card.known) return;
  const DeviceFacts& unknown = *std::ranges::find_if_not(visible.devices, memory_known);
  notes.push_back(
      fmt::format("the memory of {} is not known: its driver does not tell it; give --device-memory", unknown.name));
}

// One kind of card is what SGLang expects; the smallest counts where they differ.
void take_visible(const facts::VisibleDevices& visible, MachineFacts& facts) {
  facts.count_origin = Origin::kSystem;
  facts.device.count = static_cast<int>(visible.devices.size());
  if (visible.devices.empty()) return;
  const int count = facts.device.count;
  const auto host = facts.device.host_memory_mib;
  const CountingCard card = counting_card(visible.devices);
  facts.device = card.device;
  facts.device.count = count;
  facts.device.host_memory_mib = host;
  const bool told = card.known && visible.sold_smaller == nullptr;
  facts.memory_origin = told ? Origin::kSystem : Origin::kAssumed;
  if (!memory_known(card.device)) facts.device.memory_mib = DeviceFacts{}.memory_mib;
}

// A processor's own graphics use the host's memory. Intel's compute runtime reports four fifths of it as theirs (its
// DrmMemoryManager, for devices without memory of their own); which share a given driver takes is not known here.
// True where that is so.
bool share_host_memory(const MachineLookup& lookup, facts::VisibleDevices& visible) {
  const bool shared = !visible.devices.empty() && std::ranges::all_of(lookup.cards.cards, [](const facts::Card& card) {
    return card.integrated && !card.driver_mib;
  });
  const std::int64_t host = lookup.facts.host_memory_mib.value_or(0);
  if (!shared || host <= 0) return false;
  for (DeviceFacts& device : visible.devices) device.memory_mib = host * 4 / 5;
  visible.notes.push_back(
      fmt::format("{} shares the host's memory: four fifths of it are taken as its own; --device-memory says otherwise",
                  visible.devices.front().name));
  return true;
}

// Options stand above everything that was found.
void take_given(const GivenMachine& given, MachineFacts& facts) {
  if (given.profile) {
    const int count = facts.count_origin == Origin::kAssumed ? given.profile->count : facts.device.count;
    facts.device = *given.profile;
    facts.device.count = count;
    facts.device_origin = facts.memory_origin = Origin::kGiven;
  }
  if (given.memory_mib) {
    facts.device.memory_mib = *given.memory_mib;
    facts.memory_origin = Origin::kGiven;
  }
  if (given.count) {
    facts.device.count = *given.count;
    facts.count_origin = Origin::kGiven;
  }
  if (given.host_memory_mib) {
    facts.host_memory_mib = given.host_memory_mib;
    facts.host_origin = Origin::kGiven;
  }
  if (given.no_fp64) facts.device.has_fp64 = false;
  // Left open where this machine's is meant: SGLang's own figure depends on the release.
  if (facts.host_origin != Origin::kSystem) facts.device.host_memory_mib = facts.host_memory_mib;
}

}  // namespace

// What the file says of all its cards is said of those that a launch takes.
static void take_file(FactsOfFile file, MachineLookup& out) {
  out.facts = std::move(file.facts);
  out.cards = std::move(file.cards);
  out.count_settled = file.count_settled;
  out.release_before = out.facts.release;
  auto all = facts::visible_devices(out.cards, {});
  share_host_memory(out, all);
  std::vector<std::string> told;
  tell_of(all, false, told);
  std::erase_if(out.facts.notes, [&](const auto& note) { return std::ranges::find(told, note) != told.end(); });
}

namespace {

std::string root_of(const GivenMachine& given) { return given.sysroot.empty() ? "/" : given.sysroot; }

// The cards that the system has.
void take_cards(const GivenMachine& given, MachineLookup& out) {
  MachineFacts& facts = out.facts;
  if (!given.profile || !given.count) {
    out.cards = facts::read_cards(root_of(given));
    if (!given.sysroot.empty() && out.cards.cards.empty()) {
      facts.notes.push_back(fmt::format("{} holds no Intel card", given.sysroot));
    }
  }
  if (out.cards.cards.empty()) return;
  facts.notes.insert(facts.notes.end(), out.cards.notes.begin(), out.cards.notes.end());
  facts.device_origin = facts.memory_origin = facts.count_origin = Origin::kSystem;
  facts.device_place = out.cards.cards.front().driver;
  // Variables of this process stand until the launch's own are known (machine_for).
  auto all = facts::visible_devices(out.cards, {});
  const bool shared = share_host_memory(out, all);
  if (all.devices.empty()) {
    facts.device_origin = facts.memory_origin = Origin::kAssumed;
    facts.device.count = 0;
  } else {
    take_visible({all.devices, {}, false}, facts);
    if (shared) facts.memory_origin = Origin::kAssumed;
  }
}

void take_host_memory(const GivenMachine& given, Release release, MachineFacts& facts) {
  if (facts.host_origin != Origin::kAssumed) return;
  const std::int64_t mib = facts::read_host_memory_mib(release, root_of(given));
  if (mib <= 0) return;
  facts.host_memory_mib = mib;
  facts.host_origin = Origin::kSystem;
}

}  // namespace

Result<MachineLookup> look_at_machine(const GivenMachine& given, const std::string* command) {
  MachineLookup out;
  MachineFacts& facts = out.facts;
  out.variables = process_variables();
  out.given = given;
  if (!given.facts_file.empty()) {
    auto read = read_facts(given.facts_file);
    if (!read) return tl::make_unexpected(read.error());
    take_file(std::move(*read), out);
  }
  const bool named = !given.python.empty() || !given.asked.empty();
  out.packages_given = named || !facts.environment.value.empty();
  if (facts.environment.value.empty() || named) {
    auto packages = packages_of(given, out.variables);
    if (!packages) return tl::make_unexpected(packages.error());
    take_packages(std::move(*packages), out);
  }
  if (command != nullptr) read_image(*command, out);
  if (auto done = decide_release(out); !done) return tl::make_unexpected(done.error());
  // A file that tells of another machine's cards has none of this host's memory.
  const bool from_file = !given.facts_file.empty() && facts.device_place == given.facts_file;
  if (!from_file) {
    const Release release = *parse_release(facts.release.value);
    take_host_memory(given, release, facts);
    take_cards(given, out);
  }
  take_given(given, facts);
  // That tree's, which may be not known: never this machine's.
  if (!given.sysroot.empty()) facts.device.host_memory_mib = facts.host_memory_mib.value_or(0);
  return out;
}

void take_program(const LaunchProgram& program, MachineLookup& lookup) {
  const bool by_name = program.file.find('/') == std::string::npos;
  if (lookup.packages_given || (by_name && !program.elsewhere)) return;
  const facts::Packages own = program.elsewhere ? facts::Packages{} : facts::packages_of_program(program.file);
  if (lookup.facts.environment.value == own.site_packages) return;
  take_packages(own, lookup);
  if (own.site_packages.empty() && !program.elsewhere) {
    lookup.release_notes.push_back(
        fmt::format("{} has no packages that are found here: what is installed for it is not known", program.file));
  }
  decide_release(lookup);  // an unsupported --sglang-version has been refused before
}

void take_image(const std::string& image, const std::string& version, bool pinned, MachineLookup& lookup) {
  std::vector<std::string> told;
  SourcedText& release = lookup.facts.release;
  if (version.empty()) {
    const bool by_name = ascii_lower(image).find("sglang") != std::string::npos;
    if (by_name) told.push_back(unnamed(image));
    if (!by_name && !image.empty())
      told.push_back(fmt::format("which release of SGLang the image {} holds is not known", image));
  } else if (const auto named = pinned ? judged_pin(version, told) : judged(version, Origin::kImage, image, told)) {
    if (release.origin == Origin::kGiven) {
      differs(*named, release, told);
    } else {
      release = *named;  // also where it was assumed, or found here, to be the same
    }
  }
  for (std::string& note : told) {  // a pasted text's image has been told of already
    const auto has = [&](const std::vector<std::string>& notes) {
      return std::ranges::find(notes, note) != notes.end();
    };
    if (!has(lookup.release_notes) && !has(lookup.facts.notes)) lookup.release_notes.push_back(std::move(note));
  }
}

namespace {

// A container has no more cards than it is given; where nobody said how many the machine has, it has these.
void take_limit(const std::optional<facts::CardLimit>& limit, const Environment& env, MachineFacts& facts) {
  if (!limit) return;
  const int most = facts::devices_of_cards(limit->count, facts.device, env);
  if (facts.count_origin != Origin::kAssumed && most >= facts.device.count) return;
  facts.device.count = most;
  facts.count_origin = Origin::kCommand;
}

}  // namespace

// A container that is given no card has none of this machine's: that it will have such ones is a guess.
static MachineFacts machine_for_no_card(const MachineLookup& lookup, const Environment& launch) {
  MachineFacts out = machine_for(lookup, launch);
  const bool here = out.device_origin == Origin::kSystem;
  if (here || out.count_origin == Origin::kSystem) out.count_origin = Origin::kAssumed;
  for (Origin* origin : {&out.device_origin, &out.memory_origin}) {
    if (*origin == Origin::kSystem) *origin = Origin::kAssumed;
  }
  return out;
}

// The cards that these variables and this container leave of those that were read, here or in a file.
static void take_left(const MachineLookup& lookup, const Environment& env, const std::optional<facts::CardLimit>& given,
                      MachineFacts& out) {
  auto visible = facts::visible_devices(lookup.cards, env, given ? &*given : nullptr);
  const MachineFacts before = out;
  // A card that was named by option is not what sysfs says.
  const bool named = before.device_origin == Origin::kGiven;
  const bool memory_given = before.memory_origin == Origin::kGiven;
  const bool shared = !named && !memory_given && share_host_memory(lookup, visible);
  take_visible(visible, out);
  if (before.count_origin == Origin::kFile) {
    out.count_origin = Origin::kFile;
    if (out.memory_origin == Origin::kSystem) out.memory_origin = Origin::kFile;
  }
  if (shared) out.memory_origin = Origin::kAssumed;
  if (visible.restricted) out.count_origin = Origin::kCommand;
  if (named || memory_given) {
    const int count = out.device.count;
    out.device = before.device;
    out.device.count = count;
    out.memory_origin = Origin::kGiven;
  }
  facts::VisibleDevices told = visible;
  if (named) told.devices.clear();
  tell_of(told, memory_given, out.notes);
}

MachineFacts machine_for(const MachineLookup& lookup, const Environment& launch,
                         const std::optional<facts::CardLimit>& given) {
  if (given && given->count == 0) return machine_for_no_card(lookup, launch);
  MachineFacts out = lookup.facts;
  out.notes.insert(out.notes.begin(), lookup.release_notes.begin(), lookup.release_notes.end());
  const bool memory_given = out.memory_origin == Origin::kGiven;
  if (given)
    out.notes.push_back(fmt::format("the launch may use {} ({})", counted(given->count, "card"), given->said_by));
  if (out.count_origin == Origin::kGiven || (lookup.count_settled && out.count_origin == Origin::kFile)) {
    if (out.device_origin == Origin::kSystem)
      tell_of(facts::visible_devices(lookup.cards, {}), memory_given, out.notes);
    take_limit(given, launch, out);
    return out;
  }
  Environment env = launch;
  const bool here = out.count_origin == Origin::kSystem;
  if (here) env.insert(lookup.variables.begin(), lookup.variables.end());
  if (here || (out.count_origin == Origin::kFile && !lookup.cards.cards.empty())) {
    take_left(lookup, env, given, out);
    return out;
  }
  take_limit(given, env, out);
  if (const auto left = facts::devices_left(out.device.count, env, out.notes)) {
    out.device.count = *left;
    out.count_origin = Origin::kCommand;
  }
  return out;
}

void take_memory_limit(const facts::MemoryLimit& limit, const MachineLookup& lookup, Release release,
                       Processor processor, MachineFacts& facts) {
  constexpr double kGib = 1024.0 * 1024 * 1024;
  facts.notes.push_back(fmt::format("the launch may use {:.1f} GiB of the host's memory ({})",
                                    static_cast<double>(limit.bytes) / kGib, limit.said_by));
  const bool heeded = processor == Processor::kNo || release >= v0_5(23);
  const bool told = facts.host_origin == Origin::kGiven || facts.host_origin == Origin::kFile;
  if (!heeded || (processor != Processor::kNo && told)) return;
  const auto mib = static_cast<std::int64_t>(limit.bytes >> 20);
  const std::int64_t left = processor == Processor::kNo
                                ? std::min(mib, facts.host_memory_mib.value_or(mib))
                                : facts::read_host_memory_mib(release, root_of(lookup.given), limit.bytes);
  if (left <= 0 || (facts.host_memory_mib && left >= *facts.host_memory_mib)) return;
  facts.host_memory_mib = left;
  facts.host_origin = Origin::kCommand;
  facts.device.host_memory_mib = left;
}

}  // namespace preflight::commands
