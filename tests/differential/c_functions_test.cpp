// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/child_process.h"
#include "kasimir/base/files.h"
#include "kasimir/codegen/native.h"

#include <gtest/gtest.h>

#include <sstream>

namespace kasimir {
namespace {

/// The functions of generated C beside those of libm in double, and sums and the largest value of a vector.
constexpr const char* main_text = R"(
#include <stdio.h>
#define WORST(FN, SCALE) \
  { \
    double worst = 0; \
    for (int i = 0; i < 80000; ++i) { \
      vf x = SET1(0.0f); \
      for (int lane = 0; lane < LANES; ++lane) x[lane] = (float)((i - 40000) * 0.002 + lane * 0.0001); \
      const vf y = v##FN(x); \
      for (int lane = 0; lane < LANES; ++lane) { \
        const double exact = s##FN((double)x[lane]), off = fabs(y[lane] - exact) / (SCALE); \
        if (!(off <= worst)) worst = off; \
      } \
    } \
    printf(#FN " %.3g\n", worst); \
  }
int main(void) {
  WORST(exp, exact)
  WORST(sigmoid, 1.0)
  WORST(tanh, 1.0)
  WORST(gelu, fmax(1.0, fabs(x[lane])))
  WORST(sin, 1.0)
  WORST(hardswish, fmax(1.0, fabs(x[lane])))
  vf x = SET1(0.0f);
  for (int lane = 0; lane < LANES; ++lane) x[lane] = (float)(lane * 5 % LANES + 1);
  printf("sum %.3g\n", fabs(sum_of(x) - LANES * (LANES + 1) / 2));
  printf("max %.3g\n", fabs(max_of(x) - LANES));
  float kept[2 * LANES];
  double wrong = 0;
  for (int n = 1; n < LANES; ++n) {
    for (int i = 0; i < 2 * LANES; ++i) kept[i] = -1;
    st_part(kept, x, n);
    for (int i = 0; i < 2 * LANES; ++i) wrong += kept[i] != (i < n ? x[i] : -1);
  }
  printf("part %.3g\n", wrong);
  return 0;
}
)";

TEST(CFunctions, AreThoseOfTheTableToTheLastDigitsOfAFloat) {
  for (const CTarget& target : {CTarget{16, 32}, CTarget{8, 16}, CTarget{4, 16}}) {
    if (target.lanes > host_target().lanes) continue;
    const TemporaryFolder folder;
    const std::string source = (folder.path() / "functions.c").string();
    const std::string program = (folder.path() / "functions").string();
    write_file(source, c_includes() + c_prelude(target) + main_text);
    const auto compiled = run_command(
        {"cc", "-std=gnu11", "-O2", "-march=native", "-ffp-contract=fast", "-w", "-o", program, source, "-lm"});
    ASSERT_TRUE(compiled.ok()) << compiled.rejection().str();
    const auto told = run_command({program});
    ASSERT_TRUE(told.ok()) << told.rejection().str();
    std::istringstream lines(*told);
    std::string name;
    double worst = 0;
    int functions = 0;
    for (; lines >> name >> worst; ++functions) {
      const bool exact = name == "sum" || name == "max" || name == "part";
      EXPECT_LE(worst, exact ? 0 : 5e-7) << name << " with " << target.lanes << " lanes";
    }
    EXPECT_EQ(functions, 9) << *told;
  }
}

}  // namespace
}  // namespace kasimir
