#pragma once

#include <string>

#include "curnm/base/options.h"
#include "curnm/prediction/predictor.h"

namespace curnm::cli {

/// Opens a run's folder or an exported file with the events so far: those of `data`, or of where
/// the network was if that is empty. `read`: options of reading, on top of those of the training.
Predictor open_predictor(const std::string& model, const std::string& data,
                         const GivenOptions& read);

}  // namespace curnm::cli
