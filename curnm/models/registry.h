#pragma once

#include <functional>
#include <memory>

#include "curnm/base/registry.h"

namespace curnm {

class Model;
struct ModelContext;

struct ModelEntry : Component {
  std::function<std::shared_ptr<Model>(const Options&, const ModelContext&)> make;
};

/// All models by name; `models().add(...)` for one of your own.
Registry<ModelEntry>& models();

}  // namespace curnm
