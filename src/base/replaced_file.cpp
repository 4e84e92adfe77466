#include "src/base/replaced_file.h"

#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <vector>

namespace preflight {
namespace {

constexpr const char* kAccessList = "system.posix_acl_access";

// Where the file system has none, there are none.
std::optional<std::vector<std::string>> attributes_of(const std::string& path) {
  const ssize_t size = listxattr(path.c_str(), nullptr, 0);
  if (size < 0 && errno != ENOTSUP) return std::nullopt;
  std::string names(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
  if (!names.empty() && listxattr(path.c_str(), names.data(), names.size()) != size) return std::nullopt;
  std::vector<std::string> out;
  for (std::size_t at = 0; at < names.size(); at += out.back().size() + 1) out.emplace_back(names.c_str() + at);
  return out;
}

// `read`: what fills a buffer of some size, or tells the size for none.
template <class Read>
std::optional<std::string> value_of(const Read& read) {
  const ssize_t size = read(nullptr, 0);
  if (size < 0) return std::nullopt;
  std::string value(static_cast<std::size_t>(size), '\0');
  return read(value.data(), value.size()) == size ? std::optional(value) : std::nullopt;
}

bool copy_attribute(int fd, const std::string& path, const char* name) {
  const auto wanted = value_of([&](char* at, std::size_t room) { return getxattr(path.c_str(), name, at, room); });
  if (!wanted) return false;
  // What the system gives every file of this folder may be forbidden to set, and is there.
  return value_of([&](char* at, std::size_t room) { return fgetxattr(fd, name, at, room); }) == wanted ||
         fsetxattr(fd, name, wanted->data(), wanted->size(), 0) == 0;
}

}  // namespace

std::string_view take_after(int fd, const std::string& path, const struct stat& old) {
  struct stat made {};
  const bool same = fstat(fd, &made) == 0 && made.st_uid == old.st_uid && made.st_gid == old.st_gid;
  if (!same && fchown(fd, old.st_uid, old.st_gid) != 0) return "its owner";
  const auto names = attributes_of(path);
  if (!names) return "its extended attributes";
  fremovexattr(fd, kAccessList);  // of the folder's, which new files get: the mode would be its mask
  if (fchmod(fd, old.st_mode & 07777) != 0) return "its mode";
  for (const std::string& name : *names) {
    if (!copy_attribute(fd, path, name.c_str()))
      return name == kAccessList ? std::string_view("its access list") : "its extended attributes";
  }
  return {};
}

SignalsWait::SignalsWait() : before_{} {
  sigset_t wait;
  sigemptyset(&wait);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2}) sigaddset(&wait, signal);
  pthread_sigmask(SIG_BLOCK, &wait, &before_);
}

SignalsWait::~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace preflight
