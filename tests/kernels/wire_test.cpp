// What crosses between the program and its kernel process arrives as it was sent.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/kernels/wire.h"

namespace preflight::wire {
namespace {

template <typename T>
T sent(const T& answer) {
  auto received = parse_answer(print(Answer{answer}));
  EXPECT_TRUE(received.has_value());
  return std::get<T>(*received);
}

TEST(Wire, ARequestKeepsItsCasesAndOptions) {
  const Request request{.cases = {"mla_decode --heads 3", "paged_decode"},
                        .device = {"arc \"b60\""},
                        .options = {.repeat = 3,
                                    .kernel_dir = "/a b",
                                    .as_gpu = true,
                                    .plain_tiles = true,
                                    .emulated_lanes = 8,
                                    .defect = 190,
                                    .large_cases = true},
                        .seconds = 0.1};
  const auto received = parse_request(print(request));
  ASSERT_TRUE(received.has_value()) << received.error().text();
  EXPECT_EQ(received->cases, request.cases);
  EXPECT_EQ(received->device.text, request.device.text);
  EXPECT_EQ(received->options.repeat, 3);
  EXPECT_EQ(received->options.kernel_dir, "/a b");
  EXPECT_TRUE(received->options.plain_tiles);
  EXPECT_EQ(received->options.emulated_lanes, 8);
  EXPECT_TRUE(received->options.as_gpu);
  EXPECT_TRUE(received->options.large_cases);
  EXPECT_EQ(received->options.defect, 190);
  EXPECT_EQ(received->seconds, 0.1);
}

TEST(Wire, ACaseReportKeepsItsFiguresToTheLastBit) {
  CaseReport report{.case_line = "mla_decode --heads 3"};
  report.verdict = {VerdictWord::kFail, "off\nby one", {{"out", VerdictWord::kFail, "why"}}};
  OutputVerdict& out = report.verdict.outputs.front();
  out.rel_rms = 0.1;
  out.cosine = std::numeric_limits<double>::quiet_NaN();
  out.max_abs = std::numeric_limits<double>::infinity();
  out.worst = 17;
  out.limit = {4e-3, 5e-6, -1.0, 2.01 / 128};
  report.fault = DeviceError{DeviceErrorKind::kDeviceLost, "gone", "log"};
  report.timing = Timing{1.0 / 3.0, 0.25, 5, 1e12, 3.0};
  report.kernel_seconds = 1e-300;
  const CaseReport got = sent(report);
  EXPECT_EQ(got.case_line, report.case_line);
  EXPECT_EQ(got.verdict.word, VerdictWord::kFail);
  EXPECT_EQ(got.verdict.reason, "off\nby one");
  ASSERT_EQ(got.verdict.outputs.size(), 1U);
  EXPECT_EQ(got.verdict.outputs[0].rel_rms, 0.1);
  EXPECT_TRUE(std::isnan(got.verdict.outputs[0].cosine));
  EXPECT_EQ(got.verdict.outputs[0].max_abs, out.max_abs);
  EXPECT_EQ(got.verdict.outputs[0].worst, 17);
  EXPECT_EQ(got.verdict.outputs[0].limit.rel, out.limit.rel);
  ASSERT_TRUE(got.fault.has_value());
  EXPECT_EQ(got.fault->kind, DeviceErrorKind::kDeviceLost);
  ASSERT_TRUE(got.timing.has_value());
  EXPECT_EQ(got.timing->median_seconds, 1.0 / 3.0);
  EXPECT_EQ(got.kernel_seconds, 1e-300);
}

TEST(Wire, TextThatIsNoUtf8StillArrives) {
  DeviceInfo device;
  device.name = "Arc\xff";
  EXPECT_EQ(sent(device).name.substr(0, 3), "Arc");
}

TEST(Wire, WhatIsNoAnswerIsRefused) {
  for (const char* line : {"", "{}", "pass", "{\"case\": {}}",
                           "{\"end\": {\"kind\": 99, \"message\": \"\", \"log\": \"\"}}", "{\"device\": []}"}) {
    EXPECT_FALSE(parse_answer(line).has_value()) << line;
  }
  EXPECT_FALSE(parse_request("{\"cases\": 3}").has_value());
}

}  // namespace
}  // namespace preflight::wire
