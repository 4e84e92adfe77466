// ENTRYPOINT × CMD of the last stage, with ENV and ARG. Tested by tests/launch_command_test.cpp,
// tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/base/limits.h"
#include "src/sources/container_command.h"
#include "src/sources/container_host.h"
#include "src/sources/file_steps.h"
#include "src/sources/image_tag.h"
#include "src/sources/readers/misspelt_keys.h"
#include "src/sources/readers/readers.h"
#include "src/sources/readers/docker_ignore.h"
#include "src/sources/readers/variable_file.h"
#include "src/sources/shell/bash_only.h"

namespace preflight::sources {
namespace {

// Each value is read with all that it names, so that one which names itself twice is read more often than it is long.
constexpr std::size_t kMostBytes = limits::kVariableBytes / 8;

// The end of an instruction that begins at `from`: a line's end without a backslash; comments and empty lines inside
// belong to it.
std::size_t instruction_end(std::string_view text, std::size_t from) {
  for (const std::size_t start = from;;) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    if (end == text.size()) return end;
    std::string_view line = text.substr(from, end - from);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t')) line.remove_suffix(1);
    const auto first = line.find_first_not_of(" \t");
    const bool comment = first != std::string_view::npos && line[first] == '#';
    if (comment && from == start) return end;  // between instructions
    const bool empty = line.empty() && from != start;
    if (!comment && !empty && (line.empty() || line.back() != '\\')) return end;
    from = end + 1;
  }
}

// COPY FROM TO: from the folder of the Dockerfile, or from another image, of which nothing is known.
struct Copied {
  ShellWord from;
  std::string to;
  bool from_image = false;
  std::size_t runs = 0;  // of RUN that stand in front of it
};

struct Image {
  std::string base;
  std::vector<LaunchUnknown> unknown;  // that the base's release needs
  TakenDefaults defaults = {};         // that the base's name has
  std::optional<ShellText> entrypoint;
  std::optional<ShellText> command;
  bool own_command = false;  // CMD stands in this stage
  bool other_shell = false;  // SHELL
  Values env;
  Values arguments;                                // ARG of this stage, known while building only
  Values known = {};                               // both: what an instruction sees
  std::size_t bytes = 0;                           // of all values that were set
  std::map<std::string, ShellText> files;          // that here-documents of COPY wrote, by their paths
  std::map<std::string, std::string> places = {};  // of those that were copied: the file here
  struct Missing {
    std::string name;
    std::string left_out_by;
    std::size_t offset;
  };
  std::optional<Missing> missing = {};  // a script that its words run and that no COPY finds
  std::vector<Copied> copied = {};
  std::vector<std::string> altered = {};  // RUN: what may write to files
  std::string folder = "/";               // WORKDIR
};

// The here-documents of an instruction: `<<END`, `<<-END`, `<<"END"` outside quotes.
struct DocumentMark {
  std::string end;
  bool indented = false;
};

// A mark is a word of its own, behind a file descriptor or not; the shifts of $((1 << 2)) and $((1<<2)) are none.
bool begins_a_word(std::string_view text, std::size_t at) {
  while (at > 0 && std::isdigit(static_cast<unsigned char>(text[at - 1])) != 0) --at;
  return at == 0 || std::isspace(static_cast<unsigned char>(text[at - 1])) != 0;
}

std::vector<DocumentMark> document_marks(std::string_view text) {
  std::vector<DocumentMark> out;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'') {
      ++i;
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (text.substr(i).starts_with("<<<")) {
      i += 2;
    } else if (text.substr(i).starts_with("<<") && begins_a_word(text, i)) {
      DocumentMark mark;
      i += 2;
      if (i < text.size() && text[i] == '-') {
        mark.indented = true;
        ++i;
      }
      const char around = i < text.size() && (text[i] == '"' || text[i] == '\'') ? text[i] : '\0';
      if (around != '\0') ++i;
      while (i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_'))
        mark.end += text[i++];
      if (!mark.end.empty()) out.push_back(std::move(mark));
      if (around == '\0') --i;
    }
  }
  return out;
}

// The index behind the documents that begin at `from`; those without an end reach to the end of the text.
std::size_t behind_documents(std::string_view text, std::size_t from, const std::vector<DocumentMark>& marks) {
  for (const DocumentMark& mark : marks) {
    while (from < text.size()) {
      const std::size_t end = std::min(text.find('\n', from), text.size());
      std::string_view line = text.substr(from, end - from);
      from = std::min(end + 1, text.size());
      while (line.ends_with('\r')) line.remove_suffix(1);
      while (mark.indented && line.starts_with('\t')) line.remove_prefix(1);
      if (line == mark.end) break;
    }
  }
  return from;
}

// Without comments and empty lines inside, as Docker reads it.
ShellText instruction(std::string_view text, std::size_t from, std::size_t to) {
  ShellText out;
  for (std::size_t line = from; line < to;) {
    const std::size_t end = std::min(text.find('\n', line), to - 1) + 1;
    const auto first = text.find_first_not_of(" \t", line);
    const bool aside =
        line > from && (first >= end || text[first] == '#' || text[first] == '\r' || text[first] == '\n');
    if (!aside) append(out, piece(text, line, std::min(end, to)));
    line = end;
  }
  return out;
}

// At blanks outside quotes.
std::vector<ShellText> settings_of(const ShellText& rest) {
  std::vector<ShellText> out;
  char quote = '\0';
  std::size_t begin = 0;
  const auto close = [&](std::size_t end) {
    if (end > begin) out.push_back(slice(rest, begin, end));
    begin = end + 1;
  };
  for (std::size_t i = 0; i < rest.text.size(); ++i) {
    const char c = rest.text[i];
    if (c == '\\' && quote != '\'')
      ++i;
    else if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n' || c == '\r'))
      close(i);
    else if (c == quote)
      quote = '\0';
    else if (quote == '\0' && (c == '"' || c == '\''))
      quote = c;
  }
  close(rest.text.size());
  return out;
}

// Whether what an image sets and writes is within what is followed.
Result<bool> is_followed(const Image& image) {
  if (image.known.size() > limits::kVariables || image.bytes > kMostBytes)
    return failure("the variables and files of an image are longer than is followed");
  if (image.files.size() > limits::kImageFiles)
    return failure(
        fmt::format("more than {} files are written into an image: they are not followed", limits::kImageFiles));
  return true;
}

Result<bool> keep_variables(Image& image, bool env, const Values& set) {
  for (const auto& [name, value] : set) {
    image.bytes += weight(value);
    (env ? image.env : image.arguments).insert_or_assign(name, value);
    if (env || !image.env.contains(name)) image.known.insert_or_assign(name, value);
  }
  return is_followed(image);
}

tl::unexpected<Error> no_setting(const ShellText& word, const SourceText& source) {
  const LineColumn at = line_column(source.text, word.origin.front());
  return failure("docker refuses this ENV: each of its words is NAME=VALUE, and no comment stands behind them",
                 fmt::format("{}:{}", at.line, at.column));
}

// NAME=VALUE …, or NAME VALUE: what stands in one instruction does not see what it sets. `global` is what stands in
// front of the first FROM: a stage sees of it what it names itself.
Result<bool> set_variables(Image& image, bool env, const ShellText& rest, const SourceText& source,
                           const Values& global) {
  Values set;
  const std::vector<ShellText> settings = settings_of(rest);
  const bool spaced = env && !settings.empty() && settings.front().text.find('=') == std::string::npos;
  for (const ShellText& setting : spaced ? std::vector{rest} : settings) {
    if (setting.text.find_first_not_of("\\\r\n") == std::string::npos) continue;  // a line that goes on
    if (env && !spaced && setting.text.find('=') == std::string::npos) return no_setting(setting, source);
    if (const auto given = source.given.find(setting.text.substr(0, setting.text.find('=')));
        !env && given != source.given.end()) {  // --build-arg
      set.insert_or_assign(given->first,
                           ShellText{given->second, std::vector(given->second.size(), setting.origin.front()), {}});
      continue;
    }
    if (const auto named = global.find(setting.text); !env && named != global.end()) {
      set.insert_or_assign(named->first, named->second);
      continue;
    }
    auto parsed = parse_shell(setting, source.text, source.given, image.known);
    if (!parsed) return tl::make_unexpected(parsed.error());
    for (const ShellCommand& command : parsed->commands) {
      for (const ShellWord& word : command.assignments) {
        const auto equals = word.text.find('=');
        const std::string name = word.text.substr(0, equals);
        ShellText value = tail(word, equals + 1);
        set.insert_or_assign(name,
                             env ? std::move(value) : standing_in(std::move(value), name, setting.origin.front()));
      }
      if (!spaced || command.words.size() < 2) continue;
      ShellText value;
      for (std::size_t i = 1; i < command.words.size(); ++i) {
        if (i > 1) append(value, {" ", {command.words[i].begin}, {}});
        append(value, command.words[i]);
      }
      set.insert_or_assign(command.words[0].text, value);
    }
  }
  return keep_variables(image, env, set);
}

// A path of the image, as seen from `folder`.
std::string image_path(const std::string& folder, const std::string& path) {
  std::string out = (std::filesystem::path(folder) / path).lexically_normal().string();
  if (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

// COPY <<END PATH: a file of the image. Its text is read as `cat <<END` is, which expands what Docker expands.
Result<bool> keep_file(Image& image, const ShellText& whole, const SourceText& source) {
  auto parsed = parse_shell(whole, source.text, source.given, image.known);
  if (!parsed) return tl::make_unexpected(parsed.error());
  for (const ShellCommand& command : parsed->commands) {
    std::string path;
    for (const ShellWord& word : command.words) {
      if (!word.text.starts_with("--")) path = word.text;
    }
    if (command.input.size() != 1 || path.empty()) continue;
    image.files.insert_or_assign(image_path(image.folder, path), command.input.front());
  }
  return is_followed(image);
}

// Files that were written and that a COPY puts others in the place of.
void forget_covered(Image& image, const Copied& copy, const SourceText& source) {
  const std::string& from = copy.from.text;
  const std::string inside = copy.to == "/" ? "/" : copy.to + "/";
  std::erase_if(image.files, [&](const auto& file) {
    const std::string& path = file.first;
    if (path == copy.to) return true;
    if (!path.starts_with(inside)) return false;
    const std::string name = path.substr(inside.size());
    return copy.from_image || from.find('*') != std::string::npos || std::filesystem::path(from).filename() == name ||
           file_beside(source.name, from + "/" + name).has_value();
  });
}

// COPY and ADD of plain words; what a variable names is not followed.
void keep_copy(Image& image, const ShellText& rest, const SourceText& source) {
  std::vector<ShellWord> words;
  bool from_image = false;
  auto list = rest.text.empty() ? std::nullopt : json_words(source.text, rest.origin.front(), rest.origin.back() + 1);
  if (!list) list = plain_words(rest);
  for (ShellWord& word : *list) {
    from_image = from_image || word.text.starts_with("--from=");
    if (!word.text.starts_with("--")) words.push_back(std::move(word));
  }
  if (words.size() < 2) return;
  const std::string to = image_path(image.folder, words.back().text);
  const bool computed = to.find('$') != std::string::npos;
  for (std::size_t i = 0; i + 1 < words.size() && !computed; ++i) {
    image.copied.push_back({words[i], to, from_image, image.altered.size()});
    if (!words[i].text.starts_with("<<")) forget_covered(image, image.copied.back(), source);
  }
}

// What these lines of RUN do to a file with that name, but for who may run it.
bool alters(const std::string& run, const std::string& name) {
  for (auto at = run.find(name); at != std::string::npos; at = run.find(name, at + 1)) {
    const auto begin = run.find_last_of("&|;\n", at);
    std::string_view command = std::string_view(run).substr(begin == std::string::npos ? 0 : begin + 1);
    command.remove_prefix(std::min(command.find_first_not_of(" \t\\"), command.size()));
    if (!command.starts_with("chmod ") && !command.starts_with("chown ")) return true;
  }
  return false;
}

// Whether a command has to do with a file of that name, but for who may run it.
bool uses(const ShellCommand& command, const std::string& name) {
  const bool rights = !command.words.empty() && (command.words[0].text == "chmod" || command.words[0].text == "chown");
  return !rights && std::ranges::any_of(command.words, [&](const ShellWord& word) {
    return word.text.find(name) != std::string::npos;
  });
}

// `RUN <<END`, where a shell reads what stands in it: that text; another RUN is its own.
ShellText script_of_run(const ShellText& run) {
  const auto first = run.text.find_first_not_of(" \t");
  if (first == std::string::npos || !std::string_view(run.text).substr(first).starts_with("<<")) return run;
  const auto line = std::min(run.text.find('\n', first), run.text.size());
  const auto behind = std::min(run.text.find_first_of(" \t", first), line);
  const auto program = run.text.find_first_not_of(" \t\r", behind);
  const std::string name = program < line ? run.text.substr(program, line - program) : std::string();
  const auto last = run.text.rfind('\n', run.text.size() < 2 ? 0 : run.text.size() - 2);
  const bool read = (name.empty() || is_shell(name)) && last != std::string::npos && last > line;
  return read ? slice(run, line + 1, last + 1) : ShellText{};
}

// Whether the command puts what it prints behind what the file of its output holds.
bool appends(const ShellCommand& writer, std::string_view text) {
  const std::string_view behind = text.substr(std::min(writer.begin, text.size()));
  const std::string_view line = behind.substr(0, behind.find('\n'));
  for (auto file = line.find(writer.output); file != line.npos; file = line.find(writer.output, file + 1)) {
    const auto sign = file == 0 ? line.npos : line.find_last_not_of(" \t\"'", file - 1);
    if (sign != line.npos && sign > 0 && line[sign] == '>') return line[sign - 1] == '>';
  }
  return false;
}

// What a command of RUN writes into a file that may be a script; `before`: the files in front of that RUN.
void take_written(Image& image, const std::map<std::string, ShellText>& before, const ShellCommand& writer,
                  const SourceText& source) {
  const std::string path = image_path(image.folder, writer.output);
  ShellText text = writer.input.front();
  if (appends(writer, source.text)) {
    const bool changed = image.files.contains(path);
    const auto& files = changed ? image.files : before;
    const auto old = files.find(path);
    if (old == files.end()) return;  // a file of the base image, or none
    text = old->second;
    append(text, writer.input.front());
  }
  const bool script =
      text.text.starts_with("#!") || path.ends_with(".sh") || text.text.find("sglang") != text.text.npos;
  if (!script) return;
  image.bytes += text.text.size();
  image.files.insert_or_assign(path, std::move(text));
}

// Scripts that a RUN writes: `cat > FILE <<END`, `echo … > FILE`, `echo … >> FILE`, with the variables of the build.
// What it may change otherwise is not known any longer.
Result<bool> keep_written(Image& image, const ShellText& whole, const SourceText& source) {
  const auto before = image.files;
  std::erase_if(image.files, [&](const auto& file) {
    return alters(whole.text, std::filesystem::path(file.first).filename().string());
  });
  const ShellText run = script_of_run(whole);
  constexpr auto kBranches = std::to_array<std::string_view>({"||", "if ", "for ", "while ", "case "});
  const bool open =
      std::ranges::any_of(kBranches, [&](std::string_view word) { return run.text.find(word) != std::string::npos; });
  if (run.text.find('>') == std::string::npos || (open && run.text.find(">>") != std::string::npos)) return true;
  auto parsed = parse_shell(run, source.text, source.given, image.known);
  if (!parsed) return true;  // what is no shell text writes nothing that is known
  for (const ShellCommand& writer : parsed->commands) {
    if (writer.output.empty() || writer.output == "|" || writer.input.size() != 1) continue;
    const std::string name = std::filesystem::path(writer.output).filename().string();
    const bool alone = std::ranges::none_of(
        parsed->commands, [&](const ShellCommand& other) { return &other != &writer && uses(other, name); });
    if (!alone) continue;
    take_written(image, before, writer, source);
    if (auto done = is_followed(image); !done) return done;
  }
  return true;
}

// `docker build -f FOLDER/Dockerfile .` copies from further up in the repository: where a file of that name lies there,
// too, nobody knows which one is meant.
bool lies_further_up(std::string_view dockerfile, const std::string& place) {
  namespace fs = std::filesystem;
  std::error_code error;
  bool found = false;
  for (fs::path folder = fs::absolute(dockerfile, error).parent_path(); !error && folder.has_relative_path();) {
    if (fs::exists(folder / ".git", error)) return found;
    folder = folder.parent_path();
    found = found || fs::exists(folder / place, error);
  }
  return false;  // in no repository
}

// A script that lies beside the Dockerfile and is copied to `path` of the image; all of it is told where the COPY names
// it. None where another image may have put something there, or a RUN may have written to it.
struct CopiedScript {
  ShellText text;
  std::string place;                            // of the file here
  std::optional<std::string> left_out_by = {};  // .dockerignore: no COPY finds it
};
std::optional<CopiedScript> copied_script(const Image& image, const std::string& path, const SourceText& source) {
  namespace fs = std::filesystem;
  const std::string name = fs::path(path).filename().string();
  const std::string like = "*" + fs::path(path).extension().string();
  const auto changed = std::find_if(image.altered.rbegin(), image.altered.rend(),
                                    [&](const std::string& run) { return alters(run, name) || alters(run, like); });
  const auto runs = static_cast<std::size_t>(image.altered.rend() - changed);  // up to the last that changes it
  for (auto copy = image.copied.rbegin(); copy != image.copied.rend() && copy->runs >= runs; ++copy) {
    const std::string& from = copy->from.text;
    const std::string inside = copy->to == "/" ? "/" : copy->to + "/";
    const bool same_name = fs::path(from).filename() == name;
    std::vector<std::string> places;
    if (path == copy->to || (path == inside + name && same_name)) places.push_back(from);
    if (path.starts_with(inside)) places.push_back((fs::path(from) / path.substr(inside.size())).string());
    if (copy->from_image && (path == copy->to || same_name || from.ends_with('/'))) return std::nullopt;
    for (const std::string& place : places) {
      if (copy->from_image || fs::path(place).is_absolute() || place.find("..") != std::string::npos) continue;
      auto text = file_beside(source.name, place);
      if (!text) continue;
      if (lies_further_up(source.name, place)) return std::nullopt;
      const std::size_t size = text->size();
      return CopiedScript{{std::move(*text), std::vector<std::size_t>(size, copy->from.begin), {}},
                          (fs::path(place_of_file(source.name)).parent_path() / place).lexically_normal().string(),
                          left_out_of_image(source.name, place)};
    }
  }
  return std::nullopt;
}

// Scripts that these words may run, as the program or as a shell's file, join those of the image.
void bring_scripts(Image& image, const std::vector<ShellWord>& words, const SourceText& source) {
  constexpr std::array<std::string_view, 3> kSearched = {"/usr/local/bin", "/usr/bin", "/bin"};
  for (std::size_t i = 0; i < words.size() && i < 3; ++i) {
    const std::string& word = words[i].text;
    if (i > 0 && word.starts_with('-')) continue;
    if (i == 0 && is_shell(word)) continue;
    if (word.empty() || word.find('$') != std::string::npos || image.files.contains(word)) return;
    std::vector<std::string> paths;
    if (i > 0 || word.find('/') != std::string::npos) {
      paths.push_back(image_path(image.folder, word));
    } else {
      for (const auto folder : kSearched) paths.push_back(std::string(folder) + "/" + word);
    }
    for (const std::string& path : paths) {
      if (const auto own = image.files.find(path); own != image.files.end()) {
        image.files.insert_or_assign(word, own->second);
        return;
      }
      auto script = copied_script(image, path, source);
      if (!script) continue;
      const std::string& text = script->text.text;
      const bool shell = !text.starts_with("#!") || text.substr(0, text.find('\n')).find("sh") != std::string::npos;
      if (shell && script->left_out_by)
        image.missing = {std::filesystem::path(script->place).filename().string(), *script->left_out_by,
                         words[i].begin};
      if (shell) image.places.insert_or_assign(word, script->place);
      if (shell) image.files.insert_or_assign(word, std::move(script->text));
      return;
    }
    return;
  }
}

// The script of `files` that these words run: as the program, or handed to a shell; its index.
std::optional<std::size_t> script_among(const std::map<std::string, ShellText>& files,
                                        const std::vector<ShellWord>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (files.contains(words[i].text)) return i;
    if (i > 0 ? !words[i].text.starts_with('-') : !is_shell(words[i].text)) return std::nullopt;
  }
  return std::nullopt;
}

// Of what a stage hands to one that is built on it.
std::size_t weight(const Image& image) {
  std::size_t bytes = image.bytes;
  for (const auto& [path, text] : image.files) bytes += path.size() + text.text.size();
  for (const Copied& copy : image.copied) bytes += copy.from.text.size() + copy.to.size();
  for (const std::string& run : image.altered) bytes += run.size();
  for (const auto* part : {&image.entrypoint, &image.command}) bytes += *part ? (*part)->text.size() : 0;
  return bytes;
}

// FROM IMAGE AS NAME: an image nobody here knows, or an earlier stage.
Result<bool> begin_stage(const ShellText& rest, const Values& global, Image& image,
                         std::map<std::string, Image>& stages, std::string& stage, const SourceText& source) {
  if (!stage.empty()) stages.insert_or_assign(stage, image);
  std::vector<ShellWord> words;
  for (ShellWord& word : plain_words(rest)) {
    if (!word.text.starts_with("--")) words.push_back(std::move(word));
  }
  stage = words.size() > 2 ? ascii_lower(words[2].text) : std::string();  // whatever its letters are
  image = Image{};
  if (words.empty()) return true;
  auto base = interpolate(words[0], Interpolation::kCompose, source.text, source.given, global);
  if (!base) return tl::make_unexpected(base.error());
  if (const auto known = stages.find(ascii_lower(base->text)); known != stages.end()) {
    // Twice: such a stage is kept for others, too.
    if (!FileSteps::take_bytes(2 * weight(known->second))) return failure(FileSteps::kNoMore);
    image = known->second;
    image.arguments.clear();
    image.known = image.env;
    image.own_command = false;
    return true;
  }
  image.base = base->unknowns.empty() ? base->text : words[0].text;
  image.defaults = base->defaults;
  if (!release_of_image(base->text).empty()) return true;
  for (const Unknown& unknown : base->unknowns) image.unknown.push_back({unknown.message, unknown.offset, {}});
  return true;
}

// What the last stage starts: its entry point with its command, or a script that a COPY wrote.
// An entry point without a model is made to be given one: `docker run IMAGE --model-path …`.
void take_words_of_start(std::vector<ShellWord>& words, const Variables& given) {
  const auto names_model = [](const ShellWord& word) {
    return word.text.find("--model") != std::string::npos || word.text.find("--config") != std::string::npos;
  };
  if (words.empty() || std::ranges::any_of(words, names_model)) return;
  const std::size_t at = words.back().begin;
  if (const auto set = given.find("@"); set != given.end()) {
    for (ShellWord& word : plain_words({set->second, std::vector<std::size_t>(set->second.size(), at), {}}))
      words.push_back(std::move(word));
    return;
  }
  const std::string why =
      fmt::format("what this image is started with is not known here; give it with {}", how_to_set("@"));
  words.push_back({unknown_text(why, at), at, at, true});
}

// The words of an instruction in exec form, comments and empty lines inside left out; nullopt: a text.
std::optional<std::vector<ShellWord>> exec_form(const ShellText& part) {
  auto list = json_words(part.text, 0, part.text.size());
  if (!list) return std::nullopt;
  for (ShellWord& word : *list) {
    for (std::size_t& at : word.origin) at = part.origin[at];
    word.begin = part.origin[word.begin];
    word.end = part.origin[word.end];
  }
  return list;
}

// A list of words with other quotes, or with a comma behind its last one. `[ "$X" = 1 ]` is a test.
bool is_no_json(const ShellText& part) {
  const auto first = part.text.find_first_not_of(" \t", 1);
  if (!part.text.starts_with('[') || first == std::string::npos) return false;
  if (part.text[first] != '\'' && part.text[first] != '"') return false;
  const auto close = part.text.find(part.text[first], first + 1);
  const auto behind = close == std::string::npos ? close : part.text.find_first_not_of(" \t", close + 1);
  return behind != std::string::npos && part.text[behind] == ',';
}

Result<bool> run_image(Image& image, const SourceText& source, LaunchFinder& finder) {
  RunContext context{
      .env = image.env, .image = image.base, .unknown = image.unknown, .defaults = image.defaults, .elsewhere = true};
  keep_own_files(context.host);
  std::vector<ShellWord> words;
  for (const auto* part : {&image.entrypoint, &image.command}) {
    if (!*part || (*part)->text.empty()) continue;
    const std::size_t begin = (*part)->origin.front();
    if (auto list = exec_form(**part)) {
      words.insert(words.end(), list->begin(), list->end());
      continue;
    }
    if (is_no_json(**part)) {
      const LineColumn at = finder.place(begin);
      return failure(
          "this list of words is no JSON (words stand in double quotes, and no comma behind the last one): docker "
          "hands "
          "it to a shell as it stands, which finds no such program",
          fmt::format("{}:{}", at.line, at.column));
    }
    if (part == &image.command && image.entrypoint) {  // sh -c TEXT, handed to the entry point
      words.push_back({{"/bin/sh", {begin, begin, begin, begin, begin, begin, begin}, {}}, begin, begin});
      words.push_back({{"-c", {begin, begin}, {}}, begin, begin});
      words.push_back({**part, begin, (*part)->origin.back() + 1});
      continue;
    }
    std::vector<ShellWord> plain = plain_words(**part);
    if (!plain.empty() && plain.front().text == "exec") plain.erase(plain.begin());
    bring_scripts(image, plain, source);
    if (const auto at = script_among(image.files, plain)) {
      constexpr std::string_view kOfShell = "$&|;<>`*?~()#!";
      if ((*part)->text.find_first_of(kOfShell) == std::string::npos) {
        words = std::move(plain);
        break;
      }
      context.files = std::make_shared<const std::map<std::string, ShellText>>(image.files);
      finder.account(image.files.at(plain[*at].text));
    }
    if (!image.other_shell) ask_of_sh(**part, context.unknown);
    if (auto done = finder.script(**part, context); !done) return done;
    return true;  // a shell is the entry point: nothing is handed to it
  }
  bring_scripts(image, words, source);
  if (image.missing) {
    const LineColumn at = finder.place(image.missing->offset);
    return failure(fmt::format("{} is left out of the image by {}: its COPY does not find it", image.missing->name,
                               image.missing->left_out_by),
                   fmt::format("{}:{}", at.line, at.column));
  }
  if (const auto at = script_among(image.files, words)) {
    context.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(*at) + 1, words.end());
    context.arguments_known = image.command.has_value() || !context.arguments.empty();
    for (const ShellWord& word : words) finder.account(word);
    if (const auto place = image.places.find(words[*at].text); place != image.places.end())
      context.stands_in = place->second;
    const ShellText& script = image.files.at(words[*at].text);
    if (*at == 0 && begins_for_sh(script.text)) ask_of_sh(script, context.unknown);
    return finder.script(script, context);
  }
  if (!words.empty() && words.front().text.starts_with("--") && may_be_for_server(words, 0, image.base)) {
    context.unknown.push_back(
        {"the base image's entry point takes these words, and nobody knows here what it is", words.front().begin, {}});
    finder.arguments(words, context);
    return true;
  }
  if (!image.command) take_words_of_start(words, source.given);
  finder.words(words, context);
  return true;
}

}  // namespace

