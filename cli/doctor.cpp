#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "cli/machine.h"
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

void run_doctor() {
  set_threads(0);
  std::vector<std::string> warnings;
  const double gflops = gemm_gflops();
  const std::string blas = loaded_blas();
  const Environment machine = this_machine();
  const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
  fmt::print("curnm      {}\n", kVersion);
  fmt::print("LibTorch   {}{}\n", libtorch_version(), libtorch_has_cuda() ? ", CUDA" : "");
  fmt::print("BLAS       {}\n", blas);
  fmt::print("CPU        {}{}{}\n", machine.cpu, avx2 ? ", AVX2" : "", avx512 ? ", AVX-512" : "");
  fmt::print("threads    {} of {} cores (core), {} (LibTorch)\n", num_threads(), machine.cores,
             libtorch_threads());
  fmt::print("GEMM       {:.0f} GF/s, {:.0f} per thread\n", gflops, gflops / libtorch_threads());

  if (blas.find("pthread") != std::string::npos) {
    warnings.push_back(
        "this OpenBLAS has threads of its own, which fight with OpenMP for the cores: "
        "install libopenblas0-openmp (./dev build selects it)");
  } else if (blas.find("openblas") == std::string::npos && blas.find("mkl") == std::string::npos) {
    warnings.push_back("this BLAS is slow: install libopenblas0-openmp (./dev build selects it)");
  }
  if (!avx2) warnings.push_back("this CPU has no AVX2: training will be several times slower");
  if (gflops < 20 * libtorch_threads()) {
    warnings.push_back("matrix products are slow: do other programs keep the cores busy?");
  }
  for (const std::string& warning : warnings) fmt::print("warning    {}\n", warning);
  if (warnings.empty()) fmt::print("all well\n");
}

}  // namespace

void add_doctor(CLI::App& app) {
  app.add_subcommand("doctor", "Check that this machine will be fast")->callback(run_doctor);
}

}  // namespace curnm::cli
