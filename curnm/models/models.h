#pragma once

#include "curnm/models/model.h"

// The models, one file each.

namespace curnm {

std::shared_ptr<Model> make_tgn(const ModelOptions& options, const ModelContext& context);
std::shared_ptr<Model> make_jodie(const ModelOptions& options, const ModelContext& context);
std::shared_ptr<Model> make_dysat(const ModelOptions& options, const ModelContext& context);

}  // namespace curnm
