#include "curnm/kernels/attention.h"

#include <gtest/gtest.h>

#include "support/arrays.h"

namespace curnm::kernels {
namespace {

using testing::Arrays;
using testing::ArraySource;
using testing::as_doubles;
using testing::Doubles;
using testing::expect_arrays;

constexpr std::int64_t kQueries = 13;
constexpr std::int64_t kStates = 29;
constexpr std::int64_t kFeatures = 7;

struct AttentionCase {
  const char* name;
  std::int64_t heads;
  std::int64_t neighbors;
  std::int64_t head_width;
  std::int64_t time_width;
  std::int64_t edge_width;
  bool masked;
};

/// Random neighbourhoods: some roots have no neighbours, some have all K, and not all are computed.
struct Scene {
  Scene(const AttentionCase& c, std::int64_t num_roots, ArraySource& source)
      : heads(c.heads),
        neighbors(c.neighbors),
        head_width(c.head_width),
        width(c.heads * c.head_width),
        time_width(c.time_width),
        edge_width(c.edge_width),
        masked(c.masked),
        all_roots(num_roots + 2),
        roots(source.permutation(all_roots)),
        queries(source.rows(all_roots, kQueries)),
        rows(source.rows(all_roots * neighbors, kStates)),
        features(source.rows(edge_width > 0 ? all_roots * neighbors : 0, kFeatures)),
        q(source.floats(kQueries * width)),
        qt(source.floats(kQueries * heads * time_width)),
        qe(source.floats(kQueries * heads * edge_width)),
        kv(source.floats(kStates * 2 * width)),
        phi(source.floats(all_roots * neighbors * time_width)),
        edges(source.floats(kFeatures * edge_width)),
        mask(source.floats(all_roots * neighbors * heads)) {
    roots.resize(index(num_roots));
    for (const std::int64_t count : source.rows(all_roots, neighbors + 1)) {
      counts.push_back(static_cast<std::int32_t>(count));
    }
  }

  AttentionInput input() const {
    return {.heads = heads,
            .neighbors = neighbors,
            .width = width,
            .time_width = time_width,
            .edge_width = edge_width,
            .roots = roots,
            .queries = queries,
            .counts = counts,
            .rows = rows,
            .features = features,
            .q = q.data(),
            .qt = qt.data(),
            .qe = qe.data(),
            .kv = kv.data(),
            .phi = phi.data(),
            .edges = edges.data(),
            .mask = masked ? mask.data() : nullptr};
  }
  std::int64_t size() const { return std::ssize(roots); }
  std::int64_t count(std::int64_t a) const { return counts[index(roots[index(a)])]; }
  std::size_t weight_at(std::int64_t a, std::int64_t j, std::int64_t h) const {
    return index((a * neighbors + j) * heads + h);
  }

  /// Calls term(query, key, value, sum) with positions of every product that the score of slot j of
  /// root a and head h consists of, kind by kind: nodes, times, features.
  template <class Nodes, class Times, class Edges>
  void for_each_term(std::int64_t a, std::int64_t j, std::int64_t h, const Nodes& nodes,
                     const Times& times, const Edges& features_term) const {
    const std::int64_t r = roots[index(a)];
    const std::int64_t query = queries[index(r)];
    const std::int64_t slot = r * neighbors + j;
    for (std::int64_t d = h * head_width; d < (h + 1) * head_width; ++d) {
      const std::int64_t key = rows[index(slot)] * 2 * width + d;
      nodes(index(query * width + d), index(key), index(key + width), index(a * width + d));
    }
    for (std::int64_t t = 0; t < time_width; ++t) {
      times(index((query * heads + h) * time_width + t), index(slot * time_width + t),
            index((a * heads + h) * time_width + t));
    }
    for (std::int64_t f = 0; f < edge_width; ++f) {
      features_term(index((query * heads + h) * edge_width + f),
                    index(features[index(slot)] * edge_width + f),
                    index((a * heads + h) * edge_width + f));
    }
  }
  double factor(std::int64_t a, std::int64_t j, std::int64_t h) const {
    return masked ? mask[weight_at(roots[index(a)], j, h)] : 1;
  }

