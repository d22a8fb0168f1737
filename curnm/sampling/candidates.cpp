#include "curnm/sampling/candidates.h"

namespace curnm {

void ExtraPairs::append(const ExtraPairs& others) {
  const auto add = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(rows, others.rows);
  add(src, others.src);
  add(dst, others.dst);
  add(kinds, others.kinds);
}

}  // namespace curnm
