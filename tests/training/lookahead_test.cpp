#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "curnm/data/synthetic.h"
#include "curnm/decoders/registry.h"
#include "curnm/miners/registry.h"
#include "curnm/models/registry.h"
#include "curnm/nn/tensor_file.h"
#include "support/training.h"

// What exists only later changes nothing: nodes and events that are added, or replaced, after the
// validation period leave every bit of training and validation as it was.

namespace curnm {
namespace {

using testing::quick;

struct Case {
  std::string model;
  std::string decoder;
  std::string miner;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.model << " with " << c.decoder << " and " << c.miner;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const ModelEntry& model : models()) {
    for (const DecoderEntry& decoder : decoders()) {
      for (const MinerEntry& miner : miners())
        all.push_back({model.name, decoder.name, miner.name});
    }
  }
  return all;
}

/// The network with its events from `first` on changed by `change(e, src, dst)`, some events more
/// after its last one, and as many nodes more as it takes.
template <class Change>
Dataset changed_from(const Dataset& network, EventId first, std::int64_t more,
                     const Change& change) {
  std::vector<NodeId> src(network.events.src.begin(), network.events.src.end());
  std::vector<NodeId> dst(network.events.dst.begin(), network.events.dst.end());
  std::vector<Timestamp> time(network.events.time.begin(), network.events.time.end());
  for (std::int64_t i = 0; i < more; ++i) {
    src.push_back(src[static_cast<std::size_t>(i)]);
    dst.push_back(dst[static_cast<std::size_t>(7 * i)]);
    time.push_back(time.back() + 60);
  }
  for (auto e = static_cast<std::size_t>(first); e < src.size(); ++e) change(e, src[e], dst[e]);
  const NodeId nodes = std::max(network.events.num_nodes,
                                std::max(std::ranges::max(src), std::ranges::max(dst)) + 1);
  Dataset changed = network;
  changed.events = {std::move(src), std::move(dst), std::move(time), nodes};
  changed.communities = {};
  return changed;
}

class Lookahead : public ::testing::TestWithParam<Case> {
 protected:
  Lookahead()
      : network_(generate({.nodes = 50,
                           .events = 800,
                           .communities = 4,
                           .repeat = 0.4,
                           .one_mode = true,
                           .seed = 3},
                          "network")) {
    const Cuts cuts = cuts_by_quantile(network_.events);
    first_test_ = cuts.first_test;
    given_ = quick(GetParam().model, {{"decoder", GetParam().decoder},
                                      {"miner", GetParam().miner},
                                      {"epochs", "2"},
                                      {"select-on", "mrr"},
                                      {"rank-among", "10"},
                                      {"split", "at"}});
    given_["validation-from"] = fmt::format("{}", network_.events.time[cuts.first_validation]);
    given_["test-from"] = fmt::format("{}", network_.events.time[cuts.first_test]);
    if (GetParam().miner == "curnm") {
      given_["pi"] = "0.5";  // selects, and keeps hard negatives from the start
    }
  }

  struct Outcome {
    std::vector<EventId> train;
    std::vector<Negatives> validation;
    std::vector<EpochRecord> records;
    std::map<std::string, Tensor> weights;
  };
  Outcome outcome_of(const Dataset& network) const {
    TrainingSession session = testing::session_of(given_, network);
    testing::train(session);
    return {session.task().split().train, session.task().validation().negatives, session.records(),
            session.trained_model().tensors->tensors};
  }

  static void expect_same(const Outcome& a, const Outcome& b) {
    EXPECT_EQ(a.train, b.train);
    for (std::size_t p = 0; p < a.validation.size(); ++p) {
      EXPECT_EQ(a.validation[p].src, b.validation[p].src) << "negatives of protocol " << p;
      EXPECT_EQ(a.validation[p].dst, b.validation[p].dst) << "negatives of protocol " << p;
    }
    ASSERT_EQ(a.records.size(), b.records.size());
    for (std::size_t e = 0; e < a.records.size(); ++e) {
      EXPECT_EQ(a.records[e].losses, b.records[e].losses) << e;
      EXPECT_EQ(a.records[e].mining, b.records[e].mining) << e;
      EXPECT_EQ(a.records[e].validation_ap, b.records[e].validation_ap) << e;
      EXPECT_EQ(a.records[e].validation_mrr, b.records[e].validation_mrr) << e;
    }
    for (const auto& [name, tensor] : a.weights) {
      if (name.starts_with("state/")) continue;  // after all events: that is later
      EXPECT_TRUE(at::equal(tensor, b.weights.at(name))) << name;
    }
  }

  Dataset network_;
  EventId first_test_ = 0;
  GivenOptions given_;
};

TEST_P(Lookahead, LaterNodesAndEventsChangeNothing) {
  const Outcome expected = outcome_of(network_);
  const NodeId nodes = network_.events.num_nodes;
  // New nodes that appear in test events only.
  expect_same(expected, outcome_of(changed_from(network_, first_test_, 0,
                                                [&](std::size_t e, NodeId& src, NodeId& dst) {
                                                  if (e % 2 == 0) src = nodes + NodeId(e % 20);
                                                  if (e % 3 == 0) dst = nodes + NodeId(e % 30);
                                                })));
  // Other test events of the same nodes, self-loops among them.
  expect_same(expected, outcome_of(changed_from(network_, first_test_, 0,
                                                [&](std::size_t e, NodeId& src, NodeId& dst) {
                                                  src = NodeId(e % 7);
                                                  dst = NodeId(e % 5);
                                                })));
  // Events after the last one, with new nodes and with old ones.
  const EventId end = network_.events.size();
  expect_same(expected, outcome_of(changed_from(network_, end, 90,
                                                [&](std::size_t e, NodeId& src, NodeId& dst) {
                                                  src = nodes + NodeId(e % 40);
                                                  dst = NodeId(e % 11);
                                                })));
  expect_same(expected,
              outcome_of(changed_from(network_, end, 90, [](std::size_t, NodeId&, NodeId&) {})));
}

// As the published programs have it, later nodes do change what is hidden and what validation is
// about; otherwise the test above would show nothing.
TEST_P(Lookahead, AsPublishedTheyChangeTheTraining) {
  if (GetParam().miner != "random") GTEST_SKIP() << "one miner shows it";
  given_["lookahead"] = "published";
  const Outcome expected = outcome_of(network_);
  const NodeId nodes = network_.events.num_nodes;
  const Outcome changed =
      outcome_of(changed_from(network_, first_test_, 0, [&](std::size_t e, NodeId& src, NodeId&) {
        src = nodes + NodeId(e % 20);
      }));
  EXPECT_NE(expected.train, changed.train);
}

INSTANTIATE_TEST_SUITE_P(All, Lookahead, ::testing::ValuesIn(cases()), [](const auto& test) {
  return test.param.model + "_" + test.param.decoder + "_" + test.param.miner;
});

}  // namespace
}  // namespace curnm
