// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bit_plan.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <charconv>
#include <optional>

namespace kasimir {
namespace {

int width_from(std::string_view text, const std::string& whole) {
  int bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  if (error != std::errc() || end != text.data() + text.size())
    throw input_error("bits `{}`, needed is a number such as 8, w4a8, or float", whole);
  require_legal(IntegerFormat{bits}, fmt::format("bits `{}`", whole));
  return bits;
}

/// Nothing for `float`.
std::optional<PlaceBits> bits_from(const std::string& text) {
  if (text == "float") return std::nullopt;
  const std::size_t a = text.find('a');
  if (!text.starts_with('w') || a == std::string::npos) {
    const int both = width_from(text, text);
    return PlaceBits{both, both};
  }
  return PlaceBits{width_from(std::string_view(text).substr(1, a - 1), text),
                   width_from(std::string_view(text).substr(a + 1), text)};
}

}  // namespace

BitPlan bit_plan(const std::vector<WeightedPlace>& places, const BitWishes& wishes) {
  std::vector<std::optional<PlaceBits>> bits(places.size(), bits_from(wishes.all));
  if (!places.empty()) bits.front() = bits.back() = bits_from(wishes.edges);
  for (const std::string& wish : wishes.places) {
    const std::size_t equals = wish.rfind('=');
    if (equals == std::string::npos) throw input_error("--place {}: needed is PATTERN=BITS", wish);
    const std::string pattern = wish.substr(0, equals);
    const auto given = bits_from(wish.substr(equals + 1));
    bool any = false;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!glob_match(pattern, places[i].weight)) continue;
      bits[i] = given;
      any = true;
    }
    if (!any)
      throw input_error("--place {}: no place matches `{}`", wish, pattern)
          .note(fmt::format("places are named like {}", places.front().weight));
  }
  BitPlan plan;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (bits[i]) plan[places[i].weight] = *bits[i];
  return plan;
}

std::string bits_text(const PlaceBits& bits) {
  return bits.weight == bits.activation ? std::to_string(bits.weight)
                                        : fmt::format("w{}a{}", bits.weight, bits.activation);
}

std::int64_t weight_bytes(const std::vector<WeightedPlace>& places, const BitPlan& bits) {
  std::int64_t sum = 0;
  for (const WeightedPlace& place : places) {
    const std::int64_t count = slice_count(place.shape, static_cast<int>(place.shape.size()));
    const auto found = bits.find(place.weight);
    sum += count * (found == bits.end() ? 32 : found->second.weight);
  }
  return (sum + 7) / 8;
}

}  // namespace kasimir
