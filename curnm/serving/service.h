#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/data/journal.h"
#include "curnm/http/message.h"
#include "curnm/http/server.h"
#include "curnm/serving/live_model.h"

namespace curnm {

/// What becomes of events that are earlier than the newest one.
enum class Late { kRefuse, kAccept };
constexpr ChoiceNames<2> choice_names(Late) { return {"refuse", "accept"}; }

struct ServiceOptions {
  std::filesystem::path state;  // folder of the log and its snapshot
  std::string token;            // empty: none is required
  Late late = Late::kRefuse;
  Keep keep;
  std::int64_t most_k = 1000;
  std::int64_t most_events = 10000;                      // of a request
  std::int64_t most_pairs = 10000;                       // of a request
  std::int64_t most_waiting_events = 100000;             // of all requests
  std::int64_t snapshot_bytes = std::int64_t{64} << 20;  // of the log, at least, between snapshots
};

/// An endpoint, as the description at /v1/openapi.json has it.
struct Route {
  std::string_view method;
  std::string_view path;  // {id} stands for anything
  std::string_view name;
};
std::span<const Route> service_routes();
std::string_view openapi_text();

/// Answers requests about a live model and writes down what it is told.
///
/// Events are checked in the order in which they come, written to the journal by one thread that
/// syncs once for all that wait, applied, and only then acknowledged. A snapshot is written in the
/// background when the log has grown; segments before it are removed afterwards.
class Service {
 public:
  using Loader = std::function<TrainedModel(const std::string& file)>;

  /// Brings the model to where the journal ends. `load` opens a model for an exchange. Throws what
  /// Journal and LiveModel throw.
  Service(TrainedModel model, Dataset base, const ServiceOptions& options, Loader load);
  /// Writes what waits.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// What a start has to say, in sentences.
  const std::vector<std::string>& notes() const;

  /// REQUIRES: called from any thread; responds once.
  void handle(const HttpRequest& request, const Respond& respond);

  /// Begins to exchange the model; answers come from the old one until the new one has seen all
  /// events. False if an exchange is going on.
  bool exchange(const std::string& file);
  /// The last exchange as a sentence, for the log of the program; empty if there is no news.
  std::string exchange_news();

  /// What the server counts, for the metrics.
  void watch(std::function<HttpCounts()> counts);
  /// Refuses new events and writes what waits.
  void drain();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace curnm
