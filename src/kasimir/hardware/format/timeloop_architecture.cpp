// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/format/timeloop.h"
#include "kasimir/hardware/format/timeloop_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace kasimir {
namespace {

constexpr std::array<std::string_view, 9> storage_classes{"DRAM",           "SRAM",        "smartbuffer_SRAM",
                                                          "smartbuffer_RF", "smartbuffer", "regfile",
                                                          "reg_storage",    "storage",     "dummy_storage"};
constexpr std::array<std::string_view, 5> compute_classes{"intmac", "fpmac", "mac", "compute", "mac_compute"};

/// Energies of one component in pJ per action.
using Actions = std::map<std::string, double>;

double per_cycle(double milliwatt, double clock_mhz) { return milliwatt * 1e3 / clock_mhz; }

class ArchitectureReader {
 public:
  ArchitectureReader(const YAML::Node& root, const std::string& file, const Problem& problem)
      : root_(root), file_(file), problem_(problem) {}

  TimeloopMachine read() {
    YamlMap map = timeloop_part(root_, "architecture", file_);
    check_timeloop_version(map, {"0.4"});
    variables();
    energies();
    Architecture& architecture = machine_.architecture;
    architecture.name = map.text("name", "timeloop");
    architecture.source = fmt::format("Timeloop YAML, {}", file_);
    if (const auto seconds = variables_.find("global_cycle_seconds"); seconds != variables_.end())
      architecture.clock_mhz = 1e-6 / seconds->second;
    const YAML::Node nodes = map.need("nodes");
    if (!nodes.IsSequence()) map.fail(nodes, "`nodes` must be a list");
    for (const YAML::Node& node : nodes) this->node(node);
    map.close();
    if (!compute_) map.fail(nodes, "no node is a compute unit");
    for (const auto& [name, actions] : actions_)
      if (architecture.find_level(name) < 0 && name != compute_name_)
        throw input_error("ERT: `{}` is no component", name).note(file_);
    check_architecture(architecture);
    return machine_;
  }

 private:
  void variables() {
    YamlMap all(root_, "file", file_);
    const YAML::Node node = all.get("variables");
    if (!node.IsDefined()) return;
    YamlMap map(node, "variables", file_);
    check_timeloop_version(map, {"0.4"});
    map.text("technology", "");
    const auto names = map.rest();
    // a second map, since each key is asked for by name once the ones before it are known
    YamlMap values(node, "variables", file_);
    for (const auto& [name, value] : names) {
      std::string key = name;
      std::ranges::replace(key, '-', '_');
      variables_[name] = values.number(key, 0, variables_);
    }
  }

  void energies() {
    YamlMap all(root_, "file", file_);
    const YAML::Node node = all.get("ERT");
    if (!node.IsDefined()) return;
    YamlMap ert(node, "ERT", file_);
    check_timeloop_version(ert, {"0.3", "0.4"});
    for (const YAML::Node& entry : ert.need("tables")) {
      YamlMap table(entry, "ERT, table", file_);
      const std::string path = table.text("name", "");
      // "system.PE[1..16].buffer[1..16]": the last part without its range
      std::string name = path;
      if (const auto open = name.rfind('['); open != std::string::npos && name.ends_with(']')) name.resize(open);
      if (const auto dot = name.rfind('.'); dot != std::string::npos) name = name.substr(dot + 1);
      for (const YAML::Node& action : table.need("actions")) {
        YamlMap one(action, fmt::format("ERT, {}", name), file_);
        const std::string what = one.text("name", "");
        if (what != "read" && what != "write" && what != "update" && what != "leak" && what != "compute")
          one.fail(action, fmt::format("action `{}` is not known, needed: read, write, update, leak, compute", what));
        one.get("arguments");
        actions_[name][what] = one.number("energy", 0, variables_);
        one.close();
      }
      table.close();
    }
    ert.close();
  }

  void node(const YAML::Node& node) {
    if (compute_) fail_at(node, file_, "a node follows the compute unit, which must be the last");
    const std::string& tag = node.Tag();
    if (tag == "!Parallel") return parallel(node);
    if (tag != "!Component" && tag != "!Container")
      fail_at(node, file_, fmt::format("tag `{}` is not known, needed: !Component, !Container, !Parallel", tag));
    YamlMap map(node, "architecture, " + tag.substr(1), file_);
    const std::string name = map.text("name", "");
    if (name.empty()) map.fail(node, "`name` is missing");
    if (const YAML::Node spatial = map.get("spatial"); spatial.IsDefined()) grid(spatial, name);
    if (tag == "!Component") component(map, name);
    map.close();
  }

