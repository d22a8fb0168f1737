#include "curnm/prediction/explanation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "curnm/data/synthetic.h"
#include "curnm/nn/tensor_file.h"
#include "curnm/prediction/predictor.h"
#include "support/errors.h"
#include "support/training.h"

// Why a link scores as it does.

namespace curnm {
namespace {

using testing::fails;
using testing::quick;

TEST(TimeUnitTest, DurationsAreInUnitsOfWhichThereAreTwo) {
  const TimeUnit seconds{1};
  EXPECT_EQ(seconds.in_words(0.2), "less than a second");
  EXPECT_EQ(seconds.in_words(1), "1 second");
  EXPECT_EQ(seconds.in_words(119.4), "119 seconds");
  EXPECT_EQ(seconds.in_words(120), "2 minutes");
  EXPECT_EQ(seconds.in_words(7199), "120 minutes");
  EXPECT_EQ(seconds.in_words(7200), "2 hours");
  EXPECT_EQ(seconds.in_words(3 * 86400 + 3600), "3 days");
  EXPECT_EQ(seconds.in_words(700 * 86400.0), "700 days");
  EXPECT_EQ(seconds.in_words(1000 * 86400.0), "3 years");
  EXPECT_EQ(TimeUnit{1e-3}.in_words(7200e3), "2 hours");
  EXPECT_EQ(TimeUnit{}.in_words(1), "1 unit of time");
  EXPECT_EQ(TimeUnit{}.in_words(7200), "7200 units of time");
  EXPECT_EQ(TimeUnit{}.in_words(0.125), "0.125 units of time");
  EXPECT_EQ(TimeUnit{}.in_words(1234.5), "1235 units of time");
  EXPECT_EQ(TimeUnit{}.in_words(4.66e-10), "less than a millionth of a unit of time");
}

TEST(TimeUnitTest, TimesSince1970AreRecognised) {
  const auto unit = [](std::vector<Timestamp> times) {
    const std::size_t events = times.size();
    return TimeUnit::of({std::vector<NodeId>(events, 0), std::vector<NodeId>(events, 1),
                         std::move(times), 2})
        .seconds;
  };
  EXPECT_EQ(unit({1.08e9, 1.1e9}), 1);
  EXPECT_EQ(unit({1.08e12, 1.1e12}), 1e-3);
  EXPECT_EQ(unit({0, 2678373}), 0) << "from the beginning of the data: nobody knows";
  EXPECT_EQ(unit({1990, 2020}), 0) << "years";
  EXPECT_EQ(unit({1.08e9, 1e11}), 0);
  EXPECT_EQ(unit({}), 0);
}

TEST(PairInWordsTest, LiteralSentences) {
  const TimeUnit unit{1};
  const Timestamp t = 1e9;
  PairFacts facts;
  EXPECT_EQ(in_words(facts, "ann", "bob", t, unit),
            "never met; ann has never been active; bob has never been active");
  facts.u = {.events = 1, .partners = 1, .first = t - 300, .last = t - 300};
  EXPECT_EQ(in_words(facts, "ann", "bob", t, unit),
            "never met; ann was last active 5 minutes ago, 1 event with 1 partner; bob has never "
            "been active");
  const double day = 86400;
  facts = {.u = {.events = 121, .partners = 30, .first = t - 300 - 120 * day, .last = t - 300},
           .v = {.events = 9, .partners = 2, .first = t - 7200, .last = t - 7200},
           .uv = {10, t - 3 * day},
           .vu = {4, t - 4 * day},
           .met = {14, t - 3 * day},
           .since_u = 1,
           .since_v = 20,
           .recent_vu = 6,
           .recent_uv = 3,
           .recent_common = 17,
           .common_partners = 5,
           .next_v = {{{.went_on = {.count = 12}, .events = 20}, {}}}};
  EXPECT_EQ(in_words(facts, "ann", "bob", t, unit),
            "last met 3 days ago, 14 times (4 from bob); ann was last active 5 minutes ago, 121 "
            "events with 30 partners, one in 24 hours on average; bob was last active 2 hours ago, "
            "9 events with 2 partners; since then 1 event of ann and 20 of bob; 6 of the newest 32 "
            "events of ann with bob; 3 of the newest 9 events of bob with ann; 5 common partners "
            "among the newest 32; others went on from the last partner of ann to bob 12 times");
  facts = {.u = {.events = 2, .partners = 1, .first = 3, .last = 5},
           .v = {.events = 2, .partners = 1, .first = 3, .last = 5},
           .uv = {2, 5},
           .vu = {2, 5},
           .met = {2, 5}};
  EXPECT_EQ(
      in_words(facts, "7", "7", 9, {}),
      "last met 4 units of time ago, 2 times; 7 was last active 4 units of time ago, 2 events "
      "with 1 partner, one in 2 units of time on average");
}

Dataset network() {
  return generate({.nodes = 60, .events = 1500, .communities = 4, .one_mode = true, .seed = 5},
                  "network");
}

TrainedModel trained(const std::string& model, const Dataset& dataset, GivenOptions given = {}) {
  given.emplace("epochs", "1");
  TrainingSession session = testing::session_of(quick(model, given), dataset);
  testing::train(session);
  return session.trained_model();
}

/// Some in the past, some after the last event, in no order.
struct Asked {
  explicit Asked(const Dataset& dataset) {
    for (NodeId node = 0; node < dataset.events.num_nodes; ++node) {
      src.push_back(node);
      dst.push_back((node * 7 + 3) % dataset.events.num_nodes);
      const Timestamp last = dataset.events.time.back();
      time.push_back(node % 3 == 0 ? last + 1 : dataset.events.time[300 + 200 * (node % 5)]);
    }
  }
  Pairs pairs() const { return {src, dst, time}; }

  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
};

struct Kind {
  std::string name;
  std::string model;
  GivenOptions options;
  std::size_t parts;
};

class Explanations : public ::testing::TestWithParam<Kind> {
 protected:
  Dataset dataset_ = network();
  Predictor predictor_{trained(GetParam().model, dataset_, GetParam().options), dataset_};
  Asked asked_{dataset_};
};

// They explain the answer that is given, whoever else is asked about.
TEST_P(Explanations, AreOfTheSameLogitsToTheBit) {
  for (const Question question : {Question::kPair, Question::kDestination}) {
    const std::vector<float> scores = predictor_.score(asked_.pairs(), question);
    const std::vector<Explanation> all = predictor_.explain(asked_.pairs(), question);
    ASSERT_EQ(all.size(), scores.size());
    EXPECT_EQ(predictor_.explained_parts().size(), GetParam().parts);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].logit, scores[i]);
      ASSERT_EQ(all[i].parts.size(), GetParam().parts);
      for (std::size_t part = 0; part < GetParam().parts; ++part) {
        EXPECT_EQ(all[i].parts[part].name, predictor_.explained_parts()[part]);
      }
    }
    EXPECT_EQ(predictor_.score(asked_.pairs(), question), scores) << "nothing was changed";
    for (const std::size_t i : {0UL, 7UL, 31UL}) {
      const auto only = [&](const auto& column) { return std::span(column).subspan(i, 1); };
      const Explanation alone =
          predictor_.explain({only(asked_.src), only(asked_.dst), only(asked_.time)}, question)
              .front();
      EXPECT_EQ(alone.typical, all[i].typical);
      for (std::size_t part = 0; part < GetParam().parts; ++part) {
        EXPECT_EQ(alone.parts[part].moved, all[i].parts[part].moved);
      }
    }
  }
}

