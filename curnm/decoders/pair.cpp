#include <array>

#include "curnm/decoders/decoder.h"
#include "curnm/graph/distinct_nodes.h"
#include "curnm/nn/fused.h"
#include "curnm/nn/linear.h"
#include "curnm/nn/statistics.h"
#include "curnm/sampling/walk_sketch.h"

namespace curnm {
namespace {

/// Whether the decoder sees a sketch of temporal walks: where a trial on the network says so, by
/// default.
enum class Walk { kOff, kOn, kAuto };
constexpr ChoiceNames<3> choice_names(Walk) { return {"off", "on", "auto"}; }

struct PairOptions {
  std::int64_t hidden = 100;
  Walk walk = Walk::kAuto;
  double walk_decay = 300;

  void fields(const FieldVisitor& visit) {
    visit({.name = "hidden", .help = "width of the pair decoder's layers", .min = 1, .max = 65536},
          hidden);
    visit(
        {.name = "walk",
         .help = "sketch of temporal walks, who went on to what; auto: if a short trial validates "
                 "better with it"},
        walk);
    visit({.name = "walk-decay",
           .help = "how fast walks are forgotten: e-foldings per step in the training period",
           .min = 0,
           .max = 1e6,
           .idle = walk == Walk::kOff ? "--walk off" : ""},
          walk_decay);
  }
  void complete(const RunFacts& facts) {
    if (walk == Walk::kAuto && facts.walks_help) {
      walk = facts.walks_help() ? Walk::kOn : Walk::kOff;
    }
  }
};

/// A decoder that sees the pair: out(ReLU(W_2 ReLU(W_s h_u + W_d h_v + W_p x_uv))), where x_uv are
/// the statistics of the pair (pair_statistics.h) and, if asked for, those of a sketch of temporal
/// walks (walk_sketch.h).
///
/// Of a destination that is split in two, either part meets the same x_uv: statistics belong to the
/// pair as a whole, and factors tell apart what of h_v matters to it.
class PairDecoder final : public Decoder {
 public:
  PairDecoder(const PairOptions& options, const DecoderContext& context)
      : Decoder(context),
        statistics_(register_module("statistics",
                                    std::make_shared<FittedStatistics>(kPairStatisticsWidth))),
        source_(map("source", context.width, options.hidden)),
        destination_(map("destination", context.width, options.hidden)),
        pair_(map("pair", kPairStatisticsWidth, options.hidden)),
        hidden_(map("hidden", options.hidden, options.hidden)),
        out_(map("out", options.hidden, context.outputs)),
        path_(context.path) {
    if (options.walk != Walk::kOn) return;  // without a trial, auto is off
    walk_ = map("walk", WalkSketch::kStatistics, options.hidden);
    const double span = context.training_span;
    sketch_ = std::make_unique<WalkSketch>(
        WalkSketch::Options{.num_nodes = context.num_nodes,
                            .decay = span > 0 ? options.walk_decay / span : 0,
                            .seed = context.seed});
  }

  void use(const Past& past) override { past_ = past; }
  void fit(const TypicalLinks& typical) override {
    statistics_->fit(AgeScale::of(typical.events.time.span()), [&](const AgeScale& ages) {
      return PairStatistics(past_, ages).of_pairs(typical.links);
    });
  }

  void observe(const EventBatch& batch) override {
    if (sketch_) sketch_->observe(batch);
  }
  void forget() override {
    if (sketch_) sketch_->forget();
  }
  std::vector<Tensor> state() const override {
    if (!sketch_) return {};
    return {to_tensor(sketch_->vectors, at::kCPU).view({std::ssize(sketch_->times), -1}),
            to_tensor(sketch_->times, at::kCPU), pending()};
  }
  std::int64_t state_size() const override { return sketch_ ? 3 : 0; }
  void set_state(const std::vector<Tensor>& state) override {
    if (!sketch_) return;
    check_saved(state.size() == 3 && state[2].numel() % 3 == 0, "a saved sketch is incomplete");
    copy_to(state[0], std::span(sketch_->vectors));
    copy_to(state[1], std::span(sketch_->times));
    set_pending(state[2]);
  }
  std::vector<Tensor> state_before(const EventBatch& batch) const override {
    if (!sketch_) return {};
    return sketch_rows(batch);
  }
  void undo(const std::vector<Tensor>& before) override {
    if (!sketch_) return;
    CURNM_ASSERT(before.size() == 4);
    const float* vectors = before[1].data_ptr<float>();
    for (std::int64_t i = 0; i < before[0].numel(); ++i) {
      const auto node = index(before[0].data_ptr<std::int64_t>()[i]);
      std::copy_n(vectors + index(i) * WalkSketch::kPerNode, WalkSketch::kPerNode,
                  sketch_->vectors.data() + node * WalkSketch::kPerNode);
      sketch_->times[node] = before[2].data_ptr<double>()[i];
    }
    set_pending(before[3]);
  }

