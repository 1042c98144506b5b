// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/assignment.h"

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <vector>

namespace kasimir {

/// What every shape costs on every layer, for groups of layers that share a chunk.
class EngineTable {
 public:
  /// A layer as far as the table needs to know it.
  struct Item {
    bool depthwise = false;
    int bits = 0;
    std::size_t kind = 0;  ///< equal layers have the same kind
  };
  /// Cost of a kind on a shape whose arithmetic has `bits`.
  using Cost = std::function<ChunkLayerCost(std::size_t kind, const ChunkShape& shape, int bits)>;

  EngineTable(std::vector<Item> items, const AssignmentSpace& space, const ResourceBudget& budget, double overhead_dsp,
              const Cost& cost);

  [[nodiscard]] const std::vector<Item>& items() const { return items_; }
  /// The Pareto set of a chunk for these layers (places in items(), all of one type); kept for the next time.
  const std::vector<ChunkOption>& options(const std::vector<std::size_t>& group);
  /// The shape behind an option of `group`.
  [[nodiscard]] const ChunkShape& shape(const std::vector<std::size_t>& group, const ChunkOption& option) const;
  /// Bits of the chunk for `group`.
  [[nodiscard]] int bits(const std::vector<std::size_t>& group) const;
  /// A proved bound for all assignments to at most `max_chunks` chunks.
  [[nodiscard]] double lower_bound(std::size_t max_chunks) const;

 private:
  /// The shapes for one type and width, without those that another one beats on each layer.
  struct Family {
    bool depthwise = false;
    int bits = 0;
    std::vector<std::size_t> kinds;  // of the layers that may run on it
    std::vector<ChunkShape> shapes;
    std::vector<std::vector<ChunkLayerCost>> costs;  // [shape][place in kinds]
    std::map<std::size_t, std::size_t> place;        // of a kind in kinds
  };
  /// A layer's cycles and shares (dsp, bram18, lut, places for chunks) on every shape that fits.
  struct Column {
    std::vector<double> cycles;
    std::vector<std::array<double, 4>> share;
    double least_bits = std::numeric_limits<double>::infinity();
  };
  struct Priced {
    double cycles = 0;              // the bound that the prices prove
    std::array<double, 4> slope{};  // its supergradient
  };
  [[nodiscard]] Column column_of(const Item& item, std::size_t max_chunks) const;
  static Priced priced(const std::vector<Column>& columns, const std::array<double, 4>& price);
  [[nodiscard]] const Family& family(const std::vector<std::size_t>& group) const;
  void add_family(bool depthwise, int bits, const std::vector<ChunkSpace>& spaces, const Cost& cost);

  std::vector<Item> items_;
  ResourceBudget budget_;
  double overhead_dsp_;
  std::vector<Family> families_;
  std::map<std::vector<std::size_t>, std::vector<ChunkOption>> known_;
};

}  // namespace kasimir
