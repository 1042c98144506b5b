// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_nests.h"
#include "kasimir/codegen/c_team.h"

#include <algorithm>
#include <map>
#include <set>

namespace kasimir {
namespace {

std::int64_t stride_of(const Access& access, int loop) { return access.strides[static_cast<std::size_t>(loop)]; }

/// Loops that are some steps further than their names say.
using Steps = std::vector<std::pair<int, std::int64_t>>;

class Loops {
 public:
  Loops(CText& text, const FlatNest& nest, const CTarget& target, const PlaceOf& place, int threads)
      : text_(text), nest_(nest), target_(target), place_(place), threads_(threads), names_(nest.loops.size()) {}

  [[nodiscard]] bool shared() const { return shared_ >= 0; }

  [[nodiscard]] VectorLoop over_vectors() const { return {vector_, along_result_}; }

  void choose_vectors() {
    vector_ = contiguous_result();
    along_result_ = vector_ >= 0;
    const int reduced = contiguous_reduction();
    if (reduced >= 0 &&
        (!along_result_ || (extent(reduced) >= target_.lanes && (extent(vector_) < 4 || !contiguous_reads(vector_))))) {
      vector_ = reduced;
      along_result_ = false;
    }
  }

  void write() {
    choose_vectors();
    if (along_result_) {
      tiled_ = neighbouring_results();
    } else if (vector_ >= 0) {
      lined_ = contiguous_result();
    }
    std::vector<int> outer;
    for (int loop = 0; loop < nest_.free; ++loop)
      if (loop != vector_ && loop != tiled_ && loop != lined_) outer.push_back(loop);
    std::ranges::stable_sort(outer, [&](int a, int b) { return stride_of(nest_.out, a) > stride_of(nest_.out, b); });
    if (threads_ > 1) shared_ = loop_to_share(outer);
    for (int loop : outer) open(loop);
    if (tiled_ >= 0) {
      write_tiles();
    } else if (along_result_ || vector_ < 0) {
      for (const auto& [low, high] : ranges()) write_range(low, high);
    } else {
      write_reduction();
    }
    for (std::size_t i = 0; i < outer.size(); ++i) text_.close();
  }

 private:
  [[nodiscard]] std::int64_t extent(int loop) const { return nest_.loops[static_cast<std::size_t>(loop)].extent; }

  void open(int loop) {
    const std::string name = fmt::format("i{}", loop);
    names_[static_cast<std::size_t>(loop)] = name;
    if (loop == shared_) {
      open_shared(text_, name, 0, extent(loop), 1, false);
    } else {
      text_.loop(name, extent(loop));
    }
  }

  /// The loop whose steps threads share, or -1 where none has two: the outermost of those that keep them equally busy.
  [[nodiscard]] int loop_to_share(const std::vector<int>& outer) const {
    int best = -1;
    double least = 0;
    const auto offer = [&](int loop, std::int64_t size, double penalty) {
      const std::int64_t units = (extent(loop) + size - 1) / size;
      const double cost = unevenness(units, threads_) + penalty;
      if (units < 2 || (best >= 0 && cost >= least)) return;
      best = loop;
      least = cost;
    };
    for (int loop : outer) offer(loop, 1, 0);
    if (tiled_ >= 0) offer(tiled_, tile_size(), 0.05);
    if (along_result_) offer(vector_, vectors_at_once() * target_.lanes, 0.1);
    if (lined_ >= 0) offer(lined_, target_.lanes, 0.1);
    return best;
  }