  std::int64_t heads;
  std::int64_t neighbors;
  std::int64_t head_width;
  std::int64_t width;
  std::int64_t time_width;
  std::int64_t edge_width;
  bool masked;
  std::int64_t all_roots;
  std::vector<std::int64_t> roots;
  std::vector<std::int64_t> queries;
  std::vector<std::int32_t> counts;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> features;
  std::vector<float> q;
  std::vector<float> qt;
  std::vector<float> qe;
  std::vector<float> kv;
  std::vector<float> phi;
  std::vector<float> edges;
  std::vector<float> mask;
};

Arrays naive_attend(const Scene& s) {
  Doubles weights(index(s.size() * s.neighbors * s.heads), 0);
  Doubles values(index(s.size() * s.width), 0);
  Doubles times(index(s.size() * s.heads * s.time_width), 0);
  Doubles edges(index(s.size() * s.heads * s.edge_width), 0);
  const double scale = 1 / std::sqrt(static_cast<double>(s.head_width));
  for (std::int64_t a = 0; a < s.size(); ++a) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      double largest = -INFINITY;
      for (std::int64_t j = 0; j < s.count(a); ++j) {
        double score = 0;
        const auto add = [&](double x, double y) { score += x * y; };
        s.for_each_term(
            a, j, h,
            [&](std::size_t q, std::size_t k, std::size_t, std::size_t) { add(s.q[q], s.kv[k]); },
            [&](std::size_t q, std::size_t k, std::size_t) { add(s.qt[q], s.phi[k]); },
            [&](std::size_t q, std::size_t k, std::size_t) { add(s.qe[q], s.edges[k]); });
        weights[s.weight_at(a, j, h)] = score * scale;
        largest = std::max(largest, score * scale);
      }
      double sum = 0;
      for (std::int64_t j = 0; j < s.count(a); ++j) {
        double& weight = weights[s.weight_at(a, j, h)];
        weight = std::exp(weight - largest);
        sum += weight;
      }
      for (std::int64_t j = 0; j < s.count(a); ++j) {
        double& weight = weights[s.weight_at(a, j, h)];
        weight /= sum;
        const double kept = weight * s.factor(a, j, h);
        s.for_each_term(
            a, j, h,
            [&](std::size_t, std::size_t, std::size_t v, std::size_t to) {
              values[to] += kept * s.kv[v];
            },
            [&](std::size_t, std::size_t k, std::size_t to) { times[to] += kept * s.phi[k]; },
            [&](std::size_t, std::size_t k, std::size_t to) { edges[to] += kept * s.edges[k]; });
      }
    }
  }
  return {weights, values, times, edges};
}

/// What arrives from above, for the roots of a scene in order.
struct Incoming {
  Incoming(const Scene& s, ArraySource& source)
      : computed(source.permutation(s.size())),
        weights(source.floats(s.size() * s.neighbors * s.heads)),
        values(source.floats(s.size() * s.width)),
        times(source.floats(s.size() * s.heads * s.time_width)),
        edges(source.floats(s.size() * s.heads * s.edge_width)) {}

  AttentionIncoming input() const {
    return {.computed = computed,
            .weights = weights.data(),
            .values = values.data(),
            .times = times.data(),
            .edges = edges.data()};
  }

  std::vector<std::int64_t> computed;
  std::vector<float> weights;
  std::vector<float> values;
  std::vector<float> times;
  std::vector<float> edges;
};

