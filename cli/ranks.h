#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "curnm/distributed/group.h"
#include "curnm/training/run_spec.h"

// Trainings on several ranks: processes of this program that train one model together.

namespace curnm::cli {

struct RankFlags {
  std::int64_t ranks = 0;  // 0: not given
  std::string interface;
  std::int64_t restarts = 0;
  std::string parallel;          // memory or batch; empty: not given
  std::int64_t batch_ranks = 0;  // 0: not given
  double join_seconds = 60;
};
void add_rank_flags(CLI::App& command, RankFlags& flags);
/// `--parallel` alone.
CLI::Option* add_parallel_flag(CLI::App& command, RankFlags& flags);
/// `--join-seconds` alone.
CLI::Option* add_join_seconds(CLI::App& command, RankFlags& flags);

/// How many processes this one has to start on this host; 1 if it trains itself. `recorded` tells
/// with how many a resumed run was begun. Throws UsageError for flags that contradict the launcher
/// that has started this process.
std::int64_t ranks_to_start(const RankFlags& flags, const std::function<std::int64_t()>& recorded);

/// How many of that many ranks share each batch. Unless flags say so, as it was when a resumed run
/// was begun. Throws OptionError for flags that do not fit.
std::int64_t batch_ranks_of(const RankFlags& flags, std::int64_t ranks,
                            const RankNumbers& recorded);

/// Joins the other processes that the launcher has started; null without one.
std::unique_ptr<Group> join_ranks(const RankFlags& flags);

/// What to start, and where its output goes.
struct RankCommand {
  std::int64_t ranks = 1;
  std::filesystem::path folder;     // of the run, which rank 0 makes or continues
  std::vector<std::string> words;   // as this program was called
  std::vector<std::string> resume;  // how the run is continued
  std::int64_t restarts = 0;        // how often it is, after a rank has failed
  bool own_threads = false;         // the command says how many threads each has
};
/// Starts that many processes of this program on this host and waits for them. Rank 0 has this
/// one's output; what the others print goes to rank-1.log, ... in the folder of the run. Returns
/// the exit code.
int run_ranks(const RankCommand& command);

/// The same for a command without a folder, which is called by the words of this one: returns what
/// rank 0 has printed. `threads`: of each; `more`: further words. Throws Error if a rank fails.
std::string output_of_ranks(std::int64_t ranks, std::int64_t threads,
                            const std::vector<std::string>& more);
/// Whether this process is one that somebody has started as a rank.
bool is_rank();

/// The words that this program was called with.
std::vector<std::string> own_words();

}  // namespace curnm::cli
