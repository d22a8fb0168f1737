#include "cli/ranks.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <thread>

#include "cli/print.h"
#include "cli/signals.h"
#include "curnm/distributed/launch.h"
#include "curnm/experiments/child_process.h"
#include "curnm/runs/run_folder.h"

namespace curnm::cli {
namespace {

/// Set for the processes that `run_ranks` starts.
constexpr const char* kLaunched = "CURNM_LAUNCHED";

std::optional<Placement> placement() {
  return placement_by_launcher([](const char* name) { return std::getenv(name); });
}

void check_number(const RankFlags& flags, const Placement& launched) {
  if (flags.ranks == 0 || flags.ranks == launched.size) return;
  throw OptionError(OptionError::Kind::kConflict, "ranks",
                    fmt::format("--ranks {}, but the launcher of this process has started {}",
                                flags.ranks, launched.size));
}

/// A port of this host that nobody listens at.
int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) fail_os("cannot look for a free port", errno);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool found =
      ::bind(descriptor, generic, size) == 0 && ::getsockname(descriptor, generic, &size) == 0;
  const int error = errno;
  ::close(descriptor);
  if (!found) fail_os("cannot find a free port", error);
  return ::ntohs(address.sin_port);
}

/// The environment of this process with some variables set, as execve takes it.
std::vector<std::string> environment_with(const std::vector<std::string>& settings) {
  std::vector<std::string> all = settings;
  const auto name_of = [](std::string_view setting) {
    return setting.substr(0, setting.find('='));
  };
  for (char** setting = ::environ; *setting != nullptr; ++setting) {
    const bool replaced = std::ranges::any_of(
        settings, [&](const std::string& own) { return name_of(own) == name_of(*setting); });
    if (!replaced) all.emplace_back(*setting);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// A rank that this process has started.
class RankProcess {
 public:
  /// Rank 0 has the output of this process, but `capture` keeps what it writes to stdout; what
  /// others print goes to a log.
  RankProcess(std::int64_t rank, std::vector<std::string> words,
              const std::vector<std::string>& settings, std::filesystem::path log, bool capture)
      : rank_(rank), log_(std::move(log)) {
    std::vector<std::string> environment = environment_with(settings);
    const std::vector<char*> argv = pointers_to(words);
    const std::vector<char*> envp = pointers_to(environment);
    const bool piped = rank > 0 || capture;
    std::array<int, 2> pipe = {-1, -1};
    if (piped && ::pipe2(pipe.data(), O_CLOEXEC) != 0) fail_os("cannot start a rank", errno);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {  // must not allocate or lock
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != parent) ::_exit(1);  // it died before prctl
      if (piped) ::dup2(pipe[1], STDOUT_FILENO);
      if (rank > 0) ::dup2(pipe[1], STDERR_FILENO);
      ::execve("/proc/self/exe", argv.data(), envp.data());
      ::_exit(127);
    }
    const int error = errno;
    if (piped) ::close(pipe[1]);
    output_ = pipe[0];
    if (pid_ < 0) fail_os("cannot start a rank", error);
  }
  ~RankProcess() {
    if (output_ >= 0) ::close(output_);
  }
  RankProcess(RankProcess&& other) noexcept
      : rank_(other.rank_),
        pid_(other.pid_),
        output_(std::exchange(other.output_, -1)),
        log_(std::move(other.log_)),
        waiting_(std::move(other.waiting_)),
        exit_(other.exit_) {}
  RankProcess& operator=(RankProcess&&) = delete;

  std::int64_t rank() const { return rank_; }
  int output() const { return output_; }
  const std::filesystem::path& log() const { return log_; }
  const std::optional<Exit>& exit() const { return exit_; }
  bool failed() const { return exit_ && (exit_->code != 0 || exit_->signal != 0); }
  void send(int signal) const {
    if (!exit_) ::kill(pid_, signal);
  }

  /// Whether it has ended.
  bool poll() {
    if (exit_) return true;
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
    exit_ =
        WIFSIGNALED(status) ? Exit{.signal = WTERMSIG(status)} : Exit{.code = WEXITSTATUS(status)};
    return true;
  }

  /// Moves what it has printed to its log, which is kept until there is a folder for it.
  void read_output() {
    std::array<char, 4096> block;
    while (output_ >= 0) {
      pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, 0) <= 0) break;
      const ssize_t size = ::read(output_, block.data(), block.size());
      if (size <= 0) {
        ::close(std::exchange(output_, -1));
        break;
      }
      waiting_.append(block.data(), static_cast<std::size_t>(size));
    }
    std::error_code ignored;
    if (waiting_.empty() || rank_ == 0) return;
    if (!std::filesystem::exists(log_.parent_path(), ignored)) return;
    std::ofstream(log_, std::ios::app) << waiting_;
    waiting_.clear();
  }
  /// What was kept, or could not be written to a log yet.
  const std::string& unwritten() const { return waiting_; }

 private:
  std::int64_t rank_;
  pid_t pid_ = -1;
  int output_ = -1;  // the end of a pipe, until it is closed; -1 for rank 0
  std::filesystem::path log_;
  std::string waiting_;
  std::optional<Exit> exit_;
};

