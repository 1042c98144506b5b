// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <map>
#include <optional>

namespace kasimir {

/// An affine form of a stage's iterators.
struct AffineForm {
  std::vector<std::pair<int, std::int64_t>> terms;
  std::int64_t offset = 0;
};

/// The smallest and the largest value of a coordinate without its wrap.
std::pair<std::int64_t, std::int64_t> range_of(const BoundStage& stage, const BoundCoord& coord);

/// Where `reader` reads the tensor that `producer` defines: the producer's digits as forms of the reader's iterators.
/// Nothing where the read may leave the tensor, where it wraps, or where a digit could carry into the next.
std::optional<std::map<int, AffineForm>> digits_at(const BoundStage& producer, const BoundStage& reader,
                                                   const BoundRead& read);

/// A read of the producer with its iterators replaced; nothing where a wrapped iterator does not stand alone.
std::optional<BoundRead> compose(const BoundRead& inner, const std::map<int, AffineForm>& digits,
                                 const BoundStage& reader);

/// Every reduced iterator occurs in the expression: an idle one would be a hidden factor.
bool keeps_reductions(const BoundStage& stage);

/// How many reads each tensor has.
std::vector<int> count_reads(const BoundGraph& graph);

/// Drops stages whose result nobody reads, but for the output's.
void drop_unread(BoundGraph& graph);

}  // namespace kasimir
