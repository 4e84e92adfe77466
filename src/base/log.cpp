// Tested by tests/log_test.cpp.
#include "src/base/log.h"

#include <memory>
#include <ostream>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

namespace preflight::log {
namespace {

// Made when somebody asks for it: a start without -v pays nothing.
std::unique_ptr<spdlog::logger>& logger() {
  static std::unique_ptr<spdlog::logger> made;
  return made;
}

spdlog::level::level_enum level_of(Detail detail) {
  return detail == Detail::kTimes ? spdlog::level::debug : spdlog::level::info;
}

}  // namespace

void set_detail(Detail detail, std::ostream& to) {
  if (detail == Detail::kSilent) {
    logger().reset();
    return;
  }
  auto made =
      std::make_unique<spdlog::logger>("xpu-preflight", std::make_shared<spdlog::sinks::ostream_sink_mt>(to, true));
  made->set_pattern("%n: %v");
  made->set_level(level_of(detail));
  logger() = std::move(made);
}

bool enabled(Detail detail) { return logger() != nullptr && logger()->should_log(level_of(detail)); }

void write(Detail detail, std::string_view text) {
  if (enabled(detail)) logger()->log(level_of(detail), text);
}

Stage::~Stage() {
  if (!enabled(Detail::kTimes)) return;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start_;
  write(Detail::kTimes, fmt::format("{}: {:.2f} ms", name_, took.count()));
}

}  // namespace preflight::log