ShellText piece(std::string_view text, std::size_t from, std::size_t to) {
  ShellText out;
  out.text = text.substr(from, to - from);
  for (std::size_t i = from; i < to; ++i) out.origin.push_back(i);
  return out;
}

// The exec form is JSON: double quotes only.
std::optional<std::vector<ShellWord>> json_words(std::string_view text, std::size_t from, std::size_t to) {
  std::vector<ShellWord> out;
  std::size_t i = from;
  const auto skip = [&] {
    while (i < to && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r' ||
                      (text[i] == '\\' && i + 1 < to && (text[i + 1] == '\n' || text[i + 1] == '\r')))) {
      ++i;
    }
  };
  skip();
  if (i >= to || text[i] != '[') return std::nullopt;
  ++i;
  skip();
  if (i < to && text[i] == ']') return out;
  for (;;) {
    skip();
    if (i >= to || text[i] != '"') return std::nullopt;
    ShellWord word;
    word.begin = ++i;
    for (; i < to && text[i] != '"'; ++i) {
      char c = text[i];
      const std::size_t at = i;
      if (c == '\\') {
        if (++i >= to) return std::nullopt;
        constexpr std::string_view kFrom = "nt\"\\/rbf";
        constexpr std::string_view kTo = "\n\t\"\\/\r\b\f";
        const auto which = kFrom.find(text[i]);
        if (text[i] == '\n') continue;  // a line continued inside a text
        if (which == std::string_view::npos) return std::nullopt;
        c = kTo[which];
      }
      word.text += c;
      word.origin.push_back(at);
    }
    if (i >= to) return std::nullopt;
    word.end = i++;
    out.push_back(std::move(word));
    skip();
    if (i < to && text[i] == ']') return out;
    if (i >= to || text[i] != ',') return std::nullopt;
    ++i;
  }
}

