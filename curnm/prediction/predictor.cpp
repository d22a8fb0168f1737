#include "curnm/prediction/predictor.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>

#include "curnm/base/error.h"
#include "curnm/data/open.h"
#include "curnm/evaluation/task.h"
#include "curnm/nn/tensor_file.h"
#include "curnm/prediction/follower.h"
#include "curnm/prediction/link_scorer.h"
#include "curnm/sampling/indices.h"

namespace curnm {

struct Predictor::Parts {
  Parts(TrainedModel trained_model, Dataset data)
      : trained(std::move(trained_model)), events(std::move(data)), indices(events.events) {}

  EventId events_before(Timestamp t) const {
    const auto times = events.events.time.span();
    return std::lower_bound(times.begin(), times.end(), t) - times.begin();
  }

  /// The follower that has seen all events, for queries after the last one. Shared, since it never
  /// changes.
  const Follower& present() {
    std::call_once(present_made, [&] {
      present_follower = make_follower(trained, followed(trained, events, indices.past()));
      if (trained.state_events > 0) {
        begin_at_saved_state(trained, *present_follower);
      }
      present_follower->replay.advance_to(events.events.size());
    });
    return *present_follower;
  }

  /// A follower at or before `end`, for exclusive use until `give_back`; makes one if none is idle.
  std::unique_ptr<Follower> borrow(EventId end) {
    {
      const std::lock_guard lock(mutex);
      const auto found = std::find_if(idle.begin(), idle.end(), [&](const auto& follower) {
        return follower->replay.position() <= end;
      });
      if (found != idle.end()) {
        std::unique_ptr<Follower> follower = std::move(*found);
        idle.erase(found);
        return follower;
      }
    }
    auto follower = make_follower(trained, followed(trained, events, indices.past()));
    if (trained.state_events > 0 && trained.state_events <= end) {
      begin_at_saved_state(trained, *follower);
    }
    return follower;
  }
  void give_back(std::unique_ptr<Follower> follower) {
    constexpr std::size_t kMaxIdle = 4;  // each has a memory of all nodes
    const std::lock_guard lock(mutex);
    if (idle.size() < kMaxIdle) idle.push_back(std::move(follower));
  }

  TrainedModel trained;
  Dataset events;
  Indices indices;
  std::once_flag present_made;
  std::unique_ptr<Follower> present_follower;
  std::mutex mutex;  // protects `idle`
  std::vector<std::unique_ptr<Follower>> idle;
  std::once_flag names_made;
  std::optional<NodeNames> names;
};

Predictor::Predictor(TrainedModel model, Dataset events) {
  if (!is_same_network(events, model.data_digest, model.extent, /*grown=*/true)) {
    fail<UnusableRun>(
        "{} is not the network that this model was trained on: {}; new events may only come after "
        "the old ones",
        events.name, difference(events, {model.data_digest, model.extent}));
  }
  parts_ = std::make_unique<Parts>(std::move(model), std::move(events));
}
Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;

const TrainedModel& Predictor::model() const { return parts_->trained; }
const Dataset& Predictor::dataset() const { return parts_->events; }

NodeId Predictor::find(std::string_view id) const {
  std::call_once(parts_->names_made, [&] {
    parts_->names.emplace(parts_->events.ids, parts_->events.events.num_nodes);
  });
  return parts_->names->find(id);
}

NodeId Predictor::find(std::string_view id, NodeId like) const {
  const std::string example = parts_->events.ids.name(like);
  const std::string prefixed = example.substr(0, example.find(':') + 1) + std::string(id);
  try {
    return find(id);
  } catch (const Error&) {
    if (prefixed == id) throw;
    try {
      return find(prefixed);
    } catch (const Error&) {  // the first error names what was asked for
    }
    throw;
  }
}

std::vector<float> Predictor::score(const Pairs& pairs, Question question) const {
  std::vector<std::size_t> order(pairs.src.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pairs.time[a] < pairs.time[b]; });
  std::vector<float> scores(order.size());
  std::unique_ptr<Follower> borrowed;
  for (std::size_t begin = 0; begin < order.size();) {
    const Timestamp t = pairs.time[order[begin]];
    constexpr std::size_t kBlock = 4096;  // queries per block, to bound memory
    std::vector<NodeId> src;
    std::vector<NodeId> dst;
    std::size_t end = begin;
    for (; end < order.size() && pairs.time[order[end]] == t && src.size() < kBlock; ++end) {
      src.push_back(pairs.src[order[end]]);
      dst.push_back(pairs.dst[order[end]]);
    }
    const std::vector<Timestamp> times(src.size(), t);
    const EventId known = parts_->events_before(t);
    const Follower* follower = nullptr;
    if (known == parts_->events.events.size()) {
      follower = &parts_->present();
    } else {
      if (!borrowed) borrowed = parts_->borrow(known);
      borrowed->replay.advance_to(known);
      follower = borrowed.get();
    }
    const std::vector<float> block =
        score_links(follower->model, {src, dst, times}, t, parts_->trained.seed).of(question);
    for (std::size_t i = begin; i < end; ++i) scores[order[i]] = block[i - begin];
    begin = end;
  }
  if (borrowed) parts_->give_back(std::move(borrowed));
  return scores;
}

std::vector<NodeId> Predictor::choices(NodeId src, Timestamp t, Seen seen) const {
  const EventLog& log = parts_->events.events;
  const EventId before = parts_->events_before(t);
  // Bipartite or with self-loops: as known from training, and from the events before t.
  const EventLog known = head(log, std::max(before, parts_->trained.extent.events));
  std::vector<NodeId> nodes = destinations_of(head(log, before), is_bipartite(known));
  if (!has_loops(known)) std::erase(nodes, src);
  if (seen == Seen::kExcluded) {
    std::erase_if(nodes, [&](NodeId dst) {
      return parts_->indices.pairs.last_before(src, dst, t) != kNever;
    });
  }
  return nodes;
}

std::vector<Prediction> Predictor::top(NodeId src, Timestamp t, std::int64_t k, Question question,
                                       Seen seen) const {
  const std::vector<NodeId> dst = choices(src, t, seen);
  if (dst.empty() && seen == Seen::kExcluded) {
    fail("{} has chosen every destination before time {}", parts_->events.ids.name(src), t);
  }
  if (dst.empty()) fail("nothing has happened before time {}", t);
  const std::vector<NodeId> sources(dst.size(), src);
  const std::vector<Timestamp> times(dst.size(), t);
  const std::vector<float> logits = score({sources, dst, times}, question);
  std::vector<Prediction> found;
  for (std::size_t i = 0; i < dst.size(); ++i) found.push_back({dst[i], logits[i]});
  const auto count = std::min<std::ptrdiff_t>(k, std::ssize(found));
  std::partial_sort(found.begin(), found.begin() + count, found.end(),
                    [](const Prediction& a, const Prediction& b) {
                      return a.logit != b.logit ? a.logit > b.logit : a.node < b.node;
                    });
  found.resize(static_cast<std::size_t>(count));
  return found;
}

void add_state(TrainedModel& model, const Dataset& events) {
  const Indices indices(events.events);
  const auto follower = make_follower(model, followed(model, events, indices.past()));
  const EventId whole = events.events.size() / model.batch * model.batch;
  follower->replay.advance_to(whole);
  auto tensors = std::make_shared<TensorFile>(*model.tensors);
  tensors->put("state", follower->model.state());
  model.tensors = std::move(tensors);
  model.state_events = whole;
}

}  // namespace curnm
