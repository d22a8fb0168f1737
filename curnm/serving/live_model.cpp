#include "curnm/serving/live_model.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <shared_mutex>

#include "curnm/base/digest.h"
#include "curnm/base/json.h"
#include "curnm/base/names.h"
#include "curnm/data/open.h"
#include "curnm/nn/tensor_file.h"
#include "curnm/nn/tensors.h"
#include "curnm/prediction/follower.h"
#include "curnm/prediction/link_scorer.h"
#include "curnm/prediction/ranking.h"
#include "curnm/serving/live_network.h"

namespace curnm {
namespace {

using Role = LiveNetwork::Role;

constexpr TensorFileKind kSnapshotFile{
    .name = "snapshot", .version = 1, .remedy = "remove it if the log reaches back to the start"};

/// The rows of a feature tensor with room for more.
std::int64_t room_for(std::int64_t rows) { return rows + std::max<std::int64_t>(1024, rows / 2); }

/// What decides the state of a model after some events.
std::string identity_of(const TrainedModel& model) {
  std::string text =
      fmt::format("{} {} {} {}", model.model, model.decoder, model.batch, model.seed);
  for (const auto& [name, tensor] : model.tensors->tensors) {
    if (!name.starts_with("model/") && !name.starts_with("decoder/")) continue;
    const Tensor values = tensor.contiguous();
    text += name + digest(std::as_bytes(
                       std::span(static_cast<const char*>(values.data_ptr()), values.nbytes())));
  }
  return digest(text);
}

template <class T>
Tensor copy_of(std::span<const T> values, at::ScalarType type) {
  return at::from_blob(const_cast<T*>(values.data()), {std::ssize(values)}, type).clone();
}
template <class T>
std::span<const T> values_of(const TensorFile& file, const char* name) {
  const auto found = file.tensors.find(name);
  check_saved(found != file.tensors.end() &&
                  found->second.scalar_type() == c10::CppTypeToScalarType<T>::value,
              "a column of the snapshot is missing");
  return {found->second.data_ptr<T>(), index(found->second.numel())};
}

/// Names one after the other, and where each ends.
void put_names(std::span<const std::string> names, const std::string& key, TensorFile& file) {
  std::vector<std::int64_t> ends;
  std::vector<std::uint8_t> text;
  for (const std::string& name : names) {
    text.insert(text.end(), name.begin(), name.end());
    ends.push_back(std::ssize(text));
  }
  file.tensors[key + "/ends"] = to_tensor(ends, at::kCPU);
  file.tensors[key + "/text"] = copy_of<std::uint8_t>(text, at::kByte);
}
std::vector<std::string> get_names(const std::string& key, const TensorFile& file) {
  const auto text = values_of<std::uint8_t>(file, (key + "/text").c_str());
  std::vector<std::string> names;
  std::int64_t begin = 0;
  for (const std::int64_t end : values_of<std::int64_t>(file, (key + "/ends").c_str())) {
    check_saved(begin <= end && end <= std::ssize(text), "names of the snapshot are damaged");
    names.emplace_back(text.begin() + begin, text.begin() + end);
    begin = end;
  }
  return names;
}

}  // namespace

struct LiveSnapshot::Contents {
  TensorFile file;
};
LiveSnapshot::LiveSnapshot() : contents_(std::make_unique<Contents>()) {}
LiveSnapshot::~LiveSnapshot() = default;
LiveSnapshot::LiveSnapshot(LiveSnapshot&&) noexcept = default;

void LiveSnapshot::write(const std::filesystem::path& file) const {
  TensorFile contents = contents_->file;
  contents.document["sequence"] = sequence;
  contents.document["late"] = late;
  save_tensors(contents, kSnapshotFile, file);
}

struct LiveModel::Parts {
  Parts(TrainedModel trained_model, Dataset data)
      : trained(std::move(trained_model)),
        base(std::move(data)),
        base_digest(base.digest()),
        model_identity(identity_of(trained)),
        network(base) {
    make_room();
    present = make_follower(trained, view());
    is_stateless = present->model.state().empty();
    if (is_stateless) return;
    if (trained.state_events > 0) begin_at_saved_state(trained, *present);
    show(network.log().size());
  }

  // ------------------------------------------------------------------ growing

