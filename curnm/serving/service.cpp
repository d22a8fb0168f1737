#include "curnm/serving/service.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "curnm/base/files.h"
#include "curnm/base/names.h"
#include "curnm/base/parallel.h"
#include "curnm/base/version.h"
#include "curnm/http/metrics.h"
#include "curnm/http/requests.h"
#include "curnm/serving/assets.h"

namespace curnm {
namespace service_detail {  // named, because Service::Parts uses it

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::array<Route, 9> kRoutes = {{{"POST", "/v1/events", "events"},
                                           {"GET", "/v1/topk", "topk"},
                                           {"POST", "/v1/score", "score"},
                                           {"GET", "/v1/nodes/{id}", "nodes"},
                                           {"POST", "/v1/model", "model"},
                                           {"GET", "/v1/openapi.json", "openapi"},
                                           {"GET", "/healthz", "healthz"},
                                           {"GET", "/metrics", "metrics"},
                                           {"GET", "/", "page"}}};

bool matches(const Route& route, const std::string& path) {
  const std::size_t brace = route.path.find('{');
  if (brace == std::string_view::npos) return path == route.path;
  return path.size() > brace && path.starts_with(route.path.substr(0, brace));
}

HttpResponse json_response(const ordered_json& body, int status = 200) {
  return {
      .status = status,
      .body = body.dump(-1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace)};
}

double probability(float logit) { return 1 / (1 + std::exp(-static_cast<double>(logit))); }

ordered_json time_or_null(Timestamp time) {
  return time == kNever ? ordered_json(nullptr) : ordered_json(time);
}

/// Compares without telling by its time how much was right.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^
                  static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  }
  return difference == 0;
}

/// Bytes of memory that this process has now.
std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0;
  std::int64_t resident = 0;
  file >> all >> resident;
  return resident * 4096;
}

struct WaitingEvents {
  StreamEvents events;
  Respond respond;
};

}  // namespace service_detail

using namespace service_detail;

std::span<const Route> service_routes() { return kRoutes; }
std::string_view openapi_text() { return kOpenapi; }

struct Service::Parts {
  Parts(TrainedModel trained, Dataset data, const ServiceOptions& given, Loader loader)
      : options(given),
        load(std::move(loader)),
        base(data),
        journal(given.state, {data.digest(), data.edge_features.width}),
        live(std::make_shared<LiveModel>(std::move(trained), std::move(data), given.keep)) {
    const auto begin = Clock::now();
    if (std::filesystem::exists(snapshot_file())) {
      const LiveSnapshot snapshot = live->restore(snapshot_file());
      snapshot_sequence = snapshot.sequence;
      late = snapshot.late;
    }
    const Journal::Recovery recovery =
        journal.recover(snapshot_sequence, [&](JournalRecord&& record) {
          if (record.late) {
            late += record.events.size();
          } else {
            live->append(record.events);
          }
        });
    if (recovery.cut_bytes > 0) {
      notes.push_back(fmt::format(
          "{}: its end was damaged; {} bytes after the last whole record have been cut off",
          recovery.cut_file.string(), recovery.cut_bytes));
    }
    notes.push_back(fmt::format("{} events from the snapshot, {} from the log, {:.2f} s",
                                live->appended() + late - recovery.events, recovery.events,
                                std::chrono::duration<double>(Clock::now() - begin).count()));
    writer = std::thread([this] { write_events(); });
  }
  ~Parts() {
    stop_writer();
    if (saver.joinable()) saver.join();
    if (exchanger.joinable()) exchanger.join();
  }

  std::filesystem::path snapshot_file() const { return options.state / "snapshot"; }
  std::shared_ptr<LiveModel> model() {
    const std::lock_guard lock(live_mutex);
    return live;
  }

  // ------------------------------------------------------------------ events

