// Models that are one GGUF file. Every row was compared with what the real release reads from such a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "src/facts/gguf/gguf_file.h"
#include "src/facts/model_files.h"
#include "src/facts/model_source.h"
#include "tests/support/example_launch.h"
#include "tests/support/release_ranges.h"
#include "tests/support/run_tool.h"

namespace preflight::facts {
namespace {

// Writes the form of ggml's gguf.md: numbers little endian, texts behind their length.
class Writer {
 public:
  explicit Writer(const std::string& architecture) : architecture_(architecture) {
    if (!architecture.empty()) text("general.architecture", architecture);
  }

  Writer& text(const std::string& key, const std::string& value) { return entry(key, 8, counted(value)); }
  Writer& number(const std::string& key, std::uint32_t value) { return entry(key, 4, bytes(value)); }
  Writer& real(const std::string& key, float value) { return entry(key, 6, bytes(value)); }
  template <typename T>
  Writer& value(const std::string& key, std::uint32_t type, T number) {
    return entry(key, type, bytes(number));
  }
  Writer& numbers(const std::string& key, const std::vector<std::int32_t>& values) {
    std::string content = bytes(std::uint32_t{5}) + bytes(std::uint64_t{values.size()});
    for (const auto v : values) content += bytes(v);
    return entry(key, 9, content);
  }
  Writer& texts(const std::string& key, std::size_t count) {
    std::string content = bytes(std::uint32_t{8}) + bytes(std::uint64_t{count});
    for (std::size_t i = 0; i < count; ++i) content += counted("t" + std::to_string(i));
    return entry(key, 9, content);
  }
  Writer& tensor(const std::string& name, std::uint32_t type = 0, std::uint64_t elements = 8) {
    tensors_ += counted(name) + bytes(std::uint32_t{1}) + bytes(elements) + bytes(type) + bytes(std::uint64_t{0});
    ++tensor_count_;
    return *this;
  }
  // The sizes that nearly every architecture has.
  Writer& sizes() {
    const std::string a = architecture_ + ".";
    number(a + "context_length", 32768).number(a + "block_count", 8).number(a + "embedding_length", 1024);
    number(a + "feed_forward_length", 3072).number(a + "attention.head_count", 16);
    number(a + "attention.head_count_kv", 8).real(a + "rope.freq_base", 1e6F);
    return real(a + "attention.layer_norm_rms_epsilon", 1e-6F).texts("tokenizer.ggml.tokens", 1000);
  }

  [[nodiscard]] std::string file(std::uint32_t version = 3, const std::string& magic = "GGUF") const {
    std::string out = magic + bytes(version) + bytes(tensor_count_) + bytes(count_) + entries_ + tensors_;
    out.append(64, '\0');
    return out;
  }

 private:
  template <typename T>
  static std::string bytes(T value) {
    std::string out(sizeof(T), '\0');
    std::memcpy(out.data(), &value, sizeof(T));
    return out;
  }
  static std::string counted(const std::string& text) { return bytes(std::uint64_t{text.size()}) + text; }
  Writer& entry(const std::string& key, std::uint32_t type, const std::string& content) {
    entries_ += counted(key) + bytes(type) + content;
    ++count_;
    return *this;
  }

