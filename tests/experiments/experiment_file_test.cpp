#include "curnm/experiments/experiment_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "support/errors.h"

namespace curnm {
namespace {

using testing::error_of;

const Vocabulary kWords = {.models = {"tgn", "jodie"},
                           .miners = {"random", "curnm"},
                           .flags = {"epochs", "batch", "ablate", "pool", "tau"},
                           .read_flags = {"empty", "separate-ids"},
                           .resolve = [](Job& job, const RunFlags& own) {
                             using enum OptionError::Kind;
                             if (own.contains("tau")) fail<UsageError>("tau is for all");
                             auto flags = job.flags;
                             if (flags.contains("epochs") && flags["epochs"] == "many") {
                               throw OptionError(kValue, "epochs", "too many, --pool or not");
                             }
                             if (flags.contains("batch") && flags["batch"] == "0") {
                               throw OptionError(kConflict, "seed", "--batch needs another --seed");
                             }
                             job.epochs = flags.contains("epochs") ? std::stol(flags["epochs"]) : 7;
                             job.judged_by = "trans";
                             if (job.miner == "random") job.flags.erase("pool");
                             flags.insert({"batch", "200"});  // a default
                             job.options = nlohmann::json(flags).dump();
                           }};

Experiment parse(const std::string& yaml) { return parse_experiment(yaml, "grid.yml", kWords); }
/// The message of the UsageError; "" where there is none.
std::string parse_error(const std::string& yaml) {
  try {
    parse(yaml);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kSmall = "networks: [uci]\nmodels: [tgn]\nminers: [random]\nseeds: [0]\n";

TEST(ExperimentFile, IsTheProductOfItsLists) {
  const Experiment experiment = parse(
      "name: main\ntitle: A grid\nnetworks: [uci, WIKI]\nmodels: [tgn, jodie]\n"
      "miners: [random, curnm]\nseeds: [0, 7]\noptions: {epochs: 60}\n");
  EXPECT_EQ(experiment.name, "main");
  EXPECT_EQ(experiment.title, "A grid");
  ASSERT_EQ(experiment.jobs.size(), 16U);
  EXPECT_EQ(experiment.jobs[0].title(), "uci tgn random seed 0");
  EXPECT_EQ(experiment.jobs[1].title(), "uci tgn curnm seed 0");
  EXPECT_EQ(experiment.jobs[2].title(), "uci jodie random seed 0");
  EXPECT_EQ(experiment.jobs[8].title(), "uci tgn random seed 7") << "a seed of all, then the next";
  EXPECT_EQ(experiment.jobs[15].title(), "WIKI jodie curnm seed 7");
  for (const Job& job : experiment.jobs) EXPECT_EQ(job.flags.at("epochs"), "60");
}

TEST(ExperimentFile, JobsSayWhatTheirFlagsMean) {
  const Experiment experiment = parse(std::string(kSmall) + "variants: {a: {}, b: {epochs: 3}}\n");
  EXPECT_EQ(experiment.jobs.at(0).epochs, 7);
  EXPECT_EQ(experiment.jobs.at(1).epochs, 3);
  EXPECT_EQ(experiment.jobs.at(1).judged_by, "trans");
}

TEST(ExperimentFile, TakesItsNameFromTheFile) {
  EXPECT_EQ(parse(kSmall).name, "grid");
  EXPECT_EQ(parse(kSmall).title, "grid");
}

TEST(ExperimentFile, TheNearestOptionWins) {
  const Experiment experiment = parse(
      "networks: [uci: {epochs: 2, batch: 2, pool: 2, ablate: network}]\n"
      "models: [tgn: {epochs: 3, batch: 3, pool: 3}]\n"
      "miners: [curnm: {epochs: 4, batch: 4}]\nseeds: [0]\n"
      "options: {epochs: 1, batch: 1, pool: 1, ablate: shared}\n"
      "variants: {other: {epochs: 5}}\n");
  const std::map<std::string, std::string> expected = {
      {"epochs", "5"}, {"batch", "4"}, {"pool", "3"}, {"ablate", "network"}};
  EXPECT_EQ(experiment.jobs.at(0).flags, expected);
}

TEST(ExperimentFile, WhatMeansTheSameIsOneRun) {
  const Experiment experiment = parse(
      "models: [tgn]\nminers: [curnm]\nnetworks: [uci]\ngrids:\n"
      "- {seeds: [0], options: {batch: 200}}\n- {seeds: [0, 1]}\n"
      "- {seeds: [2], options: {batch: 100}}\n");
  ASSERT_EQ(experiment.jobs.size(), 3U) << "200 is the default";
  EXPECT_EQ(experiment.jobs[0].flags, (std::map<std::string, std::string>{{"batch", "200"}}));
  EXPECT_EQ(experiment.jobs[1].seed, 1);
  EXPECT_EQ(experiment.jobs[2].flags, (std::map<std::string, std::string>{{"batch", "100"}}));
}

TEST(ExperimentFile, VariantsHaveNames) {
  const Experiment experiment = parse(
      std::string(kSmall) + "variants:\n  complete: {}\n  empty:\n  fixed pi: {ablate: pi}\n");
  ASSERT_EQ(experiment.jobs.size(), 3U);
  EXPECT_EQ(experiment.jobs[0].variant, "complete");
  EXPECT_EQ(experiment.jobs[2].title(), "uci tgn random seed 0 (fixed pi)");
  EXPECT_EQ(experiment.jobs[0].key(), experiment.jobs[1].key()) << "the same work";
  EXPECT_NE(experiment.jobs[0].key(), experiment.jobs[2].key());
  EXPECT_NE(experiment.jobs[0].key(), experiment.jobs[2].key());
}

TEST(ExperimentFile, SeveralGridsShareWhatTheTopSays) {
  const Experiment experiment = parse(
      "seeds: [0]\nmodels: [tgn]\noptions: {epochs: 9}\ngrids:\n"
      "  - {networks: [uci], miners: [random, curnm]}\n"
      "  - {networks: [WIKI, uci], miners: [curnm], models: [tgn, jodie]}\n"
      "  - {networks: [uci], miners: [curnm], seeds: [1], options: {epochs: 2}}\n");
  std::vector<std::string> titles;
  for (const Job& job : experiment.jobs) titles.push_back(job.title() + job.flags.at("epochs"));
  EXPECT_EQ(titles, (std::vector<std::string>{"uci tgn random seed 09", "uci tgn curnm seed 09",
                                              "WIKI tgn curnm seed 09", "WIKI jodie curnm seed 09",
                                              "uci jodie curnm seed 09", "uci tgn curnm seed 12"}))
      << "uci tgn curnm of the second grid is that of the first";
}

TEST(ExperimentFile, HonoursAnchorsAndMerges) {
  const Experiment experiment = parse(
      "networks: &some [uci]\nmodels: [tgn]\nminers: [curnm]\nseeds: &s [3]\n"
      "options: &base {epochs: 5, batch: 7}\ngrids:\n"
      "  - {networks: *some, seeds: *s, options: {<<: *base, epochs: 6}}\n");
  ASSERT_EQ(experiment.jobs.size(), 1U);
  EXPECT_EQ(experiment.jobs[0].seed, 3);
  EXPECT_EQ(experiment.jobs[0].flags.at("epochs"), "6") << "its own key wins";
  EXPECT_EQ(experiment.jobs[0].flags.at("batch"), "7");

  const Experiment two = parse(
      "networks: [uci]\nmodels: [tgn]\nminers: [curnm]\nseeds: [0]\n"
      "variants:\n  a: &a {epochs: 1, pool: 4}\n  b: &b {epochs: 2, batch: 3}\n"
      "  c: {<<: [*a, *b]}\n");
  EXPECT_EQ(two.jobs.at(2).flags.at("epochs"), "1") << "the first of several maps wins";
  EXPECT_EQ(two.jobs.at(2).flags.at("batch"), "3");
}

TEST(ExperimentFile, SaysWhereItIsWrong) {
  EXPECT_EQ(parse_error(std::string(kSmall) + "optoins: {epochs: 1}\n"),
            "grid.yml:5:1: unknown key 'optoins'; did you mean 'options'? (known: name, title, "
            "grids, networks, models, miners, seeds, options, variants)");
  EXPECT_EQ(parse_error(std::string(kSmall) + "options: {epoch: 1}\n").substr(0, 66),
            "grid.yml:5:11: unknown key 'epoch'; did you mean 'epochs'? (known:");
  EXPECT_EQ(parse_error("networks: [uci]\nmodels: [tng]\nminers: [random]\nseeds: [0]\n"),
            "grid.yml:2:10: unknown model 'tng'; did you mean 'tgn'? (known: tgn, jodie)");
  EXPECT_EQ(parse_error("networks: [uci\nmodels: [tgn]\n").substr(0, 13), "grid.yml:2:7:");
  EXPECT_EQ(parse_error(std::string(kSmall) + "seeds: [1]\n"),
            "grid.yml:5:1: 'seeds' stands here twice");
  EXPECT_EQ(parse_error("models: [tgn]\nminers: [random]\nseeds: [0]\n"),
            "grid.yml:1:1: 'networks' is missing");
  EXPECT_EQ(parse_error(std::string(kSmall) + "variants: {a: {}, b: {}, a: {pool: 4}}\n"),
            "grid.yml:5:26: there are two variants 'a'");
  EXPECT_EQ(parse_error(std::string(kSmall) + "options: {pool: 3, epochs: many}\n"),
            "grid.yml:5:28: too many, --pool or not")
      << "where the option stands that the error is about, whatever its text says";
  EXPECT_EQ(parse_error("networks: [uci]\nmodels: [tgn]\nminers: [random: {epochs: many}]\n"
                        "seeds: [0]\noptions: {epochs: 1}\n"),
            "grid.yml:3:27: too many, --pool or not")
      << "where the one that counts stands";
  EXPECT_EQ(parse_error(std::string(kSmall) + "options: {batch: 0}\n"),
            "grid.yml:1:1: --batch needs another --seed")
      << "at the grid: what it is about does not stand in the file";
  // What a variant says for itself is told from what it shares.
  EXPECT_EQ(parse_error(std::string(kSmall) + "options: {tau: 1}\nvariants: {a: {}}\n"), "");
  EXPECT_EQ(parse_error(std::string(kSmall) + "variants: {a: {tau: 1}}\n"),
            "grid.yml:1:1: tau is for all");
  EXPECT_EQ(parse_error(std::string(kSmall) + "options: &a {<<: *a}\n"),
            "grid.yml:5:10: << leads back to itself");
  EXPECT_EQ(parse_error(std::string(kSmall) + "grids: []\n"),
            "grid.yml:5:8: grids is a list with at least one map");
  for (const char* bad : {"", "[]", "just text", "networks: 3"}) {
    EXPECT_NE(parse_error(bad), "") << bad;
  }
}

TEST(ExperimentFile, AFileIsOneExperiment) {
  EXPECT_EQ(parse_error(std::string(kSmall) + "---\n" + kSmall),
            "grid.yml:6:1: a file has one experiment; a second begins here");
  EXPECT_EQ(parse_error(std::string("---\n") + kSmall), "");
}

TEST(ExperimentFile, ATableHasOneCellForEachOfItsRuns) {
  EXPECT_EQ(
      parse_error("networks: [uci]\nmodels: [tgn]\nseeds: [0]\n"
                  "miners: [random, random: {epochs: 2}]\n"),
      "grid.yml: uci tgn random seed 0 is there twice, with different options: name them under "
      "`variants`");
  EXPECT_EQ(
      parse("networks: [uci, uci]\nmodels: [tgn]\nseeds: [0]\nminers: [random]\n").jobs.size(), 1U)
      << "the same twice is once";
}

TEST(ExperimentFile, WhatHasNoEffectAnywhereIsRefused) {
  EXPECT_EQ(parse_error(std::string(kSmall) + "options: {pool: 4}\n"),
            "grid.yml:5:17: pool has no effect on any run");
  EXPECT_EQ(parse_error("networks: [uci]\nmodels: [tgn]\nseeds: [0]\n"
                        "miners: [random: {pool: 2}, curnm: {pool: 4}]\n"),
            "grid.yml:4:25: pool has no effect on any run")
      << "that it has one elsewhere is no excuse";
  EXPECT_EQ(parse_error("networks: [uci]\nmodels: [tgn]\nseeds: [0]\nminers: [random, curnm]\n"
                        "options: {pool: 4}\n"),
            "");
}

TEST(ExperimentFile, RefusesListsAndSeedsThatAreNone) {
  const auto with = [](const std::string& networks, const std::string& seeds) {
    return "networks: " + networks + "\nmodels: [tgn]\nminers: [random]\nseeds: " + seeds + "\n";
  };
  EXPECT_EQ(parse_error(with("[]", "[0]")),
            "grid.yml:1:11: networks is a list with at least one entry");
  EXPECT_EQ(parse_error(with("[uci]", "[0, x]")),
            "grid.yml:4:12: a seed is a whole number, 0 or more");
  EXPECT_EQ(parse_error("networks: [uci]\nmodels: [tgn]\nminers: [random]\nseeds: [3, 3]\n"),
            "grid.yml:4:12: seed 3 is there twice");
  EXPECT_NE(parse_error(with("[uci]", "[-1]")), "");
  EXPECT_NE(parse_error(with("[uci]", "[0.5]")), "");
  EXPECT_NE(parse_error(with("[[uci]]", "[0]")), "");
  EXPECT_NE(parse_error(with("[uci: [epochs]]", "[0]")), "");
  EXPECT_EQ(parse_error(with("['']", "[0]")), "grid.yml:1:12: '' is no name");
  EXPECT_EQ(parse_error(with("['--help']", "[0]")), "grid.yml:1:12: '--help' is no name");
}

TEST(ExperimentFile, FoldersOfDifferentJobsDiffer) {
  const std::string deep(300, 'd');
  const Experiment experiment =
      parse("networks: [synthetic:drift, a/b, uci, " + deep + "/a, " + deep +
            "/b]\nmodels: [tgn]\nminers: [random, curnm]\n"
            "seeds: [0, 1]\nvariants: {a: {pool: 4}, b: {pool: 8}}\n");
  std::set<std::string> folders;
  for (const Job& job : experiment.jobs) {
    folders.insert(job.folder_name());
    EXPECT_EQ(job.folder_name().find_first_of("/: "), std::string::npos);
    EXPECT_LT(job.folder_name().size(), 200U) << "names of files end at 255";
  }
  EXPECT_EQ(folders.size(), experiment.jobs.size());
}

TEST(ExperimentFile, AMissingFileIsAnError) {
  EXPECT_NE(error_of([] { read_experiment("no/such.yml", kWords); }).find("no/such.yml"),
            std::string::npos);
}

TEST(ExperimentFileTest, NetworksSayHowTheyAreRead) {
  const Experiment experiment = parse(
      "networks: [uci, ./my.csv: {separate-ids: on, empty: drop, epochs: 3}]\n"
      "models: [tgn]\nminers: [random]\nseeds: [0]\n");
  ASSERT_EQ(experiment.jobs.size(), 2U);
  EXPECT_TRUE(experiment.jobs[0].flags.empty());
  EXPECT_EQ(experiment.jobs[1].flags,
            (RunFlags{{"empty", "drop"}, {"epochs", "3"}, {"separate-ids", "on"}}));
}

TEST(ExperimentFileTest, OnlyNetworksAreRead) {
  const std::string rest = "models: [tgn]\nminers: [random]\nseeds: [0]\n";
  EXPECT_EQ(parse_error("networks: [./my.csv]\noptions: {empty: drop}\n" + rest),
            "grid.yml:2:18: empty says how a table is read: give it to the network, - ./mine.csv: "
            "{empty: drop}");
  EXPECT_EQ(parse_error(std::string(kSmall) + "variants: {a: {}, b: {separate-ids: on}}\n"),
            "grid.yml:5:37: separate-ids says how a table is read: give it to the network, - "
            "./mine.csv: {separate-ids: on}");
  EXPECT_NE(parse_error("networks: [./my.csv: {emty: drop}]\n" + rest)
                .find("grid.yml:1:23: unknown key 'emty'; did you mean 'empty'?"),
            std::string::npos);
}

TEST(ExperimentFileTest, ANetworkIsReadInOneWay) {
  const std::string two =
      "models: [tgn]\nminers: [random]\nseeds: [0]\ngrids:\n"
      "  - networks: [./my.csv: {empty: drop}]\n  - networks: [./my.csv]\n    models: [jodie]\n";
  EXPECT_NE(parse_error(two).find("grid.yml: ./my.csv is read in two ways"), std::string::npos);
}

std::string list_of(int count, const char* format) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", fmt::format(fmt::runtime(format), i));
  return text;
}

TEST(ExperimentFileLimits, DocumentsWithoutEndAreRefused) {
  EXPECT_EQ(parse_error(","), "grid.yml:1:1: this is not YAML");
  EXPECT_NE(parse_error(std::string(kSmall) + "---\nname: x\n").find("a second begins here"),
            std::string::npos);
}

TEST(ExperimentFileLimits, Size) {
  EXPECT_NE(parse_error(std::string((1 << 20) + 1, '#')).find("more than such a file has"),
            std::string::npos);
  EXPECT_NE(parse_error("seeds: [" + list_of(100'001, "{}") + "]").find("more than 100000 values"),
            std::string::npos);
  EXPECT_NE(parse_error(std::string(500'000, '[')), "");
}

TEST(ExperimentFileLimits, MergesOfMerges) {
  // 9^11 ways lead from the last to the first, and every map is taken in once.
  std::string yaml = std::string(kSmall) + "variants:\n  v0: &a0 {epochs: 1}\n";
  for (int i = 1; i < 12; ++i) {
    yaml += fmt::format("  v{0}: &a{0} {{<<: [{1}], batch: {0}}}\n", i,
                        list_of(9, fmt::format("*a{}", i - 1).c_str()));
  }
  EXPECT_EQ(parse(yaml).jobs.size(), 12U);
  const std::string nested = "x: &a {" + list_of(400, "k{}: 1") + "}\ny: {<<: [" +
                             list_of(300, "*a") + "]}\n<<: [" + list_of(300, "*a") + "]\n";
  EXPECT_NE(parse_error(nested).find("<< takes in more than 100000 keys"), std::string::npos)
      << parse_error(nested);
}

TEST(ExperimentFileLimits, Cells) {
  const std::string rest = "networks: [uci]\nmodels: [tgn]\nminers: [random]\n";
  EXPECT_EQ(parse(rest + "seeds: [" + list_of(10'000, "{}") + "]").jobs.size(), 10'000U);
  EXPECT_NE(parse_error(rest + "seeds: [" + list_of(10'001, "{}") + "]")
                .find("10001 runs are more than one experiment may have (10000): divide it"),
            std::string::npos);
  EXPECT_NE(parse_error(rest + "seeds: [" + list_of(300, "{}") + "]\nvariants: {" +
                        list_of(300, "v{0}: {{epochs: {0}}}") + "}")
                .find("90000 runs"),
            std::string::npos);
  std::string grids = rest + "grids:\n  - &g {seeds: [" + list_of(3000, "{}") + "]}\n";
  for (int i = 0; i < 3; ++i) grids += "  - *g\n";
  EXPECT_NE(parse_error(grids).find("12000 runs"), std::string::npos) << parse_error(grids);
}

TEST(ExperimentFileLimits, ControlCharactersAreRefused) {
  for (const char* key : {"title", "name"}) {
    EXPECT_NE(parse_error(std::string(kSmall) + key + ": \"a\\e[2Jb\"\n")
                  .find("control characters are not allowed"),
              std::string::npos)
        << key;
  }
  EXPECT_NE(parse_error("networks: [\"u\\x07ci\"]\nmodels: [tgn]\nminers: [random]\nseeds: [0]\n")
                .find("control characters"),
            std::string::npos);
}

TEST(ExperimentFileLimits, WhatIsNotUtf8IsRefused) {
  for (const char* more : {"title: \xb2\n", "name: \xb2\n", "options: {batch: \xb2}\n",
                           "options: {\xb2: 5}\n", "variants: {\xb2: {}}\n"}) {
    const std::string error = parse_error(std::string(kSmall) + more);
    EXPECT_NE(error.find("this is not UTF-8 text"), std::string::npos) << error;
  }
}

TEST(ExperimentFileLimits, AKeyTwiceBesideAMergeIsFound) {
  EXPECT_NE(parse_error(std::string(kSmall) +
                        "variants: {a: &a {epochs: 1}, b: {<<: *a, pool: 1, pool: 2}}\n")
                .find("'pool' stands here twice"),
            std::string::npos);
}

}  // namespace
}  // namespace curnm
