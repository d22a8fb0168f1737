#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "support/mining.h"
#include "support/random_log.h"

// One batch of CurNM with hand-made embeddings, and its expected result.

namespace curnm::testing {

inline constexpr std::int64_t kPool = 8;  // M

/// Options as the test changes them; half of the pool is selected and the cache is on.
template <class Change>
CurnmOptions half_selected(const Change& change, Corruption corrupt = Corruption::kDestination) {
  CurnmOptions options{.pi_strategy = PiStrategy::kConstant, .pi = 0.5, .corrupt = corrupt};
  change(options);
  return options;
}
inline CurnmOptions half_selected() {
  return half_selected([](CurnmOptions&) {});
}

/// Bipartite and one event per time: each (node, time) of a batch has one role only, so that its
/// embedding's gradient shows how it was used.
inline EventLog distinct_log(std::uint64_t seed = 1) {
  return random_log(seed, {.nodes = 50, .events = 120, .distinct_times = 120, .bipartite = true});
}

/// A batch with hand-made embeddings, and the result of a miner.
class Scene {
 public:
  static constexpr std::int64_t kBegin = 80;
  static constexpr std::int64_t kSize = 12;  // B

  Scene(const MiningNetwork& network, const CurnmOptions& options, Path how = Path::kFast,
        std::string_view decoding = "additive")
      : batch(network.batch(kBegin, kBegin + kSize)), path(how) {
    MinerContext context = network.context();
    context.path = how;
    miner = make_miner("curnm", options, context);
    decoder = make_decoder(decoding, decoders().at(decoding).defaults,
                           {.width = kMiningWidth, .seed = 1, .path = how});
    for (const Tensor& parameter : decoder->parameters()) {
      if (parameter.dim() == 1) keyed_uniform_(parameter, 0.5, Rng(2, Stream::kTest));
    }
    // Biases start at zero, which would hide mistakes with them.
    for (const auto& item : miner->named_parameters()) {
      if (item.key().find("bias") == std::string::npos) continue;
      keyed_uniform_(item.value(), 0.5, Rng(3, Stream::kTest));
    }
    miner->begin_epoch(0);
    candidates = miner->propose(batch, Rng(4, Stream::kTest));
    links = std::make_unique<Links>(batch, candidates);
    z = at::empty({links->roots().size(), kMiningWidth});
    keyed_uniform_(z, 1, Rng(5, Stream::kTest));
    z.requires_grad_(true);
  }

  Mined mine() { return miner->mine(batch, candidates, {*links, z, path}, *decoder); }

  /// The embedding row of a (node, time), by linear search.
  std::int64_t row(NodeId node, Timestamp t) const {
    const Roots asked = links->roots();
    for (std::size_t r = 0; r < asked.nodes.size(); ++r) {
      if (asked.nodes[r] == node && asked.times[r] == t) return static_cast<std::int64_t>(r);
    }
    ADD_FAILURE() << "nobody asked about " << node << " at " << t;
    return 0;
  }
  NodeId node(std::int64_t i, std::int64_t j) const {
    return candidates.nodes[static_cast<std::size_t>(i * kPool + j)];
  }
  Timestamp time(std::int64_t i) const { return batch.time[static_cast<std::size_t>(i)]; }
  std::int64_t row_of_source(std::int64_t i) const {
    return row(batch.src[static_cast<std::size_t>(i)], time(i));
  }
  std::int64_t row_of_destination(std::int64_t i) const {
    return row(batch.dst[static_cast<std::size_t>(i)], time(i));
  }
  std::int64_t row_of(std::int64_t i, std::int64_t j) const { return row(node(i, j), time(i)); }

  /// The candidates of each positive that `mine` learns from: those whose embeddings get a
  /// gradient. REQUIRES: neither random negatives nor a contrastive loss.
  std::vector<std::set<std::int64_t>> selected() {
    z.mutable_grad() = Tensor();
    mine().loss.backward();
    std::vector<std::set<std::int64_t>> chosen(static_cast<std::size_t>(batch.size()));
    for (std::int64_t i = 0; i < batch.size(); ++i) {
      for (std::int64_t j = 0; j < kPool; ++j) {
        if (z.grad()[row_of(i, j)].abs().sum().item<float>() > 0) {
          chosen[static_cast<std::size_t>(i)].insert(j);
        }
      }
    }
    return chosen;
  }

