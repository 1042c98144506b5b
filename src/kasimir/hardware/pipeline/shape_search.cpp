// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/shape_search.h"

#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"
#include "kasimir/hardware/pipeline/design_space.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double first_logit = 1e-3;  // of all logits in the released code

// Adam (Kingma and Ba, ICLR 2015) on one vector, with the released betas.
struct Logits {
  std::vector<double> value, first, second;
  int steps = 0;

  explicit Logits(std::size_t n) : value(n, first_logit), first(n, 0), second(n, 0) {}

  void descend(const std::vector<double>& gradient, double rate) {
    constexpr double beta1 = 0.5, beta2 = 0.999, tiny = 1e-8;
    ++steps;
    for (std::size_t i = 0; i < value.size(); ++i) {
      first[i] = beta1 * first[i] + (1 - beta1) * gradient[i];
      second[i] = beta2 * second[i] + (1 - beta2) * gradient[i] * gradient[i];
      const double m = first[i] / (1 - std::pow(beta1, steps)), v = second[i] / (1 - std::pow(beta2, steps));
      value[i] -= rate * m / (std::sqrt(v) + tiny);
    }
  }
};

// A sample of one parameter: the option, and the distribution that the gradient goes through.
struct Draw {
  std::size_t option = 0;
  std::vector<double> probability;  // 0 where the tile forbids
};

struct Sample {
  std::vector<ShapeIndices> indices;
  std::vector<std::array<Draw, shape_parameters>> draws;
};

class ShapeSearcher {
 public:
  ShapeSearcher(const NbaQuestion& question, const ShapeSearchOptions& options)
      : space_(question), options_(options), rng_(options.seed) {
    for (const NbaChunk& chunk : space_.chunks()) {
      logits_.emplace_back();
      for (std::size_t p = 0; p < shape_parameters; ++p)
        logits_.back().emplace_back(parameter_options(chunk.space, p).size());
    }
    mean_.assign(logits_.size(), 0);
    spread_.assign(logits_.size(), 1);
  }

  ShapeSearchResult run() {
    const bool repaired = options_.method == ShapeSearch::das_repaired;
    const std::size_t sampled = repaired ? options_.evaluations * 6 / 10 : options_.evaluations;
    while (result_.evaluations < sampled) step();
    if (repaired) polish();
    while (result_.evaluations < options_.evaluations) step();
    result_.found = std::isfinite(best_);
    result_.bottleneck = best_;
    if (result_.found) result_.design = space_.design(best_design_);
    for (const auto& chunk : logits_)
      for (const Logits& logits : chunk)
        for (const double value : logits.value)
          result_.largest_logit = std::max(result_.largest_logit, std::abs(value - first_logit));
    return result_;
  }

 private:
  DesignSpace::Cost judge(const std::vector<ShapeIndices>& indices) {
    DesignSpace::Cost cost = space_.cost(indices);
    ++result_.evaluations;
    if (cost.fits() && cost.bottleneck < best_) {
      best_ = cost.bottleneck;
      best_cost_ = cost;
      best_design_ = indices;
    }
    result_.best_after.push_back(best_);
    return cost;
  }

  // Hard Gumbel-softmax sample with temperature 1; with `noise` the gradient goes through the noisy distribution as in
  // the released code, else through the distribution itself.
  Draw draw(std::size_t c, std::size_t p, const ShapeIndices& indices, bool noise) {
    const Logits& logits = logits_[c][p];
    const ChunkSpace& space = space_.chunks()[c].space;
    Draw draw;
    std::vector<double> noisy(logits.value.size(), -infinity), plain = noisy;
    for (std::size_t i = 0; i < noisy.size(); ++i) {
      if (!allowed(space, indices, p, i)) continue;
      plain[i] = logits.value[i];
      noisy[i] = plain[i] - std::log(-std::log(std::max(rng_.unit(), 1e-300)) + 1e-20);
    }
    draw.option = static_cast<std::size_t>(std::max_element(noisy.begin(), noisy.end()) - noisy.begin());
    draw.probability = noise ? noisy : plain;
    const double largest = *std::max_element(draw.probability.begin(), draw.probability.end());
    double sum = 0;
    for (double& x : draw.probability) sum += x = std::exp(x - largest);
    for (double& x : draw.probability) x /= sum;
    return draw;
  }

