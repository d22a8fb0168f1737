#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "curnm/models/model.h"
#include "curnm/nn/tensors.h"
#include "curnm/sampling/indices.h"
#include "support/options.h"
#include "support/random_log.h"
#include "support/scoped_threads.h"

// What every registered model promises; a new line in the registry is tested here without an edit.

namespace curnm {
namespace {

using testing::options_of;
using testing::random_log;

constexpr std::int64_t kBatch = 7;

struct Case {
  std::string_view model;
  bool features;
  const char* ties;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const ModelEntry& entry : models()) {
    all.push_back({entry.name, false, "stream"});
    all.push_back({entry.name, true, "stream"});
    all.push_back({entry.name, true, "strict"});
  }
  return all;
}

class ModelContract : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr std::int64_t kWidth = 6;

  std::shared_ptr<Model> make(const EventLog& log, std::uint64_t seed = 0) const {
    ModelContext context{.num_nodes = log.num_nodes,
                         .first_time = log.time.front(),
                         .last_time = log.time.back(),
                         .seed = seed};
    if (GetParam().features) {
      context.edge_features = at::empty({1000, 3});
      context.node_features = at::empty({log.num_nodes, 2});
      keyed_uniform_(context.edge_features, 1, Rng(1, Stream::kTest));
      keyed_uniform_(context.node_features, 1, Rng(2, Stream::kTest));
    }
    return make_model(GetParam().model,
                      options_of(models(), GetParam().model,
                                 {{"width", std::to_string(kWidth)},
                                  {"time-width", "5"},
                                  {"neighbors", "3"},
                                  {"ties", GetParam().ties},
                                  {"snapshot-length", "5"}}),
                      context);
  }

  static Tensor embed(Model& model, const Roots& roots, Timestamp now, const Rng& key) {
    const auto sample = model.sample(roots, now, key);
    return model.embed(roots, sample.get(), key);
  }

  /// Embeddings of every node at time t after the events before `seen` have been observed in
  /// batches.
  static Tensor embed_all(Model& model, const EventLog& log, const Indices& indices, EventId seen,
                          Timestamp t) {
    return embed_all(model, log, indices, seen, t, t);
  }
  /// The same in a batch that begins at `now`.
  static Tensor embed_all(Model& model, const EventLog& log, const Indices& indices, EventId seen,
                          Timestamp t, Timestamp now) {
    model.use(indices.past());
    model.forget();
    model.eval();
    const NoGradGuard no_grad;
    std::vector<EventId> ids(static_cast<std::size_t>(log.size()));
    std::iota(ids.begin(), ids.end(), EventId{0});
    for (EventId begin = 0; begin < seen; begin += kBatch) {
      const auto first = static_cast<std::size_t>(begin);
      const auto size = static_cast<std::size_t>(std::min(kBatch, seen - begin));
      model.observe({log.src.span().subspan(first, size), log.dst.span().subspan(first, size),
                     log.time.span().subspan(first, size), std::span(ids).subspan(first, size)});
    }
    std::vector<NodeId> nodes(static_cast<std::size_t>(log.num_nodes));
    std::iota(nodes.begin(), nodes.end(), 0);
    const std::vector<Timestamp> times(nodes.size(), t);
    return embed(model, {nodes, times}, now, Rng(5, Stream::kTest));
  }
};

TEST_P(ModelContract, GivesOneFiniteRowPerRoot) {
  const EventLog log = random_log(1);
  const Indices indices(log);
  const Tensor z = embed_all(*make(log), log, indices, 40, log.time[40]);
  EXPECT_EQ(z.sizes(), (std::vector<std::int64_t>{log.num_nodes, kWidth}));
  EXPECT_TRUE(at::isfinite(z).all().item<bool>());
}

TEST_P(ModelContract, IsAFunctionOfItsSeed) {
  const EventLog log = random_log(1);
  const Indices indices(log);
  const Tensor z = embed_all(*make(log, 3), log, indices, 40, log.time[40]);
  EXPECT_TRUE(at::equal(z, embed_all(*make(log, 3), log, indices, 40, log.time[40])));
  EXPECT_FALSE(at::equal(z, embed_all(*make(log, 4), log, indices, 40, log.time[40])));
}

/// The log with every event from `first` on replaced by something else.
EventLog with_other_future(const EventLog& log, EventId first) {
  std::vector<NodeId> src(log.src.begin(), log.src.end());
  std::vector<NodeId> dst(log.dst.begin(), log.dst.end());
  const std::vector<Timestamp> time(log.time.begin(), log.time.end());
  for (auto e = static_cast<std::size_t>(first); e < src.size(); ++e) {
    src[e] = (src[e] + 3) % (log.num_nodes - 1);
    dst[e] = (dst[e] + 5) % (log.num_nodes - 1);
  }
  return {std::move(src), std::move(dst), time, log.num_nodes};
}

