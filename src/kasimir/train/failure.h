// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"
#include "kasimir/train/memory_meter.h"
#include "kasimir/train/torch.h"

#include <optional>
#include <string_view>

namespace kasimir {

/// Runs `work`. Memory that is not to be had, which a search expects, becomes a rejection; any other complaint of torch
/// is a bug of ours and a failed check.
template <typename Work>
std::optional<Rejection> out_of_memory_in(Work work) {
  const auto rejection = [](std::string_view text) {
    return Rejection{"out of memory", std::string(text.substr(0, text.find('\n')))};
  };
  try {
    work();
  } catch (const MemoryLimit& limit) {
    return rejection(limit.what());
  } catch (const std::bad_alloc&) {
    return rejection("the machine has no more");
  } catch (const c10::OutOfMemoryError& error) {
    return rejection(error.what_without_backtrace());
  } catch (const c10::Error& error) {
    const std::string_view text = error.what_without_backtrace();
    if (text.find("can't allocate memory") != std::string_view::npos) return rejection(text);
    KASIMIR_CHECK(false, "torch: {}", text);
  }
  return std::nullopt;
}

}  // namespace kasimir
