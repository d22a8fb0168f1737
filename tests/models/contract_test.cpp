#include <gtest/gtest.h>

#include "curnm/models/model.h"
#include "curnm/nn/tensors.h"
#include "support/random_log.h"
#include "support/scoped_threads.h"

// What every registered model promises; a new line in the registry is tested here without an edit.

namespace curnm {
namespace {

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
                         .snapshot_length = 5,
                         .seed = seed};
    if (GetParam().features) {
      context.edge_features = torch::empty({1000, 3});
      context.node_features = torch::empty({log.num_nodes, 2});
      keyed_uniform_(context.edge_features, 1, Rng(1, Stream::kTest));
      keyed_uniform_(context.node_features, 1, Rng(2, Stream::kTest));
    }
    return make_model(
        GetParam().model,
        {.width = kWidth, .time_width = 5, .neighbors = 3, .heads = 2, .ties = GetParam().ties},
        context);
  }

  /// Embeddings of every node at time t after the events before `seen` have been observed in
  /// batches.
  static torch::Tensor embed_all(Model& model, const EventLog& log, const TemporalGraph& graph,
                                 EventId seen, Timestamp t) {
    return embed_all(model, log, graph, seen, t, t);
  }
  /// The same in a batch that begins at `now`.
  static torch::Tensor embed_all(Model& model, const EventLog& log, const TemporalGraph& graph,
                                 EventId seen, Timestamp t, Timestamp now) {
    model.look_at(graph);
    model.forget();
    model.eval();
    const torch::NoGradGuard no_grad;
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
    return model.embed({nodes, times}, now, Rng(5, Stream::kTest));
  }
};

TEST_P(ModelContract, GivesOneFiniteRowPerRoot) {
  const EventLog log = random_log(1);
  const TemporalGraph graph(log);
  const torch::Tensor z = embed_all(*make(log), log, graph, 40, log.time[40]);
  EXPECT_EQ(z.sizes(), (std::vector<std::int64_t>{log.num_nodes, kWidth}));
  EXPECT_TRUE(torch::isfinite(z).all().item<bool>());
}

TEST_P(ModelContract, IsAFunctionOfItsSeed) {
  const EventLog log = random_log(1);
  const TemporalGraph graph(log);
  const torch::Tensor z = embed_all(*make(log, 3), log, graph, 40, log.time[40]);
  EXPECT_TRUE(torch::equal(z, embed_all(*make(log, 3), log, graph, 40, log.time[40])));
  EXPECT_FALSE(torch::equal(z, embed_all(*make(log, 4), log, graph, 40, log.time[40])));
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
  const TemporalGraph graph(log);
  for (const EventId seen : {EventId{21}, EventId{49}}) {
    const Timestamp t = log.time[seen];
    const auto first_at_t = static_cast<EventId>(
        std::lower_bound(log.time.begin(), log.time.end(), t) - log.time.begin());
    ASSERT_LT(first_at_t, seen) << "the cut must go through equal times";
    const bool strict = std::string_view(GetParam().ties) == "strict";
    const EventId hidden = strict ? first_at_t : seen;

    const torch::Tensor z = embed_all(*make(log), log, graph, seen, t);
    const EventLog other = with_other_future(log, hidden);
    EXPECT_TRUE(torch::equal(z, embed_all(*make(log), other, TemporalGraph(other), seen, t)));

    std::vector<EventId> kept(static_cast<std::size_t>(hidden));
    std::iota(kept.begin(), kept.end(), EventId{0});
    const EventLog shorter = select(log, kept);
    EXPECT_TRUE(torch::equal(z, embed_all(*make(log), shorter, TemporalGraph(shorter), hidden, t)));
  }
}