// Perturbing or deleting what the visibility rule hides changes no bit. `t` is a time with ties:
// with strict ties the events at t that have been observed are hidden too.
TEST_P(ModelContract, NeverSeesWhatIsHidden) {
  const EventLog log = random_log(2, {.nodes = 12, .events = 90, .distinct_times = 12});
  const Indices indices(log);
  for (const EventId seen : {EventId{21}, EventId{49}}) {
    const Timestamp t = log.time[seen];
    const auto first_at_t = static_cast<EventId>(
        std::lower_bound(log.time.begin(), log.time.end(), t) - log.time.begin());
    ASSERT_LT(first_at_t, seen) << "the cut must go through equal times";
    const bool strict = std::string_view(GetParam().ties) == "strict";
    const EventId hidden = strict ? first_at_t : seen;

    const Tensor z = embed_all(*make(log), log, indices, seen, t);
    const EventLog other = with_other_future(log, hidden);
    EXPECT_TRUE(at::equal(z, embed_all(*make(log), other, Indices(other), seen, t)));

    std::vector<EventId> kept(static_cast<std::size_t>(hidden));
    std::iota(kept.begin(), kept.end(), EventId{0});
    const EventLog shorter = select(log, kept);
    EXPECT_TRUE(at::equal(z, embed_all(*make(log), shorter, Indices(shorter), hidden, t)));
  }
}

// Of a question within a batch everything before its own time may be seen, and what a batch shares
// looks no further than its beginning: nothing from the question's time on counts.
TEST_P(ModelContract, NeverSeesWhatIsHiddenWithinABatch) {
  const EventLog log = random_log(2, {.nodes = 12, .events = 90, .distinct_times = 60});
  const Indices indices(log);
  const EventId seen = 49;  // where the batch begins
  const Timestamp now = log.time[seen];
  const Timestamp t = log.time[55];
  ASSERT_LT(now, t);
  const auto hidden = static_cast<EventId>(std::lower_bound(log.time.begin(), log.time.end(), t) -
                                           log.time.begin());
  const Tensor z = embed_all(*make(log), log, indices, seen, t, now);
  const EventLog other = with_other_future(log, hidden);
  EXPECT_TRUE(at::equal(z, embed_all(*make(log), other, Indices(other), seen, t, now)));
}

TEST_P(ModelContract, SeesThePast) {
  const EventLog log = random_log(2, {.nodes = 12, .events = 90, .distinct_times = 60});
  const Indices indices(log);
  const Timestamp t = log.time[80];
  const EventLog other = with_other_future(log, 60);
  EXPECT_FALSE(at::equal(embed_all(*make(log), log, indices, 80, t),
                         embed_all(*make(log), other, Indices(other), 80, t)));
}

TEST_P(ModelContract, StateRoundTrip) {
  const EventLog log = random_log(3);
  const Indices indices(log);
  const auto model = make(log);
  const Tensor z = embed_all(*model, log, indices, 42, log.time[50]);
  const auto state = model->state();
  embed_all(*model, log, indices, 70, log.time[75]);
  model->set_state(state);
  const NoGradGuard no_grad;
  std::vector<NodeId> nodes(static_cast<std::size_t>(log.num_nodes));
  std::iota(nodes.begin(), nodes.end(), 0);
  const std::vector<Timestamp> times(nodes.size(), log.time[50]);
  EXPECT_TRUE(at::equal(z, embed(*model, {nodes, times}, log.time[50], Rng(5, Stream::kTest))));
}

TEST_P(ModelContract, EveryParameterGetsAFiniteGradient) {
  const EventLog log = random_log(4, {.nodes = 12, .events = 90, .distinct_times = 60});
  const Indices indices(log);
  const auto model = make(log);
  embed_all(*model, log, indices, 70, log.time[70]);  // leaves memory and mail behind
  model->train();
  std::vector<NodeId> nodes(static_cast<std::size_t>(log.num_nodes));
  std::iota(nodes.begin(), nodes.end(), 0);
  const std::vector<Timestamp> times(nodes.size(), log.time[70] + 1);
  const Tensor z = embed(*model, {nodes, times}, log.time[70] + 1, Rng(6, Stream::kTest));
  Tensor weights = at::empty_like(z);
  keyed_uniform_(weights, 1, Rng(7, Stream::kTest));
  (z * weights).sum().backward();
  for (const auto& item : model->named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_TRUE(at::isfinite(item.value().grad()).all().item<bool>()) << item.key();
  }
}

