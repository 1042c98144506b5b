// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kasimir {

/// The first TPU (Jouppi et al., ISCA 2017): a weight-stationary array of 256 x 256 8 bit multipliers at 700 MHz,
/// weights from a memory of 34 GB/s.
struct TpuRoofline {
  double peak_tops = 92;  ///< 2 x 65,536 x 0.7 GHz = 91.75, rounded in the paper
  double weight_gb_per_s = 34;

  /// Bound of the throughput in TOPS (a MAC is two operations) for a program that does `macs_per_weight_byte` MACs for
  /// each byte of weights that it reads.
  [[nodiscard]] double bound_tops(double macs_per_weight_byte) const {
    const double memory = 2 * macs_per_weight_byte * weight_gb_per_s * 1e-3;
    return memory < peak_tops ? memory : peak_tops;
  }
};

}  // namespace kasimir
