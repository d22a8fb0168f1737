#include "curnm/evaluation/ranking_negatives.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "curnm/base/csv.h"
#include "curnm/base/error.h"
#include "curnm/base/parallel.h"
#include "curnm/data/cells.h"
#include "curnm/data/id_map.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kTitle = "# curnm negatives ";
constexpr int kFormat = 1;
constexpr std::size_t kEventColumns = 4;  // event, src, dst, time

/// Fills `row` for an event of u at t; the rest of it stays kNoNode.
void draw_row(const EvaluationSet& set, NodeId u, Timestamp t, Rng rng, DrawScratch& scratch,
              std::span<NodeId> row) {
  std::size_t filled = 0;
  std::vector<Partner> partners(row.size());
  const auto draw_partners = [&](std::size_t most) {
    const auto drawn = static_cast<std::size_t>(
        set.pairs->draw(u, t, rng, scratch, std::span(partners).first(most),
                        [&](NodeId v) { return std::ranges::count(row.first(filled), v) == 0; }));
    for (std::size_t i = 0; i < drawn; ++i) row[filled++] = partners[i].node;
  };
  draw_partners(row.size() / 2);
  const auto is_stranger = [&](NodeId v) { return set.pairs->before(u, v, t).count == 0; };
  draw_absent(*set.pairs, set.destinations, u, t, static_cast<std::int64_t>(row.size() - filled),
              rng, scratch, is_stranger, [&](NodeId v) { row[filled++] = v; });
  draw_partners(row.size() - filled);
}

ordered_json header_of(const LinkTask& task, const RankingNegatives& negatives) {
  return {{"format", kFormat},
          {"data", task.data_digest()},
          {"part", name_of(negatives.part)},
          {"events", negatives.size()},
          {"per_event", negatives.per_event},
          {"seed", negatives.seed}};
}

/// What the first line of a file says, checked against the task; the rows are still missing.
RankingNegatives read_header(std::string_view line, const std::string& path, const LinkTask& task) {
  if (!line.starts_with(kTitle)) {
    fail("{} has no negatives: `curnm negatives DATA --out FILE` writes such files", path);
  }
  try {
    const ordered_json header = ordered_json::parse(line.substr(kTitle.size()));
    if (header.at("format") != kFormat) {
      fail("{} has format {}, and this program reads {}", path, header.at("format").dump(),
           kFormat);
    }
    for (const char* count : {"events", "per_event", "seed"}) {
      if (!header.at(count).is_number_unsigned()) {
        fail("{} is damaged: {} {} is not a whole number", path, count, header.at(count).dump());
      }
    }
    RankingNegatives negatives{
        .per_event = header.at("per_event"), .seed = header.at("seed"), .nodes = {}};
    const auto part = header.at("part").get<std::string>();
    if (part == name_of(RankedPart::kValidation)) {
      negatives.part = RankedPart::kValidation;
    } else if (part != name_of(RankedPart::kTest)) {
      fail("{} is damaged: there is no part '{}'", path, part);
    }
    if (negatives.per_event < 1)
      fail("{} is damaged: {} negatives per event", path, negatives.per_event);
    if (header.at("data") != task.data_digest()) {
      fail("{} is for other data: its digest is {}, and not {}", path,
           header.at("data").get<std::string>(), task.data_digest());
    }
    const std::int64_t events = set_of(task, negatives.part).positives.size();
    if (header.at("events") != events) {
      fail("{} is for {} {} events, and here are {}: it was drawn with other options of the split",
           path, header.at("events").dump(), part, events);
    }
    return negatives;
  } catch (const nlohmann::json::exception& error) {
    fail("{} is damaged: {}", path, error.what());
  }
}

/// Reads the rows of a file one by one.
class NegativesReader {
 public:
  NegativesReader(const std::filesystem::path& path, const LinkTask& task,
                  RankingNegatives& negatives)
      : rows_(path),
        ids_(task.dataset().ids),
        names_(ids_, task.log().num_nodes),
        set_(set_of(task, negatives.part)),
        negatives_(negatives),
        width_(static_cast<std::size_t>(negatives.per_event)) {}

  void read() {
    const std::int64_t events = set_.positives.size();
    if (!rows_.next()) fail("{} ends after its first line", rows_.path());
    for (std::int64_t i = 0; i < events; ++i) {
      if (!rows_.next()) fail("{} is cut off: it has {} of {} events", rows_.path(), i, events);
      read_event(static_cast<EventId>(i));
    }
    if (rows_.next()) rows_.fail_here("a row after the last of {} events", events);
  }

 private:
  NodeId node(std::string_view name) const {
    try {
      return names_.find(name);
    } catch (const Error& error) {
      rows_.fail_here("{}", error.what());
    }
  }

