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
      : Decoder(context),
        source_(register_module("source", std::make_shared<Linear>(context.width, context.width))),
        destination_(
            register_module("destination", std::make_shared<Linear>(context.width, context.width))),
        out_(register_module("out", std::make_shared<Linear>(context.width, context.outputs))),
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
    if (has_fused_logits(z)) {
      const PartLogits both =
          split_logits(projected.sources, source_of, projected.destinations, destination_of, part,
                       out_->weight, out_->bias, destination_->bias);
      result.part = both.parts.unsqueeze(1);
      result.rest = both.rests.unsqueeze(1);
    } else {
      const Tensor from = select_rows(projected.sources, source_of, path_);
      const Tensor whole = select_rows(projected.destinations, destination_of, path_);
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
    if (has_fused_logits(projected.sources)) {
      return link_logits(projected.sources, projected.source_of, projected.destinations,
                         projected.destination_of, out_->weight, out_->bias)
          .unsqueeze(1);
    }
    return logit(select_rows(projected.sources, projected.source_of, path_),
                 select_rows(projected.destinations, projected.destination_of, path_));
  }

  bool has_fused_logits(const Tensor& x) const { return outputs() == 1 && has_kernels(path_, x); }

  Tensor logit(const Tensor& source, const Tensor& destination) const {
    return linear(at::relu(source + destination), *out_, path_);
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
