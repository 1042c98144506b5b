// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/mapping.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <cctype>

namespace kasimir {
namespace {

bool keeps(const Mapping& mapping, std::size_t operand, std::size_t level) {
  return (mapping.keeps[operand] >> level & 1U) != 0;
}

char kind_letter(LoopKind kind) { return kind == LoopKind::spatial_x ? 'X' : 'Y'; }

void check_loop(const Problem& problem, const Architecture& architecture, const Mapping& mapping, std::size_t i) {
  const auto& loop = mapping.loops[i];
  if (loop.dim < 0 || loop.dim >= static_cast<int>(problem.dims.size()))
    throw input_error("loop {} of the mapping runs over dimension {}, the problem has {}", i, loop.dim,
                      problem.dims.size());
  const std::string& dim = problem.dims[static_cast<std::size_t>(loop.dim)].name;
  if (loop.level < 0 || loop.level >= static_cast<int>(architecture.levels.size()))
    throw input_error("the loop over {} belongs to level {}, the architecture has {}", dim, loop.level,
                      architecture.levels.size());
  if (loop.bound < 1) throw input_error("the loop over {} has bound {}, at least 1 is needed", dim, loop.bound);
  if (i == 0) return;
  const auto& outer = mapping.loops[i - 1];
  if (loop.level < outer.level)
    throw input_error("the loop over {} belongs to a level outside that of the loop around it", dim);
  if (loop.level == outer.level && loop.kind == LoopKind::temporal && outer.kind != LoopKind::temporal)
    throw input_error("level {}: the loop over {} lies inside a spatial loop: spatial loops come last in a level",
                      architecture.levels[static_cast<std::size_t>(loop.level)].name, dim);
}

}  // namespace

void check_mapping(const Problem& problem, const Architecture& architecture, const Mapping& mapping) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(mapping.count); ++i)
    check_loop(problem, architecture, mapping, i);
  for (std::size_t t = 0; t < problem.operands.size(); ++t) {
    if (!keeps(mapping, t, 0))
      throw input_error("the outermost level {} must keep {}", architecture.levels.front().name,
                        problem.operands[t].name);
    if (mapping.keeps[t] >> architecture.levels.size() != 0)
      throw input_error("{} is kept at a level that the architecture does not have", problem.operands[t].name);
  }
}

namespace {

class MappingReader {
 public:
  MappingReader(const Problem& problem, const Architecture& architecture)
      : problem_(problem), architecture_(architecture) {}

  Mapping read(std::string_view text) {
    const std::size_t levels = architecture_.levels.size();
    std::vector<std::string> parts;
    while (true) {
      const std::size_t cut = text.find(" - ");
      parts.emplace_back(trim(text.substr(0, cut)));
      if (cut == std::string_view::npos) break;
      text.remove_prefix(cut + 3);
    }
    if (parts.size() != levels)
      throw input_error("the mapping has {} levels between ` - `, architecture {} has {}", parts.size(),
                        architecture_.name, levels);
    for (std::size_t l = 0; l < levels; ++l) level(parts[l], l);
    check_mapping(problem_, architecture_, mapping_);
    return mapping_;
  }

 private:
  void level(const std::string& part, std::size_t l) {
    const std::size_t open = part.find('[');
    const std::size_t close = part.find(']');
    if (open == std::string::npos || close == std::string::npos || close < open)
      throw input_error("expected LEVEL[OPERANDS] in `{}` of the mapping", part);
    const std::string name(trim(std::string_view(part).substr(0, open)));
    const std::string number = fmt::format("L{}", architecture_.levels.size() - 1 - l);
    if (name != number && name != architecture_.levels[l].name)
      throw input_error("expected level {} or {}, found `{}` in the mapping", number, architecture_.levels[l].name,
                        name);
    operands(part.substr(open + 1, close - open - 1), l);
    for (const std::string& loop : split(std::string_view(part).substr(close + 1), ' '))
      if (!loop.empty()) add(loop, l);
  }

  void operands(const std::string& list, std::size_t l) {
    std::vector<std::string> names;
    const bool single = std::all_of(problem_.operands.begin(), problem_.operands.end(),
                                    [](const Operand& operand) { return operand.name.size() == 1; });
    if (single && list.find(',') == std::string::npos)
      for (const char c : list) names.emplace_back(1, c);
    else if (!list.empty())
      names = split(list, ',');
    for (const std::string& name : names) {
      const int t = problem_.find_operand(trim(name));
      if (t < 0) {
        std::vector<std::string> known;
        for (const Operand& operand : problem_.operands) known.push_back(operand.name);
        throw input_error("level {} of the mapping keeps `{}`, which is no operand", architecture_.levels[l].name, name)
            .note(suggestion(name, known));
      }
      auto& levels = mapping_.keeps[static_cast<std::size_t>(t)];
      levels = static_cast<std::uint16_t>(levels | 1U << l);
    }
  }

