// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/quantization_file.h"

#include "kasimir/base/error.h"
#include "kasimir/number/catalog.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

namespace kasimir {
namespace {

constexpr std::string_view format_name = "kasimir quantization 1";

/// Where in a file something is wrong.
struct Here {
  std::string file;
  std::string place;
  [[nodiscard]] std::string str() const { return fmt::format("{}: place {}", file, place); }
};

float step_from(const nlohmann::json& value, const Here& here) {
  const float step = value.is_number() ? value.get<float>() : 0.0F;
  if (!(step > 0) || !std::isfinite(step))
    throw input_error("{}: the step {}, needed is a number above 0", here.str(), value.dump());
  return step;
}

IntegerFormat format_from(const nlohmann::json& value, const Here& here) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  for (const NumberFormat& format : number_formats())
    if (format.integer && format.name == text) return *format.integer;
  throw input_error("{}: the number format `{}`", here.str(), text)
      .note("known are int, uint and sint (symmetric) with 2 to 8 or 16 bits, such as uint8");
}

QuantizedPlace place_from(const nlohmann::json& json, const Here& here) {
  static const std::set<std::string> keys{"weight", "activation", "channel_axes", "weight_steps", "activation_step"};
  if (!json.is_object()) throw input_error("{}: {}, needed is an object", here.str(), json.dump());
  for (const auto& [key, value] : json.items())
    if (!keys.contains(key)) throw input_error("{}: the key `{}` is not known", here.str(), key);
  for (const std::string& key : keys)
    if (!json.contains(key)) throw input_error("{}: `{}` is missing", here.str(), key);
  QuantizedPlace place;
  place.weight = format_from(json["weight"], here);
  place.activation = format_from(json["activation"], here);
  if (!json["channel_axes"].is_number_integer() || json["channel_axes"].get<int>() < 0)
    throw input_error("{}: channel_axes is {}, needed is a whole number from 0", here.str(),
                      json["channel_axes"].dump());
  place.channel_axes = json["channel_axes"].get<int>();
  if (!json["weight_steps"].is_array() || json["weight_steps"].empty())
    throw input_error("{}: weight_steps is no list of steps", here.str());
  for (const auto& step : json["weight_steps"]) place.weight_steps.push_back(step_from(step, here));
  place.activation_step = step_from(json["activation_step"], here);
  return place;
}

}  // namespace

std::string quantization_text(const Quantization& quantization) {
  nlohmann::ordered_json json;
  json["format"] = format_name;
  json["places"] = nlohmann::ordered_json::object();
  for (const auto& [name, place] : quantization) {
    nlohmann::ordered_json entry;
    entry["weight"] = place.weight.str();
    entry["activation"] = place.activation.str();
    entry["channel_axes"] = place.channel_axes;
    entry["weight_steps"] = place.weight_steps;
    entry["activation_step"] = place.activation_step;
    json["places"][name] = std::move(entry);
  }
  return json.dump(1) + "\n";
}

Quantization parse_quantization(std::string_view text, const std::string& file) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("format", "") != format_name || !json.contains("places") ||
      !json["places"].is_object())
    throw input_error("{}: no quantisation, needed is JSON with \"format\": \"{}\" and \"places\"", file, format_name);
  Quantization result;
  for (const auto& [name, place] : json["places"].items()) result[name] = place_from(place, {file, name});
  return result;
}

}  // namespace kasimir
