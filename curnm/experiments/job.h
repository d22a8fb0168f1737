#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace curnm {

/// Flags of `curnm train` without their dashes: {"epochs", "60"}.
using RunFlags = std::map<std::string, std::string>;

/// One training: the arguments of `curnm train`.
struct Job {
  std::string network;
  std::string model;
  std::string miner;
  std::int64_t seed = 0;
  RunFlags flags = {};  // further ones
  /// The name that its experiment gives to these flags; "" if the grid has no variants.
  std::string variant = {};
  // What the flags mean, filled in by Vocabulary::resolve:
  std::string options = {};    // every option of the run with its default, as JSON
  std::int64_t epochs = 0;     // at most
  std::string judged_by = {};  // the protocol whose test AP is quoted, or the ranking

  /// Equal for jobs with the same options, however they were given and whatever the variant's name;
  /// changes when a default changes.
  std::string key() const;
  /// Readable and unique: uci-tgn-curnm-0-3f2a91c0d5b86e17.
  std::string folder_name() const;
  /// For people: uci tgn curnm seed 0 (M = 16).
  std::string title() const;
};

}  // namespace curnm
