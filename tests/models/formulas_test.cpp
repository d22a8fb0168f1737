#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "curnm/models/model.h"
#include "curnm/nn/tensors.h"
#include "support/options.h"

// Each model against its published formula: in double, node by node, event by event, nothing
// shared between questions.

namespace curnm {
namespace {

constexpr NodeId kNodes = 6;
constexpr std::int64_t kWidth = 4;
constexpr std::int64_t kTimeWidth = 3;
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kNeighbors = 3;
constexpr Timestamp kNow = 16.5;

struct Event {
  NodeId src;
  NodeId dst;
  Timestamp time;
};
// One-mode, with a repeated pair, a self-loop, two events of a node in one batch, and a node (5)
// that nobody meets.
const std::vector<Event> kEvents = {{0, 1, 2},  {1, 2, 3},  {0, 3, 5},  {3, 3, 6},  {2, 0, 8},
                                    {0, 1, 10}, {4, 2, 11}, {1, 4, 13}, {0, 4, 14}, {1, 0, 16}};
constexpr std::size_t kBatch = 3;

/// A node's partners in events at from <= time < until, in the order of the events.
struct Met {
  NodeId node;
  Timestamp time;
};
std::vector<Met> met(NodeId node, Timestamp from, Timestamp until) {
  std::vector<Met> list;
  for (const Event& event : kEvents) {
    if (event.time < from || event.time >= until) continue;
    if (event.src == node) {
      list.push_back({event.dst, event.time});
    } else if (event.dst == node) {
      list.push_back({event.src, event.time});
    }
  }
  return list;
}

/// The weights of a model, and the layers that models are made of.
class Formulas {
 public:
  explicit Formulas(const Model& model) {
    for (const auto& item : model.named_parameters()) {
      weights_[item.key()] = item.value().detach().to(at::kDouble);
    }
  }

  const Tensor& weight(const std::string& name) const { return weights_.at(name); }

  Tensor linear(const std::string& name, const Tensor& x) const {
    const Tensor y = at::mv(weight(name + ".weight"), x);
    const auto bias = weights_.find(name + ".bias");
    return bias == weights_.end() ? y : y + bias->second;
  }
  /// The rows of a recurrent cell's maps that make gate `gate`: W_i m + b_i and W_h s + b_h.
  std::pair<Tensor, Tensor> cell(const std::string& name, int gate, const Tensor& in,
                                 const Tensor& hidden) const {
    const auto part = [&](const std::string& of) {
      return weight(name + "." + of).narrow(0, gate * kWidth, kWidth);
    };
    return {at::mv(part("weight_ih"), in) + part("bias_ih"),
            at::mv(part("weight_hh"), hidden) + part("bias_hh")};
  }
  Tensor norm(const std::string& name, const Tensor& x) const {
    const Tensor centred = x - x.mean();
    return centred / at::sqrt(centred.square().mean() + 1e-5) * weight(name + ".weight") +
           weight(name + ".bias");
  }
  static Tensor phi(double dt) {
    Tensor cosines = at::empty({kTimeWidth}, at::kDouble);
    for (std::int64_t i = 0; i < kTimeWidth; ++i) {
      const double exponent = -9.0 * static_cast<double>(i) / (kTimeWidth - 1);
      cosines[i] = std::cos(std::pow(10.0, exponent) * dt);
    }
    return cosines;
  }
  /// Attention of `own` over states; with the gaps since they were met where times are encoded.
  Tensor attention(const std::string& name, const Tensor& own, const std::vector<Tensor>& states,
                   const std::vector<double>& gaps) const {
    const auto map = [&](const std::string& part, const Tensor& state, const double* gap) {
      const Tensor mapped = linear(name + "." + part + "_node", state);
      return gap == nullptr ? mapped : mapped + linear(name + "." + part + "_time", phi(*gap));
    };
    const double now = 0;
    const Tensor query = map("query", own, gaps.empty() ? nullptr : &now);
    std::vector<Tensor> values;
    std::vector<Tensor> scores;  // [H] each
    for (std::size_t j = 0; j < states.size(); ++j) {
      const double* gap = gaps.empty() ? nullptr : &gaps[j];
      const Tensor products = query * map("key", states[j], gap);
      scores.push_back(products.view({kHeads, -1}).sum(1) /
                       std::sqrt(static_cast<double>(kWidth / kHeads)));
      values.push_back(map("value", states[j], gap));
    }
    Tensor gathered = at::zeros({kWidth}, at::kDouble);
    if (!states.empty()) {
      const Tensor shares = at::softmax(at::stack(scores), 0);  // [n,H]
      for (std::size_t j = 0; j < states.size(); ++j) {
        const Tensor share = shares[static_cast<std::int64_t>(j)].unsqueeze(1);
        gathered = gathered + (values[j].view({kHeads, -1}) * share).flatten();
      }
    }
    return norm(name + ".norm", at::relu(linear(name + ".out", at::cat({gathered, own}))));
  }

