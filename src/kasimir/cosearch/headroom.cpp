// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/headroom.h"

#include "kasimir/base/error.h"
#include "kasimir/base/table.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class Phases {
 public:
  Phases(HardwareTarget& hardware, const ChoiceTable& errors) : hardware_(hardware), scores_(errors) {
    for (auto& block : scores_)
      for (auto& row : block)
        for (double& score : row) score = -score;
  }

  // The best design within a target, with operators or bits held.
  DecodeAnswer best(double target, const std::vector<std::size_t>* ops, const std::size_t* bits) const {
    ChoiceTable scores = scores_;
    for (std::size_t l = 0; l < scores.size(); ++l)
      for (std::size_t o = 0; o < scores[l].size(); ++o)
        for (std::size_t j = 0; j < scores[l][o].size(); ++j)
          if ((ops != nullptr && (*ops)[l] != o) || (bits != nullptr && *bits != j)) scores[l][o][j] = -infinity;
    const ChoiceDesign near(scores.size());
    return decode(scores, adapted_limit(hardware_, target, near), {.best = 1});
  }

  [[nodiscard]] std::vector<std::size_t> least_error_ops(std::size_t bits) const {
    std::vector<std::size_t> ops;
    for (const auto& block : scores_) {
      std::size_t best = 0;
      for (std::size_t o = 1; o < block.size(); ++o)
        if (block[o][bits] > block[best][bits]) best = o;
      ops.push_back(best);
    }
    return ops;
  }

 private:
  HardwareTarget& hardware_;
  ChoiceTable scores_;
};

std::vector<std::size_t> ops_of(const ChoiceDesign& design) {
  std::vector<std::size_t> ops;
  for (const BlockChoice& choice : design) ops.push_back(choice.op);
  return ops;
}

// What is chosen in turn is a joint choice too: where the optimum is not proved, it may be better than what was found.
void add_way(Headroom& room, std::string way, const DecodeAnswer& answer) {
  ChosenInTurn one{std::move(way), !answer.designs.empty(), 0, infinity};
  if (one.found) {
    one.error = -answer.designs.front().score;
    if (one.error < room.error) room.design = answer.designs.front().design;
    room.error = std::min(room.error, one.error);
  }
  room.ways.push_back(std::move(one));
}

void fill_excess(Headroom& room, std::size_t sequential) {
  room.swept_excess = infinity;
  for (std::size_t i = 0; i < room.ways.size(); ++i) {
    ChosenInTurn& way = room.ways[i];
    if (!way.found) continue;
    way.excess = way.error / room.error - 1;
    if (i < sequential) room.swept_excess = std::min(room.swept_excess, way.excess);
  }
}

}  // namespace

Headroom headroom(HardwareTarget& hardware, const ChoiceTable& errors, double target,
                  const std::vector<double>& multiples) {
  const std::size_t bits = widest_bits(hardware.space());
  const Phases phases(hardware, errors);
  Headroom result;
  const DecodeAnswer joint = phases.best(target, nullptr, nullptr);
  result.exact = joint.exact;
  if (joint.designs.empty()) return result;
  result.found = true;
  result.design = joint.designs.front().design;
  result.error = -joint.designs.front().score;
  for (const double multiple : multiples) {
    const DecodeAnswer first = phases.best(multiple * target, nullptr, &bits);
    DecodeAnswer second;
    if (!first.designs.empty()) {
      const std::vector<std::size_t> ops = ops_of(first.designs.front().design);
      second = phases.best(target, &ops, nullptr);
    }
    add_way(result, fmt::format("sequential, first target x {}", multiple), second);
  }
  add_way(result, "operators only", phases.best(target, nullptr, &bits));
  const std::vector<std::size_t> ops = phases.least_error_ops(bits);
  add_way(result, "bits only", phases.best(target, &ops, nullptr));
  fill_excess(result, multiples.size());
  return result;
}

std::string str(const Headroom& headroom) {
  if (!headroom.found) return "no network of the space meets the target\n";
  Table table({{"way", "", Table::Align::left}, {"error", ""}, {"above joint", "%"}});
  table.row({headroom.exact ? "joint (exact)" : "joint (best found)", fmt::format("{:.4g}", headroom.error), "0.0"});
  for (const ChosenInTurn& way : headroom.ways)
    table.row({way.way, way.found ? fmt::format("{:.4g}", way.error) : "-",
               way.found ? fmt::format("{:.1f}", 100 * way.excess) : "misses the target"});
  return table.str();
}

std::optional<ChoiceTable> measured_errors(const ChoiceSpace& space, const ChoiceTrainer& trainer,
                                           const ChoiceDesign& reference,
                                           const std::function<bool(std::size_t done, std::size_t of)>& go_on) {
  require_legal(reference, space);
  std::size_t all = 1;
  for (const BlockSpace& block : space.blocks) all += block.ops.size() * space.bits.size() - 1;
  std::size_t done = 0;
  const auto score = [&](const ChoiceDesign& design) -> std::optional<double> {
    const double found = trainer.validate(design);
    return !go_on || go_on(++done, all) ? std::optional(found) : std::nullopt;
  };
  const auto best = score(reference);
  if (!best) return std::nullopt;
  ChoiceTable errors = choice_table(space, (1 - *best) / static_cast<double>(space.blocks.size()));
  for (std::size_t l = 0; l < errors.size(); ++l)
    for (std::size_t o = 0; o < errors[l].size(); ++o)
      for (std::size_t j = 0; j < errors[l][o].size(); ++j) {
        if (reference[l] == BlockChoice{o, j}) continue;
        ChoiceDesign changed = reference;
        changed[l] = {o, j};
        const auto changed_score = score(changed);
        if (!changed_score) return std::nullopt;
        errors[l][o][j] += *best - *changed_score;
      }
  return errors;
}

}  // namespace kasimir
