#include <ATen/Parallel.h>
#include <ATen/ops/stack.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include "bindings/module.h"
#include "curnm/base/parallel.h"
#include "curnm/decoders/decoder.h"
#include "curnm/miners/miner.h"
#include "curnm/nn/fused.h"
#include "curnm/nn/tensors.h"
#include "curnm/training/batches.h"
#include "curnm/training/learner.h"

namespace curnm::python {
namespace {

/// Nodes as models index with them: int64.
Tensor node_tensor(std::span<const NodeId> nodes) {
  return to_tensor(nodes, at::kCPU).to(at::kLong);
}

Tensor source_rows(const Links& links, Device device) {
  std::vector<std::int64_t> rows;
  rows.reserve(index(links.size()));
  for (std::int64_t i = 0; i < links.size(); ++i) rows.push_back(links.source_root(i));
  return to_tensor(rows, device);
}

std::string text_of(at::IntArrayRef sizes) {
  return fmt::format("[{}]", fmt::join(sizes.begin(), sizes.end(), ","));
}

/// What a model returns for the roots of links: [R,D], on the CPU.
class Embeddings {
 public:
  explicit Embeddings(std::int64_t width_of_all) : width(width_of_all) {
    constexpr std::int64_t kMost = 65536;
    if (width < 1 || width > kMost) {
      fail("width is {}: it must be between 1 and {}", width, kMost);
    }
  }

  const std::int64_t width;

  void check(const Tensor& z, std::int64_t rows) const {
    if (!z.defined()) fail("there are no embeddings");
    if (!z.device().is_cpu()) {
      fail("the embeddings are on {}, and the miner is on the CPU: embeddings.cpu()",
           z.device().str());
    }
    if (z.scalar_type() != at::kFloat) {
      fail("the embeddings are {}: they must be float32", toString(z.scalar_type()));
    }
    if (z.sizes() != at::IntArrayRef({rows, width})) {
      fail("the embeddings have shape {}: {} questions of width {} need [{},{}]",
           text_of(z.sizes()), rows, width, rows, width);
    }
    if (!z.isfinite().all().item<bool>()) fail("an embedding is not a finite number");
  }
};

/// A function of Python in place of a decoder: (h_src, h_dst) -> logits.
class CallableDecoder final : public Decoder {
 public:
  CallableDecoder(py::object function, const std::vector<Tensor>& parameters,
                  const DecoderContext& context)
      : Decoder(context), function_(std::move(function)) {
    // Known here so that a miner may freeze them.
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      register_parameter(std::to_string(i), parameters[i]);
    }
  }
  ~CallableDecoder() override {
    const py::gil_scoped_acquire gil;
    function_ = py::object();
  }

  Tensor logits(const Links& links, const Tensor& z) const override {
    const Tensor src = select_rows(z, source_rows(links, z.device()), Path::kFast);
    const Tensor dst = select_rows(z, to_tensor(links.destination(), z.device()), Path::kFast);
    const py::gil_scoped_acquire gil;
    const py::object returned = function_(src, dst);
    if (!THPVariable_Check(returned.ptr())) fail("the decoder returned no tensor of logits");
    Tensor logits = py::cast<Tensor>(returned);
    if (outputs() == 1 && logits.dim() == 1) logits = logits.unsqueeze(1);
    if (logits.sizes() != at::IntArrayRef({links.size(), outputs()})) {
      fail("the decoder returned logits of shape {}: {} links with {} output(s) need [{},{}]",
           text_of(logits.sizes()), links.size(), outputs(), links.size(), outputs());
    }
    if (at::GradMode::is_enabled() && z.requires_grad() && !logits.requires_grad()) {
      fail("the decoder's logits have no gradient: it must be differentiable");
    }
    return logits.to(z.options());
  }

