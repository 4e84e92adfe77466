// Upstream: validate_ib_devices, parse_ib_device_config. Whether the named devices exist is a fact of the machine that
// will serve: nothing is looked up in /sys here, every name is taken to exist.
// Tested by tests/resolve_validation_test.cpp and parity.
#include "src/resolve/parallel/ib_devices.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "src/python/text.h"

namespace preflight::resolve {
namespace {

std::string normal_group(Resolution& r, const std::string& group, const std::string& whose) {
  std::vector<std::string> names;
  std::size_t given = 0;
  for (const std::string& part : python::split(group, ',')) {
    const std::string name(python::strip(part));
    if (name.empty()) continue;
    ++given;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  if (names.empty()) {
    r.refuse(RF::kOther, "ValueError", "_normalize_device_group",
             fmt::format("The InfiniBand devices name none for {}.", whose));
  }
  if (given != names.size()) {
    r.warn("_normalize_device_group", fmt::format("The InfiniBand devices repeat a name for {}.", whose));
  }
  return fmt::format("{}", fmt::join(names, ","));
}

Value parsed_mapping(Resolution& r, const std::string& text) {
  const auto refuse = [&](const char* exception, std::string_view why) {
    r.refuse(RF::kOther, exception, "parse_ib_device_config", fmt::format("InfiniBand devices {}: {}.", text, why));
  };
  const bool is_file = text.ends_with(".json");
  std::string json = text;
  if (is_file) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(text, ignored)) refuse("RuntimeError", "there is no such file");
    const auto content = r.models().text_of(text);
    if (!content) refuse("RuntimeError", "the file cannot be read");
    json = *content;
  }
  auto mapping = Value::parse_json(json);
  if (!mapping) refuse(is_file ? "RuntimeError" : "ValueError", "no valid JSON");
  if (!mapping->is_dict()) refuse("ValueError", "a JSON object of GPU number to device names is needed");
  for (const auto& [gpu, devices] : mapping->as_dict()) {
    const bool number =
        !gpu.empty() && std::all_of(gpu.begin(), gpu.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!number || !devices.is_string()) refuse("ValueError", "keys are GPU numbers, values are strings of names");
  }
  if (mapping->as_dict().empty()) refuse("ValueError", "it names no GPU");
  return std::move(*mapping);
}

}  // namespace

Value validated_ib_devices(Resolution& r, Field field) {
  const std::string function = "validate_ib_devices";
  const Value& option = r[field];
  if (option.is_none()) {
    r.warn(function, "No InfiniBand device is named; mooncake searches for devices by itself.");
    return option;
  }
  const std::string text(python::strip(option.as_string()));
  if (text.empty())
    r.refuse(RF::kOther, "ValueError", function, "The list of InfiniBand devices is empty; name devices.");
  if (r.before(v0_5(13)) || (!text.ends_with(".json") && !text.starts_with('{')))
    return normal_group(r, text, "all GPUs");
  Value normal = Value::dict({});
  const Value mapping = parsed_mapping(r, text);
  for (const auto& [gpu, devices] : mapping.as_dict()) {
    const std::string number = std::to_string(python::to_int(gpu).value_or(0));  // "01" is GPU 1
    normal = std::move(normal).with(number, normal_group(r, devices.as_string(), "GPU " + number));
  }
  return normal.json();
}

}  // namespace preflight::resolve
