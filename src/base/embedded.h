// Data files inside the program, put there at build time by configs/embed.py.
#pragma once

#include <span>
#include <string_view>

namespace preflight::embedded {

struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

std::span<const EmbeddedFile> devices();              // configs/devices
std::span<const EmbeddedFile> models();               // configs/models
std::span<const EmbeddedFile> kernel_sources();       // ocl_kernels
std::span<const EmbeddedFile> kernel_cases();         // configs/cases
std::span<const EmbeddedFile> option_history();       // of configs/sglang/options.json
std::span<const EmbeddedFile> environment();          // configs/sglang/environment.txt
std::span<const EmbeddedFile> messages();             // configs/sglang/messages.txt
std::span<const EmbeddedFile> model_classes();        // configs/sglang/model_classes.json
std::span<const EmbeddedFile> usual_architectures();  // configs/sglang/usual_architectures.txt
std::span<const EmbeddedFile> transformers_types();   // configs/transformers/tensor_plans.txt, wordless.txt
std::span<const EmbeddedFile> python_resolver();      // src/resolve/peer/ask_sglang.py
std::span<const EmbeddedFile> kernel_peer();          // src/kernels/peer/ask_kernels.py

}  // namespace preflight::embedded
