#include "curnm/prediction/predictor.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>

#include "curnm/base/error.h"
#include "curnm/data/open.h"
#include "curnm/evaluation/task.h"
#include "curnm/graph/distinct_nodes.h"
#include "curnm/nn/tensor_file.h"
#include "curnm/prediction/explainer.h"
#include "curnm/prediction/follower.h"
#include "curnm/prediction/link_scorer.h"
#include "curnm/prediction/ranking.h"
#include "curnm/sampling/indices.h"

namespace curnm {

namespace {

std::vector<EventId> range(EventId begin, EventId end) {
  std::vector<EventId> ids(index(end - begin));
  std::iota(ids.begin(), ids.end(), begin);
  return ids;
}

/// Questions about one time.
struct TimeBlock {
  Timestamp t = 0;
  std::vector<std::size_t> rows;  // of the pairs that were asked
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
};

}  // namespace

struct Predictor::Parts {
  Parts(TrainedModel trained_model, Dataset data, const Keep& kept)
      : trained(std::move(trained_model)),
        events(std::move(data)),
        keep(kept),
        indices(events.events) {}

  EventId events_before(Timestamp t) const {
    const auto times = events.events.time.span();
    return std::lower_bound(times.begin(), times.end(), t) - times.begin();
  }

  /// The first event that is kept where `known` ones have happened.
  EventId first_kept(EventId known) const { return keep.first(known, events.events.time.span()); }

  /// What may be looked up of the events from `first` on. That of the last call is kept: questions
  /// come in the order of their times.
  std::shared_ptr<const Indices> indices_from(EventId first) {
    if (first == 0) return {std::shared_ptr<const Indices>(), &indices};
    const std::lock_guard lock(tail_mutex);
    if (!tail || tail_first != first) {
      const std::vector<EventId> ids = range(first, events.events.size());
      tail = std::make_shared<Indices>(events.events, ids, select(events.events, ids));
      tail_first = first;
    }
    return tail;
  }

