#include "tests/fuzz/whole_program.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "src/commands/exit_status.h"
#include "src/report/output_gate.h"

// The command line is no library: its main() comes in under another name.
#define main xpu_preflight_main
#include "src/main.cpp"
#undef main

namespace preflight::fuzz {
namespace {

// std::cout or std::cerr, caught as long as this lives.
class Caught {
 public:
  explicit Caught(std::ostream& stream) : stream_(stream), target_(stream.rdbuf(text_.rdbuf())) {}
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;
  ~Caught() { stream_.rdbuf(target_); }
  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::ostream& stream_;
  std::streambuf* target_;
};

void demand(bool holds, const char* what, const std::vector<std::string>& words, const std::string& printed) {
  if (holds) return;
  std::cerr << what << "\nwords:";
  for (const std::string& word : words) std::cerr << " [" << word << "]";
  std::cerr << "\nprinted:\n" << printed << "\n";
  std::abort();
}

}  // namespace

void run_and_judge(const std::vector<std::string>& words) {
  std::vector<std::string> all = {"xpu-preflight"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  // main() asks for it too, and the first time that gives the streams new buffers, past those that catch.
  std::ios::sync_with_stdio(false);
  std::string out;
  std::string err;
  int status = 0;
  {
    const Caught caught_out(std::cout);
    const Caught caught_err(std::cerr);
    status = xpu_preflight_main(static_cast<int>(all.size()), argv.data());
    std::cout.clear();
    std::cerr.clear();
    out = caught_out.text();
    err = caught_err.text();
  }
  demand(status >= 0 && status <= 6 && status != commands::kInternalError, "status", words,
         std::to_string(status) + err);
  demand(report::gated(out) == out && report::gated(err) == err, "what the gate would change", words, out + err);
  if (status == commands::kBadInput) {
    demand(std::count(err.begin(), err.end(), '\n') == 1 && err.starts_with("xpu-preflight: "),
           "a complaint of one line", words, err);
  }
  // Behind `--` stand other words.
  const std::vector<std::string> own(words.begin(), std::ranges::find(words, "--"));
  const auto format = std::ranges::find(own, "json");
  const bool one_document = std::ranges::find(own, "--batch") == own.end();
  if (format != own.end() && format != own.begin() && *(format - 1) == "--format" && one_document) {
    demand(nlohmann::json::accept(out), "JSON", words, out);
  }
}

}  // namespace preflight::fuzz
