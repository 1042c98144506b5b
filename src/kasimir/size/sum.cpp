// SPDX-License-Identifier: Apache-2.0
#include "kasimir/size/size.h"

#include <algorithm>

namespace kasimir {
namespace {

bool comes_first(const Size& a, const Size& b) { return a.compare_symbols(b) > 0; }

}  // namespace

SizeSum& SizeSum::operator+=(const Size& term) {
  if (term.coefficient() == 0) return *this;
  const auto place = std::lower_bound(terms_.begin(), terms_.end(), term, comes_first);
  if (place == terms_.end() || comes_first(term, *place)) {
    terms_.insert(place, term);
    return *this;
  }
  const Rational total = place->coefficient() + term.coefficient();
  if (total == 0) {
    terms_.erase(place);
  } else {
    *place = Size(total) * (*place / Size(place->coefficient()));
  }
  return *this;
}

SizeSum& SizeSum::operator+=(const SizeSum& other) {
  SizeSum total = *this;  // `other` may be this sum, and an overflow must leave it as it was
  for (const Size& term : other.terms_) total += term;
  return *this = std::move(total);
}

SizeSum operator*(const SizeSum& a, const Size& b) {
  SizeSum product;
  for (const Size& term : a.terms_) product += term * b;
  return product;
}

std::string SizeSum::str() const {
  if (terms_.empty()) return "0";
  std::string text;
  for (const Size& term : terms_) {
    const std::string one = term.str();
    const bool negative = one.front() == '-';
    if (text.empty()) {
      text = one;
    } else {
      text += (negative ? " - " : " + ") + one.substr(negative ? 1 : 0);
    }
  }
  return text;
}

SizeSum SizeSum::substitute(Symbol symbol, const Size& value) const {
  SizeSum result;
  for (const Size& term : terms_) result += term.substitute(symbol, value);
  return result;
}

Rational SizeSum::at(const Binding& binding) const {
  Rational total = 0;
  for (const Size& term : terms_) total = total + term.at(binding);
  return total;
}

double SizeSum::value_at(const Binding& binding) const {
  double total = 0;
  for (const Size& term : terms_) total += term.value_at(binding);
  return total;
}

}  // namespace kasimir
