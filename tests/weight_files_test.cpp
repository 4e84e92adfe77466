// The headers of weight files: sizes by tensor, and every way a checkpoint can be incomplete.
#include "src/facts/weight_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_tool.h"

namespace preflight::facts {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryDirectory;

std::string length(std::uint64_t n) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(n >> (8 * i) & 0xffU);
  return out;
}

std::string shard(const std::string& header, std::size_t data) {
  return length(header.size()) + header + std::string(data, 'x');
}

const std::string kTwo =
    R"({"__metadata__":{"format":"pt"},"a.weight":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
    R"("b.bias":{"data_offsets":[12,16],"dtype":"F32","shape":[1]}}  )";

std::string one(const std::string& dtype, const std::string& shape, int begin, int end) {
  return R"({"a.weight":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(end) + "]}}";
}

TEST(WeightFiles, SizesAreReadByTensor) {
  const TemporaryDirectory dir;
  dir.file("model.safetensors", shard(kTwo, 16));
  const auto files = read_weight_files(dir.path());
  ASSERT_TRUE(files);
  EXPECT_THAT(files->faults, IsEmpty());
  EXPECT_EQ(files->bytes, 16);
  ASSERT_EQ(files->tensors.size(), 2U);
  EXPECT_EQ(files->tensors[0].name, "a.weight");
  EXPECT_EQ(files->tensors[0].dtype, "BF16");
  EXPECT_THAT(files->tensors[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(files->tensors[1].bytes, 4);
}

TEST(WeightFiles, ADirectoryWithoutAnyIsNotDamaged) {
  const TemporaryDirectory dir;
  dir.file("config.json", "{}");
  EXPECT_FALSE(read_weight_files(dir.path()));
  dir.file("model.safetensors.index.json", R"({"weight_map": {"a": "model-00001-of-00002.safetensors"}})");
  EXPECT_FALSE(read_weight_files(dir.path()));  // fetched for its sizes
  EXPECT_FALSE(read_weight_files("/nonexistent"));
}

// Such a folder is told of, and is no fault: the launch may be for another machine.
TEST(WeightFiles, AnIndexWithoutItsFilesIsANote) {
  const TemporaryDirectory dir;
  dir.file("config.json", R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 4})");
  const auto check = [&] {
    return testing::run_tool({"check", "--no-kernel", "--details", "--", "--model-path", dir.path()});
  };
  EXPECT_EQ(check().out.find("MD007"), std::string::npos);
  dir.file("model.safetensors.index.json", R"({"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}})");
  const testing::ToolRun alone = check();
  EXPECT_EQ(alone.status, 0) << alone.err;
  const std::string note = "info[MD007]: " + dir.path() + ": none of the 2 weight files that its index names are there";
  EXPECT_NE(alone.out.find(note), std::string::npos) << alone.out;
  dir.file("m-1.safetensors", shard(kTwo, 16));
  const testing::ToolRun one = check();
  EXPECT_EQ(one.out.find("MD007"), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("MD004"), std::string::npos) << one.out;
}