namespace {

// Where an instruction begins that docker does not know and that is one letter from one that is read; `said`: of all.
void find_misspelt(std::string_view text, std::size_t begin, std::size_t behind, const std::string& word,
                   std::vector<ShellNote>* said) {
  using Names = std::string_view;
  constexpr std::array kRead = {Names("ADD"), Names("ARG"),  Names("CMD"), Names("COPY"),   Names("ENTRYPOINT"),
                                Names("ENV"), Names("FROM"), Names("RUN"), Names("WORKDIR")};
  const bool ends = behind < text.size() && (text[behind] == ' ' || text[behind] == '\t');
  if (said == nullptr || !ends || said->size() >= kMostMisspelt) return;
  const std::string_view written = text.substr(begin, behind - begin);
  const std::string_view meant = meant_key(word, {"", kRead});
  if (meant.empty() || written != word) return;  // in small letters it may be a line of a script that was cut off
  said->push_back({"SH007", fmt::format("{} is no instruction of a Dockerfile; did you mean {}?", word, meant), begin});
}

// What a RUN installs of SGLang, with the values that it sees.
std::string with_values(const std::string& run, Image& image, const SourceText& source) {
  std::string out;
  for (std::size_t from = 0; from < run.size();) {
    const std::size_t end = std::min(run.find_first_of(" \t\n", from), run.size());
    const std::string word(run.substr(from, end - from));
    out += word;
    if (word.find("sglang") != word.npos && word.find('$') != word.npos) {
      const ShellWord written{{word, std::vector<std::size_t>(word.size(), 0), {}}, 0, 0};
      const auto read = interpolate(written, Interpolation::kCompose, source.text, source.given, image.known);
      if (read && read->unknowns.empty()) {
        out.replace(out.size() - word.size(), word.size(), read->text);
        add_defaults(image.defaults, read->defaults);
      }
    }
    out += run.substr(end, 1);
    from = end + 1;
  }
  return out;
}

// Dockerfile, as far as it was read.
struct Build {
  Image image = {};
  std::map<std::string, Image> stages = {};
  std::string stage = {};  // its name, if it has one
  std::size_t count = 0;   // of stages
  Values global = {};      // ARG in front of the first FROM
  struct Start {           // what names a launch and may not count in the end
    ShellText text;
    std::size_t stage;
    std::string name;
    bool later;  // ONBUILD
  };
  std::vector<Start> starts = {};
  std::string installs = {};  // every RUN, with the values that it sees
};

// One instruction but for FROM; `rest`: what stands behind its name, `text` that with its here-documents.
Result<bool> take_instruction(const std::string& word, const ShellText& rest, const ShellText& text, Build& build,
                              const SourceText& source) {
  Image& image = build.image;
  if (word == "COPY" || word == "ADD") keep_copy(image, rest, source);
  if (word == "RUN") {
    image.altered.emplace_back(text.text);
    build.installs += with_values(text.text, image, source) + "\n";
    return keep_written(image, text, source);
  }
  if (word == "SHELL") image.other_shell = rest.text.find("/sh\"") == std::string::npos;
  if (word == "WORKDIR") {
    image.folder = image_path(image.folder, rest.text);
    if (image.folder.size() >= PATH_MAX) return failure("the folders of WORKDIR come to more than a path may have");
  }
  const bool later = word == "ONBUILD";
  if (word == "ENTRYPOINT" || word == "CMD" || later) {
    if (rest.text.find("sglang") != std::string::npos) build.starts.push_back({rest, build.count, build.stage, later});
  }
  if (word == "ENTRYPOINT") {
    image.entrypoint = rest;
    if (!image.own_command) image.command.reset();  // one of the base does not count any longer
  } else if (word == "CMD") {
    image.command = rest;
    image.own_command = true;
  } else if (word == "ENV" || word == "ARG") {
    return set_variables(image, word == "ENV", rest, source, build.global);
  }
  return true;
}

// Launches that the image does not start.
void tell_idle_starts(const Build& build, std::vector<ShellNote>& said) {
  constexpr std::size_t kMost = 20;
  const auto begins = [](const std::optional<ShellText>& part) {
    return part && !part->origin.empty() ? part->origin.front() : std::string::npos;
  };
  for (const Build::Start& start : build.starts) {
    const std::size_t at = start.text.origin.front();
    if (at == begins(build.image.entrypoint) || at == begins(build.image.command) || said.size() >= kMost) continue;
    std::string what = "another one behind it takes its place: this image does not start it";
    if (start.later)
      what = "ONBUILD: an image that is built from this one starts it; give that image's command";
    else if (start.stage != build.count && start.name.empty())
      what = "this stage is not the last: no image is made of it but by its number (--target)";
    else if (start.stage != build.count)
      what = fmt::format("the stage {0} is not the last: `--target {0}` makes an image of it; give its command",
                         start.name);
    said.push_back({"SH004", std::move(what), at});
  }
}

// Behind the here-documents of an instruction that ends at `end`; those of COPY are files of the image.
Result<std::size_t> behind_files(const std::string& word, const ShellText& rest, std::size_t begin, std::size_t end,
                                 Build& build, const SourceText& source) {
  const bool copies = word == "COPY" || word == "ADD";
  const auto marks = copies || word == "RUN" ? document_marks(rest.text) : std::vector<DocumentMark>();
  if (marks.empty()) return end + 1;
  const std::size_t behind = behind_documents(source.text, std::min(end + 1, source.text.size()), marks);
  if (!copies || marks.size() != 1) return behind;
  auto done = keep_file(build.image, piece(source.text, begin, behind), source);
  return done ? Result<std::size_t>(behind) : tl::make_unexpected(done.error());
}

// Whether the stage at hand is the one that is asked for, by its name or its number.
bool is_target(const Build& build, std::string_view target) {
  return build.count > 0 && !target.empty() &&
         (build.stage == ascii_lower(target) || std::to_string(build.count - 1) == target);
}

// Up to the last stage, or the one that is asked for; `said`: what is misspelt, or not started, on the way.
Result<Build> read_build(const SourceText& source, std::vector<ShellNote>* said = nullptr,
                         std::string_view target = {}) {
  const std::string_view text = source.text;
  Build build;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = instruction_end(text, from);
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r", from), end);
    std::size_t behind = begin;
    while (behind < end && std::isalpha(static_cast<unsigned char>(text[behind])) != 0) ++behind;
    const std::string word = ascii_upper(text.substr(begin, behind - begin));
    const std::size_t rest_from = std::min(text.find_first_not_of(" \t", behind), end);
    const ShellText rest = instruction(text, rest_from, end);
    find_misspelt(text, begin, behind, word, said);
    const auto next = behind_files(word, rest, begin, end, build, source);
    if (!next) return tl::make_unexpected(next.error());
    from = *next;
    if (word != "FROM") {
      const bool documents = word == "RUN" && from > end + 1;
      const ShellText whole = documents ? piece(text, rest_from, std::min(from, text.size())) : rest;
      if (auto done = take_instruction(word, rest, whole, build, source); !done)
        return tl::make_unexpected(done.error());
      continue;
    }
    if (is_target(build, target)) break;
    if (build.count++ == 0) build.global = std::move(build.image.arguments);
    auto done = begin_stage(rest, build.global, build.image, build.stages, build.stage, source);
    if (!done) return tl::make_unexpected(done.error());
  }
  if (!target.empty() && !is_target(build, target)) return failure("no stage has that name");
  if (said != nullptr) tell_idle_starts(build, *said);
  return build;
}

