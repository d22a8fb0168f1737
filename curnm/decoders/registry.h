#pragma once

#include <functional>
#include <memory>

#include "curnm/base/registry.h"

namespace curnm {

class Decoder;
struct DecoderContext;

struct DecoderEntry : Component {
  std::function<std::shared_ptr<Decoder>(const Options&, const DecoderContext&)> make;
};

/// All decoders by name; `decoders().add(...)` for one of your own.
Registry<DecoderEntry>& decoders();

}  // namespace curnm
