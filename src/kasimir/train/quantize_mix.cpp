// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/quantize_mix.h"

#include "kasimir/base/error.h"

#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/round.h>
#include <ATen/ops/where.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace kasimir {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

/// One format's share of a call.
struct Share {
  IntegerFormat format;
  at::Tensor step;  ///< broadcasts to x
  double weight = 1;
};

/// The dense CPU case with one step for all elements goes over memory once: eager operations take six passes.
bool flat(const at::Tensor& x, const std::vector<Share>& shares) {
  if (!x.device().is_cpu() || x.scalar_type() != at::kFloat || !x.is_non_overlapping_and_dense()) return false;
  for (const Share& share : shares)
    if (share.step.numel() != 1) return false;
  return true;
}

// The library is compiled for any x86-64 processor, whose first generation cannot round vectors: the two loops below
// are compiled three times and chosen where they run.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define KASIMIR_ANY_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define KASIMIR_ANY_CPU
#endif

/// nearbyint rounds ties to even; the comparisons keep what is not a number.
inline float code_of(float v, float lowest, float highest) {
  const float rounded = std::nearbyintf(v);
  return rounded < lowest ? lowest : (rounded > highest ? highest : rounded);
}

struct Grid {
  float step, weight, lowest, highest;
};

KASIMIR_ANY_CPU void add_quantized(const float* x, float* sum, std::int64_t count, Grid grid) {
  const float scale = grid.weight * grid.step;
  for (std::int64_t i = 0; i < count; ++i) sum[i] += scale * code_of(x[i] / grid.step, grid.lowest, grid.highest);
}

/// The gradients of one format: into `dx`, and the sums for the step and the mixture, both without the weight.
struct Sums {
  double step = 0;
  double mix = 0;
};

constexpr std::int64_t lanes = 16;
/// One block of lanes: sums in single precision, one per lane, so that the loop vectorises.
KASIMIR_ANY_CPU void add_block(const float* x, const float* gradient, float* dx, std::int64_t count, Grid grid,
                               float* by_step, float* by_mix) {
  for (std::int64_t from = 0; from + lanes <= count; from += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const std::int64_t i = from + lane;
      const float v = x[i] / grid.step;
      const float code = code_of(v, grid.lowest, grid.highest);
      const float inside = v >= grid.lowest && v <= grid.highest ? 1.0F : 0.0F;
      dx[i] += grid.weight * inside * gradient[i];
      by_step[lane] += gradient[i] * (code - inside * v);
      by_mix[lane] += gradient[i] * code;
    }
  }
}

Sums add_gradients(const float* x, const float* gradient, float* dx, std::int64_t count, Grid grid) {
  constexpr std::int64_t block = 256 * lanes;  // beyond, single precision would lose what is added
  Sums sums;
  for (std::int64_t from = 0; from < count; from += block) {
    std::array<float, lanes> by_step{};
    std::array<float, lanes> by_mix{};
    const std::int64_t here = std::min(block, count - from);
    const std::int64_t whole = here / lanes * lanes;
    add_block(x + from, gradient + from, dx + from, whole, grid, by_step.data(), by_mix.data());
    for (std::int64_t i = from + whole; i < from + here; ++i) {
      std::array<float, lanes> tail_x{x[i]};
      std::array<float, lanes> tail_gradient{gradient[i]};
      std::array<float, lanes> tail_dx{dx[i]};
      add_block(tail_x.data(), tail_gradient.data(), tail_dx.data(), lanes, grid, by_step.data(), by_mix.data());
      dx[i] = tail_dx[0];
    }
    for (std::size_t lane = 0; lane < by_step.size(); ++lane) {
      sums.step += by_step[lane];
      sums.mix += by_mix[lane];
    }
  }
  return sums;
}

Grid grid_of(const Share& share) {
  return {share.step.item<float>(), static_cast<float>(share.weight), static_cast<float>(share.format.lowest()),
          static_cast<float>(share.format.highest())};
}

double factor_of(const at::Tensor& x, const Share& share, bool per_image) {
  const std::int64_t sharing = x.numel() / std::max<std::int64_t>(1, share.step.numel());
  const std::int64_t values = per_image ? std::max<std::int64_t>(1, sharing / x.size(0)) : sharing;
  return 1.0 / std::sqrt(static_cast<double>(values) * share.format.highest());
}