  /// Tensors and models with room for more nodes and events than there are.
  void make_room() {
    const Device device(trained.device);
    node_room = static_cast<NodeId>(std::min<std::int64_t>(room_for(network.log().num_nodes),
                                                           std::numeric_limits<NodeId>::max()));
    if (base.node_features.width > 0) {  // nobody is born where all nodes have features
      node_room = network.log().num_nodes;
      if (!node_features.defined()) {
        node_features = to_tensor(base.node_features, trained.scales.nodes, device);
      }
    }
    event_room = room_for(network.log().size());
    if (base.edge_features.width == 0) return;
    const Tensor known = edge_features.defined()
                             ? edge_features
                             : to_tensor(base.edge_features, trained.scales.edges, device);
    const Tensor larger = at::zeros({event_room, base.edge_features.width}, known.options());
    const std::int64_t rows = std::min(known.size(0), network.log().size());
    larger.narrow(0, 0, rows).copy_(known.narrow(0, 0, rows));
    edge_features = larger;
  }
  FollowedNetwork view() const {
    return {.log = network.log(),
            .past = network.past(),
            .num_nodes = node_room,
            .edge_features = edge_features,
            .node_features = node_features};
  }

  /// The present model anew, for more room; it goes on where it was.
  void move_to_new_room() {
    make_room();
    auto larger = make_follower(trained, view());
    if (!is_stateless) {
      show(present->replay.position());
      begin_at(*larger, present->model.state(), present->replay.position());
    }
    present = std::move(larger);
  }

  void put_features(EventId event, std::span<const float> raw) {
    if (raw.empty()) return;
    std::vector<float> row(raw.begin(), raw.end());
    features.insert(features.end(), raw.begin(), raw.end());
    if (!trained.scales.edges.is_identity()) trained.scales.edges.apply(row);
    edge_features[event].copy_(to_tensor(row, at::kCPU));
  }

  /// REQUIRES: nobody reads; at most a batch.
  void append_part(const StreamEvents& events, std::int64_t begin, std::int64_t end) {
    const NoGradGuard no_grad;
    const bool node_room_left =
        network.log().num_nodes + 2 * (end - begin) <= node_room || base.node_features.width > 0;
    if (!node_room_left || network.log().size() + (end - begin) > event_room) move_to_new_room();
    const std::int64_t width = base.edge_features.width;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::span<const float> all = events.features;
      put_features(network.log().size(), all.subspan(index(i * width), index(width)));
      network.append(events.src[index(i)], events.dst[index(i)], events.time[index(i)]);
    }
    if (is_stateless) return;
    // Whole batches enter the memory now; the rest is shown when somebody asks.
    const EventId whole = network.log().size() / trained.batch * trained.batch;
    if (whole > present->replay.position()) show(whole);
  }

  /// Brings the present model to the state after the events before `end`.
  void show(EventId end) {
    shown = kUnknown;  // where the replay is interrupted
    present->replay.advance_to(end);
    shown = end;
  }

  // ------------------------------------------------------------------ answering

  /// Readers pass the gate one by one, so that a writer that waits there is not overtaken forever.
  std::shared_lock<std::shared_mutex> read_lock() {
    const std::lock_guard passing(gate);
    return std::shared_lock(mutex);
  }
  std::unique_lock<std::shared_mutex> write_lock() {
    const std::lock_guard passing(gate);
    return std::unique_lock(mutex);
  }

  Timestamp asked_time(std::optional<Timestamp> time) const {
    if (time) return *time;
    const EventLog& log = network.log();
    if (log.size() == 0) return 0;
    return std::nextafter(log.time.back(), std::numeric_limits<Timestamp>::infinity());
  }

  /// Calls ask(model, t) with a model that has seen exactly the events before t, while nothing is
  /// appended.
  template <class Ask>
  void with_model(std::optional<Timestamp> time, const Ask& ask) {
    // Another reader may show another part of the batch in between, but not forever.
    constexpr int kTries = 2;
    for (int tries = 0;; ++tries) {
      {
        const auto lock = read_lock();
        const Timestamp t = asked_time(time);
        const EventId known = network.events_before(t);
        if (is_stateless || shown == known) return ask(present->model, t);
        if (known < present->replay.position()) break;
      }
      const auto lock = write_lock();
      const Timestamp t = asked_time(time);
      const EventId known = network.events_before(t);
      if (known < present->replay.position()) break;
      if (shown != known) show(known);
      if (tries == kTries) return ask(present->model, t);
    }
    with_past_model(*time, ask);
  }

  /// The same for a time before the newest whole batch: a second model replays up to it.
  template <class Ask>
  void with_past_model(Timestamp t, const Ask& ask) {
    constexpr std::chrono::seconds kPatience(2);
    const std::unique_lock turn(past_mutex, kPatience);
    if (!turn.owns_lock()) fail<Busy>("another question about the past is being answered");
    while (true) {
      // One batch at a time: events may be appended in between.
      const auto lock = read_lock();
      const EventId known = network.events_before(t);
      if (!past || past->replay.position() > known || past_room != node_room) {
        past = make_follower(trained, view());
        past_room = node_room;
        if (trained.state_events > 0 && trained.state_events <= known) {
          begin_at_saved_state(trained, *past);
        }
      }
      past->replay.advance_to(std::min(known, past->replay.position() + trained.batch));
      if (known - past->replay.position() < trained.batch) {
        past->replay.advance_to(known);
        return ask(past->model, t);
      }
    }
  }