  void parallel(const YAML::Node& node) {
    YamlMap map(node, "architecture, Parallel", file_);
    for (const YAML::Node& entry : map.need("nodes")) {
      if (entry.Tag() != "!Component" || YamlMap(entry, "Component", file_).get("spatial").IsDefined())
        fail_at(entry, file_, "a node of !Parallel must be a !Component without `spatial`");
      this->node(entry);
    }
    map.close();
  }

  void grid(const YAML::Node& spatial, const std::string& name) {
    auto& levels = machine_.architecture.levels;
    if (levels.empty()) fail_at(spatial, file_, fmt::format("{}: there is no storage above this grid", name));
    YamlMap map(spatial, fmt::format("{}, spatial", name), file_);
    levels.back().x.size *= map.whole("meshX", 1);
    levels.back().y.size *= map.whole("meshY", 1);
    map.close();
    machine_.grids[name] = levels.size() - 1;
  }

  void component(YamlMap& map, const std::string& name) {
    const YAML::Node node = map.need("class");
    const std::string kind = node.IsScalar() ? node.Scalar() : "";
    map.text("subclass", "");
    if (std::ranges::find(storage_classes, kind) != storage_classes.end()) return storage(map, name);
    if (std::ranges::find(compute_classes, kind) != compute_classes.end()) return compute(map, name);
    map.fail(node, fmt::format("class `{}` is not known, needed: {}, or {}", kind,
                               join({storage_classes.begin(), storage_classes.end()}, ", "),
                               join({compute_classes.begin(), compute_classes.end()}, ", ")));
  }

  void storage(YamlMap& map, const std::string& name) {
    MemoryLevel level;
    level.name = name;
    double block = 1;
    if (const YAML::Node node = map.get("attributes"); node.IsDefined()) {
      YamlMap attributes(node, name + ", attributes", file_);
      const auto value = [&](std::string_view key, double otherwise) {
        return attributes.number(key, otherwise, variables_);
      };
      const double usual = variables_.contains("datawidth") ? variables_.at("datawidth") : 8;
      const double word = value("datawidth", usual);
      const double width = value("width", word);
      const double depth = value("depth", 0);
      block = value("block_size", width / word);
      if (depth > 0) level.capacity_bits = depth * width;
      constexpr double none = MemoryLevel::unbounded;
      level.bandwidth = word * value("shared_bandwidth", none);
      level.read_bandwidth = word * value("read_bandwidth", none);
      level.write_bandwidth = word * value("write_bandwidth", none);
      const double buffers = value("multiple_buffering", 1);
      if (buffers != 1 && buffers != 2) attributes.fail(node, "`multiple_buffering` must be 1 or 2");
      if (buffers == 2) level.buffering = Buffering::doubled;
      attributes.close();
    }
    prices(level, block);
    if (const YAML::Node node = map.get("constraints"); node.IsDefined()) constraints(node, level);
    machine_.architecture.levels.push_back(std::move(level));
  }

  void prices(MemoryLevel& level, double block) {
    const auto found = actions_.find(level.name);
    if (found == actions_.end()) return;
    const auto pj = [&](const char* action) {
      const auto one = found->second.find(action);
      return one == found->second.end() ? std::nullopt : std::optional(one->second);
    };
    level.read_pj = pj("read").value_or(0) / block;
    level.write_pj = pj("write").value_or(pj("update").value_or(0)) / block;
    if (pj("write") && pj("update") && *pj("write") != *pj("update"))
      throw input_error("ERT, {}: a write takes {} pJ and an update {}; they must be equal", level.name, *pj("write"),
                        *pj("update"))
          .note(file_);
    level.leakage_mw = pj("leak").value_or(0) * machine_.architecture.clock_mhz / 1e3;
  }

