// A baseline: findings that were there when it was written, and are let pass until they are gone.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/result.h"

namespace preflight::commands {

class Baseline {
 public:
  static Result<Baseline> read(const std::string& file);
  static Result<Baseline> parse(const std::string& text, const std::string& file);

  // Whether one such finding is left in it, which is then taken.
  bool take(const Diagnostic& finding, const std::string& file, const std::string& launch);
  void add(const Diagnostic& finding, const std::string& file, const std::string& launch);
  // A launch of this file is checked, whatever is found there.
  void look_at(const std::string& file) { seen_.insert(name_of(file)); }
  // Files with findings that are not there; names are taken from the working directory.
  [[nodiscard]] std::vector<std::string> files_gone() const;
  // Of the files that were looked at: how many of its findings were not there any more.
  [[nodiscard]] std::int64_t left() const;
  [[nodiscard]] std::string text() const;

 private:
  struct Key {
    std::string rule;
    std::string file;    // as it was named, without "./"
    std::string launch;  // its name in the file; lines move
    std::string message;
    auto operator<=>(const Key&) const = default;
  };
  static std::string name_of(const std::string& file);
  static Key key_of(const Diagnostic& finding, const std::string& file, const std::string& launch);

  std::map<Key, std::int64_t> counts_;
  std::set<std::string> seen_;
};

}  // namespace preflight::commands