  void sample_chunk(Sample& sample, std::size_t c, bool noise) {
    for (std::size_t p = 0; p < shape_parameters; ++p) {
      sample.draws[c][p] = draw(c, p, sample.indices[c], noise);
      sample.indices[c][p] = sample.draws[c][p].option;
    }
  }

  void step() {
    Sample sample;
    sample.indices.resize(logits_.size());
    sample.draws.resize(logits_.size());
    const bool repaired = options_.method == ShapeSearch::das_repaired;
    for (std::size_t c = 0; c < logits_.size(); ++c) sample_chunk(sample, c, !repaired);
    const DesignSpace::Cost cost = judge(sample.indices);
    if (options_.method == ShapeSearch::random) return;
    if (repaired) {
      learn_by_chunk(sample, cost);
    } else if (cost.fits()) {
      const double rate = options_.method == ShapeSearch::das_published ? 1e-7 : 0.05;
      for (std::size_t c = 0; c < logits_.size(); ++c) learn_from_loss(sample, c, cost.bottleneck / 200e6, rate);
    }
  }

  // d loss / d p = loss for the sampled option; the softmax carries it to the logits.
  void learn_from_loss(const Sample& sample, std::size_t c, double loss, double rate) {
    for (std::size_t p = 0; p < shape_parameters; ++p) {
      if (logits_[c][p].value.size() < 2) continue;
      const Draw& d = sample.draws[c][p];
      std::vector<double> gradient(d.probability.size());
      for (std::size_t i = 0; i < gradient.size(); ++i)
        gradient[i] = loss * d.probability[d.option] * ((i == d.option ? 1 : 0) - d.probability[i]);
      logits_[c][p].descend(gradient, rate);
    }
  }

  void learn_by_chunk(const Sample& sample, const DesignSpace::Cost& cost) {
    constexpr double memory = 0.95, rate = 0.03, overrun_weight = 4;
    for (std::size_t c = 0; c < logits_.size(); ++c) {
      const double score = std::log(cost.cycles[c]) + overrun_weight * cost.overrun;
      if (steps_ == 0) mean_[c] = score;
      const double surprise = score - mean_[c];
      const double advantage = surprise / std::sqrt(spread_[c] + 1e-6);
      mean_[c] = memory * mean_[c] + (1 - memory) * score;
      spread_[c] = memory * spread_[c] + (1 - memory) * surprise * surprise;
      for (std::size_t p = 0; p < shape_parameters; ++p) {
        if (logits_[c][p].value.size() < 2) continue;
        const Draw& d = sample.draws[c][p];
        std::vector<double> gradient(d.probability.size());
        for (std::size_t i = 0; i < gradient.size(); ++i)
          gradient[i] = advantage * ((i == d.option ? 1 : 0) - d.probability[i]);
        logits_[c][p].descend(gradient, rate);
      }
    }
    ++steps_;
  }

  bool done() const { return result_.evaluations >= options_.evaluations; }

  // Tries a shape for one chunk of the best design; true if the design became better.
  bool try_shape(std::size_t c, const ShapeIndices& shape) {
    if (done() || !legal(space_.chunks()[c].space, shape)) return false;
    std::vector<ShapeIndices> design = best_design_;
    if (design[c] == shape) return false;
    design[c] = shape;
    const double before = best_;
    judge(design);
    return best_ < before;
  }

  std::size_t slowest() const {
    return static_cast<std::size_t>(std::max_element(best_cost_.cycles.begin(), best_cost_.cycles.end()) -
                                    best_cost_.cycles.begin());
  }

