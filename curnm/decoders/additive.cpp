#include "curnm/decoders/decoder.h"
#include "curnm/nn/fused.h"
#include "curnm/nn/linear.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

/// The decoder of TGN, TGL and the paper: out(ReLU(W_s h_u + b_s + W_d h_v + b_d)).
///
/// The two projections are separate, so that a node in many links is projected once. They are
/// linear, so the projection of the rest is that of the whole minus that of the part, which saves
/// `split` a matrix product.
class AdditiveDecoder final : public Decoder {
 public:
  explicit AdditiveDecoder(const DecoderContext& context)
      : source_(register_module("source", std::make_shared<Linear>(context.width, context.width))),
        destination_(
            register_module("destination", std::make_shared<Linear>(context.width, context.width))),
        out_(register_module("out", std::make_shared<Linear>(context.width, 1))),
        path_(context.path) {}

  Tensor logits(const Links& links, const Tensor& z) const override {
    return logits_of(Projected(*this, links, z));
  }

  SplitLogits split(const Links& links, const Tensor& z, const Tensor& parts) const override {
    const Projected projected(*this, links, z);
    const std::int64_t n = parts.size(0);
    const Tensor source_of = projected.source_of.narrow(0, 0, n);
    const Tensor destination_of = projected.destination_of.narrow(0, 0, n);
    const Tensor part = linear(parts, *destination_, path_);
    SplitLogits result{.whole = logits_of(projected)};
    if (has_kernels(path_, z)) {
      const PartLogits both =
          split_logits(projected.sources, source_of, projected.destinations, destination_of, part,
                       out_->weight, out_->bias, destination_->bias);
      result.part = both.parts;
      result.rest = both.rests;
    } else {
      const Tensor from = projected.sources.index_select(0, source_of);
      const Tensor whole = projected.destinations.index_select(0, destination_of);
      result.part = logit(from, part);
      result.rest = logit(from, whole - part + destination_->bias);  // the bias was subtracted, too
    }
    return result;
  }

 private:
  /// The projections that logits are computed from, each node once.
  struct Projected {
    Projected(const AdditiveDecoder& decoder, const Links& links, const Tensor& z)
        : sources(linear(select_rows(z, to_tensor(links.sources(), z.device()), decoder.path_),
                         *decoder.source_, decoder.path_)),
          destinations(linear(z.narrow(0, 0, links.num_destinations()), *decoder.destination_,
                              decoder.path_)),
          source_of(to_tensor(links.source(), z.device())),
          destination_of(to_tensor(links.destination(), z.device())) {}
    Tensor sources;         // [S,D]
    Tensor destinations;    // [T,D]
    Tensor source_of;       // [L]
    Tensor destination_of;  // [L]
  };

  Tensor logits_of(const Projected& projected) const {
    if (has_kernels(path_, projected.sources)) {
      return link_logits(projected.sources, projected.source_of, projected.destinations,
                         projected.destination_of, out_->weight, out_->bias);
    }
    return logit(projected.sources.index_select(0, projected.source_of),
                 projected.destinations.index_select(0, projected.destination_of));
  }

  Tensor logit(const Tensor& source, const Tensor& destination) const {
    return (*out_)(at::relu(source + destination)).squeeze(-1);
  }

  std::shared_ptr<Linear> source_;
  std::shared_ptr<Linear> destination_;
  std::shared_ptr<Linear> out_;
  Path path_;
};

}  // namespace

DecoderEntry additive_decoder() {
  return {{.name = "additive",
           .summary = "a perceptron on the sum of projected embeddings (as published)"},
          [](const Options&, const DecoderContext& context) {
            return std::make_shared<AdditiveDecoder>(context);
          }};
}

}  // namespace curnm
