#pragma once

namespace curnm {

/// The range of frequencies of the fixed time encoding, in radians per unit of time: it
/// distinguishes gaps from about 6 to 6e9 units.
inline constexpr double kHighestTimeFrequency = 1;
inline constexpr double kLowestTimeFrequency = 1e-9;

}  // namespace curnm
