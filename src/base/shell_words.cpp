#include "src/base/shell_words.h"

namespace preflight {

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string shell_word(std::string_view argument) {
  const bool plain = !argument.empty() && argument.find_first_not_of(
                                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                              "-_=./:,@%+") == std::string_view::npos;
  return plain ? std::string(argument) : single_quoted(argument);
}

std::string shell_words(const std::vector<std::string>& arguments) {
  std::string out;
  for (const auto& a : arguments) out += (out.empty() ? "" : " ") + shell_word(a);
  return out;
}

std::string launch_command(const std::vector<std::string>& arguments, const Environment& env) {
  std::string out;
  for (const auto& [name, value] : env) out += name + "=" + shell_word(value) + " ";
  out += "python -m sglang.launch_server";
  if (!arguments.empty()) out += " " + shell_words(arguments);
  return out;
}

}  // namespace preflight