TEST_P(Explanations, FactsAreThoseOfThePairAtTheTime) {
  const EventLog& log = dataset_.events;
  const std::vector<Explanation> all = predictor_.explain(asked_.pairs());
  for (std::size_t i = 0; i < all.size(); ++i) {
    Activity met;
    for (EventId e = 0; e < log.size() && log.time[e] < asked_.time[i]; ++e) {
      const bool forth = log.src[e] == asked_.src[i] && log.dst[e] == asked_.dst[i];
      const bool back = log.dst[e] == asked_.src[i] && log.src[e] == asked_.dst[i];
      if (forth || back) met = {met.count + 1, log.time[e]};
    }
    EXPECT_EQ(all[i].facts.met.count, met.count);
    EXPECT_EQ(all[i].facts.met.last, met.last);
    const auto json = to_json(all[i], "words");
    EXPECT_EQ(json["met"], met.count);
    EXPECT_EQ(json["last_met"].is_null(), met.count == 0);
    EXPECT_EQ(json["moved"].size(), GetParam().parts);
  }
}

TEST_P(Explanations, NeedAPast) {
  const std::vector<NodeId> node = {1};
  const std::vector<Timestamp> time = {0};
  EXPECT_TRUE(fails(
      [&] {
        predictor_.explain({node, node, time});
      },
      {"nothing has happened before time 0", "nothing to explain"}));
}

