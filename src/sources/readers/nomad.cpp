// Nomad's jobs: tasks with their command, arguments and variables, and the scripts that their templates write. What a
// job says of itself (variables with a default, locals) is filled in; what Nomad knows alone is not known. Tested by
// tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/container_command.h"
#include "src/sources/readers/misspelt_keys.h"
#include "src/sources/readers/nomad.h"

namespace preflight::sources {
namespace {

struct Value {
  enum class Kind { kText, kList, kMap } kind = Kind::kText;
  ShellWord text = {};
  std::vector<Value> items = {};
  std::vector<std::pair<std::string, Value>> pairs = {};
  std::size_t key = 0;  // where that of an attribute stands
};

struct Block {
  std::string type = {};
  std::vector<std::string> labels = {};
  std::vector<std::pair<std::string, Value>> attributes = {};
  std::vector<Block> blocks = {};
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] const Value* attribute(std::string_view name) const {
    const auto found =
        std::find_if(attributes.begin(), attributes.end(), [&](const auto& a) { return a.first == name; });
    return found == attributes.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const Block* block(std::string_view name) const {
    const auto found = std::find_if(blocks.begin(), blocks.end(), [&](const Block& b) { return b.type == name; });
    return found == blocks.end() ? nullptr : &*found;
  }
};

bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

// The configuration language of HashiCorp, as far as jobs use it. What is computed is kept as a text that is not known.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Block all() {
    Block out;
    body(out, 0);
    return out;
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void skip(bool lines = true) {
    while (at_ < text_.size()) {
      if (peek() == '#' || (peek() == '/' && peek(1) == '/')) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (peek() == '/' && peek(1) == '*') {
        at_ = std::min(text_.find("*/", at_), text_.size() - 2) + 2;
      } else if (peek() == ' ' || peek() == '\t' || peek() == '\r' || (lines && (peek() == '\n' || peek() == ';'))) {
        ++at_;
      } else {
        return;
      }
    }
  }
  std::string name() {
    const std::size_t from = at_;
    while (name_character(peek())) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }

  void body(Block& out, int depth) {
    while (!failed_) {
      skip();
      if (at_ >= text_.size() || peek() == '}') return;
      if (depth > limits::kNomadDepth || ++parts_ > limits::kNomadParts) break;
      const std::size_t begin = at_;
      std::string key = peek() == '"' ? text().text : name();
      if (key.empty()) break;
      Block block{.type = key, .begin = begin};
      for (skip(false); peek() == '"' || name_character(peek()); skip(false))
        block.labels.push_back(peek() == '"' ? text().text : name());
      if (peek() == '{') {
        ++at_;
        body(block, depth + 1);
        if (peek() != '}') break;
        block.end = ++at_;
        out.blocks.push_back(std::move(block));
      } else if (peek() == '=' && block.labels.empty()) {
        ++at_;
        out.attributes.emplace_back(std::move(key), value(depth + 1));
        out.attributes.back().second.key = begin;
      } else {
        break;
      }
    }
    failed_ = true;
  }

  void items(Value& out, int depth) {
    out.kind = Value::Kind::kList;
    ++at_;
    for (skip(); at_ < text_.size() && peek() != ']' && !failed_; skip()) {
      out.items.push_back(value(depth + 1));
      skip();
      if (peek() == ',') ++at_;
    }
    ++at_;
  }

  void pairs(Value& out, int depth) {
    out.kind = Value::Kind::kMap;
    ++at_;
    for (skip(); at_ < text_.size() && peek() != '}' && !failed_; skip()) {
      std::string key = peek() == '"' ? text().text : name();
      skip();
      if (key.empty() || (peek() != '=' && peek() != ':')) failed_ = true;
      ++at_;
      out.pairs.emplace_back(std::move(key), value(depth + 1));
      skip();
      if (peek() == ',') ++at_;
    }
    ++at_;
  }

