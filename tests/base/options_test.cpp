#include "curnm/base/options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/base/path.h"
#include "support/errors.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;
using testing::error_of;

enum class Colour { kRed, kGreen, kBlue };
constexpr ChoiceNames<3> choice_names(Colour) { return {"red", "green", "blue"}; }

/// One option of each type.
struct Paint {
  bool shiny = false;
  std::int64_t layers = 2;
  std::uint64_t seed = 7;
  double share = 0.5;
  double offset = 0;
  std::string label = "plain";
  Colour colour = Colour::kGreen;

  void fields(const FieldVisitor& visit) {
    visit({.name = "shiny", .help = "reflects"}, shiny);
    visit({.name = "layers", .help = "of paint", .min = 1, .max = 1e12}, layers);
    visit({.name = "seed", .help = "of the texture", .min = 0}, seed);
    visit({.name = "share", .help = "covered", .min = 0, .max = 1, .symbol = "s"}, share);
    visit({.name = "offset",
           .help = "any number",
           .idle = share == 0 ? "--share 0, which covers nothing" : ""},
          offset);
    visit({.name = "label", .help = "on the tin"}, label);
    visit({.name = "colour", .help = "of it"}, colour);
  }

  bool operator==(const Paint&) const = default;
};

/// The error of an option given as text; its kind and option are checked here, its text by tests.
std::string refusal(const std::string& name, const std::string& text,
                    OptionError::Kind kind = OptionError::Kind::kValue) {
  Paint paint;
  try {
    set_given({{name, text}}, paint);
  } catch (const OptionError& error) {
    EXPECT_EQ(error.option(), name);
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "";
}

Paint given(const GivenOptions& options) {
  Paint paint;
  set_given(options, paint);
  return paint;
}

TEST(OptionsTest, TakesOverWhatIsGivenAndLeavesTheRest) {
  const Paint paint = given({{"shiny", "true"},
                             {"layers", "3"},
                             {"seed", "11"},
                             {"share", "0.25"},
                             {"label", "--odd = text"},
                             {"colour", "blue"},
                             {"other", "nonsense"}});
  EXPECT_EQ(paint, (Paint{.shiny = true,
                          .layers = 3,
                          .seed = 11,
                          .share = 0.25,
                          .label = "--odd = text",
                          .colour = Colour::kBlue}));
  EXPECT_EQ(given({}), Paint{});
}

TEST(OptionsTest, Switches) {
  for (const char* yes : {"true", "yes", "on", "1"}) EXPECT_TRUE(given({{"shiny", yes}}).shiny);
  for (const char* no : {"false", "no", "off", "0"}) EXPECT_FALSE(given({{"shiny", no}}).shiny);
  for (const char* bad : {"", "TRUE", "2", "maybe", " true"}) {
    EXPECT_EQ(refusal("shiny", bad),
              "--shiny " + std::string(bad) + ": true or false was expected");
  }
}

TEST(OptionsTest, WholeNumbersMayBeWrittenInAnyWay) {
  EXPECT_EQ(given({{"layers", "1e6"}}).layers, 1'000'000);
  EXPECT_EQ(given({{"layers", "1E3"}}).layers, 1000);
  EXPECT_EQ(given({{"layers", "200.0"}}).layers, 200);
  EXPECT_EQ(given({{"layers", "007"}}).layers, 7);
  EXPECT_EQ(given({{"layers", "+5"}}).layers, 5);
  EXPECT_EQ(given({{"seed", "+5"}}).seed, 5u);
  EXPECT_EQ(given({{"seed", "1e6"}}).seed, 1'000'000u);
  EXPECT_EQ(given({{"seed", "9007199254740993"}}).seed, 9007199254740993u) << "2^53 + 1, exactly";
  EXPECT_EQ(given({{"seed", "18446744073709551615"}}).seed,
            std::numeric_limits<std::uint64_t>::max());
}

TEST(OptionsTest, WhatIsNoWholeNumberIsRefused) {
  for (const char* name : {"layers", "seed"}) {
    for (const char* bad : {"",
                            " ",
                            "x",
                            "1.5",
                            "1e-1",
                            "0x10",
                            "3 ",
                            " 3",
                            "3,000",
                            "1e19",
                            "99999999999999999999",
                            "1e400",
                            "nan",
                            "inf",
                            "-inf",
                            "+",
                            "-",
                            "+-5",
                            "--5",
                            "++5",
                            "true"}) {
      EXPECT_EQ(refusal(name, bad),
                "--" + std::string(name) + " " + bad + ": a whole number was expected");
    }
  }
}

TEST(OptionsTest, UnsignedNumbersAreNotNegative) {
  EXPECT_EQ(refusal("seed", "-1"), "--seed -1: a whole number, at least 0, was expected");
  EXPECT_EQ(refusal("seed", "-1e3"), "--seed -1e3: a whole number, at least 0, was expected");
  EXPECT_EQ(refusal("layers", "-1"),
            "--layers -1 is out of range: it must be between 1 and 1000000000000");
}

TEST(OptionsTest, RealNumbers) {
  EXPECT_EQ(given({{"share", "1"}}).share, 1);
  EXPECT_EQ(given({{"share", ".5"}}).share, 0.5);
  EXPECT_EQ(given({{"share", "+0.75"}}).share, 0.75);
  EXPECT_EQ(given({{"share", "2.5e-1"}}).share, 0.25);
  EXPECT_EQ(given({{"offset", "-1e300"}}).offset, -1e300);
  for (const char* bad :
       {"", " ", "x", "0,5", "0.5x", " 0.5", "1e400", "+", "+-5", "++5", "half"}) {
    EXPECT_EQ(refusal("offset", bad), "--offset " + std::string(bad) + ": a number was expected");
  }
}

TEST(OptionsTest, NumbersAreFiniteAndInTheirRange) {
  EXPECT_EQ(refusal("share", "1.5"), "--share 1.5 is out of range: it must be between 0 and 1 (s)");
  EXPECT_EQ(refusal("share", "-0.1"),
            "--share -0.1 is out of range: it must be between 0 and 1 (s)");
  EXPECT_EQ(refusal("share", "nan"), "--share nan is out of range: it must be between 0 and 1 (s)");
  EXPECT_EQ(refusal("offset", "nan"), "--offset nan is out of range: it must be a finite number");
  EXPECT_EQ(refusal("offset", "inf"), "--offset inf is out of range: it must be a finite number");
  EXPECT_EQ(refusal("offset", "-infinity"),
            "--offset -inf is out of range: it must be a finite number");
  EXPECT_EQ(refusal("layers", "0"),
            "--layers 0 is out of range: it must be between 1 and 1000000000000");
}

TEST(OptionsTest, ChoicesAreNamed) {
  EXPECT_EQ(refusal("colour", "gren"),
            "unknown value of --colour 'gren'; did you mean 'green'? (known: red, green, blue)");
  for (const char* bad : {"", "Red", "red ", "0", "redgreen"})
    EXPECT_NE(refusal("colour", bad), "");
  EXPECT_EQ(name_of(Colour::kBlue), "blue");
  EXPECT_EQ(name_of(Path::kPlain), "plain");
}

TEST(OptionsTest, RangesInWords) {
  EXPECT_EQ(range_of({.name = "a", .help = ""}), "");
  EXPECT_EQ(range_of({.name = "a", .help = "", .min = 1}), "at least 1");
  EXPECT_EQ(range_of({.name = "a", .help = "", .min = 0, .max = 0.9}), "between 0 and 0.9");
}

TEST(OptionsTest, CheckRangesNamesTheFirstThatIsWrong) {
  Paint paint;
  EXPECT_NO_THROW(check_ranges(paint));
  paint.layers = 0;
  paint.share = 7;
  EXPECT_EQ(error_of([&] { check_ranges(paint); }),
            "--layers 0 is out of range: it must be between 1 and 1000000000000");
  paint.layers = 1;
  paint.share = std::nan("");
  EXPECT_EQ(error_of([&] { check_ranges(paint); }),
            "--share nan is out of range: it must be between 0 and 1 (s)");
}

TEST(OptionsTest, WhatWasRefusedIsNotTakenOver) {
  Paint paint;
  for (const auto& [name, text] : GivenOptions{
           {"shiny", "x"}, {"layers", "0"}, {"seed", "-1"}, {"share", "2"}, {"colour", "grey"}}) {
    EXPECT_THROW(set_given({{name, text}}, paint), OptionError) << name;
    EXPECT_EQ(paint, Paint{}) << name;
  }
}

TEST(OptionsTest, JsonRoundTripIsExact) {
  Paint paint{.shiny = true,
              .layers = 999'999'999'999,
              .seed = std::numeric_limits<std::uint64_t>::max(),
              .share = 0.1,
              .offset = -1.0 / 3.0,
              .label = "\"quoted\" \n ü",
              .colour = Colour::kRed};
  const ordered_json json = to_json(paint);
  EXPECT_EQ(json["colour"], "red");
  EXPECT_EQ(json["shiny"], true);
  EXPECT_EQ(json["share"], 0.1);
  Paint again;
  from_json(ordered_json::parse(json.dump()), again);
  EXPECT_EQ(again, paint);
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"shiny", "layers", "seed", "share", "offset", "label",
                                             "colour"}));
}