  Tensor logits(const Links& links, const Tensor& z) const override {
    return logits_of(source_and_pair(links, z) + destinations(links, z));
  }

  std::vector<std::string> parts() const override {
    std::vector<std::string> names;
    for (const std::string_view group : kChoiceNames<StatisticGroup>) names.emplace_back(group);
    if (sketch_) names.emplace_back("walks");
    names.insert(names.end(), {"source", "destination"});
    return names;
  }

  /// The mean of a statistic is that of the training, which is 0 once standardised. All inputs go
  /// through linear maps before they meet, so the mean of a map's outputs is that of its inputs.
  LogitsAtMeans at_means(const Links& links, const Tensor& z, const Links& typical,
                         const Tensor& typical_z) const override {
    const Tensor x = statistics(links, z.options());
    const Tensor source = sources(links, z);
    const Tensor destination = destinations(links, z);
    const Tensor walk = sketch_ ? walks(links, z.options()) : at::zeros_like(source);
    const Tensor mean_source = sources(typical, typical_z).mean(0);
    const Tensor mean_destination = destinations(typical, typical_z).mean(0);
    const Tensor mean_walk =
        sketch_ ? walks(typical, typical_z.options()).mean(0) : at::zeros_like(mean_source);
    LogitsAtMeans found;
    for (std::size_t group = 0; group < kChoiceNames<StatisticGroup>.size(); ++group) {
      const Tensor at_mean = x.clone();
      for (std::int64_t i = 0; i < kPairStatisticsWidth; ++i) {
        if (kPairStatistics[index(i)].group == StatisticGroup(group)) at_mean.select(1, i).zero_();
      }
      found.parts.push_back(
          logits_of(source + linear(at_mean, *pair_, path_) + walk + destination));
    }
    const Tensor pair = linear(x, *pair_, path_);
    if (sketch_) found.parts.push_back(logits_of(source + pair + mean_walk + destination));
    found.parts.push_back(logits_of(mean_source + pair + walk + destination));
    found.parts.push_back(logits_of(source + pair + walk + mean_destination));
    const Tensor nothing = linear(at::zeros_like(x), *pair_, path_);
    found.all = logits_of(nothing + mean_source + mean_walk + mean_destination);
    return found;
  }

  SplitLogits split(const Links& links, const Tensor& z, const Tensor& parts) const override {
    const std::int64_t n = parts.size(0);
    const Tensor others = source_and_pair(links, z);
    const Tensor wholes = destinations(links, z);
    const Tensor part = linear(parts, *destination_, path_);
    const Tensor rest = wholes.narrow(0, 0, n) - part + destination_->bias;
    const Tensor first = others.narrow(0, 0, n);
    return {.whole = logits_of(others + wholes),
            .part = logits_of(first + part),
            .rest = logits_of(first + rest)};
  }

 private:
  std::shared_ptr<Linear> map(std::string name, std::int64_t in, std::int64_t out) {
    return register_module(std::move(name), std::make_shared<Linear>(in, out));
  }

