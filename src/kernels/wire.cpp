// Tested by tests/kernels/wire_test.cpp.
#include "src/kernels/wire.h"

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace preflight::wire {
namespace {

using Json = nlohmann::json;

Json of(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (json == "inf") return kInfinity;
  return json == "-inf" ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
}

template <typename Enum>
Json of_enum(Enum value) {
  return static_cast<int>(value);
}

// Throws on what is no value of the enumeration, as the JSON library does on a wrong type.
template <typename Enum>
Enum enumerator(const Json& json, Enum last) {
  const int value = json.get<int>();
  if (value < 0 || value > static_cast<int>(last)) throw std::out_of_range("no such enumerator");
  return static_cast<Enum>(value);
}

Json of(const DeviceError& error) {
  return {{"kind", of_enum(error.kind)}, {"message", error.message}, {"log", error.log}};
}

DeviceError device_error(const Json& json) {
  return {enumerator(json.at("kind"), DeviceErrorKind::kInternal), json.at("message"), json.at("log")};
}

Json of(const DeviceInfo& d) {
  return {{"index", d.index},
          {"name", d.name},
          {"platform", d.platform},
          {"driver", d.driver},
          {"version", d.version},
          {"is_cpu", d.is_cpu},
          {"is_gpu", d.is_gpu},
          {"compute_units", d.compute_units},
          {"global_memory_bytes", d.global_memory_bytes},
          {"max_allocation_bytes", d.max_allocation_bytes},
          {"local_memory_bytes", d.local_memory_bytes},
          {"max_work_group_size", d.max_work_group_size},
          {"extensions", d.extensions}};
}

DeviceInfo device_info(const Json& json) {
  DeviceInfo d;
  json.at("index").get_to(d.index);
  json.at("name").get_to(d.name);
  json.at("platform").get_to(d.platform);
  json.at("driver").get_to(d.driver);
  json.at("version").get_to(d.version);
  json.at("is_cpu").get_to(d.is_cpu);
  json.at("is_gpu").get_to(d.is_gpu);
  json.at("compute_units").get_to(d.compute_units);
  json.at("global_memory_bytes").get_to(d.global_memory_bytes);
  json.at("max_allocation_bytes").get_to(d.max_allocation_bytes);
  json.at("local_memory_bytes").get_to(d.local_memory_bytes);
  json.at("max_work_group_size").get_to(d.max_work_group_size);
  json.at("extensions").get_to(d.extensions);
  return d;
}

Json of(const OutputVerdict& o) {
  return {{"name", o.name},
          {"word", of_enum(o.word)},
          {"reason", o.reason},
          {"rel_rms", of(o.rel_rms)},
          {"cosine", of(o.cosine)},
          {"max_abs", of(o.max_abs)},
          {"worst", o.worst},
          {"limit", {of(o.limit.rel_rms), of(o.limit.cosine), of(o.limit.abs), of(o.limit.rel), of(o.limit.bias)}},
          {"bias", of(o.bias)},
          {"times_allowed", of(o.times_allowed)}};
}

OutputVerdict output_verdict(const Json& json) {
  OutputVerdict o;
  json.at("name").get_to(o.name);
  o.word = enumerator(json.at("word"), VerdictWord::kError);
  json.at("reason").get_to(o.reason);
  o.rel_rms = number(json.at("rel_rms"));
  o.cosine = number(json.at("cosine"));
  o.max_abs = number(json.at("max_abs"));
  o.bias = number(json.at("bias"));
  o.times_allowed = number(json.at("times_allowed"));
  json.at("worst").get_to(o.worst);
  const Json& limit = json.at("limit");
  o.limit = {number(limit.at(0)), number(limit.at(1)), number(limit.at(2)), number(limit.at(3)), number(limit.at(4))};
  return o;
}

Json of(const CaseReport& report) {
  Json outputs = Json::array();
  for (const OutputVerdict& output : report.verdict.outputs) outputs.push_back(of(output));
  Json json = {{"line", report.case_line},
               {"word", of_enum(report.verdict.word)},
               {"reason", report.verdict.reason},
               {"times_allowed", of(report.verdict.times_allowed)},
               {"outputs", std::move(outputs)},
               {"reference_seconds", of(report.reference_seconds)},
               {"kernel_seconds", of(report.kernel_seconds)}};
  if (report.fault) json["fault"] = of(*report.fault);
  if (report.timing) {
    const Timing& t = *report.timing;
    json["timing"] = {of(t.median_seconds), of(t.best_seconds), t.repeat, of(t.flops), of(t.bytes)};
  }
  return json;
}

CaseReport case_report(const Json& json) {
  CaseReport report;
  json.at("line").get_to(report.case_line);
  report.verdict.word = enumerator(json.at("word"), VerdictWord::kError);
  json.at("reason").get_to(report.verdict.reason);
  report.verdict.times_allowed = number(json.at("times_allowed"));
  for (const Json& output : json.at("outputs")) report.verdict.outputs.push_back(output_verdict(output));
  report.reference_seconds = number(json.at("reference_seconds"));
  report.kernel_seconds = number(json.at("kernel_seconds"));
  if (json.contains("fault")) report.fault = device_error(json["fault"]);
  if (json.contains("timing")) {
    const Json& t = json["timing"];
    report.timing = Timing{number(t.at(0)), number(t.at(1)), t.at(2).get<int>(), number(t.at(3)), number(t.at(4))};
  }
  return report;
}

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

struct PrintAnswer {
  Json operator()(const DeviceInfo& device) const { return {{"device", of(device)}}; }
  Json operator()(const CaseReport& report) const { return {{"case", of(report)}}; }
  Json operator()(const End& end) const { return {{"end", end.error ? of(*end.error) : Json(nullptr)}}; }
};

}  // namespace

std::string print(const Request& request) {
  const RunOptions& o = request.options;
  return line_of({{"list_devices", request.list_devices},
                  {"cases", request.cases},
                  {"device", request.device.text},
                  {"seconds", request.seconds},
                  {"repeat", o.repeat},
                  {"kernel_dir", o.kernel_dir},
                  {"as_gpu", o.as_gpu},
                  {"plain_tiles", o.plain_tiles},
                  {"emulated_lanes", o.emulated_lanes},
                  {"defect", o.defect},
                  {"stop_at_failure", o.stop_at_failure},
                  {"large_cases", o.large_cases}});
}

Result<Request> parse_request(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    Request request;
    json.at("list_devices").get_to(request.list_devices);
    json.at("cases").get_to(request.cases);
    json.at("device").get_to(request.device.text);
    json.at("seconds").get_to(request.seconds);
    json.at("repeat").get_to(request.options.repeat);
    json.at("kernel_dir").get_to(request.options.kernel_dir);
    json.at("as_gpu").get_to(request.options.as_gpu);
    json.at("plain_tiles").get_to(request.options.plain_tiles);
    json.at("emulated_lanes").get_to(request.options.emulated_lanes);
    json.at("defect").get_to(request.options.defect);
    json.at("stop_at_failure").get_to(request.options.stop_at_failure);
    json.at("large_cases").get_to(request.options.large_cases);
    return request;
  } catch (const std::exception& e) {
    return failure(e.what());
  }
}

std::string print(const Answer& answer) { return line_of(std::visit(PrintAnswer{}, answer)); }

Result<Answer> parse_answer(const std::string& line) {
  try {
    const Json json = Json::parse(line);
    if (json.contains("device")) return device_info(json["device"]);
    if (json.contains("case")) return case_report(json["case"]);
    const Json& end = json.at("end");
    return End{end.is_null() ? std::nullopt : std::optional(device_error(end))};
  } catch (const std::exception& e) {
    return failure(e.what());
  }
}

}  // namespace preflight::wire
