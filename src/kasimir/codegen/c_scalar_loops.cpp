// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_nests.h"

#include "kasimir/base/error.h"

#include <numbers>

namespace kasimir {
namespace {

std::string scalar_call(Fn fn, const std::string& a, const std::string& b) {
  switch (fn) {
    case Fn::add:
    case Fn::join:
      return a + " + " + b;
    case Fn::sub:
      return a + " - " + b;
    case Fn::mul:
      return a + " * " + b;
    case Fn::div:
      return a + " / " + b;
    case Fn::max:
      return "fmax(" + a + ", " + b + ")";
    case Fn::min:
      return "fmin(" + a + ", " + b + ")";
    case Fn::neg:
      return "-" + a;
    case Fn::abs:
      return "fabs(" + a + ")";
    case Fn::relu:
      return "fmax(" + a + ", 0.0)";
    case Fn::exp:
      return "exp(" + a + ")";
    case Fn::sqrt:
      return "sqrt(" + a + ")";
    case Fn::rsqrt:
      return "1.0 / sqrt(" + a + ")";
    case Fn::sin:
      return "sin(" + a + ")";
    case Fn::tanh:
      return "tanh(" + a + ")";
    case Fn::sigmoid:
      return "1.0 / (1.0 + exp(-" + a + "))";
    case Fn::gelu:
      return "0.5 * " + a + " * erfc(-" + a + " * 0.70710678118654752)";
    case Fn::hardswish:
      return a + " * fmin(fmax(" + a + " + 3.0, 0.0), 6.0) / 6.0";
  }
  return {};
}

}  // namespace

void write_scalar_loops(CText& text, const FlatNest& flat, const PlaceOf& place) {
  const Nest& nest = *flat.nest;
  KASIMIR_CHECK(nest.epilogue.empty(), "nest {} has an epilogue and runs once", nest.name);
  text.open("");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < flat.loops.size(); ++i) names.push_back(fmt::format("i{}", i));
  for (int loop = 0; loop < flat.free; ++loop)
    text.loop(names[static_cast<std::size_t>(loop)], flat.loops[static_cast<std::size_t>(loop)].extent);
  const bool reduces = nest.reduce != Reduce::none;
  if (reduces) text.line("double acc = {};", nest.reduce == Reduce::max ? "-INFINITY" : "0.0");
  for (int loop = flat.free; loop < static_cast<int>(flat.loops.size()); ++loop)
    text.loop(names[static_cast<std::size_t>(loop)], flat.loops[static_cast<std::size_t>(loop)].extent);
  std::vector<std::string> values(nest.value.size());
  for (std::size_t i = 0; i < nest.value.size(); ++i) {
    values[i] = fmt::format("v{}", i);
    std::string value;
    if (const auto* constant = std::get_if<Constant>(&nest.value[i])) {
      value = fmt::format("{:.17g}", constant->value.value() * (constant->half_pi ? std::numbers::pi / 2 : 1.0));
    } else if (const auto* apply = std::get_if<Apply>(&nest.value[i])) {
      value = scalar_call(apply->fn, values[static_cast<std::size_t>(apply->a)],
                          apply->b < 0 ? "" : values[static_cast<std::size_t>(apply->b)]);
    } else {
      const std::string condition = inside(*flat.value[i], names);
      value = "*(" + address(*flat.value[i], names, place) + ")";
      if (!condition.empty()) value = "(" + condition + ") ? " + value + " : 0.0";
    }
    text.line("const double {} = {};", values[i], value);
  }
  if (reduces)
    text.line("acc = {};", nest.reduce == Reduce::max ? fmt::format("fmax(acc, {})", values.back())
                                                      : fmt::format("acc + {}", values.back()));
  for (int loop = flat.free; loop < static_cast<int>(flat.loops.size()); ++loop) text.close();
  text.line("*({}) = (float)({:.17g} * {});", address(flat.out, names, place), nest.factor,
            reduces ? "acc" : values.back());
  for (int loop = 0; loop <= flat.free; ++loop) text.close();
}

}  // namespace kasimir
