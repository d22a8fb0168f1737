#include "curnm/training/facts.h"

#include <gtest/gtest.h>

#include "curnm/data/synthetic.h"
#include "curnm/training/session.h"
#include "support/errors.h"

namespace curnm {
namespace {

/// Keeps notes; stops on request.
class Listener final : public TrainObserver {
 public:
  void on_note(const std::string& note) override { notes.push_back(note); }
  bool stop_requested() override { return stop; }

  std::vector<std::string> notes;
  bool stop = false;
};

std::string walk_of(const RunSpec& spec) { return options_json(spec)["decoder"]["walk"]; }

/// Sources meet any items of their own half: pairs hardly repeat, and nobody's next item follows
/// from the last one, so that statistics of the pair say little, and walks say all.
Dataset halves() {
  constexpr NodeId kSources = 600;
  constexpr NodeId kItems = 600;
  constexpr std::size_t kEvents = 8000;
  Rng rng(0, Stream::kSynthetic);
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
  while (src.size() < kEvents) {
    src.push_back(static_cast<NodeId>(rng.below(kSources)));
    const NodeId half = src.back() % 2;
    dst.push_back(kSources + 2 * static_cast<NodeId>(rng.below(kItems / 2)) + half);
    time.push_back(static_cast<double>(time.size()));
  }
  Dataset data;
  data.name = "halves";
  data.events = {.src = std::move(src),
                 .dst = std::move(dst),
                 .time = std::move(time),
                 .num_nodes = kSources + kItems};
  return data;
}

TEST(FactsTest, ATrialDecidesAboutWalks) {
  Listener listener;
  const TrainingSession session(resolve_run({{"hidden-share", "0"}, {"walk-decay", "0"}}), halves(),
                                listener);
  EXPECT_EQ(walk_of(session.spec()), "on");
  ASSERT_EQ(listener.notes.size(), 1U);
  EXPECT_TRUE(listener.notes[0].starts_with("--walk auto is on: ")) << listener.notes[0];
}

TEST(FactsTest, WithoutNeedThereIsNoTrial) {
  Listener listener;
  listener.stop = true;  // a trial would notice
  const Dataset data = generate({.nodes = 60, .events = 1000}, "small");
  const TrainingSession chosen(resolve_run({{"walk", "off"}}), data, listener);
  const TrainingSession without(resolve_run({{"decoder", "additive"}}), data, listener);
  EXPECT_TRUE(listener.notes.empty());
}

TEST(FactsTest, ATrialCanBeStopped) {
  Listener listener;
  listener.stop = true;
  EXPECT_TRUE(testing::fails([&] { TrainingSession(resolve_run({}), halves(), listener); },
                             {"the training had not begun"}));
}

}  // namespace
}  // namespace curnm
