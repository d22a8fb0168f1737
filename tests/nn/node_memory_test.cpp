#include "curnm/nn/node_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

constexpr std::int64_t kWidth = 3;
constexpr NodeId kNodes = 8;

/// Events with their numbers, as a batch.
struct Batch {
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
  std::vector<EventId> events;

  EventBatch view() const { return {src, dst, time, events}; }
};

class NodeMemoryTest : public ::testing::Test {
 protected:
  static MemoryOptions options(Ties ties = Ties::kStream,
                               MemoryUpdater updater = MemoryUpdater::kGru) {
    Tensor features = at::empty({20, 2});
    keyed_uniform_(features, 1, Rng(3, Stream::kTest));
    return {.num_nodes = kNodes,
            .width = kWidth,
            .time_width = 4,
            .updater = updater,
            .ties = ties,
            .origin = 10,
            .edge_features = features};
  }
  static std::shared_ptr<NodeMemory> memory(const MemoryOptions& o) {
    auto made = std::make_shared<NodeMemory>(o);
    initialise(*made, Rng(1, Stream::kTest));
    const NoGradGuard no_grad;
    std::uint64_t number = 0;
    for (auto& item :
         made->named_parameters()) {  // biases begin as zeros, which would hide mistakes
      if (item.key().find("bias") == std::string::npos) continue;
      keyed_uniform_(item.value(), 1, Rng(2, Stream::kTest, number++));
    }
    return made;
  }
  static Tensor state_of(NodeMemory& m, NodeId node, Timestamp t) {
    StateRows rows(kNodes);
    rows.row(node, m.mail_visible(node, t));
    return m.read(rows)[0];
  }
};

enum Part { kMemory, kMailOther, kMailEvent, kMailTime, kUpdated };

TEST_F(NodeMemoryTest, NothingSeenNothingKnown) {
  const auto m = memory(options());
  EXPECT_FALSE(m->mail_visible(0, 100));
  EXPECT_TRUE(at::equal(state_of(*m, 0, 100), at::zeros({kWidth})));
}

// One-mode: node 0 is source, destination, source, destination; its last event decides, not the
// last one of a role (traps of the public programs).
TEST_F(NodeMemoryTest, TheMailIsThatOfTheChronologicallyLastEvent) {
  const auto m = memory(options());
  m->observe(Batch{{0, 2, 0, 4}, {1, 0, 3, 0}, {11, 12, 13, 14}, {5, 6, 7, 8}}.view());
  const auto state = m->state();
  EXPECT_EQ(state[kMailEvent][0].item<EventId>(), 8);
  EXPECT_EQ(state[kMailTime][0].item<double>(), 14);
  EXPECT_EQ(state[kMailEvent][1].item<EventId>(), 5);
  EXPECT_EQ(state[kMailEvent][3].item<EventId>(), 7);
  EXPECT_EQ(state[kMailEvent][5].item<EventId>(), kNoEvent);
}

TEST_F(NodeMemoryTest, EqualTimesAreDecidedByTheOrderOfTheLog) {
  const auto m = memory(options());
  m->observe(Batch{{0, 0, 2}, {1, 2, 0}, {11, 11, 11}, {5, 6, 7}}.view());
  EXPECT_EQ(m->state()[kMailEvent][0].item<EventId>(), 7);
  EXPECT_EQ(m->state()[kMailEvent][2].item<EventId>(), 7);
}

TEST_F(NodeMemoryTest, ASelfLoopIsOneMailToItself) {
  const auto m = memory(options());
  m->observe(Batch{{2}, {2}, {11}, {5}}.view());
  EXPECT_EQ(m->state()[kMailEvent][2].item<EventId>(), 5);
}

