#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/graph/event_log.h"
#include "curnm/sampling/pair_statistics.h"

// Why a link scores as it does: what is known of the pair, in words, and what moves the logit.

namespace curnm {

struct Explanation {
  PairFacts facts;
  float logit = 0;
  /// The logit with every part of what the decoder sees at its mean.
  float typical = 0;
  /// How much a part moves the logit: its value less the one with this part at its mean. Parts act
  /// together, so these need not add up to logit - typical.
  struct Part {
    std::string name;
    float moved = 0;
  };
  std::vector<Part> parts;
};

/// What a number of a time means.
struct TimeUnit {
  double seconds = 0;  // 0: it is not known

  /// Times between 1973 and 2100, if they were seconds or milliseconds since 1970, are those.
  static TimeUnit of(const EventLog& log);
  /// "3 days", or "3 units of time" where the unit is not known.
  std::string in_words(double length) const;
};

/// "last met 3 days ago, 14 times; ann was last active 5 minutes ago, ...". `src` and `dst`: names
/// of the pair.
std::string in_words(const PairFacts& facts, std::string_view src, std::string_view dst,
                     Timestamp t, TimeUnit unit);

/// {"words", "met", "last_met": null if never, "typical", "moved": {part: difference}}
nlohmann::ordered_json to_json(const Explanation& explanation, std::string_view words);

}  // namespace curnm
