#include "curnm/curriculum/curriculum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "support/errors.h"

namespace curnm {
namespace {

using testing::fails;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Steps that are exact in binary, so that trajectories can be compared for equality.
CurnmOptions exact_steps() {
  CurnmOptions options;
  options.pi = 0.75;
  options.pi_min = 0.25;
  options.shrink = 0.125;
  options.plateau = Plateau::kRaise;
  return options;
}

/// The options as a training of that many epochs has them.
CurnmOptions resolved(CurnmOptions options, std::int64_t epochs) {
  check_ranges(options);
  options.check();
  options.complete({.epochs = epochs});
  return options;
}

/// pi of the epochs after each metric.
std::vector<double> trajectory(const CurnmOptions& options, const std::vector<double>& metrics) {
  Curriculum curriculum(resolved(options, /*epochs=*/100));
  std::vector<double> course;
  for (double metric : metrics) {
    curriculum.record(metric);
    course.push_back(curriculum.difficulty().pi);
  }
  return course;
}

/// The difficulty of epoch e = 1, 2, ... when the metric rises all the time.
Difficulty at_epoch(const CurnmOptions& options, std::int64_t e, std::int64_t epochs) {
  Curriculum curriculum(resolved(options, epochs));
  for (std::int64_t i = 1; i < e; ++i) curriculum.record(static_cast<double>(i));
  return curriculum.difficulty();
}

TEST(TrendTest, LiteralValues) {
  EXPECT_EQ(trend(Trend::kIncreasing, 1, 4), 0.25);
  EXPECT_EQ(trend(Trend::kIncreasing, 4, 4), 1);
  EXPECT_EQ(trend(Trend::kIncreasing, 9, 4), 1);
  EXPECT_EQ(trend(Trend::kDecreasing, 1, 4), 0.75);
  EXPECT_EQ(trend(Trend::kDecreasing, 4, 4), 0);
  EXPECT_EQ(trend(Trend::kDecreasing, 9, 4), 0);
  EXPECT_EQ(trend(Trend::kConstant, 1, 4), 0.5);
  EXPECT_EQ(trend(Trend::kConstant, 9, 4), 0.5);
}

TEST(CachesTest, FromTauDownwards) {
  EXPECT_TRUE(caches(0.5, 0.5));
  EXPECT_TRUE(caches(0.1, 0.5));
  EXPECT_FALSE(caches(0.500001, 0.5));
  EXPECT_FALSE(caches(0.1, 0));
  EXPECT_TRUE(caches(1, 1));
}

TEST(CachesTest, RoundingOfManyStepsDoesNotDelayIt) {
  double pi = 1;
  for (int step = 0; step < 5; ++step) pi -= 0.1;
  ASSERT_GT(pi, 0.5) << "the sum of the steps must miss the threshold for this test to mean much";
  EXPECT_TRUE(caches(pi, 0.5));
}

// 1 - (e - 1)·shrink is at most 0.5 for the first time at these e.
TEST(CurriculumTest, CachingBeginsWhenTauIsReached) {
  for (const auto& [shrink, first] :
       std::vector<std::pair<double, std::int64_t>>{{0.02, 26}, {0.03, 18}, {0.05, 11}, {0.1, 6}}) {
    CurnmOptions options;
    options.pi_strategy = PiStrategy::kLinear;
    options.shrink = shrink;
    EXPECT_FALSE(at_epoch(options, first - 1, 100).caching) << shrink;
    EXPECT_TRUE(at_epoch(options, first, 100).caching) << shrink;
  }
}

TEST(ImprovesTest, AboveTheMeanOfTheRecentValues) {
  EXPECT_FALSE(improves(0.9, {})) << "nothing to compare with";
  const std::vector<double> recent = {0.25, 0.5, 0.75};
  EXPECT_TRUE(improves(0.50001, recent));
  EXPECT_FALSE(improves(0.5, recent)) << "equal is no progress";
  EXPECT_FALSE(improves(0.4, recent));
  EXPECT_FALSE(improves(kNaN, recent));
}

TEST(NextPiTest, LiteralValues) {
  CurnmOptions options = exact_steps();
  EXPECT_EQ(next_pi(0.5, /*improved=*/true, options), 0.375);
  EXPECT_EQ(next_pi(0.5, /*improved=*/false, options), 0.625);
  options.plateau = Plateau::kHold;
  EXPECT_EQ(next_pi(0.5, true, options), 0.375);
  EXPECT_EQ(next_pi(0.5, false, options), 0.5);
  options.pi_strategy = PiStrategy::kLinear;
  EXPECT_EQ(next_pi(0.5, true, options), 0.375);
  EXPECT_EQ(next_pi(0.5, false, options), 0.375);
  options.pi_strategy = PiStrategy::kConstant;
  EXPECT_EQ(next_pi(0.5, true, options), 0.5);
  EXPECT_EQ(next_pi(0.5, false, options), 0.5);
}

TEST(NextPiTest, StaysWithinItsBounds) {
  const CurnmOptions options = exact_steps();
  EXPECT_EQ(next_pi(0.3, true, options), 0.25);
  EXPECT_EQ(next_pi(0.25, true, options), 0.25);
  EXPECT_EQ(next_pi(0.9375, false, options), 1);
  EXPECT_EQ(next_pi(1, false, options), 1);
}

// Means of the last three: none; .5; .5625 (equal); .5625; .5859 (of four it would be .5645);
// .5703 (of two it would be .5742).
const std::vector<double> kScript = {0.5, 0.625, 0.5625, 0.5703125, 0.578125, 0.5725};

TEST(CurriculumTest, AdaptivePiFollowsTheScript) {
  EXPECT_EQ(trajectory(exact_steps(), kScript),
            (std::vector<double>{0.875, 0.75, 0.875, 0.75, 0.875, 0.75}));
}

TEST(CurriculumTest, OnAPlateauPiCanBeHeld) {
  CurnmOptions options = exact_steps();
  options.plateau = Plateau::kHold;
  EXPECT_EQ(trajectory(options, kScript),
            (std::vector<double>{0.75, 0.625, 0.625, 0.5, 0.5, 0.375}));
}

TEST(CurriculumTest, LinearAndConstantPiIgnoreTheMetric) {
  CurnmOptions options = exact_steps();
  options.pi_strategy = PiStrategy::kLinear;
  EXPECT_EQ(trajectory(options, {0.9, 0.1, 0.8, 0.2, 0.2, 0.2}),
            (std::vector<double>{0.625, 0.5, 0.375, 0.25, 0.25, 0.25}));
  options.pi_strategy = PiStrategy::kConstant;
  EXPECT_EQ(trajectory(options, {0.1, 0.9, 0.1, 0.9}), std::vector<double>(4, 0.75));
}

TEST(CurriculumTest, PiMeetsBothBoundsAndLeavesThem) {
  CurnmOptions options = exact_steps();
  EXPECT_EQ(trajectory(options, {0.9, 0.8, 0.7, 0.6, 0.75, 0.8}),
            (std::vector<double>{0.875, 1, 1, 1, 0.875, 0.75}));
  options.pi = 0.375;
  EXPECT_EQ(trajectory(options, {0.1, 0.2, 0.3, 0.4, 0.1, 0.1}),
            (std::vector<double>{0.5, 0.375, 0.25, 0.25, 0.375, 0.5}));
}

TEST(CurriculumTest, TheFirstEpochStartsAtPi) {
  EXPECT_EQ(at_epoch({}, 1, 100).pi, 1);
  CurnmOptions constant;
  constant.pi_strategy = PiStrategy::kConstant;
  EXPECT_EQ(at_epoch(constant, 1, 100).pi, 0.5);
  EXPECT_EQ(at_epoch(constant, 50, 100).pi, 0.5);
}

// The first metric is no progress, and pi is at its bound: 1, 1, 0.95, 0.9, ..., at least 0.1.
TEST(CurriculumTest, SteadyProgressWithTheDefaults) {
  EXPECT_EQ(at_epoch({}, 2, 400).pi, 1);
  EXPECT_NEAR(at_epoch({}, 3, 400).pi, 0.95, 1e-12);
  EXPECT_NEAR(at_epoch({}, 12, 400).pi, 0.50, 1e-12);
  EXPECT_EQ(at_epoch({}, 30, 400).pi, 0.1);
}

TEST(RandomWeightTest, LiteralValues) {
  CurnmOptions options;
  options.delta_min = 0.3;
  EXPECT_EQ(random_weight(1, options), 1);
  EXPECT_EQ(random_weight(0.5, options), 0.5);
  EXPECT_EQ(random_weight(0.1, options), 0.3);
  options.delta_max = 0.875;
  EXPECT_EQ(random_weight(1, options), 0.875);
  options.delta_schedule = Trend::kIncreasing;
  EXPECT_EQ(random_weight(1, options), 0.3);
  EXPECT_EQ(random_weight(0.25, options), 0.75);
  EXPECT_EQ(random_weight(0, options), 0.875);
  options.delta_schedule = Trend::kConstant;
  EXPECT_EQ(random_weight(0.1, options), 0.5);
  EXPECT_EQ(random_weight(1, options), 0.5);
  options.delta_min = 0.625;
  EXPECT_EQ(random_weight(1, options), 0.625);
}

TEST(CurriculumTest, AlphaGrowsOverAllEpochsUnlessToldOtherwise) {
  CurnmOptions options;
  options.alpha_max = 0.006;
  EXPECT_NEAR(at_epoch(options, 1, 10).alpha, 0.0006, 1e-15);
  EXPECT_NEAR(at_epoch(options, 5, 10).alpha, 0.003, 1e-15);
  EXPECT_NEAR(at_epoch(options, 10, 10).alpha, 0.006, 1e-15);
  options.alpha_epochs = 4;
  EXPECT_NEAR(at_epoch(options, 1, 10).alpha, 0.0015, 1e-15);
  EXPECT_NEAR(at_epoch(options, 9, 10).alpha, 0.006, 1e-15);
  options.alpha_schedule = Trend::kDecreasing;
  EXPECT_NEAR(at_epoch(options, 1, 10).alpha, 0.0045, 1e-15);
  EXPECT_EQ(at_epoch(options, 4, 10).alpha, 0);
  options.alpha_schedule = Trend::kConstant;
  EXPECT_NEAR(at_epoch(options, 7, 10).alpha, 0.003, 1e-15);
}

TEST(CurriculumTest, BetaGrowsOverATenthOfTheEpochsUnlessToldOtherwise) {
  CurnmOptions options;
  EXPECT_EQ(at_epoch(options, 1, 40).beta, 0.25);
  EXPECT_EQ(at_epoch(options, 4, 40).beta, 1);
  EXPECT_EQ(at_epoch(options, 30, 40).beta, 1);
  EXPECT_EQ(at_epoch(options, 1, 3).beta, 1) << "at least one epoch";
  options.beta_epochs = 8;
  EXPECT_EQ(at_epoch(options, 2, 40).beta, 0.25);
  options.beta_schedule = Trend::kDecreasing;
  EXPECT_EQ(at_epoch(options, 2, 40).beta, 0.75);
  options.beta_schedule = Trend::kConstant;
  EXPECT_EQ(at_epoch(options, 2, 40).beta, 0.5);
}

TEST(CurriculumTest, AblationsActOnTheirPartAlone) {
  constexpr std::int64_t kEpoch = 40;  // pi is at its least, everything acts
  CurnmOptions options;
  options.delta_min = 0.3;
  const Difficulty whole = at_epoch(options, kEpoch, 100);
  ASSERT_EQ(whole.pi, 0.1);
  ASSERT_EQ(whole.delta, 0.3);
  ASSERT_TRUE(whole.caching);
  for (const Ablation part : {Ablation::kPi, Ablation::kRandom, Ablation::kCache,
                              Ablation::kDisentangle, Ablation::kTemporal}) {
    options.ablate = part;
    const Difficulty without = at_epoch(options, kEpoch, 100);
    const std::string_view ablated = name_of(part);
    EXPECT_EQ(without.pi, ablated == "pi" ? 0.5 : 0.1) << ablated;
    EXPECT_EQ(without.delta, ablated == "random" ? 0 : ablated == "pi" ? 0.5 : 0.3) << ablated;
    EXPECT_EQ(without.caching, ablated != "cache") << ablated;
    EXPECT_EQ(without.alpha, whole.alpha) << ablated;
    EXPECT_EQ(without.beta, whole.beta) << ablated;
  }
}

TEST(CurriculumTest, AFixedPiCanBeChosen) {
  CurnmOptions options;
  options.ablate = Ablation::kPi;
  options.pi = 0.75;
  EXPECT_EQ(at_epoch(options, 1, 100).pi, 0.75);
  EXPECT_EQ(at_epoch(options, 40, 100).pi, 0.75);
}

TEST(CurriculumTest, StateContinuesToTheBit) {
  const CurnmOptions options = resolved({}, /*epochs=*/7);
  const std::vector<double> metrics = {0.31, 0.45, 0.41, 0.47, 0.46, 0.44, 0.52, 0.1, 0.6};
  for (std::size_t saved = 0; saved < metrics.size(); ++saved) {
    Curriculum original(options);
    for (std::size_t i = 0; i < saved; ++i) original.record(metrics[i]);
    Curriculum restored(options);
    restored.record(0.99);  // what it knew before must be gone
    restored.set_state(original.state());
    for (std::size_t i = saved; i < metrics.size(); ++i) {
      original.record(metrics[i]);
      restored.record(metrics[i]);
      ASSERT_EQ(restored.state(), original.state()) << "saved after " << saved;
      EXPECT_EQ(restored.difficulty().pi, original.difficulty().pi);
      EXPECT_EQ(restored.difficulty().alpha, original.difficulty().alpha);
      EXPECT_EQ(restored.difficulty().beta, original.difficulty().beta);
    }
  }
}

TEST(CurnmOptionsTest, WhatWasLeftOpenIsFilledIn) {
  const CurnmOptions options = resolved({}, /*epochs=*/400);
  EXPECT_EQ(options.pi, 1);
  EXPECT_EQ(options.alpha_epochs, 400);
  EXPECT_EQ(options.beta_epochs, 40);
  CurnmOptions given;
  given.pi = 0.25;
  given.alpha_epochs = 3;
  given.beta_epochs = 5;
  EXPECT_EQ(resolved(given, 400).pi, 0.25);
  EXPECT_EQ(resolved(given, 400).alpha_epochs, 3);
  EXPECT_EQ(resolved(given, 400).beta_epochs, 5);
}

/// Does `resolved` refuse the options that `change` makes of the defaults?
template <class Change>
::testing::AssertionResult refused(const Change& change, const std::vector<std::string>& parts) {
  CurnmOptions options;
  change(options);
  return fails<UsageError>([&] { resolved(options, /*epochs=*/10); }, parts);
}

/// The option that an OptionError of that kind is about.
template <class Change>
std::string culprit(OptionError::Kind kind, const Change& change) {
  CurnmOptions options;
  change(options);
  try {
    options.check();
  } catch (const OptionError& error) {
    return error.kind() == kind ? error.option() : "of another kind: " + error.option();
  }
  return "";
}

TEST(CurnmOptionsTest, ImpossibleTogetherNamesTheOption) {
  using enum OptionError::Kind;
  EXPECT_EQ(culprit(kValue, [](auto& o) { o.pool = 7; }), "pool");
  EXPECT_EQ(culprit(kConflict, [](auto& o) { o.delta_min = 0.5, o.delta_max = 0.4; }), "delta-min");
  EXPECT_EQ(culprit(kConflict, [](auto& o) { o.pi = 0.05; }), "pi");
  EXPECT_EQ(culprit(kConflict, [](auto&) {}), "") << "the defaults";
}

TEST(CurnmOptionsTest, ImpossibleTogetherIsAUsageError) {
  EXPECT_TRUE(refused([](auto& o) { o.pool = 7; }, {"--pool 7", "M must be even"}));
  EXPECT_TRUE(refused([](auto& o) { o.delta_min = 0.5, o.delta_max = 0.4; },
                      {"--delta-min 0.5", "--delta-max 0.4"}));
  EXPECT_TRUE(refused([](auto& o) { o.pi = 0.05; }, {"--pi 0.05", "--pi-min 0.1"}));
  EXPECT_TRUE(
      refused([](auto& o) { o.pi_strategy = PiStrategy::kLinear, o.pi = 0.5, o.pi_min = 0.6; },
              {"--pi 0.5", "--pi-min 0.6"}));
}

TEST(CurnmOptionsTest, AConstantPiHasNoLowerBound) {
  for (CurnmOptions options : {CurnmOptions{.pi_strategy = PiStrategy::kConstant, .pi = 0.05},
                               CurnmOptions{.pi = 0.05, .ablate = Ablation::kPi}}) {
    Curriculum curriculum(resolved(options, /*epochs=*/10));
    for (const double metric : {0.5, 0.6, 0.4, 0.7}) {
      EXPECT_EQ(curriculum.difficulty().pi, 0.05);
      curriculum.record(metric);
    }
  }
}

TEST(CurnmOptionsTest, OutOfRangeNamesTheSymbolAndTheRange) {
  EXPECT_TRUE(refused([](auto& o) { o.pool = 0; }, {"--pool 0", "it must be between 2 and 1000"}));
  EXPECT_TRUE(refused([](auto& o) { o.gamma_hist = 1.5; },
                      {"--gamma-hist 1.5", "it must be between 0 and 1"}));
  EXPECT_TRUE(refused([](auto& o) { o.gamma_hist = kNaN; }, {"(gamma_hist)"}));
  EXPECT_TRUE(refused([](auto& o) { o.tau = -0.1; }, {"--tau -0.1", "it must be between 0 and"}));
  EXPECT_TRUE(refused([](auto& o) { o.delta_min = 1.1; }, {"it must be between 0 and 1"}));
  EXPECT_TRUE(refused([](auto& o) { o.shrink = 2; }, {"it must be between 0 and 1"}));
  EXPECT_TRUE(refused([](auto& o) { o.alpha_epochs = -1; }, {"--alpha-epochs -1", "(E')"}));
  EXPECT_TRUE(refused([](auto& o) { o.beta_epochs = -1; }, {"--beta-epochs -1", "(E'')"}));
  EXPECT_TRUE(refused([](auto& o) { o.lambda = -1; }, {"it must be between 0 and"}));
}

TEST(CurnmOptionsTest, EveryNumberHasARangeAndEveryTextItsChoices) {
  const auto refused_as = [](std::string_view name, const std::string& value,
                             std::string_view part) {
    CurnmOptions options;
    EXPECT_TRUE(fails<OptionError>(
        [&] {
          set_given({{std::string(name), value}}, options);
        },
        {std::string(part)}))
        << name << ' ' << value;
  };
  CurnmOptions defaults;
  defaults.fields([&](const Field& field, const OptionValue& value) {
    if (!value.choices().empty()) {
      refused_as(field.name, "sideways", field.name);
      for (std::string_view choice : value.choices()) {
        EXPECT_NO_THROW(value.parse(field, choice));
        EXPECT_EQ(value.text(), choice);
      }
      return;
    }
    const std::string_view part = field.symbol.empty() ? field.name : field.symbol;
    refused_as(field.name, fmt::format("{}", field.min - 1), part);
    refused_as(field.name, fmt::format("{}", field.max + 1), part);
  });
}

/// Why an option has no effect as the others stand; "" where it has one.
std::string idle(CurnmOptions options, std::string_view name) {
  std::string reason;
  options.fields([&](const Field& field, const OptionValue&) {
    if (field.name == name) reason = field.idle;
  });
  return reason;
}

TEST(CurnmOptionsTest, WithTheDefaultsEveryOptionOfOneScoreHasAnEffect) {
  CurnmOptions defaults;
  for (std::string_view name : option_names(defaults)) {
    EXPECT_EQ(idle(defaults, name), name == "budget" ? "--outputs single" : "") << name;
  }
}

TEST(CurnmOptionsTest, OutputsForQuestionsLeaveTheBudgetAndPi) {
  const CurnmOptions options{.outputs = Outputs::kByQuestion};
  CurnmOptions copy = options;
  for (std::string_view name : option_names(copy)) {
    const bool used = name == "outputs" || name == "budget" || name == "pi" ||
                      name == "pi-strategy" || name == "pi-min" || name == "shrink" ||
                      name == "plateau";
    EXPECT_EQ(idle(options, name), used ? "" : "--outputs questions") << name;
  }
  EXPECT_TRUE(fails<UsageError>(
      [] { CurnmOptions{.outputs = Outputs::kByQuestion, .ablate = Ablation::kCache}.check(); },
      {"--ablate"}));
}

// What each choice leaves without effect: exactly these, by what `fields` of CurNM is about.
TEST(CurnmOptionsTest, WhatChoicesLeaveWithoutEffect) {
  using Names = std::set<std::string_view>;
  const auto idle_with = [](const CurnmOptions& options) {
    CurnmOptions copy = options;
    Names names;
    for (std::string_view name : option_names(copy)) {
      if (name != "budget" && !idle(options, name).empty()) names.insert(name);
    }
    return names;
  };
  EXPECT_EQ(idle_with({.ablate = Ablation::kCache}),
            (Names{"tau", "alpha-max", "alpha-epochs", "alpha-schedule"}));
  EXPECT_EQ(idle_with({.alpha_max = 0}), (Names{"alpha-epochs", "alpha-schedule"}));
  EXPECT_EQ(idle_with({.alpha_schedule = Trend::kConstant}), Names{"alpha-epochs"});
  EXPECT_EQ(idle_with({.ablate = Ablation::kPi}),
            (Names{"pi-strategy", "pi-min", "shrink", "plateau", "curriculum-metric"}));
  EXPECT_EQ(idle_with({.pi_strategy = PiStrategy::kConstant}),
            (Names{"pi-min", "shrink", "plateau", "curriculum-metric"}));
  EXPECT_EQ(idle_with({.pi_strategy = PiStrategy::kLinear}),
            (Names{"plateau", "curriculum-metric"}));
  EXPECT_EQ(idle_with({.ablate = Ablation::kDisentangle}),
            (Names{"closeness", "beta-epochs", "beta-schedule", "time2vec-width", "lambda",
                   "contrast", "contrast-gradient"}));
  EXPECT_EQ(idle_with({.ablate = Ablation::kTemporal}), Names{"time2vec-width"});
  EXPECT_EQ(idle_with({.beta_schedule = Trend::kConstant}), Names{"beta-epochs"});
  EXPECT_EQ(idle_with({.lambda = 0}), (Names{"contrast", "contrast-gradient"}));
  EXPECT_EQ(idle_with({.ablate = Ablation::kRandom}),
            (Names{"corrupt", "delta-min", "delta-max", "delta-schedule"}));
  EXPECT_EQ(
      idle_with({.curriculum_metric = CurriculumMetric::kTraining, .ablate = Ablation::kRandom}),
      (Names{"delta-min", "delta-max", "delta-schedule"}))
      << "random negatives measure the progress";
}

}  // namespace
}  // namespace curnm