// s' = GRU([s_self ‖ s_other ‖ e ‖ phi(t - last update)], s_self), with all parts by hand.
TEST_F(NodeMemoryTest, TheStateIsTheUpdaterAppliedToTheMail) {
  for (MemoryUpdater updater : {MemoryUpdater::kGru, MemoryUpdater::kRnn}) {
    const MemoryOptions o = options(Ties::kStream, updater);
    const auto m = memory(o);
    m->observe(Batch{{0}, {1}, {11}, {5}}.view());
    m->observe(Batch{{0}, {2}, {15}, {6}}.view());  // node 0 keeps s' of mail 5; mail 6 is pending
    const CosineTimeEncoding phi(o.time_width, false, 1);
    const auto encode = [&](double dt) { return phi.forward(at::tensor({dt}, at::kDouble)); };
    const auto p = m->named_parameters();
    const auto update = [&](const Tensor& input, const Tensor& s) {
      const std::string name = updater == MemoryUpdater::kGru ? "gru." : "rnn.";
      const Tensor i = at::mm(input, p[name + "weight_ih"].t()) + p[name + "bias_ih"];
      const Tensor h = at::mm(s, p[name + "weight_hh"].t()) + p[name + "bias_hh"];
      if (updater == MemoryUpdater::kRnn) return at::tanh(i + h);
      const auto gi = i.chunk(3, 1);
      const auto gh = h.chunk(3, 1);
      const Tensor reset = at::sigmoid(gi[0] + gh[0]);
      const Tensor keep = at::sigmoid(gi[1] + gh[1]);
      return (1 - keep) * at::tanh(gi[2] + reset * gh[2]) + keep * s;
    };
    const Tensor zero = at::zeros({1, kWidth});
    const Tensor first =
        update(at::cat({zero, zero, o.edge_features.slice(0, 5, 6), encode(11 - 10)}, 1), zero);
    EXPECT_TRUE(at::allclose(m->state()[kMemory][0], first[0], 1e-5, 1e-6));
    const Tensor second =
        update(at::cat({first, zero, o.edge_features.slice(0, 6, 7), encode(15 - 11)}, 1), first);
    EXPECT_TRUE(at::allclose(state_of(*m, 0, 20), second[0], 1e-5, 1e-6));
  }
}

// Reading is not writing: only the endpoints of positives keep their state.
TEST_F(NodeMemoryTest, OnlyEndpointsOfPositivesArePersisted) {
  const auto m = memory(options());
  m->observe(Batch{{0, 2}, {1, 3}, {11, 12}, {5, 6}}.view());
  const auto before = m->state();
  state_of(*m, 2, 20);
  state_of(*m, 3, 20);
  m->observe(Batch{{0}, {1}, {13}, {7}}.view());
  const auto after = m->state();
  for (NodeId node : {2, 3, 4, 5, 6, 7}) {
    for (std::size_t part = 0; part < before.size(); ++part) {
      EXPECT_TRUE(at::equal(before[part][node], after[part][node])) << node << " " << part;
    }
  }
  EXPECT_FALSE(at::equal(before[kMemory][0], after[kMemory][0]));
  EXPECT_EQ(after[kUpdated][0].item<double>(), 11);
}

TEST_F(NodeMemoryTest, TheUpdaterLearnsThroughThePendingMailByEitherPath) {
  for (MemoryUpdater updater : {MemoryUpdater::kGru, MemoryUpdater::kRnn}) {
    const auto learned = [&](Path path) {
      MemoryOptions o = options(Ties::kStream, updater);
      o.path = path;
      const auto m = memory(o);
      m->observe(Batch{{0}, {1}, {11}, {5}}.view());
      m->observe(Batch{{0}, {2}, {15}, {6}}.view());
      const Tensor state = state_of(*m, 0, 20);
      (state * at::arange(1, kWidth + 1)).sum().backward();
      return m;
    };
    const auto plain = learned(Path::kPlain);
    const auto fast = learned(Path::kFast)->named_parameters();
    for (const auto& item : plain->named_parameters()) {
      const Tensor& expected = item.value().grad();
      ASSERT_TRUE(expected.defined()) << item.key();
      EXPECT_GT(expected.abs().max().item<double>(), 0) << item.key();
      EXPECT_TRUE(at::allclose(fast[item.key()].grad(), expected, 1e-5, 1e-6)) << item.key();
    }
  }
}

TEST_F(NodeMemoryTest, TakesFeaturesInAnyLayout) {
  const MemoryOptions usual = options();
  MemoryOptions transposed = usual;
  transposed.edge_features = usual.edge_features.t().contiguous().t();
  const auto expected = memory(usual);
  const auto actual = memory(transposed);
  for (const auto& m : {expected, actual}) m->observe(Batch{{0}, {1}, {11}, {5}}.view());
  EXPECT_TRUE(at::equal(state_of(*actual, 0, 20), state_of(*expected, 0, 20)));
}

TEST_F(NodeMemoryTest, StrictTiesHideMailOfTheSameTime) {
  const auto strict = memory(options(Ties::kStrict));
  const auto stream = memory(options(Ties::kStream));
  for (const auto& m : {strict, stream}) m->observe(Batch{{0}, {1}, {11}, {5}}.view());
  EXPECT_TRUE(stream->mail_visible(0, 11));
  EXPECT_FALSE(strict->mail_visible(0, 11));
  EXPECT_TRUE(strict->mail_visible(0, 11.5));
}

