// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/field_vector.h"
#include "kasimir/kernel/stage.h"

#include <tsl/robin_map.h>

#include <memory>
#include <vector>

namespace kasimir {

/// Where a read's values lie, as rows of equal length whose elements are `stride` apart.
struct FieldWalk {
  std::vector<FieldRow> rows;
  std::uint32_t length = 1;
  std::int32_t stride = 1;
};

/// Of a read at each point of the order, a list of iterators, the last fastest and the others 0. A row goes over the
/// last iterator, and over up to `mergeable` of the last ones if their elements follow one another evenly.
FieldWalk field_walk(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read,
                     const std::vector<int>& order, std::size_t mergeable);

/// Tables that programs share: other stages read tensors of the same sizes in the same way, thousands of times. One
/// thread at a time; what it gave stays valid without it.
class FieldTables {
 public:
  using Walk = std::shared_ptr<const FieldWalk>;
  using Factors = std::shared_ptr<const std::vector<std::uint32_t>>;

  /// field_walk().
  Walk walk(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read, const std::vector<int>& order,
            std::size_t mergeable);
  /// Of each element of the read's tensor, the sum of what the points of the order that read it weigh. Each point of
  /// the first iterators, all but the last `repeated`, has a random weight of its own, a function of `key` and its
  /// number; over the others the mean is taken. Behind the factors lies field_slack.
  Factors factors(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read,
                  const std::vector<int>& order, std::size_t repeated, std::uint32_t key);

  /// Bytes of all tables.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Key {
    std::uint64_t high, low;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return key.low; }
  };
  static Key key(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read, const std::vector<int>& order,
                 std::uint64_t use);

  tsl::robin_map<Key, Walk, Hash> walks_;
  tsl::robin_map<Key, Factors, Hash> factors_;
  std::size_t bytes_ = 0;
};

}  // namespace kasimir