  EventBatch batch;
  Path path;
  std::shared_ptr<Decoder> decoder;
  std::shared_ptr<NegativeMiner> miner;
  Candidates candidates;
  std::unique_ptr<Links> links;
  Tensor z;  // [R,D]
};

/// Only selected negatives enter the loss, so that gradients show what was selected.
inline CurnmOptions only_selection(Selection select,
                                   FactorScores closeness = FactorScores::kLogits) {
  return half_selected([&](CurnmOptions& o) {
    o.select = select;
    o.closeness = closeness;
    o.ablate = Ablation::kRandom;
    o.lambda = 0;
  });
}

using Vector = std::vector<double>;

/// CurNM's loss of a batch by plain loops over positives and candidates, in double. Does not depend
/// on the layout of embeddings: it looks them up by node and time.
class NaiveCurnm {
 public:
  NaiveCurnm(Scene& scene, const MiningNetwork& network, double beta,
             FactorScores kind = FactorScores::kLogits)
      : scene_(scene), network_(network), beta_(beta), kind_(kind), positives_(scene.batch.size()) {
    for (const auto& item : scene.miner->named_parameters()) add(item);
    for (const auto& item : scene.decoder->named_parameters()) add(item);
    std::vector<Vector> now;
    std::vector<Vector> past;
    for (std::int64_t i = 0; i < positives_; ++i) {
      now.push_back(time2vec(scene.time(i)));
      for (std::int64_t j = 0; j < kPool; ++j) {
        Vector sum = time2vec(scene.candidates.met[at(i, j)]);
        const Vector seen = time2vec(scene.candidates.seen[at(i, j)]);
        for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += seen[d];
        past.push_back(sum);
      }
    }
    normalise(now);
    normalise(past);
    for (std::int64_t i = 0; i < positives_; ++i) add_logits(i, now, past);
  }

  double logit(std::int64_t i, std::int64_t j) const { return logits_[at(i, j)]; }

  double closeness(std::int64_t i, std::int64_t j) const {
    const Scores& s = factors_[at(i, j)];
    const auto score = [&](double x) { return kind_ == FactorScores::kLogits ? x : sigmoid(x); };
    return -beta_ * std::abs(score(s.positive_r) - score(s.negative_r)) -
           (2 - beta_) * std::abs(score(s.positive_ir) - score(s.negative_ir));
  }

  /// Positions of the n highest of a score over the whole batch.
  template <class Score>
  std::set<std::size_t> highest(std::size_t n, const Score& score) const {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::int64_t i = 0; i < positives_; ++i) {
      for (std::int64_t j = 0; j < kPool; ++j) order.push_back({-score(i, j), at(i, j)});
    }
    std::sort(order.begin(), order.end());
    std::set<std::size_t> chosen;
    for (std::size_t k = 0; k < n; ++k) chosen.insert(order[k].second);
    return chosen;
  }

  std::map<std::string, double> losses(const std::set<std::size_t>& chosen,
                                       Contrast contrast) const {
    std::map<std::string, double> sums;
    for (double logit : positive_logits_) sums["positive"] += softplus(-logit) / positives();
    const auto size = static_cast<double>(chosen.size());
    for (std::size_t slot : chosen) {
      sums["selected"] += softplus(logits_[slot]) / size;
      sums["contrastive"] += contrastive(factors_[slot], contrast == Contrast::kRaw) / size;
    }
    const ExtraPairs& extra = scene_.candidates.extra;
    for (std::size_t x = 0; x < extra.rows.size(); ++x) {
      const Timestamp t = scene_.time(extra.rows[x]);
      const double random =
          link(row(scene_.row(extra.src[x], t)), row(scene_.row(extra.dst[x], t)));
      sums["random"] += softplus(random) / static_cast<double>(extra.size());
    }
    return sums;
  }

 private:
  struct Scores {
    double positive_r;
    double positive_ir;
    double negative_r;
    double negative_ir;
  };
  struct Matrix {
    Vector values;
    std::size_t columns;
    double operator()(std::size_t i, std::size_t j) const { return values[i * columns + j]; }
  };

  static std::size_t at(std::int64_t i, std::int64_t j) {
    return static_cast<std::size_t>(i * kPool + j);
  }
  static double softplus(double x) { return std::log1p(std::exp(x)); }
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
  double positives() const { return static_cast<double>(positives_); }

  void add(const NamedTensors::Item& item) {
    const Tensor values = item.value().detach().to(at::kDouble).contiguous();
    weights_[item.key()] = {{values.data_ptr<double>(), values.data_ptr<double>() + values.numel()},
                            static_cast<std::size_t>(values.size(-1))};
  }
  const Matrix& weight(const std::string& name) const { return weights_.at(name); }