  Value value(int depth) {
    skip(false);
    Value out;
    if (depth > limits::kNomadDepth || ++parts_ > limits::kNomadParts) failed_ = true;
    if (failed_) return out;
    const std::size_t from = at_;
    if (peek() == '[') {
      items(out, depth);
    } else if (peek() == '{') {
      pairs(out, depth);
    } else if (peek() == '"') {
      out.text = text();
    } else if (peek() == '<' && peek(1) == '<') {
      out.text = here_document();
    } else {
      name();
    }
    if (failed_) return out;
    skip(false);
    const bool ends = at_ >= text_.size() || std::string_view("\n,]};").find(peek()) != std::string_view::npos;
    const bool plain = ends && out.kind == Value::Kind::kText && out.text.end == 0;
    if (plain) {  // a number, true, var.NAME
      static_cast<ShellText&>(out.text) = piece(text_, from, at_);
      while (!out.text.text.empty() && (out.text.text.back() == ' ' || out.text.text.back() == '\r'))
        static_cast<ShellText&>(out.text) = slice(out.text, 0, out.text.text.size() - 1);
      out.text.begin = from;
      out.text.end = from + out.text.text.size();
      const auto dot = out.text.text.find('.');
      const bool number =
          !out.text.text.empty() && out.text.text.find_first_not_of("0123456789.-+eE") == std::string::npos;
      if (number && !is_written_out(out.text.text)) return computed_by_nomad(from, out);
      const bool reference = dot != std::string::npos && !number;
      if (reference) reference_at(out.text, from);
    } else if (!ends) {
      computed(from, out);
    }
    return out;
  }

  // var.NAME outside quotes is ${var.NAME}.
  static void reference_at(ShellWord& word, std::size_t at) {
    word.text = "${" + word.text + "}";
    word.origin.assign(word.text.size(), at);
  }

  // Whether a number is handed on as it is written: 1.50 is 1.5, and 1e3 is 1000.
  static bool is_written_out(std::string_view number) {
    if (number.starts_with('-')) number.remove_prefix(1);
    const auto dot = number.find('.');
    const std::string_view front = number.substr(0, dot);
    const bool plain = number.find_first_not_of("0123456789.") == std::string_view::npos &&
                       number.find('.', std::min(dot, number.size() - 1) + 1) == std::string_view::npos;
    const bool whole = !front.empty() && (front == "0" || front[0] != '0');
    return plain && whole && (dot == std::string_view::npos || (dot + 1 < number.size() && number.back() != '0'));
  }

  // A call, an operator: up to the end of it.
  void computed(std::size_t from, Value& out) {
    int open = 0;
    while (at_ < text_.size()) {
      const char c = peek();
      if (open == 0 && (c == '\n' || c == ',' || c == ']' || c == '}')) break;
      if (c == '"') {
        text();
        if (failed_) return;
        continue;
      }
      open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
      ++at_;
    }
    (void)computed_by_nomad(from, out);
  }

  Value computed_by_nomad(std::size_t from, Value& out) {
    constexpr std::size_t kShown = 60;
    out = {};
    out.text = {unknown_text(fmt::format("{} is computed by Nomad: put the value in its place",
                                         text_.substr(from, std::min(at_ - from, kShown))),
                             from),
                from, at_};
    return out;
  }

  ShellWord text() {
    ShellWord out{{}, at_, 0};
    int open = 0;  // ${…}, which may hold quotes
    for (++at_; at_ < text_.size() && (peek() != '"' || open > 0); ++at_) {
      if (peek() == '\n') break;
      if (peek() == '\\' && open == 0) {
        const std::size_t from = ++at_;
        const std::string character = escaped();
        append(out, {character, std::vector<std::size_t>(character.size(), from), {}});
        continue;
      }
      if (peek() == '$' && peek(1) == '{' && !(at_ > 0 && text_[at_ - 1] == '$')) ++open;
      if (peek() == '}' && open > 0) --open;
      append(out, piece(text_, at_, at_ + 1));
    }
    if (peek() != '"') failed_ = true;
    out.end = ++at_;
    return with_directives(std::move(out));
  }