 private:
  std::map<std::string, Tensor> weights_;
};

/// Memory and mail of every node after all events, batch by batch.
class Remembered {
 public:
  Remembered(const Formulas& f, bool gru) : f_(f), gru_(gru), nodes_(kNodes) {
    for (std::size_t first = 0; first < kEvents.size(); first += kBatch) {
      std::vector<Tensor> before;
      for (NodeId x = 0; x < kNodes; ++x) before.push_back(state(x));
      std::vector<Node> next = nodes_;
      for (std::size_t e = first; e < std::min(first + kBatch, kEvents.size()); ++e) {
        for (const auto& [x, o] : {std::pair{kEvents[e].src, kEvents[e].dst},
                                   std::pair{kEvents[e].dst, kEvents[e].src}}) {
          const Node& old = nodes_[static_cast<std::size_t>(x)];
          next[static_cast<std::size_t>(x)] = {
              .memory = before[static_cast<std::size_t>(x)],
              .other = before[static_cast<std::size_t>(o)],
              .has_mail = true,
              .mail_time = kEvents[e].time,
              .updated = old.has_mail ? old.mail_time : old.updated};
        }
      }
      nodes_ = next;
    }
  }

  Tensor state(NodeId x) const {
    const Node& node = nodes_[static_cast<std::size_t>(x)];
    if (!node.has_mail) return node.memory;
    const Tensor mail =
        at::cat({node.memory, node.other, Formulas::phi(node.mail_time - node.updated)});
    const auto gate = [&](int number) {
      return f_.cell(gru_ ? "memory.gru" : "memory.rnn", number, mail, node.memory);
    };
    if (!gru_) return at::tanh(gate(0).first + gate(0).second);
    const Tensor r = at::sigmoid(gate(0).first + gate(0).second);
    const Tensor z = at::sigmoid(gate(1).first + gate(1).second);
    const Tensor n = at::tanh(gate(2).first + r * gate(2).second);
    return (1 - z) * n + z * node.memory;
  }
  Timestamp known_until(NodeId x) const {
    const Node& node = nodes_[static_cast<std::size_t>(x)];
    return node.has_mail ? node.mail_time : node.updated;
  }

 private:
  struct Node {
    Tensor memory = at::zeros({kWidth}, at::kDouble);
    Tensor other = at::zeros({kWidth}, at::kDouble);
    bool has_mail = false;
    Timestamp mail_time = 0;
    Timestamp updated = kEvents.front().time;
  };
  const Formulas& f_;
  bool gru_;
  std::vector<Node> nodes_;
};

class FormulaTest : public ::testing::Test {
 protected:
  FormulaTest() {
    for (const Event& event : kEvents) {
      src_.push_back(event.src);
      dst_.push_back(event.dst);
      time_.push_back(event.time);
      ids_.push_back(std::ssize(ids_));
    }
    log_ = {src_, dst_, time_, kNodes};
    graph_ = std::make_unique<TemporalGraph>(log_);
    features_ = at::empty({kNodes, 2});
    keyed_uniform_(features_, 1, Rng(1, Stream::kTest));
  }