  std::string architecture_;
  std::string entries_;
  std::string tensors_;
  std::uint64_t count_ = 0;
  std::uint64_t tensor_count_ = 0;
};

ModelOutcome outcome_of(const std::string& content, Release release, const std::string& config = {},
                        const Value& parser = "auto", const std::string& name = "model.gguf") {
  const testing::TemporaryDirectory root;
  ModelRequest request;
  request.release = release;
  request.path = root.file("part/" + name, content);
  request.config_parser = parser;
  if (!config.empty()) root.file("part/config.json", config);
  ModelFiles files(KnownModels::kNo);
  return build_model(files, request);
}

std::string refused(const ModelOutcome& outcome) {
  const auto* refusal = std::get_if<Refusal>(&outcome.result);
  return refusal == nullptr ? "accepted" : refusal->exception + " in " + refusal->function;
}

std::shared_ptr<const ModelFacts> facts_of(const ModelOutcome& outcome) {
  const auto* facts = std::get_if<std::shared_ptr<const ModelFacts>>(&outcome.result);
  return facts == nullptr ? nullptr : *facts;
}

// Each type in its width and sign: what stands behind a value is read where the value ends.
TEST(Gguf, ValuesAreReadInTheirTypes) {
  Writer writer("llama");
  writer.value("u8", 0, std::uint8_t{200}).value("i8", 1, std::int8_t{-2}).value("u16", 2, std::uint16_t{60000});
  writer.value("i16", 3, std::int16_t{-3}).value("u32", 4, std::uint32_t{4000000000}).value("i32", 5, std::int32_t{-4});
  writer.value("f32", 6, 0.5F).value("bool", 7, std::uint8_t{1}).text("text", "t").numbers("array", {1, -2});
  writer.value("u64", 10, std::uint64_t{18000000000000000000U})
      .value("i64", 11, std::int64_t{-5})
      .value("f64", 12, 0.1);
  const testing::TemporaryDirectory root;
  const auto file = read_gguf(root.file("model.gguf", writer.number("last", 7).file()), GgufReaders::kPackage);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->metadata.repr(),
            "{'general.architecture': 'llama', 'u8': 200, 'i8': -2, 'u16': 60000, 'i16': -3, 'u32': 4000000000, "
            "'i32': -4, 'f32': 0.5, 'bool': True, 'text': 't', 'array': [1, -2], 'u64': 18000000000000000000, "
            "'i64': -5, 'f64': 0.1, 'last': 7}");
}

TEST(Gguf, TheHeaderGivesTheModelsSizes) {
  const auto experts = [](Writer w, const std::string& a) {
    return w.number(a + ".expert_count", 32).number(a + ".expert_used_count", 4).file();
  };
  struct Row {
    std::string content, architecture, model_type;
    std::int64_t head_dim;
  };
  const Row rows[] = {
      {Writer("qwen3").sizes().file(), "Qwen3ForCausalLM", "qwen3", 128},
      // the rotary width is the head's in Llama's files alone
      {Writer("llama").sizes().number("llama.rope.dimension_count", 32).file(), "LlamaForCausalLM", "llama", 32},
      {Writer("qwen2").sizes().number("qwen2.rope.dimension_count", 32).file(), "Qwen2ForCausalLM", "qwen2", 64},
      // a name that is exactly this makes a Llama a Mistral
      {Writer("llama").sizes().text("general.name", "mistral").file(), "MistralForCausalLM", "mistral", 64},
      {Writer("llama").sizes().text("general.name", "mistral 7b").file(), "LlamaForCausalLM", "llama", 64},
      {experts(Writer("qwen3moe").sizes().number("qwen3moe.attention.key_length", 96), "qwen3moe"),
       "Qwen3MoeForCausalLM", "qwen3_moe", 96},
      {Writer("gemma3").sizes().number("gemma3.attention.key_length", 256).file(), "Gemma3ForCausalLM", "gemma3_text",
       256},
  };
  for (const Release release : {v0_5(13), v0_5(20), v0_5(23)}) {
    for (const Row& row : rows) {
      const auto outcome = outcome_of(row.content, release);
      const auto facts = facts_of(outcome);
      ASSERT_NE(facts, nullptr) << release.text() << " " << row.architecture << " " << refused(outcome);
      EXPECT_EQ(facts->architectures, std::vector<std::string>{row.architecture}) << release.text();
      EXPECT_EQ(facts->model_type, row.model_type) << release.text();
      EXPECT_EQ(facts->head_dim, row.head_dim) << release.text() << " " << row.architecture;
      EXPECT_EQ(facts->num_attention_heads, 16) << release.text();
      EXPECT_EQ(facts->num_key_value_heads, 8) << release.text();
      EXPECT_EQ(facts->hidden_size, 1024) << release.text();
      EXPECT_EQ(facts->context_len, 32768) << release.text();
      EXPECT_EQ(facts->vocab_size, 1000) << release.text() << ": the number of tokens";
    }
  }
}

TEST(Gguf, AnOutputMatrixIsNoSharedEmbedding) {
  const auto shared = facts_of(outcome_of(Writer("qwen3").sizes().tensor("token_embd.weight").file(), v0_5(23)));
  const auto own = facts_of(outcome_of(Writer("qwen3").sizes().tensor("output.weight").file(), v0_5(23)));
  ASSERT_TRUE(shared != nullptr && own != nullptr);
  EXPECT_EQ(*shared->hf_config.find("tie_word_embeddings"), Value(true));
  EXPECT_EQ(*own->hf_config.find("tie_word_embeddings"), Value(false));
}

TEST(Gguf, AConfigBesideTheFileCountsSince0_5_18) {
  const std::string config =
      R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 4, "num_attention_heads": 32})";
  const std::string file = Writer("qwen3").sizes().file();
  EXPECT_EQ(facts_of(outcome_of(file, v0_5(17), config))->num_attention_heads, 16);
  EXPECT_EQ(facts_of(outcome_of(file, v0_5(18), config))->num_attention_heads, 32);
  EXPECT_EQ(facts_of(outcome_of("no GGUF", v0_5(23), config))->num_attention_heads, 32) << "the name tells";
  EXPECT_EQ(facts_of(outcome_of(file, v0_5(23), config, "auto", "weights"))->num_attention_heads, 32) << "or the start";
}

