// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/cosearch/cosearch.h"

#include <nlohmann/json.hpp>

#include <limits>

namespace kasimir {
namespace {

using nlohmann::json;

constexpr int format_version = 1;

// JSON has no infinity: a choice that is ruled out is null.
double number(const json& value) {
  return value.is_null() ? -std::numeric_limits<double>::infinity() : value.get<double>();
}

json numbers_json(const ChoiceNumbers& numbers) { return {{"op", numbers.op}, {"bits", numbers.bits}}; }

void read_row(const json& from, std::vector<double>& row) {
  if (from.size() != row.size()) throw input_error("{} numbers, needed: {}", from.size(), row.size());
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = number(from.at(i));
}

ChoiceNumbers read_numbers(const json& from, const ChoiceSpace& space) {
  ChoiceNumbers numbers = choice_numbers(space);
  for (std::size_t l = 0; l < numbers.op.size(); ++l) {
    read_row(from.at("op").at(l), numbers.op[l]);
    for (std::size_t o = 0; o < numbers.op[l].size(); ++o) read_row(from.at("bits").at(l).at(o), numbers.bits[l][o]);
  }
  return numbers;
}

json archive_json(const ChoiceArchive& archive, const ChoiceSpace& space) {
  json list = json::array();
  for (const ArchiveEntry& entry : archive.entries())
    list.push_back(
        {{"design", str(entry.design, space)}, {"score", entry.score}, {"cost", entry.cost}, {"step", entry.step}});
  return list;
}

CosearchState read_state(const json& from, const ChoiceSpace& space) {
  if (from.at("version").get<int>() != format_version)
    throw input_error("a state of version {}, needed: {}", from.at("version").get<int>(), format_version);
  CosearchState state;
  state.weight_steps = from.at("weight_steps").get<std::size_t>();
  state.choice_steps = from.at("choice_steps").get<std::size_t>();
  state.logits = read_numbers(from.at("logits"), space);
  state.first_moment = read_numbers(from.at("first_moment"), space);
  state.second_moment = read_numbers(from.at("second_moment"), space);
  state.control = from.at("control").get<double>();
  const auto accelerator_of = from.at("accelerator_of").get<std::string>();
  if (!accelerator_of.empty()) state.accelerator_of = parse_design(accelerator_of, space);
  state.derived_cost = from.at("derived_cost").get<double>();
  for (const json& entry : from.at("archive"))
    state.archive.add({parse_design(entry.at("design").get<std::string>(), space), entry.at("score").get<double>(),
                       entry.at("cost").get<double>(), entry.at("step").get<std::size_t>()});
  state.spent = from.at("spent").get<double>();
  state.seconds = from.at("seconds").get<double>();
  state.accelerator_seconds = from.at("accelerator_seconds").get<double>();
  return state;
}

}  // namespace

std::string state_text(const CosearchState& state, const ChoiceSpace& space) {
  const json text{{"version", format_version},
                  {"weight_steps", state.weight_steps},
                  {"choice_steps", state.choice_steps},
                  {"logits", numbers_json(state.logits)},
                  {"first_moment", numbers_json(state.first_moment)},
                  {"second_moment", numbers_json(state.second_moment)},
                  {"control", state.control},
                  {"accelerator_of", str(state.accelerator_of, space)},
                  {"derived_cost", state.derived_cost},
                  {"archive", archive_json(state.archive, space)},
                  {"spent", state.spent},
                  {"seconds", state.seconds},
                  {"accelerator_seconds", state.accelerator_seconds}};
  return text.dump(1) + "\n";
}

CosearchState parse_state(std::string_view text, const ChoiceSpace& space) {
  try {
    return read_state(json::parse(text), space);
  } catch (const json::exception& error) {
    throw input_error("the state of a search cannot be read: {}", error.what())
        .note("a state is what a search of the same space has written");
  } catch (const Error& error) {
    throw input_error("the state of a search does not fit the space: {}", error.message())
        .note("a state is what a search of the same space has written");
  }
}

}  // namespace kasimir