  bool change_one(std::size_t c) {
    for (std::size_t p = 0; p < shape_parameters; ++p)
      for (std::size_t i = 0; i < logits_[c][p].value.size(); ++i) {
        ShapeIndices shape = best_design_[c];
        shape[p] = i;
        if (try_shape(c, shape)) return true;
      }
    return false;
  }

  bool change_two(std::size_t c) {
    const std::size_t tries = 40;
    for (std::size_t t = 0; t < tries; ++t) {
      ShapeIndices shape = best_design_[c];
      for (int k = 0; k < 2; ++k) {
        const std::size_t p = rng_.below(shape_parameters);
        shape[p] = rng_.below(logits_[c][p].value.size());
      }
      if (try_shape(c, shape)) return true;
    }
    return false;
  }

  bool resample(std::size_t c) {
    Sample sample;
    sample.indices = best_design_;
    sample.draws.resize(logits_.size());
    for (int t = 0; t < 40 && !done(); ++t) {
      sample_chunk(sample, c, false);
      if (try_shape(c, sample.indices[c])) return true;
    }
    return false;
  }

  // Only the slowest chunk can make a design better, unless the shared memory is what is slow.
  void polish() {
    if (!std::isfinite(best_)) return;
    while (!done()) {
      const std::size_t c = slowest();
      const std::size_t before = result_.evaluations;
      if (change_one(c) || change_two(c) || resample(c)) continue;
      if (result_.evaluations == before || best_cost_.cycles[c] < best_) {
        const std::size_t other = rng_.below(logits_.size());
        if (!change_one(other) && !change_two(other) && result_.evaluations == before) return;
      }
    }
  }

  DesignSpace space_;
  ShapeSearchOptions options_;
  Rng rng_;
  std::vector<std::vector<Logits>> logits_;
  std::vector<double> mean_, spread_;
  int steps_ = 0;
  double best_ = infinity;
  DesignSpace::Cost best_cost_;
  std::vector<ShapeIndices> best_design_;
  ShapeSearchResult result_;
};

}  // namespace

std::string_view name_of(ShapeSearch method) {
  switch (method) {
    case ShapeSearch::random:
      return "random";
    case ShapeSearch::das_published:
      return "DAS as published";
    case ShapeSearch::das_faster:
      return "DAS, rate 0.05";
    case ShapeSearch::das_repaired:
      return "DAS repaired";
  }
  fail_check("a known method", __FILE__, __LINE__, "");
}

ShapeSearchResult search_shapes(const NbaQuestion& question, const ShapeSearchOptions& options) {
  if (options.evaluations == 0) throw input_error("a search with 0 evaluations, needed: at least 1");
  return ShapeSearcher(question, options).run();
}

std::vector<SearchGap> compare_searches(const std::vector<NbaQuestion>& questions,
                                        const std::vector<ShapeSearch>& methods, std::size_t evaluations,
                                        std::size_t seeds) {
  std::vector<double> optima;
  for (const NbaQuestion& question : questions) optima.push_back(solve_nba(question).answer.cycles);
  std::vector<SearchGap> gaps;
  for (const ShapeSearch method : methods) {
    SearchGap gap{method, 0, 0, 0, 0};
    for (std::size_t q = 0; q < questions.size(); ++q)
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const ShapeSearchResult result = search_shapes(questions[q], {method, evaluations, seed});
        if (!result.found) {
          ++gap.failed;
          continue;
        }
        const double one = result.bottleneck / optima[q] - 1;
        ++gap.runs;
        gap.mean_gap += one;
        gap.worst_gap = std::max(gap.worst_gap, one);
      }
    if (gap.runs > 0) gap.mean_gap /= static_cast<double>(gap.runs);
    gaps.push_back(gap);
  }
  return gaps;
}

}  // namespace kasimir
