// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/work.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace kasimir {
namespace {

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

constexpr std::array<std::string_view, work_kinds> names{
    "products", "operands", "packing", "winograd products", "transforms", "operations", "functions",
    "reads",    "gathers",  "tests",   "results",           "floats",     "nests"};

bool slow(Fn fn) {
  switch (fn) {
    case Fn::div:
    case Fn::exp:
    case Fn::sqrt:
    case Fn::rsqrt:
    case Fn::sin:
    case Fn::tanh:
    case Fn::sigmoid:
    case Fn::gelu:
      return true;
    default:
      return false;
  }
}

/// Calls `visit` with the number of each nest of `run`, and how often it is computed for the whole batch.
template <typename Visit>
void for_each_nest(const NestProgram& program, Visit visit) {
  for (const Segment& segment : program.segments)
    for (std::size_t i = segment.begin; i < segment.end; ++i)
      visit(i, static_cast<double>(program.batch) / static_cast<double>(segment.batch));
}

/// Adds up what a nest does in one run of it.
class NestWork {
 public:
  NestWork(const NestProgram& program, const Nest& nest, const MemoryPlan& plan, const CTarget& target)
      : program_(program), nest_(nest), flat_(flatten(program, nest, plan)), target_(target) {}

  WorkCounts count(const Method& method) {
    add(Work::nests, 1);
    count_floats();
    if (const auto* block = std::get_if<RegisterBlock>(&method)) {
      count_direct(*block);
    } else if (const auto* winograd = std::get_if<WinogradBlock>(&method)) {
      count_winograd(*winograd);
    } else {
      count_loops();
    }
    return counts_;
  }

 private:
  void add(Work kind, double amount) { counts_[static_cast<std::size_t>(kind)] += amount; }
  [[nodiscard]] double lanes() const { return target_.lanes; }
  [[nodiscard]] std::int64_t extent(int loop) const { return flat_.loops[static_cast<std::size_t>(loop)].extent; }

  void count_floats() {
    std::set<int> tensors;
    for_each_out(nest_, [&](int tensor) { tensors.insert(tensor); });
    for_each_read(nest_, [&](const BoundRead& read) { tensors.insert(read.tensor); });
    for (int tensor : tensors)
      add(Work::floats, static_cast<double>(elements(program_.tensors[static_cast<std::size_t>(tensor)])));
  }

  void count_direct(const RegisterBlock& block) {
    const auto contraction = find_contraction(flat_);
    const auto channels = static_cast<double>(packed_channels(flat_, *contraction, target_));
    const auto all = static_cast<double>(contraction->channels(flat_));
    double vectors = static_cast<double>(nest_.points()) / all * channels / lanes();
    if (const auto& bytes = contraction->bytes)
      vectors *= static_cast<double>(bytes->fours) / static_cast<double>(contraction->k_extent(flat_));
    add(Work::products, vectors);
    double pixels = 1;
    for (int loop : contraction->pixels) pixels *= static_cast<double>(extent(loop));
    const double block_pixels = std::min<double>(pixels, block.rows * block.columns);
    const double block_vectors = std::min<double>(std::ceil(channels / lanes()), block.vectors);
    add(Work::operands, vectors * (1 / block_pixels + 1 / block_vectors));
    const auto& packed = flat_.value[static_cast<std::size_t>(contraction->b)];
    if (!program_.known[static_cast<std::size_t>(packed->tensor)])
      add(Work::packing, static_cast<double>(packed_size(flat_, *contraction, target_)));
    count_epilogue(static_cast<double>(nest_.results()) / all * std::ceil(channels / lanes()));
  }

  void count_winograd(const WinogradBlock& block) {
    const auto product = find_window_product(program_, nest_);
    add(Work::winograd_products,
        winograd_share(nest_, *product, block, target_) * static_cast<double>(nest_.points()) / lanes());
    const WinogradSeconds parts = winograd_seconds(nest_, *product, block.m);
    add(Work::transforms, (parts.input + parts.output) * rates::transform_floats / lanes());
    count_epilogue(static_cast<double>(nest_.results()) / lanes());
  }

