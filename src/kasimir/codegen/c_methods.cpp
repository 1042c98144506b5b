// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_program.h"

#include <algorithm>
#include <cstdio>

namespace kasimir {

std::string str(const Method& method) {
  if (const auto* block = std::get_if<RegisterBlock>(&method))
    return fmt::format("direct {}x{}x{}", block->rows, block->columns, block->vectors);
  if (const auto* winograd = std::get_if<WinogradBlock>(&method))
    return fmt::format("winograd F{} {}/{}x{}", winograd->m, winograd->tiles, winograd->rows, winograd->vectors);
  return "loops";
}

std::optional<Method> parse_method(const std::string& text) {
  if (text == "loops") return UseLoops{};
  RegisterBlock block;
  if (std::sscanf(text.c_str(), "direct %dx%dx%d", &block.rows, &block.columns, &block.vectors) == 3) return block;
  WinogradBlock tile;
  if (std::sscanf(text.c_str(), "winograd F%d %d/%dx%d", &tile.m, &tile.tiles, &tile.rows, &tile.vectors) == 4)
    return tile;
  return std::nullopt;
}

namespace {

/// How fast the weights come when their turn is there again: from the third-level cache if they fit into half of it,
/// even where Winograd's algorithm makes four of one.
double weight_rate(const NestProgram& program) {
  constexpr std::int64_t cache_bytes = 32 << 20;
  std::int64_t weights = 0;
  for (const BoundTensor& tensor : program.tensors)
    if (tensor.role == Role::weight) weights += elements(tensor);
  const auto bytes = 4 * weights * static_cast<std::int64_t>(sizeof(float));
  return bytes <= cache_bytes / 2 ? rates::cached_floats : rates::weight_floats;
}

/// Codes are multiplied as they are.
bool reads_codes(const FlatNest& flat) {
  return std::ranges::any_of(flat.value, [](const auto& access) { return access && access->element.rounded; });
}

}  // namespace

std::vector<std::vector<Method>> possible_methods(const NestProgram& program, const CTarget& target) {
  const MemoryPlan plan = plan_memory(program, {});
  const double rate = weight_rate(program);
  std::vector<std::vector<Method>> all;
  for (const Nest& nest : program.run) {
    std::vector<Method> methods;
    const FlatNest flat = flatten(program, nest, plan);
    if (const auto contraction = find_contraction(flat))
      methods.emplace_back(default_block(flat, *contraction, target));
    if (const auto product = find_window_product(program, nest); product && !reads_codes(flat)) {
      std::vector<std::pair<double, Method>> ranked;
      for (const Method& direct : methods) ranked.emplace_back(estimated_seconds(nest, *product, 0, rate), direct);
      for (int m : {4, 2})
        ranked.emplace_back(estimated_seconds(nest, *product, m, rate), default_winograd(nest, *product, target, m));
      std::ranges::stable_sort(ranked, {}, &std::pair<double, Method>::first);
      methods.clear();
      for (auto& [seconds, method] : ranked) methods.push_back(method);
    }
    methods.emplace_back(UseLoops{});
    all.push_back(std::move(methods));
  }
  return all;
}

std::vector<Method> default_methods(const NestProgram& program, const CTarget& target) {
  std::vector<Method> methods;
  for (const auto& possible : possible_methods(program, target)) methods.push_back(possible.front());
  return methods;
}

}  // namespace kasimir
