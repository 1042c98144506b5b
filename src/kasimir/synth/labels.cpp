// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/labels.h"

#include "kasimir/base/rng.h"
#include "kasimir/interp/field_arithmetic.h"
#include "kasimir/kernel/verify.h"
#include "kasimir/synth/poked.h"
#include "kasimir/synth/small_site.h"
#include "kasimir/synth/solver.h"

#include <algorithm>
#include <bitset>
#include <cstdlib>

namespace kasimir {
namespace {

constexpr std::uint64_t labels_seed = 20261130;  // any fixed number: a kernel has the same labels in every run

constexpr std::int64_t rows = 5;
constexpr std::int64_t columns = 6;

using Array = std::vector<std::uint32_t>;
using Values = Poked::Values;
using Set = std::bitset<128>;

Array random_array(std::uint64_t seed, std::size_t size) {
  Array array(field_room(size));
  fill_values(seed, array.data(), size);
  return array;
}
/// With field_room().
Array copied(Values values) {
  Array array(field_room(values.size()));
  std::ranges::copy(values, array.begin());
  return array;
}
Array sum(const Array& a, const Array& b) {
  Array result(a.size());
  std::ranges::transform(a, b, result.begin(), field::plus);
  return result;
}

const BoundTensor& tensor_of(const BoundGraph& graph, int tensor) {
  return graph.tensors[static_cast<std::size_t>(tensor)];
}

/// Whether f(u) + f(v) = f(u + v) + f(0).
template <typename Function>
bool is_additive(const Array& u, const Array& v, Function f) {
  const Array each = sum(copied(f(u)), copied(f(v)));
  const Array together = sum(copied(f(sum(u, v))), copied(f(Array(u.size(), 0))));
  return each == together;
}

/// What one output is seen to depend on.
struct Seen {
  bool input = false;
  Set channels;
  Set positions;
};

/// What pokes of the input at the small site show.
class Pokes {
 public:
  Pokes(Poked& poked, const BoundTensor& input)
      : poked_(poked),
        channels_(static_cast<std::size_t>(input.axes[1].extent)),
        positions_(static_cast<std::size_t>(input.axes[2].extent * input.axes[3].extent)),
        width_(static_cast<std::size_t>(input.axes[3].extent)),
        seen_(poked.size(poked.graph().output)) {
    KASIMIR_CHECK(channels_ <= Set().size() && positions_ <= Set().size(), "{} channels, {} positions", channels_,
                  positions_);
  }

  /// Replaces the input by `other`: as a whole and, until what is seen is all of `structural`, by channels and by
  /// positions.
  void poke(const Array& other, const View& structural) {
    change(other, [](std::size_t) { return true; }, [](Seen& seen) { seen.input = true; });
    const auto channels = [&](std::size_t c) {
      change(other, [&](std::size_t i) { return i / positions_ == c; }, [&](Seen& seen) { seen.channels.set(c); });
    };
    const auto positions = [&](std::size_t at) {
      change(other, [&](std::size_t i) { return i % positions_ == at; }, [&](Seen& seen) { seen.positions.set(at); });
    };
    if (structural.mixes_channels && !view_.mixes_channels)
      for (std::size_t c = 0; c < channels_; ++c) channels(c);
    // From the middle on: it is in sight of most.
    for (std::size_t i = 0; i < positions_ && positions_wanted(structural); ++i) {
      positions((positions_ / 2 + i) % positions_);
      if (!structural.is_global) look();
    }
    look();
  }

  [[nodiscard]] bool sees_all_of(const View& structural) const {
    return view_.mixes_channels >= structural.mixes_channels && view_.is_blind <= structural.is_blind &&
           !positions_wanted(structural);
  }
  [[nodiscard]] const View& view() const { return view_; }

 private:
  [[nodiscard]] bool positions_wanted(const View& structural) const {
    return view_.sees_neighbourhood < structural.sees_neighbourhood || view_.sees_height < structural.sees_height ||
           view_.sees_width < structural.sees_width || view_.is_global < structural.is_global;
  }

