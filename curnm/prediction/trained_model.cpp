#include "curnm/prediction/trained_model.h"

#include "curnm/base/error.h"
#include "curnm/base/json.h"
#include "curnm/decoders/registry.h"
#include "curnm/models/registry.h"
#include "curnm/nn/tensor_file.h"
#include "curnm/nn/tensors.h"
#include "curnm/sampling/question.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

constexpr TensorFileKind kModelFile{
    .name = "model", .version = 3, .remedy = "export it from its run again"};
constexpr const char* kIdText = "ids/text";
constexpr const char* kIdOffsets = "ids/offsets";
constexpr const char* kNodeFeatures = "node_features";
constexpr const char* kEdgeScale = "scale/edges";
constexpr const char* kNodeScale = "scale/nodes";

template <class T>
Tensor as_tensor(std::span<const T> values, at::ScalarType type) {
  return at::from_blob(const_cast<T*>(values.data()), {std::ssize(values)}, type).clone();
}

template <class T>
std::vector<T> as_vector(const Tensor& tensor) {
  return {tensor.data_ptr<T>(), tensor.data_ptr<T>() + tensor.numel()};
}

/// [2,width]: centers and factors; nothing where features are raw or missing.
void put_scale(const FeatureScale& scale, const char* name, TensorFile& file) {
  if (scale.is_identity()) return;
  file.tensors[name] =
      at::cat({to_tensor(scale.center, at::kCPU), to_tensor(scale.factor, at::kCPU)})
          .view({2, std::ssize(scale.center)});
}

FeatureScale get_scale(const TensorFile& file, const char* name, std::int64_t width) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) return {};
  const Tensor& both = found->second;
  check_saved(both.dim() == 2 && both.size(0) == 2 && both.size(1) == width &&
                  both.scalar_type() == at::kFloat,
              "the scales of its features are damaged");
  return {as_vector<float>(both[0]), as_vector<float>(both[1])};
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
  options.check();
  return options;
}

IdMap ids_of(const TensorFile& contents, NodeId nodes) {
  const std::vector<std::uint8_t> text = as_vector<std::uint8_t>(contents.tensors.at(kIdText));
  const IdMap ids{as_vector<std::int64_t>(contents.tensors.at(kIdOffsets)),
                  std::vector<char>(text.begin(), text.end())};
  if (ids.empty()) return ids;
  check_saved(ids.offsets.size() == std::int64_t{nodes} + 1 && are_valid(ids),
              "the names of its nodes are damaged");
  return ids;
}

FeatureMatrix node_features_of(const TensorFile& contents, NodeId nodes) {
  constexpr std::int64_t kMostWidth = 1 << 20;
  const std::int64_t width = json_integer(contents.document, "node_features", 0, kMostWidth);
  if (width == 0) return {};
  Column<float> values(as_vector<float>(contents.tensors.at(kNodeFeatures)));
  check_saved(values.size() == std::int64_t{nodes} * width,
              "the features of its nodes are damaged");
  return {std::move(values), width};
}

/// May throw what the JSON library and LibTorch throw, and std::out_of_range.
TrainedModel model_of(const std::shared_ptr<const TensorFile>& contents) {
  const ordered_json& document = contents->document;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  TrainedModel model{.version = json_string(document, "version"),
                     .model = json_string(document, "model"),
                     .decoder = json_string(document, "decoder"),
                     .outputs = json_integer(document, "outputs", 1, kQuestions.size()),
                     .seed = document.at("seed"),
                     .path = document.at("plain_path").get<bool>() ? Path::kPlain : Path::kFast,
                     .device = json_string(document, "device"),
                     .batch = json_integer(document, "batch", 1, kMost),
                     .data = json_string(document, "data"),
                     .data_digest = json_string(document, "data_digest"),
                     .extent = extent_from_json(document),
                     .first_time = json_number(document, "first_time"),
                     .last_time = json_number(document, "last_time"),
                     .edge_features = json_integer(document, "edge_features", 0, kMost)};
  check_saved(model.outputs == 1 || model.outputs == std::ssize(kQuestions),
              "its outputs answer other questions than those of this program");
  // Files of earlier programs do not say these two.
  model.input_seed = document.value("input_seed", model.seed);
  model.first_unseen = document.contains("first_unseen")
                           ? json_integer(document, "first_unseen", 0, model.extent.events)
                           : model.extent.events;
  model.state_events = json_integer(document, "state_events", 0, model.extent.events);
  const Device known_by_libtorch(model.device);
  from_json(document.at("read"), model.read);
  model.model_options = read_options(models(), model.model, document.at("model_options"));
  model.decoder_options = read_options(decoders(), model.decoder, document.at("decoder_options"));
  model.ids = ids_of(*contents, model.extent.nodes);
  model.node_features = node_features_of(*contents, model.extent.nodes);
  model.scales = {get_scale(*contents, kEdgeScale, model.edge_features),
                  get_scale(*contents, kNodeScale, model.node_features.width)};
  model.tensors = contents;
  return model;
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
                       {"input_seed", model.input_seed},
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
                       {"first_unseen", model.first_unseen},
                       {"edge_features", model.edge_features},
                       {"node_features", model.node_features.width},
                       {"state_events", model.state_events},
                       {"lists", lists}};
  contents.tensors[kIdText] = as_tensor<char>(model.ids.text.span(), at::kByte);
  contents.tensors[kIdOffsets] = as_tensor<std::int64_t>(model.ids.offsets.span(), at::kLong);
  if (model.node_features.width > 0) {
    contents.tensors[kNodeFeatures] = to_tensor(model.node_features, at::kCPU);
  }
  put_scale(model.scales.edges, kEdgeScale, contents);
  put_scale(model.scales.nodes, kNodeScale, contents);
  save_tensors(contents, kModelFile, file);
}

TrainedModel load_model(const std::filesystem::path& file) {
  const auto contents = std::make_shared<const TensorFile>(load_tensors(kModelFile, file));
  const auto damaged = [&](const std::string& reason) {
    return UnusableRun(
        fmt::format("{} is damaged: {}; {}", file.string(), reason, kModelFile.remedy));
  };
  try {
    return model_of(contents);
  } catch (const UsageError& error) {
    fail<UnusableRun>("{} cannot be used by this program: {}", file.string(), error.what());
  } catch (const UnusableRun& error) {
    fail<UnusableRun>("{}: {}", file.string(), error.what());
  } catch (const BadJson& error) {
    throw damaged(error.what());
  } catch (const nlohmann::json::exception& error) {
    throw damaged(json_reason(error));
  } catch (const std::out_of_range&) {
    throw damaged("a tensor is missing");
  } catch (const c10::Error&) {
    throw damaged("a tensor has another shape or type, or its device does not exist");
  }
}

}  // namespace curnm