  // What stands behind a backslash: \n, \", \u00e9. Nomad refuses any other.
  std::string escaped() {
    constexpr std::string_view kLetters = "ntr\"\\";
    constexpr std::string_view kMeant = "\n\t\r\"\\";
    const std::size_t digits = peek() == 'u' ? 4 : peek() == 'U' ? 8 : 0;
    const std::string_view code = text_.substr(std::min(at_ + 1, text_.size()), digits);
    const bool is_code = digits > 0 && code.size() == digits &&
                         code.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
    if (is_code) {
      at_ += digits;
      return utf8_of(static_cast<std::uint32_t>(std::stoul(std::string(code), nullptr, 16)));
    }
    const auto letter = kLetters.find(peek());
    if (at_ >= text_.size() || letter == std::string_view::npos) failed_ = true;
    return failed_ ? std::string() : std::string(1, kMeant[letter]);
  }

  static std::string utf8_of(std::uint32_t code) {
    const auto byte = [](std::uint32_t bits) { return static_cast<char>(bits); };
    const auto behind = [&](int shift) { return byte(0x80U | ((code >> static_cast<unsigned>(shift)) & 0x3FU)); };
    if (code < 0x80U) return {byte(code)};
    if (code < 0x800U) return {byte(0xC0U | (code >> 6U)), behind(0)};
    if (code < 0x10000U) return {byte(0xE0U | (code >> 12U)), behind(6), behind(0)};
    return {byte(0xF0U | ((code >> 18U) & 7U)), behind(12), behind(6), behind(0)};
  }

  // %%{ is %{, and %{ … } decides something.
  static ShellWord with_directives(ShellWord word) {
    ShellWord out{{}, word.begin, word.end};
    std::size_t from = 0;
    for (auto at = word.text.find("%{"); at != std::string::npos; at = word.text.find("%{", at + 1)) {
      const bool twice = at > from && word.text[at - 1] == '%';
      if (!twice) {
        const std::string shown = word.text.substr(at, std::min<std::size_t>(word.text.find('}', at) + 1 - at, 60));
        return {unknown_text(fmt::format("{} is computed by Nomad: put the value in its place", shown), word.begin),
                word.begin, word.end};
      }
      append(out, slice(word, from, at - 1));
      from = at;
    }
    append(out, slice(word, from, word.text.size()));
    return out;
  }

  // <<WORD, <<-WORD without the indentation of its least indented line.
  ShellWord here_document() {
    ShellWord out{{}, at_, 0};
    at_ += 2;
    const bool flush = peek() == '-';
    if (flush) ++at_;
    const std::string end = name();
    at_ = std::min(text_.find('\n', at_), text_.size());
    std::vector<std::pair<std::size_t, std::size_t>> lines;
    std::size_t indent = std::string::npos;
    while (at_ + 1 < text_.size()) {
      const std::size_t from = at_ + 1;
      at_ = std::min(text_.find('\n', from), text_.size());
      const std::size_t first = std::min(text_.find_first_not_of(" \t", from), at_);
      const std::size_t last = text_.find_last_not_of(" \t\r", at_ == 0 ? 0 : at_ - 1) + 1;
      if (last > first && text_.substr(first, last - first) == end) {
        for (const auto& [a, b] : lines) append(out, piece(text_, flush ? std::min(a + indent, b) : a, b));
        out.end = at_;
        return with_directives(std::move(out));
      }
      if (first < at_) indent = std::min(indent, first - from);
      lines.emplace_back(from, std::min(at_ + 1, text_.size()));
    }
    failed_ = true;
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t parts_ = 0;
  bool failed_ = false;
};

class Job {
 public:
  Job(const SourceText& source, LaunchFinder& finder) : source_(source), finder_(finder) {}

