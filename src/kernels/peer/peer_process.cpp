// Tested by tests/kernels/peer_test.cpp with stand-ins for the interpreter.
#include "src/kernels/peer/peer_process.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/base/embedded.h"
#include "src/intake/secret_text.h"
#include "src/sample/regime.h"

namespace preflight::peer {
namespace {

using Json = nlohmann::json;

std::string_view script() { return embedded::kernel_peer().front().text; }

// What a kernel has to know of the case beside its tensors.
Json numbers_of(const KernelCase& c) {
  return {{"line", print_case(c)},      {"scale", sample::softmax_scale(c)},
          {"page", c.page_size},        {"kv_splits", c.kv_splits},
          {"window", c.window},         {"softcap", c.softcap},
          {"sinks", c.sinks},           {"k_scale", c.k_scale},
          {"v_scale", c.v_scale},       {"latent", c.kv_lora_rank},
          {"chunk", c.chunk},           {"shrink_chunk", c.shrink_chunk},
          {"l2norm", c.l2norm},         {"query_lens", c.query_lens},
          {"chunk_size", c.delta_chunk}};
}

Json spec_of(std::string_view name, DType dtype, const std::vector<std::int64_t>& shape, const std::string& file) {
  return {{"name", name}, {"dtype", name_of(dtype)}, {"shape", shape}, {"file", file}};
}

Result<void> write_tensor(const Tensor& tensor, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(tensor.bytes.data()), static_cast<std::streamsize>(tensor.bytes.size()));
  if (!file.flush()) return failure(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  return {};
}

// Exactly as many bytes as the output has; anything else is no answer.
Result<Tensor> read_tensor(const OutputSpec& spec, const std::string& path) {
  Tensor tensor(spec.name, spec.dtype, spec.shape);
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) return failure(fmt::format("it answered without its output {}", spec.name));
  if (bytes != tensor.bytes.size()) {
    return failure(fmt::format("its output {} has {} bytes, {} are expected", spec.name, bytes, tensor.bytes.size()));
  }
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(tensor.bytes.data()), static_cast<std::streamsize>(tensor.bytes.size()));
  if (!file) return failure(fmt::format("its output {} cannot be read", spec.name));
  return tensor;
}

// Words of an interpreter that anybody may have named.
std::string without_secrets(std::string text) {
  commands::hide_parts(text);
  return text;
}

std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? without_secrets(found->get<std::string>()) : std::string();
}

std::vector<std::string> texts_of(const Json& json, const char* key) {
  std::vector<std::string> out;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_array()) return out;
  for (const Json& entry : *found) {
    if (entry.is_string()) out.push_back(without_secrets(entry.get<std::string>()));
  }
  return out;
}

Result<Json> parse(const std::string& line) {
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return failure("its answer could not be read");
  if (const std::string reason = text_of(json, "unusable"); !reason.empty()) return failure(reason);
  return json;
}

Result<Ready> parse_ready(const Json& json, const PeerChoice& choice) {
  const auto found = json.find("ready");
  if (found == json.end() || !found->is_object()) return failure("its answer could not be read");
  Ready ready;
  ready.peer.from = choice.from;
  ready.peer.interpreter = choice.interpreter;
  ready.peer.device = text_of(*found, "device");
  ready.peer.device_name = text_of(*found, "device_name");
  ready.peer.interpreted = found->value("interpreted", Json(false)) == Json(true);
  if (const auto versions = found->find("versions"); versions != found->end() && versions->is_object()) {
    for (const char* name : {"python", "torch", "triton", "sglang"}) {
      if (std::string text = text_of(*versions, name); !text.empty()) ready.peer.versions.emplace_back(name, text);
    }
  }
  ready.types = texts_of(*found, "types");
  if (ready.peer.device.empty() || ready.types.empty()) return failure("its answer could not be read");
  return ready;
}

// What became of a process that gave no answer.
std::string no_answer(ChildProcess& child, bool in_time, const PeerChoice& choice, const std::string& doing) {
  const int status = in_time ? child.finish() : child.kill_now();
  if (!in_time) {
    return fmt::format("{} gave no answer in {:g} s while {}; it was ended. --kernel-timeout SECONDS gives it longer",
                       choice.interpreter, choice.seconds, doing);
  }
  const bool killed = status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  std::string what = killed ? fmt::format("{} was killed while {}", choice.interpreter, doing)
                            : fmt::format("{} ended while {}: {}", choice.interpreter, doing, describe_end(status));
  const std::string& log = child.log();
  const std::size_t last = log.rfind('\n');
  const std::string words = without_secrets(log.substr(last == std::string::npos ? 0 : last + 1));
  if (!log.empty()) what += fmt::format(" (its last words: {})", words);
  return what;
}

}  // namespace