  /// The follower that has seen all events, for queries after the last one. Shared, since it never
  /// changes.
  const Follower& present() {
    std::call_once(present_made, [&] {
      present_indices = indices_from(first_kept(events.events.size()));
      present_follower = make_follower(trained, followed(trained, events, present_indices->past()));
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

  /// Calls use(model) with the model as it was just before t. One that has been lent for an earlier
  /// time is kept in `borrowed` for the next call.
  template <class Use>
  void at(Timestamp t, std::unique_ptr<Follower>& borrowed, const Use& use) {
    const EventId known = events_before(t);
    if (known == events.events.size()) return use(present().model);
    if (!borrowed) borrowed = borrow(known);
    borrowed->replay.advance_to(known);
    const std::shared_ptr<const Indices> kept = indices_from(first_kept(known));
    borrowed->model.use(kept->past());
    use(borrowed->model);
  }

  /// Calls use(model, block) for blocks of the pairs, the earliest first, each with the model as it
  /// was just before its time.
  template <class Use>
  void by_time(const Pairs& pairs, const Use& use) {
    std::vector<std::size_t> order(pairs.src.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return pairs.time[a] < pairs.time[b]; });
    std::unique_ptr<Follower> borrowed;
    for (std::size_t begin = 0; begin < order.size();) {
      constexpr std::size_t kBlock = 4096;  // queries per block, to bound memory
      TimeBlock block{.t = pairs.time[order[begin]]};
      for (; begin < order.size() && pairs.time[order[begin]] == block.t &&
             block.rows.size() < kBlock;
           ++begin) {
        block.rows.push_back(order[begin]);
        block.src.push_back(pairs.src[order[begin]]);
        block.dst.push_back(pairs.dst[order[begin]]);
      }
      at(block.t, borrowed, [&](const LinkModel& model) { use(model, block); });
    }
    if (borrowed) give_back(std::move(borrowed));
  }

  /// The events before t that are kept.
  EventLog known_at(Timestamp t) const {
    const EventId before = events_before(t);
    const EventId first = first_kept(before);
    if (first == 0) return head(events.events, before);
    return select(events.events, range(first, before));
  }

  /// What may be predicted at t, of the candidates if there are any. REQUIRES: `kept` is
  /// indices_from what is kept then, and outlives the result.
  Choices choices_at(Timestamp t, const Indices& kept,
                     const std::optional<std::vector<NodeId>>& candidates) const {
    const EventLog& log = events.events;
    // Bipartite or with self-loops: as known from training, and from the events before t.
    const EventLog known = head(log, std::max(events_before(t), trained.extent.events));
    return {kept.past(), log.num_nodes,
            candidates ? distinct_nodes(*candidates)
                       : destinations_of(known_at(t), is_bipartite(known)),
            has_loops(known), t};
  }
  std::shared_ptr<const Indices> kept_at(Timestamp t) {
    return indices_from(first_kept(events_before(t)));
  }

  TrainedModel trained;
  Dataset events;
  Keep keep;
  Indices indices;  // of all events
  std::mutex tail_mutex;
  std::shared_ptr<const Indices> tail;  // of the last events
  EventId tail_first = 0;
  std::once_flag present_made;
  std::shared_ptr<const Indices> present_indices;
  std::unique_ptr<Follower> present_follower;
  std::mutex mutex;  // protects `idle`
  std::vector<std::unique_ptr<Follower>> idle;
  std::once_flag names_made;
  std::optional<NodeNames> names;
};

Predictor::Predictor(TrainedModel model, Dataset events, const Keep& keep) {
  if (!is_same_network(events, model.data_digest, model.extent, /*grown=*/true)) {
    fail<UnusableRun>(
        "{} is not the network that this model was trained on: {}; new events may only come after "
        "the old ones",
        events.name, difference(events, {model.data_digest, model.extent}));
  }
  parts_ = std::make_unique<Parts>(std::move(model), std::move(events), keep);
}
Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;

const TrainedModel& Predictor::model() const { return parts_->trained; }
const Dataset& Predictor::dataset() const { return parts_->events; }

const NodeNames& Predictor::names() const {
  std::call_once(parts_->names_made, [&] {
    parts_->names.emplace(parts_->events.ids, parts_->events.events.num_nodes);
  });
  return *parts_->names;
}

NodeId Predictor::find(std::string_view id) const { return names().find(id); }

NodeId Predictor::find(std::string_view id, NodeId like) const {
  const NodeId node = find_known(id, like);
  return node == kNoNode ? find(id) : node;  // throws
}

NodeId Predictor::find_known(std::string_view id, NodeId like) const {
  if (const NodeId node = names().find_known(id); node != kNoNode) return node;
  const std::string example = parts_->events.ids.name(like);
  return names().find_known(example.substr(0, example.find(':') + 1) + std::string(id));
}

std::vector<float> Predictor::score(const Pairs& pairs, Question question) const {
  std::vector<float> scores(pairs.src.size());
  parts_->by_time(pairs, [&](const LinkModel& model, const TimeBlock& block) {
    const std::vector<Timestamp> times(block.src.size(), block.t);
    const std::vector<float> found =
        score_links(model, {block.src, block.dst, times}, block.t, parts_->trained.seed)
            .of(question);
    for (std::size_t i = 0; i < found.size(); ++i) scores[block.rows[i]] = found[i];
  });
  return scores;
}

std::vector<Explanation> Predictor::explain(const Pairs& pairs, Question question) const {
  std::vector<Explanation> all(pairs.src.size());
  const EventLog& log = parts_->events.events;
  std::optional<NodeEmbeddings> embeddings;  // of one time, for all of its blocks
  std::optional<Explainer> explainer;
  std::shared_ptr<const Indices> kept;
  parts_->by_time(pairs, [&](const LinkModel& model, const TimeBlock& block) {
    if (!embeddings || embeddings->time() != block.t) {
      const EventId known = parts_->events_before(block.t);
      const EventId first = parts_->first_kept(known);
      kept = parts_->indices_from(first);
      embeddings.emplace(model, log.num_nodes, block.t, parts_->trained.seed);
      explainer.emplace(model, *embeddings, kept->past(), log, first, known);
    }
    std::vector<Explanation> found = explainer->explain(block.src, block.dst, question);
    for (std::size_t i = 0; i < found.size(); ++i) all[block.rows[i]] = std::move(found[i]);
  });
  return all;
}

std::vector<std::string> Predictor::explained_parts() const {
  const TrainedModel& trained = parts_->trained;
  return make_decoder(trained.decoder, trained.decoder_options,
                      {.num_nodes = 1, .width = 1, .outputs = trained.outputs})
      ->parts();
}

std::vector<NodeId> Predictor::choices(NodeId src, Timestamp t, Seen seen) const {
  const std::shared_ptr<const Indices> kept = parts_->kept_at(t);
  return parts_->choices_at(t, *kept, /*candidates=*/{}).of(src, seen, Among::kAll);
}

std::vector<NodeId> Predictor::sources(Timestamp t) const {
  const EventLog& log = parts_->events.events;
  const EventLog before = parts_->known_at(t);
  if (!is_bipartite(log)) return destinations_of(before, /*bipartite=*/false);
  return distinct_nodes({before.src.begin(), before.src.end()});
}

void Predictor::top(std::span<const NodeId> sources, Timestamp t, const TopQuery& query,
                    const TopAnswer& answer) const {
  CURNM_ASSERT(query.k >= 1);
  if (!query.candidates && parts_->events_before(t) == 0) {
    fail("nothing has happened before time {}", t);
  }
  const std::shared_ptr<const Indices> kept = parts_->kept_at(t);
  Choices choices = parts_->choices_at(t, *kept, query.candidates);
  std::unique_ptr<Follower> borrowed;
  parts_->at(t, borrowed, [&](const LinkModel& model) {
    NodeEmbeddings embeddings(model, choices.num_nodes(), t, parts_->trained.seed);
    rank_destinations(model, embeddings, choices, sources, query, answer);
  });
  if (borrowed) parts_->give_back(std::move(borrowed));
}

Predictor::Embeddings Predictor::embed(std::span<const NodeId> nodes, Timestamp t) const {
  Embeddings result;
  std::unique_ptr<Follower> borrowed;
  parts_->at(t, borrowed, [&](const LinkModel& model) {
    result.width = model.model->width();
    if (nodes.empty()) return;
    NodeEmbeddings embeddings(model, parts_->events.events.num_nodes, t, parts_->trained.seed);
    const Tensor z = embeddings.of(nodes).to(at::kCPU).contiguous();
    result.values.assign(z.data_ptr<float>(), z.data_ptr<float>() + z.numel());
  });
  if (borrowed) parts_->give_back(std::move(borrowed));
  return result;
}

std::vector<Prediction> Predictor::top(NodeId src, Timestamp t, std::int64_t k, Question question,
                                       Seen seen) const {
  std::vector<Prediction> found;
  top(std::span(&src, 1), t, {.k = k, .question = question, .seen = seen},
      [&](NodeId, std::span<const Prediction> best) { found.assign(best.begin(), best.end()); });
  if (found.empty() && seen == Seen::kExcluded) {
    fail("{} has chosen every destination before time {}", parts_->events.ids.name(src), t);
  }
  if (found.empty()) {
    fail("{} is the only destination before time {}, and nobody meets himself in this network",
         parts_->events.ids.name(src), t);
  }
  return found;
}

Past Predictor::past() const { return parts_->indices.past(); }

/// A scorer that owns the model it scores with.
class Predictor::FollowerScorer final : public Scorer {
 public:
  FollowerScorer(std::unique_ptr<Follower> follower, Parts& parts)
      : follower_(std::move(follower)),
        scorer_(follower_->model, parts.trained.seed),
        parts_(parts) {}

  Scores score(const Pairs& pairs, Timestamp now) override {
    if (parts_.keep.everything()) return scorer_.score(pairs, now);
    // What is kept may change within a batch.
    std::map<EventId, std::vector<std::size_t>> rows_by_first;
    for (std::size_t i = 0; i < pairs.time.size(); ++i) {
      rows_by_first[parts_.first_kept(parts_.events_before(pairs.time[i]))].push_back(i);
    }
    Scores all;
    for (const auto& [first, rows] : rows_by_first) {
      const std::shared_ptr<const Indices> kept = parts_.indices_from(first);
      follower_->model.use(kept->past());
      const Scores part = score_rows(pairs, rows, now);
      all.outputs = part.outputs;
      const auto width = index(part.outputs);
      all.values.resize(pairs.time.size() * width);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        std::copy_n(part.values.data() + i * width, width, all.values.data() + rows[i] * width);
      }
    }
    return all;
  }
  void observe(const EventBatch& batch) override { scorer_.observe(batch); }

 private:
  Scores score_rows(const Pairs& pairs, const std::vector<std::size_t>& rows, Timestamp now) {
    if (rows.size() == pairs.time.size()) return scorer_.score(pairs, now);
    std::vector<NodeId> src;
    std::vector<NodeId> dst;
    std::vector<Timestamp> time;
    for (const std::size_t row : rows) {
      src.push_back(pairs.src[row]);
      dst.push_back(pairs.dst[row]);
      time.push_back(pairs.time[row]);
    }
    return scorer_.score({src, dst, time}, now);
  }

  std::unique_ptr<Follower> follower_;
  LinkScorer scorer_;
  Parts& parts_;
};

std::unique_ptr<Scorer> Predictor::scorer_after(EventId events) const {
  auto follower = make_follower(parts_->trained, followed(parts_->trained, parts_->events, past()));
  if (parts_->trained.state_events > 0 && parts_->trained.state_events <= events) {
    begin_at_saved_state(parts_->trained, *follower);
  }
  follower->replay.advance_to(events);
  return std::make_unique<FollowerScorer>(std::move(follower), *parts_);
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
