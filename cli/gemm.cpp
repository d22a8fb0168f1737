#include "cli/gemm.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "cli/print.h"
#include "curnm/nn/kernels/gemm.h"
#include "curnm/nn/linear.h"

namespace curnm::cli {
namespace {

std::atomic<double> counted = 0;

/// 2·m·k·n of a product [.,m,k] x [.,k,n].
double product_flops(const torch::Tensor& a, const torch::Tensor& b) {
  return 2.0 * static_cast<double>(a.numel()) * static_cast<double>(b.size(-1));
}

std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& call) {
  const char* name = call.name();
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  std::size_t first = 0;
  if (is("aten::addmm") || is("aten::addmm_") || is("aten::baddbmm")) {
    first = 1;
  } else if (!is("aten::mm") && !is("aten::bmm")) {
    return nullptr;
  }
  const auto inputs = call.inputs();
  counted = counted + product_flops(inputs[first].toTensor(), inputs[first + 1].toTensor());
  return nullptr;
}

}  // namespace

double gemm_gflops() {
  constexpr std::int64_t kSize = 1000;  // rows a power of two apart would compete for the caches
  const torch::Tensor a = torch::rand({kSize, kSize});
  const torch::Tensor b = torch::rand({kSize, kSize});
  double best = 0;
  for (int i = 0; i < 10; ++i) {
    const Stopwatch watch;
    const torch::Tensor c = product(a, b);
    best = std::max(best, 2e-9 * kSize * kSize * kSize / watch.seconds());
  }
  return best;
}

FlopCounter::FlopCounter()
    : handle_(at::addGlobalCallback(at::RecordFunctionCallback(count).needsInputs(true))) {
  counted = 0;
  before_ = kernels::multiplied_flops();
}
FlopCounter::~FlopCounter() { at::removeCallback(handle_); }

double FlopCounter::flops() const { return counted + kernels::multiplied_flops() - before_; }

}  // namespace curnm::cli
