// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/number/catalog.h"

namespace kasimir {
namespace {

Error unknown(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  return input_error("unknown {} `{}`, {}", what, name, suggestion(name, known));
}

template <typename Records>
auto find_record(const Records& records, std::string_view what, std::string_view name) {
  std::vector<std::string> known;
  for (const auto* record : records) {
    if (record->name == name) return record;
    known.emplace_back(record->name);
  }
  throw unknown(what, name, known);
}

}  // namespace

NumberFormat number_format(std::string_view name) {
  std::vector<std::string> known;
  for (const NumberFormat& format : number_formats()) {
    if (format.name == name) return format;
    known.emplace_back(format.name);
  }
  throw unknown("number format", name, known);
}

const Quantizer& quantizer(std::string_view name) { return *find_record(quantizers(), "quantizer", name); }

const RangeEstimator& range_estimator(std::string_view name) {
  return *find_record(range_estimators(), "range estimator", name);
}

}  // namespace kasimir
