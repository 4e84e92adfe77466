#include "src/base/shell_words.h"

namespace preflight {

std::string shell_word(std::string_view argument) {
  const bool plain = !argument.empty() && argument.find_first_not_of(
                                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                              "-_=./:,@%+") == std::string_view::npos;
  if (plain) return std::string(argument);
  std::string out = "'";
  for (const char c : argument) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
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
