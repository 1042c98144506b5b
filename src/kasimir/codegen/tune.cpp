// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/tune.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/stopwatch.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <cmath>
#include <fstream>

namespace kasimir {
namespace {

void add(std::vector<Method>& methods, const Method& method) {
  if (std::ranges::find(methods, method) == methods.end()) methods.push_back(method);
}

/// Other register blocks of about the same number of sums: which is best depends on loads and on how they divide.
void add_blocks(std::vector<Method>& methods, const RegisterBlock& block, const CTarget& target) {
  const int sums = target.registers >= 32 ? 16 : 8;
  for (int vectors : {1, 2, 4})
    if (vectors <= 2 * block.vectors && (vectors < block.vectors || block.vectors > 1 || vectors == 1))
      for (int rows : {1, 2}) {
        const int columns = std::max(1, sums / vectors / rows);
        if (block.columns > 1 || columns == 1) add(methods, RegisterBlock{rows, columns, vectors});
      }
}

void add_tiles(std::vector<Method>& methods, const WinogradBlock& block, const CTarget& target) {
  const int sums = target.registers >= 32 ? 16 : 8;
  for (int tiles : {16, 32, 64})
    for (int vectors : {1, 2, 4}) {
      if (vectors > 2 * block.vectors || tiles < block.tiles) continue;
      WinogradBlock other = block;
      other.vectors = vectors;
      other.rows = std::min(sums / vectors, tiles);
      other.tiles = tiles / other.rows * other.rows;
      if (block.tiles < 16 && tiles > 16) continue;  // there are no more tiles than that
      add(methods, other);
    }
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("model name")) return std::string(trim(line.substr(line.find(':') + 1)));
  return "unknown processor";
}

/// Everything that the time of each nest depends on, as text.
std::vector<std::string> keys_of(const NestProgram& program, const CTarget& target, const NativeOptions& native) {
  const std::string machine = fmt::format(
      "{}, {}, {}, {} lanes{}, batch {}", processor(), compiler_version(native.compiler), fmt::join(native.flags, " "),
      target.lanes, program.codes.empty() || target.sums_of_four ? "" : " without VNNI", program.batch);
  // Names of tensors do not matter, their shapes do.
  NestProgram plain = program;
  for (std::size_t t = 0; t < plain.tensors.size(); ++t) {
    std::string shape = program.known[t] ? "w" : "x";
    if (const auto codes = program.codes.find(static_cast<int>(t)); codes != program.codes.end())
      shape += codes->second.str();
    for (const auto& axis : plain.tensors[t].axes) shape += fmt::format("{}{}", axis_letter(axis.kind), axis.extent);
    plain.tensors[t].name = shape;
  }
  std::vector<std::string> keys;
  for (const Nest& nest : plain.run) keys.push_back(machine + " | " + str(plain, nest));
  return keys;
}

/// The methods of a program's nests while they are measured. In round r every open nest uses its candidate r.
class Tuning {
 public:
  Tuning(const NestProgram& program, const CTarget& target, std::vector<std::string> keys, const TuningCache& cache)
      : candidates_(tuning_candidates(program, target)),
        keys_(std::move(keys)),
        open_(keys_.size(), false),
        best_(keys_.size(), 0) {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      tuned_.methods.push_back(candidates_[i].front());
      const auto known = cache.find(keys_[i]);
      if (known && std::ranges::find(candidates_[i], *known) != candidates_[i].end()) {
        tuned_.methods[i] = *known;
      } else if (candidates_[i].size() > 1) {
        open_[i] = true;
        ++tuned_.measured;
        rounds_ = std::max(rounds_, candidates_[i].size());
      }
    }
  }

  [[nodiscard]] std::size_t rounds() const { return rounds_; }

  [[nodiscard]] std::vector<Method> methods(std::size_t round) const {
    std::vector<Method> methods = tuned_.methods;
    for (std::size_t i = 0; i < methods.size(); ++i)
      if (open_[i]) methods[i] = candidates_[i][std::min(round, candidates_[i].size() - 1)];
    return methods;
  }

