// What a model path can name when no such file or directory is here: a repository of the hub, a place on another
// machine, or nothing at all.
//
// Sources: huggingface_hub's rule for repository names (utils/_validators.py), SGLang's connectors
// (srt/connector/__init__.py). Tested by tests/hub_name_test.cpp.
#pragma once

#include <string>
#include <string_view>

#include "preflight/server_args.h"

namespace preflight::facts {

// "name" and "owner/name" in the letters that the hub takes.
bool is_hub_name(std::string_view path);

// What stands before the last "://" of the first line; "" where the path is no address. Letters keep their case.
std::string_view connector_type(std::string_view path);
inline bool is_remote_url(std::string_view path) { return !connector_type(path).empty(); }

// Run:ai's model streamer reads these: s3, gs, az in any case of letters.
bool is_object_store(std::string_view path);

// An Azure Blob address, which a package of its own reads.
bool is_azure_blob(Release release, std::string_view path);

// OWNER/REPO:QUANT and OWNER/REPO/…/FILE.gguf, which newer releases look up on the hub.
bool names_gguf_of_hub(Release release, std::string_view path);

// Whether a hub, a store or another machine's disk could hold it. What remains is refused wherever it is launched,
// unless such a folder exists there.
bool may_exist_elsewhere(Release release, std::string_view path);

// The hub's id that an address or a misspelt id holds ("https://huggingface.co/Qwen/Qwen3-8B/tree/main",
// "Qwen/Qwen3-8B@main"); "" where it holds none.
std::string hub_name_within(std::string_view path);

// The folder that a file:// address means; "" where it is none, or names another machine.
std::string directory_within(std::string_view path);

}  // namespace preflight::facts
