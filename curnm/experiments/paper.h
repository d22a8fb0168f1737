#pragma once

#include <cstdint>
#include <string_view>

// The figures that the paper reports, by the names of our program: networks of the catalogue,
// models "tgn", "jodie", "dysat", miners "random", "recent", "ens", "taser", "curnm". Where it has
// no figure the answer is NaN.

namespace curnm {

/// AP on the paper's mix of random and historical negatives: set "test" is its transductive table,
/// "test_new" its inductive one.
double paper_ap(std::string_view set, std::string_view network, std::string_view model,
                std::string_view miner);

/// By how many percent its best CurNM beats the best of all others on a network.
double paper_best_of(std::string_view set, std::string_view network);

/// Seconds per epoch of TGN, on its 48 cores and GPU.
double paper_seconds(std::string_view network, std::string_view miner);

/// The same for CurNM with pools of `pool` candidates.
double paper_pool_seconds(std::string_view network, std::int64_t pool);

}  // namespace curnm