  void stop_writer() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    if (writer.joinable()) writer.join();
  }

  void take_events(const HttpRequest& request, const Respond& respond) {
    const auto now = model();
    WaitingEvents one{
        .events = parse_events(request.body, now->feature_width(), options.most_events),
        .respond = respond};
    const std::lock_guard lock(mutex);
    if (stopping) refuse(503, "stopping", "this server is about to stop");
    if (waiting_events + one.events.size() > options.most_waiting_events) {
      refuse(429, "overloaded", "{} events wait to be written; try again", waiting_events);
    }
    waiting_events += one.events.size();
    queue.push_back(std::move(one));
    changed.notify_one();
  }

  /// The events of a request as a record. Throws RequestError. `newest` moves on with those that
  /// will be applied.
  JournalRecord checked(StreamEvents& events, std::int64_t sequence, Timestamp& newest) {
    try {
      live->resolve(events);
    } catch (const RequestError&) {
      throw;
    } catch (const Error& error) {
      refuse(400, "unknown_node", "{}", error.what());
    }
    for (std::size_t i = 1; i < events.time.size(); ++i) {
      if (events.time[i] < events.time[i - 1]) {
        refuse(400, "not_sorted", "events[{}] is earlier than the one before it: {} after {}", i,
               events.time[i], events.time[i - 1]);
      }
    }
    const bool is_late = events.time.front() < newest;
    if (is_late && options.late == Late::kRefuse) {
      refuse(409, "late", "time {} is before the newest event, {}", events.time.front(), newest);
    }
    if (!is_late) newest = events.time.back();
    return {.sequence = sequence, .late = is_late, .events = std::move(events)};
  }

  /// One thread: takes all that wait, syncs once, applies, answers.
  void write_events() {
    set_num_threads(1);
    while (true) {
      std::vector<WaitingEvents> taken;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return stopping || !queue.empty(); });
        if (queue.empty()) return;
        while (!queue.empty()) {
          waiting_events -= queue.front().events.size();
          taken.push_back(std::move(queue.front()));
          queue.pop_front();
        }
      }
      const std::lock_guard writing(write_mutex);
      write_group(taken);
      begin_snapshot();
    }
  }

  void write_group(std::vector<WaitingEvents>& taken) {
    std::vector<JournalRecord> records;
    std::vector<const Respond*> responds;
    std::int64_t sequence = journal.sequence();
    Timestamp newest = live->position().newest;
    for (WaitingEvents& one : taken) {
      try {
        records.push_back(checked(one.events, sequence, newest));
        sequence += records.back().events.size();
        responds.push_back(&one.respond);
      } catch (const RequestError& error) {
        one.respond(error_response(error.status(), error.code(), error.what()));
      }
    }
    if (records.empty()) return;
    try {
      const auto begin = Clock::now();
      journal.commit(records);
      sync_time.observe(std::chrono::duration<double>(Clock::now() - begin).count());
    } catch (const Error& error) {
      const bool full = dynamic_cast<const DiskFull*>(&error) != nullptr;
      ++refused_writes;
      for (const Respond* respond : responds) {
        (*respond)(error_response(507, full ? "disk_full" : "log_failed", error.what()));
      }
      return;
    }
    log_bytes = journal.size();
    for (std::size_t i = 0; i < records.size(); ++i) {
      const JournalRecord& record = records[i];
      if (record.late) {
        late += record.events.size();
      } else {
        live->append(record.events);
        accepted += record.events.size();
      }
      const auto position = live->position();
      (*responds[i])(json_response({{"accepted", record.late ? 0 : record.events.size()},
                                    {"late", record.late ? record.events.size() : 0},
                                    {"events", position.events},
                                    {"nodes", position.nodes},
                                    {"newest", time_or_null(position.newest)}}));
    }
  }

  /// Called by the writer. The log must have grown by as much as the last snapshot has, so that
  /// writing snapshots costs a constant factor.
  void begin_snapshot() {
    const std::int64_t enough = std::max(options.snapshot_bytes, snapshot_size / 2);
    if (journal.size() < enough || saving.exchange(true)) return;
    if (saver.joinable()) saver.join();
    try {
      journal.rotate();
      auto snapshot = std::make_shared<LiveSnapshot>(live->snapshot());
      snapshot->sequence = journal.sequence();
      snapshot->late = late;
      saver = std::thread([this, snapshot] { save(*snapshot); });
    } catch (const Error&) {  // a full disk: the log alone is enough
      ++failed_snapshots;
      saving = false;
    }
  }
  void save(const LiveSnapshot& snapshot) {
    try {
      snapshot.write(snapshot_file());
      snapshot_size = static_cast<std::int64_t>(std::filesystem::file_size(snapshot_file()));
      const std::lock_guard writing(write_mutex);
      journal.drop_before(snapshot.sequence);
      log_bytes = journal.size();
      ++snapshots;
    } catch (const std::exception&) {
      ++failed_snapshots;
    }
    saving = false;
  }

  // ------------------------------------------------------------------ questions

  Question asked(std::optional<Question> given, Question usual, const LiveModel& now) const {
    if (given && now.model().outputs == 1) {
      refuse(400, "no_effect", "question: this model has one score for everything");
    }
    return given.value_or(usual);
  }

  HttpResponse top(const Target& target) {
    const TopRequest request = parse_top(target.query, options.most_k);
    const auto now = model();
    const auto ranking = now->top(
        request.src, request.time, request.k, asked(request.question, Question::kDestination, *now),
        request.exclude_seen ? Seen::kExcluded : Seen::kIncluded, request.explain);
    ordered_json answers = ordered_json::array();
    for (const LiveModel::Answer& answer : ranking.answers) {
      ordered_json one = {{"dst", answer.node},
                          {"logit", answer.logit},
                          {"probability", probability(answer.logit)}};
      if (answer.why) one["why"] = to_json(*answer.why, answer.words);
      answers.push_back(std::move(one));
    }
    return json_response({{"src", request.src},
                          {"time", ranking.time},
                          {"events", ranking.events},
                          {"answers", std::move(answers)}});
  }

  HttpResponse score(const HttpRequest& http) {
    const ScoreRequest request = parse_score(http.body, options.most_pairs);
    const auto now = model();
    const auto scored = now->score(request.src, request.dst, request.time,
                                   asked(request.question, Question::kPair, *now));
    ordered_json scores = ordered_json::array();
    std::int64_t unknown = 0;
    for (std::size_t i = 0; i < scored.logits.size(); ++i) {
      ordered_json one = {{"src", request.src[i]}, {"dst", request.dst[i]}};
      one["logit"] = scored.logits[i] ? ordered_json(*scored.logits[i]) : ordered_json(nullptr);
      one["probability"] =
          scored.logits[i] ? ordered_json(probability(*scored.logits[i])) : ordered_json(nullptr);
      unknown += scored.logits[i] ? 0 : 1;
      scores.push_back(std::move(one));
    }
    return json_response({{"time", scored.time},
                          {"events", scored.events},
                          {"unknown", unknown},
                          {"scores", std::move(scores)}});
  }

  HttpResponse node(const Target& target) {
    constexpr std::int64_t kRecent = 10;
    const std::string id = target.path.substr(std::string_view("/v1/nodes/").size());
    const LiveModel::NodeFacts facts = model()->node(id, kRecent);
    ordered_json recent = ordered_json::array();
    for (const LiveModel::Meeting& meeting : facts.recent) {
      recent.push_back({{"node", meeting.node},
                        {"time", meeting.time},
                        {"as", meeting.as_source ? "source" : "destination"}});
    }
    const auto if_any = [&](Timestamp t) {
      return facts.events == 0 ? ordered_json(nullptr) : ordered_json(t);
    };
    return json_response({{"id", facts.name},
                          {"events", facts.events},
                          {"as_source", facts.as_source},
                          {"as_destination", facts.as_destination},
                          {"partners", facts.partners},
                          {"first", if_any(facts.first)},
                          {"last", if_any(facts.last)},
                          {"recent", std::move(recent)}});
  }

  HttpResponse health() {
    const auto now = model();
    const auto position = now->position();
    return json_response({{"status", stopping ? "stopping" : "ok"},
                          {"version", std::string(kVersion)},
                          {"model", now->model().model},
                          {"decoder", now->model().decoder},
                          {"batch", now->model().batch},
                          {"events", position.events},
                          {"nodes", position.nodes},
                          {"newest", time_or_null(position.newest)},
                          {"appended", now->appended()},
                          {"late", late.load()},
                          {"exchanging", exchanging.load()}});
  }

  HttpResponse metrics() {
    std::string text;
    const auto put = [&](std::string_view name, std::string_view kind, std::int64_t value) {
      text += fmt::format("# TYPE curnm_{} {}\ncurnm_{} {}\n", name, kind, name, value);
    };
    const auto position = model()->position();
    const HttpCounts http = counts ? counts() : HttpCounts{};
    put("events", "gauge", position.events);
    put("nodes", "gauge", position.nodes);
    put("events_kept", "gauge", model()->kept());
    put("events_accepted_total", "counter", accepted);
    put("events_late_total", "counter", late);
    put("events_waiting", "gauge", waiting_events);
    put("writes_refused_total", "counter", refused_writes);
    put("log_bytes", "gauge", log_bytes);
    put("snapshots_total", "counter", snapshots);
    put("snapshots_failed_total", "counter", failed_snapshots);
    put("resident_bytes", "gauge", resident_bytes());
    put("http_connections", "gauge", http.connections);
    put("http_connections_refused_total", "counter", http.refused_connections);
    put("http_queue", "gauge", http.queued);
    put("http_overloads_total", "counter", http.overloads);
    text += "# TYPE curnm_request_seconds histogram\n";
    for (std::size_t i = 0; i < kRoutes.size(); ++i) {
      text += request_time[i].text("curnm_request_seconds",
                                   fmt::format("route=\"{}\"", kRoutes[i].name));
    }
    text += "# TYPE curnm_sync_seconds histogram\n";
    text += sync_time.text("curnm_sync_seconds", "log=\"events\"");
    return {.body = std::move(text), .type = "text/plain; version=0.0.4"};
  }

  // ------------------------------------------------------------------ exchange

  bool begin_exchange(const std::string& file) {
    if (exchanging.exchange(true)) return false;
    if (exchanger.joinable()) exchanger.join();
    exchanger = std::thread([this, file] {
      std::string result;
      try {
        set_num_threads(1);
        auto next = std::make_shared<LiveModel>(load(file), base, options.keep);
        // The old one answers and learns meanwhile; the last stretch is shown while nothing is
        // written.
        if (const auto events = model()->events_from(0)) next->append(*events);
        const std::lock_guard writing(write_mutex);
        next->catch_up(*live);
        const std::lock_guard lock(live_mutex);
        live = std::move(next);
        result = fmt::format("the model is now {}", file);
      } catch (const std::exception& error) {
        result = fmt::format("the model stays: {}", error.what());
      }
      const std::lock_guard lock(live_mutex);
      news = result;
      exchanging = false;
    });
    return true;
  }

  // ------------------------------------------------------------------ routes

  void answer(const Route& route, const Target& target, const HttpRequest& request,
              const Respond& respond) {
    if (route.name == "events") return take_events(request, respond);
    if (route.name == "topk") return respond(top(target));
    if (route.name == "score") return respond(score(request));
    if (route.name == "nodes") return respond(node(target));
    if (route.name == "healthz") return respond(health());
    if (route.name == "metrics") return respond(metrics());
    if (route.name == "openapi") return respond({.body = std::string(kOpenapi)});
    if (route.name == "page") {
      return respond({.body = std::string(kPage), .type = "text/html; charset=utf-8"});
    }
    const auto file = parse_exchange(request.body);
    if (!begin_exchange(file.value_or(""))) {
      refuse(409, "exchange_running", "a model is being exchanged already");
    }
    respond(json_response({{"status", "replaying"}}, 202));
  }

  void check_token(const HttpRequest& request, const Route& route) const {
    if (options.token.empty() || route.name == "healthz" || route.name == "page") return;
    constexpr std::string_view kBearer = "Bearer ";
    const std::string_view given = request.authorization;
    if (given.starts_with(kBearer) && same_secret(given.substr(kBearer.size()), options.token)) {
      return;
    }
    refuse(401, "unauthorized", "send the token as 'Authorization: Bearer ...'");
  }

  ServiceOptions options;
  Loader load;
  Dataset base;
  Journal journal;
  std::shared_ptr<LiveModel> live;
  std::mutex live_mutex;   // of the pointer
  std::mutex write_mutex;  // of the journal and of what is applied
  std::vector<std::string> notes;

  std::mutex mutex;  // of the queue
  std::condition_variable changed;
  std::deque<WaitingEvents> queue;
  std::atomic<std::int64_t> waiting_events = 0;
  std::atomic<bool> stopping = false;

  std::int64_t snapshot_sequence = 0;
  std::atomic<std::int64_t> snapshot_size = 0;
  std::atomic<bool> saving = false;
  std::atomic<bool> exchanging = false;
  std::string news;

  std::atomic<std::int64_t> accepted = 0;
  std::atomic<std::int64_t> late = 0;
  std::atomic<std::int64_t> log_bytes = 0;
  std::atomic<std::int64_t> refused_writes = 0;
  std::atomic<std::int64_t> snapshots = 0;
  std::atomic<std::int64_t> failed_snapshots = 0;
  std::array<Histogram, kRoutes.size()> request_time;
  Histogram sync_time;
  std::function<HttpCounts()> counts;

  std::thread writer;
  std::thread saver;
  std::thread exchanger;
};

