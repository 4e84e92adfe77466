// Upstream: sampling/watermarking/config.py, handle_watermark_config, check_watermark_server_args (known for 0.5.23).
// A key is never printed. Tested by tests/resolve_validation_test.cpp and parity.
#include "src/resolve/serving/watermark.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "src/python/text.h"
#include "src/resolve/serving/serving.h"

namespace preflight::resolve {
namespace {

constexpr std::size_t kMaxBytes = 4096;
constexpr std::int64_t kMaxContextWindow = 64;

struct ConfigKey {
  std::string_view name;
  Field field;
};
constexpr std::array<ConfigKey, 7> kKeys = {{{"key", Field::watermark_key},
                                             {"key_b", Field::watermark_key_b},
                                             {"context_window", Field::watermark_context_window},
                                             {"mixing_probability", Field::watermark_mixing_probability},
                                             {"max_probability", Field::watermark_max_probability},
                                             {"default_enabled", Field::watermark_default_enabled},
                                             {"enforce_all", Field::watermark_enforce_all}}};

// parse_watermark_key: up to 16 hexadecimal digits, with or without 0x.
bool is_key(const Value& value) {
  if (!value.is_string()) return false;
  std::string_view digits = value.as_string();
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  return !digits.empty() && digits.size() <= 16 &&
         digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

bool is_window(const Value& value) {
  return value.is_int() && value.as_int() >= 1 && value.as_int() <= kMaxContextWindow;
}

std::string expanded(const std::string& path) {
  if (path != "~" && !path.starts_with("~/")) return path;
  const char* home = std::getenv("HOME");
  return home == nullptr ? path : home + path.substr(1);
}

std::string read_config_file(Resolution& r, const std::string& source) {
  const std::string path = expanded(source);
  const auto refuse = [&](std::string_view why) {
    r.refuse(RF::kOther, "WatermarkConfigError", "_read_config_file",
             fmt::format("--watermark-config {}: {}.", path, why));
  };
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) refuse("there is no such file");
  if (!S_ISREG(status.st_mode)) refuse("that is no regular file");
  if ((status.st_mode & 077) != 0) {
    r.warn("_read_config_file", "The watermark configuration holds keys and others may read it; use mode 600.");
  }
  const auto text = r.models().text_of(path);
  if (!text) refuse("the file cannot be read");
  return *text;
}

// load_watermark_config: a JSON object, inline or in a file.
Value load_config(Resolution& r) {
  const auto refuse = [&](std::string why) {
    r.refuse(RF::kOther, "WatermarkConfigError", "load_watermark_config", fmt::format("--watermark-config: {}.", why));
  };
  const std::string source = r.text(Field::watermark_config);
  const std::string payload = python::strip(source).starts_with('{') ? source : read_config_file(r, source);
  if (payload.size() > kMaxBytes) refuse("more than 4096 bytes");
  const auto parsed = Value::parse_json(payload);
  if (!parsed) refuse("no valid JSON, " + parsed.error().message);
  if (!parsed->is_dict()) refuse("a JSON object is needed");
  for (const auto& [name, ignored] : parsed->as_dict()) {
    const auto same = [&, &key = name](const ConfigKey& known) { return known.name == key; };
    if (std::none_of(kKeys.begin(), kKeys.end(), same)) refuse(fmt::format("\"{}\" is no setting", name));
  }
  const auto get = [&](std::string_view name) {
    const Value* value = parsed->find(name);
    return value == nullptr ? Value() : *value;
  };
  for (const std::string_view name : {"key", "key_b"}) {
    if (!get(name).is_none() && !is_key(get(name))) refuse(fmt::format("{} needs 1 to 16 hexadecimal digits", name));
  }
  if (!get("context_window").is_none() && !is_window(get("context_window"))) refuse("context_window is 1 to 64");
  for (const std::string_view name : {"mixing_probability", "max_probability"}) {
    const Value value = get(name);
    if (!value.is_none() && (value.is_bool() || !value.is_number())) refuse(fmt::format("{} is a number", name));
  }
  for (const std::string_view name : {"default_enabled", "enforce_all"}) {
    if (!get(name).is_none() && !get(name).is_bool()) refuse(fmt::format("{} is true or false", name));
  }
  return *parsed;
}

void check_values(Resolution& r) {
  const auto refuse = [&](const std::string& why) {
    r.refuse(RF::kOther, "ValueError", "check_watermark_server_args", "--enable-watermark: " + why);
  };
  for (const Field field : {Field::watermark_key, Field::watermark_key_b}) {
    if (!r.none(field) && !is_key(r[field])) {
      r.refuse(RF::kOther, "ValueError", "parse_watermark_key", "A watermark key has 1 to 16 hexadecimal digits.");
    }
  }
  if (!is_window(r[Field::watermark_context_window])) refuse("context_window is 1 to 64.");
  if (!r.none(Field::watermark_key_b) && r.none(Field::watermark_key)) refuse("key_b needs key.");
  const double mixing = r.number(Field::watermark_mixing_probability);
  if (!(0 < mixing && mixing < 1)) refuse("mixing_probability lies between 0 and 1.");
  if (r.none(Field::watermark_key_b) && mixing != 0.5) refuse("mixing_probability needs key_b.");
  const double most = r.number(Field::watermark_max_probability);
  if (!(0 < most && most <= 1)) refuse("max_probability is above 0 and at most 1.");
  if ((r.on(Field::watermark_default_enabled) || r.on(Field::watermark_enforce_all)) && r.none(Field::watermark_key)) {
    refuse("default_enabled and enforce_all need key.");
  }
}

void check_combinations(Resolution& r) {
  const auto refuse = [&](std::string_view with) {
    r.refuse(RF::kOther, "ValueError", "check_watermark_server_args",
             fmt::format("--enable-watermark does not work with {}; drop one of them.", with));
  };
  if (r.on(Field::enable_custom_logit_processor)) refuse("--enable-custom-logit-processor");
  if (!r.none(Field::sampling_backend) &&
      !r.one_of(Field::sampling_backend, {"flashinfer", "pytorch", "ascend", "intel_xpu"})) {
    refuse("a custom --sampling-backend");
  }
  if (!r.none(Field::dllm_algorithm)) refuse("diffusion models");
  if (!r.is(Field::disaggregation_mode, "null")) refuse("--disaggregation-mode");
  if (!r.none(Field::speculative_algorithm) && !r.one_of(Field::speculative_algorithm, {"NGRAM", "EAGLE", "EAGLE3"})) {
    refuse("this --speculative-algorithm");
  }
  if (r.integer(Field::pp_size) > 1 && !r.none(Field::speculative_algorithm)) {
    refuse("speculative decoding under pipeline parallelism");
  }
  if (r.on(Field::speculative_use_rejection_sampling)) refuse("--speculative-use-rejection-sampling");
  if (r.env_bool("SGLANG_RUST_SERVER", false)) refuse("SGLANG_RUST_SERVER");
}

}  // namespace

void handle_watermark_config(Resolution& r) {
  if (r.none(Field::watermark_config)) return;
  const Value config = load_config(r);
  std::vector<FieldValue> given;
  for (const auto& [name, field] : kKeys) {
    const Value* value = config.find(name);
    if (value != nullptr && !value->is_none()) given.emplace_back(field, *value);
  }
  if (!given.empty()) r.declare("handle_watermark_config", std::move(given));
}

void check_watermark_server_args(Resolution& r) {
  constexpr auto kFunction = "check_watermark_server_args";
  if (!r.none(Field::watermark_config) && !r.on(Field::enable_watermark)) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "--watermark-config does nothing without --enable-watermark; add it.");
  }
  if (!r.on(Field::enable_watermark)) return;
  if (!r.is(Field::device, "cuda")) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "--enable-watermark works on CUDA devices only; drop it on an Intel GPU.");
  }
  check_values(r);
  check_combinations(r);
}

}  // namespace preflight::resolve
