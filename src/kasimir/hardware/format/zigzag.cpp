// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/format/zigzag.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/format/yaml.h"

#include <algorithm>

namespace kasimir {
namespace {

class LayerReader {
 public:
  LayerReader(const YAML::Node& node, std::size_t place, const std::string& file)
      : node_(node), map_(node, fmt::format("layer {}", place), file), file_(file), place_(place) {}

  NamedProblem read() {
    for (const char* unused : {"id", "operator_type", "operand_source", "constant_operands"}) map_.get(unused);
    const std::string name = map_.text("name", fmt::format("layer {}", place_));
    loops();
    relations();
    edges();
    equation(map_.need("equation"));
    precision();
    map_.close();
    check_problem(problem_);
    return {name, problem_};
  }

 private:
  std::vector<std::int64_t> numbers(const YAML::Node& node) const {
    std::vector<std::int64_t> values;
    for (const std::string& word : yaml_words(node, file_)) {
      const auto value = parse_integer(word);
      if (!value) map_.fail(node, fmt::format("expected whole numbers, found `{}`", word));
      values.push_back(*value);
    }
    return values;
  }

  void loops() {
    const YAML::Node dims = map_.need("loop_dims");
    const YAML::Node sizes = map_.need("loop_sizes");
    const std::vector<std::string> names = yaml_words(dims, file_);
    const std::vector<std::int64_t> values = numbers(sizes);
    if (names.size() != values.size())
      map_.fail(sizes, fmt::format("{} sizes for {} loops", values.size(), names.size()));
    for (std::size_t i = 0; i < names.size(); ++i) problem_.dims.push_back({lower_case(names[i]), values[i]});
  }

  /// `ix=2*ox+1*fx`: a coordinate for each index that is no loop.
  void relations() {
    const YAML::Node node = map_.get("dimension_relations");
    if (!node.IsDefined()) return;
    for (const std::string& relation : yaml_words(node, file_)) {
      const std::size_t equal = relation.find('=');
      if (equal == std::string::npos)
        map_.fail(node, fmt::format("expected a relation like ix=1*ox+1*fx, found `{}`", relation));
      const std::string index = lower_case(std::string(trim(relation.substr(0, equal))));
      if (problem_.find_dim(index) >= 0)
        map_.fail(node, fmt::format("`{}` defines {}, which is a loop", relation, index));
      for (const std::string& term : split(relation.substr(equal + 1), '+'))
        indices_[index].push_back(read_term(term, node));
      index_order_.push_back(index);
    }
  }

  IndexTerm read_term(const std::string& text, const YAML::Node& node) const {
    const std::size_t star = text.find('*');
    const auto factor =
        star == std::string::npos ? std::optional<std::int64_t>(1) : parse_integer(trim(text.substr(0, star)));
    const std::string name = lower_case(std::string(trim(star == std::string::npos ? text : text.substr(star + 1))));
    const int dim = problem_.find_dim(name);
    if (!factor || dim < 0) map_.fail(node, fmt::format("expected a term like 2*ox of loops, found `{}`", trim(text)));
    return {dim, *factor};
  }

  /// Elements along the defined indices, and zeros in front of them.
  void edges() {
    const YAML::Node dims = map_.get("pr_loop_dims");
    const YAML::Node sizes = map_.get("pr_loop_sizes");
    const YAML::Node padding = map_.get("padding");
    if (dims.IsDefined() != sizes.IsDefined()) map_.fail(node_, "`pr_loop_dims` and `pr_loop_sizes` need each other");
    if (dims.IsDefined()) {
      const std::vector<std::string> names = yaml_words(dims, file_);
      const std::vector<std::int64_t> values = numbers(sizes);
      if (names.size() != values.size())
        map_.fail(sizes, fmt::format("{} sizes for {} indices", values.size(), names.size()));
      for (std::size_t i = 0; i < names.size(); ++i) extents_[lower_case(names[i])] = values[i];
      index_order_ = {};
      for (const std::string& name : names) index_order_.push_back(lower_case(name));
    }
    if (!padding.IsDefined()) return;
    if (!padding.IsSequence() || padding.size() != index_order_.size())
      map_.fail(padding, fmt::format("padding must have a pair for each of {} indices", index_order_.size()));
    std::size_t i = 0;
    for (const YAML::Node& pair : padding) {
      const std::vector<std::int64_t> zeros = numbers(pair);
      if (zeros.size() != 2) map_.fail(pair, "padding must be pairs of zeros before and after");
      zeros_[index_order_[i++]] = {zeros[0], zeros[1]};
    }
  }

