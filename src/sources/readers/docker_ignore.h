// .dockerignore: what of the folder of a Dockerfile no COPY finds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace preflight::sources {

// Where `path`, as seen from the Dockerfile's folder, is left out: FILE:LINE. None where a COPY finds it.
std::optional<std::string> left_out_of_image(std::string_view dockerfile, const std::string& path);

}  // namespace preflight::sources