  template <typename Chosen, typename Mark>
  void change(const Array& other, Chosen chosen, Mark mark) {
    Array changed = copied(poked_.values(poked_.graph().input));
    for (std::size_t i = 0; i < channels_ * positions_; ++i)
      if (chosen(i)) changed[i] = other[i];
    const Poked::Change input{poked_.graph().input, changed.data()};
    const Values before = poked_.output();
    const Values after = poked_.run({&input, 1});
    for (std::size_t i = 0; i < after.size(); ++i)
      if (after[i] != before[i]) mark(seen_[i]);
  }

  void look() {
    std::vector<bool> sees(seen_.size() / positions_, false);
    std::vector<bool> mixes(seen_.size() / positions_, false);
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (seen_[i].input) sees[i / positions_] = true;
      if (seen_[i].channels.count() == channels_) mixes[i / positions_] = true;
      view_.is_global = view_.is_global || seen_[i].positions.count() == positions_;
      const std::size_t own = i % positions_;
      for (std::size_t at = 0; at < positions_; ++at) {
        if (at == own || !seen_[i].positions.test(at)) continue;
        view_.sees_neighbourhood = true;
        view_.sees_height = view_.sees_height || at / width_ != own / width_;
        view_.sees_width = view_.sees_width || at % width_ != own % width_;
      }
    }
    view_.is_blind = std::ranges::count(sees, false) > 0;
    view_.mixes_channels = std::ranges::count(mixes, false) == 0;
  }

  Poked& poked_;
  std::size_t channels_;
  std::size_t positions_;
  std::size_t width_;
  std::vector<Seen> seen_;
  View view_;
};

/// The kernel's steps among the stages of a graph.
struct StepStages {
  std::size_t first = 0;
  std::size_t last = 0;  ///< behind the last one
  int result = -1;       ///< tensor
};

std::vector<StepStages> steps_of(const BoundGraph& graph, std::size_t steps) {
  std::vector<StepStages> found(steps);
  for (std::size_t s = 0; s < graph.stages.size(); ++s) {
    if (graph.stages[s].step < 0) continue;
    StepStages& step = found[static_cast<std::size_t>(graph.stages[s].step)];
    if (step.result < 0) step.first = s;
    step.last = s + 1;
    step.result = graph.stages[s].out;
  }
  return found;
}

/// Labels at the small site.
class Reader {
 public:
  Reader(const Kernel& kernel, const BoundGraph& graph)
      : kernel_(kernel),
        poked_(graph),
        pokes_(poked_, tensor_of(graph, graph.input)),
        steps_(steps_of(poked_.graph(), kernel.steps.size())) {
    const std::int64_t channels = tensor_of(graph, graph.input).axes[1].extent;
    sites_ = SiteSet({{channels, channels, rows, columns, 1}, {channels, channels, rows, columns, 2}}, kernel.choices);
  }

  Labels read(const View& structural) {
    std::vector<Bypass> bypasses = all_bypasses();
    labels_.is_zero = true;
    for (int round = 0; round < Labels::rounds; ++round) {
      const std::uint64_t seed = mix_bits(labels_seed + static_cast<std::uint64_t>(round));
      // What a maximum over positions hides is seen at once where all of them have the same value.
      poked_.draw(seed, round % 2 == 1);
      const Array other = random_array(~seed, poked_.size(poked_.graph().input));
      if (round == 0) once(other);
      labels_.is_zero = labels_.is_zero && std::ranges::all_of(poked_.output(), [](auto v) { return v == 0; });
      std::erase_if(bypasses, [&](const Bypass& bypass) { return !changes_nothing(bypass); });
      if (round == 0 || !pokes_.sees_all_of(structural)) pokes_.poke(other, structural);
      if (bypasses.empty() && !labels_.is_zero && pokes_.sees_all_of(structural)) break;
    }
    labels_.view = pokes_.view();
    if (!bypasses.empty()) labels_.idle_step = bypasses.front().step;
    return labels_;
  }

  /// Whether the step may be left out here, too.
  bool is_idle(int step) {
    std::vector<Bypass> bypasses = all_bypasses();
    std::erase_if(bypasses, [&](const Bypass& bypass) { return bypass.step != step; });
    for (int round = 0; round < Labels::rounds && !bypasses.empty(); ++round) {
      poked_.draw(mix_bits(~labels_seed + static_cast<std::uint64_t>(round)));
      std::erase_if(bypasses, [&](const Bypass& bypass) { return !changes_nothing(bypass); });
    }
    return !bypasses.empty();
  }