  NodeId find(const std::string& name, Role role) const {
    const NodeId node = network.find(name, role);
    if (node == kNoNode) fail<UnknownNode>("there is no node '{}'", quotable(name));
    return node;
  }

  std::vector<float> logits(const LinkModel& model, std::span<const NodeId> src,
                            std::span<const NodeId> dst, Timestamp t, Question question) const {
    std::vector<float> all;
    constexpr std::size_t kBlock = 4096;  // to bound memory
    for (std::size_t begin = 0; begin < src.size(); begin += kBlock) {
      const std::size_t count = std::min(kBlock, src.size() - begin);
      const std::vector<Timestamp> times(count, t);
      const std::vector<float> block =
          score_links(model, {src.subspan(begin, count), dst.subspan(begin, count), times}, t,
                      trained.seed)
              .of(question);
      all.insert(all.end(), block.begin(), block.end());
    }
    return all;
  }

  TrainedModel trained;
  Dataset base;
  std::string base_digest;
  std::string model_identity;
  LiveNetwork network;
  std::vector<float> features;  // raw, of the appended events
  NodeId node_room = 0;
  std::int64_t event_room = 0;
  Tensor edge_features;
  Tensor node_features;
  std::unique_ptr<Follower> present;
  static constexpr EventId kUnknown = -1;
  EventId shown = 0;  // events that the present model has seen, those of a partial batch too
  bool is_stateless = false;
  std::mutex gate;
  std::shared_mutex mutex;  // of everything above
  std::timed_mutex past_mutex;
  std::unique_ptr<Follower> past;
  NodeId past_room = 0;
};

LiveModel::LiveModel(TrainedModel model, Dataset base) {
  if (!is_same_network(base, model.data_digest, model.extent, /*grown=*/true)) {
    fail<UnusableRun>(
        "{} is not the network that this model was trained on: {}; new events may only come after "
        "the old ones",
        base.name, difference(base, {model.data_digest, model.extent}));
  }
  parts_ = std::make_unique<Parts>(std::move(model), std::move(base));
}
LiveModel::~LiveModel() = default;

const TrainedModel& LiveModel::model() const { return parts_->trained; }

LiveModel::Position LiveModel::position() const {
  const auto lock = parts_->read_lock();
  const EventLog& log = parts_->network.log();
  return {log.size(), log.num_nodes, log.size() == 0 ? kNever : log.time.back()};
}

std::int64_t LiveModel::feature_width() const { return parts_->base.edge_features.width; }

std::int64_t LiveModel::appended() const { return position().events - parts_->base.events.size(); }

void LiveModel::resolve(StreamEvents& events) const {
  const auto lock = parts_->read_lock();
  parts_->network.check_names(events);
  for (std::size_t i = 0; i < events.time.size(); ++i) {
    events.src[i] = parts_->network.resolved(events.src[i], Role::kSource);
    events.dst[i] = parts_->network.resolved(events.dst[i], Role::kDestination);
  }
}

void LiveModel::append(const StreamEvents& events) {
  for (std::int64_t begin = 0; begin < events.size();) {
    const auto lock = parts_->write_lock();
    const std::int64_t batch = parts_->trained.batch;
    const std::int64_t end =
        std::min(events.size(), begin + batch - parts_->network.log().size() % batch);
    parts_->append_part(events, begin, end);
    begin = end;
  }
}

LiveModel::Ranking LiveModel::top(const std::string& src, std::optional<Timestamp> time,
                                  std::int64_t k, Question question, Seen seen) const {
  Ranking ranking;
  parts_->with_model(time, [&](const LinkModel& model, Timestamp t) {
    const LiveNetwork& network = parts_->network;
    const NodeId source = parts_->find(src, Role::kSource);
    const std::vector<NodeId> nodes =
        network.choices(source, t, parts_->trained.extent.events, seen == Seen::kIncluded);
    const std::vector<NodeId> sources(nodes.size(), source);
    const std::vector<float> logits = parts_->logits(model, sources, nodes, t, question);
    std::vector<Prediction> found;
    for (std::size_t i = 0; i < nodes.size(); ++i) found.push_back({nodes[i], logits[i]});
    const auto count = std::min<std::ptrdiff_t>(k, std::ssize(found));
    std::partial_sort(found.begin(), found.begin() + count, found.end(),
                      [](const Prediction& a, const Prediction& b) {
                        return a.logit != b.logit ? a.logit > b.logit : a.node < b.node;
                      });
    ranking.time = t;
    ranking.events = network.events_before(t);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const Prediction& one = found[index(i)];
      ranking.answers.push_back({network.name(one.node), one.logit});
    }
  });
  return ranking;
}