  void add(std::string_view text, std::size_t l) {
    const std::string whole(text);
    LoopKind kind = LoopKind::temporal;
    if (text.ends_with('X')) kind = LoopKind::spatial_x;
    if (text.ends_with('Y')) kind = LoopKind::spatial_y;
    if (kind != LoopKind::temporal) text.remove_suffix(1);
    std::size_t digits = text.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(text[digits - 1])) != 0) --digits;
    const auto bound = parse_integer(text.substr(digits));
    std::string_view name = text.substr(0, digits);
    if (name.ends_with('=')) name.remove_suffix(1);
    const int dim = problem_.find_dim(name);
    if (!bound || dim < 0)
      throw input_error("expected a loop like {}4, found `{}` at level {} of the mapping",
                        problem_.dims.empty() ? "K" : problem_.dims.front().name, whole, architecture_.levels[l].name);
    if (mapping_.count == max_loops) throw input_error("the mapping has more than {} loops", max_loops);
    if (*bound != 1) mapping_.add(dim, *bound, static_cast<int>(l), kind);
  }

  const Problem& problem_;
  const Architecture& architecture_;
  Mapping mapping_;
};

std::string operand_list(const Mapping& mapping, const Problem& problem, std::size_t level) {
  std::vector<std::string> names;
  bool single = true;
  for (std::size_t t = 0; t < problem.operands.size(); ++t) {
    single = single && problem.operands[t].name.size() == 1;
    if (keeps(mapping, t, level)) names.push_back(problem.operands[t].name);
  }
  return join(names, single ? "" : ",");
}

std::string loop_text(const Problem& problem, int dim, std::int64_t bound) {
  if (problem.dims.empty()) return "";
  const std::string& name = problem.dims[static_cast<std::size_t>(dim)].name;
  const bool ambiguous = std::isdigit(static_cast<unsigned char>(name.back())) != 0;
  return fmt::format(" {}{}{}", name, ambiguous ? "=" : "", bound);
}

}  // namespace

Mapping parse_mapping(std::string_view text, const Problem& problem, const Architecture& architecture) {
  return MappingReader(problem, architecture).read(trim(text));
}

std::string str(const Mapping& mapping, const Problem& problem, const Architecture& architecture) {
  std::vector<std::string> parts;
  std::size_t i = 0;
  for (std::size_t l = 0; l < architecture.levels.size(); ++l) {
    std::string part = fmt::format("L{}[{}]", architecture.levels.size() - 1 - l, operand_list(mapping, problem, l));
    const std::size_t begin = i;
    for (; i < static_cast<std::size_t>(mapping.count) && mapping.loops[i].level == static_cast<int>(l); ++i) {
      part += loop_text(problem, mapping.loops[i].dim, mapping.loops[i].bound);
      if (mapping.loops[i].kind != LoopKind::temporal) part += kind_letter(mapping.loops[i].kind);
    }
    if (i == begin) part += loop_text(problem, static_cast<int>(problem.dims.size()) - 1, 1);
    parts.push_back(std::move(part));
  }
  return join(parts, " - ");
}

std::string nested_loops(const Mapping& mapping, const Problem& problem, const Architecture& architecture) {
  std::string text;
  std::size_t depth = 0;
  const auto line = [&](const std::string& content) { text += std::string(2 * depth++, ' ') + content + "\n"; };
  std::size_t i = 0;
  for (std::size_t l = 0; l < architecture.levels.size(); ++l) {
    std::vector<std::string> names;
    for (std::size_t t = 0; t < problem.operands.size(); ++t)
      if (keeps(mapping, t, l)) names.push_back(problem.operands[t].name);
    line(fmt::format("{}: {}", architecture.levels[l].name, names.empty() ? "nothing" : join(names, ", ")));
    for (; i < static_cast<std::size_t>(mapping.count) && mapping.loops[i].level == static_cast<int>(l); ++i) {
      const auto& loop = mapping.loops[i];
      const std::string across = loop.kind == LoopKind::temporal    ? ""
                                 : loop.kind == LoopKind::spatial_x ? " across x"
                                                                    : " across y";
      line(fmt::format("for {} in 0..{}{}", problem.dims[static_cast<std::size_t>(loop.dim)].name, loop.bound, across));
    }
  }
  line("compute");
  return text;
}

}  // namespace kasimir
