// Variables that resolution sets for later processes, and the options that only mirror a variable: feature transport,
// debug graphs, crash dumps.
//
// Upstream: handle_environment_variables, handle_multimodal_feature_transport, handle_crash_dump_env.
// Tested by tests/resolve_serving_test.cpp and parity.
#include <unistd.h>

#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "src/base/replaced.h"
#include "src/resolve/serving/serving.h"

namespace preflight::resolve {
namespace {

constexpr auto kSource = "_handle_environment_variables";

// The transport when --mm-feature-transport is not given: an old variable decides, else host memory. Upstream's
// automatic CUDA transports need NVIDIA devices; its question for them builds the model, which nothing else here does.
std::string default_transport(Resolution& r, std::string_view function) {
  if (r.env_text("SGLANG_USE_CUDA_IPC_TRANSPORT") != nullptr) {
    const std::string transport = r.env_bool("SGLANG_USE_CUDA_IPC_TRANSPORT", false) ? "cuda_ipc" : "cpu";
    r.warn(function,
           fmt::format("SGLANG_USE_CUDA_IPC_TRANSPORT is old; --mm-feature-transport {} says the same.", transport));
    return transport;
  }
  if (!r.on(Field::encoder_only) && r.since(v0_5(18))) r.model();
  return "cpu";
}

void handle_multimodal_feature_transport(Resolution& r) {
  constexpr auto kTransport = "_handle_multimodal_feature_transport";
  const std::string_view function = kTransport;
  std::string transport = r.text(Field::mm_feature_transport);
  const bool keeps = r.on(Field::keep_mm_feature_on_device);  // an old option, gone in 0.5.21
  if (keeps) {
    if (!transport.empty() && transport != "cuda_ipc") {
      r.refuse(RF::kOther, "ValueError", function,
               "--keep-mm-feature-on-device means --mm-feature-transport cuda_ipc.");
    }
    transport = "cuda_ipc";
    r.warn(function, "--keep-mm-feature-on-device is old; --mm-feature-transport cuda_ipc says the same.");
  } else if (r.none(Field::mm_feature_transport)) {
    transport = default_transport(r, function);
  } else if (r.env_text("SGLANG_USE_CUDA_IPC_TRANSPORT") != nullptr &&
             r.env_bool("SGLANG_USE_CUDA_IPC_TRANSPORT", false) != (transport == "cuda_ipc")) {
    r.warn(function, fmt::format("--mm-feature-transport {} wins over SGLANG_USE_CUDA_IPC_TRANSPORT.", transport));
  }
  const bool needs_cuda = transport == "cuda_ipc" || transport == "cuda_vmm";
  if (needs_cuda && r.on(Field::encoder_only) && r.since(v0_5(17))) {
    r.warn(function, "An encoder sends its outputs by --encoder-transfer-backend; --mm-feature-transport becomes cpu.");
    transport = "cpu";
  } else if (needs_cuda) {
    r.refuse(RF::kOther, "ValueError", function,
             fmt::format("--mm-feature-transport {} shares NVIDIA memory, which an Intel GPU has not; use cpu or drop "
                         "the option and SGLANG_USE_CUDA_IPC_TRANSPORT.",
                         transport));
  }
  r.change(kTransport, Field::mm_feature_transport, transport);
  if (field_exists(Field::keep_mm_feature_on_device, r.release())) {
    r.change(kTransport, Field::keep_mm_feature_on_device, false);
  }
  r.env()["SGLANG_USE_CUDA_IPC_TRANSPORT"] = "0";
}

// Custom all-reduce v2 works inside one node. Since 0.5.19 this is decided elsewhere.
void disable_custom_all_reduce_v2(Resolution& r) {
  constexpr auto kVariable = "SGLANG_OPT_USE_CUSTOM_ALL_REDUCE_V2";
  if (r.before(v0_5(12)) || r.since(v0_5(19))) return;
  if (r.integer(Field::nnodes) <= 1 || !r.env_bool(kVariable, true)) return;
  if (r.since(v0_5(17)) && r.env_bool("SGLANG_ENABLE_CUSTOM_ALL_REDUCE_V2_MULTINODE", false)) return;
  if (r.env_text(kVariable) != nullptr) {
    r.warn("handle_custom_all_reduce_v2_multinode", fmt::format("{} is off with several nodes.", kVariable));
  }
  r.env()[kVariable] = "0";
}

// What os.makedirs(path, exist_ok=True) would raise, or nothing. Nothing is created here.
std::string makedirs_error(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path at = path;
  if (fs::exists(at, ignored)) return fs::is_directory(at, ignored) ? "" : "FileExistsError";
  while (!at.empty() && !fs::exists(at, ignored)) {
    if (at == at.parent_path()) break;
    at = at.parent_path();
  }
  if (at.empty()) at = ".";
  if (!fs::is_directory(at, ignored)) return "NotADirectoryError";
  return access(at.c_str(), W_OK | X_OK) == 0 ? "" : "PermissionError";
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace

void handle_environment_variables(Resolution& r) {
  const std::string_view function = kSource;
  const auto flag = [&](Field field) { return r.on(field) ? "1" : "0"; };
  if (field_exists(Field::mm_feature_transport, r.release())) handle_multimodal_feature_transport(r);
  r.env()["SGLANG_ENABLE_TORCH_COMPILE"] = flag(Field::enable_torch_compile);
  if (!r.none(Field::mamba_ssm_dtype)) r.env()["SGLANG_MAMBA_SSM_DTYPE"] = r.text(Field::mamba_ssm_dtype);
  r.env()["SGLANG_DISABLE_OUTLINES_DISK_CACHE"] = flag(Field::disable_outlines_disk_cache);
  r.env()["SGLANG_ENABLE_DETERMINISTIC_INFERENCE"] = flag(Field::enable_deterministic_inference);
  disable_custom_all_reduce_v2(r);
  if (r.on(Field::debug_cuda_graph)) {
    r.warn(function, "--debug-cuda-graph works on NVIDIA and AMD devices only and is ignored.");
    r.change(kSource, Field::debug_cuda_graph, false);
  }
  if (r.on(Field::enable_deepseek_v4_fp4_indexer)) {
    r.refuse(RF::kOther, "ValueError", function,
             "--enable-deepseek-v4-fp4-indexer needs a GPU with FP4 indexer kernels, which no Intel GPU has; drop it.");
  }
  // SGLANG_OPT_FP8_WO_A_GEMM is looked at on CUDA only.
}

// CUDA's core dumps mean nothing on an Intel GPU, but SGLang makes their folder all the same.
void handle_crash_dump_env(Resolution& r) {
  constexpr auto kVariable = "CUDA_COREDUMP_FILE";
  if (!r.on(Field::crash_dump_folder)) return;
  const std::string folder = r.text(Field::crash_dump_folder);
  const bool given = r.env().contains(kVariable);
  const std::array<std::pair<const char*, std::string>, 6> defaults = {
      {{"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"},
       {"CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "1"},
       {"CUDA_COREDUMP_SHOW_PROGRESS", "1"},
       {"CUDA_COREDUMP_GENERATION_FLAGS",
        "skip_nonrelocated_elf_images,skip_global_memory,skip_shared_memory,skip_local_memory,skip_constbank_memory"},
       {kVariable, folder + "/%h/core.cuda.%t.%p"},
       {"CUDA_COREDUMP_PIPE", "/tmp/corepipe.cuda.%h.%p"}}};
  for (const auto& [name, value] : defaults) r.env().try_emplace(name, value);

  const std::string_view function = "_handle_crash_dump_env";
  if (r.before(v0_5(16))) {  // the folder is made when the variable was not set, and must succeed
    if (given) return;
    const std::string error = makedirs_error((std::filesystem::path(folder) / host_name()).string());
    if (!error.empty()) {
      r.refuse(RF::kOther, error, function,
               fmt::format("--crash-dump-folder {} cannot hold a folder per host; name a writable one.", folder));
    }
    return;
  }
  const std::string file = replaced(r.env()[kVariable], "%h", host_name());
  const auto slash = file.rfind('/');
  if (slash == std::string::npos) return;
  const std::string directory = file.substr(0, slash);
  if (directory.find('%') != std::string::npos) {
    r.warn(function, fmt::format("The dump folder {} has a placeholder other than %h and is not made.", directory));
  } else if (!directory.empty() && !makedirs_error(directory).empty()) {
    r.warn(function, fmt::format("The dump folder {} cannot be made.", directory));
  }
}

}  // namespace preflight::resolve