Service::Service(TrainedModel model, Dataset base, const ServiceOptions& options, Loader load)
    : parts_(std::make_unique<Parts>(std::move(model), std::move(base), options, std::move(load))) {
}
Service::~Service() = default;

const std::vector<std::string>& Service::notes() const { return parts_->notes; }
bool Service::exchange(const std::string& file) { return parts_->begin_exchange(file); }
void Service::watch(std::function<HttpCounts()> counts) { parts_->counts = std::move(counts); }
void Service::drain() { parts_->stop_writer(); }
std::string Service::exchange_news() {
  const std::lock_guard lock(parts_->live_mutex);
  return std::exchange(parts_->news, "");
}

void Service::handle(const HttpRequest& request, const Respond& respond) {
  const auto begin = Clock::now();
  const auto refused = [&](int status, const std::string& code, const std::string& message) {
    HttpResponse response = error_response(status, code, message);
    if (status == 429) response.retry_after = 1;
    respond(std::move(response));
  };
  try {
    const Target target = parse_target(request.target);
    std::string allowed;
    for (std::size_t i = 0; i < kRoutes.size(); ++i) {
      if (!matches(kRoutes[i], target.path)) continue;
      if (kRoutes[i].method != request.method) {
        allowed = kRoutes[i].method;
        continue;
      }
      parts_->check_token(request, kRoutes[i]);
      // Counted when the answer is given: events wait for the sync.
      const Respond timed = [&histogram = parts_->request_time[i], begin,
                             respond](HttpResponse response) {
        histogram.observe(std::chrono::duration<double>(Clock::now() - begin).count());
        respond(std::move(response));
      };
      return parts_->answer(kRoutes[i], target, request, timed);
    }
    if (allowed.empty()) refuse(404, "not_found", "there is no {}", quotable(target.path));
    HttpResponse response =
        error_response(405, "method_not_allowed", fmt::format("use {}", allowed));
    response.allow = allowed;
    respond(std::move(response));
  } catch (const RequestError& error) {
    refused(error.status(), error.code(), error.what());
  } catch (const UnknownNode& error) {
    refused(404, "unknown_node", error.what());
  } catch (const Forgotten& error) {
    refused(410, "forgotten", error.what());
  } catch (const Busy& error) {
    refused(429, "overloaded", error.what());
  } catch (const Error& error) {
    refused(422, "no_answer", error.what());
  } catch (const std::exception& error) {
    refused(500, "internal", error.what());
  }
}

}  // namespace curnm