std::vector<RankProcess> start_all(std::int64_t ranks, std::int64_t threads,
                                   const std::vector<std::string>& words,
                                   const std::filesystem::path& folder, bool capture) {
  std::vector<std::string> settings = {fmt::format("WORLD_SIZE={}", ranks), "MASTER_ADDR=127.0.0.1",
                                       fmt::format("MASTER_PORT={}", free_port()),
                                       fmt::format("{}=1", kLaunched)};
  if (threads > 0) settings.push_back(fmt::format("OMP_NUM_THREADS={}", threads));
  std::vector<RankProcess> processes;
  settings.emplace_back();
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    settings.back() = fmt::format("RANK={}", rank);
    processes.emplace_back(rank, words, settings, folder / fmt::format("rank-{}.log", rank),
                           capture);
  }
  return processes;
}

/// Threads of each rank unless something else says how many: the cores are shared out. 0: it does.
std::int64_t threads_of_each(const RankCommand& command) {
  if (command.own_threads || std::getenv("OMP_NUM_THREADS") != nullptr) return 0;
  const std::int64_t cores = std::thread::hardware_concurrency();
  return std::max<std::int64_t>(1, cores / command.ranks);
}

/// Waits until all have ended. One that has not some time after another failed is killed: it should
/// have noticed.
void wait_for_all(std::vector<RankProcess>& ranks) {
  constexpr double kGrace = 25;
  int forwarded = 0;
  std::optional<Stopwatch> since_failure;
  while (true) {
    std::vector<pollfd> outputs;
    for (const RankProcess& rank : ranks) outputs.push_back({rank.output(), POLLIN, 0});
    ::poll(outputs.data(), outputs.size(), /*milliseconds=*/100);
    bool running = false;
    for (RankProcess& rank : ranks) {
      const bool ended = rank.poll();
      rank.read_output();
      running = running || !ended;
      if (rank.failed() && !since_failure) since_failure.emplace();
    }
    if (!running) return;
    if (const int signal = received_signal(); signal != 0 && forwarded == 0) {
      forwarded = signal;
      for (const RankProcess& rank : ranks) rank.send(signal);
    }
    if (since_failure && since_failure->seconds() > kGrace) {
      for (const RankProcess& rank : ranks) rank.send(SIGKILL);
    }
  }
}

int code_of(const Exit& exit) { return exit.signal != 0 ? 128 + exit.signal : exit.code; }

/// A signal has asked it to stop, which it has done in good order.
bool was_stopped(const RankProcess& rank) {
  const int signal = rank.exit()->code - 128;
  return signal == SIGHUP || signal == SIGINT || signal == SIGTERM;
}

/// Says how ranks have failed; returns the exit code.
int conclude(const std::vector<RankProcess>& ranks) {
  int code = 0;
  for (const RankProcess& rank : ranks) {
    if (!rank.failed()) continue;
    if (code == 0) code = code_of(*rank.exit());
    // Rank 0 has said why.
    if (was_stopped(rank) || (rank.rank() == 0 && rank.exit()->signal == 0)) continue;
    std::error_code ignored;
    const bool has_log = std::filesystem::exists(rank.log(), ignored);
    say("curnm: rank {} has ended: {}{}\n", rank.rank(), describe(*rank.exit()),
        has_log ? fmt::format(" (see {})", rank.log().string()) : "");
    if (rank.rank() > 0) say("{}", rank.unwritten());
  }
  return code;
}

/// Whether another attempt may help: not against wrong options, unusable files or full disks.
bool may_try_again(const std::vector<RankProcess>& ranks, int code) {
  return (code == 1 || code > 128) && std::ranges::none_of(ranks, was_stopped);
}

}  // namespace

std::vector<std::string> own_words() {
  std::vector<std::string> words;
  std::ifstream all("/proc/self/cmdline");
  for (std::string word; std::getline(all, word, '\0');) words.push_back(word);
  return words;
}

CLI::Option* add_join_seconds(CLI::App& command, RankFlags& flags) {
  return command
      .add_option("--join-seconds", flags.join_seconds,
                  "how long ranks wait for each other at the start")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
}

