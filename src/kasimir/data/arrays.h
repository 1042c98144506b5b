// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/dataset.h"

#include <string>

namespace kasimir {

/// True for a name that ends with .npz or .npy, and for a folder that holds .npy files.
bool looks_like_arrays(const std::string& where);

/// Loads NumPy arrays: an .npz file, or a folder of .npy files. By their names, large or small letters, images are `x`,
/// `images` or `data` and targets `y`, `labels`, `targets` or `masks`, with `_train` and `_test` (or `_val`) behind or
/// `train_` and `test_` before, or alone: then every fifth image of each class is set apart for testing.
/// Images are [n, row, column], or with channels as the smaller one of axis 1 and axis 3. Bytes are taken as they are,
/// and so are whole numbers from 0 to 255; other numbers are brought from 0..1, or from the range that the training
/// part has, to 0..255 in whole steps, which the description says.
/// Targets that are whole numbers are classes [n], or masks of the images' size; floating-point ones are values [n] or
/// [n, value] and are brought to mean 0 and deviation 1 of the training part (Dataset::scales).
/// An image or target that is not finite counts as corrupt. Arrays of bytes that are not packed are streamed where they
/// need more memory than the limit.
/// @throws Error (input) as load_dataset; names that are not known are listed.
Dataset load_arrays(const std::string& where, const LoadOptions& options);

}  // namespace kasimir
