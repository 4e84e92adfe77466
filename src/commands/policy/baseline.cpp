// Tested by tests/policy_test.cpp.
#include "src/commands/policy/baseline.h"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "src/base/read_text.h"
#include "src/report/finding_json.h"

namespace preflight::commands {
namespace {

using Json = nlohmann::json;

const std::string* text_in(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() ? nullptr : it->get_ptr<const std::string*>();
}

}  // namespace

std::string Baseline::name_of(const std::string& file) {
  return file.empty() ? file : std::filesystem::path(file).lexically_normal().string();
}

Baseline::Key Baseline::key_of(const Diagnostic& finding, const std::string& file, const std::string& launch) {
  return {finding.rule, name_of(file), launch, finding.message};
}

Result<Baseline> Baseline::read(const std::string& file) {
  const auto text = read_text(file);
  if (!text) return failure(text.error().message + "; check --write-baseline FILE writes one", file);
  return parse(*text, file);
}

Result<Baseline> Baseline::parse(const std::string& text, const std::string& file) {
  const Json json = Json::parse(text, nullptr, false);
  const auto bad = [&] { return failure("this is no baseline; check --write-baseline FILE writes one", file); };
  if (!json.is_object() || json.value("baseline", Json()) != report::kBaselineVersion || !json.contains("findings"))
    return bad();
  if (!json["findings"].is_array()) return bad();
  Baseline out;
  for (const Json& entry : json["findings"]) {
    if (!entry.is_object()) return bad();
    const std::string* rule = text_in(entry, "rule");
    const std::string* where = text_in(entry, "file");
    const std::string* launch = text_in(entry, "launch");
    const std::string* message = text_in(entry, "message");
    const auto count = entry.find("count");
    if (!rule || !where || !launch || !message || count == entry.end() || !count->is_number_integer()) return bad();
    constexpr std::int64_t kMost = 1'000'000;
    out.counts_[{*rule, *where, *launch, *message}] += std::clamp<std::int64_t>(count->get<std::int64_t>(), 0, kMost);
  }
  return out;
}

bool Baseline::take(const Diagnostic& finding, const std::string& file, const std::string& launch) {
  const Key key = key_of(finding, file, launch);
  const auto it = counts_.find(key);
  if (it == counts_.end() || it->second <= 0) return false;
  --it->second;
  return true;
}

void Baseline::add(const Diagnostic& finding, const std::string& file, const std::string& launch) {
  ++counts_[key_of(finding, file, launch)];
}

std::int64_t Baseline::left() const {
  std::int64_t out = 0;
  for (const auto& [key, count] : counts_) out += seen_.contains(key.file) ? count : 0;
  return out;
}

std::vector<std::string> Baseline::files_gone() const {
  std::set<std::string> out;
  for (const auto& [key, count] : counts_) {
    std::error_code error;
    const bool named = !key.file.empty() && !seen_.contains(key.file) && !out.contains(key.file);
    if (named && !std::filesystem::exists(key.file, error) && !error) out.insert(key.file);
  }
  return {out.begin(), out.end()};
}

std::string Baseline::text() const {
  std::vector<report::BaselineEntry> entries;
  for (const auto& [key, count] : counts_) entries.push_back({key.rule, key.file, key.launch, key.message, count});
  return report::baseline_json(entries);
}

}  // namespace preflight::commands