 private:
  py::object function_;
};

/// The options of a component, with the values of a preset where one is named.
Options options_of(const Component& component, GivenOptions given) {
  Options options = component.defaults;
  if (const auto preset = given.extract("preset")) {
    const Preset& found =
        find_entry<Preset>("preset", std::span<const Preset>(component.presets), preset.mapped());
    set_given(found.options, options);
  }
  set_all_given(given, options, component.name);
  options.check();
  return options;
}

/// A decoder of the library. One call at a time: training and scoring look up different pasts.
class BuiltDecoder {
 public:
  BuiltDecoder(const std::string& name, std::shared_ptr<const Task> task, std::int64_t width,
               std::int64_t outputs, const GivenOptions& given)
      : task_(std::move(task)), embeddings_(width) {
    if (outputs != 1 && outputs != std::ssize(kQuestions)) {
      fail("outputs is {}: there may be 1, or {} for each question one", outputs,
           std::ssize(kQuestions));
    }
    const LinkTask& link_task = task_->task;
    const EventLog& train = link_task.train().log;
    const DecoderEntry& entry = decoders().at(name);
    decoder_ = make_decoder(name, options_of(entry, given),
                            {.num_nodes = link_task.log().num_nodes,
                             .training_span = train.time.back() - train.time.front(),
                             .width = width,
                             .outputs = outputs,
                             .seed = task_->seed});
    if (decoder_->state_size() > 0) {
      fail("a decoder that follows the stream of events (--walk on) is for curnm.train");
    }
    decoder_->use(link_task.train_past());
    decoder_->fit(typical_links(train, link_task.train_destinations(), task_->seed));
  }

  /// Calls body(decoder) with what may be looked up in training.
  template <class Body>
  auto in_training(const Body& body) {
    const std::lock_guard lock(mutex_);
    decoder_->use(task_->task.train_past());
    return body(*decoder_);
  }
  /// The logits [L,Q] of links in an evaluation.
  Tensor logits(const Links& links, const Tensor& z) {
    embeddings_.check(z, links.roots().size());
    const std::lock_guard lock(mutex_);
    decoder_->use(task_->task.past());
    return decoder_->logits(links, z);
  }

  const std::shared_ptr<const Task>& task() const { return task_; }
  std::int64_t width() const { return embeddings_.width; }
  Decoder& decoder() { return *decoder_; }

 private:
  std::shared_ptr<const Task> task_;
  Embeddings embeddings_;
  std::shared_ptr<Decoder> decoder_;
  std::mutex mutex_;
};

class Mining;

/// The links of a batch, from its proposal to its observation.
struct Proposal {
  std::shared_ptr<const Batch> batch;
  std::shared_ptr<const Mining> miner;
  Candidates candidates;
  Links links;
  std::optional<Mined> mined = {};
  bool observed = false;
};

/// A miner of the library, for models of Python.
class Mining : public std::enable_shared_from_this<Mining> {
 public:
  Mining(const std::string& name, std::shared_ptr<const Task> task, std::int64_t width,
         std::int64_t epochs, const GivenOptions& given)
      : task_(std::move(task)), embeddings_(width) {
    if (epochs < 1) fail("epochs is {}: it must be at least 1", epochs);
    const LinkTask& link_task = task_->task;
    miner_ = make_miner(name, options_of(miners().at(name), given),
                        {.events = &link_task.train().log,
                         .past = link_task.train_past(),
                         .destinations = link_task.train_destinations(),
                         .epochs = epochs,
                         .width = width,
                         .seed = task_->seed});
  }

  std::shared_ptr<Proposal> propose(std::shared_ptr<Batch> batch) {
    if (batch->task != task_) fail("the batch is one of another task than the miner's");
    const std::lock_guard lock(mutex_);
    if (batch->epoch != epoch_) {
      epoch_ = batch->epoch;
      miner_->begin_epoch(epoch_);
    }
    Candidates candidates = miner_->propose(
        batch->events,
        Rng(task_->seed, Stream::kCandidates, static_cast<std::uint64_t>(batch->epoch)));
    Links links(batch->events, candidates);
    return std::make_shared<Proposal>(
        Proposal{std::move(batch), shared_from_this(), std::move(candidates), std::move(links)});
  }

  Tensor loss(Proposal& proposal, const Tensor& z, BuiltDecoder& decoder) {
    if (decoder.task() != task_) fail("the decoder is one of another task than the miner's");
    if (decoder.width() != embeddings_.width) {
      fail("the decoder has width {}, the miner {}", decoder.width(), embeddings_.width);
    }
    return decoder.in_training([&](const Decoder& built) { return loss_by(proposal, z, built); });
  }
  Tensor loss(Proposal& proposal, const Tensor& z, const py::object& function,
              const std::vector<Tensor>& parameters) {
    const CallableDecoder decoder(function, parameters,
                                  {.width = embeddings_.width, .outputs = outputs()});
    const py::gil_scoped_release release;
    return loss_by(proposal, z, decoder);
  }

