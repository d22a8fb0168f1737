#include "curnm/nn/node_memory.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "curnm/base/error.h"
#include "curnm/kernels/rows.h"
#include "curnm/nn/fused.h"
#include "curnm/nn/kernel_tensors.h"
#include "curnm/nn/linear.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

/// The last event of a node in a batch, and its other endpoint.
struct LastEvent {
  NodeId node;
  NodeId other;
  Timestamp time;
  EventId event;
};

/// One entry per distinct endpoint. Later events replace earlier ones whatever the node's role was.
std::vector<LastEvent> last_events(const EventBatch& batch) {
  std::vector<LastEvent> entries;
  for (std::size_t i = 0; i < batch.src.size(); ++i) {
    entries.push_back({batch.src[i], batch.dst[i], batch.time[i], batch.events[i]});
    if (batch.src[i] == batch.dst[i]) continue;
    entries.push_back({batch.dst[i], batch.src[i], batch.time[i], batch.events[i]});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const LastEvent& a, const LastEvent& b) { return a.node < b.node; });
  std::vector<LastEvent> last;
  for (const LastEvent& entry : entries) {
    if (!last.empty() && last.back().node == entry.node) last.pop_back();
    last.push_back(entry);
  }
  return last;
}

/// The columns of NodeMemory::rows_of.
enum SavedColumn : std::size_t {
  kSavedNodes,
  kSavedMemory,
  kSavedOther,
  kSavedEvent,
  kSavedTime,
  kSavedUpdated,
  kSavedVersion,
  kSavedColumns
};

/// Takes out of `events` those whose mail `undone` has, ascending as they are, and returns their
/// positions there. The mail of a batch follows from the state before it and the event; with strict
/// ties those at the last time of the batch see its other events, too, and are not taken.
std::vector<std::int64_t> take_known(std::vector<LastEvent>& events, Ties ties,
                                     const std::vector<Tensor>& undone) {
  if (undone.empty() || undone[kSavedNodes].numel() == 0) return {};
  const Tensor nodes = undone[kSavedNodes].to(at::kCPU);
  const std::span known(nodes.data_ptr<std::int64_t>(), index(nodes.numel()));
  const std::span numbers(undone[kSavedEvent].data_ptr<EventId>(), known.size());
  const std::span times(undone[kSavedTime].data_ptr<Timestamp>(), known.size());
  const Timestamp last = *std::ranges::max_element(times);
  std::vector<std::int64_t> positions;
  std::erase_if(events, [&](const LastEvent& entry) {
    const auto found = std::ranges::lower_bound(known, std::int64_t{entry.node});
    if (found == known.end() || *found != entry.node) return false;
    const auto at = static_cast<std::size_t>(found - known.begin());
    if (numbers[at] != entry.event) return false;
    if (ties == Ties::kStrict && times[at] == last) return false;
    positions.push_back(static_cast<std::int64_t>(at));
    return true;
  });
  return positions;
}

}  // namespace

NodeMemory::NodeMemory(const MemoryOptions& options) : options_(options) {
  if (options.edge_features.defined()) {
    options_.edge_features = with_contiguous_rows(options.edge_features);
  }
  const std::int64_t edge_width =
      options.edge_features.defined() ? options.edge_features.size(1) : 0;
  const std::int64_t mail_width = 2 * options.width + edge_width + options.time_width;
  encoding_ =
      register_module("time", std::make_shared<CosineTimeEncoding>(
                                  options.time_width, options.learned_time, options.time_scale));
  const bool gru = options.updater == MemoryUpdater::kGru;
  cell_ = register_module(
      gru ? "gru" : "rnn",
      std::make_shared<RecurrentCell>(gru ? RecurrentCell::Kind::kGru : RecurrentCell::Kind::kTanh,
                                      mail_width, options.width));
  memory_ = register_buffer("memory", at::zeros({options.num_nodes, options.width}));
  mail_other_ = register_buffer("mail_other", at::zeros({options.num_nodes, options.width}));
  forget();
}

void NodeMemory::forget() {
  memory_.zero_();
  mail_other_.zero_();
  mail_event_.assign(index(options_.num_nodes), kNoEvent);
  mail_time_.assign(index(options_.num_nodes), options_.origin);
  updated_.assign(index(options_.num_nodes), options_.origin);
  renew_versions();
}

void NodeMemory::renew_versions() {
  versions_.assign(index(options_.num_nodes), ++newest_version_);
  undone_.clear();
}

bool NodeMemory::rows_are_independent() const {
  return !options_.learned_time && has_kernels(options_.path, memory_);
}

bool NodeMemory::mail_visible(NodeId node, Timestamp t) const {
  if (mail_event_[index(node)] == kNoEvent) return false;
  return options_.ties == Ties::kStream || mail_time_[index(node)] < t;
}

Timestamp NodeMemory::state_time(NodeId node, bool with_mail) const {
  return with_mail ? mail_time_[index(node)] : updated_[index(node)];
}

