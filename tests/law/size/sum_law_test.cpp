// SPDX-License-Identifier: Apache-2.0
#include "law/size/random_size.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace kasimir::laws {
namespace {

RC_GTEST_PROP(SizeSumLaw, SumsCommuteAndAssociate, ()) {
  const SizeSum a = *any_sum(), b = *any_sum(), c = *any_sum();
  RC_ASSERT(a + b == b + a);
  RC_ASSERT((a + b) + c == a + (b + c));
  RC_ASSERT(a + SizeSum() == a);
}

RC_GTEST_PROP(SizeSumLaw, ADifferenceUndoesASum, ()) {
  const SizeSum a = *any_sum(), b = *any_sum();
  RC_ASSERT((a - a).is_zero());
  RC_ASSERT(a + b - b == a);
}

RC_GTEST_PROP(SizeSumLaw, TheOrderOfTheTermsDoesNotMatter, ()) {
  std::vector<Size> terms = *few_terms();
  const SizeSum forwards = sum_of(terms);
  std::reverse(terms.begin(), terms.end());
  RC_ASSERT(sum_of(terms) == forwards);
  std::sort(terms.begin(), terms.end());
  RC_ASSERT(sum_of(terms) == forwards);
}

RC_GTEST_PROP(SizeSumLaw, TermsAreSortedDistinctAndNotZero, ()) {
  const SizeSum sum = *any_sum();
  const std::vector<Size>& terms = sum.terms();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    RC_ASSERT(terms[i].coefficient() != 0);
    if (i > 0) RC_ASSERT((terms[i - 1].compare_symbols(terms[i]) > 0));
  }
}

RC_GTEST_PROP(SizeSumLaw, ProductsDistribute, ()) {
  const SizeSum a = *any_sum(), b = *any_sum();
  const Size c = *any_size();
  RC_ASSERT((a + b) * c == a * c + b * c);
  RC_ASSERT(a * Size(1) == a);
}

RC_GTEST_PROP(SizeSumLaw, EvaluationCommutesWithSumAndProduct, ()) {
  const SizeSum a = *any_sum(), b = *any_sum();
  const Size factor = Size(*small_fractions(1, 5)) * Size(Symbol::Ci);
  const Binding binding = *full_binding(12);
  RC_ASSERT((a + b).at(binding) == a.at(binding) + b.at(binding));
  RC_ASSERT((a * factor).at(binding) == a.at(binding) * factor.at(binding));
  RC_ASSERT(std::abs(a.value_at(binding) - a.at(binding).value()) < 1e-9 * (1 + 20 * 144 * 8));
}

RC_GTEST_PROP(SizeSumLaw, SubstitutionCommutesWithEvaluation, ()) {
  const SizeSum sum = *any_sum();
  const Symbol symbol = *rc::gen::element(Symbol::Ci, Symbol::g, Symbol::k);
  const Size value = Size(*rc::gen::inRange(1, 5)) * Size(*any_symbol(), *rc::gen::inRange(0, 2));
  const Binding binding = *full_binding(9);
  const Binding inner = Binding(binding).set(symbol, *value.extent_at(binding));
  RC_ASSERT(sum.substitute(symbol, value).at(binding) == sum.at(inner));
}

RC_GTEST_PROP(SizeSumLaw, TextGivesTheSameValueBack, ()) {
  const SizeSum sum = *any_sum();
  RC_ASSERT(SizeSum::parse(sum.str()) == sum);
  RC_ASSERT(SizeSum::parse(sum.str()).str() == sum.str());
}

}  // namespace
}  // namespace kasimir::laws
