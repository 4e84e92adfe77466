#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/facts/remote_code.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Value config(const char* type, const char* code) {
  return Value::dict({{"model_type", type}, {"auto_map", Value::dict({{"AutoConfig", code}})}});
}

TEST(OwnCode, RunsWhereItIsAllowedNamedAndSglangHasNoClassOfItsOwn) {
  EXPECT_TRUE(facts::runs_own_code(v0_5(13), config("minicpm3", "configuration_minicpm.MiniCPM3Config"), true));
  EXPECT_FALSE(facts::runs_own_code(v0_5(13), config("minicpm3", "configuration_minicpm.MiniCPM3Config"), false));
  EXPECT_FALSE(facts::runs_own_code(v0_5(13), Value::dict({{"model_type", "minicpm3"}}), true));
  EXPECT_EQ(facts::own_code_file(config("x", "configuration_x.X")), "configuration_x.py");
  EXPECT_EQ(facts::own_code_file(config("x", "owner/repo--configuration_x.X")), "");
}

TEST(OwnCode, ThatLiesBesideTheConfigurationIsNotRunAndTheLaunchGoesOn) {
  const TemporaryDirectory folder;
  folder.file(
      "config.json",
      R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 4,
             "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 1000,
             "intermediate_size": 2048, "max_position_embeddings": 4096,
             "auto_map": {"AutoConfig": "configuration_q.QConfig"}})");
  const auto run = [&] {
    return run_tool({"check", "--no-kernel", "--details", "--", "--model-path", folder.path(), "--trust-remote-code"});
  };
  EXPECT_THAT(run().out, HasSubstr("configuration_q.py"));
  EXPECT_EQ(run().status, 1);
  folder.file("configuration_q.py", "class QConfig: pass\n");
  const ToolRun beside = run();
  EXPECT_EQ(beside.status, 0) << beside.out;
  EXPECT_THAT(beside.out, HasSubstr("MD003"));
  EXPECT_THAT(beside.out, Not(HasSubstr("RF001")));
}

TEST(OwnCode, PlainValuesOfItsConstructorAreRead) {
  constexpr std::string_view kCode = R"(
from transformers import LlamaConfig
class Other: pass
class QConfigBase:
    def __init__(self, hidden_size=1): pass

class QConfig(transformers.LlamaConfig):
    """hidden_size=5"""
    def __init__(
        self,
        vocab_size: int = 32_000,
        hidden_size=4096,  # (wide
        act="si(lu",
        eps=1e-6, scale: Optional[float] = None,
        use_cache=True,
        layers=[1, 2],
        width=4 * 8,
        lost=3,
        tie=False,
        most=inf, none=nan, rope=99999999999999999999,
        **kwargs,
    ):
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.act = act; self.eps = eps
        self.scale = scale; self.most = most; self.none = none; self.rope = rope
        self.layers = self.width = self.lost_more = 0
# a note
        super().__init__(use_cache=use_cache, tie = tie, **kwargs)
hidden_size = 7
)";
  const facts::OwnClass own = facts::own_class_in(kCode, "QConfig");
  EXPECT_EQ(own.base, "LlamaConfig");
  EXPECT_TRUE(own.defaults == Value::dict({{"vocab_size", 32000},
                                           {"hidden_size", 4096},
                                           {"act", "si(lu"},
                                           {"eps", 1e-6},
                                           {"scale", Value()},
                                           {"use_cache", true},
                                           {"tie", false}}))
      << own.defaults.repr();
  const facts::OwnClass later = facts::own_class_in(R"(@strict
class RConfig(PreTrainedConfig):
    r"""
    hidden_size = 5
    """
    model_type = "r"  # its own
    attribute_map = {"a": "b"}
    hidden_size: int | None = 4096
    heads: int = 4
    eps: float = 1e-5
    def __init__(self, heads=8):
        inner = 3
        self.heads = heads
    late: bool = True
    assert model_type == "r"
    def other(self): pass
)",
                                                    "RConfig");
  EXPECT_TRUE(later.defaults ==
              Value::dict({{"model_type", "r"}, {"hidden_size", 4096}, {"heads", 8}, {"eps", 1e-5}, {"late", true}}))
      << later.defaults.repr();
  EXPECT_TRUE(facts::own_class_in(kCode, "Other").named);
  EXPECT_TRUE(facts::own_class_in(kCode, "Other").defaults.as_dict().empty());
  EXPECT_FALSE(facts::own_class_in(kCode, "Another").named);
  EXPECT_EQ(facts::own_class_in("class A", "A").base, "");
  EXPECT_EQ(facts::own_class_in("class A(B", "A").base, "");
  EXPECT_TRUE(facts::own_class_in("class A(B):\n  def __init__(self, a='", "A").defaults.as_dict().empty());
}