TEST(Gguf, UnusableFilesAreRefusedWhereTheyAreRead) {
  const std::string good = Writer("llama").sizes().file();
  const Writer twice = Writer("llama").sizes().number("llama.block_count", 4);
  struct Row {
    const char* what;
    std::string content, in_23, in_13;
  };
  const Row rows[] = {
      {"empty", "", "ValueError in _try_load_longcat_config", "ValueError in parse"},
      {"another form", Writer("llama").file(3, "GGML"), "ValueError in _try_load_longcat_config",
       "ValueError in parse"},
      {"another version", Writer("llama").file(1), "ValueError in _try_load_longcat_config", "ValueError in parse"},
      {"cut behind a number", good.substr(0, 300), "error in _try_load_longcat_config", "IndexError in parse"},
      {"a text that is none", Writer("llama").text("general.name", "\xff").file(),
       "OSError in _try_load_longcat_config", "OSError in parse"},
      {"the magic alone", good.substr(0, 4), "error in _try_load_longcat_config", "IndexError in parse"},
      {"no architecture", Writer("").file(), "ValueError in _try_load_longcat_config", "IndexError in parse"},
      {"an unknown architecture", Writer("wonder").sizes().file(), "ValueError in _try_load_longcat_config",
       "ValueError in parse"},
      {"a key twice", twice.file(), "KeyError in _try_load_longcat_config", "KeyError in parse"},
      {"a type that is no causal model", Writer("t5").sizes().file(), "RuntimeError in get_config",
       "RuntimeError in get_config"},
      {"a type transformers cannot make", Writer("deci").sizes().file(), "ValueError in parse", "ValueError in parse"},
      {"a rope type of gpt-oss", Writer("gpt-oss").sizes().text("gpt-oss.rope.scaling.type", "yarn").file(),
       "TypeError in parse", "TypeError in patched"},
      {"layers that are a text", Writer("qwen3").text("qwen3.block_count", "8").file(),
       "StrictDataclassFieldValidationError in parse", "StrictDataclassFieldValidationError in patched"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(refused(outcome_of(row.content, v0_5(23))), row.in_23) << row.what;
    EXPECT_EQ(refused(outcome_of(row.content, v0_5(13, 1))), row.in_13) << row.what;
  }
  EXPECT_EQ(refused(outcome_of(good, v0_5(23), {}, "mistral")), "ValueError in get_config");
  EXPECT_EQ(refused(outcome_of(good, v0_5(23), {}, "hf")), "accepted");
}

// transformers' own reader beside the package's, and what it alone knows.
TEST(Gguf, TransformersReadsTheFileItselfSince0_5_22) {
  const std::string cut = Writer("llama").sizes().file().substr(0, 300);
  EXPECT_EQ(refused(outcome_of(cut, v0_5(21))), "IndexError in _try_load_longcat_config");
  EXPECT_EQ(refused(outcome_of(cut, v0_5(22))), "error in _try_load_longcat_config");
  const std::string hybrid = Writer("qwen35")
                                 .sizes()
                                 .number("qwen35.attention.key_length", 256)
                                 .number("qwen35.rope.dimension_count", 64)
                                 .number("qwen35.full_attention_interval", 4)
                                 .numbers("qwen35.rope.dimension_sections", {11, 11, 10, 0})
                                 .number("qwen35.ssm.conv_kernel", 4)
                                 .number("qwen35.ssm.state_size", 128)
                                 .number("qwen35.ssm.group_count", 16)
                                 .number("qwen35.ssm.inner_size", 4096)
                                 .number("qwen35.ssm.time_step_rank", 32)
                                 .file();
  EXPECT_EQ(refused(outcome_of(hybrid, v0_5(21))), "ValueError in _try_load_longcat_config");
  const auto facts = facts_of(outcome_of(hybrid, v0_5(22)));
  ASSERT_NE(facts, nullptr) << refused(outcome_of(hybrid, v0_5(22)));
  EXPECT_EQ(facts->architectures, std::vector<std::string>{"Qwen3_5ForCausalLM"});
}

TEST(Gguf, AClassThatCannotBeMadeIsToldByTheParserSince0_5_14) {
  const std::string content = Writer("gpt-oss").sizes().text("gpt-oss.rope.scaling.type", "yarn").file();
  EXPECT_EQ(refused(outcome_of(content, v0_5(13, 1))), "TypeError in patched");
  EXPECT_EQ(refused(outcome_of(content, v0_5(14))), "TypeError in parse");
}

// SGLang copies no text part out of a GGUF file, and shapes by layer stay where it asks for one.
TEST(Gguf, ShapesThatDifferByLayerAreAmbiguousSince0_5_22) {
  const std::string content = Writer("gemma4").sizes().file();
  EXPECT_EQ(refused(outcome_of(content, v0_5(21))), "accepted");
  EXPECT_EQ(refused(outcome_of(content, v0_5(22))), "AmbiguousGlobalPerLayerAttributeError in _derive_model_shapes");
}

// The package takes a view of each tensor's data while the configuration is read; with a config.json beside the file
// nobody does before the weights are loaded.
TEST(Gguf, TensorsThatTheFileDoesNotHoldEndTheLaunch) {
  const auto with = [](std::uint32_t type, std::uint64_t elements) {
    return Writer("qwen3").sizes().tensor("output.weight", type, elements).file();
  };
  for (const auto& [type, elements] : {std::pair{0U, 1000UL}, {2U, 32UL * 1000}, {0U, 1UL << 62U}, {77U, 1UL}}) {
    EXPECT_EQ(refused(outcome_of(with(type, elements), v0_5(23))), "ValueError in _try_load_longcat_config") << type;
    EXPECT_EQ(refused(outcome_of(with(type, elements), v0_5(13, 1))), "ValueError in parse") << type;
    const testing::TemporaryDirectory root;
    root.file("config.json",
              R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 4})");
    const std::string path = root.file("m.gguf", with(type, elements));
    const testing::ToolRun run = testing::run_tool({"check", "--no-kernel", "--", "--model-path", path});
    EXPECT_EQ(run.status, 1) << run.out << run.err;
    EXPECT_NE(run.out.find("error[MD004]: " + path), std::string::npos) << run.out;
  }
  EXPECT_EQ(refused(outcome_of(with(0, 8), v0_5(23))), "accepted");
  EXPECT_EQ(refused(outcome_of(with(2, 32), v0_5(23))), "accepted");
  const std::string odd = Writer("qwen3").sizes().number("general.alignment", 24).tensor("output.weight").file();
  EXPECT_EQ(refused(outcome_of(odd, v0_5(23))), "ValueError in _try_load_longcat_config");
}

