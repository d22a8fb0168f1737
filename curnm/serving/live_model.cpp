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
#include "curnm/prediction/explainer.h"
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
  std::string text = fmt::format("{} {} {} {} {}", model.model, model.decoder, model.batch,
                                 model.seed, model.input_seed);
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
  Parts(TrainedModel trained_model, Dataset data, const Keep& kept)
      : trained(std::move(trained_model)),
        base(std::move(data)),
        base_digest(base.digest()),
        model_identity(identity_of(trained)),
        keep(kept),
        network(base, keep) {
    make_room(network.log().num_nodes, network.log().size());
    begin_present(make_follower(trained, view()));
    is_stateless = present->model.state().empty();
    if (!is_stateless) {
      if (trained.state_events > 0) begin_at_saved_state(trained, *present);
      show(network.log().size());
    }
    forget();
  }

  // ------------------------------------------------------------------ growing

  /// Tensors with room for more than so many nodes and events. Models made before lack it.
  void make_room(std::int64_t nodes, std::int64_t events) {
    past.reset();
    const Device device(trained.device);
    node_room = static_cast<NodeId>(
        std::min<std::int64_t>(room_for(nodes), std::numeric_limits<NodeId>::max()));
    if (base.node_features.width > 0) {  // nobody is born where all nodes have features
      node_room = network.log().num_nodes;
      if (!node_features.defined()) {
        node_features = to_tensor(base.node_features, trained.scales.nodes, device);
      }
    }
    if (base.edge_features.width == 0) return;  // then events take no room in a model
    event_room = room_for(events);
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
  void move_to_new_room(std::int64_t nodes, std::int64_t events) {
    make_room(nodes, events);
    auto larger = make_follower(trained, view());
    if (!is_stateless) {
      show(present->replay.position());
      begin_at(*larger, present->model.state(), present->replay.position());
    }
    begin_present(std::move(larger));
  }
  void begin_present(std::unique_ptr<Follower> follower) {
    asked = {};  // by the old one
    present = std::move(follower);
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
    const std::int64_t nodes_then = network.most_nodes_with(events, begin, end);
    const std::int64_t events_then = network.log().size() + (end - begin);
    if (nodes_then > node_room || events_then > event_room) {
      move_to_new_room(nodes_then, events_then);
    }
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

  /// The next events, as many as may be appended at once: to the end of a batch at most, and none
  /// that would be forgotten at once. Returns where they end. For one thread at a time, which alone
  /// changes the network: so it may read without a lock, and readers do not wait for new indices.
  std::int64_t append_next(const StreamEvents& events, std::int64_t begin) {
    const std::int64_t to_batch = trained.batch - network.log().size() % trained.batch;
    const auto more = std::span<const Timestamp>(events.time).subspan(index(begin));
    std::int64_t count = std::min(std::ssize(more), to_batch);
    while (count > 1 && network.first_kept_with(more.first(index(count))) > network.events()) {
      count /= 2;
    }
    const auto coming = more.first(index(count));
    std::optional<LiveNetwork::Rest> rest;
    const EventId first = network.first_kept_with(coming);
    if (first > network.first_kept()) {
      const EventId droppable = is_stateless ? network.log().size() : present->replay.position();
      rest = network.rest(first, coming, droppable, trained.batch);
    }
    const auto lock = write_lock();
    if (rest) put(std::move(*rest));
    append_part(events, begin, begin + count);
    return begin + count;
  }

  /// Forgets what a network that has grown to this size has forgotten; no event is dropped yet.
  /// REQUIRES: nobody reads.
  void forget() {
    const EventId first = network.first_kept_with({});
    if (first > network.first_kept()) {
      put(network.rest(first, /*more=*/{}, /*droppable=*/0, trained.batch));
    }
  }

  /// REQUIRES: nobody reads.
  void put(LiveNetwork::Rest rest) {
    const NoGradGuard no_grad;
    const EventId cut = rest.dropped - network.dropped();
    asked = {};
    if (!is_stateless) {
      show(present->replay.position());
      if (cut > 0) present->model.model->drop_events(cut);
      present->replay.begin_at(present->replay.position() - cut);
      shown = present->replay.position();
    }
    drop_features(cut);
    network.put(std::move(rest));
    present->model.use(network.past());
  }

  /// Of the first `cut` events of the log, before they are dropped.
  void drop_features(EventId cut) {
    const std::int64_t width = base.edge_features.width;
    if (width == 0 || cut == 0) return;
    const std::int64_t rows = network.log().size() - cut;
    const Tensor left = edge_features.narrow(0, cut, rows).clone();
    edge_features.narrow(0, 0, rows).copy_(left);
    const EventId appended = std::max(network.dropped() + cut, base.events.size()) -
                             std::max(network.dropped(), base.events.size());
    features.erase(features.begin(), features.begin() + appended * width);
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
        check_kept(known);
        if (is_stateless || shown == known) return ask(present->model, t);
        if (known < present->replay.position()) break;
      }
      const auto lock = write_lock();
      const Timestamp t = asked_time(time);
      const EventId known = network.events_before(t);
      check_kept(known);
      if (known < present->replay.position()) break;
      if (shown != known) show(known);
      if (tries == kTries) return ask(present->model, t);
    }
    with_past_model(*time, ask);
  }
  void check_kept(EventId known) const {
    if (network.is_kept(known)) return;
    fail<Forgotten>("what was known at that time has been forgotten (--keep)");
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
      check_kept(known);
      if (network.dropped() > 0) {
        past.reset();
        fail<Forgotten>(
            "a memory as of an earlier time would need events that have been forgotten (--keep): "
            "ask about times since the newest whole batch");
      }
      if (!past || past->replay.position() > known || past_first != network.first_kept()) {
        past = make_follower(trained, view());
        past_first = network.first_kept();
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

  /// What has been embedded about a time: questions to the present model about the same one share
  /// it, and those that come together wait for one of them. REQUIRES: as in `ask` of with_model.
  std::shared_ptr<NodeEmbeddings> embeddings_at(const LinkModel& model, Timestamp t) {
    const auto make = [&] {
      return std::make_shared<NodeEmbeddings>(model, node_room, t, trained.seed);
    };
    if (&model != &present->model) return make();
    const EventId known = network.events_before(t);
    const std::lock_guard lock(asked_mutex);
    if (!asked.embeddings || asked.embeddings->time() != t || asked.events != known) {
      asked = {known, make()};
    }
    return asked.embeddings;
  }

  std::vector<float> logits(const LinkModel& model, std::span<const NodeId> src,
                            std::span<const NodeId> dst, Timestamp t, Question question) {
    const std::shared_ptr<NodeEmbeddings> embeddings = embeddings_at(model, t);
    std::vector<float> all;
    constexpr std::size_t kBlock = 8192;  // to bound memory
    for (std::size_t begin = 0; begin < src.size(); begin += kBlock) {
      const std::size_t count = std::min(kBlock, src.size() - begin);
      const Links links(t, src.subspan(begin, count), dst.subspan(begin, count), node_room);
      const std::vector<float> block =
          score_links(model, links, embeddings->of(links.roots().nodes)).of(question);
      all.insert(all.end(), block.begin(), block.end());
    }
    return all;
  }

  /// Adds to a ranking why its answers score as they do.
  void explain(const LinkModel& model, NodeId src, std::span<const Prediction> answers, Timestamp t,
               Question question, Ranking& ranking) {
    std::vector<NodeId> destinations;
    for (const Prediction& answer : answers) destinations.push_back(answer.node);
    const std::vector<NodeId> sources(destinations.size(), src);
    const EventLog& log = network.log();
    const std::shared_ptr<NodeEmbeddings> embeddings = embeddings_at(model, t);
    Explainer explainer(model, *embeddings, network.past(), log,
                        network.first_kept() - network.dropped(), network.events_before(t));
    std::vector<Explanation> found = explainer.explain(sources, destinations, question);
    for (std::size_t i = 0; i < found.size(); ++i) {
      Answer& answer = ranking.answers[i];
      answer.words = in_words(found[i].facts, network.name(src), answer.node, t, TimeUnit::of(log));
      answer.why = std::move(found[i]);
    }
  }

  /// The newest time that the present model was asked about.
  struct Asked {
    EventId events = 0;  // known then
    std::shared_ptr<NodeEmbeddings> embeddings;
  };

  // ------------------------------------------------------------------ snapshots

  /// Of the events after the base, the number of the first one that is still there.
  std::int64_t appended_from() const {
    return std::max<std::int64_t>(0, network.dropped() - base.events.size());
  }
  /// The events after the base but for the first `known`. REQUIRES: known >= appended_from(); the
  /// network stays as it is.
  StreamEvents appended_events(std::int64_t known) const {
    const EventLog& log = network.log();
    StreamEvents events;
    for (EventId e = base.events.size() + known - network.dropped(); e < log.size(); ++e) {
      events.src.push_back(network.name(log.src[e]));
      events.dst.push_back(network.name(log.dst[e]));
      events.time.push_back(log.time[e]);
    }
    const std::int64_t gone = (known - appended_from()) * base.edge_features.width;
    events.features.assign(features.begin() + gone, features.end());
    return events;
  }

  void save(TensorFile& file) {
    const StreamEvents events = [&] {
      const auto lock = read_lock();
      return appended_events(appended_from());
    }();
    EventId state_events = 0;
    std::vector<Tensor> state;
    if (!is_stateless) {
      const auto lock = write_lock();
      show(present->replay.position());
      state_events = network.dropped() + shown;
      state = present->model.state();
    }
    file.document = {{"data_digest", base_digest},
                     {"model", model_identity},
                     {"events", events.size()},
                     {"state_events", state_events}};
    put_names(events.src, "src", file);
    put_names(events.dst, "dst", file);
    file.tensors["time"] = to_tensor(events.time, at::kCPU);
    file.tensors["features"] = to_tensor(events.features, at::kCPU);
    file.put("state", state);
    if (network.first_kept() > 0) save_forgotten(file);
  }
  void save_forgotten(TensorFile& file) {
    const auto lock = read_lock();
    const LiveNetwork::Forgotten forgotten = network.forgotten(base.events.num_nodes);
    file.document["forgotten"] = {
        {"keep_events", keep.events},           {"keep_age", keep.age},
        {"dropped", forgotten.dropped},         {"first_kept", forgotten.first_kept},
        {"first_mixed", forgotten.first_mixed}, {"first_loop", forgotten.first_loop}};
    put_names(forgotten.born, "born", file);
    file.tensors["was_source"] = copy_of<std::uint8_t>(forgotten.was_source, at::kByte);
    file.tensors["was_destination"] = copy_of<std::uint8_t>(forgotten.was_destination, at::kByte);
  }
  std::optional<LiveNetwork::Forgotten> read_forgotten(const TensorFile& file) const {
    if (!file.document.contains("forgotten")) return {};
    const auto& saved = file.document.at("forgotten");
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const auto number = [&](const char* key) { return json_integer(saved, key, 0, kMost); };
    if (number("keep_events") != keep.events || json_number(saved, "keep_age") != keep.age) {
      fail<UnusableRun>(
          "this stream was served with another --keep, and what was forgotten cannot come back: "
          "give the same one, or another --state");
    }
    LiveNetwork::Forgotten forgotten{.dropped = number("dropped"),
                                     .first_kept = number("first_kept"),
                                     .first_mixed = number("first_mixed"),
                                     .first_loop = number("first_loop"),
                                     .born = get_names("born", file)};
    const auto flags = [&](const char* key) {
      const auto values = values_of<std::uint8_t>(file, key);
      check_saved(std::ssize(values) == base.events.num_nodes + std::ssize(forgotten.born),
                  "roles of the snapshot are damaged");
      return std::vector<std::uint8_t>(values.begin(), values.end());
    };
    forgotten.was_source = flags("was_source");
    forgotten.was_destination = flags("was_destination");
    return forgotten;
  }

  /// Continues from what `save` wrote. REQUIRES: nothing has been appended.
  void restore(const TensorFile& file) {
    StreamEvents events{.src = get_names("src", file), .dst = get_names("dst", file)};
    const auto times = values_of<double>(file, "time");
    const auto raw = values_of<float>(file, "features");
    events.time.assign(times.begin(), times.end());
    events.features.assign(raw.begin(), raw.end());
    const std::int64_t width = base.edge_features.width;
    check_saved(events.src.size() == events.time.size() &&
                    events.dst.size() == events.time.size() &&
                    std::ssize(events.features) == events.size() * width,
                "the columns of the snapshot differ in length");
    const auto lock = write_lock();
    const auto forgotten = read_forgotten(file);
    const EventId dropped = forgotten ? forgotten->dropped : 0;
    const bool same_model = json_string(file.document, "model") == model_identity;
    const EventId all = std::max(dropped, base.events.size()) + events.size();
    const EventId state_events = json_integer(file.document, "state_events", 0, all);
    if (dropped > 0 && !is_stateless && !same_model) {
      fail<UnusableRun>(
          "this model has a memory, which would have to see all events since its training: those "
          "before number {} have been forgotten (--keep)",
          dropped);
    }
    // Columns and indices first; the memory comes as it was, or is replayed.
    const NoGradGuard no_grad;
    if (forgotten) {
      check_saved(forgotten->first_kept >= dropped && forgotten->first_kept <= all,
                  "the snapshot says that more is forgotten than there was");
      drop_features(std::min(dropped, base.events.size()));
      network.begin_resume(*forgotten);
    }
    network.check_names(events);
    const EventId first = network.log().size();
    for (std::int64_t i = 0; i < events.size(); ++i) {
      network.append(events.src[index(i)], events.dst[index(i)], events.time[index(i)]);
    }
    if (forgotten) network.finish_resume(*forgotten);
    make_room(network.log().num_nodes, network.log().size());
    for (std::int64_t i = 0; i < events.size(); ++i) {
      put_features(first + i,
                   std::span<const float>(events.features).subspan(index(i * width), index(width)));
    }
    begin_present(make_follower(trained, view()));
    if (!is_stateless) {
      if (same_model) {
        begin_at(*present, file.list("state"), state_events - dropped);
      } else if (trained.state_events > 0) {
        begin_at_saved_state(trained, *present);
      }
      show(network.log().size());
    }
    forget();
  }

  TrainedModel trained;
  Dataset base;
  std::string base_digest;
  std::string model_identity;
  Keep keep;
  LiveNetwork network;
  std::vector<float> features;  // raw, of the appended events
  NodeId node_room = 0;
  std::int64_t event_room = std::numeric_limits<std::int64_t>::max();
  Tensor edge_features;
  Tensor node_features;
  std::unique_ptr<Follower> present;
  static constexpr EventId kUnknown = -1;
  EventId shown = 0;  // events that the present model has seen, those of a partial batch too
  bool is_stateless = false;
  std::mutex asked_mutex;
  Asked asked;
  std::mutex gate;
  std::shared_mutex mutex;  // of everything above
  std::timed_mutex past_mutex;
  std::unique_ptr<Follower> past;
  EventId past_first = 0;
};

LiveModel::LiveModel(TrainedModel model, Dataset base, const Keep& keep) {
  if (!is_same_network(base, model.data_digest, model.extent, /*grown=*/true)) {
    fail<UnusableRun>(
        "{} is not the network that this model was trained on: {}; new events may only come after "
        "the old ones",
        base.name, difference(base, {model.data_digest, model.extent}));
  }
  parts_ = std::make_unique<Parts>(std::move(model), std::move(base), keep);
}
LiveModel::~LiveModel() = default;

const TrainedModel& LiveModel::model() const { return parts_->trained; }

LiveModel::Position LiveModel::position() const {
  const auto lock = parts_->read_lock();
  const EventLog& log = parts_->network.log();
  return {parts_->network.events(), log.num_nodes, log.size() == 0 ? kNever : log.time.back()};
}

std::int64_t LiveModel::kept() const {
  const auto lock = parts_->read_lock();
  return parts_->network.events() - parts_->network.first_kept();
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
  for (std::int64_t begin = 0; begin < events.size();) begin = parts_->append_next(events, begin);
}

LiveModel::Ranking LiveModel::top(const std::string& src, std::optional<Timestamp> time,
                                  std::int64_t k, Question question, Seen seen,
                                  bool explain) const {
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
    ranking.events = network.dropped() + network.events_before(t);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const Prediction& one = found[index(i)];
      ranking.answers.push_back({network.name(one.node), one.logit});
    }
    if (explain) {
      parts_->explain(model, source, std::span(found).first(index(count)), t, question, ranking);
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
    scored.events = network.dropped() + network.events_before(t);
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
    rank_destinations(model, *parts_->embeddings_at(model, t), choices, sources, query, answer);
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

std::optional<StreamEvents> LiveModel::events_from(std::int64_t known) const {
  const auto lock = parts_->read_lock();
  if (known < parts_->appended_from()) return {};
  return parts_->appended_events(known);
}

void LiveModel::catch_up(const LiveModel& other) {
  if (const auto events = other.events_from(appended())) return append(*events);
  if (appended() > 0) fail("events that came meanwhile have been forgotten already");
  parts_->restore(other.snapshot().contents_->file);
}

LiveSnapshot LiveModel::snapshot() const {
  LiveSnapshot snapshot;
  parts_->save(snapshot.contents_->file);
  return snapshot;
}

LiveSnapshot LiveModel::restore(const std::filesystem::path& path) {
  const TensorFile file = load_tensors(kSnapshotFile, path);
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  if (json_string(file.document, "data_digest") != parts_->base_digest) {
    fail<UnusableRun>(
        "{} continues another network, or another version of it: serve it with the data that it "
        "was begun with, or give another --state",
        path.string());
  }
  LiveSnapshot facts;
  facts.sequence = json_integer(file.document, "sequence", 0, kMost);
  facts.late = json_integer(file.document, "late", 0, kMost);
  parts_->restore(file);
  return facts;
}

}  // namespace curnm