// What the class has by itself is no reason to refuse, and config.json comes first.
TEST(OwnCode, GivesWhatTheConfigurationLacks) {
  const TemporaryDirectory folder;
  const auto resolved = [&](const std::string& reference) {
    folder.file("config.json", R"({"architectures": ["LlamaForCausalLM"], "model_type": "q", "hidden_size": 2048,
             "auto_map": {"AutoConfig": ")" +
                                   reference + R"("}})");
    return run_tool({"resolve", "--", "--model-path", folder.path(), "--trust-remote-code"}).out;
  };
  folder.file("configuration_q.py",
              "class QConfig(PretrainedConfig):\n    def __init__(self, hidden_size=1024, num_hidden_layers=4, "
              "num_attention_heads=8,\n                 num_key_value_heads=2, vocab_size=1000, "
              "max_position_embeddings=4096, **kw):\n        self.hidden_size = hidden_size\n        "
              "self.num_hidden_layers = num_hidden_layers\n        self.num_attention_heads = num_attention_heads\n"
              "        self.num_key_value_heads = num_key_value_heads\n        self.vocab_size = vocab_size\n"
              "        self.max_position_embeddings = max_position_embeddings\n        super().__init__(**kw)\n");
  EXPECT_THAT(resolved("configuration_q.QConfig"), Not(HasSubstr("refuse")));
  EXPECT_THAT(resolved("configuration_q.Nope"), HasSubstr("AttributeError in parse: configuration_q.py has no Nope"));
  EXPECT_THAT(resolved("QConfig"), HasSubstr("ValueError in parse"));
  EXPECT_THAT(resolved("a.configuration_q.QConfig"), HasSubstr("ValueError in parse"));
  EXPECT_THAT(resolved("own.er/repo--configuration_q.QConfig"), Not(HasSubstr("ValueError")));
}

TEST(OwnCode, OfAModelKnownByItsIdLiesOnTheHub) {
  for (const char* release : {"0.5.13", "0.5.19"}) {
    for (const char* id : {"openbmb/MiniCPM3-4B", "XiaomiMiMo/MiMo-V2-Flash"}) {
      const ToolRun run = run_tool(
          {"resolve", "--sglang-version", release, "--", "--model-path", id, "--trust-remote-code", "--device", "xpu"});
      EXPECT_THAT(run.out, Not(HasSubstr("refuses"))) << run.out;
      EXPECT_EQ(run.status, 0) << release << run.out;
    }
    const ToolRun without =
        run_tool({"check", "--no-kernel", "--sglang-version", release, "--", "--model-path", "openbmb/MiniCPM3-4B"});
    EXPECT_THAT(without.out, HasSubstr("--trust-remote-code")) << without.out;
    EXPECT_EQ(without.status, 1);
  }
}

TEST(OwnCode, OfAClassThatNobodyElseHasLiesBesideTheConfiguration) {
  constexpr const char* kSays = "MC001]: only the checkpoint has a class for QModel, and modeling_q.py is not beside";
  const TemporaryDirectory folder;
  const auto checked = [&](const std::string& architecture, const std::string& code, const std::string& impl) {
    folder.file("config.json", R"({"architectures": [")" + architecture +
                                   R"("], "model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 4,
             "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 1000,
             "intermediate_size": 2048, "max_position_embeddings": 4096, "auto_map": {"AutoModel": ")" +
                                   code + R"("}})");
    return run_tool({"check", "--no-kernel", "--no-fixes", "--", "--model-path", folder.path(), "--model-impl", impl})
        .out;
  };
  EXPECT_THAT(checked("QModel", "modeling_q.QModel", "auto"), HasSubstr(kSays));
  EXPECT_THAT(checked("QModel", "owner/repo--modeling_q.QModel", "auto"), Not(HasSubstr("MC001")));
  EXPECT_THAT(checked("QModel", "modeling_q.QModel", "transformers"), Not(HasSubstr("MC001")));
  EXPECT_THAT(checked("Qwen3ForCausalLM", "modeling_q.QModel", "auto"), Not(HasSubstr("MC001")));
  folder.file("modeling_q.py", "class QModel: pass\n");
  EXPECT_THAT(checked("QModel", "modeling_q.QModel", "auto"), Not(HasSubstr("MC001")));
}

// Python looks for "AutoConfig" in whatever auto_map is, a text and a list too, and SGLang then for an entry of it.
TEST(OwnCode, ThatIsNamedByNoObjectEndsTheLaunch) {
  const TemporaryDirectory folder;
  const auto checked = [&](const char* map) {
    folder.file("config.json",
                std::string(R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 1024,
             "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 128,
             "vocab_size": 1000, "intermediate_size": 2048, "max_position_embeddings": 4096, "auto_map": )") +
                    map + "}");
    return run_tool({"check", "--no-kernel", "--no-fixes", "--", "--model-path", folder.path()}).out;
  };
  for (const char* map : {"false", "true", "null", "0", "1.5", "\"my AutoConfig\"", "[\"AutoConfig\"]"}) {
    EXPECT_THAT(checked(map), HasSubstr("TypeError")) << map;
  }
  for (const char* map : {"\"configuration_q\"", "[\"Auto\", false]"}) {
    EXPECT_THAT(checked(map), HasSubstr("AttributeError in _is_deepseek_ocr_model")) << map;
  }
  for (const char* map : {"\"\"", "[]", "{}"}) {
    EXPECT_THAT(checked(map), Not(HasSubstr("refused"))) << map;
  }
}

}  // namespace
}  // namespace preflight::testing
