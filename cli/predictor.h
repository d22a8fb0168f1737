#pragma once

#include <string>

#include "cli/options.h"
#include "curnm/prediction/predictor.h"

// What commands that ask a trained model share: opening it, and reading who is asked about.

namespace curnm::cli {

/// Which model, and which events.
struct PredictorFlags {
  std::string run;   // folder, or an exported file
  std::string data;  // empty: where the network was
  GivenOptions read;
  std::int64_t threads = 0;
  std::string keep;  // as parse_keep; empty: everything

  void add_to(CLI::App& command);
};

/// A trained model and the events so far.
struct ModelAndEvents {
  TrainedModel model;
  Dataset events;
};
/// Opens a run's folder or an exported file, with the network as `data` has it, or as it was.
ModelAndEvents open_model_and_events(const std::string& run, const std::string& data,
                                     const GivenOptions& read);

/// --keep, as text for parse_keep.
void add_keep_flag(CLI::App& command, std::string& keep);

/// Sets the threads and opens what can be asked.
Predictor open_predictor(const PredictorFlags& flags);

/// What becomes of names that the network does not have.
enum class Unknown { kCount, kStop };

/// Nodes by their names in a file, one on each line.
struct NodeList {
  struct Entry {
    std::string name;
    NodeId node = kNoNode;  // as it is for one that the network does not have
  };
  std::vector<Entry> entries;
  std::int64_t unknown = 0;  // how many of them

  /// Those that the network has.
  std::vector<NodeId> known() const;
};

/// Empty lines are skipped, and so is a first line that names a column and no node. `like`: as of
/// Predictor::find. Throws Error for an unknown node with Unknown::kStop, and for an empty list.
NodeList read_nodes(const std::filesystem::path& path, const Predictor& predictor, NodeId like,
                    Unknown unknown);

}  // namespace curnm::cli
