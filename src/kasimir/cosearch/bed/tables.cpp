// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/bed/tables.h"

#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t blocks = 6, chunks = 3;

double log_uniform(Rng& rng, double lo, double hi) { return lo * std::pow(hi / lo, rng.unit()); }
double about(Rng& rng, double value, double spread) { return value * (1 + spread * (2 * rng.unit() - 1)); }

ChoiceSpace table_space() {
  ChoiceSpace space;
  for (std::size_t l = 0; l < blocks; ++l)
    space.blocks.push_back({fmt::format("block{}", l + 1), {"small", "middle", "large"}});
  space.bits = {2, 4, 8};
  return space;
}

// Depth first by blocks, dropping what is not better than the best so far.
class Enumeration {
 public:
  Enumeration(SharedElements& hardware, const TableProblem& problem, double target, const Accelerator* accelerator)
      : hardware_(hardware), problem_(problem), target_(target), accelerator_(accelerator) {
    least_left_.assign(problem.error.size() + 1, 0);
    for (std::size_t l = problem.error.size(); l-- > 0;) {
      double least = infinity;
      for (const auto& row : problem.error[l]) least = std::min(least, *std::min_element(row.begin(), row.end()));
      least_left_[l] = least_left_[l + 1] + least;
    }
    design_.resize(problem.error.size());
  }
  double run() {
    visit(0, 0);
    return best_;
  }

 private:
  void visit(std::size_t l, double error) {
    if (error + least_left_[l] >= best_) return;
    if (l == design_.size()) {
      const double cost = accelerator_ ? hardware_.cost_on(*accelerator_, design_) : hardware_.cost(design_);
      if (within_target(cost, target_)) best_ = error;
      return;
    }
    for (std::size_t o = 0; o < problem_.error[l].size(); ++o)
      for (std::size_t j = 0; j < problem_.error[l][o].size(); ++j) {
        design_[l] = {o, j};
        visit(l + 1, error + problem_.error[l][o][j]);
      }
  }

  SharedElements& hardware_;
  const TableProblem& problem_;
  double target_;
  const Accelerator* accelerator_;
  std::vector<double> least_left_;
  ChoiceDesign design_;
  double best_ = infinity;
};

}  // namespace

TableProblem table_problem(std::uint64_t seed, bool interacts) {
  Rng rng(seed);
  TableProblem problem;
  problem.space = table_space();
  problem.error = problem.work = choice_table(problem.space);
  constexpr std::array<double, 3> op_error{1, 0.45, 0.15}, op_work{1, 2.5, 6};  // as expansions 1, 3, 6
  constexpr std::array<double, 3> bit_error{1, 0.2, 0.03};
  for (std::size_t l = 0; l < blocks; ++l) {
    problem.chunk.push_back(l % chunks);
    const double for_ops = log_uniform(rng, 0.05, 0.5), for_bits = log_uniform(rng, 0.05, 0.5);
    const double size = log_uniform(rng, 1000, 4000);
    std::array<double, 3> bits{};
    for (std::size_t j = 0; j < 3; ++j) bits[j] = about(rng, for_bits * bit_error[j], 0.3);
    for (std::size_t o = 0; o < 3; ++o) {
      const double base = about(rng, for_ops * op_error[o], 0.3), work = about(rng, size * op_work[o], 0.3);
      const double weight = interacts ? 2.0 - 0.75 * static_cast<double>(o) : 1.0;
      for (std::size_t j = 0; j < 3; ++j) {
        problem.error[l][o][j] = base + weight * bits[j];
        problem.work[l][o][j] = work * problem.space.bits[j] / 8;  // bit-serial
      }
    }
  }
  return problem;
}

SharedElements::SharedElements(TableProblem problem) : problem_(std::move(problem)), chunks_(0) {
  for (const std::size_t chunk : problem_.chunk) chunks_ = std::max(chunks_, chunk + 1);
  KASIMIR_CHECK(problem_.elements >= static_cast<int>(chunks_), "{} elements for {} chunks", problem_.elements,
                chunks_);
}

std::vector<double> SharedElements::work_of(const ChoiceDesign& design) const {
  std::vector<double> work(chunks_, 0);
  for (std::size_t l = 0; l < design.size(); ++l)
    work[problem_.chunk[l]] += problem_.work[l][design[l].op][design[l].bits];
  return work;
}