 private:
  struct Bypass {
    int step;
    int operand;  ///< tensor
  };

  /// A tensor of the kernel in the graph.
  [[nodiscard]] int tensor(int number) const {
    return number == 0 ? poked_.graph().input : steps_[static_cast<std::size_t>(number) - 1].result;
  }

  /// Equal at a stride as well, where a step that takes the stride changes the shape.
  [[nodiscard]] bool same_shape(const Shape& a, const Shape& b) const {
    return std::ranges::equal(
        a, b, [&](const Axis& x, const Axis& y) { return x.kind == y.kind && sites_.equal(x.extent, y.extent); });
  }

  [[nodiscard]] std::vector<Bypass> all_bypasses() const {
    const SiteSet site({sites_.sites().front()}, kernel_.choices);
    const auto shapes = infer_shapes(kernel_, site).value();
    std::vector<Bypass> bypasses;
    for (std::size_t i = 0; i < kernel_.steps.size(); ++i)
      for (const int operand : kernel_.steps[i].operands)
        if (same_shape(shapes[static_cast<std::size_t>(operand)], shapes[i + 1]))
          bypasses.push_back({static_cast<int>(i), tensor(operand)});
    return bypasses;
  }

  [[nodiscard]] bool changes_nothing(const Bypass& bypass) {
    const StepStages& step = steps_[static_cast<std::size_t>(bypass.step)];
    const Poked::Change change{step.result, poked_.values(bypass.operand).data()};
    const Values after = poked_.run({&change, 1}, step.last, poked_.graph().stages.size(), poked_.graph().output);
    return std::ranges::equal(after, poked_.output());
  }

  /// What one draw decides: an equality of all outputs is no accident.
  void once(const Array& other) {
    const int input = poked_.graph().input;
    const auto function = [&](const Array& at) {
      const Poked::Change change{input, at.data()};
      return poked_.run({&change, 1});
    };
    labels_.is_linear = is_additive(copied(poked_.values(input)), other, function);
    function(other);
    labels_.has_data_weights =
        std::ranges::any_of(poked_.graph().stages, [&](const BoundStage& stage) { return multiplies_moved(stage); });
    levels();
  }

  /// The reads below a node of tensors that the last run moved.
  void moved_reads(const BoundStage& stage, int node, std::vector<const BoundRead*>& reads) const {
    const BoundNode& n = stage.nodes[static_cast<std::size_t>(node)];
    if (const auto* read = std::get_if<BoundRead>(&n)) {
      if (poked_.moved(read->tensor)) reads.push_back(read);
    } else if (const auto* apply = std::get_if<Apply>(&n)) {
      moved_reads(stage, apply->a, reads);
      if (apply->b >= 0) moved_reads(stage, apply->b, reads);
    }
  }

  /// A product of one element with itself, or with a function of it, is a function of one value.
  [[nodiscard]] bool multiplies_moved(const BoundStage& stage) const {
    for (const BoundNode& node : stage.nodes) {
      const auto* apply = std::get_if<Apply>(&node);
      if (apply == nullptr || apply->fn != Fn::mul) continue;
      std::vector<const BoundRead*> a;
      std::vector<const BoundRead*> b;
      moved_reads(stage, apply->a, a);
      moved_reads(stage, apply->b, b);
      for (const BoundRead* x : a)
        if (std::ranges::any_of(b, [&](const BoundRead* y) { return x->tensor != y->tensor || x->at != y->at; }))
          return true;
    }
    return false;
  }

  void levels() {
    std::vector<int> level(kernel_.steps.size() + 1, 0);
    for (std::size_t i = 0; i < kernel_.steps.size(); ++i) {
      for (const int operand : kernel_.steps[i].operands)
        level[i + 1] = std::max(level[i + 1], level[static_cast<std::size_t>(operand)]);
      if (!is_linear_step(i)) ++level[i + 1];
    }
    labels_.nonlinear_levels = level[static_cast<std::size_t>(kernel_.output)];
  }