  void count_loops() {
    const auto [loop, of_result] = loop_over_vectors(flat_, target_);
    const auto along = [&](std::int64_t points) {
      if (loop < 0) return static_cast<double>(points);
      return static_cast<double>(points) / static_cast<double>(extent(loop)) * rounded_up(extent(loop), target_.lanes) /
             lanes();
    };
    const double steps = along(nest_.points());
    count_nodes(nest_.value, flat_.value, loop, steps);
    if (nest_.reduce != Reduce::none) add(Work::operations, steps);
    count_epilogue(of_result ? along(nest_.results()) : static_cast<double>(nest_.results()));
  }

  void count_epilogue(double steps) {
    add(Work::results, steps);
    count_nodes(nest_.epilogue, flat_.epilogue, -1, steps);
  }

  void count_nodes(const std::vector<NestNode>& nodes, const std::vector<std::optional<Access>>& reads, int loop,
                   double steps) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (const auto* apply = std::get_if<Apply>(&nodes[i]))
        add(slow(apply->fn) ? Work::functions : Work::operations, steps);
      if (!reads[i]) continue;
      const bool known = program_.known[static_cast<std::size_t>(reads[i]->tensor)];
      const std::int64_t stride = loop < 0 || (known && repacked_along(flat_, *reads[i], loop))
                                      ? 0
                                      : std::abs(reads[i]->strides[static_cast<std::size_t>(loop)]);
      if (stride > 1) {
        add(Work::gathers, steps * lanes());
      } else {
        add(Work::reads, steps);
      }
      if (!reads[i]->guarded.empty()) add(Work::tests, steps);
    }
  }

  const NestProgram& program_;
  const Nest& nest_;
  FlatNest flat_;
  const CTarget& target_;
  WorkCounts counts_{};
};

}  // namespace

std::string_view work_name(Work kind) { return names[static_cast<std::size_t>(kind)]; }

void add_work(WorkCounts& sum, const WorkCounts& more, double times) {
  for (std::size_t k = 0; k < work_kinds; ++k) sum[k] += times * more[k];
}

std::vector<WorkCounts> count_nests(const NestProgram& program, const std::vector<Method>& methods,
                                    const CTarget& target) {
  const MemoryPlan plan = plan_memory(program, {});
  std::vector<WorkCounts> all;
  for_each_nest(program, [&](std::size_t i, double times) {
    add_work(all.emplace_back(), NestWork(program, program.run[i], plan, target).count(methods[i]), times);
  });
  return all;
}

WorkCounts count_work(const NestProgram& program, const std::vector<Method>& methods, const CTarget& target) {
  WorkCounts sum{};
  for (const WorkCounts& counts : count_nests(program, methods, target)) add_work(sum, counts);
  return sum;
}

Outcome<WorkCounts> count_work(const NetworkPlan& plan, std::int64_t batch, const CTarget& target) {
  const auto lowered = lower_network(plan, batch);
  if (!lowered.ok()) return lowered.rejection();
  const NestProgram program = graph_as_nests(lowered->graph, 1);
  return count_work(program, default_methods(program, target), target);
}

Multiplications count_multiplications(const NestProgram& program, const std::vector<Method>& methods,
                                      const CTarget& target) {
  Multiplications sum;
  for_each_nest(program, [&](std::size_t i, double times) {
    const Nest& nest = program.run[i];
    if (!multiplies(nest)) return;
    const double all = static_cast<double>(nest.points()) * times;
    sum.nominal += all;
    const auto* block = std::get_if<WinogradBlock>(&methods[i]);
    sum.executed +=
        block == nullptr ? all : winograd_share(nest, *find_window_product(program, nest), *block, target) * all;
  });
  return sum;
}

}  // namespace kasimir