  void observe(Proposal& proposal) {
    check_mine(proposal);
    if (!proposal.mined) fail("observe comes after loss: these links have none yet");
    if (proposal.observed) fail("these links have been observed already");
    const std::lock_guard lock(mutex_);
    miner_->observe(proposal.batch->events, proposal.candidates, *proposal.mined);
    proposal.observed = true;
    ++observed_;
  }

  std::map<std::string, double> end_epoch(double metric, const std::map<std::string, double>& ap) {
    if (!std::isfinite(metric)) fail("the validation is {}: it must be a finite number", metric);
    const std::lock_guard lock(mutex_);
    if (observed_ == 0) fail("end_epoch comes after the batches of an epoch: none was observed");
    observed_ = 0;
    std::map<std::string, double> facts = miner_->telemetry();
    facts.merge(miner_->end_epoch({.metric = metric, .ap = ap}));
    return facts;
  }

  std::int64_t outputs() const { return num_outputs(*miner_); }
  const NegativeMiner& miner() const { return *miner_; }

  std::vector<Tensor> state() {
    const std::lock_guard lock(mutex_);
    return miner_->state();
  }
  void set_state(const std::vector<Tensor>& state) {
    const std::lock_guard lock(mutex_);
    miner_->set_state(state);
  }

 private:
  void check_mine(const Proposal& proposal) const {
    if (proposal.miner.get() != this) fail("these links were proposed by another miner");
  }

  Tensor loss_by(Proposal& proposal, const Tensor& z, const Decoder& decoder) {
    check_mine(proposal);
    if (proposal.observed) fail("these links have been observed already: propose new ones");
    embeddings_.check(z, proposal.links.roots().size());
    if (!z.requires_grad()) {
      fail("the embeddings have no gradient: was the model called under torch.no_grad()?");
    }
    if (decoder.outputs() != outputs()) {
      fail("the miner teaches {} output(s), and the decoder has {}: Decoder(..., outputs={})",
           outputs(), decoder.outputs(), outputs());
    }
    const std::lock_guard lock(mutex_);
    const at::AutoGradMode gradients(true);
    Mined mined = miner_->mine(proposal.batch->events, proposal.candidates,
                               {proposal.links, z, Path::kFast}, decoder);
    const double value = mined.loss.item<double>();
    if (!std::isfinite(value)) fail("the loss became {}", value);
    Tensor loss = std::move(mined.loss);  // the graph belongs to the caller alone
    proposal.mined = std::move(mined);
    return loss;
  }

  std::shared_ptr<const Task> task_;
  Embeddings embeddings_;
  std::shared_ptr<NegativeMiner> miner_;
  std::int64_t epoch_ = -1;
  std::int64_t observed_ = 0;  // batches of this epoch
  std::mutex mutex_;
};

/// The batches of an epoch, as ranges of training events.
std::vector<std::pair<std::int64_t, std::int64_t>> ranges_of(const Task& task, std::int64_t size,
                                                             std::int64_t epoch) {
  if (size < 1) fail("size is {}: a batch has at least one event", size);
  if (epoch < 0) fail("epoch is {}: epochs count from 0", epoch);
  const std::vector<std::int64_t> bounds =
      batch_boundaries(task.task.train().size(), size,
                       Rng(task.seed, Stream::kBatchBoundaries, static_cast<std::uint64_t>(epoch)));
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) ranges.emplace_back(bounds[i], bounds[i + 1]);
  return ranges;
}

/// Weights by name, which share memory with the module's.
py::dict weights_of(const Module& module) {
  py::dict weights;
  for (const auto& item : module.named_weights())
    weights[py::str(item.name)] = py::cast(item.tensor);
  return weights;
}

/// The columns of links, which links_of(object) finds.
template <class Bound, class LinksOf>
void bind_links(Bound& bound, const LinksOf& links_of) {
  using Object = typename Bound::type;
  const auto column = [&](const char* name, auto tensor_of) {
    bound.def_property_readonly(
        name, [=](const Object& object) -> Tensor { return tensor_of(links_of(object)); });
  };
  column("nodes", [](const Links& links) { return node_tensor(links.roots().nodes); });
  column("times", [](const Links& links) { return to_tensor(links.roots().times, at::kCPU); });
  column("src", [](const Links& links) { return node_tensor(links.src()); });
  column("dst", [](const Links& links) { return node_tensor(links.dst()); });
  column("time", [](const Links& links) { return to_tensor(links.time(), at::kCPU); });
  column("rows", [](const Links& links) {
    return at::stack({source_rows(links, at::kCPU), to_tensor(links.destination(), at::kCPU)}, 1);
  });
}

}  // namespace