  void constraints(const YAML::Node& node, MemoryLevel& level) {
    YamlMap map(node, level.name + ", constraints", file_);
    const YAML::Node spaces = map.get("dataspace");
    map.close();
    if (!spaces.IsDefined()) return;
    YamlMap lists(spaces, level.name + ", dataspace", file_);
    for (const std::string& name : names(lists.get("keep"))) operand(name, spaces);
    std::vector<bool> passes(problem_.operands.size(), false);
    for (const std::string& name : names(lists.get("bypass"))) passes[operand(name, spaces)] = true;
    lists.close();
    level.keeps = 0;
    for (std::size_t t = 0; t < problem_.operands.size(); ++t)
      if (!passes[t]) level.keeps = static_cast<RoleSet>(level.keeps | role_bit(problem_.operands[t].role));
  }

  std::vector<std::string> names(const YAML::Node& node) const {
    return node.IsDefined() ? yaml_words(node, file_) : std::vector<std::string>{};
  }

  std::size_t operand(const std::string& name, const YAML::Node& node) const {
    const int found = problem_.find_operand(name);
    if (found < 0) fail_at(node, file_, fmt::format("`{}` is no data space of the problem", name));
    return static_cast<std::size_t>(found);
  }

  void compute(YamlMap& map, const std::string& name) {
    ComputeUnit& unit = machine_.architecture.compute;
    if (machine_.architecture.levels.empty()) map.fail(map.need("class"), "there is no storage above the compute unit");
    int bits = variables_.contains("datawidth") ? static_cast<int>(variables_.at("datawidth")) : 8;
    if (const YAML::Node node = map.get("attributes"); node.IsDefined()) {
      YamlMap attributes(node, name + ", attributes", file_);
      bits = static_cast<int>(attributes.number("datawidth", bits, variables_));
      bits = static_cast<int>(attributes.number("multiplier_width", bits, variables_));
      attributes.number("adder_width", 0, variables_);
      attributes.close();
    }
    unit.input_bits = unit.weight_bits = bits;
    if (const auto found = actions_.find(name); found != actions_.end()) {
      for (const auto& [action, pj] : found->second) {
        if (action == "compute") unit.energy_pj = pj;
        if (action == "leak") unit.leakage_mw = pj * machine_.architecture.clock_mhz / 1e3;
      }
    }
    compute_ = true;
    compute_name_ = name;
  }

  YAML::Node root_;
  const std::string& file_;
  const Problem& problem_;
  TimeloopMachine machine_;
  YamlVariables variables_;
  std::map<std::string, Actions> actions_;
  bool compute_ = false;
  std::string compute_name_;
};

class ArchitectureWriter {
 public:
  ArchitectureWriter(const Architecture& architecture, const Problem& problem)
      : architecture_(architecture), problem_(problem) {}

  FormatText write() {
    for (std::size_t l = 0; l < architecture_.levels.size(); ++l) level(architecture_.levels[l]);
    compute();
    FormatText made;
    made.lost = lost_;
    for (const std::string& lost : lost_) made.text += fmt::format("# not said below: {}\n", lost);
    made.text += fmt::format(
        "architecture:\n  version: 0.4\n  name: {}\n  nodes:\n{}variables:\n  version: 0.4\n"
        "  global_cycle_seconds: {}\nERT:\n  version: 0.4\n  tables:\n{}",
        architecture_.name, nodes_, 1e-6 / architecture_.clock_mhz, tables_);
    return made;
  }

 private:
  void lose(const MemoryLevel& level, std::string_view what) {
    lost_.push_back(fmt::format("{}: {}", level.name, what));
  }

  /// Bits of the widest operand that can be kept here.
  int word(const MemoryLevel& level) {
    int widest = 0;
    bool mixed = false;
    for (const Operand& operand : problem_.operands) {
      if ((level.keeps & role_bit(operand.role)) == 0) continue;
      mixed = mixed || operand.bits != operand.partial_bits || (widest != 0 && operand.bits != widest);
      widest = std::max({widest, operand.bits, operand.partial_bits});
    }
    if (mixed) lose(level, fmt::format("words of different widths, written as {} bit", widest));
    return std::max(widest, 1);
  }

  void find_losses(const MemoryLevel& level) {
    const auto grid = [&](const FanOut& fan, std::string_view axis) {
      if (!fan.multicast) lose(level, fmt::format("{} without multicast", axis));
      if (!fan.reduction) lose(level, fmt::format("{} without sums on the way", axis));
      if (fan.shares != 0) lose(level, fmt::format("which loops may run along {}", axis));
    };
    grid(level.x, "x");
    grid(level.y, "y");
    if (level.share_overlaps) lose(level, "neighbours share what their windows have in common");
    if (level.systolic != Systolic::none) lose(level, "the skew of a systolic array");
    if (level.buffering == Buffering::single) lose(level, "tiles arrive while nothing runs");
    if (level.hop_pj_per_bit > 0) lose(level, "energy of links");
    if (level.area_um2 > 0 || level.area_um2_per_kib > 0) lose(level, "area");
    if (std::ranges::any_of(level.partition_bits, [](double bits) { return !std::isinf(bits); }))
      lose(level, "parts of the capacity for each role");
  }

