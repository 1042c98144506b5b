// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch_cpu.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/codegen/int8_speed.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace kasimir {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr int byte_bits = 8;
constexpr int samples = 40;  ///< runs, of which the fastest counts
/// Activations behind a batch norm are about 1 in size; no time depends on it.
constexpr float activation_step = 5.0F / 255;

bool in_bytes(int bits) { return bits > 0 && bits <= byte_bits; }

/// Processor and compiler: times of others mean nothing.
std::string machine() {
  std::string text = read_file("/proc/cpuinfo");
  const std::size_t at = text.find("model name");
  text = at == std::string::npos ? "unknown processor" : text.substr(at, text.find('\n', at) - at);
  return text.substr(std::min(text.size(), text.find(": ") + 2)) + ", " + compiler_version(NativeOptions{}.compiler);
}

}  // namespace

/// Microseconds.
struct CpuBench::Times {
  double outside = 0;
  std::vector<double> blocks;
};

struct CpuBench::Network {
  NetworkC c;
  COptions names;
};

double CpuBench::whole_us(const Network& network) {
  auto built = NativeNetwork::build(network.c.made.c, network.names, network.c.weights);
  if (!built.ok()) throw unsolved_error("the network as C: {}", built.rejection().str());
  const auto runs = built->time(samples + 1);
  if (!runs.ok()) throw unsolved_error("the network as C: {}", runs.rejection().str());
  double least = runs->at(1).cpu_ms;
  for (std::size_t r = 1; r < runs->size(); ++r) least = std::min(least, (*runs)[r].cpu_ms);
  return 1e3 * least;
}

CpuBench::CpuBench(NetworkSpace space, ChoiceSpace choices, int edge_bits)
    : space_(std::move(space)), choices_(std::move(choices)), edge_bits_(edge_bits) {}

CpuBench::Network CpuBench::network_of(const std::vector<std::size_t>& operators,
                                       const std::function<bool(int block)>& has_codes) const {
  const SpaceNetwork made = derive(space_, operators);
  const NetworkPlan plan = made.plan();
  const auto weights = random_weights(plan, 1);
  Quantization quantization = quantization_for_speed(plan, weights, byte_bits, byte_bits, activation_step);
  std::map<int, int> block_of;
  for (const WeightedLayer& layer : weighted_layers(made)) block_of[layer.layer] = layer.block;
  for (const WeightedPlace& place : weighted_places(plan))
    if (!has_codes(block_of.at(place.layer))) quantization.erase(place.weight);
  COptions names;
  names.target = host_target();
  names.quantised = !quantization.empty();
  auto c = network_as_c(plan, 1, weights, names, false, quantization);
  if (!c.ok()) throw unsolved_error("network `{}` as C: {}", made.network.name(), c.rejection().str());
  return {*std::move(c), names};
}

CpuBench::Times CpuBench::measure_operator(std::size_t op, bool codes) const {
  std::vector<std::size_t> operators;
  std::vector<std::string> prefixes;
  for (const SpaceBlock& block : space_.blocks) {
    operators.push_back(std::min(op, block.operators.size() - 1));
    prefixes.push_back(fmt::format("{}.{}.", block.name, block.operators[operators.back()].name));
  }
  Network network = network_of(operators, [&](int) { return codes; });
  const double whole = whole_us(network);
  network.names.timed = true;
  const GraphC& made = network.c.made;
  auto built =
      NativeNetwork::build(generate_c(made.program, made.c.methods, network.names), network.names, network.c.weights);
  if (!built.ok()) throw unsolved_error("operator {}: {}", op, built.rejection().str());
  const auto found = built->fastest_nest_times(made.program.run.size(), samples);
  if (!found.ok()) throw unsolved_error("operator {}: {}", op, found.rejection().str());
  // What all nests take beyond the network without clocks is the clocks'.
  const double all = 1e-3 * std::accumulate(found->begin(), found->end(), 0.0);
  const double clock = std::max(0.0, all - whole) / static_cast<double>(found->size());
  Times times{0, std::vector<double>(prefixes.size(), 0)};
  for (std::size_t n = 0; n < found->size(); ++n) {
    const double us = std::max(0.0, 1e-3 * (*found)[n] - clock);
    const auto of = std::ranges::find_if(
        prefixes, [&](const std::string& prefix) { return made.program.run[n].name.starts_with(prefix); });
    (of == prefixes.end() ? times.outside : times.blocks[static_cast<std::size_t>(of - prefixes.begin())]) += us;
  }
  return times;
}

LoadTable CpuBench::table(const fs::path& file, const std::function<void(std::size_t, std::size_t)>& progress) const {
  std::size_t most = 0;
  json space = json::array();
  for (const BlockSpace& block : choices_.blocks) {
    most = std::max(most, block.ops.size());
    space.push_back({{"name", block.name}, {"operators", block.ops}});
  }
  json kept{{"machine", machine()}, {"blocks", space}, {"microseconds", json::object()}};
  if (fs::exists(file)) {
    const auto before = json::parse(read_file(file), nullptr, false);
    if (!before.is_object() || before.value("machine", "") != kept["machine"] ||
        before.value("blocks", json()) != kept["blocks"] || !before.contains("microseconds"))
      throw input_error("{} holds times of another machine or space", file.string())
          .note("remove it to have them measured again");
    kept = before;
  }
  std::vector<bool> kinds;  // of arithmetic that some choice or the outside needs
  for (const bool kind : {true, false})
    if (in_bytes(edge_bits_) == kind || std::ranges::any_of(choices_.bits, [&](int b) { return in_bytes(b) == kind; }))
      kinds.push_back(kind);
  std::size_t done = 0;
  LoadTable table = load_table(choices_, Aggregate::sum, {"all"});
  for (const bool kind : kinds) {
    for (std::size_t op = 0; op < most; ++op) {
      json& of = kept["microseconds"][fmt::format("{}{}", kind ? "bytes " : "floats ", op)];
      if (of.is_null()) {
        const Times times = measure_operator(op, kind);
        of = {{"outside", times.outside}, {"blocks", times.blocks}};
        write_file(file, kept.dump(1) + "\n");
      }
      if (progress) progress(++done, kinds.size() * most);
      if (in_bytes(edge_bits_) == kind) table.base[0] += of["outside"].get<double>() / static_cast<double>(most);
      for (std::size_t b = 0; b < choices_.blocks.size(); ++b)
        for (std::size_t j = 0; j < choices_.bits.size(); ++j)
          if (op < choices_.blocks[b].ops.size() && in_bytes(choices_.bits[j]) == kind)
            table.loads[b][op][j] = {{0, of["blocks"].at(b).get<double>()}};
    }
  }
  return table;
}

double CpuBench::measure(const ChoiceDesign& design) const {
  require_legal(design, choices_);
  std::vector<std::size_t> operators;
  for (const BlockChoice& choice : design) operators.push_back(choice.op);
  const Network network = network_of(operators, [&](int block) {
    const int bits =
        block == WeightedLayer::outside ? edge_bits_ : choices_.bits[design[static_cast<std::size_t>(block)].bits];
    return in_bytes(bits);
  });
  return whole_us(network);
}

}  // namespace kasimir