  /// Takes over what was faster in the round. Nests of one key get one method: that of the least sum of their times.
  void record(std::size_t round, const std::vector<double>& times, double gain) {
    std::map<std::string, double> sums;
    for (std::size_t i = 0; i < times.size(); ++i) sums[keys_[i]] += times[i];
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (!open_[i] || round >= candidates_[i].size()) continue;
      const double time = sums[keys_[i]];
      const double needed = tuned_.methods[i] == candidates_[i].front() ? gain : 0;
      if (round > 0 && time > best_[i] * (1 - needed)) continue;
      best_[i] = time;
      tuned_.methods[i] = candidates_[i][round];
    }
  }

  /// What is known now goes into the cache if every round was measured.
  Tuned finish(bool whole, TuningCache& cache) {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (open_[i] && whole) cache.keep(keys_[i], tuned_.methods[i]);
      tuned_.changed += tuned_.methods[i] == candidates_[i].front() ? 0 : 1;
    }
    return std::move(tuned_);
  }

 private:
  std::vector<std::vector<Method>> candidates_;
  std::vector<std::string> keys_;
  std::vector<bool> open_;
  std::vector<double> best_;  ///< time of all nests of its key together
  std::size_t rounds_ = 0;
  Tuned tuned_;
};

}  // namespace

TuningCache::TuningCache(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code ignored;
  if (!std::filesystem::exists(path_, ignored)) return;
  for (const std::string& line : split(read_file(path_), '\n')) {
    const auto tab = line.find('\t');
    if (tab != std::string::npos) known_[line.substr(tab + 1)] = line.substr(0, tab);
  }
}

std::optional<Method> TuningCache::find(const std::string& key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? std::nullopt : parse_method(found->second);
}

void TuningCache::keep(const std::string& key, const Method& method) { known_[key] = str(method); }

void TuningCache::save() const {
  if (path_.empty()) return;
  TuningCache all(path_);
  for (const auto& [key, method] : known_) all.known_[key] = method;
  std::string text;
  for (const auto& [key, method] : all.known_) text += method + "\t" + key + "\n";
  make_folder(path_.parent_path());
  write_file(path_, text);
}

std::vector<std::vector<Method>> tuning_candidates(const NestProgram& program, const CTarget& target) {
  auto all = possible_methods(program, target);
  for (auto& methods : all) {
    const std::vector<Method> defaults = methods;
    if (defaults.size() > 1) std::erase(methods, Method{UseLoops{}});
    for (const Method& method : defaults) {
      if (const auto* block = std::get_if<RegisterBlock>(&method)) add_blocks(methods, *block, target);
      if (const auto* tile = std::get_if<WinogradBlock>(&method)) add_tiles(methods, *tile, target);
    }
  }
  return all;
}

Outcome<Tuned> tune(const NestProgram& program, const COptions& options, const std::vector<float>& weights,
                    TuningCache& cache, const TuneOptions& how) {
  const Stopwatch watch;
  COptions timed = options;
  timed.timed = true;
  timed.threads = 1;
  Tuning tuning(program, options.target, keys_of(program, options.target, how.native), cache);
  constexpr int samples = 7;
  double longest = 0;
  bool whole = true;
  for (std::size_t round = 0; round < tuning.rounds() && whole; ++round) {
    // A round that would not end in time is not begun.
    whole = round == 0 || watch.seconds() + longest <= how.seconds;
    if (!whole) continue;
    const Stopwatch of_round;
    auto built = NativeNetwork::build(generate_c(program, tuning.methods(round), timed), timed, weights, how.native);
    if (!built.ok()) {
      if (round == 0) return built.rejection();
      continue;  // a method that this compiler cannot take is no candidate
    }
    const auto times = built->fastest_nest_times(program.run.size(), samples);
    if (!times.ok()) return times.rejection();
    tuning.record(round, *times, how.gain);
    longest = std::max(longest, of_round.seconds());
  }
  Tuned tuned = tuning.finish(whole, cache);
  tuned.seconds = watch.seconds();
  return tuned;
}

Outcome<Tuned> tune_network(NetworkC& network, const COptions& options, TuningCache& cache, const TuneOptions& how) {
  auto tuned = tune(network.made.program, options, network.weights, cache, how);
  if (!tuned.ok()) return tuned;
  cache.save();
  network.made.c = generate_c(network.made.program, tuned->methods, options);
  return tuned;
}

}  // namespace kasimir