  void read_event(EventId i) {
    const auto fields = rows_.fields();
    if (fields.size() != kEventColumns + width_) {
      rows_.fail_here("{} columns instead of {}", fields.size(), kEventColumns + width_);
    }
    const EventLog& log = set_.positives.log;
    const EventId event = set_.positives.events[static_cast<std::size_t>(i)];
    if (fields[0] != std::to_string(event) || node(fields[1]) != log.src[i] ||
        node(fields[2]) != log.dst[i] || times_.parse(rows_, fields[3]) != log.time[i]) {
      rows_.fail_here(
          "event {}, {} to {} at {}, is not the next one of the {}: that is event {}, {} to {} at "
          "{}. The file is damaged, or was drawn with other options of the split",
          fields[0], fields[1], fields[2], fields[3], name_of(negatives_.part), event,
          ids_.name(log.src[i]), ids_.name(log.dst[i]), log.time[i]);
    }
    read_nodes(fields.subspan(kEventColumns), log.src[i], log.time[i]);
  }

  void read_nodes(std::span<const std::string_view> fields, NodeId src, Timestamp time) {
    const auto end = std::ranges::find(fields, std::string_view());
    if (std::any_of(end, fields.end(), [](std::string_view field) { return !field.empty(); })) {
      rows_.fail_here("a negative after an empty column");
    }
    std::vector<NodeId> row;
    std::transform(fields.begin(), end, std::back_inserter(row),
                   [&](std::string_view field) { return node(field); });
    for (const NodeId v : row) {
      if (set_.pairs->occurs_at(src, v, time)) {
        rows_.fail_here("{} is no negative: its source meets it at that time", ids_.name(v));
      }
      if (std::ranges::count(row, v) > 1) rows_.fail_here("{} is there twice", ids_.name(v));
    }
    row.resize(width_, kNoNode);
    negatives_.nodes.insert(negatives_.nodes.end(), row.begin(), row.end());
  }

  RowReader rows_;
  TimeColumn times_;
  const IdMap& ids_;
  NodeNames names_;
  const EvaluationSet& set_;
  RankingNegatives& negatives_;
  std::size_t width_;
};

}  // namespace

const EvaluationSet& set_of(const LinkTask& task, RankedPart part) {
  return part == RankedPart::kValidation ? task.validation() : task.test();
}

std::span<const NodeId> RankingNegatives::of(std::int64_t i) const {
  const auto width = static_cast<std::size_t>(per_event);
  const auto row = std::span(nodes).subspan(static_cast<std::size_t>(i) * width, width);
  return row.first(static_cast<std::size_t>(std::ranges::find(row, kNoNode) - row.begin()));
}

RankingNegatives draw_ranking_negatives(const LinkTask& task, RankedPart part,
                                        std::int64_t per_event, std::uint64_t seed) {
  CURNM_ASSERT(per_event > 0);
  const EvaluationSet& set = set_of(task, part);
  const EventLog& log = set.positives.log;
  const auto width = static_cast<std::size_t>(per_event);
  RankingNegatives negatives{
      .part = part,
      .per_event = per_event,
      .seed = seed,
      .nodes = std::vector<NodeId>(static_cast<std::size_t>(log.size()) * width, kNoNode)};
  parallel_for(log.size(), /*grain=*/64, [&](std::int64_t begin, std::int64_t end) {
    DrawScratch scratch;
    for (EventId i = begin; i < end; ++i) {
      const auto row = static_cast<std::size_t>(i);
      const auto event = static_cast<std::uint64_t>(set.positives.events[row]);
      draw_row(set, log.src[i], log.time[i], Rng(seed, Stream::kRankingNegatives, 0, event),
               scratch, std::span(negatives.nodes).subspan(row * width, width));
    }
  });
  return negatives;
}

void write_ranking_negatives(const std::filesystem::path& path, const LinkTask& task,
                             const RankingNegatives& negatives) {
  const EventSet& positives = set_of(task, negatives.part).positives;
  const EventLog& log = positives.log;
  const auto name = [&](NodeId node) { return csv_field(task.dataset().ids.name(node)); };
  std::string text =
      fmt::format("{}{}\nevent,src,dst,time", kTitle, header_of(task, negatives).dump());
  for (std::int64_t k = 1; k <= negatives.per_event; ++k) text += fmt::format(",negative_{}", k);
  text += '\n';
  for (EventId i = 0; i < log.size(); ++i) {
    const auto row = negatives.of(i);
    text += fmt::format("{},{},{},{}", positives.events[static_cast<std::size_t>(i)],
                        name(log.src[i]), name(log.dst[i]), log.time[i]);
    for (const NodeId v : row) (text += ',') += name(v);
    text.append(static_cast<std::size_t>(negatives.per_event) - row.size(), ',');
    text += '\n';
  }
  write_file_atomically(path, text);
}

RankingNegatives read_ranking_negatives(const std::filesystem::path& path, const LinkTask& task) {
  RankingNegatives negatives = read_header(TextFile::first_line(path), path.string(), task);
  NegativesReader(path, task, negatives).read();
  return negatives;
}

}  // namespace curnm
