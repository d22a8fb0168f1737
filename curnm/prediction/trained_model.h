#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "curnm/base/options.h"
#include "curnm/base/path.h"
#include "curnm/data/reader.h"
#include "curnm/evaluation/task_features.h"

namespace curnm {

struct TensorFile;

/// Everything needed to query a trained model except the events: weights, resolved options, the ids
/// of nodes, the widths of features, and the state after the events it has seen.
///
/// Immutable once made; copies share the tensors.
struct TrainedModel {
  std::string version;  // of the program that trained it
  std::string model;    // by its name in the registry
  Options model_options;
  std::string decoder;
  Options decoder_options;
  std::int64_t outputs = 1;  // of the decoder
  std::uint64_t seed = 0;
  std::uint64_t input_seed = 0;  // that of the first training where warm starts followed
  Path path = Path::kFast;
  std::string device = "cpu";
  std::int64_t batch = 200;  // events that are observed at once

  // The network that it was trained on.
  std::string data;         // where it was
  ReadOptions read;         // how it was read
  std::string data_digest;  // of its contents
  Extent extent;
  Timestamp first_time = 0;  // of the training period
  Timestamp last_time = 0;
  /// The first event that neither taught nor chose the weights: that of the test. As many as there
  /// are in all where it is not known.
  EventId first_unseen = 0;
  std::int64_t edge_features = 0;  // width
  IdMap ids;
  FeatureMatrix node_features;
  FeatureScales scales;

  /// model/..., decoder/...: weights. state: that of the model after `state_events` events.
  std::shared_ptr<const TensorFile> tensors;
  EventId state_events = 0;
};

/// One deployable file: format version, digest, and all of the above.
void save_model(const TrainedModel& model, const std::filesystem::path& file);
/// Throws Error for a file that is missing, UnusableRun for one that is damaged, of another kind,
/// of a newer version, or for a component that this program does not have.
TrainedModel load_model(const std::filesystem::path& file);
bool is_model_file(const std::filesystem::path& file);

}  // namespace curnm