  std::shared_ptr<Model> make(std::string_view name, std::int64_t neighbors) {
    ModelContext context{
        .num_nodes = kNodes, .first_time = time_.front(), .last_time = time_.back()};
    if (name == "dysat") context.node_features = features_;
    const auto model = make_model(name,
                                  testing::options_of(models(), name,
                                                      {{"width", std::to_string(kWidth)},
                                                       {"time-width", std::to_string(kTimeWidth)},
                                                       {"neighbors", std::to_string(neighbors)},
                                                       {"heads", std::to_string(kHeads)},
                                                       {"snapshots", "3"},
                                                       {"snapshot-length", "4"}}),
                                  context);
    // Biases begin as zeros and norms as ones, which would hide mistakes.
    const NoGradGuard no_grad;
    std::uint64_t number = 0;
    for (const auto& item : model->named_parameters()) {
      if (item.value().dim() == 1) keyed_uniform_(item.value(), 1, Rng(2, Stream::kTest, ++number));
    }
    model->use({.graph = graph_.get()});
    model->eval();
    for (std::size_t first = 0; first < kEvents.size(); first += kBatch) {
      model->observe(EventBatch{src_, dst_, time_, ids_}.part(
          first, std::min(first + kBatch, kEvents.size())));
    }
    return model;
  }

  /// The model's answers about all nodes at kNow against the expected ones.
  template <class Expected>
  static void expect_embeddings(Model& model, const Expected& expected) {
    std::vector<NodeId> nodes;
    for (NodeId x = 0; x < kNodes; ++x) nodes.push_back(x);
    const std::vector<Timestamp> times(nodes.size(), kNow);
    const NoGradGuard no_grad;
    const Roots roots{nodes, times};
    const auto sample = model.sample(roots, kNow, Rng(3, Stream::kTest));
    const Tensor z = model.embed(roots, sample.get(), Rng(3, Stream::kTest)).to(at::kDouble);
    for (NodeId x : nodes) {
      EXPECT_TRUE(at::allclose(z[x], expected(x), 1e-4, 1e-5))
          << "node " << x << ": " << z[x] << expected(x);
    }
  }

  std::vector<NodeId> src_;
  std::vector<NodeId> dst_;
  std::vector<Timestamp> time_;
  std::vector<EventId> ids_;
  EventLog log_;
  std::unique_ptr<TemporalGraph> graph_;
  Tensor features_;
};

TEST_F(FormulaTest, Tgn) {
  const auto model = make("tgn", kNeighbors);
  const Formulas f(*model);
  const Remembered memory(f, /*gru=*/true);
  expect_embeddings(*model, [&](NodeId x) {
    std::vector<Met> past = met(x, -INFINITY, kNow);
    if (past.size() > kNeighbors) past.erase(past.begin(), past.end() - kNeighbors);
    std::vector<Tensor> states;
    std::vector<double> gaps;
    for (const Met& one : past) {
      states.push_back(memory.state(one.node));
      gaps.push_back(kNow - one.time);
    }
    if (past.empty()) gaps.push_back(0);  // times are encoded, though there are none
    return f.attention("attention", memory.state(x), states, gaps);
  });
}

TEST_F(FormulaTest, Jodie) {
  const auto model = make("jodie", kNeighbors);
  const Formulas f(*model);
  const Remembered memory(f, /*gru=*/false);
  const double span = std::log1p(time_.back() - time_.front());
  expect_embeddings(*model, [&](NodeId x) {
    const double wait = std::log1p(kNow - memory.known_until(x)) / span;
    return f.norm("norm", memory.state(x)) * (1 + f.weight("projection.weight").squeeze(1) * wait);
  });
}

TEST_F(FormulaTest, Dysat) {
  const auto model = make("dysat", /*neighbors=*/20);  // all of them: nothing is drawn
  const Formulas f(*model);
  expect_embeddings(*model, [&](NodeId x) {
    Tensor hidden = at::zeros({kWidth}, at::kDouble);
    for (const auto& [from, until] : {std::pair{kNow - 12, kNow - 8}, std::pair{kNow - 8, kNow - 4},
                                      std::pair{kNow - 4, kNow}}) {
      const auto input = [&](NodeId node) {
        return f.linear("input", features_[node].to(at::kDouble));
      };
      const auto over_partners = [&](const std::string& layer, NodeId node, const auto& state_of) {
        std::vector<Tensor> states;
        for (const Met& one : met(node, from, until)) states.push_back(state_of(one.node));
        return f.attention(layer, state_of(node), states, {});
      };
      const auto first = [&](NodeId node) { return over_partners("first", node, input); };
      const auto [in, old] = f.cell("combine", 0, over_partners("second", x, first), hidden);
      hidden = at::tanh(in + old);
    }
    return hidden;
  });
}

}  // namespace
}  // namespace curnm