  [[nodiscard]] std::vector<const Access*> reads() const {
    std::vector<const Access*> all;
    for (const auto* accesses : {&nest_.value, &nest_.epilogue})
      for (const auto& access : *accesses)
        if (access) all.push_back(&*access);
    return all;
  }
  /// No guard keeps this loop from running over vectors.
  [[nodiscard]] bool vectorises(int loop) const {
    return std::ranges::all_of(reads(), [&](const Access* access) {
      return std::ranges::all_of(access->guarded, [&](const GuardedCoord& guard) {
        return splits(guard, loop) || whole_steps(guard, loop, extent(loop)) ||
               std::ranges::none_of(guard.coord.terms, [&](const auto& term) { return term.first == loop; });
      });
    });
  }
  [[nodiscard]] int contiguous_result() const {
    for (int loop = 0; loop < nest_.free; ++loop)
      if (stride_of(nest_.out, loop) == 1 && vectorises(loop)) return loop;
    return -1;
  }
  /// No read of the value jumps along the loop.
  [[nodiscard]] bool contiguous_reads(int loop) const {
    return std::ranges::all_of(nest_.value, [&](const std::optional<Access>& access) {
      return !access || std::abs(stride_of(*access, loop)) <= 1;
    });
  }
  [[nodiscard]] int contiguous_reduction() const {
    for (int loop = nest_.free; loop < static_cast<int>(nest_.loops.size()); ++loop) {
      const bool guarded = std::ranges::any_of(reads(), [](const Access* access) { return !access->guarded.empty(); });
      const bool contiguous = std::ranges::any_of(
          nest_.value, [&](const std::optional<Access>& access) { return access && stride_of(*access, loop) == 1; });
      if (contiguous && !guarded) return loop;
    }
    return -1;
  }

  /// A short reduction at neighbouring places shares most of what it reads (windows, weights): the loop along which it
  /// does, or -1.
  [[nodiscard]] int neighbouring_results() const {
    if (nest_.nest->reduce == Reduce::none) return -1;
    int found = -1;
    for (int loop = 0; loop < nest_.free; ++loop) {
      if (loop == vector_ || extent(loop) < 2) continue;
      const bool guarded = std::ranges::any_of(reads(), [&](const Access* access) {
        return std::ranges::any_of(access->guarded, [&](const GuardedCoord& guard) {
          return std::ranges::any_of(guard.coord.terms, [&](const auto& term) { return term.first == loop; });
        });
      });
      if (!guarded && (found < 0 || stride_of(nest_.out, loop) < stride_of(nest_.out, found))) found = loop;
    }
    return found;
  }

  /// Tiles of nearly equal size: 7 as 7, 10 as 5 and 5.
  [[nodiscard]] int tile_size() const {
    const int most = target_.registers >= 32 ? 8 : 4;
    const std::int64_t all = extent(tiled_);
    const std::int64_t blocks = (all + most - 1) / most;
    return static_cast<int>((all + blocks - 1) / blocks);
  }
  /// Several where something is reduced: one sum alone would wait for itself.
  [[nodiscard]] int vectors_at_once() const { return nest_.nest->reduce == Reduce::none || tiled_ >= 0 ? 1 : 4; }

  void write_tiles() {
    const std::int64_t all = extent(tiled_);
    const int size = tile_size();
    const std::int64_t whole = all / size * size;
    const std::string name = fmt::format("i{}", tiled_);
    names_[static_cast<std::size_t>(tiled_)] = name;
    if (tiled_ == shared_) {
      open_shared(text_, name, 0, whole, size, whole < all);
    } else {
      text_.loop(name, whole, size);
    }
    tile_ = size;
    for (const auto& [low, high] : ranges()) write_range(low, high);
    text_.close();
    if (whole == all) return;
    open_last(text_, tiled_ == shared_);
    text_.line("const int {} = {};", name, whole);
    tile_ = static_cast<int>(all - whole);
    for (const auto& [low, high] : ranges()) write_range(low, high);
    text_.close();
  }