Tensor NodeMemory::read(const StateRows& rows) const {
  const Device device = memory_.device();
  std::vector<std::int64_t> nodes(index(rows.size()));
  std::vector<std::int64_t> mailed_rows;
  std::vector<std::int64_t> mailed_nodes;
  std::vector<std::int64_t> events;
  std::vector<double> waits;
  for (std::int64_t row = 0; row < rows.size(); ++row) {
    const NodeId node = rows.node(row);
    nodes[index(row)] = node;
    if (!rows.with_mail(row)) continue;
    mailed_rows.push_back(row);
    mailed_nodes.push_back(node);
    events.push_back(mail_event_[index(node)]);
    waits.push_back(mail_time_[index(node)] - updated_[index(node)]);
  }
  const Tensor stored = memory_.index_select(0, to_tensor(nodes, device));
  if (mailed_rows.empty()) return stored;

  const Tensor updated = update(mail(mailed_nodes, events, waits));
  return stored.index_copy(0, to_tensor(mailed_rows, device), updated);
}

/// [own memory ‖ the other's ‖ features of the event ‖ phi(wait)]
Tensor NodeMemory::mail(std::span<const std::int64_t> nodes, std::span<const EventId> events,
                        std::span<const double> waits) const {
  const Device device = memory_.device();
  const Tensor& features = options_.edge_features;
  if (options_.learned_time || !has_kernels(options_.path, memory_)) {
    const Tensor at = to_tensor(nodes, device);
    std::vector<Tensor> parts = {memory_.index_select(0, at), mail_other_.index_select(0, at)};
    if (features.defined()) parts.push_back(features.index_select(0, to_tensor(events, device)));
    parts.push_back(encoding_->forward(to_tensor(waits, device)));
    return at::cat(parts, 1);
  }
  const std::int64_t feature_width = features.defined() ? features.size(1) : 0;
  const Tensor mail =
      at::empty({std::ssize(nodes), 2 * options_.width + feature_width + options_.time_width});
  std::int64_t column = 0;
  const auto gather = [&](const Tensor& table, std::span<const std::int64_t> rows) {
    kernels::gather(row_data(table), row_stride(table), rows, table.size(1),
                    row_data(mail) + column, row_stride(mail));
    column += table.size(1);
  };
  gather(memory_, nodes);
  gather(mail_other_, nodes);
  if (features.defined()) gather(features, events);
  encoding_->encode_into(waits, mail.narrow(1, column, options_.time_width));
  return mail;
}

Tensor NodeMemory::update(const Tensor& mail) const {
  const Tensor own = mail.narrow(1, 0, options_.width);
  if (!has_kernels(options_.path, own)) {
    return (*cell_)(mail, own);
  }
  // The mail begins with the memory, so where a map of the mail and a map of the memory are added,
  // one product with the summed maps is enough.
  const auto both = [&](std::int64_t rows) {
    const Tensor bias =
        add_corner(cell_->bias_ih.unsqueeze(1), cell_->bias_hh.unsqueeze(1), rows).squeeze(1);
    return linear(mail, add_corner(cell_->weight_ih, cell_->weight_hh, rows), bias, options_.path);
  };
  if (options_.updater == MemoryUpdater::kRnn) return at::tanh(both(options_.width));
  const std::int64_t gates = 2 * options_.width;
  const auto content = [&](const Tensor& map) { return map.narrow(0, gates, options_.width); };
  return gru_cell(both(gates),
                  linear(own, content(cell_->weight_hh), content(cell_->bias_hh), options_.path),
                  own);
}

void NodeMemory::observe(const EventBatch& batch) {
  const NoGradGuard no_grad;
  const std::vector<Tensor> undone = std::exchange(undone_, {});
  if (options_.ties == Ties::kStream) return deliver(batch, undone);
  // The next batch may query at the last time of this one. Mail from before that time must not be
  // replaced by mail at that time, which is invisible then.
  const auto last = std::lower_bound(batch.time.begin(), batch.time.end(), batch.time.back());
  const auto earlier = static_cast<std::size_t>(last - batch.time.begin());
  if (earlier > 0) deliver(batch.part(0, earlier), undone);
  deliver(batch.part(earlier, batch.time.size()), {});
}

void NodeMemory::deliver(const EventBatch& batch, const std::vector<Tensor>& undone) {
  const Device device = memory_.device();
  std::vector<LastEvent> events = last_events(batch);
  const std::vector<std::int64_t> known = take_known(events, options_.ties, undone);
  if (events.empty()) return put_rows(undone, known);
  StateRows rows(options_.num_nodes);
  std::vector<std::int64_t> nodes;
  std::vector<std::int64_t> own_rows;
  std::vector<std::int64_t> other_rows;
  for (const LastEvent& entry : events) {
    nodes.push_back(entry.node);
    own_rows.push_back(rows.row(entry.node, mail_visible(entry.node, entry.time)));
    other_rows.push_back(rows.row(entry.other, mail_visible(entry.other, entry.time)));
  }
  const Tensor states = read(rows);  // before anything is written
  const Tensor at = to_tensor(nodes, device);
  memory_.index_copy_(0, at, states.index_select(0, to_tensor(own_rows, device)));
  mail_other_.index_copy_(0, at, states.index_select(0, to_tensor(other_rows, device)));
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::size_t node = index(events[i].node);
    // An invisible mail of the same time is replaced without having been applied.
    if (rows.with_mail(own_rows[i])) updated_[node] = mail_time_[node];
    mail_event_[node] = events[i].event;
    mail_time_[node] = events[i].time;
    versions_[node] = ++newest_version_;
  }
  put_rows(undone, known);
}