// The loader asks no shard for what the index puts there: another shard's tensor is found, one of none is not.
TEST(WeightFiles, WhatTheIndexNamesAndNoFileHoldsIsTold) {
  const TemporaryDirectory dir;
  const auto unstored = [&](const std::string& map) {
    dir.file("model.safetensors.index.json", R"({"weight_map": {)" + map + "}}");
    return read_weight_files(dir.path())->unstored;
  };
  dir.file("m-1.safetensors", shard(kTwo, 16));
  dir.file("m-2.safetensors", shard(R"({"c":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
  const std::string both = R"("a.weight": "m-1.safetensors", "b.bias": "m-2.safetensors", "c": "m-2.safetensors")";
  EXPECT_EQ(unstored(both), "");
  EXPECT_EQ(unstored(both + R"(, "d": "m-1.safetensors")"), "d, which it puts into m-1.safetensors");
  EXPECT_EQ(unstored(both + R"(, "d": "m-1.safetensors", "e": "m-1.safetensors")"),
            "d, which it puts into m-1.safetensors, and 1 more");
  dir.file("config.json",
           R"({"architectures": ["GlmForCausalLM"], "model_type": "glm", "num_hidden_layers": 4, "head_dim": 64,
               "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4})");
  const auto run = testing::run_tool({"check", "--no-kernel", "--", "--model-path", dir.path()});
  EXPECT_THAT(run.out, HasSubstr("warning[MD006]: " + dir.path() + ": no file holds what the index names: d, "));
}

// A folder that a download was cut off in; one that holds a configuration alone is another matter.
TEST(WeightFiles, WhatIsLeftOfADownloadIsAFault) {
  for (const char* left : {"model.safetensors.incomplete", ".cache/huggingface/download/Zm9v.abc.incomplete"}) {
    const TemporaryDirectory dir;
    dir.file("config.json", "{}");
    dir.file(left, "x");
    const auto files = read_weight_files(dir.path());
    ASSERT_TRUE(files) << left;
    EXPECT_THAT(files->faults, ElementsAre(HasSubstr("what is left of a download"))) << left;
    dir.file("model.safetensors", shard(kTwo, 16));  // of an earlier try
    EXPECT_THAT(read_weight_files(dir.path())->faults, IsEmpty()) << left;
  }
}

TEST(WeightFiles, EachDamageHasItsLine) {
  struct Row {
    std::string content;
    const char* fault;
  };
  const Row rows[] = {
      {shard(kTwo, 15), "is cut short"},
      {shard(kTwo, 16).substr(0, 40), "its header alone has"},
      {"1234567", "is cut short: 7 bytes"},
      {"", "is cut short: 0 bytes"},
      {length(UINT64_MAX) + "{}", "longer than the format allows"},
      {length(100'000'001) + "{}", "longer than the format allows"},
      {shard("{\"a\":", 0), "cannot be understood"},
      {shard("[]", 0), "cannot be understood"},
      {shard(R"({"a":{"dtype":"BF16","shape":[1],"data_offsets":[4,2]}})", 8), "cannot be understood"},
      {shard(R"({"a":{"dtype":"BF16","shape":[1]}})", 8), "cannot be understood"},
      {shard(one("BF16", "[4000,4]", 0, 32), 32), "a.weight has 32 bytes, its shape and BF16 ask for 32000"},
      {shard(one("BF16", "[4,3]", 0, 32), 32), "a.weight has 32 bytes, its shape and BF16 ask for 24"},
      {shard(one("BF16", "[9223372036854775807,4]", 0, 32), 32), "its shape and BF16 ask for another number"},
      {shard(one("F4", "[3]", 0, 2), 2), "its shape and F4 ask for another number"},
      {shard(one("XX", "[4,4]", 0, 32), 32), "the dtype XX of a.weight is not known"},
      {shard(one("BF16", "[4,4]", 16, 48), 48), "no tensor has the bytes before a.weight"},
      {shard(
           R"({"a":{"dtype":"I8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"I8","shape":[8],"data_offsets":[0,8]}})",
           8),
       "b lies on the bytes of another tensor"},
      {shard(
           R"({"a":{"dtype":"I8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"I8","shape":[8],"data_offsets":[9,17]}})",
           17),
       "no tensor has the bytes before b"},
      {shard(kTwo + "x", 16), "cannot be understood"},
      {shard(R"({"__metadata__":{},"__metadata__":{}})", 0), "cannot be understood"},
      {shard(R"({"__metadata__":{"a":1}})", 0), "cannot be understood"},
      {shard(R"({"a":{"dtype":"I8","dtype":"I8","shape":[8],"data_offsets":[0,8]}})", 8), "cannot be understood"},
      {shard(R"({"a":{"dtype":"I8","data_offsets":[0,8]}})", 8), "cannot be understood"},
      {shard(kTwo, 17), "its header tells of"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS pointer"},
  };
  for (const Row& row : rows) {
    const TemporaryDirectory dir;
    dir.file("model.safetensors", row.content);
    const auto files = read_weight_files(dir.path());
    ASSERT_TRUE(files) << row.fault;
    ASSERT_EQ(files->faults.size(), 1U) << row.fault;
    EXPECT_THAT(files->faults[0], HasSubstr(row.fault));
  }
}

