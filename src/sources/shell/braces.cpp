// {a,b} and {1..3} in words. Tested by tests/shell_test.cpp.
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/base/number_text.h"
#include "src/sources/shell/evaluator.h"
#include "src/sources/shell/written_number.h"

namespace preflight::sources {
namespace {

bool is_small_letter(char c) { return c >= 'a' && c <= 'z'; }

// A place in the text of a word's piece.
struct Sign {
  std::size_t part;
  std::size_t at;
};

// The outermost braces that close first, and the commas between them.
struct Pair {
  Sign open;
  Sign close;
  std::vector<Sign> commas = {};
};

// What stands between the two signs.
Parts cut(const Parts& parts, Sign from, Sign to) {
  Parts out;
  for (std::size_t p = from.part; p <= to.part && p < parts.size(); ++p) {
    Part piece = parts[p];
    if (p == from.part && piece.kind == Part::Kind::kText) piece.begin = std::max(piece.begin, from.at);
    if (p == to.part) {
      if (to.at == 0) break;
      if (piece.kind == Part::Kind::kText) piece.end = std::min(piece.end, to.at);
    }
    if (piece.kind == Part::Kind::kText && !piece.quoted && piece.begin >= piece.end) continue;
    out.push_back(std::move(piece));
  }
  return out;
}

Part decoded(const Pair& pair, std::string name) {
  return {.kind = Part::Kind::kDecoded, .begin = pair.open.at, .end = pair.close.at, .name = std::move(name)};
}

Parts unclear(const Pair& pair, std::string why) {
  return {{.kind = Part::Kind::kUnclear, .begin = pair.open.at, .end = pair.close.at + 1, .name = std::move(why)}};
}

// {1..3}, {08..10}, {a..e}: each of them; nothing where it is none of these.
std::vector<Parts> counted(const Pair& pair, std::string_view inside) {
  std::vector<Parts> out;
  const auto dots = inside.find("..");
  if (dots == std::string_view::npos) return out;
  if (inside.size() == 4 && dots == 1 && is_small_letter(inside[0]) && is_small_letter(inside[3])) {
    for (int n = 0; n <= std::abs(inside[3] - inside[0]); ++n)
      out.push_back({decoded(pair, {static_cast<char>(inside[0] + (inside[0] <= inside[3] ? n : -n))})});
    return out;
  }
  const std::string_view from = inside.substr(0, dots);
  const std::string_view to = inside.substr(dots + 2);
  const auto first = number_in<int>(from);
  const auto last = number_in<int>(to);
  const bool padded = has_zero(from) || has_zero(to);
  const std::size_t width = padded ? std::max(from.size(), to.size()) : 0;
  const bool signs = padded && inside.find('-') != std::string_view::npos;
  if (!first || !last || signs || std::abs(static_cast<long>(*last) - *first) >= static_cast<long>(limits::kBraceWords))
    return {unclear(pair, "braces that are not followed; write the words out")};
  for (int n = *first;; n += *first <= *last ? 1 : -1) {
    out.push_back({decoded(pair, fmt::format("{:0{}}", n, width))});
    if (n == *last) return out;
  }
}

}  // namespace

class ShellEvaluator::Braces {
 public:
  Braces(ShellEvaluator& shell, const Parts& parts) : shell_(shell), text_(shell.text_.script->text), parts_(parts) {}

  // The words that the first braces make which stand for something; the word itself where none do.
  std::vector<Parts> words() {
    Pair pair{};
    int depth = 0;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      if (parts_[p].kind != Part::Kind::kText || parts_[p].quoted) continue;
      for (std::size_t i = parts_[p].begin; i < parts_[p].end; ++i) {
        const char c = text_[i];
        if (c == '{' && depth++ == 0) pair = {{p, i}, {p, i}};
        if (c == ',' && depth == 1) pair.commas.push_back({p, i});
        if (c != '}' || depth == 0 || --depth > 0) continue;
        pair.close = {p, i};
        const std::vector<Parts> choices = choices_of(pair);
        if (!choices.empty()) return chosen(pair, choices);  // {x} is itself
      }
    }
    return {parts_};
  }

 private:
  [[nodiscard]] std::vector<Parts> choices_of(const Pair& pair) const {
    const auto [part, at] = pair.open;
    if (pair.commas.empty() && part == pair.close.part)
      return counted(pair, std::string_view(text_).substr(at + 1, pair.close.at - at - 1));
    if (pair.commas.empty()) return {};
    std::vector<Parts> out;
    Sign from{part, at + 1};
    for (const Sign& comma : pair.commas) {
      out.push_back(cut(parts_, from, comma));
      from = {comma.part, comma.at + 1};
    }
    out.push_back(cut(parts_, from, pair.close));
    return out;
  }

  // What stands in front of the braces, each choice, and what stands behind, where braces may stand in both.
  std::vector<Parts> chosen(const Pair& pair, const std::vector<Parts>& choices) {
    const Parts too_many = unclear(pair, "braces that stand for too many words");
    if (shell_.brace_depth_ >= limits::kBraceDepth) return {too_many};
    const Parts front = cut(parts_, {0, 0}, pair.open);
    std::vector<Parts> out;
    ++shell_.brace_depth_;
    const std::vector<Parts> rest =
        shell_.braces(cut(parts_, {pair.close.part, pair.close.at + 1}, {parts_.size(), 1}));
    const auto add = [&](const Parts& middle, const Parts& back) {
      if (out.size() >= limits::kBraceWords || !shell_.spend(front.size() + middle.size() + back.size())) {
        out.push_back(too_many);
        return false;
      }
      Parts whole = front;
      whole.insert(whole.end(), middle.begin(), middle.end());
      whole.insert(whole.end(), back.begin(), back.end());
      out.push_back(std::move(whole));
      return true;
    };
    const auto add_all = [&](const Parts& middle) {
      return std::ranges::all_of(rest, [&](const Parts& back) { return add(middle, back); });
    };
    for (const Parts& choice : choices) {
      if (!std::ranges::all_of(shell_.braces(choice), add_all)) break;
    }
    --shell_.brace_depth_;
    return out;
  }

  ShellEvaluator& shell_;
  const std::string& text_;
  const Parts& parts_;
};

// The words that {a,b} and {1..3} make of one, by their pieces.
std::vector<Parts> ShellEvaluator::braces(const Parts& parts) { return Braces(*this, parts).words(); }

}  // namespace preflight::sources
