#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/doctor_ranks.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/process.h"
#include "curnm/base/parallel.h"
#include "curnm/base/version.h"
#include "curnm/nn/libtorch.h"
#include "curnm/training/benchmark.h"

namespace curnm::cli {
namespace {

/// The file of the BLAS that this process has loaded.
std::string loaded_blas() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    const std::size_t path = line.find('/');
    if (path == std::string::npos) continue;
    const std::string file = line.substr(path);
    for (const char* name : {"libopenblas", "libmkl_rt", "libblis", "libblas"}) {
      if (file.find(name) != std::string::npos) return file;
    }
  }
  return "unknown";
}

/// What was found about this machine.
struct Findings {
  std::string blas;
  Environment machine;
  bool avx2 = false;
  bool avx512 = false;
  double gflops = 0;
  std::vector<std::string> warnings;
};

Findings examine() {
  set_threads(0);
  Findings found{.blas = "",  // known once it has been used
                 .machine = this_machine(),
                 .avx2 = __builtin_cpu_supports("avx2") != 0,
                 .avx512 = __builtin_cpu_supports("avx512f") != 0,
                 .gflops = gemm_gflops()};
  found.blas = loaded_blas();
  const auto has = [&](const char* name) { return found.blas.find(name) != std::string::npos; };
  if (has("pthread")) {
    found.warnings.push_back(
        "this OpenBLAS has threads of its own, which fight with OpenMP for the cores: "
        "install libopenblas0-openmp (./dev build selects it)");
  } else if (!has("openblas") && !has("mkl")) {
    found.warnings.push_back(
        "this BLAS is slow: install libopenblas0-openmp (./dev build selects it)");
  }
  if (!found.avx2) {
    found.warnings.push_back("this CPU has no AVX2: training will be several times slower");
  }
  if (found.gflops < 20 * libtorch_threads()) {
    found.warnings.push_back("matrix products are slow: do other programs keep the cores busy?");
  }
  return found;
}

void print_json(const Findings& found) {
  const nlohmann::ordered_json json = {
      {"version", kVersion},         {"libtorch", libtorch_version()},
      {"cuda", libtorch_has_cuda()}, {"blas", found.blas},
      {"avx2", found.avx2},          {"avx512", found.avx512},
      {"threads", num_threads()},    {"libtorch_threads", libtorch_threads()},
      {"gemm_gflops", found.gflops}, {"environment", to_json(found.machine)},
      {"warnings", found.warnings}};
  fmt::print("{}\n", json.dump(2));
}

void print_text(const Findings& found) {
  fmt::print("curnm      {}\n", kVersion);
  fmt::print("LibTorch   {}{}\n", libtorch_version(), libtorch_has_cuda() ? ", CUDA" : "");
  fmt::print("BLAS       {}\n", found.blas);
  fmt::print("CPU        {}{}{}\n", found.machine.cpu, found.avx2 ? ", AVX2" : "",
             found.avx512 ? ", AVX-512" : "");
  fmt::print("threads    {} of {} cores (core), {} (LibTorch)\n", num_threads(),
             found.machine.cores, libtorch_threads());
  fmt::print("GEMM       {:.0f} GF/s, {:.0f} per thread\n", found.gflops,
             found.gflops / libtorch_threads());
  for (const std::string& warning : found.warnings) fmt::print("warning    {}\n", warning);
  if (found.warnings.empty()) fmt::print("all well\n");
}

}  // namespace

void add_doctor(CLI::App& app) {
  struct Flags {
    bool json = false;
    RankFlags ranks;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("doctor", "Check that this machine will be fast");
  command->add_flag("--json", flags->json, "one JSON document");
  command
      ->add_option("--ranks", flags->ranks.ranks,
                   "measure the links between that many ranks instead: those that a launcher has "
                   "started, or new ones on this host")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1024}));
  command->add_option("--interface", flags->ranks.interface, "network interface between ranks");
  add_join_seconds(*command, flags->ranks);
  command->callback([flags, command] {
    if (flags->ranks.ranks > 0) return examine_links(flags->ranks, flags->json);
    refuse_flags(*command, {"--interface", "--join-seconds"}, "a doctor without --ranks");
    const Findings found = examine();
    flags->json ? print_json(found) : print_text(found);
  });
}

}  // namespace curnm::cli
