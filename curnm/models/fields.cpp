#include "curnm/models/fields.h"

#include "curnm/base/error.h"

namespace curnm {

void check_heads(std::int64_t heads, std::int64_t width) {
  if (width % heads == 0) return;
  throw OptionError(OptionError::Kind::kConflict, "heads",
                    fmt::format("--heads {} does not divide --width {}", heads, width));
}

}  // namespace curnm