void bind_mining(py::module_& module) {
  using Released = py::call_guard<py::gil_scoped_release>;
  py::class_<Links> links(module, "Links");
  links.def(py::init([](const Task& task, const Nodes& src, const Nodes& dst, const Times& time) {
              return Links(PairArrays(src, dst, time, task.task.log().num_nodes).pairs());
            }),
            py::arg("task"), py::arg("src").noconvert(), py::arg("dst").noconvert(),
            py::arg("time").noconvert());
  bind_links(links, [](const Links& self) -> const Links& { return self; });

  py::class_<Proposal, std::shared_ptr<Proposal>> proposal(module, "Proposal");
  bind_links(proposal, [](const Proposal& self) -> const Links& { return self.links; });
  proposal
      .def_property_readonly("num_positives",
                             [](const Proposal& p) { return p.links.positives().size; })
      .def_property_readonly("num_candidates",
                             [](const Proposal& p) { return p.links.candidates().size; })
      .def_property_readonly("losses", [](const Proposal& p) {
        return p.mined ? p.mined->losses : std::map<std::string, double>();
      });

  py::class_<BuiltDecoder, std::shared_ptr<BuiltDecoder>>(module, "Decoder")
      .def(py::init([](const std::string& name, std::shared_ptr<Task> task, std::int64_t width,
                       std::int64_t outputs, const GivenOptions& options) {
             return std::make_shared<BuiltDecoder>(name, std::move(task), width, outputs, options);
           }),
           py::arg("name"), py::arg("task").none(false), py::arg("width"), py::arg("outputs"),
           py::arg("options"), Released())
      .def("logits", &BuiltDecoder::logits, py::arg("links"), py::arg("z"), Released())
      .def("parameters", [](BuiltDecoder& d) { return d.decoder().parameters(); })
      .def("weights", [](BuiltDecoder& d) { return weights_of(d.decoder()); })
      .def_property_readonly("outputs", [](BuiltDecoder& d) { return d.decoder().outputs(); });

  // Functions of references: pybind11 would call a method without arguments on None.
  py::class_<Mining, std::shared_ptr<Mining>>(module, "Miner")
      .def(py::init([](const std::string& name, std::shared_ptr<Task> task, std::int64_t width,
                       std::int64_t epochs, const GivenOptions& options) {
             return std::make_shared<Mining>(name, std::move(task), width, epochs, options);
           }),
           py::arg("name"), py::arg("task").none(false), py::arg("width"), py::arg("epochs"),
           py::arg("options"), Released())
      .def("propose", &Mining::propose, py::arg("batch").none(false), Released())
      .def("loss", py::overload_cast<Proposal&, const Tensor&, BuiltDecoder&>(&Mining::loss),
           py::arg("links"), py::arg("z"), py::arg("decoder"), Released())
      .def("loss",
           py::overload_cast<Proposal&, const Tensor&, const py::object&,
                             const std::vector<Tensor>&>(&Mining::loss),
           py::arg("links"), py::arg("z"), py::arg("function"), py::arg("parameters"))
      .def("observe", &Mining::observe, py::arg("links"), Released())
      .def("end_epoch", &Mining::end_epoch, py::arg("metric"), py::arg("ap"), Released())
      .def("parameters", [](Mining& m) { return m.miner().parameters(); })
      .def("weights", [](Mining& m) { return weights_of(m.miner()); })
      .def(
          "state", [](Mining& m) { return m.state(); }, Released())
      .def("set_state", &Mining::set_state, py::arg("state"), Released())
      .def("notes", [](Mining& m) { return m.miner().notes(); })
      .def_property_readonly("outputs", [](const Mining& m) { return m.outputs(); });
  module.def("batch_ranges", &ranges_of, py::arg("task").none(false), py::arg("size"),
             py::arg("epoch"));
}

}  // namespace curnm::python

PYBIND11_MODULE(_learning, module) {
  using namespace curnm::python;
  pybind11::module_::import("curnm._core");  // the types that both know
  prepare(module, [] {
    curnm::set_num_threads(1);
    at::set_num_threads(1);
  });
  bind_training(module);
  bind_mining(module);
}
