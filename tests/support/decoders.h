#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "curnm/decoders/decoder.h"
#include "curnm/nn/tensors.h"

// Decoders as a program that uses the library may have them.

namespace curnm::testing {

struct BilinearOptions {
  double scale = 1;

  void fields(const FieldVisitor& visit) {
    visit({.name = "bilinear-scale", .help = "factor of the logits", .min = 0.001, .max = 1000},
          scale);
  }
};

/// scale·h_u^T W h_v + b, the same in every output. Does not override `split`.
class BilinearDecoder final : public Decoder {
 public:
  BilinearDecoder(const BilinearOptions& options, const DecoderContext& context)
      : Decoder(context),
        scale_(options.scale),
        weight_(register_parameter("weight", at::zeros({context.width, context.width}))),
        bias_(register_parameter("bias", at::zeros({1}))) {}

  Tensor logits(const Links& links, const Tensor& z) const override {
    const Tensor sources = z.index_select(0, to_tensor(links.sources(), z.device()));
    const Tensor h_u = sources.index_select(0, to_tensor(links.source(), z.device()));
    const Tensor h_v = z.index_select(0, to_tensor(links.destination(), z.device()));
    const Tensor logits = scale_ * (h_u.matmul(weight_) * h_v).sum(-1) + bias_;
    return logits.unsqueeze(1).repeat({1, outputs()});
  }

 private:
  double scale_;
  Tensor weight_;  // [D,D]
  Tensor bias_;    // [1]
};

/// Its name; the first call registers it, from outside the library.
inline std::string_view bilinear() {
  static const bool added = [] {
    decoders().add({{.name = "bilinear", .summary = "for tests", .defaults = BilinearOptions{}},
                    [](const Options& options, const DecoderContext& context) {
                      return std::make_shared<BilinearDecoder>(options.as<BilinearOptions>(),
                                                               context);
                    }});
    return true;
  }();
  static_cast<void>(added);
  return "bilinear";
}

/// Another decoder, whose own `split` is not used.
class WithoutSplit final : public Decoder {
 public:
  explicit WithoutSplit(std::shared_ptr<Decoder> inner)
      : Decoder({.outputs = inner->outputs()}),
        inner_(register_module("inner", std::move(inner))) {}

  Tensor logits(const Links& links, const Tensor& z) const override {
    return inner_->logits(links, z);
  }

 private:
  std::shared_ptr<Decoder> inner_;
};

}  // namespace curnm::testing
