// The SGLang release that a container's image names: lmsysorg/sglang:v0.5.19-xpu in docker, compose or Kubernetes.
//
// An image is known by its repository's name, which has "sglang" in it; its tag names the release or does not.
// Tested by image_tag_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace preflight::sources {

struct ImageTag {
  std::string image;    // as it stands in the text
  std::string version;  // "0.5.19"; "" where the tag, or a digest, names none
};

// nullopt: the text names no such image, or several that differ.
std::optional<ImageTag> sglang_image(std::string_view text);
// The release that the tag of this one image names, "" where it names none. Its registry may be a variable.
std::string release_of_image(std::string_view image);

// The release that a text installs before it is started, "0.5.19" of pip install "sglang[all]==0.5.19"; "" where none
// is named, or several that differ are.
std::string pinned_release(std::string_view text);

// What it is built for, where that is no Intel GPU: "CUDA" of v0.5.19-cu126 and of upstream's v0.5.19; "" otherwise.
std::string other_device_of_image(std::string_view image);

}  // namespace preflight::sources
