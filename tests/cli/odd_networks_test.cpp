#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/cli_fixture.h"

// Networks that lack what some question needs: training says what it cannot measure, and measures
// the rest.

namespace curnm {
namespace {

using nlohmann::json;
using testing::CommandResult;
using testing::contains;

struct OddNetwork {
  std::string name;
  int events;
  std::function<std::string(int)> pair;  // "src,dst" of an event
  bool has_partners;                     // can "which partner" be measured?
};

std::string pair_of(const std::string& u, int i, const std::string& v, int j) {
  return u + std::to_string(i) + "," + v + std::to_string(j);
}

const OddNetwork kNoRepeatedPairs{"no_repeated_pairs", 180,
                                  [](int e) { return pair_of("u", e % 14, "v", e / 14); }, true};
const OddNetwork kNoHistory{"no_history", 160,
                            [](int e) { return pair_of("u", e, "v", e * e % 11); }, false};
const OddNetwork kNewNodesOnly{"new_nodes_only", 120, [](int e) { return pair_of("u", e, "v", e); },
                               false};
const OddNetwork kSelfLoops{"self_loops", 150,
                            [](int e) { return pair_of("n", e * 7 % 10, "n", e * 7 % 10); }, false};
const OddNetwork kTwoNodes{"two_nodes", 100,
                           [](int e) { return std::string(e * e % 7 < 3 ? "a,b" : "b,a"); }, false};
const OddNetwork kOnePartnerEach{"one_partner_each", 200,
                                 [](int e) { return pair_of("u", e * 7 % 12, "v", e * 7 % 12); },
                                 false};
const OddNetwork kTwentyEvents{"twenty_events", 20,
                               [](int e) { return pair_of("u", e % 4, "v", e * e % 5); }, true};
/// The sources of validation act once, those before and after it often.
const OddNetwork kNoPartnersInValidation{
    "no_partners_in_validation", 200,
    [](int e) { return pair_of("u", e < 140 || e >= 170 ? e % 6 : e, "v", e * e % 13 % 8); },
    false};

class OddNetworks : public testing::Cli {
 protected:
  std::string write_network(const OddNetwork& network) const {
    std::string rows = "src,dst,time\n";
    for (int e = 0; e < network.events; ++e) {
      rows += network.pair(e) + "," + std::to_string(e) + "\n";
    }
    write(network.name + ".csv", rows);
    return network.name + ".csv";
  }
  CommandResult train(const std::string& file, const std::string& options) const {
    return curnm("train " + file + " --epochs 2 --threads 1 " + options);
  }
};

constexpr const char* kLight = "--model light --decoder pair ";

/// No figure of a document is missing but where there are no such events.
void expect_numbers(const json& document, const std::string& at) {
  if (document.is_object()) {
    for (const auto& [name, value] : document.items()) {
      if (name.find("_new") != std::string::npos && value.is_null()) continue;
      expect_numbers(value, at + "." + name);
    }
    return;
  }
  EXPECT_FALSE(document.is_null()) << at << " is null: NaN, which JSON does not have";
}

class EveryOddNetwork : public OddNetworks, public ::testing::WithParamInterface<OddNetwork> {};

std::string name_of(const ::testing::TestParamInfo<OddNetwork>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Networks, EveryOddNetwork,
                         ::testing::Values(kNoRepeatedPairs, kNoHistory, kNewNodesOnly, kSelfLoops,
                                           kTwoNodes, kOnePartnerEach, kTwentyEvents,
                                           kNoPartnersInValidation),
                         name_of);

TEST_P(EveryOddNetwork, IsTrainedTestedAndPredicted) {
  const OddNetwork& network = GetParam();
  const std::string file = write_network(network);
  for (const char* miner : {"mixture", "curnm --outputs questions"}) {
    SCOPED_TRACE(miner);
    std::filesystem::remove_all(folder_ / "run");
    const CommandResult trained =
        train(file, kLight + std::string("--miner ") + miner + " --out run");
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    for (const std::string& text : {trained.out, trained.err}) {
      EXPECT_FALSE(contains(text, "nan")) << text;
      EXPECT_FALSE(contains(text, "inf ")) << text;
    }
    const json result = json::parse(read("run/result.json"));
    expect_numbers(result, "result");
    std::istringstream metrics(read("run/metrics.jsonl"));
    for (std::string line; std::getline(metrics, line);) {
      const json epoch = json::parse(line);
      expect_numbers(epoch, "epoch");
      EXPECT_EQ(epoch["validation"].contains("source_historical"), network.has_partners);
    }
    const auto& missing = result["not_measured"]["validation"];
    EXPECT_EQ(std::ranges::count(missing, "source_historical"), network.has_partners ? 0 : 1);
    EXPECT_EQ(contains(trained.err, "source_historical in validation"), !network.has_partners)
        << trained.err;
    for (const char* set : {"test", "best_baseline"}) {
      for (const auto& protocol : result["not_measured"]["test"]) {
        EXPECT_FALSE(result[set].contains(protocol.get<std::string>())) << set << " " << protocol;
      }
    }
    const bool tested = result["test"].contains("source_historical");
    EXPECT_EQ(contains(trained.out, "Not measured by this test: which partner"), !tested)
        << trained.out;
  }
  const CommandResult evaluated = curnm("eval run --json");
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_EQ(json::parse(evaluated.out)["test"], json::parse(read("run/result.json"))["test"]);
  const std::string source = network.pair(network.events - 1);
  const CommandResult predicted = curnm("predict run --time 1000 --question partner --src " +
                                        source.substr(0, source.find(',')));
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_FALSE(contains(predicted.out, "nan")) << predicted.out;
}

TEST_F(OddNetworks, AGoalThatCannotBeMeasuredIsRefusedBeforeThereIsARun) {
  const std::string file = write_network(kNoPartnersInValidation);
  for (const char* model : {kLight, "--model tgn --width 8 --time-width 8 "}) {
    const CommandResult refused = train(file, std::string(model) + "--goal partner --out run");
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_TRUE(contains(refused.err, "--goal partner cannot be measured in validation"));
    EXPECT_TRUE(contains(refused.err, "choose --goal destination, pair or all")) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
  }
  const CommandResult refused =
      train(file, kLight + std::string("--select-on inductive --out run"));
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_TRUE(contains(refused.err, "--select-on inductive cannot be measured")) << refused.err;
}

TEST_F(OddNetworks, OtherGoalsAndModelsWork) {
  const std::string file = write_network(kOnePartnerEach);
  const CommandResult trained = train(
      file, "--model tgn --miner random --width 8 --time-width 8 --goal destination --out run");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_TRUE(contains(trained.out, "the best rule on which destination (")) << trained.out;
  EXPECT_FALSE(contains(trained.out, "which pair")) << "it is not the goal: " << trained.out;
  EXPECT_FALSE(contains(trained.err, "in parentheses")) << "there is one question only";
  const CommandResult refused = curnm("eval run --protocol source_historical");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(contains(refused.err, "--protocol source_historical cannot be measured in the test"))
      << refused.err;
  const CommandResult single = curnm("predict run --src u1 --time 300 --question partner");
  EXPECT_EQ(single.exit_code, 2);
  EXPECT_TRUE(contains(single.err, "--question partner has no effect on run")) << single.err;
  EXPECT_TRUE(contains(single.err, "--outputs questions")) << single.err;
  const CommandResult rule = curnm("eval " + file + " --model edgebank");
  EXPECT_EQ(rule.exit_code, 0) << rule.err;
  EXPECT_TRUE(contains(rule.err, "not measured: ")) << rule.err;
  EXPECT_FALSE(contains(rule.out, "source_historical")) << rule.out;
}

TEST_F(OddNetworks, ComparisonsShowDashesForWhatIsNotMeasured) {
  const std::string file = write_network(kOnePartnerEach);
  for (const char* seed : {"0", "1"}) {
    ASSERT_EQ(train(file, std::string(kLight) + "--seed " + seed + " --out run" + seed).exit_code,
              0);
  }
  const CommandResult compared = curnm("compare run0 run1");
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_FALSE(contains(compared.out, "nan")) << compared.out;
  EXPECT_TRUE(contains(compared.out, " of 2 protocols")) << compared.out;
}

TEST_F(OddNetworks, NetworksWithoutAPastOrAChoiceSayWhy) {
  const auto refused = [&](const OddNetwork& network, const std::function<int(int)>& time) {
    std::string rows = "src,dst,time\n";
    for (int e = 0; e < network.events; ++e) {
      rows += network.pair(e) + "," + std::to_string(time(e)) + "\n";
    }
    write("net.csv", rows);
    const CommandResult trained = train("net.csv", kLight + std::string("--out run"));
    EXPECT_EQ(trained.exit_code, 1);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
    return trained.err;
  };
  EXPECT_TRUE(contains(refused(kNoRepeatedPairs, [](int) { return 5; }), "have the same time"));
  const std::string few = refused(kNoRepeatedPairs, [](int e) { return e / 60; });
  EXPECT_TRUE(contains(few, "the 180 events have 3 times in all")) << few;
  EXPECT_TRUE(contains(few, "--split at --validation-from T --test-from T")) << few;
  const OddNetwork one_pair{"", 50, [](int) { return std::string("a,b"); }, false};
  EXPECT_TRUE(contains(refused(one_pair, [](int e) { return e; }), "no negative exists"));
}

TEST_F(OddNetworks, EpochLinesShowEachQuestionAndStayShort) {
  const CommandResult trained = train(write_network(kNoRepeatedPairs),
                                      kLight + std::string("--miner curnm --outputs questions"));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_TRUE(
      contains(trained.err,
               "in parentheses: validation AP of the questions destination/partner/pair/new_pair"));
  EXPECT_TRUE(contains(trained.err, "  share 0.25/0.25/0.25/0.25  pi 1.00/1.00/1.00/1.00  "))
      << trained.err;
  std::istringstream lines(trained.err);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("epoch ")) continue;
    EXPECT_LE(line.size(), 150U) << line;
    EXPECT_EQ(std::ranges::count(line.substr(0, line.find("share")), '/'), 3) << line;
  }
}

}  // namespace
}  // namespace curnm
