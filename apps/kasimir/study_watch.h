// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kasimir {

struct StudyWatch {
  std::string path;
  std::string every;  ///< a span of time; empty: often on a terminal, once a minute elsewhere
};

/// Shows a study until it is finished (0) or Ctrl-C (130): redrawn in place on a terminal, else block after block.
/// @throws Error as Store::view.
int watch(const StudyWatch& options);

}  // namespace kasimir
