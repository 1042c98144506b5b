// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/target.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <optional>
#include <set>

namespace kasimir {
namespace {

constexpr std::string_view header = "block,op,bits,cost";

// A line of the table of costs; messages begin with where it is.
struct CostLine {
  std::string where;
  std::vector<std::string> cells;
};

std::size_t block_place(const CostLine& line, const ChoiceSpace& space) {
  std::vector<std::string> names;
  for (std::size_t l = 0; l < space.blocks.size(); ++l) {
    if (space.blocks[l].name == line.cells[0]) return l;
    names.push_back(space.blocks[l].name);
  }
  throw input_error("{}: no block `{}`", line.where, line.cells[0]).note(suggestion(line.cells[0], names));
}

BlockChoice choice_place(const CostLine& line, std::size_t l, const ChoiceSpace& space) {
  const std::vector<std::string>& ops = space.blocks[l].ops;
  const auto op = std::find(ops.begin(), ops.end(), line.cells[1]);
  if (op == ops.end())
    throw input_error("{}: no operator `{}` in block {}", line.where, line.cells[1], space.blocks[l].name)
        .note(suggestion(line.cells[1], ops));
  const auto width = parse_integer(line.cells[2]);
  const auto bits = width ? std::find(space.bits.begin(), space.bits.end(), *width) : space.bits.end();
  if (bits == space.bits.end())
    throw input_error("{}: `{}` bits, needed: one of {}", line.where, line.cells[2], fmt::join(space.bits, ", "));
  return {static_cast<std::size_t>(op - ops.begin()), static_cast<std::size_t>(bits - space.bits.begin())};
}

void require_complete(const LoadTable& table, const ChoiceSpace& space, const std::string& file) {
  for (std::size_t l = 0; l < space.blocks.size(); ++l)
    for (std::size_t o = 0; o < table.loads[l].size(); ++o)
      for (std::size_t j = 0; j < space.bits.size(); ++j)
        if (table.loads[l][o][j].empty())
          throw input_error("{}: no cost for block {}, operator {}, {} bits, needed: a line for each choice", file,
                            space.blocks[l].name, space.blocks[l].ops[o], space.bits[j]);
}

}  // namespace

TableTarget::TableTarget(ChoiceSpace space, LoadTable table, std::string unit)
    : space_(std::move(space)), table_(std::move(table)), unit_(std::move(unit)) {}

Accelerator TableTarget::optimise(const ChoiceDesign& design) {
  const std::vector<double> loads = loads_of(table_, design);
  Accelerator result{table_, std::vector<double>(loads.size(), 0), "as in the table of costs", {}};
  result.duals[static_cast<std::size_t>(std::max_element(loads.begin(), loads.end()) - loads.begin())] = 1;
  return result;
}

HardwareTarget::Bound TableTarget::bound(const ChoiceDesign&) { return {table_, true}; }

std::vector<TargetFile> TableTarget::files(const ChoiceDesign&) {
  if (table_.parts.size() != 1) return {};
  return {{"costs.csv", load_table_text(table_, space_)}};
}

LoadTable parse_load_table(std::string_view text, const std::string& file, const ChoiceSpace& space) {
  LoadTable table = load_table(space, Aggregate::sum, {"all"});
  bool headed = false, based = false;
  std::size_t number = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#') continue;
    CostLine parsed{fmt::format("{}:{}", file, number), split(line, ',')};
    if (!headed) {
      if (line != header) throw input_error("{}: `{}`, needed: the header {}", parsed.where, line, header);
      headed = true;
      continue;
    }
    if (parsed.cells.size() != 4)
      throw input_error("{}: {} cells, needed: {}", parsed.where, parsed.cells.size(), header);
    for (std::string& cell : parsed.cells) cell = std::string(trim(cell));
    const auto cost = parse_number(parsed.cells[3]);
    if (!cost || *cost < 0)
      throw input_error("{}: cost `{}`, needed: a number of at least 0", parsed.where, parsed.cells[3]);
    const bool outside = parsed.cells[0] == "-" && parsed.cells[1] == "-" && parsed.cells[2] == "-";
    if (outside) {
      if (based) throw input_error("{}: a second line for what is outside all blocks", parsed.where);
      based = true;
      table.base[0] = *cost;
      continue;
    }
    const std::size_t l = block_place(parsed, space);
    const BlockChoice choice = choice_place(parsed, l, space);
    std::vector<PartLoad>& loads = table.loads[l][choice.op][choice.bits];
    if (!loads.empty())
      throw input_error("{}: a second cost for block {}, operator {}, {} bits", parsed.where, parsed.cells[0],
                        parsed.cells[1], parsed.cells[2]);
    loads.push_back({0, *cost});
  }
  require_complete(table, space, file);
  return table;
}

std::string load_table_text(const LoadTable& table, const ChoiceSpace& space) {
  KASIMIR_CHECK(table.parts.size() == 1, "{} parts", table.parts.size());
  std::string text = fmt::format("{}\n-,-,-,{}\n", header, table.base[0]);
  for (std::size_t l = 0; l < space.blocks.size(); ++l)
    for (std::size_t o = 0; o < space.blocks[l].ops.size(); ++o)
      for (std::size_t j = 0; j < space.bits.size(); ++j)
        text += fmt::format("{},{},{},{}\n", space.blocks[l].name, space.blocks[l].ops[o], space.bits[j],
                            total_load(table.loads[l][o][j]));
  return text;
}

}  // namespace kasimir
