#include "cli/open_predictor.h"

#include "cli/options.h"
#include "curnm/data/open.h"
#include "curnm/training/session.h"

namespace curnm::cli {

Predictor open_predictor(const std::string& model, const std::string& data,
                         const GivenOptions& read) {
  if (is_model_file(model)) {
    TrainedModel trained = load_model(model);
    const std::string path = data.empty() ? trained.data : data;
    set_read_options(read, path, trained.read);
    Dataset dataset = open_dataset(path, is_raw(path) ? trained.read : ReadOptions{});
    return {std::move(trained), std::move(dataset)};
  }
  const RunFolder folder(model);
  RunSpec spec = read_run(folder, RunUse::kTest);
  set_read_options(read, data.empty() ? spec.data : data, spec.read);
  Dataset dataset = open_run_data(spec, data, /*grown=*/true);
  TrainedModel trained = read_trained_model(folder, spec, dataset);
  return {std::move(trained), std::move(dataset)};
}

}  // namespace curnm::cli
