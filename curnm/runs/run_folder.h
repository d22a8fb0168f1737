#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace curnm {

/// The stages of a step in order, for the record of times.
enum class Stage {
  kPropose,
  kSample,
  kEmbed,
  kMine,
  kBackward,
  kOptimise,
  kObserve,
  kValidate,
  kExchange  // of gradients, where there are several ranks
};
inline constexpr std::array<std::string_view, 9> kStageNames = {"propose", "sample",   "embed",
                                                                "mine",    "backward", "optimise",
                                                                "observe", "validate", "exchange"};

/// One line of metrics.jsonl.
struct EpochRecord {
  std::int64_t epoch = 0;
  std::map<std::string, double> losses;  // means over the batches
  std::map<std::string, double> mining;  // of the miner: its measures and telemetry
  double validation_ap = 0;  // of the goal, or of the protocol that the best epoch is chosen by
  std::optional<double> validation_mrr;      // if the best epoch is chosen by MRR instead
  std::map<std::string, double> validation;  // AP by protocol
  bool best = false;
  double seconds = 0;
  std::array<double, kStageNames.size()> stages{};  // seconds

  /// What the best epoch is chosen by, and its name.
  double selected() const { return validation_mrr.value_or(validation_ap); }
  std::string_view selected_by() const { return validation_mrr ? "MRR" : "AP"; }
  /// Without validation.
  double training_seconds() const {
    return seconds - stages[static_cast<std::size_t>(Stage::kValidate)];
  }
};
nlohmann::ordered_json to_json(const EpochRecord& record);
/// Throws BadJson or nlohmann::json::exception if the JSON is not a record.
EpochRecord epoch_from_json(const nlohmann::ordered_json& json);

/// The folder of a run, and what its files are called:
///   options.json   every option with defaults filled in, the data set's digest, the version
///   metrics.jsonl  one line per epoch
///   checkpoint     where to go on
///   result.json    the test, once the training is over
///   model          what predictions need, once the training is over
///   init           the model that it began from, of a warm start
class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path options() const { return path_ / "options.json"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path checkpoint() const { return path_ / "checkpoint"; }
  std::filesystem::path result() const { return path_ / "result.json"; }
  std::filesystem::path model() const { return path_ / "model"; }
  std::filesystem::path init() const { return path_ / "init"; }

  bool exists() const { return has(path_); }
  bool is_run() const { return has(options()); }
  bool is_finished() const { return has(result()); }

  /// Throws Error if the folder already exists: call it before long work.
  void check_new() const;
  /// Creates the folder with its options.json. Throws as check_new.
  /// `fill` may write further files into the folder that it is given before it appears.
  void create(const nlohmann::ordered_json& options,
              const std::function<void(const RunFolder&)>& fill = {}) const;
  /// Lets the training go on to more epochs: the run is no longer finished. REQUIRES: nobody trains
  /// it.
  void extend(std::int64_t epochs) const;
  /// Throws Error if there is no folder, UnusableRun if it is not a run or is damaged.
  nlohmann::ordered_json read_options() const;
  void write_metrics(const std::vector<EpochRecord>& records) const;
  /// The lines of metrics.jsonl; none if there is no such file. Throws UnusableRun.
  std::vector<EpochRecord> read_metrics() const;
  /// The number of completed epochs, without parsing them.
  std::int64_t count_epochs() const;
  void write_result(const nlohmann::ordered_json& result) const;
  /// Throws UnusableRun if it is damaged.
  nlohmann::ordered_json read_result() const;

 private:
  /// A file that cannot be accessed counts as missing: reading or writing it reports why.
  static bool has(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
  }

  std::filesystem::path path_;
};

}  // namespace curnm