// The loader fills what it finds by name and says nothing of the rest.
TEST(Gguf, TensorsOfTheClassThatTheFileLacksAreTold) {
  const testing::TemporaryDirectory root;
  Writer file = Writer("qwen3").sizes().tensor("token_embd.weight").tensor("output_norm.weight");
  for (int layer = 0; layer < 8; ++layer) {
    for (const char* part :
         {"attn_norm.weight", "attn_q.weight", "attn_k.weight", "attn_v.weight", "attn_output.weight",
          "ffn_norm.weight", "attn_q_norm.weight", "attn_k_norm.weight", "ffn_gate.weight", "ffn_up.weight"}) {
      file.tensor("blk." + std::to_string(layer) + "." + part);
    }
    if (layer < 7) file.tensor("blk." + std::to_string(layer) + ".ffn_down.weight");
  }
  const auto check = [&](const Writer& writer) {
    return testing::run_tool({"check", "--no-kernel", "--", "--model-path", root.file("m.gguf", writer.file())}).out;
  };
  const std::string lacking = "1 of the 90 tensors of its class are not in it: blk.7.ffn_down.weight";
  EXPECT_NE(check(file).find(lacking), std::string::npos) << check(file);
  file.tensor("blk.7.ffn_down.weight");
  EXPECT_EQ(check(file).find("MD006"), std::string::npos) << check(file);
  // Whose tensors nobody knows here; that there is none is told all the same.
  EXPECT_EQ(check(Writer("gemma2").sizes().tensor("a")).find("MD006"), std::string::npos);
  EXPECT_NE(check(Writer("gemma2").sizes()).find("no tensor is stored here"), std::string::npos);
}

