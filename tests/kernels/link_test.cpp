#include "curnm/kernels/link.h"

#include <gtest/gtest.h>

#include "support/arrays.h"

namespace curnm::kernels {
namespace {

using testing::Arrays;
using testing::ArraySource;
using testing::as_doubles;
using testing::Doubles;
using testing::expect_arrays;

constexpr std::int64_t kSources = 11;
constexpr std::int64_t kDestinations = 17;
constexpr float kBias = 0.25F;

/// Links between random rows. Some gradients are 0, as those of candidates that were not selected.
struct Links {
  Links(std::int64_t num_links, std::int64_t row_width, ArraySource& random)
      : links(num_links),
        width(row_width),
        source_of(random.rows(links, kSources)),
        destination_of(random.rows(links, kDestinations)),
        sources(random.floats(kSources * width)),
        destinations(random.floats(kDestinations * width)),
        weight(random.floats(width)),
        dlogits(random.floats(links)) {
    for (std::size_t i = 0; i < dlogits.size(); i += 3) dlogits[i] = 0;
  }

  LinkInput input() const {
    return {.width = width,
            .num_sources = kSources,
            .num_destinations = kDestinations,
            .source_of = source_of,
            .destination_of = destination_of,
            .sources = sources.data(),
            .destinations = destinations.data(),
            .weight = weight.data()};
  }
  std::size_t source_at(std::int64_t link, std::int64_t d) const {
    return index(source_of[index(link)] * width + d);
  }
  std::size_t destination_at(std::int64_t link, std::int64_t d) const {
    return index(destination_of[index(link)] * width + d);
  }

  std::int64_t links;
  std::int64_t width;
  std::vector<std::int64_t> source_of;
  std::vector<std::int64_t> destination_of;
  std::vector<float> sources;
  std::vector<float> destinations;
  std::vector<float> weight;
  std::vector<float> dlogits;
};

double relu_product(double x, double w) { return x < 0 ? 0 : x * w; }  // NaN stays NaN

TEST(LinkTest, Logits) {
  testing::for_each_shape([](std::int64_t links, std::int64_t width, ArraySource& source) {
    const Links scene(links, width, source);
    Doubles logits(index(links), kBias);
    Doubles dsources(scene.sources.size(), 0);
    Doubles ddestinations(scene.destinations.size(), 0);
    Doubles dweight(scene.weight.size(), 0);
    for (std::int64_t i = 0; i < links; ++i) {
      const double g = scene.dlogits[index(i)];
      for (std::int64_t d = 0; d < width; ++d) {
        const double w = scene.weight[index(d)];
        const double x = static_cast<double>(scene.sources[scene.source_at(i, d)]) +
                         scene.destinations[scene.destination_at(i, d)];
        logits[index(i)] += relu_product(x, w);
        if (g == 0 || !(x > 0)) continue;
        dsources[scene.source_at(i, d)] += g * w;
        ddestinations[scene.destination_at(i, d)] += g * w;
        dweight[index(d)] += g * x;
      }
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> result(logits.size());
      std::vector<float> to_sources(dsources.size(), -7);
      std::vector<float> to_destinations(ddestinations.size(), -7);
      std::vector<float> to_weight(dweight.size(), -7);
      link_logits(scene.input(), kBias, result.data());
      link_logits_backward(scene.input(), scene.dlogits.data(), {});  // nothing is wanted
      link_logits_backward(scene.input(), scene.dlogits.data(),
                           {.sources = to_sources.data(),
                            .destinations = to_destinations.data(),
                            .weight = to_weight.data()});
      return {as_doubles(result), as_doubles(to_sources), as_doubles(to_destinations),
              as_doubles(to_weight)};
    };
    expect_arrays(compute, {logits, dsources, ddestinations, dweight});
  });
}

TEST(LinkTest, SplitLogits) {
  testing::for_each_shape([](std::int64_t links, std::int64_t width, ArraySource& source) {
    const Links scene(links, width, source);
    const std::vector<float> parts = source.floats(links * width);
    const std::vector<float> rest_bias = source.floats(width);
    const std::vector<float> drests = source.floats(links);
    const SplitInput input{
        .link = scene.input(), .parts = parts.data(), .rest_bias = rest_bias.data()};
    Doubles of_parts(index(links), kBias);
    Doubles of_rests(index(links), kBias);
    Doubles dsources(scene.sources.size(), 0);
    Doubles dwholes(scene.destinations.size(), 0);
    Doubles dweight(scene.weight.size(), 0);
    Doubles dparts(parts.size());
    Doubles drest_bias(rest_bias.size(), 0);
    for (std::int64_t i = 0; i < links; ++i) {
      for (std::int64_t d = 0; d < width; ++d) {
        const std::size_t at = index(i * width + d);
        const double s = scene.sources[scene.source_at(i, d)];
        const double w = scene.weight[index(d)];
        const double x = s + parts[at];
        const double y =
            s + scene.destinations[scene.destination_at(i, d)] - parts[at] + rest_bias[index(d)];
        of_parts[index(i)] += relu_product(x, w);
        of_rests[index(i)] += relu_product(y, w);
        const double gx = x > 0 ? scene.dlogits[index(i)] : 0;
        const double gy = y > 0 ? drests[index(i)] : 0;
        dwholes[scene.destination_at(i, d)] += gy * w;
        dparts[at] = gx * w - gy * w;
        dsources[scene.source_at(i, d)] += dparts[at] + 2 * gy * w;
        drest_bias[index(d)] += gy * w;
        dweight[index(d)] += gx * x + gy * y;
      }
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> part_logits(of_parts.size());
      std::vector<float> rest_logits(of_rests.size());
      std::vector<float> to_sources(dsources.size(), -7);
      std::vector<float> to_wholes(dwholes.size(), -7);
      std::vector<float> to_weight(dweight.size(), -7);
      std::vector<float> to_parts(dparts.size(), -7);
      std::vector<float> to_rest_bias(drest_bias.size(), -7);
      split_logits(input, kBias, part_logits.data(), rest_logits.data());
      split_logits_backward(input, scene.dlogits.data(), drests.data(),
                            {.link = {.sources = to_sources.data(),
                                      .destinations = to_wholes.data(),
                                      .weight = to_weight.data()},
                             .parts = to_parts.data(),
                             .rest_bias = to_rest_bias.data()});
      return {as_doubles(part_logits), as_doubles(rest_logits), as_doubles(to_sources),
              as_doubles(to_wholes),   as_doubles(to_weight),   as_doubles(to_parts),
              as_doubles(to_rest_bias)};
    };
    expect_arrays(compute, {of_parts, of_rests, dsources, dwholes, dweight, dparts, drest_bias});
  });
}

}  // namespace
}  // namespace curnm::kernels