TEST(WeightFiles, WhatTheLibraryOpensIsWhole) {
  struct Row {
    std::string header;
    std::size_t data;
  };
  const Row rows[] = {
      {"{}", 0},
      {R"({"__metadata__":null})", 0},
      {one("F32", "[]", 0, 4), 4},
      {one("F4", "[16]", 0, 8), 8},
      {one("BF16", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]", 0, 4), 4},
      {one("BF16", "[0,4]", 0, 0), 0},
      // Out of order, an empty one in between, and what a newer writer may add.
      {R"({"b":{"dtype":"I8","shape":[8],"data_offsets":[4,12],"x":{"y":[1,"]",null]}},)"
       R"("e":{"dtype":"I8","shape":[0],"data_offsets":[4,4]},"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]}})",
       12},
  };
  for (const Row& row : rows) {
    const TemporaryDirectory dir;
    dir.file("model.safetensors", shard(row.header, row.data));
    EXPECT_THAT(read_weight_files(dir.path())->faults, IsEmpty()) << row.header;
  }
}

TEST(WeightFiles, AShardThatTheIndexNamesMustBeThere) {
  const TemporaryDirectory dir;
  dir.file("model.safetensors.index.json",
           R"({"weight_map": {"a.weight": "m-1.safetensors", "c": "m-2.safetensors"}})");
  dir.file("m-1.safetensors", shard(kTwo, 16));
  EXPECT_THAT(read_weight_files(dir.path())->faults, ElementsAre("m-2.safetensors is missing"));
  std::filesystem::create_symlink("nowhere", dir.path() + "/m-2.safetensors");
  EXPECT_THAT(read_weight_files(dir.path())->faults, ElementsAre(HasSubstr("a link to a file that is not there")));
  std::filesystem::remove(dir.path() + "/m-2.safetensors");
  mkfifo((dir.path() + "/m-2.safetensors").c_str(), 0600);  // never opened: that would wait forever
  EXPECT_THAT(read_weight_files(dir.path())->faults, ElementsAre("m-2.safetensors is no regular file"));
}

TEST(WeightFiles, AnIndexThatIsNoneIsAFault) {
  const TemporaryDirectory dir;
  dir.file("model.safetensors.index.json", "{");
  dir.file("m-1.safetensors", shard(kTwo, 16));
  EXPECT_THAT(read_weight_files(dir.path())->faults, ElementsAre(HasSubstr("index.json cannot be understood")));
}

TEST(WeightFiles, AnIndexNamesFilesOfItsFolder) {
  struct Row {
    const char* map;
    const char* fault;
  };
  const Row rows[] = {
      {R"({"a": "../m-1.safetensors"})", "puts a into a file outside of the folder: ../m-1.safetensors"},
      {R"({"a": "/dev/zero"})", "puts a into a file outside of the folder: /dev/zero"},
      {R"({"a": ""})", "puts a into a file outside of the folder: "},
      {R"({"a": 5})", "names no file for a"},
      {R"({"a": null})", "names no file for a"},
      {R"({"a": {"weight_map": "m-1.safetensors"}})", "names no file for a"},
      {R"({"a": ["m-1.safetensors"]})", "names no file for a"},
      {"null", "cannot be understood"},
      {"[]", "cannot be understood"},
  };
  for (const Row& row : rows) {
    const TemporaryDirectory dir;
    dir.file("model.safetensors.index.json", std::string(R"({"weight_map": )") + row.map + "}");
    ASSERT_TRUE(read_weight_files(dir.path())) << row.map;
    EXPECT_THAT(read_weight_files(dir.path())->faults, ElementsAre(HasSubstr(row.fault)));
  }
}

