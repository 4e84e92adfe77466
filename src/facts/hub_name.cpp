#include "src/facts/hub_name.h"

#include <algorithm>
#include <cctype>

#include "src/base/ascii_case.h"

namespace preflight::facts {
namespace {

constexpr std::size_t kLongestName = 96;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && is_word(name.front()) && is_word(name.back()) &&
         std::ranges::all_of(name, [](char c) { return is_word(c) || c == '-' || c == '.'; });
}

}  // namespace

bool is_hub_name(std::string_view path) {
  const auto holds = [&](std::string_view part) { return path.find(part) != std::string_view::npos; };
  if (holds("--") || holds("..") || path.ends_with(".git")) return false;
  const auto slash = path.find('/');
  if (slash == std::string_view::npos) return is_name(path);
  return is_name(path.substr(0, slash)) && is_name(path.substr(slash + 1));
}

std::string_view connector_type(std::string_view path) {
  const std::string_view line = path.substr(0, path.find('\n'));
  const auto at = line.rfind("://");
  return at == std::string_view::npos ? std::string_view() : line.substr(0, at);
}

bool is_object_store(std::string_view path) {
  const std::string lower = ascii_lower(path.substr(0, 5));
  return lower.starts_with("s3://") || lower.starts_with("gs://") || lower.starts_with("az://");
}

bool is_azure_blob(Release release, std::string_view path) {
  if (release < v0_5(12)) return false;
  const std::string_view type = connector_type(path);
  return type == "az" || (type == "https" && path.find(".blob.core.windows.net") != std::string_view::npos);
}

bool names_gguf_of_hub(Release release, std::string_view path) {
  if (release < v0_5(18) || path.empty() || is_remote_url(path)) return false;
  if (const auto colon = path.rfind(':'); colon != std::string_view::npos) {
    return std::ranges::count(path.substr(0, colon), '/') == 1 && colon + 1 < path.size();
  }
  while (path.starts_with('/')) path.remove_prefix(1);
  return path.ends_with(".gguf") && std::ranges::count(path, '/') >= 2;
}

bool may_exist_elsewhere(Release release, std::string_view path) {
  if (is_remote_url(path)) return is_azure_blob(release, path) && !is_object_store(path);
  const bool directory = path.starts_with('/') || path.starts_with("./") || path.starts_with("../");
  return directory || is_hub_name(path) || names_gguf_of_hub(release, path);
}

std::string hub_name_within(std::string_view path) {
  while (!path.empty() && is_space(path.front())) path.remove_prefix(1);
  while (!path.empty() && is_space(path.back())) path.remove_suffix(1);
  const std::string scheme = ascii_lower(connector_type(path));
  const bool web = scheme == "https" || scheme == "http";
  // Addresses of hubs alone hold an id: a database's or another server's hold something else.
  if (!scheme.empty() && !web && scheme != "hf" && scheme != "huggingface" && scheme != "modelscope") return {};
  if (!scheme.empty()) path.remove_prefix(scheme.size() + 3);
  while (path.starts_with('/')) path.remove_prefix(1);
  bool of_hub = !web;
  for (const std::string_view host : {"www.huggingface.co/", "huggingface.co/", "hf.co/", "hf-mirror.com/",
                                      "www.modelscope.cn/models/", "modelscope.cn/models/"}) {
    if (!ascii_lower(path.substr(0, host.size())).starts_with(host)) continue;
    path.remove_prefix(host.size());
    of_hub = true;
  }
  if (!of_hub) return {};
  path = path.substr(0, path.find_first_of("@?#:"));
  const auto owner = path.find('/');
  if (owner == std::string_view::npos) return {};
  std::string name(path.substr(0, path.find('/', owner + 1)));
  if (name.ends_with(".git")) name.resize(name.size() - 4);
  return is_hub_name(name) ? name : std::string();
}

std::string directory_within(std::string_view path) {
  if (ascii_lower(connector_type(path)) != "file") return {};
  path.remove_prefix(std::string_view("file://").size());
  if (constexpr std::string_view kHere = "localhost"; path.starts_with(kHere)) path.remove_prefix(kHere.size());
  return path.starts_with('/') ? std::string(path) : std::string();
}

}  // namespace preflight::facts
