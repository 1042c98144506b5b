// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernelzoo/entry.h"
#include "kasimir/study/place.h"

#include <filesystem>
#include <string>
#include <vector>

namespace kasimir {

/// Where kernels of the zoo are: this user's folder, `kasimir/zoo` in $XDG_DATA_HOME or ~/.local/share, which comes
/// first and need not exist, and the one that came with the program.
std::vector<std::filesystem::path> zoo_folders();

/// The kernel of a finalist with what the study measured of it; `name` replaces the kernel's own unless empty.
/// @throws Error (input) for a trial that is no finalist, one whose original has no results, and a network that others
/// do not have.
kernelzoo::Entry zoo_entry_of(const study::StudyPlace& study, int trial, const std::string& name);

/// A kernel that somebody names for a search to begin with.
struct GivenKernel {
  std::string from;
  std::string text;
};
/// "zoo": every kernel of the zoo; a kernel's name in it; a file; a folder, all of its `*.txt`.
/// @throws Error (input) for what is none of these, and as parse_kernel.
std::vector<GivenKernel> given_kernels(const std::vector<std::string>& words);

}  // namespace kasimir
