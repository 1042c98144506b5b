// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/fit_block.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

// The sanitizers' runtimes are not ready when the loader asks which version of a function to take.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define KASIMIR_VECTOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define KASIMIR_VECTOR
#endif
/// Part of a function with KASIMIR_VECTOR, for the machine it is compiled for.
#define KASIMIR_PART [[gnu::always_inline]] inline

namespace kasimir {

void SumPerSite::reset(std::size_t blocks) {
  terms_.clear();
  factors_.clear();
  fixed_.assign(blocks, {});
}

void SumPerSite::add(const Powers& powers, std::span<const double> factors, bool largest) {
  std::uint64_t key = 0;
  std::memcpy(&key, powers.data(), sizeof powers);
  const std::size_t blocks = fixed_.size();
  Lanes* into = fixed_.data();
  if (key != 0) {
    const auto known = std::find_if(terms_.begin(), terms_.end(), [&](const FitTerm& term) { return term.key == key; });
    const auto index = static_cast<std::size_t>(known - terms_.begin());
    if (known == terms_.end()) {
      FitTerm term{key, powers, {}, 0, 0};
      for (std::size_t symbol = 0; symbol < free_symbol_count; ++symbol) {
        if (powers[symbol] != 0) term.used[term.count++] = static_cast<std::uint8_t>(symbol);
        term.degree += powers[symbol];
      }
      terms_.push_back(term);
      factors_.resize(terms_.size() * blocks, Lanes{});
    }
    into = &factors_[index * blocks];
  }
  for (std::size_t first = 0; first < factors.size(); first += Lanes::width, ++into) {
    const std::size_t count = std::min(Lanes::width, factors.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      const double factor = factors[first + i];
      into->at[i] = largest ? std::max(into->at[i], factor) : into->at[i] + factor;
    }
  }
}

namespace {

constexpr std::size_t width = Lanes::width;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::uint8_t all_symbols = (1U << free_symbol_count) - 1;

KASIMIR_PART bool has(std::uint8_t symbols, std::size_t symbol) { return (symbols >> symbol & 1U) != 0; }

KASIMIR_PART void scale(Lanes& value, const Lanes& by, int power) {
  for (; power > 0; --power)
    for (std::size_t i = 0; i < width; ++i) value.at[i] *= by.at[i];
  for (; power < 0; ++power)
    for (std::size_t i = 0; i < width; ++i) value.at[i] /= by.at[i];
}

/// A term without the power of one symbol.
KASIMIR_PART Lanes term_at(const SumPerSite& sum, std::size_t term, std::size_t block, const Widths& widths,
                           std::size_t without = free_symbol_count) {
  Lanes value = sum.factor(term, block);
  const FitTerm& t = sum.terms()[term];
  for (std::size_t i = 0; i < t.count; ++i)
    if (t.used[i] != without) scale(value, widths.of[t.used[i]], t.powers[t.used[i]]);
  return value;
}

KASIMIR_PART Lanes sum_at(const SumPerSite& sum, std::size_t block, const Widths& widths) {
  Lanes total = sum.fixed(block);
  for (std::size_t t = 0; t < sum.terms().size(); ++t) {
    const Lanes value = term_at(sum, t, block, widths);
    for (std::size_t i = 0; i < width; ++i) total.at[i] += value.at[i];
  }
  return total;
}

KASIMIR_PART void keep_where(SiteMask& mask, const Lanes& value, const Lanes& high) {
  for (std::size_t i = 0; i < width; ++i) mask[i] &= value.at[i] <= high.at[i] ? -1 : 0;
}

KASIMIR_PART void check_part(const FitBlock& b, const Widths& widths, SiteMask& fits) {
  for (std::size_t line = 0; line < b.line_count; ++line)
    keep_where(fits, sum_at(*b.lines[line].sum, b.block, widths), b.lines[line].high);
  Lanes most;
  most.at.fill(b.most_volume);
  for (std::size_t t = 0; t < b.volumes->terms().size(); ++t)
    keep_where(fits, term_at(*b.volumes, t, b.block, widths), most);
}

/// Site by site, for lattices that are lists or depend on other symbols.
void snap_each(const FitBlock& b, std::size_t symbol, const Lanes& aim, std::uint8_t chosen, const Widths& widths,
               Lanes& to, SiteMask& legal) {
  for (std::size_t lane = 0; lane < b.sites; ++lane) {
    FreeValues values{};
    for (std::size_t other = 0; other < free_symbol_count; ++other)
      values[other] = static_cast<std::int64_t>(widths.of[other].at[lane]);
    const std::int64_t value = b.lattices->snap(symbol, b.block * width + lane, aim.at[lane], values, chosen);
    if (value == 0) legal[lane] = 0;
    to.at[lane] = value == 0 ? b.least(symbol).at[lane] : static_cast<double>(value);
  }
}

/// Rounds down, for what is far below 2^52: no call and no instruction that older machines lack.
KASIMIR_PART double round_down(double x) {
  constexpr double whole = 4503599627370496.0;  // 2^52: doubles from here on are whole numbers
  const double nearest = (x + whole) - whole;
  return nearest > x ? nearest - 1.0 : nearest;
}

/// The lattice's value for each site, given the other symbols in `chosen`.
KASIMIR_PART void snap(const FitBlock& b, std::size_t symbol, const Lanes& aim, std::uint8_t chosen,
                       const Widths& widths, Lanes& to, SiteMask& legal) {
  if (has(b.lattices->special(), symbol)) {
    snap_each(b, symbol, aim, chosen, widths, to, legal);
    return;
  }
  const std::size_t cell = b.lattices->cell(symbol, b.block);
  const Lanes& least = b.lattices->least(cell);
  const Lanes& most = b.lattices->most(cell);
  const Lanes& fine = b.lattices->fine(cell);
  const Lanes& coarse = b.lattices->coarse(cell);
  for (std::size_t i = 0; i < width; ++i) {
    const double top = aim.at[i] < most.at[i] ? aim.at[i] : most.at[i];
    const double step = top >= coarse.at[i] ? coarse.at[i] : fine.at[i];
    const double value = round_down(top / step) * step;
    to.at[i] = value > least.at[i] ? value : least.at[i];
  }
}

KASIMIR_PART void place_part(const FitBlock& b, const Lanes& ratio, std::uint8_t pinned, Widths& widths,
                             SiteMask& legal) {
  std::uint8_t chosen = 0;
  for (const std::uint8_t symbol : b.symbols) {
    Lanes aim;
    for (std::size_t i = 0; i < width; ++i) aim.at[i] = ratio.at[i] * b.co->at[i];
    snap(b, symbol, has(pinned, symbol) ? b.most(symbol) : aim, chosen, widths, widths.of[symbol], legal);
    chosen = static_cast<std::uint8_t>(chosen | 1U << symbol);
  }
}

/// The largest value of a symbol at which everything fits with the others as they are; costs are a + b * x.
KASIMIR_PART Lanes highest(const FitBlock& b, std::size_t symbol, const Widths& widths) {
  // Half the tolerance of the limits, so that what is computed here fits when it is evaluated.
  constexpr double inside = 1 - 0.5e-12;
  Lanes bound;
  bound.at.fill(infinity);
  for (std::size_t line = 0; line < b.line_count; ++line) {
    const SumPerSite& sum = *b.lines[line].sum;
    Lanes rest = sum.fixed(b.block);
    Lanes slope{};
    for (std::size_t t = 0; t < sum.terms().size(); ++t) {
      const Lanes value = term_at(sum, t, b.block, widths, symbol);
      Lanes& to = sum.terms()[t].powers[symbol] != 0 ? slope : rest;
      for (std::size_t i = 0; i < width; ++i) to.at[i] += value.at[i];
    }
    for (std::size_t i = 0; i < width; ++i) {
      const double value = (b.lines[line].high.at[i] * inside - rest.at[i]) / slope.at[i];
      bound.at[i] = slope.at[i] > 0.0 && value < bound.at[i] ? value : bound.at[i];
    }
  }
  for (std::size_t t = 0; t < b.volumes->terms().size(); ++t) {
    if (b.volumes->terms()[t].powers[symbol] == 0) continue;
    const Lanes slope = term_at(*b.volumes, t, b.block, widths, symbol);
    for (std::size_t i = 0; i < width; ++i) {
      const double value = b.most_volume * inside / slope.at[i];
      bound.at[i] = slope.at[i] > 0.0 && value < bound.at[i] ? value : bound.at[i];
    }
  }
  return bound;
}

/// Ratios between which each site's largest one lies: it keeps the limits at `low`, not at `high` or beyond.
struct Bracket {
  Lanes low, high;
};

/// A ratio above that at which the last symbol has its largest value.
KASIMIR_PART Lanes top_ratio(const FitBlock& b) {
  constexpr double above = 1.0625;  // further than bisection ends below what fits
  Lanes top{};
  for (const std::uint8_t symbol : b.symbols)
    for (std::size_t i = 0; i < width; ++i) {
      const double ratio = above * b.most(symbol).at[i] / b.co->at[i];
      top.at[i] = ratio > top.at[i] ? ratio : top.at[i];
    }
  return top;
}

/// Where costs only rise: above the ratio at which one symbol alone, the others at their least, breaks a limit.
KASIMIR_PART void bracket_rising(const FitBlock& b, const Widths& least, Bracket& bracket) {
  for (const std::uint8_t symbol : b.symbols) {
    if (has(b.lattices->special(), symbol)) continue;  // the next value may be far above
    const std::size_t cell = b.lattices->cell(symbol, b.block);
    const Lanes bound = highest(b, symbol, least);
    for (std::size_t i = 0; i < width; ++i) {
      const double coarse = b.lattices->coarse(cell).at[i];
      const double step = bound.at[i] >= coarse ? coarse : b.lattices->fine(cell).at[i];
      const double ratio = (bound.at[i] + step) / b.co->at[i];
      const bool binds = bound.at[i] < b.lattices->most(cell).at[i];
      bracket.high.at[i] = binds && ratio < bracket.high.at[i] ? ratio : bracket.high.at[i];
    }
  }
}

/// What a line costs with widths of exactly ratio * Co: less its limit, by degree in the ratio.
struct Cubic {
  static constexpr int degree = 3;
  std::array<Lanes, degree + 1> by_degree{};
};

/// Whether that is all there is to the limits.
KASIMIR_PART bool is_cubic(const FitBlock& b) {
  if (b.negative != 0 || b.lattices->special() != 0 || !b.volumes->terms().empty()) return false;
  for (std::size_t line = 0; line < b.line_count; ++line)
    for (const FitTerm& term : b.lines[line].sum->terms())
      if (term.degree > Cubic::degree) return false;
  return true;
}

KASIMIR_PART Cubic cubic_of(const FitBlock& b, const FitBlock::Line& line) {
  Cubic cubic;
  for (std::size_t i = 0; i < width; ++i) cubic.by_degree[0].at[i] = line.high.at[i] - line.sum->fixed(b.block).at[i];
  for (std::size_t t = 0; t < line.sum->terms().size(); ++t) {
    Lanes value = line.sum->factor(t, b.block);
    const int degree = line.sum->terms()[t].degree;
    scale(value, *b.co, degree);
    for (std::size_t i = 0; i < width; ++i) cubic.by_degree[static_cast<std::size_t>(degree)].at[i] += value.at[i];
  }
  return cubic;
}

/// Lowers each ratio to where the line reaches its limit: by Newton's method from above, where the cost is convex.
KASIMIR_PART void lower_to_limit(const Cubic& cubic, Lanes& ratio) {
  constexpr int steps = 4;
  const auto& [limit, one, two, three] = cubic.by_degree;
  for (std::size_t i = 0; i < width; ++i) {
    const double left = limit.at[i] > 0.0 ? limit.at[i] : 0.0;
    const double by_one = left / one.at[i];
    const double by_two = std::sqrt(left / two.at[i]);
    double t = by_one < ratio.at[i] ? by_one : ratio.at[i];
    t = by_two < t ? by_two : t;
    for (int step = 0; step < steps; ++step) {
      const double over = ((three.at[i] * t + two.at[i]) * t + one.at[i]) * t - left;
      const double slope = (3 * three.at[i] * t + 2 * two.at[i]) * t + one.at[i];
      const double next = t - over / slope;
      t = over > 0.0 ? next : t;
    }
    ratio.at[i] = t;
  }
}

/// The least ratio above at which some symbol takes its next value; where none does, the ratio.
KASIMIR_PART Lanes next_ratio(const FitBlock& b, const Lanes& ratio, const Widths& widths) {
  constexpr double beyond = 1 + 1e-9;  // so that rounding does not fall short of the value
  Lanes next;
  next.at.fill(infinity);
  for (const std::uint8_t symbol : b.symbols) {
    const std::size_t cell = b.lattices->cell(symbol, b.block);
    const Lanes& coarse = b.lattices->coarse(cell);
    const Lanes& fine = b.lattices->fine(cell);
    const Lanes& most = b.lattices->most(cell);
    for (std::size_t i = 0; i < width; ++i) {
      const double now = widths.of[symbol].at[i];
      const double value = now + (now >= coarse.at[i] ? coarse.at[i] : fine.at[i]);
      const double at = value * beyond / b.co->at[i];
      next.at[i] = value <= most.at[i] && at < next.at[i] ? at : next.at[i];
    }
  }
  for (std::size_t i = 0; i < width; ++i) next.at[i] = next.at[i] < infinity ? next.at[i] : ratio.at[i];
  return next;
}

/// The largest ratio in two or three evaluations: where widths of any size would reach a limit, then value by value up
/// to the first that does not fit. `done` is cleared where that takes more: because the least widths do not fit, or a
/// symbol stays behind at the end of its lattice and the others can go on.
KASIMIR_PART void climb(const FitBlock& b, Lanes& ratio, Widths& widths, SiteMask& fits, SiteMask& done) {
  constexpr int most_steps = 4;
  ratio = top_ratio(b);
  for (std::size_t line = 0; line < b.line_count; ++line) lower_to_limit(cubic_of(b, b.lines[line]), ratio);
  fits.fill(-1);
  place_part(b, ratio, 0, widths, fits);
  check_part(b, widths, fits);
  done.fill(0);
  SiteMask moving = fits;
  for (int step = 0; step < most_steps; ++step) {
    const Lanes next = next_ratio(b, ratio, widths);
    Widths trial = widths;
    SiteMask further = moving;
    place_part(b, next, 0, trial, further);
    check_part(b, trial, further);
    std::int64_t any = 0;
    for (std::size_t i = 0; i < width; ++i) {
      further[i] &= next.at[i] > ratio.at[i] ? -1 : 0;
      done[i] |= moving[i] & ~further[i];
      any |= further[i];
      ratio.at[i] = further[i] != 0 ? next.at[i] : ratio.at[i];
    }
    if (any == 0) return;
    for (const std::uint8_t symbol : b.symbols)
      for (std::size_t i = 0; i < width; ++i)
        widths.of[symbol].at[i] = further[i] != 0 ? trial.of[symbol].at[i] : widths.of[symbol].at[i];
    moving = further;
  }
}

/// Where some costs fall the ratios that fit are an interval, which a scan from above finds.
KASIMIR_PART void scan(const FitBlock& b, std::uint8_t pinned, Widths& widths, Bracket& bracket, SiteMask& fits) {
  constexpr int steps = 40;
  constexpr double shrink = 0.70710678118654752;  // a factor of 2^20 in all
  Lanes ratio = bracket.high;
  Lanes above = ratio;
  for (int step = 0; step < steps; ++step) {
    SiteMask here;
    here.fill(-1);
    place_part(b, ratio, pinned, widths, here);
    check_part(b, widths, here);
    for (std::size_t i = 0; i < width; ++i) {
      if (here[i] != 0 && fits[i] == 0) {
        bracket.low.at[i] = ratio.at[i];
        bracket.high.at[i] = above.at[i];
        fits[i] = -1;
      }
      above.at[i] = ratio.at[i];
      ratio.at[i] *= shrink;
    }
  }
}

KASIMIR_PART void bisect(const FitBlock& b, std::uint8_t pinned, Widths& widths, Bracket& bracket) {
  constexpr int halvings = 20;
  constexpr double fine_enough = 1.0 / 256;  // finer than a lane of 8 at 1024 channels
  for (int step = 0; step < halvings; ++step) {
    Lanes middle;
    std::int64_t open = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const double low = bracket.low.at[i];
      const double high = bracket.high.at[i];
      middle.at[i] = low < high / 2 ? high / 2 : (low + high) / 2;
      open |= high - low > high * fine_enough ? 1 : 0;
    }
    if (open == 0) return;
    SiteMask here;
    here.fill(-1);
    place_part(b, middle, pinned, widths, here);
    check_part(b, widths, here);
    for (std::size_t i = 0; i < width; ++i) {
      bracket.low.at[i] = here[i] != 0 ? middle.at[i] : bracket.low.at[i];
      bracket.high.at[i] = here[i] != 0 ? bracket.high.at[i] : middle.at[i];
    }
  }
}

/// Raises, or lowers, a symbol on which costs depend in any way, by bisection from where it fits.
KASIMIR_PART void move_by_bisection(const FitBlock& b, std::size_t symbol, const Lanes& most, Widths& widths) {
  constexpr int halvings = 24;
  const bool down = has(b.falling, symbol);
  Lanes good = widths.of[symbol];
  Lanes inside = good;
  Lanes outside = down ? b.least(symbol) : most;
  Lanes aim = outside;
  for (int step = 0; step <= halvings; ++step) {
    std::int64_t open = 0;
    SiteMask here;
    here.fill(-1);
    snap(b, symbol, aim, all_symbols, widths, widths.of[symbol], here);
    check_part(b, widths, here);
    for (std::size_t i = 0; i < width; ++i) {
      const double value = widths.of[symbol].at[i];
      const bool nothing_new = !down && value <= good.at[i];  // no value between what fits and the aim
      const bool fits = here[i] != 0 && value <= (down ? good.at[i] : aim.at[i]);
      if (fits && !nothing_new) good.at[i] = value;
      (fits || nothing_new ? inside : outside).at[i] = aim.at[i];
      aim.at[i] = (inside.at[i] + outside.at[i]) / 2;
      // Between aims with the same whole part there is no other value.
      open |= round_down(inside.at[i]) != round_down(outside.at[i]) ? 1 : 0;
    }
    if (open == 0) break;
  }
  widths.of[symbol] = good;
}

}  // namespace