std::vector<int> SharedElements::split(const std::vector<double>& work) const {
  // The slowest chunk gets the next element: no other split makes it faster with fewer.
  std::vector<int> elements(work.size(), 1);
  for (int left = problem_.elements - static_cast<int>(work.size()); left > 0; --left) {
    std::size_t slowest = 0;
    for (std::size_t c = 1; c < work.size(); ++c)
      if (work[c] * elements[slowest] > work[slowest] * elements[c]) slowest = c;
    ++elements[slowest];
  }
  return elements;
}

Accelerator SharedElements::with_elements(const std::vector<int>& elements) const {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < chunks_; ++c) names.push_back(fmt::format("chunk{}", c + 1));
  Accelerator result{load_table(problem_.space, Aggregate::max, names),
                     {},
                     fmt::format("elements {}", fmt::join(elements, " + ")),
                     {}};
  for (const int one : elements) result.duals.push_back(static_cast<double>(one) / problem_.elements);
  for (std::size_t l = 0; l < problem_.work.size(); ++l)
    for (std::size_t o = 0; o < problem_.work[l].size(); ++o)
      for (std::size_t j = 0; j < problem_.work[l][o].size(); ++j)
        result.loads.loads[l][o][j] = {{problem_.chunk[l], problem_.work[l][o][j] / elements[problem_.chunk[l]]}};
  return result;
}

Accelerator SharedElements::optimise(const ChoiceDesign& design) { return with_elements(split(work_of(design))); }

double SharedElements::cost(const ChoiceDesign& design) {
  const std::vector<double> work = work_of(design);
  const std::vector<int> elements = split(work);
  double cost = 0;
  for (std::size_t c = 0; c < work.size(); ++c) cost = std::max(cost, work[c] / elements[c]);
  return cost;
}

HardwareTarget::Bound SharedElements::bound(const ChoiceDesign&) {
  std::vector<std::string> names(chunks_, "chunk alone");
  names.emplace_back("all chunks");
  Bound result{load_table(problem_.space, Aggregate::max, names), false};
  const double most = problem_.elements - static_cast<double>(chunks_) + 1;
  for (std::size_t l = 0; l < problem_.work.size(); ++l)
    for (std::size_t o = 0; o < problem_.work[l].size(); ++o)
      for (std::size_t j = 0; j < problem_.work[l][o].size(); ++j) {
        const double work = problem_.work[l][o][j];
        result.loads.loads[l][o][j] = {{problem_.chunk[l], work / most}, {chunks_, work / problem_.elements}};
      }
  return result;
}

ChoiceTrainer table_trainer(const TableProblem& problem, double noise, std::uint64_t seed) {
  const auto rng = std::make_shared<Rng>(seed, 77);
  ChoiceTrainer trainer;
  trainer.weight_step = [](const ChoiceSample&, double) { return 0.0; };
  trainer.choice_step = [problem, noise, rng](const ChoiceSample& sample) {
    ChoiceSlopes slopes;
    const ChoiceNumbers zero = choice_numbers(problem.space);
    slopes.op = zero.op;
    slopes.bits = zero.bits;
    for (std::size_t l = 0; l < sample.blocks.size(); ++l) {
      const BlockSample& block = sample.blocks[l];
      const std::size_t first = block.active.front();
      for (const std::size_t o : block.active)
        for (std::size_t j = 0; j < problem.space.bits.size(); ++j) {
          slopes.op[l][o] += block.bit_weight[o][j] * problem.error[l][o][j];
          if (o == first) slopes.bits[l][o][j] = problem.error[l][o][j] + noise * rng->normal();
        }
      slopes.loss += slopes.op[l][first];
      for (const std::size_t o : block.active) slopes.op[l][o] += noise * rng->normal();
    }
    return slopes;
  };
  trainer.validate = [problem](const ChoiceDesign& design) { return -sum_of(problem.error, design); };
  return trainer;
}

double least_error(SharedElements& hardware, const TableProblem& problem, double target,
                   const Accelerator* accelerator) {
  return Enumeration(hardware, problem, target, accelerator).run();
}

double cost_quantile(SharedElements& hardware, const ChoiceSpace& space, double share, const Accelerator* accelerator,
                     std::uint64_t seed) {
  constexpr std::size_t samples = 2000;
  Rng rng(seed, 5);
  std::vector<double> costs;
  for (std::size_t i = 0; i < samples; ++i) {
    const ChoiceDesign design = random_design(space, rng);
    costs.push_back(accelerator ? hardware.cost_on(*accelerator, design) : hardware.cost(design));
  }
  std::sort(costs.begin(), costs.end());
  return costs[static_cast<std::size_t>(share * static_cast<double>(samples - 1))];
}

}  // namespace kasimir
