#pragma once

#include <memory>
#include <string_view>

#include "curnm/base/rng.h"
#include "curnm/decoders/registry.h"
#include "curnm/nn/module.h"
#include "curnm/nn/path.h"
#include "curnm/sampling/links.h"
#include "curnm/sampling/past.h"

namespace curnm {

/// What a decoder needs to know when it is built.
struct DecoderContext {
  std::int64_t width = 0;  // D of the embeddings
  std::uint64_t seed = 0;
  Device device = at::kCPU;
  Path path = Path::kFast;
};

/// Logits of links whose destination is split in two: h_v = part + rest.
struct SplitLogits {
  Tensor whole;  // [L]: of all links, as they are
  Tensor part;   // [n]: of the first n links, with the part in place of h_v
  Tensor rest;   // [n]: with the rest in place of h_v
};

/// Turns embeddings into the logits of links. One file per decoder, one line in registry.cpp; no
/// decoder knows a model or a miner.
class Decoder : public Module {
 public:
  /// Sets where the past of nodes and pairs is looked up.
  virtual void use(const Past&) {}

  /// The logits of all links, [L], from the embeddings of links.roots(), [R,D].
  virtual Tensor logits(const Links& links, const Tensor& z) const = 0;

  /// The same, and the logits of the first n links with their destination's embedding split into
  /// `parts`, [n,D], and what remains of it. The default computes logits of extra destinations; a
  /// decoder with a faster way overrides it.
  virtual SplitLogits split(const Links& links, const Tensor& z, const Tensor& parts) const;
};

/// Builds a decoder by name, with parameters that depend on (options, seed) alone. Throws
/// UsageError for unknown names and impossible options.
std::shared_ptr<Decoder> make_decoder(std::string_view name, const Options& options,
                                      const DecoderContext& context);

}  // namespace curnm