TEST(OptionsTest, TextRoundTripIsExact) {
  Paint paint{.layers = 3, .share = 0.1 + 0.2, .offset = 1e-300, .colour = Colour::kBlue};
  GivenOptions texts;
  paint.fields([&](const Field& field, const OptionValue& value) {
    texts[std::string(field.name)] = value.text();
  });
  EXPECT_EQ(texts.at("shiny"), "false");
  EXPECT_EQ(texts.at("colour"), "blue");
  EXPECT_EQ(given(texts), paint);
}

TEST(OptionsTest, FromJsonOverwritesWhatIsThereAndRefusesTheRest) {
  Paint paint;
  from_json({{"layers", 5}, {"unknown", 1}}, paint);
  EXPECT_EQ(paint, Paint{.layers = 5});
  const auto refused = [](const char* name, const ordered_json& value) {
    Paint target;
    ordered_json json;
    json[name] = value;
    try {
      from_json(json, target);
    } catch (const OptionError& error) {
      return error.option() == name;
    }
    return false;
  };
  EXPECT_TRUE(refused("layers", 0));
  EXPECT_TRUE(refused("layers", 1.5));
  EXPECT_TRUE(refused("layers", nullptr));
  EXPECT_TRUE(refused("layers", ordered_json::array({1})));
  EXPECT_TRUE(refused("seed", -1));
  EXPECT_TRUE(refused("share", nullptr)) << "what JSON makes of nan";
  EXPECT_TRUE(refused("share", "much"));
  EXPECT_TRUE(refused("shiny", "perhaps"));
  EXPECT_TRUE(refused("colour", "grey"));
  EXPECT_TRUE(refused("colour", 1));
}

