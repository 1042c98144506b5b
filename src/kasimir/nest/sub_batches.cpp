// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest/sub_batches.h"

#include <algorithm>

namespace kasimir {
namespace {

std::int64_t batch_of(const BoundTensor& tensor) { return tensor.axes.empty() ? 1 : tensor.axes[0].extent; }

/// Positions of a map; maps of one size make a segment.
std::int64_t positions(const BoundTensor& tensor) {
  std::int64_t product = 1;
  for (const auto& axis : tensor.axes)
    if (is_spatial(axis.kind)) product *= axis.extent;
  return product;
}

/// Bytes of activations that one image moves through a nest.
std::int64_t traffic(const NestProgram& program, const Nest& nest) {
  const auto bytes = [&](int tensor) {
    const BoundTensor& of = program.tensors[static_cast<std::size_t>(tensor)];
    const auto codes = program.codes.find(tensor);
    return (codes != program.codes.end() && codes->second.bits <= 8 ? 1 : 4) * elements(of) / batch_of(of);
  };
  std::int64_t sum = 0;
  for_each_out(nest, [&](int tensor) { sum += bytes(tensor); });
  for_each_read(nest, [&](const BoundRead& read) {
    if (!program.known[static_cast<std::size_t>(read.tensor)]) sum += bytes(read.tensor);
  });
  return sum;
}

/// Bytes of weights that a nest reads for however many images; four times as many where they may be transformed.
std::int64_t weights(const NestProgram& program, const Nest& nest) {
  std::int64_t sum = 0;
  for_each_read(nest, [&](const BoundRead& read) {
    const auto t = static_cast<std::size_t>(read.tensor);
    if (program.known[t]) sum += (program.codes.contains(read.tensor) ? 1 : 4 * 4) * elements(program.tensors[t]);
  });
  return sum;
}

/// The largest divisor of `batch` that is a multiple of `of` and at most `limit`; `of` itself where there is none.
std::int64_t divisor(std::int64_t batch, std::int64_t of, std::int64_t limit) {
  std::int64_t best = of;
  for (std::int64_t d = of; d <= std::min(batch, limit); d += of)
    if (batch % d == 0) best = d;
  return best;
}

}  // namespace

NestProgram with_sub_batches(const NestProgram& program, std::int64_t cache_bytes, std::int64_t most) {
  NestProgram cut = program;
  const std::int64_t batch = batch_of(program.tensors[static_cast<std::size_t>(program.input)]);
  cut.batch = batch;
  cut.segments.clear();
  std::vector<std::size_t> segment_of(program.run.size());
  std::int64_t last = -1;
  std::vector<std::int64_t> widest;    // per segment: the largest traffic of a nest
  std::vector<std::int64_t> heaviest;  // and the most weights
  for (std::size_t i = 0; i < program.run.size(); ++i) {
    const std::int64_t here = positions(program.tensors[static_cast<std::size_t>(program.run[i].out)]);
    if (here != last) {
      cut.segments.push_back({i, i, 1});
      widest.push_back(0);
      heaviest.push_back(0);
    }
    last = here;
    cut.segments.back().end = i + 1;
    widest.back() = std::max(widest.back(), traffic(program, program.run[i]));
    heaviest.back() = std::max(heaviest.back(), weights(program, program.run[i]));
    segment_of[i] = cut.segments.size() - 1;
  }
  std::int64_t before = 1;
  for (std::size_t s = 0; s < cut.segments.size(); ++s) {
    // Beyond the cache it still pays to take more images, as long as their maps are less than the weights.
    const std::int64_t wanted = std::max(cache_bytes, heaviest[s]) / widest[s];
    before = divisor(batch, before, std::min(most, std::max<std::int64_t>(1, wanted)));
    cut.segments[s].batch = before;
  }
  // A tensor holds the images of the widest segment that uses it.
  const auto hold = [&](int tensor, std::int64_t images) {
    auto& axes = cut.tensors[static_cast<std::size_t>(tensor)].axes;
    axes[0].extent = std::max(axes[0].extent, images);
  };
  for (std::size_t t = 0; t < cut.tensors.size(); ++t)
    if (!program.known[t] && !cut.tensors[t].axes.empty()) cut.tensors[t].axes[0].extent = 1;
  for (std::size_t i = 0; i < cut.run.size(); ++i) {
    const std::int64_t images = cut.segments[segment_of[i]].batch;
    Nest& nest = cut.run[i];
    for (BoundIter& loop : nest.loops)
      if (loop.kind == AxisKind::batch) loop.extent = images;
    for_each_out(nest, [&](int tensor) { hold(tensor, images); });
    for_each_read(nest, [&](const BoundRead& read) {
      if (!program.known[static_cast<std::size_t>(read.tensor)]) hold(read.tensor, images);
    });
  }
  return cut;
}

}  // namespace kasimir
