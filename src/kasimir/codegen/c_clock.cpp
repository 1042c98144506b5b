// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_clock.h"

namespace kasimir {

void write_clock(CText& text, const std::string& name, std::size_t nests) {
  text.line("#include <time.h>");
  text.line("double {}_times[{}];", name, nests);
  text.line("static struct timespec ksm_start;");
  text.line("static void ksm_begin(void) {{ clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ksm_start); }}");
  text.open("static double ksm_end(void)");
  text.line("struct timespec now;");
  text.line("clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);");
  text.line("return 1e9 * (double)(now.tv_sec - ksm_start.tv_sec) + (double)(now.tv_nsec - ksm_start.tv_nsec);");
  text.close();
}

}  // namespace kasimir