TEST(OptionsTest, NamesInTheirOrder) {
  Paint paint;
  EXPECT_EQ(option_names(paint), (std::vector<std::string_view>{"shiny", "layers", "seed", "share",
                                                                "offset", "label", "colour"}));
}

TEST(OptionsTest, AVisitorSeesWhatAnOptionIs) {
  Paint paint;
  std::vector<std::string> switches;
  std::vector<std::string> with_choices;
  paint.fields([&](const Field& field, const OptionValue& value) {
    if (value.is_switch()) switches.emplace_back(field.name);
    if (!value.choices().empty()) with_choices.emplace_back(field.name);
  });
  EXPECT_EQ(switches, std::vector<std::string>{"shiny"});
  EXPECT_EQ(with_choices, std::vector<std::string>{"colour"});
}

TEST(OptionsTest, WhatHasNoEffectIsRefusedWhereItWasGiven) {
  Paint paint{.share = 0};
  EXPECT_NO_THROW(refuse_idle({}, paint));
  EXPECT_NO_THROW(refuse_idle({{"share", "0"}, {"layers", "3"}}, paint));
  try {
    refuse_idle({{"offset", "1"}}, paint);
    FAIL() << "no exception";
  } catch (const OptionError& error) {
    EXPECT_EQ(error.kind(), OptionError::Kind::kNoEffect);
    EXPECT_EQ(error.option(), "offset");
    EXPECT_STREQ(error.what(), "--offset has no effect on --share 0, which covers nothing");
  }
  paint.share = 1;
  EXPECT_NO_THROW(refuse_idle({{"offset", "1"}}, paint));
}

