// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/tune.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>

namespace kasimir {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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

std::string key_of(const NestProgram& program, const Nest& nest, const std::string& machine) {
  // Names of tensors do not matter, their shapes do.
  NestProgram plain = program;
  for (std::size_t t = 0; t < plain.tensors.size(); ++t) {
    std::string shape = program.known[t] ? "w" : "x";
    for (const auto& axis : plain.tensors[t].axes) shape += fmt::format("{}{}", axis_letter(axis.kind), axis.extent);
    plain.tensors[t].name = shape;
  }
  return machine + " | " + str(plain, nest);
}

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
  std::error_code ignored;
  std::filesystem::create_directories(path_.parent_path(), ignored);
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
  const auto start = std::chrono::steady_clock::now();
  COptions timed = options;
  timed.timed = true;
  timed.threads = 1;
  const std::string machine =
      fmt::format("{}, {}, {}, {} lanes, batch {}", processor(), compiler_version(how.native.compiler),
                  fmt::join(how.native.flags, " "), options.target.lanes, program.batch);
  const auto candidates = tuning_candidates(program, options.target);
  const std::size_t nests = program.run.size();
  Tuned tuned;
  std::vector<std::string> keys(nests);
  std::vector<bool> open(nests, false);
  std::size_t most = 0;
  for (std::size_t i = 0; i < nests; ++i) {
    keys[i] = key_of(program, program.run[i], machine);
    tuned.methods.push_back(candidates[i].front());
    const auto known = cache.find(keys[i]);
    if (known && std::ranges::find(candidates[i], *known) != candidates[i].end()) {
      tuned.methods[i] = *known;
    } else if (candidates[i].size() > 1) {
      open[i] = true;
      ++tuned.measured;
      most = std::max(most, candidates[i].size());
    }
  }
  std::vector<double> best(nests, 0);
  double longest = 0;
  bool whole = true;
  for (std::size_t round = 0; round < most; ++round) {
    // A round that would not end in time is not begun.
    if (round > 0 && seconds_since(start) + longest > how.seconds) {
      whole = false;
      break;
    }
    const auto begin = std::chrono::steady_clock::now();
    std::vector<Method> methods = tuned.methods;
    for (std::size_t i = 0; i < nests; ++i)
      if (open[i]) methods[i] = candidates[i][std::min(round, candidates[i].size() - 1)];
    auto built = NativeNetwork::build(generate_c(program, methods, timed), timed, weights, how.native);
    if (!built.ok()) {
      if (round == 0) return built.rejection();
      continue;  // a method that this compiler cannot take is no candidate
    }
    std::vector<double> fastest(nests, INFINITY);
    for (int sample = 0; sample < 7; ++sample) {
      const auto times = built->nest_times(nests, 1);
      if (!times.ok()) return times.rejection();
      for (std::size_t i = 0; i < nests; ++i) fastest[i] = std::min(fastest[i], (*times)[i]);
    }
    for (std::size_t i = 0; i < nests; ++i) {
      if (!open[i] || round >= candidates[i].size()) continue;
      if (round > 0 && fastest[i] > best[i] * (1 - (tuned.methods[i] == candidates[i].front() ? how.gain : 0)))
        continue;
      best[i] = fastest[i];
      tuned.methods[i] = methods[i];
    }
    longest = std::max(longest, seconds_since(begin));
  }
  for (std::size_t i = 0; i < nests; ++i) {
    if (open[i] && whole) cache.keep(keys[i], tuned.methods[i]);
    tuned.changed += tuned.methods[i] == candidates[i].front() ? 0 : 1;
  }
  tuned.seconds = seconds_since(start);
  return tuned;
}

}  // namespace kasimir
