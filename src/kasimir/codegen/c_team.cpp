// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_team.h"

namespace kasimir {
namespace {

// The turn is read before this thread is counted: the last one counted is the only one that may change it.
constexpr std::string_view prelude = R"(
#include <sched.h>
#ifdef _OPENMP
#include <omp.h>
#endif
/* Where the threads of one run wait for each other. */
typedef struct {
  int waiting;
  unsigned turn;
} ksm_gate;
static KSM_APART void ksm_wait(ksm_gate *gate, int threads) {
  const unsigned turn = __atomic_load_n(&gate->turn, __ATOMIC_RELAXED);
  if (__atomic_add_fetch(&gate->waiting, 1, __ATOMIC_ACQ_REL) == threads) {
    __atomic_store_n(&gate->waiting, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&gate->turn, turn + 1, __ATOMIC_RELEASE);
    return;
  }
  for (int spins = 0; __atomic_load_n(&gate->turn, __ATOMIC_ACQUIRE) == turn; ++spins) {
    if (spins == 2000) { /* the thread that is missing may need this processor */
      sched_yield();
      spins = 0;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}
/* The first of a thread's blocks: so many units are shared, of which the first `blocks` are in the loop. */
static inline int ksm_share(long units, long blocks, int thread, int threads) {
  const long at = units * thread / threads;
  return (int)(at < blocks ? at : blocks);
}
)";

}  // namespace

std::string c_team_prelude() { return std::string(prelude); }

double unevenness(std::int64_t units, int threads) {
  const std::int64_t longest = (units + threads - 1) / threads;
  return static_cast<double>(longest * threads) / static_cast<double>(units);
}

void open_shared(CText& text, const std::string& name, std::int64_t low, std::int64_t whole, std::int64_t step,
                 bool partial) {
  const std::int64_t blocks = whole / step;
  const std::int64_t units = blocks + (partial ? 1 : 0);
  text.open(
      "for (int {0} = {1} + {2} * ksm_share({3}, {4}, thread, threads), {0}_end = {1} + {2} * ksm_share({3}, {4}, "
      "thread + 1, threads); {0} < {0}_end; {0} += {2})",
      name, low, step, units, blocks);
}

void open_last(CText& text, bool shared) {
  if (shared) {
    text.open("if (thread == threads - 1)");
  } else {
    text.open("");
  }
}

}  // namespace kasimir
