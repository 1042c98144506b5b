// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/error.h"

#include <string>

namespace kasimir {

/// The text of the Error (input) that `action` throws; a sentence that no message equals where it throws none.
template <typename Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.fault() == Fault::input ? error.what() : "an error that is not the user's: " + error.message();
  }
  return "no error was thrown";
}

}  // namespace kasimir
