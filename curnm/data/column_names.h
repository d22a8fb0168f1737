#pragma once

#include <string>
#include <string_view>

namespace curnm {

// What the names of columns say. Case, blanks, '_', '-' and '.' do not matter, and `id` may follow
// the name of a node: userId, user_id and User are one name.

/// A name reduced to what is compared: "user_id" is "userid".
std::string plain_name(std::string_view name);

enum class ColumnRole { kNone, kSrc, kDst, kTime, kLabel, kRoll, kRowNumber };

/// What a column of that name usually is, and how usual: of several candidates, the one with the
/// lowest rank is taken.
struct ColumnGuess {
  ColumnRole role = ColumnRole::kNone;
  int rank = 0;
};
ColumnGuess guess_role(std::string_view name);

/// The kind of node that a column of ids names: user for userId, movie for movie_id; "" where the
/// name tells the direction alone, like src or receiver.
std::string kind_of_node(std::string_view name);

}  // namespace curnm