  Vector row(std::int64_t r) const {
    Vector values;
    for (std::int64_t d = 0; d < kMiningWidth; ++d) {
      values.push_back(scene_.z[r][d].item<double>());
    }
    return values;
  }

  Vector time2vec(Timestamp t) const {
    const double first = network_.log.time.front();
    const double fraction = t == kNever ? 0 : (t - first) / (network_.log.time.back() - first);
    const Matrix& frequency = weight("factors.time2vec.frequency");
    const Matrix& out = weight("factors.time2vec.out.weight");
    Vector encoded = weight("factors.time2vec.out.bias").values;
    for (std::size_t i = 0; i < frequency.values.size(); ++i) {
      const double angle = frequency.values[i] * fraction;
      for (std::size_t d = 0; d < encoded.size(); ++d) {
        encoded[d] += out(d, i) * (i == 0 ? angle : std::sin(angle));
      }
    }
    return encoded;
  }

  static void normalise(std::vector<Vector>& x) {
    double count = 0;
    double sum = 0;
    for (const Vector& values : x) {
      for (double value : values) sum += value, ++count;
    }
    double squares = 0;
    for (Vector& values : x) {
      for (double& value : values) value -= sum / count, squares += value * value;
    }
    for (Vector& values : x) {
      for (double& value : values) value = value / std::sqrt(squares / count) + 1;
    }
  }

  Vector relevant(const std::string& gate, const Vector& context, const Vector& h,
                  const Vector& temporal) const {
    const Matrix& of_context = weight("factors." + gate + ".context.weight");
    const Matrix& of_own = weight("factors." + gate + ".own.weight");
    Vector result = weight("factors." + gate + ".own.bias").values;
    for (std::size_t d = 0; d < h.size(); ++d) {
      for (std::size_t k = 0; k < h.size(); ++k) {
        result[d] += of_context(d, k) * context[k] + of_own(d, k) * h[k];
      }
      result[d] = h[d] * sigmoid(result[d]) * temporal[d];
    }
    return result;
  }

  double link(const Vector& h_u, const Vector& h_v) const {
    double logit = weight("out.bias").values[0];
    for (std::size_t d = 0; d < h_u.size(); ++d) {
      double hidden = weight("source.bias").values[d] + weight("destination.bias").values[d];
      for (std::size_t k = 0; k < h_u.size(); ++k) {
        hidden +=
            weight("source.weight")(d, k) * h_u[k] + weight("destination.weight")(d, k) * h_v[k];
      }
      logit += weight("out.weight")(0, d) * std::max(hidden, 0.0);
    }
    return logit;
  }

  static Vector difference(Vector a, const Vector& b) {
    for (std::size_t d = 0; d < a.size(); ++d) a[d] -= b[d];
    return a;
  }

  void add_logits(std::int64_t i, const std::vector<Vector>& now, const std::vector<Vector>& past) {
    const Vector h_u = row(scene_.row_of_source(i));
    const Vector h_v = row(scene_.row_of_destination(i));
    const Vector positive_r = relevant("positive_gate", h_u, h_v, now[static_cast<std::size_t>(i)]);
    positive_logits_.push_back(link(h_u, h_v));
    for (std::int64_t j = 0; j < kPool; ++j) {
      const Vector h = row(scene_.row_of(i, j));
      const Vector negative_r = relevant("negative_gate", positive_r, h, past[at(i, j)]);
      logits_.push_back(link(h_u, h));
      factors_.push_back({link(h_u, positive_r), link(h_u, difference(h_v, positive_r)),
                          link(h_u, negative_r), link(h_u, difference(h, negative_r))});
    }
  }

  static double contrastive(const Scores& logits, bool raw) {
    const auto score = [&](double x) { return raw ? sigmoid(x) : x; };
    const double positive_r = score(logits.positive_r);
    const double positive_ir = score(logits.positive_ir);
    const double negative_r = score(logits.negative_r);
    const double negative_ir = score(logits.negative_ir);
    double sum = 0;
    for (const double d : {positive_r - positive_ir, positive_r - negative_r,
                           negative_ir - negative_r, negative_ir - positive_ir}) {
      sum += raw ? -d : softplus(-d) / 4;
    }
    return sum;
  }

  Scene& scene_;
  const MiningNetwork& network_;
  double beta_;
  FactorScores kind_;
  std::int64_t positives_;
  std::map<std::string, Matrix> weights_;
  Vector positive_logits_;       // [B]
  Vector logits_;                // [B·M]
  std::vector<Scores> factors_;  // [B·M]
};

}  // namespace curnm::testing
