#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/predictor.h"
#include "cli/print.h"
#include "cli/process.h"
#include "cli/signals.h"
#include "curnm/base/files.h"
#include "curnm/base/names.h"
#include "curnm/serving/service.h"
#include "curnm/training/session.h"

namespace curnm::cli {
namespace {

namespace fs = std::filesystem;

struct ServeFlags {
  std::string model;
  std::string data;
  std::string listen = "127.0.0.1:8080";
  std::string state;
  std::string token_file;
  std::string late = "refuse";
  std::string keep;
  GivenOptions read;
  std::int64_t workers = 0;
  std::int64_t threads = 1;
  std::int64_t body_megabytes = 16;
  std::int64_t connections = 1000;
  std::int64_t snapshot_megabytes = 64;
  ServiceOptions service;
};

/// A run's folder or an exported file, for a network that is open.
TrainedModel open_model(const std::string& path, const Dataset& data) {
  if (is_model_file(path)) return load_model(path);
  const RunFolder folder(path);
  return read_trained_model(folder, read_run(folder, RunUse::kTest), data);
}

struct Address {
  std::string host;
  int port = 0;
};
Address parse_listen(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  Address address;
  const std::string_view port =
      colon == std::string::npos ? "" : std::string_view(text).substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size() ||
      address.port < 0 || address.port > 65535) {
    fail<UsageError>("--listen {}: give an address and a port, such as 127.0.0.1:8080", text);
  }
  address.host = text.substr(0, colon);
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  return address;
}

std::string read_token(const std::string& file) {
  if (file.empty()) return "";
  constexpr std::size_t kMost = 4096;
  std::string token = read_file(file, kMost);
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.pop_back();
  constexpr std::size_t kLeast = 16;
  if (token.size() < kLeast) {
    fail("{}: a token needs at least {} characters; `openssl rand -hex 32` makes one", file,
         kLeast);
  }
  return token;
}

/// Beside the model: acknowledged events have to be somewhere.
fs::path state_folder(const ServeFlags& flags) {
  if (!flags.state.empty()) return flags.state;
  const fs::path model = flags.model;
  return fs::is_directory(model) ? model / "serve" : fs::path(model.string() + ".serve");
}

std::atomic<int> hangups = 0;
extern "C" void count_hangup(int) { ++hangups; }

/// Until a signal asks to stop.
void wait_for_end(Service& service, const ServeFlags& flags) {
  int seen = 0;
  while (received_signal() == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (const int now = hangups; now != seen) {
      seen = now;
      say("{}\n", service.exchange(flags.model) ? "reading the model again"
                                                : "a model is being exchanged already");
    }
    if (const std::string news = service.exchange_news(); !news.empty()) say("{}\n", news);
  }
}

void run_serve(const ServeFlags& flags) {
  set_threads(flags.threads);
  const Address address = parse_listen(flags.listen);
  ServiceOptions options = flags.service;
  options.state = state_folder(flags);
  options.token = read_token(flags.token_file);
  options.keep = parse_keep(flags.keep);
  options.late = flags.late == "accept" ? Late::kAccept : Late::kRefuse;
  options.snapshot_bytes = flags.snapshot_megabytes << 20;
  if (options.token.empty() && !is_loopback(address.host)) {
    throw UsageError(fmt::format(
        "--listen {}: anybody who reaches that address could ask and tell; give --token-file FILE",
        flags.listen));
  }
  ModelAndEvents opened = open_model_and_events(flags.model, flags.data, flags.read);
  const Dataset data = opened.events;
  Service service(
      std::move(opened.model), std::move(opened.events), options,
      [&](const std::string& file) { return open_model(file.empty() ? flags.model : file, data); });
  for (const std::string& note : service.notes()) say("{}\n", note);
  const HttpLimits limits{
      .body = static_cast<std::size_t>(flags.body_megabytes) << 20,
      .connections = static_cast<int>(flags.connections),
      .threads = flags.workers > 0
                     ? static_cast<int>(flags.workers)
                     : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))};
  watch_signals();
  std::signal(SIGHUP, count_hangup);
  {
    HttpServer server(address.host, address.port, limits,
                      [&](const HttpRequest& request, const Respond& respond) {
                        thread_local const bool once = [&] {
                          set_threads(flags.threads);
                          return true;
                        }();
                        static_cast<void>(once);
                        service.handle(request, respond);
                      });
    service.watch([&] { return server.counts(); });
    say("serving {} on http://{}:{}/, state in {}\n", flags.model, address.host, server.port(),
        options.state.string());
    wait_for_end(service, flags);
    say("stopping: answering what has been asked\n");
    server.drain(std::chrono::seconds(10));
    service.drain();
    service.watch(nullptr);
  }
  say("all acknowledged events are in {}\n", options.state.string());
}

}  // namespace

void add_serve(CLI::App& app) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* command =
      app.add_subcommand("serve", "Answer questions over HTTP, and learn what happens");
  command->add_option("model", flags->model, "folder of a run, or a file that `curnm export` wrote")
      ->required();
  command->add_option("--data", flags->data,
                      "the run's network, where it is now; later events may have been added");
  command
      ->add_option("--listen", flags->listen,
                   "address and port; other addresses than this machine's own need a token")
      ->capture_default_str();
  command->add_option("--state", flags->state,
                      "folder of the log of events (default: beside the model)");
  command->add_option("--token-file", flags->token_file,
                      "file with the token that requests have to carry");
  command
      ->add_option("--late", flags->late,
                   "events before the newest one: refuse them, or accept them for the log only")
      ->check(CLI::IsMember({"refuse", "accept"}))
      ->capture_default_str();
  add_keep_flag(*command, flags->keep);
  command->add_option("--workers", flags->workers, "requests that are answered at once; 0: cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "threads of one answer")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--most-k", flags->service.most_k, "largest k")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}))
      ->capture_default_str();
  command->add_option("--body-megabytes", flags->body_megabytes, "largest request")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--connections", flags->connections, "most connections at once")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command
      ->add_option("--snapshot-megabytes", flags->snapshot_megabytes,
                   "log between two snapshots, at least")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  add_read_flags(*command, flags->read);
  command->callback([flags] { run_serve(*flags); });
}

}  // namespace curnm::cli
