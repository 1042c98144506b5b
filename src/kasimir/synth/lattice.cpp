// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/lattice.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace kasimir {
namespace {

/// Wider than any width that is looked at: larger multiples are as good as none.
constexpr std::int64_t beyond = std::int64_t{1} << 40;
/// No width has a larger prime factor.
constexpr std::int64_t largest_prime = std::int64_t{1} << 20;

std::int64_t lcm_or_beyond(std::int64_t a, std::int64_t b) {
  if (a % b == 0) return a;
  if (b % a == 0) return b;
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a / std::gcd(a, b), b, &product)) return beyond;
  return std::min(product, beyond);
}

/// The least m such that n divides m^power, or the largest m such that m^power divides n.
std::int64_t root(std::int64_t n, int power, bool up) {
  if (power == 1) return n;
  std::int64_t result = 1;
  for (std::int64_t prime = 2; prime <= n / prime && prime < largest_prime; ++prime) {
    int count = 0;
    for (; n % prime == 0; n /= prime) ++count;
    const int times = up ? (count + power - 1) / power : count / power;
    for (int i = 0; i < times; ++i) result *= prime;
  }
  return up ? lcm_or_beyond(result, n) : result;
}

constexpr std::uint8_t bit(std::size_t symbol) { return static_cast<std::uint8_t>(1U << symbol); }

}  // namespace

void Lattices::set_sites(std::span<const SiteLoad> loads) {
  sites_ = loads.size();
  blocks_ = (sites_ + Lanes::width - 1) / Lanes::width;
  widest_.clear();
  for (const SiteLoad& load : loads) widest_.push_back(widest(load.site));
  Lanes none{};
  none.at.fill(std::numeric_limits<double>::infinity());
  widest_rows_.assign(blocks_, none);
  for (std::size_t i = 0; i < sites_; ++i)
    widest_rows_[i / Lanes::width].at[i % Lanes::width] = static_cast<double>(widest_[i]);
  const std::size_t cells = free_symbol_count * blocks_;
  steps_.assign(cells * Lanes::width, {});
  ranges_.assign(cells * Lanes::width, {});
  Lanes ones{};
  ones.at.fill(1.0);
  for (auto* rows : {&least_, &most_, &fine_, &coarse_}) rows->assign(cells, ones);
}

void Lattices::reset(std::uint8_t symbols) {
  symbols_ = symbols;
  uniform_ = symbols;
  for (std::size_t symbol = 0; symbol < free_symbol_count && sites_ > 0; ++symbol) steps_[slot(symbol, 0)] = {};
  joint_.clear();
  parts_.clear();
  divisors_.clear();
  impossible_site_ = -1;
  joint_symbols_ = 0;
}

bool Lattices::narrow(Step& step, Fraction part, int power) {
  if (part.num < 1) return false;
  const std::int64_t common = part.den == 1 || part.num == 1 ? 1 : std::gcd(part.num, part.den);
  const std::int64_t num = part.num / common;
  const std::int64_t den = part.den / common;
  if (power > 0) {
    if (den > 1) step.multiple = lcm_or_beyond(step.multiple, root(den, power, true));
    return true;
  }
  if (den > 1) return false;
  const std::int64_t largest = power == 0 ? 0 : root(num, -power, false);
  if (power < 0) step.divisor = step.divisor == 0 ? largest : std::gcd(step.divisor, largest);
  return true;
}

void Lattices::require_whole(const Powers& powers, std::span<const std::int64_t> num,
                             std::span<const std::int64_t> den) {
  std::uint8_t used = 0;
  std::size_t last = 0;
  for (std::size_t symbol = 0; symbol < free_symbol_count; ++symbol) {
    if (powers[symbol] == 0) continue;
    used |= bit(symbol);
    last = symbol;
  }
  if (std::popcount(used) > 1) {
    joint_.push_back({powers, used, false, parts_.size()});
    for (std::size_t site = 0; site < sites_; ++site) {
      const std::int64_t common = std::gcd(num[site], den[site]);
      parts_.push_back({num[site] / common, den[site] / common});
      if (num[site] < 1 && impossible_site_ < 0) impossible_site_ = static_cast<int>(site);
    }
    return;
  }
  const int power = powers[last];
  const auto same = [](std::span<const std::int64_t> row) {
    return std::ranges::all_of(row, [&](std::int64_t value) { return value == row[0]; });
  };
  const bool one_step = (uniform_ >> last & 1U) != 0 && same(num) && same(den);
  if (!one_step) spread(last);
  for (std::size_t site = 0; site < (one_step ? std::min<std::size_t>(sites_, 1) : sites_); ++site)
    if (!narrow(step(last, site), {num[site], den[site]}, power) && impossible_site_ < 0)
      impossible_site_ = static_cast<int>(site);
}