  void equation(const YAML::Node& node) {
    const std::string text = node.IsScalar() ? node.Scalar() : "";
    const std::size_t sum = text.find("+=");
    if (sum == std::string::npos) map_.fail(node, "expected an equation like O[b][k]+=I[b][c]*W[c][k]");
    operand(text.substr(0, sum), OperandRole::output, node);
    const std::vector<std::string> reads = split(std::string_view(text).substr(sum + 2), '*');
    const bool named = std::ranges::any_of(reads, [](const std::string& read) { return trim(read).starts_with('W'); });
    for (std::size_t i = 0; i < reads.size(); ++i) {
      const bool weight = named ? trim(reads[i]).starts_with('W') : i == 1;
      operand(reads[i], weight ? OperandRole::weight : OperandRole::input, node);
    }
  }

  void operand(std::string_view text, OperandRole role, const YAML::Node& node) {
    text = trim(text);
    Operand made{.name = std::string(text.substr(0, text.find('['))), .role = role, .ranks = {}};
    text.remove_prefix(std::min(text.size(), made.name.size()));
    while (text.starts_with('[') && text.find(']') != std::string_view::npos) {
      const std::size_t end = text.find(']');
      made.ranks.push_back(rank(lower_case(std::string(trim(text.substr(1, end - 1)))), node));
      text.remove_prefix(end + 1);
    }
    if (made.name.empty() || !trim(text).empty())
      map_.fail(node, fmt::format("expected an operand like W[k][c], found `{}{}`", made.name, text));
    problem_.operands.push_back(std::move(made));
  }

  OperandRank rank(const std::string& index, const YAML::Node& node) const {
    OperandRank made;
    if (const int dim = problem_.find_dim(index); dim >= 0) {
      made.terms = {{dim, 1}};
    } else if (const auto found = indices_.find(index); found != indices_.end()) {
      made.terms = found->second;
    } else {
      map_.fail(node, fmt::format("`{}` is no loop and no index of a relation", index));
    }
    made.extent = reach(problem_, made);
    if (const auto zeros = zeros_.find(index); zeros != zeros_.end()) {
      made.offset = -zeros->second.first;
      made.extent -= zeros->second.first + zeros->second.second;
    }
    if (const auto extent = extents_.find(index); extent != extents_.end()) made.extent = extent->second;
    return made;
  }

  void precision() {
    YamlMap bits(map_.need("operand_precision"), fmt::format("layer {}, operand_precision", place_), file_);
    for (Operand& operand : problem_.operands)
      operand.bits = operand.partial_bits = static_cast<int>(bits.whole(operand.name, 8));
    Operand& output = problem_.operands.front();
    output.bits = static_cast<int>(bits.whole(output.name + "_final", output.bits));
    bits.close();
    if (!problem_.reduces()) output.partial_bits = output.bits;
  }

  YAML::Node node_;
  YamlMap map_;
  const std::string& file_;
  std::size_t place_;
  Problem problem_;
  std::map<std::string, std::vector<IndexTerm>> indices_;
  std::vector<std::string> index_order_;
  std::map<std::string, std::int64_t> extents_;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> zeros_;
};

}  // namespace

std::vector<NamedProblem> parse_zigzag_workload(std::string_view text, const std::string& file) {
  const YAML::Node root = load_yaml(text, file);
  if (!root.IsSequence()) fail_at(root, file, "expected a list of layers");
  std::vector<NamedProblem> layers;
  for (const YAML::Node& node : root) layers.push_back(LayerReader(node, layers.size(), file).read());
  if (layers.empty()) fail_at(root, file, "the workload has no layers");
  return layers;
}

}  // namespace kasimir