  /// In all its operands, taken together.
  [[nodiscard]] bool is_linear_step(std::size_t i) {
    std::vector<int> operands;
    for (const int number : kernel_.steps[i].operands)
      if (const int operand = tensor(number); std::ranges::find(operands, operand) == operands.end())
        operands.push_back(operand);
    std::size_t size = 0;
    for (const int operand : operands) size += field_room(poked_.size(operand));
    const StepStages& step = steps_[i];
    const auto function = [&](const Array& all) {
      std::vector<Poked::Change> changes;
      const std::uint32_t* next = all.data();
      for (const int operand : operands) {
        changes.push_back({operand, next});
        next += field_room(poked_.size(operand));
      }
      return poked_.run(changes, step.first, step.last, step.result);
    };
    return is_additive(operand_arrays(operands, 2 * i, size), operand_arrays(operands, 2 * i + 1, size), function);
  }

  /// One random array per operand, one behind the other.
  [[nodiscard]] Array operand_arrays(const std::vector<int>& operands, std::uint64_t number, std::size_t size) const {
    Array all(size, 0);
    std::size_t next = 0;
    for (const int operand : operands) {
      const Array one = random_array(mix_bits(mix_bits(labels_seed ^ number) + next), poked_.size(operand));
      std::ranges::copy(Values(one).first(poked_.size(operand)), all.begin() + static_cast<std::ptrdiff_t>(next));
      next += one.size();
    }
    return all;
  }