// A million tensors: one line each in the index, which is longer than any configuration, and no tree is made of it.
TEST(WeightFiles, AMillionTensorsNeedNoTree) {
  const TemporaryDirectory dir;
  std::string index =
      R"({"metadata": {"total_size": 8, "weight_map": {"x": "elsewhere"}}, "weight_map": {"a.weight": )";
  index += R"("m-1.safetensors", "b": "m-1.safetensors")";
  for (int i = 0; i < 1'000'000; ++i)
    index += fmt::format(R"(, "model.layers.{}.mlp.experts.{}.down_proj.weight": "m-1.safetensors")", i % 64, i);
  dir.file("model.safetensors.index.json", index + "}}");
  dir.file("m-1.safetensors", shard(kTwo, 16));
  ASSERT_GT(index.size(), std::size_t{64} << 20U);
  const auto files = read_weight_files(dir.path());
  ASSERT_TRUE(files);
  EXPECT_THAT(files->faults, ::testing::IsEmpty());
  EXPECT_EQ(files->files, 1U);
}

// Experts that differ in their number alone are counted together; their bytes are the same, and so is what follows.
TEST(WeightFiles, ExpertsOfALayerAreOneTensorOfAllTheirBytes) {
  const TemporaryDirectory dir;
  std::string header = "{";
  auto add = [&, at = 0](const std::string& name, const char* shape, int bytes) mutable {
    header += fmt::format(R"({}"{}": {{"dtype": "BF16", "shape": {}, "data_offsets": [{}, {}]}})",
                          header.size() > 1 ? ", " : "", name, shape, at, at + bytes);
    at += bytes;
  };
  for (int e = 0; e < 12; ++e) add(fmt::format("model.layers.0.mlp.experts.{}.up_proj.weight", e), "[2, 2]", 8);
  add("model.layers.0.mlp.experts.0.down_proj.weight", "[2, 2]", 8);
  add("model.layers.1.mlp.experts.1.up_proj.weight", "[2, 2]", 8);
  add("model.layers.0.mlp.experts.12.up_proj.weight", "[4]", 8);  // of another shape
  add("model.layers.0.mlp.experts.gate_up_proj", "[2, 2]", 8);
  dir.file("model.safetensors", shard(header + "}", 16 * 8));
  const auto files = read_weight_files(dir.path());
  ASSERT_TRUE(files);
  EXPECT_THAT(files->faults, ::testing::IsEmpty());
  EXPECT_EQ(files->bytes, 16 * 8);
  EXPECT_EQ(files->tensors.size(), 5U);
  EXPECT_EQ(files->tensors[0].bytes, 12 * 8);
}

// The loader takes the shards that the index names, whatever others are there.
TEST(WeightFiles, AnIndexOfOtherFilesIsNoSpareOne) {
  const TemporaryDirectory dir;
  dir.file("model.safetensors.index.json", R"({"weight_map": {"a": "m-1.safetensors"}})");
  dir.file("other.safetensors", shard(kTwo, 16));
  EXPECT_THAT(read_weight_files(dir.path())->faults, ElementsAre("m-1.safetensors is missing"));
}

TEST(WeightFiles, ANumberedShardTellsOfTheOthers) {
  struct Row {
    std::vector<std::string> there;
    std::vector<std::string> faults;
  };
  const Row rows[] = {
      {{"model-00001-of-00002"}, {"model-00002-of-00002.safetensors is missing"}},
      {{"model-00002-of-00002"}, {"model-00001-of-00002.safetensors is missing"}},
      {{"model-00001-of-00002", "model-00002-of-00002"}, {}},
      {{"model-00001-of-000003", "model-00003-of-000003"}, {"model-00002-of-000003.safetensors is missing"}},
      {{"model-00000-of-00002", "model-00001-of-00002"}, {}},
      {{"model-00001-of-00001", "mtp"}, {}},
      {{"model", "model-00001-of-00002"}, {}},  // whole, beside what is left of another download
      {{"model-rank-0-part-0"}, {}},
      {{"a-1-of-1", "._a-1-of-1"}, {}},
  };
  for (const Row& row : rows) {
    const TemporaryDirectory dir;
    for (const std::string& name : row.there) {
      dir.file(name + ".safetensors", name.starts_with('.') ? "x" : shard(kTwo, 16));
    }
    EXPECT_EQ(read_weight_files(dir.path())->faults, row.faults) << row.there.front();
  }
}

}  // namespace
}  // namespace preflight::facts
