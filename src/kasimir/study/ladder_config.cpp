// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/ladder_config.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <set>

namespace kasimir::study {
namespace {

/// Reads one key if it is there; wrong types and values out of [lo, hi] are the user's.
template <typename T>
void read(const Json& json, const char* key, T& value, double lo, double hi) {
  const auto found = json.find(key);
  if (found == json.end()) return;
  const bool fits = std::is_integral_v<T> ? found->is_number_integer() : found->is_number();
  if (!fits || found->get<double>() < lo || found->get<double>() > hi) {
    throw input_error("ladder.{} is {}, but must be a {} from {} to {}", key, found->dump(),
                      std::is_integral_v<T> ? "whole number" : "number", lo, hi);
  }
  value = found->get<T>();
}

void read_costs(const Json& json, std::array<double, 3>& costs) {
  const auto found = json.find("rung_cost");
  if (found == json.end()) return;
  bool fits = found->is_array() && found->size() == costs.size();
  for (std::size_t i = 0; fits && i < costs.size(); ++i) {
    fits = (*found)[i].is_number() && (*found)[i].get<double>() > 0;
    if (fits) costs[i] = (*found)[i].get<double>();
  }
  if (!fits) throw input_error("ladder.rung_cost is {}, but must be three numbers above 0", found->dump());
}

std::string shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void compare(const Json& stored, const Json& asked, const std::string& path, std::vector<std::string>& lines) {
  const auto& resumable = resumable_keys();
  if (stored == asked || std::find(resumable.begin(), resumable.end(), path) != resumable.end()) return;
  if (!stored.is_object() || !asked.is_object()) {
    const std::string before = stored.is_null() ? "nothing" : shown(stored);
    const std::string after = asked.is_null() ? "nothing" : shown(asked);
    lines.push_back(fmt::format("{}: {} in the study, {} asked", path, before, after));
    return;
  }
  std::set<std::string> keys;
  for (const auto& item : stored.items()) keys.insert(item.key());
  for (const auto& item : asked.items()) keys.insert(item.key());
  for (const std::string& key : keys) {
    compare(stored.value(key, Json()), asked.value(key, Json()), path.empty() ? key : path + "." + key, lines);
  }
}

}  // namespace

LadderConfig LadderConfig::from_json(const Json& json) {
  LadderConfig c;
  Json known = c.to_json();
  known["original_first"] = c.original_first;
  if (!json.is_object()) throw input_error("ladder is {}, but must be an object", json.dump());
  std::vector<std::string> names;
  for (const auto& item : known.items()) names.push_back(item.key());
  for (const auto& item : json.items()) {
    if (!known.contains(item.key())) {
      throw input_error("unknown key ladder.{}", item.key()).note(suggestion(item.key(), names));
    }
  }
  read(json, "trials", c.trials, 0, 1e9);
  read(json, "time_limit_s", c.time_limit_s, 0, 1e9);
  read(json, "workers", c.workers, 1, 1e5);
  read(json, "promote", c.promote, 0, 1);
  read(json, "finalists", c.finalists, 1, 1e6);
  read(json, "finalist_seeds", c.finalist_seeds, 1, 1e4);
  read_costs(json, c.rung_cost);
  read(json, "latency_s", c.latency_s, 0, 1e6);
  read(json, "explore_min", c.explore_min, 0, 1);
  read(json, "give_up_after", c.give_up_after, 1, 1e9);
  if (const auto first = json.find("original_first"); first != json.end()) {
    if (!first->is_boolean()) throw input_error("ladder.original_first is {}, but must be true or false", first->dump());
    first->get_to(c.original_first);
  }
  read(json, "max_lost", c.max_lost, 1, 1e6);
  read(json, "stop_below", c.stop_below, 0, 0.5);
  if (c.trials == 0 && c.time_limit_s == 0) {
    throw input_error("a search needs an end: give a number of trials, a time limit, or both");
  }
  return c;
}

Json LadderConfig::to_json() const {
  Json json = {{"trials", trials},
               {"time_limit_s", time_limit_s},
               {"workers", workers},
               {"promote", promote},
               {"finalists", finalists},
               {"finalist_seeds", finalist_seeds},
               {"rung_cost", rung_cost},
               {"latency_s", latency_s},
               {"explore_min", explore_min},
               {"give_up_after", give_up_after},
               {"max_lost", max_lost},
               {"stop_below", stop_below}};
  if (original_first) json["original_first"] = true;  // studies from before it go on
  return json;
}

const std::vector<std::string>& resumable_keys() {
  static const std::vector<std::string> keys = {"command",
                                                "ladder.trials",
                                                "ladder.time_limit_s",
                                                "ladder.workers",
                                                "ladder.rung_cost",
                                                "ladder.stop_below",
                                                "sites",
                                                "input",
                                                "classes"};
  return keys;
}

std::vector<std::string> spec_differences(const Json& stored, const Json& asked) {
  std::vector<std::string> lines;
  compare(stored, asked, "", lines);
  return lines;
}

}  // namespace kasimir::study
