#include "curnm/nn/node_memory.h"

#include <algorithm>
#include <limits>

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
  if (options_.ties == Ties::kStream) return deliver(batch);
  // The next batch may query at the last time of this one. Mail from before that time must not be
  // replaced by mail at that time, which is invisible then.
  const auto last = std::lower_bound(batch.time.begin(), batch.time.end(), batch.time.back());
  const auto earlier = static_cast<std::size_t>(last - batch.time.begin());
  if (earlier > 0) deliver(batch.part(0, earlier));
  deliver(batch.part(earlier, batch.time.size()));
}

void NodeMemory::deliver(const EventBatch& batch) {
  const Device device = memory_.device();
  StateRows rows(options_.num_nodes);
  std::vector<std::int64_t> nodes;
  std::vector<std::int64_t> own_rows;
  std::vector<std::int64_t> other_rows;
  const std::vector<LastEvent> events = last_events(batch);
  for (const LastEvent& entry : events) {
    nodes.push_back(entry.node);
    own_rows.push_back(rows.row(entry.node, mail_visible(entry.node, entry.time)));
    other_rows.push_back(rows.row(entry.other, mail_visible(entry.other, entry.time)));
  }
  const Tensor states = read(rows);
  const Tensor at = to_tensor(nodes, device);
  memory_.index_copy_(0, at, states.index_select(0, to_tensor(own_rows, device)));
  mail_other_.index_copy_(0, at, states.index_select(0, to_tensor(other_rows, device)));
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::size_t node = index(events[i].node);
    // An invisible mail of the same time is replaced without having been applied.
    if (rows.with_mail(own_rows[i])) updated_[node] = mail_time_[node];
    mail_event_[node] = events[i].event;
    mail_time_[node] = events[i].time;
  }
}

std::vector<Tensor> NodeMemory::state() const {
  return {memory_.clone(), mail_other_.clone(), to_tensor(mail_event_, at::kCPU),
          to_tensor(mail_time_, at::kCPU), to_tensor(updated_, at::kCPU)};
}

std::vector<Tensor> NodeMemory::state_before(const EventBatch& batch) const {
  const NoGradGuard no_grad;
  std::vector<std::int64_t> nodes;
  std::vector<EventId> events;
  std::vector<Timestamp> times;
  std::vector<Timestamp> updated;
  for (const LastEvent& entry : last_events(batch)) {
    nodes.push_back(entry.node);
    events.push_back(mail_event_[index(entry.node)]);
    times.push_back(mail_time_[index(entry.node)]);
    updated.push_back(updated_[index(entry.node)]);
  }
  const Tensor rows = to_tensor(nodes, memory_.device());
  return {rows,
          memory_.index_select(0, rows),
          mail_other_.index_select(0, rows),
          to_tensor(events, at::kCPU),
          to_tensor(times, at::kCPU),
          to_tensor(updated, at::kCPU)};
}

void NodeMemory::undo(const std::vector<Tensor>& before) {
  const NoGradGuard no_grad;
  CURNM_ASSERT(before.size() == 6);
  memory_.index_copy_(0, before[0], before[1]);
  mail_other_.index_copy_(0, before[0], before[2]);
  const Tensor nodes = before[0].to(at::kCPU);
  for (std::int64_t i = 0; i < nodes.numel(); ++i) {
    const auto node = index(nodes.data_ptr<std::int64_t>()[i]);
    mail_event_[node] = before[3].data_ptr<std::int64_t>()[i];
    mail_time_[node] = before[4].data_ptr<double>()[i];
    updated_[node] = before[5].data_ptr<double>()[i];
  }
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
  const EventId events = options_.edge_features.defined() ? options_.edge_features.size(0)
                                                          : std::numeric_limits<EventId>::max();
  check_saved(std::ranges::all_of(
                  mail_event_, [&](EventId e) { return e == kNoEvent || (e >= 0 && e < events); }),
              "a saved memory refers to events that do not exist");
}

}  // namespace curnm
