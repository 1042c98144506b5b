// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/format/timeloop.h"
#include "kasimir/hardware/format/timeloop_parts.h"

#include <algorithm>

namespace kasimir {

YamlMap timeloop_part(const YAML::Node& root, std::string_view part, const std::string& file) {
  YamlMap all(root, "file", file);
  for (const std::string_view key : {"problem", "architecture", "mapping", "variables", "ERT"}) all.get(key);
  all.close();
  return {all.need(part), std::string(part), file};
}

void check_timeloop_version(YamlMap& map, const std::vector<std::string>& known) {
  const YAML::Node node = map.get("version");
  if (!node.IsDefined()) return;
  const std::string found = node.IsScalar() ? node.Scalar() : "";
  if (std::ranges::find(known, found) == known.end())
    map.fail(node, fmt::format("version `{}` is not known, needed: {}", found, join(known, " or ")));
}

bool named_as_weight(std::string_view name) {
  const std::string lower = lower_case(name);
  const bool number = lower.size() > 1 && parse_integer(lower.substr(1)).has_value();
  return lower.find("weight") != std::string::npos || lower.find("filter") != std::string::npos ||
         (lower.starts_with('w') && (lower.size() == 1 || number));
}

namespace {

constexpr std::string_view cnn_layer = R"(
dimensions: [C, M, R, S, N, P, Q]
coefficients:
- {name: Wstride, default: 1}
- {name: Hstride, default: 1}
- {name: Wdilation, default: 1}
- {name: Hdilation, default: 1}
data_spaces:
- {name: Weights, projection: [[[C]], [[M]], [[R]], [[S]]]}
- {name: Inputs, projection: [[[N]], [[C]], [[R, Wdilation], [P, Wstride]], [[S, Hdilation], [Q, Hstride]]]}
- {name: Outputs, projection: [[[N]], [[M]], [[Q]], [[P]]], read_write: true}
)";

class ProblemReader {
 public:
  ProblemReader(YamlMap map, const OperandBits& bits) : map_(std::move(map)), bits_(bits) {}

  Problem read() {
    check_timeloop_version(map_, {"0.2", "0.3", "0.4"});
    const YAML::Node shape = map_.need("shape");
    const bool built_in = shape.IsScalar();
    if (built_in && shape.Scalar() != "cnn-layer" && shape.Scalar() != "cnn_layer")
      map_.fail(shape, fmt::format("shape `{}` is not known, needed: cnn-layer, or dimensions and data_spaces",
                                   shape.Scalar()));
    const YAML::Node nodes = built_in ? load_yaml(cnn_layer, "cnn-layer") : shape;
    YamlMap parts(nodes, "problem, shape", map_.file());
    parts.text("name", "");
    dimensions(parts.need("dimensions"));
    coefficients(parts);
    sizes(built_in);
    const YAML::Node spaces = parts.need("data_spaces");
    for (const YAML::Node& space : spaces) data_space(space);
    parts.close();
    map_.close();
    finish(spaces);
    check_problem(problem_);
    return problem_;
  }

 private:
  void dimensions(const YAML::Node& node) {
    for (const std::string& name : yaml_words(node, map_.file())) problem_.dims.push_back({name, 0});
  }

  void coefficients(YamlMap& parts) {
    const YAML::Node list = parts.get("coefficients");
    if (!list.IsDefined() || list.IsNull()) return;
    for (const YAML::Node& entry : list) {
      YamlMap one(entry, "problem, coefficient", map_.file());
      const std::string name = one.need("name").as<std::string>("");
      coefficients_[name] = one.whole("default", 1);
      one.close();
    }
  }

  void sizes(bool beside) {
    const YAML::Node node = map_.get("instance");
    if (!node.IsDefined() && !beside) map_.fail(node, "`instance` is missing");
    YamlMap instance = node.IsDefined() ? YamlMap(node, "problem, instance", map_.file()) : map_;
    for (ProblemDim& dim : problem_.dims) {
      dim.size = instance.whole(dim.name, 0);
      if (dim.size == 0 && beside && dim.name == "M") dim.size = instance.whole("K", 0);
      if (dim.size < 1) map_.fail(node, fmt::format("the size of dimension {} is missing", dim.name));
    }
    for (auto& [name, value] : coefficients_) value = instance.whole(name, value);
    if (node.IsDefined())
      instance.close();
    else
      map_ = std::move(instance);
  }

  void data_space(const YAML::Node& node) {
    YamlMap space(node, "problem, data space", map_.file());
    Operand operand;
    operand.name = space.text("name", "");
    if (operand.name.empty()) space.fail(node, "`name` is missing");
    const std::string written = space.text("read_write", "false");
    if (written == "true" || written == "True") operand.role = OperandRole::output;
    for (const YAML::Node& rank : space.need("projection")) operand.ranks.push_back(projected(rank, operand.name));
    space.close();
    operands_.push_back(std::move(operand));
  }

  OperandRank projected(const YAML::Node& node, const std::string& name) {
    OperandRank rank;
    for (const YAML::Node& term : node) {
      const std::vector<std::string> words = yaml_words(term, map_.file());
      if (words.empty() || words.size() > 2)
        fail_at(term, map_.file(),
                fmt::format("data space {}: expected [dimension] or [dimension, coefficient]", name));
      const int dim = problem_.find_dim(words[0]);
      if (dim < 0) fail_at(term, map_.file(), fmt::format("data space {}: `{}` is no dimension", name, words[0]));
      rank.terms.push_back({dim, words.size() == 1 ? 1 : coefficient(words[1], term)});
    }
    rank.extent = reach(problem_, rank);
    return rank;
  }