LiveModel::Scored LiveModel::score(const std::vector<std::string>& src,
                                   const std::vector<std::string>& dst,
                                   std::optional<Timestamp> time, Question question) const {
  Scored scored;
  parts_->with_model(time, [&](const LinkModel& model, Timestamp t) {
    const LiveNetwork& network = parts_->network;
    std::vector<NodeId> sources;
    std::vector<NodeId> destinations;
    std::vector<std::size_t> asked;
    for (std::size_t i = 0; i < src.size(); ++i) {
      const NodeId u = network.find(src[i], Role::kSource);
      const NodeId v = network.find(dst[i], Role::kDestination);
      if (u == kNoNode || v == kNoNode) continue;
      sources.push_back(u);
      destinations.push_back(v);
      asked.push_back(i);
    }
    scored.logits.resize(src.size());
    const std::vector<float> logits = parts_->logits(model, sources, destinations, t, question);
    for (std::size_t i = 0; i < asked.size(); ++i) scored.logits[asked[i]] = logits[i];
    scored.time = t;
    scored.events = network.events_before(t);
  });
  return scored;
}

void LiveModel::append(const NewEvents& events) {
  check_columns(parts_->base, events);
  const Position end = position();
  check_order(events.time, end.newest, end.events);
  StreamEvents stream{.src = {events.src.begin(), events.src.end()},
                      .dst = {events.dst.begin(), events.dst.end()},
                      .time = {events.time.begin(), events.time.end()},
                      .features = {events.features.values.begin(), events.features.values.end()}};
  resolve(stream);
  append(stream);
}

NodeId LiveModel::find(std::string_view name, bool as_source) const {
  const auto lock = parts_->read_lock();
  return parts_->network.find(name, as_source ? Role::kSource : Role::kDestination);
}

std::vector<std::string> LiveModel::names(std::span<const NodeId> nodes) const {
  const auto lock = parts_->read_lock();
  std::vector<std::string> names;
  for (const NodeId node : nodes) names.push_back(parts_->network.name(node));
  return names;
}

std::vector<float> LiveModel::score(std::span<const NodeId> src, std::span<const NodeId> dst,
                                    Timestamp t, Question question) const {
  std::vector<float> logits;
  parts_->with_model(t, [&](const LinkModel& model, Timestamp) {
    logits = parts_->logits(model, src, dst, t, question);
  });
  return logits;
}

void LiveModel::top(std::span<const NodeId> sources, Timestamp t, const TopQuery& query,
                    const TopAnswer& answer) const {
  CURNM_ASSERT(query.k >= 1 && !query.candidates);
  parts_->with_model(t, [&](const LinkModel& model, Timestamp) {
    const LiveNetwork& network = parts_->network;
    const EventId least = parts_->trained.extent.events;
    if (network.events_before(t) == 0) fail("nothing has happened before time {}", t);
    Choices choices(network.past(), network.log().num_nodes, network.destinations(t, least),
                    network.has_loops(t, least), t);
    NodeEmbeddings embeddings(model, choices.num_nodes(), t, parts_->trained.seed);
    rank_destinations(model, embeddings, choices, sources, query, answer);
  });
}

LiveModel::NodeFacts LiveModel::node(const std::string& name, std::int64_t recent) const {
  const auto lock = parts_->read_lock();
  const LiveNetwork& network = parts_->network;
  NodeId node = network.find(name, Role::kSource);
  if (node == kNoNode) node = parts_->find(name, Role::kDestination);
  NodeFacts facts{.name = network.name(node)};
  const TemporalGraph& graph = network.indices().graph;
  const auto entries = graph.all(node);
  facts.events = entries.size();
  facts.as_source = network.indices().roles.as_source(entries).count;
  facts.as_destination = network.indices().roles.as_destination(entries).count;
  facts.partners = std::ssize(network.indices().partners.pairs_of_before(node, -kNever));
  if (entries.size() == 0) return facts;
  facts.first = graph.times()[index(entries.begin)];
  facts.last = graph.times()[index(entries.end - 1)];
  for (std::int64_t at = entries.end; at-- > std::max(entries.begin, entries.end - recent);) {
    const EventId event = graph.events()[index(at)];
    facts.recent.push_back({network.name(graph.partners()[index(at)]), graph.times()[index(at)],
                            network.log().src[event] == node});
  }
  return facts;
}