KASIMIR_VECTOR void place_widths(const FitBlock& block, const Lanes& ratio, std::uint8_t pinned, Widths& widths,
                                 SiteMask& legal) {
  place_part(block, ratio, pinned, widths, legal);
}

KASIMIR_VECTOR void sums_at(const SumPerSite& sum, std::size_t block, const Widths& widths, Lanes& values) {
  values = sum_at(sum, block, widths);
}

KASIMIR_VECTOR void check_limits(const FitBlock& block, const Widths& widths, SiteMask& fits) {
  check_part(block, widths, fits);
}

KASIMIR_VECTOR void largest_ratio(const FitBlock& block, std::uint8_t pinned, Lanes& ratio, Widths& widths,
                                  SiteMask& fits) {
  Bracket bracket{};
  SiteMask done{};
  if (is_cubic(block)) {
    climb(block, bracket.low, widths, fits, done);
    ratio = bracket.low;
    if (std::ranges::find(done, 0) == done.end()) return;
    // Where not even that ratio fits the search begins at the least widths.
    for (std::size_t i = 0; i < width; ++i) bracket.low.at[i] = fits[i] != 0 ? bracket.low.at[i] : 0.0;
  }
  SiteMask legal;
  legal.fill(-1);
  bracket.high = top_ratio(block);
  place_part(block, {}, pinned, widths, legal);
  fits = legal;
  check_part(block, widths, fits);
  if ((block.negative & ~pinned) != 0) {
    fits.fill(0);
    scan(block, pinned, widths, bracket, fits);
  } else if (block.curved == 0) {
    bracket_rising(block, widths, bracket);
  }
  for (std::size_t i = 0; i < width; ++i)
    bracket.high.at[i] = done[i] != 0 ? bracket.low.at[i] : fits[i] != 0 ? bracket.high.at[i] : 0.0;
  bisect(block, pinned, widths, bracket);
  ratio = bracket.low;
  place_part(block, ratio, pinned, widths, legal);
}

KASIMIR_VECTOR void raise_width(const FitBlock& block, std::size_t symbol, const Lanes& most, Widths& widths) {
  if (has(static_cast<std::uint8_t>(block.curved | block.negative), symbol)) {
    move_by_bisection(block, symbol, most, widths);
    return;
  }
  Lanes bound = highest(block, symbol, widths);
  for (std::size_t i = 0; i < width; ++i) bound.at[i] = bound.at[i] < most.at[i] ? bound.at[i] : most.at[i];
  Lanes value{};
  SiteMask legal;
  legal.fill(-1);
  snap(block, symbol, bound, all_symbols, widths, value, legal);
  Lanes& to = widths.of[symbol];
  for (std::size_t i = 0; i < width; ++i)
    to.at[i] = legal[i] != 0 && value.at[i] > to.at[i] && value.at[i] <= bound.at[i] ? value.at[i] : to.at[i];
}

}  // namespace kasimir