  Result<bool> run(const Block& all) {
    for (const Block& one : all.blocks) {
      const Value* fallback = one.attribute("default");
      if (one.type == "variable" && !one.labels.empty() && fallback != nullptr && fallback->kind == Value::Kind::kText)
        take_variable("var." + one.labels.front(), fallback->text);
    }
    for (const Block& one : all.blocks) {
      if (one.type != "locals") continue;
      for (const auto& [name, value] : one.attributes) {
        if (value.kind == Value::Kind::kText) known_.insert_or_assign("local." + name, filled(value.text, {}));
      }
    }
    walk(all, "");
    if (error_) return tl::make_unexpected(*error_);
    return true;
  }

 private:
  void take_variable(const std::string& name, const ShellWord& fallback) {
    known_.insert_or_assign(name, standing_in(fallback, name, fallback.begin));
  }

  void walk(const Block& block, const std::string& name) {
    if (block.type == "task") return task(block, name);
    for (const Block& one : block.blocks) {
      const std::string label = one.labels.empty() ? std::string() : one.labels.front();
      walk(one, one.type == "task" ? label : name);
    }
  }

  // ${var.NAME} and the task's own variables; ${NAME} of nothing known is left for the shell.
  [[nodiscard]] ShellWord filled(const ShellWord& word, const Values& env) {
    ShellWord out{{}, word.begin, word.end};
    std::size_t from = 0;
    std::size_t next = 0;
    for (auto at = word.text.find("${"); at != std::string::npos; at = word.text.find("${", next)) {
      const auto close = word.text.find('}', at);
      if (close == std::string::npos) break;
      next = at + 2;
      const std::size_t offset = word.origin[at];
      const bool too_long = close - at > limits::kExpressionBytes;  // many may end at the same brace
      const std::string expression = too_long ? "${…}" : word.text.substr(at, close + 1 - at);
      const std::string name = expression.substr(2, expression.size() - 3);
      const bool escaped = at > 0 && word.text[at - 1] == '$';
      const auto given = source_.given.find(expression);
      const auto known = known_.find(name);
      const auto own = env.find(name);
      const bool by_nomad = too_long || name.find_first_of(".[(") != std::string::npos || name.starts_with("NOMAD_");
      if (escaped) {  // $${: a dollar and a brace
        append(out, slice(word, from, at - 1));
        from = at;
        continue;
      }
      if (given == source_.given.end() && known == known_.end() && own == env.end() && !by_nomad) continue;
      append(out, slice(word, from, at));
      from = next = close + 1;
      ShellText value = given != source_.given.end() ? ShellText{given->second}
                        : known != known_.end()      ? known->second
                        : own != env.end()           ? own->second
                                           : unknown_text(fmt::format("{} is filled in by Nomad; give it with {}",
                                                                      expression, how_to_set(expression)),
                                                          offset);
      bytes_ += weight(value);  // each may hold another one twice
      if (bytes_ > limits::kVariableBytes)
        value = unknown_text("what this job says of itself comes to more than is followed (1 MiB)", offset);
      value.origin.assign(value.text.size(), offset);
      append(out, value);
    }
    append(out, slice(word, from, word.text.size()));
    return out;
  }

  void words(const Value* value, const Values& env, std::vector<ShellWord>& out) {
    if (value == nullptr) return;
    if (value->kind == Value::Kind::kText) out.push_back(filled(value->text, env));
    for (const Value& item : value->items) {
      if (item.kind == Value::Kind::kText) out.push_back(filled(item.text, env));
    }
  }

  void environment(const Block& task, Values& env) {
    std::vector<std::pair<std::string, Value>> set;
    if (const Block* block = task.block("env")) set = block->attributes;
    if (const Value* map = task.attribute("env")) set.insert(set.end(), map->pairs.begin(), map->pairs.end());
    for (const auto& [name, value] : set) {
      if (value.kind == Value::Kind::kText) env.insert_or_assign(name, filled(value.text, env));
    }
  }