class QuantizeAndMix : public torch::autograd::Function<QuantizeAndMix> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const std::optional<at::Tensor>& maybe_mix,
                            at::TensorList steps, const std::vector<IntegerFormat>& formats, bool per_image) {
    const at::Tensor mix = maybe_mix.value_or(at::Tensor());
    const std::vector<at::Tensor> log_steps = steps.vec();
    variable_list saved{x, mix};
    saved.insert(saved.end(), log_steps.begin(), log_steps.end());
    context->save_for_backward(saved);
    context->saved_data["per_image"] = per_image;
    std::vector<std::int64_t> codes;
    for (const IntegerFormat& format : formats) {
      codes.push_back(format.bits);
      codes.push_back(format.is_signed ? 1 : 0);
      codes.push_back(format.symmetric ? 1 : 0);
    }
    context->saved_data["formats"] = codes;

    const std::vector<Share> all = shares(mix, log_steps, formats);
    at::Tensor result = at::zeros_like(x);
    for (const Share& share : all) {
      if (share.weight == 0) continue;
      if (flat(x, all)) {
        add_quantized(x.data_ptr<float>(), result.data_ptr<float>(), x.numel(), grid_of(share));
      } else {
        const at::Tensor code = at::clamp(at::round(x / share.step), share.format.lowest(), share.format.highest());
        result.add_(code * share.step, share.weight);
      }
    }
    return result;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& mix = saved[1];
    const std::vector<at::Tensor> log_steps(saved.begin() + 2, saved.end());
    const bool per_image = context->saved_data["per_image"].toBool();
    const std::vector<Share> all = shares(mix, log_steps, formats_of(*context));
    const bool in_one_pass = flat(x, all);
    // The loops walk memory, so that both tensors must lie alike.
    at::Tensor gradient = gradients[0];
    if (in_one_pass && gradient.strides() != x.strides()) gradient = at::empty_like(x).copy_(gradient);
    at::Tensor dx = at::zeros_like(x);
    at::Tensor dmix = mix.defined() ? at::zeros_like(mix) : at::Tensor();
    variable_list by_step;
    for (std::size_t j = 0; j < all.size(); ++j) {
      const Share& share = all[j];
      const double factor = factor_of(x, share, per_image);
      if (in_one_pass) {
        const Grid grid = grid_of(share);
        const Sums sums =
            add_gradients(x.data_ptr<float>(), gradient.data_ptr<float>(), dx.data_ptr<float>(), x.numel(), grid);
        by_step.push_back(share.step * (sums.step * share.weight * factor));
        if (mix.defined()) dmix.select(0, static_cast<std::int64_t>(j)).fill_(sums.mix * grid.step);
        continue;
      }
      const at::Tensor v = x / share.step;
      const at::Tensor code = at::clamp(at::round(v), share.format.lowest(), share.format.highest());
      const at::Tensor inside = at::logical_and(v >= share.format.lowest(), v <= share.format.highest());
      dx.add_(gradient * inside, share.weight);
      const at::Tensor slope = gradient * at::where(inside, code - v, code) * share.weight;
      by_step.push_back(at::sum_to(slope, share.step.sizes()) * share.step * factor);
      if (mix.defined()) dmix.select(0, static_cast<std::int64_t>(j)).copy_(at::sum(gradient * code * share.step));
    }
    variable_list result{dx, dmix};
    result.insert(result.end(), by_step.begin(), by_step.end());
    result.resize(result.size() + 2);  // formats and per_image have no gradients
    return result;
  }

 private:
  static std::vector<Share> shares(const at::Tensor& mix, const std::vector<at::Tensor>& log_steps,
                                   const std::vector<IntegerFormat>& formats) {
    std::vector<Share> all;
    for (std::size_t j = 0; j < formats.size(); ++j) {
      const double weight = mix.defined() ? mix[static_cast<std::int64_t>(j)].item<double>() : 1.0;
      all.push_back({formats[j], at::exp(log_steps[j]), weight});
    }
    return all;
  }
  static std::vector<IntegerFormat> formats_of(AutogradContext& context) {
    std::vector<IntegerFormat> formats;
    const std::vector<std::int64_t> codes = context.saved_data["formats"].toIntVector();
    for (std::size_t i = 0; i < codes.size(); i += 3)
      formats.push_back({static_cast<int>(codes[i]), codes[i + 1] == 1, codes[i + 2] == 1});
    return formats;
  }
};

}  // namespace

at::Tensor quantize_and_mix(const at::Tensor& x, const std::vector<at::Tensor>& log_steps, const at::Tensor& mix,
                            const std::vector<IntegerFormat>& formats, bool per_image) {
  KASIMIR_CHECK(!formats.empty() && formats.size() == log_steps.size(), "{} steps for {} formats", log_steps.size(),
                formats.size());
  KASIMIR_CHECK(mix.defined() ? mix.numel() == static_cast<std::int64_t>(formats.size()) : formats.size() == 1,
                "a mixture of {} formats", formats.size());
  const std::optional<at::Tensor> maybe_mix = mix.defined() ? std::optional(mix) : std::nullopt;
  return QuantizeAndMix::apply(x, maybe_mix, at::TensorList(log_steps), formats, per_image);
}

}  // namespace kasimir
