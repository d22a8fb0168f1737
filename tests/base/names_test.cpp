#include "curnm/base/names.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "support/errors.h"

namespace curnm {
namespace {

constexpr std::array<std::string_view, 3> kReaders = {"auto", "csv", "tgl"};
constexpr std::array<std::string_view, 4> kOptions = {"seed", "epochs", "neighbors", "batch-size"};

std::string message_of_unknown(std::string_view kind, std::string_view name,
                               std::span<const std::string_view> candidates) {
  try {
    unknown_name(kind, name, candidates);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(NearestNameTest, FindsOneTypingMistake) {
  EXPECT_EQ(nearest_name("sead", kOptions), "seed");             // replaced
  EXPECT_EQ(nearest_name("epoch", kOptions), "epochs");          // missing
  EXPECT_EQ(nearest_name("neighbours", kOptions), "neighbors");  // added
  EXPECT_EQ(nearest_name("SEED", kOptions), "seed");             // case
  EXPECT_EQ(nearest_name("batch_size", kOptions), "batch-size");
}

TEST(NearestNameTest, FindsTwoSwappedLetters) {
  EXPECT_EQ(nearest_name("epohcs", kOptions), "epochs");
  EXPECT_EQ(nearest_name("cvs", kReaders), "csv");  // the example of names.h
}

TEST(NearestNameTest, PrefersTheNearest) {
  constexpr std::array<std::string_view, 3> kSimilar = {"recently", "recent", "recant"};
  EXPECT_EQ(nearest_name("recent", kSimilar), "recent");
  EXPECT_EQ(nearest_name("recents", kSimilar), "recent");
  EXPECT_EQ(nearest_name("recantt", kSimilar), "recant");
}

TEST(NearestNameTest, SuggestsNothingFarAway) {
  EXPECT_EQ(nearest_name("wikipedia", kReaders), "");
  EXPECT_EQ(nearest_name("momentum", kOptions), "");
  EXPECT_EQ(nearest_name("csv", {}), "");
}

TEST(UnknownNameTest, SaysWhatIsKnownAndWhatWasMeant) {
  EXPECT_EQ(message_of_unknown("reader", "cvs", kReaders),
            "unknown reader 'cvs'; did you mean 'csv'? (known: auto, csv, tgl)");
}

TEST(UnknownNameTest, SuggestsNothingFarAway) {
  const std::string message = message_of_unknown("reader", "wikipedia", kReaders);
  EXPECT_NE(message.find("unknown reader 'wikipedia'"), std::string::npos) << message;
  EXPECT_NE(message.find("known: auto, csv, tgl"), std::string::npos) << message;
  EXPECT_EQ(message.find("did you mean"), std::string::npos) << message;
}

struct NamedNumber {
  std::string_view name;
  int number;
};
constexpr std::array<NamedNumber, 3> kNumbers = {{{"one", 1}, {"two", 2}, {"three", 3}}};

TEST(FindEntryTest, FindsEveryEntryItself) {
  for (const NamedNumber& entry : kNumbers) {
    EXPECT_EQ(&find_entry("number", std::span<const NamedNumber>(kNumbers), entry.name), &entry);
  }
}

TEST(FindEntryTest, ThrowsForUnknownNames) {
  const std::span<const NamedNumber> table(kNumbers);
  for (std::string_view name : {"", "on", "One", "onetwo", "four"}) {
    EXPECT_THROW(find_entry("number", table, name), UsageError) << name;
  }
  EXPECT_TRUE(testing::fails<UsageError>([&] { find_entry("number", table, "thre"); },
                                         {"did you mean 'three'?", "one, two, three"}));
}

TEST(NearestNameTest, LongNamesAreNotCompared) {
  const std::string name(1 << 20, 'x');
  EXPECT_EQ(nearest_name(name, kOptions), "");
  const std::vector<std::string> long_names(1000, std::string(1 << 20, 'y'));
  const std::vector<std::string_view> views(long_names.begin(), long_names.end());
  EXPECT_EQ(nearest_name("seed", views), "");
  const std::string message = message_of_unknown("option", name, kOptions);
  EXPECT_LT(message.size(), 300U);
  EXPECT_NE(message.find("xxx... (1048576 bytes)"), std::string::npos) << message;
}

TEST(QuotableTest, CutsBetweenLetters) {
  EXPECT_EQ(quotable("short"), "short");
  std::string text = "x";
  for (int i = 0; i < 200; ++i) text += "ü";
  EXPECT_EQ(quotable(text).substr(0, 62), text.substr(0, 59) + "...") << quotable(text);
}

}  // namespace
}  // namespace curnm