// A snapshot that is cut into batches: with strict ties the second half must not see the first, not
// even through what the first half persisted.
TEST_F(NodeMemoryTest, StrictTiesKeepASnapshotBlindToItself) {
  const auto with = memory(options(Ties::kStrict));
  const auto without = memory(options(Ties::kStrict));
  for (const auto& m : {with, without}) m->observe(Batch{{0, 1}, {3, 2}, {11, 11}, {1, 2}}.view());
  with->observe(Batch{{0}, {1}, {20}, {5}}.view());
  with->observe(Batch{{0}, {2}, {20}, {6}}.view());
  with->observe(Batch{{0}, {3}, {20}, {7}}.view());
  for (NodeId node = 0; node < kNodes; ++node) {
    // Not to the bit: one kept its state in a batch, the other computes it alone.
    EXPECT_TRUE(at::allclose(state_of(*with, node, 20), state_of(*without, node, 20), 1e-6, 1e-6))
        << node;
  }
  EXPECT_FALSE(at::equal(state_of(*with, 0, 21), state_of(*without, 0, 21)));
}

TEST_F(NodeMemoryTest, StateRoundTrip) {
  const auto m = memory(options());
  m->observe(Batch{{0, 2}, {1, 3}, {11, 12}, {5, 6}}.view());
  const auto saved = m->state();
  const Tensor known = state_of(*m, 0, 20).detach().clone();
  m->observe(Batch{{0}, {2}, {15}, {7}}.view());
  m->set_state(saved);
  EXPECT_TRUE(at::equal(state_of(*m, 0, 20), known));
  m->forget();
  EXPECT_TRUE(at::equal(state_of(*m, 0, 20), at::zeros({kWidth})));
}

// Versions say when what was computed from a state is still true: that of a node goes with its
// contents, also back, and the same mail that is delivered again brings the same number.
TEST_F(NodeMemoryTest, VersionsFollowTheContents) {
  for (const Ties ties : {Ties::kStream, Ties::kStrict}) {
    const auto m = memory(options(ties));
    m->observe(Batch{{0, 2}, {1, 3}, {11, 12}, {0, 1}}.view());
    const auto versions = [&] {
      std::vector<std::int64_t> all;
      for (NodeId node = 0; node < kNodes; ++node) all.push_back(m->version(node));
      return all;
    };
    const std::vector<std::int64_t> first = versions();
    const Batch part{{0, 4}, {2, 5}, {13, 14}, {2, 3}};
    const auto before = m->state_before(part.view());
    m->observe(part.view());
    const std::vector<std::int64_t> shown = versions();
    for (const NodeId node : {0, 2, 4, 5}) EXPECT_NE(shown[node], first[node]) << node;
    for (const NodeId node : {1, 3, 6}) EXPECT_EQ(shown[node], first[node]) << node;
    m->undo(before);
    EXPECT_EQ(versions(), first);
    m->observe(Batch{{0, 4, 4}, {2, 5, 6}, {13, 14, 15}, {2, 3, 4}}.view());
    const std::vector<std::int64_t> more = versions();
    for (const NodeId node : {0, 2}) EXPECT_EQ(more[node], shown[node]) << node;
    for (const NodeId node : {4, 6}) EXPECT_NE(more[node], shown[node]) << node;
    m->forget();
    for (NodeId node = 0; node < kNodes; ++node) {
      for (const auto& earlier : {first, shown, more}) EXPECT_NE(m->version(node), earlier[node]);
    }
  }
}

// Mail is delivered from the state before its batch. A batch that begins with other events from the
// same state gives the same contents as one that was never undone.
TEST_F(NodeMemoryTest, WhatWasUndoneIsTakenOnlyWhereItIsTheSame) {
  for (const Ties ties : {Ties::kStream, Ties::kStrict}) {
    const auto undoing = memory(options(ties));
    const auto straight = memory(options(ties));
    const Batch first{{0, 2}, {1, 3}, {11, 12}, {0, 1}};
    for (const auto& m : {undoing, straight}) m->observe(first.view());
    const Batch shown{{0, 2, 4}, {2, 4, 5}, {13, 14, 14}, {2, 3, 4}};
    const auto before = undoing->state_before(shown.view());
    undoing->observe(shown.view());
    undoing->undo(before);
    const Batch next{{0, 2, 4, 1}, {2, 4, 5, 0}, {13, 14, 14, 14}, {2, 3, 4, 5}};
    for (const auto& m : {undoing, straight}) m->observe(next.view());
    const auto found = undoing->state();
    const auto expected = straight->state();
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::equal(found[i], expected[i]));
  }
}

}  // namespace
}  // namespace curnm