LiveModel::PairFacts LiveModel::pair(const std::string& src, const std::string& dst,
                                     Timestamp time) const {
  const auto lock = parts_->read_lock();
  const NodeId u = parts_->find(src, Role::kSource);
  const NodeId v = parts_->find(dst, Role::kDestination);
  const History& pairs = parts_->network.indices().pairs;
  return {pairs.before(u, v, time), pairs.before(v, u, time)};
}

StreamEvents LiveModel::events_from(std::int64_t known) const {
  const auto lock = parts_->read_lock();
  const EventLog& log = parts_->network.log();
  StreamEvents events;
  for (EventId e = parts_->base.events.size() + known; e < log.size(); ++e) {
    events.src.push_back(parts_->network.name(log.src[e]));
    events.dst.push_back(parts_->network.name(log.dst[e]));
    events.time.push_back(log.time[e]);
  }
  const auto width = index(feature_width());
  events.features.assign(
      parts_->features.begin() + static_cast<std::ptrdiff_t>(index(known) * width),
      parts_->features.end());
  return events;
}

LiveSnapshot LiveModel::snapshot() const {
  LiveSnapshot snapshot;
  TensorFile& file = snapshot.contents_->file;
  const StreamEvents events = events_from(0);
  EventId state_events = 0;
  std::vector<Tensor> state;
  if (!parts_->is_stateless) {
    const auto lock = parts_->write_lock();
    state_events = parts_->present->replay.position();
    parts_->show(state_events);
    state = parts_->present->model.state();
  }
  file.document = {{"data_digest", parts_->base_digest},
                   {"model", parts_->model_identity},
                   {"events", events.size()},
                   {"state_events", state_events}};
  put_names(events.src, "src", file);
  put_names(events.dst, "dst", file);
  file.tensors["time"] = to_tensor(events.time, at::kCPU);
  file.tensors["features"] = to_tensor(events.features, at::kCPU);
  file.put("state", state);
  return snapshot;
}

LiveSnapshot LiveModel::restore(const std::filesystem::path& path) {
  const TensorFile file = load_tensors(kSnapshotFile, path);
  LiveSnapshot facts;
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  if (json_string(file.document, "data_digest") != parts_->base_digest) {
    fail<UnusableRun>(
        "{} continues another network, or another version of it: serve it with the data that it "
        "was begun with, or give another --state",
        path.string());
  }
  facts.sequence = json_integer(file.document, "sequence", 0, kMost);
  facts.late = json_integer(file.document, "late", 0, kMost);
  StreamEvents events{.src = get_names("src", file), .dst = get_names("dst", file)};
  const auto times = values_of<double>(file, "time");
  const auto features = values_of<float>(file, "features");
  events.time.assign(times.begin(), times.end());
  events.features.assign(features.begin(), features.end());
  check_saved(events.src.size() == events.time.size() && events.dst.size() == events.time.size() &&
                  std::ssize(events.features) == events.size() * feature_width(),
              "the columns of the snapshot differ in length");
  Parts& parts = *parts_;
  const auto lock = parts.write_lock();
  const bool same_model = json_string(file.document, "model") == parts.model_identity;
  const EventId all = parts.network.log().size() + events.size();
  const EventId state_events = json_integer(file.document, "state_events", 0, all);
  parts.network.check_names(events);
  if (parts.is_stateless || !same_model) {
    const std::int64_t batch = parts.trained.batch;
    for (std::int64_t begin = 0; begin < events.size();) {
      const std::int64_t end =
          std::min(events.size(), begin + batch - parts.network.log().size() % batch);
      parts.append_part(events, begin, end);
      begin = end;
    }
    return facts;
  }
  // Columns and indices first; the memory comes as it was.
  const NoGradGuard no_grad;
  const std::int64_t width = feature_width();
  const EventId first = parts.network.log().size();
  for (std::int64_t i = 0; i < events.size(); ++i) {
    parts.network.append(events.src[index(i)], events.dst[index(i)], events.time[index(i)]);
  }
  parts.make_room();
  for (std::int64_t i = 0; i < events.size(); ++i) {
    parts.put_features(
        first + i, std::span<const float>(events.features).subspan(index(i * width), index(width)));
  }
  parts.present = make_follower(parts.trained, parts.view());
  begin_at(*parts.present, file.list("state"), state_events);
  parts.show(parts.network.log().size());
  return facts;
}

}  // namespace curnm
