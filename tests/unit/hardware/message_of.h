// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/error.h"

#include <gtest/gtest.h>

#include <string>

namespace kasimir {

/// The whole text of the error that a call throws; "nothing" if it throws none.
template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::input);
    return error.what();
  }
  return "nothing";
}

}  // namespace kasimir