Arrays naive_backward(const Scene& s, const Incoming& in) {
  Doubles dq(s.q.size(), 0);
  Doubles dqt(s.qt.size(), 0);
  Doubles dqe(s.qe.size(), 0);
  Doubles dkv(s.kv.size(), 0);
  const double scale = 1 / std::sqrt(static_cast<double>(s.head_width));
  for (std::int64_t a = 0; a < s.size(); ++a) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const auto weight = [&](std::int64_t j) -> double {
        return in.weights[s.weight_at(in.computed[index(a)], j, h)];
      };
      Doubles dweights;
      double mean = 0;
      for (std::int64_t j = 0; j < s.count(a); ++j) {
        double gradient = 0;
        const auto add = [&](double x, double y) { gradient += x * y; };
        s.for_each_term(
            a, j, h,
            [&](std::size_t, std::size_t, std::size_t v, std::size_t to) {
              add(in.values[to], s.kv[v]);
            },
            [&](std::size_t, std::size_t k, std::size_t to) { add(in.times[to], s.phi[k]); },
            [&](std::size_t, std::size_t k, std::size_t to) { add(in.edges[to], s.edges[k]); });
        dweights.push_back(gradient * s.factor(a, j, h));
        mean += weight(j) * dweights.back();
      }
      for (std::int64_t j = 0; j < s.count(a); ++j) {
        const double dscore = weight(j) * (dweights[index(j)] - mean) * scale;
        const double kept = weight(j) * s.factor(a, j, h);
        s.for_each_term(
            a, j, h,
            [&](std::size_t q, std::size_t k, std::size_t v, std::size_t to) {
              dq[q] += dscore * s.kv[k];
              dkv[k] += dscore * s.q[q];
              dkv[v] += kept * in.values[to];
            },
            [&](std::size_t q, std::size_t k, std::size_t) { dqt[q] += dscore * s.phi[k]; },
            [&](std::size_t q, std::size_t k, std::size_t) { dqe[q] += dscore * s.edges[k]; });
      }
    }
  }
  return {dq, dqt, dqe, dkv};
}

class AttentionTest : public ::testing::TestWithParam<AttentionCase> {
 protected:
  template <class Test>
  static void for_each_scene(const Test& test) {
    for (const auto values : {ArraySource::Values::kOrdinary, ArraySource::Values::kNotFinite}) {
      for (const std::int64_t roots : {0, 1, 5, 150}) {
        SCOPED_TRACE(roots);
        ArraySource source(static_cast<std::uint64_t>(roots), values);
        const Scene scene(GetParam(), roots, source);
        test(scene, source);
      }
    }
  }
};

TEST_P(AttentionTest, Forward) {
  for_each_scene([](const Scene& scene, ArraySource&) {
    const Arrays naive = naive_attend(scene);
    const auto compute = [&]() -> Arrays {
      std::vector<float> weights(naive[0].size(), -7);
      std::vector<float> values(naive[1].size(), -7);
      std::vector<float> times(naive[2].size(), -7);
      std::vector<float> edges(naive[3].size(), -7);
      attend(scene.input(), {.weights = weights.data(),
                             .values = values.data(),
                             .times = times.data(),
                             .edges = edges.data()});
      return {as_doubles(weights), as_doubles(values), as_doubles(times), as_doubles(edges)};
    };
    expect_arrays(compute, naive);
  });
}

TEST_P(AttentionTest, Backward) {
  for_each_scene([](const Scene& scene, ArraySource& source) {
    const Incoming incoming(scene, source);
    const auto compute = [&]() -> Arrays {
      std::vector<float> q(scene.q.size(), -7);
      std::vector<float> qt(scene.qt.size(), -7);
      std::vector<float> qe(scene.qe.size(), -7);
      std::vector<float> kv(scene.kv.size(), -7);
      attend_backward(scene.input(), incoming.input(),
                      {.num_queries = kQueries,
                       .num_rows = kStates,
                       .q = q.data(),
                       .qt = qt.data(),
                       .qe = qe.data(),
                       .kv = kv.data()});
      return {as_doubles(q), as_doubles(qt), as_doubles(qe), as_doubles(kv)};
    };
    expect_arrays(compute, naive_backward(scene, incoming));
  });
}

INSTANTIATE_TEST_SUITE_P(All, AttentionTest,
                         ::testing::Values(AttentionCase{"usual", 2, 5, 6, 10, 0, true},
                                           AttentionCase{"features", 3, 4, 4, 6, 5, true},
                                           AttentionCase{"untimed", 2, 3, 8, 0, 0, false},
                                           AttentionCase{"features_untimed", 1, 3, 16, 0, 3, false},
                                           AttentionCase{"odd", 3, 7, 7, 13, 1, true},
                                           AttentionCase{"wide", 2, 10, 37, 33, 17, false},
                                           AttentionCase{"one_of_all", 1, 1, 1, 1, 1, false}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace curnm::kernels
