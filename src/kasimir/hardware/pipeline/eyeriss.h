// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/layer.h"

#include <vector>

namespace kasimir {

/// A layer as it ran on the Eyeriss chip (Chen et al., JSSC 52(1), 2017, tables V and VI).
struct EyerissRun {
  double macs = 0;           ///< of the batch
  double active_pe = 0;      ///< processing elements with work, of 168
  double glb_bytes = 0;      ///< moved from and to the global buffer
  double processing_ms = 0;  ///< measured, without loading from outside
};

/// Latency = the longer of computing and moving through the global buffer, with two fitted constants.
struct EyerissRoofline {
  double compute_efficiency = 0;   ///< of the active elements, one MAC per cycle each
  double glb_bytes_per_cycle = 0;  ///< of 16: one 64 bit port each to read and to write partial sums
  double clock_hz = 200e6;

  [[nodiscard]] double compute_ms(const EyerissRun& run) const;
  [[nodiscard]] double buffer_ms(const EyerissRun& run) const;
  [[nodiscard]] double latency_ms(const EyerissRun& run) const;
};

/// The constants with the least sum of squares of log(model / measured). Alternates between telling which runs each
/// side bounds and fitting each side to its runs, until nothing changes. Both kinds of runs are needed.
/// @throws Error (input) if all runs are bound by one side.
EyerissRoofline fit_eyeriss(const std::vector<EyerissRun>& runs);

/// Row-stationary mapping, with the letters of JSSC table III.
struct RowStationary {
  int m = 1;  ///< filters that share the inputs in the global buffer
  int n = 1;  ///< images
  int e = 1;  ///< output rows of a set of processing elements
  int p = 1;  ///< filters in one element
  int q = 1;  ///< channels in one element
  int r = 1;  ///< sets for different channels
  int t = 1;  ///< sets for different filters
};

/// Words between the global buffer and the array, by kind.
struct GlbTraffic {
  double psum_words = 0, input_reads = 0, input_fills = 0;
  [[nodiscard]] double bytes() const { return 2 * (psum_words + input_reads + input_fills); }  ///< 16 bit words
};

/// Traffic of one layer for `batch` images: partial sums are read and written back for each set of channels but the
/// first, inputs are read for each set of filters and filled for each m filters, filters pass the buffer by. Input rows
/// are those of the strips of e output rows where these overlap, without padding.
GlbTraffic row_stationary_traffic(const ConvLayer& layer, const RowStationary& mapping, int batch);

}  // namespace kasimir
