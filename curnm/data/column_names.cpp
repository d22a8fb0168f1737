#include "curnm/data/column_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace curnm {
namespace {

// Each list from the most to the least usual.
constexpr auto kSources = std::to_array<std::string_view>(
    {"src", "source", "u", "from", "sender", "sourcenode", "fromnode", "fromuser", "fromaddress",
     "caller", "payer", "follower"});
constexpr auto kDestinations = std::to_array<std::string_view>(
    {"dst", "destination", "dest", "target", "i", "v", "to", "receiver", "recipient", "targetnode",
     "tonode", "touser", "toaddress", "callee", "payee", "followee"});
// Those who act, and what they act on.
constexpr auto kActors = std::to_array<std::string_view>(
    {"user",    "customer", "client",   "buyer",      "student",  "member",    "consumer",
     "visitor", "viewer",   "listener", "reader",     "reviewer", "shopper",   "player",
     "patient", "voter",    "donor",    "subscriber", "investor", "passenger", "employee"});
constexpr auto kThings = std::to_array<std::string_view>(
    {"item",   "product",   "movie",   "film",       "song",     "track",  "artist",
     "album",  "book",      "page",    "article",    "course",   "video",  "channel",
     "seller", "merchant",  "store",   "shop",       "business", "venue",  "restaurant",
     "hotel",  "app",       "game",    "show",       "anime",    "recipe", "post",
     "thread", "subreddit", "repo",    "repository", "hashtag",  "sku",    "isbn",
     "asin",   "stock",     "listing", "service",    "doctor",   "station"});
constexpr auto kTimes = std::to_array<std::string_view>(
    {"time", "timestamp", "ts", "t", "unixtime", "unixtimestamp", "unixts", "datetime", "createdat",
     "eventtime", "occurredat", "epoch", "date"});
constexpr auto kLabels = std::to_array<std::string_view>({"label", "statelabel"});
// As pandas, DyGLib, TGL and databases write them.
constexpr auto kRowNumbers = std::to_array<std::string_view>(
    {"", "idx", "index", "unnamed:0", "introll", "id", "rowid", "eventid"});

int rank_in(std::span<const std::string_view> names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

/// The same for names of nodes, with or without `id`.
int rank_of_node(std::span<const std::string_view> names, std::string_view name) {
  const int rank = rank_in(names, name);
  if (rank >= 0 || !name.ends_with("id")) return rank;
  return rank_in(names, name.substr(0, name.size() - 2));
}

}  // namespace

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == '.' || c == ' ') continue;
    plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

ColumnGuess guess_role(std::string_view name) {
  const std::string plain = plain_name(name);
  constexpr int kAfterDirections = 100;  // src and dst are plainer than user and item
  using Role = ColumnRole;
  if (plain == "extroll") return {Role::kRoll, 0};
  if (const int rank = rank_in(kRowNumbers, plain); rank >= 0) return {Role::kRowNumber, rank};
  if (const int rank = rank_in(kLabels, plain); rank >= 0) return {Role::kLabel, rank};
  if (const int rank = rank_in(kTimes, plain); rank >= 0) return {Role::kTime, rank};
  if (const int rank = rank_of_node(kSources, plain); rank >= 0) return {Role::kSrc, rank};
  if (const int rank = rank_of_node(kDestinations, plain); rank >= 0) return {Role::kDst, rank};
  if (const int rank = rank_of_node(kActors, plain); rank >= 0) {
    return {Role::kSrc, kAfterDirections + rank};
  }
  if (const int rank = rank_of_node(kThings, plain); rank >= 0) {
    return {Role::kDst, kAfterDirections + rank};
  }
  return {};
}

std::string kind_of_node(std::string_view name) {
  std::string plain = plain_name(name);
  const auto is_kind = [](std::string_view word) {
    return rank_in(kActors, word) >= 0 || rank_in(kThings, word) >= 0;
  };
  if (is_kind(plain)) return plain;
  if (!plain.ends_with("id")) return "";
  plain.resize(plain.size() - 2);
  return is_kind(plain) ? plain : "";
}

}  // namespace curnm
