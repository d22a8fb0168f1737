#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/rng.h"
#include "curnm/decoders/registry.h"
#include "curnm/nn/module.h"
#include "curnm/nn/path.h"
#include "curnm/sampling/links.h"
#include "curnm/sampling/past.h"
#include "curnm/sampling/typical_links.h"

namespace curnm {

/// What a decoder needs to know when it is built.
struct DecoderContext {
  NodeId num_nodes = 0;
  double training_span = 0;  // of time
  std::int64_t width = 0;    // D of the embeddings
  /// 1: one score for everything; 3: one for each Question.
  std::int64_t outputs = 1;
  std::uint64_t seed = 0;
  Device device = at::kCPU;
  Path path = Path::kFast;
};

/// Logits of links whose destination is split in two: h_v = part + rest.
struct SplitLogits {
  Tensor whole;  // [L,Q]: of all links, as they are
  Tensor part;   // [n,Q]: of the first n links, with the part in place of h_v
  Tensor rest;   // [n,Q]: with the rest in place of h_v
};

/// Logits of links with parts of what the decoder sees at their means instead.
struct LogitsAtMeans {
  std::vector<Tensor> parts;  // [L,Q] for each of `parts()`, with that one at its mean
  Tensor all;                 // [L,Q], with all of them at their means
};

/// Turns embeddings into the logits of links. One file per decoder, one line in registry.cpp; no
/// decoder knows a model or a miner.
class Decoder : public Module {
 public:
  explicit Decoder(const DecoderContext& context) : outputs_(context.outputs) {}

  /// Q: 1, or one for each Question.
  std::int64_t outputs() const { return outputs_; }
  /// The output that answers a question.
  std::int64_t output(Question question) const {
    return outputs_ == 1 ? 0 : static_cast<std::int64_t>(question);
  }

  /// Sets where the past of nodes and pairs is looked up.
  virtual void use(const Past&) {}
  /// Fits the scales of inputs to typical links of a training: before its first step, after `use`.
  virtual void fit(const TypicalLinks&) {}

  /// The logits of all links, [L,Q], from the embeddings of links.roots(), [R,D].
  virtual Tensor logits(const Links& links, const Tensor& z) const = 0;

  /// The same, and the logits of the first n links with their destination's embedding split into
  /// `parts`, [n,D], and what remains of it. The default computes logits of extra destinations; a
  /// decoder with a faster way overrides it.
  virtual SplitLogits split(const Links& links, const Tensor& z, const Tensor& parts) const;

  /// The parts of what it sees that an explanation tells apart. By default the embeddings of the
  /// two ends; a decoder that sees more names that, too.
  virtual std::vector<std::string> parts() const { return {"source", "destination"}; }
  /// What the logits would be with one part after the other at its mean: that of the training where
  /// the part was fitted to it, and that of the `typical` links otherwise, whose roots have the
  /// embeddings `typical_z`.
  virtual LogitsAtMeans at_means(const Links& links, const Tensor& z, const Links& typical,
                                 const Tensor& typical_z) const;

  // As a model's, for decoders that follow the stream of events themselves.
  virtual void observe(const EventBatch&) {}
  virtual void forget() {}
  virtual std::vector<Tensor> state() const { return {}; }
  virtual void set_state(const std::vector<Tensor>&) {}
  /// How many tensors `state` has, without making them.
  virtual std::int64_t state_size() const { return 0; }
  virtual std::vector<Tensor> state_before(const EventBatch&) const { return state(); }
  virtual void undo(const std::vector<Tensor>& before) { set_state(before); }

 private:
  std::int64_t outputs_;
};

/// Builds a decoder by name, with parameters that depend on (options, seed) alone. Throws
/// UsageError for unknown names and impossible options.
std::shared_ptr<Decoder> make_decoder(std::string_view name, const Options& options,
                                      const DecoderContext& context);

}  // namespace curnm