/// Gives each site a step of its own.
void Lattices::spread(std::size_t symbol) {
  if ((uniform_ >> symbol & 1U) == 0) return;
  const auto first = steps_.begin() + static_cast<std::ptrdiff_t>(slot(symbol, 0));
  std::fill_n(first, sites_, *first);
  uniform_ = static_cast<std::uint8_t>(uniform_ & ~bit(symbol));
}

/// Whether the multiples that the lattices have anyway make the size whole at every site.
bool Lattices::implied(const JointSize& size) const {
  __extension__ using Wide = __int128;
  if (std::ranges::any_of(size.powers, [](int power) { return power < 0; })) return false;
  for (std::size_t site = 0; site < sites_; ++site) {
    const Fraction& part = parts_[size.first + site];
    Wide rest = part.num % part.den;
    for (std::size_t symbol = 0; symbol < free_symbol_count; ++symbol)
      for (int i = 0; i < size.powers[symbol]; ++i) rest = rest * (step(symbol, site).multiple % part.den) % part.den;
    if (rest != 0) return false;
  }
  return true;
}

void Lattices::find_implied() {
  joint_symbols_ = 0;
  for (JointSize& size : joint_) {
    size.implied = implied(size);
    if (!size.implied) joint_symbols_ |= size.symbols;
  }
}

/// All multiples of one number; false if none is small enough for the site.
bool Lattices::span_multiples(std::size_t symbol, std::size_t site, std::int64_t lane) {
  const std::int64_t multiple = step(symbol, site).multiple;
  if (multiple > 2 * widest_[site]) return false;
  put(least_, symbol, site, static_cast<double>(multiple));
  put(fine_, symbol, site, static_cast<double>(multiple));
  put(coarse_, symbol, site, static_cast<double>(lcm_or_beyond(lane, multiple)));
  put(most_, symbol, site, static_cast<double>(std::max(widest_[site], multiple)));
  return true;
}

bool Lattices::list_divisors(std::size_t symbol, std::size_t site, std::int64_t lane) {
  const Step& wanted = step(symbol, site);
  const std::int64_t limit = 2 * widest_[site];
  const auto begin = static_cast<std::ptrdiff_t>(divisors_.size());
  for (std::int64_t d = 1; d <= limit && d <= wanted.divisor / d; ++d) {
    if (wanted.divisor % d != 0) continue;
    const std::int64_t other = wanted.divisor / d;
    if (d % wanted.multiple == 0) divisors_.push_back(d);
    if (other != d && other <= limit && other % wanted.multiple == 0) divisors_.push_back(other);
  }
  const auto first = divisors_.begin() + begin;
  std::sort(first, divisors_.end());
  // What is wider than a site looks for stays only if there is nothing else.
  while (divisors_.end() - first > 1 && divisors_.back() > widest_[site]) divisors_.pop_back();
  const auto on_lane = std::find_if(first, divisors_.end(), [&](std::int64_t d) { return d % lane == 0; });
  divisors_.erase(std::remove_if(on_lane, divisors_.end(), [&](std::int64_t d) { return d % lane != 0; }),
                  divisors_.end());
  const std::size_t count = divisors_.size() - static_cast<std::size_t>(begin);
  ranges_[slot(symbol, site)] = {static_cast<std::size_t>(begin), count};
  if (count == 0) return false;
  put(least_, symbol, site, static_cast<double>(divisors_[static_cast<std::size_t>(begin)]));
  put(most_, symbol, site, static_cast<double>(divisors_.back()));
  return true;
}

