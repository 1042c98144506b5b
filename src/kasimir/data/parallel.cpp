// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/parallel.h"

#include "kasimir/base/threads.h"

#include <algorithm>
#include <atomic>

namespace kasimir {

void for_each_index(std::int64_t count, int threads, const std::function<void(std::int64_t)>& body,
                    const std::function<void(std::int64_t)>& progress) {
  constexpr std::int64_t worth_a_thread = 16;
  constexpr std::int64_t between_reports = 256;
  const std::int64_t chunks = std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(1, count / worth_a_thread));
  std::atomic<std::int64_t> done{0};
  std::atomic<std::int64_t> failed_chunk{chunks};
  on_threads(static_cast<std::size_t>(chunks), [&](std::size_t number) {
    const auto chunk = static_cast<std::int64_t>(number);
    try {
      const std::int64_t end = count * (chunk + 1) / chunks;
      for (std::int64_t i = count * chunk / chunks; i < end; ++i) {
        // only a failure before this chunk may stop it: it hides whatever would fail here
        if (failed_chunk.load(std::memory_order_relaxed) < chunk) return;
        body(i);
        const std::int64_t now = done.fetch_add(1, std::memory_order_relaxed) + 1;
        if (chunk == 0 && progress && (i + 1) % between_reports == 0) progress(now);
      }
    } catch (...) {
      std::int64_t known = failed_chunk.load();
      while (chunk < known && !failed_chunk.compare_exchange_weak(known, chunk)) {
      }
      throw;
    }
  });
  if (progress) progress(count);
}

}  // namespace kasimir
