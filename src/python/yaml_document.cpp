// Behaviour: PyYAML 6.0, parser.py and composer.py, folded into one descent that asks for tokens in the same order.
#include "src/python/yaml_document.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/python/text.h"

namespace preflight::python {
namespace {

constexpr std::string_view kStandard = "tag:yaml.org,2002:";
constexpr int kDeepest = 485;  // Python's recursion limit ends PyYAML's composer about here

}  // namespace

std::u32string yaml_text(const std::string& bytes) {
  std::u32string text;
  text.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    const auto [code, length] = character_at(bytes, i);
    if (code >= 0xDC80 && code <= 0xDCFF) throw YamlFault{"UnicodeDecodeError", "the file is not UTF-8"};
    i += length;
    if (code == U'\r') {
      if (i < bytes.size() && bytes[i] == '\n') ++i;
      text += U'\n';
    } else {
      text += code;
    }
  }
  const auto printable = [](char32_t c) {
    return c == U'\t' || c == U'\n' || (c >= 0x20 && c <= 0x7E) || c == 0x85 || (c >= 0xA0 && c <= 0xFFFD) ||
           c >= 0x10000;
  };
  YamlMark mark;
  for (const char32_t c : text) {
    if (!printable(c)) throw YamlFault{"ReaderError", "a control character", mark};
    mark.column = c == U'\n' ? 0 : mark.column + 1;
    mark.line += c == U'\n' ? 1 : 0;
  }
  return text;
}

YamlDocument::YamlDocument(std::u32string text, YamlDocuments documents, std::size_t most_nodes)
    : scanner_(std::move(text)), most_nodes_(most_nodes) {
  tag_handles_ = {{"!", "!"}, {"!!", std::string(kStandard)}};
  if (!next_is(YamlToken::kDirective, YamlToken::kDocumentStart, YamlToken::kStreamEnd)) {
    roots_.push_back(node(true));
  } else {
    while (next_is(YamlToken::kDocumentEnd)) scanner_.take();
    if (next_is(YamlToken::kStreamEnd)) return;
    roots_.push_back(explicit_document());
  }
  for (document_end(); !next_is(YamlToken::kStreamEnd); document_end()) {
    const YamlMark mark = scanner_.peek().mark;
    if (documents == YamlDocuments::kOne) {
      directives();
      fail("ComposerError", "a second document; one is expected", mark);
    }
    anchors_.clear();  // each document names its own
    roots_.push_back(explicit_document());
  }
}

// One that "---" begins.
YamlNode* YamlDocument::explicit_document() {
  using T = YamlToken;
  directives();
  return next_is(T::kDirective, T::kDocumentStart, T::kDocumentEnd, T::kStreamEnd) ? empty(scanner_.peek().mark)
                                                                                   : node(true);
}

void YamlDocument::fail(std::string exception, std::string message, YamlMark mark) {
  throw YamlFault{std::move(exception), std::move(message), mark};
}

// Directives and the "---" that must follow them.
void YamlDocument::directives() {
  bool has_version = false;
  std::map<std::string, std::string> handles;
  while (next_is(YamlToken::kDirective)) {
    const YamlToken token = scanner_.take();
    if (token.handle == "YAML") {
      if (has_version) fail("ParserError", "a second YAML directive", token.mark);
      if (token.text != "1") fail("ParserError", "not a YAML 1 file", token.mark);
      has_version = true;
    } else if (token.handle.starts_with("TAG ")) {
      if (!handles.emplace(token.handle.substr(4), token.text).second) {
        fail("ParserError", "a tag handle is declared twice", token.mark);
      }
    }
  }
  handles.emplace("!", "!");
  handles.emplace("!!", kStandard);
  tag_handles_ = std::move(handles);
  if (!next_is(YamlToken::kDocumentStart)) fail("ParserError", "a document must start with ---", scanner_.peek().mark);
  scanner_.take();
}

void YamlDocument::document_end() {
  while (next_is(YamlToken::kDocumentEnd)) scanner_.take();
}

std::string YamlDocument::resolved_tag(const YamlToken& token) const {
  std::string tag = token.text;
  if (token.has_handle) {
    const auto handle = tag_handles_.find(token.handle);
    if (handle == tag_handles_.end()) fail("ParserError", "an undeclared tag handle " + token.handle, token.mark);
    tag = handle->second + tag;
  }
  return tag;
}

