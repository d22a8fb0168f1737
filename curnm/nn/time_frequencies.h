#pragma once

namespace curnm {

/// The fixed time encoding turns at frequencies between these, in radians per unit of time: it
/// tells gaps apart from about 6 to 6e9 units.
inline constexpr double kHighestTimeFrequency = 1;
inline constexpr double kLowestTimeFrequency = 1e-9;

}  // namespace curnm
