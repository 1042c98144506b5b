// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/eyeriss.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

double ceil_div(int a, int b) { return (a + b - 1) / b; }

// Least squares of log(ideal / constant / measured): the geometric mean.
class LogMean {
 public:
  void add(double ratio) {
    sum_ += std::log(ratio);
    ++count_;
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] double value() const { return std::exp(sum_ / count_); }

 private:
  double sum_ = 0;
  int count_ = 0;
};

}  // namespace

double EyerissRoofline::compute_ms(const EyerissRun& run) const {
  return 1e3 * run.macs / (run.active_pe * compute_efficiency * clock_hz);
}

double EyerissRoofline::buffer_ms(const EyerissRun& run) const {
  return 1e3 * run.glb_bytes / (glb_bytes_per_cycle * clock_hz);
}

double EyerissRoofline::latency_ms(const EyerissRun& run) const { return std::max(compute_ms(run), buffer_ms(run)); }

EyerissRoofline fit_eyeriss(const std::vector<EyerissRun>& runs) {
  // To start with: nothing lost on either side.
  EyerissRoofline fit{1, 16};
  for (int round = 0; round < 100; ++round) {
    LogMean compute, buffer;
    for (const EyerissRun& run : runs) {
      const double cycles = run.processing_ms * 1e-3 * fit.clock_hz;
      if (fit.compute_ms(run) >= fit.buffer_ms(run))
        compute.add(run.macs / run.active_pe / cycles);
      else
        buffer.add(run.glb_bytes / cycles);
    }
    if (compute.empty() || buffer.empty())
      throw input_error("all {} runs are bound by {}, needed: at least one by each of computing and the buffer",
                        runs.size(), compute.empty() ? "the buffer" : "computing");
    const EyerissRoofline next{compute.value(), buffer.value()};
    const bool same =
        next.compute_efficiency == fit.compute_efficiency && next.glb_bytes_per_cycle == fit.glb_bytes_per_cycle;
    fit = next;
    if (same) break;
  }
  return fit;
}

GlbTraffic row_stationary_traffic(const ConvLayer& layer, const RowStationary& mapping, int batch) {
  const int channels = layer.cin / layer.groups, filters = layer.cout / layer.groups;
  const double strips = ceil_div(layer.out_h(), mapping.e);
  const double rows =
      strips > 1 ? strips * ((mapping.e - 1) * layer.stride + layer.kernel_h) : static_cast<double>(layer.height);
  const double outputs = static_cast<double>(batch) * filters * layer.out_h() * layer.out_w();
  const double inputs = static_cast<double>(batch) * channels * rows * layer.width;
  const double groups = layer.groups;
  GlbTraffic traffic;
  traffic.psum_words = groups * (2 * ceil_div(channels, mapping.q * mapping.r) - 1) * outputs;
  traffic.input_reads = groups * inputs * filters / (mapping.p * mapping.t);
  traffic.input_fills = groups * inputs * filters / mapping.m;
  return traffic;
}

}  // namespace kasimir