  /// The vector loop cut where a guard changes.
  [[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> ranges() const {
    if (vector_ < 0) return {{0, 1}};
    std::set<std::int64_t> cuts{0, extent(vector_)};
    for (const Access* access : reads())
      for (const GuardedCoord& guard : access->guarded)
        if (splits(guard, vector_)) cuts.merge(seams(guard, extent(vector_)));
    std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
    for (auto at = cuts.begin(); std::next(at) != cuts.end(); ++at) pieces.emplace_back(*at, *std::next(at));
    return pieces;
  }

  /// What is read at a step of the tile, `steps` further in the unrolled loops.
  std::string load(const std::optional<Access>& access, std::int64_t low, int vector, std::int64_t part,
                   const Steps& steps = {}) const {
    auto here = settled(*access, vector_, vector_ < 0 ? 0 : extent(vector_), low);
    if (!here) return "SET1(0.0f)";
    for (const auto& [loop, count] : steps) {
      here->base += stride_of(*here, loop) * count;
      for (GuardedCoord& guard : here->guarded)
        for (const auto& [term, factor] : guard.coord.terms)
          if (term == loop) guard.coord.offset += factor * count;
    }
    const std::int64_t stride = vector_ < 0 ? 0 : stride_of(*here, vector_);
    const std::string at = address(*here, names_, place_, stride * vector * target_.lanes);
    const std::string value = load_text(here->element, at, stride, part);
    const std::string condition = inside(*here, names_);
    return condition.empty() ? value : "(" + condition + ") ? " + value + " : SET1(0.0f)";
  }

  [[nodiscard]] std::vector<int> reduced_loops() const {
    std::vector<int> reduced;
    for (int loop = nest_.free; loop < static_cast<int>(nest_.loops.size()); ++loop)
      if (loop != vector_) reduced.push_back(loop);
    const auto first = std::ranges::find_if(nest_.value, [](const auto& access) { return access.has_value(); });
    if (first != nest_.value.end())
      std::ranges::stable_sort(reduced, [&](int a, int b) { return stride_of(**first, a) > stride_of(**first, b); });
    return reduced;
  }

  [[nodiscard]] std::string neutral() const {
    return nest_.nest->reduce == Reduce::max ? "SET1(-__builtin_inff())" : "SET1(0.0f)";
  }
  void accumulate(const std::string& to, const std::string& value) {
    if (nest_.nest->reduce == Reduce::max) {
      text_.line("{0} = vmax({0}, {1});", to, value);
    } else {
      text_.line("{} += {};", to, value);
    }
  }
  [[nodiscard]] std::string times_factor(const std::string& value) const {
    return nest_.nest->factor == 1.0 ? value : fmt::format("{} * SET1({})", value, c_float(nest_.nest->factor));
  }

  /// The innermost reduced loops that are written out, because they are short.
  [[nodiscard]] std::vector<int> unrolled(std::vector<int>& reduced) const {
    std::vector<int> out;
    std::int64_t points = 1;
    while (tiled_ >= 0 && !reduced.empty() && points * extent(reduced.back()) <= 9) {
      points *= extent(reduced.back());
      out.insert(out.begin(), reduced.back());
      reduced.pop_back();
    }
    return out;
  }

  [[nodiscard]] std::vector<bool> partial_sums_in(const std::vector<int>& reduced, std::int64_t terms) const {
    std::vector<std::int64_t> extents;
    for (int loop : reduced) extents.push_back(extent(loop));
    return nest_.nest->reduce == Reduce::max ? std::vector<bool>(extents.size(), false) : partial_sums(extents, terms);
  }

  /// Calls `visit` at every point of the loops.
  template <typename Visit>
  void at_points(const std::vector<int>& loops, Visit visit) {
    Steps steps;
    for (int loop : loops) steps.emplace_back(loop, 0);
    while (true) {
      visit(steps);
      std::size_t i = steps.size();
      while (i > 0 && ++steps[i - 1].second == extent(steps[i - 1].first)) steps[--i].second = 0;
      if (i == 0) return;
    }
  }

  /// The value at a step; what was read before is not read again.
  std::string value_at(std::int64_t low, int vector, std::int64_t part, const Steps& steps, const std::string& prefix) {
    return write_expression(
        text_, nest_.nest->value, prefix,
        [&](std::size_t node) {
          const std::string read = load(nest_.value[node], low, vector, part, steps);
          const auto [known, added] = loaded_.emplace(read, fmt::format("x{}", loaded_.size()));
          if (added) text_.line("const vf {} = {};", known->second, read);
          return known->second;
        },
        "");
  }

  /// `count` vectors from where the vector loop stands, at each step of the tile; the last vector holds `part` results
  /// (0: all lanes).
  void write_chunk(std::int64_t low, int count, std::int64_t part) {
    const Nest& nest = *nest_.nest;
    const auto part_of = [&](int vector) { return vector == count - 1 ? part : 0; };
    if (nest.reduce == Reduce::none) {
      for (int v = 0; v < count; ++v) {
        loaded_.clear();
        const std::string value = value_at(low, v, part_of(v), {}, fmt::format("v{}_", v));
        finish(times_factor(value), low, v, part_of(v), {});
      }
      return;
    }
    int level = 0;
    const auto sum_at = [](int at, int t, int v) { return fmt::format("acc{}_{}_{}", at, t, v); };
    const auto sum = [&](int t, int v) { return sum_at(level, t, v); };
    const auto for_sums = [&](auto write) {
      for (int t = 0; t < tile_; ++t)
        for (int v = 0; v < count; ++v) write(t, v);
    };
    const auto begin = [&] { for_sums([&](int t, int v) { text_.line("vf {} = {};", sum(t, v), neutral()); }); };
    begin();
    auto reduced = reduced_loops();
    const auto inner = unrolled(reduced);
    std::int64_t terms = 1;
    for (int loop : inner) terms *= extent(loop);
    const auto partial = partial_sums_in(reduced, terms);
    for (std::size_t i = 0; i < reduced.size(); ++i) {
      open(reduced[i]);
      if (!partial[i]) continue;
      ++level;
      begin();
    }
    loaded_.clear();
    int serial = 0;
    at_points(inner, [&](Steps steps) {
      steps.emplace_back(tiled_, 0);
      for (int t = 0; t < tile_; ++t) {
        steps.back().second = t;
        for (int v = 0; v < count; ++v)
          accumulate(sum(t, v), value_at(low, v, part_of(v), tiled_ < 0 ? Steps(steps.begin(), steps.end() - 1) : steps,
                                         fmt::format("v{}_", serial++)));
      }
    });
    for (std::size_t i = reduced.size(); i-- > 0; text_.close()) {
      if (!partial[i]) continue;
      for_sums([&](int t, int v) { accumulate(sum_at(level - 1, t, v), sum(t, v)); });
      --level;
    }
    for (int t = 0; t < tile_; ++t) {
      text_.open("");
      for (int v = 0; v < count; ++v)
        finish(times_factor(sum(t, v)), low, v, part_of(v), tiled_ < 0 ? Steps{} : Steps{{tiled_, t}});
      text_.close();
    }
  }

  void finish(const std::string& reduced, std::int64_t low, int vector, std::int64_t part, const Steps& steps) {
    const Nest& nest = *nest_.nest;
    std::string result = reduced;
    if (!nest.epilogue.empty()) {
      text_.line("const vf r{} = {};", vector, reduced);
      result = write_expression(
          text_, nest.epilogue, fmt::format("e{}_", vector),
          [&](std::size_t node) { return load(nest_.epilogue[node], low, vector, part, steps); },
          fmt::format("r{}", vector));
    }
    const auto at = [&](const Access& out) {
      std::int64_t more = static_cast<std::int64_t>(vector) * target_.lanes;
      for (const auto& [loop, count] : steps) more += stride_of(out, loop) * count;
      return address(out, names_, place_, more);
    };
    write_stores(
        text_, nest, nest_.out, nest_.also, result, std::to_string(vector), part,
        [&](const Access& access) { return load(access, low, vector, part, steps); }, at);
  }

  void write_range(std::int64_t low, std::int64_t high) {
    if (vector_ < 0) {
      text_.open("");
      write_chunk(0, 1, 1);
      text_.close();
      return;
    }
    const int most = vectors_at_once();
    const std::int64_t step = static_cast<std::int64_t>(most) * target_.lanes;
    const std::string name = fmt::format("i{}", vector_);
    names_[static_cast<std::size_t>(vector_)] = name;
    const std::int64_t whole = low + (high - low) / step * step;
    if (whole > low) {
      if (vector_ == shared_) {
        open_shared(text_, name, low, whole - low, step, whole < high);
      } else {
        text_.open("for (int {0} = {1}; {0} < {2}; {0} += {3})", name, low, whole, step);
      }
      write_chunk(low, most, 0);
      text_.close();
    }
    if (whole == high) return;
    const std::int64_t rest = high - whole;
    open_last(text_, vector_ == shared_);
    text_.line("const int {} = {};", name, whole);
    write_chunk(low, static_cast<int>((rest + target_.lanes - 1) / target_.lanes), rest % target_.lanes);
    text_.close();
  }

  /// The reduction of one result over vectors.
  void write_sum() {
    const int along = vector_;
    text_.line("vf acc = {};", neutral());
    const auto reduced = reduced_loops();
    const auto partial = partial_sums_in(reduced, (extent(along) + target_.lanes - 1) / target_.lanes);
    std::vector<std::string> sums{"acc"};
    for (std::size_t i = 0; i < reduced.size(); ++i) {
      open(reduced[i]);
      if (!partial[i]) continue;
      sums.push_back(fmt::format("acc{}", sums.size()));
      text_.line("vf {} = {};", sums.back(), neutral());
    }
    const std::string name = fmt::format("i{}", along);
    names_[static_cast<std::size_t>(along)] = name;
    const std::int64_t whole = extent(along) / target_.lanes * target_.lanes;
    const auto value = [&](std::int64_t part) {
      return write_expression(
          text_, nest_.nest->value, "v", [&](std::size_t node) { return load(nest_.value[node], 0, 0, part); }, "");
    };
    if (whole > 0) {
      text_.open("for (int {0} = 0; {0} < {1}; {0} += LANES)", name, whole);
      accumulate(sums.back(), value(0));
      text_.close();
    }
    if (const std::int64_t part = extent(along) - whole; part > 0) {
      text_.open("");
      text_.line("const int {} = {};", name, whole);
      const std::string last = value(part);
      accumulate(sums.back(), fmt::format("choose(first_lanes({}), {}, {})", part, last, neutral()));
      text_.close();
    }
    for (std::size_t i = reduced.size(); i-- > 0; text_.close()) {
      if (!partial[i]) continue;
      accumulate(sums[sums.size() - 2], sums.back());
      sums.pop_back();
    }
    // No read moves with the loop any more.
    names_[static_cast<std::size_t>(along)].clear();
  }
  [[nodiscard]] std::string total() const {
    return fmt::format("{}_of(acc)", nest_.nest->reduce == Reduce::max ? "max" : "sum");
  }

  /// Reductions over vectors; what follows happens at as many neighbouring results as a vector holds.
  void write_reduction() {
    if (lined_ >= 0) return write_lined_results();
    write_sum();
    vector_ = -1;
    finish(times_factor(fmt::format("SET1({})", total())), 0, 0, 1, {});
  }
  void write_lined_results() {
    const int along = vector_;
    const std::int64_t all = extent(lined_);
    const std::int64_t whole = all / target_.lanes * target_.lanes;
    const std::string name = fmt::format("i{}", lined_);
    const auto block = [&](std::int64_t count) {
      text_.line("float totals[LANES] = {{0}};");
      text_.open("for (int at = 0; at < {}; ++at)", count);
      names_[static_cast<std::size_t>(lined_)] = fmt::format("{} + at", name);
      vector_ = along;
      write_sum();
      text_.line("totals[at] = {};", total());
      text_.close();
      names_[static_cast<std::size_t>(lined_)] = name;
      vector_ = lined_;
      finish(times_factor("LD(totals)"), 0, 0, count % target_.lanes, {});
    };
    if (whole > 0) {
      if (lined_ == shared_) {
        open_shared(text_, name, 0, whole, target_.lanes, whole < all);
      } else {
        text_.loop(name, whole, target_.lanes);
      }
      block(target_.lanes);
      text_.close();
    }
    if (whole == all) return;
    open_last(text_, lined_ == shared_);
    text_.line("const int {} = {};", name, whole);
    block(all - whole);
    text_.close();
  }

  CText& text_;
  const FlatNest& nest_;
  const CTarget& target_;
  const PlaceOf& place_;
  int threads_;
  std::vector<std::string> names_;  ///< per loop: its value in C
  int vector_ = -1;                 ///< the loop that runs over vectors
  bool along_result_ = false;
  int tiled_ = -1;                             ///< a loop of the result of which several steps are taken at once
  int tile_ = 1;                               ///< how many
  int lined_ = -1;                             ///< reductions over vectors: the loop along which results are neighbours
  int shared_ = -1;                            ///< the loop of which each thread does a part
  std::map<std::string, std::string> loaded_;  ///< what was read at a step, and the name of its value
};

}  // namespace

VectorLoop loop_over_vectors(const FlatNest& nest, const CTarget& target) {
  CText nowhere;
  const PlaceOf no_place;
  Loops loops(nowhere, nest, target, no_place, 1);
  loops.choose_vectors();
  return loops.over_vectors();
}

bool write_loops(CText& text, const FlatNest& nest, const CTarget& target, const PlaceOf& place, int threads) {
  Loops loops(text, nest, target, place, threads);
  loops.write();
  return loops.shared();
}

}  // namespace kasimir
