#include "curnm/base/registry.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace curnm {
namespace {

using testing::fails;

struct Tool : Component {
  int (*make)() = nullptr;
};

Registry<Tool> tools() {
  return {"tool",
          {{{"hammer", "drives nails"}, [] { return 1; }}, {{"saw", "cuts"}, [] { return 2; }}}};
}

TEST(RegistryTest, FindsByName) {
  const Registry<Tool> registry = tools();
  EXPECT_EQ(registry.at("saw").make(), 2);
  EXPECT_EQ(registry.at("hammer").summary, "drives nails");
  EXPECT_EQ(registry.names(), (std::vector<std::string_view>{"hammer", "saw"}));
}

TEST(RegistryTest, UnknownNamesAreUsageErrorsWithASuggestion) {
  const Registry<Tool> registry = tools();
  EXPECT_TRUE(
      fails<UsageError>([&] { registry.at("hamer"); },
                        {"unknown tool 'hamer'; did you mean 'hammer'? (known: hammer, saw)"}));
  EXPECT_TRUE(fails<UsageError>([&] { registry.at("screwdriver"); },
                                {"unknown tool 'screwdriver' (known: hammer, saw)"}));
  EXPECT_TRUE(fails<UsageError>([&] { registry.at(""); }, {"unknown tool ''"}));
}

TEST(RegistryTest, WhatIsAddedComesLastAndMovesNothing) {
  Registry<Tool> registry = tools();
  const Tool* first = &registry.at("hammer");
  for (int i = 0; i < 1000; ++i) {
    registry.add({{fmt::format("tool-{}", i), "another"}, [] { return 3; }});
  }
  EXPECT_EQ(&registry.at("hammer"), first);
  EXPECT_EQ(registry.at("tool-999").make(), 3);
  EXPECT_EQ(registry.names().size(), 1002u);
  EXPECT_EQ(registry.names().front(), "hammer");
  EXPECT_EQ(registry.names().back(), "tool-999");
  EXPECT_EQ(std::distance(registry.begin(), registry.end()), 1002);
}

TEST(RegistryTest, ANameIsTakenOnce) {
  Registry<Tool> registry = tools();
  EXPECT_TRUE(fails(
      [&] {
        registry.add({{"saw", "mine"}});
      },
      {"there is a tool named 'saw' already: give yours another name"}));
  EXPECT_TRUE(fails([&] { registry.add({{"", "mine"}}); }, {"a tool needs a name"}));
  EXPECT_EQ(registry.names().size(), 2u);
  EXPECT_EQ(registry.at("saw").summary, "cuts");
}

}  // namespace
}  // namespace curnm