TEST(OptionsTest, AStructThatStandsAloneRefusesOtherNames) {
  Paint paint;
  set_all_given({{"layers", "3"}}, paint, "paint");
  EXPECT_EQ(paint.layers, 3);
  try {
    set_all_given({{"layer", "2"}}, paint, "paint");
    FAIL() << "no exception";
  } catch (const OptionError& error) {
    EXPECT_EQ(error.kind(), OptionError::Kind::kUnknown);
    EXPECT_EQ(
        std::string(error.what()).find("unknown option of paint 'layer'; did you mean 'layers'?"),
        0U);
  }
}

/// Has everything that an options struct may have.
struct Course {
  std::int64_t length = 0;  // 0: all epochs
  std::int64_t least = 0;

  void fields(const FieldVisitor& visit) {
    visit({.name = "length", .help = "epochs", .min = 0}, length);
    visit({.name = "least", .help = "epochs", .min = 0}, least);
  }
  void check() const {
    if (length == 0 || least <= length) return;
    throw OptionError(OptionError::Kind::kConflict, "least", "--least is above --length");
  }
  void complete(const RunFacts& facts) {
    if (length == 0) length = facts.epochs;
  }
};

TEST(ErasedOptionsTest, CopiesAreDeep) {
  Options one(Paint{.layers = 3});
  Options two = one;
  two.as<Paint>().layers = 4;
  set_given({{"seed", "9"}}, two);
  EXPECT_EQ(one.as<Paint>(), Paint{.layers = 3});
  EXPECT_EQ(two.as<Paint>(), (Paint{.layers = 4, .seed = 9}));
  one = two;
  one.as<Paint>().layers = 5;
  EXPECT_EQ(two.as<Paint>().layers, 4);
}

TEST(ErasedOptionsTest, AreOptionsLikeTheStruct) {
  Paint paint{.share = 0.125};
  Options erased(paint);
  EXPECT_EQ(to_json(erased), to_json(paint));
  EXPECT_EQ(option_names(erased), option_names(paint));
  EXPECT_NO_THROW(erased.check());
  EXPECT_NO_THROW(erased.complete({.epochs = 3})) << "a struct need not have the hooks";
  EXPECT_EQ(erased.as<Paint>(), paint);
  erased.as<Paint>().share = 3;
  EXPECT_THROW(erased.check(), OptionError) << "ranges are checked all the same";
}

TEST(ErasedOptionsTest, HooksOfTheStruct) {
  Options options(Course{.least = 4});
  EXPECT_NO_THROW(options.check());
  options.complete({.epochs = 12});
  EXPECT_EQ(options.as<Course>().length, 12);
  options.complete({.epochs = 30});
  EXPECT_EQ(options.as<Course>().length, 12) << "only what was left open";
  options.as<Course>().least = 13;
  EXPECT_EQ(error_of([&] { options.check(); }), "--least is above --length");
  options.as<Course>().length = -1;
  EXPECT_EQ(error_of([&] { options.check(); }),
            "--length -1 is out of range: it must be at least 0")
      << "ranges first";
}

TEST(ErasedOptionsTest, NoneAtAll) {
  Options none;
  EXPECT_EQ(to_json(none), ordered_json::object());
  EXPECT_TRUE(option_names(none).empty());
  EXPECT_NO_THROW(none.check());
  EXPECT_NO_THROW(none.complete({}));
  EXPECT_NO_THROW(set_given({{"anything", "x"}}, none));
}

}  // namespace
}  // namespace curnm
