#include "curnm/nn/tensor_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "curnm/base/digest.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

using testing::fails;
using testing::TemporaryFolder;

constexpr TensorFileKind kKind{.name = "thing", .version = 1, .remedy = "make another"};

/// A file with a right digest, whatever it says.
std::string forged(const std::string& header, const std::string& values = "",
                   std::uint64_t length = UINT64_MAX) {
  if (length == UINT64_MAX) length = header.size();
  std::string bytes = "curnm thing 1\n";
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += header + values;
  return bytes + digest(bytes);
}

class TensorFileTest : public ::testing::Test {
 protected:
  ::testing::AssertionResult refuses(const std::string& bytes, const std::string& reason) const {
    return fails<UnusableRun>([&] { load_tensors(kKind, folder_.write("file", bytes)); },
                              {"file is damaged", reason, "make another"});
  }
  /// One tensor of that shape, and its values.
  static std::string one(const std::string& shape, const std::string& values = "",
                         const std::string& type = "f32") {
    return forged(R"({"document":{},"tensors":[{"name":"a","type":")" + type + R"(","shape":)" +
                      shape + "}]}",
                  values);
  }

  TemporaryFolder folder_;
};

TEST_F(TensorFileTest, RoundTrip) {
  TensorFile file{.document = {{"x", 1}}};
  file.tensors["a"] = at::arange(6, at::kFloat).view({2, 3});
  file.tensors["empty"] = at::zeros({0, 5}, at::kLong);
  file.put("list", std::vector<Tensor>{at::ones({}, at::kDouble)});
  save_tensors(file, kKind, folder_ / "file");
  const TensorFile found = load_tensors(kKind, folder_ / "file");
  EXPECT_EQ(found.document["x"], 1);
  EXPECT_TRUE(found.tensors.at("a").equal(file.tensors["a"]));
  EXPECT_EQ(found.tensors.at("empty").size(1), 5);
  EXPECT_EQ(found.list("list").size(), 1U);
}

TEST_F(TensorFileTest, ForgedLengthsAreRefused) {
  for (const std::uint64_t length : {std::uint64_t{1} << 63, std::uint64_t{3}, ~std::uint64_t{1}}) {
    EXPECT_TRUE(refuses(forged("{}", "", length), "longer")) << length;
  }
  EXPECT_TRUE(refuses(forged("{", ""), "not JSON"));
  EXPECT_TRUE(refuses(forged(std::string(100'000, '[')), "levels deep"));
  EXPECT_TRUE(refuses(forged("[]"), ""));
  EXPECT_TRUE(refuses(forged(R"({"document":3,"tensors":[]})"), "no object"));
}

TEST_F(TensorFileTest, ForgedShapesAreRefused) {
  EXPECT_TRUE(refuses(one("[-1]"), "no list of counts"));
  EXPECT_TRUE(refuses(one("[1.5]", "0000"), "no list of counts"));
  EXPECT_TRUE(refuses(one("[4294967296,4294967296]"), "larger than the file"));
  EXPECT_TRUE(refuses(one("[9223372036854775808]"), "larger than the file"));
  EXPECT_TRUE(refuses(one("[0,9223372036854775807,9223372036854775807]"), "larger than the file"));
  EXPECT_TRUE(refuses(one("[2]", "0000"), "larger than the file"));
  EXPECT_TRUE(refuses(one("[1]", "00000000"), "belong to no tensor"));
  EXPECT_TRUE(refuses(one("\"x\""), "no shape"));
  EXPECT_TRUE(refuses(one("[1,1,1,1,1,1,1,1,1]", "0000"), "no shape"));
  EXPECT_TRUE(refuses(one("[1]", "0000", "f16"), "unknown type"));
  EXPECT_TRUE(refuses(forged(R"({"document":{},"tensors":[{"name":"a","type":"u8","shape":[1]},)"
                             R"({"name":"a","type":"u8","shape":[1]}]})",
                             "00"),
                      "twice"));
}

TEST_F(TensorFileTest, ListsAreComplete) {
  TensorFile file{.document = {{"lists", {{"short", 2}, {"long", 1'000'000'000}}}}};
  file.tensors["short/0"] = at::zeros({1});
  file.tensors["short/2"] = at::zeros({1});
  EXPECT_TRUE(fails<UnusableRun>([&] { file.list("short"); }, {"a tensor is missing"}));
  EXPECT_THROW(file.list("long"), Error);
  EXPECT_THROW(file.list("none"), Error);
}

}  // namespace
}  // namespace curnm
