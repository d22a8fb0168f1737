#include "curnm/experiments/option_file.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace curnm {
namespace {

using testing::error_of;

GivenOptions parse(const std::string& yaml) {
  return parse_option_file(yaml, "run.yml", {"epochs", "miner", "data"});
}
std::string parse_error(const std::string& yaml) {
  return error_of([&] { parse(yaml); });
}

TEST(OptionFile, NamesAndValuesAsTheyAreWritten) {
  EXPECT_EQ(parse("epochs: 60\nminer: curnm  # the default\ndata: 'a b.csv'\n"),
            (GivenOptions{{"epochs", "60"}, {"miner", "curnm"}, {"data", "a b.csv"}}));
  EXPECT_EQ(parse(""), GivenOptions{});
  EXPECT_EQ(parse("{\"epochs\": 3}"), (GivenOptions{{"epochs", "3"}})) << "JSON is YAML";
}

TEST(OptionFile, MistakesAreSaidWithTheirPlace) {
  EXPECT_EQ(
      parse_error("epochs: 3\nminner: curnm\n"),
      "run.yml:2:1: unknown key 'minner'; did you mean 'miner'? (known: epochs, miner, data)");
  EXPECT_EQ(parse_error("epochs: [1, 2]\n"), "run.yml:1:9: a single value was expected here");
  EXPECT_EQ(parse_error("epochs: 1\nepochs: 2\n"), "run.yml:2:1: 'epochs' stands here twice");
  EXPECT_EQ(parse_error("- epochs\n"), "run.yml:1:1: options are a map: {epochs: 60}");
  EXPECT_EQ(parse_error("epochs: 1\n---\nepochs: 2\n"),
            "run.yml:3:1: a file has one run; a second begins here");
  EXPECT_TRUE(parse_error("epochs: {\n").starts_with("run.yml:"));
}

}  // namespace
}  // namespace curnm