  std::int64_t coefficient(const std::string& word, const YAML::Node& node) const {
    if (const auto number = parse_integer(word)) return *number;
    const auto found = coefficients_.find(word);
    if (found == coefficients_.end()) fail_at(node, map_.file(), fmt::format("`{}` is no coefficient", word));
    return found->second;
  }

  void finish(const YAML::Node& spaces) {
    const auto output = std::ranges::find(operands_, OperandRole::output, &Operand::role);
    if (output == operands_.end()) map_.fail(spaces, "no data space is read_write");
    output->bits = bits_.output;
    output->partial_bits = bits_.partial;
    problem_.operands.push_back(*output);
    const bool named = std::ranges::any_of(operands_, [](const Operand& one) { return named_as_weight(one.name); });
    for (Operand& operand : operands_) {
      if (&operand == &*output) continue;
      const bool weight = named ? named_as_weight(operand.name) : problem_.operands.size() == 2;
      operand.role = weight ? OperandRole::weight : OperandRole::input;
      operand.bits = operand.partial_bits = weight ? bits_.weight : bits_.input;
      problem_.operands.push_back(operand);
    }
    if (!problem_.reduces()) problem_.operands[0].partial_bits = bits_.output;
  }

  YamlMap map_;
  const OperandBits& bits_;
  Problem problem_;
  std::map<std::string, std::int64_t> coefficients_;
  std::vector<Operand> operands_;
};

std::string projection_text(const Problem& problem, const Operand& operand,
                            const std::map<std::int64_t, std::string>& coefficients) {
  std::vector<std::string> ranks;
  for (const OperandRank& rank : operand.ranks) {
    std::vector<std::string> terms;
    for (const IndexTerm& term : rank.terms) {
      const std::string& dim = problem.dims[static_cast<std::size_t>(term.dim)].name;
      terms.push_back(term.coefficient == 1 ? fmt::format("[{}]", dim)
                                            : fmt::format("[{}, {}]", dim, coefficients.at(term.coefficient)));
    }
    ranks.push_back("[" + join(terms, ", ") + "]");
  }
  return "[" + join(ranks, ", ") + "]";
}

void find_losses(const Problem& problem, std::vector<std::string>& lost) {
  if (problem.combine == Combine::none) lost.emplace_back("nothing is summed");
  if (problem.combine == Combine::max) lost.emplace_back("the largest value is taken, not the sum");
  if (problem.operations != 1) lost.push_back(fmt::format("a point is {} operations", problem.operations));
  bool named = false;
  for (const Operand& operand : problem.operands) named = named || named_as_weight(operand.name);
  for (std::size_t t = 0; t < problem.operands.size(); ++t) {
    const Operand& operand = problem.operands[t];
    const bool weight = named ? named_as_weight(operand.name) : t == 2;
    if (t > 0 && weight != (operand.role == OperandRole::weight))
      lost.push_back(fmt::format("{} is {}", operand.name, weight ? "an input" : "a weight"));
    for (const OperandRank& rank : operand.ranks)
      if (rank.offset != 0 || rank.extent != reach(problem, rank)) {
        lost.push_back(fmt::format("{} has zeros around it or more elements than are read", operand.name));
        break;
      }
  }
}

}  // namespace

Problem parse_timeloop_problem(std::string_view text, const std::string& file, const OperandBits& bits) {
  return ProblemReader(timeloop_part(load_yaml(text, file), "problem", file), bits).read();
}

FormatText timeloop_problem_text(const Problem& problem) {
  FormatText made;
  find_losses(problem, made.lost);
  std::map<std::int64_t, std::string> coefficients;
  for (const Operand& operand : problem.operands)
    for (const OperandRank& rank : operand.ranks)
      for (const IndexTerm& term : rank.terms)
        if (term.coefficient != 1)
          coefficients[term.coefficient] =
              fmt::format("by_{}{}", term.coefficient < 0 ? "minus_" : "", std::abs(term.coefficient));
  std::vector<std::string> names;
  std::string sizes;
  for (const ProblemDim& dim : problem.dims) {
    names.push_back(dim.name);
    sizes += fmt::format("    {}: {}\n", dim.name, dim.size);
  }
  for (const std::string& lost : made.lost) made.text += fmt::format("# not said below: {}\n", lost);
  made.text +=
      fmt::format("problem:\n  version: 0.4\n  shape:\n    name: kasimir\n    dimensions: [{}]\n", join(names, ", "));
  if (!coefficients.empty()) made.text += "    coefficients:\n";
  for (const auto& [value, name] : coefficients)
    made.text += fmt::format("    - {{name: {}, default: {}}}\n", name, value);
  made.text += "    data_spaces:\n";
  for (std::size_t i = 1; i <= problem.operands.size(); ++i) {
    const std::size_t t = i % problem.operands.size();
    const Operand& operand = problem.operands[t];
    made.text += fmt::format("    - name: {}\n      projection: {}\n{}", operand.name,
                             projection_text(problem, operand, coefficients), t == 0 ? "      read_write: true\n" : "");
  }
  made.text += "  instance:\n" + sizes;
  return made;
}

}  // namespace kasimir