// Neither the batch nor its order decides a dropout mask: a root's embedding while training is a
// function of the key, the root and the past.
TEST_P(ModelContract, DropoutDoesNotDependOnTheCompanyOfARoot) {
  const EventLog log = random_log(4, {.nodes = 12, .events = 90, .distinct_times = 60});
  const Indices indices(log);
  const auto model = make(log);
  embed_all(*model, log, indices, 70, log.time[70]);
  model->train();
  const NoGradGuard no_grad;
  const Timestamp t = log.time[70] + 1;
  std::vector<NodeId> nodes(static_cast<std::size_t>(log.num_nodes));
  std::iota(nodes.begin(), nodes.end(), 0);
  const std::vector<Timestamp> times(nodes.size(), t);
  const Tensor all = embed(*model, {nodes, times}, t, Rng(6, Stream::kTest));
  Options options = models().at(GetParam().model).defaults;
  const auto known = option_names(options);
  const bool drops = std::ranges::find(known, "dropout") != known.end();
  EXPECT_EQ(drops, !at::equal(all, embed(*model, {nodes, times}, t, Rng(7, Stream::kTest))));
  for (const NodeId node : {NodeId{3}, NodeId{9}}) {
    const std::vector<NodeId> one = {node};
    const std::vector<Timestamp> at_t = {t};
    EXPECT_TRUE(at::equal(all[node], embed(*model, {one, at_t}, t, Rng(6, Stream::kTest))[0]))
        << node;
  }
}

// What is kept of states changes no bit, while events are shown, taken back and shown again with
// more of them, and while states are set. The other model replays everything for each question.
TEST_P(ModelContract, ReusedStatesGiveTheSameBits) {
  const EventLog log = random_log(6, {.nodes = 30, .events = 160, .distinct_times = 60});
  const Indices indices(log);
  const NoGradGuard no_grad;
  const auto model = make(log);
  model->use(indices.past());
  model->eval();
  model->reuse_states();
  const auto other = make(log);
  const auto batch = [&](EventId begin, EventId end) {
    static std::vector<EventId> ids;
    ids.resize(static_cast<std::size_t>(log.size()));
    std::iota(ids.begin(), ids.end(), EventId{0});
    const auto first = static_cast<std::size_t>(begin);
    const auto size = static_cast<std::size_t>(end - begin);
    return EventBatch{log.src.span().subspan(first, size), log.dst.span().subspan(first, size),
                      log.time.span().subspan(first, size), std::span(ids).subspan(first, size)};
  };
  Rng rng(8, Stream::kTest);
  const auto expect_the_same = [&](EventId seen) {
    for (const Timestamp t : {log.time[seen], log.time[seen] + 3.5}) {
      const Tensor all = embed_all(*other, log, indices, seen, t);
      std::vector<NodeId> nodes;
      for (NodeId node = 0; node < log.num_nodes; ++node) {
        if (rng.below(3) > 0) nodes.insert(nodes.begin(), node);
      }
      const std::vector<Timestamp> times(nodes.size(), t);
      const Tensor z = embed(*model, {nodes, times}, t, Rng(5, Stream::kTest));
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        ASSERT_TRUE(at::equal(z[static_cast<std::int64_t>(i)], all[nodes[i]]))
            << seen << " events, node " << nodes[i];
      }
    }
  };
  std::vector<Tensor> early;
  for (EventId begin = 0; begin + kBatch < 150; begin += kBatch) {
    for (const EventId shown : {2, 3, 6}) {
      const auto before = model->state_before(batch(begin, begin + shown));
      model->observe(batch(begin, begin + shown));
      expect_the_same(begin + shown);
      model->undo(before);
    }
    expect_the_same(begin);
    model->observe(batch(begin, begin + kBatch));
    if (begin == 5 * kBatch) early = model->state();
  }
  model->set_state(early);
  expect_the_same(6 * kBatch);
  model->forget();
  expect_the_same(0);
}

INSTANTIATE_TEST_SUITE_P(All, ModelContract, ::testing::ValuesIn(cases()), [](const auto& test) {
  return std::string(test.param.model) + (test.param.features ? "_features_" : "_plain_") +
         test.param.ties;
});

TEST(MakeModelTest, ImpossibleOptionsAreUsageErrors) {
  const EventLog log = random_log(1);
  const ModelContext context{.num_nodes = log.num_nodes};
  const auto make = [&](const GivenOptions& given) {
    make_model("tgn", options_of(models(), "tgn", given), context);
  };
  EXPECT_THROW(make_model("tng", {}, context), UsageError);
  EXPECT_THROW(make({{"width", "10"}, {"heads", "3"}}), UsageError);
  EXPECT_THROW(make({{"neighbors", "0"}}), UsageError);
  EXPECT_THROW(make({{"ties", "loose"}}), UsageError);
}

}  // namespace
}  // namespace curnm
