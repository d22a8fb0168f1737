#pragma once

#include "curnm/base/options.h"

// Options that several models have, each with a default of its own.

namespace curnm {

enum class TimeEncoding { kFixed, kLearned };
constexpr ChoiceNames<2> choice_names(TimeEncoding) { return {"fixed", "learned"}; }

inline constexpr Field kWidthField{.name = "width",
                                   .help = "width of embeddings and memory",
                                   .min = 1,
                                   .max = 65536,
                                   .symbol = "D"};
inline constexpr Field kTimeWidthField{
    .name = "time-width", .help = "width of the time encoding", .min = 1, .max = 65536};
inline constexpr Field kNeighborsField{
    .name = "neighbors", .help = "sampled neighbours", .min = 1, .max = 10000, .symbol = "K"};
inline constexpr Field kHeadsField{
    .name = "heads", .help = "attention heads", .min = 1, .max = 1024, .symbol = "H"};
inline constexpr Field kDropoutField{
    .name = "dropout", .help = "dropout rate", .min = 0, .max = 0.99};
inline constexpr Field kTiesField{.name = "ties",
                                  .help =
                                      "memory at equal times: stream (as published) or strict "
                                      "(no leak inside a snapshot)"};
inline constexpr Field kTimeEncodingField{
    .name = "time-encoding", .help = "frequencies of the time encoding: fixed or learned"};

/// Throws OptionError unless the heads divide the width.
void check_heads(std::int64_t heads, std::int64_t width);

}  // namespace curnm
