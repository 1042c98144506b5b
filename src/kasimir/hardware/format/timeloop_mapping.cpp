// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/format/timeloop.h"
#include "kasimir/hardware/format/timeloop_parts.h"

#include <algorithm>
#include <cctype>

namespace kasimir {
namespace {

/// Loops of one entry: dimension and bound, the innermost first; the first `split` of a spatial one run along x.
struct LoopEntry {
  std::vector<std::pair<int, std::int64_t>> loops;
  std::size_t split = max_loops;
};

class MappingReader {
 public:
  MappingReader(const std::string& file, const Problem& problem, const TimeloopMachine& machine)
      : file_(file),
        problem_(problem),
        machine_(machine),
        temporal_(machine.architecture.levels.size()),
        spatial_(machine.architecture.levels.size()) {}

  Mapping read(const YAML::Node& list) {
    mapping_ = empty_mapping(problem_, machine_.architecture);
    if (!list.IsSequence()) fail_at(list, file_, "mapping: expected a list of entries");
    for (const YAML::Node& node : list) entry(node);
    for (std::size_t l = 0; l < temporal_.size(); ++l) {
      add(temporal_[l], l, false);
      add(spatial_[l], l, true);
    }
    check_mapping(problem_, machine_.architecture, mapping_);
    return mapping_;
  }

 private:
  void entry(const YAML::Node& node) {
    YamlMap map(node, "mapping", file_);
    const std::string target = map.text("target", "");
    const std::string type = map.text("type", "");
    const auto level = level_of(target, type == "spatial", map, node);
    if (type == "temporal" || type == "spatial") {
      LoopEntry& loops = (type == "spatial" ? spatial_ : temporal_)[level];
      if (!loops.loops.empty()) map.fail(node, fmt::format("{} has two entries of type {}", target, type));
      read_loops(map, loops);
      if (type == "spatial")
        loops.split = static_cast<std::size_t>(std::max<std::int64_t>(0, map.whole("split", max_loops)));
    } else if (type == "dataspace" || type == "datatype" || type == "bypass") {
      keep(map, "keep", level, true);
      keep(map, "bypass", level, false);
    } else {
      map.fail(node, fmt::format("type `{}` is not known, needed: temporal, spatial, dataspace", type));
    }
    map.close();
  }

  std::size_t level_of(const std::string& target, bool spatial, const YamlMap& map, const YAML::Node& node) const {
    const int level = machine_.architecture.find_level(target);
    if (level >= 0) return static_cast<std::size_t>(level);
    if (const auto grid = machine_.grids.find(target); spatial && grid != machine_.grids.end()) return grid->second;
    std::vector<std::string> known;
    for (const MemoryLevel& one : machine_.architecture.levels) known.push_back(one.name);
    map.fail(node, fmt::format("target `{}` is no storage{}, {}", target, spatial ? " and has no `spatial`" : "",
                               suggestion(target, known)));
  }

  /// `K=4` or `K4`.
  std::pair<int, std::int64_t> factor(const std::string& word, const YAML::Node& node) const {
    std::size_t digits = word.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(word[digits - 1])) != 0) --digits;
    if (const std::size_t equal = word.find('='); equal != std::string::npos) digits = equal + 1;
    std::string name = word.substr(0, digits);
    if (name.ends_with('=')) name.pop_back();
    const int dim = problem_.find_dim(name);
    const auto bound = parse_integer(std::string_view(word).substr(digits));
    if (dim < 0 || !bound || *bound < 1)
      fail_at(node, file_,
              fmt::format("mapping: expected a factor like {}=4, found `{}`", problem_.dims[0].name, word));
    return {dim, *bound};
  }

  void read_loops(YamlMap& map, LoopEntry& made) const {
    const YAML::Node factors = map.need("factors");
    std::map<int, std::int64_t> bounds;
    for (const std::string& word : yaml_words(factors, file_)) {
      const auto [dim, bound] = factor(word, factors);
      if (!bounds.emplace(dim, bound).second)
        map.fail(factors, fmt::format("{} has two factors", problem_.dims[static_cast<std::size_t>(dim)].name));
    }
    for (const int dim : permutation(map)) {
      const auto found = bounds.find(dim);
      if (found == bounds.end()) continue;
      made.loops.emplace_back(*found);
      bounds.erase(found);
    }
    // those that the permutation does not name lie outside of it
    for (const auto& left : bounds) made.loops.emplace_back(left);
  }

  std::vector<int> permutation(YamlMap& map) const {
    const YAML::Node node = map.get("permutation");
    std::vector<int> dims;
    if (!node.IsDefined()) return dims;
    std::vector<std::string> words = yaml_words(node, file_);
    if (words.size() == 1 && problem_.find_dim(words[0]) < 0) {
      std::vector<std::string> letters;
      for (const char c : words[0]) letters.emplace_back(1, c);
      words = letters;
    }
    for (const std::string& word : words) {
      const int dim = problem_.find_dim(word);
      if (dim < 0) map.fail(node, fmt::format("`{}` is no dimension", word));
      if (std::ranges::find(dims, dim) != dims.end()) map.fail(node, fmt::format("`{}` is there twice", word));
      dims.push_back(dim);
    }
    return dims;
  }

