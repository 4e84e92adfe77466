#include "src/report/manual.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <utf8proc.h>

#include "src/report/completion_words.h"

namespace preflight::report {
namespace {

// An option of as many commands is described once.
constexpr std::size_t kShared = 4;

void add_character(utf8proc_int32_t code, std::string& out) {
  if (code == '\\') {
    out += "\\e";
  } else if (code == '-') {
    out += "\\-";
  } else if (code == '\'') {
    out += "\\(aq";
  } else if (code == '`') {
    out += "\\(ga";
  } else if (code == '^') {
    out += "\\(ha";
  } else if (code == '~') {
    out += "\\(ti";
  } else if (code < 0x80) {
    out += static_cast<char>(code);
  } else {
    out += fmt::format("\\[u{:04X}]", code);
  }
}

// Text as troff prints it unchanged.
std::string roff(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    utf8proc_int32_t code = 0;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    const auto size = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &code);
    if (size <= 0) break;
    add_character(code, out);
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }

std::string value_word(const OptionWords& option) {
  constexpr std::size_t kMost = 6;  // more are told by the text
  if (option.takes == Takes::kFile) return "FILE";
  if (option.takes == Takes::kDirectory) return "DIRECTORY";
  return option.values.empty() || option.values.size() > kMost ? "VALUE" : joined(option.values, "|");
}

std::string head(const OptionWords& option) {
  std::string out;
  for (const std::string& name : option.names) {
    out += out.empty() ? "" : ", ";
    out += bold(name);
  }
  if (option.takes == Takes::kNothing || !option.names.front().starts_with('-')) return out;
  return out + " \\fI" + roff(value_word(option)) + "\\fR";
}

std::string paragraph(const OptionWords& option) {
  return fmt::format(".TP\n{}\n{}\n", head(option), roff(option.what));
}

// Options of several commands, in the order in which they come first, and the commands they are of.
struct Shared {
  std::vector<const OptionWords*> options;
  std::map<std::string, std::vector<std::string>> commands;  // by the option's text

  static std::string key(const OptionWords& option) { return joined(option.names) + "\n" + option.what; }
  [[nodiscard]] bool has(const OptionWords& option) const { return commands.at(key(option)).size() >= kShared; }
};

Shared shared_options(const ProgramWords& program) {
  Shared shared;
  for (const CommandWords& command : program.commands) {
    for (const OptionWords& option : command.options) {
      auto& commands = shared.commands[Shared::key(option)];
      commands.push_back(command.name);
      if (commands.size() == kShared) shared.options.push_back(&option);
    }
  }
  return shared;
}

std::string usage(const ProgramWords& program, const CommandWords& command) {
  std::string out = fmt::format("\\fB{} {}\\fR", roff(program.name), roff(command.name));
  if (!command.options.empty()) out += " [\\fIOPTIONS\\fR]";
  for (const OptionWords& positional : command.positionals) {
    const std::string words =
        fmt::format("\\fI{}\\fR{}", roff(positional.names.front()), positional.takes_several ? "..." : "");
    out += positional.required ? " " + words : " [" + words + "]";
  }
  if (command.behind == Behind::kLaunch) out += " [\\fB\\-\\-\\fR \\fISGLANG\\-ARGUMENTS\\fR]";
  if (command.behind == Behind::kCommand) out += " \\fB\\-\\-\\fR \\fICOMMAND\\fR";
  return out;
}

std::string command_section(const ProgramWords& program, const CommandWords& command, const Shared& shared) {
  std::string out =
      fmt::format(".SS {}\n{}\n.PP\n{}.\n", roff(command.name), usage(program, command), roff(command.what));
  std::string others;
  for (const OptionWords& positional : command.positionals) out += paragraph(positional);
  for (const OptionWords& option : command.options) {
    if (!shared.has(option)) {
      out += paragraph(option);
    } else {
      others += (others.empty() ? "" : ", ") + bold(option.names.back());
    }
  }
  if (!others.empty()) out += fmt::format(".PP\nAlso, of several commands: {}.\n", others);
  for (const std::string& line : command.examples)
    out += fmt::format(".PP\n.nf\n.RS\n{} {}\n.RE\n.fi\n", roff(program.name), roff(line));
  return out;
}

std::string shared_section(const Shared& shared) {
  std::string out = ".SH OPTIONS OF SEVERAL COMMANDS\n";
  for (const OptionWords* option : shared.options) {
    out += paragraph(*option);
    out += fmt::format("Of {}.\n", roff(joined(shared.commands.at(Shared::key(*option)), ", ")));
  }
  return out;
}

std::string exit_section(const ProgramWords& program) {
  std::string out = ".SH EXIT STATUS\n";
  int last = -1;
  for (const ExitWords& status : program.exit_statuses) {
    out += status.number == last ? ".br\n" : fmt::format(".TP\n{}\n", bold(std::to_string(status.number)));
    out += roff(status.meaning) + "\n";
    last = status.number;
  }
  return out;
}

constexpr std::string_view kDescription = R"roff(.PP
Takes the arguments of
.B python \-m sglang.launch_server
for Intel GPUs, and says in milliseconds what SGLang refuses of them, what it changes, what will fail later, and whether
the decode kernel of the launch computes the right thing on the OpenCL device. Neither Python nor a GPU is needed.
.PP
Behind
.B \-\-
stand SGLang\(aqs own arguments, as they would be typed; behind
.B exec \-\-
a whole command.
)roff";

constexpr std::string_view kEnvironment = R"roff(.SH ENVIRONMENT
.TP
.B XPU_PREFLIGHT_CACHE_DIR
Where compiled OpenCL programs are kept; empty for nowhere. Default: ~/.cache/xpu\-preflight.
.TP
.B NO_COLOR
No colours, unless
.B \-\-color always
asks for them.
.TP
.BR HF_HOME ", " HF_HUB_CACHE
Where downloaded models lie, as for SGLang.
.TP
.BR ZE_AFFINITY_MASK ", " ONEAPI_DEVICE_SELECTOR ", " ZE_FLAT_DEVICE_HIERARCHY
Which cards of this machine count.
.TP
.B SGLANG_*
Counts with
.B \-\-use\-environment
and in
.BR exec .
)roff";

}  // namespace

std::string manual_page(const ProgramWords& program) {
  std::string title = program.name;
  std::ranges::transform(title, title.begin(), [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
  std::string out = fmt::format(
      ".\\\" Written by `{0} manual`; the options are those of the program.\n.TH {1} 1 \"\" \"{0} {2}\" \"User "
      "Commands\"\n"
      ".nh\n.ad l\n.SH NAME\n{3} \\- check SGLang launches for Intel GPUs before they start\n.SH SYNOPSIS\n"
      "\\fB{3}\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fB\\-\\-\\fR \\fISGLANG\\-ARGUMENTS\\fR]\n.SH DESCRIPTION\n{4}",
      program.name, roff(title), program.version, roff(program.name), kDescription.substr(kDescription.find('\n') + 1));
  const Shared shared = shared_options(program);
  out += ".SH COMMANDS\n";
  for (const CommandWords& command : program.commands) out += command_section(program, command, shared);
  out += shared_section(shared) + exit_section(program);
  out += kEnvironment;
  return out + ".SH SEE ALSO\n.BR clinfo (1)\n";
}

std::string exit_statuses_text(const std::vector<ExitWords>& statuses) {
  std::string out = "Exit status:\n";
  for (const ExitWords& status : statuses) out += fmt::format("{:>4}  {}\n", status.number, status.meaning);
  return out;
}

}  // namespace preflight::report
