#include "curnm/data/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/datasets.h"
#include "support/errors.h"
#include "support/npy_writer.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

using testing::fails;
using testing::npy_file;
using testing::npy_matrix;
using testing::NpyHeader;
using testing::raw_bytes;
using testing::to_vector;
using Values = std::vector<float>;

class NpyTest : public ::testing::Test {
 protected:
  std::filesystem::path write(std::string_view bytes) const {
    return folder_.write("x.npy", bytes);
  }
  FeatureMatrix read(std::string_view bytes) const { return read_npy(write(bytes)); }
  /// The values of a column vector of the given type.
  template <class T>
  Values converted(const std::string& descr, const std::vector<T>& values) const {
    return to_vector(
        read(npy_file({.descr = descr, .shape = "(" + std::to_string(values.size()) + ", 1)"},
                      raw_bytes(values)))
            .values);
  }
  ::testing::AssertionResult refuses(std::string_view bytes, std::vector<std::string> parts) const {
    parts.push_back("x.npy");
    return fails([&] { read(bytes); }, parts);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(NpyTest, MatrixOfFloats) {
  const FeatureMatrix matrix = read(npy_matrix(2, 3, {1, 2, 3, 4, 5, 6.5F}));
  EXPECT_EQ(matrix.width, 3);
  EXPECT_EQ(matrix.rows(), 2);
  EXPECT_EQ(to_vector(matrix.values), (Values{1, 2, 3, 4, 5, 6.5F}));
}

TEST_F(NpyTest, OneDimensionIsAColumn) {
  const FeatureMatrix matrix = read(npy_file({.shape = "(3,)"}, raw_bytes<float>({7, 8, 9})));
  EXPECT_EQ(matrix.width, 1);
  EXPECT_EQ(matrix.rows(), 3);
  EXPECT_EQ(to_vector(matrix.values), (Values{7, 8, 9}));
}

TEST_F(NpyTest, FortranOrderIsTransposed) {
  const FeatureMatrix matrix = read(
      npy_file({.shape = "(2, 3)", .fortran_order = true}, raw_bytes<float>({1, 4, 2, 5, 3, 6})));
  EXPECT_EQ(matrix.width, 3);
  EXPECT_EQ(to_vector(matrix.values), (Values{1, 2, 3, 4, 5, 6}));
}

TEST_F(NpyTest, LongHeaders) {
  for (int version : {2, 3}) {
    const FeatureMatrix matrix =
        read(npy_file({.shape = "(1, 2)", .version = version}, raw_bytes<float>({1, 2})));
    EXPECT_EQ(to_vector(matrix.values), (Values{1, 2})) << version;
  }
}

TEST_F(NpyTest, EveryNumberTypeBecomesFloat) {
  EXPECT_EQ(converted<double>("<f8", {0.1, -2.5}), (Values{0.1F, -2.5F}));
  EXPECT_EQ(converted<std::int64_t>("<i8", {-5, 1LL << 40}), (Values{-5, 0x1p40F}));
  EXPECT_EQ(converted<std::int32_t>("<i4", {-7, 100000}), (Values{-7, 100000}));
  EXPECT_EQ(converted<std::int16_t>("<i2", {-32768, 32767}), (Values{-32768, 32767}));
  EXPECT_EQ(converted<std::int8_t>("|i1", {-128, 127}), (Values{-128, 127}));
  EXPECT_EQ(converted<std::uint64_t>("<u8", {5, 1ULL << 63}), (Values{5, 0x1p63F}));
  EXPECT_EQ(converted<std::uint32_t>("<u4", {4294967295U}), (Values{0x1p32F}));
  EXPECT_EQ(converted<std::uint16_t>("<u2", {65535}), (Values{65535}));
  EXPECT_EQ(converted<std::uint8_t>("|u1", {255}), (Values{255}));
  EXPECT_EQ(converted<std::uint8_t>("|b1", {0, 1}), (Values{0, 1}));
}

TEST_F(NpyTest, HalfFloats) {
  // 1, -2, the largest, the smallest normal, the smallest of all, zero, minus zero, 1/3 rounded.
  EXPECT_EQ(converted<std::uint16_t>(
                "<f2", {0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x0000, 0x8000, 0x3555}),
            (Values{1, -2, 65504, 0x1p-14F, 0x1p-24F, 0, -0.0F, 0.333251953125F}));
  EXPECT_TRUE(
      refuses(npy_file({.descr = "<f2", .shape = "(1,)"}, raw_bytes<std::uint16_t>({0x7c00})),
              {"inf", "finite"}));
  EXPECT_TRUE(
      refuses(npy_file({.descr = "<f2", .shape = "(1,)"}, raw_bytes<std::uint16_t>({0x7e00})),
              {"nan", "finite"}));
}

TEST_F(NpyTest, EmptyArraysHaveNoFeatures) {
  for (const char* shape : {"(0,)", "(0, 3)", "(4, 0)"}) {
    const FeatureMatrix matrix = read(npy_file({.shape = shape}, ""));
    EXPECT_EQ(matrix.rows(), 0) << shape;
    EXPECT_TRUE(matrix.values.empty()) << shape;
  }
}

TEST_F(NpyTest, ValuesThatAreNotFiniteAreNamedByPlace) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(
      refuses(npy_matrix(2, 3, {1, 2, 3, 4, nan, 6}), {"row 1, column 1", "nan", "finite"}));
  EXPECT_TRUE(refuses(npy_matrix(1, 2, {1, -inf}), {"row 0, column 1", "-inf", "finite"}));
  const NpyHeader columns_first = {.shape = "(2, 3)", .fortran_order = true};
  EXPECT_TRUE(refuses(npy_file(columns_first, raw_bytes<float>({1, nan, 2, 5, 3, 6})),
                      {"row 1, column 0", "nan"}));
  EXPECT_TRUE(refuses(npy_file({.descr = "<f8", .shape = "(1,)"}, raw_bytes<double>({1e300})),
                      {"row 0, column 0"}))
      << "too large for 32 bits";
}

TEST_F(NpyTest, EveryTruncationIsRefused) {
  const std::string whole = npy_matrix(3, 2, {1, 2, 3, 4, 5, 6});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(refuses(whole.substr(0, size), {})) << size << " bytes";
  }
  EXPECT_TRUE(refuses(whole.substr(0, whole.size() - 1), {"truncated", "3 x 2"}));
  EXPECT_TRUE(refuses(whole.substr(0, 40), {"truncated inside its header"}));
}

