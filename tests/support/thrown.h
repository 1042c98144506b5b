// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/error.h"

#include <string>

namespace kasimir::testing {

/// What `action` throws, as "exit code: what()"; "nothing was thrown" if it returns.
template <typename Action>
std::string thrown_by(Action&& action) {
  try {
    static_cast<void>(action());
  } catch (const Error& error) {
    return fmt::format("{}: {}", static_cast<int>(error.fault()), error.what());
  }
  return "nothing was thrown";
}

}  // namespace kasimir::testing