  void keep(YamlMap& map, std::string_view key, std::size_t level, bool kept) {
    const YAML::Node node = map.get(key);
    if (!node.IsDefined()) return;
    for (const std::string& name : yaml_words(node, file_)) {
      const int operand = problem_.find_operand(name);
      if (operand < 0) map.fail(node, fmt::format("`{}` is no data space of the problem", name));
      auto& levels = mapping_.keeps[static_cast<std::size_t>(operand)];
      levels = static_cast<std::uint16_t>(kept ? levels | 1U << level : levels & ~(1U << level));
    }
  }

  void add(const LoopEntry& entry, std::size_t level, bool spatial) {
    for (std::size_t i = entry.loops.size(); i-- > 0;) {
      const auto [dim, bound] = entry.loops[i];
      if (bound == 1) continue;
      const LoopKind kind = !spatial ? LoopKind::temporal : i < entry.split ? LoopKind::spatial_x : LoopKind::spatial_y;
      mapping_.add(dim, bound, static_cast<int>(level), kind);
    }
  }

  const std::string& file_;
  const Problem& problem_;
  const TimeloopMachine& machine_;
  Mapping mapping_;
  std::vector<LoopEntry> temporal_, spatial_;
};

class MappingWriter {
 public:
  MappingWriter(const Mapping& mapping, const Problem& problem, const Architecture& architecture)
      : mapping_(mapping), problem_(problem), architecture_(architecture) {}

  std::string write() {
    std::string text = "mapping:\n";
    for (std::size_t l = 0; l < architecture_.levels.size(); ++l) {
      const MemoryLevel& level = architecture_.levels[l];
      text += fmt::format("- {{target: {}, type: dataspace, keep: [{}], bypass: [{}]}}\n", level.name, kept(l, true),
                          kept(l, false));
      text += entry(l, level.name, false);
      // a level without a grid may still be asked to spread loops, which the evaluator then reports
      if (!loops(l, true).empty()) text += entry(l, level.fan_out() > 1 ? grid_name(level) : level.name, true);
    }
    return text;
  }

 private:
  std::string kept(std::size_t level, bool wanted) const {
    std::vector<std::string> names;
    for (std::size_t t = 0; t < problem_.operands.size(); ++t)
      if (((mapping_.keeps[t] >> level & 1U) != 0) == wanted) names.push_back(problem_.operands[t].name);
    return join(names, ", ");
  }

  /// Outermost first, loops side by side over one dimension as one.
  std::vector<MappedLoop<std::int64_t>> loops(std::size_t level, bool spatial) const {
    std::vector<MappedLoop<std::int64_t>> found;
    for (std::size_t i = 0; i < static_cast<std::size_t>(mapping_.count); ++i) {
      const auto& loop = mapping_.loops[i];
      if (loop.level != static_cast<int>(level) || (loop.kind != LoopKind::temporal) != spatial) continue;
      if (!found.empty() && found.back().dim == loop.dim && found.back().kind == loop.kind)
        found.back().bound *= loop.bound;
      else
        found.push_back(loop);
    }
    return found;
  }

  std::string entry(std::size_t level, const std::string& target, bool spatial) const {
    auto found = loops(level, spatial);
    // Timeloop's permutation begins inside, and its loops along x come first
    std::ranges::reverse(found);
    std::ranges::stable_partition(found, [](const auto& loop) { return loop.kind != LoopKind::spatial_y; });
    std::vector<std::string> factors, names;
    std::size_t split = 0;
    for (const auto& loop : found) {
      const std::string& dim = problem_.dims[static_cast<std::size_t>(loop.dim)].name;
      if (std::ranges::find(names, dim) != names.end())
        throw input_error("level {} has two {} loops over {}, which a mapping of Timeloop cannot say",
                          architecture_.levels[level].name, spatial ? "spatial" : "temporal", dim);
      names.push_back(dim);
      factors.push_back(fmt::format("{}={}", dim, loop.bound));
      split += static_cast<std::size_t>(loop.kind == LoopKind::spatial_x);
    }
    return fmt::format("- {{target: {}, type: {}, factors: [{}], permutation: [{}]{}}}\n", target,
                       spatial ? "spatial" : "temporal", join(factors, ", "), join(names, ", "),
                       spatial ? fmt::format(", split: {}", split) : "");
  }

  const Mapping& mapping_;
  const Problem& problem_;
  const Architecture& architecture_;
};

}  // namespace

Mapping parse_timeloop_mapping(std::string_view text, const std::string& file, const Problem& problem,
                               const TimeloopMachine& machine) {
  const YAML::Node root = load_yaml(text, file);
  YamlMap all(root, "file", file);
  for (const std::string_view key : {"problem", "architecture", "mapping", "variables", "ERT"}) all.get(key);
  all.close();
  return MappingReader(file, problem, machine).read(all.need("mapping"));
}

std::string timeloop_mapping_text(const Mapping& mapping, const Problem& problem, const Architecture& architecture) {
  return MappingWriter(mapping, problem, architecture).write();
}

}  // namespace kasimir
