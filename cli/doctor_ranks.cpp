#include "cli/doctor_ranks.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/print.h"

namespace curnm::cli {
namespace {

using nlohmann::ordered_json;

/// The median of the seconds that a call takes, after one that does not count.
template <class Call>
double median_seconds(int times, const Call& call) {
  call();
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    const Stopwatch watch;
    call();
    seconds.push_back(watch.seconds());
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

/// Times of calls that all ranks make.
ordered_json measure_links(Group& group) {
  constexpr std::size_t kLarge = 8 << 20;
  constexpr std::size_t kGradients = 1 << 18;  // 1 MB of them, as graph networks have
  ordered_json found = {{"ranks", group.size()},
                        {"round_ms", 1e3 * median_seconds(50, [&] { group.all_gather(""); })},
                        {"to_rank_0_mb_per_s", ordered_json::array()}};
  const std::string large(kLarge, 'x');
  for (int rank = 1; rank < group.size(); ++rank) {
    const double seconds = median_seconds(
        3, [&] { group.gather(rank == group.rank() ? std::string_view(large) : ""); });
    found["to_rank_0_mb_per_s"].push_back(static_cast<double>(kLarge) / 1e6 / seconds);
  }
  std::vector<float> values(kGradients, 1.0F);
  found["sum_of_1_mb_ms"] = 1e3 * median_seconds(5, [&] { group.sum(values); });
  return found;
}

}  // namespace

void examine_links(const RankFlags& flags, bool json) {
  if (!is_rank()) {
    fmt::print("{}", output_of_ranks(flags.ranks, /*threads=*/1, /*more=*/{}));
    return;
  }
  const std::unique_ptr<Group> group = join_ranks(flags);
  if (!group) throw UsageError("--ranks: one rank has no links to measure");
  const ordered_json found = measure_links(*group);
  group->leave();
  if (group->rank() > 0) return;
  if (json) {
    fmt::print("{}\n", found.dump(2));
    return;
  }
  fmt::print("{} ranks; a round of all takes {:.3f} ms, a sum of 1 MB of gradients {:.2f} ms\n",
             group->size(), found["round_ms"].get<double>(), found["sum_of_1_mb_ms"].get<double>());
  for (std::size_t i = 0; i < found["to_rank_0_mb_per_s"].size(); ++i) {
    fmt::print("rank {} to rank 0: {:.0f} MB/s\n", i + 1,
               found["to_rank_0_mb_per_s"][i].get<double>());
  }
}

}  // namespace curnm::cli