TEST_F(NpyTest, SurplusValuesAreRefused) {
  EXPECT_TRUE(refuses(npy_matrix(2, 2, {1, 2, 3, 4, 5, 6}), {"2 x 2", "6"}));
  EXPECT_TRUE(refuses(npy_matrix(2, 2, {1, 2, 3, 4, 5}), {"2 x 2", "5"})) << "less than a row";
}

TEST_F(NpyTest, OtherTypesAreRefusedWithAdvice) {
  for (const char* descr : {">f4", "<c8", "|O", "<U3", "<M8[s]", "<f16"}) {
    EXPECT_TRUE(refuses(npy_file({.descr = descr, .shape = "(1, 1)"}, std::string(16, '\0')),
                        {std::string("'") + descr + "'", "float32"}));
  }
}

TEST_F(NpyTest, OtherDimensionsAreRefused) {
  EXPECT_TRUE(
      refuses(npy_file({.shape = "(1, 2, 2)"}, raw_bytes<float>({1, 2, 3, 4})), {"3 dimensions"}));
  EXPECT_TRUE(refuses(npy_file({.shape = "()"}, raw_bytes<float>({1})), {"0 dimensions"}));
}

TEST_F(NpyTest, AbsurdShapesAreRefused) {
  for (const char* shape :
       {"(1099511627776, 1099511627776)", "(4294967296, 4294967296)", "(-1, 4)",
        "(99999999999999999999,)", "(1099511627776,)", "(3, x)", "7", "(2, 2"}) {
    EXPECT_TRUE(refuses(npy_file({.shape = shape}, std::string(16, '\0')), {})) << shape;
  }
}

// A loop over rows without columns would run for minutes.
TEST_F(NpyTest, ManyRowsWithoutColumnsTakeNoTime) {
  const auto path = write(npy_file({.shape = "(1099511627776, 0)", .fortran_order = true}, ""));
  EXPECT_EXIT(
      {
        ::alarm(10);
        try {
          read_npy(path);
        } catch (const Error&) {
        }
        ::_exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(NpyTest, OtherFilesAreRefused) {
  for (const char* bytes :
       {"", "src,dst,time\n1,2,3\n", "\x93NUMPY", "\x93NUMPX\x01\x00 and more text"}) {
    EXPECT_TRUE(refuses(bytes, {"not a .npy file"})) << bytes;
  }
  EXPECT_TRUE(fails([&] { read_npy(folder_ / "missing.npy"); }, {"missing.npy", "No such file"}));
}

TEST_F(NpyTest, HeadersWithoutTheirKeysAreRefused) {
  const std::string good = npy_matrix(1, 1, {1});
  for (const char* key : {"descr", "fortran_order", "shape"}) {
    std::string bytes = good;
    bytes[bytes.find(key)] = 'X';
    EXPECT_TRUE(refuses(bytes, {key})) << key;
  }
}

}  // namespace
}  // namespace curnm