  /// The events of the newest time, [3 for each]
  Tensor pending() const {
    std::vector<double> pending;
    for (const WalkSketch::Event& event : sketch_->pending) {
      pending.insert(pending.end(),
                     {static_cast<double>(event.src), static_cast<double>(event.dst), event.time});
    }
    return to_tensor(pending, at::kCPU);
  }
  void set_pending(const Tensor& saved) {
    std::vector<double> pending(index(saved.numel()));
    copy_to(saved, std::span(pending));
    sketch_->pending.clear();
    const auto nodes = static_cast<double>(sketch_->times.size());
    for (std::size_t i = 0; i < pending.size(); i += 3) {
      check_saved(
          pending[i] >= 0 && pending[i] < nodes && pending[i + 1] >= 0 && pending[i + 1] < nodes,
          "a saved sketch refers to nodes that do not exist");
      sketch_->pending.push_back(
          {static_cast<NodeId>(pending[i]), static_cast<NodeId>(pending[i + 1]), pending[i + 2]});
    }
  }
  /// What a batch may change: the nodes of its events and of those that are still pending.
  std::vector<Tensor> sketch_rows(const EventBatch& batch) const {
    std::vector<NodeId> nodes(batch.src.begin(), batch.src.end());
    nodes.insert(nodes.end(), batch.dst.begin(), batch.dst.end());
    for (const WalkSketch::Event& event : sketch_->pending) {
      nodes.insert(nodes.end(), {event.src, event.dst});
    }
    nodes = distinct_nodes(std::move(nodes));
    std::vector<float> vectors;
    std::vector<Timestamp> times;
    vectors.reserve(nodes.size() * WalkSketch::kPerNode);
    for (const NodeId node : nodes) {
      const float* of_node = sketch_->vectors.data() + index(node) * WalkSketch::kPerNode;
      vectors.insert(vectors.end(), of_node, of_node + WalkSketch::kPerNode);
      times.push_back(sketch_->times[index(node)]);
    }
    const std::vector<std::int64_t> rows(nodes.begin(), nodes.end());
    return {to_tensor(rows, at::kCPU), to_tensor(vectors, at::kCPU), to_tensor(times, at::kCPU),
            pending()};
  }

  /// W_s h_u, [L,H]
  Tensor sources(const Links& links, const Tensor& z) const {
    const Tensor all =
        linear(select_rows(z, to_tensor(links.sources(), z.device()), path_), *source_, path_);
    return select_rows(all, to_tensor(links.source(), z.device()), path_);
  }
  /// x_uv of counting, standardised. [L,kPairStatisticsWidth]
  Tensor statistics(const Links& links, const at::TensorOptions& like) const {
    return statistics_->standardised(PairStatistics(past_, statistics_->ages()).of_pairs(links),
                                     like);
  }
  /// W_w of x_uv of walks, [L,H]. REQUIRES: a sketch.
  Tensor walks(const Links& links, const at::TensorOptions& like) const {
    const Tensor x =
        to_tensor(sketch_->of_pairs(links), at::kCPU).view({-1, WalkSketch::kStatistics}).to(like);
    return linear(x, *walk_, path_);
  }
  /// W_s h_u + W_p x_uv, [L,H]
  Tensor source_and_pair(const Links& links, const Tensor& z) const {
    const Tensor from = sources(links, z);
    const Tensor sum = from + linear(statistics(links, z.options()), *pair_, path_);
    return sketch_ ? sum + walks(links, z.options()) : sum;
  }
  /// W_d h_v, [L,H]
  Tensor destinations(const Links& links, const Tensor& z) const {
    const Tensor all = linear(z.narrow(0, 0, links.num_destinations()), *destination_, path_);
    return select_rows(all, to_tensor(links.destination(), z.device()), path_);
  }
  /// [n,H] -> [n,Q]
  Tensor logits_of(const Tensor& sum) const {
    return linear(at::relu(linear(at::relu(sum), *hidden_, path_)), *out_, path_);
  }

  std::shared_ptr<FittedStatistics> statistics_;
  std::shared_ptr<Linear> source_;
  std::shared_ptr<Linear> destination_;
  std::shared_ptr<Linear> pair_;
  std::shared_ptr<Linear> walk_;  // null without a sketch
  std::shared_ptr<Linear> hidden_;
  std::shared_ptr<Linear> out_;
  std::unique_ptr<WalkSketch> sketch_;
  Path path_;
  Past past_;
};

}  // namespace

DecoderEntry pair_decoder() {
  return {{.name = "pair",
           .summary = "embeddings and what is known of the pair: ages, counts, common partners",
           .defaults = PairOptions{},
           .run_defaults = {{"outputs", "questions"}}},
          [](const Options& options, const DecoderContext& context) {
            return std::make_shared<PairDecoder>(options.as<PairOptions>(), context);
          }};
}

}  // namespace curnm