std::vector<Tensor> NodeMemory::state() const {
  return {memory_.clone(), mail_other_.clone(), to_tensor(mail_event_, at::kCPU),
          to_tensor(mail_time_, at::kCPU), to_tensor(updated_, at::kCPU)};
}

std::vector<Tensor> NodeMemory::state_before(const EventBatch& batch) const {
  std::vector<std::int64_t> nodes;
  for (const LastEvent& entry : last_events(batch)) nodes.push_back(entry.node);
  return rows_of(to_tensor(nodes, memory_.device()));
}

std::vector<Tensor> NodeMemory::rows_of(const Tensor& rows) const {
  const NoGradGuard no_grad;
  const Tensor nodes = rows.to(at::kCPU);
  const auto of_nodes = [&]<class T>(const std::vector<T>& column) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < nodes.numel(); ++i) {
      values.push_back(column[index(nodes.data_ptr<std::int64_t>()[i])]);
    }
    return to_tensor(values, at::kCPU);
  };
  return {rows,
          memory_.index_select(0, rows),
          mail_other_.index_select(0, rows),
          of_nodes(mail_event_),
          of_nodes(mail_time_),
          of_nodes(updated_),
          of_nodes(versions_)};
}

void NodeMemory::put_rows(const std::vector<Tensor>& saved,
                          std::span<const std::int64_t> positions) {
  if (positions.empty()) return;
  CURNM_ASSERT(saved.size() == kSavedColumns);
  const NoGradGuard no_grad;
  const Tensor at = to_tensor(positions, memory_.device());
  const Tensor rows = saved[kSavedNodes].index_select(0, at);
  memory_.index_copy_(0, rows, saved[kSavedMemory].index_select(0, at));
  mail_other_.index_copy_(0, rows, saved[kSavedOther].index_select(0, at));
  const Tensor nodes = saved[kSavedNodes].to(at::kCPU);
  for (const std::int64_t i : positions) {
    const auto node = index(nodes.data_ptr<std::int64_t>()[i]);
    mail_event_[node] = saved[kSavedEvent].data_ptr<std::int64_t>()[i];
    mail_time_[node] = saved[kSavedTime].data_ptr<double>()[i];
    updated_[node] = saved[kSavedUpdated].data_ptr<double>()[i];
    versions_[node] = saved[kSavedVersion].data_ptr<std::int64_t>()[i];
  }
}

void NodeMemory::undo(const std::vector<Tensor>& before) {
  CURNM_ASSERT(before.size() == kSavedColumns);
  undone_ = rows_of(before[kSavedNodes]);
  std::vector<std::int64_t> all(index(before[kSavedNodes].numel()));
  std::iota(all.begin(), all.end(), 0);
  put_rows(before, all);
}

void NodeMemory::drop_events(EventId count) {
  const NoGradGuard no_grad;
  constexpr std::size_t kBlock = 4096;  // nodes at a time, to bound memory
  undone_.clear();
  std::vector<std::int64_t> nodes;  // whose mail is about dropped events
  const auto settle = [&] {
    StateRows rows(options_.num_nodes);
    for (const std::int64_t node : nodes) rows.row(static_cast<NodeId>(node), /*with_mail=*/true);
    memory_.index_copy_(0, to_tensor(nodes, memory_.device()), read(rows));
    for (const std::int64_t node : nodes) {
      mail_event_[index(node)] = kNoEvent;
      updated_[index(node)] = mail_time_[index(node)];
      versions_[index(node)] = ++newest_version_;
    }
    nodes.clear();
  };
  for (NodeId node = 0; node < options_.num_nodes; ++node) {
    const EventId event = mail_event_[index(node)];
    if (event == kNoEvent || event >= count) continue;
    nodes.push_back(node);
    if (nodes.size() == kBlock) settle();
  }
  if (!nodes.empty()) settle();
  for (EventId& event : mail_event_) event -= event == kNoEvent ? 0 : count;
}

void NodeMemory::set_state(const std::vector<Tensor>& state) {
  check_saved(state.size() == 5 && state[0].sizes() == memory_.sizes() &&
                  state[1].sizes() == memory_.sizes(),
              "a saved memory is that of another model");
  const NoGradGuard no_grad;
  memory_.copy_(state[0]);
  mail_other_.copy_(state[1]);
  copy_to(state[2], std::span(mail_event_));
  copy_to(state[3], std::span(mail_time_));
  copy_to(state[4], std::span(updated_));
  renew_versions();
  const EventId events = options_.edge_features.defined() ? options_.edge_features.size(0)
                                                          : std::numeric_limits<EventId>::max();
  check_saved(std::ranges::all_of(
                  mail_event_, [&](EventId e) { return e == kNoEvent || (e >= 0 && e < events); }),
              "a saved memory refers to events that do not exist");
}

}  // namespace curnm