  const Kernel& kernel_;
  Poked poked_;
  Pokes pokes_;
  std::vector<StepStages> steps_;
  SiteSet sites_;
  Labels labels_;
};

// --- translation ------------------------------------------------------------------------------------------------

/// Reads outside a map's height and width come from its other side.
BoundGraph with_edges_joined(BoundGraph graph) {
  for (BoundStage& stage : graph.stages) {
    for (BoundNode& node : stage.nodes) {
      auto* read = std::get_if<BoundRead>(&node);
      if (read == nullptr || tensor_of(graph, read->tensor).role == Role::weight) continue;
      const auto& axes = tensor_of(graph, read->tensor).axes;
      for (std::size_t a = 0; a < axes.size(); ++a)
        if (is_spatial(axes[a].kind) && !read->at[a].wrap) read->at[a].wrap = axes[a].extent;
    }
  }
  return graph;
}

/// Channels x height x width, moved around by rows and columns.
Array rolled(Values values, const BoundTensor& tensor, std::size_t down, std::size_t right) {
  const auto height = static_cast<std::size_t>(tensor.axes[2].extent);
  const auto width = static_cast<std::size_t>(tensor.axes[3].extent);
  Array result(field_room(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t h = i / width % height;
    const std::size_t w = i % width;
    result[i - h * width - w + (h + down) % height * width + (w + right) % width] = values[i];
  }
  return result;
}

bool is_equivariant(const BoundGraph& graph) {
  Poked poked(with_edges_joined(graph));
  const int input = poked.graph().input;
  const int output = poked.graph().output;
  for (std::uint64_t draw = 0; draw < 2; ++draw) {
    poked.draw(mix_bits(labels_seed ^ ~draw));
    for (const std::size_t down : {0U, 1U}) {
      const Array moved = rolled(poked.values(input), tensor_of(graph, graph.input), down, 1 - down);
      const Array wanted = rolled(poked.output(), tensor_of(graph, graph.output), down, 1 - down);
      const Poked::Change change{input, moved.data()};
      if (!std::ranges::equal(poked.run({&change, 1}), Values(wanted).first(poked.size(output)))) return false;
    }
  }
  return true;
}

// --- reach ------------------------------------------------------------------------------------------------------

/// The kernel at one site with the first fit for its free symbols.
Outcome<BoundGraph> at_site(const Kernel& kernel, const Site& site) {
  auto graph = lower(kernel, SiteSet({site}, kernel.choices));
  if (!graph.ok()) return graph.rejection();
  auto fitted = any_fit(kernel, *graph, site);
  if (!fitted.ok()) return fitted.rejection();
  Kernel small = kernel;
  small.fits = {{site, *fitted}};
  return lower_at(small, site, 1);
}

/// How far from the middle row (or column) of a long map outputs change with what lies there.
int reach(const BoundGraph& graph, bool along_rows) {
  Poked poked(graph);
  const auto width = static_cast<std::size_t>(tensor_of(graph, graph.output).axes[3].extent);
  const auto height = static_cast<std::size_t>(tensor_of(graph, graph.output).axes[2].extent);
  const auto line = [&](std::size_t i) { return static_cast<int>(along_rows ? i / width % height : i % width); };
  int furthest = 0;
  constexpr int most_rounds = 4;
  for (int round = 0; round < most_rounds && furthest < Labels::far; ++round) {
    const std::uint64_t seed = mix_bits(labels_seed ^ static_cast<std::uint64_t>(0x100 + round));
    poked.draw(seed, round % 2 == 1);
    const Values input = poked.values(poked.graph().input);
    Array changed = random_array(~seed, input.size());
    for (std::size_t i = 0; i < input.size(); ++i)
      if (line(i) != Labels::far) changed[i] = input[i];
    const Poked::Change change{poked.graph().input, changed.data()};
    const Values after = poked.run({&change, 1});
    for (std::size_t i = 0; i < after.size(); ++i)
      if (after[i] != poked.output()[i]) furthest = std::max(furthest, std::abs(line(i) - Labels::far));
  }
  return furthest;
}

std::int64_t input_channels(const BoundGraph& graph) { return tensor_of(graph, graph.input).axes[1].extent; }

/// With `times` as many channels as the smallest possible, 128 at most; the smallest if that has no fit.
Outcome<BoundGraph> with_channels(const Kernel& kernel, std::int64_t times) {
  auto small = at_small_site(kernel);
  if (!small.ok()) return small;
  const std::int64_t channels = std::min<std::int64_t>(times * input_channels(*small), Set().size());
  auto larger = at_site(kernel, {channels, channels, rows, columns, 1});
  return larger.ok() ? larger : small;
}

void read_reach(const Kernel& kernel, std::int64_t channels, Labels& labels) {
  constexpr std::int64_t along = 2 * Labels::far + 1;
  if (labels.view.sees_height) {
    const auto map = at_site(kernel, {channels, channels, along, rows, 1});
    if (map.ok()) labels.reach_rows = reach(*map, true);
  }
  if (labels.view.sees_width) {
    const auto map = at_site(kernel, {channels, channels, rows, along, 1});
    if (map.ok()) labels.reach_columns = reach(*map, false);
  }
  if (labels.reach_rows < Labels::far || labels.reach_columns < Labels::far) labels.view.is_global = false;
}

}  // namespace

Outcome<BoundGraph> at_label_site(const Kernel& kernel) {
  auto small = at_small_site(kernel);
  if (!small.ok()) return small;
  const std::int64_t channels = input_channels(*small);
  const Graph graph = lower(kernel, SiteSet({{channels, channels, rows, columns, 1}}, kernel.choices)).value();
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].role != Role::between) continue;
    for (std::size_t a = 1; a < graph.tensors[t].axes.size(); ++a)
      if (small->tensors[t].axes[a].extent == 1 && graph.tensors[t].axes[a].extent != Size(1))
        return with_channels(kernel, 2);
  }
  return small;
}

Outcome<Labels> exact_labels(const Kernel& kernel, const View& structural, const LabelCosts& asked) {
  const auto graph = at_label_site(kernel);
  if (!graph.ok()) return graph.rejection();
  const std::int64_t channels = input_channels(*graph);
  Labels labels = Reader(kernel, *graph).read(structural);
  if (labels.idle_step) {
    // A shuffle of g channels by g does nothing, and there may be a free symbol of that size.
    const auto larger = with_channels(kernel, 4);
    if (larger.ok() && !Reader(kernel, *larger).is_idle(*labels.idle_step)) labels.idle_step.reset();
  }
  const SiteSet site({{channels, channels, rows, columns, 1}}, kernel.choices);
  labels.is_independent_of_resolution = independent_of_resolution(lower(kernel, site).value());
  if (asked.translation) labels.is_equivariant = is_equivariant(*graph);
  if (asked.reach) read_reach(kernel, channels, labels);
  return labels;
}

Outcome<Labels> exact_labels(const Kernel& kernel, const LabelCosts& asked) {
  const auto graph = at_label_site(kernel);
  if (!graph.ok()) return graph.rejection();
  return exact_labels(kernel, analyse(*graph), asked);
}

}  // namespace kasimir
