// The headers of weight files: sizes by tensor, and every way a checkpoint can be incomplete.
#include "src/facts/weight_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>

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
  const TemporaryDirectory whole;
  whole.file("model.safetensors", shard(kTwo, 17));  // more than is named does no harm
  EXPECT_THAT(read_weight_files(whole.path())->faults, IsEmpty());
}

TEST(WeightFiles, AShardThatTheIndexNamesMustBeThere) {
  const TemporaryDirectory dir;
  dir.file("model.safetensors.index.json",
           R"({"weight_map": {"a.weight": "m-1.safetensors", "c": "m-2.safetensors", "d": "../etc/x"}})");
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

}  // namespace
}  // namespace preflight::facts
