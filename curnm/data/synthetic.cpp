#include "curnm/data/synthetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "curnm/base/error.h"
#include "curnm/base/rng.h"

namespace curnm {
namespace {

constexpr std::array<SyntheticPreset, 3> kPresets = {{
    {"drift",
     "preferences move between communities (positive shift)",
     {.communities = 8, .edge_features = 8}},
    {"repeat",
     "sources mostly repeat their last partner (high recency)",
     {.drift = 1, .repeat = 0.8}},
    {"sparse",
     "few events per node (positive sparsity)",
     {.nodes = 6000, .events = 20000, .communities = 40, .drift = 2}},
}};

// Substreams of the synthetic stream.
constexpr std::uint64_t kEventDraws = 0;
constexpr std::uint64_t kSourceDraws = 1;
constexpr std::uint64_t kTimeDraws = 2;

// Exponents above 1 make low numbers likelier: some nodes are busier than others.
constexpr double kSourceSkew = 1.6;
constexpr double kDestinationSkew = 1.4;

std::int64_t skewed(Rng& rng, std::int64_t n, double exponent) {
  const double position = std::pow(rng.uniform(), exponent) * static_cast<double>(n);
  return std::min(static_cast<std::int64_t>(position), n - 1);
}

/// Ascending: equal steps, or uniformly random whole seconds.
std::vector<Timestamp> event_times(const SyntheticOptions& options) {
  std::vector<Timestamp> times(static_cast<std::size_t>(options.events));
  if (options.distinct_times > 0) {
    for (std::size_t e = 0; e < times.size(); ++e) {
      const auto step = static_cast<std::int64_t>(static_cast<Wide>(e) *
                                                  static_cast<Wide>(options.distinct_times) /
                                                  static_cast<Wide>(options.events));
      times[e] =
          options.span * static_cast<double>(step) / static_cast<double>(options.distinct_times);
    }
    return times;
  }
  // Exponential gaps, scaled to the span: sorted uniform times without a sort.
  Rng rng(options.seed, Stream::kSynthetic, kTimeDraws);
  double clock = 0;
  for (Timestamp& time : times) time = clock -= std::log1p(-rng.uniform());
  const double last = clock - std::log1p(-rng.uniform());
  for (Timestamp& time : times) time = std::floor(time / last * options.span);
  return times;
}

std::int32_t preferred(const SyntheticOptions& options, NodeId source, double progress) {
  Rng rng(options.seed, Stream::kSynthetic, kSourceDraws, static_cast<std::uint64_t>(source));
  const auto home = rng.below(static_cast<std::uint64_t>(options.communities));
  const double moves = options.drift * progress + rng.uniform();
  return static_cast<std::int32_t>((home + static_cast<std::uint64_t>(moves)) %
                                   static_cast<std::uint64_t>(options.communities));
}

/// Destinations are assigned to communities round-robin: d belongs to community d mod C.
struct Destinations {
  NodeId first;  // of the destinations among the nodes
  std::int64_t count;
  std::int64_t communities;

