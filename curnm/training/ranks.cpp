#include "curnm/training/ranks.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "curnm/base/digest.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

// CBOR keeps all bits of a number, and what is not a number.
std::string to_text(const ordered_json& json) {
  const std::vector<std::uint8_t> bytes = ordered_json::to_cbor(json);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Stretch Ranks::stretch(std::int64_t events, std::int64_t epoch, int rank) const {
  const std::int64_t part = (rank + epoch) % size();
  return {events * part / size(), events * (part + 1) / size()};
}

int Ranks::last_of_stream(std::int64_t epoch) const {
  return static_cast<int>((size() - 1 - epoch % size() + size()) % size());
}

bool Ranks::any(bool mine) const {
  if (alone()) return mine;
  bool found = false;
  for (const std::string& wish : group_->all_gather(mine ? "1" : "0")) found = found || wish == "1";
  return found;
}

bool Ranks::as_first_says(bool mine) const {
  return alone() ? mine : group_->broadcast(mine ? "1" : "0", /*from=*/0) == "1";
}

Validation Ranks::from_last(const Validation& mine, std::int64_t epoch) const {
  if (alone()) return mine;
  ordered_json json = {{"ap", mine.ap}, {"metric", mine.metric}};
  if (mine.mrr) json["mrr"] = *mine.mrr;
  json = ordered_json::from_cbor(group_->broadcast(to_text(json), last_of_stream(epoch)));
  Validation found{.metric = json.at("metric"), .ap = json.at("ap")};
  if (json.contains("mrr")) found.mrr = json["mrr"].get<double>();
  return found;
}

TensorFile Ranks::to_first(TensorFile mine, std::int64_t epoch) const {
  const int last = last_of_stream(epoch);
  if (last == 0) return first() ? std::move(mine) : TensorFile{};
  const std::vector<std::string> all = group_->gather(rank() == last ? packed(mine) : "");
  return first() ? unpacked(all[static_cast<std::size_t>(last)]) : TensorFile{};
}

void Ranks::share(NegativeMiner& miner, std::int64_t events, std::int64_t epoch) const {
  if (alone()) return;
  const Stretch own = stretch(events, epoch);
  TensorFile mine{.document = {{"counters", miner.counters()}}};
  mine.put("memory", miner.memory_of(own.begin, own.end));
  std::vector<double> counters(miner.counters().size(), 0.0);
  const std::vector<std::string> all = group_->all_gather(packed(mine));
  for (int rank = 0; rank < size(); ++rank) {
    const TensorFile part = unpacked(all[static_cast<std::size_t>(rank)]);
    const auto counted = part.document.at("counters").get<std::vector<double>>();
    for (std::size_t i = 0; i < counters.size(); ++i) counters[i] += counted.at(i);
    miner.set_memory_of(stretch(events, epoch, rank).begin, part.list("memory"));
  }
  miner.set_counters(counters);
}

bool Ranks::take_weights_of_first(Learner& learner) const {
  TensorFile mine;
  mine.put("model", *learner.model);
  mine.put("decoder", *learner.decoder);
  mine.put("miner", *learner.miner);
  mine.put("optimizer", learner.optimizer->state());
  const std::string bytes = packed(mine);
  const std::vector<std::string> digests = all(digest(bytes));
  if (std::ranges::all_of(digests, [&](const std::string& one) { return one == digests[0]; })) {
    return false;
  }
  const TensorFile taken = unpacked(group_->broadcast(first() ? bytes : "", /*from=*/0));
  taken.restore("model", *learner.model);
  taken.restore("decoder", *learner.decoder);
  taken.restore("miner", *learner.miner);
  learner.optimizer->set_state(taken.list("optimizer"));
  return true;
}

std::vector<std::string> Ranks::all(std::string_view mine) const {
  return alone() ? std::vector<std::string>{std::string(mine)} : group_->all_gather(mine);
}

}  // namespace curnm
