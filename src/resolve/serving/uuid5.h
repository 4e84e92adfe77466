// uuid5(NAMESPACE_URL, name) as 32 hexadecimal digits: how SGLang derives the id of a LoRA adapter.
#pragma once

#include <string>
#include <string_view>

namespace preflight::resolve {

std::string url_uuid5_hex(std::string_view name);

}  // namespace preflight::resolve
