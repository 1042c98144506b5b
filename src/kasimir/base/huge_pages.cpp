// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/huge_pages.h"

#include <sys/mman.h>

namespace kasimir {

void advise_huge_pages(void* memory, std::size_t bytes) {
  // A wish: a system without large pages answers with an error that changes nothing.
  static_cast<void>(madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE));
}

}  // namespace kasimir
