#include "src/report/completion_words.h"

namespace preflight::report {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : std::string(between)) + word;
  return out;
}

std::vector<std::string> all_names(const std::vector<OptionWords>& options) {
  std::vector<std::string> out;
  for (const OptionWords& option : options) out.insert(out.end(), option.names.begin(), option.names.end());
  return out;
}

std::string short_form(const std::string& what) {
  const auto end = what.find_first_of(";:(");
  std::string out = what.substr(0, end == 0 ? std::string::npos : end);
  while (!out.empty() && (out.back() == ' ' || out.back() == '.')) out.pop_back();
  return out;
}

}  // namespace preflight::report