bool Lattices::cut_to_memory(std::size_t symbol, std::size_t site, double memory) {
  if (row(most_, symbol, site) <= memory) return true;
  if (row(least_, symbol, site) > memory) return false;
  put(most_, symbol, site, memory);
  Range& range = ranges_[slot(symbol, site)];
  if (range.count == 0) return true;
  while (static_cast<double>(divisors_[range.first + range.count - 1]) > memory) --range.count;
  put(most_, symbol, site, static_cast<double>(divisors_[range.first + range.count - 1]));
  return true;
}

/// Multiples of the same number at all sites; false if some site needs a closer look.
bool Lattices::prepare_uniform(std::size_t symbol, std::int64_t lane, std::span<const Lanes> memory) {
  const Step& same = step(symbol, 0);
  if ((uniform_ >> symbol & 1U) == 0 || same.divisor != 0) return false;
  const auto multiple = static_cast<double>(same.multiple);
  const auto coarse = static_cast<double>(lcm_or_beyond(lane, same.multiple));
  bool fits = true;
  for (std::size_t b = 0; b < blocks_; ++b) {
    const std::size_t at = cell(symbol, b);
    for (std::size_t i = 0; i < Lanes::width; ++i) {
      const double most = std::min(widest_rows_[b].at[i], memory[at].at[i]);
      fits = fits && multiple <= most;
      least_[at].at[i] = fine_[at].at[i] = multiple;
      coarse_[at].at[i] = coarse;
      most_[at].at[i] = most;
    }
  }
  // Where there is no site every symbol has the one value 1.
  for (std::size_t site = sites_; site < blocks_ * Lanes::width; ++site)
    for (auto* rows : {&least_, &fine_, &coarse_, &most_}) put(*rows, symbol, site, 1.0);
  return fits;
}

std::optional<Lattices::Empty> Lattices::prepare_each(std::size_t symbol, std::int64_t lane,
                                                      std::span<const Lanes> memory) {
  spread(symbol);
  std::optional<Empty> empty;
  for (std::size_t site = 0; site < sites_; ++site) {
    const std::size_t at = slot(symbol, site);
    const bool divided = steps_[at].divisor != 0;
    ranges_[at] = {};
    if (divided) listed_ |= bit(symbol);
    if (!(divided ? list_divisors(symbol, site, lane) : span_multiples(symbol, site, lane)))
      return Empty{false, static_cast<int>(site)};
    const double most = memory[cell(symbol, site / Lanes::width)].at[site % Lanes::width];
    if (!cut_to_memory(symbol, site, most) && !empty) empty = Empty{true, static_cast<int>(site)};
  }
  return empty;
}

std::optional<Lattices::Empty> Lattices::prepare(std::int64_t lane, std::span<const Lanes> memory) {
  if (impossible_site_ >= 0) return Empty{false, impossible_site_};
  find_implied();
  divisors_.clear();
  listed_ = 0;
  std::optional<Empty> full;
  for (std::size_t symbol = 0; symbol < free_symbol_count; ++symbol) {
    if ((symbols_ >> symbol & 1U) == 0 || prepare_uniform(symbol, lane, memory)) continue;
    const auto empty = prepare_each(symbol, lane, memory);
    if (empty && !empty->memory) return empty;
    if (empty && !full) full = empty;
  }
  return full;
}

bool Lattices::refine(std::size_t symbol, std::size_t site, std::int64_t lane) {
  if (is_list(symbol)) return false;
  const auto coarse = static_cast<double>(lcm_or_beyond(lane, static_cast<std::int64_t>(row(fine_, symbol, site))));
  if (coarse >= row(coarse_, symbol, site)) return false;
  put(coarse_, symbol, site, coarse);
  return true;
}

double Lattices::cap(std::size_t symbol, std::size_t site, double most) {
  const double before = row(most_, symbol, site);
  if (!is_list(symbol)) put(most_, symbol, site, std::max(row(least_, symbol, site), std::min(before, most)));
  return before;
}

