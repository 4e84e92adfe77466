// Which release a container's image names, in whatever text it stands.
#include "src/sources/image_tag.h"

#include <utility>

#include <gtest/gtest.h>

namespace preflight::sources {
namespace {

TEST(ImageTag, NamesTheReleaseOrDoesNot) {
  struct Row {
    const char* text;
    const char* version;  // nullptr = no image of SGLang, or several that differ
  };
  const Row rows[] = {
      {"docker run --rm lmsysorg/sglang:v0.5.19-xpu python -m sglang.launch_server", "0.5.19"},
      {"    image: \"lmsysorg/sglang:v0.5.23-xpu\"", "0.5.23"},
      {"image: registry.local:5000/team/sglang-xpu:0.5.20", "0.5.20"},
      {"FROM lmsysorg/sglang:v0.5.21.post1-xpu", "0.5.21.post1"},
      {"FROM lmsysorg/sglang:v0.5.21.post-xpu", "0.5.21"},
      {"FROM lmsysorg/sglang:v0.5.20rc1-xpu", "0.5.20rc1"},
      {"FROM lmsysorg/sglang:v0.5.20-rc1", "0.5.20-rc1"},
      {"FROM lmsysorg/sglang:0.5.20.dev4-xpu", "0.5.20.dev4"},
      {"FROM lmsysorg/sglang:v0.5.20b2", "0.5.20b2"},
      {"FROM lmsysorg/sglang:v0.5.20-b60", "0.5.20"},
      {"FROM lmsysorg/sglang:v0.5.20-dev", "0.5.20-dev"},
      {"FROM lmsysorg/sglang:dev-0.5.20", "0.5.20-dev"},
      {"FROM lmsysorg/sglang:v0.5.20-devices", "0.5.20"},
      {"FROM lmsysorg/sglang:v0.5.20-rc1x", "0.5.20"},
      {"docker run lmsysorg/sglang:latest python", ""},
      {"docker run lmsysorg/sglang:nightly-xpu-20260101-0a1b python", ""},
      {"docker run lmsysorg/sglang@sha256:0123 python", ""},
      {"docker run sglang-xpu:v0.5.18 python", "0.5.18"},
      {"docker run a/sglang:v0.5.18 x; docker run a/sglang:v0.5.18 y", "0.5.18"},
      {"docker run a/sglang:v0.5.18 x; docker run a/sglang:v0.5.19 y", nullptr},
      {"docker run vllm/vllm-openai:v0.5.1 x", nullptr},
      {"docker run -v /data/sglang:/root/.cache ubuntu:22.04 python -m sglang.launch_server", nullptr},
      {"docker run lmsysorg/sglang-router:v0.3.1 x; docker run lmsysorg/sglang:v0.5.18 y", "0.5.18"},
      {"pip install sglang==0.5.19", nullptr},
      {"python -m sglang.launch_server --model-path x", nullptr},
      {"", nullptr},
  };
  for (const Row& row : rows) {
    const auto image = sglang_image(row.text);
    ASSERT_EQ(image.has_value(), row.version != nullptr) << row.text;
    EXPECT_EQ(image ? image->version : "", row.version == nullptr ? "" : row.version) << row.text;
  }
}

TEST(ImageTag, OfOneImageIsTheSame) {
  const std::pair<const char*, const char*> rows[] = {{"lmsysorg/sglang:v0.5.16-xpu", "0.5.16"},
                                                      {"lmsysorg/sglang:v0.5.12.post1", "0.5.12.post1"},
                                                      {"reg:5000/sglang:0.5.20", "0.5.20"},
                                                      {"lmsysorg/sglang:latest", ""},
                                                      {"lmsysorg/sglang", ""},
                                                      {"vllm/vllm-openai:v0.9.1", ""},
                                                      {"nvcr.io/nvidia/ai-dynamo/sglang-runtime:0.7.0", ""},
                                                      {"lmsysorg/sglang-router:v0.5.4", ""},
                                                      {"acme/sglang-bench:0.3.1", ""},
                                                      {"router.local:5000/kernel/sglang:0.5.20", "0.5.20"},
                                                      {"lmsysorg/sglang:v0.5", ""},
                                                      {"lmsysorg/sglang:nightly-v0.5.19", "0.5.19-nightly"},
                                                      {"${REGISTRY}/sglang:v0.5.18-xpu", "0.5.18"},
                                                      {"lmsysorg/sglang:v0.5.19@sha256:0123", "0.5.19"}};
  for (const auto& [image, release] : rows) EXPECT_EQ(release_of_image(image), release) << image;
}

TEST(ImageTag, SaysWhatTheImageIsBuiltFor) {
  const std::pair<const char*, const char*> rows[] = {{"lmsysorg/sglang:v0.5.19-cu126", "CUDA"},
                                                      {"lmsysorg/sglang:v0.5.19", "CUDA"},
                                                      {"docker.io/lmsysorg/sglang:v0.5.12.post1", "CUDA"},
                                                      {"lmsysorg/sglang:latest", "CUDA"},
                                                      {"lmsysorg/sglang:v0.5.19-xpu", ""},
                                                      {"lmsysorg/sglang:v0.5", ""},
                                                      {"lmsysorg/sglang@sha256:0123", ""},
                                                      {"mine/sglang:v0.5.19", ""},
                                                      {"lmsysorg/sglang:v0.5.19-cu129-amd64", "CUDA"},
                                                      {"lmsysorg/sglang:v0.5.19-rocm630-mi30x", "ROCm"},
                                                      {"lmsysorg/sglang:main-cann8.3.rc1-a3", ""},
                                                      {"lmsysorg/sglang:v0.5.19-npu", "Ascend NPUs"},
                                                      {"lmsysorg/sglang:v0.5.19-xpu", ""},
                                                      {"lmsysorg/sglang:v0.5.19-custom", ""},
                                                      {"reg:5000/cu126/sglang:v0.5.19", ""},
                                                      {"lmsysorg/sglang", ""}};
  for (const auto& [image, device] : rows) EXPECT_EQ(other_device_of_image(image), device) << image;
}

TEST(PinnedRelease, IsWhatATextInstallsExactly) {
  EXPECT_EQ(pinned_release("pip install \"sglang[all]==0.5.19\"\n"), "0.5.19");
  EXPECT_EQ(pinned_release("RUN uv pip install --system \\\n  torch \\\n  sglang==0.5.12.post1 && x\n"),
            "0.5.12.post1");
  EXPECT_EQ(pinned_release("image = Image.debian_slim().pip_install(\"sglang==0.5.20\")"), "0.5.20");
  EXPECT_EQ(pinned_release("pip install sglang==0.5.20\npip install sglang==0.5.20"), "0.5.20");
  for (const char* none :
       {"pip install sglang", "pip install 'sglang>=0.5.19'", "# pip install sglang==0.5.19",
        "pip install sglang-router==0.5.12", "pip install my-sglang==0.5.12", "sglang==0.5.19",
        "pip install sglang==0.5.19\npip install sglang==0.5.20", "pip install sglang[all", "sglang"}) {
    EXPECT_EQ(pinned_release(none), "") << none;
  }
}

}  // namespace
}  // namespace preflight::sources
