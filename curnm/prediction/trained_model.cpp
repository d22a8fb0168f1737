#include "curnm/prediction/trained_model.h"

#include "curnm/base/error.h"
#include "curnm/decoders/registry.h"
#include "curnm/models/registry.h"
#include "curnm/nn/tensor_file.h"
#include "curnm/nn/tensors.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

constexpr TensorFileKind kModelFile{
    .name = "model", .version = 1, .remedy = "export it from its run again"};
constexpr const char* kIdText = "ids/text";
constexpr const char* kIdOffsets = "ids/offsets";
constexpr const char* kNodeFeatures = "node_features";

template <class T>
Tensor as_tensor(std::span<const T> values, at::ScalarType type) {
  return at::from_blob(const_cast<T*>(values.data()), {std::ssize(values)}, type).clone();
}

template <class T>
std::vector<T> as_vector(const Tensor& tensor) {
  return {tensor.data_ptr<T>(), tensor.data_ptr<T>() + tensor.numel()};
}

/// The options of a component by its name, as they were saved.
template <class Entry>
Options read_options(const Registry<Entry>& registry, const std::string& name,
                     ordered_json values) {
  Options options = registry.at(name).defaults;
  for (const std::string_view option : option_names(options)) {
    if (values.contains(std::string(option))) continue;
    fail<UnusableRun>("it was trained by an older program without --{}: what that did is not known",
                      option);
  }
  from_json(values, options);
  return options;
}

}  // namespace

bool is_model_file(const std::filesystem::path& file) { return is_tensor_file(kModelFile, file); }

void save_model(const TrainedModel& model, const std::filesystem::path& file) {
  TensorFile contents = *model.tensors;
  Options model_options = model.model_options;
  Options decoder_options = model.decoder_options;
  ReadOptions read = model.read;
  const ordered_json lists = contents.document.value("lists", ordered_json::object());
  contents.document = {{"version", model.version},
                       {"model", model.model},
                       {"model_options", to_json(model_options)},
                       {"decoder", model.decoder},
                       {"decoder_options", to_json(decoder_options)},
                       {"outputs", model.outputs},
                       {"seed", model.seed},
                       {"plain_path", model.path == Path::kPlain},
                       {"device", model.device},
                       {"batch", model.batch},
                       {"data", model.data},
                       {"read", to_json(read)},
                       {"data_digest", model.data_digest},
                       {"events", model.extent.events},
                       {"nodes", model.extent.nodes},
                       {"first_time", model.first_time},
                       {"last_time", model.last_time},
                       {"edge_features", model.edge_features},
                       {"node_features", model.node_features.width},
                       {"state_events", model.state_events},
                       {"lists", lists}};
  contents.tensors[kIdText] = as_tensor<char>(model.ids.text.span(), at::kByte);
  contents.tensors[kIdOffsets] = as_tensor<std::int64_t>(model.ids.offsets.span(), at::kLong);
  if (model.node_features.width > 0) {
    contents.tensors[kNodeFeatures] = to_tensor(model.node_features, at::kCPU);
  }
  save_tensors(contents, kModelFile, file);
}

TrainedModel load_model(const std::filesystem::path& file) {
  auto contents = std::make_shared<TensorFile>(load_tensors(kModelFile, file));
  try {
    const ordered_json& document = contents->document;
    TrainedModel model{.version = document.at("version"),
                       .model = document.at("model"),
                       .decoder = document.at("decoder"),
                       .outputs = document.at("outputs"),
                       .seed = document.at("seed"),
                       .path = document.at("plain_path").get<bool>() ? Path::kPlain : Path::kFast,
                       .device = document.at("device"),
                       .batch = document.at("batch"),
                       .data = document.at("data"),
                       .data_digest = document.at("data_digest"),
                       .extent = {document.at("events"), document.at("nodes")},
                       .first_time = document.at("first_time"),
                       .last_time = document.at("last_time"),
                       .edge_features = document.at("edge_features"),
                       .state_events = document.at("state_events")};
    from_json(document.value("read", ordered_json::object()), model.read);  // new in 0.2
    model.model_options = read_options(models(), model.model, document.at("model_options"));
    model.decoder_options = read_options(decoders(), model.decoder, document.at("decoder_options"));
    const std::vector<std::uint8_t> text = as_vector<std::uint8_t>(contents->tensors.at(kIdText));
    model.ids = {as_vector<std::int64_t>(contents->tensors.at(kIdOffsets)),
                 std::vector<char>(text.begin(), text.end())};
    if (const std::int64_t width = document.at("node_features"); width > 0) {
      model.node_features = {Column<float>(as_vector<float>(contents->tensors.at(kNodeFeatures))),
                             width};
    }
    model.tensors = std::move(contents);
    return model;
  } catch (const UsageError& error) {
    fail<UnusableRun>("{} cannot be used by this program: {}", file.string(), error.what());
  } catch (const UnusableRun& error) {
    fail<UnusableRun>("{}: {}", file.string(), error.what());
  } catch (const nlohmann::json::exception& error) {
    fail<UnusableRun>("{} is damaged: {}", file.string(), error.what());
  } catch (const std::out_of_range&) {
    fail<UnusableRun>("{} is damaged: a tensor is missing", file.string());
  }
}

}  // namespace curnm
