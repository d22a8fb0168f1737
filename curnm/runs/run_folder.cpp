#include "curnm/runs/run_folder.h"

#include <algorithm>
#include <limits>

#include "curnm/base/error.h"
#include "curnm/base/files.h"
#include "curnm/base/json.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // metrics of a million epochs

/// Reads a file that resuming the run would write again; errors say so.
template <class Read>
auto read_renewable(const fs::path& file, const Read& read) {
  try {
    return read(read_file(file, kMostBytes));
  } catch (const nlohmann::json::exception&) {
  } catch (const BadJson&) {
  }
  fail<UnusableRun>("{} is damaged: `curnm train --resume {}` writes it again", file.string(),
                    file.parent_path().string());
}

/// NaN is stored as null, since JSON has no NaN.
std::map<std::string, double> numbers(const ordered_json& json) {
  std::map<std::string, double> values;
  for (const auto& [name, value] : json.get<std::map<std::string, ordered_json>>()) {
    values[name] = value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
  }
  return values;
}

/// A stage that only trainings on several ranks have: the records of others do not name it.
bool only_of_ranks(std::size_t stage) {
  return stage == static_cast<std::size_t>(Stage::kExchange);
}

}  // namespace

ordered_json to_json(const EpochRecord& record) {
  ordered_json stages;
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    if (only_of_ranks(stage) && record.stages[stage] == 0) continue;
    stages[std::string(kStageNames[stage])] = record.stages[stage];
  }
  ordered_json json = {
      {"epoch", record.epoch}, {"losses", record.losses}, {"validation_ap", record.validation_ap}};
  if (record.validation_mrr) json["validation_mrr"] = *record.validation_mrr;
  json.update({{"validation", record.validation},
               {"best", record.best},
               {"mining", record.mining},
               {"seconds", record.seconds},
               {"stages", stages}});
  return json;
}

EpochRecord epoch_from_json(const ordered_json& json) {
  constexpr std::int64_t kMostEpochs = 1'000'000'000;
  EpochRecord record{.epoch = json_integer(json, "epoch", 0, kMostEpochs),
                     .losses = numbers(json.at("losses")),
                     .mining = numbers(json.at("mining")),
                     .validation_ap = json.at("validation_ap"),
                     .validation = numbers(json.at("validation")),
                     .best = json.at("best"),
                     .seconds = json.at("seconds")};
  if (json.contains("validation_mrr")) record.validation_mrr = json["validation_mrr"];
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    const std::string name(kStageNames[stage]);
    if (only_of_ranks(stage) && !json.at("stages").contains(name)) continue;
    record.stages[stage] = json.at("stages").at(name);
  }
  return record;
}

void RunFolder::check_new() const {
  if (!exists()) return;
  fail("{} exists already: choose another --out{}", path_.string(),
       is_run() ? ", or continue it with --resume" : "");
}

void RunFolder::create(const ordered_json& options,
                       const std::function<void(const RunFolder&)>& fill) const {
  check_new();
  AtomicFolder output(path_, /*replace=*/false);
  write_file(output.staging() / this->options().filename(), options.dump(2) + "\n");
  if (fill) fill(RunFolder(output.staging()));
  output.commit();
}

void RunFolder::extend(std::int64_t epochs) const {
  ordered_json changed = read_options();
  changed["train"]["epochs"] = epochs;
  // In this order a run that is killed in between can still be extended.
  write_file_atomically(options(), changed.dump(2) + "\n");
  std::filesystem::remove(result());
}

ordered_json RunFolder::read_options() const {
  if (!exists()) fail("{} does not exist", path_.string());
  if (!is_run()) fail<UnusableRun>("{} is not a run: it has no options.json", path_.string());
  try {
    return read_json(options());
  } catch (const BadJson& error) {
    fail<UnusableRun>("{} is damaged: {}", options().string(), error.what());
  }
}

void RunFolder::write_metrics(const std::vector<EpochRecord>& records) const {
  std::string lines;
  for (const EpochRecord& record : records) lines += to_json(record).dump() + "\n";
  write_file_atomically(metrics(), lines);
}

std::vector<EpochRecord> RunFolder::read_metrics() const {
  if (!has(metrics())) return {};
  return read_renewable(metrics(), [](std::string_view rest) {
    std::vector<EpochRecord> records;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      records.push_back(epoch_from_json(parse_json(rest.substr(0, end))));
      if (records.back().epoch + 1 != std::ssize(records)) throw BadJson("an epoch is missing");
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return records;
  });
}

std::int64_t RunFolder::count_epochs() const {
  return has(metrics()) ? std::ranges::count(read_file(metrics(), kMostBytes), '\n') : 0;
}

void RunFolder::write_result(const ordered_json& found) const {
  write_file_atomically(result(), found.dump(2) + "\n");
}

ordered_json RunFolder::read_result() const {
  return read_renewable(result(), [](std::string_view text) { return parse_json(text); });
}

}  // namespace curnm