YamlDocument::Properties YamlDocument::properties() {
  Properties found;
  YamlToken tag;
  for (int n = 0; n < 2; ++n) {
    if (next_is(YamlToken::kAnchor) && found.anchor.empty()) {
      found.anchor = scanner_.take().text;
      found.any = true;
    } else if (next_is(YamlToken::kTag) && tag.text.empty()) {
      tag = scanner_.take();
      found.any = true;
    } else {
      break;
    }
  }
  if (!tag.text.empty()) found.tag = resolved_tag(tag);
  return found;
}

YamlNode* YamlDocument::node(bool block, bool indentless) {
  if (next_is(YamlToken::kAlias)) {
    const YamlToken alias = scanner_.take();
    const auto anchor = anchors_.find(alias.text);
    if (anchor == anchors_.end())
      fail("ComposerError", "this alias has no anchor", alias.mark);  // whose name may be a secret with a * in front
    // Each may hold the one in front many times.
    constexpr std::size_t kMost = std::size_t{1} << 60U;
    walked_bytes_ = std::min(kMost, walked_bytes_ + anchor->second.bytes);
    return anchor->second.node;
  }
  const YamlMark mark = scanner_.peek().mark;
  const Properties found = properties();
  if (++depth_ > kDeepest) fail("RecursionError", "nested too deeply", mark);
  const std::size_t before = walked_bytes_;
  YamlNode* result = content(found, mark, block, indentless);
  if (!found.anchor.empty()) anchors_[found.anchor].bytes = walked_bytes_ - before;
  --depth_;
  return result;
}

YamlNode* YamlDocument::content(const Properties& found, YamlMark mark, bool block, bool indentless) {
  const auto collection = [&](YamlNode::Kind kind) {
    const std::string_view standard = kind == YamlNode::kSequence ? "seq" : "map";
    const bool own = !found.tag.empty() && found.tag != "!";
    return add({.kind = kind, .tag = own ? found.tag : std::string(standard), .mark = mark}, found);
  };
  if (indentless && next_is(YamlToken::kBlockEntry)) {
    YamlNode* result = collection(YamlNode::kSequence);
    indentless_sequence(*result);
    return result;
  }
  if (next_is(YamlToken::kScalar)) {
    YamlToken token = scanner_.take();
    std::string tag = found.tag;
    if ((token.plain && tag.empty()) || tag == "!") {
      tag = implicit_tag(token.text);
    } else if (tag.empty()) {
      tag = "str";
    }
    return add({.tag = std::move(tag), .text = std::move(token.text), .mark = mark}, found);
  }
  if (next_is(YamlToken::kFlowSequenceStart)) {
    YamlNode* result = collection(YamlNode::kSequence);
    flow_sequence(*result, mark);
    return result;
  }
  if (next_is(YamlToken::kFlowMappingStart)) {
    YamlNode* result = collection(YamlNode::kMapping);
    flow_mapping(*result, mark);
    return result;
  }
  if (block && next_is(YamlToken::kBlockSequenceStart)) {
    YamlNode* result = collection(YamlNode::kSequence);
    block_sequence(*result);
    return result;
  }
  if (block && next_is(YamlToken::kBlockMappingStart)) {
    YamlNode* result = collection(YamlNode::kMapping);
    block_mapping(*result);
    return result;
  }
  if (!found.any) fail("ParserError", "a value is missing", scanner_.peek().mark);
  const bool plain = found.tag.empty() || found.tag == "!";
  return add({.tag = plain ? std::string("null") : found.tag, .mark = mark}, found);
}

// Registers the node under its anchor before its content is read, so that content can refer to it.
YamlNode* YamlDocument::add(YamlNode node, const Properties& found) {
  if (node.tag.starts_with(kStandard)) node.tag.erase(0, kStandard.size());
  if (!found.anchor.empty() && anchors_.contains(found.anchor)) {
    fail("ComposerError", "the anchor " + found.anchor + " is set twice", node.mark);
  }
  if (nodes_.size() >= most_nodes_) fail(std::string(limits::kOurs), "more entries than any launch has", node.mark);
  nodes_.push_back(std::move(node));
  walked_bytes_ += nodes_.back().text.size();
  if (!found.anchor.empty()) anchors_[found.anchor] = {&nodes_.back()};
  return &nodes_.back();
}

YamlNode* YamlDocument::empty(YamlMark mark) { return add({.tag = "null", .mark = mark}, {}); }

