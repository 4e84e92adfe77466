// What the words and files that start a container say of its host: which of its folders and cards the container has.
// What is not written out in them is left out. Tested by container_host_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/facts/container_view.h"
#include "src/python/yaml_document.h"
#include "src/sources/shell.h"

namespace preflight::sources {

// Cards among the devices that --device or compose's `devices` name.
class NamedCards {
 public:
  // HOST[:INSIDE[:MODE]], or VENDOR/CLASS=NAME of a CDI device.
  void take(const ShellText& device);
  // All of /dev/dri, a device that is not known, or none of it: no limit.
  [[nodiscard]] std::optional<facts::CardLimit> limit(std::string_view said_by) const;
  // Nothing among them is a card, or may be one.
  [[nodiscard]] bool is_none() const { return !open_ && nodes_.empty() && named_.empty(); }

 private:
  bool open_ = false;
  std::vector<std::string> nodes_;  // renderD128
  std::vector<std::string> named_;  // of intel.com/gpu
};

// HOST:INSIDE[:MODE]; nullopt for a volume without a folder of the host.
std::optional<facts::Mount> mount_of_volume(const ShellText& volume, std::string_view pasted);
// A folder of the host as it is written, $HOME as ~ and $PWD as "."; nullopt: not known.
std::optional<std::string> host_folder(const ShellText& folder, std::string_view pasted);

// What may decide over SharingRights, as it is read.
class ReadRights {
 public:
  void take_capability(const ShellText& name);  // SYS_PTRACE, CAP_SYS_PTRACE, ALL
  void take_security(const ShellText& option);  // seccomp=unconfined
  void privileged() { may_trace_ = true; }
  // nullopt: a value that is not known might have given more.
  [[nodiscard]] std::optional<facts::SharingRights> rights(const std::vector<facts::Mount>& mounts) const;

 private:
  bool may_trace_ = false;
  bool open_ = false;
};

// A container whose text gives it none of the host's cards: "no --device".
facts::CardLimit no_cards(std::string_view said_by);
// Whether a mount holds the host's devices: who may open them then is not written out.
bool mounts_devices(const std::vector<facts::Mount>& mounts);
// What no mount brings in is the container's own, and never a folder of this machine.
void keep_own_files(facts::ContainerView& host);

// The options of `docker run` and its kin in front of words[image].
facts::ContainerView host_of_run(const std::vector<ShellWord>& words, std::size_t tool, std::size_t image,
                                 std::string_view pasted);

// `resources` of a container of Kubernetes. A request alone counts, too: what is requested is given.
std::optional<facts::CardLimit> cards_of_resources(const python::YamlNode& container);

// `resources.limits.memory`. A request is no limit.
std::optional<facts::MemoryLimit> memory_of_resources(const python::YamlNode& container);

// It asks for no resource that could be a card, and has no other right to one.
bool asks_for_no_card(const python::YamlNode& container);

// More mounts than are looked through: then none counts, for the innermost may be among those that are left, and what
// the container may is not known. True where that is so; the caller says it.
bool has_too_many_mounts(facts::ContainerView& host);
std::string too_many_mounts();

}  // namespace preflight::sources