// Of a question within a batch everything before its own time may be seen, and what a batch shares
// looks no further than its beginning: nothing from the question's time on counts.
TEST_P(ModelContract, NeverSeesWhatIsHiddenWithinABatch) {
  const EventLog log = random_log(2, {.nodes = 12, .events = 90, .distinct_times = 60});
  const TemporalGraph graph(log);
  const EventId seen = 49;  // where the batch begins
  const Timestamp now = log.time[seen];
  const Timestamp t = log.time[55];
  ASSERT_LT(now, t);
  const auto hidden = static_cast<EventId>(std::lower_bound(log.time.begin(), log.time.end(), t) -
                                           log.time.begin());
  const torch::Tensor z = embed_all(*make(log), log, graph, seen, t, now);
  const EventLog other = with_other_future(log, hidden);
  EXPECT_TRUE(torch::equal(z, embed_all(*make(log), other, TemporalGraph(other), seen, t, now)));
}

TEST_P(ModelContract, SeesThePast) {
  const EventLog log = random_log(2, {.nodes = 12, .events = 90, .distinct_times = 60});
  const TemporalGraph graph(log);
  const Timestamp t = log.time[80];
  const EventLog other = with_other_future(log, 60);
  EXPECT_FALSE(torch::equal(embed_all(*make(log), log, graph, 80, t),
                            embed_all(*make(log), other, TemporalGraph(other), 80, t)));
}

TEST_P(ModelContract, StateRoundTrip) {
  const EventLog log = random_log(3);
  const TemporalGraph graph(log);
  const auto model = make(log);
  const torch::Tensor z = embed_all(*model, log, graph, 42, log.time[50]);
  const auto state = model->state();
  embed_all(*model, log, graph, 70, log.time[75]);
  model->set_state(state);
  const torch::NoGradGuard no_grad;
  std::vector<NodeId> nodes(static_cast<std::size_t>(log.num_nodes));
  std::iota(nodes.begin(), nodes.end(), 0);
  const std::vector<Timestamp> times(nodes.size(), log.time[50]);
  EXPECT_TRUE(torch::equal(z, model->embed({nodes, times}, log.time[50], Rng(5, Stream::kTest))));
}

TEST_P(ModelContract, EveryParameterGetsAFiniteGradient) {
  const EventLog log = random_log(4, {.nodes = 12, .events = 90, .distinct_times = 60});
  const TemporalGraph graph(log);
  const auto model = make(log);
  embed_all(*model, log, graph, 70, log.time[70]);  // leaves memory and mail behind
  model->train();
  std::vector<NodeId> nodes(static_cast<std::size_t>(log.num_nodes));
  std::iota(nodes.begin(), nodes.end(), 0);
  const std::vector<Timestamp> times(nodes.size(), log.time[70] + 1);
  const torch::Tensor z = model->embed({nodes, times}, log.time[70] + 1, Rng(6, Stream::kTest));
  torch::Tensor weights = torch::empty_like(z);
  keyed_uniform_(weights, 1, Rng(7, Stream::kTest));
  (z * weights).sum().backward();
  for (const auto& item : model->named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_TRUE(torch::isfinite(item.value().grad()).all().item<bool>()) << item.key();
  }
}

INSTANTIATE_TEST_SUITE_P(All, ModelContract, ::testing::ValuesIn(cases()), [](const auto& test) {
  return std::string(test.param.model) + (test.param.features ? "_features_" : "_plain_") +
         test.param.ties;
});

TEST(MakeModelTest, ImpossibleOptionsAreUsageErrors) {
  const EventLog log = random_log(1);
  const ModelContext context{.num_nodes = log.num_nodes};
  EXPECT_THROW(make_model("tng", {}, context), UsageError);
  EXPECT_THROW(make_model("tgn", {.width = 10, .heads = 3}, context), UsageError);
  EXPECT_THROW(make_model("tgn", {.neighbors = 0}, context), UsageError);
  EXPECT_THROW(make_model("tgn", {.ties = "loose"}, context), UsageError);
}

}  // namespace
}  // namespace curnm