ShellText put_at(std::size_t place, ShellText text) {
  text.origin.assign(text.text.size(), place);
  for (Unknown& unknown : text.unknowns) unknown.offset = place;
  text.defaults.reset();
  return text;
}

// The exec form as its words; a text is for a shell.
std::vector<ShellWord> words_of(const ShellText& part, std::size_t place) {
  std::vector<ShellWord> out;
  auto list = exec_form(part);
  if (!list) list = std::vector<ShellWord>{{{"/bin/sh"}}, {{"-c"}}, {part}};
  for (const ShellWord& word : *list) out.push_back({put_at(place, word), place, place + 1});
  return out;
}

}  // namespace

std::optional<ImageStart> image_start(const SourceText& dockerfile, std::size_t place, std::string_view target) {
  const auto build = read_build(dockerfile, nullptr, target);
  if (!build) return std::nullopt;
  const Image& image = build->image;
  ImageStart out;
  if (image.entrypoint && !image.entrypoint->text.empty()) {
    out.entrypoint = words_of(*image.entrypoint, place);
    out.takes_words = exec_form(*image.entrypoint).has_value();
  }
  if (image.command && !image.command->text.empty()) out.command = words_of(*image.command, place);
  for (const auto& [name, value] : image.env) out.env.emplace(name, put_at(place, value));
  out.base = image.base;
  for (const LaunchUnknown& unknown : image.unknown) out.unknown.push_back({unknown.what, place, {}});
  return out;
}

namespace {

// Directives stand in comments above everything else.
bool is_continued_otherwise(std::string_view text) {
  for (std::size_t from = 0; from < text.size() && text[from] == '#';) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string line = ascii_lower(text.substr(from + 1, end - from - 1));
    std::erase_if(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    if (line == "escape=`") return true;
    if (line.find('=') == std::string::npos) return false;  // a comment: directives end there
    from = end + 1;
  }
  return false;
}

}  // namespace

Result<bool> read_dockerfile(const SourceText& source, LaunchFinder& finder) {
  if (is_continued_otherwise(source.text))
    return failure("a backquote continues its lines (# escape=), which is not followed; write it with \\", "1:1");
  std::vector<ShellNote> said;
  auto build = read_build(source, &said);
  if (!build) return tl::make_unexpected(build.error());
  finder.installs(std::move(build->installs));
  auto done = run_image(build->image, source, finder);
  for (const ShellNote& note : said) {
    if (note.rule == "SH004")
      finder.note(note);
    else
      finder.tell(note, 0, source.text.size());
  }
  return done;
}

}  // namespace preflight::sources
