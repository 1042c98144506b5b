// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/network_c.h"

#include "kasimir/codegen/native.h"
#include "kasimir/nest/passes.h"
#include "kasimir/nest/schedule.h"
#include "kasimir/nest/sub_batches.h"

#include <algorithm>

namespace kasimir {
namespace {

// Half of the second-level cache of the processors at hand: the other half is for weights.
constexpr std::int64_t cache_bytes = 512 << 10;

bool multiplies(const Nest& nest) {
  const auto* last = std::get_if<Apply>(&nest.value.back());
  return nest.reduce == Reduce::sum && last != nullptr && last->fn == Fn::mul;
}

double rounded_up(std::int64_t value, std::int64_t to) { return static_cast<double>(round_up(value, to)); }

/// What Winograd executes over what the window product means.
double winograd_share(const Nest& nest, const WindowProduct& product, const WinogradBlock& block,
                      const CTarget& target) {
  const auto extent = [&](int loop) { return extent_of(nest, loop); };
  const double tile = block.m + 2;
  const double rows = rounded_up(extent(product.row), block.m) / block.m;
  const double columns = rounded_up(extent(product.column), block.m) / block.m;
  const double channels = rounded_up(extent(product.channel), target.lanes);
  const double executed = tile * tile * rows * columns * channels;
  return executed / (9.0 * static_cast<double>(extent(product.row) * extent(product.column) * extent(product.channel)));
}

}  // namespace

GraphC graph_as_c(const BoundGraph& graph, const COptions& options) {
  NestProgram whole = schedule(simplify(graph));
  // Threads that share every nest take all images together.
  const std::int64_t most = whole.batch < options.threads ? whole.batch : whole.batch / options.threads;
  GraphC made{with_sub_batches(whole, cache_bytes, most), {}};
  made.c = generate_c(made.program, options);
  return made;
}

Outcome<NetworkC> network_as_c(const NetworkPlan& plan, std::int64_t batch, const std::vector<NamedTensor>& weights,
                               const COptions& options) {
  auto lowered = lower_network(plan, batch);
  if (!lowered.ok()) return lowered.rejection();
  NetworkC result;
  result.network = *std::move(lowered);
  result.made = graph_as_c(result.network.graph, options);
  result.weights = pack_weights(result.made.c, values_of(result.network, weights));
  return result;
}

Multiplications count_multiplications(const GraphC& made, const CTarget& target) {
  Multiplications sum;
  for (const Segment& segment : made.program.segments)
    for (std::size_t i = segment.begin; i < segment.end; ++i) {
      const Nest& nest = made.program.run[i];
      if (!multiplies(nest)) continue;
      const double all = static_cast<double>(nest.points()) * static_cast<double>(made.program.batch) /
                         static_cast<double>(segment.batch);
      sum.nominal += all;
      double share = 1;
      if (const auto* block = std::get_if<WinogradBlock>(&made.c.methods[i])) {
        share = winograd_share(nest, *find_window_product(made.program, nest), *block, target);
      }
      sum.executed += share * all;
    }
  return sum;
}

}  // namespace kasimir