void YamlDocument::block_sequence(YamlNode& out) {
  using T = YamlToken;
  scanner_.take();
  while (next_is(T::kBlockEntry)) {
    const YamlMark mark = scanner_.take().mark;
    out.items.push_back(next_is(T::kBlockEntry, T::kBlockEnd) ? empty(mark) : node(true));
  }
  if (!next_is(T::kBlockEnd)) fail("ParserError", "the list does not end where it should", scanner_.peek().mark);
  scanner_.take();
}

void YamlDocument::indentless_sequence(YamlNode& out) {
  using T = YamlToken;
  while (next_is(T::kBlockEntry)) {
    const YamlMark mark = scanner_.take().mark;
    out.items.push_back(next_is(T::kBlockEntry, T::kKey, T::kValue, T::kBlockEnd) ? empty(mark) : node(true));
  }
}

void YamlDocument::block_mapping(YamlNode& out) {
  using T = YamlToken;
  scanner_.take();
  const auto part = [&](YamlMark mark) {
    return next_is(T::kKey, T::kValue, T::kBlockEnd) ? empty(mark) : node(true, true);
  };
  while (next_is(T::kKey)) {
    YamlNode* key = part(scanner_.take().mark);
    const std::size_t before = walked_bytes_;
    YamlNode* value = next_is(T::kValue) ? part(scanner_.take().mark) : empty(scanner_.peek().mark);
    if (key->text == "<<") walked_bytes_ = before;
    out.pairs.emplace_back(key, value);
  }
  if (!next_is(T::kBlockEnd)) fail("ParserError", "the mapping does not end where it should", scanner_.peek().mark);
  scanner_.take();
}

void YamlDocument::flow_sequence(YamlNode& out, YamlMark /*mark*/) {
  using T = YamlToken;
  scanner_.take();
  for (bool first = true; !next_is(T::kFlowSequenceEnd); first = false) {
    if (!first) {
      if (!next_is(T::kFlowEntry)) fail("ParserError", "a ',' or ']' is missing", scanner_.peek().mark);
      scanner_.take();
    }
    if (next_is(T::kKey)) {
      out.items.push_back(flow_pair());
    } else if (!next_is(T::kFlowSequenceEnd)) {
      out.items.push_back(node(false));
    } else {
      break;
    }
  }
  scanner_.take();
}

// "key: value" standing in a list, a mapping of its own.
YamlNode* YamlDocument::flow_pair() {
  using T = YamlToken;
  YamlNode* pair = add({.kind = YamlNode::kMapping, .tag = "map", .mark = scanner_.peek().mark}, {});
  const YamlMark key_mark = scanner_.take().mark;
  YamlNode* key = next_is(T::kValue, T::kFlowEntry, T::kFlowSequenceEnd) ? empty(key_mark) : node(false);
  YamlNode* value = nullptr;
  if (next_is(T::kValue)) {
    const YamlMark mark = scanner_.take().mark;
    value = next_is(T::kFlowEntry, T::kFlowSequenceEnd) ? empty(mark) : node(false);
  } else {
    value = empty(scanner_.peek().mark);
  }
  pair->pairs.emplace_back(key, value);
  return pair;
}

void YamlDocument::flow_mapping(YamlNode& out, YamlMark /*mark*/) {
  using T = YamlToken;
  scanner_.take();
  for (bool first = true; !next_is(T::kFlowMappingEnd); first = false) {
    if (!first) {
      if (!next_is(T::kFlowEntry)) fail("ParserError", "a ',' or '}' is missing", scanner_.peek().mark);
      scanner_.take();
    }
    if (next_is(T::kKey)) {
      const YamlMark key_mark = scanner_.take().mark;
      YamlNode* key = next_is(T::kValue, T::kFlowEntry, T::kFlowMappingEnd) ? empty(key_mark) : node(false);
      const std::size_t before = walked_bytes_;
      YamlNode* value = nullptr;
      if (next_is(T::kValue)) {
        const YamlMark mark = scanner_.take().mark;
        value = next_is(T::kFlowEntry, T::kFlowMappingEnd) ? empty(mark) : node(false);
      } else {
        value = empty(scanner_.peek().mark);
      }
      if (key->text == "<<") walked_bytes_ = before;
      out.pairs.emplace_back(key, value);
    } else if (!next_is(T::kFlowMappingEnd)) {
      YamlNode* key = node(false);
      out.pairs.emplace_back(key, empty(scanner_.peek().mark));
    } else {
      break;
    }
  }
  scanner_.take();
}

}  // namespace preflight::python
