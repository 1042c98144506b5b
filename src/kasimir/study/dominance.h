// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace kasimir::study {

/// One candidate's objectives, all to be made small.
using Objectives = std::vector<double>;

/// True if `a` is nowhere worse than `b` and somewhere better.
bool dominates(const Objectives& a, const Objectives& b);

/// How the candidates of a population are preferred to each other: NSGA-II (Deb et al., IEEE Transactions on
/// Evolutionary Computation 6, 2002).
struct Preference {
  std::size_t front = 0;  ///< 0: nobody dominates it; 1: only candidates of front 0 do; ..
  double crowding = 0;  ///< how far its neighbours on the front are, each objective by its range; infinite at the ends
};

/// One for each candidate; all have the same number of objectives, none of which is not a number.
std::vector<Preference> preferences(const std::vector<Objectives>& population);

/// The candidates by front, and within a front the lonelier first.
std::vector<std::size_t> by_preference(const std::vector<Objectives>& population);

}  // namespace kasimir::study