  std::int32_t community(NodeId node) const {
    return node < first ? -1 : static_cast<std::int32_t>((node - first) % communities);
  }
  NodeId draw(std::int32_t community, Rng& rng) const {
    const std::int64_t members = (count - community + communities - 1) / communities;
    return static_cast<NodeId>(first + community +
                               communities * skewed(rng, members, kDestinationSkew));
  }
};

struct Layout {
  NodeId sources;
  Destinations destinations;
};

Layout layout_of(const SyntheticOptions& options) {
  const auto sources = static_cast<NodeId>(
      std::clamp<double>(options.source_share * static_cast<double>(options.nodes), 1,
                         static_cast<double>(options.nodes - 2)));
  const NodeId first = options.one_mode ? 0 : sources;
  return {options.one_mode ? static_cast<NodeId>(options.nodes) : sources,
          {first, options.nodes - first, options.communities}};
}

}  // namespace

void SyntheticOptions::fields(const FieldVisitor& visit) {
  visit({.name = "nodes", .help = "number of nodes", .min = 4, .max = 2e9}, nodes);
  visit({.name = "events", .help = "number of events", .min = 1, .max = 1e11}, events);
  visit({.name = "communities", .help = "communities of destinations", .min = 1, .max = 1e6},
        communities);
  visit({.name = "drift",
         .help = "moves of a source between communities over the span",
         .min = 0,
         .max = 1e6},
        drift);
  visit({.name = "repeat", .help = "probability of repeating the last partner", .min = 0, .max = 1},
        repeat);
  visit({.name = "noise", .help = "probability of choosing any community", .min = 0, .max = 1},
        noise);
  visit({.name = "source-share",
         .help = "share of sources among the nodes (bipartite)",
         .min = 0.01,
         .max = 0.99,
         .idle = one_mode ? "--one-mode: all nodes are sources" : ""},
        source_share);
  visit({.name = "one-mode", .help = "every node is source and destination"}, one_mode);
  visit({.name = "span", .help = "seconds from first to last event", .min = 0, .max = 1e12}, span);
  visit({.name = "distinct-times",
         .help = "equal time steps (0: random seconds)",
         .min = 0,
         .max = 1e11},
        distinct_times);
  visit({.name = "edge-features",
         .help = "width of edge features, a noisy code of the community",
         .min = 0,
         .max = 4096},
        edge_features);
  visit({.name = "seed", .help = "seed of all draws", .min = 0}, seed);
}

std::span<const SyntheticPreset> synthetic_presets() { return kPresets; }

std::int32_t preferred_community(const SyntheticOptions& options, NodeId source, Timestamp t) {
  return preferred(options, source, options.span > 0 ? std::clamp(t / options.span, 0.0, 1.0) : 0);
}

Dataset generate(const SyntheticOptions& given, std::string_view name) {
  SyntheticOptions options = given;
  check_ranges(options);
  const auto [num_sources, destinations] = layout_of(options);
  if (options.communities > destinations.count) {
    throw UsageError(fmt::format("--communities {} exceeds the {} destinations",
                                 options.communities, destinations.count));
  }
  const auto events = static_cast<std::size_t>(options.events);
  const auto width = static_cast<std::size_t>(options.edge_features);
  std::vector<NodeId> src(events);
  std::vector<NodeId> dst(events);
  std::vector<Timestamp> time = event_times(options);
  std::vector<float> features(events * width);
  std::vector<NodeId> last_partner(static_cast<std::size_t>(num_sources), kNoNode);

  for (std::size_t e = 0; e < events; ++e) {
    Rng rng(options.seed, Stream::kSynthetic, kEventDraws, e);
    const auto u = static_cast<NodeId>(skewed(rng, num_sources, kSourceSkew));
    NodeId& last = last_partner[static_cast<std::size_t>(u)];
    NodeId v = last;
    if (last == kNoNode || rng.uniform() >= options.repeat) {
      const std::int32_t community = rng.uniform() < options.noise
                                         ? static_cast<std::int32_t>(rng.below(
                                               static_cast<std::uint64_t>(options.communities)))
                                         : preferred_community(options, u, time[e]);
      v = destinations.draw(community, rng);
      if (v == u) v = static_cast<NodeId>((v + 1) % options.nodes);  // one-mode: no self-loops
    }
    last = v;
    src[e] = u;
    dst[e] = v;
    const auto code = static_cast<std::size_t>(destinations.community(v));
    for (std::size_t f = 0; f < width; ++f) {
      features[e * width + f] =
          static_cast<float>((code % width == f ? 1.0 : 0.0) + 0.5 * (rng.uniform() - 0.5));
    }
  }

  std::vector<std::int32_t> communities(static_cast<std::size_t>(options.nodes));
  for (NodeId node = 0; node < options.nodes; ++node) {
    communities[static_cast<std::size_t>(node)] = destinations.community(node);
  }
  return {.name = std::string(name),
          .source = "generated " + to_json(options).dump(),
          .format = "synthetic",
          .events = {std::move(src), std::move(dst), std::move(time),
                     static_cast<NodeId>(options.nodes)},
          .edge_features = {std::move(features), options.edge_features},
          .communities = std::move(communities)};
}

}  // namespace curnm
