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

Ranks::Ranks(Group* group, int batch_ranks) : group_(group), batch_ranks_(batch_ranks) {
  CURNM_ASSERT(batch_ranks >= 1 && size() % batch_ranks == 0);
}

Stretch Ranks::stretch(std::int64_t events, std::int64_t epoch, int rank) const {
  const std::int64_t part = (rank / batch_ranks_ + epoch) % teams();
  return {events * part / teams(), events * (part + 1) / teams()};
}

int Ranks::last_of_stream(std::int64_t epoch) const {
  const std::int64_t team = (teams() - 1 - epoch % teams() + teams()) % teams();
  return static_cast<int>(team) * batch_ranks_;
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

namespace {

/// What the miner remembers of these events, one after the other.
std::vector<Tensor> memory_of(const NegativeMiner& miner, const std::vector<Stretch>& events) {
  std::vector<std::vector<Tensor>> columns;
  for (const Stretch& stretch : events) {
    const std::vector<Tensor> rows = miner.memory_of(stretch.begin, stretch.end);
    columns.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) columns[i].push_back(rows[i]);
  }
  std::vector<Tensor> all;
  for (const std::vector<Tensor>& column : columns) all.push_back(at::cat(column));
  return all;
}

void set_memory_of(NegativeMiner& miner, const std::vector<Stretch>& events,
                   const std::vector<Tensor>& all) {
  std::int64_t total = 0;
  for (const Stretch& stretch : events) total += stretch.end - stretch.begin;
  std::int64_t before = 0;
  for (const Stretch& stretch : events) {
    const std::int64_t count = stretch.end - stretch.begin;
    std::vector<Tensor> rows;
    for (const Tensor& column : all) {
      const std::int64_t of_event = column.size(0) / total;
      rows.push_back(column.narrow(0, before * of_event, count * of_event));
    }
    miner.set_memory_of(stretch.begin, rows);
    before += count;
  }
}

}  // namespace

void Ranks::share(NegativeMiner& miner,
                  const std::function<std::vector<Stretch>(int rank)>& learned_by) const {
  if (alone()) return;
  TensorFile mine{.document = {{"counters", miner.counters()}}};
  mine.put("memory", memory_of(miner, learned_by(rank())));
  std::vector<double> counters(miner.counters().size(), 0.0);
  const std::vector<std::string> all = group_->all_gather(packed(mine));
  for (int rank = 0; rank < size(); ++rank) {
    const TensorFile part = unpacked(all[static_cast<std::size_t>(rank)]);
    const auto counted = part.document.at("counters").get<std::vector<double>>();
    for (std::size_t i = 0; i < counters.size(); ++i) counters[i] += counted.at(i);
    set_memory_of(miner, learned_by(rank), part.list("memory"));
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

std::optional<Straggler> find_straggler(const std::vector<double>& waited, double seconds) {
  constexpr double kGoodPart = 0.25;
  constexpr double kLeast = 1;  // less is nothing to care about, and may be chance
  const auto [least, most] = std::ranges::minmax_element(waited);
  const Straggler found{static_cast<int>(least - waited.begin()), *most - *least};
  if (found.seconds < std::max(kLeast, kGoodPart * seconds)) return std::nullopt;
  return found;
}

}  // namespace curnm