void add_rank_flags(CLI::App& command, RankFlags& flags) {
  command
      .add_option("--ranks", flags.ranks,
                  "processes on this host that train together; by default as many as the run was "
                  "begun with, or those of torchrun, srun or mpirun")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1024}))
      ->group("Ranks");
  command
      .add_option("--interface", flags.interface,
                  "network interface between ranks (default: the one that leads to rank 0)")
      ->group("Ranks");
  add_join_seconds(command, flags)->group("Ranks");
  command
      .add_option("--restarts", flags.restarts,
                  "after a rank has failed, start them again from the last checkpoint up to that "
                  "often")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1000}))
      ->group("Ranks");
  add_parallel_flag(command, flags);
  command
      .add_option("--batch-ranks", flags.batch_ranks,
                  "with --parallel batch: as many ranks share a batch, and there are as many "
                  "memories as such teams (default: all ranks share it)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1024}))
      ->group("Ranks");
}

CLI::Option* add_parallel_flag(CLI::App& command, RankFlags& flags) {
  return command
      .add_option(
          "--parallel", flags.parallel,
          "what ranks have of their own: a memory, a place in the stream and batches of "
          "--batch positives (memory, the default), or only --batch positives of each batch, "
          "with one memory for all (batch)")
      ->check(CLI::IsMember({"memory", "batch"}))
      ->group("Ranks");
}

std::int64_t batch_ranks_of(const RankFlags& flags, std::int64_t ranks,
                            const RankNumbers& recorded) {
  using Kind = OptionError::Kind;
  if (flags.parallel != "batch" && flags.batch_ranks != 0) {
    throw OptionError(Kind::kNoEffect, "batch-ranks",
                      "--batch-ranks has no effect without --parallel batch");
  }
  if (ranks == 1) {
    if (flags.parallel.empty()) return 1;
    throw OptionError(Kind::kNoEffect, "parallel",
                      "--parallel has no effect on a training on one rank");
  }
  if (flags.parallel == "memory") return 1;
  std::int64_t shared = flags.batch_ranks;
  if (flags.parallel.empty()) {
    // All is still all with another number of ranks.
    shared = recorded.batch_ranks == recorded.ranks ? 0 : recorded.batch_ranks;
    if (recorded.batch_ranks == 1) return 1;
  }
  if (shared == 0) shared = ranks;
  if (ranks % shared == 0) return shared;
  throw OptionError(Kind::kConflict, "batch-ranks",
                    fmt::format("{} ranks cannot be divided into teams of {} that share a batch: "
                                "--batch-ranks has to divide their number",
                                ranks, shared));
}

std::int64_t ranks_to_start(const RankFlags& flags, const std::function<std::int64_t()>& recorded) {
  const auto refuse = [](const char* name, bool given, std::string_view user) {
    if (!given) return;
    throw OptionError(OptionError::Kind::kNoEffect, name,
                      fmt::format("--{} has no effect on {}", name, user));
  };
  if (const std::optional<Placement> launched = placement()) {
    check_number(flags, *launched);
    refuse("restarts", flags.restarts > 0 && std::getenv(kLaunched) == nullptr,
           "ranks that another launcher has started: it can start them again");
    return 1;
  }
  const std::int64_t ranks = flags.ranks != 0 ? flags.ranks : recorded();
  if (ranks == 1) {
    refuse("interface", !flags.interface.empty(), "a training on one rank");
    refuse("restarts", flags.restarts > 0, "a training on one rank");
    refuse("join-seconds", flags.join_seconds != RankFlags().join_seconds,
           "a training on one rank");
  }
  return ranks;
}

std::unique_ptr<Group> join_ranks(const RankFlags& flags) {
  std::optional<Placement> place = placement();
  if (!place) return nullptr;
  check_number(flags, *place);
  place->interface = flags.interface;
  return join_group(*place, flags.join_seconds);
}

int run_ranks(const RankCommand& command) {
  if (!can_form_groups()) join_group({});  // says why
  watch_signals();
  std::vector<std::string> words = command.words;
  for (std::int64_t restarts = 0;; ++restarts) {
    std::vector<RankProcess> ranks = start_all(command.ranks, threads_of_each(command), words,
                                               command.folder, /*capture=*/false);
    wait_for_all(ranks);
    const int code = conclude(ranks);
    if (code == 0 || restarts >= command.restarts || !may_try_again(ranks, code)) return code;
    if (RunFolder(command.folder).is_run()) words = command.resume;
    say("curnm: starting all ranks again ({} of {} times)\n", restarts + 1, command.restarts);
  }
}

std::string output_of_ranks(std::int64_t ranks, std::int64_t threads,
                            const std::vector<std::string>& more) {
  watch_signals();
  std::vector<std::string> words = own_words();
  words.insert(words.end(), more.begin(), more.end());
  std::vector<RankProcess> processes =
      start_all(ranks, threads, words, /*folder=*/"", /*capture=*/true);
  wait_for_all(processes);
  if (const int code = conclude(processes); code != 0) {
    fail("the ranks have not come to a result (exit code {})", code);
  }
  return processes.front().unwritten();
}

bool is_rank() { return std::getenv(kLaunched) != nullptr || placement(); }

}  // namespace curnm::cli
