// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/kernel.h"

#include <string>
#include <vector>

namespace kasimir {

/// What a model that predicts a kernel's accuracy is told of it: numbers that are known before any training.
/// In this order: how often each primitive of the catalog occurs, two for more than that; then
///   steps, depth     all of them, and the most on one path from input to output
///   weighted         steps with learned weights
///   shared           tensors that more than one step reads
///   narrowest        log2 of the elements of the narrowest tensor by those of the output, on the path where it is widest
///   reach_rows, reach_columns   log2 of 1 and the reach (labels.h), the map's side at most
///   levels, global, is_linear, data_weights, equivariant, any_resolution   (labels.h)
///   macs, params     log2 of what the kernel has at the site by what a dense 3 x 3 convolution has there
std::vector<std::string> feature_names(Catalog catalog);

/// As many as names. `site` is one that the kernel has a fit for, if it has free symbols. Rejected as lower_at() and
/// exact_labels() reject.
Outcome<std::vector<double>> kernel_features(const Kernel& kernel, Catalog catalog, const Site& site);

}  // namespace kasimir
