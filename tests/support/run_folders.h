#pragma once

#include <filesystem>

#include "curnm/runs/run_folder.h"
#include "support/temporary_folder.h"

namespace curnm::testing {

/// The folder of a finished run, as `curnm train` writes it, but shorter.
inline void write_run_folder(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write_bytes(folder / "options.json",
              R"({"version": "0.1.0", "data": "data/uci/", "data_digest": "abc",
                  "train": {"model": "tgn", "miner": "curnm", "seed": 3, "epochs": 2},
                  "model": {"width": 172}, "miner": {"pool": 8}, "task": {}})");
  RunFolder(folder).write_metrics({{.epoch = 0,
                                    .losses = {{"random", 0.6}},
                                    .mining = {{"pi", 1.0}},
                                    .validation_ap = 0.6,
                                    .best = true,
                                    .seconds = 1},
                                   {.epoch = 1,
                                    .losses = {{"random", 0.5}},
                                    .mining = {{"pi", 0.95}},
                                    .validation_ap = 0.7,
                                    .validation = {{"trans", 0.7}},
                                    .best = true,
                                    .seconds = 1}});
  write_bytes(folder / "result.json",
              R"({"test": {"trans": {"ap": 0.9}, "events": 10},
                  "test_new": {"trans": {"ap": 0.8}, "events": 5},
                  "best_baseline": {"trans": {"name": "recency-src", "ap": 0.7}},
                  "best_baseline_new": {"trans": {"name": "recency-dst", "ap": 0.6}},
                  "epochs": 2, "best_epoch": 1, "seconds_per_epoch": 1.0, "training_events": 100,
                  "environment": {"cpu": "A CPU", "cores": 2, "threads": 1, "memory_bytes": 1,
                                  "system": "Linux", "libraries": "LibTorch"}})");
}

}  // namespace curnm::testing
