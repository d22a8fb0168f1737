#include "curnm/decoders/registry.h"

#include "curnm/decoders/decoder.h"
#include "curnm/nn/tensors.h"

namespace curnm {

// One line per decoder; each is defined in the file of its name.
DecoderEntry additive_decoder();
DecoderEntry pair_decoder();

Registry<DecoderEntry>& decoders() {
  static Registry<DecoderEntry> registry("decoder", {
                                                        additive_decoder(),
                                                        pair_decoder(),
                                                    });
  return registry;
}

std::shared_ptr<Decoder> make_decoder(std::string_view name, const Options& options,
                                      const DecoderContext& context) {
  Options checked = options;
  checked.check();
  std::shared_ptr<Decoder> decoder = decoders().at(name).make(checked, context);
  initialise(*decoder, Rng(context.seed, Stream::kInitialisation, /*epoch=*/1));
  decoder->to(context.device);
  return decoder;
}

}  // namespace curnm