  void level(const MemoryLevel& level) {
    find_losses(level);
    const int bits = word(level);
    const bool bounded = !std::isinf(level.capacity_bits);
    std::string attributes = fmt::format("datawidth: {}, width: {}", bits, bits);
    if (bounded) {
      const double depth = std::floor(level.capacity_bits / bits);
      if (depth * bits != level.capacity_bits) lose(level, fmt::format("a capacity of {} bit", level.capacity_bits));
      attributes += fmt::format(", depth: {}", depth);
    }
    const auto rate = [&](std::string_view key, double value) {
      if (!std::isinf(value)) attributes += fmt::format(", {}: {}", key, value / bits);
    };
    rate("shared_bandwidth", level.bandwidth);
    rate("read_bandwidth", level.read_bandwidth);
    rate("write_bandwidth", level.write_bandwidth);
    if (level.buffering == Buffering::doubled) attributes += ", multiple_buffering: 2";
    nodes_ += fmt::format("  - !Component\n    name: {}\n    class: {}\n    attributes: {{{}}}\n", level.name,
                          bounded ? "storage" : "DRAM", attributes);
    if (const std::string bypass = passed_by(level); !bypass.empty())
      nodes_ += fmt::format("    constraints: {{dataspace: {{bypass: [{}]}}}}\n", bypass);
    if (level.fan_out() > 1)
      nodes_ += fmt::format("  - !Container\n    name: {}\n    spatial: {{meshX: {}, meshY: {}}}\n", grid_name(level),
                            level.x.size, level.y.size);
    const double read = access_pj(level, level.read_pj) + level.read_pj_per_bit * bits;
    const double write = access_pj(level, level.write_pj) + level.write_pj_per_bit * bits;
    table(level.name, {{"read", read}, {"write", write}, {"update", write}}, level.leakage_mw);
  }

  std::string passed_by(const MemoryLevel& level) const {
    std::vector<std::string> names;
    for (const Operand& operand : problem_.operands)
      if ((level.keeps & role_bit(operand.role)) == 0) names.push_back(operand.name);
    return join(names, ", ");
  }

  void table(const std::string& name, const std::vector<std::pair<std::string, double>>& actions, double leakage_mw) {
    tables_ += fmt::format("  - name: {}\n    actions:\n", name);
    for (const auto& [action, pj] : actions) tables_ += fmt::format("    - {{name: {}, energy: {}}}\n", action, pj);
    if (leakage_mw > 0)
      tables_ += fmt::format("    - {{name: leak, energy: {}}}\n", per_cycle(leakage_mw, architecture_.clock_mhz));
  }

  void compute() {
    const ComputeUnit& unit = architecture_.compute;
    if (unit.engine != MacEngine::fixed || unit.gates_operands || !unit.table.empty() ||
        unit.operations_per_cycle != 1 || unit.input_bits != unit.weight_bits)
      lost_.emplace_back("compute: how narrower and wider operands are handled");
    if (unit.area_um2 > 0) lost_.emplace_back("compute: area");
    nodes_ += fmt::format("  - !Component\n    name: mac\n    class: intmac\n    attributes: {{datawidth: {}}}\n",
                          unit.input_bits);
    table("mac", {{"compute", unit.energy_pj}}, unit.leakage_mw);
  }

  const Architecture& architecture_;
  const Problem& problem_;
  std::vector<std::string> lost_;
  std::string nodes_, tables_;
};

}  // namespace

std::string grid_name(const MemoryLevel& level) { return level.name + "_grid"; }

TimeloopMachine parse_timeloop_architecture(std::string_view text, const std::string& file, const Problem& problem) {
  return ArchitectureReader(load_yaml(text, file), file, problem).read();
}

FormatText timeloop_architecture_text(const Architecture& architecture, const Problem& problem) {
  return ArchitectureWriter(architecture, problem).write();
}

}  // namespace kasimir
