// TLS and HTTP/2 options: which of them need each other, and that the named files exist on this machine.
//
// Upstream: handle_ssl_validation. Tested by tests/resolve_serving_test.cpp and parity.
#include <filesystem>

#include <fmt/format.h>

#include "src/resolve/serving/serving.h"

namespace preflight::resolve {
namespace {

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

void check_http2(Resolution& r, std::string_view function) {
  if (!r.on(Field::enable_http2)) return;
  if (field_exists(Field::http2_max_concurrent_streams, r.release())) {
    const auto streams = r.integer(Field::http2_max_concurrent_streams);
    if (streams <= 0 || streams >= (std::int64_t{1} << 32)) {
      r.refuse(RF::kOther, "ValueError", function,
               fmt::format("--http2-max-concurrent-streams is {}; it has to lie in 1…4294967295.", streams));
    }
  }
  if (field_exists(Field::http2_initial_connection_window_size, r.release())) {
    const auto window = r.integer(Field::http2_initial_connection_window_size);
    if (window < 1024 || window >= (std::int64_t{1} << 31)) {
      r.refuse(RF::kOther, "ValueError", function,
               fmt::format("--http2-initial-connection-window-size is {}; it has to lie in 1024…2147483647.", window));
    }
  }
  // Upstream's later HTTP/2 checks (certificate refresh, tokenizer workers) come after this import and are not reached.
  r.refuse(RF::kOther, "ValueError", function,
           "--enable-http2 needs the Python package granian, which an XPU installation does not bring; install "
           "\"sglang[http2]\" or drop the option.");
}

}  // namespace

void handle_ssl_validation(Resolution& r) {
  const std::string_view function = "_handle_ssl_validation";
  const auto refuse = [&](std::string message) { r.refuse(RF::kOther, "ValueError", function, std::move(message)); };
  const bool key = r.on(Field::ssl_keyfile);
  const bool certificate = r.on(Field::ssl_certfile);
  if (key && !certificate) refuse("--ssl-keyfile is given without --ssl-certfile; TLS needs both.");
  if (certificate && !key) refuse("--ssl-certfile is given without --ssl-keyfile; TLS needs both.");
  if (!key) {
    constexpr auto kUseless = "{} does nothing as long as TLS is off; add --ssl-certfile and --ssl-keyfile.";
    if (r.on(Field::ssl_ca_certs)) refuse(fmt::format(kUseless, "--ssl-ca-certs"));
    if (r.on(Field::ssl_keyfile_password)) refuse(fmt::format(kUseless, "--ssl-keyfile-password"));
  }
  constexpr std::pair<Field, std::string_view> kFiles[] = {{Field::ssl_keyfile, "--ssl-keyfile"},
                                                           {Field::ssl_certfile, "--ssl-certfile"},
                                                           {Field::ssl_ca_certs, "--ssl-ca-certs"}};
  for (const auto& [field, option] : kFiles) {
    if (r.on(field) && !is_file(r.text(field))) {
      refuse(fmt::format("The file of {} does not exist: {}. Correct the path.", option, r.text(field)));
    }
  }
  if (r.on(Field::enable_ssl_refresh) && !key) {
    refuse("--enable-ssl-refresh watches certificate files; give --ssl-certfile and --ssl-keyfile.");
  }
  // An option of later releases, known for 0.5.23.
  if (r.on(Field::enable_http_worker_reuseport) &&
      (r.integer(Field::tokenizer_worker_num) == 1 || r.on(Field::enable_http2))) {
    refuse("--enable-http-worker-reuseport works with several tokenizer workers and without --enable-http2 only.");
  }
  check_http2(r, function);
}

}  // namespace preflight::resolve