/// What the sizes with several symbols leave to one of them once the others are numbers; nothing if they leave nothing.
std::optional<Lattices::Step> Lattices::joint_step(std::size_t symbol, std::size_t site, const FreeValues& values,
                                                   std::uint8_t chosen) const {
  Step step;
  for (const JointSize& size : joint_) {
    if (size.implied || (size.symbols >> symbol & 1U) == 0 || (size.symbols & ~(chosen | bit(symbol))) != 0) continue;
    Fraction part = parts_[size.first + site];
    for (std::size_t other = 0; other < free_symbol_count; ++other) {
      if (other == symbol) continue;
      const int power = size.powers[other];
      // Numerator and denominator stay without a common divisor.
      for (int i = 0; i < std::abs(power); ++i) {
        std::int64_t& with = power > 0 ? part.num : part.den;
        std::int64_t& against = power > 0 ? part.den : part.num;
        const std::int64_t common = std::gcd(against, values[other]);
        against /= common;
        if (__builtin_mul_overflow(with, values[other] / common, &with)) return std::nullopt;
      }
    }
    if (!narrow(step, part, size.powers[symbol])) return std::nullopt;
  }
  return step;
}

std::int64_t Lattices::snap_down(std::size_t symbol, std::size_t site, std::int64_t aim, const Step& joint) const {
  if (const Range& range = ranges_[slot(symbol, site)]; is_list(symbol) && range.count > 0) {
    for (std::size_t i = range.count; i-- > 0;)
      if (const std::int64_t value = divisors_[range.first + i]; value <= aim && allows(joint, value)) return value;
    return 0;
  }
  aim = std::min(aim, static_cast<std::int64_t>(row(most_, symbol, site)));
  const auto coarse = static_cast<std::int64_t>(row(coarse_, symbol, site));
  const std::int64_t large = lcm_or_beyond(coarse, joint.multiple);
  for (std::int64_t value = aim / large * large; value >= coarse; value -= large)
    if (allows(joint, value)) return value;
  const std::int64_t small = lcm_or_beyond(static_cast<std::int64_t>(row(fine_, symbol, site)), joint.multiple);
  for (std::int64_t value = std::min(aim, coarse - 1) / small * small; value >= 1; value -= small)
    if (allows(joint, value)) return value;
  return 0;
}

std::int64_t Lattices::snap_up(std::size_t symbol, std::size_t site, std::int64_t aim, const Step& joint) const {
  if (const Range& range = ranges_[slot(symbol, site)]; is_list(symbol) && range.count > 0) {
    for (std::size_t i = 0; i < range.count; ++i)
      if (const std::int64_t value = divisors_[range.first + i]; value > aim && allows(joint, value)) return value;
    return 0;
  }
  const auto most = static_cast<std::int64_t>(row(most_, symbol, site));
  const auto coarse = static_cast<std::int64_t>(row(coarse_, symbol, site));
  const std::int64_t small = lcm_or_beyond(static_cast<std::int64_t>(row(fine_, symbol, site)), joint.multiple);
  for (std::int64_t value = (aim / small + 1) * small; value < coarse && value <= most; value += small)
    if (allows(joint, value)) return value;
  const std::int64_t large = lcm_or_beyond(coarse, joint.multiple);
  for (std::int64_t value = (aim / large + 1) * large; value <= most; value += large)
    if (allows(joint, value)) return value;
  return 0;
}

std::int64_t Lattices::snap(std::size_t symbol, std::size_t site, double aim, const FreeValues& values,
                            std::uint8_t chosen) const {
  const auto joint = joint_step(symbol, site, values, chosen);
  if (!joint) return 0;
  const auto whole = static_cast<std::int64_t>(std::clamp(aim, 0.0, row(most_, symbol, site)));
  const std::int64_t below = snap_down(symbol, site, whole, *joint);
  return below > 0 ? below : snap_up(symbol, site, whole, *joint);
}

void Lattices::list(std::size_t symbol, std::size_t site, std::vector<std::int64_t>& values) const {
  values.clear();
  for (std::int64_t value = snap_up(symbol, site, 0, {}); value != 0; value = snap_up(symbol, site, value, {}))
    values.push_back(value);
}

bool Lattices::joint_sizes_whole(std::size_t site, const FreeValues& values, std::uint8_t chosen) const {
  for (const JointSize& size : joint_) {
    if (size.implied || (size.symbols & ~chosen) != 0) continue;
    const auto symbol = static_cast<std::size_t>(std::countr_zero(size.symbols));
    const auto step = joint_step(symbol, site, values, chosen);
    if (!step || !allows(*step, values[symbol])) return false;
  }
  return true;
}

}  // namespace kasimir
