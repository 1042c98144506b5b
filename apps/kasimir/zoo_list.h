// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernelzoo/entry.h"

#include <string>
#include <vector>

namespace kasimir {

/// What `kasimir zoo list` shows of the zoo.
struct ZooList {
  std::string network;
  std::string input;
  std::string within;
  std::string label;
  std::vector<std::string> primitives;
  bool measured = false;
  std::string sort = "name";
  bool json = false;
};

/// Prints the rows. @throws Error (input) for a word that means nothing.
void list_zoo(const std::vector<kernelzoo::Entry>& entries, const ZooList& options);
/// Prints one entry with its labels.
void show_entry(const kernelzoo::Entry& entry);

}  // namespace kasimir