INSTANTIATE_TEST_SUITE_P(
    All, Explanations,
    ::testing::Values(
        Kind{"light", "light", {{"decoder", "pair"}}, 9},
        Kind{"walks",
             "light",
             {{"decoder", "pair"}, {"walk", "on"}, {"miner", "curnm"}, {"outputs", "questions"}},
             10},
        Kind{"tgn", "tgn", {{"decoder", "pair"}}, 9},
        Kind{"jodie", "jodie", {{"decoder", "pair"}}, 9},
        Kind{"dysat", "dysat", {{"decoder", "pair"}}, 9}, Kind{"additive", "tgn", {}, 2}),
    [](const auto& test) { return test.param.name; });

// out(ReLU(W_s h_u + W_d h_v)), by loops, with means over the events that are typical.
TEST(ExplanationTest, DifferencesAreThoseOfARecomputation) {
  const Dataset dataset = network();
  const TrainedModel model = trained("tgn", dataset);
  const Predictor predictor(model, dataset);
  const EventLog& log = dataset.events;
  const EventId known = 700;
  const Timestamp t = std::nextafter(log.time[known - 1], log.time.back());
  ASSERT_GT(log.time[known], log.time[known - 1]);
  std::vector<NodeId> sources;
  std::vector<NodeId> destinations;
  const auto event = [&](int i) { return EventId{(i % 128) * known / 128}; };
  for (int i = 0; i < 128; ++i) {
    sources.insert(sources.end(), 2, log.src[event(i)]);
    destinations.insert(destinations.end(), {log.dst[event(i)], log.dst[event(i + 64)]});
  }
  const auto embedded = [&](const std::vector<NodeId>& nodes) {
    const Predictor::Embeddings found = predictor.embed(nodes, t);
    std::vector<double> mean(index(found.width), 0);
    for (std::size_t i = 0; i < found.values.size(); ++i) {
      mean[i % mean.size()] += found.values[i] / static_cast<double>(nodes.size());
    }
    return mean;
  };
  const auto weight = [&](const std::string& name) { return model.tensors->tensors.at(name); };
  const auto logit = [&](const std::vector<double>& u, const std::vector<double>& v) {
    double sum = weight("decoder/out.bias")[0].item<double>();
    for (std::int64_t d = 0; d < std::ssize(u); ++d) {
      double hidden = weight("decoder/source.bias")[d].item<double>() +
                      weight("decoder/destination.bias")[d].item<double>();
      for (std::int64_t k = 0; k < std::ssize(u); ++k) {
        hidden += weight("decoder/source.weight")[d][k].item<double>() * u[index(k)] +
                  weight("decoder/destination.weight")[d][k].item<double>() * v[index(k)];
      }
      sum += weight("decoder/out.weight")[0][d].item<double>() * std::max(hidden, 0.0);
    }
    return sum;
  };
  const std::vector<double> mean_u = embedded(sources);
  const std::vector<double> mean_v = embedded(destinations);
  double largest = 0;
  for (const NodeId u : {3, 17, 40}) {
    const NodeId v = 11;
    const std::vector<Timestamp> time = {t};
    const Explanation found = predictor.explain({std::span(&u, 1), std::span(&v, 1), time}).front();
    const std::vector<double> h_u = embedded({u});
    const std::vector<double> h_v = embedded({v});
    const double whole = logit(h_u, h_v);
    EXPECT_NEAR(found.logit, whole, 1e-4);
    EXPECT_NEAR(found.typical, logit(mean_u, mean_v), 1e-4);
    EXPECT_NEAR(found.parts[0].moved, whole - logit(mean_u, h_v), 1e-4);
    EXPECT_NEAR(found.parts[1].moved, whole - logit(h_u, mean_v), 1e-4);
    largest = std::max(largest, std::abs(static_cast<double>(found.parts[0].moved)));
  }
  EXPECT_GT(largest, 1e-3) << "something has moved";
}

}  // namespace
}  // namespace curnm
