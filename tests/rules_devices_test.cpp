// Rules that speak of a device: on which they fire, and what they call it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "preflight/rule.h"
#include "tests/support/example_launch.h"

namespace preflight {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::launch_of;
using ::testing::Not;
using testing::split_words;

std::string message_of(std::string_view rule, Release release, std::string_view model, std::string_view args,
                       DeviceFacts device, const Environment& env = {}) {
  for (const Diagnostic& d : check(launch_of(release, model, split_words(args), device, env)).diagnostics) {
    if (d.rule == rule) return d.message;
  }
  return {};
}

TEST(RulesOfDevices, ADeviceWithoutFp64IsOneTheKernelsAreNotBuiltFor) {
  DeviceFacts without = testing::device_of("b60");
  without.has_fp64 = false;
  constexpr std::string_view kSplit = "--device xpu --decode-attention-backend intel_xpu";
  EXPECT_THAT(message_of("BK002", v0_5(23), "qwen3-0.6b", kSplit, without), HasSubstr("without fp64"));
  EXPECT_EQ(message_of("BK002", v0_5(23), "qwen3-0.6b", kSplit, testing::device_of("b60")), "");
}

// Sparse attention is made of Intel's kernels for latent attention, since it has a form for XPU.
TEST(RulesOfDevices, SparseAttentionIsBuiltForTheSameDevices) {
  constexpr std::string_view kPlain = "--device xpu --tp-size 8";
  constexpr std::string_view kOnTriton = "--device xpu --tp-size 8 --attention-backend triton";
  const auto told = [](Release release, std::string_view args, const char* card) {
    return message_of("BK002", release, "deepseek-v3.2", args, testing::device_of(card));
  };
  EXPECT_THAT(told(v0_5(20), kPlain, "max1550"), HasSubstr("dsa kernels are built for Battlemage and later"));
  EXPECT_THAT(told(v0_5(23), kPlain, "a770"), HasSubstr("dsa kernels are built for Battlemage and later"));
  EXPECT_EQ(told(v0_5(23), kPlain, "b60"), "");
  EXPECT_EQ(told(v0_5(23), kOnTriton, "max1550"), "");
  EXPECT_EQ(told(v0_5(19), kPlain, "max1550"), "");
  // The rule asks for no model, and of a launch whose resolution ended before it there is none.
  Launch unknown = launch_of(v0_5(23), "deepseek-v3.2", split_words(kPlain), testing::device_of("max1550"), {});
  unknown.model = nullptr;
  for (const Diagnostic& d : check(unknown).diagnostics) EXPECT_NE(d.rule, "BK002");
}

TEST(RulesOfDevices, ABackendIsForeignToTheDeviceOfTheLaunch) {
  const DeviceFacts b60 = testing::device_of("b60");
  EXPECT_THAT(message_of("BK001", v0_5(23), "qwen3-0.6b", "--device xpu --attention-backend aiter", b60),
              HasSubstr("does not exist on an Intel GPU"));
  EXPECT_EQ(message_of("BK001", v0_5(23), "qwen3-0.6b", "--device cuda --attention-backend aiter", b60), "");
}

// "on" is no boolean that SGLang reads, and 0.5.16's kernel for vision is then not chosen.
TEST(RulesOfDevices, VisionFollowsTheVariableAsTheReleaseReadsIt) {
  const DeviceFacts a770 = testing::device_of("a770");
  const auto told = [&](const char* value) {
    return message_of("VI001", v0_5(16), "qwen3-vl-8b-instruct", "--device xpu", a770, {{"SGLANG_USE_SGL_XPU", value}});
  };
  EXPECT_THAT(told("1"), HasSubstr("xpu_attn (the default beside SGLANG_USE_SGL_XPU) is built for"));
  EXPECT_THAT(message_of("VI001", v0_5(19), "qwen3-vl-8b-instruct", "--device xpu", a770),
              HasSubstr("xpu_attn (the default) is built for"));
  EXPECT_EQ(told("on"), "");
  EXPECT_EQ(told("0"), "");
}

// FlashInfer's order of the weights was read by Triton's runner, until the layer wanted a runner of that name.
TEST(RulesOfDevices, ARunnerOfAnotherVendorIsRefusedOrMisreadAsTheReleaseHasIt) {
  const auto told = [](int release, const Environment& env) {
    return message_of("MO007", v0_5(release), "qwen3-30b-a3b",
                      "--device xpu --tp-size 4 --moe-runner-backend flashinfer_cutlass", testing::device_of("b60"),
                      env);
  };
  EXPECT_THAT(told(14, {}), HasSubstr("wrong output"));
  EXPECT_THAT(told(15, {}), HasSubstr("AssertionError"));
  EXPECT_THAT(told(18, {}), HasSubstr("AssertionError"));
  EXPECT_THAT(told(18, {{"SGLANG_USE_SGL_XPU", "1"}}), HasSubstr("wrong output"));
  EXPECT_THAT(told(19, {}), HasSubstr("wrong output"));
}

TEST(RulesOfDevices, TheSmallerShareIsToldWhereItIsSGLangsOwn) {
  const auto told = [](int release, std::string_view args) {
    return message_of("PL002", v0_5(release), "qwen3-32b", args, testing::device_of("b60"));
  };
  EXPECT_THAT(told(20, "--device xpu"), HasSubstr("2 GiB more"));
  EXPECT_THAT(told(19, "--device xpu"), Not(HasSubstr("2 GiB more")));
  EXPECT_THAT(told(20, "--device xpu --mem-fraction-static 0.8"), Not(HasSubstr("2 GiB more")));
}

// Of every rule's own launches, on a CPU: only what says that a backend, a card or a variable is another device's
// speaks of XPU.
TEST(RulesOfDevices, WhatIsSaidOfXpuIsSaidOfNoOtherDevice) {
  const std::set<std::string_view> of_devices{"BK001", "BK007", "EN002", "VA004", "VA007"};
  int asked = 0;
  for (const Rule& rule : all_rules()) {
    for (const RuleExample& example : rule.fires_on) {
      const std::size_t device = example.args.find("--device xpu");
      if (example.model.empty() || device == example.args.npos) continue;
      std::string args(example.args);
      args.replace(device, 12, "--device cpu");
      for (const Release release : {std::max(rule.since, example.since), v0_5(23)}) {
        const Launch launch = testing::launch_of(
            release, {.model = example.model, .args = args, .device = example.device, .env = example.env});
        if (!launch.accepted()) continue;
        ++asked;
        for (const Diagnostic& d : check(launch, {.changes = false, .log_lines = false}).diagnostics) {
          if (of_devices.contains(d.rule)) continue;
          EXPECT_THAT(d.message + ' ' + std::string(d.why),
                      Not(AnyOf(HasSubstr("XPU"), HasSubstr("Intel GPU"), HasSubstr("intel_xpu"), HasSubstr("oneCCL"))))
              << d.rule << ": " << example.model << ' ' << args;
        }
      }
    }
  }
  EXPECT_GT(asked, 100);
}

// Of every rule's own launches, with --encoder-only: nothing is said of an engine that is not there.
TEST(RulesOfDevices, AServerOfATowerHasNoEngine) {
  const std::set<std::string_view> left{"AR", "EN", "MD", "ND", "VI"};
  std::set<std::string> told;
  int asked = 0;
  for (const Rule& rule : all_rules()) {
    for (const RuleExample& example : rule.fires_on) {
      if (example.model.empty()) continue;
      Launch launch = testing::launch_of(v0_5(23), example);
      if (!launch.accepted()) continue;
      launch.resolved.set(Field::encoder_only, true);
      ++asked;
      for (const Diagnostic& d : check(launch, {.changes = false, .log_lines = false}).diagnostics) {
        if (d.rule != "PL001") told.emplace(d.rule.substr(0, 2));
        EXPECT_TRUE(d.rule == "PL001" || left.contains(std::string_view(d.rule).substr(0, 2)))
            << d.rule << ": " << example.model << ' ' << example.args;
      }
    }
  }
  EXPECT_GT(asked, 100);
  EXPECT_THAT(told, ::testing::IsSupersetOf({"EN", "VI"}));
}

TEST(RulesOfDevices, AServerOfATowerNeedsACardForEachRank) {
  EXPECT_THAT(message_of("PL001", v0_5(23), "qwen3-vl-8b-instruct", "--device xpu --encoder-only --tp-size 3",
                         testing::device_of("b60x2")),
              HasSubstr("3"));
}

}  // namespace
}  // namespace preflight