  // Scripts, and variables of whom only Nomad knows the values.
  void templates(const Block& task, RunContext& context, std::map<std::string, ShellWord>& scripts) {
    for (const Block& one : task.blocks) {
      const Value* data = one.type == "template" ? one.attribute("data") : nullptr;
      const Value* path = one.attribute("destination");
      if (one.type != "template" || path == nullptr) continue;
      if (const Value* sets = one.attribute("env"); sets != nullptr && sets->text.text == "true") {
        finder_.note({"SH002",
                      fmt::format("the template {} is not read: what variables it sets is not known", path->text.text),
                      path->text.begin});
        for (auto& [name, value] : context.env) {
          value = unknown_text(
              fmt::format("{} may be set by the template {}; give it with {}", name, path->text.text, how_to_set(name)),
              path->text.begin);
        }
      } else if (data != nullptr) {
        scripts.insert_or_assign(std::string(base_name(path->text.text)), filled(data->text, {}));
      }
    }
  }

  // Keys of a task, or of its `config`, that Nomad does not have.
  void tell_misspelt(const Block& part, const PartKeys& keys, const Block& task) {
    const auto told = [&](const std::string& key, std::size_t at) {
      const std::string_view meant = meant_key(key, keys);
      if (meant.empty() || ++told_ > kMostMisspelt) return;
      finder_.tell({"SH007", misspelt_key(key, keys.what, meant), at}, task.begin, task.end);
    };
    for (const auto& [key, value] : part.attributes) told(key, value.key);
    for (const Block& block : part.blocks) told(block.type, block.begin);
  }

  void task(const Block& task, const std::string& name) {
    using Names = std::string_view;
    constexpr std::array kTaskRead = {Names("config"), Names("env"), Names("template")};
    constexpr std::array kConfigRead = {Names("args"), Names("command"), Names("entrypoint"), Names("image")};
    const Block* config = task.block("config");
    if (config == nullptr) return;
    start(task, *config, name);
    told_ = 0;
    tell_misspelt(task, {"a task", kTaskRead}, task);
    tell_misspelt(*config, {"a task's config", kConfigRead}, task);
  }

  void start(const Block& task, const Block& config, const std::string& name) {
    RunContext context{.name = name};
    environment(task, context.env);
    const Values env = context.env;
    std::map<std::string, ShellWord> scripts;
    templates(task, context, scripts);
    if (const Value* image = config.attribute("image")) {
      const ShellWord filled_in = filled(image->text, env);
      context.image = filled_in.unknowns.empty() ? filled_in.text : image->text.text;
    }
    std::vector<ShellWord> all;
    words(config.attribute("entrypoint"), env, all);
    words(config.attribute("command"), env, all);
    words(config.attribute("args"), env, all);
    if (all.empty()) return;
    for (std::size_t i = 0; i < all.size() && i < 3; ++i) {
      const auto script = scripts.find(std::string(base_name(all[i].text)));
      if (script == scripts.end()) continue;
      context.arguments.assign(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end());
      context.arguments_known = true;
      auto done = finder_.script(script->second, context);
      if (!done && !error_) error_ = done.error();
      return;
    }
    started(all, context);
  }

  void started(const std::vector<ShellWord>& all, RunContext& context) const {
    if (!all.front().text.starts_with("--")) return finder_.words(all, context);
    if (!may_be_for_server(all, 0, context.image)) return;
    context.unknown.push_back(
        {"the image's own entry point takes these words, and nobody knows here what it is", all.front().begin, {}});
    finder_.arguments(all, context);
  }

  const SourceText& source_;
  LaunchFinder& finder_;
  std::size_t bytes_ = 0;  // that were filled in
  Values known_;           // var.NAME, local.NAME
  std::size_t told_ = 0;   // of the task at hand
  std::optional<Error> error_;
};

}  // namespace

Result<bool> read_nomad(const SourceText& source, LaunchFinder& finder) {
  Reader reader(source.text);
  const Block all = reader.all();
  if (reader.failed()) {
    const LineColumn at = finder.place(std::min(reader.at(), source.text.size()));
    return failure("this job is not understood here: give the launch in it as a command",
                   fmt::format("{}:{}", at.line, at.column));
  }
  return Job(source, finder).run(all);
}

}  // namespace preflight::sources