Result<PrivateFolder> PrivateFolder::make() {
  std::error_code error;
  auto base = std::filesystem::temp_directory_path(error);
  if (error) base = "/tmp";
  std::string pattern = (base / "xpu-preflight-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return failure(fmt::format("cannot make a folder in {}: {}", base.string(), std::strerror(errno)));
  }
  return PrivateFolder(std::move(pattern));
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;  // nothing can be done about it
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string PrivateFolder::file(std::string_view name) const { return fmt::format("{}/{}", path_, name); }

Result<std::string> PeerProcess::ask(const std::string& line, const std::string& doing) {
  // A process that is gone cannot be told anything: what became of it shows when its answer is waited for.
  static_cast<void>(child_.say(line));
  std::string answer;
  const auto next = child_.next_line(answer, std::chrono::duration<double>(choice_.seconds));
  if (next == ChildProcess::Next::kLine) return answer;
  return failure(no_answer(child_, next != ChildProcess::Next::kTimeout, choice_, doing));
}

Result<PeerProcess> PeerProcess::start(const PeerChoice& choice) {
  auto folder = PrivateFolder::make();
  if (!folder) return tl::make_unexpected(folder.error());
  auto child = ChildProcess::start_talking(choice.interpreter, {"-c", std::string(script())});
  if (!child) return tl::make_unexpected(child.error());
  PeerProcess process(std::move(*child), std::move(*folder), choice);
  const auto line = process.ask(Json({{"from", choice.from}}).dump(), "looking for its kernels");
  if (!line) return tl::make_unexpected(line.error());
  const auto json = parse(*line);
  if (!json) return failure(fmt::format("{}: {}", choice.interpreter, json.error().text()));
  auto ready = parse_ready(*json, choice);
  if (!ready) return failure(fmt::format("{}: {}", choice.interpreter, ready.error().text()));
  process.ready_ = std::move(*ready);
  return process;
}

Result<Answer> PeerProcess::run(const SampleBatch& batch, const std::vector<OutputSpec>& wanted) {
  const auto path = [&](std::string_view kind, std::string_view name) {
    return folder_.file(fmt::format("{}-{}", kind, name));
  };
  Json request = {{"kernel", batch.kernel_case.kernel}, {"backend", choice_.backend}, {"drafts", choice_.drafts}};
  request["case"] = numbers_of(batch.kernel_case);
  request["inputs"] = request["outputs"] = Json::array();
  for (const Tensor& input : batch.inputs) {
    const std::string file = path("in", input.name);
    if (const auto written = write_tensor(input, file); !written) return tl::make_unexpected(written.error());
    request["inputs"].push_back(spec_of(input.name, input.dtype, input.shape, file));
  }
  for (const OutputSpec& output : wanted) {
    std::error_code ignored;  // of the case before: what is not written anew must not be found
    std::filesystem::remove(path("out", output.name), ignored);
    request["outputs"].push_back(spec_of(output.name, output.dtype, output.shape, path("out", output.name)));
  }
  const auto line = ask(request.dump(), "running " + print_case(batch.kernel_case));
  if (!line) return tl::make_unexpected(line.error());
  const auto json = parse(*line);
  if (!json) return failure(fmt::format("{}: {}", choice_.interpreter, json.error().text()));
  Answer answer{.skipped = text_of(*json, "skipped"),
                .error = text_of(*json, "error"),
                .lacking = json->value("lacking", Json(false)) == true};
  if (!answer.skipped.empty() || !answer.error.empty()) return answer;
  Ran ran{
      {}, text_of(*json, "function"), text_of(*json, "imported"), texts_of(*json, "notes"), texts_of(*json, "broken")};
  for (const OutputSpec& output : wanted) {
    auto tensor = read_tensor(output, path("out", output.name));
    if (!tensor) return failure(fmt::format("{}: {}", choice_.interpreter, tensor.error().text()));
    ran.outputs.push_back(std::move(*tensor));
  }
  answer.ran = std::move(ran);
  return answer;
}

}  // namespace preflight::peer
