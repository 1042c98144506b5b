// SPDX-License-Identifier: Apache-2.0
#include "bindings.h"

#include "kasimir/base/error.h"
#include "kasimir/number/catalog.h"
#include "kasimir/number/fit.h"

#include <nanobind/ndarray.h>

namespace nb = nanobind;

namespace kasimir::python {
namespace {

using Floats = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;

std::span<const float> values_of(const Floats& array) { return {array.data(), array.size()}; }

IntegerFormat integer_format(const std::string& name) {
  const NumberFormat format = number_format(name);
  if (!format.integer) throw input_error("the number format `{}` is no integer format, one is needed", name);
  return *format.integer;
}

std::vector<std::tuple<float, std::int32_t, float>> scales(const Floats& array, std::int64_t slices,
                                                           const std::string& format, const std::string& rule,
                                                           const std::string& range, const std::string& where) {
  std::vector<std::tuple<float, std::int32_t, float>> all;
  for (const QuantizerScale& scale :
       fit_scales(where, values_of(array), slices, quantizer(rule), range_estimator(range), integer_format(format)))
    all.emplace_back(scale.step, scale.zero_point, scale.offset);
  return all;
}

std::vector<QuantizerScale> scales_of(const std::vector<std::tuple<float, std::int32_t, float>>& numbers) {
  std::vector<QuantizerScale> all;
  for (const auto& [step, zero, offset] : numbers) all.push_back({step, zero, offset});
  return all;
}

/// The rounded values, into `out`, which has as many elements.
void round_values(const Floats& array, nb::ndarray<float, nb::c_contig, nb::device::cpu> out,
                  const std::vector<std::tuple<float, std::int32_t, float>>& numbers, const std::string& format,
                  const std::string& rule) {
  const auto values = values_of(array);
  const std::vector<QuantizerScale> scale = scales_of(numbers);
  const Quantizer& by = quantizer(rule);
  const IntegerFormat integer = integer_format(format);
  if (scale.empty() || values.size() % scale.size() != 0 || out.size() != values.size())
    throw input_error("{} values do not divide into {} slices", values.size(), scale.size());
  const std::size_t slice = values.size() / scale.size();
  for (std::size_t i = 0; i < values.size(); ++i) out.data()[i] = by.quantize(values[i], scale[i / slice], integer);
}

void nearest(const Floats& array, nb::ndarray<float, nb::c_contig, nb::device::cpu> out, const std::string& name) {
  const NumberFormat format = number_format(name);
  const auto values = values_of(array);
  if (out.size() != values.size()) throw input_error("{} values and place for {}", values.size(), out.size());
  for (std::size_t i = 0; i < values.size(); ++i) out.data()[i] = format.nearest(format, values[i]);
}

}  // namespace

void add_numbers(nb::module_& module) {
  module.def("number_formats", [] {
    std::vector<std::tuple<std::string, int, std::string>> all;
    for (const NumberFormat& format : number_formats()) all.emplace_back(format.name, format.bits, format.source);
    return all;
  });
  // Of an integer format, the least and the greatest code.
  module.def("code_range", [](const std::string& name) -> std::optional<std::pair<std::int32_t, std::int32_t>> {
    const NumberFormat format = number_format(name);
    if (!format.integer) return std::nullopt;
    return std::pair(format.integer->lowest(), format.integer->highest());
  });
  module.def("quantizers", [] {
    std::vector<std::pair<std::string, std::string>> all;
    for (const Quantizer* one : quantizers()) all.emplace_back(one->name, one->brief);
    return all;
  });
  module.def("range_estimators", [] {
    std::vector<std::pair<std::string, std::string>> all;
    for (const RangeEstimator* one : range_estimators()) all.emplace_back(one->name, one->brief);
    return all;
  });
  module.def("fit_scales", &scales);
  module.def("round_values", &round_values);
  module.def("nearest", &nearest);
  module.def("encode", [](const Floats& array, const std::vector<std::tuple<float, std::int32_t, float>>& numbers,
                          const std::string& format, const std::string& where) {
    return encode_all(where, values_of(array), scales_of(numbers), integer_format(format));
  });
}

}  // namespace kasimir::python
