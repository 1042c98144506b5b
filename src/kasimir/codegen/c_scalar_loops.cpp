// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_nests.h"

#include "kasimir/base/error.h"

namespace kasimir {
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
  const std::string value = write_expression(
      text, nest.value, "v",
      [&](std::size_t node) {
        const std::string condition = inside(*flat.value[node], names);
        const std::string read = "*(" + address(*flat.value[node], names, place) + ")";
        return condition.empty() ? read : "(" + condition + ") ? " + read + " : 0.0";
      },
      "", CNumbers::doubles);
  if (reduces)
    text.line("acc = {};",
              nest.reduce == Reduce::max ? fmt::format("fmax(acc, {})", value) : fmt::format("acc + {}", value));
  for (int loop = flat.free; loop < static_cast<int>(flat.loops.size()); ++loop) text.close();
  text.line("*({}) = (float)({:.17g} * {});", address(flat.out, names, place), nest.factor, reduces ? "acc" : value);
  for (int loop = 0; loop <= flat.free; ++loop) text.close();
}

}  // namespace kasimir
