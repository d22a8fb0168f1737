#include "curnm/data/id_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "curnm/base/rng.h"
#include "support/errors.h"

namespace curnm {
namespace {

using testing::fails;

TEST(IdTableTest, NumbersFollowFirstAppearance) {
  IdTable table;
  EXPECT_EQ(table.size(), 0);
  EXPECT_EQ(table.intern("b"), 0);
  EXPECT_EQ(table.intern("a"), 1);
  EXPECT_EQ(table.intern("b"), 0);
  EXPECT_EQ(table.size(), 2);
  EXPECT_EQ(table.name(0), "b");
  EXPECT_EQ(table.name(1), "a");
}

TEST(IdTableTest, NamesAreBytesNotNumbers) {
  IdTable table;
  const std::string_view names[] = {"1", "01", "1.0", "", "a", "A", {"\0", 1}, {"\0\0", 2}};
  NodeId next = 0;
  for (std::string_view name : names) EXPECT_EQ(table.intern(name), next++) << name;
  next = 0;
  for (std::string_view name : names) EXPECT_EQ(table.intern(name), next++) << name;
}

TEST(IdTableTest, AgreesWithAMapOverManyNames) {
  IdTable table;
  std::map<std::string, NodeId> model;
  Rng rng(1, Stream::kTest);
  for (int i = 0; i < 100'000; ++i) {
    const std::string name = std::to_string(rng.below(30'000));
    const auto expected = model.emplace(name, static_cast<NodeId>(model.size())).first->second;
    ASSERT_EQ(table.intern(name), expected) << name;
  }
  ASSERT_EQ(table.size(), static_cast<NodeId>(model.size()));
  const IdMap ids = table.finish();
  for (const auto& [name, node] : model) ASSERT_EQ(ids.name(node), name);
}

TEST(IdTableTest, FullTablesKnowTheirNamesAndRefuseNewOnes) {
  IdTable table(/*capacity=*/2);
  table.intern("a");
  table.intern("b");
  EXPECT_TRUE(fails([&] { table.intern("c"); }, {"more than 2 distinct nodes"}));
  EXPECT_EQ(table.size(), 2);
  EXPECT_EQ(table.intern("a"), 0);
  EXPECT_EQ(table.intern("b"), 1);
  EXPECT_TRUE(fails([&] { table.intern("c"); }, {"more than 2 distinct nodes"}));
}

TEST(IdTableTest, FinishLeavesAnEmptyTableThatCanBeUsedAgain) {
  IdTable table;
  table.intern("a");
  table.intern("b");
  const IdMap first = table.finish();
  EXPECT_EQ(table.size(), 0);
  EXPECT_EQ(table.intern("b"), 0);
  const IdMap second = table.finish();
  EXPECT_EQ(first.name(0), "a");
  EXPECT_EQ(first.name(1), "b");
  EXPECT_EQ(second.name(0), "b");
}

TEST(IdMapTest, WithoutAMapTheNumberIsTheName) {
  const IdMap ids;
  EXPECT_TRUE(ids.empty());
  EXPECT_EQ(ids.name(17), "17");
}

TEST(IdMapTest, NamesComeBack) {
  IdTable table;
  for (const char* name : {"x", "", "a, b", "\xc3\xa9"}) table.intern(name);
  const IdMap ids = table.finish();
  EXPECT_FALSE(ids.empty());
  EXPECT_EQ(ids.offsets.size(), 5);
  EXPECT_EQ(ids.name(0), "x");
  EXPECT_EQ(ids.name(1), "");
  EXPECT_EQ(ids.name(2), "a, b");
  EXPECT_EQ(ids.name(3), "\xc3\xa9");
}

}  // namespace
}  // namespace curnm