// Its tensors' types decide, not the option that names the method, which SGLang sets by itself.
TEST(Gguf, QuantisedTensorsHaveNoKernelOnXpu) {
  const testing::TemporaryDirectory root;
  for (const auto& [type, name] : {std::pair{0U, ""}, {1U, ""}, {30U, ""}, {2U, "Q4_0"}, {8U, "Q8_0"}}) {
    const std::string path =
        root.file("m.gguf", Writer("qwen3").sizes().tensor("a").tensor("output.weight", type, 32).file());
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--quantization", "gguf"}}) {
      std::vector<std::string> words = {"check", "--no-kernel", "--", "--model-path", path};
      words.insert(words.end(), more.begin(), more.end());
      const testing::ToolRun run = testing::run_tool(words);
      const bool told =
          run.out.find("warning[QN013]: GGUF weights stored as " + std::string(name) + ":") != std::string::npos;
      EXPECT_EQ(told, *name != '\0') << type << run.out << run.err;
      EXPECT_EQ(run.out.find("QN013]") != std::string::npos, *name != '\0') << type << run.out;
    }
  }
}

// A search resolves a launch thousands of times: a target and its draft do not put each other out.
TEST(Gguf, HeadersOfATargetAndItsDraftAreReadOnce) {
  const testing::TemporaryDirectory root;
  const std::string target = root.file("target.gguf", Writer("qwen3").sizes().tensor("b").tensor("a").file());
  const std::string draft = root.file("draft.gguf", Writer("qwen3").sizes().tensor("c").file());
  testing::wait_until_settled();
  const auto first = read_gguf(target, GgufReaders::kPackage);
  ASSERT_TRUE(first);
  EXPECT_THAT((*first)->tensors, ::testing::ElementsAre("a", "b"));
  for (const GgufReaders readers : {GgufReaders::kBoth, GgufReaders::kPackage}) ASSERT_TRUE(read_gguf(draft, readers));
  EXPECT_EQ(read_gguf(target, GgufReaders::kPackage).value(), *first);
  root.file("target.gguf", Writer("qwen3").sizes().tensor("other").file());
  EXPECT_THAT(read_gguf(target, GgufReaders::kPackage).value()->tensors, ::testing::ElementsAre("other"));
}

// Whatever a file says of its lengths, reading ends where the file ends.
TEST(Gguf, LengthsBeyondTheFileAreNoTrap) {
  const std::string good = Writer("llama")
                               .number("llama.block_count", 8)
                               .numbers("llama.sections", {1, 2, 3})
                               .texts("tokenizer.ggml.tokens", 3)
                               .tensor("output.weight")
                               .file();
  const std::size_t header = good.size() - 64;
  const testing::TemporaryDirectory root;
  for (std::size_t at = 4; at < header; ++at) {
    std::string bad = good;
    for (std::size_t i = 0; i < 8; ++i) bad[at + i] = static_cast<char>(0xFF);
    for (const GgufReaders readers : {GgufReaders::kPackage, GgufReaders::kBoth}) {
      const auto damaged = read_gguf(root.file("bad.gguf", bad), readers);
      EXPECT_TRUE(damaged || !damaged.error().exception.empty()) << at;
      EXPECT_FALSE(read_gguf(root.file("cut.gguf", good.substr(0, at)), readers)) << at;
    }
  }
}

// Read off 0.5.14, where loading assigns the quantization, and 0.5.15, where a pass of its own does.
TEST(Gguf, IsAQuantizationThatAPassSetsSince0515) {
  const testing::TemporaryDirectory root;
  root.file("model.gguf", Writer("llama").sizes().file());
  const std::string path = root.path() + "/model.gguf";
  const auto sets = [&](std::string_view step) {
    return testing::release_ranges([&](Release release) -> long {
      ModelFiles models(KnownModels::kNo);
      const ParseOutcome parsed = args::parse(release, {"--model-path", path});
      const Launch launch = resolve::resolve({std::get<ServerArgs>(parsed), models, testing::device_of("b60"), {}});
      long times = 0;
      for (const Change& change : launch.chain) {
        for (const auto& [field, value] : change.fields) {
          times += field == Field::quantization && change.step == step ? 1 : 0;
        }
      }
      return times;
    });
  };
  EXPECT_EQ(sets("_gguf_quantization"), "15-");
  EXPECT_EQ(sets("_handle_load_format"), "11-14");
}

}  // namespace
}  // namespace preflight::facts
