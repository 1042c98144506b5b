// SPDX-License-Identifier: Apache-2.0
#include "kasimir/strategy_table.h"

#include "kasimir/base/files.h"
#include "kasimir/study/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

namespace kasimir {
namespace {

using Json = nlohmann::json;

Json to_json(const study::Point& point) {
  return {{"accuracy", point.accuracy}, {"macs", point.macs}, {"params", point.params}};
}

study::Point point_from(const Json& json) {
  return {json.at("accuracy").get<double>(), json.at("macs").get<double>(), json.at("params").get<double>()};
}

/// What later rungs and scores say of trials.
std::map<int, Json> facts_beside(const study::Store& store) {
  std::map<int, Json> beside;
  for (const study::TrialSummary& trial : study::summaries(store))
    for (const study::ScoreRow& score : trial.scores)
      if (score.value) beside[trial.number]["scores"][score.name] = *score.value;
  for (const study::Rung rung : {study::Rung::longer, study::Rung::full})
    for (const study::RungResult& result : store.results(rung))
      beside[result.trial][std::string(study::name_of(rung))] = result.accuracy;
  return beside;
}

}  // namespace

StrategyTable StrategyTable::from_study(const study::Store& store) {
  StrategyTable table;
  table.spec = store.info().spec;
  std::map<int, Json> beside = facts_beside(store);
  bool has_original = false;
  for (const study::RungResult& result : store.results(study::Rung::quick)) {
    const study::Point point = point_of(result.accuracy, result.network);
    if (result.trial == 0) {
      table.original = point;
      has_original = true;
    } else {
      table.rows.push_back({result.trial, point, store.trial(result.trial).kernel, beside[result.trial]});
    }
  }
  if (!has_original || table.rows.empty())
    throw input_error("{} has {} candidates on its first rung and {} original", store.place().str(), table.rows.size(),
                      has_original ? "an" : "no")
        .note("a table is made of a study that ran: `kasimir search --study FILE --trials 500`");
  std::ranges::sort(table.rows, {}, &Row::trial);
  return table;
}

StrategyTable StrategyTable::read(const std::filesystem::path& file) {
  StrategyTable table;
  std::istringstream lines(read_file(file));
  std::string line;
  int number = 0;
  try {
    while (std::getline(lines, line)) {
      ++number;
      const Json json = Json::parse(line);
      if (number == 1) {
        table.spec = json.at("study");
        table.original = point_from(json.at("original"));
        continue;
      }
      table.rows.push_back({json.at("trial").get<int>(), point_from(json), json.at("kernel").get<std::string>(),
                            json.value("beside", Json())});
    }
  } catch (const Json::exception& problem) {
    throw input_error("{}:{}: {}", file.string(), number, problem.what())
        .note("a table has one JSON object per line, as `kasimir bench strategies --study STUDY --write FILE` writes");
  }
  if (table.rows.empty()) throw input_error("{} has no kernels", file.string());
  std::ranges::sort(table.rows, {}, &Row::trial);
  return table;
}

std::string StrategyTable::str() const {
  std::string text = Json{{"study", spec}, {"original", to_json(original)}}.dump() + "\n";
  for (const Row& row : rows) {
    Json json = to_json(row.point);
    json["trial"] = row.trial;
    json["kernel"] = row.kernel;
    if (!row.beside.is_null()) json["beside"] = row.beside;
    text += json.dump() + "\n";
  }
  return text;
}

const StrategyTable::Row& StrategyTable::row_of(int trial) const {
  const auto found = std::ranges::lower_bound(rows, trial, {}, &Row::trial);
  KASIMIR_CHECK(found != rows.end() && found->trial == trial, "the table has no trial {}", trial);
  return *found;
}

StudyFacts StrategyTable::facts() const {
  return {[this](int trial) { return row_of(trial).kernel; },
          [this](int trial) {
            const Json& beside = row_of(trial).beside;
            const Json known = beside.is_object() ? beside.value("scores", Json::object()) : Json::object();
            Scores scores;
            for (const auto& name : spec.value("scores", std::vector<std::string>{}))
              scores.push_back(known.contains(name) ? std::optional(known.at(name).get<double>()) : std::nullopt);
            return scores;
          },
          [](const Kernel&) { return Scores{}; }};
}

TableSource::TableSource(const StrategyTable& table, SamplerSource& breed, std::uint64_t seed)
    : table_(&table), breed_(&breed), seed_(seed) {
  std::vector<double> sum, squares;
  double count = 0;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    left_.push_back(i);
    const auto& row = breed.features(table.rows[i].trial);
    if (!row) continue;
    sum.resize(row->size());
    squares.resize(row->size());
    ++count;
    for (std::size_t k = 0; k < row->size(); ++k) {
      sum[k] += (*row)[k];
      squares[k] += (*row)[k] * (*row)[k];
    }
  }
  for (std::size_t k = 0; k < sum.size(); ++k)
    scale_.push_back(std::sqrt(std::max(0.0, squares[k] / count - sum[k] / count * (sum[k] / count))));
}

Idea TableSource::idea_of(std::size_t row) {
  Idea idea;
  idea.sampled.attempt = row;
  idea.origin = Json::object();
  return idea;
}

const StrategyTable::Row& TableSource::row(const Idea& idea) const { return table_->rows[idea.sampled.attempt]; }

void TableSource::take(const Idea& idea) { std::erase(left_, static_cast<std::size_t>(idea.sampled.attempt)); }

Outcome<Idea> TableSource::drawn(std::uint64_t attempt) {
  if (left_.empty()) return Rejection{"table: some row is left", ""};
  Rng rng(seed_, attempt);
  return idea_of(rng.pick(left_));
}

Outcome<Idea> TableSource::nearest(const Outcome<Idea>& bred) const {
  if (!bred.ok()) return bred.rejection();
  const auto wanted = breed_->features(*bred);
  if (!wanted) return Rejection{"table: the kernel has features", ""};
  double least = std::numeric_limits<double>::infinity();
  std::optional<std::size_t> found;
  for (const std::size_t row : left_) {
    const auto& own = breed_->features(table_->rows[row].trial);
    if (!own) continue;
    double distance = 0;
    for (std::size_t k = 0; k < scale_.size(); ++k) {
      const double gap = scale_[k] > 0 ? ((*own)[k] - (*wanted)[k]) / scale_[k] : 0;
      distance += gap * gap;
    }
    if (distance < least) {
      least = distance;
      found = row;
    }
  }
  if (!found) return Rejection{"table: some row is left", ""};
  return idea_of(*found);
}

study::Point TableSource::counts(const Idea& idea) {
  study::Point point = row(idea).point;
  point.accuracy = 0;  // what a strategy must not know
  return point;
}

}  // namespace kasimir
